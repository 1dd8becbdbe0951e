(** The C's view of the records that [arch] keeps of threads: what [arch_uctx_get], [arch_uctx_set], [arch_fpu_reset],
    [arch_end_at_exit] and [arch_ends_at_exit] of [kernel/arch/arch.h] do.

    A thread's record has its saved user registers, by number; whether its vector state is the initial one; and whether it ends
    instead of going to user mode. These are cells like others, and owned like others. The terms are what
    [kernel/arch/x86_64/thread/thread.c] and [fpu.c] must do: that they do is trusted, as all of [arch] is. *)
From Ashlar Require Export lang.Semantics lang.Constants.

(** Instruction pointers of user mode; flags that a user may change, and flags that are always set. *)
Definition user_address_mask : Z := 2 ^ 47 - 1.
Definition user_flag_mask : Z := 2362837. (* ID AC OF DF TF SF ZF AF PF CF *)
Definition user_flag_always : Z := 514. (* IF and the constant bit *)

Definition register_cell (t reg : Z) : cell := ("arch_uctx"%string, t, "word"%string, reg).
Definition vector_fresh_cell (t : Z) : cell := ("arch_fpu_fresh"%string, t, ""%string, 0).
Definition ends_cell (t : Z) : cell := ("arch_ends_at_exit"%string, t, ""%string, 0).

(** What a register holds once [v] has been written to it. *)
Definition kept (reg v : Z) : Z :=
  if reg =? UCTX_RIP then Z.land v user_address_mask
  else if reg =? UCTX_RFLAGS then Z.lor (Z.land v user_flag_mask) user_flag_always else v.

Definition arch_uctx_get_code : fundef := Fun 2 0 (Return (Load "arch_uctx" (Var 0) "word" (Var 1))).
Definition arch_uctx_set_code : fundef := Fun 3 0
  (Seq (If (Cmp Eq (Var 1) (Const UCTX_RIP)) (Assign 2 (Bin W64 And (Var 2) (Const user_address_mask))) Skip)
  (Seq (If (Cmp Eq (Var 1) (Const UCTX_RFLAGS))
         (Assign 2 (Bin W64 Or (Bin W64 And (Var 2) (Const user_flag_mask)) (Const user_flag_always))) Skip)
       (Store "arch_uctx" (Var 0) "word" (Var 1) (Var 2)))).
Definition arch_fpu_reset_code : fundef := Fun 1 0 (Store "arch_fpu_fresh" (Var 0) "" (Const 0) (Const 1)).
Definition arch_end_at_exit_code : fundef := Fun 1 0 (Store "arch_ends_at_exit" (Var 0) "" (Const 0) (Const 1)).
Definition arch_ends_at_exit_code : fundef := Fun 1 0 (Return (Load "arch_ends_at_exit" (Var 0) "" (Const 0))).

Definition records_module_list : list (string * fundef) :=
  [("arch_uctx_get"%string, arch_uctx_get_code); ("arch_uctx_set"%string, arch_uctx_set_code);
   ("arch_fpu_reset"%string, arch_fpu_reset_code); ("arch_end_at_exit"%string, arch_end_at_exit_code);
   ("arch_ends_at_exit"%string, arch_ends_at_exit_code)].
Definition records_module : module := module_of records_module_list.

(** An instruction pointer that has been written is an address of user space. *)
Lemma kept_address v : 0 <= v -> 0 <= kept UCTX_RIP v < 2 ^ 47.
Proof.
  intros Hv. unfold kept. cbn [Z.eqb Pos.eqb UCTX_RIP]. change user_address_mask with (Z.ones 47).
  rewrite Z.land_ones by done. by apply Z.mod_pos_bound.
Qed.
