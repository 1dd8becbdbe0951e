(** The MCS lock's C, executed: two CPUs, nested locks, round robin.

    Both CPUs acquire lock 1, inside it lock 0, count in the cells that they guard, and release; they contend, and pass the
    locks on. Each prefix of the log satisfies the protocol ([McsProtocol.v]) and the scheduler assumption with fairness
    bound 2; so neither is vacuous. *)
From Ashlar Require Import layers.spinlock.mcs.McsProtocol layers.spinlock.Spec layers.spinlock.CodeMcs.
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

Notation cpus := 2%nat.
Notation B := (arch_builtins (fun _ => 0)).

(** Private steps up to the next primitive. *)
Fixpoint settle (n c : nat) (s : cfg) : cfg :=
  match n with
  | O => s
  | S n => match next B spinlock_module c s with ETau s' => settle n c s' | _ => s end
  end.
Definition advance (c : nat) (g : atomic_log * list cfg) : option (atomic_log * list cfg) :=
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
Fixpoint follow (schedule : list nat) (g : atomic_log * list cfg) : option (atomic_log * list cfg) :=
  match schedule with
  | [] => Some g
  | c :: cs => match advance c g with Some g' => follow cs g' | None => None end
  end.
Definition round_robin (n : nat) : list nat := (fun i => Nat.modulo i cpus) <$> seq 0 n.
Definition start : atomic_log * list cfg := ([], replicate cpus (Cfg [KStmt nested; KEnd] [] ∅)).

(** Lock 0 is held for at most 0 further events, lock 1 for as long as acquiring and releasing lock 0 takes. *)
Definition run_hold_bound (k : Z) : nat := if (k =? 0)%Z then 0%nat else 40%nat.
Definition protocol_holds (F : nat) (l : atomic_log) : bool :=
  forallb (fun k => match replay run_hold_bound k l with
    | Some t => forallb (fun c => Nat.ltb (events_since_move c l) F) (line t)
    | None => false end) [0; 1].
Fixpoint always (f : atomic_log -> bool) (l : atomic_log) : bool :=
  f l && match l with [] => true | _ :: l => always f l end.

(** Whether the protocol always held; acquisitions of locks 0 and 1; how often lock 1 was passed to a waiting CPU; what
    the cells count. *)
Definition outcome_of (F : nat) (g : option (atomic_log * list cfg)) : option (bool * nat * nat * nat * list (option Z)) :=
  match g with
  | Some (l, _) =>
      let number f := length (List.filter f l) in
      let owns k := number (fun e => match what e with EOwn k' => (k' =? k)%Z | _ => false end) in
      let handed := number (fun e => match what e with EStore a 0 => (a =? busy_cell 1 0)%Z || (a =? busy_cell 1 1)%Z
        | _ => false end) in
      Some (always (protocol_holds F) l, owns 0, owns 1, handed,
        [disowned counter_init 0 l !! counter 0; disowned counter_init 1 l !! counter 1])
  | None => None
  end.

Example mcs_lock_runs :
  outcome_of 2 (follow (round_robin 200) start) = Some (true, 10%nat, 10%nat, 9%nat, [Some 9; Some 9]).
Proof. vm_compute. reflexivity. Qed.

(** CPU 1 has swapped itself into the queue of lock 1 but not registered when CPU 0 releases: CPU 0 reads its successor
    cell, fails to empty the queue, reads 0 twice more, then CPU 1's number, and lets CPU 1 through. *)
Definition late : list nat := replicate 3 0%nat ++ replicate 2 1%nat ++ replicate 11 0%nat ++ replicate 2 1%nat ++
  replicate 2 0%nat ++ replicate 2 1%nat.
Example mcs_lock_waits_for_the_next :
  outcome_of 12 (follow late start) = Some (true, 1%nat, 2%nat, 1%nat, [Some 1; Some 1]) /\
  match follow late start with
  | Some (l, _) => (owner 1 l, length (List.filter
      (fun e => match what e with ELoad a => (a =? successor_cell 1 0)%Z | _ => false end) l))
  | None => (None, 0%nat)
  end = (Some 1%nat, 4%nat).
Proof. vm_compute. split; reflexivity. Qed.

(** The protocol is not kept by everything: a CPU that is not in line lets another through. *)
Example release_without_place : replay run_hold_bound 0 [Event 1%nat (EStore (busy_cell 0 0) 0)] = None.
Proof. vm_compute. reflexivity. Qed.
