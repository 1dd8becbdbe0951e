(** Devices: the specification.

    A table of device resources, filled at start-up and constant from then on. A function gives its result and the new state; [None]
    means that its caller broke a requirement. Two requirements of [device.h] are about other layers and not stated here: the frames
    of a window are reserved, and the owner alone has a grant for it. Arguments are unsigned in C, so they are not negative here. *)
From Ashlar Require Export lang.logic.Structs lang.Constants.

(** A device resource. *)
Record device := Device {
  kind : Z;   (* GRANT_MMIO: a window of device registers; GRANT_PORT: a range of I/O ports; GRANT_NONE: not defined *)
  owner : Z;  (* process; NONE if not defined *)
  base : Z;   (* first address, or first port *)
  extent : Z; (* bytes, or ports: the C's size, which is another thing in stdpp *)
}.
Add Printing Constructor device.
Global Instance device_eq_dec : EqDecision device.
Proof. solve_decision. Defined.

(** Device [i] of the state, for each [i] from 0 to [NUM_DEVICE - 1]. *)
Notation device_state := (gmap Z device).

(** A device that is not defined. *)
Definition no_device : device := Device GRANT_NONE NONE 0 0.
(** Bytes of a page. *)
Definition PAGE : Z := 4096.
(** A machine has the ports 0 to [PORTS - 1]. *)
Definition PORTS : Z := 65536.

(** ** What holds of every state *)

(** A device that is defined has an owner; a window is of whole pages, whose frames have numbers below [NONE]; a range has only ports
    that exist. [device_check] checks this in debug builds, but neither owners nor what is not defined. *)
Definition device_ok (x : device) : Prop :=
  if bool_decide (kind x = GRANT_NONE) then x = no_device
  else
    0 <= owner x < NUM_PROCESS /\ 0 <= base x /\ 0 <= extent x /\
    (if bool_decide (kind x = GRANT_MMIO)
     then base x mod PAGE = 0 /\ extent x mod PAGE = 0 /\ base x / PAGE + extent x / PAGE <= NONE
     else kind x = GRANT_PORT /\ base x + extent x <= PORTS).
Global Instance device_ok_dec x : Decision (device_ok x).
Proof. unfold device_ok. destruct (bool_decide _); [|destruct (bool_decide _)]; apply _. Defined.

(** The table is whole, and each device in it is as above. *)
Definition device_valid (s : device_state) : Prop :=
  dom s = list_to_set (C := gset Z) (seqZ 0 NUM_DEVICE) /\ map_Forall (fun _ x => device_ok x) s.
Global Instance device_valid_dec s : Decision (device_valid s).
Proof. unfold device_valid. apply _. Defined.

(** ** The functions *)

(** [device_init]: no device is defined. *)
Definition device_initial : device_state :=
  set_to_map (fun i => (i, no_device)) (list_to_set (C := gset Z) (seqZ 0 NUM_DEVICE)).

(** Start-up writes a device; requires one as the invariant has it. *)
Definition device_define (s : device_state) (i k b n p : Z) : option (Z * device_state) :=
  let x := Device k p b n in
  if bool_decide (device_ok x) then
    match s !! i with Some _ => Some (0, <[i := x]> s) | None => None end
  else None.

(** The process that owns the device. *)
Definition device_owner (s : device_state) (i : Z) : option (Z * device_state) :=
  match s !! i with Some x => Some (owner x, s) | None => None end.

(** The frame of a page that lies wholly in the window. *)
Definition device_frame (s : device_state) (i page : Z) : option (Z * device_state) :=
  if 0 <=? page then
    match s !! i with
    | Some x => Some (if (kind x =? GRANT_MMIO) && (page * PAGE + PAGE <=? extent x) then base x / PAGE + page else NONE, s)
    | None => None
    end
  else None.

(** The port of an access that lies wholly in the range. *)
Definition device_port (s : device_state) (i offset width : Z) : option (Z * device_state) :=
  if 0 <=? offset then
    match s !! i with
    | Some x =>
        Some (if (kind x =? GRANT_PORT) && bool_decide (width ∈ [1; 2; 4]) && (offset + width <=? extent x)
              then base x + offset else NONE, s)
    | None => None
    end
  else None.

(** ** Cells *)

(** The fields of a device, in the order in which [device.c] declares them. *)
Definition device_fields (x : device) : list (string * Z) :=
  [("kind", kind x); ("owner", owner x); ("base", base x); ("size", extent x)]%string.
(** The cells of the table. *)
Definition device_cells (c : cell) : Prop :=
  exists i f, 0 <= i < NUM_DEVICE /\ f ∈ (device_fields no_device).*1 /\ c = field_cell "device" i f.
(** The table has exactly its cells, and they contain the state. *)
Definition device_rep (s : device_state) (d : mem) : Prop :=
  (forall i, is_Some (s !! i) <-> 0 <= i < NUM_DEVICE) /\ exactly device_cells d /\
  (forall i x, s !! i = Some x -> holds "device" i (device_fields x) d).

(** ** Guarantees *)

(** At start-up each device of the table is undefined. *)
Lemma device_initial_lookup i x : device_initial !! i = Some x <-> 0 <= i < NUM_DEVICE /\ x = no_device.
Proof.
  unfold device_initial. rewrite lookup_set_to_map by done. split.
  - intros (j & Hj & [= -> <-]). by rewrite elem_of_list_to_set, elem_of_seqZ in Hj.
  - intros [Hi ->]. exists i. by rewrite elem_of_list_to_set, elem_of_seqZ.
Qed.
(** Start-up begins with a valid table. *)
Theorem device_initial_valid : device_valid device_initial.
Proof. apply (bool_decide_unpack _). by vm_compute. Qed.
(** A definition keeps it valid. *)
Theorem device_define_valid s i k b n p v s' : device_valid s -> device_define s i k b n p = Some (v, s') -> device_valid s'.
Proof.
  unfold device_define. intros [Hd Hs] H. case_bool_decide as Hx; [|done]. destruct (s !! i) as [y|] eqn:Hi; [|done].
  injection H as <- <-. split.
  - rewrite dom_insert_lookup_L; [done|by eexists].
  - by apply map_Forall_insert_2.
Qed.
(** Who reads a table leaves it as it is. *)
Theorem device_reads_keep s i a b v s' :
  device_owner s i = Some (v, s') \/ device_frame s i a = Some (v, s') \/ device_port s i a b = Some (v, s') -> s' = s.
Proof.
  unfold device_owner, device_frame, device_port.
  intros [H|[H|H]]; repeat match type of H with context [match ?e with _ => _ end] => destruct e; try done end;
    by injection H as <- <-.
Qed.

(** The owner is a process, or [NONE] if the device is not defined. *)
Theorem device_owner_process s i p s' : device_valid s -> device_owner s i = Some (p, s') ->
  p = NONE /\ s !! i = Some no_device \/ 0 <= p < NUM_PROCESS.
Proof.
  unfold device_owner. intros [_ Hs] H. destruct (s !! i) as [x|] eqn:Hi; [|done]. injection H as <- _. pose proof (Hs i x Hi) as Hx.
  unfold device_ok in Hx. cbn beta in Hx. case_bool_decide; [left; by subst x|right; tauto].
Qed.
(** What the invariant says of a window. *)
Lemma device_window s i x : device_valid s -> s !! i = Some x -> kind x = GRANT_MMIO ->
  0 <= base x /\ 0 <= extent x /\ base x mod PAGE = 0 /\ extent x mod PAGE = 0 /\ base x / PAGE + extent x / PAGE <= NONE.
Proof.
  intros [_ Hs] Hi Hk. pose proof (Hs i x Hi) as Hx. unfold device_ok in Hx. cbn beta in Hx.
  rewrite Hk, bool_decide_eq_false_2, bool_decide_eq_true_2 in Hx by done. tauto.
Qed.
(** What it says of a range. *)
Lemma device_range s i x : device_valid s -> s !! i = Some x -> kind x = GRANT_PORT ->
  0 <= base x /\ 0 <= extent x /\ base x + extent x <= PORTS.
Proof.
  intros [_ Hs] Hi Hk. pose proof (Hs i x Hi) as Hx. unfold device_ok in Hx. cbn beta in Hx.
  rewrite Hk, !bool_decide_eq_false_2 in Hx by done. tauto.
Qed.
(** Whatever page a user gives: the result is [NONE], or the number of a frame that lies wholly in a window. *)
Theorem device_frame_in_grant s i page frame s' : device_valid s -> device_frame s i page = Some (frame, s') ->
  frame = NONE \/ exists x, s !! i = Some x /\ kind x = GRANT_MMIO /\ 0 <= frame < NONE /\
    base x <= frame * PAGE /\ frame * PAGE + PAGE <= base x + extent x.
Proof.
  unfold device_frame. intros Hv H. destruct (0 <=? page) eqn:E; [|done].
  destruct (s !! i) as [x|] eqn:Hi; [|done]. injection H as <- _. destruct ((kind x =? GRANT_MMIO) && _) eqn:Ek; [|by left].
  right. exists x. apply andb_true_iff in Ek as [Ek%Z.eqb_eq Ep%Z.leb_le].
  destruct (device_window s i x Hv Hi Ek) as (Hb & Hn & Hbm & Hnm & Hsum).
  unfold PAGE in *. pose proof (Z.div_mod (base x) 4096). pose proof (Z.div_mod (extent x) 4096). split_and!; [done..| | | |]; lia.
Qed.
(** Each byte of a window is in the frame of its page: the owner can have the whole window. *)
Theorem device_frame_whole s i x a : device_valid s -> s !! i = Some x -> kind x = GRANT_MMIO -> base x <= a < base x + extent x ->
  device_frame s i ((a - base x) / PAGE) = Some (a / PAGE, s).
Proof.
  intros Hv Hi Hk Ha. destruct (device_window s i x Hv Hi Hk) as (Hb & Hn & Hbm & Hnm & _). unfold device_frame, PAGE in *.
  assert ((a - base x) / 4096 = a / 4096 - base x / 4096) as -> by (Z.div_mod_to_equations; lia).
  rewrite (proj2 (Z.leb_le _ _)), Hi, Hk, Z.eqb_refl, (proj2 (Z.leb_le _ _)) by (Z.div_mod_to_equations; lia).
  cbn [andb]. do 2 f_equal. lia.
Qed.
(** Whatever offset and width a user gives: the result is [NONE], or the first port of an access that lies wholly in a range. *)
Theorem device_port_in_grant s i offset width port s' : device_valid s -> device_port s i offset width = Some (port, s') ->
  port = NONE \/ exists x, s !! i = Some x /\ kind x = GRANT_PORT /\ width ∈ [1; 2; 4] /\
    0 <= base x <= port /\ port + width <= base x + extent x /\ port + width <= PORTS.
Proof.
  unfold device_port. intros Hv H. destruct (0 <=? offset) eqn:E; [|done].
  destruct (s !! i) as [x|] eqn:Hi; [|done]. injection H as <- _. destruct ((kind x =? GRANT_PORT) && _ && _) eqn:Ek; [|by left].
  right. exists x. rewrite !andb_true_iff, Z.eqb_eq, bool_decide_eq_true, Z.leb_le in Ek. destruct Ek as ((Ek & Hw) & Ep).
  destruct (device_range s i x Hv Hi Ek) as (Hb & Hn & Hsum). split_and!; [done..|lia|lia|lia|lia].
Qed.
