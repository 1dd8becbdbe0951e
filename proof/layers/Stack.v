(** The certified layers together: the obligations of the general theorems about all objects and their locks. *)
From Ashlar Require Export layers.Guards.

Section stack.
  (** The entries of the kernel's half of every page map. *)
  Context (kernel_entry : Z -> Z).
  (** Start-up: the machine's frames that the root container may use, and the frames. *)
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frame_memory) (frames_start_valid : frame_memory_valid frames_start).
  Context (shares_start : share_state) (shares_start_valid : share_valid shares_start).
  Notation kernel_layout := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation kernel_initial := (kernel_initial root_quota frames_start shares_start).

  Lemma kernel_one_lock k k' o : kernel_object_of k = Some o -> kernel_object_of k' = Some o -> k = k'.
  Proof using.
    intros H1 H2.
    apply kernel_object_guards in H1, H2. by destruct H1; inversion H2.
  Qed.

  Lemma kernel_guarded_object k o st (d rest : mem) : kernel_object_of k = Some o -> kernel_rep kernel_entry o st d -> d ##ₘ rest ->
    kernel_guarded k (d ∪ rest) = d.
  Proof using.
    intros Ho Hr Hd. unfold kernel_guarded. apply map_eq. intros x. apply option_eq. intros v.
    rewrite map_filter_lookup_Some. simpl. rewrite (kernel_guards_spec kernel_entry k o st d rest x Ho Hr Hd). split.
    - intros [H Hsome]. apply lookup_union_Some_raw in H as [H|[Hn _]]; [done|]. exfalso.
      by apply (proj1 (eq_None_not_Some _) Hn).
    - intros H. split; [by apply lookup_union_Some_l|eauto].
  Qed.

  (** At the start, objects of different locks have different cells. *)
  Definition lock_of_cell (x : cell) : Z :=
    let '(o, i, _, _) := x in
    if String.eqb o "container" then LOCK_CONTAINER
    else if String.eqb o "pagemap" then LOCK_PAGEMAP_BASE + i
    else if String.eqb o "share" || String.eqb o "share_offers" then LOCK_SHARE else LOCK_FRAME.
  Lemma kernel_initial_cells k o d x : kernel_object_of k = Some o -> kernel_rep kernel_entry o (kernel_initial o) d ->
    is_Some (d !! x) -> lock_of_cell x = k.
  Proof using.
    intros Ho%kernel_object_guards Hr Hx. destruct Ho; simpl in Hr.
    - by apply Hr in Hx as (c & g & _ & _ & ->).
    - destruct Hr as (_ & t & w & -> & _ & Ht & [Hw _]). apply union_cells in Hx as [Hx|Hx].
      + apply Ht in Hx as [(f & _ & [-> | ->])|[->|(n & i & _ & _ & ->)]]; try done. unfold map_cell, map_object. simpl.
        by repeat (destruct (_ =? _); [done|]).
      + by apply Hw in Hx as [(f & _ & ->)|(f & i & -> & _)].
    - destruct Hr as (_ & Hd & _). apply Hd in Hx as [(g & _ & ->)|(key & f & i & Hk & _)]; [done|].
      cbn [pagemap.Spec.tables pagemap.Spec.pagemap_absent] in Hk. by rewrite lookup_empty in Hk.
    - by apply Hr in Hx as [(i & g & _ & _ & ->)|(p & _ & ->)].
  Qed.

  Context (init : Z -> mem).
  (** Start-up has established the initial states; the cells of locks above are not looked at. *)
  Context (init_objects : forall k o, kernel_object_of k = Some o -> kernel_rep kernel_entry o (kernel_initial o) (init k)).
  Context (init_other : forall k, kernel_object_of k = None -> init k = ∅).

  Lemma initial_lookup c : container_initial root_quota !! c =
    if decide (c = ROOT) then Some (Container true NONE root_quota 0 0 0)
    else if decide (0 <= c <= ROOT) then Some absent else None.
  Proof using.
    unfold container_initial. destruct (decide (c = ROOT)) as [->|Hne]; [apply lookup_insert|].
    rewrite lookup_insert_ne by done.
    destruct (set_to_map (fun c => (c, absent)) (list_to_set (C := gset Z) (seqZ 0 (ROOT + 1))) !! c) as [x|] eqn:E.
    - apply lookup_set_to_map in E; [|by intros]. destruct E as (c' & Hc & [= -> <-]).
      rewrite elem_of_list_to_set, elem_of_seqZ in Hc. rewrite decide_True by lia. done.
    - rewrite decide_False; [done|]. intros Hc. revert E. apply not_eq_None_Some. exists absent.
      apply lookup_set_to_map; [by intros|]. exists c. split; [|done].
      rewrite elem_of_list_to_set, elem_of_seqZ. lia.
  Qed.

  Lemma container_initial_valid : container_valid (container_initial root_quota).
  Proof using root_quota_word.
    assert (Hz : forall c d x, 0 <= c <= ROOT -> container_initial root_quota !! d = Some x -> is_child c x = false).
    { intros c d x Hc. rewrite initial_lookup. destruct (decide (d = ROOT)); [|destruct (decide _); [|done]];
        intros [= <-]; unfold is_child, absent; cbn [exists_ parent andb]; [|done].
      apply Z.eqb_neq. change ROOT with 64 in *. change NONE with 4294967295. lia. }
    split_and!.
    - apply set_eq. intros c. rewrite elem_of_dom, initial_lookup, elem_of_list_to_set, elem_of_seqZ.
      change ROOT with 64. destruct (decide (c = 64)) as [->|]; [split; [lia|eauto]|].
      destruct (decide (0 <= c <= 64)); split; intros Hc'; [lia|eauto|by destruct Hc'|lia].
    - unfold exists_in. rewrite initial_lookup. by rewrite decide_True.
    - intros c x. rewrite initial_lookup. destruct (decide (c = ROOT)) as [->|].
      + assert (Hroot : 0 <= ROOT <= ROOT) by (change ROOT with 64; lia).
        intros [= <-]. unfold container_ok. cbn [exists_ granted usage quota children parent]. rewrite bool_decide_eq_true_2 by done.
        assert (container_sum (quota_under ROOT) (container_initial root_quota) = 0) as ->.
        { apply sum_zero. intros d y Hy. unfold quota_under. rewrite (Hz ROOT d y Hroot Hy). reflexivity. }
        assert (container_sum (one_under ROOT) (container_initial root_quota) = 0) as ->.
        { apply sum_zero. intros d y Hy. unfold one_under. rewrite (Hz ROOT d y Hroot Hy). reflexivity. }
        split_and!; lia || done.
      + destruct (decide (0 <= c <= ROOT)); [|done]. intros [= <-]. done.
  Qed.

  Lemma kernel_initial_valid k o : kernel_object_of k = Some o -> kernel_valid o (kernel_initial o).
  Proof using root_quota_word frames_start_valid shares_start_valid.
    intros Ho. destruct o;
      [exact container_initial_valid|exact frames_start_valid|apply pagemap.spec.Invariant.absent_valid|exact shares_start_valid|done|by apply no_lock_ready in Ho].
  Qed.

  Theorem kernel_layout_ok : layout_ok kernel_layout init kernel_guarded.
  Proof using init_objects init_other root_quota_word frames_start_valid shares_start_valid.
    split.
    - intros k o s s' d Ho H1 H2. destruct o, s, s'; simpl in *; try done.
      + f_equal. by eapply container_rep_state.
      + f_equal. by eapply frame_memory_rep_state.
      + f_equal. by eapply pagemap.cells.GuardedCells.pagemap_rep_state.
      + f_equal. by eapply share.Representation.share_rep_state.
      + by apply no_lock_owned_frames in Ho.
      + by apply no_lock_ready in Ho.
    - intros k o st d rest Hk _ Hr Hd. exact (kernel_guarded_object k o st d rest Hk Hr Hd).
    - intros k m Hk. simpl in Hk. unfold kernel_guarded. apply map_eq. intros x. etrans; [|symmetry; apply lookup_empty].
      apply eq_None_not_Some. intros [v [_ H]%map_filter_lookup_Some]. simpl in H. revert H. unfold guards. by rewrite Hk.
    - intros k. unfold same_data. simpl. destruct (kernel_object_of k) as [o|] eqn:E; simpl.
      + eexists. split; [done|]. split; [by apply init_objects|by apply (kernel_initial_valid k)].
      + split; [done|by apply init_other].
  Qed.

  (** The cells that start-up leaves to different locks are disjoint. *)
  Lemma kernel_init_disjoint k k' : k <> k' -> init k ##ₘ init k'.
  Proof using init_objects init_other.
    intros Hne. destruct (kernel_object_of k) as [o|] eqn:E; [|rewrite (init_other k E); apply map_disjoint_empty_l].
    destruct (kernel_object_of k') as [o'|] eqn:E'; [|rewrite (init_other k' E'); apply map_disjoint_empty_r].
    apply map_disjoint_spec. intros x v w H1 H2.
    pose proof (kernel_initial_cells k o _ x E (init_objects k o E) (ex_intro _ v H1)).
    pose proof (kernel_initial_cells k' o' _ x E' (init_objects k' o' E') (ex_intro _ w H2)). congruence.
  Qed.

  (** A CPU starts with no owned frames and with its ready queues, in memory of its own. *)
  Context (ready_start : nat -> ready) (cpu_init : nat -> mem).
  Definition kernel_start (c : nat) : objects kernel_layout :=
    {[OwnedFrames := OwnedFramesState ∅; ReadyQueues := ReadyState (Z.of_nat c) (ready_start c)]}.
  Lemma kernel_start_rep c : ready_rep (Z.of_nat c) (ready_start c) (cpu_init c) -> rep kernel_layout (kernel_start c) (cpu_init c).
  Proof using.
    intros Hready. unfold rep, kernel_start. rewrite <- (insert_empty (M := gmap kernel_object)). rewrite <- (left_id_L ∅ (∪) (cpu_init c)).
    constructor; [by rewrite lookup_insert_ne| |apply map_disjoint_empty_l|].
    - simpl. split.
      + intros x. split; [intros Hv|intros (f & i & _ & _ & Hv)]; exfalso; revert Hv; apply eq_None_not_Some, lookup_empty.
      + intros f w i Hf. exfalso. revert Hf. assert (E : (∅ : owned_frames) !! f = None) by apply lookup_empty. congruence.
    - rewrite <- (right_id_L ∅ (∪) (cpu_init c)). constructor; [apply lookup_empty|exact Hready|apply map_disjoint_empty_r|constructor].
  Qed.
  Lemma kernel_start_holds c : holds_exactly kernel_layout [] (kernel_start c).
  Proof using.
    intros k o Ho. rewrite elem_of_nil. split; [|done]. intros [st Hs]. unfold kernel_start in Hs.
    apply lookup_insert_Some in Hs as [[<- _]|[_ [<- _]%lookup_singleton_Some]]; [by apply (no_lock_owned_frames k)|by apply (no_lock_ready k)].
  Qed.
End stack.
