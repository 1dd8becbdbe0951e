(** The system that the witnesses run: 1,000 frames are free, and the root container may use them all. *)
From Ashlar Require Export layers.Stack.

Definition no_entry (_ : Z) : Z := 0.
Definition root_frames : Z := 1000.
Definition frames_free : frame_memory := FrameMemory (Frames (list_to_set (seqZ 256 root_frames)) ∅) ∅.

Lemma root_frames_word : 0 <= root_frames < 2 ^ 32.
Proof. done. Qed.
Lemma frames_free_valid : frame_memory_valid frames_free.
Proof.
  split; [split|].
  - intros f Hf. cbn [table free frames_free] in Hf. rewrite elem_of_list_to_set, elem_of_seqZ in Hf.
    split; [|apply lookup_empty].
    apply frame_id_true. unfold NUM_FRAME, root_frames in *. lia.
  - intros f m Hm. cbn [table owners frames_free] in Hm. by rewrite lookup_empty in Hm.
  - intros f Hf. by apply not_elem_of_empty in Hf.
Qed.
