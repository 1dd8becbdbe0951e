(** Waiting for an MCS lock: every event makes progress towards the turn of a waiting CPU, or is not of the one that has to
    move.

    [work]: how many events the queued CPUs have yet to cause before they are through. One of those up to a waiting CPU has
    to move ([mover]): the first of the queue, or the second while the first must wait for its number. Its events decrease
    the work, no event increases it. *)
From Ashlar Require Export layers.spinlock.mcs.McsValue.

(** Places in line before the lock is owned. *)
Definition before_owning (p : place) : Prop :=
  match p with Joins _ | Marks _ | Waits | Let | Enters => True | _ => False end.

(** ** One step *)
Section step.
  Context (hold_bound : Z -> nat) (k : Z).
  Notation shape := (shape hold_bound k).

  Definition cost (p : place) : nat :=
    match p with
    | Ready => 0 | Joins _ => hold_bound k + 9 | Marks _ => hold_bound k + 8 | Waits | Let => hold_bound k + 7
    | Enters => hold_bound k + 6 | Holds n => n + 5 | Leaves => 4 | Tries => 3 | Seeks => 2 | Passes _ => 1
    end.
  Definition cost_of (t : mcs) (c : nat) : nat := match places t !! c with Some p => cost p | None => 0 end.
  Fixpoint work (t : mcs) (ahead : list nat) : nat :=
    match ahead with [] => 0 | c :: q => cost_of t c + work t q end.

  Definition mover (t : mcs) : nat :=
    match line t with
    | h :: q =>
        match places t !! h, linked t h, q with Some Seeks, None, s :: _ => s | _, _, _ => h end
    | [] => 0%nat
    end.

  Lemma work_ext t t' a : (forall y, y ∈ a -> cost_of t' y = cost_of t y) -> work t' a = work t a.
  Proof.
    induction a as [|x a IH]; [done|]. intros H. simpl. rewrite IH, (H x); [done|left|]. intros y Hy. apply H. by right.
  Qed.
  Lemma work_less t t' a x : (forall y, y ∈ a -> (cost_of t' y <= cost_of t y)%nat) -> x ∈ a ->
    (cost_of t' x < cost_of t x)%nat -> (work t' a < work t a)%nat.
  Proof.
    intros H Hx Hlt.
    assert (Hle : forall a, (forall y, y ∈ a -> (cost_of t' y <= cost_of t y)%nat) -> (work t' a <= work t a)%nat).
    { clear. induction a as [|y a IH]; intros H; [done|]. simpl.
      assert (cost_of t' y <= cost_of t y)%nat by (apply H; left).
      assert (work t' a <= work t a)%nat by (apply IH; intros z Hz; apply H; by right). lia. }
    induction a as [|y a IH]; [by apply elem_of_nil in Hx|]. simpl.
    assert (Ha : forall z, z ∈ a -> (cost_of t' z <= cost_of t z)%nat) by (intros z Hz; apply H; by right).
    apply elem_of_cons in Hx as [->|Hx].
    - specialize (Hle a Ha). lia.
    - specialize (IH Ha Hx). assert (cost_of t' y <= cost_of t y)%nat by (apply H; left). lia.
  Qed.

  Lemma place_in_line t c p : mcs_ok t -> places t !! c = Some p -> p <> Ready -> c ∈ line t.
  Proof.
    intros Hok Hp Hr. pose proof (ok_place _ Hok _ _ Hp) as H. destruct p; simpl in H; try done;
      try (by apply head_elem); try (by apply next_in_elem in H as [_ ?]).
    - destruct H as [b H]. by apply next_in_elem in H as [_ ?].
    - destruct H as [H _]. by apply head_elem.
    - destruct H as [H _]. by apply head_elem.
  Qed.
  Lemma waits_not_first t c : mcs_ok t -> places t !! c = Some Waits -> head (line t) <> Some c.
  Proof.
    intros Hok Hp. destruct (ok_place _ Hok _ _ Hp) as [b Hb]. eapply next_in_not_head; [apply Hok|exact Hb].
  Qed.

  (** Others leave a CPU where it is, except that they may let it through. *)
  Lemma place_step x o t t' c : shape x o t t' -> mcs_ok t -> x <> c ->
    places t' !! c = places t !! c \/ (places t !! c = Some Waits /\ places t' !! c = Some Let).
  Proof.
    intros Hs Hok Hne.
    destruct Hs as [Ha E|n Ha E|Ho E|Ho E|b Ho E|b Ho E|Ho E|Ho E|Ho E|n d Ho E|Ho E El|p d Ho E Hp El|Ho E El|h Ho E El|Ho E El|d Ho E];
      cbn; try (left; done); try (left; by rewrite lookup_insert_ne); try (left; by rewrite lookup_delete_ne).
    destruct (decide (d = c)) as [->|Hd].
    - right. rewrite lookup_insert. by destruct (ok_place _ Hok _ _ E) as (_ & _ & ?).
    - left. by rewrite lookup_insert_ne, lookup_delete_ne.
  Qed.
  Lemma first_step x o t t' c : shape x o t t' -> mcs_ok t -> x <> c -> head (line t) = Some c ->
    head (line t') = Some c /\ places t' !! c = places t !! c.
  Proof.
    intros Hs Hok Hne Hh. split.
    - destruct Hs as [Ha E|n Ha E|Ho E|Ho E|b Ho E|b Ho E|Ho E|Ho E|Ho E|n d Ho E|Ho E El|p d Ho E Hp El|Ho E El|h Ho E El|Ho E El|d Ho E];
        cbn; try done.
      + by destruct (line t).
      + pose proof (ok_place _ Hok _ _ E) as H. cbn in H. congruence.
      + destruct (ok_place _ Hok _ _ E) as (H & _). congruence.
    - destruct (place_step x o t t' c Hs Hok Hne) as [?|[Hw _]]; [done|]. by apply waits_not_first in Hw.
  Qed.

  (** The first waits for the second's number: two events of the second at most. *)
  Definition seek_cost (p : option place) : nat := match p with Some (Joins _) => 2 | Some (Marks _) => 1 | _ => 0 end.
  Lemma seek_step x o t t' c d : shape x o t t' -> mcs_ok t -> x <> c -> head (line t) = Some c ->
    next_in c (line t) = Some d ->
    next_in c (line t') = Some d /\
    ((places t' !! d = places t !! d /\ (x <> d \/ seek_cost (places t !! d) = 0%nat)) \/
     (seek_cost (places t' !! d) < seek_cost (places t !! d))%nat).
  Proof.
    intros Hs Hok Hne Hh Hn. split.
    - destruct Hs as [Ha E|n Ha E|Ho E|Ho E|b Ho E|b Ho E|Ho E|Ho E|Ho E|n d' Ho E|Ho E El|p d' Ho E Hp El|Ho E El|h Ho E El|Ho E El|d' Ho E];
        cbn; try done.
      + by apply next_in_app.
      + pose proof (ok_place _ Hok _ _ E) as H. cbn in H. congruence.
      + destruct (ok_place _ Hok _ _ E) as (H & _). congruence.
    - assert (Hd : head (line t) <> Some d) by (eapply next_in_not_head; [apply Hok|exact Hn]).
      destruct (decide (x = d)) as [->|Hxd].
      + destruct Hs as [Ha E|n Ha E|Ho E|Ho E|b Ho E|b Ho E|Ho E|Ho E|Ho E|n d' Ho E|Ho E El|p d' Ho E Hp El|Ho E El|h Ho E El|Ho E El|d' Ho E];
          cbn; rewrite ?lookup_insert, ?E; try (by left; split; [|by right]); try (by right; cbn; lia);
          try (by destruct (ok_outside t d Hok E); apply next_in_elem in Hn as [_ ?]);
          pose proof (ok_place _ Hok _ _ E) as H; cbn in H; try done; try (by destruct H).
        * apply next_in_elem in Hn as [_ Hn]. by destruct H.
        * destruct Hp as [->| ->]; [done|by destruct H].
      + destruct (place_step x o t t' d Hs Hok Hxd) as [->|[Hw Hl]]; [left; split; [done|by left]|].
        exfalso. destruct Hs as [Ha E|n Ha E|Ho E|Ho E|b Ho E|b Ho E|Ho E|Ho E|Ho E|n d' Ho E|Ho E El|p d' Ho E Hp El|Ho E El|h Ho E El|Ho E El|d' Ho E];
          cbn in Hl; try congruence; try (rewrite lookup_insert_ne in Hl by done; congruence).
        * by rewrite lookup_delete_ne, Hw in Hl.
        * destruct (ok_place _ Hok _ _ E) as (H & _). congruence.
  Qed.

  (** ** While [c] stands in line *)

  Lemma cost_other t x p y : x <> y -> cost_of (move x p t) y = cost_of t y.
  Proof. intros. unfold cost_of, move. cbn. by rewrite lookup_insert_ne. Qed.

  Lemma mover_contending t : line t <> [] -> mover t ∈ line t.
  Proof.
    unfold mover. destruct (line t) as [|h q]; [done|]. intros _. destruct (places t !! h) as [[]|]; try left.
    destruct (linked t h); [left|]. destruct q; [left|right; left].
  Qed.

  Lemma mover_moves t : mcs_ok t -> line t <> [] -> places t !! mover t <> Some Waits.
  Proof.
    intros Hok Hne. pose proof (waits_not_first t) as Hf. unfold mover. destruct (line t) as [|h q] eqn:El; [done|].
    assert (Hh : places t !! h <> Some Waits) by (intros Hx; by apply (Hf h Hok Hx)).
    destruct (places t !! h) as [p|] eqn:Eh; [|congruence]. destruct p; try congruence.
    destruct (linked t h) as [d|] eqn:Ed; [congruence|]. destruct q as [|s q]; [congruence|]. intros Hs.
    assert (linked t h = Some s); [|congruence]. apply linked_some. split; [|done]. rewrite El. cbn. by rewrite decide_True.
  Qed.
  Lemma mover_seeks t x d q : line t = x :: d :: q -> places t !! x = Some Seeks -> linked t x = None -> mover t = d.
  Proof. intros Hl Hp Hn. unfold mover. by rewrite Hl, Hp, Hn. Qed.
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

  Definition makes_progress (x : nat) (c : nat) (t : mcs) (ahead : list nat) (t' : mcs) (ahead' : list nat) : Prop :=
    (work t' (ahead' ++ [c]) = work t (ahead ++ [c]) /\ mover t' = mover t /\ x <> mover t) \/
    (work t' (ahead' ++ [c]) < work t (ahead ++ [c]))%nat.

  Lemma line_move t x p q c ahead : mcs_ok t -> in_line c ahead t -> places t !! x = Some q -> q <> Waits ->
    (x = c -> before_owning p) -> (cost p < cost q)%nat ->
    in_line c ahead (move x p t) /\ makes_progress x c t ahead (move x p t) ahead.
  Proof.
    intros Hok Hin Hq Hqw Hc Hlt. pose proof Hin as [[behind Hl] (pc & Hp & Hpre)]. split.
    { split; [by exists behind|]. cbn. destruct (decide (x = c)) as [->|Hne].
      - rewrite lookup_insert. eauto.
      - rewrite lookup_insert_ne by done. eauto. }
    destruct (decide (x ∈ ahead ++ [c])) as [Hx|Hx].
    - right. apply (work_less t _ _ x); [|done|].
      + intros y Hy. destruct (decide (x = y)) as [<-|?]; [|by rewrite cost_other].
        unfold cost_of, move. cbn [places]. rewrite lookup_insert, Hq. lia.
      + unfold cost_of, move. cbn [places]. rewrite lookup_insert, Hq. lia.
    - left. split_and!.
      + apply work_ext. intros y Hy. apply cost_other. by intros ->.
      + eapply mover_behind; [done|exact Hin|done|congruence|done].
      + intros ->. apply Hx. by eapply mover_within.
  Qed.

  Theorem line_step x o t t' c ahead : shape x o t t' -> mcs_ok t -> in_line c ahead t -> (x = c -> o <> EOwn k) ->
    exists ahead', in_line c ahead' t' /\ makes_progress x c t ahead t' ahead'.
  Proof.
    intros Hs Hok Hin Hown. pose proof Hin as [[behind Hl] (pc & Hpc & Hpre)].
    pose proof (mover_within t c ahead Hok Hin) as Hm.
    assert (Hsub : forall y, y ∈ ahead ++ [c] -> y ∈ line t).
    { intros y Hy. rewrite Hl. apply elem_of_app in Hy as [Hy|Hy%elem_of_list_singleton]; apply elem_of_app; [by left|].
      right. subst. left. }
    assert (Hsame : x <> mover t -> exists ahead', in_line c ahead' t /\ makes_progress x c t ahead t ahead').
    { intros Hx. exists ahead. split; [done|]. by left. }
    assert (Hmove : forall p q, places t !! x = Some q -> q <> Waits -> (x = c -> before_owning p) -> (cost p < cost q)%nat ->
      exists ahead', in_line c ahead' (move x p t) /\ makes_progress x c t ahead (move x p t) ahead').
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
      { cbn [app work]. unfold cost_of at 1. rewrite E. cbn [cost]. rewrite (work_ext t); [lia|].
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
