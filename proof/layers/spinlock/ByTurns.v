(** The scheduler assumption can be kept: CPUs that act by turns keep none waiting, with either lock's code.

    Of [ncpu] CPUs that cause one event each in turn, none has last moved [ncpu] events ago or more. *)
From Ashlar Require Import calculus.Forever machine.SharedAtomics.
From Ashlar Require Export layers.spinlock.Algorithms.

Section by_turns.
  Context (ncpu : nat) (cpus : (0 < ncpu)%nat).

  (** So many events ago [c] moved, if it is [c'] whose turn it is. *)
  Definition distance (c c' : nat) : nat := if decide (c < c')%nat then c' - c - 1 else ncpu + c' - c - 1.

  Lemma turn_next c : (c < ncpu)%nat -> Nat.modulo (S c) ncpu = if decide (S c = ncpu) then 0%nat else S c.
  Proof using cpus.
    intros Hc. destruct (decide (S c = ncpu)) as [->|]; [by apply Nat.mod_same; lia|]. apply Nat.mod_small. lia.
  Qed.
End by_turns.

Section patient.
  Context (ncpu budget patience : nat) (cpus : (0 < ncpu)%nat) (nlock : Z).
  Context (init : Z -> mem) (guarded : Z -> mem -> mem) (engaged : nat -> atomic_log -> Prop).
  Notation L := (atomics_layer patience init guarded engaged).

  Lemma by_turns_gap (l : atomic_log) c : by_turns ncpu L l -> (c < ncpu)%nat -> c <> turn ncpu L l ->
    (gap c l <= distance ncpu c (turn ncpu L l))%nat.
  Proof using cpus.
    intros Hl. revert c. induction Hl as [|o l Hl IH]; intros c Hc Hne; [simpl; lia|].
    pose proof (turn_below ncpu L cpus l) as Ht. cbn [turn who] in *. rewrite (turn_next ncpu cpus _ Ht) in *.
    cbn [gap who]. destruct (decide (turn ncpu L l = c)) as [Hm|Hm]; [lia|].
    specialize (IH c Hc (not_eq_sym Hm)). unfold distance in *.
    repeat destruct (decide _); lia.
  Qed.

  Lemma by_turns_patient (l : atomic_log) : (ncpu <= patience)%nat ->
    (forall c, engaged c l -> (c < ncpu)%nat) -> by_turns ncpu L l -> patient patience engaged (turn ncpu L l) l.
  Proof using cpus.
    intros Hp He Hl c Hne Hc. pose proof (turn_below ncpu L cpus l) as Ht.
    pose proof (by_turns_gap l c Hl (He c Hc) Hne) as Hg. unfold distance in Hg. pose proof (He c Hc).
    destruct (decide _); lia.
  Qed.
End patient.

(** ** The CPUs that a lock's algorithm has to reckon with have caused events *)

Lemma ticket_queued_moved patience c l : Protocol.queued patience c l -> c ∈ (who <$> l).
Proof. intros (k & t & Ht & Hc). exact (Protocol.rf_moved _ _ _ (Protocol.replay_invariant _ _ _ _ Ht) c Hc). Qed.

Lemma mcs_line_moved patience k l t c : McsProtocol.replay patience k l = Some t -> c ∈ McsProtocol.line t -> c ∈ (who <$> l).
Proof.
  revert t c. induction l as [|e l IH]; intros t c H Hc.
  { injection H as <-. by apply elem_of_nil in Hc. }
  apply McsProtocol.replay_cons in H as (t0 & H0 & Hs). apply McsProtocol.mcs_step_shape in Hs as [_ Hs].
  rewrite fmap_cons, elem_of_cons.
  assert (Hold : c ∈ McsProtocol.line t0 -> c = who e \/ c ∈ (who <$> l)) by (intros Hin; right; by eapply IH).
  destruct Hs; cbn [McsProtocol.line McsProtocol.move McsProtocol.join McsProtocol.empty McsProtocol.pass] in Hc; auto.
  - apply elem_of_app in Hc as [Hc|Hc%elem_of_list_singleton]; [auto|by left].
  - by apply elem_of_nil in Hc.
  - destruct (McsProtocol.line t0); [by apply elem_of_nil in Hc|]. apply Hold. by right.
Qed.
Lemma mcs_queued_moved patience c l : McsProtocol.queued patience c l -> c ∈ (who <$> l).
Proof. intros (k & t & _ & Ht & Hc). by eapply mcs_line_moved. Qed.

Theorem lock_engaged_moved a ncpu budget patience c l : lock_engaged a ncpu budget patience c l -> c ∈ (who <$> l).
Proof. destruct a; [apply ticket_queued_moved|apply mcs_queued_moved]. Qed.

Lemma by_turns_authors ncpu (L : layer cprim mem) (l : log L) c : (0 < ncpu)%nat -> by_turns ncpu L l -> c ∈ (who <$> l) ->
  (c < ncpu)%nat.
Proof.
  intros Hn Hl. induction Hl as [|o l Hl IH]; [by intros ?%elem_of_nil|]. rewrite fmap_cons, elem_of_cons. cbn [who].
  intros [->|Hc]; [by apply turn_below|auto].
Qed.

(** In turns, all locks' waiting CPUs are served in time. *)
Theorem locks_by_turns a ncpu budget patience init guarded l : (0 < ncpu)%nat -> (ncpu <= patience)%nat ->
  let engaged := lock_engaged a ncpu budget patience in
  let L := atomics_layer patience init guarded engaged in
  by_turns ncpu L l -> lsched L (turn ncpu L l) l.
Proof.
  intros Hn Hp engaged L Hl. apply by_turns_patient; [done|done| |done].
  intros c Hc. eapply by_turns_authors; [done|exact Hl|]. by eapply lock_engaged_moved.
Qed.

(** ** The assumption is one about the hardware: it looks at nothing that the hardware does not show *)

Section erase.
  Context (init : Z -> mem) (guarded : Z -> mem -> mem) (sched : nat -> atomic_log -> Prop).
  Notation O := (atomic_ownership init guarded sched).

  Lemma ticket_replay_erase patience k l : Protocol.replay patience k (erase O l) = Protocol.replay patience k l.
  Proof.
    induction l as [|[c o] l IH]; [done|]. cbn [erase fmap list_fmap Protocol.replay]. simpl in *. rewrite IH.
    destruct (Protocol.replay patience k l) as [t|]; [|done]. by destruct o.
  Qed.
  Lemma mcs_replay_erase patience k l : McsProtocol.replay patience k (erase O l) = McsProtocol.replay patience k l.
  Proof.
    induction l as [|[c o] l IH]; [done|]. simpl in *. rewrite IH.
    destruct (McsProtocol.replay patience k l) as [t|]; [|done]. by destruct o.
  Qed.
  Lemma lock_engaged_erase a ncpu budget patience c l :
    lock_engaged a ncpu budget patience c (erase O l) <-> lock_engaged a ncpu budget patience c l.
  Proof.
    destruct a; simpl; unfold Protocol.queued, McsProtocol.queued.
    - by setoid_rewrite ticket_replay_erase.
    - by setoid_rewrite mcs_replay_erase.
  Qed.
  Theorem lock_patient_erase a ncpu budget patience c l :
    let patient := patient patience (lock_engaged a ncpu budget patience) in patient c (erase O l) <-> patient c l.
  Proof.
    unfold patient. setoid_rewrite lock_engaged_erase. by setoid_rewrite (gap_erase init guarded sched).
  Qed.
End erase.
