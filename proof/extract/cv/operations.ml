(* Operations on condition variables, by threads of two CPUs.

   The specification says what becomes of a variable. Here stands when a thread may do something: it is in at most one
   variable, and does nothing while it is blocked. *)

open Conform
module Spec = Cv_spec

let num_cpu = Z.to_int Spec.nUM_CPU
let num_thread = Z.to_int Spec.nUM_THREAD
let num_cv = Z.to_int Spec.nUM_CV
let cpus = 2 (* as in driver.c *)

module Variables = struct
  type state = {
    variables : Spec.waiter list Numbers.t;
    threads : Z.t list; (* that have been started *)
    meet : Z.t array; (* these may be *)
  }

  let valid s = Numbers.for_all (fun _ waiters -> Spec.valid waiters) s.variables

  let start random =
    let fresh numbers _ = Numbers.add (between random 0 num_cv) [] numbers in
    let variables = List.fold_left fresh Numbers.empty (List.init (1 + random 3) Fun.id) in
    let meet = Array.init (2 + random 8) (fun _ -> between random num_cpu num_thread) in
    ({ name = "start"; arguments = [] }, { variables; threads = []; meet })

  let choose random { variables; meet; _ } =
    let cv () = fst (List.nth (Numbers.bindings variables) (random (Numbers.cardinal variables))) in
    let t () = meet.(random (Array.length meet)) and cpu () = Z.of_int (random cpus) in
    let name, arguments =
      match random 18 with
      | 0 | 1 -> ("create", [ t () ])
      | 2 | 3 | 4 | 5 -> ("join", [ t (); cv () ])
      | 6 | 7 | 8 | 9 -> ("wait", [ t () ])
      | 10 | 11 -> ("wake_first", [ cpu (); cv () ])
      | 12 | 13 -> ("leave", [ t () ])
      | 14 -> ("cancel", [ t () ])
      | 15 | 16 -> ("cancelled", [ t () ])
      | _ -> ("of", [ t () ])
    in
    { name; arguments }

  let find s cv = Numbers.find cv s.variables

  (* The variable that thread [t] waits in. *)
  let waits_in s t =
    let waits _ waiters = List.mem t (Spec.threads waiters) in
    Option.map fst (Numbers.choose_opt (Numbers.filter waits s.variables))

  let blocked s t = match waits_in s t with Some cv -> Spec.cv_blocked (find s cv) t | None -> false
  let runs s t = List.mem t s.threads && not (blocked s t)

  (* What can be seen of a variable: that its cells are in order, its first waiter, and all by their numbers. *)
  let look s cv =
    let waiters = find s cv in
    let see t = [ t; of_bool (Spec.cv_blocked waiters t) ] in
    Z.zero :: Spec.cv_first waiters :: List.concat_map see (List.sort Z.compare (Spec.threads waiters))

  let changes s cv f =
    let s = { s with variables = Numbers.add cv (f (find s cv)) s.variables } in
    Some (s, look s cv)

  let step s { name; arguments } =
    match (name, arguments) with
    | "create", [ t ] when not (List.mem t s.threads) -> Some ({ s with threads = t :: s.threads }, [])
    | "join", [ t; cv ] when runs s t && waits_in s t = None -> changes s cv (fun waiters -> Spec.cv_join waiters t)
    | "wait", [ t ] when runs s t ->
        Option.bind (waits_in s t) (fun cv -> changes s cv (fun waiters -> Spec.cv_prepare_wait waiters t))
    | "wake_first", [ _; cv ] -> changes s cv Spec.cv_wake_first
    | "leave", [ t ] when runs s t ->
        Option.bind (waits_in s t) (fun cv -> changes s cv (fun waiters -> Spec.cv_leave waiters t))
    | "cancel", [ t ] -> Option.bind (waits_in s t) (fun cv -> changes s cv (fun waiters -> Spec.cv_cancel waiters t))
    | "cancelled", [ t ] when runs s t ->
        let cancelled = match waits_in s t with Some cv -> Spec.cv_cancelled (find s cv) t | None -> false in
        Some (s, [ of_bool cancelled ])
    | "of", [ t ] -> Some (s, [ Option.value (waits_in s t) ~default:Spec.nONE ])
    | ("create" | "join" | "wait" | "leave" | "cancelled"), _ -> None
    | _ -> failwith name
end

module Main = Make (Variables)

let () = Main.main ()
