(** Frames: the specification.

    The state says which frames are free, and which processes own each allocated frame; every other frame is reserved. The
    bitmap with its summaries belongs to the representation. A function gives its result and the new state; [None] means
    that its caller broke a requirement. Result codes are those of [abi.h] and [frame.h].

    The words of frames are specified in [FrameMemory.v]. *)
From Ashlar Require Export lang.Constants lang.Semantics layers.frame.Code.

Record frames := Frames {
  free : gset Z;
  owners : gmap Z Z;   (* of each allocated frame: bit p is set iff process p owns it *)
}.
Add Printing Constructor frames.
Global Instance frames_eq_dec : EqDecision frames.
Proof. solve_decision. Defined.

Definition frame_id (f : Z) : bool := (0 <=? f) && (f <? NUM_FRAME).
Definition process_id (p : Z) : bool := (0 <=? p) && (p <? NUM_PROCESS).

(** The owner set with [p] alone; the owners of [f], of none if it is not allocated. *)
Definition only (p : Z) : Z := 2 ^ p.
Definition owners_of (s : frames) (f : Z) : Z := default 0 (owners s !! f).
Definition owns (s : frames) (f p : Z) : bool := Z.testbit (owners_of s f) p.

(** ** What holds of every state: a free frame has no owner, an allocated one has at least one. *)
Definition frame_valid (s : frames) : Prop :=
  set_Forall (fun f => frame_id f = true /\ owners s !! f = None) (free s) /\
  map_Forall (fun f mask => frame_id f = true /\ 0 < mask < 2 ^ NUM_PROCESS) (owners s).
Global Instance frame_valid_dec s : Decision (frame_valid s).
Proof. unfold frame_valid. apply _. Defined.

(** ** The functions *)
Definition frame_initial : frames := Frames ∅ ∅.

(** Start-up: the reserved frames among these become free. *)
Definition frame_make_usable (s : frames) (first count : Z) : option (Z * frames) :=
  if (0 <=? first) && (0 <=? count) && (first + count <=? NUM_FRAME) then
    Some (0, Frames (list_to_set (filter (fun f => owners s !! f = None) (seqZ first count)) ∪ free s) (owners s))
  else None.

(** The highest free frame; -1 if there is none. *)
Definition highest (l : gset Z) : Z := foldr Z.max (-1) (elements l).

(** Takes a free frame for process [p]. *)
Definition frame_take (s : frames) (p : Z) : option (Z * frames) :=
  if process_id p then
    let f := highest (free s) in
    if f =? -1 then Some (NONE, s)
    else Some (f, Frames (free s ∖ {[f]}) (<[f := only p]> (owners s)))
  else None.

Definition frame_add (s : frames) (f p : Z) : option (Z * frames) :=
  if frame_id f && process_id p then
    match owners s !! f with
    | Some mask =>
        if Z.testbit mask p then Some (ERR_BAD_STATE, s)
        else Some (STATUS_OK, Frames (free s) (<[f := Z.lor mask (only p)]> (owners s)))
    | None => Some (ERR_BAD_STATE, s)
    end
  else None.

Definition frame_remove (s : frames) (f p : Z) : option (Z * frames) :=
  if frame_id f && process_id p then
    match owners s !! f with
    | Some mask =>
        if negb (Z.testbit mask p) then Some (ERR_BAD_STATE, s)
        else if mask =? only p then Some (STATUS_OK, Frames ({[f]} ∪ free s) (delete f (owners s)))
        else Some (STATUS_OK, Frames (free s) (<[f := Z.ldiff mask (only p)]> (owners s)))
    | None => Some (ERR_BAD_STATE, s)
    end
  else None.

Definition kind_of (s : frames) (f : Z) : Z :=
  if decide (f ∈ free s) then FRAME_FREE
  else if decide (is_Some (owners s !! f)) then FRAME_ALLOCATED else FRAME_RESERVED.

Definition frame_owners (s : frames) (f : Z) : option (Z * frames) :=
  if frame_id f then Some (owners_of s f, s) else None.
Definition frame_state (s : frames) (f : Z) : option (Z * frames) :=
  if frame_id f then Some (kind_of s f, s) else None.
Definition frame_free_count (s : frames) : option (Z * frames) := Some (Z.of_nat (size (free s)), s).

(** ** Cells *)
Definition owner_cell (f : Z) : cell := ("frame_owner"%string, f, ""%string, 0).
Definition kind_cell (f : Z) : cell := ("frame_kind"%string, f, ""%string, 0).
Definition free_cell : cell := ("frame_free"%string, 0, ""%string, 0).
(** Word [i] of level [n] of the bitmap; a level has [map_words n] words. *)
Definition map_object (n : Z) : string :=
  if n =? 0 then "frame_map_0" else if n =? 1 then "frame_map_1" else if n =? 2 then "frame_map_2" else "frame_map_3".
Definition map_cell (n i : Z) : cell := (map_object n, i, ""%string, 0).
Definition map_words (n : Z) : Z := if n =? 0 then 65536 else if n =? 1 then 1024 else if n =? 2 then 16 else 1.

Definition frame_table_cells (x : cell) : Prop :=
  (exists f, 0 <= f < NUM_FRAME /\ (x = owner_cell f \/ x = kind_cell f)) \/ x = free_cell \/
  (exists n i, 0 <= n < 4 /\ 0 <= i < map_words n /\ x = map_cell n i).

(** Bit [b] of a word is set iff one of the frames it stands for is free: at level 0 frame [64 * i + b] itself, at level
    [n] one of 64 ^ n frames. *)
Definition some_free (l : gset Z) (n j : Z) : Prop := exists f, f ∈ l /\ f / 64 ^ n = j.
Definition summarises (l : gset Z) (n i w : Z) : Prop :=
  0 <= w < 2 ^ 64 /\ forall b, 0 <= b < 64 -> Z.testbit w b = true <-> some_free l n (64 * i + b).

Definition frame_rep (s : frames) (d : mem) : Prop :=
  set_Forall (fun f => frame_id f = true /\ owners s !! f = None) (free s) /\
  map_Forall (fun f mask => frame_id f = true /\ mask <> 0) (owners s) /\
  (forall x, is_Some (d !! x) <-> frame_table_cells x) /\
  (forall f, 0 <= f < NUM_FRAME ->
     d !! owner_cell f = Some (owners_of s f) /\ d !! kind_cell f = Some (kind_of s f)) /\
  d !! free_cell = Some (Z.of_nat (size (free s))) /\
  (forall n i, 0 <= n < 4 -> 0 <= i < map_words n ->
     exists w, d !! map_cell n i = Some w /\ summarises (free s) n i w).
