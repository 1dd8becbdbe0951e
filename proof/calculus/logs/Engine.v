(** Kernel and client.

    An engine executes kernel functions: C code on owned cells, or a specification program on abstract objects. A client
    is anything that calls kernel functions and shows values to the world (user programs, guests, the layers above).
    [system] puts the two together as one agent; refinement between engines is then stated and proved for every client. *)
From Ashlar Require Export calculus.logs.Machine.

(** What an engine does next: return to its caller, be stuck, take a private step, or call a primitive. *)
Inductive engine_act (PRIM MEM STATE : Type) :=
| EReturn (v : Z) (m : MEM)
| EStuck
| ETau (s : STATE)
| EPrim (p : PRIM).
Arguments EReturn {_ _ _}. Arguments EStuck {_ _ _}. Arguments ETau {_ _ _}. Arguments EPrim {_ _ _}.

(** [estart f args m]: entry into function [f]; [None] if the kernel has no such function or it takes other arguments.
    [eout v]: the primitive by which a client shows [v]. *)
Record engine (PRIM MEM : Type) := Engine {
  est : Type;
  estart : string -> list Z -> MEM -> option est;
  enext : nat -> est -> engine_act PRIM MEM est;
  emem : est -> MEM;
  eresume : est -> Z -> MEM -> est;
  eout : Z -> PRIM;
}.
Arguments Engine {_ _}. Arguments est {_ _}. Arguments estart {_ _}. Arguments enext {_ _}. Arguments emem {_ _}.
Arguments eresume {_ _}. Arguments eout {_ _}.

Inductive client_act (STATE : Type) :=
| CDone
| CTau (s : STATE)
| CCall (f : string) (args : list Z)
| COut (v : Z).
Arguments CDone {_}. Arguments CTau {_}. Arguments CCall {_}. Arguments COut {_}.

(** [creturn s v]: the client's state after its call (or show) returned [v]. *)
Record client := Client {
  cstate : Type;
  cnext : nat -> cstate -> client_act cstate;
  creturn : cstate -> Z -> cstate;
}.

Section system.
  Context {PRIM MEM : Type} (C : client) (E : engine PRIM MEM).

  (** [Idle]: the client runs. [Busy]: the kernel runs for it. *)
  Inductive system_state :=
  | Idle (s : cstate C) (m : MEM)
  | Busy (s : cstate C) (e : est E).

  Definition system_next (cpu : nat) (t : system_state) : act PRIM system_state :=
    match t with
    | Idle s m =>
        match cnext C cpu s with
        | CDone => ADone
        | CTau s' => ATau (Idle s' m)
        | CCall f args => match estart E f args m with Some e => ATau (Busy s e) | None => AStuck end
        | COut v => APrim (eout E v)
        end
    | Busy s e =>
        match enext E cpu e with
        | EReturn v m => ATau (Idle (creturn C s v) m)
        | EStuck => AStuck
        | ETau e' => ATau (Busy s e')
        | EPrim p => APrim p
        end
    end.

  Definition system_mem (t : system_state) : MEM :=
    match t with Idle _ m => m | Busy _ e => emem E e end.

  Definition system_resume (t : system_state) (v : Z) (m : MEM) : system_state :=
    match t with
    | Idle s _ => Idle (creturn C s v) m
    | Busy s e => Busy s (eresume E e v m)
    end.

  Definition system : agent PRIM MEM := Agent system_state system_next system_mem system_resume.
End system.
Arguments Idle {_ _ _ _}. Arguments Busy {_ _ _ _}.
