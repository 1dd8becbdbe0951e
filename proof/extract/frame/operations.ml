(* Operations on frames, and the containers that they are charged to. *)

open Conform
module Spec = Frame_spec
module Owned = Charged.Make (Spec)

let processes = Charged.processes
let first_frame = Charged.first_frame
let z = Z.of_int

module Frames = struct
  type state = { state : Owned.state; usable : int }

  let valid { state; _ } = Spec.valid state.frames && Spec.containers_valid state.containers

  (* Now frames run out first, now quota. *)
  let start random =
    let usable = 1 + random 200 and quota = 1 + random 60 in
    let machine = z (if random 4 = 0 then quota * 3 else quota * processes) and quota = z quota in
    let state = Owned.start ~machine ~quota ~usable:(z usable) in
    ({ name = "start"; arguments = [ machine; z usable; quota ] }, { state; usable })

  (* A frame in use often: the highest are taken first. *)
  let some random { usable; _ } =
    match random 20 with
    | 0 -> z (first_frame + usable)
    | 1 -> z (random first_frame)
    | 2 -> Z.pred Spec.nUM_FRAME
    | 3 | 4 | 5 -> z (first_frame + random usable)
    | _ -> z (first_frame + usable - 1 - random (min usable 20))

  let choose random state =
    let f = some random state and p = z (random (if random 20 = 0 then Z.to_int Spec.nUM_PROCESS else processes)) in
    let name, arguments =
      match random 10 with
      | 0 | 1 | 2 -> ("alloc", [ p ])
      | 3 | 4 -> ("add_owner", [ f; p ])
      | 5 | 6 | 7 -> ("remove_owner", [ f; p ])
      | 8 -> ("look", [ f ])
      | _ -> ("usage", [ p ])
    in
    { name; arguments }

  let step before { name; arguments } =
    let state = before.state in
    let changed = Option.map (fun (v, state) -> ({ before with state }, [ v ])) in
    let value = function Some (v, _) -> v | None -> failwith "no such frame" in
    match (name, arguments) with
    | "alloc", [ p ] ->
        (* The C says of a frame also whether it is cleared. *)
        let cleared frame = if frame = Spec.nONE || frame = Spec.fRAME_NO_QUOTA then [] else [ Z.one ] in
        Option.map (fun (frame, state) -> ({ before with state }, frame :: cleared frame)) (Owned.alloc state p)
    | "add_owner", [ f; p ] -> changed (Owned.add state f p)
    | "remove_owner", [ f; p ] -> changed (Owned.remove state f p)
    | "look", [ f ] ->
        let s = state.frames in
        Some (before, List.map value [ Spec.frame_owners s f; Spec.frame_state s f; Spec.frame_free_count s ])
    | "usage", [ p ] -> Option.map (fun (v, _) -> (before, [ v ])) (Spec.container_usage state.containers p)
    | _ -> failwith name
end

module Main = Make (Frames)

let () = Main.main ()
