(** Frames with their contents: the specification of what [LOCK_FRAME] guards, and of the frames a CPU owns.

    The frame table ([Spec.v]) says which frames are free and which processes own the others. Besides, each frame's words
    have an owner. The words of a free frame, and of an allocated one that is not private, are shared ([words_shared]):
    programs and devices may write them at any time, so nothing is known of them. The words of a private frame belong to
    the CPU that allocated it ([owned_frames]): it knows what it wrote, and passes the frame to an object of its own, such as
    a page map, or returns it when it frees the frame. *)
From Ashlar Require Export layers.frame.table.TableRepresentation lang.Builtin.

Record frame_memory := FrameMemory { table : frames; private : gset Z }.
Add Printing Constructor frame_memory.
Global Instance frame_memory_eq_dec : EqDecision frame_memory.
Proof. solve_decision. Defined.

Definition frame_memory_valid (s : frame_memory) : Prop :=
  frame_valid (table s) /\ set_Forall (fun f => is_Some (owners (table s) !! f)) (private s).
Global Instance frame_memory_valid_dec s : Decision (frame_memory_valid s).
Proof. unfold frame_memory_valid. apply _. Defined.

(** Known words of a frame, by number; a word not listed is 0. *)
Definition words : Type := gmap Z Z.
Definition word_of (w : words) (i : Z) : Z := default 0 (w !! i).

(** The private frames that a CPU owns, with their words; of one just taken nothing is known. *)
Notation owned_frames := (gmap Z (option words)).

(** ** What functions of frames do, for a CPU that owns the frames [h] *)
Definition on_table (f : frames -> option (Z * frames)) (s : frame_memory) : option (Z * frame_memory) :=
  match f (table s) with Some (v, t) => Some (v, FrameMemory t (private s)) | None => None end.

(** Takes a free frame, private, for process [p]. *)
Definition frame_memory_take (p : Z) (s : frame_memory) (h : owned_frames) : option (Z * frame_memory * owned_frames) :=
  match frame_take (table s) p with
  | Some (f, t) =>
      if f =? NONE then Some (f, FrameMemory t (private s), h) else Some (f, FrameMemory t ({[f]} ∪ private s), <[f := None]> h)
  | None => None
  end.

(** The words of a private frame become shared. *)
Definition frame_memory_publish (f : Z) (s : frame_memory) (h : owned_frames) : option (Z * frame_memory * owned_frames) :=
  if decide (f ∈ private s) then
    match h !! f with
    | Some _ => Some (0, FrameMemory (table s) (private s ∖ {[f]}), delete f h)
    | None => None
    end
  else None.

(** Process [p] no longer owns frame [f]. The CPU that frees a private frame must own its words. *)
Definition frame_memory_remove (f p : Z) (s : frame_memory) (h : owned_frames) : option (Z * frame_memory * owned_frames) :=
  match frame_remove (table s) f p with
  | Some (v, t) =>
      if decide (f ∈ private s /\ owners t !! f = None) then
        match h !! f with
        | Some _ => Some (v, FrameMemory t (private s ∖ {[f]}), delete f h)
        | None => None
        end
      else Some (v, FrameMemory t (private s), h)
  | None => None
  end.

(** All words of an owned frame are 0 from now on. *)
Definition owned_frames_clear (f : Z) (h : owned_frames) : option (Z * owned_frames) :=
  match h !! f with Some _ => Some (0, <[f := Some ∅]> h) | None => None end.

(** ** Cells *)
Definition private_cell (f : Z) : cell := ("frame_private"%string, f, ""%string, 0).
Definition word_index (i : Z) : Prop := 0 <= i < frame_words.

(** The frame's words are shared: programs and devices may write them. *)
Definition words_shared (s : frame_memory) (f : Z) : Prop :=
  f ∈ free (table s) \/ is_Some (owners (table s) !! f) /\ f ∉ private s.

Definition frame_memory_cells (s : frame_memory) (x : cell) : Prop :=
  (exists f, 0 <= f < NUM_FRAME /\ x = private_cell f) \/ (exists f i, x = frame_word f i /\ word_index i /\ words_shared s f).

(** [frame_memory_rep s d]: the cells of the table, and those of [frame_memory_cells]. *)
Definition frame_memory_words (s : frame_memory) (w : mem) : Prop :=
  (forall x, is_Some (w !! x) <-> frame_memory_cells s x) /\
  (forall f, is_Some (owners (table s) !! f) ->
     w !! private_cell f = Some (if decide (f ∈ private s) then 1 else 0)).
Definition frame_memory_rep (s : frame_memory) (d : mem) : Prop :=
  set_Forall (fun f => is_Some (owners (table s) !! f)) (private s) /\
  exists t w, d = t ∪ w /\ t ##ₘ w /\ frame_rep (table s) t /\ frame_memory_words s w.

Definition owned_frames_rep (h : owned_frames) (d : mem) : Prop :=
  (forall x, is_Some (d !! x) <-> exists f i, x = frame_word f i /\ word_index i /\ is_Some (h !! f)) /\
  (forall f w i, h !! f = Some (Some w) -> word_index i -> d !! frame_word f i = Some (word_of w i)).
