(** Threads that are started keep the promise of [Promise.v]: one that is not in use, or has ended, gets a new stack, and sleeps until it is
    woken for the first time. *)
From Ashlar Require Export layers.sched.cpu.PromiseWake layers.sched.cpu.PromiseCode layers.sched.Threads.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Cells *)
(** A cell of the last of three parts changes. *)
Lemma write_last (a b e : mem) x v : a ##ₘ b ∪ e -> b ##ₘ e -> is_Some (e !! x) ->
  <[x := v]> (a ∪ (b ∪ e)) = a ∪ (b ∪ <[x := v]> e) /\ a ##ₘ b ∪ <[x := v]> e /\ b ##ₘ <[x := v]> e.
Proof.
  intros [Hab Hae]%map_disjoint_union_r Hbe [u Hu]. pose proof (map_disjoint_Some_r a e x u Hae Hu) as Ha. pose proof (map_disjoint_Some_r b e x u Hbe Hu) as Hb.
  split; [|split; [apply map_disjoint_union_r; split; [done|by apply map_disjoint_insert_r]|by apply map_disjoint_insert_r]].
  etransitivity; [by apply insert_union_r|]. f_equal. by apply insert_union_r.
Qed.

(** The memory, in other words. *)
Local Ltac now_is m E := lazymatch goal with |- during _ _ _ _ _ _ _ _ _ ?m0 => replace m0 with m by exact (eq_sym E) end.

Section start.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Notation steady := (steady this ours).

  (** [t] is not in use, or has ended. *)
  Definition startable (t : Z) (X : cpu_state) : Prop := exists r, ready_threads (queues X) !! t = Some r /\
    (ready_state r = THREAD_UNUSED \/ ready_state r = thread_is_exited).

  (** ** It gets its own priority, and is blocked *)
  Definition reset (t : Z) (s : ready) (X : cpu_state) : Prop := sched_mark (set_priority t (base_priority X t) (queues X)) t thread_is_blocked = Some s.
  Lemma base_priority_bound X t : 0 <= base_priority X t < NUM_PRIORITY.
  Proof using. by apply Z.mod_pos_bound. Qed.
  Lemma reset_sleeps self t X : steady self X -> NUM_CPU <= t -> startable t X -> ours t /\ in_no_ready_queue cpu (queues X) t /\
    exists s, reset t s X /\ steady self (set_queues s X) /\ sleeps t (set_queues s X) /\ timeouts X !! t = None.
  Proof using Hcpu ours_bound.
    intros (Hcur & Hw & Hfl & Hmark) Hc (r & Hr & Hst). destruct (at_work_thread this ours self X Hw) as (rs & Hrs & Hrun & _).
    pose proof Hw as [Hok Hown Hk Ho Ha Hrel Hrest Hlev Hpays]. pose proof (ok_valid _ _ _ Hok) as Hv. destruct (Ho t) as [Hknown Hplace].
    assert (ours t) as Hot by (apply Hknown; by exists r). pose proof (ours_bound t Hot) as Hb. specialize (Hplace Hot).
    assert (ready_state r <> thread_is_ready /\ ready_state r <> thread_is_parked /\ ready_state r <> thread_is_running /\ ready_state r <> thread_is_blocked) as (N1 & N2 & N3 & N4)
      by (destruct Hst as [-> | ->]; by split_and!).
    destruct (ok_placed _ _ _ Hok t r Hr) as (o & [_ Hq] & Hpl). destruct o as [q|]; [destruct Hpl as (_ & [[? _]|[? _]]); done|].
    assert (t ∈ queue_free (ready_queues (queues X))) as Hf by (destruct Hplace as [Hf|[[q Hin%Hq]|(r' & Hr' & Hb')]]; [done..|]; rewrite Hr in Hr'; by injection Hr' as <-).
    assert (in_no_ready_queue cpu (queues X) t) as Hno.
    { apply Forall_forall. intros p _ Hin. apply in_ready_list, Hq in Hin. done. }
    split; [done|]. split; [done|]. pose proof (base_priority_bound X t) as Hp. set (p := base_priority X t) in *.
    destruct (set_priority_moves (queues X) t p r Hr) as (Hm1 & Hr1 & Eq1). pose proof (set_priority_ok cpu self (queues X) Hok t p r Hr Hp N1 N2) as Hok1.
    destruct (mark_some (set_priority t p (queues X)) t thread_is_blocked) as [s E]; [by eexists|by rewrite Eq1|]. exists s. split; [exact E|].
    pose proof (ok_valid _ _ _ Hok1) as Hv1. destruct (mark_moves cpu _ Hv1 _ _ _ E) as (Hm2 & Eq2 & Hf2 & r2 & Hr2 & [Hs2 Hq2]).
    pose proof (moves_trans _ _ _ _ Hm1 Hm2) as Hm. assert (t <> self) as Hts by (intros ->; rewrite Hrs in Hr; by injection Hr as ->).
    assert (t <> cpu) as Htc by (unfold NUM_CPU in *; lia).
    assert (sched_ok cpu (Some self) s) as Hoks.
    { pose proof (mark_ok cpu (Some self) _ Hok1 t thread_is_blocked s E ltac:(done) ltac:(done) ltac:(done)) as H. unfold running_after, other in H. cbn in H.
      by rewrite bool_decide_eq_false_2 in H by congruence. }
    assert (sched_owns cpu s) as Howns.
    { eapply owns_mark; [exact Hv1| |exact E]. destruct Hown as [[Hi Hif] Hpk]. split; [|by rewrite Eq1]. rewrite Eq1. by rewrite (proj1 (Hm1 cpu (not_eq_sym Htc))). }
    assert (forall k, kept_thread X = Some k -> k <> t) as Hkt.
    { intros k Ek ->. destruct (Hk t Ek) as [(_ & _ & rk & Hrk & Hsk & _) _]. rewrite Hr in Hrk. by injection Hrk as <-. }
    assert (~ sleeps t X) as Hwoke by (by apply (running_wakes t X r)).
    split; [split; [done|split]|split].
    - split; cbn [queues set_queues]; [done|done| | |exact (accounts_same ours X (set_queues s X) Ha eq_refl eq_refl (conj (Z.le_refl _) (proj2 (valid_time ours X Ha))) eq_refl)| | | |exact Hpays].
      + intros k Ek. destruct (Hk k Ek) as [Hmk Hle]. split.
        * eapply (kept_moved this (queues X) t); [done|done|by apply Hkt|done|]. intros u _ Hin'. by apply in_ready_list, Hq2 in Hin'.
        * intros Hi r0 rk. rewrite (proj1 (Hm self ltac:(congruence))), (proj1 (Hm k (Hkt k Ek))). by apply Hle.
      + apply (moved_ours ours (queues X) t s Hm); [by exists r|by eexists|left; by rewrite Eq2, Eq1|exact Ho].
      + intros u Hu0 Hu. destruct (Hrel u Hu0 Hu) as (ru & Hru & Hsu). exists ru. split; [|done]. cbn [queues set_queues].
        assert (u <> t) as Hut by (intros ->; rewrite Hr in Hru; by injection Hru as <-). by rewrite (proj1 (Hm u Hut)).
      + by apply (rested_moved t X); [done|done|done|left|].
      + cbn [word set_queues]. rewrite Hlev. unfold level_of. cbn [queues set_queues]. by rewrite (proj1 (Hm self ltac:(congruence))).
    - unfold floor_sound. cbn [queues word set_queues]. split; [|done]. eapply (best_moved this X t s); [done..|pose proof (best_nonnegative this (queues X)); lia|].
      intros u _ Hin'. by apply in_ready_list, Hq2 in Hin'.
    - split_and!; [done| |cbn [queues set_queues]; by rewrite Eq2, Eq1|by eexists]. cbn [word set_queues]. intros Ek. apply (Hkt t); [|done]. unfold kept_thread.
      by rewrite Ek, (proj2 (Z.eqb_neq t NONE)) by (apply not_eq_sym, none_no_thread; lia).
    - apply eq_None_not_Some. intros H. by apply Hwoke, (Hrest t Hb).
  Qed.

  (** ** The C *)
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (timer : mem -> Prop).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (stack_below : M new_stack = None).
  Notation serves := (serves quiet kernel_entry M this ours timer).
  Notation holds := (State.holds this ours timer).

  Lemma holds_thread X w t r : holds X w -> ready_threads (queues X) !! t = Some r ->
    w !! thread_priority_cell t = Some (ready_priority r) /\ w !! thread_state_cell t = Some (ready_state r).
  Proof using.
    intros (dr & d & e & -> & _ & _ & (_ & dq & dm & dt & -> & Hd & Hd' & _ & _ & Ht) & _) Hr. destruct (proj2 Ht t r Hr) as [A B].
    rewrite (assoc_L (∪) dq), (map_union_comm (dq ∪ dm)) by (apply map_disjoint_union_l; by apply map_disjoint_union_r in Hd as [_ ?]).
    split; by apply own_read, own_read.
  Qed.
  (** Whether a thread may be started is read. *)
  Theorem thread_state_tells self t X : steady self X -> ours t ->
    serves "thread_state" [t] X (fun v Y => steady self Y /\ (v = THREAD_UNUSED \/ v = thread_is_exited -> startable t Y)).
  Proof using HT.
    intros HX Ht. pose proof HX as (_ & Hw & _). destruct (proj2 (proj1 (work_ours _ _ _ _ Hw t)) Ht) as [r Hr].
    exists thread_state_code. split; [by apply HT|]. split; [done|]. intros w Hh. destruct (holds_thread X w t r Hh Hr) as [_ Hs].
    unfold thread_state_code. cbn [fn_body fn_locals]. locals_simpl. eapply during_return; [eapply eval_load; [evaluate|evaluate|exact Hs]|].
    apply reaches_here; [done|]. split; [done|]. intros Hv. by exists r.
  Qed.

  Lemma new_stack_timed t d : quiet (new_stack, [t]) -> timed quiet kernel_entry M this "arch_thread_init" [t] d (fun _ d' => d' = d).
  Proof using HW stack_below.
    intros Hq. eapply timed_body; [by apply HW|done|]. unfold arch_thread_init_code. cbn [fn_body fn_locals]. locals_simpl.
    eapply during_call_whole; [evaluate|by apply timed_primitive|]. by intros v m ->.
  Qed.
  (** The thread's page map, and what it waits for, are [arch]'s and the timer's part of the CPU. *)
  Context (user : Z -> Prop).
  Context (starts : forall e t root, timer e -> ours t -> root_ok root -> (user t -> root <> NONE) ->
    is_Some (e !! field_cell "thread" t "wait_kind") /\ is_Some (e !! field_cell "thread" t "wait_object") /\ is_Some (e !! field_cell "thread" t "root") /\
    timer (<[field_cell "thread" t "root" := root]> (<[field_cell "thread" t "wait_object" := NONE]> (<[field_cell "thread" t "wait_kind" := 0]> e)))).
  Theorem thread_reset_sleeps self t root X : steady self X -> NUM_CPU <= t -> startable t X -> root_ok root -> (user t -> root <> NONE) -> quiet (new_stack, [t]) ->
    serves "thread_reset" [t; root] X (fun _ Y => steady self Y /\ sleeps t Y /\ timeouts Y !! t = None).
  Proof using Hcpu ours_bound HT HW stack_below starts.
    intros HX Hc Hstart Hroot Huser Hq. destruct (reset_sleeps self t X HX Hc Hstart) as (Hot & Hno & s & Hs & HY & Hsleep & Hnone).
    destruct Hstart as (r & Hr & _). exists thread_reset_code. split; [by apply HT|]. split; [done|]. intros w Hh.
    destruct (holds_thread X w t r Hh Hr) as [Hpc Hsc].
    assert (w !! field_cell "thread" t "base_priority" = Some (base_priority X t)) as Hbase.
    { apply (holds_read this ours timer X w _ _ Hh). intros d Ho. by apply (own_field this ours t X d "base_priority" _ Ho Hot). }
    destruct Hh as (dr & d & e & -> & Hdr & Hde & Hrep & Hown & He). destruct (starts e t root He Hot Hroot Huser) as (Hwk & Hwo & Hrt & He').
    pose proof (marked_rep cpu _ _ t thread_is_blocked s (priority_rep cpu (queues X) dr t (base_priority X t) r Hrep Hr (base_priority_bound X t) Hno) Hs) as Hrep'.
    set (dr' := <[thread_state_cell t := thread_is_blocked]> (<[thread_priority_cell t := base_priority X t]> dr)) in *.
    assert (dr' ##ₘ d ∪ e) as Hdr'.
    { destruct Hrep as (_ & dq & dm & dt & -> & _ & _ & _ & _ & Ht). destruct (proj2 Ht t r Hr) as [A B]. unfold dr'.
      assert (forall x v, is_Some (dt !! x) -> dq ∪ (dm ∪ dt) ##ₘ d ∪ e -> forall g : mem, g ##ₘ d ∪ e -> <[x := v]> g ##ₘ d ∪ e) as Hins.
      { intros x v Hx Hdis g Hg. apply map_disjoint_insert_l. split; [|done]. pose proof (own_third dq dm dt x Hx) as [u Hu]. exact (map_disjoint_Some_l _ _ _ _ Hdis Hu). }
      apply Hins; [by eexists|done|]. apply Hins; [by eexists|done|done]. }
    destruct (write_last dr' d e (field_cell "thread" t "wait_kind") 0 Hdr' Hde Hwk) as (E1 & D1 & F1).
    destruct (write_last dr' d _ (field_cell "thread" t "wait_object") NONE D1 F1) as (E2 & D2 & F2); [rewrite own_lookup_ne by (unfold field_cell; congruence); exact Hwo|].
    destruct (write_last dr' d _ (field_cell "thread" t "root") root D2 F2) as (E3 & D3 & F3); [rewrite !own_lookup_ne by (unfold field_cell; congruence); exact Hrt|].
    assert (<[thread_state_cell t := thread_is_blocked]> (<[thread_priority_cell t := base_priority X t]> (dr ∪ (d ∪ e))) = dr' ∪ (d ∪ e)) as E0 by (unfold dr'; by rewrite !own_write).
    assert (is_Some ((<[thread_priority_cell t := base_priority X t]> (dr ∪ (d ∪ e)) : mem) !! thread_state_cell t)) as Hsc'.
    { eexists. rewrite own_lookup_ne by (unfold thread_priority_cell, thread_state_cell; congruence). exact Hsc. }
    assert (is_Some ((<[field_cell "thread" t "wait_kind" := 0]> e : mem) !! field_cell "thread" t "wait_object")) as Hwo' by (rewrite own_lookup_ne by (unfold field_cell; congruence); exact Hwo).
    assert (is_Some ((<[field_cell "thread" t "wait_object" := NONE]> (<[field_cell "thread" t "wait_kind" := 0]> e) : mem) !! field_cell "thread" t "root")) as Hrt'
      by (rewrite !own_lookup_ne by (unfold field_cell; congruence); exact Hrt).
    apply (own_third dr' d) in Hwk, Hwo', Hrt'. unfold thread_reset_code. cbn [fn_body fn_locals]. locals_simpl.
    apply during_seq. eapply during_store; [evaluate|evaluate|eapply eval_load; [evaluate|evaluate|exact Hbase]|eexists; exact Hpc|]. locals_simpl.
    apply during_seq. eapply during_store; [evaluate|evaluate|evaluate|exact Hsc'|]. locals_simpl.
    change (<[("thread"%string, t, "state"%string, 0) := 3]> (<[("thread"%string, t, "priority"%string, 0) := base_priority X t]> (dr ∪ (d ∪ e)))) with
      (<[thread_state_cell t := thread_is_blocked]> (<[thread_priority_cell t := base_priority X t]> (dr ∪ (d ∪ e)))). rewrite E0.
    apply during_seq. eapply during_store; [evaluate|evaluate|evaluate|exact Hwk|]. locals_simpl. now_is (dr' ∪ (d ∪ <[field_cell "thread" t "wait_kind" := 0]> e)) E1.
    apply during_seq. eapply during_store; [evaluate|evaluate|evaluate|exact Hwo'|]. locals_simpl. now_is (dr' ∪ (d ∪ <[field_cell "thread" t "wait_object" := NONE]> (<[field_cell "thread" t "wait_kind" := 0]> e))) E2.
    apply during_seq. eapply during_store; [evaluate|evaluate|evaluate|exact Hrt'|]. locals_simpl.
    now_is (dr' ∪ (d ∪ <[field_cell "thread" t "root" := root]> (<[field_cell "thread" t "wait_object" := NONE]> (<[field_cell "thread" t "wait_kind" := 0]> e)))) E3.
    eapply during_call_whole; [evaluate|by apply new_stack_timed|]. intros v m ->. exists (set_queues s X). split; [by split_and!|]. split; [by eexists dr', d, _|by apply later_same; [|done..|]].
  Qed.
End start.
