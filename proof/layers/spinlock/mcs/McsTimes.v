(** How long operations on MCS locks take, by recursion on the lock's rank.

    As for ticket locks ([TicketTimes.v]), but a release may have to wait too: until the successor has written its number.
    Counted in the CPU's own events; CPUs x critical section x the scheduler's fairness bound. *)
From Ashlar Require Export layers.spinlock.mcs.McsWaiting layers.spinlock.CallRules.

Section bound.
  Context (budget F : nat).

  (** To acquire a lock that each CPU keeps for at most [w] events; to release one. *)
  Definition acquire_cost (w : nat) : nat := Z.to_nat NUM_CPU * (w + 9) * S F + F + 6.
  Definition release_cost : nat := 2 * S F + F + 6.

  (** One event of the lock layer on locks of rank below [j]. *)
  Fixpoint step_cost (j : nat) : nat :=
    match j with
    | O => release_cost
    | S j => Nat.max (step_cost j) (acquire_cost (budget * step_cost j))
    end.

  Definition critical_section (k : Z) : nat := budget * step_cost (Z.to_nat k).

  Lemma step_cost_release j : (release_cost <= step_cost j)%nat.
  Proof. induction j; cbn [step_cost]; lia. Qed.
  Lemma step_cost_mono i j : (i <= j)%nat -> (step_cost i <= step_cost j)%nat.
  Proof. induction 1; cbn [step_cost]; lia. Qed.

  (** Inside lock [k], an operation on a lower lock is within the cost of one event. *)
  Theorem acquire_below k' k : 0 <= k' -> k' < k ->
    (acquire_cost (critical_section k') <= step_cost (Z.to_nat k))%nat.
  Proof.
    intros H0 Hk. etrans; [|apply (step_cost_mono (S (Z.to_nat k'))); lia].
    unfold critical_section. cbn [step_cost]. lia.
  Qed.

  (** The holder's account: what is left of its hold bound covers the events of the lock layer that it may still cause. *)
  Lemma account_step k n left : (n < budget)%nat -> ((budget - n) * step_cost (Z.to_nat k) <= left)%nat ->
    ((budget - S n) * step_cost (Z.to_nat k) + step_cost (Z.to_nat k) <= left)%nat.
  Proof. intros Hn H. replace (budget - n)%nat with (S (budget - S n)) in H by lia. simpl in H. lia. Qed.
End bound.
