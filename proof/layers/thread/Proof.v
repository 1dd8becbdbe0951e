(** Threads: the C functions that read and write one field each, on cells that the caller owns. *)
From Ashlar Require Export lang.logic.Fields layers.thread.Code.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).
  Notation reads f := (reads kernel_entry M cpu f "thread").
  Notation writes f := (writes kernel_entry M cpu f "thread").
  Notation body_reads f := (body_reads kernel_entry M cpu f "thread").
  Notation body_writes f := (body_writes kernel_entry M cpu f "thread").
  Notation thread_cell field t := (field_cell "thread" t field).

  Ltac enter code := unfold field_cell in *; eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  (** ** Reading: the field's value, nothing changes *)
  Theorem thread_process_triple : reads "thread_process" "process".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem thread_cpu_triple : reads "thread_cpu" "cpu".
  Proof using HM. by apply reads_code, HM. Qed.
  Lemma thread_priority_body : body_reads "thread_priority" "priority".
  Proof using HM. by apply body_reads_code, HM. Qed.
  Theorem thread_priority_triple : reads "thread_priority" "priority".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem thread_base_priority_triple : reads "thread_base_priority" "base_priority".
  Proof using HM. by apply reads_code, HM. Qed.
  Lemma thread_state_body : body_reads "thread_state" "state".
  Proof using HM. by apply body_reads_code, HM. Qed.
  Theorem thread_state_triple : reads "thread_state" "state".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem thread_wait_kind_triple : reads "thread_wait_kind" "wait_kind".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem thread_wait_object_triple : reads "thread_wait_object" "wait_object".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem thread_message_frame_triple : reads "thread_message_frame" "message_frame".
  Proof using HM. by apply reads_code, HM. Qed.

  (** ** Writing: the field has the new value, nothing else changes *)
  Lemma thread_set_priority_body : body_writes "thread_set_priority" "priority".
  Proof using HM. by apply body_writes_code, HM. Qed.
  Theorem thread_set_priority_triple : writes "thread_set_priority" "priority".
  Proof using HM. by apply writes_code, HM. Qed.
  Lemma thread_set_state_body : body_writes "thread_set_state" "state".
  Proof using HM. by apply body_writes_code, HM. Qed.
  Theorem thread_set_state_triple : writes "thread_set_state" "state".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem thread_set_wait_kind_triple : writes "thread_set_wait_kind" "wait_kind".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem thread_set_message_frame_triple : writes "thread_set_message_frame" "message_frame".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem thread_end_wait_triple d t : is_Some (d !! thread_cell "wait_kind" t) ->
    triple "thread_end_wait" [t] d (fun w d' => w = 0 /\ d' = <[thread_cell "wait_kind" t := WAIT_NONE]> d).
  Proof using HM. intros [u H]. enter thread_end_wait_code. by repeat step. Qed.
  Theorem thread_set_wait_triple d t kind object :
    is_Some (d !! thread_cell "wait_kind" t) -> is_Some (d !! thread_cell "wait_object" t) ->
    triple "thread_set_wait" [t; kind; object] d (fun w d' => w = 0 /\
      d' = <[thread_cell "wait_object" t := object]> (<[thread_cell "wait_kind" t := kind]> d)).
  Proof using HM. intros [u H] [u' H']. enter thread_set_wait_code. by repeat step. Qed.
End proof.
