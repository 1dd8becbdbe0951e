(** Start-up of frames, second half: [frame_make_usable] frees reserved frames. *)
From Ashlar Require Export layers.frame.table.Owners.
Local Opaque gmap_lookup gmap_partial_alter.

Implicit Types s : frames.

(** ** Making frames usable, one at a time *)

(** The state when the first [k] of them have been looked at. *)
Definition usable_until s (first k : Z) : frames :=
  Frames (list_to_set (filter (fun f => owners s !! f = None) (seqZ first k)) ∪ free s) (owners s).

Lemma usable_free s first k f : 0 <= k ->
  f ∈ free (usable_until s first k) <-> first <= f < first + k /\ owners s !! f = None \/ f ∈ free s.
Proof.
  intros Hk. unfold usable_until. cbn [free].
  rewrite elem_of_union, elem_of_list_to_set, elem_of_list_filter, elem_of_seqZ. tauto.
Qed.
Lemma usable_zero s first : usable_until s first 0 = s.
Proof.
  destruct s as [l o]. unfold usable_until. cbn [free owners]. f_equal. apply set_eq. intros f.
  rewrite elem_of_union, elem_of_list_to_set, elem_of_list_filter, elem_of_seqZ. split; [|by right].
  intros [[_ ?]|?]; [lia|done].
Qed.
Lemma usable_valid s first k : frame_valid s -> 0 <= first -> 0 <= k -> first + k <= NUM_FRAME ->
  frame_valid (usable_until s first k).
Proof.
  intros HV H1 H2 H3. apply (frame_make_usable_valid s first k 0 _ HV). unfold frame_make_usable, usable_until.
  by replace ((0 <=? first) && (0 <=? k) && (first + k <=? NUM_FRAME)) with true by lia.
Qed.
Lemma usable_next s first k f : 0 <= k -> f = first + k ->
  usable_until s first (k + 1) =
    if decide (owners s !! f = None) then Frames ({[f]} ∪ free (usable_until s first k)) (owners s)
    else usable_until s first k.
Proof.
  intros Hk ->. assert (forall l, usable_until s first (k + 1) = Frames l (owners s) <->
    forall g, g ∈ free (usable_until s first (k + 1)) <-> g ∈ l) as Heq.
  { intros l. split; [by intros ->|]. intros H. unfold usable_until. f_equal. apply set_eq, H. }
  destruct (decide (owners s !! (first + k) = None)) as [E|E].
  - apply Heq. intros g. rewrite elem_of_union, elem_of_singleton, !usable_free by lia. split.
    + intros [[? ?]|?]; [|tauto]. destruct (decide (g = first + k)); [tauto|]. right; left. split; [lia|done].
    + intros [-> |[[? ?]|?]]; [|left; split; [lia|done]|tauto]. left. split; [lia|done].
  - unfold usable_until at 2. apply Heq. intros g. fold (free (usable_until s first k)).
    change (list_to_set _ ∪ free s) with (free (usable_until s first k)). rewrite !usable_free by lia. split.
    + intros [[? ?]|?]; [|tauto]. destruct (decide (g = first + k)) as [->|]; [done|]. left. split; [lia|done].
    + intros [[? ?]|?]; [left; split; [lia|done]|tauto].
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Theorem frame_make_usable_triple s d first count v s' :
    frame_rep s d -> frame_valid s -> frame_make_usable s first count = Some (v, s') ->
    triple "frame_make_usable" [first; count] d (fun w d' => w = v /\ frame_rep s' d').
  Proof using HM.
    intros Hr HV H. unfold frame_make_usable in H. destruct (_ && _) eqn:E; [|done].
    change (Some (0, usable_until s first count) = Some (v, s')) in H. injection H as <- <-.
    assert (0 <= first /\ 0 <= count /\ first + count <= NUM_FRAME) as (Hf & Hc & Hn) by lia. clear E.
    unfold NUM_FRAME in Hn.
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold frame_make_usable_code; locals_simpl.
    step. step.
    eapply owned_while with (n := Z.to_nat count)
      (I := fun n r d => exists k x, r = [first; count; k; x] /\ 0 <= k <= count /\
        n = Z.to_nat (count - k) /\ frame_rep (usable_until s first k) d).
    { exists 0, 0. split; [done|]. split; [lia|]. split; [f_equal; lia|]. by rewrite usable_zero. }
    clear d Hr. intros n r d (k & x & -> & Hk & -> & Hr). eexists. split; [evaluate|]. cbn [compare].
    destruct (Z.ltb_spec k count) as [Hlt|Hge].
    2: { assert (k = count) as -> by lia. done. }
    pose proof (usable_valid s first k HV Hf ltac:(lia) ltac:(unfold NUM_FRAME; lia)) as HVk.
    pose proof (rep_kind _ _ Hr (first + k) ltac:(unfold NUM_FRAME; lia)) as Hkind.
    pose proof (rep_owner _ _ Hr (first + k) ltac:(unfold NUM_FRAME; lia)) as Hown.
    set (f := first + k) in *. assert (0 <= f < NUM_FRAME) as Hfr by (unfold NUM_FRAME, f; lia).
    pose proof (usable_next s first k f ltac:(lia) eq_refl) as Hnext.
    step. step. fold f. rewrite wrap_small by (unfold NUM_FRAME in Hfr; lia). step. frame_cells. step.
    rewrite kind_wrap. unfold kind_of. cbn [owners usable_until].
    assert (HQ : forall d', frame_rep (usable_until s first (k + 1)) d' ->
      owned kernel_entry M cpu (Assign 2 (Bin W32 Add (Var 2) (Const 1)))
        (fun r d => exists n', (n' < Z.to_nat (count - k))%nat /\ exists k x,
           r = [first; count; k; x] /\ 0 <= k <= count /\ n' = Z.to_nat (count - k) /\ frame_rep (usable_until s first k) d)
        (fun _ d' => 0 = 0 /\ frame_rep (usable_until s first count) d')
        (fun w d' => w = 0 /\ frame_rep (usable_until s first count) d') [first; count; k; f] d').
    { intros d' Hr'. step. rewrite wrap_small by lia. exists (Z.to_nat (count - (k + 1))). split; [lia|].
      exists (k + 1), f. split; [done|]. split; [lia|]. by split. }
    destruct (decide (f ∈ free (usable_until s first k))) as [Hin|Hnin].
    { change (FRAME_FREE =? 0) with false. cbv iota. step. apply HQ. rewrite Hnext.
      destruct (decide (owners s !! f = None)); [|done].
      replace (Frames ({[f]} ∪ free (usable_until s first k)) (owners s)) with (usable_until s first k); [done|].
      unfold usable_until at 1. f_equal. change (list_to_set _ ∪ free s) with (free (usable_until s first k)).
      symmetry. apply subseteq_union_1_L. by apply singleton_subseteq_l. }
    destruct (decide (is_Some (owners s !! f))) as [Hs|Hns].
    { change (FRAME_ALLOCATED =? 0) with false. cbv iota. step. apply HQ. rewrite Hnext.
      rewrite decide_False; [done|]. intros Hno. rewrite Hno in Hs. by destruct Hs. }
    change (FRAME_RESERVED =? 0) with true. cbv iota.
    assert (owners s !! f = None) as Hno by (by apply eq_None_not_Some). rewrite decide_True in Hnext by done.
    eapply (owned_free kernel_entry M cpu HM (free (usable_until s first k)) f 3);
      [done|done|exact (rep_map _ _ Hr)|exact (rep_range _ _ Hr)|done|by eexists|exact (rep_count _ _ Hr)|].
    intros d' Hc' Hmap' Hn' Ho' Hk'. apply HQ. rewrite Hnext.
    apply (frame_rep_change (usable_until s first k) _ f d); [done| |done| |done|done|done| |].
    - rewrite <- Hnext. apply usable_valid; [done|lia..|unfold NUM_FRAME; lia].
    - intros g Hg. cbn [owners free usable_until]. split; [done|]. rewrite elem_of_union, elem_of_singleton. tauto.
    - rewrite Ho'. exact Hown.
    - rewrite Hk'. f_equal. symmetry. apply kind_free. apply elem_of_union_l, elem_of_singleton. done.
  Qed.
End proof.
