(** Reasoning about one thread of the upper machine: while it has its CPU, no other thread of that CPU moves, whatever the
    environment does. So locks held and data owned are as stable as they are for a CPU. *)
From Ashlar Require Export machine.threads.Simulation.
From Ashlar Require Export calculus.logs.Local.

Section baton.
  Context {PRIM MEM D : Type} (L : layer PRIM MEM) (T : thread_code PRIM MEM) (X : baton_data D MEM).
  Context (ncpu nthread : nat) (home : nat -> nat) (first : nat -> nat) (quiet : nat -> log L -> bool).
  Context (P : nat -> tstate T) (ST : starts T ncpu nthread home first P).
  Notation L1 := (thread_layer L X nthread home first quiet).
  Notation A1 := (thread_agent T).
  Notation cpu_view := (cpu_view L (D:=D) home).
  Notation current_thread := (current_thread L first).
  Notation transit := (transit L (D:=D) home).
  Notation on_cpu := (on_cpu L (D:=D) home first).

  (** The thread that causes an event has its CPU. *)
  Lemma legal_author e l : legal L1 (e :: l) -> on_cpu (who e) l /\ legal L1 l.
  Proof using.
    intros Hl. inversion Hl as [|t p m v m' o l' Hl' Hp]; subst. split; [|done]. simpl in *. unfold thread_step_of in Hp.
    unfold Threads.on_cpu. by destruct (decide (current_thread (home t) (cpu_view l) = t)).
  Qed.

  (** The primitives of CPUs behave as if there were no threads: what is proved of their logs holds. *)
  Theorem legal_base l : legal L1 l -> legal L (base L (cpu_view l)).
  Proof using.
    induction 1 as [|t p m v m' o l Hleg IH Hp]; [constructor|]. simpl in Hp. unfold thread_step_of in Hp.
    destruct (decide _) as [_|]; [|done]. destruct (Threads.transit _ _ _ _), p as [p|from to|t' w|]; try done.
    - by injection Hp as _ _ <-.
    - destruct (lstep L (home t) p m (base L (cpu_view l))) as [| |v1 m1 o1] eqn:E; try done. injection Hp as _ _ <-.
      by apply (legal_cons L (home t) p m v1 m1 o1).
    - destruct (decide _) as [_|]; [|done]. destruct (bd_split X (home t) to m) as [[d m1]|]; [|done]. by injection Hp as _ _ <-.
    - destruct (decide _) as [_|]; [|done]. by injection Hp as _ _ <-.
  Qed.

  Lemma current_other c e l : home (who e) <> c -> current_thread c (cpu_view (e :: l)) = current_thread c (cpu_view l) /\ transit c (e :: l) = transit c l.
  Proof using.
    intros Hne. simpl. split; [|by rewrite decide_False]. unfold cpu_view_event. destruct (what e); simpl; try done.
    by rewrite decide_False.
  Qed.

  (** The baton. *)
  Theorem baton_stable t e l : legal L1 (e ++ l) -> on_cpu t l -> others L1 t e ->
    Forall (fun x => home (who x) <> home t) e /\ on_cpu t (e ++ l).
  Proof using.
    unfold others. intros Hleg Ht. induction e as [|x e IH]; intros He; [done|].
    apply Forall_cons in He as [Hx He]. apply legal_author in Hleg as [Ha Hleg].
    destruct (IH Hleg He) as [Hall Hon].
    assert (Hne : home (who x) <> home t).
    { intros E. unfold Threads.on_cpu in *. rewrite E in Ha. apply Hx. exact (eq_trans (eq_sym Ha) Hon). }
    split; [by constructor|]. unfold Threads.on_cpu in *. exact (eq_trans (proj1 (current_other _ x (e ++ l) Hne)) Hon).
  Qed.

  (** What is replayed from the events of a CPU is what it was. *)
  Definition own_replay {B} (f : nat -> log L -> B) : Prop :=
    forall c e l, who e <> c -> f c (e :: l) = f c l.

  Theorem baton_replay {B} (f : nat -> log L -> B) Gu t l l' : own_replay f -> on_cpu t l -> rely L1 Gu t l l' ->
    on_cpu t l' /\ f (home t) (base L (cpu_view l')) = f (home t) (base L (cpu_view l)) /\ transit (home t) l' = transit (home t) l.
  Proof using.
    intros Hf Ht (e & -> & He & _ & _ & Hleg). destruct (baton_stable t e l Hleg Ht He) as [Hall Hon].
    split; [done|]. clear Hon He Hleg. induction e as [|x e IH]; [done|].
    apply Forall_cons in Hall as [Hx Hall]. destruct (IH Hall) as [IH1 IH2]. clear IH. split.
    - rewrite <- IH1. destruct x as [w [o| | |]]; try done. exact (Hf (home t) (Event (home w) o) _ Hx).
    - rewrite <- IH2. exact (proj2 (current_other _ x (e ++ l) Hx)).
  Qed.

  (** At most one thread of a CPU runs. *)
  Theorem one_runs g0 g1 t t' : sim L T X ncpu nthread home first quiet g0 g1 -> (t < nthread)%nat -> (t' < nthread)%nat ->
    home t = home t' -> tphase T (gagent g1 t) <> Suspended -> tphase T (gagent g1 t') <> Suspended -> t = t'.
  Proof using.
    intros HS Ht Ht' Hh H H'. pose proof (sim_phase _ _ _ _ _ _ _ _ _ _ HS t Ht) as Hp.
    pose proof (sim_phase _ _ _ _ _ _ _ _ _ _ HS t' Ht') as Hp'.
    unfold phase_ok in *. rewrite Hh in Hp. repeat case_decide; congruence.
  Qed.

  (** What is handed over is what [bd_split] admits: an invariant of the CPU's data holds at every switch. And nothing
      happens on a CPU until its current thread has come back. *)
  Theorem transit_valid (valid : nat -> nat -> D -> Prop) :
    own_replay quiet ->
    (forall c to m d m', bd_split X c to m = Some (d, m') -> valid c to d) ->
    forall l c d, legal L1 l -> transit c l = Some d -> valid c (current_thread c (cpu_view l)) d /\ quiet c (base L (cpu_view l)) = true.
  Proof using.
    intros Hown Hv l c d Hleg. induction Hleg as [|t p m v m' o l Hleg IH Hp]; [done|]. intros Hd.
    destruct (decide (home t = c)) as [E|E].
    - simpl in Hd. rewrite decide_True in Hd by done. simpl in Hp. unfold thread_step_of in Hp. rewrite E in Hp.
      destruct (decide (current_thread c (cpu_view l) = t)) as [Et|]; [|done].
      destruct (transit c l) as [d'|] eqn:Ed; destruct p as [p|from to|t' w|]; try done.
      + by injection Hp as _ _ <-.
      + destruct (lstep _ _ _ _ _); try done. injection Hp as _ _ <-. simpl in Hd. congruence.
      + match type of Hp with context [decide ?Q] => destruct (decide Q) as [(-> & Hne & Hhome & Hto & Hq)|]; [|done] end.
        destruct (bd_split X c to m) as [[d' m1]|] eqn:Es; [|done]. injection Hp as _ _ <-. simpl in Hd.
        injection Hd as ->. simpl. rewrite E. rewrite decide_True by done. split; [by eapply Hv|done].
      + match type of Hp with context [decide ?Q] => destruct (decide Q) as [|]; [|done] end.
        injection Hp as _ _ <-. simpl in Hd. congruence.
    - destruct (current_other c (Event t o) l E) as [E1 E2]. destruct (IH (eq_trans (eq_sym E2) Hd)) as [IH1 IH2]. split.
      + refine (eq_ind_r (fun x => valid c x d) IH1 E1).
      + rewrite <- IH2. clear -Hown E. destruct o as [o| | |]; try done. by apply (Hown c (Event (home t) o)).
  Qed.
End baton.
