(** The specification of threads' records, extracted for the comparison with the C. *)
From Ashlar Require Import layers.thread.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt ExtrOcamlNativeString.

Extraction "thread_spec.ml" thread_new thread_undefined thread_idle thread_started set_field NUM_CPU NUM_THREAD NUM_PRIORITY
  NUM_PROCESS NUM_FRAME NONE WAIT_NONE.
