(** Shares: the specification.

    A share stands between two processes that never change: one may offer a frame of its own, the other may accept it.
    The functions here are what happens to the shares; frames' owners are another layer's, and what it said is an
    argument: [owners] of the frame under offer, [status] of making the acceptor an owner. [None] means that the caller
    broke a requirement. *)
From Ashlar Require Export lang.Constants lang.Semantics.

Record share := Share {
  from : Z;      (* process that may offer; NONE: not defined *)
  to : Z;        (* process that may accept *)
  offered : Z;   (* frame, or NONE *)
  accepted : Z;  (* frame accepted last *)
}.
Add Printing Constructor share.
Global Instance share_eq_dec : EqDecision share.
Proof. solve_decision. Defined.

Record share_state := Shares {
  shares : gmap Z share;
  offers : gmap Z Z;  (* standing offers of each process *)
}.
Add Printing Constructor share_state.

Definition process_id (p : Z) : bool := (0 <=? p) && (p <? NUM_PROCESS).
(** A frame's number; NONE is none. *)
Definition frame_id (frame : Z) : bool := (0 <=? frame) && (frame <? NONE).
Definition owns (owners p : Z) : bool := Z.testbit owners p.

(** Process [p] offers a frame by [x]. *)
Definition offers_by (p : Z) (x : share) : bool := (from x =? p) && negb (offered x =? NONE).
Definition standing (p : Z) (m : gmap Z share) : Z :=
  map_fold (fun _ x n => (if offers_by p x then 1 else 0) + n) 0 m.

(** ** What holds of every state *)

Definition share_ok (x : share) : Prop :=
  (if from x =? NONE then offered x = NONE else process_id (from x) = true) /\ 0 <= offered x <= NONE.
Global Instance share_ok_dec x : Decision (share_ok x).
Proof. unfold share_ok. destruct (from x =? NONE); apply _. Defined.

Definition share_valid (s : share_state) : Prop :=
  dom (shares s) = list_to_set (C := gset Z) (seqZ 0 NUM_SHARE) /\
  dom (offers s) = list_to_set (C := gset Z) (seqZ 0 NUM_PROCESS) /\
  map_Forall (fun _ x => share_ok x) (shares s) /\
  map_Forall (fun p n => n = standing p (shares s)) (offers s).
Global Instance share_valid_dec s : Decision (share_valid s).
Proof. unfold share_valid. apply _. Defined.

(** ** The functions *)

Definition no_share : share := Share NONE NONE NONE NONE.
Definition share_initial : share_state :=
  Shares (set_to_map (fun i => (i, no_share)) (list_to_set (C := gset Z) (seqZ 0 NUM_SHARE)))
    (set_to_map (fun p => (p, 0)) (list_to_set (C := gset Z) (seqZ 0 NUM_PROCESS))).

(** Start-up; requires that no offer stands. *)
Definition share_define (s : share_state) (i p q : Z) : option (Z * share_state) :=
  match shares s !! i with
  | Some x =>
      if process_id p && process_id q && (offered x =? NONE)
      then Some (0, Shares (<[i := Share p q NONE (accepted x)]> (shares s)) (offers s)) else None
  | None => None
  end.

Definition set_offered (frame : Z) (x : share) : share := Share (from x) (to x) frame (accepted x).
Definition set_accepted (x : share) : share := Share (from x) (to x) (offered x) (offered x).

Definition share_offer (s : share_state) (i p frame owners : Z) : option (Z * share_state) :=
  if frame_id frame then
    match shares s !! i, offers s !! p with
    | Some x, Some n =>
        if (from x =? p) && (offered x =? NONE) && owns owners p
        then Some (STATUS_OK, Shares (<[i := set_offered frame x]> (shares s)) (<[p := n + 1]> (offers s)))
        else Some (ERR_BAD_STATE, s)
    | _, _ => None
    end
  else None.

(** The end of the offer that stands in [i]. *)
Definition share_clear (s : share_state) (i : Z) : option (Z * share_state) :=
  match shares s !! i with
  | Some x =>
      match offers s !! from x with
      | Some n =>
          if offered x =? NONE then None
          else Some (0, Shares (<[i := set_offered NONE x]> (shares s)) (<[from x := n - 1]> (offers s)))
      | None => None
      end
  | None => None
  end.

(** Accepting, before the frame is asked to have another owner: may it be asked? [STATUS_OK]: yes. *)
Definition share_accept_may (s : share_state) (i p : Z) : option (Z * share_state) :=
  match shares s !! i with
  | Some x =>
      Some (if negb (to x =? p) then ERR_BAD_STATE else if offered x =? NONE then ERR_WOULD_BLOCK else STATUS_OK, s)
  | None => None
  end.
(** After: the frame's answer is [status]. *)
Definition share_accept_end (s : share_state) (i status : Z) : option (Z * share_state) :=
  if status =? STATUS_OK then
    match shares s !! i with
    | Some x =>
        match share_clear (Shares (<[i := set_accepted x]> (shares s)) (offers s)) i with
        | Some (_, s') => Some (STATUS_OK, s')
        | None => None
        end
    | None => None
    end
  else Some (status, s).
(** Both, if the answer were known before. *)
Definition share_accept (s : share_state) (i p status : Z) : option (Z * share_state) :=
  match share_accept_may s i p with
  | Some (may, s) => if may =? STATUS_OK then share_accept_end s i status else Some (may, s)
  | None => None
  end.

Definition share_offered (s : share_state) (i : Z) : option (Z * share_state) :=
  match shares s !! i with Some x => Some (offered x, s) | None => None end.
Definition share_frame (s : share_state) (i : Z) : option (Z * share_state) :=
  match shares s !! i with Some x => Some (accepted x, s) | None => None end.

Definition share_withdraw (s : share_state) (i p : Z) : option (Z * share_state) :=
  match shares s !! i with
  | Some x =>
      if offers_by p x then match share_clear s i with Some (_, s') => Some (STATUS_OK, s') | None => None end
      else Some (ERR_BAD_STATE, s)
  | None => None
  end.

(** The offers of [p] that [which] names are gone. *)
Definition without (p : Z) (which : Z -> bool) (x : share) : share :=
  if offers_by p x && which (offered x) then set_offered NONE x else x.
Definition share_end_all (s : share_state) (p : Z) (which : Z -> bool) : option (Z * share_state) :=
  match offers s !! p with
  | Some _ =>
      let m := without p which <$> shares s in Some (0, Shares m (<[p := standing p m]> (offers s)))
  | None => None
  end.
Definition share_forget (s : share_state) (p frame : Z) : option (Z * share_state) :=
  share_end_all s p (fun f => (frame =? NONE) || (f =? frame)).
Definition share_process_ended (s : share_state) (p : Z) : option (Z * share_state) :=
  share_end_all s p (fun _ => true).

(** ** Cells *)

Definition share_cell (i : Z) (field : string) : cell := ("share"%string, i, field, 0).
Definition offers_cell (p : Z) : cell := ("share_offers"%string, p, ""%string, 0).
Definition share_fields : list string := ["from"; "to"; "offered"; "accepted"]%string.
Definition share_cells (x : cell) : Prop :=
  (exists i field, 0 <= i < NUM_SHARE /\ field ∈ share_fields /\ x = share_cell i field) \/
  (exists p, 0 <= p < NUM_PROCESS /\ x = offers_cell p).

Definition share_is (d : mem) (i : Z) (x : share) : Prop :=
  d !! share_cell i "from" = Some (from x) /\
  d !! share_cell i "to" = Some (to x) /\
  d !! share_cell i "offered" = Some (offered x) /\
  d !! share_cell i "accepted" = Some (accepted x).

Definition share_rep (s : share_state) (d : mem) : Prop :=
  (forall i, is_Some (shares s !! i) <-> 0 <= i < NUM_SHARE) /\
  (forall p, is_Some (offers s !! p) <-> 0 <= p < NUM_PROCESS) /\
  (forall x, is_Some (d !! x) <-> share_cells x) /\
  (forall i x, shares s !! i = Some x -> share_is d i x) /\
  (forall p n, offers s !! p = Some n -> d !! offers_cell p = Some n).
