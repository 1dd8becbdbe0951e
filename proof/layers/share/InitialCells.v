(** Shares: every valid state has cells that represent it. *)
From Ashlar Require Export layers.share.Representation lang.logic.Memory.

Definition share_cell_list : list cell :=
  (i ← seqZ 0 NUM_SHARE; field ← share_fields; [share_cell i field]) ++ (offers_cell <$> seqZ 0 NUM_PROCESS).
Definition share_contents (s : share_state) (x : cell) : Z :=
  let '(o, i, field, _) := x in
  let y := default no_share (shares s !! i) in
  if String.eqb o "share_offers" then default 0 (offers s !! i)
  else if String.eqb field "from" then from y else if String.eqb field "to" then to y
  else if String.eqb field "offered" then offered y else accepted y.
Definition share_memory (s : share_state) : mem := memory (share_contents s) share_cell_list.

Lemma share_cell_list_spec x : x ∈ share_cell_list <-> share_cells x.
Proof.
  unfold share_cell_list, share_cells. rewrite elem_of_app, elem_of_list_bind, elem_of_list_fmap. split.
  - intros [(i & (field & Hx%elem_of_list_singleton & Hf)%elem_of_list_bind & Hi%elem_of_seqZ)|(p & -> & Hp%elem_of_seqZ)].
    + left. exists i, field. split; [lia|done].
    + right. exists p. split; [lia|done].
  - intros [(i & field & Hi & Hf & ->)|(p & Hp & ->)].
    + left. exists i. split; [|apply elem_of_seqZ; lia]. apply elem_of_list_bind. exists field. split; [by left|done].
    + right. exists p. split; [done|apply elem_of_seqZ; lia].
Qed.

Theorem share_memory_rep s : share_valid s -> share_rep s (share_memory s).
Proof.
  intros (Hdom & Hdom' & _).
  assert (Hi : forall i, is_Some (shares s !! i) <-> 0 <= i < NUM_SHARE).
  { intros i. rewrite <- elem_of_dom, Hdom, elem_of_list_to_set, elem_of_seqZ. lia. }
  assert (Hp : forall p, is_Some (offers s !! p) <-> 0 <= p < NUM_PROCESS).
  { intros p. rewrite <- elem_of_dom, Hdom', elem_of_list_to_set, elem_of_seqZ. lia. }
  assert (Hread : forall x, share_cells x -> share_memory s !! x = Some (share_contents s x)).
  { intros x Hx. by apply memory_in, share_cell_list_spec. }
  split; [exact Hi|]. split; [exact Hp|]. split_and!.
  - intros x. unfold share_memory. rewrite memory_dom. apply share_cell_list_spec.
  - intros i x Hx. assert (Hid : 0 <= i < NUM_SHARE) by (apply Hi; eauto).
    assert (Hf : forall field, field ∈ share_fields -> share_cells (share_cell i field)) by (intros field Hf; left; by exists i, field).
    unfold share_is. rewrite !Hread by (apply Hf; unfold share_fields; rewrite !elem_of_cons; tauto).
    unfold share_contents, share_cell. by rewrite Hx.
  - intros p n Hn. assert (Hid : 0 <= p < NUM_PROCESS) by (apply Hp; eauto).
    rewrite Hread by (right; by exists p). unfold share_contents, offers_cell. by rewrite Hn.
Qed.
