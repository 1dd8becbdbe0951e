(** The machine below the spin locks: atomic cells, and ownership of ordinary cells.

    The primitives are those of [kernel/arch/arch.h] on atomic cells, each one event, and the two ghost primitives
    [arch_own] and [arch_disown], by which the CPU that acquires a lock takes the cells that the lock guards, and gives them
    up before it lets the next one through. [arch_own] is [Wrong] while another CPU owns them, so never going wrong is
    mutual exclusion and freedom from data races.

    Scheduler assumption ([bounded_fair] of [layers/spinlock/Spec.v]): every CPU that others may have to wait for moves at
    least once among any [fairness_bound] events. *)
From Ashlar Require Export calculus.locks.Locks.

Inductive atomic_event :=
| ELoad (a : Z)
| EStore (a v : Z)
| EFetchAdd (a v : Z)
| ESwap (a v : Z)
| ECas (a expected v : Z)
| EOwn (k : Z)
| EDisown (k : Z) (d : mem)
| EOut (v : Z).

Notation atomic_log := (list (event atomic_event)).

(** The value of atomic cell [a]. All are 0 at first. *)
Fixpoint atomic_value (a : Z) (l : atomic_log) : Z :=
  match l with
  | [] => 0
  | e :: l =>
      let old := atomic_value a l in
      match what e with
      | EStore a' v | ESwap a' v => if a' =? a then v else old
      | EFetchAdd a' v => if a' =? a then wrap W64 (old + v) else old
      | ECas a' expected v => if (a' =? a) && (old =? expected) then v else old
      | _ => old
      end
  end.

(** The CPU that owns what lock [k] guards. *)
Fixpoint owner (k : Z) (l : atomic_log) : option nat :=
  match l with
  | [] => None
  | e :: l =>
      match what e with
      | EOwn k' => if k' =? k then Some (who e) else owner k l
      | EDisown k' _ => if k' =? k then None else owner k l
      | _ => owner k l
      end
  end.

Fixpoint disowned (init : Z -> mem) (k : Z) (l : atomic_log) : mem :=
  match l with
  | [] => init k
  | e :: l =>
      match what e with
      | EDisown k' d => if k' =? k then d else disowned init k l
      | _ => disowned init k l
      end
  end.

(** The number of events since CPU [c] last moved. *)
Fixpoint events_since_move (c : nat) (l : atomic_log) : nat :=
  match l with
  | [] => 0
  | e :: l => if decide (who e = c) then 0%nat else S (events_since_move c l)
  end.

Section layer.
  Context (X : lock_data mem mem).

  Definition atomics_step (c : nat) (p : cprim) (m : mem) (l : atomic_log) : outcome mem atomic_event :=
    match p with
    | ("arch_atomic_load"%string, [a]) => Ok (atomic_value a l) m (ELoad a)
    | ("arch_atomic_store"%string, [a; v]) => Ok 0 m (EStore a v)
    | ("arch_atomic_fetch_add"%string, [a; v]) => Ok (atomic_value a l) m (EFetchAdd a v)
    | ("arch_atomic_swap"%string, [a; v]) => Ok (atomic_value a l) m (ESwap a v)
    | ("arch_atomic_cas"%string, [a; expected; v]) => Ok (atomic_value a l) m (ECas a expected v)
    | ("arch_own"%string, [k]) =>
        match owner k l with
        | None => Ok 0 (ld_pull X k (disowned (ld_init X) k l) m) (EOwn k)
        | Some _ => Wrong
        end
    | ("arch_disown"%string, [k]) =>
        if decide (owner k l = Some c) then
          match ld_push X k m with
          | Some (d, m') => Ok 0 m' (EDisown k d)
          | None => Wrong
          end
        else Wrong
    | ("out"%string, [v]) => Ok 0 m (EOut v)
    | _ => Wrong
    end.
End layer.
