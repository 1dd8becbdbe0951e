(** Waiting for an MCS lock: what others do meanwhile makes progress, and the total waiting time: CPUs x critical section x
    fairness bound. *)
From Ashlar Require Export layers.spinlock.mcs.McsProgress.

Section steps.
  Context (hold_bound : Z -> nat) (k : Z) (Hk : 0 <= k < NUM_LOCK) (c : nat).
  Notation replay := (replay hold_bound).
  Notation work := (work hold_bound k).

  Lemma replay_step e l t t' : replay k l = Some t -> replay k (e :: l) = Some t' ->
    mcs_ok t /\ shape hold_bound k (who e) (what e) t t'.
  Proof.
    intros Ht Ht'. split; [by eapply replay_ok|]. apply replay_cons in Ht' as (t1 & Ht1 & Hs).
    apply mcs_step_shape in Hs as [_ Hs]. congruence.
  Qed.

  Lemma first_steps e l t t' : Forall (fun x => who x <> c) e -> replay k l = Some t -> replay k (e ++ l) = Some t' ->
    head (line t) = Some c -> head (line t') = Some c /\ places t' !! c = places t !! c.
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hh.
    { simpl in Ht'. by simplify_eq. }
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _). destruct (IH _ Ht1 Hh) as [Hh1 Hp1].
    destruct (replay_step _ _ _ _ Ht1 Ht') as [Hok Hs]. rewrite <- Hp1. by eapply first_step.
  Qed.
  Lemma place_steps e l t t' : Forall (fun x => who x <> c) e -> replay k l = Some t -> replay k (e ++ l) = Some t' ->
    places t !! c <> Some Waits -> places t' !! c = places t !! c.
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hh.
    { simpl in Ht'. by simplify_eq. }
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _). pose proof (IH _ Ht1 Hh) as Hp1.
    destruct (replay_step _ _ _ _ Ht1 Ht') as [Hok Hs]. destruct (place_step _ _ _ _ _ _ c Hs Hok Hx) as [?|[? _]]; congruence.
  Qed.

  Lemma events_since_move_other h x l : who x <> h -> events_since_move h (x :: l) = S (events_since_move h l).
  Proof. intros. simpl. by rewrite decide_False. Qed.

  Theorem wait_steps e l t t' ahead : Forall (fun x => who x <> c) e -> replay k l = Some t ->
    replay k (e ++ l) = Some t' -> in_line c ahead t ->
    exists ahead', in_line c ahead' t' /\
      ((work t' (ahead' ++ [c]) = work t (ahead ++ [c]) /\ mover t' = mover t /\
        events_since_move (mover t) (e ++ l) = (length e + events_since_move (mover t) l)%nat) \/
       (work t' (ahead' ++ [c]) < work t (ahead ++ [c]))%nat).
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hin.
    { simpl in Ht'. simplify_eq. exists ahead. split; [done|]. by left. }
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _).
    destruct (replay_step _ _ _ _ Ht1 Ht') as [Hok Hs].
    destruct (IH _ Ht1 Hin) as (a1 & Hin1 & Hc1).
    destruct (line_step _ _ _ _ _ _ c a1 Hs Hok Hin1) as (a2 & Hin2 & Hc2); [done|]. exists a2. split; [done|].
    destruct Hc1 as [(Hw1 & Hm1 & Hg1)|Hw1]; destruct Hc2 as [(Hw2 & Hm2 & Hne)|Hw2].
    - left. split_and!; [congruence|congruence|]. cbn [app]. rewrite events_since_move_other by congruence. rewrite Hg1. done.
    - right. lia.
    - right. lia.
    - right. lia.
  Qed.
  Lemma waiting_steps e l t t' : Forall (fun x => who x <> c) e -> replay k l = Some t -> replay k (e ++ l) = Some t' ->
    places t !! c = Some Waits -> places t' !! c = Some Waits \/ places t' !! c = Some Let.
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hw.
    { simpl in Ht'. simplify_eq. by left. }
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _).
    destruct (replay_step _ _ _ _ Ht1 Ht') as [Hok Hs].
    destruct (place_step _ _ _ _ _ _ c Hs Hok Hx) as [->|[_ ?]]; [by eapply IH|by right].
  Qed.

  (** ** Waiting times: CPUs x critical section x fairness bound *)

  (** [F]: the scheduler's fairness bound. How many events, of all CPUs, may still pass before [c] owns what the lock guards. *)
  Definition waiting_time (F : nat) (ahead : list nat) (t : mcs) (l : atomic_log) : nat :=
    work t (ahead ++ [c]) * S F + (F - events_since_move (mover t) l).

  Lemma cost_bound l t x : replay k l = Some t -> (cost_of hold_bound k t x <= hold_bound k + 9)%nat.
  Proof using Hk.
    intros Ht. unfold cost_of. destruct (places t !! x) as [p|] eqn:E; [|lia]. destruct p; simpl; try lia.
    pose proof (rf_left _ _ _ _ (replay_invariant _ _ _ _ Hk Ht) _ _ E). lia.
  Qed.
  Lemma work_bound l t ahead : replay k l = Some t -> (work t ahead <= length ahead * (hold_bound k + 9))%nat.
  Proof using Hk.
    intros Ht. induction ahead as [|x a IH]; [done|]. simpl. pose proof (cost_bound l t x Ht). lia.
  Qed.
  Theorem waiting_time_bound F ahead l t : replay k l = Some t -> in_line c ahead t ->
    (waiting_time F ahead t l <= Z.to_nat NUM_CPU * (hold_bound k + 9) * S F + F)%nat.
  Proof using Hk.
    intros Ht [[behind Hl] _]. pose proof (work_bound l t (ahead ++ [c]) Ht) as Hw.
    pose proof (line_length t (replay_ok _ _ _ _ Ht)) as Hlen. rewrite Hl, app_length in Hlen. simpl in Hlen.
    assert (Hle : (length (ahead ++ [c]) <= Z.to_nat NUM_CPU)%nat) by (rewrite app_length; simpl; lia).
    unfold waiting_time. set (w := work t (ahead ++ [c])) in *. set (N := Z.to_nat NUM_CPU) in *.
    apply (Nat.mul_le_mono_r _ _ (hold_bound k + 9)) in Hle.
    assert (w * S F <= N * (hold_bound k + 9) * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
  Qed.

  (** Every event of any CPU decreases it, at a log where the scheduler was bounded-fair. *)
  Lemma waiting_time_less F w w' g g' : ((w' < w)%nat \/ w' = w /\ (g < g' <= F)%nat) ->
    (w' * S F + (F - g') < w * S F + (F - g))%nat.
  Proof using.
    intros [Hlt|[-> Hg]].
    - assert (S w' * S F <= w * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
    - generalize (w * S F)%nat. intros. lia.
  Qed.

  (** A CPU that looks at its busy cell once more has less time to wait. *)
  Theorem waiting_time_decreases F e l t t' ahead o : Forall (fun x => who x <> c) e -> replay k l = Some t ->
    replay k (e ++ l) = Some t' -> in_line c ahead t -> places t' !! c = Some Waits -> (events_since_move (mover t') (e ++ l) < F)%nat ->
    exists ahead', in_line c ahead' t' /\
      (waiting_time F ahead' t' (Event c o :: e ++ l) < waiting_time F ahead t l)%nat.
  Proof.
    intros He Ht Ht' Hin Hw Hg. destruct (wait_steps e l t t' ahead He Ht Ht' Hin) as (a & Hin' & Hcase).
    exists a. split; [done|]. assert (Hmc : mover t' <> c).
    { intros Hm. apply (mover_moves t' (replay_ok _ _ _ _ Ht')); [|by rewrite Hm].
      destruct Hin' as [[behind ->] _]. by destruct a. }
    unfold waiting_time. rewrite events_since_move_other by done. apply waiting_time_less.
    destruct Hcase as [(Hw1 & Hm & Hgap)|Hlt]; [right|by left]. rewrite Hm in *. split; [done|]. lia.
  Qed.

  (** ** The first waits for the second's number *)

  Definition seeking_time (F : nat) (d : nat) (t : mcs) (l : atomic_log) : nat :=
    match seek_cost (places t !! d) with O => 0 | n => n * S F + (F - events_since_move d l) end.

  Lemma seek_steps e l t t' d : Forall (fun x => who x <> c) e -> replay k l = Some t -> replay k (e ++ l) = Some t' ->
    head (line t) = Some c -> next_in c (line t) = Some d ->
    next_in c (line t') = Some d /\
    ((places t' !! d = places t !! d /\ (seek_cost (places t !! d) <> 0 -> events_since_move d (e ++ l) = length e + events_since_move d l)%nat) \/
     (seek_cost (places t' !! d) < seek_cost (places t !! d))%nat).
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hh Hn.
    { simpl in Ht'. simplify_eq. split; [done|]. by left. }
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _).
    destruct (replay_step _ _ _ _ Ht1 Ht') as [Hok Hs]. destruct (IH _ Ht1 Hh Hn) as [Hn1 Hc1].
    destruct (first_steps e l t t1 He Ht Ht1 Hh) as [Hh1 _].
    destruct (seek_step _ _ _ _ _ _ c d Hs Hok Hx Hh1 Hn1) as [Hn2 Hc2]. split; [done|].
    destruct Hc1 as [[Hp1 Hg1]|Hc1]; destruct Hc2 as [[Hp2 Hg2]|Hc2].
    - left. split; [congruence|]. intros Hsc. destruct Hg2 as [Hxd|?]; [|congruence].
      cbn [app]. rewrite events_since_move_other by done. rewrite Hg1 by done. done.
    - right. by rewrite <- Hp1.
    - right. by rewrite Hp2.
    - right. lia.
  Qed.
  Lemma seeking_time_bound F d t l : (seeking_time F d t l <= 2 * S F + F)%nat.
  Proof. unfold seeking_time. destruct (places t !! d) as [[]|]; simpl; lia. Qed.
  Theorem seeking_time_decreases F e l t t' d o : Forall (fun x => who x <> c) e -> replay k l = Some t ->
    replay k (e ++ l) = Some t' -> head (line t) = Some c -> next_in c (line t) = Some d -> d <> c ->
    (events_since_move d (e ++ l) < F)%nat -> seek_cost (places t' !! d) <> 0%nat ->
    (seeking_time F d t' (Event c o :: e ++ l) < seeking_time F d t l)%nat.
  Proof.
    intros He Ht Ht' Hh Hn Hdc Hg Hnz. destruct (seek_steps e l t t' d He Ht Ht' Hh Hn) as [_ Hc].
    assert (Hst : forall t l, seek_cost (places t !! d) <> 0%nat ->
      seeking_time F d t l = (seek_cost (places t !! d) * S F + (F - events_since_move d l))%nat).
    { intros t0 l0 H. unfold seeking_time. destruct (seek_cost (places t0 !! d)); [by destruct H|done]. }
    destruct Hc as [[Hp Hgap]|Hlt].
    - rewrite Hp in Hnz. rewrite !Hst by congruence. rewrite Hp, events_since_move_other by done. specialize (Hgap Hnz).
      apply waiting_time_less. right. split; [done|]. lia.
    - rewrite !Hst by lia. rewrite events_since_move_other by done. apply waiting_time_less. by left.
  Qed.

  (** The second has registered, or has yet to. *)
  Lemma second_place t d : mcs_ok t -> next_in c (line t) = Some d ->
    linked t c = (match seek_cost (places t !! d) with O => Some d | _ => None end).
  Proof.
    intros Hok Hn. assert (Hd : head (line t) <> Some d) by (eapply next_in_not_head; [apply Hok|exact Hn]).
    pose proof Hn as [_ Hi]%next_in_elem. destruct (ok_line _ Hok _ Hi) as [p Hp].
    pose proof (ok_place _ Hok _ _ Hp) as Hpl. unfold linked. rewrite Hn, Hp. destruct p; simpl in Hpl; try done; try (by destruct Hpl).
  Qed.
End steps.
