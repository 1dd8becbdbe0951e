(* Operations on the records of threads.

   The specification says what the fields of a thread are at start-up, when it is defined and when it is started. Here stands
   which field each of the other functions writes. *)

open Conform
module Spec = Thread_spec

let num_cpu = Z.to_int Spec.nUM_CPU
let num_thread = Z.to_int Spec.nUM_THREAD

module Threads = struct
  type state = {
    meet : Z.t array;
    records : (string * Z.t) list Numbers.t; (* of the threads that meet *)
    ending : Z.t list;
    running : Z.t Numbers.t; (* on each CPU on which a switch has been *)
    loaded : Z.t Numbers.t; (* the root of each CPU's page map, if one is loaded *)
  }

  let valid _ = true

  (* Threads that meet, idle ones among them, after start-up. *)
  let start random =
    let meet = Array.init (2 + random 6) (fun i -> between random (if i = 0 then 0 else num_cpu) num_thread) in
    let first t = if Z.lt t Spec.nUM_CPU then Spec.thread_idle t else Spec.thread_undefined t in
    let records = Array.fold_left (fun records t -> Numbers.add t (first t) records) Numbers.empty meet in
    ({ name = "start"; arguments = [] }, { meet; records; ending = []; running = Numbers.empty; loaded = Numbers.empty })

  let choose random { meet; _ } =
    let t () = meet.(random (Array.length meet)) in
    let below limit = between random 0 (Z.to_int limit) in
    (* A few CPUs: threads of one are to meet there. *)
    let cpu () = if random 4 = 0 then below Spec.nUM_CPU else Z.of_int (random 2) in
    let name, arguments =
      match random 18 with
      | 0 | 1 | 2 -> ("define", [ t (); below Spec.nUM_PROCESS; cpu (); below Spec.nUM_PRIORITY ])
      | 3 | 4 -> ("reset", [ t (); (if random 4 = 0 then Spec.nONE else Z.of_int (random 3)) ])
      | 5 | 6 -> ("set_priority", [ t (); below Spec.nUM_PRIORITY ])
      | 7 -> ("set_state", [ t (); Z.of_int (random 6) ])
      | 8 -> ("set_wait", [ t (); Z.of_int (random 8); between random 0 100_000 ])
      | 9 -> ("set_wait_kind", [ t (); Z.of_int (random 8) ])
      | 10 -> ("end_wait", [ t () ])
      | 11 -> ("set_message_frame", [ t (); (if random 4 = 0 then Spec.nONE else below Spec.nUM_FRAME) ])
      | 12 -> ("set_ending", [ t () ])
      | 13 -> ("current", [ cpu () ])
      | 14 -> ("leave_space", [ cpu () ])
      | 15 -> ("switch_to_user", [ t () ])
      | _ -> ("switch", [ t () ])
    in
    { name; arguments }

  let field s t name = List.assoc name (Numbers.find t s.records)
  let current s cpu = try Numbers.find cpu s.running with Not_found -> cpu

  let loaded s cpu = try Numbers.find cpu s.loaded with Not_found -> Spec.nONE

  (* The fields that functions read. *)
  let seen = [ "process"; "cpu"; "priority"; "base_priority"; "state"; "wait_kind"; "wait_object"; "message_frame" ]
  let see s t = List.map (field s t) seen @ [ of_bool (List.mem t s.ending) ]
  let changed s t = Some (s, see s t)

  (* Thread [t] has these values in these fields. *)
  let writes s t fields =
    let record = List.fold_left (fun record (name, value) -> Spec.set_field name value record) (Numbers.find t s.records) fields in
    changed { s with records = Numbers.add t record s.records } t

  let runs s t = Numbers.exists (fun _ running -> Z.equal running t) s.running

  let step s { name; arguments } =
    match (name, arguments) with
    | "define", [ t; process; cpu; priority ] when Z.geq t Spec.nUM_CPU && not (runs s t) ->
        writes s t (Spec.thread_new process cpu priority)
    (* It ends no more: arch_thread_init. *)
    | "reset", [ t; root ] when Z.geq t Spec.nUM_CPU && not (runs s t) ->
        let ending = List.filter (fun u -> not (Z.equal u t)) s.ending in
        writes { s with ending } t (Spec.thread_started (field s t "base_priority") root)
    | "set_priority", [ t; priority ] -> writes s t [ ("priority", priority) ]
    | "set_state", [ t; state ] -> writes s t [ ("state", state) ]
    | "set_wait", [ t; kind; what ] -> writes s t [ ("wait_kind", kind); ("wait_object", what) ]
    | "set_wait_kind", [ t; kind ] -> writes s t [ ("wait_kind", kind) ]
    | "end_wait", [ t ] -> writes s t [ ("wait_kind", Spec.wAIT_NONE) ]
    | "set_message_frame", [ t; frame ] -> writes s t [ ("message_frame", frame) ]
    | "set_ending", [ t ] -> changed { s with ending = t :: s.ending } t
    | "current", [ cpu ] -> Some (s, [ current s cpu ])
    (* On its CPU, where it does not run yet. One without a page map runs in any that is loaded, but does not go to user mode. *)
    | ("switch" | "switch_to_user"), [ t ] when not (Z.equal (current s (field s t "cpu")) t) ->
        let cpu = field s t "cpu" and root = field s t "root" in
        let s = { s with running = Numbers.add cpu t s.running } in
        if not (Z.equal root Spec.nONE) then Some ({ s with loaded = Numbers.add cpu root s.loaded }, [ t; root ])
        else if name = "switch" then Some (s, [ t; loaded s cpu ])
        else None
    | "leave_space", [ cpu ] when Numbers.mem (current s cpu) s.records ->
        let s = { s with loaded = Numbers.remove cpu s.loaded } in
        Option.map (fun (s, seen) -> (s, loaded s cpu :: seen)) (writes s (current s cpu) [ ("root", Spec.nONE) ])
    | ("define" | "reset" | "switch" | "switch_to_user" | "leave_space"), _ -> None
    | _ -> failwith name
end

module Main = Make (Threads)

let () = Main.main ()
