(** Queues of threads: lists.

    The state is what one owner holds: some queues, each a list of threads from first to last, and some threads that are
    in no queue. Which queues and threads these are differs from owner to owner (a CPU's ready queues, the queue that a
    lock guards); a thread that moves from one owner's queue to another's is in no queue in between.

    A specification function gives the result first and [None] where the caller breaks its requirement. *)
From Ashlar Require Export lang.logic.Triple lang.Constants.

Record queue_state := QueueState { queue_lists : gmap Z (list Z); queue_free : gset Z }.
Add Printing Constructor queue_state.

(** ** The ends of a list *)

(** The first thread of [l], or [n] if there is none; the last, or [p]. *)
Definition first_or (n : Z) (l : list Z) : Z := match l with [] => n | t :: _ => t end.
Fixpoint last_or (p : Z) (l : list Z) : Z := match l with [] => p | t :: l => last_or t l end.

(** ** What holds of every state *)

Definition queue_thread_ok (s : queue_state) (t : Z) : Prop := 0 <= t < NUM_THREAD /\ t ∉ queue_free s.

(** Ids are in range; no thread is twice in a queue, in two queues, or both queued and free. *)
Definition queue_valid (s : queue_state) : Prop :=
  map_Forall (fun q l => 0 <= q < NUM_QUEUE /\ NoDup l /\ Forall (queue_thread_ok s) l /\
    map_Forall (fun q' l' => q' = q \/ Forall (fun t => t ∉ l') l) (queue_lists s)) (queue_lists s) /\
  set_Forall (fun t => 0 <= t < NUM_THREAD) (queue_free s).
Global Instance queue_thread_ok_dec s t : Decision (queue_thread_ok s t).
Proof. unfold queue_thread_ok. apply _. Defined.
Global Instance queue_valid_dec s : Decision (queue_valid s).
Proof. unfold queue_valid. apply _. Defined.

(** ** The functions *)

(** The queue that holds [t], with its threads. *)
Definition queue_holding (s : queue_state) (t : Z) : option (Z * list Z) :=
  List.find (fun e => bool_decide (t ∈ e.2)) (map_to_list (queue_lists s)).

Definition queue_put (s : queue_state) (q : Z) (l : list Z) (t : Z) : queue_state :=
  QueueState (<[q := l]> (queue_lists s)) (queue_free s ∖ {[t]}).
Definition queue_drop (s : queue_state) (q : Z) (l : list Z) (t : Z) : queue_state :=
  QueueState (<[q := l]> (queue_lists s)) ({[t]} ∪ queue_free s).

Definition queue_enqueue (s : queue_state) (q t : Z) : option (Z * queue_state) :=
  match queue_lists s !! q with
  | Some l => if bool_decide (t ∈ queue_free s) then Some (0, queue_put s q (l ++ [t]) t) else None
  | None => None
  end.

Definition queue_enqueue_head (s : queue_state) (q t : Z) : option (Z * queue_state) :=
  match queue_lists s !! q with
  | Some l => if bool_decide (t ∈ queue_free s) then Some (0, queue_put s q (t :: l) t) else None
  | None => None
  end.

Fixpoint insert_before (t before : Z) (l : list Z) : list Z :=
  match l with
  | [] => []
  | u :: l' => if u =? before then t :: l else u :: insert_before t before l'
  end.
Definition queue_insert_before (s : queue_state) (q t before : Z) : option (Z * queue_state) :=
  match queue_lists s !! q with
  | Some l =>
      if bool_decide (t ∈ queue_free s) && bool_decide (before ∈ l)
      then Some (0, queue_put s q (insert_before t before l) t) else None
  | None => None
  end.

Definition queue_dequeue (s : queue_state) (q : Z) : option (Z * queue_state) :=
  match queue_lists s !! q with
  | Some [] => Some (NONE, s)
  | Some (t :: l) => Some (t, queue_drop s q l t)
  | None => None
  end.

Fixpoint without (t : Z) (l : list Z) : list Z :=
  match l with
  | [] => []
  | u :: l => if u =? t then l else u :: without t l
  end.
Definition queue_remove (s : queue_state) (t : Z) : option (Z * queue_state) :=
  match queue_holding s t with
  | Some (q, l) => Some (0, queue_drop s q (without t l) t)
  | None => None
  end.

Definition queue_peek (s : queue_state) (q : Z) : option (Z * queue_state) :=
  match queue_lists s !! q with Some l => Some (first_or NONE l, s) | None => None end.

Fixpoint after (t : Z) (l : list Z) : Z :=
  match l with
  | [] => NONE
  | u :: l => if u =? t then first_or NONE l else after t l
  end.
Definition queue_next (s : queue_state) (t : Z) : option (Z * queue_state) :=
  match queue_holding s t with
  | Some (_, l) => Some (after t l, s)
  | None => if bool_decide (t ∈ queue_free s) then Some (NONE, s) else None
  end.

Definition queue_of (s : queue_state) (t : Z) : option (Z * queue_state) :=
  match queue_holding s t with
  | Some (q, _) => Some (q, s)
  | None => if bool_decide (t ∈ queue_free s) then Some (NONE, s) else None
  end.

(** After start-up one CPU holds all queues, empty, and all threads. *)
Definition queue_initial : queue_state :=
  QueueState (list_to_map ((fun q => (q, [])) <$> seqZ 0 NUM_QUEUE)) (list_to_set (seqZ 0 NUM_THREAD)).

(** ** Representation *)

Definition queue_first (q : Z) : cell := ("queue"%string, q, "first"%string, 0).
Definition queue_last (q : Z) : cell := ("queue"%string, q, "last"%string, 0).
Definition node_queue (t : Z) : cell := ("queue_node"%string, t, "queue"%string, 0).
Definition node_next (t : Z) : cell := ("queue_node"%string, t, "next"%string, 0).
Definition node_previous (t : Z) : cell := ("queue_node"%string, t, "previous"%string, 0).

Definition queue_owns (s : queue_state) (t : Z) : Prop :=
  t ∈ queue_free s \/ exists q l, queue_lists s !! q = Some l /\ t ∈ l.

(** The cells of a state: two of each queue, three of each thread. *)
Definition queue_cells (s : queue_state) (x : cell) : Prop :=
  (exists q, is_Some (queue_lists s !! q) /\ (x = queue_first q \/ x = queue_last q)) \/
  (exists t, queue_owns s t /\ (x = node_queue t \/ x = node_next t \/ x = node_previous t)).

Definition node_is (d : mem) (t q previous next : Z) : Prop :=
  d !! node_queue t = Some q /\ d !! node_previous t = Some previous /\ d !! node_next t = Some next.

(** The threads [l] are linked in this order; [p] stands before them and [n] after them. *)
Fixpoint chain (d : mem) (q p : Z) (l : list Z) (n : Z) : Prop :=
  match l with
  | [] => True
  | t :: l => node_is d t q p (first_or n l) /\ chain d q t l n
  end.

Definition queue_is (d : mem) (q : Z) (l : list Z) : Prop :=
  d !! queue_first q = Some (first_or NONE l) /\ d !! queue_last q = Some (last_or NONE l) /\ chain d q NONE l NONE.

Definition queue_rep (s : queue_state) (d : mem) : Prop :=
  queue_valid s /\ exactly (queue_cells s) d /\
  (forall q l, queue_lists s !! q = Some l -> queue_is d q l) /\
  (forall t, t ∈ queue_free s -> node_is d t NONE NONE NONE).
