(** Page maps: what walking, unmapping, pinning and mapping do under the lock. *)
From Ashlar Require Export layers.pagemap.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(** The parts of [pagemap_find] and [pagemap_pin] between acquire and release. *)
Definition find_inner : stmt :=
  If (Cmp Eq (Load "pagemap" (Var 0) "exists" (Const 0)) (Const 1))
    (Seq (Call (Some 5%nat) "pagemap_table" [Var 0; Var 1; Const 0])
       (If (Cmp Ne (Var 5) (Const 4294967295))
          (Seq (Call (Some 6%nat) "pagemap_index" [Var 1; Const 0])
             (Seq (Call (Some 3%nat) "arch_frame_read" [Var 5; Var 6])
                (If (Cmp Eq (Var 2) (Const 1)) (Call None "arch_frame_write" [Var 5; Var 6; Const 0]) Skip)))
          Skip))
    Skip.
Definition pin_inner : stmt :=
  If (Cmp Eq (Load "pagemap" (Var 0) "exists" (Const 0)) (Const 1))
    (Seq (Call (Some 3%nat) "pagemap_table" [Var 0; Var 1; Const 0])
       (If (Cmp Ne (Var 3) (Const 4294967295))
          (Seq (Call (Some 4%nat) "pagemap_index" [Var 1; Const 0])
             (Seq (Call (Some 5%nat) "arch_frame_read" [Var 3; Var 4])
                (If (Cmp Ne (Var 5) (Const 0))
                   (Call None "arch_frame_write" [Var 3; Var 4; Bin W64 Or (Var 5) (Const 1024)]) Skip)))
          Skip))
    Skip.
Lemma find_code : pagemap_find_code = Fun 3 4
  (Seq (Assign 3 (Const 0)) (Seq (Call (Some 4%nat) "pagemap_valid" [Var 1])
  (Seq (If (Cmp Eq (Var 4) (Const 0)) (Return (Const 0)) Skip)
  (Seq (Call None "pagemap_lock" [Var 0]) (Seq find_inner (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var 3)))))))).
Proof. done. Qed.
Lemma pin_code : pagemap_pin_code = Fun 2 4
  (Seq (Call (Some 2%nat) "pagemap_valid" [Var 1]) (Seq (If (Cmp Eq (Var 2) (Const 0)) (Return (Const 0)) Skip)
  (Seq (Call None "pagemap_lock" [Var 0]) (Seq pin_inner (Call None "pagemap_unlock" [Var 0]))))).
Proof. done. Qed.

(** A page without table has no entry; nor has any page of a map that does not exist. *)
Lemma no_table s n : pagemap_valid s -> tables s !! (0, above 0 n) = None -> leaves s !! n = None.
Proof.
  intros HV Hn. destruct (leaves s !! n) as [e|] eqn:E; [|done]. destruct (valid_leaf s HV _ _ E) as (_ & _ & _ & [f Hf]).
  congruence.
Qed.
Lemma not_present s n : pagemap_valid s -> present s = false -> leaves s !! n = None.
Proof.
  intros HV Hp. apply no_table; [done|]. destruct (tables s !! (0, above 0 n)) as [f|] eqn:E; [|done].
  by rewrite (table_root s HV _ _ E) in Hp.
Qed.
Lemma delete_same s n : leaves s !! n = None -> PageMap (tables s) (delete n (leaves s)) (cursor s) = s.
Proof. intros H. destruct s as [t m c]. simpl in *. by rewrite delete_notin. Qed.
Lemma user_address_range v : user_address v = true -> 0 <= v < USER_END.
Proof. unfold user_address, USER_BASE, USER_END. lia. Qed.

Section find.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).
  Notation pagemap_rep := (pagemap_rep kernel_entry).
  Ltac result := unfold locals; locals_simpl.

  (** The table of a user page is no [NONE]. *)
  Lemma table_not_none s k f : pagemap_valid s -> tables s !! k = Some f -> f <> NONE.
  Proof using. intros HV H. pose proof (table_frame _ _ _ HV H). unfold NUM_FRAME, NONE in *. lia. Qed.

  Theorem find_inner_owned p s d v take : pagemap_rep p s d -> user_address v = true ->
    owned find_inner
      (fun r d' => r !! 3%nat = Some (entry_at s v) /\ r !! 0%nat = Some p /\
         pagemap_rep p (if take =? 1 then PageMap (tables s) (delete (page_of v) (leaves s)) (cursor s) else s) d')
      (fun _ _ => False) (fun _ _ => False) [p; v; take; 0; 1; 0; 0] d.
  Proof using HM HRead HWrite.
    intros Hr Ha. pose proof (rep_valid _ _ _ _ Hr) as HV. pose proof Hr as (_ & _ & E1 & _). unfold pagemap_cell in E1.
    pose proof (user_page_address _ Ha) as [Hu Hva]. pose proof (user_address_range _ Ha) as Hv.
    assert (entry_at s v = default 0 (leaves s !! page_of v)) as He by (unfold entry_at; by rewrite Ha).
    unfold find_inner. step. destruct (present s) eqn:Hp; cbn [flag].
    2:{ change (0 =? 1) with false. cbv iota. step. rewrite He, (not_present s _ HV Hp). split; [done|]. split; [done|].
        rewrite delete_same by (by apply not_present). by destruct (take =? 1). }
    change (1 =? 1) with true. cbv iota. step.
    eapply owned_call_whole; [evaluate|apply (pagemap_table_triple _ _ _ HM HRead p s d v 0 Hr Hp Hv); lia|].
    intros w d' [-> ->]. result. unfold table_at. destruct (tables s !! (0, above 0 (page_of v))) as [f|] eqn:Hf; cbn [from_option id].
    2:{ step. change (4294967295) with NONE. rewrite Z.eqb_refl. cbn [negb]. step. rewrite He, (no_table s _ HV Hf).
        split; [done|]. split; [done|]. rewrite delete_same by (by apply no_table). by destruct (take =? 1). }
    pose proof (table_not_none _ _ _ HV Hf) as Hnn. step. change 4294967295 with NONE.
    rewrite (proj2 (Z.eqb_neq _ _) Hnn). cbn [negb]. step.
    eapply owned_call_whole; [evaluate|apply (pagemap_index_triple _ _ _ HM); lia|]. intros w d' [-> ->]. result. step.
    eapply owned_frame_read; [done|evaluate|apply (rep_word _ _ _ _ _ _ _ Hr Hf), slot_range|]. result.
    rewrite word_leaf, <- He. step. destruct (take =? 1).
    - eapply owned_frame_write; [done|evaluate| |].
      + rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range. by eexists.
      + result. split; [done|]. split; [done|].
        pose proof (rep_leaf kernel_entry p s d (page_of v) f (delete (page_of v) (leaves s)) Hr Hf) as Hrep.
        rewrite lookup_delete in Hrep. apply Hrep.
        * eapply (unmap_valid s v); [done|]. unfold pagemap_unmap. by rewrite Ha.
        * intros n Hn. by rewrite lookup_delete_ne.
    - step. done.
  Qed.

  Theorem pin_inner_owned p s d v : pagemap_rep p s d -> user_address v = true ->
    owned pin_inner
      (fun r d' => r !! 0%nat = Some p /\
         pagemap_rep p (PageMap (tables s) (alter (fun e => Z.lor e ARCH_PTE_PINNED) (page_of v) (leaves s)) (cursor s)) d')
      (fun _ _ => False) (fun _ _ => False) [p; v; 1; 0; 0; 0] d.
  Proof using HM HRead HWrite.
    intros Hr Ha. pose proof (rep_valid _ _ _ _ Hr) as HV. pose proof Hr as (_ & _ & E1 & _). unfold pagemap_cell in E1.
    pose proof (user_page_address _ Ha) as [Hu Hva]. pose proof (user_address_range _ Ha) as Hv.
    assert (leaves s !! page_of v = None ->
      PageMap (tables s) (alter (fun e => Z.lor e ARCH_PTE_PINNED) (page_of v) (leaves s)) (cursor s) = s) as Hsame.
    { intros H. assert (alter (fun e => Z.lor e ARCH_PTE_PINNED) (page_of v) (leaves s) = leaves s) as ->; [|by destruct s].
      apply map_eq. intros n. destruct (decide (page_of v = n)) as [<-|]; [by rewrite lookup_alter, H|by rewrite lookup_alter_ne]. }
    unfold pin_inner. step. destruct (present s) eqn:Hp; cbn [flag].
    2:{ change (0 =? 1) with false. cbv iota. step. split; [done|]. by rewrite Hsame by (by apply not_present). }
    change (1 =? 1) with true. cbv iota. step.
    eapply owned_call_whole; [evaluate|apply (pagemap_table_triple _ _ _ HM HRead p s d v 0 Hr Hp Hv); lia|].
    intros w d' [-> ->]. result. unfold table_at. destruct (tables s !! (0, above 0 (page_of v))) as [f|] eqn:Hf; cbn [from_option id].
    2:{ step. change (4294967295) with NONE. rewrite Z.eqb_refl. cbn [negb]. step. split; [done|].
        by rewrite Hsame by (by apply no_table). }
    pose proof (table_not_none _ _ _ HV Hf) as Hnn. step. change 4294967295 with NONE.
    rewrite (proj2 (Z.eqb_neq _ _) Hnn). cbn [negb]. step.
    eapply owned_call_whole; [evaluate|apply (pagemap_index_triple _ _ _ HM); lia|]. intros w d' [-> ->]. result. step.
    eapply owned_frame_read; [done|evaluate|apply (rep_word _ _ _ _ _ _ _ Hr Hf), slot_range|]. result.
    rewrite word_leaf. step. destruct (leaves s !! page_of v) as [e|] eqn:He; cbn [from_option id].
    - destruct (valid_leaf s HV _ _ He) as (_ & _ & Hok & _). rewrite (proj2 (Z.eqb_neq _ 0)) by (by apply leaf_nonzero). cbn [negb].
      eapply owned_frame_write; [done|evaluate| |].
      + rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range. by eexists.
      + result. split; [done|].
        pose proof (rep_leaf kernel_entry p s d (page_of v) f (alter (fun e => Z.lor e ARCH_PTE_PINNED) (page_of v) (leaves s)) Hr Hf) as Hrep.
        rewrite lookup_alter, He in Hrep. apply Hrep.
        * eapply (pin_valid s v); [done|]. unfold pagemap_pin. by rewrite Ha.
        * intros n Hn. by rewrite lookup_alter_ne.
    - change (0 =? 0) with true. cbn [negb]. step. split; [done|]. by rewrite Hsame.
  Qed.
End find.
