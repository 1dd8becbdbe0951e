(** A page map and the frames that its CPU owns: an owned frame becomes a table of the map. *)
From Ashlar Require Export layers.pagemap.Implements layers.frame.memory.OwnerFunctions.
Local Opaque gmap_lookup gmap_partial_alter.

(** The cells of page map [p] and of the frames [h]. *)
Definition joint (kernel_entry : Z -> Z) (p : Z) (s : page_map) (h : owned_frames) (d : mem) : Prop :=
  pagemap_valid s /\
  (forall x, is_Some (d !! x) <-> pagemap_cells p s x \/ owned_frames_cells h x) /\
  (forall k f, tables s !! k = Some f -> h !! f = None) /\
  d !! pagemap_cell p "exists" = Some (flag (present s)) /\
  d !! pagemap_cell p "root" = Some (root_of s) /\
  d !! pagemap_cell p "cursor" = Some (cursor s) /\
  (forall k f i, tables s !! k = Some f -> 0 <= i < 512 -> d !! frame_word f i = Some (table_word kernel_entry s k i)) /\
  owned_frame_values h d.

Lemma field_no_word p field f i : pagemap_cell p field <> frame_word f i.
Proof. unfold pagemap_cell, frame_word. congruence. Qed.
Lemma field_cells p s field : field ∈ pagemap_fields -> pagemap_cells p s (pagemap_cell p field).
Proof. intros H. left. by exists field. Qed.
Lemma word_cells p s f i : pagemap_cells p s (frame_word f i) <-> 0 <= i < 512 /\ exists k, tables s !! k = Some f.
Proof.
  split.
  - intros [(field & _ & E)|(k & g & j & Hk & Hj & E)]; [by destruct (field_no_word p field f i)|].
    apply frame_word_eq in E as [-> ->]. split; [done|by exists k].
  - intros [Hi [k Hk]]. right. by exists k, f, i.
Qed.

Lemma joint_join kernel_entry p s h dp dh : pagemap_rep kernel_entry p s dp -> owned_frames_rep h dh -> dp ##ₘ dh ->
  joint kernel_entry p s h (dp ∪ dh).
Proof.
  intros (HV & Hx & E1 & E2 & E3 & Hw) [Hh Hhv] Hd. split; [done|]. split; [|split; [|split; [|split; [|split; [|split]]]]].
  - intros x. by rewrite union_cells, Hx, Hh.
  - intros k f Hk. apply eq_None_not_Some. intros Hs.
    assert (is_Some (dp !! frame_word f 0)) as [v1 H1] by (apply Hx, word_cells; split; [lia|by exists k]).
    assert (is_Some (dh !! frame_word f 0)) as [v2 H2] by (apply Hh, owned_frames_word; done).
    exact (proj1 (map_disjoint_spec dp dh) Hd _ _ _ H1 H2).
  - by apply lookup_union_Some_l.
  - by apply lookup_union_Some_l.
  - by apply lookup_union_Some_l.
  - intros k f i Hk Hi. apply lookup_union_Some_l. by apply Hw.
  - intros f w i Hf Hi. apply lookup_union_Some_r; [done|]. by apply (Hhv f).
Qed.

Lemma joint_split kernel_entry p s h d : joint kernel_entry p s h d ->
  exists dp dh, d = dp ∪ dh /\ dp ##ₘ dh /\ pagemap_rep kernel_entry p s dp /\ owned_frames_rep h dh.
Proof.
  intros (HV & Hx & Hno & E1 & E2 & E3 & Hw & Hhv). destruct (split_cells (owned_frame_cell h) d) as (a & b & -> & Hab & Ha & Hb).
  assert (forall field, ~ owned_frame_cell h (pagemap_cell p field)) as Hfield.
  { intros field (f & i & E & _)%owned_frame_cell_dom. by apply field_no_word in E. }
  assert (forall k f i, tables s !! k = Some f -> ~ owned_frame_cell h (frame_word f i)) as Hword.
  { intros k f i Hk [_ [v Hs]]%owned_frame_cell_dom%owned_frames_word. by rewrite (Hno k f Hk) in Hs. }
  exists a, b. split; [done|]. split; [done|]. split.
  - split; [done|]. split; [|split; [|split; [|split]]].
    + intros x. split.
      * intros [v [Hv Hn]%Ha]. assert (is_Some ((a ∪ b) !! x)) as [?|Hh]%Hx by (by exists v); [done|].
        by apply owned_frame_cell_dom in Hh.
      * intros Hc. assert (is_Some ((a ∪ b) !! x)) as [v Hv] by (apply Hx; by left). exists v. apply Ha. split; [done|].
        destruct Hc as [(field & _ & ->)|(k & f & i & Hk & _ & ->)]; [apply Hfield|by eapply Hword].
    + apply Ha. by split.
    + apply Ha. by split.
    + apply Ha. by split.
    + intros k f i Hk Hi. apply Ha. split; [by apply Hw|by eapply Hword].
  - split.
    + intros x. split.
      * intros [v [Hv Hn]%Hb]. by apply owned_frame_cell_dom.
      * intros Hc. assert (is_Some ((a ∪ b) !! x)) as [v Hv] by (apply Hx; by right). exists v. apply Hb. split; [done|].
        by apply owned_frame_cell_dom.
    + intros f w i Hf Hi. apply Hb. split; [by apply (Hhv f)|]. apply owned_frame_cell_dom, owned_frames_word. split; [done|]. rewrite Hf. by eexists.
Qed.
