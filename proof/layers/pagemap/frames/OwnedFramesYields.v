(** What frame functions may change of a CPU's objects: the owned frames change by the frame named; of the rest only what
    their own locks guard. *)
From Ashlar Require Export layers.pagemap.frames.OwnedFrames.
Local Opaque gmap_lookup gmap_partial_alter.

Section yields.
  Context (X : layout).
  Notation yields := (yields X).

  Lemma yields_bind_inv (p : prog X) κ a w a2 : yields (bind p κ) a w a2 ->
    exists v a1, yields p a v a1 /\ yields (κ v) a1 w a2.
  Proof.
    revert a. induction p as [v| |q k IH|f k IH]; intros a; simpl; intros Hy.
    - exists v, a. split; [constructor|done].
    - inversion Hy.
    - inversion Hy as [| |? ? ? v a1 ? ? Hr Hy1]; subst. destruct (IH v a1 Hy1) as (u & a3 & H1 & H2).
      exists u, a3. split; [by eapply yields_act|done].
    - inversion Hy as [|? ? ? v a1 ? ? Hf Hy1|]; subst. destruct (IH v a1 Hy1) as (u & a3 & H1 & H2).
      exists u, a3. split; [by eapply yields_loc|done].
  Qed.

  (** Acquire and release of a lock that guards [o]. *)
  Lemma response_acquire_inv k o a v a' : obj_of_lock X k = Some o -> response X (ACQUIRE, [k]) a v a' ->
    exists st, obj_valid X o st /\ a' = <[o := st]> a.
  Proof.
    intros Ho Hr. remember (ACQUIRE, [k]) as q eqn:E. destruct Hr; inversion E; subst; simplify_eq. eauto.
  Qed.
  Lemma response_release_inv k o a v a' : obj_of_lock X k = Some o -> response X (RELEASE, [k]) a v a' ->
    a' = delete o a.
  Proof. intros Ho Hr. remember (RELEASE, [k]) as q eqn:E. destruct Hr; inversion E; subst; simplify_eq. done. Qed.

  Lemma locked_keeps k o f a v a' o' : obj_of_lock X k = Some o -> o' <> o ->
    yields (locked k o f) a v a' -> a' !! o' = a !! o'.
  Proof.
    intros Ho Hne Hy. unfold locked in Hy. inversion Hy as [| |? ? ? v1 a1 ? ? Hr Hy1]; subst.
    apply (response_acquire_inv k o) in Hr as (st & _ & ->); [|done].
    inversion Hy1 as [|? ? ? v2 a2 ? ? Hf Hy2|]; subst. inversion Hy2 as [| |? ? ? v3 a3 ? ? Hr2 Hy3]; subst.
    apply (response_release_inv k o) in Hr2 as ->; [|done]. inversion Hy3; subst.
    unfold update_object in Hf. rewrite lookup_insert in Hf. destruct (f st) as [[x st']|]; [|done]. injection Hf as <- <-.
    by rewrite lookup_delete_ne, !lookup_insert_ne.
  Qed.

  Context (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Notation oh := (owned_frames_object H).

  Lemma container_keeps f args a v a' o : o <> slot_object Yc -> yields (lock_function Yc f args) a v a' -> a' !! o = a !! o.
  Proof.
    intros Hne. unfold lock_function. destruct (f args); [|by inversion 1]. apply locked_keeps; [apply slot_guards|done].
  Qed.

  (** One section under the frame lock. *)
  Lemma frame_memory_locked_inv g κ a w a2 : yields (frame_memory_locked X Y H g κ) a w a2 ->
    exists s sh h v s1 h1 a1, a !! oh = Some sh /\ owned_frames_out H sh = Some h /\ g s h = Some (v, s1, h1) /\
      a1 = <[oh := owned_frames_in H h1]> (delete (slot_object Y) a) /\ yields (κ v) a1 w a2.
  Proof.
    unfold frame_memory_locked, locked_with. intros Hy. inversion Hy as [| |? ? ? v1 b1 ? ? Hr Hy1]; subst.
    apply (response_acquire_inv _ (slot_object Y)) in Hr as (st & _ & ->); [|apply slot_guards].
    inversion Hy1 as [|? ? ? v2 b2 ? ? Hf Hy2|]; subst. inversion Hy2 as [| |? ? ? v3 b3 ? ? Hr2 Hy3]; subst.
    apply (response_release_inv _ (slot_object Y)) in Hr2 as ->; [|apply slot_guards].
    apply on_frame_memory_inv in Hf as (st' & sh & s & h & s1 & h1 & _ & Hsh & _ & Hh & Hg & ->).
    pose proof (objects_differ Y H) as Hd. rewrite lookup_insert_ne in Hsh by done.
    exists s, sh, h, v2, s1, h1, (<[oh := owned_frames_in H h1]> (delete (slot_object Y) a)). split; [done|]. split; [done|].
    split; [done|]. split; [done|]. rewrite insert_insert in Hy3. rewrite delete_insert_ne in Hy3 by done.
    by rewrite delete_insert_delete in Hy3.
  Qed.

  (** [frame_alloc_private]: it finds no free frame, or the frame is owned, all words 0. *)
  Lemma alloc_private_yields p a f a' : oh <> slot_object Yc -> yields (alloc_private X Yc Y H [p] Ret) a f a' ->
    (forall o, o <> oh -> o <> slot_object Yc -> o <> slot_object Y -> a' !! o = a !! o) /\
    (f = FRAME_NO_QUOTA /\ a' !! oh = a !! oh \/
     exists sh h, a !! oh = Some sh /\ owned_frames_out H sh = Some h /\
       (f = NONE /\ a' !! oh = Some (owned_frames_in H h) \/ f <> NONE /\ a' !! oh = Some (owned_frames_in H (<[f := Some ∅]> h)))).
  Proof.
    intros Hoc. unfold alloc_private. intros (status & a1 & Hy1 & Hy2)%yields_bind_inv.
    pose proof (fun o Ho => container_keeps _ _ _ _ _ o Ho Hy1) as K1. destruct (status =? STATUS_OK).
    2:{ inversion Hy2; subst. split; [auto|]. left. split; [done|]. by apply K1. }
    apply frame_memory_locked_inv in Hy2 as (s & sh & h & v & s1 & h1 & a2 & Hsh & Hh & Hg & -> & Hy2). rewrite K1 in Hsh by done.
    assert (h1 = (if v =? NONE then h else <[v := None]> h)) as Eh.
    { unfold frame_memory_take in Hg. destruct (frame_take (table s) p) as [[f0 t]|]; [|done].
      destruct (f0 =? NONE) eqn:E0; injection Hg as -> <- <-; by rewrite E0. }
    destruct (Z.eqb_spec v NONE) as [->|Hn].
    - apply yields_bind_inv in Hy2 as (x & a3 & Hy3 & Hy4). inversion Hy4; subst.
      pose proof (fun o Ho => container_keeps _ _ _ _ _ o Ho Hy3) as K3. split.
      + intros o H1 H2 H3. rewrite K3 by done. rewrite lookup_insert_ne, lookup_delete_ne by done. by apply K1.
      + right. exists sh, h. split; [done|]. split; [done|]. left. split; [done|]. rewrite K3 by done. by rewrite lookup_insert.
    - inversion Hy2 as [|? ? ? x a3 ? ? Hc Hy3|]; subst. inversion Hy3; subst.
      apply on_owned_frames_inv in Hc as (sh' & h' & h2 & Hsh' & Hh' & Hc & ->). rewrite lookup_insert in Hsh'. injection Hsh' as <-.
      rewrite owned_frames_out_in in Hh'. injection Hh' as <-. unfold owned_frames_clear in Hc. rewrite lookup_insert in Hc.
      injection Hc as _ <-. rewrite insert_insert. split.
      + intros o H1 H2 H3. rewrite !lookup_insert_ne, lookup_delete_ne by done. by apply K1.
      + right. exists sh, h. split; [done|]. split; [done|]. right. split; [done|]. by rewrite lookup_insert, insert_insert.
  Qed.

  (** [frame_remove_owner]: of the owned frames at most this one goes. *)
  Lemma remove_owner_yields f p a w a' : oh <> slot_object Yc -> yields (remove_owner X Yc Y H [f; p] Ret) a w a' ->
    (forall o, o <> oh -> o <> slot_object Yc -> o <> slot_object Y -> a' !! o = a !! o) /\
    (a' !! oh = a !! oh \/
     exists sh h h', a !! oh = Some sh /\ owned_frames_out H sh = Some h /\ a' !! oh = Some (owned_frames_in H h') /\ (h' = h \/ h' = delete f h)).
  Proof.
    intros Hoc. unfold remove_owner. destruct (NUM_FRAME <=? f); [intros Hy; inversion Hy; subst; by split; [|left]|].
    intros (s & sh & h & v & s1 & h1 & a2 & Hsh & Hh & Hg & -> & Hy2)%frame_memory_locked_inv.
    assert (h1 = h \/ h1 = delete f h) as Eh.
    { unfold frame_memory_remove in Hg. destruct (frame_remove (table s) f p) as [[v0 t]|]; [|done].
      destruct (decide _); [destruct (h !! f); [|done]|]; injection Hg as _ _ <-; auto. }
    assert (forall a3 : objects X, (forall o, o <> slot_object Yc -> a3 !! o = (<[oh := owned_frames_in H h1]> (delete (slot_object Y) a)) !! o) ->
      (forall o, o <> oh -> o <> slot_object Yc -> o <> slot_object Y -> a3 !! o = a !! o) /\
      (a3 !! oh = a !! oh \/ exists sh h h', a !! oh = Some sh /\ owned_frames_out H sh = Some h /\ a3 !! oh = Some (owned_frames_in H h') /\
        (h' = h \/ h' = delete f h))) as Hend.
    { intros a3 K3. split.
      - intros o H1 H2 H3. rewrite K3 by done. by rewrite lookup_insert_ne, lookup_delete_ne.
      - right. exists sh, h, h1. split; [done|]. split; [done|]. split; [|done]. rewrite K3 by done. by rewrite lookup_insert. }
    destruct (v =? STATUS_OK).
    - apply yields_bind_inv in Hy2 as (x & a3 & Hy3 & Hy4). inversion Hy4; subst. apply Hend.
      intros o Ho. by apply (container_keeps _ _ _ _ _ o Ho Hy3).
    - inversion Hy2; subst. by apply Hend.
  Qed.
End yields.
