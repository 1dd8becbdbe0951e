(** Frames: every valid state of frame memory has cells that represent it. The words of its frames are 0 there. *)
From Ashlar Require Export layers.frame.memory.MemoryRepresentation lang.logic.Memory.

(** ** The table *)
Definition some_free_test (l : gset Z) (n j : Z) : bool := existsb (fun f => f / 64 ^ n =? j) (elements l).
Definition summary (l : gset Z) (n i : Z) : Z := word_of_bits (fun b => some_free_test l n (64 * i + b)) 64.

Lemma some_free_test_spec l n j : some_free_test l n j = true <-> some_free l n j.
Proof.
  unfold some_free_test, some_free. rewrite existsb_exists. split.
  - intros (f & Hf%elem_of_list_In%elem_of_elements & Hj%Z.eqb_eq). by exists f.
  - intros (f & Hf & Hj). exists f. split; [by apply elem_of_list_In, elem_of_elements|by apply Z.eqb_eq].
Qed.
Lemma summary_summarises l n i : summarises l n i (summary l n i).
Proof.
  split; [apply (word_of_bits_bound _ 64)|]. intros b Hb. unfold summary. rewrite word_of_bits_test by lia.
  change (Z.of_nat 64) with 64. rewrite (proj2 (Z.ltb_lt _ _)) by lia. apply some_free_test_spec.
Qed.

Definition table_cell_list : list cell :=
  (owner_cell <$> seqZ 0 NUM_FRAME) ++ (kind_cell <$> seqZ 0 NUM_FRAME) ++ [free_cell] ++
  (n ← [0; 1; 2; 3]; map_cell n <$> seqZ 0 (map_words n)).
Lemma table_cell_list_spec x : x ∈ table_cell_list <-> frame_table_cells x.
Proof.
  unfold table_cell_list, frame_table_cells. rewrite !elem_of_app, !elem_of_list_fmap, elem_of_list_singleton, elem_of_list_bind.
  split.
  - intros [(f & -> & Hf%elem_of_seqZ)|[(f & -> & Hf%elem_of_seqZ)|[->|(n & (i & -> & Hi%elem_of_seqZ)%elem_of_list_fmap & Hn)]]].
    + left. exists f. split; [lia|by left].
    + left. exists f. split; [lia|by right].
    + by right; left.
    + right; right. exists n, i. rewrite !elem_of_cons, elem_of_nil in Hn. split_and!; try done; lia.
  - intros [(f & Hf & [-> | ->])|[->|(n & i & Hn & Hi & ->)]].
    + left. exists f. split; [done|]. apply elem_of_seqZ. lia.
    + right; left. exists f. split; [done|]. apply elem_of_seqZ. lia.
    + by right; right; left.
    + right; right; right. exists n. split; [|rewrite !elem_of_cons; lia]. apply elem_of_list_fmap. exists i.
      split; [done|]. apply elem_of_seqZ. lia.
Qed.

Definition table_contents (s : frames) (x : cell) : Z :=
  let '(o, i, _, _) := x in
  if String.eqb o "frame_owner" then owners_of s i else if String.eqb o "frame_kind" then kind_of s i
  else if String.eqb o "frame_free" then Z.of_nat (size (free s))
  else summary (free s) (if String.eqb o "frame_map_0" then 0 else if String.eqb o "frame_map_1" then 1
    else if String.eqb o "frame_map_2" then 2 else 3) i.
Definition table_memory (s : frames) : mem := memory (table_contents s) table_cell_list.

Lemma table_memory_rep s : frame_valid s -> frame_rep s (table_memory s).
Proof.
  intros [Hf Ho].
  assert (Hread : forall x, frame_table_cells x -> table_memory s !! x = Some (table_contents s x)).
  { intros x Hx. by apply memory_in, table_cell_list_spec. }
  split; [exact Hf|]. split; [|split; [|split_and!]].
  - intros f m Hm. destruct (Ho f m Hm) as [? ?]. split; [done|lia].
  - intros x. unfold table_memory. rewrite memory_dom. apply table_cell_list_spec.
  - intros f Hid. by rewrite !Hread by (left; exists f; auto).
  - by rewrite Hread by (by right; left).
  - intros n i Hn Hi. exists (summary (free s) n i). split; [|apply summary_summarises].
    rewrite Hread by (right; right; by exists n, i).
    assert (n = 0 \/ n = 1 \/ n = 2 \/ n = 3) as [->|[->|[->| ->]]] by lia; done.
Qed.

(** ** The shared words, and which frames are private *)
Global Instance words_shared_dec s f : Decision (words_shared s f).
Proof. unfold words_shared. apply _. Defined.
Definition frame_memory_cell_list (s : frame_memory) : list cell :=
  (private_cell <$> seqZ 0 NUM_FRAME) ++
  (f ← filter (words_shared s) (seqZ 0 NUM_FRAME); frame_word f <$> seqZ 0 frame_words).
Definition frame_memory_contents (s : frame_memory) (x : cell) : Z :=
  let '(o, f, _, _) := x in
  if String.eqb o "frame_private" then if decide (f ∈ private s) then 1 else 0 else 0.
Definition frame_memory_mem (s : frame_memory) : mem := table_memory (table s) ∪ memory (frame_memory_contents s) (frame_memory_cell_list s).

Lemma valid_frame s f : frame_memory_valid s -> words_shared s f \/ is_Some (owners (table s) !! f) -> 0 <= f < NUM_FRAME.
Proof.
  intros [[Hf Ho] _] H. apply frame_id_true.
  assert (H' : f ∈ free (table s) \/ is_Some (owners (table s) !! f)) by (unfold words_shared in H; tauto).
  destruct H' as [Hin|[m Hm]]; [by destruct (Hf f Hin)|by destruct (Ho f m Hm)].
Qed.
Lemma frame_memory_cell_list_spec s x : frame_memory_valid s -> x ∈ frame_memory_cell_list s <-> frame_memory_cells s x.
Proof.
  intros Hv. unfold frame_memory_cell_list, frame_memory_cells. rewrite elem_of_app, elem_of_list_fmap, elem_of_list_bind. split.
  - intros [(f & -> & Hf%elem_of_seqZ)|(f & (i & -> & Hi%elem_of_seqZ)%elem_of_list_fmap & [Hp _]%elem_of_list_filter)].
    + left. exists f. split; [lia|done].
    + right. exists f, i. split; [done|]. split; [unfold word_index; lia|done].
  - intros [(f & Hf & ->)|(f & i & -> & Hi & Hp)].
    + left. exists f. split; [done|]. apply elem_of_seqZ. lia.
    + right. exists f. pose proof (valid_frame s f Hv (or_introl Hp)). split.
      * apply elem_of_list_fmap. exists i. split; [done|]. apply elem_of_seqZ. unfold word_index in Hi. lia.
      * apply elem_of_list_filter. split; [done|]. apply elem_of_seqZ. lia.
Qed.

Theorem frame_memory_mem_rep s : frame_memory_valid s -> frame_memory_rep s (frame_memory_mem s).
Proof.
  intros Hv. split; [apply Hv|]. exists (table_memory (table s)), (memory (frame_memory_contents s) (frame_memory_cell_list s)).
  split; [done|]. split.
  - apply map_disjoint_spec. intros x v w H1 H2. apply (table_cells_disjoint s x).
    + apply table_cell_list_spec, (memory_dom (table_contents (table s))). by exists v.
    + apply frame_memory_cell_list_spec, (memory_dom (frame_memory_contents s)); [done|]. by exists w.
  - split; [apply table_memory_rep, Hv|]. split.
    + intros x. rewrite memory_dom. by apply frame_memory_cell_list_spec.
    + intros f Hf. rewrite memory_in; [done|]. apply frame_memory_cell_list_spec; [done|]. left. exists f. split; [|done].
      apply (valid_frame s); auto.
Qed.
