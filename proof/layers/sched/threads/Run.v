(** The C runs: on shared memory, two threads of CPU 0 show their numbers and yield, by turns.

    [switch_module], [yield_code], and the C of [sched_ready.c], [queue.c] and [thread.c], on the machine with one memory and the
    switch as hardware. Threads 16 and 17 have priority 3; thread 16 runs, thread 17 is ready. *)
From Ashlar Require Import layers.sched.threads.HandOver machine.threads.SwitchHardware machine.SharedAtomics.

Definition modules : module :=
  module_union (module_of [("yield"%string, yield_code)])
    (module_union switch_module (module_union sched_module (module_union queue_module thread_module))).

(** A thread's number, and how many steps it has done. *)
Definition showers : client :=
  Client (nat * nat) (fun _ s => if Nat.even s.2 then COut (Z.of_nat s.1) else CCall "yield" []) (fun s _ => (s.1, S s.2)).

Notation running := (system showers (c_engine (arch_builtins (fun _ => 0%Z)) modules (fun _ => true))).
Notation code := (agent_threads (shared_kernel (fun _ => 0%Z) modules (fun _ => true) showers) (fun _ => 0%nat) switch_means
  (fun t => Idle ((t, 0%nat) : cstate showers) ∅)).
Notation shared := (shared_threads (shared_kernel (fun _ => 0%Z) modules (fun _ => true) showers) (fun _ => 0%nat) switch_means
  (fun t => Idle ((t, 0%nat) : cstate showers) ∅)).

Definition none : Z := 4294967295.
Definition cells : mem := list_to_map
  [(current_cell 0, 16%Z); (thread_priority_cell 16, 3%Z); (thread_priority_cell 17, 3%Z); (thread_state_cell 16, 2%Z); (thread_state_cell 17, 1%Z);
   (("queue"%string, 3%Z, "first"%string, 0%Z), 17%Z); (("queue"%string, 3%Z, "last"%string, 0%Z), 17%Z);
   (("queue_node"%string, 16%Z, "queue"%string, 0%Z), none); (("queue_node"%string, 16%Z, "next"%string, 0%Z), none);
   (("queue_node"%string, 16%Z, "previous"%string, 0%Z), none);
   (("queue_node"%string, 17%Z, "queue"%string, 0%Z), 3%Z); (("queue_node"%string, 17%Z, "next"%string, 0%Z), none);
   (("queue_node"%string, 17%Z, "previous"%string, 0%Z), none);
   (ready_word 0 0, 8%Z); (ready_word 0 1, 0%Z); (ready_word 0 2, 0%Z); (ready_word 0 3, 0%Z); (ready_summary 0, 1%Z);
   (ready_best_cell 0, 4%Z)].

(** Thread 17 has yielded before, when it had done nine steps. *)
Definition begins (t : nat) : tstate code :=
  if Nat.eqb t 16 then TState code Running (Idle ((16%nat, 0%nat) : cstate showers) ∅) ∅
  else TState code Suspended (Idle ((t, 9%nat) : cstate showers) ∅) ∅.

Definition after (n : nat) :=
  play (switch_hardware atomic_hardware) shared (repeat 0%nat n)
    (multicore_start (switch_hardware atomic_hardware) cells (flat_start code (fun _ => 16%nat) begins (fun _ => cells) : nat -> ast (flat_agent code))).

Example threads_take_turns : shown (base_marks atomic_hardware (mlog (after 600))) =
  [(0%nat, 16%Z); (0%nat, 17%Z); (0%nat, 16%Z); (0%nat, 17%Z); (0%nat, 16%Z); (0%nat, 17%Z); (0%nat, 16%Z)].
Proof. vm_compute. reflexivity. Qed.
(** The queues at that time. *)
Example one_waits : mmem (after 600) !! ready_best_cell 0 = Some 4%Z.
Proof. vm_compute. reflexivity. Qed.
