(** A memory given by its cells and what they contain. States have representations: each layer says here which. *)
From Ashlar Require Export lang.logic.Owned lang.logic.Words.

Definition memory (contents : cell -> Z) (cells : list cell) : mem := foldr (fun x m => <[x := contents x]> m) ∅ cells.

Lemma memory_in contents cells x : x ∈ cells -> memory contents cells !! x = Some (contents x).
Proof.
  induction cells as [|y cells IH]; [by intros ?%elem_of_nil|]. cbn [memory foldr]. intros Hx.
  destruct (decide (y = x)) as [->|Hne]; [apply own_lookup|]. etrans; [by apply own_lookup_ne|]. apply IH.
  apply elem_of_cons in Hx as [->|Hx]; [done|exact Hx].
Qed.
Lemma memory_dom contents cells x : is_Some (memory contents cells !! x) <-> x ∈ cells.
Proof.
  split; [|intros Hx; exists (contents x); by apply memory_in]. induction cells as [|y cells IH].
  { intros Hx. exfalso. revert Hx. apply eq_None_not_Some. apply (lookup_empty (M := gmap cell)). }
  cbn [memory foldr]. destruct (decide (y = x)) as [->|Hne]; [left|].
  intros [v Hv]. right. apply IH. exists v. etrans; [|exact Hv]. symmetry. by apply own_lookup_ne.
Qed.
Global Opaque memory.

(** The word whose bits below [n] are those of [f]. *)
Fixpoint word_of_bits (f : Z -> bool) (n : nat) : Z :=
  match n with
  | O => 0
  | S n => if f (Z.of_nat n) then Z.lor (word_of_bits f n) (2 ^ Z.of_nat n) else word_of_bits f n
  end.
Lemma word_of_bits_test f n b : 0 <= b -> Z.testbit (word_of_bits f n) b = (b <? Z.of_nat n) && f b.
Proof.
  intros Hb. induction n as [|n IH]; cbn [word_of_bits].
  { rewrite Z.bits_0. by rewrite (proj2 (Z.ltb_ge _ _)) by lia. }
  destruct (f (Z.of_nat n)) eqn:E; rewrite ?set_bit_test, IH by lia; destruct (Z.eqb_spec (Z.of_nat n) b) as [<-|Hne].
  - rewrite E. rewrite orb_true_r. symmetry. rewrite andb_true_r. apply Z.ltb_lt. lia.
  - rewrite orb_false_r. f_equal. apply Bool.eq_iff_eq_true. rewrite !Z.ltb_lt. lia.
  - by rewrite E, !andb_false_r.
  - f_equal. apply Bool.eq_iff_eq_true. rewrite !Z.ltb_lt. lia.
Qed.
Lemma word_of_bits_bound f n : 0 <= word_of_bits f n < 2 ^ Z.of_nat n.
Proof.
  assert (H0 : 0 <= word_of_bits f n).
  { induction n as [|n IH]; [done|]. cbn [word_of_bits]. destruct (f _); [|done]. apply Z.lor_nonneg. split; [done|lia]. }
  split; [done|]. apply word_bound; [lia|done|]. intros i Hi. rewrite word_of_bits_test by lia.
  by rewrite (proj2 (Z.ltb_ge _ _)) by lia.
Qed.
