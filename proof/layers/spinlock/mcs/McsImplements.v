(** The MCS lock's module, as generated from the C that boots, implements the lock layer, as the theorems about the whole
    kernel ask of a lock: the same specification as the ticket lock's. *)
From Ashlar Require Export layers.spinlock.mcs.McsReleaseCall layers.spinlock.mcs.McsAcquireCall.

(** The module's other functions are no primitives of the lock layer, where a call of one would be [Wrong]. *)
Lemma spinlock_module_functions f fd : spinlock_module f = Some fd ->
  f = ACQUIRE /\ fd = spinlock_acquire_code \/ f = RELEASE /\ fd = spinlock_release_code \/
  f <> ACQUIRE /\ f <> RELEASE /\ f <> OUT.
Proof.
  unfold spinlock_module, spinlock_module_list. cbn [module_of].
  repeat match goal with |- context [String.eqb f ?n] => destruct (String.eqb_spec f n) as [->|_] end;
    intros H; try done; try (injection H as <-); [by left|right; left; by split|right; right; split_and!; done..].
Qed.

(** With fine locks, entering and leaving the kernel as a whole takes no lock. *)
Lemma spinlock_kernel_enter_empty {G} (J : cfg -> G -> Prop) m g (Q : Z -> mem -> G -> Prop) :
  Q 0 m g -> body_wp J spinlock_kernel_enter_code [] m g Q.
Proof. done. Qed.
Lemma spinlock_kernel_exit_empty {G} (J : cfg -> G -> Prop) m g (Q : Z -> mem -> G -> Prop) :
  Q 0 m g -> body_wp J spinlock_kernel_exit_code [] m g Q.
Proof. done. Qed.

Section implements.
  Context (kernel_entry : Z -> Z) (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  (** The C has cells for so many locks and CPUs. *)
  Context (locks_fit : nlock <= NUM_LOCK) (cpus_fit : Z.of_nat ncpu <= NUM_CPU).
  Notation hold_bound := (critical_section budget F).
  Notation wf := (keeps_protocol hold_bound).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside budget F nlock init guarded).
  Notation B := (arch_builtins kernel_entry).

  Lemma mcs_other_call (G1 : log L1 -> Prop) c f args m l (Q : Z -> mem -> log L1 -> Prop) :
    (forall l, G1 l -> legal L1 l) -> f <> ACQUIRE -> f <> RELEASE -> f <> OUT -> G1 (views l) ->
    ~ pwp L1 G1 c (f, args) m (views l) Q.
  Proof using.
    intros Hlg H1 H2 H3 HG Hp. specialize (Hp _ (rely_refl budget F nlock init guarded G1 c l Hlg HG)).
    change (lstep L1 c (f, args) m (views l)) with
      (lock_step nlock budget (cell_data init guarded) c (f, args) m (views l)) in Hp. unfold lock_step in Hp.
    destruct (held c (views l)) as [ks n]. destruct args as [|v [|? ?]]; [done| |done].
    by rewrite (proj2 (String.eqb_neq _ _) H1), (proj2 (String.eqb_neq _ _) H2), (proj2 (String.eqb_neq _ _) H3) in Hp.
  Qed.

  Theorem mcs_implements :
    implements_layer ncpu L0 L1 B spinlock_module (reserved spinlock_module) lock_view wf outside.
  Proof using locks_fit cpus_fit.
    split.
    - intros f fd Hf. unfold reserved. by rewrite Hf.
    - intros f fd c args m Hf. unfold arch_builtins.
      repeat match goal with |- context [String.eqb f ?n] => destruct (String.eqb_spec f n) as [->|_]; [done|] end. done.
    - done.
    - intros c. split; [apply protocol_start|apply outside_start].
    - intros G1 c f fd Hlg Hc Hf M J args m l Q HM HJ Hb Hp. assert (Hcpu : Z.of_nat c < NUM_CPU) by lia.
      destruct (spinlock_module_functions f fd Hf) as [[-> ->]|[[-> ->]|(H1 & H2 & H3)]].
      + destruct (mcs_acquire_call budget F nlock init guarded locks_fit G1 Hlg c Hcpu kernel_entry M HM J HJ
          args m l Q Hb Hp) as [Hlen Hw].
        split; [exact Hlen|]. eapply body_wp_mono; [|exact Hw]. cbn beta.
        intros v m' l' (Hb' & (e & l1 & Hv & He & HQ) & _). split; [done|]. exists l1. split; [by exists e|done].
      + destruct (mcs_release_call budget F nlock init guarded locks_fit G1 Hlg c Hcpu kernel_entry M HM J HJ
          args m l Q Hb Hp) as [Hlen Hw].
        split; [exact Hlen|]. eapply body_wp_mono; [|exact Hw]. cbn beta.
        intros v m' l' (Hb' & (e & l1 & Hv & He & HQ) & _). split; [done|]. exists l1. split; [by exists e|done].
      + by destruct (mcs_other_call G1 c f args m l Q Hlg H1 H2 H3 (proj2 (proj2 Hb))).
    - intros G1 c f Hlg Hc Hf. apply mcs_direct; [done|lia|done].
  Qed.

  Theorem mcs_implements_locks :
    implements_locks kernel_entry ncpu budget F nlock init guarded spinlock_module (queued hold_bound).
  Proof using locks_fit cpus_fit.
    split; [done|]. exists wf, outside. split; [exact mcs_implements|].
    intros c e l Hw _. by apply outside_others.
  Qed.
End implements.
