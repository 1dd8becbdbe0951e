(** Freedom from starvation of the MCS lock, in numbers: CPUs x critical section x the scheduler's patience.

    From swapping itself into the tail to owning what the lock guards, a CPU lets at most so many events pass, of all CPUs
    together. Every event brings it nearer: the work of those before it and its own gets less, or the one that has to move
    ([mover]) comes nearer to its next move, which a patient scheduler grants it among any [F] events. *)
From Ashlar Require Export layers.spinlock.McsBound.
From Ashlar Require layers.spinlock.TicketBound.

Notation patient_throughout := TicketBound.patient_throughout.

(** Places in line before the lock is owned. *)
Definition before_owning (p : place) : Prop :=
  match p with Joins _ | Marks _ | Waits | Let | Enters => True | _ => False end.

Section step.
  Context (patience : Z -> nat) (k : Z).
  Notation shape := (shape patience k).
  Notation work := (work patience k).
  Notation cost := (cost patience k).

  (** CPU [c] stands in line behind [ahead] and does not own yet. *)
  Definition in_line (c : nat) (ahead : list nat) (t : mcs) : Prop :=
    (exists behind, line t = ahead ++ c :: behind) /\ exists p, places t !! c = Some p /\ before_owning p.

  Lemma mover_within t c ahead : mcs_ok t -> in_line c ahead t -> mover t ∈ ahead ++ [c].
  Proof.
    intros Hok [[behind Hl] (p & Hp & Hpre)]. unfold mover. rewrite Hl. destruct ahead as [|h a]; cbn [app].
    - rewrite Hp. destruct p; try done; left.
    - destruct (places t !! h) as [p'|]; [|left]. destruct p'; try left. destruct (linked t h); [left|].
      destruct a as [|s a]; cbn [app]; right; left.
  Qed.
  Lemma mover_behind t x p q c ahead : mcs_ok t -> in_line c ahead t -> places t !! x = q -> q <> Some Waits ->
    x ∉ ahead ++ [c] -> mover (move x p t) = mover t.
  Proof.
    intros Hok [[behind Hl] (pc & Hp & Hpre)] Hq Hqw Hx. unfold mover, linked, move. cbn [line places]. rewrite Hl.
    assert (Hxc : x <> c) by (intros ->; apply Hx, elem_of_app; right; left).
    destruct ahead as [|h a]; cbn [app].
    - rewrite lookup_insert_ne, Hp by done. by destruct pc.
    - assert (h <> x) by (intros ->; apply Hx; left).
      rewrite lookup_insert_ne by done. destruct (places t !! h) as [p'|]; [|done]. destruct p'; try done.
      cbn [next_in]. rewrite decide_True by done. destruct a as [|s a]; cbn [app head].
      + by rewrite lookup_insert_ne.
      + assert (s <> x) by (intros ->; apply Hx; right; left). by rewrite lookup_insert_ne.
  Qed.

  Definition nearer (x : nat) (c : nat) (t : mcs) (ahead : list nat) (t' : mcs) (ahead' : list nat) : Prop :=
    (work t' (ahead' ++ [c]) = work t (ahead ++ [c]) /\ mover t' = mover t /\ x <> mover t) \/
    (work t' (ahead' ++ [c]) < work t (ahead ++ [c]))%nat.

  Lemma line_move t x p q c ahead : mcs_ok t -> in_line c ahead t -> places t !! x = Some q -> q <> Waits ->
    (x = c -> before_owning p) -> (cost p < cost q)%nat ->
    in_line c ahead (move x p t) /\ nearer x c t ahead (move x p t) ahead.
  Proof.
    intros Hok Hin Hq Hqw Hc Hlt. pose proof Hin as [[behind Hl] (pc & Hp & Hpre)]. split.
    { split; [by exists behind|]. cbn. destruct (decide (x = c)) as [->|Hne].
      - rewrite lookup_insert. eauto.
      - rewrite lookup_insert_ne by done. eauto. }
    destruct (decide (x ∈ ahead ++ [c])) as [Hx|Hx].
    - right. apply (work_less patience k t _ _ x); [|done|].
      + intros y Hy. destruct (decide (x = y)) as [<-|?]; [|by rewrite cost_other].
        unfold cost_of, move. cbn [places]. rewrite lookup_insert, Hq. lia.
      + unfold cost_of, move. cbn [places]. rewrite lookup_insert, Hq. lia.
    - left. split_and!.
      + apply work_ext. intros y Hy. apply cost_other. by intros ->.
      + eapply mover_behind; [done|exact Hin|done|congruence|done].
      + intros ->. apply Hx. by eapply mover_within.
  Qed.

  Theorem line_step x o t t' c ahead : shape x o t t' -> mcs_ok t -> in_line c ahead t -> (x = c -> o <> EOwn k) ->
    exists ahead', in_line c ahead' t' /\ nearer x c t ahead t' ahead'.
  Proof.
    intros Hs Hok Hin Hown. pose proof Hin as [[behind Hl] (pc & Hpc & Hpre)].
    pose proof (mover_within t c ahead Hok Hin) as Hm.
    assert (Hsub : forall y, y ∈ ahead ++ [c] -> y ∈ line t).
    { intros y Hy. rewrite Hl. apply elem_of_app in Hy as [Hy|Hy%elem_of_list_singleton]; apply elem_of_app; [by left|].
      right. subst. left. }
    assert (Hsame : x <> mover t -> exists ahead', in_line c ahead' t /\ nearer x c t ahead t ahead').
    { intros Hx. exists ahead. split; [done|]. by left. }
    assert (Hmove : forall p q, places t !! x = Some q -> q <> Waits -> (x = c -> before_owning p) -> (cost p < cost q)%nat ->
      exists ahead', in_line c ahead' (move x p t) /\ nearer x c t ahead (move x p t) ahead').
    { intros p q Hq Hqw Hc Hlt. exists ahead. eapply line_move; eauto. }
    assert (Hother : forall q, places t !! x = Some q -> x = c -> before_owning q) by (intros q Hq ->; congruence).
    destruct Hs as [Hx E|n Hx E|Ho E|Ho E|b Ho E|b Ho E|Ho E|Ho E|Ho E|n d Ho E|Ho E El|p d Ho E Hp El|Ho E El|h Ho E El|Ho E El|d Ho E].
    - apply Hsame. intros ->. apply (ok_outside _ _ Hok) in E. auto.
    - eapply Hmove; [exact E|done| |simpl; lia]. intros Hxc. by destruct (Hother _ E Hxc).
    - apply (ok_outside _ _ Hok) in E as Hx. assert (Hxc : x <> c) by congruence. exists ahead. split.
      + split; [by exists behind|]. cbn. rewrite lookup_insert_ne by done. eauto.
      + left. split_and!.
        * apply work_ext. intros y Hy. apply cost_other. intros ->. auto.
        * eapply mover_behind; [done|exact Hin|exact E|done|auto].
        * intros ->. auto.
    - pose proof (ok_place _ Hok _ _ E) as Hx. cbn in Hx. assert (Hxc : x <> c) by (intros Hxc; by destruct (Hother _ E Hxc)). exists ahead. split.
      + split; [exists (behind ++ [x]); cbn; by rewrite Hl, <- app_assoc|]. cbn. rewrite lookup_insert_ne by done. eauto.
      + left. split_and!.
        * apply work_ext. intros y Hy. unfold cost_of, McsProtocol.join. cbn. rewrite lookup_insert_ne; [done|]. intros ->. auto.
        * pose proof (fun b => linked_join x t b Hok Hx) as Hj. unfold mover.
          change (line (McsProtocol.join x t)) with (line t ++ [x]). destruct ahead as [|h a]; rewrite Hl in Hx |- *; cbn [app].
          -- cbn [McsProtocol.join places]. rewrite lookup_insert_ne, Hpc by done. by destruct pc.
          -- rewrite Hj. assert (h <> x) by (intros ->; apply Hx; left).
             cbn [McsProtocol.join places]. rewrite lookup_insert_ne by done. by destruct a.
        * intros ->. auto.
    - eapply Hmove; [exact E|done|done|simpl; lia].
    - eapply Hmove; [exact E|done|done|simpl; lia].
    - apply Hsame. intros ->. apply (mover_moves t Hok); [|done]. rewrite Hl. by destruct ahead.
    - eapply Hmove; [exact E|done|done|simpl; lia].
    - eapply Hmove; [exact E|done| |simpl; lia]. intros Hx. by destruct (Hown Hx).
    - eapply Hmove; [exact E|done| |simpl; lia]. intros Hxc. by destruct (Hother _ E Hxc).
    - eapply Hmove; [exact E|done| |simpl; lia]. intros Hxc. by destruct (Hother _ E Hxc).
    - assert (Hxc : x <> c) by (intros Hxc; destruct Hp as [->| ->]; by destruct (Hother _ E Hxc)).
      destruct Hp as [->| ->]; (eapply Hmove; [exact E|done|done|simpl; lia]).
    - apply Hsame. destruct (ok_place _ Hok _ _ E) as (Hh & d & Hn). destruct (next_in_first _ _ _ Hn Hh) as [q Eq].
      rewrite (mover_seeks t x d q) by done. intros ->. pose proof (ok_nodup _ Hok) as Hnd. rewrite Eq in Hnd.
      apply NoDup_cons in Hnd as [Hnd _]. apply Hnd. left.
    - exfalso. pose proof (ok_place _ Hok _ _ E) as Hx. cbn in Hx. rewrite El in Hx, Hl. injection Hx as ->.
      destruct ahead as [|? [|??]]; simplify_eq/=. by destruct (Hother _ E eq_refl).
    - eapply Hmove; [exact E|done| |simpl; lia]. intros Hxc. by destruct (Hother _ E Hxc).
    - destruct (ok_place _ Hok _ _ E) as (Hh & Hn & Hdw). destruct (next_in_first _ _ _ Hn Hh) as [q Eq].
      assert (Hxc : x <> c) by (intros Hxc; by destruct (Hother _ E Hxc)).
      destruct ahead as [|h a]; [rewrite Eq in Hl; simplify_eq/=|]. rewrite Eq in Hl. injection Hl as <- Hl.
      pose proof (ok_nodup _ Hok) as Hnd. rewrite Eq, Hl in Hnd. apply NoDup_cons in Hnd as [Hxa Hnd].
      assert (Hwork : (work (pass x d t) (a ++ [c]) < work t ((x :: a) ++ [c]))%nat).
      { cbn [app McsNearer.work]. unfold cost_of at 1. rewrite E. cbn [McsNearer.cost]. rewrite (work_ext patience k t); [lia|].
        intros y Hy. unfold cost_of, pass. cbn [places].
        assert (Hyx : x <> y).
        { intros ->. apply Hxa. apply elem_of_app in Hy as [Hy|Hy%elem_of_list_singleton]; [|done]. apply elem_of_app. by left. }
        destruct (decide (d = y)) as [<-|?]; [by rewrite lookup_insert, Hdw|].
        by rewrite lookup_insert_ne, lookup_delete_ne. }
      exists a. split; [split|by right].
      + exists behind. cbn. by rewrite Eq.
      + cbn. destruct (decide (d = c)) as [->|Hdc]; [rewrite lookup_insert; by eexists|].
        rewrite lookup_insert_ne, lookup_delete_ne by done. eauto.
  Qed.
End step.

Section bound.
  Context (budget F : nat).
  Notation patience := (critical_section budget F).
  Notation replay := (replay patience).
  Notation engaged := (queued patience).
  Context (k : Z) (Hk : 0 <= k < NUM_LOCK) (c : nat).
  Notation work := (work patience k).

  Definition until_owned (ahead : list nat) (t : mcs) (l : atomic_log) : nat :=
    work t (ahead ++ [c]) * S F + (F - gap (mover t) l).

  (** Every event brings it nearer. *)
  Lemma until_owned_decreases x l t t' ahead : replay k l = Some t -> replay k (x :: l) = Some t' ->
    in_line c ahead t -> x <> Event c (EOwn k) -> patient F engaged (who x) l ->
    exists ahead', in_line c ahead' t' /\ (until_owned ahead' t' (x :: l) < until_owned ahead t l)%nat.
  Proof using Hk.
    intros Ht Ht' Hin Hown Hpat. destruct (replay_step patience k x l t t' Ht Ht') as [Hok Hs].
    destruct (line_step patience k _ _ _ _ c ahead Hs Hok Hin) as (ahead' & Hin' & Hcase).
    { intros Hx Ho. apply Hown. destruct x. simpl in *. by subst. }
    exists ahead'. split; [done|]. unfold until_owned. destruct Hcase as [(Hw & Hm & Hne)|Hlt].
    - rewrite Hw, Hm, gap_other by done. assert (Hg : (gap (mover t) l < F)%nat).
      { apply Hpat; [done|]. exists k, t. split; [done|]. split; [done|]. apply mover_engaged.
        destruct Hin as [[behind ->] _]. by destruct ahead. }
      generalize (work t (ahead ++ [c]) * S F)%nat. intros. lia.
    - set (w1 := work t' (ahead' ++ [c])) in *. set (w0 := work t (ahead ++ [c])) in *.
      assert (S w1 * S F <= w0 * S F)%nat by (apply Nat.mul_le_mono_r; lia). lia.
  Qed.

  Lemma until_owned_bound e l t ahead : replay k l = Some t -> in_line c ahead t -> is_Some (replay k (e ++ l)) ->
    patient_throughout F engaged (e ++ l) -> Event c (EOwn k) ∉ e ->
    exists t' ahead', replay k (e ++ l) = Some t' /\ in_line c ahead' t' /\
      (length e + until_owned ahead' t' (e ++ l) <= until_owned ahead t l)%nat.
  Proof using Hk.
    intros Ht Hin. induction e as [|x e IH]; intros [t' Ht'] Hpat Hown.
    { exists t, ahead. by split_and!. }
    apply not_elem_of_cons in Hown as [Hx He]. simpl in Hpat. apply TicketBound.patient_tail in Hpat as [Hpx Hpat].
    pose proof Ht' as Ht''. apply replay_cons in Ht'' as (t1 & Ht1 & _).
    destruct (IH ltac:(by eexists) Hpat He) as (t2 & a2 & Ht2 & Hin2 & Hle).
    assert (Some t2 = Some t1) as [= ->] by (rewrite <- Ht2; exact Ht1).
    destruct (until_owned_decreases x (e ++ l) t1 t' a2 Ht1 Ht' Hin2 (not_eq_sym Hx) Hpx) as (a3 & Hin3 & Hlt).
    exists t', a3. split; [done|]. split; [done|]. change ((x :: e) ++ l) with (x :: e ++ l). simpl length. lia.
  Qed.

  (** The bound. *)
  Definition acquire_events : nat := Z.to_nat NUM_CPU * (patience k + 9) * S F + F.

  (** From its swap, CPU [c] owns what lock [k] guards, or at most [acquire_events] events have passed. *)
  Theorem mcs_starvation_bound e l :
    keeps_protocol patience (e ++ Event c (ESwap (tail_cell k) (name (Some c))) :: l) ->
    patient_throughout F engaged (e ++ Event c (ESwap (tail_cell k) (name (Some c))) :: l) ->
    Event c (EOwn k) ∉ e -> (length e <= acquire_events)%nat.
  Proof using Hk.
    intros Hw Hpat Hown. set (l1 := Event c (ESwap (tail_cell k) (name (Some c))) :: l) in *.
    assert (Ht : is_Some (replay k l1)).
    { specialize (Hw k Hk). clear -Hw. induction e as [|x e IH]; [done|]. destruct Hw as [t Ht].
      apply replay_cons in Ht as (t0 & Ht0 & _). apply IH. by eexists. }
    destruct Ht as [t Ht]. pose proof Ht as Ht'. unfold l1 in Ht'. apply replay_cons in Ht' as (t0 & Ht0 & Hs).
    apply mcs_step_shape in Hs as [_ Hs]. cbn [who what] in Hs. pose proof (replay_ok _ _ _ _ Ht0) as Hok.
    assert (Hin : in_line c (line t0) t).
    { assert (Ha : about (ESwap (tail_cell k) (name (Some c))) = Some k) by (cbn [about]; by rewrite cell_lock_tail).
      inversion Hs; subst; try done. split; [by exists []|]. cbn. rewrite lookup_insert.
      by destruct (last (line t0)); eexists. }
    destruct (until_owned_bound e l1 t (line t0) Ht Hin (Hw k Hk) Hpat Hown) as (t' & a' & _ & _ & Hle).
    unfold until_owned in Hle. unfold acquire_events.
    pose proof (work_bound patience k Hk l1 t (line t0 ++ [c]) Ht) as Hwb.
    assert (Hlen : (length (line t0 ++ [c]) <= Z.to_nat NUM_CPU)%nat).
    { destruct Hin as [[behind Hl] _]. pose proof (line_length t (replay_ok _ _ _ _ Ht)) as Hlen. rewrite Hl in Hlen.
      rewrite app_length in *. simpl in *. lia. }
    set (w := work t (line t0 ++ [c])) in *.
    assert (Hm : (length (line t0 ++ [c]) * (patience k + 9) <= Z.to_nat NUM_CPU * (patience k + 9))%nat)
      by (by apply Nat.mul_le_mono_r).
    assert (Hw2 : (w * S F <= Z.to_nat NUM_CPU * (patience k + 9) * S F)%nat) by (apply Nat.mul_le_mono_r; lia).
    lia.
  Qed.
End bound.
