(** Page maps: mapping a page whose tables all exist. *)
From Ashlar Require Export layers.pagemap.code.LockedFunctions.
Local Opaque gmap_lookup gmap_partial_alter.

Section map.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation triple := (triple kernel_entry M cpu).
  Notation pagemap_rep := (pagemap_rep kernel_entry).
  Ltac enter code := eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.
  Ltac result := unfold locals; locals_simpl.

  Theorem pagemap_map_locked_whole p s d v e w s' : pagemap_rep p s d -> present s = true -> user_address v = true ->
    pagemap_store s (page_of v) e [] = Some (w, s') ->
    triple "pagemap_map_locked" [p; v; e] d (fun u d' => u = w /\ pagemap_rep p s' d').
  Proof using HM HRead HWrite.
    intros Hr Hp Ha Hs. pose proof (rep_valid _ _ _ _ Hr) as HV. pose proof (store_valid _ _ _ _ _ _ HV Hp Hs) as HV'.
    apply store_spec in Hs as (Hu & _ & He & Hm & _ & _ & Hs). simpl in Hm. symmetry in Hm.
    pose proof (user_address_range _ Ha) as Hv.
    assert (forall l, 0 <= l <= 3 -> is_Some (tables s !! (l, above l (page_of v)))) as Hpath.
    { intros l Hl. apply missing_present; [done|done|lia]. }
    destruct (root_usable s HV Hp) as [_ Hroot]. unfold root_key in Hroot.
    pose proof Hr as (_ & _ & _ & E & _). unfold pagemap_cell in E.
    enter pagemap_map_locked_code. step. step. step. step. step.
    eapply owned_while with (n := Z.to_nat 3) (I := fun k r d' => exists f a i o, r = [p; v; e; f; a; i; o; 0; 0; 0] /\
      k = Z.to_nat a /\ 0 <= a <= 3 /\ tables s !! (a, above a (page_of v)) = Some f /\ d' = d).
    { exists (root_of s), 3, 0, 0. split; [done|]. split; [done|]. split; [lia|]. split; [|done].
      by rewrite above_low by (by apply user_low). }
    intros k r d' (f & a & i & o & -> & -> & Hal & Hf & ->). eexists. split; [evaluate|]. cbn [compare].
    destruct (Z.ltb_spec 0 a) as [Hla|Hla].
    - step. eapply owned_call_whole; [evaluate|apply (pagemap_index_triple _ _ _ HM); lia|]. intros x d' [-> ->]. result.
      step. eapply owned_frame_read; [done|evaluate|apply (rep_word _ _ _ _ _ _ _ Hr Hf), slot_range|]. result.
      rewrite word_path by first [intros; by apply slot_root | lia].
      destruct (Hpath (a - 1)) as [f' Hf']; [lia|]. rewrite Hf'.
      step. step. rewrite (proj2 (Z.eqb_neq _ 0)) by apply link_nonzero. step. step.
      pose proof (table_frame _ _ _ HV Hf') as Hb. unfold NUM_FRAME in Hb.
      assert (0 <= f' < 2 ^ 32) as Hb' by (change (2 ^ 32) with 4294967296; lia).
      eapply owned_call_whole; [evaluate|apply (pagemap_entry_frame_triple _ _ _ HM)|].
      intros x d' [-> ->]. result. rewrite link_frame by done. step. exists (Z.to_nat (a - 1)). split; [lia|].
      rewrite wrap32 by lia. exists f', (a - 1), (entry_index a (page_of v)), (link f'). split; [done|]. split; [done|].
      split; [lia|]. done.
    - assert (a = 0) as -> by lia. step.
      eapply owned_call_whole; [evaluate|apply (pagemap_index_triple _ _ _ HM); lia|]. intros x d' [-> ->]. result. step.
      eapply owned_frame_read; [done|evaluate|apply (rep_word _ _ _ _ _ _ _ Hr Hf), slot_range|]. result.
      rewrite word_leaf. step. step. destruct (leaves s !! page_of v) as [e0|] eqn:He0; cbn [from_option id].
      + destruct Hs as [-> ->]. destruct (valid_leaf s HV _ _ He0) as (_ & _ & Hok & _).
        rewrite (proj2 (Z.eqb_neq _ 0)) by (by apply leaf_nonzero). cbn [negb]. step. done.
      + destruct Hs as [-> ->]. change (0 =? 0) with true. cbn [negb]. step. step.
        eapply owned_frame_write; [done|evaluate| |].
        { rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range. by eexists. }
        result. step. split; [done|]. cbn [add_path] in *.
        pose proof (rep_leaf kernel_entry p s d (page_of v) f (put_leaf (page_of v) e (leaves s)) Hr Hf HV') as Hrep.
        unfold put_leaf in *. destruct (Z.eqb_spec e 0) as [->|Hne].
        * rewrite He0 in Hrep. by apply Hrep.
        * rewrite lookup_insert in Hrep. apply Hrep. intros n Hn. by rewrite lookup_insert_ne.
  Qed.
End map.
