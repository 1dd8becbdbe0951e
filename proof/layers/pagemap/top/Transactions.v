(** The functions of page maps at the top: transactions on one page map, during which frames are allocated or freed. *)
From Ashlar Require Export layers.frame.memory.History layers.pagemap.map.Prepare layers.pagemap.map.MapImplements layers.pagemap.code.Load.
Local Opaque gmap_lookup gmap_partial_alter.

Section top.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Notation top_program := (program (top_prim X) (objects X)).
  Notation top_alloc_private := (top_alloc_private X Yc Yf H).
  Notation top_remove_owner := (top_remove_owner X Yc Yf H).

  (** ** The programs *)
  Definition top_process (p : Z) (k : 0 <= p < NUM_PROCESS -> top_program) : top_program :=
    match decide (0 <= p < NUM_PROCESS) with left Hp => k Hp | right _ => Fail end.
  Definition top_begin (p : Z) (Hp : 0 <= p < NUM_PROCESS) (q : top_program) : top_program :=
    Act (Lock (ACQUIRE, [slot_lock (Y p Hp)])) (fun _ => q).
  Definition top_end (p : Z) (Hp : 0 <= p < NUM_PROCESS) (q : top_program) : top_program :=
    Act (Lock (RELEASE, [slot_lock (Y p Hp)])) (fun _ => q).

  Definition top_on_map (p : Z) (g : page_map -> option (Z * page_map)) (κ : Z -> top_program) : top_program :=
    top_process p (fun Hp => top_begin p Hp (Loc (update_object (slot_object (Y p Hp)) (lift (Y p Hp) g)) (fun v => top_end p Hp (κ v)))).
  Definition top_find (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [p; v; take] =>
        if user_address v then top_on_map p (fun s => if take =? 1 then pagemap_unmap s v else pagemap_walk s v) κ else κ 0
    | _ => Fail
    end.
  Definition top_walk (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with [p; v] => top_find [p; v; 0] κ | _ => Fail end.
  Definition top_unmap (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with [p; v] => top_find [p; v; 1] κ | _ => Fail end.
  Definition top_frame (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with [p; v; prot] => top_find [p; v; 0] (fun e => κ (frame_of e prot)) | _ => Fail end.
  Definition top_pin (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [p; v] => if user_address v then top_on_map p (fun s => pagemap_pin s v) κ else κ 0
    | _ => Fail
    end.
  Definition top_root_of (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with [p] => top_on_map p (fun s => Some (root_of s, s)) κ | _ => Fail end.
  Definition top_load (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with [root] => if loadable root then κ 0 else Fail | _ => Fail end.
  Definition top_load_kernel (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with [] => κ 0 | _ => Fail end.

  Definition top_create (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [p] =>
        top_process p (fun Hp => top_begin p Hp (Loc (look (Y p Hp) (fun s => flag (present s))) (fun b =>
          if b =? 0 then
            top_alloc_private [p] (fun f =>
              if f =? NONE then top_end p Hp (κ ERR_NO_MEMORY)
              else if f =? FRAME_NO_QUOTA then top_end p Hp (κ ERR_QUOTA)
              else Loc (on_both (Y p Hp) H (create_owned_frames f)) (fun status => top_end p Hp (κ status)))
          else top_end p Hp (κ ERR_BAD_STATE))))
    | _ => Fail
    end.

  Definition top_map (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [p; v; f; prot; kind] =>
        if negb (word32 f) then Fail
        else if negb (user_address v) then κ ERR_BAD_ADDRESS
        else if (has prot PROT_WRITE && has prot PROT_EXEC) || (PAGEMAP_DEVICE <? kind) then κ ERR_BAD_ARGUMENT
        else top_on_map p (fun s => pagemap_store s (page_of v) (leaf_entry f prot kind)) κ
    | _ => Fail
    end.
  Definition top_missing (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [p; v] => if user_address v then top_on_map p (fun s => pagemap_missing s v) κ else κ 0
    | _ => Fail
    end.
  Definition top_prepare (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [p; v] =>
        if negb (user_address v) then κ ERR_BAD_ADDRESS
        else top_process p (fun Hp => top_begin p Hp (
          Loc (look (Y p Hp) (fun s => if present s then missing s (page_of v) else -1)) (fun k =>
            if k =? -1 then top_end p Hp (κ ERR_BAD_STATE)
            else if k =? 0 then top_end p Hp (κ STATUS_OK)
            else top_alloc_private [p] (fun f =>
              if f =? NONE then top_end p Hp (κ ERR_NO_MEMORY)
              else if f =? FRAME_NO_QUOTA then top_end p Hp (κ ERR_QUOTA)
              else Loc (on_both (Y p Hp) H (link_owned_frame (page_of v) f)) (fun status => top_end p Hp (κ status))))))
    | _ => Fail
    end.

  (** ** They stand for the programs that the C implements *)
  Section same.
    Context (κ : Z -> prog X) (κ' : Z -> top_program) (continuation : forall v, same (κ v) (expand X (κ' v))).

    Lemma same_on_map p g : same (on_map X kernel_entry Y p g κ) (expand X (top_on_map p g κ')).
    Proof using continuation.
      unfold on_map, top_on_map, for_process, top_process. destruct (decide _) as [Hp|]; [|apply same_fail].
      unfold locked, top_begin, top_end. cbn [bind expand]. apply same_act. intros _. apply same_loc. intros v. apply same_act. intros _. apply continuation.
    Qed.
    Lemma same_find args : same (pagemap.Implements.find X kernel_entry Y args κ) (expand X (top_find args κ')).
    Proof using continuation.
      destruct args as [|p [|v [|t [|??]]]]; try apply same_fail. unfold pagemap.Implements.find, top_find.
      destruct (user_address v); [apply same_on_map|apply continuation].
    Qed.
    Lemma same_walk args : same (walk X kernel_entry Y args κ) (expand X (top_walk args κ')).
    Proof using continuation. destruct args as [|p [|v [|??]]]; try apply same_fail. apply (same_find [p; v; 0]). Qed.
    Lemma same_unmap args : same (unmap X kernel_entry Y args κ) (expand X (top_unmap args κ')).
    Proof using continuation. destruct args as [|p [|v [|??]]]; try apply same_fail. apply (same_find [p; v; 1]). Qed.
    Lemma same_pin args : same (pin X kernel_entry Y args κ) (expand X (top_pin args κ')).
    Proof using continuation.
      destruct args as [|p [|v [|??]]]; try apply same_fail. unfold pin, top_pin.
      destruct (user_address v); [apply same_on_map|apply continuation].
    Qed.
    Lemma same_root_of args : same (read_root X kernel_entry Y args κ) (expand X (top_root_of args κ')).
    Proof using continuation. destruct args as [|p [|??]]; try apply same_fail. apply same_on_map. Qed.
    Lemma same_load args : same (load_map X args κ) (expand X (top_load args κ')).
    Proof using continuation.
      destruct args as [|r [|??]]; try apply same_fail. unfold load_map, top_load. destruct (loadable r); [apply continuation|apply same_fail].
    Qed.
    Lemma same_load_kernel args : same (load_kernel_map X args κ) (expand X (top_load_kernel args κ')).
    Proof using continuation. destruct args as [|??]; [apply continuation|apply same_fail]. Qed.

    Lemma same_release p Hp v : same (map_release X kernel_entry Y p Hp (κ v)) (expand X (top_end p Hp (κ' v))).
    Proof using continuation. unfold map_release, top_end. cbn [expand]. apply same_act. intros _. apply continuation. Qed.
    Lemma same_create args : same (create X kernel_entry Yc Yf H Y args κ) (expand X (top_create args κ')).
    Proof using continuation.
      destruct args as [|p [|??]]; try apply same_fail. unfold create, top_create, for_process, top_process.
      destruct (decide _) as [Hp|]; [|apply same_fail]. unfold top_begin. cbn [expand]. apply same_act. intros _. apply same_loc. intros b.
      destruct (b =? 0); [|apply same_release]. apply same_alloc_private. intros f.
      destruct (f =? NONE); [apply same_release|]. destruct (f =? FRAME_NO_QUOTA); [apply same_release|].
      cbn [expand]. apply same_loc. intros v. apply same_release.
    Qed.
    Lemma same_map args : same (MapImplements.map X kernel_entry Y args κ) (expand X (top_map args κ')).
    Proof using continuation.
      destruct args as [|p [|v [|f [|prot [|kind [|??]]]]]]; try apply same_fail. unfold MapImplements.map, top_map.
      destruct (negb (word32 f)); [apply same_fail|]. destruct (negb (user_address v)); [apply continuation|].
      destruct (_ || _); [apply continuation|apply same_on_map].
    Qed.
    Lemma same_missing args : same (missing_tables X kernel_entry Y args κ) (expand X (top_missing args κ')).
    Proof using continuation.
      destruct args as [|p [|v [|??]]]; try apply same_fail. unfold missing_tables, top_missing.
      destruct (user_address v); [apply same_on_map|apply continuation].
    Qed.
    Lemma same_prepare args : same (prepare X kernel_entry Yc Yf H Y args κ) (expand X (top_prepare args κ')).
    Proof using continuation.
      destruct args as [|p [|v [|??]]]; try apply same_fail. unfold prepare, top_prepare.
      destruct (negb (user_address v)); [apply continuation|]. unfold for_process, top_process.
      destruct (decide _) as [Hp|]; [|apply same_fail]. unfold top_begin. cbn [expand]. apply same_act. intros _. apply same_loc. intros k.
      destruct (k =? -1); [apply same_release|]. unfold make_table. destruct (k =? 0); [apply same_release|].
      apply same_alloc_private. intros f. destruct (f =? NONE); [apply same_release|]. destruct (f =? FRAME_NO_QUOTA); [apply same_release|].
      cbn [expand]. apply same_loc. intros v'. apply same_release.
    Qed.
  End same.

  Lemma same_frame κ κ' args : (forall v, same (κ v) (expand X (κ' v))) ->
    same (frame X kernel_entry Y args κ) (expand X (top_frame args κ')).
  Proof.
    intros Hk. destruct args as [|p [|v [|prot [|??]]]]; try apply same_fail.
    apply (same_find (fun e => κ (frame_of e prot)) (fun e => κ' (frame_of e prot))). intros e. apply Hk.
  Qed.
End top.
