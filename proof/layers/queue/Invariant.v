(** Queues: properties of the specification.

    Every function preserves the invariant, so a thread is in at most one queue, at most once, or free; and each changes the
    one list it names in the way its name says. *)
From Ashlar Require Export layers.queue.Links.

(** ** The invariant, point by point *)
Lemma queue_holding_list s t q l : queue_holding s t = Some (q, l) -> queue_lists s !! q = Some l /\ t ∈ l.
Proof.
  unfold queue_holding. intros [Hin Ht]%find_some. apply bool_decide_eq_true in Ht.
  split; [by apply elem_of_map_to_list, elem_of_list_In|done].
Qed.
Lemma queue_valid_intro s :
  (forall q l, queue_lists s !! q = Some l -> 0 <= q < NUM_QUEUE) ->
  (forall q l, queue_lists s !! q = Some l -> NoDup l) ->
  (forall q l t, queue_lists s !! q = Some l -> t ∈ l -> 0 <= t < NUM_THREAD /\ t ∉ queue_free s) ->
  (forall q l q' l' t, queue_lists s !! q = Some l -> queue_lists s !! q' = Some l' -> t ∈ l -> t ∈ l' -> q' = q) ->
  (forall t, t ∈ queue_free s -> 0 <= t < NUM_THREAD) -> queue_valid s.
Proof.
  intros H1 H2 H3 H4 H5. split; [|exact H5]. intros q l Hq.
  split; [by eapply H1|]. split; [by eapply H2|]. split.
  - apply Forall_forall. intros t Ht. by eapply H3.
  - intros q' l' Hq'. destruct (decide (q' = q)) as [->|Hne]; [by left|]. right. apply Forall_forall.
    intros t Ht Ht'. apply Hne. by eapply H4.
Qed.

Section valid.
  Context (s : queue_state) (Hv : queue_valid s).

  Lemma queue_valid_id q l : queue_lists s !! q = Some l -> 0 <= q < NUM_QUEUE.
  Proof using Hv. intros Hq. by destruct (proj1 Hv q l Hq) as (? & _). Qed.
  Lemma queue_valid_nodup q l : queue_lists s !! q = Some l -> NoDup l.
  Proof using Hv. intros Hq. by destruct (proj1 Hv q l Hq) as (_ & ? & _). Qed.
  Lemma queue_valid_thread q l t : queue_lists s !! q = Some l -> t ∈ l -> 0 <= t < NUM_THREAD /\ t ∉ queue_free s.
  Proof using Hv. intros Hq Ht. destruct (proj1 Hv q l Hq) as (_ & _ & H & _). by eapply Forall_forall in H. Qed.
  (** A thread is in at most one queue. *)
  Lemma queue_valid_one q l q' l' t :
    queue_lists s !! q = Some l -> queue_lists s !! q' = Some l' -> t ∈ l -> t ∈ l' -> q' = q.
  Proof using Hv.
    intros Hq Hq' Ht Ht'. destruct (proj1 Hv q l Hq) as (_ & _ & _ & H). destruct (H q' l' Hq') as [?|Hf]; [done|].
    eapply Forall_forall in Hf; [|exact Ht]. done.
  Qed.
  Lemma queue_valid_free t : t ∈ queue_free s -> 0 <= t < NUM_THREAD.
  Proof using Hv. apply (proj2 Hv). Qed.
  Lemma queue_valid_owned t : queue_owns s t -> 0 <= t < NUM_THREAD.
  Proof using Hv. intros [H|(q & l & Hq & Ht)]; [by apply queue_valid_free|by eapply queue_valid_thread]. Qed.

  Lemma queue_holding_some q l t : queue_lists s !! q = Some l -> t ∈ l -> queue_holding s t = Some (q, l).
  Proof using Hv.
    intros Hq Ht. unfold queue_holding.
    destruct (List.find _ _) as [[q' l']|] eqn:E.
    - apply find_some in E as [Hin Ht']. apply bool_decide_eq_true in Ht'. simpl in Ht'.
      apply elem_of_list_In, elem_of_map_to_list in Hin.
      assert (q' = q) as -> by (by eapply queue_valid_one). congruence.
    - eapply (find_none _ _ ) with (x := (q, l)) in E; [|by apply elem_of_list_In, elem_of_map_to_list].
      apply bool_decide_eq_false in E. done.
  Qed.
  Lemma queue_holding_free t : t ∈ queue_free s -> queue_holding s t = None.
  Proof using Hv.
    intros Ht. unfold queue_holding. destruct (List.find _ _) as [[q' l']|] eqn:E; [|done].
    apply find_some in E as [Hin Ht']. apply bool_decide_eq_true in Ht'.
    apply elem_of_list_In, elem_of_map_to_list in Hin. by destruct (queue_valid_thread q' l' t).
  Qed.

  (** A free thread comes between two halves of a list, or a thread leaves from between them. *)
  Lemma queue_put_valid q l1 l2 t : queue_lists s !! q = Some (l1 ++ l2) -> t ∈ queue_free s ->
    queue_valid (queue_put s q (l1 ++ t :: l2) t).
  Proof using Hv.
    intros Hq Ht.
    assert (forall q' l', queue_lists s !! q' = Some l' -> t ∉ l') as Hnew
      by (intros q' l' Hq' Ht'; by destruct (queue_valid_thread q' l' t)).
    assert (forall u, u ∈ l1 ++ t :: l2 <-> u = t \/ u ∈ l1 ++ l2) as Hel
      by (intros u; rewrite !elem_of_app, elem_of_cons; tauto).
    apply queue_valid_intro; unfold queue_put; simpl.
    - intros q' l' [[-> _]|[_ H]]%lookup_insert_Some; by eapply queue_valid_id.
    - intros q' l' [[-> <-]|[_ H]]%lookup_insert_Some; [|by eapply queue_valid_nodup].
      rewrite <- Permutation_middle. apply NoDup_cons. split; [by eapply Hnew|by eapply queue_valid_nodup].
    - intros q' l' u [[-> <-]|[Hne H]]%lookup_insert_Some Hu.
      + apply Hel in Hu as [->|Hu]; [split; [by apply queue_valid_free|]|].
        * rewrite elem_of_difference, elem_of_singleton. tauto.
        * destruct (queue_valid_thread _ _ u Hq Hu). split; [done|]. rewrite elem_of_difference. tauto.
      + destruct (queue_valid_thread _ _ u H Hu). split; [done|]. rewrite elem_of_difference. tauto.
    - intros q1 m1 q2 m2 u [[-> <-]|[Hne1 H1]]%lookup_insert_Some [[-> <-]|[Hne2 H2]]%lookup_insert_Some Hu1 Hu2.
      + done.
      + apply Hel in Hu1 as [->|Hu1]; [by destruct (Hnew _ _ H2)|]. by eapply queue_valid_one.
      + apply Hel in Hu2 as [->|Hu2]; [by destruct (Hnew _ _ H1)|]. by eapply queue_valid_one.
      + by eapply queue_valid_one.
    - intros u [Hu _]%elem_of_difference. by apply queue_valid_free.
  Qed.

  Lemma queue_drop_valid q l1 l2 t : queue_lists s !! q = Some (l1 ++ t :: l2) ->
    queue_valid (queue_drop s q (l1 ++ l2) t).
  Proof using Hv.
    intros Hq. assert (t ∈ l1 ++ t :: l2) as Ht by (rewrite elem_of_app, elem_of_cons; auto).
    pose proof (queue_valid_nodup _ _ Hq) as Hnd. rewrite <- Permutation_middle in Hnd.
    apply NoDup_cons in Hnd as [Hnt Hnd].
    assert (forall u, u ∈ l1 ++ l2 -> u ∈ l1 ++ t :: l2) as Hel
      by (intros u; rewrite !elem_of_app, elem_of_cons; tauto).
    apply queue_valid_intro; unfold queue_drop; simpl.
    - intros q' l' [[-> _]|[_ H]]%lookup_insert_Some; by eapply queue_valid_id.
    - intros q' l' [[-> <-]|[_ H]]%lookup_insert_Some; [done|by eapply queue_valid_nodup].
    - intros q' l' u [[-> <-]|[Hne H]]%lookup_insert_Some Hu; rewrite elem_of_union, elem_of_singleton.
      + destruct (queue_valid_thread _ _ u Hq (Hel _ Hu)). split; [done|]. intros [->|?]; tauto.
      + destruct (queue_valid_thread _ _ u H Hu). split; [done|]. intros [->|?]; [|tauto].
        apply Hne. by eapply queue_valid_one.
    - intros q1 m1 q2 m2 u [[-> <-]|[Hne1 H1]]%lookup_insert_Some [[-> <-]|[Hne2 H2]]%lookup_insert_Some Hu1 Hu2;
        [done|..].
      + exact (queue_valid_one _ _ _ _ _ Hq H2 (Hel _ Hu1) Hu2).
      + exact (queue_valid_one _ _ _ _ _ H1 Hq Hu1 (Hel _ Hu2)).
      + exact (queue_valid_one _ _ _ _ _ H1 H2 Hu1 Hu2).
    - intros u [->%elem_of_singleton|Hu]%elem_of_union; [by eapply queue_valid_thread|by apply queue_valid_free].
  Qed.
End valid.

(** ** Each function as a splice *)
Lemma insert_before_split t b l1 l2 : b ∉ l1 -> insert_before t b (l1 ++ b :: l2) = l1 ++ t :: b :: l2.
Proof.
  induction l1 as [|u l1 IH]; simpl; intros Hb.
  - by rewrite Z.eqb_refl.
  - apply not_elem_of_cons in Hb as [Hne Hb]. rewrite (proj2 (Z.eqb_neq u b)) by done. f_equal. auto.
Qed.
Lemma without_split t l1 l2 : t ∉ l1 -> without t (l1 ++ t :: l2) = l1 ++ l2.
Proof.
  induction l1 as [|u l1 IH]; simpl; intros Hb.
  - by rewrite Z.eqb_refl.
  - apply not_elem_of_cons in Hb as [Hne Hb]. rewrite (proj2 (Z.eqb_neq u t)) by done. f_equal. auto.
Qed.
Lemma after_split t l1 l2 : t ∉ l1 -> after t (l1 ++ t :: l2) = first_or NONE l2.
Proof.
  induction l1 as [|u l1 IH]; simpl; intros Hb.
  - by rewrite Z.eqb_refl.
  - apply not_elem_of_cons in Hb as [Hne Hb]. rewrite (proj2 (Z.eqb_neq u t)) by done. auto.
Qed.
Lemma elem_of_split_first (t : Z) l : t ∈ l -> exists l1 l2, l = l1 ++ t :: l2 /\ t ∉ l1.
Proof.
  induction 1 as [t l|t u l _ (l1 & l2 & -> & Hl)].
  - exists [], l. split; [done|apply not_elem_of_nil].
  - destruct (decide (t = u)) as [->|Hne]; [by exists [], (l1 ++ u :: l2); split; [|apply not_elem_of_nil]|].
    exists (u :: l1), l2. split; [done|]. by apply not_elem_of_cons.
Qed.

(** [f s = Some (v, s')] puts free thread [t] between [l1] and [l2] in queue [q]; or takes it out. *)
Definition puts (s : queue_state) (q : Z) (l1 : list Z) (t : Z) (l2 : list Z) (s' : queue_state) : Prop :=
  queue_lists s !! q = Some (l1 ++ l2) /\ t ∈ queue_free s /\ s' = queue_put s q (l1 ++ t :: l2) t.
Definition takes (s : queue_state) (q : Z) (l1 : list Z) (t : Z) (l2 : list Z) (s' : queue_state) : Prop :=
  queue_lists s !! q = Some (l1 ++ t :: l2) /\ s' = queue_drop s q (l1 ++ l2) t.

Lemma queue_enqueue_puts s q t v s' : queue_enqueue s q t = Some (v, s') ->
  v = 0 /\ exists l, queue_lists s !! q = Some l /\ puts s q l t [] s'.
Proof.
  unfold queue_enqueue, puts. intros H. destruct (queue_lists s !! q) as [l|]; [|done].
  case_bool_decide; [|done]. simplify_eq. split; [done|]. exists l. by rewrite app_nil_r.
Qed.
Lemma queue_enqueue_head_puts s q t v s' : queue_enqueue_head s q t = Some (v, s') ->
  v = 0 /\ exists l, queue_lists s !! q = Some l /\ puts s q [] t l s'.
Proof.
  unfold queue_enqueue_head, puts. intros H. destruct (queue_lists s !! q) as [l|]; [|done].
  case_bool_decide; [|done]. simplify_eq. split; [done|]. by exists l.
Qed.
Lemma queue_insert_before_puts s q t b v s' : queue_insert_before s q t b = Some (v, s') ->
  v = 0 /\ exists l1 l2, queue_lists s !! q = Some (l1 ++ b :: l2) /\ puts s q l1 t (b :: l2) s'.
Proof.
  unfold queue_insert_before, puts. intros H. destruct (queue_lists s !! q) as [l|]; [|done].
  case_bool_decide; [|done]. case_bool_decide as Hb; [|done]. simplify_eq/=. split; [done|].
  apply elem_of_split_first in Hb as (l1 & l2 & -> & Hb). exists l1, l2. by rewrite insert_before_split.
Qed.
Lemma queue_dequeue_takes s q v s' : queue_dequeue s q = Some (v, s') ->
  queue_lists s !! q = Some [] /\ v = NONE /\ s' = s \/
  exists l, queue_lists s !! q = Some (v :: l) /\ takes s q [] v l s'.
Proof.
  unfold queue_dequeue, takes. intros H. destruct (queue_lists s !! q) as [[|t l]|] eqn:E; simplify_eq; [by left|].
  right. by exists l.
Qed.
Lemma queue_remove_takes s t v s' : queue_valid s -> queue_remove s t = Some (v, s') ->
  v = 0 /\ exists q l1 l2, takes s q l1 t l2 s'.
Proof.
  unfold queue_remove, takes. intros Hv H. destruct (queue_holding s t) as [[q l]|] eqn:E; [|done]. simplify_eq.
  split; [done|]. apply find_some in E as [Hin Ht]. apply bool_decide_eq_true in Ht. simpl in Ht.
  apply elem_of_list_In, elem_of_map_to_list in Hin.
  apply elem_of_split_first in Ht as (l1 & l2 & -> & Hb). exists q, l1, l2. by rewrite without_split.
Qed.

(** ** The invariant is kept *)
Lemma puts_valid s q l1 t l2 s' : queue_valid s -> puts s q l1 t l2 s' -> queue_valid s'.
Proof. intros Hv (Hq & Ht & ->). by apply queue_put_valid. Qed.
Lemma takes_valid s q l1 t l2 s' : queue_valid s -> takes s q l1 t l2 s' -> queue_valid s'.
Proof. intros Hv (Hq & ->). by apply queue_drop_valid. Qed.

Theorem queue_enqueue_valid s q t v s' : queue_valid s -> queue_enqueue s q t = Some (v, s') -> queue_valid s'.
Proof. intros Hv (_ & l & _ & H)%queue_enqueue_puts. by eapply puts_valid. Qed.
Theorem queue_enqueue_head_valid s q t v s' :
  queue_valid s -> queue_enqueue_head s q t = Some (v, s') -> queue_valid s'.
Proof. intros Hv (_ & l & _ & H)%queue_enqueue_head_puts. by eapply puts_valid. Qed.
Theorem queue_insert_before_valid s q t b v s' :
  queue_valid s -> queue_insert_before s q t b = Some (v, s') -> queue_valid s'.
Proof. intros Hv (_ & l1 & l2 & _ & H)%queue_insert_before_puts. by eapply puts_valid. Qed.
Theorem queue_dequeue_valid s q v s' : queue_valid s -> queue_dequeue s q = Some (v, s') -> queue_valid s'.
Proof. intros Hv [(_ & _ & ->)|(l & _ & H)]%queue_dequeue_takes; [done|]. by eapply takes_valid. Qed.
Theorem queue_remove_valid s t v s' : queue_valid s -> queue_remove s t = Some (v, s') -> queue_valid s'.
Proof. intros Hv (_ & q & l1 & l2 & H)%queue_remove_takes; [|done]. by eapply takes_valid. Qed.

(** First in, first out: what was enqueued last comes after all that was there. *)
Theorem queue_fifo s q t v s' u l : queue_lists s !! q = Some (u :: l) -> queue_enqueue s q t = Some (v, s') ->
  exists s'', queue_dequeue s' q = Some (u, s'') /\ queue_lists s'' !! q = Some (l ++ [t]).
Proof.
  intros Hq (_ & l' & Hq' & _ & _ & ->)%queue_enqueue_puts. simplify_eq. unfold queue_dequeue, queue_put. simpl.
  rewrite lookup_insert. simpl. eexists. split; [done|]. unfold queue_drop. simpl. apply lookup_insert.
Qed.
