(** Page maps: the C functions on addresses and entries alone, and the rules for words of frames. *)
From Ashlar Require Export layers.pagemap.cells.Representation.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Words of frames *)
Section words.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Notation owned := (owned kernel_entry M cpu).

  Lemma owned_frame_read x es (Qn Qb : locals -> mem -> Prop) Qr r d f i v :
    M "arch_frame_read" = None -> evals es r d = Some [f; i] -> d !! frame_word f i = Some v ->
    Qn (set_result x v r) d -> owned (Call x "arch_frame_read" es) Qn Qb Qr r d.
  Proof using.
    intros HM He Hv HQ G J g rest HJ Hd. simpl. exists [f; i]. split; [by apply evals_mono|].
    eapply fwp_builtin; [exact HJ|exact HM| |eauto].
    unfold B, arch_builtins. cbn [String.eqb Ascii.eqb Bool.eqb]. by rewrite (own_read _ _ _ _ Hv).
  Qed.
  Lemma owned_frame_write x es (Qn Qb : locals -> mem -> Prop) Qr r d f i v :
    M "arch_frame_write" = None -> evals es r d = Some [f; i; v] -> is_Some (d !! frame_word f i) ->
    Qn (set_result x 0 r) (<[frame_word f i := v]> d) -> owned (Call x "arch_frame_write" es) Qn Qb Qr r d.
  Proof using.
    intros HM He Hx HQ G J g rest HJ Hd. simpl. exists [f; i; v]. split; [by apply evals_mono|].
    eapply fwp_builtin; [exact HJ|exact HM| |].
    - unfold B, arch_builtins. cbn [String.eqb Ascii.eqb Bool.eqb]. destruct Hx as [w Hw].
      by rewrite (own_read _ _ _ _ Hw).
    - exists (<[frame_word f i := v]> d). split; [apply own_write|]. split; [by apply own_write_disjoint|]. split; [done|exact HQ].
  Qed.
End words.

Lemma wrap32 x : 0 <= x < 4294967296 -> wrap W32 x = x.
Proof. intros H. unfold wrap. change (2 ^ bits W32) with 4294967296. by apply Z.mod_small. Qed.
Lemma wrap64 x : 0 <= x < 2 ^ 64 -> wrap W64 x = x.
Proof. intros H. unfold wrap. by apply Z.mod_small. Qed.

Lemma land_complement n v b : 0 <= v < 2 ^ n -> 0 <= b < 2 ^ n -> Z.land v (2 ^ n - 1 - b) = Z.ldiff v b.
Proof.
  intros Hv Hb. apply Z.bits_inj'. intros i Hi. rewrite Z.land_spec, Z.ldiff_spec.
  destruct (Z.lt_ge_cases i n); [by rewrite complement_test|by rewrite (word_bits_above n v)].
Qed.

Section pure.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Ltac enter code := eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  Theorem pagemap_index_triple d v l : 0 <= v -> 0 <= l <= 3 ->
    triple "pagemap_index" [v; l] d (fun w d' => w = entry_index l (page_of v) /\ d' = d).
  Proof using HM.
    intros Hv Hl. enter pagemap_index_code.
    assert (wrap W32 (12 + wrap W32 (9 * l)) = 12 + 9 * l) as Hs
      by (rewrite (wrap32 (9 * l)) by lia; apply wrap32; lia).
    step. eapply owned_assign. 
    { eapply eval_bin; [evaluate|evaluate|]. rewrite Hs. cbn [binary]. rewrite (proj2 (Z.ltb_lt _ _)) by (cbn [bits]; lia). reflexivity. }
    locals_simpl. step. split; [|done].
    rewrite Z.shiftr_div_pow2 by lia. change 511 with (Z.ones 9). rewrite Z.land_ones by done.
    change (2 ^ 9) with 512. rewrite wrap32 by (pose proof (Z.mod_pos_bound (v / 2 ^ (12 + 9 * l)) 512); lia).
    unfold entry_index, page_of. f_equal. assert (l = 0 \/ l = 1 \/ l = 2 \/ l = 3) as [->|[->|[->| ->]]] by lia.
    - change (span 0) with 1. change (2 ^ (12 + 9 * 0)) with 4096. by rewrite Z.div_1_r.
    - change (span 1) with 512. rewrite Z.div_div by done. done.
    - change (span 2) with 262144. rewrite Z.div_div by done. done.
    - change (span 3) with 134217728. rewrite Z.div_div by done. done.
  Qed.

  Theorem pagemap_entry_frame_triple d e : triple "pagemap_entry_frame" [e] d (fun w d' => w = entry_frame e /\ d' = d).
  Proof using HM. enter pagemap_entry_frame_code. step. step. step. done. Qed.

  Theorem pagemap_valid_triple d v :
    triple "pagemap_valid" [v] d (fun w d' => w = flag (user_address v) /\ d' = d).
  Proof using HM.
    enter pagemap_valid_code. step. step.
    change 4095 with (Z.ones 12). rewrite Z.land_ones by done. unfold user_address.
    change USER_BASE with 65536. change USER_END with 123145302310912. change (2 ^ 12) with 4096.
    destruct (Z.eqb_spec (v mod 4096) 0) as [E|E]; cbn [negb orb andb].
    - rewrite !Z.leb_antisym. destruct (v <? 65536); cbn [negb orb andb]; [repeat step; done|].
      destruct (v <? 123145302310912); cbn [negb]; repeat step; done.
    - repeat step. done.
  Qed.

  Theorem pagemap_leaf_triple d f prot kind : 0 <= f < 2 ^ 32 ->
    triple "pagemap_leaf" [f; prot; kind] d (fun w d' => w = leaf_entry f prot kind /\ d' = d).
  Proof using HM.
    intros Hf. enter pagemap_leaf_code. step. step.
    assert (wrap W64 (Z.shiftl (wrap W64 f) 12) = Z.shiftl f ARCH_PTE_FRAME_SHIFT) as ->.
    { rewrite (wrap64 f) by (change (2 ^ 64) with (2 ^ 32 * 2 ^ 32); change (2 ^ 32) with 4294967296 in *; lia).
      apply wrap64. by apply shift_range. }
    unfold leaf_entry. step. step. change (negb (Z.land prot 2 =? 0)) with (has prot PROT_WRITE).
    destruct (has prot PROT_WRITE); do 3 step;
      (replace (Z.land prot 4 =? 0) with (negb (has prot PROT_EXEC)) by (unfold has; apply negb_involutive));
      destruct (has prot PROT_EXEC); cbn [negb]; do 3 step; change PAGEMAP_OWNED with 0; change PAGEMAP_DEVICE with 2;
      destruct (kind =? 0); do 3 step; destruct (kind =? 2); repeat step; done.
  Qed.

  Theorem pagemap_next_triple d v l : 0 <= v < USER_END -> 0 <= l <= 3 ->
    triple "pagemap_next" [v; l] d (fun w d' => w = (v / (4096 * span l) + 1) * (4096 * span l) /\ d' = d).
  Proof using HM.
    unfold USER_END. intros Hv Hl. enter pagemap_next_code.
    assert (wrap W32 (12 + wrap W32 (9 * l)) = 12 + 9 * l) as Hs
      by (rewrite (wrap32 (9 * l)) by lia; apply wrap32; lia).
    assert (exists k, k = 12 + 9 * l /\ 4096 * span l = 2 ^ k) as (k & Hk & ->).
    { exists (12 + 9 * l). split; [done|]. assert (l = 0 \/ l = 1 \/ l = 2 \/ l = 3) as [->|[->|[->| ->]]] by lia; done. }
    rewrite <- Hk in Hs. assert (2 ^ k <= 2 ^ 39) by (apply Z.pow_le_mono_r; lia).
    assert (0 < 2 ^ k) by (apply Z.pow_pos_nonneg; lia).
    change (2 ^ 39) with 549755813888 in *. step. eapply owned_assign.
    { eapply eval_bin; [evaluate|evaluate|]. rewrite Hs. cbn [binary]. rewrite (proj2 (Z.ltb_lt _ _)) by (cbn [bits]; lia). reflexivity. }
    locals_simpl. rewrite bit_word by lia. step. split; [|done].
    rewrite (wrap64 (2 ^ k - 1)) by (change (2 ^ 64) with 18446744073709551616; lia). change (bits W64) with 64.
    rewrite land_complement by (change (2 ^ 64) with 18446744073709551616; lia).
    replace (2 ^ k - 1) with (Z.ones k) by (rewrite Z.ones_equiv; lia). rewrite Z.ldiff_ones_r by lia.
    rewrite Z.shiftl_mul_pow2, Z.shiftr_div_pow2 by lia. pose proof (Z.mul_div_le v (2 ^ k)).
    rewrite wrap64; [lia|]. pose proof (Z.div_pos v (2 ^ k)). change (2 ^ 64) with 18446744073709551616. nia.
  Qed.
End pure.
