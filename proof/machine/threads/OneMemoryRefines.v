(** The machine whose CPUs have one memory each refines the machine of threads: safety, and infinite executions. *)
From Ashlar Require Export machine.threads.OneMemorySteps machine.threads.Executions.

Section refines.
  Context {PRIM D K V : Type} `{Countable K}.
  Notation MEM := (gmap K V).
  Context (L : layer PRIM MEM) (T : thread_code PRIM MEM) (X : baton_data D MEM) (cells : D -> MEM) (parked : K -> Prop).
  Context (ncpu nthread : nat) (home : nat -> nat) (first : nat -> nat) (quiet : nat -> log L -> bool).
  Context (P : nat -> tstate T) (ST : starts T ncpu nthread home first P).
  Context (FR : framed L T X cells parked).
  Notation of_cpu := (of_cpu nthread home).
  Notation apart := (apart T cells parked nthread home).
  Notation same_cpu := (same_cpu T cells nthread home).
  Notation owns := (owns T cells nthread home).
  Notation flat := (flat T).
  Notation fcur := (fcur T). Notation ftransit := (ftransit T). Notation fcode := (fcode T). Notation fmem := (fmem T).
  Notation flat_set := (flat_set T).
  Notation flat_next := (flat_next T).
  Notation flat_resume := (flat_resume T).
  Notation flat_agent := (flat_agent T).
  Notation all_parked := (all_parked parked).
  Notation L0 := (cpu_layer L nthread home first).
  Notation A0 := (cpu_agent T X home).
  Notation AF := flat_agent.
  Notation goes := (goes L nthread home first).
  Notation L1 := (thread_layer L X nthread home first quiet).
  Notation A1 := (thread_agent T).
  Notation P0 := (cpu_start (D:=D) T first P).
  Notation sim := (sim L T X ncpu nthread home first quiet).

  Context (AP : forall g, reach nthread L1 A1 P g -> threads_apart L T X cells parked nthread home first quiet g).
  Context (NW : never_wrong nthread L1 A1 P).

  Context (m0 : nat -> MEM) (M0 : flat_memory T nthread home P m0).
  Notation flat_start := (flat_start T first P m0).

  Record same (gf : state L0 AF) (g0 : state L0 A0) : Prop := {
    same_log : glog gf = glog g0;
    same_agent c : (c < ncpu)%nat -> same_cpu c (gagent gf c) (gagent g0 c);
  }.

  Lemma sim_apart g0 g1 c : sim g0 g1 -> threads_apart L T X cells parked nthread home first quiet g1 -> (c < ncpu)%nat -> apart c (gagent g0 c).
  Proof using.
    intros HS (H0 & H1 & H2) Hc. split.
    - intros t t' [Ht Hh] [Ht' Hh'] Hne.
      rewrite <- Hh at 1. rewrite <- Hh' at 1. rewrite !(sim_thread _ _ _ _ _ _ _ _ _ _ HS) by done. apply H1; congruence.
    - intros t [Ht Hh] Hne. rewrite <- Hh. rewrite (sim_thread _ _ _ _ _ _ _ _ _ _ HS) by done. apply H0; [done|].
      pose proof (sim_phase _ _ _ _ _ _ _ _ _ _ HS t Ht) as Hp. unfold phase_ok in Hp.
      rewrite (sim_cur _ _ _ _ _ _ _ _ _ _ HS c Hc), (sim_log _ _ _ _ _ _ _ _ _ _ HS) in Hne.
      rewrite Hh in Hp. by rewrite decide_False in Hp by congruence.
    - intros v d t Htr [Ht Hh]. rewrite <- Hh. rewrite (sim_thread _ _ _ _ _ _ _ _ _ _ HS) by done.
      rewrite (sim_transit _ _ _ _ _ _ _ _ _ _ HS) in Htr by done. apply H2; [done|]. rewrite Hh.
      destruct (transit L home c (glog g1)); [|done]. by injection Htr as _ ->.
  Qed.

  (** Where the machine stands: all that the steps need. *)
  Lemma stands g0 g1 c : reach nthread L1 A1 P g1 -> sim g0 g1 -> (c < ncpu)%nat ->
    apart c (gagent g0 c) /\ of_cpu c (ccur T (gagent g0 c)) /\ ~ goes_wrong L0 A0 c (gagent g0 c) (glog g0) /\
    (forall (y' : cpu_state (D:=D) T) l', goes A0 c (gagent g0 c) (glog g0) y' l' -> apart c y') /\
    (forall from to, lsched L0 c (glog g0) -> ctransit T (gagent g0 c) = None ->
      tphase T (cthread T (gagent g0 c) (ccur T (gagent g0 c))) = Leaving from to ->
      home to = c /\ exists d m', bd_split X c to (tmem T (cthread T (gagent g0 c) (ccur T (gagent g0 c)))) = Some (d, m')).
  Proof using ST AP NW.
    intros Hr HS Hc.
    assert (Hn1 : ~ goes_wrong L1 A1 (at_turn L T X nthread home first g0 c) (gagent g1 (at_turn L T X nthread home first g0 c)) (glog g1)).
    { apply NW; [done|]. exact (proj1 (sim_current _ _ _ _ _ _ _ _ _ _ HS c Hc)). }
    split_and!.
    - apply (sim_apart _ g1); auto.
    - rewrite (sim_cur _ _ _ _ _ _ _ _ _ _ HS c Hc). exact (sim_current _ _ _ _ _ _ _ _ _ _ HS c Hc).
    - intros Hw. by eapply sim_wrong in Hw.
    - intros y' l' Hg.
      assert (Hst : cpu_step ncpu L0 A0 c g0 (State l' (update A0 (gagent g0) c y'))).
      { destruct g0 as [l f]. destruct Hg as [[Hn ->]|(p & v & m & o & Hn & Hs & Hp & -> & ->)]; [by apply step_tau|by eapply step_prim]. }
      destruct (sim_down L T X ncpu nthread home first quiet P ST g0 g1 c _ HS Hn1 Hst) as (g1' & Hst1 & HS').
      pose proof (sim_apart _ g1' c HS') as Ha. simpl in Ha. rewrite update_same in Ha. apply Ha; [|done].
      apply AP. eapply reach_step; [exact Hr|]. by eexists.
    - intros from to Hsch Htr Hph.
      destruct (sim_at L T X ncpu nthread home first quiet g0 g1 c HS Hc) as (t & Et & Htn & Hth & Ecur & Ecode & Ecl).
      unfold at_turn in Hn1. rewrite <- Et in Hn1. rewrite Ecur, Ecode in *.
      rewrite (sim_transit _ _ _ _ _ _ _ _ _ _ HS c Hc) in Htr. destruct (transit L home c (glog g1)) as [d|] eqn:Ed; [done|].
      unfold goes_wrong in Hn1. simpl in Hn1. unfold thread_next in Hn1. rewrite Hph, Hth, Ed in Hn1.
      unfold thread_step_of in Hn1. rewrite Hth, Ecl, decide_True, Ed in Hn1 by done.
      pose proof (sim_log _ _ _ _ _ _ _ _ _ _ HS) as Hl. rewrite <- Hl in Hn1.
      destruct (decide _) as [(_ & _ & Hh & _)|]; [|by destruct Hn1].
      destruct (bd_split X c to (tmem T (gagent g1 t))) as [[d m']|]; [eauto|by destruct Hn1].
  Qed.

  (** A step with one memory is one with parts, and one of the current thread. *)
  Lemma flat_down gf g0 g1 c gf' : reach nthread L1 A1 P g1 -> sim g0 g1 -> same gf g0 -> cpu_step ncpu L0 AF c gf gf' ->
    exists g0' g1', cpu_step ncpu L0 A0 c g0 g0' /\
      cpu_step nthread L1 A1 (at_turn L T X nthread home first g0 c) g1 g1' /\ sim g0' g1' /\ same gf' g0'.
  Proof using ST FR AP NW.
    intros Hr1 HS HF Hst. assert (Hc : (c < ncpu)%nat) by (by destruct Hst).
    destruct (stands g0 g1 c Hr1 HS Hc) as (Ha & Hcur & Hw & Hnext & Hleave).
    assert (Hg : exists x' l', goes AF c (gagent gf c) (glog gf) x' l' /\ gf' = State l' (update AF (gagent gf) c x')).
    { destruct Hst as [l f s _ Hn|l f p v m o _ Hn Hs Hp]; simpl; eexists _, _; (split; [|done]); [by left|right; eauto 10]. }
    destruct Hg as (x' & l' & Hg & ->). pose proof (same_log _ _ HF) as Hl. rewrite Hl in Hg.
    destruct (flat_goes L T X cells parked nthread home first FR c (glog g0) (gagent gf c) (gagent g0 c) x' l'
      (same_agent _ _ HF c Hc) Ha Hcur Hw Hleave Hnext Hg) as (y' & Hg0 & Hsame).
    assert (Hst0 : cpu_step ncpu L0 A0 c g0 (State l' (update A0 (gagent g0) c y'))).
    { clear -Hc Hg0. destruct g0 as [l f]. destruct Hg0 as [[Hn ->]|(p & v & m & o & Hn & Hs & Hp & -> & ->)]; [by apply step_tau|by eapply step_prim]. }
    destruct (sim_down L T X ncpu nthread home first quiet P ST g0 g1 c (State l' (update A0 (gagent g0) c y')) HS)
      as (g1' & Hst1 & HS'); [|exact Hst0|].
    { apply NW; [done|]. exact (proj1 (sim_current _ _ _ _ _ _ _ _ _ _ HS c Hc)). }
    eexists _, g1'. split_and!; [exact Hst0|exact Hst1|exact HS'|].
    split; simpl; [done|]. intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [by rewrite !update_same|].
    rewrite !update_other by done. by apply HF.
  Qed.

  Lemma same_start : same (@State _ _ L0 AF [] flat_start) (@State _ _ L0 A0 [] P0).
  Proof using M0.
    split; [done|]. intros c Hc. split; simpl; try done. intros k v. rewrite (M0 c k v). unfold OneMemory.owns. simpl. naive_solver.
  Qed.

  Theorem flat_reach gf : reach ncpu L0 AF flat_start gf -> exists g0 g1, reach nthread L1 A1 P g1 /\ sim g0 g1 /\ same gf g0.
  Proof using ST FR AP NW M0.
    induction 1 as [|gf gf' Hr (g0 & g1 & Hr1 & HS & HF) [c Hst]].
    { exists (@State _ _ L0 A0 [] P0), (@State _ _ L1 A1 [] P). split_and!; [constructor|by apply sim_start|exact same_start]. }
    destruct (flat_down gf g0 g1 c gf' Hr1 HS HF Hst) as (g0' & g1' & _ & Hst1 & HS' & HF').
    exists g0', g1'. split_and!; [|done|done]. eapply reach_step; [exact Hr1|by eexists].
  Qed.

  (** The machine with one memory for each CPU refines the machine of threads. *)
  Theorem flat_refine : never_wrong ncpu L0 AF flat_start /\
    forall l, traces ncpu L0 AF flat_start l -> exists l1, traces nthread L1 A1 P l1 /\ cpu_view L home l1 = l.
  Proof using ST FR AP NW M0.
    split.
    - intros gf c Hr Hc Hw. destruct (flat_reach gf Hr) as (g0 & g1 & Hr1 & HS & HF).
      destruct (stands g0 g1 c Hr1 HS Hc) as (Ha & Hcur & Hnw & Hnext & Hleave). apply Hnw.
      rewrite (same_log _ _ HF) in Hw.
      by apply (flat_wrong L T X cells parked nthread home first FR c _ (gagent gf c) (gagent g0 c) (same_agent _ _ HF c Hc)).
    - intros l [f Hr]. destruct (flat_reach _ Hr) as (g0 & [l1 f1] & Hr1 & HS & HF). exists l1. split; [by exists f1|].
      pose proof (same_log _ _ HF) as Hl. simpl in Hl. rewrite Hl. symmetry. exact (sim_log _ _ _ _ _ _ _ _ _ _ HS).
  Qed.

  (** ** Infinite executions: those with one memory are those with parts. *)
  Section execution.
    Context (ex : nat -> state L0 AF) (schedule : nat -> nat) (Hex : execution ncpu L0 AF flat_start ex schedule).

    Fixpoint parts_ex (i : nat) : state L0 A0 :=
      match i with O => @State _ _ L0 A0 [] P0 | S i => move L0 A0 (schedule i) (parts_ex i) end.

    Theorem parts_execution : execution ncpu L0 A0 P0 parts_ex schedule /\ forall i, same (ex i) (parts_ex i).
    Proof using ST FR AP NW M0 Hex.
      destruct Hex as [H0 Hs].
      assert (Hstep : forall i, (exists g1, reach nthread L1 A1 P g1 /\ sim (parts_ex i) g1) -> same (ex i) (parts_ex i) ->
        cpu_step ncpu L0 A0 (schedule i) (parts_ex i) (parts_ex (S i)) /\
        (exists g1, reach nthread L1 A1 P g1 /\ sim (parts_ex (S i)) g1) /\ same (ex (S i)) (parts_ex (S i))).
      { intros i (g1 & Hr1 & HS) HF. destruct (flat_down _ _ _ _ _ Hr1 HS HF (Hs i)) as (g0' & g1' & Hst & Hst1 & HS' & HF').
        pose proof (step_move _ _ _ _ _ _ Hst) as ->. split_and!; [done| |done]. exists g1'. split; [|done].
        eapply reach_step; [exact Hr1|by eexists]. }
      assert (Hall : forall i, (exists g1, reach nthread L1 A1 P g1 /\ sim (parts_ex i) g1) /\ same (ex i) (parts_ex i)).
      { induction i as [|i [Hr HF]]; [|by apply Hstep]. split; [|rewrite H0; exact same_start].
        exists (@State _ _ L1 A1 [] P). split; [constructor|by apply sim_start]. }
      split; [split; [done|]|]; intros i; [by apply Hstep; apply Hall|apply Hall].
    Qed.

    (** What a thread inevitably reaches by local reasoning, whatever the other threads do, it reaches on a CPU with one
        memory: if that CPU moves again and again, and turns to the thread again and again. *)
    Theorem flat_returns (Gu : log L1 -> Prop) (Q : ast A1 -> log L1 -> Prop) t : (t < nthread)%nat ->
      (forall g, reach nthread L1 A1 P g -> Gu (glog g)) ->
      (forall g, reach nthread L1 A1 P g -> exists l e, glog g = e ++ l /\ others L1 t e /\ run L1 A1 Gu t Q (gagent g t) l) ->
      fair schedule (home t) -> (forall i, exists j, (i <= j)%nat /\ current_thread L first (home t) (glog (ex j)) = t) ->
      forall i, exists j x l, (i <= j)%nat /\ Q x l /\ fcode (gagent (ex j) (home t)) t = (tphase T x, tcode T x).
    Proof using ST FR AP NW M0 Hex.
      intros Ht HG HQ Hfair Hturn i. destruct parts_execution as [Hex0 HF].
      destruct (thread_returns L T X ncpu nthread home first quiet P ST NW parts_ex schedule Hex0 Gu Q t Ht HG HQ Hfair)
        with (i := i) as (j & l & Hj & Hq).
      { intros k. destruct (Hturn k) as (j & Hj & Hc). exists j. split; [done|]. by rewrite <- (same_log _ _ (HF j)). }
      eexists j, _, l. split_and!; [done|exact Hq|].
      apply (OneMemory.same_code _ _ _ _ _ _ _ (same_agent _ _ (HF j) (home t) (start_home _ _ _ _ _ _ ST t Ht))).
    Qed.
  End execution.
End refines.
