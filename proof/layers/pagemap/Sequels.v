(** Every program of page maps has a sequel: other layers call them. *)
From Ashlar Require Export layers.pagemap.MapImplements.
Local Opaque gmap_lookup gmap_partial_alter.

Section sequels.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X pool pool_rep pool_valid) (H : hand_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).

  Lemma walk_sequel : has_sequel X (walk X kernel_entry Y).
  Proof. intros [|p [|v [|??]]] κ; try constructor. apply find_sequel. Qed.
  Lemma unmap_sequel : has_sequel X (unmap X kernel_entry Y).
  Proof. intros [|p [|v [|??]]] κ; try constructor. apply find_sequel. Qed.
  Lemma frame_sequel : has_sequel X (frame X kernel_entry Y).
  Proof.
    intros [|p [|v [|prot [|??]]]] κ; try constructor. unfold frame.
    eapply same_trans; [|apply find_sequel]. eapply same_trans.
    { eapply same_bind; [apply same_sym, find_sequel|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros e. apply same_refl.
  Qed.
  Lemma pin_sequel : has_sequel X (pin X kernel_entry Y).
  Proof.
    intros [|p [|v [|??]]] κ; try constructor. unfold pin. destruct (user_address v); [apply on_map_sequel|apply same_refl].
  Qed.

  Lemma create_sequel : has_sequel X (create X kernel_entry Yc Yf H Y).
  Proof.
    intros [|p [|??]] κ; try constructor. unfold create, for_process. destruct (decide _) as [Hp|]; [|constructor].
    cbn [bind]. apply same_act. intros _. apply same_loc. intros b. destruct (b =? 0); [|apply same_refl].
    eapply same_trans; [|apply alloc_private_sequel]. eapply same_trans.
    { eapply same_bind; [apply same_sym, alloc_private_sequel|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros f.
    destruct (f =? NONE); [apply same_refl|]. destruct (f =? FRAME_NO_QUOTA); apply same_refl.
  Qed.

  Lemma put_page_sequel p n leaf κ :
    same (bind (put_page X kernel_entry Yc Yf H Y p n leaf Ret) κ) (put_page X kernel_entry Yc Yf H Y p n leaf κ).
  Proof.
    unfold put_page, for_process. destruct (decide _) as [Hp|]; [|constructor]. unfold put_under. cbn [bind].
    apply same_act. intros _. apply same_loc. intros k. destruct (k =? -1); [apply same_refl|].
    unfold store. destruct (k =? 0); [apply same_refl|]. eapply same_trans; [apply build_bind|]. apply same_refl.
  Qed.
  Lemma map_sequel : has_sequel X (MapImplements.map X kernel_entry Yc Yf H Y).
  Proof.
    intros [|p [|v [|f [|prot [|kind [|??]]]]]] κ; try constructor. unfold MapImplements.map.
    destruct (negb (word32 f)); [constructor|]. destruct (negb (user_address v)); [apply same_refl|].
    destruct (_ || _); [apply same_refl|apply put_page_sequel].
  Qed.
  Lemma prepare_sequel : has_sequel X (prepare X kernel_entry Yc Yf H Y).
  Proof.
    intros [|p [|v [|??]]] κ; try constructor. unfold prepare.
    destruct (negb (user_address v)); [apply same_refl|apply put_page_sequel].
  Qed.
End sequels.
