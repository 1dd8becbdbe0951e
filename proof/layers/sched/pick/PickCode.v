(** The scheduler of a CPU: the C that chooses the next thread follows its specification.

    What is assumed of [sched_budget.c]: [sched_budget_has] answers 0 or 1, [sched_budget_park] parks as [sched_ready_park]
    does, in the CPU's queue of parked threads, and both preserve the invariant of their own cells. The first is proved of its
    C, for each call alone ([BudgetClock]); the second is not certified. They may read the clock and set the alarm. [budget l]:
    the cells satisfy the invariant, and [l] are the threads asked about so far, with the answers; the specification runs with
    the answer that the C was given. *)
From Ashlar Require Export lang.logic.Timed layers.sched.ready.ParkCode layers.sched.pick.NoFailure.
Local Opaque gmap_lookup gmap_partial_alter.

(** Threads that were asked about, with the answers, first to last. *)
Notation asked := (list (Z * bool)).

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).

  Context (cpu : Z) (Hcpu : 0 <= cpu < NUM_CPU).

  Context (budget : asked -> mem -> Prop).
  (** The CPU's cells: queues, bitmap and threads in state [s], and the budgets'. *)
  Definition holds (l : asked) (s : ready) (m : mem) : Prop :=
    exists d b, m = d ∪ b /\ d ##ₘ b /\ ready_rep cpu s d /\ budget l b.
  Context (Hhas : forall l b t, budget l b -> NUM_CPU <= t < NUM_THREAD ->
    timed "sched_budget_has" [cpu; t] b (fun v b' => exists has : bool, v = Z.b2z has /\ budget (l ++ [(t, has)]) b')).
  Context (Hpark : forall l s m t s', holds l s m -> sched_park s cpu (parked_queue cpu) t = Some s' ->
    timed "sched_budget_park" [cpu; t] m (fun _ m' => holds l s' m')).

  Notation during := (during quiet kernel_entry M this).

  (** A call of a function of the ready queues, and of [sched_budget_has]. *)
  Lemma during_ready x f es (Qn Qb : locals -> mem -> Prop) Qr r l s m args (v : Z) s' :
    (forall d, evals es r d = Some args) -> holds l s m ->
    (forall d, ready_rep cpu s d -> triple kernel_entry M this f args d (fun w d' => w = v /\ ready_rep cpu s' d')) ->
    (forall m', holds l s' m' -> Qn (set_result x v r) m') -> during (Call x f es) Qn Qb Qr r m.
  Proof using.
    intros He (d & b & -> & Hd & Hr & Hb) Ht HQn. eapply during_call; [apply He|exact Hd|by apply triple_timed, Ht|].
    intros w d' [-> Hr'] Hd'. apply HQn. by exists d', b.
  Qed.
  Lemma during_has x es (Qn Qb : locals -> mem -> Prop) Qr r l s m t :
    (forall d, evals es r d = Some [cpu; t]) -> holds l s m -> NUM_CPU <= t < NUM_THREAD ->
    (forall (has : bool) m', holds (l ++ [(t, has)]) s m' -> Qn (set_result x (Z.b2z has) r) m') ->
    during (Call x "sched_budget_has" es) Qn Qb Qr r m.
  Proof using Hhas.
    intros He (d & b & -> & Hd & Hr & Hb) Ht HQn. rewrite (map_union_comm d b) by done.
    eapply during_call; [apply He|by symmetry|by eapply Hhas|]. intros v b' (has & -> & Hb') Hd'. apply HQn.
    exists d, b'. split; [by apply map_union_comm|]. by split; [symmetry|].
  Qed.

  Ltac enter code := eapply timed_body; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  Lemma running_thread s t : sched_ok cpu (Some t) s -> NUM_CPU <= t -> NUM_CPU <= t < NUM_THREAD.
  Proof using.
    intros Hok Hc. split; [done|]. destruct (ok_free _ _ _ Hok t eq_refl) as [_ Hf].
    by apply (queue_valid_free _ (proj1 (ok_valid _ _ _ Hok))) in Hf as [_ ?].
  Qed.

  (** The thread that makes way is asked about, unless it is the idle thread. *)
  Theorem sched_put_back_timed l s m current : sched_ok cpu (Some current) s -> sched_owns cpu s -> holds l s m ->
    timed "sched_put_back" [cpu; current] m
      (fun _ m' => exists has s', sched_put_back cpu current has s = Some s' /\
         holds (if bool_decide (current < NUM_CPU) then l else l ++ [(current, has)]) s' m').
  Proof using HM HQ HT Hcpu Hhas Hpark.
    intros Hok Ho Hm. destruct (ok_free _ _ _ Hok current eq_refl) as [Hi Hf]. unfold sched_put_back, sched_queue.
    enter sched_put_back_code. timed_step. timed_step. case_bool_decide as Hc; unfold NUM_CPU in Hc.
    - rewrite (proj2 (Z.ltb_lt _ _)) by done. timed_step.
      destruct (mark_some s current thread_is_ready Hi Hf) as [s' E].
      eapply (during_ready _ _ _ _ _ _ _ l s m _ 0 s'); [intros d; evaluate|exact Hm| |].
      + intros d Hr. by eapply (sched_mark_triple kernel_entry M this HT).
      + intros m' Hm'. timed_step. exists true, s'. done.
    - rewrite (proj2 (Z.ltb_ge _ _)) by lia. timed_step. timed_step.
      assert (NUM_CPU <= current) as Hc' by (unfold NUM_CPU; lia).
      eapply (during_has _ _ _ _ _ _ l s m current); [intros d; evaluate|exact Hm|by eapply running_thread|].
      intros has m' Hm'. locals_simpl. timed_step. destruct has; cbn [Z.b2z].
      + change (1 =? 0) with false. cbn iota.
        destruct (insert_some cpu s current (ok_valid _ _ _ Hok) Hc' Hi Hf) as (w & s' & E).
        eapply (during_ready _ _ _ _ _ _ _ _ s m' _ w s'); [intros d; evaluate|exact Hm'| |].
        * intros d Hr. by eapply (sched_ready_insert_triple kernel_entry M this HM HQ HT).
        * intros m1 Hm1. exists true, s'. by rewrite E.
      + change (0 =? 0) with true. cbn iota. destruct (park_some cpu s current (ok_valid _ _ _ Hok) Ho Hc' Hi Hf) as [s' E].
        eapply during_call_whole; [evaluate|by eapply Hpark|]. intros v m1 Hm1. by exists false, s'.
  Qed.

  (** No thread is asked about: what is in a ready queue has time left. *)
  Theorem sched_pick_timed l s m : sched_ok cpu None s -> sched_owns cpu s -> holds l s m ->
    timed "sched_pick" [cpu] m (fun v m' => exists s', sched_pick cpu s = Some (v, s') /\ holds l s' m').
  Proof using HM HQ HT HB Hcpu.
    intros Hok Ho Hm. enter sched_pick_code. timed_step.
    destruct (take_some cpu s (ok_valid _ _ _ Hok)) as (t & s1 & E). unfold sched_pick. rewrite E. cbn [mbind option_bind].
    eapply (during_ready _ _ _ _ _ _ _ l s m _ t s1); [intros d; evaluate|exact Hm| |].
    { intros d Hr. by eapply (sched_ready_take_triple kernel_entry M this HM HQ HT HB). }
    intros m1 Hm1. locals_simpl. timed_step. timed_step. change 4294967295 with NONE.
    destruct (take_ok cpu s t s1 Hok E) as [(-> & -> & _)|(Hn & _)].
    - rewrite Z.eqb_refl. cbn [negb]. timed_step. timed_step.
      destruct (idle_some cpu s Ho) as (w & s' & Ei). rewrite Ei. unfold sched_idle in Ei.
      destruct (sched_mark s cpu thread_is_running) as [s2|] eqn:E1; [|done]. cbn [mbind option_bind] in Ei. injection Ei as <- <-.
      eapply (during_ready _ _ _ _ _ _ _ _ s m1 _ 0 s2); [intros d; evaluate|exact Hm1| |].
      { intros d Hr. by eapply (sched_mark_triple kernel_entry M this HT). }
      intros m2 Hm2. locals_simpl. timed_step. by exists s2.
    - rewrite (proj2 (Z.eqb_neq t NONE)) by done. cbn [negb]. timed_step. by exists s1.
  Qed.

  (** ** What that means for the running thread *)

  (** After [sched_put_back] no thread runs, each is where its state says, and [sched_pick] may be called. *)
  Theorem sched_put_back_keeps l s m current : sched_ok cpu (Some current) s -> sched_owns cpu s -> holds l s m ->
    timed "sched_put_back" [cpu; current] m
      (fun _ m' => exists l' s', sched_ok cpu None s' /\ sched_owns cpu s' /\ holds l' s' m').
  Proof using HM HQ HT Hcpu Hhas Hpark.
    intros Hok Ho Hm. eapply timed_mono; [|by eapply sched_put_back_timed]. intros _ m' (has & s' & E & Hm').
    eexists _, s'. split; [by eapply put_back_ok|]. split; [|exact Hm'].
    destruct (put_back_some cpu Hcpu current s Hok Ho has) as (s1 & E1 & Ho1).
    rewrite E in E1. by injection E1 as <-.
  Qed.
  (** [sched_pick] returns the one thread that now runs: none that is ready is more important, or it is the idle thread
      and none is ready. *)
  Theorem sched_pick_keeps l s m : sched_ok cpu None s -> sched_owns cpu s -> holds l s m ->
    timed "sched_pick" [cpu] m (fun v m' => exists s', chosen cpu v s' /\ holds l s' m').
  Proof using HM HQ HT HB Hcpu.
    intros Hok Ho Hm. eapply timed_mono; [|by eapply sched_pick_timed]. intros v m' (s' & E & Hm').
    exists s'. split; [|done]. by eapply sched_pick_chosen.
  Qed.
End proof.
