(** The state of a CPU between two operations on ticket locks, and that others do not change it.

    It is queued exactly for the locks it holds, at the head of each queue, and what is left of its hold bound for each
    covers the events of the lock layer that it may still cause. *)
From Ashlar Require Export layers.spinlock.ticket.TicketTimes.

Section between.
  Context (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation replay := (replay hold_bound).
  Notation wf := (keeps_protocol hold_bound ncpu).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).

  (** CPU [c] is first in the queue of lock [k], which it holds, and can afford [n] events less than the budget. *)
  Definition holds_lock (c : nat) (ks : list Z) (n : nat) (k : Z) (t : queue) : Prop :=
    exists q left, waiting t = c :: q /\ first_phase t = Holds left /\ k ∈ ks /\
      ((budget - n) * step_cost ncpu budget F (Z.to_nat k) <= left)%nat.

  Definition outside (c : nat) (l : atomic_log) : Prop :=
    let (ks, n) := held c (views l) in
    (forall k t, replay k l = Some t -> c ∈ waiting t -> holds_lock c ks n k t) /\
    (forall k, k ∈ ks -> exists t, replay k l = Some t /\ c ∈ waiting t).

  Lemma outside_start c : outside c [].
  Proof.
    split; [|by intros k ?%elem_of_nil]. intros k t [= <-] Hc. by apply elem_of_nil in Hc.
  Qed.
  Lemma protocol_start : wf [].
  Proof. split; [|constructor]. intros k. by eexists. Qed.

  Lemma held_others {D} c (e l : lock_log D) : Forall (fun x => who x <> c) e -> held c (e ++ l) = held c l.
  Proof. induction 1; [done|]. simpl. by rewrite decide_False. Qed.
  Lemma held_views_others c e l : Forall (fun x => who x <> c) e -> held c (views (e ++ l)) = held c (views l).
  Proof.
    intros He. unfold lock_views. rewrite abs_app. apply held_others.
    by apply (abs_others (atomics_layer F init guarded (queued hold_bound)) (locks budget nlock init guarded)).
  Qed.

  Theorem outside_others c e l : wf l -> wf (e ++ l) -> Forall (fun x => who x <> c) e ->
    outside c l -> outside c (e ++ l).
  Proof.
    intros [Hw _] [Hw' _] He. unfold outside. rewrite held_views_others by done.
    destruct (held c (views l)) as [ks n]. intros [H1 H2].
    assert (Hin : forall k t, replay k l = Some t -> c ∈ waiting t ->
      exists t', replay k (e ++ l) = Some t' /\ holds_lock c ks n k t').
    { intros k t Ht Hc. destruct (H1 k t Ht Hc) as (q & left & Hq & Hp & Hk & Ha).
      destruct (Hw' k) as [t' Ht']. exists t'. split; [done|].
      destruct (wait_steps _ _ _ _ _ _ _ [] q He Ht Ht' Hq) as (a & b & Hq' & _ & [(-> & Hp' & _)|[? _]]); [|done].
      exists b, left. split_and!; try done. congruence. }
    split.
    - intros k t' Ht' Hc. destruct (Hw k) as [t Ht]. destruct (decide (c ∈ waiting t)) as [Hi|Hi].
      + destruct (Hin k t Ht Hi) as (t1 & Ht1 & Hh). congruence.
      + by destruct (unqueued_steps _ _ _ _ _ _ _ He Ht Ht' Hi).
    - intros k Hk. destruct (H2 k Hk) as (t & Ht & Hc). destruct (Hin k t Ht Hc) as (t' & Ht' & q & left & Hq & _).
      exists t'. split; [done|]. rewrite Hq. left.
  Qed.

  (** Outside lock operations, a CPU holds a lock by the log exactly if it is first in its queue. *)
  Lemma outside_held c k l : outside c l -> k ∈ (held c (views l)).1 <-> exists t, replay k l = Some t /\ c ∈ waiting t.
  Proof.
    unfold outside. destruct (held c (views l)) as [ks n]. intros [H1 H2]. split; [apply H2|].
    intros (t & Ht & Hc). by destruct (H1 k t Ht Hc) as (q & left & _ & _ & Hk & _).
  Qed.
End between.
