(* Compares what the executor of `ashlar prove --binary` makes of the kernel's terms with what that of Symbolic.v makes of them, for all
   numbers. Input: what `validate --paths` prints. Each path that Symbolic.v finds must be covered: with whatever holds on it, one of the
   other's paths holds, and has the same event and the same memory. A solver says so. *)

module Big = Z
open Symbolic
open Smt

(* ---- the solver ---- *)

let from_solver, to_solver = Unix.open_process "z3 -in -smt2"

(* Another one, which keeps the declarations of memory: quick where a question is short. *)
let from_quick, to_quick = Unix.open_process "z3 -in -smt2"

(* What a solver has said. Any other line is an error of it, behind which answers would be taken for those of other questions. *)
let answer_of from =
  match input_line from with
  | ("sat" | "unsat" | "unknown") as answer -> answer
  | other -> failwith ("z3: " ^ other)

let declare_memory known =
  Printf.fprintf to_quick "(declare-const %s (Array (_ BitVec 32) (_ BitVec %d)))\n" known.array known.bits

let cannot_be_quickly text =
  Printf.fprintf to_quick "(push)\n%s(check-sat)\n(pop)\n" text;
  flush to_quick;
  answer_of from_quick = "unsat"

(* Arrays of memory that a text names. *)
let arrays text =
  let found = Hashtbl.create 20 in
  let is_digit at = at < String.length text && text.[at] >= '0' && text.[at] <= '9' in
  String.iteri
    (fun at letter ->
      if letter = 'm' && is_digit (at + 1) && at > 0 && (text.[at - 1] = ' ' || text.[at - 1] = '(') then begin
        let last = ref (at + 1) in
        while is_digit !last do incr last done;
        Hashtbl.replace found (String.sub text at (!last - at)) ()
      end)
    text;
  found

(* Whether what the text asserts can be. *)
let ask text =
  output_string to_solver "(reset)\n(set-logic QF_AUFBV)\n(set-option :timeout 60000)\n";
  let used = arrays text in
  Hashtbl.iter
    (fun _ known ->
      if Hashtbl.mem used known.array then
        Printf.fprintf to_solver "(declare-const %s (Array (_ BitVec 32) (_ BitVec %d)))\n" known.array known.bits)
    cells;
  output_string to_solver text;
  output_string to_solver "(check-sat)\n";
  flush to_solver;
  answer_of from_solver

(* ---- the input ---- *)

type way = { holds : string list; event : string; said : word list; memory : (string * string) list }

type check = { name : string; locals : int array; code : fundef; mutable given : string list; definitions : Buffer.t; mutable ways : way list }

let functions : (string, fundef) Hashtbl.t = Hashtbl.create 600

let word_of text =
  match String.split_on_char ':' text with
  | [ text; bits ] -> { text; has = int_of_string bits }
  | _ -> failwith ("no term: " ^ text)

let rec numbers found = function
  | first :: rest when int_of_string_opt first <> None -> numbers (int_of_string first :: found) rest
  | rest -> (Array.of_list (List.rev found), rest)

(* The words before a mark, and those behind it. *)
let rec split mark = function
  | word :: rest when word = mark -> ([], rest)
  | word :: rest ->
      let before, behind = split mark rest in
      (word :: before, behind)
  | [] -> failwith ("no " ^ mark)

let way words =
  let holds, words = split "=" words in
  let event, written = split ";" words in
  let event, said =
    match event with
    | "call" :: name :: said -> ("call " ^ name, said)
    | name :: said -> (name, said)
    | [] -> failwith "no event"
  in
  let rec memory = function
    | at :: now :: rest -> ("m" ^ at, (word_of now).text) :: memory rest
    | _ -> []
  in
  { holds = List.map (fun one -> (word_of one).text) holds; event; said = List.map word_of said; memory = memory written }

let check words =
  let made name locals code =
    { name; locals; code; given = []; definitions = Buffer.create 1000; ways = [] }
  in
  let alone locals body = { fn_params = Array.length locals; fn_locals = 0; fn_body = body } in
  match words with
  | "function" :: name :: rest ->
      let locals, _ = numbers [] rest in
      made name locals (Hashtbl.find functions name)
  | "return" :: rest ->
      let locals, tree = numbers [] rest in
      made (String.concat " " tree) locals (alone locals (Return (Trees.whole (Trees.expression tree))))
  | "test" :: rest ->
      let locals, tree = numbers [] rest in
      let number value = Return (Const (Big.of_int value)) in
      made (String.concat " " tree) locals (alone locals (If (Trees.whole (Trees.condition tree), number 1, number 0)))
  | _ -> failwith "no such check"

(* ---- paths ---- *)

(* Characters of a short question. *)
let short = 4_000

(* States of a function from which on the solver is asked whether they can be, and how many may be left then. *)
let many = 400
let most = 20_000

exception Too_many

let assertion text = Printf.sprintf "(assert %s)\n" text

(* What is known at the beginning of a check. *)
let beginning check =
  let local at bits =
    let register = { text = Printf.sprintf "r%d" at; has = 64 } in
    Printf.sprintf "(declare-const r%d (_ BitVec 64))\n(define-fun l%d () (_ BitVec %d) %s)\n" at at bits
      (resized register bits)
  in
  let locals = Array.to_list (Array.mapi local check.locals) in
  let given = List.map (fun one -> assertion (Printf.sprintf "(= %s #b1)" one)) check.given in
  String.concat "" (locals @ [ Buffer.contents check.definitions ] @ given)

(* A state's terms behind what is known, and that it holds. *)
let with_state beginning writer state =
  let held = List.map (fun one -> assertion (claim writer one)) state.held in
  beginning ^ Buffer.contents writer.out ^ String.concat "" held

(* All paths of the function: without the solver, or, where there are many, with those left out of which it says that they cannot be. *)
let all_paths beginning check =
  let found = Hashtbl.find_opt functions in
  let count = ref 0 in
  let counted limit =
    incr count;
    if !count > limit then raise Too_many
  in
  let run keep = paths size found keep 100_000 (begin0 check.code) in
  let asked = ref [] in
  let may_be state =
    counted most;
    (* What only goes on has nothing new to ask. *)
    if state.held == !asked then true
    else begin
      asked := state.held;
      ask (with_state beginning (writer check.locals) state) <> "unsat"
    end
  in
  let all =
    try run (fun _ -> counted many; true)
    with Too_many ->
      count := 0;
      (try run may_be with Too_many -> failwith ("too many paths: " ^ check.name))
  in
  match all with Some all -> all | None -> failwith "a function without an end"

(* That the other's path is the one on which this state ends with this event. *)
let is_covered_by writer state event way =
  let name, terms =
    match event with
    | Called (name, terms) -> ("call " ^ name, terms)
    | Returned term -> ("return", [ term ])
    | Looped terms -> ("loop", terms)
  in
  if name <> way.event || List.length terms <> List.length way.said then None
  else
    let same term said =
      let term = word writer term in
      let wide = max term.has said.has in
      Printf.sprintf "(= %s %s)" (extended term wide) (extended said wide)
    in
    let mine = memory writer state.log in
    let arrays = List.sort_uniq compare (List.map fst way.memory @ List.of_seq (Hashtbl.to_seq_keys mine)) in
    let unchanged array =
      let now written = Option.value ~default:array written in
      writer.next <- writer.next + 1;
      let any = Printf.sprintf "x%d" writer.next in
      Printf.bprintf writer.out "(declare-const %s (_ BitVec 32))\n" any;
      Printf.sprintf "(= (select %s %s) (select %s %s))" (now (Hashtbl.find_opt mine array)) any
        (now (List.assoc_opt array way.memory))
        any
    in
    let holds = List.map (fun one -> Printf.sprintf "(= %s #b1)" one) way.holds in
    let all = holds @ List.map2 same terms way.said @ List.map unchanged arrays in
    Some (Printf.sprintf "(and true %s)" (String.concat " " all))

(* How many paths there are, and what the solver says of the first that is not covered. *)
let compare_one check =
  let beginning = beginning check in
  let one (count, wrong) (state, event) =
    let writer = writer check.locals in
    let covered = List.filter_map (is_covered_by writer state event) check.ways in
    let none = assertion (Printf.sprintf "(not (or false %s))" (String.concat "\n" covered)) in
    let text = with_state beginning writer state ^ none in
    let answer = if String.length text < short && cannot_be_quickly text then "unsat" else ask text in
    (count + 1, if wrong = None && answer <> "unsat" then Some answer else wrong)
  in
  List.fold_left one (0, None) (all_paths beginning check)

(* That words of the solver are those of Semantics.v: each operator and comparison with numbers at which something changes. *)
let operators_differ () =
  let edges bits = List.map (fun (shift, off) -> Big.add (Big.shift_left Big.one shift) (Big.of_int off))
      [ (0, -1); (0, 0); (0, 1); (bits / 2, 0); (bits - 1, 0); (bits - 1, -1); (bits, -1) ] in
  let operators = [ Add; Sub; Mul; Div; Rem; And; Or; Xor; Shl; Shr ] in
  let never = fun _ -> Big.zero in
  let writer = writer [||] in
  let wrong = ref [] in
  let is term =
    let meant = val0 [] never term in
    let word = word writer term in
    let wide = max word.has (max 1 (Big.numbits meant)) in
    wrong := Printf.sprintf "(not (= %s %s))" (extended word wide) (literal meant wide) :: !wrong
  in
  List.iter
    (fun w ->
      let bits = width w in
      List.iter
        (fun a ->
          List.iter is [ TNeg (w, TConst a); TNot (w, TConst a) ];
          List.iter (fun narrow -> is (TCast (narrow, TConst a))) [ W8; W16; W32; W64 ];
          List.iter
            (fun b ->
              List.iter
                (fun o ->
                  let needed = needs w o (TConst b) in
                  if List.for_all (holds [] never) needed then is (TBin (w, o, TConst a, TConst b)))
                operators;
              let number c = TIf (c, TConst Big.one, TConst Big.zero) in
              List.iter (fun c -> is (number (CIs (c, TConst a, TConst b)))) [ Eq0; Ne; Lt0; Le; Gt0; Ge ])
            (edges bits))
        (edges bits))
    [ W8; W16; W32; W64 ];
  let some = assertion (Printf.sprintf "(or %s)" (String.concat "\n" !wrong)) in
  ask (Buffer.contents writer.out ^ some) <> "unsat"

(* ---- all of it ---- *)

let () =
  output_string to_quick "(set-option :timeout 2000)\n";
  if operators_differ () then begin
    print_endline "an operator has another meaning to the solver than in Semantics.v";
    exit 1
  end;
  let compared = ref 0 and ways = ref 0 and differ = ref 0 in
  let current = ref None and done_before = Hashtbl.create 5000 in
  let finish check =
    (* Trees that occur more than once are compared once. *)
    let key = (check.locals, check.code, check.given, Buffer.contents check.definitions, check.ways) in
    if not (Hashtbl.mem done_before (Digest.string (Marshal.to_string key []))) then begin
      Hashtbl.replace done_before (Digest.string (Marshal.to_string key [])) ();
      incr compared;
      let count, wrong = compare_one check in
      ways := !ways + count;
      Option.iter
        (fun answer ->
          incr differ;
          if !differ <= 10 then Printf.printf "%s: not the same (%s)\n" check.name answer)
        wrong
    end
  in
  let one line =
    let words = List.filter (( <> ) "") (String.split_on_char ' ' line) in
    match (words, !current) with
    | [ "cells"; at; item; field; bits; entries; elements ], _ ->
        let number = int_of_string in
        let known = { array = "m" ^ at; bits = number bits; entries = number entries; elements = number elements } in
        declare_memory known;
        Hashtbl.replace cells (item, Trees.field field) known
    | "function" :: name :: parameters :: others :: tree, _ ->
        let fn_body = Trees.whole (Trees.statement tree) in
        Hashtbl.replace functions name { fn_params = int_of_string parameters; fn_locals = int_of_string others; fn_body }
    | "check" :: words, _ -> current := Some (check words)
    | "given" :: terms, Some check -> check.given <- List.map (fun one -> (word_of one).text) terms
    | "define" :: _, Some check -> Buffer.add_string check.definitions (String.sub line 7 (String.length line - 7) ^ "\n")
    | "path" :: words, Some check -> check.ways <- way words :: check.ways
    | [ "end" ], Some check -> finish check; current := None
    | _ -> failwith "no such line"
  in
  let number = ref 0 in
  (try
     while true do
       incr number;
       one (input_line stdin)
     done
   with
  | End_of_file -> ()
  | Failure what | Invalid_argument what ->
      Printf.eprintf "line %d: %s\n" !number what;
      exit 2);
  Printf.printf "%d functions and expressions with %d paths compared, %d differ\n" !compared !ways !differ;
  exit (if !differ = 0 && !compared > 0 && !ways > 0 then 0 else 1)
