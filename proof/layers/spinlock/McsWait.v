(** Waiting for an MCS lock: what the others do meanwhile brings one's turn nearer, and how long that takes at most: CPUs x
    critical section x scheduler patience. *)
From Ashlar Require Export layers.spinlock.McsNearer.

Section steps.
  Context (patience : Z -> nat) (k : Z) (Hk : 0 <= k < NUM_LOCK) (c : nat).
  Notation replay := (replay patience).
  Notation work := (work patience k).

  Lemma replay_step e l t t' : replay k l = Some t -> replay k (e :: l) = Some t' ->
    mcs_ok t /\ shape patience k (who e) (what e) t t'.
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

  Lemma gap_other h x l : who x <> h -> gap h (x :: l) = S (gap h l).
  Proof. intros. simpl. by rewrite decide_False. Qed.

  Theorem wait_steps e l t t' ahead : Forall (fun x => who x <> c) e -> replay k l = Some t ->
    replay k (e ++ l) = Some t' -> behind_of c ahead t -> ahead <> [] ->
    exists ahead', behind_of c ahead' t' /\
      ((ahead' = ahead /\ work t' ahead = work t ahead /\ mover t' = mover t /\
        gap (mover t) (e ++ l) = (length e + gap (mover t) l)%nat) \/ (work t' ahead' < work t ahead)%nat).
  Proof.
    intros He Ht. revert t'. induction He as [|x e Hx He IH]; intros t' Ht' Hb Ha.
    { simpl in Ht'. simplify_eq. exists ahead. split; [done|]. by left. }
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _).
    destruct (replay_step _ _ _ _ Ht1 Ht') as [Hok Hs].
    destruct (IH _ Ht1 Hb Ha) as (a1 & Hb1 & Hc1). destruct (decide (a1 = [])) as [->|Ha1].
    - exists []. destruct Hb1 as [[behind Hl1] Hp1]. destruct Hc1 as [(<- & _)|Hc1]; [done|].
      destruct (first_step _ _ _ _ _ _ c Hs Hok Hx) as [Hh Hp]; [by rewrite Hl1|].
      split; [split; [|by rewrite Hp]|by right]. destruct (line t') as [|y q]; [done|]. injection Hh as ->. by exists q.
    - destruct (wait_step _ _ _ _ _ _ c a1 Hs Hok Hb1 Ha1 Hx) as (a2 & Hb2 & Hc2). exists a2. split; [done|].
      destruct Hc1 as [(-> & Hw1 & Hm1 & Hg1)|Hw1]; destruct Hc2 as [(-> & Hw2 & Hm2 & Hne)|Hw2].
      + left. split_and!; [done|congruence|congruence|]. cbn [app]. rewrite gap_other by congruence. rewrite Hg1. done.
      + right. lia.
      + right. lia.
      + right. lia.
  Qed.

  (** ** Waiting times: CPUs x critical section x scheduler patience *)

  (** [F]: the scheduler's patience. How many events, of anybody, may still pass before [c] is let through. *)
  Definition waiting_time (F : nat) (ahead : list nat) (t : mcs) (l : atomic_log) : nat :=
    match ahead with [] => 0 | _ => work t ahead * S F + (F - gap (mover t) l) end.

  Lemma cost_bound l t x : replay k l = Some t -> (cost_of patience k t x <= patience k + 9)%nat.
  Proof using Hk.
    intros Ht. unfold cost_of. destruct (places t !! x) as [p|] eqn:E; [|lia]. destruct p; simpl; try lia.
    pose proof (rf_left _ _ _ _ (replay_invariant _ _ _ _ Hk Ht) _ _ E). lia.
  Qed.
  Lemma work_bound l t ahead : replay k l = Some t -> (work t ahead <= length ahead * (patience k + 9))%nat.
  Proof using Hk.
    intros Ht. induction ahead as [|x a IH]; [done|]. simpl. pose proof (cost_bound l t x Ht). lia.
  Qed.
  Theorem waiting_time_bound F ahead behind l t : replay k l = Some t -> line t = ahead ++ c :: behind ->
    (waiting_time F ahead t l <= Z.to_nat NUM_CPU * (patience k + 9) * S F + F)%nat.
  Proof using Hk.
    intros Ht Hl. pose proof (work_bound l t ahead Ht) as Hw. pose proof (line_length t (replay_ok _ _ _ _ Ht)) as Hlen.
    rewrite Hl, app_length in Hlen. simpl in Hlen. set (N := Z.to_nat NUM_CPU) in *.
    unfold waiting_time. destruct ahead as [|h a]; [lia|].
    assert (length (h :: a) * (patience k + 9) <= N * (patience k + 9))%nat by (apply Nat.mul_le_mono_r; lia).
    assert (work t (h :: a) * S F <= N * (patience k + 9) * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
  Qed.

  (** A CPU that looks at its busy cell once more, at a log where the scheduler was patient, has less time to wait. *)
  Theorem waiting_time_decreases F e l t t' ahead o : Forall (fun x => who x <> c) e -> replay k l = Some t ->
    replay k (e ++ l) = Some t' -> behind_of c ahead t -> ahead <> [] ->
    (places t' !! c = Some Waits -> (gap (mover t') (e ++ l) < F)%nat) ->
    exists ahead', behind_of c ahead' t' /\
      (ahead' <> [] -> waiting_time F ahead' t' (Event c o :: e ++ l) < waiting_time F ahead t l)%nat.
  Proof.
    intros He Ht Ht' Hb Ha Hg. destruct (wait_steps e l t t' ahead He Ht Ht' Hb Ha) as (a & Hb' & Hcase).
    exists a. split; [done|]. intros Hne. destruct Hb' as [[behind Hl] Hp].
    assert (Hw : places t' !! c = Some Waits) by (by destruct a). specialize (Hg Hw).
    assert (Hmc : mover t' <> c).
    { intros Hm. pose proof (replay_ok _ _ _ _ Ht') as Hok. apply (mover_moves t' Hok); [|by rewrite Hm].
      rewrite Hl. by destruct a. }
    assert (Hwt : forall a t l, a <> [] -> waiting_time F a t l = (work t a * S F + (F - gap (mover t) l))%nat)
      by (by intros [|??]).
    rewrite !Hwt, gap_other by done. destruct Hcase as [(-> & Hw1 & Hm & Hgap)|Hlt].
    - rewrite Hm in Hg |- *. rewrite Hw1. rewrite Hgap in Hg |- *. generalize (work t ahead * S F)%nat. intros. lia.
    - set (w1 := work t' a) in *. set (w0 := work t ahead) in *.
      assert (S w1 * S F <= w0 * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
  Qed.

  (** ** The first waits to be told who is second *)

  Definition seeking_time (F : nat) (d : nat) (t : mcs) (l : atomic_log) : nat :=
    match seek_cost (places t !! d) with O => 0 | n => n * S F + (F - gap d l) end.

  Lemma seek_steps e l t t' d : Forall (fun x => who x <> c) e -> replay k l = Some t -> replay k (e ++ l) = Some t' ->
    head (line t) = Some c -> next_in c (line t) = Some d ->
    next_in c (line t') = Some d /\
    ((places t' !! d = places t !! d /\ (seek_cost (places t !! d) <> 0 -> gap d (e ++ l) = length e + gap d l)%nat) \/
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
      cbn [app]. rewrite gap_other by done. rewrite Hg1 by done. done.
    - right. by rewrite <- Hp1.
    - right. by rewrite Hp2.
    - right. lia.
  Qed.
  Lemma seeking_time_bound F d t l : (seeking_time F d t l <= 2 * S F + F)%nat.
  Proof. unfold seeking_time. destruct (places t !! d) as [[]|]; simpl; lia. Qed.
  Theorem seeking_time_decreases F e l t t' d o : Forall (fun x => who x <> c) e -> replay k l = Some t ->
    replay k (e ++ l) = Some t' -> head (line t) = Some c -> next_in c (line t) = Some d -> d <> c ->
    (gap d (e ++ l) < F)%nat -> seek_cost (places t' !! d) <> 0%nat ->
    (seeking_time F d t' (Event c o :: e ++ l) < seeking_time F d t l)%nat.
  Proof.
    intros He Ht Ht' Hh Hn Hdc Hg Hnz. destruct (seek_steps e l t t' d He Ht Ht' Hh Hn) as [_ Hc].
    assert (Hst : forall t l, seek_cost (places t !! d) <> 0%nat ->
      seeking_time F d t l = (seek_cost (places t !! d) * S F + (F - gap d l))%nat).
    { intros t0 l0 H. unfold seeking_time. destruct (seek_cost (places t0 !! d)); [by destruct H|done]. }
    destruct Hc as [[Hp Hgap]|Hlt].
    - rewrite Hp in Hnz. rewrite !Hst by congruence. rewrite Hp, gap_other by done. specialize (Hgap Hnz). rewrite Hgap in Hg |- *.
      generalize (seek_cost (places t !! d) * S F)%nat. intros. lia.
    - rewrite !Hst by lia. rewrite gap_other by done. set (w1 := seek_cost (places t' !! d)) in *.
      set (w0 := seek_cost (places t !! d)) in *.
      assert (S w1 * S F <= w0 * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
  Qed.

  (** Who is second has told, or has yet to. *)
  Lemma second_place t d : mcs_ok t -> next_in c (line t) = Some d ->
    linked t c = (match seek_cost (places t !! d) with O => Some d | _ => None end).
  Proof.
    intros Hok Hn. assert (Hd : head (line t) <> Some d) by (eapply next_in_not_head; [apply Hok|exact Hn]).
    pose proof Hn as [_ Hi]%next_in_elem. destruct (ok_line _ Hok _ Hi) as [p Hp].
    pose proof (ok_place _ Hok _ _ Hp) as Hpl. unfold linked. rewrite Hn, Hp. destruct p; simpl in Hpl; try done; try (by destruct Hpl).
  Qed.
End steps.
