(** The C of [sched.c] and [sched_wake.c] that switches to no other thread: requests, the floor, slices, what is kept for later. *)
From Ashlar Require Export layers.sched.cpu.Steps.
Local Opaque gmap_lookup gmap_partial_alter.

(** [sched_request]: the thread to run is chosen before the kernel is left, and no thread is switched to directly until then. *)
Definition requested (X : cpu_state) : cpu_state := set_word "arch_floor" ARCH_FLOOR_NONE (set_word "arch_need_resched" 1 X).

Section code.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation serves := (serves quiet kernel_entry M this ours timer).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).

  Theorem sched_request_does X : does "sched_request" [] X (fun v Y => v = 0 /\ Y = requested X).
  Proof using HM HR HC Hcpu. enter sched_request_code. go. use set_need_resched_does. use set_floor_does. done. Qed.
  Theorem sched_resumed_does X : does "sched_resumed" [] X (fun v Y => v = 0 /\ Y = set_word "arch_need_resched" 0 X).
  Proof using HM HR HC Hcpu. enter sched_resumed_code. use set_need_resched_does. done. Qed.

  (** A thread may be switched to directly if its priority is at least that of all ready ones plus 1, no choice is pending and no
      reservation is charged. *)
  Definition with_floor (X : cpu_state) : cpu_state := set_word "arch_floor"
    (if (word X "arch_need_resched" =? 0) && (word X "charged" =? NONE) then ready_best (queues X) cpu else ARCH_FLOOR_NONE) X.
  Theorem sched_update_floor_does X : does "sched_update_floor" [cpu] X (fun v Y => v = 0 /\ Y = with_floor X).
  Proof using HM HR HC Hcpu.
    enter sched_update_floor_code. unfold with_floor, NONE. go. use need_resched_does. go. get sched_cpu_charged_triple "charged"%string. do 4 go.
    destruct (_ && _).
    - use best_does. use set_floor_does. done.
    - go. use set_floor_does. done.
  Qed.

  (** A slice begins where another thread of the running one's priority is ready and none has begun. *)
  Definition slice_begun (X Y : cpu_state) : Prop :=
    if (ready_best (queues X) cpu =? word X "running") && negb (ready_best (queues X) cpu =? 0) && (word X "slice_end" =? timer_never)
    then exists now, clock_says (word X "arch_clock") now /\
      Y = set_word "alarm" (Z.min (word X "alarm") (now + SCHED_SLICE_NS)) (set_word "slice_end" (now + SCHED_SLICE_NS) (set_word "arch_clock" now X))
    else Y = X.
  Theorem sched_begin_slice_does X : word X "arch_clock" < horizon -> does "sched_begin_slice" [cpu] X (fun v Y => v = 0 /\ slice_begun X Y).
  Proof using HM HR HC Hcpu timer_arms clock.
    intros Hh. enter sched_begin_slice_code. unfold slice_begun. go. use best_does. go. get sched_cpu_running_triple "running"%string.
    go. get sched_cpu_slice_end_triple "slice_end"%string. go. change 18446744073709551615 with timer_never. destruct (_ && _); [|go; done].
    go. apply runs_clock; [premise|exact clock|exact Hh|]. intros now Hnow. locals_simpl. locals_plain. pose proof Hnow as Hn. unfold clock_says, horizon in Hn.
    go. put_word sched_cpu_set_slice_end_triple "slice_end"%string. use alarm_want_does. split; [done|]. exists now. split; [done|].
    rewrite wrap64 by lia. done.
  Qed.

  (** ** States of threads *)
  Theorem sched_prepare_block_serves current s X : sched_mark (queues X) current thread_is_blocked = Some s ->
    serves "sched_prepare_block" [current] X (fun v Y => v = 0 /\ Y = set_queues s X).
  Proof using HM HT. intros H. opens sched_prepare_block_code. use set_state_does. done. Qed.
  (** The idle thread runs first. *)
  Theorem sched_init_cpu_does s X : sched_mark (queues X) cpu thread_is_running = Some s ->
    does "sched_init_cpu" [] X (fun v Y => v = 0 /\ Y = with_floor (set_word "arch_need_resched" 0 (set_word "running" 0 (set_queues s X)))).
  Proof using HM HT HR HC Hcpu.
    intros H. enter sched_init_cpu_code. go. this_cpu. go. use set_state_does. go. put_word sched_cpu_set_running_triple "running"%string.
    go. use set_need_resched_does. use sched_update_floor_does. done.
  Qed.
  Theorem sched_yield_serves X : serves "sched_yield" [] X (fun v Y => v = 0 /\ Y = requested (set_word "slice_over" 1 X)).
  Proof using HM HR HC Hcpu.
    opens sched_yield_code. go. this_cpu. go. put_word sched_cpu_set_slice_over_triple "slice_over"%string. use sched_request_does. done.
  Qed.

  (** ** Deadlines *)
  Theorem sched_set_deadline_serves t ns X : mine ours t -> 0 <= ns <= timer_never -> serves "sched_set_deadline" [t; ns] X (fun v Y => v = 0 /\
    Y = set_word "alarm" (Z.min (word X "alarm") ns) (set_timeouts (<[t := ns]> (timeouts X)) (upd t 0 (cancels X)) X)).
  Proof using HM HC Hcpu timer_arms. intros Ht Hn. opens sched_set_deadline_code. go. this_cpu. use event_set_does. done. Qed.
  Theorem sched_clear_deadline_does t X : mine ours t -> does "sched_clear_deadline" [t] X (fun v Y => v = 0 /\ Y = set_timeouts (timeouts X) (upd t 1 (cancels X)) X).
  Proof using HM Hcpu. intros Ht. enter sched_clear_deadline_code. use event_cancel_does. done. Qed.

  (** ** The thread that runs next *)
  Theorem sched_wake_take_does s X : sched_mark (queues X) (word X "kept") thread_is_running = Some s ->
    does "sched_wake_take" [cpu] X (fun v Y => v = 0 /\ Y = set_queues s (set_word "kept" NONE X)).
  Proof using HM HT Hcpu.
    intros H. enter sched_wake_take_code. go. get sched_cpu_kept_triple "kept"%string. go. put_word sched_cpu_set_kept_triple "kept"%string.
    use set_state_does. done.
  Qed.
  Lemma sched_pick_does t s X : sched_pick cpu (queues X) = Some (t, s) -> does "sched_pick" [cpu] X (fun v Y => v = t /\ Y = set_queues s X).
  Proof using HM HQ HT HB Hcpu.
    unfold sched_pick. intros H. destruct (sched_ready_take (queues X) cpu) as [[u s1]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
    enter sched_pick_code. go. use ready_take_does. do 2 go. change 4294967295 with NONE. destruct (Z.eqb_spec u NONE) as [->|Hne]; cbn [negb].
    - unfold sched_idle in H. destruct (sched_mark s1 cpu thread_is_running) as [s2|] eqn:E2; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
      do 2 go. use set_state_does. by go.
    - injection H as <- <-. by go.
  Qed.
  (** What is kept for later, or what [sched_pick] chooses. *)
  Definition kept_thread (X : cpu_state) : option Z := if word X "kept" =? NONE then None else Some (word X "kept").
  Theorem sched_next_does t s X : sched_next cpu (kept_thread X) (queues X) = Some (t, s) ->
    does "sched_next" [cpu] X (fun v Y => v = t /\ Y = set_queues s (if word X "kept" =? NONE then X else set_word "kept" NONE X)).
  Proof using HM HQ HT HB Hcpu.
    unfold sched_next, kept_thread. intros H. enter sched_next_code. go. get sched_cpu_kept_triple "kept"%string. do 2 go. change 4294967295 with NONE.
    destruct (Z.eqb_spec (word X "kept") NONE) as [E|Hne]; cbn [negb].
    - do 2 go. use sched_pick_does. by go.
    - unfold sched_run_kept in H. destruct (ready_threads (queues X) !! word X "kept") as [r|] eqn:Er; [|done]. cbn [mbind option_bind] in H.
      destruct (_ && _); [|done]. destruct (sched_mark (queues X) (word X "kept") thread_is_running) as [s1|] eqn:Em; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
      go. use sched_wake_take_does. by go.
  Qed.
End code.
