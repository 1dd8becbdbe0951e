(** What [switches] says holds on the machine of threads.

    A function of which [switches] was proved may be called by a thread of that machine: handing the CPU over is its switch. What
    the threads of CPU [c] promise each other is [promise c]: memory of which [promise c h n] holds is handed to thread [n], where [h] is what
    the CPU was when it was last handed over; and memory of which [promise c h t] holds for some [h] comes back to thread [t]. It is always the whole CPU, since no step gains or loses cells;
    what a thread has besides stays with it. In between it may call primitives that the layer below lets pass, as the clock. *)
From Ashlar Require Export machine.threads.SwitchRule machine.threads.Switching machine.threads.OwnCells.
From Ashlar Require Import calculus.logs.Soundness lang.logic.Domain.
From stdpp Require Import fin_map_dom.
Local Opaque gmap_lookup gmap_partial_alter.

Section rule.
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (stack_below : M switch_stack = None).
  Notation B := (arch_builtins kernel_entry).
  Notation E := (c_engine B M exported).
  Notation A := (system C E).
  Notation S := (shared_kernel kernel_entry M exported C).
  Context (L : layer cprim mem) (nthread : nat) (home first : nat -> nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
  Context (quiet : nat -> log L -> bool) (own_quiet : own_replay L quiet).
  Notation X := (cell_baton cell_of_cpu parked).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first quiet).
  Notation base l := (base L (cpu_view L home l)).
  Notation has_cpu := (has_cpu (D:=mem) home first L).
  Notation mine := (mine cell_of_cpu parked).
  Notation whole c := (exactly (fun x => cell_of_cpu c x = true)).
  Notation last_handed := (last_handed (D:=mem) L home).
  Notation has_since := (has_since (D:=mem) L home first).
  Context (promise : nat -> option mem -> nat -> mem -> Prop) (sound : log L -> Prop) (settled : nat -> log L -> Prop).
  Context (settled_stable : forall c e l, others L c e -> sound (e ++ l) -> settled c l -> settled c (e ++ l)).
  (** What all threads guarantee at each switch. *)
  Definition whole_promise (c : nat) (h : option mem) (n : nat) (d : mem) : Prop := promise c h n d /\ whole c d.
  Context (t : nat) (Q0 : ast TA -> log TL -> Prop) (u : cstate C).
  Notation c := (home t).
  Notation runs_to := (runs_to kernel_entry C exported M L nthread home first begin cell_of_cpu parked quiet whole_promise sound settled t Q0 u).

  Definition hands_to (h : option mem) (to : Z) (d : mem) : Prop := exists n, to = Z.of_nat n /\ n <> t /\ home n = c /\ (n < nthread)%nat /\ promise c h n d.
  Definition comes_back (h : option mem) (d : mem) : Prop := h = Some d /\ exists h', promise c h' t d.
  (** The thread has the CPU and holds no lock. *)
  Definition may_switch (h : option mem) (l : log TL) : Prop := has_since h t l /\ quiet c (base l) = true /\ sound (base l) /\ settled c (base l).
  (** A thread that has entered the kernel with the CPU's cells [d0] and its own, [m]. *)
  Context (d0 m : mem) (Hd0 : whole c d0) (Hm : mine c m).
  Definition thread_runs (s : cfg) (h : option mem) : Prop := forall l, may_switch h l -> dom (cm s) =@{gset cell} dom (d0 ∪ m) -> runs_to s l.
  (** If it is given a new stack while it is away, it begins where [Q0] holds. *)
  Context (anew : forall h d l, may_switch (Some d) l -> promise c h t d -> whole c d -> Q0 (TState T Running (bare S (begin t)) (d ∪ m)) l).
  (** Primitives that the layer below lets pass; and new stacks for other threads of the CPU. *)
  Context (passes : cprim -> Prop).
  Definition gives_stack (p : cprim) : Prop := exists n, p = (new_stack, [Z.of_nat n]) /\ home n = c /\ (n < nthread)%nat /\ n <> t.
  Definition may_pass (p : cprim) : Prop := passes p \/ gives_stack p.
  Context (pass : forall p m l, passes p -> quiet c l = true -> exists v o, lstep L c p m l = Ok v m o /\ quiet c (Event c o :: l) = true /\
    (sound l -> settled c l -> sound (Event c o :: l) /\ settled c (Event c o :: l))).
  Context (pass_ordinary : forall p, passes p -> switch_means p = Ordinary).

  Lemma thread_runs_tau : step_closed kernel_entry M c thread_runs.
  Proof using. intros s s' h Hn Hr l Hl Hd. eapply runs_to_tau; [exact Hn|]. apply Hr; [done|]. rewrite <- Hd. by eapply next_dom. Qed.
  Theorem thread_runs_switch : switch_closed hands_to comes_back thread_runs eq m.
  Proof using stack_below own_quiet settled_stable Hd0 Hm anew.
    intros to d h _ Q (n & -> & Hne & Hh & Hlt & Hp) Hd <- HQ k r x es He Hk l (Hcpu & Hq & Hs & Hset) Hdom. cbn [cm] in Hdom.
    pose proof (exactly_rest cell_of_cpu parked c d0 d m Hd0 Hm Hd Hdom) as Hw.
    apply (switch_stack_rule kernel_entry C exported M stack_below L nthread home first begin cell_of_cpu parked quiet own_quiet whole_promise
      sound settled settled_stable t Q0 u n _ h d m l (fun v m' l' => exists h', Q v m' h' /\ may_switch h' l' /\ dom m' =@{gset cell} dom (d0 ∪ m)) Hcpu Hq Hset); [by apply mine_split|by split|done|done|done| | |exact He|].
    - intros h' d' l' Hc' Hq' Hs' Hset' [Hp' Hw']. by apply (anew h'); [split_and!|..].
    - intros h' d' l' Hc' Hq' Hs' Hset' [Hp' Hw']. exists (Some d'). split; [|split; [by split_and!|by apply (exactly_dom cell_of_cpu c d' d0)]].
      apply (HQ d' (Some d')); [split; [done|by exists h']|by apply (mine_disjoint cell_of_cpu parked c)|done].
    - intros v m' l' (h' & H1 & H2 & H3). by apply (Hk v m' h' H1).
  Qed.
  Lemma thread_runs_quiet : quiet_closed may_pass kernel_entry M c thread_runs.
  Proof using own_quiet settled_stable pass pass_ordinary.
    intros s p h Hn Hp Hr l ([[Hon Htr] Hlast] & Hq & Hs & Hset) Hdom. unfold runs_to.
    assert (Hm' : forall v, cm (resume s v (cm s)) = cm s) by (intros v; unfold resume; repeat case_match; done).
    destruct Hp as [Hp|(n & -> & Hn' & Hlt & Hne)].
    - assert (Hnext : thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u s)) = APrim (PBase p)).
      { rewrite thread_at_next. simpl. rewrite Hn. simpl. by rewrite pass_ordinary. }
      eapply run_prim; [exact Hnext|].
      intros l' Henv. pose proof (settled_rely L nthread home first cell_of_cpu parked quiet whole_promise sound settled settled_stable t l l' (conj Hon Htr) Hset Henv) as Hset'.
      pose proof Henv as (e & _ & _ & HG & _ & _). pose proof (handed_rely L X nthread home first quiet _ t l l' Hon Henv) as Hlast'. rewrite Hlast in Hlast'.
      destruct (baton_replay L X nthread home first quiet quiet (guaranteed L nthread home first cell_of_cpu parked quiet whole_promise sound settled) t l l' own_quiet Hon Henv) as (Hon' & Hq' & Htr').
      rewrite Htr in Htr'. rewrite Hq in Hq'. destruct (pass p (cm s) (base l') Hp Hq') as (v & o & Eo & Hqo & Hso). destruct (Hso (proj1 HG) Hset') as [Hso' Hseto].
      cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of. rewrite decide_True by exact Hon'. rewrite Htr'.
      change (tmem T (thread_at S home switch_means begin Running (@Busy _ _ C E u s))) with (cm s). rewrite Eo. split; [split; [exact Hso'|exact (conj I (proj2 HG))]|].
      change (aresume TA) with (thread_resume T). rewrite (thread_at_returned S home switch_means begin (@Busy _ _ C E u s) v (cm s)).
      apply (Hr v); [|by rewrite Hm']. split; [split; [split; [exact Hon'|]|exact Hlast']|split_and!; [exact Hqo|exact Hso'|exact Hseto]]. simpl. by rewrite decide_True.
    - assert (Hnext : thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u s)) = APrim (PInit n (Z.of_nat n + 1))).
      { rewrite thread_at_next. simpl. rewrite Hn. simpl. by rewrite Nat2Z.id. }
      eapply run_prim; [exact Hnext|].
      intros l' Henv. pose proof (settled_rely L nthread home first cell_of_cpu parked quiet whole_promise sound settled settled_stable t l l' (conj Hon Htr) Hset Henv) as Hset'.
      pose proof Henv as (e & _ & _ & HG & _ & _). pose proof (handed_rely L X nthread home first quiet _ t l l' Hon Henv) as Hlast'. rewrite Hlast in Hlast'.
      destruct (baton_replay L X nthread home first quiet quiet (guaranteed L nthread home first cell_of_cpu parked quiet whole_promise sound settled) t l l' own_quiet Hon Henv) as (Hon' & Hq' & Htr').
      rewrite Htr in Htr'. rewrite Hq in Hq'.
      cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of. rewrite decide_True by exact Hon'. rewrite Htr'.
      rewrite decide_True by (split_and!; [done|rewrite Hn'; intros E; apply Hne; by rewrite <- E|lia]).
      split; [split; [exact (proj1 HG)|exact (conj eq_refl (proj2 HG))]|].
      change (tmem T (thread_at S home switch_means begin Running (@Busy _ _ C E u s))) with (cm s).
      change (aresume TA) with (thread_resume T). rewrite (thread_at_returned S home switch_means begin (@Busy _ _ C E u s) 0%Z (cm s)).
      apply (Hr 0%Z); [|by rewrite Hm']. split; [split; [split; [exact Hon'|]|exact Hlast']|split_and!; [exact Hq'|exact (proj1 HG)|exact Hset']]. simpl. by rewrite decide_True.
  Qed.
End rule.
