(** Containers: the specification.

    The state is a tree of quotas. A function gives its result and the new state; [None] means that its caller broke a
    requirement. Codes of results are those of [abi.h]. *)
From Ashlar Require Export lang.Constants lang.Semantics.

Record container := Container {
  exists_ : bool;
  parent : Z;    (* NONE for the root and for one that does not exist *)
  quota : Z;     (* frames *)
  usage : Z;     (* frames used, quotas of the children included *)
  granted : Z;   (* sum of the children's quotas *)
  children : Z;
}.
Add Printing Constructor container.
Global Instance container_eq_dec : EqDecision container.
Proof. solve_decision. Defined.

(** Container [c] of the state, for each [c] with [container_id c]. *)
Notation container_state := (gmap Z container).

Definition ROOT : Z := NUM_PROCESS.
Definition container_id (c : Z) : bool := (0 <=? c) && (c <=? ROOT).
Definition word32 (n : Z) : bool := (0 <=? n) && (n <? 2 ^ 32).

Definition absent : container := Container false NONE 0 0 0 0.

(** Sum over all containers. *)
Definition container_sum (f : Z -> container -> Z) (s : container_state) : Z :=
  map_fold (fun c x n => f c x + n) 0 s.

Definition is_child (c : Z) (x : container) : bool := exists_ x && (parent x =? c).
Definition quota_under (c : Z) (_ : Z) (x : container) : Z := if is_child c x then quota x else 0.
Definition one_under (c : Z) (_ : Z) (x : container) : Z := if is_child c x then 1 else 0.

(** ** What holds of every state *)

Definition exists_in (s : container_state) (c : Z) : bool :=
  match s !! c with Some x => exists_ x | None => false end.

(** Of each container: quota is never exceeded, and what it gave away is exactly what its children have. *)
Definition container_ok (s : container_state) (c : Z) (x : container) : Prop :=
  if exists_ x then
    0 <= granted x /\ granted x <= usage x /\ usage x <= quota x /\ quota x < 2 ^ 32 /\
    granted x = container_sum (quota_under c) s /\
    children x = container_sum (one_under c) s /\
    (if bool_decide (c = ROOT) then parent x = NONE
     else container_id (parent x) = true /\ parent x <> c /\ exists_in s (parent x) = true)
  else x = absent.
Global Instance container_ok_dec s c x : Decision (container_ok s c x).
Proof. unfold container_ok. destruct (exists_ x); [destruct (bool_decide (c = ROOT))|]; apply _. Defined.

Definition container_valid (s : container_state) : Prop :=
  dom s = list_to_set (C := gset Z) (seqZ 0 (ROOT + 1)) /\ exists_in s ROOT = true /\ map_Forall (container_ok s) s.
Global Instance container_valid_dec s : Decision (container_valid s).
Proof. unfold container_valid. apply _. Defined.

(** ** The functions *)

(** Start-up: only the root exists. *)
Definition container_initial (root_quota : Z) : container_state :=
  <[ROOT := Container true NONE root_quota 0 0 0]>
    (set_to_map (fun c => (c, absent)) (list_to_set (C := gset Z) (seqZ 0 (ROOT + 1)))).

Definition set_usage (n : Z) (x : container) : container :=
  Container (exists_ x) (parent x) (quota x) n (granted x) (children x).

Definition container_split (s : container_state) (p c n : Z) : option (Z * container_state) :=
  if container_id p && container_id c && negb (p =? c) && word32 n then
    match s !! p, s !! c with
    | Some x, Some y =>
        if negb (exists_ x) || exists_ y then Some (ERR_BAD_STATE, s)
        else if quota x - usage x <? n then Some (ERR_QUOTA, s)
        else Some (STATUS_OK,
               <[c := Container true p n 0 0 0]>
                 (<[p := Container true (parent x) (quota x) (usage x + n) (granted x + n) (children x + 1)]> s))
    | _, _ => None
    end
  else None.

Definition container_charge (s : container_state) (c n : Z) : option (Z * container_state) :=
  if word32 n then
    match s !! c with
    | Some x =>
        if negb (exists_ x) then Some (ERR_BAD_STATE, s)
        else if quota x - usage x <? n then Some (ERR_QUOTA, s)
        else Some (STATUS_OK, <[c := set_usage (usage x + n) x]> s)
    | None => None
    end
  else None.

(** Requires that [n] frames are charged to [c]. *)
Definition container_refund (s : container_state) (c n : Z) : option (Z * container_state) :=
  match s !! c with
  | Some x =>
      if exists_ x && (0 <=? n) && (n <=? usage x - granted x)
      then Some (0, <[c := set_usage (usage x - n) x]> s) else None
  | None => None
  end.

Definition container_merge (s : container_state) (c : Z) : option (Z * container_state) :=
  if c =? ROOT then None
  else
    match s !! c with
    | Some y =>
        if negb (exists_ y) || negb (usage y =? 0) || negb (children y =? 0) then Some (ERR_BAD_STATE, s)
        else
          match s !! parent y with
          | Some x =>
              Some (STATUS_OK,
                <[c := absent]>
                  (<[parent y := Container (exists_ x) (parent x) (quota x) (usage x - quota y)
                                   (granted x - quota y) (children x - 1)]> s))
          | None => None
          end
    | None => None
    end.

Definition container_read (f : container -> Z) (s : container_state) (c : Z) : option (Z * container_state) :=
  match s !! c with Some x => Some (f x, s) | None => None end.
Definition container_quota : container_state -> Z -> option (Z * container_state) := container_read quota.
Definition container_usage : container_state -> Z -> option (Z * container_state) := container_read usage.
Definition container_parent : container_state -> Z -> option (Z * container_state) := container_read parent.
Definition container_own_usage : container_state -> Z -> option (Z * container_state) :=
  container_read (fun x => usage x - granted x).

(** ** Cells *)

Definition container_cell (c : Z) (field : string) : cell := ("container"%string, c, field, 0).
Definition container_fields : list string := ["exists"; "parent"; "quota"; "usage"; "granted"; "children"]%string.
Definition container_cells (x : cell) : Prop :=
  exists c field, 0 <= c <= ROOT /\ field ∈ container_fields /\ x = container_cell c field.

Definition Z_of_bool (b : bool) : Z := if b then 1 else 0.

(** The cells of container [c] contain [x]. *)
Definition container_is (d : mem) (c : Z) (x : container) : Prop :=
  d !! container_cell c "exists" = Some (Z_of_bool (exists_ x)) /\
  d !! container_cell c "parent" = Some (parent x) /\
  d !! container_cell c "quota" = Some (quota x) /\
  d !! container_cell c "usage" = Some (usage x) /\
  d !! container_cell c "granted" = Some (granted x) /\
  d !! container_cell c "children" = Some (children x).

Definition container_rep (s : container_state) (d : mem) : Prop :=
  (forall c, is_Some (s !! c) <-> 0 <= c <= ROOT) /\
  (forall x, is_Some (d !! x) <-> container_cells x) /\
  (forall c x, s !! c = Some x -> container_is d c x).
