(** The specification of frames, with the containers that they are charged to, extracted for the comparison with the C. *)
From Ashlar Require layers.container.Spec.
From Ashlar Require Import layers.frame.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Definition containers : Type := gmap Z container.Spec.container.
Definition valid (s : frames) : bool := bool_decide (frame_valid s).
Definition containers_valid (s : container.Spec.container_state) : bool := bool_decide (container.Spec.container_valid s).

Extraction "frame_spec.ml" frame_initial frame_make_usable frame_take frame_add frame_remove frame_owners frame_state
  frame_free_count frames valid containers containers_valid container.Spec.container_initial container.Spec.container_split
  container.Spec.container_charge container.Spec.container_refund container.Spec.container_usage container.Spec.ROOT
  STATUS_OK FRAME_NO_QUOTA NONE NUM_FRAME NUM_PROCESS.
