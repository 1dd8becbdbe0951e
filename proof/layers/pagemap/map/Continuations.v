(** Every program of page maps has a continuation, so that other layers can call it. *)
From Ashlar Require Export layers.pagemap.map.Prepare layers.pagemap.map.MapImplements.
Local Opaque gmap_lookup gmap_partial_alter.

Section sequels.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).

  Lemma walk_continuation : has_continuation X (walk X kernel_entry Y).
  Proof. intros [|p [|v [|??]]] κ; try constructor. apply find_continuation. Qed.
  Lemma unmap_continuation : has_continuation X (unmap X kernel_entry Y).
  Proof. intros [|p [|v [|??]]] κ; try constructor. apply find_continuation. Qed.
  Lemma frame_continuation : has_continuation X (frame X kernel_entry Y).
  Proof.
    intros [|p [|v [|prot [|??]]]] κ; try constructor. unfold frame.
    eapply same_trans; [|apply find_continuation]. eapply same_trans.
    { eapply same_bind; [apply same_sym, find_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros e. apply same_refl.
  Qed.
  Lemma pin_continuation : has_continuation X (pin X kernel_entry Y).
  Proof.
    intros [|p [|v [|??]]] κ; try constructor. unfold pin. destruct (user_address v); [apply on_map_continuation|apply same_refl].
  Qed.

  Lemma create_continuation : has_continuation X (create X kernel_entry Yc Yf H Y).
  Proof.
    intros [|p [|??]] κ; try constructor. unfold create, for_process. destruct (decide _) as [Hp|]; [|constructor].
    cbn [bind]. apply same_act. intros _. apply same_loc. intros b. destruct (b =? 0); [|apply same_refl].
    eapply same_trans; [|apply alloc_private_continuation]. eapply same_trans.
    { eapply same_bind; [apply same_sym, alloc_private_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros f.
    destruct (f =? NONE); [apply same_refl|]. destruct (f =? FRAME_NO_QUOTA); apply same_refl.
  Qed.

  Lemma map_continuation : has_continuation X (MapImplements.map X kernel_entry Y).
  Proof.
    intros [|p [|v [|f [|prot [|kind [|??]]]]]] κ; try constructor. unfold MapImplements.map.
    destruct (negb (word32 f)); [constructor|]. destruct (negb (user_address v)); [apply same_refl|].
    destruct (_ || _); [apply same_refl|apply on_map_continuation].
  Qed.
  Lemma missing_continuation : has_continuation X (missing_tables X kernel_entry Y).
  Proof.
    intros [|p [|v [|??]]] κ; try constructor. unfold missing_tables. destruct (user_address v); [apply on_map_continuation|apply same_refl].
  Qed.
  Lemma prepare_continuation : has_continuation X (prepare X kernel_entry Yc Yf H Y).
  Proof.
    intros [|p [|v [|??]]] κ; try constructor. unfold prepare. destruct (negb (user_address v)); [apply same_refl|].
    unfold for_process. destruct (decide _) as [Hp|]; [|constructor]. cbn [bind]. apply same_act. intros _. apply same_loc.
    intros k. destruct (k =? -1); [apply same_refl|]. eapply same_trans; [|apply make_table_continuation]. eapply same_trans.
    { eapply same_bind; [apply same_sym, make_table_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros status. apply same_refl.
  Qed.
End sequels.
