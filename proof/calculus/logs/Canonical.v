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
