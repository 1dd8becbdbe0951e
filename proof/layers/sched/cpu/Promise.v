(** A promise that all threads of a CPU can keep at each switch, whatever functions of [sched.c] they have called before.

    [steady to X]: [to] runs on the CPU, and the others wait, so that it may ask for a decision or block. [promised to X]: besides, no ready
    thread has a higher priority than [to].
    A thread that decides or blocks keeps this promise: the thread that it hands the CPU to finds the CPU steady, and itself the first. *)
From Ashlar Require Export layers.sched.cpu.Accounts layers.sched.pick.Reachable.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma none_no_thread t : 0 <= t < NUM_THREAD -> NONE <> t.
Proof. unfold NUM_THREAD, NONE. lia. Qed.

Section steady.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Notation accounts_valid := (accounts_valid ours).

  (** ** The promise *)
  (** Only of parked threads the release is still to come. *)
  Definition released (X : cpu_state) : Prop := forall t, 0 <= t -> is_Some (timeouts X !! (SCHED_RELEASE_BASE + t)) ->
    exists r, ready_threads (queues X) !! t = Some r /\ ready_state r = thread_is_parked.
  (** [t] is blocked, in no queue, and not kept: it may be woken. *)
  Definition sleeps (t : Z) (X : cpu_state) : Prop := NUM_CPU <= t /\ word X "kept" <> t /\ t ∈ queue_free (ready_queues (queues X)) /\
    exists r, ready_threads (queues X) !! t = Some r /\ ready_state r = thread_is_blocked.
  (** Threads whose deadline is still to come sleep. *)
  Definition rested (X : cpu_state) : Prop := forall t, 0 <= t < NUM_THREAD -> is_Some (timeouts X !! t) -> sleeps t X.
  (** The threads that the CPU's scheduler knows are the CPU's own, and each is in a queue or free for one; or it is blocked, and its node may be with what it waits for. *)
  Definition known_ours (s : ready) : Prop := forall t, (is_Some (ready_threads s !! t) <-> ours t) /\
    (ours t -> t ∈ queue_free (ready_queues s) \/ (exists q, in_queue s q t) \/ exists r, ready_threads s !! t = Some r /\ ready_state r = thread_is_blocked).
  Definition threads_ours (X : cpu_state) : Prop := known_ours (queues X).
  (** [to] is at work: it alone runs, the CPU's field [running] holds its level, and the time that passes is charged to whom it spends. A kept thread is at least as important. *)
  Record at_work (to : Z) (X : cpu_state) : Prop := {
    work_ok : sched_ok cpu (Some to) (queues X);
    work_owns : sched_owns cpu (queues X);
    work_kept : forall t, kept_thread X = Some t -> may_be_kept cpu t (queues X) /\ (NUM_CPU <= to -> forall r0 r,
      ready_threads (queues X) !! to = Some r0 -> ready_threads (queues X) !! t = Some r -> ready_priority r0 <= ready_priority r);
    work_ours : threads_ours X;
    work_accounts : accounts_valid X;
    work_released : released X;
    work_rested : rested X;
    work_level : word X "running" = level_of to X;
    work_pays : word X "charged" = payer_of X to }.
  (** No thread is switched to directly that is less important than a ready one, nor while one is kept: then a decision is pending. *)
  Definition floor_sound (X : cpu_state) : Prop := ready_best (queues X) cpu <= word X "arch_floor" /\
    (word X "kept" <> NONE -> word X "arch_floor" = ARCH_FLOOR_NONE /\ word X "arch_need_resched" <> 0).
  Definition steady (to : Z) (X : cpu_state) : Prop := word X "arch_current" = to /\ at_work to X /\ floor_sound X.
  (** No ready thread has a higher priority than [to], and none is kept. *)
  Definition first (to : Z) (X : cpu_state) : Prop := ready_best (queues X) cpu <= level_of to X /\ word X "kept" = NONE.
  Definition promised (to : Z) (X : cpu_state) : Prop := steady to X /\ first to X.
  (** No thread runs: the next is to be chosen. *)
  Record waiting (X : cpu_state) : Prop := {
    wait_ok : sched_ok cpu None (queues X);
    wait_owns : sched_owns cpu (queues X);
    wait_kept : forall t, kept_thread X = Some t -> may_be_kept cpu t (queues X);
    wait_ours : threads_ours X;
    wait_accounts : accounts_valid X;
    wait_released : released X;
    wait_rested : rested X }.

  (** While a thread [u] that does not sleep moves, all others that sleep go on sleeping. *)
  Lemma sleeps_moved u t X Y : moves (queues X) u (queues Y) -> t <> u -> word Y "kept" <> t -> sleeps t X -> sleeps t Y.
  Proof using.
    intros Hm Hne Hk (Hc & _ & Hf & r & Hr & Hst). destruct (Hm t Hne) as (A & _ & B). split_and!; [done|done|by apply B|]. exists r. by rewrite A.
  Qed.
  Lemma rested_moved u X Y : rested X -> moves (queues X) u (queues Y) -> ~ sleeps u X -> (word Y "kept" = word X "kept" \/ word Y "kept" = NONE) ->
    (forall t, 0 <= t < NUM_THREAD -> is_Some (timeouts Y !! t) -> is_Some (timeouts X !! t)) -> rested Y.
  Proof using.
    intros HX Hm Hu Hk Ht t Hb H%Ht; [|done]. specialize (HX t Hb H). apply (sleeps_moved u t X Y Hm); [by intros ->| |done].
    destruct Hk as [-> | ->]; [by apply HX|by apply none_no_thread].
  Qed.
  Lemma rested_same X Y : rested X -> queues Y = queues X -> word Y "kept" = word X "kept" ->
    (forall t, 0 <= t < NUM_THREAD -> is_Some (timeouts Y !! t) -> is_Some (timeouts X !! t)) -> rested Y.
  Proof using. intros HX Eq Ek Ht t Hb H%Ht; [|done]. specialize (HX t Hb H). unfold sleeps in *. by rewrite Eq, Ek. Qed.
  Lemma running_wakes t X r : ready_threads (queues X) !! t = Some r -> ready_state r <> thread_is_blocked -> ~ sleeps t X.
  Proof using. intros Hr Hst (_ & _ & _ & r' & Hr' & Hb). rewrite Hr in Hr'. by injection Hr' as <-. Qed.

  Lemma at_work_thread to X : at_work to X -> exists r, ready_threads (queues X) !! to = Some r /\ ready_state r = thread_is_running /\ to ∈ queue_free (ready_queues (queues X)) /\ ours to.
  Proof using.
    intros [Hok _ _ Ho _ _ _ _ _]. destruct (ok_free _ _ _ Hok to eq_refl) as [[r Hr] Hf]. exists r. split_and!; [done|by apply (ok_runs _ _ _ Hok to r Hr)|done|].
    apply (proj1 (Ho to)). by exists r.
  Qed.
  Lemma at_work_place to X Y : at_work to X -> accounts_valid Y -> queues Y = queues X -> timeouts Y = timeouts X -> word Y "running" = word X "running" ->
    word Y "kept" = word X "kept" -> same_payers X Y -> at_work to Y.
  Proof using.
    intros [H1 H2 H3 H4 _ H6 HR H7 H8] Ha Eq Et Er Ek [Ec Ep]. unfold kept_thread, threads_ours, released, level_of in *.
    split; unfold kept_thread, threads_ours, released, level_of; rewrite ?Eq, ?Et, ?Er, ?Ek; try done; [|by rewrite Ec, Ep].
    apply (rested_same X); [done..|]. by rewrite Et.
  Qed.
  Lemma at_work_word to f v X : f <> "since"%string -> f <> "charged"%string -> f <> "arch_clock"%string -> f <> "kept"%string -> f <> "running"%string ->
    at_work to X -> at_work to (set_word f v X).
  Proof using.
    intros N1 N2 N3 N4 N5 [H1 H2 H3 H4 H5 H6 HR H7 H8].
    assert (forall g, f <> g -> word (set_word f v X) g = word X g) as E by (intros g Hg; cbn; by destruct (String.eqb_spec g f)).
    split; [done|done| |done|by apply accounts_word|done| |by rewrite E|by rewrite E].
    - unfold kept_thread. rewrite E by done. exact H3.
    - apply (rested_same X); [done|done|by apply E|done].
  Qed.
  Lemma idle_level to X : at_work to X -> to < NUM_CPU -> word X "running" = 0.
  Proof using. intros [_ _ _ _ _ _ _ -> _] H. unfold level_of. by rewrite (proj2 (Z.leb_gt NUM_CPU to)). Qed.

  (** ** The running thread makes way *)
  Lemma put_back_moves current time s q : ready_valid cpu s -> sched_put_back cpu current time s = Some q -> moves s current q /\
    exists r, ready_threads q !! current = Some r /\ is_Some (ready_threads s !! current) /\
      (current ∈ queue_free (ready_queues q) \/ exists p, in_queue q p current) /\ (NUM_CPU <= current -> time = false -> ready_state r = thread_is_parked).
  Proof using.
    intros Hv H. unfold sched_put_back in H. case_bool_decide as Hc.
    - destruct (mark_moves cpu s Hv _ _ _ H) as (Hm & Eq & Hf & r & Hr & [Hs _]). split; [done|]. eexists. split_and!; [exact Hs|by eexists|left; by rewrite Eq|]. unfold NUM_CPU in *. lia.
    - unfold sched_queue in H. destruct time.
      + destruct (sched_ready_insert s cpu current) as [[v s1]|] eqn:E; [|done]. injection H as ->.
        destruct (insert_moves cpu s Hv _ _ _ E) as (Hm & _ & _ & r & Hr & [Hs Hq]). split; [done|]. eexists. split_and!; [exact Hs|by eexists|right; eexists; by apply Hq|done].
      + destruct (park_moves cpu s Hv _ _ _ H) as (Hm & _ & _ & _ & _ & r & Hr & [Hs Hq]). split; [done|]. eexists. split_and!; [exact Hs|by eexists|right; eexists; by apply Hq|done].
  Qed.
  Lemma moved_ours s t q : moves s t q -> is_Some (ready_threads s !! t) -> is_Some (ready_threads q !! t) ->
    t ∈ queue_free (ready_queues q) \/ (exists p, in_queue q p t) -> known_ours s -> known_ours q.
  Proof using.
    intros Hm Ht Htq Hplace Ho u. destruct (Ho u) as [Hk Hp]. destruct (decide (u = t)) as [->|Hne].
    - split; [by split; [intros _; apply Hk|]|]. intros _. destruct Hplace as [Hf|Hin]; [by left|right; by left].
    - destruct (Hm u Hne) as (A & B & D). rewrite A, D. split; [done|]. intros [Hf|[[p Hin]|Hb]]%Hp; [by left|right; left; exists p; by apply B|right; by right].
  Qed.
  Lemma put_back_waits self X X2 time q Y : steady self X -> accounts_valid X2 -> same_place X X2 -> sched_put_back cpu self time (queues X) = Some q ->
    (Y = set_queues q X2 /\ (time = true \/ self < NUM_CPU) \/ Y = parked self q X2 /\ time = false /\ NUM_CPU <= self) ->
    waiting Y /\ word Y "arch_current" = self.
  Proof using Hcpu.
    intros (Ecur & Hw & _) Ha Hp Hq HY. pose proof (at_work_thread self X Hw) as (rs & Hrs & Hrun & _ & _). destruct Hw as [Hok Hown Hk Ho _ Hrel Hrest _ _]. destruct Hp as [_ Et _ Ek Ec _ _].
    pose proof (ok_valid _ _ _ Hok) as Hv. destruct (put_back_moves self time (queues X) q Hv Hq) as (Hm & r & Hr & Hsome & Hplace & Hparked).
    assert (queues Y = q /\ word Y "kept" = word X "kept" /\ word Y "arch_current" = self /\ accounts_valid Y) as (EqY & EkY & EcY & HaY).
    { rewrite <- Ek, <- Ecur, <- Ec. destruct HY as [[-> _]|[-> _]]; (split_and!; [done..|]).
      - apply (accounts_same ours X2); [done..|cbn; pose proof (valid_time ours X2 Ha) as [??]; lia|done].
      - apply (accounts_same ours X2); [done..|cbn; pose proof (valid_time ours X2 Ha) as [??]; lia|done]. }
    split; [|done]. split; [..|exact HaY| |].
    - rewrite EqY. by eapply put_back_ok.
    - rewrite EqY. destruct (put_back_some cpu Hcpu self (queues X) Hok Hown time) as (q' & E & H). rewrite Hq in E. by injection E as <-.
    - intros t Hkt. unfold kept_thread in Hkt. rewrite EkY in Hkt. destruct (Hk t Hkt) as [Hmk Hle]. rewrite EqY. destruct (decide (self < NUM_CPU)) as [Hi|Hi].
      + unfold sched_put_back in Hq. rewrite bool_decide_eq_true_2 in Hq by done. by eapply marked_kept.
      + pose proof Hmk as (_ & _ & rt & Hrt & _). eapply put_back_kept; [exact Hok|exact Hq|exact Hmk|exact Hrs|exact Hrt|]. apply Hle; [lia|done..].
    - unfold threads_ours. rewrite EqY. apply (moved_ours (queues X) self q Hm Hsome (ex_intro _ r Hr) Hplace Ho).
    - unfold released. rewrite EqY. assert (forall t, 0 <= t -> is_Some (timeouts X !! (SCHED_RELEASE_BASE + t)) -> exists r, ready_threads q !! t = Some r /\ ready_state r = thread_is_parked) as Hold.
      { intros t Ht0 Ht. destruct (Hrel t Ht0 Ht) as (rt & Hrt & Hst). exists rt. split; [|done].
        assert (t <> self) as Hne by (intros ->; rewrite Hrs in Hrt; injection Hrt as ->; by rewrite Hrun in Hst). by rewrite (proj1 (Hm t Hne)). }
      destruct HY as [[-> _]|(-> & Htime & Hself)]; [cbn [timeouts set_queues]; by rewrite Et|]. intros t Ht0. cbn [timeouts parked set_word set_timeouts]. rewrite Et.
      destruct (decide (t = self)) as [->|Hne]; [intros _; exists r; auto|]. rewrite lookup_insert_ne by lia. by apply Hold.
    - apply (rested_moved self X); [done|by rewrite EqY|by apply (running_wakes self X rs); [|rewrite Hrun]|by left|].
      intros t Htb. destruct HY as [[-> _]|(-> & _ & Hself)]; [cbn [timeouts set_queues]; by rewrite Et|]. cbn [timeouts parked set_word set_timeouts]. rewrite Et.
      rewrite lookup_insert_ne; [done|]. unfold SCHED_RELEASE_BASE, NUM_THREAD, NUM_CPU in *. lia.
  Qed.

  (** ** The next thread *)
  Lemma sched_next_owns kept s t s' : ready_valid cpu s -> sched_owns cpu s -> sched_next cpu kept s = Some (t, s') -> sched_owns cpu s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct kept as [k|]; cbn [sched_next] in H.
    - unfold sched_run_kept in H. destruct (ready_threads s !! k); [|done]. cbn [mbind option_bind] in H. destruct (_ && _); [|done].
      destruct (sched_mark s k thread_is_running) as [s1|] eqn:E; [|done]. cbn [mbind option_bind] in H. injection H as <- <-. by eapply owns_mark.
    - unfold sched_pick in H. destruct (sched_ready_take s cpu) as [[v s1]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
      pose proof (owns_take cpu Hcpu s v s1 Hv Ho E) as Ho1. destruct (v =? NONE); [|by injection H as <- <-]. unfold sched_idle in H.
      destruct (sched_mark s1 cpu thread_is_running) as [s2|] eqn:E2; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
      eapply owns_mark; [|exact Ho1|exact E2]. by eapply sched_ready_take_valid.
  Qed.
  Lemma next_moves X t s : waiting X -> sched_next cpu (kept_thread X) (queues X) = Some (t, s) ->
    moves (queues X) t s /\ ~ sleeps t X /\ (t ∈ queue_free (ready_queues s) \/ exists q, in_queue s q t) /\ exists r, ready_threads (queues X) !! t = Some r /\ ready_state r <> thread_is_parked.
  Proof using Hcpu.
    intros [Hok _ Hk _ _ _ _] H. pose proof (ok_valid _ _ _ Hok) as Hv. destruct (kept_thread X) as [k|] eqn:Ekept; cbn [sched_next] in H.
    - unfold sched_run_kept in H. destruct (ready_threads (queues X) !! k) as [r|] eqn:Er; [|done]. cbn [mbind option_bind] in H. destruct (_ && _) eqn:Eb; [|done].
      destruct (sched_mark (queues X) k thread_is_running) as [s1|] eqn:E; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
      destruct (mark_moves cpu _ Hv _ _ _ E) as (Hm & Eq & Hf & _). split; [done|]. split; [|split; [left; by rewrite Eq|exists r; split; [done|]]].
      { intros (_ & Hne & _). unfold kept_thread in Ekept. destruct (word X "kept" =? NONE); [done|]. by injection Ekept. }
      apply andb_true_iff in Eb as [[_ Es%Z.eqb_eq]%andb_true_iff _]. by rewrite Es.
    - unfold sched_pick in H. destruct (sched_ready_take (queues X) cpu) as [[v s1]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
      destruct (take_moves cpu _ Hv v s1 E) as [(-> & -> & _)|(Hne & Hm & _ & Hf & p & Hr & _)].
      + change (NONE =? NONE) with true in H. cbn iota in H. unfold sched_idle in H. destruct (sched_mark (queues X) cpu thread_is_running) as [s2|] eqn:E2; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
        destruct (mark_moves cpu _ Hv _ _ _ E2) as (Hm & Eq & Hf & r & Hr & _). split; [done|]. split; [intros (Hc & _); unfold NUM_CPU in *; lia|]. split; [left; by rewrite Eq|]. exists r. split; [done|]. intros Hp.
        destruct (ok_placed _ _ _ Hok cpu r Hr) as ([q|] & _ & Hplace); [destruct Hplace as [Hc _]; unfold NUM_CPU in *; lia|by destruct Hplace].
      + rewrite (proj2 (Z.eqb_neq v NONE)) in H by done. injection H as <- <-. split; [done|]. split; [by eapply running_wakes|]. split; [by left|]. by exists (ReadyThread p thread_is_ready).
  Qed.
  Lemma with_next_parts s X : queues (with_next s X) = s /\ kept_thread (with_next s X) = None /\ timeouts (with_next s X) = timeouts X /\
    word (with_next s X) "arch_current" = word X "arch_current" /\ reservation_of (with_next s X) = reservation_of X /\ (accounts_valid X -> accounts_valid (with_next s X)).
  Proof using this.
    unfold with_next, kept_thread. destruct (word X "kept" =? NONE) eqn:E; (split_and!; [done| |done..|]).
    - cbn. by rewrite E.
    - intros HX. apply (accounts_same ours X); [done..|cbn; pose proof (valid_time ours X HX) as [??]; lia|done].
    - done.
    - intros HX. apply (accounts_same ours X); [done..|cbn; pose proof (valid_time ours X HX) as [??]; lia|done].
  Qed.
  Lemma next_runs X : waiting X -> exists t s, sched_next cpu (kept_thread X) (queues X) = Some (t, s) /\ chargeable ours t (with_next s X) /\
    (NUM_CPU <= t -> exists r, ready_threads (queues (with_next s X)) !! t = Some r /\ 0 <= ready_priority r < NUM_PRIORITY) /\
    forall Y, set_to_run this t (with_next s X) Y -> at_work t Y /\ first t Y /\ floor_sound Y /\ word Y "arch_current" = word X "arch_current".
  Proof using Hcpu ours_bound.
    intros HX. pose proof HX as [Hok Hown Hk Ho Ha Hrel Hrest]. destruct (sched_next_some cpu (kept_thread X) (queues X) Hok Hown Hk) as (t & s & E).
    destruct (sched_next_chosen cpu (kept_thread X) (queues X) t s Hok E) as [[Hoks Himp] _].
    pose proof (sched_next_owns _ _ _ _ (ok_valid _ _ _ Hok) Hown E) as Howns. destruct (next_moves X t s HX E) as (Hm & Hwoke & Hplace & r0 & Hr0 & Hnp).
    destruct (with_next_parts s X) as (Eq & Ekn & Et & Ec & Er & HaN). specialize (HaN Ha).
    assert (ours t) as Hot by (apply (proj1 (Ho t)); by exists r0). pose proof (ours_bound t Hot) as Hb.
    destruct (ok_free _ _ _ Hoks t eq_refl) as [[r Hr] _]. pose proof (ready_valid_priority cpu s (ok_valid _ _ _ Hoks) t r Hr) as Hprio.
    exists t, s. split; [done|]. split; [|split].
    - split_and!; [done|by apply valid_payer|by apply valid_payer_charged|apply (valid_time ours _ HaN)|unfold NUM_THREAD, NONE in *; lia].
    - intros _. exists r. by rewrite Eq.
    - intros Y HY. destruct (accounts_set_to_run this ours (with_next s X) t Y HaN Hot HY) as (HaY & EqY & EtY & El & Eky & EcY & Hfl).
      assert (word Y "kept" = NONE) as Enone by (rewrite Eky; unfold kept_thread in Ekn; by destruct (Z.eqb_spec (word (with_next s X) "kept") NONE)).
      assert (level_of t (with_next s X) = level_of t Y) as Elev by (unfold level_of; by rewrite EqY).
      split; [|split; [split; [|done]|split; [split; [by rewrite EqY|done]|by rewrite EcY]]].
      + split; [by rewrite EqY, Eq|by rewrite EqY, Eq| | |done| | |by rewrite El|by apply (payers_set_to_run this t (with_next s X))].
        * unfold kept_thread in *. rewrite Eky. by rewrite Ekn.
        * unfold threads_ours. rewrite EqY, Eq. eapply moved_ours; [exact Hm|by eexists|by eexists|exact Hplace|exact Ho].
        * unfold released. rewrite EtY, Et, EqY, Eq. intros u Hu0 Hu. destruct (Hrel u Hu0 Hu) as (ru & Hru & Hst). exists ru. split; [|done].
          assert (u <> t) as Hne by (intros ->; rewrite Hr0 in Hru; injection Hru as ->; done). by rewrite (proj1 (Hm u Hne)).
        * apply (rested_moved t X); [done|by rewrite EqY, Eq|done|by right|]. by rewrite EtY, Et.
      + rewrite <- Elev, EqY, Eq. unfold level_of. rewrite Eq, Hr. destruct Himp as [[Hc (r' & Hr' & Hmost)]|[-> Hnone]].
        * rewrite Hr in Hr'. injection Hr' as <-. rewrite (proj2 (Z.leb_le NUM_CPU t)) by done. apply ready_best_bound; [lia|]. intros p u Hp Hu.
          destruct (decide (p <= ready_priority r)); [lia|]. by destruct (Hmost p u ltac:(lia)).
        * rewrite (proj2 (Z.leb_gt NUM_CPU cpu)) by lia. apply ready_best_bound; [lia|]. intros p u Hp Hu. rewrite (Hnone p Hp) in Hu. by apply elem_of_nil in Hu.
  Qed.
  (** So a thread that waits may block or make way, and finds the promise kept when it is back. *)
  Lemma waiting_blocks self X : waiting X -> word X "arch_current" = self -> may_block this ours promised self X /\
    forall Z, blocked this promised self X Z -> promised self Z.
  Proof using Hcpu ours_bound.
    intros HX Ec. destruct (next_runs X HX) as (t & s & E & Hch & Hpr & Hrun). destruct (with_next_parts s X) as (_ & _ & _ & Ecn & _).
    assert (forall Y, set_to_run this t (with_next s X) Y -> promised t (set_word "arch_current" t Y)) as Hset.
    { intros Y HY. destruct (Hrun Y HY) as (Hw & Hf & Hfl & _). split; [split_and!; [done|by apply at_work_word|done]|done]. }
    split.
    - exists t, s. split; [done|]. split; [done|]. split; [done|]. intros Hne Y HY. rewrite Ecn, Ec in Hne. split; [done|]. by apply Hset.
    - intros Z (t' & s' & E' & HZ). rewrite E in E'. injection E' as <- <-. unfold ran in HZ. rewrite Ecn, Ec in HZ.
      destruct (Z.eqb_spec t self) as [->|]; [|done]. destruct (Hrun Z HZ) as (Hw & Hf & Hfl & EcZ). split; [split_and!; [by rewrite EcZ|done..]|done].
  Qed.
  Lemma promised_unmarked self v X : promised self X -> promised self (set_word "arch_need_resched" v X).
  Proof using. intros [(Hc & Hw & Hfl & _) [Hf Hk]]. split; [split_and!; [done|by apply at_work_word|split; done]|done]. Qed.
  (** After start-up: the idle thread runs, no other has run, and no time is charged. *)
  Theorem promised_at_start X : sched_start cpu (queues X) -> is_Some (queue_lists (ready_queues (queues X)) !! parked_queue cpu) -> threads_ours X ->
    word X "arch_current" = cpu -> word X "running" = 0 -> word X "kept" = NONE -> word X "charged" = NONE -> word X "since" = 0 -> 0 <= word X "arch_clock" < horizon ->
    0 <= word X "arch_floor" ->
    (forall t, ours t -> reservation_valid 0 (reservation_of X t) /\ (payer_of X t = NONE \/ ours (payer_of X t))) ->
    payer_of X cpu = NONE -> timeouts X = ∅ -> promised cpu X.
  Proof using Hcpu.
    intros Hs Hp Ho Hc Hr Hk Hch Hsince Hclock Hfl Hres Hidle Ht. pose proof Hs as (_ & He & _ & _ & Hi).
    assert (ready_best (queues X) cpu = 0) as Hbest.
    { destruct (ready_best_spec (queues X) cpu) as [[E _]|(q & t & l & _ & _ & Hl & _)]; [done|]. exfalso. unfold ready_list in Hl.
      destruct (queue_lists (ready_queues (queues X)) !! ready_queue cpu q) as [l'|] eqn:El; [|done]. rewrite (He _ _ El) in Hl. done. }
    assert (level_of cpu X = 0) as Hlev by (unfold level_of; by rewrite (proj2 (Z.leb_gt NUM_CPU cpu)) by lia).
    split; [split; [done|split]|split; [lia|done]].
    - split; [by apply start_ok|by split| |done| | | |congruence|congruence].
      + unfold kept_thread. by rewrite Hk.
      + split; [unfold time_ok; lia| |by left]. rewrite Hsince. exact Hres.
      + intros t _. rewrite Ht, lookup_empty. by intros [? ?].
      + intros t _. rewrite Ht, lookup_empty. by intros [? ?].
    - split; [lia|]. by rewrite Hk.
  Qed.
  (** A decision is requested. *)
  Lemma steady_requested self X : word X "arch_current" = self -> at_work self X -> steady self (requested X).
  Proof using. intros Hc Hw. split; [done|]. split; [by repeat (apply at_work_word; [done..|])|]. split; [apply best_floor|done]. Qed.
End steady.
