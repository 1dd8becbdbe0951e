(** Ready queues: the bitmap's words and [best] when a thread comes or a queue becomes empty. *)
From Ashlar Require Export layers.sched.ready.ReadyInvariant.

(** ** Words *)
Lemma word_is_ext w f g : (forall b, 0 <= b < 64 -> f b = g b) -> word_is w f -> word_is w g.
Proof. intros H [Hw Hb]. split; [done|]. intros b Hr. by rewrite (Hb b Hr), H. Qed.

(** No bit from 64 on. *)
Lemma word_high w n : 0 <= w < 2 ^ 64 -> 64 <= n -> Z.testbit w n = false.
Proof.
  intros Hw Hn. destruct (decide (w = 0)) as [->|]; [apply Z.bits_0|]. apply Z.bits_above_log2; [lia|].
  assert (Z.log2 w < 64); [|lia]. apply Z.log2_lt_pow2; lia.
Qed.

(** A word has one value. *)
Lemma word_is_unique w w' f : word_is w f -> word_is w' f -> w = w'.
Proof.
  intros [Hw Hb] [Hw' Hb']. apply Z.bits_inj'. intros n Hn. destruct (decide (n < 64)) as [Hlt|Hge].
  - by rewrite Hb, Hb' by lia.
  - by rewrite !word_high by lia.
Qed.

Lemma bit_of b n : 0 <= b -> Z.testbit (Z.shiftl 1 b) n = (n =? b).
Proof. intros Hb. rewrite Z.shiftl_1_l, Z.pow2_bits_eqb by done. apply Z.eqb_sym. Qed.
Lemma bit_range b : 0 <= b < 64 -> 0 <= Z.shiftl 1 b < 2 ^ 64.
Proof. intros Hb. rewrite Z.shiftl_1_l. split; [apply Z.pow_nonneg; lia|apply Z.pow_lt_mono_r; lia]. Qed.
Lemma bit_wrap b : 0 <= b < 64 -> wrap W64 (Z.shiftl 1 b) = Z.shiftl 1 b.
Proof. intros Hb. unfold wrap. apply Z.mod_small. by apply bit_range. Qed.

Lemma lor_range a b n : 0 <= n -> 0 <= a < 2 ^ n -> 0 <= b < 2 ^ n -> 0 <= Z.lor a b < 2 ^ n.
Proof.
  intros Hn Ha Hb. split; [apply Z.lor_nonneg; lia|]. destruct (decide (Z.lor a b = 0)) as [->|Hne]; [lia|].
  assert (0 <= Z.lor a b) by (apply Z.lor_nonneg; lia). apply Z.log2_lt_pow2; [lia|]. rewrite Z.log2_lor by lia.
  destruct (decide (0 < n)) as [Hpos|].
  - apply Z.max_lub_lt.
    + destruct (decide (a = 0)) as [->|]; [simpl; lia|]. apply Z.log2_lt_pow2; lia.
    + destruct (decide (b = 0)) as [->|]; [simpl; lia|]. apply Z.log2_lt_pow2; lia.
  - assert (n = 0) as -> by lia. change (2 ^ 0) with 1 in *. assert (a = 0) as -> by lia. assert (b = 0) as -> by lia. done.
Qed.

(** Setting a bit. *)
Lemma word_is_set w f b : 0 <= b < 64 -> word_is w f ->
  word_is (Z.lor w (wrap W64 (Z.shiftl 1 b))) (fun n => f n || (n =? b)).
Proof.
  intros Hb [Hw Hf]. rewrite bit_wrap by done. split.
  - apply lor_range; [lia|done|by apply bit_range].
  - intros n Hn. by rewrite Z.lor_spec, bit_of, Hf by lia.
Qed.

(** Clearing a bit. *)
Lemma word_is_clear w f b : 0 <= b < 64 -> word_is w f ->
  word_is (Z.land w (2 ^ 64 - 1 - wrap W64 (Z.shiftl 1 b))) (fun n => f n && negb (n =? b)).
Proof.
  intros Hb [Hw Hf]. rewrite bit_wrap by done.
  assert (Z.land w (2 ^ 64 - 1 - Z.shiftl 1 b) = Z.ldiff w (Z.shiftl 1 b)) as ->.
  { apply Z.bits_inj'. intros n Hn. rewrite Z.land_spec, Z.ldiff_spec. destruct (decide (n < 64)) as [Hlt|Hge].
    - f_equal. change (2 ^ 64 - 1) with (Z.ones 64).
      rewrite Z.sub_nocarry_ldiff.
      + rewrite Z.ldiff_spec, Z.ones_spec_low by lia. done.
      + apply Z.bits_inj'. intros m Hm. rewrite Z.ldiff_spec, Z.bits_0, bit_of by lia.
        destruct (Z.eqb_spec m b) as [->|]; [|done]. by rewrite Z.ones_spec_low by lia.
    - by rewrite word_high with (w := w) by lia. }
  split.
  - assert (Z.ldiff w (Z.shiftl 1 b) = Z.ldiff w (Z.shiftl 1 b) mod 2 ^ 64) as ->; [|by apply Z.mod_pos_bound].
    apply Z.bits_inj'. intros n Hn. destruct (decide (n < 64)).
    + by rewrite Z.mod_pow2_bits_low by lia.
    + rewrite Z.mod_pow2_bits_high by lia. rewrite Z.ldiff_spec. rewrite word_high with (w := w) by lia. done.
  - intros n Hn. rewrite Z.ldiff_spec, bit_of, Hf by lia. done.
Qed.

(** ** [best] *)

(** It is determined by what is ready. *)
Lemma best_below_at s cpu n p : 0 <= p < Z.of_nat n -> ready_some s cpu p = true ->
  (forall p', p < p' < Z.of_nat n -> ready_some s cpu p' = false) -> best_below s cpu n = p + 1.
Proof.
  intros Hp Hs Hn. destruct (best_below_spec s cpu n) as [[_ H]|(p0 & -> & H2 & H3 & H4)].
  - rewrite H in Hs by done. done.
  - destruct (Z.lt_trichotomy p p0) as [Hlt|[->|Hgt]]; [|done|].
    + rewrite Hn in H3 by lia. done.
    + rewrite H4 in Hs by lia. done.
Qed.

(** A thread comes: the best priority is the better of the two. *)
Lemma ready_best_insert s s' cpu p : 0 <= p < NUM_PRIORITY ->
  (forall u, ready_some s' cpu u = ready_some s cpu u || (u =? p)) ->
  ready_best s' cpu = if ready_best s cpu <=? p then p + 1 else ready_best s cpu.
Proof.
  unfold ready_best. change NUM_PRIORITY with (Z.of_nat 256). intros Hp Hs.
  destruct (Z.leb_spec (best_below s cpu 256) p) as [Hle|Hlt].
  - apply best_below_at; [done|by rewrite Hs, Z.eqb_refl, orb_true_r|]. intros u Hu. rewrite Hs.
    rewrite (proj2 (Z.eqb_neq u p)) by lia. rewrite orb_false_r.
    destruct (best_below_spec s cpu 256) as [[_ H]|(p0 & E & H2 & _ & H4)]; [apply H; lia|apply H4; lia].
  - destruct (best_below_spec s cpu 256) as [[E _]|(p0 & E & H2 & H3 & H4)]; [lia|]. rewrite E.
    apply best_below_at; [done|by rewrite Hs, H3|]. intros u Hu. rewrite Hs, H4 by lia. apply Z.eqb_neq. lia.
Qed.
