(** The specification of a CPU's scheduler: what its functions do to the queues and to the states of its threads.

    [sched.c] reads clocks and reservations in between; here their answers are arguments: [time] is whether a thread has
    any time left. *)
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

(** The CPU's queue of parked threads, which wait for their next period. *)
Definition parked_queue (cpu : Z) : Z := QUEUE_PARKED_BASE + cpu.

(** [thread_set_priority] *)
Definition set_priority (t p : Z) (s : ready) : ready :=
  Ready (ready_queues s)
    (match ready_threads s !! t with
     | Some r => <[t := ReadyThread p (ready_state r)]> (ready_threads s)
     | None => ready_threads s
     end).

Section scheduler.
  Context (cpu : Z).

  Definition sched_idle (s : ready) : option (Z * ready) := s' ← sched_mark s cpu thread_is_running; Some (cpu, s').

  (** [sched_pick]: the first of the ready queues, or the idle thread. *)
  Definition sched_pick (s : ready) : option (Z * ready) :=
    '(t, s) ← sched_ready_take s cpu; if t =? NONE then sched_idle s else Some (t, s).

  (** [sched_wake.c] keeps a woken thread [t] that is more important than all others, to run next: it is in no queue, and
      still marked blocked. Requires: no ready thread is more important than [t]. *)
  Definition sched_run_kept (t : Z) (s : ready) : option (Z * ready) :=
    r ← ready_threads s !! t;
    if bool_decide (NUM_CPU <= t) && (ready_state r =? thread_is_blocked) && (ready_best s cpu <=? ready_priority r + 1)
    then s ← sched_mark s t thread_is_running; Some (t, s) else None.
  (** [sched_next]: [kept] is the thread that has been kept, if there is one. *)
  Definition sched_next (kept : option Z) (s : ready) : option (Z * ready) :=
    match kept with Some t => sched_run_kept t s | None => sched_pick s end.

  (** From here on the result is the thread to run next. *)

  (** [sched_prepare_block] and [sched_block]; [sched_exit_current] *)
  Definition sched_block (current : Z) (kept : option Z) (s : ready) : option (Z * ready) :=
    s ← sched_mark s current thread_is_blocked; sched_next kept s.
  Definition sched_exit (current : Z) (kept : option Z) (s : ready) : option (Z * ready) :=
    s ← sched_mark s current thread_is_exited; sched_next kept s.
  (** [sched_switch_to] where it switches at once: as if [t] had been kept *)
  Definition sched_hand_over (current t : Z) (s : ready) : option (Z * ready) := sched_block current (Some t) s.

  (** A thread that is in no queue waits for the processor in the ready queue of its priority, or, without time, parked. *)
  Definition sched_queue (t : Z) (time : bool) (s : ready) : option ready :=
    if time then '(_, s) ← sched_ready_insert s cpu t; Some s else sched_park s cpu (parked_queue cpu) t.
  (** [sched_put_back] *)
  Definition sched_put_back (current : Z) (time : bool) (s : ready) : option ready :=
    if bool_decide (current < NUM_CPU) then sched_mark s current thread_is_ready else sched_queue current time s.
  (** A round of [sched_decide] in which the current thread makes way *)
  Definition sched_make_way (current : Z) (time : bool) (kept : option Z) (s : ready) : option (Z * ready) :=
    s ← sched_put_back current time s; sched_next kept s.

  (** What becomes of a thread that is woken: it is put into a queue, or kept. *)
  Inductive woken := woken_queued (time : bool) | woken_kept.
  Definition sched_insert (t : Z) (w : woken) (s : ready) : option ready :=
    match w with woken_queued time => sched_queue t time s | woken_kept => Some s end.
  (** [sched_insert] of a thread that is woken, or was kept until a more important one took its place; the current thread
      goes on. Requires: [t] is marked blocked. *)
  Definition sched_wake (current t : Z) (w : woken) (s : ready) : option (Z * ready) :=
    r ← ready_threads s !! t;
    if ready_state r =? thread_is_blocked then s ← sched_insert t w s; Some (current, s) else None.

  (** [t] leaves the queue in which it waits for the processor. *)
  Definition sched_withdraw (t : Z) (s : ready) : option ready :=
    '(_, q) ← queue_remove (ready_queues s) t; sched_mark (Ready q (ready_threads s)) t thread_is_blocked.
  (** [sched_release], where the next period of the parked thread [t] begins *)
  Definition sched_release (current t : Z) (w : woken) (s : ready) : option (Z * ready) :=
    r ← ready_threads s !! t;
    if ready_state r =? thread_is_parked then s ← sched_withdraw t s; s ← sched_insert t w s; Some (current, s) else None.
  (** [sched_boost], to priority [p]: where [t] waits for the processor, it goes on waiting as what it has become. *)
  Definition sched_boost (current t p : Z) (w : woken) (s : ready) : option (Z * ready) :=
    r ← ready_threads s !! t;
    if (ready_state r =? thread_is_ready) || (ready_state r =? thread_is_parked) then
      s ← sched_withdraw t s; s ← sched_insert t w (set_priority t p s); Some (current, s)
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
