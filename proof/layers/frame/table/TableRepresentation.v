(** Frames: cells and states determine each other. *)
From Ashlar Require Export layers.frame.table.TableInvariant lang.logic.Owned.

Implicit Types s : frames.

(** The kinds say which frames are free, the masks which processes own the others. *)
Lemma kind_free s f : kind_of s f = FRAME_FREE <-> f ∈ free s.
Proof. unfold kind_of. destruct (decide (f ∈ free s)); [tauto|]. destruct (decide _); by split. Qed.

Lemma frame_rep_state s s' (d : mem) : frame_rep s d -> frame_rep s' d -> s = s'.
Proof.
  intros (Hf & Ho & _ & H & _) (Hf' & Ho' & _ & H' & _).
  assert (Hk : forall f, 0 <= f < NUM_FRAME -> owners_of s f = owners_of s' f /\ kind_of s f = kind_of s' f).
  { intros f Hr. destruct (H f Hr) as [E1 E2], (H' f Hr) as [E1' E2']. split; congruence. }
  destruct s as [l o], s' as [l' o']. simpl in *. f_equal.
  - apply set_eq. intros f. split; intros Hin.
    + destruct (Hf f Hin) as [Hid%frame_id_true _]. apply (kind_free (Frames l' o')).
      rewrite <- (proj2 (Hk f Hid)). by apply kind_free.
    + destruct (Hf' f Hin) as [Hid%frame_id_true _]. apply (kind_free (Frames l o)).
      rewrite (proj2 (Hk f Hid)). by apply kind_free.
  - apply map_eq. intros f. destruct (o !! f) as [m|] eqn:E, (o' !! f) as [m'|] eqn:E'; [| | |done].
    + destruct (Ho f m E) as [Hid%frame_id_true _]. destruct (Hk f Hid) as [Hm _].
      unfold owners_of in Hm. simpl in Hm. rewrite E, E' in Hm. simpl in Hm. by subst.
    + destruct (Ho f m E) as [Hid%frame_id_true Hn]. destruct (Hk f Hid) as [Hm _].
      unfold owners_of in Hm. simpl in Hm. rewrite E, E' in Hm. by simpl in Hm.
    + destruct (Ho' f m' E') as [Hid%frame_id_true Hn]. destruct (Hk f Hid) as [Hm _].
      unfold owners_of in Hm. simpl in Hm. rewrite E, E' in Hm. simpl in Hm. congruence.
Qed.

Lemma summarises_unique l n i w w' : summarises l n i w -> summarises l n i w' -> w = w'.
Proof.
  intros [Hw H] [Hw' H']. apply (word_extensional 64); [done..|]. intros b Hb.
  apply Bool.eq_iff_eq_true. by rewrite (H b Hb), (H' b Hb).
Qed.

Lemma frame_rep_cells s (d d' : mem) : frame_rep s d -> frame_rep s d' -> d = d'.
Proof.
  intros (_ & _ & Hx & H & Hn & Hw) (_ & _ & Hx' & H' & Hn' & Hw').
  assert (Hsame : forall x, frame_table_cells x -> d !! x = d' !! x).
  { intros x [(f & Hf & [-> | ->])|[->|(n & i & Hn4 & Hi & ->)]].
    - destruct (H f Hf) as [E _], (H' f Hf) as [E' _]. congruence.
    - destruct (H f Hf) as [_ E], (H' f Hf) as [_ E']. congruence.
    - congruence.
    - destruct (Hw n i Hn4 Hi) as (w & E & Hs), (Hw' n i Hn4 Hi) as (w' & E' & Hs').
      pose proof (summarises_unique _ _ _ _ _ Hs Hs'). congruence. }
  apply own_eq. intros x. destruct (d !! x) as [v|] eqn:E.
  - assert (Hc : frame_table_cells x) by (apply Hx; by exists v). specialize (Hsame x Hc). congruence.
  - destruct (d' !! x) as [v'|] eqn:E'; [|done]. assert (Hc : frame_table_cells x) by (apply Hx'; by exists v').
    specialize (Hsame x Hc). congruence.
Qed.
