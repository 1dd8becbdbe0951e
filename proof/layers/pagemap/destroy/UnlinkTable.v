(** A table whose entries are all 0 leaves the map: the store that clears the entry which names it makes its frame an owned
    one. *)
From Ashlar Require Export layers.pagemap.create.Create.
Local Opaque gmap_lookup gmap_partial_alter.

Definition without (s : page_map) (k : Z * Z) : page_map := PageMap (delete k (tables s)) (leaves s) (cursor s).
(** Nothing is below table [(l, x)]. *)
Definition table_empty (s : page_map) (l x : Z) : Prop := forall i, 0 <= i < 512 ->
  if l =? 0 then leaves s !! (512 * x + i) = None else tables s !! (l - 1, 512 * x + i) = None.

Lemma without_tables s k k' g : tables (without s k) !! k' = Some g <-> k <> k' /\ tables s !! k' = Some g.
Proof. unfold without. cbn [tables]. apply lookup_delete_Some. Qed.
Lemma number_split y : 0 <= y mod 512 < 512 /\ 512 * (y / 512) + y mod 512 = y.
Proof. split; [apply Z.mod_pos_bound; lia|]. symmetry. apply Z.div_mod. lia. Qed.

Section remove.
  Context (kernel_entry : Z -> Z) (p : Z) (s : page_map) (l x f : Z) (HV : pagemap_valid s).
  Context (Hf : tables s !! (l, x) = Some f) (Hl : l < 3) (Hempty : table_empty s l x).

  Lemma level_range : 0 <= l /\ 0 <= x /\ (l = 2 -> x < 256).
  Proof using HV Hf Hl Hempty.
    destruct (valid_table s HV _ _ Hf) as (H1 & H2 & H3 & _). cbn [fst snd] in *. split; [lia|]. split; [done|]. intros ->.
    change (span (2 + 1)) with 134217728 in H3. unfold end_page in H3. lia.
  Qed.
  Lemma without_root : tables (without s (l, x)) !! root_key = tables s !! root_key.
  Proof using HV Hf Hl Hempty. unfold without. cbn [tables]. rewrite lookup_delete_ne; [done|]. unfold root_key, PAGEMAP_ROOT_LEVEL. intros [= -> _]. lia. Qed.

  Theorem without_valid : pagemap_valid (without s (l, x)).
  Proof using HV Hf Hl Hempty.
    pose proof level_range as (Hl0 & _). split; [|split].
    - intros [l' x'] g [Hne Hk]%without_tables. destruct (valid_table s HV _ _ Hk) as (H1 & H2 & H3 & H4 & H5 & H6 & H7).
      cbn [fst snd] in *. split; [done|]. split; [done|]. split; [done|]. split; [done|]. split; [|split; [done|]].
      + destruct H5 as [H5|[g' Hg']]; [by left|right]. exists g'. apply without_tables. split; [|done]. cbn [fst snd].
        intros [= -> ->]. destruct (number_split x') as [Hr E]. pose proof (Hempty (x' mod 512) Hr) as Hno.
        rewrite (proj2 (Z.eqb_neq (l' + 1) 0)) in Hno by lia. rewrite E in Hno.
        replace (l' + 1 - 1) with l' in Hno by lia. by rewrite Hk in Hno.
      + intros k' f' [_ Hk']%without_tables. by apply H7.
    - intros n e He. cbn [leaves without] in He. destruct (valid_leaf s HV _ _ He) as (H1 & H2 & H3 & [g Hg]).
      split; [done|]. split; [done|]. split; [done|]. exists g. apply without_tables. split; [|done]. intros [= -> ->].
      pose proof (Hempty (entry_index 0 n) (slot_range 0 n)) as Hno. cbn [Z.eqb] in Hno. rewrite page_slot in Hno. by rewrite He in Hno.
    - destruct HV as (_ & _ & H1 & H2 & H3). split; [done|]. split; [done|]. unfold present. rewrite without_root. exact H3.
  Qed.

  (** What the words are after. *)
  Lemma without_link : table_word kernel_entry (without s (l, x)) (l + 1, x / 512) (x mod 512) = 0.
  Proof using HV Hf Hl Hempty.
    pose proof level_range as (Hl0 & Hx & H2). unfold table_word. cbn [fst snd]. rewrite (proj2 (Z.eqb_neq (l + 1) 0)) by lia.
    destruct (number_split x) as [Hr E].
    assert ((l + 1 =? PAGEMAP_ROOT_LEVEL) && (PAGEMAP_KERNEL_FIRST <=? x mod 512) = false) as ->.
    { unfold PAGEMAP_ROOT_LEVEL, PAGEMAP_KERNEL_FIRST. destruct (Z.eqb_spec (l + 1) 3); [|done]. cbn [andb]. apply Z.leb_gt.
      rewrite Z.mod_small by lia. lia. }
    rewrite E. replace (l + 1 - 1) with l by lia. unfold without. cbn [tables]. by rewrite lookup_delete.
  Qed.
  Lemma without_word k i : 0 <= i < 512 -> (k = (l + 1, x / 512) -> i <> x mod 512) ->
    table_word kernel_entry (without s (l, x)) k i = table_word kernel_entry s k i.
  Proof using HV Hf Hl Hempty.
    intros Hi Hne. destruct k as [l' x']. unfold table_word. cbn [fst snd leaves tables without].
    destruct (l' =? 0); [done|]. destruct (_ && _); [done|]. rewrite lookup_delete_ne; [done|]. intros [= E1 E2].
    assert (x / 512 = x' /\ x mod 512 = i) as [Ex Ei].
    { rewrite E2, Z.mul_comm. rewrite Z.div_add_l, Z.div_small by lia. split; [lia|].
      rewrite Z.add_comm, Z.mod_add by lia. by apply Z.mod_small. }
    apply Hne; [|done]. rewrite Ex. f_equal. lia.
  Qed.

  Theorem joint_remove h d tbl : joint kernel_entry p s h d -> tables s !! (l + 1, x / 512) = Some tbl ->
    is_Some (d !! frame_word tbl (x mod 512)) /\
    joint kernel_entry p (without s (l, x)) (<[f := None]> h) (<[frame_word tbl (x mod 512) := 0]> d).
  Proof using HV Hf Hl Hempty.
    intros (_ & Hx & Hno & E1 & E2 & E3 & Hw & Hhv) Htbl. destruct (number_split x) as [Hr _].
    assert (is_Some (d !! frame_word tbl (x mod 512))) as Hcell by (rewrite (Hw _ _ _ Htbl Hr); by eexists).
    assert (forall k g, tables (without s (l, x)) !! k = Some g -> tables s !! k = Some g /\ f <> g) as Hold.
    { intros k g [Hne Hk]%without_tables. split; [done|]. intros <-. apply Hne. by eapply same_key. }
    split; [done|]. split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]].
    - apply without_valid.
    - intros y. etrans; [apply (exactly_write (fun z => is_Some (d !! z))); [done|exact Hcell]|]. rewrite Hx. split.
      + intros [[Hc|(k & g & i & Hk & Hi & ->)]|(g & i & -> & Hi & Hg)].
        * left; by left.
        * destruct (decide (f = g)) as [<-|Hne].
          -- right. apply owned_frames_word. split; [exact Hi|]. rewrite lookup_insert. by eexists.
          -- left. apply word_cells. split; [done|]. exists k. apply without_tables. split; [|done].
             intros <-. rewrite Hf in Hk. by injection Hk.
        * right. apply owned_frames_word. split; [done|]. apply lookup_insert_is_Some. destruct (decide (f = g)); auto.
      + intros [[Hc|(k & g & i & Hk & Hi & ->)]|(g & i & -> & Hi & Hg)].
        * left; by left.
        * left. apply word_cells. split; [done|]. exists k. by apply Hold.
        * apply lookup_insert_is_Some in Hg as [<-|[_ Hg]].
          -- left. apply word_cells. split; [exact Hi|by eexists].
          -- right. by apply owned_frames_word.
    - intros k g [Hk Hne]%Hold. rewrite lookup_insert_ne by done. by eapply Hno.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "exists" tbl (x mod 512))). rewrite E1. unfold present.
      by rewrite without_root.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "root" tbl (x mod 512))). rewrite E2. unfold root_of.
      by rewrite without_root.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "cursor" tbl (x mod 512))). exact E3.
    - intros k g i [Hk Hne]%Hold Hi. destruct (decide (tbl = g /\ x mod 512 = i)) as [[<- <-]|Hn].
      + rewrite own_lookup. pose proof (same_key s _ _ _ HV Htbl Hk) as <-. by rewrite without_link.
      + rewrite own_lookup_ne by (intros [? ?]%frame_word_eq; by apply Hn). rewrite (Hw _ _ _ Hk Hi). symmetry. f_equal.
        apply without_word; [done|]. intros -> ->. rewrite Htbl in Hk. injection Hk as ->. by apply Hn.
    - intros g w i Hg Hi. destruct (decide (f = g)) as [<-|Hne]; [by rewrite lookup_insert in Hg|].
      rewrite lookup_insert_ne in Hg by done. rewrite own_lookup_ne; [by apply (Hhv g w)|].
      intros [<- _]%frame_word_eq. by rewrite (Hno _ _ Htbl) in Hg.
  Qed.
End remove.
