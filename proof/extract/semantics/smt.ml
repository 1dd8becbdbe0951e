(* Terms of Symbolic.v as text for an SMT solver: words of as many bits as their values need, and memory as one array for each field of each
   object. That a word has enough bits follows from those of locals and cells: nothing is cut off that the term does not cut off. *)

module Big = Z
open Symbolic

(* A field of an object: its array, the bits of a cell, how many entries the object has, how many elements the field. *)
type cells = { array : string; bits : int; entries : int; elements : int }

let cells : (string * string, cells) Hashtbl.t = Hashtbl.create 300
let size item field =
  let known = Hashtbl.find cells (item, field) in
  (Big.of_int known.entries, Big.of_int known.elements)

let width = function W8 -> 8 | W16 -> 16 | W32 -> 32 | W64 -> 64
let literal value bits = Printf.sprintf "(_ bv%s %d)" (Big.to_string value) bits

(* A word, and how many bits it has. *)
type word = { text : string; has : int }

let extended word bits =
  if word.has = bits then word.text else Printf.sprintf "((_ zero_extend %d) %s)" (bits - word.has) word.text

(* The low bits of a word, or more. *)
let resized word bits =
  if word.has > bits then Printf.sprintf "((_ extract %d 0) %s)" (bits - 1) word.text else extended word bits

(* Terms share parts: each part is defined once, where it stands in memory. *)
module Shared (T : sig type t end) = Hashtbl.Make (struct
  type t = T.t
  let equal = ( == )
  let hash = Hashtbl.hash
end)
module Terms = Shared (struct type t = term end)
module Claims = Shared (struct type t = claim end)

type writer = { locals : int array; out : Buffer.t; terms : word Terms.t; claims : string Claims.t; mutable next : int }

let writer locals =
  { locals; out = Buffer.create 10000; terms = Terms.create 100; claims = Claims.create 100; next = 0 }

let defined writer sort body =
  writer.next <- writer.next + 1;
  let name = Printf.sprintf "s%d" writer.next in
  Printf.bprintf writer.out "(define-fun %s () %s %s)\n" name sort body;
  name

let rec word writer term =
  match Terms.find_opt writer.terms term with
  | Some known -> known
  | None ->
      let bits, body = meaning writer term in
      let known = { text = defined writer (Printf.sprintf "(_ BitVec %d)" bits) body; has = bits } in
      Terms.add writer.terms term known;
      known

(* As many bits as the value needs, and the text. *)
and meaning writer = function
  | TConst value ->
      let bits = max 1 (Big.numbits value) in
      (bits, literal value bits)
  | TLocal x -> (writer.locals.(x), Printf.sprintf "l%d" x)
  | TCell (item, i, field, j) ->
      let known = Hashtbl.find cells (item, field) in
      (known.bits, Printf.sprintf "(select %s %s)" known.array (flat writer known i j))
  | TNeg (w, a) ->
      let bits = width w in
      (bits, Printf.sprintf "(bvneg %s)" (resized (word writer a) bits))
  | TNot (w, a) ->
      let bits = width w and a = word writer a in
      if a.has > bits then failwith "the complement of a word of more bits";
      (bits, Printf.sprintf "(bvnot %s)" (extended a bits))
  | TCast (w, a) ->
      let bits = width w in
      (bits, resized (word writer a) bits)
  | TIf (c, a, b) ->
      let c = claim writer c and a = word writer a and b = word writer b in
      let bits = max a.has b.has in
      (bits, Printf.sprintf "(ite %s %s %s)" c (extended a bits) (extended b bits))
  | TBin (w, o, a, b) ->
      let is_constant = match b with TConst _ -> true | _ -> false in
      binary (width w) o (word writer a) (word writer b) is_constant

and binary bits o a b is_constant =
  let wide = max a.has b.has in
  let cut name = (bits, Printf.sprintf "(%s %s %s)" name (resized a bits) (resized b bits)) in
  let whole wide name = (wide, Printf.sprintf "(%s %s %s)" name (extended a wide) (extended b wide)) in
  match o with
  | Add -> cut "bvadd"
  | Sub -> cut "bvsub"
  | Mul -> cut "bvmul"
  | Div -> whole wide "bvudiv"
  | Rem when is_constant ->
      (* The same as bvurem, in the form that the other executor has then. *)
      let a = extended a wide and b = extended b wide in
      (wide, Printf.sprintf "(bvsub %s (bvmul (bvudiv %s %s) %s))" a a b b)
  | Rem -> whole wide "bvurem"
  | And -> whole wide "bvand"
  | Or -> whole wide "bvor"
  | Xor -> whole wide "bvxor"
  | Shl ->
      (* In enough bits for the distance too; then cut off. *)
      let room = max bits wide in
      let _, shifted = whole room "bvshl" in
      (bits, if room = bits then shifted else Printf.sprintf "((_ extract %d 0) %s)" (bits - 1) shifted)
  | Shr -> whole wide "bvlshr"

(* Where a cell is in its array. *)
and flat writer known i j =
  let part term count =
    if count = 1 then literal Big.zero 32 else resized (word writer term) 32
  in
  Printf.sprintf "(bvadd (bvmul %s %s) %s)" (part i known.entries)
    (literal (Big.of_int known.elements) 32)
    (part j known.elements)

and claim writer c =
  match Claims.find_opt writer.claims c with
  | Some known -> known
  | None ->
      let body =
        match c with
        | CNever -> "false"
        | CNeg c -> Printf.sprintf "(not %s)" (claim writer c)
        | CBoth (a, b) -> Printf.sprintf "(and %s %s)" (claim writer a) (claim writer b)
        | CEither (a, b) -> Printf.sprintf "(or %s %s)" (claim writer a) (claim writer b)
        | CIs (c, a, b) ->
            let a = word writer a and b = word writer b in
            let wide = max a.has b.has in
            let is form = Printf.sprintf form (extended a wide) (extended b wide) in
            (match c with
            | Eq0 -> is "(= %s %s)"
            | Ne -> is "(not (= %s %s))"
            | Lt0 -> is "(bvult %s %s)"
            | Le -> is "(bvule %s %s)"
            | Gt0 -> is "(bvugt %s %s)"
            | Ge -> is "(bvuge %s %s)")
      in
      let known = defined writer "Bool" body in
      Claims.add writer.claims c known;
      known

(* The arrays that were written, as they are then. *)
let memory writer log =
  let written = Hashtbl.create 10 in
  let write ((((item, i), field), j), value) =
    let known = Hashtbl.find cells (item, field) in
    let before = Option.value ~default:known.array (Hashtbl.find_opt written known.array) in
    let value = word writer value in
    if value.has > known.bits then failwith "a cell is written with a word of more bits";
    let sort = Printf.sprintf "(Array (_ BitVec 32) (_ BitVec %d))" known.bits in
    let body = Printf.sprintf "(store %s %s %s)" before (flat writer known i j) (extended value known.bits) in
    Hashtbl.replace written known.array (defined writer sort body)
  in
  List.iter write (List.rev log);
  written
