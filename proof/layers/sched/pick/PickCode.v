(** The scheduler of a CPU: the C that chooses the next thread follows its specification.

    What is assumed of [sched_budget.c], whose C is not certified: [sched_budget_has] answers 0 or 1, [sched_budget_park]
    parks as [sched_ready_park] does, and both preserve the invariant of their own cells. They may read the clock and set
    the alarm. [budget l]: the cells satisfy the invariant, and [l] are the queries so far with their answers; the
    specification runs with the answers that the C was given, each about the thread it asked about. *)
From Ashlar Require Export layers.sched.pick.Timed layers.sched.ready.ParkCode layers.sched.pick.NoFailure.
Local Opaque gmap_lookup gmap_partial_alter.

(** Threads that were asked about, with the answers, first to last. *)
Notation asked := (list (Z * bool)).
(** The answers as [sched_pick] takes them: by how many more may be asked about. *)
Definition told (l : asked) (k : nat) : bool :=
  match l !! (Z.to_nat NUM_THREAD - 1 - k)%nat with Some (_, has) => has | None => false end.

(** Whom [sched_pick] asks about: every thread that it takes, first to last. *)
Fixpoint asked_from (has : nat -> bool) (parking : Z -> Z) (cpu : Z) (n : nat) (t : Z) (s : ready) : list Z :=
  if t =? NONE then []
  else match n with
  | O => []
  | S n =>
      t :: if has n then []
           else match s ← sched_park s cpu (parking t) t; sched_ready_take s cpu with
                | Some (t, s) => asked_from has parking cpu n t s
                | None => []
                end
  end.
Definition sched_asked (has : nat -> bool) (parking : Z -> Z) (cpu : Z) (s : ready) : list Z :=
  match sched_ready_take s cpu with
  | Some (t, s) => asked_from has parking cpu (Z.to_nat NUM_THREAD) t s
  | None => []
  end.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).

  Context (cpu : Z) (Hcpu : 0 <= cpu < NUM_CPU) (parking : Z -> Z).
  Context (Hparking : forall t, ~ ready_queue cpu 0 <= parking t < ready_queue cpu NUM_PRIORITY).

  Context (budget : asked -> mem -> Prop).
  (** The CPU's cells: queues, bitmap and threads in state [s], and the budgets'. *)
  Definition holds (l : asked) (s : ready) (m : mem) : Prop :=
    exists d b, m = d ∪ b /\ d ##ₘ b /\ ready_rep cpu s d /\ budget l b.
  Context (Hhas : forall l b t, budget l b -> NUM_CPU <= t < NUM_THREAD ->
    timed "sched_budget_has" [cpu; t] b (fun v b' => exists has : bool, v = Z.b2z has /\ budget (l ++ [(t, has)]) b')).
  Context (Hpark : forall l s m t s', holds l s m -> sched_park s cpu (parking t) t = Some s' ->
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

  (** An idle thread is not asked about. *)
  Theorem sched_put_back_timed l s m current : sched_ok cpu (Some current) s -> sched_owns parking cpu s -> holds l s m ->
    timed "sched_put_back" [cpu; current] m
      (fun _ m' => exists has s', sched_put_back parking cpu current has s = Some s' /\
         holds (if bool_decide (current < NUM_CPU) then l else l ++ [(current, has)]) s' m').
  Proof using HM HQ HT Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. destruct (ok_free _ _ _ Hok current eq_refl) as [Hi Hf]. unfold sched_put_back.
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
      + change (0 =? 0) with true. cbn iota. destruct (park_some parking cpu Hparking s current Ho Hc' Hi Hf) as [s' E].
        eapply during_call_whole; [evaluate|by eapply Hpark|]. intros v m1 Hm1. by exists false, s'.
  Qed.

  (** Each answer is about the thread that the specification uses it for. *)
  Theorem sched_pick_timed l s m : sched_ok cpu None s -> sched_owns parking cpu s -> holds l s m ->
    timed "sched_pick" [cpu] m (fun v m' => exists l' s', sched_pick (told l') parking cpu s = Some (v, s') /\
      l'.*1 = sched_asked (told l') parking cpu s /\ holds (l ++ l') s' m').
  Proof using HM HQ HT HB Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. enter sched_pick_code. timed_step.
    destruct (take_some cpu s (ok_valid _ _ _ Hok)) as (t0 & s0 & E0).
    eapply (during_ready _ _ _ _ _ _ _ l s m _ t0 s0); [intros d; evaluate|exact Hm| |].
    { intros d Hr. by eapply (sched_ready_take_triple kernel_entry M this HM HQ HT HB). }
    intros m0 Hm0. locals_simpl. timed_step. timed_step. timed_step.
    eapply during_while with (n := Z.to_nat NUM_THREAD) (I := fun n r m => exists t i h si l1, r = [cpu; t; i; h] /\ 0 <= i <= NUM_THREAD /\
      n = Z.to_nat (NUM_THREAD - i) /\ length l1 = Z.to_nat i /\ holds (l ++ l1) si m /\ sched_owns parking cpu si /\
      (t = NONE /\ sched_ok cpu None si \/ t <> NONE /\ NUM_CPU <= t /\ sched_ok cpu (Some t) si) /\
      (forall l2, sched_asked (told (l1 ++ l2)) parking cpu s = l1.*1 ++ asked_from (told (l1 ++ l2)) parking cpu n t si) /\
      forall l2 res, sched_pick_from (told (l1 ++ l2)) parking cpu n t si = Some res ->
        sched_pick (told (l1 ++ l2)) parking cpu s = Some res).
    { exists t0, 0, 0, s0, []. split; [done|]. split; [done|]. split; [done|]. split; [done|].
      split; [by rewrite app_nil_r|].
      split; [by eapply owns_take; [|apply (ok_valid _ _ _ Hok)|exact Ho|exact E0]|]. split.
      - destruct (take_ok cpu s t0 s0 Hok E0) as [(-> & -> & _)|(? & ? & ? & _)]; [by left|by right].
      - split; [intros l2; unfold sched_asked; by rewrite E0|]. intros l2 res H. unfold sched_pick. by rewrite E0. }
    clear m m0 Hm Hm0. intros n r m (t & i & h & si & l1 & -> & Hi & -> & Hlen & Hm & Hoi & Ht & Hasked & Hcont).
    eexists. split; [evaluate|]. cbn [compare].
    destruct ((i <? 144) && negb (t =? 4294967295)) eqn:Etest.
    - apply andb_true_iff in Etest as [Elt%Z.ltb_lt Ene%negb_true_iff%Z.eqb_neq].
      destruct Ht as [[-> _]|(Hne & Hc & Hoki)]; [done|]. destruct (ok_free _ _ _ Hoki t eq_refl) as [Hti Htf].
      assert (Z.to_nat (NUM_THREAD - i) = S (Z.to_nat (NUM_THREAD - (i + 1)))) as En by (unfold NUM_THREAD; lia).
      assert (forall has l2, told ((l1 ++ [(t, has)]) ++ l2) (Z.to_nat (NUM_THREAD - (i + 1))) = has) as Htold.
      { intros has l2. unfold told. replace (_ - 1 - _)%nat with (length l1) by (unfold NUM_THREAD; lia).
        rewrite <- (assoc_L (++)). cbn [app]. by rewrite list_lookup_middle. }
      rewrite En in Hcont, Hasked |- *. set (n := Z.to_nat (NUM_THREAD - (i + 1))) in *.
      timed_step. eapply (during_has _ _ _ _ _ _ _ si m t); [intros d; evaluate|exact Hm|by eapply running_thread|].
      intros has m1 Hm1. rewrite <- (assoc_L (++)) in Hm1. locals_simpl. timed_step. timed_step.
      destruct has; cbn [Z.b2z].
      + change (1 =? 1) with true. cbn iota. timed_step. exists (l1 ++ [(t, true)]), si.
        specialize (Htold true []). rewrite app_nil_r in Htold. split; [|split; [|exact Hm1]].
        * apply Hcont. cbn [sched_pick_from]. rewrite (proj2 (Z.eqb_neq t NONE)) by done. by rewrite Htold.
        * rewrite Hasked, fmap_app. f_equal. cbn [asked_from]. rewrite (proj2 (Z.eqb_neq t NONE)) by done. by rewrite Htold.
      + change (0 =? 1) with false. cbn iota. timed_step. timed_step.
        destruct (park_some parking cpu Hparking si t Hoi Hc Hti Htf) as [s1 E1].
        eapply during_call_whole; [evaluate|by eapply Hpark|]. intros w m2 Hm2. locals_simpl.
        destruct (park_count cpu si (parking t) t s1 Hoki E1) as [Hok1 _].
        destruct (take_some cpu s1 (ok_valid _ _ _ Hok1)) as (t2 & s2 & E2). timed_step.
        eapply (during_ready _ _ _ _ _ _ _ _ s1 m2 _ t2 s2); [intros d; evaluate|exact Hm2| |].
        { intros d Hr. by eapply (sched_ready_take_triple kernel_entry M this HM HQ HT HB). }
        intros m3 Hm3. locals_simpl. timed_step. rewrite wrap_small by lia. exists n. split; [lia|].
        exists t2, (i + 1), 0, s2, (l1 ++ [(t, false)]). split; [done|]. split; [unfold NUM_THREAD; lia|]. split; [done|].
        split; [rewrite app_length, Hlen; simpl; lia|]. split; [exact Hm3|]. split.
        { eapply owns_take; [|apply (ok_valid _ _ _ Hok1)| |exact E2]; [done|].
          by eapply owns_park; [|apply (ok_valid _ _ _ Hoki)|exact Hoi|exact E1]. }
        split.
        * destruct (take_ok cpu s1 t2 s2 Hok1 E2) as [(-> & -> & _)|(? & ? & ? & _)]; [by left|by right].
        * split.
          { intros l2. pose proof (Htold false l2) as Hf. rewrite <- !(assoc_L (++)) in Hf |- *.
            rewrite fmap_app, <- (assoc_L (++)), Hasked. f_equal.
            cbn [asked_from]. rewrite (proj2 (Z.eqb_neq t NONE)) by done. rewrite Hf, E1.
            cbn [mbind option_bind]. by rewrite E2. }
          intros l2 res H. pose proof (Htold false l2) as Hf. rewrite <- (assoc_L (++)) in H, Hf |- *. apply Hcont.
          cbn [sched_pick_from]. rewrite (proj2 (Z.eqb_neq t NONE)) by done. rewrite Hf, E1. cbn [mbind option_bind].
          rewrite E2. exact H.
    - timed_step. destruct (idle_some parking cpu si Hoi) as (w & s' & E). pose proof E as E'. unfold sched_idle in E'.
      destruct (sched_mark si cpu thread_is_running) as [s1|] eqn:E1; [|done]. cbn [mbind option_bind] in E'. injection E' as <- <-.
      eapply (during_ready _ _ _ _ _ _ _ _ si m _ 0 s1); [intros d; evaluate|exact Hm| |].
      { intros d Hr. by eapply (sched_mark_triple kernel_entry M this HT). }
      intros m' Hm'. locals_simpl. timed_step. exists l1, s1. specialize (Hasked []).
      specialize (Hcont [] (cpu, s1)). rewrite app_nil_r in Hasked, Hcont. split; [|split; [|exact Hm']].
      2: { rewrite Hasked. clear -Etest Hi. apply andb_false_iff in Etest as [Ege%Z.ltb_ge|Eq%negb_false_iff%Z.eqb_eq].
        - assert (i = NUM_THREAD) as -> by (unfold NUM_THREAD in *; lia).
          change (Z.to_nat (NUM_THREAD - NUM_THREAD)) with 0%nat. cbn [asked_from]. destruct (t =? NONE); by rewrite app_nil_r.
        - change 4294967295 with NONE in Eq. subst t. destruct (Z.to_nat (NUM_THREAD - i)); cbn [asked_from];
            by rewrite app_nil_r. }
      apply Hcont.
      apply andb_false_iff in Etest as [Ege%Z.ltb_ge|Eq%negb_false_iff%Z.eqb_eq].
      + assert (i = NUM_THREAD) as -> by (unfold NUM_THREAD in *; lia). change (Z.to_nat (NUM_THREAD - NUM_THREAD)) with 0%nat.
        cbn [sched_pick_from]. by destruct (t =? NONE).
      + change 4294967295 with NONE in Eq. subst t. destruct (Z.to_nat (NUM_THREAD - i)); cbn [sched_pick_from]; exact E.
  Qed.

  (** ** What that means for the running thread *)

  (** After [sched_put_back] no thread runs, each is where its state says, and [sched_pick] may be called. *)
  Theorem sched_put_back_keeps l s m current : sched_ok cpu (Some current) s -> sched_owns parking cpu s -> holds l s m ->
    timed "sched_put_back" [cpu; current] m
      (fun _ m' => exists l' s', sched_ok cpu None s' /\ sched_owns parking cpu s' /\ holds l' s' m').
  Proof using HM HQ HT Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. eapply timed_mono; [|by eapply sched_put_back_timed]. intros _ m' (has & s' & E & Hm').
    eexists _, s'. split; [by eapply put_back_ok|]. split; [|exact Hm'].
    destruct (put_back_some parking cpu Hcpu Hparking current s Hok Ho has) as (s1 & E1 & Ho1).
    rewrite E in E1. by injection E1 as <-.
  Qed.
  (** [sched_pick] returns the one thread that now runs: one that was ready, or the idle thread if none is. *)
  Theorem sched_pick_keeps l s m : sched_ok cpu None s -> sched_owns parking cpu s -> holds l s m ->
    timed "sched_pick" [cpu] m (fun v m' => exists l' s', chosen cpu v s' /\ holds l' s' m').
  Proof using HM HQ HT HB Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. eapply timed_mono; [|by eapply sched_pick_timed]. intros v m' (l' & s' & E & _ & Hm').
    exists (l ++ l'), s'. split; [|done]. exact (sched_pick_chosen _ parking cpu s v s' Hok E).
  Qed.
End proof.
