(** Threads that other processors have woken, on the scheduler: what the theorems about waking assume of [sched_insert] and [sched_ready] is
    what is proved of these, once the thread's node is the processor's again. *)
From Ashlar Require Export layers.sched.pending.PendingCode layers.sched.cpu.InsertCode.
Local Opaque gmap_lookup gmap_partial_alter.

Section scheduler.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Notation holds := (holds this ours timer).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).

  (** The processor has the node of [t], too. *)
  Definition ready_with_node (t : Z) (s : ready) : ready :=
    Ready (QueueState (queue_lists (ready_queues s)) ({[t]} ∪ queue_free (ready_queues s))) (ready_threads s).
  Definition with_node (t : Z) (X : cpu_state) : cpu_state := set_queues (ready_with_node t (queues X)) X.
  Lemma ready_node_comes t s n d : n ##ₘ d -> free_node t n -> ready_rep cpu s d -> ready_rep cpu (ready_with_node t s) (n ∪ d).
  Proof using.
    intros Hd Hn ((Hv & Hp & Hl) & dq & dm & dt & -> & H3 & H4 & Hq & Hm & Ht). apply map_disjoint_union_r in Hd as [Hd1 Hd2].
    destruct (node_taken (queue_lists (ready_queues s)) (queue_free (ready_queues s)) t (n ∪ dq)) as (_ & _ & Hr).
    { exists n, dq. split; [reflexivity|]. split; [exact Hd1|]. split; [exact Hn|]. destruct s as [[] ?]. exact Hq. }
    split; [split; [exact (proj1 Hr)|split; [exact Hp|exact Hl]]|]. exists (n ∪ dq), dm, dt.
    split; [exact (assoc_L (∪) n dq (dm ∪ dt))|]. split; [apply map_disjoint_union_l; split; [exact Hd2|exact H3]|]. split; [exact H4|].
    split; [exact Hr|]. split; [|exact Ht]. apply (ready_map_same cpu s); [|exact Hm]. intros p _. reflexivity.
  Qed.
  Lemma node_comes t X w : (free_node t ∗ holds X) w -> holds (with_node t X) w.
  Proof using.
    intros (n & x & -> & Hd & Hn & dr & d & e & -> & H1 & H2 & Hr & Ho & He). apply map_disjoint_union_r in Hd as [Hd1 Hd2].
    exists (n ∪ dr), d, e. split; [exact (assoc_L (∪) n dr (d ∪ e))|]. split; [apply map_disjoint_union_l; split; [exact Hd2|exact H1]|].
    split; [exact H2|]. split; [by apply ready_node_comes|]. split; [exact Ho|exact He].
  Qed.

  (** What a function does to the state, as it wakes [t], whose node comes back. *)
  Lemma does_woken f args t X (post : Z -> cpu_state -> Prop) R m g (Q : call_post) : (free_node t ∗ holds X ∗ R) m ->
    does quiet kernel_entry M this ours timer f args (with_node t X) post -> (forall v Y m', post v Y -> (holds Y ∗ R) m' -> Q v m' g) -> fwp J f args m g Q.
  Proof using HJ HE.
    intros Hm Hd HQ'. apply both_assoc in Hm. rewrite <- (right_id_L ∅ (∪) m).
    apply (timed_part quiet kernel_entry M this f args (free_node t ∗ holds X) R (fun v w => exists Y, post v Y /\ holds Y w) m); [|exact Hm|exact HJ|exact HE|apply map_disjoint_empty_r|].
    - intros d Hd'. eapply timed_mono; [|apply Hd; by apply node_comes]. intros v w (Y & HY & Hw & _). by exists Y.
    - intros v d' (w & e & -> & Hwe & (Y & HY & Hw) & He) _. rewrite (right_id_L ∅ (∪)). eapply HQ'; [exact HY|]. by exists w, e.
  Qed.
  (** A thread that was taken out of the pending queue. *)
  Theorem sched_insert_woken t p kp s s' X Y R m g (Q : call_post) : Y = with_node t X ->
    ours t -> 0 <= t < NUM_THREAD -> payer_ok ours Y (payer_of Y t) -> time_ok Y -> may_be_queued this t p kp s Y ->
    sched_park (queues Y) cpu (parked_queue cpu) t = Some s' -> timeouts Y !! (SCHED_RELEASE_BASE + t) = None ->
    (free_node t ∗ holds X ∗ R) m -> (forall W m', inserted this t p kp s s' Y W -> (holds W ∗ R) m' -> Q 0 m' g) ->
    fwp J "sched_insert" [cpu; t] m g Q.
  Proof using HM HQ HT HR HC Hcpu clock timer_arms HJ HE.
    intros E H1 H2 H3 H4 H5 H6 H7 Hm HQ'.
    pose proof (sched_insert_does quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock t p kp s s' Y H1 H2 H3 H4 H5 H6 H7) as Hd.
    rewrite E in Hd at 1. apply (does_woken _ _ _ _ _ _ _ _ _ Hm Hd). intros v W m' [-> HW]. exact (HQ' W m' HW).
  Qed.
  (** A thread of this processor that another layer has woken. *)
  Theorem sched_ready_woken t p kp s s' X Y R m g (Q : call_post) : Y = with_node t X ->
    ours t -> 0 <= t < NUM_THREAD -> payer_ok ours Y (payer_of Y t) -> time_ok Y -> may_be_queued this t p kp s Y ->
    sched_park (queues Y) cpu (parked_queue cpu) t = Some s' -> timeouts Y !! (SCHED_RELEASE_BASE + t) = None ->
    (free_node t ∗ holds X ∗ R) m ->
    (forall W m', (if ((if spends (reservation_of Y t) =? NONE then 0 else 1) =? 0) && (word Y "arch_floor" <=? p) && (word Y "running" <=? p)
      then W = requested (set_word "kept" t Y) else inserted this t p kp s s' Y W) -> (holds W ∗ R) m' -> Q 0 m' g) ->
    fwp J "sched_ready" [t] m g Q.
  Proof using HM HQ HT HR HC Hcpu clock timer_arms HJ HE.
    intros E H1 H2 H3 H4 H5 H6 H7 Hm HQ'.
    pose proof (serves_does quiet kernel_entry M this ours timer _ _ _ _
      (sched_ready_serves quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock t p kp s s' Y H1 H2 H3 H4 H5 H6 H7)) as Hd.
    rewrite E in Hd at 1. apply (does_woken _ _ _ _ _ _ _ _ _ Hm Hd). intros v W m' [-> HW]. exact (HQ' W m' HW).
  Qed.
End scheduler.
