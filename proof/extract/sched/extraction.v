(** The specification of the ready queues of a CPU, extracted for the comparison with the C. *)
From Ashlar Require Import layers.sched.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

(** CPU 0 after start-up: its ready queues, empty, and no thread. *)
Definition start : ready := Ready (QueueState (list_to_map ((fun p => (ready_queue 0 p, [])) <$> seqZ 0 NUM_PRIORITY)) ∅) ∅.

(** Thread [t], in no queue, becomes the CPU's, with this priority and never started. *)
Definition define (s : ready) (t priority : Z) : option (Z * ready) :=
  if bool_decide (is_Some (ready_threads s !! t) /\ t ∉ queue_free (ready_queues s)) then None
  else Some (0, Ready (QueueState (queue_lists (ready_queues s)) ({[t]} ∪ queue_free (ready_queues s)))
                  (<[t := ReadyThread priority 0]> (ready_threads s))).

Definition state_of (s : ready) (t : Z) : option (Z * ready) :=
  match ready_threads s !! t with Some r => Some (ready_state r, s) | None => None end.

Definition valid (s : ready) : bool := bool_decide (ready_valid 0 s).

Extraction "sched_spec.ml" start define state_of valid sched_ready_insert sched_ready_remove sched_ready_take
  sched_ready_best ready NUM_CPU NUM_THREAD NUM_PRIORITY NONE.
