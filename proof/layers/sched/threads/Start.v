(** What [HandOver.v] supposes of a CPU's cells at the start can be met: the CPU's first thread runs, all else is as [ready_memory] of
    the witness has it, and the CPU's cells are those of this memory. *)
From Ashlar Require Import layers.sched.threads.HandOver layers.sched.ready.InitialCells layers.sched.ready.ParkCode.
From stdpp Require Import fin_map_dom.
Local Open Scope Z_scope.
Local Opaque gmap_lookup gmap_partial_alter.

(** A thread is marked: its state's cell changes, and nothing else. *)
Lemma marked_rep cpu s d t x s' : ready_rep cpu s d -> sched_mark s t x = Some s' -> ready_rep cpu s' (<[thread_state_cell t := x]> d).
Proof.
  intros (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht) H. pose proof (sched_mark_valid cpu s Hv t x s' H) as Hv'.
  destruct (mark_moves cpu s Hv t x s' H) as (Hmv & Eq & Hf & r & Hr & [_ Hs]).
  destruct (proj2 Ht _ _ Hr) as [_ Hst]. apply map_disjoint_union_r in Hd as [Hqm Hqt].
  pose proof (ready_threads_mark _ _ t x Ht ltac:(by eexists)) as Ht'.
  destruct (write_third dq dm dt (thread_state_cell t) x) as (Edt & Hqt1 & Hmt1); [by eexists|done|done|].
  rewrite Edt. assert (Es : ready_threads s' = ready_mark t x (ready_threads s)).
  { unfold sched_mark in H. rewrite Hr in H. case_bool_decide; [|done]. by injection H as <-. }
  rewrite union_swap by done. apply ready_join; [done|done|by apply map_disjoint_union_r|by rewrite Eq| |by rewrite Es].
  eapply ready_map_same; [|exact Hm]. apply (moves_same cpu s t s' Hmv).
  - intros p _. by apply in_queue_free; [apply Hv|].
  - intros p _ Hin. by apply Hs in Hin.
Qed.

Section start.
  Context (c : nat) (Hc : Z.of_nat c < NUM_CPU).
  Notation cpu := (Z.of_nat c).
  Definition first_thread : nat := 16 + c.
  Notation t := (Z.of_nat first_thread).
  Notation s0 := (ready_at_start cpu).
  Definition start_ready : ready := Ready (ready_queues s0) (ready_mark t thread_is_running (ready_threads s0)).
  Definition start_memory : mem := current_is c first_thread ∪ <[thread_state_cell t := thread_is_running]> (ready_memory cpu).

  Lemma first_own : t = own_thread cpu 0.
  Proof using. unfold first_thread, own_thread, NUM_CPU. lia. Qed.
  Lemma first_there : ready_threads s0 !! t = Some (ReadyThread 0 0) /\ t ∈ queue_free (ready_queues s0).
  Proof using.
    assert (Hin : t ∈ own_threads cpu) by (apply own_threads_spec; exists 0; split; [lia|apply first_own]).
    split; [by apply start_threads|exact Hin].
  Qed.
  Lemma start_marked : sched_mark s0 t thread_is_running = Some start_ready.
  Proof using. destruct first_there as [Hr Hf]. unfold sched_mark. by rewrite Hr, bool_decide_eq_true_2. Qed.

  Lemma start_ok : sched_ok cpu (Some t) start_ready.
  Proof using Hc.
    pose proof (ready_at_start_valid cpu ltac:(lia)) as Hv. destruct first_there as [Hr Hf].
    assert (Hno : forall q u, ~ in_queue start_ready q u).
    { intros q u (l & Hl & Hu). apply start_queues in Hl as [-> _]. by apply elem_of_nil in Hu. }
    assert (Hst : forall u r, ready_threads start_ready !! u = Some r -> u = t /\ ready_state r = 2 \/ u <> t /\ ready_state r = 0).
    { intros u r (r0 & H0 & _ & [[-> Hs]|[Hne ->]])%ready_mark_lookup; [by left|right]. split; [done|]. by apply start_threads in H0 as [_ ->]. }
    split.
    - by eapply (sched_mark_valid cpu s0 Hv), start_marked.
    - intros u r Hu. exists None. split; [split; [done|]|].
      + intros q. split; [by intros H%Hno|done].
      + unfold place_ok, thread_is_parked, thread_is_ready. destruct (Hst u r Hu) as [[_ ->]|[_ ->]]; split; lia.
    - intros u r Hu. unfold thread_is_running. destruct (Hst u r Hu) as [[-> ->]|[Hne ->]]; split; try done. intros [= E]. congruence.
    - intros u [= <-]. split; [|exact Hf]. eexists. by apply ready_mark_same.
  Qed.

  Lemma start_rep : ready_rep cpu start_ready (<[thread_state_cell t := thread_is_running]> (ready_memory cpu)).
  Proof using Hc. exact (marked_rep cpu s0 _ t thread_is_running _ (ready_memory_rep cpu (conj (Zle_0_nat c) Hc)) start_marked). Qed.

  Lemma start_cells x : is_Some (<[thread_state_cell t := thread_is_running]> (ready_memory cpu) !! x) ->
    x.1.1.1 ∈ cpu_object_names /\ cpu_of_cell x = cpu.
  Proof using Hc.
    intros Hx. apply (own_cells cpu); [lia|]. destruct (decide (x = thread_state_cell t)) as [->|Hne]; [|by rewrite own_lookup_ne in Hx].
    pose proof (ready_memory_rep cpu (conj (Zle_0_nat c) Hc)) as Hrep. revert Hrep. generalize (ready_memory cpu). intros d Hrep.
    destruct Hrep as (_ & dq & dm & dt & -> & _ & _ & _ & _ & Ht).
    destruct (proj2 Ht t _ (proj1 first_there)) as [_ Hs]. apply own_third. exact (ex_intro _ _ Hs).
  Qed.
  Lemma start_disjoint : current_is c first_thread ##ₘ <[thread_state_cell t := thread_is_running]> (ready_memory cpu).
  Proof using Hc.
    apply map_disjoint_singleton_l. apply eq_None_not_Some. intros [Hn _]%start_cells.
    repeat (apply elem_of_cons in Hn as [Hn|Hn]; [done|]). by apply elem_of_nil in Hn.
  Qed.
End start.

(** Sixteen CPUs, thread [u] on CPU [u mod 16]. *)
Definition start_home (u : nat) : nat := Nat.modulo u 16.
Definition start_cell (c : nat) (x : cell) : bool := bool_decide (is_Some (start_memory c !! x)).

Theorem yield_start_valid c : Z.of_nat c < NUM_CPU -> cpu_valid 144 start_home start_cell c (first_thread c) (start_memory c).
Proof.
  intros Hc. exists (start_ready c), (<[thread_state_cell (Z.of_nat (first_thread c)) := thread_is_running]> (ready_memory (Z.of_nat c))).
  split; [done|]. split; [by apply start_disjoint|]. split; [by apply start_rep|]. split; [by apply start_ok|]. split; [|split].
  - intros x [r (r0 & H0 & _)%ready_mark_lookup]. apply start_threads in H0 as [(i & Hi & ->)%own_threads_spec _].
    unfold NUM_CPU in Hc. exists (16 * Z.to_nat (i + 1) + c)%nat. split; [unfold own_thread, NUM_CPU; lia|]. split; [|lia].
    unfold start_home. replace (16 * Z.to_nat (i + 1) + c)%nat with (c + Z.to_nat (i + 1) * 16)%nat by lia.
    rewrite Nat.mod_add by lia. apply Nat.mod_small. lia.
  - unfold first_thread, NUM_CPU. lia.
  - intros x. unfold start_cell. by rewrite bool_decide_eq_true.
Qed.
