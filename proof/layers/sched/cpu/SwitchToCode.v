(** The C of [sched.c] and [sched_loan.c] that switches to a named thread of this CPU, in place of the current one, which has been
    marked as blocked: at once, where no reservation is concerned and nothing more important is ready, or through the ready queues. *)
From Ashlar Require Export layers.sched.cpu.DecideCode.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Section switch_to.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HP : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None) (load_below : M "arch_page_map_load"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).
  Notation keeps_timer := (keeps_timer quiet kernel_entry M this timer).
  Context (loaded_root : keeps_timer "arch_loaded_root"%string).
  Context (fpu_left : keeps_timer "arch_fpu_left"%string) (fpu_leave : keeps_timer "arch_fpu_leave"%string).
  Context (user : Z -> Prop).
  Context (roots : forall e t, timer e -> ours t -> exists root, e !! field_cell "thread" t "root" = Some root /\ root_ok root /\ (user t -> root <> NONE)).
  Context (fits : Z -> cpu_state -> Prop) (self : Z).
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation goes := (goes quiet kernel_entry M this ours timer fits self).
  Notation suits := (suits fits self).
  Notation may_block := (may_block this ours fits self).
  Notation blocked := (blocked this fits self).

  (** It is this thread's turn again; or no other could run, and it runs on. *)
  Definition had_turn (Y : cpu_state) : Prop := fits self Y \/ exists Z, blocked Z Y.

  (** ** Through the queues *)
  (** [t] runs in place of the current thread: level, slice, charge and floor. *)
  Definition runs_instead (t level : Z) (s : ready) (X Y : cpu_state) : Prop := exists X2 X3,
    slice_begun this (set_word "running" level (set_queues s X)) X2 /\ switched_to t X2 X3 /\ Y = with_floor this X3.
  Definition readied (t p kp : Z) (s s' : ready) (X Y : cpu_state) : Prop :=
    if ((if spends (reservation_of X t) =? NONE then 0 else 1) =? 0) && (word X "arch_floor" <=? p) && (word X "running" <=? p) then Y = requested (set_word "kept" t X)
    else inserted this t p kp s s' X Y.
  (** What a switch to [t] in state [X] requires. [p]: its priority; [s], [s'], [s1]: the queues when it is ready, parked, running. *)
  Definition may_be_next (t : Z) (X : cpu_state) : Prop := exists r kp s s' s1,
    ours t /\ 0 <= t < NUM_THREAD /\ ready_threads (queues X) !! t = Some r /\ 0 <= ready_priority r < NUM_PRIORITY /\
    payer_ok ours X (payer_of X t) /\ payer_ok ours X (word X "charged") /\ time_ok X /\
    sched_park (queues X) cpu (parked_queue cpu) t = Some s' /\ timeouts X !! (SCHED_RELEASE_BASE + t) = None /\
    if (word X "arch_need_resched" =? 0) && (ready_best (queues X) cpu <=? ready_priority r + 1) then
      sched_mark (queues X) t thread_is_running = Some s1 /\
      (forall X1, has_time t X 0 X1 -> may_block (parked t s' X1)) /\
      (forall has X1 Y, has <> 0 -> has_time t X has X1 -> runs_instead t (ready_priority r + 1) s1 X1 Y -> suits t Y)
    else may_be_queued this t (ready_priority r) kp s X /\ forall Y, readied t (ready_priority r) kp s s' X Y -> may_block Y.

  Lemma leave_goes X : may_block X -> goes "sched_block_to_leave" [] X (fun v Y => v = 0 /\ blocked X Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    exact (sched_block_to_leave_goes quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave user roots fits self X).
  Qed.
  Theorem sched_switch_slowly_goes t X : may_be_next t X -> goes "sched_switch_slowly" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros (r & kp & s & s' & s1 & Ho & Hb & Hr & Hp & Hpay & Hc & Hs & Hpark & Hno & Hcase). pose proof Hp as Hp'. unfold NUM_PRIORITY in Hp'.
    enters sched_switch_slowly_code. on. this_cpu. on. use cpu_does. on. use need_resched_does. on. go. on. go.
    assert (forall home need q b level, may_be_queued this t (ready_priority r) kp s X /\ (forall Y, readied t (ready_priority r) kp s s' X Y -> may_block Y) ->
      forall Qb, walks quiet kernel_entry M this ours timer fits self
        (Seq (If (Cmp Eq (Var 5) (Const 0)) (Seq (Call None "sched_ready" [Var 0]) (Seq (Call None "sched_block_to_leave" []) (Return (Const 0)))) Skip)
        (Seq (Call None "thread_set_state" [Var 0; Const 2])
        (Seq (Call None "sched_cpu_set_running" [Var 1; Var 4])
        (Seq (Call None "sched_begin_slice" [Var 1])
        (Seq (Call None "sched_budget_switch" [Var 1; Var 0])
        (Seq (Call None "sched_update_floor" [Var 1])
             (Call None "thread_switch" [Var 0])))))))
        (fun _ Y => 0 = 0 /\ had_turn Y) Qb (fun v Y => v = 0 /\ had_turn Y) [t; cpu; home; need; level; 0; q; b] X) as Hqueue.
    { intros home need q b level [Hq Hblock] Qb. apply walks_seq. on. change (0 =? 0) with true. cbn iota. on.
      eapply runs_call; [intros ?; evaluate|apply serves_does, (sched_ready_serves quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock t (ready_priority r) kp s s' X Ho Hb Hpay Hs Hq Hpark Hno)|].
      intros v Y [_ HY]. locals_simpl. locals_plain. switch_by leave_goes; [by apply Hblock|]. intros v1 Y1 [_ HY1]. locals_simpl. on. go. split; [done|]. right. by exists Y. }
    apply walks_seq. on. rewrite Z.eqb_refl. cbn [andb] in *. destruct (word X "arch_need_resched" =? 0); cbn [andb] in *.
    2: { on. go. by apply Hqueue. }
    on. use priority_does. on. use best_does. on. go. rewrite wrap32_next by lia. on.
    destruct (ready_best (queues X) cpu <=? ready_priority r + 1).
    2: { on. go. by apply Hqueue. }
    destruct Hcase as (Hs1 & Hparked & Hsuit). clear Hqueue.
    on. eapply runs_call; [intros ?; evaluate|apply (has_does quiet kernel_entry M this Hcpu ours timer HM clock t X Ho Hpay Hs)|].
    intros has X1 Hhas. locals_simpl. locals_plain. destruct (has_time_gives this Hcpu ours t has X X1 Hhas Hpay Hs) as (Eq & Et & _ & [_ Hc1] & Hend).
    on. destruct (Z.eqb_spec has 0) as [->|Hne].
    - destruct (Hend eq_refl) as [H1 H2]. on.
      eapply runs_call; [intros ?; evaluate|apply (sched_budget_park_does quiet kernel_entry M this Hcpu ours timer HM HQ HT timer_arms t s' X1); [done..|by rewrite Eq|by rewrite Et]|].
      intros v Y [_ ->]. locals_simpl. locals_plain. switch_by leave_goes; [by apply Hparked|]. intros v1 Y1 [_ HY1]. locals_simpl. on. go. split; [done|]. right. by eexists.
    - on. go. on. go. rewrite (proj2 (Z.eqb_neq has 0)) by done. go.
      destruct (has_time_keeps this ours t has X X1 Hhas Hpay Hc Hs) as (E1 & E2 & P1 & P2 & T1).
      on. use set_state_does; [by rewrite Eq|]. on. put_word sched_cpu_set_running_triple "running"%string. set (X0 := set_word "running" (ready_priority r + 1) (set_queues s1 X1)).
      on. eapply runs_call; [intros ?; evaluate|apply (sched_begin_slice_does quiet kernel_entry M this Hcpu ours timer HM HR HC timer_arms clock X0); apply T1|].
      intros v X2 [-> HX2]. locals_simpl. locals_plain. destruct (slice_same this _ _ HX2) as (F1 & F2 & F3 & F4 & F5 & F6).
      on. eapply runs_call; [intros ?; evaluate|apply (switch_does quiet kernel_entry M this Hcpu ours timer HM timer_arms clock t X2); [done| | |by apply F6|]|].
      + unfold payer_ok, payer_of in *. rewrite F1, F4. change (reservation_of X0) with (reservation_of X1). change (word X0 "since") with (word X1 "since"). rewrite E1. exact P1.
      + unfold payer_ok in *. rewrite F3, F1, F4. change (reservation_of X0) with (reservation_of X1). change (word X0 "since") with (word X1 "since").
        change (word X0 "charged") with (word X1 "charged"). rewrite E2. exact P2.
      + intros E0. rewrite <- E0. unfold NUM_THREAD, NONE in *. lia.
      + intros v X3 [-> H3]. locals_simpl. locals_plain. on. use sched_update_floor_does.
        eapply walks_call; [intros ?; evaluate|apply (thread_switch_goes quiet kernel_entry M this Hcpu ours timer fits self HT HW HP HC load_below loaded_root fpu_left fpu_leave user roots t (with_floor this X3) Ho)|].
        * apply (Hsuit has X1); [done|done|]. by exists X2, X3.
        * intros v Y [_ HY]. split; [done|]. by left.
  Qed.
  (** A call lends the current thread's reservation to the server, and a reply gives back what was lent. *)
  Theorem sched_call_slowly_goes t X : ours t -> ours (word X "arch_current") ->
    may_be_next t (set_reservation t (borrow (payer_of X (word X "arch_current")) (reservation_of X t)) X) -> goes "sched_call_slowly" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros Ht Hc Hn. enters sched_call_slowly_code. on. this_cpu. on. use cpu_does. on. use current_does. on. go. rewrite Z.eqb_refl. use borrow_does.
    switch_by sched_switch_slowly_goes; [exact Hn|]. by intros v Y [_ HY].
  Qed.
  Theorem sched_reply_slowly_goes t X : ours (word X "arch_current") ->
    may_be_next t (set_reservation (word X "arch_current") (take_back (word X "arch_current") (reservation_of X (word X "arch_current"))) X) ->
    goes "sched_reply_slowly" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros Hc Hn. enters sched_reply_slowly_code. on. use current_does. on. use take_back_does. switch_by sched_switch_slowly_goes; [exact Hn|]. by intros v Y [_ HY].
  Qed.

  (** ** At once, where that may be *)
  Definition at_once (p t : Z) (X : cpu_state) : bool :=
    negb ((p <? word X "arch_floor") || ((if spends (reservation_of X t) =? NONE then 0 else 1) =? 1)).
  (** What [sched_prepare_switch] leaves suits [t], which runs in user mode; or, if it refuses, [slow]. *)
  Definition at_once_or (t : Z) (X : cpu_state) (slow : Prop) : Prop := exists r s, ours t /\ ready_threads (queues X) !! t = Some r /\
    0 <= ready_priority r < NUM_PRIORITY /\ sched_mark (queues X) t thread_is_running = Some s /\
    if at_once (ready_priority r) t X then user t /\ suits t (set_word "running" (ready_priority r + 1) (set_queues s X)) else slow.
  Ltac prepare H slowly := let r := fresh "r" in let s := fresh "s" in let Ho := fresh "Ho" in let Hr := fresh "Hr" in let Hp := fresh "Hp" in let Hs := fresh "Hs" in let Hc := fresh "Hc" in
    destruct H as (r & s & Ho & Hr & Hp & Hs & Hc); on;
    eapply runs_call; [intros ?; evaluate|apply (sched_prepare_switch_does quiet kernel_entry M this Hcpu ours timer HM HT HR HC _ r s _ Ho Hr Hp Hs)|];
    let v := fresh "v" in let Y := fresh "Y" in let HY := fresh "HY" in intros v Y HY; locals_simpl; locals_plain; on; unfold at_once in Hc;
    destruct (_ || _); cbn [negb] in Hc; destruct HY as [-> ->];
    [change (0 =? 1) with false; cbn iota; eapply walks_call; [intros ?; evaluate|apply slowly; exact Hc|by intros ? ? [_ ?]]
    |change (1 =? 1) with true; cbn iota; destruct Hc as [Hu Hc];
     eapply walks_call; [intros ?; evaluate|exact (thread_switch_to_user_goes quiet kernel_entry M this Hcpu ours timer fits self HT HW HP HC load_below loaded_root fpu_left fpu_leave user roots _ _ Ho Hu Hc)|];
     intros ? ? [_ ?]; split; [done|]; by left].
  Theorem sched_switch_to_goes t X : at_once_or t X (may_be_next t X) -> goes "sched_switch_to" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros H. enters sched_switch_to_code. prepare H sched_switch_slowly_goes.
  Qed.
  Definition call_slowly_ok (t : Z) (X : cpu_state) : Prop := ours t /\ ours (word X "arch_current") /\
    may_be_next t (set_reservation t (borrow (payer_of X (word X "arch_current")) (reservation_of X t)) X).
  Definition reply_slowly_ok (t : Z) (X : cpu_state) : Prop := ours (word X "arch_current") /\
    may_be_next t (set_reservation (word X "arch_current") (take_back (word X "arch_current") (reservation_of X (word X "arch_current"))) X).
  Lemma call_slowly t X : call_slowly_ok t X -> goes "sched_call_slowly" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock. intros (H1 & H2 & H3). by apply sched_call_slowly_goes. Qed.
  Lemma reply_slowly t X : reply_slowly_ok t X -> goes "sched_reply_slowly" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock. intros (H1 & H2). by apply sched_reply_slowly_goes. Qed.
  Theorem sched_call_goes t X : at_once_or t X (call_slowly_ok t X) -> goes "sched_call" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros H. enters sched_call_code. prepare H call_slowly.
  Qed.
  Theorem sched_reply_goes t X : at_once_or t X (reply_slowly_ok t X) -> goes "sched_reply" [t] X (fun v Y => v = 0 /\ had_turn Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros H. enters sched_reply_code. prepare H reply_slowly.
  Qed.
End switch_to.
