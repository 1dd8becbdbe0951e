(** Threads that other processors have woken: the C, which shares a queue between processors.

    The queue's lock, the interrupts, and [sched_insert] are premises, as in [lang/logic/Until.v]. *)
From Ashlar Require Export layers.sched.pending.Pending layers.queue.Nodes layers.queue.Proof layers.sched.Code layers.thread.Proof lang.logic.Until.
Local Opaque gmap_lookup gmap_partial_alter.

Definition pending_queue (c : Z) : Z := QUEUE_PENDING_BASE + c.
(** What the lock of processor [c]'s pending queue guards, while the threads [q] are in it. *)
Definition pending_rep (c : Z) (q : list Z) : mem -> Prop := queue_rep (QueueState {[pending_queue c := q]} ∅).

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
  Notation cpu := (Z.of_nat this).
  Notation call_post := (@call_post G).

  (** ** What the calls do *)
  Definition pending_acquires (c : Z) (m : mem) (g : G) (K : list Z -> (mem -> Prop) -> G -> Prop) : Prop :=
    fwp J "spinlock_acquire" [LOCK_SCHED_PENDING_BASE + c] m g (fun _ m g => exists q F, (pending_rep c q ∗ F) m /\ K q F g).
  Definition pending_releases (c : Z) (q : list Z) (F : mem -> Prop) (g : G) (Q : mem -> G -> Prop) : Prop :=
    forall m, (pending_rep c q ∗ F) m -> fwp J "spinlock_release" [LOCK_SCHED_PENDING_BASE + c] m g (fun _ => Q).
  (** An interrupt of processor [c], if [b]. *)
  Definition interrupt_if (b : bool) (c : Z) (Q : mem -> G -> Prop) (m : mem) (g : G) : Prop :=
    if b then fwp J "intc_send" [c; VECTOR_RESCHEDULE] m g (fun _ => Q) else Q m g.

  Lemma number_of base c es vs k r d : 0 <= c < NUM_CPU -> 0 <= base < 2 ^ 16 -> r !! k = Some c -> evals es r d = Some vs ->
    evals (Bin W32 Add (Const base) (Var k) :: es) r d = Some (base + c :: vs).
  Proof using.
    intros Hc Hb Hr He. cbn [evals eval]. rewrite Hr, He. cbn [binary]. unfold wrap, NUM_CPU in *. rewrite Z.mod_small; [done|]. cbn [bits]. lia.
  Qed.
  Ltac opens code := eapply fwp_body; [exact HJ|by apply HM|done|]; unfold body_wp, code; cbn [fn_body fn_locals]; locals_simpl.
  Lemma pending_threads c q (F : mem -> Prop) m : (pending_rep c q ∗ F) m -> Forall (fun t => t <> NONE) q.
  Proof using.
    intros (d & ? & _ & _ & [Hv _] & _). apply Forall_forall. intros t Ht ->. pose proof (lookup_singleton (M := gmap Z) (pending_queue c) q) as Hl.
    by destruct (queue_valid_thread _ Hv _ _ NONE Hl Ht) as [[_ ?] _].
  Qed.
  Ltac number := apply number_of; [done|unfold LOCK_SCHED_PENDING_BASE, QUEUE_PENDING_BASE; lia|done|evaluate].
  Ltac plain := cbn [set_result]; locals_simpl; locals_plain.

  (** A thread is appended to the pending queue of its processor, which is interrupted if the queue was empty. *)
  Theorem sched_ready_remote_until t home m g (Q : call_post) : 0 <= home < NUM_CPU -> m !! field_cell "thread" t "cpu" = Some home ->
    pending_acquires home m g (fun q F g => exists R, (forall d, F d -> (free_node t ∗ R) d) /\
      pending_releases home (q ++ [t]) R g (interrupt_if (append_sends q) home (Q 0))) ->
    fwp J "sched_ready_remote" [t] m g Q.
  Proof using HM HQ HT HJ HE.
    intros Hh Hc Ha. opens sched_ready_remote_code. until_step.
    eapply wp_read; [eassumption..|evaluate|by apply (thread_cpu_triple kernel_entry M this HT)|]. plain. until_step.
    eapply wp_call; [number|exact Ha|]. cbv beta. clear m g Hc Ha. intros v m g (q & F & Hm & R & HF & Hr). plain. until_step.
    eapply wp_call_part; [eassumption..|number|exact Hm| |].
    { intros d Hd. apply triple_timed. exact (queue_peek_triple kernel_entry M this HQ _ _ _ _ _ Hd (one_peek _ _ _)). }
    clear m Hm v. cbv beta. intros v m [-> Hm]%both_pure_left. plain. until_step. pose proof (pending_threads _ _ _ _ Hm) as Hthr.
    assert (((free_node t ∗ pending_rep home q) ∗ R) m) as H.
    { apply both_assoc. eapply both_mono in Hm; [|exact (fun d H => H)|exact HF]. permute Hm. }
    clear Hm. rename H into Hm.
    eapply wp_call_part; [eassumption..|number|exact Hm| |].
    { intros d (Ht & _ & Hd)%node_taken. apply triple_timed. exact (queue_enqueue_triple kernel_entry M this HQ _ _ _ _ _ _ Hd (one_enqueue _ _ _ _ Ht)). }
    clear m Hm. cbv beta. intros w m [_ Hm]%both_pure_left. plain. until_step.
    eapply wp_call; [number|by apply Hr|]. cbv beta. clear m g Hm Hr w. intros w m g Hq. plain. until_step. change 4294967295 with NONE.
    destruct q as [|u q]; cbn [append_sends interrupt_if first_or] in *.
    - rewrite Z.eqb_refl. eapply wp_call; [evaluate|exact Hq|]. done.
    - rewrite (proj2 (Z.eqb_neq u NONE)) by (by apply Forall_cons in Hthr as [? _]). by until_step.
  Qed.

  (** The processor takes the first thread out, and makes it ready; while more are left it interrupts itself. *)
  Theorem sched_drain_pending_until m g (Q : call_post) : 0 <= cpu < NUM_CPU ->
    pending_acquires cpu m g (fun q F g => match q with
      | [] => pending_releases cpu [] F g (Q 0)
      | t :: l => pending_releases cpu l (free_node t ∗ F) g (interrupt_if (drain_sends q) cpu (fun m g =>
          fwp J "sched_insert" [cpu; t] m g (fun _ => Q 0)))
      end) ->
    fwp J "sched_drain_pending" [] m g Q.
  Proof using HM HQ HC HJ HE.
    intros Hb Ha. opens sched_drain_pending_code. until_step. eapply wp_this_cpu; [eassumption..|]. plain. until_step.
    eapply wp_call; [number|exact Ha|]. cbv beta. clear m g Ha. intros v m g (q & F & Hm & Hr). plain. until_step.
    pose proof (pending_threads _ _ _ _ Hm) as Hthr.
    eapply (wp_call_part quiet kernel_entry M this J HJ HE _ _ _ _ _ _ _ _ _ _ _ _ (fun v d => v = first_or NONE q /\
      match q with [] => pending_rep cpu [] d | t :: l => (free_node t ∗ pending_rep cpu l) d end)); [number|exact Hm| |].
    { intros d Hd. apply triple_timed. destruct q as [|t l].
      - exact (queue_dequeue_triple kernel_entry M this HQ _ _ _ _ _ Hd (one_dequeue_none _ _)).
      - eapply triple_mono; [|exact (queue_dequeue_triple kernel_entry M this HQ _ _ _ _ _ Hd (one_dequeue _ t l _))].
        intros w d' [-> H]. split; [done|]. apply node_given; [apply not_elem_of_empty|exact H]. }
    clear m Hm v. cbv beta. intros v m [-> Hm]%both_pure_left. plain. until_step.
    assert ((pending_rep cpu (tail q) ∗ match q with [] => F | t :: _ => free_node t ∗ F end) m) as H.
    { destruct q as [|t l]; [exact Hm|]. apply both_flat in Hm. permute Hm. }
    clear Hm. rename H into Hm.
    eapply wp_call_part; [eassumption..|number|exact Hm| |].
    { intros d Hd. apply triple_timed. exact (queue_peek_triple kernel_entry M this HQ _ _ _ _ _ Hd (one_peek _ _ _)). }
    clear m Hm. cbv beta. intros w m [-> Hm]%both_pure_left. plain. until_step.
    destruct q as [|t l]; cbn [tail first_or] in *.
    - eapply wp_call; [number|by apply Hr|]. cbv beta. clear m g Hm Hr. intros v m g H. plain. until_step. until_step. change 4294967295 with NONE.
      rewrite Z.eqb_refl. cbn [negb]. until_step. until_step. change 4294967295 with NONE. rewrite Z.eqb_refl. cbn [negb]. by until_step.
    - apply Forall_cons in Hthr as [Ht Hl]. eapply wp_call; [number|by apply Hr|]. cbv beta. clear m g Hm Hr. intros v m g H. plain. until_step. until_step.
      change 4294967295 with NONE.
      assert (forall m g, fwp J "sched_insert" [cpu; t] m g (fun _ => Q 0) ->
        wp J (If (Cmp Ne (Var 1) (Const NONE)) (Call None "sched_insert" [Var 0; Var 1]) Skip) (fun _ m g => Q 0 m g) (fun _ _ _ => False) Q
          [cpu; t; first_or NONE l] m g) as Hins.
      { intros m1 g1 H1. until_step. rewrite (proj2 (Z.eqb_neq t NONE)) by done. cbn [negb]. by eapply wp_call; [evaluate|exact H1|]. }
      destruct l as [|u l]; cbn [drain_sends interrupt_if first_or] in *.
      + rewrite Z.eqb_refl. cbn [negb]. until_step. by apply Hins.
      + apply Forall_cons in Hl as [Hu _]. rewrite (proj2 (Z.eqb_neq u NONE)) by done. cbn [negb]. eapply wp_call; [evaluate|exact H|]. cbv beta.
      intros w m1 g1. apply Hins.
  Qed.

  (** So is a thread of another processor that [sched_ready] is called for. *)
  Theorem sched_ready_other_until t home m g (Q : call_post) : m !! field_cell "thread" t "cpu" = Some home -> home <> cpu ->
    fwp J "sched_ready_remote" [t] m g (fun _ => Q 0) -> fwp J "sched_ready" [t] m g Q.
  Proof using HM HT HC HJ HE.
    intros Hc Hne Hr. opens sched_ready_code. until_step. eapply wp_this_cpu; [eassumption..|]. plain. until_step.
    eapply wp_read; [eassumption..|evaluate|by apply (thread_cpu_triple kernel_entry M this HT)|]. plain. do 2 until_step.
    rewrite (proj2 (Z.eqb_neq home cpu)) by done. cbn [negb]. until_step. eapply wp_call; [evaluate|exact Hr|]. cbv beta. intros v m1 g1 H. by until_step.
  Qed.
End proof.
