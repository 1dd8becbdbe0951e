(** The ticket lock's acquire, event by event: draw a ticket, read the served cell until it shows it, own.

    The loop ends: while a CPU waits, each read that finds another ticket decreases its waiting time
    ([waiting_time_decreases]), so their number is bounded. They count against the hold bounds of the locks it holds. *)
From Ashlar Require Export layers.spinlock.ticket.TicketRelease.

(** How many events CPU [c] has caused. *)
Fixpoint own_events (c : nat) (l : atomic_log) : nat :=
  match l with [] => 0 | e :: l => if decide (who e = c) then S (own_events c l) else own_events c l end.
Lemma own_events_others c e l : Forall (fun x => who x <> c) e -> own_events c (e ++ l) = own_events c l.
Proof. induction 1; [done|]. simpl. by rewrite decide_False. Qed.
Lemma own_events_own c o l : own_events c (Event c o :: l) = S (own_events c l).
Proof. simpl. by rewrite decide_True. Qed.

(** Tickets of CPUs that are queued differ. *)
Lemma ticket_differs x d : 0 < d < 2 ^ 64 -> wrap W64 x <> wrap W64 (x + d).
Proof.
  intros Hd H. unfold wrap in H. cbn [bits] in H.
  pose proof (Z.div_mod x (2 ^ 64) ltac:(lia)) as H1. pose proof (Z.div_mod (x + d) (2 ^ 64) ltac:(lia)) as H2.
  rewrite <- H in H2. assert (Hm : d = 2 ^ 64 * ((x + d) / 2 ^ 64 - x / 2 ^ 64)) by lia.
  set (u := (x + d) / 2 ^ 64 - x / 2 ^ 64) in *. clearbody u. assert (u <= 0 \/ 1 <= u) as [Hu|Hu] by lia; lia.
Qed.

Section wait.
  Context (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (cpus_fit : Z.of_nat ncpu < 2 ^ 64).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation replay := (replay hold_bound).
  Notation queue_step := (queue_step hold_bound).
  Notation wf := (keeps_protocol hold_bound ncpu).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside ncpu budget F nlock init guarded).
  Notation operating := (operating ncpu budget F).
  Notation settled := (settled ncpu budget F nlock init guarded).
  Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (c : nat) (Hc : (c < ncpu)%nat).
  Notation G0 := (below_guarantee L0 L1 lock_view wf G1).
  Notation between := (Link.between L0 L1 lock_view wf outside G1 c).

  (** [N]: the number of own events by the end at the latest; [r]: how many it may still cause. *)
  Context (k : Z) (ks : list Z) (n : nat) (m : mem) (Q : Z -> mem -> log L1 -> Prop) (N : nat).
  Record acquiring (r : nat) (l : atomic_log) : Prop := {
    acq_operating : operating c k ks (budget - S n) r l;
    acq_held : held c (views l) = (ks, n);
    acq_guarantee : G1 (views l);
    acq_caller : pwp L1 G1 c (ACQUIRE, [k]) m (views l) Q;
    acq_events : (own_events c l + r <= N)%nat;
  }.

  Lemma acquiring_others r e l : rely L0 G0 c l (e ++ l) -> Forall (fun x => who x <> c) e -> acquiring r l ->
    acquiring r (e ++ l).
  Proof using G1_legal.
    intros Hl He [Ho Eh _ Hp Hn]. pose proof Hl as (e1 & _ & _ & [Hw HG] & _). split.
    - by apply operating_others.
    - rewrite <- Eh. by apply held_views_others.
    - exact HG.
    - intros l1 Hl1. apply Hp. eapply rely_trans; [|exact Hl1]. by eapply rely_views.
    - by rewrite own_events_others.
  Qed.

  (** An own event about the lock that the lock layer does not see. *)
  Lemma acquiring_step r o l t t' : lock_view o = [] -> about o = Some k -> replay k l = Some t ->
    queue_step k (Event c o) t = Some t' -> acquiring (S r) l ->
    G0 (Event c o :: l) /\ acquiring r (Event c o :: l) /\ replay k (Event c o :: l) = Some t'.
  Proof using Hc.
    intros Hv Ha Ht Hs [Ho Eh HG Hp Hn].
    assert (Hview : views (Event c o :: l) = views l).
    { unfold lock_views, abs. cbn [flat_map who what]. by rewrite Hv. }
    destruct (operating_step ncpu budget F c k ks _ _ _ o _ _ Hc Ha Ht Hs Ho) as [Ho' Ht'].
    split; [split; [apply Ho'|]|split; [split|done]].
    - change (G1 (views (Event c o :: l))). by rewrite Hview.
    - done.
    - by rewrite Hview.
    - by rewrite Hview.
    - by rewrite Hview.
    - rewrite own_events_own. lia.
  Qed.

  (** CPU [c] has drawn [ticket], others are before it. *)
  Definition waits_turn (ticket : Z) (r : nat) (l : atomic_log) : Prop :=
    acquiring r l /\ exists t ahead behind, replay k l = Some t /\ waiting t = ahead ++ c :: behind /\
      ticket = wrap W64 (served t + Z.of_nat (length ahead)) /\ (ahead = [] -> first_phase t = Waits) /\
      (waiting_time hold_bound F k ahead (first_phase t) l + 2 <= r)%nat.
  (** It has seen that it is served. *)
  Definition has_turn (r : nat) (l : atomic_log) : Prop :=
    acquiring r l /\ (1 <= r)%nat /\ exists t q, replay k l = Some t /\ waiting t = c :: q /\ first_phase t = Served.

  Lemma draw l r : acquiring (S r) l -> acquire_cost ncpu F (hold_bound k) = S r ->
    (forall t, replay k l = Some t -> c ∉ waiting t) ->
    pwp L0 G0 c ("arch_atomic_fetch_add"%string, [2 * k; 1]) m l
      (fun v m' l' => m' = m /\ exists r', waits_turn v r' l').
  Proof using Hc G1_legal.
    intros Hacq Hcost Hout l' Hl'. pose proof Hl' as (e & -> & He & [[Hw _] _] & _).
    pose proof Hl' as (_ & _ & _ & [Hw' _] & _). change (lop L0) with atomic_event in *.
    pose proof (acquiring_others _ _ _ Hl' He Hacq) as Hacq'.
    destruct (Hw k) as [t Ht]. assert (Hnew : c ∉ waiting t).
    { pose proof (op_protocol _ _ _ _ _ _ _ _ _ (acq_operating _ _ Hacq)) as [Hw0 _]. destruct (Hw0 k) as [t0 Ht0].
      exact (unqueued_steps _ _ _ _ _ _ _ He Ht0 Ht (Hout t0 Ht0)). }
    destruct (acquiring_step r (EFetchAdd (2 * k) 1) (e ++ l) t _ eq_refl ltac:(simpl; by rewrite about_next) Ht
      (step_draw hold_bound k c t Hnew) Hacq') as (HG & Ha & Ht').
    simpl. split; [exact HG|]. split; [done|]. exists r. split; [exact Ha|].
    destruct (replay_invariant _ _ _ _ Ht) as [_ Hd _ _ _ Hempty]. rewrite Z.add_0_r in Hd.
    eexists _, (waiting t), []. split; [exact Ht'|]. cbn [waiting served first_phase].
    split_and!; [done|exact Hd|exact Hempty|].
    pose proof (wait_within_acquire ncpu budget F c k (waiting t) [] _ _ _
      (op_protocol _ _ _ _ _ _ _ _ _ (acq_operating _ _ Ha)) Ht' eq_refl eq_refl
      (phase_cost_bound _ _ _ _ Ht')) as Hb.
    cbn [first_phase] in Hb. lia.
  Qed.

  (** A look at the served cell. *)
  Lemma look_served ticket l r : waits_turn ticket r l ->
    pwp L0 G0 c ("arch_atomic_load"%string, [2 * k + 1]) m l
      (fun v m' l' => m' = m /\ ((v = ticket /\ exists r', has_turn r' l') \/
         (v <> ticket /\ exists r', (r' < r)%nat /\ waits_turn ticket r' l'))).
  Proof using Hc G1_legal cpus_fit.
    intros (Hacq & t & ahead & behind & Ht & Hq & Htk & Hempty & Hr) l' Hl'.
    pose proof Hl' as (e & -> & He & [Hw _] & Hsched & _). change (lop L0) with atomic_event in *.
    pose proof (acquiring_others _ _ _ Hl' He Hacq) as Hacq'. pose proof Hw as [Hw1 _]. destruct (Hw1 k) as [t' Ht'].
    destruct (wait_steps _ _ _ _ _ _ _ ahead behind He Ht Ht' Hq) as (ahead' & behind' & Hq' & Hn & Hcase).
    pose proof (replay_invariant _ _ _ _ Ht') as [Hnd _ Hv _ _ _].
    destruct r as [|r]; [lia|]. simpl. rewrite Hv. destruct ahead' as [|h' q'].
    - assert (Hp : first_phase t' = Waits).
      { destruct Hcase as [(Ha & -> & _)|(_ & _ & Ha)]; auto. }
      destruct (acquiring_step r (ELoad (2 * k + 1)) (e ++ l) t' _ eq_refl ltac:(simpl; by rewrite about_served) Ht'
        (step_served hold_bound k c t' behind' Hq' Hp) Hacq') as (HG & Ha & Ht2).
      split; [exact HG|]. split; [done|]. left. split; [rewrite Htk; f_equal; simpl in Hn; lia|].
      exists r. split; [exact Ha|]. split; [lia|]. by eexists _, behind'.
    - assert (Hne : c <> h' /\ c ∉ q').
      { rewrite Hq' in Hnd. simpl in Hnd. apply NoDup_cons in Hnd as [H1 Hnd]. split.
        - intros ->. apply H1, elem_of_app. right. left.
        - intros Hin. apply NoDup_app in Hnd as (_ & H2 & _). apply (H2 c Hin). left. }
      destruct Hne as [Hne Hni].
      assert (Hin : c ∈ q' ++ c :: behind') by (apply elem_of_app; right; left).
      destruct (acquiring_step r (ELoad (2 * k + 1)) (e ++ l) t' _ eq_refl ltac:(simpl; by rewrite about_served) Ht'
        (step_spin hold_bound k c t' h' _ Hq' Hne Hin) Hacq') as (HG & Ha & Ht2).
      split; [exact HG|]. split; [done|]. right.
      pose proof (waiting_length hold_bound ncpu k _ _ Hw Ht') as Hlen. rewrite Hq', app_length in Hlen.
      split; [rewrite Htk, <- Hn; apply ticket_differs; simpl length in *; lia|].
      exists r. split; [lia|]. split; [exact Ha|]. exists t', (h' :: q'), behind'. split_and!; [exact Ht2|done| |done|].
      + rewrite Htk, Hn. done.
      + destruct ahead as [|h q]; [by destruct Hcase as [(? & _)|(? & _)]|].
        assert (Hnot : c ∉ h :: q).
        { pose proof (replay_invariant _ _ _ _ Ht) as [Hnd0 _ _ _ _ _]. rewrite Hq in Hnd0.
          apply NoDup_app in Hnd0 as (_ & H2 & _). intros Hx. apply (H2 c Hx). left. }
        assert (Hgap : (events_since_move h' (e ++ l) < F)%nat).
        { apply Hsched; [done|]. exists k, t'. split; [done|]. rewrite Hq'. left. }
        pose proof (waiting_time_decreases hold_bound F k e l t t' c h q h' q' behind (ELoad (2 * k + 1)) He Ht Ht' Hq
          (ex_intro _ behind' Hq') (not_eq_sym Hne) Hni Hnot Hgap). lia.
  Qed.

  Lemma take r l : has_turn r l ->
    pwp L0 G0 c ("arch_own"%string, [k]) m l
      (fun _ m' l' => between l' /\ settled c Q 0 m' l' /\ (own_events c l' <= N)%nat).
  Proof using Hc G1_legal.
    intros (Hacq & Hr & t0 & q0 & Ht0 & Hq0 & Hp0) l' Hl'.
    pose proof Hl' as (e & -> & He & [Hw _] & _). change (lop L0) with atomic_event in *.
    destruct (acquiring_others _ _ _ Hl' He Hacq) as [Ho Eh HG Hp Hev].
    destruct (first_stays ncpu budget F c k e l t0 q0 He Hw Ht0 Hq0) as (t & q & Ht & Hq & Hph & _).
    rewrite Hp0 in Hph. change (lop L0) with atomic_event in *. set (l' := e ++ l) in *.
    assert (Hfree : owner k l' = None).
    { rewrite (rf_owner _ _ _ (replay_invariant _ _ _ _ Ht)). unfold queue_owner. by rewrite Hq, Hph. }
    specialize (Hp _ (rely_refl ncpu budget F nlock init guarded G1 G1_legal c _ HG)).
    change (lstep L1 c (ACQUIRE, [k]) m (views l')) with
      (lock_step nlock budget (cell_data init guarded) c (ACQUIRE, [k]) m (views l')) in Hp.
    unfold lock_step in Hp. rewrite Eh in Hp. change (String.eqb ACQUIRE ACQUIRE) with true in Hp. cbn iota in Hp.
    destruct (below nlock k ks && within budget ks n); [|done].
    rewrite <- (owner_holder budget F nlock init guarded (queued hold_bound)), Hfree in Hp.
    rewrite <- (disowned_published budget F nlock init guarded (queued hold_bound)) in Hp. destruct Hp as [HG2 HQ].
    simpl. rewrite Hfree. set (o := EOwn k).
    destruct r as [|r]; [lia|].
    destruct (operating_step ncpu budget F c k ks _ _ _ o _ _ Hc eq_refl Ht (step_own hold_bound k c t q Hq Hph) Ho)
      as [Ho' Ht'].
    assert (Hb : G0 (Event c o :: l')) by (split; [apply Ho'|exact HG2]).
    split; [exact Hb|]. split; [split; [|exact Hb]|split].
    - assert (Eh' : held c (views (Event c o :: l')) = (k :: ks, match ks with [] => 0%nat | _ => S n end)).
      { change (views (Event c o :: l')) with (Event c (OAcquire k) :: views l'). simpl. rewrite decide_True by done.
        rewrite Eh. by destruct ks. }
      eapply operating_end; [exact Ho'|exact Eh'| |exact Ht'|].
      + intros Hks. destruct ks; [done|]. lia.
      + left. split_and!; [left| |done]. exists q, (hold_bound k). split_and!; [done..|].
        unfold critical_section. rewrite Nat.add_0_r. apply Nat.mul_le_mono_r. lia.
    - exists [], (views (Event c o :: l')). split_and!; [done|constructor|exact HQ].
    - change (own_events c (Event c o :: l') <= N)%nat. rewrite own_events_own. lia.
  Qed.
End wait.
