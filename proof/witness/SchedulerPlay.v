(** The scheduler's C runs on the machine with one memory: a thread is woken, sleeps until its deadline, and is woken by the timer; another is
    started, ends, and is started again.

    Code, client and start are those of [SchedulerRuns.v]; only CPU 0 moves. The locks' code is not linked in: no thread calls it. *)
From Ashlar Require Import machine.threads.SwitchHardware machine.SharedAtomics Scheduler witness.SchedulerStart witness.SchedulerRuns.
Local Open Scope Z_scope.

Notation shared := (shared_threads (shared_kernel no_entry scheduler_code exports workers) home_of switch_means begins).
Definition after (n : nat) :=
  play (switch_hardware atomic_hardware) shared (repeat 0%nat n)
    (multicore_start (switch_hardware atomic_hardware) (start_of_cpu 0)
       (flat_start (agent_threads (shared_kernel no_entry scheduler_code exports workers) home_of switch_means begins) first_of threads_at_start (fun _ => start_of_cpu 0)
        : nat -> ast (flat_agent (agent_threads (shared_kernel no_entry scheduler_code exports workers) home_of switch_means begins)))).
Definition shown_after (n : nat) : list (nat * Z) := rev (shown (base_marks atomic_hardware (mlog (after n)))).

(** Thread 16 shows its number first, although the idle thread runs before it; then it sleeps. The idle thread starts thread 128, which shows its
    number and ends, again and again, until the deadline of thread 16 has come. *)
Example woken_and_started : take 22 (shown_after (2 * 4500)) = (0%nat, 16) :: concat (repeat [(0%nat, 0); (0%nat, 128)] 10) ++ [(0%nat, 16)].
Proof. vm_compute. reflexivity. Qed.
