(* Operations on the ready queues of CPU 0. *)

open Conform
module Spec = Sched_spec

let num_cpu = Z.to_int Spec.nUM_CPU
let num_thread = Z.to_int Spec.nUM_THREAD
let num_priority = Z.to_int Spec.nUM_PRIORITY
let cpu = Z.zero

module Ready = struct
  type state = { state : Spec.ready; threads : Z.t array }

  let valid { state; _ } = Spec.valid state

  (* Threads that meet, the last often among them. *)
  let start random =
    let last = num_thread - 1 in
    let some _ = Z.of_int (if random 8 = 0 then last else num_cpu + random (num_thread - num_cpu)) in
    ({ name = "start"; arguments = [] }, { state = Spec.start; threads = Array.init (1 + random 20) some })

  (* Priorities near each other, at the edges of words, or any. *)
  let priority random =
    match random 4 with
    | 0 -> (64 * (1 + random 3)) - random 2
    | 1 -> num_priority - 1 - random 2
    | 2 -> random 3
    | _ -> random num_priority

  let choose random { threads; _ } =
    let t = threads.(random (Array.length threads)) in
    let name, arguments =
      match random 12 with
      | 0 | 1 -> ("define", [ t; Z.of_int (priority random) ])
      | 2 | 3 | 4 | 5 -> ("insert", [ cpu; t ])
      | 6 | 7 -> ("remove", [ cpu; t ])
      | 8 -> ("take", [ cpu ])
      | 9 -> ("state", [ t ])
      | _ -> ("best", [ cpu ])
    in
    { name; arguments }

  let step before { name; arguments } =
    let changed answers = Option.map (fun (v, state) -> ({ before with state }, if answers then [ v ] else [])) in
    match (name, arguments) with
    | "define", [ t; p ] -> changed false (Spec.define before.state t p)
    | "insert", [ c; t ] -> changed false (Spec.sched_ready_insert before.state c t)
    | "remove", [ c; t ] -> changed false (Spec.sched_ready_remove before.state c t)
    | "take", [ c ] -> changed true (Spec.sched_ready_take before.state c)
    | "state", [ t ] -> changed true (Spec.state_of before.state t)
    | "best", [ c ] -> changed true (Spec.sched_ready_best before.state c)
    | _ -> failwith name
end

module Main = Make (Ready)

let () = Main.main ()
