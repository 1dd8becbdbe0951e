(** From shared memory to threads: CPUs that interleave over one memory, each with a continuation for every thread of its
    own, do nothing that the machine of threads does not do.

    [x86mc] with the switch -- Lemmas 1, 2 --> CPUs with local copies -- [OneMemoryRefines.v] --> CPUs with parts
    -- [Simulation.v] --> threads. *)
From Ashlar Require Export machine.Chain machine.threads.Apart machine.threads.SwitchHardware machine.threads.AgentThreads.

Section shared.
  Context {PRIM D : Type} {H : hardware PRIM} (O : ownership H) (OK : ownership_ok O).
  Context `{free_decided : forall k l, Decision (ofree O k l)}.
  Context {A : agent PRIM mem} (S : shareable A) (home : nat -> nat) (means : PRIM -> meaning) (begin : nat -> ast A).
  Notation L := (olayer O).
  Notation T := (agent_threads S home means begin).
  Context (X : baton_data D mem) (cells : D -> mem) (parked : cell -> Prop).
  Context (ncpu nthread : nat) (first : nat -> nat) (quiet : nat -> log L -> bool) (P : nat -> tstate T).
  Notation L1 := (thread_layer L X nthread home first quiet).
  Notation A1 := (thread_agent T).
  Notation SO := (switch_ownership O nthread home first).
  Notation HW := (switch_hardware H).
  Notation ST := (shared_threads S home means begin).

  (** What the switch hands over, and what may stay with a suspended thread, is so that cells are only cells. *)
  Context (FR : framed L T X cells parked).
  Context (split_parked : forall c to m d m', bd_split X c to m = Some (d, m') -> all_parked parked m').
  (** The start: on each CPU its first thread runs; the cells are dealt out to threads and locks. *)
  Context (START : starts T ncpu nthread home first P).
  Context (start_apart : in_one_place O T X cells nthread home first quiet (@State _ _ L1 A1 [] P)).
  Context (start_parked : forall t, (t < nthread)%nat -> tphase T (P t) = Suspended -> all_parked parked (tmem T (P t))).
  Context (m0 : nat -> mem) (M0 : flat_memory T nthread home P m0).
  Context (memory : mem) (CPUS : forall c, (c < ncpu)%nat -> m0 c ⊆ memory).
  Context (LOCKS : forall k, ofree O k [] -> opublished O k [] ⊆ memory).
  Context (LOCKS_APART : forall k k', k <> k' -> ofree O k [] -> ofree O k' [] -> opublished O k [] ##ₘ opublished O k' []).
  Context (fairness : nat -> list (event (hmark H)) -> Prop) (FAIR : fairness_ok fairness O).

  Notation cpu_fairness := (fun c (l : list (event (hmark HW))) => fairness c (base_marks H l)).
  Notation P0 := (flat_start T first P m0 : nat -> ast (flat_agent T)).

  Lemma threads_dealt : dealt ncpu (A := flat_agent T) memory P0 SO.
  Proof using M0 CPUS LOCKS LOCKS_APART start_apart.
    assert (Hin : forall c x v, m0 c !! x = Some v -> exists t, (t < nthread)%nat /\ home t = c /\ tmem T (P t) !! x = Some v).
    { intros c x v Hx. apply (M0 c x v) in Hx as (t & [Ht Hh] & Hx). eauto. }
    split; simpl.
    - apply CPUS.
    - intros k Hk. by apply LOCKS.
    - intros c c' Hc Hc' Hne. apply map_disjoint_spec. intros x u v Hu Hv.
      apply Hin in Hu as (t & Ht & Hh & Hu), Hv as (t' & Ht' & Hh' & Hv).
      pose proof (start_apart (AtThread t) (AtThread t') ltac:(congruence)) as Hd. simpl in Hd. rewrite !decide_True in Hd by done.
      by eapply disjoint_at.
    - intros c k Hc Hk. apply map_disjoint_spec. intros x u v Hu Hv. apply Hin in Hu as (t & Ht & Hh & Hu).
      pose proof (start_apart (AtThread t) (AtLock k) ltac:(done)) as Hd. simpl in Hd. rewrite (decide_True _ _ Ht) in Hd.
      rewrite (decide_True _ _ Hk) in Hd. by eapply disjoint_at.
    - intros k k' Hne Hk Hk'. by apply LOCKS_APART.
  Qed.

  Context (NW : never_wrong nthread L1 A1 P).
  Local Lemma apart_always g : reach nthread L1 A1 P g -> threads_apart L T X cells parked nthread home first quiet g.
  Proof using OK FR split_parked start_apart start_parked.
    exact (owned_threads_apart O OK T X cells parked nthread home first quiet P FR split_parked start_apart start_parked g).
  Qed.
  Local Notation flat_ok := (flat_refine L T X cells parked ncpu nthread home first quiet P START FR apart_always NW m0 M0).

  (** The CPUs never go wrong; no two of them are about to touch the same ordinary cell; and what they do, the threads do. *)
  Theorem threads_on_shared_memory g : multicore_reach ncpu HW ST cpu_fairness memory P0 g ->
    (forall c, (c < ncpu)%nat -> ~ multicore_wrong HW ST cpu_fairness c g) /\ ~ conflict ncpu HW ST g /\
    exists l, traces nthread L1 A1 P l /\ mlog g = erase SO (cpu_view L home l).
  Proof using OK FR split_parked START start_apart start_parked M0 CPUS LOCKS LOCKS_APART FAIR NW.
    intros Hr. pose proof (switch_ownership_ok O nthread home first OK) as OK0.
    pose proof (switch_fairness_ok O nthread home first fairness FAIR) as FAIR0. pose proof threads_dealt as DEALT.
    destruct flat_ok as [NW0 HT].
    split; [intros c Hc; by eapply multicore_never_wrong|]. split; [by eapply multicore_race_free|].
    destruct (multicore_agrees ncpu ST cpu_fairness memory P0 SO OK0 FAIR0 DEALT NW0 g Hr) as ([l f] & Hs & Hg).
    destruct (HT l) as (l1 & Hl1 & <-); [by exists f|]. exists l1. split; [done|]. apply (agrees_log _ _ _ _ _ Hg).
  Qed.

  (** What a thread inevitably reaches by local reasoning, whatever all other threads do, it reaches on shared memory: if its
      CPU moves again and again, and turns to it again and again. *)
  Theorem threads_return_on_shared_memory (ex : nat -> multicore HW (A := flat_agent T)) (schedule : nat -> nat) (Gu : log L1 -> Prop)
      (Q : ast A1 -> log L1 -> Prop) t :
    ex 0%nat = multicore_start HW memory P0 ->
    (forall i, multicore_step ncpu HW ST cpu_fairness (schedule i) (ex i) (ex (Datatypes.S i))) ->
    (t < nthread)%nat ->
    (forall g, reach nthread L1 A1 P g -> Gu (glog g)) ->
    (forall g, reach nthread L1 A1 P g -> exists l e, glog g = e ++ l /\ others L1 t e /\ run L1 A1 Gu t Q (gagent g t) l) ->
    fair schedule (home t) ->
    (forall i, exists j, (i <= j)%nat /\ fcur T (magent (ex j) (home t)) = t) ->
    forall i, exists j x l, (i <= j)%nat /\ Q x l /\ fcode T (magent (ex j) (home t)) t = (tphase T x, tcode T x).
  Proof using OK FR split_parked START start_apart start_parked M0 CPUS LOCKS LOCKS_APART FAIR NW.
    intros H0 Hst Ht HG HQ Hfair Hturn i. pose proof (switch_ownership_ok O nthread home first OK) as OK0.
    pose proof (switch_fairness_ok O nthread home first fairness FAIR) as FAIR0. pose proof threads_dealt as DEALT.
    destruct (multicore_execution ncpu ST cpu_fairness memory P0 SO OK0 FAIR0 DEALT (proj1 flat_ok) ex schedule H0 Hst)
      as (ex' & Hex & Hag).
    assert (Hc : (home t < ncpu)%nat) by (by apply (start_home _ _ _ _ _ _ START)).
    assert (Hput : forall j m, flat_put S home means begin (magent (ex j) (home t)) m = flat_put S home means begin (gagent (ex' j) (home t)) m).
    { intros j m. exact (agrees_agent _ _ _ _ _ (Hag j) (home t) Hc m). }
    assert (Hcur : forall j, fcur T (gagent (ex' j) (home t)) = current_thread L first (home t) (glog (ex' j))).
    { intros j. destruct (flat_reach L T X cells parked ncpu nthread home first quiet P START FR apart_always NW m0 M0 (ex' j))
        as (g0 & g1 & _ & HS & HF); [by eapply execution_reach|].
      etransitivity; [exact (OneMemory.same_cur _ _ _ _ _ _ _ (same_agent _ _ _ _ _ _ _ _ _ _ HF (home t) Hc))|].
      etransitivity; [exact (sim_cur _ _ _ _ _ _ _ _ _ _ HS (home t) Hc)|].
      f_equal. symmetry. exact (same_log _ _ _ _ _ _ _ _ _ _ HF). }
    destruct (flat_returns L T X cells parked ncpu nthread home first quiet P START FR apart_always NW m0 M0 ex' schedule Hex
      Gu Q t Ht HG HQ Hfair) with (i := i) as (j & x & l & Hj & Hq & Hx).
    { intros k. destruct (Hturn k) as (j & Hj & Hcj). exists j. split; [done|].
      exact (eq_trans (eq_sym (Hcur j)) (eq_trans (eq_sym (f_equal (fcur T) (Hput j ∅))) Hcj)). }
    exists j, x, l. split; [exact Hj|]. split; [exact Hq|].
    exact (eq_trans (f_equal (fun x => fcode T x t) (Hput j ∅)) Hx).
  Qed.
End shared.
