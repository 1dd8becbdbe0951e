(** The scheduler of a CPU: it never breaks a requirement of the functions it calls, so it always finds a next thread.

    [sched_owns]: the CPU owns its idle thread's fields and place, and its queue of parked threads. *)
From Ashlar Require Export layers.sched.pick.SchedulerInvariant.

(** A bound of [ready_best] is one of every ready thread's priority. *)
Lemma ready_best_bound s cpu b : 0 <= b ->
  ready_best s cpu <= b <-> forall p t, 0 <= p < NUM_PRIORITY -> t ∈ ready_list s cpu p -> p + 1 <= b.
Proof.
  intros Hb. destruct (ready_best_spec s cpu) as [[-> Hn]|(p0 & t0 & l & -> & Hp0 & Hl & Hn)]; split.
  - intros _ p t Hp Ht. rewrite Hn in Ht by done. by apply elem_of_nil in Ht.
  - done.
  - intros H p t Hp Ht. destruct (decide (p <= p0)) as [|Hgt]; [lia|]. rewrite Hn in Ht by lia. by apply elem_of_nil in Ht.
  - intros H. apply (H p0 t0); [done|]. rewrite Hl. by left.
Qed.

Section progress.
  Context (cpu : Z) (Hcpu : 0 <= cpu < NUM_CPU).

  Record sched_owns (s : ready) : Prop := {
    owns_idle : is_Some (ready_threads s !! cpu) /\ cpu ∈ queue_free (ready_queues s);
    owns_parked : is_Some (queue_lists (ready_queues s) !! parked_queue cpu);
  }.

  Lemma owns_moves s t s' r w : sched_owns s -> moves s t s' -> keeps_queues s s' -> stands s' t r w ->
    (t = cpu -> cpu ∈ queue_free (ready_queues s')) -> sched_owns s'.
  Proof using.
    intros [[Hi Hf] Hp] Hm Hk [Hr _] Hc. split; [|by apply Hk].
    destruct (decide (cpu = t)) as [E|Hne]; [subst t; split; [by eexists|by apply Hc]|]. destruct (Hm cpu Hne) as (A & _ & B).
    by rewrite A, B.
  Qed.
  Lemma owns_mark s t x s' : ready_valid cpu s -> sched_owns s -> sched_mark s t x = Some s' -> sched_owns s'.
  Proof using.
    intros Hv Ho H. destruct (mark_moves cpu s Hv t x s' H) as (Hm & Eq & _ & r & Hr & Hs).
    eapply owns_moves; [exact Ho|exact Hm|unfold keeps_queues; by rewrite Eq|exact Hs|].
    intros _. rewrite Eq. apply (owns_idle _ Ho).
  Qed.
  Lemma owns_park s q t s' : ready_valid cpu s -> sched_owns s -> sched_park s cpu q t = Some s' -> sched_owns s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct (park_moves cpu s Hv q t s' H) as (Hm & Hk & Hc & _ & _ & r & Hr & Hs).
    eapply owns_moves; [exact Ho|exact Hm|exact Hk|exact Hs|]. intros ->. lia.
  Qed.
  Lemma owns_insert s t v s' : ready_valid cpu s -> sched_owns s -> sched_ready_insert s cpu t = Some (v, s') -> sched_owns s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct (insert_moves cpu s Hv t v s' H) as (Hm & Hk & Hc & r & Hr & Hs).
    eapply owns_moves; [exact Ho|exact Hm|exact Hk|exact Hs|]. intros ->. lia.
  Qed.
  Lemma owns_take s v s' : ready_valid cpu s -> sched_owns s -> sched_ready_take s cpu = Some (v, s') -> sched_owns s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct (take_moves cpu s Hv v s' H) as [(_ & -> & _)|(_ & Hm & Hk & Hf & p & Hr & Hp & Hin & Hst)]; [done|].
    eapply owns_moves; [exact Ho|exact Hm|exact Hk|exact Hst|]. intros E. by rewrite <- E.
  Qed.

  (** ** Each function is defined *)
  Lemma mark_some s t x : is_Some (ready_threads s !! t) -> t ∈ queue_free (ready_queues s) -> exists s', sched_mark s t x = Some s'.
  Proof using. intros [r Hr] Hf. unfold sched_mark. rewrite Hr, bool_decide_eq_true_2 by done. by eexists. Qed.
  Lemma take_some s : ready_valid cpu s -> exists v s', sched_ready_take s cpu = Some (v, s').
  Proof using.
    intros Hv. unfold sched_ready_take. destruct (ready_best_spec s cpu) as [[-> _]|(p & t & l & -> & Hp & Hl & _)]; [by eexists _, _|].
    rewrite (proj2 (Z.eqb_neq _ _)) by lia. replace (p + 1 - 1) with p by lia. unfold queue_dequeue.
    rewrite (ready_list_some _ _ _ _ _ Hl). by eexists _, _.
  Qed.
  Lemma insert_some s t : ready_valid cpu s -> NUM_CPU <= t -> is_Some (ready_threads s !! t) -> t ∈ queue_free (ready_queues s) ->
    exists v s', sched_ready_insert s cpu t = Some (v, s').
  Proof using.
    intros Hv Hc [r Hr] Hf. unfold sched_ready_insert. rewrite Hr, bool_decide_eq_true_2 by done.
    destruct (ready_valid_owns cpu s Hv (ready_priority r)) as [l Hl]; [by eapply ready_valid_priority|].
    unfold queue_enqueue. rewrite Hl, bool_decide_eq_true_2 by done. by eexists _, _.
  Qed.
  Lemma park_some s t : ready_valid cpu s -> sched_owns s -> NUM_CPU <= t -> is_Some (ready_threads s !! t) ->
    t ∈ queue_free (ready_queues s) -> exists s', sched_park s cpu (parked_queue cpu) t = Some s'.
  Proof using.
    intros Hv Ho Hc [r Hr] Hf. destruct (owns_parked _ Ho) as [l Hl].
    unfold sched_park. rewrite Hr, !bool_decide_eq_true_2; [|intros Hq|done].
    - cbn [andb]. unfold queue_enqueue. rewrite Hl, bool_decide_eq_true_2 by done. by eexists.
    - apply (parked_queue_other cpu s (parked_queue cpu - ready_queue cpu 0) Hv); unfold ready_queue in *; lia.
  Qed.
  Lemma idle_some s : sched_owns s -> exists next s', sched_idle cpu s = Some (next, s').
  Proof using.
    intros [[Hi Hf] _]. destruct (mark_some s cpu thread_is_running Hi Hf) as [s' E]. unfold sched_idle. rewrite E. by eexists _, _.
  Qed.

  Theorem sched_pick_some s : sched_ok cpu None s -> sched_owns s -> exists next s', sched_pick cpu s = Some (next, s').
  Proof using.
    intros Hok Ho. unfold sched_pick. destruct (take_some s (ok_valid _ _ _ Hok)) as (v & s1 & E). rewrite E. cbn [mbind option_bind].
    destruct (take_ok cpu s v s1 Hok E) as [(-> & -> & _)|(Hn & _)]; [by apply idle_some|].
    rewrite (proj2 (Z.eqb_neq v NONE)) by done. by eexists _, _.
  Qed.

  (** A thread that may be kept, to run next. *)
  Definition may_be_kept (t : Z) (s : ready) : Prop :=
    NUM_CPU <= t /\ t ∈ queue_free (ready_queues s) /\ exists r, ready_threads s !! t = Some r /\
      ready_state r = thread_is_blocked /\ ready_best s cpu <= ready_priority r + 1.
  Lemma sched_run_kept_some t s : may_be_kept t s -> exists next s', sched_run_kept cpu t s = Some (next, s').
  Proof using.
    intros (Hc & Hf & r & Hr & Hb & Hbest). unfold sched_run_kept. rewrite Hr. cbn [mbind option_bind].
    rewrite bool_decide_eq_true_2, (proj2 (Z.eqb_eq _ _) Hb), (proj2 (Z.leb_le _ _) Hbest) by done. cbn [andb].
    destruct (mark_some s t thread_is_running) as [s' E]; [by eexists|done|]. rewrite E. by eexists _, _.
  Qed.
  Theorem sched_next_some kept s : sched_ok cpu None s -> sched_owns s -> (forall t, kept = Some t -> may_be_kept t s) ->
    exists next s', sched_next cpu kept s = Some (next, s').
  Proof using.
    intros Hok Ho Hk. destruct kept as [t|]; [by apply sched_run_kept_some, Hk|by apply sched_pick_some].
  Qed.

  (** ** The scheduler's functions *)
  Section functions.
    Context (current : Z) (s : ready) (Hok : sched_ok cpu (Some current) s) (Ho : sched_owns s).

    Lemma marked x : x <> thread_is_parked -> x <> thread_is_running -> (NUM_CPU <= current -> x <> thread_is_ready) ->
      exists s', sched_mark s current x = Some s' /\ sched_ok cpu None s' /\ sched_owns s'.
    Proof using Hok Ho.
      intros Hp Hn Hr. destruct (ok_free _ _ _ Hok current eq_refl) as [Hi Hf]. destruct (mark_some s current x Hi Hf) as [s' E].
      exists s'. split; [done|]. split; [by eapply marked_ok|].
      by eapply owns_mark; [apply (ok_valid _ _ _ Hok)|exact Ho|exact E].
    Qed.
    (** Where the current thread goes, another may still be kept. *)
    Lemma kept_after s' t : moves s current s' -> may_be_kept t s ->
      (forall p, 0 <= p < NUM_PRIORITY -> current ∈ ready_list s' cpu p ->
         forall r, ready_threads s !! t = Some r -> p <= ready_priority r) -> may_be_kept t s'.
    Proof using Hok.
      intros Hm (Hc & Hf & r & Hr & Hb & Hbest) Hp.
      assert (t <> current) as Hne.
      { intros ->. rewrite (proj2 (ok_runs _ _ _ Hok _ r Hr) eq_refl) in Hb. done. }
      pose proof (ready_valid_priority cpu s (ok_valid _ _ _ Hok) t r Hr) as Hrange.
      destruct (Hm t Hne) as (A & _ & B). split; [done|]. split; [by apply B|]. exists r. split; [by rewrite A|]. split; [done|].
      apply ready_best_bound; [lia|]. intros p u Hpr Hu. destruct (decide (u = current)) as [->|Hu'].
      - specialize (Hp p Hpr Hu r Hr). lia.
      - rewrite ready_best_bound in Hbest by lia. apply (Hbest p u); [done|]. apply in_ready_list. apply in_ready_list in Hu.
        by apply (Hm u Hu').
    Qed.
    Lemma marked_kept x s' t : sched_mark s current x = Some s' -> may_be_kept t s -> may_be_kept t s'.
    Proof using Hok.
      intros E Hk. destruct (mark_moves cpu s (ok_valid _ _ _ Hok) _ _ _ E) as (Hm & _ & _ & _ & _ & [_ Hs]).
      apply (kept_after s' t Hm Hk). intros p _ Hin. by apply in_ready_list, Hs in Hin.
    Qed.
    (** A kept thread is more important than the current one. *)
    Lemma put_back_kept time s' t r0 r : sched_put_back cpu current time s = Some s' -> may_be_kept t s ->
      ready_threads s !! current = Some r0 -> ready_threads s !! t = Some r -> ready_priority r0 <= ready_priority r ->
      may_be_kept t s'.
    Proof using Hok.
      intros E Hk Hr0 Hr Hle. pose proof (ok_valid _ _ _ Hok) as Hv. unfold sched_put_back in E.
      case_bool_decide; [by eapply marked_kept|]. unfold sched_queue in E. destruct time.
      - destruct (sched_ready_insert s cpu current) as [[v s1]|] eqn:E1; [|done]. injection E as ->.
        destruct (insert_moves cpu s Hv _ _ _ E1) as (Hm & _ & _ & r1 & Hr1 & [_ Hs]). rewrite Hr0 in Hr1. injection Hr1 as <-.
        apply (kept_after s' t Hm Hk). intros p _ Hin r' Hr'. rewrite Hr in Hr'. injection Hr' as <-.
        apply in_ready_list, Hs in Hin. injection Hin as Eq. unfold ready_queue in Eq. lia.
      - destruct (park_moves cpu s Hv _ _ _ E) as (Hm & _ & _ & _ & _ & r1 & _ & [_ Hs]).
        apply (kept_after s' t Hm Hk). intros p Hp Hin. apply in_ready_list, Hs in Hin. injection Hin as Eq.
        by destruct (parked_queue_other cpu s p Hv Hp).
    Qed.

    Theorem sched_block_some kept : (forall t, kept = Some t -> may_be_kept t s) ->
      exists next s', sched_block cpu current kept s = Some (next, s').
    Proof using Hok Ho.
      intros Hk. destruct (marked thread_is_blocked) as (s' & E & Hok' & Ho'); [done..|]. unfold sched_block. rewrite E.
      apply sched_next_some; [done|done|]. intros t Et. by eapply marked_kept, Hk.
    Qed.
    Theorem sched_exit_some kept : (forall t, kept = Some t -> may_be_kept t s) ->
      exists next s', sched_exit cpu current kept s = Some (next, s').
    Proof using Hok Ho.
      intros Hk. destruct (marked thread_is_exited) as (s' & E & Hok' & Ho'); [done..|]. unfold sched_exit. rewrite E.
      apply sched_next_some; [done|done|]. intros t Et. by eapply marked_kept, Hk.
    Qed.
    Theorem sched_hand_over_some t : may_be_kept t s -> exists next s', sched_hand_over cpu current t s = Some (next, s').
    Proof using Hok Ho. intros Hk. apply sched_block_some. by intros u [= <-]. Qed.

    Lemma queue_some t time : NUM_CPU <= t -> is_Some (ready_threads s !! t) -> t ∈ queue_free (ready_queues s) ->
      exists s', sched_queue cpu t time s = Some s' /\ sched_owns s'.
    Proof using Hcpu Hok Ho.
      intros Hc Hi Hf. pose proof (ok_valid _ _ _ Hok) as Hv. unfold sched_queue. destruct time.
      - destruct (insert_some s t Hv Hc Hi Hf) as (v & s' & E). rewrite E. exists s'. split; [done|]. by eapply owns_insert.
      - destruct (park_some s t Hv Ho Hc Hi Hf) as [s' E]. exists s'. split; [done|]. by eapply owns_park.
    Qed.
    Lemma put_back_some time : exists s', sched_put_back cpu current time s = Some s' /\ sched_owns s'.
    Proof using Hcpu Hok Ho.
      destruct (ok_free _ _ _ Hok current eq_refl) as [Hi Hf]. unfold sched_put_back. case_bool_decide as Hc.
      - destruct (mark_some s current thread_is_ready Hi Hf) as [s' E]. exists s'. split; [done|].
        by eapply owns_mark; [apply (ok_valid _ _ _ Hok)|exact Ho|exact E].
      - apply queue_some; [unfold NUM_CPU in *; lia|done|done].
    Qed.
    Theorem sched_make_way_some time kept :
      (forall t, kept = Some t -> may_be_kept t s /\ forall r0 r, ready_threads s !! current = Some r0 ->
         ready_threads s !! t = Some r -> ready_priority r0 <= ready_priority r) ->
      exists next s', sched_make_way cpu current time kept s = Some (next, s').
    Proof using Hcpu Hok Ho.
      intros Hk. destruct (put_back_some time) as (s' & E & Ho'). unfold sched_make_way. rewrite E. cbn [mbind option_bind].
      apply sched_next_some; [by eapply put_back_ok|exact Ho'|]. intros t Et. destruct (Hk t Et) as [Hm Hle].
      destruct (ok_free _ _ _ Hok current eq_refl) as [[r0 Hr0] _]. pose proof Hm as (_ & _ & r & Hr & _).
      by eapply put_back_kept; [exact E|exact Hm|exact Hr0|exact Hr|apply Hle].
    Qed.
    (** [t] has been woken: it is in no queue any more. *)
    Theorem sched_wake_some t w r : NUM_CPU <= t -> ready_threads s !! t = Some r -> ready_state r = thread_is_blocked ->
      t ∈ queue_free (ready_queues s) -> exists next s', sched_wake cpu current t w s = Some (next, s').
    Proof using Hcpu Hok Ho.
      intros Hc Hr Hb Hf. unfold sched_wake. rewrite Hr. cbn [mbind option_bind]. rewrite (proj2 (Z.eqb_eq _ _) Hb).
      destruct w as [time|]; cbn [sched_insert mbind option_bind]; [|by eexists _, _].
      destruct (queue_some t time Hc ltac:(by eexists) Hf) as (s' & E & _). rewrite E. by eexists _, _.
    Qed.
  End functions.
End progress.
