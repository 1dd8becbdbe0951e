(** The C of [sched.c] that serves the timer, and that puts a woken thread where it waits. *)
From Ashlar Require Export layers.sched.cpu.WakeCode layers.sched.ready.ReadyInit layers.sched.event.EventInit.
Local Opaque gmap_lookup gmap_partial_alter.

Section code.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation serves := (serves quiet kernel_entry M this ours timer).
  Notation holds := (holds this ours timer).
  Notation own := (own this ours).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).

  Notation charged_at := (charged_at).
  (** ** The timer *)
  Lemma alarm_gone_does X : does "sched_alarm_gone" [cpu] X (fun v Y => v = 0 /\ Y = set_word "alarm" timer_never X).
  Proof using HM Hcpu.
    apply does_own; [same_times|]. intros d Ho. pose proof Ho as (_ & _ & He). eapply triple_mono; [|apply (sched_alarm_gone_triple kernel_entry M this HM); eexists; by eapply (own_word this ours X d "alarm"); [|names]].
    intros v d' [-> ->]. exists (set_word "alarm" timer_never X). split; [done|]. split; [done|]. destruct X as [q f r m k b].
    apply (own_events this ours (Cpu q f r m k b) d _ m k); [done|apply only_write; [done|right; by left]|].
    destruct He as (Hok & Hk & Ha & h & Hh & Hv). split_and!; [done|intros x Hx; rewrite own_lookup_ne by (unfold field_cell; congruence); auto|apply own_lookup|].
    exists h. split; [|done]. apply heap_write; [done|]. intros [(p & g & E)|[E|(x & E)]]%not_heap; unfold field_cell in E; congruence.
  Qed.
  Definition time_at (X : cpu_state) (now : Z) : Z :=
    time_for (word X "arch_current") (word X "charged") (charge (word X "since") now (reservation_of X (word X "charged"))).
  Lemma budget_timer_does now X : payer_ok ours X (word X "charged") -> 0 <= word X "since" <= now -> now < horizon ->
    does "sched_budget_timer" [cpu; now] X (fun v Y =>
      if word X "charged" =? NONE then v = timer_never /\ Y = X else v = now + time_at X now /\ Y = charged_at now (word X "charged") X).
  Proof using HM HT HW HC Hcpu.
    intros Hp Hs Hh. apply does_own.
    { intros v Y. destruct (_ =? _); intros [_ ->]; [apply later_refl|]. apply later_charged; [done|lia]. } intros d Ho. eapply triple_mono; [|apply (sched_budget_timer_triple kernel_entry M this HM HT HW HC cpu now (word X "arch_current") (word X "charged") (word X "since") (reservation_of X (word X "charged")) d)].
    - intros v d' [(E & -> & ->)|(E & -> & ->)].
      + exists X. by rewrite E.
      + rewrite (proj2 (Z.eqb_neq _ _)) by done. eexists. split; [done|]. split; [done|]. destruct Hp as [?|[Hr _]]; [done|]. by apply own_charged.
    - eapply own_word; [exact Ho|names].
    - eapply own_word; [exact Ho|names].
    - done.
    - done.
    - by apply (arch_read this ours X d "arch_current"); [|names].
    - intros Hne. destruct Hp as [?|[Hr Hv]]; [done|]. split; [by apply Ho|done].
  Qed.

  (** The timer's interrupt: an event whose time has come is taken, and the alarm is not later than what comes next: an event, the
      slice's end, the end of the budget. Where slice or budget have ended, the thread to run is chosen anew. *)
  Theorem sched_timer_interrupt_serves X : payer_ok ours X (word X "charged") -> time_ok X ->
    serves "sched_timer_interrupt" [] X (fun v Y => exists now, clock_says (word X "arch_clock") now /\
      taken now (timeouts X) (cancels X) v (timeouts Y) /\ cancels Y = cancels X /\ queues Y = queues X /\
      in_time (timeouts Y) (word Y "alarm") /\ word Y "alarm" <= word Y "slice_end" /\
      (if word X "slice_end" <=? now then word Y "slice_end" = timer_never /\ word Y "slice_over" = 1 /\ word Y "arch_need_resched" = 1
       else word Y "slice_end" = word X "slice_end" /\ word Y "slice_over" = word X "slice_over") /\
      (word X "charged" <> NONE -> reservation_of Y = reservation_of (charged_at now (word X "charged") X) /\ word Y "since" = now /\
         if time_at X now =? 0 then word Y "arch_need_resched" = 1 else word Y "alarm" <= now + time_at X now) /\
      (word Y "arch_clock" = now /\ word Y "running" = word X "running" /\ word Y "kept" = word X "kept" /\ word Y "charged" = word X "charged" /\ word Y "arch_current" = word X "arch_current") /\
      (word X "charged" = NONE -> reservation_of Y = reservation_of X /\ word Y "since" = word X "since") /\
      (word Y "arch_floor" = word X "arch_floor" /\ word Y "arch_need_resched" = word X "arch_need_resched" \/ word Y "arch_floor" = ARCH_FLOOR_NONE /\ word Y "arch_need_resched" = 1)).
  Proof using HM HT HW HR HC Hcpu timer_arms clock.
    intros Hp Hs. opens sched_timer_interrupt_code. go. this_cpu. go. apply runs_clock; [premise|exact clock|apply Hs|]. intros now Hnow. locals_simpl. locals_plain.
    pose proof Hnow as Hn. unfold time_ok in Hs. unfold clock_says, horizon in Hn.
    assert (word X "charged" <> NONE -> 0 <= time_at X now) as Htime.
    { intros Hne. destruct Hp as [?|[Hr (Hok & _)]]; [done|]. destruct (charge_gives (word X "since") now _ ltac:(lia) ltac:(unfold horizon; lia) Hok) as (Hok' & _).
      pose proof (time_for_bound (word X "arch_current") (word X "charged") _ Hok'). unfold time_at. lia. }
    go. use alarm_gone_does. set (X1 := set_word "alarm" timer_never (set_word "arch_clock" now X)).
    go. eapply runs_call; [intros ?; evaluate|apply (budget_timer_does now X1); [exact Hp|cbn; lia|unfold horizon; lia]|].
    intros at_ X2 H2. locals_simpl. locals_plain. change (word X1 "charged") with (word X "charged") in H2. change (time_at X1 now) with (time_at X now) in H2.
    assert (word X2 "slice_end" = word X "slice_end" /\ word X2 "slice_over" = word X "slice_over" /\ word X2 "alarm" = timer_never /\
      timeouts X2 = timeouts X /\ cancels X2 = cancels X /\ queues X2 = queues X /\ (word X2 "arch_clock" = now /\ word X2 "running" = word X "running" /\ word X2 "kept" = word X "kept" /\ word X2 "charged" = word X "charged" /\ word X2 "arch_current" = word X "arch_current") /\ word X2 "arch_floor" = word X "arch_floor" /\ word X2 "arch_need_resched" = word X "arch_need_resched") as (E1 & E2 & E3 & E4 & E5 & E6 & EW & Efl & Ene) by (destruct (_ =? _); destruct H2 as [_ ->]; done).
    assert (word X "charged" <> NONE -> reservation_of X2 = reservation_of (charged_at now (word X "charged") X) /\ word X2 "since" = now /\ at_ = now + time_at X now) as H3.
    { intros Hne. rewrite (proj2 (Z.eqb_neq _ _)) in H2 by done. destruct H2 as [-> ->]. done. }
    assert (word X "charged" = NONE -> reservation_of X2 = reservation_of X /\ word X2 "since" = word X "since") as Hnone by (intros E; rewrite (proj2 (Z.eqb_eq _ _) E) in H2; by destruct H2 as [_ ->]).
    clear H2. clearbody X1. go.
    pose (alarm1 := if at_ <=? now then timer_never else at_). pose (X3 := if at_ <=? now then requested X2 else X2).
    match goal with |- runs _ _ _ _ _ _ _ ?Qn ?Qb ?Qr _ _ => assert (Qn [cpu; now; alarm1; 0; 0; 0] X3) as Hrest; [|go; destruct (at_ <=? now); [do 2 go; use sched_request_does; exact Hrest|go; exact Hrest]] end.
    assert (word X3 "slice_end" = word X "slice_end" /\ word X3 "slice_over" = word X "slice_over" /\ word X3 "alarm" = timer_never /\
      timeouts X3 = timeouts X /\ cancels X3 = cancels X /\ queues X3 = queues X /\ reservation_of X3 = reservation_of X2 /\ word X3 "since" = word X2 "since" /\
      (at_ <= now -> word X3 "arch_need_resched" = 1) /\ (word X3 "arch_clock" = now /\ word X3 "running" = word X "running" /\ word X3 "kept" = word X "kept" /\ word X3 "charged" = word X "charged" /\ word X3 "arch_current" = word X "arch_current")) as (F1 & F2 & F3 & F4 & F5 & F6 & F7 & F8 & F9 & FW).
    { unfold X3. destruct (Z.leb_spec at_ now); split_and!; try done; try apply EW. lia. }
    assert (word X3 "arch_floor" = word X2 "arch_floor" /\ word X3 "arch_need_resched" = word X2 "arch_need_resched" \/ word X3 "arch_floor" = ARCH_FLOOR_NONE /\ word X3 "arch_need_resched" = 1) as Ffl.
    { unfold X3. destruct (at_ <=? now); [by right|left; by split]. }
    rewrite Efl, Ene in Ffl. clearbody X3. go. get sched_cpu_slice_end_triple "slice_end"%string. rewrite F1. go.
    pose (end1 := if word X "slice_end" <=? now then timer_never else word X "slice_end").
    pose (X4 := if word X "slice_end" <=? now then requested (set_word "slice_over" 1 (set_word "slice_end" timer_never X3)) else X3).
    match goal with |- runs _ _ _ _ _ _ _ ?Qn ?Qb ?Qr _ _ => assert (Qn [cpu; now; alarm1; end1; 0; 0] X4) as Hrest end.
    2: { go. destruct (word X "slice_end" <=? now); [|go; exact Hrest]. do 3 go. put_word sched_cpu_set_slice_end_triple "slice_end"%string.
         go. put_word sched_cpu_set_slice_over_triple "slice_over"%string. use sched_request_does. exact Hrest. }
    assert (word X4 "slice_end" = end1 /\ word X4 "alarm" = timer_never /\ timeouts X4 = timeouts X /\ cancels X4 = cancels X /\ queues X4 = queues X /\
      reservation_of X4 = reservation_of X2 /\ word X4 "since" = word X2 "since" /\ (at_ <= now -> word X4 "arch_need_resched" = 1) /\
      (if word X "slice_end" <=? now then word X4 "slice_over" = 1 /\ word X4 "arch_need_resched" = 1 else word X4 "slice_over" = word X "slice_over") /\ (word X4 "arch_clock" = now /\ word X4 "running" = word X "running" /\ word X4 "kept" = word X "kept" /\ word X4 "charged" = word X "charged" /\ word X4 "arch_current" = word X "arch_current"))
      as (G1 & G2 & G3 & G4 & G5 & G6 & G7 & G8 & G9 & GW).
    { unfold X4, end1. destruct (word X "slice_end" <=? now); split_and!; try done; apply FW. }
    assert (word X4 "arch_floor" = word X "arch_floor" /\ word X4 "arch_need_resched" = word X "arch_need_resched" \/ word X4 "arch_floor" = ARCH_FLOOR_NONE /\ word X4 "arch_need_resched" = 1) as Gfl.
    { unfold X4. destruct (word X "slice_end" <=? now); [by right|exact Ffl]. }
    clearbody X4. go. eapply runs_call; [intros ?; evaluate|eapply event_take_does; premise; unfold timer_never; lia|]. intros v X5 (m & Hm & ->). locals_simpl. locals_plain.
    go. eapply runs_call; [intros ?; evaluate|eapply event_first_does; premise|]. intros first X6 [Hfirst ->]. locals_simpl. locals_plain. rewrite G3, G4 in *. cbn [timeouts set_timeouts] in Hfirst.
    pose (alarm2 := if end1 <? alarm1 then end1 else alarm1).
    do 2 go. assert (forall alarm3, alarm3 <= first -> alarm3 <= end1 -> alarm3 <= alarm1 -> let Y := set_word "alarm" (Z.min timer_never alarm3) (set_timeouts m (cancels X) X4) in
      exists now, clock_says (word X "arch_clock") now /\ taken now (timeouts X) (cancels X) v (timeouts Y) /\ cancels Y = cancels X /\ queues Y = queues X /\
      in_time (timeouts Y) (word Y "alarm") /\ word Y "alarm" <= word Y "slice_end" /\
      (if word X "slice_end" <=? now then word Y "slice_end" = timer_never /\ word Y "slice_over" = 1 /\ word Y "arch_need_resched" = 1
       else word Y "slice_end" = word X "slice_end" /\ word Y "slice_over" = word X "slice_over") /\
      (word X "charged" <> NONE -> reservation_of Y = reservation_of (charged_at now (word X "charged") X) /\ word Y "since" = now /\
         if time_at X now =? 0 then word Y "arch_need_resched" = 1 else word Y "alarm" <= now + time_at X now) /\
      (word Y "arch_clock" = now /\ word Y "running" = word X "running" /\ word Y "kept" = word X "kept" /\ word Y "charged" = word X "charged" /\ word Y "arch_current" = word X "arch_current") /\
      (word X "charged" = NONE -> reservation_of Y = reservation_of X /\ word Y "since" = word X "since") /\
      (word Y "arch_floor" = word X "arch_floor" /\ word Y "arch_need_resched" = word X "arch_need_resched" \/ word Y "arch_floor" = ARCH_FLOOR_NONE /\ word Y "arch_need_resched" = 1)) as Hend.
    { intros a3 Ha Hb Hc. cbn [set_word set_timeouts word timeouts cancels queues reservation_of String.eqb Ascii.eqb Bool.eqb]. exists now. split_and!; try done; try apply GW; try exact Gfl.
      - intros x t Hx. destruct Hfirst as [[-> _]|[_ Hmin]]; [done|]. specialize (Hmin x t Hx). lia.
      - rewrite G1. lia.
      - rewrite G1. unfold end1. revert G9. destruct (word X "slice_end" <=? now); [by intros []|by intros G9].
      - intros Hne. destruct (H3 Hne) as (Ha1 & Ha2 & Ha3). rewrite G6, G7. split_and!; [done|done|]. unfold alarm1 in Hc. destruct (Z.eqb_spec (time_at X now) 0); [apply G8; lia|].
        destruct (Z.leb_spec at_ now); [|lia]. specialize (Htime Hne). lia.
      - intros Hne. rewrite G6, G7. by apply Hnone. }
    destruct (Z.ltb_spec end1 alarm1); do 3 go.
    - destruct (Z.ltb_spec first end1); do 2 go; use alarm_want_does; go; cbn [word set_timeouts]; rewrite G2; apply Hend; lia.
    - destruct (Z.ltb_spec first alarm1); do 2 go; use alarm_want_does; go; cbn [word set_timeouts]; rewrite G2; apply Hend; lia.
  Qed.
End code.

(** Start-up: no alarm, no event, no reservation, empty ready queues. [d]: the cells of the scheduler but for the bitmaps of ready queues. *)
Definition sched_fresh (d : mem) : mem :=
  filled "sched_reservation" (fun _ => reservation_fields unreserved) 0 NUM_THREAD (events_fresh (filled "sched_cpu" cpu_fresh 0 NUM_CPU d)).
Local Opaque filled.
Theorem sched_init_triple kernel_entry M this (HM : forall f fd, sched_module f = Some fd -> M f = Some fd) d dm : d ##ₘ dm -> exactly ready_maps dm -> event_cells d ->
  (forall cpu, 0 <= cpu < NUM_CPU -> has_fields "sched_cpu" cpu cpu_fields d) ->
  (forall t, 0 <= t < NUM_THREAD -> has_fields "sched_reservation" t (reservation_fields unreserved).*1 d) ->
  triple kernel_entry M this "sched_init" [] (d ∪ dm) (fun v d' => v = 0 /\ exists dm', d' = sched_fresh d ∪ dm' /\ exactly ready_maps dm' /\
    forall cpu s, 0 <= cpu < NUM_CPU -> (forall p, 0 <= p < NUM_PRIORITY -> ready_some s cpu p = false) -> ready_map_rep cpu s (cells_of cpu dm')).
Proof.
  intros Hd Hx He Hc Hr. eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold sched_init_code. locals_simpl.
  step. eapply owned_call; [evaluate|done|by apply (sched_cpu_init_triple kernel_entry M this HM)|]. intros v d1 [-> ->] Hd1. locals_simpl. set (d1 := filled _ _ _ _ d) in *.
  step. rewrite (map_union_comm d1) by done. eapply owned_call; [evaluate|by symmetry|by apply (sched_ready_init_triple kernel_entry M this HM)|].
  intros v dm' (-> & Hx' & Hm) Hd2. locals_simpl. rewrite (map_union_comm dm') by done.
  step. eapply owned_call; [evaluate|by symmetry|apply (sched_event_init_triple kernel_entry M this HM)|].
  { destruct He as (H1 & H2 & H3). split_and!; [|intros; by apply filled_keeps, H2|intros; by apply filled_keeps, H3].
    intros c Hcc. specialize (H1 c Hcc). assert (has_fields "sched_cpu" c ["events"%string] d) as H by (constructor; [done|constructor]).
    apply (filled_keeps "sched_cpu" cpu_fresh 0 NUM_CPU) in H. by apply Forall_cons in H as [H _]. }
  intros v d2 [-> ->] Hd3. locals_simpl. eapply owned_call; [evaluate|done|apply (sched_budget_init_triple kernel_entry M this HM)|].
  { intros t Ht. unfold events_fresh. by do 4 apply filled_keeps; apply Hr. }
  intros v d3 [-> ->] Hd4. split; [done|]. exists dm'. unfold sched_fresh. split; [reflexivity|]. by split.
Qed.
