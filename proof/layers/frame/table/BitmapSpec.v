(** The bitmap of free frames: following the highest bit of a word, level by level, leads to the highest free frame. *)
From Ashlar Require Export layers.frame.table.TableInvariant.

Section find.
  Context (l : gset Z) (Hl : set_Forall (fun f => 0 <= f) l).

  (** [j] is the highest of the blocks of 64 ^ n frames that have a free one. *)
  Definition highest_block (n j : Z) : Prop := some_free l n j /\ forall f, f ∈ l -> f / 64 ^ n <= j.

  Lemma block_below n f : 0 <= n -> f / 64 ^ (n + 1) = f / 64 ^ n / 64.
  Proof using. intros. rewrite Z.pow_add_r by lia. rewrite Z.pow_1_r. symmetry. apply Z.div_div; lia. Qed.

  Lemma highest_block_step n i w : 0 <= n -> highest_block (n + 1) i -> summarises l n i w ->
    0 < w /\ highest_block n (64 * i + Z.log2 w).
  Proof using Hl.
    intros Hn [(f & Hf & Hfi) Hmax] [Hw Hbits]. rewrite block_below in Hfi by done.
    assert (Hbit : Z.testbit w ((f / 64 ^ n) mod 64) = true).
    { apply Hbits; [apply Z.mod_pos_bound; lia|]. exists f. split; [done|]. subst i. apply Z.div_mod. lia. }
    assert (Hpos : 0 < w).
    { destruct (decide (w = 0)) as [->|]; [by rewrite Z.bits_0 in Hbit|lia]. }
    assert (Hlog : 0 <= Z.log2 w < 64) by (split; [apply Z.log2_nonneg|apply Z.log2_lt_pow2; lia]).
    split; [done|]. split.
    - apply Hbits; [done|]. by apply Z.bit_log2.
    - intros g Hg. pose proof (Hmax g Hg) as Hgi. rewrite block_below in Hgi by done.
      pose proof (Z.div_mod (g / 64 ^ n) 64 ltac:(lia)). pose proof (Z.mod_pos_bound (g / 64 ^ n) 64 ltac:(lia)).
      destruct (decide (g / 64 ^ n / 64 = i)) as [E|]; [|lia].
      assert ((g / 64 ^ n) mod 64 <= Z.log2 w); [|lia]. apply highest_bit; [done|].
      apply Hbits; [lia|]. exists g. split; [done|]. lia.
  Qed.

  (** At level 0 a block is a frame. *)
  Lemma highest_block_frame f : highest_block 0 f -> f = highest l.
  Proof using Hl.
    intros [(g & Hg & Hgf) Hmax]. rewrite Z.pow_0_r, Z.div_1_r in Hgf. subst g.
    destruct (highest_spec l Hl) as [[-> _]|(Hin & _ & Hup)]; [by apply not_elem_of_empty in Hg|].
    pose proof (Hup f Hg). specialize (Hmax _ Hin). rewrite Z.pow_0_r, Z.div_1_r in Hmax. lia.
  Qed.
End find.
