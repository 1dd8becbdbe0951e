(** Reservations: the C of [sched_budget.c] that sets the alarm, and that the alarm calls.

    The reservation of the thread that runs until now is charged, and the alarm is set for the end of the next one's time. The cells
    [d] are the CPU's, [e] the timer's. *)
From Ashlar Require Export layers.sched.budget.BudgetClock.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma charged_until_reserved cpu r x since now d q y : q <> r -> reserved q y d -> reserved q y (charged_until cpu r x since now d).
Proof.
  intros Hne H. apply holds_write_other; [intros f; by unfold field_cell|]. apply holds_store_other; [congruence|done].
Qed.
Lemma charged_until_cpu cpu r x since now d f : f <> "since"%string -> charged_until cpu r x since now d !! cpu_cell f cpu = d !! cpu_cell f cpu.
Proof. intros Hf. unfold charged_until. rewrite own_lookup_ne by (unfold field_cell; congruence). apply stored_cpu. Qed.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Notation timed := (timed quiet kernel_entry M this).
  Notation triple := (triple kernel_entry M this).
  Context (past : Z) (past_time : 0 <= past < horizon).
  Notation clock_says := (clock_says past).
  Context (clock : clock_forward quiet kernel_entry M this).
  Context (timer : mem -> Prop) (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).

  Ltac enter code := eapply timed_body; [by apply HM|done|]; unfold code; locals_simpl.
  (** A call that works on the CPU's cells. *)
  Ltac call T := eapply during_call; [evaluate|eassumption|apply triple_timed; eapply T|intros ? ? [-> ->] ?; locals_simpl].

  (** What a CPU's cells are when thread [t], which spends [r], runs on it from [now] on. *)
  Definition charged_now (cpu charged : Z) (x : reservation) (since now : Z) (d : mem) : mem :=
    if charged =? NONE then d else charged_until cpu charged x since now d.
  Definition spent_from (cpu t r : Z) (y : reservation) (now alarm : Z) (d : mem) : mem :=
    let d := <[cpu_cell "since" cpu := now]> (<[cpu_cell "charged" cpu := r]> d) in
    if r =? NONE then d else alarm_by cpu (now + time_for t r (refill now y)) alarm (stored r (refill now y) d).

  Definition switched (cpu t r charged since alarm : Z) (y z : reservation) (d d' : mem) : Prop :=
    r = charged /\ d' = (if r =? NONE then d else alarm_by cpu (since + time_for t r y) alarm d) \/
    r <> charged /\ exists now, clock_says now /\ d' = spent_from cpu t r y now alarm (charged_now cpu charged z since now (<[clock_cell this := now]> d)).
  (** From then on [r] is charged. *)
  Lemma alarm_by_other cpu t alarm d f : f <> "alarm"%string -> alarm_by cpu t alarm d !! cpu_cell f cpu = d !! cpu_cell f cpu.
  Proof using. intros Hf. unfold alarm_by. destruct (t <? alarm); [|done]. apply own_lookup_ne. unfold field_cell. congruence. Qed.
  Lemma switched_charged cpu t r charged since alarm y z d d' : switched cpu t r charged since alarm y z d d' ->
    d !! cpu_cell "charged" cpu = Some charged -> d' !! cpu_cell "charged" cpu = Some r.
  Proof using.
    intros [[-> ->]|(_ & now & _ & ->)] Hc.
    - destruct (charged =? NONE); [done|by rewrite alarm_by_other].
    - unfold spent_from. destruct (r =? NONE); [|rewrite alarm_by_other, stored_cpu by done];
        (rewrite own_lookup_ne by (unfold field_cell; congruence)); apply own_lookup.
  Qed.

  Lemma time_for_bound t r y : reservation_ok y -> 0 <= time_for t r y < 2 * horizon.
  Proof using.
    unfold reservation_ok, time_for. intros (? & ? & ? & ? & ? & ?).
    destruct (negb (t =? r) && (debt y <? budget y)) eqn:E; [|lia]. apply andb_true_iff in E as [_ E%Z.ltb_lt]. lia.
  Qed.

  Theorem sched_budget_switch_timed cpu t r charged since alarm x y z (d e : mem) : d ##ₘ e -> timer e ->
    d !! clock_cell this = Some past -> d !! cpu_cell "charged" cpu = Some charged -> d !! cpu_cell "since" cpu = Some since -> 0 <= since <= past ->
    d !! cpu_cell "alarm" cpu = Some alarm -> reserved t x d -> payer x = r ->
    (r <> NONE -> reserved r y d /\ reservation_valid since y) -> (charged <> NONE -> reserved charged z d /\ reservation_valid since z) ->
    (t = r -> r <> NONE) ->
    timed "sched_budget_switch" [cpu; t] (d ∪ e) (fun v m => v = 0 /\ exists d' e', timer e' /\ d' ##ₘ e' /\ m = d' ∪ e' /\
      switched cpu t r charged since alarm y z d d').
  Proof using HM clock timer_arms past_time.
    unfold switched. intros Hde He Hk Hc Hs Hp Ha Hx Hr Hy Hz Htr. enter sched_budget_switch_code.
    timed_step. call sched_payer_triple; [exact HM|exact Hx|]. rewrite Hr.
    timed_step. call sched_cpu_charged_triple; [exact HM|exact Hc|].
    do 2 timed_step. destruct (Z.eqb_spec r charged) as [->|Hne].
    - do 2 timed_step. change 4294967295 with NONE. destruct (Z.eqb_spec charged NONE) as [Ech|Hch]; cbn [negb].
      + do 2 timed_step. split; [done|]. exists d, e. split_and!; [done..|]. by left.
      + destruct (Hy Hch) as [Hres Hval]. pose proof Hval as (Hok & _).
        timed_step. call sched_cpu_since_triple; [exact HM|exact Hs|].
        timed_step. call sched_time_left_triple; [exact HM|exact Hres|exact Hok|].
        eapply during_call_whole; [evaluate| |].
        { pose proof (time_for_bound t charged y Hok) as Hb. unfold horizon in *. rewrite wrap64 by lia.
          apply (sched_alarm_want_timed kernel_entry M this HM quiet timer timer_arms d e cpu _ alarm Ha Hde He). }
        intros w m [-> (e' & He' & Hd' & ->)]. locals_simpl. timed_step. split; [done|]. eexists _, e'. split_and!; [done|exact Hd'|done|]. by left.
    - do 2 timed_step. eapply (during_clock quiet kernel_entry M this clock); [by apply own_read|apply past_time|evaluate|]. intros now Hnow. locals_simpl.
      pose proof Hnow as Hnow'. unfold BudgetClock.clock_says, horizon in Hnow'. rewrite own_write. do 2 timed_step. change 4294967295 with NONE.
      assert (<[clock_cell this := now]> d ##ₘ e) as Hde0 by (apply own_write_disjoint; [by eexists|done]). clear Hde.
      rewrite <- (clock_cpu _ _ this now) in Hc. rewrite <- (clock_cpu _ _ this now) in Hs. rewrite <- (clock_cpu _ _ this now) in Ha.
      assert (r <> NONE -> reserved r y (<[clock_cell this := now]> d) /\ reservation_valid since y) as Hy0 by (intros Hr'; destruct (Hy Hr'); split; [by apply clock_reserved|done]).
      assert (charged <> NONE -> reserved charged z (<[clock_cell this := now]> d) /\ reservation_valid since z) as Hz0 by (intros Hr'; destruct (Hz Hr'); split; [by apply clock_reserved|done]).
      clear Hk Hx Hy Hz. rename Hde0 into Hde, Hy0 into Hy, Hz0 into Hz. remember (<[clock_cell this := now]> d) as d0 eqn:Ed0.
      set (d1 := charged_now cpu charged z since now d0).
      assert (is_Some (d1 !! cpu_cell "charged" cpu) /\ is_Some (d1 !! cpu_cell "since" cpu) /\ d1 !! cpu_cell "alarm" cpu = Some alarm /\
        (r <> NONE -> reserved r y d1)) as (Hc1 & Hs1 & Ha1 & Hy1).
      { unfold d1, charged_now. destruct (charged =? NONE).
        - split_and!; [by eexists|by eexists|done|]. intros Hr'. by apply Hy.
        - rewrite (charged_until_cpu _ _ _ _ _ _ "charged"), (charged_until_cpu _ _ _ _ _ _ "alarm") by done. split_and!; [by eexists|eexists; apply own_lookup|done|].
          intros Hr'. apply charged_until_reserved; [done|]. by apply Hy. }
      assert (d1 ##ₘ e -> forall (Qb : locals -> mem -> Prop) Qr l,
        during quiet kernel_entry M this
          (Seq (Call None "sched_cpu_set_charged" [Var 0; Var 2])
          (Seq (Call None "sched_cpu_set_since" [Var 0; Var 6])
               (If (Cmp Ne (Var 2) (Const NONE))
                 (Seq (Call None "sched_refill" [Var 2; Var 6])
                 (Seq (Call (Some 7%nat) "sched_time_left" [Var 1; Var 2])
                      (Call None "sched_alarm_want" [Var 0; Bin W64 Add (Var 6) (Var 7)])))
                 Skip)))
          (fun _ m => exists e', timer e' /\ spent_from cpu t r y now alarm d1 ##ₘ e' /\ m = spent_from cpu t r y now alarm d1 ∪ e')
          Qb Qr [cpu; t; r; charged; l; 0; now; 0] (d1 ∪ e)) as Hrest.
      { clearbody d1. intros Hd1 Qb Qr l. unfold spent_from.
        timed_step. call sched_cpu_set_charged_triple; [exact HM|exact Hc1|].
        timed_step. call sched_cpu_set_since_triple; [exact HM|by apply own_keep|].
        timed_step. destruct (Z.eqb_spec r NONE) as [->|Hr']; cbn [negb].
        - timed_step. by exists e.
        - destruct (Hy Hr') as [_ (Hok & Hdebt & _)].
          assert (reserved r y (<[cpu_cell "since" cpu := now]> (<[cpu_cell "charged" cpu := r]> d1))) as Hres
            by (apply holds_write_other; [intros f; by unfold field_cell|]; apply holds_write_other; [intros f; by unfold field_cell|by apply Hy1]).
          timed_step. call sched_refill_triple; [exact HM|exact Hres|exact Hok|lia|unfold horizon; lia|].
          destruct (refill_gives now y) as (Hok' & _); [unfold horizon; lia|done|].
          timed_step. call sched_time_left_triple; [exact HM|apply stored_reserved|exact Hok'|].
          eapply during_call_whole; [evaluate| |].
          { pose proof (time_for_bound t r (refill now y) Hok') as Hb. unfold horizon in Hb. rewrite wrap64 by lia.
            apply (sched_alarm_want_timed kernel_entry M this HM quiet timer timer_arms _ e cpu _ alarm); [|eassumption|done].
            rewrite stored_cpu. by rewrite !own_lookup_ne by (unfold field_cell; congruence). }
          intros w m [-> (e' & He' & Hd' & ->)]. by exists e'. }
      destruct (Z.eqb_spec charged NONE) as [Ech|Hch]; cbn [negb].
      + assert (d0 = d1) as Ed by (unfold d1, charged_now; by rewrite Ech). rewrite Ed in Hde |- *. timed_step.
        apply (during_mono _ _ _ _ _ _ _ (fun _ _ => False) _ (fun _ _ => False)) with (4 := Hrest Hde _ _ _); [|by intros ? ? []..].
        intros l m (e' & He' & Hd' & ->). split; [done|]. eexists _, e'. split_and!; [done|exact Hd'|done|]. right. split; [done|].
        exists now. split; [done|]. by rewrite <- Ed0.
      + destruct (Hz Hch) as [Hzr Hzv]. assert (d1 = charged_until cpu charged z since now d0) as Ed.
        { unfold d1, charged_now. by rewrite (proj2 (Z.eqb_neq _ _)). }
        call sched_charge_triple; [exact HM|exact Hc|exact Hs|exact Hzr|lia|unfold horizon; lia|exact Hzv|].
        fold (charged_until cpu charged z since now d0) in *. rewrite <- Ed in *.
        apply (during_mono _ _ _ _ _ _ _ (fun _ _ => False) _ (fun _ _ => False)) with (4 := Hrest ltac:(assumption) _ _ _); [|by intros ? ? []..].
        intros l m (e' & He' & Hd' & ->). split; [done|]. eexists _, e'. split_and!; [done|exact Hd'|done|]. right. split; [done|].
        exists now. split; [done|]. by rewrite <- Ed0.
  Qed.

  (** The floor below which no thread is switched to directly: none while a reservation is charged. *)
  Theorem sched_budget_floor_timed cpu t best r charged since alarm x y z (d e : mem) : d ##ₘ e -> timer e ->
    d !! clock_cell this = Some past -> d !! cpu_cell "charged" cpu = Some charged -> d !! cpu_cell "since" cpu = Some since -> 0 <= since <= past ->
    d !! cpu_cell "alarm" cpu = Some alarm -> reserved t x d -> payer x = r ->
    (r <> NONE -> reserved r y d /\ reservation_valid since y) -> (charged <> NONE -> reserved charged z d /\ reservation_valid since z) ->
    (t = r -> r <> NONE) ->
    timed "sched_budget_floor" [cpu; t; best] (d ∪ e) (fun v m => v = (if r =? NONE then best else ARCH_FLOOR_NONE) /\
      exists d' e', timer e' /\ d' ##ₘ e' /\ m = d' ∪ e' /\ switched cpu t r charged since alarm y z d d').
  Proof using HM clock timer_arms past_time.
    intros Hde He Hk Hc Hs Hp Ha Hx Hr Hy Hz Htr. enter sched_budget_floor_code. do 3 timed_step.
    eapply during_call_whole; [evaluate|by apply (sched_budget_switch_timed cpu t r charged since alarm x y z)|].
    intros w m [-> (d' & e' & He' & Hd' & -> & Hsw)]. locals_simpl. pose proof (switched_charged _ _ _ _ _ _ _ _ _ _ Hsw Hc) as Hc'.
    timed_step. call sched_cpu_charged_triple; [exact HM|exact Hc'|]. do 2 timed_step. change 4294967295 with NONE.
    destruct (r =? NONE); cbn [negb]; repeat timed_step; (split; [done|]); by exists d', e'.
  Qed.

  (** Where the running thread's time ends, which is now if it has none left. *)
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd) (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Theorem sched_budget_timer_triple cpu now current charged since z d :
    d !! cpu_cell "charged" cpu = Some charged -> d !! cpu_cell "since" cpu = Some since -> 0 <= since <= now -> now < horizon ->
    d !! current_cell this = Some current -> (charged <> NONE -> reserved charged z d /\ reservation_valid since z) ->
    triple "sched_budget_timer" [cpu; now] d (fun v d' =>
      charged = NONE /\ v = timer_never /\ d' = d \/
      charged <> NONE /\ v = now + time_for current charged (charge since now z) /\ d' = charged_until cpu charged z since now d).
  Proof using HM HT HW HC.
    intros Hc Hs Hn Hh Hcur Hz. eapply triple_owned; [by apply HM|done|]. unfold sched_budget_timer_code. locals_simpl.
    step. eapply owned_call_whole; [evaluate|by apply (sched_cpu_charged_triple kernel_entry M this HM)|intros w d1 [-> ->]; locals_simpl].
    do 2 step. change 4294967295 with NONE. destruct (Z.eqb_spec charged NONE) as [->|Hne]; [step; by left|].
    destruct (Hz Hne) as [Hres Hval]. do 2 step.
    eapply owned_call_whole; [evaluate|by apply (thread_current_triple kernel_entry M this HT HW HC)|intros w d1 [-> ->]; locals_simpl].
    step. eapply owned_call_whole; [evaluate|by apply (sched_charge_triple kernel_entry M this HM cpu charged since now z)|intros w d1 [-> ->]; locals_simpl].
    destruct (charge_gives since now z Hn Hh (proj1 Hval)) as (Hok & _). step.
    eapply owned_call_whole; [evaluate|apply (sched_time_left_triple kernel_entry M this HM current charged (charge since now z))|intros w d1 [-> ->]; locals_simpl].
    { apply holds_write_other; [intros f; by unfold field_cell|apply stored_reserved]. }
    { exact Hok. }
    pose proof (time_for_bound current charged _ Hok) as Hb. unfold horizon in *. step. rewrite wrap64 by lia. by right.
  Qed.
End proof.
