(** The switch from a thread to another one of its CPU: [thread_switch], [thread_switch_to_user], and switching a page map.

    [to]'s page map is loaded, unless it has none and runs in any; the vector unit is left; then [arch_switch] hands the CPU over.
    Which page map is loaded, and whether the vector unit is in use, no cell of the model says: of [arch_loaded_root],
    [arch_fpu_left] and [arch_fpu_leave] nothing is used but that they return and leave the CPU's memory alone. *)
From Ashlar Require Export machine.threads.Switching layers.thread.Records.
From Ashlar Require Import layers.pagemap.Code layers.pagemap.code.Load.
Local Opaque gmap_lookup gmap_partial_alter.

(** What a field [root] may be: none, or a frame. *)
Definition root_ok (root : Z) : Prop := root = NONE \/ 0 <= root < NUM_FRAME.

Section switch.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HP : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Context (load_below : M "arch_page_map_load"%string = None) (load_kernel_below : M "arch_page_map_load_kernel"%string = None).
  Context (hands : Z -> mem -> Prop) (comes : mem -> Prop).
  Notation timed := (timed quiet kernel_entry M cpu).
  Notation switches := (switches quiet kernel_entry M cpu hands comes).
  Notation switching := (switching quiet kernel_entry M cpu hands comes).
  Notation touches_nothing f := (timed f [] ∅ (fun _ d => d = ∅)).
  Context (loaded_root : touches_nothing "arch_loaded_root"%string).
  Context (fpu_left : touches_nothing "arch_fpu_left"%string) (fpu_leave : touches_nothing "arch_fpu_leave"%string).

  Lemma arch_switch_switches to d : is_Some (d !! current_cell cpu) -> hands to (<[current_cell cpu := to]> d) ->
    switches "arch_switch" [to] d (fun v d' => v = 0 /\ comes d').
  Proof using HW HC.
    intros Hx Hh. eapply switches_body; [by apply HW|done|]. unfold arch_switch_code. cbn [fn_body fn_locals]. locals_simpl.
    apply switching_seq, during_switching. eapply during_this_cpu; [exact HC|done|]. locals_simpl. apply switching_seq, during_switching.
    eapply during_store; [done..|exact Hx|]. change (current_cell cpu) with (("arch_current", Z.of_nat cpu, "", 0)%string : cell) in Hh.
    eapply switching_call; [done|by apply switches_switch_stack|]. intros v d' [-> Hc]. done.
  Qed.

  Lemma during_nothing x f es (Qn Qb : locals -> mem -> Prop) Qr r d : touches_nothing f -> evals es r d = Some [] ->
    (forall v, Qn (set_result x v r) d) -> during quiet kernel_entry M cpu (Call x f es) Qn Qb Qr r d.
  Proof using.
    intros Hf He HQ. eapply during_call_nothing; [exact He|eapply timed_mono; [|exact Hf]; intros v e ->; split; [exact I|done]|auto].
  Qed.
  Lemma during_load root (Qn Qb : locals -> mem -> Prop) Qr r d : 0 <= root < NUM_FRAME -> r !! 1%nat = Some root -> Qn r d ->
    during quiet kernel_entry M cpu (Call None "pagemap_load" [Var 1]) Qn Qb Qr r d.
  Proof using HP load_below.
    intros Hr He HQ. eapply during_call_whole; [cbn [evals eval mapM]; simpl; by rewrite He|apply triple_timed, pagemap_load_triple; done|]. intros v d' [_ ->]. exact HQ.
  Qed.

  Theorem thread_switch_switches to root d : d !! field_cell "thread" to "root" = Some root -> root_ok root -> is_Some (d !! current_cell cpu) ->
    hands to (<[current_cell cpu := to]> d) -> switches "thread_switch" [to] d (fun v d' => v = 0 /\ comes d').
  Proof using HT HW HP HC load_below loaded_root fpu_left fpu_leave.
    unfold field_cell. intros Hroot Hok Hx Hh. eapply switches_body; [by apply HT|done|]. unfold thread_switch_code. cbn [fn_body fn_locals]. locals_simpl.
    apply switching_seq, during_switching. eapply during_assign; [eapply eval_load; [evaluate|evaluate|exact Hroot]|]. locals_simpl. locals_plain.
    apply switching_seq, during_switching, during_nothing; [exact loaded_root|evaluate|]. intros loaded. locals_simpl. locals_plain.
    apply switching_seq, during_switching. eapply (during_mono _ _ _ _ _ (fun r d' => r = [to; root; loaded; 0] /\ d' = d) _ (fun _ _ => False) _ (fun _ _ => False)); [| | |].
    4: { eapply during_if; [evaluate|]. cbn [compare negb andb]. destruct (_ && _) eqn:E; [|by apply during_skip].
      apply andb_true_iff in E as [_ E]. change 4294967295 with NONE in E. destruct Hok as [->|Hr]; [by rewrite Z.eqb_refl in E|]. by apply (during_load root). }
    2,3: done. cbn beta. intros r d' [E1 E2]. subst r d'.
    apply switching_seq, during_switching, during_nothing; [exact fpu_left|evaluate|]. intros left. locals_simpl. locals_plain.
    apply switching_seq, during_switching. eapply during_if; [evaluate|]. cbn [compare negb].
    assert (switching (Call None "arch_switch" [Var 0]) (fun _ d' => 0 = 0 /\ comes d') (fun _ _ => False) (fun v d' => v = 0 /\ comes d') [to; root; loaded; left] d) as Hs.
    { eapply switching_call; [evaluate|by apply arch_switch_switches|]. by intros v d' [_ Hc]. }
    destruct (negb _); [|by apply during_skip]. apply during_nothing; [exact fpu_leave|evaluate|]. intros v. exact Hs.
  Qed.
  Theorem thread_switch_to_user_switches to root d : d !! field_cell "thread" to "root" = Some root -> 0 <= root < NUM_FRAME -> is_Some (d !! current_cell cpu) ->
    hands to (<[current_cell cpu := to]> d) -> switches "thread_switch_to_user" [to] d (fun v d' => v = 0 /\ comes d').
  Proof using HT HW HP HC load_below loaded_root.
    unfold field_cell. intros Hroot Hok Hx Hh. eapply switches_body; [by apply HT|done|]. unfold thread_switch_to_user_code. cbn [fn_body fn_locals]. locals_simpl.
    apply switching_seq, during_switching. eapply during_assign; [eapply eval_load; [evaluate|evaluate|exact Hroot]|]. locals_simpl. locals_plain.
    apply switching_seq, during_switching, during_nothing; [exact loaded_root|evaluate|]. intros loaded. locals_simpl. locals_plain.
    apply switching_seq, during_switching. eapply during_if; [evaluate|]. cbn [compare negb].
    assert (switching (Call None "arch_switch" [Var 0]) (fun _ d' => 0 = 0 /\ comes d') (fun _ _ => False) (fun v d' => v = 0 /\ comes d') [to; root; loaded] d) as Hs.
    { eapply switching_call; [evaluate|by apply arch_switch_switches|]. by intros v d' [_ Hc]. }
    destruct (negb _); [|by apply during_skip]. by apply (during_load root).
  Qed.

  (** A thread that ends leaves its process's page map: it runs in the kernel's half, which all maps have. *)
  Theorem thread_leave_space_timed t d : d !! current_cell cpu = Some t -> is_Some (d !! field_cell "thread" t "root") ->
    timed "thread_leave_space" [] d (fun v d' => v = 0 /\ d' = <[field_cell "thread" t "root" := NONE]> d).
  Proof using HT HW HP HC load_kernel_below loaded_root.
    unfold field_cell. intros Hcur Hx. eapply timed_body; [by apply HT|done|]. unfold thread_leave_space_code. cbn [fn_body fn_locals]. locals_simpl.
    apply during_seq. eapply during_call_whole; [evaluate|apply triple_timed, (arch_current_triple kernel_entry M cpu HW HC), Hcur|]. intros ? ? [-> ->]. locals_simpl. locals_plain.
    apply during_seq, during_nothing; [exact loaded_root|evaluate|]. intros loaded. locals_simpl. locals_plain.
    apply during_seq. eapply during_store; [evaluate|evaluate|evaluate|exact Hx|]. eapply during_if; [evaluate|]. cbn [compare negb].
    destruct (negb _); [|by apply during_skip]. eapply during_call_whole; [evaluate|apply triple_timed, pagemap_load_kernel_triple; done|]. by intros ? ? [_ ->].
  Qed.
End switch.
