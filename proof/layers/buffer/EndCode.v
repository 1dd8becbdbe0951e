(** Bounded buffers: the C that ends an operation, when the thread holds the lock and waits in its queue: it inserts or removes a word if it
    is its turn, and leaves. *)
From Ashlar Require Export layers.buffer.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, buffer_module f = Some fd -> M f = Some fd).
  Context (HV : forall f fd, cv_module f = Some fd -> M f = Some fd).
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
  Context (W : list Z -> mem -> Prop).
  Notation during := (during quiet kernel_entry M this).
  Notation owned := (owned kernel_entry M this).
  Notation current_is := (current_is quiet kernel_entry M this).
  Notation can_wake := (can_wake quiet kernel_entry M this W).

  Lemma wrap32_small x : 0 <= x < 1000 -> wrap W32 x = x.
  Proof using. intros H. unfold wrap. cbn [bits]. apply Z.mod_small. lia. Qed.
  Lemma capacity_at b cap d : capacity_is b cap d -> d !! capacity_cell b = Some cap.
  Proof using. by intros [_ H]. Qed.
  Lemma waiting (s : list waiter) w : w ∈ s -> thread w ∈ threads s.
  Proof using. intros H. apply elem_of_list_fmap. by exists w. Qed.

  (** The stores of an insertion. *)
  Lemma owned_put b cap q word r3 r4 r5 r6 d : ring_rep b cap q d -> used q < cap ->
    owned (first_of 3 (Seq (Assign 6 (Bin W32 Rem (Bin W32 Add (Load "buffer" (Var 0) "oldest" (Const 0)) (Load "buffer" (Var 0) "used" (Const 0))) (Var 2)))
      (Seq (Store "buffer" (Var 0) "words" (Var 6) (Var 1))
      (Seq (Store "buffer" (Var 0) "used" (Const 0) (Bin W32 Add (Load "buffer" (Var 0) "used" (Const 0)) (Const 1))) Skip))))
      (fun r d => (exists place, r = [b; word; cap; r3; r4; r5; place]) /\ ring_rep b cap (q ++ [word]) d) (fun _ _ => False) (fun _ _ => False)
      [b; word; cap; r3; r4; r5; r6] d.
  Proof using.
    intros Hr Hroom. pose proof Hr as (Hc & _ & Hx & first & Hf & Ho & Hn & _).
    pose proof (ring_put b cap q d first word Hr Ho Hroom) as Hput. unfold BUFFER_CAPACITY in Hc.
    assert (0 <= used q) by (unfold used; lia). unfold oldest_cell, used_cell, field_cell in *. cbn [first_of]. step.
    eapply owned_assign.
    { eapply eval_bin; [evaluate|evaluate|cbn [binary]]. rewrite (proj2 (Z.eqb_neq cap 0)) by lia. by rewrite wrap32_small by lia. }
    locals_plain. step. eapply owned_store; [evaluate..|apply Hx, (slot_in b cap (first + used q)); unfold BUFFER_CAPACITY; lia|].
    unfold slot in *. locals_plain. do 2 step. rewrite wrap32_small by lia. step. split; [eauto|exact Hput].
  Qed.

  Theorem buffer_end_insert_until b cap x w word status x' l m g (Q : call_post) : 0 <= b < NUM_BUFFER -> w ∈ writers x ->
    buffer_end_insert x cap (thread w) word = (status, x', l) -> (forall l, current_is (thread w) (W l)) -> can_wake l ->
    (W [] ∗ capacity_is b cap ∗ buffer_rep b cap x ∗ waits_in (thread w) (2 * b)) m ->
    (forall m', (W l ∗ capacity_is b cap ∗ buffer_rep b cap x' ∗ waits_nowhere (thread w) (blocked w)) m' ->
      fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ => Q status)) ->
    fwp J "buffer_end_insert" [b; word] m g Q.
  Proof using HM HV HJ HE.
    intros Hb Hin Hf Hself Hwake Hm Hrel. set (self := thread w) in *. unfold buffer_end_insert in Hf.
    set (mine := buffer_turn (writers x) self (used (contents x)) cap) in *. injection Hf as Es Ex El.
    set (q := if mine then contents x ++ [word] else contents x) in *. set (rs := if mine then cv_wake_first (readers x) else readers x) in *.
    set (l1 := if mine then first_woken (readers x) else []) in *.
    eapply (fwp_until quiet kernel_entry M this J HJ HE "buffer_end_insert" buffer_end_insert_code _ 5 (fun r m =>
      (exists v place, r = [b; word; cap; 2 * b; status; v; place]) /\
      (W l1 ∗ cv_rep (2 * b) (writers x) ∗ waits_in self (2 * b) ∗ ring_rep b cap q ∗ capacity_is b cap ∗ cv_rep (2 * b + 1) rs) m)); [by apply HM|done| |].
    - assert ((W [] ∗ capacity_is b cap ∗ ring_rep b cap (contents x) ∗ cv_rep (2 * b) (writers x) ∗ cv_rep (2 * b + 1) (readers x) ∗ waits_in self (2 * b)) m) as H.
      { eapply both_mono; [exact (fun d H => H)| |exact Hm]. intros d1. apply both_mono; [done|]. intros d2. apply both_flat3. }
      clear Hm. rename H into Hm. unfold NUM_BUFFER in Hb. unfold buffer_end_insert_code. cbn [fn_body first_of]. locals_simpl.
      assert (m !! capacity_cell b = Some cap) as Hcap by (eapply (both_at (capacity_is b cap)); [permute Hm|apply capacity_at]).
      unfold capacity_cell, field_cell in Hcap. do 6 timed_step. rewrite wrap32_small by lia. timed_step.
      eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (W [] ∗ cv_rep (2 * b) (writers x) ∗ ring_rep b cap (contents x)) _
        (fun v d => v = Z.b2z mine /\ (W [] ∗ cv_rep (2 * b) (writers x) ∗ ring_rep b cap (contents x)) d)); [evaluate|apply both_assoc3; permute Hm| |].
      { intros d Hd. apply (buffer_turn_timed quiet kernel_entry M this HM HV); [done|by apply waiting|exact Hd]. }
      clear m Hm Hcap. intros v m [-> Hm%both_flat3]%both_pure_left. locals_simpl. timed_step. timed_step.
      destruct mine eqn:Emine; cbn [Z.b2z Z.eqb Pos.eqb].
      + apply (during_split quiet kernel_entry M this 3).
        eapply (during_part _ _ _ _ _ (W [] ∗ cv_rep (2 * b) (writers x) ∗ capacity_is b cap ∗ cv_rep (2 * b + 1) (readers x) ∗ waits_in self (2 * b))
          (ring_rep b cap (contents x))); [apply both_comm; permute Hm|intros d Hd; apply owned_put; [exact Hd|]| | |].
        { destruct Hd as (_ & Hu & _). unfold mine, buffer_turn in Emine. apply andb_true_iff in Emine as [_ En%negb_true_iff%Z.eqb_neq]. lia. }
        2, 3: by intros ? ? (? & ? & _ & _ & _ & []).
        clear m Hm. intros r m [[place ->] Hm%both_comm]%both_pure. cbn [rest_of].
        eapply (during_wake_first quiet kernel_entry M this HV W (2 * b + 1) (readers x) []); [|permute Hm|etrans; [evaluate|by rewrite wrap32_small by lia]|].
        { simpl. fold l1. eapply can_wake_first. by rewrite El. }
        clear m Hm. intros m Hm. timed_step. split; [by subst status; eauto|]. permute Hm.
      + timed_step. timed_step. split; [by subst status; eauto|]. permute Hm.
    - clear m Hm. intros r m [(v & place & ->) Hm]. unfold buffer_end_insert_code. cbn [fn_body rest_of wp]. exists [b; 2 * b; cap]. split; [evaluate|].
      eapply (buffer_leave_until quiet kernel_entry M this HM HV J HJ HE W b (2 * b) cap q (writers x) w cap l1); [done|done|apply Hself|fold self; by rewrite El|exact Hm|].
      fold self. rewrite El. intros m' Hm'. eapply fwp_mono; [|apply Hrel].
      + cbn beta. intros _ m'' g' HQ. exists status. split; [evaluate|exact HQ].
      + subst x'. unfold buffer_rep. cbn [contents writers readers].
        assert ((W l ∗ capacity_is b cap ∗ ring_rep b cap q ∗ cv_rep (2 * b) (leave_turn (writers x) self (used q) cap) ∗ cv_rep (2 * b + 1) rs ∗
          waits_nowhere self (blocked w)) m') as H by permute Hm'.
        eapply both_mono; [exact (fun d H => H)| |exact H]. intros d1. apply both_mono; [done|]. intros d2. apply both_assoc3.
  Qed.

  (** The stores of a removal. *)
  Lemma owned_take b cap v q self old r3 r4 r5 d : (has_taken self old ∗ ring_rep b cap (v :: q)) d ->
    owned (first_of 3 (Seq (Store "buffer_taken" (Var 1) "word" (Const 0) (Load "buffer" (Var 0) "words" (Load "buffer" (Var 0) "oldest" (Const 0))))
      (Seq (Store "buffer" (Var 0) "oldest" (Const 0) (Bin W32 Rem (Bin W32 Add (Load "buffer" (Var 0) "oldest" (Const 0)) (Const 1)) (Var 2)))
      (Seq (Store "buffer" (Var 0) "used" (Const 0) (Bin W32 Sub (Load "buffer" (Var 0) "used" (Const 0)) (Const 1))) Skip))))
      (fun r d => r = [b; self; cap; r3; r4; r5] /\ (has_taken self v ∗ ring_rep b cap q) d) (fun _ _ => False) (fun _ _ => False)
      [b; self; cap; r3; r4; r5] d.
  Proof using.
    intros (d2 & d1 & -> & Hd & [Hx2 Ht] & Hr). pose proof Hr as (Hc & Hu & Hx & first & Hf & Ho & Hn & _).
    destruct (ring_take b cap v q d1 first Hr Ho) as [Hv Htake]. unfold BUFFER_CAPACITY in Hc.
    assert (used (v :: q) = used q + 1) as El by (unfold used; cbn; lia). rewrite El in *. assert (0 <= used q) by (unfold used; lia).
    assert (forall x u, d1 !! x = Some u -> (d2 ∪ d1) !! x = Some u) as Hread by (intros x u; by apply both_right_lookup).
    pose proof (Hread _ _ Ho) as Ho'. pose proof (Hread _ _ Hn) as Hn'. pose proof (Hread _ _ Hv) as Hv'. pose proof (own_read d2 d1 _ _ Ht) as Ht'.
    unfold taken_cell, oldest_cell, used_cell, slot, field_cell in *. cbn [first_of]. do 3 step.
    eapply owned_store; [evaluate|evaluate| |apply own_keep; by eexists|].
    { eapply eval_bin; [evaluate|evaluate|cbn [binary]]. rewrite (proj2 (Z.eqb_neq cap 0)) by lia. by rewrite wrap32_small by lia. }
    do 2 step. rewrite wrap32_small by lia. replace (used q + 1 - 1) with (used q) by lia. step. split; [done|].
    rewrite own_write. assert (<[("buffer_taken"%string, self, "word"%string, 0) := v]> d2 ##ₘ d1) as Hd' by (apply own_write_disjoint; [by eexists|done]).
    rewrite (map_union_comm _ d1), !own_write by done. apply both_comm. eexists _, _. split; [done|]. split.
    - repeat (apply own_write_disjoint; [repeat apply own_keep; by eexists|]). by apply map_disjoint_sym.
    - split; [exact Htake|]. split; [by apply exactly_write; [|left]|apply own_lookup].
  Qed.

  Theorem buffer_end_remove_until b cap x w old status x' l m g (Q : call_post) : 0 <= b < NUM_BUFFER -> w ∈ readers x ->
    buffer_end_remove x (thread w) = (status, x', l) -> (forall l, current_is (thread w) (W l)) -> can_wake l ->
    (W [] ∗ capacity_is b cap ∗ buffer_rep b cap x ∗ waits_in (thread w) (2 * b + 1) ∗ has_taken (thread w) old) m ->
    (forall m', (W l ∗ capacity_is b cap ∗ buffer_rep b cap x' ∗ waits_nowhere (thread w) (blocked w) ∗
        has_taken (thread w) (buffer_taken x (thread w) old)) m' ->
      fwp J "spinlock_release" [LOCK_BUFFER_BASE + b] m' g (fun _ => Q status)) ->
    fwp J "buffer_end_remove" [b] m g Q.
  Proof using HM HV HJ HE.
    intros Hb Hin Hf Hself Hwake Hm Hrel. set (self := thread w) in *. unfold buffer_end_remove in Hf. unfold buffer_taken in Hrel.
    set (mine := buffer_turn (readers x) self (used (contents x)) 0) in *. injection Hf as Es Ex El.
    set (q := if mine then tail (contents x) else contents x) in *. set (ws := if mine then cv_wake_first (writers x) else writers x) in *.
    set (l1 := if mine then first_woken (writers x) else []) in *. set (v' := if mine then first_or 0 (contents x) else old) in *.
    eapply (fwp_until quiet kernel_entry M this J HJ HE "buffer_end_remove" buffer_end_remove_code _ 6 (fun r m =>
      (exists v, r = [b; self; cap; 2 * b + 1; status; v]) /\
      (W l1 ∗ cv_rep (2 * b + 1) (readers x) ∗ waits_in self (2 * b + 1) ∗ ring_rep b cap q ∗
        capacity_is b cap ∗ cv_rep (2 * b) ws ∗ has_taken self v') m)); [by apply HM|done| |].
    - assert ((W [] ∗ capacity_is b cap ∗ ring_rep b cap (contents x) ∗ cv_rep (2 * b) (writers x) ∗ cv_rep (2 * b + 1) (readers x) ∗
        waits_in self (2 * b + 1) ∗ has_taken self old) m) as H.
      { eapply both_mono; [exact (fun d H => H)| |exact Hm]. intros d1. apply both_mono; [done|]. intros d2. apply both_flat3. }
      clear Hm. rename H into Hm. unfold NUM_BUFFER in Hb. unfold buffer_end_remove_code. cbn [fn_body first_of]. locals_simpl. timed_step.
      eapply during_call_part; [evaluate|exact Hm|apply Hself|]. clear m Hm. intros v m [-> Hm]%both_pure_left. locals_simpl.
      assert (m !! capacity_cell b = Some cap) as Hcap by (eapply (both_at (capacity_is b cap)); [permute Hm|apply capacity_at]).
      unfold capacity_cell, field_cell in Hcap. do 6 timed_step. rewrite (wrap32_small (2 * b)), wrap32_small by lia. timed_step.
      eapply (during_call_part _ _ _ _ _ _ _ _ _ _ _ _ _ (W [] ∗ cv_rep (2 * b + 1) (readers x) ∗ ring_rep b cap (contents x)) _
        (fun v d => v = Z.b2z mine /\ (W [] ∗ cv_rep (2 * b + 1) (readers x) ∗ ring_rep b cap (contents x)) d)); [evaluate|apply both_assoc3; permute Hm| |].
      { intros d Hd. apply (buffer_turn_timed quiet kernel_entry M this HM HV); [done|by apply waiting|exact Hd]. }
      clear m Hm Hcap. intros v m [-> Hm%both_flat3]%both_pure_left. locals_simpl. timed_step. timed_step.
      destruct mine eqn:Emine; cbn [Z.b2z Z.eqb Pos.eqb].
      + assert (contents x = v' :: q) as Ec.
        { unfold mine, buffer_turn in Emine. subst v' q. destruct (contents x); [by rewrite andb_false_r in Emine|done]. }
        rewrite Ec in Hm. apply (during_split quiet kernel_entry M this 3).
        eapply (during_part _ _ _ _ _ (W [] ∗ cv_rep (2 * b + 1) (readers x) ∗ capacity_is b cap ∗ cv_rep (2 * b) (writers x) ∗ waits_in self (2 * b + 1))
          (has_taken self old ∗ ring_rep b cap (v' :: q))); [apply both_comm, both_assoc; permute Hm|intros d Hd; by eapply owned_take| | |].
        2, 3: by intros ? ? (? & ? & _ & _ & _ & []).
        clear m Hm. intros r m [-> Hm%both_comm%both_flat]%both_pure. cbn [rest_of].
        eapply (during_wake_first quiet kernel_entry M this HV W (2 * b) (writers x) []); [|permute Hm|etrans; [evaluate|by rewrite wrap32_small by lia]|].
        { simpl. fold l1. eapply can_wake_first. by rewrite El. }
        clear m Hm. intros m Hm. timed_step. split; [by subst status; eauto|]. permute Hm.
      + timed_step. timed_step. split; [by subst status; eauto|]. permute Hm.
    - clear m Hm. intros r m [[v ->] Hm]. unfold buffer_end_remove_code. cbn [fn_body rest_of wp]. exists [b; 2 * b + 1; 0]. split; [evaluate|].
      eapply (buffer_leave_until quiet kernel_entry M this HM HV J HJ HE W b (2 * b + 1) cap q (readers x) w 0 l1); [done|done|apply Hself|fold self; by rewrite El|exact Hm|].
      fold self. rewrite El. intros m' Hm'. eapply fwp_mono; [|apply Hrel].
      + cbn beta. intros _ m'' g' HQ. exists status. split; [evaluate|exact HQ].
      + subst x'. unfold buffer_rep. cbn [contents writers readers].
        assert ((W l ∗ capacity_is b cap ∗ ring_rep b cap q ∗ cv_rep (2 * b) ws ∗ cv_rep (2 * b + 1) (leave_turn (readers x) self (used q) 0) ∗
          waits_nowhere self (blocked w) ∗ has_taken self v') m') as H by permute Hm'.
        eapply both_mono; [exact (fun d H => H)| |exact H]. intros d1. apply both_mono; [done|]. intros d2. apply both_assoc3.
  Qed.

  (** A thread that has waited acquires the lock first. *)
  Lemma lock_of b r d : 0 <= b < NUM_BUFFER -> r !! 0%nat = Some b -> evals [Bin W32 Add (Const 89) (Var 0)] r d = Some [LOCK_BUFFER_BASE + b].
  Proof using.
    intros Hb Hr. cbn [evals eval]. rewrite Hr. cbn [binary]. unfold NUM_BUFFER, LOCK_BUFFER_BASE in *. by rewrite wrap32_small by lia.
  Qed.
  Theorem buffer_insert_waited_until b word m g (Q : call_post) : 0 <= b < NUM_BUFFER ->
    fwp J "spinlock_acquire" [LOCK_BUFFER_BASE + b] m g (fun _ m g => fwp J "buffer_end_insert" [b; word] m g Q) ->
    fwp J "buffer_insert_waited" [b; word] m g Q.
  Proof using HM HJ.
    intros Hb Hlock. eapply fwp_body; [exact HJ|by apply HM|done|]. unfold body_wp, buffer_insert_waited_code. cbn [fn_body fn_locals wp]. locals_simpl.
    eexists. split; [by apply (lock_of b)|]. eapply fwp_mono; [|exact Hlock]. cbn beta. intros _ m1 g1 H1. exists [b; word]. split; [evaluate|].
    eapply fwp_mono; [|exact H1]. cbn beta. intros v m2 g2 H2. exists v. split; [by locals_simpl; evaluate|exact H2].
  Qed.
  Theorem buffer_remove_waited_until b m g (Q : call_post) : 0 <= b < NUM_BUFFER ->
    fwp J "spinlock_acquire" [LOCK_BUFFER_BASE + b] m g (fun _ m g => fwp J "buffer_end_remove" [b] m g Q) ->
    fwp J "buffer_remove_waited" [b] m g Q.
  Proof using HM HJ.
    intros Hb Hlock. eapply fwp_body; [exact HJ|by apply HM|done|]. unfold body_wp, buffer_remove_waited_code. cbn [fn_body fn_locals wp]. locals_simpl.
    eexists. split; [by apply (lock_of b)|]. eapply fwp_mono; [|exact Hlock]. cbn beta. intros _ m1 g1 H1. exists [b]. split; [evaluate|].
    eapply fwp_mono; [|exact H1]. cbn beta. intros v m2 g2 H2. exists v. split; [by locals_simpl; evaluate|exact H2].
  Qed.
End proof.
