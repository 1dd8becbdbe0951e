(** What the scheduler keeps of each CPU: the C functions of [sched_cpu.c], which read and write one field each, and the alarm. *)
From Ashlar Require Export lang.logic.Timed lang.logic.Structs layers.sched.Code lang.Constants.
Local Opaque gmap_lookup gmap_partial_alter.

Notation cpu_cell field cpu := (field_cell "sched_cpu" cpu field).

(** [TIMER_NEVER] of timer.h *)
Definition timer_never : Z := 2 ^ 64 - 1.
(** After start-up: no slice has begun, no alarm is set, no thread runs or is kept, no reservation is charged, no event is set. *)
Definition cpu_fresh (cpu : Z) : list (string * Z) :=
  [("slice_end", timer_never); ("since", 0); ("alarm", timer_never); ("running", 0); ("slice_over", 0); ("kept", NONE); ("charged", NONE);
   ("events", 0)]%string.
Definition cpu_fields : list string := (cpu_fresh 0).*1.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).
  Notation reads f := (reads kernel_entry M this f "sched_cpu").
  Notation writes f := (writes kernel_entry M this f "sched_cpu").

  Theorem sched_cpu_slice_end_triple : reads "sched_cpu_slice_end" "slice_end".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_slice_end_triple : writes "sched_cpu_set_slice_end" "slice_end".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem sched_cpu_since_triple : reads "sched_cpu_since" "since".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_since_triple : writes "sched_cpu_set_since" "since".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem sched_cpu_alarm_triple : reads "sched_cpu_alarm" "alarm".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_alarm_triple : writes "sched_cpu_set_alarm" "alarm".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem sched_cpu_running_triple : reads "sched_cpu_running" "running".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_running_triple : writes "sched_cpu_set_running" "running".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem sched_cpu_slice_over_triple : reads "sched_cpu_slice_over" "slice_over".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_slice_over_triple : writes "sched_cpu_set_slice_over" "slice_over".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem sched_cpu_kept_triple : reads "sched_cpu_kept" "kept".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_kept_triple : writes "sched_cpu_set_kept" "kept".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem sched_cpu_charged_triple : reads "sched_cpu_charged" "charged".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_charged_triple : writes "sched_cpu_set_charged" "charged".
  Proof using HM. by apply writes_code, HM. Qed.
  Theorem sched_cpu_events_triple : reads "sched_cpu_events" "events".
  Proof using HM. by apply reads_code, HM. Qed.
  Theorem sched_cpu_set_events_triple : writes "sched_cpu_set_events" "events".
  Proof using HM. by apply writes_code, HM. Qed.

  Theorem sched_cpu_init_triple d : (forall cpu, 0 <= cpu < NUM_CPU -> has_fields "sched_cpu" cpu cpu_fields d) ->
    triple "sched_cpu_init" [] d (fun w d' => w = 0 /\ d' = filled "sched_cpu" cpu_fresh 0 NUM_CPU d).
  Proof using HM.
    unfold NUM_CPU. intros Hall. eapply triple_owned; [by apply HM|done|]. unfold sched_cpu_init_code. locals_simpl. step. step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [i] /\ d1 = filled "sched_cpu" cpu_fresh 0 i d) 0); [lia| | | |].
    { split; [done|]. by rewrite filled_none. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi [-> ->]. assert (has_fields "sched_cpu" i cpu_fields (filled "sched_cpu" cpu_fresh 0 i d)) as H by (apply filled_has, Hall; lia).
      repeat store_step H. rewrite wrap32_next by lia. split; [done|]. by rewrite filled_next by lia. }
    by intros r d1 [-> ->].
  Qed.

  (** ** The alarm: it is set anew only for an earlier time. [timer] says what cells the timer has for itself. *)
  Context (quiet : cprim -> Prop) (timer : mem -> Prop).
  Notation timed := (timed quiet kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).

  Definition alarm_by (cpu t at_ : Z) (d : mem) : mem := if t <? at_ then <[cpu_cell "alarm" cpu := t]> d else d.
  Theorem sched_alarm_want_timed (d e : mem) cpu t at_ : d !! cpu_cell "alarm" cpu = Some at_ -> d ##ₘ e -> timer e ->
    timed "sched_alarm_want" [cpu; t] (d ∪ e) (fun w m => w = 0 /\ exists e', timer e' /\ alarm_by cpu t at_ d ##ₘ e' /\ m = alarm_by cpu t at_ d ∪ e').
  Proof using HM timer_arms.
    intros Ha Hde He. eapply timed_body; [by apply HM|done|]. unfold sched_alarm_want_code, alarm_by. locals_simpl. timed_step.
    eapply during_call; [evaluate|exact Hde|apply triple_timed, sched_cpu_alarm_triple, Ha|]. intros w d1 [-> ->] _. locals_simpl. timed_step.
    destruct (t <? at_).
    - timed_step. eapply during_call; [evaluate|exact Hde|apply triple_timed, sched_cpu_set_alarm_triple; by eexists|].
      intros w d1 [-> ->] Hd1. locals_simpl. rewrite (map_union_comm _ e) by done.
      eapply during_call; [evaluate|done|by apply timer_arms|]. intros w e' He' Hd2. split; [done|]. exists e'.
      split_and!; [done|done|by apply map_union_comm].
    - timed_step. split; [done|]. by exists e.
  Qed.
  Theorem sched_alarm_gone_triple d cpu : is_Some (d !! cpu_cell "alarm" cpu) ->
    triple "sched_alarm_gone" [cpu] d (fun w d' => w = 0 /\ d' = <[cpu_cell "alarm" cpu := timer_never]> d).
  Proof using HM.
    intros Ha. eapply triple_owned; [by apply HM|done|]. unfold sched_alarm_gone_code. locals_simpl.
    eapply owned_call_whole; [evaluate|by apply sched_cpu_set_alarm_triple|]. by intros w d' [-> ->].
  Qed.
End proof.
