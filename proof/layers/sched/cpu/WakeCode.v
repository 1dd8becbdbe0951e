(** The C of [sched.c], [sched_wake.c] and [sched_budget.c] that decides: who makes way, who is parked, what the alarm has to say. *)
From Ashlar Require Export layers.sched.cpu.SchedCode.
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
  Notation holds := (holds this ours timer).
  Notation own := (own this ours).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).

  (** ** Time *)
  Definition payer_ok (X : cpu_state) (r : Z) : Prop := r = NONE \/ ours r /\ reservation_valid (word X "since") (reservation_of X r).
  Lemma own_charged X d r now : own X d -> ours r -> own (charged_at now r X) (charged_until cpu r (reservation_of X r) (word X "since") now d).
  Proof using Hcpu.
    intros Ho Hr. unfold charged_at, charged_until. change (cpu_cell "since" cpu) with (cell_of cpu "since").
    apply own_set_word; [by apply own_set_reservation|names|done].
  Qed.
  (** What is charged has run since a time that has passed. *)
  Definition time_ok (X : cpu_state) : Prop := 0 <= word X "since" <= word X "arch_clock" /\ word X "arch_clock" < horizon.
  Lemma own_clock X d now : own X d -> own (set_word "arch_clock" now X) (<[clock_cell this := now]> d).
  Proof using. intros Ho. change (clock_cell this) with (cell_of cpu "arch_clock"). apply own_set_word; [done|names|done]. Qed.
  (** [sched_budget_has]: the reservation that [t] spends is brought up to date, and there is time left or not. *)
  Definition has_time (t : Z) (X : cpu_state) (v : Z) (Y : cpu_state) : Prop :=
    let r := payer_of X t in
    r = NONE /\ v = 1 /\ Y = X \/
    r <> NONE /\ exists now, clock_says (word X "arch_clock") now /\ let X1 := set_word "arch_clock" now X in
      Y = (if r =? word X "charged" then charged_at now r X1 else set_reservation r (refill now (reservation_of X r)) X1) /\
      v = (if time_for t r (reservation_of Y r) =? 0 then 0 else 1).
  Lemma later_has_time t X v Y : time_ok X -> has_time t X v Y -> later X Y.
  Proof using.
    intros [[_ Hs] _]. unfold has_time. cbn zeta. intros [(_ & _ & ->)|(_ & now & Hnow & -> & _)]; [apply later_refl|]. unfold clock_says in Hnow.
    apply (later_trans _ (set_word "arch_clock" now X)); [apply later_clock; clear -Hnow; lia|]. destruct (Z.eqb_spec (payer_of X t) (word X "charged")) as [E|E].
    - apply later_charged; [by rewrite E|cbn; clear -Hs Hnow; lia].
    - by apply (later_refilled now (payer_of X t) (set_word "arch_clock" now X)); [cbn; congruence|].
  Qed.
  Lemma has_does t X : ours t -> payer_ok X (payer_of X t) -> time_ok X -> does "sched_budget_has" [cpu; t] X (has_time t X).
  Proof using HM Hcpu clock.
    intros Ht Hp [Hs Hh]. apply does_timed; [intros v Y; by apply later_has_time|]. intros d e Ho He Hde. unfold payer_of in *. set (r := payer (reservation_of X t)) in *.
    eapply timed_mono; [|apply timed_frame; [exact Hde|eapply (sched_budget_has_timed quiet kernel_entry M this HM clock (word X "arch_clock") ltac:(lia) cpu t r (word X "charged") (word X "since") (reservation_of X t) (reservation_of X r) d)]].
    - cbn beta. intros v m (d' & Hpost & Hd' & ->). unfold has_time, payer_of. fold r. destruct Hpost as [(E & -> & ->)|(E & now & Hnow & Hv & Hd)].
      + exists X, d, e. split_and!; [by left|done..].
      + destruct Hp as [?|[Hr Hval]]; [done|]. cbn zeta in Hv, Hd. destruct (r =? word X "charged").
        * eexists _, d', e. split_and!; [right; split; [done|]; exists now; split_and!; [done|done|]|done| |done..].
          -- rewrite Hv. unfold charged_at. cbn [reservation_of set_word set_reservation]. by rewrite Z.eqb_refl.
          -- rewrite Hd. apply (own_charged (set_word "arch_clock" now X)); [by apply own_clock|done].
        * eexists _, d', e. split_and!; [right; split; [done|]; exists now; split_and!; [done|done|]|done| |done..].
          -- rewrite Hv. cbn [reservation_of set_reservation]. by rewrite Z.eqb_refl.
          -- rewrite Hd. apply own_set_reservation; [by apply own_clock|done].
    - by apply (arch_read this ours X d "arch_clock"); [|names].
    - eapply own_word; [exact Ho|names].
    - eapply own_word; [exact Ho|names].
    - done.
    - by apply Ho.
    - done.
    - intros Hne. destruct Hp as [?|[Hr Hval]]; [done|]. split; [by apply Ho|done].
  Qed.

  (** Who makes way for another thread: for a more important one, or after its slice for one of its priority; or its time is spent. *)
  Theorem sched_make_way_does current X : ours current -> payer_ok X (payer_of X current) -> time_ok X ->
    let best := ready_best (queues X) cpu in
    does "sched_make_way" [cpu; current] X (fun v Y =>
      if negb (word X "kept" =? NONE) || (word X "running" <? best) then v = WAY_MAKES /\ Y = X
      else if word X "running" =? 0 then v = WAY_STAYS /\ Y = X
      else if (word X "slice_over" =? 1) && (best =? word X "running") then v = WAY_MAKES /\ Y = X
      else exists has, has_time current X has Y /\ v = (if has =? 0 then WAY_SPENT else WAY_STAYS)).
  Proof using HM HR HC Hcpu clock.
    intros Ho Hp Hs best. enter sched_make_way_code. go. use best_does. go. get sched_cpu_running_triple "running"%string.
    go. get sched_cpu_slice_over_triple "slice_over"%string. go. get sched_cpu_kept_triple "kept"%string. do 2 go. change 4294967295 with NONE. fold best.
    destruct (_ || _); [by go|]. do 3 go. destruct (word X "running" =? 0); [by go|]. do 3 go. destruct (_ && _); [by go|]. do 2 go.
    eapply runs_call; [intros ?; evaluate|by apply has_does|]. intros v Y HY. locals_simpl. locals_plain. do 2 go.
    destruct (v =? 0) eqn:Ev; repeat go; exists v; by rewrite Ev.
  Qed.

  (** The kept thread, unless a ready one is more important. *)
  Theorem sched_woken_does X r : (word X "kept" <> NONE -> ready_threads (queues X) !! word X "kept" = Some r) ->
    does "sched_woken" [] X (fun v Y => Y = X /\ v = if word X "kept" =? NONE then NONE else if ready_priority r <? ready_best (queues X) cpu then NONE else word X "kept").
  Proof using HM HT HC Hcpu.
    intros Hr. enter sched_woken_code. go. this_cpu. go. get sched_cpu_kept_triple "kept"%string. do 2 go. change 4294967295 with NONE.
    destruct (Z.eqb_spec (word X "kept") NONE) as [E|Hne]; [by go|]. do 2 go. use priority_does; [by apply Hr|]. go. use best_does. do 2 go.
    destruct (_ <? _); by repeat go.
  Qed.

  (** A switch to [t] at once: it is of this CPU, nothing more important is ready, and no reservation is concerned. *)
  Theorem sched_prepare_switch_does t r s X : ours t -> ready_threads (queues X) !! t = Some r -> 0 <= ready_priority r < NUM_PRIORITY ->
    sched_mark (queues X) t thread_is_running = Some s ->
    does "sched_prepare_switch" [t] X (fun v Y =>
      if (ready_priority r <? word X "arch_floor") || ((if spends (reservation_of X t) =? NONE then 0 else 1) =? 1) then v = 0 /\ Y = X
      else v = 1 /\ Y = set_word "running" (ready_priority r + 1) (set_queues s X)).
  Proof using HM HT HR HC Hcpu.
    intros Ht Hr Hp Hs. unfold NUM_PRIORITY in Hp. enter sched_prepare_switch_code. go. this_cpu. go. use cpu_does. do 2 go. rewrite Z.eqb_refl. cbn [negb]. do 2 go.
    use priority_does. go. use limited_does. go. use floor_does. do 2 go. destruct (_ || _); [by go|]. do 2 go. use set_state_does. go.
    put_word sched_cpu_set_running_triple "running"%string. go. split; [done|]. by rewrite wrap32_next by lia.
  Qed.

  (** ** Parking *)
  Definition parked (t : Z) (s : ready) (X : cpu_state) : cpu_state :=
    let ends := period_end (reservation_of X (spends (reservation_of X t))) in
    set_word "alarm" (Z.min (word X "alarm") ends) (set_timeouts (<[SCHED_RELEASE_BASE + t := ends]> (timeouts X)) (cancels X) (set_queues s X)).
  (** A thread without time waits in the queue of parked threads for its reservation's next period, which has an event. *)
  Theorem sched_budget_park_does t s X : ours t -> 0 <= t < NUM_THREAD -> ours (spends (reservation_of X t)) ->
    0 <= period_end (reservation_of X (spends (reservation_of X t))) <= timer_never ->
    sched_park (queues X) cpu (parked_queue cpu) t = Some s -> timeouts X !! (SCHED_RELEASE_BASE + t) = None ->
    does "sched_budget_park" [cpu; t] X (fun v Y => v = 0 /\ Y = parked t s X).
  Proof using HM HQ HT Hcpu timer_arms.
    intros Ht Hb Hr He Hs Hno. unfold NUM_THREAD, NUM_CPU in *. set (r := spends (reservation_of X t)) in *. enter sched_budget_park_code. go.
    intros w Hw. eapply during_assign; [eapply eval_load; [evaluate|evaluate|]; apply (holds_read this ours timer X w _ _ Hw); intros d Ho; exact (holds_value _ _ _ _ "spends" _ (proj1 (proj1 (proj2 Ho) t Ht)) eq_refl)|].
    locals_simpl. locals_plain. apply reaches_here; [exact Hw|]. fold r. go.
    assert (wrap W32 (QUEUE_PARKED_BASE + cpu) = parked_queue cpu) as Eq by (unfold parked_queue, QUEUE_PARKED_BASE; apply Z.mod_small; cbn [bits]; lia).
    unfold QUEUE_PARKED_BASE in Eq. eapply runs_call; [intros ?; evaluate|rewrite Eq; eapply ready_park_does; premise|after].
    assert (wrap W32 (144 + t) = SCHED_RELEASE_BASE + t) as Et by (unfold SCHED_RELEASE_BASE; apply Z.mod_small; cbn [bits]; lia).
    intros w' Hw'. eapply during_call_whole; [eapply evals_cons; [evaluate|eapply evals_cons; [evaluate|eapply evals_cons; [|evaluate]]]| |].
    - eapply eval_load; [evaluate|evaluate|]. apply (holds_read this ours timer _ w' _ (period_end (reservation_of X r)) Hw'). intros d Ho.
      exact (holds_value _ _ _ _ "end" _ (proj1 (proj1 (proj2 Ho) r Hr)) eq_refl).
    - rewrite Et. eapply (event_add_does quiet kernel_entry M this Hcpu ours timer HM timer_arms _ _ (set_queues s X)); [|exact He|exact Hno|exact Hw'].
      split; [unfold SCHED_RELEASE_BASE, SCHED_NUM_EVENT; lia|]. unfold SCHED_RELEASE_BASE, NUM_THREAD. replace (144 + t) with (t + 1 * 144) by lia.
      rewrite Z.mod_add, Z.mod_small by lia. done.
    - cbn beta. intros v m (Y & [-> ->] & HY & Hl). eexists. split; [|split; [exact HY|exact Hl]]. done.
  Qed.
End code.
