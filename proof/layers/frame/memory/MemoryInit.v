(** Start-up of frames with their words: [frame_init] makes frame memory without any frame, [frame_make_usable] turns
    reserved frames, whose words start-up owns, into free ones whose words are shared. *)
From Ashlar Require Export layers.frame.memory.MemoryRepresentation layers.frame.table.Init layers.frame.table.MakeUsable.
Local Opaque gmap_lookup gmap_partial_alter.

Implicit Types s : frames.

Definition frame_memory_initial : frame_memory := FrameMemory frame_initial ∅.

(** The cells of the table and of [frame_private]. *)
Definition private_cells (x : cell) : Prop := exists f, 0 <= f < NUM_FRAME /\ x = private_cell f.
Definition is_private (x : cell) : Prop := x.1.1.1 = "frame_private"%string.

Lemma private_not_table x : frame_table_cells x -> ~ is_private x.
Proof.
  unfold is_private. intros [(f & _ & [-> | ->])|[->|(n & i & _ & _ & ->)]]; try done.
  unfold map_cell, map_object. simpl. by repeat (destruct (_ =? _); [done|]).
Qed.

(** The words of these frames. *)
Definition words_of (P : Z -> Prop) (x : cell) : Prop := exists f i, x = frame_word f i /\ word_index i /\ P f.

Lemma frame_memory_initial_valid : frame_memory_valid frame_memory_initial.
Proof. split; [apply frame_initial_valid|]. by intros f Hf%not_elem_of_empty. Qed.
Lemma make_usable_valid (s : frame_memory) first count v t :
  frame_memory_valid s -> frame_make_usable (table s) first count = Some (v, t) -> frame_memory_valid (FrameMemory t (private s)).
Proof.
  intros [HV Hp] H. split; [by eapply frame_make_usable_valid|]. intros f Hf. unfold frame_make_usable in H.
  destruct (_ && _); [|done]. injection H as _ <-. by apply Hp.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Theorem frame_init_memory_triple d : exactly (fun x => frame_table_cells x \/ private_cells x) d ->
    triple "frame_init" [] d (fun v d' => v = 0 /\ frame_memory_rep frame_memory_initial d').
  Proof using HM.
    intros Hx. destruct (split_cells is_private d) as (t & w & -> & Hd & Ht & Hw).
    eapply triple_mono; [|apply triple_frame; [exact Hd|apply (frame_init_triple kernel_entry M cpu HM)]].
    - cbn beta. intros v d' (t' & [-> Ht'] & Hd' & ->). split; [done|]. split; [by intros f Hf%not_elem_of_empty|].
      exists t', w. split; [done|]. split; [done|]. split; [done|]. split.
      + intros x. split.
        * intros [u Hu]. apply Hw in Hu as [Hu Hp]. left.
          destruct (proj1 (Hx x) (ex_intro _ u Hu)) as [H|H]; [by destruct (private_not_table x H)|done].
        * intros [(f & Hf & ->)|(f & i & -> & _ & [Hin|[[m Hm] _]])].
          -- destruct (proj2 (Hx (private_cell f))) as [u Hu]; [right; by exists f|]. exists u. by apply Hw.
          -- exfalso. simpl in Hin. revert Hin. apply not_elem_of_empty.
          -- exfalso. simpl in Hm. rewrite lookup_empty in Hm. done.
      + intros f [m Hm]. simpl in Hm. rewrite lookup_empty in Hm. done.
    - intros x. split.
      + intros [u Hu]. apply Ht in Hu as [Hu Hp].
        destruct (proj1 (Hx x) (ex_intro _ u Hu)) as [H|(f & _ & ->)]; [done|]. by destruct Hp.
      + intros H. destruct (proj2 (Hx x)) as [u Hu]; [by left|]. exists u. apply Ht.
        split; [done|by apply private_not_table].
  Qed.

  (** The frames that are going to be freed. *)
  Definition becomes_free (s : frames) (first count f : Z) : Prop :=
    first <= f < first + count /\ owners s !! f = None /\ f ∉ free s.

  Theorem frame_make_usable_memory_triple (s : frame_memory) d w first count v t :
    frame_memory_rep s d -> frame_memory_valid s -> frame_make_usable (table s) first count = Some (v, t) ->
    exactly (words_of (becomes_free (table s) first count)) w -> d ##ₘ w ->
    triple "frame_make_usable" [first; count] (d ∪ w) (fun u d' => u = v /\ frame_memory_rep (FrameMemory t (private s)) d').
  Proof using HM.
    intros (Hp & t0 & u & -> & Htu & Ht0 & [Hu Hpv]) [HV _] H Hw Hd.
    assert (Et : t = usable_until (table s) first count).
    { unfold frame_make_usable in H. destruct (_ && _); [|done]. by injection H as _ <-. }
    assert (Hcount : 0 <= count) by (unfold frame_make_usable in H; destruct (_ && _) eqn:E; [lia|done]).
    apply map_disjoint_union_l in Hd as [Hd1 Hd2]. rewrite <- (assoc_L (∪)).
    eapply triple_mono; [|apply triple_frame; [by apply map_disjoint_union_r|
      by eapply (frame_make_usable_triple kernel_entry M cpu HM (table s))]].
    cbn beta. intros x d' (t' & [-> Ht'] & Hd' & ->). split; [done|].
    assert (Eo : owners t = owners (table s)) by (by subst t).
    split; [intros f Hf; simpl; rewrite Eo; by apply Hp|].
    exists t', (u ∪ w). split; [done|]. split; [done|]. split; [done|]. split.
    - intros y. rewrite union_cells, Hu, (Hw y). split.
      + intros [[?|(f & i & -> & Hi & Hf)]|(f & i & -> & Hi & Hr & Ho & Hn)]; [by left| |].
        * right. exists f, i. split; [done|]. split; [done|].
          destruct Hf as [Hf|Hf]; [left|right; simpl; by rewrite Eo].
          subst t. simpl. apply usable_free; [done|by right].
        * right. exists f, i. split; [done|]. split; [done|]. left. subst t. simpl. apply usable_free; [done|by left].
      + intros [?|(f & i & -> & Hi & Hf)]; [left; by left|].
        destruct (decide (words_shared s f)) as [Hs|Hs]; [left; right; by exists f, i|]. right. exists f, i.
        split; [done|]. split; [done|]. destruct Hf as [Hf|Hf].
        * subst t. simpl in Hf. apply usable_free in Hf as [[? ?]|Hf]; [|destruct Hs; by left|done].
          split; [done|]. split; [done|]. intros Hin. destruct Hs; by left.
        * simpl in Hf. rewrite Eo in Hf. destruct Hs; by right.
    - intros f Hf. simpl in *. rewrite Eo in Hf. apply lookup_union_Some_l. by apply Hpv.
  Qed.
End proof.
