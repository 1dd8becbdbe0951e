(** A thread that hands the CPU over to the one which is kept, without a decision, keeps the promise of [Promise.v]. *)
From Ashlar Require Export layers.sched.cpu.PromiseCode.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Section code.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Notation steady := (steady this ours).
  Notation promised := (promised this ours).
  Notation at_work := (at_work this ours).

  (** To mark the kept thread first, or to put the other one back first, is the same. *)
  Lemma marks_commute s k x self v sA sB : k <> self -> sched_ready_insert s cpu self = Some (v, sA) -> sched_mark sA k x = Some sB -> k ∈ queue_free (ready_queues s) ->
    exists s1, sched_mark s k x = Some s1 /\ sched_ready_insert s1 cpu self = Some (v, sB).
  Proof using.
    intros Hne Hi Hm Hf. unfold sched_ready_insert in Hi. destruct (ready_threads s !! self) as [r|] eqn:Er; [|done]. destruct (bool_decide (NUM_CPU <= self)) eqn:Ec; [|done].
    unfold ready_with in Hi. destruct (queue_enqueue (ready_queues s) _ self) as [[w q]|] eqn:Eq; [|done]. injection Hi as <- <-.
    unfold sched_mark in *. cbn [ready_threads ready_queues] in Hm. rewrite ready_mark_other in Hm by done. destruct (ready_threads s !! k) as [rk|] eqn:Ek; [|done].
    case_bool_decide; [|done]. injection Hm as <-. rewrite bool_decide_eq_true_2 by done. eexists. split; [done|].
    unfold sched_ready_insert. cbn [ready_threads ready_queues]. rewrite ready_mark_other by done. rewrite Er, Ec. unfold ready_with. rewrite Eq. do 3 f_equal.
    unfold ready_mark. rewrite Ek, Er, lookup_insert_ne, lookup_insert_ne by done. rewrite Ek, Er. by apply insert_commute.
  Qed.

  (** The kept thread takes the place of [self], which is not idle. No time is charged, and neither spends a reservation. *)
  Section handed.
    Context (self : Z) (X : cpu_state) (HX : steady self X) (r : ready_thread).
    Notation k := (word X "kept").
    Context (Hc : NUM_CPU <= self) (Hk : k <> NONE) (Hr : ready_threads (queues X) !! k = Some r).
    Context (free : word X "charged" = NONE) (unlimited : spends (reservation_of X k) = NONE).
    Notation handed s := (set_word "arch_floor" (ready_best s cpu) (new_slice (ready_priority r + 1) (given_back s X))).

    Lemma hands_over : exists s, gives_back this s X /\ k <> self /\ promised k (set_word "arch_current" k (handed s)).
    Proof using HX Hc Hk Hr free unlimited Hcpu ours_bound.
      pose proof HX as (Ec & Hw & _). destruct (at_work_thread this ours self X Hw) as (rs & Hrs & Hrun & Hf & _). pose proof Hw as [Hok Hown Hkept Ho Ha Hrel _ _ _].
      pose proof (ok_valid _ _ _ Hok) as Hv. assert (kept_thread X = Some k) as Ek by (unfold kept_thread; by rewrite (proj2 (Z.eqb_neq _ _))).
      destruct (Hkept k Ek) as [Hmk Hle]. pose proof Hmk as (Hkc & Hkf & rk & Hrk & Hst & _). rewrite Hr in Hrk. injection Hrk as <-.
      assert (k <> self) as Hne by (intros E; rewrite E, Hrs in Hr; injection Hr as <-; by rewrite Hrun in Hst).
      destruct (insert_some cpu (queues X) self Hv Hc) as (v & sA & EA); [by eexists|done|].
      destruct (put_back_waits this Hcpu ours self X X true sA (set_queues sA X) HX Ha) as [HW HcW]; [by split| |by left; split; [|left]|].
      { unfold sched_put_back, sched_queue. rewrite bool_decide_eq_false_2 by (unfold NUM_CPU in *; lia). by rewrite EA. }
      set (W := set_queues sA X) in *. destruct (next_runs this Hcpu ours ours_bound W HW) as (t & s & En & _ & _ & Hruns).
      change (kept_thread W) with (kept_thread X) in En. rewrite Ek in En. cbn [sched_next] in En. unfold sched_run_kept in En.
      destruct (ready_threads (queues W) !! k) as [r'|] eqn:Er'; [|done]. cbn [mbind option_bind] in En. destruct (_ && _); [|done].
      destruct (sched_mark (queues W) k thread_is_running) as [sB|] eqn:EB; [|done]. cbn [mbind option_bind] in En. injection En as <- <-.
      destruct (marks_commute (queues X) k thread_is_running self v sA sB Hne EA EB Hkf) as (s1 & E1 & E2).
      exists sB. split; [|split; [done|]].
      { exists s1. split; [done|]. rewrite Ec, (proj2 (Z.ltb_ge _ _)) by done. by exists v. }
      destruct (insert_moves cpu (queues X) Hv _ _ _ EA) as (HmA & _). change (queues W) with sA in *. rewrite (proj1 (HmA k Hne)), Hr in Er'. injection Er' as <-.
      pose proof (ok_valid _ _ _ (wait_ok _ _ _ HW)) as HvA. destruct (mark_moves cpu sA HvA _ _ _ EB) as (_ & _ & _ & r2 & Hr2 & [HsB _]).
      rewrite (proj1 (HmA k Hne)), Hr in Hr2. injection Hr2 as <-.
      assert (with_next sB W = given_back sB X) as EN by (unfold with_next, given_back; change (word W "kept") with k; by rewrite (proj2 (Z.eqb_neq _ _))).
      assert (level_of k (given_back sB X) = ready_priority r + 1) as El by (unfold level_of; cbn [queues given_back set_queues]; by rewrite (proj2 (Z.leb_le _ _)), HsB).
      (* What it is when a slice begins, too: a state that a decision may lead to. *)
      pose (X1 := new_slice (ready_priority r + 1) (given_back sB X)).
      assert (exists X2, (if ready_priority r + 1 =? ready_best sB cpu then slice_begun this X1 X2 else X2 = X1) /\ queues X2 = sB /\ timeouts X2 = timeouts X /\
        word X2 "running" = ready_priority r + 1 /\ word X2 "kept" = NONE /\ word X2 "charged" = NONE /\ reservation_of X2 = reservation_of X) as (X2 & H2 & Q2 & T2 & R2 & K2 & C2 & V2).
      { destruct (_ =? _); [|by exists X1]. unfold slice_begun. destruct (_ && _); [|by exists X1]. eexists. split; [exists (word X "arch_clock"); split; [|done]|by cbn].
        unfold clock_says. cbn. pose proof (valid_time ours X Ha) as [??]. lia. }
      pose (Y := set_word "arch_floor" (ready_best sB cpu) X2).
      assert (set_to_run this k (given_back sB X) Y) as HY.
      { unfold set_to_run. rewrite El. exists X2. split; [exact H2|]. exists X2, (ready_best sB cpu). split; [|done]. rewrite V2, unlimited, C2. done. }
      rewrite <- EN in HY. destruct (Hruns Y HY) as (HwY & [HfY HkY] & _ & _).
      assert (at_work k (handed sB)) as Hwork.
      { apply (at_work_place this ours k Y); [exact HwY| | | | | |].
        - apply (accounts_same ours X); [exact Ha|done|done|cbn; pose proof (valid_time ours X Ha) as [??]; lia|done].
        - cbn. by rewrite Q2.
        - cbn. by rewrite T2.
        - cbn. by rewrite R2.
        - cbn. by rewrite K2.
        - split; [cbn; by rewrite C2|]. intros u. unfold payer_of. cbn. by rewrite V2. }
      split; [split; [done|split; [by apply at_work_word|]]|split].
      - split; [done|]. by intros [].
      - change (ready_best sB cpu <= level_of k (given_back sB X)). rewrite El. unfold level_of in HfY. cbn [Y queues set_word] in HfY. rewrite Q2, HsB, (proj2 (Z.leb_le _ _)) in HfY by done. exact HfY.
      - done.
    Qed.
  End handed.

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
  Notation entered self := (entered quiet kernel_entry M this ours timer promised self).

  (** It goes on where it is, or when the CPU is its own again; then no ready thread has a higher priority. *)
  Theorem sched_hand_over_promised self X : steady self X -> entered self "sched_hand_over" [] X (fun v Y => v = 1 /\ promised self Y \/ v = 0 /\ Y = X).
  Proof using Hcpu ours_bound HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave roots.
    intros HX. pose proof HX as (Ec & Hw & _). pose proof Hw as [Hok _ Hkept Ho Ha _ _ _ _]. pose proof (ok_valid _ _ _ Hok) as Hv.
    destruct (Z.eq_dec (word X "kept") NONE) as [E|E].
    - eapply entered_mono; [|apply (sched_hand_over_entered quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave
        user roots promised self (ReadyThread 0 0) (queues X) X)]; unfold may_hand_over; rewrite E; cbn [Z.eqb orb negb andb].
      + change (NONE =? NONE) with true. cbn. intros v Y H. by right.
      + done.
      + change (NONE =? NONE) with true. done.
    - assert (kept_thread X = Some (word X "kept")) as Ek by (unfold kept_thread; by rewrite (proj2 (Z.eqb_neq _ _))).
      destruct (Hkept _ Ek) as [(_ & _ & r & Hr & _) _].
      assert (exists s, may_hand_over this r X = true -> gives_back this s X /\ word X "kept" <> self /\
        promised (word X "kept") (set_word "arch_current" (word X "kept") (set_word "arch_floor" (ready_best s cpu) (new_slice (ready_priority r + 1) (given_back s X))))) as [s Hs].
      { destruct (may_hand_over this r X) eqn:Em; [|by exists (queues X)]. unfold may_hand_over in Em. rewrite Ec in Em.
        apply andb_true_iff in Em as [E1%negb_true_iff E2%negb_true_iff]. apply orb_false_iff in E1 as [[_ Ech%negb_false_iff%Z.eqb_eq]%orb_false_iff Eidle%Z.ltb_ge].
        apply orb_false_iff in E2 as [Esp%negb_false_iff%Z.eqb_eq _]. destruct (hands_over self X HX r Eidle E Hr Ech Esp) as [s H]. by exists s. }
      eapply entered_mono; [|apply (sched_hand_over_entered quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock loaded_root fpu_left fpu_leave
        user roots promised self r s X)].
      + cbn beta. intros v Y H. destruct (may_hand_over this r X); [|by right]. destruct H as [-> (Z & HZ & ->)]. left. split; [done|]. by apply promised_unmarked.
      + intros _. split; [apply Ho; by exists r|]. split; [done|]. by apply (ready_valid_priority cpu (queues X) Hv _ _ Hr).
      + intros Hm. destruct (Hs Hm) as (H1 & H2 & H3). split; [exact H1|]. by split.
  Qed.
End code.
