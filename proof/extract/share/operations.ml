(* Operations on shares, with the frames that they pass on. *)

open Conform
module Spec = Share_spec
module Owned = Charged.Make (Spec)

let processes = Charged.processes
let first_frame = Charged.first_frame
let z = Z.of_int

module Shares = struct
  type state = { shares : Spec.share_state; owned : Owned.state; some : Z.t array; usable : int }

  let valid { shares; owned; _ } = Spec.valid shares owned.frames owned.containers

  (* Few shares and frames, so that they meet. *)
  let start random =
    let usable = 1 + random 12 and quota = 1 + random 10 in
    let machine = z (quota * processes) and last = Z.to_int Spec.nUM_SHARE - 1 in
    let some = Array.init (1 + random 5) (fun _ -> z (if random 8 = 0 then last else random (last + 1))) in
    let owned = Owned.start ~machine ~quota:(z quota) ~usable:(z usable) in
    ({ name = "start"; arguments = [ machine; z usable; z quota ] },
     { shares = Spec.share_initial; owned; some; usable })

  let value = function Some (v, _) -> v | None -> failwith "no such share"

  (* Mostly what is possible: who may offer offers a frame of its own, who may accept accepts. *)
  let choose random state =
    let s = state.some.(random (Array.length state.some)) in
    let from, accepts = Spec.processes state.shares s in
    let frames = List.init state.usable (fun i -> z (first_frame + i)) in
    let owned p = List.filter (fun f -> Z.testbit (Spec.owner_mask state.owned.frames f) (Z.to_int p)) frames in
    let any () = z (if random 2 = 0 then random 3 else random processes) in
    let mostly one = if random 6 = 0 || Z.equal one Spec.nONE then any () else one in
    let p = mostly from in
    let f =
      match (random 20, owned p) with
      | 0, _ -> Spec.nUM_FRAME
      | 1, _ -> Z.pred Spec.nONE
      | (2 | 3 | 4), _ | _, [] -> z (first_frame + random state.usable)
      | _, owned -> List.nth owned (random (List.length owned))
    in
    let name, arguments =
      match random 40 with
      | (0 | 1 | 2) when Z.equal from Spec.nONE || random 6 = 0 -> ("define", [ s; any (); any () ])
      | 3 when random 4 = 0 -> ("ended", [ p ])
      | 4 -> ("forget", [ p; if random 4 = 0 then Spec.nONE else f ])
      | 5 | 6 | 7 -> ("withdraw", [ s; p ])
      | 8 | 9 | 10 | 11 | 12 -> ("alloc", [ p ])
      | 13 | 14 | 15 | 16 -> ("give_up", [ f; p ])
      | 17 | 18 | 19 -> ("look", [ s ])
      | 20 | 21 | 22 -> ("owners", [ f ])
      | 23 | 24 | 25 | 26 | 27 | 28 | 29 -> ("accept", [ s; mostly accepts ])
      | _ -> ("offer", [ s; p; f ])
    in
    { name; arguments }

  (* As share.c does it; nothing comes between its parts. *)
  let accept before s p =
    Option.bind (Spec.share_accept_may before.shares s p) (fun (may, shares) ->
        if may <> Spec.sTATUS_OK then Some ({ before with shares }, [ may ])
        else
          let frame = value (Spec.share_offered shares s) in
          Option.bind (Owned.add before.owned frame p) (fun (status, owned) ->
              Option.map
                (fun (status, shares) -> ({ before with shares; owned }, [ status ]))
                (Spec.share_accept_end shares s status)))

  (* As the rule of share.h wants it: a frame that is taken from a process is offered no more. *)
  let give_up before f p =
    Option.bind (Spec.share_forget before.shares p f) (fun (_, shares) ->
        Option.map
          (fun (status, owned) -> ({ before with shares; owned }, [ status ]))
          (Owned.remove before.owned f p))

  let step before { name; arguments } =
    let changed answers = Option.map (fun (v, shares) -> ({ before with shares }, if answers then [ v ] else [])) in
    match (name, arguments) with
    | "define", [ s; p; q ] -> changed false (Spec.share_define before.shares s p q)
    | "offer", [ s; p; f ] -> changed true (Spec.share_offer before.shares s p f (Spec.owner_mask before.owned.frames f))
    | "accept", [ s; p ] -> accept before s p
    | "withdraw", [ s; p ] -> changed true (Spec.share_withdraw before.shares s p)
    | "forget", [ p; f ] -> changed false (Spec.share_forget before.shares p f)
    | "ended", [ p ] -> changed false (Spec.share_process_ended before.shares p)
    | "look", [ s ] -> changed true (Spec.share_frame before.shares s)
    | "alloc", [ p ] -> Option.map (fun (frame, owned) -> ({ before with owned }, [ frame ])) (Owned.alloc before.owned p)
    | "give_up", [ f; p ] -> give_up before f p
    | "owners", [ f ] -> Some (before, [ Spec.owner_mask before.owned.frames f ])
    | _ -> failwith name
end

module Main = Make (Shares)

let () = Main.main ()
