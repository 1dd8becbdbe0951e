(** One move of the destruction cursor is one move of the specification: which tables the cursor leaves, that each of them
    is empty when it is freed, and that together the steps make the specification's move.

    The tables freed are those on the path to the page at the cursor, from the first level that exists upward, as long as
    the next page of the cursor is the first one behind them: its index in the table is 0. *)
From Ashlar Require Export layers.pagemap.spec.DestroyInvariant layers.pagemap.destroy.DestroyPrograms.

Lemma span_divides i j : 0 <= i <= j -> (span i | span j).
Proof. intros H. Local Transparent span. exists (512 ^ (j - i)). unfold span. rewrite <- Z.pow_add_r by lia. f_equal. lia. Qed.
Global Opaque span.
Lemma index_divides j x : 0 <= j -> (span j | x) -> entry_index j x = 0 <-> (span (j + 1) | x).
Proof.
  intros Hj [q ->]. pose proof (span_pos j Hj). unfold entry_index. rewrite Z.div_mul by lia. rewrite span_up by lia. split.
  - intros E. apply Z.mod_divide in E as [r ->]; [|lia]. exists r. lia.
  - intros [r E]. apply Z.mod_divide; [lia|]. exists r. assert (q * span j = (r * 512) * span j) as E' by lia.
    apply Z.mul_reg_r in E'; lia.
Qed.

Section move.
  Context (s : page_map) (HV : pagemap_valid s) (Hc : cursor s < USER_END).
  Notation n := (page_of (cursor s)).
  Notation l := (missing s n).
  Notation next := (next_page s).

  Lemma next_multiple : (span l | next).
  Proof using. unfold next_page. cbv zeta. by exists (n / span l + 1). Qed.
  Lemma next_least x : (span l | x) -> n < x -> next <= x.
  Proof using.
    intros [q ->] Hx. pose proof (missing_range s n). pose proof (span_pos l). unfold next_page. cbv zeta.
    apply Z.mul_le_mono_nonneg_r; [lia|]. assert (n / span l < q); [|lia]. apply Z.div_lt_upper_bound; lia.
  Qed.
  Lemma behind_multiple j : l <= j -> (span l | behind (j, above j n)).
  Proof using.
    intros Hj. pose proof (missing_range s n). unfold behind. cbn [fst snd]. apply Z.divide_mul_r, span_divides. lia.
  Qed.
  Lemma next_before_behind j : l <= j -> next <= behind (j, above j n).
  Proof using.
    intros Hj. pose proof (missing_range s n). apply next_least; [by apply behind_multiple|]. apply above_range. lia.
  Qed.

  (** The cursor leaves the table of level [j] behind: the page it goes to is the first of a table of that size. *)
  Lemma behind_next j : l <= j -> behind (j, above j n) <= next <-> (span (j + 1) | next).
  Proof using HV Hc.
    intros Hj. pose proof (missing_range s n). pose proof (span_pos (j + 1)). split.
    - intros Hle. pose proof (next_before_behind j Hj). replace next with (behind (j, above j n)) by lia.
      unfold behind. cbn [fst snd]. by exists (above j n + 1).
    - intros [q Hq]. rewrite Hq. unfold behind, above. cbn [fst snd]. apply Z.mul_le_mono_nonneg_r; [lia|].
      pose proof (next_page_bounds s HV Hc). assert (n / span (j + 1) < q); [|lia]. apply Z.div_lt_upper_bound; lia.
  Qed.
  Lemma next_multiples j : l <= j -> (forall i, l <= i < j -> entry_index i next = 0) -> (span j | next).
  Proof using.
    intros Hj. pose proof (missing_range s n). remember (Z.to_nat (j - l)) as k eqn:Hk. revert j Hj Hk.
    induction k as [|k IH]; intros j Hj Hk Hi.
    - assert (j = l) as -> by lia. apply next_multiple.
    - replace j with (j - 1 + 1) by lia. apply index_divides; [lia| |apply Hi; lia]. apply IH; [lia|lia|]. intros i Hi'. apply Hi. lia.
  Qed.
  Lemma behind_indices j : l <= j -> (forall i, l <= i < j -> entry_index i next = 0) ->
    entry_index j next = 0 <-> behind (j, above j n) <= next.
  Proof using HV Hc.
    intros Hj Hi. pose proof (missing_range s n). rewrite behind_next by done. apply index_divides; [lia|]. by apply next_multiples.
  Qed.
  Lemma behind_above j : l <= j -> entry_index j next <> 0 -> (forall i, l <= i < j -> entry_index i next = 0) ->
    forall k, j <= k -> ~ behind (k, above k n) <= next.
  Proof using HV Hc.
    intros Hj Hne Hi k Hk. pose proof (missing_range s n). rewrite behind_next by lia. intros Hd. apply Hne.
    apply index_divides; [lia|by apply next_multiples|]. etrans; [|exact Hd]. apply span_divides. lia.
  Qed.

  (** Every table that the cursor leaves behind is on the way to the page at the cursor. *)
  Lemma behind_way j x f : tables s !! (j, x) = Some f -> j < 3 -> behind (j, x) <= next -> l <= j /\ x = above j n.
  Proof using HV Hc.
    intros Hf Hj Hb. destruct (valid_table s HV _ _ Hf) as (H1 & H2 & _ & _ & _ & H6 & _). cbn [fst snd] in *.
    destruct (cursor_page s HV Hc) as [Ec Hn]. specialize (H6 Hj). assert (n < behind (j, x)) as Hnb by lia.
    pose proof (missing_range s n) as Hm. pose proof (span_pos (j + 1)).
    assert (above j (behind (j, x) - 1) = x) as Ex.
    { unfold above, behind. cbn [fst snd]. symmetry. apply (Z.div_unique _ _ x (span (j + 1) - 1)); lia. }
    destruct (Z.le_gt_cases l j) as [Hlj|Hlj].
    - split; [done|]. pose proof (next_before_behind j Hlj) as Hle. pose proof (above_range j n) as Hr.
      unfold behind in *. cbn [fst snd] in *. apply Z.le_antisymm.
      + assert ((x + 1) * span (j + 1) <= (above j n + 1) * span (j + 1)) as Hx by lia.
        apply Z.mul_le_mono_pos_r in Hx; lia.
      + assert (above j n * span (j + 1) < (x + 1) * span (j + 1)) as Hx by lia. apply Z.mul_lt_mono_pos_r in Hx; lia.
    - exfalso. set (n' := behind (j, x) - 1) in *.
      assert (above (l - 1) n' = above (l - 1) n) as Ea.
      { rewrite !above_below. pose proof (span_pos l). unfold next_page in Hb. cbv zeta in Hb. apply Z.le_antisymm.
        - assert (n' / span l < n / span l + 1); [|lia]. apply Z.div_lt_upper_bound; lia.
        - apply Z.div_le_mono; lia. }
      assert (tables s !! (j, above j n') = None) as Hno; [|by rewrite Ex, Hf in Hno].
      apply (path_down s j (l - 1)); [done|lia|lia|]. rewrite Ea. apply (missing_absent s HV). lia.
  Qed.

  (** The state when the page at the cursor and the tables of the levels below [j] are gone. *)
  Definition passed (j : Z) (t : page_map) : Prop :=
    (forall k, tables t !! k = if decide (l <= k.1 < j /\ k.2 = above k.1 n) then None else tables s !! k) /\
    leaves t = delete n (leaves s) /\ cursor t = cursor s.

  Lemma passed_start : passed l (PageMap (tables s) (delete n (leaves s)) (cursor s)).
  Proof using. split; [|done]. intros k. cbn [tables]. rewrite decide_False by lia. done. Qed.
  Lemma passed_entry : 0 < l -> passed l s.
  Proof using HV Hc.
    intros Hl. pose proof passed_start as Hs. rewrite delete_notin in Hs; [by destruct s|].
    apply no_table; [done|]. apply (missing_absent s HV). lia.
  Qed.
  Lemma passed_next j t : l <= j -> passed j t -> passed (j + 1) (without t (j, above j n)).
  Proof using.
    intros Hj (Ht & Hl & Hcur). split; [|done]. intros k. unfold without. cbn [tables].
    destruct (decide ((j, above j n) = k)) as [<-|Hne].
    - rewrite lookup_delete. cbn [fst snd]. rewrite decide_True by (split; [lia|done]). done.
    - rewrite lookup_delete_ne by done. rewrite Ht. destruct k as [i x]. cbn [fst snd] in *.
      destruct (decide (l <= i < j /\ x = above i n)) as [[H1 H2]|H1]; [by rewrite decide_True by (split; [lia|done])|].
      rewrite decide_False; [done|]. intros [H2 ->]. destruct (decide (i = j)) as [->|]; [done|]. apply H1. split; [lia|done].
  Qed.

  Lemma way_present j : l <= j <= 3 -> present s = true -> is_Some (tables s !! (j, above j n)).
  Proof using HV Hc.
    intros Hj Hp. pose proof (missing_range s n). destruct (decide (j = 3)) as [->|Hj3].
    - apply bool_decide_eq_true in Hp. rewrite above_low; [done|]. by destruct (cursor_page s HV Hc).
    - destruct (decide (is_Some (tables s !! (j, above j n)))) as [|Hn]; [done|exfalso].
      apply eq_None_not_Some in Hn. assert (forall i, 0 <= i <= j -> tables s !! (i, above i n) = None) as Hno.
      { intros i Hi. apply (path_down s i j); [done|lia|lia|done]. }
      unfold missing in Hj. repeat case_decide; try lia;
        match goal with H : is_Some (tables s !! (?i, _)) |- _ => destruct H as [f Hf]; rewrite Hno in Hf by lia; done end.
  Qed.
  Lemma way_missing j f : present s = true -> 1 <= j <= 3 ->
    tables s !! (j, above j n) = Some f -> tables s !! (j - 1, above (j - 1) n) = None -> l = j.
  Proof using HV Hc.
    intros Hp Hj H1 H0. destruct (Z.lt_trichotomy l j) as [Hlt|[E|Hgt]]; [exfalso|done|exfalso].
    - destruct (way_present (j - 1)) as [g Hg]; [lia|done|]. by rewrite H0 in Hg.
    - pose proof (missing_range s n). rewrite (missing_absent s HV) in H1 by lia. done.
  Qed.
  Lemma passed_present j t : l <= j <= 3 -> present s = true -> passed j t -> is_Some (tables t !! (j, above j n)).
  Proof using HV Hc.
    intros Hj Hp (Ht & _). rewrite Ht. cbn [fst snd]. rewrite decide_False by lia. by apply way_present.
  Qed.

  (** A table that the cursor leaves behind is empty when the tables of the way below it are gone. *)
  Lemma passed_table_empty j t : l <= j < 3 -> passed j t -> behind (j, above j n) <= next -> table_empty t j (above j n).
  Proof using HV Hc.
    intros Hj (Ht & Hl & _) Hb i Hi. pose proof (missing_range s n) as Hm. destruct (Z.eqb_spec j 0) as [->|Hj0].
    - rewrite Hl. destruct (decide (n = 512 * above 0 n + i)) as [<-|Hne]; [apply lookup_delete|].
      rewrite lookup_delete_ne by done. destruct (leaves s !! (512 * above 0 n + i)) as [e|] eqn:He; [exfalso|done].
      pose proof (passed_empty s HV Hc _ _ He) as Hpass. specialize (Hpass (not_eq_sym Hne)).
      unfold behind in Hb. cbn [fst snd] in Hb. change (span (0 + 1)) with 512 in Hb. lia.
    - rewrite Ht. cbn [fst snd]. destruct (decide _) as [|Hno]; [done|].
      destruct (tables s !! (j - 1, 512 * above j n + i)) as [f|] eqn:Hf; [exfalso|done].
      destruct (behind_way (j - 1) (512 * above j n + i) f Hf) as [H1 H2]; [lia| |apply Hno; split; [lia|done]].
      pose proof (behind_up (j - 1) (512 * above j n + i)) as Hup. specialize (Hup ltac:(lia)).
      replace ((512 * above j n + i) / 512) with (above j n) in Hup.
      2:{ rewrite Z.mul_comm, Z.div_add_l, Z.div_small by lia. lia. }
      replace (j - 1 + 1) with j in Hup by lia. lia.
  Qed.

  (** When the cursor leaves no more tables behind, the move is done but for the cursor. *)
  Theorem passed_end j t : l <= j <= 3 -> passed j t -> (forall i, l <= i < j -> entry_index i next = 0) ->
    (j = 3 \/ entry_index j next <> 0) -> PageMap (tables t) (leaves t) (4096 * next) = pagemap_move s.
  Proof using HV Hc.
    intros Hj (Ht & Hl & _) Hi Hend. unfold pagemap_move. rewrite (next_cursor_page s HV Hc), Hl. f_equal.
    apply map_eq. intros k. rewrite Ht. destruct k as [i x]. cbn [fst snd]. unfold PAGEMAP_ROOT_LEVEL.
    pose proof (missing_range s n) as Hm. symmetry. destruct (decide _) as [[H1 ->]|Hno].
    - apply map_filter_lookup_None. right. intros f _ [E|Hlt]; cbn [fst snd] in *; [lia|].
      assert (behind (i, above i n) <= next); [|lia]. apply behind_indices; [lia| |by apply Hi]. intros i' Hi'. apply Hi. lia.
    - destruct (tables s !! (i, x)) as [f|] eqn:Hf.
      + apply map_filter_lookup_Some. split; [done|]. cbn [fst snd]. destruct (decide (i = 3)) as [|Hi3]; [by left|right].
        destruct (valid_table s HV _ _ Hf) as (H1 & _). cbn [fst snd] in H1. unfold PAGEMAP_ROOT_LEVEL in H1.
        destruct (Z.lt_ge_cases next (behind (i, x))) as [|Hle]; [lia|exfalso].
        destruct (behind_way i x f Hf) as [H2 ->]; [lia|done|]. destruct (Z.lt_ge_cases i j) as [|Hge]; [by apply Hno|].
        destruct Hend as [->|Hne]; [lia|]. by apply (behind_above j (proj1 Hj) Hne Hi i Hge).
      + by apply map_filter_lookup_None; left.
  Qed.

  (** Taking the table of the way does not fail. *)
  Theorem passed_take j t h : l <= j < 3 -> present s = true -> passed j t ->
    (forall i, l <= i <= j -> entry_index i next = 0) ->
    exists f, tables s !! (j, above j n) = Some f /\ take_table j n t h = Some (f, without t (j, above j n), <[f := None]> h).
  Proof using HV Hc.
    intros Hj Hp Hpass Hi. pose proof (missing_range s n) as Hm.
    destruct (passed_present j t ltac:(lia) Hp Hpass) as [f Hf].
    exists f. split.
    { destruct Hpass as (Ht & _). rewrite Ht in Hf. cbn [fst snd] in Hf. by rewrite decide_False in Hf by lia. }
    unfold take_table. rewrite Hf. rewrite decide_True; [done|]. apply Forall_forall. intros i Hin%elem_of_seqZ.
    apply passed_table_empty; [done|done| |lia]. apply behind_indices; [lia| |apply Hi; lia]. intros i' Hi'. apply Hi. lia.
  Qed.

  (** ** The steps together *)
  Lemma end_of_next : end_of l n = next.
  Proof using. done. Qed.
  Definition page_gone : page_map := if l =? 0 then without_page n s else s.
  Lemma page_gone_passed : passed l page_gone.
  Proof using HV Hc.
    pose proof (missing_range s n). unfold page_gone. destruct (Z.eqb_spec l 0); [apply passed_start|apply passed_entry; lia].
  Qed.

  Lemma pass_tables_passed k j t : l <= j -> j + Z.of_nat k = 3 -> passed j t -> (forall i, l <= i < j -> entry_index i next = 0) ->
    exists j', passed j' (pass_tables k j n next t) /\ j <= j' <= 3 /\
      (forall i, l <= i < j' -> entry_index i next = 0) /\ (j' = 3 \/ entry_index j' next <> 0).
  Proof using.
    revert j t. induction k as [|k IH]; intros j t Hj Hk Ht Hi; cbn [pass_tables].
    - exists j. split; [done|]. split; [lia|]. split; [done|left; lia].
    - destruct (Z.eqb_spec (entry_index j next) 0) as [E|Hne].
      + destruct (IH (j + 1) (without t (j, above j n))) as (j' & H1 & H2 & H3 & H4); [lia|lia|by apply passed_next| |].
        { intros i Hi'. destruct (decide (i = j)) as [->|]; [done|]. apply Hi. lia. }
        exists j'. split; [done|]. split; [lia|done].
      + exists j. split; [done|]. split; [lia|]. split; [done|by right].
  Qed.
  Theorem pass_state_move : pass_state l n page_gone = pagemap_move s.
  Proof using HV Hc.
    pose proof (missing_range s n) as Hm. unfold pass_state. rewrite end_of_next.
    destruct (pass_tables_passed (Z.to_nat (PAGEMAP_ROOT_LEVEL - l)) l page_gone) as (j & H1 & H2 & H3 & H4);
      [lia|unfold PAGEMAP_ROOT_LEVEL; lia|apply page_gone_passed|intros i Hi; lia|].
    unfold with_cursor. by apply (passed_end j).
  Qed.
End move.
