(** Page maps: the words of the tables and the state determine each other, and what the processor finds in them. *)
From Ashlar Require Export layers.pagemap.spec.Invariant lang.logic.Owned.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma frame_word_eq f i f' i' : frame_word f i = frame_word f' i' -> f = f' /\ i = i'.
Proof. unfold frame_word. intros E. injection E as -> ->. done. Qed.
Lemma same_key s k k' f : pagemap_valid s -> tables s !! k = Some f -> tables s !! k' = Some f -> k = k'.
Proof. intros HV H H'. destruct (valid_table s HV _ _ H) as (_ & _ & _ & _ & _ & _ & Hone). symmetry. by apply (Hone _ _ H'). Qed.
Lemma table_frame s k f : pagemap_valid s -> tables s !! k = Some f -> 0 <= f < NUM_FRAME.
Proof. intros HV H. by destruct (valid_table s HV _ _ H) as (_ & _ & _ & ? & _). Qed.
Lemma root_usable s : pagemap_valid s -> present s = true -> 0 <= root_of s < NUM_FRAME /\ tables s !! root_key = Some (root_of s).
Proof.
  intros HV [f Hf]%bool_decide_eq_true. unfold root_of. rewrite Hf. split; [|done]. by eapply table_frame.
Qed.

(** Below page tables of a level: an index of the root that user pages have. *)
Lemma slot_root n : user_page n -> entry_index 3 n < PAGEMAP_KERNEL_FIRST.
Proof.
  intros [H1 H2]. unfold entry_index, PAGEMAP_KERNEL_FIRST, first_page, end_page in *. change (span 3) with 134217728.
  assert (n / 134217728 < 224) by (apply Z.div_lt_upper_bound; lia). assert (0 <= n / 134217728) by (apply Z.div_pos; lia).
  rewrite Z.mod_small; lia.
Qed.

Section rep.
  Context (kernel_entry : Z -> Z) (p : Z).
  Notation pagemap_rep := (pagemap_rep kernel_entry p).
  Notation table_word := (table_word kernel_entry).

  Lemma rep_valid s d : pagemap_rep s d -> pagemap_valid s.
  Proof using. by intros (? & _). Qed.
  Lemma rep_word s d k f i : pagemap_rep s d -> tables s !! k = Some f -> 0 <= i < 512 ->
    d !! frame_word f i = Some (table_word s k i).
  Proof using. intros (_ & _ & _ & _ & _ & H). apply H. Qed.

  (** The word on the way to page [n] in the table of level [l]. *)
  Lemma word_path s n l : (l = 3 -> entry_index 3 n < PAGEMAP_KERNEL_FIRST) -> 1 <= l <= 3 ->
    table_word s (l, above l n) (entry_index l n) = match tables s !! (l - 1, above (l - 1) n) with Some f => link f | None => 0 end.
  Proof using.
    intros Hn Hl. unfold Spec.table_word. cbn [fst snd]. rewrite (proj2 (Z.eqb_neq l 0)) by lia.
    rewrite above_slot, <- above_below by lia. unfold PAGEMAP_ROOT_LEVEL. destruct (Z.eqb_spec l 3) as [->|]; [|done].
    by rewrite (proj2 (Z.leb_gt _ _)) by auto.
  Qed.
  Lemma word_leaf s n : table_word s (0, above 0 n) (entry_index 0 n) = default 0 (leaves s !! n).
  Proof using. unfold Spec.table_word. cbn [fst snd]. rewrite page_slot. done. Qed.

  Theorem pagemap_rep_cells s d d' : pagemap_rep s d -> pagemap_rep s d' -> d = d'.
  Proof using.
    intros (_ & Hx & E1 & E2 & E3 & Hw) (_ & Hx' & E1' & E2' & E3' & Hw'). apply own_eq. intros x.
    destruct (d !! x) as [v|] eqn:E.
    - assert (pagemap_cells p s x) as [(field & Hf & ->)|(k & f & i & Hk & Hi & ->)] by (apply Hx; eauto).
      + unfold pagemap_fields in Hf. rewrite !elem_of_cons, elem_of_nil in Hf.
        destruct Hf as [->|[->|[->|[]]]]; congruence.
      + rewrite (Hw _ _ _ Hk Hi) in E. by rewrite (Hw' _ _ _ Hk Hi).
    - destruct (d' !! x) as [v|] eqn:E'; [|done].
      assert (is_Some (d !! x)) as [? ?] by (apply Hx, Hx'; eauto). congruence.
  Qed.

  (** A leaf's word is written: the state's leaf at that page is another. *)
  Lemma rep_leaf s d n f m : pagemap_rep s d -> tables s !! (0, above 0 n) = Some f ->
    pagemap_valid (PageMap (tables s) m (cursor s)) -> (forall n', n' <> n -> m !! n' = leaves s !! n') ->
    pagemap_rep (PageMap (tables s) m (cursor s)) (<[frame_word f (entry_index 0 n) := default 0 (m !! n)]> d).
  Proof using.
    intros (HV & Hx & E1 & E2 & E3 & Hw) Hf HV' Hm.
    assert (forall field, frame_word f (entry_index 0 n) <> pagemap_cell p field) as Hne by (intros field; unfold frame_word, pagemap_cell; congruence).
    split; [done|]. split; [|split; [|split; [|split]]].
    - apply exactly_write; [exact Hx|]. right. exists (0, above 0 n), f, (entry_index 0 n). split; [done|]. split; [apply slot_range|done].
    - by rewrite own_lookup_ne.
    - by rewrite own_lookup_ne.
    - by rewrite own_lookup_ne.
    - cbn [tables]. intros [l x] f' i Hk Hi. destruct (decide (frame_word f (entry_index 0 n) = frame_word f' i)) as [E|E].
      + rewrite <- E, own_lookup. apply frame_word_eq in E as [<- <-].
        pose proof (same_key s _ _ _ HV Hf Hk) as Ek. injection Ek as <- <-. unfold Spec.table_word. cbn [fst snd leaves].
        by rewrite page_slot.
      + rewrite own_lookup_ne by done. rewrite (Hw _ _ _ Hk Hi). f_equal. unfold Spec.table_word. cbn [fst snd leaves tables].
        destruct (Z.eqb_spec l 0) as [->|]; [|done]. rewrite Hm; [done|]. intros En. apply E.
        assert (above 0 n = x /\ entry_index 0 n = i) as [Ex Ei].
        { rewrite <- En. unfold above, entry_index. rewrite span_0. change (span (0 + 1)) with 512. rewrite Z.div_1_r.
          rewrite (Z.mul_comm 512 x). rewrite Z.div_add_l, Z.div_small by lia. split; [lia|].
          rewrite Z.add_comm, Z.mod_add by lia. by apply Z.mod_small. }
        rewrite Ex in Hf. rewrite Hf in Hk. by injection Hk as <-; rewrite Ei.
  Qed.
End rep.
