(** [pagemap_map] and [pagemap_missing] implement their programs. *)
From Ashlar Require Export layers.pagemap.Implements.
Local Opaque gmap_lookup gmap_partial_alter.

Section map.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (HY : forall p Hp, slot_lock (Y p Hp) = LOCK_PAGEMAP_BASE + p).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).
  Notation on_map := (on_map X kernel_entry Y).

  Definition map (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p; v; f; prot; kind] =>
        if negb (word32 f) then Fail
        else if negb (user_address v) then κ ERR_BAD_ADDRESS
        else if (has prot PROT_WRITE && has prot PROT_EXEC) || (PAGEMAP_DEVICE <? kind) then κ ERR_BAD_ARGUMENT
        else on_map p (fun s => pagemap_store s (page_of v) (leaf_entry f prot kind)) κ
    | _ => Fail
    end.
  Definition missing_tables (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p; v] => if user_address v then on_map p (fun s => pagemap_missing s v) κ else κ 0
    | _ => Fail
    end.

  Theorem pagemap_map_implements : implements_then "pagemap_map" map.
  Proof using HM HY lock_acquire lock_release HRead HWrite.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|f [|prot [|kind [|??]]]]]]; [by right..| |by right]. cbn [map] in *.
    destruct (word32 f) eqn:Hf; cbn [negb] in *; [|by right].
    assert (0 <= f < 2 ^ 32) as Hf' by (unfold word32 in Hf; lia).
    assert (Hbody : fn_body pagemap_map_code =
      Seq (Assign 5 (Const 12)) (Seq (Call (Some 6%nat) "pagemap_valid" [Var 1])
      (Seq (If (Cmp Eq (Var 6) (Const 0)) (Return (Const 4)) Skip)
      (Seq (If (COr (CAnd (Cmp Ne (Bin W32 And (Var 3) (Const 2)) (Const 0)) (Cmp Ne (Bin W32 And (Var 3) (Const 4)) (Const 0)))
                  (Cmp Gt (Var 4) (Const 2))) (Return (Const 3)) Skip)
      (Seq (Call (Some 7%nat) "pagemap_leaf" [Var 2; Var 3; Var 4])
      (Seq (Call None "pagemap_lock" [Var 0]) (Seq map_inner (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var 5)))))))))) by done.
    destruct (user_address v) eqn:Ha; cbn [negb] in *.
    2:{ left. split; [done|]. unfold body_wp. rewrite Hbody. change (fn_locals pagemap_map_code) with 3%nat. locals_simpl.
        wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
        unfold locals. locals_simpl. wp_seq. wp_if. change (flag false =? 0) with true. cbv iota. wp_return.
        apply settles_now, HQ; [constructor|done]. }
    destruct (has prot PROT_WRITE && has prot PROT_EXEC || (PAGEMAP_DEVICE <? kind)) eqn:Hbad.
    { left. split; [done|]. unfold body_wp. rewrite Hbody. change (fn_locals pagemap_map_code) with 3%nat. locals_simpl.
      wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
      unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip. wp_seq. wp_if.
      change (negb (Z.land prot 2 =? 0)) with (has prot PROT_WRITE). change (negb (Z.land prot 4 =? 0)) with (has prot PROT_EXEC).
      change (2 <? kind) with (PAGEMAP_DEVICE <? kind). rewrite Hbad. wp_return. apply settles_now, HQ; [constructor|done]. }
    unfold Implements.on_map, for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    unfold body_wp. rewrite Hbody. change (fn_locals pagemap_map_code) with 3%nat. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
    unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip. wp_seq. wp_if.
    change (negb (Z.land prot 2 =? 0)) with (has prot PROT_WRITE). change (negb (Z.land prot 4 =? 0)) with (has prot PROT_EXEC).
    change (2 <? kind) with (PAGEMAP_DEVICE <? kind). rewrite Hbad. wp_skip. wp_seq. wp_call.
    eapply fwp_pure; [intros d; by apply (pagemap_leaf_triple _ _ _ HM)|]. unfold locals. locals_simpl.
    wp_seq. wp_call. apply (pagemap_lock_acquires X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object (Y p Hp))); [apply slot_guards|done|].
    intros st w st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result].
    apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
    pose proof Hg as Hg0. apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
    pose proof (store_valid _ _ _ _ _ Hval Hg) as Hval'.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono; [| | |exact (map_inner_owned kernel_entry M cpu HM HRead HWrite p s d v f prot kind _ w s' Hrep Ha Hg)]; [|done|done].
    cbn beta. intros r d' (H5 & H0 & Hrep') Hd'. wp_seq. cbn [wp]. exists [p]. split; [by apply evals_first|].
    apply (pagemap_unlock_releases X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock (Y p Hp)) (slot_object (Y p Hp)));
      [apply slot_guards|apply slot_rep; eauto|done|done|].
    intros m' Hr'. cbn [wp set_result]. exists w. split; [exact H5|]. apply settles_now, HQ; [|done].
    eapply yields_bind; [|constructor]. exact (locked_done (Y p Hp) _ s _ s' a Hval Hval' Hg).
  Qed.

  Theorem pagemap_missing_implements : implements_then "pagemap_missing" missing_tables.
  Proof using HM HY lock_acquire lock_release HRead.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|??]]]; [by right..| |by right]. cbn [missing_tables] in *.
    assert (Hbody : fn_body pagemap_missing_code =
      Seq (Assign 2 (Const 0)) (Seq (Call (Some 3%nat) "pagemap_valid" [Var 1])
      (Seq (If (Cmp Eq (Var 3) (Const 0)) (Return (Const 0)) Skip)
      (Seq (Call None "pagemap_lock" [Var 0]) (Seq missing_inner (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var 2)))))))) by done.
    destruct (user_address v) eqn:Ha.
    2:{ left. split; [done|]. unfold body_wp. rewrite Hbody. change (fn_locals pagemap_missing_code) with 2%nat. locals_simpl.
        wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
        unfold locals. locals_simpl. wp_seq. wp_if. change (flag false =? 0) with true. cbv iota. wp_return.
        apply settles_now, HQ; [constructor|done]. }
    unfold Implements.on_map, for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    unfold body_wp. rewrite Hbody. change (fn_locals pagemap_missing_code) with 2%nat. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
    unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip.
    wp_seq. wp_call. apply (pagemap_lock_acquires X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object (Y p Hp))); [apply slot_guards|done|].
    intros st w st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result].
    apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
    pose proof Hg as Hg0. apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
    pose proof Hg as Hg1. unfold pagemap_missing in Hg1. rewrite Ha in Hg1. cbn [andb] in Hg1. injection Hg1 as Ew <-.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono; [| | |exact (missing_inner_owned kernel_entry M cpu HM HRead p s d v Hrep Ha)]; [|done|done].
    cbn beta. rewrite Ew. intros r d' (H2 & H0 & Hrep') Hd'. wp_seq. cbn [wp]. exists [p]. split; [by apply evals_first|].
    apply (pagemap_unlock_releases X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock (Y p Hp)) (slot_object (Y p Hp)));
      [apply slot_guards|apply slot_rep; eauto|done|done|].
    intros m' Hr'. cbn [wp set_result]. exists w. split; [exact H2|]. apply settles_now, HQ; [|done].
    eapply yields_bind; [|constructor]. exact (locked_done (Y p Hp) _ s _ s a Hval Hval Hg).
  Qed.
End map.
