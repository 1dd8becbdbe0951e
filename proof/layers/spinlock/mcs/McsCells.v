(** The atomic cells of MCS locks: those of different locks and CPUs differ, and which CPU writes each. *)
From Ashlar Require Export layers.spinlock.mcs.McsProtocol.

Lemma cell_lock_tail k : 0 <= k < NUM_LOCK -> cell_lock (tail_cell k) = k.
Proof.
  unfold cell_lock, tail_cell, NUM_LOCK, CELL_LOCK_BASE, CELL_MCS_BASE. intros Hk.
  rewrite (proj2 (Z.ltb_lt _ _)) by lia. symmetry. apply (Z.div_unique _ _ _ 0); lia.
Qed.
Lemma cell_lock_busy k c : 0 <= k < NUM_LOCK -> Z.of_nat c < NUM_CPU -> cell_lock (busy_cell k c) = k.
Proof.
  unfold cell_lock, busy_cell, NUM_LOCK, CELL_MCS_BASE, NUM_CPU. intros Hk Hc.
  rewrite (proj2 (Z.ltb_ge _ _)) by lia. symmetry. apply (Z.div_unique _ _ _ (2 * Z.of_nat c)); lia.
Qed.
Lemma cell_lock_successor k c : 0 <= k < NUM_LOCK -> Z.of_nat c < NUM_CPU -> cell_lock (successor_cell k c) = k.
Proof.
  unfold cell_lock, successor_cell, busy_cell, NUM_LOCK, CELL_MCS_BASE, NUM_CPU. intros Hk Hc.
  rewrite (proj2 (Z.ltb_ge _ _)) by lia. symmetry. apply (Z.div_unique _ _ _ (2 * Z.of_nat c + 1)); lia.
Qed.
Lemma tail_not_busy k k' c : 0 <= k < NUM_LOCK -> 0 <= k' -> (busy_cell k' c =? tail_cell k) = false.
Proof. unfold busy_cell, tail_cell, NUM_LOCK, CELL_MCS_BASE, CELL_LOCK_BASE, NUM_CPU. intros. apply Z.eqb_neq. lia. Qed.
Lemma tail_not_successor k k' c : 0 <= k < NUM_LOCK -> 0 <= k' -> (successor_cell k' c =? tail_cell k) = false.
Proof.
  unfold successor_cell, busy_cell, tail_cell, NUM_LOCK, CELL_MCS_BASE, CELL_LOCK_BASE, NUM_CPU. intros.
  apply Z.eqb_neq. lia.
Qed.
Lemma busy_not_successor k c k' c' : (successor_cell k' c' =? busy_cell k c) = false.
Proof. unfold successor_cell, busy_cell. apply Z.eqb_neq. lia. Qed.
Lemma busy_same k c c' : (busy_cell k c =? busy_cell k c') = bool_decide (c = c').
Proof.
  unfold busy_cell. destruct (decide (c = c')) as [->|Hne]; [by rewrite Z.eqb_refl, bool_decide_eq_true_2|].
  rewrite bool_decide_eq_false_2 by done. apply Z.eqb_neq. lia.
Qed.
Lemma successor_same k c c' : (successor_cell k c =? successor_cell k c') = bool_decide (c = c').
Proof.
  rewrite <- (busy_same k). unfold successor_cell.
  destruct (Z.eqb_spec (busy_cell k c) (busy_cell k c')) as [->|?]; [by rewrite Z.eqb_refl|]. apply Z.eqb_neq. lia.
Qed.

(** Events about other locks leave the cells and the owner of lock [k] alone. *)
Lemma value_other a e l : about (what e) <> Some (cell_lock a) -> atomic_value a (e :: l) = atomic_value a l.
Proof.
  intros Ha. destruct e as [c o]. simpl in *.
  assert (Hne : forall a', Some (cell_lock a') <> Some (cell_lock a) -> (a' =? a) = false).
  { intros a' Hk. apply Z.eqb_neq. by intros ->. }
  destruct o as [a'|a' v|a' v|a' v|a' x v|k'|k' d|v]; simpl in *; rewrite ?Hne by done; done.
Qed.
Lemma owner_other k e l : about (what e) <> Some k -> owner k (e :: l) = owner k l.
Proof.
  destruct e as [c o]. destruct o; simpl; try done; intros Ha; rewrite (proj2 (Z.eqb_neq _ _)); congruence.
Qed.
