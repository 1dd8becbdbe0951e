(** The scheduler of a CPU, from start-up on: a thread is in a ready queue exactly if it is ready and not running. *)
From Ashlar Require Export layers.sched.pick.BoostRelease.

Section reach.
  Context (cpu : Z).

  (** Before the first thread is woken: all queues are empty, the idle thread runs, no other has ever run. *)
  Definition sched_start (s : ready) : Prop :=
    queue_valid (ready_queues s) /\ (forall q l, queue_lists (ready_queues s) !! q = Some l -> l = []) /\
    (forall p, 0 <= p < NUM_PRIORITY -> is_Some (queue_lists (ready_queues s) !! ready_queue cpu p)) /\
    (forall t r, ready_threads s !! t = Some r -> 0 <= ready_priority r < NUM_PRIORITY /\
       if bool_decide (t = cpu) then ready_state r = thread_is_running
       else ready_state r <> thread_is_running /\ ready_state r <> thread_is_ready /\ ready_state r <> thread_is_parked) /\
    is_Some (ready_threads s !! cpu) /\ cpu ∈ queue_free (ready_queues s).

  (** What may happen while [current] runs; [next] runs after it. The answers of reservations and clocks are any. *)
  Inductive sched_event (current : Z) (s : ready) (next : Z) (s' : ready) : Prop :=
  | event_block kept : sched_block cpu current kept s = Some (next, s') -> sched_event current s next s'
  | event_exit kept : sched_exit cpu current kept s = Some (next, s') -> sched_event current s next s'
  | event_make_way time kept : sched_make_way cpu current time kept s = Some (next, s') -> sched_event current s next s'
  | event_hand_over t : sched_hand_over cpu current t s = Some (next, s') -> sched_event current s next s'
  | event_wake t w : sched_wake cpu current t w s = Some (next, s') -> sched_event current s next s'
  | event_release t w : sched_release cpu current t w s = Some (next, s') -> sched_event current s next s'
  | event_boost t p w : 0 <= p < NUM_PRIORITY -> sched_boost cpu current t p w s = Some (next, s') -> sched_event current s next s'
  | event_unboost p : 0 <= p < NUM_PRIORITY -> sched_unboost current p s = Some (next, s') -> sched_event current s next s'
  | event_lend t : sched_lend cpu current t s = Some (next, s') -> sched_event current s next s'
  | event_return t : sched_return current t s = Some (next, s') -> sched_event current s next s'.

  Inductive sched_reach : Z -> ready -> Prop :=
  | reach_start s : sched_start s -> sched_reach cpu s
  | reach_event current s next s' : sched_reach current s -> sched_event current s next s' -> sched_reach next s'.

  Lemma start_ok s : sched_start s -> sched_ok cpu (Some cpu) s.
  Proof using.
    intros (Hq & He & Ho & Ht & Hi & Hf).
    assert (forall q t, ~ in_queue s q t) as Hno by (intros q t (l & Hl & H); rewrite (He q l Hl) in H; by apply elem_of_nil in H).
    split.
    - split; [done|]. split; [intros t r Hr; by apply (Ht t r Hr)|]. apply Forall_forall. intros p Hp.
      apply elem_of_seqZ in Hp. assert (0 <= p < NUM_PRIORITY) as Hr by (unfold NUM_PRIORITY in *; lia). split; [by apply Ho|].
      apply Forall_forall. intros t Hin. apply in_ready_list in Hin. by apply Hno in Hin.
    - intros t r Hr. exists None. split; [by apply stands_none|]. destruct (Ht t r Hr) as [_ H]. case_bool_decide as E.
      + split; rewrite H; [done|]. intros _. done.
      + destruct H as (_ & H1 & H2). split; [done|]. by intros _.
    - intros t r Hr. destruct (Ht t r Hr) as [_ H]. case_bool_decide as E; [by rewrite E|]. split; [by intros ?%(proj1 H)|congruence].
    - intros t [= <-]. done.
  Qed.

  Lemma event_ok current s next s' : sched_ok cpu (Some current) s -> sched_event current s next s' -> sched_ok cpu (Some next) s'.
  Proof using.
    intros Hok [kept H|kept H|time kept H|t H|t w H|t w H|t p w Hp H|p Hp H|t H|t H].
    - by destruct (sched_block_ok cpu current kept s next s' Hok H) as [[? _] _].
    - by destruct (sched_exit_ok cpu current kept s next s' Hok H) as [[? _] _].
    - by destruct (sched_make_way_ok cpu current time kept s next s' Hok H) as [[? _] _].
    - by destruct (sched_hand_over_ok cpu current t s next s' Hok H) as [-> [? _]].
    - by destruct (sched_wake_ok cpu current t w s next s' Hok H) as [-> ?].
    - by destruct (sched_release_ok cpu current s Hok t w next s' H) as [-> ?].
    - by destruct (sched_boost_ok cpu current s Hok t p w next s' Hp H) as [-> ?].
    - by destruct (sched_unboost_ok cpu current s Hok p next s' Hp H) as [-> ?].
    - by destruct (sched_lend_ok cpu current s Hok t next s' H) as [-> ?].
    - by destruct (sched_return_ok cpu current s Hok t next s' H) as [-> ?].
  Qed.

  Theorem sched_reach_ok current s : sched_reach current s -> sched_ok cpu (Some current) s.
  Proof using. induction 1 as [s H|current s next s' _ IH H]; [by apply start_ok|by eapply event_ok]. Qed.

  (** In words. *)
  Theorem only_ready_are_queued current s t r p : sched_reach current s -> ready_threads s !! t = Some r ->
    0 <= p < NUM_PRIORITY -> t ∈ ready_list s cpu p -> ready_state r = thread_is_ready /\ ready_priority r = p.
  Proof using. intros H. eapply queued_ready, sched_reach_ok, H. Qed.
  Theorem all_ready_are_queued current s t r : sched_reach current s -> ready_threads s !! t = Some r -> NUM_CPU <= t ->
    ready_state r = thread_is_ready -> t ∈ ready_list s cpu (ready_priority r).
  Proof using. intros H. eapply ready_queued, sched_reach_ok, H. Qed.
  (** So a thread without time, which is parked, is never chosen. *)
  Theorem parked_is_not_ready current s t r p : sched_reach current s -> ready_threads s !! t = Some r ->
    ready_state r = thread_is_parked -> 0 <= p < NUM_PRIORITY -> in_queue s (parked_queue cpu) t /\ t ∉ ready_list s cpu p.
  Proof using.
    intros H%sched_reach_ok Hr Hp Hpr. split; [by eapply parked_queued|by eapply parked_not_ready].
  Qed.
  Theorem running_is_not_queued current s q : sched_reach current s -> ~ in_queue s q current.
  Proof using. intros H. by apply (running_nowhere _ _ _ (sched_reach_ok _ _ H) current). Qed.
  Theorem one_is_running current s t r : sched_reach current s -> ready_threads s !! t = Some r ->
    ready_state r = thread_is_running <-> t = current.
  Proof using.
    intros H Hr. rewrite (ok_runs _ _ _ (sched_reach_ok _ _ H) t r Hr). split; [by intros [= ->]|by intros ->].
  Qed.
End reach.
