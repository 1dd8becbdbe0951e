(** The C of [sched.c], [sched_wake.c] and [sched_loan.c] that charges another reservation, and that makes a woken thread ready. *)
From Ashlar Require Export layers.sched.cpu.WakeCode.
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

  (** ** Charging another reservation *)
  Definition spent_at (t r now : Z) (y : reservation) (X : cpu_state) : cpu_state :=
    let X1 := set_word "since" now (set_word "charged" r X) in
    if r =? NONE then X1 else set_word "alarm" (Z.min (word X "alarm") (now + time_for t r (refill now y))) (set_reservation r (refill now y) X1).
  (** From now on [t]'s reservation is charged, and the alarm is not later than its end. *)
  Definition switched_to (t : Z) (X Y : cpu_state) : Prop :=
    let r := payer_of X t in let y := reservation_of X r in
    r = word X "charged" /\ Y = (if r =? NONE then X else set_word "alarm" (Z.min (word X "alarm") (word X "since" + time_for t r y)) X) \/
    r <> word X "charged" /\ exists now, clock_says (word X "arch_clock") now /\ let X1 := set_word "arch_clock" now X in
      Y = spent_at t r now y (if word X "charged" =? NONE then X1 else charged_at now (word X "charged") X1).
  Lemma later_switched t X Y : time_ok X -> switched_to t X Y -> later X Y.
  Proof using.
    intros [[_ Hs] _]. unfold switched_to. cbn zeta. set (r := payer_of X t). intros [[_ ->]|(Hne & now & Hnow & ->)].
    { destruct (_ =? _); [apply later_refl|by apply later_same; [|done..|]]. }
    unfold clock_says in Hnow. set (X1 := if word X "charged" =? NONE then _ else _).
    assert (later X X1 /\ word X1 "charged" = word X "charged" /\ word X1 "arch_clock" = now /\ (word X "charged" = NONE \/ word X1 "since" = now) /\ word X1 "since" <= now /\ reservation_of X1 r = reservation_of X r) as (Hl & Ec & En & Es & Hsn & Er).
    { unfold X1. destruct (Z.eqb_spec (word X "charged") NONE) as [E|E].
      - split_and!; [apply later_clock; clear -Hnow; lia|done|done|by left|cbn; clear -Hs Hnow; lia|done].
      - split_and!; [|done|done|by right|done|by (cbn; rewrite (proj2 (Z.eqb_neq r _)) by done)].
        apply (later_trans _ (set_word "arch_clock" now X)); [apply later_clock; clear -Hnow; lia|]. apply later_charged; [done|cbn; clear -Hs Hnow; lia]. }
    clearbody X1. apply (later_trans _ X1); [exact Hl|]. rewrite <- Er, <- En. intros u. unfold happened, accounted_until, spent_at. rewrite Ec.
    destruct (Z.eqb_spec r NONE) as [Er0|Er0]; cbn.
    - exists []. split; [|by split_and!]. cbn. destruct (u =? word X "charged"), (u =? r); clear -Hsn En; lia.
    - destruct (Z.eqb_spec u r) as [->|Hu].
      + rewrite (proj2 (Z.eqb_neq r _)) by done. exists [Refilled (word X1 "arch_clock")]. split; [cbn; clear; lia|by split_and!].
      + exists []. split; [|by split_and!]. cbn. destruct (u =? word X "charged"); clear -Hsn En; lia.
  Qed.
  Lemma own_switched X d d' t : own X d -> (payer_of X t <> NONE -> ours (payer_of X t)) -> (word X "charged" <> NONE -> ours (word X "charged")) ->
    switched this (word X "arch_clock") cpu t (payer_of X t) (word X "charged") (word X "since") (word X "alarm") (reservation_of X (payer_of X t)) (reservation_of X (word X "charged")) d d' ->
    exists Y, switched_to t X Y /\ queues Y = queues X /\ own Y d'.
  Proof using Hcpu.
    intros Ho Hr Hc [[E ->]|(E & now & Hnow & ->)]; unfold switched_to; cbn zeta; set (r := payer_of X t) in *; set (y := reservation_of X r) in *.
    - eexists. split; [by left|]. destruct (r =? NONE); [done|]. split; [done|]. by apply own_alarm.
    - eexists. split; [right; split; [done|]; by exists now|]. pose proof (own_clock this ours X d now Ho) as Hoc. set (X0 := set_word "arch_clock" now X) in *.
      set (X1 := if word X "charged" =? NONE then X0 else charged_at now (word X "charged") X0). set (d0 := <[clock_cell this := now]> d) in *.
      assert (own X1 (charged_now cpu (word X "charged") (reservation_of X (word X "charged")) (word X "since") now d0) /\ queues X1 = queues X /\ word X1 "alarm" = word X "alarm") as (Ho1 & Eq & Ea).
      { unfold X1, charged_now. destruct (Z.eqb_spec (word X "charged") NONE); [done|]. split_and!; [by apply (own_charged this Hcpu ours X0); auto|done..]. }
      clearbody X1. unfold spent_at, spent_from. set (d1 := charged_now _ _ _ _ _ _) in *. clearbody d1. rewrite <- Ea.
      assert (own (set_word "since" now (set_word "charged" r X1)) (<[cpu_cell "since" cpu := now]> (<[cpu_cell "charged" cpu := r]> d1))) as Ho2.
      { change (cpu_cell "since" cpu) with (cell_of cpu "since"). change (cpu_cell "charged" cpu) with (cell_of cpu "charged").
        apply own_set_word; [apply own_set_word; [done|names|done]|names|done]. }
      destruct (Z.eqb_spec r NONE); [done|]. split; [done|].
      apply (own_alarm this Hcpu ours (set_reservation r (refill now y) (set_word "since" now (set_word "charged" r X1)))).
      apply own_set_reservation; auto.
  Qed.
  Lemma switch_does t X : ours t -> payer_ok ours X (payer_of X t) -> payer_ok ours X (word X "charged") -> time_ok X -> (t = payer_of X t -> payer_of X t <> NONE) ->
    does "sched_budget_switch" [cpu; t] X (fun v Y => v = 0 /\ switched_to t X Y).
  Proof using HM Hcpu clock timer_arms.
    intros Ht Hp Hc Hs Htr. apply does_timed; [intros v Y [_ HY]; by eapply later_switched|]. intros d e Ho He Hde.
    eapply timed_mono; [|eapply (sched_budget_switch_timed quiet kernel_entry M this HM (word X "arch_clock") ltac:(unfold time_ok in *; lia) clock timer timer_arms cpu t (payer_of X t) (word X "charged") (word X "since") (word X "alarm")
      (reservation_of X t) (reservation_of X (payer_of X t)) (reservation_of X (word X "charged")) d e)].
    - cbn beta. intros v m [-> (d' & e' & He' & Hd' & -> & Hsw)]. eapply own_switched in Hsw as (Y & HY & Eq & HoY); [exists Y, d', e'; by split_and!|done| |].
      + intros Hne. by destruct Hp as [?|[? _]].
      + intros Hne. by destruct Hc as [?|[? _]].
    - done.
    - done.
    - by apply (arch_read this ours X d "arch_clock"); [|names].
    - eapply own_word; [exact Ho|names].
    - eapply own_word; [exact Ho|names].
    - apply Hs.
    - eapply own_word; [exact Ho|names].
    - by apply Ho.
    - done.
    - intros Hne. destruct Hp as [?|[Hr Hv]]; [done|]. split; [by apply Ho|done].
    - intros Hne. destruct Hc as [?|[Hr Hv]]; [done|]. split; [by apply Ho|done].
    - done.
  Qed.

  (** A loan ends: the current thread spends its own reservation again, or none. *)
  Definition back (X : cpu_state) : cpu_state := set_reservation (word X "arch_current") (take_back (word X "arch_current") (reservation_of X (word X "arch_current"))) X.
  Definition loan_ok (X : cpu_state) : Prop := ours (word X "arch_current") /\ payer_ok ours (back X) (payer_of (back X) (word X "arch_current")) /\
    payer_ok ours (back X) (word X "charged") /\ time_ok X /\ word X "arch_current" <> NONE.
  Definition repaid (X Y : cpu_state) : Prop :=
    if word X "charged" =? NONE then Y = X else exists Z, switched_to (word X "arch_current") (back X) Z /\ Y = with_floor this Z.
  Theorem sched_repay_does X : loan_ok X -> does "sched_repay" [] X (fun v Y => v = 0 /\ repaid X Y).
  Proof using HM HT HW HR HC Hcpu clock timer_arms.
    intros (Ho & Hp & Hc & Hs & Hn). enter sched_repay_code. unfold repaid. go. this_cpu. go. get sched_cpu_charged_triple "charged"%string. go. change 4294967295 with NONE.
    destruct (word X "charged" =? NONE); cbn [negb]; [by go|]. go. use current_does. go. use take_back_does. fold (back X).
    go. eapply runs_call; [intros ?; evaluate|apply (switch_does (word X "arch_current") (back X)); [done..|congruence]|]. intros v Y [-> HY]. locals_simpl. locals_plain.
    use sched_update_floor_does. split; [done|]. by exists Y.
  Qed.
  Theorem sched_revoke_does server X : ours server -> loan_ok X -> does "sched_revoke" [server] X (fun v Y => v = 0 /\
    if server =? word X "arch_current" then repaid X Y else Y = set_reservation server (take_back server (reservation_of X server)) X).
  Proof using HM HT HW HR HC Hcpu clock timer_arms.
    intros Hserver Hl. enter sched_revoke_code. go. this_cpu. go. use cpu_does. go. use current_does. go. destruct (server =? word X "arch_current").
    - eapply runs_call; [intros ?; evaluate|by apply sched_repay_does|]. intros v Y [-> HY]. done.
    - go. rewrite Z.eqb_refl. use take_back_does. done.
  Qed.
  (** A loan begins: the current thread spends what [from] spends, if it has no reservation. *)
  Definition lent (from : Z) (X : cpu_state) : cpu_state :=
    set_reservation (word X "arch_current") (borrow (payer_of X from) (reservation_of X (word X "arch_current"))) X.
  Theorem sched_borrow_does from X : ours from -> ours (word X "arch_current") -> payer_ok ours (lent from X) (payer_of (lent from X) (word X "arch_current")) ->
    payer_ok ours (lent from X) (word X "charged") -> time_ok X -> word X "arch_current" <> NONE ->
    does "sched_borrow" [from] X (fun v Y => v = 0 /\ exists Z, switched_to (word X "arch_current") (lent from X) Z /\ Y = with_floor this Z).
  Proof using HM HT HW HR HC Hcpu clock timer_arms.
    intros Hf Ho Hp Hc Hs Hn. enter sched_borrow_code. go. this_cpu. go. use cpu_does. go. use current_does. do 2 go. rewrite Z.eqb_refl. use borrow_does. fold (lent from X).
    go. eapply runs_call; [intros ?; evaluate|apply (switch_does (word X "arch_current") (lent from X)); [done..|congruence]|]. intros v Y [-> HY]. locals_simpl. locals_plain.
    use sched_update_floor_does. split; [done|]. by exists Y.
  Qed.
  (** The floor that holds while [next] runs, whose time is charged from now on. *)
  Theorem sched_account_for_does next best X : ours next -> payer_ok ours X (payer_of X next) -> payer_ok ours X (word X "charged") -> time_ok X ->
    (next = payer_of X next -> payer_of X next <> NONE) ->
    does "sched_account_for" [cpu; next; best] X (fun v Y =>
      if (spends (reservation_of X next) =? NONE) && (word X "charged" =? NONE) then v = best /\ Y = X
      else v = (if payer_of X next =? NONE then best else ARCH_FLOOR_NONE) /\ switched_to next X Y).
  Proof using HM HR HC Hcpu clock timer_arms.
    intros Ht Hp Hc Hs Htr. enter sched_account_for_code. go. use limited_does. go. get sched_cpu_charged_triple "charged"%string. do 2 go. change 4294967295 with NONE.
    assert (((if spends (reservation_of X next) =? NONE then 0 else 1) =? 0) = (spends (reservation_of X next) =? NONE)) as -> by (by destruct (_ =? NONE)).
    destruct (_ && _); [by go|]. do 2 go. eapply runs_call; [intros ?; evaluate| |intros v Y HY; locals_simpl; locals_plain; go; exact HY].
    apply does_timed; [intros v Y [_ HY]; by eapply later_switched|]. intros d e Ho He Hde.
    eapply timed_mono; [|eapply (sched_budget_floor_timed quiet kernel_entry M this HM (word X "arch_clock") ltac:(unfold time_ok in *; lia) clock timer timer_arms cpu next best (payer_of X next) (word X "charged") (word X "since") (word X "alarm")
      (reservation_of X next) (reservation_of X (payer_of X next)) (reservation_of X (word X "charged")) d e)].
    - cbn beta. intros v m [-> (d' & e' & He' & Hd' & -> & Hsw)]. eapply own_switched in Hsw as (Y & HY & Eq & HoY); [exists Y, d', e'; by split_and!|done| |].
      + intros Hne. by destruct Hp as [?|[? _]].
      + intros Hne. by destruct Hc as [?|[? _]].
    - done.
    - done.
    - by apply (arch_read this ours X d "arch_clock"); [|names].
    - eapply own_word; [exact Ho|names].
    - eapply own_word; [exact Ho|names].
    - apply Hs.
    - eapply own_word; [exact Ho|names].
    - by apply Ho.
    - done.
    - intros Hne. destruct Hp as [?|[Hr Hv]]; [done|]. split; [by apply Ho|done].
    - intros Hne. destruct Hc as [?|[Hr Hv]]; [done|]. split; [by apply Ho|done].
    - done.
  Qed.

  (** ** A woken thread that has time *)
  (** The one of [t] and the kept thread that goes into its ready queue, and the state in which the other is kept. *)
  Definition less_important (t p kp : Z) (X : cpu_state) : Z * cpu_state :=
    if negb (word X "kept" =? NONE) && (kp <? p) then (word X "kept", set_word "kept" t X) else (t, X).
  (** The most important of all is kept, to run next; it is queued if one is kept already, which is kept as long as it is the more
      important one. A choice is requested if [t] is more important than the running thread. *)
  Definition made_ready (t p kp : Z) (s : ready) (X Y : cpu_state) : Prop :=
    if (word X "running" <? p + 1) && (ready_best (queues X) cpu <? p + 1) && (word X "kept" =? NONE) then Y = requested (set_word "kept" t X)
    else let Z := set_queues s (less_important t p kp X).2 in
      if word X "running" <? p + 1 then Y = requested Z
      else exists Z', (if p + 1 =? word X "running" then slice_begun this Z Z' else Z' = Z) /\ Y = with_floor this Z'.
  Definition may_be_queued (t p kp : Z) (s : ready) (X : cpu_state) : Prop :=
    (exists r, ready_threads (queues X) !! t = Some r /\ ready_priority r = p) /\ 0 <= p < NUM_PRIORITY /\
    (word X "kept" <> NONE -> exists k, ready_threads (queues X) !! word X "kept" = Some k /\ kp = ready_priority k) /\
    exists v, sched_ready_insert (queues X) cpu (less_important t p kp X).1 = Some (v, s).
  Theorem sched_insert_ready_does t p kp s X : word X "arch_clock" < horizon -> may_be_queued t p kp s X -> does "sched_insert_ready" [cpu; t] X (fun v Y => v = 0 /\ made_ready t p kp s X Y).
  Proof using HM HQ HT HR HC Hcpu clock timer_arms.
    unfold may_be_queued, made_ready. set (u := less_important t p kp X). intros Hh ((r & Hr & Er) & Hp & Hk & v & Hs). unfold NUM_PRIORITY in Hp.
    enter sched_insert_ready_code. go. use priority_does. rewrite Er. go. go. rewrite wrap32_next by lia.
    go. get sched_cpu_running_triple "running"%string. go. use best_does. go. get sched_cpu_kept_triple "kept"%string. do 2 go. change 4294967295 with NONE.
    destruct (_ && _ && _).
    { go. put_word sched_cpu_set_kept_triple "kept"%string. go. use sched_request_does. by go. }
    do 4 go. unfold u, less_important in Hs |- *. clear u. change 4294967295 with NONE.
    assert (forall queued Z k, word Z "running" = word X "running" -> queues Z = queues X -> word Z "arch_clock" = word X "arch_clock" -> sched_ready_insert (queues X) cpu queued = Some (v, s) ->
      runs quiet kernel_entry M this ours timer (Seq (Call None "sched_ready_insert" [Var 0; Var 7]) (If (Cmp Gt (Var 3) (Var 4)) (Call None "sched_request" [])
         (Seq (If (Cmp Eq (Var 3) (Var 4)) (Call None "sched_begin_slice" [Var 0]) Skip) (Call None "sched_update_floor" [Var 0]))))
      (fun _ Y => 0 = 0 /\ let W := set_queues s Z in if word X "running" <? p + 1 then Y = requested W
        else exists Z', (if p + 1 =? word X "running" then slice_begun this W Z' else Z' = W) /\ Y = with_floor this Z') (fun _ _ => False)
      (fun w Y => w = 0 /\ let W := set_queues s Z in if word X "running" <? p + 1 then Y = requested W
        else exists Z', (if p + 1 =? word X "running" then slice_begun this W Z' else Z' = W) /\ Y = with_floor this Z')
      [cpu; t; p; p + 1; word X "running"; ready_best (queues X) cpu; word X "kept"; queued; k] Z) as Hrest.
    { intros queued Z k Erun Eq Eck Hins. go. eapply runs_call; [intros ?; evaluate|eapply ready_insert_does; premise; rewrite Eq; exact Hins|]. intros w Y ->. locals_simpl. locals_plain.
      go. destruct (word X "running" <? p + 1); [use sched_request_does; done|]. do 2 go. destruct (p + 1 =? word X "running").
      - eapply runs_call; [intros ?; evaluate|eapply (sched_begin_slice_does quiet kernel_entry M this Hcpu ours timer HM HR HC timer_arms clock); cbn [word set_queues]; by rewrite Eck|]. intros w1 Y [-> HY]. locals_simpl. locals_plain. use sched_update_floor_does. split; [done|]. by exists Y.
      - go. use sched_update_floor_does. split; [done|]. by eexists. }
    destruct (Z.eq_dec (word X "kept") NONE) as [E|Hne].
    - go. rewrite (proj2 (Z.eqb_eq (word X "kept") NONE) E) in *. cbn [negb andb] in Hs |- *. go. by apply Hrest.
    - go. rewrite (proj2 (Z.eqb_neq (word X "kept") NONE) Hne) in *. cbn [negb andb] in Hs |- *. destruct (Hk Hne) as (k & Hkr & ->). go. use priority_does. go. destruct (ready_priority k <? p).
      + do 2 go. put_word sched_cpu_set_kept_triple "kept"%string. by apply Hrest.
      + go. by apply Hrest.
  Qed.

  (** A woken thread that spends a reservation with no time left is parked; another one is made ready. *)
  Lemma has_time_gives t has X Y : has_time t X has Y -> payer_ok ours X (payer_of X t) -> time_ok X ->
    queues Y = queues X /\ timeouts Y = timeouts X /\ word Y "kept" = word X "kept" /\ time_ok Y /\
    (has = 0 -> ours (spends (reservation_of Y t)) /\ 0 <= period_end (reservation_of Y (spends (reservation_of Y t))) <= timer_never).
  Proof using Hcpu.
    intros Hh Hp Hs. unfold time_ok in Hs. unfold has_time in Hh. cbn zeta in Hh. set (r := payer_of X t) in *. destruct Hh as [(_ & -> & ->)|(Hne & now & Hnow & -> & _)]; [by split_and!|].
    destruct Hp as [?|[Hr (Hok & _)]]; [done|]. unfold clock_says in Hnow.
    assert (spends (reservation_of X t) = r) as Er by (unfold r, payer_of, payer in *; by destruct (exempt (reservation_of X t) =? 1)). clearbody r.
    assert (forall x, spends (refill now x) = spends x) as R1 by (intros x; unfold refill; by destruct (_ <? _)).
    assert (forall ns x, spends (spend ns x) = spends x) as R2 by (intros ns x; unfold spend; by destruct (_ <=? _)).
    assert (forall since x, spends (charge since now x) = spends x) as R3 by (intros since x; unfold charge; destruct (_ && _); by rewrite R2, R1, ?R2).
    destruct (refill_gives now (reservation_of X r)) as ((_ & _ & _ & B1 & _) & _); [lia|done|].
    destruct (charge_gives (word X "since") now (reservation_of X r)) as ((_ & _ & _ & B2 & _) & _); [lia|lia|done|].
    unfold time_ok. unfold horizon, timer_never in *. destruct (r =? word X "charged"); (split; [done|]; split; [done|]; split; [done|]; split;
      [unfold charged_at; cbn [word set_word set_reservation String.eqb Ascii.eqb Bool.eqb]; lia|]); intros _; unfold charged_at; cbn [reservation_of set_word set_reservation]; try change (word (set_word "arch_clock" now X) "since") with (word X "since");
      (destruct (Z.eqb_spec t r) as [->|]; rewrite ?R1, ?R3, Er, Z.eqb_refl; (split; [done|lia])).
  Qed.
  Definition inserted (t p kp : Z) (s s' : ready) (X Y : cpu_state) : Prop := exists has X1,
    (if spends (reservation_of X t) =? NONE then has = 1 /\ X1 = X else has_time t X has X1) /\ if has =? 0 then Y = parked t s' X1 else made_ready t p kp s X1 Y.
  Theorem sched_insert_does t p kp s s' X : ours t -> 0 <= t < NUM_THREAD -> payer_ok ours X (payer_of X t) -> time_ok X -> may_be_queued t p kp s X ->
    sched_park (queues X) cpu (parked_queue cpu) t = Some s' -> timeouts X !! (SCHED_RELEASE_BASE + t) = None ->
    does "sched_insert" [cpu; t] X (fun v Y => v = 0 /\ inserted t p kp s s' X Y).
  Proof using HM HQ HT HR HC Hcpu clock timer_arms.
    unfold inserted. intros Ht Hb Hp Hs Hq Hpark Hno. enter sched_insert_code. go. use limited_does. go. go. destruct (spends (reservation_of X t) =? NONE).
    - change (0 =? 1) with false. cbn iota. go. eapply runs_call; [intros ?; evaluate|apply (sched_insert_ready_does t p kp s X); [apply Hs|done]|]. intros v Y [-> HY]. split; [done|]. by exists 1, X.
    - change (1 =? 1) with true. cbn iota. go. eapply runs_call; [intros ?; evaluate|apply (has_does quiet kernel_entry M this Hcpu ours timer HM clock t X Ht Hp Hs)|].
      intros has X1 Hhas. locals_simpl. locals_plain. destruct (has_time_gives t has X X1 Hhas Hp Hs) as (Eq & Et & Ek & [_ Hc1] & Hend). go. destruct (Z.eqb_spec has 0) as [E|E].
      + destruct (Hend E) as [H1 H2]. go. eapply runs_call; [intros ?; evaluate|eapply (sched_budget_park_does quiet kernel_entry M this Hcpu ours timer HM HQ HT timer_arms t s' X1); [done|done|done|done|by rewrite Eq|by rewrite Et]|].
        intros v Y [-> ->]. locals_simpl. locals_plain. go. split; [done|]. exists has, X1. split; [exact Hhas|]. by rewrite E.
      + go. eapply runs_call; [intros ?; evaluate|apply (sched_insert_ready_does t p kp s X1 Hc1)|].
        { unfold may_be_queued, less_important in *. rewrite Eq, Ek. destruct (negb _ && _); exact Hq. }
        intros v Y [-> HY]. split; [done|]. exists has, X1. split; [exact Hhas|]. by rewrite (proj2 (Z.eqb_neq has 0)).
  Qed.

  (** [sched_ready] of a thread of this CPU: one that has no reservation and is as important as all others runs next at once. *)
  Theorem sched_ready_serves t p kp s s' X : ours t -> 0 <= t < NUM_THREAD -> payer_ok ours X (payer_of X t) -> time_ok X -> may_be_queued t p kp s X ->
    sched_park (queues X) cpu (parked_queue cpu) t = Some s' -> timeouts X !! (SCHED_RELEASE_BASE + t) = None ->
    serves "sched_ready" [t] X (fun v Y => v = 0 /\
      if ((if spends (reservation_of X t) =? NONE then 0 else 1) =? 0) && (word X "arch_floor" <=? p) && (word X "running" <=? p) then Y = requested (set_word "kept" t X)
      else inserted t p kp s s' X Y).
  Proof using HM HQ HT HR HC Hcpu clock timer_arms.
    intros Ht Hb Hp Hs Hq Hpark Hno. pose proof Hq as ((r & Hr & Er) & _). opens sched_ready_code. go. this_cpu. go. use cpu_does. do 2 go. rewrite Z.eqb_refl. cbn [negb]. go.
    go. use limited_does. go. use priority_does. rewrite Er. go. use floor_does. go. get sched_cpu_running_triple "running"%string. go. destruct (_ && _ && _).
    - go. put_word sched_cpu_set_kept_triple "kept"%string. use sched_request_does. done.
    - eapply runs_call; [intros ?; evaluate|by apply (sched_insert_does t p kp s s' X)|]. intros v Y [-> HY]. done.
  Qed.

  (** A thread leaves the queue of parked threads, and its release is not to come any more. *)
  Lemma queue_remove_does t q X : queue_remove (ready_queues (queues X)) t = Some (0, q) -> (forall p, 0 <= p < NUM_PRIORITY -> ~ in_queue (queues X) (ready_queue cpu p) t) ->
    does "queue_remove" [t] X (fun v Y => v = 0 /\ Y = set_queues (Ready q (ready_threads (queues X))) X).
  Proof using HQ.
    intros H Hno. apply does_ready. intros d (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht).
    pose proof (queue_remove_takes _ _ _ _ (proj1 Hv) H) as (_ & q0 & l1 & l2 & Htk). pose proof (takes_valid _ _ _ _ _ _ (proj1 Hv) Htk) as Hqv.
    destruct (takes_moves (queues X) (proj1 Hv) (ready_threads (queues X)) _ _ _ _ _ Htk ltac:(done)) as [Hmv Hgone]. set (s := Ready q (ready_threads (queues X))) in *.
    eapply triple_mono; [|apply triple_frame; [exact Hd|by apply (queue_remove_triple kernel_entry M this HQ _ _ _ _ _ Hq H)]].
    cbn beta. intros v d' (dq' & [-> Hq'] & [Hx Hy]%map_disjoint_union_r & ->). exists s. split; [done|]. rewrite union_swap by done.
    apply ready_join; [|done|by apply map_disjoint_union_r|done| |done].
    - apply (moves_valid cpu (queues X) Hv t s Hmv); [done|by eapply takes_keeps|intros r Hr; by eapply (ready_valid_priority cpu (queues X) Hv)|].
      intros p Hp Hin. by apply Hgone in Hin.
    - eapply ready_map_same; [|exact Hm]. apply (moves_same cpu (queues X) t s Hmv); [exact Hno|intros p _; apply Hgone].
  Qed.
  Theorem sched_budget_unpark_does t q X : ours t -> 0 <= t < NUM_THREAD -> queue_remove (ready_queues (queues X)) t = Some (0, q) ->
    (forall p, 0 <= p < NUM_PRIORITY -> ~ in_queue (queues X) (ready_queue cpu p) t) ->
    does "sched_budget_unpark" [cpu; t] X (fun v Y => v = 0 /\
      Y = set_timeouts (delete (SCHED_RELEASE_BASE + t) (timeouts X)) (cancels X) (set_queues (Ready q (ready_threads (queues X))) X)).
  Proof using HM HQ Hcpu.
    intros Ht Hb Hq Hno. unfold NUM_THREAD in Hb. enter sched_budget_unpark_code. go. use queue_remove_does.
    assert (wrap W32 (144 + t) = SCHED_RELEASE_BASE + t) as Et by (unfold SCHED_RELEASE_BASE; apply Z.mod_small; cbn [bits]; lia).
    eapply runs_call; [intros ?; evaluate|rewrite Et; apply (event_remove_does quiet kernel_entry M this Hcpu ours timer HM)|after; done].
    split; [unfold SCHED_RELEASE_BASE, SCHED_NUM_EVENT; lia|]. unfold SCHED_RELEASE_BASE, NUM_THREAD. replace (144 + t) with (t + 1 * 144) by lia.
    by rewrite Z.mod_add, Z.mod_small by lia.
  Qed.
End code.
