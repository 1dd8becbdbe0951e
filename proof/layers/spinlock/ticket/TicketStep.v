(** Inside an operation on a ticket lock: what a CPU's own events, and those of others, preserve. *)
From Ashlar Require Export layers.spinlock.ticket.TicketOutput layers.spinlock.CallRules.

(** ** The cells of a lock, as C computes their addresses *)
Lemma next_cell k m nlock r : 0 <= k < nlock -> 2 * nlock < 2 ^ 32 -> nth_error r 0 = Some k ->
  eval (Bin W32 Add (Const 0) (Bin W32 Mul (Const 2) (Var 0))) r m = Some (2 * k).
Proof.
  intros Hk Hn Hr. destruct r as [|k0 r]; [done|]. injection Hr as ->. cbn. unfold wrap. cbn [bits].
  rewrite !Z.mod_small; [done|lia|rewrite Z.mod_small; lia].
Qed.
Lemma served_cell k m nlock r : 0 <= k < nlock -> 2 * nlock < 2 ^ 32 -> nth_error r 0 = Some k ->
  eval (Bin W32 Add (Bin W32 Add (Const 0) (Bin W32 Mul (Const 2) (Var 0))) (Const 1)) r m = Some (2 * k + 1).
Proof.
  intros Hk Hn Hr. pose proof (next_cell k m nlock r Hk Hn Hr) as H. cbn [eval] in *. rewrite H. cbn [eval binary].
  unfold wrap. cbn [bits]. rewrite Z.mod_small; [done|lia].
Qed.
Lemma about_served k : (2 * k + 1) / 2 = k.
Proof. symmetry. apply (Z.div_unique _ _ _ 1); lia. Qed.
Lemma about_next k : 2 * k / 2 = k.
Proof. symmetry. apply (Z.div_unique _ _ _ 0); lia. Qed.

(** ** Own events, by how far the CPU has come *)
Section own.
  Context (hold_bound : Z -> nat) (k : Z) (c : nat) (t : queue).
  Notation queue_step := (queue_step hold_bound).

  Lemma step_about o : about o = Some k -> queue_step k (Event c o) t = own_event hold_bound k c o t.
  Proof. intros H. unfold TicketProtocol.queue_step. by rewrite decide_True. Qed.
  Lemma step_draw : c ∉ waiting t ->
    queue_step k (Event c (EFetchAdd (2 * k) 1)) t = Some (Queue (served t) (waiting t ++ [c]) (first_phase t)).
  Proof.
    intros Hc. rewrite step_about by (simpl; by rewrite about_next). simpl. destruct (waiting t); by rewrite decide_True.
  Qed.
  Lemma step_spin h q : waiting t = h :: q -> c <> h -> c ∈ q -> queue_step k (Event c (ELoad (2 * k + 1))) t = Some t.
  Proof.
    intros Hq Hne Hc. rewrite step_about by (simpl; by rewrite about_served). simpl.
    by rewrite Hq, decide_True, decide_False, decide_True.
  Qed.
  Lemma step_served q : waiting t = c :: q -> first_phase t = Waits ->
    queue_step k (Event c (ELoad (2 * k + 1))) t = Some (Queue (served t) (c :: q) Served).
  Proof.
    intros Hq Hp. rewrite step_about by (simpl; by rewrite about_served). simpl. by rewrite Hq, Hp, !decide_True.
  Qed.
  Lemma step_own q : waiting t = c :: q -> first_phase t = Served ->
    queue_step k (Event c (EOwn k)) t = Some (Queue (served t) (c :: q) (Holds (hold_bound k))).
  Proof. intros Hq Hp. rewrite step_about by done. simpl. by rewrite Hq, Hp, decide_True. Qed.
  Lemma step_disown q n d : waiting t = c :: q -> first_phase t = Holds n ->
    queue_step k (Event c (EDisown k d)) t = Some (Queue (served t) (c :: q) Leaves).
  Proof. intros Hq Hp. rewrite step_about by done. simpl. by rewrite Hq, Hp, decide_True. Qed.
  Lemma step_read q : waiting t = c :: q -> first_phase t = Leaves ->
    queue_step k (Event c (ELoad (2 * k + 1))) t = Some (Queue (served t) (c :: q) Advances).
  Proof.
    intros Hq Hp. rewrite step_about by (simpl; by rewrite about_served). simpl. by rewrite Hq, Hp, !decide_True.
  Qed.
  Lemma step_advance q : waiting t = c :: q -> first_phase t = Advances ->
    queue_step k (Event c (EStore (2 * k + 1) (wrap W64 (served t + 1)))) t = Some (Queue (served t + 1) q Waits).
  Proof.
    intros Hq Hp. rewrite step_about by (simpl; by rewrite about_served). simpl. by rewrite Hq, Hp, decide_True.
  Qed.
End own.

Section step.
  Context (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation replay := (replay hold_bound).
  Notation queue_step := (queue_step hold_bound).
  Notation wf := (keeps_protocol hold_bound ncpu).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside ncpu budget F nlock init guarded).

  (** What is left of the hold bound for lock [k'] covers [b] more events of the lock layer and [r] own events. *)
  Definition affords (c : nat) (b r : nat) (k' : Z) (t : queue) : Prop :=
    exists q left, waiting t = c :: q /\ first_phase t = Holds left /\
      (b * step_cost ncpu budget F (Z.to_nat k') + r <= left)%nat.

  (** CPU [c] operates on lock [k] and holds [ks] besides. *)
  Record operating (c : nat) (k : Z) (ks : list Z) (b r : nat) (l : atomic_log) : Prop := {
    op_protocol : wf l;
    op_disjoint : k ∉ ks;
    op_queued k' t : k' <> k -> replay k' l = Some t -> c ∈ waiting t -> k' ∈ ks;
    op_held k' : k' ∈ ks -> exists t, replay k' l = Some t /\ affords c b r k' t;
  }.

  Lemma operating_weaken c k ks b r r' l : (r' <= r)%nat -> operating c k ks b r l -> operating c k ks b r' l.
  Proof.
    intros Hr [Hw Hk Hq Hh]. split; try done. intros k' Hin. destruct (Hh k' Hin) as (t & Ht & q & left & H1 & H2 & H3).
    exists t. split; [done|]. exists q, left. split_and!; try done. lia.
  Qed.

  Lemma affords_others c b r k' t t' e l : Forall (fun x => who x <> c) e -> replay k' l = Some t ->
    replay k' (e ++ l) = Some t' -> affords c b r k' t -> affords c b r k' t'.
  Proof.
    intros He Ht Ht' (q & left & H1 & H2 & H3).
    destruct (wait_steps _ _ _ _ _ _ _ [] q He Ht Ht' H1) as (a & q' & Hq' & _ & [(-> & Hp & _)|[? _]]); [|done].
    exists q', left. split_and!; try done. congruence.
  Qed.

  Lemma operating_others c k ks b r e l : wf (e ++ l) -> Forall (fun x => who x <> c) e ->
    operating c k ks b r l -> operating c k ks b r (e ++ l).
  Proof.
    intros Hw' He [Hw Hk Hq Hh]. split; try done.
    - intros k' t' Hne Ht' Hin. destruct Hw as [Hw _]. destruct (Hw k') as [t Ht]. apply (Hq k' t Hne Ht).
      destruct (decide (c ∈ waiting t)) as [Hi|Hi]; [done|]. by destruct (unqueued_steps _ _ _ _ _ _ _ He Ht Ht' Hi).
    - intros k' Hin. destruct (Hh k' Hin) as (t & Ht & Ha). destruct Hw' as [Hw' _]. destruct (Hw' k') as [t' Ht'].
      exists t'. split; [done|]. eapply affords_others; [exact He|exact Ht|exact Ht'|exact Ha].
  Qed.

  (** Own events about the lock, each paid for. *)
  Lemma operating_step c k ks b r l o t t' : (c < ncpu)%nat -> about o = Some k -> replay k l = Some t ->
    queue_step k (Event c o) t = Some t' -> operating c k ks b (S r) l ->
    operating c k ks b r (Event c o :: l) /\ replay k (Event c o :: l) = Some t'.
  Proof.
    intros Hc Ha Ht Hs [Hw Hk Hq Hh].
    assert (Hother : forall k' t0, k' <> k -> replay k' l = Some t0 -> exists t1,
      replay k' (Event c o :: l) = Some t1 /\ (c ∈ waiting t1 -> c ∈ waiting t0) /\
      (affords c b (S r) k' t0 -> affords c b r k' t1)).
    { intros k' t0 Hne Ht0. simpl. rewrite Ht0. unfold TicketProtocol.queue_step. cbn [who what].
      rewrite decide_False by congruence. unfold other_event. destruct (decide (c ∈ waiting t0)) as [Hin|Hin].
      - destruct (Hh k' (Hq k' t0 Hne Ht0 Hin)) as (t2 & Ht2 & q & left & H1 & H2 & H3).
        rewrite Ht0 in Ht2. injection Ht2 as <-. rewrite H1, decide_True, H2 by done.
        destruct left as [|left]; [lia|]. eexists. split; [done|]. split; [done|]. intros _.
        exists q, left. split_and!; [done..|lia].
      - exists t0. split; [|split; [done|intros (q & x & H1 & _); rewrite H1 in Hin; destruct Hin; left]].
        destruct (waiting t0) as [|h q]; [done|]. apply not_elem_of_cons in Hin as [H1 H2].
        by rewrite decide_False, decide_False. }
    assert (Hr : replay k (Event c o :: l) = Some t') by (simpl; by rewrite Ht).
    split; [|done]. split; try done.
    - destruct Hw as [Hw Hcpu]. split; [|by constructor]. intros k'. destruct (decide (k' = k)) as [->|Hne].
      + rewrite Hr. by eexists.
      + destruct (Hw k') as [t0 Ht0]. destruct (Hother k' t0 Hne Ht0) as (t1 & Ht1 & _). rewrite Ht1. by eexists.
    - intros k' t1 Hne Ht1 Hin. destruct Hw as [Hw _]. destruct (Hw k') as [t0 Ht0].
      destruct (Hother k' t0 Hne Ht0) as (t2 & Ht2 & H1 & _). eapply Hq; [done|done|]. apply H1. congruence.
    - intros k' Hin. destruct (Hh k' Hin) as (t0 & Ht0 & Haf). assert (Hne : k' <> k) by congruence.
      destruct (Hother k' t0 Hne Ht0) as (t1 & Ht1 & _ & H1). exists t1. auto.
  Qed.

  (** An operation begins. *)
  Lemma operating_begin c k ks ks0 n r l : outside c l -> wf l -> held c (views l) = (ks0, n) ->
    within budget ks0 n = true -> k ∉ ks -> (forall k', k' ∈ ks0 <-> k' ∈ ks \/ (k' = k /\ k' ∈ ks0)) ->
    (forall k', k' ∈ ks -> (r <= step_cost ncpu budget F (Z.to_nat k'))%nat) ->
    operating c k ks (budget - S n) r l.
  Proof.
    intros Ho Hw Eh Hb Hk Hks Hr. unfold TicketBetween.outside in Ho. rewrite Eh in Ho. destruct Ho as [H1 H2].
    split; try done.
    - intros k' t Hne Ht Hin. destruct (H1 k' t Ht Hin) as (q & left & _ & _ & Hin' & _).
      apply Hks in Hin' as [?|[? _]]; done.
    - intros k' Hin. assert (Hin0 : k' ∈ ks0) by (apply Hks; by left). destruct (H2 k' Hin0) as (t & Ht & Hc).
      destruct (H1 k' t Ht Hc) as (q & left & Hq & Hp & _ & Ha). exists t. split; [done|]. exists q, left.
      split_and!; [done..|]. assert (Hn : (n < budget)%nat).
      { destruct ks0 as [|a ks0]; [by apply elem_of_nil in Hin0|]. by apply Nat.ltb_lt in Hb. }
      pose proof (account_step ncpu budget F k' n left Hn Ha). specialize (Hr k' Hin). lia.
  Qed.

  (** An operation is over. *)
  Lemma operating_end c k ks ks0 b n r l t : operating c k ks b r l -> held c (views l) = (ks0, n) ->
    (ks <> [] -> (budget - n <= b)%nat) -> replay k l = Some t ->
    (c ∈ waiting t /\ affords c (budget - n) 0 k t /\ ks0 = k :: ks \/ c ∉ waiting t /\ ks0 = ks) ->
    outside c l.
  Proof.
    intros [Hw Hk Hq Hh] Eh Hb Ht Hcase. unfold TicketBetween.outside. rewrite Eh.
    assert (Hks : forall k', k' ∈ ks -> exists t, replay k' l = Some t /\ c ∈ waiting t /\ affords c (budget - n) 0 k' t).
    { intros k' Hin. destruct (Hh k' Hin) as (t' & Ht' & q & left & H1 & H2 & H3). exists t'.
      split_and!; [done|rewrite H1; left|]. exists q, left. split_and!; [done..|].
      assert (Hbn : (budget - n <= b)%nat) by (apply Hb; by intros ->; apply elem_of_nil in Hin).
      apply (Nat.mul_le_mono_r _ _ (step_cost ncpu budget F (Z.to_nat k'))) in Hbn. lia. }
    assert (Hholds : forall k' t', k' ∈ ks0 -> affords c (budget - n) 0 k' t' ->
      holds_lock ncpu budget F c ks0 n k' t').
    { intros k' t' Hin (q & left & H1 & H2 & H3). exists q, left. split_and!; [done..|lia]. }
    split.
    - intros k' t' Ht' Hin. destruct (decide (k' = k)) as [->|Hne].
      + rewrite Ht in Ht'. injection Ht' as <-. destruct Hcase as [(_ & Ha & ->)|[? _]]; [|done].
        apply Hholds; [left|done].
      + pose proof (Hq k' t' Hne Ht' Hin) as Hin'. destruct (Hks k' Hin') as (t2 & Ht2 & _ & Ha).
        rewrite Ht' in Ht2. injection Ht2 as <-. apply Hholds; [|done].
        destruct Hcase as [(_ & _ & ->)|[_ ->]]; [by right|done].
    - intros k' Hin. destruct Hcase as [(Hc & _ & ->)|[_ ->]].
      + apply elem_of_cons in Hin as [->|Hin]; [by exists t|]. destruct (Hks k' Hin) as (t2 & Ht2 & Hc2 & _). by exists t2.
      + destruct (Hks k' Hin) as (t2 & Ht2 & Hc2 & _). by exists t2.
  Qed.

  (** The first of the queue stays where it is. *)
  Lemma first_stays c k e l t q : Forall (fun x => who x <> c) e -> wf (e ++ l) -> replay k l = Some t ->
    waiting t = c :: q ->
    exists t' q', replay k (e ++ l) = Some t' /\ waiting t' = c :: q' /\ first_phase t' = first_phase t /\
      served t' = served t.
  Proof.
    intros He [Hw _] Ht Hq. destruct (Hw k) as [t' Ht'].
    destruct (wait_steps _ _ _ _ _ _ _ [] q He Ht Ht' Hq) as (a & q' & Hq' & Hn & [(-> & Hp & _)|[? _]]); [|done].
    exists t', q'. split_and!; try done. simpl in Hn. lia.
  Qed.

  (** The lock layer's event may lie a little back, behind events of others. *)
  Definition settled (c : nat) (Q : Z -> mem -> log L1 -> Prop) (v : Z) (m : mem) (l : log L0) : Prop :=
    exists e l1, views l = e ++ l1 /\ others L1 c e /\ Q v m l1.
  Lemma settled_others c Q v m e l : Forall (fun x => who x <> c) e -> settled c Q v m l -> settled c Q v m (e ++ l).
  Proof.
    intros He (e1 & l1 & Hv & He1 & HQ). exists (abs L0 L1 lock_view e ++ e1), l1. split_and!; [|  |done].
    - transitivity (abs L0 L1 lock_view e ++ views l); [exact (abs_app L0 L1 lock_view e l)|].
      change (lop L1) with (lock_event mem) in *.
      by rewrite Hv, app_assoc.
    - apply others_app; [by apply abs_others|done].
  Qed.
End step.
