(** The ticket lock's module, as generated from the C that boots, under any kernel: it implements the lock layer. *)
From Ashlar Require Export layers.spinlock.ticket.TicketEmpty layers.spinlock.ticket.TicketAcquireTime layers.spinlock.linking.CallStateLink.

(** What the module's code calls. *)
Definition ticket_inner (f : string) : bool :=
  bool_decide (f ∈ ["spinlock_ticket_acquire"; "spinlock_ticket_wait"; "spinlock_ticket_release"]%string ++ atomic_names).

Lemma ticket_inner_reserved f : ticket_inner f = true -> reserved spinlock_module f = true.
Proof.
  unfold ticket_inner, reserved. intros H%bool_decide_eq_true. destruct (spinlock_module f) as [fd|] eqn:Ef; [done|].
  apply bool_decide_eq_true. apply elem_of_app in H as [H|H]; [|done].
  repeat (apply elem_of_cons in H as [->|H]; [done|]). by apply elem_of_nil in H.
Qed.
Lemma ticket_inner_body f fd : spinlock_module f = Some fd -> calls_inner ticket_inner (fn_body fd) = true.
Proof.
  unfold spinlock_module, spinlock_module_list. cbn [module_of].
  repeat match goal with |- context [String.eqb f ?n] => destruct (String.eqb_spec f n) as [->|_] end;
    intros H; try done; by injection H as <-.
Qed.

Section linked.
  Context (kernel_entry : Z -> Z) (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  (** The cells' addresses fit in 32 bits, the tickets out in 64. *)
  Context (cells_fit : 2 * nlock < 2 ^ 32) (cpus_fit : Z.of_nat ncpu < 2 ^ 64).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation wf := (keeps_protocol hold_bound ncpu).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside ncpu budget F nlock init guarded).
  Notation B := (arch_builtins kernel_entry).

  Theorem ticket_implements :
    implements_layer ncpu L0 L1 B spinlock_module (reserved spinlock_module) lock_view wf outside.
  Proof using cells_fit cpus_fit.
    split.
    - intros f fd Hf. unfold reserved. by rewrite Hf.
    - intros f fd c args m Hf. unfold arch_builtins.
      repeat match goal with |- context [String.eqb f ?n] => destruct (String.eqb_spec f n) as [->|_]; [done|] end. done.
    - done.
    - intros c. split; [apply protocol_start|apply outside_start].
    - intros G1 c f fd Hlg Hc Hf M J args m l Q HM HJ Hb Hp.
      destruct (spinlock_module_functions f fd Hf) as [[-> ->]|[[-> ->]|(H1 & H2 & H3)]].
      + destruct (ticket_acquire_call kernel_entry ncpu budget F nlock init guarded cells_fit cpus_fit G1 Hlg c Hc M HM J HJ
          args m l Q Hb Hp) as [Hlen Hw].
        split; [exact Hlen|]. eapply body_wp_mono; [|exact Hw]. cbn beta.
        intros v m' l' (Hb' & (e & l1 & Hv & He & HQ) & _). split; [done|]. exists l1. split; [by exists e|done].
      + destruct (ticket_release_call kernel_entry ncpu budget F nlock init guarded cells_fit G1 Hlg c Hc M HM J HJ
          args m l Q Hb Hp) as [Hlen Hw].
        split; [exact Hlen|]. eapply body_wp_mono; [|exact Hw]. cbn beta.
        intros v m' l' (Hb' & e & l1 & Hv & He & HQ). split; [done|]. exists l1. split; [by exists e|done].
      + by destruct (ticket_other_call ncpu budget F nlock init guarded G1 c f args m l Q Hlg H1 H2 H3 (proj2 (proj2 Hb))).
    - intros G1 c f Hlg Hc Hf. by apply ticket_direct.
  Qed.

  (** Any kernel above the locks that is proved with locks as single events, any client, any start. *)
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module (reserved spinlock_module) M).
  Context (start : nat -> cstate C) (m0 : nat -> mem).
  Notation E0 := (c_engine B (module_union M spinlock_module) exported).
  Notation A0 := (system C E0).
  Notation A1 := (system C (c_engine B M exported)).
  Notation P0 := (fun c => @Idle _ _ C E0 (start c) (m0 c)).
  Notation P1 := (fun c => @Idle _ _ C (c_engine B M exported) (start c) (m0 c)).
  Context (never_wrong_above : never_wrong ncpu L1 A1 P1).

  (** The code of the lock does nothing undefined, in particular no CPU takes cells that another owns; it keeps the
      protocol of tickets; and whatever the whole does, the kernel does with locks as single events. *)
  Theorem ticket_refines :
    never_wrong ncpu L0 A0 P0 /\
    forall l, traces ncpu L0 A0 P0 l -> wf l /\ traces ncpu L1 A1 P1 (views l).
  Proof using cells_fit cpus_fit HM never_wrong_above.
    exact (link_refines ncpu L0 L1 B spinlock_module (reserved spinlock_module) lock_view wf outside ticket_implements
      C exported M HM eq_refl start m0 never_wrong_above).
  Qed.
End linked.
