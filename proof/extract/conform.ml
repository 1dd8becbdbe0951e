(* Random operations on a specification and on the C, and the comparison of their results.

   It talks to the C side, and finds, repeats and shortens sequences of operations. Each layer's operations.ml has its
   operations and performs them on the specification.

   Operations come in episodes, each from a fresh start, so that a failing sequence is short. An episode is one operation
   a line; the C side answers each with a line of numbers. *)

type operation = { name : string; arguments : Z.t list }

module type LAYER = sig
  type state

  (* What is claimed to hold of every state. *)
  val valid : state -> bool

  (* The first operation of an episode, and the state after it. *)
  val start : (int -> int) -> operation * state

  (* Some operation that looks interesting in this state; the function gives random numbers below its argument. *)
  val choose : (int -> int) -> state -> operation

  (* What the specification does: None if its requirement does not hold, else the new state and the results. *)
  val step : state -> operation -> (state * Z.t list) option
end

(* ---- for the layers' operations ---- *)

module Numbers = Map.Make (Z)

let of_bool b = if b then Z.one else Z.zero

(* A number from [first] on and below [limit], the largest often. *)
let between random first limit = Z.of_int (if random 8 = 0 then limit - 1 else first + random (limit - first))

(* ---- what is exchanged ---- *)

let show { name; arguments } = String.concat " " (name :: List.map Z.to_string arguments)
let numbers list = String.concat " " (List.map Z.to_string list)

(* ---- the C side ---- *)

type driver = { path : string; mutable pipes : (in_channel * out_channel) option }

let start_driver path =
  (* Writing to one that has ended is an error like any other. *)
  Sys.set_signal Sys.sigpipe Sys.Signal_ignore;
  { path; pipes = None }

let ended = "nothing: the C side ended"

(* The answers to some operations. The driver answers all it has read when it reads a period. Where a fault makes it end,
   it is started anew for the next operations. *)
let answers driver operations =
  let output, input =
    match driver.pipes with Some pipes -> pipes | None -> Unix.open_process driver.path
  in
  driver.pipes <- Some (output, input);
  let alive = ref true in
  let attempt otherwise action =
    if not !alive then otherwise
    else
      try action ()
      with End_of_file | Sys_error _ ->
        alive := false;
        otherwise
  in
  attempt () (fun () ->
      List.iter (fun operation -> output_string input (show operation ^ "\n")) operations;
      output_string input ".\n";
      flush input);
  alive := true;
  let said = List.map (fun _ -> attempt ended (fun () -> input_line output)) operations in
  if not !alive then begin
    (try ignore (Unix.close_process (output, input)) with Sys_error _ | Unix.Unix_error _ -> ());
    driver.pipes <- None
  end;
  said

module Make (Layer : LAYER) = struct
  (* An operation with the answer that the specification gives. *)
  type expected = operation * string

  (* The specification's answers; None where a requirement does not hold. *)
  let expect first state operations : expected list option =
    let rec go state = function
      | [] -> Some []
      | operation :: rest -> (
          match Layer.step state operation with
          | None -> None
          | Some (state, results) ->
              Option.map (fun rest -> (operation, numbers results) :: rest) (go state rest))
    in
    Option.map (fun rest -> (first, "") :: rest) (go state operations)

  exception Invalid of expected list

  (* A random episode of so many operations. The invariant is looked at now and then, which takes longer than the
     operations do, and at the end. *)
  let episode random length : operation * Layer.state * expected list =
    let first, start = Layer.start random in
    let rec go state left found =
      if (left = 0 || random 1000 = 0) && not (Layer.valid state) then raise (Invalid (List.rev found));
      if left = 0 then List.rev found
      else
        let operation = Layer.choose random state in
        match Layer.step state operation with
        | None -> go state left found
        | Some (state, results) -> go state (left - 1) ((operation, numbers results) :: found)
    in
    (first, start, (first, "") :: go start length [])

  (* The C's answers, some operations at a time. *)
  let said driver size operations =
    let rec go operations =
      if operations = [] then []
      else
        let piece = List.filteri (fun i _ -> i < size) operations in
        let first = answers driver piece in
        first @ go (List.filteri (fun i _ -> i >= size) operations)
    in
    go operations

  (* A place where C and specification differ, with the C's answer: the first, unless it only matters [whether] they do. *)
  let difference ?(whether = false) driver (expected : expected list) =
    let operations = List.map fst expected in
    let all = said driver 400 operations in
    (* Where the C side ended, the answers before that are lost with it. *)
    let all = if List.mem ended all && not whether then said driver 1 operations else all in
    let rec go place expected said =
      match (expected, said) with
      | (_, right) :: _, answer :: _ when right <> answer -> Some (place, answer)
      | _ :: expected, _ :: said -> go (place + 1) expected said
      | _ -> None
    in
    go 0 expected all

  (* The shortest failing prefix of an episode, then without whatever it fails without. *)
  let shorten driver first start expected place =
    let fails operations =
      Option.bind (expect first start operations) (fun expected ->
          Option.map (fun (place, answer) -> (expected, place, answer)) (difference driver expected))
    in
    let prefix list length = List.filteri (fun i _ -> i < length) list in
    (* Leaves out [size] operations from [at] on, wherever it goes on failing. *)
    let rec pass operations size at =
      if at >= List.length operations then operations
      else
        let fewer = List.filteri (fun i _ -> i < at || i >= at + size) operations in
        match fails fewer with
        | Some (_, place, _) -> pass (prefix fewer place) size at
        | None -> pass operations size (at + size)
    in
    let rec passes operations size =
      let fewer = pass operations size 0 in
      if List.length fewer < List.length operations then passes fewer size
      else if size > 1 then passes fewer (size / 2)
      else fewer
    in
    let operations = prefix (List.map fst (List.tl expected)) place in
    fails (passes operations (max 1 (List.length operations / 2)))

  let report seed expected place answer shorter =
    let line (operation, right) = Printf.printf "    %-40s %s\n" (show operation) right in
    let print expected place answer =
      List.iteri (fun i one -> if i <= place then line one) expected;
      Printf.printf "    the C answers                            %s\n" answer
    in
    Printf.printf "seed %d: after %d operations the C answers %s\n" seed place answer;
    match shorter with
    | Some (expected, place, answer) ->
        Printf.printf "these suffice (operation, answer of the specification):\n";
        print expected place answer
    | None ->
        (* It differs only now and then: the C side must have kept something from before. *)
        Printf.printf "the same operations from a fresh start do not differ; they were:\n";
        print expected place answer

  (* Command line: the C side, how many operations, a seed; "whether" where it only matters whether the two differ. *)
  let main () =
    let path, operations, seed, whether =
      match Array.to_list Sys.argv with
      | [ _; path; operations; seed ] -> (path, int_of_string operations, int_of_string seed, false)
      | [ _; path; operations; seed; "whether" ] -> (path, int_of_string operations, int_of_string seed, true)
      | _ -> failwith "arguments: DRIVER OPERATIONS SEED [whether]"
    in
    let driver = start_driver path in
    let state = Random.State.make [| seed |] in
    let random below = Random.State.int state (max 1 below) in
    let rec go left =
      if left > 0 then begin
        let length = min left (1 + random (if random 4 = 0 then 2000 else 100)) in
        let first, start, expected =
          try episode random length
          with Invalid operations ->
            Printf.printf "seed %d: what the specification claims of every state does not hold after:\n" seed;
            List.iter (fun (operation, answer) -> Printf.printf "    %-40s %s\n" (show operation) answer) operations;
            exit 1
        in
        match difference ~whether driver expected with
        | None -> go (left - length)
        | Some _ when whether -> exit 1
        | Some (place, answer) ->
            report seed expected place answer (shorten driver first start expected place);
            exit 1
      end
    in
    go operations;
    Printf.printf "%d operations\n" operations
end
