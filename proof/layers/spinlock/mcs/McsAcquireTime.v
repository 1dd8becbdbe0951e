(** Bounded waiting for an MCS lock: CPUs x critical section x the scheduler's fairness bound.

    From swapping itself into the tail to owning what the lock guards, a CPU lets at most so many events pass, of all CPUs
    together. Every event decreases the bound: the remaining work of the CPU itself and those before it, or the number of
    events until the one that has to move ([mover]) moves, which a bounded-fair scheduler grants it among any [F] events. *)
From Ashlar Require Export layers.spinlock.mcs.McsTimes.
From Ashlar Require layers.spinlock.ticket.TicketAcquireTime.

Notation bounded_fair_throughout := TicketAcquireTime.bounded_fair_throughout.

Section bound.
  Context (budget F : nat).
  Notation hold_bound := (critical_section budget F).
  Notation replay := (replay hold_bound).
  Notation contending := (queued hold_bound).
  Context (k : Z) (Hk : 0 <= k < NUM_LOCK) (c : nat).
  Notation until_owned := (waiting_time hold_bound k c F).

  (** Every event decreases the remaining waiting time. *)
  Lemma until_owned_decreases x l t t' ahead : replay k l = Some t -> replay k (x :: l) = Some t' ->
    in_line c ahead t -> x <> Event c (EOwn k) -> bounded_fair F contending (who x) l ->
    exists ahead', in_line c ahead' t' /\ (until_owned ahead' t' (x :: l) < until_owned ahead t l)%nat.
  Proof using Hk.
    intros Ht Ht' Hin Hown Hpat. destruct (replay_step hold_bound k x l t t' Ht Ht') as [Hok Hs].
    destruct (line_step hold_bound k _ _ _ _ c ahead Hs Hok Hin) as (ahead' & Hin' & Hcase).
    { intros Hx Ho. apply Hown. destruct x. simpl in *. by subst. }
    exists ahead'. split; [done|]. unfold waiting_time. apply waiting_time_less.
    destruct Hcase as [(Hw & Hm & Hne)|Hlt]; [right|by left]. rewrite Hm, events_since_move_other by done. split; [done|].
    assert (Hg : (events_since_move (mover t) l < F)%nat); [|lia].
    apply Hpat; [done|]. exists k, t. split; [done|]. split; [done|]. apply mover_contending.
    destruct Hin as [[behind ->] _]. by destruct ahead.
  Qed.

  Lemma until_owned_bound e l t ahead : replay k l = Some t -> in_line c ahead t -> is_Some (replay k (e ++ l)) ->
    bounded_fair_throughout F contending (e ++ l) -> Event c (EOwn k) ∉ e ->
    exists t' ahead', replay k (e ++ l) = Some t' /\ in_line c ahead' t' /\
      (length e + until_owned ahead' t' (e ++ l) <= until_owned ahead t l)%nat.
  Proof using Hk.
    intros Ht Hin. induction e as [|x e IH]; intros [t' Ht'] Hpat Hown.
    { exists t, ahead. by split_and!. }
    apply not_elem_of_cons in Hown as [Hx He]. simpl in Hpat. apply TicketAcquireTime.bounded_fair_tail in Hpat as [Hpx Hpat].
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _).
    destruct (IH ltac:(by eexists) Hpat He) as (t2 & a2 & Ht2 & Hin2 & Hle).
    assert (Some t2 = Some t1) as [= ->] by (rewrite <- Ht2; exact Ht1).
    destruct (until_owned_decreases x (e ++ l) t1 t' a2 Ht1 Ht' Hin2 (not_eq_sym Hx) Hpx) as (a3 & Hin3 & Hlt).
    exists t', a3. split; [done|]. split; [done|]. change ((x :: e) ++ l) with (x :: e ++ l). simpl length. lia.
  Qed.

  (** The bound. *)
  Definition acquire_events : nat := Z.to_nat NUM_CPU * (hold_bound k + 9) * S F + F.

  (** From its swap, CPU [c] owns what lock [k] guards, or at most [acquire_events] events have passed. *)
  Theorem mcs_starvation_bound e l :
    keeps_protocol hold_bound (e ++ Event c (ESwap (tail_cell k) (name (Some c))) :: l) ->
    bounded_fair_throughout F contending (e ++ Event c (ESwap (tail_cell k) (name (Some c))) :: l) ->
    Event c (EOwn k) ∉ e -> (length e <= acquire_events)%nat.
  Proof using Hk.
    intros Hw Hpat Hown. set (l1 := Event c (ESwap (tail_cell k) (name (Some c))) :: l) in *.
    assert (Ht : is_Some (replay k l1)).
    { specialize (Hw k Hk). clear -Hw. induction e as [|x e IH]; [done|]. destruct Hw as [t Ht].
      apply replay_cons in Ht as (t0 & Ht0 & _). apply IH. by eexists. }
    destruct Ht as [t Ht]. pose proof Ht as Ht'. unfold l1 in Ht'. apply replay_cons in Ht' as (t0 & Ht0 & Hs).
    apply mcs_step_shape in Hs as [_ Hs]. cbn [who what] in Hs. pose proof (replay_ok _ _ _ _ Ht0) as Hok.
    assert (Hin : in_line c (line t0) t).
    { assert (Ha : about (ESwap (tail_cell k) (name (Some c))) = Some k) by (cbn [about]; by rewrite cell_lock_tail).
      inversion Hs; subst; try done. split; [by exists []|]. cbn. rewrite lookup_insert.
      by destruct (last (line t0)); eexists. }
    destruct (until_owned_bound e l1 t (line t0) Ht Hin (Hw k Hk) Hpat Hown) as (t' & a' & _ & _ & Hle).
    pose proof (waiting_time_bound hold_bound k Hk c F (line t0) l1 t Ht Hin). unfold acquire_events. lia.
  Qed.
End bound.
