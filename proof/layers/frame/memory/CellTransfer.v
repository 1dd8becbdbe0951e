(** Ownership transfer: each update of frame memory and owned frames by a frame function, done on their cells. *)
From Ashlar Require Export layers.frame.memory.MemoryRepresentation.

Lemma owned_frames_disjoint h x : frame_table_cells x -> ~ owned_frames_cells h x.
Proof. intros [(f & _ & [-> | ->])|[->|(n & i & _ & _ & ->)]] (g & j & E & _); discriminate E. Qed.
Lemma table_disjoint s h (t u : mem) st : frame_rep st t ->
  (forall x, is_Some (u !! x) -> frame_memory_cells s x \/ owned_frames_cells h x) -> t ##ₘ u.
Proof.
  intros Ht Hu. apply map_disjoint_spec. intros x v w Hv Hw.
  assert (Hx : frame_table_cells x) by (apply Ht; by exists v).
  assert (Hs : is_Some (u !! x)) by (by exists w). apply Hu in Hs as [Hs|Hs].
  - by eapply table_cells_disjoint. - by eapply owned_frames_disjoint.
Qed.

(** The set of frames whose words are shared or owned stays the same. *)
Lemma cells_same s h s1 h1 x : (forall f, words_shared s f \/ is_Some (h !! f) <-> words_shared s1 f \/ is_Some (h1 !! f)) ->
  frame_memory_cells s x \/ owned_frames_cells h x <-> frame_memory_cells s1 x \/ owned_frames_cells h1 x.
Proof.
  intros H.
  assert (G : forall s h s1 h1, (forall f, words_shared s f \/ is_Some (h !! f) -> words_shared s1 f \/ is_Some (h1 !! f)) ->
    frame_memory_cells s x \/ owned_frames_cells h x -> frame_memory_cells s1 x \/ owned_frames_cells h1 x).
  { intros s' h' s1' h1' H' [[Hp|(f & i & -> & Hi & Hf)]|(f & i & -> & Hi & Hf)].
    - left. by left.
    - destruct (H' f (or_introl Hf)); [left; by apply frame_memory_word|right; by apply owned_frames_word].
    - destruct (H' f (or_intror Hf)); [left; by apply frame_memory_word|right; by apply owned_frames_word]. }
  split; apply G; intros f; apply H.
Qed.

(** A cell of [frame_private] is written. *)
Lemma private_written s h (u : mem) f v : 0 <= f < NUM_FRAME ->
  (forall x, is_Some (u !! x) <-> frame_memory_cells s x \/ owned_frames_cells h x) ->
  forall x, is_Some (<[private_cell f := v]> u !! x) <-> frame_memory_cells s x \/ owned_frames_cells h x.
Proof.
  intros Hf Hu x. rewrite <- Hu. split.
  - intros [<-|[_ H]]%lookup_insert_is_Some; [|done]. apply Hu. left. left. by exists f.
  - intros H. apply lookup_insert_is_Some. destruct (decide (private_cell f = x)); auto.
Qed.
Lemma private_cell_inj f g : private_cell f = private_cell g -> f = g.
Proof. by intros [= ->]. Qed.
Lemma owned_frame_values_written h (u : mem) f v : owned_frame_values h u -> owned_frame_values h (<[private_cell f := v]> u).
Proof. intros H g w i Hg Hi. rewrite own_lookup_ne by discriminate. by apply (H g w i). Qed.

(** *** The table of a valid state, before and after *)
Lemma take_shape t p f t1 : frame_valid t -> frame_take t p = Some (f, t1) -> f <> NONE ->
  f ∈ free t /\ owners t !! f = None /\ 0 <= f < NUM_FRAME /\ free t1 = free t ∖ {[f]} /\ owners t1 = <[f := only p]> (owners t).
Proof.
  intros HV H Hf. destruct (frame_take_fresh _ _ _ _ HV H Hf) as (Hin & Hno & _).
  pose proof (proj1 (proj1 HV f Hin)) as Hid. apply frame_id_true in Hid.
  unfold frame_take in H. destruct (process_id p); [|done]. cbv zeta in H.
  destruct (highest (free t) =? -1); simplify_eq. split; [done|]. split; [done|]. split; [exact Hid|]. by split.
Qed.
Lemma remove_shape t f p v t1 : frame_valid t -> frame_remove t f p = Some (v, t1) ->
  t1 = t \/ (is_Some (owners t !! f) /\ is_Some (owners t1 !! f) /\ free t1 = free t /\ (forall g, g <> f -> owners t1 !! g = owners t !! g)) \/
  (is_Some (owners t !! f) /\ f ∉ free t /\ free t1 = {[f]} ∪ free t /\ owners t1 = delete f (owners t)).
Proof.
  intros HV H. unfold frame_remove in H. destruct (frame_id f && process_id p); [|done].
  destruct (owners t !! f) as [mask|] eqn:E; [|left; congruence].
  destruct (Z.testbit mask p); [|left; simpl in H; congruence]. simpl in H. destruct (mask =? only p); simplify_eq; simpl.
  - right; right. split_and!; [by eexists| |done|done]. intros Hin. destruct (proj1 HV f Hin) as [_ Hn]. congruence.
  - right; left. split_and!; [by eexists|rewrite lookup_insert; by eexists|done|].
    intros g Hg. by rewrite lookup_insert_ne.
Qed.

Lemma take_together s h (t u : mem) p f t1 (t' : mem) : frame_memory_valid s -> together s h t u ->
  frame_take (table s) p = Some (f, t1) -> f <> NONE -> frame_rep t1 t' ->
  together (FrameMemory t1 ({[f]} ∪ private s)) (<[f := None]> h) t' (<[private_cell f := 1]> u).
Proof.
  intros [Hval Hpr] (Hp & Htu & Ht & Hu & Hdis & Hpv & Hhv) Htake Hn Ht'.
  destruct (take_shape _ _ _ _ Hval Htake Hn) as (Hin & Hno & Hf & Ef & Eo).
  assert (Hnp : f ∉ private s). { intros Hx. specialize (Hpr f Hx). simpl in Hpr. rewrite Hno in Hpr. by destruct Hpr. }
  assert (Hu' : forall x, is_Some (<[private_cell f := 1]> u !! x) <->
    frame_memory_cells (FrameMemory t1 ({[f]} ∪ private s)) x \/ owned_frames_cells (<[f := None]> h) x).
  { intros x. rewrite (private_written s h u f 1 Hf Hu x). apply cells_same. intros g. unfold words_shared. simpl.
    rewrite Ef, Eo, elem_of_difference, elem_of_union, elem_of_singleton. rewrite !lookup_insert_is_Some.
    destruct (decide (f = g)) as [<-|Hne].
    - split; [intros _; right; by left|intros _; left; by left].
    - assert (g <> f) by congruence. tauto. }
  split_and!.
  - intros g [->%elem_of_singleton|Hg]%elem_of_union; simpl; rewrite Eo.
    + rewrite lookup_insert. by eexists.
    + apply lookup_insert_is_Some. destruct (decide (f = g)); [by left|right]. split; [done|]. by apply Hpr.
  - eapply table_disjoint; [exact Ht'|]. intros x Hx. by apply Hu'.
  - done.
  - exact Hu'.
  - intros g Hg. unfold words_shared in Hg. simpl in Hg. rewrite Ef, Eo in Hg.
    assert (g <> f) by set_solver. rewrite lookup_insert_ne by done. apply Hdis. unfold words_shared.
    destruct Hg as [Hg|[Hg1 Hg2]]; [left; set_solver|right]. split; [|set_solver].
    apply lookup_insert_is_Some in Hg1 as [?|[_ ?]]; done.
  - intros g Hg. simpl in *. rewrite Eo in Hg. destruct (decide (f = g)) as [<-|Hne].
    + rewrite own_lookup, decide_True; [done|]. set_solver.
    + rewrite own_lookup_ne by (intros E%private_cell_inj; done). apply lookup_insert_is_Some in Hg as [?|[_ Hg]]; [done|].
      rewrite (Hpv g Hg). destruct (decide (g ∈ private s)), (decide (g ∈ {[f]} ∪ private s)); set_solver.
  - apply owned_frame_values_written. intros g w i Hg Hi. destruct (decide (f = g)) as [<-|Hne].
    + by rewrite lookup_insert in Hg. + rewrite lookup_insert_ne in Hg by done. by eapply Hhv.
Qed.

Lemma publish_together s h (t u : mem) f v s1 h1 : frame_memory_valid s -> together s h t u -> frame_memory_publish f s h = Some (v, s1, h1) ->
  v = 0 /\ 0 <= f < NUM_FRAME /\ together s1 h1 t (<[private_cell f := 0]> u).
Proof.
  intros [Hval Hpr] (Hp & Htu & Ht & Hu & Hdis & Hpv & Hhv) H. unfold frame_memory_publish in H.
  destruct (decide (f ∈ private s)) as [Hin|]; [|done]. destruct (h !! f) as [c|] eqn:Hc; [|done].
  injection H as <- <- <-. pose proof (Hpr f Hin) as Hown. simpl in Hown.
  assert (Hf : 0 <= f < NUM_FRAME).
  { destruct Hown as [m Hm]. destruct (proj2 Hval f m Hm) as [Hid%frame_id_true _]. done. }
  assert (Hnf : f ∉ free (table s)).
  { intros Hx. destruct (proj1 Hval f Hx) as [_ Hx']. rewrite Hx' in Hown. by destruct Hown. }
  split; [done|]. split; [done|].
  assert (Hu' : forall x, is_Some (<[private_cell f := 0]> u !! x) <->
    frame_memory_cells (FrameMemory (table s) (private s ∖ {[f]})) x \/ owned_frames_cells (delete f h) x).
  { intros x. rewrite (private_written s h u f 0 Hf Hu x). apply cells_same. intros g. unfold words_shared. simpl.
    rewrite elem_of_difference, elem_of_singleton, lookup_delete_is_Some. destruct (decide (f = g)) as [<-|Hne].
    - split; [intros _; left; right; split; [done|tauto]|intros _; right; rewrite Hc; by eexists].
    - assert (g <> f) by congruence. tauto. }
  split_and!.
  - intros g [Hg _]%elem_of_difference. by apply Hpr.
  - eapply table_disjoint; [exact Ht|]. intros x Hx. by apply Hu'.
  - done.
  - exact Hu'.
  - intros g Hg. unfold words_shared in Hg. simpl in Hg. destruct (decide (f = g)) as [<-|Hne]; [apply lookup_delete|].
    rewrite lookup_delete_ne by done. apply Hdis. unfold words_shared. destruct Hg as [Hg|[Hg1 Hg2]]; [by left|right].
    split; [done|]. set_solver.
  - intros g Hg. simpl in *. destruct (decide (f = g)) as [<-|Hne].
    + rewrite own_lookup, decide_False; [done|]. set_solver.
    + rewrite own_lookup_ne by (intros E%private_cell_inj; done). rewrite (Hpv g Hg).
      destruct (decide (g ∈ private s)), (decide (g ∈ private s ∖ {[f]})); set_solver.
  - apply owned_frame_values_written. intros g w i Hg Hi. apply lookup_delete_Some in Hg as [_ Hg]. by eapply Hhv.
Qed.

Lemma remove_together s h (t u : mem) f p v s1 h1 : frame_memory_valid s -> together s h t u -> frame_memory_remove f p s h = Some (v, s1, h1) ->
  exists t1, frame_remove (table s) f p = Some (v, t1) /\ forall t' : mem, frame_rep t1 t' -> together s1 h1 t' u.
Proof.
  intros [Hval Hpr] (Hp & Htu & Ht & Hu & Hdis & Hpv & Hhv) H. unfold frame_memory_remove in H.
  destruct (frame_remove (table s) f p) as [[w t1]|] eqn:Hr; [|done].
  pose proof (remove_shape _ _ _ _ _ Hval Hr) as Hs.
  destruct (decide (f ∈ private s /\ owners t1 !! f = None)) as [[Hin Hnone]|Hd].
  - destruct (h !! f) as [c|] eqn:Hc; [|done]. injection H as <- <- <-. exists t1. split; [done|]. intros t' Ht'.
    pose proof (Hpr f Hin) as Hown. simpl in Hown.
    destruct Hs as [->|[(_ & Ho & _)|(_ & Hnf & Ef & Eo)]]; [by rewrite Hnone in Hown; destruct Hown| |].
    { rewrite Hnone in Ho. by destruct Ho. }
    assert (Hu' : forall x, is_Some (u !! x) <-> frame_memory_cells (FrameMemory t1 (private s ∖ {[f]})) x \/ owned_frames_cells (delete f h) x).
    { intros x. rewrite Hu. apply cells_same. intros g. unfold words_shared. simpl.
      rewrite Ef, Eo, elem_of_difference, elem_of_union, elem_of_singleton, !lookup_delete_is_Some.
      destruct (decide (f = g)) as [<-|Hne].
      - split; [intros _; left; left; by left|intros _; right; rewrite Hc; by eexists].
      - assert (g <> f) by congruence. tauto. }
    split_and!.
    + intros g [Hg Hne]%elem_of_difference. simpl. rewrite Eo. apply lookup_delete_is_Some.
      split; [set_solver|by apply Hpr].
    + eapply table_disjoint; [exact Ht'|]. intros x Hx. by apply Hu'.
    + done.
    + exact Hu'.
    + intros g Hg. unfold words_shared in Hg. simpl in Hg. rewrite Ef, Eo in Hg.
      destruct (decide (f = g)) as [<-|Hne]; [apply lookup_delete|]. rewrite lookup_delete_ne by done. apply Hdis.
      unfold words_shared. destruct Hg as [Hg|[[_ Hg1]%lookup_delete_is_Some Hg2]]; [left; set_solver|right; set_solver].
    + intros g Hg. simpl in *. rewrite Eo in Hg. apply lookup_delete_is_Some in Hg as [Hne Hg]. rewrite (Hpv g Hg).
      destruct (decide (g ∈ private s)), (decide (g ∈ private s ∖ {[f]})); set_solver.
    + intros g x i Hg Hi. apply lookup_delete_Some in Hg as [_ Hg]. by eapply Hhv.
  - injection H as <- <- <-. exists t1. split; [done|]. intros t' Ht'.
    assert (Hsame : forall g, words_shared s g <-> words_shared (FrameMemory t1 (private s)) g).
    { intros g. unfold words_shared. simpl. destruct Hs as [->|[(Ho & Ho1 & Ef & Hg)|(Ho & Hnf & Ef & Eo)]]; [done| |].
      - rewrite Ef. destruct (decide (g = f)) as [->|Hne]; [tauto|]. by rewrite (Hg g Hne).
      - rewrite Ef, Eo, elem_of_union, elem_of_singleton, lookup_delete_is_Some. destruct (decide (f = g)) as [<-|Hne].
        + assert (f ∉ private s). { intros Hx. apply Hd. split; [done|]. rewrite Eo. apply lookup_delete. } tauto.
        + assert (g <> f) by congruence. tauto. }
    assert (Hu' : forall x, is_Some (u !! x) <-> frame_memory_cells (FrameMemory t1 (private s)) x \/ owned_frames_cells h x).
    { intros x. rewrite Hu. apply cells_same. intros g. by rewrite Hsame. }
    assert (Hkeep : forall g, is_Some (owners t1 !! g) -> is_Some (owners (table s) !! g)).
    { intros g Hg. destruct Hs as [->|[(Ho & _ & _ & Hn)|(_ & _ & _ & Eo)]]; [done| |].
      - destruct (decide (g = f)) as [->|Hne]; [done|]. by rewrite <- (Hn g Hne).
      - rewrite Eo in Hg. by apply lookup_delete_is_Some in Hg as [_ ?]. }
    split_and!; [| |done|exact Hu'| | |done].
    + intros g Hg. simpl. pose proof (Hpr g Hg) as Hx. simpl in Hx.
      destruct Hs as [->|[(_ & Ho1 & _ & Hn)|(_ & _ & _ & Eo)]]; [done| |].
      * destruct (decide (g = f)) as [->|Hne]; [done|]. by rewrite (Hn g Hne).
      * rewrite Eo. apply lookup_delete_is_Some. split; [|done]. intros <-. apply Hd. split; [done|]. rewrite Eo. apply lookup_delete.
    + eapply table_disjoint; [exact Ht'|]. intros x Hx. by apply Hu'.
    + intros g Hg. apply Hdis. by apply Hsame.
    + intros g Hg. simpl in *. apply Hpv. by apply Hkeep.
Qed.
