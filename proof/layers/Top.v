(** The C of the certified layers does what its programs at the top say. *)
From Ashlar Require Export layers.Functions.

Section top.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start shares_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start shares_start).
  Notation maps := (process_map_slot kernel_entry root_quota frames_start shares_start).
  Notation shares := (share_slot kernel_entry root_quota frames_start shares_start).
  Notation cpu_frames := (kernel_owned_frames kernel_entry root_quota frames_start shares_start).
  Notation top_program := (program (top_prim X) (objects X)).
  Notation container_functions := (container_functions kernel_entry root_quota frames_start shares_start).
  Notation frame_functions := (frame_functions kernel_entry root_quota frames_start shares_start).
  Notation share_functions := (share_functions kernel_entry root_quota frames_start shares_start).
  Notation map_functions := (map_functions kernel_entry root_quota frames_start shares_start).
  Notation kernel_functions := (kernel_functions kernel_entry root_quota frames_start shares_start).
  Notation kernel_exported := (kernel_exported kernel_entry root_quota frames_start shares_start).
  Notation kernel_top := (kernel_top kernel_entry root_quota frames_start shares_start).
  Notation kernel_spec := (expand_spec X kernel_top).

  Ltac case_functions H :=
    repeat (apply elem_of_cons in H as [[= -> ->]|H]); [..|by apply elem_of_nil in H].

  (** No two layers have a function of the same name. *)
  Ltac unique_name H :=
    cbn [module_of] in H;
    repeat match type of H with
           | (if String.eqb ?f ?n then _ else _) = _ => destruct (String.eqb_spec f n) as [->|_]; [by repeat split|]
           end; done.
  Lemma frame_disjoint f fd : frame_module f = Some fd -> container_module f = None.
  Proof. unfold frame_module, frame_module_list. intros H. unique_name H. Qed.
  Lemma share_disjoint f fd : share_module f = Some fd -> container_module f = None /\ frame_module f = None.
  Proof. unfold share_module, share_module_list. intros H. unique_name H. Qed.

  Notation pagemap_module := layers.pagemap.Code.pagemap_module.
  Lemma pagemap_disjoint f fd : pagemap_module f = Some fd -> container_module f = None /\ frame_module f = None /\ share_module f = None.
  Proof. unfold layers.pagemap.Code.pagemap_module, layers.pagemap.Code.pagemap_module_list. intros H. unique_name H. Qed.
  Notation queue_module := layers.queue.Code.queue_module.
  Notation thread_module := layers.thread.Code.thread_module.
  Notation sched_module := layers.sched.Code.sched_module.
  Lemma queue_disjoint f fd : queue_module f = Some fd ->
    container_module f = None /\ frame_module f = None /\ share_module f = None /\ pagemap_module f = None.
  Proof. unfold layers.queue.Code.queue_module, layers.queue.Code.queue_module_list. intros H. unique_name H. Qed.
  Lemma thread_disjoint f fd : thread_module f = Some fd ->
    container_module f = None /\ frame_module f = None /\ share_module f = None /\ pagemap_module f = None /\ queue_module f = None.
  Proof. unfold layers.thread.Code.thread_module, layers.thread.Code.thread_module_list. intros H. unique_name H. Qed.
  Lemma sched_disjoint f fd : sched_module f = Some fd ->
    container_module f = None /\ frame_module f = None /\ share_module f = None /\ pagemap_module f = None /\ queue_module f = None /\ thread_module f = None.
  Proof. unfold layers.sched.Code.sched_module, layers.sched.Code.sched_module_list. intros H. unique_name H. Qed.

  (** The C code of the layers above the spin locks. *)
  Definition kernel_code : module :=
    module_union container_module (module_union frame_module (module_union share_module
      (module_union pagemap_module (module_union queue_module (module_union thread_module sched_module))))).

  (** The primitives of [arch] that the layers call. *)
  Definition arch_used : list string :=
    ["arch_frame_clear"; "arch_frame_read"; "arch_frame_write"; "arch_highest_bit"; "arch_kernel_map_entry"; "arch_page_map_load";
     "arch_page_map_load_kernel"]%string.

  Section code.
    Context (M : module) (code_present : forall f fd, kernel_code f = Some fd -> M f = Some fd).
    Context (acquire_below : M ACQUIRE = None) (release_below : M RELEASE = None).
    (** The primitives of [arch] that the layers call are functions of no layer. *)
    Context (arch_below : forall f, f ∈ arch_used -> M f = None).

    Lemma container_present f fd : container_module f = Some fd -> M f = Some fd.
    Proof using code_present. intros Hf. apply code_present. unfold kernel_code, module_union. by rewrite Hf. Qed.
    Lemma frame_present f fd : frame_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union. by rewrite (frame_disjoint f fd Hf), Hf.
    Qed.
    Lemma share_present f fd : share_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (share_disjoint f fd Hf) as [-> ->]. by rewrite Hf.
    Qed.
    Lemma pagemap_present f fd : pagemap_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (pagemap_disjoint f fd Hf) as (-> & -> & ->). by rewrite Hf.
    Qed.
    Lemma queue_present f fd : queue_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (queue_disjoint f fd Hf) as (-> & -> & -> & ->). by rewrite Hf.
    Qed.
    Lemma thread_present f fd : thread_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (thread_disjoint f fd Hf) as (-> & -> & -> & -> & ->). by rewrite Hf.
    Qed.
    Lemma sched_present f fd : sched_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (sched_disjoint f fd Hf) as (-> & -> & -> & -> & -> & ->). exact Hf.
    Qed.

    (** The C function of that name does what the program says. *)
    Definition implemented_function (f : string) (g : list Z -> top_program) : Prop :=
      exists sp, (forall cpu, performs X kernel_entry M cpu f sp) /\ forall args, same (sp args Ret) (expand X (g args)).
    Lemma implemented_by f g sp : (forall cpu, implements_then X kernel_entry M cpu f sp) ->
      (forall args, same (sp args Ret) (expand X (g args))) -> implemented_function f g.
    Proof using. intros Hi Hs. exists sp. split; [|done]. intros cpu. by apply implements_then_performs. Qed.

    Lemma top_function_same f args : same (bind (lock_function containers f args) Ret) (expand X (top_function X containers f args)).
    Proof using. rewrite expand_top_function. apply same_bind_ret. Qed.

    Lemma container_functions_implemented f g : (f, g) ∈ container_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below.
      pose proof container_present as Hc. intros H. unfold container_functions in H.
      case_functions H; (eapply implemented_by; [intros cpu; apply implements_has_then|apply top_function_same]).
      - by apply container_split_implements. - by apply container_charge_implements.
      - by apply container_refund_implements. - by apply container_merge_implements.
      - by apply container_quota_implements. - by apply container_usage_implements.
      - by apply container_parent_implements. - by apply container_own_usage_implements.
    Qed.

    Lemma frame_functions_implemented f g : (f, g) ∈ frame_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below arch_below.
      assert (Hclear : M "arch_frame_clear" = None) by (apply arch_below; set_solver).
      assert (Hbit : M "arch_highest_bit"%string = None) by (apply arch_below; set_solver).
      pose proof frame_present as Hp. pose proof container_present as Hc.
      intros Hf. unfold frame_functions in Hf. case_functions Hf.
      - apply (implemented_by _ _ (alloc X containers frames cpu_frames)); [|intros args; apply same_alloc; intros; constructor].
        intros cpu. by apply frame_alloc_certified.
      - apply (implemented_by _ _ (alloc_private X containers frames cpu_frames)); [|intros args; apply same_alloc_private; intros; constructor].
        intros cpu. by apply frame_alloc_private_certified.
      - apply (implemented_by _ _ (add_owner X containers frames cpu_frames)); [|intros args; apply same_add_owner; intros; constructor].
        intros cpu. by apply frame_add_owner_certified.
      - apply (implemented_by _ _ (remove_owner X containers frames cpu_frames)); [|intros args; apply same_remove_owner; intros; constructor].
        intros cpu. by apply frame_remove_owner_certified.
      - apply (implemented_by _ _ (read_owners X frames cpu_frames)); [|intros args; apply same_owners; intros; constructor].
        intros cpu. by apply frame_owners_certified.
      - apply (implemented_by _ _ (read_state X frames cpu_frames)); [|intros args; apply same_state; intros; constructor].
        intros cpu. by apply frame_state_certified.
      - apply (implemented_by _ _ (read_free_count X frames cpu_frames)); [|intros args; apply same_free_count; intros; constructor].
        intros cpu. by apply frame_free_count_certified.
    Qed.

    Lemma share_functions_implemented f g : (f, g) ∈ share_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below arch_below.
      pose proof frame_present as Hp. pose proof container_present as Hc. pose proof share_present as Hs.
      assert (Hd1 : slot_object shares <> slot_object frames) by done.
      assert (Hd2 : slot_object shares <> owned_frames_object cpu_frames) by done.
      assert (Hd3 : slot_object shares <> slot_object containers) by done.
      intros Hf. unfold share_functions in Hf. case_functions Hf.
      1-4: (eapply implemented_by; [intros cpu; apply implements_has_then|apply same_share]).
      - by apply share_frame_implements. - by apply share_withdraw_implements.
      - by apply share_forget_implements. - by apply share_process_ended_implements.
      - apply (implemented_by _ _ (offer X shares (read_owners X frames cpu_frames))); [|apply same_offer]. intros cpu.
        apply share_offer_implements; try done; [apply owners_continuation|by apply owners_keeps|by apply frame_owners_certified].
      - apply (implemented_by _ _ (accept X shares (add_owner X containers frames cpu_frames))); [|apply same_accept]. intros cpu.
        apply share_accept_implements; try done; [apply add_owner_continuation|by apply add_owner_keeps|by apply frame_add_owner_certified].
    Qed.

    Lemma map_functions_implemented f g : (f, g) ∈ map_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below arch_below.
      apply (layers.pagemap.top.ClientFunctions.map_functions_performed X kernel_entry containers frames cpu_frames maps M); try done;
        try apply pagemap_present; try apply frame_present; try apply container_present; try (apply arch_below; set_solver).
    Qed.

    Lemma kernel_functions_implemented f g : (f, g) ∈ kernel_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below arch_below.
      intros [H|[H|[H|[H|H]%elem_of_app]%elem_of_app]%elem_of_app]%elem_of_app;
        [by apply container_functions_implemented|by apply frame_functions_implemented|by apply share_functions_implemented|
         by apply map_functions_implemented|].
      apply (layers.sched.Top.ready_functions_performed X (kernel_ready kernel_entry root_quota frames_start shares_start) kernel_entry M
        sched_present queue_present thread_present); [apply arch_below; set_solver|done].
    Qed.

    Theorem kernel_implemented : all_implemented X kernel_entry M kernel_exported kernel_spec.
    Proof using code_present acquire_below release_below arch_below.
      intros f args p H. unfold expand_spec in H. destruct (kernel_top f args) as [q|] eqn:E; [|done].
      injection H as <-. apply kernel_top_inv in E as (g & Hg & -> & Hexp).
      apply kernel_functions_implemented in Hg as (sp & Hsp & Hs).
      destruct (Hsp 0%nat) as (_ & fd & Hfd & _). exists fd. split_and!; [done|done|].
      intros cpu m a Hr. destruct (Hsp cpu) as (_ & fd' & Hfd' & H'). rewrite Hfd in Hfd'. injection Hfd' as <-.
      destruct (H' args m a Hr) as [[Hlen H]|H].
      - left. split; [done|]. eapply sim_same; [exact H|apply Hs].
      - right. specialize (Hs args). rewrite H in Hs. by inversion Hs.
    Qed.
  End code.
End top.
