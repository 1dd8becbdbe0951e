(** Clients of the scheduler: threads that call functions of [sched.c], and what holds between their calls.

    What a client's thread may call is a matter of what it knows ([call_may]): that it is at work, an event that a call has returned, a thread that
    it has seen to be out of use. Proved: each call that it may do is right in all states in which it may be ([client_may]), as [ClientThreads]
    asks. *)
From Ashlar Require Export layers.sched.threads.ClientThreads layers.notify.ThreadCalls layers.ThreadLocks layers.sched.cpu.PromiseRelease layers.sched.cpu.PromiseStart layers.sched.cpu.PromiseHandOver.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

(** The code of the layers [sched], [thread], [queue], [pagemap], [uctx] and [notify], and of [arch] where it switches threads and keeps their records; nothing
    else has the names of what lies below. The functions that clients call are exported. *)
Record has_scheduler (exported : string -> bool) (M : module) : Prop := {
  has_sched f fd : sched_module f = Some fd -> M f = Some fd; has_queue f fd : queue_module f = Some fd -> M f = Some fd;
  has_thread f fd : thread_module f = Some fd -> M f = Some fd; has_pagemap f fd : pagemap_module f = Some fd -> M f = Some fd;
  has_switch f fd : switch_module f = Some fd -> M f = Some fd; has_resched f fd : resched_module f = Some fd -> M f = Some fd;
  has_notify f fd : notify_module f = Some fd -> M f = Some fd; has_uctx f fd : uctx_module f = Some fd -> M f = Some fd;
  has_records f fd : records_module f = Some fd -> M f = Some fd;
  stack_below : M switch_stack = None; new_stack_below : M new_stack = None; cpu_below : M "arch_cpu"%string = None; bit_below : M "arch_highest_bit"%string = None;
  load_below : M "arch_page_map_load"%string = None;
  calls_exported : Forall (fun f => exported f = true) ["sched_yield"; "sched_decide"; "sched_timer_interrupt"; "sched_release"; "sched_prepare_block";
    "sched_block"; "sched_exit_current"; "sched_hand_over"; "sched_set_deadline"; "sched_ready"; "thread_state"; "thread_reset";
    "notify_poll"; "notify_pending"; "notify_watch"; "notify_unwatch"; "notify_open"; "notify_close"; "notify_signal"]%string }.

(** What [arch], the timer and the interrupt controller do on each CPU, with what they have of it ([timer]), where a CPU's threads are those that [ours] says, and those
    that [user] names may run in user mode. [passes]: primitives that the layer below lets pass. *)
Record arch_does (passes : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (ours : nat -> Z -> Prop) (timer : nat -> mem -> Prop) (user : Z -> Prop) : Prop := {
  timer_arms c e t : timer c e -> timed passes kernel_entry M c "timer_arm" [t] e (fun _ e' => timer c e');
  clock c : clock_forward passes kernel_entry M c;
  loaded_root c : keeps_timer passes kernel_entry M c (timer c) "arch_loaded_root";
  fpu_left c : keeps_timer passes kernel_entry M c (timer c) "arch_fpu_left";
  fpu_leave c : keeps_timer passes kernel_entry M c (timer c) "arch_fpu_leave";
  fpu_unused c : keeps_timer passes kernel_entry M c (timer c) "arch_fpu_unused";
  sends_interrupt c e to v : timer c e -> 0 <= to < NUM_CPU -> timed passes kernel_entry M c "intc_send" [to; v] e (fun _ e' => timer c e');
  roots c e t : timer c e -> ours c t -> exists root, e !! field_cell "thread" t "root" = Some root /\ root_ok root /\ (user t -> root <> NONE);
  starts_threads c e t root : timer c e -> ours c t -> root_ok root -> (user t -> root <> NONE) ->
    is_Some (e !! field_cell "thread" t "wait_kind") /\ is_Some (e !! field_cell "thread" t "wait_object") /\ is_Some (e !! field_cell "thread" t "root") /\
    timer c (<[field_cell "thread" t "root" := root]> (<[field_cell "thread" t "wait_object" := NONE]> (<[field_cell "thread" t "wait_kind" := 0]> e))) }.

(** More may pass. *)
Lemma timed_more (passes passes' : cprim -> Prop) kernel_entry M c f args d post : (forall p, passes p -> passes' p) ->
  timed passes kernel_entry M c f args d post -> timed passes' kernel_entry M c f args d post.
Proof. intros Hq H G J g rest Q HJ HE Hd HQ. apply H; [done| |done|done]. intros s p g' Hn Hp Hr. by apply (HE s p g' Hn (Hq p Hp)). Qed.
Lemma arch_more (passes passes' : cprim -> Prop) kernel_entry M ours timer user : (forall p, passes p -> passes' p) ->
  arch_does passes kernel_entry M ours timer user -> arch_does passes' kernel_entry M ours timer user.
Proof.
  intros Hq [H1 H2 H3 H4 H5 H6 H7 H8 H9]. split; [intros c e t He|intros c past Hpast|intros c e He..|intros c e to v He Hto|exact H8|exact H9]; (eapply timed_more; [exact Hq|]);
    [by apply H1|by apply H2|by apply H3|by apply H4|by apply H5|by apply H6|by apply H7].
Qed.

(** Threads are numbered; thread [n] belongs to CPU [home n]. *)
Definition thread_of (home : nat -> nat) (nthread : nat) (c : nat) (t : Z) : Prop := exists n, t = Z.of_nat n /\ home n = c /\ (n < nthread)%nat.

(** What a thread of the client is about to do: anything, or to mark itself as blocked, with a deadline set; or it is marked, and calls
    [sched_block] next. *)
Inductive stage := Goes | Armed | Marked.

(** The client. [of_thread t u]: thread [t] may come into state [u]. [due]: an event that the timer's interrupt has returned, and that the
    thread has not served: a thread's next period begins, or the deadline of one has come; or a thread that it has started, and not woken.
    [free]: a thread of its CPU that it has seen to be out of use. *)
Section client.
  Context (C : client) (home : nat -> nat) (nthread : nat) (user : Z -> Prop).
  Context (of_thread : nat -> cstate C -> Prop) (at_stage : cstate C -> stage) (due free : cstate C -> option Z).
  (** Functions that leave the scheduler alone. *)
  Context (uses : string -> list Z -> Prop).
  Definition as_before (u u' : cstate C) : Prop := at_stage u' = at_stage u /\ due u' = due u /\ free u' = free u.
  (** Whatever the call returns, the thread goes on, and has nothing to serve. *)
  Definition goes_on (u : cstate C) : Prop := forall v, at_stage (creturn C u v) = Goes /\ due (creturn C u v) = None /\ free (creturn C u v) = None.
  Inductive call_may : nat -> cstate C -> string -> list Z -> Prop :=
  | may_use t u f args : uses f args -> (forall v, as_before u (creturn C u v)) -> call_may t u f args
  | may_notify t u f args : notifies f args -> (forall v, as_before u (creturn C u v)) -> call_may t u f args
  | may_decide t u f : at_stage u = Goes -> f ∈ ["sched_yield"; "sched_decide"; "sched_hand_over"]%string -> goes_on u -> call_may t u f []
  | may_serve_timer t u : at_stage u = Goes ->
      (forall v, at_stage (creturn C u v) = Goes /\ (due (creturn C u v) = None \/ due (creturn C u v) = Some v) /\ free (creturn C u v) = None) ->
      call_may t u "sched_timer_interrupt" []
  | may_release t u x : at_stage u = Goes -> 0 <= x < NUM_THREAD -> due u = Some (SCHED_RELEASE_BASE + x) -> goes_on u ->
      call_may t u "sched_release" [SCHED_RELEASE_BASE + x]
  | may_wake t u x : at_stage u = Goes -> 0 <= x < NUM_THREAD -> due u = Some x -> goes_on u -> call_may t u "sched_ready" [x]
  | may_look t u x : at_stage u = Goes -> thread_of home nthread (home t) x ->
      (forall v, at_stage (creturn C u v) = Goes /\ due (creturn C u v) = None /\
         (free (creturn C u v) = None \/ free (creturn C u v) = Some x /\ (v = THREAD_UNUSED \/ v = thread_is_exited))) -> call_may t u "thread_state" [x]
  | may_start t u x root : at_stage u = Goes -> NUM_CPU <= x -> thread_of home nthread (home t) x -> free u = Some x -> root_ok root -> (user x -> root <> NONE) ->
      (forall v, at_stage (creturn C u v) = Goes /\ (due (creturn C u v) = None \/ due (creturn C u v) = Some x) /\ free (creturn C u v) = None) ->
      call_may t u "thread_reset" [x; root]
  | may_set_deadline t u ns : at_stage u = Goes -> NUM_CPU <= Z.of_nat t -> 0 <= ns <= timer_never -> (forall v, at_stage (creturn C u v) = Armed) ->
      call_may t u "sched_set_deadline" [Z.of_nat t; ns]
  | may_prepare t u : at_stage u <> Marked -> NUM_CPU <= Z.of_nat t -> (forall v, at_stage (creturn C u v) = Marked) -> call_may t u "sched_prepare_block" [Z.of_nat t]
  | may_block_now t u : at_stage u = Marked -> goes_on u -> call_may t u "sched_block" []
  | may_exit t u : at_stage u = Goes -> NUM_CPU <= Z.of_nat t -> goes_on u -> call_may t u "sched_exit_current" [].
  Definition keeps_calls : Prop := forall t u, (t < nthread)%nat -> of_thread t u -> match cnext C (home t) u with
    | CDone => True | CTau u' => of_thread t u' /\ as_before u u' | CCall f args => (forall v, of_thread t (creturn C u v)) /\ call_may t u f args
    | COut v => of_thread t (creturn C u 0) /\ as_before u (creturn C u 0) end.
End client.

Section calls.
  (** Any client; the code of the layers; CPUs and their threads. *)
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (code : has_scheduler exported M).
  Context (ncpu nthread : nat) (cpus : Z.of_nat ncpu <= NUM_CPU) (threads : Z.of_nat nthread <= NUM_THREAD).
  Context (home : nat -> nat) (home_cpu : forall t, (t < nthread)%nat -> (home t < ncpu)%nat).
  Context (begin : nat -> ast (system C (c_engine (arch_builtins kernel_entry) M exported))).
  Context (passes : cprim -> Prop).
  Notation thread_of := (thread_of home nthread).
  Context (timer : nat -> mem -> Prop) (user : Z -> Prop) (arch : arch_does passes kernel_entry M thread_of timer user).

  Definition promises (c : nat) (to : Z) (Y : cpu_state) : Prop := promised c (thread_of c) to Y.
  Lemma promises_thread c to Y : promises c to Y -> thread_of c to.
  Proof using. intros [(_ & Hw & _) _]. by destruct (at_work_thread c (thread_of c) to Y Hw) as (_ & _ & _ & _ & Ho). Qed.
  Lemma thread_bound c t : thread_of c t -> 0 <= t < NUM_THREAD.
  Proof using threads. clear cpus. intros (n & -> & _ & Hn). lia. Qed.

  Context (of_thread : nat -> cstate C -> Prop) (at_stage : cstate C -> stage) (due free : cstate C -> option Z).
  Context (uses : string -> list Z -> Prop) (client_calls : keeps_calls C home nthread user of_thread at_stage due free uses).
  (** A thread that has been started goes on from [begin]. *)
  Context (begins : forall t, (t < nthread)%nat -> exists u m, begin t = @Idle _ _ C (c_engine (arch_builtins kernel_entry) M exported) u m /\
    of_thread t u /\ at_stage u = Goes /\ due u = None /\ free u = None).
  Definition can (t : nat) (u : cstate C) (Y : cpu_state) : Prop := of_thread t u /\
    match at_stage u with
    | Goes => steady (home t) (thread_of (home t)) (Z.of_nat t) Y /\ (forall v, due u = Some v -> was_due v Y) /\ forall x, free u = Some x -> startable x Y
    | Armed => armed (home t) (thread_of (home t)) (Z.of_nat t) Y
    | Marked => waiting (home t) (thread_of (home t)) Y /\ word Y "arch_current" = Z.of_nat t
    end.

  Lemma client_may t u Y : (t < nthread)%nat -> can t u Y -> match cnext C (home t) u with
    | CDone => True | CTau u' => can t u' Y
    | CCall f args => may_call kernel_entry C exported M nthread home passes thread_guards thread_changes thread_of timer promises can t u f args Y \/
        uses f args /\ forall v, can t (creturn C u v) Y
    | COut v => can t (creturn C u 0) Y end.
  Proof using code arch cpus threads home_cpu client_calls.
    set (quiet := may_pass nthread home t passes).
    destruct code as [HM HQ HT HP HW HR HN HU HS _ new_below HC HB load_below functions_exported].
    destruct (arch_more passes quiet kernel_entry M thread_of timer user (fun p Hp => or_introl Hp) arch) as [timer_arms clock loaded_root fpu_left fpu_leave fpu_unused sends roots starts].
    intros Ht [Hof Hcan]. pose proof (client_calls t u Ht Hof) as Hcall. unfold can in *. destruct (cnext C (home t) u) as [|u'|f args|v]; [done| | |].
    { destruct Hcall as (Hof' & Eb & Ed & Ef). by rewrite Eb, Ed, Ef. }
    2: { destruct Hcall as (Hof' & Eb & Ed & Ef). by rewrite Eb, Ed, Ef. }
    destruct Hcall as [Hof' Hcall].
    assert (0 <= Z.of_nat (home t) < NUM_CPU) as Hcpu by (pose proof (home_cpu t Ht); lia). apply Forall_cons in functions_exported as [E1 E]. repeat (apply Forall_cons in E as [? E]).
    assert (forall v Z, goes_on C at_stage due free u -> steady (home t) (thread_of (home t)) (Z.of_nat t) Z -> can t (creturn C u v) Z) as Hafterwards.
    { intros v Z Hgo HZ. destruct (Hgo v) as (Es & Ed & Ef). unfold can. rewrite Es, Ed, Ef. by split_and!. }
    destruct Hcall as [t u f args Huse Hafter|t u f args Hnot Hafter|t u f Hs Hf Hafter|t u Hs Hafter|t u x Hs Hx Hdue Hafter|t u x Hs Hx Hdue Hafter|t u x Hs Hx Hafter|t u x root Hs Hidle Hx Hfree Hroot Huser Hafter|t u ns Hs Hidle Hns Hafter|t u Hs Hidle Hafter|t u Hs Hafter|t u Hs Hidle Hafter];
      [right|left|left; (split; [try done|apply entered_called]); try rewrite Hs in Hcan..].
    - split; [done|]. intros v. split; [done|]. destruct (Hafter v) as (Eb & Ed & Ef). by rewrite Eb, Ed, Ef.
    - split; [destruct Hnot as (n & _ & [[Hf _]|[-> _]]); [|done]; by repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]); apply elem_of_nil in Hf|].
      assert (forall n, 0 <= n < NUM_NOTIFICATION -> thread_guards (lock n) = Some (notify_guarded n)) as notes.
      { intros n Hn. unfold thread_guards. by rewrite (proj2 (notification_of_some (lock n) n)). }
      assert (forall n d0 d, 0 <= n < NUM_NOTIFICATION -> notify_changed n d0 d -> thread_changes (lock n) d0 d) as changed.
      { intros n d0 d Hn Hd. exists n. by rewrite (proj2 (notification_of_some (lock n) n)). }
      destruct (notify_called quiet kernel_entry M (home t) Hcpu (thread_of (home t)) (timer (home t)) HN HQ HT HU HS HC (sends (home t))
        (handed (home t) (thread_of (home t)) (timer (home t)) (promises (home t)) (Z.of_nat t)) (back_again (home t) (thread_of (home t)) (timer (home t)) (promises (home t)) (Z.of_nat t))
        thread_guards thread_changes notes changed f args Y Hnot) as (fd & HMf & Hlen & Hlock). exists fd. split_and!; [done..|]. intros h w Hw Hh G J calm holding g rest HJ HE Hsw HL Hd Hg.
      assert (forall v, can t (creturn C u v) Y) as Hafter'.
      { intros v. split; [done|]. destruct (Hafter v) as (Eb & Ed & Ef). by rewrite Eb, Ed, Ef. }
      eapply wp_mono; [| | |exact (Hlock h w Hw G J calm holding g rest HJ HE Hsw HL Hd Hg)]; cbn beta; [|intros r m g' (h' & d' & _ & _ & _ & [])|];
        intros ? m g' (h' & d' & -> & Hd' & Hg' & -> & Hw'); exists h, d'; (split; [done|split; [done|split; [exact Hg'|]]]); exists Y; (split; [apply Hafter'|by split]).
    - by repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]); apply elem_of_nil in Hf.
    - destruct Hcan as [Hcan _]. repeat (apply elem_of_cons in Hf as [->|Hf]); [..|by apply elem_of_nil in Hf].
      + eapply entered_mono; [|apply serves_entered; apply (sched_yield_steady (home t) Hcpu (thread_of (home t)) quiet kernel_entry M (timer (home t)) HM HR HC (Z.of_nat t) Y Hcan)].
        intros v Z HZ. by apply Hafterwards.
      + eapply entered_mono; [|apply (sched_decide_promised (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HQ HT HW HR HP HC HB load_below
          (timer_arms (home t)) (clock (home t)) (loaded_root (home t)) (fpu_left (home t)) (fpu_leave (home t)) user (roots (home t)) (Z.of_nat t) Y Hcan)].
        intros v Z [_ [HZ _]]. by apply Hafterwards.
      + eapply entered_mono; [|apply (sched_hand_over_promised (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HQ HT HW HR HP HC HB load_below
          (timer_arms (home t)) (clock (home t)) (loaded_root (home t)) (fpu_left (home t)) (fpu_leave (home t)) user (roots (home t)) (Z.of_nat t) Y Hcan)].
        intros v Z [[_ [HZ _]]|[_ ->]]; by apply Hafterwards.
    - destruct Hcan as [Hcan _]. eapply entered_mono; [|apply serves_entered; apply (sched_timer_interrupt_steady (home t) Hcpu (thread_of (home t)) quiet kernel_entry M (timer (home t)) HM HT HW HR HC
          (timer_arms (home t)) (clock (home t)) (Z.of_nat t) Y Hcan)].
      intros v Z [HZ Hdue]. destruct (Hafter v) as (Es & Ed & Ef). unfold can. rewrite Es, Ef. split_and!; [done..| |done]. intros e Ee. destruct Ed as [Ed|Ed]; rewrite Ed in Ee; [done|]. by injection Ee as <-.
    - destruct Hcan as (Hcan & Hwas & _). eapply entered_mono; [|apply serves_entered; apply (sched_release_steady (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HQ HT HR HC
          (timer_arms (home t)) (clock (home t)) (Z.of_nat t) x Y Hcan Hx (Hwas _ Hdue))].
      intros v Z [HZ _]. by apply Hafterwards.
    - destruct Hcan as (Hcan & Hwas & _). destruct (proj2 (Hwas _ Hdue x Hx) eq_refl) as [Hsleeps Hnone].
      eapply entered_mono; [|apply serves_entered; apply (sched_ready_steady (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HQ HT HR HC
          (timer_arms (home t)) (clock (home t)) (Z.of_nat t) x Y Hcan Hsleeps Hnone)].
      intros v Z [HZ _]. by apply Hafterwards.
    - destruct Hcan as [Hcan _]. eapply entered_mono; [|apply serves_entered; apply (thread_state_tells (home t) (thread_of (home t)) quiet kernel_entry M (timer (home t)) HT (Z.of_nat t) x Y Hcan Hx)].
      intros v Z [HZ Hfree]. destruct (Hafter v) as (Es & Ed & Ef). unfold can. rewrite Es, Ed. split_and!; [done..|]. intros y Ey.
      destruct Ef as [Ef|[Ef Hv]]; rewrite Ef in Ey; [done|]. injection Ey as <-. by apply Hfree.
    - destruct Hcan as (Hcan & _ & Hstart). specialize (Hstart x Hfree). pose proof (thread_bound (home t) x Hx) as Hb.
      assert (quiet (new_stack, [x])) as Hstack.
      { right. destruct Hx as (n & -> & Hn & Hlt). exists n. split_and!; [done..|]. intros ->. destruct Hstart as (r & Hr & Hst). destruct Hcan as (_ & Hw & _).
        destruct (at_work_thread (home t) (thread_of (home t)) (Z.of_nat t) Y Hw) as (rs & Hrs & Hrun & _). rewrite Hrs in Hr. injection Hr as ->. rewrite Hrun in Hst. by destruct Hst. }
      eapply entered_mono; [|apply serves_entered; apply (thread_reset_sleeps (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HT HW new_below
          user (starts (home t)) (Z.of_nat t) x root Y Hcan Hidle Hstart Hroot Huser Hstack)].
      intros v Z (HZ & Hsleeps & Hnone). destruct (Hafter v) as (Es & Ed & Ef). unfold can. rewrite Es, Ef. split_and!; [done..| |done].
      intros e Ee. destruct Ed as [Ed|Ed]; rewrite Ed in Ee; [done|]. injection Ee as <-. intros y Hy. split; [unfold SCHED_RELEASE_BASE, NUM_THREAD in *; lia|by intros <-].
    - destruct Hcan as [Hcan _]. eapply entered_mono; [|apply serves_entered; apply (sched_set_deadline_arms (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HC
          (timer_arms (home t)) (Z.of_nat t) ns Y Hcan Hidle Hns)].
      intros v Z HZ. unfold can. by rewrite Hafter.
    - assert (steady (home t) (thread_of (home t)) (Z.of_nat t) Y \/ armed (home t) (thread_of (home t)) (Z.of_nat t) Y) as Hbefore.
      { destruct (at_stage u); [left; apply Hcan|by right|done]. }
      eapply entered_mono; [|apply serves_entered; apply (sched_prepare_block_waits (home t) (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HT (Z.of_nat t) Y Hbefore Hidle)].
      intros v Z HZ. unfold can. by rewrite Hafter.
    - destruct Hcan as [Hwait Hcur]. eapply entered_mono; [|apply (sched_block_promised (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HQ HT HW HR HP HC HB load_below
        (timer_arms (home t)) (clock (home t)) (loaded_root (home t)) (fpu_left (home t)) (fpu_leave (home t)) user (roots (home t)) (Z.of_nat t) Y Hwait Hcur)].
      intros v Z [_ [HZ _]]. by apply Hafterwards.
    - destruct Hcan as [Hcan _]. eapply entered_mono; [|apply (sched_exit_current_promised (home t) Hcpu (thread_of (home t)) (thread_bound (home t)) quiet kernel_entry M (timer (home t)) HM HQ HT HW HR HP HC HB load_below
        (timer_arms (home t)) (clock (home t)) (loaded_root (home t)) (fpu_left (home t)) (fpu_leave (home t)) user (roots (home t)) (Z.of_nat t) (fpu_unused (home t)) Y Hcan Hidle)].
      intros v Z [_ [HZ _]]. by apply Hafterwards.
  Qed.

  Lemma begin_can t : (t < nthread)%nat -> exists u m, begin t = @Idle _ _ C (c_engine (arch_builtins kernel_entry) M exported) u m /\
    forall Y, promises (home t) (Z.of_nat t) Y -> can t u Y.
  Proof using begins.
    intros Ht. destruct (begins t Ht) as (u & m & E & Hof & Hs & Hd & Hfree). exists u, m. split; [done|]. intros Y [HY _]. split; [done|]. rewrite Hs, Hd, Hfree. by split_and!.
  Qed.
End calls.
