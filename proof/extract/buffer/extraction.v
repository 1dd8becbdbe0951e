(** The specification of bounded buffers, extracted for the comparison with the C. *)
From Ashlar Require Import layers.buffer.Spec layers.buffer.Code.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Global Instance cv_valid_dec s : Decision (cv_valid s).
Proof. unfold cv_valid. apply _. Defined.
(** What the representation demands: a buffer holds no more words than it has room for. *)
Definition valid (x : buffer) (cap : Z) : bool := bool_decide (used (contents x) <= cap /\ cv_valid (writers x) /\ cv_valid (readers x)).

Extraction "buffer_spec.ml" buffer_turn buffer_end_insert buffer_end_remove buffer_taken used cv_join cv_prepare_wait cv_cancel
  cv_first cv_blocked threads valid NUM_CPU NUM_THREAD NUM_BUFFER BUFFER_CAPACITY NONE STATUS_OK ERR_BAD_STATE BUFFER_WAITED.
