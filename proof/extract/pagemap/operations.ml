(* Operations on the page maps of two processes, and the frames that tables are made of. *)

open Conform
module Spec = Pagemap_spec
module Owned = Charged.Make (Spec)

let z = Z.of_int

module Maps = struct
  module Processes = Map.Make (Z)

  (* [given]: the frames of each process that are no tables. *)
  type state = { maps : Spec.page_map Processes.t; given : Z.t list Processes.t; owned : Owned.state }

  let processes = [ Z.zero; Z.one ]
  let all value = Processes.of_seq (List.to_seq (List.map (fun p -> (p, value)) processes))
  let valid { maps; _ } = Processes.for_all (fun _ -> Spec.valid) maps

  (* Now frames run out first, now quota. *)
  let start random =
    let many = if random 2 = 0 then 15 else 60 in
    let usable = z (2 + random many) and quota = z (2 + random many) and machine = z 10000 in
    ({ name = "start"; arguments = [ machine; usable; quota ] },
     { maps = all Spec.pagemap_absent; given = all []; owned = Owned.start ~machine ~quota ~usable })

  (* Pages that share tables of every level with others, and the first and last of user space. *)
  let page random =
    let index last = List.nth [ 0; 0; 1; 2; last ] (random 5) in
    match random 12 with
    | 0 -> Spec.first_page
    | 1 -> Z.pred Spec.end_page
    | 2 -> Spec.end_page
    | 3 -> Z.pred Spec.first_page
    | _ -> List.fold_left (fun n i -> Z.add (Z.mul n (z 512)) (z i)) (z (index 223)) [ index 511; index 511; 16 + index 400 ]

  let address random =
    let v = Z.mul (page random) (z 4096) in
    if random 30 = 0 then Z.add v (z (8 * random 512)) else v

  (* Mostly of a page that is mapped. *)
  let mapped random map =
    match Spec.pages map with
    | [] -> address random
    | pages -> if random 4 = 0 then address random else Z.mul (List.nth pages (random (List.length pages))) (z 4096)

  (* A frame that the process may map as its own, or any number. *)
  let frame random state p kind =
    let map = Processes.find p state.maps in
    let free = List.filter (fun f -> not (Spec.maps_own map f)) (Processes.find p state.given) in
    match (kind, free) with
    | 0, [] -> None
    | 0, free -> Some (List.nth free (random (List.length free)))
    | _ -> Some (if random 3 = 0 then z (random 1_000_000_000) else z (random 3000))

  (* Mostly one whose tables exist. *)
  let rec prepared random map tries =
    let v = address random in
    if tries = 0 || Z.equal (Spec.needs map v) Z.zero then v else prepared random map (tries - 1)

  let choose random state =
    let p = z (random 2) and prot = z (random (if random 2 = 0 then 4 else 8)) in
    let map = Processes.find p state.maps in
    let some = mapped random map in
    let kind = random (if random 10 = 0 then 4 else 3) in
    let name, arguments =
      match (random 22, frame random state p kind) with
      | _ when (not (Spec.present map)) && random 3 = 0 -> ("create", [ p ])
      | (0 | 1 | 2 | 3 | 4 | 5 | 6), Some f -> ("map", [ p; prepared random map 8; f; prot; z kind ])
      | (7 | 8), _ -> ("unmap", [ p; some ])
      | (9 | 10), _ -> ("walk", [ p; some ])
      | (11 | 12 | 13), _ -> ("frame", [ p; some; prot ])
      | 14, _ -> ("pin", [ p; some ])
      | 15, _ -> ("prepare", [ p; address random; z (1 + random 4) ])
      | 20, _ -> ("missing", [ p; address random ])
      | 16, _ -> ("usage", [ p ])
      | 17, _ when random 10 = 0 -> ("destroy", [ p; z (if random 2 = 0 then 1 + random 40 else 1_000_000) ])
      | 18, _ when random 4 = 0 -> ("create", [ p ])
      | 19, Some f when kind = 0 -> ("give_up", [ p; f ])
      | _ -> ("alloc", [ p ])
    in
    { name; arguments }

  let with_map state p map = { state with maps = Processes.add p map state.maps }

  (* What the C says where there is no frame. *)
  let refusal frame =
    if Z.equal frame Spec.nONE then Some Spec.eRR_NO_MEMORY
    else if Z.equal frame Spec.fRAME_NO_QUOTA then Some Spec.eRR_QUOTA
    else None

  (* A frame for a new table; where none can be had, nothing is changed. *)
  let take state p =
    Option.map
      (fun (frame, owned) ->
        match refusal frame with Some status -> Error status | None -> Ok (frame, { state with owned }))
      (Owned.alloc state.owned p)

  let change before p change =
    Option.map (fun (answer, map) -> (with_map before p map, [ answer ])) (change (Processes.find p before.maps))

  let create before p =
    if Spec.present (Processes.find p before.maps) then Some (before, [ Spec.eRR_BAD_STATE ])
    else
      Option.bind (take before p) (function
        | Ok (root, state) -> change state p (fun map -> Spec.pagemap_create map root)
        | Error status -> Some (before, [ status ]))

  (* At most so many steps; the answer is how many there were, and the status of the last. *)
  let prepare before p v most =
    let rec go state steps =
      let map = Processes.find p state.maps in
      let step state fresh =
        Option.bind (Spec.pagemap_prepare map v fresh) (fun (status, map) ->
            let state = with_map state p map in
            if Z.equal status Spec.sTATUS_RESTART && steps < most then go state (steps + 1)
            else Some (state, [ z steps; status ]))
      in
      if Spec.present map && Z.sign (Spec.needs map v) > 0 then
        Option.bind (take state p) (function
          | Ok (fresh, state) -> step state fresh
          | Error status -> Some (state, [ z steps; status ]))
      else step state Spec.nONE
    in
    go before 1

  (* A step gives frames back; those that were the process's own are so no more. *)
  let give_back before p frames =
    let give state frame =
      Option.bind state (fun state ->
          Option.map
            (fun (_, owned) ->
              let given = List.filter (fun f -> not (Z.equal f frame)) (Processes.find p state.given) in
              { state with owned; given = Processes.add p given state.given })
            (Owned.remove state.owned frame p))
    in
    List.fold_left give (Some before) frames

  (* At most so many steps; the answer is how many there were, and whether there is more to do. *)
  let destroy before p most =
    let rec go state steps =
      let (more, frames), map = Spec.pagemap_destroy_step (Processes.find p state.maps) in
      Option.bind (give_back state p frames) (fun state ->
          let state = with_map state p map and steps = steps + 1 in
          if more = Z.zero || steps = most then Some (state, [ z steps; more ]) else go state steps)
    in
    go before 0

  let step before { name; arguments } =
    match (name, arguments) with
    | "create", [ p ] -> create before p
    | "map", [ p; v; f; prot; kind ] -> change before p (fun map -> Spec.pagemap_map map v f prot kind)
    | "missing", [ p; v ] -> change before p (fun map -> Spec.pagemap_missing map v)
    | "prepare", [ p; v; most ] -> prepare before p v (Z.to_int most)
    | "unmap", [ p; v ] -> change before p (fun map -> Spec.pagemap_unmap map v)
    | "walk", [ p; v ] -> change before p (fun map -> Spec.pagemap_walk map v)
    | "frame", [ p; v; prot ] -> change before p (fun map -> Spec.pagemap_frame map v prot)
    | "pin", [ p; v ] ->
        Option.map (fun (state, _) -> (state, [])) (change before p (fun map -> Spec.pagemap_pin map v))
    | "destroy", [ p; most ] -> destroy before p (Z.to_int most)
    | "alloc", [ p ] ->
        Option.map
          (fun (frame, owned) ->
            let more given = if refusal frame = None then frame :: given else given in
            ({ before with owned; given = Processes.update p (Option.map more) before.given }, [ frame ]))
          (Owned.alloc before.owned p)
    | "give_up", [ p; f ] ->
        if Spec.maps_own (Processes.find p before.maps) f then None
        else if not (List.mem f (Processes.find p before.given)) then None
        else Option.map (fun state -> (state, [ Spec.sTATUS_OK ])) (give_back before p [ f ])
    | "usage", [ p ] -> Option.map (fun (v, _) -> (before, [ v ])) (Spec.container_usage before.owned.containers p)
    | _ -> failwith name
end

module Main = Make (Maps)

let () = Main.main ()
