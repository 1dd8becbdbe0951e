(** The functions of the certified layers that clients may call, as programs of atomic updates at the top. *)
From Ashlar Require Export layers.Stack layers.frame.Implements layers.share.Top lang.Private.
From Ashlar Require layers.sched.Top.

Section top.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : pool).
  Notation X := (kernel_layout kernel_entry root_quota frames_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start).
  Notation shares := (share_slot kernel_entry root_quota frames_start).
  Notation in_hand := (kernel_hands kernel_entry root_quota frames_start).
  Notation top_program := (program (top_prim X) (objects X)).
  Notation functions := (list (string * (list Z -> top_program))).

  Definition container_functions : functions :=
    [("container_split"%string, top_function X containers (update3 container_split));
     ("container_charge"%string, top_function X containers (update2 container_charge));
     ("container_refund"%string, top_function X containers (update2 container_refund));
     ("container_merge"%string, top_function X containers (update1 container_merge));
     ("container_quota"%string, top_function X containers (update1 container_quota));
     ("container_usage"%string, top_function X containers (update1 container_usage));
     ("container_parent"%string, top_function X containers (update1 container_parent));
     ("container_own_usage"%string, top_function X containers (update1 container_own_usage))].

  Definition frame_functions : functions :=
    [("frame_alloc"%string, fun args => top_alloc X containers frames in_hand args Ret);
     ("frame_alloc_private"%string, fun args => top_alloc_private X containers frames in_hand args Ret);
     ("frame_add_owner"%string, fun args => top_add_owner X containers frames in_hand args Ret);
     ("frame_remove_owner"%string, fun args => top_remove_owner X containers frames in_hand args Ret);
     ("frame_owners"%string, fun args => top_owners X frames in_hand args Ret);
     ("frame_state"%string, fun args => top_state X frames in_hand args Ret);
     ("frame_free_count"%string, fun args => top_free_count X frames in_hand args Ret)].

  Definition share_functions : functions :=
    [("share_frame"%string, top_share X shares (share_update1 share_frame));
     ("share_withdraw"%string, top_share X shares (share_update2 share_withdraw));
     ("share_forget"%string, top_share X shares (share_update2 share_forget));
     ("share_process_ended"%string, top_share X shares (share_update1 share_process_ended));
     ("share_offer"%string, top_offer X frames in_hand shares);
     ("share_accept"%string, top_accept X containers frames in_hand shares)].

  Definition ready_functions : functions := layers.sched.Top.ready_functions X (kernel_ready kernel_entry root_quota frames_start).

  Definition kernel_functions : functions := container_functions ++ frame_functions ++ share_functions ++ ready_functions.

  Definition find {T} (f : string) (l : list (string * T)) : option T :=
    snd <$> List.find (fun g => String.eqb f g.1) l.
  Definition kernel_top (f : string) (args : list Z) : option top_program := (fun p => p args) <$> find f kernel_functions.
  Definition kernel_exported (f : string) : bool := existsb (fun g => String.eqb f g.1) kernel_functions.

  Lemma find_some {T} f (l : list (string * T)) x : find f l = Some x -> (f, x) ∈ l /\ existsb (fun g => String.eqb f g.1) l = true.
  Proof.
    unfold find. destruct (List.find _ l) as [[g y]|] eqn:E; [|done]. intros [= <-].
    apply List.find_some in E as [Hin ->%String.eqb_eq]. split; [by apply elem_of_list_In|].
    apply existsb_exists. exists (g, y). split; [done|apply String.eqb_refl].
  Qed.
  Lemma kernel_top_inv f args p : kernel_top f args = Some p ->
    exists g, (f, g) ∈ kernel_functions /\ p = g args /\ kernel_exported f = true.
  Proof.
    unfold kernel_top. destruct (find f kernel_functions) as [g|] eqn:E; [|done]. intros [= <-].
    apply find_some in E as [H1 H2]. eauto.
  Qed.

  (** Locks whose objects change by atomic updates; the other locks are held by transactions. *)
  Definition kernel_atomic (k : Z) : bool := k <? LOCK_PAGEMAP_BASE.

  (** The events that a function may cause while it holds locks. *)
  Definition kernel_budget : nat := 7.

  (** Every function is a program of updates that keep their objects valid, or one transaction on the shares. *)
  Definition disciplined_function (g : list Z -> top_program) : Prop := forall args,
    (exists n, updates X NUM_LOCK LOCK_PAGEMAP_BASE n (g args)) \/
    (exists p, g args = Act (Lock (ACQUIRE, [LOCK_SHARE])) (fun _ => p) /\ transacts X NUM_LOCK LOCK_PAGEMAP_BASE LOCK_SHARE (slot_object shares) 3 p).

  Ltac case_functions H :=
    repeat (apply elem_of_cons in H as [[= -> ->]|H]); [..|by apply elem_of_nil in H].

  Lemma containers_out st s : slot_out containers st = Some s -> st = slot_in containers s.
  Proof. simpl. destruct st; try done. by intros [= ->]. Qed.
  Lemma frames_out st s : slot_out frames st = Some s -> st = slot_in frames s.
  Proof. simpl. destruct st; try done. by intros [= ->]. Qed.
  Lemma frame_lock_range : 0 <= slot_lock frames < NUM_LOCK.
  Proof. simpl. unfold LOCK_FRAME, NUM_LOCK. lia. Qed.
  Lemma container_lock_range : 0 <= slot_lock containers < NUM_LOCK.
  Proof. simpl. unfold LOCK_CONTAINER, NUM_LOCK. lia. Qed.
  Lemma frame_lock_below : slot_lock frames < LOCK_PAGEMAP_BASE.
  Proof. done. Qed.
  Lemma container_lock_below : slot_lock containers < LOCK_PAGEMAP_BASE.
  Proof. done. Qed.

  Lemma container_functions_disciplined f g : (f, g) ∈ container_functions -> disciplined_function g.
  Proof.
    intros H args. left. exists 1%nat. unfold container_functions in H.
    case_functions H; (apply container_updates; [exact container_lock_range|exact container_lock_below|exact containers_out|]).
    - apply container_split_keeps. - apply container_charge_keeps. - apply container_refund_keeps.
    - apply container_merge_keeps. - apply container_read_keeps. - apply container_read_keeps.
    - apply container_read_keeps. - apply container_read_keeps.
  Qed.
  Lemma frame_functions_disciplined f g : (f, g) ∈ frame_functions -> disciplined_function g.
  Proof.
    pose proof frame_lock_range. pose proof container_lock_range. pose proof frame_lock_below.
    pose proof container_lock_below. pose proof containers_out. pose proof frames_out.
    assert (Hret : forall v : Z, updates X NUM_LOCK LOCK_PAGEMAP_BASE 0 (Ret v)) by constructor.
    intros Hf args. left. unfold frame_functions in Hf. case_functions Hf.
    - exists 4%nat. by apply alloc_updates with (n := 0%nat).
    - exists 3%nat. by apply alloc_private_updates with (n := 0%nat).
    - exists 3%nat. by apply add_owner_updates with (n := 0%nat).
    - exists 2%nat. by apply remove_owner_updates with (n := 0%nat).
    - exists 1%nat. by apply owners_updates with (n := 0%nat).
    - exists 1%nat. by apply state_updates with (n := 0%nat).
    - exists 1%nat. by apply free_count_updates with (n := 0%nat).
  Qed.
  Lemma shares_out st s : slot_out shares st = Some s -> st = slot_in shares s.
  Proof. simpl. destruct st; try done. by intros [= ->]. Qed.
  Lemma transacts_more n m p : transacts X NUM_LOCK LOCK_PAGEMAP_BASE LOCK_SHARE (slot_object shares) n p -> (n <= m)%nat ->
    transacts X NUM_LOCK LOCK_PAGEMAP_BASE LOCK_SHARE (slot_object shares) m p.
  Proof.
    intros H. revert m. induction H as [n f κ Hf H IH|n m p κ Hp H IH|n v|n p q Hp IH Hs]; intros m' Hm.
    - apply transacts_loc; [done|]. intros v. by apply IH.
    - replace m' with (n + (m' - n))%nat by lia. apply transacts_updates; [done|]. intros v. apply IH. lia.
    - apply transacts_end.
    - eapply transacts_same; [by apply IH|done].
  Qed.
  Lemma share_function_disciplined f : keeps (svalid := share_valid) f -> disciplined_function (top_share X shares f).
  Proof.
    intros Hf args. unfold top_share. destruct (f args) as [g|] eqn:E; [right|left; exists 0%nat; constructor].
    eexists. split; [reflexivity|]. eapply transacts_more; [|apply (Nat.le_0_l 3)].
    by apply (share_transacts X shares NUM_LOCK LOCK_PAGEMAP_BASE shares_out f args g).
  Qed.
  Lemma share_functions_disciplined f g : (f, g) ∈ share_functions -> disciplined_function g.
  Proof.
    pose proof frame_lock_range as H1. pose proof container_lock_range as H2. pose proof frame_lock_below as H3.
    pose proof container_lock_below as H4. pose proof containers_out as H5. pose proof frames_out as H6. pose proof shares_out as H7.
    intros Hf. unfold share_functions in Hf. case_functions Hf.
    - apply share_function_disciplined, share_frame_keeps. - apply share_function_disciplined, share_withdraw_keeps.
    - apply share_function_disciplined, share_forget_keeps. - apply share_function_disciplined, share_process_ended_keeps.
    - intros args. destruct args as [|i [|p [|frame [|??]]]]; try (left; exists 0%nat; constructor). right.
      eexists. split; [reflexivity|]. eapply transacts_more; [|apply (le_S 1 2), le_S, le_n].
      by apply (offer_transacts X frames in_hand shares).
    - intros args. destruct args as [|i [|p [|??]]]; try (left; exists 0%nat; constructor). right.
      eexists. split; [reflexivity|]. by apply (accept_transacts X containers frames in_hand shares).
  Qed.

  Lemma kernel_functions_disciplined f g : (f, g) ∈ kernel_functions -> disciplined_function g.
  Proof.
    intros [H|[H|[H|H]%elem_of_app]%elem_of_app]%elem_of_app;
      [by eapply container_functions_disciplined|by eapply frame_functions_disciplined|by eapply share_functions_disciplined|].
    intros args. left. exists 0%nat. by eapply layers.sched.Top.ready_functions_updates.
  Qed.

  (** ** The obligations of the general theorems *)
  Notation kernel_spec := (expand_spec X kernel_top).

  Theorem kernel_disciplined : spec_disciplined X NUM_LOCK kernel_budget kernel_spec.
  Proof using.
    intros f args p n a H Ha. unfold expand_spec in H. destruct (kernel_top f args) as [q|] eqn:E; [|done].
    injection H as <-. apply kernel_top_inv in E as (g & Hg & -> & _).
    apply kernel_functions_disciplined in Hg. destruct (Hg args) as [[m Hm]|(p & -> & Hp)].
    - eapply (updates_function X NUM_LOCK kernel_budget kernel_one_lock); [unfold kernel_budget; lia|exact Hm|exact Ha].
    - apply (transaction_disciplined X NUM_LOCK kernel_budget kernel_one_lock LOCK_PAGEMAP_BASE LOCK_SHARE (slot_object shares) 3); try done.
      unfold kernel_budget. lia.
  Qed.
  Theorem kernel_atomic_locks f args p : kernel_top f args = Some p -> atomic_locks X kernel_atomic p.
  Proof using.
    intros (g & Hg & -> & _)%kernel_top_inv. apply kernel_functions_disciplined in Hg.
    destruct (Hg args) as [[m Hm]|(q & -> & Hq)].
    - eapply updates_atomic; [|exact Hm]. intros k o _ [_ Hk]. by apply Z.ltb_lt.
    - simpl. split; [by right|]. intros _.
      eapply (transacts_atomic X NUM_LOCK LOCK_PAGEMAP_BASE LOCK_SHARE (slot_object shares) 3); [|reflexivity|exact Hq].
      intros k o _ [_ Hk]. by apply Z.ltb_lt.
  Qed.

  (** What can happen to the frame table. *)
  Theorem kernel_steps f args p : kernel_top f args = Some p -> steps_only X (pool_history X frames) p.
  Proof using.
    intros (g & Hg & -> & _)%kernel_top_inv.
    assert (Hdiff : slot_lock containers <> slot_lock frames) by done.
    pose proof containers_out. pose proof frames_out. apply elem_of_app in Hg as [Hg|[Hg|[Hg|Hg]%elem_of_app]%elem_of_app].
    - unfold container_functions in Hg. case_functions Hg; (apply container_steps; [done|done|]).
      + apply container_split_keeps. + apply container_charge_keeps. + apply container_refund_keeps.
      + apply container_merge_keeps. + apply container_read_keeps. + apply container_read_keeps.
      + apply container_read_keeps. + apply container_read_keeps.
    - unfold frame_functions in Hg. case_functions Hg.
      + by apply alloc_steps. + by apply alloc_private_steps. + by apply add_owner_steps. + by apply remove_owner_steps.
      + by apply owners_steps. + by apply state_steps. + by apply free_count_steps.
    - unfold share_functions in Hg. case_functions Hg; try apply share_steps; [by apply offer_steps|by apply accept_steps].
    - by eapply layers.sched.Top.ready_functions_steps.
  Qed.

  (** No two layers have a function of the same name. *)
  Ltac apart H :=
    cbn [module_of] in H;
    repeat match type of H with
           | (if String.eqb ?f ?n then _ else _) = _ => destruct (String.eqb_spec f n) as [->|_]; [by repeat split|]
           end; done.
  Lemma frame_apart f fd : frame_module f = Some fd -> container_module f = None.
  Proof. unfold frame_module, frame_module_list. intros H. apart H. Qed.
  Lemma share_apart f fd : share_module f = Some fd -> container_module f = None /\ frame_module f = None.
  Proof. unfold share_module, share_module_list. intros H. apart H. Qed.

  Notation queue_module := layers.queue.Code.queue_module.
  Notation thread_module := layers.thread.Code.thread_module.
  Notation sched_module := layers.sched.Code.sched_module.
  Lemma queue_apart f fd : queue_module f = Some fd -> container_module f = None /\ frame_module f = None /\ share_module f = None.
  Proof. unfold layers.queue.Code.queue_module, layers.queue.Code.queue_module_list. intros H. apart H. Qed.
  Lemma thread_apart f fd : thread_module f = Some fd ->
    container_module f = None /\ frame_module f = None /\ share_module f = None /\ queue_module f = None.
  Proof. unfold layers.thread.Code.thread_module, layers.thread.Code.thread_module_list. intros H. apart H. Qed.
  Lemma sched_apart f fd : sched_module f = Some fd ->
    container_module f = None /\ frame_module f = None /\ share_module f = None /\ queue_module f = None /\ thread_module f = None.
  Proof. unfold layers.sched.Code.sched_module, layers.sched.Code.sched_module_list. intros H. apart H. Qed.

  (** The C code of the layers above the spin locks. *)
  Definition kernel_code : module :=
    module_union container_module (module_union frame_module (module_union share_module
      (module_union queue_module (module_union thread_module sched_module)))).

  Section code.
    Context (M : module) (code_present : forall f fd, kernel_code f = Some fd -> M f = Some fd).
    Context (acquire_below : M ACQUIRE = None) (release_below : M RELEASE = None).
    (** The primitives of [arch] that the layers call are nobody's functions. *)
    Context (arch_below : forall f, f ∈ ["arch_frame_clear"; "arch_highest_bit"]%string -> M f = None).

    Lemma container_present f fd : container_module f = Some fd -> M f = Some fd.
    Proof using code_present. intros Hf. apply code_present. unfold kernel_code, module_union. by rewrite Hf. Qed.
    Lemma frame_present f fd : frame_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union. by rewrite (frame_apart f fd Hf), Hf.
    Qed.
    Lemma share_present f fd : share_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (share_apart f fd Hf) as [-> ->]. by rewrite Hf.
    Qed.
    Lemma queue_present f fd : queue_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (queue_apart f fd Hf) as (-> & -> & ->). by rewrite Hf.
    Qed.
    Lemma thread_present f fd : thread_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (thread_apart f fd Hf) as (-> & -> & -> & ->). by rewrite Hf.
    Qed.
    Lemma sched_present f fd : sched_module f = Some fd -> M f = Some fd.
    Proof using code_present.
      intros Hf. apply code_present. unfold kernel_code, module_union.
      destruct (sched_apart f fd Hf) as (-> & -> & -> & -> & ->). exact Hf.
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
      - apply (implemented_by _ _ (alloc X containers frames in_hand)); [|intros args; apply same_alloc; intros; constructor].
        intros cpu. by apply frame_alloc_certified.
      - apply (implemented_by _ _ (alloc_private X containers frames in_hand)); [|intros args; apply same_alloc_private; intros; constructor].
        intros cpu. by apply frame_alloc_private_certified.
      - apply (implemented_by _ _ (add_owner X containers frames in_hand)); [|intros args; apply same_add_owner; intros; constructor].
        intros cpu. by apply frame_add_owner_certified.
      - apply (implemented_by _ _ (remove_owner X containers frames in_hand)); [|intros args; apply same_remove_owner; intros; constructor].
        intros cpu. by apply frame_remove_owner_certified.
      - apply (implemented_by _ _ (read_owners X frames in_hand)); [|intros args; apply same_owners; intros; constructor].
        intros cpu. by apply frame_owners_certified.
      - apply (implemented_by _ _ (read_state X frames in_hand)); [|intros args; apply same_state; intros; constructor].
        intros cpu. by apply frame_state_certified.
      - apply (implemented_by _ _ (read_free_count X frames in_hand)); [|intros args; apply same_free_count; intros; constructor].
        intros cpu. by apply frame_free_count_certified.
    Qed.

    Lemma share_functions_implemented f g : (f, g) ∈ share_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below arch_below.
      pose proof frame_present as Hp. pose proof container_present as Hc. pose proof share_present as Hs.
      assert (Hd1 : slot_object shares <> slot_object frames) by done.
      assert (Hd2 : slot_object shares <> hand_object in_hand) by done.
      assert (Hd3 : slot_object shares <> slot_object containers) by done.
      intros Hf. unfold share_functions in Hf. case_functions Hf.
      1-4: (eapply implemented_by; [intros cpu; apply implements_has_then|apply same_share]).
      - by apply share_frame_implements. - by apply share_withdraw_implements.
      - by apply share_forget_implements. - by apply share_process_ended_implements.
      - apply (implemented_by _ _ (offer X shares (read_owners X frames in_hand))); [|apply same_offer]. intros cpu.
        apply share_offer_implements; try done; [apply owners_sequel|by apply owners_keeps|by apply frame_owners_certified].
      - apply (implemented_by _ _ (accept X shares (add_owner X containers frames in_hand))); [|apply same_accept]. intros cpu.
        apply share_accept_implements; try done; [apply add_owner_sequel|by apply add_owner_keeps|by apply frame_add_owner_certified].
    Qed.

    Lemma kernel_functions_implemented f g : (f, g) ∈ kernel_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below arch_below.
      intros [H|[H|[H|H]%elem_of_app]%elem_of_app]%elem_of_app;
        [by apply container_functions_implemented|by apply frame_functions_implemented|by apply share_functions_implemented|].
      apply (layers.sched.Top.ready_functions_performed X (kernel_ready kernel_entry root_quota frames_start) kernel_entry M
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
