(** Linked lists in cells: what a store leaves alone, and taking a thread in or out between two halves of a list.

    A list [l1 ++ l2] is cut at one place. Its head half knows what follows it in one cell ([left_cell]: the queue's
    [first], or the last thread's [next]), its tail half what precedes it in another ([right_cell]). To put a thread in
    between is to write these two cells and the thread's own. *)
From Ashlar Require Export lang.logic.Owned layers.queue.Spec.

Lemma first_or_app n l1 l2 : first_or n (l1 ++ l2) = first_or (first_or n l2) l1.
Proof. by destruct l1. Qed.
Lemma last_or_app p l1 l2 : last_or p (l1 ++ l2) = last_or (last_or p l1) l2.
Proof. revert p. induction l1; simpl; auto. Qed.

Definition node_cell (t : Z) (x : cell) : Prop := x = node_queue t \/ x = node_next t \/ x = node_previous t.
Definition nodes_cell (l : list Z) (x : cell) : Prop := exists t, t ∈ l /\ node_cell t x.

Lemma node_cell_inj t u x : node_cell t x -> node_cell u x -> t = u.
Proof. unfold node_cell, node_queue, node_next, node_previous. intros [->|[-> | ->]] [H|[H|H]]; congruence. Qed.
Lemma node_cell_first t q : ~ node_cell t (queue_first q).
Proof. unfold node_cell, node_queue, node_next, node_previous, queue_first. intros [H|[H|H]]; congruence. Qed.
Lemma node_cell_last t q : ~ node_cell t (queue_last q).
Proof. unfold node_cell, node_queue, node_next, node_previous, queue_last. intros [H|[H|H]]; congruence. Qed.
Lemma node_cell_queue t : node_cell t (node_queue t). Proof. by left. Qed.
Lemma node_cell_next t : node_cell t (node_next t). Proof. by right; left. Qed.
Lemma node_cell_previous t : node_cell t (node_previous t). Proof. by right; right. Qed.
Lemma nodes_cell_node l t x : node_cell t x -> nodes_cell l x -> t ∈ l.
Proof. intros Hx (u & Hu & Hux). by rewrite (node_cell_inj t u x). Qed.

(** ** What a store elsewhere leaves alone *)
Lemma node_keep d x v t q p n : ~ node_cell t x -> node_is d t q p n -> node_is (<[x := v]> d) t q p n.
Proof.
  unfold node_cell, node_is. intros Hx (H1 & H2 & H3). split_and!; (rewrite own_lookup_ne; [done|]); intros ->; tauto.
Qed.
Lemma chain_keep d x v q p l n : ~ nodes_cell l x -> chain d q p l n -> chain (<[x := v]> d) q p l n.
Proof.
  revert p. induction l as [|t l IH]; intros p Hx; [done|]. intros [Hn Hc]. split.
  - apply node_keep; [|done]. intros H. apply Hx. exists t. split; [by left|done].
  - apply IH; [|done]. intros (u & Hu & H). apply Hx. exists u. split; [by right|done].
Qed.

Lemma chain_app d q p l1 l2 n :
  chain d q p (l1 ++ l2) n <-> chain d q p l1 (first_or n l2) /\ chain d q (last_or p l1) l2 n.
Proof.
  revert p. induction l1 as [|t l1 IH]; intros p; simpl; [tauto|]. rewrite first_or_app, IH. tauto.
Qed.

(** ** Halves *)
Definition head_half (d : mem) (q : Z) (l : list Z) (n : Z) : Prop :=
  d !! queue_first q = Some (first_or n l) /\ chain d q NONE l n.
Definition tail_half (d : mem) (q p : Z) (l : list Z) : Prop :=
  d !! queue_last q = Some (last_or p l) /\ chain d q p l NONE.

Lemma queue_is_halves d q l1 l2 :
  queue_is d q (l1 ++ l2) <-> head_half d q l1 (first_or NONE l2) /\ tail_half d q (last_or NONE l1) l2.
Proof. unfold queue_is, head_half, tail_half. rewrite first_or_app, last_or_app, chain_app. tauto. Qed.
Lemma queue_is_between d q l1 t l2 :
  queue_is d q (l1 ++ t :: l2) <->
  head_half d q l1 t /\ node_is d t q (last_or NONE l1) (first_or NONE l2) /\ tail_half d q t l2.
Proof. rewrite queue_is_halves. unfold tail_half. simpl. tauto. Qed.

Lemma head_keep d x v q l n :
  x <> queue_first q -> ~ nodes_cell l x -> head_half d q l n -> head_half (<[x := v]> d) q l n.
Proof. intros Hx Hl [H1 H2]. split; [by rewrite own_lookup_ne|by apply chain_keep]. Qed.
Lemma tail_keep d x v q p l :
  x <> queue_last q -> ~ nodes_cell l x -> tail_half d q p l -> tail_half (<[x := v]> d) q p l.
Proof. intros Hx Hl [H1 H2]. split; [by rewrite own_lookup_ne|by apply chain_keep]. Qed.
Lemma queue_keep d x v q l :
  x <> queue_first q -> x <> queue_last q -> ~ nodes_cell l x -> queue_is d q l -> queue_is (<[x := v]> d) q l.
Proof. intros Hf Hl Hx (H1 & H2 & H3). split_and!; [by rewrite own_lookup_ne..|by apply chain_keep]. Qed.

(** The cell that says what follows [l], and the one that says what precedes it. *)
Definition left_cell (q : Z) (l : list Z) : cell :=
  match l with [] => queue_first q | t :: l => node_next (last_or t l) end.
Definition right_cell (q : Z) (l : list Z) : cell :=
  match l with [] => queue_last q | t :: _ => node_previous t end.

Lemma left_cell_snoc q l u : left_cell q (l ++ [u]) = node_next u.
Proof. destruct l as [|t l]; simpl; [done|]. by rewrite last_or_app. Qed.

Lemma head_relink d q l n n' : NoDup l -> head_half d q l n -> head_half (<[left_cell q l := n']> d) q l n'.
Proof.
  intros Hl. destruct l as [|u l _] using rev_ind.
  - intros [H _]. split; [apply own_lookup|done].
  - rewrite left_cell_snoc. unfold head_half. rewrite !first_or_app, !chain_app. simpl. unfold node_is.
    apply NoDup_app in Hl as (_ & Hd & _). intros (H1 & H2 & (H3 & H4 & H5) & _). split_and!.
    + by rewrite own_lookup_ne.
    + apply chain_keep; [|done]. intros H. apply (Hd u); [|by left].
      eapply nodes_cell_node; [apply node_cell_next|done].
    + by rewrite own_lookup_ne by (unfold node_queue, node_next; congruence).
    + by rewrite own_lookup_ne by (unfold node_previous, node_next; congruence).
    + apply own_lookup.
    + done.
Qed.
Lemma tail_relink d q p p' l : NoDup l -> tail_half d q p l -> tail_half (<[right_cell q l := p']> d) q p' l.
Proof.
  destruct l as [|u l]; intros Hl.
  - intros [H _]. split; [apply own_lookup|done].
  - apply NoDup_cons in Hl as [Hu _]. intros (H1 & (H3 & H4 & H5) & H2). unfold tail_half. simpl. unfold node_is. split_and!.
    + by rewrite own_lookup_ne.
    + by rewrite own_lookup_ne by (unfold node_previous, node_queue; congruence).
    + apply own_lookup.
    + by rewrite own_lookup_ne by (unfold node_previous, node_next; congruence).
    + apply chain_keep; [|done]. intros H. apply Hu. eapply nodes_cell_node; [apply node_cell_previous|done].
Qed.

Lemma last_or_elem t l : last_or t l ∈ t :: l.
Proof. revert t. induction l as [|u l IH]; intros t; [by left|]. right. apply IH. Qed.

(** Where the two cells are: with the queue or in its half. *)
Lemma left_cell_cases q l : left_cell q l = queue_first q \/ exists t, t ∈ l /\ left_cell q l = node_next t.
Proof. destruct l as [|t l]; [by left|]. right. exists (last_or t l). split; [apply last_or_elem|done]. Qed.
Lemma right_cell_cases q l : right_cell q l = queue_last q \/ exists t, t ∈ l /\ right_cell q l = node_previous t.
Proof. destruct l as [|t l]; [by left|]. right. exists t. split; [by left|done]. Qed.

Lemma left_cell_nodes q l l' : (forall t, t ∈ l -> t ∉ l') -> ~ nodes_cell l' (left_cell q l).
Proof.
  intros Hd. destruct (left_cell_cases q l) as [->|(t & Ht & ->)].
  - intros (u & _ & H). by eapply node_cell_first.
  - intros H. apply (Hd t Ht). eapply nodes_cell_node; [apply node_cell_next|done].
Qed.
Lemma right_cell_nodes q l l' : (forall t, t ∈ l -> t ∉ l') -> ~ nodes_cell l' (right_cell q l).
Proof.
  intros Hd. destruct (right_cell_cases q l) as [->|(t & Ht & ->)].
  - intros (u & _ & H). by eapply node_cell_last.
  - intros H. apply (Hd t Ht). eapply nodes_cell_node; [apply node_cell_previous|done].
Qed.
Lemma left_cell_not_last q q' l : left_cell q l <> queue_last q'.
Proof.
  destruct (left_cell_cases q l) as [->|(t & _ & ->)]; unfold queue_first, queue_last, node_next; congruence.
Qed.
Lemma right_cell_not_first q q' l : right_cell q l <> queue_first q'.
Proof.
  destruct (right_cell_cases q l) as [->|(t & _ & ->)]; unfold queue_first, queue_last, node_previous; congruence.
Qed.
Lemma left_cell_not_first q q' l : q' <> q -> left_cell q l <> queue_first q'.
Proof.
  intros Hq. destruct (left_cell_cases q l) as [->|(t & _ & ->)]; unfold queue_first, node_next; congruence.
Qed.
Lemma right_cell_not_last q q' l : q' <> q -> right_cell q l <> queue_last q'.
Proof.
  intros Hq. destruct (right_cell_cases q l) as [->|(t & _ & ->)]; unfold queue_last, node_previous; congruence.
Qed.
Lemma left_right_cell q q' l l' : left_cell q l <> right_cell q' l'.
Proof.
  destruct (left_cell_cases q l) as [->|(t & _ & ->)], (right_cell_cases q' l') as [->|(u & _ & ->)];
    unfold queue_first, queue_last, node_previous, node_next; congruence.
Qed.

(** ** Taking a thread in and out *)

(** The thread's own cells. *)
Definition set_node (t q p n : Z) (d : mem) : mem :=
  <[node_queue t := q]> (<[node_next t := n]> (<[node_previous t := p]> d)).
(** Both halves. *)
Definition set_halves (q : Z) (l1 l2 : list Z) (n p : Z) (d : mem) : mem :=
  <[left_cell q l1 := n]> (<[right_cell q l2 := p]> d).

Definition link (q : Z) (l1 : list Z) (t : Z) (l2 : list Z) (d : mem) : mem :=
  set_halves q l1 l2 t t (set_node t q (last_or NONE l1) (first_or NONE l2) d).
Definition unlink (q : Z) (l1 : list Z) (t : Z) (l2 : list Z) (d : mem) : mem :=
  set_halves q l1 l2 (first_or NONE l2) (last_or NONE l1) (set_node t NONE NONE NONE d).

Lemma set_node_is t q p n d : node_is (set_node t q p n d) t q p n.
Proof.
  unfold set_node, node_is. split_and!.
  - apply own_lookup.
  - rewrite !own_lookup_ne by (unfold node_queue, node_next, node_previous; congruence). apply own_lookup.
  - rewrite own_lookup_ne by (unfold node_queue, node_next, node_previous; congruence). apply own_lookup.
Qed.

(** Anything that stores to a node's cells leave alone, [set_node] leaves alone. *)
Lemma set_node_keep (P : mem -> Prop) t q p n d :
  (forall x v d, node_cell t x -> P d -> P (<[x := v]> d)) -> P d -> P (set_node t q p n d).
Proof.
  intros H HP. unfold set_node. apply H, H, H; auto using node_cell_queue, node_cell_next, node_cell_previous.
Qed.
Lemma set_halves_keep (P : mem -> Prop) q l1 l2 n p d :
  (forall v d, P d -> P (<[left_cell q l1 := v]> d)) -> (forall v d, P d -> P (<[right_cell q l2 := v]> d)) ->
  P d -> P (set_halves q l1 l2 n p d).
Proof. intros H1 H2 HP. unfold set_halves. auto. Qed.

Section splice.
  Context (q t : Z) (l1 l2 : list Z) (Hnd : NoDup (l1 ++ l2)) (Ht : t ∉ l1 ++ l2).

  Lemma splice_disjoint u : u ∈ l1 -> u ∉ l2.
  Proof using Hnd. apply NoDup_app in Hnd as (_ & H & _). auto. Qed.

  Lemma set_halves_halves d n p n' p' :
    head_half d q l1 n -> tail_half d q p l2 ->
    head_half (set_halves q l1 l2 n' p' d) q l1 n' /\ tail_half (set_halves q l1 l2 n' p' d) q p' l2.
  Proof using Hnd.
    intros Hh Htl. pose proof Hnd as (Hn1 & _ & Hn2)%NoDup_app. unfold set_halves. split.
    - eapply head_relink; [done|]. apply head_keep; [apply right_cell_not_first| |exact Hh].
      apply right_cell_nodes. intros u Hu Hu'. by eapply splice_disjoint.
    - apply tail_keep; [apply left_cell_not_last|apply left_cell_nodes, splice_disjoint|].
      by eapply tail_relink.
  Qed.

  Lemma set_node_halves d q' p' n' n p :
    head_half d q l1 n -> tail_half d q p l2 ->
    head_half (set_node t q' p' n' d) q l1 n /\ tail_half (set_node t q' p' n' d) q p l2.
  Proof using Ht.
    rewrite not_elem_of_app in Ht. destruct Ht as [Ht1 Ht2]. intros Hh Htl.
    split; apply set_node_keep; try done; intros x v m Hx Hm.
    - apply head_keep; [|intros ?; apply Ht1; by eapply nodes_cell_node|done].
      intros ->. by eapply node_cell_first.
    - apply tail_keep; [|intros ?; apply Ht2; by eapply nodes_cell_node|done].
      intros ->. by eapply node_cell_last.
  Qed.

  Lemma set_halves_node d n p q' p' n' :
    node_is d t q' p' n' -> node_is (set_halves q l1 l2 n p d) t q' p' n'.
  Proof using Ht.
    rewrite not_elem_of_app in Ht. destruct Ht as [Ht1 Ht2].
    apply (set_halves_keep (fun d => node_is d t q' p' n')); intros v m; apply node_keep; intros Hx.
    - apply (left_cell_nodes q l1 [t]); [|exists t; split; [by left|done]].
      intros u Hu [->|[]%elem_of_nil]%elem_of_cons. by apply Ht1.
    - apply (right_cell_nodes q l2 [t]); [|exists t; split; [by left|done]].
      intros u Hu [->|[]%elem_of_nil]%elem_of_cons. by apply Ht2.
  Qed.

  Lemma link_queue d : queue_is d q (l1 ++ l2) -> queue_is (link q l1 t l2 d) q (l1 ++ t :: l2).
  Proof using Hnd Ht.
    intros [Hh Htl]%queue_is_halves. apply queue_is_between. unfold link.
    destruct (set_node_halves d q (last_or NONE l1) (first_or NONE l2) _ _ Hh Htl) as [Hh' Htl'].
    destruct (set_halves_halves _ _ _ t t Hh' Htl') as [Hh'' Htl'']. split_and!; try done.
    apply set_halves_node, set_node_is.
  Qed.

  Lemma unlink_queue d : queue_is d q (l1 ++ t :: l2) -> queue_is (unlink q l1 t l2 d) q (l1 ++ l2).
  Proof using Hnd Ht.
    intros (Hh & _ & Htl)%queue_is_between. apply queue_is_halves. unfold unlink.
    destruct (set_node_halves d NONE NONE NONE _ _ Hh Htl) as [Hh' Htl'].
    by apply (set_halves_halves _ t t).
  Qed.
  Lemma unlink_node d : node_is (unlink q l1 t l2 d) t NONE NONE NONE.
  Proof using Ht. apply set_halves_node, set_node_is. Qed.
End splice.
