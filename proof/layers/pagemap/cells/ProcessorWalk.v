(** Page maps: what the processor's walk finds for a user program is the state, page for page: nothing of the kernel's half,
    and in the lower half exactly what is mapped. And the walk changes nothing: the processor marks an entry that it uses as
    accessed and a page that is written as dirty, but all entries are marked from the start. *)
From Ashlar Require Export layers.pagemap.cells.Representation.
Local Opaque gmap_lookup gmap_partial_alter.

(** The walk of the processor in user mode, from the table of level [l] in frame [f]: every entry on the way must be
    present and for users. *)
Fixpoint user_reach (d : mem) (l : nat) (f n : Z) : option Z :=
  match d !! frame_word f (entry_index (Z.of_nat l) n) with
  | Some e =>
      if has e ARCH_PTE_PRESENT && has e ARCH_PTE_USER then
        match l with O => Some e | S l => user_reach d l (entry_frame e) n end
      else None
  | None => None
  end.

(** What memory is after such a walk: each entry that it used is marked as accessed, the page's as dirty too, as after a
    write. The walk may come to its end or not. *)
Definition marks (l : nat) : Z := match l with O => Z.lor ARCH_PTE_ACCESSED ARCH_PTE_DIRTY | S _ => ARCH_PTE_ACCESSED end.
Fixpoint user_walk_marks (d : mem) (l : nat) (f n : Z) : mem :=
  match d !! frame_word f (entry_index (Z.of_nat l) n) with
  | Some e =>
      if has e ARCH_PTE_PRESENT && has e ARCH_PTE_USER then
        let d := <[frame_word f (entry_index (Z.of_nat l) n) := Z.lor e (marks l)]> d in
        match l with O => d | S l => user_walk_marks d l (entry_frame e) n end
      else d
  | None => d
  end.

(** What has a bit does not change when that is set. *)
Lemma lor_has k e b : b = 2 ^ k -> 0 <= k -> has e b = true -> Z.lor e b = e.
Proof.
  intros -> Hk H. apply Z.bits_inj'. intros i Hi. rewrite Z.lor_spec, Z.pow2_bits_eqb by done.
  destruct (Z.eqb_spec k i) as [->|]; [|apply orb_false_r]. rewrite orb_true_r. symmetry.
  destruct (Z.testbit e i) eqn:Hb; [done|]. exfalso. revert H. unfold has.
  assert (Z.land e (2 ^ i) = 0) as ->; [|done].
  apply Z.bits_inj'. intros j Hj. rewrite Z.land_spec, Z.pow2_bits_eqb, Z.bits_0 by done.
  destruct (Z.eqb_spec i j) as [->|]; [by rewrite Hb|apply andb_false_r].
Qed.

Lemma has_link f b : has (link f) b = has (Z.shiftl f ARCH_PTE_FRAME_SHIFT) b || has PAGEMAP_TABLE_BITS b.
Proof. apply has_lor. Qed.

Section reach.
  Context (kernel_entry : Z -> Z) (p : Z) (s : page_map) (d : mem) (Hr : pagemap_rep kernel_entry p s d).

  Lemma reach_below l f n : (l <= 3)%nat -> 0 <= n -> entry_index 3 n < PAGEMAP_KERNEL_FIRST ->
    tables s !! (Z.of_nat l, above (Z.of_nat l) n) = Some f -> user_reach d l f n = leaves s !! n.
  Proof using Hr.
    intros Hl Hn Hs. pose proof (rep_valid _ _ _ _ Hr) as HV. revert f. induction l as [|l IH]; intros f Hf; cbn [user_reach].
    - change (Z.of_nat 0) with 0 in *. rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range. rewrite word_leaf.
      destruct (leaves s !! n) as [e|] eqn:He; [|done]. simpl.
      destruct (valid_leaf s HV _ _ He) as (_ & _ & (_ & -> & -> & _) & _). done.
    - rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range. rewrite word_path by lia.
      replace (Z.of_nat (S l) - 1) with (Z.of_nat l) by lia.
      destruct (tables s !! (Z.of_nat l, above (Z.of_nat l) n)) as [f'|] eqn:Hf'.
      + rewrite !has_link. change (has PAGEMAP_TABLE_BITS ARCH_PTE_PRESENT) with true.
        change (has PAGEMAP_TABLE_BITS ARCH_PTE_USER) with true. rewrite !orb_true_r. cbn [andb].
        pose proof (table_frame _ _ _ HV Hf') as Hb. unfold NUM_FRAME in Hb. rewrite link_frame by (change (2 ^ 32) with 4294967296; lia).
        apply IH; [lia|done].
      + change (has 0 ARCH_PTE_PRESENT) with false. cbn [andb].
        destruct (leaves s !! n) as [e|] eqn:He; [|done]. destruct (valid_leaf s HV _ _ He) as (_ & _ & _ & [f0 H0]).
        assert (forall k : nat, (k <= l)%nat -> is_Some (tables s !! (Z.of_nat k, above (Z.of_nat k) n))) as Hup.
        { induction k as [|k IHk]; intros Hk; [by exists f0|]. destruct IHk as [fk Hfk]; [lia|].
          replace (Z.of_nat (S k)) with (Z.of_nat k + 1) by lia. eapply path_up; [done|exact Hfk|lia]. }
        destruct (Hup l) as [? E]; [lia|]. by rewrite Hf' in E.
  Qed.

  (** All addresses of the processor, the kernel's half included. *)
  Theorem user_reach_exact n : present s = true -> 0 <= n < 2 ^ 36 ->
    (forall i, PAGEMAP_KERNEL_FIRST <= i < 512 -> has (kernel_entry i) ARCH_PTE_USER = false) ->
    user_reach d 3 (root_of s) n = leaves s !! n.
  Proof using Hr.
    intros Hp Hn Hk. pose proof (rep_valid _ _ _ _ Hr) as HV. destruct (root_usable s HV Hp) as [_ Hroot].
    assert (above 3 n = 0) as Ha by (apply Z.div_small; change (span (3 + 1)) with (2 ^ 36); lia).
    destruct (Z.lt_ge_cases (entry_index 3 n) PAGEMAP_KERNEL_FIRST) as [Hs|Hs].
    - apply reach_below; [lia|lia|done|]. change (Z.of_nat 3) with 3. by rewrite Ha.
    - pose proof (slot_range 3 n). cbn [user_reach]. change (Z.of_nat 3) with 3.
      rewrite (rep_word _ _ _ _ _ _ _ Hr Hroot) by done. unfold table_word. cbn [fst snd root_key].
      rewrite (proj2 (Z.leb_le _ _)) by done. change (PAGEMAP_ROOT_LEVEL =? 0) with false. rewrite Z.eqb_refl. cbn [andb].
      rewrite Hk by lia. rewrite andb_false_r. destruct (leaves s !! n) as [e|] eqn:He; [|done].
      destruct (valid_leaf s HV _ _ He) as (Hu & _). pose proof (slot_root n Hu). lia.
  Qed.

  Lemma marks_nothing_below l f n : (l <= 3)%nat -> 0 <= n -> entry_index 3 n < PAGEMAP_KERNEL_FIRST ->
    tables s !! (Z.of_nat l, above (Z.of_nat l) n) = Some f -> user_walk_marks d l f n = d.
  Proof using Hr.
    intros Hl Hn Hs. pose proof (rep_valid _ _ _ _ Hr) as HV. revert f.
    induction l as [|l IH]; intros f Hf; cbn [user_walk_marks].
    - change (Z.of_nat 0) with 0 in *.
      assert (d !! frame_word f (entry_index 0 n) = Some (default 0 (leaves s !! n))) as Hw
        by (rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range; by rewrite word_leaf).
      rewrite Hw. destruct (leaves s !! n) as [e|] eqn:He; [|done]. simpl in Hw |- *.
      destruct (valid_leaf s HV _ _ He) as (_ & _ & (_ & -> & -> & _ & Ha & Hd) & _). cbn [andb].
      apply insert_id. etransitivity; [exact Hw|]. f_equal. unfold marks. rewrite Z.lor_assoc.
      rewrite (lor_has 5 e ARCH_PTE_ACCESSED) by done. symmetry. by apply (lor_has 6).
    - assert (d !! frame_word f (entry_index (Z.of_nat (S l)) n) =
        Some (match tables s !! (Z.of_nat l, above (Z.of_nat l) n) with Some f' => link f' | None => 0 end)) as Hw.
      { rewrite (rep_word _ _ _ _ _ _ _ Hr Hf) by apply slot_range. rewrite word_path by lia.
        by replace (Z.of_nat (S l) - 1) with (Z.of_nat l) by lia. }
      rewrite Hw. destruct (tables s !! (Z.of_nat l, above (Z.of_nat l) n)) as [f'|] eqn:Hf'; [|done].
      rewrite !has_link. change (has PAGEMAP_TABLE_BITS ARCH_PTE_PRESENT) with true.
      change (has PAGEMAP_TABLE_BITS ARCH_PTE_USER) with true. rewrite !orb_true_r. cbn [andb].
      assert (<[frame_word f (entry_index (Z.of_nat (S l)) n) := Z.lor (link f') (marks (S l))]> d = d) as ->.
      { apply insert_id. etransitivity; [exact Hw|]. f_equal. symmetry. apply (lor_has 5); [done|done|]. rewrite has_link.
        change (has PAGEMAP_TABLE_BITS ARCH_PTE_ACCESSED) with true. apply orb_true_r. }
      pose proof (table_frame _ _ _ HV Hf') as Hb. unfold NUM_FRAME in Hb.
      rewrite link_frame by (change (2 ^ 32) with 4294967296; lia). apply IH; [lia|done].
  Qed.

  (** The processor, walking for a user program, changes no word: all that it could mark is marked. *)
  Theorem user_walk_marks_nothing n : present s = true -> 0 <= n < 2 ^ 36 ->
    (forall i, PAGEMAP_KERNEL_FIRST <= i < 512 -> has (kernel_entry i) ARCH_PTE_USER = false) ->
    user_walk_marks d 3 (root_of s) n = d.
  Proof using Hr.
    intros Hp Hn Hk. pose proof (rep_valid _ _ _ _ Hr) as HV. destruct (root_usable s HV Hp) as [_ Hroot].
    assert (above 3 n = 0) as Ha by (apply Z.div_small; change (span (3 + 1)) with (2 ^ 36); lia).
    destruct (Z.lt_ge_cases (entry_index 3 n) PAGEMAP_KERNEL_FIRST) as [Hs|Hs].
    - apply marks_nothing_below; [lia|lia|done|]. change (Z.of_nat 3) with 3. by rewrite Ha.
    - pose proof (slot_range 3 n). cbn [user_walk_marks]. change (Z.of_nat 3) with 3.
      rewrite (rep_word _ _ _ _ _ _ _ Hr Hroot) by done. unfold table_word. cbn [fst snd root_key].
      rewrite (proj2 (Z.leb_le _ _)) by done. change (PAGEMAP_ROOT_LEVEL =? 0) with false. rewrite Z.eqb_refl. cbn [andb].
      rewrite Hk by lia. by rewrite andb_false_r.
  Qed.

  (** What a user program reaches is a page of user space, and never both writable and executable. *)
  Theorem user_reach_user n e : present s = true -> 0 <= n < 2 ^ 36 ->
    (forall i, PAGEMAP_KERNEL_FIRST <= i < 512 -> has (kernel_entry i) ARCH_PTE_USER = false) ->
    user_reach d 3 (root_of s) n = Some e ->
    user_page n /\ (has e ARCH_PTE_WRITE = true -> has e ARCH_PTE_NO_EXECUTE = true).
  Proof using Hr.
    intros Hp Hn Hk H. rewrite user_reach_exact in H by done.
    destruct (valid_leaf s (rep_valid _ _ _ _ Hr) _ _ H) as (Hu & _ & (_ & _ & _ & Hwx & _) & _). done.
  Qed.
End reach.
