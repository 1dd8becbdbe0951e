(** What the frame table guarantees to owners, in numbers: a process owns exactly as many frames as it was charged for and
    not refunded, and a frame that has an owner is not allocated again. *)
From Ashlar Require Export layers.frame.table.Owners layers.frame.table.Take.

Implicit Types s : frames.

(** The frames that process [p] owns. *)
Definition frames_of s (p : Z) : gset Z := dom (filter (fun x : Z * Z => Z.testbit x.2 p = true) (owners s)).
Definition count_of s (p : Z) : nat := size (frames_of s p).

Lemma frames_of_owns s p f : f ∈ frames_of s p <-> owns s f p = true.
Proof.
  unfold frames_of, owns, owners_of. rewrite elem_of_dom. split.
  - intros [m [Hm Hb]%map_filter_lookup_Some]. by rewrite Hm.
  - destruct (owners s !! f) as [m|] eqn:E; simpl; [|by rewrite Z.bits_0]. intros Hb. exists m.
    by apply map_filter_lookup_Some.
Qed.
Lemma count_initial p : count_of frame_initial p = 0%nat.
Proof.
  unfold count_of. replace (frames_of frame_initial p) with (∅ : gset Z); [apply size_empty|]. apply set_eq. intros f.
  rewrite frames_of_owns. split; [intros H; by apply not_elem_of_empty in H|]. unfold owns, owners_of, frame_initial.
  cbn [owners]. rewrite lookup_empty. simpl. by rewrite Z.bits_0.
Qed.

(** [q]'s ownership of [f] alone may change. *)
Lemma count_same s s' p : (forall f, owns s' f p = owns s f p) -> count_of s' p = count_of s p.
Proof. intros H. unfold count_of. f_equal. apply set_eq. intros f. by rewrite !frames_of_owns, H. Qed.
Lemma count_more s s' f p : (forall g, g <> f -> owns s' g p = owns s g p) ->
  owns s f p = false -> owns s' f p = true ->
  count_of s' p = S (count_of s p).
Proof.
  intros H H0 H1. unfold count_of. rewrite <- (size_add (frames_of s p) f).
  - f_equal. apply set_eq. intros g. rewrite elem_of_union, elem_of_singleton, !frames_of_owns.
    destruct (decide (g = f)) as [->|Hne]; [tauto|]. rewrite H by done. tauto.
  - rewrite frames_of_owns. congruence.
Qed.
Lemma count_less s s' f p : (forall g, g <> f -> owns s' g p = owns s g p) ->
  owns s f p = true -> owns s' f p = false ->
  count_of s p = S (count_of s' p).
Proof. intros H H0 H1. apply (count_more s' s f p); [|done|done]. intros g Hg. symmetry. by apply H. Qed.

(** ** The owners after a call *)
Lemma owns_update s l f m p g : 0 <= p ->
  owns (Frames l (<[f := m]> (owners s))) g p = if decide (g = f) then Z.testbit m p else owns s g p.
Proof.
  intros Hp. unfold owns, owners_of. cbn [owners]. destruct (decide (g = f)) as [->|]; [by rewrite lookup_insert|].
  by rewrite lookup_insert_ne.
Qed.
Lemma owns_free s l f p g : owns (Frames l (delete f (owners s))) g p = if decide (g = f) then false else owns s g p.
Proof.
  unfold owns, owners_of. cbn [owners]. destruct (decide (g = f)) as [->|]; [rewrite lookup_delete; apply Z.bits_0|].
  by rewrite lookup_delete_ne.
Qed.

Theorem frame_take_count s p f s' q : frame_valid s -> 0 <= q -> frame_take s p = Some (f, s') ->
  count_of s' q = (count_of s q + if decide (f <> NONE /\ q = p) then 1 else 0)%nat.
Proof.
  intros HV Hq H. destruct (decide (f = NONE)) as [->|Hf].
  - rewrite decide_False by tauto. destruct (frame_take_none _ _ _ HV H) as [_ ->]. lia.
  - destruct (frame_take_fresh _ _ _ _ HV H Hf) as (_ & Hno & _ & Hown).
    destruct (frame_take_cases _ _ _ _ HV H) as (Hp & [(? & _)|(_ & _ & _ & ->)]); [done|].
    assert (owns s f q = false) as Hn by (unfold owns, owners_of; rewrite Hno; apply Z.bits_0).
    destruct (decide (q = p)) as [->|Hne].
    + rewrite decide_True by done. rewrite Nat.add_1_r. apply (count_more _ _ f); [|done|].
      * intros g Hg. rewrite owns_update by done. by rewrite decide_False.
      * rewrite Hown by done. apply Z.eqb_refl.
    + rewrite decide_False by tauto. rewrite Nat.add_0_r. apply count_same. intros g. rewrite owns_update by done.
      destruct (decide (g = f)) as [->|]; [|done]. rewrite Hn. unfold only. rewrite Z.pow2_bits_eqb by lia.
      apply Z.eqb_neq. congruence.
Qed.

Theorem frame_add_count s f p v s' q : frame_valid s -> 0 <= q -> frame_add s f p = Some (v, s') ->
  count_of s' q = (count_of s q + if decide (v = STATUS_OK /\ q = p) then 1 else 0)%nat.
Proof.
  intros HV Hq H. destruct (frame_add_cases _ _ _ _ _ HV H) as (_ & Hp & [(-> & -> & _)|(-> & _ & Hb & ->)]).
  - rewrite decide_False; [lia|]. by intros [? _].
  - destruct (decide (q = p)) as [->|Hne].
    + rewrite decide_True by done. rewrite Nat.add_1_r. apply (count_more _ _ f); [|done|].
      * intros g Hg. rewrite owns_update by done. by rewrite decide_False.
      * rewrite owns_update, decide_True by done. unfold only. rewrite set_bit_test by lia. rewrite Z.eqb_refl.
        apply orb_true_r.
    + rewrite decide_False by tauto. rewrite Nat.add_0_r. apply count_same. intros g. rewrite owns_update by done.
      destruct (decide (g = f)) as [->|]; [|done]. unfold only. rewrite set_bit_test by lia.
      rewrite (proj2 (Z.eqb_neq p q)) by congruence. apply orb_false_r.
Qed.

Theorem frame_remove_count s f p v s' q : frame_valid s -> 0 <= q -> frame_remove s f p = Some (v, s') ->
  count_of s q = (count_of s' q + if decide (v = STATUS_OK /\ q = p) then 1 else 0)%nat.
Proof.
  intros HV Hq H. destruct (frame_remove_cases _ _ _ _ _ HV H) as (_ & Hp & [(-> & -> & _)|(-> & _ & Hb & Es)]).
  - rewrite decide_False; [lia|]. by intros [? _].
  - assert (Hs : forall g, owns s' g q = owns s g q && negb (bool_decide (g = f /\ q = p))).
    { intros g. destruct (Z.eqb_spec (owners_of s f) (only p)) as [El|_]; subst s'.
      - rewrite owns_free. destruct (decide (g = f)) as [->|Hg].
        + unfold owns. rewrite El. unfold only. rewrite Z.pow2_bits_eqb by lia.
          destruct (Z.eqb_spec p q) as [->|Hne]; [|done].
          by rewrite bool_decide_eq_true_2.
        + rewrite bool_decide_eq_false_2 by tauto. by rewrite andb_true_r.
      - rewrite owns_update by done. destruct (decide (g = f)) as [->|Hg].
        + unfold only. rewrite clear_bit_test by lia. unfold owns. f_equal. f_equal.
          destruct (Z.eqb_spec p q) as [->|Hne].
          * by rewrite bool_decide_eq_true_2. * rewrite bool_decide_eq_false_2; [done|]. by intros [_ ?].
        + rewrite bool_decide_eq_false_2 by tauto. by rewrite andb_true_r. }
    destruct (decide (q = p)) as [->|Hne].
    + rewrite decide_True by done. rewrite Nat.add_1_r. apply (count_less _ _ f); [|done|].
      * intros g Hg. rewrite Hs, bool_decide_eq_false_2 by tauto. apply andb_true_r.
      * rewrite Hs, bool_decide_eq_true_2 by done. apply andb_false_r.
    + rewrite decide_False by tauto. rewrite Nat.add_0_r. symmetry. apply count_same. intros g.
      rewrite Hs, bool_decide_eq_false_2 by tauto. apply andb_true_r.
Qed.

(** A frame that has an owner is not allocated, and no process loses a frame when another takes one. *)
Theorem frame_take_other s p f s' g q : frame_valid s -> 0 <= q -> frame_take s p = Some (f, s') ->
  owns s g q = true -> f <> g /\ owns s' g q = true.
Proof.
  intros HV Hq H Hg. destruct (frame_take_cases _ _ _ _ HV H) as (_ & [(-> & -> & _)|(_ & Hin & Hid & ->)]).
  - split; [|done]. intros <-. unfold owns, owners_of in Hg. destruct (owners s !! NONE) as [m|] eqn:E; simpl in Hg.
    + destruct (proj2 HV NONE m E) as [Hid%frame_id_true _]. unfold NONE, NUM_FRAME in Hid. lia.
    + by rewrite Z.bits_0 in Hg.
  - assert (f <> g) as Hne.
    { intros <-. destruct (proj1 HV f Hin) as [_ Hno]. unfold owns, owners_of in Hg. rewrite Hno in Hg.
      by rewrite Z.bits_0 in Hg. }
    split; [done|]. rewrite owns_update by done. by rewrite decide_False.
Qed.

(** A frame is freed when its last owner leaves: no other process owned it. *)
Theorem frame_remove_last s f p v s' g : frame_valid s -> frame_remove s f p = Some (v, s') ->
  g ∉ free s -> g ∈ free s' ->
  g = f /\ v = STATUS_OK /\ forall q, 0 <= q -> owns s f q = (q =? p).
Proof.
  intros HV H Hn Hin. apply (frame_remove_frees _ _ _ _ _ _ HV H) in Hin as [?|[-> Ho]]; [done|].
  destruct (frame_remove_cases _ _ _ _ _ HV H) as (_ & Hp & Hc).
  assert (Hown : forall q, 0 <= q -> owns s f q = (q =? p)).
  { intros q Hq. unfold owns, owners_of. rewrite Ho. simpl. unfold only. rewrite Z.pow2_bits_eqb by lia.
    apply Z.eqb_sym. }
  split_and!; [done| |done]. destruct Hc as [(_ & _ & Hb)|(-> & _)]; [|done].
  change (owns s f p = false) in Hb. rewrite Hown, Z.eqb_refl in Hb by lia. done.
Qed.
