(** The lock algorithms that the kernel can be built with: each one's code implements the lock layer. *)
From Ashlar Require layers.spinlock.TicketImplements layers.spinlock.McsImplements.
From Ashlar Require Export layers.spinlock.Spec lang.Constants.

Inductive lock_algorithm := Ticket | Mcs.

Definition lock_module (a : lock_algorithm) : module :=
  match a with Ticket => spinlock.Code.spinlock_module | Mcs => spinlock.CodeMcs.spinlock_module end.

(** The CPUs that the algorithm has to reckon with: they are queued for a lock, or have not yet let the next one through.
    The scheduler keeps none of them waiting for more than [patience] events of others. *)
Definition lock_engaged (a : lock_algorithm) (ncpu budget patience : nat) : nat -> atomic_log -> Prop :=
  match a with
  | Ticket => spinlock.Protocol.queued (spinlock.Bound.critical_section ncpu budget patience)
  | Mcs => spinlock.McsProtocol.queued (spinlock.McsBound.critical_section budget patience)
  end.

Theorem locks_implemented a kernel_entry ncpu budget patience init guarded : Z.of_nat ncpu <= NUM_CPU ->
  implements_locks kernel_entry ncpu budget patience NUM_LOCK init guarded (lock_module a)
    (lock_engaged a ncpu budget patience).
Proof.
  intros Hc. destruct a.
  - apply spinlock.TicketImplements.ticket_implements_locks; [done|]. unfold NUM_CPU in Hc. lia.
  - by apply spinlock.McsImplements.mcs_implements_locks.
Qed.
