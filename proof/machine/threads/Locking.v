(** Sequential reasoning where a function may take locks, and hand its CPU over while it holds none.

    [guards k]: what lock [k] guards, of the locks that may be taken. What it guards comes with it, in some state, and goes with its release, changed as [changes k] allows. [locking] is [switching]
    where locks may be taken besides. Each lock is released before the next is taken; [calm] says of the judgement's state that none is held, [holding k d] that lock [k] is, with which [d] came. *)
From Ashlar Require Export machine.threads.Switching calculus.locks.Locks.

Section locking.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context {H : Type} (hands : H -> Z -> mem -> Prop) (comes : H -> mem -> Prop) (guards : Z -> option (mem -> Prop)) (changes : Z -> mem -> mem -> Prop).

  Definition lock_closed {G : Type} (J : cfg -> G -> Prop) (calm : H -> G -> Prop) (holding : Z -> mem -> H -> G -> Prop) : Prop :=
    forall k guarded, guards k = Some guarded ->
    (forall m h g (Q : call_post), calm h g -> (forall d g', guarded d -> d ##ₘ m -> holding k d h g' -> Q 0 (d ∪ m) g') -> fwp J ACQUIRE [k] m g Q) /\
    (forall d0 d m h g (Q : call_post), holding k d0 h g -> changes k d0 d -> d ##ₘ m -> (forall g', calm h g' -> Q 0 m g') -> fwp J RELEASE [k] (d ∪ m) g Q).

  Definition locking (s : stmt) (Qn Qb : locals -> H -> mem -> Prop) (Qr : Z -> H -> mem -> Prop) (r : locals) (h : H) (d : mem) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (calm : H -> G -> Prop) (holding : Z -> mem -> H -> G -> Prop) (g : G) (rest : mem),
      step_closed kernel_entry M cpu J -> quiet_closed quiet kernel_entry M cpu J -> switch_closed hands comes J calm rest -> lock_closed J calm holding ->
      d ##ₘ rest -> calm h g ->
      wp J s (fun r m g' => exists h' d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm h' g' /\ Qn r h' d')
        (fun r m g' => exists h' d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm h' g' /\ Qb r h' d')
        (fun v m g' => exists h' d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm h' g' /\ Qr v h' d') r (d ∪ rest) g.
End locking.
