(** The CPUs do what the threads do, step by step.

    [sim]: the same log but for the data that switches carry and for the events of coming back; the same threads. A step of
    CPU [c] is one of its current thread, and the other way round. *)
From Ashlar Require Export machine.threads.Threads.

Section simulation.
  Context {PRIM MEM D : Type} (L : layer PRIM MEM) (T : thread_code PRIM MEM) (X : baton_data D MEM).
  Context (ncpu nthread : nat) (home : nat -> nat) (first : nat -> nat) (quiet : nat -> log L -> bool).
  Context (P : nat -> tstate T) (ST : starts T ncpu nthread home first P).

  Notation L0 := (cpu_layer L nthread home first).
  Notation L1 := (thread_layer L X nthread home first quiet).
  Notation A0 := (cpu_agent T X home).
  Notation A1 := (thread_agent T).
  Notation P0 := (cpu_start (D:=D) T first P).
  Notation P1 := P.
  Notation S0 l f := (@State _ _ L0 A0 l f).
  Notation S1 l f := (@State _ _ L1 A1 l f).
  Notation cpu_view := (cpu_view L (D:=D) home).
  Notation current_thread := (current_thread L first).
  Notation started := (started L).
  Notation transit := (transit L (D:=D) home).

  (** What the log says about thread [t] in state [y]. *)
  Definition phase_ok (t : nat) (y : tstate T) (l : log L1) : Prop :=
    if decide (current_thread (home t) (cpu_view l) = t)
    then transit (home t) l = None <-> tphase T y <> Suspended
    else tphase T y = Suspended.

  Record sim (g0 : state L0 A0) (g1 : state L1 A1) : Prop := {
    sim_log : glog g0 = cpu_view (glog g1);
    sim_cur c : (c < ncpu)%nat -> ccur T (gagent g0 c) = current_thread c (glog g0);
    sim_current c : (c < ncpu)%nat -> (current_thread c (glog g0) < nthread)%nat /\ home (current_thread c (glog g0)) = c;
    sim_transit c : (c < ncpu)%nat ->
      ctransit T (gagent g0 c) = (fun d => (started (current_thread c (glog g0)) (glog g0), d)) <$> transit c (glog g1);
    sim_thread t : (t < nthread)%nat -> cthread T (gagent g0 (home t)) t = gagent g1 t;
    sim_phase t : (t < nthread)%nat -> phase_ok t (gagent g1 t) (glog g1);
  }.

  Lemma sim_start : sim (S0 [] P0) (S1 [] P1).
  Proof using ST.
    split; simpl; try done.
    - intros c Hc. by apply (start_first _ _ _ _ _ _ ST).
    - intros t Ht. unfold phase_ok. simpl. case_decide as E.
      + split; [intros _|done]. rewrite <- E, (start_running _ _ _ _ _ _ ST); [done|by apply (start_home _ _ _ _ _ _ ST)].
      + by apply (start_suspended _ _ _ _ _ _ ST).
  Qed.

  Lemma sim_update l0 f0 l1 f1 c t l0' l1' x' y' :
    sim (S0 l0 f0) (S1 l1 f1) -> (c < ncpu)%nat -> t = current_thread c l0 -> l0' = cpu_view l1' ->
    (forall c', (c' < ncpu)%nat -> c' <> c -> current_thread c' l0' = current_thread c' l0 /\ transit c' l1' = transit c' l1 /\
      started (current_thread c' l0) l0' = started (current_thread c' l0) l0) ->
    ccur T x' = current_thread c l0' -> (current_thread c l0' < nthread)%nat -> home (current_thread c l0') = c ->
    ctransit T x' = (fun d => (started (current_thread c l0') l0', d)) <$> transit c l1' ->
    cthread T x' t = y' -> (forall t', t' <> t -> cthread T x' t' = cthread T (f0 c) t') ->
    phase_ok t y' l1' ->
    (forall t', (t' < nthread)%nat -> home t' = c -> t' <> t -> tphase T (f1 t') = Suspended -> phase_ok t' (f1 t') l1') ->
    sim (S0 l0' (update A0 f0 c x')) (S1 l1' (update A1 f1 t y')).
  Proof using ST.
    intros HS Hc Ht Hl Hoth Hcur Hlt Hhome Htr Hy Hys Hph Hphs. destruct HS as [S1 S2 S3 S4 S5 S6]. simpl in *.
    destruct (S3 c Hc) as [Htn Hth]. rewrite <- Ht in Htn, Hth.
    split; simpl.
    - done.
    - intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [by rewrite update_same|].
      rewrite update_other by done. destruct (Hoth c' Hc' Hne) as (-> & _ & _). auto.
    - intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [done|]. destruct (Hoth c' Hc' Hne) as (-> & _ & _). auto.
    - intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [by rewrite update_same|].
      rewrite update_other by done. destruct (Hoth c' Hc' Hne) as (-> & -> & ->). auto.
    - intros t' Ht'. destruct (decide (t' = t)) as [->|Hne].
      + by rewrite Hth, !update_same.
      + rewrite (update_other A1) by done. destruct (decide (home t' = c)) as [E|E].
        * rewrite E, update_same, Hys by done. rewrite <- (S5 t' Ht'), E. done.
        * rewrite update_other by done. auto.
    - intros t' Ht'. destruct (decide (t' = t)) as [->|Hne]; [by rewrite update_same|].
      rewrite (update_other A1) by done. specialize (S6 t' Ht'). destruct (decide (home t' = c)) as [E|E].
      + apply Hphs; try done. unfold phase_ok in S6. rewrite <- S1, E, <- Ht in S6. by rewrite decide_False in S6 by congruence.
      + pose proof (start_home _ _ _ _ _ _ ST t' Ht') as Hc'. destruct (Hoth _ Hc' E) as (Ec & Et & _).
        unfold phase_ok in *. rewrite Et. rewrite <- Hl, Ec, S1. done.
  Qed.

  (** Where CPU [c] and its current thread stand. *)
  Lemma sim_at g0 g1 c : sim g0 g1 -> (c < ncpu)%nat -> exists t, t = current_thread c (glog g0) /\ (t < nthread)%nat /\ home t = c /\
    ccur T (gagent g0 c) = t /\ cthread T (gagent g0 c) t = gagent g1 t /\ current_thread c (cpu_view (glog g1)) = t.
  Proof using.
    intros HS Hc. exists (current_thread c (glog g0)). destruct (sim_current _ _ HS c Hc) as [Ht Hh]. split_and!; try done.
    - by apply (sim_cur _ _ HS).
    - rewrite <- (sim_thread _ _ HS _ Ht). by rewrite Hh.
    - by rewrite <- (sim_log _ _ HS).
  Qed.

  (** An event that hands nothing over. *)
  Lemma sim_event l0 f0 l1 f1 c t o0 o1 v m : sim (S0 l0 f0) (S1 l1 f1) -> (c < ncpu)%nat -> t = current_thread c l0 ->
    transit c l1 = None -> tphase T (f1 t) = Running ->
    cpu_view [Event t o1] = [Event c o0] ->
    (forall c', current_thread c' (Event c o0 :: l0) = current_thread c' l0) ->
    (forall c', transit c' (Event t o1 :: l1) = transit c' l1) ->
    (forall c', (c' < ncpu)%nat -> started (current_thread c' l0) (Event c o0 :: l0) = started (current_thread c' l0) l0) ->
    sim (S0 (Event c o0 :: l0) (update A0 f0 c (cpu_resume T X home (f0 c) v m)))
        (S1 (Event t o1 :: l1) (update A1 f1 t (thread_resume T (f1 t) v m))).
  Proof using ST.
    intros HS Hc Ht Htr Hrun He Hcur Htra Hsta.
    destruct (sim_at _ _ c HS Hc) as (t' & Et & Htn & Hth & Ecur & Ecode & Ecl). simpl in Et, Ecur, Ecode, Ecl. rewrite <- Ht in Et. subst t'.
    assert (E : cpu_view (Event t o1 :: l1) = Event c o0 :: l0).
    { pose proof (sim_log _ _ HS) as Hl. simpl in Hl. rewrite Hl.
      refine (eq_trans _ (f_equal (fun x => x ++ cpu_view l1) He)). simpl. by rewrite app_nil_r. }
    unfold cpu_resume. rewrite Ecur, Ecode, Hrun.
    eapply sim_update; [exact HS|exact Hc|exact Ht|..]; change (lop L0) with (cpu_op (lop L)) in *; change (lop L1) with (thread_op (lop L) D) in *.
    - by rewrite E.
    - intros c' Hc' Hne. rewrite Hcur, Htra. auto.
    - by rewrite Hcur.
    - by rewrite Hcur, <- Ht.
    - by rewrite Hcur, <- Ht.
    - rewrite Htra, Htr. done.
    - simpl. by rewrite fn_lookup_insert.
    - intros t' Hne. simpl. by rewrite fn_lookup_insert_ne.
    - unfold phase_ok, thread_resume. rewrite Htra, Hth, Htr, Hrun. rewrite E, Hcur, <- Ht, decide_True by done. done.
    - intros t' Ht' Hh Hne Hp. unfold phase_ok. rewrite E, Hcur, Hh, <- Ht. by rewrite decide_False by congruence.
  Qed.

  (** A private step. *)
  Lemma sim_tau l0 f0 l1 f1 c t y : sim (S0 l0 f0) (S1 l1 f1) -> (c < ncpu)%nat -> t = current_thread c l0 ->
    transit c l1 = None -> tphase T y <> Suspended ->
    sim (S0 l0 (update A0 f0 c (CpuState T t None (<[t := y]> (cthread T (f0 c)))))) (S1 l1 (update A1 f1 t y)).
  Proof using ST.
    intros HS Hc Ht Htr Hy. destruct (sim_at _ _ c HS Hc) as (t' & Et & Htn & Hth & Ecur & Ecode & Ecl). simpl in *.
    rewrite <- Ht in Et. subst t'.
    eapply sim_update; [exact HS|exact Hc|exact Ht|..]; simpl.
    - apply (sim_log _ _ HS).
    - done.
    - done.
    - by rewrite <- Ht.
    - by rewrite <- Ht.
    - by rewrite Htr.
    - by rewrite fn_lookup_insert.
    - intros t' Hne. by rewrite fn_lookup_insert_ne.
    - unfold phase_ok. rewrite Hth, Htr, Ecl, decide_True by done. done.
    - intros t' Ht' Hh Hne Hp. unfold phase_ok. rewrite Hh, Ecl, decide_False by congruence. done.
  Qed.

  (** The current thread comes back: a private step below, an event above. *)
  Lemma sim_resume l0 f0 l1 f1 c t d : sim (S0 l0 f0) (S1 l1 f1) -> (c < ncpu)%nat -> t = current_thread c l0 ->
    transit c l1 = Some d ->
    let y := thread_resume T (f1 t) (started t l0) (bd_join X c d (tmem T (f1 t))) in
    sim (S0 l0 (update A0 f0 c (CpuState T t None (<[t := y]> (cthread T (f0 c))))))
        (S1 (Event t (UResume) :: l1) (update A1 f1 t y)).
  Proof using ST.
    intros HS Hc Ht Htr y. destruct (sim_at _ _ c HS Hc) as (t' & Et & Htn & Hth & Ecur & Ecode & Ecl). simpl in *.
    rewrite <- Ht in Et. subst t'.
    assert (Hsus : tphase T (f1 t) = Suspended).
    { pose proof (sim_phase _ _ HS t Htn) as Hp. unfold phase_ok in Hp. simpl in Hp. rewrite Hth, Ecl, decide_True in Hp by done.
      destruct (tphase T (f1 t)) eqn:E; [..|done]; rewrite Htr in Hp; by destruct Hp as [_ Hp]; discriminate Hp. }
    assert (Hy : tphase T y = Running) by (unfold y, thread_resume; by rewrite Hsus).
    eapply sim_update; [exact HS|exact Hc|exact Ht|..]; simpl.
    - apply (sim_log _ _ HS).
    - intros c' Hc' Hne. rewrite decide_False by congruence. done.
    - done.
    - by rewrite <- Ht.
    - by rewrite <- Ht.
    - by rewrite decide_True by done.
    - by rewrite fn_lookup_insert.
    - intros t' Hne. by rewrite fn_lookup_insert_ne.
    - unfold phase_ok. simpl. rewrite Hth, Ecl, !decide_True by done. by rewrite Hy.
    - intros t' Ht' Hh Hne Hp. unfold phase_ok. simpl. rewrite Hh, Ecl, decide_False by congruence. done.
  Qed.

  (** A switch. *)
  Lemma sim_switch l0 f0 l1 f1 c t to d m m' : sim (S0 l0 f0) (S1 l1 f1) -> (c < ncpu)%nat -> t = current_thread c l0 ->
    tphase T (f1 t) = Leaving t to -> to <> t -> home to = c -> (to < nthread)%nat ->
    bd_split X c to m = Some (d, m') ->
    sim (S0 (Event c (CSwitch t to) :: l0) (update A0 f0 c (cpu_resume T X home (f0 c) (started to l0) m)))
        (S1 (Event t (USwitch t to d) :: l1) (update A1 f1 t (thread_resume T (f1 t) 0 m'))).
  Proof using ST.
    intros HS Hc Ht Hph Hne Hhome Hto Hd. destruct (sim_at _ _ c HS Hc) as (t' & Et & Htn & Hth & Ecur & Ecode & Ecl).
    simpl in *. rewrite <- Ht in Et. subst t'.
    assert (Enext : current_thread c (cpu_view (Event t (USwitch t to d) :: l1)) = to).
    { simpl. rewrite Hth. by rewrite decide_True. }
    unfold cpu_resume, thread_resume. rewrite Ecur, Ecode, Hph, Hhome, Hd.
    eapply sim_update; [exact HS|exact Hc|exact Ht|..]; simpl.
    - unfold cpu_view_event. simpl. rewrite Hth. f_equal. apply (sim_log _ _ HS).
    - intros c' Hc' Hne'. rewrite !decide_False; [done| |congruence..].
      intros E. destruct (sim_current _ _ HS c' Hc') as [_ H]. simpl in H. congruence.
    - by rewrite decide_True by done.
    - by rewrite decide_True by done.
    - by rewrite decide_True by done.
    - rewrite Hth. rewrite (decide_True (P:=c = c)) by done. simpl. rewrite (decide_True (P:=c = c)) by done. rewrite decide_False by congruence. done.
    - by rewrite fn_lookup_insert.
    - intros t' Hne'. by rewrite fn_lookup_insert_ne.
    - unfold phase_ok. rewrite Hth, Enext. by rewrite decide_False.
    - intros t' Ht' Hh Hne' Hp. unfold phase_ok. rewrite Hh, Enext. case_decide as E; [|done].
      simpl. rewrite decide_True by done. by rewrite Hp.
  Qed.

  (** ** One step, both ways *)

  Definition at_turn (g0 : state L0 A0) (c : nat) : nat := current_thread c (glog g0).

  Theorem sim_down g0 g1 c g0' : sim g0 g1 ->
    ~ goes_wrong L1 A1 (at_turn g0 c) (gagent g1 (at_turn g0 c)) (glog g1) ->
    cpu_step ncpu L0 A0 c g0 g0' ->
    exists g1', cpu_step nthread L1 A1 (at_turn g0 c) g1 g1' /\ sim g0' g1'.
  Proof using ST.
    intros HS Hw Hst. destruct g1 as [l1 f1].
    assert (Hc : (c < ncpu)%nat) by (by destruct Hst).
    destruct (sim_at _ _ c HS Hc) as (t & Et & Htn & Hth & Ecur & Ecode & Ecl). unfold at_turn in *. rewrite <- Et in *.
    pose proof (sim_transit _ _ HS c Hc) as Htr. pose proof (sim_phase _ _ HS t Htn) as Hph.
    pose proof (sim_log _ _ HS) as Hl. rewrite <- Et in Htr.
    unfold phase_ok in Hph. simpl in Hph, Ecl, Hw, Hl. rewrite Hth, Ecl, decide_True in Hph by done.
    destruct Hst as [l0 f0 s Hc' Hn|l0 f0 p v m o Hc' Hn Hsch Hp]; simpl in *;
      unfold cpu_next in Hn; rewrite Htr, Ecur, Ecode in Hn; destruct (transit c l1) as [d|] eqn:Ed; simpl in Hn; try done.
    - (* coming back *)
      injection Hn as <-. assert (Hsus : tphase T (f1 t) = Suspended).
      { destruct (tphase T (f1 t)) eqn:E; [..|done]; by destruct Hph as [_ Hp]; discriminate Hp. }
      eexists. split; [eapply (step_prim nthread L1 A1 t l1 f1 PResume)|].
      + done.
      + simpl. unfold thread_next. by rewrite Hsus.
      + simpl. rewrite Hth, Ed. done.
      + simpl. unfold thread_step_of. by rewrite Hth, Ecl, decide_True, Ed.
      + rewrite <- Hl. pose proof (sim_resume l0 f0 l1 f1 c t d HS Hc Et Ed) as Hs. simpl in Hs.
        simpl. unfold thread_resume in *. rewrite Hsus in *. exact Hs.
    - destruct (thread_next T t (f1 t)) as [| |y|p] eqn:Ey; try done. injection Hn as <-.
      exists (S1 l1 (update A1 f1 t y)). split; [by apply step_tau|].
      apply (sim_tau _ _ _ _ c t y HS Hc Et Ed).
      unfold thread_next in Ey. destruct (tphase T (f1 t)) eqn:E; try done.
      destruct (tnext T t _ _); try done; by injection Ey as <-.
    - destruct (thread_next T t (f1 t)) as [| |y|p'] eqn:Ey; try done. injection Hn as ->.
      assert (Hnot : tphase T (f1 t) <> Suspended) by (by apply Hph).
      assert (Hsch1 : lsched L1 t l1) by (simpl; rewrite Hth, <- Hl; done).
      assert (Hok : thread_step_of L X nthread home first quiet t p (tmem T (f1 t)) l1 <> Wrong).
      { intros E. apply Hw. unfold goes_wrong. simpl. rewrite Ey. done. }
      rewrite Ecur, Ecode in Hp. unfold thread_step_of in Hok. rewrite Hth, Ecl, <- Hl, Ed in Hok. rewrite decide_True in Hok by done.
      assert (Hstep : forall v m o, thread_step_of L X nthread home first quiet t p (tmem T (f1 t)) l1 = Ok v m o ->
        cpu_step nthread L1 A1 t (S1 l1 f1) (S1 (Event t o :: l1) (update A1 f1 t (thread_resume T (f1 t) v m)))).
      { intros v1 m1 o1 H1. by eapply (step_prim nthread L1 A1 t l1 f1 p). }
      unfold thread_step_of in Hstep. rewrite Hth, Ecl, <- Hl, Ed in Hstep. rewrite decide_True in Hstep by done.
      destruct p as [p|from to|t' w|]; simpl in Hp.
      + assert (Hrun : tphase T (f1 t) = Running) by (unfold thread_next in Ey; destruct (tphase T (f1 t)); done).
        destruct (lstep L c p (tmem T (f1 t)) (base L l0)) as [| |v1 m1 o1]; try done. injection Hp as <- <- <-.
        eexists. split; [by apply Hstep|]. apply sim_event; try done. simpl. unfold cpu_view_event. simpl. by rewrite Hth.
        intros c'. simpl. by case_decide.
      + assert (Hlea : tphase T (f1 t) = Leaving from to).
        { unfold thread_next in Ey. destruct (tphase T (f1 t)); try done; [destruct (tnext T t _ _); done|congruence]. }
        match type of Hp with context [decide ?Q] => destruct (decide Q) as [Hm|]; [|done] end.
        injection Hp as <- <- <-. destruct Hm as (-> & Hne & Hhome & Hto). rewrite <- Et in *.
        match type of Hok with context [decide ?Q] => destruct (decide Q) as [Hm|]; [|done] end. destruct (bd_split X c to (tmem T (f1 t))) as [[d m']|] eqn:Es; [|done].
        eexists. split; [by apply Hstep|]. by apply sim_switch.
      + assert (Hrun : tphase T (f1 t) = Running) by (unfold thread_next in Ey; destruct (tphase T (f1 t)); done).
        match type of Hp with context [decide ?Q] => destruct (decide Q) as [Hm|]; [|done] end.
        injection Hp as <- <- <-. destruct Hm as (Ht' & Hcur & Hv).
        eexists. split; [by apply Hstep|]. apply sim_event; try done.
        * simpl. unfold cpu_view_event. simpl. by rewrite Hth.
        * intros c'. simpl. by case_decide.
        * intros c' Hc1. simpl. case_decide as E; [|done]. subst t'. destruct (sim_current _ _ HS c' Hc1) as [_ H]. simpl in H.
          rewrite H in Hcur. done.
      + done.
  Qed.

  (** Conversely: the thread that moves above is current, and its CPU can do the same. *)
  Theorem sim_up g0 g1 t g1' : sim g0 g1 -> cpu_step nthread L1 A1 t g1 g1' ->
    at_turn g0 (home t) = t /\ exists g0', cpu_step ncpu L0 A0 (home t) g0 g0' /\ sim g0' g1'.
  Proof using ST.
    intros HS Hst. destruct g0 as [l0 f0].
    assert (Htn : (t < nthread)%nat) by (by destruct Hst).
    pose proof (start_home _ _ _ _ _ _ ST t Htn) as Hc. set (c := home t) in *.
    pose proof (sim_phase _ _ HS t Htn) as Hph. pose proof (sim_log _ _ HS) as Hl. unfold phase_ok in Hph. simpl in Hl.
    unfold at_turn. simpl.
    assert (Hcur : t = current_thread c l0).
    { destruct Hst as [l1 f1 s _ Hn|l1 f1 p v m o _ Hn Hsch Hp]; simpl in *; rewrite Hl.
      - case_decide as E; [done|]. unfold thread_next in Hn. by rewrite Hph in Hn.
      - unfold thread_step_of in Hp. fold c in Hp. by destruct (decide (current_thread c (cpu_view l1) = t)). }
    split; [done|].
    destruct (sim_at _ _ c HS Hc) as (t' & Et & _ & Hth & Ecur & Ecode & Ecl). simpl in Et. rewrite <- Hcur in Et. subst t'.
    fold c in Hph. rewrite Ecl, decide_True in Hph by done.
    pose proof (sim_transit _ _ HS c Hc) as Htr. simpl in Htr. rewrite <- Hcur in Htr.
    destruct Hst as [l1 f1 y _ Hn|l1 f1 p v m o _ Hn Hsch Hp]; simpl in *.
    - assert (Hy : tphase T y <> Suspended /\ tphase T (f1 t) <> Suspended).
      { unfold thread_next in Hn. destruct (tphase T (f1 t)); try done.
        destruct (tnext T t _ _); try done; by injection Hn as <-. }
      assert (Ed : transit c l1 = None) by (apply Hph, Hy). rewrite Ed in Htr. simpl in Htr.
      eexists. split; [|eapply sim_tau; [exact HS|exact Hc|exact Hcur|exact Ed|apply Hy]]. apply step_tau; [done|]. simpl. unfold cpu_next.
      by rewrite Htr, Ecur, Ecode, Hn.
    - unfold thread_step_of in Hp. fold c in Hp. rewrite Ecl, decide_True in Hp by done.
      assert (Hnext : transit c l1 = None -> cpu_next T X c (f0 c) = APrim p).
      { intros Ed. unfold cpu_next. by rewrite Htr, Ed, Ecur, Ecode, Hn. }
      assert (Hrun : p <> PResume -> transit c l1 = None).
      { intros Hne. apply Hph. intros E. unfold thread_next in Hn. rewrite E in Hn. congruence. }
      assert (Hsch0 : p <> PResume -> lsched L c (base L l0)) by (rewrite Hl; auto).
      destruct p as [p|from to|t' w|]; [rewrite Hrun in Hp by done..|].
      + assert (Hr : tphase T (f1 t) = Running) by (unfold thread_next in Hn; destruct (tphase T (f1 t)); done).
        destruct (lstep L c p (tmem T (f1 t)) (base L (cpu_view l1))) as [| |v1 m1 o1] eqn:Ep; try done. injection Hp as -> -> <-.
        exists (S0 (Event c (CBase o1) :: l0) (update A0 f0 c (cpu_resume T X home (f0 c) v m))). split.
        * apply (step_prim ncpu L0 A0 c l0 f0 (PBase p) v m (CBase o1) Hc); [by apply Hnext, Hrun|by apply Hsch0|].
          simpl. by rewrite Ecur, Ecode, Hl, Ep.
        * apply sim_event; try done; [by apply Hrun|]. intros c'. simpl. by case_decide.
      + assert (Hlea : tphase T (f1 t) = Leaving from to).
        { unfold thread_next in Hn. destruct (tphase T (f1 t)); try done; [destruct (tnext T t _ _); done|congruence]. }
        match type of Hp with context [decide ?Q] => destruct (decide Q) as [(-> & Hne & Hhome & Hto & _)|]; [|done] end.
        destruct (bd_split X c to (tmem T (f1 t))) as [[d m']|] eqn:Es; [|done]. injection Hp as <- <- <-.
        exists (S0 (Event c (CSwitch t to) :: l0) (update A0 f0 c (cpu_resume T X home (f0 c) (started to l0) (tmem T (f1 t))))). split.
        * apply (step_prim ncpu L0 A0 c l0 f0 (PSwitch t to) (started to l0) (tmem T (f1 t)) (CSwitch t to) Hc);
            [by apply Hnext, Hrun|by apply Hsch0|]. simpl. rewrite Ecur, Ecode. by rewrite decide_True.
        * by apply sim_switch.
      + assert (Hr : tphase T (f1 t) = Running) by (unfold thread_next in Hn; destruct (tphase T (f1 t)); done).
        match type of Hp with context [decide ?Q] => destruct (decide Q) as [(Ht' & Hno & Hw)|]; [|done] end.
        injection Hp as <- <- <-. rewrite <- Hl in Hno.
        exists (S0 (Event c (CInit t' w) :: l0) (update A0 f0 c (cpu_resume T X home (f0 c) 0 (tmem T (f1 t))))). split.
        * apply (step_prim ncpu L0 A0 c l0 f0 (PInit t' w) 0 (tmem T (f1 t)) (CInit t' w) Hc);
            [by apply Hnext, Hrun|by apply Hsch0|]. simpl. rewrite Ecur, Ecode. by rewrite decide_True.
        * apply sim_event; try done; [by apply Hrun|intros c'; simpl; by case_decide|].
          intros c' Hc1. simpl. case_decide as E; [|done]. subst t'. destruct (sim_current _ _ HS c' Hc1) as [_ H]. simpl in H.
          rewrite H in Hno. done.
      + destruct (transit c l1) as [d|] eqn:Ed; [|done]. injection Hp as <- <- <-. simpl in Htr.
        assert (Hsus : tphase T (f1 t) = Suspended).
        { destruct (tphase T (f1 t)) eqn:E; [..|done]; by destruct Hph as [_ Hp]; discriminate Hp. }
        eexists. split; [|rewrite <- Hl; by apply (sim_resume l0 f0 l1 f1 c t d HS Hc Hcur Ed)].
        apply step_tau; [done|]. simpl. unfold cpu_next. rewrite Htr, Ecur, Ecode. unfold thread_resume. by rewrite Hsus.
  Qed.

  (** What goes wrong below does so above. *)
  Theorem sim_wrong g0 g1 c : sim g0 g1 -> (c < ncpu)%nat -> goes_wrong L0 A0 c (gagent g0 c) (glog g0) ->
    goes_wrong L1 A1 (at_turn g0 c) (gagent g1 (at_turn g0 c)) (glog g1).
  Proof using ST.
    intros HS Hc Hw. destruct (sim_at _ _ c HS Hc) as (t & Et & Htn & Hth & Ecur & Ecode & Ecl).
    unfold at_turn. rewrite <- Et. pose proof (sim_transit _ _ HS c Hc) as Htr. pose proof (sim_log _ _ HS) as Hl.
    unfold goes_wrong in *. simpl in *. unfold cpu_next in Hw. rewrite Htr, Ecur, Ecode in Hw.
    destruct (transit c (glog g1)) as [d|] eqn:Ed; simpl in Hw; [done|].
    destruct (thread_next T t (gagent g1 t)) as [| |y|p] eqn:Ey; try done.
    rewrite Hth, <- Hl. destruct Hw as [Hsch Hp]. split; [done|].
    unfold thread_step_of. rewrite Hth, Ecl, decide_True, <- Hl, Ed by done.
    destruct p as [p|from to|t' w|]; simpl in Hp.
    - by destruct (lstep L c p _ _).
    - rewrite <- Et in Hp. match type of Hp with context [decide ?Q] => destruct (decide Q) as [|Hno]; [done|] end.
      rewrite decide_False; [done|]. intros (-> & ? & ? & ? & ?). by apply Hno.
    - match type of Hp with context [decide ?Q] => destruct (decide Q) as [|Hno]; done end.
    - unfold thread_next in Ey. pose proof (sim_phase _ _ HS t Htn) as Hph. unfold phase_ok in Hph.
      rewrite Hth, Ecl, decide_True in Hph by done. apply Hph in Ed.
      destruct (tphase T (gagent g1 t)); [destruct (tnext T t _ _); done|done|done].
  Qed.

  (** ** The machines *)

  Lemma sim_reach g0 : never_wrong nthread L1 A1 P1 -> reach ncpu L0 A0 P0 g0 -> exists g1, reach nthread L1 A1 P1 g1 /\ sim g0 g1.
  Proof using ST.
    intros Hnw. induction 1 as [|g0 g0' Hr (g1 & Hr1 & HS) [c Hst]]; [eexists; split; [constructor|apply sim_start]|].
    assert (Hc : (c < ncpu)%nat) by (by destruct Hst).
    edestruct (sim_down g0 g1 c g0' HS) as (g1' & Hst1 & HS'); [|exact Hst|].
    { apply Hnw; [done|]. exact (proj1 (sim_current _ _ HS c Hc)). }
    exists g1'. split; [|done]. eapply reach_step; [exact Hr1|]. by eexists.
  Qed.

  (** The refinement: what the CPUs do, the threads do. *)
  Theorem threads_refine : never_wrong nthread L1 A1 P1 ->
    never_wrong ncpu L0 A0 P0 /\
    forall l, traces ncpu L0 A0 P0 l -> exists l1, traces nthread L1 A1 P1 l1 /\ cpu_view l1 = l.
  Proof using ST.
    intros Hnw. split.
    - intros g0 c Hr Hc Hw. destruct (sim_reach g0 Hnw Hr) as (g1 & Hr1 & HS).
      apply (sim_wrong _ _ c HS Hc) in Hw. revert Hw. apply Hnw; [done|]. exact (proj1 (sim_current _ _ HS c Hc)).
    - intros l [f Hr]. destruct (sim_reach _ Hnw Hr) as ([l1 f1] & Hr1 & HS). exists l1. split; [by exists f1|].
      symmetry. apply (sim_log _ _ HS).
  Qed.

  (** The converse: the machine of the threads shows nothing else. *)
  Lemma sim_reach_up g1 : reach nthread L1 A1 P1 g1 -> exists g0, reach ncpu L0 A0 P0 g0 /\ sim g0 g1.
  Proof using ST.
    induction 1 as [|g1 g1' Hr (g0 & Hr0 & HS) [t Hst]]; [eexists; split; [constructor|apply sim_start]|].
    destruct (sim_up g0 g1 t g1' HS Hst) as (_ & g0' & Hst0 & HS'). exists g0'. split; [|done].
    eapply reach_step; [exact Hr0|]. by eexists.
  Qed.
  Theorem threads_complete l1 : traces nthread L1 A1 P1 l1 -> traces ncpu L0 A0 P0 (cpu_view l1).
  Proof using ST.
    intros [f1 Hr]. destruct (sim_reach_up _ Hr) as ([l0 f0] & Hr0 & HS).
    pose proof (sim_log _ _ HS) as Hl. simpl in Hl. subst l0. by exists f0.
  Qed.

  (** A CPU can move just when its current thread can: it waits only for what the thread waits for. *)
  Theorem moves_iff g0 g1 c : sim g0 g1 -> (c < ncpu)%nat ->
    ~ goes_wrong L1 A1 (at_turn g0 c) (gagent g1 (at_turn g0 c)) (glog g1) ->
    (exists g0', cpu_step ncpu L0 A0 c g0 g0') <-> exists g1', cpu_step nthread L1 A1 (at_turn g0 c) g1 g1'.
  Proof using ST.
    intros HS Hc Hw. split.
    - intros [g0' Hst]. destruct (sim_down g0 g1 c g0' HS Hw Hst) as (g1' & H & _). eauto.
    - intros [g1' Hst]. destruct (sim_up g0 g1 _ g1' HS Hst) as (_ & g0' & H & _).
      unfold at_turn in H. rewrite (proj2 (sim_current _ _ HS c Hc)) in H. eauto.
  Qed.
End simulation.
