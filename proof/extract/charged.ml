(* Frames with the containers that they are charged to, as frame.h says of each function where nothing comes between:
   charged first, and given back where there was nothing to charge for. *)

module type SPEC = sig
  type frames
  type containers

  val container_initial : Z.t -> containers
  val container_split : containers -> Z.t -> Z.t -> Z.t -> (Z.t * containers) option
  val container_charge : containers -> Z.t -> Z.t -> (Z.t * containers) option
  val container_refund : containers -> Z.t -> Z.t -> (Z.t * containers) option
  val frame_initial : frames
  val frame_make_usable : frames -> Z.t -> Z.t -> (Z.t * frames) option
  val frame_take : frames -> Z.t -> (Z.t * frames) option
  val frame_add : frames -> Z.t -> Z.t -> (Z.t * frames) option
  val frame_remove : frames -> Z.t -> Z.t -> (Z.t * frames) option
  val rOOT : Z.t
  val nONE : Z.t
  val sTATUS_OK : Z.t
  val fRAME_NO_QUOTA : Z.t
end

(* Processes that have a container; more would never meet. *)
let processes = 8

(* HOSTED_FIRST_FRAME. *)
let first_frame = 256

module Make (Spec : SPEC) = struct
  type state = { frames : Spec.frames; containers : Spec.containers }

  let after = function Some (_, state) -> state | None -> failwith "the start does not meet a requirement"

  (* A machine with these quotas and so many frames. *)
  let start ~machine ~quota ~usable =
    let split containers p = after (Spec.container_split containers Spec.rOOT (Z.of_int p) quota) in
    let containers = List.fold_left split (Spec.container_initial machine) (List.init processes Fun.id) in
    { containers; frames = after (Spec.frame_make_usable Spec.frame_initial (Z.of_int first_frame) usable) }

  let refund p (result, s) =
    Option.map (fun (_, containers) -> (result, { s with containers })) (Spec.container_refund s.containers p Z.one)

  (* [give] has the result and the state after it; [none]: these are the results that charge nothing. *)
  let charged s p ~refused ~none give =
    Option.bind (Spec.container_charge s.containers p Z.one) (fun (status, containers) ->
        if status <> Spec.sTATUS_OK then Some (refused status, s)
        else
          Option.bind (give s.frames) (fun (result, frames) ->
              let answer = (result, { containers; frames }) in
              if none result then refund p answer else Some answer))

  let alloc s p =
    let refused _ = Spec.fRAME_NO_QUOTA in
    charged s p ~refused ~none:(Z.equal Spec.nONE) (fun frames -> Spec.frame_take frames p)

  let add s f p =
    charged s p ~refused:Fun.id ~none:(fun status -> status <> Spec.sTATUS_OK) (fun frames -> Spec.frame_add frames f p)

  let remove s f p =
    Option.bind (Spec.frame_remove s.frames f p) (fun (status, frames) ->
        let answer = (status, { s with frames }) in
        if status = Spec.sTATUS_OK then refund p answer else Some answer)
end
