(** Expressions and conditions of the C subset, extracted for the comparison with the evaluator of `ashlar prove --binary`. *)
From Ashlar Require Import lang.Semantics.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt ExtrOcamlNativeString.

(** The cells that an expression may read, and their values. *)
Definition memory (cells : list (cell * Z)) : mem := list_to_map cells.

Extraction "semantics.ml" eval test memory.
