(** [pagemap_drop_table]: an empty table leaves the map and its frame is freed. *)
From Ashlar Require Export layers.pagemap.destroy.UnlinkTable.
Local Opaque gmap_lookup gmap_partial_alter.

Global Instance table_empty_at_dec s l x i :
  Decision (if l =? 0 then leaves s !! (512 * x + i) = None else tables s !! (l - 1, 512 * x + i) = None).
Proof. destruct (l =? 0); apply _. Defined.

(** The table of level [l] on the way to page [n], which is empty, becomes an owned frame; the result is its number. *)
Definition take_table (l n : Z) (s : page_map) (h : owned_frames) : option (Z * page_map * owned_frames) :=
  match tables s !! (l, above l n) with
  | Some f =>
      if decide (Forall (fun i => if l =? 0 then leaves s !! (512 * above l n + i) = None
                                  else tables s !! (l - 1, 512 * above l n + i) = None) (seqZ 0 512))
      then Some (f, without s (l, above l n), <[f := None]> h) else None
  | None => None
  end.
Lemma take_table_inv l n s h f s' h' : take_table l n s h = Some (f, s', h') ->
  tables s !! (l, above l n) = Some f /\ table_empty s l (above l n) /\ s' = without s (l, above l n) /\ h' = <[f := None]> h.
Proof.
  unfold take_table. destruct (tables s !! (l, above l n)) as [g|]; [|done]. destruct (decide _) as [Hall|]; [|done].
  intros [= <- <- <-]. split; [done|]. split; [|done]. intros i Hi. rewrite Forall_forall in Hall. apply Hall, elem_of_seqZ. lia.
Qed.

Section drop.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation sim := (sim X kernel_entry M cpu).
  Context (remove : implements_then X kernel_entry M cpu "frame_remove_owner" (remove_owner X Yc Yf H)).
  Notation op := (slot_object Y).
  Notation oh := (owned_frames_object H).

  Definition drop_table (l n : Z) (κ : Z -> prog X) : prog X :=
    Loc (on_both Y H (take_table l n)) (fun f => remove_owner X Yc Yf H [f; p] κ).

  Lemma on_both_owned_frames g a m s v a' : rep X a m -> a !! op = Some (slot_in Y s) -> on_both Y H g a = Some (v, a') ->
    exists h, a !! oh = Some (owned_frames_in H h).
  Proof using.
    intros Hr Ho Hb. unfold on_both in Hb. rewrite Ho in Hb. destruct (a !! oh) as [sh|] eqn:Hsh; [|done].
    destruct (represents_open _ _ _ oh _ Hr Hsh) as (d & rest & Hd & _). apply owned_frames_object_rep in Hd as (h & -> & _). by exists h.
  Qed.

  Theorem pagemap_drop_table_drops Post v l s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) -> pagemap_valid s -> 0 <= v < USER_END -> 0 <= l < 3 ->
    (forall w m' a', rep X a' m' -> a' !! op = Some (slot_in Y (without s (l, above l (page_of v)))) ->
       pagemap_valid (without s (l, above l (page_of v))) -> yields X (drop_table l (page_of v) Ret) a w a' -> Q 0 m' (κ w, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_drop_table" [p; v; l] m (drop_table l (page_of v) κ, a) Q.
  Proof using Hother HM HRead HWrite remove.
    intros Hr Ho HV Hv Hl HQ. destruct Hother as [Hoc Hof]. assert (op <> oh) as Hoh by apply map_owned_frames_differ. pose proof (page_low v Hv) as Hlow.
    eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_drop_table_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. rewrite wrap32 by lia. unfold drop_table. apply fwp_loc. intros f a3 Eb.
    destruct (on_both_owned_frames _ _ _ _ _ _ Hr Ho Eb) as [h Ha].
    destruct (on_both_known Y H _ _ _ _ _ _ Ho Ha Eb) as (s' & h' & Hg & ->).
    apply take_table_inv in Hg as (Hf & Hempty & -> & ->).
    destruct (path_up s HV _ _ _ Hf Hl) as [tbl Htbl]. pose proof (table_root s HV _ _ Hf) as Hp.
    pose proof (table_frame _ _ _ HV Hf) as Hfr. unfold NUM_FRAME in Hfr.
    destruct (open_map Y a m s Hr Ho) as (d & rest & Hrep & Hdis & Em & Hrest). rewrite Em.
    eapply fwp_triple; [apply (pagemap_table_triple _ _ _ HM HRead p s d v (l + 1) Hrep Hp Hv); lia|done|].
    intros w d' [-> ->] _. unfold table_at. rewrite Htbl. cbn [from_option id]. unfold locals. locals_simpl.
    wp_seq. wp_call. rewrite wrap32 by lia.
    eapply fwp_pure; [intros d'; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
    wp_seq. wp_call. eapply fwp_frame_read; [done|apply own_read, (rep_word _ _ _ _ _ _ _ Hrep Htbl), slot_range|].
    unfold locals. locals_simpl. rewrite word_path by first [intros; by apply slot_low | lia].
    rewrite Z.add_simpl_r, Hf. wp_seq. wp_call. eapply fwp_pure; [intros d'; apply (pagemap_entry_frame_triple _ _ _ HM)|].
    unfold locals. locals_simpl. rewrite link_frame by (change (2 ^ 32) with 4294967296; lia). rewrite <- Em.
    destruct (open_both Y H a m s h Hr Ho Ha) as (d2 & rest2 & Hj & Hdis2 & Em2 & Hrest2). rewrite Em2.
    rewrite <- above_up in Htbl by lia.
    destruct (joint_remove kernel_entry p s l (above l (page_of v)) f HV Hf ltac:(lia) Hempty h d2 tbl Hj Htbl) as [Hcell Hj'].
    wp_seq. wp_call. change (entry_index (l + 1) (page_of v)) with (above l (page_of v) mod 512).
    apply (fwp_frame_write X kernel_entry M cpu HWrite).
    { destruct Hcell as [u Hcu]. exists u. by apply own_read. }
    unfold locals. locals_simpl. rewrite own_write. wp_call.
    eapply fwp_then; [exact remove|apply (close_both Y H); [exact Hj'|by apply own_write_disjoint|done]|].
    intros w m1 a1 Hy1 Hr1. cbn [set_result]. eapply HQ; [exact Hr1| |eapply without_valid; [done|exact Hf|lia|exact Hempty]|eapply yields_loc; [exact Eb|exact Hy1]].
    destruct (remove_owner_yields _ _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy1) as [K _]. rewrite K by done.
    rewrite lookup_insert_ne by done. apply lookup_insert.
  Qed.
End drop.
