(** Notifications: the specification.

    The state of a notification is a word of bits, the threads that wait, first to last, the processor that runs a guest until a bit is
    set, and whether its owner lives. A thread that waits gives the notification what a waker needs: its node in queues, its saved
    [rax] and [rdi], and the mark in its record that says that it waits. The waker gets them with the thread. One cell stays with the
    thread: which notification it waits for, or did last; only the thread writes it, so its processor reads it without the lock. *)
From Ashlar Require Export lang.logic.Structs layers.queue.Nodes machine.threads.ThreadRecords layers.thread.Code.

Record notification := Notification { pending : Z; waiters : list Z; watcher : Z; opened : bool }.
Add Printing Constructor notification.

(** ** The functions: the notification before, and that afterwards *)
Definition set_pending (b : Z) (x : notification) : notification := Notification b (waiters x) (watcher x) (opened x).
Definition set_waiters (l : list Z) (x : notification) : notification := Notification (pending x) l (watcher x) (opened x).
Definition set_watcher (c : Z) (x : notification) : notification := Notification (pending x) (waiters x) c (opened x).

Definition notify_first (x : notification) : Z := first_or NONE (waiters x).
Definition notify_served (x : notification) : notification := set_waiters (tail (waiters x)) x.
Definition notify_joined (x : notification) (t : Z) : notification := set_waiters (waiters x ++ [t]) x.
Definition notify_ended (x : notification) (t : Z) : notification := set_waiters (without t (waiters x)) x.
Definition notify_taken (x : notification) : notification := set_pending 0 x.
(** Bits for which no thread waits. *)
Definition notify_kept (x : notification) (b : Z) : notification := if opened x then set_pending (Z.lor (pending x) b) x else x.
(** The first waiter gets all bits. *)
Definition notify_signalled (x : notification) (b : Z) : notification :=
  match waiters x with [] => notify_kept x b | _ :: _ => notify_served x end.
(** Does a signal that no thread waits for interrupt the watching processor, if [cpu] sends it? *)
Definition interrupts (x : notification) (cpu : Z) : bool := opened x && negb (watcher x =? NONE) && negb (watcher x =? cpu).
Definition is_pending (x : notification) : bool := negb (pending x =? 0).
(** A life begins or ends. *)
Definition notify_reborn (x : notification) (o : bool) : notification := Notification 0 (waiters x) NONE o.

(** Before the first life. *)
Definition notify_new : notification := Notification 0 [] NONE false.

(** ** What holds of every state: where a thread waits no bit is set, and a closed notification keeps none *)
Definition notify_valid (x : notification) : Prop := (waiters x <> [] -> pending x = 0) /\ (opened x = false -> pending x = 0).

Theorem notify_new_valid : notify_valid notify_new.
Proof. done. Qed.
Theorem notify_served_valid x : notify_valid x -> notify_valid (notify_served x).
Proof. intros [H1 H2]. split; [|exact H2]. cbn. intros Hl. apply H1. by destruct (waiters x). Qed.
Theorem notify_joined_valid x t : notify_valid x -> pending x = 0 -> notify_valid (notify_joined x t).
Proof. by intros [_ H2] H. Qed.
Theorem notify_ended_valid x t : notify_valid x -> notify_valid (notify_ended x t).
Proof. intros [H1 H2]. split; [|exact H2]. cbn. intros Hl. apply H1. by destruct (waiters x). Qed.
Theorem notify_taken_valid x : notify_valid x -> notify_valid (notify_taken x).
Proof. done. Qed.
Theorem notify_signalled_valid x b : notify_valid x -> notify_valid (notify_signalled x b).
Proof.
  intros Hv. unfold notify_signalled, notify_kept. destruct (waiters x) eqn:El; [|by apply notify_served_valid].
  destruct (opened x) eqn:Eo; [|done]. split; cbn; [by rewrite El|by rewrite Eo].
Qed.
Theorem notify_watcher_valid x c : notify_valid x -> notify_valid (set_watcher c x).
Proof. done. Qed.
Theorem notify_reborn_valid x o : notify_valid (notify_reborn x o).
Proof. done. Qed.

(** ** Cells *)

(** Some fields of notification [n], which are all that this part of memory has. *)
Definition fields_are (n : Z) (l : list (string * Z)) (d : mem) : Prop := has_cells (field_cell "notification" n <$> l.*1) d /\ holds "notification" n l d.
Definition fields (x : notification) : list (string * Z) :=
  [("bits", pending x); ("waiter", notify_first x); ("waiters", Z.of_nat (length (tail (waiters x)))); ("watcher", watcher x);
    ("open", Z.b2z (opened x))]%string.
Definition owner_is (n owner : Z) : mem -> Prop := fields_are n [("owner"%string, owner)].

(** The first waiter stands in the notification, the others in a queue. *)
Definition queue_id (n : Z) : Z := QUEUE_NOTIFICATION_BASE + n.
Definition line (n : Z) (l : list Z) : queue_state :=
  QueueState {[queue_id n := tail l]} (match l with [] => ∅ | t :: _ => {[t]} end).

Definition wait_kind (t : Z) : cell := field_cell "thread" t "wait_kind".
Definition wait_object (t : Z) : cell := field_cell "thread" t "wait_object".
(** What thread [t] gives while it waits: [kind] is what its record says, and the registers are the saved ones. *)
Definition wait_state (t kind rax rdi : Z) (d : mem) : Prop :=
  has_cells [wait_kind t; register_cell t UCTX_RAX; register_cell t UCTX_RDI] d /\
  d !! wait_kind t = Some kind /\ d !! register_cell t UCTX_RAX = Some rax /\ d !! register_cell t UCTX_RDI = Some rdi.
Definition waits (saved : Z -> Z) (t : Z) (d : mem) : Prop := exists rax, wait_state t WAIT_NOTIFICATION rax (saved t) d.
(** With its node, when its wait is over. *)
Definition woken (t status rdi : Z) : mem -> Prop := wait_state t WAIT_NONE status rdi ∗ free_node t.

Fixpoint each (P : Z -> mem -> Prop) (l : list Z) : mem -> Prop := match l with [] => eq ∅ | t :: l => P t ∗ each P l end.

(** What the lock of notification [n] guards, in state [x]; thread [t] has [saved t] in its [rdi] while it waits. *)
Definition notify_rep (n : Z) (saved : Z -> Z) (x : notification) (d : mem) : Prop :=
  notify_valid x /\ (fields_are n (fields x) ∗ queue_rep (line n (waiters x)) ∗ each (waits saved) (waiters x)) d.

(** After start-up no notification is defined; before it, the cells contain anything. *)
Definition field_names : list string := "owner"%string :: (fields notify_new).*1.
Definition all_cells (x : cell) : Prop := exists n, 0 <= n < NUM_NOTIFICATION /\ x ∈ field_cell "notification" n <$> field_names.
Definition notify_initial (d : mem) : Prop := exactly all_cells d /\ forall n, 0 <= n < NUM_NOTIFICATION ->
  (owner_is n NONE ∗ fields_are n (fields notify_new)) (restrict (field_cell "notification" n <$> field_names) d).
