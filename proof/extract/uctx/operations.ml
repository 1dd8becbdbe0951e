(* Operations on the saved registers of threads.

   The specification says in which register a message word stands, what a register keeps of a value that is written, and what
   the registers of a new program are. Here stands which registers are read and written. *)

open Conform
module Spec = Uctx_spec

let num_cpu = Z.to_int Spec.nUM_CPU
let num_thread = Z.to_int Spec.nUM_THREAD
let num_words = Z.to_int Spec.mESSAGE_REGISTER_WORDS
let num_registers = Z.to_int Spec.uCTX_WORDS

module Registers = struct
  type state = {
    threads : Z.t array; (* that meet *)
    saved : Z.t Numbers.t Numbers.t; (* of each thread; a register that is not there is 0 *)
  }

  let find s t reg = try Numbers.find reg (Numbers.find t s.saved) with Not_found -> Z.zero

  let write s t reg value =
    let registers = try Numbers.find t s.saved with Not_found -> Numbers.empty in
    { s with saved = Numbers.add t (Numbers.add reg value registers) s.saved }

  (* No instruction pointer is outside user space. *)
  let valid s = Numbers.for_all (fun t _ -> Z.lt (find s t Spec.uCTX_RIP) (Z.shift_left Z.one 47)) s.saved

  let start random =
    let threads = Array.init (1 + random 3) (fun _ -> between random num_cpu num_thread) in
    ({ name = "start"; arguments = [] }, { threads; saved = Numbers.empty })

  let choose random { threads; _ } =
    let t () = threads.(random (Array.length threads)) and reg () = Z.of_int (random num_registers) in
    let word () = Z.of_int (random num_words) in
    (* Small ones, single bits, all bits up to one, and all but one: what masks cut off is among them. *)
    let value () =
      let bit = Z.shift_left Z.one (random 64) in
      match random 4 with
      | 0 -> Z.of_int (random 1000)
      | 1 -> bit
      | 2 -> Z.pred bit
      | _ -> Z.logxor (Z.pred (Z.shift_left Z.one 64)) bit
    in
    let name, arguments =
      match random 14 with
      | 0 | 1 -> ("get", [ t (); reg () ])
      | 2 | 3 | 4 -> ("set", [ t (); reg (); value () ])
      | 5 -> ("word", [ t (); word () ])
      | 6 | 7 -> ("set_word", [ t (); word (); value () ])
      | 8 | 9 | 10 -> ("copy_words", [ t (); t (); Z.of_int (random (num_words + 1)) ])
      | 11 -> ("copy_first", [ t (); t () ])
      | 12 -> ("init", [ t (); value (); value (); value () ])
      | _ -> ("check", [])
    in
    { name; arguments }

  (* All registers of a thread. *)
  let see s t = List.init num_registers (fun reg -> find s t (Z.of_int reg))
  let changed t s = Some (s, see s t)

  (* The first message words of one thread are those of another. *)
  let copy s target source count =
    let one s i =
      let reg = Spec.message_register (Z.of_int i) in
      write s target reg (find s source reg)
    in
    List.fold_left one s (List.init count Fun.id)

  let step s { name; arguments } =
    match (name, arguments) with
    | "get", [ t; reg ] -> Some (s, [ find s t reg ])
    | "set", [ t; reg; value ] ->
        (* Constant registers. *)
        if Z.equal reg Spec.uCTX_CS || Z.equal reg Spec.uCTX_SS then None
        else changed t (write s t reg (Spec.kept reg value))
    | "word", [ t; i ] -> Some (s, [ find s t (Spec.message_register i) ])
    | "set_word", [ t; i; value ] -> changed t (write s t (Spec.message_register i) value)
    | "copy_words", [ target; source; count ] -> changed target (copy s target source (Z.to_int count))
    | "copy_first", [ target; source ] -> changed target (copy s target source 4)
    | "init", [ t; entry; stack; argument ] ->
        changed t (List.fold_left (fun s (reg, value) -> write s t reg value) s (Spec.fresh_registers entry stack argument))
    | "check", [] -> Some (s, [ of_bool (not (valid s)) ])
    | _ -> failwith name
end

module Main = Make (Registers)

let () = Main.main ()
