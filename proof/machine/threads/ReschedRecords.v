(** The C's view of what [arch] keeps of each CPU for the scheduler: what [arch_need_resched], [arch_set_need_resched],
    [arch_floor] and [arch_set_floor] of [kernel/arch/arch.h] do.

    A CPU's mark and floor are cells like others. The terms are what [kernel/arch/x86_64/cpu/percpu.c] must do: that it does is
    trusted, as all of [arch] is. *)
From Ashlar Require Export lang.Semantics.

Definition arch_need_resched_code : fundef := Fun 0 1
  (Seq (Call (Some 0%nat) "arch_cpu" [])
       (Return (Load "arch_need_resched" (Var 0) "" (Const 0)))).
Definition arch_set_need_resched_code : fundef := Fun 1 1
  (Seq (Call (Some 1%nat) "arch_cpu" [])
       (Store "arch_need_resched" (Var 1) "" (Const 0) (Var 0))).
Definition arch_floor_code : fundef := Fun 0 1
  (Seq (Call (Some 0%nat) "arch_cpu" [])
       (Return (Load "arch_floor" (Var 0) "" (Const 0)))).
Definition arch_set_floor_code : fundef := Fun 1 1
  (Seq (Call (Some 1%nat) "arch_cpu" [])
       (Store "arch_floor" (Var 1) "" (Const 0) (Var 0))).

Definition resched_module : module := module_of
  [("arch_need_resched"%string, arch_need_resched_code); ("arch_set_need_resched"%string, arch_set_need_resched_code);
   ("arch_floor"%string, arch_floor_code); ("arch_set_floor"%string, arch_set_floor_code)].
