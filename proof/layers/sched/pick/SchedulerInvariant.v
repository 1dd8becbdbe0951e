(** The scheduler of a CPU: its functions keep every thread where its state says, exactly one runs, and it is the one that
    the specification chooses. *)
From Ashlar Require Export layers.sched.pick.RunnableInvariant.

(** ** How many are ready: the loop of [sched_pick] ends in time *)
Definition is_ready (s : ready) (t : Z) : bool :=
  match ready_threads s !! t with Some r => ready_state r =? thread_is_ready | None => false end.
Definition ready_count (s : ready) : nat := length (List.filter (is_ready s) (seqZ 0 NUM_THREAD)).

Lemma filter_le {A} (f g : A -> bool) l : (forall x, f x = true -> g x = true) ->
  (length (List.filter f l) <= length (List.filter g l))%nat.
Proof.
  intros H. induction l as [|x l IH]; simpl; [done|]. destruct (f x) eqn:E; [rewrite (H x E); simpl; lia|].
  destruct (g x); simpl; lia.
Qed.
Lemma filter_lt {A} (f g : A -> bool) l v : (forall x, f x = true -> g x = true) -> v ∈ l -> f v = false -> g v = true ->
  (length (List.filter f l) < length (List.filter g l))%nat.
Proof.
  intros H Hin Hf Hg. induction Hin as [v l|v x l _ IH]; simpl.
  - rewrite Hf, Hg. simpl. pose proof (filter_le f g l H). lia.
  - specialize (IH Hf Hg). destruct (f x) eqn:E; [rewrite (H x E); simpl; lia|]. destruct (g x); simpl; lia.
Qed.
Lemma ready_count_most s : (ready_count s <= Z.to_nat NUM_THREAD)%nat.
Proof.
  unfold ready_count. rewrite <- (seqZ_length 0 NUM_THREAD). generalize (seqZ 0 NUM_THREAD) as l.
  induction l as [|x l IH]; simpl; [done|]. destruct (is_ready s x); simpl; lia.
Qed.

Lemma moves_is_ready s t s' r w : moves s t s' -> stands s' t r w -> ready_state r <> thread_is_ready ->
  is_ready s' t = false /\ forall u, is_ready s' u = true -> is_ready s u = true.
Proof.
  intros Hm [Hr _] Hs. unfold is_ready. assert (is_ready s' t = false) as E by (unfold is_ready; rewrite Hr; by apply Z.eqb_neq).
  split; [exact E|]. intros u Hu. destruct (decide (u = t)) as [->|Hne]; [unfold is_ready in E; congruence|].
  by rewrite (proj1 (Hm u Hne)) in Hu.
Qed.

(** ** Choosing *)
Section scheduler.
  Context (has : nat -> bool) (parking : Z -> Z) (cpu : Z).

  Definition nobody_ready (s : ready) : Prop := forall p, 0 <= p < NUM_PRIORITY -> ready_list s cpu p = [].

  Lemma take_ok s v s' : sched_ok cpu None s -> sched_ready_take s cpu = Some (v, s') ->
    v = NONE /\ s' = s /\ nobody_ready s \/
    v <> NONE /\ NUM_CPU <= v /\ sched_ok cpu (Some v) s' /\ (ready_count s' < ready_count s)%nat.
  Proof using.
    intros Hok H. pose proof (ok_valid _ _ _ Hok) as Hv.
    destruct (take_moves cpu s Hv v s' H) as [?|(Hn & Hm & Hk & Hf & p & Hr & Hp & Hin & Hst)]; [by left|right].
    pose proof (sched_ready_take_valid _ _ _ _ Hv H) as Hv'. destruct (ready_valid_thread _ _ Hv p v Hp Hin) as [Hc _].
    split; [done|]. split; [done|]. split.
    - change (Some v) with (running_after None v (ready_state (ReadyThread p thread_is_running))).
      eapply (moved_ok cpu None s Hok); [exact Hm|apply Hv'|exact Hk|exact Hst|done|exact Hp|auto].
    - destruct (moves_is_ready s v s' _ _ Hm Hst) as [A B]; [done|]. unfold ready_count.
      apply (filter_lt _ _ _ v); [exact B| |exact A|].
      + apply elem_of_seqZ. apply in_ready_list in Hin as (l & Hl & Hin).
        destruct (queue_valid_thread _ (proj1 Hv) _ _ v Hl Hin) as [? _]. unfold NUM_THREAD in *. lia.
      + unfold is_ready. by rewrite Hr.
  Qed.

  Lemma park_count s q t s' : sched_ok cpu (Some t) s -> sched_park s cpu q t = Some s' ->
    sched_ok cpu None s' /\ (ready_count s' <= ready_count s)%nat.
  Proof using.
    intros Hok H. pose proof (park_ok cpu _ s Hok q t s' H) as Hok'. unfold other in Hok'. rewrite bool_decide_eq_true_2 in Hok' by done.
    split; [done|]. destruct (park_moves cpu s (ok_valid _ _ _ Hok) q t s' H) as (Hm & _ & _ & _ & _ & r & _ & Hst).
    destruct (moves_is_ready s t s' _ _ Hm Hst) as [_ B]; [done|]. unfold ready_count. by apply filter_le.
  Qed.

  (** What has been chosen: a thread that was ready, or the idle thread if none is. *)
  Definition chosen (next : Z) (s : ready) : Prop :=
    sched_ok cpu (Some next) s /\ (NUM_CPU <= next \/ next = cpu /\ nobody_ready s).

  Lemma idle_chosen s next s' : sched_ok cpu None s -> nobody_ready s -> sched_idle cpu s = Some (next, s') -> chosen next s'.
  Proof using.
    intros Hok Hn H. unfold sched_idle in H. destruct (sched_mark s cpu thread_is_running) as [s1|] eqn:E; [|done].
    simpl in H. injection H as <- <-. split.
    - apply (mark_ok cpu None s Hok cpu thread_is_running s1 E); [done|done|by left].
    - right. split; [done|]. destruct (mark_moves cpu s (ok_valid _ _ _ Hok) _ _ _ E) as (_ & Eq & _).
      intros p Hp. unfold ready_list. rewrite Eq. exact (Hn p Hp).
  Qed.

  Lemma pick_from_chosen n t s next s' :
    (t = NONE /\ sched_ok cpu None s /\ nobody_ready s \/
     t <> NONE /\ NUM_CPU <= t /\ sched_ok cpu (Some t) s /\ (ready_count s < n)%nat) ->
    sched_pick_from has parking cpu n t s = Some (next, s') -> chosen next s'.
  Proof using.
    revert t s. induction n as [|n IH]; intros t s [(-> & Hok & Hn)|(Hne & Hc & Hok & Hlt)] H.
    - eapply idle_chosen; [exact Hok|exact Hn|exact H].
    - lia.
    - eapply idle_chosen; [exact Hok|exact Hn|exact H].
    - cbn [sched_pick_from] in H. rewrite (proj2 (Z.eqb_neq t NONE)) in H by done. destruct (has n).
      + injection H as <- <-. split; [done|by left].
      + destruct (sched_park s cpu (parking t) t) as [s1|] eqn:E1; [|done]. cbn [mbind option_bind] in H.
        destruct (sched_ready_take s1 cpu) as [[t' s2]|] eqn:E2; [|done]. cbn [mbind option_bind] in H.
        destruct (park_count _ _ _ _ Hok E1) as [Hok1 Hle]. apply (IH t' s2); [|exact H].
        destruct (take_ok s1 t' s2 Hok1 E2) as [(-> & -> & Hn)|(Hn' & Hc' & Hok' & Hlt')]; [by left|right].
        split; [done|]. split; [done|]. split; [done|]. lia.
  Qed.

  Theorem sched_pick_chosen s next s' : sched_ok cpu None s -> sched_pick has parking cpu s = Some (next, s') -> chosen next s'.
  Proof using.
    intros Hok H. unfold sched_pick in H. destruct (sched_ready_take s cpu) as [[t s1]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
    eapply pick_from_chosen; [|exact H]. destruct (take_ok s t s1 Hok E) as [(-> & -> & Hn)|(Hn & Hc & Hok' & Hlt)]; [by left|right].
    split; [done|]. split; [done|]. split; [done|]. pose proof (ready_count_most s). lia.
  Qed.

  (** ** The scheduler's functions: the current thread runs before, [next] after *)
  Lemma other_same t : other (Some t) t = None.
  Proof using. unfold other. by rewrite bool_decide_eq_true_2. Qed.

  Theorem sched_block_ok current s next s' : sched_ok cpu (Some current) s ->
    sched_block has parking cpu current s = Some (next, s') -> chosen next s'.
  Proof using.
    intros Hok H. unfold sched_block in H. destruct (sched_mark s current thread_is_blocked) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply sched_pick_chosen; [|exact H]. rewrite <- (other_same current).
    by apply (mark_ok cpu _ s Hok current thread_is_blocked s1 E).
  Qed.
  Theorem sched_exit_ok current s next s' : sched_ok cpu (Some current) s ->
    sched_exit has parking cpu current s = Some (next, s') -> chosen next s'.
  Proof using.
    intros Hok H. unfold sched_exit in H. destruct (sched_mark s current thread_is_exited) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply sched_pick_chosen; [|exact H]. rewrite <- (other_same current).
    by apply (mark_ok cpu _ s Hok current thread_is_exited s1 E).
  Qed.
  Lemma put_back_ok current budget s s' : sched_ok cpu (Some current) s ->
    sched_put_back parking cpu current budget s = Some s' -> sched_ok cpu None s'.
  Proof using.
    intros Hok E. rewrite <- (other_same current). unfold sched_put_back in E. case_bool_decide as Hi; [|destruct budget].
    - apply (mark_ok cpu _ s Hok current thread_is_ready s' E); [done| |done]. unfold NUM_CPU in *. lia.
    - destruct (sched_ready_insert s cpu current) as [[v s2]|] eqn:E2; [|done]. cbn [mbind option_bind] in E. injection E as <-.
      by apply (insert_ok cpu _ s Hok current v s2).
    - by apply (park_ok cpu _ s Hok (parking current)).
  Qed.
  Theorem sched_make_way_ok current budget s next s' : sched_ok cpu (Some current) s ->
    sched_make_way has parking cpu current budget s = Some (next, s') -> chosen next s'.
  Proof using.
    intros Hok H. unfold sched_make_way in H. destruct (sched_put_back parking cpu current budget s) as [s1|] eqn:E; [|done].
    cbn [mbind option_bind] in H. eapply sched_pick_chosen; [|exact H]. by eapply put_back_ok.
  Qed.
  Theorem sched_hand_over_ok current t s next s' : sched_ok cpu (Some current) s ->
    sched_hand_over current t s = Some (next, s') -> next = t /\ sched_ok cpu (Some t) s'.
  Proof using.
    intros Hok H. unfold sched_hand_over in H. destruct (sched_mark s current thread_is_blocked) as [s1|] eqn:E1; [|done].
    cbn [mbind option_bind] in H. destruct (sched_mark s1 t thread_is_running) as [s2|] eqn:E2; [|done].
    cbn [mbind option_bind] in H. injection H as <- <-. split; [done|].
    pose proof (mark_ok cpu _ s Hok current thread_is_blocked s1 E1) as Hok1. unfold running_after in Hok1.
    change (thread_is_blocked =? thread_is_running) with false in Hok1. cbn iota in Hok1. rewrite other_same in Hok1.
    apply (mark_ok cpu None s1) with (x := thread_is_running); [by apply Hok1|done|done|done|by left].
  Qed.
  (** Waking another thread: the current one goes on. *)
  Theorem sched_wake_ok current t s next s' : sched_ok cpu (Some current) s -> t <> current ->
    sched_wake cpu current t s = Some (next, s') -> next = current /\ sched_ok cpu (Some current) s'.
  Proof using.
    intros Hok Hne H. unfold sched_wake in H. destruct (sched_ready_insert s cpu t) as [[v s1]|] eqn:E; [|done].
    cbn [mbind option_bind] in H. injection H as <- <-. split; [done|].
    pose proof (insert_ok cpu _ s Hok t v s1 E) as H. unfold other in H. rewrite bool_decide_eq_false_2 in H by congruence. done.
  Qed.
End scheduler.
