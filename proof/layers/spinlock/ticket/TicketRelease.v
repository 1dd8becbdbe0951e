(** The ticket lock's release: give up what the lock guards, read the served cell, advance it.

    The lock layer's event is the first of the three; the other two count against the hold bounds of the locks still held. *)
From Ashlar Require Export layers.spinlock.ticket.TicketStep.

(** Locks held are locks. *)
Lemma legal_held_range {D MEM} nlock budget (X : lock_data D MEM) l c k : legal (lock_layer nlock budget X) l ->
  k ∈ (held c l).1 -> 0 <= k < nlock.
Proof.
  induction 1 as [|c' p m v m' o l Hl IH Hp]; [by intros ?%elem_of_nil|]. apply lock_step_shape in Hp.
  change (lop (lock_layer nlock budget X)) with (lock_event D) in *.
  destruct (decide (c' = c)) as [->|Hne]; [|by rewrite held_other].
  destruct Hp as [k' Hb _ _|k' ks d m1 Hk _ _|w Hk].
  - rewrite held_acquire. intros [->|Hin]%elem_of_cons; [|auto]. unfold below in Hb. lia.
  - rewrite held_release. intros Hin. apply IH. rewrite Hk in *. by right.
  - rewrite held_out. auto.
Qed.

Section release.
  Context (kernel_entry : Z -> Z) (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (cells_fit : 2 * nlock < 2 ^ 32).
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
  Notation B := (arch_builtins kernel_entry).

  Section call.
    Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (c : nat) (Hc : (c < ncpu)%nat).
    Context (M : module) (HM : upper_module (reserved spinlock_module) M).
    Context (J : cfg -> atomic_log -> Prop) (HJ : stepwise L0 L1 B spinlock_module lock_view wf G1 c M J).
    Notation G0 := (below_guarantee L0 L1 lock_view wf G1).
    Notation between := (Link.between L0 L1 lock_view wf outside G1 c).

    (** CPU [c] is first in the queue of lock [k], which it releases, and holds [ks] besides. *)
    Definition releasing (k : Z) (ks : list Z) (n r : nat) (p : phase) (now : Z) (l : atomic_log) : Prop :=
      operating c k ks (budget - n) r l /\ held c (views l) = (ks, n) /\ G1 (views l) /\
      exists t q, replay k l = Some t /\ waiting t = c :: q /\ first_phase t = p /\ served t = now.

    Lemma releasing_others k ks n r p now l l' : rely L0 G0 c l l' -> releasing k ks n r p now l ->
      releasing k ks n r p now l'.
    Proof using.
      intros (e & -> & He & [Hw HG] & _ & _) (Ho & Eh & _ & t & q & Ht & Hq & Hp & Hn).
      change (lop L0) with atomic_event in *.
      destruct (first_stays ncpu budget F c k e l t q He Hw Ht Hq) as (t' & q' & Ht' & Hq' & Hp' & Hn').
      split; [by apply operating_others|]. split; [|split; [exact HG|]].
      - rewrite <- Eh. by apply held_views_others.
      - exists t', q'. split_and!; [done..|congruence|congruence].
    Qed.

    Lemma release_store k ks n m l Q now : releasing k ks n 1 Advances now l -> settled c Q 0 m l ->
      pwp L0 G0 c ("arch_atomic_store"%string, [2 * k + 1; wrap W64 (wrap W64 now + 1)]) m l
        (fun v m' l' => between l' /\ settled c Q 0 m' l').
    Proof using Hc.
      intros Hrel Hset l' Hl'.
      pose proof (releasing_others _ _ _ _ _ _ _ _ Hl' Hrel) as (Ho & Eh & HG & t & q & Ht & Hq & Hp & Hn).
      destruct Hl' as (e & -> & He & _). change (lop L0) with atomic_event in *. simpl.
      set (o := EStore (2 * k + 1) (wrap W64 (wrap W64 now + 1))). set (l' := e ++ l) in *.
      assert (Hs : queue_step k (Event c o) t = Some (Queue (served t + 1) q Waits)).
      { unfold o. rewrite wrap_succ, <- Hn. by apply step_advance. }
      destruct (operating_step ncpu budget F c k ks _ _ _ o _ _ Hc ltac:(unfold o; simpl; by rewrite about_served) Ht Hs Ho)
        as [Ho' Ht'].
      assert (Hb : below_guarantee L0 L1 lock_view wf G1 (Event c o :: l')) by (split; [apply Ho'|exact HG]).
      split; [exact Hb|]. split; [split; [|exact Hb]|].
      - eapply operating_end; [exact Ho'|exact Eh|done|exact Ht'|]. right. split; [|done]. simpl.
        assert (Hnd : NoDup (c :: q)) by (rewrite <- Hq; apply (replay_invariant _ _ _ _ Ht)).
        by apply NoDup_cons in Hnd as [? _].
      - exact (settled_others _ _ _ _ _ _ _ _ _ _ e l He Hset).
    Qed.

    Lemma release_load k ks n m l Q now : releasing k ks n 2 Leaves now l -> settled c Q 0 m l ->
      pwp L0 G0 c ("arch_atomic_load"%string, [2 * k + 1]) m l
        (fun v m' l' => v = wrap W64 now /\ m' = m /\ releasing k ks n 1 Advances now l' /\ settled c Q 0 m' l').
    Proof using Hc.
      intros Hrel Hset l' Hl'.
      pose proof (releasing_others _ _ _ _ _ _ _ _ Hl' Hrel) as (Ho & Eh & HG & t & q & Ht & Hq & Hp & Hn).
      destruct Hl' as (e & -> & He & _). change (lop L0) with atomic_event in *. simpl.
      set (o := ELoad (2 * k + 1)). set (l' := e ++ l) in *.
      assert (Hs : queue_step k (Event c o) t = Some (Queue (served t) (c :: q) Advances)).
      { by apply step_read. }
      destruct (operating_step ncpu budget F c k ks _ _ _ o _ _ Hc ltac:(unfold o; simpl; by rewrite about_served) Ht Hs Ho)
        as [Ho' Ht'].
      assert (Hb : below_guarantee L0 L1 lock_view wf G1 (Event c o :: l')) by (split; [apply Ho'|exact HG]).
      split; [exact Hb|]. split_and!; [|done| |].
      - rewrite <- Hn. apply (replay_invariant _ _ _ _ Ht).
      - split; [exact Ho'|]. split; [exact Eh|]. split; [exact HG|]. by exists (Queue (served t) (c :: q) Advances), q.
      - exact (settled_others _ _ _ _ _ _ _ _ _ _ e l He Hset).
    Qed.

    Lemma rely_refl l : G1 (views l) -> rely L1 G1 c (views l) (views l).
    Proof using G1_legal. intros HG. exists []. split_and!; [done|constructor|done|done|auto]. Qed.

    (** What the caller of a release has to show. *)
    Lemma release_required args m l Q : G1 (views l) -> pwp L1 G1 c (RELEASE, args) m (views l) Q ->
      exists k ks n, args = [k] /\ held c (views l) = (k :: ks, n) /\ within budget (k :: ks) n = true.
    Proof using G1_legal.
      intros HG Hp. specialize (Hp _ (rely_refl l HG)). 
      change (lstep L1 c (RELEASE, args) m (views l)) with
        (lock_step nlock budget (cell_data init guarded) c (RELEASE, args) m (views l)) in Hp. unfold lock_step in Hp.
      destruct (held c (views l)) as [ks n] eqn:Eh. destruct args as [|k [|? ?]]; [done| |done].
      change (String.eqb RELEASE ACQUIRE) with false in Hp. cbn iota in Hp.
      destruct ks as [|k' ks]; [done|].
      change (String.eqb RELEASE RELEASE) with true in Hp. cbn iota in Hp.
      destruct (Z.eqb_spec k' k) as [->|]; [|done].
      destruct (within budget (k :: ks) n) eqn:Ew; [|done]. by exists k, ks, n.
    Qed.

    Lemma release_disown k ks n m l Q : between l -> held c (views l) = (k :: ks, n) ->
      within budget (k :: ks) n = true -> pwp L1 G1 c (RELEASE, [k]) m (views l) Q ->
      pwp L0 G0 c ("arch_disown"%string, [k]) m l
        (fun _ m' l' => settled c Q 0 m' l' /\ exists now, releasing k ks (S n) 2 Leaves now l').
    Proof using Hc G1_legal.
      intros (Ho & Hw & HG) Eh Hb Hp l' Hl'. specialize (Hp _ (rely_views _ _ _ _ _ _ _ _ _ _ G1_legal Hl')).
      destruct Hl' as (e & -> & He & [Hw' HG'] & _). change (lop L0) with atomic_event in *.
      pose proof (outside_others ncpu budget F nlock init guarded c e l Hw Hw' He Ho) as Ho'.
      rewrite <- (held_views_others ncpu budget F nlock init guarded c e l He) in Eh. clear Ho HG Hw.
      set (l' := e ++ l) in *.
      assert (Hnd : NoDup (k :: ks)).
      { change (k :: ks) with (k :: ks, n).1. rewrite <- Eh.
        apply (legal_holder nlock budget (cell_data init guarded)). by apply G1_legal. }
      apply NoDup_cons in Hnd as [Hk Hnd].
      assert (Hop : operating c k ks (budget - S n) 3 l').
      { eapply operating_begin; [exact Ho'|exact Hw'|exact Eh|exact Hb|exact Hk| |].
        - intros k'. rewrite elem_of_cons. tauto.
        - intros k' _. apply step_cost_release. }
      pose proof Ho' as Ho2. unfold TicketBetween.outside in Ho2. rewrite Eh in Ho2. destruct Ho2 as [H1 H2].
      destruct (H2 k) as (t & Ht & Hin); [left|]. destruct (H1 k t Ht Hin) as (q & left0 & Hq & Hph & _).
      clear H1 H2. change (lstep L1 c (RELEASE, [k]) m (views l')) with
        (lock_step nlock budget (cell_data init guarded) c (RELEASE, [k]) m (views l')) in Hp.
      unfold lock_step in Hp. rewrite Eh in Hp. rewrite Hb, Z.eqb_refl in Hp. simpl in Hp. destruct Hp as [HG2 HQ].
      simpl. rewrite decide_True.
      2:{ rewrite (rf_owner _ _ _ (replay_invariant _ _ _ _ Ht)). unfold queue_owner. by rewrite Hq, Hph. }
      set (o := EDisown k (guarded k m)).
      destruct (operating_step ncpu budget F c k ks _ _ _ o _ _ Hc eq_refl Ht
        (step_disown hold_bound k c t q left0 _ Hq Hph) Hop) as [Hop' Ht'].
      split; [split; [apply Hop'|exact HG2]|]. split.
      - exists [], (views (Event c o :: l')). split_and!; [done|constructor|exact HQ].
      - exists (served t). split; [exact Hop'|]. split; [|split; [exact HG2|]].
        + change (views (Event c o :: l')) with (Event c (ORelease k (guarded k m)) :: views l'). simpl.
          rewrite decide_True by done. by rewrite Eh.
        + by exists (Queue (served t) (c :: q) Leaves), q.
    Qed.

    (** The second half, a function of its own. *)
    Lemma ticket_release_body k ks n now m l Q : 0 <= k < nlock -> releasing k ks n 2 Leaves now l -> settled c Q 0 m l ->
      body_wp J spinlock_ticket_release_code [k] m l (fun _ m' l' => between l' /\ settled c Q 0 m' l').
    Proof using Hc HM HJ cells_fit.
      intros Hk Hrel Hset. unfold body_wp. cbn [fn_body spinlock_ticket_release_code wp app replicate fn_locals].
      exists [2 * k + 1]. split; [cbn [evals]; by rewrite (served_cell k m nlock)|].
      eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
        [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|exact (release_load k ks n m l Q now Hrel Hset)]. cbn beta.
      intros v m' l' (-> & -> & Hrel' & Hset'). cbn [set_result].
      change (<[1%nat:=wrap W64 now]> [k; 0]) with [k; wrap W64 now].
      exists [2 * k + 1; wrap W64 (wrap W64 now + 1)]. split; [cbn [evals]; by rewrite (served_cell k m nlock)|].
      eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
        [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|exact (release_store k ks n m l' Q now Hrel' Hset')]. done.
    Qed.

    (** The call obligation. *)
    Theorem ticket_release_call args m l Q : between l -> pwp L1 G1 c (RELEASE, args) m (views l) Q ->
      length args = fn_params spinlock_release_code /\
      body_wp J spinlock_release_code args m l (fun v m' l' => between l' /\ settled c Q v m' l').
    Proof using Hc HM HJ cells_fit G1_legal.
      intros Hb Hp. destruct (release_required args m l Q) as (k & ks & n & -> & Eh & Hw); [apply Hb|done|].
      split; [done|]. assert (Hk : 0 <= k < nlock).
      { apply (legal_held_range nlock budget (cell_data init guarded) (views l) c k); [apply G1_legal, Hb|].
        rewrite Eh. left. }
      unfold body_wp. cbn [fn_body spinlock_release_code wp app replicate fn_locals].
      exists [k]. split; [done|].
      eapply (fwp_primitive kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ);
        [done|by apply (bool_decide_unpack _)|done|].
      eapply pwp_mono; [|exact (release_disown k ks n m l Q Hb Eh Hw Hp)]. cbn beta.
      intros v m' l' (Hset & now & Hrel). exists [k]. split; [done|].
      eapply (fwp_own_function kernel_entry L0 L1 spinlock_module lock_view wf G1 c M HM J HJ); [done|done|].
      exact (ticket_release_body k ks (S n) now m' l' Q Hk Hrel Hset).
    Qed.
  End call.
End release.
