(** A promise that all threads of a CPU can keep: at each switch to [to], [to] is the current thread, it alone runs, it is in no
    queue, and each other thread is where its state says.

    A thread that is marked as blocked, or ends, keeps it: the thread that it hands the CPU to is the kept one, or the most important
    that is ready ([chosen]). So when it is handed the CPU again, the promise holds for itself. *)
From Ashlar Require Export layers.sched.cpu.RunCode.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Section promise.
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
  Notation touches_nothing f := (timed f [] ∅ (fun _ d => d = ∅)).
  Context (loaded_root : touches_nothing "arch_loaded_root"%string).
  Context (fpu_left : touches_nothing "arch_fpu_left"%string) (fpu_leave : touches_nothing "arch_fpu_leave"%string).
  Context (user : Z -> Prop).
  Context (roots : forall e t, timer e -> ours t -> exists root, e !! field_cell "thread" t "root" = Some root /\ root_ok root /\ (user t -> root <> NONE)).

  Definition one_runs (to : Z) (X : cpu_state) : Prop := word X "arch_current" = to /\ sched_ok cpu (Some to) (queues X) /\ sched_owns cpu (queues X).

  Lemma switched_same t X Y : switched_to t X Y -> queues Y = queues X.
  Proof using.
    intros [[_ ->]|[_ (now & _ & ->)]]; [by destruct (_ =? _)|]. unfold spent_at, charged_at. by destruct (_ =? _), (_ =? _).
  Qed.
  Lemma set_to_run_same next X Y : set_to_run this next X Y -> queues Y = queues X.
  Proof using.
    intros (X2 & H2 & Z & floor & H3 & ->). cbn [queues set_word]. assert (queues X2 = queues X) as <-.
    { destruct (_ =? _); [by apply slice_same in H2 as (_ & -> & _)|by subst X2]. }
    destruct (_ && _); [by destruct H3 as [_ ->]|]. by destruct H3 as [_ H3%switched_same].
  Qed.

  Lemma sched_next_owns kept s t s' : ready_valid cpu s -> sched_owns cpu s -> sched_next cpu kept s = Some (t, s') -> sched_owns cpu s'.
  Proof using Hcpu.
    intros Hv Ho H. destruct kept as [k|]; cbn [sched_next] in H.
    - unfold sched_run_kept in H. destruct (ready_threads s !! k); [|done]. cbn [mbind option_bind] in H. destruct (_ && _); [|done].
      destruct (sched_mark s k thread_is_running) as [s1|] eqn:E; [|done]. cbn [mbind option_bind] in H. injection H as <- <-. by eapply owns_mark.
    - unfold sched_pick in H. destruct (sched_ready_take s cpu) as [[v s1]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
      pose proof (owns_take cpu Hcpu s v s1 Hv Ho E) as Ho1. destruct (v =? NONE); [|by injection H as <- <-]. unfold sched_idle in H.
      destruct (sched_mark s1 cpu thread_is_running) as [s2|] eqn:E2; [|done]. cbn [mbind option_bind] in H. injection H as <- <-.
      eapply owns_mark; [|exact Ho1|exact E2]. by eapply sched_ready_take_valid.
  Qed.

  Section thread.
    Context (self : Z) (X : cpu_state) (r : ready_thread).
    Notation goes := (goes quiet kernel_entry M this ours timer one_runs self).
    (** [self], not the idle thread, has been marked; no thread runs; the kept thread is another one, and the next can be charged. *)
    Context (current : word X "arch_current" = self) (not_idle : self <> cpu).
    Context (stands : ready_threads (queues X) !! self = Some r) (not_ready : ready_state r <> thread_is_ready).
    Context (ok : sched_ok cpu None (queues X)) (owns : sched_owns cpu (queues X)).
    Context (kept : forall t, kept_thread X = Some t -> may_be_kept cpu t (queues X) /\ t <> self).
    Context (charge : forall t s, sched_next cpu (kept_thread X) (queues X) = Some (t, s) -> chargeable ours t X).

    Lemma may_block_ok : may_block this ours one_runs self X.
    Proof using Hcpu current not_idle stands not_ready ok owns kept charge.
      destruct (sched_next_some cpu (kept_thread X) (queues X) ok owns) as (t & s & E); [intros t Et; by apply kept|].
      destruct (sched_next_chosen cpu (kept_thread X) (queues X) t s ok E) as [[Hok Hch] _]. pose proof (charge t s E) as Hc.
      pose proof (sched_next_owns _ _ _ _ (ok_valid _ _ _ ok) owns E) as Ho.
      exists t, s. split; [exact E|]. pose proof (ok_free _ _ _ Hok t eq_refl) as [[x Hx] _].
      assert (t <> self) as Hne.
      { eapply (sched_next_other cpu (kept_thread X) self r (queues X) t s); [apply (ok_valid _ _ _ ok)|exact stands|exact not_ready|exact not_idle| |exact E].
        intros Ek. by destruct (kept self Ek). }
      assert (queues (with_next s X) = s) as Eq by (unfold with_next; by destruct (_ =? _)).
      split_and!.
      - unfold chargeable, payer_ok, payer_of, with_next in *. by destruct (_ =? NONE).
      - intros _. exists x. rewrite Eq. split; [done|]. by eapply (ready_valid_priority cpu s (ok_valid _ _ _ Hok) t).
      - intros _ Y HY. split; [done|]. apply set_to_run_same in HY. rewrite Eq in HY. unfold one_runs. cbn [queues set_word word]. rewrite HY.
        by split_and!.
    Qed.
    (** Blocking hands the CPU to another thread, and returns when it is this thread's turn. *)
    Theorem sched_block_promised : goes "sched_block" [] X (fun v Y => v = 0 /\ one_runs self Y /\ word Y "arch_need_resched" = 0).
    Proof using HM HQ HT HW HR HP HC HB load_below loaded_root fpu_left fpu_leave roots timer_arms clock Hcpu current not_idle stands not_ready ok owns kept charge.
      eapply goes_mono; [|apply (sched_block_goes quiet kernel_entry M this Hcpu ours timer HM HQ HT HW HR HP HC HB load_below timer_arms clock
        loaded_root fpu_left fpu_leave user roots one_runs self X may_block_ok)].
      cbn beta. intros v Y [-> (Z & (t & s & E & HZ) & ->)]. split; [done|]. split; [|done].
      destruct (may_block_ok) as (t' & s' & E' & Hr). rewrite E in E'. injection E' as <- <-. unfold ran in HZ.
      assert (word (with_next s X) "arch_current" = self) as Ec by (unfold with_next; destruct (_ =? NONE); exact current). rewrite Ec in HZ.
      assert (t <> self) as Hne.
      { eapply (sched_next_other cpu (kept_thread X) self r (queues X) t s); [apply (ok_valid _ _ _ ok)|exact stands|exact not_ready|exact not_idle| |exact E].
        intros Ek. by destruct (kept self Ek). }
      rewrite (proj2 (Z.eqb_neq t self) Hne) in HZ. exact HZ.
    Qed.
  End thread.
End promise.
