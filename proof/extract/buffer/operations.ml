(* Operations on bounded buffers, by threads of two CPUs.

   The specification says what becomes of a buffer when a writer or reader is through. Here stands how it comes to that: it
   joins its queue, and is through at once if it is its turn; else it blocks, and is through when it has been woken. *)

open Conform
module Spec = Buffer_spec

let num_cpu = Z.to_int Spec.nUM_CPU
let num_thread = Z.to_int Spec.nUM_THREAD
let num_buffer = Z.to_int Spec.nUM_BUFFER
let most_words = Z.to_int Spec.bUFFER_CAPACITY

(* The two sides of a buffer: its condition variables. *)
type side = Writers | Readers

module Buffers = struct
  type state = {
    buffers : (Z.t * Spec.buffer) Numbers.t; (* capacity and state of those that are defined *)
    taken : Z.t option Numbers.t; (* of each thread that has been started: the word that it took last *)
    meet : Z.t array; (* these buffers may be defined, *)
    threads : Z.t array; (* and these threads started *)
  }

  let valid s = Numbers.for_all (fun _ (capacity, x) -> Spec.valid x capacity) s.buffers

  let start random =
    let meet = Array.init (1 + random 2) (fun _ -> between random 0 num_buffer) in
    let threads = Array.init (2 + random 8) (fun _ -> between random num_cpu num_thread) in
    ({ name = "start"; arguments = [] }, { buffers = Numbers.empty; taken = Numbers.empty; meet; threads })

  let waiters (x : Spec.buffer) = function Writers -> x.writers | Readers -> x.readers

  (* The buffer and side that thread [t] waits at. *)
  let waits_at s t =
    let at b (_, x) side = if List.mem t (Spec.threads (waiters x side)) then Some (b, side) else None in
    let either b x = match at b x Writers with None -> at b x Readers | found -> found in
    Numbers.fold (fun b x found -> if found = None then either b x else found) s.buffers None

  let blocked s t =
    match waits_at s t with Some (b, side) -> Spec.cv_blocked (waiters (snd (Numbers.find b s.buffers)) side) t | None -> false

  let choose random s =
    let b () = s.meet.(random (Array.length s.meet)) and t = s.threads.(random (Array.length s.threads)) in
    let word () = if random 4 = 0 then Z.pred (Z.shift_left Z.one 64) else Z.of_int (random 1000) in
    let capacity () = Z.of_int (if random 4 = 0 then most_words - random 2 else 1 + random 4) in
    let name, arguments =
      match random 16 with
      | 0 -> ("define", [ b (); capacity () ])
      | 1 | 2 -> ("create", [ t ])
      | 3 -> ("result", [ t ])
      | 4 -> ("cancel", [ t ])
      | 5 -> ("look", [ b () ])
      | turn -> (
          match waits_at s t with
          | Some (b, Writers) -> ("insert_waited", [ t; b; word () ])
          | Some (b, Readers) -> ("remove_waited", [ t; b ])
          | None -> if turn mod 2 = 0 then ("insert", [ t; b (); word () ]) else ("remove", [ t; b () ]))
    in
    { name; arguments }

  (* What can be seen of a condition variable: that its cells are in order, its first waiter, and all by their numbers. *)
  let see waiters =
    let one t = [ t; of_bool (Spec.cv_blocked waiters t) ] in
    Z.zero :: Spec.cv_first waiters :: List.concat_map one (List.sort Z.compare (Spec.threads waiters))

  let look (x : Spec.buffer) = see x.writers @ see x.readers
  let undefined = { Spec.contents = []; writers = []; readers = [] }
  let find s b = try Numbers.find b s.buffers with Not_found -> (Z.zero, undefined)
  let replace s b (capacity, x) = { s with buffers = Numbers.add b (capacity, x) s.buffers }

  (* Thread [t] is through: the state after it, its status, the threads that are woken, and the word that it has taken. *)
  let end_insert s t b word =
    let capacity, x = find s b in
    let (status, x), woken = Spec.buffer_end_insert x capacity t word in
    (replace s b (capacity, x), (status :: List.sort Z.compare woken) @ look x)

  let end_remove s t b =
    let capacity, x = find s b in
    let (status, x'), woken = Spec.buffer_end_remove x t in
    let done_ = status = Spec.sTATUS_OK in
    let word = Spec.buffer_taken x t (Option.value (Numbers.find t s.taken) ~default:Z.zero) in
    let s = if done_ then { s with taken = Numbers.add t (Some word) s.taken } else s in
    (replace s b (capacity, x'), (status :: (if done_ then [ word ] else [])) @ List.sort Z.compare woken @ look x')

  (* Thread [t] joins; it is through at once, or blocks. *)
  let begins s t b side through =
    let capacity, x = find s b in
    if Z.equal capacity Z.zero then (s, [ Spec.eRR_BAD_STATE ])
    else
      let set waiters : Spec.buffer =
        match side with Writers -> { x with writers = waiters } | Readers -> { x with readers = waiters }
      in
      let joined = Spec.cv_join (waiters x side) t in
      let full = match side with Writers -> capacity | Readers -> Z.zero in
      if Spec.buffer_turn joined t (Spec.used x.contents) full then through (replace s b (capacity, set joined))
      else
        let x = set (Spec.cv_prepare_wait joined t) in
        (replace s b (capacity, x), Spec.bUFFER_WAITED :: look x)

  let runs s t = Numbers.mem t s.taken && not (blocked s t)
  let free s t = Numbers.mem t s.taken && waits_at s t = None

  let step s { name; arguments } =
    match (name, arguments) with
    | "define", [ b; capacity ] when not (Numbers.mem b s.buffers) -> Some (replace s b (capacity, undefined), [])
    | "create", [ t ] when not (Numbers.mem t s.taken) -> Some ({ s with taken = Numbers.add t None s.taken }, [])
    | "insert", [ t; b; word ] when free s t -> Some (begins s t b Writers (fun s -> end_insert s t b word))
    | "remove", [ t; b ] when free s t -> Some (begins s t b Readers (fun s -> end_remove s t b))
    | "insert_waited", [ t; b; word ] when runs s t && waits_at s t = Some (b, Writers) -> Some (end_insert s t b word)
    | "remove_waited", [ t; b ] when runs s t && waits_at s t = Some (b, Readers) -> Some (end_remove s t b)
    | "result", [ t ] when runs s t -> Option.map (fun word -> (s, [ word ])) (Numbers.find t s.taken)
    | "cancel", [ t ] when Numbers.mem t s.taken -> (
        match waits_at s t with
        | None -> Some (s, [ Z.zero ])
        | Some (b, side) ->
            let capacity, x = find s b in
            let waiters = Spec.cv_cancel (waiters x side) t in
            let x = match side with Writers -> { x with writers = waiters } | Readers -> { x with readers = waiters } in
            Some (replace s b (capacity, x), Z.one :: look x))
    | "look", [ b ] -> Some (s, look (snd (find s b)))
    | ("define" | "create" | "insert" | "remove" | "insert_waited" | "remove_waited" | "result" | "cancel"), _ -> None
    | _ -> failwith name
end

module Main = Make (Buffers)

let () = Main.main ()
