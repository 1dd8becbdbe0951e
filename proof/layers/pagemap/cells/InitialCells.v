(** Page maps: the cells of a process without one. *)
From Ashlar Require Export layers.pagemap.spec.Invariant lang.logic.Memory.

Definition absent_cell_list (p : Z) : list cell := pagemap_cell p <$> pagemap_fields.
Definition absent_contents (x : cell) : Z :=
  let '(_, _, field, _) := x in
  if String.eqb field "exists" then flag (present pagemap_absent)
  else if String.eqb field "root" then root_of pagemap_absent else cursor pagemap_absent.
Definition absent_memory (p : Z) : mem := memory absent_contents (absent_cell_list p).

Lemma absent_cells p x : is_Some (absent_memory p !! x) <-> exists field, field ∈ pagemap_fields /\ x = pagemap_cell p field.
Proof.
  unfold absent_memory, absent_cell_list. rewrite memory_dom, elem_of_list_fmap.
  split; intros (field & H1 & H2); exists field; by split.
Qed.
Theorem absent_memory_rep kernel_entry p : pagemap_rep kernel_entry p pagemap_absent (absent_memory p).
Proof.
  assert (Hno : forall k : Z * Z, tables pagemap_absent !! k = None) by (intros k; apply lookup_empty).
  assert (Hread : forall field, field ∈ pagemap_fields ->
    absent_memory p !! pagemap_cell p field = Some (absent_contents (pagemap_cell p field))).
  { intros field Hf. unfold absent_memory. apply memory_in. apply elem_of_list_fmap. by exists field. }
  split; [apply absent_valid|]. split.
  - intros x. rewrite absent_cells. unfold pagemap_cells. split; [by left|].
    intros [H|(k & f & i & Hk & _)]; [done|]. rewrite Hno in Hk. done.
  - rewrite !Hread by (unfold pagemap_fields; rewrite !elem_of_cons; tauto).
    split_and!; [done..|]. intros k f i Hk. by rewrite Hno in Hk.
Qed.
