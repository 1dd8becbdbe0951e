(** Queues: the state and its cells determine each other, and a thread taken in or out in the cells is taken in or out in
    the state. *)
From Ashlar Require Export layers.queue.Invariant.

(** ** One state, one memory *)
Lemma chain_nodes d d' q p l n : chain d q p l n -> chain d' q p l n ->
  forall x, nodes_cell l x -> d !! x = d' !! x.
Proof.
  revert p. induction l as [|t l IH]; intros p; simpl.
  - intros _ _ x (u & Hu & _). by apply elem_of_nil in Hu.
  - intros [(A1 & A2 & A3) Hc] [(B1 & B2 & B3) Hc'] x (u & [->|Hu]%elem_of_cons & Hx).
    + destruct Hx as [->|[-> | ->]]; congruence.
    + apply (IH _ Hc Hc'). by exists u.
Qed.

Theorem queue_rep_mem s d d' : queue_rep s d -> queue_rep s d' -> d = d'.
Proof.
  intros (Hv & Hx & Hq & Hf) (_ & Hx' & Hq' & Hf'). apply own_eq. intros x.
  assert (is_Some (d !! x) <-> is_Some (d' !! x)) as Hd by (rewrite (Hx x), (Hx' x); done).
  destruct (d !! x) as [v|] eqn:E.
  - assert (queue_cells s x) as [(q & [l Hl] & Hc)|(t & [Ht|(q & l & Hl & Ht)] & Hc)] by (apply Hx; eauto).
    + destruct (Hq q l Hl) as (A1 & A2 & _), (Hq' q l Hl) as (B1 & B2 & _). destruct Hc as [-> | ->]; congruence.
    + destruct (Hf t Ht) as (A1 & A2 & A3), (Hf' t Ht) as (B1 & B2 & B3). destruct Hc as [->|[-> | ->]]; congruence.
    + destruct (Hq q l Hl) as (_ & _ & A), (Hq' q l Hl) as (_ & _ & B). rewrite <- E.
      apply (chain_nodes _ _ _ _ _ _ A B). by exists t.
  - destruct (d' !! x); [|done]. destruct (proj2 Hd) as [? ?]; [by eexists|congruence].
Qed.

(** ** One memory, one state *)
Lemma first_or_none l : NONE ∉ l -> first_or NONE l = NONE -> l = [].
Proof. destruct l; simpl; [done|]. intros H ->. destruct H. by left. Qed.

Lemma chain_determined d q p l l' : NONE ∉ l -> NONE ∉ l' -> first_or NONE l = first_or NONE l' ->
  chain d q p l NONE -> chain d q p l' NONE -> l = l'.
Proof.
  revert p l'. induction l as [|t l IH]; intros p l' Hl Hl' Hf Hc Hc'.
  - symmetry. by apply first_or_none.
  - destruct l' as [|t' l']; [simpl in Hf; subst t; destruct Hl; by left|]. simpl in Hf. subst t'.
    apply not_elem_of_cons in Hl as [_ Hl], Hl' as [_ Hl'].
    destruct Hc as [(_ & _ & A) Hc], Hc' as [(_ & _ & A') Hc']. f_equal. eapply IH; eauto. congruence.
Qed.

Lemma queue_valid_none s q l : queue_valid s -> queue_lists s !! q = Some l -> NONE ∉ l.
Proof.
  intros Hv Hq Ht. destruct (queue_valid_thread s Hv q l NONE Hq Ht) as [[_ H] _]. by unfold NONE, NUM_THREAD in H.
Qed.

Lemma queue_rep_owns s d q : queue_rep s d -> is_Some (d !! queue_first q) -> is_Some (queue_lists s !! q).
Proof.
  intros (_ & Hx & _) [(q' & Hq & [H|H])|(t & _ & H)]%Hx.
  - unfold queue_first in H. by injection H as <-.
  - unfold queue_first, queue_last in H. congruence.
  - by destruct (node_cell_first t q).
Qed.
Lemma queue_rep_owns_node s d t : queue_rep s d -> is_Some (d !! node_queue t) -> queue_owns s t.
Proof.
  intros (_ & Hx & _) [(q' & Hq & [H|H])|(u & Hu & H)]%Hx.
  - unfold queue_first, node_queue in H. congruence.
  - unfold queue_last, node_queue in H. congruence.
  - by rewrite (node_cell_inj t u _ (node_cell_queue t) H).
Qed.
Lemma chain_in d q p l n t : chain d q p l n -> t ∈ l -> d !! node_queue t = Some q.
Proof.
  revert p. induction l as [|u l IH]; intros p; [by intros _ ?%elem_of_nil|].
  intros [(A & _) Hc] [->|Ht]%elem_of_cons; [done|eauto].
Qed.

Lemma queue_rep_lists_sub s s' d q l : queue_rep s d -> queue_rep s' d -> queue_lists s !! q = Some l ->
  queue_lists s' !! q = Some l.
Proof.
  intros Hr Hr' Hl. pose proof Hr as (Hv & Hx & Hq & _). pose proof Hr' as (Hv' & Hx' & Hq' & _).
  destruct (queue_rep_owns s' d q Hr') as [l' Hl'].
  { apply Hx. left. exists q. split; [by exists l|by left]. }
  rewrite Hl'. f_equal. symmetry. destruct (Hq q l Hl) as (A & _ & C), (Hq' q l' Hl') as (A' & _ & C').
  eapply chain_determined;
    [exact (queue_valid_none s q l Hv Hl)|exact (queue_valid_none s' q l' Hv' Hl')|congruence|done|done].
Qed.
Lemma queue_rep_free_sub s s' d t : queue_rep s d -> queue_rep s' d -> t ∈ queue_free s -> t ∈ queue_free s'.
Proof.
  intros Hr Hr' Ht. pose proof Hr as (Hv & Hx & _ & Hf). pose proof Hr' as (Hv' & Hx' & Hq' & _).
  destruct (Hf t Ht) as (A & _).
  assert (queue_owns s' t) as [?|(q & l & Hl & Hin)]; [by eapply queue_rep_owns_node; [|eexists]|done|].
  destruct (Hq' q l Hl) as (_ & _ & C). pose proof (chain_in _ _ _ _ _ _ C Hin) as E.
  assert (q = NONE) as -> by congruence. apply queue_valid_id in Hl as [_ H]; [|done]. by unfold NONE, NUM_QUEUE in H.
Qed.

Theorem queue_rep_state s s' d : queue_rep s d -> queue_rep s' d -> s = s'.
Proof.
  intros Hr Hr'. destruct s as [m f] eqn:Es, s' as [m' f'] eqn:Es'. rewrite <- Es, <- Es' in *.
  assert (m = m') as ->.
  { apply map_eq. intros q. destruct (m !! q) as [l|] eqn:E.
    - symmetry. assert (queue_lists s' !! q = Some l) as H; [|by rewrite Es' in H].
      eapply queue_rep_lists_sub; [exact Hr|exact Hr'|by rewrite Es].
    - destruct (m' !! q) as [l|] eqn:E'; [|done]. rewrite <- E.
      assert (queue_lists s !! q = Some l) as H; [|rewrite Es in H; simpl in H; congruence].
      eapply queue_rep_lists_sub; [exact Hr'|exact Hr|by rewrite Es']. }
  assert (f = f') as ->; [|congruence]. apply leibniz_equiv. intros t. split; intros Ht.
  - assert (t ∈ queue_free s') as H; [|by rewrite Es' in H].
    eapply queue_rep_free_sub; [exact Hr|exact Hr'|by rewrite Es].
  - assert (t ∈ queue_free s) as H; [|by rewrite Es in H].
    eapply queue_rep_free_sub; [exact Hr'|exact Hr|by rewrite Es'].
Qed.

(** ** The cells of a state that is joined or split *)
Lemma queue_cells_change s s' : (forall q, is_Some (queue_lists s' !! q) <-> is_Some (queue_lists s !! q)) ->
  (forall t, queue_owns s' t <-> queue_owns s t) -> forall x, queue_cells s' x <-> queue_cells s x.
Proof.
  intros Hq Ht x. unfold queue_cells. split; (intros [(q & H & Hx)|(t & H & Hx)]; [left; exists q|right; exists t]).
  - by rewrite <- Hq.
  - by rewrite <- Ht.
  - by rewrite Hq.
  - by rewrite Ht.
Qed.

Lemma insert_same_keys {A} (m : gmap Z A) q v u : is_Some (m !! q) -> is_Some (<[q := v]> m !! u) <-> is_Some (m !! u).
Proof.
  intros Hq. rewrite lookup_insert_is_Some. split; [intros [->|[_ ?]]; done|].
  intros ?. destruct (decide (q = u)); auto.
Qed.

Lemma puts_cells s q l1 t l2 s' : puts s q l1 t l2 s' -> forall x, queue_cells s' x <-> queue_cells s x.
Proof.
  intros (Hq & Ht & ->). apply queue_cells_change; unfold queue_put, queue_owns; simpl.
  - intros u. apply insert_same_keys. by eexists.
  - intros u. split.
    + intros [[H _]%elem_of_difference|(q' & l' & [[<- <-]|[Hne H]]%lookup_insert_Some & Hu)]; [by left| |eauto].
      apply elem_of_app in Hu as [Hu|[->|Hu]%elem_of_cons]; [|by left|];
        right; exists q, (l1 ++ l2); (split; [done|apply elem_of_app; auto]).
    + intros [H|(q' & l' & H & Hu)].
      * destruct (decide (u = t)) as [->|Hne].
        -- right. exists q, (l1 ++ t :: l2). split; [apply lookup_insert|]. rewrite elem_of_app, elem_of_cons. auto.
        -- left. by rewrite elem_of_difference, elem_of_singleton.
      * right. destruct (decide (q' = q)) as [->|Hne].
        -- exists q, (l1 ++ t :: l2). split; [apply lookup_insert|]. simplify_eq.
           rewrite elem_of_app, elem_of_cons. apply elem_of_app in Hu. tauto.
        -- exists q', l'. by rewrite lookup_insert_ne.
Qed.
Lemma takes_cells s q l1 t l2 s' : takes s q l1 t l2 s' -> forall x, queue_cells s' x <-> queue_cells s x.
Proof.
  intros (Hq & ->). apply queue_cells_change; unfold queue_drop, queue_owns; simpl.
  - intros u. apply insert_same_keys. by eexists.
  - intros u. rewrite elem_of_union, elem_of_singleton. split.
    + intros [[->|H]|(q' & l' & [[<- <-]|[Hne H]]%lookup_insert_Some & Hu)].
      * right. exists q, (l1 ++ t :: l2). split; [done|]. rewrite elem_of_app, elem_of_cons. auto.
      * by left.
      * right. exists q, (l1 ++ t :: l2). split; [done|]. rewrite elem_of_app, elem_of_cons.
        apply elem_of_app in Hu. tauto.
      * eauto.
    + intros [H|(q' & l' & H & Hu)]; [by left; right|]. destruct (decide (q' = q)) as [->|Hne].
      * simplify_eq. apply elem_of_app in Hu as [Hu|[->|Hu]%elem_of_cons]; [|by left; left|];
          right; exists q, (l1 ++ l2); (split; [apply lookup_insert|apply elem_of_app; auto]).
      * right. exists q', l'. by rewrite lookup_insert_ne.
Qed.

Lemma exactly_change (P Q : cell -> Prop) d : (forall x, Q x <-> P x) -> exactly P d -> exactly Q d.
Proof. intros H HP x. rewrite (HP x). by rewrite H. Qed.
