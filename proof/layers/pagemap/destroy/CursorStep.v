(** [pagemap_move]: one move of the destruction cursor. *)
From Ashlar Require Export layers.pagemap.destroy.StepEqualsSpec layers.pagemap.destroy.DropLeaf layers.pagemap.destroy.PassEntry.
Local Opaque gmap_lookup gmap_partial_alter.

Section move.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation sim := (sim X kernel_entry M cpu).
  Context (remove : implements_then X kernel_entry M cpu "frame_remove_owner" (remove_owner X Yc Yf H)).
  Notation op := (slot_object Y).
  Notation drop_leaf := (drop_leaf X kernel_entry Yc Yf H p Y).
  Notation pass := (pass X kernel_entry Yc Yf H p Y).

  (** The page at the cursor goes, if it has a table, and the cursor passes the entry that covers it. *)
  Definition move (κ : Z -> prog X) : prog X :=
    Loc (look Y cursor) (fun v =>
      if USER_END <=? v then κ 0
      else Loc (look Y (fun s => missing s (page_of v))) (fun l =>
        if l =? 0 then drop_leaf (page_of v) (fun _ => pass 0 (page_of v) (fun _ => κ 1))
        else pass l (page_of v) (fun _ => κ 1))).

  Lemma move_continuation κ : same (bind (move Ret) κ) (move κ).
  Proof using.
    apply same_loc. intros v. destruct (USER_END <=? v); [apply same_refl|]. cbn [bind]. apply same_loc. intros l.
    assert (forall l, same (bind (pass l (page_of v) (fun _ => Ret 1)) κ) (pass l (page_of v) (fun _ => κ 1))) as Hp.
    { intros l'. eapply same_trans; [|apply pass_continuation]. eapply same_trans.
      { eapply same_bind; [apply same_sym, pass_continuation|intros; apply same_refl]. }
      eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros _. apply same_refl. }
    destruct (l =? 0); [|apply Hp]. eapply same_trans; [|apply drop_leaf_continuation]. eapply same_trans.
    { eapply same_bind; [apply same_sym, drop_leaf_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros _. apply Hp.
  Qed.

  Theorem pagemap_move_moves Post s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) -> pagemap_valid s -> present s = true ->
    (USER_END <= cursor s -> yields X (move Ret) a 0 a -> Q 0 m (κ 0, a)) ->
    (forall m' a', cursor s < USER_END -> rep X a' m' -> a' !! op = Some (slot_in Y (pagemap_move s)) ->
       yields X (move Ret) a 1 a' -> Q 1 m' (κ 1, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_move" [p] m (move κ, a) Q.
  Proof using Hother HM HRead HWrite remove.
    intros Hr Ho HV Hp Qend Qmove.
    pose proof (pagemap_drop_leaf_drops X kernel_entry M cpu Yc Yf H p Y Hother HM HRead HWrite remove Post) as leaf_drops.
    pose proof (pagemap_pass_passes X kernel_entry M cpu Yc Yf H p Y Hother HM HRead HWrite remove Post) as passes.
    destruct (open_map Y a m s Hr Ho) as (d & rest & Hrep & Hdis & Em & Hrest).
    assert (Hlook : forall g, look Y g a = Some (g s, a)) by (intros g; by apply look_present).
    unfold move in *. apply fwp_loc. intros v a1 E1. rewrite Hlook in E1. injection E1 as <- <-.
    destruct (Z.leb_spec USER_END (cursor s)) as [Hend|Hc].
    - eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
      unfold body_wp, pagemap_move_code. cbn [fn_body fn_locals]. locals_simpl. rewrite Em.
      wp_seq. wp_call. eapply fwp_triple; [by apply (pagemap_cursor_triple _ _ _ HM)|done|].
        intros w d' [-> ->] _. unfold locals. locals_simpl.
      wp_seq. wp_call. eapply fwp_triple; [by apply (pagemap_root_triple _ _ _ HM)|done|].
        intros w d' [-> ->] _. unfold locals. locals_simpl.
      wp_seq. wp_if. change 123145302310912 with USER_END. rewrite (proj2 (Z.leb_le _ _) Hend).
      wp_return. rewrite <- Em. apply Qend; [done|].
      eapply yields_loc; [apply Hlook|]. rewrite (proj2 (Z.leb_le _ _) Hend). constructor.
    - apply fwp_loc. intros l a1 E1. rewrite Hlook in E1. injection E1 as <- <-.
      set (n := page_of (cursor s)) in *. set (l := missing s n) in *.
      assert (0 <= cursor s) as Hc0 by (destruct HV as (_ & _ & Hc0 & _); lia).
      assert (Hy : forall a',
        yields X (if l =? 0 then drop_leaf n (fun _ => pass 0 n (fun _ => Ret 1)) else pass l n (fun _ => Ret 1)) a 1 a' ->
        yields X (move Ret) a 1 a').
      { intros a' Hy. eapply yields_loc; [apply Hlook|]. rewrite (proj2 (Z.leb_gt _ _) Hc). eapply yields_loc; [apply Hlook|exact Hy]. }
      assert (Hps : forall l' a0 w a1 v, yields X (pass l' n Ret) a0 w a1 -> yields X (pass l' n (fun _ => Ret v)) a0 v a1).
      { intros l' a0 w a1 v Hp1. eapply yields_same; [|apply pass_continuation]. eapply yields_bind; [exact Hp1|constructor]. }
      pose proof (pass_state_move s HV Hc) as Hmove. unfold page_gone in Hmove. fold n l in Hmove.
      destruct (root_usable s HV Hp) as [_ Hroot]. unfold root_key in Hroot.
      eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
      unfold body_wp, pagemap_move_code. cbn [fn_body fn_locals]. locals_simpl. rewrite Em.
      wp_seq. wp_call. eapply fwp_triple; [by apply (pagemap_cursor_triple _ _ _ HM)|done|].
        intros w d' [-> ->] _. unfold locals. locals_simpl.
      wp_seq. wp_call. eapply fwp_triple; [by apply (pagemap_root_triple _ _ _ HM)|done|].
        intros w d' [-> ->] _. unfold locals. locals_simpl.
      wp_seq. wp_if. change 123145302310912 with USER_END. rewrite (proj2 (Z.leb_gt _ _) Hc). wp_skip. wp_seq. wp_assign. wp_seq.
      match goal with |- wp ?J (While ?c ?b) ?Qn ?Qb ?Qr ?r0 ?m0 ?g0 =>
        change (exists (I : nat -> post) n, I n r0 m0 g0 /\ forall n r m g, I n r m g -> exists t, test c r m = Some t /\
          if t then wp J b (fun r m g => exists n', (n' < n)%nat /\ I n' r m g) Qn Qr r m g else Qn r m g) end.
      exists (fun k r m g => exists f at_ i e, r = [p; cursor s; f; at_; i; e] /\ k = Z.to_nat at_ /\ 0 <= at_ <= 3 /\
        tables s !! (at_, above at_ n) = Some f /\ m = d ∪ rest /\
        g = (if l =? 0 then drop_leaf n (fun _ => pass 0 n (fun _ => κ 1)) else pass l n (fun _ => κ 1), a)), 3%nat.
      split.
      { exists (root_of s), 3, 0, 0. split; [done|]. split; [done|]. split; [lia|]. split; [|done].
        by rewrite above_low by (by apply page_low). }
      intros k r m0 g (f & at_ & i & e & -> & -> & Hat & Hf & -> & ->). eexists. split; [evaluate|]. cbn [compare].
      destruct (Z.ltb_spec 0 at_) as [Hpos|Hzero].
      + wp_seq. wp_call. eapply fwp_pure; [intros d'; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
        wp_seq. wp_call. eapply fwp_frame_read; [done|apply own_read, (rep_word _ _ _ _ _ _ _ Hrep Hf), slot_range|].
        unfold locals. locals_simpl. rewrite word_path by first [intros; by apply slot_low, page_low | lia]. fold n. wp_seq. wp_if.
        destruct (tables s !! (at_ - 1, above (at_ - 1) n)) as [f'|] eqn:Hf'.
        * rewrite (proj2 (Z.eqb_neq _ 0)) by apply link_nonzero. wp_skip. wp_seq. wp_call.
          eapply fwp_pure; [intros d'; apply (pagemap_entry_frame_triple _ _ _ HM)|]. unfold locals. locals_simpl.
          pose proof (table_frame _ _ _ HV Hf') as Hb. unfold NUM_FRAME in Hb.
          rewrite link_frame by (change (2 ^ 32) with 4294967296; lia). wp_assign. rewrite wrap32 by lia.
          exists (Z.to_nat (at_ - 1)). split; [lia|].
          exists f', (at_ - 1), (entry_index at_ n), (link f'). split; [done|]. split; [done|]. split; [lia|]. done.
        * change (0 =? 0) with true. cbv iota.
          assert (l = at_) as El by (apply (way_missing s HV Hc at_ f); [done|lia|exact Hf|exact Hf']).
          rewrite (proj2 (Z.eqb_neq l 0)) in * by lia. rewrite <- El. wp_seq. wp_call. rewrite <- Em.
          eapply passes; [exact Hr|exact Ho|exact HV|lia|lia|]. fold n. intros w m' a' Hr' Ho' HV' Hy1.
          unfold locals. locals_simpl. wp_return. rewrite Hmove in Ho'. apply Qmove; [done|done|done|]. apply Hy. by eapply Hps.
      + assert (at_ = 0) as -> by lia.
        assert (l = 0) as El.
        { pose proof (missing_range s n). destruct (decide (l = 0)); [done|].
          rewrite (missing_absent s HV n 0) in Hf by lia. done. }
        rewrite El in *. change (0 =? 0) with true in *. cbv iota in Hmove, Hy |- *. wp_seq. wp_call. rewrite <- Em.
        eapply leaf_drops; [exact Hr|exact Ho|exact HV|lia|exact Hf|]. fold n. intros w m1 a1 Hr1 Ho1 HV1 Hy1.
        unfold locals. locals_simpl. wp_seq. wp_call.
        eapply passes; [exact Hr1|exact Ho1|exact HV1|lia|lia|]. fold n. intros w2 m2 a2 Hr2 Ho2 HV2 Hy2.
        unfold locals. locals_simpl. wp_return. rewrite Hmove in Ho2. apply Qmove; [done|done|done|]. apply Hy.
        eapply yields_same; [eapply yields_bind; [exact Hy1|]|apply drop_leaf_continuation]. by eapply Hps.
  Qed.
End move.
