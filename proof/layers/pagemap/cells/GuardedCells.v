(** Which cells belong to a page map, read off the cells themselves; and that they determine its state.

    The tables are found by walking down from the root, entry by entry, as the processor does. *)
From Ashlar Require Export layers.pagemap.cells.Representation.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Tables and the words that name them *)
Section words.
  Context (kernel_entry : Z -> Z) (p : Z).
  Notation pagemap_rep := (pagemap_rep kernel_entry p).
  Notation table_word := (table_word kernel_entry).

  Definition entries (l : Z) : Z := if l =? PAGEMAP_ROOT_LEVEL then PAGEMAP_KERNEL_FIRST else 512.

  Lemma word_below s l x i : 1 <= l <= 3 -> 0 <= i < entries l ->
    table_word s (l, x) i = match tables s !! (l - 1, 512 * x + i) with Some f => link f | None => 0 end.
  Proof using.
    unfold entries, PAGEMAP_ROOT_LEVEL, PAGEMAP_KERNEL_FIRST, Spec.table_word. cbn [fst snd]. intros Hl Hi.
    rewrite (proj2 (Z.eqb_neq l 0)) by lia. unfold PAGEMAP_ROOT_LEVEL, PAGEMAP_KERNEL_FIRST.
    destruct (Z.eqb_spec l 3); [|done]. by rewrite (proj2 (Z.leb_gt _ _)) by lia.
  Qed.

  (** The word that names a table. *)
  Lemma table_named s l x f : pagemap_valid s -> tables s !! (l, x) = Some f -> 0 <= l < 3 ->
    exists g, tables s !! (l + 1, x / 512) = Some g /\ x = 512 * (x / 512) + x mod 512 /\ 0 <= x mod 512 < entries (l + 1).
  Proof using.
    intros HV Hf Hl. destruct (table_parent s HV _ _ _ Hf) as [g Hg]; [lia|]. exists g. split; [done|].
    split; [apply Z.div_mod; lia|]. pose proof (Z.mod_pos_bound x 512). unfold entries, PAGEMAP_ROOT_LEVEL, PAGEMAP_KERNEL_FIRST.
    destruct (Z.eqb_spec (l + 1) 3); [|lia]. assert (l = 2) as -> by lia.
    destruct (valid_table s HV _ _ Hf) as (_ & Hx & Hend & _). simpl in *.
    change (span (2 + 1)) with 134217728 in Hend. unfold end_page in Hend.
    assert (x < 224) by lia. rewrite Z.mod_small by lia. lia.
  Qed.
  Lemma root_only s x f : pagemap_valid s -> tables s !! (3, x) = Some f -> x = 0.
  Proof using.
    intros HV Hf. destruct (valid_table s HV _ _ Hf) as (_ & Hx & Hend & _). simpl in *.
    change (span (3 + 1)) with 68719476736 in Hend. unfold end_page in Hend. lia.
  Qed.
  Lemma table_level s k f : pagemap_valid s -> tables s !! k = Some f -> 0 <= k.1 <= 3.
  Proof using. intros HV Hf. destruct (valid_table s HV _ _ Hf) as (Hl & _). exact Hl. Qed.

  Lemma same_root s s' d f : pagemap_rep s d -> pagemap_rep s' d -> tables s !! root_key = Some f -> tables s' !! root_key = Some f.
  Proof using.
    intros (HV & _ & He & Hr & _) (HV' & _ & He' & Hr' & _) Hf.
    assert (Hp : present s = true) by (apply bool_decide_eq_true; by exists f). rewrite Hp in He.
    assert (Hp' : present s' = true) by (destruct (present s'); [done|]; rewrite He in He'; done).
    pose proof (root_usable s' HV' Hp') as [_ H']. rewrite H'. f_equal.
    assert (E : root_of s = root_of s') by (rewrite Hr in Hr'; by injection Hr'). rewrite <- E. unfold root_of. by rewrite Hf.
  Qed.
  Lemma same_tables s s' d n l x f : pagemap_rep s d -> pagemap_rep s' d -> (Z.to_nat (3 - l) <= n)%nat ->
    tables s !! (l, x) = Some f -> tables s' !! (l, x) = Some f.
  Proof using.
    intros Hs Hs'. pose proof (rep_valid _ _ _ _ Hs) as HV. pose proof (rep_valid _ _ _ _ Hs') as HV'.
    revert l x f. induction n as [|n IH]; intros l x f Hn Hf; pose proof (table_level s (l, x) f HV Hf) as Hl; simpl in Hl.
    - assert (l = 3) as -> by lia. pose proof (root_only s x f HV Hf) as ->. exact (same_root s s' d f Hs Hs' Hf).
    - destruct (decide (l = 3)) as [->|Hne].
      { pose proof (root_only s x f HV Hf) as ->. exact (same_root s s' d f Hs Hs' Hf). }
      destruct (table_named s l x f HV Hf) as (g & Hg & Ex & Hi); [lia|].
      assert (Hg' : tables s' !! (l + 1, x / 512) = Some g) by (apply IH; [lia|done]).
      assert (Hi' : 0 <= x mod 512 < 512) by (apply Z.mod_pos_bound; lia).
      pose proof (rep_word _ _ s d _ g (x mod 512) Hs Hg Hi') as W.
      pose proof (rep_word _ _ s' d _ g (x mod 512) Hs' Hg' Hi') as W'.
      rewrite W in W'. injection W' as W'. rewrite !word_below in W' by lia. replace (l + 1 - 1) with l in W' by lia.
      rewrite <- Ex, Hf in W'. pose proof (table_frame s _ f HV Hf) as Hff. unfold NUM_FRAME in Hff.
      destruct (tables s' !! (l, x)) as [f'|] eqn:E; [|by destruct (link_nonzero f)].
      pose proof (table_frame s' _ f' HV' E) as Hff'. unfold NUM_FRAME in Hff'. f_equal.
      rewrite <- (link_frame f), <- (link_frame f') by lia. by rewrite W'.
  Qed.
  Lemma same_leaves s s' d n e : pagemap_rep s d -> pagemap_rep s' d -> leaves s !! n = Some e -> leaves s' !! n = Some e.
  Proof using.
    intros Hs Hs' He. pose proof (rep_valid _ _ _ _ Hs) as HV.
    destruct (valid_leaf s HV n e He) as (_ & _ & Hok & [f Hf]).
    assert (Hf' : tables s' !! (0, above 0 n) = Some f) by (by eapply (same_tables s s' d 3)).
    pose proof (slot_range 0 n) as Hi.
    pose proof (rep_word _ _ s d _ f (entry_index 0 n) Hs Hf Hi) as W. pose proof (rep_word _ _ s' d _ f (entry_index 0 n) Hs' Hf' Hi) as W'.
    rewrite word_leaf, He in W. rewrite word_leaf, W in W'. simpl in W'. injection W' as W'.
    destruct (leaves s' !! n) as [e'|]; simpl in W'; [by subst|]. by destruct (leaf_nonzero e).
  Qed.

  (** The cells determine the state. *)
  Theorem pagemap_rep_state s s' d : pagemap_rep s d -> pagemap_rep s' d -> s = s'.
  Proof using.
    intros Hs Hs'. pose proof (rep_valid _ _ _ _ Hs) as HV. pose proof (rep_valid _ _ _ _ Hs') as HV'.
    destruct s as [t v c], s' as [t' v' c']. f_equal.
    - apply map_eq. intros [l x]. destruct (t !! (l, x)) as [f|] eqn:E.
      + symmetry. eapply (same_tables (PageMap t v c) (PageMap t' v' c') d 3); [done|done| |done].
        pose proof (table_level (PageMap t v c) (l, x) f HV E). simpl in *. lia.
      + destruct (t' !! (l, x)) as [f'|] eqn:E'; [|done]. rewrite <- E.
        eapply (same_tables (PageMap t' v' c') (PageMap t v c) d 3); [done|done| |done].
        pose proof (table_level (PageMap t' v' c') (l, x) f' HV' E'). simpl in *. lia.
    - apply map_eq. intros n. destruct (v !! n) as [e|] eqn:E.
      + symmetry. by eapply (same_leaves (PageMap t v c) (PageMap t' v' c') d).
      + destruct (v' !! n) as [e'|] eqn:E'; [|done]. rewrite <- E.
        by eapply (same_leaves (PageMap t' v' c') (PageMap t v c) d).
    - destruct Hs as (_ & _ & _ & _ & H1 & _), Hs' as (_ & _ & _ & _ & H2 & _). simpl in *. rewrite H1 in H2. by injection H2.
  Qed.

  (** ** Walking down *)
  Fixpoint tables_below (m : mem) (l : nat) (f : Z) : list Z :=
    f :: match l with
         | O => []
         | S l' => flat_map (fun i =>
             match m !! frame_word f i with
             | Some e => if e =? 0 then [] else tables_below m l' (entry_frame e)
             | None => []
             end) (seqZ 0 (entries (Z.of_nat l)))
         end.
  (** The frames of the page map's tables. *)
  Definition map_tables (m : mem) : list Z :=
    match m !! pagemap_cell p "exists", m !! pagemap_cell p "root" with
    | Some x, Some r => if x =? 1 then tables_below m 3 r else []
    | _, _ => []
    end.

  Section walk.
    Context (s : page_map) (d rest : mem) (Hs : pagemap_rep s d).
    Notation m := (d ∪ rest).
    Lemma walk_word k f i : tables s !! k = Some f -> 0 <= i < 512 -> m !! frame_word f i = Some (table_word s k i).
    Proof using Hs. intros Hf Hi. apply own_read. by eapply rep_word. Qed.
    Lemma entries_512 l : entries l <= 512.
    Proof using. unfold entries, PAGEMAP_KERNEL_FIRST. destruct (_ =? _); lia. Qed.

    Lemma below_sound l : (l <= 3)%nat -> forall x f g, tables s !! (Z.of_nat l, x) = Some f -> g ∈ tables_below m l f ->
      exists k, tables s !! k = Some g.
    Proof using Hs.
      pose proof (rep_valid _ _ _ _ Hs) as HV. induction l as [|l IH]; intros Hl x f g Hf Hg.
      - apply elem_of_list_singleton in Hg as ->. by eexists.
      - cbn [tables_below] in Hg. apply elem_of_cons in Hg as [->|Hg]; [by eexists|].
        apply elem_of_list_In, in_flat_map in Hg as (i & Hi%elem_of_list_In%elem_of_seqZ & Hg).
        pose proof (entries_512 (Z.of_nat (S l))).
        rewrite (walk_word _ f i Hf) in Hg by lia. rewrite word_below in Hg by lia.
        replace (Z.of_nat (S l) - 1) with (Z.of_nat l) in Hg by lia.
        destruct (tables s !! (Z.of_nat l, 512 * x + i)) as [f1|] eqn:E; [|done].
        rewrite (proj2 (Z.eqb_neq _ _) (link_nonzero f1)) in Hg.
        pose proof (table_frame s _ f1 HV E) as Hff. unfold NUM_FRAME in Hff. rewrite link_frame in Hg by lia.
        apply (IH ltac:(lia) _ f1 g E). by apply elem_of_list_In.
    Qed.
    Lemma below_complete l : (l <= 3)%nat -> forall n x f l' x' g, tables s !! (Z.of_nat l, x) = Some f ->
      tables s !! (Z.of_nat l', x') = Some g -> (l = l' + n)%nat -> x' / 512 ^ Z.of_nat n = x -> g ∈ tables_below m l f.
    Proof using Hs.
      pose proof (rep_valid _ _ _ _ Hs) as HV. induction l as [|l IH]; intros Hl n x f l' x' g Hf Hg El Ex.
      - assert (n = 0%nat /\ l' = 0%nat) as [-> ->] by lia. change (512 ^ Z.of_nat 0) with 1 in Ex. rewrite Z.div_1_r in Ex.
        subst. rewrite Hf in Hg. injection Hg as ->. left.
      - destruct n as [|n].
        { change (512 ^ Z.of_nat 0) with 1 in Ex. rewrite Z.div_1_r in Ex. assert (l' = S l) as -> by lia. subst.
          rewrite Hf in Hg. injection Hg as ->. left. }
        (* the table one level below [l + 1] that leads to [x'] *)
        assert (Hup : forall j, (j <= n)%nat -> is_Some (tables s !! (Z.of_nat (l' + j), x' / 512 ^ Z.of_nat j))).
        { induction j as [|j IHj]; intros Hj.
          - change (512 ^ Z.of_nat 0) with 1. rewrite Z.div_1_r, Nat.add_0_r. by exists g.
          - destruct (IHj ltac:(lia)) as [h Hh]. destruct (table_parent s HV _ _ _ Hh) as [h' Hh']; [lia|].
            rewrite Z.div_div in Hh' by lia. exists h'.
            replace (Z.of_nat (l' + S j)) with (Z.of_nat (l' + j) + 1) by lia.
            replace (512 ^ Z.of_nat (S j)) with (512 ^ Z.of_nat j * 512); [done|].
            rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. lia. }
        destruct (Hup n ltac:(lia)) as [h Hh]. assert (l' + n = l)%nat as En by lia. rewrite En in Hh.
        set (y := x' / 512 ^ Z.of_nat n) in *.
        assert (Ey : y / 512 = x).
        { unfold y. rewrite Z.div_div by lia. rewrite <- Ex. f_equal. rewrite Nat2Z.inj_succ, Z.pow_succ_r by lia. lia. }
        destruct (table_named s _ y h HV Hh) as (f' & Hf' & Eyy & Hi); [lia|]. rewrite Ey in *.
        replace (Z.of_nat l + 1) with (Z.of_nat (S l)) in * by lia. rewrite Hf in Hf'. injection Hf' as <-.
        cbn [tables_below]. right. apply elem_of_list_In, in_flat_map. exists (y mod 512).
        split; [apply elem_of_list_In, elem_of_seqZ; lia|]. pose proof (entries_512 (Z.of_nat (S l))).
        rewrite (walk_word _ f (y mod 512) Hf) by lia. rewrite word_below by lia.
        replace (Z.of_nat (S l) - 1) with (Z.of_nat l) by lia. rewrite <- Eyy, Hh.
        rewrite (proj2 (Z.eqb_neq _ _) (link_nonzero h)).
        pose proof (table_frame s _ h HV Hh) as Hff. unfold NUM_FRAME in Hff. rewrite link_frame by lia.
        apply elem_of_list_In. by eapply (IH ltac:(lia) n y h l' x' g).
    Qed.

    Theorem map_tables_spec g : g ∈ map_tables m <-> exists k, tables s !! k = Some g.
    Proof using Hs.
      pose proof (rep_valid _ _ _ _ Hs) as HV. pose proof Hs as (_ & _ & He & Hr & _). unfold map_tables.
      rewrite (own_read _ rest _ _ He), (own_read _ rest _ _ Hr). destruct (present s) eqn:Hp;
        [change (flag true =? 1) with true|change (flag false =? 1) with false]; cbv iota.
      - destruct (root_usable s HV Hp) as [_ Hroot]. split.
        + apply (below_sound 3 ltac:(lia) 0); exact Hroot.
        + intros [[l x] Hg]. pose proof (table_level s (l, x) g HV Hg) as Hl. simpl in Hl.
          assert (El : l = Z.of_nat (Z.to_nat l)) by lia. rewrite El in Hg.
          apply (below_complete 3 ltac:(lia) (3 - Z.to_nat l) 0 (root_of s) (Z.to_nat l) x g); [exact Hroot|exact Hg|lia|].
          destruct (valid_table s HV _ _ Hg) as (_ & Hx & Hend & _). cbn [fst snd] in *.
          assert (Hc : l = 0 \/ l = 1 \/ l = 2 \/ l = 3) by lia. rewrite <- El in Hend.
          apply Z.div_small. split; [done|]. unfold end_page in Hend. destruct Hc as [->|[->|[->| ->]]].
          * change (span (0 + 1)) with 512 in Hend. change (512 ^ Z.of_nat (3 - Z.to_nat 0)) with 134217728. lia.
          * change (span (1 + 1)) with 262144 in Hend. change (512 ^ Z.of_nat (3 - Z.to_nat 1)) with 262144. lia.
          * change (span (2 + 1)) with 134217728 in Hend. change (512 ^ Z.of_nat (3 - Z.to_nat 2)) with 512. lia.
          * change (span (3 + 1)) with 68719476736 in Hend. change (512 ^ Z.of_nat (3 - Z.to_nat 3)) with 1. lia.
      - split; [by intros ?%elem_of_nil|]. intros [k Hg]. rewrite (table_root s HV k g Hg) in Hp. done.
    Qed.
  End walk.
End words.
