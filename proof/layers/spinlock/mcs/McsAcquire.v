(** The MCS lock's acquire, event by event: prepare the successor cell, swap into the tail, set the own busy cell, write
    into the predecessor's successor cell, read the busy cell until it is 0, own.

    The loop ends: while a CPU waits, each read that finds 1 decreases its waiting time ([waiting_time_decreases]), so their
    number is bounded. They count against the hold bounds of the locks it holds. *)
From Ashlar Require Export layers.spinlock.mcs.McsOwnEvents.

Section acquire.
  Context (budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Notation hold_bound := (critical_section budget F).
  Notation replay := (replay hold_bound).
  Notation wf := (keeps_protocol hold_bound).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside budget F nlock init guarded).
  Notation settled := (settled budget F nlock init guarded).
  Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (c : nat) (Hc : Z.of_nat c < NUM_CPU).
  Notation G0 := (below_guarantee L0 L1 lock_view wf G1).
  Notation between := (Link.between L0 L1 lock_view wf outside G1 c).

  Context (k : Z) (Hk : 0 <= k < NUM_LOCK) (ks : list Z) (n N : nat) (m : mem) (Q : Z -> mem -> log L1 -> Prop).
  Definition asked (l : log L0) : Prop := pwp L1 G1 c (ACQUIRE, [k]) m (views l) Q.
  Notation in_operation := (in_operation budget F nlock init guarded G1 c k ks n (budget - S n) N asked).
  Notation at_place := (at_place budget F c k).

  Lemma asked_rely l l' : rely L0 G0 c l l' -> asked l -> asked l'.
  Proof using G1_legal.
    intros Hl Hp l1 Hl1. apply Hp. eapply rely_trans; [|exact Hl1]. by eapply rely_views.
  Qed.
  Lemma asked_own l o : lock_view o = [] -> asked l -> asked (Event c o :: l).
  Proof using.
    intros Hv Hp. unfold asked. replace (views (Event c o :: l)) with (views l); [done|].
    unfold lock_views, abs. cbn [flat_map who what]. by rewrite Hv.
  Qed.

  Definition absent (r : nat) (l : atomic_log) : Prop := in_operation r l /\ exists t, replay k l = Some t /\ places t !! c = None.
  Definition joining (p : place) (r : nat) (l : atomic_log) : Prop := in_operation r l /\ at_place p l.
  Definition waits (r : nat) (l : atomic_log) : Prop :=
    in_operation r l /\ exists t ahead, replay k l = Some t /\ places t !! c = Some Waits /\ in_line c ahead t /\
      (waiting_time hold_bound k c F ahead t l + 2 <= r)%nat.

  Notation event := (in_operation_event budget F nlock init guarded G1 c Hc k Hk ks n (budget - S n) N asked asked_rely asked_own).
  Notation stays := (at_place_others budget F nlock init guarded G1 c k).

  Lemma acquire_prepare r l : absent (S r) l ->
    pwp L0 G0 c ("arch_atomic_store"%string, [successor_cell k c; 0]) m l (fun v m' l' => m' = m /\ joining Ready r l').
  Proof using Hc Hk G1_legal.
    intros [Hact (t0 & Ht0 & Hp0)].
    eapply pwp_mono; [|eapply (event _ (EStore (successor_cell k c) 0) (fun _ => 0) m l r (fun _ l' => joining Ready r l'));
      [done|done|cbn; by rewrite cell_lock_successor|exact Hact|]]; [done|].
    intros l' t (e & -> & He & _) Ht. change (lop L0) with atomic_event in *.
    assert (Hp : places t !! c = None) by (rewrite (place_steps hold_bound k c e l t0 t He Ht0 Ht); congruence).
    eexists. split.
    { cbn. unfold store_event. rewrite Hp. by rewrite decide_True. }
    intros Ht' Hact'. split; [done|]. eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert.
  Qed.

  Lemma acquire_swap r l : joining Ready (S r) l ->
    pwp L0 G0 c ("arch_atomic_swap"%string, [tail_cell k; name (Some c)]) m l
      (fun v m' l' => m' = m /\ ((v = 0 /\ joining Enters r l') \/
         (exists b, v = name (Some b) /\ Z.of_nat b < NUM_CPU /\ joining (Joins b) r l'))).
  Proof using Hc Hk G1_legal.
    intros [Hact Hat]. eapply (event _ (ESwap (tail_cell k) (name (Some c))) (atomic_value (tail_cell k)));
      [done|done|cbn [about]; by rewrite cell_lock_tail|exact Hact|].
    intros l' t Hl' Ht. pose proof (stays _ _ _ t Hl' Hat ltac:(done) Ht) as Hp.
    pose proof (replay_ok _ _ _ _ Ht) as Hok.
    rewrite (rf_tail _ _ _ _ (replay_invariant _ _ _ _ Hk Ht)). eexists. split.
    { cbn [own_event]. by rewrite decide_True. }
    intros Ht' Hact'. destruct (last (line t)) as [b|] eqn:El.
    - right. exists b. split; [done|]. split.
      + assert (Hin : b ∈ line t) by (apply last_Some in El as [q ->]; apply elem_of_app; right; left).
        apply (ok_line _ Hok) in Hin as [p Hpb]. by eapply ok_cpu.
      + split; [done|]. eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert, El.
    - left. split; [done|]. split; [done|]. eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert, El.
  Qed.

  Lemma acquire_mark b r l : joining (Joins b) (S r) l ->
    pwp L0 G0 c ("arch_atomic_store"%string, [busy_cell k c; 1]) m l (fun v m' l' => m' = m /\ joining (Marks b) r l').
  Proof using Hc Hk G1_legal.
    intros [Hact Hat].
    eapply pwp_mono; [|eapply (event _ (EStore (busy_cell k c) 1) (fun _ => 0) m l r (fun _ l' => joining (Marks b) r l'));
      [done|done|cbn; by rewrite cell_lock_busy|exact Hact|]]; [done|].
    intros l' t Hl' Ht. pose proof (stays _ _ _ t Hl' Hat ltac:(done) Ht) as Hp. eexists. split.
    { cbn. unfold store_event. rewrite Hp. by rewrite decide_True. }
    intros Ht' Hact'. split; [done|]. eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert.
  Qed.

  Lemma acquire_link b r l : Z.of_nat b < NUM_CPU -> joining (Marks b) (S r) l ->
    (Z.to_nat NUM_CPU * (hold_bound k + 9) * S F + F + 2 <= r)%nat ->
    pwp L0 G0 c ("arch_atomic_store"%string, [successor_cell k b; name (Some c)]) m l (fun v m' l' => m' = m /\ waits r l').
  Proof using Hc Hk G1_legal.
    intros Hb [Hact Hat] Hr.
    eapply pwp_mono; [|eapply (event _ (EStore (successor_cell k b) (name (Some c))) (fun _ => 0) m l r (fun _ l' => waits r l'));
      [done|done|cbn [about]; by rewrite cell_lock_successor|exact Hact|]]; [done|].
    intros l' t Hl' Ht. pose proof (stays _ _ _ t Hl' Hat ltac:(done) Ht) as Hp.
    pose proof (replay_ok _ _ _ _ Ht) as Hok. pose proof (ok_place _ Hok _ _ Hp) as Hn. cbn in Hn. eexists. split.
    { cbn [own_event]. unfold store_event. rewrite Hp. by rewrite decide_True. }
    intros Ht' Hact'. split; [done|].
    pose proof Hn as [_ Hin]%next_in_elem. apply elem_of_list_split in Hin as (ahead & behind & El).
    assert (Hw : places (move c Waits t) !! c = Some Waits) by apply lookup_insert.
    assert (Hline : in_line c ahead (move c Waits t)) by (split; [by exists behind|by eexists]).
    exists (move c Waits t), ahead. split_and!; [done..|].
    pose proof (waiting_time_bound hold_bound k Hk c F ahead _ (move c Waits t) Ht' Hline) as Hb'.
    etrans; [|exact Hr]. apply Nat.add_le_mono_r. exact Hb'.
  Qed.

  (** A look at the busy cell. *)
  Lemma acquire_look r l : waits r l ->
    pwp L0 G0 c ("arch_atomic_load"%string, [busy_cell k c]) m l
      (fun v m' l' => m' = m /\ ((v = 0 /\ exists r', joining Enters (S r') l') \/
         (v = 1 /\ exists r', (r' < r)%nat /\ waits r' l'))).
  Proof using Hc Hk G1_legal.
    intros (Hact & t0 & ahead & Ht0 & Hw0 & Hin0 & Hr). destruct r as [|r]; [lia|].
    eapply (event _ (ELoad (busy_cell k c)) (atomic_value (busy_cell k c)));
      [done|done|cbn; by rewrite cell_lock_busy|exact Hact|].
    intros l' t (e & -> & He & _ & Hsched & _) Ht. change (lop L0) with atomic_event in *.
    rewrite (rf_busy _ _ _ _ (replay_invariant _ _ _ _ Hk Ht) c Hc).
    destruct (waiting_steps hold_bound k c e l t0 t He Ht0 Ht Hw0) as [Hp|Hp]; rewrite Hp.
    - pose proof (replay_ok _ _ _ _ Ht) as Hok. pose proof (place_in_line t c _ Hok Hp ltac:(done)) as Hin.
      assert (Hne : line t <> []) by (by intros E; rewrite E in Hin; apply elem_of_nil in Hin).
      destruct (waiting_time_decreases hold_bound k c F e l t0 t ahead (ELoad (busy_cell k c)) He Ht0 Ht Hin0 Hp)
        as (ahead' & Hin' & Hlt).
      { apply Hsched.
        - intros Hm. apply (mover_moves t Hok Hne). by rewrite Hm.
        - exists k, t. split; [done|]. split; [done|]. by apply mover_contending. }
      exists t. split.
      { cbn. unfold load_event. by rewrite Hp, decide_True. }
      intros Ht' Hact'. right. split; [done|]. exists r. split; [lia|]. split; [done|]. exists t, ahead'.
      split_and!; [done|done|exact Hin'|lia].
    - eexists. split.
      { cbn. unfold load_event. by rewrite Hp, decide_True. }
      intros Ht' Hact'. left. split; [done|]. exists (r - 1)%nat. split; [eapply in_operation_weaken; [|exact Hact']; lia|].
      eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert.
  Qed.

  Lemma acquire_own r l : joining Enters (S r) l ->
    pwp L0 G0 c ("arch_own"%string, [k]) m l
      (fun _ m' l' => between l' /\ settled c Q 0 m' l' /\ (own_events c l' <= N)%nat).
  Proof using Hc Hk G1_legal.
    intros [Hact Hat] l' Hl'.
    destruct (in_operation_others budget F nlock init guarded G1 c k ks n (budget - S n) N asked asked_rely _ _ _ Hl' Hact)
      as [Ho Eh HG Hp Hev].
    destruct (op_protocol _ _ _ _ _ _ _ _ Ho k Hk) as [t Ht]. pose proof (stays _ _ _ t Hl' Hat ltac:(done) Ht) as Hpl.
    pose proof (replay_invariant _ _ _ _ Hk Ht) as Hf.
    assert (Hfree : owner k l' = None).
    { destruct (owner k l') as [x|] eqn:Ex; [|done]. apply (rf_owner _ _ _ _ Hf) in Ex as [i Hx].
      pose proof (ok_place _ (rf_ok _ _ _ _ Hf) _ _ Hx) as H1. pose proof (ok_place _ (rf_ok _ _ _ _ Hf) _ _ Hpl) as H2.
      cbn in H1, H2. congruence. }
    specialize (Hp _ (rely_refl budget F nlock init guarded G1 c _ G1_legal HG)).
    change (lstep L1 c (ACQUIRE, [k]) m (views l')) with
      (lock_step nlock budget (cell_data init guarded) c (ACQUIRE, [k]) m (views l')) in Hp.
    unfold lock_step in Hp. rewrite Eh in Hp. change (String.eqb ACQUIRE ACQUIRE) with true in Hp. cbn iota in Hp.
    destruct (below nlock k ks && within budget ks n); [|done].
    rewrite <- (owner_holder budget F nlock init guarded (queued hold_bound)), Hfree in Hp.
    rewrite <- (disowned_published budget F nlock init guarded (queued hold_bound)) in Hp. destruct Hp as [HG2 HQ].
    change (lstep L0 c ("arch_own"%string, [k]) m l') with
      (atomics_step (cell_data init guarded) c ("arch_own"%string, [k]) m l'). cbn [atomics_step].
    rewrite Hfree. set (o := EOwn k).
    assert (Hown : own_event hold_bound k c o t = Some (move c (Holds (hold_bound k)) t)) by (cbn; by rewrite decide_True).
    destruct (operating_step budget F c k ks (budget - S n) r l' o t _ Hc eq_refl Ht Hown Ho) as [Ho' Ht'].
    assert (Hb : G0 (Event c o :: l')) by (split; [apply Ho'|exact HG2]).
    split; [exact Hb|]. split; [split; [|exact Hb]|split].
    - assert (Eh' : held c (views (Event c o :: l')) = (k :: ks, match ks with [] => 0%nat | _ => S n end)).
      { change (views (Event c o :: l')) with (Event c (OAcquire k) :: views l'). simpl. rewrite decide_True by done.
        rewrite Eh. by destruct ks. }
      eapply operating_end; [exact Ho'|exact Eh'| |exact Ht'| |].
      + intros Hks. destruct ks; [done|]. lia.
      + intros k' Hne. rewrite elem_of_cons. tauto.
      + unfold account. cbn. rewrite lookup_insert. split; [left|].
        unfold critical_section. rewrite Nat.add_0_r. apply Nat.mul_le_mono_r. lia.
    - exists [], (views (Event c o :: l')). split_and!; [done|constructor|exact HQ].
    - change (own_events c (Event c o :: l') <= N)%nat. rewrite TicketWait.own_events_own. lia.
  Qed.
End acquire.
