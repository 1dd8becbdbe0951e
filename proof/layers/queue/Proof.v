(** Queues: the C functions do what the specification says. *)
From Ashlar Require Export layers.queue.Splice layers.queue.Code.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** What the heads and nodes of a state contain *)
Section read.
  Context (s : queue_state) (d : mem) (Hr : queue_rep s d).

  Lemma read_first q l : queue_lists s !! q = Some l -> d !! queue_first q = Some (first_or NONE l).
  Proof using Hr. destruct Hr as (_ & _ & Hq & _). intros Hl. exact (proj1 (Hq q l Hl)). Qed.
  Lemma read_last q l : queue_lists s !! q = Some l -> d !! queue_last q = Some (last_or NONE l).
  Proof using Hr. destruct Hr as (_ & _ & Hq & _). intros Hl. exact (proj1 (proj2 (Hq q l Hl))). Qed.
  Lemma read_node q l1 t l2 : queue_lists s !! q = Some (l1 ++ t :: l2) ->
    node_is d t q (last_or NONE l1) (first_or NONE l2).
  Proof using Hr. destruct Hr as (_ & _ & Hq & _). intros Hl. exact (proj1 (proj2 (proj1 (queue_is_between d q l1 t l2) (Hq q _ Hl)))). Qed.
  Lemma read_free t : t ∈ queue_free s -> node_is d t NONE NONE NONE.
  Proof using Hr. destruct Hr as (_ & _ & _ & Hf). exact (Hf t). Qed.
  Lemma read_owned x : queue_cells s x -> is_Some (d !! x).
  Proof using Hr. destruct Hr as (_ & Hx & _ & _). exact (proj2 (Hx x)). Qed.
End read.

(** A list from its last thread. *)
Lemma list_snoc_cases (l : list Z) : l = [] \/ exists l0 u, l = l0 ++ [u].
Proof. destruct l as [|u l _] using rev_ind; [by left|right; eauto]. Qed.
Lemma last_or_snoc p l u : last_or p (l ++ [u]) = u.
Proof. by rewrite last_or_app. Qed.

Ltac cells :=
  unfold node_is, link, unlink, set_halves, set_node, left_cell, right_cell, queue_first, queue_last,
    node_queue, node_next, node_previous, NONE in *.

(** Equality of two ways to store the same values. *)
Ltac same_stores :=
  apply own_eq; intros x; look;
  repeat match goal with
         | |- context [<[?c := _]> _ !! x] => destruct (decide (c = x)) as [<-|?]; look
         end; congruence.

(** Runs the whole of a body without calls and loops; tests of known outcome are decided by the hypotheses. *)
Ltac decide_test :=
  match goal with
  | |- if ?a =? ?a then _ else _ => rewrite Z.eqb_refl
  | H : ?a <> ?b |- if ?a =? ?b then _ else _ => rewrite (proj2 (Z.eqb_neq a b) H)
  end.
Ltac run := repeat (first [step | decide_test]).

(** The state is represented by what the stores have left. *)
Ltac settle :=
  split; [done|];
  match goal with
  | H : queue_rep ?s ?E |- queue_rep ?s ?D => replace D with E; [exact H|]; same_stores
  end.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Ltac enter code := eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  (** ** Reading *)
  Theorem queue_peek_triple s d q v s' : queue_rep s d -> queue_peek s q = Some (v, s') ->
    triple "queue_peek" [q] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    unfold queue_peek. intros Hr H. destruct (queue_lists s !! q) as [l|] eqn:Hl; [|done]. injection H as <- <-.
    pose proof (read_first _ _ Hr q l Hl) as Hf. enter queue_peek_code. cells. run. done.
  Qed.

  Theorem queue_next_triple s d t v s' : queue_rep s d -> queue_next s t = Some (v, s') ->
    triple "queue_next" [t] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    intros Hr H. assert (s' = s /\ d !! node_next t = Some v) as [-> Hn].
    { unfold queue_next in H. destruct (queue_holding s t) as [[q l]|] eqn:E.
      - injection H as <- <-. split; [done|].
        apply queue_holding_list in E as [Hl (l1 & l2 & -> & Ht)%elem_of_split_first].
        rewrite after_split by done. exact (proj2 (proj2 (read_node _ _ Hr q l1 t l2 Hl))).
      - case_bool_decide as Hf; [|done]. injection H as <- <-. split; [done|].
        exact (proj2 (proj2 (read_free _ _ Hr t Hf))). }
    enter queue_next_code. cells. run. done.
  Qed.

  Theorem queue_of_triple s d t v s' : queue_rep s d -> queue_of s t = Some (v, s') ->
    triple "queue_of" [t] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    intros Hr H. assert (s' = s /\ d !! node_queue t = Some v) as [-> Hn].
    { unfold queue_of in H. destruct (queue_holding s t) as [[q l]|] eqn:E.
      - injection H as <- <-. split; [done|].
        apply queue_holding_list in E as [Hl (l1 & l2 & -> & Ht)%elem_of_split_first].
        exact (proj1 (read_node _ _ Hr q l1 t l2 Hl)).
      - case_bool_decide as Hf; [|done]. injection H as <- <-. split; [done|].
        exact (proj1 (read_free _ _ Hr t Hf)). }
    enter queue_of_code. cells. run. done.
  Qed.

  (** ** Putting in *)

  (** The neighbours are threads, not [NONE], and not the thread that comes or goes. *)
  Lemma other_not_none s d q l u : queue_rep s d -> queue_lists s !! q = Some l -> u ∈ l -> u <> NONE.
  Proof. intros [Hv _] Hl Hu ->. by eapply queue_valid_none. Qed.
  Lemma other_not_free s d q l u t :
    queue_rep s d -> queue_lists s !! q = Some l -> u ∈ l -> t ∈ queue_free s -> u <> t.
  Proof. intros [Hv _] Hl Hu Ht ->. by destruct (queue_valid_thread s Hv q l t Hl Hu). Qed.

  Theorem queue_enqueue_triple s d q t v s' : queue_rep s d -> queue_enqueue s q t = Some (v, s') ->
    triple "queue_enqueue" [q; t] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    intros Hr (-> & l & Hl & Hp)%queue_enqueue_puts. pose proof (link_rep _ _ _ _ _ _ _ Hr Hp) as Hr'.
    pose proof (read_first _ _ Hr q l Hl) as Hf. pose proof (read_last _ _ Hr q l Hl) as Hla.
    destruct Hp as (_ & Ht & _). pose proof (read_free _ _ Hr t Ht) as (N1 & N2 & N3).
    enter queue_enqueue_code. destruct (list_snoc_cases l) as [->|(l0 & u & ->)].
    - cells. simpl in Hf, Hla. run. split; [done|].
      match goal with |- queue_rep _ ?D => replace D with (link q [] t [] d); [done|] end. cells. simpl. same_stores.
    - assert (u ∈ l0 ++ [u]) as Hu by (apply elem_of_app; right; by left).
      pose proof (other_not_none _ _ _ _ _ Hr Hl Hu) as Hun. pose proof (other_not_free _ _ _ _ _ _ Hr Hl Hu Ht) as Hut.
      pose proof (read_node _ _ Hr q l0 u [] Hl) as (U1 & U2 & U3). rewrite last_or_snoc in Hla.
      unfold link, set_halves in Hr'. rewrite left_cell_snoc in Hr'. simpl in Hr'. rewrite last_or_snoc in Hr'.
      cells. run. split; [done|].
      match type of Hr' with queue_rep _ ?E => match goal with |- queue_rep _ ?D => replace D with E; [done|] end end.
      same_stores.
  Qed.

  Theorem queue_enqueue_head_triple s d q t v s' : queue_rep s d -> queue_enqueue_head s q t = Some (v, s') ->
    triple "queue_enqueue_head" [q; t] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    intros Hr (-> & l & Hl & Hp)%queue_enqueue_head_puts. pose proof (link_rep _ _ _ _ _ _ _ Hr Hp) as Hr'.
    pose proof (read_first _ _ Hr q l Hl) as Hf. pose proof (read_last _ _ Hr q l Hl) as Hla.
    destruct Hp as (_ & Ht & _). pose proof (read_free _ _ Hr t Ht) as (N1 & N2 & N3).
    enter queue_enqueue_head_code. destruct l as [|u l].
    - cells. simpl in Hf, Hla, Hr'. run. settle.
    - assert (u ∈ u :: l) as Hu by by left.
      pose proof (other_not_none _ _ _ _ _ Hr Hl Hu) as Hun. pose proof (other_not_free _ _ _ _ _ _ Hr Hl Hu Ht) as Hut.
      pose proof (read_node _ _ Hr q [] u l Hl) as (U1 & U2 & U3).
      cells. simpl in Hf, Hr'. run. settle.
  Qed.

  Theorem queue_insert_before_triple s d q t b v s' : queue_rep s d -> queue_insert_before s q t b = Some (v, s') ->
    triple "queue_insert_before" [q; t; b] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    intros Hr (-> & l1 & l2 & Hl & Hp)%queue_insert_before_puts. pose proof (link_rep _ _ _ _ _ _ _ Hr Hp) as Hr'.
    pose proof (read_first _ _ Hr q _ Hl) as Hf. destruct Hp as (_ & Ht & _).
    pose proof (read_free _ _ Hr t Ht) as (N1 & N2 & N3).
    pose proof (read_node _ _ Hr q l1 b l2 Hl) as (B1 & B2 & B3).
    assert (b ∈ l1 ++ b :: l2) as Hb by (apply elem_of_app; right; by left).
    pose proof (other_not_free _ _ _ _ _ _ Hr Hl Hb Ht) as Hbt.
    enter queue_insert_before_code. destruct (list_snoc_cases l1) as [->|(l0 & u & ->)].
    - cells. simpl in Hf, B2, Hr'. run. settle.
    - assert (u ∈ (l0 ++ [u]) ++ b :: l2) as Hu by (rewrite !elem_of_app; left; right; by left).
      pose proof (other_not_none _ _ _ _ _ Hr Hl Hu) as Hun. pose proof (other_not_free _ _ _ _ _ _ Hr Hl Hu Ht) as Hut.
      assert (u <> b) as Hub.
      { intros ->. destruct Hr as [Hv _]. pose proof (queue_valid_nodup s Hv _ _ Hl) as (_ & Hd & _)%NoDup_app.
        apply (Hd b); [apply elem_of_app; right; by left|by left]. }
      assert (queue_lists s !! q = Some (l0 ++ u :: b :: l2)) as Hl' by (by rewrite <- (assoc_L (++)) in Hl).
      pose proof (read_node _ _ Hr q l0 u (b :: l2) Hl') as (U1 & U2 & U3).
      unfold link, set_halves in Hr'. rewrite left_cell_snoc, last_or_snoc in Hr'. rewrite last_or_snoc in B2.
      cells. simpl in Hr', U3. run. settle.
  Qed.

  (** ** Taking out *)
  Theorem queue_dequeue_triple s d q v s' : queue_rep s d -> queue_dequeue s q = Some (v, s') ->
    triple "queue_dequeue" [q] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    intros Hr [(Hl & -> & ->)|(l & Hl & Hp)]%queue_dequeue_takes.
    - pose proof (read_first _ _ Hr q _ Hl) as Hf. enter queue_dequeue_code. cells. simpl in Hf. run. done.
    - pose proof (unlink_rep _ _ _ _ _ _ _ Hr Hp) as Hr'. pose proof (read_first _ _ Hr q _ Hl) as Hf.
      pose proof (read_last _ _ Hr q _ Hl) as Hla. pose proof (read_node _ _ Hr q [] v l Hl) as (V1 & V2 & V3).
      assert (v ∈ v :: l) as Hv by by left. pose proof (other_not_none _ _ _ _ _ Hr Hl Hv) as Hvn.
      enter queue_dequeue_code. destruct l as [|u l].
      + cells. simpl in Hf, Hla, V2, V3, Hr'. run. settle.
      + assert (u ∈ v :: u :: l) as Hu by (right; by left). pose proof (other_not_none _ _ _ _ _ Hr Hl Hu) as Hun.
        assert (u <> v) as Huv.
        { intros ->. destruct Hr as [Hval _]. pose proof (queue_valid_nodup s Hval _ _ Hl) as [H _]%NoDup_cons.
          apply H. by left. }
        pose proof (read_node _ _ Hr q [v] u l Hl) as (U1 & U2 & U3).
        cells. simpl in Hf, V2, V3, Hr'. run. settle.
  Qed.
End proof.
