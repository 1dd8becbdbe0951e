(** Reservations: the C of [sched_budget.c] that asks the timer.

    What is assumed of the timer: its clock does not run backwards and has not run for 146 years. What it said last is a cell of the
    CPU that no C reads ([clock_cell]); asking it changes that cell alone, to what it says. [past]: what it said last. *)
From Ashlar Require Export layers.sched.budget.BudgetCode layers.thread.Records.
Local Opaque gmap_lookup gmap_partial_alter.

Definition clock_says (past now : Z) : Prop := Z.max 0 past <= now < horizon.
Definition clock_cell (cpu : nat) : cell := ("arch_clock"%string, Z.of_nat cpu, ""%string, 0).
Lemma clock_cpu cpu f c now d : (<[clock_cell c := now]> d : mem) !! cpu_cell f cpu = d !! cpu_cell f cpu.
Proof. apply own_lookup_ne. unfold clock_cell, field_cell. congruence. Qed.
Lemma clock_reserved t x c now d : reserved t x d -> reserved t x (<[clock_cell c := now]> d).
Proof. intros H. apply holds_write_other; [intros f; unfold clock_cell, field_cell; congruence|done]. Qed.

(** The clock does not run backwards. *)
Definition clock_forward (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat) : Prop := forall past, past < horizon ->
  timed quiet kernel_entry M this "timer_now" [] {[clock_cell this := past]} (fun v d => clock_says past v /\ d = {[clock_cell this := v]}).

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Context (clock : clock_forward quiet kernel_entry M this).
  Lemma during_clock x es (Qn Qb : locals -> mem -> Prop) Qr r d past : d !! clock_cell this = Some past -> past < horizon -> evals es r d = Some [] ->
    (forall now, clock_says past now -> Qn (set_result x now r) (<[clock_cell this := now]> d)) ->
    during quiet kernel_entry M this (Call x "timer_now" es) Qn Qb Qr r d.
  Proof using clock.
    intros Hd Hh He HQ. assert (d = {[clock_cell this := past]} ∪ delete (clock_cell this) d) as E.
    { etransitivity; [symmetry; apply insert_delete, Hd|apply insert_union_singleton_l]. }
    rewrite E in He |- *. eapply during_call; [exact He| |by apply clock|].
    - apply map_disjoint_singleton_l, lookup_delete.
    - cbn beta. intros now d' [Hn ->] _. assert (<[clock_cell this := now]> d = {[clock_cell this := now]} ∪ delete (clock_cell this) d) as <-; [|by apply HQ].
      etransitivity; [symmetry; apply insert_delete_insert|apply insert_union_singleton_l].
  Qed.
  Context (past : Z) (past_time : 0 <= past < horizon).
  Notation clock_says := (clock_says past).

  Ltac enter code := eapply timed_body; [by apply HM|done|]; unfold code; locals_simpl.
  Ltac call T := eapply during_call_whole; [evaluate|apply triple_timed; eapply T|intros ? ? [-> ->]; locals_simpl].
  (** Leaves the cells as [d'], with what is known of them. *)
  Ltac ask := eapply during_clock; [eassumption|apply past_time|evaluate|]; let now := fresh "now" in let Hn := fresh "Hnow" in
    intros now Hn; locals_simpl.

  (** The reservation of CPU [cpu] that is charged is up to date at [now]. *)
  Definition charged_until (cpu r : Z) (x : reservation) (since now : Z) (d : mem) : mem :=
    <[cpu_cell "since" cpu := now]> (stored r (charge since now x) d).

  (** Whether [t], which spends reservation [r], may run: at a time that the clock has said, there is time left. *)
  Theorem sched_budget_has_timed cpu t r charged since x y d :
    d !! clock_cell this = Some past -> d !! cpu_cell "charged" cpu = Some charged -> d !! cpu_cell "since" cpu = Some since -> 0 <= since <= past ->
    reserved t x d -> payer x = r -> (r <> NONE -> reserved r y d /\ reservation_valid since y) ->
    timed "sched_budget_has" [cpu; t] d (fun v d' =>
      r = NONE /\ v = 1 /\ d' = d \/
      r <> NONE /\ exists now, clock_says now /\
        let z := if r =? charged then charge since now y else refill now y in
        v = (if time_for t r z =? 0 then 0 else 1) /\
        let d := <[clock_cell this := now]> d in d' = if r =? charged then charged_until cpu r y since now d else stored r z d).
  Proof using HM clock past_time.
    intros Hk Hc Hs Hp Hx Hr Hy. enter sched_budget_has_code. timed_step. call sched_payer_triple; [exact HM|exact Hx|]. rewrite Hr.
    do 2 timed_step. change 4294967295 with NONE. destruct (Z.eqb_spec r NONE) as [->|Hne]; [timed_step; by left|].
    destruct (Hy Hne) as [Hres Hval]. do 2 timed_step. ask. unfold clock_says, horizon in *.
    rewrite <- (clock_cpu _ _ this now) in Hc. rewrite <- (clock_cpu _ _ this now) in Hs. apply (clock_reserved _ _ this now) in Hres. set (dk := <[clock_cell this := now]> d) in *.
    timed_step. call sched_cpu_charged_triple; [exact HM|exact Hc|]. do 2 timed_step.
    pose proof Hval as (Hok & Hdebt & _). destruct (Z.eqb_spec r charged) as [<-|Hother].
    - eapply during_call_whole; [evaluate| |].
      { apply triple_timed. eapply (sched_charge_triple kernel_entry M this HM cpu r since now y); [done|done|done|lia|unfold horizon; lia|done]. }
      intros w d1 [-> ->]. locals_simpl. timed_step.
      destruct (charge_gives since now y) as (Hz & _); [lia|unfold horizon; lia|done|].
      call sched_time_left_triple; [exact HM| |exact Hz|].
      { apply holds_write_other; [intros f; by unfold field_cell|apply stored_reserved]. }
      do 2 timed_step. destruct (time_for t r (charge since now y) =? 0) eqn:Et; repeat timed_step; right; (split; [done|]);
        exists now; (split; [lia|]); cbn zeta; by rewrite Et.
    - eapply during_call_whole; [evaluate| |].
      { apply triple_timed. eapply (sched_refill_triple kernel_entry M this HM r now y); [done|done|lia|unfold horizon; lia]. }
      intros w d1 [-> ->]. locals_simpl. timed_step. destruct (refill_gives now y) as (Hz & _); [unfold horizon; lia|done|].
      call sched_time_left_triple; [exact HM|apply stored_reserved|exact Hz|].
      do 2 timed_step. destruct (time_for t r (refill now y) =? 0) eqn:Et; repeat timed_step; right; (split; [done|]);
        exists now; (split; [lia|]); cbn zeta; by rewrite Et.
  Qed.

  (** Time that passes outside is not charged: what has been run is charged before, and counted again from after it. *)
  Notation cpu := (Z.of_nat this).
  Ltac this_cpu := eapply during_this_cpu; [exact HC|evaluate|]; locals_simpl.

  Theorem sched_pause_charge_timed charged since x d :
    d !! clock_cell this = Some past -> d !! cpu_cell "charged" cpu = Some charged -> d !! cpu_cell "since" cpu = Some since -> 0 <= since <= past ->
    (charged <> NONE -> reserved charged x d /\ reservation_valid since x) ->
    timed "sched_pause_charge" [] d (fun v d' => v = 0 /\
      (charged = NONE /\ d' = d \/ charged <> NONE /\ exists now, clock_says now /\ d' = charged_until cpu charged x since now (<[clock_cell this := now]> d))).
  Proof using HM HC clock past_time.
    intros Hk Hc Hs Hp Hx. enter sched_pause_charge_code. timed_step. this_cpu. timed_step. call sched_cpu_charged_triple; [exact HM|exact Hc|].
    timed_step. change 4294967295 with NONE. destruct (Z.eqb_spec charged NONE) as [->|Hne]; cbn [negb]; [timed_step; split; [done|]; by left|].
    destruct (Hx Hne) as [Hres Hval]. timed_step. ask. unfold clock_says, horizon in *.
    rewrite <- (clock_cpu _ _ this now) in Hc. rewrite <- (clock_cpu _ _ this now) in Hs. apply (clock_reserved _ _ this now) in Hres. call sched_charge_triple; [exact HM|done..|lia|unfold horizon; lia|done|].
    split; [done|]. right. split; [done|]. by exists now.
  Qed.
  Theorem sched_resume_charge_timed charged d : d !! clock_cell this = Some past -> d !! cpu_cell "charged" cpu = Some charged -> is_Some (d !! cpu_cell "since" cpu) ->
    timed "sched_resume_charge" [] d (fun v d' => v = 0 /\
      (charged = NONE /\ d' = d \/ charged <> NONE /\ exists now, clock_says now /\ d' = <[cpu_cell "since" cpu := now]> (<[clock_cell this := now]> d))).
  Proof using HM HC clock past_time.
    intros Hk Hc Hs. enter sched_resume_charge_code. timed_step. this_cpu. timed_step. call sched_cpu_charged_triple; [exact HM|exact Hc|].
    timed_step. change 4294967295 with NONE. destruct (Z.eqb_spec charged NONE) as [->|Hne]; cbn [negb]; [timed_step; split; [done|]; by left|].
    timed_step. ask. rewrite <- (clock_cpu _ _ this now) in Hs. call sched_cpu_set_since_triple; [exact HM|exact Hs|]. split; [done|]. right. split; [done|]. by exists now.
  Qed.

  (** What a thread has used: of the reservation that is charged, also what has not been charged yet. *)
  Theorem sched_used_ns_timed t charged since x d :
    d !! clock_cell this = Some past -> d !! cpu_cell "charged" cpu = Some charged -> d !! cpu_cell "since" cpu = Some since -> 0 <= since <= past -> reserved t x d ->
    reservation_valid since x ->
    timed "sched_used_ns" [t] d (fun v d' =>
      charged <> t /\ d' = d /\ v = used x \/
      charged = t /\ exists now, clock_says now /\ d' = <[clock_cell this := now]> d /\ v = used x + (now - since)).
  Proof using HM HC clock past_time.
    intros Hk Hc Hs Hp Hx ((_ & _ & _ & _ & _ & Hu) & _ & Hus). know Hx "used"%string. enter sched_used_ns_code. timed_step. this_cpu. do 2 timed_step. timed_step.
    call sched_cpu_charged_triple; [exact HM|exact Hc|]. do 2 timed_step. destruct (Z.eqb_spec charged t) as [->|Hne].
    - timed_step. ask. unfold clock_says, horizon in *. rewrite <- (clock_cpu _ _ this now) in Hs. apply (clock_reserved _ _ this now) in Hx. timed_step. call sched_cpu_since_triple; [exact HM|exact Hs|]. do 2 timed_step.
      right. split; [done|]. exists now. split; [lia|]. split; [done|]. rewrite (wrap64 (now - since)), wrap64 by lia. done.
    - do 2 timed_step. by left.
  Qed.
End proof.
