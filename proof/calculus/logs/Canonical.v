(** The converse of soundness: a machine that never goes wrong is locally safe, for the guarantee "the log is a trace of
    the machine". It uses that agents are deterministic given the log, and it is what lets one machine's traces serve as
    the guarantee under which another is proved. *)
From Ashlar Require Export calculus.logs.Soundness.

Section canonical.
  Context {PRIM MEM : Type} (ncpu : nat) (L : layer PRIM MEM) (A : agent PRIM MEM) (P : nat -> ast A).

  (** [s] is a state that CPU [c] can have at log [l]. *)
  Inductive consistent (c : nat) : log L -> ast A -> Prop :=
  | consistent_init : consistent c [] (P c)
  | consistent_tau l s s' : consistent c l s -> anext A c s = ATau s' -> consistent c l s'
  | consistent_other l s e : consistent c l s -> who e <> c -> consistent c (e :: l) s
  | consistent_own l s p v m o : consistent c l s -> anext A c s = APrim p ->
      lstep L c p (amem A s) l = Ok v m o -> consistent c (Event c o :: l) (aresume A s v m).

  Inductive taus (c : nat) : ast A -> ast A -> Prop :=
  | taus_refl s : taus c s s
  | taus_step s s' s'' : anext A c s = ATau s' -> taus c s' s'' -> taus c s s''.

  Lemma taus_snoc c s s' s'' : taus c s s' -> anext A c s' = ATau s'' -> taus c s s''.
  Proof. induction 1; intros; econstructor; eauto using taus. Qed.
  Lemma taus_confluent c s a b : taus c s a -> taus c s b -> taus c a b \/ taus c b a.
  Proof.
    intros H; revert b; induction H as [|s s' a Hn H IH]; intros b Hb; [auto|].
    destruct Hb as [|s t b Hn' Hb]; [right; econstructor; eauto|].
    rewrite Hn in Hn'. injection Hn' as ->. auto.
  Qed.
  Lemma taus_prim c s s' p : anext A c s = APrim p -> taus c s s' -> s' = s.
  Proof. intros Hn Ht. destruct Ht; [done|congruence]. Qed.

  Lemma consistent_base c l s : consistent c l s ->
    exists b, taus c b s /\ forall s', consistent c l s' -> taus c b s'.
  Proof.
    induction 1 as [|l s s' Hc [b [Hb1 Hb2]] Hn|l s e Hc [b [Hb1 Hb2]] He|l s p v m o Hc [b [Hb1 Hb2]] Hn Hp].
    - exists (P c). split; [constructor|]. intros s' Hs'. remember [] as l.
      induction Hs'; try done; [constructor|eauto using taus_snoc].
    - exists b. split; eauto using taus_snoc.
    - exists b. split; [done|]. intros s' Hs'. remember (e :: l) as l'. revert Heql'.
      induction Hs' as [|l0 s0 s0' ? IH|l0 s0 e0 ? IH ?|l0 s0 p v m o ? IH]; intros; simplify_eq/=; eauto using taus_snoc.
    - exists (aresume A s v m). split; [constructor|].
      intros s' Hs'. remember (Event c o :: l) as l'. revert Heql'.
      induction Hs' as [|l0 s0 s0' ? IH|l0 s0 e0 ? IH ?|l0 s0 p' v' m' o' ? IH Hn' Hp']; intros; simplify_eq/=;
        eauto using taus_snoc.
      assert (s0 = s) as ->.
      { specialize (Hb2 s0 ltac:(done)). destruct (taus_confluent _ _ _ _ Hb1 Hb2) as [Ht|Ht].
        - by eapply taus_prim in Ht.
        - by eapply taus_prim in Ht. }
      rewrite Hn in Hn'. simplify_eq. rewrite Hp in Hp'. simplify_eq. constructor.
  Qed.
  Lemma consistent_confluent c l s s' : consistent c l s -> consistent c l s' -> taus c s s' \/ taus c s' s.
  Proof.
    intros (b & Hb1 & Hb2)%consistent_base Hs'. eapply taus_confluent; eauto.
  Qed.

  Lemma reach_consistent g c : reach ncpu L A P g -> consistent c (glog g) (gagent g c).
  Proof.
    induction 1 as [|g g' Hr IH [c' Hst]]; [constructor|].
    destruct Hst as [l f s Hc Hn | l f p v m o Hc Hn Hsch Hp]; simpl in *; unfold update.
    - destruct (decide (c = c')) as [->|]; [|done]. eauto using consistent.
    - destruct (decide (c = c')) as [->|]; [eauto using consistent|]. apply consistent_other; auto.
  Qed.

  Lemma reach_taus l f c s : (c < ncpu)%nat ->
    reach ncpu L A P (State l f) -> taus c (f c) s -> exists f', reach ncpu L A P (State l f') /\ f' c = s.
  Proof.
    intros Hc Hr Ht. remember (f c) as s0. revert f Heqs0 Hr.
    induction Ht as [s|s s' s'' Hn Ht IH]; intros f Heq Hr; [eauto|].
    eapply (IH (update A f c s')). { by rewrite update_same. }
    eapply reach_step; [done|]. exists c. apply step_tau; [done|]. by rewrite <- Heq.
  Qed.

  Lemma consistent_reach l c s : (c < ncpu)%nat ->
    traces ncpu L A P l -> consistent c l s -> (forall s', anext A c s <> ATau s') ->
    exists f, reach ncpu L A P (State l f) /\ f c = s.
  Proof.
    intros Hc [f Hr] Hcs Hnt. pose proof (reach_consistent _ c Hr) as Hc'. simpl in Hc'.
    destruct (consistent_confluent _ _ _ _ Hcs Hc') as [Ht|Ht]; [|by eapply reach_taus].
    inversion Ht; subst; [eauto|]. exfalso. by eapply Hnt.
  Qed.

  (** ** States of CPUs, one by one, make a state of the machine *)
  Lemma consistent_nil c s : consistent c [] s -> taus c (P c) s.
  Proof. intros H. remember [] as l. induction H; try done; [constructor|eauto using taus_snoc]. Qed.
  Lemma consistent_cons c e l s : consistent c (e :: l) s -> exists s0, consistent c l s0 /\
    (who e <> c /\ taus c s0 s \/
     exists p v m, who e = c /\ anext A c s0 = APrim p /\ lstep L c p (amem A s0) l = Ok v m (what e) /\ taus c (aresume A s0 v m) s).
  Proof.
    intros H. remember (e :: l) as l'. revert Heql'.
    induction H as [|l0 s s' H IH Hn|l0 s e0 H IH He|l0 s p v m o H IH Hn Hp]; intros E; simplify_eq/=.
    - destruct (IH eq_refl) as (s0 & H0 & [[Hw Ht]|(p & v & m & Hw & Hn0 & Hp & Ht)]); exists s0; (split; [done|]).
      + left. split; [done|]. by eapply taus_snoc.
      + right. exists p, v, m. split_and!; [done..|]. by eapply taus_snoc.
    - exists s. split; [done|]. left. split; [done|constructor].
    - exists s. split; [done|]. right. exists p, v, m. split_and!; [done..|constructor].
  Qed.

  Lemma reach_taus_only l f c s : (c < ncpu)%nat -> reach ncpu L A P (State l f) -> taus c (f c) s ->
    exists f', reach ncpu L A P (State l f') /\ f' c = s /\ forall c', c' <> c -> f' c' = f c'.
  Proof.
    intros Hc Hr Ht. remember (f c) as s0. revert f Heqs0 Hr.
    induction Ht as [s|s s' s'' Hn Ht IH]; intros f Heq Hr; [by exists f|].
    destruct (IH (update A f c s')) as (f' & Hr' & Hf' & Ho); [by rewrite update_same| |].
    { eapply reach_step; [done|]. exists c. apply step_tau; [done|]. by rewrite <- Heq. }
    exists f'. split_and!; [done..|]. intros c' Hne. rewrite (Ho c' Hne). unfold update. by rewrite decide_False.
  Qed.
  Lemma reach_all_taus n l f0 f : (n <= ncpu)%nat -> reach ncpu L A P (State l f0) -> (forall c, (c < n)%nat -> taus c (f0 c) (f c)) ->
    exists f', reach ncpu L A P (State l f') /\ (forall c, (c < n)%nat -> f' c = f c) /\ forall c, (n <= c)%nat -> f' c = f0 c.
  Proof.
    induction n as [|n IH]; intros Hn Hr Ht; [exists f0; split_and!; [done|lia|done]|].
    destruct IH as (f1 & Hr1 & H1 & H2); [lia|done|intros c Hc; apply Ht; lia|].
    destruct (reach_taus_only l f1 n (f n)) as (f2 & Hr2 & E & Ho); [lia|done|rewrite H2 by lia; apply Ht; lia|].
    exists f2. split_and!; [done| |].
    - intros c Hc. destruct (decide (c = n)) as [->|Hne]; [done|]. rewrite Ho by done. apply H1. lia.
    - intros c Hc. rewrite Ho by lia. apply H2. lia.
  Qed.
  Lemma finite_choice {T} (inhabitant : T) (R : nat -> T -> Prop) n : (forall c, (c < n)%nat -> exists y, R c y) -> exists f, forall c, (c < n)%nat -> R c (f c).
  Proof.
    induction n as [|n IH]; intros H; [exists (fun _ => inhabitant); lia|]. destruct IH as [f Hf]; [intros c Hc; apply H; lia|].
    destruct (H n) as [y Hy]; [lia|]. exists (fun c => if decide (c = n) then y else f c). intros c Hc.
    destruct (decide (c = n)) as [->|Hne]; [done|]. apply Hf. lia.
  Qed.
  Theorem consistent_reaches l f : (forall c l, lsched L c l) -> Forall (fun e => (who e < ncpu)%nat) l ->
    (forall c, (c < ncpu)%nat -> consistent c l (f c)) -> exists f', reach ncpu L A P (State l f') /\ forall c, (c < ncpu)%nat -> f' c = f c.
  Proof.
    intros Hs. revert f. induction l as [|e l IH]; intros f Hall Hf.
    - destruct (reach_all_taus ncpu [] P f) as (f' & Hr & H & _); [done|constructor|intros c Hc; by apply consistent_nil, Hf|]. by exists f'.
    - apply Forall_cons in Hall as [He Hall].
      destruct (finite_choice (P 0%nat) (fun c s0 => consistent c l s0 /\ (who e <> c /\ taus c s0 (f c) \/
        exists p v m, who e = c /\ anext A c s0 = APrim p /\ lstep L c p (amem A s0) l = Ok v m (what e) /\ taus c (aresume A s0 v m) (f c))) ncpu) as [f0 H0].
      { intros c Hc. by apply consistent_cons, Hf. }
      destruct (IH f0 Hall) as (f1 & Hr1 & H1); [intros c Hc; by apply H0|]. destruct (H0 (who e) He) as [_ [[Hne _]|(p & v & m & _ & Hn & Hp & Ht)]]; [done|].
      pose proof (H1 (who e) He) as E1. rewrite <- E1 in Hn, Hp.
      assert (reach ncpu L A P (State (e :: l) (update A f1 (who e) (aresume A (f1 (who e)) v m)))) as Hr2.
      { eapply reach_step; [exact Hr1|]. exists (who e). destruct e as [c o]. by eapply step_prim. }
      destruct (reach_all_taus ncpu (e :: l) _ f (le_n _) Hr2) as (f2 & Hr3 & H3 & _); [|by exists f2].
      intros c Hc. unfold update. destruct (decide (c = who e)) as [->|Hne]; [by rewrite E1|]. rewrite (H1 c Hc). by destruct (H0 c Hc) as [_ [[_ ?]|(? & ? & ? & ? & _)]].
  Qed.

  Lemma consistent_app c e l s : consistent c l s -> others L c e -> consistent c (e ++ l) s.
  Proof.
    intros Hcs He. induction e; [done|]. inversion He; subst. simpl. apply consistent_other; auto.
  Qed.

  Definition canonical (c : nat) (s : ast A) (l : log L) : Prop := consistent c l s /\ traces ncpu L A P l.

  Theorem canonical_step c s l : (c < ncpu)%nat -> never_wrong ncpu L A P ->
    canonical c s l -> safe_step L A (traces ncpu L A P) c (canonical c) s l.
  Proof.
    intros Hc Hnw [Hcs HT]. unfold safe_step.
    destruct (anext A c s) as [| |s'|p] eqn:Hn; auto.
    - destruct (consistent_reach _ _ _ Hc HT Hcs) as (f & Hr & <-); [congruence|].
      apply (Hnw _ _ Hr Hc). unfold goes_wrong; simpl. by rewrite Hn.
    - split; eauto using consistent.
    - intros l' (e & -> & He & HT' & Hsch & _).
      pose proof (consistent_app _ _ _ _ Hcs He) as Hcs'.
      destruct (consistent_reach _ _ _ Hc HT' Hcs') as (f & Hr & <-); [congruence|].
      destruct (lstep _ _ _ _ _) as [| |v m o] eqn:Hp; auto.
      + apply (Hnw _ _ Hr Hc). unfold goes_wrong; simpl. rewrite Hn. auto.
      + assert (HT2 : traces ncpu L A P (Event c o :: e ++ l)).
        { eexists. eapply reach_step; [exact Hr|]. exists c. by eapply step_prim. }
        split; [done|]. split; [|done]. by eapply consistent_own.
  Qed.

  Lemma canonical_init c : canonical c (P c) [].
  Proof. split; [constructor|apply traces_nil]. Qed.
  Theorem canonical_safe c : (c < ncpu)%nat -> never_wrong ncpu L A P ->
    safe L A (traces ncpu L A P) c (P c) [].
  Proof. intros Hc Hnw. exists (canonical c). split; [apply canonical_init|]. intros. by apply canonical_step. Qed.
End canonical.

(** Which states a CPU can have depends on its own first state only. *)
Lemma consistent_start {PRIM MEM : Type} (L : layer PRIM MEM) (A : agent PRIM MEM) (P P' : nat -> ast A) c l s :
  consistent L A P c l s -> P c = P' c -> consistent L A P' c l s.
Proof.
  intros H E. induction H; [rewrite E; constructor|by eapply consistent_tau|by apply consistent_other|by eapply consistent_own].
Qed.
