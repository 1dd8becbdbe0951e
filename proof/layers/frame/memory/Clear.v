(** Clearing a frame that the CPU owns. *)
From Ashlar Require Export layers.frame.memory.CellTransfer lang.logic.Domain.

Section frame_cells.
  Local Transparent frame_cells.

  Lemma word_list_keys f (v : Z -> Z) (ws : list nat) :
    (((fun w : nat => (frame_word f (Z.of_nat w), v (Z.of_nat w))) <$> ws) : list (cell * Z)).*1 =
    (fun w : nat => frame_word f (Z.of_nat w)) <$> ws.
  Proof. induction ws as [|w ws IH]; simpl; [done|]. by f_equal. Qed.

  Lemma frame_cells_lookup f v i : word_index i -> frame_cells f v !! frame_word f i = Some (v i).
  Proof.
    unfold word_index, frame_words. intros Hi. unfold frame_cells.
    assert (Hin : Z.to_nat i ∈ seq 0 512) by (apply elem_of_seq; lia).
    pose proof (NoDup_seq 0 512) as Hnd. revert Hin Hnd. generalize (seq 0 512) as ws. intros ws Hin Hnd.
    apply elem_of_list_to_map_1.
    - rewrite word_list_keys. apply NoDup_fmap_2; [|done]. intros a b [= E]. lia.
    - apply elem_of_list_fmap. exists (Z.to_nat i). rewrite Z2Nat.id by lia. done.
  Qed.
  Lemma frame_cells_only f v x : is_Some (frame_cells f v !! x) -> exists i, word_index i /\ x = frame_word f i.
  Proof.
    unfold frame_cells. intros [y Hy].
    assert (Hlt : forall w, w ∈ seq 0 512 -> (w < 512)%nat) by (intros w Hw; apply elem_of_seq in Hw; lia).
    revert Hy Hlt. generalize (seq 0 512) as ws. intros ws Hy Hlt.
    apply elem_of_list_to_map_2, elem_of_list_fmap in Hy as (w & E & Hw). injection E as -> ->.
    exists (Z.of_nat w). split; [|done]. unfold word_index, frame_words. specialize (Hlt w Hw). lia.
  Qed.
End frame_cells.

Lemma owns_all f (m : mem) : (forall i, word_index i -> is_Some (m !! frame_word f i)) -> owns_frame f m.
Proof.
  intros H. unfold owns_frame.
  assert (Hlt : forall w, w ∈ seq 0 512 -> (w < 512)%nat) by (intros w Hw; apply elem_of_seq in Hw; lia).
  revert Hlt. generalize (seq 0 512) as ws. intros ws Hlt. apply Forall_forall. intros w Hw. apply H.
  unfold word_index, frame_words. specialize (Hlt w Hw). lia.
Qed.

Lemma owned_frames_clear_rep h f v h1 (d : mem) : owned_frames_clear f h = Some (v, h1) -> owned_frames_rep h d ->
  v = 0 /\ owns_frame f d /\ owned_frames_rep h1 (frame_cells f (fun _ => 0) ∪ d) /\
  forall x, is_Some ((frame_cells f (fun _ => 0) ∪ d) !! x) <-> is_Some (d !! x).
Proof.
  unfold owned_frames_clear. destruct (h !! f) as [c|] eqn:Hc; [|done]. intros H [Hx Hv]. apply some_pair in H as [<- <-].
  assert (Hown : owns_frame f d).
  { apply owns_all. intros i Hi. apply Hx. exists f, i. split_and!; [done..|]. rewrite Hc. by eexists. }
  split_and!; [done|done| |].
  2: { intros x. rewrite union_cells. split; [|by right]. intros [(i & Hi & ->)%frame_cells_only|?]; [|done].
    apply Hx. exists f, i. split_and!; [done..|]. rewrite Hc. by eexists. }
  split.
  - intros x. rewrite union_cells, Hx. split.
    + intros [(i & Hi & ->)%frame_cells_only|(g & i & -> & Hi & Hg)].
      * exists f, i. split_and!; [done..|]. rewrite lookup_insert. by eexists.
      * exists g, i. split_and!; [done..|]. apply lookup_insert_is_Some. destruct (decide (f = g)); auto.
    + intros (g & i & -> & Hi & Hg). apply lookup_insert_is_Some in Hg as [<-|[Hne Hg]].
      * left. rewrite frame_cells_lookup by done. by eexists.
      * right. by exists g, i.
  - intros g w i Hg Hi. destruct (decide (f = g)) as [<-|Hne].
    + rewrite lookup_insert in Hg. injection Hg as <-. apply lookup_union_Some_l.
      rewrite frame_cells_lookup by done. done.
    + rewrite lookup_insert_ne in Hg by done. apply lookup_union_Some_raw. right. split; [|by apply (Hv g w i)].
      apply eq_None_not_Some. intros (j & _ & E)%frame_cells_only. injection E as E _. done.
Qed.
