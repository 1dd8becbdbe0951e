(** Condition variables on the scheduler: what the theorems assume of the calls is met by what is proved of [thread] and [sched], for threads
    of one processor.

    Below a variable are the processor's scheduler, in state [X], and the two cells in which a thread's record says what it waits for. *)
From Ashlar Require Export layers.sched.cpu.PromiseWake layers.sched.cpu.PromiseCode layers.cv.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(** What thread [t] waits for, in its record. *)
Definition wait_record (t kind object : Z) (d : mem) : Prop :=
  d !! field_cell "thread" t "wait_kind" = Some kind /\ d !! field_cell "thread" t "wait_object" = Some object.

Section scheduler.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Notation triple := (triple kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).
  Notation steady := (steady this ours).
  Notation waiting := (waiting this ours).
  (** The scheduler is in a state that is as [P] says. *)
  Definition scheduler (P : cpu_state -> Prop) (d : mem) : Prop := exists X, P X /\ State.holds this ours timer X d.

  Lemma scheduler_does f args (P P' : cpu_state -> Prop) d : (forall X, P X -> does quiet kernel_entry M this ours timer f args X (fun _ => P')) -> scheduler P d ->
    timed f args d (fun _ => scheduler P').
  Proof using. intros Hd (X & HP & Hh). eapply timed_mono; [|exact (Hd X HP d Hh)]. intros v d' (Y & HY & Hd' & _). by exists Y. Qed.

  Theorem current_is_scheduler self (P : cpu_state -> Prop) R : (forall X, P X -> word X "arch_current" = self) ->
    current_is quiet kernel_entry M this self (scheduler P ∗ R).
  Proof using HT HW HC.
    intros Hc m Hm. eapply timed_mono; [|eapply (timed_part _ _ _ _ _ _ (scheduler P) R (fun v d => v = self /\ scheduler P d)); [|exact Hm]].
    - intros v m' (d & e & ? & ? & [? ?] & ?). split; [done|]. by exists d, e.
    - intros d (X & HP & Hh). eapply timed_mono; [|apply (current_does quiet kernel_entry M this ours timer HT HW HC X d Hh)].
      intros v d' (Y & [-> ->] & Hd' & _). split; [by apply Hc|by exists X].
  Qed.
  (** The running thread goes to sleep: afterwards it waits, here and below, and the processor is to be given away. *)
  Theorem goes_to_sleep_scheduler self cv kind object : NUM_CPU <= self ->
    goes_to_sleep quiet kernel_entry M this self cv (scheduler (steady self) ∗ wait_record self kind object)
      (scheduler (fun Y => waiting Y /\ word Y "arch_current" = self) ∗ wait_record self WAIT_CV cv).
  Proof using ours_bound HM HT.
    intros Hc. exists (scheduler (steady self) ∗ wait_record self WAIT_CV cv). split; intros m Hm.
    - eapply (timed_other _ _ _ _ _ _ _ _ (fun _ => wait_record self WAIT_CV cv)); [|exact Hm]. intros d [Hk Ho]. apply triple_timed.
      eapply triple_mono; [|apply (thread_set_wait_triple kernel_entry M this HT); by eexists]. intros v d' [_ ->]. unfold wait_record, field_cell in *. by look.
    - eapply (timed_part _ _ _ _ _ _ _ _ (fun _ => scheduler _)); [|exact Hm]. intros d Hd. eapply scheduler_does; [|exact Hd]. intros X HX.
      apply serves_does, (sched_prepare_block_waits this ours ours_bound quiet kernel_entry M timer HM HT self X); [by left|done].
  Qed.
  (** A sleeping thread whose own deadline is not to come is made ready: the running one goes on, and neither is lost. *)
  Theorem gets_ready_scheduler self t X kind object : steady self X -> sleeps t X -> timeouts X !! t = None ->
    gets_ready quiet kernel_entry M this t (scheduler (eq X) ∗ wait_record t kind object)
      (scheduler (fun Y => steady self Y /\ all_awake t X Y) ∗ wait_record t WAIT_NONE object).
  Proof using Hcpu ours_bound HM HQ HT HR HC timer_arms clock.
    intros HX Ht Hd. exists (scheduler (eq X) ∗ wait_record t WAIT_NONE object). split; intros m Hm.
    - eapply (timed_other _ _ _ _ _ _ _ _ (fun _ => wait_record t WAIT_NONE object)); [|exact Hm]. intros d [Hk Ho]. apply triple_timed.
      eapply triple_mono; [|apply (thread_end_wait_triple kernel_entry M this HT); by eexists]. intros v d' [_ ->]. unfold wait_record, field_cell in *. by look.
    - eapply (timed_part _ _ _ _ _ _ _ _ (fun _ => scheduler _)); [|exact Hm]. intros d Hs. eapply scheduler_does; [|exact Hs]. intros Y <-.
      apply serves_does. by apply (sched_ready_steady this Hcpu ours ours_bound quiet kernel_entry M timer HM HQ HT HR HC timer_arms clock).
  Qed.
End scheduler.
