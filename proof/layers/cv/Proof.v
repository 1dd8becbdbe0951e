(** Condition variables: the C does what [Spec] says, on cells that the caller owns.

    The memory of each theorem is parts: a variable's, which the caller has while it holds the variable's lock; those of its own thread;
    and what the layers below work on. What they do to it is said in premises about the calls, from [E] to [E']; they touch no cell of
    condition variables, because these are not in their part. *)
From Ashlar Require Export layers.cv.Representation layers.cv.Code layers.thread.Code.
Local Opaque gmap_lookup gmap_partial_alter.

(** Reading a cell below stores into others. *)
Ltac differ := first [assumption|apply end_of_other; by left|by apply left_right|done|unfold place, field_cell; congruence].
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
  Lemma present self l d : has_cells l d -> (forall x, x ∈ place self :: link_cells self -> x ∈ l) ->
    has_fields "cv_waiter" self ("cv"%string :: link_names) d.
  Proof using.
    intros Hx Hl. apply Forall_forall. intros f Hf. by apply Hx, Hl, own_cell.
  Qed.
  (** The variable and what the thread has for itself, in one memory. *)
  Lemma in_one cv s k (Q : mem -> Prop) d : (forall d, Q d -> has_cells k d) -> (cv_rep cv s ∗ Q) d ->
    cv_valid s /\ has_cells (cv_cells cv (threads s) ++ k) d /\ cv_contents cv s d.
  Proof using.
    intros HQ Hd. split; [by destruct Hd as (? & ? & _ & _ & [? _] & _)|]. split; [by apply (both_has (cv_rep cv s) Q); [intros e (_ & H & _)|..]|].
    destruct Hd as (e & e' & -> & _ & (_ & _ & Hc) & _). eapply cv_contents_mono; [|exact Hc]. intros x v _. apply own_read.
  Qed.
  Theorem cv_join_timed cv s self E m : current_is self E -> 0 <= self < NUM_THREAD ->
    (E ∗ cv_rep cv s ∗ has_cells (place self :: link_cells self)) m ->
    timed "cv_join" [cv] m (fun v m' => v = 0 /\ (E ∗ cv_rep cv (cv_join s self) ∗ waits_in self cv) m').
  Proof using HM.
    intros Hself Hb Hm. enter cv_join_code. eapply current_then; [done|exact Hm|]. clear m Hm. intros d Hm. locals_plain.
    destruct (in_one _ _ _ _ d (fun d H => H) Hm) as (Hv & Hx & Hc).
    assert (self ∉ threads s) as Hnew.
    { destruct Hm as (d1 & d2 & _ & Hd & Hr & Hk). eapply cv_rep_alone; [exact Hr|exact Hd|]. apply Hk. by right; left. }
    clear Hm. pose proof (present self _ d Hx ltac:(intros; apply elem_of_app; by right)) as H. pose proof (proj1 Hc) as Hh. know Hh "last"%string.
    set (p := last_or NONE (threads s)) in *.
    assert (left_of cv p ∈ cv_cells cv (threads s)) as Hleft by (apply end_of_in; [names|names|apply last_or_elem]).
    assert (right_of cv NONE ∈ cv_cells cv (threads s)) as Hright by (apply end_of_in; [names|names|by left]).
    stores H. eapply owned_either; [evaluate..| |]; fold NONE; fold (left_of cv p).
    { repeat apply own_keep. apply Hx, elem_of_app. by left. }
    cbn [compare]. fold (left_of cv p). step; [repeat apply own_keep; apply Hx, elem_of_app; by left|]. split; [done|].
    match goal with |- _ ?m => set (d' := m) end.
    assert (has_cells (cv_cells cv (threads s) ++ place self :: link_cells self) d') as Hx'.
    { repeat apply exactly_write; try exact Hx; apply elem_of_app; first [left; assumption|right; eapply own_cell; names]. }
    assert (self ∉ NONE :: threads s) as Hout by (apply not_elem_of_cons; unfold NUM_THREAD, NONE in *; split; [lia|done]).
    assert (p <> self) as Hp by (intros E1; apply Hout; rewrite <- E1; apply last_or_elem).
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
    - rewrite threads_join. eapply (has_cells_perm _ _ _ (symmetry (cells_move cv (threads s) self []))). by rewrite app_nil_r.
    - intros x Hin ->%elem_of_list_singleton. by apply cv_cells_place in Hin.
    - split.
      + apply restrict_cells. intros x ->%elem_of_list_singleton. apply Hx', elem_of_app. right. by left.
      + rewrite restrict_in by (by left). subst d'. unfold place. by seek.
  Qed.

  (** ** Who leaves *)
  Theorem cv_leave_timed cv s w E m : current_is (thread w) E -> w ∈ s -> (E ∗ cv_rep cv s ∗ waits_in (thread w) cv) m ->
    timed "cv_leave" [] m (fun v m' => v = 0 /\ (E ∗ cv_rep cv (cv_leave s (thread w)) ∗ waits_nowhere (thread w) (blocked w)) m').
  Proof using HM.
    intros Hself (s1 & s2 & ->)%elem_of_list_split Hm. enter cv_leave_code. set (self := thread w) in *. set (s := s1 ++ w :: s2) in *.
    eapply current_then; [done|exact Hm|]. clear m Hm. intros d Hm. locals_plain.
    destruct (in_one cv s [place self] _ d (fun d H => proj1 H) Hm) as (Hv & Hx & Hc).
    assert (d !! place self = Some cv) as Hplace by (destruct Hm as (d1 & d2 & -> & Hd & _ & _ & H); by apply both_right_lookup). clear Hm.
    assert (threads s = threads s1 ++ self :: threads s2) as Es by (unfold threads, s; by rewrite fmap_app).
    pose proof (waiter_once s1 w s2 (proj1 Hv)) as Hnot. pose proof (leave_split s1 w s2 (proj1 Hv)) as El. fold s self in El, Hnot.
    pose proof (cv_leave_valid s self Hv) as Hv'. rewrite El in *. clear El. pose proof Hnot as Hnot'. unfold threads in Hnot'. rewrite fmap_app in Hnot'.
    assert (self ∈ threads s) as Hin by (rewrite Es; apply elem_of_app; right; by left).
    pose proof (proj2 Hc w ltac:(apply elem_of_app; right; by left)) as Hw. rewrite Es in Hw. fold self in Hw.
    destruct (neighbours (threads s1) self (threads s2)) as [En Ep]; [intros ?; apply Hnot'; apply elem_of_app; tauto..|]. rewrite En, Ep in Hw.
    set (n := first_or NONE (threads s2)) in *. set (p := last_or NONE (threads s1)) in *.
    know Hw "next"%string. know Hw "previous"%string. know Hw "blocked"%string. unfold place, field_cell in Hplace.
    assert (forall x, x ∈ place self :: link_cells self -> x ∈ cv_cells cv (threads s) ++ [place self]) as Hall.
    { intros x Hi. rewrite Es, (cells_move cv (threads s1) self (threads s2)). apply elem_of_app. by right. }
    pose proof (present self _ d Hx Hall) as H.
    pose proof (last_or_elem NONE (threads s1)) as Hp. fold p in Hp.
    assert (n ∈ NONE :: threads s2) as Hn by (unfold n; destruct (threads s2); [by left|right; by left]).
    assert (forall u, u ∈ NONE :: threads s1 \/ u ∈ NONE :: threads s2 -> u ∈ NONE :: threads s /\ u <> self) as Hnear.
    { intros u Hu. pose proof (cv_valid_none s Hv) as Hnone. rewrite !elem_of_cons in Hu. split.
      - rewrite Es, elem_of_cons, elem_of_app, elem_of_cons. tauto.
      - intros ->. rewrite elem_of_app in Hnot'. destruct Hu as [[E3|?]|[E3|?]]; [|by apply Hnot'; left| |by apply Hnot'; right];
          apply Hnone; by rewrite <- E3. }
    destruct (Hnear p (or_introl Hp)) as [Hpl%(end_of_in "first" "next" cv) Hp'], (Hnear n (or_intror Hn)) as [Hnl%(end_of_in "last" "previous" cv) Hn'];
      [|names..].
    stores H. eapply owned_either; [evaluate..| |]; fold NONE; fold (left_of cv p).
    { apply Hx, elem_of_app. by left. }
    step. eapply owned_either; [evaluate..| |]; fold NONE; cbn [compare]; fold (left_of cv p) (right_of cv n).
    { apply own_keep, Hx, elem_of_app. by left. }
    stores H. split; [done|]. match goal with |- _ ?m => set (d' := m) end.
    assert (has_cells (cv_cells cv (threads s) ++ [place self]) d') as Hx'.
    { repeat apply exactly_write; try exact Hx; first [apply elem_of_app; left; assumption|eapply Hall, own_cell; names]. }
    apply (cv_rep_both cv _ (place self :: link_cells self)).
    - done.
    - apply (cv_replace cv s1 [w] [] s2 self d d').
      + done.
      + intros [Eself|]%elem_of_cons; [|done]. apply (cv_valid_none s Hv). by rewrite <- Eself.
      + by intros u ->%elem_of_list_singleton.
      + done.
      + fold p n. intros x H1 H2 H3. subst d'. by repeat (rewrite own_lookup_ne; [|apply not_eq_sym; first [exact H1|exact H2|apply H3]]).
      + fold p. subst d'. by seek.
      + fold n. rewrite app_nil_r. subst d'. by seek.
      + by intros u ?%elem_of_nil.
    - unfold threads. rewrite fmap_app. eapply has_cells_perm; [|exact Hx']. rewrite Es. apply cells_move.
    - intros x Hin' [->|(f & -> & _)%elem_of_list_fmap]%elem_of_cons; [by apply cv_cells_place in Hin'|by apply cv_cells_other in Hin'].
    - split_and!; [apply restrict_cells; intros x Hi; by apply Hx', Hall|rewrite restrict_in by (by left); subst d'; unfold place; by seek|].
      repeat constructor; cbn [fst snd]; (rewrite restrict_in by (apply own_cell; names)); subst d'; by seek.
  Qed.
End proof.
