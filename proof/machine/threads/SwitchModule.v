(** The C's view of the switch: what [arch_switch], [arch_current] and [arch_thread_init] of [kernel/arch/arch.h] do.

    Each CPU has a cell that says which thread runs on it; it belongs to the CPU and is handed over with it. [arch_switch]
    writes the new thread into it and exchanges the stacks; nothing else. This is what the assembly must do ([switch.S], in the
    order of these two steps), and what the machine of threads makes of its second half: the primitive [switch_stack]. A new
    stack for a thread is the primitive [new_stack]. *)
From Ashlar Require Export machine.threads.AgentThreads lang.Builtin.

Definition switch_stack : string := "arch_switch_stack".
Definition new_stack : string := "arch_new_stack".
Definition current_cell (cpu : nat) : cell := ("arch_current"%string, Z.of_nat cpu, ""%string, 0).

Definition arch_current_code : fundef := Fun 0 1
  (Seq (Call (Some 0%nat) "arch_cpu" [])
       (Return (Load "arch_current" (Var 0) "" (Const 0)))).
Definition arch_switch_code : fundef := Fun 1 1
  (Seq (Call (Some 1%nat) "arch_cpu" [])
  (Seq (Store "arch_current" (Var 1) "" (Const 0) (Var 0))
       (Call None switch_stack [Var 0]))).
Definition arch_thread_init_code : fundef := Fun 1 0 (Call None new_stack [Var 0]).
Definition switch_module : module := module_of
  [("arch_current"%string, arch_current_code); ("arch_switch"%string, arch_switch_code);
   ("arch_thread_init"%string, arch_thread_init_code)].

Definition switch_means (p : cprim) : meaning :=
  match p.2 with
  | [t] => if String.eqb p.1 switch_stack then SwitchTo (Z.to_nat t) else if String.eqb p.1 new_stack then Begin (Z.to_nat t) else Ordinary
  | _ => Ordinary
  end.

Lemma switch_means_names p : switch_means p <> Ordinary -> p.1 = switch_stack \/ p.1 = new_stack.
Proof.
  unfold switch_means. destruct p.2 as [|t [|??]]; [done| |done]. destruct (String.eqb_spec p.1 switch_stack) as [->|_]; [by left|].
  destruct (String.eqb_spec p.1 new_stack) as [->|_]; [by right|done].
Qed.
