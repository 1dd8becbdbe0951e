(** The C of [sched.c] that runs the thread that has been chosen: after a thread blocks or ends. *)
From Ashlar Require Export layers.sched.cpu.Switch.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.

(** One statement of a function that may switch. *)
Ltac on :=
  lazymatch goal with
  | |- walks _ _ _ _ _ _ _ _ (Seq _ _) _ _ _ _ _ => apply walks_first
  | |- walks _ _ _ _ _ _ _ _ (If _ _ _) _ _ _ _ _ => eapply walks_if; [intros ?; evaluate|cbn [compare negb andb orb]]
  | |- walks _ _ _ _ _ _ _ _ _ _ _ _ _ _ => apply runs_walks
  end; locals_simpl; locals_plain.
Ltac enters code := eapply goes_body;
  [lazymatch goal with H : forall f fd, sched_module f = Some fd -> _ |- _ => apply H; reflexivity end|reflexivity|]; unfold code; locals_simpl.
(** A call of a function that switches, with lemma [L]. *)
Ltac switch_by L := lazymatch goal with |- walks _ _ _ _ _ _ _ _ (Seq _ _) _ _ _ _ _ => apply walks_seq | |- _ => idtac end;
  eapply walks_call; [intros ?; evaluate|apply L|].

Section run.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HP : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None).
  Context (load_below : M "arch_page_map_load"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).
  Notation keeps_timer := (keeps_timer quiet kernel_entry M this timer).
  Context (loaded_root : keeps_timer "arch_loaded_root"%string) (fpu_unused : keeps_timer "arch_fpu_unused"%string).
  Context (fpu_left : keeps_timer "arch_fpu_left"%string) (fpu_leave : keeps_timer "arch_fpu_leave"%string).
  Context (user : Z -> Prop).
  Context (roots : forall e t, timer e -> ours t -> exists root, e !! field_cell "thread" t "root" = Some root /\ root_ok root /\ (user t -> root <> NONE)).
  Context (fits : Z -> cpu_state -> Prop) (self : Z).
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation goes := (goes quiet kernel_entry M this ours timer fits self).
  Notation entered := (entered quiet kernel_entry M this ours timer fits self).
  Notation suits := (suits fits self).

  Lemma switch_goes to X : ours to -> suits to X -> goes "thread_switch" [to] X (fun v Y => v = 0 /\ fits self Y).
  Proof using HT HW HP HC load_below loaded_root fpu_left fpu_leave roots Hcpu. exact (thread_switch_goes quiet kernel_entry M this Hcpu ours timer fits self HT HW HP HC load_below loaded_root fpu_left fpu_leave user roots to X). Qed.

  (** A thread that is back finds the CPU's state as the others have left it; no reschedule is pending. *)
  Definition back_on (Y : cpu_state) : Prop := exists Z, fits self Z /\ Y = set_word "arch_need_resched" 0 Z.
  Theorem sched_switch_goes to X : ours to -> suits to X -> goes "sched_switch" [to] X (fun v Y => v = 0 /\ back_on Y).
  Proof using HM HT HW HR HP HC load_below loaded_root fpu_left fpu_leave roots Hcpu.
    intros Ht Hf. enters sched_switch_code. switch_by switch_goes; [done..|]. intros v Y [-> HY]. locals_simpl. on. use sched_resumed_does.
    split; [done|]. by exists Y.
  Qed.

  (** ** The chosen thread *)
  Definition level_of (next : Z) (X : cpu_state) : Z :=
    if NUM_CPU <=? next then match ready_threads (queues X) !! next with Some r => ready_priority r + 1 | None => 0 end else 0.
  Definition new_slice (level : Z) (X : cpu_state) : cpu_state :=
    set_word "arch_need_resched" 0 (set_word "slice_end" timer_never (set_word "slice_over" 0 (set_word "running" level X))).
  (** [next]'s time is charged from now on; the floor is [best], if nothing is charged. *)
  Definition accounted (next best : Z) (X Y : cpu_state) : Prop := exists Z floor,
    (if (spends (reservation_of X next) =? NONE) && (word X "charged" =? NONE) then floor = best /\ Z = X
     else floor = (if payer_of X next =? NONE then best else ARCH_FLOOR_NONE) /\ switched_to next X Z) /\
    Y = set_word "arch_floor" floor Z.
  (** The state in which [next] is to run: its level, a slice if it has equals, its time charged, and the floor. *)
  Definition set_to_run (next : Z) (X Y : cpu_state) : Prop :=
    let X1 := new_slice (level_of next X) X in exists X2,
      (if level_of next X =? ready_best (queues X) cpu then slice_begun this X1 X2 else X2 = X1) /\ accounted next (ready_best (queues X) cpu) X2 Y.
  (** [next] is a thread of this CPU whose time can be charged. *)
  Definition chargeable (next : Z) (X : cpu_state) : Prop :=
    ours next /\ payer_ok ours X (payer_of X next) /\ payer_ok ours X (word X "charged") /\ time_ok X /\ next <> NONE.
  Definition may_run (next : Z) (X : cpu_state) : Prop :=
    chargeable next X /\ (NUM_CPU <= next -> exists r, ready_threads (queues X) !! next = Some r /\ 0 <= ready_priority r < NUM_PRIORITY) /\
    (next <> word X "arch_current" -> forall Y, set_to_run next X Y -> suits next Y).
  (** What is found when [next] has been run: if it is another thread, it is this thread's turn again. *)
  Definition ran (next : Z) (X Y : cpu_state) : Prop := if next =? word X "arch_current" then set_to_run next X Y else fits self Y.

  Lemma slice_same X Y : slice_begun this X Y -> reservation_of Y = reservation_of X /\ queues Y = queues X /\
    word Y "charged" = word X "charged" /\ word Y "since" = word X "since" /\ word Y "arch_current" = word X "arch_current" /\ (time_ok X -> time_ok Y).
  Proof using.
    unfold slice_begun. destruct (_ && _); [intros (now & Hn & ->)|intros ->; by split_and!]. split_and!; [done..|].
    intros [Hs Hh]. unfold clock_says in Hn. split; cbn [word set_word String.eqb Ascii.eqb Bool.eqb]; lia.
  Qed.

  Lemma account_for_does next best X : chargeable next X -> does "sched_account_for" [cpu; next; best] X (fun v Y =>
      if (spends (reservation_of X next) =? NONE) && (word X "charged" =? NONE) then v = best /\ Y = X
      else v = (if payer_of X next =? NONE then best else ARCH_FLOOR_NONE) /\ switched_to next X Y).
  Proof using HM HR HC Hcpu clock timer_arms.
    intros (Ho & Hp & Hc & Hs & Hn). apply (sched_account_for_does quiet kernel_entry M this Hcpu ours timer HM HR HC timer_arms clock); try done.
    intros E. by rewrite <- E.
  Qed.
  Theorem sched_run_goes next X : may_run next X -> goes "sched_run" [cpu; next] X (fun v Y => v = 0 /\ ran next X Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros (Hcharge & Hr & Hf). pose proof Hcharge as (Ho & _). enters sched_run_code. unfold ran.
    on. use current_does. on. use best_does. on. go. on.
    set (current := word X "arch_current") in *. set (best := ready_best (queues X) cpu).
    assert (forall p q, p = level_of next X -> walks quiet kernel_entry M this ours timer fits self
      (Seq (Call None "sched_cpu_set_running" [Var 0; Var 4])
      (Seq (Call None "sched_cpu_set_slice_over" [Var 0; Const 0])
      (Seq (Call None "sched_cpu_set_slice_end" [Var 0; Const 0xffffffffffffffff])
      (Seq (Call None "arch_set_need_resched" [Const 0])
      (Seq (If (Cmp Eq (Var 4) (Var 3)) (Call None "sched_begin_slice" [Var 0]) Skip)
      (Seq (Call (Some 6%nat) "sched_account_for" [Var 0; Var 1; Var 3])
      (Seq (Call None "arch_set_floor" [Var 6])
           (If (Cmp Ne (Var 1) (Var 2)) (Call None "thread_switch" [Var 1]) Skip))))))))
      (fun _ Y => 0 = 0 /\ if next =? current then set_to_run next X Y else fits self Y) (fun _ _ => False)
      (fun v Y => v = 0 /\ if next =? current then set_to_run next X Y else fits self Y) [cpu; next; current; best; p; q; 0] X) as Hrest.
    { intros p q ->. on. put_word sched_cpu_set_running_triple "running"%string. on. put_word sched_cpu_set_slice_over_triple "slice_over"%string.
      on. put_word sched_cpu_set_slice_end_triple "slice_end"%string. on. use set_need_resched_does. on. change 18446744073709551615 with timer_never.
      fold (new_slice (level_of next X) X).
      set (X1 := new_slice (level_of next X) X).
      assert (forall X2, (if level_of next X =? best then slice_begun this X1 X2 else X2 = X1) -> walks quiet kernel_entry M this ours timer fits self
        (Seq (Call (Some 6%nat) "sched_account_for" [Var 0; Var 1; Var 3])
        (Seq (Call None "arch_set_floor" [Var 6])
             (If (Cmp Ne (Var 1) (Var 2)) (Call None "thread_switch" [Var 1]) Skip)))
        (fun _ Y => 0 = 0 /\ if next =? current then set_to_run next X Y else fits self Y) (fun _ _ => False)
        (fun v Y => v = 0 /\ if next =? current then set_to_run next X Y else fits self Y) [cpu; next; current; best; level_of next X; q; 0] X2) as Hend.
      { intros X2 H2. assert (chargeable next X2) as Hcharge2.
        { destruct Hcharge as (A1 & A2 & A3 & A4 & A5). unfold chargeable, payer_ok, payer_of in *. destruct (_ =? _); [|subst X2; by split_and!].
          destruct (slice_same _ _ H2) as (-> & _ & -> & -> & _ & Ht). split_and!; [done..|by apply Ht|done]. }
        on. eapply runs_call; [intros ?; evaluate|by apply account_for_does|].
        - intros floor X3 H3. locals_simpl. locals_plain. on. use set_floor_does.
          assert (set_to_run next X (set_word "arch_floor" floor X3)) as HY by (by exists X2; split; [|by exists X3, floor]).
          on. destruct (Z.eqb_spec next current) as [E|E]; cbn [negb].
          + apply runs_walks. by go.
          + switch_by switch_goes; [done|by apply Hf|]. by intros v Y [-> HY']. }
      go. destruct (level_of next X =? best).
      - eapply runs_call; [intros ?; evaluate|apply (sched_begin_slice_does quiet kernel_entry M this Hcpu ours timer HM HR HC timer_arms clock X1); apply Hcharge|].
        intros v X2 [-> H2]. locals_simpl. locals_plain. by apply Hend.
      - go. by apply Hend. }
    go. unfold level_of in Hrest. unfold NUM_CPU in Hr, Hrest. destruct (16 <=? next) eqn:E.
    - apply Z.leb_le in E. destruct (Hr E) as (x & Hx & Hpx). rewrite Hx in Hrest. unfold NUM_PRIORITY in Hpx. go. use priority_does. go. rewrite wrap32_next by lia.
      by apply Hrest.
    - go. by apply Hrest.
  Qed.

  (** ** A thread that blocks or ends *)
  Definition with_next (s : ready) (X : cpu_state) : cpu_state := set_queues s (if word X "kept" =? NONE then X else set_word "kept" NONE X).
  (** There is a thread to run next, and it may run. *)
  Definition may_block (X : cpu_state) : Prop := exists t s, sched_next cpu (kept_thread X) (queues X) = Some (t, s) /\ may_run t (with_next s X).
  Definition blocked (X Y : cpu_state) : Prop := exists t s, sched_next cpu (kept_thread X) (queues X) = Some (t, s) /\ ran t (with_next s X) Y.
  Theorem sched_block_entered X : may_block X -> entered "sched_block" [] X (fun v Y => v = 0 /\ exists Z, blocked X Z /\ Y = set_word "arch_need_resched" 0 Z).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros (t & s & Hn & Hr). opens sched_block_code. on. this_cpu. on. use sched_next_does. switch_by sched_run_goes; [exact Hr|].
    intros v Y [-> HY]. locals_simpl. on. use sched_resumed_does. split; [done|]. exists Y. split; [by exists t, s|done].
  Qed.
  Theorem sched_block_goes X : may_block X -> goes "sched_block" [] X (fun v Y => v = 0 /\ exists Z, blocked X Z /\ Y = set_word "arch_need_resched" 0 Z).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock. intros H. by apply entered_goes, sched_block_entered. Qed.
  Theorem sched_block_to_leave_goes X : may_block X -> goes "sched_block_to_leave" [] X (fun v Y => v = 0 /\ blocked X Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros (t & s & Hn & Hr). enters sched_block_to_leave_code. on. this_cpu. on. use sched_next_does. switch_by sched_run_goes; [exact Hr|].
    intros v Y [-> HY]. split; [done|]. by exists t, s.
  Qed.

  (** The current thread has ended: it is in no queue, and spends no other thread's reservation. *)
  Definition ended (s : ready) (X : cpu_state) : cpu_state :=
    let t := word X "arch_current" in let x := reservation_of X t in
    let y := Reservation (period x) (budget x) (time_left x) (period_end x) (debt x) (used x) (spends x) 0 in
    set_reservation t (take_back t y) (set_reservation t y (set_queues s X)).
  Lemma unused_does X : does "arch_fpu_unused" [] X (fun _ Y => Y = X).
  Proof using fpu_unused. apply does_keep, fpu_unused. Qed.
  Theorem sched_exit_current_entered s X : ours (word X "arch_current") -> sched_mark (queues X) (word X "arch_current") thread_is_exited = Some s ->
    may_block (ended s X) -> entered "sched_exit_current" [] X (fun v Y => v = 0 /\ blocked (ended s X) Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave fpu_unused roots Hcpu timer_arms clock.
    intros Ho Hs (t & s' & Hn & Hr). opens sched_exit_current_code. on. this_cpu. on. use current_does. on. use set_state_does. on. use exempt_does. on. use take_back_does.
    cbn [reservation_of set_queues set_reservation]. rewrite Z.eqb_refl.
    on. eapply runs_call; [intros ?; evaluate|apply unused_does|]. intros v Y ->. locals_simpl. locals_plain. on. 
    fold (ended s X). use sched_next_does. switch_by sched_run_goes; [exact Hr|]. intros w Y [-> HY]. split; [done|]. by exists t, s'.
  Qed.
  Theorem sched_exit_current_goes s X : ours (word X "arch_current") -> sched_mark (queues X) (word X "arch_current") thread_is_exited = Some s ->
    may_block (ended s X) -> goes "sched_exit_current" [] X (fun v Y => v = 0 /\ blocked (ended s X) Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave fpu_unused roots Hcpu timer_arms clock.
    intros Ho Hs H. by apply entered_goes, sched_exit_current_entered.
  Qed.

  (** ** Handing over without a decision *)
  (** The kept thread is taken out, and the current thread is the last of its priority, or idle. *)
  Definition given_back (s : ready) (X : cpu_state) : cpu_state := set_queues s (set_word "kept" NONE X).
  Definition gives_back (s : ready) (X : cpu_state) : Prop := exists s1, sched_mark (queues X) (word X "kept") thread_is_running = Some s1 /\
    if word X "arch_current" <? NUM_CPU then sched_mark s1 (word X "arch_current") thread_is_ready = Some s
    else exists v, sched_ready_insert s1 cpu (word X "arch_current") = Some (v, s).
  Theorem sched_hand_over_to_goes next r s X : gives_back s X -> chargeable next X -> ready_threads s !! next = Some r -> 0 <= ready_priority r < NUM_PRIORITY ->
    (forall Y, accounted next (ready_best s cpu) (new_slice (ready_priority r + 1) (given_back s X)) Y -> suits next Y) ->
    goes "sched_hand_over_to" [next] X (fun v Y => v = 0 /\ back_on Y).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros (s1 & Hs1 & Hs) Hcharge Hr Hp Hf. pose proof Hcharge as (Ho & _). unfold NUM_PRIORITY in Hp. enters sched_hand_over_to_code.
    on. this_cpu. on. use current_does. on. use sched_wake_take_does. on. unfold NUM_CPU in Hs.
    assert (walks quiet kernel_entry M this ours timer fits self
      (Seq (Call (Some 3%nat) "thread_priority" [Var 0])
      (Seq (Call (Some 4%nat) "sched_ready_best" [Var 1])
      (Seq (Call None "sched_cpu_set_running" [Var 1; Bin W32 Add (Var 3) (Const 1)])
      (Seq (Call None "sched_cpu_set_slice_over" [Var 1; Const 0])
      (Seq (Call None "sched_cpu_set_slice_end" [Var 1; Const 0xffffffffffffffff])
      (Seq (Call None "arch_set_need_resched" [Const 0])
      (Seq (Call (Some 5%nat) "sched_account_for" [Var 1; Var 0; Var 4])
      (Seq (Call None "arch_set_floor" [Var 5])
           (Call None "sched_switch" [Var 0])))))))))
      (fun _ Y => 0 = 0 /\ back_on Y) (fun _ _ => False) (fun v Y => v = 0 /\ back_on Y)
      [next; cpu; word X "arch_current"; 0; 0; 0] (given_back s X)) as Hrest.
    { on. use priority_does. on. use best_does. on. put_word sched_cpu_set_running_triple "running"%string. on. put_word sched_cpu_set_slice_over_triple "slice_over"%string.
      on. put_word sched_cpu_set_slice_end_triple "slice_end"%string. on. use set_need_resched_does. change 18446744073709551615 with timer_never.
      rewrite wrap32_next by lia. fold (new_slice (ready_priority r + 1) (given_back s X)). on.
      eapply runs_call; [intros ?; evaluate|by apply account_for_does|]. intros floor X3 H3. locals_simpl. locals_plain. on. use set_floor_does.
      switch_by sched_switch_goes; [done|apply Hf; by exists X3, floor|]. by intros v Y [_ HY]. }
    go. destruct (word X "arch_current" <? 16).
    - use set_state_does. exact Hrest.
    - destruct Hs as [v Hs]. eapply runs_call; [intros ?; evaluate|eapply ready_insert_does; premise|]. intros w Y ->. locals_simpl. locals_plain. exact Hrest.
  Qed.

  (** [sched_hand_over]: to the kept thread, if nothing is charged, neither spends a reservation, and no ready thread is more important. *)
  Definition may_hand_over (r : ready_thread) (X : cpu_state) : bool :=
    negb ((word X "kept" =? NONE) || negb (word X "charged" =? NONE) || (word X "arch_current" <? NUM_CPU)) &&
    negb ((negb (spends (reservation_of X (word X "kept")) =? NONE)) || (ready_priority r <? ready_best (queues X) cpu)).
  Theorem sched_hand_over_entered r s X : (word X "kept" <> NONE -> ours (word X "kept") /\ ready_threads (queues X) !! word X "kept" = Some r /\ 0 <= ready_priority r < NUM_PRIORITY) ->
    (may_hand_over r X = true -> gives_back s X /\
      suits (word X "kept") (set_word "arch_floor" (ready_best s cpu) (new_slice (ready_priority r + 1) (given_back s X)))) ->
    entered "sched_hand_over" [] X (fun v Y => if may_hand_over r X then v = 1 /\ back_on Y else v = 0 /\ Y = X).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    unfold may_hand_over, NUM_CPU, NUM_PRIORITY. intros Hk Hf. opens sched_hand_over_code. on. this_cpu. on. use current_does. on. get sched_cpu_kept_triple "kept"%string.
    on. get sched_cpu_charged_triple "charged"%string. on. go. change 4294967295 with NONE.
    destruct (Z.eqb_spec (word X "kept") NONE) as [E|Hne]; cbn [orb negb andb] in *; [by go|].
    destruct (word X "charged" =? NONE); cbn [orb negb andb] in *; [|by go]. destruct (word X "arch_current" <? 16) eqn:Ec; cbn [orb negb andb] in *; [by go|].
    destruct (Hk Hne) as (Ho & Hr & Hp). go. on. use limited_does. on. use priority_does. on. use best_does. on. go.
    assert (((if spends (reservation_of X (word X "kept")) =? NONE then 0 else 1) =? 1) = negb (spends (reservation_of X (word X "kept")) =? NONE)) as -> by (by destruct (_ =? NONE)).
    destruct (_ || _); cbn [negb] in *; [by go|]. destruct (Hf eq_refl) as [(s1 & Hs1 & Hs) Hfit]. unfold NUM_CPU in Hs. rewrite Ec in Hs. destruct Hs as [v Hs].
    go. on. use sched_wake_take_does. on. eapply runs_call; [intros ?; evaluate|eapply ready_insert_does; premise|]. intros w Y ->. locals_simpl. locals_plain. fold (given_back s X).
    on. use best_does. on. put_word sched_cpu_set_running_triple "running"%string. on. put_word sched_cpu_set_slice_over_triple "slice_over"%string.
    on. put_word sched_cpu_set_slice_end_triple "slice_end"%string. on. use set_need_resched_does. change 18446744073709551615 with timer_never.
    rewrite wrap32_next by lia. fold (new_slice (ready_priority r + 1) (given_back s X)). on. use set_floor_does.
    switch_by sched_switch_goes; [done|exact Hfit|]. intros v1 Y [_ HY]. locals_simpl. locals_plain. on. by go.
  Qed.
  Theorem sched_hand_over_goes r s X : (word X "kept" <> NONE -> ours (word X "kept") /\ ready_threads (queues X) !! word X "kept" = Some r /\ 0 <= ready_priority r < NUM_PRIORITY) ->
    (may_hand_over r X = true -> gives_back s X /\
      suits (word X "kept") (set_word "arch_floor" (ready_best s cpu) (new_slice (ready_priority r + 1) (given_back s X)))) ->
    goes "sched_hand_over" [] X (fun v Y => if may_hand_over r X then v = 1 /\ back_on Y else v = 0 /\ Y = X).
  Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock.
    intros Hk Hf. by apply entered_goes, (sched_hand_over_entered r s).
  Qed.
End run.
