(** The ready queues of a CPU: a queue of threads for each priority.

    The state is what a CPU owns: queues and threads as in layer queue (among them its 256 ready queues), and priority and
    state of its threads. The bitmap and [best] are no part of the state: they follow from the queues, which is what the
    representation says of their cells. *)
From Ashlar Require Export layers.queue.Spec.

Record ready_thread := ReadyThread { ready_priority : Z; ready_state : Z }.
Global Instance ready_thread_eq : EqDecision ready_thread.
Proof. solve_decision. Defined.
Record ready := Ready { ready_queues : queue_state; ready_threads : gmap Z ready_thread }.
Add Printing Constructor ready_thread ready.

(** [THREAD_READY] and [THREAD_RUNNING] of thread.h. *)
Definition thread_is_ready : Z := 1.
Definition thread_is_running : Z := 2.

Definition ready_queue (cpu priority : Z) : Z := QUEUE_READY_BASE + cpu * NUM_PRIORITY + priority.

(** The threads ready with a priority, first to last. *)
Definition ready_list (s : ready) (cpu priority : Z) : list Z :=
  default [] (queue_lists (ready_queues s) !! ready_queue cpu priority).
Definition ready_some (s : ready) (cpu priority : Z) : bool :=
  match ready_list s cpu priority with [] => false | _ => true end.

(** The highest of the priorities below [n] that has a thread, plus 1; 0 if none has. *)
Fixpoint best_below (s : ready) (cpu : Z) (n : nat) : Z :=
  match n with
  | O => 0
  | S k => if ready_some s cpu (Z.of_nat k) then Z.of_nat k + 1 else best_below s cpu k
  end.
Definition ready_best (s : ready) (cpu : Z) : Z := best_below s cpu 256.

(** ** The invariant: all ready queues are there, and each thread in one is a thread of this CPU, ready, not idle, and
    of the queue's priority. So the running thread is in none. *)
Definition ready_thread_ok (s : ready) (priority t : Z) : Prop :=
  NUM_CPU <= t /\ ready_threads s !! t = Some (ReadyThread priority thread_is_ready).
Global Instance ready_thread_ok_dec s p t : Decision (ready_thread_ok s p t).
Proof. unfold ready_thread_ok. apply _. Defined.
Definition ready_valid (cpu : Z) (s : ready) : Prop :=
  queue_valid (ready_queues s) /\ map_Forall (fun _ r => 0 <= ready_priority r < NUM_PRIORITY) (ready_threads s) /\
  Forall (fun p => is_Some (queue_lists (ready_queues s) !! ready_queue cpu p) /\
    Forall (ready_thread_ok s p) (ready_list s cpu p)) (seqZ 0 NUM_PRIORITY).
Global Instance ready_valid_dec cpu s : Decision (ready_valid cpu s).
Proof. unfold ready_valid. apply _. Defined.

(** ** The functions *)

(** The threads with [t] marked as in state [x]. *)
Definition ready_mark (t x : Z) (m : gmap Z ready_thread) : gmap Z ready_thread :=
  match m !! t with Some r => <[t := ReadyThread (ready_priority r) x]> m | None => m end.

(** The queues after a function of layer queue with result [v], and the threads [m v]. *)
Definition ready_with (m : Z -> gmap Z ready_thread) (r : option (Z * queue_state)) : option (Z * ready) :=
  match r with Some (v, q) => Some (v, Ready q (m v)) | None => None end.

(** Requires: [t] is not idle and is in no queue. *)
Definition sched_ready_insert (s : ready) (cpu t : Z) : option (Z * ready) :=
  match ready_threads s !! t with
  | Some r =>
      if bool_decide (NUM_CPU <= t)
      then ready_with (fun _ => ready_mark t thread_is_ready (ready_threads s))
             (queue_enqueue (ready_queues s) (ready_queue cpu (ready_priority r)) t)
      else None
  | None => None
  end.

(** Requires: [t] is in the ready queue of its priority. *)
Definition sched_ready_remove (s : ready) (cpu t : Z) : option (Z * ready) :=
  match ready_threads s !! t with
  | Some r =>
      if bool_decide (t ∈ ready_list s cpu (ready_priority r))
      then ready_with (fun _ => ready_threads s) (queue_remove (ready_queues s) t) else None
  | None => None
  end.

Definition sched_ready_take (s : ready) (cpu : Z) : option (Z * ready) :=
  let best := ready_best s cpu in
  if best =? 0 then Some (NONE, s)
  else ready_with (fun v => ready_mark v thread_is_running (ready_threads s))
         (queue_dequeue (ready_queues s) (ready_queue cpu (best - 1))).

Definition sched_ready_best (s : ready) (cpu : Z) : option (Z * ready) := Some (ready_best s cpu, s).

(** ** Representation *)
Definition ready_word (cpu i : Z) : cell := ("sched_ready_map"%string, cpu, "word"%string, i).
Definition ready_summary (cpu : Z) : cell := ("sched_ready_map"%string, cpu, "summary"%string, 0).
Definition ready_best_cell (cpu : Z) : cell := ("sched_ready_map"%string, cpu, "best"%string, 0).
Definition thread_priority_cell (t : Z) : cell := ("thread"%string, t, "priority"%string, 0).
Definition thread_state_cell (t : Z) : cell := ("thread"%string, t, "state"%string, 0).

(** Word [w] of 64 bits has bit [b] where [f b] is true. *)
Definition word_is (w : Z) (f : Z -> bool) : Prop :=
  0 <= w < 2 ^ 64 /\ forall b, 0 <= b < 64 -> Z.testbit w b = f b.

Definition ready_map_cells (cpu : Z) (x : cell) : Prop :=
  (exists i, 0 <= i < 4 /\ x = ready_word cpu i) \/ x = ready_summary cpu \/ x = ready_best_cell cpu.

(** The bitmap mirrors the queues. *)
Definition ready_map_rep (cpu : Z) (s : ready) (d : mem) : Prop :=
  exactly (ready_map_cells cpu) d /\
  (forall i, 0 <= i < 4 -> exists w, d !! ready_word cpu i = Some w /\ word_is w (fun b => ready_some s cpu (64 * i + b))) /\
  (exists w, d !! ready_summary cpu = Some w /\ word_is w (fun i => bool_decide (i < 4) &&
     existsb (fun b => ready_some s cpu (64 * i + b)) (seqZ 0 64))) /\
  d !! ready_best_cell cpu = Some (ready_best s cpu).

Definition ready_threads_rep (m : gmap Z ready_thread) (d : mem) : Prop :=
  exactly (fun x => exists t, is_Some (m !! t) /\ (x = thread_priority_cell t \/ x = thread_state_cell t)) d /\
  forall t r, m !! t = Some r ->
    d !! thread_priority_cell t = Some (ready_priority r) /\ d !! thread_state_cell t = Some (ready_state r).

Definition ready_rep (cpu : Z) (s : ready) (d : mem) : Prop :=
  ready_valid cpu s /\ exists dq dm dt, d = dq ∪ (dm ∪ dt) /\ dq ##ₘ (dm ∪ dt) /\ dm ##ₘ dt /\
    queue_rep (ready_queues s) dq /\ ready_map_rep cpu s dm /\ ready_threads_rep (ready_threads s) dt.
