(** Bounded buffers: the C of start-up, of the turn, and of leaving, up to the release of the buffer's lock.

    [W l]: what the layers below work on, after the threads [l] have been woken, in this order. *)
From Ashlar Require Export layers.buffer.Ring layers.buffer.Code layers.cv.WakeCode lang.logic.Until.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, buffer_module f = Some fd -> M f = Some fd).
  Context (HV : forall f fd, cv_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).
  Notation timed := (timed quiet kernel_entry M this).
  Notation during := (during quiet kernel_entry M this).
  Notation owned := (owned kernel_entry M this).
  Notation current_is := (current_is quiet kernel_entry M this).
  Notation gets_ready := (gets_ready quiet kernel_entry M this).

  Ltac enter code := eapply timed_body; [by apply HM|done|]; unfold code; locals_simpl.

  (** ** Start-up, and the word that a thread has taken *)
  Theorem buffer_define_triple b cap d : 0 < cap <= BUFFER_CAPACITY -> has_cells (capacity_cell b :: ring_cells b) d ->
    triple "buffer_define" [b; cap] d (fun v d' => v = 0 /\ (capacity_is b cap ∗ ring_rep b cap []) d').
  Proof using HM.
    intros Hc Hx. eapply triple_owned; [by apply HM|done|]. unfold buffer_define_code. locals_simpl.
    assert (has_fields "buffer" b ["capacity"; "oldest"; "used"]%string d) as H.
    { repeat constructor; apply Hx; [by left|right; by left|do 2 right; by left]. }
    repeat store_step H. split; [done|]. match goal with |- _ ?m => set (d' := m) end.
    assert (has_cells (capacity_cell b :: ring_cells b) d') as Hx' by (repeat apply exactly_write; [exact Hx|by left|right; by left|do 2 right; by left]).
    assert (capacity_cell b ∉ ring_cells b) as Hno.
    { intros [E|[E|(i & E & _)%elem_of_list_fmap]%elem_of_cons]%elem_of_cons; revert E; unfold capacity_cell, oldest_cell, used_cell, slot, field_cell; congruence. }
    apply (both_cut _ _ [capacity_cell b] (ring_cells b)).
    - intros x. rewrite (Hx' x), elem_of_cons, elem_of_list_singleton. done.
    - by intros x ->%elem_of_list_singleton.
    - split; [apply restrict_cells; intros x ->%elem_of_list_singleton; apply Hx'; by left|]. rewrite restrict_in by (by left).
      subst d'. unfold capacity_cell, field_cell. by look.
    - split; [done|]. split; [unfold used; cbn; lia|]. split; [apply restrict_cells; intros x Hin; apply Hx'; by right|].
      exists 0. split; [lia|]. subst d'. rewrite !restrict_in by (first [by left|right; by left]). unfold oldest_cell, used_cell, field_cell.
      split_and!; [by look|by look|by intros i v ?%elem_of_list_lookup_2%elem_of_nil].
  Qed.
  Theorem buffer_result_timed self v E m : current_is self E -> (E ∗ has_taken self v) m ->
    timed "buffer_result" [] m (fun w m' => w = v /\ (E ∗ has_taken self v) m').
  Proof using HM.
    intros Hself Hm. enter buffer_result_code. eapply current_then; [done|exact Hm|]. intros d Hd. locals_plain.
    pose proof (proj2 Hd) as Hv. unfold taken_cell, field_cell in Hv. by step.
  Qed.

  (** ** Whose turn it is *)
  Lemma ring_used b cap q d : ring_rep b cap q d -> d !! used_cell b = Some (used q).
  Proof using. by intros (_ & _ & _ & f & _ & _ & H & _). Qed.
  Theorem buffer_turn_timed b cap q cv s self full E m : current_is self E -> self ∈ threads s -> (E ∗ cv_rep cv s ∗ ring_rep b cap q) m ->
    timed "buffer_turn" [b; cv; full] m (fun v m' => v = Z.b2z (buffer_turn s self (used q) full) /\ (E ∗ cv_rep cv s ∗ ring_rep b cap q) m').
  Proof using HM HV.
    intros Hself Hin Hm. enter buffer_turn_code. timed_step.
    eapply during_call_part; [evaluate|exact Hm|exact Hself|]. clear m Hm. intros v m [-> Hm]%both_pure_left. locals_simpl. timed_step.
    eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (cv_rep cv s) _ (fun v d => v = cv_first s /\ cv_rep cv s d));
      [evaluate|permute Hm| |].
    { intros d Hd. apply triple_timed. eapply triple_mono; [|by apply (cv_first_triple kernel_entry M this HV)]. by intros v d' [-> ->]. }
    clear m Hm. intros v m [-> Hm]%both_pure_left. locals_simpl. timed_step.
    eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (E ∗ cv_rep cv s)); [evaluate|apply both_assoc; permute Hm| |].
    { intros d Hd. by apply (cv_cancelled_timed quiet kernel_entry M this HV cv s self). }
    clear m Hm. intros v m [-> Hm%both_flat]%both_pure_left. locals_simpl. timed_step.
    assert (m !! used_cell b = Some (used q)) as Hu.
    { apply (both_at (ring_rep b cap q) (E ∗ cv_rep cv s)); [permute Hm|apply ring_used]. }
    unfold used_cell, field_cell in Hu. timed_step. unfold buffer_turn.
    destruct (cv_cancelled s self), (cv_first s =? self), (used q =? full); cbn [Z.b2z Z.eqb Pos.eqb negb andb orb]; repeat timed_step; done.
  Qed.

  Section judgement.
    Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
    Context (W : list Z -> mem -> Prop).
    (** The threads [l] can be made ready, one after the other. *)
    Definition can_wake (l : list Z) : Prop := forall l1 t l2, l = l1 ++ t :: l2 -> gets_ready t (W l1) (W (l1 ++ [t])).

    Lemma during_wake_first cv s l R m es r (Qn Qb : locals -> mem -> Prop) Qr : can_wake (l ++ first_woken s) -> (W l ∗ cv_rep cv s ∗ R) m ->
      evals es r m = Some [cv] -> (forall m', (W (l ++ first_woken s) ∗ cv_rep cv (cv_wake_first s) ∗ R) m' -> Qn r m') ->
      during (Call None "cv_wake_first" es) Qn Qb Qr r m.
    Proof using HV.
      intros Hw Hm He HQ.
      eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (W l ∗ cv_rep cv s) _
        (fun v d => v = 0 /\ (W (l ++ first_woken s) ∗ cv_rep cv (cv_wake_first s)) d)); [exact He|apply both_assoc; exact Hm| |].
      - intros d Hd. eapply timed_mono; [|apply (cv_wake_first_timed quiet kernel_entry M this HV cv s (W l) (W (l ++ [cv_first s]))); [|exact Hd]].
        + intros v d' [-> H]. split; [done|]. unfold first_woken. destruct (first_blocked s); [exact H|by rewrite app_nil_r].
        + intros Hb. apply (Hw l _ []). unfold first_woken. by rewrite Hb.
      - intros v m' [_ H%both_flat]%both_pure_left. by apply HQ.
    Qed.
    Lemma can_wake_first l k : can_wake (l ++ k) -> can_wake l.
    Proof using. intros H l1 t l2 ->. apply (H l1 t (l2 ++ k)). by rewrite <- (assoc_L (++)). Qed.

    (** Who waits leaves, whether or not it could proceed, and the next is woken if it can. *)
    Theorem buffer_leave_until b cv cap q s w full l F m g (Q : call_post) : 0 <= b < NUM_BUFFER -> w ∈ s -> current_is (thread w) (W l) ->
      can_wake (l ++ leave_woken s (thread w) (used q) full) ->
      (W l ∗ cv_rep cv s ∗ waits_in (thread w) cv ∗ ring_rep b cap q ∗ F) m ->
      (forall m', (W (l ++ leave_woken s (thread w) (used q) full) ∗ cv_rep cv (leave_turn s (thread w) (used q) full) ∗
          waits_nowhere (thread w) (blocked w) ∗ ring_rep b cap q ∗ F) m' ->
        fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ => Q 0)) ->
      fwp J "buffer_leave" [b; cv; full] m g Q.
    Proof using HM HV HJ HE.
      intros Hb Hin Hself Hwake Hm Hrel. set (self := thread w) in *.
      eapply (fwp_until quiet kernel_entry M this J HJ HE "buffer_leave" buffer_leave_code _ 2 (fun r m => r = [b; cv; full] /\
        (W (l ++ leave_woken s self (used q) full) ∗ cv_rep cv (leave_turn s self (used q) full) ∗
          waits_nowhere self (blocked w) ∗ ring_rep b cap q ∗ F) m)); [by apply HM|done| |].
      - unfold buffer_leave_code. cbn [fn_body first_of]. locals_simpl. timed_step.
        eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (W l ∗ cv_rep cv s ∗ waits_in self cv) _
          (fun v d => v = 0 /\ (W l ∗ cv_rep cv (cv_leave s self) ∗ waits_nowhere self (blocked w)) d)); [evaluate|apply both_assoc3; exact Hm| |].
        { intros d Hd. by apply (cv_leave_timed quiet kernel_entry M this HV). }
        clear m Hm. intros v m [_ Hm%both_flat3]%both_pure_left. locals_simpl. timed_step.
        assert (m !! used_cell b = Some (used q)) as Hu.
        { eapply (both_at (ring_rep b cap q)); [permute Hm|apply ring_used]. }
        unfold used_cell, field_cell in Hu. timed_step. unfold leave_turn, leave_woken in *.
        destruct (used q =? full); cbn [negb].
        + do 2 timed_step. by rewrite app_nil_r.
        + eapply during_wake_first; [exact Hwake|exact Hm|evaluate|]. clear m Hm Hu. intros m Hm. by timed_step.
      - clear m Hm. intros r m [-> Hm]. unfold buffer_leave_code. cbn [fn_body rest_of wp]. exists [LOCK_BUFFER_BASE + b]. split.
        + etrans; [evaluate|]. do 2 f_equal. unfold wrap, LOCK_BUFFER_BASE, NUM_BUFFER in *. cbn [bits]. apply Z.mod_small. lia.
        + by apply Hrel.
    Qed.
  End judgement.
End proof.
