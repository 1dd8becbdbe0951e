(** The scheduler of a CPU: it never breaks a requirement of the functions it calls, so it always finds a next thread.

    [sched_owns]: the CPU owns its idle thread's fields and place, and the queues in which its threads are parked. *)
From Ashlar Require Export layers.sched.pick.SchedulerInvariant.

Section progress.
  Context (has : nat -> bool) (parking : Z -> Z) (cpu : Z) (Hcpu : 0 <= cpu < NUM_CPU).
  Context (Hparking : forall t, ~ ready_queue cpu 0 <= parking t < ready_queue cpu NUM_PRIORITY).

  Record sched_owns (s : ready) : Prop := {
    owns_idle : is_Some (ready_threads s !! cpu) /\ cpu ∈ queue_free (ready_queues s);
    owns_parking : forall t, NUM_CPU <= t -> is_Some (ready_threads s !! t) -> is_Some (queue_lists (ready_queues s) !! parking t);
  }.

  Lemma owns_moves s t s' r w : sched_owns s -> moves s t s' -> keeps_queues s s' -> is_Some (ready_threads s !! t) ->
    stands s' t r w -> (t = cpu -> cpu ∈ queue_free (ready_queues s')) -> sched_owns s'.
  Proof using.
    intros [[Hi Hf] Hp] Hm Hk Ht [Hr _] Hc. assert (forall u, is_Some (ready_threads s' !! u) -> is_Some (ready_threads s !! u)) as Hback.
    { intros u Hu. destruct (decide (u = t)) as [->|Hne]; [done|]. by rewrite <- (proj1 (Hm u Hne)). }
    split.
    - destruct (decide (cpu = t)) as [E|Hne]; [subst t; split; [by eexists|by apply Hc]|]. destruct (Hm cpu Hne) as (A & _ & B).
      by rewrite A, B.
    - intros u Hu Hu'. apply Hk, Hp; auto.
  Qed.
  Lemma owns_mark s t x s' : ready_valid cpu s -> sched_owns s -> sched_mark s t x = Some s' -> sched_owns s'.
  Proof using.
    intros Hv Ho H. destruct (mark_moves cpu s Hv t x s' H) as (Hm & Eq & _ & r & Hr & Hs).
    eapply owns_moves; [exact Ho|exact Hm|unfold keeps_queues; by rewrite Eq|by eexists|exact Hs|].
    intros _. rewrite Eq. apply (owns_idle _ Ho).
  Qed.
  Lemma owns_park s q t s' : ready_valid cpu s -> sched_owns s -> sched_park s cpu q t = Some s' -> sched_owns s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct (park_moves cpu s Hv q t s' H) as (Hm & Hk & Hc & _ & _ & r & Hr & Hs).
    eapply owns_moves; [exact Ho|exact Hm|exact Hk|by eexists|exact Hs|]. intros ->. lia.
  Qed.
  Lemma owns_insert s t v s' : ready_valid cpu s -> sched_owns s -> sched_ready_insert s cpu t = Some (v, s') -> sched_owns s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct (insert_moves cpu s Hv t v s' H) as (Hm & Hk & Hc & r & Hr & Hs).
    eapply owns_moves; [exact Ho|exact Hm|exact Hk|by eexists|exact Hs|]. intros ->. lia.
  Qed.
  Lemma owns_take s v s' : ready_valid cpu s -> sched_owns s -> sched_ready_take s cpu = Some (v, s') -> sched_owns s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct (take_moves cpu s Hv v s' H) as [(_ & -> & _)|(_ & Hm & Hk & Hf & p & Hr & Hp & Hin & Hst)]; [done|].
    eapply owns_moves; [exact Ho|exact Hm|exact Hk|by eexists|exact Hst|]. intros E. by rewrite <- E.
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
  Lemma park_some s t : sched_owns s -> NUM_CPU <= t -> is_Some (ready_threads s !! t) -> t ∈ queue_free (ready_queues s) ->
    exists s', sched_park s cpu (parking t) t = Some s'.
  Proof using Hparking.
    intros Ho Hc Ht Hf. destruct (owns_parking _ Ho t Hc Ht) as [l Hl]. destruct Ht as [r Hr]. unfold sched_park.
    rewrite Hr, !bool_decide_eq_true_2 by auto. cbn [andb]. unfold queue_enqueue. rewrite Hl, bool_decide_eq_true_2 by done.
    by eexists.
  Qed.

  Lemma idle_some s : sched_owns s -> exists next s', sched_idle cpu s = Some (next, s').
  Proof using.
    intros [[Hi Hf] _]. destruct (mark_some s cpu thread_is_running Hi Hf) as [s' E]. unfold sched_idle. rewrite E. by eexists _, _.
  Qed.

  Lemma pick_from_some n t s : sched_owns s ->
    (t = NONE \/ NUM_CPU <= t /\ sched_ok cpu (Some t) s) -> exists next s', sched_pick_from has parking cpu n t s = Some (next, s').
  Proof using Hcpu Hparking.
    revert t s. induction n as [|n IH]; intros t s Ho Ht; cbn [sched_pick_from].
    - destruct (t =? NONE); by apply idle_some.
    - destruct (Z.eqb_spec t NONE) as [->|Hne]; [by apply idle_some|]. destruct Ht as [?|[Hc Hok]]; [done|].
      destruct (has n); [by eexists _, _|]. destruct (ok_free _ _ _ Hok t eq_refl) as [Hi Hf].
      destruct (park_some s t Ho Hc Hi Hf) as [s1 E1]. rewrite E1. cbn [mbind option_bind].
      destruct (park_count cpu s (parking t) t s1 Hok E1) as [Hok1 _].
      pose proof (owns_park s _ t s1 (ok_valid _ _ _ Hok) Ho E1) as Ho1.
      destruct (take_some s1 (ok_valid _ _ _ Hok1)) as (v & s2 & E2). rewrite E2. cbn [mbind option_bind].
      apply IH; [by eapply owns_take; [apply (ok_valid _ _ _ Hok1)|exact Ho1|]|].
      destruct (take_ok cpu s1 v s2 Hok1 E2) as [(-> & _)|(_ & Hc' & Hok' & _)]; [by left|by right].
  Qed.
  Theorem sched_pick_some s : sched_ok cpu None s -> sched_owns s -> exists next s', sched_pick has parking cpu s = Some (next, s').
  Proof using Hcpu Hparking.
    intros Hok Ho. unfold sched_pick. destruct (take_some s (ok_valid _ _ _ Hok)) as (v & s1 & E). rewrite E. cbn [mbind option_bind].
    apply pick_from_some; [by eapply owns_take; [apply (ok_valid _ _ _ Hok)|exact Ho|]|].
    destruct (take_ok cpu s v s1 Hok E) as [(-> & _)|(_ & Hc' & Hok' & _)]; [by left|by right].
  Qed.

  (** ** The scheduler's functions *)
  Section functions.
    Context (current : Z) (s : ready) (Hok : sched_ok cpu (Some current) s) (Ho : sched_owns s).

    Lemma marked x : x <> thread_is_parked -> x <> thread_is_running -> (NUM_CPU <= current -> x <> thread_is_ready) ->
      exists s', sched_mark s current x = Some s' /\ sched_ok cpu None s' /\ sched_owns s'.
    Proof using Hok Ho.
      intros Hp Hn Hr. destruct (ok_free _ _ _ Hok current eq_refl) as [Hi Hf]. destruct (mark_some s current x Hi Hf) as [s' E].
      exists s'. split; [done|]. split; [|by eapply owns_mark; [apply (ok_valid _ _ _ Hok)|exact Ho|exact E]].
      pose proof (mark_ok cpu _ s Hok current x s' E Hp Hr) as H. unfold running_after in H.
      rewrite (proj2 (Z.eqb_neq x _)), other_same in H by done. apply H. by intros ?.
    Qed.

    Theorem sched_block_some : exists next s', sched_block has parking cpu current s = Some (next, s').
    Proof using Hcpu Hparking Hok Ho.
      destruct (marked thread_is_blocked) as (s' & E & Hok' & Ho'); [done..|]. unfold sched_block. rewrite E. by apply sched_pick_some.
    Qed.
    Theorem sched_exit_some : exists next s', sched_exit has parking cpu current s = Some (next, s').
    Proof using Hcpu Hparking Hok Ho.
      destruct (marked thread_is_exited) as (s' & E & Hok' & Ho'); [done..|]. unfold sched_exit. rewrite E. by apply sched_pick_some.
    Qed.
    Lemma put_back_some budget : exists s', sched_put_back parking cpu current budget s = Some s' /\ sched_owns s'.
    Proof using Hcpu Hparking Hok Ho.
      pose proof (ok_valid _ _ _ Hok) as Hv. destruct (ok_free _ _ _ Hok current eq_refl) as [Hi Hf].
      unfold sched_put_back. case_bool_decide as Hc.
      - destruct (mark_some s current thread_is_ready Hi Hf) as [s' E]. exists s'. split; [done|]. by eapply owns_mark.
      - assert (NUM_CPU <= current) as Hc' by lia. destruct budget.
        + destruct (insert_some s current Hv Hc' Hi Hf) as (v & s' & E). rewrite E. exists s'. split; [done|].
          by eapply owns_insert.
        + destruct (park_some s current Ho Hc' Hi Hf) as [s' E]. exists s'. split; [done|]. by eapply owns_park.
    Qed.
    Theorem sched_make_way_some budget : exists next s', sched_make_way has parking cpu current budget s = Some (next, s').
    Proof using Hcpu Hparking Hok Ho.
      destruct (put_back_some budget) as (s' & E & Ho'). unfold sched_make_way. rewrite E. cbn [mbind option_bind].
      apply sched_pick_some; [|exact Ho']. by eapply put_back_ok.
    Qed.
    (** [t] has been woken: it is in no queue any more. *)
    Theorem sched_wake_some t : NUM_CPU <= t -> is_Some (ready_threads s !! t) -> t ∈ queue_free (ready_queues s) ->
      exists next s', sched_wake cpu current t s = Some (next, s').
    Proof using Hok.
      intros Hc Ht Hf. destruct (insert_some s t (ok_valid _ _ _ Hok) Hc Ht Hf) as (v & s' & E). unfold sched_wake. rewrite E.
      by eexists _, _.
    Qed.
    Theorem sched_hand_over_some t : is_Some (ready_threads s !! t) -> t ∈ queue_free (ready_queues s) ->
      exists next s', sched_hand_over current t s = Some (next, s').
    Proof using Hok Ho.
      intros Ht Hf. destruct (marked thread_is_blocked) as (s1 & E & _ & _); [done..|]. unfold sched_hand_over. rewrite E.
      cbn [mbind option_bind]. destruct (mark_moves cpu s (ok_valid _ _ _ Hok) _ _ _ E) as (Hm & Eq & _ & r & _ & [Hs _]).
      destruct (mark_some s1 t thread_is_running) as [s2 E2]; [|by rewrite Eq|rewrite E2; by eexists _, _].
      destruct (decide (t = current)) as [->|Hne]; [by eexists|]. by rewrite (proj1 (Hm t Hne)).
    Qed.
  End functions.
End progress.
