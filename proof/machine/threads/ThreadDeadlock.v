(** Freedom from deadlock, with threads: as long as a CPU's current thread has not finished, some thread can take a step.

    A thread that waits for a lock waits for a CPU that holds it; that CPU's current thread is about to move, or waits for a lower lock. *)
From Ashlar Require Export machine.threads.Baton calculus.locks.Deadlock.

Section deadlock.
  Context {D D' MEM : Type} (nlock : Z) (budget : nat) (locks : lock_data D MEM) (T : thread_code cprim MEM) (X : baton_data D' MEM).
  Notation L := (lock_layer nlock budget locks).
  Context (ncpu nthread : nat) (home first : nat -> nat) (quiet : nat -> log L -> bool) (P : nat -> tstate T) (ST : starts T ncpu nthread home first P).
  Notation TL := (thread_layer L X nthread home first quiet).
  Notation TA := (thread_agent T).
  Notation current c l := (current_thread L first c (cpu_view L home l)).
  Notation transit c l := (transit L home c l).
  Notation base l := (base L (cpu_view L home l)).

  (** Of a CPU's threads only the current one is not suspended, and it is while it has not come back yet. *)
  Definition in_phase (t : nat) (y : tstate T) (l : log TL) : Prop :=
    if decide (current (home t) l = t) then match transit (home t) l with None => tphase T y <> Suspended | Some _ => tphase T y = Suspended end
    else tphase T y = Suspended.
  Definition phases (g : state TL TA) : Prop := (forall t, (t < nthread)%nat -> in_phase t (gagent g t) (glog g)) /\
    forall c, (c < ncpu)%nat -> (current c (glog g) < nthread)%nat /\ home (current c (glog g)) = c.
  Lemma reach_phases g : reach nthread TL TA P g -> phases g.
  Proof using ST.
    induction 1 as [|g g' Hr [IH1 IH2] [t Hst]].
    { split; simpl.
      - intros t Ht. unfold in_phase. simpl. case_decide as E; [|by apply (start_suspended _ _ _ _ _ _ ST)]. rewrite <- E at 1.
        rewrite (start_running _ _ _ _ _ _ ST); [done|by apply (start_home _ _ _ _ _ _ ST)].
      - intros c Hc. by apply (start_first _ _ _ _ _ _ ST). }
    destruct Hst as [l f y Ht Hn|l f p v m o Ht Hn Hs Hp]; cbn [glog gagent] in *.
    { split; cbn [glog gagent]; [|exact IH2]. intros t' Ht'. unfold update. destruct (decide (t' = t)) as [->|]; [|by apply IH1].
      specialize (IH1 t Ht). unfold in_phase in *. cbn [anext thread_agent] in Hn. unfold thread_next in Hn. destruct (tphase T (f t)) eqn:Eph; try done.
      assert (tphase T y <> Suspended) as Hy by (destruct (tnext T t (tcode T (f t)) (tmem T (f t))); try done; by injection Hn as <-).
      case_decide; [|congruence]. by destruct (transit (home t) l). }
    pose proof (IH1 t Ht) as Hph. cbn [lstep thread_layer] in Hp. unfold thread_step_of in Hp. destruct (decide (current (home t) l = t)) as [Ec|]; [|done].
    unfold in_phase in Hph. rewrite decide_True in Hph by exact Ec. cbn [anext thread_agent] in Hn.
    (* Threads of other CPUs are as before; of this CPU, if none but [to] becomes current. *)
    assert (forall o' y to, (forall c, c <> home t -> current c (Event t o' :: l) = current c l /\ transit c (Event t o' :: l) = transit c l) ->
      current (home t) (Event t o' :: l) = to -> (to < nthread)%nat -> home to = home t ->
      (if decide (to = t) then match transit (home t) (Event t o' :: l) with None => tphase T y <> Suspended | Some _ => tphase T y = Suspended end
       else tphase T y = Suspended /\ transit (home t) (Event t o' :: l) <> None) ->
      phases (@State _ _ TL TA (Event t o' :: l) (update TA f t y))) as Hkeep.
    { intros o' y to Hother Hto Hlt Hhome Hy. split; cbn [glog gagent].
      - intros t' Ht'. unfold in_phase, update. destruct (decide (home t' = home t)) as [E|E].
        + rewrite E, Hto. destruct (decide (t' = t)) as [->|Hne].
          * destruct (decide (to = t)); [exact Hy|apply Hy].
          * assert (tphase T (f t') = Suspended) as Hsus.
            { specialize (IH1 t' Ht'). unfold in_phase in IH1. rewrite E, Ec in IH1. by rewrite decide_False in IH1 by congruence. }
            destruct (decide (to = t')) as [->|]; [|exact Hsus]. rewrite decide_False in Hy by congruence. destruct Hy as [_ Hy]. by destruct (transit (home t) (Event t o' :: l)).
        + destruct (Hother (home t') E) as [E1 E2]. rewrite E1, E2, (decide_False (P := t' = t)) by (intros ->; done). apply (IH1 t' Ht').
      - intros c Hc. destruct (decide (c = home t)) as [->|Hne]; [by rewrite Hto|]. destruct (Hother c Hne) as [E1 _]. rewrite E1. by apply IH2. }
    assert (forall o' c, c <> home t -> current c (Event t o' :: l) = current c l /\ transit c (Event t o' :: l) = transit c l) as Hother.
    { intros o' c Hne. apply (current_other L home first c (Event t o') l). by apply not_eq_sym. }
    destruct (transit (home t) l) as [d|] eqn:Etr; destruct p as [q|from to|t' w|]; try done.
    - injection Hp as <- <- <-. apply (Hkeep UResume _ t (Hother UResume)); [exact Ec|done|done|]. rewrite decide_True by done. simpl. rewrite decide_True by done.
      change (aresume TA) with (thread_resume T). unfold thread_resume. by rewrite Hph.
    - destruct (lstep L (home t) q _ _) as [| |v1 m1 o1]; try done. injection Hp as <- <- <-. apply (Hkeep (UBase o1) _ t (Hother (UBase o1))); [exact Ec|done|done|].
      rewrite decide_True by done. simpl. rewrite decide_True by done. rewrite Etr. unfold thread_next in Hn. change (aresume TA) with (thread_resume T). unfold thread_resume. by destruct (tphase T (f t)).
    - match type of Hp with context [decide ?Q] => destruct (decide Q) as [(-> & Hne & Hhome & Hto & _)|]; [|done] end.
      destruct (bd_split X (home t) to _) as [[d1 m1]|]; [|done]. injection Hp as <- <- <-.
      apply (Hkeep (USwitch t to d1) _ to (Hother (USwitch t to d1))); [simpl; by rewrite decide_True|done|done|]. rewrite decide_False by done.
      split; [|simpl; by rewrite decide_True]. unfold thread_next in Hn. change (aresume TA) with (thread_resume T). unfold thread_resume. destruct (tphase T (f t)); try done. by destruct (tnext T t (tcode T (f t)) (tmem T (f t))).
    - match type of Hp with context [decide ?Q] => destruct (decide Q) as [|]; [|done] end. injection Hp as <- <- <-.
      apply (Hkeep (UInit t' w) _ t (Hother (UInit t' w))); [exact Ec|done|done|]. rewrite decide_True by done. simpl. rewrite decide_True by done. rewrite Etr.
      unfold thread_next in Hn. change (aresume TA) with (thread_resume T). unfold thread_resume. by destruct (tphase T (f t)).
  Qed.

  Context (machine_never_wrong : never_wrong nthread TL TA P).
  (** A CPU whose current thread has finished holds no lock. *)
  Context (finished_free : forall g t, reach nthread TL TA P g -> (t < nthread)%nat -> current (home t) (glog g) = t -> anext TA t (gagent g t) = ADone ->
    (held (home t) (base (glog g))).1 = []).
  Definition someone_can_move (g : state TL TA) : Prop := exists t g', (t < nthread)%nat /\ cpu_step nthread TL TA t g g'.

  Lemma current_moves_or_waits g c : reach nthread TL TA P g -> (c < ncpu)%nat -> anext TA (current c (glog g)) (gagent g (current c (glog g))) <> ADone ->
    someone_can_move g \/ exists k c', below nlock k (held c (base (glog g))).1 = true /\ holder k (base (glog g)) = Some c'.
  Proof using ST machine_never_wrong.
    intros Hr Hc Hd. destruct (reach_phases g Hr) as [Hph Hcur]. destruct (Hcur c Hc) as [Ht Hhome]. set (t := current c (glog g)) in *. specialize (Hph t Ht).
    pose proof (machine_never_wrong g t Hr Ht) as Hw. unfold goes_wrong in Hw. unfold in_phase in Hph. rewrite Hhome in Hph. rewrite decide_True in Hph by done.
    destruct g as [l f]. cbn [glog gagent] in *. destruct (anext TA t (f t)) as [| |y|p] eqn:En; [done|by destruct Hw| |].
    { left. exists t. eexists. split; [done|]. by apply step_tau. }
    assert (Hok : forall v m o, lstep TL t p (amem TA (f t)) l = Ok v m o -> someone_can_move (@State _ _ TL TA l f)).
    { intros v m o Ho. exists t. eexists. split; [done|]. by eapply (step_prim nthread TL). }
    destruct (lstep TL t p (amem TA (f t)) l) as [| |v m o] eqn:Es; [|destruct Hw; by split|left; by eapply Hok].
    cbn [lstep thread_layer] in Es. unfold thread_step_of in Es. rewrite Hhome in Es. rewrite decide_True in Es by done. cbn [anext thread_agent] in En. unfold thread_next in En.
    destruct (transit c l) as [d|] eqn:Etr; destruct p as [q|from to|t' w|]; try done; try (by rewrite Hph in En).
    - destruct (lstep L c q (amem TA (f t)) (base l)) as [| |v m o] eqn:El; [|done..]. right. exact (blocked_shape nlock budget locks c q _ _ El).
    - match type of Es with context [decide ?Q] => destruct (decide Q) as [|]; [|done] end. by destruct (bd_split X c to _) as [[? ?]|].
    - match type of Es with context [decide ?Q] => destruct (decide Q) as [|]; [|done] end. done.
    - destruct (tphase T (f t)) eqn:Eph; try done. by destruct (tnext T t (tcode T (f t)) (tmem T (f t))).
  Qed.

  Lemma base_authors g : reach nthread TL TA P g -> Forall (fun e => (who e < ncpu)%nat) (base (glog g)).
  Proof using ST.
    induction 1 as [|g g' Hr IH [t Hst]]; [constructor|]. destruct Hst as [|l f p v m o Ht _ _ _]; [done|]. cbn [glog] in *.
    destruct o as [o| | |]; [|exact IH..]. constructor; [by apply (start_home _ _ _ _ _ _ ST)|exact IH].
  Qed.
  Lemma holder_moves g : reach nthread TL TA P g -> forall n k c, 0 <= k -> (Z.to_nat k < n)%nat -> holder k (base (glog g)) = Some c -> someone_can_move g.
  Proof using ST machine_never_wrong finished_free.
    intros Hr n. pose proof (legal_base L X nthread home first quiet _ (reach_legal _ _ _ _ _ Hr)) as Hleg. induction n as [|n IH]; intros k c Hk Hn Hh; [lia|].
    pose proof (holder_author ncpu _ _ _ (base_authors g Hr) Hh) as Hc.
    pose proof (proj2 (proj2 (legal_holder nlock budget locks _ Hleg c) k) Hh) as Hin. destruct (reach_phases g Hr) as [_ Hcur]. destruct (Hcur c Hc) as [Ht Hhome].
    destruct (current_moves_or_waits g c Hr Hc) as [Hm|(k' & c' & Hb & Hh')]; [|done|].
    - intros Hd. pose proof (finished_free g _ Hr Ht ltac:(by rewrite Hhome) Hd) as Hf. rewrite Hhome in Hf. rewrite Hf in Hin. by apply elem_of_nil in Hin.
    - apply below_range in Hb as [Hk' Hall]. rewrite Forall_forall in Hall. apply Hall in Hin. apply (IH k' c'); [done|lia|done].
  Qed.
  Theorem threads_no_deadlock g c : reach nthread TL TA P g -> (c < ncpu)%nat -> anext TA (current c (glog g)) (gagent g (current c (glog g))) <> ADone ->
    someone_can_move g.
  Proof using ST machine_never_wrong finished_free.
    intros Hr Hc Hd. destruct (current_moves_or_waits g c Hr Hc Hd) as [Hm|(k & c' & Hb & Hh)]; [done|].
    apply below_range in Hb as [Hk _]. eapply (holder_moves g Hr (S (Z.to_nat k)) k); [done|lia|exact Hh].
  Qed.
End deadlock.
