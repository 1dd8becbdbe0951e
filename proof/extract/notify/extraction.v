(** The specification of notifications, extracted for the comparison with the C. *)
From Ashlar Require Import layers.notify.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Global Instance notify_valid_dec x : Decision (notify_valid x).
Proof. unfold notify_valid. apply _. Defined.
Definition valid (x : notification) : bool := bool_decide (notify_valid x).

Extraction "notify_spec.ml" notify_new notify_first notify_joined notify_ended notify_taken notify_signalled interrupts is_pending
  set_watcher notify_reborn valid NUM_CPU NUM_THREAD NUM_NOTIFICATION NONE STATUS_OK ERR_TIMEOUT ERR_CANCELLED.
