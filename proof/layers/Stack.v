(** The certified layers together: all objects, which lock guards which, which cells.

    Every layer of the stack adds its object here and its cells to [kernel_lock_of]; its functions go to [layers/Top.v]. The
    states of the objects are those of the layers' [Spec.v]. *)
From Ashlar Require Export layers.container.Implements layers.frame.ProofRep lang.Updates calculus.DataRefines.

Section stack.
  (** Start-up: the machine's frames that the root container may use, and the frame table. *)
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frames) (frames_start_valid : frame_valid frames_start).

  Inductive kernel_object := Containers | FrameTable.
  Global Instance kernel_object_eq_dec : EqDecision kernel_object.
  Proof. solve_decision. Defined.
  Global Instance kernel_object_countable : Countable kernel_object.
  Proof.
    refine (inj_countable' (fun o => match o with Containers => 0%nat | FrameTable => 1%nat end)
      (fun n => match n with O => Containers | _ => FrameTable end) _). by intros [].
  Defined.

  Inductive kernel_state := ContainersState (s : gmap Z container) | FrameTableState (s : frames).

  Definition kernel_rep (o : kernel_object) (st : kernel_state) (d : mem) : Prop :=
    match o, st with
    | Containers, ContainersState s => container_rep s d
    | FrameTable, FrameTableState s => frame_rep s d
    | _, _ => False
    end.
  Definition kernel_valid (o : kernel_object) (st : kernel_state) : Prop :=
    match o, st with
    | Containers, ContainersState s => container_valid s
    | FrameTable, FrameTableState s => frame_valid s
    | _, _ => False
    end.
  Global Instance kernel_valid_dec o st : Decision (kernel_valid o st).
  Proof. destruct o, st; simpl; apply _. Defined.
  Definition kernel_object_of (k : Z) : option kernel_object :=
    if k =? LOCK_CONTAINER then Some Containers else if k =? LOCK_FRAME then Some FrameTable else None.
  Definition kernel_initial (o : kernel_object) : kernel_state :=
    match o with
    | Containers => ContainersState (container_initial root_quota)
    | FrameTable => FrameTableState frames_start
    end.

  Definition kernel_layout : layout :=
    Layout kernel_object _ _ kernel_state kernel_rep kernel_object_of kernel_valid _ kernel_initial.

  Lemma containers_rep st d : kernel_rep Containers st d <-> exists s, st = ContainersState s /\ container_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma frame_table_rep st d : kernel_rep FrameTable st d <-> exists s, st = FrameTableState s /\ frame_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.

  Definition container_slot : slot kernel_layout (gmap Z container) container_rep container_valid :=
    Slot kernel_layout _ _ _ Containers LOCK_CONTAINER ContainersState
      (fun st => match st with ContainersState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl containers_rep
      (fun _ => iff_refl _).
  Definition frame_slot : slot kernel_layout frames frame_rep frame_valid :=
    Slot kernel_layout _ _ _ FrameTable LOCK_FRAME FrameTableState
      (fun st => match st with FrameTableState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl frame_table_rep
      (fun _ => iff_refl _).

  Definition container_cell_dec (x : cell) : bool :=
    let '(o, i, f, j) := x in
    String.eqb o "container" && (0 <=? i) && (i <=? ROOT) && existsb (String.eqb f) container_fields && (j =? 0).
  Lemma container_cell_dec_spec x : container_cell_dec x = true <-> container_cells x.
  Proof.
    destruct x as [[[o i] f] j]. unfold container_cell_dec, container_cells, container_cell.
    rewrite !andb_true_iff, !Z.leb_le, !Z.eqb_eq, String.eqb_eq, existsb_exists. split.
    - intros ((((-> & ?) & ?) & g & Hg & ->%String.eqb_eq) & ->). exists i, g. split_and!; try done.
      by apply elem_of_list_In.
    - intros (c & g & ? & Hg & [= -> -> -> ->]). split_and!; try done; [lia..|]. exists g.
      split; [by apply elem_of_list_In|apply String.eqb_refl].
  Qed.

  Definition frame_cell_dec (x : cell) : bool :=
    let '(o, i, f, j) := x in
    String.eqb f "" && (j =? 0) && (0 <=? i) &&
    ((String.eqb o "frame_owner" || String.eqb o "frame_kind") && (i <? NUM_FRAME) ||
     String.eqb o "frame_free" && (i =? 0) ||
     existsb (fun n => String.eqb o (map_object n) && (i <? map_words n)) [0; 1; 2; 3]).
  Lemma frame_cell_dec_spec x : frame_cell_dec x = true <-> frame_table_cells x.
  Proof.
    destruct x as [[[o i] f] j]. unfold frame_cell_dec, frame_table_cells, owner_cell, kind_cell, free_cell, map_cell.
    rewrite !andb_true_iff, !orb_true_iff, !andb_true_iff, orb_true_iff, existsb_exists, !String.eqb_eq, !Z.eqb_eq, Z.leb_le, Z.ltb_lt.
    split.
    - intros (((-> & ->) & Hi) & [[([-> | ->] & ?)|[-> ->]]|(n & Hn & [Ho Hl]%andb_true_iff)]).
      + left. exists i. by split; [lia|left].
      + left. exists i. by split; [lia|right].
      + by right; left.
      + right; right. apply String.eqb_eq in Ho as ->. apply Z.ltb_lt in Hl. exists n, i. split_and!; try done; try lia.
        all: apply elem_of_list_In in Hn; repeat (apply elem_of_cons in Hn as [->|Hn]; [lia|]); by apply elem_of_nil in Hn.
    - intros [(g & Hg & [[= -> -> -> ->]|[= -> -> -> ->]])|[[= -> -> -> ->]|(n & w & Hn & Hw & [= -> -> -> ->])]].
      + split_and!; try done; [lia|]. left; left. split; [by left|lia].
      + split_and!; try done; [lia|]. left; left. split; [by right|lia].
      + split_and!; try done. by left; right.
      + split_and!; try done; [lia|]. right. exists n. split.
        * apply elem_of_list_In. rewrite !elem_of_cons. lia.
        * apply andb_true_iff. split; [apply String.eqb_refl|apply Z.ltb_lt; lia].
  Qed.

  (** The lock that guards a cell. *)
  Definition kernel_lock_of (x : cell) : option Z :=
    if container_cell_dec x then Some LOCK_CONTAINER else if frame_cell_dec x then Some LOCK_FRAME else None.
  (** The cells among [m] that lock [k] guards. *)
  Definition kernel_guarded (k : Z) (m : mem) : mem := filter (fun x => kernel_lock_of x.1 = Some k) m.

  Lemma container_frame_cells x : container_cells x -> frame_table_cells x -> False.
  Proof.
    intros (c & f & _ & _ & ->). unfold container_cell.
    intros [(g & _ & [[=]|[=]])|[[=]|(n & i & _ & _ & E)]]. injection E as E _. revert E. unfold map_object.
    repeat (destruct (_ =? _); [done|]). done.
  Qed.
  Lemma kernel_lock_container x : kernel_lock_of x = Some LOCK_CONTAINER <-> container_cells x.
  Proof.
    unfold kernel_lock_of. rewrite <- container_cell_dec_spec. destruct (container_cell_dec x); [done|].
    by destruct (frame_cell_dec x).
  Qed.
  Lemma kernel_lock_frame x : kernel_lock_of x = Some LOCK_FRAME <-> frame_table_cells x.
  Proof.
    unfold kernel_lock_of. rewrite <- frame_cell_dec_spec. destruct (container_cell_dec x) eqn:E.
    - apply container_cell_dec_spec in E. split; [done|]. intros H%frame_cell_dec_spec.
      by destruct (container_frame_cells x).
    - by destruct (frame_cell_dec x).
  Qed.

  (** The cells that represent an object are those that its lock guards. *)
  Lemma kernel_rep_cells k o st d : kernel_object_of k = Some o -> kernel_rep o st d ->
    forall x, is_Some (d !! x) <-> kernel_lock_of x = Some k.
  Proof using.
    unfold kernel_object_of. intros Ho Hr x. destruct (Z.eqb_spec k LOCK_CONTAINER) as [->|_].
    { injection Ho as <-. destruct st; [|done]. rewrite kernel_lock_container. apply Hr. }
    destruct (Z.eqb_spec k LOCK_FRAME) as [->|_]; [|done].
    injection Ho as <-. destruct st; [done|]. rewrite kernel_lock_frame. apply Hr.
  Qed.

  (** ** The obligations of the general theorems *)
  Lemma kernel_one_lock k k' o : kernel_object_of k = Some o -> kernel_object_of k' = Some o -> k = k'.
  Proof using.
    unfold kernel_object_of. intros H1 H2.
    repeat match goal with H : context [?a =? ?b] |- _ => destruct (Z.eqb_spec a b) as [->|] end; simplify_eq; done.
  Qed.

  Lemma kernel_guarded_object k o st (d rest : mem) : kernel_object_of k = Some o -> kernel_rep o st d -> d ##ₘ rest ->
    kernel_guarded k (d ∪ rest) = d.
  Proof using.
    intros Ho Hr Hd. pose proof (kernel_rep_cells k o st d Ho Hr) as Hx. unfold kernel_guarded.
    apply map_eq. intros x. apply option_eq. intros v. rewrite map_filter_lookup_Some. simpl. rewrite <- Hx. split.
    - intros [H Hsome]. apply lookup_union_Some_raw in H as [H|[Hn _]]; [done|]. exfalso.
      by apply (proj1 (eq_None_not_Some _) Hn).
    - intros H. split; [by apply lookup_union_Some_l|eauto].
  Qed.

  Context (init : Z -> mem).
  (** Start-up has established the initial states; the cells of locks above are not looked at. *)
  Context (init_objects : forall k o, kernel_object_of k = Some o -> kernel_rep o (kernel_initial o) (init k)).
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
  Proof using root_quota_word frames_start_valid.
    intros _. destruct o; [exact container_initial_valid|exact frames_start_valid].
  Qed.

  Theorem kernel_layout_ok : layout_ok kernel_layout init kernel_guarded.
  Proof using init_objects init_other root_quota_word frames_start_valid.
    split.
    - intros k [] [s|s] [s'|s'] d _ H1 H2; simpl in *; try done; f_equal.
      + by eapply container_rep_state. + by eapply frame_rep_state.
    - intros k o st d rest Hk _ Hr Hd. by eapply kernel_guarded_object.
    - intros k m Hk. simpl in Hk. unfold kernel_guarded. apply map_eq. intros x. etrans; [|symmetry; apply lookup_empty].
      apply eq_None_not_Some. intros [v [_ H]%map_filter_lookup_Some]. simpl in H. revert Hk.
      unfold kernel_lock_of in H. destruct (container_cell_dec x); [by injection H as <-|].
      destruct (frame_cell_dec x); [by injection H as <-|done].
    - intros k. unfold same_data. simpl. destruct (kernel_object_of k) as [o|] eqn:E; simpl.
      + eexists. split; [done|]. split; [by apply init_objects|by apply (kernel_initial_valid k)].
      + split; [done|by apply init_other].
  Qed.

  (** What start-up leaves behind different locks is apart. *)
  Lemma kernel_init_apart k k' : k <> k' -> init k ##ₘ init k'.
  Proof using init_objects init_other.
    intros Hne. destruct (kernel_object_of k) as [o|] eqn:E; [|rewrite (init_other k E); apply map_disjoint_empty_l].
    destruct (kernel_object_of k') as [o'|] eqn:E'; [|rewrite (init_other k' E'); apply map_disjoint_empty_r].
    apply map_disjoint_spec. intros x v w H1 H2.
    pose proof (proj1 (kernel_rep_cells k o _ _ E (init_objects k o E) x) (ex_intro _ v H1)).
    pose proof (proj1 (kernel_rep_cells k' o' _ _ E' (init_objects k' o' E') x) (ex_intro _ w H2)). congruence.
  Qed.
End stack.
