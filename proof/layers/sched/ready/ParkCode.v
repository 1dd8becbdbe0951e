(** The scheduler's functions that mark a thread, in C: [sched_ready_park], and [thread_set_state] on a CPU's cells. *)
From Ashlar Require Export layers.sched.ready.ReadyCode layers.sched.pick.ThreadMoves.
Local Opaque gmap_lookup gmap_partial_alter.

(** The bitmap does not see other queues. *)
Lemma moves_same cpu s t s' : moves s t s' -> (forall p, 0 <= p < NUM_PRIORITY -> ~ in_queue s (ready_queue cpu p) t) ->
  (forall p, 0 <= p < NUM_PRIORITY -> ~ in_queue s' (ready_queue cpu p) t) ->
  forall p, 0 <= p < NUM_PRIORITY -> ready_some s' cpu p = ready_some s cpu p.
Proof.
  intros Hm Hs Hs' p Hp. assert (forall u, u ∈ ready_list s' cpu p <-> u ∈ ready_list s cpu p) as H.
  { intros u. rewrite <- !in_ready_list. destruct (decide (u = t)) as [->|Hne].
    - split; intros H; [by destruct (Hs' p Hp)|by destruct (Hs p Hp)].
    - by apply (Hm u Hne). }
  unfold ready_some. destruct (ready_list s' cpu p) as [|u l], (ready_list s cpu p) as [|u' l']; try done.
  - assert (u' ∈ []) as Hin by (apply H; by left). by apply elem_of_nil in Hin.
  - assert (u ∈ []) as Hin by (apply H; by left). by apply elem_of_nil in Hin.
Qed.

(** A thread that is in no queue is marked: its state's cell changes, and nothing else, wherever its node is. *)
Lemma marked_nowhere cpu s d t x : ready_rep cpu s d -> is_Some (ready_threads s !! t) -> (forall q, ~ in_queue s q t) ->
  ready_rep cpu (Ready (ready_queues s) (ready_mark t x (ready_threads s))) (<[thread_state_cell t := x]> d).
Proof.
  intros (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht) [r Hr] Hno. set (s' := Ready (ready_queues s) (ready_mark t x (ready_threads s))).
  assert (moves s t s') as Hmv.
  { intros u Hu. split; [cbn; by apply ready_mark_other|]. split; [intros q|]; apply iff_refl. }
  assert (ready_valid cpu s') as Hv'.
  { apply (moves_valid cpu s Hv t s' Hmv); [apply Hv|by intros q| |intros p _ Hin; by destruct (Hno _ Hin)].
    intros r' E. cbn in E. rewrite (ready_mark_same _ _ _ _ Hr) in E. injection E as <-. exact (ready_valid_priority cpu s Hv t r Hr). }
  destruct (proj2 Ht _ _ Hr) as [_ Hst]. apply map_disjoint_union_r in Hd as [Hqm Hqt].
  pose proof (ready_threads_mark _ _ t x Ht ltac:(by eexists)) as Ht'.
  destruct (write_third dq dm dt (thread_state_cell t) x) as (Edt & Hqt1 & Hmt1); [by eexists|done|done|].
  rewrite Edt, union_swap by done. apply ready_join; [done|done|by apply map_disjoint_union_r|exact Hq| |exact Ht'].
  eapply ready_map_same; [|exact Hm]. apply (moves_same cpu s t s' Hmv); intros p _; apply Hno.
Qed.
Lemma marked_rep cpu s d t x s' : ready_rep cpu s d -> sched_mark s t x = Some s' -> ready_rep cpu s' (<[thread_state_cell t := x]> d).
Proof.
  intros Hrep H. pose proof (proj1 Hrep) as Hv. destruct (mark_moves cpu s Hv t x s' H) as (_ & _ & Hf & r & Hr & _).
  assert (s' = Ready (ready_queues s) (ready_mark t x (ready_threads s))) as ->.
  { unfold sched_mark in H. rewrite Hr in H. case_bool_decide; [|done]. by injection H as <-. }
  apply marked_nowhere; [done|by eexists|]. intros q. by apply in_queue_free; [apply Hv|].
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).
  Notation body_triple := (body_triple kernel_entry M this).

  Lemma sched_mark_body cpu s d t x s' : ready_rep cpu s d -> sched_mark s t x = Some s' ->
    body_triple "thread_set_state" [t; x] d (fun w d' => w = 0 /\ ready_rep cpu s' d').
  Proof using HT.
    intros Hrep H. pose proof Hrep as (Hv & dq & dm & dt & E & _ & _ & _ & _ & Ht).
    destruct (mark_moves cpu s Hv t x s' H) as (_ & _ & _ & r & Hr & _). destruct (proj2 Ht _ _ Hr) as [_ Hst].
    eapply body_triple_mono; [|apply (thread_set_state_body kernel_entry M this HT); rewrite E; apply own_third; by eexists].
    cbn beta. intros w d' [-> ->]. split; [done|]. exact (marked_rep cpu s d t x s' Hrep H).
  Qed.
  Theorem sched_mark_triple cpu s d t x s' : ready_rep cpu s d -> sched_mark s t x = Some s' ->
    triple "thread_set_state" [t; x] d (fun w d' => w = 0 /\ ready_rep cpu s' d').
  Proof using HT. intros. by eapply body_triple_triple, sched_mark_body. Qed.

  Lemma sched_ready_park_body cpu s d q t s' : ready_rep cpu s d -> sched_park s cpu q t = Some s' ->
    body_triple "sched_ready_park" [q; t] d (fun w d' => w = 0 /\ ready_rep cpu s' d').
  Proof using HM HQ HT.
    intros (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht) H. pose proof (sched_park_valid cpu s Hv q t s' H) as Hv'.
    destruct (park_moves cpu s Hv q t s' H) as (Hmv & _ & _ & Hnq & _ & r & Hr & [_ Hs]).
    destruct (proj2 Ht _ _ Hr) as [_ Hst]. apply map_disjoint_union_r in Hd as [Hqm Hqt].
    pose proof (ready_threads_mark _ _ t thread_is_parked Ht ltac:(by eexists)) as Ht'.
    destruct (write_third dq dm dt (thread_state_cell t) thread_is_parked) as (Edt & Hqt1 & Hmt1); [by eexists|done|done|].
    unfold sched_park in H. rewrite Hr in H. destruct (_ && _); [|done].
    destruct (queue_enqueue _ _ _) as [[v q']|] eqn:E; [|done]. injection H as <-.
    assert (t ∈ queue_free (ready_queues s)) as Hf by (by apply queue_enqueue_puts in E as (_ & l & _ & _ & ? & _)).
    eapply body_triple_body; [apply HM; reflexivity|reflexivity|]. unfold sched_ready_park_code. locals_simpl. step.
    eapply owned_call_whole; [evaluate|apply (thread_set_state_triple kernel_entry M this HT); apply own_third; by eexists|].
    intros w d' [-> ->]. locals_simpl. unfold field_cell. change ("thread"%string, t, "state"%string, 0) with (thread_state_cell t).
    change (<[thread_state_cell t := 4]> ?d) with (<[thread_state_cell t := thread_is_parked]> d). rewrite Edt.
    eapply owned_call; [evaluate|by apply map_disjoint_union_r|by eapply (queue_enqueue_triple kernel_entry M this HQ)|].
    intros w dq' [_ Hq'] [Hqm' Hqt']%map_disjoint_union_r. split; [done|].
    rewrite union_swap by done. apply ready_join; [done|done|by apply map_disjoint_union_r|done| |done].
    eapply ready_map_same; [|exact Hm]. apply (moves_same cpu s t _ Hmv).
    - intros p _. by apply in_queue_free; [apply Hv|].
    - intros p Hp Hin. apply Hs in Hin. injection Hin as ->. apply Hnq. unfold ready_queue. lia.
  Qed.
  Theorem sched_ready_park_triple cpu s d q t s' : ready_rep cpu s d -> sched_park s cpu q t = Some s' ->
    triple "sched_ready_park" [q; t] d (fun w d' => w = 0 /\ ready_rep cpu s' d').
  Proof using HM HQ HT. intros. by eapply body_triple_triple, sched_ready_park_body. Qed.
End proof.
