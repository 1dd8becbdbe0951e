(** All functions of page maps that clients may call, at the top. *)
From Ashlar Require Export layers.pagemap.top.DestroyTransaction layers.frame.Implements lang.programs.Private.
Local Opaque gmap_lookup gmap_partial_alter.

Section functions.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).

  Definition map_functions : list (string * (list Z -> program (top_prim X) (objects X))) :=
    [("pagemap_create", fun args => top_create X kernel_entry Yc Yf H Y args Ret);
     ("pagemap_missing", fun args => top_missing X kernel_entry Y args Ret);
     ("pagemap_prepare", fun args => top_prepare X kernel_entry Yc Yf H Y args Ret);
     ("pagemap_map", fun args => top_map X kernel_entry Y args Ret);
     ("pagemap_unmap", fun args => top_unmap X kernel_entry Y args Ret);
     ("pagemap_walk", fun args => top_walk X kernel_entry Y args Ret);
     ("pagemap_frame", fun args => top_frame X kernel_entry Y args Ret);
     ("pagemap_pin", fun args => top_pin X kernel_entry Y args Ret);
     ("pagemap_root_of", fun args => top_root_of X kernel_entry Y args Ret);
     ("pagemap_destroy_step", fun args => top_destroy_step X kernel_entry Yc Yf H Y args Ret);
     ("pagemap_load", fun args => top_load X args Ret);
     ("pagemap_load_kernel", fun args => top_load_kernel X args Ret)]%string.

  Ltac case_functions Hf :=
    unfold map_functions in Hf; repeat (apply elem_of_cons in Hf as [[= -> ->]|Hf]); [..|by apply elem_of_nil in Hf].

  Section discipline.
    Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
    Context (frame_memory_out : forall st s, slot_out Yf st = Some s -> st = slot_in Yf s).
    Context (maps_out : forall p Hp st s, slot_out (Y p Hp) st = Some s -> st = slot_in (Y p Hp) s).

    (** A result, or a transaction on one map of [destroy_updates] updates at most. *)
    Theorem map_functions_transactions nlock limit f g args :
      0 <= slot_lock Yf < nlock -> 0 <= slot_lock Yc < nlock -> slot_lock Yf < limit -> slot_lock Yc < limit ->
      (forall p Hp, limit <= slot_lock (Y p Hp) /\ 0 <= slot_lock (Y p Hp) < nlock) ->
      (f, g) ∈ map_functions -> map_function X nlock limit destroy_updates (g args).
    Proof using containers_out frame_memory_out maps_out.
      intros H1 H2 H3 H4 H5 Hf.
      assert (Hmore : forall n q, (n <= destroy_updates)%nat -> map_function X nlock limit n q -> map_function X nlock limit destroy_updates q).
      { intros n q Hn [Hq|Hq]; [by left|right]. by eapply transaction_more. }
      assert (L0 : (0 <= destroy_updates)%nat) by apply Nat.le_0_l.
      assert (L3 : (3 <= destroy_updates)%nat) by by apply Nat.leb_le.
      case_functions Hf.
      - eapply Hmore; [exact L3|]. by apply create_transaction.
      - eapply Hmore; [exact L0|]. by apply missing_transaction.
      - eapply Hmore; [exact L3|]. by apply prepare_transaction.
      - eapply Hmore; [exact L0|]. by apply map_transaction.
      - eapply Hmore; [exact L0|]. by apply unmap_transaction.
      - eapply Hmore; [exact L0|]. by apply walk_transaction.
      - eapply Hmore; [exact L0|]. by apply frame_transaction.
      - eapply Hmore; [exact L0|]. by apply pin_transaction.
      - eapply Hmore; [exact L0|]. by apply root_of_transaction.
      - by apply destroy_step_transaction.
      - eapply Hmore; [exact L0|]. apply load_transaction.
      - eapply Hmore; [exact L0|]. apply load_kernel_transaction.
    Qed.
    Theorem map_functions_steps f g args : slot_lock Yc <> slot_lock Yf -> (f, g) ∈ map_functions ->
      steps_only X (frame_memory_history X Yf) (g args).
    Proof using containers_out frame_memory_out.
      intros Hd Hf. case_functions Hf.
      - by apply create_steps. - apply missing_steps. - by apply prepare_steps. - apply map_steps. - apply unmap_steps. - apply walk_steps.
      - apply frame_steps. - apply pin_steps. - apply root_of_steps. - by apply destroy_step_steps. - apply load_steps.
      - apply load_kernel_steps.
    Qed.
  End discipline.

  (** The C does what they say. *)
  Section code.
    Context (M : module).
    Context (HYc : slot_lock Yc = LOCK_CONTAINER) (HYf : slot_lock Yf = LOCK_FRAME).
    Context (HY : forall p Hp, slot_lock (Y p Hp) = LOCK_PAGEMAP_BASE + p).
    Context (Hother : forall p Hp, slot_object (Y p Hp) <> slot_object Yc /\ slot_object (Y p Hp) <> slot_object Yf).
    Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
    Context (HMf : forall f fd, frame_module f = Some fd -> M f = Some fd).
    Context (HMc : forall f fd, container_module f = Some fd -> M f = Some fd).
    Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
    Context (HClear : M "arch_frame_clear"%string = None) (HBit : M "arch_highest_bit"%string = None).
    Context (HRead : M "arch_frame_read"%string = None) (HWrite : M "arch_frame_write"%string = None).
    Context (HEntry : M "arch_kernel_map_entry"%string = None).
    Context (HLoad : M "arch_page_map_load"%string = None) (HLoadKernel : M "arch_page_map_load_kernel"%string = None).

    Theorem map_functions_performed f g : (f, g) ∈ map_functions ->
      exists sp, (forall cpu, performs X kernel_entry M cpu f sp) /\ forall args, same (sp args Ret) (expand X (g args)).
    Proof using HYc HYf HY Hother HM HMf HMc lock_acquire lock_release HClear HBit HRead HWrite HEntry HLoad HLoadKernel.
      assert (Hret : forall v : Z, same (Ret v) (expand X (Ret v))) by constructor.
      assert (Ha : forall cpu, implements_then X kernel_entry M cpu "frame_alloc_private" (alloc_private X Yc Yf H))
        by (intros; by apply frame_alloc_private_certified).
      assert (Hr : forall cpu, implements_then X kernel_entry M cpu "frame_remove_owner" (remove_owner X Yc Yf H))
        by (intros; by apply frame_remove_owner_certified).
      intros Hf. case_functions Hf; eexists; (split; [intros cpu; apply implements_then_performs|intros args]).
      - by apply pagemap_create_implements. - by apply same_create.
      - by apply pagemap_missing_implements. - by apply same_missing.
      - by apply pagemap_prepare_implements. - by apply same_prepare.
      - by apply pagemap_map_implements. - by apply same_map.
      - by apply pagemap_unmap_implements. - by apply same_unmap.
      - by apply pagemap_walk_implements. - by apply same_walk.
      - by apply pagemap_frame_implements. - by apply same_frame.
      - by apply pagemap_pin_implements. - by apply same_pin.
      - by apply pagemap_root_of_implements. - by apply same_root_of.
      - by apply pagemap_destroy_step_implements. - by apply same_destroy_step.
      - by apply pagemap_load_implements. - by apply same_load.
      - by apply pagemap_load_kernel_implements. - by apply same_load_kernel.
    Qed.
  End code.
End functions.
