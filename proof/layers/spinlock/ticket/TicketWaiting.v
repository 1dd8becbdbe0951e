(** Waiting for a ticket lock: a variant function that each event of the CPU at the head of the queue decreases.

    [work]: how many events the CPUs ahead have yet to cause. Each event of the first of the queue decreases it, and nothing
    else changes it; so a CPU with [n] others ahead waits for at most [n * (hold_bound k + 5)] events of theirs. *)
From Ashlar Require Export layers.spinlock.ticket.TicketProtocol.

Section wait.
  Context (hold_bound : Z -> nat).
  Notation replay := (replay hold_bound).
  Notation queue_step := (queue_step hold_bound).
  Notation keeps_protocol := (keeps_protocol hold_bound).

  (** Tickets out are fewer than their values. *)
  Lemma waiting_length ncpu k l t : keeps_protocol ncpu l -> replay k l = Some t ->
    (length (waiting t) <= ncpu)%nat.
  Proof.
    intros [_ Hw] H. destruct (replay_invariant _ _ _ _ H) as [Hnd _ _ _ Hin _].
    assert (Hs : waiting t ⊆+ seq 0 ncpu).
    { apply NoDup_submseteq; [done|]. intros c Hc. apply elem_of_seq. split; [lia|]. simpl.
      apply Hin in Hc. apply elem_of_list_fmap in Hc as (e & -> & He). rewrite Forall_forall in Hw. auto. }
    apply submseteq_length in Hs. by rewrite seq_length in Hs.
  Qed.

  Definition phase_cost (k : Z) (p : phase) : nat :=
    match p with Waits => hold_bound k + 5 | Served => hold_bound k + 4 | Holds n => n + 3 | Leaves => 2 | Advances => 1 end.
  Definition work (k : Z) (ahead : list nat) (p : phase) : nat :=
    match ahead with [] => 0 | _ :: q => phase_cost k p + length q * (hold_bound k + 5) end.

  Lemma work_bound k ahead p : (phase_cost k p <= hold_bound k + 5)%nat ->
    (work k ahead p <= length ahead * (hold_bound k + 5))%nat.
  Proof. destruct ahead; simpl; lia. Qed.

  (** One step of another CPU while [c] is queued. *)
  Lemma wait_step k e t t' c ahead behind : queue_step k e t = Some t' -> who e <> c ->
    waiting t = ahead ++ c :: behind ->
    exists ahead' behind', waiting t' = ahead' ++ c :: behind' /\
      served t' + Z.of_nat (length ahead') = served t + Z.of_nat (length ahead) /\
      ((ahead' = ahead /\ first_phase t' = first_phase t /\ head ahead <> Some (who e)) \/
       (head ahead = Some (who e) /\ (work k ahead' (first_phase t') < work k ahead (first_phase t))%nat /\
        (ahead' = [] -> first_phase t' = Waits))).
  Proof.
    intros Hs Hne Hw. apply queue_step_shape in Hs.
    assert (Hfirst : forall q, waiting t = who e :: q -> exists p, ahead = who e :: p /\ q = p ++ c :: behind).
    { intros q Hq. rewrite Hw in Hq. destruct ahead; simplify_eq/=; eauto. }
    destruct Hs as [Ha Hc|q n Ha Hq Hp|h q Hev Hq Hh Hc|Hev Hc|q Hev Hq Hp|q Hev Hq Hp|q n d Hev Hq Hp|q Hev Hq Hp|q Hev Hq Hp];
      cbn [served waiting first_phase].
    - exists ahead, behind. split_and!; try done. left. split_and!; try done. intros Hx. apply Hc. rewrite Hw.
      destruct ahead; simplify_eq/=. left.
    - destruct (Hfirst _ Hq) as (p & -> & ->). exists (who e :: p), behind. rewrite Hp. simpl. split_and!; try done.
      right. split_and!; try done. lia.
    - exists ahead, behind. split_and!; try done. left. split_and!; try done. intros Hx. apply Hh. rewrite Hw in Hq.
      by destruct ahead; simplify_eq/=.
    - exists ahead, (behind ++ [who e]). rewrite Hw, <- app_assoc. split_and!; try done. left. split_and!; try done.
      intros Hx. apply Hc. rewrite Hw. destruct ahead; simplify_eq/=. left.
    - destruct (Hfirst _ Hq) as (p & -> & ->). exists (who e :: p), behind. rewrite Hp. simpl. split_and!; try done.
      right. split_and!; try done. lia.
    - destruct (Hfirst _ Hq) as (p & -> & ->). exists (who e :: p), behind. rewrite Hp. simpl. split_and!; try done.
      right. split_and!; try done. lia.
    - destruct (Hfirst _ Hq) as (p & -> & ->). exists (who e :: p), behind. rewrite Hp. simpl. split_and!; try done.
      right. split_and!; try done. lia.
    - destruct (Hfirst _ Hq) as (p & -> & ->). exists (who e :: p), behind. rewrite Hp. simpl. split_and!; try done.
      right. split_and!; try done. lia.
    - destruct (Hfirst _ Hq) as (p & -> & ->). exists p, behind. rewrite Hp. simpl. split_and!; try done; [lia|].
      right. split_and!; try done. destruct p; simpl; lia.
  Qed.

  Lemma unqueued_step k e t t' c : queue_step k e t = Some t' -> who e <> c -> c ∉ waiting t -> c ∉ waiting t'.
  Proof.
    intros Hs Hne Hn. apply queue_step_shape in Hs.
    destruct Hs as [Ha Hc|q n Ha Hq Hp|h q Hev Hq Hh Hc|Hev Hc|q Hev Hq Hp|q Hev Hq Hp|q n d Hev Hq Hp|q Hev Hq Hp|q Hev Hq Hp];
      cbn [waiting]; try done; try (by rewrite Hq in Hn).
    - intros [Hx|Hx]%elem_of_app; [done|]. by apply elem_of_list_singleton in Hx.
    - rewrite Hq in Hn. intros Hx. apply Hn. by right.
  Qed.

  (** Any number of steps of others. *)
  Theorem wait_steps k e l t t' c ahead behind : Forall (fun x => who x <> c) e ->
    replay k l = Some t -> replay k (e ++ l) = Some t' -> waiting t = ahead ++ c :: behind ->
    exists ahead' behind', waiting t' = ahead' ++ c :: behind' /\
      served t' + Z.of_nat (length ahead') = served t + Z.of_nat (length ahead) /\
      ((ahead' = ahead /\ first_phase t' = first_phase t /\
        forall h, head ahead = Some h -> events_since_move h (e ++ l) = (length e + events_since_move h l)%nat) \/
       (ahead <> [] /\ (work k ahead' (first_phase t') < work k ahead (first_phase t))%nat /\
        (ahead' = [] -> first_phase t' = Waits))).
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hq.
    { simpl in Ht'. rewrite Ht in Ht'. injection Ht' as <-. exists ahead, behind. split_and!; try done. left. done. }
    apply replay_cons in Ht' as (t1 & Ht1 & Hs).
    destruct (IH _ Ht1 Hq) as (p1 & s1 & Hq1 & Hn1 & Hc1).
    destruct (wait_step _ _ _ _ _ _ _ Hs Hx Hq1) as (p2 & s2 & Hq2 & Hn2 & Hc2).
    exists p2, s2. split; [done|]. split; [lia|].
    destruct Hc1 as [(-> & E1 & Hg)|(Hp & Hw & Hz)]; destruct Hc2 as [(-> & E2 & Hh)|(Hh & Hw2 & Hz2)].
    - left. split; [done|]. split; [congruence|]. intros h Hh'. simpl. rewrite decide_False by congruence.
      rewrite Hg by done. lia.
    - right. split; [by destruct ahead|]. rewrite E1 in *. auto.
    - right. split; [done|]. split; [congruence|]. intros Hp2. rewrite E2. auto.
    - right. split; [done|]. split; [lia|]. done.
  Qed.
  Lemma unqueued_steps k e l t t' c : Forall (fun x => who x <> c) e ->
    replay k l = Some t -> replay k (e ++ l) = Some t' -> c ∉ waiting t -> c ∉ waiting t'.
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hq.
    { simpl in Ht'. rewrite Ht in Ht'. by injection Ht' as <-. }
    apply replay_cons in Ht' as (t1 & Ht1 & Hs). eapply unqueued_step; eauto.
  Qed.

  (** ** Waiting times: CPUs x critical section x fairness bound *)

  (** [F]: the scheduler's fairness bound. How many events, of all CPUs, may still pass before the turn of a CPU that has [ahead]
      before it. *)
  Definition waiting_time (F : nat) (k : Z) (ahead : list nat) (p : phase) (l : atomic_log) : nat :=
    match ahead with [] => 0 | h :: _ => work k ahead p * S F + (F - events_since_move h l) end.

  Theorem waiting_time_bound F k ahead p l : (phase_cost k p <= hold_bound k + 5)%nat ->
    (waiting_time F k ahead p l <= length ahead * (hold_bound k + 5) * S F + F)%nat.
  Proof.
    intros Hp. pose proof (work_bound k ahead p Hp) as Hw. unfold waiting_time. destruct ahead as [|h q]; [lia|].
    apply (Nat.mul_le_mono_r _ _ (S F)) in Hw. lia.
  Qed.

  (** A CPU that looks at the served cell once more, at a log where the scheduler was bounded-fair, has less time to wait. *)
  Theorem waiting_time_decreases F k e l t t' c h q h' q' behind o : Forall (fun x => who x <> c) e ->
    replay k l = Some t -> replay k (e ++ l) = Some t' -> waiting t = h :: q ++ c :: behind ->
    (exists behind', waiting t' = (h' :: q') ++ c :: behind') -> h' <> c -> c ∉ q' -> c ∉ h :: q ->
    (events_since_move h' (e ++ l) < F)%nat ->
    (waiting_time F k (h' :: q') (first_phase t') (Event c o :: e ++ l) <
     waiting_time F k (h :: q) (first_phase t) l)%nat.
  Proof.
    intros He Ht Ht' Hq (b' & Hq') Hne Hnq Hnh Hg.
    destruct (wait_steps k e l t t' c (h :: q) behind He Ht Ht' Hq) as (p1 & s1 & Hq1 & _ & Hcase).
    assert (p1 = h' :: q') as ->.
    { destruct (replay_invariant _ _ _ _ Ht') as [Hnd _ _ _ _ _]. rewrite Hq' in Hq1.
      clear -Hq1 Hnd Hq' Hne Hnq. rewrite Hq' in Hnd. revert Hnd Hne Hnq Hq1. clear Hq'. generalize (h' :: q') as a. intros a.
      intros Hnd _ _. revert p1 Hnd. induction a as [|x a IH]; intros p1 Hnd Hq1; destruct p1 as [|y p1]; simplify_eq/=; try done.
      - exfalso. apply NoDup_cons in Hnd as [Hn _]. apply Hn, elem_of_app. right. left.
      - exfalso. apply NoDup_cons in Hnd as [Hn _]. apply Hn, elem_of_app. right. left.
      - f_equal. apply NoDup_cons in Hnd as [_ Hnd]. eauto. }
    unfold waiting_time. simpl events_since_move. rewrite (decide_False (P := c = h')) by congruence.
    destruct Hcase as [(Hp & -> & Hgap)|(_ & Hlt & _)].
    - injection Hp as -> ->. pose proof (Hgap h eq_refl) as Hg'. rewrite Hg' in Hg |- *.
      generalize (work k (h :: q) (first_phase t) * S F)%nat. intros. lia.
    - set (w1 := work k (h' :: q') (first_phase t')) in *. set (w0 := work k (h :: q) (first_phase t)) in *.
      assert (S w1 * S F <= w0 * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
  Qed.
End wait.
