(** Condition variables: the specification.

    The state of a variable is its waiters, from first to last. A variable's cells are its own: those of its queue, and the links and
    marks of its waiters. A thread that waits in no variable has its cells to itself; with [cv_join] it gives links and marks to the
    variable, and gets them back with [cv_leave]. One cell stays with the thread: in which variable it waits. Only the thread writes it,
    so its processor reads it without the lock that guards the variable ([cv_of]). *)
From Ashlar Require Export lang.logic.Structs lang.logic.Parts layers.queue.Links.

Record waiter := Waiter {
  thread : Z;
  blocked : bool;   (* from [cv_prepare_wait] until it is woken *)
  cancelled : bool; (* its wait was cancelled *)
}.
Add Printing Constructor waiter.
Definition threads (s : list waiter) : list Z := thread <$> s.

(** ** The functions: the waiters before, and those afterwards *)

(** The waiter that is thread [t] is changed by [f]. *)
Definition change (f : waiter -> waiter) (t : Z) (s : list waiter) : list waiter := (fun w => if thread w =? t then f w else w) <$> s.
Definition block (w : waiter) : waiter := Waiter (thread w) true (cancelled w).
Definition unblock (w : waiter) : waiter := Waiter (thread w) false (cancelled w).
Definition cancel (w : waiter) : waiter := Waiter (thread w) (blocked w) true.

Definition cv_join (s : list waiter) (t : Z) : list waiter := s ++ [Waiter t false false].
Definition cv_first (s : list waiter) : Z := first_or NONE (threads s).
Definition cv_prepare_wait (s : list waiter) (t : Z) : list waiter := change block t s.
Definition cv_wake (s : list waiter) (t : Z) : list waiter := change unblock t s.
Definition cv_wake_first (s : list waiter) : list waiter := match s with [] => [] | w :: s => unblock w :: s end.
Definition cv_cancel (s : list waiter) (t : Z) : list waiter := change (fun w => unblock (cancel w)) t s.
Definition cv_leave (s : list waiter) (t : Z) : list waiter := filter (fun w => thread w <> t) s.
Definition cv_cancelled (s : list waiter) (t : Z) : bool := existsb (fun w => (thread w =? t) && cancelled w) s.
(** Is [t] blocked, is the first? *)
Definition cv_blocked (s : list waiter) (t : Z) : bool := existsb (fun w => (thread w =? t) && blocked w) s.
Definition first_blocked (s : list waiter) : bool := match s with [] => false | w :: _ => blocked w end.

(** ** What holds of every state: waiters are threads, each once *)
Definition cv_valid (s : list waiter) : Prop := NoDup (threads s) /\ Forall (fun t => 0 <= t < NUM_THREAD) (threads s).

(** ** Cells *)

(** The thread that comes before [t], or [NONE]: the one after it if the list is read backwards. *)
Definition before (t : Z) (l : list Z) : Z := after t (reverse l).

Definition links (next previous : Z) (w : waiter) : list (string * Z) :=
  [("next", next); ("previous", previous); ("blocked", Z.b2z (blocked w)); ("cancelled", Z.b2z (cancelled w))]%string.
Definition heads (first last : Z) : list (string * Z) := [("first", first); ("last", last)]%string.
Definition link_names : list string := ["next"; "previous"; "blocked"; "cancelled"]%string.
Definition head_names : list string := ["first"; "last"]%string.

(** Where thread [t] waits; its links and marks; the cells of variable [cv] while the threads [l] wait in it. *)
Definition place (t : Z) : cell := field_cell "cv_waiter" t "cv".
Definition link_cells (t : Z) : list cell := field_cell "cv_waiter" t <$> link_names.
Definition head_cells (cv : Z) : list cell := field_cell "cv_queue" cv <$> head_names.
Definition cv_cells (cv : Z) (l : list Z) : list cell := head_cells cv ++ (l ≫= link_cells).

(** What they contain: a doubly linked list. *)
Definition cv_contents (cv : Z) (s : list waiter) (d : mem) : Prop :=
  holds "cv_queue" cv (heads (first_or NONE (threads s)) (last_or NONE (threads s))) d /\
  forall w, w ∈ s -> holds "cv_waiter" (thread w) (links (after (thread w) (threads s)) (before (thread w) (threads s)) w) d.
(** Variable [cv], its waiters being [s]. *)
Definition cv_rep (cv : Z) (s : list waiter) (d : mem) : Prop := cv_valid s /\ has_cells (cv_cells cv (threads s)) d /\ cv_contents cv s d.

(** Thread [t], while it waits in variable [cv]: the rest of its cells is the variable's. *)
Definition waits_in (t cv : Z) (d : mem) : Prop := has_cells [place t] d /\ d !! place t = Some cv.
(** While it waits in none; [b] is what is left of whether it was blocked. *)
Definition waits_nowhere (t : Z) (b : bool) (d : mem) : Prop :=
  has_cells (place t :: link_cells t) d /\ d !! place t = Some NONE /\ holds "cv_waiter" t (links NONE NONE (Waiter t b false)) d.

(** After start-up no thread waits; before it, the cells contain anything. *)
Definition all_cells (x : cell) : Prop :=
  (exists cv, 0 <= cv < NUM_CV /\ x ∈ head_cells cv) \/ (exists t, 0 <= t < NUM_THREAD /\ x ∈ place t :: link_cells t).
Definition cv_initial (d : mem) : Prop :=
  exactly all_cells d /\ (forall cv, 0 <= cv < NUM_CV -> cv_rep cv [] (restrict (cv_cells cv []) d)) /\
  (forall t, 0 <= t < NUM_THREAD -> waits_nowhere t false (restrict (place t :: link_cells t) d)).
