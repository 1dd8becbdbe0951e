(* Trees of the C subset in prefix form, as `validate --paths` prints them. *)

module Big = Z
open Symbolic

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
