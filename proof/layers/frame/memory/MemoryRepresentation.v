(** Representation of frame memory and of a CPU's owned frames: the cells determine the state, and a frame's words move
    from one to the other. *)
From Ashlar Require Export layers.frame.FrameMemory.

Lemma table_cells_disjoint s x : frame_table_cells x -> frame_memory_cells s x -> False.
Proof.
  intros [(f & _ & [-> | ->])|[->|(n & i & _ & _ & ->)]] [(g & _ & E)|(g & j & E & _)]; try discriminate E.
  all: injection E as E _; revert E; unfold map_object; repeat (destruct (_ =? _); [discriminate|]); discriminate.
Qed.

Lemma union_cells (t w : mem) x : is_Some ((t ∪ w) !! x) <-> is_Some (t !! x) \/ is_Some (w !! x).
Proof.
  split.
  - intros [v [H|[_ H]]%lookup_union_Some_raw]; [left|right]; by exists v.
  - intros [[v H]|[v H]].
    + exists v. by apply lookup_union_Some_l.
    + destruct (t !! x) as [u|] eqn:E; [exists u; by apply lookup_union_Some_l|].
      exists v. apply lookup_union_Some_raw. by right.
Qed.

(** The table's part of the cells. *)
Lemma table_part s s' (t w t' w' : mem) : frame_rep (table s) t -> frame_memory_words s w -> frame_rep (table s') t' -> frame_memory_words s' w' ->
  t ##ₘ w -> t' ##ₘ w' -> t ∪ w = t' ∪ w' -> t = t' /\ w = w'.
Proof.
  intros Ht [Hw _] Ht' [Hw' _] Hd Hd' E.
  assert (Hcells : forall x, is_Some (t !! x) <-> frame_table_cells x) by apply Ht.
  assert (Hcells' : forall x, is_Some (t' !! x) <-> frame_table_cells x) by apply Ht'.
  assert (Et : t = t').
  { apply own_eq. intros x. destruct (t !! x) as [v|] eqn:Ev.
    - assert (Hx : is_Some (t' !! x)) by (apply Hcells', Hcells; by exists v).
      destruct Hx as [v' Hv']. rewrite Hv'. rewrite <- Ev, <- Hv'.
      assert (H1 : (t ∪ w) !! x = Some v) by (by apply lookup_union_Some_l).
      assert (H2 : (t' ∪ w') !! x = Some v') by (by apply lookup_union_Some_l). congruence.
    - symmetry. apply eq_None_not_Some. intros Hx%Hcells'%Hcells. rewrite Ev in Hx. by destruct Hx. }
  subst t'. split; [done|]. by apply (map_union_cancel_l w w' t).
Qed.

Lemma frame_memory_rep_state s s' (d : mem) : frame_memory_rep s d -> frame_memory_rep s' d -> s = s'.
Proof.
  intros (Hp & t & w & -> & Hd & Ht & Hw) (Hp' & t' & w' & E & Hd' & Ht' & Hw').
  destruct (table_part s s' t w t' w' Ht Hw Ht' Hw' Hd Hd' E) as [<- <-].
  assert (Etab : table s = table s') by (by eapply frame_rep_state).
  destruct s as [tab pr], s' as [tab' pr']. simpl in *. subst tab'. f_equal.
  destruct Hw as [_ Hw], Hw' as [_ Hw']. simpl in *. apply set_eq. intros f. split; intros Hin.
  - pose proof (Hp f Hin) as Ho. simpl in Ho. specialize (Hw f Ho). specialize (Hw' f Ho). rewrite Hw in Hw'.
    destruct (decide (f ∈ pr)); [|done]. by destruct (decide (f ∈ pr')).
  - pose proof (Hp' f Hin) as Ho. simpl in Ho. specialize (Hw f Ho). specialize (Hw' f Ho). rewrite Hw in Hw'.
    destruct (decide (f ∈ pr')); [|done]. by destruct (decide (f ∈ pr)).
Qed.

(** ** Frame memory and owned frames together *)
Definition owned_frames_cells (h : owned_frames) (x : cell) : Prop := exists f i, x = frame_word f i /\ word_index i /\ is_Some (h !! f).

Definition owned_frame_values (h : owned_frames) (u : mem) : Prop :=
  forall f w i, h !! f = Some (Some w) -> word_index i -> u !! frame_word f i = Some (word_of w i).
Definition private_values (s : frame_memory) (u : mem) : Prop :=
  forall f, is_Some (owners (table s) !! f) -> u !! private_cell f = Some (if decide (f ∈ private s) then 1 else 0).

(** [together s h t u]: the table's cells [t], and the others' [u]. *)
Definition together (s : frame_memory) (h : owned_frames) (t u : mem) : Prop :=
  set_Forall (fun f => is_Some (owners (table s) !! f)) (private s) /\ t ##ₘ u /\ frame_rep (table s) t /\
  (forall x, is_Some (u !! x) <-> frame_memory_cells s x \/ owned_frames_cells h x) /\
  (forall f, words_shared s f -> h !! f = None) /\ private_values s u /\ owned_frame_values h u.

Lemma owned_frames_unlocked_object h f : ~ owned_frames_cells h (private_cell f).
Proof. by intros (g & i & E & _). Qed.
Lemma frame_memory_word s f i : frame_memory_cells s (frame_word f i) <-> word_index i /\ words_shared s f.
Proof.
  split.
  - intros [(g & _ & E)|(g & j & E & H)]; [discriminate E|]. by injection E as -> ->.
  - intros H. right. by exists f, i.
Qed.
Lemma owned_frames_word h f i : owned_frames_cells h (frame_word f i) <-> word_index i /\ is_Some (h !! f).
Proof. split; [intros (g & j & E & H); by injection E as -> ->|]. intros. by exists f, i. Qed.

Lemma together_join s h (dp dh : mem) : frame_memory_rep s dp -> owned_frames_rep h dh -> dp ##ₘ dh ->
  exists t u, dp ∪ dh = t ∪ u /\ together s h t u.
Proof.
  intros (Hp & t & w & -> & Htw & Ht & [Hw Hpv]) [Hh Hhv] [Hd1 Hd2]%map_disjoint_union_l.
  exists t, (w ∪ dh). split; [by rewrite (assoc_L (∪))|].
  split; [done|]. split; [by apply map_disjoint_union_r|]. split; [done|]. split_and!.
  - intros x. rewrite union_cells, Hw. by rewrite Hh.
  - intros f Hf. apply eq_None_not_Some. intros Hs.
    assert (Hi : word_index 0) by (unfold word_index, frame_words; lia).
    assert (H1 : is_Some (w !! frame_word f 0)) by (apply Hw, frame_memory_word; done).
    assert (H2 : is_Some (dh !! frame_word f 0)) by (apply Hh; by exists f, 0).
    destruct H1 as [v1 H1], H2 as [v2 H2]. exact (proj1 (map_disjoint_spec w dh) Hd2 _ _ _ H1 H2).
  - intros f Hf. apply lookup_union_Some_l. by apply Hpv.
  - intros f c i Hf Hi. apply lookup_union_Some_r; [done|]. by apply Hhv.
Qed.

(** Memory in two parts: the cells that [P] names, and the others. *)
Lemma split_cells (P : cell -> Prop) `{forall x, Decision (P x)} (u : mem) : exists a b : mem, u = a ∪ b /\ a ##ₘ b /\
  (forall x v, a !! x = Some v <-> u !! x = Some v /\ ~ P x) /\ (forall x v, b !! x = Some v <-> u !! x = Some v /\ P x).
Proof.
  exists (filter (fun y : cell * Z => ~ P y.1) u), (filter (fun y : cell * Z => P y.1) u).
  assert (Hd : filter (fun y : cell * Z => ~ P y.1) u ##ₘ filter (fun y : cell * Z => P y.1) u).
  { symmetry. apply (map_disjoint_filter_complement (fun y : cell * Z => P y.1)). }
  split_and!; [|done| |].
  - symmetry. etrans; [by apply map_union_comm|]. apply map_filter_union_complement.
  - intros x v. apply (map_filter_lookup_Some (fun y : cell * Z => ~ P y.1)).
  - intros x v. apply (map_filter_lookup_Some (fun y : cell * Z => P y.1)).
Qed.

Definition owned_frame_cell (h : owned_frames) (x : cell) : Prop :=
  x.1.1.1 = "frame"%string /\ x.1.2 = "word"%string /\ word_index x.2 /\ is_Some (h !! x.1.1.2).
Global Instance owned_frame_cell_dec h x : Decision (owned_frame_cell h x).
Proof. unfold owned_frame_cell, word_index. apply _. Qed.
Lemma owned_frame_cell_dom h x : owned_frame_cell h x <-> owned_frames_cells h x.
Proof.
  destruct x as [[[o f] g] i]. unfold owned_frame_cell. simpl. split.
  - intros (-> & -> & Hi & Hs). by exists f, i.
  - intros (f' & i' & E & Hi & Hs). by injection E as -> -> -> ->.
Qed.

Lemma together_split s h (t u : mem) : together s h t u ->
  exists dp dh, t ∪ u = dp ∪ dh /\ dp ##ₘ dh /\ frame_memory_rep s dp /\ owned_frames_rep h dh.
Proof.
  intros (Hp & Htu & Ht & Hu & Hdis & Hpv & Hhv).
  destruct (split_cells (owned_frame_cell h) u) as (a & b & -> & Hab & Ha & Hb).
  apply map_disjoint_union_r in Htu as [Hta Htb].
  exists (t ∪ a), b. split_and!; [by rewrite (assoc_L (∪))|by apply map_disjoint_union_l| |].
  - split; [done|]. exists t, a. split_and!; [done|done|done|]. split.
    + intros x. split.
      * intros [v [Hv Hx]%Ha]. assert (Hs : is_Some ((a ∪ b) !! x)) by (by exists v).
        apply Hu in Hs as [?|Hh]; [done|]. by apply owned_frame_cell_dom in Hh.
      * intros Hx. assert (Hs : is_Some ((a ∪ b) !! x)) by (apply Hu; by left). destruct Hs as [v Hv].
        exists v. apply Ha. split; [done|]. rewrite owned_frame_cell_dom. intros (f & i & -> & Hi & Hf).
        apply frame_memory_word in Hx as [_ Hx]. exact (proj1 (eq_None_not_Some _) (Hdis f Hx) Hf).
    + intros f Hf. apply Ha. split; [by apply Hpv|]. rewrite owned_frame_cell_dom. apply owned_frames_unlocked_object.
  - split.
    + intros x. split.
      * intros [v [Hv Hx]%Hb]. by apply owned_frame_cell_dom.
      * intros Hx. assert (Hs : is_Some ((a ∪ b) !! x)) by (apply Hu; by right). destruct Hs as [v Hv].
        exists v. apply Hb. split; [done|]. by apply owned_frame_cell_dom.
    + intros f c i Hf Hi. apply Hb. split; [by apply Hhv|]. apply owned_frame_cell_dom, owned_frames_word.
      rewrite Hf. split; [done|by eexists].
Qed.
