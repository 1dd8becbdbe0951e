(** The main theorems. What they rest on is in [Assumptions.v] and in the book's page on theorems.

    They are about the C of the certified layers, as generated from the files that the kernel is built from, called by threads on any number of
    CPUs: on the machine of threads, where they hand their CPUs to each other, and on one shared memory.

    Threads serve the timer's interrupt and what it returns, the beginnings of periods and the deadlines of threads, which are woken then; they yield,
    let the scheduler decide who runs, hand over to a thread that is kept to run next, block, sleep until a deadline, end, and start others that are not in
    use, in any order that their client likes; they signal, poll, watch, open and close notifications that no thread waits for; and they call functions of containers,
    frames, page maps and shares, which take locks, where the specification has an answer in every valid state. [Cpus.v] is about clients that have a CPU each, and may call more of those functions. What is not in
    it: threads that are woken before their deadline, or from other CPUs, or whose time is lent. *)
From Ashlar Require Export layers.UnlockedCells layers.spinlock.LocksInThreads layers.spinlock.Proof machine.threads.ThreadDeadlock.
From Ashlar Require Export layers.sched.threads.SchedulerClients layers.sched.threads.KernelHistory.
From Ashlar Require Import layers.pagemap.Code layers.container.spec.Conservation.
From Ashlar Require layers.pagemap.Isolation.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

Section threads.
  (** Any client; a module that has the code of the layers, and exports their functions; the entries of the kernel's half of page maps. *)
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (code : has_scheduler exported M).
  Context (kernel : has_kernel kernel_entry exported M).
  Notation A := (system C (c_engine (arch_builtins kernel_entry) M exported)).
  Notation S := (shared_kernel kernel_entry M exported C).
  (** What locks guard at the start: the root container has [root_quota] frames, the frame table is [frames_start], the shares are defined as
      [shares_start] says ([objects_start]); and the notifications, for which no thread waits, have cells [notes]. *)
  Context (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state) (init notes : Z -> mem).
  Context (objects : objects_start kernel_entry root_quota frames_start shares_start init) (notes_idle : forall n, 0 <= n < NUM_NOTIFICATION -> notify_guarded n (notes n)).
  (** A layer below, with locks, that lets a CPU read the clock, and show values while it holds none. *)
  Context (passes : cprim -> Prop) (L : layer cprim mem) (lock_event_of : lop L -> option (lock_event mem)).
  Context (below : has_locks NUM_LOCK kernel_budget (all_start init notes) all_guarded passes L lock_event_of always_alone).
  Notation object_event_of := (few_event_of object_locks L lock_event_of).
  Notation alone := (few_alone_of object_locks L lock_event_of).
  Notation calm := (calm object_event_of init alone).
  (** CPUs and their threads; which cells go with a CPU when it is handed over: none that a lock guards. *)
  Context (ncpu nthread : nat) (cpus : Z.of_nat ncpu <= NUM_CPU) (threads : Z.of_nat nthread <= NUM_THREAD).
  Context (home first : nat -> nat) (home_cpu : forall t, (t < nthread)%nat -> (home t < ncpu)%nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (cells_parked : forall c x, cell_of_cpu c x = true -> parked_cell x = true).

  Notation thread_of := (thread_of home nthread).
  (** What [arch], the timer and the interrupt controller have of a CPU, which their functions keep: the clock does not run backwards, a thread has a page map or runs
      in any ([arch_does]). *)
  Context (timer : nat -> mem -> Prop) (user : Z -> Prop) (arch : arch_does passes kernel_entry M thread_of timer user).

  Notation uses := (uses kernel_entry root_quota frames_start shares_start).
  (** Which of the client's states belong to which thread, what a thread is about to do there, and what it knows; it makes calls that this allows
      ([call_may]), whatever they return. *)
  Context (of_thread : nat -> cstate C -> Prop) (at_stage : cstate C -> stage) (due free : cstate C -> option Z).
  Context (client_calls : keeps_calls C home nthread user of_thread at_stage due free uses).
  (** A thread that has been started goes on from [begin]. *)
  Context (begins : forall t, (t < nthread)%nat -> exists u m, begin t = @Idle _ _ C (c_engine (arch_builtins kernel_entry) M exported) u m /\
    of_thread t u /\ at_stage u = Goes /\ due u = None /\ free u = None).
  Notation promises := (promises nthread home).
  Notation can := (can C nthread home of_thread at_stage due free).
  Notation objects_sound := (locks_sound kernel_entry root_quota frames_start shares_start init L object_event_of ncpu).
  Notation sound := (fun l => objects_sound l /\ notes_in_order init notes (lock_part lock_event_of l)).
  Notation settled := (locks_settled kernel_entry root_quota frames_start shares_start L object_event_of).
  Local Notation each_may := (client_may kernel_entry C exported M code ncpu nthread cpus threads home home_cpu passes timer user arch of_thread at_stage due free uses client_calls).
  Local Notation begun_can := (begin_can kernel_entry C exported M nthread home begin of_thread at_stage due free begins).
  Notation O := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation spec := (expand_spec O (kernel_top kernel_entry root_quota frames_start shares_start)).
  Notation no_frames := (no_frames kernel_entry root_quota frames_start shares_start).
  Local Notation objects_below := (objects_below init notes passes L lock_event_of kernel_budget below).
  Local Notation other_events := (other_event O spec object_locks kernel_budget init L object_event_of ncpu no_frames).
  Local Notation locks_taken := (thread_locks_taken init notes passes L lock_event_of kernel_budget (Nat.lt_0_succ _) below notes_idle objects_sound settled other_events).
  Local Notation may_pass := (thread_locks_pass init notes passes L lock_event_of kernel_budget below objects_sound settled other_events).
  Local Notation layout_good := (layout_good kernel_entry root_quota frames_start shares_start init objects).
  Local Lemma may_show c v m l : (exists t, (t < nthread)%nat /\ home t = c) -> calm c l = true -> exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\
    calm c (Event c o :: l) = true /\ (sound l -> settled c l -> sound (Event c o :: l) /\ settled c (Event c o :: l)).
  Proof using below objects home_cpu.
    intros (t & Ht & <-) Hc.
    destruct (out_calm O spec object_locks kernel_budget init kernel_guarded layout_good passes L object_event_of alone objects_below ncpu no_frames (home t) v m l (home_cpu t Ht) Hc) as (o & Eo & Hc' & Hs).
    exists o. split_and!; [done..|]. intros [Hsound Hg] Hset. destruct (Hs Hsound Hset) as [Hsound' Hset']. split; [split; [done|]|done].
    by apply (shown_kept init notes passes L lock_event_of kernel_budget below (home t) v m l o).
  Qed.

  Notation X := (cell_baton cell_of_cpu parked_cell).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first calm).
  Notation base l := (base L (cpu_view L home l)).
  (* What has happened to the locks of objects, and to all locks. *)
  Notation locks_of l := (lock_part object_event_of (base l)).
  Notation all_locks_of l := (lock_part lock_event_of (base l)).
  Notation between := (between_calls kernel_entry C exported M L nthread home first begin cell_of_cpu parked_cell calm sound settled thread_of timer promises can).
  (** The start: each thread of its CPU waits for its first turn, but one, which finds its CPU steady. *)
  Context (P : nat -> tstate T) (start : forall t, (t < nthread)%nat -> between t (P t) []).
  Notation kept := (guaranteed L nthread home first cell_of_cpu parked_cell calm (whole_promise cell_of_cpu (cpu_promise thread_of timer promises)) sound settled).
  Local Notation calls_run := (use_runs kernel_entry C exported M kernel root_quota frames_start shares_start init objects
    passes L object_event_of alone objects_below ncpu nthread home first home_cpu begin cell_of_cpu (whole_promise cell_of_cpu (cpu_promise thread_of timer promises))
    (fun l => notes_in_order init notes (lock_part lock_event_of l)) (order_kept init notes L lock_event_of)).
  (** A theorem of [ClientThreads], about these threads. *)
  Local Notation here theorem := (theorem kernel_entry C exported M (stack_below _ _ code) L nthread home first begin cell_of_cpu parked_cell calm
    (calm_own object_event_of init alone (alone_own _ _ _ _ _ _ _ _ objects_below)) passes (others_ordinary _ _ _ _ _ _ _ _ below) sound settled
    (fun c e l He Hs => locks_settled_stable kernel_entry root_quota frames_start shares_start init objects L object_event_of ncpu c e l He (proj1 Hs))
    (kernel_acquire_below _ _ _ kernel) (kernel_release_below _ _ _ kernel) thread_guards thread_changes thread_guard_cells (busy_with init notes L lock_event_of) locks_taken cells_parked
    may_pass may_show thread_of timer promises (promises_thread nthread home) can uses calls_run each_may begun_can).
  Local Notation sound_start := (conj (locks_sound_start kernel_entry root_quota frames_start shares_start init objects L object_event_of ncpu) (I : notes_in_order init notes [])).

  Local Lemma threads_never_wrong : never_wrong nthread TL TA P.
  Proof using All.
    exact (here client_never_wrong P start sound_start).
  Qed.
  (** * 1. Refinement

      The C never has undefined behaviour, and no state comes up that a function does not expect, whatever the threads of all CPUs do; and what they do
      to containers, frames, page maps and shares is allowed by the specification, and so is what they do to notifications.

      More exactly: it is what CPUs without threads can do, on the machine that [Cpus] is about, whose clients make one call after the other, each
      of them one that a thread may make; there each function is one atomic step on its object, or one transaction. Each time that a CPU releases the lock of a notification,
      it leaves there what a signal, a poll, a watch, or the begin or end of a life makes of what was there when it acquired the lock ([notes_in_order]). *)
  Theorem threads_refine_specification : never_wrong nthread TL TA P /\
    forall l, traces nthread TL TA P l -> (exists (sequences : nat -> list made) x,
      (forall c, Forall (allowed O spec no_frames) (sequences c)) /\ same_log O (locks_of l) x /\
      traces ncpu (top_layer O) (system sequence (top_engine O (kernel_top kernel_entry root_quota frames_start shares_start)))
        (fun c => Idle (sequences c : cstate sequence) no_frames) (top_views O kernel_atomic x)) /\
      notes_in_order init notes (all_locks_of l).
  Proof using All.
    split; [exact threads_never_wrong|]. intros l Hl. destruct (here sound_always P start sound_start l Hl) as [Hs Hg].
    split; [|exact Hg].
    destruct (objects_history O spec object_locks kernel_budget init L object_event_of ncpu no_frames (base l) Hs) as (sequences & x & Hall & Hx & Ht).
    exists sequences, x. split_and!; [done..|]. exact (sequences_refine kernel_entry root_quota frames_start shares_start init objects ncpu sequences Hall x Ht).
  Qed.
  (** The cells that a lock guards are a valid object whenever it is free. *)
  Local Lemma locked_objects_valid l k o : traces nthread TL TA P l -> kernel_object_of k = Some o -> exists s, kernel_rep kernel_entry o s (published init k (locks_of l)) /\ kernel_valid o s.
  Proof using All.
    intros Hl Ho. pose proof (proj1 (here sound_always P start sound_start l Hl)) as Hs.
    by apply (locks_valid kernel_entry root_quota frames_start shares_start init objects L object_event_of ncpu (base l) k o Hs).
  Qed.

  (** * 2. Quota safety

      No process uses more frames than its quota, and all together use no more than the machine has for them.

      More exactly: whenever the containers' lock is free, their cells represent a tree of containers in which no usage
      exceeds its quota, the quota a container has given away is the sum of its children's quotas, every child has an
      existing parent ([container_valid]), and all containers together use no more than the root's quota. *)
  Theorem threads_quota_safety l : traces nthread TL TA P l ->
    exists s, container_rep s (published init LOCK_CONTAINER (locks_of l)) /\ container_valid s /\
      (forall c x, s !! c = Some x -> 0 <= usage x <= quota x) /\
      (forall x, s !! ROOT = Some x -> container_sum container.spec.Invariant.own s <= quota x).
  Proof using All.
    intros Hl. destruct (locked_objects_valid l LOCK_CONTAINER Containers Hl eq_refl) as (st & Hr & Hv). apply containers_rep in Hr as (s & -> & Hr).
    exists s. split_and!; [exact Hr|exact Hv|intros c y; by apply usage_within_quota|]. intros y Hy. destruct (total_within_root s y Hv Hy). lia.
  Qed.

  (** * 3. Frame safety

      No frame is allocated twice, and none is freed while a process owns it.

      More exactly: whenever the frame lock is free, its cells represent frames of which none is both free and owned
      ([frame_memory_valid]). And every change of the frame table in the whole history was one of these ([table_step]): a
      frame that was free and without an owner went to one owner; an owner was added to, or removed from, a frame that
      others own; the only owner was removed and the frame became free. *)
  Theorem threads_frame_safety l : traces nthread TL TA P l ->
    (exists s, frame_memory_rep s (published init LOCK_FRAME (locks_of l)) /\ frame_memory_valid s) /\
    exists x, same_log O (locks_of l) x /\
      TopHistory.history O (frame_memory_history O (frame_slot kernel_entry root_quota frames_start shares_start)) (top_views O kernel_atomic x).
  Proof using All.
    intros Hl. split.
    - destruct (locked_objects_valid l LOCK_FRAME FrameMemoryObject Hl eq_refl) as ([s|s|s|s|h|? ?] & Hr & Hv); try done. by exists s.
    - destruct (proj2 threads_refine_specification l Hl) as [(sequences & x & _ & Hx & Htop) _]. exists x. split; [exact Hx|].
      apply (top_history O _ sequence ncpu (kernel_top kernel_entry root_quota frames_start shares_start) (kernel_steps kernel_entry root_quota frames_start shares_start)
        (start_valid kernel_entry root_quota frames_start shares_start init objects) sequences (fun _ => no_frames) _ Htop).
  Qed.

  Notation map_cells p l := (published init (LOCK_PAGEMAP_BASE + p) (locks_of l)).
  Notation map_free p l := (holder (LOCK_PAGEMAP_BASE + p) (locks_of l) = None).
  Local Lemma published_disjoint l k k' : traces nthread TL TA P l -> k <> k' -> holder k (locks_of l) = None -> holder k' (locks_of l) = None ->
    published init k (locks_of l) ##ₘ published init k' (locks_of l).
  Proof using All.
    intros Hl Hne Hk Hk'. destruct (here sound_always P start sound_start l Hl) as [((_ & _ & Hp) & _) _].
    apply (fin_map_dom.map_disjoint_dom (M := gmap cell) (D := gset cell)). by apply Hp.
  Qed.

  (** * 4. Isolation by page maps

      A user program reaches exactly the memory that its page map maps: nothing of the kernel, no page both writable and
      executable, and no page table of its own or of another process.

      More exactly: whenever the lock of process [p]'s page map is free, its cells represent a page map, and the
      processor's walk for a user program finds exactly what is mapped, and changes no word, since all is marked as accessed and
      written that a processor would mark ([translates]). None of its tables is a table of
      another process's map, or a frame whose words programs and devices may write. *)
  Theorem threads_page_map_isolation l p : traces nthread TL TA P l -> 0 <= p < NUM_PROCESS ->
    (forall i, pagemap.Code.PAGEMAP_KERNEL_FIRST <= i < 512 -> pagemap.Spec.has (kernel_entry i) ARCH_PTE_USER = false) ->
    exists s, pagemap_rep kernel_entry p s (map_cells p l) /\ pagemap.Isolation.translates (map_cells p l) s /\
      forall f, pagemap.Isolation.has_table s f -> map_free p l ->
        (forall q s', 0 <= q < NUM_PROCESS -> q <> p -> map_free q l -> pagemap_rep kernel_entry q s' (map_cells q l) ->
           ~ pagemap.Isolation.has_table s' f) /\
        (forall w, holder LOCK_FRAME (locks_of l) = None -> frame_memory_rep w (published init LOCK_FRAME (locks_of l)) -> ~ words_shared w f).
  Proof using All.
    intros Hl Hp Hk. destruct (locked_objects_valid l (LOCK_PAGEMAP_BASE + p) (ProcessMap p) Hl (process_map_guards p Hp)) as (st & Hr & _).
    apply process_map_rep in Hr as (s & -> & Hr). exists s. split; [exact Hr|].
    split; [by eapply pagemap.Isolation.rep_translates|]. intros f Hf Hfree. split.
    - intros q s' Hq Hne Hfree' Hr'. eapply pagemap.Isolation.tables_disjoint; [exact Hr|exact Hr'| |exact Hf].
      apply published_disjoint; [done|lia|done|done].
    - intros w Hfree' Hr'. eapply pagemap.Isolation.tables_words_not_shared; [exact Hr|exact Hr'| |exact Hf].
      apply published_disjoint; [done|unfold LOCK_PAGEMAP_BASE, LOCK_FRAME; lia|done|done].
  Qed.

  (** * 5. The scheduler's promise

      Whenever a CPU is handed over, no ready thread of that CPU has a higher priority than the thread that comes, and the time that passes from
      then on is charged to the reservation that this thread spends, or to none if it spends none.

      More exactly: what is handed over is the memory of a scheduler's state in which this thread, and no other, runs; each other one
      is in the ready queue of its priority exactly if it is ready, and in the queue of parked threads exactly if it is parked; no
      ready queue of a higher priority has a thread ([promised]); and the reservation that is charged is valid, and one of this CPU's threads'. *)
  Theorem scheduler_keeps_its_promise l c d : traces nthread TL TA P l -> transit L home c l = Some d -> exists Y,
    let to := Z.of_nat (current_thread L first c (cpu_view L home l)) in
    State.holds c (thread_of c) (timer c) Y d /\ promised c (thread_of c) to Y /\ word Y "charged" = payer_of Y to /\
    (payer_of Y to = NONE \/ thread_of c (payer_of Y to) /\ reservation_valid (word Y "since") (reservation_of Y (payer_of Y to))).
  Proof using All.
    intros Hl Hd. destruct (here state_at_switch P start sound_start l c d Hl Hd) as (h & (Y & HY & _ & Hp) & _). exists Y. cbn zeta.
    pose proof Hp as [(_ & Hw & _) _]. split_and!; [exact HY|exact Hp|exact (work_pays _ _ _ _ Hw)|].
    rewrite <- (work_pays _ _ _ _ Hw). exact (valid_payer_charged (thread_of c) Y (work_accounts _ _ _ _ Hw)).
  Qed.

  (** * 6. Temporal isolation

      Whatever the threads of all CPUs do from one switch of a CPU to a later one, its threads take no more time from a reservation than what was
      left of its period, and one budget for each period that has begun since; but for what was run too long, because an alarm was served late,
      which is the growth of the debt and shortens later budgets. Of the periods that have begun, the first began when the old one had ended,
      and each later one a period later.

      Times are those of the last charge, if the reservation is being charged, else of the last look at the clock ([accounted_until]). *)
  Theorem threads_are_isolated_in_time e l c d d' X Y r : traces nthread TL TA P (e ++ l) -> transit L home c l = Some d -> transit L home c (e ++ l) = Some d' ->
    State.holds c (thread_of c) (timer c) X d -> State.holds c (thread_of c) (timer c) Y d' -> thread_of c r ->
    let x := reservation_of X r in let y := reservation_of Y r in
    exists k, 0 <= k /\ used y - used x <= time_left x + budget x * k + (debt y - debt x) /\
      (0 < k -> period_end x + (k - 1) * period x <= accounted_until Y r).
  Proof using All.
    intros Hel Hd Hd' HX HY Hr. pose proof (traces_before _ _ _ _ e l Hel) as Hl. destruct (scheduler_keeps_its_promise l c d Hl Hd) as (X' & HX' & [(_ & Hw & _) _] & _). destruct (scheduler_keeps_its_promise (e ++ l) c d' Hel Hd') as (Y' & HY' & [(_ & Hw' & _) _] & _).
    destruct (here reservations_at_switches P start sound_start e l c d d' X Hel (handed_transit L home c l d Hd) (handed_transit L home c (e ++ l) d' Hd') HX) as (Z & HZ & Hh).
    pose proof (holds_agree c (thread_of c) (timer c)) as Hagree. destruct (Hagree X X' d r HX HX' Hr) as [E1 E2]. destruct (Hagree Y Y' d' r HY HY' Hr) as [E3 E4]. destruct (Hagree Y Z d' r HY HZ Hr) as [E5 E6].
    destruct (Hh r Hr) as (hs & Ho & Hs). rewrite E5, E6. cbn zeta.
    pose proof (work_accounts _ _ _ _ Hw) as [[Hn Hc] Hv _]. pose proof (work_accounts _ _ _ _ Hw') as [[Hn' Hc'] _ _]. destruct (Hv r Hr) as [(Hok & _) _]. rewrite <- E1 in Hok.
    destruct (temporal_isolation hs (accounted_until X r) (reservation_of X r) (accounted_until Z r) Ho) as (k & Hk & Hu & Hp); [..|exact Hok|].
    - rewrite E2. unfold accounted_until. clear -Hn. destruct (_ =? _); lia.
    - rewrite <- E6, E4. unfold accounted_until. clear -Hn' Hc'. destruct (_ =? _); lia.
    - exists k. destruct Hs as (_ & _ & _ & _ & -> & ->). by split_and!.
  Qed.

  (** * 7. No lost wake-up

      A thread that is woken is not lost: it is kept, to run next, or waits in the ready queue of its priority, or, if its time is spent,
      for its next period; and so does a thread that was kept before. The running thread goes on, and while a thread is kept a decision is
      pending.

      This is about [sched_ready] of a thread of the same CPU whose own deadline is not to come any more, in any state in which a thread runs. *)
  Theorem no_lost_wake_up c self t Y : (c < ncpu)%nat -> steady c (thread_of c) self Y -> sleeps t Y -> timeouts Y !! t = None ->
    does passes kernel_entry M c (thread_of c) (timer c) "sched_ready" [t] Y (fun _ Z => steady c (thread_of c) self Z /\ all_awake t Y Z).
  Proof using code arch cpus threads.
    destruct code as [HM HQ HT _ _ HR _ _ _ _ _ HC _ _ _]. destruct arch as [timer_arms clock _ _ _ _ _ _ _].
    intros Hc HY Ht Hnone. apply serves_does. revert HY Ht Hnone. apply (sched_ready_steady c ltac:(lia) (thread_of c) (thread_bound nthread threads home c) passes kernel_entry M (timer c) HM HQ HT HR HC (timer_arms c) (clock c)).
  Qed.

  (** Each call returns if its thread is handed the CPU again: whatever the others do, a thread runs on to where it is between two calls. *)
  Local Lemma calls_return g t : reach nthread TL TA P g -> (t < nthread)%nat ->
    exists l e, glog g = e ++ l /\ others TL t e /\
      run TL TA kept t (between t) (gagent g t) l.
  Proof using All.
    intros Hr Ht. exact (proj2 (here ClientThreads.calls_return P start sound_start g t Hr Ht)).
  Qed.

  Local Lemma between_kept t : (t < nthread)%nat -> run TL TA kept t (between t) (P t) [] /\
    forall x l, run TL TA kept t (between t) x l -> safe_step TL TA kept t (run TL TA kept t (between t)) x l.
  Proof using All.
    intros Ht. split; [by apply run_done, start|]. intros x l. by apply (here running_step t x l).
  Qed.

End threads.

Local Lemma locks_free algorithm : lock_module algorithm switch_stack = None /\ lock_module algorithm new_stack = None.
Proof. by destruct algorithm. Qed.

Section shared_memory.
  (** Either lock's code; what each lock guards at the start; all that [Section threads] names. *)
  Context (algorithm : lock_algorithm) (kernel_entry : Z -> Z) (ncpu fairness_bound : nat) (cpus : Z.of_nat ncpu <= NUM_CPU).
  Context (C : client) (exported : string -> bool) (M : module) (code : has_scheduler exported M) (kernel : has_kernel kernel_entry exported M).
  Context (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state) (init notes : Z -> mem).
  Context (objects : objects_start kernel_entry root_quota frames_start shares_start init) (notes_idle : forall n, 0 <= n < NUM_NOTIFICATION -> notify_guarded n (notes n)).
  Notation first_data := (all_start init notes).
  Notation Mlock := (lock_module algorithm).
  Context (locks_apart : upper_module (spinlock.Spec.reserved Mlock) M).
  Notation contending := (lock_contending algorithm ncpu kernel_budget fairness_bound).
  Notation atomics := (atomics_layer fairness_bound first_data all_guarded contending).
  Notation locks := (locks kernel_budget NUM_LOCK first_data all_guarded).
  Notation O := (atomic_ownership first_data all_guarded (bounded_fair fairness_bound contending)).
  Notation B := (arch_builtins kernel_entry).
  Notation A := (system C (c_engine B M exported)).
  Notation S0 := (shared_kernel kernel_entry (module_union M Mlock) exported C).
  Notation S := (shared_kernel kernel_entry M exported C).
  Context (nthread : nat) (threads : Z.of_nat nthread <= NUM_THREAD) (home first : nat -> nat) (begin : nat -> ast A).
  Notation thread_of := (thread_of home nthread).
  Context (cell_of_cpu : nat -> cell -> bool) (cells_parked : forall c x, cell_of_cpu c x = true -> parked_cell x = true).
  (** What [arch] and the timer have. The clock is read without an event: what it shows next is a function of what it showed last. *)
  Notation nothing := (fun _ : cprim => False).
  Context (timer : nat -> mem -> Prop) (user : Z -> Prop) (arch : arch_does nothing kernel_entry M thread_of timer user).
  Context (of_thread : nat -> cstate C -> Prop) (at_stage : cstate C -> stage) (due free : cstate C -> option Z).
  Context (client_calls : keeps_calls C home nthread user of_thread at_stage due free (uses kernel_entry root_quota frames_start shares_start)).
  Context (begins : forall t, (t < nthread)%nat -> exists u m, begin t = @Idle _ _ C (c_engine B M exported) u m /\ of_thread t u /\ at_stage u = Goes /\ due u = None /\ free u = None).
  Notation lower := (lower B Mlock C exported M).
  Notation T0 := (agent_threads S0 home switch_means (fun t => lower (begin t))).
  Notation T := (agent_threads S home switch_means begin).
  Notation promises := (fun c to Y => promised c (thread_of c) to Y).
  (** The start: each thread of its CPU waits for its first turn, but one; cells are dealt out to threads and locks, and those that suspended
      threads have are no lock's. *)
  Context (P : nat -> tstate T) (START : starts T ncpu nthread home first P).
  Notation object_event_of := (few_event_of object_locks locks Some).
  Notation calm := (calm object_event_of init (few_alone_of object_locks locks Some)).
  Notation sound := (fun l => locks_sound kernel_entry root_quota frames_start shares_start init locks object_event_of ncpu l /\ notes_in_order init notes (lock_part (L := locks) Some l)).
  Notation settled := (locks_settled kernel_entry root_quota frames_start shares_start locks object_event_of).
  Notation between := (between_calls kernel_entry C exported M locks nthread home first begin cell_of_cpu parked_cell calm sound settled thread_of timer promises
    (can C nthread home of_thread at_stage due free)).
  Context (start : forall t, (t < nthread)%nat -> between t (P t) []).
  Notation P0 := (fun t => lower_thread B Mlock home C exported M S0 S switch_means begin (P t)).
  Context (start_parked : forall t, (t < nthread)%nat -> tphase T (P t) = Suspended -> all_parked (fun x => parked_cell x = true) (tmem T (P t))).
  Context (threads_apart : forall t t', (t < nthread)%nat -> (t' < nthread)%nat -> t <> t' -> tmem T (P t) ##ₘ tmem T (P t')).
  Context (threads_init : forall t k, (t < nthread)%nat -> tmem T (P t) ##ₘ first_data k).
  Context (m0 : nat -> mem) (M0 : flat_memory T0 nthread home P0 m0).
  Context (memory : mem) (CPUS : forall c, (c < ncpu)%nat -> m0 c ⊆ memory) (LOCKS : forall k, first_data k ⊆ memory).
  (** The hardware's scheduler is as fair as the locks need. *)
  Context (fairness : nat -> atomic_log -> Prop) (FAIR : forall c l, fairness c (erase O l) -> bounded_fair fairness_bound contending c l).
  Notation HW0 := (switch_hardware atomic_hardware).
  Notation SO := (switch_ownership O nthread home first).
  Notation ST := (shared_threads S0 home switch_means (fun t => lower (begin t))).
  Notation cpu_fairness := (fun c (l : list (event (hmark HW0))) => fairness c (base_marks atomic_hardware l)).
  Notation PF := (flat_start T0 first P0 m0 : nat -> ast (flat_agent T0)).

  Local Lemma home_cpu t : (t < nthread)%nat -> (home t < ncpu)%nat.
  Proof using START. apply (start_home _ _ _ _ _ _ START). Qed.
  Local Notation below := (locks_have_locks NUM_LOCK kernel_budget first_data all_guarded).
  (** A theorem of [Section threads], about these threads. *)
  Local Notation here theorem := (theorem kernel_entry C exported M code kernel root_quota frames_start shares_start init notes objects notes_idle nothing locks Some below
    ncpu nthread cpus threads home first home_cpu begin cell_of_cpu cells_parked timer user arch of_thread at_stage due free client_calls begins P start).
  Local Notation init_apart := (all_start_apart kernel_entry root_quota frames_start shares_start init objects notes notes_idle).
  Local Lemma never_wrong_here : never_wrong nthread (thread_layer locks (cell_baton cell_of_cpu parked_cell) nthread home first calm) (thread_agent T) P.
  Proof using cpus code kernel objects notes_idle cells_parked threads arch client_calls begins START start.
    exact (here threads_never_wrong).
  Qed.

  Notation TL := (thread_layer locks (cell_baton cell_of_cpu parked_cell) nthread home first calm).
  Local Lemma finished_free g t : reach nthread TL (thread_agent T) P g -> (t < nthread)%nat -> current_thread locks first (home t) (cpu_view locks home (glog g)) = t ->
    anext (thread_agent T) t (gagent g t) = ADone -> (held (home t) (base locks (cpu_view locks home (glog g)))).1 = [].
  Proof using cpus code kernel objects notes_idle cells_parked threads arch client_calls begins START start.
    intros Hr Ht _ Hd. destruct (here calls_return g t Hr Ht) as (l & e & El & He & Hrun). pose proof (reach_legal _ _ _ _ _ Hr) as Hleg. rewrite El in Hleg |- *.
    inversion Hrun as [x l0 Hb|x x' l0 Hn|x l0 p Hn]; subst; [|congruence|congruence].
    destruct Hb as [(u & m & h & d & Y & _ & [Hcpu _] & Hcalm & _)|(u & m & E & _)]; [|rewrite E in Hd; discriminate Hd].
    destruct (others_base nthread _ home first locks calm e l t Hleg Hcpu He) as [Hb _].
    pose proof (all_held init locks Some (home t) _ Hcalm) as Hc.
    assert ((held (home t) (base locks (cpu_view locks home l))).1 = []) as Hh.
    { etransitivity; [|exact Hc]. f_equal. f_equal. symmetry. apply lock_part_all. }
    assert (base locks (cpu_view locks home (e ++ l)) = base locks (cpu_view locks home e) ++ base locks (cpu_view locks home l)) as Eb by exact (base_app home locks e l).
    rewrite Eb. clear -Hb Hh. induction Hb as [|y b Hy Hb IH]; [exact Hh|]. simpl. by rewrite decide_False.
  Qed.
  (** * 8. No deadlock

      As long as the current thread of a CPU has not finished, some thread can take a step: threads never wait for each other in a cycle, since
      locks are taken in falling order and no CPU is handed over while it holds one. A thread that sleeps waits for its deadline, or for being woken. *)
  Theorem threads_never_deadlock g c : reach nthread TL (thread_agent T) P g -> (c < ncpu)%nat ->
    let t := current_thread locks first c (cpu_view locks home (glog g)) in anext (thread_agent T) t (gagent g t) <> ADone ->
    exists t' g', (t' < nthread)%nat /\ cpu_step nthread TL (thread_agent T) t' g g'.
  Proof using cpus code kernel objects notes_idle cells_parked threads arch client_calls begins START start.
    exact (threads_no_deadlock NUM_LOCK kernel_budget (cell_data first_data all_guarded) T (cell_baton cell_of_cpu parked_cell) ncpu nthread home first calm P START
      never_wrong_here finished_free g c).
  Qed.

  (** * 9. Freedom from data races, and all this on one shared memory

      CPUs that interleave over one memory, each with a continuation for every thread of its own, with the locks' code linked in: none does
      anything undefined, no two are about to touch the same cell, and what they have done is a log of the threads above, so that theorems 1 to 7
      hold of it. *)
  Theorem kernel_on_shared_memory g : multicore_reach ncpu HW0 ST cpu_fairness memory PF g ->
    (forall c, (c < ncpu)%nat -> ~ multicore_wrong HW0 ST cpu_fairness c g) /\ ~ conflict ncpu HW0 ST g /\
    exists l, mlog g = erase SO (cpu_view atomics home l) /\
      traces nthread TL (thread_agent T) P (thread_abs nthread atomics locks lock_view (cell_baton cell_of_cpu parked_cell) home first calm l).
  Proof using cpus code kernel objects notes_idle locks_apart cells_parked threads arch client_calls begins START start start_parked threads_apart threads_init M0 CPUS LOCKS FAIR.
    exact (locks_in_threads kernel_entry ncpu kernel_budget fairness_bound NUM_LOCK first_data all_guarded Mlock contending
      (locks_implemented algorithm kernel_entry ncpu kernel_budget fairness_bound first_data all_guarded cpus) (proj1 (locks_free algorithm)) (proj2 (locks_free algorithm))
      all_guarded_sub C exported M locks_apart nthread home first begin cell_of_cpu parked_cell
      all_guarded_parked calm P START start_parked threads_apart threads_init init_apart m0 M0
      memory CPUS LOCKS fairness FAIR never_wrong_here g).
  Qed.
  (** * 10. Calls return, or block

      A thread that is not handed its CPU again waits for that: it has blocked, or others go first. In every execution on shared memory in which its CPU moves, and turns to it, again and again, a thread is between two calls again and again. *)
  Theorem calls_return_on_shared_memory (ex : nat -> multicore HW0 (A := flat_agent T0)) (schedule : nat -> nat) t :
    ex 0%nat = multicore_start HW0 memory PF -> (forall i, multicore_step ncpu HW0 ST cpu_fairness (schedule i) (ex i) (ex (Datatypes.S i))) ->
    (t < nthread)%nat -> fair schedule (home t) -> (forall i, exists j, (i <= j)%nat /\ fcur T0 (magent (ex j) (home t)) = t) ->
    forall i, exists j x l, (i <= j)%nat /\ between t x l /\ fcode T0 (magent (ex j) (home t)) t = (tphase T x, lower (tcode T x)).
  Proof using cpus code kernel objects notes_idle locks_apart cells_parked threads arch client_calls begins START start start_parked threads_apart threads_init M0 CPUS LOCKS FAIR.
    set (kept := guaranteed locks nthread home first cell_of_cpu parked_cell calm (whole_promise cell_of_cpu (cpu_promise thread_of timer promises)) sound settled).
    set (TL := thread_layer locks (cell_baton cell_of_cpu parked_cell) nthread home first calm). set (TA := thread_agent T).
    pose proof (here between_kept) as Hkept.
    apply (locks_in_threads_return kernel_entry ncpu kernel_budget fairness_bound NUM_LOCK first_data all_guarded Mlock contending
      (locks_implemented algorithm kernel_entry ncpu kernel_budget fairness_bound first_data all_guarded cpus) (proj1 (locks_free algorithm)) (proj2 (locks_free algorithm))
      all_guarded_sub C exported M locks_apart nthread home first begin cell_of_cpu parked_cell
      all_guarded_parked calm P START start_parked threads_apart threads_init init_apart m0 M0
      memory CPUS LOCKS fairness FAIR never_wrong_here (and_legal TL kept) (fun t => run TL TA kept t (between t)) between).
    - by intros l [_ Hl].
    - split; [split; [exact (conj (locks_sound_start kernel_entry root_quota frames_start shares_start init objects locks object_event_of ncpu) (I : notes_in_order init notes []))|done]|constructor].
    - intros u Hu. by apply Hkept.
    - intros u x l Hu Hx. by apply safe_step_and_legal, Hkept.
    - intros u x l Hu Hx. by apply run_and_legal.
  Qed.
End shared_memory.
