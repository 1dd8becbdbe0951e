(** The scheduler assumption can be met: CPUs that act in turn keep none waiting, with either lock's code.

    Of [ncpu] CPUs that cause one event each in turn, each has moved within the last [ncpu] events. *)
From Ashlar Require Import calculus.linking.InfiniteExecutions machine.SharedAtomics.
From Ashlar Require Export layers.spinlock.Proof.

Section by_turns.
  Context (ncpu : nat) (cpus : (0 < ncpu)%nat).

  (** So many events ago [c] moved, if it is [c'] whose turn it is. *)
  Definition distance (c c' : nat) : nat := if decide (c < c')%nat then c' - c - 1 else ncpu + c' - c - 1.

  Lemma turn_next c : (c < ncpu)%nat -> Nat.modulo (S c) ncpu = if decide (S c = ncpu) then 0%nat else S c.
  Proof using cpus.
    intros Hc. destruct (decide (S c = ncpu)) as [->|]; [by apply Nat.mod_same; lia|]. apply Nat.mod_small. lia.
  Qed.
End by_turns.

Section bounded_fair.
  Context (ncpu budget fairness_bound : nat) (cpus : (0 < ncpu)%nat) (nlock : Z).
  Context (init : Z -> mem) (guarded : Z -> mem -> mem) (contending : nat -> atomic_log -> Prop).
  Notation L := (atomics_layer fairness_bound init guarded contending).

  Lemma by_turns_events_since_move (l : atomic_log) c : by_turns ncpu L l -> (c < ncpu)%nat -> c <> turn ncpu L l ->
    (events_since_move c l <= distance ncpu c (turn ncpu L l))%nat.
  Proof using cpus.
    intros Hl. revert c. induction Hl as [|o l Hl IH]; intros c Hc Hne; [simpl; lia|].
    pose proof (turn_below ncpu L cpus l) as Ht. cbn [turn who] in *. rewrite (turn_next ncpu cpus _ Ht) in *.
    cbn [events_since_move who]. destruct (decide (turn ncpu L l = c)) as [Hm|Hm]; [lia|].
    specialize (IH c Hc (not_eq_sym Hm)). unfold distance in *.
    repeat destruct (decide _); lia.
  Qed.

  Lemma by_turns_bounded_fair (l : atomic_log) : (ncpu <= fairness_bound)%nat ->
    (forall c, contending c l -> (c < ncpu)%nat) -> by_turns ncpu L l -> bounded_fair fairness_bound contending (turn ncpu L l) l.
  Proof using cpus.
    intros Hp He Hl c Hne Hc. pose proof (turn_below ncpu L cpus l) as Ht.
    pose proof (by_turns_events_since_move l c Hl (He c Hc) Hne) as Hg. unfold distance in Hg. pose proof (He c Hc).
    destruct (decide _); lia.
  Qed.
End bounded_fair.

(** ** The CPUs that a lock's algorithm has to reckon with have caused events *)

Lemma ticket_queued_moved fairness_bound c l : TicketProtocol.queued fairness_bound c l -> c ∈ (who <$> l).
Proof. intros (k & t & Ht & Hc). exact (TicketProtocol.rf_moved _ _ _ (TicketProtocol.replay_invariant _ _ _ _ Ht) c Hc). Qed.

Lemma mcs_line_moved fairness_bound k l t c : McsProtocol.replay fairness_bound k l = Some t -> c ∈ McsProtocol.line t -> c ∈ (who <$> l).
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
Lemma mcs_queued_moved fairness_bound c l : McsProtocol.queued fairness_bound c l -> c ∈ (who <$> l).
Proof. intros (k & t & _ & Ht & Hc). by eapply mcs_line_moved. Qed.

Theorem lock_contending_moved a ncpu budget fairness_bound c l : lock_contending a ncpu budget fairness_bound c l -> c ∈ (who <$> l).
Proof. destruct a; [apply ticket_queued_moved|apply mcs_queued_moved]. Qed.

Lemma by_turns_authors ncpu (L : layer cprim mem) (l : log L) c : (0 < ncpu)%nat -> by_turns ncpu L l -> c ∈ (who <$> l) ->
  (c < ncpu)%nat.
Proof.
  intros Hn Hl. induction Hl as [|o l Hl IH]; [by intros ?%elem_of_nil|]. rewrite fmap_cons, elem_of_cons. cbn [who].
  intros [->|Hc]; [by apply turn_below|auto].
Qed.

(** In turns, all locks' waiting CPUs are served in time. *)
Theorem locks_by_turns a ncpu budget fairness_bound init guarded l : (0 < ncpu)%nat -> (ncpu <= fairness_bound)%nat ->
  let contending := lock_contending a ncpu budget fairness_bound in
  let L := atomics_layer fairness_bound init guarded contending in
  by_turns ncpu L l -> lsched L (turn ncpu L l) l.
Proof.
  intros Hn Hp contending L Hl. apply by_turns_bounded_fair; [done|done| |done].
  intros c Hc. eapply by_turns_authors; [done|exact Hl|]. by eapply lock_contending_moved.
Qed.

(** ** The assumption is one about the hardware: it looks at nothing that the hardware does not show *)

Section erase.
  Context (init : Z -> mem) (guarded : Z -> mem -> mem) (sched : nat -> atomic_log -> Prop).
  Notation O := (atomic_ownership init guarded sched).

  Lemma ticket_replay_erase fairness_bound k l : TicketProtocol.replay fairness_bound k (erase O l) = TicketProtocol.replay fairness_bound k l.
  Proof.
    induction l as [|[c o] l IH]; [done|]. cbn [erase fmap list_fmap TicketProtocol.replay]. simpl in *. rewrite IH.
    destruct (TicketProtocol.replay fairness_bound k l) as [t|]; [|done]. by destruct o.
  Qed.
  Lemma mcs_replay_erase fairness_bound k l : McsProtocol.replay fairness_bound k (erase O l) = McsProtocol.replay fairness_bound k l.
  Proof.
    induction l as [|[c o] l IH]; [done|]. simpl in *. rewrite IH.
    destruct (McsProtocol.replay fairness_bound k l) as [t|]; [|done]. by destruct o.
  Qed.
  Lemma lock_contending_erase a ncpu budget fairness_bound c l :
    lock_contending a ncpu budget fairness_bound c (erase O l) <-> lock_contending a ncpu budget fairness_bound c l.
  Proof.
    destruct a; simpl; unfold TicketProtocol.queued, McsProtocol.queued.
    - by setoid_rewrite ticket_replay_erase.
    - by setoid_rewrite mcs_replay_erase.
  Qed.
  Theorem lock_bounded_fair_erase a ncpu budget fairness_bound c l :
    let bounded_fair := bounded_fair fairness_bound (lock_contending a ncpu budget fairness_bound) in bounded_fair c (erase O l) <-> bounded_fair c l.
  Proof.
    unfold bounded_fair. setoid_rewrite lock_contending_erase. by setoid_rewrite (events_since_move_erase init guarded sched).
  Qed.
End erase.
