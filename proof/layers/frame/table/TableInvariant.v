(** Frames: the specification preserves its invariant, and what it guarantees to owners. *)
From Ashlar Require Export layers.frame.Spec lang.logic.Words.

Implicit Types s : frames.

(** ** The highest free frame *)
Lemma highest_spec (l : gset Z) : set_Forall (fun f => 0 <= f) l ->
  l = ∅ /\ highest l = -1 \/ highest l ∈ l /\ 0 <= highest l /\ forall f, f ∈ l -> f <= highest l.
Proof.
  intros Hl. unfold highest.
  assert (Hpos : Forall (fun f => 0 <= f) (elements l)) by (apply Forall_forall; intros f Hf%elem_of_elements; auto).
  assert (H : elements l = [] \/
      foldr Z.max (-1) (elements l) ∈ elements l /\ 0 <= foldr Z.max (-1) (elements l) /\
      forall f, f ∈ elements l -> f <= foldr Z.max (-1) (elements l)).
  { clear Hl. induction Hpos as [|x xs Hx Hxs IH]; [by left|]. right. cbn [foldr].
    destruct IH as [-> | (Hin & H0 & Hmax)].
    - cbn [foldr]. rewrite Z.max_l by lia. split_and!; [constructor|done|]. intros f ->%elem_of_list_singleton. lia.
    - split_and!; [|lia|].
      + destruct (Z.max_spec x (foldr Z.max (-1) xs)) as [[_ ->]|[_ ->]]; by constructor.
      + intros f [->|Hf]%elem_of_cons; [lia|]. specialize (Hmax f Hf). lia. }
  destruct H as [E|(Hin & H0 & Hmax)].
  - left. rewrite E. split; [|done]. by apply elements_empty_inv, leibniz_equiv in E.
  - right. split_and!; [by apply elem_of_elements|done|]. intros f Hf. by apply Hmax, elem_of_elements.
Qed.

Lemma frame_id_true f : frame_id f = true <-> 0 <= f < NUM_FRAME.
Proof. unfold frame_id. lia. Qed.
Lemma process_id_true p : process_id p = true <-> 0 <= p < NUM_PROCESS.
Proof. unfold process_id. lia. Qed.

Lemma only_word p : 0 <= p < NUM_PROCESS -> 0 < only p < 2 ^ NUM_PROCESS.
Proof. intros. unfold only. split; [apply Z.pow_pos_nonneg; lia|apply Z.pow_lt_mono_r; lia]. Qed.

Lemma valid_free s : frame_valid s -> set_Forall (fun f => 0 <= f) (free s).
Proof. intros [H _] f Hf. destruct (H f Hf) as [Hid%frame_id_true _]. lia. Qed.

(** ** The invariant *)
Lemma frame_initial_valid : frame_valid frame_initial.
Proof. split; [apply set_Forall_empty|apply map_Forall_empty]. Qed.

Lemma frame_make_usable_valid s first count v s' :
  frame_valid s -> frame_make_usable s first count = Some (v, s') -> frame_valid s'.
Proof.
  intros [Hf Ho] H. unfold frame_make_usable in H. destruct (_ && _) eqn:E; [|done]. simplify_eq.
  split; [|done]. simpl. intros f [Hin|Hin]%elem_of_union; [|auto].
  apply elem_of_list_to_set, elem_of_list_filter in Hin as [Hn Hin%elem_of_seqZ]. split; [|done].
  apply frame_id_true. lia.
Qed.

Lemma frame_take_valid s p v s' : frame_valid s -> frame_take s p = Some (v, s') -> frame_valid s'.
Proof.
  intros HV H. unfold frame_take in H. destruct (process_id p) eqn:Hp; [|done]. apply process_id_true in Hp.
  cbv zeta in H. destruct (Z.eqb_spec (highest (free s)) (-1)) as [|Hne]; [by simplify_eq|]. simplify_eq.
  destruct (highest_spec (free s) (valid_free s HV)) as [[_ ?]|(Hin & _ & _)]; [done|].
  destruct HV as [Hf Ho]. split; simpl.
  - intros f [Hff Hn]%elem_of_difference. destruct (Hf f Hff). split; [done|].
    rewrite lookup_insert_ne; [done|]. intros <-. by apply Hn, elem_of_singleton.
  - apply map_Forall_insert_2; [|done]. split; [by apply Hf|by apply only_word].
Qed.

Lemma frame_add_valid s f p v s' : frame_valid s -> frame_add s f p = Some (v, s') -> frame_valid s'.
Proof.
  intros [Hf Ho] H. unfold frame_add in H. destruct (_ && _) eqn:E; [|done].
  apply andb_true_iff in E as [Hid Hp%process_id_true].
  destruct (owners s !! f) as [mask|] eqn:Hm; [|by simplify_eq].
  destruct (Z.testbit mask p); [by simplify_eq|]. simplify_eq. destruct (Ho f mask Hm) as [_ Hmask]. split; simpl.
  - intros g Hg. destruct (Hf g Hg) as [? Hn]. split; [done|]. rewrite lookup_insert_ne; [done|]. intros <-. congruence.
  - apply map_Forall_insert_2; [|done]. split; [done|]. unfold only.
    pose proof (set_bit_word NUM_PROCESS mask p ltac:(lia) Hp) as Hw. split; [|lia].
    assert (Z.lor mask (2 ^ p) <> 0); [|lia]. intros [? _]%Z.lor_eq_0_iff. lia.
Qed.

Lemma frame_remove_valid s f p v s' : frame_valid s -> frame_remove s f p = Some (v, s') -> frame_valid s'.
Proof.
  intros [Hf Ho] H. unfold frame_remove in H. destruct (_ && _) eqn:E; [|done].
  apply andb_true_iff in E as [Hid Hp%process_id_true].
  destruct (owners s !! f) as [mask|] eqn:Hm; [|by simplify_eq].
  destruct (Z.testbit mask p) eqn:Hb; simpl in H; [|by simplify_eq]. destruct (Ho f mask Hm) as [_ Hmask].
  destruct (Z.eqb_spec mask (only p)) as [|Hne]; simplify_eq; split; simpl.
  - intros g [->%elem_of_singleton|Hg]%elem_of_union; [split; [done|apply lookup_delete]|].
    destruct (Hf g Hg). split; [done|]. rewrite lookup_delete_ne; [done|]. intros <-. congruence.
  - by apply map_Forall_delete.
  - intros g Hg. destruct (Hf g Hg) as [? Hn]. split; [done|]. rewrite lookup_insert_ne; [done|]. intros <-. congruence.
  - apply map_Forall_insert_2; [|done]. split; [done|]. unfold only in *.
    pose proof (clear_bit_word NUM_PROCESS mask p ltac:(lia) Hp) as Hw. split; [|lia].
    assert (Z.ldiff mask (2 ^ p) <> 0); [|lia]. intros H0. apply Hne.
    apply Z.bits_inj'. intros i Hi. rewrite Z.pow2_bits_eqb by lia.
    pose proof (f_equal (fun z => Z.testbit z i) H0) as Hbit. cbv beta in Hbit.
    rewrite clear_bit_test, Z.bits_0 in Hbit by lia.
    destruct (Z.eqb_spec p i) as [<-|]; [done|]. by rewrite andb_true_r in Hbit.
Qed.

(** ** Promises *)

(** No frame is handed out twice: what is handed out was free, is so no longer, and its owners are the new owner alone. *)
Theorem frame_take_fresh s p f s' : frame_valid s -> frame_take s p = Some (f, s') -> f <> NONE ->
  f ∈ free s /\ owners s !! f = None /\ f ∉ free s' /\ forall q, 0 <= q -> owns s' f q = (q =? p).
Proof.
  intros HV H Hf. unfold frame_take in H. destruct (process_id p) eqn:Hp; [|done]. apply process_id_true in Hp.
  cbv zeta in H. destruct (Z.eqb_spec (highest (free s)) (-1)) as [|Hne]; [by simplify_eq|]. simplify_eq.
  destruct (highest_spec (free s) (valid_free s HV)) as [[_ ?]|(Hin & _ & _)]; [done|]. split_and!.
  - done.
  - by apply (proj1 HV).
  - simpl. intros [_ Hn]%elem_of_difference. by apply Hn, elem_of_singleton.
  - intros q Hq. unfold owns, owners_of, only. simpl. rewrite lookup_insert. simpl.
    rewrite Z.pow2_bits_eqb by lia. lia.
Qed.

(** It fails only when there is no free frame at all, and changes nothing then. *)
Theorem frame_take_none s p s' : frame_valid s -> frame_take s p = Some (NONE, s') -> free s = ∅ /\ s' = s.
Proof.
  intros HV H. unfold frame_take in H. destruct (process_id p); [|done].
  cbv zeta in H. destruct (highest_spec (free s) (valid_free s HV)) as [[E0 E]|(Hin & _ & _)].
  - rewrite E in H. simpl in H. by simplify_eq.
  - destruct (proj1 HV _ Hin) as [Hid%frame_id_true _].
    destruct (Z.eqb_spec (highest (free s)) (-1)); [lia|]. simplify_eq.
    match goal with E : _ = NONE |- _ => rewrite E in Hid end. unfold NONE, NUM_FRAME in Hid. lia.
Qed.

(** Owners change by exactly the process named, and only if the call succeeds. *)
Theorem frame_add_owners s f p v s' g q : frame_valid s -> 0 <= q -> frame_add s f p = Some (v, s') ->
  owns s' g q = owns s g q || bool_decide (v = STATUS_OK /\ g = f /\ q = p) /\
  (v = STATUS_OK -> owns s f p = false).
Proof.
  intros HV Hq H. unfold frame_add in H. destruct (_ && _) eqn:E; [|done].
  apply andb_true_iff in E as [Hid Hp%process_id_true].
  assert (Hsame : forall v, v <> STATUS_OK ->
    owns s g q = owns s g q || bool_decide (v = STATUS_OK /\ g = f /\ q = p) /\ (v = STATUS_OK -> owns s f p = false)).
  { intros w Hw. rewrite bool_decide_eq_false_2 by tauto. by rewrite orb_false_r. }
  destruct (owners s !! f) as [mask|] eqn:Hm; [|simplify_eq; by apply Hsame].
  destruct (Z.testbit mask p) eqn:Hb; simplify_eq; [by apply Hsame|]. unfold owns, owners_of. simpl. split.
  - destruct (decide (f = g)) as [<-|].
    + rewrite lookup_insert, Hm. simpl. unfold only. rewrite set_bit_test by lia. f_equal.
      apply Bool.eq_iff_eq_true. rewrite Z.eqb_eq, bool_decide_eq_true. intuition.
    + rewrite lookup_insert_ne by done. rewrite bool_decide_eq_false_2 by (intros (_ & ? & _); congruence).
      by rewrite orb_false_r.
  - by rewrite Hm.
Qed.

(** A frame becomes free exactly when its last owner leaves. *)
Theorem frame_remove_frees s f p v s' g : frame_valid s -> frame_remove s f p = Some (v, s') ->
  g ∈ free s' <-> g ∈ free s \/ g = f /\ owners s !! f = Some (only p).
Proof.
  intros [Hf Ho] H. unfold frame_remove in H. destruct (_ && _) eqn:E; [|done].
  apply andb_true_iff in E as [Hid Hp%process_id_true].
  destruct (owners s !! f) as [mask|] eqn:Hm; [|simplify_eq; intuition congruence].
  destruct (Z.testbit mask p) eqn:Hb; simpl in H.
  - destruct (Z.eqb_spec mask (only p)) as [->|Hne]; simplify_eq; simpl.
    + rewrite elem_of_union, elem_of_singleton. tauto.
    + intuition congruence.
  - simplify_eq. assert (mask <> only p); [|intuition congruence]. intros ->. unfold only in Hb.
    rewrite Z.pow2_bits_true in Hb by lia. done.
Qed.
