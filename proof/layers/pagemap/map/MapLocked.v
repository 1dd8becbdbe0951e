(** [pagemap_map_locked]: the walk down to the entry, or to the first table that is missing. *)
From Ashlar Require Export layers.pagemap.map.BuildPath.
Local Opaque gmap_lookup gmap_partial_alter.

Section locked.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).
  Context (alloc : implements_then "frame_alloc_private" (alloc_private X Yc Yf H)).
  Context (remove : implements_then "frame_remove_owner" (remove_owner X Yc Yf H)).
  Notation op := (slot_object Y).
  Notation build := (build X kernel_entry Yc Yf H p Y).

  (** Page [n] gets its entry; [k] tables are missing. *)
  Definition store (k n leaf : Z) (κ : Z -> prog X) : prog X :=
    if k =? 0 then Loc (update_object op (lift Y (fun s => pagemap_store s n leaf []))) κ else build (Z.to_nat k) n leaf [] κ.

  Lemma missing_at s n a f : pagemap_valid s -> present s = true -> user_page n -> 1 <= a <= 3 ->
    tables s !! (a, above a n) = Some f -> tables s !! (a - 1, above (a - 1) n) = None -> missing s n = a.
  Proof using.
    intros HV Hp Hn Ha H1 H0. destruct (Z.lt_trichotomy (missing s n) a) as [Hlt|[E|Hgt]]; [exfalso|done|exfalso].
    - destruct (missing_present s n (a - 1) Hp Hn) as [g Hg]; [lia|]. by rewrite H0 in Hg.
    - rewrite (missing_absent s HV n a) in H1 by lia. done.
  Qed.

  Theorem pagemap_map_locked_stores Post v leaf s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) -> pagemap_valid s -> present s = true -> user_address v = true ->
    (forall status m' a' s', rep X a' m' -> a' !! op = Some (slot_in Y s') -> pagemap_valid s' ->
       yields X (store (missing s (page_of v)) (page_of v) leaf Ret) a status a' -> Q status m' (κ status, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_map_locked" [p; v; leaf] m (store (missing s (page_of v)) (page_of v) leaf κ, a) Q.
  Proof using HM HRead HWrite Hother alloc remove.
    intros Hr Ho HV Hp Ha HQ. pose proof (user_address_range _ Ha) as Hv. pose proof (user_page_address _ Ha) as [Hu _].
    destruct (root_usable s HV Hp) as [_ Hroot]. unfold root_key in Hroot.
    destruct (open_map Y a m s Hr Ho) as (d & rest & Hrep & Hdis & -> & Hrest).
    pose proof Hrep as (_ & _ & _ & E & _). apply (own_read _ rest) in E. unfold pagemap_cell in E.
    eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_map_locked_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_assign. wp_seq.
    match goal with |- wp ?J (While ?c ?b) ?Qn ?Qb ?Qr ?r0 ?m0 ?g0 =>
      change (exists (I : nat -> post) n, I n r0 m0 g0 /\ forall n r m g, I n r m g -> exists t, test c r m = Some t /\
        if t then wp J b (fun r m g => exists n', (n' < n)%nat /\ I n' r m g) Qn Qr r m g else Qn r m g) end.
    exists (fun n r m g => exists f at_ i o, r = [p; v; leaf; f; at_; i; o; 0; 0; 0] /\ n = Z.to_nat at_ /\ 0 <= at_ <= 3 /\
      tables s !! (at_, above at_ (page_of v)) = Some f /\ m = d ∪ rest /\
      g = (store (missing s (page_of v)) (page_of v) leaf κ, a)), 3%nat.
    split.
    { exists (root_of s), 3, 0, 0. split; [done|]. split; [done|]. split; [lia|]. split; [|done].
      by rewrite above_low by (by apply user_low). }
    intros n r m g (f & at_ & i & o & -> & -> & Hat & Hf & -> & ->). eexists. split; [evaluate|]. cbn [compare].
    destruct (Z.ltb_spec 0 at_) as [Hpos|Hzero].
    - wp_seq. wp_call. eapply fwp_pure; [intros d'; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
      wp_seq. wp_call. eapply fwp_frame_read; [done|apply own_read, (rep_word _ _ _ _ _ _ _ Hrep Hf), slot_range|].
      unfold locals. locals_simpl. rewrite word_path by first [intros; by apply slot_root | lia]. wp_seq. wp_if.
      destruct (tables s !! (at_ - 1, above (at_ - 1) (page_of v))) as [f'|] eqn:Hf'.
      + rewrite (proj2 (Z.eqb_neq _ 0)) by apply link_nonzero. wp_skip. wp_seq. wp_call.
        eapply fwp_pure; [intros d'; apply (pagemap_entry_frame_triple _ _ _ HM)|]. unfold locals. locals_simpl.
        pose proof (table_frame _ _ _ HV Hf') as Hb. unfold NUM_FRAME in Hb.
        rewrite link_frame by (change (2 ^ 32) with 4294967296; lia). wp_assign. rewrite wrap32 by lia.
        exists (Z.to_nat (at_ - 1)). split; [lia|].
        exists f', (at_ - 1), (entry_index at_ (page_of v)), (link f'). split; [done|]. split; [done|]. split; [lia|]. done.
      + change (0 =? 0) with true. cbv iota. pose proof (missing_at s _ at_ f HV Hp Hu ltac:(lia) Hf Hf') as Em.
        unfold store in *. rewrite Em in *. rewrite (proj2 (Z.eqb_neq at_ 0)) in * by lia. wp_seq. wp_call.
        eapply (pagemap_build_path_builds X kernel_entry M cpu Yc Yf H p Y Hother HM HRead HWrite alloc remove Post v at_ leaf f s);
          [exact Hr|done|done|done|lia|done|done|lia|done|].
        intros status m' a' s' Hr' Ho' HV' Hy. unfold locals. locals_simpl. wp_return. by eapply HQ.
    - assert (at_ = 0) as -> by lia.
      assert (missing s (page_of v) = 0) as Em.
      { pose proof (missing_range s (page_of v)). destruct (decide (missing s (page_of v) = 0)); [done|].
        rewrite (missing_absent s HV (page_of v) 0) in Hf by lia. done. }
      unfold store in *. rewrite Em in *. change (0 =? 0) with true in *. cbv iota in HQ |- *.
      wp_seq. wp_call. apply fwp_loc. intros w a3 Eup.
      assert (Eup' := Eup). unfold update_object in Eup'. rewrite Ho in Eup'. unfold lift in Eup'. rewrite slot_in_out in Eup'.
      destruct (pagemap_store s (page_of v) leaf []) as [[w0 s']|] eqn:Es; [|done]. injection Eup' as -> <-.
      pose proof (store_valid s _ _ _ _ _ HV Hp Es) as HV'. pose proof Es as Es0. apply store_spec in Es as (_ & _ & _ & _ & _ & _ & Hs).
      assert (Hend : forall d', pagemap_rep kernel_entry p s' d' -> d' ##ₘ rest -> Q w (d' ∪ rest) (κ w, <[op := slot_in Y s']> a)).
      { intros d' Hrep' Hd'. eapply HQ; [|apply lookup_insert|done|].
        - apply represents_close; [done|apply slot_rep; eauto|done].
        - eapply yields_loc; [exact Eup|constructor]. }
      eapply fwp_pure; [intros d'; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
      wp_seq. wp_call. eapply fwp_frame_read; [done|apply own_read, (rep_word _ _ _ _ _ _ _ Hrep Hf), slot_range|].
      unfold locals. locals_simpl. rewrite word_leaf. wp_seq. wp_if.
      destruct (leaves s !! page_of v) as [e0|] eqn:He0; cbn [from_option id].
      + destruct Hs as [-> ->]. destruct (valid_leaf s HV _ _ He0) as (_ & _ & Hok & _).
        rewrite (proj2 (Z.eqb_neq _ 0)) by (by apply leaf_nonzero). cbn [negb]. wp_return. by apply Hend.
      + destruct Hs as [-> ->]. change (0 =? 0) with true. cbn [negb]. wp_skip. wp_seq. wp_call.
        assert (is_Some (d !! frame_word f (entry_index 0 (page_of v)))) as Hcell.
        { rewrite (rep_word _ _ _ _ _ _ _ Hrep Hf) by apply slot_range. by eexists. }
        apply (fwp_frame_write X kernel_entry M cpu HWrite).
        { destruct Hcell as [u Hcu]. exists u. by apply own_read. }
        unfold locals. locals_simpl. wp_return. rewrite own_write. apply Hend; [|by apply own_write_disjoint].
        cbn [add_path] in *.
        pose proof (rep_leaf kernel_entry p s d (page_of v) f (put_leaf (page_of v) leaf (leaves s)) Hrep Hf HV') as Hleaf.
        unfold put_leaf in *. destruct (Z.eqb_spec leaf 0) as [->|Hne].
        * rewrite He0 in Hleaf. by apply Hleaf.
        * rewrite lookup_insert in Hleaf. apply Hleaf. intros n' Hn'. by rewrite lookup_insert_ne.
  Qed.
End locked.
