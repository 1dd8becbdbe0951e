(** The C subset, extracted for the comparison with the evaluator of `ashlar prove --binary`. *)
From Ashlar Require Import lang.Semantics.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt ExtrOcamlNativeString.

(** The cells that an expression may read, and their values. *)
Definition memory (cells : list (cell * Z)) : mem := list_to_map cells.

(** No primitive is executed in place. *)
Definition no_builtins : builtins := fun _ _ _ _ => None.

Definition held (m : mem) (c : cell) : option Z := m !! c.

(** Cells that differ. *)
Definition changed (before after : mem) : list cell :=
  filter (fun c => before !! c ≠ after !! c) (elements (dom before ∪ dom after)).

Extraction "semantics.ml" eval test memory next enter no_builtins held changed.
