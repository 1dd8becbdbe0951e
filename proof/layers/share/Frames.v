(** Shares with the frames that they pass on: what [frame_owners] and [frame_add_owner] do is all that offering and accepting
    need to know of frames. *)
From Ashlar Require Export layers.share.TransactTop layers.frame.PoolTop layers.pagemap.HandsYields.

Section frames.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Yf : slot X pool pool_rep pool_valid) (H : hand_slot X).
  Context (Y : slot X share_state share_rep share_valid).
  Context (not_containers : slot_object Y <> slot_object Yc) (not_frames : slot_object Y <> slot_object Yf).
  Context (not_hands : slot_object Y <> hand_object H).

  Lemma read_owners_sequel : has_sequel X (read_owners X Yf H).
  Proof. intros [|f [|??]] κ; try apply same_fail. unfold read_owners, pool_locked, locked_with. same_program. Qed.
  Lemma add_owner_sequel : has_sequel X (add_owner X Yc Yf H).
  Proof.
    intros [|f [|p [|??]]] κ; try apply same_fail. unfold add_owner, pool_locked, locked_with, lock_function, locked.
    cbn [update2]. same_program.
  Qed.

  Lemma read_owners_keeps : keeps_shares X Y (read_owners X Yf H).
  Proof using not_frames not_hands.
    intros [|f [|??]] a v a' Hy; simpl in Hy; [inversion Hy| |inversion Hy]. destruct (f <? NUM_FRAME).
    - apply pool_locked_inv in Hy as (s & sh & h & w & s1 & h1 & a1 & Hsh & Hh & Hg & -> & Hy). inversion Hy; subst.
      by rewrite lookup_insert_ne, lookup_delete_ne.
    - by inversion Hy.
  Qed.
  Lemma add_owner_keeps : keeps_shares X Y (add_owner X Yc Yf H).
  Proof using not_containers not_frames not_hands.
    intros [|f [|p [|??]]] a v a' Hy; unfold add_owner in Hy; [inversion Hy..| |inversion Hy].
    destruct (NUM_FRAME <=? f); [by inversion Hy|]. apply yields_bind_inv in Hy as (status & a1 & Hy1 & Hy).
    rewrite <- (container_keeps _ _ _ _ _ _ _ _ not_containers Hy1). destruct (status =? STATUS_OK); [|by inversion Hy].
    apply pool_locked_inv in Hy as (s & sh & h & w & s1 & h1 & a2 & Hsh & Hh & Hg & -> & Hy).
    assert (E : (<[hand_object H := hand_in H h1]> (delete (slot_object Yf) a1)) !! slot_object Y = a1 !! slot_object Y)
      by by rewrite lookup_insert_ne, lookup_delete_ne.
    rewrite <- E. destruct (w =? STATUS_OK); [by inversion Hy|].
    apply yields_bind_inv in Hy as (u & a3 & Hy3 & Hy4). inversion Hy4; subst.
    exact (container_keeps _ _ _ _ _ _ _ _ not_containers Hy3).
  Qed.
End frames.
