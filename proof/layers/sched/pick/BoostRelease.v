(** The scheduler of a CPU: releases, boosts, and threads that come from other owners' queues or go there. *)
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

Section waiting.
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

  Lemma in_queue_state q t : in_queue s q t -> forall r, ready_threads s !! t = Some r -> ready_state r <> thread_is_running.
  Proof using Hok.
    intros Hin r Hr E. destruct (ok_placed _ _ _ Hok t r Hr) as ([u|] & [_ Hs] & Hpl).
    - destruct Hpl as (_ & [[E' _]|[E' _]]); by rewrite E in E'.
    - by apply Hs in Hin.
  Qed.

  (** A thread leaves the queue in which it waits: then it is blocked. *)
  Lemma withdraw_ok t s' : sched_withdraw t s = Some s' -> sched_ok cpu (Some current) s' /\
    exists r, ready_threads s' !! t = Some r /\ ready_state r = thread_is_blocked.
  Proof using Hok.
    intros H. pose proof (ok_valid _ _ _ Hok) as Hv. unfold sched_withdraw in H.
    destruct (queue_remove (ready_queues s) t) as [[w q']|] eqn:E; [|done]. cbn [mbind option_bind] in H.
    apply queue_remove_takes in E as (_ & q & l1 & l2 & Hq); [|apply Hv].
    unfold sched_mark in H. cbn [ready_threads ready_queues] in H. destruct (ready_threads s !! t) as [r|] eqn:Hr; [|done].
    case_bool_decide as Hf; [|done]. injection H as <-.
    destruct (takes_moves s (proj1 Hv) (ready_mark t thread_is_blocked (ready_threads s)) _ _ _ _ _ Hq) as [Hm Hno];
      [by intros; apply ready_mark_other|].
    pose proof (ready_mark_same _ t thread_is_blocked _ Hr) as Hr'.
    split; [|by eexists].
    assert (other (Some current) t = Some current) as Eo.
    { eapply current_is; [exact Hr|]. eapply (in_queue_state q t); [|exact Hr]. exists (l1 ++ t :: l2). split; [apply Hq|].
      apply elem_of_app. right. by left. }
    rewrite <- Eo.
    change (other (Some current) t) with
      (running_after (Some current) t (ready_state (ReadyThread (ready_priority r) thread_is_blocked))).
    eapply (moved_ok cpu _ s Hok t _ _ None Hm); [|by eapply takes_keeps|by apply stands_none|done| |done].
    - by eapply takes_valid; [apply Hv|].
    - exact (ready_valid_priority cpu s Hv t r Hr).
  Qed.

  (** The period of a parked thread begins. *)
  Theorem sched_release_ok t w next s' : sched_release cpu current t w s = Some (next, s') ->
    next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros H. unfold sched_release in H. destruct (ready_threads s !! t) as [r|] eqn:Hr; [|done]. cbn [mbind option_bind] in H.
    destruct (Z.eqb_spec (ready_state r) thread_is_parked) as [E|]; [|done].
    destruct (sched_withdraw t s) as [s1|] eqn:E1; [|done]. cbn [mbind option_bind] in H.
    destruct (sched_insert cpu t w s1) as [s2|] eqn:E2; [|done]. cbn [mbind option_bind] in H. injection H as <- <-. split; [done|].
    destruct (withdraw_ok t s1 E1) as (Hok1 & r1 & Hr1 & Hb). by eapply sched_insert_ok.
  Qed.
End waiting.

Section boost.
  Context (cpu current : Z) (s : ready) (Hok : sched_ok cpu (Some current) s).

  Theorem sched_boost_ok t p w next s' : 0 <= p < NUM_PRIORITY -> sched_boost cpu current t p w s = Some (next, s') ->
    next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros Hp H. unfold sched_boost in H. destruct (ready_threads s !! t) as [r|] eqn:Hr; [|done]. cbn [mbind option_bind] in H.
    destruct (_ || _) eqn:Eq.
    - destruct (sched_withdraw t s) as [s1|] eqn:E1; [|done]. cbn [mbind option_bind] in H.
      destruct (sched_insert _ _ _ _) as [s2|] eqn:E2; [|done]. cbn [mbind option_bind] in H. injection H as <- <-. split; [done|].
      destruct (withdraw_ok cpu current s Hok t s1 E1) as (Hok1 & r1 & Hr1 & Hb).
      destruct (set_priority_moves s1 t p r1 Hr1) as (_ & Hr2 & _).
      eapply sched_insert_ok; [|exact Hr2|exact Hb|exact E2].
      by eapply set_priority_ok; [exact Hok1|exact Hr1|exact Hp|rewrite Hb..].
    - apply orb_false_iff in Eq as [E1 E2]. apply Z.eqb_neq in E1, E2.
      destruct (ready_state r =? thread_is_blocked); injection H as <- <-; (split; [done|]); [by eapply set_priority_ok|done].
  Qed.
  Theorem sched_unboost_ok p next s' : 0 <= p < NUM_PRIORITY -> sched_unboost current p s = Some (next, s') ->
    next = current /\ sched_ok cpu (Some current) s'.
  Proof using Hok.
    intros Hp H. unfold sched_unboost in H. injection H as <- <-. split; [done|].
    destruct (ok_free _ _ _ Hok current eq_refl) as [[r Hr] _].
    assert (ready_state r = thread_is_running) as E by (by apply (ok_runs _ _ _ Hok _ _ Hr)).
    eapply (set_priority_ok cpu current s Hok); [exact Hr|done|by rewrite E..].
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
