(** The locks' code in threads, on shared memory.

    Kernel code runs in threads that share CPUs, with the code of the locks linked in, on all CPUs' one memory. What is proved of
    it on the machine of threads, where acquiring and releasing are single events, holds there: it never goes wrong, has no data
    race, and shows nothing else. The cells of a CPU are handed over at each switch; a thread that still owns cells of a lock
    cannot switch. *)
From Ashlar Require Export layers.spinlock.Spec machine.threads.SharedThreads machine.threads.ThreadLinkRefines.
From Ashlar Require Export machine.threads.CellBaton machine.threads.SwitchModule machine.SharedKernel.

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

Section locks.
  Context (kernel_entry : Z -> Z) (ncpu budget fairness_bound : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (Mlock : module) (contending : nat -> atomic_log -> Prop).
  Context (IL : implements_locks kernel_entry ncpu budget fairness_bound nlock init guarded Mlock contending).
  Context (switch_free : Mlock switch_stack = None) (stack_free : Mlock new_stack = None).
  Context (guarded_sub : forall k m, guarded k m ⊆ m).
  Notation atomics := (atomics_layer fairness_bound init guarded contending).
  Notation locks := (locks budget nlock init guarded).
  Notation O := (atomic_ownership init guarded (bounded_fair fairness_bound contending)).

  (** The threads' code. *)
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module (reserved Mlock) M).
  Notation B := (arch_builtins kernel_entry).
  Notation A0 := (system C (c_engine B (module_union M Mlock) exported)).
  Notation A1 := (system C (c_engine B M exported)).
  Notation S0 := (shared_kernel kernel_entry (module_union M Mlock) exported C).
  Notation S1 := (shared_kernel kernel_entry M exported C).
  Context (nthread : nat) (home first : nat -> nat) (begin : nat -> ast A1).
  Notation lower := (lower B Mlock C exported M).
  Notation T0 := (agent_threads S0 home switch_means (fun t => lower (begin t))).
  Notation T1 := (agent_threads S1 home switch_means begin).

  (** What a switch hands over. *)
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
  Notation X := (cell_baton cell_of_cpu parked).
  Notation parks := (fun x => parked x = true).
  Context (guarded_parked : forall k m r, m ##ₘ r -> all_parked parks r -> guarded k (m ∪ r) = guarded k m).
  Context (quiet : nat -> log locks -> bool).
  Notation quiet0 := (quiet_below atomics locks lock_view quiet).
  Notation TL1 := (thread_layer locks X nthread home first quiet).
  Notation TL0 := (thread_layer atomics X nthread home first quiet0).

  (** The start. *)
  Context (P : nat -> tstate T1) (START : starts T1 ncpu nthread home first P).
  Notation P0 := (fun t => lower_thread B Mlock home C exported M S0 S1 switch_means begin (P t)).
  Context (start_parked : forall t, (t < nthread)%nat -> tphase T1 (P t) = Suspended -> all_parked parks (tmem T1 (P t))).
  Context (threads_apart : forall t t', (t < nthread)%nat -> (t' < nthread)%nat -> t <> t' -> tmem T1 (P t) ##ₘ tmem T1 (P t')).
  Context (threads_init : forall t k, (t < nthread)%nat -> tmem T1 (P t) ##ₘ init k).
  Context (init_apart : forall k k', k <> k' -> init k ##ₘ init k').
  Context (m0 : nat -> mem) (M0 : flat_memory T0 nthread home P0 m0).
  Context (memory : mem) (CPUS : forall c, (c < ncpu)%nat -> m0 c ⊆ memory) (LOCKS : forall k, init k ⊆ memory).
  (** The hardware's scheduler is as fair as the locks need. *)
  Context (fairness : nat -> atomic_log -> Prop).
  Context (FAIR : forall c l, fairness c (erase O l) -> bounded_fair fairness_bound contending c l).

  Lemma lower_put (s : ast A1) m : lower (aput S1 s m) = aput S0 (lower s) m.
  Proof using. by destruct s. Qed.
  Lemma means_free p : switch_means p <> Ordinary -> Mlock p.1 = None.
  Proof using switch_free stack_free. intros [->| ->]%switch_means_names; done. Qed.
  Lemma means_wrong p : switch_means p <> Ordinary -> forall c m l, lstep atomics c p m l = Wrong.
  Proof using. destruct p as [f args]. intros [E|E]%switch_means_names c m l; simpl in E; subst f; done. Qed.

  Lemma locked_threads_framed : framed atomics T0 X (fun d => d) parks.
  Proof using guarded_sub guarded_parked.
    split.
    - intros t s m r. apply agent_threads_framed.
    - intros c p m r l. by apply atomics_framed.
    - intros c to m d m' (_ & _ & _ & Hm & Hd)%cell_baton_split. done.
    - done.
  Qed.

  Local Instance owner_free k (l : log (olayer O)) : Decision (ofree O k l).
  Proof. simpl. apply _. Defined.

  Lemma locked_start_apart : in_one_place O T0 X (fun d => d) nthread home first quiet0 (@State _ _ TL0 (thread_agent T0) [] P0).
  Proof using threads_apart threads_init init_apart.
    intros [t|k|c] [t'|k'|c'] Hne; simpl; rewrite ?decide_True by done; try apply map_disjoint_empty_l; try apply map_disjoint_empty_r.
    - repeat case_decide; try apply map_disjoint_empty_l; try apply map_disjoint_empty_r. apply threads_apart; congruence.
    - case_decide; [|apply map_disjoint_empty_l]. by apply threads_init.
    - case_decide; [|apply map_disjoint_empty_r]. symmetry. by apply threads_init.
    - apply init_apart. congruence.
  Qed.

  Context (NW : never_wrong nthread TL1 (thread_agent T1) P).
  Notation HW := (switch_hardware atomic_hardware).
  Notation SO := (switch_ownership O nthread home first).
  Notation ST := (shared_threads S0 home switch_means (fun t => lower (begin t))).
  Notation cpu_fairness := (fun c (l : list (event (hmark HW))) => fairness c (base_marks atomic_hardware l)).
  Notation PF := (flat_start T0 first P0 m0 : nat -> ast (flat_agent T0)).

  Theorem locks_in_threads g : multicore_reach ncpu HW ST cpu_fairness memory PF g ->
    (forall c, (c < ncpu)%nat -> ~ multicore_wrong HW ST cpu_fairness c g) /\ ~ conflict ncpu HW ST g /\
    exists l, mlog g = erase SO (cpu_view atomics home l) /\
      traces nthread TL1 (thread_agent T1) P (thread_abs nthread atomics locks lock_view X home first quiet l).
  Proof using IL switch_free stack_free guarded_sub HM guarded_parked START start_parked threads_apart threads_init init_apart M0 CPUS
    LOCKS FAIR NW.
    intros Hr. destruct IL as [Hout (wf & outside & HIL & Hstay)].
    destruct (thread_link_refines ncpu nthread atomics locks B Mlock (reserved Mlock) lock_view wf outside X home first quiet HIL Hstay
      C exported M HM Hout S0 S1 lower_put switch_means means_free means_wrong begin P START NW) as [NW0 HT].
    pose proof (lower_starts ncpu nthread B Mlock home first C exported M S0 S1 switch_means begin P START) as START0.
    pose proof (fun c to m d m' => cell_baton_parked cell_of_cpu parked c to m d m') as Hparked.
    destruct (threads_on_shared_memory O (atomic_ownership_ok init guarded (bounded_fair fairness_bound contending) guarded_sub)
      S0 home switch_means (fun t => lower (begin t)) X (fun d => d) parks ncpu nthread first quiet0 P0 locked_threads_framed Hparked
      START0 locked_start_apart start_parked m0 M0 memory CPUS (fun k _ => LOCKS k) (fun k k' Hne _ _ => init_apart k k' Hne)
      fairness FAIR NW0 g Hr) as (H1 & H2 & l & Hl & Hg).
    split; [done|]. split; [done|]. exists l. split; [exact Hg|]. by apply HT.
  Qed.

  (** Liveness. What each thread runs to on the machine of threads, by local reasoning, it reaches on shared memory again and again: if its CPU
      moves, and turns to it, again and again. *)
  Notation TA1 := (thread_agent T1).
  Theorem locks_in_threads_return (GT : log TL1 -> Prop) (I1 Q : nat -> ast TA1 -> log TL1 -> Prop) :
    (forall l, GT l -> legal TL1 l) -> GT [] -> (forall t, (t < nthread)%nat -> I1 t (P t) []) ->
    (forall t x l, (t < nthread)%nat -> I1 t x l -> safe_step TL1 TA1 GT t (I1 t) x l) ->
    (forall t x l, (t < nthread)%nat -> I1 t x l -> run TL1 TA1 GT t (Q t) x l) ->
    forall (ex : nat -> multicore HW (A := flat_agent T0)) (schedule : nat -> nat) t,
    ex 0%nat = multicore_start HW memory PF -> (forall i, multicore_step ncpu HW ST cpu_fairness (schedule i) (ex i) (ex (Datatypes.S i))) ->
    (t < nthread)%nat -> fair schedule (home t) -> (forall i, exists j, (i <= j)%nat /\ fcur T0 (magent (ex j) (home t)) = t) ->
    forall i, exists j x l, (i <= j)%nat /\ Q t x l /\ fcode T0 (magent (ex j) (home t)) t = (tphase T1 x, lower (tcode T1 x)).
  Proof using IL switch_free stack_free guarded_sub HM guarded_parked START start_parked threads_apart threads_init init_apart M0 CPUS
    LOCKS FAIR NW.
    intros HG HG0 H0 HI HQ ex schedule t Hex Hst Ht Hfair Hturn i. destruct IL as [Hout (wf & outside & HIL & Hstay)].
    destruct (thread_link_refines ncpu nthread atomics locks B Mlock (reserved Mlock) lock_view wf outside X home first quiet HIL Hstay
      C exported M HM Hout S0 S1 lower_put switch_means means_free means_wrong begin P START NW) as [NW0 _].
    pose proof (lower_starts ncpu nthread B Mlock home first C exported M S0 S1 switch_means begin P START) as START0.
    pose proof (fun c to m d m' => cell_baton_parked cell_of_cpu parked c to m d m') as Hparked.
    pose proof (thread_link_runs ncpu nthread atomics locks B Mlock (reserved Mlock) lock_view wf outside X home first quiet HIL Hstay
      C exported M HM Hout S0 S1 lower_put switch_means means_free means_wrong begin P START GT I1 Q HG HG0 H0 HI HQ) as Hruns.
    destruct (threads_return_on_shared_memory O (atomic_ownership_ok init guarded (bounded_fair fairness_bound contending) guarded_sub)
      S0 home switch_means (fun t => lower (begin t)) X (fun d => d) parks ncpu nthread first quiet0 P0 locked_threads_framed Hparked
      START0 locked_start_apart start_parked m0 M0 memory CPUS (fun k _ => LOCKS k) (fun k k' Hne _ _ => init_apart k k' Hne)
      fairness FAIR NW0 ex schedule _ _ t Hex Hst Ht (fun g Hr => proj1 (Hruns g t Hr Ht)) (fun g Hr => proj2 (Hruns g t Hr Ht)) Hfair Hturn i)
      as (j & x0 & l & Hj & (x & lt & -> & _ & _ & Hq) & Hcode).
    exists j, x, lt. split; [exact Hj|]. split; [exact Hq|exact Hcode].
  Qed.
End locks.
