(** The certified layers together: all objects, which lock guards which, which cells.

    Every layer of the stack adds its object here and its cells to [kernel_guarded]; its functions go to [layers/Top.v]. The
    states of the objects are those of the layers' specifications. What a CPU has in hand, no lock guards. *)
From Ashlar Require Export layers.container.Implements layers.frame.PoolSteps calculus.DataRefines.
From Ashlar Require layers.share.ProofRep layers.share.ProofSpec.
Notation share_state := share.Spec.share_state.
Notation share_rep := share.Spec.share_rep.
Notation share_valid := share.Spec.share_valid.

Section stack.
  (** Start-up: the machine's frames that the root container may use, and the frames. *)
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : pool) (frames_start_valid : pool_valid frames_start).

  Inductive kernel_object := Containers | FramePool | Shares | Hands.
  Global Instance kernel_object_eq_dec : EqDecision kernel_object.
  Proof. solve_decision. Defined.
  Global Instance kernel_object_countable : Countable kernel_object.
  Proof.
    refine (inj_countable' (fun o => match o with Containers => 0 | FramePool => 1 | Shares => 2 | Hands => 3 end)
      (fun n => if n =? 0 then Containers else if n =? 1 then FramePool else if n =? 2 then Shares else Hands) _).
    by intros [].
  Defined.

  Inductive kernel_state :=
  | ContainersState (s : gmap Z container) | FramePoolState (s : pool) | SharesState (s : share_state) | HandsState (h : hands).

  Definition kernel_rep (o : kernel_object) (st : kernel_state) (d : mem) : Prop :=
    match o, st with
    | Containers, ContainersState s => container_rep s d
    | FramePool, FramePoolState s => pool_rep s d
    | Shares, SharesState s => share_rep s d
    | Hands, HandsState h => hands_rep h d
    | _, _ => False
    end.
  Definition kernel_valid (o : kernel_object) (st : kernel_state) : Prop :=
    match o, st with
    | Containers, ContainersState s => container_valid s
    | FramePool, FramePoolState s => pool_valid s
    | Shares, SharesState s => share_valid s
    | Hands, HandsState _ => True
    | _, _ => False
    end.
  Global Instance kernel_valid_dec o st : Decision (kernel_valid o st).
  Proof. destruct o, st; simpl; apply _. Defined.
  Definition kernel_object_of (k : Z) : option kernel_object :=
    if k =? LOCK_CONTAINER then Some Containers
    else if k =? LOCK_FRAME then Some FramePool
    else if k =? LOCK_SHARE then Some Shares
    else None.
  Definition kernel_initial (o : kernel_object) : kernel_state :=
    match o with
    | Containers => ContainersState (container_initial root_quota)
    | FramePool => FramePoolState frames_start
    | Shares => SharesState share.Spec.share_initial
    | Hands => HandsState ∅
    end.

  Definition kernel_layout : layout :=
    Layout kernel_object _ _ kernel_state kernel_rep kernel_object_of kernel_valid _ kernel_initial.

  Lemma containers_rep st d : kernel_rep Containers st d <-> exists s, st = ContainersState s /\ container_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma frame_pool_rep st d : kernel_rep FramePool st d <-> exists s, st = FramePoolState s /\ pool_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma shares_rep st d : kernel_rep Shares st d <-> exists s, st = SharesState s /\ share_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma in_hand_rep st d : kernel_rep Hands st d <-> exists h, st = HandsState h /\ hands_rep h d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma no_lock_hands k : kernel_object_of k <> Some Hands.
  Proof. unfold kernel_object_of. by repeat (destruct (_ =? _); [done|]). Qed.

  Definition container_slot : slot kernel_layout (gmap Z container) container_rep container_valid :=
    Slot kernel_layout _ _ _ Containers LOCK_CONTAINER ContainersState
      (fun st => match st with ContainersState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl containers_rep
      (fun _ => iff_refl _).
  Definition frame_slot : slot kernel_layout pool pool_rep pool_valid :=
    Slot kernel_layout _ _ _ FramePool LOCK_FRAME FramePoolState
      (fun st => match st with FramePoolState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl frame_pool_rep
      (fun _ => iff_refl _).
  Definition share_slot : slot kernel_layout share_state share_rep share_valid :=
    Slot kernel_layout _ _ _ Shares LOCK_SHARE SharesState
      (fun st => match st with SharesState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl shares_rep
      (fun _ => iff_refl _).
  Definition kernel_hands : hand_slot kernel_layout :=
    HandSlot kernel_layout Hands HandsState (fun st => match st with HandsState h => Some h | _ => None end)
      (fun _ => eq_refl) no_lock_hands in_hand_rep.

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

  Definition share_cell_dec (x : cell) : bool :=
    let '(o, i, f, j) := x in
    (0 <=? i) && (j =? 0) &&
    (String.eqb o "share" && (i <? NUM_SHARE) && existsb (String.eqb f) share.Spec.share_fields ||
     String.eqb o "share_offers" && (i <? NUM_PROCESS) && String.eqb f "").
  Lemma share_cell_dec_spec x : share_cell_dec x = true <-> share.Spec.share_cells x.
  Proof.
    destruct x as [[[o i] f] j]. unfold share_cell_dec, share.Spec.share_cells, share.Spec.share_cell, share.Spec.offers_cell.
    rewrite !andb_true_iff, !orb_true_iff, !andb_true_iff, existsb_exists, !String.eqb_eq, !Z.eqb_eq, Z.leb_le, !Z.ltb_lt.
    split.
    - intros ((Hi & ->) & [((-> & Hl) & g & Hg & ->%String.eqb_eq)|((-> & Hl) & ->)]).
      + left. exists i, g. split_and!; [lia|lia|by apply elem_of_list_In|done].
      + right. exists i. split; [lia|done].
    - intros [(c & g & Hc & Hg & [= -> -> -> ->])|(c & Hc & [= -> -> -> ->])].
      + split; [split; [lia|done]|]. left. split; [split; [done|lia]|]. exists g.
        split; [by apply elem_of_list_In|apply String.eqb_refl].
      + split; [split; [lia|done]|]. right. split; [split; [done|lia]|done].
  Qed.

  (** The frame's words are the pool's, as the table's cells in [m] say. *)
  Definition pooled_in (m : mem) (f : Z) : bool :=
    match m !! kind_cell f, m !! private_cell f with
    | Some k, Some p => (k =? FRAME_FREE) || (k =? FRAME_ALLOCATED) && (p =? 0)
    | _, _ => false
    end.
  Definition pool_guards (m : mem) (x : cell) : bool :=
    frame_cell_dec x ||
    let '(o, f, g, i) := x in
    (0 <=? f) && (f <? NUM_FRAME) &&
    (String.eqb o "frame_private" && String.eqb g "" && (i =? 0) ||
     String.eqb o "frame" && String.eqb g "word" && (0 <=? i) && (i <? frame_words) && pooled_in m f).

  (** The cells among [m] that lock [k] guards. *)
  Definition guards (k : Z) (m : mem) (x : cell) : bool :=
    if k =? LOCK_CONTAINER then container_cell_dec x
    else if k =? LOCK_FRAME then pool_guards m x
    else if k =? LOCK_SHARE then share_cell_dec x
    else false.
  Definition kernel_guarded (k : Z) (m : mem) : mem := filter (fun x => guards k m x.1 = true) m.

  Lemma pooled_range s (t : mem) f : frame_rep (table s) t -> pooled s f -> 0 <= f < NUM_FRAME.
  Proof.
    intros (Hf & Ho & _) [Hin|[[m Hm] _]].
    - by destruct (Hf f Hin) as [Hid%frame_id_true _]. - by destruct (Ho f m Hm) as [Hid%frame_id_true _].
  Qed.

  Lemma pool_guards_spec s d (rest : mem) x : pool_rep s d -> d ##ₘ rest ->
    pool_guards (d ∪ rest) x = true <-> is_Some (d !! x).
  Proof.
    intros (Hp & t & w & -> & Htw & Ht & [Hw Hv]) Hd.
    assert (Hkind : forall f, 0 <= f < NUM_FRAME -> (t ∪ w ∪ rest) !! kind_cell f = Some (kind_of (table s) f)).
    { intros f Hf. apply lookup_union_Some_l, lookup_union_Some_l. by apply (proj1 (proj2 (proj2 (proj2 Ht)))). }
    assert (Hpriv : forall f, 0 <= f < NUM_FRAME -> is_Some ((t ∪ w ∪ rest) !! private_cell f)).
    { intros f Hf. assert (Hs : is_Some (w !! private_cell f)) by (apply Hw; left; by exists f). destruct Hs as [v Hs].
      exists v. apply lookup_union_Some_l. by apply lookup_union_Some_r. }
    assert (Hpv : forall f, is_Some (owners (table s) !! f) ->
      (t ∪ w ∪ rest) !! private_cell f = Some (if decide (f ∈ private s) then 1 else 0)).
    { intros f Hf. apply lookup_union_Some_l. apply lookup_union_Some_r; [done|by apply Hv]. }
    assert (Hpool : forall f, 0 <= f < NUM_FRAME -> pooled_in (t ∪ w ∪ rest) f = true <-> pooled s f).
    { intros f Hf. unfold pooled_in, pooled. rewrite (Hkind f Hf). destruct (Hpriv f Hf) as [v Ev]. rewrite Ev.
      unfold kind_of. destruct (decide (f ∈ free (table s))) as [Hin|Hn]; [split; [by left|done]|].
      destruct (decide (is_Some (owners (table s) !! f))) as [Ho|Ho].
      - rewrite (Hpv f Ho) in Ev. injection Ev as <-. destruct (decide (f ∈ private s)) as [Hin|Hno].
        + split; [done|]. by intros [?|[_ ?]].
        + split; [by right|done].
      - split; [done|]. by intros [?|[? _]]. }
    rewrite union_cells, Hw. rewrite (proj1 (proj2 (proj2 Ht)) x). unfold pool_guards. rewrite orb_true_iff, frame_cell_dec_spec.
    apply or_iff_compat_l. destruct x as [[[o f] g] i]. unfold pool_cells.
    rewrite !andb_true_iff, orb_true_iff, !andb_true_iff, !String.eqb_eq, !Z.leb_le, !Z.ltb_lt, Z.eqb_eq. split.
    - intros ((H1 & H2) & [((-> & ->) & ->)|((((-> & ->) & H3) & H4) & H5)]).
      + left. exists f. split; [lia|done].
      + right. exists f, i. split; [done|]. split; [unfold word_index; lia|]. apply Hpool; [lia|done].
    - intros [(f' & Hf & [= -> -> -> ->])|(f' & i' & [= -> -> -> ->] & Hi & Hf)].
      + split; [lia|]. by left.
      + pose proof (pooled_range s t f' Ht Hf). unfold word_index in Hi. split; [lia|]. right.
        split; [|by apply Hpool]. split; [split; [done|lia]|lia].
  Qed.

  Lemma kernel_guards_spec k o st d (rest : mem) x : kernel_object_of k = Some o -> kernel_rep o st d -> d ##ₘ rest ->
    guards k (d ∪ rest) x = true <-> is_Some (d !! x).
  Proof using.
    unfold kernel_object_of, guards. intros Ho Hr Hd.
    destruct (k =? LOCK_CONTAINER); [injection Ho as <-; destruct st; try done; rewrite container_cell_dec_spec; symmetry; apply Hr|].
    destruct (k =? LOCK_FRAME); [injection Ho as <-; destruct st; try done; by apply (pool_guards_spec s)|].
    destruct (k =? LOCK_SHARE); [injection Ho as <-; destruct st; try done; rewrite share_cell_dec_spec; symmetry; apply Hr|done].
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
    intros Ho Hr Hd. unfold kernel_guarded. apply map_eq. intros x. apply option_eq. intros v.
    rewrite map_filter_lookup_Some. simpl. rewrite (kernel_guards_spec k o st d rest x Ho Hr Hd). split.
    - intros [H Hsome]. apply lookup_union_Some_raw in H as [H|[Hn _]]; [done|]. exfalso.
      by apply (proj1 (eq_None_not_Some _) Hn).
    - intros H. split; [by apply lookup_union_Some_l|eauto].
  Qed.

  (** Objects of different locks have different names. *)
  Definition lock_of_name (o : string) : Z :=
    if String.eqb o "container" then LOCK_CONTAINER
    else if String.eqb o "share" || String.eqb o "share_offers" then LOCK_SHARE else LOCK_FRAME.
  Lemma kernel_rep_names k o st d x : kernel_object_of k = Some o -> kernel_rep o st d -> is_Some (d !! x) ->
    lock_of_name x.1.1.1 = k.
  Proof using.
    unfold kernel_object_of. intros Ho Hr Hx.
    destruct (Z.eqb_spec k LOCK_CONTAINER) as [->|_].
    { injection Ho as <-. destruct st; try done. apply Hr in Hx as (c & g & _ & _ & ->). done. }
    destruct (Z.eqb_spec k LOCK_FRAME) as [->|_].
    { injection Ho as <-. destruct st; try done. destruct Hr as (_ & t & w & -> & _ & Ht & [Hw _]).
      apply union_cells in Hx as [Hx|Hx].
      - apply Ht in Hx as [(f & _ & [-> | ->])|[->|(n & i & _ & _ & ->)]]; try done. unfold map_cell, map_object. simpl.
        by repeat (destruct (_ =? _); [done|]).
      - by apply Hw in Hx as [(f & _ & ->)|(f & i & -> & _)]. }
    destruct (Z.eqb_spec k LOCK_SHARE) as [->|_]; [|done].
    injection Ho as <-. destruct st; try done. by apply Hr in Hx as [(i & g & _ & _ & ->)|(p & _ & ->)].
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
    intros _. destruct o; [exact container_initial_valid|exact frames_start_valid|apply share.ProofSpec.share_initial_valid|done].
  Qed.

  Theorem kernel_layout_ok : layout_ok kernel_layout init kernel_guarded.
  Proof using init_objects init_other root_quota_word frames_start_valid.
    split.
    - intros k o s s' d Ho H1 H2. destruct o, s, s'; simpl in *; try done.
      + f_equal. by eapply container_rep_state.
      + f_equal. by eapply pool_rep_state.
      + f_equal. by eapply share.ProofRep.share_rep_state.
      + by apply no_lock_hands in Ho.
    - intros k o st d rest Hk _ Hr Hd. by eapply kernel_guarded_object.
    - intros k m Hk. simpl in Hk. unfold kernel_guarded. apply map_eq. intros x. etrans; [|symmetry; apply lookup_empty].
      apply eq_None_not_Some. intros [v [_ H]%map_filter_lookup_Some]. simpl in H. revert H. unfold guards.
      unfold kernel_object_of in Hk. by repeat (destruct (_ =? _); [done|]).
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
    pose proof (kernel_rep_names k o _ _ x E (init_objects k o E) (ex_intro _ v H1)).
    pose proof (kernel_rep_names k' o' _ _ x E' (init_objects k' o' E') (ex_intro _ w H2)). congruence.
  Qed.

  (** A CPU starts with empty hands. *)
  Definition kernel_start : objects kernel_layout := {[Hands := HandsState ∅]}.
  Lemma kernel_start_rep : rep kernel_layout kernel_start ∅.
  Proof using.
    unfold rep, kernel_start. rewrite <- (insert_empty (M := gmap kernel_object)). rewrite <- (left_id_L ∅ (∪) (∅ : mem)).
    constructor; [apply lookup_empty| |apply map_disjoint_empty_l|constructor].
    simpl. split.
    - intros x. split; [intros Hv|intros (f & i & _ & _ & Hv)]; exfalso; revert Hv; apply eq_None_not_Some, lookup_empty.
    - intros f w i Hf. exfalso. revert Hf. assert (E : (∅ : hands) !! f = None) by apply lookup_empty. congruence.
  Qed.
  Lemma kernel_start_holds : holds_exactly kernel_layout [] kernel_start.
  Proof using.
    intros k o Ho. rewrite elem_of_nil. split; [|done]. intros [st Hs]. unfold kernel_start in Hs.
    apply lookup_singleton_Some in Hs as [<- _]. by apply (no_lock_hands k).
  Qed.
End stack.
