(* Executes the examples on standard input, which `validate --examples` prints, as Semantics.v says, and compares. *)

module Big = Z
open Semantics

let fail line what =
  Printf.eprintf "line %d: %s\n" line what;
  exit 2

let width = function "8" -> W8 | "16" -> W16 | "32" -> W32 | "64" -> W64 | other -> failwith ("width " ^ other)
let field name = if name = "." then "" else name

let operator = function
  | "Add" -> Some Add | "Sub" -> Some Sub | "Mul" -> Some Mul | "Div" -> Some Div | "Rem" -> Some Rem
  | "And" -> Some And | "Or" -> Some Or | "Xor" -> Some Xor | "Shl" -> Some Shl | "Shr" -> Some Shr
  | _ -> None

(* Those with a zero are of the C subset; Coq has others of these names. *)
let comparison = function
  | "Eq" -> Some Eq0 | "Ne" -> Some Ne | "Lt" -> Some Lt0 | "Le" -> Some Le | "Gt" -> Some Gt0 | "Ge" -> Some Ge
  | _ -> None

(* A tree in prefix form, and the words behind it. *)
let rec expression = function
  | "Const" :: value :: rest -> (Const (Big.of_string value), rest)
  | "Var" :: local :: rest -> (Var (int_of_string local), rest)
  | "Load" :: item :: name :: rest ->
      let index, rest = expression rest in
      let element, rest = expression rest in
      (Load (item, index, field name, element), rest)
  | "Neg" :: bits :: rest ->
      let a, rest = expression rest in
      (Neg (width bits, a), rest)
  | "Not" :: bits :: rest ->
      let a, rest = expression rest in
      (Not (width bits, a), rest)
  | "Cast" :: bits :: rest ->
      let a, rest = expression rest in
      (Cast (width bits, a), rest)
  | name :: bits :: rest when operator name <> None ->
      let a, rest = expression rest in
      let b, rest = expression rest in
      (Bin (width bits, Option.get (operator name), a, b), rest)
  | words -> failwith ("no expression: " ^ String.concat " " words)

let rec condition = function
  | name :: rest when comparison name <> None ->
      let a, rest = expression rest in
      let b, rest = expression rest in
      (Cmp (Option.get (comparison name), a, b), rest)
  | "NonZero" :: rest ->
      let a, rest = expression rest in
      (NonZero a, rest)
  | "CNot" :: rest ->
      let a, rest = condition rest in
      (CNot a, rest)
  | "CAnd" :: rest ->
      let a, rest = condition rest in
      let b, rest = condition rest in
      (CAnd (a, b), rest)
  | "COr" :: rest ->
      let a, rest = condition rest in
      let b, rest = condition rest in
      (COr (a, b), rest)
  | words -> failwith ("no condition: " ^ String.concat " " words)

let whole (tree, rest) = if rest = [] then tree else failwith "words behind a tree"

let rec expressions count words =
  if count = 0 then ([], words)
  else
    let e, rest = expression words in
    let others, rest = expressions (count - 1) rest in
    (e :: others, rest)

let rec statement = function
  | "Skip" :: rest -> (Skip, rest)
  | "Break" :: rest -> (Break, rest)
  | "Assign" :: local :: rest ->
      let e, rest = expression rest in
      (Assign (int_of_string local, e), rest)
  | "Store" :: item :: name :: rest ->
      let index, rest = expression rest in
      let element, rest = expression rest in
      let e, rest = expression rest in
      (Store (item, index, field name, element, e), rest)
  | "Seq" :: rest ->
      let a, rest = statement rest in
      let b, rest = statement rest in
      (Seq (a, b), rest)
  | "If" :: rest ->
      let c, rest = condition rest in
      let a, rest = statement rest in
      let b, rest = statement rest in
      (If (c, a, b), rest)
  | "While" :: rest ->
      let c, rest = condition rest in
      let body, rest = statement rest in
      (While (c, body), rest)
  | "Return" :: rest ->
      let e, rest = expression rest in
      (Return e, rest)
  | "Call" :: result :: name :: count :: rest ->
      let given, rest = expressions (int_of_string count) rest in
      (Call (int_of_string_opt result, name, given), rest)
  | words -> failwith ("no statement: " ^ String.concat " " words)

(* Numbers, then cells with their values; the words from the sign on that ends them. *)
let rec values numbers cells = function
  | "=" :: rest -> (List.rev numbers, cells, rest)
  | "|" :: item :: index :: name :: element :: value :: rest ->
      let cell = (((item, Big.of_string index), field name), Big.of_string element) in
      values numbers ((cell, Big.of_string value) :: cells) rest
  | value :: rest -> values (Big.of_string value :: numbers) cells rest
  | [] -> (List.rev numbers, cells, [])

(* The words before the first cell, and the others. *)
let rec split = function
  | ([] | "|" :: _) as cells -> ([], cells)
  | word :: rest ->
      let before, cells = split rest in
      (word :: before, cells)

let functions : (string, fundef) Hashtbl.t = Hashtbl.create 600

(* The first event: a call of what has no term, the return, or a loop that is entered; and the memory there. *)
let rec first_event fuel cfg =
  if fuel = 0 then failwith "no event" ;
  let words name numbers = String.concat " " (name :: List.map Big.to_string numbers) in
  match cfg.ck with
  | KStmt (While (c, _)) :: _ when test c cfg.cl cfg.cm = Some true -> (words "loop" cfg.cl, cfg.cm)
  | _ -> (
      match next no_builtins (Hashtbl.find_opt functions) 0 cfg with
      | ETau cfg -> first_event (fuel - 1) cfg
      | EReturn (value, memory) -> (words "return" [ value ], memory)
      | EPrim (name, given) -> (words ("call " ^ name) given, cfg.cm)
      | EStuck -> ("stuck", cfg.cm))

(* What is said otherwise than in the example. *)
let run name arguments cells event =
  let f = Hashtbl.find functions name and before = memory cells in
  let said, after = first_event 100_000 (enter f arguments [ KEnd ] before) in
  let event, written = split event in
  let _, written, _ = values [] [] written in
  let event = String.concat " " event in
  let wrong (cell, value) = held after cell <> Some value in
  if said <> event then Some (said ^ ", not " ^ event)
  else if List.exists wrong written then Some "another value in a cell that is written"
  else if List.exists (fun cell -> not (List.mem_assoc cell written)) (changed before after) then
    Some "a cell is written that the example does not have"
  else None

let () =
  let tree = ref (fun _ _ -> None) and text = ref "" in
  let compared = ref 0 and differ = ref 0 and number = ref 0 in
  let count difference =
    incr compared;
    let show what =
      incr differ;
      if !differ <= 10 then Printf.printf "line %d: Semantics.v says %s; of\n  %s\n" !number what !text
    in
    Option.iter show difference
  in
  let one words =
    match words with
    | "expression" :: words ->
        let e = whole (expression words) in
        tree := fun locals memory -> Option.map Big.to_string (eval e locals memory)
    | "condition" :: words ->
        let c = whole (condition words) in
        tree := fun locals memory -> Option.map (fun holds -> if holds then "1" else "0") (test c locals memory)
    | "try" :: words ->
        let locals, cells, answer = values [] [] words in
        let said = Option.value ~default:"stuck" (!tree locals (memory cells)) in
        let answer = String.concat " " answer in
        count (if said = answer then None else Some (said ^ ", the evaluator " ^ answer))
    | "function" :: name :: parameters :: others :: words ->
        let fn_body = whole (statement words) in
        Hashtbl.replace functions name { fn_params = int_of_string parameters; fn_locals = int_of_string others; fn_body }
    | "run" :: name :: words ->
        let arguments, cells, event = values [] [] words in
        count (run name arguments cells event)
    | _ -> failwith "no such line"
  in
  (try
     while true do
       let line = input_line stdin in
       incr number;
       let words = List.filter (( <> ) "") (String.split_on_char ' ' line) in
       if List.hd words <> "try" then text := line;
       one words
     done
   with
  | End_of_file -> ()
  | Failure what -> fail !number what);
  Printf.printf "%d examples compared, %d differ\n" !compared !differ;
  exit (if !differ = 0 && !compared > 0 then 0 else 1)
