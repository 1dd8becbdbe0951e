(** Infinite executions: each one of the CPUs is one of the threads, step for step. So whatever all executions of the
    machine of threads show, those of the CPUs do. *)
From Ashlar Require Export machine.threads.Baton.
From Ashlar Require Export calculus.linking.InfiniteExecutions.

Section move.
  Context {PRIM MEM : Type} (L : layer PRIM MEM) (A : agent PRIM MEM).

  Lemma step_move n c g g' : cpu_step n L A c g g' -> g' = move L A c g.
  Proof. destruct 1 as [l f s Hc Hn|l f p v m o Hc Hn Hs Hp]; unfold move; simpl; by rewrite Hn, ?Hp. Qed.
End move.

Section liveness.
  Context {PRIM MEM D : Type} (L : layer PRIM MEM) (T : thread_code PRIM MEM) (X : baton_data D MEM).
  Context (ncpu nthread : nat) (home : nat -> nat) (first : nat -> nat) (quiet : nat -> log L -> bool).
  Context (P : nat -> tstate T) (ST : starts T ncpu nthread home first P).
  Notation L0 := (cpu_layer L nthread home first).
  Notation L1 := (thread_layer L X nthread home first quiet).
  Notation A0 := (cpu_agent T X home).
  Notation A1 := (thread_agent T).
  Notation P0 := (cpu_start (D:=D) T first P).
  Notation sim := (sim L T X ncpu nthread home first quiet).
  Notation current_thread := (current_thread L first).

  Context (NW : never_wrong nthread L1 A1 P).
  Context (ex : nat -> state L0 A0) (schedule : nat -> nat) (Hex : execution ncpu L0 A0 P0 ex schedule).

  (** The threads that move. *)
  Definition thread_schedule (i : nat) : nat := current_thread (schedule i) (glog (ex i)).
  Fixpoint thread_ex (i : nat) : state L1 A1 :=
    match i with O => @State _ _ L1 A1 [] P | S i => move L1 A1 (thread_schedule i) (thread_ex i) end.

  Lemma thread_ex_step i : reach nthread L1 A1 P (thread_ex i) /\ sim (ex i) (thread_ex i) /\
    cpu_step nthread L1 A1 (thread_schedule i) (thread_ex i) (thread_ex (S i)).
  Proof using ST NW Hex.
    destruct Hex as [H0 Hs].
    assert (Hstep : forall i, reach nthread L1 A1 P (thread_ex i) -> sim (ex i) (thread_ex i) ->
      cpu_step nthread L1 A1 (thread_schedule i) (thread_ex i) (thread_ex (S i)) /\ sim (ex (S i)) (thread_ex (S i))).
    { intros j Hr HS. specialize (Hs j). assert (Hc : (schedule j < ncpu)%nat) by (by destruct Hs).
      destruct (sim_down L T X ncpu nthread home first quiet P ST (ex j) (thread_ex j) (schedule j) (ex (S j)) HS)
        as (g1' & Hst & HS'); [|exact Hs|].
      { apply NW; [done|]. exact (proj1 (sim_current _ _ _ _ _ _ _ _ _ _ HS _ Hc)). }
      unfold at_turn in Hst. fold (thread_schedule j) in Hst. pose proof (step_move _ _ _ _ _ _ Hst) as ->. done. }
    assert (H : reach nthread L1 A1 P (thread_ex i) /\ sim (ex i) (thread_ex i)).
    { induction i as [|i [Hr HS]]; [rewrite H0; split; [constructor|by apply sim_start]|].
      destruct (Hstep i Hr HS) as [Hst HS']. split; [|done]. eapply reach_step; [exact Hr|]. by eexists. }
    destruct H as [Hr HS]. split_and!; [done|done|by apply Hstep].
  Qed.

  Theorem thread_execution : execution nthread L1 A1 P thread_ex thread_schedule.
  Proof using ST NW Hex. split; [done|]. intros i. apply thread_ex_step. Qed.

  (** Only its own CPU takes a thread off. *)
  Lemma current_wait c t n : forall i, schedule (i + n)%nat = c -> current_thread c (glog (ex i)) = t ->
    exists j, (i <= j)%nat /\ thread_schedule j = t.
  Proof using Hex.
    induction n as [|n IH]; intros i Hi Ht.
    { exists i. rewrite Nat.add_0_r in Hi. split; [done|]. unfold thread_schedule. by rewrite Hi. }
    destruct (decide (schedule i = c)) as [E|E]; [exists i; split; [done|]; unfold thread_schedule; by rewrite E|].
    destruct (IH (S i)) as (j & Hj & Hs); [by rewrite Nat.add_succ_comm| |exists j; split; [lia|done]].
    rewrite <- Ht. destruct Hex as [_ Hst]. specialize (Hst i).
    destruct Hst as [l f s Hc Hn|l f p v m o Hc Hn Hsch Hp]; simpl; [done|].
    destruct o; simpl; try done. by rewrite decide_False.
  Qed.

  (** A thread that its CPU turns to again and again moves again and again, if the CPU does. *)
  Theorem thread_fair t : fair schedule (home t) -> (forall i, exists j, (i <= j)%nat /\ current_thread (home t) (glog (ex j)) = t) ->
    fair thread_schedule t.
  Proof using Hex.
    intros Hf Ht i. destruct (Ht i) as (j & Hj & Hcur). destruct (Hf j) as [n Hn].
    destruct (current_wait (home t) t n j Hn Hcur) as (k & Hk & Hs). exists (k - i)%nat. by replace (i + (k - i))%nat with k by lia.
  Qed.

  (** What a thread inevitably reaches by local reasoning ([run]), whatever the other threads do, it reaches on its CPU. *)
  Theorem thread_returns (Gu : log L1 -> Prop) (Q : ast A1 -> log L1 -> Prop) t :
    (t < nthread)%nat ->
    (forall g, reach nthread L1 A1 P g -> Gu (glog g)) ->
    (forall g, reach nthread L1 A1 P g -> exists l e, glog g = e ++ l /\ others L1 t e /\ run L1 A1 Gu t Q (gagent g t) l) ->
    fair schedule (home t) -> (forall i, exists j, (i <= j)%nat /\ current_thread (home t) (glog (ex j)) = t) ->
    forall i, exists j l, (i <= j)%nat /\ Q (cthread T (gagent (ex j) (home t)) t) l.
  Proof using ST NW Hex.
    intros Htn HG HQ Hf Ht i. destruct (thread_ex_step i) as (Hr & HS & _). destruct (HQ _ Hr) as (l0 & e & El & He & Hrun).
    destruct (run_inevitable nthread L1 A1 Gu t thread_ex thread_schedule (proj2 thread_execution)) with
      (s := gagent (thread_ex i) t) (l := l0) (i := i) (e := e) (Q := Q)
      as (j & l' & e' & Hj & Hq & _).
    - intros j. pose proof (proj1 (thread_ex_step j)) as Hrj. split; [by apply HG|by eapply reach_legal].
    - by apply thread_fair.
    - exact Hrun.
    - done.
    - exact El.
    - exact He.
    - exists j, l'. split; [done|]. rewrite (sim_thread _ _ _ _ _ _ _ _ _ _ (proj1 (proj2 (thread_ex_step j))) t Htn). done.
  Qed.
End liveness.
