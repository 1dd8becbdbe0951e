(** All together: threads that yield through their CPU's ready queues, on one memory for all CPUs, with the kernel's spin locks.

    From shared memory to the specification of the queues: the C of [yield], [sched_ready.c], [queue.c] and [thread.c], either lock's
    code, the switch as hardware; any client whose threads call nothing but [yield]. *)
From Ashlar Require Export layers.sched.threads.HandOver layers.sched.threads.SchedulerCells.
From Ashlar Require Export layers.spinlock.LocksInThreads layers.spinlock.Proof.
Local Open Scope Z_scope.

(** A CPU may be handed over while it holds no lock. *)
Definition holds_none {D} (c : nat) (l : lock_log D) : bool := match (held c l).1 with [] => true | _ => false end.

Section lock_layer.
  Context (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Notation L := (lock_layer nlock budget (cell_data init guarded)).
  Lemma holds_none_own : own_replay L holds_none.
  Proof. intros c e l Hne. unfold holds_none. simpl. by rewrite decide_False. Qed.
  Lemma holds_none_out c v m (l : log L) : holds_none c l = true ->
    exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\ holds_none c (Event c o :: l) = true.
  Proof.
    unfold holds_none. intros Hq. exists (OOut v). simpl. unfold lock_step. rewrite decide_True by done.
    destruct (held c l) as [[|k ks] n]; [|done]. done.
  Qed.
End lock_layer.

Section yield.
  Context (algorithm : lock_algorithm) (kernel_entry : Z -> Z) (ncpu budget fairness_bound : nat) (cpus : Z.of_nat ncpu <= NUM_CPU).
  Context (init : Z -> mem) (init_apart : forall k k', k <> k' -> init k ##ₘ init k').
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module (reserved (lock_module algorithm)) M).
  Context (HS : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HY : M "yield"%string = Some yield_code) (exported_yield : exported "yield"%string = true).
  Context (HB : M "arch_highest_bit"%string = None) (HC : M "arch_cpu"%string = None) (stack_below : M switch_stack = None).
  Context (client_calls : forall c u f args, cnext C c u = CCall f args -> f = "yield"%string /\ args = []).
  Notation contending := (lock_contending algorithm ncpu budget fairness_bound).
  Notation Mlock := (lock_module algorithm).
  Notation atomics := (atomics_layer fairness_bound init kernel_guarded contending).
  Notation locks := (locks budget NUM_LOCK init kernel_guarded).
  Notation O := (atomic_ownership init kernel_guarded (bounded_fair fairness_bound contending)).
  Notation B := (arch_builtins kernel_entry).
  Notation A1 := (system C (c_engine B M exported)).
  Notation S0 := (shared_kernel kernel_entry (module_union M Mlock) exported C).
  Notation S1 := (shared_kernel kernel_entry M exported C).
  Context (nthread : nat) (home first : nat -> nat) (begin : nat -> ast A1).
  Notation lower := (lower B Mlock C exported M).
  Notation T0 := (agent_threads S0 home switch_means (fun t => lower (begin t))).
  Notation T1 := (agent_threads S1 home switch_means begin).
  (** The cells of each CPU, handed over at its switches. *)
  Context (cell_of_cpu : nat -> cell -> bool).
  Notation X := (cell_baton cell_of_cpu scheduler_cell).
  Notation valid := (cpu_valid nthread home cell_of_cpu).

  (** The start: each thread of its CPU waits for its first turn, but one; the cells are apart. *)
  Context (P : nat -> tstate T1) (START : starts T1 ncpu nthread home first P).
  Context (start : forall t, (t < nthread)%nat -> between_calls kernel_entry C exported M locks nthread home first begin
    cell_of_cpu scheduler_cell holds_none t (P t) []).
  Notation P0 := (fun t => lower_thread B Mlock home C exported M S0 S1 switch_means begin (P t)).
  Context (start_parked : forall t, (t < nthread)%nat -> tphase T1 (P t) = Suspended -> all_parked (fun x => scheduler_cell x = true) (tmem T1 (P t))).
  Context (threads_apart : forall t t', (t < nthread)%nat -> (t' < nthread)%nat -> t <> t' -> tmem T1 (P t) ##ₘ tmem T1 (P t')).
  Context (threads_init : forall t k, (t < nthread)%nat -> tmem T1 (P t) ##ₘ init k).
  Context (m0 : nat -> mem) (M0 : flat_memory T0 nthread home P0 m0).
  Context (memory : mem) (CPUS : forall c, (c < ncpu)%nat -> m0 c ⊆ memory) (LOCKS : forall k, init k ⊆ memory).
  Context (fairness : nat -> atomic_log -> Prop).
  Context (FAIR : forall c l, fairness c (erase O l) -> bounded_fair fairness_bound contending c l).
  Notation HW0 := (switch_hardware atomic_hardware).
  Notation SO := (switch_ownership O nthread home first).
  Notation ST := (shared_threads S0 home switch_means (fun t => lower (begin t))).
  Notation cpu_fairness := (fun c (l : list (event (hmark HW0))) => fairness c (base_marks atomic_hardware l)).
  Notation PF := (flat_start T0 first P0 m0 : nat -> ast (flat_agent T0)).

  (** No CPU does anything undefined, no two touch the same cell at once; and in the threads' log that explains what the CPUs have done,
      each CPU that is being handed over has ready queues as the scheduler's invariant says for the thread that comes. *)
  Theorem yield_on_shared_memory g : multicore_reach ncpu HW0 ST cpu_fairness memory PF g ->
    (forall c, (c < ncpu)%nat -> ~ multicore_wrong HW0 ST cpu_fairness c g) /\ ~ conflict ncpu HW0 ST g /\
    exists l, mlog g = erase SO (cpu_view atomics home l) /\
      forall c d, transit atomics home c l = Some d -> valid c (current_thread atomics first c (cpu_view atomics home l)) d.
  Proof using cpus init_apart HM HS HQ HT HW HY exported_yield HB HC stack_below client_calls START start start_parked threads_apart
    threads_init M0 CPUS LOCKS FAIR.
    intros Hr.
    assert (Hfree : Mlock switch_stack = None /\ Mlock new_stack = None) by (by destruct algorithm).
    assert (NW : never_wrong nthread (thread_layer locks X nthread home first holds_none) (thread_agent T1) P).
    { apply (yield_never_wrong kernel_entry C exported M HS HQ HT HW HY exported_yield HB HC stack_below client_calls locks ncpu nthread home
        first begin cpus (start_home _ _ _ _ _ _ START) cell_of_cpu scheduler_cell holds_none); [apply holds_none_own| |exact start].
      intros c v m l. apply holds_none_out. }
    destruct (locks_in_threads kernel_entry ncpu budget fairness_bound NUM_LOCK init kernel_guarded Mlock contending
      (locks_implemented algorithm kernel_entry ncpu budget fairness_bound init kernel_guarded cpus) (proj1 Hfree) (proj2 Hfree)
      (fun k m => map_filter_subseteq _ m) C exported M HM nthread home first begin cell_of_cpu scheduler_cell
      (fun k m r Hd Hp => kernel_guarded_scheduler m r Hd Hp k) holds_none P START start_parked threads_apart threads_init init_apart m0 M0
      memory CPUS LOCKS fairness FAIR NW g Hr) as (H1 & H2 & l & Hl & Ht).
    split; [exact H1|]. split; [exact H2|]. exists l. split; [exact Hl|]. intros c d Hd.
    destruct (thread_abs_same nthread atomics locks lock_view X home first holds_none l) as (_ & E2 & E3 & _).
    rewrite <- E2. rewrite <- E3 in Hd.
    eapply (queues_at_switch kernel_entry C exported M HS HQ HT HW HY exported_yield HB HC stack_below client_calls locks ncpu nthread home
      first begin cpus (start_home _ _ _ _ _ _ START) cell_of_cpu scheduler_cell holds_none); [apply holds_none_own| |exact start|exact Ht|exact Hd].
    intros c' v m l'. apply holds_none_out.
  Qed.
End yield.
