(** The C of [sched.c] keeps the promise of [Promise.v]: a thread that decides, yields, blocks, or serves the timer. *)
From Ashlar Require Export layers.sched.cpu.Promise layers.sched.cpu.TimerCode.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Section code.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Notation accounts_valid := (accounts_valid ours).
  Notation steady := (steady this ours).
  Notation promised := (promised this ours).
  Notation waiting := (waiting this ours).

  (** ** The C *)
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HP : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None) (load_below : M "arch_page_map_load"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).
  Notation keeps_timer := (keeps_timer quiet kernel_entry M this timer).
  Context (loaded_root : keeps_timer "arch_loaded_root"%string).
  Context (fpu_left : keeps_timer "arch_fpu_left"%string) (fpu_leave : keeps_timer "arch_fpu_leave"%string).
  Context (user : Z -> Prop).
  Context (roots : forall e t, timer e -> ours t -> exists root, e !! field_cell "thread" t "root" = Some root /\ root_ok root /\ (user t -> root <> NONE)).
  Context (self : Z).
  Notation serves := (serves quiet kernel_entry M this ours timer).
  Notation entered := (entered quiet kernel_entry M this ours timer promised self).

  Lemma way_stays_first X X1 : way_of this self X WAY_STAYS X1 -> ready_best (queues X) cpu <= word X "running" /\ word X "kept" = NONE.
  Proof using.
    unfold way_of. destruct (negb _ || _) eqn:E; [by intros [??]|]. intros _. apply orb_false_iff in E as [Ek%negb_false_iff%Z.eqb_eq E%Z.ltb_ge]. done.
  Qed.
  Lemma may_put_back_steady X : steady self X -> exists s s', may_put_back this self s s' X.
  Proof using Hcpu.
    intros (_ & Hw & _). pose proof (at_work_thread this ours self X Hw) as (r & Hr & Hrun & Hf & _). pose proof (idle_level this ours self X Hw) as Hidle. destruct Hw as [Hok Hown _ _ _ Hrel _ _ _].
    pose proof (ok_valid _ _ _ Hok) as Hv. unfold may_put_back. destruct (Z.ltb_spec self NUM_CPU) as [Hi|Hi].
    - destruct (mark_some (queues X) self thread_is_ready) as [s E]; [by eexists|done|]. exists s, s. split; [done|]. by apply Hidle.
    - destruct (insert_some cpu (queues X) self Hv Hi) as (v & s & E); [by eexists|done|].
      destruct (park_some cpu (queues X) self Hv Hown Hi) as [s' E']; [by eexists|done|]. exists s, s'. split; [by exists v|]. split; [done|].
      apply eq_None_not_Some. intros H. destruct (Hrel self) as (r' & Hr' & Hst); [unfold NUM_CPU in *; lia|done|]. rewrite Hr in Hr'. injection Hr' as <-. by rewrite Hrun in Hst.
  Qed.
  Lemma makes_way_waits s s' X way X1 Y : steady self X -> may_put_back this self s s' X -> way_of this self X way X1 -> way <> WAY_STAYS -> makes_way self s s' way X1 Y ->
    waiting Y /\ word Y "arch_current" = self.
  Proof using Hcpu.
    intros HX Hm Hway Hne HY. pose proof HX as (_ & Hw & _). pose proof (at_work_thread this ours self X Hw) as (_ & _ & _ & _ & Ho). pose proof (work_accounts _ _ _ _ Hw) as Ha.
    assert (forall has X2, has_time self X has X2 -> accounts_valid X2 /\ same_place X X2) as Htime by (intros has X2; by apply accounts_has_time).
    destruct Hm as [Hq Hpark]. unfold makes_way in HY. destruct (Z.eqb_spec way WAY_SPENT) as [->|Hns].
    - destruct (way_spent this self X X1 Hway) as [Hh _]. pose proof (spent_not_idle this self s s' X (conj Hq Hpark) X1 Hway) as Hi. rewrite Hi in Hpark. apply Z.ltb_ge in Hi.
      destruct (Htime _ _ Hh) as [Ha1 Hp1]. eapply (put_back_waits this Hcpu ours self X X1 false s'); [done..| |right; split_and!; done].
      unfold sched_put_back, sched_queue. rewrite bool_decide_eq_false_2 by (unfold NUM_CPU in *; lia). apply Hpark.
    - destruct (way_makes this self X way X1 Hway Hne Hns) as [-> ->]. unfold put_back in HY. destruct (Z.ltb_spec self NUM_CPU) as [Hi|Hi].
      + eapply (put_back_waits this Hcpu ours self X X true s); [done..| |left; split; [done|by left]]. unfold sched_put_back. by rewrite bool_decide_eq_true_2.
      + destruct HY as (has & X2 & Hh & ->). destruct (Htime _ _ Hh) as [Ha2 Hp2]. destruct Hq as [v Hq]. destruct (has =? 0).
        * eapply (put_back_waits this Hcpu ours self X X2 false s'); [done..| |right; split_and!; done].
          unfold sched_put_back, sched_queue. rewrite bool_decide_eq_false_2 by (unfold NUM_CPU in *; lia). apply Hpark.
        * eapply (put_back_waits this Hcpu ours self X X2 true s); [done..| |left; split; [done|by left]].
          unfold sched_put_back, sched_queue. rewrite bool_decide_eq_false_2 by (unfold NUM_CPU in *; lia). by rewrite Hq.
  Qed.
  Lemma stays_promised X X1 Y : steady self X -> way_of this self X WAY_STAYS X1 -> stays this self X1 Y -> promised self Y.
  Proof using.
    intros (Ec & Hw & _) Hway (X2 & X3 & H2 & H3 & ->). destruct (way_stays_first X X1 Hway) as [Hf Hk]. pose proof (at_work_thread this ours self X Hw) as (_ & _ & _ & _ & Ho).
    pose proof (work_accounts _ _ _ _ Hw) as Ha.
    assert (accounts_valid X1 /\ same_place X X1) as [Ha1 P1].
    { destruct (way_stays this self X X1 Hway) as [->|[has Hh]]; [done|]. by apply (accounts_has_time ours X self has). }
    set (X0 := set_word "slice_end" timer_never (set_word "slice_over" 0 (set_word "arch_need_resched" 0 X1))) in *.
    assert (accounts_valid X0) as Ha0 by (by repeat (apply accounts_word; [|done..])).
    destruct (accounts_slice this ours X0 X2 Ha0 H2) as [Ha2 P2]. destruct (accounts_switched ours X2 self X3 Ha2 Ho H3) as [Ha3 P3].
    destruct (place_trans _ _ _ P2 P3) as [F1 F2 F3 F4 F5 _ _]. destruct P1 as [G1 G2 G3 G4 G5 _ _].
    change (queues X0) with (queues X1) in F1. change (timeouts X0) with (timeouts X1) in F2. change (word X0 "running") with (word X1 "running") in F3.
    change (word X0 "kept") with (word X1 "kept") in F4. change (word X0 "arch_current") with (word X1 "arch_current") in F5.
    assert (queues X3 = queues X /\ timeouts X3 = timeouts X /\ word X3 "running" = word X "running" /\ word X3 "kept" = word X "kept" /\ word X3 "arch_current" = word X "arch_current")
      as (Eq & Et & Er & Ek & Ecur) by (split_and!; congruence).
    assert (same_payers X X3) as Hp3.
    { destruct (payers_switched self X2 X3 H3) as [E1 E2]. assert (same_payers X X2) as [E3 E4].
      { eapply payers_trans; [|by eapply (payers_slice this X0)]. assert (same_payers X X1) as [E5 E6]; [|by split].
        destruct (way_stays this self X X1 Hway) as [->|[has Hh]]; [by split|by eapply payers_has_time]. }
      split; [|intros u; by rewrite E2]. by rewrite E1, E4, (work_pays _ _ _ _ Hw). }
    pose proof (at_work_place this ours self X X3 Hw Ha3 Eq Et Er Ek Hp3) as Hw3. unfold with_floor.
    split; [split_and!; [by rewrite <- Ec, <- Ecur|by apply at_work_word|]|split].
    - split; [|intros Hne; destruct Hne; cbn; by rewrite Ek]. cbn. destruct (_ && _); [done|apply best_floor].
    - cbn. change (ready_best (queues X3) cpu <= level_of self X3). by rewrite <- (work_level _ _ _ _ Hw3), Er, Eq.
    - cbn. by rewrite Ek.
  Qed.

  (** A thread decides: it goes on, or hands the CPU over and goes on when it is its turn. Then no ready thread has a higher priority. *)
  Theorem sched_decide_promised X : steady self X -> entered "sched_decide" [] X (fun v Y => v = 0 /\ promised self Y).
  Proof using Hcpu ours_bound HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave roots.
    intros HX. pose proof HX as (Ec & Hw & _). pose proof (at_work_thread this ours self X Hw) as (_ & _ & _ & _ & Ho). pose proof (work_accounts _ _ _ _ Hw) as Ha.
    destruct (may_put_back_steady X HX) as (s & s' & Hm). pose proof (ours_bound self Ho) as Hb.
    eapply entered_mono; [|apply (sched_decide_entered quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root
      fpu_left fpu_leave user roots promised self self s s' X Ho Hb (valid_payer ours X self Ha Ho) (valid_payer_charged ours X Ha) (valid_time ours X Ha) Hm Ec)].
    - cbn beta. intros v Y [-> (way & X1 & Hway & HY)]. split; [done|]. destruct (Z.eqb_spec way WAY_STAYS) as [->|Hne]; [by eapply stays_promised|].
      destruct HY as (X2 & Z & H2 & HZ & ->). destruct (makes_way_waits s s' X way X1 X2 HX Hm Hway Hne H2) as [Hwait Ec2].
      apply promised_unmarked. by apply (waiting_blocks this Hcpu ours ours_bound self X2 Hwait Ec2).
    - unfold NUM_THREAD, NONE in *. lia.
    - intros way X1 Y Hway Hne HY. destruct (makes_way_waits s s' X way X1 Y HX Hm Hway Hne HY) as [Hwait EcY]. by apply (waiting_blocks this Hcpu ours ours_bound).
  Qed.
  (** A thread asks for a decision in favour of those of its priority. *)
  Theorem sched_yield_steady X : steady self X -> serves "sched_yield" [] X (fun _ Y => steady self Y).
  Proof using Hcpu HM HR HC.
    intros (Ec & Hw & _). eapply serves_mono; [|apply (sched_yield_serves quiet kernel_entry M this Hcpu ours timer HM HR HC)].
    intros v Y [_ ->]. apply steady_requested; [done|by apply at_work_word].
  Qed.
  (** The event [v] is the release of a thread which is parked, or the deadline of one which sleeps, or none of these. *)
  Definition was_due (v : Z) (Y : cpu_state) : Prop := forall t, 0 <= t < NUM_THREAD ->
    (v = SCHED_RELEASE_BASE + t -> (exists r, ready_threads (queues Y) !! t = Some r /\ ready_state r = thread_is_parked) /\ timeouts Y !! (SCHED_RELEASE_BASE + t) = None) /\
    (v = t -> sleeps t Y /\ timeouts Y !! t = None).
  (** The timer's interrupt charges the time that has passed, and asks for a decision where it has to. *)
  Theorem sched_timer_interrupt_steady X : steady self X -> serves "sched_timer_interrupt" [] X (fun v Y => steady self Y /\ was_due v Y).
  Proof using Hcpu HM HT HW HR HC timer_arms clock.
    intros (Ec & Hw & Hfl & Hmark). pose proof (work_accounts _ _ _ _ Hw) as Ha. pose proof Ha as [[Hs Hc] Hr Hch].
    eapply serves_mono; [|apply (sched_timer_interrupt_serves quiet kernel_entry M this Hcpu ours timer HM HT HW HR HC timer_arms clock X (valid_payer_charged ours X Ha) (valid_time ours X Ha))].
    cbn beta. intros v Y (now & Hnow & Htaken & _ & Eq & _ & _ & _ & Hcharged & (EC & ER & EK & ECh & ECu) & Hnone & Hfloor). unfold clock_says in Hnow.
    assert (accounts_valid Y) as HaY.
    { destruct (Z.eq_dec (word X "charged") NONE) as [E|E].
      - destruct (Hnone E) as [E1 E2]. apply (accounts_same ours X); [done|done|done|lia|done].
      - destruct (Hcharged E) as (E1 & E2 & _). destruct Hch as [?|Hch]; [done|]. apply (accounts_step ours X); [done|lia|lia| |rewrite ECh; by right].
        intros t Ht. unfold payer_of. rewrite E1, E2. unfold charged_at. cbn. destruct (Z.eqb_spec t (word X "charged")) as [->|].
        + split; [apply charge_valid; [lia|lia|by apply Hr]|apply charge_payer].
        + split; [|done]. apply (valid_later (word X "since")); [lia|]. by apply Hr. }
    split; [split; [by rewrite ECu|split]|].
    - assert (forall t, payer_of Y t = payer_of X t) as Hpay.
      { intros t. destruct (Z.eq_dec (word X "charged") NONE) as [E|E]; unfold payer_of.
        - destruct (Hnone E) as [E1 _]. by rewrite E1.
        - destruct (Hcharged E) as (E1 & _). rewrite E1. apply payers_charged. }
      destruct Hw as [H1 H2 H3 H4 _ H6 Hrest H7 H8]. unfold kept_thread, threads_ours, released, level_of in *.
      assert (forall t, is_Some (timeouts Y !! t) -> is_Some (timeouts X !! t)) as Hless.
      { intros t [ns Ht]. destruct Htaken as [(_ & Em & _)|(e & at_ & _ & _ & _ & Em & _)]; rewrite Em in Ht; [by exists ns|]. exists ns. by apply lookup_delete_Some in Ht as [_ Ht]. }
      split; unfold kept_thread, threads_ours, released, level_of; rewrite ?Eq, ?ER, ?EK; try done; [|by apply (rested_same X); auto|by rewrite ECh, Hpay].
      intros t Ht0 Ht%Hless. by apply H6.
    - unfold floor_sound. rewrite Eq, EK. destruct Hfloor as [[-> ->]|[-> ->]]; [done|]. split; [apply best_floor|done].
    - intros t Ht. destruct Htaken as [(E & _)|(e & at_ & He & _ & _ & Em & E)]; [rewrite E; unfold SCHED_RELEASE_BASE, NUM_THREAD, NONE in *; split; lia|].
      destruct (cancels X e =? 1); [rewrite E; unfold SCHED_RELEASE_BASE, NUM_THREAD, NONE in *; split; lia|]. subst e. rewrite Eq, Em. split; intros ->; (split; [|apply lookup_delete]).
      + apply (work_released _ _ _ _ Hw); [lia|by exists at_].
      + unfold sleeps. rewrite Eq, EK. apply (work_rested _ _ _ _ Hw); [done|by exists at_].
  Qed.
  (** A thread that is not idle sets its own deadline, and marks itself as blocked next. *)
  Definition armed (Y : cpu_state) : Prop := exists ns X, steady self X /\
    Y = set_word "alarm" (Z.min (word X "alarm") ns) (set_timeouts (<[self := ns]> (timeouts X)) (upd self 0 (cancels X)) X).
  Theorem sched_set_deadline_arms ns X : steady self X -> NUM_CPU <= self -> 0 <= ns <= timer_never -> serves "sched_set_deadline" [self; ns] X (fun _ Y => armed Y).
  Proof using Hcpu ours_bound HM HC timer_arms.
    intros HX Hc Hn. pose proof HX as (_ & Hw & _). destruct (at_work_thread this ours self X Hw) as (_ & _ & _ & _ & Ho). pose proof (ours_bound self Ho) as Hb.
    eapply serves_mono; [|apply (sched_set_deadline_serves quiet kernel_entry M this Hcpu ours timer HM HC timer_arms self ns X); [split|done]].
    - intros v Y [_ ->]. by exists ns, X.
    - unfold NUM_THREAD, SCHED_NUM_EVENT in *. lia.
    - by rewrite Z.mod_small.
  Qed.
  (** A thread that is not idle marks itself as blocked: it may hand the CPU over now. *)
  Lemma marked_waits s X Y : steady self X -> NUM_CPU <= self -> sched_mark (queues X) self thread_is_blocked = Some s -> queues Y = s -> accounts_valid Y ->
    word Y "kept" = word X "kept" -> (timeouts Y = timeouts X \/ exists ns, timeouts Y = <[self := ns]> (timeouts X)) -> waiting Y.
  Proof using ours_bound.
    intros (Ec & Hw & _) Hc E Eq HaY Ek Et. destruct (at_work_thread this ours self X Hw) as (rs & Hrs & Hrun & Hf & Hos). pose proof (ours_bound self Hos) as Hb.
    pose proof Hw as [Hok Hown Hk Ho _ Hrel Hrest _ _]. pose proof (ok_valid _ _ _ Hok) as Hv.
    destruct (marked cpu self (queues X) Hok Hown thread_is_blocked) as (s' & E' & Hok' & Hown'); [done..|]. rewrite E in E'. injection E' as <-.
    destruct (mark_moves cpu (queues X) Hv _ _ _ E) as (Hm & Erq & Hfs & r & Hr & [Hrs' _]).
    split; rewrite ?Eq; [done|done| | |done| |].
    - unfold kept_thread. rewrite Ek. intros t Et'. destruct (Hk t Et') as [Hmk _]. by eapply marked_kept.
    - unfold threads_ours. rewrite Eq. apply (moved_ours ours (queues X) self s Hm); [by exists r|by eexists|left; by rewrite Erq|exact Ho].
    - unfold released. rewrite Eq. intros t Ht0 Ht. assert (is_Some (timeouts X !! (SCHED_RELEASE_BASE + t))) as Htx.
      { destruct Et as [Et|[ns Et]]; rewrite Et in Ht; [done|]. rewrite lookup_insert_ne in Ht; [done|]. unfold SCHED_RELEASE_BASE, NUM_THREAD in *. lia. }
      destruct (Hrel t Ht0 Htx) as (rt & Hrt & Hst). exists rt. split; [|done].
      assert (t <> self) as Hne. { intros ->. rewrite (proj2 (ok_runs _ _ _ Hok self rt Hrt) eq_refl) in Hst. done. }
      by rewrite (proj1 (Hm t Hne)).
    - intros t Htb Ht. destruct (decide (t = self)) as [->|Hne].
      + split_and!; [done| |by rewrite Eq, Erq|rewrite Eq; by eexists]. rewrite Ek. intros Ekept.
        assert (kept_thread X = Some self) as Hks by (unfold kept_thread; rewrite Ekept, (proj2 (Z.eqb_neq self NONE)); [done|pose proof (none_no_thread self Hb); congruence]).
        destruct (Hk self Hks) as [(_ & _ & rk & Hrk & Hsk & _) _]. rewrite Hrs in Hrk. injection Hrk as <-. by rewrite Hrun in Hsk.
      + assert (is_Some (timeouts X !! t)) as Htx by (destruct Et as [Et|[ns Et]]; rewrite Et in Ht; [done|by rewrite lookup_insert_ne in Ht]).
        apply (sleeps_moved self t X Y); [by rewrite Eq|done| |by apply Hrest]. rewrite Ek. by apply (Hrest t Htb Htx).
  Qed.
  Theorem sched_prepare_block_waits X : steady self X \/ armed X -> NUM_CPU <= self -> serves "sched_prepare_block" [self] X (fun _ Y => waiting Y /\ word Y "arch_current" = self).
  Proof using HM HT ours_bound.
    intros HX Hc. assert (exists X0, steady self X0 /\ queues X = queues X0 /\ accounts_valid X /\ word X "kept" = word X0 "kept" /\ word X "arch_current" = self /\
      (timeouts X = timeouts X0 \/ exists ns, timeouts X = <[self := ns]> (timeouts X0))) as (X0 & H0 & Eq & Ha & Ek & Ec & Et).
    { destruct HX as [HX|(ns & X0 & H0 & ->)].
      - exists X. pose proof HX as (Ec & Hw & _). split_and!; [done|done|by apply (work_accounts _ _ _ _ Hw)|done|done|by left].
      - exists X0. pose proof H0 as (Ec & Hw & _). pose proof (work_accounts _ _ _ _ Hw) as Ha. split_and!; [done|done| |done|done|right; by exists ns].
        apply (accounts_same ours X0); [done..|cbn; pose proof (valid_time ours X0 Ha) as [??]; lia|done]. }
    pose proof H0 as (_ & Hw & _). pose proof Hw as [Hok Hown _ _ _ _ _ _ _].
    destruct (marked cpu self (queues X0) Hok Hown thread_is_blocked) as (s & E & _); [done..|].
    eapply serves_mono; [|apply (sched_prepare_block_serves quiet kernel_entry M this ours timer HM HT self s X); by rewrite Eq].
    intros v Y [_ ->]. split; [|done]. apply (marked_waits s X0); try done.
    apply (accounts_same ours X); [done..|cbn; pose proof (valid_time ours X Ha) as [??]; lia|done].
  Qed.
  (** A thread that is marked as blocked hands the CPU over, and goes on when it is its turn. *)
  Theorem sched_block_promised X : waiting X -> word X "arch_current" = self -> entered "sched_block" [] X (fun v Y => v = 0 /\ promised self Y).
  Proof using Hcpu ours_bound HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave roots.
    intros HX Ec. destruct (waiting_blocks this Hcpu ours ours_bound self X HX Ec) as [Hb Hafter].
    eapply entered_mono; [|apply (sched_block_entered quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left
      fpu_leave user roots promised self X Hb)].
    cbn beta. intros v Y [-> (Z & HZ & ->)]. split; [done|]. apply promised_unmarked. by apply Hafter.
  Qed.
  (** A thread that is not idle ends. It goes on only if the CPU is handed to it again, for which it must have been started anew. *)
  Lemma ended_waits s X : steady self X -> NUM_CPU <= self -> sched_mark (queues X) self thread_is_exited = Some s ->
    sched_ok cpu None s -> sched_owns cpu s -> waiting (ended s X).
  Proof using Hcpu.
    intros (Ec & Hw & _) Hc E Hok' Hown'. destruct (at_work_thread this ours self X Hw) as (rs & Hrs & Hrun & Hf & Hos). pose proof Hw as [Hok Hown Hk Ho Ha Hrel Hrest _ _].
    pose proof (ok_valid _ _ _ Hok) as Hv. destruct (mark_moves cpu (queues X) Hv _ _ _ E) as (Hm & Erq & Hfs & r & Hr & [Hrs' _]). unfold ended. rewrite Ec.
    split; cbn [queues set_queues set_reservation]; [done|done| | | | |].
    - intros t Et. destruct (Hk t Et) as [Hmk _]. by eapply marked_kept.
    - apply (moved_ours ours (queues X) self s Hm); [by exists r|by eexists|left; by rewrite Erq|exact Ho].
    - destruct Ha as [Ht Hres Hch]. split; [exact Ht| |exact Hch]. intros t Hot. unfold payer_of. cbn. destruct (Z.eqb_spec t self) as [->|Hne]; [|by apply Hres].
      destruct (Hres self Hos) as [Hval _]. split; [exact Hval|]. unfold payer, take_back. cbn. destruct (period _ =? 0); [by left|by right].
    - intros t Ht0 Ht. destruct (Hrel t Ht0 Ht) as (rt & Hrt & Hst). exists rt. split; [|done].
      assert (t <> self) as Hne by (intros ->; rewrite Hrs in Hrt; injection Hrt as ->; by rewrite Hrun in Hst).
      change (ready_threads s !! t = Some rt). by rewrite (proj1 (Hm t Hne)).
    - apply (rested_moved self X); [done|done|by apply (running_wakes self X rs); [|rewrite Hrun]|by left|done].
  Qed.
  Context (fpu_unused : keeps_timer "arch_fpu_unused"%string).
  Theorem sched_exit_current_promised X : steady self X -> NUM_CPU <= self -> entered "sched_exit_current" [] X (fun v Y => v = 0 /\ promised self Y).
  Proof using Hcpu ours_bound HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave fpu_unused roots.
    intros HX Hc. pose proof HX as (Ec & Hw & _). destruct (at_work_thread this ours self X Hw) as (_ & _ & _ & _ & Hos). pose proof Hw as [Hok Hown _ _ _ _ _ _ _].
    destruct (marked cpu self (queues X) Hok Hown thread_is_exited) as (s & E & Hok' & Hown'); [done..|].
    pose proof (ended_waits s X HX Hc E Hok' Hown') as HwX. assert (word (ended s X) "arch_current" = self) as EcX by done.
    destruct (waiting_blocks this Hcpu ours ours_bound self (ended s X) HwX EcX) as [Hb Hafter]. rewrite <- Ec in Hos, E.
    eapply entered_mono; [|by apply (sched_exit_current_entered quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_unused fpu_left
      fpu_leave user roots promised self s X)].
    cbn beta. intros v Y [-> HY]. split; [done|]. by apply Hafter.
  Qed.
End code.
