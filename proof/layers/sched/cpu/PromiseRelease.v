(** A parked thread whose next period begins keeps the promise of [Promise.v]: it waits for its turn, or is kept to run next, or is parked once
    more. The event that says so is what the timer's interrupt has returned ([was_due]). *)
From Ashlar Require Export layers.sched.cpu.PromiseWake layers.sched.cpu.PromiseCode.
Local Opaque gmap_lookup gmap_partial_alter.

Section release.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Notation steady := (steady this ours).

  Lemma withdraw_moves s t s1 : queue_valid (ready_queues s) -> sched_withdraw t s = Some s1 -> moves s t s1 /\ keeps_queues s s1 /\
    (forall q, ~ in_queue s1 q t) /\ t ∈ queue_free (ready_queues s1) /\
    exists r, ready_threads s !! t = Some r /\ ready_threads s1 !! t = Some (ReadyThread (ready_priority r) thread_is_blocked).
  Proof using.
    intros Hv H. unfold sched_withdraw in H. destruct (queue_remove (ready_queues s) t) as [[v q]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
    apply queue_remove_takes in E as (_ & q0 & l1 & l2 & Hq); [|exact Hv]. unfold sched_mark in H. cbn [ready_threads ready_queues] in H.
    destruct (ready_threads s !! t) as [r|] eqn:Hr; [|done]. case_bool_decide as Hf; [|done]. injection H as <-.
    destruct (takes_moves s Hv (ready_mark t thread_is_blocked (ready_threads s)) _ _ _ _ _ Hq) as [Hm Hno]; [by intros; apply ready_mark_other|].
    split_and!; [done|by eapply takes_keeps|done|done|]. exists r. split; [done|]. exact (ready_mark_same _ t thread_is_blocked _ Hr).
  Qed.
  Lemma withdraw_some s t q : queue_valid (ready_queues s) -> in_queue s q t -> is_Some (ready_threads s !! t) -> exists s1, sched_withdraw t s = Some s1.
  Proof using.
    intros Hv (l & Hl & Hin) [r Hr]. unfold sched_withdraw, queue_remove. rewrite (queue_holding_some _ Hv q l t Hl Hin). cbn [mbind option_bind].
    unfold sched_mark. cbn [ready_threads ready_queues]. rewrite Hr, bool_decide_eq_true_2; [by eexists|]. unfold queue_drop. cbn. apply elem_of_union. left. by apply elem_of_singleton.
  Qed.

  (** ** A parked thread leaves the queue where it waits for its next period *)
  Lemma released_sleeps self t X r : steady self X -> ready_threads (queues X) !! t = Some r -> ready_state r = thread_is_parked ->
    timeouts X !! (SCHED_RELEASE_BASE + t) = None -> exists s1, sched_withdraw t (queues X) = Some s1 /\ steady self (set_queues s1 X) /\ sleeps t (set_queues s1 X) /\
      ready_threads s1 !! t = Some (ReadyThread (ready_priority r) thread_is_blocked).
  Proof using Hcpu.
    intros (Hcur & Hw & Hfl & Hmark) Hr Hst Hno. destruct (at_work_thread this ours self X Hw) as (rs & Hrs & Hrun & _). pose proof Hw as [Hok Hown Hk Ho Ha Hrel Hrest Hlev Hpays].
    pose proof (ok_valid _ _ _ Hok) as Hv. destruct (ok_placed _ _ _ Hok t r Hr) as ([q|] & [_ Hq] & Hplace); [|by destruct Hplace].
    destruct Hplace as [Hc _]. assert (in_queue (queues X) q t) as Hin by (by apply Hq).
    destruct (withdraw_some (queues X) t q (proj1 Hv) Hin) as [s1 E]; [by exists r|]. destruct (withdraw_ok cpu self (queues X) Hok t s1 E) as [Hok1 _].
    destruct (withdraw_moves (queues X) t s1 (proj1 Hv) E) as (Hm & Hkeep & Hgone & Hf & r' & Hr' & Hr1). rewrite Hr in Hr'. injection Hr' as <-.
    assert (t <> self) as Hts by (intros ->; rewrite Hrs in Hr; injection Hr as ->; by rewrite Hst in Hrun).
    assert (forall k, kept_thread X = Some k -> k <> t) as Hkt.
    { intros k Ek ->. destruct (Hk t Ek) as [(_ & _ & rk & Hrk & Hsk & _) _]. rewrite Hr in Hrk. injection Hrk as <-. by rewrite Hst in Hsk. }
    assert (sched_owns cpu s1) as Hown1.
    { destruct Hown as [[Hi Hif] Hp]. split; [|by apply Hkeep]. assert (cpu <> t) as Hct by lia. destruct (Hm cpu Hct) as (A & _ & B). by rewrite A, B. }
    exists s1. split; [done|]. split; [split; [done|split]|split; [|done]].
    - split; cbn [queues set_queues]; [done|done| | |exact (accounts_same ours X (set_queues s1 X) Ha eq_refl eq_refl (conj (Z.le_refl _) (proj2 (valid_time ours X Ha))) eq_refl)| | | |exact Hpays].
      + intros k Ek. destruct (Hk k Ek) as [Hmk Hle]. split.
        * eapply (kept_moved this (queues X) t); [done|done|by apply Hkt|done|]. intros p _ Hin'. apply in_ready_list in Hin'. by destruct (Hgone _ Hin').
        * intros Hi r0 rk. rewrite (proj1 (Hm self ltac:(congruence))), (proj1 (Hm k (Hkt k Ek))). by apply Hle.
      + apply (moved_ours ours (queues X) t s1 Hm); [by exists r|by eexists|by left|exact Ho].
      + intros u Hu0 Hu. destruct (Hrel u Hu0 Hu) as (ru & Hru & Hsu). exists ru. split; [|done]. cbn [queues set_queues].
        assert (u <> t) as Hut by (intros ->; cbn [timeouts set_queues] in Hu; rewrite Hno in Hu; by destruct Hu). by rewrite (proj1 (Hm u Hut)).
      + apply (rested_moved t X); [done|done|by apply (running_wakes t X r); [|rewrite Hst]|by left|done].
      + cbn [word set_queues]. rewrite Hlev. unfold level_of. cbn [queues set_queues]. by rewrite (proj1 (Hm self ltac:(congruence))).
    - unfold floor_sound. cbn [queues word set_queues]. split; [|done]. eapply (best_moved this X t s1); [done..|pose proof (best_nonnegative this (queues X)); lia|].
      intros p _ Hin'. apply in_ready_list in Hin'. by destruct (Hgone _ Hin').
    - split_and!; [done| |done|by eexists]. intros Ek. assert (t <> NONE) as HtN by (pose proof (queue_valid_free _ (proj1 (ok_valid _ _ _ Hok1)) t Hf); unfold NUM_THREAD, NONE in *; lia).
      apply (Hkt t); [|done]. cbn [word set_queues] in Ek. unfold kept_thread. by rewrite Ek, (proj2 (Z.eqb_neq t NONE)).
  Qed.

  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).
  Notation serves := (serves quiet kernel_entry M this ours timer).

  Theorem sched_release_steady self t X : steady self X -> 0 <= t < NUM_THREAD -> was_due (SCHED_RELEASE_BASE + t) X ->
    serves "sched_release" [SCHED_RELEASE_BASE + t] X (fun _ Y => steady self Y /\ awake t Y).
  Proof using Hcpu ours_bound HM HQ HT HR HC timer_arms clock.
    intros HX Hb Hdue. destruct (proj1 (Hdue t Hb) eq_refl) as [(r & Hr & Hst) Hno]. destruct (released_sleeps self t X r HX Hr Hst Hno) as (s1 & E & HX1 & Ht & Hr1).
    assert (timeouts (set_queues s1 X) !! t = None) as Hd.
    { apply eq_None_not_Some. intros H. destruct HX as (_ & Hw & _). by apply (running_wakes t X r Hr ltac:(by rewrite Hst)), (work_rested _ _ _ _ Hw t Hb). }
    destruct (sleeper_insertable this Hcpu ours ours_bound self t _ (set_queues s1 X) HX1 Ht Hr1) as (kp & s & s' & Hkp & Hq & Hp).
    destruct (sleeper this ours self t (set_queues s1 X) HX1 Ht) as (_ & _ & _ & _ & _ & Hot & _). pose proof HX1 as (_ & Hw1 & _). pose proof (work_accounts _ _ _ _ Hw1) as Ha.
    eapply serves_mono; [|apply (sched_release_serves quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock t r (ready_priority r) kp s1 s s' X Hot Hb Hr Hst E)].
    - cbn beta. intros v Y [_ HY]. split; [by eapply (inserted_steady this Hcpu ours ours_bound self t (set_queues s1 X) HX1 Ht Hd _ Hr1 kp Hkp)|].
      eapply proj1. by eapply (inserted_awake this ours ours_bound self t (set_queues s1 X) HX1 Ht _ Hr1 kp).
    - split_and!; [by apply (valid_payer ours)|by apply (valid_time ours)|exact Hq|exact Hp|exact Hno].
  Qed.
End release.
