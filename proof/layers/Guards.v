(** Which cells each lock guards, read off the cells themselves.

    Of the frames' words, the frame table's cells say which are shared, and a page map's own words say which are its tables:
    they are found by walking down from the root, as the processor does. *)
From Ashlar Require Export layers.Objects.

Section guards.
  Context (kernel_entry : Z -> Z).
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

  (** The frame's words are shared, as the table's cells in [m] say. *)
  Definition words_shared_in (m : mem) (f : Z) : bool :=
    match m !! kind_cell f, m !! private_cell f with
    | Some k, Some p => (k =? FRAME_FREE) || (k =? FRAME_ALLOCATED) && (p =? 0)
    | _, _ => false
    end.
  Definition frame_memory_guards (m : mem) (x : cell) : bool :=
    frame_cell_dec x ||
    let '(o, f, g, i) := x in
    (0 <=? f) && (f <? NUM_FRAME) &&
    (String.eqb o "frame_private" && String.eqb g "" && (i =? 0) ||
     String.eqb o "frame" && String.eqb g "word" && (0 <=? i) && (i <? frame_words) && words_shared_in m f).

  (** The fields of page map [p], and the words of its tables. *)
  Definition map_cell_dec (p : Z) (m : mem) (x : cell) : bool :=
    let '(o, i, f, j) := x in
    String.eqb o "pagemap" && (i =? p) && existsb (String.eqb f) pagemap.Spec.pagemap_fields && (j =? 0) ||
    String.eqb o "frame" && String.eqb f "word" && (0 <=? j) && (j <? 512) &&
      bool_decide (i ∈ pagemap.cells.GuardedCells.map_tables p m).

  (** The cells among [m] that lock [k] guards. *)
  Definition guards (k : Z) (m : mem) (x : cell) : bool :=
    match kernel_object_of k with
    | Some Containers => container_cell_dec x
    | Some FrameMemoryObject => frame_memory_guards m x
    | Some (ProcessMap p) => map_cell_dec p m x
    | Some Shares => share_cell_dec x
    | Some OwnedFrames | Some ReadyQueues | None => false
    end.
  Definition kernel_guarded (k : Z) (m : mem) : mem := filter (fun x => guards k m x.1 = true) m.

  Lemma words_shared_range s (t : mem) f : frame_rep (table s) t -> words_shared s f -> 0 <= f < NUM_FRAME.
  Proof.
    intros (Hf & Ho & _) [Hin|[[m Hm] _]].
    - by destruct (Hf f Hin) as [Hid%frame_id_true _]. - by destruct (Ho f m Hm) as [Hid%frame_id_true _].
  Qed.

  Lemma frame_memory_guards_spec s d (rest : mem) x : frame_memory_rep s d -> d ##ₘ rest ->
    frame_memory_guards (d ∪ rest) x = true <-> is_Some (d !! x).
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
    assert (Hpool : forall f, 0 <= f < NUM_FRAME -> words_shared_in (t ∪ w ∪ rest) f = true <-> words_shared s f).
    { intros f Hf. unfold words_shared_in, words_shared. rewrite (Hkind f Hf). destruct (Hpriv f Hf) as [v Ev]. rewrite Ev.
      unfold kind_of. destruct (decide (f ∈ free (table s))) as [Hin|Hn]; [split; [by left|done]|].
      destruct (decide (is_Some (owners (table s) !! f))) as [Ho|Ho].
      - rewrite (Hpv f Ho) in Ev. injection Ev as <-. destruct (decide (f ∈ private s)) as [Hin|Hno].
        + split; [done|]. by intros [?|[_ ?]].
        + split; [by right|done].
      - split; [done|]. by intros [?|[? _]]. }
    rewrite union_cells, Hw. rewrite (proj1 (proj2 (proj2 Ht)) x). unfold frame_memory_guards. rewrite orb_true_iff, frame_cell_dec_spec.
    apply or_iff_compat_l. destruct x as [[[o f] g] i]. unfold frame_memory_cells.
    rewrite !andb_true_iff, orb_true_iff, !andb_true_iff, !String.eqb_eq, !Z.leb_le, !Z.ltb_lt, Z.eqb_eq. split.
    - intros ((H1 & H2) & [((-> & ->) & ->)|((((-> & ->) & H3) & H4) & H5)]).
      + left. exists f. split; [lia|done].
      + right. exists f, i. split; [done|]. split; [unfold word_index; lia|]. apply Hpool; [lia|done].
    - intros [(f' & Hf & [= -> -> -> ->])|(f' & i' & [= -> -> -> ->] & Hi & Hf)].
      + split; [lia|]. by left.
      + pose proof (words_shared_range s t f' Ht Hf). unfold word_index in Hi. split; [lia|]. right.
        split; [|by apply Hpool]. split; [split; [done|lia]|lia].
  Qed.

  Lemma map_cell_dec_spec p s d (rest : mem) x : pagemap_rep kernel_entry p s d -> d ##ₘ rest ->
    map_cell_dec p (d ∪ rest) x = true <-> is_Some (d !! x).
  Proof.
    intros Hr Hd. pose proof (pagemap.cells.GuardedCells.map_tables_spec kernel_entry p s d rest Hr) as Ht. destruct Hr as (_ & Hx & _).
    rewrite Hx. destruct x as [[[o i] f] j]. unfold map_cell_dec, pagemap.Spec.pagemap_cells, pagemap.Spec.pagemap_cell.
    rewrite orb_true_iff, !andb_true_iff, existsb_exists, !String.eqb_eq, !Z.eqb_eq, Z.leb_le, Z.ltb_lt, bool_decide_eq_true, Ht.
    split.
    - intros [(((-> & ->) & g & Hg & ->%String.eqb_eq) & ->)|((((-> & ->) & H1) & H2) & k & Hk)].
      + left. exists g. split; [by apply elem_of_list_In|done].
      + right. by exists k, i, j.
    - intros [(g & Hg & [= -> -> -> ->])|(k & g & h & Hk & Hh & [= -> -> -> ->])].
      + left. split_and!; try done. exists g. split; [by apply elem_of_list_In|apply String.eqb_refl].
      + right. split_and!; try done; try lia. by exists k.
  Qed.

  Lemma kernel_guards_spec k o st d (rest : mem) x : kernel_object_of k = Some o -> kernel_rep kernel_entry o st d -> d ##ₘ rest ->
    guards k (d ∪ rest) x = true <-> is_Some (d !! x).
  Proof using.
    unfold guards. intros Ho. rewrite Ho. destruct o, st; try done; simpl; intros Hr Hd.
    - rewrite container_cell_dec_spec. symmetry. apply Hr.
    - by apply (frame_memory_guards_spec s).
    - by apply (map_cell_dec_spec p s).
    - rewrite share_cell_dec_spec. symmetry. apply Hr.
    - by apply no_lock_owned_frames in Ho.
    - by apply no_lock_ready in Ho.
  Qed.
End guards.
