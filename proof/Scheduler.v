(** The scheduler: theorems about threads that call its C, on the machine of threads, where they hand their CPUs to each other, and on one
    shared memory.

    They are about the C of the layers [sched], [thread] and [queue], as generated from the files that the kernel is built from. Threads serve
    the timer's interrupt and what it returns, the beginnings of periods and the deadlines of threads, which are woken then; they yield, let the
    scheduler decide who runs, hand over to a thread that is kept to run next, block, sleep until a deadline, end, and start others that are not in
    use, in any order that their client likes. What is not in them: threads that are woken before their deadline, or from other CPUs, or whose
    time is lent; and clients that call what [Main] is about: locks are there, but no thread takes one. *)
From Ashlar Require Export layers.UnlockedCells layers.spinlock.LocksInThreads layers.spinlock.Proof.
From Ashlar Require Export layers.sched.threads.SchedulerClients layers.sched.cpu.StartUpCode.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

Section scheduler.
  (** Any client; the code of the layers; what is below them, given by the caller. *)
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (code : has_scheduler exported M).
  Notation A := (system C (c_engine (arch_builtins kernel_entry) M exported)).
  Notation S := (shared_kernel kernel_entry M exported C).
  (** CPUs and their threads; which cells go with a CPU when it is handed over; a layer below, that lets a CPU without locks read the clock and
      show values. *)
  Context (L : layer cprim mem) (ncpu nthread : nat) (cpus : Z.of_nat ncpu <= NUM_CPU) (threads : Z.of_nat nthread <= NUM_THREAD).
  Context (home first : nat -> nat) (home_cpu : forall t, (t < nthread)%nat -> (home t < ncpu)%nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool) (calm : nat -> log L -> bool) (own_calm : own_replay L calm).
  Context (passes : cprim -> Prop) (pass_ordinary : forall p, passes p -> switch_means p = Ordinary).
  Context (pass : forall c p m l, passes p -> calm c l = true -> exists v o, lstep L c p m l = Ok v m o /\ calm c (Event c o :: l) = true).
  Context (out_calm : forall c v m l, calm c l = true -> exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\ calm c (Event c o :: l) = true).

  Notation thread_of := (thread_of home nthread).
  Context (timer : nat -> mem -> Prop) (user : Z -> Prop) (arch : arch_does passes kernel_entry M thread_of timer user).

  Context (of_thread : nat -> cstate C -> Prop) (at_stage : cstate C -> stage) (due free : cstate C -> option Z).
  Context (client_calls : keeps_calls C home nthread user of_thread at_stage due free).
  (** A thread that has been started goes on from [begin]. *)
  Context (begins : forall t, (t < nthread)%nat -> exists u m, begin t = @Idle _ _ C (c_engine (arch_builtins kernel_entry) M exported) u m /\
    of_thread t u /\ at_stage u = Goes /\ due u = None /\ free u = None).
  Notation promises := (promises nthread home).
  Notation can := (can C nthread home of_thread at_stage due free).
  Notation each_may := (client_may kernel_entry C exported M code ncpu nthread cpus threads home home_cpu passes timer user arch of_thread at_stage due free client_calls).
  Notation begun_can := (begin_can kernel_entry C exported M nthread home begin of_thread at_stage due free begins).

  Notation X := (cell_baton cell_of_cpu parked).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first calm).
  (** The start: each thread of its CPU waits for its first turn, but one, which finds its CPU steady. *)
  Context (P : nat -> tstate T).
  Context (start : forall t, (t < nthread)%nat -> between_calls kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm thread_of timer promises can t (P t) []).

  (** * 1. The C never goes wrong

      Whatever the threads of all CPUs do, no function has undefined behaviour, and no state comes up that one of them does not expect. *)
  Theorem scheduler_never_wrong : never_wrong nthread TL TA P.
  Proof using All.
    apply (client_never_wrong kernel_entry C exported M (stack_below _ _ code) L nthread home first begin cell_of_cpu parked calm own_calm passes pass_ordinary pass out_calm
      thread_of timer promises (promises_thread nthread home) can each_may begun_can P start).
  Qed.

  (** * 2. The highest priority runs

      Whenever a CPU is handed over, no ready thread of that CPU has a higher priority than the thread that comes.

      More exactly: what is handed over is the memory of a scheduler's state in which this thread, and no other, runs; each other one
      is in the ready queue of its priority exactly if it is ready, and in the queue of parked threads exactly if it is parked; and no
      ready queue of a higher priority has a thread ([promised]). *)
  Theorem highest_priority_runs l c d : traces nthread TL TA P l -> transit L home c l = Some d -> exists Y,
    State.holds c (thread_of c) (timer c) Y d /\ promised c (thread_of c) (Z.of_nat (current_thread L first c (cpu_view L home l))) Y.
  Proof using All.
    intros Hl Hd. destruct (state_at_switch kernel_entry C exported M (stack_below _ _ code) L nthread home first begin cell_of_cpu parked calm own_calm passes pass_ordinary pass out_calm
      thread_of timer promises (promises_thread nthread home) can each_may begun_can P start l c d Hl Hd) as [H _]. exact H.
  Qed.

  (** * 3. Time is charged to whom the thread spends

      Whenever a CPU is handed over, the time that passes from then on is charged to the reservation that the thread which comes spends, or to
      none if it spends none; that reservation is valid, so that [temporal_isolation] bounds what is taken from it. *)
  Theorem time_is_charged l c d : traces nthread TL TA P l -> transit L home c l = Some d -> exists Y, State.holds c (thread_of c) (timer c) Y d /\
    let to := Z.of_nat (current_thread L first c (cpu_view L home l)) in
    word Y "charged" = payer_of Y to /\ (payer_of Y to = NONE \/ thread_of c (payer_of Y to) /\ reservation_valid (word Y "since") (reservation_of Y (payer_of Y to))).
  Proof using All.
    intros Hl Hd. destruct (highest_priority_runs l c d Hl Hd) as (Y & Hh & Hp). exists Y. split; [exact Hh|]. pose proof Hp as [(_ & Hw & _) _].
    cbn zeta. rewrite <- (work_pays _ _ _ _ Hw). split; [done|]. exact (valid_payer_charged (thread_of c) Y (work_accounts _ _ _ _ Hw)).
  Qed.

  (** * 4. Calls return

      Each call returns if its thread is handed the CPU again: whatever the others do, a thread runs on to where it is between two calls. *)
  Theorem scheduler_calls_return g t : reach nthread TL TA P g -> (t < nthread)%nat ->
    exists l e, glog g = e ++ l /\ others TL t e /\
      run TL TA (hands_valid L nthread home first cell_of_cpu parked calm (whole_promise cell_of_cpu (cpu_promise thread_of timer promises))) t
        (between_calls kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm thread_of timer promises can t) (gagent g t) l.
  Proof using All.
    intros Hr Ht. apply (calls_return kernel_entry C exported M (stack_below _ _ code) L nthread home first begin cell_of_cpu parked calm own_calm passes pass_ordinary pass out_calm
      thread_of timer promises (promises_thread nthread home) can each_may begun_can P start g t Hr Ht).
  Qed.

  Notation hands := (hands_valid L nthread home first cell_of_cpu parked calm (whole_promise cell_of_cpu (cpu_promise thread_of timer promises))).
  Notation between := (between_calls kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm thread_of timer promises can).
  Local Lemma between_kept t : (t < nthread)%nat -> run TL TA hands t (between t) (P t) [] /\
    forall x l, run TL TA hands t (between t) x l -> safe_step TL TA hands t (run TL TA hands t (between t)) x l.
  Proof using All.
    intros Ht. split; [by apply run_done, start|]. intros x l. by apply (running_step kernel_entry C exported M (stack_below _ _ code) L nthread home first begin cell_of_cpu
      parked calm own_calm passes pass_ordinary pass out_calm thread_of timer promises (promises_thread nthread home) can each_may begun_can t x l).
  Qed.

  (** * 5. No lost wake-up

      A thread that is woken is not lost: it is kept, to run next, or waits in the ready queue of its priority, or, if its time is spent,
      for its next period; and so does a thread that was kept before. The running thread goes on, and while a thread is kept a decision is
      pending.

      This is about [sched_ready] of a thread of the same CPU whose own deadline is not to come any more, in any state in which a thread runs. *)
  Theorem no_lost_wake_up c self t Y : (c < ncpu)%nat -> steady c (thread_of c) self Y -> sleeps t Y -> timeouts Y !! t = None ->
    does passes kernel_entry M c (thread_of c) (timer c) "sched_ready" [t] Y (fun _ Z => steady c (thread_of c) self Z /\ all_awake t Y Z).
  Proof using code arch cpus threads.
    destruct code as [HM HQ HT _ _ HR _ _ HC _ _ _]. destruct arch as [timer_arms clock _ _ _ _ _ _].
    intros Hc HY Ht Hnone. apply serves_does. revert HY Ht Hnone. apply (sched_ready_steady c ltac:(lia) (thread_of c) (thread_bound nthread threads home c) passes kernel_entry M (timer c) HM HQ HT HR HC (timer_arms c) (clock c)).
  Qed.
End scheduler.

Local Lemma locks_free algorithm : lock_module algorithm switch_stack = None /\ lock_module algorithm new_stack = None.
Proof. by destruct algorithm. Qed.

Section shared_memory.
  (** Either lock's code; what each lock guards at the start; all that [Section scheduler] names. *)
  Context (algorithm : lock_algorithm) (kernel_entry : Z -> Z) (ncpu budget fairness_bound : nat) (cpus : Z.of_nat ncpu <= NUM_CPU).
  Context (init : Z -> mem) (init_apart : forall k k', k <> k' -> init k ##ₘ init k').
  Context (C : client) (exported : string -> bool) (M : module) (code : has_scheduler exported M).
  Notation Mlock := (lock_module algorithm).
  Context (locks_apart : upper_module (spinlock.Spec.reserved Mlock) M).
  Notation contending := (lock_contending algorithm ncpu budget fairness_bound).
  Notation atomics := (atomics_layer fairness_bound init kernel_guarded contending).
  Notation locks := (locks budget NUM_LOCK init kernel_guarded).
  Notation O := (atomic_ownership init kernel_guarded (bounded_fair fairness_bound contending)).
  Notation B := (arch_builtins kernel_entry).
  Notation A := (system C (c_engine B M exported)).
  Notation S0 := (shared_kernel kernel_entry (module_union M Mlock) exported C).
  Notation S := (shared_kernel kernel_entry M exported C).
  Context (nthread : nat) (threads : Z.of_nat nthread <= NUM_THREAD) (home first : nat -> nat) (begin : nat -> ast A).
  Notation thread_of := (thread_of home nthread).
  Context (cell_of_cpu : nat -> cell -> bool) (timer : nat -> mem -> Prop) (user : Z -> Prop).
  (** The clock is read without an event: what it shows next is a function of what it showed last. *)
  Notation nothing := (fun _ : cprim => False).
  Context (arch : arch_does nothing kernel_entry M thread_of timer user).
  Context (of_thread : nat -> cstate C -> Prop) (at_stage : cstate C -> stage) (due free : cstate C -> option Z).
  Context (client_calls : keeps_calls C home nthread user of_thread at_stage due free).
  Context (begins : forall t, (t < nthread)%nat -> exists u m, begin t = @Idle _ _ C (c_engine B M exported) u m /\ of_thread t u /\ at_stage u = Goes /\ due u = None /\ free u = None).
  Notation lower := (lower B Mlock C exported M).
  Notation T0 := (agent_threads S0 home switch_means (fun t => lower (begin t))).
  Notation T := (agent_threads S home switch_means begin).
  Notation promises := (fun c to Y => promised c (thread_of c) to Y).
  (** The start: each thread of its CPU waits for its first turn, but one; cells are dealt out to threads and locks, and those that suspended
      threads have are no lock's. *)
  Context (P : nat -> tstate T) (START : starts T ncpu nthread home first P).
  Context (start : forall t, (t < nthread)%nat -> between_calls kernel_entry C exported M locks nthread home first begin cell_of_cpu unlocked_cell holds_none
    thread_of timer promises (can C nthread home of_thread at_stage due free) t (P t) []).
  Notation P0 := (fun t => lower_thread B Mlock home C exported M S0 S switch_means begin (P t)).
  Context (start_parked : forall t, (t < nthread)%nat -> tphase T (P t) = Suspended -> all_parked (fun x => unlocked_cell x = true) (tmem T (P t))).
  Context (threads_apart : forall t t', (t < nthread)%nat -> (t' < nthread)%nat -> t <> t' -> tmem T (P t) ##ₘ tmem T (P t')).
  Context (threads_init : forall t k, (t < nthread)%nat -> tmem T (P t) ##ₘ init k).
  Context (m0 : nat -> mem) (M0 : flat_memory T0 nthread home P0 m0).
  Context (memory : mem) (CPUS : forall c, (c < ncpu)%nat -> m0 c ⊆ memory) (LOCKS : forall k, init k ⊆ memory).
  (** The hardware's scheduler is as fair as the locks need. *)
  Context (fairness : nat -> atomic_log -> Prop) (FAIR : forall c l, fairness c (erase O l) -> bounded_fair fairness_bound contending c l).
  Notation HW0 := (switch_hardware atomic_hardware).
  Notation SO := (switch_ownership O nthread home first).
  Notation ST := (shared_threads S0 home switch_means (fun t => lower (begin t))).
  Notation cpu_fairness := (fun c (l : list (event (hmark HW0))) => fairness c (base_marks atomic_hardware l)).
  Notation PF := (flat_start T0 first P0 m0 : nat -> ast (flat_agent T0)).

  Local Lemma home_cpu t : (t < nthread)%nat -> (home t < ncpu)%nat.
  Proof using START. apply (start_home _ _ _ _ _ _ START). Qed.
  Local Lemma no_switch (p : cprim) : nothing p -> switch_means p = Ordinary.
  Proof using. done. Qed.
  Local Lemma no_pass c (p : cprim) m (l : log locks) : nothing p -> holds_none c l = true ->
    exists v o, lstep locks c p m l = Ok v m o /\ holds_none c (Event c o :: l) = true.
  Proof using. done. Qed.
  Local Notation own_calm := (holds_none_own NUM_LOCK budget init kernel_guarded).
  Local Notation out_calm := (holds_none_out NUM_LOCK budget init kernel_guarded).
  Local Lemma never_wrong_here : never_wrong nthread (thread_layer locks (cell_baton cell_of_cpu unlocked_cell) nthread home first holds_none) (thread_agent T) P.
  Proof using cpus code threads arch client_calls begins START start.
    exact (scheduler_never_wrong kernel_entry C exported M code locks ncpu nthread cpus threads home first home_cpu begin cell_of_cpu unlocked_cell holds_none own_calm
      nothing no_switch no_pass out_calm timer user arch of_thread at_stage due free client_calls begins P start).
  Qed.

  (** * 6. All this on one shared memory

      CPUs that interleave over one memory, each with a continuation for every thread of its own, with the locks' code linked in: none does
      anything undefined, no two are about to touch the same cell, and in the log of threads that explains what they have done, each CPU that
      is being handed over is in a state that [promised] allows for the thread that comes. *)
  Theorem scheduler_on_shared_memory g : multicore_reach ncpu HW0 ST cpu_fairness memory PF g ->
    (forall c, (c < ncpu)%nat -> ~ multicore_wrong HW0 ST cpu_fairness c g) /\ ~ conflict ncpu HW0 ST g /\
    exists l, mlog g = erase SO (cpu_view atomics home l) /\ forall c d, transit atomics home c l = Some d ->
      exists Y, State.holds c (thread_of c) (timer c) Y d /\ promised c (thread_of c) (Z.of_nat (current_thread atomics first c (cpu_view atomics home l))) Y.
  Proof using cpus init_apart code locks_apart threads arch client_calls begins START start start_parked threads_apart threads_init M0 CPUS LOCKS FAIR.
    intros Hr.
    destruct (locks_in_threads kernel_entry ncpu budget fairness_bound NUM_LOCK init kernel_guarded Mlock contending
      (locks_implemented algorithm kernel_entry ncpu budget fairness_bound init kernel_guarded cpus) (proj1 (locks_free algorithm)) (proj2 (locks_free algorithm))
      (fun k m => map_filter_subseteq _ m) C exported M locks_apart nthread home first begin cell_of_cpu unlocked_cell
      (fun k m r Hd Hp => kernel_guarded_unlocked m r Hd Hp k) holds_none P START start_parked threads_apart threads_init init_apart m0 M0
      memory CPUS LOCKS fairness FAIR never_wrong_here g Hr) as (H1 & H2 & l & Hl & Ht).
    split; [exact H1|]. split; [exact H2|]. exists l. split; [exact Hl|]. intros c d Hd.
    destruct (thread_abs_same nthread atomics locks lock_view (cell_baton cell_of_cpu unlocked_cell) home first holds_none l) as (_ & E2 & E3 & _).
    rewrite <- E2. rewrite <- E3 in Hd.
    exact (highest_priority_runs kernel_entry C exported M code locks ncpu nthread cpus threads home first home_cpu begin cell_of_cpu unlocked_cell holds_none own_calm
      nothing no_switch no_pass out_calm timer user arch of_thread at_stage due free client_calls begins P start _ c d Ht Hd).
  Qed.
  Notation between := (between_calls kernel_entry C exported M locks nthread home first begin cell_of_cpu unlocked_cell holds_none thread_of timer promises
    (can C nthread home of_thread at_stage due free)).
  (** * 7. Calls return on shared memory

      In every execution there in which its CPU moves, and turns to it, again and again, a thread is between two calls again and again. *)
  Theorem scheduler_calls_return_on_shared_memory (ex : nat -> multicore HW0 (A := flat_agent T0)) (schedule : nat -> nat) t :
    ex 0%nat = multicore_start HW0 memory PF -> (forall i, multicore_step ncpu HW0 ST cpu_fairness (schedule i) (ex i) (ex (Datatypes.S i))) ->
    (t < nthread)%nat -> fair schedule (home t) -> (forall i, exists j, (i <= j)%nat /\ fcur T0 (magent (ex j) (home t)) = t) ->
    forall i, exists j x l, (i <= j)%nat /\ between t x l /\ fcode T0 (magent (ex j) (home t)) t = (tphase T x, lower (tcode T x)).
  Proof using cpus init_apart code locks_apart threads arch client_calls begins START start start_parked threads_apart threads_init M0 CPUS LOCKS FAIR.
    set (hands := hands_valid locks nthread home first cell_of_cpu unlocked_cell holds_none (whole_promise cell_of_cpu (cpu_promise thread_of timer promises))).
    set (TL := thread_layer locks (cell_baton cell_of_cpu unlocked_cell) nthread home first holds_none). set (TA := thread_agent T).
    pose proof (between_kept kernel_entry C exported M code locks ncpu nthread cpus threads home first home_cpu begin cell_of_cpu unlocked_cell holds_none own_calm
      nothing no_switch no_pass out_calm timer user arch of_thread at_stage due free client_calls begins P start) as Hkept.
    apply (locks_in_threads_return kernel_entry ncpu budget fairness_bound NUM_LOCK init kernel_guarded Mlock contending
      (locks_implemented algorithm kernel_entry ncpu budget fairness_bound init kernel_guarded cpus) (proj1 (locks_free algorithm)) (proj2 (locks_free algorithm))
      (fun k m => map_filter_subseteq _ m) C exported M locks_apart nthread home first begin cell_of_cpu unlocked_cell
      (fun k m r Hd Hp => kernel_guarded_unlocked m r Hd Hp k) holds_none P START start_parked threads_apart threads_init init_apart m0 M0
      memory CPUS LOCKS fairness FAIR never_wrong_here (and_legal TL hands) (fun t => run TL TA hands t (between t)) between).
    - by intros l [_ Hl].
    - split; [by constructor|constructor].
    - intros u Hu. by apply Hkept.
    - intros u x l Hu Hx. by apply safe_step_and_legal, Hkept.
    - intros u x l Hu Hx. by apply run_and_legal.
  Qed.
End shared_memory.

Section start_up.
  (** Any system: of each thread that it defines, the process, the CPU, the priority, and the period and budget of its reservation, 0 without one.
      Each CPU's idle thread belongs to it, and threads that are not defined to CPU 0. *)
  Context (home base time_period time_budget process : Z -> Z) (defined : list Z) (defined_bound : forall t, t ∈ defined -> NUM_CPU <= t < NUM_THREAD).
  Context (home_idle : forall t, 0 <= t < NUM_CPU -> home t = t /\ base t = 0).
  Context (rest_undefined : forall t, NUM_CPU <= t < NUM_THREAD -> t ∉ defined -> home t = 0 /\ base t = 0).
  Context (no_budget : forall t, t ∉ defined \/ time_period t = 0 -> time_period t = 0 /\ time_budget t = 0).
  Context (base_bound : forall t, t ∈ defined -> 0 <= base t < NUM_PRIORITY).
  Context (time_bound : forall t, t ∈ defined -> 0 <= time_period t < horizon /\ 0 <= time_budget t < horizon).
  (** The code of the layers, and the CPU that starts the system. *)
  Context (kernel_entry : Z -> Z) (M : module) (boot : nat) (HC : M "arch_cpu"%string = None).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (passes : cprim -> Prop) (timer : nat -> mem -> Prop).
  Notation calls := (start_up_calls home base time_period time_budget process defined).

  (** * 8. Start-up

      Whatever the memory of queues, threads and the scheduler contains: after [queue_init], [thread_init] and [sched_init], and [thread_define]
      and [sched_reserve] for each thread of the system, every CPU has cells of its own, none of which is another's, in which [sched_init_cpu]
      begins with what all its threads promise each other from then on: its idle thread runs, and no ready thread has a higher priority.

      What [arch] and the timer have of a CPU that begins ([arch_begins], [timer_part]) is their duty. *)
  Theorem start_up_promises dq dt ds dm : start_cells dq dt ds dm -> dq ##ₘ dt ∪ (ds ∪ dm) -> dt ##ₘ ds ∪ dm -> ds ##ₘ dm ->
    calls_leave kernel_entry M boot calls (dq ∪ (dt ∪ (ds ∪ dm))) (fun d => forall e c, d ⊆ e -> 0 <= Z.of_nat c < NUM_CPU ->
      arch_begins (Z.of_nat c) e -> timer c (part e (timer_part home c)) ->
      exists X w, w ⊆ e /\ (forall x, is_Some (w !! x) -> cell_home home x = Z.of_nat c) /\ State.holds c (of_home home c) (timer c) X w /\
        does passes kernel_entry M c (of_home home c) (timer c) "sched_init_cpu" [] X (fun _ Y => promised c (of_home home c) (Z.of_nat c) Y)).
  Proof using All.
    apply (StartUpCode.start_up_promises home base time_period time_budget process defined defined_bound home_idle rest_undefined no_budget kernel_entry M boot HM HT HQ
      base_bound time_bound passes timer HR HC).
  Qed.
End start_up.
