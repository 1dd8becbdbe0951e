(** The scheduler of a CPU: its functions keep every thread where its state says, exactly one runs, and it is the one that
    the specification chooses. *)
From Ashlar Require Export layers.sched.pick.RunnableInvariant.

(** ** Choosing *)
Section scheduler.
  Context (cpu : Z).

  Definition none_ready (s : ready) : Prop := forall p, 0 <= p < NUM_PRIORITY -> ready_list s cpu p = [].
  (** No ready thread is more important. *)
  Definition most_important (t : Z) (s : ready) : Prop :=
    exists r, ready_threads s !! t = Some r /\ forall p u, ready_priority r < p < NUM_PRIORITY -> u ∉ ready_list s cpu p.
  (** What has been chosen: a thread than which none is more important, or the idle thread if none is ready. *)
  Definition chosen (next : Z) (s : ready) : Prop :=
    sched_ok cpu (Some next) s /\ (NUM_CPU <= next /\ most_important next s \/ next = cpu /\ none_ready s).

  Lemma take_ok s v s' : sched_ok cpu None s -> sched_ready_take s cpu = Some (v, s') ->
    v = NONE /\ s' = s /\ none_ready s \/ v <> NONE /\ NUM_CPU <= v /\ chosen v s'.
  Proof using.
    intros Hok H. pose proof (ok_valid _ _ _ Hok) as Hv.
    destruct (take_moves cpu s Hv v s' H) as [?|(Hn & Hm & Hk & Hf & p & Hr & Hp & Hin & Hst)]; [by left|right].
    pose proof (sched_ready_take_valid _ _ _ _ Hv H) as Hv'. destruct (ready_valid_thread _ _ Hv p v Hp Hin) as [Hc _].
    split; [done|]. split; [done|]. split; [|left; split; [done|]].
    - change (Some v) with (running_after None v (ready_state (ReadyThread p thread_is_running))).
      eapply (moved_ok cpu None s Hok); [exact Hm|apply Hv'|exact Hk|exact Hst|done|exact Hp|auto].
    - exists (ReadyThread p thread_is_running). split; [apply Hst|]. intros p' u Hp' Hu. cbn [ready_priority] in Hp'.
      destruct (sched_ready_take_highest cpu s v s' Hv H Hn) as (r & Hr' & Hhigh). rewrite Hr in Hr'. injection Hr' as <-.
      destruct (sched_ready_take_rest cpu s v s' Hv H Hn) as [Hno Hrest]. apply (Hhigh p' u); [done|].
      apply Hrest; [|done]. intros ->. apply (Hno p'); [lia|done].
  Qed.

  Lemma idle_chosen s next s' : sched_ok cpu None s -> none_ready s -> sched_idle cpu s = Some (next, s') -> chosen next s'.
  Proof using.
    intros Hok Hn H. unfold sched_idle in H. destruct (sched_mark s cpu thread_is_running) as [s1|] eqn:E; [|done].
    simpl in H. injection H as <- <-. split.
    - apply (mark_ok cpu None s Hok cpu thread_is_running s1 E); [done|done|by left].
    - right. split; [done|]. destruct (mark_moves cpu s (ok_valid _ _ _ Hok) _ _ _ E) as (_ & Eq & _).
      intros p Hp. unfold ready_list. rewrite Eq. exact (Hn p Hp).
  Qed.
  Theorem sched_pick_chosen s next s' : sched_ok cpu None s -> sched_pick cpu s = Some (next, s') -> chosen next s'.
  Proof using.
    intros Hok H. unfold sched_pick in H. destruct (sched_ready_take s cpu) as [[t s1]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
    destruct (take_ok s t s1 Hok E) as [(-> & -> & Hn)|(Hn & _ & Hc)].
    - by eapply idle_chosen.
    - rewrite (proj2 (Z.eqb_neq t NONE)) in H by done. by injection H as <- <-.
  Qed.

  Theorem sched_run_kept_chosen t s next s' : sched_ok cpu None s -> sched_run_kept cpu t s = Some (next, s') ->
    next = t /\ chosen t s'.
  Proof using.
    intros Hok H. unfold sched_run_kept in H. destruct (ready_threads s !! t) as [r|] eqn:Hr; [|done]. cbn [mbind option_bind] in H.
    destruct (_ && _) eqn:Eb; [|done]. destruct (sched_mark s t thread_is_running) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. injection H as <- <-. split; [done|].
    apply andb_true_iff in Eb as [[Hc%bool_decide_eq_true _]%andb_true_iff Hb%Z.leb_le].
    split; [by apply (mark_ok cpu None s Hok t thread_is_running s1 E); [..|left]|]. left. split; [done|].
    destruct (mark_moves cpu s (ok_valid _ _ _ Hok) _ _ _ E) as (_ & Eq & _ & r' & Hr' & [Hr1 _]).
    rewrite Hr in Hr'. injection Hr' as <-. eexists. split; [exact Hr1|]. cbn [ready_priority]. intros p u Hp.
    replace (ready_list s1 cpu p) with (ready_list s cpu p) by (unfold ready_list; by rewrite Eq).
    pose proof (ready_valid_priority cpu s (ok_valid _ _ _ Hok) t r Hr) as Hrange.
    destruct (ready_best_spec s cpu) as [[_ Hn]|(p0 & _ & _ & E0 & _ & _ & Hn)];
      (rewrite Hn; [apply not_elem_of_nil|]); lia.
  Qed.

  Theorem sched_next_chosen kept s next s' : sched_ok cpu None s -> sched_next cpu kept s = Some (next, s') ->
    chosen next s' /\ forall t, kept = Some t -> next = t.
  Proof using.
    intros Hok H. destruct kept as [t|].
    - destruct (sched_run_kept_chosen t s next s' Hok H) as [-> Hc]. split; [done|]. by intros u [= ->].
    - split; [|done]. by eapply sched_pick_chosen.
  Qed.

  (** ** The scheduler's functions: the current thread runs before, [next] after *)
  Lemma other_same t : other (Some t) t = None.
  Proof using. unfold other. by rewrite bool_decide_eq_true_2. Qed.
  Lemma marked_ok current x s s' : sched_ok cpu (Some current) s -> sched_mark s current x = Some s' ->
    x <> thread_is_parked -> x <> thread_is_running -> (NUM_CPU <= current -> x <> thread_is_ready) -> sched_ok cpu None s'.
  Proof using.
    intros Hok E Hp Hn Hr. pose proof (mark_ok cpu _ s Hok current x s' E Hp Hr) as H. unfold running_after in H.
    rewrite (proj2 (Z.eqb_neq x _)), other_same in H by done. apply H. by intros ?.
  Qed.

  Theorem sched_block_ok current kept s next s' : sched_ok cpu (Some current) s ->
    sched_block cpu current kept s = Some (next, s') -> chosen next s' /\ forall t, kept = Some t -> next = t.
  Proof using.
    intros Hok H. unfold sched_block in H. destruct (sched_mark s current thread_is_blocked) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply sched_next_chosen; [|exact H]. by eapply marked_ok.
  Qed.
  Theorem sched_exit_ok current kept s next s' : sched_ok cpu (Some current) s ->
    sched_exit cpu current kept s = Some (next, s') -> chosen next s' /\ forall t, kept = Some t -> next = t.
  Proof using.
    intros Hok H. unfold sched_exit in H. destruct (sched_mark s current thread_is_exited) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply sched_next_chosen; [|exact H]. by eapply marked_ok.
  Qed.
  Theorem sched_hand_over_ok current t s next s' : sched_ok cpu (Some current) s ->
    sched_hand_over cpu current t s = Some (next, s') -> next = t /\ chosen t s'.
  Proof using.
    intros Hok H. destruct (sched_block_ok current (Some t) s next s' Hok H) as [Hc E]. rewrite (E t eq_refl) in Hc |- *. done.
  Qed.

  (** A thread that is not ready is not chosen; so one that blocks or ends does not run on. *)
  Lemma sched_next_other kept t r s next s' : ready_valid cpu s -> ready_threads s !! t = Some r ->
    ready_state r <> thread_is_ready -> t <> cpu -> kept <> Some t -> sched_next cpu kept s = Some (next, s') -> next <> t.
  Proof using.
    intros Hv Hr Hn Hc Hk H. destruct kept as [u|]; cbn [sched_next] in H.
    - unfold sched_run_kept in H. destruct (ready_threads s !! u); [|done]. cbn [mbind option_bind] in H.
      destruct (_ && _); [|done]. destruct (sched_mark s u thread_is_running); [|done]. cbn [mbind option_bind] in H. congruence.
    - unfold sched_pick in H. destruct (sched_ready_take s cpu) as [[v s1]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
      destruct (Z.eqb_spec v NONE) as [->|Hv'].
      + unfold sched_idle in H. destruct (sched_mark s1 cpu thread_is_running); [|done]. cbn [mbind option_bind] in H. congruence.
      + injection H as <- <-. intros ->. destruct (take_moves cpu s Hv t s1 E) as [(? & _)|(_ & _ & _ & _ & p & Hr' & _)]; [done|].
        rewrite Hr in Hr'. by injection Hr' as ->.
  Qed.
  Lemma marked_other current x kept s s1 next s' : sched_ok cpu (Some current) s -> x <> thread_is_ready -> current <> cpu ->
    kept <> Some current -> sched_mark s current x = Some s1 -> sched_next cpu kept s1 = Some (next, s') -> next <> current.
  Proof using.
    intros Hok Hx Hc Hk E. destruct (mark_moves cpu s (ok_valid _ _ _ Hok) _ _ _ E) as (_ & _ & _ & r & _ & [Hr _]).
    intros H. eapply (sched_next_other kept current _ s1 next s'); [|exact Hr|done..].
    by eapply sched_mark_valid; [apply (ok_valid _ _ _ Hok)|].
  Qed.
  Theorem sched_block_other current kept s next s' : sched_ok cpu (Some current) s -> current <> cpu -> kept <> Some current ->
    sched_block cpu current kept s = Some (next, s') -> next <> current.
  Proof using.
    intros Hok Hc Hk H. unfold sched_block in H. destruct (sched_mark s current thread_is_blocked) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply marked_other; [exact Hok| |exact Hc|exact Hk|exact E|exact H]. done.
  Qed.
  Theorem sched_exit_other current kept s next s' : sched_ok cpu (Some current) s -> current <> cpu -> kept <> Some current ->
    sched_exit cpu current kept s = Some (next, s') -> next <> current.
  Proof using.
    intros Hok Hc Hk H. unfold sched_exit in H. destruct (sched_mark s current thread_is_exited) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply marked_other; [exact Hok| |exact Hc|exact Hk|exact E|exact H]. done.
  Qed.

  (** A thread goes into a queue. *)
  Lemma queue_ok o t time s s' : sched_ok cpu o s -> sched_queue cpu t time s = Some s' -> sched_ok cpu (other o t) s'.
  Proof using.
    intros Hok E. unfold sched_queue in E. destruct time.
    - destruct (sched_ready_insert s cpu t) as [[v s2]|] eqn:E2; [|done]. cbn [mbind option_bind] in E. injection E as <-.
      by eapply insert_ok.
    - by eapply park_ok.
  Qed.
  Lemma put_back_ok current time s s' : sched_ok cpu (Some current) s ->
    sched_put_back cpu current time s = Some s' -> sched_ok cpu None s'.
  Proof using.
    intros Hok E. unfold sched_put_back in E. case_bool_decide as Hi.
    - eapply marked_ok; [exact Hok|exact E|done|done|]. unfold NUM_CPU in *. lia.
    - rewrite <- (other_same current). by eapply queue_ok.
  Qed.
  Theorem sched_make_way_ok current time kept s next s' : sched_ok cpu (Some current) s ->
    sched_make_way cpu current time kept s = Some (next, s') -> chosen next s' /\ forall t, kept = Some t -> next = t.
  Proof using.
    intros Hok H. unfold sched_make_way in H. destruct (sched_put_back cpu current time s) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply sched_next_chosen; [|exact H]. by eapply put_back_ok.
  Qed.

  (** A thread that does not run waits; the current one goes on. *)
  Lemma sched_insert_ok current t w r s s' : sched_ok cpu (Some current) s -> ready_threads s !! t = Some r ->
    ready_state r = thread_is_blocked -> sched_insert cpu t w s = Some s' -> sched_ok cpu (Some current) s'.
  Proof using.
    intros Hok Hr E H. destruct w as [time|]; cbn [sched_insert] in H; [|by injection H as <-].
    pose proof (queue_ok _ t time s s' Hok H) as H'. unfold other in H'. rewrite bool_decide_eq_false_2 in H'; [done|].
    intros Eo. apply (ok_runs _ _ _ Hok t r Hr) in Eo. by rewrite E in Eo.
  Qed.
  Theorem sched_wake_ok current t w s next s' : sched_ok cpu (Some current) s ->
    sched_wake cpu current t w s = Some (next, s') -> next = current /\ sched_ok cpu (Some current) s'.
  Proof using.
    intros Hok H. unfold sched_wake in H. destruct (ready_threads s !! t) as [r|] eqn:Hr; [|done]. cbn [mbind option_bind] in H.
    destruct (Z.eqb_spec (ready_state r) thread_is_blocked) as [E|]; [|done].
    destruct (sched_insert cpu t w s) as [s1|] eqn:Ei; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
    split; [done|]. by eapply sched_insert_ok.
  Qed.
End scheduler.
