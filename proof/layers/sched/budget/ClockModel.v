(** A clock that meets what the scheduler assumes of it ([clock_forward]): whatever the processor's counter shows, it never answers a
    time before the last one. [arch_clock_ns] must do as this does, which keeps the last answer in a cell of the CPU. The counter may
    read that cell, and touches nothing else. *)
From Ashlar Require Import layers.sched.budget.BudgetClock layers.timer.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(* 0 cpu, 1 now, 2 last *)
Definition arch_clock_ns_code : fundef := Fun 0 3
  (Seq (Call (Some 0%nat) "arch_cpu" [])
  (Seq (Call (Some 1%nat) "arch_counter" [])
  (Seq (Assign 2 (Load "arch_clock" (Var 0) "" (Const 0)))
  (Seq (If (COr (Cmp Lt (Var 1) (Var 2)) (Cmp Ge (Var 1) (Const horizon))) (Assign 1 (Var 2)) Skip)
  (Seq (If (Cmp Lt (Var 1) (Const 0)) (Assign 1 (Const 0)) Skip)
  (Seq (Store "arch_clock" (Var 0) "" (Const 0) (Var 1))
       (Return (Var 1)))))))).

Theorem clock_model (quiet : cprim -> Prop) kernel_entry M this : (forall f fd, timer_module f = Some fd -> M f = Some fd) ->
  M "arch_clock_ns"%string = Some arch_clock_ns_code -> M "arch_cpu"%string = None ->
  (forall past, timed quiet kernel_entry M this "arch_counter" [] {[clock_cell this := past]} (fun _ d => d = {[clock_cell this := past]})) ->
  clock_forward quiet kernel_entry M this.
Proof.
  intros HM Hclock HC Hcounter past Hpast. apply (timer_now_timed quiet kernel_entry M this HM).
  assert (forall (Qn Qb : locals -> mem -> Prop) Qr r, (forall v, Qn (set_result (Some 1%nat) v r) {[clock_cell this := past]}) ->
    during quiet kernel_entry M this (Call (Some 1%nat) "arch_counter" []) Qn Qb Qr r {[clock_cell this := past]}) as Hany.
  { intros Qn Qb Qr r HQ. eapply during_call_whole; [done|by apply Hcounter|]. intros v d' ->. apply HQ. }
  assert (({[clock_cell this := past]} : mem) !! (("arch_clock", Z.of_nat this, "", 0)%string : cell) = Some past) as Hx by apply lookup_singleton.
  eapply timed_body; [exact Hclock|done|]. unfold arch_clock_ns_code. locals_simpl. timed_step. eapply during_this_cpu; [exact HC|done|]. locals_simpl.
  timed_step. apply Hany. intros v. locals_simpl. timed_step. timed_step.
  set (now := Z.max 0 (if (v <? past) || (horizon <=? v) then past else v)).
  assert (clock_says past now) as Hsays.
  { unfold clock_says, now. unfold horizon in *. destruct (Z.ltb_spec v past), (Z.leb_spec (2 ^ 62) v); cbn [orb]; lia. }
  locals_plain.
  assert (forall w, Z.max 0 w = now -> during quiet kernel_entry M this
    (Seq (If (Cmp Lt (Var 1) (Const 0)) (Assign 1 (Const 0)) Skip)
    (Seq (Store "arch_clock" (Var 0) "" (Const 0) (Var 1)) (Return (Var 1))))
    (fun _ d' => clock_says past 0 /\ d' = {[clock_cell this := 0]}) (fun _ _ => False) (fun v d => clock_says past v /\ d = {[clock_cell this := v]})
    [Z.of_nat this; w; past] {[clock_cell this := past]}) as Hend.
  { intros w Hw. assert (forall u, u = now -> during quiet kernel_entry M this (Seq (Store "arch_clock" (Var 0) "" (Const 0) (Var 1)) (Return (Var 1)))
      (fun _ d' => clock_says past 0 /\ d' = {[clock_cell this := 0]}) (fun _ _ => False) (fun v d => clock_says past v /\ d = {[clock_cell this := v]})
      [Z.of_nat this; u; past] {[clock_cell this := past]}) as Hstore.
    { intros u ->. apply during_seq. eapply during_store; [evaluate|evaluate|evaluate|by eexists|]. eapply during_return; [evaluate|]. split; [done|].
      apply (insert_singleton (M := gmap cell)). }
    apply during_seq. eapply during_if; [evaluate|]. cbn [compare]. destruct (Z.ltb_spec w 0).
    - eapply during_assign; [evaluate|]. locals_plain. apply Hstore. lia.
    - apply during_skip, Hstore. lia. }
  apply during_seq. eapply during_if; [evaluate|]. cbn [compare orb]. unfold now in Hend. destruct (_ || _).
  - eapply during_assign; [evaluate|]. locals_plain. by apply Hend.
  - apply during_skip. by apply Hend.
Qed.
