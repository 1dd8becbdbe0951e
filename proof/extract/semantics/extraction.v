(** The executor on symbols, extracted for the comparison with that of `ashlar prove --binary`. *)
From Ashlar Require Import lang.Symbolic.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt ExtrOcamlNativeString.

Extraction "symbolic.ml" begin paths val holds.
