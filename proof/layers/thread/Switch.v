(** The switch from a thread to another one of its CPU: [thread_switch], [thread_switch_to_user], and switching a page map.

    [to]'s page map is loaded, unless it has none and runs in any; the vector unit is left; then [arch_switch] hands the CPU over.
    Which page map is loaded, and whether the vector unit is in use, no cell of the model says: of [arch_loaded_root],
    [arch_fpu_left] and [arch_fpu_leave] nothing is used but that they return and keep what is [known] of the CPU's memory; they
    may have cells of their own there. *)
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
  Context {H : Type} (hands : H -> Z -> mem -> Prop) (comes : H -> mem -> Prop).
  Notation timed := (timed quiet kernel_entry M cpu).
  Notation switches := (switches quiet kernel_entry M cpu hands comes).
  Notation switching := (switching quiet kernel_entry M cpu hands comes).
  Context (known : mem -> Prop).
  Notation asks f := (forall d, known d -> timed f [] d (fun _ d' => known d')).
  Context (loaded_root : asks "arch_loaded_root"%string).
  Context (fpu_left : asks "arch_fpu_left"%string) (fpu_leave : asks "arch_fpu_leave"%string).

  Lemma arch_switch_switches to h d : is_Some (d !! current_cell cpu) -> hands h to (<[current_cell cpu := to]> d) ->
    switches "arch_switch" [to] h d (fun v h' d' => v = 0 /\ comes h' d').
  Proof using HW HC.
    intros Hx Hh. eapply switches_body; [by apply HW|done|]. unfold arch_switch_code. cbn [fn_body fn_locals]. locals_simpl.
    apply switching_seq, during_switching. eapply during_this_cpu; [exact HC|done|]. locals_simpl. apply switching_seq, during_switching.
    eapply during_store; [done..|exact Hx|]. change (current_cell cpu) with (("arch_current", Z.of_nat cpu, "", 0)%string : cell) in Hh.
    eapply switching_call; [done|by apply switches_switch_stack|]. intros v h' d' [-> Hc]. done.
  Qed.

  Lemma during_asks x f es (Qn Qb : locals -> mem -> Prop) Qr r d : asks f -> known d -> evals es r d = Some [] ->
    (forall v d', known d' -> Qn (set_result x v r) d') -> during quiet kernel_entry M cpu (Call x f es) Qn Qb Qr r d.
  Proof using. intros Hf Hd He HQ. eapply during_call_whole; [exact He|by apply Hf|exact HQ]. Qed.
  Lemma during_load root (Qn Qb : locals -> mem -> Prop) Qr r d : 0 <= root < NUM_FRAME -> r !! 1%nat = Some root -> Qn r d ->
    during quiet kernel_entry M cpu (Call None "pagemap_load" [Var 1]) Qn Qb Qr r d.
  Proof using HP load_below.
    intros Hr He HQ. eapply during_call_whole; [cbn [evals eval mapM]; simpl; by rewrite He|apply triple_timed, pagemap_load_triple; done|]. intros v d' [_ ->]. exact HQ.
  Qed.

  Theorem thread_switch_switches to root h d : known d -> root_ok root ->
    (forall d, known d -> d !! field_cell "thread" to "root" = Some root /\ is_Some (d !! current_cell cpu) /\ hands h to (<[current_cell cpu := to]> d)) ->
    switches "thread_switch" [to] h d (fun v h' d' => v = 0 /\ comes h' d').
  Proof using HT HW HP HC load_below loaded_root fpu_left fpu_leave.
    unfold field_cell. intros Hd Hok Hknown. destruct (Hknown d Hd) as (Hroot & _). eapply switches_body; [by apply HT|done|].
    unfold thread_switch_code. cbn [fn_body fn_locals]. locals_simpl.
    apply switching_seq, during_switching. eapply during_assign; [eapply eval_load; [evaluate|evaluate|exact Hroot]|]. locals_simpl. locals_plain.
    clear Hroot. apply switching_seq, during_switching, during_asks; [exact loaded_root|done|evaluate|]. clear d Hd. intros loaded d Hd. locals_simpl. locals_plain.
    apply switching_seq, during_switching. eapply (during_mono _ _ _ _ _ (fun r d' => r = [to; root; loaded; 0] /\ d' = d) _ (fun _ _ => False) _ (fun _ _ => False)); [| | |].
    4: { eapply during_if; [evaluate|]. cbn [compare negb andb]. destruct (_ && _) eqn:E; [|by apply during_skip].
      apply andb_true_iff in E as [_ E]. change 4294967295 with NONE in E. destruct Hok as [->|Hr]; [by rewrite Z.eqb_refl in E|]. by apply (during_load root). }
    2,3: done. cbn beta. intros r d' [E1 E2]. subst r d'.
    apply switching_seq, during_switching, during_asks; [exact fpu_left|done|evaluate|]. clear d Hd. intros left d Hd. locals_simpl. locals_plain.
    apply switching_seq, during_switching. eapply during_if; [evaluate|]. cbn [compare negb].
    assert (forall d, known d -> switching (Call None "arch_switch" [Var 0]) (fun _ h' d' => 0 = 0 /\ comes h' d') (fun _ _ _ => False) (fun v h' d' => v = 0 /\ comes h' d') [to; root; loaded; left] h d) as Hs.
    { intros d1 Hd1. destruct (Hknown d1 Hd1) as (_ & Hx & Hh). eapply switching_call; [evaluate|by apply arch_switch_switches|]. by intros v h' d' [_ Hc]. }
    destruct (negb _); [|by apply during_skip, Hs]. apply during_asks; [exact fpu_leave|done|evaluate|]. intros v d' Hd'. by apply Hs.
  Qed.
  Theorem thread_switch_to_user_switches to root h d : known d -> 0 <= root < NUM_FRAME ->
    (forall d, known d -> d !! field_cell "thread" to "root" = Some root /\ is_Some (d !! current_cell cpu) /\ hands h to (<[current_cell cpu := to]> d)) ->
    switches "thread_switch_to_user" [to] h d (fun v h' d' => v = 0 /\ comes h' d').
  Proof using HT HW HP HC load_below loaded_root.
    unfold field_cell. intros Hd Hok Hknown. destruct (Hknown d Hd) as (Hroot & _). eapply switches_body; [by apply HT|done|].
    unfold thread_switch_to_user_code. cbn [fn_body fn_locals]. locals_simpl.
    apply switching_seq, during_switching. eapply during_assign; [eapply eval_load; [evaluate|evaluate|exact Hroot]|]. locals_simpl. locals_plain.
    clear Hroot. apply switching_seq, during_switching, during_asks; [exact loaded_root|done|evaluate|]. clear d Hd. intros loaded d Hd. locals_simpl. locals_plain.
    destruct (Hknown d Hd) as (_ & Hx & Hh).
    apply switching_seq, during_switching. eapply during_if; [evaluate|]. cbn [compare negb].
    assert (switching (Call None "arch_switch" [Var 0]) (fun _ h' d' => 0 = 0 /\ comes h' d') (fun _ _ _ => False) (fun v h' d' => v = 0 /\ comes h' d') [to; root; loaded] h d) as Hs.
    { eapply switching_call; [evaluate|by apply arch_switch_switches|]. by intros v h' d' [_ Hc]. }
    destruct (negb _); [|by apply during_skip]. by apply (during_load root).
  Qed.

  (** A thread that ends leaves its process's page map: it runs in the kernel's half, which all maps have. *)
  Theorem thread_leave_space_timed t d : known d -> (forall d, known d -> d !! current_cell cpu = Some t /\ is_Some (d !! field_cell "thread" t "root")) ->
    timed "thread_leave_space" [] d (fun v d' => v = 0 /\ exists d1, known d1 /\ d' = <[field_cell "thread" t "root" := NONE]> d1).
  Proof using HT HW HP HC load_kernel_below loaded_root.
    unfold field_cell. intros Hd Hknown. destruct (Hknown d Hd) as [Hcur _]. eapply timed_body; [by apply HT|done|].
    unfold thread_leave_space_code. cbn [fn_body fn_locals]. locals_simpl.
    apply during_seq. eapply during_call_whole; [evaluate|apply triple_timed, (arch_current_triple kernel_entry M cpu HW HC), Hcur|]. intros ? ? [-> ->]. locals_simpl. locals_plain.
    apply during_seq, during_asks; [exact loaded_root|done|evaluate|]. clear d Hd Hcur. intros loaded d Hd. destruct (Hknown d Hd) as [_ Hx]. locals_simpl. locals_plain.
    apply during_seq. eapply during_store; [evaluate|evaluate|evaluate|exact Hx|]. eapply during_if; [evaluate|]. cbn [compare negb].
    destruct (negb _); [|apply during_skip; eauto]. eapply during_call_whole; [evaluate|apply triple_timed, pagemap_load_kernel_triple; done|]. intros ? ? [_ ->]. eauto.
  Qed.
End switch.
