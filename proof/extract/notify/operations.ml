(* Operations on notifications, by threads of several CPUs.

   The specification says what becomes of a notification. Here stands who does what with it: a signal wakes the first waiter,
   which has the bits; a thread waits if no bit is set; a wait that is ended gives a status. *)

open Conform
module Spec = Notify_spec

let num_cpu = Z.to_int Spec.nUM_CPU
let num_thread = Z.to_int Spec.nUM_THREAD
let num_notification = Z.to_int Spec.nUM_NOTIFICATION

(* As in driver.c: the CPUs, and the time at which the clock stands. *)
let cpus = 3
let now = Z.of_int 1000
let forever = Z.pred (Z.shift_left Z.one 64)

(* The saved registers of a thread, where its last wait put its outcome. *)
type registers = { status : Z.t; bits : Z.t }

module Notifications = struct
  type state = {
    notifications : Spec.notification Numbers.t;
    threads : registers Numbers.t; (* that have been started *)
    meet : Z.t array; (* these may be *)
  }

  let valid s = Numbers.for_all (fun _ x -> Spec.valid x) s.notifications

  let start random =
    let fresh numbers _ = Numbers.add (between random 0 num_notification) Spec.notify_new numbers in
    let notifications = List.fold_left fresh Numbers.empty (List.init (1 + random 3) Fun.id) in
    let meet = Array.init (2 + random 8) (fun _ -> between random num_cpu num_thread) in
    ({ name = "start"; arguments = [] }, { notifications; threads = Numbers.empty; meet })

  let choose random { notifications; meet; _ } =
    let n () = fst (List.nth (Numbers.bindings notifications) (random (Numbers.cardinal notifications))) in
    let t () = meet.(random (Array.length meet)) and cpu () = Z.of_int (random cpus) in
    (* Single bits, the highest among them, several, and none. *)
    let bits () =
      match random 4 with 0 -> Z.shift_left Z.one (random 64) | 1 -> Z.shift_left Z.one 63 | _ -> Z.of_int (random 8)
    in
    let deadline () = [| Z.zero; Z.pred now; now; Z.succ now; Z.of_int 1_000_000; Z.pred forever |].(random 6) in
    let name, arguments =
      match random 24 with
      | 0 | 1 | 2 -> ("create", [ t () ])
      | 3 | 4 | 5 | 6 -> ("signal", [ cpu (); n (); bits () ])
      | 7 | 8 | 9 -> ("wait", [ t (); n (); forever ])
      | 10 -> ("wait", [ t (); n (); deadline () ])
      | 11 -> ("wait_until", [ t (); n (); deadline () ])
      | 12 | 13 -> ("signal_wait", [ t (); n (); bits (); n () ])
      | 14 -> ("poll", [ n () ])
      | 15 -> ("look", [ n () ])
      | 16 | 17 -> ("watch", [ cpu (); n () ])
      | 18 -> ("unwatch", [ n () ])
      | 19 | 20 -> ("open", [ n () ])
      | 21 -> ("close", [ n () ])
      | 22 -> ("cancel", [ t () ])
      | _ -> ("timeout", [ t () ])
    in
    { name; arguments }

  (* The CPU of a thread, as threads.h has it. *)
  let home t = Z.rem t (Z.of_int cpus)
  let find s n = Numbers.find n s.notifications
  let replace s n x = { s with notifications = Numbers.add n x s.notifications }
  let set s t registers = { s with threads = Numbers.add t registers s.threads }

  (* The notification that thread [t] waits for. *)
  let waits_for s t =
    let waits _ (x : Spec.notification) = List.mem t x.waiters in
    Option.map fst (Numbers.choose_opt (Numbers.filter waits s.notifications))

  let free s t = Numbers.mem t s.threads && waits_for s t = None

  (* What can be seen of a thread and of a notification. *)
  let thread s t =
    let { status; bits } = Numbers.find t s.threads in
    [ of_bool (waits_for s t <> None); status; bits ]

  let look s n = of_bool (Spec.is_pending (find s n)) :: (find s n).waiters

  (* A CPU signals: the CPUs that are interrupted, as a set of bits, the woken thread or NONE, and the state afterwards. *)
  let signal s cpu n bits =
    let x = find s n in
    let woken = Spec.notify_first x and s' = replace s n (Spec.notify_signalled x bits) in
    let only cpu = Z.shift_left Z.one (Z.to_int cpu) in
    if Z.equal woken Spec.nONE then ((if Spec.interrupts x cpu then only x.watcher else Z.zero), woken, s')
    else ((if Z.equal (home woken) cpu then Z.zero else only (home woken)), woken, set s' woken { status = Spec.sTATUS_OK; bits })

  let seen s woken = if Z.equal woken Spec.nONE then [] else woken :: thread s woken

  (* Thread [t] takes the bits or waits: whether it does, and the state afterwards. *)
  let wait s t n deadline =
    let x = find s n in
    if Spec.is_pending x then
      (false, set (replace s n (Spec.notify_taken x)) t { status = Spec.sTATUS_OK; bits = x.pending })
    else if Z.leq deadline now then (false, set s t { (Numbers.find t s.threads) with status = Spec.eRR_TIMEOUT })
    else (true, replace s n (Spec.notify_joined x t))

  (* The wait of [t] ends, if it waits: whether, and the state afterwards. *)
  let end_wait s t status =
    match waits_for s t with
    | None -> (false, s)
    | Some n -> (true, set (replace s n (Spec.notify_ended (find s n) t)) t { (Numbers.find t s.threads) with status })

  let step s { name; arguments } =
    let changes n f = let s = replace s n (f (find s n)) in Some (s, look s n) in
    match (name, arguments) with
    | "create", [ t ] when not (Numbers.mem t s.threads) ->
        let s = set s t { status = Z.zero; bits = Z.zero } in
        Some (s, thread s t)
    | "signal", [ cpu; n; bits ] ->
        let interrupted, woken, s = signal s cpu n bits in
        Some (s, (interrupted :: seen s woken) @ look s n)
    | ("wait" | "wait_until"), [ t; n; deadline ] when free s t ->
        let waits, s = wait s t n deadline in
        Some (s, (if name = "wait" then [ of_bool waits ] else []) @ thread s t @ look s n)
    | "signal_wait", [ t; signalled; bits; n ] when free s t ->
        let interrupted, woken, s = signal s (home t) signalled bits in
        let waits, s = wait s t n forever in
        Some (s, (of_bool waits :: interrupted :: seen s woken) @ thread s t @ look s signalled @ look s n)
    | "poll", [ n ] ->
        let bits = (find s n).pending in
        Option.map (fun (s, seen) -> (s, bits :: seen)) (changes n Spec.notify_taken)
    | "look", [ n ] -> Some (s, look s n)
    | "watch", [ cpu; n ] ->
        Option.map (fun (s, seen) -> (s, of_bool (Spec.is_pending (find s n)) :: seen)) (changes n (Spec.set_watcher cpu))
    | "unwatch", [ n ] -> changes n (Spec.set_watcher Spec.nONE)
    (* No thread of the owner waits. *)
    | "open", [ n ] when (find s n).waiters = [] -> changes n (fun x -> Spec.notify_reborn x true)
    | "close", [ n ] when (find s n).waiters = [] -> changes n (fun x -> Spec.notify_reborn x false)
    | ("cancel" | "timeout"), [ t ] when Numbers.mem t s.threads ->
        let was, s = end_wait s t (if name = "cancel" then Spec.eRR_CANCELLED else Spec.eRR_TIMEOUT) in
        Some (s, of_bool was :: thread s t)
    | ("create" | "wait" | "wait_until" | "signal_wait" | "open" | "close" | "cancel" | "timeout"), _ -> None
    | _ -> failwith name
end

module Main = Make (Notifications)

let () = Main.main ()
