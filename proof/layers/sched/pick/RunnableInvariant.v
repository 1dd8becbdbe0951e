(** The scheduler of a CPU: only ready threads are in a ready queue, and the running thread is in none.

    [sched_ok cpu o s]: every thread of the CPU is placed as its state says. One that is not idle is in the ready queue of
    its priority exactly if it is ready, in the CPU's queue of parked threads exactly if it is parked, else in none; so no
    ready thread is lost, and no parked one is in a ready queue. And exactly [o] runs. Every function of the scheduler
    preserves this, and says which thread runs next. *)
From Ashlar Require Export layers.sched.pick.ThreadMoves.

Definition place_ok (cpu t : Z) (r : ready_thread) (w : option Z) : Prop :=
  match w with
  | Some q =>
      NUM_CPU <= t /\
      (ready_state r = thread_is_ready /\ q = ready_queue cpu (ready_priority r) \/
       ready_state r = thread_is_parked /\ q = parked_queue cpu)
  | None => ready_state r <> thread_is_parked /\ (NUM_CPU <= t -> ready_state r <> thread_is_ready)
  end.

Record sched_ok (cpu : Z) (o : option Z) (s : ready) : Prop := {
  ok_valid : ready_valid cpu s;
  ok_placed : forall t r, ready_threads s !! t = Some r -> exists w, stands s t r w /\ place_ok cpu t r w;
  ok_runs : forall t r, ready_threads s !! t = Some r -> ready_state r = thread_is_running <-> o = Some t;
  ok_free : forall t, o = Some t -> is_Some (ready_threads s !! t) /\ t ∈ queue_free (ready_queues s);
}.

(** A CPU's queue of parked threads is none of its ready queues: all of these are there. *)
Lemma parked_queue_other cpu s p : ready_valid cpu s -> 0 <= p < NUM_PRIORITY -> parked_queue cpu <> ready_queue cpu p.
Proof.
  intros Hv Hp. destruct (ready_valid_owns cpu s Hv 255) as [l Hl]; [done|].
  destruct (queue_valid_id _ (proj1 Hv) _ _ Hl) as [H1 H2].
  unfold parked_queue, ready_queue, QUEUE_PARKED_BASE, QUEUE_READY_BASE, NUM_PRIORITY, NUM_QUEUE in *. lia.
Qed.

(** ** What it means *)
Section meaning.
  Context (cpu : Z) (o : option Z) (s : ready) (Hok : sched_ok cpu o s).

  (** A thread in a ready queue is ready, and one that is ready and not idle is in the queue of its priority. *)
  Theorem queued_ready t r p : ready_threads s !! t = Some r -> 0 <= p < NUM_PRIORITY -> t ∈ ready_list s cpu p ->
    ready_state r = thread_is_ready /\ ready_priority r = p.
  Proof using Hok.
    intros Ht Hp Hin. destruct (ready_valid_thread _ _ (ok_valid _ _ _ Hok) p t Hp Hin) as [_ E]. rewrite Ht in E.
    by injection E as ->.
  Qed.
  Theorem ready_queued t r : ready_threads s !! t = Some r -> NUM_CPU <= t -> ready_state r = thread_is_ready ->
    t ∈ ready_list s cpu (ready_priority r).
  Proof using Hok.
    intros Ht Hc Hr. destruct (ok_placed _ _ _ Hok t r Ht) as ([q|] & [_ Hs] & Hp); simpl in Hp.
    - destruct Hp as (_ & [[_ ->]|[E _]]); [by apply in_ready_list, Hs|]. rewrite Hr in E. done.
    - by destruct Hp as [_ []].
  Qed.
  (** A thread is in the queue of parked threads exactly if it is parked, *)
  Theorem parked_queued t r : ready_threads s !! t = Some r ->
    ready_state r = thread_is_parked <-> in_queue s (parked_queue cpu) t.
  Proof using Hok.
    intros Ht. destruct (ok_placed _ _ _ Hok t r Ht) as ([q|] & [_ Hs] & Hp); simpl in Hp; rewrite Hs.
    - destruct Hp as (_ & [[E ->]|[E ->]]); rewrite E; [|done]. split; [done|]. intros [= Eq]. symmetry in Eq.
      apply parked_queue_other with (s := s) in Eq as []; [apply (ok_valid _ _ _ Hok)|].
      eapply ready_valid_priority; [apply (ok_valid _ _ _ Hok)|done].
    - by destruct Hp as [? _].
  Qed.
  (** and then in no ready queue: those hold only threads that may run. *)
  Theorem parked_not_ready t r p : ready_threads s !! t = Some r -> ready_state r = thread_is_parked ->
    0 <= p < NUM_PRIORITY -> t ∉ ready_list s cpu p.
  Proof using Hok. intros Ht Hr Hp Hin. destruct (queued_ready t r p Ht Hp Hin) as [E _]. by rewrite E in Hr. Qed.
  (** The running thread is in no queue, of this CPU or another. *)
  Theorem running_nowhere t : o = Some t -> t ∈ queue_free (ready_queues s) /\ forall q, ~ in_queue s q t.
  Proof using Hok.
    intros Ho. destruct (ok_free _ _ _ Hok t Ho) as [_ Hf]. split; [done|]. intros q.
    apply in_queue_free; [apply (ok_valid _ _ _ Hok)|done].
  Qed.
  (** No other thread of this CPU runs. *)
  Theorem running_one t r u : ready_threads s !! t = Some r -> ready_state r = thread_is_running -> o = Some u -> t = u.
  Proof using Hok. intros Ht Hr Ho. apply (ok_runs _ _ _ Hok t r Ht) in Hr. congruence. Qed.
End meaning.

(** ** One thread moves *)
Definition other (o : option Z) (t : Z) : option Z := if bool_decide (o = Some t) then None else o.
Definition running_after (o : option Z) (t x : Z) : option Z := if x =? thread_is_running then Some t else other o t.

Section moved.
  Context (cpu : Z) (o : option Z) (s : ready) (Hok : sched_ok cpu o s).

  Lemma moved_ok t s' r w : moves s t s' -> queue_valid (ready_queues s') -> keeps_queues s s' ->
    stands s' t r w -> place_ok cpu t r w -> 0 <= ready_priority r < NUM_PRIORITY ->
    (ready_state r = thread_is_running -> (o = None \/ o = Some t) /\ t ∈ queue_free (ready_queues s')) ->
    sched_ok cpu (running_after o t (ready_state r)) s'.
  Proof using Hok.
    intros Hm Hq Hk Hs Hp Hr Hrun. split.
    - apply (moves_valid cpu s (ok_valid _ _ _ Hok) t s' Hm Hq Hk).
      + intros r' E. rewrite (proj1 Hs) in E. by injection E as <-.
      + intros p Hpr Hu. apply (proj2 Hs) in Hu as ->. destruct Hp as (Hc & [[E1 E2]|[_ E]]).
        * split; [done|]. rewrite (proj1 Hs). destruct r as [p' x]. simpl in *. subst x. unfold ready_queue in E2.
          by replace p' with p by lia.
        * destruct (parked_queue_other cpu s p (ok_valid _ _ _ Hok) Hpr). by symmetry.
    - intros u x Hu. destruct (decide (u = t)) as [->|Hne].
      + rewrite (proj1 Hs) in Hu. injection Hu as <-. by exists w.
      + destruct (Hm u Hne) as (A & B & _). rewrite A in Hu. destruct (ok_placed _ _ _ Hok u x Hu) as (y & [Hy1 Hy2] & Hy).
        exists y. split; [|done]. split; [by rewrite A|]. intros q. by rewrite B.
    - intros u x Hu. unfold running_after, other. destruct (decide (u = t)) as [->|Hne].
      + rewrite (proj1 Hs) in Hu. injection Hu as <-. destruct (Z.eqb_spec (ready_state r) thread_is_running) as [E|E]; [done|].
        split; [done|]. case_bool_decide; [done|]. done.
      + destruct (Hm u Hne) as (A & _). rewrite A in Hu. rewrite (ok_runs _ _ _ Hok u x Hu).
        destruct (Z.eqb_spec (ready_state r) thread_is_running) as [E|E].
        * destruct (Hrun E) as [[-> | ->] _]; split; congruence.
        * case_bool_decide as E'; [|done]. split; congruence.
    - intros u Hu. unfold running_after, other in Hu.
      destruct (Z.eqb_spec (ready_state r) thread_is_running) as [E|E].
      + injection Hu as <-. split; [by eexists; apply Hs|by apply Hrun].
      + case_bool_decide as E'; [done|]. assert (u <> t) as Hne by congruence. destruct (Hm u Hne) as (A & _ & B).
        rewrite A, B. by apply (ok_free _ _ _ Hok).
  Qed.

  Lemma insert_ok t v s' : sched_ready_insert s cpu t = Some (v, s') -> sched_ok cpu (other o t) s'.
  Proof using Hok.
    intros H. pose proof (ok_valid _ _ _ Hok) as Hv. pose proof (sched_ready_insert_valid _ _ _ _ _ Hv H) as Hv'.
    destruct (insert_moves cpu s Hv t v s' H) as (Hm & Hk & Hc & r & Hr & Hs).
    change (other o t) with (running_after o t (ready_state (ReadyThread (ready_priority r) thread_is_ready))).
    eapply moved_ok; [exact Hm|apply Hv'|exact Hk|exact Hs| | |done].
    - split; [done|]. by left.
    - exact (ready_valid_priority cpu s Hv t r Hr).
  Qed.

  Lemma mark_ok t x s' : sched_mark s t x = Some s' -> x <> thread_is_parked -> (NUM_CPU <= t -> x <> thread_is_ready) ->
    (x = thread_is_running -> o = None \/ o = Some t) -> sched_ok cpu (running_after o t x) s'.
  Proof using Hok.
    intros H Hp Hr Ho. pose proof (ok_valid _ _ _ Hok) as Hv.
    destruct (mark_moves cpu s Hv t x s' H) as (Hm & Eq & Hf & r & Ht & Hs).
    apply (moved_ok t s' (ReadyThread (ready_priority r) x) None Hm);
      [rewrite Eq; apply Hv|unfold keeps_queues; by rewrite Eq|exact Hs|done| |rewrite Eq; auto].
    exact (ready_valid_priority cpu s Hv t r Ht).
  Qed.

  Lemma park_ok t s' : sched_park s cpu (parked_queue cpu) t = Some s' -> sched_ok cpu (other o t) s'.
  Proof using Hok.
    intros H. pose proof (ok_valid _ _ _ Hok) as Hv.
    destruct (park_moves cpu s Hv _ t s' H) as (Hm & Hk & Hc & Hq & Hv' & r & Ht & Hs).
    change (other o t) with (running_after o t (ready_state (ReadyThread (ready_priority r) thread_is_parked))).
    eapply moved_ok; [exact Hm|exact Hv'|exact Hk|exact Hs| | |done].
    - split; [done|]. by right.
    - exact (ready_valid_priority cpu s Hv t r Ht).
  Qed.
End moved.
