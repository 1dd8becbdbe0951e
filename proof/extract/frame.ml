(* Operations on frames, and the containers that they are charged to. *)

open Conform
module Spec = Frame_spec

let processes = 8
let first_frame = 256 (* HOSTED_FIRST_FRAME *)
let z = Z.of_int

module Frames = struct
  type state = { frames : Spec.state; containers : Spec.containers; usable : int }

  let valid { frames; containers; _ } = Spec.valid frames && Spec.containers_valid containers
  let after = function Some (_, state) -> state | None -> failwith "the start does not meet a requirement"

  (* Now frames run out first, now quota. *)
  let start random =
    let usable = 1 + random 200 and quota = 1 + random 60 in
    let machine = if random 4 = 0 then quota * 3 else quota * processes in
    let split containers p = after (Spec.container_split containers Spec.rOOT (z p) (z quota)) in
    let containers = List.fold_left split (Spec.container_initial (z machine)) (List.init processes Fun.id) in
    let frames = after (Spec.frame_make_usable Spec.frame_initial (z first_frame) (z usable)) in
    ({ name = "start"; arguments = [ z machine; z usable; z quota ] }, { frames; containers; usable })

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

  let bind = Option.bind
  let charge s p = Spec.container_charge s.containers p Z.one
  let refund s p = Option.map (fun (_, containers) -> { s with containers }) (Spec.container_refund s.containers p Z.one)

  (* As frame.h says: charged first, and given back where there is nothing to charge for. *)
  let alloc before p =
    bind (charge before p) (fun (status, containers) ->
        if status <> Spec.sTATUS_OK then Some (before, [ Spec.fRAME_NO_QUOTA ])
        else
          bind (Spec.frame_take before.frames p) (fun (frame, frames) ->
              if Z.equal frame Spec.nONE then
                Option.map (fun s -> (s, [ frame ])) (refund { before with containers } p)
              else Some ({ before with containers; frames }, [ frame; Z.one ])))

  let add before f p =
    bind (charge before p) (fun (status, containers) ->
        if status <> Spec.sTATUS_OK then Some (before, [ status ])
        else
          bind (Spec.frame_add before.frames f p) (fun (status, frames) ->
              let s = { before with containers; frames } in
              if status = Spec.sTATUS_OK then Some (s, [ status ])
              else Option.map (fun s -> (s, [ status ])) (refund s p)))

  let remove before f p =
    bind (Spec.frame_remove before.frames f p) (fun (status, frames) ->
        let s = { before with frames } in
        if status = Spec.sTATUS_OK then Option.map (fun s -> (s, [ status ])) (refund s p) else Some (s, [ status ]))

  let step before { name; arguments } =
    let value = function Some (v, _) -> v | None -> failwith "no such frame" in
    match (name, arguments) with
    | "alloc", [ p ] -> alloc before p
    | "add_owner", [ f; p ] -> add before f p
    | "remove_owner", [ f; p ] -> remove before f p
    | "look", [ f ] ->
        let s = before.frames in
        Some (before, List.map value [ Spec.frame_owners s f; Spec.frame_state s f; Spec.frame_free_count s ])
    | "usage", [ p ] -> Option.map (fun (v, _) -> (before, [ v ])) (Spec.container_usage before.containers p)
    | _ -> failwith name
end

module Main = Make (Frames)

let () = Main.main ()
