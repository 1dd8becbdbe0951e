(** The state of a CPU between two operations on MCS locks and inside one, and what others do not change.

    Between operations it has a place exactly at the locks it holds, and what is left of its hold bound for each covers the
    events of the lock layer that it may still cause. Inside one, this is so for the locks it holds besides. *)
From Ashlar Require Export layers.spinlock.mcs.McsTimes layers.spinlock.CodeMcs.

Section step.
  Context (budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (locks_fit : nlock <= NUM_LOCK).
  Notation hold_bound := (critical_section budget F).
  Notation replay := (replay hold_bound).
  Notation mcs_step := (mcs_step hold_bound).
  Notation wf := (keeps_protocol hold_bound).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).

  (** At lock [k] CPU [c] has no place, or it holds it, and can afford [b] more events of the lock layer and [r] own ones. *)
  Definition account (c : nat) (ks : list Z) (b r : nat) (k : Z) (t : mcs) : Prop :=
    match places t !! c with
    | None => k ∉ ks
    | Some (Holds rest) => k ∈ ks /\ (b * step_cost budget F (Z.to_nat k) + r <= rest)%nat
    | _ => False
    end.

  Definition outside (c : nat) (l : atomic_log) : Prop :=
    let (ks, n) := held c (views l) in
    forall k t, 0 <= k < NUM_LOCK -> replay k l = Some t -> account c ks (budget - n) 0 k t.

  Lemma outside_start c : outside c [].
  Proof. unfold outside, account. cbn. intros k t _ H. simplify_eq. cbn. rewrite lookup_empty. by intros ?%elem_of_nil. Qed.
  Lemma protocol_start : wf [].
  Proof. intros k _. by eexists. Qed.

  Lemma held_others {D} c (e l : lock_log D) : Forall (fun x => who x <> c) e -> held c (e ++ l) = held c l.
  Proof. induction 1; [done|]. simpl. by rewrite decide_False. Qed.
  Lemma held_views_others c e l : Forall (fun x => who x <> c) e -> held c (views (e ++ l)) = held c (views l).
  Proof. intros He. unfold lock_views. rewrite abs_app. apply held_others. by apply (abs_others L0 L1). Qed.

  Lemma account_others c ks b r k t t' e l : Forall (fun x => who x <> c) e -> replay k l = Some t ->
    replay k (e ++ l) = Some t' -> account c ks b r k t -> account c ks b r k t'.
  Proof.
    intros He Ht Ht' Ha. unfold account in *.
    rewrite (place_steps hold_bound k c e l t t' He Ht Ht'); [done|]. intros Hw. by rewrite Hw in Ha.
  Qed.
  Theorem outside_others c e l : wf l -> Forall (fun x => who x <> c) e -> outside c l -> outside c (e ++ l).
  Proof.
    intros Hw He. unfold outside. rewrite held_views_others by done. destruct (held c (views l)) as [ks n].
    intros H k t' Hk Ht'. destruct (Hw k Hk) as [t Ht]. eapply account_others; [exact He|exact Ht|exact Ht'|auto].
  Qed.

  (** CPU [c] operates on lock [k] and holds [ks] besides. *)
  Record operating (c : nat) (k : Z) (ks : list Z) (b r : nat) (l : atomic_log) : Prop := {
    op_protocol : wf l;
    op_disjoint : k ∉ ks;
    op_account k' t : 0 <= k' < NUM_LOCK -> k' <> k -> replay k' l = Some t -> account c ks b r k' t;
  }.

  Lemma operating_weaken c k ks b r r' l : (r' <= r)%nat -> operating c k ks b r l -> operating c k ks b r' l.
  Proof.
    intros Hr [Hw Hk Ha]. split; try done. intros k' t Hr' Hne Ht. specialize (Ha k' t Hr' Hne Ht). unfold account in *.
    destruct (places t !! c) as [[]|]; try done. destruct Ha. split; [done|lia].
  Qed.
  Lemma operating_others c k ks b r e l : wf (e ++ l) -> Forall (fun x => who x <> c) e ->
    operating c k ks b r l -> operating c k ks b r (e ++ l).
  Proof.
    intros Hw' He [Hw Hk Ha]. split; try done. intros k' t' Hr Hne Ht'. destruct (Hw k' Hr) as [t Ht].
    eapply account_others; [exact He|exact Ht|exact Ht'|auto].
  Qed.

  (** Own events about the lock, each paid for by the other locks. *)
  Lemma operating_step c k ks b r l o t t' : Z.of_nat c < NUM_CPU -> about o = Some k -> replay k l = Some t ->
    own_event hold_bound k c o t = Some t' -> operating c k ks b (S r) l ->
    operating c k ks b r (Event c o :: l) /\ replay k (Event c o :: l) = Some t'.
  Proof.
    intros Hc Ha Ht Hs [Hw Hk Hacc].
    assert (Hr : replay k (Event c o :: l) = Some t').
    { cbn [McsProtocol.replay]. rewrite Ht. unfold McsProtocol.mcs_step. cbn [who what]. by rewrite !decide_True by done. }
    assert (Hother : forall k' t0, 0 <= k' < NUM_LOCK -> k' <> k -> replay k' l = Some t0 -> exists t1,
      replay k' (Event c o :: l) = Some t1 /\ account c ks b r k' t1).
    { intros k' t0 Hr' Hne Ht0. specialize (Hacc k' t0 Hr' Hne Ht0). cbn [McsProtocol.replay]. rewrite Ht0.
      unfold McsProtocol.mcs_step. cbn [who what]. rewrite decide_True, decide_False by congruence.
      unfold other_event, account in *. destruct (places t0 !! c) as [p|] eqn:E.
      - destruct p as [| | | | | |rest| | | |]; try done. destruct Hacc as [H1 H2]. destruct rest as [|rest]; [lia|].
        eexists. split; [done|]. cbn. rewrite lookup_insert. split; [done|lia].
      - exists t0. split; [done|]. by rewrite E. }
    split; [|done]. split; try done.
    - intros k' Hr'. destruct (decide (k' = k)) as [->|Hne]; [rewrite Hr; by eexists|].
      destruct (Hw k' Hr') as [t0 Ht0]. destruct (Hother k' t0 Hr' Hne Ht0) as (t1 & Ht1 & _). rewrite Ht1. by eexists.
    - intros k' t1 Hr' Hne Ht1. destruct (Hw k' Hr') as [t0 Ht0].
      destruct (Hother k' t0 Hr' Hne Ht0) as (t2 & Ht2 & Ha2). congruence.
  Qed.

  (** An operation begins. *)
  Lemma operating_begin c k ks ks0 n r l : outside c l -> wf l -> held c (views l) = (ks0, n) ->
    within budget ks0 n = true -> k ∉ ks -> (forall k', k' <> k -> k' ∈ ks0 <-> k' ∈ ks) ->
    (forall k', k' ∈ ks -> (r <= step_cost budget F (Z.to_nat k'))%nat) ->
    operating c k ks (budget - S n) r l.
  Proof.
    intros Ho Hw Eh Hb Hk Hks Hr. unfold outside in Ho. rewrite Eh in Ho. split; try done.
    intros k' t Hr' Hne Ht. specialize (Ho k' t Hr' Ht). unfold account in *.
    destruct (places t !! c) as [[| | | | | |rest| | | |]|]; try done; [|by rewrite <- Hks].
    destruct Ho as [Hin Hacc]. split; [by apply Hks|]. assert (Hn : (n < budget)%nat).
    { destruct ks0 as [|a ks0]; [by apply elem_of_nil in Hin|]. by apply Nat.ltb_lt in Hb. }
    rewrite Nat.add_0_r in Hacc. pose proof (account_step budget F k' n rest Hn Hacc).
    apply Hks in Hin; [|done]. specialize (Hr k' Hin). lia.
  Qed.

  (** An operation is over. *)
  Lemma operating_end c k ks ks0 b n r l t : operating c k ks b r l -> held c (views l) = (ks0, n) ->
    (ks <> [] -> (budget - n <= b)%nat) -> replay k l = Some t ->
    (forall k', k' <> k -> k' ∈ ks0 <-> k' ∈ ks) -> account c ks0 (budget - n) 0 k t -> outside c l.
  Proof.
    intros [Hw Hk Ha] Eh Hb Ht Hks Hacc. unfold outside. rewrite Eh. intros k' t' Hr' Ht'.
    destruct (decide (k' = k)) as [->|Hne]; [congruence|]. specialize (Ha k' t' Hr' Hne Ht'). unfold account in *.
    destruct (places t' !! c) as [[| | | | | |rest| | | |]|]; try done; [|by rewrite Hks].
    destruct Ha as [Hin Hle]. split; [by apply Hks|]. assert (Hbn : (budget - n <= b)%nat).
    { apply Hb. intros ->. by apply elem_of_nil in Hin. }
    apply (Nat.mul_le_mono_r _ _ (step_cost budget F (Z.to_nat k'))) in Hbn. lia.
  Qed.

  (** ** The lock layer's view *)

  Lemma rely_views (G1 : log L1 -> Prop) c l l' : (forall l, G1 l -> legal L1 l) ->
    rely L0 (below_guarantee L0 L1 lock_view wf G1) c l l' -> rely L1 G1 c (views l) (views l').
  Proof.
    intros Hlg (e & -> & He & [Hw Hg] & Hs & _). exists (abs L0 L1 lock_view e).
    split; [apply abs_app|]. split; [by apply abs_others|]. split; [exact Hg|]. split; [done|]. by apply Hlg.
  Qed.
  Lemma rely_refl (G1 : log L1 -> Prop) c l : (forall l, G1 l -> legal L1 l) -> G1 (views l) ->
    rely L1 G1 c (views l) (views l).
  Proof. intros Hlg HG. exists []. split_and!; [done|constructor|done|done|auto]. Qed.

  (** The lock layer's event may lie a little back, behind events of others. *)
  Definition settled (c : nat) (Q : Z -> mem -> log L1 -> Prop) (v : Z) (m : mem) (l : log L0) : Prop :=
    exists e l1, views l = e ++ l1 /\ others L1 c e /\ Q v m l1.
  Lemma settled_others c Q v m e l : Forall (fun x => who x <> c) e -> settled c Q v m l -> settled c Q v m (e ++ l).
  Proof.
    intros He (e1 & l1 & Hv & He1 & HQ). exists (abs L0 L1 lock_view e ++ e1), l1. split_and!; [|  |done].
    - transitivity (abs L0 L1 lock_view e ++ views l); [exact (abs_app L0 L1 lock_view e l)|].
      change (lop L1) with (lock_event mem) in *. by rewrite Hv, app_assoc.
    - apply others_app; [by apply abs_others|done].
  Qed.
  Lemma settled_invisible c Q v m o l : lock_view o = [] -> settled c Q v m l -> settled c Q v m (Event c o :: l).
  Proof.
    intros Hv (e & l1 & He & H). exists e, l1. split; [|done]. rewrite <- He. unfold lock_views, abs.
    cbn [flat_map who what]. by rewrite Hv.
  Qed.

  (** Showing values to the world is left as it is. *)
  Theorem mcs_direct (G1 : log L1 -> Prop) c f : (forall l, G1 l -> legal L1 l) -> Z.of_nat c < NUM_CPU ->
    spinlock_module f = None -> implements_direct L0 L1 lock_view wf outside G1 c f.
  Proof.
    intros Hlg Hc Hf args m l Q (Ho & Hw & HG) Hp l' Hl'. specialize (Hp _ (rely_views _ _ _ _ Hlg Hl')).
    destruct Hl' as (e & -> & He & [Hw' HG'] & _ & _). change (lop L0) with atomic_event in *.
    pose proof (outside_others c e l Hw He Ho) as Ho'.
    change (lstep L1 c (f, args) m (views (e ++ l))) with
      (lock_step nlock budget (cell_data init guarded) c (f, args) m (views (e ++ l))) in Hp.
    unfold lock_step in Hp. destruct (held c (views (e ++ l))) as [ks n] eqn:Eh.
    destruct args as [|v [|? ?]]; [done| |done].
    destruct (String.eqb_spec f ACQUIRE) as [->|_]; [done|]. destruct (String.eqb_spec f RELEASE) as [->|_]; [done|].
    destruct (String.eqb_spec f OUT) as [->|_]; [|done]. destruct ks; [|done].
    destruct Hp as [HG2 HQ]. unfold outside in Ho'. rewrite Eh in Ho'.
    assert (Hn : forall k t, 0 <= k < NUM_LOCK -> replay k (e ++ l) = Some t -> places t !! c = None).
    { intros k t Hk Ht. specialize (Ho' k t Hk Ht). unfold account in Ho'.
      destruct (places t !! c) as [[]|]; try done. by destruct Ho' as [?%elem_of_nil _]. }
    assert (Hr : forall k, 0 <= k < NUM_LOCK -> replay k (Event c (EOut v) :: e ++ l) = replay k (e ++ l)).
    { intros k Hk. cbn [McsProtocol.replay]. destruct (replay k (e ++ l)) as [t|] eqn:Et; [|done].
      unfold McsProtocol.mcs_step. cbn [who what]. rewrite decide_True, decide_False by done. unfold other_event.
      by rewrite (Hn k t Hk Et). }
    assert (Hw2 : wf (Event c (EOut v) :: e ++ l)) by (intros k Hk; rewrite Hr by done; auto).
    simpl. split; [by split|]. split; [|exact HQ]. split; [|by split].
    unfold outside.
    assert (Eh' : held c (views (Event c (EOut v) :: e ++ l)) = ([], S n)).
    { change (views (Event c (EOut v) :: e ++ l)) with (Event c (OOut v) :: views (e ++ l)).
      simpl. rewrite decide_True by done. by rewrite Eh. }
    rewrite Eh'. intros k t Hk Ht. rewrite Hr in Ht by done. unfold account. rewrite (Hn k t Hk Ht).
    by intros ?%elem_of_nil.
  Qed.
End step.
