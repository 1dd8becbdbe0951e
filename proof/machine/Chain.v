(** The whole chain: from CPUs that interleave over shared memory down to one CPU with its environment.

    [x86mc] -- Lemma 1 --> [hs] -- Lemma 2 --> [local_copy] -- Lemmas 4, 3 --> [pt] -- Lemma 5 --> [loc]. *)
From Ashlar Require Export machine.LocalCopies machine.CpuLocal calculus.logs.Soundness.

Section chain.
  Context {PRIM : Type} (ncpu : nat) {H : hardware PRIM} {A : agent PRIM mem} (S : shareable A).
  Context (fairness : nat -> list (event (hmark H)) -> Prop) (m0 : mem) (P : nat -> ast A).
  Context (O : ownership H) (OK : ownership_ok O) (FAIR : fairness_ok fairness O) (DEALT : dealt ncpu m0 P O).
  Notation L := (olayer O).

  (** Programs that never go wrong on the ownership machine never go wrong on shared memory, and do nothing there that
      they do not do with local copies. *)
  Theorem multicore_refines_ownership :
    refines (x86mc ncpu H S fairness m0 P) (observed (erase O) (local_copy ncpu P O)).
  Proof using OK FAIR DEALT.
    eapply refines_trans; [apply lemma1_hardware_scheduler|]. by apply lemma2_local_copies.
  Qed.

  (** All CPUs of the ownership machine, each on a machine of its own. *)
  Definition each_cpu_local (Gu : log L -> Prop) : semantics (log L) :=
    Semantics (forall i, (i < ncpu)%nat -> never_fails (loc L A P Gu i))
      (fun l => forall i, (i < ncpu)%nat -> behaves (loc L A P Gu i) l).

  (** What is proved of each CPU alone, against an environment that keeps the guarantee [Gu], holds on shared memory. *)
  Theorem multicore_refines_cpu_local (Gu : log L -> Prop) : Gu [] ->
    refines (x86mc ncpu H S fairness m0 P) (observed (erase O) (each_cpu_local Gu)).
  Proof using OK FAIR DEALT.
    intros G0. eapply refines_trans; [apply multicore_refines_ownership|]. apply observed_refines.
    by apply cpu_local_total.
  Qed.

  (** The same in the words of [calculus/logs/Local.v]. *)
  Corollary multicore_safe (Gu : log L -> Prop) : Gu [] -> (forall c, (c < ncpu)%nat -> safe L A Gu c (P c) []) ->
    forall g, multicore_reach ncpu H S fairness m0 P g ->
      (forall c, (c < ncpu)%nat -> ~ multicore_wrong H S fairness c g) /\ ~ conflict ncpu H S g /\
      exists l, mlog g = erase O l /\ Gu l.
  Proof using OK FAIR DEALT.
    intros G0 Hs g Hr. pose proof (local_never_wrong ncpu L A P Gu G0 Hs) as NW.
    split; [intros c Hc; by eapply multicore_never_wrong|]. split; [by eapply multicore_race_free|].
    destruct (multicore_agrees ncpu S fairness m0 P O OK FAIR DEALT NW g Hr) as (s & Hsr & Hg).
    exists (glog s). split; [apply (agrees_log _ _ _ _ _ Hg)|].
    by apply (local_sound ncpu L A P Gu G0 Hs s Hsr).
  Qed.

  (** Liveness: what a CPU inevitably reaches according to the local reasoning ([run]), it reaches in every infinite
      execution of the multicore machine in which it gets its turn again and again. *)
  Corollary multicore_inevitable (Gu : log L -> Prop) (ex : nat -> multicore H (A:=A)) (schedule : nat -> nat) c Q :
    Gu [] -> (forall c, (c < ncpu)%nat -> safe L A Gu c (P c) []) ->
    ex 0%nat = multicore_start H m0 P ->
    (forall i, multicore_step ncpu H S fairness (schedule i) (ex i) (ex (Datatypes.S i))) ->
    (c < ncpu)%nat -> fair schedule c -> run L A Gu c Q (P c) [] ->
    exists j t l, Q t l /\ forall m, aput S (magent (ex j) c) m = aput S t m.
  Proof using OK FAIR DEALT.
    intros G0 Hs H0 Hst Hc Hfair Hrun. pose proof (local_never_wrong ncpu L A P Gu G0 Hs) as NW.
    destruct (multicore_execution ncpu S fairness m0 P O OK FAIR DEALT NW ex schedule H0 Hst) as (ex' & Hex & Hag).
    assert (HG : forall i, Gu (glog (ex' i)) /\ legal L (glog (ex' i))).
    { intros i. apply (local_sound ncpu L A P Gu G0 Hs). eapply execution_reach; exact Hex. }
    destruct Hex as [E0 Hex].
    destruct (run_inevitable ncpu L A Gu c ex' schedule Hex HG Hfair Q (P c) [] Hrun 0%nat []) as
      (j & l' & e' & _ & HQ & _ & _); [by rewrite E0|by rewrite E0|constructor|].
    exists j, (gagent (ex' j) c), l'. split; [done|]. intros m. by apply (agrees_agent _ _ _ _ _ (Hag j)).
  Qed.

  (** ** Executions exist *)

  (** [moment schedule i]: the machine after [i] turns of the schedule. *)
  Fixpoint moment (schedule : nat -> nat) (i : nat) : multicore H (A:=A) :=
    match i with
    | 0%nat => multicore_start H m0 P
    | Datatypes.S i =>
        match execute H S (schedule i) (moment schedule i) with Some g => g | None => moment schedule i end
    end.

  (** Where no CPU is ever done, every schedule that keeps the scheduler assumption has an infinite execution. So the
      theorems about all executions speak of something. *)
  Theorem multicore_execution_exists (NW : never_wrong ncpu L A P) (schedule : nat -> nat) :
    (forall i, (schedule i < ncpu)%nat) ->
    (forall c g, multicore_reach ncpu H S fairness m0 P g -> (c < ncpu)%nat -> anext A c (current H S c g) <> ADone) ->
    (forall i, fairness (schedule i) (mlog (moment schedule i))) ->
    forall i, multicore_step ncpu H S fairness (schedule i) (moment schedule i) (moment schedule (Datatypes.S i)).
  Proof using OK FAIR DEALT.
    intros Hn Hd Hf.
    assert (Hgo : forall i, multicore_reach ncpu H S fairness m0 P (moment schedule i) ->
      multicore_step ncpu H S fairness (schedule i) (moment schedule i) (moment schedule (Datatypes.S i))).
    { intros i Hr. simpl.
      destruct (execute H S (schedule i) (moment schedule i)) as [g|] eqn:He; [by apply execute_step|].
      exfalso. apply (multicore_never_wrong ncpu S fairness m0 P O OK FAIR DEALT NW _ _ Hr (Hn i)).
      specialize (Hd (schedule i) _ Hr (Hn i)). unfold execute, multicore_wrong in *.
      destruct (anext A (schedule i) _) as [| |s|p]; try done. split; [done|].
      by destruct (hstep H p _) as [[[??]?]|]. }
    intros i. apply Hgo. induction i as [|i IH]; [constructor|]. eapply multicore_reach_step; [exact IH|]. by apply Hgo.
  Qed.
End chain.
