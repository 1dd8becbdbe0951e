(** The C of [sched.c] and [sched_loan.c] that decides whether the running thread goes on, and that switches to a named thread, at
    once or through the ready queues. *)
From Ashlar Require Export layers.sched.cpu.RunCode.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Section decide.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
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
  Context (fits : Z -> cpu_state -> Prop) (self : Z).
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation goes := (goes quiet kernel_entry M this ours timer fits self).
  Notation entered := (entered quiet kernel_entry M this ours timer fits self).
  Notation suits := (suits fits self).
  Notation may_block := (may_block this ours fits self).
  Notation blocked := (blocked this fits self).

  (** ** Time that has been looked at *)
  Lemma payer_same x y : exempt x = exempt y -> spends x = spends y -> payer x = payer y.
  Proof using. unfold payer. by intros -> ->. Qed.
  Lemma refill_spends now x : exempt (refill now x) = exempt x /\ spends (refill now x) = spends x.
  Proof using. unfold refill. by destruct (_ <? _). Qed.
  Lemma spend_spends ns x : exempt (spend ns x) = exempt x /\ spends (spend ns x) = spends x.
  Proof using. unfold spend. by destruct (_ <=? _). Qed.
  Lemma charge_spends since now x : exempt (charge since now x) = exempt x /\ spends (charge since now x) = spends x.
  Proof using.
    pose proof (fun ns x => proj1 (spend_spends ns x)) as A1. pose proof (fun ns x => proj2 (spend_spends ns x)) as A2.
    pose proof (fun x => proj1 (refill_spends now x)) as B1. pose proof (fun x => proj2 (refill_spends now x)) as B2.
    unfold charge. destruct (_ && _); split; rewrite ?A1, ?A2, ?B1, ?B2, ?A1, ?A2; done.
  Qed.
  (** What can be charged stays so. *)
  Lemma has_time_keeps t has X Y : has_time t X has Y -> payer_ok ours X (payer_of X t) -> payer_ok ours X (word X "charged") -> time_ok X ->
    payer_of Y t = payer_of X t /\ word Y "charged" = word X "charged" /\ payer_ok ours Y (payer_of X t) /\ payer_ok ours Y (word X "charged") /\ time_ok Y.
  Proof using this.
    intros Hh Hp Hc [Hs Hn]. unfold has_time in Hh. cbn zeta in Hh. set (r := payer_of X t) in *. assert (payer (reservation_of X t) = r) as Er by done. clearbody r.
    destruct Hh as [(_ & _ & ->)|(Hne & now & Hnow & -> & _)]; [by split_and!|].
    destruct Hp as [?|[Hr Hval]]; [done|]. unfold clock_says in Hnow. unfold payer_ok, payer_of, time_ok, charged_at.
    destruct (charge_spends (word X "since") now (reservation_of X r)) as [E1 E2]. destruct (refill_spends now (reservation_of X r)) as [E3 E4].
    assert (reservation_valid (word X "since") (refill now (reservation_of X r))) as Hrefill.
    { destruct Hval as (Hok & Hd & Hu). destruct (refill_gives now (reservation_of X r)) as (Hok' & _ & _ & U & D & _); [lia|done|]. split_and!; [done|lia..]. }
    destruct (Z.eqb_spec r (word X "charged")) as [Ec|Hother]; cbn [word set_word set_reservation reservation_of String.eqb Ascii.eqb Bool.eqb].
    - rewrite <- Ec in *. split_and!; [|done| | |lia..].
      + destruct (Z.eqb_spec t r) as [<-|]; [|done]. rewrite <- Er at 2. by apply payer_same.
      + right. split; [done|]. rewrite Z.eqb_refl. apply charge_valid; [lia|lia|done].
      + right. split; [done|]. rewrite Z.eqb_refl. apply charge_valid; [lia|lia|done].
    - split_and!; [|done| | |lia..].
      + destruct (Z.eqb_spec t r) as [<-|]; [|done]. rewrite <- Er at 2. by apply payer_same.
      + right. split; [done|]. by rewrite Z.eqb_refl.
      + destruct Hc as [?|[Hc Hcv]]; [by left|right; split; [done|]]. by rewrite (proj2 (Z.eqb_neq (word X "charged") r)) by done.
  Qed.

  (** ** The running thread makes way *)
  (** It is ready again, or parked if its time is spent; [s], [s']: the queues then. *)
  Definition put_back (current : Z) (s s' : ready) (X Y : cpu_state) : Prop :=
    if current <? NUM_CPU then Y = set_queues s X else exists has X1, has_time current X has X1 /\ Y = if has =? 0 then parked current s' X1 else set_queues s X1.
  Definition may_put_back (current : Z) (s s' : ready) (X : cpu_state) : Prop :=
    (if current <? NUM_CPU then sched_mark (queues X) current thread_is_ready = Some s else exists v, sched_ready_insert (queues X) cpu current = Some (v, s)) /\
    (if current <? NUM_CPU then word X "running" = 0
     else sched_park (queues X) cpu (parked_queue cpu) current = Some s' /\ timeouts X !! (SCHED_RELEASE_BASE + current) = None).
  Section current.
    Context (current : Z) (s s' : ready) (X : cpu_state) (Ho : ours current) (Hb : 0 <= current < NUM_THREAD).
    Context (Hp : payer_ok ours X (payer_of X current)) (Hc : payer_ok ours X (word X "charged")) (Hs : time_ok X) (Hm : may_put_back current s s' X).

    Lemma park_does has X1 : current <? NUM_CPU = false -> has_time current X has X1 -> has = 0 -> does "sched_budget_park" [cpu; current] X1 (fun v Y => v = 0 /\ Y = parked current s' X1).
    Proof using Hcpu HM HQ HT timer_arms Ho Hb Hp Hs Hm.
      intros Ec Hhas ->. destruct Hm as (_ & Hpark). rewrite Ec in Hpark. destruct Hpark as [Hpark Hno]. destruct (has_time_gives this Hcpu ours current 0 X X1 Hhas Hp Hs) as (Eq & Et & _ & _ & Hend).
      destruct (Hend eq_refl) as [H1 H2]. apply (sched_budget_park_does quiet kernel_entry M this Hcpu ours timer HM HQ HT timer_arms current s' X1); [done..|by rewrite Eq|by rewrite Et].
    Qed.
    Theorem sched_put_back_does : does "sched_put_back" [cpu; current] X (fun v Y => put_back current s s' X Y).
    Proof using Hcpu HM HQ HT timer_arms clock Ho Hb Hp Hs Hm.
      pose proof Hm as (Hq & _). pose proof park_does as Hpark. unfold put_back, NUM_CPU. unfold NUM_CPU in Hq, Hpark. enter sched_put_back_code. go. go. destruct (current <? 16) eqn:Ec.
      - go. use set_state_does. by go.
      - destruct Hq as [v Hq]. go. go. eapply runs_call; [intros ?; evaluate|apply (has_does quiet kernel_entry M this Hcpu ours timer HM clock current X Ho Hp Hs)|].
        intros has X1 Hhas. locals_simpl. locals_plain. go. destruct (Z.eqb_spec has 0) as [E|E].
        + eapply runs_call; [intros ?; evaluate|by apply (park_does has X1)|]. intros w Y [-> ->]. exists has, X1. split; [done|]. by rewrite E.
        + destruct (has_time_gives this Hcpu ours current has X X1 Hhas Hp Hs) as (Eq & _). rewrite <- Eq in Hq.
          eapply runs_call; [intros ?; evaluate|eapply ready_insert_does; premise|]. intros w Y ->. exists has, X1. split; [done|]. by rewrite (proj2 (Z.eqb_neq has 0)).
    Qed.

    (** ** The decision *)
    (** What [sched_make_way] answers, and the state then. *)
    Definition way_of (way : Z) (X1 : cpu_state) : Prop :=
      let best := ready_best (queues X) cpu in
      if negb (word X "kept" =? NONE) || (word X "running" <? best) then way = WAY_MAKES /\ X1 = X
      else if word X "running" =? 0 then way = WAY_STAYS /\ X1 = X
      else if (word X "slice_over" =? 1) && (best =? word X "running") then way = WAY_MAKES /\ X1 = X
      else exists has, has_time current X has X1 /\ way = (if has =? 0 then WAY_SPENT else WAY_STAYS).
    Ltac ways := unfold way_of; destruct (_ || _); [|destruct (_ =? 0); [|destruct (_ && _)]].
    Lemma way_spent X1 : way_of WAY_SPENT X1 -> has_time current X 0 X1 /\ word X "running" <> 0.
    Proof using.
      unfold way_of. destruct (_ || _); [by intros [??]|]. destruct (Z.eqb_spec (word X "running") 0); [by intros [??]|].
      destruct (_ && _); [by intros [??]|]. intros (has & Hh & E). split; [|done]. by destruct (Z.eqb_spec has 0) as [->|].
    Qed.
    (** The idle thread's time is not spent. *)
    Lemma spent_not_idle X1 : way_of WAY_SPENT X1 -> current <? NUM_CPU = false.
    Proof using Hm. intros [_ Hr]%way_spent. destruct Hm as [_ Hi]. by destruct (current <? NUM_CPU). Qed.
    Lemma way_makes way X1 : way_of way X1 -> way <> WAY_STAYS -> way <> WAY_SPENT -> way = WAY_MAKES /\ X1 = X.
    Proof using. ways; [by intros [-> ->]..|]. intros (has & Hh & ->). by destruct (_ =? _). Qed.
    Lemma way_stays X1 : way_of WAY_STAYS X1 -> X1 = X \/ exists has, has_time current X has X1.
    Proof using. ways; [by intros [? ->]; left..|]. intros (has & Hh & _). right. by exists has. Qed.
    (** The thread has left the CPU. *)
    Definition makes_way (way : Z) (X1 Y : cpu_state) : Prop := if way =? WAY_SPENT then Y = parked current s' X1 else put_back current s s' X1 Y.
    (** It goes on: with a new slice, and its time charged from now on. *)
    Definition stays (X1 Y : cpu_state) : Prop := exists X2 X3,
      slice_begun this (set_word "slice_end" timer_never (set_word "slice_over" 0 (set_word "arch_need_resched" 0 X1))) X2 /\ switched_to current X2 X3 /\ Y = with_floor this X3.
    Theorem sched_decide_entered : word X "arch_current" = current -> current <> NONE ->
      (forall way X1 Y, way_of way X1 -> way <> WAY_STAYS -> makes_way way X1 Y -> may_block Y) ->
      entered "sched_decide" [] X (fun v Y => v = 0 /\ exists way X1, way_of way X1 /\
        if way =? WAY_STAYS then stays X1 Y else exists X2 Z, makes_way way X1 X2 /\ blocked X2 Z /\ Y = set_word "arch_need_resched" 0 Z).
    Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots Hcpu timer_arms clock Ho Hb Hp Hc Hs Hm.
      intros Ecur Hnone Hblock. opens sched_decide_code. on. this_cpu. on. use current_does. rewrite Ecur. on.
      eapply runs_call; [intros ?; evaluate|apply (sched_make_way_does quiet kernel_entry M this Hcpu ours timer HM HR HC clock current X Ho Hp Hs)|].
      intros way X1 Hway. change (way_of way X1) in Hway. locals_simpl. locals_plain. on.
      assert (forall X2, makes_way way X1 X2 -> way <> WAY_STAYS -> walks quiet kernel_entry M this ours timer fits self
        (Seq (Call (Some 3%nat) "sched_next" [Var 0]) (Seq (Call None "sched_run" [Var 0; Var 3]) (Call None "sched_resumed" [])))
        (fun _ Y => 0 = 0 /\ exists way X1, way_of way X1 /\
          if way =? WAY_STAYS then stays X1 Y else exists X2 Z, makes_way way X1 X2 /\ blocked X2 Z /\ Y = set_word "arch_need_resched" 0 Z) (fun _ _ => False)
        (fun v Y => v = 0 /\ exists way X1, way_of way X1 /\
          if way =? WAY_STAYS then stays X1 Y else exists X2 Z, makes_way way X1 X2 /\ blocked X2 Z /\ Y = set_word "arch_need_resched" 0 Z) [cpu; current; way; 0] X2) as Hrest.
      { intros X2 H2 Hne. destruct (Hblock way X1 X2 Hway Hne H2) as (t & q & Hn & Hr). on. use sched_next_does.
        lazymatch goal with |- walks _ _ _ _ _ _ _ _ (Seq _ _) _ _ _ _ _ => apply walks_seq end.
        eapply walks_call; [intros ?; evaluate|apply (sched_run_goes quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave user roots fits self t (with_next q X2) Hr)|].
        intros v Y [-> HY]. locals_simpl. on. use sched_resumed_does. split; [done|]. exists way, X1. split; [done|].
        rewrite (proj2 (Z.eqb_neq way WAY_STAYS)) by done. exists X2, Y. split; [done|]. split; [by exists t, q|done]. }
      change (way =? 0) with (way =? WAY_STAYS). destruct (Z.eqb_spec way WAY_STAYS) as [E|E]; cbn [negb].
      2: { on. go. change (way =? 2) with (way =? WAY_SPENT). destruct (Z.eqb_spec way WAY_SPENT) as [Espent|Espent].
        - rewrite Espent in Hway. destruct (way_spent X1 Hway) as [Hhas _]. pose proof (spent_not_idle X1 Hway) as Ec. rewrite <- Espent in Hway.
          eapply runs_call; [intros ?; evaluate|exact (park_does 0 X1 Ec Hhas eq_refl)|]. intros v Y [-> ->]. locals_simpl. locals_plain.
          apply Hrest; [|done]. unfold makes_way. by rewrite (proj2 (Z.eqb_eq way WAY_SPENT)).
        - destruct (way_makes way X1 Hway E Espent) as [-> ->]. eapply runs_call; [intros ?; evaluate|exact sched_put_back_does|].
          intros v Y HY. locals_simpl. locals_plain. by apply Hrest. }
      assert (payer_of X1 current = payer_of X current /\ word X1 "charged" = word X "charged" /\ payer_ok ours X1 (payer_of X current) /\
        payer_ok ours X1 (word X "charged") /\ time_ok X1) as (E1 & E2 & P1 & P2 & T1).
      { rewrite E in Hway. destruct (way_stays X1 Hway) as [->|[has Hhas]]; [by split_and!|]. by eapply (has_time_keeps current has X X1). }
      on. use set_need_resched_does. on. put_word sched_cpu_set_slice_over_triple "slice_over"%string. on. put_word sched_cpu_set_slice_end_triple "slice_end"%string.
      change 18446744073709551615 with timer_never. set (X0 := set_word "slice_end" timer_never (set_word "slice_over" 0 (set_word "arch_need_resched" 0 X1))).
      on. eapply runs_call; [intros ?; evaluate|apply (sched_begin_slice_does quiet kernel_entry M this Hcpu ours timer HM HR HC timer_arms clock X0); apply T1|].
      intros v X2 [-> H2]. locals_simpl. locals_plain. destruct (slice_same this _ _ H2) as (F1 & F2 & F3 & F4 & F5 & F6).
      on. eapply runs_call; [intros ?; evaluate|apply (switch_does quiet kernel_entry M this Hcpu ours timer HM timer_arms clock current X2); [done| | |by apply F6|]|].
      + unfold payer_ok, payer_of in *. rewrite F1, F4. change (reservation_of X0) with (reservation_of X1). change (word X0 "since") with (word X1 "since"). rewrite E1. exact P1.
      + unfold payer_ok in *. rewrite F3, F1, F4. change (reservation_of X0) with (reservation_of X1). change (word X0 "since") with (word X1 "since").
        change (word X0 "charged") with (word X1 "charged"). rewrite E2. exact P2.
      + intros E0. by rewrite <- E0.
      + intros v X3 [-> H3]. locals_simpl. locals_plain. on. use sched_update_floor_does. split; [done|]. exists way, X1. split; [exact Hway|].
        rewrite (proj2 (Z.eqb_eq way WAY_STAYS)) by done. by exists X2, X3.
    Qed.
  End current.
End decide.
