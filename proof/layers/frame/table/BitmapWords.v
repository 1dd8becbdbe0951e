(** The bitmap of free frames: what the C functions do to its words.

    A level at a time: setting or clearing the bit of a frame's block follows the set of free frames, and no other level
    is touched. *)
From Ashlar Require Export layers.frame.table.BitmapSpec layers.frame.table.TableRepresentation.
Local Opaque gmap_lookup gmap_partial_alter Z.pow Z.div Z.modulo.

Implicit Types l : gset Z.

(** Level [n] of the cells [d] summarises the free frames [l]. *)
Definition level l (n : Z) (d : mem) : Prop :=
  forall i, 0 <= i < map_words n -> exists w, d !! map_cell n i = Some w /\ summarises l n i w.
Definition map_rep l (d : mem) : Prop := forall n, 0 <= n < 4 -> level l n d.

(** From [d] to [d'] only words of the bitmap have changed. *)
Definition is_map (x : cell) : Prop := exists n i, 0 <= n < 4 /\ 0 <= i < map_words n /\ x = map_cell n i.
Definition map_changed (d d' : mem) : Prop :=
  (forall x, ~ is_map x -> d' !! x = d !! x) /\ (forall x, is_Some (d' !! x) <-> is_Some (d !! x)).

Lemma map_changed_refl d : map_changed d d.
Proof. by split. Qed.
Lemma map_changed_write (d d' : mem) n i v : map_changed d d' -> 0 <= n < 4 -> 0 <= i < map_words n ->
  is_Some (d' !! map_cell n i) -> map_changed d (<[map_cell n i := v]> d').
Proof.
  intros [H1 H2] Hn Hi Hs. split.
  - intros x Hx. rewrite own_lookup_ne; [auto|]. intros <-. apply Hx. by exists n, i.
  - intros x. rewrite <- H2. split; [by intros [<-|[_ ?]]%lookup_insert_is_Some|]. apply own_keep.
Qed.

Lemma map_object_inj n m : 0 <= n < 4 -> 0 <= m < 4 -> map_object n = map_object m -> n = m.
Proof.
  intros Hn Hm. assert (n = 0 \/ n = 1 \/ n = 2 \/ n = 3) as [-> | [-> | [-> | ->]]] by lia;
    assert (m = 0 \/ m = 1 \/ m = 2 \/ m = 3) as [-> | [-> | [-> | ->]]] by lia; try done.
Qed.
Lemma map_cell_inj n i m j : 0 <= n < 4 -> 0 <= m < 4 -> map_cell n i = map_cell m j -> n = m /\ i = j.
Proof. intros Hn Hm E. unfold map_cell in E. injection E as E ->. split; [|done]. by apply map_object_inj. Qed.

(** A store to another level. *)
Lemma level_other l n m i v d : 0 <= n < 4 -> 0 <= m < 4 -> n <> m -> level l n d ->
  level l n (<[map_cell m i := v]> d).
Proof.
  intros Hn Hm Hne H j Hj. destruct (H j Hj) as (w & Hw & Hs). exists w. split; [|done].
  rewrite own_lookup_ne; [done|]. intros E. apply Hne. symmetry. by apply (map_cell_inj m i n j).
Qed.

(** ** Blocks: frame [f] lies in block [block n f] of 64 ^ n frames; its bit at level [n] is in word [block (n + 1) f]. *)
Definition block (n f : Z) : Z := f / 64 ^ n.
Lemma block_zero f : block 0 f = f.
Proof. unfold block. rewrite Z.pow_0_r. apply Z.div_1_r. Qed.
Lemma block_up n f : 0 <= n -> block (n + 1) f = block n f / 64.
Proof. apply block_below. Qed.

Lemma bit_of_block i b j : 0 <= b < 64 -> 64 * i + b = j <-> i = j / 64 /\ b = j mod 64.
Proof.
  intros Hb. pose proof (Z.div_mod j 64 ltac:(done)). pose proof (Z.mod_pos_bound j 64 ltac:(done)). lia.
Qed.

(** A word is 0 iff the block that it stands for has no free frame. *)
Lemma word_some l n i w : 0 <= n -> summarises l n i w -> w <> 0 -> some_free l (n + 1) i.
Proof.
  intros Hn [Hw Hb] Hne.
  assert (0 <= Z.log2 w < 64) as Hl by (split; [apply Z.log2_nonneg|apply Z.log2_lt_pow2; lia]).
  destruct (proj1 (Hb _ Hl)) as (f & Hf & E); [apply Z.bit_log2; lia|]. exists f. split; [done|].
  rewrite (block_below n f Hn), E. symmetry. by apply bit_of_block with (b := Z.log2 w).
Qed.
Lemma word_none l n i : 0 <= n -> summarises l n i 0 -> ~ some_free l (n + 1) i.
Proof.
  intros Hn [_ Hb] (f & Hf & E). rewrite (block_below n f Hn) in E.
  assert (Z.testbit 0 ((f / 64 ^ n) mod 64) = true) as Hx; [|by rewrite Z.bits_0 in Hx].
  apply Hb; [by apply Z.mod_pos_bound|]. exists f. split; [done|]. subst i. apply Z.div_mod. done.
Qed.

(** ** One level, when block [j] of it may change *)
Section change.
  Context (l l' : gset Z) (n j : Z) (Hn : 0 <= n < 4) (Hj : 0 <= j) (Hword : j / 64 < map_words n).
  Context (Hother : forall k, k <> j -> some_free l' n k <-> some_free l n k).

  Lemma level_same d : (some_free l' n j <-> some_free l n j) -> level l n d -> level l' n d.
  Proof using Hother.
    intros Hsame H i Hi. destruct (H i Hi) as (w & Hw & Hr & Hb). exists w. split; [done|]. split; [done|].
    intros b Hb'. rewrite (Hb b Hb'). destruct (decide (64 * i + b = j)) as [-> |Hne]; [by rewrite Hsame|].
    by rewrite Hother.
  Qed.
  Lemma level_write d v w : level l n d -> d !! map_cell n (j / 64) = Some w -> 0 <= v < 2 ^ 64 ->
    (Z.testbit v (j mod 64) = true <-> some_free l' n j) ->
    (forall b, 0 <= b < 64 -> b <> j mod 64 -> Z.testbit v b = Z.testbit w b) ->
    level l' n (<[map_cell n (j / 64) := v]> d).
  Proof using Hn Hother.
    intros H Hw Hv Hbit Hbits i Hi. destruct (H i Hi) as (u & Hu & Hur & Hub).
    destruct (decide (i = j / 64)) as [-> |Hne].
    - exists v. split; [apply own_lookup|]. split; [done|]. intros b Hb.
      destruct (decide (b = j mod 64)) as [-> |Hbj].
      + rewrite Hbit. rewrite (proj2 (bit_of_block (j / 64) (j mod 64) j Hb)) by done. done.
      + rewrite Hbits by done. rewrite Hw in Hu. injection Hu as ->. rewrite (Hub b Hb). symmetry. apply Hother.
        intros E%bit_of_block; [|done]. by destruct E.
    - exists u. split.
      { rewrite own_lookup_ne; [done|]. intros E%map_cell_inj; [|done..]. by destruct E. }
      split; [done|]. intros b Hb. rewrite (Hub b Hb). symmetry. apply Hother.
      intros E%bit_of_block; [|done]. by destruct E.
  Qed.

  Lemma level_word d : level l n d -> exists w, d !! map_cell n (j / 64) = Some w /\ summarises l n (j / 64) w.
  Proof using Hj Hword. intros H. apply H. split; [apply Z.div_pos; lia|done]. Qed.

  Lemma level_set d w : level l n d -> d !! map_cell n (j / 64) = Some w -> summarises l n (j / 64) w ->
    some_free l' n j ->
    level l' n (<[map_cell n (j / 64) := Z.lor w (wrap W64 (Z.shiftl 1 (j mod 64)))]> d).
  Proof using Hn Hother.
    intros H Hw [Hr _] Hs. pose proof (Z.mod_pos_bound j 64 ltac:(done)) as Hm. rewrite bit_word by done.
    apply (level_write d _ w); [done..| | |].
    - by apply set_bit_word.
    - rewrite set_bit_test, Z.eqb_refl, orb_true_r by lia. by split.
    - intros b Hb Hne. rewrite set_bit_test by lia. rewrite (proj2 (Z.eqb_neq (j mod 64) b)) by congruence.
      apply orb_false_r.
  Qed.
  Lemma level_clear d w : level l n d -> d !! map_cell n (j / 64) = Some w -> summarises l n (j / 64) w ->
    ~ some_free l' n j ->
    level l' n (<[map_cell n (j / 64) := Z.land w (2 ^ bits W64 - 1 - wrap W64 (Z.shiftl 1 (j mod 64)))]> d).
  Proof using Hn Hother.
    intros H Hw [Hr _] Hs. pose proof (Z.mod_pos_bound j 64 ltac:(done)) as Hm. rewrite bit_word by done.
    change (bits W64) with 64. rewrite and_complement by done. apply (level_write d _ w); [done..| | |].
    - by apply clear_bit_word.
    - rewrite clear_bit_test, Z.eqb_refl, andb_false_r by lia. by split.
    - intros b Hb Hne. rewrite clear_bit_test by lia. rewrite (proj2 (Z.eqb_neq (j mod 64) b)) by congruence.
      apply andb_true_r.
  Qed.
End change.

(** ** Frame [f] becomes free, or is no longer *)
Lemma some_free_add l f n k : some_free ({[f]} ∪ l) n k <-> block n f = k \/ some_free l n k.
Proof.
  split.
  - intros (g & [->%elem_of_singleton|Hg]%elem_of_union & E); [by left|right; by exists g].
  - intros [E|(g & Hg & E)].
    + exists f. split; [|done]. apply elem_of_union_l, elem_of_singleton. done.
    + exists g. split; [by apply elem_of_union_r|done].
Qed.
Lemma some_free_drop l f n k : k <> block n f -> some_free (l ∖ {[f]}) n k <-> some_free l n k.
Proof.
  intros Hne. split.
  - intros (g & [Hg _]%elem_of_difference & E). by exists g.
  - intros (g & Hg & E). exists g. split; [|done]. apply elem_of_difference. split; [done|].
    intros ->%elem_of_singleton. by apply Hne.
Qed.
Lemma some_free_drop_zero l f : ~ some_free (l ∖ {[f]}) 0 (block 0 f).
Proof.
  intros (g & [_ Hg]%elem_of_difference & E). apply Hg, elem_of_singleton. unfold block in E.
  rewrite Z.pow_0_r, !Z.div_1_r in E. done.
Qed.
