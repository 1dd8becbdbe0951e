(** The same threads as in [SchedulerRuns.v] on one shared memory, with either lock's code: all that [kernel_on_shared_memory] assumes can
    be met at once, and the machine runs. *)
From Ashlar Require Import layers.sched.budget.ClockModel machine.KernelChain machine.threads.SwitchHardware layers.spinlock.RoundRobin.
From Ashlar Require Export witness.SchedulerStart Main witness.SchedulerRuns layers.sched.cpu.StartUpCode.
Local Open Scope Z_scope.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** No cell is two CPUs' *)
Notation home_of_cell := (cell_home (fun t => t mod NUM_CPU)).

Section cells.
  Context (c : nat) (Hc : Z.of_nat c < NUM_CPU).
  Lemma own_thread_home t : t ∈ own_thread_list (Z.of_nat c) -> 0 <= t < NUM_THREAD /\ t mod NUM_CPU = Z.of_nat c.
  Proof using Hc.
    unfold own_thread_list. intros (i & -> & Hi%elem_of_seqZ)%elem_of_list_fmap. unfold InitialCells.own_thread, NUM_CPU, NUM_THREAD in *.
    split; [lia|]. replace (16 + 16 * i + Z.of_nat c) with (Z.of_nat c + (1 + i) * 16) by lia. rewrite Z.mod_add by lia. apply Z.mod_small. lia.
  Qed.
  Lemma start_cell_home x : is_Some (start_of_cpu c !! x) -> home_of_cell x = Z.of_nat c.
  Proof using Hc.
    unfold start_of_cpu. intros [v [Hv|[_ [Hv|[_ Hv]]%lookup_union_Some_raw]]%lookup_union_Some_raw].
    - assert (x.1.1.1 ∈ cpu_object_names /\ cpu_of_cell x = Z.of_nat c) as [Hn <-].
      { apply (own_cells (Z.of_nat c)); [lia|]. pose proof (ready_memory_rep (Z.of_nat c) (conj (Zle_0_nat c) Hc)) as (_ & dq & dm & dt & E & Hd & Hd' & _ & _ & _ & Ht).
        destruct (decide (x = thread_state_cell (sleeper_of c))) as [->|Hns]; [|destruct (decide (x = thread_state_cell (Z.of_nat c))) as [->|Hne]].
        - rewrite E. destruct (Ht (sleeper_of c) _ (proj1 (sleeper_there c Hc))) as [_ Hs]. apply own_third. by eexists.
        - rewrite E. destruct (Ht (Z.of_nat c) _ (proj1 (idle_there c Hc))) as [_ Hs]. apply own_third. by eexists.
        - unfold idle_queues in Hv. rewrite !own_lookup_ne in Hv by done. by eexists. }
      destruct x as [[[o i] f] j]. unfold cpu_object_names in Hn. cbn [fst] in Hn. unfold cell_home, cpu_of_cell in *.
      repeat (apply elem_of_cons in Hn as [->|Hn]; [done|]). destruct (not_elem_of_nil _ Hn).
    - assert (is_Some (own_at_start c !! x)) as Hx%memory_dom%own_cells_cases by (by eexists). destruct Hx as [->|[H|[H|[H|H]]]]; [done|..].
      + apply elem_of_list_fmap in H as (f & -> & Hf). unfold own_words, arch_words in Hf. cbn [app] in Hf.
        repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]). by apply elem_of_nil in Hf.
      + apply elem_of_list_bind in H as (t & H & Ht%own_thread_home). destruct Ht as [Ht Hm]. unfold reservation_cells in H. cbn in H.
        repeat (apply elem_of_cons in H as [->|H]; [exact Hm|]). by apply elem_of_nil in H.
      + apply elem_of_list_bind in H as (p & H & Hp). assert ((Z.of_nat c * SCHED_HEAP_PLACES + p) / SCHED_HEAP_PLACES = Z.of_nat c) as E.
        { symmetry. apply elem_of_seqZ in Hp. apply (Z.div_unique _ _ _ p); [left; lia|]. lia. }
        apply elem_of_cons in H as [->|H]; [exact E|]. by apply elem_of_list_singleton in H as ->.
      + apply elem_of_list_bind in H as (e & H & He). unfold SchedulerStart.own_events in He. apply elem_of_list_filter in He as [[_ Hm]%own_thread_home _].
        apply elem_of_cons in H as [->|H]; [exact Hm|]. apply elem_of_list_singleton in H as ->. exact Hm.
    - assert (is_Some (timer_at_start c !! x)) as Hx%memory_dom by (by eexists). unfold timer_cells in Hx.
      apply elem_of_cons in Hx as [->|H]; [done|]. apply elem_of_list_bind in H as (t & H & [_ Hm]%own_thread_home).
      cbn in H. repeat (apply elem_of_cons in H as [->|H]; [exact Hm|]). by apply elem_of_nil in H.
  Qed.
End cells.

(** The memory of a CPU: nothing where there is none. *)
Definition memory_of (c : nat) : mem := if Nat.ltb c 16 then start_of_cpu c ∪ ∅ else ∅.
Lemma memory_of_home c x v : memory_of c !! x = Some v -> home_of_cell x = Z.of_nat c.
Proof.
  unfold memory_of. destruct (Nat.ltb_spec c 16) as [Hc|_]; [|intros H; change ((∅ : gmap cell Z) !! x = Some v) in H; by rewrite lookup_empty in H].
  rewrite (right_id_L ∅ (∪)). intros H. apply start_cell_home; [unfold NUM_CPU; lia|by eexists].
Qed.
Lemma memory_of_disjoint c c' : c <> c' -> memory_of c ##ₘ memory_of c'.
Proof. intros Hne. apply map_disjoint_spec. intros x v w Hv%memory_of_home Hw%memory_of_home. lia. Qed.

(** Nor is any a lock's. *)
Notation locked := (all_start locked_memory note_memory).
Lemma memory_of_lock c k : memory_of c ##ₘ locked k.
Proof.
  apply map_disjoint_spec. intros x v w Hv Hw. assert (parked_cell x = true) as Hp.
  { apply (cpu_cell_parked c). unfold memory_of in Hv. unfold cell_of_cpu. destruct (Nat.ltb c 16); [|change ((∅ : gmap cell Z) !! x = Some v) in Hv; by rewrite lookup_empty in Hv].
    rewrite (right_id_L ∅ (∪)) in Hv. apply bool_decide_eq_true. by exists v. }
  pose proof (parked_unlocked x Hp) as Hx. unfold all_start in Hw. destruct (notification_of k) as [n|] eqn:En.
  { assert (thread_guard_cells k x) as Hk%thread_guard_apart; [|congruence]. exists n. split; [done|]. apply notification_of_some in En as [_ Hn].
    apply (notify_guarded_cells n (note_memory n) (note_memory_guarded n Hn)). by eexists. }
  destruct (kernel_object_of k) as [o|] eqn:Eo.
  - pose proof (object_cells no_entry root_frames frames_free no_shares k o _ _ x w Eo (objects_represented _ _ _ _ _ locked_at_start k o Eo) Hw). congruence.
  - pose proof (others_without _ _ _ _ _ locked_at_start k Eo) as E. rewrite E in Hw. change ((∅ : gmap cell Z) !! x = Some w) in Hw. by rewrite lookup_empty in Hw.
Qed.
Lemma locked_apart k k' : k <> k' -> locked k ##ₘ locked k'.
Proof. apply (all_start_apart no_entry root_frames frames_free no_shares locked_memory locked_at_start note_memory note_memory_guarded). Qed.

(** ** All together *)
Section shared.
  Context (algorithm : lock_algorithm) (fairness_bound : nat).
  Notation Mlock := (lock_module algorithm).
  Notation contending := (lock_contending algorithm 16 kernel_budget fairness_bound).
  Notation O := (atomic_ownership locked all_guarded (bounded_fair fairness_bound contending)).
  Notation locks := start_locks.
  Notation S := (shared_kernel no_entry scheduler_code exports workers).
  Notation S0 := (shared_kernel no_entry (module_union scheduler_code Mlock) exports workers).
  Notation T := (agent_threads S home_of switch_means begins).
  Notation lower := (lower (arch_builtins no_entry) Mlock workers exports scheduler_code).
  Notation T0 := (agent_threads S0 home_of switch_means (fun t => lower (begins t))).
  Notation P0 := (fun t => lower_thread (arch_builtins no_entry) Mlock home_of workers exports scheduler_code S0 S switch_means begins (threads_at_start t)).

  Lemma locks_apart : upper_module (spinlock.Spec.reserved Mlock) scheduler_code.
  Proof using.
    intros f Hf. destruct (scheduler_code f) as [fd|] eqn:E; [|done]. apply module_of_in in E.
    assert (forallb (fun g => negb (spinlock.Spec.reserved Mlock g.1)) all_functions = true) as H by (destruct algorithm; vm_compute; reflexivity).
    rewrite forallb_forall in H. specialize (H (f, fd) (proj1 (elem_of_list_In _ _) E)). cbn [fst] in H. by rewrite Hf in H.
  Qed.
  Lemma started : starts T 16 144 home_of first_of threads_at_start.
  Proof using.
    split.
    - apply home_cpu.
    - intros c Hc. unfold first_of. split; [lia|by apply Nat.mod_small].
    - intros c Hc. unfold first_of, threads_at_start. by rewrite (proj2 (Nat.ltb_lt c 16) Hc).
    - intros t Ht Hne. unfold threads_at_start. destruct (Nat.ltb_spec t 16) as [Hlt|_]; [|done]. destruct Hne. unfold first_of. by apply Nat.mod_small.
  Qed.
  Lemma memory_of_thread t : tmem T (threads_at_start t) = memory_of t.
  Proof using. unfold threads_at_start, memory_of. by destruct (Nat.ltb t 16). Qed.
  Lemma all_memory : flat_memory T0 144 home_of P0 memory_of.
  Proof using.
    intros c x v. split.
    - intros Hx. exists c. unfold memory_of in Hx. destruct (Nat.ltb_spec c 16) as [Hlt|_]; [|change ((∅ : gmap cell Z) !! x = Some v) in Hx; by rewrite lookup_empty in Hx].
      split; [split; [lia|by apply Nat.mod_small]|]. change (tmem T (threads_at_start c) !! x = Some v). rewrite memory_of_thread. unfold memory_of.
      by rewrite (proj2 (Nat.ltb_lt c 16) Hlt).
    - intros (t & [Ht <-] & Hx). change (tmem T (threads_at_start t) !! x = Some v) in Hx. rewrite memory_of_thread in Hx.
      assert (home_of t = t) as ->; [|done]. unfold memory_of in Hx. destruct (Nat.ltb_spec t 16) as [Hlt|_]; [by apply Nat.mod_small|].
      change ((∅ : gmap cell Z) !! x = Some v) in Hx. by rewrite lookup_empty in Hx.
  Qed.
  Notation lock_count := (Z.to_nat NUM_LOCK).
  Notation memory := (KernelChain.memory 16 locked memory_of lock_count).
  Lemma memory_whole c : (c < 16)%nat -> memory_of c ⊆ memory.
  Proof using.
    intros Hc. apply (piece_memory 16 locked memory_of lock_count memory_of_disjoint memory_of_lock locked_apart (inl c)).
    apply elem_of_app. left. apply elem_of_list_fmap. exists c. split; [done|]. apply elem_of_seq. lia.
  Qed.
  Lemma memory_locked k : locked k ⊆ memory.
  Proof using.
    destruct (decide (0 <= k < NUM_LOCK)) as [Hk|Hk].
    - apply (piece_memory 16 locked memory_of lock_count memory_of_disjoint memory_of_lock locked_apart (inr k)).
      apply elem_of_app. right. apply elem_of_list_fmap. exists (Z.to_nat k). split; [simpl; by rewrite Z2Nat.id by lia|]. apply elem_of_seq.
      pose proof (proj1 (Z2Nat.inj_lt k NUM_LOCK (proj1 Hk) ltac:(done)) (proj2 Hk)). lia.
    - assert (notification_of k = None) as En.
      { destruct (notification_of k) as [n|] eqn:En; [|done]. apply notification_of_some in En as [-> Hn]. unfold LOCK_NOTIFY_BASE, NUM_NOTIFICATION, NUM_LOCK in *. lia. }
      unfold all_start. rewrite En. assert (kernel_object_of k = None) as E.
      { destruct (kernel_object_of k) as [o|] eqn:E; [|done]. apply kernel_object_guards in E. destruct Hk. destruct E; unfold LOCK_PAGEMAP_BASE, NUM_PROCESS, NUM_LOCK in *; try done; lia. }
      pose proof (others_without _ _ _ _ _ locked_at_start k E) as ->. apply map_empty_subseteq.
  Qed.

  Notation HW := (switch_hardware atomic_hardware).
  Notation ST := (shared_threads S0 home_of switch_means (fun t => lower (begins t))).
  Notation fair := (bounded_fair fairness_bound contending).
  Notation cpu_fairness := (fun c (l : list (event (hmark HW))) => fair c (base_marks atomic_hardware l)).
  Definition workers_at_start : nat -> ast (flat_agent T0) := flat_start T0 first_of P0 memory_of.

  Definition workers_reach (g : multicore HW (A := flat_agent T0)) : Prop := multicore_reach 16 HW ST cpu_fairness memory workers_at_start g.
  (** No CPU does anything undefined, and no two are about to touch the same cell. *)
  Definition workers_safe (g : multicore HW (A := flat_agent T0)) : Prop :=
    (forall c, (c < 16)%nat -> ~ multicore_wrong HW ST cpu_fairness c g) /\ ~ conflict 16 HW ST g.
  Theorem workers_on_shared_memory g : workers_reach g -> workers_safe g.
  Proof using.
    unfold workers_reach, workers_safe. intros Hg. destruct (kernel_on_shared_memory algorithm no_entry 16 fairness_bound ltac:(done) workers exports scheduler_code code_has_scheduler code_has_kernel
      root_frames frames_free no_shares locked_memory note_memory locked_at_start note_memory_guarded locks_apart 144 ltac:(done) home_of first_of begins cell_of_cpu cpu_cell_parked timer_of (fun _ => True) code_arch_does
      worker_of worker_stage worker_due worker_free workers_call workers_begin threads_at_start started workers_start) with (m0 := memory_of) (memory := memory)
      (fairness := fair) (g := g) as (H1 & H2 & _); [..|done|by split].
    - intros t Ht Hp x v Hx. rewrite memory_of_thread in Hx. unfold threads_at_start, memory_of in *. destruct (Nat.ltb t 16); [discriminate Hp|].
      change ((∅ : gmap cell Z) !! x = Some v) in Hx. by rewrite lookup_empty in Hx.
    - intros t t' _ _ Hne. rewrite !memory_of_thread. by apply memory_of_disjoint.
    - intros t k _. rewrite memory_of_thread. apply memory_of_lock.
    - exact all_memory.
    - exact memory_whole.
    - exact memory_locked.
    - intros c l. apply lock_bounded_fair_erase.
  Qed.
End shared.
