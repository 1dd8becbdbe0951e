(** Primitives of [arch] that concern this CPU alone and cause no event: what they return and do.

    The contents of a frame are cells like any other, [frame_word f w]: a CPU can read and write them while it owns
    them. [kernel_entry i]: entry [i] of every page map's upper half; its values are the boot code's choice. Loading a page
    map takes the frame of its root. Which one is loaded says what user programs see; kernel code sees the same in all, so it
    is not modelled. *)
From Ashlar Require Export lang.Semantics.
From Ashlar Require Import lang.Constants.

Definition frame_words : Z := 512.
Definition frame_word (frame word : Z) : cell := ("frame"%string, frame, "word"%string, word).

(** The words of a frame, all with the value that [v] gives. *)
Definition frame_cells (frame : Z) (v : Z -> Z) : mem :=
  list_to_map ((fun w => (frame_word frame (Z.of_nat w), v (Z.of_nat w))) <$> seq 0 512).

(** This CPU owns every word of the frame. *)
Definition owns_frame (frame : Z) (m : mem) : Prop :=
  Forall (fun w => is_Some (m !! frame_word frame (Z.of_nat w))) (seq 0 512).
Global Instance owns_frame_decision frame m : Decision (owns_frame frame m).
Proof. unfold owns_frame. apply _. Defined.

Definition arch_builtins (kernel_entry : Z -> Z) : builtins :=
  fun cpu f args m =>
    if String.eqb f "arch_cpu" then
      Some (match args with [] => Some (Z.of_nat cpu, m) | _ => None end)
    else if String.eqb f "arch_spin_hint" then
      Some (match args with [] => Some (0, m) | _ => None end)
    else if String.eqb f "arch_highest_bit" then
      Some (match args with
            | [word] => if bool_decide (0 < word) then Some (Z.log2 word, m) else None
            | _ => None
            end)
    else if String.eqb f "arch_kernel_map_entry" then
      Some (match args with
            | [i] => if bool_decide (256 <= i < 512) then Some (kernel_entry i, m) else None
            | _ => None
            end)
    else if String.eqb f "arch_frame_read" then
      Some (match args with
            | [frame; word] => match m !! frame_word frame word with Some v => Some (v, m) | None => None end
            | _ => None
            end)
    else if String.eqb f "arch_frame_write" then
      Some (match args with
            | [frame; word; v] =>
                match m !! frame_word frame word with
                | Some _ => Some (0, <[frame_word frame word := v]> m)
                | None => None
                end
            | _ => None
            end)
    else if String.eqb f "arch_frame_clear" then
      Some (match args with
            | [frame] => if decide (owns_frame frame m) then Some (0, frame_cells frame (fun _ => 0) ∪ m) else None
            | _ => None
            end)
    else if String.eqb f "arch_page_map_load" then
      Some (match args with
            | [root] => if bool_decide (0 <= root < NUM_FRAME) then Some (0, m) else None
            | _ => None
            end)
    else if String.eqb f "arch_page_map_load_kernel" then
      Some (match args with [] => Some (0, m) | _ => None end)
    else None.
