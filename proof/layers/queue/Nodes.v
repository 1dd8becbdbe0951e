(** Queues: the node of a thread that is in no queue, as a part of memory.

    A thread that waits gives its node to the owner of the queue, who gives it back with the wake-up. *)
From Ashlar Require Export layers.queue.Representation lang.logic.Parts.
Local Opaque gmap_lookup gmap_partial_alter.

Definition node_cells (t : Z) : list cell := [node_queue t; node_next t; node_previous t].
Definition free_node (t : Z) (d : mem) : Prop := 0 <= t < NUM_THREAD /\ has_cells (node_cells t) d /\ node_is d t NONE NONE NONE.

Lemma node_cells_in t x : x ∈ node_cells t <-> node_cell t x.
Proof. unfold node_cells, node_cell. rewrite !elem_of_cons, elem_of_nil. tauto. Qed.
Lemma chain_same (d d' : mem) q p l n : (forall x, nodes_cell l x -> d' !! x = d !! x) -> chain d q p l n -> chain d' q p l n.
Proof.
  revert p. induction l as [|t l IH]; intros p Hx; [done|]. intros [(H1 & H2 & H3) Hc]. split.
  - assert (forall x, node_cell t x -> d' !! x = d !! x) as Ht by (intros x H; apply Hx; exists t; split; [by left|done]).
    unfold node_is. by rewrite !Ht by first [apply node_cell_queue|apply node_cell_next|apply node_cell_previous].
  - apply IH; [|done]. intros x (u & Hu & H). apply Hx. exists u. split; [by right|done].
Qed.
Lemma queue_is_same (d d' : mem) q l : (forall x, x = queue_first q \/ x = queue_last q \/ nodes_cell l x -> d' !! x = d !! x) ->
  queue_is d q l -> queue_is d' q l.
Proof. intros Hx (H1 & H2 & H3). split_and!; [by rewrite Hx by auto..|]. eapply chain_same; [|exact H3]. intros x H. apply Hx. auto. Qed.

Section parts.
  Context (m : gmap Z (list Z)) (f : gset Z) (t : Z).
  Notation whole := (QueueState m ({[t]} ∪ f)).
  Notation others := (QueueState m f).

  Lemma cells_apart x : (forall q l, m !! q = Some l -> t ∉ l) -> t ∉ f -> node_cell t x -> ~ queue_cells others x.
  Proof using.
    intros Hm Hf Hx [(q & _ & [-> | ->])|(u & Hu & Hux)]; [by eapply node_cell_first|by eapply node_cell_last|].
    rewrite (node_cell_inj t u x Hx Hux) in *. destruct Hu as [Hu|(q & l & Hq & Hu)]; [done|by apply (Hm q l Hq)].
  Qed.
  Lemma cells_whole x : queue_cells whole x <-> node_cell t x \/ queue_cells others x.
  Proof using.
    unfold queue_cells, queue_owns. cbn [queue_lists queue_free]. setoid_rewrite elem_of_union. setoid_rewrite elem_of_singleton. split.
    - intros [H|(u & [[->|Hu]|Hu] & Hx)]; [by right; left|by left|right; right; exists u; tauto..].
    - intros [H|[H|(u & Hu & Hx)]]; [right; exists t; split; [by left; left|done]|by left|right; exists u; tauto].
  Qed.

  Theorem node_given d : t ∉ f -> queue_rep whole d -> (free_node t ∗ queue_rep others) d.
  Proof using.
    intros Ht (Hv & Hx & Hq & Hf).
    assert (forall q l, m !! q = Some l -> t ∉ l) as Hm.
    { intros q l Hl Hin. destruct (queue_valid_thread whole Hv q l t Hl Hin) as [_ H]. apply H, elem_of_union. left. by apply elem_of_singleton. }
    exists (restrict (node_cells t) d), (filter (fun e => ~ e.1 ∈ node_cells t) d). split_and!.
    - symmetry. apply (map_filter_union_complement (M := gmap cell)).
    - apply (map_disjoint_filter_complement (M := gmap cell)).
    - assert (t ∈ queue_free whole) as Hin by (cbn; apply elem_of_union; left; by apply elem_of_singleton).
      split; [by apply (queue_valid_free whole Hv)|]. split.
      + apply restrict_cells. intros x H%node_cells_in. apply Hx, cells_whole. by left.
      + destruct (Hf t Hin) as (H1 & H2 & H3). unfold node_is.
        by rewrite !restrict_in by (apply node_cells_in; first [apply node_cell_queue|apply node_cell_next|apply node_cell_previous]).
    - set (d' := filter _ d). assert (forall x, ~ node_cell t x -> d' !! x = d !! x) as Hd'.
      { intros x H. unfold d'. destruct (d !! x) as [v|] eqn:E; [apply map_filter_lookup_Some; by rewrite node_cells_in|].
        apply map_filter_lookup_None. by left. }
      split; [|split; [|split]].
      + apply queue_valid_intro.
        * apply (queue_valid_id whole Hv).
        * apply (queue_valid_nodup whole Hv).
        * intros q l u Hl Hu. destruct (queue_valid_thread whole Hv q l u Hl Hu) as [? Hno]. split; [done|]. intros Hin. apply Hno, elem_of_union. by right.
        * apply (queue_valid_one whole Hv).
        * intros u Hu. apply (queue_valid_free whole Hv), elem_of_union. by right.
      + intros x. destruct (decide (x ∈ node_cells t)) as [Hin%node_cells_in|Hout].
        * split; [|by intros H%cells_apart]. intros [v [_ H]%map_filter_lookup_Some]. destruct H. by apply node_cells_in.
        * rewrite node_cells_in in Hout. rewrite Hd', (Hx x), cells_whole by done. tauto.
      + intros q l Hl. eapply queue_is_same; [|by apply Hq]. intros x Hxl. apply Hd'. intros Hn.
        destruct Hxl as [->|[->|Hin%(nodes_cell_node _ _ _ Hn)]]; [by eapply node_cell_first|by eapply node_cell_last|by apply (Hm q l)].
      + intros u Hu. destruct (Hf u) as (H1 & H2 & H3); [cbn; apply elem_of_union; by right|].
        assert (forall x, node_cell u x -> ~ node_cell t x) as Hut by (intros x H H'; apply Ht; by rewrite (node_cell_inj t u x)).
        unfold node_is. by rewrite !Hd' by (apply Hut; first [apply node_cell_queue|apply node_cell_next|apply node_cell_previous]).
  Qed.

  Theorem node_taken d : (free_node t ∗ queue_rep others) d -> t ∉ f /\ (forall q l, m !! q = Some l -> t ∉ l) /\ queue_rep whole d.
  Proof using.
    intros (d1 & d2 & -> & Hd & (Hb & Hx1 & Hn) & (Hv & Hx2 & Hq & Hf)).
    assert (forall x, node_cell t x -> ~ queue_cells others x) as Hap.
    { intros x [v Hv1]%node_cells_in%Hx1 [w Hw]%Hx2. by destruct (proj1 (map_disjoint_spec d1 d2) Hd _ _ _ Hv1 Hw). }
    assert (~ queue_owns others t) as Hno.
    { intros Ho. apply (Hap (node_queue t)); [apply node_cell_queue|]. right. exists t. split; [done|by left]. }
    assert (forall x v, d2 !! x = Some v -> (d1 ∪ d2) !! x = Some v) as Hr by (intros x v; by apply both_right_lookup).
    assert (forall x, queue_cells others x -> (d1 ∪ d2) !! x = d2 !! x) as Hsame by (intros x [v E]%Hx2; rewrite E; by apply Hr).
    assert (t ∉ f) as Hnf by (intros H; apply Hno; by left).
    assert (forall q l, m !! q = Some l -> t ∉ l) as Hnl by (intros q l Hl H; apply Hno; right; by exists q, l).
    split; [done|]. split; [done|]. split; [|split; [|split]].
    - apply queue_valid_intro.
      + apply (queue_valid_id others Hv).
      + apply (queue_valid_nodup others Hv).
      + intros q l u Hl Hu. destruct (queue_valid_thread others Hv q l u Hl Hu) as [? Hout]. split; [done|].
        intros [->%elem_of_singleton|Hin]%elem_of_union; [by eapply Hnl|done].
      + apply (queue_valid_one others Hv).
      + intros u [->%elem_of_singleton|Hu]%elem_of_union; [done|by apply (queue_valid_free others Hv)].
    - intros x. rewrite cells_whole, <- node_cells_in, <- (Hx1 x), <- (Hx2 x). apply lookup_union_is_Some.
    - intros q l Hl. eapply queue_is_same; [|by apply Hq]. intros x Hxl. apply Hsame.
      destruct Hxl as [->|[->|(u & Hu & Hux)]]; [left; exists q; split; [by eexists|by left]|left; exists q; split; [by eexists|by right]|].
      right. exists u. split; [right; by exists q, l|exact Hux].
    - intros u [->%elem_of_singleton|Hu]%elem_of_union.
      + destruct Hn as (H1 & H2 & H3). split_and!; by apply own_read.
      + destruct (Hf u Hu) as (H1 & H2 & H3). split_and!; by apply Hr.
  Qed.
End parts.

(** ** An owner of one queue *)
Section one.
  Context (q t : Z) (l : list Z) (f : gset Z).
  Notation one l f := (QueueState {[q := l]} f).
  Lemma one_peek : queue_peek (one l f) q = Some (first_or NONE l, one l f).
  Proof using. unfold queue_peek. cbn [queue_lists]. by rewrite (lookup_singleton (M := gmap Z)). Qed.
  Lemma one_enqueue : t ∉ f -> queue_enqueue (one l ({[t]} ∪ f)) q t = Some (0, one (l ++ [t]) f).
  Proof using.
    intros Ht. unfold queue_enqueue, queue_put. cbn [queue_lists queue_free].
    rewrite (lookup_singleton (M := gmap Z)), bool_decide_true by (apply elem_of_union; left; by apply elem_of_singleton).
    rewrite (insert_singleton (M := gmap Z)). do 3 f_equal. apply leibniz_equiv. intros v.
    rewrite elem_of_difference, elem_of_union, elem_of_singleton. naive_solver.
  Qed.
  Lemma one_dequeue : queue_dequeue (one (t :: l) f) q = Some (t, one l ({[t]} ∪ f)).
  Proof using. unfold queue_dequeue, queue_drop. cbn [queue_lists queue_free]. by rewrite (lookup_singleton (M := gmap Z)), (insert_singleton (M := gmap Z)). Qed.
  Lemma one_dequeue_none : queue_dequeue (one [] f) q = Some (NONE, one [] f).
  Proof using. unfold queue_dequeue. cbn [queue_lists]. by rewrite (lookup_singleton (M := gmap Z)). Qed.
  Lemma one_remove : queue_valid (one l f) -> t ∈ l -> queue_remove (one l f) t = Some (0, one (without t l) ({[t]} ∪ f)).
  Proof using.
    intros Hv Ht. unfold queue_remove, queue_drop. rewrite (queue_holding_some _ Hv q l t) by first [done|apply (lookup_singleton (M := gmap Z))].
    cbn [queue_lists queue_free]. by rewrite (insert_singleton (M := gmap Z)).
  Qed.
End one.
