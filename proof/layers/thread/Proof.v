(** Threads: the C functions that read and write one field each, on cells that the caller owns. *)
From Ashlar Require Export lang.logic.Body layers.thread.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Definition thread_cell (field : string) (t : Z) : cell := ("thread"%string, t, field, 0).

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).
  Notation body_triple := (body_triple kernel_entry M cpu).

  Ltac enter code :=
    unfold thread_cell in *; eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.
  Ltac enter_body code :=
    unfold thread_cell in *; eapply body_triple_body; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.
  Ltac run := repeat step; done.

  (** ** Reading: the field's value, nothing changes *)
  Definition reads (f field : string) : Prop := forall d t v,
    d !! thread_cell field t = Some v -> triple f [t] d (fun w d' => w = v /\ d' = d).
  Definition body_reads (f field : string) : Prop := forall d t v,
    d !! thread_cell field t = Some v -> body_triple f [t] d (fun w d' => w = v /\ d' = d).

  Theorem thread_process_triple : reads "thread_process" "process".
  Proof using HM. intros d t v H. enter thread_process_code. run. Qed.
  Theorem thread_cpu_triple : reads "thread_cpu" "cpu".
  Proof using HM. intros d t v H. enter thread_cpu_code. run. Qed.
  Lemma thread_priority_body : body_reads "thread_priority" "priority".
  Proof using HM. intros d t v H. enter_body thread_priority_code. run. Qed.
  Theorem thread_priority_triple : reads "thread_priority" "priority".
  Proof using HM. intros d t v H. by apply body_triple_triple, thread_priority_body. Qed.
  Theorem thread_base_priority_triple : reads "thread_base_priority" "base_priority".
  Proof using HM. intros d t v H. enter thread_base_priority_code. run. Qed.
  Lemma thread_state_body : body_reads "thread_state" "state".
  Proof using HM. intros d t v H. enter_body thread_state_code. run. Qed.
  Theorem thread_state_triple : reads "thread_state" "state".
  Proof using HM. intros d t v H. by apply body_triple_triple, thread_state_body. Qed.
  Theorem thread_wait_kind_triple : reads "thread_wait_kind" "wait_kind".
  Proof using HM. intros d t v H. enter thread_wait_kind_code. run. Qed.
  Theorem thread_wait_object_triple : reads "thread_wait_object" "wait_object".
  Proof using HM. intros d t v H. enter thread_wait_object_code. run. Qed.
  Theorem thread_message_frame_triple : reads "thread_message_frame" "message_frame".
  Proof using HM. intros d t v H. enter thread_message_frame_code. run. Qed.

  (** ** Writing: the field has the new value, nothing else changes *)
  Definition writes (f field : string) : Prop := forall d t v,
    is_Some (d !! thread_cell field t) -> triple f [t; v] d (fun w d' => w = 0 /\ d' = <[thread_cell field t := v]> d).
  Definition body_writes (f field : string) : Prop := forall d t v,
    is_Some (d !! thread_cell field t) -> body_triple f [t; v] d (fun w d' => w = 0 /\ d' = <[thread_cell field t := v]> d).

  Lemma thread_set_priority_body : body_writes "thread_set_priority" "priority".
  Proof using HM. intros d t v [u H]. enter_body thread_set_priority_code. run. Qed.
  Theorem thread_set_priority_triple : writes "thread_set_priority" "priority".
  Proof using HM. intros d t v H. by apply body_triple_triple, thread_set_priority_body. Qed.
  Lemma thread_set_state_body : body_writes "thread_set_state" "state".
  Proof using HM. intros d t v [u H]. enter_body thread_set_state_code. run. Qed.
  Theorem thread_set_state_triple : writes "thread_set_state" "state".
  Proof using HM. intros d t v H. by apply body_triple_triple, thread_set_state_body. Qed.
  Theorem thread_set_wait_kind_triple : writes "thread_set_wait_kind" "wait_kind".
  Proof using HM. intros d t v [u H]. enter thread_set_wait_kind_code. run. Qed.
  Theorem thread_set_message_frame_triple : writes "thread_set_message_frame" "message_frame".
  Proof using HM. intros d t v [u H]. enter thread_set_message_frame_code. run. Qed.
  Theorem thread_end_wait_triple d t : is_Some (d !! thread_cell "wait_kind" t) ->
    triple "thread_end_wait" [t] d (fun w d' => w = 0 /\ d' = <[thread_cell "wait_kind" t := WAIT_NONE]> d).
  Proof using HM. intros [u H]. enter thread_end_wait_code. run. Qed.
  Theorem thread_set_wait_triple d t kind object :
    is_Some (d !! thread_cell "wait_kind" t) -> is_Some (d !! thread_cell "wait_object" t) ->
    triple "thread_set_wait" [t; kind; object] d (fun w d' => w = 0 /\
      d' = <[thread_cell "wait_object" t := object]> (<[thread_cell "wait_kind" t := kind]> d)).
  Proof using HM. intros [u H] [u' H']. enter thread_set_wait_code. run. Qed.
End proof.
