(* Operations on containers. *)

open Conform
module Spec = Container_spec

let root = Z.to_int Spec.rOOT
let processes = Z.to_int Spec.nUM_PROCESS

module Containers = struct
  type state = Spec.state

  let valid = Spec.valid

  let start random =
    let quota = if random 10 = 0 then Z.of_string "4294967295" else Z.of_int (random 5000) in
    ({ name = "start"; arguments = [ quota ] }, Spec.container_initial quota)

  (* The value of a function that only looks. *)
  let value read state c = match read state c with Some (v, _) -> v | None -> failwith "no such container"

  (* Frames that a container has left; 0 if it does not exist. *)
  let left state c = Z.sub (value Spec.container_quota state c) (value Spec.container_usage state c)

  (* An amount near the limit, where mistakes are, or a modest one. *)
  let amount random limit =
    match random 6 with
    | 0 -> limit
    | 1 -> Z.succ limit
    | 2 -> Z.of_string "4294967295"
    | 3 -> Z.zero
    | _ -> Z.of_int (random (min 1000 (Z.to_int limit / 4) + 2))

  (* Few containers often, so that they meet; any sometimes. *)
  let some random = Z.of_int (match random 8 with 0 -> random (root + 1) | 1 | 2 -> root | _ -> random 8)

  let choose random state =
    let c = some random and child = Z.of_int (random (if random 4 = 0 then processes else 8)) in
    let name, arguments =
      match random 10 with
      | 0 | 1 | 2 -> ("split", [ c; child; amount random (left state c) ])
      | 3 | 4 -> ("charge", [ c; amount random (left state c) ])
      | 5 | 6 -> ("refund", [ c; amount random (value Spec.container_own_usage state c) ])
      | 7 | 8 -> ("merge", [ child ])
      | _ -> ("look", [ c ])
    in
    { name; arguments }

  let step before { name; arguments } =
    let answer = Option.map (fun (v, state) -> (state, [ v ])) in
    match (name, arguments) with
    | "split", [ p; c; n ] -> answer (Spec.container_split before p c n)
    | "charge", [ c; n ] -> answer (Spec.container_charge before c n)
    | "refund", [ c; n ] -> Option.map (fun (_, state) -> (state, [])) (Spec.container_refund before c n)
    | "merge", [ c ] -> answer (Spec.container_merge before c)
    | "look", [ c ] ->
        let reads = Spec.[ container_quota; container_usage; container_own_usage; container_parent ] in
        Some (before, List.map (fun read -> value read before c) reads)
    | _ -> failwith name
end

module Main = Make (Containers)

let () = Main.main ()
