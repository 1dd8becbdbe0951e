(** Ready queues: a CPU's state and its cells determine each other. *)
From Ashlar Require Export layers.sched.ready.BitmapCells layers.queue.Representation.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma cell_thread_priority t u : thread_priority_cell t = thread_priority_cell u -> t = u.
Proof. unfold thread_priority_cell. congruence. Qed.

(** ** The threads' fields *)
Lemma ready_threads_mem m d d' : ready_threads_rep m d -> ready_threads_rep m d' -> d = d'.
Proof.
  intros [Hx Hr] [Hx' Hr']. apply own_eq. intros x. destruct (d !! x) as [v|] eqn:E.
  - destruct (proj1 (Hx x)) as (t & [r Ht] & Hc); [by exists v|]. destruct (Hr t r Ht) as [A B], (Hr' t r Ht) as [A' B'].
    destruct Hc as [-> | ->]; congruence.
  - destruct (d' !! x) as [v|] eqn:E'; [|done]. assert (is_Some (d !! x)) as [? ?]; [|congruence]. apply Hx, Hx'. by exists v.
Qed.
Lemma ready_threads_sub m m' d t r : ready_threads_rep m d -> ready_threads_rep m' d -> m !! t = Some r -> m' !! t = Some r.
Proof.
  intros [Hx Hr] [Hx' Hr'] Ht. destruct (Hr t r Ht) as [A B].
  destruct (proj1 (Hx' (thread_priority_cell t))) as (u & [r' Hu] & [H|H]).
  - by exists (ready_priority r).
  - apply cell_thread_priority in H as <-. destruct (Hr' t r' Hu) as [A' B']. rewrite Hu. f_equal. destruct r, r'. simpl in *. congruence.
  - unfold thread_priority_cell, thread_state_cell in H. congruence.
Qed.
Lemma ready_threads_state m m' d : ready_threads_rep m d -> ready_threads_rep m' d -> m = m'.
Proof.
  intros H H'. apply map_eq. intros t. destruct (m !! t) as [r|] eqn:E; [symmetry; exact (ready_threads_sub m m' d t r H H' E)|].
  destruct (m' !! t) as [r|] eqn:E'; [|done]. pose proof (ready_threads_sub m' m d t r H' H E'). congruence.
Qed.

(** ** The parts of the cells, distinguished by their objects *)
Definition object_of (x : cell) : string := x.1.1.1.
Lemma map_cells_object cpu x : ready_map_cells cpu x -> object_of x = "sched_ready_map"%string.
Proof. intros [(i & _ & ->)|[-> | ->]]; done. Qed.
Lemma queue_cells_object s x : queue_cells s x -> object_of x = "queue"%string \/ object_of x = "queue_node"%string.
Proof. intros [(q & _ & [-> | ->])|(t & _ & [->|[-> | ->]])]; auto. Qed.

(** The partition of the cells by object is unique. *)
Lemma split_same (P : cell -> Prop) (a b a' b' : mem) : a ##ₘ b -> a' ##ₘ b' -> a ∪ b = a' ∪ b' ->
  (forall x, is_Some (a !! x) -> P x) -> (forall x, is_Some (a' !! x) -> P x) ->
  (forall x, is_Some (b !! x) -> ~ P x) -> (forall x, is_Some (b' !! x) -> ~ P x) -> a = a' /\ b = b'.
Proof.
  intros Hd Hd' He Ha Ha' Hb Hb'.
  assert (forall x, (a ∪ b) !! x = (a' ∪ b') !! x) as Hx by (intros x; by rewrite He).
  assert (a = a') as ->.
  { apply own_eq. intros x. specialize (Hx x). destruct (a !! x) as [v|] eqn:E.
    - rewrite (lookup_union_Some_l a b x v E) in Hx. symmetry in Hx. apply lookup_union_Some in Hx as [H|H]; [done| |done].
      destruct (Hb' x); [by exists v|apply Ha; by exists v].
    - destruct (a' !! x) as [v|] eqn:E'; [|done]. rewrite (lookup_union_Some_l a' b' x v E') in Hx.
      destruct (proj1 (lookup_union_Some a b x v Hd) Hx) as [H|H]; [change (a !! x = Some v) in H; congruence|].
      destruct (Hb x); [by exists v|apply Ha'; by exists v]. }
  split; [done|]. apply (map_union_cancel_l _ _ a'); [done|done|done].
Qed.

Section same.
  Context (cpu : Z) (dq dm dt dq' dm' dt' : mem) (s s' : ready).
  Context (Hd : dq ##ₘ (dm ∪ dt)) (Hmt : dm ##ₘ dt) (Hq : queue_rep (ready_queues s) dq).
  Context (Hm : ready_map_rep cpu s dm) (Ht : ready_threads_rep (ready_threads s) dt).
  Context (Hd' : dq' ##ₘ (dm' ∪ dt')) (Hmt' : dm' ##ₘ dt') (Hq' : queue_rep (ready_queues s') dq').
  Context (Hm' : ready_map_rep cpu s' dm') (Ht' : ready_threads_rep (ready_threads s') dt').

  Lemma parts_same : dq ∪ (dm ∪ dt) = dq' ∪ (dm' ∪ dt') -> dq = dq' /\ dm = dm' /\ dt = dt'.
  Proof using Hd Hmt Hq Hm Ht Hd' Hmt' Hq' Hm' Ht'.
    assert (forall s d, queue_rep s d -> forall x, is_Some (d !! x) -> object_of x = "queue"%string \/ object_of x = "queue_node"%string)
      as Aq by (intros s0 d (_ & Hx & _) x H; by eapply queue_cells_object, Hx).
    assert (forall s d, ready_map_rep cpu s d -> forall x, is_Some (d !! x) -> object_of x = "sched_ready_map"%string)
      as Am by (intros s0 d (Hx & _) x H; by eapply map_cells_object, Hx).
    assert (forall m d, ready_threads_rep m d -> forall x, is_Some (d !! x) -> object_of x = "thread"%string)
      as At by (intros m d (Hx & _) x H; by apply Hx in H as (t & _ & [-> | ->])).
    assert (forall m s d e, ready_map_rep cpu s d -> ready_threads_rep m e -> forall x, is_Some ((d ∪ e) !! x) ->
      ~ (object_of x = "queue"%string \/ object_of x = "queue_node"%string)) as Amt.
    { intros m s0 d e Hs He x [v [H|[_ H]]%lookup_union_Some_raw].
      - rewrite (Am _ _ Hs x) by (by exists v). intros [?|?]; done.
      - rewrite (At _ _ He x) by (by exists v). intros [?|?]; done. }
    intros He. destruct (split_same (fun x => object_of x = "queue"%string \/ object_of x = "queue_node"%string)
      dq (dm ∪ dt) dq' (dm' ∪ dt') Hd Hd' He (Aq _ _ Hq) (Aq _ _ Hq') (Amt _ _ _ _ Hm Ht) (Amt _ _ _ _ Hm' Ht')) as [H1 H2].
    split; [exact H1|]. apply (split_same (fun x => object_of x = "sched_ready_map"%string) dm dt dm' dt' Hmt Hmt' H2).
    - exact (Am _ _ Hm).
    - exact (Am _ _ Hm').
    - intros x H. by rewrite (At _ _ Ht x H).
    - intros x H. by rewrite (At _ _ Ht' x H).
  Qed.
End same.

Theorem ready_rep_state cpu s s' d : ready_rep cpu s d -> ready_rep cpu s' d -> s = s'.
Proof.
  intros (_ & dq & dm & dt & E & Hd & Hmt & Hq & Hm & Ht) (_ & dq' & dm' & dt' & E' & Hd' & Hmt' & Hq' & Hm' & Ht').
  destruct (parts_same cpu dq dm dt dq' dm' dt' s s' Hd Hmt Hq Hm Ht Hd' Hmt' Hq' Hm' Ht' (eq_trans (eq_sym E) E'))
    as (-> & -> & ->).
  pose proof (queue_rep_state _ _ _ Hq Hq') as E1. pose proof (ready_threads_state _ _ _ Ht Ht') as E2.
  destruct s as [q m], s' as [q' m']. cbn [ready_queues ready_threads] in E1, E2. by rewrite E1, E2.
Qed.

Theorem ready_rep_mem cpu s d d' : ready_rep cpu s d -> ready_rep cpu s d' -> d = d'.
Proof.
  intros (_ & dq & dm & dt & -> & Hd & Hmt & Hq & Hm & Ht) (_ & dq' & dm' & dt' & -> & Hd' & Hmt' & Hq' & Hm' & Ht').
  by rewrite (queue_rep_mem _ _ _ Hq Hq'), (ready_map_unique _ _ _ _ Hm Hm'), (ready_threads_mem _ _ _ Ht Ht').
Qed.
