(** The MCS lock's release, event by event: give up what the lock guards, read the successor cell, try to empty the queue,
    wait for the successor to write its number, let it through.

    The lock layer's event is the first; the others count against the hold bounds of the locks still held. *)
From Ashlar Require Export layers.spinlock.mcs.McsOwnEvents.

Section release.
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
  Notation in_operation := (in_operation budget F nlock init guarded G1 c k ks n (budget - n) N (settled c Q 0 m)).
  Notation at_place := (at_place budget F c k).

  Lemma settled_rely l l' : rely L0 G0 c l l' -> settled c Q 0 m l -> settled c Q 0 m l'.
  Proof using. intros (e & -> & He & _). by apply settled_others. Qed.
  Lemma settled_own l o : lock_view o = [] -> settled c Q 0 m l -> settled c Q 0 m (Event c o :: l).
  Proof using. apply settled_invisible. Qed.

  (** CPU [c] is at [p]; waits for its successor's number; is out of the queue. *)
  Definition releasing (p : place) (r : nat) (l : atomic_log) : Prop := in_operation r l /\ at_place p l.
  Definition seeking (r : nat) (l : atomic_log) : Prop :=
    in_operation r l /\ exists t d, replay k l = Some t /\ places t !! c = Some Seeks /\ next_in c (line t) = Some d /\
      (seeking_time F d t l + 2 <= r)%nat.
  Definition released (l : atomic_log) : Prop := in_operation 0 l /\ exists t, replay k l = Some t /\ places t !! c = None.

  Notation event := (in_operation_event budget F nlock init guarded G1 c Hc k Hk ks n (budget - n) N (settled c Q 0 m)
    settled_rely settled_own).

  (** A CPU in the protocol reads which successor has registered. *)
  Lemma successor_read l t p : replay k l = Some t -> places t !! c = Some p ->
    atomic_value (successor_cell k c) l = name (linked t c).
  Proof using Hk. intros Ht Hp. by apply (rf_successor _ _ _ _ (replay_invariant _ _ _ _ Hk Ht) c p). Qed.

  Lemma release_look r l : releasing Leaves (S r) l ->
    pwp L0 G0 c ("arch_atomic_load"%string, [successor_cell k c]) m l
      (fun v m' l' => m' = m /\ ((exists d, v = name (Some d) /\ releasing (Passes d) r l') \/ (v = 0 /\ releasing Tries r l'))).
  Proof using Hc Hk.
    intros [Hact Hat]. eapply (event _ (ELoad (successor_cell k c)) (atomic_value (successor_cell k c)));
      [done|done|cbn; by rewrite cell_lock_successor|exact Hact|].
    intros l' t Hl' Ht. pose proof (at_place_others budget F nlock init guarded G1 c k _ _ _ t Hl' Hat ltac:(done) Ht) as Hp.
    rewrite (successor_read l' t _ Ht Hp). eexists. split.
    { cbn. unfold load_event. by rewrite Hp, decide_True. }
    intros Ht' Hact'. destruct (linked t c) as [d|] eqn:El.
    - left. exists d. split; [done|]. split; [done|]. eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert.
    - right. split; [done|]. split; [done|]. eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert.
  Qed.

  Lemma release_pass d r l : releasing (Passes d) (S r) l ->
    pwp L0 G0 c ("arch_atomic_store"%string, [busy_cell k d; 0]) m l (fun v m' l' => m' = m /\ released l').
  Proof using Hc Hk.
    intros [Hact Hat].
    assert (Hd : Z.of_nat d < NUM_CPU).
    { destruct Hat as (t & Ht & Hp). pose proof (replay_ok _ _ _ _ Ht) as Hok.
      destruct (ok_place _ Hok _ _ Hp) as (_ & _ & Hw). by eapply ok_cpu. }
    eapply pwp_mono; [|eapply (event _ (EStore (busy_cell k d) 0) (fun _ => 0) m l r (fun _ l' => released l'));
      [done|done|cbn; by rewrite cell_lock_busy|exact Hact|]]; [done|].
    intros l' t Hl' Ht. pose proof (at_place_others budget F nlock init guarded G1 c k _ _ _ t Hl' Hat ltac:(done) Ht) as Hp.
    eexists. split.
    { cbn. unfold store_event. rewrite Hp. by rewrite decide_True. }
    intros Ht' Hact'. split; [eapply in_operation_weaken; [|exact Hact']; lia|]. eexists. split; [exact Ht'|]. cbn.
    pose proof (replay_ok _ _ _ _ Ht) as Hok. destruct (ok_place _ Hok _ _ Hp) as (_ & _ & Hw).
    rewrite lookup_insert_ne by congruence. apply lookup_delete.
  Qed.

  Lemma release_cas r l : releasing Tries (S r) l -> (2 * S F + F + 2 <= r)%nat ->
    pwp L0 G0 c ("arch_atomic_cas"%string, [tail_cell k; name (Some c); 0]) m l
      (fun v m' l' => m' = m /\ ((v = name (Some c) /\ released l') \/ (v <> name (Some c) /\ seeking r l'))).
  Proof using Hc Hk.
    intros [Hact Hat] Hr. eapply (event _ (ECas (tail_cell k) (name (Some c)) 0) (atomic_value (tail_cell k)));
      [done|done|cbn [about]; by rewrite cell_lock_tail|exact Hact|].
    intros l' t Hl' Ht. pose proof (at_place_others budget F nlock init guarded G1 c k _ _ _ t Hl' Hat ltac:(done) Ht) as Hp.
    pose proof (replay_ok _ _ _ _ Ht) as Hok. pose proof (ok_place _ Hok _ _ Hp) as Hh. cbn in Hh.
    rewrite (rf_tail _ _ _ _ (replay_invariant _ _ _ _ Hk Ht)). eexists. split.
    { cbn [own_event]. by rewrite decide_True. }
    intros Ht' Hact'. destruct (line t) as [|h [|d q]] eqn:El; [done| |]; injection Hh as ->.
    - left. split; [done|]. split; [eapply in_operation_weaken; [|exact Hact']; lia|]. eexists. split; [exact Ht'|]. cbn.
      apply lookup_delete.
    - right. split.
      { rewrite <- El. apply last_not_first; [done|by rewrite El|]. intros h. by rewrite El. }
      split; [done|]. exists (move c Seeks t), d. split; [exact Ht'|]. cbn. rewrite lookup_insert, El.
      split; [done|]. cbn. rewrite decide_True by done. split; [done|].
      pose proof (seeking_time_bound F d (move c Seeks t) (Event c (ECas (tail_cell k) (name (Some c)) 0) :: l')).
      cbn [name] in *. lia.
  Qed.

  (** Looks again. *)
  Lemma release_seek r l : seeking r l ->
    pwp L0 G0 c ("arch_atomic_load"%string, [successor_cell k c]) m l
      (fun v m' l' => m' = m /\ ((exists d r', v = name (Some d) /\ releasing (Passes d) (S r') l') \/
         (v = 0 /\ exists r', (r' < r)%nat /\ seeking r' l'))).
  Proof using Hc Hk.
    intros (Hact & t0 & d & Ht0 & Hp0 & Hn0 & Hr). destruct r as [|r]; [lia|].
    eapply (event _ (ELoad (successor_cell k c)) (atomic_value (successor_cell k c)));
      [done|done|cbn; by rewrite cell_lock_successor|exact Hact|].
    intros l' t Hl' Ht.
    pose proof (at_place_others budget F nlock init guarded G1 c k Seeks _ _ t Hl' (ex_intro _ t0 (conj Ht0 Hp0))
      ltac:(done) Ht) as Hp.
    rewrite (successor_read l' t _ Ht Hp). eexists. split.
    { cbn. unfold load_event. by rewrite Hp, decide_True. }
    intros Ht' Hact'. pose proof (replay_ok _ _ _ _ Ht0) as Hok0. pose proof (replay_ok _ _ _ _ Ht) as Hok.
    destruct (ok_place _ Hok0 _ _ Hp0) as [Hh0 _].
    destruct Hl' as (e & -> & He & _ & Hsched & _). change (lop L0) with atomic_event in *.
    destruct (seek_steps hold_bound k c e l t0 t d He Ht0 Ht Hh0 Hn0) as [Hn _].
    assert (Hdc : d <> c).
    { intros ->. by apply (next_in_not_head _ _ _ (ok_nodup _ Hok0) Hn0). }
    assert (Hgap : (events_since_move d (e ++ l) < F)%nat).
    { apply Hsched; [done|]. exists k, t. split; [done|]. split; [done|]. by apply next_in_elem in Hn as [_ ?]. }
    destruct (linked t c) as [d'|] eqn:El.
    - left. exists d', (r - 1)%nat. split; [done|]. split; [eapply in_operation_weaken; [|exact Hact']; lia|]. eexists.
      split; [exact Ht'|]. cbn. by rewrite lookup_insert.
    - right. split; [done|]. exists r. split; [lia|]. split; [done|]. exists t, d. split_and!; [done..|].
      assert (Hnz : seek_cost (places t !! d) <> 0%nat).
      { pose proof (second_place c t d Hok Hn) as Hs. rewrite El in Hs. by destruct (seek_cost _). }
      pose proof (seeking_time_decreases hold_bound k c F e l t0 t d (ELoad (successor_cell k c)) He Ht0 Ht Hh0 Hn0 Hdc Hgap Hnz).
      lia.
  Qed.

  Lemma released_between l : released l ->
    between l /\ settled c Q 0 m l /\ (own_events c l <= N)%nat.
  Proof using.
    intros [[Ho Eh HG HC He] (t & Ht & Hp)]. split; [|split; [done|lia]].
    split; [|split; [apply Ho|exact HG]].
    eapply operating_end; [exact Ho|exact Eh|lia|exact Ht|done|]. unfold account. rewrite Hp. apply Ho.
  Qed.
End release.
