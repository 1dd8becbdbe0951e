(** The scheduler's C runs on the machine with one memory: a thread is woken, sleeps until its deadline, is woken by the timer, charges a
    frame, and opens and signals a notification; another is started, ends, and is started again.

    Code, client and start are those of [SchedulerRuns.v], with the ticket locks' code linked in; only CPU 0 moves. *)
From Ashlar Require Import machine.threads.SwitchHardware machine.SharedAtomics layers.spinlock.Proof Main witness.SchedulerStart witness.SchedulerRuns.
From Ashlar Require Import layers.container.cells.InitialCells.
Local Open Scope Z_scope.

Notation Mlock := (lock_module Ticket).
Notation above := (shared_kernel no_entry scheduler_code exports workers).
Notation linked := (shared_kernel no_entry (module_union scheduler_code Mlock) exports workers).
Notation lower := (lower (arch_builtins no_entry) Mlock workers exports scheduler_code).
Notation threads := (agent_threads linked home_of switch_means (fun t => lower (begins t))).
Notation linked_at_start := (fun t => lower_thread (arch_builtins no_entry) Mlock home_of workers exports scheduler_code linked above switch_means begins (threads_at_start t)).
Notation shared := (shared_threads linked home_of switch_means (fun t => lower (begins t))).
Definition after (n : nat) :=
  play (switch_hardware atomic_hardware) shared (repeat 0%nat n)
    (multicore_start (switch_hardware atomic_hardware) (start_of_cpu 0 ∪ (container_memory (container_initial root_frames) ∪ note_memory NOTE))
       (flat_start threads first_of linked_at_start (fun _ => start_of_cpu 0) : nat -> ast (flat_agent threads))).
Definition shown_after (n : nat) : list (nat * Z) := rev (shown (base_marks atomic_hardware (mlog (after n)))).
(** The frames that the root container has charged then. *)
Definition frames_charged (n : nat) : option Z := mmem (after n) !! container_cell ROOT "usage".

(** The bits of the notification, and whether it is open. *)
Definition note_after (n : nat) : option Z * option Z := (mmem (after n) !! field_cell "notification" NOTE "bits", mmem (after n) !! field_cell "notification" NOTE "open").

(** Thread 16 shows its number first, although the idle thread runs before it; then it sleeps. The idle thread starts thread 128, which shows its
    number and ends, again and again, until the deadline of thread 16 has come. Twice thread 16 has been woken and has charged a frame then; the first time it
    has opened the notification, the second time signalled a bit, which is kept. *)
Example woken_and_started : (take 22 (shown_after (2 * 4500)), frames_charged (2 * 4500), note_after (2 * 4500)) =
  ((0%nat, 16) :: concat (repeat [(0%nat, 0); (0%nat, 128)] 10) ++ [(0%nat, 16)], Some 2, (Some 1, Some 1)).
Proof. vm_compute. reflexivity. Qed.
