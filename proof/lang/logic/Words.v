(** Words as sets of bits: the operations of C on words, bit by bit. *)
From Ashlar Require Export lang.Semantics.

Lemma shift_one b : 0 <= b -> Z.shiftl 1 b = 2 ^ b.
Proof. intros. rewrite Z.shiftl_mul_pow2 by done. lia. Qed.

(** [1ul << b] *)
Lemma bit_word b : 0 <= b < 64 -> wrap W64 (Z.shiftl 1 b) = 2 ^ b.
Proof.
  intros. rewrite shift_one by lia. unfold wrap. apply Z.mod_small. split; [lia|].
  apply Z.pow_lt_mono_r; simpl; lia.
Qed.

(** A word of [n] bits is one that has no bit from [n] on. *)
Lemma word_bound n w : 0 <= n -> 0 <= w -> (forall i, n <= i -> Z.testbit w i = false) -> w < 2 ^ n.
Proof.
  intros Hn Hw H. destruct (decide (w = 0)) as [->|]; [lia|]. apply Z.log2_lt_pow2; [lia|].
  destruct (Z.lt_ge_cases (Z.log2 w) n) as [|Hge]; [done|].
  pose proof (H _ Hge) as E. rewrite Z.bit_log2 in E by lia. done.
Qed.
Lemma word_bits_above n w i : 0 <= w < 2 ^ n -> n <= i -> Z.testbit w i = false.
Proof.
  intros Hw Hi. destruct (decide (w = 0)) as [->|]; [apply Z.bits_0|].
  apply Z.bits_above_log2; [lia|]. eapply Z.lt_le_trans; [|exact Hi]. apply Z.log2_lt_pow2; lia.
Qed.

(** Words with the same bits are the same. *)
Lemma word_extensional n v w : 0 <= v < 2 ^ n -> 0 <= w < 2 ^ n ->
  (forall i, 0 <= i < n -> Z.testbit v i = Z.testbit w i) -> v = w.
Proof.
  intros Hv Hw H. apply Z.bits_inj'. intros i Hi. destruct (Z.lt_ge_cases i n); [auto|].
  by rewrite !(word_bits_above n).
Qed.

(** Setting and clearing a bit. *)
Lemma set_bit_test w b i : 0 <= b -> Z.testbit (Z.lor w (2 ^ b)) i = Z.testbit w i || (b =? i).
Proof. intros. by rewrite Z.lor_spec, Z.pow2_bits_eqb. Qed.
Lemma clear_bit_test w b i : 0 <= b -> Z.testbit (Z.ldiff w (2 ^ b)) i = Z.testbit w i && negb (b =? i).
Proof. intros. by rewrite Z.ldiff_spec, Z.pow2_bits_eqb. Qed.
Lemma set_bit_word n w b : 0 <= w < 2 ^ n -> 0 <= b < n -> 0 <= Z.lor w (2 ^ b) < 2 ^ n.
Proof.
  intros Hw Hb. assert (0 <= Z.lor w (2 ^ b)) by (apply Z.lor_nonneg; split; [lia|apply Z.pow_nonneg; lia]).
  split; [done|]. apply word_bound; [lia|done|]. intros i Hi. rewrite set_bit_test by lia.
  rewrite (word_bits_above n) by done. simpl. lia.
Qed.
Lemma clear_bit_word n w b : 0 <= w < 2 ^ n -> 0 <= b < n -> 0 <= Z.ldiff w (2 ^ b) < 2 ^ n.
Proof.
  intros Hw Hb. assert (0 <= Z.ldiff w (2 ^ b)) by (apply Z.ldiff_nonneg; left; lia).
  split; [done|]. apply word_bound; [lia|done|]. intros i Hi. rewrite clear_bit_test by lia.
  by rewrite (word_bits_above n).
Qed.

(** [w & ~(1ul << b)] *)
Lemma complement_test n v i : 0 <= v < 2 ^ n -> 0 <= i < n -> Z.testbit (2 ^ n - 1 - v) i = negb (Z.testbit v i).
Proof.
  intros Hv Hi. rewrite <- (Z.lnot_spec v i) by lia.
  replace (2 ^ n - 1 - v) with (Z.lnot v + 1 * 2 ^ n) by (unfold Z.lnot; lia).
  rewrite <- (Z.mod_pow2_bits_low _ n) by lia. rewrite Z.mod_add by lia. by rewrite Z.mod_pow2_bits_low by lia.
Qed.
Lemma and_complement n w b : 0 <= w < 2 ^ n -> 0 <= b < n -> Z.land w (2 ^ n - 1 - 2 ^ b) = Z.ldiff w (2 ^ b).
Proof.
  intros Hw Hb. apply Z.bits_inj'. intros i Hi. rewrite Z.land_spec, clear_bit_test by lia.
  destruct (Z.lt_ge_cases i n) as [Hin|Hin].
  - assert (0 < 2 ^ b < 2 ^ n) by (split; [apply Z.pow_pos_nonneg; lia|apply Z.pow_lt_mono_r; lia]).
    rewrite complement_test by lia. by rewrite Z.pow2_bits_eqb by lia.
  - by rewrite (word_bits_above n) by lia.
Qed.

(** [(w & (1ul << b)) != 0] *)
Lemma and_bit_zero w b : 0 <= b -> (Z.land w (2 ^ b) =? 0) = negb (Z.testbit w b).
Proof.
  intros Hb. destruct (Z.testbit w b) eqn:E; simpl.
  - apply Z.eqb_neq. intros H0. pose proof (f_equal (fun z => Z.testbit z b) H0) as Hb'. simpl in Hb'.
    rewrite Z.land_spec, E, Z.pow2_bits_true, Z.bits_0 in Hb' by done. done.
  - apply Z.eqb_eq, Z.bits_inj'. intros i Hi. rewrite Z.land_spec, Z.pow2_bits_eqb, Z.bits_0 by done.
    destruct (Z.eqb_spec b i) as [<-|]; [by rewrite E|by rewrite andb_false_r].
Qed.

(** A word is not 0 iff it has a bit; its logarithm is its highest bit. *)
Lemma word_nonzero w : 0 <= w -> w <> 0 <-> exists i, 0 <= i /\ Z.testbit w i = true.
Proof.
  intros Hw. split.
  - intros Hn. exists (Z.log2 w). split; [apply Z.log2_nonneg|]. apply Z.bit_log2. lia.
  - intros (i & _ & Hi) ->. by rewrite Z.bits_0 in Hi.
Qed.
Lemma highest_bit w i : 0 < w -> Z.testbit w i = true -> i <= Z.log2 w.
Proof.
  intros Hw Hi. destruct (Z.le_gt_cases i (Z.log2 w)) as [|Hgt]; [done|].
  rewrite Z.bits_above_log2 in Hi by lia. done.
Qed.
