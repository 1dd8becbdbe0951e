(** The certified layers together: all objects, which lock guards which, all functions.

    Every layer of the stack adds its object here, its functions to [kernel_top], and its cells to [kernel_guarded]. The
    states of the objects are those of the layers' [Spec.v]. *)
From Ashlar Require Export layers.container.Implements lang.LockDiscipline calculus.DataRefines.

Section stack.
  (** Frames that the machine gives to the root container at start-up. *)
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).

  Inductive kernel_object := Containers.
  Global Instance kernel_object_eq_dec : EqDecision kernel_object.
  Proof. solve_decision. Defined.
  Global Program Instance kernel_object_countable : Countable kernel_object :=
    {| encode _ := 1%positive; decode _ := Some Containers |}.
  Next Obligation. by intros []. Qed.

  Inductive kernel_state := ContainersState (s : gmap Z container).

  Definition kernel_rep (o : kernel_object) (st : kernel_state) (d : mem) : Prop :=
    match o, st with Containers, ContainersState s => container_rep s d end.
  Definition kernel_valid (o : kernel_object) (st : kernel_state) : Prop :=
    match o, st with Containers, ContainersState s => container_valid s end.
  Global Instance kernel_valid_dec o st : Decision (kernel_valid o st).
  Proof. destruct o, st; simpl; apply _. Defined.
  Definition kernel_object_of (k : Z) : option kernel_object :=
    if k =? LOCK_CONTAINER then Some Containers else None.
  Definition kernel_initial (o : kernel_object) : kernel_state :=
    match o with Containers => ContainersState (container_initial root_quota) end.

  Definition kernel_layout : layout :=
    Layout kernel_object _ _ kernel_state kernel_rep kernel_object_of kernel_valid _ kernel_initial.

  Program Definition container_slot : slot kernel_layout (gmap Z container) container_rep container_valid :=
    Slot kernel_layout _ _ _ Containers LOCK_CONTAINER ContainersState
      (fun st => match st with ContainersState s => Some s end) _ _ _ _.
  Next Obligation. done. Qed.
  Next Obligation. done. Qed.
  Next Obligation.
    intros [s] d. simpl. split; [eauto|]. by intros (s' & [= ->] & ?).
  Qed.
  Next Obligation. done. Qed.

  (** The system of functions that clients may call, as atomic updates. *)
  Definition kernel_top (f : string) (args : list Z) : option (program (top_prim kernel_layout) (objects kernel_layout)) :=
    let fn g := Some (top_function kernel_layout container_slot g args) in
    if String.eqb f "container_split" then fn (update3 container_split)
    else if String.eqb f "container_charge" then fn (update2 container_charge)
    else if String.eqb f "container_refund" then fn (update2 container_refund)
    else if String.eqb f "container_merge" then fn (update1 container_merge)
    else if String.eqb f "container_quota" then fn (update1 container_quota)
    else if String.eqb f "container_usage" then fn (update1 container_usage)
    else if String.eqb f "container_parent" then fn (update1 container_parent)
    else if String.eqb f "container_own_usage" then fn (update1 container_own_usage)
    else None.

  Definition kernel_atomic (k : Z) : bool := k =? LOCK_CONTAINER.
  Definition kernel_exported (f : string) : bool :=
    String.eqb f "container_split" || String.eqb f "container_charge" || String.eqb f "container_refund" ||
    String.eqb f "container_merge" || String.eqb f "container_quota" || String.eqb f "container_usage" ||
    String.eqb f "container_parent" || String.eqb f "container_own_usage".

  (** The C code of the layers above the spin locks. *)
  Definition kernel_code : module := container_module.

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

  (** The cells among [m] that lock [k] guards. *)
  Definition kernel_guarded (k : Z) (m : mem) : mem :=
    if k =? LOCK_CONTAINER then filter (fun x => container_cell_dec x.1 = true) m else ∅.

  (** ** The obligations of the general theorems *)
  Lemma kernel_one_lock k k' o : kernel_object_of k = Some o -> kernel_object_of k' = Some o -> k = k'.
  Proof using.
    unfold kernel_object_of. intros H1 H2. destruct (Z.eqb_spec k LOCK_CONTAINER) as [->|]; [|done].
    by destruct (Z.eqb_spec k' LOCK_CONTAINER) as [->|].
  Qed.

  Lemma container_rep_filter s (d rest : mem) : container_rep s d -> d ##ₘ rest ->
    filter (fun x : cell * Z => container_cell_dec x.1 = true) (d ∪ rest) = d.
  Proof using.
    intros (_ & Hx & _) Hd. apply map_eq. intros x. apply option_eq. intros v.
    rewrite map_filter_lookup_Some. simpl. rewrite container_cell_dec_spec, <- Hx. split.
    - intros [H Hsome]. apply lookup_union_Some_raw in H as [H|[Hn _]]; [done|]. exfalso.
      by apply (proj1 (eq_None_not_Some _) Hn).
    - intros H. split; [by apply lookup_union_Some_l|eauto].
  Qed.

  Context (init : Z -> mem).
  (** Start-up has established the initial states ([container_init]); the cells of locks above are not looked at. *)
  Context (init_containers : container_rep (container_initial root_quota) (init LOCK_CONTAINER)).
  Context (init_other : forall k, k <> LOCK_CONTAINER -> init k = ∅).

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

  Lemma kernel_initial_valid k o : kernel_object_of k = Some o -> kernel_valid o (kernel_initial o).
  Proof using root_quota_word.
    intros _. destruct o. simpl.
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

  Theorem kernel_layout_ok : layout_ok kernel_layout init kernel_guarded.
  Proof using init_containers init_other root_quota_word.
    split.
    - intros [] [s] [s'] d H1 H2. simpl in *. f_equal. by eapply container_rep_state.
    - intros k o [s] d rest Hk _ Hr Hd. simpl in *. unfold kernel_object_of, kernel_guarded in *.
      destruct (k =? LOCK_CONTAINER); [|done]. simplify_eq. by eapply container_rep_filter.
    - intros k m Hk. simpl in Hk. unfold kernel_object_of, kernel_guarded in *. by destruct (k =? LOCK_CONTAINER).
    - intros k. unfold same_data. simpl. unfold kernel_object_of. destruct (Z.eqb_spec k LOCK_CONTAINER) as [->|Hne].
      + eexists. split; [done|]. split; [exact init_containers|]. by apply (kernel_initial_valid LOCK_CONTAINER).
      + split; [done|by apply init_other].
  Qed.

  Definition kernel_budget : nat := 1.
  Notation kernel_spec := (expand_spec kernel_layout kernel_top).

  Ltac by_function H f :=
    repeat match type of H with
           | (if String.eqb f ?n then _ else _) = _ => destruct (String.eqb_spec f n) as [->|_]
           end; [..|done].

  Theorem kernel_disciplined : spec_disciplined kernel_layout NUM_LOCK kernel_budget kernel_spec.
  Proof using.
    intros f args p n a H Ha. unfold expand_spec, kernel_top in H.
    destruct (if String.eqb f "container_split" then _ else _) as [q|] eqn:E; [|done]. simpl in H. injection H as <-.
    assert (Hd : forall g, keeps (svalid := container_valid) g ->
      disciplined kernel_layout NUM_LOCK kernel_budget [] n a (lock_function container_slot g args)).
    { intros g Hg. apply (lock_function_disciplined kernel_layout NUM_LOCK kernel_budget kernel_one_lock container_slot);
        [unfold kernel_budget; lia|simpl; change NUM_LOCK with NUM_LOCK; unfold LOCK_CONTAINER, NUM_LOCK; lia|done| |done].
      intros s [s'] _. simpl. by intros [= ->]. }
    by_function E f; injection E as <-; rewrite expand_top_function; apply Hd.
    - apply container_split_keeps. - apply container_charge_keeps. - apply container_refund_keeps.
    - apply container_merge_keeps. - apply container_read_keeps. - apply container_read_keeps.
    - apply container_read_keeps. - apply container_read_keeps.
  Qed.

  Theorem kernel_atomic_locks f args p : kernel_top f args = Some p -> atomic_locks kernel_layout kernel_atomic p.
  Proof using.
    intros H. unfold kernel_top in H. by_function H f; injection H as <-; by apply top_function_locks.
  Qed.

  (** Every function of the specification is the C function of its name. *)
  Theorem kernel_implemented kernel_entry (M : module) :
    (forall f fd, kernel_code f = Some fd -> M f = Some fd) -> M ACQUIRE = None -> M RELEASE = None ->
    all_implemented kernel_layout kernel_entry M kernel_exported kernel_spec.
  Proof using.
    intros HM Hacq Hrel f args p H.
    assert (HE : exists fd, M f = Some fd /\ kernel_exported f = true /\
      exists sp, p = sp args /\ forall cpu, implements kernel_layout kernel_entry M cpu f sp).
    { unfold expand_spec, kernel_top in H.
      destruct (if String.eqb f "container_split" then _ else _) as [q|] eqn:E; [|done]. simpl in H. injection H as <-.
      by_function E f; injection E as <-; rewrite expand_top_function;
        (eexists; split; [by apply HM|]; split; [done|]; eexists; split; [reflexivity|]; intros cpu).
      - by apply container_split_implements. - by apply container_charge_implements.
      - by apply container_refund_implements. - by apply container_merge_implements.
      - by apply container_quota_implements. - by apply container_usage_implements.
      - by apply container_parent_implements. - by apply container_own_usage_implements. }
    destruct HE as (fd & Hfd & Hexp & sp & -> & Himp). exists fd. split_and!; [done|done|].
    intros cpu m a Hr.
    destruct (implements_start kernel_layout kernel_entry M cpu f sp fd args m a (Himp cpu) Hfd Hr); auto.
  Qed.
End stack.
