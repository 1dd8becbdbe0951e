(** A first client of the switch: threads that yield through the ready queues of their CPU.

    [yield] is what the scheduler does for a thread without reservation, built on the C that boots: [thread_current] of
    [thread.c], [sched_ready_insert] and [sched_ready_take] of [sched_ready.c], and [arch_switch]. The ready queues, their bitmap,
    priority and state of the CPU's threads, and the cell that names the current thread belong to the CPU; no lock guards them.

    Proved of any client whose threads call nothing but [yield]: it never goes wrong on the machine of threads; at each switch,
    the queues are as [sched_ok] says for the thread that comes; and each call returns, whenever the CPU is handed back. *)
From Ashlar Require Export machine.threads.SwitchRule machine.threads.OwnCells layers.sched.ready.ReadyCode layers.sched.pick.NoFailure layers.thread.Records.
From Ashlar Require Import calculus.logs.Soundness lang.logic.Domain layers.sched.threads.ClientThreads.
From stdpp Require Import fin_map_dom.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

(* 0 cpu, 1 current, 2 next *)
Definition yield_code : fundef := Fun 0 3
  (Seq (Call (Some 0%nat) "arch_cpu" [])
  (Seq (Call (Some 1%nat) "thread_current" [])
  (Seq (Call None "sched_ready_insert" [Var 0; Var 1])
  (Seq (Call (Some 2%nat) "sched_ready_take" [Var 0])
       (If (Cmp Ne (Var 2) (Var 1)) (Call None "arch_switch" [Var 2]) Skip))))).

Section yield.
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module).
  Context (HS : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HY : M "yield"%string = Some yield_code) (exported_yield : exported "yield"%string = true).
  Context (HB : M "arch_highest_bit"%string = None) (HC : M "arch_cpu"%string = None) (stack_below : M switch_stack = None).
  (** The client calls nothing but [yield]. *)
  Context (client_calls : forall c u f args, cnext C c u = CCall f args -> f = "yield"%string /\ args = []).
  Notation B := (arch_builtins kernel_entry).
  Notation E := (c_engine B M exported).
  Notation A := (system C E).
  Notation S := (shared_kernel kernel_entry M exported C).
  Context (L : layer cprim mem) (ncpu nthread : nat) (home first : nat -> nat) (begin : nat -> ast A).
  Context (cpus : Z.of_nat ncpu <= NUM_CPU) (home_cpu : forall t, (t < nthread)%nat -> (home t < ncpu)%nat).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
  Context (quiet : nat -> log L -> bool) (own_quiet : own_replay L quiet).
  (** The layer below lets a CPU that holds no lock show values. *)
  Context (out_quiet : forall c v m l, quiet c l = true -> exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\ quiet c (Event c o :: l) = true).
  Notation X := (cell_baton cell_of_cpu parked).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first quiet).
  Notation base l := (base L (cpu_view L home l)).
  Notation has_cpu := (has_cpu (D:=mem) home first L).

  (** ** The CPU's cells *)

  (** The threads in the queues are threads of this CPU. *)
  Definition own_threads (c : nat) (s : ready) : Prop :=
    forall x, is_Some (ready_threads s !! x) -> exists u, x = Z.of_nat u /\ home u = c /\ (u < nthread)%nat.
  Definition current_is (c t : nat) : mem := {[current_cell c := Z.of_nat t]}.
  (** What CPU [c] has when thread [t], not idle, runs. *)
  Definition cpu_valid (c t : nat) (d : mem) : Prop :=
    exists s dr, d = current_is c t ∪ dr /\ current_is c t ##ₘ dr /\ ready_rep (Z.of_nat c) s dr /\
      sched_ok (Z.of_nat c) (Some (Z.of_nat t)) s /\ own_threads c s /\ NUM_CPU <= Z.of_nat t /\
      exactly (fun x => cell_of_cpu c x = true) d.

  Notation mine := (OwnCells.mine cell_of_cpu parked).

  Lemma current_triple c t : triple kernel_entry M c "thread_current" [] (current_is c t) (fun w d => w = Z.of_nat t /\ d = current_is c t).
  Proof using HW HC HT. apply (thread_current_triple kernel_entry M c HT HW HC). apply lookup_singleton. Qed.

  (** The queues after the current thread has gone to its queue's end and the next has been taken: there is one. *)
  Lemma yield_state c t s : sched_ok (Z.of_nat c) (Some (Z.of_nat t)) s -> own_threads c s -> NUM_CPU <= Z.of_nat t ->
    exists v1 s1 n s2, sched_ready_insert s (Z.of_nat c) (Z.of_nat t) = Some (v1, s1) /\
      sched_ready_take s1 (Z.of_nat c) = Some (Z.of_nat n, s2) /\ sched_ok (Z.of_nat c) (Some (Z.of_nat n)) s2 /\
      own_threads c s2 /\ NUM_CPU <= Z.of_nat n /\ home n = c /\ (n < nthread)%nat.
  Proof using.
    intros Hok Hown Ht. pose proof (ok_valid _ _ _ Hok) as Hv. destruct (ok_free _ _ _ Hok _ eq_refl) as [Hr Hf].
    destruct (insert_some (Z.of_nat c) s (Z.of_nat t) Hv Ht Hr Hf) as (v1 & s1 & E1).
    pose proof (insert_ok (Z.of_nat c) (Some (Z.of_nat t)) s Hok _ _ _ E1) as Hok1.
    unfold other in Hok1. rewrite bool_decide_eq_true_2 in Hok1 by done.
    pose proof (ok_valid _ _ _ Hok1) as Hv1. destruct (take_some (Z.of_nat c) s1 Hv1) as (v & s2 & E2).
    assert (Hown1 : own_threads c s1).
    { intros x Hx. apply Hown. destruct (insert_moves (Z.of_nat c) s Hv _ _ _ E1) as (Hm & _ & _ & r & Hr1 & _).
      destruct (decide (x = Z.of_nat t)) as [->|Hne]; [by eexists|]. by rewrite <- (proj1 (Hm x Hne)). }
    destruct (take_ok (Z.of_nat c) s1 v s2 Hok1 E2) as [(-> & _ & Hn)|(Hne & Hc & Hch)].
    { exfalso. destruct (sched_ready_insert_last _ _ _ _ _ E1) as (r & Hr1 & Hlist & _).
      pose proof (ready_valid_priority _ _ Hv _ _ Hr1) as Hp.
      assert (Hin : Z.of_nat t ∈ ready_list s1 (Z.of_nat c) (ready_priority r)) by (rewrite Hlist; apply elem_of_app; right; by left).
      by destruct (sched_ready_take_some _ _ _ _ _ _ Hv1 E2 Hp Hin). }
    destruct (take_moves (Z.of_nat c) s1 Hv1 v s2 E2) as [(? & _)|(_ & Hm & _ & _ & p & Hr2 & _)]; [done|].
    destruct (Hown1 v) as (n & -> & Hh & Hlt); [by eexists|].
    exists v1, s1, n, s2. split_and!; try done; [apply Hch|].
    intros x Hx. destruct (decide (x = Z.of_nat n)) as [->|Hne']; [by exists n|]. apply Hown1. by rewrite <- (proj1 (Hm x Hne')).
  Qed.

  (** ** One thread *)
  Section thread.
    Context (t : nat) (Ht : (t < nthread)%nat).
    Notation c := (home t).
    Notation at_idle u m := (thread_at S home switch_means begin Running (@Idle _ _ C E u m)).
    Notation hands := (hands_valid L nthread home first cell_of_cpu parked quiet cpu_valid).

    (** Between two calls, with the CPU; or waiting for its first turn. *)
    Definition between_calls (x : ast TA) (l : log TL) : Prop :=
      (exists u m d, x = at_idle u (d ∪ m) /\ has_cpu t l /\ quiet c (base l) = true /\ cpu_valid c t d /\ mine c m) \/
      (exists u m, x = TState T Suspended (bare S (@Idle _ _ C E u m)) m /\ mine c m).

    Section call.
      Context (u : cstate C) (d0 m : mem) (Hd0 : exactly (fun x => cell_of_cpu c x = true) d0) (Hm : mine c m).
      Notation runs := (runs_to kernel_entry C exported M L nthread home first begin cell_of_cpu parked quiet cpu_valid t between_calls u).
      (** Private steps neither gain nor lose cells. *)
      Definition runs_here (s : cfg) (l : log TL) : Prop := dom (cm s) =@{gset cell} dom (d0 ∪ m) -> runs s l.

      Lemma runs_here_tau : step_closed kernel_entry M c runs_here.
      Proof using.
        intros s s' l Hn Hr Hd. eapply runs_to_tau; [exact Hn|]. apply Hr. rewrite <- Hd. by eapply next_dom.
      Qed.

      (** The switch: the queues are handed over for thread [n]. *)
      Lemma switch_here n s (dr : mem) l (Q : Z -> mem -> log TL -> Prop) : has_cpu t l -> quiet c (base l) = true ->
        current_is c n ∪ dr ##ₘ m -> current_is c n ##ₘ dr ->
        ready_rep (Z.of_nat c) s dr -> sched_ok (Z.of_nat c) (Some (Z.of_nat n)) s -> own_threads c s -> NUM_CPU <= Z.of_nat n ->
        n <> t -> home n = c -> (n < nthread)%nat ->
        (forall d l', has_cpu t l' -> quiet c (base l') = true -> cpu_valid c t d -> Q 0 (d ∪ m) l') ->
        fwp runs_here switch_stack [Z.of_nat n] (current_is c n ∪ dr ∪ m) l Q.
      Proof using stack_below own_quiet Hd0 Hm.
        intros Hcpu Hq Hdm Hdc Hrep Hok Hown Hn Hne Hh Hlt HQ' k r x es He Hk Hdom. cbn [cm] in Hdom.
        pose proof (exactly_rest cell_of_cpu parked c d0 (current_is c n ∪ dr) m Hd0 Hm Hdm Hdom) as Hex.
        apply (switch_stack_rule kernel_entry C exported M stack_below L nthread home first begin cell_of_cpu parked quiet own_quiet cpu_valid
          t between_calls u n _ (current_is c n ∪ dr) m l
          (fun v m' l' => Q v m' l' /\ dom m' =@{gset cell} dom (d0 ∪ m)) Hcpu Hq); [by apply mine_split| |done|done|done| |exact He|].
        - by exists s, dr.
        - intros d l' H1 H2 H3. split; [by apply HQ'|]. destruct H3 as (? & ? & _ & _ & _ & _ & _ & _ & Hd). by apply (exactly_dom cell_of_cpu c d d0).
        - intros v m' l' [H1 H2]. by apply Hk.
      Qed.

      Definition returned (m' : mem) (l : log TL) : Prop :=
        exists s dr, m' = current_is c t ∪ dr ∪ m /\ current_is c t ##ₘ dr /\ current_is c t ∪ dr ##ₘ m /\
          has_cpu t l /\ quiet c (base l) = true /\
          ready_rep (Z.of_nat c) s dr /\ sched_ok (Z.of_nat c) (Some (Z.of_nat t)) s /\ own_threads c s /\ NUM_CPU <= Z.of_nat t.
      Lemma returned_idle m' l v : returned m' l -> dom m' =@{gset cell} dom (d0 ∪ m) -> between_calls (at_idle (creturn C u v) m') l.
      Proof using Hd0 Hm.
        intros (s & dr & -> & Hdc & Hdm & Hcpu & Hq & Hrep & Hok & Hown & Hn) Hdom. left.
        exists (creturn C u v), m, (current_is c t ∪ dr). split_and!; [done|done|done| |done].
        exists s, dr. split_and!; try done. by apply (exactly_rest cell_of_cpu parked c d0 _ m).
      Qed.

      Lemma arch_switch_here n s (dr : mem) l (Q : Z -> mem -> log TL -> Prop) : has_cpu t l -> quiet c (base l) = true ->
        current_is c t ∪ dr ##ₘ m -> current_is c t ##ₘ dr ->
        ready_rep (Z.of_nat c) s dr -> sched_ok (Z.of_nat c) (Some (Z.of_nat n)) s -> own_threads c s -> NUM_CPU <= Z.of_nat n ->
        n <> t -> home n = c -> (n < nthread)%nat ->
        (forall m' l', returned m' l' -> Q 0 m' l') ->
        fwp runs_here "arch_switch" [Z.of_nat n] (current_is c t ∪ dr ∪ m) l Q.
      Proof using HW HC stack_below own_quiet Hd0 Hm.
        intros Hcpu Hq Hdm Hdc Hrep Hok Hown Hn Hne Hh Hlt HQ'.
        eapply fwp_body; [exact runs_here_tau|by apply HW|done|]. unfold body_wp, arch_switch_code. cbn [wp fn_body fn_locals app replicate].
        exists []. split; [done|]. eapply fwp_builtin; [exact runs_here_tau|exact HC|reflexivity|]. cbn [set_result].
        exists (Z.of_nat c), 0, (Z.of_nat n). split_and!; [done|done|done| |].
        { change (is_Some ((current_is c t ∪ dr ∪ m) !! current_cell c)). exists (Z.of_nat t).
          apply own_read, own_read, lookup_singleton. }
        exists [Z.of_nat n]. split; [done|].
        assert (Ew : <[("arch_current"%string, Z.of_nat c, ""%string, 0) := Z.of_nat n]> (current_is c t ∪ dr ∪ m) = current_is c n ∪ dr ∪ m).
        { rewrite !own_write. f_equal. f_equal. apply (insert_singleton (M := gmap cell)). }
        rewrite Ew. assert (Hsame : forall e : mem, current_is c t ##ₘ e -> current_is c n ##ₘ e).
        { intros e. unfold current_is. rewrite !map_disjoint_singleton_l. done. }
        apply map_disjoint_union_l in Hdm as [Hd1 Hd2].
        apply (switch_here n s dr l); try done; [by apply map_disjoint_union_l; auto|by apply Hsame|].
        intros d l' H1 H2 (s' & dr' & -> & Hdc' & Hrep' & Hok' & Hown' & Ht' & Hex). apply HQ'.
        exists s', dr'. split_and!; try done. by apply (mine_disjoint cell_of_cpu parked c).
      Qed.

      Lemma yield_runs l s dr : d0 = current_is c t ∪ dr -> current_is c t ##ₘ dr -> has_cpu t l -> quiet c (base l) = true ->
        ready_rep (Z.of_nat c) s dr -> sched_ok (Z.of_nat c) (Some (Z.of_nat t)) s -> own_threads c s -> NUM_CPU <= Z.of_nat t ->
        runs (enter yield_code [] [KEnd] (d0 ∪ m)) l.
      Proof using HS HQ HT HW HB HC stack_below cpus home_cpu own_quiet Hd0 Hm Ht.
        intros Ed Hdc Hcpu Hq Hrep Hok Hown Hn.
        assert (Hc : 0 <= Z.of_nat c < NUM_CPU) by (pose proof (home_cpu t Ht); lia).
        pose proof (mine_disjoint cell_of_cpu parked c d0 m Hd0 Hm) as Hdm. rewrite Ed in Hdm.
        destruct (yield_state c t s Hok Hown Hn) as (v1 & s1 & n & s2 & E1 & E2 & Hok2 & Hown2 & Hn2 & Hh2 & Hlt2).
        assert (HJ : runs_here (enter yield_code [] [KEnd] (d0 ∪ m)) l); [|by apply HJ].
        unfold enter. eapply (wp_sound B M c runs_here runs_here_tau (fn_body yield_code) (fun _ m' l' => returned m' l') (fun _ _ _ => False)
          (fun _ m' l' => returned m' l')).
        2: { split_and!; [|done|].
          - intros r m' l' Hret Hdom. unfold runs_to.
            refine (run_tau TL TA hands t between_calls _ (at_idle (creturn C u 0) m') l' _ _).
            + change (thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u (Cfg [KEnd] r m'))) =
                ATau (at_idle (creturn C u 0) m')). by rewrite thread_at_next.
            + apply run_done. by apply (returned_idle m' l' 0).
          - intros v m' l' s' Hret Hnext Hdom. unfold runs_to. change (next B M c s' = EReturn v m') in Hnext.
            refine (run_tau TL TA hands t between_calls _ (at_idle (creturn C u v) m') l' _ _).
            + change (thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u s')) =
                ATau (at_idle (creturn C u v) m')). rewrite thread_at_next.
              assert (Ha : anext A c (@Busy _ _ C E u s') = ATau (@Idle _ _ C E (creturn C u v) m')).
              { cbn [anext system system_next enext c_engine]. by rewrite Hnext. }
              by rewrite Ha.
            + apply run_done. apply returned_idle; [done|]. assert (Em : cm s' = m') by (by eapply next_return_mem).
              by rewrite Em in Hdom. }
        unfold yield_code. cbn [wp fn_body fn_locals app replicate]. rewrite Ed.
        exists []. split; [done|]. eapply fwp_builtin; [exact runs_here_tau|exact HC|reflexivity|]. cbn [set_result].
        exists []. split; [done|]. rewrite <- (assoc_L (∪)). apply map_disjoint_union_l in Hdm as [Hcm Hrm].
        apply (current_triple c t); [exact runs_here_tau|by apply map_disjoint_union_r|]. intros v d' [-> ->] _. cbn [set_result].
        exists [Z.of_nat c; Z.of_nat t]. split; [done|]. rewrite union_swap by done.
        apply (sched_ready_insert_triple kernel_entry M c HS HQ HT (Z.of_nat c) s dr (Z.of_nat t) v1 s1 Hc Hrep E1);
          [exact runs_here_tau|by apply map_disjoint_union_r; split; [symmetry|]|]. intros w d1 [-> Hrep1] Hd1. cbn [set_result].
        exists [Z.of_nat c]. split; [done|].
        apply (sched_ready_take_triple kernel_entry M c HS HQ HT HB (Z.of_nat c) s1 d1 (Z.of_nat n) s2 Hc Hrep1 E2);
          [exact runs_here_tau|done|]. intros w d2 [-> Hrep2] Hd2. cbn [set_result].
        apply map_disjoint_union_r in Hd2 as [Hdc2 Hdm2].
        assert (Hdc3 : current_is c t ##ₘ d2) by (by symmetry).
        assert (Em : d2 ∪ (current_is c t ∪ m) = current_is c t ∪ d2 ∪ m) by (rewrite union_swap by done; by rewrite (assoc_L (∪))).
        rewrite Em. assert (Hdisj : current_is c t ∪ d2 ##ₘ m) by (by apply map_disjoint_union_l).
        exists (negb (Z.of_nat n =? Z.of_nat t)). split; [done|].
        destruct (Z.eqb_spec (Z.of_nat n) (Z.of_nat t)) as [En|Hne]; cbn [negb].
        - exists s2, d2. split_and!; try done. by rewrite <- En.
        - exists [Z.of_nat n]. split; [done|]. apply (arch_switch_here n s2 d2); try done. intros E. apply Hne. by rewrite E.
      Qed.
    End call.

    (** Whatever the client does next. *)
    Theorem between_calls_step x l : between_calls x l -> safe_step TL TA hands t (run TL TA hands t between_calls) x l.
    Proof using HS HQ HT HW HY exported_yield HB HC stack_below client_calls cpus home_cpu own_quiet out_quiet Ht.
      intros [(u & m & d & -> & [Hon Htr] & Hq & Hv & Hm)|(u & m & -> & Hm)]; unfold safe_step.
      - assert (Hn : anext A c (@Idle _ _ C E u (d ∪ m)) = match cnext C c u with
          | CDone => ADone
          | CTau u' => ATau (@Idle _ _ C E u' (d ∪ m))
          | CCall f args => match estart E f args (d ∪ m) with Some e => ATau (@Busy _ _ C E u e) | None => AStuck end
          | COut v => APrim (OUT, [v])
          end) by done.
        change (anext TA t (at_idle u (d ∪ m))) with (thread_next T t (at_idle u (d ∪ m))). rewrite thread_at_next, Hn.
        destruct (cnext C c u) as [|u'|f args|v] eqn:En; [done| | |].
        + apply run_done. left. exists u', m, d. by split_and!.
        + destruct (client_calls _ _ _ _ En) as [-> ->].
          assert (Es : estart E "yield" [] (d ∪ m) = Some (enter yield_code [] [KEnd] (d ∪ m))).
          { cbn [estart c_engine]. by rewrite HY, exported_yield. }
          rewrite Es. destruct Hv as (s & dr & Ed & Hdc & Hrep & Hok & Hown & Hn' & Hex).
          by apply (yield_runs u d m Hex Hm l s dr).
        + change (switch_means (OUT, [v])) with Ordinary. intros l' Hr. pose proof Hr as (e & _ & _ & HG & _ & _).
          destruct (baton_replay L X nthread home first quiet quiet hands t l l' own_quiet Hon Hr) as (Hon' & Hq' & Htr').
          rewrite Htr in Htr'. rewrite Hq in Hq'. destruct (out_quiet c v (d ∪ m) (base l') Hq') as (o & Eo & Hqo).
          change (amem TA (at_idle u (d ∪ m))) with (d ∪ m). cbn [lstep thread_layer]. unfold thread_step_of.
          rewrite decide_True by exact Hon'. rewrite Htr', Eo. split; [by constructor|].
          apply run_done. left. exists (creturn C u 0), m, d. split_and!; [done| |exact Hqo|done|done].
          split; [exact Hon'|]. simpl. by rewrite decide_True.
      - change (anext TA t (TState T Suspended (bare S (@Idle _ _ C E u m)) m)) with (APrim (STATE := ast TA) (@PResume cprim)).
        intros l' Hr. pose proof Hr as (e & _ & _ & HG & _ & Hleg). cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of.
        destruct (decide (current_thread L first c (cpu_view L home l') = t)) as [Hon|]; [|done].
        destruct (transit L home c l') as [d|] eqn:Ed; [|done].
        pose proof (handed_valid L nthread home first cell_of_cpu parked quiet cpu_valid l' c d HG Ed) as Hv. rewrite Hon in Hv.
        destruct (transit_valid L X nthread home first quiet (fun _ _ _ => True) own_quiet (fun _ _ _ _ _ _ => I) l' c d Hleg Ed) as [_ Hq].
        split; [by constructor|]. rewrite (handed_started L nthread home first cell_of_cpu parked quiet cpu_valid l' t HG).
        apply run_done. left. exists (creturn C u 0), m, d. split_and!; [done| |exact Hq|done|done].
        split; [exact Hon|]. simpl. by rewrite decide_True.
    Qed.
  End thread.

  (** ** All threads *)
  Notation hands := (hands_valid L nthread home first cell_of_cpu parked quiet cpu_valid).
  Context (P : nat -> tstate T) (start : forall t, (t < nthread)%nat -> between_calls t (P t) []).
  Notation running t := (run TL TA hands t (between_calls t)).

  Lemma running_step t x l : (t < nthread)%nat -> running t x l -> safe_step TL TA hands t (running t) x l.
  Proof using HS HQ HT HW HY exported_yield HB HC stack_below client_calls cpus home_cpu own_quiet out_quiet.
    intros Ht Hrun. destruct Hrun as [x l Hx|x x' l Hn Hrun|x l p Hn Hp Hrun].
    - by apply between_calls_step.
    - unfold safe_step. by rewrite Hn.
    - unfold safe_step. rewrite Hn. intros l' Hl'. specialize (Hp l' Hl'). specialize (Hrun l').
      destruct (lstep TL t p (amem TA x) l') as [| |v m o] eqn:E; try done. split; [apply Hp|]. by eapply Hrun.
  Qed.
  Lemma running_start t : (t < nthread)%nat -> running t (P t) [].
  Proof using start. intros Ht. apply run_done. by apply start. Qed.

  (** The C never goes wrong, whatever the threads of all CPUs do. *)
  Theorem yield_never_wrong : never_wrong nthread TL TA P.
  Proof using HS HQ HT HW HY exported_yield HB HC stack_below client_calls cpus home_cpu own_quiet out_quiet start.
    apply (invariant_never_wrong nthread TL TA P hands ltac:(constructor) (fun t => running t) running_start running_step).
  Qed.

  (** Whenever a CPU is being handed over, its queues are as the scheduler's invariant says for the thread that comes: it alone runs,
      it is in no queue, and each other thread is in the ready queue of its priority exactly if it is ready. *)
  Theorem queues_at_switch l c d : traces nthread TL TA P l -> transit L home c l = Some d ->
    cpu_valid c (current_thread L first c (cpu_view L home l)) d.
  Proof using HS HQ HT HW HY exported_yield HB HC stack_below client_calls cpus home_cpu own_quiet out_quiet start.
    intros [f Hr] Ed.
    destruct (local_invariant nthread TL TA P hands ltac:(constructor) (fun t => running t) running_start running_step _ Hr) as [[HG _] _].
    by apply (handed_valid L nthread home first cell_of_cpu parked quiet cpu_valid).
  Qed.

  (** Each call returns, if the CPU is handed back: a thread runs to where it is between two calls, whatever the others do. Down
      to shared memory by [threads_return_on_shared_memory]. *)
  Theorem yield_returns g t : reach nthread TL TA P g -> (t < nthread)%nat ->
    hands (glog g) /\ exists l e, glog g = e ++ l /\ others TL t e /\ running t (gagent g t) l.
  Proof using HS HQ HT HW HY exported_yield HB HC stack_below client_calls cpus home_cpu own_quiet out_quiet start.
    intros Hr Ht.
    destruct (local_invariant nthread TL TA P hands ltac:(constructor) (fun t => running t) running_start running_step _ Hr) as [[HG _] Hall].
    split; [exact HG|]. by apply Hall.
  Qed.
End yield.
