(** The ticket lock's acquire implements the lock layer's, and takes at most [acquire_cost] own events. *)
From Ashlar Require Export layers.spinlock.ticket.TicketWait.

Section acquire.
  Context (kernel_entry : Z -> Z) (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (cells_fit : 2 * nlock < 2 ^ 32) (cpus_fit : Z.of_nat ncpu < 2 ^ 64).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation replay := (replay hold_bound).
  Notation wf := (keeps_protocol hold_bound ncpu).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside ncpu budget F nlock init guarded).
  Notation settled := (settled ncpu budget F nlock init guarded).
  Notation B := (arch_builtins kernel_entry).
  Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (c : nat) (Hc : (c < ncpu)%nat).
  Context (M : module) (HM : upper_module (reserved spinlock_module) M).
  Context (J : cfg -> atomic_log -> Prop) (HJ : stepwise L0 L1 B spinlock_module lock_view wf G1 c M J).
  Notation G0 := (below_guarantee L0 L1 lock_view wf G1).
  Notation between := (Link.between L0 L1 lock_view wf outside G1 c).

  (** What the caller of an acquire has to show. *)
  Lemma acquire_required args m l Q : G1 (views l) -> pwp L1 G1 c (ACQUIRE, args) m (views l) Q ->
    exists k ks n, args = [k] /\ held c (views l) = (ks, n) /\ below nlock k ks = true /\ within budget ks n = true.
  Proof using G1_legal.
    intros HG Hp. specialize (Hp _ (rely_refl ncpu budget F nlock init guarded G1 G1_legal c l HG)).
    change (lstep L1 c (ACQUIRE, args) m (views l)) with
      (lock_step nlock budget (cell_data init guarded) c (ACQUIRE, args) m (views l)) in Hp. unfold lock_step in Hp.
    destruct (held c (views l)) as [ks n] eqn:Eh. destruct args as [|k [|? ?]]; [done| |done].
    change (String.eqb ACQUIRE ACQUIRE) with true in Hp. cbn iota in Hp.
    destruct (below nlock k ks && within budget ks n) eqn:Eb; [|done]. apply andb_true_iff in Eb as [H1 H2].
    by exists k, ks, n.
  Qed.

  Lemma acquiring_begin k ks n m l Q r : between l -> held c (views l) = (ks, n) -> below nlock k ks = true ->
    within budget ks n = true -> pwp L1 G1 c (ACQUIRE, [k]) m (views l) Q ->
    r = acquire_cost ncpu F (hold_bound k) ->
    acquiring ncpu budget F nlock init guarded G1 c k ks n m Q (own_events c l + r) r l /\
    (forall t, replay k l = Some t -> c ∉ waiting t).
  Proof using Hc.
    intros (Ho & Hw & HG) Eh Hb Hn Hp ->. pose proof (below_not_in _ _ _ Hb) as Hk. split; [split; try done|].
    - eapply operating_begin; [exact Ho|exact Hw|exact Eh|exact Hn|exact Hk| |].
      + intros k'. split; [tauto|]. intros [?|[_ ?]]; done.
      + intros k' Hin. unfold below in Hb. apply andb_true_iff in Hb as [Hr Hb]. rewrite forallb_forall in Hb.
        apply acquire_below; [lia|]. apply elem_of_list_In, Hb in Hin. lia.
    - intros t Ht Hin. apply Hk. unfold TicketBetween.outside in Ho. rewrite Eh in Ho. destruct Ho as [H1 _].
      by destruct (H1 k t Ht Hin) as (q & left0 & _ & _ & Hin' & _).
  Qed.

  Section waiting.
    Context (k : Z) (ks : list Z) (n : nat) (m : mem) (Q : Z -> mem -> log L1 -> Prop) (N : nat) (Hk : 0 <= k < nlock).
    Notation waits_turn := (waits_turn ncpu budget F nlock init guarded G1 c k ks n m Q N).
    Notation has_turn := (has_turn ncpu budget F nlock init guarded G1 c k ks n m Q N).

    (** The loop. *)
    Lemma ticket_wait_body ticket r l : waits_turn ticket r l ->
      body_wp J spinlock_ticket_wait_code [k; ticket] m l (fun _ m' l' => m' = m /\ exists r', has_turn r' l').
    Proof using Hc HM HJ G1_legal cells_fit cpus_fit Hk.
      intros Hwait. unfold body_wp. cbn [fn_body spinlock_ticket_wait_code wp app replicate fn_locals].
      assert (Haddr : forall v, evals [Bin W32 Add (Bin W32 Add (Const 0) (Bin W32 Mul (Const 2) (Var 0))) (Const 1)]
        [k; ticket; v] m = Some [2 * k + 1]).
      { intros v. cbn [evals]. by rewrite (served_cell k m nlock). }
      exists [2 * k + 1]. split; [apply Haddr|].
      eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
        [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|eapply (look_served ncpu budget F nlock init guarded cpus_fit G1 G1_legal c Hc); exact Hwait].
      cbn beta. intros v m' l' [-> Hcase]. change (set_result (Some 2%nat) v [k; ticket; 0]) with [k; ticket; v].
      exists (fun i r m' l => m' = m /\ exists v, r = [k; ticket; v] /\
        ((v = ticket /\ exists r', has_turn r' l) \/ (v <> ticket /\ waits_turn ticket i l))).
      assert (Hstart : exists i, (v = ticket /\ exists r', has_turn r' l') \/ (v <> ticket /\ waits_turn ticket i l')).
      { destruct Hcase as [?|(? & i & _ & ?)]; [exists 0%nat; by left|exists i; by right]. }
      destruct Hstart as [i Hi]. exists i. split; [split; [done|]; by exists v|]. clear dependent l l' v i r.
      intros i r0 m1 l (-> & v & -> & Hi). exists (negb (v =? ticket)). split; [done|].
      destruct Hi as [(-> & Hturn)|(Hne & Hwait)]; [by rewrite Z.eqb_refl|].
      rewrite (proj2 (Z.eqb_neq _ _) Hne). cbn [negb]. exists []. split; [done|].
      eapply (fwp_spin_hint kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|].
      cbn [set_result]. exists [2 * k + 1]. split; [apply Haddr|].
      eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
        [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|eapply (look_served ncpu budget F nlock init guarded cpus_fit G1 G1_legal c Hc); exact Hwait].
      cbn beta. intros v' m' l' [-> Hcase]. change (set_result (Some 2%nat) v' [k; ticket; v]) with [k; ticket; v'].
      assert (Hi : (0 < i)%nat).
      { destruct Hwait as (_ & t & a & b & _ & _ & _ & _ & Hr). lia. }
      destruct Hcase as [Hturn|(Hne' & i' & Hlt & Hwait')].
      - exists 0%nat. split; [done|]. split; [done|]. exists v'. split; [done|]. by left.
      - exists i'. split; [done|]. split; [done|]. exists v'. split; [done|]. by right.
    Qed.

    Lemma ticket_acquire_body r l : acquiring ncpu budget F nlock init guarded G1 c k ks n m Q N (S r) l ->
      acquire_cost ncpu F (hold_bound k) = S r -> (forall t, replay k l = Some t -> c ∉ waiting t) ->
      body_wp J spinlock_ticket_acquire_code [k] m l (fun _ m' l' => m' = m /\ exists r', has_turn r' l').
    Proof using Hc HM HJ G1_legal cells_fit cpus_fit Hk.
      intros Hacq Hcost Hout. unfold body_wp. cbn [fn_body spinlock_ticket_acquire_code wp app replicate fn_locals].
      exists [2 * k; 1]. split; [cbn [evals]; by rewrite (next_cell k m nlock)|].
      eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
        [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono;
        [|eapply (draw ncpu budget F nlock init guarded G1 G1_legal c Hc); [exact Hacq|exact Hcost|exact Hout]].
      cbn beta. intros ticket m' l' (-> & r' & Hwait).
      change (set_result (Some 1%nat) ticket [k; 0; 0]) with [k; ticket; 0].
      exists [2 * k + 1]. split; [cbn [evals]; by rewrite (served_cell k m nlock)|].
      eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
        [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|eapply (look_served ncpu budget F nlock init guarded cpus_fit G1 G1_legal c Hc); exact Hwait].
      cbn beta. intros v m' l2 [-> Hcase]. change (set_result (Some 2%nat) v [k; ticket; 0]) with [k; ticket; v].
      exists (negb (v =? ticket)). split; [done|]. destruct Hcase as [(-> & Hturn)|(Hne & i & _ & Hwait')].
      - rewrite Z.eqb_refl. done.
      - rewrite (proj2 (Z.eqb_neq _ _) Hne). cbn [negb]. exists [k; ticket]. split; [done|].
        eapply (fwp_own_function kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|done|].
        exact (ticket_wait_body ticket i l2 Hwait').
    Qed.
  End waiting.

  (** The call obligation, with the number of events. *)
  Theorem ticket_acquire_call args m l Q : between l -> pwp L1 G1 c (ACQUIRE, args) m (views l) Q ->
    length args = fn_params spinlock_acquire_code /\
    body_wp J spinlock_acquire_code args m l (fun v m' l' => between l' /\ settled c Q v m' l' /\
      (own_events c l' <= own_events c l + acquire_cost ncpu F (hold_bound (hd 0%Z args)))%nat).
  Proof using Hc HM HJ G1_legal cells_fit cpus_fit.
    intros Hb Hp. destruct (acquire_required args m l Q) as (k & ks & n & -> & Eh & Hbelow & Hw); [apply Hb|done|].
    split; [done|]. assert (Hk : 0 <= k < nlock).
    { unfold below in Hbelow. apply andb_true_iff in Hbelow as [H1 _]. lia. }
    destruct (acquiring_begin k ks n m l Q _ Hb Eh Hbelow Hw Hp eq_refl) as [Hacq Hout]. cbn [hd].
    unfold body_wp. cbn [fn_body spinlock_acquire_code wp app replicate fn_locals].
    exists [k]. split; [done|].
    assert (Hcost : exists r, acquire_cost ncpu F (hold_bound k) = S r).
    { exists (ncpu * (hold_bound k + 5) * S F + F + 7)%nat. unfold acquire_cost. lia. }
    destruct Hcost as [r Hcost].
    eapply (fwp_own_function kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|done|].
    assert (Hacq' := Hacq). rewrite Hcost in Hacq' at 2.
    eapply body_wp_mono; [|exact (ticket_acquire_body k ks n m Q _ Hk r l Hacq' Hcost Hout)]. cbn beta.
    intros v0 m' l' (-> & r' & Hturn). exists [k]. split; [done|].
    eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
      [done|by apply (bool_decide_unpack _)|done|].
    eapply (take ncpu budget F nlock init guarded G1 G1_legal c Hc); exact Hturn.
  Qed.
End acquire.
