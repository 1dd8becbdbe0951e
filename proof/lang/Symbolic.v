(** The C subset on symbols: an executor whose results stand for those of [Semantics] for all numbers.

    Locals hold terms over the numbers that they held at the beginning, and over the cells of memory as they were then. What has been
    written since is a list. A condition leads to two states, each with what must hold for it. Where [Semantics] is stuck, no state
    that the executor finds is meant: what [Semantics] needs there is noted with the rest. [paths_sound] (SymbolicSound.v) says
    that every run of [Semantics] to its first event is an instance of a path that the executor finds. The executor of
    [ashlar prove --binary] is compared with this one, path by path. *)
From Ashlar Require Export lang.Semantics.

Inductive term :=
| TConst (z : Z)
| TLocal (x : nat)
| TCell (object : string) (index : term) (field : string) (element : term)
| TNeg (w : width) (a : term)
| TNot (w : width) (a : term)
| TBin (w : width) (o : operator) (a b : term)
| TCast (w : width) (a : term)
| TIf (c : claim) (a b : term)
with claim :=
| CNever
| CIs (c : comparison) (a b : term)
| CNeg (c : claim)
| CBoth (a b : claim)
| CEither (a b : claim).

(** A write: a cell and what it holds then. *)
Definition write : Type := string * term * string * term * term.

(** ** What they stand for *)

Section meaning.
  Context (rho : locals) (mu : cell -> Z).

  Definition total (v : option Z) : Z := match v with Some v => v | None => 0 end.

  Fixpoint val (t : term) : Z :=
    match t with
    | TConst z => z
    | TLocal x => total (rho !! x)
    | TCell o i f j => mu (o, val i, f, val j)
    | TNeg w a => wrap w (- val a)
    | TNot w a => 2 ^ bits w - 1 - val a
    | TBin w o a b => total (binary w o (val a) (val b))
    | TCast w a => wrap w (val a)
    | TIf c a b => if holds c then val a else val b
    end
  with holds (c : claim) : bool :=
    match c with
    | CNever => false
    | CIs c a b => compare c (val a) (val b)
    | CNeg c => negb (holds c)
    | CBoth a b => holds a && holds b
    | CEither a b => holds a || holds b
    end.

  (** Memory behind these writes, the last of which comes first. *)
  Fixpoint after (log : list write) : cell -> Z :=
    match log with
    | [] => mu
    | (o, i, f, j, v) :: log =>
        fun c => if decide (c = (o, val i, f, val j)) then val v else after log c
    end.

  Definition all_hold (cs : list claim) : Prop := Forall (fun c => holds c = true) cs.
End meaning.

(** ** Expressions and conditions: what they are, and what [Semantics] needs for it *)

(** How many entries an object has, and how many elements a field of it. *)
Definition sizes : Type := string -> string -> Z * Z.

Section executor.
  Context (size : sizes).

  Definition in_range (o : string) (i : term) (f : string) (j : term) : list claim :=
    [CIs Lt i (TConst (size o f).1); CIs Lt j (TConst (size o f).2)].

  Fixpoint read (log : list write) (o : string) (i : term) (f : string) (j : term) : term :=
    match log with
    | [] => TCell o i f j
    | (o', i', f', j', v) :: log =>
        if String.eqb o o' && String.eqb f f'
        then TIf (CBoth (CIs Eq i i') (CIs Eq j j')) v (read log o i f j)
        else read log o i f j
    end.

  Definition needs (w : width) (o : operator) (b : term) : list claim :=
    match o with
    | Div | Rem => [CIs Ne b (TConst 0)]
    | Shl | Shr => [CIs Lt b (TConst (bits w))]
    | _ => []
    end.

  Fixpoint expression (e : expr) (r : list term) (log : list write) : term * list claim :=
    match e with
    | Const z => (TConst z, [])
    | Var x => match r !! x with Some t => (t, []) | None => (TConst 0, [CNever]) end
    | Load o i f j =>
        let (i, ni) := expression i r log in
        let (j, nj) := expression j r log in
        (read log o i f j, ni ++ nj ++ in_range o i f j)
    | Neg w e => let (t, n) := expression e r log in (TNeg w t, n)
    | Not w e => let (t, n) := expression e r log in (TNot w t, n)
    | Bin w o a b =>
        let (a, na) := expression a r log in
        let (b, nb) := expression b r log in
        (TBin w o a b, na ++ nb ++ needs w o b)
    | Cast w e => let (t, n) := expression e r log in (TCast w t, n)
    end.

  Fixpoint expressions (es : list expr) (r : list term) (log : list write) : list term * list claim :=
    match es with
    | [] => ([], [])
    | e :: es =>
        let (t, n) := expression e r log in
        let (ts, ns) := expressions es r log in
        (t :: ts, n ++ ns)
    end.

  Definition under (given : claim) (cs : list claim) : list claim := map (CEither (CNeg given)) cs.

  Fixpoint condition (c : cond) (r : list term) (log : list write) : claim * list claim :=
    match c with
    | Cmp o a b =>
        let (a, na) := expression a r log in
        let (b, nb) := expression b r log in
        (CIs o a b, na ++ nb)
    | NonZero e => let (t, n) := expression e r log in (CIs Ne t (TConst 0), n)
    | CNot c => let (c, n) := condition c r log in (CNeg c, n)
    | CAnd a b =>
        let (a, na) := condition a r log in
        let (b, nb) := condition b r log in
        (CBoth a b, na ++ under a nb)
    | COr a b =>
        let (a, na) := condition a r log in
        let (b, nb) := condition b r log in
        (CEither a b, na ++ under (CNeg a) nb)
    end.

  (** ** Statements *)

  Inductive item :=
  | SStmt (s : stmt)
  | SLoop (c : cond) (body : stmt)
  | SRet (result : option nat) (r : list term)
  | SEnd.

  (** [held]: what holds on the way to this state. *)
  Record state := State { stack : list item; here : list term; log : list write; held : list claim }.

  Inductive event :=
  | Called (f : string) (args : list term)
  | Returned (v : term)
  (** A loop is entered; the locals. *)
  | Looped (r : list term).

  Inductive outcome := Going (s : state) | Reached (s : state) (e : event).

  Definition assign (x : option nat) (t : term) (r : list term) : list term :=
    match x with Some x => <[x := t]> r | None => r end.

  Fixpoint behind_loop (k : list item) : option (list item) :=
    match k with
    | SStmt _ :: k => behind_loop k
    | SLoop _ _ :: k => Some k
    | _ => None
    end.

  Fixpoint behind_body (k : list item) : list item :=
    match k with
    | SStmt _ :: k | SLoop _ _ :: k => behind_body k
    | k => k
    end.

  Definition return_from (k : list item) (t : term) (w : list write) (h : list claim) : list outcome :=
    match k with
    | SRet x r :: k => [Going (State k (assign x t r) w h)]
    | [SEnd] => [Reached (State k [] w h) (Returned t)]
    | _ => []
    end.

  Context (M : module).

  Definition step (s : state) : list outcome :=
    let (k, r, w, h) := s in
    match k with
    | [] => []
    | SLoop c body :: k => [Going (State (SStmt (While c body) :: k) r w h)]
    | SRet _ _ :: _ | SEnd :: _ => return_from k (TConst 0) w h
    | SStmt s :: k =>
        match s with
        | Skip => [Going (State k r w h)]
        | Assign x e => let (t, n) := expression e r w in [Going (State k (<[x := t]> r) w (n ++ h))]
        | Store o i f j e =>
            let (i, ni) := expression i r w in
            let (j, nj) := expression j r w in
            let (t, n) := expression e r w in
            [Going (State k r ((o, i, f, j, t) :: w) (ni ++ nj ++ n ++ in_range o i f j ++ h))]
        | Seq a b => [Going (State (SStmt a :: SStmt b :: k) r w h)]
        | If c a b =>
            let (c, n) := condition c r w in
            [Going (State (SStmt a :: k) r w (c :: n ++ h)); Going (State (SStmt b :: k) r w (CNeg c :: n ++ h))]
        | While c body =>
            let (t, n) := condition c r w in
            [Reached (State (SStmt s :: k) r w (t :: n ++ h)) (Looped r); Going (State k r w (CNeg t :: n ++ h))]
        | Break => match behind_loop k with Some k => [Going (State k r w h)] | None => [] end
        | Return e => let (t, n) := expression e r w in return_from (behind_body k) t w (n ++ h)
        | Call x f es =>
            let (ts, n) := expressions es r w in
            match M f with
            | Some fd =>
                if Nat.eqb (length ts) (fn_params fd)
                then [Going (State (SStmt (fn_body fd) :: SRet x r :: k) (ts ++ replicate (fn_locals fd) (TConst 0)) w (n ++ h))]
                else []
            | None => [Reached (State (SStmt s :: k) r w (n ++ h)) (Called f ts)]
            end
        end
    end.

  (** States that [keep] says cannot be are left out: a solver may say so. [None]: it takes more steps. *)
  Context (keep : state -> bool).

  Fixpoint paths (fuel : nat) (s : state) : option (list (state * event)) :=
    match fuel with
    | O => None
    | S fuel =>
        let fix all (found : list outcome) : option (list (state * event)) :=
          match found with
          | [] => Some []
          | Reached s e :: found => match all found with Some more => Some ((s, e) :: more) | None => None end
          | Going s :: found =>
              match (if keep s then paths fuel s else Some []), all found with
              | Some these, Some more => Some (these ++ more)
              | _, _ => None
              end
          end
        in all (step s)
    end.

  (** A function of so many parameters, with any values in them. *)
  Definition begin (fd : fundef) : state :=
    State [SStmt (fn_body fd); SEnd] (map TLocal (seq 0 (fn_params fd)) ++ replicate (fn_locals fd) (TConst 0)) [] [].
End executor.
