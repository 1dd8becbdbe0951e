(** Events of a CPU inside an operation on an MCS lock that the lock layer does not see.

    [in_operation r]: the CPU has [r] own events left. [Carried] is a fact of the caller's that neither others nor the CPU's
    own invisible events change. *)
From Ashlar Require Export layers.spinlock.mcs.McsStep.
From Ashlar Require layers.spinlock.ticket.TicketWait.

Notation own_events := TicketWait.own_events.

(** ** C's arithmetic on cells and names *)

Lemma node_value k d (m : mem) : 0 <= k < NUM_LOCK -> Z.of_nat d < NUM_CPU ->
  eval (Bin W32 Add (Const 918) (Bin W32 Mul (Const 2) (Bin W32 Add (Bin W32 Mul (Var 0) (Const 16)) (Var 1))))
    [k; Z.of_nat d] m = Some (busy_cell k d).
Proof.
  unfold NUM_LOCK, NUM_CPU. intros Hk Hd. cbn [eval nth_error binary]. unfold wrap. cbn [bits].
  change ([k; Z.of_nat d] !! 0%nat) with (Some k). change ([k; Z.of_nat d] !! 1%nat) with (Some (Z.of_nat d)). cbn iota beta.
  rewrite (Z.mod_small (k * 16)) by lia. rewrite (Z.mod_small (k * 16 + Z.of_nat d)) by lia.
  rewrite (Z.mod_small (2 * (k * 16 + Z.of_nat d))) by lia. rewrite Z.mod_small by lia. done.
Qed.
Lemma successor_value k d : 0 <= k < NUM_LOCK -> Z.of_nat d < NUM_CPU -> wrap W32 (busy_cell k d + 1) = successor_cell k d.
Proof.
  unfold successor_cell, busy_cell, NUM_LOCK, NUM_CPU, CELL_MCS_BASE. intros. unfold wrap. cbn [bits].
  rewrite Z.mod_small; lia.
Qed.
Lemma tail_value k : 0 <= k < NUM_LOCK -> wrap W32 (0 + wrap W32 (2 * k)) = tail_cell k.
Proof.
  unfold tail_cell, NUM_LOCK, CELL_LOCK_BASE. intros. unfold wrap. cbn [bits]. rewrite (Z.mod_small (2 * k)) by lia.
  rewrite Z.mod_small; lia.
Qed.
Lemma name_value d : Z.of_nat d < NUM_CPU -> wrap W64 (wrap W64 (Z.of_nat d) + 1) = name (Some d).
Proof.
  unfold NUM_CPU. intros. unfold wrap. cbn [bits name]. rewrite (Z.mod_small (Z.of_nat d)) by lia. rewrite Z.mod_small; lia.
Qed.
Lemma name_back d : Z.of_nat d < NUM_CPU -> wrap W32 (wrap W32 (name (Some d)) - 1) = Z.of_nat d.
Proof.
  unfold NUM_CPU. intros. unfold wrap. cbn [bits name]. rewrite (Z.mod_small (Z.of_nat d + 1)) by lia. rewrite Z.mod_small; lia.
Qed.
Lemma name_some d : name (Some d) <> 0.
Proof. simpl. lia. Qed.
Lemma name_inj a b : name a = name b -> a = b.
Proof. destruct a, b; simpl; intros; try lia; try done. f_equal. lia. Qed.

(** The first cell of a CPU's node. *)
Lemma mcs_node_body {G} (J : cfg -> G -> Prop) k d m g (Q : Z -> mem -> G -> Prop) : 0 <= k < NUM_LOCK ->
  Z.of_nat d < NUM_CPU -> Q (busy_cell k d) m g -> body_wp J spinlock_mcs_node_code [k; Z.of_nat d] m g Q.
Proof.
  intros Hk Hd HQ. unfold body_wp. cbn [fn_body spinlock_mcs_node_code wp app replicate fn_locals].
  exists (busy_cell k d). split; [by apply node_value|done].
Qed.

Section in_operation.
  Context (kernel_entry : Z -> Z) (budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Notation hold_bound := (critical_section budget F).
  Notation replay := (replay hold_bound).
  Notation wf := (keeps_protocol hold_bound).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside budget F nlock init guarded).
  Notation operating := (operating budget F).
  Notation B := (arch_builtins kernel_entry).
  Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (c : nat) (Hc : Z.of_nat c < NUM_CPU).
  Notation G0 := (below_guarantee L0 L1 lock_view wf G1).
  Context (k : Z) (Hk : 0 <= k < NUM_LOCK) (ks : list Z) (n b N : nat).
  Context (Carried : log L0 -> Prop).
  Context (carried_others : forall l l', rely L0 G0 c l l' -> Carried l -> Carried l').
  Context (carried_own : forall l o, lock_view o = [] -> Carried l -> Carried (Event c o :: l)).

  (** [N]: the number of own events by the end at the latest; [r]: how many it may still cause. *)
  Record in_operation (r : nat) (l : atomic_log) : Prop := {
    act_operating : operating c k ks b r l;
    act_held : held c (views l) = (ks, n);
    act_guarantee : G1 (views l);
    act_carried : Carried l;
    act_events : (own_events c l + r <= N)%nat;
  }.

  Lemma in_operation_weaken r r' l : (r' <= r)%nat -> in_operation r l -> in_operation r' l.
  Proof using. intros Hr [Ho Eh HG HC He]. split; try done; [by eapply operating_weaken|lia]. Qed.

  Lemma in_operation_others r l l' : rely L0 G0 c l l' -> in_operation r l -> in_operation r l'.
  Proof using carried_others.
    intros Hl [Ho Eh _ HC Hn]. pose proof Hl as (e & -> & He & [Hw HG] & _). change (lop L0) with atomic_event in *.
    split; [by apply operating_others| |exact HG|by eapply carried_others|by rewrite TicketWait.own_events_others].
    rewrite <- Eh. by apply held_views_others.
  Qed.

  (** CPU [c] is in line, or about to join it, at [p]. *)
  Definition at_place (p : place) (l : atomic_log) : Prop := exists t, replay k l = Some t /\ places t !! c = Some p.
  Lemma at_place_others p l l' t : rely L0 G0 c l l' -> at_place p l -> p <> Waits -> replay k l' = Some t ->
    places t !! c = Some p.
  Proof using.
    intros (e & -> & He & _) (t0 & Ht0 & Hp) Hw Ht. change (lop L0) with atomic_event in *.
    rewrite (place_steps hold_bound k c e l t0 t He Ht0 Ht); congruence.
  Qed.

  (** An own event. *)
  Lemma in_operation_event prim o (val : atomic_log -> Z) m l r (R : Z -> log L0 -> Prop) :
    (forall l', atomics_step (cell_data init guarded) c prim m l' = Ok (val l') m o) ->
    lock_view o = [] -> about o = Some k -> in_operation (S r) l ->
    (forall l' t, rely L0 G0 c l l' -> replay k l' = Some t ->
      exists t', own_event hold_bound k c o t = Some t' /\
        (replay k (Event c o :: l') = Some t' -> in_operation r (Event c o :: l') -> R (val l') (Event c o :: l'))) ->
    pwp L0 G0 c prim m l (fun v m' l' => m' = m /\ R v l').
  Proof using Hc Hk carried_others carried_own.
    intros Hstep Hv Ha Hact HR l' Hl'. pose proof (in_operation_others _ _ _ Hl' Hact) as [Ho Eh HG HC Hn].
    destruct (op_protocol _ _ _ _ _ _ _ _ Ho k Hk) as [t Ht]. destruct (HR l' t Hl' Ht) as (t' & Hown & HR').
    destruct (operating_step budget F c k ks b r l' o t t' Hc Ha Ht Hown Ho) as [Ho' Ht'].
    assert (Hview : views (Event c o :: l') = views l').
    { unfold lock_views, abs. cbn [flat_map who what]. by rewrite Hv. }
    change (lstep L0 c prim m l') with (atomics_step (cell_data init guarded) c prim m l'). rewrite Hstep.
    split; [split; [apply Ho'|]|split; [done|]].
    - change (G1 (views (Event c o :: l'))). by rewrite Hview.
    - apply HR'; [done|]. split; [done|by rewrite Hview|by rewrite Hview|by apply carried_own|].
      rewrite TicketWait.own_events_own. lia.
  Qed.

  (** ** Calls *)
  Context (M : module) (HM : upper_module (reserved spinlock_module) M).
  Context (J : cfg -> atomic_log -> Prop) (HJ : stepwise L0 L1 B spinlock_module lock_view wf G1 c M J).

  Lemma node_call d m l (Q : Z -> mem -> log L0 -> Prop) : Z.of_nat d < NUM_CPU -> Q (busy_cell k d) m l ->
    fwp J "spinlock_mcs_node" [k; Z.of_nat d] m l Q.
  Proof using HM HJ Hk.
    intros Hd HQ. eapply (fwp_own_function kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|done|].
    by apply mcs_node_body.
  Qed.
End in_operation.
