(* Evaluates the examples on standard input, which `validate --examples` prints, as Semantics.v says, and compares. *)

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

(* Locals, cells, and the answer that is compared. *)
let rec values locals cells = function
  | [ "="; answer ] -> (List.rev locals, cells, answer)
  | "|" :: item :: index :: name :: element :: value :: rest ->
      let cell = (((item, Big.of_string index), field name), Big.of_string element) in
      values locals ((cell, Big.of_string value) :: cells) rest
  | value :: rest -> values (Big.of_string value :: locals) cells rest
  | [] -> failwith "no answer"

let () =
  let tree = ref (fun _ _ -> None) and text = ref "" in
  let compared = ref 0 and differ = ref 0 and number = ref 0 in
  let one words =
    match words with
    | "expression" :: words ->
        let e = whole (expression words) in
        tree := fun locals memory -> eval e locals memory
    | "condition" :: words ->
        let c = whole (condition words) in
        tree := fun locals memory -> Option.map (fun holds -> if holds then Big.one else Big.zero) (test c locals memory)
    | "try" :: words ->
        let locals, cells, answer = values [] [] words in
        let said = match !tree locals (memory cells) with Some value -> Big.to_string value | None -> "stuck" in
        incr compared;
        if said <> answer then begin
          incr differ;
          if !differ <= 10 then
            Printf.printf "line %d: Semantics.v says %s, the evaluator %s, of\n  %s\n" !number said answer !text
        end
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
