(** Bounded buffers: the specification.

    A buffer is its words, oldest first, and two condition variables: threads that wait for their turn to write, and to read. Its lock
    guards all of this; its capacity is constant after start-up, so the cell is apart. *)
From Ashlar Require Export layers.cv.Fifo.

Record buffer := Buffer { contents : list Z; writers : list waiter; readers : list waiter }.
Add Printing Constructor buffer.
Definition used (q : list Z) : Z := Z.of_nat (length q).

(** ** The functions *)

(** Is it [self]'s turn, if a buffer that holds [full] words has no room for it, or no word? *)
Definition buffer_turn (s : list waiter) (self held full : Z) : bool :=
  negb (cv_cancelled s self) && (cv_first s =? self) && negb (held =? full).
(** [self] leaves; the next is woken if it can proceed. *)
Definition leave_turn (s : list waiter) (self held full : Z) : list waiter :=
  let s := cv_leave s self in if held =? full then s else cv_wake_first s.
(** Who is woken when the first of [s] is. *)
Definition first_woken (s : list waiter) : list Z := if first_blocked s then [cv_first s] else [].
Definition leave_woken (s : list waiter) (self held full : Z) : list Z :=
  if held =? full then [] else first_woken (cv_leave s self).

(** The words and readers, the result, and the threads that are woken, when a writer that waits is through. *)
Definition buffer_end_insert (x : buffer) (cap self word : Z) : Z * buffer * list Z :=
  let mine := buffer_turn (writers x) self (used (contents x)) cap in
  let q := if mine then contents x ++ [word] else contents x in
  (if mine then STATUS_OK else ERR_CANCELLED,
   Buffer q (leave_turn (writers x) self (used q) cap) (if mine then cv_wake_first (readers x) else readers x),
   (if mine then first_woken (readers x) else []) ++ leave_woken (writers x) self (used q) cap).
(** When a reader is. *)
Definition buffer_end_remove (x : buffer) (self : Z) : Z * buffer * list Z :=
  let mine := buffer_turn (readers x) self (used (contents x)) 0 in
  let q := if mine then tail (contents x) else contents x in
  (if mine then STATUS_OK else ERR_CANCELLED,
   Buffer q (if mine then cv_wake_first (writers x) else writers x) (leave_turn (readers x) self (used q) 0),
   (if mine then first_woken (writers x) else []) ++ leave_woken (readers x) self (used q) 0).

(** What the reader has taken; [old] if nothing. *)
Definition buffer_taken (x : buffer) (self old : Z) : Z :=
  if buffer_turn (readers x) self (used (contents x)) 0 then first_or 0 (contents x) else old.

(** ** Cells *)
Definition slot (b i : Z) : cell := ("buffer"%string, b, "words"%string, i).
Definition oldest_cell (b : Z) : cell := field_cell "buffer" b "oldest".
Definition used_cell (b : Z) : cell := field_cell "buffer" b "used".
Definition capacity_cell (b : Z) : cell := field_cell "buffer" b "capacity".
Definition ring_cells (b : Z) : list cell := oldest_cell b :: used_cell b :: (slot b <$> seqZ 0 BUFFER_CAPACITY).

(** The words stand in a ring of [cap] slots, from some slot on. *)
Definition ring_rep (b cap : Z) (q : list Z) (d : mem) : Prop :=
  0 < cap <= BUFFER_CAPACITY /\ used q <= cap /\ has_cells (ring_cells b) d /\
  exists first, 0 <= first < cap /\ d !! oldest_cell b = Some first /\ d !! used_cell b = Some (used q) /\
    forall i v, q !! i = Some v -> d !! slot b ((first + Z.of_nat i) mod cap) = Some v.
Definition capacity_is (b cap : Z) (d : mem) : Prop := has_cells [capacity_cell b] d /\ d !! capacity_cell b = Some cap.
(** What the lock of buffer [b] guards. *)
Definition buffer_rep (b cap : Z) (x : buffer) : mem -> Prop :=
  ring_rep b cap (contents x) ∗ cv_rep (2 * b) (writers x) ∗ cv_rep (2 * b + 1) (readers x).
(** The word that thread [t] has taken. *)
Definition taken_cell (t : Z) : cell := field_cell "buffer_taken" t "word".
Definition has_taken (t v : Z) (d : mem) : Prop := has_cells [taken_cell t] d /\ d !! taken_cell t = Some v.

(** ** What follows: first in, first out *)

(** Whose turn it is has none ahead, and the buffer can take a word of it, or has one. *)
Theorem buffer_turn_first s self held full : self ∈ threads s -> buffer_turn s self held full = true ->
  ahead self (threads s) = [] /\ held <> full.
Proof.
  unfold buffer_turn. intros Hin [[_ Hf%Z.eqb_eq]%andb_true_iff Hn%negb_true_iff%Z.eqb_neq]%andb_true_iff. split; [by apply cv_turn|done].
Qed.
(** A word that is inserted comes after all that are there; the one that is removed was there longest. *)
Theorem buffer_insert_last x cap self word x' l : buffer_end_insert x cap self word = (STATUS_OK, x', l) -> contents x' = contents x ++ [word].
Proof. unfold buffer_end_insert. destruct (buffer_turn _ _ _ _); [|done]. by intros [= <- _]. Qed.
Theorem buffer_remove_first x self old x' l : buffer_end_remove x self = (STATUS_OK, x', l) -> contents x = buffer_taken x self old :: contents x'.
Proof.
  unfold buffer_end_remove, buffer_taken. destruct (buffer_turn _ _ _ _) eqn:E; [|done]. intros [= <- _]. unfold buffer_turn in E.
  destruct (contents x) as [|v q]; [by rewrite andb_false_r in E|done].
Qed.
(** A wait that was cancelled changes no word. *)
Theorem buffer_cancelled_keeps x cap self word x' l : buffer_end_insert x cap self word = (ERR_CANCELLED, x', l) \/
  buffer_end_remove x self = (ERR_CANCELLED, x', l) -> contents x' = contents x.
Proof.
  unfold buffer_end_insert, buffer_end_remove. intros [H|H]; destruct (buffer_turn _ _ _ _) in H; try done; by injection H as <- _.
Qed.
