(** Containers: every valid state has cells that represent it. *)
From Ashlar Require Export layers.container.cells.Representation lang.logic.Memory.

Implicit Types s : gmap Z container.

Definition container_cell_list : list cell :=
  c ← seqZ 0 (ROOT + 1); field ← container_fields; [container_cell c field].
Definition container_contents s (x : cell) : Z :=
  let '(_, c, field, _) := x in
  let y := default absent (s !! c) in
  if String.eqb field "exists" then Z_of_bool (exists_ y) else if String.eqb field "parent" then parent y
  else if String.eqb field "quota" then quota y else if String.eqb field "usage" then usage y
  else if String.eqb field "granted" then granted y else children y.
Definition container_memory s : mem := memory (container_contents s) container_cell_list.

Lemma container_cell_list_spec x : x ∈ container_cell_list <-> container_cells x.
Proof.
  unfold container_cell_list, container_cells. rewrite elem_of_list_bind. split.
  - intros (c & (field & Hx%elem_of_list_singleton & Hf)%elem_of_list_bind & Hc%elem_of_seqZ).
    exists c, field. split; [lia|done].
  - intros (c & field & Hc & Hf & ->). exists c. split; [|apply elem_of_seqZ; lia].
    apply elem_of_list_bind. exists field. split; [by left|done].
Qed.

Theorem container_memory_rep s : container_valid s -> container_rep s (container_memory s).
Proof.
  intros (Hdom & _ & _).
  assert (Hd : forall c, is_Some (s !! c) <-> 0 <= c <= ROOT).
  { intros c. rewrite <- elem_of_dom, Hdom, elem_of_list_to_set, elem_of_seqZ. lia. }
  split; [exact Hd|]. unfold container_memory. split; [intros x; rewrite memory_dom; apply container_cell_list_spec|].
  intros c x Hx. assert (Hc : 0 <= c <= ROOT) by (apply Hd; eauto).
  assert (Hread : forall field, field ∈ container_fields ->
    memory (container_contents s) container_cell_list !! container_cell c field = Some (container_contents s (container_cell c field))).
  { intros field Hf. apply memory_in, container_cell_list_spec. by exists c, field. }
  unfold container_is. rewrite !Hread by (unfold container_fields; rewrite !elem_of_cons; tauto).
  unfold container_contents, container_cell. by rewrite Hx.
Qed.
