(** The specification of saved user registers, extracted for the comparison with the C. *)
From Ashlar Require Import layers.uctx.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Extraction "uctx_spec.ml" kept message_register fresh_registers NUM_CPU NUM_THREAD MESSAGE_REGISTER_WORDS UCTX_WORDS UCTX_RIP
  UCTX_CS UCTX_SS.
