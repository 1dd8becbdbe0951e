(** Ready queues: properties of the specification.

    Insert appends to the queue of the thread's priority, take gives the first thread of the highest priority that has
    one, and every function preserves the invariant. *)
From Ashlar Require Export layers.sched.Spec layers.queue.Invariant.

(** ** [best] *)
Lemma best_below_spec s cpu n :
  (best_below s cpu n = 0 /\ forall p, 0 <= p < Z.of_nat n -> ready_some s cpu p = false) \/
  (exists p, best_below s cpu n = p + 1 /\ 0 <= p < Z.of_nat n /\ ready_some s cpu p = true /\
     forall p', p < p' < Z.of_nat n -> ready_some s cpu p' = false).
Proof.
  induction n as [|k IH]; cbn [best_below].
  - left. split; [done|]. lia.
  - destruct (ready_some s cpu (Z.of_nat k)) eqn:E.
    + right. exists (Z.of_nat k). split; [done|]. split; [lia|]. split; [done|]. lia.
    + destruct IH as [[H0 H]|(p & H1 & H2 & H3 & H4)].
      * left. split; [done|]. intros p Hp. destruct (decide (p = Z.of_nat k)) as [->|]; [done|]. apply H. lia.
      * right. exists p. split; [done|]. split; [lia|]. split; [done|]. intros p' Hp'.
        destruct (decide (p' = Z.of_nat k)) as [->|]; [done|]. apply H4. lia.
Qed.

(** [best] is 0 if nothing is ready, else the highest priority that has a thread, plus 1. *)
Theorem ready_best_spec s cpu :
  (ready_best s cpu = 0 /\ forall p, 0 <= p < NUM_PRIORITY -> ready_list s cpu p = []) \/
  (exists p t l, ready_best s cpu = p + 1 /\ 0 <= p < NUM_PRIORITY /\ ready_list s cpu p = t :: l /\
     forall p', p < p' < NUM_PRIORITY -> ready_list s cpu p' = []).
Proof.
  unfold ready_best. assert (forall p, ready_some s cpu p = false -> ready_list s cpu p = []) as Hnone.
  { intros p. unfold ready_some. by destruct (ready_list s cpu p). }
  change NUM_PRIORITY with (Z.of_nat 256).
  destruct (best_below_spec s cpu 256) as [[H0 H]|(p & H1 & H2 & H3 & H4)].
  - left. split; [done|]. auto.
  - right. unfold ready_some in H3. destruct (ready_list s cpu p) as [|t l] eqn:E; [done|].
    exists p, t, l. split; [done|]. split; [done|]. split; [done|]. auto.
Qed.

Lemma ready_list_some s cpu p t l : ready_list s cpu p = t :: l ->
  queue_lists (ready_queues s) !! ready_queue cpu p = Some (t :: l).
Proof. unfold ready_list. destruct (queue_lists (ready_queues s) !! _); simpl; [by intros ->|done]. Qed.

(** Take gives the first thread of the highest priority that has one; [NONE] if nothing is ready. *)
Theorem sched_ready_take_first s cpu v s' : sched_ready_take s cpu = Some (v, s') ->
  (v = NONE /\ s' = s /\ forall p, 0 <= p < NUM_PRIORITY -> ready_list s cpu p = []) \/
  (exists p l, 0 <= p < NUM_PRIORITY /\ ready_list s cpu p = v :: l /\ ready_list s' cpu p = l /\
     (forall p', p < p' < NUM_PRIORITY -> ready_list s cpu p' = []) /\
     (forall p', p' <> p -> ready_list s' cpu p' = ready_list s cpu p')).
Proof.
  unfold sched_ready_take. intros H. destruct (ready_best_spec s cpu) as [[E Hn]|(p & t & l & E & Hp & Hl & Hn)];
    rewrite E in H.
  - rewrite Z.eqb_refl in H. injection H as <- <-. by left.
  - right. rewrite (proj2 (Z.eqb_neq _ _)) in H by lia. replace (p + 1 - 1) with p in H by lia.
    pose proof (ready_list_some _ _ _ _ _ Hl) as Hq. unfold ready_with, queue_dequeue in H. rewrite Hq in H.
    injection H as <- <-. exists p, l. split; [done|]. split; [done|]. unfold ready_list. simpl. split; [|split; [done|]].
    + by rewrite lookup_insert.
    + intros p' Hne. rewrite lookup_insert_ne; [done|]. unfold ready_queue. lia.
Qed.

(** Insert appends to the queue of the thread's priority and leaves the others alone. *)
Theorem sched_ready_insert_last s cpu t v s' : sched_ready_insert s cpu t = Some (v, s') ->
  exists r, ready_threads s !! t = Some r /\ ready_list s' cpu (ready_priority r) = ready_list s cpu (ready_priority r) ++ [t] /\
    forall p, p <> ready_priority r -> ready_list s' cpu p = ready_list s cpu p.
Proof.
  unfold sched_ready_insert. intros H. destruct (ready_threads s !! t) as [r|]; [|done]. exists r. split; [done|].
  case_bool_decide; [|done]. unfold ready_with in H. destruct (queue_enqueue _ _ _) as [[w q]|] eqn:E; [|done].
  injection H as <- <-. apply queue_enqueue_puts in E as (_ & l & Hl & _ & _ & ->). unfold ready_list. simpl.
  rewrite Hl. split; [by rewrite lookup_insert|]. intros p Hp. rewrite lookup_insert_ne; [done|]. unfold ready_queue. lia.
Qed.

(** Remove takes the thread out of its place and leaves the others alone. *)
Theorem sched_ready_remove_without s cpu t v s' : ready_valid cpu s -> sched_ready_remove s cpu t = Some (v, s') ->
  exists r, ready_threads s !! t = Some r /\ ready_list s' cpu (ready_priority r) = without t (ready_list s cpu (ready_priority r)) /\
    forall p, p <> ready_priority r -> ready_list s' cpu p = ready_list s cpu p.
Proof.
  unfold sched_ready_remove. intros [Hv _] H. destruct (ready_threads s !! t) as [r|]; [|done]. exists r. split; [done|].
  case_bool_decide as Ht; [|done]. unfold ready_list in Ht.
  destruct (queue_lists (ready_queues s) !! ready_queue cpu (ready_priority r)) as [l|] eqn:Hl; simpl in Ht;
    [|by apply elem_of_nil in Ht].
  unfold ready_with, queue_remove in H. rewrite (queue_holding_some _ Hv _ _ _ Hl Ht) in H. injection H as <- <-.
  unfold ready_list. simpl. rewrite Hl. split; [by rewrite lookup_insert|].
  intros p Hp. rewrite lookup_insert_ne; [done|]. unfold ready_queue. lia.
Qed.

(** ** The invariant *)
Section valid.
  Context (cpu : Z) (s : ready) (Hv : ready_valid cpu s).
  Lemma ready_valid_thread p t : 0 <= p < NUM_PRIORITY -> t ∈ ready_list s cpu p -> ready_thread_ok s p t.
  Proof using Hv.
    intros Hp Ht. destruct Hv as (_ & _ & H). rewrite Forall_forall in H.
    destruct (H p) as [_ Hf]; [apply elem_of_seqZ; unfold NUM_PRIORITY in *; lia|]. rewrite Forall_forall in Hf. auto.
  Qed.
  Lemma ready_valid_owns p : 0 <= p < NUM_PRIORITY -> is_Some (queue_lists (ready_queues s) !! ready_queue cpu p).
  Proof using Hv.
    intros Hp. destruct Hv as (_ & _ & H). rewrite Forall_forall in H.
    destruct (H p) as [Ho _]; [apply elem_of_seqZ; unfold NUM_PRIORITY in *; lia|]. done.
  Qed.
  Lemma ready_valid_priority t r : ready_threads s !! t = Some r -> 0 <= ready_priority r < NUM_PRIORITY.
  Proof using Hv. intros Ht. destruct Hv as (_ & H & _). exact (H t r Ht). Qed.

  (** A thread that runs, waits or is parked is in no ready queue. *)
  Theorem ready_valid_other t r p : ready_threads s !! t = Some r -> ready_state r <> thread_is_ready ->
    0 <= p < NUM_PRIORITY -> t ∉ ready_list s cpu p.
  Proof using Hv.
    intros Ht Hr Hp Hin. destruct (ready_valid_thread p t Hp Hin) as [_ H]. rewrite Ht in H. injection H as ->. done.
  Qed.

  Lemma ready_valid_change s' : queue_valid (ready_queues s') ->
    (forall t r, ready_threads s' !! t = Some r -> 0 <= ready_priority r < NUM_PRIORITY) ->
    (forall q, is_Some (queue_lists (ready_queues s) !! q) -> is_Some (queue_lists (ready_queues s') !! q)) ->
    (forall p t, 0 <= p < NUM_PRIORITY -> t ∈ ready_list s' cpu p -> ready_thread_ok s' p t) -> ready_valid cpu s'.
  Proof using Hv.
    intros Hq Hp Hk Ht. split; [done|]. split; [done|]. apply Forall_forall. intros p Hin.
    apply elem_of_seqZ in Hin. assert (0 <= p < NUM_PRIORITY) as Hr by (unfold NUM_PRIORITY in *; lia). split.
    - by apply Hk, ready_valid_owns.
    - apply Forall_forall. intros t Hin'. exact (Ht p t Hr Hin').
  Qed.
End valid.

(** Marking a thread leaves priorities and the other threads alone. *)
Lemma ready_mark_same m t x r : m !! t = Some r -> ready_mark t x m !! t = Some (ReadyThread (ready_priority r) x).
Proof. intros H. unfold ready_mark. rewrite H. apply lookup_insert. Qed.
Lemma ready_mark_other m t x u : u <> t -> ready_mark t x m !! u = m !! u.
Proof. intros H. unfold ready_mark. destruct (m !! t); [by rewrite lookup_insert_ne|done]. Qed.
Lemma ready_mark_lookup m t x u r : ready_mark t x m !! u = Some r ->
  exists r0, m !! u = Some r0 /\ ready_priority r = ready_priority r0 /\ (u = t /\ ready_state r = x \/ u <> t /\ r = r0).
Proof.
  destruct (decide (u = t)) as [->|Hne].
  - unfold ready_mark. destruct (m !! t) as [r0|] eqn:E; [|congruence]. rewrite lookup_insert. intros [= <-].
    exists r0. split; [done|]. split; [done|]. by left.
  - rewrite ready_mark_other by done. intros H. exists r. split; [done|]. split; [done|]. by right.
Qed.

(** A thread comes: *)
Theorem sched_ready_insert_valid cpu s t v s' :
  ready_valid cpu s -> sched_ready_insert s cpu t = Some (v, s') -> ready_valid cpu s'.
Proof.
  unfold sched_ready_insert. intros Hv H. destruct (ready_threads s !! t) as [r|] eqn:Ht; [|done].
  case_bool_decide as Hi; [|done]. unfold ready_with in H. destruct (queue_enqueue _ _ _) as [[w q]|] eqn:E; [|done].
  injection H as <- <-. pose proof (queue_enqueue_valid _ _ _ _ _ (proj1 Hv) E) as Hv'.
  apply queue_enqueue_puts in E as (_ & l & Hl & _ & Hf & ->). apply (ready_valid_change cpu s Hv); [done| | |].
  - intros u x (r0 & Hu & -> & _)%ready_mark_lookup. by eapply ready_valid_priority.
  - intros u Hu. simpl. apply lookup_insert_is_Some. destruct (decide (ready_queue cpu (ready_priority r) = u)); auto.
  - assert (forall p u, 0 <= p < NUM_PRIORITY -> u ∈ ready_list s cpu p -> u <> t /\ ready_thread_ok s p u) as Hold.
    { intros p u Hp Hu. split; [|by apply (ready_valid_thread cpu)]. intros ->. unfold ready_list in Hu.
      destruct (queue_lists (ready_queues s) !! ready_queue cpu p) as [l'|] eqn:E; [|by apply elem_of_nil in Hu].
      by destruct (queue_valid_thread _ (proj1 Hv) _ _ _ E Hu). }
    intros p u Hp Hu. assert (u = t /\ p = ready_priority r \/ u ∈ ready_list s cpu p) as [[-> ->]|Hu'].
    { unfold ready_list in Hu. simpl in Hu. destruct (decide (p = ready_priority r)) as [->|Hne].
      - rewrite lookup_insert in Hu. simpl in Hu. apply elem_of_app in Hu as [Hu|[->|[]%elem_of_nil]%elem_of_cons]; [|by left].
        right. unfold ready_list. by rewrite Hl.
      - rewrite lookup_insert_ne in Hu by (unfold ready_queue; lia). by right. }
    + split; [done|]. simpl. by apply ready_mark_same.
    + destruct (Hold p u Hp Hu') as [Hne [H1 H2]]. split; [done|]. simpl. by rewrite ready_mark_other.
Qed.

(** A thread leaves any queue, and whatever it is marked as: *)
Lemma takes_ready_valid cpu s q l1 t l2 q' m :
  ready_valid cpu s -> takes (ready_queues s) q l1 t l2 q' ->
  (forall u r, m !! u = Some r -> exists r0, ready_threads s !! u = Some r0 /\ ready_priority r = ready_priority r0) ->
  (forall u, u <> t -> m !! u = ready_threads s !! u) -> ready_valid cpu (Ready q' m).
Proof.
  intros Hv Hq Hp Hm. pose proof (takes_valid _ _ _ _ _ _ (proj1 Hv) Hq) as Hv'.
  assert (t ∈ queue_free q') as Hf by (destruct Hq as [_ ->]; unfold queue_drop; simpl; apply elem_of_union; left; by apply elem_of_singleton).
  pose proof Hq as [Hl ->]. apply (ready_valid_change cpu s Hv); [done| | |].
  - intros u r (r0 & Hu & ->)%Hp. by eapply ready_valid_priority.
  - intros u Hu. simpl. apply lookup_insert_is_Some. destruct (decide (q = u)); auto.
  - intros p u Hpr Hu. assert (u <> t) as Hne.
    { intros ->. unfold ready_list in Hu. destruct (queue_lists _ !! ready_queue cpu p) as [l|] eqn:E in Hu;
        [|by apply elem_of_nil in Hu]. by destruct (queue_valid_thread _ Hv' _ _ _ E Hu). }
    assert (u ∈ ready_list s cpu p) as Hu'.
    { unfold ready_list in *. simpl in Hu. destruct (decide (ready_queue cpu p = q)) as [<-|Hnq].
      - rewrite lookup_insert in Hu. simpl in Hu. rewrite Hl. simpl. rewrite elem_of_app, elem_of_cons.
        apply elem_of_app in Hu. tauto.
      - by rewrite lookup_insert_ne in Hu. }
    destruct (ready_valid_thread cpu s Hv _ _ Hpr Hu') as [H1 H2]. split; [done|]. simpl. by rewrite Hm.
Qed.

Theorem sched_ready_remove_valid cpu s t v s' :
  ready_valid cpu s -> sched_ready_remove s cpu t = Some (v, s') -> ready_valid cpu s'.
Proof.
  unfold sched_ready_remove. intros Hv H. destruct (ready_threads s !! t) as [r|]; [|done].
  case_bool_decide; [|done]. unfold ready_with in H. destruct (queue_remove _ _) as [[w q]|] eqn:E; [|done].
  injection H as <- <-. apply queue_remove_takes in E as (_ & q0 & l1 & l2 & Hq); [|exact (proj1 Hv)].
  eapply takes_ready_valid; [exact Hv|exact Hq|eauto|done].
Qed.

Theorem sched_ready_take_valid cpu s v s' :
  ready_valid cpu s -> sched_ready_take s cpu = Some (v, s') -> ready_valid cpu s'.
Proof.
  unfold sched_ready_take. intros Hv H. destruct (ready_best_spec s cpu) as [[E0 _]|(p & t & l & Eb & Hp & Hl & _)].
  - rewrite E0 in H. by injection H as <- <-.
  - rewrite Eb, (proj2 (Z.eqb_neq _ _)) in H by lia. replace (p + 1 - 1) with p in H by lia.
    unfold ready_with in H. destruct (queue_dequeue _ _) as [[w q]|] eqn:E; [|done]. injection H as <- <-.
    apply ready_list_some in Hl. apply queue_dequeue_takes in E as [(E & _)|(l' & _ & Hq)]; [congruence|].
    eapply takes_ready_valid; [exact Hv|exact Hq| |].
    + intros u r (r0 & Hu & Hpr & _)%ready_mark_lookup. eauto.
    + intros u Hu. by apply ready_mark_other.
Qed.
