(** The scheduler of a CPU: replenishing, boosting, and threads that come from other owners' queues or go there. *)
From Ashlar Require Export layers.sched.pick.SchedulerInvariant.

Lemma set_priority_moves s t p r : ready_threads s !! t = Some r ->
  moves s t (set_priority t p s) /\ ready_threads (set_priority t p s) !! t = Some (ReadyThread p (ready_state r)) /\
  ready_queues (set_priority t p s) = ready_queues s.
Proof.
  intros Hr. unfold set_priority. rewrite Hr. cbn [ready_queues ready_threads]. split; [|split; [apply lookup_insert|done]].
  intros u Hu. split; [by apply lookup_insert_ne|done].
Qed.

Lemma moves_trans s t s' s'' : moves s t s' -> moves s' t s'' -> moves s t s''.
Proof.
  intros H H' u Hu. destruct (H u Hu) as (A & B & C), (H' u Hu) as (A' & B' & C').
  split; [congruence|]. split; [intros q; by rewrite B'|by rewrite C'].
Qed.

Section boost.
  Context (cpu current : Z) (s : ready) (Hok : sched_ok cpu (Some current) s).

  Lemma current_is t r : ready_threads s !! t = Some r -> ready_state r <> thread_is_running -> other (Some current) t = Some current.
  Proof using Hok.
    intros Hr Hn. unfold other. rewrite bool_decide_eq_false_2; [done|]. intros E. injection E as ->. apply Hn.
    by apply (ok_runs _ _ _ Hok _ _ Hr).
  Qed.

  (** Priority of a thread that does not wait for the processor. *)
  Lemma set_priority_ok t p r : ready_threads s !! t = Some r -> 0 <= p < NUM_PRIORITY ->
    ready_state r <> thread_is_ready -> ready_state r <> thread_is_parked -> sched_ok cpu (Some current) (set_priority t p s).
  Proof using Hok.
    intros Hr Hp H1 H2. destruct (set_priority_moves s t p r Hr) as (Hm & Hr' & Eq).
    destruct (ok_placed _ _ _ Hok t r Hr) as ([q|] & [_ Hs] & Hpl); [by destruct Hpl as (_ & [[? _]|[? _]])|].
    assert (running_after (Some current) t (ready_state r) = Some current) as Eo.
    { unfold running_after. destruct (Z.eqb_spec (ready_state r) thread_is_running) as [E|E].
      - symmetry. by apply (ok_runs _ _ _ Hok t r Hr).
      - by eapply current_is. }
    rewrite <- Eo. apply (moved_ok cpu _ s Hok t _ (ReadyThread p (ready_state r)) None Hm).
    - rewrite Eq. apply (ok_valid _ _ _ Hok).
    - unfold keeps_queues. by rewrite Eq.
    - split; [done|]. intros q. rewrite <- Hs. unfold in_queue. by rewrite Eq.
    - exact Hpl.
    - exact Hp.
    - intros E. cbn [ready_state] in E. apply (ok_runs _ _ _ Hok t r Hr) in E. split; [by right|].
      rewrite Eq. by apply (ok_free _ _ _ Hok).
  Qed.

  (** A thread leaves a queue and is made ready, at the priority it then has. *)
  Lemma requeue_ok q l1 t l2 q' m r p v s' : takes (ready_queues s) q l1 t l2 q' ->
    (forall u, u <> t -> m !! u = ready_threads s !! u) -> ready_threads s !! t = Some r -> m !! t = Some (ReadyThread p (ready_state r)) ->
    0 <= p < NUM_PRIORITY -> ready_state r <> thread_is_running ->
    sched_ready_insert (Ready q' m) cpu t = Some (v, s') -> sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros Hq Hm Hr Hr' Hp Hn H. pose proof (ok_valid _ _ _ Hok) as Hv.
    destruct (takes_moves s (proj1 Hv) m _ _ _ _ _ Hq Hm) as [Hmv Hno].
    pose proof (takes_valid _ _ _ _ _ _ (proj1 Hv) Hq) as Hq'.
    assert (ready_valid cpu (Ready q' m)) as Hv1.
    { apply (moves_valid cpu s Hv t _ Hmv Hq').
      - by eapply takes_keeps.
      - intros r' E. cbn [ready_threads] in E. rewrite Hr' in E. by injection E as <-.
      - intros p' _ Hin. by apply Hno in Hin. }
    destruct (insert_moves cpu _ Hv1 t v s' H) as (Hm1 & Hk1 & Hc & r1 & Hr1 & Hs1).
    cbn [ready_threads] in Hr1. rewrite Hr' in Hr1. injection Hr1 as <-. cbn [ready_priority] in Hs1.
    rewrite <- (current_is t r Hr Hn).
    change (other (Some current) t) with (running_after (Some current) t (ready_state (ReadyThread p thread_is_ready))).
    eapply (moved_ok cpu _ s Hok t s').
    - by eapply moves_trans.
    - apply (sched_ready_insert_valid cpu _ _ _ _ Hv1 H).
    - intros u Hu. apply Hk1. eapply takes_keeps; [exact Hq|done].
    - exact Hs1.
    - split; [done|]. by left.
    - done.
    - done.
  Qed.

  Lemma in_queue_state q t : in_queue s q t -> forall r, ready_threads s !! t = Some r -> ready_state r <> thread_is_running.
  Proof using Hok.
    intros Hin r Hr E. destruct (ok_placed _ _ _ Hok t r Hr) as ([u|] & [_ Hs] & Hpl).
    - destruct Hpl as (_ & [[E' _]|[E' _]]); by rewrite E in E'.
    - by apply Hs in Hin.
  Qed.

  (** [q] is a queue of parked threads of this CPU. *)
  Theorem sched_replenish_ok q next s' : sched_replenish cpu current q s = Some (next, s') ->
    next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros H. unfold sched_replenish in H. destruct (queue_dequeue (ready_queues s) q) as [[t q']|] eqn:E; [|done].
    cbn [mbind option_bind] in H. destruct (Z.eqb_spec t NONE) as [->|Hne]; [by injection H as <- <-|].
    destruct (sched_ready_insert _ cpu t) as [[v s1]|] eqn:E1; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
    split; [done|]. apply queue_dequeue_takes in E as [(_ & ? & _)|(l & Hl & Hq)]; [done|].
    destruct (ready_threads s !! t) as [r|] eqn:Hr.
    - eapply (requeue_ok q [] t l q' (ready_threads s) r (ready_priority r)); try done; [by rewrite Hr; destruct r| |].
      + eapply ready_valid_priority; [apply (ok_valid _ _ _ Hok)|done].
      + eapply (in_queue_state q t); [|done]. exists (t :: l). split; [done|by left].
    - unfold sched_ready_insert in E1. cbn [ready_threads] in E1. by rewrite Hr in E1.
  Qed.

  Theorem sched_boost_ok t p next s' : 0 <= p < NUM_PRIORITY -> sched_boost cpu current t p s = Some (next, s') ->
    next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros Hp H. unfold sched_boost in H. destruct (ready_threads s !! t) as [r|] eqn:Hr; [|done]. cbn [mbind option_bind] in H.
    destruct (_ || _) eqn:Eq.
    - destruct (queue_remove (ready_queues s) t) as [[w q']|] eqn:E; [|done]. cbn [mbind option_bind] in H.
      destruct (sched_ready_insert _ cpu t) as [[v s1]|] eqn:E1; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
      split; [done|]. apply queue_remove_takes in E as (_ & q & l1 & l2 & Hq); [|apply (ok_valid _ _ _ Hok)].
      assert (in_queue s q t) as Hin.
      { destruct Hq as [Hl _]. exists (l1 ++ t :: l2). split; [done|]. apply elem_of_app. right. by left. }
      unfold set_priority in E1. cbn [ready_threads ready_queues] in E1. rewrite Hr in E1.
      eapply (requeue_ok q l1 t l2 q' _ r p); [exact Hq| |done|apply lookup_insert|done|by eapply in_queue_state|exact E1].
      intros u Hu. by apply lookup_insert_ne.
    - apply orb_false_iff in Eq as [E1 E2]. apply Z.eqb_neq in E1, E2.
      destruct (ready_state r =? thread_is_blocked); injection H as <- <-; (split; [done|]); [by eapply set_priority_ok|done].
  Qed.
  Theorem sched_unboost_ok p next s' : 0 <= p < NUM_PRIORITY -> sched_unboost current p s = Some (next, s') ->
    next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros Hp H. unfold sched_unboost in H. injection H as <- <-. split; [done|].
    destruct (ok_free _ _ _ Hok current eq_refl) as [[r Hr] _].
    assert (ready_state r = thread_is_running) as E by (by apply (ok_runs _ _ _ Hok _ _ Hr)).
    eapply set_priority_ok; [exact Hr|done|by rewrite E..].
  Qed.

  (** The place of a thread that is in no queue of this CPU moves to another owner. *)
  Lemma free_ok f : queue_valid (QueueState (queue_lists (ready_queues s)) f) -> current ∈ f ->
    sched_ok cpu (Some current) (Ready (QueueState (queue_lists (ready_queues s)) f) (ready_threads s)).
  Proof using Hok.
    intros Hq Hf. split.
    - apply (ready_valid_change cpu s (ok_valid _ _ _ Hok)); [done| |done|].
      + intros t r Hr. by eapply ready_valid_priority; [apply (ok_valid _ _ _ Hok)|].
      + intros p t Hp Hin. by apply (ready_valid_thread _ _ (ok_valid _ _ _ Hok) p t Hp).
    - exact (ok_placed _ _ _ Hok).
    - exact (ok_runs _ _ _ Hok).
    - intros t [= <-]. split; [by apply (ok_free _ _ _ Hok)|done].
  Qed.
  Theorem sched_lend_ok t next s' : sched_lend cpu current t s = Some (next, s') -> next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros H. unfold sched_lend in H. destruct (_ && _) eqn:E; [|done]. injection H as <- <-. split; [done|].
    apply andb_true_iff in E as [E%bool_decide_eq_true _].
    pose proof (proj1 (ok_valid _ _ _ Hok)) as Hv. destruct (ok_free _ _ _ Hok current eq_refl) as [_ Hf]. apply free_ok.
    - apply queue_valid_intro; simpl.
      + apply (queue_valid_id _ Hv). + apply (queue_valid_nodup _ Hv).
      + intros q l u Hl Hu. destruct (queue_valid_thread _ Hv q l u Hl Hu). split; [done|]. rewrite elem_of_difference. tauto.
      + apply (queue_valid_one _ Hv).
      + intros u [Hu _]%elem_of_difference. by apply (queue_valid_free _ Hv).
    - apply elem_of_difference. split; [done|]. rewrite elem_of_singleton. congruence.
  Qed.
  Theorem sched_return_ok t next s' : sched_return current t s = Some (next, s') -> next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros H. unfold sched_return in H. destruct (queue_holding _ t) eqn:E; [done|]. case_bool_decide as Ht; [|done].
    injection H as <- <-. split; [done|].
    pose proof (proj1 (ok_valid _ _ _ Hok)) as Hv. destruct (ok_free _ _ _ Hok current eq_refl) as [_ Hf]. apply free_ok.
    - apply queue_valid_intro; simpl.
      + apply (queue_valid_id _ Hv). + apply (queue_valid_nodup _ Hv).
      + intros q l u Hl Hu. destruct (queue_valid_thread _ Hv q l u Hl Hu). split; [done|].
        rewrite elem_of_union, elem_of_singleton. intros [->|?]; [|done]. by rewrite (queue_holding_some _ Hv _ _ _ Hl Hu) in E.
      + apply (queue_valid_one _ Hv).
      + intros u [->%elem_of_singleton|Hu]%elem_of_union; [done|by apply (queue_valid_free _ Hv)].
    - apply elem_of_union. by right.
  Qed.
End boost.
