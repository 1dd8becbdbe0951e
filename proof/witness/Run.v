(** The workers run, on the machine of the specification: which calls return, and what they return. *)
From Ashlar Require Import witness.Client.

Definition free_frames (first count : Z) : frame_memory := FrameMemory (Frames (list_to_set (seqZ first count)) ∅) ∅.

Section run.
  (** [n] CPUs by turns, one that must wait is passed over; the calls that have returned, the last first. *)
  Context (n : nat) (frames_start : frame_memory).
  Notation X := (kernel_layout (fun _ => 0) 1000 frames_start shares_defined).
  Notation worker_agent := (system workers (top_engine X (kernel_top (fun _ => 0) 1000 frames_start shares_defined))).
  Definition begin (c : nat) : ast worker_agent :=
    Idle (workers_start c) (idle (fun _ => 0) 1000 frames_start c (ready_begin c)).
  Definition returning (t : ast worker_agent) : option (string * Z) :=
    match t with Busy (Invoke f _ _) (Ret v, _) => Some (f, v) | _ => None end.
  Definition turn (g : state (top_layer X) worker_agent * list (nat * string * Z)) (i : nat) :
      state (top_layer X) worker_agent * list (nat * string * Z) :=
    let c := Nat.modulo i n in
    (move (top_layer X) worker_agent c g.1,
     match returning (gagent g.1 c) with Some (f, v) => (c, f, v) :: g.2 | None => g.2 end).
  Definition returned (steps : nat) : list (nat * string * Z) := (foldl turn (State [] begin, []) (seq 0 steps)).2.
End run.

(** Results of a function, first to last, each once. *)
Definition results (l : list (nat * string * Z)) (f : string) : list Z :=
  foldl (fun vs r => if String.eqb r.1.2 f && negb (bool_decide (r.2 ∈ vs)) then vs ++ [r.2] else vs) [] (rev l).

(** CPU 0 alone has enough frames. *)
Definition alone : list (nat * string * Z) := returned 1 (free_frames 256 1000) 600.
Definition exported_functions : list string :=
  fst <$> kernel_functions (fun _ => 0) 1000 (free_frames 256 1000) shares_defined.

(** What each function that clients may call returns there; nothing if it is not called. *)
Definition results_alone : list (string * list Z) :=
  let l := alone in (fun f => (f, results l f)) <$> exported_functions.
Definition is_called (r : string * list Z) : bool := match r.2 with [] => false | _ => true end.
Definition functions_not_called : list string := fst <$> List.filter (fun r => negb (is_called r)) results_alone.
Example workers_succeed_and_are_refused : List.filter is_called results_alone =
  [("container_split", [STATUS_OK; ERR_BAD_STATE; ERR_QUOTA]); ("container_charge", [ERR_QUOTA; STATUS_OK]); ("container_refund", [0]);
   ("container_merge", [STATUS_OK; ERR_BAD_STATE]); ("container_quota", [8]); ("container_usage", [0]);
   ("container_parent", [ROOT]); ("container_own_usage", [0]);
   ("frame_alloc", [FRAME_NO_QUOTA; 1255]); ("frame_alloc_private", [FRAME_NO_QUOTA; 1255]);
   ("frame_add_owner", [ERR_BAD_STATE; STATUS_OK]); ("frame_remove_owner", [ERR_BAD_STATE; STATUS_OK]);
   ("frame_owners", [0; only (mine 0)]); ("frame_state", [FRAME_RESERVED; FRAME_ALLOCATED]); ("frame_free_count", [1000]);
   ("share_frame", [1255]); ("share_withdraw", [ERR_BAD_STATE; STATUS_OK]); ("share_forget", [0]); ("share_process_ended", [0]);
   ("share_offer", [ERR_BAD_STATE; STATUS_OK]); ("share_accept", [ERR_WOULD_BLOCK; STATUS_OK]);
   ("sched_ready_insert", [0]); ("sched_ready_remove", [0]); ("sched_ready_take", [own_thread 0 1; NONE]); ("sched_ready_park", [0]);
   ("sched_ready_best", [10; 0]); ("thread_priority", [0]); ("thread_state", [0; 2]);
   ("thread_set_priority", [0]); ("thread_set_state", [0])]%string.
Proof. vm_compute. reflexivity. Qed.

(** Three CPUs and one frame: it goes from one to another, and who comes meanwhile finds none. *)
Definition together : list (nat * string * Z) := returned 3 (free_frames 256 1) 900.
Definition had_frame (l : list (nat * string * Z)) (c : nat) : bool :=
  existsb (fun r => Nat.eqb r.1.1 c && String.eqb r.1.2 "frame_alloc" && Z.eqb r.2 256) l.
Example workers_compete : (let l := together in (results l "frame_alloc", had_frame l <$> [0; 1; 2]%nat)) =
  ([FRAME_NO_QUOTA; NONE; 256], [true; true; false]).
Proof. vm_compute. reflexivity. Qed.
