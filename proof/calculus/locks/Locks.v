(** The lock layer: what [spinlock_acquire] and [spinlock_release] guarantee to everything above, as single events.

    One definition serves two uses: over cells (what C code sees) and over abstract objects (what specification programs
    see). [D] is what a lock guards: its ownership moves to the CPU that acquires the lock and back with the release. The
    caller must prove three rules ([Wrong] if broken): a lock is acquired only below all that are held (locks are numbered
    in layer order, so there is no deadlock); locks are released in reverse order; between acquiring the first lock and
    releasing it a CPU causes at most [budget] events (so waiting times are bounded). *)
From Ashlar Require Export calculus.logs.Engine lang.Semantics.

Inductive lock_event (D : Type) :=
| OAcquire (k : Z)
| ORelease (k : Z) (d : D)
| OOut (v : Z).
Arguments OAcquire {_}. Arguments ORelease {_}. Arguments OOut {_}.

Notation lock_log D := (list (event (lock_event D))).

Section replay.
  Context {D : Type}.
  Implicit Types l : lock_log D.

  (** The CPU that holds lock [k]. *)
  Fixpoint holder (k : Z) l : option nat :=
    match l with
    | [] => None
    | e :: l =>
        match what e with
        | OAcquire k' => if k' =? k then Some (who e) else holder k l
        | ORelease k' _ => if k' =? k then None else holder k l
        | OOut _ => holder k l
        end
    end.

  (** The locks CPU [c] holds, the last acquired first, and how many events it has caused since it held none. *)
  Fixpoint held (c : nat) l : list Z * nat :=
    match l with
    | [] => ([], 0%nat)
    | e :: l =>
        if decide (who e = c) then
          match held c l, what e with
          | ([], _), OAcquire k => ([k], 0%nat)
          | (ks, n), OAcquire k => (k :: ks, S n)
          | (ks, n), ORelease _ _ => (tail ks, S n)
          | (ks, n), OOut _ => (ks, S n)
          end
        else held c l
    end.

  (** What lock [k] guards while it is free: as published last. *)
  Fixpoint published (init : Z -> D) (k : Z) l : D :=
    match l with
    | [] => init k
    | e :: l =>
        match what e with
        | ORelease k' d => if k' =? k then d else published init k l
        | _ => published init k l
        end
    end.
End replay.

(** [pull k d m]: the memory [m] of a CPU when it gets [d] with lock [k]. [push k m]: what it gives up, and what it
    keeps; [None] if it may not release now. *)
Record lock_data (D MEM : Type) := LockData {
  ld_init : Z -> D;
  ld_pull : Z -> D -> MEM -> MEM;
  ld_push : Z -> MEM -> option (D * MEM);
}.
Arguments LockData {_ _}. Arguments ld_init {_ _}. Arguments ld_pull {_ _}. Arguments ld_push {_ _}.

Definition ACQUIRE : string := "spinlock_acquire".
Definition RELEASE : string := "spinlock_release".
Definition OUT : string := "out".

Section layer.
  Context {D MEM : Type} (nlock : Z) (budget : nat) (X : lock_data D MEM).

  (** [k] may be acquired by a CPU that holds [ks]. *)
  Definition below (k : Z) (ks : list Z) : bool := (0 <=? k) && (k <? nlock) && forallb (fun k' => k <? k') ks.

  Definition within (ks : list Z) (n : nat) : bool :=
    match ks with [] => true | _ => Nat.ltb n budget end.

  Definition lock_step (c : nat) (p : cprim) (m : MEM) (l : lock_log D) : outcome MEM (lock_event D) :=
    let (ks, n) := held c l in
    match p with
    | (f, [k]) =>
        if String.eqb f ACQUIRE then
          if below k ks && within ks n then
            match holder k l with
            | Some _ => Blocked
            | None => Ok 0 (ld_pull X k (published (ld_init X) k l) m) (OAcquire k)
            end
          else Wrong
        else if String.eqb f RELEASE then
          match ks with
          | k' :: _ =>
              if (k' =? k) && within ks n then
                match ld_push X k m with
                | Some (d, m') => Ok 0 m' (ORelease k d)
                | None => Wrong
                end
              else Wrong
          | [] => Wrong
          end
        else if String.eqb f OUT then
          match ks with [] => Ok 0 m (OOut k) | _ => Wrong end
        else Wrong
    | _ => Wrong
    end.

  Definition lock_layer : layer cprim MEM := Layer (lock_event D) lock_step (fun _ _ => True).
End layer.

(** The lock layer over cells. [guarded k m]: the cells among [m] that lock [k] guards; it may depend on the contents, as
    for the words of free frames. *)
Definition cell_data (init : Z -> mem) (guarded : Z -> mem -> mem) : lock_data mem mem :=
  LockData init (fun _ d m => d ∪ m) (fun k m => Some (guarded k m, m ∖ guarded k m)).
