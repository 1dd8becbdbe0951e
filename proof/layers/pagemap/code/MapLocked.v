(** Page maps: the parts of [pagemap_map] and [pagemap_missing] between acquire and release. *)
From Ashlar Require Export layers.pagemap.code.LockedFunctions.
Local Opaque gmap_lookup gmap_partial_alter.

Definition map_inner : stmt :=
  If (Cmp Eq (Load "pagemap" (Var 0) "exists" (Const 0)) (Const 1))
    (Call (Some 5%nat) "pagemap_map_locked" [Var 0; Var 1; Var 7]) Skip.
Definition missing_inner : stmt :=
  If (Cmp Eq (Load "pagemap" (Var 0) "exists" (Const 0)) (Const 1))
    (Call (Some 2%nat) "pagemap_lowest" [Var 0; Var 1]) Skip.

Section map.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).
  Notation pagemap_rep := (pagemap_rep kernel_entry).
  Ltac enter code := eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.
  Ltac result := unfold locals; locals_simpl.

  Theorem pagemap_map_locked_triple p s d v e w s' : pagemap_rep p s d -> present s = true -> user_address v = true ->
    pagemap_store s (page_of v) e = Some (w, s') ->
    triple "pagemap_map_locked" [p; v; e] d (fun u d' => u = w /\ pagemap_rep p s' d').
  Proof using HM HRead HWrite.
    intros Hr Hp Ha Hs. pose proof (rep_valid _ _ _ _ Hr) as HV. pose proof (store_valid _ _ _ _ _ HV Hs) as HV'.
    pose proof (user_address_range _ Ha) as Hv. pose proof (user_page_address _ Ha) as [Hu _].
    unfold pagemap_store in Hs. rewrite Hp in Hs. cbn [negb] in Hs.
    enter pagemap_map_locked_code. step.
    eapply owned_call_whole; [evaluate|apply (pagemap_table_triple _ _ _ HM HRead p s d v 0 Hr Hp Hv); lia|].
    intros x d' [-> ->]. result. unfold table_at.
    destruct (tables s !! (0, above 0 (page_of v))) as [f|] eqn:Hf; cbn [from_option id].
    - assert (missing s (page_of v) = 0) as Hm.
      { apply missing_is; [done|done|done|lia|intros; lia|]. right. by eexists. }
      rewrite Hm in Hs. change (0 =? 0) with true in Hs. cbn [negb] in Hs.
      pose proof (table_frame _ _ _ HV Hf) as Hb. unfold NUM_FRAME in Hb. step. step.
      rewrite (proj2 (Z.eqb_neq f 4294967295)) by lia. step. step.
      eapply owned_call_whole; [evaluate|apply (pagemap_index_triple _ _ _ HM); lia|]. intros x d' [-> ->]. result. step.
      eapply owned_frame_read; [done|evaluate|apply (rep_word _ _ _ _ _ _ _ Hr Hf), slot_range|]. result.
      rewrite word_leaf. destruct (_ && _) eqn:Hok in Hs; [|done].
      step. step. destruct (leaves s !! page_of v) as [e0|] eqn:He0; cbn [from_option id].
      + injection Hs as <- <-. destruct (valid_leaf s HV _ _ He0) as (_ & _ & Hok0 & _).
        rewrite (proj2 (Z.eqb_neq _ 0)) by (by apply leaf_nonzero). cbn [negb]. step. done.
      + injection Hs as <- <-. change (0 =? 0) with true. cbn [negb]. step. step.
        eapply owned_frame_write; [done|evaluate| |].
        { rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range. by eexists. }
        result. step. split; [done|].
        pose proof (rep_leaf kernel_entry p s d (page_of v) f (<[page_of v := e]> (leaves s)) Hr Hf HV') as Hleaf.
        rewrite lookup_insert in Hleaf. apply Hleaf. intros n' Hn'. by rewrite lookup_insert_ne.
    - destruct (Z.eqb_spec (missing s (page_of v)) 0) as [Hm|]; cbn [negb] in Hs.
      { destruct (missing_present s (page_of v) 0 Hp Hu) as [f Hf']; [lia|]. by rewrite Hf in Hf'. }
      injection Hs as <- <-. step. step. change (NONE =? 4294967295) with true. cbv iota. step. done.
  Qed.

  Theorem map_inner_owned p s d v f prot kind e w s' : pagemap_rep p s d -> user_address v = true ->
    pagemap_store s (page_of v) e = Some (w, s') ->
    owned map_inner
      (fun r d' => r !! 5%nat = Some w /\ r !! 0%nat = Some p /\ pagemap_rep p s' d')
      (fun _ _ => False) (fun _ _ => False) [p; v; f; prot; kind; ERR_BAD_STATE; 1; e] d.
  Proof using HM HRead HWrite.
    intros Hr Ha Hs. pose proof Hr as (_ & _ & E1 & _). unfold pagemap_cell in E1.
    unfold map_inner. step. destruct (present s) eqn:Hp; cbn [flag].
    - change (1 =? 1) with true. cbv iota.
      eapply owned_call_whole; [evaluate|by apply (pagemap_map_locked_triple p s d v e w s')|]. intros u d' [-> Hr']. result. done.
    - change (0 =? 1) with false. cbv iota. unfold pagemap_store in Hs. rewrite Hp in Hs. injection Hs as <- <-. step. done.
  Qed.

  Theorem missing_inner_owned p s d v : pagemap_rep p s d -> user_address v = true ->
    owned missing_inner
      (fun r d' => r !! 2%nat = Some (if present s then missing s (page_of v) else 0) /\ r !! 0%nat = Some p /\ pagemap_rep p s d')
      (fun _ _ => False) (fun _ _ => False) [p; v; 0; 1] d.
  Proof using HM HRead.
    intros Hr Ha. pose proof Hr as (_ & _ & E1 & _). unfold pagemap_cell in E1.
    pose proof (user_address_range _ Ha) as Hv. pose proof (user_page_address _ Ha) as [Hu _].
    unfold missing_inner. step. destruct (present s) eqn:Hp; cbn [flag].
    - change (1 =? 1) with true. cbv iota.
      eapply owned_call_whole; [evaluate|by apply (pagemap_lowest_triple _ _ _ HM HRead p s d v)|]. intros u d' [-> ->]. result. done.
    - change (0 =? 1) with false. cbv iota. step. done.
  Qed.
End map.
