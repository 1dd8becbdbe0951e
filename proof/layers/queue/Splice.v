(** Queues: taking a thread in or out in the cells is taking it in or out in the state. *)
From Ashlar Require Export layers.queue.Representation.

(** The cells of queue [q] with list [l] and, while it comes or goes, thread [t]. *)
Definition near (q : Z) (l : list Z) (t : Z) (x : cell) : Prop :=
  x = queue_first q \/ x = queue_last q \/ nodes_cell l x \/ node_cell t x.

Section change.
  Context (s : queue_state) (Hv : queue_valid s) (q t : Z) (l1 l2 : list Z).

  (** Stores near [q] and [t] leave the other queues and threads alone. *)
  Lemma far_queue l q' l' d x v : queue_lists s !! q = Some l -> queue_lists s !! q' = Some l' -> q' <> q ->
    (forall u, u ∈ l1 ++ l2 -> u ∈ l) -> t ∉ l' -> near q (l1 ++ l2) t x ->
    queue_is d q' l' -> queue_is (<[x := v]> d) q' l'.
  Proof using Hv.
    intros Hq Hq' Hne Hsub Ht Hx. apply queue_keep.
    - intros ->. destruct Hx as [H|[H|[(u & _ & H)|H]]]; [|by unfold queue_first, queue_last in H; congruence|..];
        [unfold queue_first in H; congruence|by eapply node_cell_first..].
    - intros ->. destruct Hx as [H|[H|[(u & _ & H)|H]]]; [by unfold queue_first, queue_last in H; congruence|..];
        [unfold queue_last in H; congruence|by eapply node_cell_last..].
    - intros (u & Hu & Hxu). destruct Hx as [->|[->|[(w & Hw & H)|H]]].
      + by eapply node_cell_first.
      + by eapply node_cell_last.
      + rewrite <- (node_cell_inj _ _ _ Hxu H) in Hw. apply Hne. eapply (queue_valid_one s Hv q l); eauto.
      + by rewrite <- (node_cell_inj _ _ _ Hxu H) in Ht.
  Qed.
  Lemma far_node l u d x v q' p n : queue_lists s !! q = Some l -> u ∈ queue_free s -> u <> t ->
    (forall u, u ∈ l1 ++ l2 -> u ∈ l) -> near q (l1 ++ l2) t x ->
    node_is d u q' p n -> node_is (<[x := v]> d) u q' p n.
  Proof using Hv.
    intros Hq Hu Hne Hsub Hx. apply node_keep. intros Hxu. destruct Hx as [->|[->|[(w & Hw & H)|H]]].
    - by eapply node_cell_first.
    - by eapply node_cell_last.
    - rewrite <- (node_cell_inj _ _ _ Hxu H) in Hw. by destruct (queue_valid_thread s Hv q l u Hq (Hsub _ Hw)).
    - apply Hne. by eapply node_cell_inj.
  Qed.

  (** What every store near the queue keeps, the whole change keeps. *)
  Lemma splice_keep (P : mem -> Prop) n p tq tp tn d :
    (forall x v d, near q (l1 ++ l2) t x -> P d -> P (<[x := v]> d)) ->
    P d -> P (set_halves q l1 l2 n p (set_node t tq tp tn d)).
  Proof.
    intros H HP. apply set_halves_keep; [| |apply set_node_keep; [|done]]; intros; apply H; try done.
    - destruct (left_cell_cases q l1) as [->|(u & Hu & ->)]; [by left|]. do 2 right. left. exists u.
      split; [apply elem_of_app; by left|apply node_cell_next].
    - destruct (right_cell_cases q l2) as [->|(u & Hu & ->)]; [by right; left|]. do 2 right. left. exists u.
      split; [apply elem_of_app; by right|apply node_cell_previous].
    - by do 3 right.
  Qed.

  Lemma near_cells l x : queue_lists s !! q = Some l -> queue_owns s t -> (forall u, u ∈ l1 ++ l2 -> u ∈ l) ->
    near q (l1 ++ l2) t x -> queue_cells s x.
  Proof.
    intros Hq Ht Hsub [->|[->|[(u & Hu & H)|H]]].
    - left. exists q. split; [by eexists|by left].
    - left. exists q. split; [by eexists|by right].
    - right. exists u. split; [|exact H]. right. exists q, l. auto.
    - right. by exists t.
  Qed.
End change.

Theorem link_rep s d q l1 t l2 s' : queue_rep s d -> puts s q l1 t l2 s' -> queue_rep s' (link q l1 t l2 d).
Proof.
  intros (Hv & Hx & Hq & Hf) Hp. pose proof Hp as (Hl & Ht & E).
  assert (forall q' l', queue_lists s !! q' = Some l' -> t ∉ l') as Hnew
    by (intros q' l' Hq' Ht'; by destruct (queue_valid_thread s Hv q' l' t)).
  split; [by eapply puts_valid|]. split; [|split].
  - apply (exactly_change (queue_cells s)); [by eapply puts_cells|]. apply (splice_keep q t l1 l2 (exactly (queue_cells s))); [|done].
    intros x v m Hn Hm. apply exactly_write; [done|]. eapply near_cells; [exact Hl|by left|done|exact Hn].
  - intros q' l'. rewrite E. unfold queue_put. simpl. intros [[<- <-]|[Hne H]]%lookup_insert_Some.
    + apply link_queue; [by eapply queue_valid_nodup|by eapply Hnew|by apply Hq].
    + apply (splice_keep q t l1 l2 (fun m => queue_is m q' l')); [|by apply Hq]. intros x v m Hn.
      eapply far_queue; [exact Hv|exact Hl|exact H|done|done|by eapply Hnew|exact Hn].
  - intros u. rewrite E. unfold queue_put. simpl. rewrite elem_of_difference, elem_of_singleton. intros [Hu Hne].
    apply (splice_keep q t l1 l2 (fun m => node_is m u NONE NONE NONE)); [|by apply Hf]. intros x v m Hn.
    eapply far_node; [exact Hv|exact Hl|exact Hu|done|done|exact Hn].
Qed.

Theorem unlink_rep s d q l1 t l2 s' : queue_rep s d -> takes s q l1 t l2 s' -> queue_rep s' (unlink q l1 t l2 d).
Proof.
  intros (Hv & Hx & Hq & Hf) Hp. pose proof Hp as (Hl & E).
  assert (t ∈ l1 ++ t :: l2) as Hin by (rewrite elem_of_app, elem_of_cons; auto).
  assert (forall u, u ∈ l1 ++ l2 -> u ∈ l1 ++ t :: l2) as Hsub
    by (intros u; rewrite !elem_of_app, elem_of_cons; tauto).
  pose proof (queue_valid_nodup s Hv _ _ Hl) as Hnd. rewrite <- Permutation_middle in Hnd.
  apply NoDup_cons in Hnd as [Hnt Hnd].
  split; [by eapply takes_valid|]. split; [|split].
  - apply (exactly_change (queue_cells s)); [by eapply takes_cells|]. apply (splice_keep q t l1 l2 (exactly (queue_cells s))); [|done].
    intros x v m Hn Hm. apply exactly_write; [done|].
    eapply near_cells; [exact Hl|right; by exists q, (l1 ++ t :: l2)|exact Hsub|exact Hn].
  - intros q' l'. rewrite E. unfold queue_drop. simpl. intros [[<- <-]|[Hne H]]%lookup_insert_Some.
    + apply unlink_queue; [done|done|by apply Hq].
    + apply (splice_keep q t l1 l2 (fun m => queue_is m q' l')); [|by apply Hq]. intros x v m Hn.
      eapply far_queue; [exact Hv|exact Hl|exact H|done|exact Hsub| |exact Hn].
      intros Ht'. apply Hne. symmetry. exact (queue_valid_one s Hv _ _ _ _ t Hl H Hin Ht').
  - intros u. rewrite E. unfold queue_drop. simpl. rewrite elem_of_union, elem_of_singleton.
    destruct (decide (u = t)) as [->|Hne]; [intros _; by apply unlink_node|]. intros [?|Hu]; [done|].
    apply (splice_keep q t l1 l2 (fun m => node_is m u NONE NONE NONE)); [|by apply Hf]. intros x v m Hn.
    eapply far_node; [exact Hv|exact Hl|exact Hu|done|exact Hsub|exact Hn].
Qed.
