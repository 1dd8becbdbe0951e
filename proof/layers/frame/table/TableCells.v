(** The frame table's cells when one frame changes. *)
From Ashlar Require Export layers.frame.table.BitmapCode.
Local Opaque gmap_lookup gmap_partial_alter.

Implicit Types s : frames.

(** ** How many frames are free *)
Lemma frames_below (l : gset Z) n : 0 <= n -> set_Forall (fun f => 0 <= f < n) l -> Z.of_nat (size l) <= n.
Proof.
  intros Hn Hl. assert (l ⊆ list_to_set (seqZ 0 n)) as Hs.
  { intros f Hf. specialize (Hl f Hf). apply elem_of_list_to_set, elem_of_seqZ. cbn beta in Hl. lia. }
  apply subseteq_size in Hs. rewrite size_list_to_set in Hs by apply NoDup_seqZ. rewrite seqZ_length in Hs. lia.
Qed.
Lemma size_add (l : gset Z) f : f ∉ l -> size ({[f]} ∪ l) = S (size l).
Proof. intros Hf. rewrite size_union, size_singleton; [done|]. by apply disjoint_singleton_l. Qed.
Lemma size_drop (l : gset Z) f : f ∈ l -> size l = S (size (l ∖ {[f]})).
Proof.
  intros Hf. rewrite <- (size_add (l ∖ {[f]}) f).
  - f_equal. rewrite (union_difference_L {[f]} l) at 1; [done|]. by apply singleton_subseteq_l.
  - intros [_ H]%elem_of_difference. by apply H, elem_of_singleton.
Qed.

(** ** Parts of the representation *)
Section read.
  Context (s : frames) (d : mem) (Hr : frame_rep s d).
  Lemma rep_range : set_Forall (fun f => 0 <= f < NUM_FRAME) (free s).
  Proof using Hr. intros f Hf. destruct Hr as (H & _). destruct (H f Hf) as [Hid _]. by apply frame_id_true. Qed.
  Lemma rep_map : map_rep (free s) d.
  Proof using Hr. destruct Hr as (_ & _ & _ & _ & _ & H). intros n Hn i Hi. by apply H. Qed.
  Lemma rep_owner f : 0 <= f < NUM_FRAME -> d !! owner_cell f = Some (owners_of s f).
  Proof using Hr. destruct Hr as (_ & _ & _ & H & _). intros Hf. by destruct (H f Hf). Qed.
  Lemma rep_kind f : 0 <= f < NUM_FRAME -> d !! kind_cell f = Some (kind_of s f).
  Proof using Hr. destruct Hr as (_ & _ & _ & H & _). intros Hf. by destruct (H f Hf). Qed.
  Lemma rep_count : d !! free_cell = Some (Z.of_nat (size (free s))).
  Proof using Hr. by destruct Hr as (_ & _ & _ & _ & H & _). Qed.
  Lemma rep_size : Z.of_nat (size (free s)) <= NUM_FRAME.
  Proof using Hr. apply frames_below; [done|exact rep_range]. Qed.
End read.

Ltac not_map :=
  intros (n & i & _ & _ & E); injection E as E _; revert E; unfold map_object; repeat (destruct (_ =? _); [done|]);
  done.
Lemma owner_not_map f : ~ is_map (owner_cell f).
Proof. not_map. Qed.
Lemma kind_not_map f : ~ is_map (kind_cell f).
Proof. not_map. Qed.
Lemma free_not_map : ~ is_map free_cell.
Proof. not_map. Qed.

Lemma map_rep_other l d x v : ~ is_map x -> map_rep l d -> map_rep l (<[x := v]> d).
Proof.
  intros Hx H n Hn i Hi. destruct (H n Hn i Hi) as (w & Hw & Hs). exists w. split; [|done].
  rewrite own_lookup_ne; [done|]. intros ->. apply Hx. by exists n, i.
Qed.

(** ** One frame changes, with what the other cells say. *)
Definition same_cells (d d' : mem) : Prop := forall x, is_Some (d' !! x) <-> is_Some (d !! x).
Definition table_changed (f : Z) (d d' : mem) : Prop :=
  same_cells d d' /\
  forall x, ~ is_map x -> x <> owner_cell f -> x <> kind_cell f -> x <> free_cell -> d' !! x = d !! x.

Lemma table_changed_map f d d' : map_changed d d' -> table_changed f d d'.
Proof. intros [H1 H2]. split; [exact H2|]. intros x Hx _ _ _. auto. Qed.
Lemma table_changed_trans f d d' d'' : table_changed f d d' -> table_changed f d' d'' -> table_changed f d d''.
Proof.
  intros [H1 H2] [H1' H2']. split.
  - intros x. rewrite <- (H1 x). apply H1'.
  - intros x Ha Hb Hc Hd. etrans; [by apply H2'|by apply H2].
Qed.
Lemma table_changed_write f d x v : x = owner_cell f \/ x = kind_cell f \/ x = free_cell -> is_Some (d !! x) ->
  table_changed f d (<[x := v]> d).
Proof.
  intros Hx Hs. split.
  - intros y. split; [by intros [<-|[_ ?]]%lookup_insert_is_Some|apply own_keep].
  - intros y _ Ha Hb Hc. apply own_lookup_ne. intros <-. by destruct Hx as [-> |[-> | ->]].
Qed.

Lemma frame_rep_change s s' f d d' : frame_rep s d -> frame_valid s' -> 0 <= f < NUM_FRAME ->
  (forall g, g <> f -> owners s' !! g = owners s !! g /\ (g ∈ free s' <-> g ∈ free s)) ->
  table_changed f d d' -> map_rep (free s') d' -> d' !! free_cell = Some (Z.of_nat (size (free s'))) ->
  d' !! owner_cell f = Some (owners_of s' f) -> d' !! kind_cell f = Some (kind_of s' f) -> frame_rep s' d'.
Proof.
  intros Hr [Hf Ho] Hid Hg [Hsome Hsame] Hmap Hfree Hown Hkind. split_and!.
  - exact Hf.
  - intros g m Hm. destruct (Ho g m Hm). split; [done|lia].
  - intros x. rewrite (Hsome x). apply Hr.
  - intros g Hgr. destruct (decide (g = f)) as [-> |Hne]; [done|]. destruct (Hg g Hne) as [Eo Ef]. split.
    + rewrite Hsame; [|apply owner_not_map|by intros [= ?]|discriminate|discriminate].
      rewrite (rep_owner _ _ Hr) by done.
      unfold owners_of. by rewrite Eo.
    + rewrite Hsame; [|apply kind_not_map|discriminate|by intros [= ?]|discriminate]. rewrite (rep_kind _ _ Hr) by done.
      unfold kind_of. rewrite Eo. destruct (decide (g ∈ free s)), (decide (g ∈ free s')); tauto.
  - done.
  - intros n i Hn Hi. by apply Hmap.
Qed.

Ltac frame_cells := unfold owner_cell, kind_cell, free_cell in *.

(** A frame becomes free: what [frame_make_usable] and [frame_remove_owner_locked] have in common. *)
Section free.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).

  Definition free_stmt (x : nat) : stmt :=
    Seq (Store "frame_kind" (Var x) "" (Const 0) (Const 1))
    (Seq (Call None "frame_map_insert" [Var x])
         (Store "frame_free" (Const 0) "" (Const 0)
           (Bin W32 Add (Load "frame_free" (Const 0) "" (Const 0)) (Const 1)))).

  Lemma owned_free l f x (Qn Qb : locals -> mem -> Prop) Qr r d : 0 <= f < NUM_FRAME -> nth_error r x = Some f ->
    map_rep l d -> set_Forall (fun f => 0 <= f < NUM_FRAME) l -> f ∉ l ->
    is_Some (d !! kind_cell f) -> d !! free_cell = Some (Z.of_nat (size l)) ->
    (forall d', table_changed f d d' -> map_rep ({[f]} ∪ l) d' ->
       d' !! free_cell = Some (Z.of_nat (size ({[f]} ∪ l))) ->
       d' !! owner_cell f = d !! owner_cell f -> d' !! kind_cell f = Some FRAME_FREE -> Qn r d') ->
    owned kernel_entry M cpu (free_stmt x) Qn Qb Qr r d.
  Proof using HM.
    intros Hf Hx Hmap Hl Hnin Hk Hc HQ. unfold free_stmt. pose proof (frames_below l NUM_FRAME ltac:(done) Hl) as Hsz.
    unfold NUM_FRAME in Hsz.
    step. eapply owned_store; [by apply eval_var|apply eval_const|apply eval_const|exact Hk|].
    change ("frame_kind"%string, f, ""%string, 0) with (kind_cell f). step.
    eapply owned_call_whole.
    { eapply evals_cons; [by apply eval_var|apply evals_nil]. }
    { apply (frame_map_insert_triple kernel_entry M cpu HM l); [done|]. by apply map_rep_other; [apply kind_not_map|]. }
    intros v d1 (-> & Hmap1 & [Hsame Hsome]). cbn [set_result].
    assert (Hc1 : d1 !! free_cell = Some (Z.of_nat (size l))).
    { rewrite Hsame by apply free_not_map. by rewrite own_lookup_ne by discriminate. }
    assert (Hk1 : d1 !! kind_cell f = Some FRAME_FREE).
    { rewrite Hsame by apply kind_not_map. apply own_lookup. }
    assert (Ho1 : d1 !! owner_cell f = d !! owner_cell f).
    { rewrite Hsame by apply owner_not_map. by rewrite own_lookup_ne by discriminate. }
    eapply owned_store with (v := Z.of_nat (size ({[f]} ∪ l))); [apply eval_const..| |by eexists|].
    { eapply eval_bin; [eapply eval_load; [apply eval_const..|exact Hc1]|apply eval_const|]. cbn [binary]. f_equal.
      rewrite size_add by done. rewrite wrap_small by lia. lia. }
    change ("frame_free"%string, 0, ""%string, 0) with free_cell. apply HQ.
    - eapply table_changed_trans; [apply (table_changed_write f _ (kind_cell f)); [by auto|done]|].
      eapply table_changed_trans; [by apply table_changed_map|].
      apply (table_changed_write f _ free_cell); [by auto|by eexists].
    - apply map_rep_other; [apply free_not_map|done].
    - apply own_lookup.
    - by rewrite own_lookup_ne by discriminate.
    - by rewrite own_lookup_ne by discriminate.
  Qed.
End free.
