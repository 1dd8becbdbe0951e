(** Page maps: entries, bit by bit. *)
From Ashlar Require Export lang.logic.Words layers.pagemap.Spec.

Lemma has_lor e b c : has (Z.lor e b) c = has e c || has b c.
Proof.
  unfold has. rewrite Z.land_lor_distr_l, <- negb_andb. f_equal.
  destruct (Z.eqb_spec (Z.land e c) 0) as [->|H].
  - by rewrite Z.lor_0_l.
  - apply Z.eqb_neq. intros E. by apply Z.lor_eq_0_iff in E as [? _].
Qed.
Lemma lor_range n a b : 0 <= n -> 0 <= a < 2 ^ n -> 0 <= b < 2 ^ n -> 0 <= Z.lor a b < 2 ^ n.
Proof.
  intros Hn Ha Hb. assert (0 <= Z.lor a b) by (apply Z.lor_nonneg; lia). split; [done|].
  apply word_bound; [done|done|]. intros i Hi. by rewrite Z.lor_spec, !(word_bits_above n).
Qed.
Lemma entry_frame_lor e b : Z.land b ARCH_PTE_FRAME_MASK = 0 -> entry_frame (Z.lor e b) = entry_frame e.
Proof. intros H. unfold entry_frame. by rewrite Z.land_lor_distr_l, H, Z.lor_0_r. Qed.

Lemma leaf_ok_pin e : leaf_ok e -> leaf_ok (Z.lor e ARCH_PTE_PINNED).
Proof.
  intros (H1 & H3 & H4 & H5). split; [by apply lor_range|].
  rewrite !has_lor, H3, H4. split; [done|]. split; [done|].
  change (has ARCH_PTE_PINNED ARCH_PTE_WRITE) with false. change (has ARCH_PTE_PINNED ARCH_PTE_NO_EXECUTE) with false.
  by rewrite !orb_false_r.
Qed.

(** ** The entry of a frame *)
Lemma entry_frame_shift f : 0 <= f < 2 ^ 32 -> entry_frame (Z.shiftl f ARCH_PTE_FRAME_SHIFT) = f.
Proof.
  intros Hf. unfold entry_frame. change ARCH_PTE_FRAME_MASK with (Z.shiftl (Z.ones 40) ARCH_PTE_FRAME_SHIFT).
  rewrite <- Z.shiftl_land, Z.shiftr_shiftl_l, Z.sub_diag, Z.shiftl_0_r by done. rewrite Z.land_ones by done.
  rewrite (Z.mod_small f (2 ^ 40)) by (change (2 ^ 40) with (256 * 2 ^ 32); lia). by apply Z.mod_small.
Qed.
Lemma shift_range f : 0 <= f < 2 ^ 32 -> 0 <= Z.shiftl f ARCH_PTE_FRAME_SHIFT < 2 ^ 64.
Proof.
  intros. rewrite Z.shiftl_mul_pow2 by done. change (2 ^ 64) with (2 ^ 32 * 2 ^ 32).
  change (2 ^ ARCH_PTE_FRAME_SHIFT) with 4096. change (2 ^ 32) with 4294967296 in *. lia.
Qed.
Lemma has_shift f b : 0 <= f -> 0 <= b < 2 ^ 12 -> has (Z.shiftl f ARCH_PTE_FRAME_SHIFT) b = false.
Proof.
  intros Hf Hb. unfold has. replace (Z.land _ b) with 0; [done|]. symmetry. apply Z.bits_inj'. intros i Hi.
  rewrite Z.land_spec, Z.bits_0, Z.shiftl_spec by done. unfold ARCH_PTE_FRAME_SHIFT.
  destruct (Z.lt_ge_cases i 12).
  - by rewrite Z.testbit_neg_r by lia.
  - rewrite (word_bits_above 12 b) by done. apply andb_false_r.
Qed.

Lemma link_frame f : 0 <= f < 2 ^ 32 -> entry_frame (link f) = f.
Proof. intros. unfold link. rewrite entry_frame_lor by done. by apply entry_frame_shift. Qed.
Lemma link_range f : 0 <= f < 2 ^ 32 -> 0 <= link f < 2 ^ 64.
Proof. intros. apply lor_range; [done|by apply shift_range|done]. Qed.
Lemma link_nonzero f : link f <> 0.
Proof. unfold link. intros [_ H]%Z.lor_eq_0_iff. done. Qed.

(** What [has] says of an entry made of these parts. *)
Lemma has_leaf_entry f prot kind b : 0 <= f -> has (leaf_entry f prot kind) b =
  has (Z.shiftl f ARCH_PTE_FRAME_SHIFT) b || has PAGEMAP_LEAF_BITS b ||
  (has prot PROT_WRITE && has ARCH_PTE_WRITE b) || (negb (has prot PROT_EXEC) && has ARCH_PTE_NO_EXECUTE b) ||
  ((kind =? PAGEMAP_OWNED) && has ARCH_PTE_OWNED b) || ((kind =? PAGEMAP_DEVICE) && has ARCH_PTE_UNCACHED b).
Proof.
  intros. unfold leaf_entry. destruct (has prot PROT_WRITE), (has prot PROT_EXEC), (kind =? PAGEMAP_OWNED), (kind =? PAGEMAP_DEVICE);
    cbn [negb andb]; rewrite !has_lor, ?orb_false_r; done.
Qed.
Lemma leaf_entry_frame f prot kind : 0 <= f < 2 ^ 32 -> entry_frame (leaf_entry f prot kind) = f.
Proof.
  intros. unfold leaf_entry. destruct (has prot PROT_WRITE), (has prot PROT_EXEC), (kind =? PAGEMAP_OWNED), (kind =? PAGEMAP_DEVICE);
    rewrite !entry_frame_lor by done; by apply entry_frame_shift.
Qed.
Lemma leaf_entry_range f prot kind : 0 <= f < 2 ^ 32 -> 0 <= leaf_entry f prot kind < 2 ^ 64.
Proof.
  intros. unfold leaf_entry. destruct (has prot PROT_WRITE), (has prot PROT_EXEC), (kind =? PAGEMAP_OWNED), (kind =? PAGEMAP_DEVICE);
    repeat (apply lor_range; [done| |done]); by apply shift_range.
Qed.
Lemma leaf_entry_ok f prot kind : 0 <= f < 2 ^ 32 -> has prot PROT_WRITE && has prot PROT_EXEC = false ->
  leaf_ok (leaf_entry f prot kind).
Proof.
  intros Hf Hwx. split; [by apply leaf_entry_range|].
  rewrite !has_leaf_entry by lia. rewrite (has_shift f ARCH_PTE_WRITE) by (done || lia).
  change (has PAGEMAP_LEAF_BITS ARCH_PTE_PRESENT) with true. change (has PAGEMAP_LEAF_BITS ARCH_PTE_USER) with true.
  change (has PAGEMAP_LEAF_BITS ARCH_PTE_ACCESSED) with true. change (has PAGEMAP_LEAF_BITS ARCH_PTE_DIRTY) with true.
  change (has ARCH_PTE_NO_EXECUTE ARCH_PTE_NO_EXECUTE) with true.
  change (has PAGEMAP_LEAF_BITS ARCH_PTE_WRITE) with false.
  change (has ARCH_PTE_NO_EXECUTE ARCH_PTE_WRITE) with false. change (has ARCH_PTE_OWNED ARCH_PTE_WRITE) with false.
  change (has ARCH_PTE_UNCACHED ARCH_PTE_WRITE) with false.
  destruct (has prot PROT_WRITE), (has prot PROT_EXEC); try done; rewrite ?orb_true_r, ?andb_false_r, ?orb_false_r;
    (split; [done|]; split; done).
Qed.
Lemma leaf_nonzero e : leaf_ok e -> e <> 0.
Proof. intros (_ & H & _) ->. done. Qed.
