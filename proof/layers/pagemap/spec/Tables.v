(** Page maps: numbers of pages and tables, and which tables a path has. *)
From Ashlar Require Export layers.pagemap.Spec.

(** ** Numbers *)
Lemma span_pos l : 0 <= l -> 0 < span l.
Proof. intros. apply Z.pow_pos_nonneg; lia. Qed.
Lemma span_up l : 0 <= l -> span (l + 1) = 512 * span l.
Proof. intros. unfold span. rewrite Z.pow_add_r by lia. lia. Qed.
Global Opaque span.

Lemma above_up l n : 0 <= l -> above l n / 512 = above (l + 1) n.
Proof.
  intros. unfold above. pose proof (span_pos (l + 1)). rewrite Z.div_div by lia. f_equal.
  rewrite (span_up (l + 1)) by lia. lia.
Qed.
(** The entry at [entry_index l n] of the table [above l n] names the table [above (l - 1) n], at level 0 page [n]. *)
Lemma above_slot l n : 0 <= l -> 512 * above l n + entry_index l n = n / span l.
Proof.
  intros. unfold entry_index, above. pose proof (span_pos l). rewrite (span_up l) by lia.
  rewrite (Z.mul_comm 512 (span l)), <- Z.div_div by lia. symmetry. apply Z.div_mod. lia.
Qed.
Lemma above_below l n : above (l - 1) n = n / span l.
Proof. unfold above. f_equal. f_equal. lia. Qed.
Lemma slot_range l n : 0 <= entry_index l n < 512.
Proof. apply Z.mod_pos_bound. lia. Qed.
Lemma span_0 : span 0 = 1. Proof. done. Qed.
Lemma page_slot n : 512 * above 0 n + entry_index 0 n = n.
Proof. rewrite above_slot by lia. rewrite span_0. apply Z.div_1_r. Qed.

(** The pages under a table. *)
Lemma above_range l n : 0 <= l -> above l n * span (l + 1) <= n < behind (l, above l n).
Proof.
  intros. unfold above, behind. simpl. pose proof (span_pos (l + 1)).
  pose proof (Z.mul_div_le n (span (l + 1))). pose proof (Z.mul_succ_div_gt n (span (l + 1))). lia.
Qed.
Lemma above_nonneg l n : 0 <= l -> 0 <= n -> 0 <= above l n.
Proof. intros. apply Z.div_pos; [done|]. apply span_pos. lia. Qed.
Lemma behind_up l x : 0 <= l -> behind (l, x) <= behind (l + 1, x / 512).
Proof.
  intros. unfold behind. simpl. rewrite (span_up (l + 1)) by lia. pose proof (span_pos (l + 1)).
  pose proof (Z.mul_succ_div_gt x 512).
  assert (x + 1 <= 512 * (x / 512 + 1)) as Hm by lia.
  apply (Z.mul_le_mono_nonneg_r _ _ (span (l + 1))) in Hm; lia.
Qed.
Lemma above_root n : user_page n -> above 3 n = 0.
Proof. intros [H1 H2]. unfold first_page, end_page in *. apply Z.div_small. change (span (3 + 1)) with 68719476736. lia. Qed.
Lemma user_page_address v : user_address v = true -> user_page (page_of v) /\ v = 4096 * page_of v.
Proof.
  unfold user_address, user_page, page_of, USER_BASE, USER_END, first_page, end_page. intros H.
  apply andb_prop in H as [[Hm Hb]%andb_prop He]. pose proof (Z.div_mod v 4096). lia.
Qed.

(** ** A valid state *)
Section valid.
  Context (s : page_map) (HV : pagemap_valid s).
  Lemma valid_table k f : tables s !! k = Some f -> table_ok s k f.
  Proof using HV. destruct HV as (H & _). apply H. Qed.
  Lemma valid_leaf n e : leaves s !! n = Some e -> leaf_held s n e.
  Proof using HV. destruct HV as (_ & H & _). apply H. Qed.

  Lemma table_parent l x f : tables s !! (l, x) = Some f -> l <> 3 -> is_Some (tables s !! (l + 1, x / 512)).
  Proof using HV. intros H Hl. destruct (valid_table _ _ H) as (_ & _ & _ & _ & [E|E] & _); [by destruct Hl|done]. Qed.
  Lemma path_up l n f : tables s !! (l, above l n) = Some f -> 0 <= l < 3 -> is_Some (tables s !! (l + 1, above (l + 1) n)).
  Proof using HV. intros H Hl. rewrite <- above_up by lia. eapply table_parent; [exact H|lia]. Qed.
  Lemma table_root k f : tables s !! k = Some f -> present s = true.
  Proof using HV.
    destruct k as [l x]. intros H. pose proof (valid_table _ _ H) as (Hl & _). simpl in Hl.
    unfold PAGEMAP_ROOT_LEVEL in Hl.
    remember (Z.to_nat (3 - l)) as n eqn:Hn. revert l x f H Hl Hn. induction n as [|n IH]; intros l x f H Hl Hn.
    - assert (l = 3) as -> by lia. destruct (valid_table _ _ H) as (_ & Hx & Hx' & _). simpl in *.
      change (span (3 + 1)) with 68719476736 in Hx'. unfold end_page in Hx'. assert (x = 0) as -> by lia.
      unfold present. apply bool_decide_true. by exists f.
    - destruct (table_parent _ _ _ H) as [f' H']; [lia|]. apply (IH _ _ _ H'); lia.
  Qed.

  (** Tables of a path: those from level [missing] up. *)
  Lemma missing_range n : 0 <= missing s n <= 3.
  Proof using. unfold missing. repeat case_decide; lia. Qed.
  Lemma missing_present n l : present s = true -> user_page n -> missing s n <= l <= 3 -> is_Some (tables s !! (l, above l n)).
  Proof using.
    intros Hp Hn Hl. assert (is_Some (tables s !! (3, above 3 n))) as H3.
    { rewrite above_root by done. by apply bool_decide_eq_true in Hp. }
    unfold missing in Hl. repeat case_decide;
      (assert (l = 0 \/ l = 1 \/ l = 2 \/ l = 3) as [->|[->|[->| ->]]] by lia); try done; lia.
  Qed.
  Lemma missing_absent n l : 0 <= l < missing s n -> tables s !! (l, above l n) = None.
  Proof using HV.
    intros Hl. destruct (tables s !! (l, above l n)) as [f|] eqn:E; [exfalso|done].
    pose proof (missing_range n). assert (forall i, l <= i <= 2 -> is_Some (tables s !! (i, above i n))) as Hup.
    { intros i Hi. assert (i = l \/ i = l + 1 \/ i = l + 2) as Hc by lia.
      destruct Hc as [->|[-> | ->]]; [by exists f| |].
      - eapply path_up; [exact E|lia].
      - destruct (path_up _ _ _ E) as [f1 E1]; [lia|]. replace (l + 2) with (l + 1 + 1) by lia.
        eapply path_up; [exact E1|lia]. }
    unfold missing in Hl.
    destruct (decide (is_Some (tables s !! (2, above 2 n)))) as [|N2]; [|apply N2, Hup; lia].
    destruct (decide (is_Some (tables s !! (1, above 1 n)))) as [|N1]; [|apply N1, Hup; lia].
    destruct (decide (is_Some (tables s !! (0, above 0 n)))) as [|N0]; [lia|apply N0, Hup; lia].
  Qed.
  Lemma missing_is n l : present s = true -> user_page n -> 0 <= l <= 3 ->
    (forall i, 0 <= i < l -> tables s !! (i, above i n) = None) -> (l = 3 \/ is_Some (tables s !! (l, above l n))) ->
    missing s n = l.
  Proof using HV.
    intros Hp Hn Hl Hno Hsome. pose proof (missing_range n) as Hr.
    destruct (Z.lt_trichotomy (missing s n) l) as [Hlt|[E|Hgt]]; [exfalso|done|exfalso].
    - destruct (missing_present n (missing s n) Hp Hn) as [f Hf]; [lia|]. by rewrite Hno in Hf by lia.
    - destruct Hsome as [->|[f Hf]]; [lia|]. by rewrite (missing_absent n l) in Hf by lia.
  Qed.
End valid.

(** ** A new table *)
Lemma add_table_tables n f s : tables (add_table n f s) = <[(missing s n - 1, above (missing s n - 1) n) := f]> (tables s).
Proof. done. Qed.
Lemma add_table_cases n f s l x g : tables (add_table n f s) !! (l, x) = Some g ->
  (l = missing s n - 1 /\ x = above l n /\ g = f) \/ tables s !! (l, x) = Some g.
Proof. rewrite add_table_tables. intros [[[= <- <-] <-]|[_ H]]%lookup_insert_Some; [by left|by right]. Qed.
Lemma add_table_old s n f k g : pagemap_valid s -> 0 < missing s n -> tables s !! k = Some g ->
  tables (add_table n f s) !! k = Some g.
Proof.
  intros HV Hm Hk. rewrite add_table_tables, lookup_insert_ne; [done|]. intros <-.
  rewrite (missing_absent s HV) in Hk by lia. done.
Qed.
Lemma add_table_missing s n f : pagemap_valid s -> present s = true -> user_page n -> 0 < missing s n ->
  missing (add_table n f s) n = missing s n - 1.
Proof.
  intros HV Hp Hn Hm. pose proof (missing_range s n) as Hr.
  assert (Hnew : is_Some (tables (add_table n f s) !! (missing s n - 1, above (missing s n - 1) n))).
  { rewrite add_table_tables, lookup_insert. by eexists. }
  assert (Hup : forall l, missing s n <= l <= 3 -> is_Some (tables (add_table n f s) !! (l, above l n))).
  { intros l Hl. destruct (missing_present s n l Hp Hn Hl) as [g Hg]. exists g. by apply add_table_old. }
  assert (Hno : forall l, 0 <= l < missing s n - 1 -> ~ is_Some (tables (add_table n f s) !! (l, above l n))).
  { intros l Hl [g Hg]. apply add_table_cases in Hg as [(E & _)|Hg]; [lia|]. by rewrite (missing_absent s HV) in Hg by lia. }
  unfold missing at 1. assert (missing s n = 1 \/ missing s n = 2 \/ missing s n = 3) as [E|[E|E]] by lia; rewrite E in *.
  - rewrite !decide_True; [done|exact Hnew|apply Hup; lia..].
  - rewrite decide_True by (apply Hup; lia). rewrite decide_True by exact Hnew. by rewrite decide_False by (apply Hno; lia).
  - rewrite decide_True by exact Hnew. by rewrite decide_False by (apply Hno; lia).
Qed.
