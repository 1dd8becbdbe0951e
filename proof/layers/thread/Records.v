(** Threads: the C functions that ask [arch] which thread runs, and whether one ends instead of going to user mode. *)
From Ashlar Require Export machine.threads.SwitchModule machine.threads.ThreadRecords layers.thread.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, records_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Notation triple := (triple kernel_entry M cpu).

  Ltac enter H code := eapply triple_owned; [by apply H|done|]; unfold code; locals_simpl.
  Ltac call T := eapply owned_call_whole; [evaluate|eapply T|intros ? ? [-> ->]; locals_simpl].

  Lemma arch_current_triple d t : d !! current_cell cpu = Some t -> triple "arch_current" [] d (fun w d' => w = t /\ d' = d).
  Proof using HW HC.
    unfold current_cell. intros H. enter HW arch_current_code. step. eapply owned_builtin; [exact HC|evaluate|done|]. locals_simpl. by step.
  Qed.
  Theorem thread_current_triple d t : d !! current_cell cpu = Some t -> triple "thread_current" [] d (fun w d' => w = t /\ d' = d).
  Proof using HM HW HC. intros H. enter HM thread_current_code. step. call arch_current_triple; [exact H|]. by step. Qed.

  Lemma arch_ends_at_exit_triple d t v : d !! ends_cell t = Some v -> triple "arch_ends_at_exit" [t] d (fun w d' => w = v /\ d' = d).
  Proof using HR. unfold ends_cell. intros H. enter HR arch_ends_at_exit_code. by step. Qed.
  Theorem thread_ending_triple d t v : d !! ends_cell t = Some v -> triple "thread_ending" [t] d (fun w d' => w = v /\ d' = d).
  Proof using HM HR. intros H. enter HM thread_ending_code. step. call arch_ends_at_exit_triple; [exact H|]. by step. Qed.

  Lemma arch_end_at_exit_triple d t : is_Some (d !! ends_cell t) ->
    triple "arch_end_at_exit" [t] d (fun w d' => w = 0 /\ d' = <[ends_cell t := 1]> d).
  Proof using HR. unfold ends_cell. intros [v H]. enter HR arch_end_at_exit_code. by step. Qed.
  Theorem thread_set_ending_triple d t : is_Some (d !! ends_cell t) ->
    triple "thread_set_ending" [t] d (fun w d' => w = 0 /\ d' = <[ends_cell t := 1]> d).
  Proof using HM HR. intros H. enter HM thread_set_ending_code. by call arch_end_at_exit_triple. Qed.
End proof.
