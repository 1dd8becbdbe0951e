(** [pagemap_drop_leaf]: a page is unmapped, and its frame freed if it is the process's own. *)
From Ashlar Require Export layers.pagemap.destroy.DestroyPrograms.
Local Opaque gmap_lookup gmap_partial_alter.

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
  Notation drop_leaf := (drop_leaf X kernel_entry Yc Yf H p Y).

  Theorem pagemap_drop_leaf_drops Post v table s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) -> pagemap_valid s -> 0 <= v ->
    tables s !! (0, above 0 (page_of v)) = Some table ->
    (forall w m' a', rep X a' m' -> a' !! op = Some (slot_in Y (without_page (page_of v) s)) ->
       pagemap_valid (without_page (page_of v) s) -> yields X (drop_leaf (page_of v) Ret) a w a' -> Q 0 m' (κ w, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_drop_leaf" [p; v; table] m (drop_leaf (page_of v) κ, a) Q.
  Proof using Hother HM HRead HWrite remove.
    intros Hr Ho HV Hv Htbl HQ. destruct Hother as [Hoc Hof]. assert (op <> oh) as Hoh by apply map_owned_frames_differ.
    assert (pagemap_valid (without_page (page_of v) s)) as HV' by by eapply take_leaf_valid.
    destruct (open_map Y a m s Hr Ho) as (d & rest & Hrep & Hdis & Em & Hrest).
    assert (d !! frame_word table (entry_index 0 (page_of v)) = Some (default 0 (leaves s !! page_of v))) as Hword.
    { rewrite <- (word_leaf kernel_entry s (page_of v)). exact (rep_word _ _ _ _ _ _ _ Hrep Htbl (slot_range 0 (page_of v))). }
    eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_drop_leaf_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. eapply fwp_pure; [intros d'; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl. rewrite Em.
    wp_seq. wp_call. eapply fwp_frame_read; [done|by apply own_read|]. unfold locals. locals_simpl.
    wp_seq. wp_call. unfold DestroyPrograms.drop_leaf, on_held. apply fwp_loc. intros e a1 Eu.
    destruct (held_known X kernel_entry p Y _ _ _ _ _ Ho Eu) as (s' & Hg & ->). injection Hg as <- <-.
    apply (fwp_frame_write X kernel_entry M cpu HWrite); [eexists; by apply own_read|].
    unfold locals. locals_simpl. rewrite own_write.
    pose proof (rep_leaf kernel_entry p s d (page_of v) table (delete (page_of v) (leaves s)) Hrep Htbl HV'
      (fun n' Hne => lookup_delete_ne _ _ _ (not_eq_sym Hne))) as Hrep'.
    rewrite lookup_delete in Hrep'. cbn [default from_option id] in Hrep'.
    assert (rep X (<[op := slot_in Y (without_page (page_of v) s)]> a)
      (<[frame_word table (entry_index 0 (page_of v)) := 0]> d ∪ rest)) as Hr'.
    { apply represents_close; [exact Hrest|apply slot_rep; eexists; split; [reflexivity|exact Hrep']|].
      apply own_write_disjoint; [by eexists|done]. }
    clear Hword. remember (default 0 (leaves s !! page_of v)) as e eqn:Ee.
    assert (forall w a', yields X (if has e ARCH_PTE_OWNED then remove_owner X Yc Yf H [entry_frame e; p] Ret else Ret 0)
      (<[op := slot_in Y (without_page (page_of v) s)]> a) w a' -> yields X (drop_leaf (page_of v) Ret) a w a') as Hy.
    { intros w a' Hy. eapply yields_loc; [exact Eu|exact Hy]. }
    wp_if. change (negb (Z.land e 512 =? 0)) with (has e ARCH_PTE_OWNED). destruct (has e ARCH_PTE_OWNED).
    - wp_seq. wp_call. eapply fwp_pure; [intros d'; apply (pagemap_entry_frame_triple _ _ _ HM)|]. unfold locals. locals_simpl.
      wp_call. eapply fwp_then; [exact remove|exact Hr'|]. intros w m1 a1 Hy1 Hr1. cbn [set_result].
      eapply HQ; [exact Hr1| |exact HV'|by apply Hy].
      destruct (remove_owner_yields _ _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy1) as [K _]. rewrite K by done. apply lookup_insert.
    - wp_skip. apply HQ; [exact Hr'|apply lookup_insert|exact HV'|]. apply Hy. constructor.
  Qed.
End drop.
