(** Bounded buffers: the C that acquires the lock, joins the queue, and ends the operation at once or waits.

    What the acquisition gives is a premise: the buffer in some state [x], with what each way needs to go on from there. *)
From Ashlar Require Export layers.buffer.EndCode.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, buffer_module f = Some fd -> M f = Some fd).
  Context (HV : forall f fd, cv_module f = Some fd -> M f = Some fd).
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
  Context (W : list Z -> mem -> Prop).
  Notation during := (during quiet kernel_entry M this).
  Notation current_is := (current_is quiet kernel_entry M this).
  Notation goes_to_sleep := (goes_to_sleep quiet kernel_entry M this).
  Notation can_wake := (can_wake quiet kernel_entry M this W).

  (** It is marked as blocked before the lock is released, so no wake-up is lost. *)
  Theorem buffer_wait_until b cv s self E E' F m g (Q : call_post) : 0 <= b < NUM_BUFFER -> current_is self E -> goes_to_sleep self cv E E' ->
    self ∈ threads s -> (E ∗ cv_rep cv s ∗ F) m ->
    (forall m', (E' ∗ cv_rep cv (cv_prepare_wait s self) ∗ F) m' ->
      fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ m g => fwp J "sched_block" [] m g (fun _ => Q 0))) ->
    fwp J "buffer_wait" [b; cv] m g Q.
  Proof using HM HV HJ HE.
    intros Hb Hself Hsleep Hin Hm Hrel.
    eapply (fwp_until quiet kernel_entry M this J HJ HE "buffer_wait" buffer_wait_code _ 1 (fun r m => r = [b; cv] /\
      (E' ∗ cv_rep cv (cv_prepare_wait s self) ∗ F) m)); [by apply HM|done| |].
    - unfold buffer_wait_code. cbn [fn_body first_of]. locals_simpl. timed_step.
      eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (E ∗ cv_rep cv s) _ (fun v d => v = 0 /\ (E' ∗ cv_rep cv (cv_prepare_wait s self)) d));
        [evaluate|apply both_assoc; exact Hm| |].
      { intros d Hd. by apply (cv_prepare_wait_timed quiet kernel_entry M this HV cv s self E E'). }
      clear m Hm. intros v m [_ Hm%both_flat]%both_pure_left. by timed_step.
    - clear m Hm. intros r m [-> Hm]. unfold buffer_wait_code. cbn [fn_body rest_of wp]. eexists. split; [by apply (lock_of b)|].
      eapply fwp_mono; [|by apply Hrel]. cbn beta. intros v m1 g1 H1. exists []. split; [done|exact H1].
  Qed.

  (** The current thread joins, and asks whether it is its turn. *)
  Lemma during_join_turn b cap q cv s self full E F es1 es2 k (r : locals) (Qn Qb : locals -> mem -> Prop) Qr m : 0 <= self < NUM_THREAD -> current_is self E ->
    (E ∗ cv_rep cv s ∗ has_cells (place self :: link_cells self) ∗ ring_rep b cap q ∗ F) m ->
    (forall d, evals es1 r d = Some [cv]) -> (forall d, evals es2 r d = Some [b; cv; full]) ->
    (forall m', (E ∗ cv_rep cv (cv_join s self) ∗ waits_in self cv ∗ ring_rep b cap q ∗ F) m' ->
      Qn (<[k := Z.b2z (buffer_turn (cv_join s self) self (used q) full)]> r) m') ->
    during (Seq (Call None "cv_join" es1) (Seq (Call (Some k) "buffer_turn" es2) Skip)) Qn Qb Qr r m.
  Proof using HM HV.
    intros Hs Hself Hm H1 H2 HQ. timed_step.
    eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (E ∗ cv_rep cv s ∗ has_cells (place self :: link_cells self)) _
      (fun v d => v = 0 /\ (E ∗ cv_rep cv (cv_join s self) ∗ waits_in self cv) d)); [apply H1|apply both_assoc3; exact Hm| |].
    { intros d Hd. by apply (cv_join_timed quiet kernel_entry M this HV). }
    clear m Hm. intros v m [_ Hm%both_flat3]%both_pure_left. cbn [set_result]. timed_step.
    eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (E ∗ cv_rep cv (cv_join s self) ∗ ring_rep b cap q) _
      (fun v d => v = Z.b2z (buffer_turn (cv_join s self) self (used q) full) /\ (E ∗ cv_rep cv (cv_join s self) ∗ ring_rep b cap q) d));
      [apply H2|apply both_assoc3; permute Hm| |].
    { intros d Hd. apply (buffer_turn_timed quiet kernel_entry M this HM HV); [done| |exact Hd].
      rewrite threads_join. apply elem_of_app. right. by left. }
    clear m Hm. intros u m [-> Hm%both_flat3]%both_pure_left. cbn [set_result]. timed_step. apply HQ. permute Hm.
  Qed.

  (** The parts of a buffer together. *)
  Lemma joined_whole b cap x (E F : mem -> Prop) m :
    (E ∗ capacity_is b cap ∗ ring_rep b cap (contents x) ∗ cv_rep (2 * b) (writers x) ∗ cv_rep (2 * b + 1) (readers x) ∗ F) m ->
    (E ∗ capacity_is b cap ∗ buffer_rep b cap x ∗ F) m.
  Proof using.
    intros Hm. eapply both_mono; [exact (fun d H => H)| |exact Hm]. intros d1. apply both_mono; [done|]. intros d2. apply both_assoc3.
  Qed.
  Lemma joined_parts b cap x (E F : mem -> Prop) m : (E ∗ capacity_is b cap ∗ buffer_rep b cap x ∗ F) m ->
    (E ∗ capacity_is b cap ∗ ring_rep b cap (contents x) ∗ cv_rep (2 * b) (writers x) ∗ cv_rep (2 * b + 1) (readers x) ∗ F) m.
  Proof using.
    intros Hm. eapply both_mono; [exact (fun d H => H)| |exact Hm]. intros d1. apply both_mono; [done|]. intros d2. apply both_flat3.
  Qed.

  (** What a writer needs when it has the lock, and the buffer is in state [x]. *)
  Definition joined_writer (x : buffer) (self : Z) : buffer := Buffer (contents x) (cv_join (writers x) self) (readers x).
  Definition insert_goes_on b cap self word (x : buffer) (g : G) (Q : call_post) : Prop :=
    let y := joined_writer x self in
    if buffer_turn (writers y) self (used (contents y)) cap then
      exists status x' l, buffer_end_insert y cap self word = (status, x', l) /\ can_wake l /\
        forall m', (W l ∗ capacity_is b cap ∗ buffer_rep b cap x' ∗ waits_nowhere self false) m' ->
          fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ => Q status)
    else
      exists E', goes_to_sleep self (2 * b) (W []) E' /\
        forall m', (E' ∗ capacity_is b cap ∗ buffer_rep b cap (Buffer (contents y) (cv_prepare_wait (writers y) self) (readers y)) ∗ waits_in self (2 * b)) m' ->
          fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ m g => fwp J "sched_block" [] m g (fun _ => Q BUFFER_WAITED)).
  Theorem buffer_insert_until b cap self word m g (Q : call_post) : 0 <= b < NUM_BUFFER -> 0 <= self < NUM_THREAD -> (forall l, current_is self (W l)) ->
    m !! capacity_cell b = Some cap ->
    (if cap =? 0 then Q ERR_BAD_STATE m g
     else fwp J "spinlock_acquire" [LOCK_BUFFER_BASE + b] m g (fun _ m g => exists x, insert_goes_on b cap self word x g Q /\
       (W [] ∗ capacity_is b cap ∗ buffer_rep b cap x ∗ has_cells (place self :: link_cells self)) m)) ->
    fwp J "buffer_insert" [b; word] m g Q.
  Proof using HM HV HJ HE.
    intros Hb Hs Hself Hcap Hgo. eapply fwp_body; [exact HJ|by apply HM|done|]. unfold body_wp. apply (wp_split J 4).
    match goal with |- wp _ _ ?K _ _ _ _ _ => set (rest := K) end. unfold buffer_insert_code. cbn [fn_body fn_locals first_of wp]. locals_simpl.
    unfold capacity_cell, field_cell in Hcap. eexists. split; [evaluate|]. eexists. split; [evaluate|]. locals_plain. eexists. split; [evaluate|]. cbn [compare].
    rewrite wrap32_small by (unfold NUM_BUFFER in Hb; lia). destruct (Z.eqb_spec cap 0) as [->|Hne].
    { exists ERR_BAD_STATE. by split; [evaluate|]. }
    eexists. split; [by apply (lock_of b)|]. eapply fwp_mono; [|exact Hgo]. clear m g Hcap Hgo. cbn beta. intros v m g (x & Hon & Hm). cbn [set_result].
    assert ((W [] ∗ cv_rep (2 * b) (writers x) ∗ has_cells (place self :: link_cells self) ∗ ring_rep b cap (contents x) ∗
      capacity_is b cap ∗ cv_rep (2 * b + 1) (readers x)) m) as H.
    { apply joined_parts in Hm. permute Hm. }
    clear Hm. rename H into Hm.
    subst rest. cbn beta. apply (wp_split J 2). cbn [fn_body rest_of first_of buffer_insert_code].
    eapply (wp_during quiet kernel_entry M this J HJ HE _ (fun r m => exists mine, mine = buffer_turn (cv_join (writers x) self) self (used (contents x)) cap /\
      r = [b; word; cap; 2 * b; Z.b2z mine; 0] /\
      (W [] ∗ cv_rep (2 * b) (cv_join (writers x) self) ∗ waits_in self (2 * b) ∗ ring_rep b cap (contents x) ∗
        capacity_is b cap ∗ cv_rep (2 * b + 1) (readers x)) m)
      (fun _ _ => False) (fun _ _ => False)); [|clear m Hm|done|done].
    { eapply (during_join_turn b cap (contents x) (2 * b) (writers x) self cap (W [])); [done|apply Hself|exact Hm|intros d; evaluate|intros d; evaluate|].
      intros m' Hm'. eexists. split; [done|]. by locals_plain. }
    intros r m (mine & Em & -> & Hm). unfold insert_goes_on, joined_writer in Hon. cbn [contents writers readers] in Hon. rewrite <- Em in Hon. destruct mine.
    - destruct Hon as (status & x' & l & Hend & Hwake & Hrel). cbn [wp]. exists false. split; [done|]. exists [b; word]. split; [done|].
      eapply (buffer_end_insert_until quiet kernel_entry M this HM HV J HJ HE W b cap _ (Waiter self false false)); [done| |exact Hend|done|done| |].
      + cbn. apply elem_of_app. right. by left.
      + apply joined_whole. permute Hm.
      + intros m' Hm'. eapply fwp_mono; [|by apply Hrel]. cbn beta. intros _ m1 g1 H1. exists status. split; [done|exact H1].
    - destruct Hon as (E' & Hsleep & Hrel). cbn [wp]. exists true. split; [done|]. exists [b; 2 * b]. split; [done|].
      eapply (buffer_wait_until b (2 * b) (cv_join (writers x) self) self (W []) E'); [done|apply Hself|done| |exact Hm|].
      + rewrite threads_join. apply elem_of_app. right. by left.
      + intros m' Hm'. eapply fwp_mono; [|apply Hrel; apply joined_whole; permute Hm'].
        cbn beta. intros _ m1 g1 H1. eapply fwp_mono; [|exact H1]. cbn beta. intros v1 m2 g2 H2. exists BUFFER_WAITED. split; [done|exact H2].
  Qed.

  (** The same for a reader, who has taken [old] before. *)
  Definition remove_goes_on b cap self old (x : buffer) (g : G) (Q : call_post) : Prop :=
    let y := Buffer (contents x) (writers x) (cv_join (readers x) self) in
    if buffer_turn (readers y) self (used (contents y)) 0 then
      exists status x' l, buffer_end_remove y self = (status, x', l) /\ can_wake l /\
        forall m', (W l ∗ capacity_is b cap ∗ buffer_rep b cap x' ∗ waits_nowhere self false ∗ has_taken self (buffer_taken y self old)) m' ->
          fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ => Q status)
    else
      exists E', goes_to_sleep self (2 * b + 1) (W []) E' /\
        forall m', (E' ∗ capacity_is b cap ∗ buffer_rep b cap (Buffer (contents y) (writers y) (cv_prepare_wait (readers y) self)) ∗
            waits_in self (2 * b + 1) ∗ has_taken self old) m' ->
          fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ m g => fwp J "sched_block" [] m g (fun _ => Q BUFFER_WAITED)).
  Theorem buffer_remove_until b cap self old m g (Q : call_post) : 0 <= b < NUM_BUFFER -> 0 <= self < NUM_THREAD -> (forall l, current_is self (W l)) ->
    m !! capacity_cell b = Some cap ->
    (if cap =? 0 then Q ERR_BAD_STATE m g
     else fwp J "spinlock_acquire" [LOCK_BUFFER_BASE + b] m g (fun _ m g => exists x, remove_goes_on b cap self old x g Q /\
       (W [] ∗ capacity_is b cap ∗ buffer_rep b cap x ∗ has_cells (place self :: link_cells self) ∗ has_taken self old) m)) ->
    fwp J "buffer_remove" [b] m g Q.
  Proof using HM HV HJ HE.
    intros Hb Hs Hself Hcap Hgo. eapply fwp_body; [exact HJ|by apply HM|done|]. unfold body_wp. apply (wp_split J 3).
    match goal with |- wp _ _ ?K _ _ _ _ _ => set (rest := K) end. unfold buffer_remove_code. cbn [fn_body fn_locals first_of wp]. locals_simpl.
    unfold capacity_cell, field_cell in Hcap. eexists. split; [evaluate|]. locals_plain. eexists. split; [evaluate|]. cbn [compare].
    rewrite (wrap32_small (2 * b)), wrap32_small by (unfold NUM_BUFFER in Hb; lia). destruct (Z.eqb_spec cap 0) as [->|Hne].
    { exists ERR_BAD_STATE. by split; [evaluate|]. }
    eexists. split; [by apply (lock_of b)|]. eapply fwp_mono; [|exact Hgo]. clear m g Hcap Hgo. cbn beta. intros v m g (x & Hon & Hm). cbn [set_result].
    assert ((W [] ∗ cv_rep (2 * b + 1) (readers x) ∗ has_cells (place self :: link_cells self) ∗ ring_rep b cap (contents x) ∗
      capacity_is b cap ∗ cv_rep (2 * b) (writers x) ∗ has_taken self old) m) as H.
    { apply joined_parts in Hm. permute Hm. }
    clear Hm. rename H into Hm. subst rest. cbn beta. apply (wp_split J 2). cbn [fn_body rest_of first_of buffer_remove_code].
    eapply (wp_during quiet kernel_entry M this J HJ HE _ (fun r m => exists mine, mine = buffer_turn (cv_join (readers x) self) self (used (contents x)) 0 /\
      r = [b; 2 * b + 1; Z.b2z mine; 0] /\
      (W [] ∗ cv_rep (2 * b + 1) (cv_join (readers x) self) ∗ waits_in self (2 * b + 1) ∗ ring_rep b cap (contents x) ∗
        capacity_is b cap ∗ cv_rep (2 * b) (writers x) ∗ has_taken self old) m)
      (fun _ _ => False) (fun _ _ => False)); [|clear m Hm|done|done].
    { eapply (during_join_turn b cap (contents x) (2 * b + 1) (readers x) self 0 (W [])); [done|apply Hself|exact Hm|intros d; evaluate|intros d; evaluate|].
      intros m' Hm'. eexists. split; [done|]. by locals_plain. }
    intros r m (mine & Em & -> & Hm). unfold remove_goes_on in Hon. cbn [contents writers readers] in Hon. rewrite <- Em in Hon. destruct mine.
    - destruct Hon as (status & x' & l & Hend & Hwake & Hrel). cbn [wp]. exists false. split; [done|]. exists [b]. split; [done|].
      eapply (buffer_end_remove_until quiet kernel_entry M this HM HV J HJ HE W b cap _ (Waiter self false false) old); [done| |exact Hend|done|done| |].
      + cbn. apply elem_of_app. right. by left.
      + apply joined_whole. permute Hm.
      + intros m' Hm'. eapply fwp_mono; [|by apply Hrel]. cbn beta. intros _ m1 g1 H1. exists status. split; [done|exact H1].
    - destruct Hon as (E' & Hsleep & Hrel). cbn [wp]. exists true. split; [done|]. exists [b; 2 * b + 1]. split; [done|].
      eapply (buffer_wait_until b (2 * b + 1) (cv_join (readers x) self) self (W []) E'); [done|apply Hself|done| |exact Hm|].
      + rewrite threads_join. apply elem_of_app. right. by left.
      + intros m' Hm'. eapply fwp_mono; [|apply Hrel; apply joined_whole; permute Hm'].
        cbn beta. intros _ m1 g1 H1. eapply fwp_mono; [|exact H1]. cbn beta. intros v1 m2 g2 H2. exists BUFFER_WAITED. split; [done|exact H2].
  Qed.

  (** A thread that waits, here or in none, is cancelled: under the lock of the buffer that it waits for. *)
  Theorem buffer_cancel_until t cv m g (Q : call_post) : 0 <= cv -> m !! place t = Some cv ->
    (if cv <? NUM_CV then
       fwp J "spinlock_acquire" [LOCK_BUFFER_BASE + cv / 2] m g (fun _ m g => exists s E E' F, t ∈ threads s /\
         (cv_blocked s t = true -> gets_ready quiet kernel_entry M this t E E') /\ (E ∗ cv_rep cv s ∗ F) m /\
         forall m', ((if cv_blocked s t then E' else E) ∗ cv_rep cv (cv_cancel s t) ∗ F) m' ->
           fwp J "spinlock_release" [LOCK_BUFFER_BASE + cv / 2] m' g (fun _ => Q 1))
     else Q 0 m g) ->
    fwp J "buffer_cancel" [t] m g Q.
  Proof using HM HV HJ HE.
    intros Hcv Hp Hgo. eapply fwp_body; [exact HJ|by apply HM|done|]. unfold body_wp, buffer_cancel_code. cbn [fn_body fn_locals wp]. locals_simpl.
    exists 0. split; [done|]. locals_plain. exists [t]. split; [done|].
    assert (forall K : call_post, K cv m g -> fwp J "cv_of" [t] m g K) as Hof.
    { intros K HK. rewrite <- (right_id_L ∅ (∪) m). apply (cv_of_triple kernel_entry M this HV t m cv Hp G J g ∅ K HJ); [apply map_disjoint_empty_r|].
      intros v d' [-> ->] _. by rewrite (right_id_L ∅ (∪)). }
    apply Hof. cbn [set_result]. locals_plain. exists (cv <? NUM_CV). split; [done|]. destruct (Z.ltb_spec cv NUM_CV) as [Hlt|Hge]; [|by exists 0].
    exists (cv / 2). split; [done|]. locals_plain. exists [LOCK_BUFFER_BASE + cv / 2].
    assert (forall m, evals [Bin W32 Add (Const 89) (Var 3)] [t; 0; cv; cv / 2] m = Some [LOCK_BUFFER_BASE + cv / 2]) as Hlock.
    { intros m'. etrans; [evaluate|]. unfold LOCK_BUFFER_BASE, NUM_CV in *. rewrite wrap32_small; [done|].
      pose proof (Z.div_pos cv 2). pose proof (Z.div_le_upper_bound cv 2 16). lia. }
    split; [apply Hlock|]. eapply fwp_mono; [|exact Hgo]. clear m g Hp Hgo Hof. cbn beta. intros v m g (s & E & E' & F & Hin & Hrdy & Hm & Hrel).
    cbn [set_result]. exists [t]. split; [done|]. destruct Hm as (d & f & -> & Hd & HEd & d2 & f2 & -> & Hd2 & Hcd & HF).
    assert ((E ∗ cv_rep cv s) (d ∪ d2)) as Hpart by (exists d, d2; split_and!; [done|by apply map_disjoint_union_r in Hd as [? ?]|done|done]).
    rewrite (assoc_L (∪)). apply (cv_cancel_timed quiet kernel_entry M this HV cv s t E E' (d ∪ d2) Hin Hrdy Hpart G J g f2 _ HJ HE).
    { apply map_disjoint_union_l. split; [by apply map_disjoint_union_r in Hd as [? ?]|done]. }
    intros u d' [_ Hd'] Hdis. exists [LOCK_BUFFER_BASE + cv / 2]. split; [apply Hlock|].
    eapply fwp_mono; [|apply Hrel; apply both_flat; by exists d', f2]. cbn beta. intros u' m1 g1 H1. exists 1. split; [done|]. exists 1. by split.
  Qed.
End proof.
