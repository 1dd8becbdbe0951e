(** The C subset: what a function does on one CPU.

    A configuration is a deterministic machine with an explicit control stack. It works on the cells that its CPU owns
    ([mem]); reading or writing a cell that it does not own is [Stuck], as are division by zero, shifts by the width or
    more, and a call with the wrong number of arguments. So a proof that nothing is ever stuck is a proof of memory
    safety. *)
From Ashlar Require Export lang.Syntax.

(** A cell: object, index, field, element. *)
Definition cell : Type := string * Z * string * Z.
(** The cells a CPU owns, with their values. *)
Definition mem := gmap cell Z.

Definition wrap (w : width) (z : Z) : Z := z mod 2 ^ bits w.

Definition locals := list Z.

(** [None]: undefined in C. *)
Definition binary (w : width) (o : operator) (a b : Z) : option Z :=
  match o with
  | Add => Some (wrap w (a + b))
  | Sub => Some (wrap w (a - b))
  | Mul => Some (wrap w (a * b))
  | Div => if b =? 0 then None else Some (a / b)
  | Rem => if b =? 0 then None else Some (a mod b)
  | And => Some (Z.land a b)
  | Or => Some (Z.lor a b)
  | Xor => Some (Z.lxor a b)
  | Shl => if b <? bits w then Some (wrap w (Z.shiftl a b)) else None
  | Shr => if b <? bits w then Some (Z.shiftr a b) else None
  end.

Definition compare (c : comparison) (a b : Z) : bool :=
  match c with
  | Eq => a =? b | Ne => negb (a =? b) | Lt => a <? b | Le => a <=? b | Gt => b <? a | Ge => b <=? a
  end.

Fixpoint eval (e : expr) (r : locals) (m : mem) : option Z :=
  match e with
  | Const z => Some z
  | Var x => r !! x
  | Load o i f j =>
      match eval i r m, eval j r m with
      | Some iv, Some jv => m !! ((o, iv, f, jv) : cell)
      | _, _ => None
      end
  | Neg w e => match eval e r m with Some v => Some (wrap w (- v)) | None => None end
  | Not w e => match eval e r m with Some v => Some (2 ^ bits w - 1 - v) | None => None end
  | Bin w o a b =>
      match eval a r m, eval b r m with
      | Some x, Some y => binary w o x y
      | _, _ => None
      end
  | Cast w e => match eval e r m with Some v => Some (wrap w v) | None => None end
  end.

Fixpoint evals (es : list expr) (r : locals) (m : mem) : option (list Z) :=
  match es with
  | [] => Some []
  | e :: es =>
      match eval e r m, evals es r m with
      | Some v, Some vs => Some (v :: vs)
      | _, _ => None
      end
  end.

(** Conditions evaluate their second half only where C does. *)
Fixpoint test (c : cond) (r : locals) (m : mem) : option bool :=
  match c with
  | Cmp o a b =>
      match eval a r m, eval b r m with
      | Some x, Some y => Some (compare o x y)
      | _, _ => None
      end
  | NonZero e => match eval e r m with Some v => Some (negb (v =? 0)) | None => None end
  | CNot c => match test c r m with Some b => Some (negb b) | None => None end
  | CAnd a b =>
      match test a r m with
      | Some true => test b r m
      | Some false => Some false
      | None => None
      end
  | COr a b =>
      match test a r m with
      | Some false => test b r m
      | Some true => Some true
      | None => None
      end
  end.

(** Control stack: statements to run, the loop to go on with (or to leave, on [Break]), the caller to return to. The last
    entry of a stack is always [KEnd]: return to whoever called the kernel. *)
Inductive frame_item :=
| KStmt (s : stmt)
| KLoop (c : cond) (body : stmt)
| KRet (result : option nat) (r : locals)
| KEnd.

Record cfg := Cfg { ck : list frame_item; cl : locals; cm : mem }.

(** What an engine does next: return to its caller, be stuck, take a private step, or call a primitive. *)
Inductive engine_act (PRIM MEM STATE : Type) :=
| EReturn (v : Z) (m : MEM)
| EStuck
| ETau (s : STATE)
| EPrim (p : PRIM).
Arguments EReturn {_ _ _}. Arguments EStuck {_ _ _}. Arguments ETau {_ _ _}. Arguments EPrim {_ _ _}.

(** A primitive of the machine as C calls it: name and arguments. *)
Definition cprim : Type := string * list Z.

Definition set_result (x : option nat) (v : Z) (r : locals) : locals :=
  match x with Some x => <[x := v]> r | None => r end.

(** The stack after [Break]: behind the innermost loop. [None]: no loop. *)
Fixpoint pop_loop (k : list frame_item) : option (list frame_item) :=
  match k with
  | KStmt _ :: k => pop_loop k
  | KLoop _ _ :: k => Some k
  | _ => None
  end.

(** The stack after [Return]: at the caller. *)
Fixpoint pop_call (k : list frame_item) : list frame_item :=
  match k with
  | KStmt _ :: k | KLoop _ _ :: k => pop_call k
  | k => k
  end.

Definition return_to (k : list frame_item) (v : Z) (r : locals) (m : mem) : engine_act cprim mem cfg :=
  match k with
  | KRet x r0 :: k => ETau (Cfg k (set_result x v r0) m)
  | [KEnd] => EReturn v m
  | _ => EStuck
  end.

Definition enter (fd : fundef) (args : list Z) (k : list frame_item) (m : mem) : cfg :=
  Cfg (KStmt (fn_body fd) :: k) (args ++ replicate (fn_locals fd) 0) m.

(** Primitives of [arch] that concern this CPU alone: [None] if the name is not one of them, [Some None] if the call is
    undefined, else result and memory. *)
Definition builtins := nat -> string -> list Z -> mem -> option (option (Z * mem)).

Section next.
  Context (B : builtins) (M : module) (cpu : nat).

  Definition next (s : cfg) : engine_act cprim mem cfg :=
    let (k, r, m) := s in
    match k with
    | [] => EStuck
    | KLoop c body :: k => ETau (Cfg (KStmt (While c body) :: k) r m)
    | KRet _ _ :: _ | KEnd :: _ => return_to k 0 r m
    | KStmt s :: k =>
        match s with
        | Skip => ETau (Cfg k r m)
        | Assign x e =>
            match eval e r m with
            | Some v => ETau (Cfg k (<[x := v]> r) m)
            | None => EStuck
            end
        | Store o i f j e =>
            match eval i r m, eval j r m, eval e r m with
            | Some iv, Some jv, Some v =>
                match m !! ((o, iv, f, jv) : cell) with
                | Some _ => ETau (Cfg k r (<[(o, iv, f, jv) := v]> m))
                | None => EStuck
                end
            | _, _, _ => EStuck
            end
        | Seq a b => ETau (Cfg (KStmt a :: KStmt b :: k) r m)
        | If c a b =>
            match test c r m with
            | Some t => ETau (Cfg (KStmt (if t then a else b) :: k) r m)
            | None => EStuck
            end
        | While c body =>
            match test c r m with
            | Some true => ETau (Cfg (KStmt body :: KLoop c body :: k) r m)
            | Some false => ETau (Cfg k r m)
            | None => EStuck
            end
        | Break =>
            match pop_loop k with
            | Some k => ETau (Cfg k r m)
            | None => EStuck
            end
        | Return e =>
            match eval e r m with
            | Some v => return_to (pop_call k) v r m
            | None => EStuck
            end
        | Call x f es =>
            match evals es r m with
            | Some args =>
                match M f with
                | Some fd =>
                    if Nat.eqb (length args) (fn_params fd)
                    then ETau (enter fd args (KRet x r :: k) m) else EStuck
                | None =>
                    match B cpu f args m with
                    | Some (Some (v, m')) => ETau (Cfg k (set_result x v r) m')
                    | Some None => EStuck
                    | None => EPrim (f, args)
                    end
                end
            | None => EStuck
            end
        end
    end.
End next.

(** Return of a primitive with result [v]; its effect on the cells owned is [m]. *)
Definition resume (s : cfg) (v : Z) (m : mem) : cfg :=
  match ck s with
  | KStmt (Call x _ _) :: k => Cfg k (set_result x v (cl s)) m
  | k => Cfg k (cl s) m
  end.
