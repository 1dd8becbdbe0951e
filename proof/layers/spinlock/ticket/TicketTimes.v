(** How long operations on ticket locks take, by recursion on the lock's rank.

    The holder of lock [k] acquires only locks below it. So how long it keeps [k] ([critical_section]: own events from owning
    what the lock guards to giving it up) follows from how long operations on lower locks take, and that from how long
    those are kept. Counted in the CPU's own events; CPUs x critical section x the scheduler's fairness bound. *)
From Ashlar Require Export layers.spinlock.ticket.TicketWaiting.

Section bound.
  Context (ncpu budget F : nat).

  (** To acquire a lock that each CPU keeps for at most [w] events. *)
  Definition acquire_cost (w : nat) : nat := ncpu * (w + 5) * S F + F + 8.

  (** One event of the lock layer on locks of rank below [j]. A release takes 3: disown, load, store. *)
  Fixpoint step_cost (j : nat) : nat :=
    match j with
    | O => 3
    | S j => Nat.max (step_cost j) (acquire_cost (budget * step_cost j))
    end.

  Definition critical_section (k : Z) : nat := budget * step_cost (Z.to_nat k).

  Lemma step_cost_release j : (3 <= step_cost j)%nat.
  Proof. induction j; simpl; lia. Qed.
  Lemma step_cost_mono i j : (i <= j)%nat -> (step_cost i <= step_cost j)%nat.
  Proof. induction 1; simpl; lia. Qed.

  (** Inside lock [k], an operation on a lower lock is within the cost of one event. *)
  Theorem acquire_below k' k : 0 <= k' -> k' < k ->
    (acquire_cost (critical_section k') <= step_cost (Z.to_nat k))%nat.
  Proof.
    intros H0 Hk. etrans; [|apply (step_cost_mono (S (Z.to_nat k'))); lia].
    unfold critical_section. simpl. lia.
  Qed.

  (** The holder's account: what is left of its hold bound covers the events of the lock layer that it may still cause. *)
  Lemma account_step k n left : (n < budget)%nat -> ((budget - n) * step_cost (Z.to_nat k) <= left)%nat ->
    ((budget - S n) * step_cost (Z.to_nat k) + step_cost (Z.to_nat k) <= left)%nat.
  Proof. intros Hn H. replace (budget - n)%nat with (S (budget - S n)) in H by lia. simpl in H. lia. Qed.

  (** To wait for one's turn is within the cost of acquiring. *)
  Theorem wait_within_acquire c k ahead behind p t l : keeps_protocol critical_section ncpu l ->
    replay critical_section k l = Some t -> waiting t = ahead ++ c :: behind -> p = first_phase t ->
    (phase_cost critical_section k p <= critical_section k + 5)%nat ->
    (waiting_time critical_section F k ahead p l + 8 <= acquire_cost (critical_section k))%nat.
  Proof.
    intros Hp Ht Hq -> Hc. pose proof (waiting_time_bound critical_section F k ahead _ l Hc) as Hb.
    pose proof (waiting_length _ _ _ _ _ Hp Ht) as Hl. rewrite Hq, app_length in Hl. simpl in Hl.
    unfold acquire_cost.
    assert (length ahead * (critical_section k + 5) * S F <= ncpu * (critical_section k + 5) * S F)%nat.
    { apply Nat.mul_le_mono_r, Nat.mul_le_mono_r. lia. }
    lia.
  Qed.
End bound.

(** The holder never has more events left than the lock's hold bound. *)
Lemma phase_cost_bound hold_bound k l t : replay hold_bound k l = Some t ->
  (phase_cost hold_bound k (first_phase t) <= hold_bound k + 5)%nat.
Proof.
  revert t. induction l as [|e l IH]; intros t H; [injection H as <-; simpl; lia|].
  apply replay_cons in H as (t0 & H0 & Hs). specialize (IH _ H0). apply queue_step_shape in Hs.
  destruct Hs as [| q n _ _ Hp| | | | | | |]; cbn [first_phase]; try exact IH; try (simpl; lia).
  rewrite Hp in IH. simpl in *. lia.
Qed.
