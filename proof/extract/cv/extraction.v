(** The specification of condition variables, extracted for the comparison with the C. *)
From Ashlar Require Import layers.cv.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Global Instance cv_valid_dec s : Decision (cv_valid s).
Proof. unfold cv_valid. apply _. Defined.
Definition valid (s : list waiter) : bool := bool_decide (cv_valid s).

Extraction "cv_spec.ml" cv_join cv_first cv_prepare_wait cv_wake_first cv_cancel cv_leave cv_cancelled cv_blocked threads valid
  NUM_CPU NUM_THREAD NUM_CV NONE.
