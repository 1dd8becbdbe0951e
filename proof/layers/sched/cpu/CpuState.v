(** The state of a CPU's scheduler. *)
From Ashlar Require Export layers.sched.event.EventSpec layers.sched.budget.BudgetSpec layers.sched.ready.ReadyInvariant.

Record cpu_state := Cpu {
  queues : ready; (* ready queues, parked threads, and the threads' priorities and states *)
  word : string -> Z; (* fields of [sched_cpu], and what [arch] keeps *)
  reservation_of : Z -> reservation;
  timeouts : gmap Z Z; cancels : Z -> Z; (* as in [events] *)
  base_of : Z -> Z (* threads' own priorities, modulo their number *) }.
(** A thread's own priority, to which it returns when it was boosted, and with which it starts. *)
Definition base_priority (X : cpu_state) (t : Z) : Z := base_of X t mod NUM_PRIORITY.
Definition set_queues (s : ready) (X : cpu_state) : cpu_state := Cpu s (word X) (reservation_of X) (timeouts X) (cancels X) (base_of X).
Definition set_word (f : string) (v : Z) (X : cpu_state) : cpu_state :=
  Cpu (queues X) (fun g => if String.eqb g f then v else word X g) (reservation_of X) (timeouts X) (cancels X) (base_of X).
Definition set_reservation (t : Z) (x : reservation) (X : cpu_state) : cpu_state :=
  Cpu (queues X) (word X) (fun u => if u =? t then x else reservation_of X u) (timeouts X) (cancels X) (base_of X).
Definition set_timeouts (m : gmap Z Z) (k : Z -> Z) (X : cpu_state) : cpu_state := Cpu (queues X) (word X) (reservation_of X) m k (base_of X).
