(** The scheduler's functions that switch, on the machine of threads.

    There, the CPU's cells are handed over with it. A thread [t] of CPU [home t] that has the CPU in state [X], and holds no lock, may
    call a function of which [goes] was proved: it comes back whenever the CPU is handed to it, and finds a state that [fits] it. *)
From Ashlar Require Export machine.threads.SwitchingRule layers.sched.cpu.RunCode.
Local Opaque gmap_lookup gmap_partial_alter.

Section threads.
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (stack_below : M switch_stack = None).
  Context (L : layer cprim mem) (nthread : nat) (home first : nat -> nat) (begin : nat -> ast (system C (c_engine (arch_builtins kernel_entry) M exported))).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool) (calm : nat -> log L -> bool) (own_calm : own_replay L calm).
  Context (ours : nat -> Z -> Prop) (timer : nat -> mem -> Prop) (fits : nat -> Z -> State.cpu_state -> Prop).
  (** CPUs are handed over to their own threads, which exist. *)
  Context (fits_thread : forall c to X, fits c to X -> exists n, to = Z.of_nat n /\ home n = c /\ (n < nthread)%nat).

  Definition cpu_promise (c n : nat) (w : mem) : Prop := exists X, State.holds c (ours c) (timer c) X w /\ fits c (Z.of_nat n) X.
  Context (t : nat) (w0 m : mem) (Hw0 : exactly (fun x => cell_of_cpu (home t) x = true) w0) (Hm : OwnCells.mine cell_of_cpu parked (home t) m).
  Notation holds := (State.holds (home t) (ours (home t)) (timer (home t))).
  Notation runs Q0 u := (thread_runs kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm cpu_promise t Q0 u w0 m).
  Notation may_switch := (may_switch L nthread home first cell_of_cpu parked calm t).

  (** Primitives that the layer below lets pass, as the clock. *)
  Context (passes : cprim -> Prop) (pass_ordinary : forall p, passes p -> switch_means p = Ordinary).
  Context (pass : forall p m l, passes p -> calm (home t) l = true -> exists v o, lstep L (home t) p m l = Ok v m o /\ calm (home t) (Event (home t) o :: l) = true).

  Theorem goes_on_threads Q0 u f args X post w l (Q : call_post) :
    goes passes kernel_entry M (home t) (ours (home t)) (timer (home t)) (fits (home t)) (Z.of_nat t) f args X post ->
    holds X w -> w ##ₘ m -> may_switch l ->
    (forall v Y w' l', post v Y -> holds Y w' -> w' ##ₘ m -> may_switch l' -> Q v (w' ∪ m) l') -> fwp (runs Q0 u) f args (w ∪ m) l Q.
  Proof using stack_below own_calm fits_thread Hw0 Hm pass pass_ordinary.
    intros Hg Hw Hd Hl HQ. eapply (switches_on_threads kernel_entry C exported M stack_below L nthread home first begin cell_of_cpu parked calm own_calm
      cpu_promise t Q0 u w0 m Hw0 Hm passes pass pass_ordinary f args w); [|exact Hd|exact Hl|].
    - eapply switches_weaken; [| |exact (Hg w Hw)].
      + intros to d [Hne (Y & HY & Hf)]. destruct (fits_thread _ _ _ Hf) as (n & -> & Hh & Hlt). exists n. split_and!; [done| |done|done|by exists Y].
        intros ->. done.
      + intros d HY. exact HY.
    - cbn beta. intros v d l' (Y & HY & Hd') Hdis Hl'. by eapply HQ.
  Qed.
End threads.
