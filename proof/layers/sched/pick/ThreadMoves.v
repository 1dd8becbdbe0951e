(** The scheduler of a CPU: where each thread is, and how one thread moves.

    [stands s t r w]: thread [t] has the fields [r] and is in queue [w], or in none of this CPU's. [moves s t s']: from [s] to
    [s'] no thread but [t] has moved or changed. *)
From Ashlar Require Export layers.sched.pick.SchedulerSpec layers.sched.ready.ReadyGuarantees layers.queue.Representation.

Definition in_queue (s : ready) (q t : Z) : Prop := exists l, queue_lists (ready_queues s) !! q = Some l /\ t ∈ l.
Definition stands (s : ready) (t : Z) (r : ready_thread) (w : option Z) : Prop :=
  ready_threads s !! t = Some r /\ forall q, in_queue s q t <-> w = Some q.
Definition moves (s : ready) (t : Z) (s' : ready) : Prop :=
  forall u, u <> t -> ready_threads s' !! u = ready_threads s !! u /\ (forall q, in_queue s' q u <-> in_queue s q u) /\
    (u ∈ queue_free (ready_queues s') <-> u ∈ queue_free (ready_queues s)).
Definition keeps_queues (s s' : ready) : Prop :=
  forall q, is_Some (queue_lists (ready_queues s) !! q) -> is_Some (queue_lists (ready_queues s') !! q).

Lemma in_ready_list s cpu p t : in_queue s (ready_queue cpu p) t <-> t ∈ ready_list s cpu p.
Proof.
  unfold in_queue, ready_list. split.
  - intros (l & -> & H). done.
  - destruct (queue_lists _ !! _) as [l|]; [by exists l|]. intros H. by apply elem_of_nil in H.
Qed.
Lemma in_queue_free s q t : queue_valid (ready_queues s) -> t ∈ queue_free (ready_queues s) -> ~ in_queue s q t.
Proof. intros Hv Ht (l & Hl & H). by destruct (queue_valid_thread _ Hv _ _ _ Hl H). Qed.
(** ** Each function moves one thread *)
Section queues.
  Context (s : ready) (Hv : queue_valid (ready_queues s)) (m : gmap Z ready_thread).

  Lemma puts_moves q l1 t l2 q' : puts (ready_queues s) q l1 t l2 q' ->
    (forall u, u <> t -> m !! u = ready_threads s !! u) ->
    moves s t (Ready q' m) /\ forall u, in_queue (Ready q' m) u t <-> u = q.
  Proof using Hv.
    intros (Hl & Hf & ->) Hm. unfold queue_put. split.
    - intros u Hu. split; [by apply Hm|]. split; [|simpl; rewrite elem_of_difference, elem_of_singleton; tauto].
      intros x. unfold in_queue. simpl. destruct (decide (x = q)) as [->|Hne].
      + rewrite lookup_insert, Hl. split; intros (l & [= <-] & H); eexists; (split; [done|]).
        * apply elem_of_app. apply elem_of_app in H as [?|[->|?]%elem_of_cons]; [by left|done|by right].
        * apply elem_of_app. apply elem_of_app in H as [?|?]; [by left|right; by right].
      + by rewrite lookup_insert_ne.
    - intros u. unfold in_queue. simpl. split.
      + intros (l & Hl' & H). destruct (decide (u = q)) as [->|Hne]; [done|]. rewrite lookup_insert_ne in Hl' by done.
        by destruct (queue_valid_thread _ Hv _ _ _ Hl' H).
      + intros ->. rewrite lookup_insert. eexists. split; [done|]. apply elem_of_app. right. by left.
  Qed.

  Lemma takes_moves q l1 t l2 q' : takes (ready_queues s) q l1 t l2 q' ->
    (forall u, u <> t -> m !! u = ready_threads s !! u) ->
    moves s t (Ready q' m) /\ forall u, ~ in_queue (Ready q' m) u t.
  Proof using Hv.
    intros Hq Hm. pose proof (takes_valid _ _ _ _ _ _ Hv Hq) as Hv'. destruct Hq as [Hl ->]. split.
    - intros u Hu. split; [by apply Hm|]. unfold queue_drop.
      split; [|simpl; rewrite elem_of_union, elem_of_singleton; tauto]. intros x. unfold in_queue. simpl. destruct (decide (x = q)) as [->|Hne].
      + rewrite lookup_insert, Hl. split; intros (l & [= <-] & H); eexists; (split; [done|]).
        * apply elem_of_app. apply elem_of_app in H as [?|?]; [by left|right; by right].
        * apply elem_of_app. apply elem_of_app in H as [?|[->|?]%elem_of_cons]; [by left|done|by right].
      + by rewrite lookup_insert_ne.
    - intros u. apply in_queue_free; [done|]. simpl. apply elem_of_union. left. by apply elem_of_singleton.
  Qed.
End queues.

Lemma stands_some s t r q : ready_threads s !! t = Some r -> (forall u, in_queue s u t <-> u = q) -> stands s t r (Some q).
Proof. intros Hr H. split; [done|]. intros u. rewrite H. split; [by intros ->|by intros [= ->]]. Qed.
Lemma stands_none s t r : ready_threads s !! t = Some r -> (forall u, ~ in_queue s u t) -> stands s t r None.
Proof. intros Hr H. split; [done|]. intros u. split; [by intros ?%H|done]. Qed.

Lemma puts_keeps s q l1 t l2 q' m : puts (ready_queues s) q l1 t l2 q' -> keeps_queues s (Ready q' m).
Proof. intros (Hl & _ & ->) u Hu. simpl. apply insert_same_keys; [by eexists|done]. Qed.
Lemma takes_keeps s q l1 t l2 q' m : takes (ready_queues s) q l1 t l2 q' -> keeps_queues s (Ready q' m).
Proof. intros (Hl & ->) u Hu. simpl. apply insert_same_keys; [by eexists|done]. Qed.

Section moves.
  Context (cpu : Z) (s : ready) (Hv : ready_valid cpu s).

  (** A thread that moves into a ready queue must be ready and of the queue's priority. *)
  Lemma moves_valid t s' : moves s t s' -> queue_valid (ready_queues s') -> keeps_queues s s' ->
    (forall r, ready_threads s' !! t = Some r -> 0 <= ready_priority r < NUM_PRIORITY) ->
    (forall p, 0 <= p < NUM_PRIORITY -> in_queue s' (ready_queue cpu p) t -> ready_thread_ok s' p t) -> ready_valid cpu s'.
  Proof using Hv.
    intros Hm Hq Hk Hr Ht. apply (ready_valid_change cpu s Hv s' Hq); [|exact Hk|].
    - intros u x Hu. destruct (decide (u = t)) as [->|Hne]; [by apply Hr|].
      rewrite (proj1 (Hm u Hne)) in Hu. by eapply ready_valid_priority.
    - intros p u Hpr Hu. apply in_ready_list in Hu. destruct (decide (u = t)) as [->|Hne]; [by apply Ht|].
      destruct (Hm u Hne) as (A & B & _). apply B, in_ready_list in Hu.
      destruct (ready_valid_thread _ _ Hv p u Hpr Hu) as [H1 H2]. split; [done|]. by rewrite A.
  Qed.

  Lemma insert_moves t v s' : sched_ready_insert s cpu t = Some (v, s') -> moves s t s' /\ keeps_queues s s' /\ NUM_CPU <= t /\
    exists r, ready_threads s !! t = Some r /\
      stands s' t (ReadyThread (ready_priority r) thread_is_ready) (Some (ready_queue cpu (ready_priority r))).
  Proof using Hv.
    unfold sched_ready_insert. intros H. destruct (ready_threads s !! t) as [r|] eqn:Ht; [|done].
    case_bool_decide; [|done]. unfold ready_with in H. destruct (queue_enqueue _ _ _) as [[w q]|] eqn:E; [|done].
    injection H as <- <-. apply queue_enqueue_puts in E as (_ & l & _ & Hp).
    destruct (puts_moves s (proj1 Hv) (ready_mark t thread_is_ready (ready_threads s)) _ _ _ _ _ Hp) as [A B];
      [by intros; apply ready_mark_other|].
    split; [done|]. split; [by eapply puts_keeps|]. split; [done|]. exists r. split; [done|].
    apply stands_some; [by apply ready_mark_same|done].
  Qed.

  (** Take moves the thread it takes, which was ready. *)
  Lemma take_moves v s' : sched_ready_take s cpu = Some (v, s') ->
    v = NONE /\ s' = s /\ (forall p, 0 <= p < NUM_PRIORITY -> ready_list s cpu p = []) \/
    v <> NONE /\ moves s v s' /\ keeps_queues s s' /\ v ∈ queue_free (ready_queues s') /\
      exists p, ready_threads s !! v = Some (ReadyThread p thread_is_ready) /\ 0 <= p < NUM_PRIORITY /\
        v ∈ ready_list s cpu p /\ stands s' v (ReadyThread p thread_is_running) None.
  Proof using Hv.
    unfold sched_ready_take. intros H. destruct (ready_best_spec s cpu) as [[E0 Hn]|(p & t & l & Eb & Hp & Hl & _)].
    - rewrite E0 in H. injection H as <- <-. by left.
    - right. rewrite Eb, (proj2 (Z.eqb_neq _ _)) in H by lia. replace (p + 1 - 1) with p in H by lia.
      unfold ready_with in H. destruct (queue_dequeue _ _) as [[w q]|] eqn:E; [|done]. injection H as <- <-.
      assert (w ∈ ready_list s cpu p) as Hin.
      { unfold queue_dequeue in E. rewrite (ready_list_some _ _ _ _ _ Hl) in E. injection E as <- _. rewrite Hl. by left. }
      destruct (ready_valid_thread _ _ Hv p w Hp Hin) as [Hc Ht].
      apply queue_dequeue_takes in E as [(E & _)|(l' & _ & Hq)]; [rewrite (ready_list_some _ _ _ _ _ Hl) in E; done|].
      destruct (takes_moves s (proj1 Hv) (ready_mark w thread_is_running (ready_threads s)) _ _ _ _ _ Hq) as [A B];
        [by intros; apply ready_mark_other|].
      split; [|split; [done|split; [by eapply takes_keeps|split]]].
      + intros ->. destruct (queue_valid_thread _ (proj1 Hv) _ _ NONE (ready_list_some _ _ _ _ _ Hl)) as [[_ ?] _];
          [|by unfold NONE, NUM_THREAD in *]. by rewrite Hl in Hin.
      + destruct Hq as [_ ->]. simpl. apply elem_of_union. left. by apply elem_of_singleton.
      + exists p. split; [done|]. split; [done|]. split; [done|].
        apply stands_none; [|exact B]. simpl. exact (ready_mark_same _ _ _ _ Ht).
  Qed.

  Lemma mark_moves t x s' : sched_mark s t x = Some s' -> moves s t s' /\ ready_queues s' = ready_queues s /\
    t ∈ queue_free (ready_queues s) /\
    exists r, ready_threads s !! t = Some r /\ stands s' t (ReadyThread (ready_priority r) x) None.
  Proof using Hv.
    unfold sched_mark. intros H. destruct (ready_threads s !! t) as [r|] eqn:Ht; [|done].
    case_bool_decide as Hf; [|done]. injection H as <-. split; [|split; [done|split; [done|]]].
    - intros u Hu. split; [by apply ready_mark_other|done].
    - exists r. split; [done|]. apply stands_none; [by apply ready_mark_same|]. intros q. by apply in_queue_free; [apply Hv|].
  Qed.
  Theorem sched_mark_valid t x s' : sched_mark s t x = Some s' -> ready_valid cpu s'.
  Proof using Hv.
    intros H. destruct (mark_moves t x s' H) as (Hm & Eq & Hf & r & Hr & [Hr' Hs]).
    apply (moves_valid t s' Hm); [rewrite Eq; apply Hv|unfold keeps_queues; by rewrite Eq| |].
    - intros r' E. rewrite Hr' in E. injection E as <-. exact (ready_valid_priority cpu s Hv t r Hr).
    - intros p _ H'. by apply Hs in H'.
  Qed.

  Lemma park_moves q t s' : sched_park s cpu q t = Some s' -> moves s t s' /\ keeps_queues s s' /\ NUM_CPU <= t /\
    ~ ready_queue cpu 0 <= q < ready_queue cpu NUM_PRIORITY /\ queue_valid (ready_queues s') /\
    exists r, ready_threads s !! t = Some r /\ stands s' t (ReadyThread (ready_priority r) thread_is_parked) (Some q).
  Proof using Hv.
    unfold sched_park. intros H. destruct (ready_threads s !! t) as [r|] eqn:Ht; [|done].
    case_bool_decide; [|done]. case_bool_decide; [|done]. cbn [andb] in H.
    destruct (queue_enqueue _ _ _) as [[w q']|] eqn:E; [|done]. injection H as <-.
    pose proof (queue_enqueue_valid _ _ _ _ _ (proj1 Hv) E) as Hv'. apply queue_enqueue_puts in E as (_ & l & _ & Hp).
    destruct (puts_moves s (proj1 Hv) (ready_mark t thread_is_parked (ready_threads s)) _ _ _ _ _ Hp) as [A B];
      [by intros; apply ready_mark_other|].
    split; [done|]. split; [by eapply puts_keeps|]. split; [done|]. split; [done|]. split; [done|].
    exists r. split; [done|]. apply stands_some; [by apply ready_mark_same|done].
  Qed.
  Theorem sched_park_valid q t s' : sched_park s cpu q t = Some s' -> ready_valid cpu s'.
  Proof using Hv.
    intros H. destruct (park_moves q t s' H) as (Hm & Hk & _ & Hq & Hv' & r & Hr & [Hr' Hs]).
    apply (moves_valid t s' Hm); [done|done| |].
    - intros r' E. rewrite Hr' in E. injection E as <-. exact (ready_valid_priority cpu s Hv t r Hr).
    - intros p Hp H'. apply Hs in H'. injection H' as ->. destruct Hq. unfold ready_queue. lia.
  Qed.
End moves.
