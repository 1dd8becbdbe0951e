(** The specification of a CPU's scheduler: what its functions do to the queues and to the states of its threads.

    [sched.c] reads clocks and budgets in between; here their answers are arguments: [has i] is whether the thread asked
    about when [i] more may be asked about has budget, [parking t] the queue in which [t] waits for its replenishment. *)
From Ashlar Require Export layers.sched.Spec.

(** [THREAD_BLOCKED], [THREAD_PARKED] and [THREAD_EXITED] of thread.h. *)
Definition thread_is_blocked : Z := 3.
Definition thread_is_parked : Z := 4.
Definition thread_is_exited : Z := 5.

(** [thread_set_state]. Requires: [t] is in no queue, of this CPU or another. *)
Definition sched_mark (s : ready) (t x : Z) : option ready :=
  match ready_threads s !! t with
  | Some _ =>
      if bool_decide (t ∈ queue_free (ready_queues s))
      then Some (Ready (ready_queues s) (ready_mark t x (ready_threads s))) else None
  | None => None
  end.

(** [sched_ready_park]. Requires: [t] is not idle and in no queue; [q] is no ready queue. *)
Definition sched_park (s : ready) (cpu q t : Z) : option ready :=
  match ready_threads s !! t with
  | Some _ =>
      if bool_decide (NUM_CPU <= t) && bool_decide (~ ready_queue cpu 0 <= q < ready_queue cpu NUM_PRIORITY) then
        match queue_enqueue (ready_queues s) q t with
        | Some (_, q') => Some (Ready q' (ready_mark t thread_is_parked (ready_threads s)))
        | None => None
        end
      else None
  | None => None
  end.

Section scheduler.
  Context (has : nat -> bool) (parking : Z -> Z) (cpu : Z).

  Definition sched_idle (s : ready) : option (Z * ready) := s' ← sched_mark s cpu thread_is_running; Some (cpu, s').

  (** [sched_pick]: [t] has been taken; the loop makes at most [n] rounds. *)
  Fixpoint sched_pick_from (n : nat) (t : Z) (s : ready) : option (Z * ready) :=
    if t =? NONE then sched_idle s
    else match n with
    | O => sched_idle s
    | S n =>
        if has n then Some (t, s)
        else s ← sched_park s cpu (parking t) t; '(t, s) ← sched_ready_take s cpu; sched_pick_from n t s
    end.
  Definition sched_pick (s : ready) : option (Z * ready) :=
    '(t, s) ← sched_ready_take s cpu; sched_pick_from (Z.to_nat NUM_THREAD) t s.

  (** From here on the result is the thread to run next. *)

  (** [sched_prepare_block] and [sched_block]; [sched_exit_current] *)
  Definition sched_block (current : Z) (s : ready) : option (Z * ready) :=
    s ← sched_mark s current thread_is_blocked; sched_pick s.
  Definition sched_exit (current : Z) (s : ready) : option (Z * ready) :=
    s ← sched_mark s current thread_is_exited; sched_pick s.

  (** [sched_put_back]: [budget] is whether the current thread has any. *)
  Definition sched_put_back (current : Z) (budget : bool) (s : ready) : option ready :=
    if bool_decide (current < NUM_CPU) then sched_mark s current thread_is_ready
    else if budget then '(_, s) ← sched_ready_insert s cpu current; Some s
    else sched_park s cpu (parking current) current.
  (** A round of [sched_decide] in which the current thread makes way *)
  Definition sched_make_way (current : Z) (budget : bool) (s : ready) : option (Z * ready) :=
    s ← sched_put_back current budget s; sched_pick s.

  (** [sched_switch_to] where it switches at once *)
  Definition sched_hand_over (current t : Z) (s : ready) : option (Z * ready) :=
    s ← sched_mark s current thread_is_blocked; s ← sched_mark s t thread_is_running; Some (t, s).

  (** [sched_insert], of a thread that is woken, and the current one goes on *)
  Definition sched_wake (current t : Z) (s : ready) : option (Z * ready) :=
    '(_, s) ← sched_ready_insert s cpu t; Some (current, s).

  (** A round of [sched_replenish]: the first thread parked in [q] becomes ready. *)
  Definition sched_replenish (current q : Z) (s : ready) : option (Z * ready) :=
    '(t, q') ← queue_dequeue (ready_queues s) q;
    if t =? NONE then Some (current, s)
    else '(_, s) ← sched_ready_insert (Ready q' (ready_threads s)) cpu t; Some (current, s).

  (** [thread_set_priority] *)
  Definition set_priority (t p : Z) (s : ready) : ready :=
    Ready (ready_queues s)
      (match ready_threads s !! t with
       | Some r => <[t := ReadyThread p (ready_state r)]> (ready_threads s)
       | None => ready_threads s
       end).

  (** [sched_boost], to priority [p]: where [t] waits for the processor, it goes on waiting as what it has become. *)
  Definition sched_boost (current t p : Z) (s : ready) : option (Z * ready) :=
    r ← ready_threads s !! t;
    if (ready_state r =? thread_is_ready) || (ready_state r =? thread_is_parked) then
      '(_, q) ← queue_remove (ready_queues s) t;
      '(_, s) ← sched_ready_insert (set_priority t p (Ready q (ready_threads s))) cpu t; Some (current, s)
    else if ready_state r =? thread_is_blocked then Some (current, set_priority t p s)
    else Some (current, s).
  (** [sched_unboost], to priority [p] *)
  Definition sched_unboost (current p : Z) (s : ready) : option (Z * ready) := Some (current, set_priority current p s).

  (** A thread that is not running, and is in no queue, is put into another owner's; or it has been taken out of one. *)
  Definition sched_lend (current t : Z) (s : ready) : option (Z * ready) :=
    if bool_decide (t <> current) && bool_decide (t <> cpu)
    then Some (current, Ready (QueueState (queue_lists (ready_queues s)) (queue_free (ready_queues s) ∖ {[t]})) (ready_threads s))
    else None.
  Definition sched_return (current t : Z) (s : ready) : option (Z * ready) :=
    match queue_holding (ready_queues s) t with
    | None =>
        if bool_decide (0 <= t < NUM_THREAD)
        then Some (current, Ready (QueueState (queue_lists (ready_queues s)) ({[t]} ∪ queue_free (ready_queues s))) (ready_threads s))
        else None
    | Some _ => None
    end.
End scheduler.
