(** Queues: start-up. Whatever the cells of all queues and threads contain, [queue_init] makes them the initial state. *)
From Ashlar Require Export layers.queue.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma initial_lists q l : queue_lists queue_initial !! q = Some l <-> 0 <= q < NUM_QUEUE /\ l = [].
Proof.
  unfold queue_initial. cbn [queue_lists]. rewrite <- elem_of_list_to_map.
  - rewrite elem_of_list_fmap. split.
    + intros (q' & E & Hq). injection E as -> ->. apply elem_of_seqZ in Hq. split; [lia|done].
    + intros [Hq ->]. exists q. split; [done|]. apply elem_of_seqZ. lia.
  - rewrite <- list_fmap_compose. change (NoDup (id <$> seqZ 0 NUM_QUEUE)). rewrite list_fmap_id. apply NoDup_seqZ.
Qed.
Lemma initial_free t : t ∈ queue_free queue_initial <-> 0 <= t < NUM_THREAD.
Proof. unfold queue_initial. cbn [queue_free]. rewrite elem_of_list_to_set, elem_of_seqZ. lia. Qed.
Lemma initial_valid : queue_valid queue_initial.
Proof.
  apply queue_valid_intro.
  - by intros q l [H _]%initial_lists.
  - intros q l [_ ->]%initial_lists. constructor.
  - intros q l t [_ ->]%initial_lists H. by apply elem_of_nil in H.
  - intros q l q' l' t [_ ->]%initial_lists _ H. by apply elem_of_nil in H.
  - by intros t H%initial_free.
Qed.
Opaque queue_initial.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Notation P := (queue_cells queue_initial).
  (** The queues below [q] are empty, the threads below [t] in none. *)
  Definition done_queues (q : Z) (d : mem) : Prop := forall u, 0 <= u < q -> queue_is d u [].
  Definition done_threads (t : Z) (d : mem) : Prop := forall u, 0 <= u < t -> node_is d u NONE NONE NONE.

  Lemma initial_queue q : 0 <= q < NUM_QUEUE -> P (queue_first q) /\ P (queue_last q).
  Proof.
    intros Hq. assert (is_Some (queue_lists queue_initial !! q)) as Hs by (exists []; by apply initial_lists).
    split; left; exists q; auto.
  Qed.
  Lemma initial_thread t : 0 <= t < NUM_THREAD -> P (node_queue t) /\ P (node_next t) /\ P (node_previous t).
  Proof.
    intros Ht. assert (queue_owns queue_initial t) by (left; by apply initial_free).
    split; [|split]; right; exists t; auto.
  Qed.

  Lemma wrap_small x : 0 <= x < 4294967296 -> wrap W32 x = x.
  Proof. intros H. unfold wrap. change (2 ^ bits W32) with 4294967296. by apply Z.mod_small. Qed.

  Theorem queue_init_triple d : exactly P d ->
    triple "queue_init" [] d (fun w d' => w = 0 /\ queue_rep queue_initial d').
  Proof using HM.
    intros Hx. eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold queue_init_code. locals_simpl.
    step. step. step.
    eapply owned_while with (n := Z.to_nat 4416) (I := fun n r d => exists q, r = [q; 0] /\ 0 <= q <= 4416 /\
      n = Z.to_nat (4416 - q) /\ exactly P d /\ done_queues q d).
    { exists 0. split; [done|]. split; [lia|]. split; [f_equal; lia|]. split; [done|]. intros u Hu. lia. }
    clear d Hx. intros n r d (q & -> & Hq & -> & Hx & Hdone). eexists. split; [evaluate|]. cbn [compare].
    destruct (q <? 4416) eqn:Elt.
    - apply Z.ltb_lt in Elt. destruct (initial_queue q) as [H1%Hx H2%Hx]; [unfold NUM_QUEUE; lia|].
      destruct H1 as [v1 H1], H2 as [v2 H2]. unfold queue_first, queue_last in H1, H2.
      repeat step. rewrite wrap_small by lia. exists (Z.to_nat (4416 - (q + 1))). split; [lia|]. exists (q + 1).
      split; [done|]. split; [lia|]. split; [done|]. destruct (initial_queue q) as [P1 P2]; [unfold NUM_QUEUE; lia|].
      split; [apply exactly_write; [by apply exactly_write|done]|]. intros u Hu.
      destruct (decide (u = q)) as [->|Hne].
      + unfold queue_is, queue_first, queue_last. look. done.
      + destruct (Hdone u) as (A & B & _); [lia|]. unfold queue_is, queue_first, queue_last in *. look. done.
    - apply Z.ltb_ge in Elt. assert (q = 4416) as -> by lia. step. step.
      eapply owned_while with (n := Z.to_nat 144) (I := fun n r d => exists t, r = [4416; t] /\ 0 <= t <= 144 /\
        n = Z.to_nat (144 - t) /\ exactly P d /\ done_queues 4416 d /\ done_threads t d).
      { exists 0. split; [done|]. split; [lia|]. split; [f_equal; lia|]. split; [done|]. split; [done|]. intros u Hu. lia. }
      clear d Hx Hdone Hq Elt. intros n r d (t & -> & Ht & -> & Hx & Hq & Hdone). eexists. split; [evaluate|].
      cbn [compare]. destruct (t <? 144) eqn:Elt.
      + apply Z.ltb_lt in Elt. destruct (initial_thread t) as (P1 & P2 & P3); [unfold NUM_THREAD; lia|].
        destruct (proj2 (Hx _) P1) as [v1 H1], (proj2 (Hx _) P2) as [v2 H2], (proj2 (Hx _) P3) as [v3 H3].
        unfold node_queue, node_next, node_previous in H1, H2, H3.
        repeat step. rewrite wrap_small by lia. exists (Z.to_nat (144 - (t + 1))). split; [lia|]. exists (t + 1).
        split; [done|]. split; [lia|]. split; [done|].
        split; [by repeat (apply exactly_write; [|done])|]. split.
        * intros u Hu. destruct (Hq u Hu) as (A & B & _). unfold queue_is, queue_first, queue_last in *. look. done.
        * intros u Hu. destruct (decide (u = t)) as [->|Hne].
          -- unfold node_is, node_queue, node_next, node_previous. look. done.
          -- destruct (Hdone u) as (A & B & C); [lia|]. unfold node_is, node_queue, node_next, node_previous in *.
             look. done.
      + apply Z.ltb_ge in Elt. assert (t = 144) as -> by lia. split; [done|]. split; [apply initial_valid|].
        split; [done|]. split.
        * intros q l [Hr ->]%initial_lists. by apply Hq.
        * intros t Hr%initial_free. by apply Hdone.
  Qed.
End proof.
