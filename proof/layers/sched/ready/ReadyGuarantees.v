(** Ready queues: fairness guarantees to waiting threads.

    A thread is in at most one ready queue, at most once. The next to run has the highest priority of all that are ready,
    and no thread of its priority has waited longer: within a queue the order is first in, first out. The bitmap says
    which queues have a thread. *)
From Ashlar Require Export layers.sched.ready.BitmapCells.

(** ** At most one queue, at most once *)
Section once.
  Context (cpu : Z) (s : ready) (Hv : ready_valid cpu s).

  Lemma ready_list_lookup p t : t ∈ ready_list s cpu p -> queue_lists (ready_queues s) !! ready_queue cpu p = Some (ready_list s cpu p).
  Proof using.
    unfold ready_list. destruct (queue_lists (ready_queues s) !! ready_queue cpu p); [done|]. intros H. by apply elem_of_nil in H.
  Qed.

  Theorem ready_list_once p : NoDup (ready_list s cpu p).
  Proof using Hv.
    unfold ready_list. destruct (queue_lists (ready_queues s) !! ready_queue cpu p) eqn:E; simpl; [|constructor].
    by eapply queue_valid_nodup; [apply Hv|].
  Qed.
  Theorem ready_list_one p p' t : t ∈ ready_list s cpu p -> t ∈ ready_list s cpu p' -> p' = p.
  Proof using Hv.
    intros H H'. assert (ready_queue cpu p' = ready_queue cpu p); [|unfold ready_queue in *; lia].
    eapply queue_valid_one; [apply Hv|by eapply ready_list_lookup|by eapply ready_list_lookup|exact H|exact H'].
  Qed.
  (** It is in no other queue of this CPU either, and not free to be put into one. *)
  Theorem ready_list_nowhere p q l t : t ∈ ready_list s cpu p -> queue_lists (ready_queues s) !! q = Some l -> t ∈ l ->
    q = ready_queue cpu p.
  Proof using Hv.
    intros H Hq Hl. eapply queue_valid_one; [apply Hv|by eapply ready_list_lookup|exact Hq|exact H|exact Hl].
  Qed.
  Theorem ready_list_not_free p t : t ∈ ready_list s cpu p -> t ∉ queue_free (ready_queues s).
  Proof using Hv. intros H. eapply queue_valid_thread; [apply Hv|by eapply ready_list_lookup|done]. Qed.
End once.

(** A thread that is inserted was in no queue before. *)
Theorem sched_ready_insert_new cpu s t v s' p : ready_valid cpu s -> sched_ready_insert s cpu t = Some (v, s') ->
  t ∉ ready_list s cpu p.
Proof.
  unfold sched_ready_insert. intros Hv H Hin. destruct (ready_threads s !! t); [|done]. case_bool_decide; [|done].
  unfold ready_with in H. destruct (queue_enqueue _ _ _) as [[w q]|] eqn:E; [|done].
  apply queue_enqueue_puts in E as (_ & l & _ & _ & Hf & _). by eapply ready_list_not_free.
Qed.

(** ** Taking out leaves exactly the rest *)
Lemma without_perm t l : t ∈ l -> l ≡ₚ t :: without t l.
Proof.
  intros (l1 & l2 & -> & Hl)%elem_of_split_first. rewrite without_split by done. symmetry. apply Permutation_middle.
Qed.

Theorem sched_ready_remove_rest cpu s t v s' : ready_valid cpu s -> sched_ready_remove s cpu t = Some (v, s') ->
  (forall p, t ∉ ready_list s' cpu p) /\ forall p u, u <> t -> u ∈ ready_list s' cpu p <-> u ∈ ready_list s cpu p.
Proof.
  intros Hv H. pose proof H as H0. unfold sched_ready_remove in H0.
  destruct (sched_ready_remove_without _ _ _ _ _ Hv H) as (r & Hr & Hl & Hother). rewrite Hr in H0.
  case_bool_decide as Hin; [|done]. clear H0. pose proof (without_perm _ _ Hin) as Hperm.
  pose proof (ready_list_once cpu s Hv (ready_priority r)) as Hnd. rewrite Hperm in Hnd. apply NoDup_cons in Hnd as [Hnt _]. split.
  - intros p. destruct (decide (p = ready_priority r)) as [->|Hne]; [by rewrite Hl|]. rewrite Hother by done.
    intros H'. apply Hne. by eapply ready_list_one.
  - intros p u Hu. destruct (decide (p = ready_priority r)) as [->|Hne]; [|by rewrite Hother]. rewrite Hl.
    rewrite (elem_of_Permutation_proper u _ _ Hperm). rewrite elem_of_cons. tauto.
Qed.

Theorem sched_ready_take_rest cpu s v s' : ready_valid cpu s -> sched_ready_take s cpu = Some (v, s') -> v <> NONE ->
  (forall p, 0 <= p < NUM_PRIORITY -> v ∉ ready_list s' cpu p) /\
  forall p u, u <> v -> u ∈ ready_list s' cpu p <-> u ∈ ready_list s cpu p.
Proof.
  intros Hv H Hne. destruct (sched_ready_take_first _ _ _ _ H) as [(? & _)|(p & l & Hp & Hl & Hl' & _ & Hother)]; [done|].
  pose proof (ready_list_once cpu s Hv p) as Hnd. rewrite Hl in Hnd. apply NoDup_cons in Hnd as [Hnv _]. split.
  - intros p' _. destruct (decide (p' = p)) as [->|Hnp]; [by rewrite Hl'|]. rewrite Hother by done.
    intros H'. apply Hnp. eapply ready_list_one; [exact Hv| |exact H']. rewrite Hl. by left.
  - intros p' u Hu. destruct (decide (p' = p)) as [->|Hnp]; [|by rewrite Hother]. rewrite Hl', Hl, elem_of_cons. tauto.
Qed.

(** ** The highest priority first *)

(** No ready thread has a higher priority than the one taken. *)
Theorem sched_ready_take_highest cpu s v s' : ready_valid cpu s -> sched_ready_take s cpu = Some (v, s') -> v <> NONE ->
  exists r, ready_threads s !! v = Some r /\
    forall p t, ready_priority r < p < NUM_PRIORITY -> t ∉ ready_list s cpu p.
Proof.
  intros Hv H Hne. destruct (sched_ready_take_first _ _ _ _ H) as [(? & _)|(p & l & Hp & Hl & _ & Hhigh & _)]; [done|].
  destruct (ready_valid_thread _ _ Hv p v Hp) as [_ Ht]; [rewrite Hl; by left|].
  eexists. split; [exact Ht|]. intros p' t Hp'. rewrite Hhigh by done. apply not_elem_of_nil.
Qed.
(** And it takes a thread if one is ready. *)
Theorem sched_ready_take_some cpu s v s' p t : ready_valid cpu s -> sched_ready_take s cpu = Some (v, s') ->
  0 <= p < NUM_PRIORITY -> t ∈ ready_list s cpu p -> v <> NONE.
Proof.
  intros Hv H Hp Ht. destruct (sched_ready_take_first _ _ _ _ H) as [(_ & _ & Hn)|(p' & l & Hp' & Hl & _)].
  - rewrite Hn in Ht by done. by apply elem_of_nil in Ht.
  - intros ->. pose proof (ready_list_some _ _ _ _ _ Hl) as E.
    destruct (queue_valid_thread _ (proj1 Hv) _ _ NONE E) as [[_ ?] _]; [by left|]. by unfold NONE, NUM_THREAD in *.
Qed.

(** ** First in, first out within a priority *)

(** [u] stands before [t]. *)
Definition before (u t : Z) (l : list Z) : Prop := exists l1 l2 l3, l = l1 ++ u :: l2 ++ t :: l3.

Lemma before_snoc u t w l : before u t l -> before u t (l ++ [w]).
Proof.
  intros (l1 & l2 & l3 & ->). exists l1, l2, (l3 ++ [w]). rewrite <- !(assoc_L (++)). simpl. by rewrite <- (assoc_L (++)).
Qed.
Lemma before_last u t l : u ∈ l -> before u t (l ++ [t]).
Proof.
  intros (l1 & l2 & ->)%elem_of_list_split. exists l1, l2, []. by rewrite <- (assoc_L (++)).
Qed.
Lemma before_without u t w l : w <> u -> w <> t -> before u t l -> before u t (without w l).
Proof.
  intros Hu Ht (l1 & l2 & l3 & ->).
  induction l1 as [|x l1 IH]; simpl.
  - rewrite (proj2 (Z.eqb_neq u w)) by done.
    assert (exists m2 m3, without w (l2 ++ t :: l3) = m2 ++ t :: m3) as (m2 & m3 & ->); [|by exists [], m2, m3].
    induction l2 as [|x l2 IH]; simpl.
    + rewrite (proj2 (Z.eqb_neq t w)) by done. by exists [], (without w l3).
    + destruct (x =? w); [by exists l2, l3|]. destruct IH as (m2 & m3 & ->). by exists (x :: m2), m3.
  - destruct (x =? w); [by exists l1, l2, l3|]. destruct IH as (m1 & m2 & m3 & ->). by exists (x :: m1), m2, m3.
Qed.

(** An inserted thread is behind all that are there; *)
Theorem sched_ready_insert_behind cpu s t v s' u p : ready_valid cpu s -> sched_ready_insert s cpu t = Some (v, s') ->
  t ∈ ready_list s' cpu p -> u ∈ ready_list s cpu p -> before u t (ready_list s' cpu p).
Proof.
  intros Hv H Ht Hu. destruct (sched_ready_insert_last _ _ _ _ _ H) as (r & _ & Hl & Hother).
  destruct (decide (p = ready_priority r)) as [->|Hne]; [rewrite Hl; by apply before_last|].
  rewrite Hother in Ht by done. by destruct (sched_ready_insert_new _ _ _ _ _ p Hv H).
Qed.
(** nothing changes the order of two that wait; *)
Theorem sched_ready_insert_order cpu s t v s' u w p : sched_ready_insert s cpu t = Some (v, s') ->
  before u w (ready_list s cpu p) -> before u w (ready_list s' cpu p).
Proof.
  intros H Hb. destruct (sched_ready_insert_last _ _ _ _ _ H) as (r & _ & Hl & Hother).
  destruct (decide (p = ready_priority r)) as [->|Hne]; [rewrite Hl; by apply before_snoc|by rewrite Hother].
Qed.
Theorem sched_ready_remove_order cpu s t v s' u w p : ready_valid cpu s -> sched_ready_remove s cpu t = Some (v, s') ->
  t <> u -> t <> w -> before u w (ready_list s cpu p) -> before u w (ready_list s' cpu p).
Proof.
  intros Hv H Hu Hw Hb. destruct (sched_ready_remove_without _ _ _ _ _ Hv H) as (r & _ & Hl & Hother).
  destruct (decide (p = ready_priority r)) as [->|Hne]; [rewrite Hl; by apply before_without|by rewrite Hother].
Qed.
(** and a thread behind another is not taken first. *)
Theorem sched_ready_take_order cpu s v s' u w p : ready_valid cpu s -> sched_ready_take s cpu = Some (v, s') ->
  before u w (ready_list s cpu p) -> v <> w /\ (v <> u -> before u w (ready_list s' cpu p)).
Proof.
  intros Hv H Hb. pose proof (ready_list_once cpu s Hv p) as Hnd.
  assert (w ∈ ready_list s cpu p) as Hw.
  { destruct Hb as (l1 & l2 & l3 & ->). rewrite !elem_of_app, elem_of_cons, elem_of_app, elem_of_cons. tauto. }
  destruct (sched_ready_take_first _ _ _ _ H) as [(-> & -> & _)|(p' & l & Hp' & Hl & Hl' & _ & Hother)].
  - split; [|done]. intros <-. apply ready_list_lookup in Hw as E.
    destruct (queue_valid_thread _ (proj1 Hv) _ _ NONE E Hw) as [[_ ?] _]. by unfold NONE, NUM_THREAD in *.
  - destruct (decide (p = p')) as [->|Hne].
    + rewrite Hl in *. destruct Hb as (l1 & l2 & l3 & E). destruct l1 as [|x l1]; injection E as -> ->.
      * apply NoDup_cons in Hnd as [Hnd _]. split; [|done]. intros <-. apply Hnd. apply elem_of_app. right. by left.
      * apply NoDup_cons in Hnd as [Hnd _]. split; [|intros _; rewrite Hl'; by exists l1, l2, l3]. intros ->. apply Hnd.
        rewrite elem_of_app, elem_of_cons, elem_of_app, elem_of_cons. tauto.
    + rewrite Hother by done. split; [|done]. intros <-. apply Hne. eapply ready_list_one; [exact Hv| |exact Hw].
      rewrite Hl. by left.
Qed.

(** ** The bitmap mirrors the queues *)
Theorem ready_bitmap_mirrors cpu s d p : ready_rep cpu s d -> 0 <= p < NUM_PRIORITY ->
  exists w, d !! ready_word cpu (p / 64) = Some w /\ (Z.testbit w (p mod 64) = true <-> ready_list s cpu p <> []).
Proof.
  intros (_ & dq & dm & dt & -> & Hd & Hd' & _ & (_ & Hw & _) & _) Hp.
  destruct (Hw (p / 64) (group_range p Hp)) as (w & E & Hws). exists w. split.
  - rewrite (map_union_comm dq (dm ∪ dt)) by done. by apply own_read, own_read.
  - rewrite (proj2 Hws) by (by apply Z.mod_pos_bound). cbn beta. rewrite <- Z.div_mod by done.
    unfold ready_some. by destruct (ready_list s cpu p).
Qed.
