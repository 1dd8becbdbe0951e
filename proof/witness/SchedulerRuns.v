(** All that [Main] assumes can be met at once: on 16 CPUs, 144 threads serve the timer's interrupt, the periods and the deadlines that it
    returns, decide, hand over, yield, show their numbers, sleep until a deadline, end, and are started again, above the spin locks, with a
    clock that runs on each time that it is read. Those that have slept charge a frame to the root container, whose lock all of them take, and open, signal
    or poll a notification.

    Each CPU's idle thread begins, and wakes one other thread first; the rest wait for their first turn. *)
From Ashlar Require Import layers.pagemap.Code layers.timer.Proof witness.SchedulerStart Main layers.sched.budget.ClockModel.
From Ashlar Require Export witness.Memory witness.System layers.notify.InitialCells.
Local Open Scope Z_scope.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** The client *)
(** [answered]: what the timer's interrupt has returned. [rounds]: how often the thread has gone round. *)
Record turn := Turn { who_is : nat; step_of : nat; answered : Z; rounds : Z }.
Definition is_release (v : Z) : bool := (SCHED_RELEASE_BASE <=? v) && (v <? SCHED_RELEASE_BASE + NUM_THREAD).
Definition is_deadline (v : Z) : bool := (0 <=? v) && (v <? NUM_THREAD).
Definition is_event (v : Z) : bool := is_release v || is_deadline v.
Definition is_idle (s : turn) : bool := Nat.ltb (who_is s) 16.
(** The last thread of each CPU ends where others sleep; the idle thread starts it again. *)
Definition is_last (s : turn) : bool := Nat.leb 128 (who_is s).
Definition last_of (s : turn) : Z := 128 + Z.of_nat (who_is s).
Definition is_free (v : Z) : bool := (v =? THREAD_UNUSED) || (v =? thread_is_exited).
Definition rests_never (s : turn) : bool := is_idle s || is_last s.
(** When to be woken: later each time. *)
Definition deadline_of (s : turn) : Z := (20 * rounds s) mod horizon.
(** The notification that all use. *)
Definition NOTE : Z := 3.
Definition workers : client := Client turn
  (fun _ s => match step_of s with
    | 0%nat => CCall "sched_timer_interrupt" []
    | 1%nat => if is_release (answered s) then CCall "sched_release" [answered s] else if is_deadline (answered s) then CCall "sched_ready" [answered s]
               else CCall (if is_idle s then "sched_decide" else "sched_hand_over") []
    | 2%nat => COut (Z.of_nat (who_is s))
    | 3%nat => if is_idle s then CCall "sched_yield" [] else if is_last s then CCall "sched_exit_current" []
               else CCall "sched_set_deadline" [Z.of_nat (who_is s); deadline_of s]
    | 4%nat => if is_idle s then CCall "thread_state" [last_of s] else if is_last s then CTau (Turn (who_is s) 0 0 (rounds s))
               else CCall "sched_prepare_block" [Z.of_nat (who_is s)]
    | 5%nat => if is_idle s then if is_free (answered s) then CCall "thread_reset" [last_of s; 0] else CTau (Turn (who_is s) 0 0 (rounds s))
               else if is_last s then CTau (Turn (who_is s) 0 0 (rounds s)) else CCall "sched_block" []
    | 6%nat => if is_idle s then CCall "sched_ready" [last_of s] else if is_last s then CTau (Turn (who_is s) 0 0 (rounds s)) else CCall "container_charge" [ROOT; 1]
    | _ => if rests_never s then CTau (Turn (who_is s) 0 0 (rounds s)) else if rounds s mod 3 =? 0 then CCall "notify_open" [NOTE]
           else if rounds s mod 3 =? 1 then CCall "notify_signal" [NOTE; 1] else CCall "notify_poll" [NOTE]
    end)
  (fun s v => match step_of s with
    | 0%nat => Turn (who_is s) 1 v (rounds s)
    | 1%nat => if is_event (answered s) then Turn (who_is s) 1 NONE (rounds s) else Turn (who_is s) 2 v (rounds s)
    | 2%nat => Turn (who_is s) 3 v (rounds s)
    | 3%nat => Turn (who_is s) 4 v (rounds s)
    | 4%nat => Turn (who_is s) 5 v (rounds s)
    | 5%nat => Turn (who_is s) 6 v (rounds s)
    | 6%nat => if rests_never s then Turn (who_is s) 0 v (rounds s + 1) else Turn (who_is s) 7 v (rounds s)
    | _ => Turn (who_is s) 0 v (rounds s + 1)
    end).
Definition worker_stage (s : turn) : stage := if rests_never s then Goes else match step_of s with 0%nat | 1%nat | 2%nat | 3%nat => Goes | 4%nat => Armed | 5%nat => Marked | _ => Goes end.
Definition worker_due (s : turn) : option Z :=
  if Nat.eqb (step_of s) 1 && is_event (answered s) then Some (answered s) else if is_idle s && Nat.eqb (step_of s) 6 then Some (last_of s) else None.
Definition worker_free (s : turn) : option Z := if is_idle s && Nat.eqb (step_of s) 5 && is_free (answered s) then Some (last_of s) else None.
Definition worker_of (t : nat) (s : turn) : Prop := who_is s = t.

(** ** The code *)
(** What [arch] must do, as the proofs have it. The clock is [ClockModel]'s, on a counter that is beyond what the clock said last; the alarm,
    the page maps and the vector unit are not there. *)
Definition arch_counter_code : fundef := Fun 0 1
  (Seq (Call (Some 0%nat) "arch_cpu" []) (Return (Bin W64 Add (Load "arch_clock" (Var 0) "" (Const 0)) (Const 1)))).
Definition arch_nothing (arguments : nat) : fundef := Fun arguments 0 (Return (Const 0)).
Definition arch_functions : list (string * fundef) :=
  [("arch_current", arch_current_code); ("arch_switch", arch_switch_code); ("arch_thread_init", arch_thread_init_code);
   ("arch_need_resched", arch_need_resched_code); ("arch_set_need_resched", arch_set_need_resched_code);
   ("arch_floor", arch_floor_code); ("arch_set_floor", arch_set_floor_code); ("arch_clock_ns", arch_clock_ns_code); ("arch_counter", arch_counter_code);
   ("arch_timer_arm", arch_nothing 1); ("arch_loaded_root", arch_nothing 0); ("arch_fpu_left", arch_nothing 0); ("arch_fpu_leave", arch_nothing 0);
   ("arch_fpu_unused", arch_nothing 0); ("intc_send", arch_nothing 2)]%string.
Definition all_functions : list (string * fundef) :=
  sched_module_list ++ queue_module_list ++ thread_module_list ++ pagemap_module_list ++ timer_module_list ++ arch_functions ++
  container_module_list ++ frame_module_list ++ share_module_list ++ notify_module_list ++ uctx_module_list ++ records_module_list.
Definition scheduler_code : module := module_of all_functions.

Lemma module_of_in l f fd : module_of l f = Some fd -> (f, fd) ∈ l.
Proof.
  induction l as [|[g gd] l IH]; [done|]. cbn. destruct (String.eqb_spec f g) as [->|_]; [intros [= ->]; by left|]. intros H. right. by apply IH.
Qed.
Lemma in_module_of l f fd : NoDup l.*1 -> (f, fd) ∈ l -> module_of l f = Some fd.
Proof.
  induction l as [|[g gd] l IH]; [by intros _ ?%elem_of_nil|]. cbn. intros [Hg Hl]%NoDup_cons [[= -> ->]|H]%elem_of_cons; [by rewrite String.eqb_refl|].
  destruct (String.eqb_spec f g) as [->|_]; [|by apply IH]. destruct Hg. apply elem_of_list_fmap. by exists (g, fd).
Qed.
Lemma names_differ : NoDup all_functions.*1.
Proof. apply (bool_decide_unpack _). vm_compute. exact I. Qed.
Lemma has_all l f fd : (forall x, x ∈ l -> x ∈ all_functions) -> module_of l f = Some fd -> scheduler_code f = Some fd.
Proof. intros Hl H. apply in_module_of; [apply names_differ|]. by apply Hl, module_of_in. Qed.
Local Lemma code_sched f fd : sched_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all sched_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by left. Qed.
Local Lemma code_queue f fd : queue_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all queue_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by right; left. Qed.
Local Lemma code_thread f fd : thread_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all thread_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by right; right; left. Qed.
Local Lemma code_pagemap f fd : pagemap_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all pagemap_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 3 right; left. Qed.
Local Lemma code_timer f fd : timer_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all timer_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 4 right; left. Qed.
Lemma has_arch l f fd : (forall x, x ∈ l -> x ∈ arch_functions) -> module_of l f = Some fd -> scheduler_code f = Some fd.
Proof. intros Hl. apply has_all. intros x Hx%Hl. unfold all_functions. rewrite !elem_of_app. by do 5 right; left. Qed.
Local Lemma code_container f fd : container_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all container_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 6 right; left. Qed.
Local Lemma code_frame f fd : frame_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all frame_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 7 right; left. Qed.
Local Lemma code_share f fd : share_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all share_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 8 right; left. Qed.
Local Lemma code_notify f fd : notify_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all notify_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 9 right; left. Qed.
Local Lemma code_uctx f fd : uctx_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all uctx_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 10 right; left. Qed.
Local Lemma code_records f fd : records_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_all records_module_list). intros x Hx. unfold all_functions. rewrite !elem_of_app. by do 11 right. Qed.
Local Lemma code_switch f fd : switch_module f = Some fd -> scheduler_code f = Some fd.
Proof. apply (has_arch (take 3 arch_functions)). intros x Hx. rewrite <- (take_drop 3 arch_functions). apply elem_of_app. by left. Qed.
Local Lemma code_resched f fd : resched_module f = Some fd -> scheduler_code f = Some fd.
Proof.
  apply (has_arch (take 4 (drop 3 arch_functions))). intros x Hx. rewrite <- (take_drop 3 arch_functions). apply elem_of_app. right.
  rewrite <- (take_drop 4 (drop 3 arch_functions)). apply elem_of_app. by left.
Qed.
Definition exports (_ : string) : bool := true.
Theorem code_has_scheduler : has_scheduler exports scheduler_code.
Proof.
  split; [exact code_sched|exact code_queue|exact code_thread|exact code_pagemap|exact code_switch|exact code_resched|exact code_notify|exact code_uctx|exact code_records|reflexivity..|].
  by repeat apply Forall_cons_2; try apply Forall_nil_2.
Qed.

Theorem code_has_kernel : has_kernel no_entry exports scheduler_code.
Proof.
  split; [|reflexivity..| |done].
  - intros f fd H. unfold kernel_code, module_union in H.
    destruct (container_module f) eqn:E1; [by injection H as <-; apply code_container|]. destruct (frame_module f) eqn:E2; [by injection H as <-; apply code_frame|].
    destruct (share_module f) eqn:E3; [by injection H as <-; apply code_share|]. destruct (pagemap_module f) eqn:E4; [by injection H as <-; apply code_pagemap|].
    destruct (queue_module f) eqn:E5; [by injection H as <-; apply code_queue|]. destruct (thread_module f) eqn:E6; [by injection H as <-; apply code_thread|by apply code_sched].
  - intros f H. repeat (apply elem_of_cons in H as [->|H]; [reflexivity|]). by apply elem_of_nil in H.
Qed.

(** ** What [arch] does *)
Definition nothing (_ : cprim) : Prop := False.
Lemma arch_nothing_timed f n c args d : scheduler_code f = Some (arch_nothing n) -> length args = n ->
  timed nothing no_entry scheduler_code c f args d (fun _ d' => d' = d).
Proof. intros Hf Hn. eapply timed_body; [exact Hf|done|]. by eapply during_return. Qed.
Lemma arch_nothing_keeps f c : scheduler_code f = Some (arch_nothing 0) -> keeps_timer nothing no_entry scheduler_code c (timer_of c) f.
Proof. intros Hf e He. eapply timed_mono; [|by apply (arch_nothing_timed f 0)]. by intros v e' ->. Qed.
Lemma counter_timed c past : timed nothing no_entry scheduler_code c "arch_counter" [] {[clock_cell c := past]} (fun _ d => d = {[clock_cell c := past]}).
Proof.
  eapply timed_body; [reflexivity|done|]. unfold arch_counter_code. cbn [fn_body fn_locals]. timed_step.
  eapply during_this_cpu; [reflexivity|evaluate|]. locals_simpl.
  assert (({[clock_cell c := past]} : mem) !! (("arch_clock", Z.of_nat c, "", 0)%string : cell) = Some past) as Hx by apply lookup_singleton.
  by timed_step.
Qed.
Theorem code_arch_does : arch_does nothing no_entry scheduler_code (SchedulerClients.thread_of home_of 144) timer_of (fun _ => True).
Proof.
  split; [|intros c; by apply clock_model, counter_timed; [exact code_timer|..]|intros c; by apply arch_nothing_keeps..| | |].
  - intros c e t [Hd Hr]. eapply timed_mono; [|apply (timer_arm_timed nothing no_entry scheduler_code c); [exact code_timer|reflexivity| |exact Hd]].
    + intros v e' [_ ->]. split; [eexists; apply own_lookup|]. intros u Hu. rewrite !own_lookup_ne by (unfold field_cell; congruence). by apply Hr.
    + eapply timed_mono; [|by apply (arch_nothing_timed _ 1)]. by intros _ d ->.
  - intros c e to v He _. eapply timed_mono; [|by apply (arch_nothing_timed _ 2)]. by intros _ d ->.
  - intros c e t [_ Hr] Ht. destruct (Hr t Ht) as [(root & Hroot & Hok & Hne) _]. by exists root.
  - intros c e t root [Hd Hr] Ht Hok Hne. destruct (Hr t Ht) as ((root0 & Hroot & _) & Hwk & Hwo). split; [done|]. split; [done|]. split; [by eexists|]. split.
    + rewrite !own_lookup_ne by (unfold field_cell; congruence). done.
    + intros u Hu. destruct (Hr u Hu) as ((root1 & Hroot1 & Hok1 & Hne1) & Hwk1 & Hwo1). destruct (decide (u = t)) as [->|Hut].
      * split; [exists root; split; [apply own_lookup|by split; [|apply Hne]]|]. rewrite !(own_lookup_ne _ (field_cell "thread" t "root")) by (unfold field_cell; congruence).
        split; [|eexists; apply own_lookup]. rewrite own_lookup_ne by (unfold field_cell; congruence). eexists. apply own_lookup.
      * rewrite !own_lookup_ne by (unfold field_cell; congruence). by split_and!; [exists root1|..].
Qed.

(** ** The start *)
Definition first_of (c : nat) : nat := c.
Definition cell_of_cpu (c : nat) (x : cell) : bool := Nat.ltb c 16 && bool_decide (is_Some (start_of_cpu c !! x)).
(** What locks guard. *)
Notation no_shares := share.Spec.share_initial.
Notation locked_memory := (lock_memory root_frames frames_free no_shares).
Theorem locked_at_start : objects_start no_entry root_frames frames_free no_shares locked_memory.
Proof.
  split; [exact root_frames_word|exact frames_free_valid|exact share.Invariant.share_initial_valid| |apply lock_memory_other].
  exact (lock_memory_objects no_entry root_frames root_frames_word frames_free frames_free_valid no_shares share.Invariant.share_initial_valid).
Qed.
Notation start_locks := (locks kernel_budget NUM_LOCK (all_start locked_memory note_memory) all_guarded).
(** A CPU's cells are none of these. *)
Lemma cpu_cell_parked c x : cell_of_cpu c x = true -> parked_cell x = true.
Proof.
  unfold cell_of_cpu. intros [Hc Hx]%andb_true_iff. apply (start_parked c); [apply Nat.ltb_lt in Hc; unfold NUM_CPU; lia|].
  exact (bool_decide_eq_true_1 _ Hx).
Qed.
Notation worker_uses := (uses no_entry root_frames frames_free no_shares).
Local Notation S := (shared_kernel no_entry scheduler_code exports workers).
Local Notation A := (system workers (c_engine (arch_builtins no_entry) scheduler_code exports)).
(** The idle thread has one to wake. *)
Definition idle_turn (t : nat) : turn := Turn t 1 (sleeper_of t) 0.
Definition begins (t : nat) : ast A := Idle (Turn t 0 0 0 : cstate workers) ∅.
Local Notation T := (agent_threads S home_of switch_means begins).
Definition threads_at_start (t : nat) : tstate T :=
  if Nat.ltb t 16 then thread_at S home_of switch_means begins Running (Idle (idle_turn t : cstate workers) (start_of_cpu t ∪ ∅))
  else TState T Suspended (bare S (Idle (Turn t 5 0 0 : cstate workers) ∅)) ∅.

Lemma event_none : is_event NONE = false.
Proof. reflexivity. Qed.
Lemma workers_call : keeps_calls workers home_of 144 (fun _ => True) worker_of worker_stage worker_due worker_free worker_uses.
Proof.
  intros t [w n v k] Ht. unfold worker_of. cbn [who_is]. intros ->. pose (idle := Nat.ltb t 16). pose (last := Nat.leb 128 t).
  assert (forall m u j, worker_stage (Turn t m u j) = if idle || last then Goes else match m with 0%nat | 1%nat | 2%nat | 3%nat => Goes | 4%nat => Armed | 5%nat => Marked | _ => Goes end) as Hstage by done.
  assert (forall m u j, worker_due (Turn t m u j) = if Nat.eqb m 1 && is_event u then Some u else if idle && Nat.eqb m 6 then Some (128 + Z.of_nat t) else None) as Hdue by done.
  assert (forall m u j, worker_free (Turn t m u j) = if idle && Nat.eqb m 5 && is_free u then Some (128 + Z.of_nat t) else None) as Hfree by done.
  assert (forall m u j, (m <= 3)%nat -> worker_stage (Turn t m u j) = Goes) as Hgoes by (intros m u j Hm; rewrite Hstage; destruct (_ || _); [done|]; by destruct m as [|[|[|[|m]]]]; [..|lia]).
  assert (forall m u j, m <> 5%nat -> worker_free (Turn t m u j) = None) as Hno by (intros m u j Hm; rewrite Hfree, (proj2 (Nat.eqb_neq m 5)) by lia; by rewrite andb_false_r).
  assert (forall m u j, m <> 6%nat -> (m = 1%nat -> is_event u = false) -> worker_due (Turn t m u j) = None) as Hnone.
  { intros m u j Hm He. rewrite Hdue, (proj2 (Nat.eqb_neq m 6)), andb_false_r by lia. destruct (Nat.eqb_spec m 1) as [E|]; [by rewrite (He E)|done]. }
  destruct n as [|[|[|[|[|[|[|n]]]]]]]; cbn [cnext workers step_of answered who_is].
  - split; [done|]. apply may_serve_timer; [by apply Hgoes; lia|]. intros x. cbn [creturn workers step_of who_is rounds].
    split; [by apply Hgoes; lia|]. split; [|by apply Hno; lia]. rewrite Hdue. cbn [Nat.eqb andb]. destruct (is_event x); [by right|left]. by rewrite andb_false_r.
  - assert (is_event v = true -> goes_on workers worker_stage worker_due worker_free (Turn t 1 v k)) as Hserved.
    { intros E x. cbn [creturn workers step_of answered who_is rounds]. rewrite E. split_and!; [apply Hgoes; lia|apply Hnone; [lia|done]|apply Hno; lia]. }
    destruct (is_release v) eqn:Er; [|destruct (is_deadline v) eqn:Ed].
    + assert (is_event v = true) as E by (unfold is_event; by rewrite Er). split; [intros x; cbn [creturn workers step_of answered]; by rewrite E|].
      assert (exists x, 0 <= x < NUM_THREAD /\ v = SCHED_RELEASE_BASE + x) as (x & Hx & Hv).
      { unfold is_release in Er. apply andb_true_iff in Er as [E1%Z.leb_le E2%Z.ltb_lt]. exists (v - SCHED_RELEASE_BASE). lia. }
      assert (worker_due (Turn t 1 v k) = Some v) as Hd by (rewrite Hdue; cbn [Nat.eqb andb]; by rewrite E).
      specialize (Hserved E). clear E Er. subst v. apply may_release; [apply Hgoes; lia|done|done|done].
    + assert (is_event v = true) as E by (unfold is_event; by rewrite Er, Ed). split; [intros x; cbn [creturn workers step_of answered]; by rewrite E|].
      assert (worker_due (Turn t 1 v k) = Some v) as Hd by (rewrite Hdue; cbn [Nat.eqb andb]; by rewrite E).
      unfold is_deadline in Ed. apply andb_true_iff in Ed as [E1%Z.leb_le E2%Z.ltb_lt]. apply may_wake; [apply Hgoes; lia|lia|done|by apply Hserved].
    + assert (is_event v = false) as E by (unfold is_event; by rewrite Er, Ed). split; [intros x; cbn [creturn workers step_of answered]; by rewrite E|].
      apply may_decide; [apply Hgoes; lia|destruct (is_idle _); names|]. intros x. cbn [creturn workers step_of answered who_is rounds]. rewrite E.
      split_and!; [apply Hgoes; lia|by apply Hnone; [lia|]|apply Hno; lia].
  - split; [done|]. cbn [creturn workers step_of who_is rounds]. unfold as_before. rewrite !Hgoes, !Hno, !Hnone by first [lia|done]. done.
  - unfold is_idle, is_last. cbn [who_is]. fold idle last. destruct idle eqn:Ei; [|destruct last eqn:El]; (split; [done|]).
    + apply may_decide; [apply Hgoes; lia|names|]. intros x. cbn [creturn workers step_of who_is rounds]. split_and!; [by rewrite Hstage|apply Hnone; [lia|done]|apply Hno; lia].
    + apply may_exit; [apply Hgoes; lia|apply Nat.ltb_ge in Ei; unfold NUM_CPU; lia|]. intros x. cbn [creturn workers step_of who_is rounds]. split_and!; [by rewrite Hstage|apply Hnone; [lia|done]|apply Hno; lia].
    + apply may_set_deadline; [apply Hgoes; lia|apply Nat.ltb_ge in Ei; unfold NUM_CPU; lia| |].
      * unfold deadline_of. pose proof (Z.mod_pos_bound (20 * rounds (Turn t 3 v k)) horizon ltac:(done)) as [? ?]. unfold horizon, timer_never in *. lia.
      * intros x. cbn [creturn workers step_of who_is rounds]. by rewrite Hstage.
  - unfold is_idle, is_last. cbn [who_is]. fold idle last. destruct idle eqn:Ei; [|destruct last eqn:El]; (split; [done|]).
    + apply may_look; [by rewrite Hstage| |].
      { apply Nat.ltb_lt in Ei. exists (128 + t)%nat. unfold last_of. cbn [who_is]. split; [lia|]. split; [|lia]. unfold home_of.
        replace (128 + t)%nat with (t + 8 * 16)%nat by lia. by rewrite Nat.mod_add by done. }
      intros x. cbn [creturn workers step_of who_is rounds]. split_and!; [by rewrite Hstage|apply Hnone; [lia|done]|]. rewrite Hfree. cbn [andb Nat.eqb]. destruct (is_free x) eqn:Ef; [right|by left].
      split; [done|]. unfold is_free in Ef. apply orb_true_iff in Ef as [E%Z.eqb_eq|E%Z.eqb_eq]; [by left|by right].
    + unfold as_before. rewrite !Hstage, !Hno, !Hnone by first [lia|done]. done.
    + apply may_prepare; [by rewrite Hstage|apply Nat.ltb_ge in Ei; unfold NUM_CPU; lia|]. intros x. cbn [creturn workers step_of who_is rounds]. by rewrite Hstage.
  - unfold is_idle, is_last. cbn [who_is]. fold idle last. destruct idle eqn:Ei; [|destruct last eqn:El].
    + destruct (is_free v) eqn:Ef; (split; [done|]).
      * apply may_start; [by rewrite Hstage|unfold last_of, NUM_CPU; lia| |rewrite Hfree; cbn [andb Nat.eqb]; by rewrite Ef|right; unfold NUM_FRAME; lia|done|].
        { apply Nat.ltb_lt in Ei. exists (128 + t)%nat. unfold last_of. cbn [who_is]. split; [lia|]. split; [|lia]. unfold home_of.
          replace (128 + t)%nat with (t + 8 * 16)%nat by lia. by rewrite Nat.mod_add by done. }
        intros x. cbn [creturn workers step_of who_is rounds]. split_and!; [by rewrite Hstage|right; by rewrite Hdue|by rewrite Hfree].
      * unfold as_before. rewrite !Hstage, !Hnone, !Hfree by first [lia|done]. cbn [andb Nat.eqb]. by rewrite Ef.
    + split; [done|]. unfold as_before. rewrite !Hstage, !Hnone, !Hfree by first [lia|done]. done.
    + split; [done|]. apply may_block_now; [by rewrite Hstage|]. intros x. cbn [creturn workers step_of who_is rounds]. split_and!; [by rewrite Hstage|by rewrite Hdue|by rewrite Hfree].
  - unfold is_idle, is_last. cbn [who_is]. fold idle last. destruct idle eqn:Ei; [|destruct last eqn:El]; (split; [first [done|intros x; cbn [creturn workers step_of]; by destruct (rests_never _)]|]).
    + apply may_wake; [by rewrite Hstage|apply Nat.ltb_lt in Ei; unfold last_of, NUM_THREAD; cbn [who_is]; lia|by rewrite Hdue|]. intros x. cbn [creturn workers step_of who_is rounds].
      unfold rests_never, is_idle, is_last. cbn [who_is]. fold idle last. rewrite Ei. cbn [orb].
      split_and!; [by rewrite Hstage|apply Hnone; [lia|done]|apply Hno; lia].
    + unfold as_before. rewrite !Hstage, !Hdue, !Hfree. done.
    + apply may_use; [by apply uses_charge|]. intros x. cbn [creturn workers step_of who_is rounds]. unfold rests_never, is_idle, is_last. cbn [who_is]. fold idle last. rewrite Ei, El. cbn [orb].
      unfold as_before. by rewrite !Hstage, !Hdue, !Hfree.
  - unfold rests_never, is_idle, is_last. cbn [who_is rounds]. fold idle last.
    assert (forall m u j, (m = 0%nat) -> as_before workers worker_stage worker_due worker_free (Turn t (7 + n) v k) (Turn t m u j)) as Hsame.
    { intros m u j ->. unfold as_before. rewrite !Hstage, !Hdue, !Hfree. cbn [Nat.add Nat.eqb andb]. by rewrite !andb_false_r. }
    destruct (idle || last) eqn:Eil; [split; [done|by apply Hsame]|].
    assert (forall f args, notifies f args -> (forall x, worker_of t (creturn workers (Turn t (7 + n) v k) x)) /\
      call_may workers home_of 144 (fun _ => True) worker_stage worker_due worker_free worker_uses t (Turn t (7 + n) v k) f args) as Hcall.
    { intros f args Hf. split; [done|]. apply may_notify; [exact Hf|]. intros x. by apply Hsame. }
    destruct (k mod 3 =? 0); [|destruct (k mod 3 =? 1)]; apply Hcall; exists NOTE; (split; [done|]); [left; split; [names|done]|right; split; [done|by eexists]|left; split; [names|done]].
Qed.

Lemma none_mine c : OwnCells.mine cell_of_cpu parked_cell c ∅.
Proof. intros x v H. change ((∅ : gmap cell Z) !! x = Some v) in H. by rewrite lookup_empty in H. Qed.

Lemma workers_begin t : (t < 144)%nat -> exists u m, begins t = @Idle _ _ workers (c_engine (arch_builtins no_entry) scheduler_code exports) u m /\
  worker_of t u /\ worker_stage u = Goes /\ worker_due u = None /\ worker_free u = None.
Proof. intros _. eexists _, _. split; [reflexivity|]. split; [done|].
  split; [unfold worker_stage; by destruct (rests_never _)|]. unfold worker_due, worker_free. cbn [step_of Nat.eqb andb]. by rewrite !andb_false_r.
Qed.

Section runs.
  Notation L := start_locks.
  Notation object_event_of := (few_event_of object_locks L Some).
  Notation calm := (LockEvents.calm object_event_of locked_memory (few_alone_of object_locks L Some)).
  Notation sound := (fun l => locks_sound no_entry root_frames frames_free no_shares locked_memory L object_event_of 16 l /\ notes_in_order locked_memory note_memory (lock_part (L := L) Some l)).
  Notation settled := (locks_settled no_entry root_frames frames_free no_shares L object_event_of).
  Definition workers_layer := thread_layer L (cell_baton cell_of_cpu parked_cell) 144 home_of first_of calm.
  Definition workers_agent := thread_agent T.
  Lemma home_cpu t : (t < 144)%nat -> (home_of t < 16)%nat.
  Proof using. intros _. by apply Nat.mod_upper_bound. Qed.
  Theorem workers_start t : (t < 144)%nat -> between_calls no_entry workers exports scheduler_code L 144 home_of first_of begins cell_of_cpu parked_cell calm sound settled
    (SchedulerClients.thread_of home_of 144) timer_of (fun c to Y => promised c (SchedulerClients.thread_of home_of 144 c) to Y)
    (can workers 144 home_of worker_of worker_stage worker_due worker_free) t (threads_at_start t) [].
  Proof using.
    intros Ht. unfold threads_at_start, between_calls. destruct (Nat.ltb t 16) eqn:Hlarge; [pose proof (proj1 (Nat.ltb_lt t 16) Hlarge) as Hlt|].
    + assert (home_of t = t) as E by (by apply Nat.mod_small). assert (Z.of_nat t < NUM_CPU) as Hc by (unfold NUM_CPU; lia).
      left. exists (idle_turn t), ∅, None, (start_of_cpu t), (start_state t). unfold can, whole_promise. rewrite E. split; [done|]. split; [split; [split; [exact E|done]|done]|]. split; [apply calm_parts; by split_and!|].
      split; [split; [apply (locks_sound_start no_entry root_frames frames_free no_shares locked_memory locked_at_start)|exact I]|]. split; [apply locks_settled_start|].
      split; [by apply start_holds|]. split; [done|]. split; [split; [done|]|split; [|apply none_mine]].
      * assert (worker_stage (idle_turn t) = Goes) as -> by (unfold worker_stage, rests_never, is_idle; cbn [who_is idle_turn]; by rewrite (proj2 (Nat.ltb_lt t 16) Hlt)).
        split; [by apply start_promised|]. split; [|by intros x; unfold worker_free; cbn [step_of idle_turn Nat.eqb]; rewrite andb_false_r].
        intros v Hv. unfold worker_due in Hv. cbn [step_of answered idle_turn Nat.eqb andb] in Hv. rewrite andb_false_r in Hv. destruct (is_event (sleeper_of t)); [|done]. injection Hv as <-.
        intros x Hx. split; [unfold sleeper_of, SCHED_RELEASE_BASE, NUM_CPU in *; lia|]. intros <-. split; [by apply start_sleeps|apply lookup_empty].
      * intros x. unfold cell_of_cpu. rewrite (proj2 (Nat.ltb_lt t 16) Hlt). cbn [andb]. by rewrite bool_decide_eq_true.
    + right. exists (Turn t 5 0 0), ∅. split; [done|]. split; [apply none_mine|]. intros Y [HY _].
      cbn [creturn workers step_of who_is rounds]. split; [done|]. assert (worker_stage (Turn t 6 0 0) = Goes) as -> by (unfold worker_stage; by destruct (rests_never _)).
      split_and!; [done|intros v|intros x]; unfold worker_due, worker_free, is_idle; cbn [who_is step_of Nat.eqb andb]; by rewrite Hlarge.
  Qed.
  Theorem workers_never_wrong : never_wrong 144 workers_layer workers_agent threads_at_start.
  Proof using.
    apply (Main.threads_never_wrong no_entry workers exports scheduler_code code_has_scheduler code_has_kernel root_frames frames_free no_shares locked_memory note_memory locked_at_start note_memory_guarded
      nothing L Some (locks_have_locks _ _ _ _) 16 144 ltac:(done) ltac:(done) home_of first_of home_cpu begins cell_of_cpu cpu_cell_parked timer_of (fun _ => True) code_arch_does
      worker_of worker_stage worker_due worker_free workers_call workers_begin threads_at_start workers_start).
  Qed.
End runs.
