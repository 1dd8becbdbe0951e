(** Condition variables: the C does what [Spec] says, on cells that the caller owns.

    The memory of each theorem is parts: a variable's, which the caller has while it holds the variable's lock; those of its own thread;
    and what the layers below work on. What they do to it is said in premises about the calls, from [E] to [E']; they touch no cell of
    condition variables, because these are not in their part. *)
From Ashlar Require Export layers.cv.Representation layers.cv.Code layers.thread.Code.
Local Opaque gmap_lookup gmap_partial_alter.

(** Reading a cell below stores into others. *)
Ltac differ := first [assumption|by apply left_of_other|by apply right_of_other|by apply left_right|done|unfold place, field_cell; congruence].
Ltac seek := repeat first [rewrite own_lookup|rewrite own_lookup_ne by first [differ|apply not_eq_sym; differ]].

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, cv_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).
  Notation timed := (timed quiet kernel_entry M this).
  Notation owned := (owned kernel_entry M this).

  (** Statements up to the next condition. *)
  Ltac stores H := repeat lazymatch goal with |- owned (If _ _ _) _ _ _ _ _ => fail | _ => store_step H; locals_plain end.
  Ltac enter code := eapply timed_body; [by apply HM|done|]; unfold code; locals_simpl.

  (** A store into one of two cells. *)
  Lemma owned_either c o1 i1 f1 o2 i2 f2 e (Qn Qb : locals -> mem -> Prop) Qr r d t v1 v2 v :
    test c r d = Some t -> eval i1 r d = Some v1 -> eval i2 r d = Some v2 -> eval e r d = Some v ->
    let x := if t then field_cell o1 v1 f1 else field_cell o2 v2 f2 in is_Some (d !! x) -> Qn r (<[x := v]> d) ->
    owned (If c (Store o1 i1 f1 (Const 0) e) (Store o2 i2 f2 (Const 0) e)) Qn Qb Qr r d.
  Proof using.
    intros Ht H1 H2 He x Hx HQ. eapply owned_if; [exact Ht|]. unfold x, field_cell in *.
    destruct t; (eapply owned_store; [done|apply eval_const|done|done|done]).
  Qed.

  (** ** What the layers below do *)

  (** The current thread is [self]. *)
  Definition current_is (self : Z) (E : mem -> Prop) : Prop := forall e, E e -> timed "thread_current" [] e (fun v e' => v = self /\ E e').
  (** They mark [self] as waiting for [cv], and to be blocked. *)
  Definition goes_to_sleep (self cv : Z) (E E' : mem -> Prop) : Prop := exists F : mem -> Prop,
    (forall e, E e -> timed "thread_set_wait" [self; WAIT_CV; cv] e (fun _ => F)) /\
    (forall e, F e -> timed "sched_prepare_block" [self] e (fun _ => E')).
  (** They make [t] ready. *)
  Definition gets_ready (t : Z) (E E' : mem -> Prop) : Prop := exists F : mem -> Prop,
    (forall e, E e -> timed "thread_end_wait" [t] e (fun _ => F)) /\ (forall e, F e -> timed "sched_ready" [t] e (fun _ => E')).

  (** A body that asks for the current thread and then works on the other parts. *)
  Lemma current_then self E (Q P : mem -> Prop) u x s r m : current_is self E -> (E ∗ Q) m ->
    (forall d, Q d -> owned s (fun _ d => 0 = u /\ P d) (fun _ _ => False) (fun v d => v = u /\ P d) (<[x := self]> r) d) ->
    during quiet kernel_entry M this (Seq (Call (Some x) "thread_current" []) s) (fun _ m => 0 = u /\ (E ∗ P) m) (fun _ _ => False)
      (fun v m => v = u /\ (E ∗ P) m) r m.
  Proof using.
    intros Hself Hm Ho. apply during_seq. eapply during_call_part; [apply evals_nil|exact Hm|exact Hself|]. cbn [set_result].
    intros v m' (e & d & -> & Hd & [-> He] & HQ). eapply (during_part _ _ _ _ _ E); [by exists e, d|exact Ho|..].
    - intros r' m'. apply both_pure.
    - by intros r' m' (? & ? & _ & _ & _ & []).
    - intros v' m'. apply both_pure.
  Qed.

  (** ** A thread that joins is last *)
  Lemma present self d l k : exactly (cells_of l (place self :: k)) d -> (forall x, x ∈ link_cells self -> x ∈ l \/ x ∈ k) ->
    has_fields "cv_waiter" self ("cv"%string :: (links 0 0 (Waiter 0 false false)).*1) d.
  Proof using.
    intros Hx Hk. apply Forall_cons. split; [apply Hx; right; by left|]. apply Forall_forall. intros f Hf. apply Hx.
    destruct (Hk (field_cell "cv_waiter" self f)); [apply elem_of_list_fmap; by exists f|by left|by right; right].
  Qed.
  Theorem cv_join_timed cv s self E m : current_is self E -> 0 <= self < NUM_THREAD ->
    (E ∗ cv_rep cv s ∗ has_cells (place self :: link_cells self)) m ->
    timed "cv_join" [cv] m (fun v m' => v = 0 /\ (E ∗ cv_rep cv (cv_join s self) ∗ waits_in self cv) m').
  Proof using HM.
    intros Hself Hb Hm. enter cv_join_code. eapply current_then; [done|exact Hm|]. clear m Hm. intros d Hm. locals_plain.
    pose proof (both_cells _ _ (cv_cells cv (threads s)) (place self :: link_cells self) d (fun d H => proj1 (proj2 H)) (fun d H => H) Hm) as Hx.
    destruct Hm as (d1 & d2 & -> & Hd & (Hv & Hx1 & Hc) & Hx2).
    assert (self ∉ threads s) as Hnew.
    { intros Hin. assert (is_Some (d1 !! field_cell "cv_waiter" self "next")) as [v1 H1] by (apply Hx1, link_cell; [done|names]).
      assert (is_Some (d2 !! field_cell "cv_waiter" self "next")) as [v2 H2] by (apply Hx2; right; by left).
      by destruct (proj1 (map_disjoint_spec d1 d2) Hd _ _ _ H1 H2). }
    assert (cv_contents cv s (d1 ∪ d2)) as Hc' by (eapply cv_contents_mono; [|exact Hc]; intros x v _; apply own_read).
    set (d := d1 ∪ d2) in *. clearbody d. clear d1 d2 Hd Hx1 Hc Hx2. pose proof (proj1 Hc') as Hh. know Hh "last"%string.
    pose proof (present self d _ _ Hx ltac:(by right)) as H. set (p := last_or NONE (threads s)) in *.
    stores H. eapply owned_either; [evaluate..| |]; fold NONE; fold (left_of cv p).
    { repeat apply own_keep. apply Hx. left. by apply left_of_in. }
    cbn [compare]. fold (left_of cv p). step; [repeat apply own_keep; apply Hx; left; apply head_cell; names|]. split; [done|].
    match goal with |- _ ?m => set (d' := m) end.
    assert (exactly (cells_of (cv_cells cv (threads s)) (place self :: link_cells self)) d') as Hx'.
    { repeat apply exactly_write; [exact Hx|right; first [by left|right; apply elem_of_list_fmap; eexists; split; [reflexivity|names]]..| |].
      - left. by apply left_of_in.
      - left. apply head_cell. names. }
    assert (p <> self) as Hp.
    { unfold p. destruct (list_last_cases (threads s)) as [Ep|Hl]; [rewrite Ep; unfold NUM_THREAD in Hb; cbn; unfold NONE; lia|by intros <-]. }
    assert (left_of cv p <> ("cv_queue", cv, "last", 0)%string) as Hlast by exact (left_right cv p NONE).
    apply (cv_rep_both cv _ [place self]).
    - by apply cv_join_valid.
    - pose proof (cv_replace cv s [] [Waiter self false false] [] self d d') as Hr. rewrite !app_nil_r in Hr. apply Hr; clear Hr.
      + done.
      + done.
      + by intros w ->%elem_of_list_singleton.
      + done.
      + intros x H1 H2 H3. subst d'. by repeat (rewrite own_lookup_ne; [|apply not_eq_sym; first [exact H1|exact H2|apply H3]]).
      + fold p. subst d'. by seek.
      + unfold threads. rewrite fmap_app, last_or_app. subst d'. apply own_lookup.
      + intros w ->%elem_of_list_singleton. change (threads (s ++ [Waiter self false false])) with (threads (cv_join s self)).
        rewrite threads_join. destruct (neighbours (threads s) self []) as [-> ->]; [done|apply not_elem_of_nil|]. fold p.
        subst d'. repeat constructor; cbn; by seek.
    - intros x. rewrite (Hx' x). pose proof (cells_move cv (threads s) self [] x) as Hc. rewrite app_nil_r in Hc. by rewrite threads_join.
    - intros x Hin ->%elem_of_list_singleton. by apply cv_cells_place in Hin.
    - split.
      + apply restrict_cells. intros x ->%elem_of_list_singleton. apply Hx'. right. by left.
      + rewrite restrict_in by (by left). subst d'. unfold place. by seek.
  Qed.

  (** ** Who leaves *)
  Theorem cv_leave_timed cv s w E m : current_is (thread w) E -> w ∈ s -> (E ∗ cv_rep cv s ∗ waits_in (thread w) cv) m ->
    timed "cv_leave" [] m (fun v m' => v = 0 /\ (E ∗ cv_rep cv (cv_leave s (thread w)) ∗ waits_nowhere (thread w) (blocked w)) m').
  Proof using HM.
    intros Hself (s1 & s2 & ->)%elem_of_list_split Hm. enter cv_leave_code. set (self := thread w) in *. set (s := s1 ++ w :: s2) in *.
    eapply current_then; [done|exact Hm|]. clear m Hm. intros d Hm. locals_plain.
    pose proof (both_cells _ _ (cv_cells cv (threads s)) [place self] d (fun d H => proj1 (proj2 H)) (fun d H => proj1 H) Hm) as Hx.
    destruct Hm as (d1 & d2 & -> & Hd & (Hv & _ & Hc) & _ & Hplace). apply (both_right_lookup d1) in Hplace; [|done].
    assert (cv_contents cv s (d1 ∪ d2)) as Hc' by (eapply cv_contents_mono; [|exact Hc]; intros x v _; apply own_read).
    set (d := d1 ∪ d2) in *. clearbody d. clear d1 d2 Hd Hc.
    pose proof (cv_leave_valid s self Hv) as Hv'. pose proof (leave_split s1 w s2 (proj1 Hv)) as El. fold s self in El. rewrite El in *. clear El.
    assert (threads s = threads s1 ++ self :: threads s2) as Es by (unfold threads, s; by rewrite fmap_app).
    assert (threads (s1 ++ s2) = threads s1 ++ threads s2) as Es' by (unfold threads; by rewrite fmap_app).
    assert (self ∉ threads s1 ++ threads s2) as Hnot.
    { destruct Hv as [Hnd _]. rewrite Es, <- Permutation_middle in Hnd. by apply NoDup_cons in Hnd as [? _]. }
    pose proof (proj2 Hc' w) as Hw. rewrite Es in Hw. fold self in Hw.
    destruct (neighbours (threads s1) self (threads s2)) as [En Ep]; [intros ?; apply Hnot; apply elem_of_app; tauto..|]. rewrite En, Ep in Hw.
    specialize (Hw ltac:(apply elem_of_app; right; by left)). set (n := first_or NONE (threads s2)) in *. set (p := last_or NONE (threads s1)) in *.
    know Hw "next"%string. know Hw "previous"%string. know Hw "blocked"%string. unfold place, field_cell in Hplace.
    pose proof (present self d (cv_cells cv (threads s)) [] Hx) as H. specialize (H ltac:(intros x Hl; left; apply cv_cells_in; right; exists self;
      rewrite Es; split; [apply elem_of_app; right; by left|done])).
    assert (left_of cv p ∈ cv_cells cv (threads s)) as Hleft by (apply left_of_in; intros u; rewrite Es, elem_of_app; tauto).
    assert (right_of cv n ∈ cv_cells cv (threads s)) as Hright by (apply right_of_in; intros u; rewrite Es, elem_of_app, elem_of_cons; tauto).
    stores H. eapply owned_either; [evaluate..| |]; fold NONE; fold (left_of cv p).
    { apply Hx. by left. }
    step. eapply owned_either; [evaluate..| |]; fold NONE; cbn [compare]; fold (left_of cv p) (right_of cv n).
    { apply own_keep, Hx. by left. }
    stores H. split; [done|]. match goal with |- _ ?m => set (d' := m) end.
    assert (exactly (cells_of (cv_cells cv (threads s)) [place self]) d') as Hx'.
    { assert (forall f, f ∈ (links 0 0 (Waiter 0 false false)).*1 -> cells_of (cv_cells cv (threads s)) [place self] (field_cell "cv_waiter" self f)) as Hf
        by (intros f Hf; left; apply link_cell; [rewrite Es; apply elem_of_app; right; by left|done]).
      repeat apply exactly_write; [exact Hx|by left|by left|right; by left|apply Hf; names..]. }
    assert (p <> self /\ n <> self) as [Hp Hn].
    { assert (NONE <> self) as Hnone by (intros E3; apply (cv_valid_none s Hv); rewrite E3, Es; apply elem_of_app; right; by left).
      split; [destruct (list_last_cases (threads s1)) as [E3|Hl]; [unfold p; by rewrite E3|]|unfold n; destruct (threads s2) as [|u l]; [done|]];
        intros E3; apply Hnot, elem_of_app; [left; by rewrite <- E3|right; rewrite <- E3; by left]. }
    apply (cv_rep_both cv _ (place self :: link_cells self)).
    - done.
    - apply (cv_replace cv s1 [w] [] s2 self d d').
      + done.
      + by rewrite Es'.
      + by intros u ->%elem_of_list_singleton.
      + done.
      + fold p n. intros x H1 H2 H3. subst d'. by repeat (rewrite own_lookup_ne; [|apply not_eq_sym; first [exact H1|exact H2|apply H3]]).
      + fold p. subst d'. by seek.
      + fold n. rewrite app_nil_r. subst d'. by seek.
      + by intros u ?%elem_of_nil.
    - intros x. rewrite (Hx' x), Es, Es'. apply cells_move.
    - rewrite Es'. intros x Hin [->|(f & ->)%link_cells_in]%elem_of_cons; [by eapply cv_cells_place|by eapply cv_cells_other].
    - assert (forall x, x ∈ place self :: link_cells self -> is_Some (d' !! x)) as Hall.
      { intros x Hin. apply Hx'. rewrite Es. apply cells_move. by right. }
      assert (forall f, f ∈ (links 0 0 (Waiter 0 false false)).*1 -> field_cell "cv_waiter" self f ∈ place self :: link_cells self) as Hf
        by (intros f Hf; right; apply elem_of_list_fmap; by exists f).
      split_and!; [by apply restrict_cells|rewrite restrict_in by (by left); subst d'; unfold place; by seek|].
      repeat constructor; cbn [fst snd]; (rewrite restrict_in by (apply Hf; names)); subst d'; by seek.
  Qed.
End proof.
