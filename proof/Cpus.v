(** Clients without threads: the C of the certified layers, as generated from the files that the kernel is built from, where each of any
    number of CPUs runs one client from its start. A client is anything that calls kernel functions: programs, guests, the layers above.
    It may call more functions than the threads of [Main.v] may: also those of which the requirement speaks of what it has done before. *)
From Ashlar Require Import layers.Top layers.container.spec.Conservation layers.spinlock.Proof.
From Ashlar Require layers.pagemap.Isolation.
From Ashlar Require Import calculus.linking.LinkReturns calculus.locks.Deadlock calculus.top.TopHistory machine.KernelChain.

Section kernel.
  (** Any client, [ncpu] CPUs, each starting the client in its own state; the entries of the kernel's half of page maps; the
      code of the layers above, and of the locks. *)
  Context (C : client) (ncpu : nat) (client_start : nat -> cstate C) (kernel_entry : Z -> Z) (M : module).
  Context (code_present : forall f fd, kernel_code f = Some fd -> M f = Some fd).
  Context (acquire_below : M ACQUIRE = None) (release_below : M RELEASE = None).
  Context (arch_below : forall f, f ∈ arch_used -> M f = None).
  (** Memory as start-up leaves it, lock by lock: the root container has [root_quota] frames, the frame table is
      [frames_start], the shares are defined as [shares_start] says. *)
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frame_memory) (frames_start_valid : frame_memory_valid frames_start).
  Context (shares_start : share_state) (shares_start_valid : share_valid shares_start) (init : Z -> mem).
  Context (init_objects : forall k o, kernel_object_of k = Some o ->
    kernel_rep kernel_entry o (kernel_initial root_quota frames_start shares_start o) (init k)).
  Context (init_other : forall k, kernel_object_of k = None -> init k = ∅).
  (** And CPU by CPU: its ready queues and its own threads, in memory that is disjoint from all else. *)
  Context (ready_start : nat -> ready) (cpu_init : nat -> mem).
  Context (cpu_objects : forall c, (c < ncpu)%nat -> ready_rep (Z.of_nat c) (ready_start c) (cpu_init c)).
  Context (cpus_disjoint : forall c c', c <> c' -> cpu_init c ##ₘ cpu_init c').
  Context (cpu_init_disjoint : forall c k, cpu_init c ##ₘ init k).

  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation specification := (kernel_top kernel_entry root_quota frames_start shares_start).
  Notation exported := (kernel_exported kernel_entry root_quota frames_start shares_start).
  Notation code_layer := (lock_layer NUM_LOCK kernel_budget (cell_data init kernel_guarded)).
  Notation code_agent := (system C (c_engine (arch_builtins kernel_entry) M exported)).
  Notation top_agent := (system C (top_engine X specification)).

  (** The machine that runs the C code, and the machine of the specification. *)
  Definition code (c : nat) : ast code_agent := Idle (client_start c) (cpu_init c).
  Definition top (c : nat) : ast top_agent := Idle (client_start c) (kernel_start kernel_entry root_quota frames_start shares_start ready_start c).

  (** The client keeps the functions' requirements: at the top nothing goes wrong. *)
  Context (requirements_kept : never_wrong ncpu (top_layer X) top_agent top).

  Local Notation disciplined := (kernel_disciplined kernel_entry root_quota frames_start shares_start).
  Local Notation atomic_only := (kernel_atomic_locks kernel_entry root_quota frames_start shares_start).
  Local Notation start_valid := (kernel_initial_valid root_quota root_quota_word frames_start frames_start_valid shares_start shares_start_valid).
  Local Notation layout_good :=
    (kernel_layout_ok kernel_entry root_quota root_quota_word frames_start frames_start_valid shares_start shares_start_valid init init_objects init_other).
  Local Notation implemented :=
    (kernel_implemented kernel_entry root_quota frames_start shares_start M code_present acquire_below release_below arch_below).
  Local Notation objects_start := (kernel_start kernel_entry root_quota frames_start shares_start ready_start).
  Local Notation cells_start := (fun c => dom (cpu_init c)).
  Local Lemma start_objects c : (c < ncpu)%nat -> rep X (objects_start c) (cpu_init c).
  Proof using cpu_objects. intros Hc. by apply kernel_start_rep, cpu_objects. Qed.
  Local Lemma start_exact c : (c < ncpu)%nat -> holds_exactly X [] (objects_start c).
  Proof. intros _. apply kernel_start_holds. Qed.
  Local Lemma start_cells c : (c < ncpu)%nat -> dom (cpu_init c) = cells_start c.
  Proof. done. Qed.
  Local Lemma start_partition : partitioned init cells_start [].
  Proof using init_objects init_other cpus_disjoint cpu_init_disjoint.
    apply partitioned_nil.
    - intros c c' Hne. apply fin_map_dom.map_disjoint_dom. by apply cpus_disjoint.
    - intros c k. apply fin_map_dom.map_disjoint_dom. by apply cpu_init_disjoint.
    - intros k k' Hne. apply fin_map_dom.map_disjoint_dom. by eapply kernel_init_disjoint.
  Qed.

  Local Notation middle_layer := (lock_layer NUM_LOCK kernel_budget (object_data X)).
  Local Notation middle_agent := (system C (object_engine X (expand_spec X specification))).
  Local Notation middle := (lock_machine X C specification client_start objects_start).
  Local Lemma middle_never_wrong :
    never_wrong ncpu middle_layer middle_agent middle /\
    (forall l, traces ncpu middle_layer middle_agent middle l ->
       traces ncpu (top_layer X) top_agent top (top_views X kernel_atomic l)).
  Proof using requirements_kept root_quota_word frames_start_valid shares_start_valid.
    apply (top_refines X NUM_LOCK kernel_budget ncpu kernel_atomic C specification
      disciplined atomic_only start_valid
      client_start objects_start start_exact requirements_kept).
  Qed.
  Local Lemma middle_not_stuck g c : reach ncpu middle_layer middle_agent middle g -> (c < ncpu)%nat ->
    anext middle_agent c (gagent g c) <> AStuck.
  Proof using requirements_kept root_quota_word frames_start_valid shares_start_valid.
    intros Hr Hc Hn. apply (proj1 middle_never_wrong g c Hr Hc). unfold goes_wrong. by rewrite Hn.
  Qed.

  (** * 1. Refinement

      The C code never has undefined behaviour, and everything it does is allowed by the specification.

      More exactly: for each log of the C code there is one with the same events over abstract objects in place of cells;
      and that one, with each function as one atomic step on its object, is a log of the specification. *)
  Theorem kernel_refines_specification :
    never_wrong ncpu code_layer code_agent code /\
    forall l, traces ncpu code_layer code_agent code l ->
      exists x, same_log X l x /\ traces ncpu (top_layer X) top_agent top (top_views X kernel_atomic x).
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint.
    pose proof (data_refines X kernel_entry M exported (expand_spec X specification) C NUM_LOCK
      kernel_budget ncpu init kernel_guarded
      layout_good disciplined
      implemented
      start_valid cells_start client_start cpu_init objects_start
      start_objects start_exact start_cells start_partition middle_not_stuck) as [Hnw Ht].
    split; [exact Hnw|]. intros l Hl. destruct (Ht l Hl) as (x & Hx & HT). exists x. split; [exact Hx|].
    by apply (proj2 middle_never_wrong).
  Qed.

  (** * 2. Mutual exclusion

      Two CPUs never hold the same lock at the same time. *)
  Theorem kernel_mutual_exclusion l c c' k : traces ncpu code_layer code_agent code l ->
    k ∈ (held c l).1 -> k ∈ (held c' l).1 -> c = c'.
  Proof using.
    intros Hl. apply (legal_exclusive NUM_LOCK kernel_budget (cell_data init kernel_guarded)). by eapply traces_legal.
  Qed.

  (** * 3. Quota safety

      No process uses more frames than its quota, and all together use no more than the machine has for them.

      More exactly: whenever the containers' lock is free, their cells represent a tree of containers in which no usage
      exceeds its quota, the quota a container has given away is the sum of its children's quotas, every child has an
      existing parent ([container_valid]), and all containers together use no more than the root's quota. *)
  Theorem kernel_quota_safety l : traces ncpu code_layer code_agent code l ->
    exists s, container_rep s (published init LOCK_CONTAINER l) /\ container_valid s /\
      (forall c x, s !! c = Some x -> 0 <= usage x <= quota x) /\
      (forall x, s !! ROOT = Some x -> container_sum own s <= quota x).
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint.
    intros Hl. destruct (proj2 kernel_refines_specification l Hl) as (x & Hx & _).
    assert (Hd : same_data X LOCK_CONTAINER (published init LOCK_CONTAINER l)
      (published (ld_init (object_data X)) LOCK_CONTAINER x)).
    { apply same_log_published; [|exact Hx].
      apply (lo_init _ _ _ layout_good). }
    unfold same_data in Hd. simpl in Hd. destruct Hd as ([s|s|s|s|h|? ?] & _ & Hr & Hv); [|done..].
    exists s. split; [exact Hr|]. split; [exact Hv|]. split; [intros c y; by apply usage_within_quota|].
    intros y Hy. destruct (total_within_root s y Hv Hy). lia.
  Qed.

  (** * 4. Frame safety

      No frame is allocated twice, and none is freed while a process owns it.

      More exactly: whenever the frame lock is free, its cells represent frames of which none is both free and owned
      ([frame_memory_valid]). And every change of the frame table in the whole history was one of these ([table_step]): a
      frame that was free and without an owner went to one owner; an owner was added to, or removed from, a frame that
      others own; the only owner was removed and the frame became free. *)
  Theorem kernel_frame_safety l : traces ncpu code_layer code_agent code l ->
    (exists s, frame_memory_rep s (published init LOCK_FRAME l) /\ frame_memory_valid s) /\
    exists x, same_log X l x /\
      history X (frame_memory_history X (frame_slot kernel_entry root_quota frames_start shares_start)) (top_views X kernel_atomic x).
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint.
    intros Hl. destruct (proj2 kernel_refines_specification l Hl) as (x & Hx & Htop). split.
    - assert (Hd : same_data X LOCK_FRAME (published init LOCK_FRAME l)
        (published (ld_init (object_data X)) LOCK_FRAME x)).
      { apply same_log_published; [|exact Hx]. apply (lo_init _ _ _ layout_good). }
      unfold same_data in Hd. simpl in Hd. destruct Hd as ([s|s|s|s|h|? ?] & _ & Hr & Hv); [done| |done..]. by exists s.
    - exists x. split; [exact Hx|].
      apply (top_history X _ C ncpu specification (kernel_steps kernel_entry root_quota frames_start shares_start) start_valid client_start
        objects_start _ Htop).
  Qed.

  Local Lemma published_disjoint l k k' : traces ncpu code_layer code_agent code l -> k <> k' ->
    holder k l = None -> holder k' l = None -> published init k l ##ₘ published init k' l.
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint.
    intros [f Hr] Hne Hk Hk'.
    destruct (guarantee_reached X kernel_entry M exported _ C NUM_LOCK kernel_budget ncpu init kernel_guarded
      layout_good disciplined
      implemented
      start_valid cells_start client_start cpu_init objects_start
      start_objects start_exact start_cells start_partition middle_not_stuck _ Hr) as [((_ & _ & Hp) & _) _].
    apply (fin_map_dom.map_disjoint_dom (M := gmap cell) (D := gset cell)). by apply Hp.
  Qed.

  Notation map_cells p l := (published init (LOCK_PAGEMAP_BASE + p) l).
  Notation map_free p l := (holder (LOCK_PAGEMAP_BASE + p) l = None).

  (** * 5. Isolation by page maps

      A user program reaches exactly the memory that its page map maps: nothing of the kernel, no page both writable and
      executable, and no page table of its own or of another process.

      More exactly: whenever the lock of process [p]'s page map is free, its cells represent a page map, and the
      processor's walk for a user program finds exactly what is mapped, and changes no word, since all is marked as accessed and
      written that a processor would mark ([translates]). None of its tables is a table of
      another process's map, or a frame whose words programs and devices may write. *)
  Theorem kernel_page_map_isolation l p : traces ncpu code_layer code_agent code l -> 0 <= p < NUM_PROCESS ->
    (forall i, pagemap.Code.PAGEMAP_KERNEL_FIRST <= i < 512 -> pagemap.Spec.has (kernel_entry i) ARCH_PTE_USER = false) ->
    exists s, pagemap_rep kernel_entry p s (map_cells p l) /\ pagemap.Isolation.translates (map_cells p l) s /\
      forall f, pagemap.Isolation.has_table s f -> map_free p l ->
        (forall q s', 0 <= q < NUM_PROCESS -> q <> p -> map_free q l -> pagemap_rep kernel_entry q s' (map_cells q l) ->
           ~ pagemap.Isolation.has_table s' f) /\
        (forall w, holder LOCK_FRAME l = None -> frame_memory_rep w (published init LOCK_FRAME l) -> ~ words_shared w f).
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint.
    intros Hl Hp Hk. destruct (proj2 kernel_refines_specification l Hl) as (x & Hx & _).
    assert (Hd : same_data X (LOCK_PAGEMAP_BASE + p) (map_cells p l)
      (published (ld_init (object_data X)) (LOCK_PAGEMAP_BASE + p) x)).
    { apply same_log_published; [|exact Hx]. apply (lo_init _ _ _ layout_good). }
    pose proof (process_map_guards p Hp) as Eg. unfold same_data in Hd. cbn [obj_of_lock kernel_layout] in Hd. rewrite Eg in Hd.
    destruct Hd as (st & _ & Hr & _). apply process_map_rep in Hr as (s & -> & Hr). exists s. split; [exact Hr|].
    split; [by eapply pagemap.Isolation.rep_translates|]. intros f Hf Hfree. split.
    - intros q s' Hq Hne Hfree' Hr'. eapply pagemap.Isolation.tables_disjoint; [exact Hr|exact Hr'| |exact Hf].
      apply published_disjoint; [done|lia|done|done].
    - intros w Hfree' Hr'. eapply pagemap.Isolation.tables_words_not_shared; [exact Hr|exact Hr'| |exact Hf].
      apply published_disjoint; [done|unfold LOCK_PAGEMAP_BASE, LOCK_FRAME; lia|done|done].
  Qed.

  Local Lemma finished_free g c : reach ncpu code_layer code_agent code g -> (c < ncpu)%nat ->
    anext code_agent c (gagent g c) = ADone -> (held c (glog g)).1 = [].
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint.
    intros Hr Hc Hd.
    destruct (data_returns X kernel_entry M exported _ C NUM_LOCK kernel_budget ncpu init kernel_guarded
      layout_good disciplined
      implemented
      start_valid cells_start client_start cpu_init objects_start
      start_objects start_exact start_cells start_partition middle_not_stuck g c Hr Hc) as (l & e & Hl & He & Hrun).
    assert (Hh : held c (glog g) = held c l).
    { rewrite Hl. clear -He. induction He as [|x e Hx He IH]; [done|]. simpl. by rewrite decide_False. }
    rewrite Hh. destruct Hrun as [t l (s & m & a & x & -> & Hx & [_ Ho] & _)|t t' l Hn|t l p Hn]; [|congruence|congruence].
    rewrite (same_log_held X c l x Hx). exact (proj1 Ho).
  Qed.

  (** * 6. No deadlock

      CPUs never wait for each other in a cycle: as long as a CPU has not finished, some CPU can take a step. *)
  Theorem kernel_no_deadlock g c : reach ncpu code_layer code_agent code g -> (c < ncpu)%nat ->
    anext code_agent c (gagent g c) <> ADone ->
    exists c' g', (c' < ncpu)%nat /\ cpu_step ncpu code_layer code_agent c' g g'.
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint.
    apply (no_deadlock NUM_LOCK kernel_budget ncpu (cell_data init kernel_guarded) code_agent code).
    - exact (proj1 kernel_refines_specification).
    - exact finished_free.
  Qed.

  (** ** With the code of the locks linked in, on atomic cells and on shared memory

      [algorithm]: the one that the kernel is built with, ticket or MCS. The scheduler assumption: the hardware keeps no
      CPU that is queued for a lock waiting for more than [fairness_bound] events of others. *)
  Context (algorithm : lock_algorithm) (cpus : Z.of_nat ncpu <= NUM_CPU) (fairness_bound : nat).
  Notation Mlock := (lock_module algorithm).
  Notation contending := (lock_contending algorithm ncpu kernel_budget fairness_bound).
  Local Notation locks_proved :=
    (locks_implemented algorithm kernel_entry ncpu kernel_budget fairness_bound init kernel_guarded cpus).
  Context (names_distinct : upper_module (reserved Mlock) M).
  Notation atomics := (atomics_layer fairness_bound init kernel_guarded contending).
  Notation locks_seen := (lock_views kernel_budget fairness_bound NUM_LOCK init kernel_guarded contending).
  Notation linked_agent := (system C (c_engine (arch_builtins kernel_entry) (module_union M Mlock) exported)).
  Definition linked (c : nat) : ast linked_agent := Idle (client_start c) (cpu_init c).

  (** * 7. Refinement down to atomic operations

      The refinement of theorem 1 also holds with the code of the locks in place of lock events: on atomic cells and owned
      memory the kernel never has undefined behaviour (in particular, no CPU takes cells that another owns), and everything
      it does is allowed by the specification. *)
  Theorem kernel_on_atomics_refines_specification :
    never_wrong ncpu atomics linked_agent linked /\
    forall l, traces ncpu atomics linked_agent linked l ->
      exists x, same_log X (locks_seen l) x /\ traces ncpu (top_layer X) top_agent top (top_views X kernel_atomic x).
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint
    cpus names_distinct.
    destruct kernel_refines_specification as [Hnw Ht].
    destruct (locks_refine kernel_entry ncpu kernel_budget fairness_bound NUM_LOCK init kernel_guarded Mlock contending locks_proved
      C exported M names_distinct client_start cpu_init Hnw) as [Hnw0 Ht0].
    split; [exact Hnw0|]. intros l Hl. exact (Ht _ (Ht0 l Hl)).
  Qed.

  (** * 8. Freedom from starvation

      Every call of a kernel function returns, whatever the other CPUs do, and however they compete for locks.

      More exactly: in every infinite execution on a bounded-fair scheduler, a CPU that takes infinitely many steps is
      outside the kernel infinitely often. *)
  Theorem kernel_starvation_freedom ex schedule c : (c < ncpu)%nat ->
    execution ncpu atomics linked_agent linked ex schedule -> fair schedule c ->
    forall i, exists j, (i <= j)%nat /\ exists s m, gagent (ex j) c = Idle s m.
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint
    cpus names_distinct.
    intros Hc Hex Hfair i.
    set (spec := expand_spec X specification).
    destruct locks_proved as [Hout (wf & outside & IL & _)].
    pose proof (code_invariant_step X kernel_entry M exported spec C NUM_LOCK kernel_budget ncpu init kernel_guarded layout_good
      disciplined implemented start_valid cells_start client_start objects_start start_exact middle_not_stuck) as Hstep.
    pose proof (code_invariant_init X kernel_entry M exported spec C NUM_LOCK kernel_budget ncpu init kernel_guarded
      cells_start client_start cpu_init objects_start start_objects start_exact start_cells) as Hinit.
    pose proof (guarantee_init X spec C NUM_LOCK kernel_budget ncpu init kernel_guarded cells_start client_start objects_start
      start_partition) as Hnil.
    destruct (link_returns ncpu atomics code_layer (arch_builtins kernel_entry) Mlock (reserved Mlock) lock_view wf outside
      IL C exported M names_distinct Hout client_start cpu_init _ (fun l H => proj1 (proj2 H)) Hnil _ _ Hinit Hstep
      (fun c t l _ H => H) ex schedule c Hc Hex Hfair i) as (j & Hj & t & l & Ht & s & m & a & x & -> & _).
    exists j. split; [done|]. by exists s, m.
  Qed.

  (** The hardware's scheduler, as far as shared memory shows it, is as fair as the locks need. *)
  Context (fairness : nat -> atomic_log -> Prop).
  Notation kernel_bounded_fair := (bounded_fair fairness_bound contending).
  Context (hardware_bounded_fair : forall c l,
    fairness c (erase (atomic_ownership init kernel_guarded kernel_bounded_fair) l) -> kernel_bounded_fair c l).
  Notation linked_code := (module_union M Mlock).

  Local Lemma guarded_part k m : kernel_guarded k m ⊆ m.
  Proof using. apply map_filter_subseteq. Qed.
  Local Lemma init_disjoint k k' : k <> k' -> init k ##ₘ init k'.
  Proof using init_objects init_other. by eapply kernel_init_disjoint. Qed.
  Local Notation lock_count := (Z.to_nat NUM_LOCK).
  Local Lemma init_in_range k : ~ (0 <= k < Z.of_nat lock_count) -> init k = ∅.
  Proof using init_other.
    intros Hk. rewrite Z2Nat.id in Hk by done. apply init_other. destruct (kernel_object_of k) as [o|] eqn:E; [|done].
    apply kernel_object_guards in E. clear -E Hk. destruct Hk. destruct E; unfold LOCK_PAGEMAP_BASE, NUM_PROCESS, NUM_LOCK in *; try done; lia.
  Qed.

  (** * 9. Refinement down to shared memory

      The same holds for all CPUs on one shared memory, with any step of one CPU between any two of another: everything
      that clients can observe there, in order, they can observe on the machine of theorem 7. *)
  Theorem kernel_on_shared_memory_refines_atomics :
    refines (kernel_multicore kernel_entry linked_code exported C ncpu init fairness client_start cpu_init lock_count)
      (kernel_ownership kernel_entry linked_code exported C ncpu init kernel_guarded kernel_bounded_fair client_start
        cpu_init).
  Proof using init_objects init_other cpus_disjoint cpu_init_disjoint hardware_bounded_fair.
    apply kernel_multicore_refines_ownership; [exact guarded_part|exact hardware_bounded_fair| | |exact init_disjoint|exact init_in_range].
    - by apply cpus_disjoint.
    - by apply cpu_init_disjoint.
  Qed.

  (** * 10. Freedom from data races

      On shared memory, two CPUs never access the same ordinary cell at the same time, one of them to write it. *)
  Theorem kernel_data_race_freedom g :
    multicore_reach ncpu atomic_hardware (shared_kernel kernel_entry linked_code exported C) fairness
      (memory ncpu init cpu_init lock_count) (programs kernel_entry linked_code exported C client_start cpu_init) g ->
    ~ data_race kernel_entry linked_code exported C ncpu g.
  Proof using acquire_below release_below arch_below code_present init_objects init_other requirements_kept root_quota_word
    frames_start_valid shares_start_valid cpu_objects cpus_disjoint cpu_init_disjoint
    cpus names_distinct hardware_bounded_fair.
    apply (kernel_race_free kernel_entry linked_code exported C ncpu init kernel_guarded kernel_bounded_fair fairness
      guarded_part hardware_bounded_fair client_start cpu_init lock_count); [| |exact init_disjoint|exact init_in_range|].
    - by apply cpus_disjoint.
    - by apply cpu_init_disjoint.
    - exact (proj1 kernel_on_atomics_refines_specification).
  Qed.
End kernel.
