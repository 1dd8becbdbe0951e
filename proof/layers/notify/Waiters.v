(** Notifications: fields in their cells, and waiters that come and go. *)
From Ashlar Require Export layers.notify.Spec lang.logic.Until.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Fields *)
Lemma fields_value n l f v (R : mem -> Prop) m : (fields_are n l ∗ R) m -> value_of f l = Some v -> m !! field_cell "notification" n f = Some v.
Proof. intros Hm Hf. apply (both_at (fields_are n l) R); [exact Hm|]. intros d [_ H]. exact (holds_value _ _ _ _ _ _ H Hf). Qed.
Lemma fields_write n l d f v : NoDup l.*1 -> f ∈ l.*1 -> fields_are n l d -> fields_are n (set_field f v l) (<[("notification"%string, n, f, 0) := v]> d).
Proof.
  intros Hnd Hf [Hx Hl]. change ("notification"%string, n, f, 0) with (field_cell "notification" n f). split.
  - rewrite set_field_names. apply exactly_write; [exact Hx|]. apply elem_of_list_fmap. by exists f.
  - rewrite <- (holds_same _ _ _ _ Hl), store_fields_set by done. apply holds_stored. by rewrite set_field_names.
Qed.
Lemma fields_cut n l (d : mem) : holds "notification" n l d -> fields_are n l (restrict (field_cell "notification" n <$> l.*1) d).
Proof.
  intros H. split.
  - apply restrict_cells. intros x (f & -> & Hf)%elem_of_list_fmap. exact (has_field _ _ _ _ _ (holds_has _ _ _ _ H) Hf).
  - apply Forall_forall. intros e He. rewrite restrict_in; [exact (proj1 (Forall_forall _ _) H e He)|].
    apply elem_of_list_fmap. exists e.1. split; [done|]. apply elem_of_list_fmap. by exists e.
Qed.

(** ** Waiters *)
Lemma with_nothing (P : mem -> Prop) m : P m -> (P ∗ eq ∅) m.
Proof. intros H. exists m, ∅. split_and!; [by rewrite (right_id_L ∅ (∪))|apply map_disjoint_empty_r|done..]. Qed.
Lemma alone (P : mem -> Prop) m : (P ∗ eq ∅) m -> P m.
Proof. by intros (d & e & -> & _ & H & <-); rewrite (right_id_L ∅ (∪)). Qed.
Lemma each_app P l k d : (each P l ∗ each P k) d -> each P (l ++ k) d.
Proof.
  revert d. induction l as [|t l IH]; intros d; cbn [each app].
  - by intros (? & e & -> & _ & <- & H); rewrite (left_id_L ∅ (∪)).
  - intros H%both_flat. eapply both_mono; [exact (fun d H => H)|exact IH|exact H].
Qed.
Lemma each_join P l t d : (each P l ∗ P t) d -> each P (l ++ [t]) d.
Proof. intros H. apply each_app. eapply both_mono; [exact (fun d H => H)|apply with_nothing|exact H]. Qed.
Lemma each_leave P l t d : t ∈ l -> each P l d -> (P t ∗ each P (without t l)) d.
Proof.
  revert d. induction l as [|u l IH]; intros d; [by intros ?%elem_of_nil|]. cbn [each without]. destruct (Z.eqb_spec u t) as [->|Hne]; [done|].
  intros [->|Hin]%elem_of_cons; [done|]. intros H. cbn [each]. apply (both_find (P u) (each P l)); [|exact H]. intros e. by apply IH.
Qed.

(** ** Threads in line *)
Lemma line_threads n l d : queue_rep (line n l) d -> NoDup l /\ Forall (fun t => 0 <= t < NUM_THREAD) l.
Proof.
  intros [Hv _]. destruct l as [|t l]; [by repeat constructor|]. pose proof (lookup_singleton (M := gmap Z) (queue_id n) l) as Hl.
  pose proof (queue_valid_nodup _ Hv _ _ Hl) as Hnd. assert (t ∈ queue_free (line n (t :: l))) as Hf by (cbn; by apply elem_of_singleton).
  pose proof (queue_valid_free _ Hv t Hf) as Ht. split.
  - apply NoDup_cons. split; [|done]. intros Hin. by destruct (queue_valid_thread _ Hv _ _ t Hl Hin) as [_ ?].
  - apply Forall_cons. split; [done|]. apply Forall_forall. intros u Hu. by apply (queue_valid_thread _ Hv _ _ u Hl).
Qed.
Lemma line_length n l d : queue_rep (line n l) d -> Z.of_nat (length l) <= NUM_THREAD.
Proof.
  intros [Hnd Hb]%line_threads. assert (length l <= length (seqZ 0 NUM_THREAD))%nat as H.
  { apply submseteq_length, NoDup_submseteq; [done|]. intros t Ht. apply elem_of_seqZ. pose proof (proj1 (Forall_forall _ _) Hb t Ht) as H. cbv beta in H. lia. }
  rewrite seqZ_length in H. unfold NUM_THREAD in *. lia.
Qed.
Lemma thread_not_none t : 0 <= t < NUM_THREAD -> t <> NONE.
Proof. unfold NUM_THREAD, NONE. lia. Qed.

(** ** A notification in parts *)
Lemma notify_parts n saved x (R : mem -> Prop) m : (notify_rep n saved x ∗ R) m ->
  notify_valid x /\ (fields_are n (fields x) ∗ queue_rep (line n (waiters x)) ∗ each (waits saved) (waiters x) ∗ R) m.
Proof. intros [Hv Hm]%both_pure_left. split; [exact Hv|]. by apply both_flat3. Qed.
Lemma notify_whole n saved x (R : mem -> Prop) m : notify_valid x ->
  (fields_are n (fields x) ∗ queue_rep (line n (waiters x)) ∗ each (waits saved) (waiters x) ∗ R) m -> (notify_rep n saved x ∗ R) m.
Proof. intros Hv Hm. eapply both_mono; [|exact (fun d H => H)|by apply both_assoc3]. by split. Qed.
Lemma notify_threads n saved x (R : mem -> Prop) m : (notify_rep n saved x ∗ R) m -> NoDup (waiters x) /\
  Forall (fun t => 0 <= t < NUM_THREAD) (waiters x) /\ Z.of_nat (length (waiters x)) <= NUM_THREAD.
Proof.
  intros [_ (? & ? & _ & _ & _ & d & ? & _ & _ & Hd & _)]%notify_parts. pose proof (line_length _ _ _ Hd). by destruct (line_threads _ _ _ Hd).
Qed.

Section rules.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).

  (** A store into a field. *)
  Lemma during_word n l f v (R : mem -> Prop) i e (Qn Qb : locals -> mem -> Prop) Qr r m : (fields_are n l ∗ R) m ->
    NoDup l.*1 -> f ∈ l.*1 -> eval i r m = Some n -> eval e r m = Some v ->
    (forall m', (fields_are n (set_field f v l) ∗ R) m' -> Qn r m') ->
    during quiet kernel_entry M this (Store "notification" i f (Const 0) e) Qn Qb Qr r m.
  Proof using.
    intros (d & d' & -> & Hd & Hw & HR) Hnd Hf Hi He HQ.
    assert (is_Some (d !! (("notification"%string, n, f, 0) : cell))) as Hx.
    { apply (proj1 Hw). apply elem_of_list_fmap. by exists f. }
    eapply during_store; [exact Hi|done|exact He|destruct Hx as [u Hu]; exists u; by apply own_read|].
    apply HQ. rewrite own_write. eexists _, d'. split_and!; [done|by apply own_write_disjoint|by apply fields_write|done].
  Qed.
End rules.
(** [word Hm]: the store into a field that is the next statement; [Hm] says what the fields are and what else there is. *)
Ltac word Hm :=
  eapply during_word; [exact Hm|apply (bool_decide_unpack _); by compute|apply (bool_decide_unpack _); by compute|evaluate|evaluate|];
  let m := fresh "m" in clear Hm; intros m Hm; cbn [set_field String.eqb Ascii.eqb Bool.eqb] in Hm; locals_simpl.
(** [read_word Hm f]: what field [f] contains. *)
Ltac read_word Hm f := let E := fresh "E" in pose proof (fields_value _ _ f _ _ _ Hm eq_refl) as E; unfold field_cell in E.
