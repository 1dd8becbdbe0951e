(** The specification of queues, extracted for the comparison with the C. *)
From Ashlar Require Import layers.queue.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

(** What an owner holds after start-up: these queues, empty, and these threads. *)
Definition start (queues threads : list Z) : queue_state :=
  QueueState (list_to_map ((fun q => (q, [])) <$> queues)) (list_to_set threads).

Definition valid (s : queue_state) : bool := bool_decide (queue_valid s).

Extraction "queue_spec.ml" start queue_enqueue queue_enqueue_head queue_insert_before queue_dequeue queue_remove
  queue_peek queue_next queue_of valid queue_state NUM_QUEUE NUM_THREAD NONE.
