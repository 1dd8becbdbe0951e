(** The scheduler of a CPU: the C that chooses who runs next follows its specification.

    What is assumed of [sched_budget.c], whose C is not certified: [sched_budget_has] answers 0 or 1, [sched_budget_park]
    parks as [sched_ready_park] does, and both keep their own cells [budget] in order. They may ask the clock and set the
    alarm on the way. *)
From Ashlar Require Export layers.sched.Timed layers.sched.ProofPark layers.sched.ProofProgress.
Local Opaque gmap_lookup gmap_partial_alter.

(** Only the answers that are asked for matter. *)
Lemma pick_from_same has has' parking cpu n : (forall k, (k < n)%nat -> has k = has' k) -> forall t s,
  sched_pick_from has parking cpu n t s = sched_pick_from has' parking cpu n t s.
Proof.
  induction n as [|n IH]; intros H t s; [done|]. cbn [sched_pick_from]. rewrite (H n) by lia.
  destruct (t =? NONE); [done|]. destruct (has' n); [done|]. destruct (sched_park _ _ _ _) as [s1|]; [|done].
  cbn [mbind option_bind]. destruct (sched_ready_take s1 cpu) as [[u s2]|]; [|done]. cbn [mbind option_bind].
  apply IH. intros k Hk. apply H. lia.
Qed.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).

  Context (cpu : Z) (Hcpu : 0 <= cpu < NUM_CPU) (parking : Z -> Z).
  Context (Hparking : forall t, ~ ready_queue cpu 0 <= parking t < ready_queue cpu NUM_PRIORITY).

  Context (budget : mem -> Prop).
  (** The CPU's cells: queues, bitmap and threads in state [s], and the budgets'. *)
  Definition holds (s : ready) (m : mem) : Prop :=
    exists d b, m = d ∪ b /\ d ##ₘ b /\ ready_rep cpu s d /\ budget b.
  Context (Hhas : forall b t, budget b -> NUM_CPU <= t < NUM_THREAD ->
    timed "sched_budget_has" [cpu; t] b (fun v b' => (v = 0 \/ v = 1) /\ budget b')).
  Context (Hpark : forall s m t s', holds s m -> sched_park s cpu (parking t) t = Some s' ->
    timed "sched_budget_park" [cpu; t] m (fun _ m' => holds s' m')).

  Notation during := (during quiet kernel_entry M this).

  (** A call of a function of the ready queues, and of [sched_budget_has]. *)
  Lemma during_ready x f es (Qn Qb : locals -> mem -> Prop) Qr r s m args (v : Z) s' :
    (forall d, evals es r d = Some args) -> holds s m ->
    (forall d, ready_rep cpu s d -> triple kernel_entry M this f args d (fun w d' => w = v /\ ready_rep cpu s' d')) ->
    (forall m', holds s' m' -> Qn (set_result x v r) m') -> during (Call x f es) Qn Qb Qr r m.
  Proof using.
    intros He (d & b & -> & Hd & Hr & Hb) Ht HQn. eapply during_call; [apply He|exact Hd|by apply triple_timed, Ht|].
    intros w d' [-> Hr'] Hd'. apply HQn. by exists d', b.
  Qed.
  Lemma during_has x es (Qn Qb : locals -> mem -> Prop) Qr r s m t :
    (forall d, evals es r d = Some [cpu; t]) -> holds s m -> NUM_CPU <= t < NUM_THREAD ->
    (forall v m', v = 0 \/ v = 1 -> holds s m' -> Qn (set_result x v r) m') ->
    during (Call x "sched_budget_has" es) Qn Qb Qr r m.
  Proof using Hhas.
    intros He (d & b & -> & Hd & Hr & Hb) Ht HQn. rewrite (map_union_comm d b) by done.
    eapply during_call; [apply He|by symmetry|by apply Hhas|]. intros v b' [Hv Hb'] Hd'. apply HQn; [done|].
    exists d, b'. split; [by apply map_union_comm|]. by split; [symmetry|].
  Qed.

  Ltac enter code := eapply timed_body; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  Lemma running_thread s t : sched_ok cpu (Some t) s -> NUM_CPU <= t -> NUM_CPU <= t < NUM_THREAD.
  Proof using.
    intros Hok Hc. split; [done|]. destruct (ok_free _ _ _ Hok t eq_refl) as [_ Hf].
    by apply (queue_valid_free _ (proj1 (ok_valid _ _ _ Hok))) in Hf as [_ ?].
  Qed.

  Theorem sched_put_back_timed s m current : sched_ok cpu (Some current) s -> sched_owns parking cpu s -> holds s m ->
    timed "sched_put_back" [cpu; current] m
      (fun _ m' => exists has s', sched_put_back parking cpu current has s = Some s' /\ holds s' m').
  Proof using HM HQ HT Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. destruct (ok_free _ _ _ Hok current eq_refl) as [Hi Hf]. unfold sched_put_back.
    enter sched_put_back_code. timed_step. timed_step. case_bool_decide as Hc; unfold NUM_CPU in Hc.
    - rewrite (proj2 (Z.ltb_lt _ _)) by done. timed_step.
      destruct (mark_some s current thread_is_ready Hi Hf) as [s' E].
      eapply (during_ready _ _ _ _ _ _ _ s m _ 0 s'); [intros d; evaluate|exact Hm| |].
      + intros d Hr. by eapply (sched_mark_triple kernel_entry M this HT).
      + intros m' Hm'. timed_step. exists true, s'. done.
    - rewrite (proj2 (Z.ltb_ge _ _)) by lia. timed_step. timed_step.
      assert (NUM_CPU <= current) as Hc' by (unfold NUM_CPU; lia).
      eapply (during_has _ _ _ _ _ _ s m current); [intros d; evaluate|exact Hm|by eapply running_thread|].
      intros v m' Hv Hm'. locals_simpl. timed_step. destruct Hv as [-> | ->].
      + change (0 =? 0) with true. cbn iota. destruct (park_some parking cpu Hparking s current Ho Hc' Hi Hf) as [s' E].
        eapply during_call_whole; [evaluate|by eapply Hpark|]. intros v m1 Hm1. by exists false, s'.
      + change (1 =? 0) with false. cbn iota.
        destruct (insert_some cpu s current (ok_valid _ _ _ Hok) Hc' Hi Hf) as (w & s' & E).
        eapply (during_ready _ _ _ _ _ _ _ s m' _ w s'); [intros d; evaluate|exact Hm'| |].
        * intros d Hr. by eapply (sched_ready_insert_triple kernel_entry M this HM HQ HT).
        * intros m1 Hm1. exists true, s'. by rewrite E.
  Qed.

  Theorem sched_pick_timed s m : sched_ok cpu None s -> sched_owns parking cpu s -> holds s m ->
    timed "sched_pick" [cpu] m (fun v m' => exists has s', sched_pick has parking cpu s = Some (v, s') /\ holds s' m').
  Proof using HM HQ HT HB Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. enter sched_pick_code. timed_step.
    destruct (take_some cpu s (ok_valid _ _ _ Hok)) as (t0 & s0 & E0).
    eapply (during_ready _ _ _ _ _ _ _ s m _ t0 s0); [intros d; evaluate|exact Hm| |].
    { intros d Hr. by eapply (sched_ready_take_triple kernel_entry M this HM HQ HT HB). }
    intros m0 Hm0. locals_simpl. timed_step. timed_step. timed_step.
    eapply during_while with (n := Z.to_nat NUM_THREAD) (I := fun n r m => exists t i h si, r = [cpu; t; i; h] /\ 0 <= i <= NUM_THREAD /\
      n = Z.to_nat (NUM_THREAD - i) /\ holds si m /\ sched_owns parking cpu si /\
      (t = NONE /\ sched_ok cpu None si \/ t <> NONE /\ NUM_CPU <= t /\ sched_ok cpu (Some t) si) /\
      forall has res, sched_pick_from has parking cpu n t si = Some res -> exists has', sched_pick has' parking cpu s = Some res).
    { exists t0, 0, 0, s0. split; [done|]. split; [done|]. split; [done|]. split; [done|].
      split; [by eapply owns_take; [|apply (ok_valid _ _ _ Hok)|exact Ho|exact E0]|]. split.
      - destruct (take_ok cpu s t0 s0 Hok E0) as [(-> & -> & _)|(? & ? & ? & _)]; [by left|by right].
      - intros has res H. exists has. unfold sched_pick. by rewrite E0. }
    clear m m0 Hm Hm0. intros n r m (t & i & h & si & -> & Hi & -> & Hm & Hoi & Ht & Hcont).
    eexists. split; [evaluate|]. cbn [compare].
    destruct ((i <? 144) && negb (t =? 4294967295)) eqn:Etest.
    - apply andb_true_iff in Etest as [Elt%Z.ltb_lt Ene%negb_true_iff%Z.eqb_neq].
      destruct Ht as [[-> _]|(Hne & Hc & Hoki)]; [done|]. destruct (ok_free _ _ _ Hoki t eq_refl) as [Hti Htf].
      assert (Z.to_nat (NUM_THREAD - i) = S (Z.to_nat (NUM_THREAD - (i + 1)))) as En by (unfold NUM_THREAD; lia).
      rewrite En in Hcont |- *. set (n := Z.to_nat (NUM_THREAD - (i + 1))) in *.
      timed_step. eapply (during_has _ _ _ _ _ _ si m t); [intros d; evaluate|exact Hm|by eapply running_thread|].
      intros v m1 Hv Hm1. locals_simpl. timed_step. timed_step. destruct Hv as [-> | ->].
      + change (0 =? 1) with false. cbn iota. timed_step. timed_step.
        destruct (park_some parking cpu Hparking si t Hoi Hc Hti Htf) as [s1 E1].
        eapply during_call_whole; [evaluate|by eapply Hpark|]. intros w m2 Hm2. locals_simpl.
        destruct (park_count cpu si (parking t) t s1 Hoki E1) as [Hok1 _].
        destruct (take_some cpu s1 (ok_valid _ _ _ Hok1)) as (t2 & s2 & E2). timed_step.
        eapply (during_ready _ _ _ _ _ _ _ s1 m2 _ t2 s2); [intros d; evaluate|exact Hm2| |].
        { intros d Hr. by eapply (sched_ready_take_triple kernel_entry M this HM HQ HT HB). }
        intros m3 Hm3. locals_simpl. timed_step. rewrite wrap_small by lia. exists n. split; [lia|].
        exists t2, (i + 1), 0, s2. split; [done|]. split; [unfold NUM_THREAD; lia|]. split; [done|]. split; [done|].
        split.
        { eapply owns_take; [|apply (ok_valid _ _ _ Hok1)| |exact E2]; [done|].
          by eapply owns_park; [|apply (ok_valid _ _ _ Hoki)|exact Hoi|exact E1]. }
        split.
        * destruct (take_ok cpu s1 t2 s2 Hok1 E2) as [(-> & -> & _)|(? & ? & ? & _)]; [by left|by right].
        * intros has res H. apply (Hcont (fun k => if decide (k = n) then false else has k)). cbn [sched_pick_from].
          rewrite (proj2 (Z.eqb_neq t NONE)), decide_True by done. rewrite E1. cbn [mbind option_bind]. rewrite E2.
          cbn [mbind option_bind]. rewrite <- H. apply pick_from_same. intros k Hk. by rewrite decide_False by lia.
      + change (1 =? 1) with true. cbn iota. timed_step.
        destruct (Hcont (fun _ => true) (t, si)) as [has H].
        { cbn [sched_pick_from]. by rewrite (proj2 (Z.eqb_neq t NONE)). }
        by exists has, si.
    - timed_step. destruct (idle_some parking cpu si Hoi) as (w & s' & E). pose proof E as E'. unfold sched_idle in E'.
      destruct (sched_mark si cpu thread_is_running) as [s1|] eqn:E1; [|done]. cbn [mbind option_bind] in E'. injection E' as <- <-.
      eapply (during_ready _ _ _ _ _ _ _ si m _ 0 s1); [intros d; evaluate|exact Hm| |].
      { intros d Hr. by eapply (sched_mark_triple kernel_entry M this HT). }
      intros m' Hm'. locals_simpl. timed_step. destruct (Hcont (fun _ => false) (cpu, s1)) as [has H]; [|by exists has, s1].
      apply andb_false_iff in Etest as [Ege%Z.ltb_ge|Eq%negb_false_iff%Z.eqb_eq].
      + assert (i = NUM_THREAD) as -> by (unfold NUM_THREAD in *; lia). change (Z.to_nat (NUM_THREAD - NUM_THREAD)) with 0%nat.
        cbn [sched_pick_from]. by destruct (t =? NONE).
      + change 4294967295 with NONE in Eq. subst t. destruct (Z.to_nat (NUM_THREAD - i)); cbn [sched_pick_from]; exact E.
  Qed.

  (** ** What that means for who runs *)

  (** After [sched_put_back] nobody runs, everyone stands where the state says, and [sched_pick] may be called. *)
  Theorem sched_put_back_keeps s m current : sched_ok cpu (Some current) s -> sched_owns parking cpu s -> holds s m ->
    timed "sched_put_back" [cpu; current] m
      (fun _ m' => exists s', sched_ok cpu None s' /\ sched_owns parking cpu s' /\ holds s' m').
  Proof using HM HQ HT Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. eapply timed_mono; [|by eapply sched_put_back_timed]. intros _ m' (has & s' & E & Hm').
    exists s'. split; [by eapply put_back_ok|]. split; [|done].
    destruct (put_back_some parking cpu Hcpu Hparking current s Hok Ho has) as (s1 & E1 & Ho1).
    rewrite E in E1. by injection E1 as <-.
  Qed.
  (** [sched_pick] returns the one thread that now runs: one that was ready, or the idle thread if none is. *)
  Theorem sched_pick_keeps s m : sched_ok cpu None s -> sched_owns parking cpu s -> holds s m ->
    timed "sched_pick" [cpu] m (fun v m' => exists s', chosen cpu v s' /\ holds s' m').
  Proof using HM HQ HT HB Hcpu Hparking Hhas Hpark.
    intros Hok Ho Hm. eapply timed_mono; [|by eapply sched_pick_timed]. intros v m' (has & s' & E & Hm').
    exists s'. split; [|done]. exact (sched_pick_chosen has parking cpu s v s' Hok E).
  Qed.
End proof.
