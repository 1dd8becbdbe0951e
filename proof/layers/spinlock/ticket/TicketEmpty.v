(** The other functions of the ticket lock's module, which are empty: callers of the lock layer do not call them.

    The lock layer has no primitive of their names, so a call is [Wrong] there, and code that never goes wrong calls none. *)
From Ashlar Require Export layers.spinlock.ticket.TicketAcquire.

Lemma spinlock_module_functions f fd : spinlock_module f = Some fd ->
  f = ACQUIRE /\ fd = spinlock_acquire_code \/ f = RELEASE /\ fd = spinlock_release_code \/
  f <> ACQUIRE /\ f <> RELEASE /\ f <> OUT.
Proof.
  unfold spinlock_module, spinlock_module_list. cbn [module_of].
  repeat match goal with |- context [String.eqb f ?n] => destruct (String.eqb_spec f n) as [->|_] end;
    intros H; try done; try (injection H as <-); [by left|by right; left|right; right; split_and!; done..].
Qed.

Section other.
  Context (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).

  Theorem ticket_other_call (G1 : log L1 -> Prop) c f args m l (Q : Z -> mem -> log L1 -> Prop) :
    (forall l, G1 l -> legal L1 l) -> f <> ACQUIRE -> f <> RELEASE -> f <> OUT -> G1 (views l) ->
    ~ pwp L1 G1 c (f, args) m (views l) Q.
  Proof.
    intros Hlg H1 H2 H3 HG Hp. specialize (Hp _ (rely_refl ncpu budget F nlock init guarded G1 Hlg c l HG)).
    change (lstep L1 c (f, args) m (views l)) with
      (lock_step nlock budget (cell_data init guarded) c (f, args) m (views l)) in Hp. unfold lock_step in Hp.
    destruct (held c (views l)) as [ks n]. destruct args as [|v [|? ?]]; [done| |done].
    by rewrite (proj2 (String.eqb_neq _ _) H1), (proj2 (String.eqb_neq _ _) H2), (proj2 (String.eqb_neq _ _) H3) in Hp.
  Qed.
End other.

(** With fine locks, entering and leaving the kernel as a whole takes no lock. *)
Lemma spinlock_kernel_enter_empty {G} (J : cfg -> G -> Prop) m g (Q : Z -> mem -> G -> Prop) :
  Q 0 m g -> body_wp J spinlock_kernel_enter_code [] m g Q.
Proof. done. Qed.
Lemma spinlock_kernel_exit_empty {G} (J : cfg -> G -> Prop) m g (Q : Z -> mem -> G -> Prop) :
  Q 0 m g -> body_wp J spinlock_kernel_exit_code [] m g Q.
Proof. done. Qed.
