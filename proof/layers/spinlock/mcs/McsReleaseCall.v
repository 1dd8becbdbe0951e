(** The MCS lock's release implements the lock layer's, and takes at most [release_cost] own events. *)
From Ashlar Require Export layers.spinlock.mcs.McsRelease.

Section call.
  Context (budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (locks_fit : nlock <= NUM_LOCK).
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

  (** What the caller of a release has to show. *)
  Lemma release_required args m l Q : G1 (views l) -> pwp L1 G1 c (RELEASE, args) m (views l) Q ->
    exists k ks n, args = [k] /\ held c (views l) = (k :: ks, n) /\ within budget (k :: ks) n = true.
  Proof using G1_legal.
    intros HG Hp. specialize (Hp _ (rely_refl budget F nlock init guarded G1 c l G1_legal HG)).
    change (lstep L1 c (RELEASE, args) m (views l)) with
      (lock_step nlock budget (cell_data init guarded) c (RELEASE, args) m (views l)) in Hp. unfold lock_step in Hp.
    destruct (held c (views l)) as [ks n] eqn:Eh. destruct args as [|k [|? ?]]; [done| |done].
    change (String.eqb RELEASE ACQUIRE) with false in Hp. cbn iota in Hp.
    destruct ks as [|k' ks]; [done|].
    change (String.eqb RELEASE RELEASE) with true in Hp. cbn iota in Hp.
    destruct (Z.eqb_spec k' k) as [->|]; [|done].
    destruct (within budget (k :: ks) n) eqn:Ew; [|done]. by exists k, ks, n.
  Qed.

  Notation releasing k ks n N m Q := (releasing budget F nlock init guarded G1 c k ks n N m Q).
  Notation seeking k ks n N m Q := (seeking budget F nlock init guarded G1 c k ks n N m Q).
  Notation released k ks n N m Q := (released budget F nlock init guarded G1 c k ks n N m Q).

  Lemma release_disown k ks n m l Q : 0 <= k < NUM_LOCK -> between l -> held c (views l) = (k :: ks, n) ->
    within budget (k :: ks) n = true -> pwp L1 G1 c (RELEASE, [k]) m (views l) Q ->
    pwp L0 G0 c ("arch_disown"%string, [k]) m l
      (fun _ m' l' => releasing k ks (S n) (own_events c l + release_cost F) m' Q Leaves (2 * S F + F + 5) l').
  Proof using Hc G1_legal.
    intros Hk (Ho & Hw & HG) Eh Hb Hp l' Hl'. specialize (Hp _ (rely_views _ _ _ _ _ _ _ _ _ G1_legal Hl')).
    destruct Hl' as (e & -> & He & [Hw' HG'] & _). change (lop L0) with atomic_event in *.
    pose proof (outside_others budget F nlock init guarded c e l Hw He Ho) as Ho'.
    rewrite <- (held_views_others budget F nlock init guarded c e l He) in Eh. clear Ho HG Hw.
    rewrite <- (TicketWait.own_events_others c e l He). set (l' := e ++ l) in *.
    assert (Hnd : NoDup (k :: ks)).
    { change (k :: ks) with (k :: ks, n).1. rewrite <- Eh.
      apply (legal_holder nlock budget (cell_data init guarded)). by apply G1_legal. }
    apply NoDup_cons in Hnd as [Hks Hnd].
    assert (Hop : operating budget F c k ks (budget - S n) (release_cost F) l').
    { eapply operating_begin; [exact Ho'|exact Hw'|exact Eh|exact Hb|exact Hks| |].
      - intros k' Hne. rewrite elem_of_cons. tauto.
      - intros k' _. apply step_cost_release. }
    unfold McsStep.outside in Ho'. rewrite Eh in Ho'.
    destruct (Hw' k Hk) as [t Ht]. specialize (Ho' k t Hk Ht). unfold account in Ho'.
    destruct (places t !! c) as [[| | | | | |rest| | | |]|] eqn:Ep; try done; [|by destruct Ho'; left].
    change (lstep L1 c (RELEASE, [k]) m (views l')) with
      (lock_step nlock budget (cell_data init guarded) c (RELEASE, [k]) m (views l')) in Hp.
    unfold lock_step in Hp. rewrite Eh in Hp. rewrite Hb, Z.eqb_refl in Hp. simpl in Hp. destruct Hp as [HG2 HQ].
    change (lstep L0 c ("arch_disown"%string, [k]) m l') with
      (atomics_step (cell_data init guarded) c ("arch_disown"%string, [k]) m l'). cbn [atomics_step].
    rewrite decide_True.
    2:{ apply (rf_owner _ _ _ _ (replay_invariant _ _ _ _ Hk Ht)). by exists rest. }
    cbn [ld_push cell_data]. set (o := EDisown k (guarded k m)).
    assert (Hown : own_event hold_bound k c o t = Some (move c Leaves t)) by (cbn; by rewrite Ep).
    destruct (operating_step budget F c k ks (budget - S n) (2 * S F + F + 5) l' o t _ Hc eq_refl Ht Hown) as [Hop' Ht'].
    { eapply operating_weaken; [|exact Hop]. unfold release_cost. lia. }
    split; [split; [apply Hop'|exact HG2]|]. split.
    - split; [exact Hop'| |exact HG2| |].
      + change (views (Event c o :: l')) with (Event c (ORelease k (guarded k m)) :: views l'). simpl.
        rewrite decide_True by done. by rewrite Eh.
      + exists [], (views (Event c o :: l')). split_and!; [done|constructor|exact HQ].
      + rewrite TicketWait.own_events_own. unfold release_cost. lia.
    - eexists. split; [exact Ht'|]. cbn. by rewrite lookup_insert.
  Qed.

  Context (kernel_entry : Z -> Z).
  Notation B := (arch_builtins kernel_entry).
  Context (M : module) (HM : upper_module (reserved spinlock_module) M).
  Context (J : cfg -> atomic_log -> Prop) (HJ : stepwise L0 L1 B spinlock_module lock_view wf G1 c M J).

  Section body.
    Context (k : Z) (Hk : 0 <= k < NUM_LOCK) (ks : list Z) (n N : nat) (m : mem) (Q : Z -> mem -> log L1 -> Prop).
    Notation primitive := (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ).
    Notation post := (fun (_ : Z) m' l' => between l' /\ settled c Q 0 m' l' /\ (own_events c l' <= N)%nat).

    Lemma passes_cpu d r l : releasing k ks n N m Q (Passes d) r l -> Z.of_nat d < NUM_CPU.
    Proof using.
      intros [_ (t & Ht & Hp)]. pose proof (replay_ok _ _ _ _ Ht) as Hok.
      destruct (ok_place _ Hok _ _ Hp) as (_ & _ & Hw). by eapply ok_cpu.
    Qed.

    (** The last two calls. *)
    Notation let_through := (Seq (Call (Some 6%nat) "spinlock_mcs_node" [Var 0; Bin W32 Sub (Cast W32 (Var 4)) (Const 1)])
      (Call None "arch_atomic_store" [Var 6; Const 0])).
    Lemma let_through_wp d r l Qb tail node_next : releasing k ks n N m Q (Passes d) (S r) l ->
      wp J let_through (fun _ m' l' => post 0 m' l') Qb post
        [k; Z.of_nat c; busy_cell k c; name (Some c); name (Some d); tail; node_next] m l.
    Proof using Hc Hk HM HJ.
      intros Hrel. pose proof (passes_cpu d _ _ Hrel) as Hd. cbn [wp].
      exists [k; Z.of_nat d]. split.
      { cbn [evals eval]. change (_ !! 0%nat) with (Some k). change (_ !! 4%nat) with (Some (name (Some d))).
        cbn [binary]. by rewrite (name_back d Hd). }
      apply (node_call kernel_entry budget F nlock init guarded G1 c k Hk M HM J HJ); [done|].
      cbn [set_result insert list_insert]. exists [busy_cell k d; 0]. split; [done|].
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (release_pass budget F nlock init guarded G1 c Hc k Hk ks n N m Q d r l Hrel)]. cbn beta.
      intros v m' l' [-> Hend]. cbn [set_result].
      by apply (released_between budget F nlock init guarded G1 c k ks n N m Q).
    Qed.

    Notation frame next tail := [k; Z.of_nat c; busy_cell k c; name (Some c); next; tail; 0].
    Lemma successor_arg next tail (m1 : mem) :
      evals [Bin W32 Add (Var 2) (Const 1)] (frame next tail) m1 = Some [successor_cell k c].
    Proof using Hk Hc.
      cbn [evals eval]. change (_ !! 2%nat) with (Some (busy_cell k c)). cbn [binary]. by rewrite successor_value.
    Qed.

    (** The successor is known, or not yet. *)
    Definition knows_next (next : Z) (i : nat) (l : atomic_log) : Prop :=
      (exists d r, next = name (Some d) /\ releasing k ks n N m Q (Passes d) (S r) l) \/
      (next = 0 /\ seeking k ks n N m Q i l).

    Lemma seek_wp i l next tail (Qn : Z -> mem -> atomic_log -> Prop) : seeking k ks n N m Q i l ->
      (forall v i' l', knows_next v i' l' -> (i' < i)%nat -> Qn v m l') ->
      exists args, evals [Bin W32 Add (Var 2) (Const 1)] (frame next tail) m = Some args /\
        fwp J "arch_atomic_load" args m l Qn.
    Proof using Hc Hk HM HJ.
      intros Hs HQn. exists [successor_cell k c]. split; [apply successor_arg|].
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (release_seek budget F nlock init guarded G1 c Hc k Hk ks n N m Q i l Hs)]. cbn beta.
      intros v m' l' [-> Hcase].
      assert (Hi : (0 < i)%nat) by (destruct Hs as (_ & t & d & _ & _ & _ & Hr); lia).
      destruct Hcase as [(d & r' & -> & Hrel)|(-> & i' & Hlt & Hs')].
      - apply (HQn _ 0%nat); [|done]. left. by exists d, r'.
      - apply (HQn _ i'); [|done]. by right.
    Qed.

    Lemma mcs_release_body l : releasing k ks n N m Q Leaves (2 * S F + F + 5) l ->
      body_wp J spinlock_mcs_release_code [k] m l post.
    Proof using Hc Hk HM HJ.
      intros Hrel. unfold body_wp. cbn [fn_body spinlock_mcs_release_code app replicate fn_locals].
      set (Qn := fun (_ : locals) m' l' => post 0 m' l'). set (Qb := fun (_ : locals) (_ : mem) (_ : atomic_log) => False).
      cbn [wp]. exists []. split; [done|].
      apply (fwp_cpu kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|].
      cbn [set_result insert list_insert].
      exists [k; Z.of_nat c]. split; [done|].
      apply (node_call kernel_entry budget F nlock init guarded G1 c k Hk M HM J HJ); [done|].
      cbn [set_result insert list_insert]. exists (name (Some c)). split.
      { cbn [eval]. change (_ !! 1%nat) with (Some (Z.of_nat c)). cbn [binary]. by rewrite name_value. }
      cbn [insert list_insert].
      exists [successor_cell k c]. split; [apply successor_arg|].
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (release_look budget F nlock init guarded G1 c Hc k Hk ks n N m Q (2 * S F + F + 4) l)].
      2:{ by replace (S (2 * S F + F + 4)) with (2 * S F + F + 5)%nat by lia. }
      cbn beta. intros v m' l1 [-> Hcase]. cbn [set_result insert list_insert].
      exists (v =? 0). split; [done|].
      destruct Hcase as [(d & -> & Hrel')|(-> & Hrel')].
      { rewrite (proj2 (Z.eqb_neq _ _) (name_some d)).
        replace (2 * S F + F + 4)%nat with (S (2 * S F + F + 3)) in Hrel' by lia. by eapply (let_through_wp _ _ _ Qb). }
      rewrite Z.eqb_refl. exists [tail_cell k; name (Some c); 0]. split.
      { cbn [evals eval]. change (_ !! 0%nat) with (Some k). change (_ !! 3%nat) with (Some (name (Some c))).
        cbn [binary]. by rewrite tail_value. }
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (release_cas budget F nlock init guarded G1 c Hc k Hk ks n N m Q (2 * S F + F + 3) l1)].
      2:{ by replace (S (2 * S F + F + 3)) with (2 * S F + F + 4)%nat by lia. }
      2:{ lia. }
      cbn beta. intros v m' l2 [-> Hcase]. cbn [set_result insert list_insert].
      exists (v =? name (Some c)). split; [done|].
      destruct Hcase as [(-> & Hend)|(Hne & Hs)].
      { rewrite Z.eqb_refl. exists 0. split; [done|]. by apply (released_between budget F nlock init guarded G1 c k ks n N m Q). }
      rewrite (proj2 (Z.eqb_neq _ _) Hne).
      eapply seek_wp; [exact Hs|]. clear dependent l l1 l2. intros next i l Hkn _.
      exists (fun i r m' l => m' = m /\ exists next, r = frame next v /\ knows_next next i l).
      exists i. split; [split; [done|]; by exists next|]. clear dependent i l next. intros i r m' l (-> & next & -> & Hkn).
      exists (next =? 0). split; [done|]. destruct Hkn as [(d & r' & -> & Hrel')|(-> & Hs)].
      { rewrite (proj2 (Z.eqb_neq _ _) (name_some d)). by eapply (let_through_wp _ _ _ Qb). }
      rewrite Z.eqb_refl. exists []. split; [done|].
      apply (fwp_spin_hint kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|]. cbn [set_result].
      eapply seek_wp; [exact Hs|]. intros next i' l' Hkn Hlt. exists i'. split; [done|]. split; [done|]. by exists next.
    Qed.
  End body.

  (** The call obligation, with the number of events. *)
  Theorem mcs_release_call args m l Q : between l -> pwp L1 G1 c (RELEASE, args) m (views l) Q ->
    length args = fn_params spinlock_release_code /\
    body_wp J spinlock_release_code args m l (fun v m' l' => between l' /\ settled c Q v m' l' /\
      (own_events c l' <= own_events c l + release_cost F)%nat).
  Proof using Hc HM HJ locks_fit G1_legal.
    intros Hb Hp. destruct (release_required args m l Q) as (k & ks & n & -> & Eh & Hw); [apply Hb|done|].
    split; [done|]. assert (Hk : 0 <= k < NUM_LOCK).
    { assert (0 <= k < nlock); [|lia].
      apply (TicketRelease.legal_held_range nlock budget (cell_data init guarded) (views l) c k); [apply G1_legal, Hb|].
      rewrite Eh. left. }
    unfold body_wp. cbn [fn_body spinlock_release_code wp app replicate fn_locals].
    exists [k]. split; [done|].
    eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
      [done|by apply (bool_decide_unpack _)|done|].
    eapply pwp_mono; [|exact (release_disown k ks n m l Q Hk Hb Eh Hw Hp)]. cbn beta.
    intros v m' l' Hrel. exists [k]. split; [done|].
    eapply (fwp_own_function kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|done|].
    exact (mcs_release_body k Hk ks (S n) _ m' Q l' Hrel).
  Qed.
End call.
