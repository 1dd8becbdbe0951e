(* Operations on queues. *)

open Conform
module Spec = Queue_spec

let num_queue = Z.to_int Spec.nUM_QUEUE
let num_thread = Z.to_int Spec.nUM_THREAD

module Queues = struct
  (* The specification's state, and what the owner holds in it. *)
  type state = { state : Spec.queue_state; queues : Z.t array; threads : Z.t array }

  let valid { state; _ } = Spec.valid state

  (* A few numbers below [limit], without repetition, the largest often among them. *)
  let some random count limit =
    let rec go count found =
      if count = 0 then found
      else
        let one = Z.of_int (if random 8 = 0 then limit - 1 else random limit) in
        go (count - 1) (if List.mem one found then found else one :: found)
    in
    Array.of_list (go count [])

  let start random =
    let queues = some random (1 + random 5) num_queue and threads = some random (2 + random 12) num_thread in
    let state = Spec.start (Array.to_list queues) (Array.to_list threads) in
    ({ name = "start"; arguments = [] }, { state; queues; threads })

  let choose random { queues; threads; _ } =
    let q () = queues.(random (Array.length queues)) and t () = threads.(random (Array.length threads)) in
    let name, arguments =
      match random 11 with
      | 0 | 1 -> ("enqueue", [ q (); t () ])
      | 2 | 3 -> ("enqueue_head", [ q (); t () ])
      | 4 | 5 -> ("insert_before", [ q (); t (); t () ])
      | 6 -> ("dequeue", [ q () ])
      | 7 | 8 -> ("remove", [ t () ])
      | 9 -> ("look", [ q () ])
      | _ -> ("of", [ t () ])
    in
    { name; arguments }

  (* The threads of a queue as its first, and the next of each, give them. *)
  let rec from state t =
    if Z.equal t Spec.nONE then Some []
    else Option.bind (Spec.queue_next state t) (fun (next, _) -> Option.map (List.cons t) (from state next))

  let step before { name; arguments } =
    let changed answers = Option.map (fun (v, state) -> ({ before with state }, if answers then [ v ] else [])) in
    match (name, arguments) with
    | "enqueue", [ q; t ] -> changed false (Spec.queue_enqueue before.state q t)
    | "enqueue_head", [ q; t ] -> changed false (Spec.queue_enqueue_head before.state q t)
    | "insert_before", [ q; t; u ] -> changed false (Spec.queue_insert_before before.state q t u)
    | "dequeue", [ q ] -> changed true (Spec.queue_dequeue before.state q)
    | "remove", [ t ] -> changed false (Spec.queue_remove before.state t)
    | "of", [ t ] -> changed true (Spec.queue_of before.state t)
    | "look", [ q ] ->
        Option.bind (Spec.queue_peek before.state q) (fun (first, state) ->
            Option.map (fun threads -> (before, threads)) (from state first))
    | _ -> failwith name
end

module Main = Make (Queues)

let () = Main.main ()
