(** The scheduler's C runs on the machine with one memory: a thread is woken, runs, and blocks.

    The code and the threads of CPU 0 are those of [SchedulerRuns.v], and the start is that of [SchedulerStart.v]; only that the idle thread wakes
    thread 16 before all else. *)
From Ashlar Require Import machine.threads.SwitchHardware machine.SharedAtomics Scheduler witness.SchedulerStart witness.SchedulerRuns.
Local Open Scope Z_scope.

Definition wakers : client := Client turn
  (fun c s => if Nat.eqb (step_of s) 9 then CCall "sched_ready" [16] else cnext workers c s)
  (fun s v => if Nat.eqb (step_of s) 9 then Turn (who_is s) 0 0 else creturn workers s v).
Notation S := (shared_kernel no_entry scheduler_code exports wakers).
Definition waits (t : nat) : ast (system wakers (c_engine (arch_builtins no_entry) scheduler_code exports)) := Idle (Turn t 4 0 : cstate wakers) ∅.
Notation code := (agent_threads S home_of switch_means waits).
Notation shared := (shared_threads S home_of switch_means waits).
Definition begins (t : nat) : tstate code :=
  if Nat.ltb t 16 then TState code Running (Idle (Turn t 9 0 : cstate wakers) ∅) ∅ else TState code Suspended (waits t) ∅.
Definition after (n : nat) :=
  play (switch_hardware atomic_hardware) shared (repeat 0%nat n)
    (multicore_start (switch_hardware atomic_hardware) (start_of_cpu 0) (flat_start code first_of begins (fun _ => start_of_cpu 0) : nat -> ast (flat_agent code))).

(** Thread 16 shows its number first, although the idle thread woke it before it showed its own. *)
Example woken_runs_first : rev (shown (base_marks atomic_hardware (mlog (after 1000)))) = [(0%nat, 16); (0%nat, 0); (0%nat, 0); (0%nat, 0)].
Proof. vm_compute. reflexivity. Qed.
(** It is blocked then, and the idle thread runs. *)
Example woken_has_blocked : mmem (after 1000) !! thread_state_cell 16 = Some thread_is_blocked /\ mmem (after 1000) !! current_cell 0 = Some 0.
Proof. vm_compute. split; reflexivity. Qed.
