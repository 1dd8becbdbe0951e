(** The timer: what it keeps of each CPU's alarm, and its clock.

    The clock and the alarm's hardware are primitives of [arch]. Assumed of them is what a theorem says: that they leave the CPU's cells
    alone, and of the clock whatever is wanted of [timer_now]. *)
From Ashlar Require Export lang.logic.Timed lang.logic.Fields layers.timer.Code lang.Constants.
Local Opaque gmap_lookup gmap_partial_alter.

Notation deadline_cell cpu := (field_cell "timer_alarm" cpu "deadline").

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, timer_module f = Some fd -> M f = Some fd) (HC : M "arch_cpu"%string = None).
  Notation triple := (triple kernel_entry M this).
  Notation timed := (timed quiet kernel_entry M this).
  Notation cpu := (Z.of_nat this).

  Ltac this_cpu := eapply during_this_cpu; [exact HC|evaluate|]; locals_simpl.

  (** After start-up no alarm is set. *)
  Definition alarm_off (cpu : Z) : list (string * Z) := [("deadline"%string, TIMER_NEVER)].
  Theorem timer_init_triple d : (forall c, 0 <= c < NUM_CPU -> is_Some (d !! deadline_cell c)) ->
    triple "timer_init" [] d (fun w d' => w = 0 /\ d' = filled "timer_alarm" alarm_off 0 NUM_CPU d).
  Proof using HM.
    unfold NUM_CPU. intros Hall. eapply triple_owned; [by apply HM|done|]. unfold timer_init_code. locals_simpl. step. step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [i] /\ d1 = filled "timer_alarm" alarm_off 0 i d) 0); [lia| | | |].
    { split; [done|]. by rewrite filled_none. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi [-> ->]. assert (has_fields "timer_alarm" i ["deadline"%string] (filled "timer_alarm" alarm_off 0 i d)) as H
        by (apply filled_has; constructor; [by apply Hall|constructor]).
      repeat store_step H. rewrite wrap32_next by lia. split; [done|]. by rewrite filled_next by lia. }
    by intros r d1 [-> ->].
  Qed.

  (** What the clock says, and what asking it does. *)
  Theorem timer_now_timed d (post : Z -> mem -> Prop) : timed "arch_clock_ns" [] d post -> timed "timer_now" [] d post.
  Proof using HM.
    intros Hclock. eapply timed_body; [by apply HM|done|]. unfold timer_now_code. locals_simpl. timed_step.
    eapply during_call_whole; [evaluate|exact Hclock|]. intros v d' Hv. locals_simpl. by timed_step.
  Qed.

  (** The alarm of this CPU, and of no other. *)
  Theorem timer_arm_timed t d : timed "arch_timer_arm" [t] ∅ (fun _ e => True /\ e = ∅) -> is_Some (d !! deadline_cell cpu) ->
    timed "timer_arm" [t] d (fun v d' => v = 0 /\ d' = <[deadline_cell cpu := t]> d).
  Proof using HM HC.
    intros Harm [u Hu]. unfold field_cell in *. eapply timed_body; [by apply HM|done|]. unfold timer_arm_code. locals_simpl.
    timed_step. this_cpu. do 2 timed_step. by eapply during_call_nothing; [evaluate|exact Harm|].
  Qed.
  Theorem timer_stop_timed d : timed "arch_timer_stop" [] ∅ (fun _ e => True /\ e = ∅) -> is_Some (d !! deadline_cell cpu) ->
    timed "timer_stop" [] d (fun v d' => v = 0 /\ d' = <[deadline_cell cpu := TIMER_NEVER]> d).
  Proof using HM HC.
    intros Hstop [u Hu]. unfold field_cell in *. eapply timed_body; [by apply HM|done|]. unfold timer_stop_code. locals_simpl.
    timed_step. this_cpu. do 2 timed_step. by eapply during_call_nothing; [evaluate|exact Hstop|].
  Qed.
  Theorem timer_armed_timed d v : d !! deadline_cell cpu = Some v -> timed "timer_armed" [] d (fun w d' => w = v /\ d' = d).
  Proof using HM HC.
    intros Hv. unfold field_cell in *. eapply timed_body; [by apply HM|done|]. unfold timer_armed_code. locals_simpl.
    timed_step. this_cpu. by timed_step.
  Qed.
End proof.
