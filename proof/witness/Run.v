(** The workers run, on the machine of the specification: three CPUs, of whose processes only two find a free frame. *)
From Ashlar Require Import witness.Client layers.sched.ready.InitialCells.

Definition two_free : frame_memory := FrameMemory (Frames {[256; 257]} ∅) ∅.
Notation X := (kernel_layout (fun _ => 0) 1000 two_free).
Notation worker_agent := (system workers (top_engine X (kernel_top (fun _ => 0) 1000 two_free))).
Definition begin (c : nat) : ast worker_agent :=
  Idle (Splits : cstate workers) (kernel_start (fun _ => 0) 1000 two_free (fun c => ready_at_start (Z.of_nat c)) c).

(** The CPUs by turns; one that must wait is passed over. *)
Definition after (n : nat) : state (top_layer X) worker_agent :=
  foldl (fun g i => move (top_layer X) worker_agent (Nat.modulo i 3) g) (State [] begin) (seq 0 n).
(** What they show, the last first. *)
Definition shown (l : log (top_layer X)) : list (nat * Z) :=
  omap (fun e => match what e with TOut _ v => Some (who e, v) | _ => None end) l.

(** CPUs 0 and 1 get the two frames, CPU 2 none; soon after it has one, and CPU 1 none. *)
Example workers_get_frames : shown (glog (after 120)) =
  [(1%nat, 0); (1%nat, NONE); (0%nat, 256); (2%nat, 257); (1%nat, 2); (0%nat, 2); (2%nat, 2); (2%nat, NONE);
   (2%nat, 0); (1%nat, 256); (0%nat, 257); (2%nat, NONE)].
Proof. vm_compute. reflexivity. Qed.
