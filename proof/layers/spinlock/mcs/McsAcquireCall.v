(** The MCS lock's acquire implements the lock layer's, and takes at most [acquire_cost] own events. *)
From Ashlar Require Export layers.spinlock.mcs.McsAcquire.

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

  (** What the caller of an acquire has to show. *)
  Lemma acquire_required args m l Q : G1 (views l) -> pwp L1 G1 c (ACQUIRE, args) m (views l) Q ->
    exists k ks n, args = [k] /\ held c (views l) = (ks, n) /\ below nlock k ks = true /\ within budget ks n = true.
  Proof using G1_legal.
    intros HG Hp. specialize (Hp _ (rely_refl budget F nlock init guarded G1 c l G1_legal HG)).
    change (lstep L1 c (ACQUIRE, args) m (views l)) with
      (lock_step nlock budget (cell_data init guarded) c (ACQUIRE, args) m (views l)) in Hp. unfold lock_step in Hp.
    destruct (held c (views l)) as [ks n] eqn:Eh. destruct args as [|k [|? ?]]; [done| |done].
    change (String.eqb ACQUIRE ACQUIRE) with true in Hp. cbn iota in Hp.
    destruct (below nlock k ks && within budget ks n) eqn:Eb; [|done]. apply andb_true_iff in Eb as [H1 H2].
    by exists k, ks, n.
  Qed.

  Notation absent k ks n N m Q := (absent budget F nlock init guarded G1 c k ks n N m Q).
  Notation joining k ks n N m Q := (joining budget F nlock init guarded G1 c k ks n N m Q).
  Notation waits k ks n N m Q := (waits budget F nlock init guarded G1 c k ks n N m Q).

  Lemma acquire_begin k ks n m l Q : 0 <= k < NUM_LOCK -> between l -> held c (views l) = (ks, n) ->
    below nlock k ks = true -> within budget ks n = true -> pwp L1 G1 c (ACQUIRE, [k]) m (views l) Q ->
    absent k ks n (own_events c l + acquire_cost F (hold_bound k)) m Q (acquire_cost F (hold_bound k)) l.
  Proof using.
    intros Hk (Ho & Hw & HG) Eh Hb Hn Hp.
    pose proof (below_not_in _ _ _ Hb) as Hks. split.
    - split; try done. eapply operating_begin; [exact Ho|exact Hw|exact Eh|exact Hn|exact Hks|done|].
      intros k' Hin. unfold below in Hb. apply andb_true_iff in Hb as [Hr Hb]. rewrite forallb_forall in Hb.
      apply acquire_below; [lia|]. apply elem_of_list_In, Hb in Hin. lia.
    - destruct (Hw k Hk) as [t Ht]. exists t. split; [done|]. unfold McsStep.outside in Ho. rewrite Eh in Ho.
      specialize (Ho k t Hk Ht). unfold account in Ho. destruct (places t !! c) as [[]|]; try done. by destruct Ho.
  Qed.

  Context (kernel_entry : Z -> Z).
  Notation B := (arch_builtins kernel_entry).
  Context (M : module) (HM : upper_module (reserved spinlock_module) M).
  Context (J : cfg -> atomic_log -> Prop) (HJ : stepwise L0 L1 B spinlock_module lock_view wf G1 c M J).

  Section body.
    Context (k : Z) (Hk : 0 <= k < NUM_LOCK) (ks : list Z) (n N : nat) (m : mem) (Q : Z -> mem -> log L1 -> Prop).
    Notation primitive := (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ).
    Notation own_function := (fwp_own_function kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ).
    Notation node := (node_call kernel_entry budget F nlock init guarded G1 c k Hk M HM J HJ).
    Notation step f := (f budget F nlock init guarded G1 G1_legal c Hc k Hk ks n N m Q).
    Notation may_own := (fun (_ : Z) m' l' => m' = m /\ exists r, joining k ks n N m Q Enters (S r) l').
    Notation rest_cost := (Z.to_nat NUM_CPU * (hold_bound k + 9) * S F + F)%nat.

    Definition waits_or_may (busy : Z) (i : nat) (l : atomic_log) : Prop :=
      (busy = 0 /\ exists r, joining k ks n N m Q Enters (S r) l) \/ (busy = 1 /\ waits k ks n N m Q i l).

    Lemma look_wp i l (Qn : Z -> mem -> atomic_log -> Prop) : waits k ks n N m Q i l ->
      (forall v i' l', waits_or_may v i' l' -> (i' < i)%nat -> Qn v m l') ->
      fwp J "arch_atomic_load" [busy_cell k c] m l Qn.
    Proof using Hc Hk HM HJ G1_legal.
      intros Hs HQn. eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (step acquire_look i l Hs)]. cbn beta. intros v m' l' [-> Hcase].
      assert (Hi : (0 < i)%nat) by (destruct Hs as (_ & t & a & _ & _ & _ & Hr); lia).
      destruct Hcase as [(-> & r' & Hj)|(-> & i' & Hlt & Hs')].
      - apply (HQn _ 0%nat); [|done]. left. split; [done|]. by exists r'.
      - apply (HQn _ i'); [|done]. by right.
    Qed.

    (** Queues behind CPU [b] and waits for it. *)
    Lemma mcs_wait_body b r l : Z.of_nat b < NUM_CPU -> joining k ks n N m Q (Joins b) (S (S r)) l ->
      (rest_cost + 2 <= r)%nat ->
      body_wp J spinlock_mcs_wait_code [k; Z.of_nat c; name (Some b)] m l may_own.
    Proof using Hc Hk HM HJ G1_legal.
      intros Hb Hj Hr. unfold body_wp. cbn [fn_body spinlock_mcs_wait_code app replicate fn_locals wp].
      exists [k; Z.of_nat c]. split; [done|]. apply node; [done|]. cbn [set_result insert list_insert].
      exists [k; Z.of_nat b]. split.
      { cbn [evals eval]. change (_ !! 0%nat) with (Some k). change (_ !! 2%nat) with (Some (name (Some b))).
        cbn [binary name]. unfold wrap. cbn [bits]. unfold NUM_CPU in Hb. rewrite Z.mod_small by lia. do 3 f_equal. lia. }
      apply node; [done|]. cbn [set_result insert list_insert].
      exists [busy_cell k c; 1]. split; [done|].
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (step acquire_mark b (S r) l Hj)]. cbn beta. intros v m' l1 [-> Hj1].
      cbn [set_result]. exists [successor_cell k b; name (Some c)]. split.
      { cbn [evals eval]. change (_ !! 4%nat) with (Some (busy_cell k b)). change (_ !! 1%nat) with (Some (Z.of_nat c)).
        cbn [binary]. by rewrite successor_value, name_value. }
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (step acquire_link b r l1 Hb Hj1 Hr)]. cbn beta. intros v' m' l2 [-> Hw].
      cbn [set_result]. exists [busy_cell k c]. split; [done|].
      eapply look_wp; [exact Hw|]. intros busy i l3 Hi _. cbn [set_result insert list_insert].
      exists (fun i r m' l => m' = m /\ exists busy, waits_or_may busy i l /\
        r = [k; Z.of_nat c; name (Some b); busy_cell k c; busy_cell k b; busy]).
      exists i. split; [split; [done|]; by exists busy|]. clear dependent i l3 busy. intros i r3 m' l3 (-> & busy & Hi & ->).
      exists (negb (busy =? 0)). split; [done|]. destruct Hi as [(-> & Hown)|(-> & Hw')].
      { by split. }
      cbn [negb Z.eqb]. exists []. split; [done|].
      apply (fwp_spin_hint kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|]. cbn [set_result].
      exists [busy_cell k c]. split; [done|]. eapply look_wp; [exact Hw'|]. intros busy i' l' Hi Hlt.
      exists i'. split; [done|]. split; [done|]. by exists busy.
    Qed.

    Lemma mcs_acquire_body l : absent k ks n N m Q (acquire_cost F (hold_bound k)) l ->
      body_wp J spinlock_mcs_acquire_code [k] m l may_own.
    Proof using Hc Hk HM HJ G1_legal.
      intros Habs. unfold body_wp. cbn [fn_body spinlock_mcs_acquire_code app replicate fn_locals wp].
      assert (Hcost : acquire_cost F (hold_bound k) = S (S (S (S (rest_cost + 2))))) by (unfold acquire_cost; lia).
      rewrite Hcost in Habs.
      exists []. split; [done|].
      apply (fwp_cpu kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|].
      cbn [set_result insert list_insert].
      exists [k; Z.of_nat c]. split; [done|]. apply node; [done|]. cbn [set_result insert list_insert].
      exists [successor_cell k c; 0]. split.
      { cbn [evals eval]. change (_ !! 2%nat) with (Some (busy_cell k c)). cbn [binary]. by rewrite successor_value. }
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (step acquire_prepare _ l Habs)]. cbn beta. intros v m' l1 [-> Hj1].
      cbn [set_result]. exists [tail_cell k; name (Some c)]. split.
      { cbn [evals eval]. change (_ !! 0%nat) with (Some k). change (_ !! 1%nat) with (Some (Z.of_nat c)).
        cbn [binary]. by rewrite tail_value, name_value. }
      eapply primitive; [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|apply (step acquire_swap _ l1 Hj1)]. cbn beta. intros v' m' l2 [-> Hcase].
      cbn [set_result insert list_insert]. exists (negb (v' =? 0)). split; [done|].
      destruct Hcase as [(-> & Hj)|(b & -> & Hb & Hj)].
      { rewrite Z.eqb_refl. cbn [negb]. split; [done|]. by eexists. }
      rewrite (proj2 (Z.eqb_neq _ _) (name_some b)). cbn [negb].
      exists [k; Z.of_nat c; name (Some b)]. split.
      { cbn [evals eval]. change (_ !! 0%nat) with (Some k). change (_ !! 1%nat) with (Some (Z.of_nat c)).
        change (_ !! 3%nat) with (Some (name (Some b))). cbn [name]. unfold wrap. cbn [bits].
        rewrite (Z.mod_small (Z.of_nat b + 1)); [done|]. unfold NUM_CPU in Hb. lia. }
      eapply own_function; [done|done|]. eapply mcs_wait_body; [exact Hb|exact Hj|lia].
    Qed.
  End body.

  (** The call obligation, with the number of events. *)
  Theorem mcs_acquire_call args m l Q : between l -> pwp L1 G1 c (ACQUIRE, args) m (views l) Q ->
    length args = fn_params spinlock_acquire_code /\
    body_wp J spinlock_acquire_code args m l (fun v m' l' => between l' /\ settled c Q v m' l' /\
      (own_events c l' <= own_events c l + acquire_cost F (hold_bound (hd 0%Z args)))%nat).
  Proof using Hc HM HJ locks_fit G1_legal.
    intros Hb Hp. destruct (acquire_required args m l Q) as (k & ks & n & -> & Eh & Hbelow & Hw); [apply Hb|done|].
    split; [done|]. assert (Hk : 0 <= k < NUM_LOCK).
    { unfold below in Hbelow. apply andb_true_iff in Hbelow as [H1 _]. lia. }
    pose proof (acquire_begin k ks n m l Q Hk Hb Eh Hbelow Hw Hp) as Habs. cbn [hd].
    unfold body_wp. cbn [fn_body spinlock_acquire_code wp app replicate fn_locals].
    exists [k]. split; [done|].
    eapply (fwp_own_function kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|done|].
    eapply body_wp_mono; [|exact (mcs_acquire_body k Hk ks n _ m Q l Habs)]. cbn beta.
    intros v0 m' l' (-> & r' & Hj). exists [k]. split; [done|].
    eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
      [done|by apply (bool_decide_unpack _)|done|].
    exact (acquire_own budget F nlock init guarded G1 G1_legal c Hc k Hk ks n _ m Q r' l' Hj).
  Qed.
End call.
