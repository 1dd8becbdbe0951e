(** The specification of containers, extracted for the comparison with the C. *)
From Ashlar Require Import layers.container.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Definition state : Type := gmap Z container.
Definition valid (s : container_state) : bool := bool_decide (container_valid s).

Extraction "container_spec.ml" container_initial container_split container_charge container_refund container_merge
  state container_quota container_usage container_own_usage container_parent valid ROOT NUM_PROCESS.
