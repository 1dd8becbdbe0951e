(** Specification programs: what a kernel function does, as seen from above its layer.

    A program acts on the abstract objects that its CPU holds ([MEM]) and calls the primitives of the layer of abstract
    objects. [Loc f] is a private step on the objects held; [Fail] is the violation of a precondition by the caller. Most
    functions are one locked update, see [locked]; functions that use others' functions are [bind]s of their programs. *)
From Ashlar Require Export calculus.logs.Engine lang.Semantics.

Section program.
  Context {PRIM MEM : Type}.

  Inductive program :=
  | Ret (v : Z)
  | Fail
  | Act (p : PRIM) (k : Z -> program)
  | Loc (f : MEM -> option (Z * MEM)) (k : Z -> program).

  Fixpoint bind (p : program) (k : Z -> program) : program :=
    match p with
    | Ret v => k v
    | Fail => Fail
    | Act q k' => Act q (fun v => bind (k' v) k)
    | Loc f k' => Loc f (fun v => bind (k' v) k)
    end.

  (** A program under execution, with the objects held. *)
  Definition program_state : Type := program * MEM.

  Definition program_next (_ : nat) (s : program_state) : engine_act PRIM MEM program_state :=
    match s with
    | (Ret v, m) => EReturn v m
    | (Fail, _) => EStuck
    | (Act q _, _) => EPrim q
    | (Loc f k, m) => match f m with Some (v, m') => ETau (k v, m') | None => EStuck end
    end.

  Definition program_resume (s : program_state) (v : Z) (m : MEM) : program_state :=
    match s with
    | (Act _ k, _) => (k v, m)
    | (p, _) => (p, m)
    end.

  (** The specification of a kernel: a program for each function; [None]: no such function, or other arguments. *)
  Definition specification : Type := string -> list Z -> option program.

  Definition program_engine (S : specification) (out : Z -> PRIM) : engine PRIM MEM :=
    Engine program_state (fun f args m => match S f args with Some p => Some (p, m) | None => None end)
      program_next snd program_resume out.
End program.
Arguments program : clear implicits.
Notation "x <- p ; q" := (bind p (fun x => q)) (at level 100, p at next level, right associativity, only parsing).
