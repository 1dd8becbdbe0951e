(** The lock algorithms that the kernel can be built with: the code of each implements the lock layer. *)
From Ashlar Require layers.spinlock.ticket.TicketImplements layers.spinlock.mcs.McsImplements.
From Ashlar Require Export layers.spinlock.Spec lang.Constants.

Inductive lock_algorithm := Ticket | Mcs.

Definition lock_module (a : lock_algorithm) : module :=
  match a with Ticket => spinlock.Code.spinlock_module | Mcs => spinlock.CodeMcs.spinlock_module end.

(** The CPUs that the algorithm has to reckon with: they are queued for a lock, or have not yet let the next one through.
    The scheduler keeps none of them waiting for more than [fairness_bound] events of others. *)
Definition lock_contending (a : lock_algorithm) (ncpu budget fairness_bound : nat) : nat -> atomic_log -> Prop :=
  match a with
  | Ticket => spinlock.ticket.TicketProtocol.queued (spinlock.ticket.TicketTimes.critical_section ncpu budget fairness_bound)
  | Mcs => spinlock.mcs.McsProtocol.queued (spinlock.mcs.McsTimes.critical_section budget fairness_bound)
  end.

Theorem locks_implemented a kernel_entry ncpu budget fairness_bound init guarded : Z.of_nat ncpu <= NUM_CPU ->
  implements_locks kernel_entry ncpu budget fairness_bound NUM_LOCK init guarded (lock_module a)
    (lock_contending a ncpu budget fairness_bound).
Proof.
  intros Hc. destruct a.
  - apply spinlock.ticket.TicketImplements.ticket_implements_locks; [done|]. unfold NUM_CPU in Hc. lia.
  - by apply spinlock.mcs.McsImplements.mcs_implements_locks.
Qed.
