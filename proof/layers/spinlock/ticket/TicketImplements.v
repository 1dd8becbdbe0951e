(** The ticket lock's module implements the lock layer, as the theorems about the whole kernel ask of a lock. *)
From Ashlar Require Export layers.spinlock.ticket.TicketLinked.

Section implements.
  Context (kernel_entry : Z -> Z) (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).

  (** The cells' addresses fit in 32 bits, the tickets out in 64. *)
  Theorem ticket_implements_locks : 2 * nlock < 2 ^ 32 -> Z.of_nat ncpu < 2 ^ 64 ->
    implements_locks kernel_entry ncpu budget F nlock init guarded spinlock_module
      (queued (critical_section ncpu budget F)).
  Proof.
    intros Hcells Hcpus. split; [done|].
    exists (keeps_protocol (critical_section ncpu budget F) ncpu), (outside ncpu budget F nlock init guarded).
    split; [by apply ticket_implements|]. intros c e l. apply outside_others.
  Qed.
End implements.
