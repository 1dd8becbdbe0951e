(** The theorems of [Main] and [Cpus] are not vacuous: everything they assume can be met at once, and executions of the kind they speak
    of exist.

    First [Main]: a system of 144 threads on 16 CPUs, and that the C of start-up leaves what threads promise each other from then on. Then
    [Cpus]: for anything that satisfies its premises, if the clients never fall silent, there is an infinite execution of the kernel with its
    locks' code in which every CPU is served again and again, on a scheduler as fair as the locks need; and one system that satisfies all
    premises: up to 16 CPUs, 1,000 frames, and on each CPU a program that makes containers, allocates, shares and frees frames, and uses its
    ready queues forever. *)
From Ashlar Require Import Cpus witness.Memory witness.System witness.Client witness.Run calculus.linking.LinkInfinite layers.spinlock.RoundRobin.
From Ashlar Require Import layers.spinlock.Proof machine.KernelChain machine.SharedForever.
From Ashlar Require witness.SchedulerRuns witness.SchedulerShared witness.StartUpCells layers.sched.cpu.StartUpCode.

(** * Threads

    What [Main] assumes can be met at once. On each of 16 CPUs its idle thread and eight others serve the timer's interrupt and the
    periods and deadlines that it returns, let the scheduler decide, show their numbers, yield, sleep until a deadline, charge frames to the root container, end, and start others; below them
    are the locks, and a clock that runs on each time that it is read. The idle threads begin, on CPUs as start-up should leave them but that one other
    thread of each is blocked, which they wake. *)
Theorem threads_premises_met : never_wrong 144 SchedulerRuns.workers_layer SchedulerRuns.workers_agent SchedulerRuns.threads_at_start.
Proof. exact SchedulerRuns.workers_never_wrong. Qed.

(** And so on shared memory, with either lock's code. [witness/SchedulerPlay.v] has a run of one CPU. *)
Theorem threads_shared_premises_met (algorithm : lock_algorithm) (fairness_bound : nat) g :
  SchedulerShared.workers_reach algorithm fairness_bound g -> SchedulerShared.workers_safe algorithm fairness_bound g.
Proof. exact (SchedulerShared.workers_on_shared_memory algorithm fairness_bound g). Qed.

Section start_up.
  Import StartUpCode.
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

  (** * The first state

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

(** So can what [start_up_promises] assumes of memory: the cells of queues, threads and the scheduler, all of which contain 7. *)
Theorem start_up_premises_met : exists dq dt ds dm : mem, StartUpCode.start_cells dq dt ds dm /\ dq ##ₘ dt ∪ (ds ∪ dm) /\ dt ##ₘ ds ∪ dm /\ ds ##ₘ dm.
Proof. do 4 eexists. exact StartUpCells.start_cells_there. Qed.

Section forever.
  (** What [Cpus] assumes. *)
  Context (C : client) (ncpu : nat) (client_start : nat -> cstate C) (kernel_entry : Z -> Z) (M : module).
  Context (code_present : forall f fd, kernel_code f = Some fd -> M f = Some fd).
  Context (acquire_below : M ACQUIRE = None) (release_below : M RELEASE = None).
  Context (arch_below : forall f, f ∈ arch_used -> M f = None).
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frame_memory) (frames_start_valid : frame_memory_valid frames_start).
  Context (shares_start : share_state) (shares_start_valid : share_valid shares_start) (init : Z -> mem).
  Context (init_objects : forall k o, kernel_object_of k = Some o ->
    kernel_rep kernel_entry o (kernel_initial root_quota frames_start shares_start o) (init k)).
  Context (init_other : forall k, kernel_object_of k = None -> init k = ∅).
  Context (ready_start : nat -> ready) (cpu_init : nat -> mem).
  Context (cpu_objects : forall c, (c < ncpu)%nat -> ready_rep (Z.of_nat c) (ready_start c) (cpu_init c)).
  Context (cpus_disjoint : forall c c', c <> c' -> cpu_init c ##ₘ cpu_init c').
  Context (cpu_init_disjoint : forall c k, cpu_init c ##ₘ init k).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation specification := (kernel_top kernel_entry root_quota frames_start shares_start).
  Notation exported := (kernel_exported kernel_entry root_quota frames_start shares_start).
  Context (requirements_kept : never_wrong ncpu (top_layer X) (system C (top_engine X specification))
    (Cpus.top C client_start kernel_entry root_quota frames_start shares_start ready_start)).
  Context (algorithm : lock_algorithm) (cpus : Z.of_nat ncpu <= NUM_CPU) (fairness_bound : nat).
  Context (names_distinct : upper_module (reserved (lock_module algorithm)) M).

  (** Further premises: at least one CPU, a fairness bound that admits CPUs in turn, clients that show values for ever. *)
  Context (cpu_there : (0 < ncpu)%nat) (fairness_bound_enough : (ncpu <= fairness_bound)%nat).
  Context (client_speaks : forall c s, speaks C c s).

  Notation atomics := (atomics_layer fairness_bound init kernel_guarded (lock_contending algorithm ncpu kernel_budget fairness_bound)).
  Notation linked_agent :=
    (system C (c_engine (arch_builtins kernel_entry) (module_union M (lock_module algorithm)) exported)).
  Notation linked := (Cpus.linked C client_start kernel_entry M root_quota frames_start shares_start cpu_init algorithm).

  Local Lemma kernel_goes_on : execution ncpu atomics linked_agent linked (going ncpu atomics linked_agent linked)
      (whose ncpu atomics linked_agent linked) /\
    forall c, (c < ncpu)%nat -> fair (whose ncpu atomics linked_agent linked) c.
  Proof.
    set (spec := expand_spec X specification).
    destruct (locks_implemented algorithm kernel_entry ncpu kernel_budget fairness_bound init kernel_guarded cpus)
      as [Hout (wf & outside & IL & _)].
    assert (Hnw : never_wrong ncpu atomics linked_agent linked).
    { eapply kernel_on_atomics_refines_specification; eassumption. }
    pose proof (kernel_layout_ok kernel_entry root_quota root_quota_word frames_start frames_start_valid shares_start shares_start_valid init init_objects
      init_other) as Hlayout.
    pose proof (Cpus.start_exact ncpu kernel_entry root_quota frames_start shares_start ready_start) as Hexact.
    assert (Hstuck : forall g c, reach ncpu (lock_layer NUM_LOCK kernel_budget (object_data X))
      (system C (object_engine X spec)) (lock_machine X C specification client_start
        (kernel_start kernel_entry root_quota frames_start shares_start ready_start)) g -> (c < ncpu)%nat ->
      anext (system C (object_engine X spec)) c (gagent g c) <> AStuck).
    { intros g c. eapply Cpus.middle_not_stuck; eassumption. }
    pose proof (code_invariant_step X kernel_entry M exported spec C NUM_LOCK kernel_budget ncpu init kernel_guarded Hlayout
      (kernel_disciplined kernel_entry root_quota frames_start shares_start)
      (kernel_implemented kernel_entry root_quota frames_start shares_start M code_present acquire_below release_below arch_below)
      (kernel_initial_valid root_quota root_quota_word frames_start frames_start_valid shares_start shares_start_valid)
      (fun c => dom (cpu_init c)) client_start (kernel_start kernel_entry root_quota frames_start shares_start ready_start) Hexact Hstuck)
      as Hstep.
    pose proof (code_invariant_init X kernel_entry M exported spec C NUM_LOCK kernel_budget ncpu init kernel_guarded
      (fun c => dom (cpu_init c)) client_start cpu_init (kernel_start kernel_entry root_quota frames_start shares_start ready_start)
      (fun c Hc => kernel_start_rep kernel_entry root_quota frames_start shares_start ready_start cpu_init c (cpu_objects c Hc))
      Hexact (fun c _ => eq_refl)) as Hinit.
    assert (Hpart : partitioned init (fun c => dom (cpu_init c)) []) by (eapply Cpus.start_partition; eassumption).
    pose proof (guarantee_init X spec C NUM_LOCK kernel_budget ncpu init kernel_guarded (fun c => dom (cpu_init c)) client_start
      (kernel_start kernel_entry root_quota frames_start shares_start ready_start) Hpart) as Hnil.
    apply (link_execution_exists ncpu atomics (lock_layer NUM_LOCK kernel_budget (cell_data init kernel_guarded))
      (arch_builtins kernel_entry) (lock_module algorithm) (reserved (lock_module algorithm)) lock_view wf outside IL C exported
      M names_distinct Hout client_start cpu_init _ (fun l H => proj1 (proj2 H)) Hnil _ _ Hinit Hstep (fun c t l _ H => H)).
    - intros c t l (s & m & a & x & -> & _). by exists s, m.
    - exact client_speaks.
    - exact cpu_there.
    - intros c p m l. apply atomics_step_not_blocked.
    - exact Hnw.
    - intros l. by apply locks_by_turns.
  Qed.

  (** An infinite execution, with the locks' code, on atomic cells. Every CPU moves again and again, and its client shows a
      value again and again. *)
  Theorem kernel_execution_exists : exists ex schedule, execution ncpu atomics linked_agent linked ex schedule /\
    forall c, (c < ncpu)%nat -> fair schedule c /\
      forall i, exists j s m v, (i <= j)%nat /\ gagent (ex j) c = Idle s m /\ cnext C c s = COut v.
  Proof.
    destruct kernel_goes_on as [Hex Hfair]. eexists _, _. split; [exact Hex|]. intros c Hc. split; [by apply Hfair|].
    apply (shows_forever ncpu atomics C _ c _ _ (proj2 Hex) (Hfair c Hc)); [|by apply client_speaks].
    eapply kernel_starvation_freedom; [eassumption..|by apply Hfair].
  Qed.

  Notation bounded_fair := (bounded_fair fairness_bound (lock_contending algorithm ncpu kernel_budget fairness_bound)).
  Notation linked_code := (module_union M (lock_module algorithm)).

  (** The same on shared memory, with hardware that is exactly as fair as the locks need. *)
  Theorem kernel_shared_execution_exists : exists ex schedule,
    ex 0%nat = multicore_start atomic_hardware (memory ncpu init cpu_init (Z.to_nat NUM_LOCK))
      (programs kernel_entry linked_code exported C client_start cpu_init) /\
    (forall i, multicore_step ncpu atomic_hardware (shared_kernel kernel_entry linked_code exported C) bounded_fair (schedule i)
      (ex i) (ex (S i))) /\
    forall c, (c < ncpu)%nat -> fair schedule c.
  Proof.
    destruct kernel_goes_on as [Hex Hfair]. set (ex := going _ _ _ _) in *. set (schedule := whose _ _ _ _) in *.
    destruct (shared_execution ncpu (H := atomic_hardware) (shared_kernel kernel_entry linked_code exported C) bounded_fair
      (memory ncpu init cpu_init (Z.to_nat NUM_LOCK)) linked (atomic_ownership init kernel_guarded bounded_fair)
      (atomic_ownership_ok init kernel_guarded bounded_fair Cpus.guarded_part)) with (ex := ex) (schedule := schedule)
      as (H0 & Hs & _).
    - intros c l. apply lock_bounded_fair_erase.
    - apply kernel_dealt; [exact cpus_disjoint|exact cpu_init_disjoint|eapply Cpus.init_disjoint; eassumption|
        eapply Cpus.init_in_range; eassumption].
    - eapply kernel_on_atomics_refines_specification; eassumption.
    - intros c l. apply lock_bounded_fair_erase.
    - exact Hex.
    - eexists _, schedule. split; [exact H0|]. by split.
  Qed.
End forever.

(** ** A system *)

(** No function of a module has one of these names. *)
Local Lemma module_disjoint (reserved : string -> bool) l : forallb (fun g => negb (reserved g.1)) l = true ->
  upper_module reserved (module_of l).
Proof.
  intros Hl f Hf. induction l as [|[g fd] l IH]; [done|]. cbn [forallb module_of fst] in *. apply andb_true_iff in Hl as [Hg Hl].
  destruct (String.eqb_spec f g) as [->|]; [|by apply IH]. by rewrite Hf in Hg.
Qed.
Local Lemma union_disjoint (reserved : string -> bool) M M' : upper_module reserved M -> upper_module reserved M' ->
  upper_module reserved (module_union M M').
Proof. intros H H' f Hf. unfold module_union. by rewrite (H f Hf), (H' f Hf). Qed.

(** The code of all layers and nothing else. *)
Local Lemma code_disjoint algorithm : upper_module (reserved (lock_module algorithm)) kernel_code.
Proof. repeat apply union_disjoint; apply module_disjoint; destruct algorithm; vm_compute; reflexivity. Qed.
Local Lemma arch_disjoint f : f ∈ arch_used -> kernel_code f = None.
Proof. intros H. repeat (apply elem_of_cons in H as [->|H]; [reflexivity|]). by apply elem_of_nil in H. Qed.

Section workers.
  Context (ncpu : nat) (cpus : Z.of_nat ncpu <= NUM_CPU) (algorithm : lock_algorithm) (fairness_bound : nat).
  Notation X := (kernel_layout no_entry root_frames frames_free shares_defined).
  Notation specification := (kernel_top no_entry root_frames frames_free shares_defined).
  Notation exported := (kernel_exported no_entry root_frames frames_free shares_defined).
  Notation init := (lock_memory root_frames frames_free shares_defined).
  Notation cpu_init := (cpu_memory ncpu).
  Notation bounded_fair := (bounded_fair fairness_bound (lock_contending algorithm ncpu kernel_budget fairness_bound)).

  (** All that the theorems assume, at once. *)
  Theorem premises_met :
    kernel_code ACQUIRE = None /\ kernel_code RELEASE = None /\
    (forall f, f ∈ arch_used -> kernel_code f = None) /\
    0 <= root_frames < 2 ^ 32 /\ frame_memory_valid frames_free /\ share_valid shares_defined /\
    (forall k o, kernel_object_of k = Some o -> kernel_rep no_entry o (kernel_initial root_frames frames_free shares_defined o) (init k)) /\
    (forall k, kernel_object_of k = None -> init k = ∅) /\
    (forall c, (c < ncpu)%nat -> ready_rep (Z.of_nat c) (cpu_ready c) (cpu_init c)) /\
    (forall c c', c <> c' -> cpu_init c ##ₘ cpu_init c') /\
    (forall c k, cpu_init c ##ₘ init k) /\
    never_wrong ncpu (top_layer X) (system workers (top_engine X specification))
      (Cpus.top workers workers_start no_entry root_frames frames_free shares_defined cpu_ready) /\
    upper_module (reserved (lock_module algorithm)) kernel_code /\
    (forall c l, bounded_fair c (erase (atomic_ownership init kernel_guarded bounded_fair) l) -> bounded_fair c l).
  Proof using cpus.
    split; [reflexivity|]. split; [reflexivity|]. split; [exact arch_disjoint|].
    split; [exact root_frames_word|]. split; [exact frames_free_valid|]. split; [exact shares_defined_valid|].
    split; [exact (lock_memory_objects no_entry root_frames root_frames_word frames_free frames_free_valid shares_defined shares_defined_valid)|].
    split; [exact (lock_memory_other root_frames frames_free shares_defined)|].
    split; [exact (cpu_memory_objects ncpu cpus)|]. split; [exact (cpu_memory_disjoint ncpu cpus)|].
    split; [exact (cpu_lock_disjoint no_entry root_frames root_frames_word frames_free frames_free_valid shares_defined shares_defined_valid ncpu cpus)|].
    split; [exact (workers_never_wrong no_entry root_frames root_frames_word frames_free frames_free_valid eq_refl ncpu cpus)|].
    split; [exact (code_disjoint algorithm)|]. intros c l. apply lock_bounded_fair_erase.
  Qed.

  Notation atomics := (atomics_layer fairness_bound init kernel_guarded (lock_contending algorithm ncpu kernel_budget fairness_bound)).
  Notation linked_code := (module_union kernel_code (lock_module algorithm)).
  Notation linked_agent := (system workers (c_engine (arch_builtins no_entry) linked_code exported)).
  Notation linked := (Cpus.linked workers workers_start no_entry kernel_code root_frames frames_free shares_defined cpu_init algorithm).
  Context (cpu_there : (0 < ncpu)%nat) (fairness_bound_enough : (ncpu <= fairness_bound)%nat).

  (** The workers never go wrong, and run forever: on each CPU calls return and values are shown, again and again. *)
  Theorem workers_run_forever : never_wrong ncpu atomics linked_agent linked /\
    exists ex schedule, execution ncpu atomics linked_agent linked ex schedule /\
      forall c, (c < ncpu)%nat -> fair schedule c /\
        forall i, exists j s m v, (i <= j)%nat /\ gagent (ex j) c = Idle s m /\ cnext workers c s = COut v.
  Proof using cpus cpu_there fairness_bound_enough.
    destruct premises_met as (H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & H9 & H10 & H11 & H12 & H13 & _).
    assert (H0 : forall f fd, kernel_code f = Some fd -> kernel_code f = Some fd) by done.
    split; [eapply kernel_on_atomics_refines_specification; eassumption|].
    eapply kernel_execution_exists; try eassumption. intros; apply workers_speak.
  Qed.
  Notation shared := (shared_kernel no_entry linked_code exported workers).
  Notation memory := (KernelChain.memory ncpu init cpu_init (Z.to_nat NUM_LOCK)).
  Notation programs := (programs no_entry linked_code exported workers workers_start cpu_init).

  (** The same on shared memory, without data races. *)
  Theorem workers_run_forever_on_shared_memory :
    (forall g, multicore_reach ncpu atomic_hardware shared bounded_fair memory programs g ->
       ~ data_race no_entry linked_code exported workers ncpu g) /\
    exists ex schedule, ex 0%nat = multicore_start atomic_hardware memory programs /\
      (forall i, multicore_step ncpu atomic_hardware shared bounded_fair (schedule i) (ex i) (ex (S i))) /\
      forall c, (c < ncpu)%nat -> fair schedule c.
  Proof using cpus cpu_there fairness_bound_enough.
    destruct premises_met as (H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & H9 & H10 & H11 & H12 & H13 & H14).
    assert (H0 : forall f fd, kernel_code f = Some fd -> kernel_code f = Some fd) by done.
    split; [intros g; eapply kernel_data_race_freedom; eassumption|].
    eapply kernel_shared_execution_exists; try eassumption. intros; apply workers_speak.
  Qed.
End workers.

(** The functions that no worker calls, of all that clients may call: those of page maps. In a run of one CPU each of the
    others is called and returns; what they return there, refusals among it, is in [witness/Run.v]. *)
Theorem workers_call_functions : functions_not_called =
  ["pagemap_create"; "pagemap_missing"; "pagemap_prepare"; "pagemap_map"; "pagemap_unmap"; "pagemap_walk"; "pagemap_frame";
   "pagemap_pin"; "pagemap_root_of"; "pagemap_destroy_step"; "pagemap_load"; "pagemap_load_kernel"]%string.
Proof. vm_compute. reflexivity. Qed.
