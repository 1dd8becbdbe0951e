(** Threads that are woken, or whose next period begins, keep the promise of [Promise.v]: the running thread goes on, and they wait where they
    must, or one is kept to run next. *)
From Ashlar Require Export layers.sched.cpu.Promise layers.sched.cpu.BoostCode.
Local Opaque gmap_lookup gmap_partial_alter.

Section wake.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Notation accounts_valid := (accounts_valid ours).
  Notation at_work := (at_work this ours).
  Notation steady := (steady this ours).

  (** Where a thread [u] that is not kept, nor running, moves, the kept one stays the next, if it is as important. *)
  Lemma kept_moved s u s' k : ready_valid cpu s -> moves s u s' -> k <> u -> may_be_kept cpu k s ->
    (forall p, 0 <= p < NUM_PRIORITY -> u ∈ ready_list s' cpu p -> forall r, ready_threads s !! k = Some r -> p <= ready_priority r) -> may_be_kept cpu k s'.
  Proof using.
    intros Hv Hm Hne (Hc & Hf & r & Hr & Hb & Hbest) Hp. pose proof (ready_valid_priority cpu s Hv k r Hr) as Hrange.
    destruct (Hm k Hne) as (A & _ & B). split; [done|]. split; [by apply B|]. exists r. split; [by rewrite A|]. split; [done|].
    apply ready_best_bound; [lia|]. intros p v Hpr Hin. destruct (decide (v = u)) as [->|Hv'].
    - specialize (Hp p Hpr Hin r Hr). lia.
    - rewrite ready_best_bound in Hbest by lia. apply (Hbest p v); [done|]. apply in_ready_list. apply in_ready_list in Hin. by apply (Hm v Hv').
  Qed.

  Section woken.
    Context (self t : Z) (X : cpu_state) (HX : steady self X) (Ht : sleeps t X).
    Notation s0 := (queues X).

    Lemma sleeper : exists r rs, ready_threads s0 !! t = Some r /\ ready_state r = thread_is_blocked /\ 0 <= ready_priority r < NUM_PRIORITY /\ ours t /\ t <> self /\
      ready_threads s0 !! self = Some rs /\ ready_state rs = thread_is_running /\ timeouts X !! (SCHED_RELEASE_BASE + t) = None.
    Proof using HX Ht.
      destruct HX as (_ & Hw & _). destruct Ht as (Hc & _ & _ & r & Hr & Hst). destruct (at_work_thread this ours self X Hw) as (rs & Hrs & Hrun & _).
      pose proof (ready_valid_priority cpu s0 (ok_valid _ _ _ (work_ok _ _ _ _ Hw)) t r Hr). exists r, rs. split_and!; try done; try lia.
      - apply (proj1 (work_ours _ _ _ _ Hw t)). by exists r.
      - intros ->. rewrite Hrs in Hr. injection Hr as ->. by rewrite Hst in Hrun.
      - apply eq_None_not_Some. intros H'. destruct (work_released _ _ _ _ Hw t) as (r' & Hr' & Hp); [unfold NUM_CPU in *; lia|done|]. rewrite Hr in Hr'. injection Hr' as <-. by rewrite Hst in Hp.
    Qed.
    (** Its own deadline is not to come any more. *)
    Context (Hd : timeouts X !! t = None).
    (** A thread [u], asleep or kept, moves to a queue. *)
    Lemma moved_work u s' Y : (u = t \/ word X "kept" = u /\ u <> NONE) -> moves s0 u s' -> sched_ok cpu (Some self) s' -> sched_owns cpu s' ->
      (exists r', ready_threads s' !! u = Some r' /\ forall r, ready_threads s0 !! u = Some r -> ready_priority r' = ready_priority r) ->
      (exists q, in_queue s' q u) -> (word Y "kept" = word X "kept" \/ word Y "kept" = t) -> queues Y = s' -> accounts_valid Y -> word Y "running" = word X "running" -> same_payers X Y ->
      (forall k, kept_thread Y = Some k -> may_be_kept cpu k s' /\ (NUM_CPU <= self -> forall r0 r, ready_threads s' !! self = Some r0 -> ready_threads s' !! k = Some r -> ready_priority r0 <= ready_priority r)) ->
      (timeouts Y = timeouts X \/ exists at_ r', timeouts Y = <[SCHED_RELEASE_BASE + u := at_]> (timeouts X) /\ ready_threads s' !! u = Some r' /\ ready_state r' = thread_is_parked) ->
      at_work self Y.
    Proof using HX Ht Hd ours_bound.
      intros Hu Hm Hok Hown (r' & Hr' & _) Hplace Hkeep Eq Ha Er [Epc Epp] Hk Htime. destruct sleeper as (r & rs & Hr & Hst & _ & Hot & Hne & Hrs & Hrun & Hno). destruct HX as (_ & Hw & _).
      assert (u <> self /\ exists ru, ready_threads s0 !! u = Some ru /\ ready_state ru = thread_is_blocked) as (Hus & ru & Hru & Hsu).
      { destruct Hu as [->|[Hku Hun]]; [split; [done|by exists r]|]. assert (kept_thread X = Some u) as Ek by (unfold kept_thread; by rewrite Hku, (proj2 (Z.eqb_neq u NONE))).
        destruct (work_kept _ _ _ _ Hw u Ek) as [(_ & _ & ru & Hru & Hsu & _) _]. split; [|by exists ru]. intros ->. rewrite Hrs in Hru. injection Hru as ->. by rewrite Hsu in Hrun. }
      split; [by rewrite Eq|by rewrite Eq|by rewrite Eq| |done| | | |by rewrite Epc, Epp, (work_pays _ _ _ _ Hw)].
      - unfold threads_ours. rewrite Eq. eapply (moved_ours ours); [exact Hm|by exists ru|by exists r'|by right|exact (work_ours _ _ _ _ Hw)].
      - unfold released. rewrite Eq. intros v Hv0 Hv.
        assert (v <> u -> is_Some (timeouts X !! (SCHED_RELEASE_BASE + v)) -> exists r0, ready_threads s' !! v = Some r0 /\ ready_state r0 = thread_is_parked) as Hold.
        { intros Hvu H. destruct (work_released _ _ _ _ Hw v Hv0 H) as (rv & Hrv & Hp). exists rv. split; [|done]. by rewrite (proj1 (Hm v Hvu)). }
        destruct Htime as [Et|(at_ & r1 & Et & Hr1 & Hp1)]; rewrite Et in Hv.
        + apply Hold; [|done]. intros ->. destruct (work_released _ _ _ _ Hw u Hv0 Hv) as (rv & Hrv & Hp). rewrite Hru in Hrv. injection Hrv as <-. by rewrite Hsu in Hp.
        + destruct (decide (v = u)) as [->|Hvu]; [by exists r1|]. rewrite lookup_insert_ne in Hv by lia. by apply Hold.
      - assert (0 <= u) as Hu0.
        { assert (ours u) as Hou; [|by apply ours_bound in Hou as [? _]]. apply (proj1 (work_ours _ _ _ _ Hw u)). by exists ru. }
        intros v Hb Hv. assert (is_Some (timeouts X !! v)) as Hvx.
        { destruct Htime as [Et|(at_ & r1 & Et & _)]; rewrite Et in Hv; [done|]. rewrite lookup_insert_ne in Hv; [done|]. unfold SCHED_RELEASE_BASE, NUM_THREAD in *. lia. }
        assert (v <> t) as Hvt by (intros ->; rewrite Hd in Hvx; by destruct Hvx). pose proof (work_rested _ _ _ _ Hw v Hb Hvx) as Hs.
        apply (sleeps_moved u v X Y); [by rewrite Eq| | |done].
        + destruct Hu as [-> |[Hku _]]; [done|]. intros ->. destruct Hs as (_ & Hnk & _). done.
        + destruct Hkeep as [-> | ->]; [by apply Hs|done].
      - rewrite Er, (work_level _ _ _ _ Hw). unfold level_of. rewrite Eq. destruct (NUM_CPU <=? self); [|done]. by rewrite (proj1 (Hm self ltac:(congruence))).
    Qed.

    Lemma best_moved u s' b : ready_valid cpu s0 -> moves s0 u s' -> ready_best s0 cpu <= b -> 0 <= b ->
      (forall p, 0 <= p < NUM_PRIORITY -> u ∈ ready_list s' cpu p -> p + 1 <= b) -> ready_best s' cpu <= b.
    Proof using.
      intros Hv Hm Hb H0 Hp. apply ready_best_bound; [done|]. intros p v Hpr Hin. destruct (decide (v = u)) as [->|Hne]; [by apply Hp|].
      rewrite ready_best_bound in Hb by done. apply (Hb p v); [done|]. apply in_ready_list. apply in_ready_list in Hin. by apply (Hm v Hne).
    Qed.
    Lemma best_nonnegative s : 0 <= ready_best s cpu.
    Proof using. destruct (ready_best_spec s cpu) as [[-> _]|(q & ? & ? & -> & Hq & _)]; lia. Qed.

    Context (r : ready_thread) (Hr : ready_threads s0 !! t = Some r).
    Notation p := (ready_priority r).
    (** It is kept, to run next. *)
    Lemma keep_work X1 : accounts_valid X1 -> same_place X X1 -> same_payers X X1 -> word X "running" <= p -> ready_best s0 cpu <= p + 1 -> at_work self (set_word "kept" t X1).
    Proof using HX Ht Hd Hr ours_bound.
      intros Ha [Eq Et Er Ek Ec _ _] [Epc Epp] Hrun Hbest. destruct sleeper as (r' & rs & Hr' & Hst & _ & Hot & Hne & Hrs & _). rewrite Hr in Hr'. injection Hr' as <-.
      destruct HX as (_ & [H1 H2 _ H4 _ H6 HR H7 H8] & _). destruct Ht as (Hc & _ & Hf & _). pose proof (ours_bound t Hot) as Hb.
      split; cbn [queues set_word]; [by rewrite Eq|by rewrite Eq| | |by apply accounts_word| | | |by rewrite <- Epp, <- Epc in H8].
      - unfold kept_thread. cbn. rewrite (proj2 (Z.eqb_neq t NONE)) by (unfold NUM_THREAD, NONE in *; lia). intros k [= <-]. rewrite Eq. split; [split_and!; [done|done|by exists r]|].
        intros Hi r0 r1 Hr0 Hr1. rewrite Hr in Hr1. injection Hr1 as <-. rewrite H7 in Hrun. unfold level_of in Hrun. rewrite (proj2 (Z.leb_le NUM_CPU self) Hi), Hr0 in Hrun. lia.
      - unfold threads_ours in *. cbn. by rewrite Eq.
      - unfold released in *. cbn. by rewrite Et, Eq.
      - intros v Hv H. cbn in H. rewrite Et in H. pose proof (HR v Hv H) as Hs. unfold sleeps in *. cbn. rewrite Eq.
        destruct Hs as (S1 & _ & S2). split; [done|]. split; [|done]. intros <-. rewrite Hd in H. by destruct H.
      - cbn. rewrite Er, H7. unfold level_of. cbn. by rewrite Eq.
    Qed.
    (** It has no time left, and waits for its next period. *)
    Lemma park_steady s' X1 : accounts_valid X1 -> same_place X X1 -> same_payers X X1 -> sched_park s0 cpu (parked_queue cpu) t = Some s' -> steady self (parked t s' X1).
    Proof using HX Ht Hd Hcpu ours_bound.
      intros Ha [Eq Et Er Ek Ec Efl Emk] Hpay Hp. destruct sleeper as (_ & rs & _ & _ & _ & _ & Hne & Hrs & Hrun & Hno). pose proof HX as (Hcur & Hw & Hfl & Hmark). destruct Hw as [Hok Hown Hk _ _ _ _ _ _].
      pose proof (ok_valid _ _ _ Hok) as Hv. destruct (park_moves cpu s0 Hv _ t s' Hp) as (Hm & _ & _ & _ & _ & r1 & Hr1 & [Hs Hq]).
      assert (forall q, 0 <= q < NUM_PRIORITY -> t ∉ ready_list s' cpu q) as Hnot.
      { intros q Hpr Hin. apply in_ready_list, Hq in Hin. injection Hin as E. by destruct (parked_queue_other cpu s0 q Hv Hpr). }
      pose proof (park_ok cpu (Some self) s0 Hok t s' Hp) as Hok'. unfold other in Hok'. rewrite bool_decide_eq_false_2 in Hok' by congruence.
      split; [cbn; by rewrite Ec|]. split.
      - apply (moved_work t s'); [by left|done|done|by eapply owns_park|eexists; split; [exact Hs|intros r2 Hr2; rewrite Hr1 in Hr2; by injection Hr2 as <-]|eexists; by apply Hq|left; cbn; by rewrite Ek|done| |cbn; by rewrite Er|exact Hpay| |].
        + apply (accounts_same ours X1); [done..|cbn; pose proof (valid_time ours X1 Ha) as [??]; lia|done].
        + unfold kept_thread. cbn. rewrite Ek. intros k Ekk. destruct (Hk k Ekk) as [Hmk Hle].
          assert (k <> t) as Hkt. { intros ->. destruct (Z.eqb_spec (word X "kept") NONE); [done|]. injection Ekk as E. destruct Ht as (_ & Hne' & _). done. }
          split; [eapply (kept_moved s0 t); [done..|intros q Hpr Hin; by destruct (Hnot q Hpr)]|]. intros Hi r0 rk. rewrite (proj1 (Hm self ltac:(congruence))), (proj1 (Hm k Hkt)). by apply Hle.
        + right. exists (period_end (reservation_of X1 (spends (reservation_of X1 t)))), (ReadyThread (ready_priority r1) thread_is_parked). cbn. by rewrite Et.
      - unfold floor_sound. cbn. rewrite Efl, Emk, Ek. split; [|done].
        eapply (best_moved t s'); [done..|pose proof (best_nonnegative s0); lia|]. intros q Hpr Hin. by destruct (Hnot q Hpr).
    Qed.

    (** The kept thread's priority, if one is kept. *)
    Context (kp : Z) (Hkp : forall k, word X "kept" <> NONE -> ready_threads s0 !! word X "kept" = Some k -> kp = ready_priority k).
    (** It is made ready, or takes the kept thread's place. *)
    Lemma made_ready_steady s X1 Y v : accounts_valid X1 -> same_place X X1 -> same_payers X X1 -> sched_ready_insert s0 cpu (less_important t p kp X1).1 = Some (v, s) ->
      made_ready this t p kp s X1 Y -> steady self Y.
    Proof using HX Ht Hd Hr Hkp Hcpu ours_bound.
      intros Ha Hplace Hpay Hins HY. pose proof Hplace as [Eq Et Er Ek Ec Efl Emk]. destruct sleeper as (r' & rs & Hr' & Hst & Hprio & Hot & Hne & Hrs & Hrun & Hno). rewrite Hr in Hr'. injection Hr' as <-.
      pose proof HX as (Hcur & Hw & Hfl & Hmark). pose proof Hw as [Hok Hown Hk _ _ _ _ Hlev _]. pose proof (ok_valid _ _ _ Hok) as Hv. pose proof (ours_bound t Hot) as Hb.
      assert (t <> NONE) as HtN by (unfold NUM_THREAD, NONE in *; lia). unfold made_ready in HY. rewrite Er, Eq, Ek in HY.
      destruct ((word X "running" <? p + 1) && (ready_best s0 cpu <? p + 1) && (word X "kept" =? NONE)) eqn:Ekeep.
      { apply andb_true_iff in Ekeep as [[E1%Z.ltb_lt E2%Z.ltb_lt]%andb_true_iff _]. subst Y. apply steady_requested; [cbn; by rewrite Ec|]. apply keep_work; [done|done|done|lia|lia]. }
      clear Ekeep. set (Z1 := set_queues s (less_important t p kp X1).2) in *.
      assert (exists u k', (u = t /\ k' = word X "kept" \/ word X "kept" = u /\ u <> NONE /\ k' = t) /\ (less_important t p kp X1).1 = u /\ word Z1 "kept" = k' /\
        (k' <> NONE -> may_be_kept cpu k' s0 /\ k' <> u /\ (NUM_CPU <= self -> forall rk, ready_threads s0 !! k' = Some rk -> ready_priority rs <= ready_priority rk) /\
          forall ru rk, ready_threads s0 !! u = Some ru -> ready_threads s0 !! k' = Some rk -> ready_priority ru <= ready_priority rk)) as (u & k' & Hu & Eu & Ek' & Hk').
      { unfold Z1, less_important. rewrite Ek. destruct (Z.eqb_spec (word X "kept") NONE) as [En|En]; cbn [negb andb].
        - exists t, (word X "kept"). split_and!; [by left|done|cbn; by rewrite Ek|]. by intros ?.
        - assert (kept_thread X = Some (word X "kept")) as Ekk by (unfold kept_thread; by rewrite (proj2 (Z.eqb_neq _ _))).
          destruct (Hk _ Ekk) as [Hmk Hle]. pose proof Hmk as (Hkc & Hkf & rk & Hrk & Hks & Hkb). rewrite (Hkp rk En Hrk) in *.
          destruct Ht as (Htc & Htk & Htf & _). destruct (Z.ltb_spec (ready_priority rk) p) as [Hlt|Hge].
          + exists (word X "kept"), t. split_and!; [by right|done|done|]. intros _. split_and!; [|congruence| |].
            * split_and!; [done|done|]. exists r. split_and!; [done|done|lia].
            * intros Hi r2 Hr2. rewrite Hr in Hr2. injection Hr2 as <-. specialize (Hle Hi rs rk Hrs Hrk). lia.
            * intros ru r2 Hru Hr2. rewrite Hr in Hr2. injection Hr2 as <-. rewrite Hrk in Hru. injection Hru as <-. lia.
          + exists t, (word X "kept"). split_and!; [by left|done|cbn; by rewrite Ek|]. intros _. split_and!; [done|congruence| |].
            * intros Hi r2 Hr2. rewrite Hrk in Hr2. injection Hr2 as <-. by apply (Hle Hi rs rk).
            * intros ru r2 Hru Hr2. rewrite Hr in Hru. injection Hru as <-. rewrite Hrk in Hr2. injection Hr2 as <-. lia. }
      rewrite Eu in Hins. destruct (insert_moves cpu s0 Hv u v s Hins) as (Hm & _ & _ & r1 & Hr1 & [Hs Hq]).
      assert (u <> self) as Hus.
      { intros ->. destruct Hu as [[-> _]|(Hku & Hun & _)]; [done|]. assert (kept_thread X = Some self) as Ekk by (unfold kept_thread; by rewrite Hku, (proj2 (Z.eqb_neq _ _))).
        destruct (Hk _ Ekk) as [(_ & _ & rk & Hrk & Hks & _) _]. rewrite Hrs in Hrk. injection Hrk as ->. by rewrite Hks in Hrun. }
      pose proof (insert_ok cpu (Some self) s0 Hok u v s Hins) as Hok'. unfold other in Hok'. rewrite bool_decide_eq_false_2 in Hok' by congruence.
      assert (word Z1 "running" = word X "running" /\ timeouts Z1 = timeouts X /\ word Z1 "arch_current" = self /\ word Z1 "arch_need_resched" = word X "arch_need_resched" /\ accounts_valid Z1 /\ queues Z1 = s /\ same_payers X Z1)
        as (ZR & ZT & ZC & ZM & ZA & ZQ & ZP).
      { unfold Z1, less_important. destruct (negb _ && _); cbn; rewrite Er, Et, Ec, Emk, Hcur; (split_and!; [done..| |done|exact Hpay]);
          (apply (accounts_same ours X1); [done..|cbn; pose proof (valid_time ours X1 Ha) as [??]; lia|done]). }
      clearbody Z1.
      assert (forall Z, accounts_valid Z -> queues Z = s -> timeouts Z = timeouts X -> word Z "running" = word X "running" -> word Z "kept" = k' -> same_payers X Z -> at_work self Z) as Hwork.
      { intros Z HaZ EqZ EtZ ErZ EkZ EpZ. apply (moved_work u s); [|done|done|by eapply owns_insert|eexists; split; [exact Hs|intros r2 Hr2; rewrite Hr1 in Hr2; by injection Hr2 as <-]|eexists; by apply Hq| |done|done|done|exact EpZ| |by left].
        - destruct Hu as [[-> _]|(H1 & H2 & _)]; [by left|by right].
        - rewrite EkZ. destruct Hu as [[_ ->]|(_ & _ & ->)]; [by left|by right].
        - unfold kept_thread. rewrite EkZ. destruct (Z.eqb_spec k' NONE) as [|Hkn]; [done|]. intros k [= <-]. destruct (Hk' Hkn) as (Hmk & Hku & Hle & Hleu).
          split.
          + eapply (kept_moved s0 u); [done..|]. intros q Hpr Hin rk Hrk. apply in_ready_list, Hq in Hin. injection Hin as E. specialize (Hleu r1 rk Hr1 Hrk). unfold ready_queue in E. lia.
          + intros Hi r0 rk. rewrite (proj1 (Hm self ltac:(congruence))), (proj1 (Hm k' Hku)). intros Hr0 Hrk. rewrite Hrs in Hr0. injection Hr0 as <-. by apply Hle. }
      destruct (word X "running" <? p + 1) eqn:Elt.
      - subst Y. apply steady_requested; [done|]. by apply Hwork.
      - destruct HY as (Z' & HZ' & ->).
        assert (accounts_valid Z' /\ same_place Z1 Z') as [HaZ [F1 F2 F3 F4 F5 F6 F7]] by (destruct (_ =? _); [by apply (accounts_slice this ours)|by subst Z']).
        assert (same_payers X Z') as HpZ by (destruct (_ =? _); [eapply payers_trans; [exact ZP|by apply (payers_slice this)]|by subst Z']).
        unfold with_floor. split; [cbn; congruence|]. split.
        + apply at_work_word; [done..|]. apply Hwork; [done|congruence..|exact HpZ].
        + unfold floor_sound. cbn [queues set_word word String.eqb Ascii.eqb Bool.eqb]. rewrite F4, F7, ZM, Ek'. split; [destruct (_ && _); [done|apply best_floor]|].
          intros Hkn. assert (word X "kept" <> NONE) as Hkx by (destruct Hu as [[_ <-]|(-> & ? & _)]; done). destruct (Hmark Hkx) as [_ Hmk]. rewrite (proj2 (Z.eqb_neq (word X "arch_need_resched") 0) Hmk). by split.
    Qed.
    Lemma inserted_steady s s' Y : sched_park s0 cpu (parked_queue cpu) t = Some s' -> may_be_queued this t p kp s X -> inserted this t p kp s s' X Y -> steady self Y.
    Proof using HX Ht Hd Hr Hkp Hcpu ours_bound.
      intros Hp (_ & _ & _ & v & Hins) (has & X1 & Hhas & HY). destruct sleeper as (_ & _ & _ & _ & _ & Hot & _). pose proof HX as (_ & Hw & _). pose proof (work_accounts _ _ _ _ Hw) as Ha.
      assert (accounts_valid X1 /\ same_place X X1) as [Ha1 P1].
      { destruct (_ =? NONE); [by destruct Hhas as [_ ->]|]. by apply (accounts_has_time ours X t has). }
      assert (same_payers X X1) as Q1 by (destruct (_ =? NONE); [by destruct Hhas as [_ ->]|by eapply payers_has_time]).
      destruct (has =? 0); [subst Y; by apply park_steady|]. eapply made_ready_steady; [done..| |exact HY]. unfold less_important in *. rewrite (same_kept _ _ P1). by destruct (negb _ && _).
    Qed.

    (** ** No thread that was woken is lost: it is kept, to run next, or waits in a queue for its turn or its next period *)
    Definition awake (u : Z) (Y : cpu_state) : Prop := word Y "kept" = u \/ exists x, ready_threads (queues Y) !! u = Some x /\ (ready_state x = thread_is_ready \/ ready_state x = thread_is_parked).
    Definition all_awake (Y : cpu_state) : Prop := awake t Y /\ forall k, kept_thread X = Some k -> awake k Y.
    Lemma made_ready_awake s X1 Y v : same_place X X1 -> sched_ready_insert s0 cpu (less_important t p kp X1).1 = Some (v, s) -> made_ready this t p kp s X1 Y -> all_awake Y.
    Proof using HX.
      intros [Eq Et Er Ek _ _ _] Hins HY. destruct HX as (_ & Hw & _). pose proof (ok_valid _ _ _ (work_ok _ _ _ _ Hw)) as Hv.
      destruct (insert_moves cpu s0 Hv _ v s Hins) as (_ & _ & _ & r1 & _ & [Hs _]). unfold made_ready in HY. rewrite Er, Eq, Ek in HY.
      assert (forall k, kept_thread X = Some k -> word X "kept" = k) as Hkept by (unfold kept_thread; intros k; destruct (_ =? NONE); [done|congruence]).
      destruct (_ && (_ =? NONE)) eqn:E.
      { apply andb_true_iff in E as [_ E%Z.eqb_eq]. subst Y. split; [by left|]. intros k. unfold kept_thread. by rewrite E. }
      assert (exists k', queues Y = s /\ word Y "kept" = k' /\ k' = word (less_important t p kp X1).2 "kept") as (k' & EqY & EkY & Ek').
      { destruct (_ <? _); [subst Y; by eexists|]. destruct HY as (Z' & HZ & ->). eexists. split_and!; [|done|].
        - destruct (p + 1 =? word X "running"); [apply slice_same in HZ as (_ & Esame & _); exact Esame|by subst Z'].
        - destruct (p + 1 =? word X "running"); [|by subst Z']. unfold slice_begun in HZ. match type of HZ with if ?b then _ else _ => destruct b end; [by destruct HZ as (now & _ & ->)|by subst Z']. }
      assert (forall u, u = (less_important t p kp X1).1 \/ u = k' -> awake u Y) as Hawake.
      { intros u [-> | ->]; [|by left]. right. rewrite EqY. eexists. split; [exact Hs|]. by left. }
      rewrite Ek' in Hawake. unfold less_important in Hawake. rewrite Ek in Hawake. split.
      - apply Hawake. destruct (negb _ && _); [by right|by left].
      - intros k Hk%Hkept. apply Hawake. destruct (negb _ && _); [by left|]. right. cbn. congruence.
    Qed.
    Lemma inserted_awake s s' Y : sched_park s0 cpu (parked_queue cpu) t = Some s' -> may_be_queued this t p kp s X -> inserted this t p kp s s' X Y -> all_awake Y.
    Proof using HX Ht Hr ours_bound.
      intros Hp (_ & _ & _ & v & Hins) (has & X1 & Hhas & HY). destruct sleeper as (_ & _ & _ & _ & _ & Hot & _). pose proof HX as (_ & Hw & _). pose proof (work_accounts _ _ _ _ Hw) as Ha.
      assert (same_place X X1) as P1 by (destruct (_ =? NONE); [by destruct Hhas as [_ ->]|by apply (accounts_has_time ours X t has)]).
      destruct (has =? 0).
      - subst Y. destruct (park_moves cpu s0 (ok_valid _ _ _ (work_ok _ _ _ _ Hw)) _ t s' Hp) as (_ & _ & _ & _ & _ & r1 & _ & [Hs _]). split.
        + right. eexists. split; [exact Hs|]. by right.
        + intros k. unfold kept_thread. destruct (word X "kept" =? NONE); [discriminate|]. intros [= <-]. left. cbn. by rewrite (same_kept _ _ P1).
      - eapply made_ready_awake; [done| |exact HY]. unfold less_important in *. rewrite (same_kept _ _ P1). by destruct (negb _ && _).
    Qed.
  End woken.

  (** ** The C *)
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).
  Notation serves := (serves quiet kernel_entry M this ours timer).

  (** What [sched_insert] asks for of a sleeping thread. *)
  Lemma sleeper_insertable self t r X : steady self X -> sleeps t X -> ready_threads (queues X) !! t = Some r ->
    exists kp s s', (forall k, word X "kept" <> NONE -> ready_threads (queues X) !! word X "kept" = Some k -> kp = ready_priority k) /\
      may_be_queued this t (ready_priority r) kp s X /\ sched_park (queues X) cpu (parked_queue cpu) t = Some s'.
  Proof using Hcpu ours_bound.
    intros HX Ht Hr. destruct (sleeper self t X HX Ht) as (r' & rs & Hr' & Hst & Hprio & Hot & Hne & _). rewrite Hr in Hr'. injection Hr' as <-.
    pose proof HX as (_ & Hw & _). pose proof Hw as [Hok Hown Hk _ _ _ _ _ _]. pose proof (ok_valid _ _ _ Hok) as Hv. pose proof Ht as (Hc & _ & Hf & _).
    destruct (park_some cpu (queues X) t Hv Hown Hc) as [s' Hp]; [by eexists|done|].
    assert (exists kp, (forall k, word X "kept" <> NONE -> ready_threads (queues X) !! word X "kept" = Some k -> kp = ready_priority k) /\
      (word X "kept" <> NONE -> NUM_CPU <= word X "kept" /\ word X "kept" ∈ queue_free (ready_queues (queues X)) /\ exists k, ready_threads (queues X) !! word X "kept" = Some k /\ kp = ready_priority k)) as (kp & Hkp & Hkept).
    { destruct (Z.eq_dec (word X "kept") NONE) as [E|E]; [by exists 0|]. destruct (Hk (word X "kept")) as [(K1 & K2 & k & Hkr & _) _]; [unfold kept_thread; by rewrite (proj2 (Z.eqb_neq _ _))|].
      exists (ready_priority k). split; [|intros _; split_and!; [done|done|by exists k]]. intros k2 _ H2. rewrite Hkr in H2. by injection H2 as <-. }
    assert (exists v s, sched_ready_insert (queues X) cpu (less_important t (ready_priority r) kp X).1 = Some (v, s)) as (v & s & Hins).
    { unfold less_important. destruct (Z.eqb_spec (word X "kept") NONE) as [E|E]; cbn [negb andb]; [by apply insert_some; [..|by eexists|]|].
      destruct (Hkept E) as (K1 & K2 & k & Hkr & _). destruct (kp <? ready_priority r); apply insert_some; first [done|by eexists]. }
    exists kp, s, s'. split; [exact Hkp|]. split; [|exact Hp]. split_and!; [by exists r|lia|lia| |by exists v].
    intros E. destruct (Hkept E) as (_ & _ & k & Hkr & ->). by exists k.
  Qed.
  (** A sleeping thread is woken whose own deadline is not to come: it is kept to run next, ready, or parked, and no thread that was woken
      before is lost. *)
  Theorem sched_ready_steady self t X : steady self X -> sleeps t X -> timeouts X !! t = None ->
    serves "sched_ready" [t] X (fun _ Y => steady self Y /\ all_awake t X Y).
  Proof using Hcpu ours_bound HM HQ HT HR HC timer_arms clock.
    intros HX Ht Hd. destruct (sleeper self t X HX Ht) as (r & rs & Hr & Hst & Hprio & Hot & Hne & _ & _ & Hno). destruct (sleeper_insertable self t r X HX Ht Hr) as (kp & s & s' & Hkp & Hq & Hp).
    pose proof HX as (Hcur & Hw & Hfl & Hmark). pose proof (work_accounts _ _ _ _ Hw) as Ha.
    eapply serves_mono; [|apply (sched_ready_serves quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock t (ready_priority r) kp s s' X Hot (ours_bound t Hot)
      (valid_payer ours X t Ha Hot) (valid_time ours X Ha) Hq Hp Hno)].
    cbn beta. intros v Y [_ HY]. destruct (_ && _ && _) eqn:E.
    - apply andb_true_iff in E as [[_ E1%Z.leb_le]%andb_true_iff E2%Z.leb_le]. subst Y. split.
      + apply steady_requested; [done|]. eapply keep_work; [exact HX|exact Ht|exact Hd|exact Hr|done|by split|by split|lia|lia].
      + split; [by left|]. intros k Hk. assert (word X "kept" <> NONE) as Hkn by (intros En; unfold kept_thread in Hk; by rewrite (proj2 (Z.eqb_eq _ _) En) in Hk).
        destruct (Hmark Hkn) as [Ef _]. unfold ARCH_FLOOR_NONE, NUM_PRIORITY in *. lia.
    - split; [by eapply inserted_steady|by eapply inserted_awake].
  Qed.
End wake.
