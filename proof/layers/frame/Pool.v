(** Frames with their words: the specification of what [LOCK_FRAME] guards, and of the frames a CPU has in hand.

    The frame table ([Spec.v]) says which frames are free and who owns the others. Besides, each frame's words belong to
    someone. Those of a free frame, and of an allocated one that is not private, are the pool's: programs and devices may
    write them at any time, so nothing is known of them. Those of a private frame are its taker's: a CPU has them in hand
    ([hands]), knows what it wrote, and passes them on with locks of its own, or returns them when it frees the frame. *)
From Ashlar Require Export layers.frame.ProofRep lang.Builtin.

Record pool := Pool { table : frames; private : gset Z }.
Add Printing Constructor pool.
Global Instance pool_eq_dec : EqDecision pool.
Proof. solve_decision. Defined.

Definition pool_valid (s : pool) : Prop :=
  frame_valid (table s) /\ set_Forall (fun f => is_Some (owners (table s) !! f)) (private s).
Global Instance pool_valid_dec s : Decision (pool_valid s).
Proof. unfold pool_valid. apply _. Defined.

(** Known words of a frame, by number; a word not listed is 0. *)
Definition words : Type := gmap Z Z.
Definition word_of (w : words) (i : Z) : Z := default 0 (w !! i).

(** The private frames in a CPU's hands; of one just taken nothing is known. *)
Notation hands := (gmap Z (option words)).

(** ** What functions of frames do, for a CPU with [h] in hand *)
Definition on_table (f : frames -> option (Z * frames)) (s : pool) : option (Z * pool) :=
  match f (table s) with Some (v, t) => Some (v, Pool t (private s)) | None => None end.

(** Takes a free frame, private, for process [p]. *)
Definition pool_take (p : Z) (s : pool) (h : hands) : option (Z * pool * hands) :=
  match frame_take (table s) p with
  | Some (f, t) =>
      if f =? NONE then Some (f, Pool t (private s), h) else Some (f, Pool t ({[f]} ∪ private s), <[f := None]> h)
  | None => None
  end.

(** The words of a private frame become everyone's. *)
Definition pool_publish (f : Z) (s : pool) (h : hands) : option (Z * pool * hands) :=
  if decide (f ∈ private s) then
    match h !! f with
    | Some _ => Some (0, Pool (table s) (private s ∖ {[f]}), delete f h)
    | None => None
    end
  else None.

(** Process [p] no longer owns frame [f]. Who frees a private frame must have it in hand. *)
Definition pool_remove (f p : Z) (s : pool) (h : hands) : option (Z * pool * hands) :=
  match frame_remove (table s) f p with
  | Some (v, t) =>
      if decide (f ∈ private s /\ owners t !! f = None) then
        match h !! f with
        | Some _ => Some (v, Pool t (private s ∖ {[f]}), delete f h)
        | None => None
        end
      else Some (v, Pool t (private s), h)
  | None => None
  end.

(** All words of a frame in hand are 0 from now on. *)
Definition hands_clear (f : Z) (h : hands) : option (Z * hands) :=
  match h !! f with Some _ => Some (0, <[f := Some ∅]> h) | None => None end.

(** ** Cells *)
Definition private_cell (f : Z) : cell := ("frame_private"%string, f, ""%string, 0).
Definition word_index (i : Z) : Prop := 0 <= i < frame_words.

(** The frame's words are the pool's. *)
Definition pooled (s : pool) (f : Z) : Prop :=
  f ∈ free (table s) \/ is_Some (owners (table s) !! f) /\ f ∉ private s.

Definition pool_cells (s : pool) (x : cell) : Prop :=
  (exists f, 0 <= f < NUM_FRAME /\ x = private_cell f) \/ (exists f i, x = frame_word f i /\ word_index i /\ pooled s f).

(** [pool_rep s d]: the cells of the table, and those of [pool_cells]. *)
Definition pool_words (s : pool) (w : mem) : Prop :=
  (forall x, is_Some (w !! x) <-> pool_cells s x) /\
  (forall f, is_Some (owners (table s) !! f) ->
     w !! private_cell f = Some (if decide (f ∈ private s) then 1 else 0)).
Definition pool_rep (s : pool) (d : mem) : Prop :=
  set_Forall (fun f => is_Some (owners (table s) !! f)) (private s) /\
  exists t w, d = t ∪ w /\ t ##ₘ w /\ frame_rep (table s) t /\ pool_words s w.

Definition hands_rep (h : hands) (d : mem) : Prop :=
  (forall x, is_Some (d !! x) <-> exists f i, x = frame_word f i /\ word_index i /\ is_Some (h !! f)) /\
  (forall f w i, h !! f = Some (Some w) -> word_index i -> d !! frame_word f i = Some (word_of w i)).
