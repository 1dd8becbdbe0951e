(** Local reasoning is sound for the real machine.

    Safety: invariants that each CPU keeps under its environment hold in every reachable state. Liveness: what a CPU
    locally [run]s to, it reaches in every infinite execution in which it gets its turn again and again. *)
From Ashlar Require Export calculus.logs.Local.

Section safety.
  Context {PRIM MEM : Type} (ncpu : nat) (L : layer PRIM MEM) (A : agent PRIM MEM).
  Context (P : nat -> ast A) (Gu : log L -> Prop) (G0 : Gu []).

  (** The log is an own log [l], known to satisfy [I], extended by others. *)
  Definition extends (I : nat -> ast A -> log L -> Prop) (g : state L A) (c : nat) : Prop :=
    exists l e, glog g = e ++ l /\ others L c e /\ I c (gagent g c) l.

  Theorem local_invariant (I : nat -> ast A -> log L -> Prop) :
    (forall c, (c < ncpu)%nat -> I c (P c) []) ->
    (forall c s l, (c < ncpu)%nat -> I c s l -> safe_step L A Gu c (I c) s l) ->
    forall g, reach ncpu L A P g ->
      (Gu (glog g) /\ legal L (glog g)) /\ forall c, (c < ncpu)%nat -> extends I g c.
  Proof.
    intros H0 HI g Hr. induction Hr as [|g g' Hr [[IHG IHl] IH] [c Hst]].
    { split; [split; [done|constructor]|]. intros c Hc. exists [], []; simpl. unfold others; auto. }
    destruct Hst as [l f s Hc Hn | l f p v m o Hc Hn Hsch Hp]; simpl in *.
    - split; [done|]. intros c' Hc'. destruct (IH c' Hc') as (lc & e & Hl & He & Hsf); simpl in *.
      exists lc, e. split_and!; auto; simpl. unfold update. destruct (decide (c' = c)) as [->|]; [|done].
      apply HI in Hsf; [|done]. unfold safe_step in Hsf. by rewrite Hn in Hsf.
    - destruct (IH c Hc) as (lc & e & El & He & Hsf); simpl in *.
      apply HI in Hsf; [|done]. unfold safe_step in Hsf. rewrite Hn in Hsf.
      specialize (Hsf l). rewrite Hp in Hsf.
      destruct Hsf as [HG' Hsf]. { exists e. auto. }
      split; [split; [done|by econstructor]|].
      intros c' Hc'. destruct (decide (c' = c)) as [->|Hne].
      + exists (Event c o :: l), []. simpl. rewrite update_same. unfold others. auto.
      + destruct (IH c' Hc') as (lc' & e' & El' & He' & Hsf'); simpl in *.
        exists lc', (Event c o :: e'). simpl. rewrite update_other by done. rewrite El'. split_and!; auto.
        constructor; simpl; auto.
  Qed.

  Corollary local_sound :
    (forall c, (c < ncpu)%nat -> safe L A Gu c (P c) []) ->
    forall g, reach ncpu L A P g ->
      (Gu (glog g) /\ legal L (glog g)) /\ forall c, (c < ncpu)%nat -> extends (safe L A Gu) g c.
  Proof. intros Hs. apply local_invariant; [done|]. intros. by apply safe_unfold. Qed.

  (** An invariant that is kept also keeps the agents from going wrong. *)
  Corollary invariant_never_wrong (I : nat -> ast A -> log L -> Prop) :
    (forall c, (c < ncpu)%nat -> I c (P c) []) ->
    (forall c s l, (c < ncpu)%nat -> I c s l -> safe_step L A Gu c (I c) s l) ->
    never_wrong ncpu L A P.
  Proof.
    intros H0 HI g c Hr Hc Hw. destruct (local_invariant I H0 HI g Hr) as [[HG Hlg] H].
    destruct (H c Hc) as (l & e & El & He & Hsf). apply HI in Hsf; [|done].
    unfold safe_step, goes_wrong in *. destruct (anext A c (gagent g c)); auto.
    destruct Hw as [Hsch Hw]. specialize (Hsf (glog g)). rewrite Hw in Hsf. apply Hsf. exists e; auto.
  Qed.
  Corollary local_never_wrong :
    (forall c, (c < ncpu)%nat -> safe L A Gu c (P c) []) -> never_wrong ncpu L A P.
  Proof. intros Hs. eapply invariant_never_wrong; [exact Hs|]. intros. by apply safe_unfold. Qed.
End safety.

Section liveness.
  Context {PRIM MEM : Type} (ncpu : nat) (L : layer PRIM MEM) (A : agent PRIM MEM) (Gu : log L -> Prop) (c : nat).
  Context (ex : nat -> state L A) (schedule : nat -> nat).
  Context (Hex : forall i, cpu_step ncpu L A (schedule i) (ex i) (ex (S i))).
  Context (HG : forall i, Gu (glog (ex i)) /\ legal L (glog (ex i))).
  Context (Hfair : fair schedule c).

  Lemma wait_turn n : forall i, schedule (i + n)%nat = c -> exists j, (i <= j)%nat /\ schedule j = c /\
    gagent (ex j) c = gagent (ex i) c /\
    exists e, glog (ex j) = e ++ glog (ex i) /\ others L c e.
  Proof.
    unfold others. induction n as [|n IH]; intros i Hi.
    { exists i. rewrite Nat.add_0_r in Hi. split_and!; try done; try lia. exists []; auto. }
    destruct (decide (schedule i = c)) as [Hc|Hc].
    { exists i. split_and!; try done; try lia. exists []; auto. }
    destruct (IH (S i)) as (j & Hj & Hs & Hg & e & He & Hf). { by rewrite Nat.add_succ_comm. }
    exists j. split; [lia|]. split; [done|].
    assert (Hst : gagent (ex (S i)) c = gagent (ex i) c /\
      exists e, glog (ex (S i)) = e ++ glog (ex i) /\ Forall (fun x => who x <> c) e).
    { destruct (Hex i) as [l f s Hk Hn|l f p v m o Hk Hn Hsch Hp]; simpl;
        rewrite update_other by congruence; (split; [done|]).
      - exists []; auto. - exists [Event (schedule i) o]. auto. }
    destruct Hst as [Hg1 (e1 & He1 & Hf1)]. split; [congruence|].
    exists (e ++ e1). rewrite He, He1, app_assoc. split; [done|]. by apply Forall_app.
  Qed.

  Theorem run_inevitable Q s l : run L A Gu c Q s l -> forall i e,
    gagent (ex i) c = s -> glog (ex i) = e ++ l -> others L c e ->
    exists j l' e', (i <= j)%nat /\ Q (gagent (ex j) c) l' /\ glog (ex j) = e' ++ l' /\ others L c e'.
  Proof.
    induction 1 as [s l HQ|s s' l Hn Hrun IH|s l p Hn Hp Hrun IH]; intros i e Hg Hl He.
    { exists i, l, e. subst. auto. }
    all: destruct (Hfair i) as [n Hi]; destruct (wait_turn n i Hi) as (j & Hj & Hs & Hgj & e1 & Hl1 & He1).
    all: pose proof (Hex j) as Hst; rewrite Hs in Hst; clear Hs Hi n; rewrite Hg in Hgj; rewrite Hl, app_assoc in Hl1.
    all: assert (HF : others L c (e1 ++ e)) by (by apply others_app).
    all: pose proof (HG j) as [HGj Hlj].
    all: remember (ex j) as gj eqn:Ej; remember (ex (S j)) as gj' eqn:Ej'.
    all: destruct Hst as [l0 f s0 Hk Hn0|l0 f p0 v m o Hk Hn0 Hsch Hp0];
      simpl in *; rewrite Hgj, Hn in Hn0; simplify_eq; try rewrite Hgj in *.
    - destruct (IH (S j) (e1 ++ e)) as (j' & l' & e' & ? & ?); [|by rewrite <- Ej'|done|].
      { rewrite <- Ej'. simpl. by rewrite update_same. }
      exists j', l', e'. split; [lia|done].
    - destruct (IH ((e1 ++ e) ++ l) v m o) with (i := S j) (e := @nil (event (lop L))) as (j' & l' & e' & ? & ?).
      + exists (e1 ++ e). split_and!; done.
      + done.
      + rewrite <- Ej'. simpl. rewrite update_same. done.
      + by rewrite <- Ej'.
      + constructor.
      + exists j', l', e'. split; [lia|done].
  Qed.
End liveness.
