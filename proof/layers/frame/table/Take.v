(** Taking a free frame: what [frame_take] does to the table's cells. *)
From Ashlar Require Export layers.frame.table.TableCells.
Local Opaque gmap_lookup gmap_partial_alter.

Implicit Types s : frames.

(** What [frame_take] does, by case. *)
Lemma frame_take_cases s p v s' : frame_valid s -> frame_take s p = Some (v, s') ->
  0 <= p < NUM_PROCESS /\
  (v = NONE /\ s' = s /\ highest (free s) = -1 \/
   v = highest (free s) /\ v ∈ free s /\ 0 <= v < NUM_FRAME /\
   s' = Frames (free s ∖ {[v]}) (<[v := only p]> (owners s))).
Proof.
  intros HV H. unfold frame_take in H. destruct (process_id p) eqn:Hp; [|done]. apply process_id_true in Hp.
  split; [done|]. cbv zeta in H. destruct (Z.eqb_spec (highest (free s)) (-1)) as [E|E].
  - left. by simplify_eq.
  - right. destruct (highest_spec (free s) (valid_free s HV)) as [[_ ?]|(Hin & _ & _)]; [done|]. simplify_eq.
    split_and!; [done|done| | |done]; by apply frame_id_true, (proj1 HV).
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Context (HB : M "arch_highest_bit"%string = None).
  Notation triple := (triple kernel_entry M cpu).

  Theorem frame_take_triple s d p v s' : frame_rep s d -> frame_valid s -> frame_take s p = Some (v, s') ->
    triple "frame_take" [p] d (fun w d' => w = v /\ frame_rep s' d').
  Proof using HM HB.
    intros Hr HV H. pose proof (frame_take_valid _ _ _ _ HV H) as HV'.
    pose proof (rep_range _ _ Hr) as Hl. pose proof (rep_map _ _ Hr) as Hmap.
    destruct (frame_take_cases _ _ _ _ HV H) as (Hp & [(-> & -> & Eh)|(Ev & Hv & Hid & Es)]).
    all: eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold frame_take_code; locals_simpl; step.
    all: eapply owned_call_whole; [evaluate|by apply (frame_map_find_triple kernel_entry M cpu HM HB)|];
         intros w d1 [-> ->].
    { rewrite Eh. change (if -1 =? -1 then NONE else -1) with NONE. unfold locals. locals_simpl.
      step. step. change (NONE =? _) with true. cbv iota. step. by split. }
    rewrite <- Ev. unfold NUM_FRAME in Hid. rewrite (proj2 (Z.eqb_neq v (-1))) by lia. unfold locals. locals_simpl.
    step. step. rewrite (proj2 (Z.eqb_neq v _)) by lia. step. step.
    eapply owned_call_whole; [evaluate|by apply (frame_map_remove_triple kernel_entry M cpu HM)|].
    intros w d1 (-> & Hmap1 & Hc1). locals_simpl.
    pose proof (rep_count _ _ Hr) as Hn. rewrite <- (proj1 Hc1 _ free_not_map) in Hn.
    pose proof (rep_size _ _ Hr) as Hsz. unfold NUM_FRAME in Hsz. pose proof (size_drop _ _ Hv) as Esz.
    assert (is_Some (d1 !! kind_cell v)) as [k1 Hk1] by (apply (proj2 Hc1); eexists; by apply (rep_kind _ _ Hr)).
    assert (is_Some (d1 !! owner_cell v)) as [o1 Ho1] by (apply (proj2 Hc1); eexists; by apply (rep_owner _ _ Hr)).
    assert (0 <= p < 64) as Hp' by exact Hp.
    frame_cells. repeat step. split; [done|].
    rewrite bit_word, wrap_small by lia.
    replace (Z.of_nat (size (free s)) - 1) with (Z.of_nat (size (free s'))) by (subst s'; simpl; lia).
    apply (frame_rep_change s s' v d).
    - done. - done. - done.
    - intros g Hg. subst s'. simpl. split; [by rewrite lookup_insert_ne|].
      rewrite elem_of_difference, elem_of_singleton. tauto.
    - eapply table_changed_trans; [by apply table_changed_map, Hc1|].
      eapply table_changed_trans; [apply (table_changed_write v _ free_cell); [by auto|by eexists]|].
      eapply table_changed_trans;
        [apply (table_changed_write v _ (kind_cell v)); [by auto|by apply own_keep; eexists]|].
      apply (table_changed_write v _ (owner_cell v)); [by auto|by do 2 apply own_keep; eexists].
    - apply map_rep_other; [apply owner_not_map|]. apply map_rep_other; [apply kind_not_map|].
      apply map_rep_other; [apply free_not_map|]. by subst s'.
    - frame_cells. by look.
    - frame_cells. look. subst s'. unfold owners_of. simpl. by rewrite lookup_insert.
    - frame_cells. look. subst s'. unfold kind_of. simpl. rewrite decide_False, decide_True; [done| |].
      + rewrite lookup_insert. by eexists.
      + intros [_ H0]%elem_of_difference. by apply H0, elem_of_singleton.
  Qed.
End proof.
