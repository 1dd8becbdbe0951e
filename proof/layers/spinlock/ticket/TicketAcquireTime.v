(** Bounded waiting for a ticket lock: CPUs x critical section x the scheduler's fairness bound.

    From drawing its ticket to owning what the lock guards, a CPU lets at most so many events pass, of all CPUs together.
    Every event decreases the bound: one of the first of the queue is one less of those that it may still cause; any other
    is one less before the first moves again, which a bounded-fair scheduler grants it among any [F] events. *)
From Ashlar Require Export layers.spinlock.ticket.TicketStep.

(** The scheduler was bounded-fair at every event. *)
Definition bounded_fair_throughout (F : nat) (contending : nat -> atomic_log -> Prop) (l : atomic_log) : Prop :=
  forall e x l', l = e ++ x :: l' -> bounded_fair F contending (who x) l'.

Lemma bounded_fair_tail F contending x l : bounded_fair_throughout F contending (x :: l) ->
  bounded_fair F contending (who x) l /\ bounded_fair_throughout F contending l.
Proof. intros H. split; [by apply (H [])|]. intros e y l' ->. by apply (H (x :: e)). Qed.

(** It is so in every machine with this scheduler assumption. *)
Lemma reach_bounded_fair F init guarded contending ncpu (A : agent cprim mem) (P : nat -> ast A) g :
  reach ncpu (atomics_layer F init guarded contending) A P g -> bounded_fair_throughout F contending (glog g).
Proof.
  induction 1 as [|g g' Hr IH [c Hst]]; [by intros [|? ?] ? ?|].
  destruct Hst as [l f s Hc Hn|l f p v m o Hc Hn Hsch Hp]; simpl in *; [done|].
  intros [|y e] x l' Hl; injection Hl as <- Hl; [by rewrite <- Hl|]. by apply (IH e x l').
Qed.

Section bound.
  Context (ncpu budget F : nat).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation replay := (replay hold_bound).
  Notation contending := (queued hold_bound).

  (** How many events the first of the queue, in phase [p], and those behind it may still cause until [c] owns. *)
  Definition turn_cost (p : phase) : nat := match p with Waits => 2 | Served => 1 | _ => 0 end.
  Definition remaining (k : Z) (ahead : list nat) (p : phase) : nat :=
    match ahead with [] => turn_cost p | _ => work hold_bound k ahead p + 2 end.
  Definition first_of (c : nat) (ahead : list nat) : nat := match ahead with [] => c | h :: _ => h end.
  Definition until_owned (k : Z) (c : nat) (ahead : list nat) (p : phase) (l : atomic_log) : nat :=
    remaining k ahead p * S F + (F - events_since_move (first_of c ahead) l).

  (** CPU [c] is queued for lock [k] behind [ahead] and does not own yet. *)
  Definition in_queue (k : Z) (c : nat) (ahead : list nat) (t : queue) : Prop :=
    (exists behind, waiting t = ahead ++ c :: behind) /\
    (ahead = [] -> first_phase t = Waits \/ first_phase t = Served).

  Lemma in_queue_contending k c ahead t l : replay k l = Some t -> in_queue k c ahead t -> contending (first_of c ahead) l.
  Proof.
    intros Ht ((behind & Hq) & _). exists k, t. split; [done|]. rewrite Hq. destruct ahead; simpl; left.
  Qed.

  (** Every event decreases the remaining waiting time. *)
  Lemma makes_progress k c x l t t' ahead : replay k l = Some t -> queue_step hold_bound k x t = Some t' ->
    in_queue k c ahead t -> x <> Event c (EOwn k) -> bounded_fair F contending (who x) l ->
    exists ahead', in_queue k c ahead' t' /\
      (until_owned k c ahead' (first_phase t') (x :: l) < until_owned k c ahead (first_phase t) l)%nat.
  Proof.
    intros Ht Hs Hin Hown Hpat. pose proof (in_queue_contending k c ahead t l Ht Hin) as Heng.
    destruct Hin as ((behind & Hq) & Hph).
    assert (Hother : who x <> first_of c ahead -> (events_since_move (first_of c ahead) l < F)%nat).
    { intros Hne. apply Hpat; [congruence|done]. }
    destruct (decide (who x = c)) as [Hx|Hx].
    - (* its own: it looks *)
      destruct x as [c' o]. simpl in Hx. subst c'. apply queue_step_shape in Hs. cbn [who what] in *.
      destruct (replay_invariant _ _ _ _ Ht) as [Hnd _ _ _ _ _].
      assert (Hc : c ∈ waiting t) by (rewrite Hq; apply elem_of_app; right; left).
      assert (Hfirst : forall q, waiting t = c :: q -> ahead = []).
      { intros q Hq'. destruct ahead as [|h a]; [done|]. rewrite Hq' in Hq. injection Hq as -> ->.
        rewrite Hq' in Hnd. apply NoDup_cons in Hnd as [Hn _]. destruct Hn. apply elem_of_app. right. left. }
      destruct Hs as [_ Hn|q n _ Hq' Hp|h q Ho Hq' Hne Hi|_ Hn|q Ho Hq' Hp|q Ho Hq' Hp|q n d _ Hq' Hp|q _ Hq' Hp|q _ Hq' Hp];
        try done; try (destruct (Hph (Hfirst _ Hq')); congruence).
      + assert (ahead <> []) as Ha by (intros ->; rewrite Hq' in Hq; simpl in Hq; congruence).
        exists ahead. split; [split; [by exists behind|done]|]. destruct ahead as [|h' a]; [done|].
        simpl in Hq. assert (h' = h) as -> by congruence. unfold until_owned. cbn [first_of] in *. simpl events_since_move.
        rewrite decide_False by done. specialize (Hother Hne). lia.
      + rewrite (Hfirst _ Hq') in *. exists []. cbn [waiting first_phase].
        split; [split; [by exists q|by right]|]. unfold until_owned. cbn [first_of remaining turn_cost]. rewrite Hp.
        cbn [turn_cost]. simpl events_since_move. rewrite decide_True by done. lia.
    - destruct (wait_step hold_bound k x t t' c ahead behind Hs Hx Hq) as (ahead' & behind' & Hq' & _ & Hcase).
      exists ahead'. destruct Hcase as [(-> & Hp & Hh)|(Hh & Hw & Hz)].
      + assert (Hne : who x <> first_of c ahead) by (destruct ahead; simpl in *; congruence).
        split; [split; [by exists behind'|by rewrite Hp]|]. unfold until_owned. rewrite Hp. simpl events_since_move.
        rewrite decide_False by done. specialize (Hother Hne). lia.
      + destruct ahead as [|h a]; [done|]. injection Hh as ->.
        split; [split; [by exists behind'|auto]|]. unfold until_owned. cbn [remaining].
        assert (Hr : (remaining k ahead' (first_phase t') < work hold_bound k (who x :: a) (first_phase t) + 2)%nat).
        { destruct ahead' as [|h' a']; [|unfold remaining; lia].
          rewrite Hz by done. cbn [remaining turn_cost]. assert (work hold_bound k [] (first_phase t') = 0%nat) by done. lia. }
        set (r1 := remaining k ahead' (first_phase t')) in *.
        set (r0 := (work hold_bound k (who x :: a) (first_phase t) + 2)%nat) in *. clearbody r1 r0.
        assert (S r1 * S F <= r0 * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
  Qed.

  Lemma until_owned_bound k c e l t ahead : replay k l = Some t -> in_queue k c ahead t ->
    is_Some (replay k (e ++ l)) -> bounded_fair_throughout F contending (e ++ l) -> Event c (EOwn k) ∉ e ->
    (length e <= until_owned k c ahead (first_phase t) l)%nat /\
    exists t' ahead', replay k (e ++ l) = Some t' /\ in_queue k c ahead' t' /\
      (length e + until_owned k c ahead' (first_phase t') (e ++ l) <= until_owned k c ahead (first_phase t) l)%nat.
  Proof.
    intros Ht Hin. induction e as [|x e IH]; intros [t' Ht'] Hpat Hown.
    { simpl. split; [lia|]. exists t, ahead. split_and!; [done..|simpl; lia]. }
    apply not_elem_of_cons in Hown as [Hx He]. simpl in Hpat. apply bounded_fair_tail in Hpat as [Hpx Hpat].
    apply replay_cons in Ht' as (t1 & Ht1 & Hs).
    destruct (IH ltac:(by eexists) Hpat He) as (_ & t2 & ahead2 & Ht2 & Hin2 & Hle).
    assert (Some t2 = Some t1) as [= ->] by (rewrite <- Ht2; exact Ht1).
    destruct (makes_progress k c x (e ++ l) t1 t' ahead2 Ht1 Hs Hin2 (not_eq_sym Hx) Hpx) as (ahead3 & Hin3 & Hlt).
    assert (length (x :: e) + until_owned k c ahead3 (first_phase t') (x :: e ++ l) <=
      until_owned k c ahead (first_phase t) l)%nat by (simpl length; lia).
    split; [lia|]. exists t', ahead3. split; [|by split].
    change ((x :: e) ++ l) with (x :: e ++ l). cbn [TicketProtocol.replay]. by rewrite Ht2.
  Qed.

  (** The bound. *)
  Definition acquire_events (k : Z) : nat := (ncpu * (hold_bound k + 5) + 2) * S F + F.

  (** From the draw of its ticket, CPU [c] owns what lock [k] guards, or at most [acquire_events k] events have passed. *)
  Theorem ticket_starvation_bound c k e l :
    keeps_protocol hold_bound ncpu (e ++ Event c (EFetchAdd (2 * k) 1) :: l) ->
    bounded_fair_throughout F contending (e ++ Event c (EFetchAdd (2 * k) 1) :: l) ->
    Event c (EOwn k) ∉ e -> (length e <= acquire_events k)%nat.
  Proof.
    intros Hw Hpat Hown. set (l1 := Event c (EFetchAdd (2 * k) 1) :: l) in *.
    assert (Hsuffix : forall e', keeps_protocol hold_bound ncpu (e' ++ l1) -> keeps_protocol hold_bound ncpu l1).
    { induction e' as [|x e' IH]; [done|]. intros [H1 H2]. apply IH. split.
      - intros k'. destruct (H1 k') as [t Ht]. apply replay_cons in Ht as (t0 & Ht0 & _). by exists t0.
      - by apply Forall_cons in H2 as [_ H2]. }
    pose proof (Hsuffix e Hw) as Hw1. destruct Hw1 as [Hr1 Hcpu]. destruct (Hr1 k) as [t Ht].
    pose proof Ht as Ht'. unfold l1 in Ht'. apply replay_cons in Ht' as (t0 & Ht0 & Hs). apply queue_step_shape in Hs.
    assert (Hin : in_queue k c (waiting t0) t).
    { destruct (replay_invariant _ _ _ _ Ht0) as [_ _ _ _ _ Hempty].
      cbn [who what] in Hs. inversion Hs as [Ha _|? ? Ha| | | | | | |]; subst; try done.
      - destruct Ha. simpl. by rewrite about_next.
      - destruct Ha. simpl. by rewrite about_next.
      - split; [by exists []|]. intros Hz. left. cbn [first_phase]. auto. }
    destruct (until_owned_bound k c e l1 t (waiting t0) Ht Hin (proj1 Hw k) Hpat Hown) as [Hle _].
    etrans; [exact Hle|]. unfold until_owned, acquire_events.
    assert (Hlen : (length (waiting t0) <= ncpu)%nat).
    { apply (waiting_length hold_bound ncpu k l); [|done]. destruct Hw as [H1 H2]. split.
      - intros k'. destruct (Hr1 k') as [t1 Ht1]. unfold l1 in Ht1. apply replay_cons in Ht1 as (t2 & Ht2 & _). by exists t2.
      - by apply Forall_cons in Hcpu as [_ ?]. }
    pose proof (phase_cost_bound hold_bound k l1 t Ht) as Hphase.
    assert (Hrem : (remaining k (waiting t0) (first_phase t) <= ncpu * (hold_bound k + 5) + 2)%nat).
    { destruct (waiting t0) as [|h a] eqn:Eq; [destruct (first_phase t); simpl; lia|].
      pose proof (work_bound hold_bound k (h :: a) (first_phase t) Hphase) as Hb. unfold remaining.
      assert (length (h :: a) * (hold_bound k + 5) <= ncpu * (hold_bound k + 5))%nat by (apply Nat.mul_le_mono_r; done). lia. }
    apply (Nat.mul_le_mono_r _ _ (S F)) in Hrem. lia.
  Qed.
End bound.
