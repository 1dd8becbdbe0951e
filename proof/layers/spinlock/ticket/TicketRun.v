(** The ticket lock's C, executed: three CPUs, nested locks, round robin.

    Every CPU acquires lock 1, inside it lock 0, counts in the cells that they guard, and releases. Each prefix of the log
    satisfies the protocol ([TicketProtocol.v]) and the scheduler assumption with fairness bound 3; so neither is vacuous. *)
From Ashlar Require Import layers.spinlock.ticket.TicketProtocol layers.spinlock.Code.
Local Open Scope string_scope.

Definition counter (k : Z) : cell := ("counter", k, "", 0).
Definition count (k : Z) : stmt :=
  Store "counter" (Const k) "" (Const 0) (Bin W64 Add (Load "counter" (Const k) "" (Const 0)) (Const 1)).
Definition nested : stmt :=
  While (Cmp Eq (Const 0) (Const 0))
    (Seq (Call None ACQUIRE [Const 1]) (Seq (count 1)
    (Seq (Call None ACQUIRE [Const 0]) (Seq (count 0)
    (Seq (Call None RELEASE [Const 0]) (Call None RELEASE [Const 1])))))).

Definition counter_init (k : Z) : mem := if bool_decide (0 <= k < 2) then {[counter k := 0]} else ∅.
Definition counter_guarded (k : Z) (m : mem) : mem :=
  match m !! counter k with Some v => {[counter k := v]} | None => ∅ end.

Notation cpus := 3%nat.
Notation B := (arch_builtins (fun _ => 0)).

(** Private steps up to the next primitive. *)
Fixpoint settle (n c : nat) (s : cfg) : cfg :=
  match n with
  | O => s
  | S n => match next B spinlock_module c s with ETau s' => settle n c s' | _ => s end
  end.
Definition move (c : nat) (g : atomic_log * list cfg) : option (atomic_log * list cfg) :=
  let (l, ss) := g in
  match ss !! c with
  | Some s0 =>
      let s := settle 40 c s0 in
      match next B spinlock_module c s with
      | EPrim p =>
          match atomics_step (cell_data counter_init counter_guarded) c p (cm s) l with
          | Ok v m o => Some (Event c o :: l, <[c := resume s v m]> ss)
          | _ => None
          end
      | _ => None
      end
  | None => None
  end.
Fixpoint round_robin (n c : nat) (g : atomic_log * list cfg) : option (atomic_log * list cfg) :=
  match n with
  | O => Some g
  | S n => match move c g with Some g' => round_robin n (Nat.modulo (S c) cpus) g' | None => None end
  end.
Definition start : atomic_log * list cfg := ([], replicate cpus (Cfg [KStmt nested; KEnd] [] ∅)).

(** Lock 0 is held for at most 0 further events, lock 1 for as long as acquiring and releasing lock 0 takes. *)
Definition run_hold_bound (k : Z) : nat := if (k =? 0)%Z then 0%nat else 40%nat.
Definition protocol_holds (l : atomic_log) : bool :=
  forallb (fun k => match replay run_hold_bound k l with
    | Some t => forallb (fun c => Nat.ltb (events_since_move c l) 3) (waiting t)
    | None => false end) [0; 1].
Fixpoint always (f : atomic_log -> bool) (l : atomic_log) : bool :=
  f l && match l with [] => true | _ :: l => always f l end.

(** Whether the protocol always held; acquisitions of locks 0 and 1; what the cells count. *)
Definition outcome_of (g : option (atomic_log * list cfg)) : option (bool * nat * nat * list (option Z)) :=
  match g with
  | Some (l, _) =>
      let owns k := length (List.filter (fun e => match what e with EOwn k' => (k' =? k)%Z | _ => false end) l) in
      Some (always protocol_holds l, owns 0, owns 1,
        [disowned counter_init 0 l !! counter 0; disowned counter_init 1 l !! counter 1])
  | None => None
  end.

Example ticket_lock_runs :
  outcome_of (round_robin 200 0 start) = Some (true, 6%nat, 7%nat, [Some 6; Some 6]).
Proof. vm_compute. reflexivity. Qed.

(** The protocol is not kept by everything: a CPU that has drawn no ticket serves the next one. *)
Example release_without_ticket : replay run_hold_bound 0 [Event 1%nat (EStore 1 1)] = None.
Proof. vm_compute. reflexivity. Qed.
