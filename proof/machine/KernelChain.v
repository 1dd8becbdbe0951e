(** The chain for the kernel: its C code, with any client, on N CPUs over shared memory.

    If the machine L0 of atomic cells and ownership never goes wrong, neither does the multicore machine; everything it
    shows L0 can show; and it has no data races. *)
From Ashlar Require Export machine.Chain machine.SharedAtomics machine.SharedKernel.

Section kernel.
  Context (kernel_entry : Z -> Z) (M : module) (exported : string -> bool) (C : client) (ncpu : nat).
  Context (init : Z -> mem) (guarded : Z -> mem -> mem) (sched fairness : nat -> atomic_log -> Prop).
  Notation A := (system C (c_engine (arch_builtins kernel_entry) M exported)).
  Notation K := (shared_kernel kernel_entry M exported C).
  Notation O := (atomic_ownership init guarded sched).
  Notation L0 := (Layer atomic_event (atomics_step (cell_data init guarded)) sched).
  Notation HW := atomic_hardware.

  (** What a lock guards is part of what its owner has. *)
  Context (GUARDED : forall k m, guarded k m ⊆ m).
  (** L0's scheduler assumption is one about the hardware. *)
  Context (FAIR : forall c l, fairness c (erase O l) -> sched c l).

  (** ** The start: clients, the cells each CPU owns, and those that locks guard, all in one memory *)
  Context (user : nat -> cstate C) (start : nat -> mem) (nlock : nat).
  Context (START : forall c c', c <> c' -> start c ##ₘ start c').
  Context (START_INIT : forall c k, start c ##ₘ init k).
  Context (INIT : forall k k', k <> k' -> init k ##ₘ init k').
  Context (NLOCK : forall k, ~ (0 <= k < Z.of_nat nlock)%Z -> init k = ∅).

  Definition programs (c : nat) : ast A := Idle (user c) (start c).

  (** A piece of memory: a CPU's, or a lock's. *)
  Definition piece (i : nat + Z) : mem := match i with inl c => start c | inr k => init k end.
  Definition pieces : list (nat + Z) := (inl <$> seq 0 ncpu) ++ ((inr ∘ Z.of_nat) <$> seq 0 nlock).
  Definition memory : mem := foldr (fun i m => piece i ∪ m) ∅ pieces.

  Lemma piece_disjoint i j : i <> j -> piece i ##ₘ piece j.
  Proof using START START_INIT INIT.
    destruct i, j; simpl; intros Hne; [apply START| |symmetry|apply INIT]; [congruence|apply START_INIT..|congruence].
  Qed.
  Lemma piece_memory i : i ∈ pieces -> piece i ⊆ memory.
  Proof using START START_INIT INIT.
    unfold memory. induction pieces as [|j l IH]; [by intros ?%elem_of_nil|]. intros Hi. simpl.
    destruct (decide (i = j)) as [->|Hne]; [apply map_union_subseteq_l|].
    apply elem_of_cons in Hi as [->|Hi]; [done|]. apply map_subseteq_spec. intros x v Hx.
    apply lookup_union_Some_raw. right. split; [|by eapply lookup_weaken; [exact Hx|apply IH]].
    eapply map_disjoint_Some_l; [by apply (piece_disjoint i j)|exact Hx].
  Qed.

  Lemma kernel_dealt : dealt ncpu memory programs O.
  Proof using START START_INIT INIT NLOCK.
    split; simpl.
    - intros c Hc. apply (piece_memory (inl c)), elem_of_app. left. apply elem_of_list_fmap. exists c.
      split; [done|]. apply elem_of_seq. lia.
    - intros k _. destruct (decide (0 <= k < Z.of_nat nlock)%Z) as [Hk|Hk].
      + apply (piece_memory (inr k)), elem_of_app. right. apply elem_of_list_fmap. exists (Z.to_nat k).
        split; [simpl; by rewrite Z2Nat.id by lia|]. apply elem_of_seq. lia.
      + rewrite NLOCK by done. apply map_empty_subseteq.
    - intros c c' _ _ Hne. by apply START.
    - intros c k _ _. apply START_INIT.
    - intros k k' Hne _ _. by apply INIT.
  Qed.

  (** ** The theorems *)

  (** The kernel on shared memory, as its users see it: the values shown, in order. *)
  Definition kernel_multicore : semantics (list (nat * Z)) :=
    observed shown (x86mc ncpu HW K fairness memory programs).
  Definition kernel_ownership : semantics (list (nat * Z)) :=
    observed shown (Semantics (never_wrong ncpu L0 A programs) (traces ncpu L0 A programs)).

  Theorem kernel_multicore_refines_ownership : refines kernel_multicore kernel_ownership.
  Proof using GUARDED FAIR START START_INIT INIT NLOCK.
    intros NW. destruct (multicore_refines_ownership ncpu (H:=HW) K fairness memory programs O
      (atomic_ownership_ok init guarded sched GUARDED) FAIR kernel_dealt NW) as [Hs Hb].
    split; [exact Hs|]. intros b (l & Hl & <-). destruct (Hb l Hl) as (l0 & Hl0 & <-).
    exists l0. split; [exact Hl0|]. symmetry. apply shown_erase.
  Qed.

  (** CPU [c] is about to read (write) ordinary cell [x] in state [g] of the multicore machine. *)
  Definition about_to_read (c : nat) (g : multicore HW (A:=A)) (x : cell) : Prop :=
    match current HW K c g with Busy _ e => x ∈ reads M e | Idle _ _ => False end.
  Definition about_to_write (c : nat) (g : multicore HW (A:=A)) (x : cell) : Prop :=
    match current HW K c g with Busy _ e => x ∈ writes M e | Idle _ _ => False end.

  (** Two CPUs are about to access the same ordinary cell, and at least one of them to write it. *)
  Definition data_race (g : multicore HW (A:=A)) : Prop :=
    exists c c' x, (c < ncpu)%nat /\ (c' < ncpu)%nat /\ c <> c' /\
      about_to_write c g x /\ (about_to_read c' g x \/ about_to_write c' g x).

  Lemma about_to_foot c g x : about_to_read c g x \/ about_to_write c g x -> x ∈ afoot K c (current HW K c g).
  Proof.
    unfold about_to_read, about_to_write. cbn [afoot shared_kernel]. unfold system_foot.
    destruct (current HW K c g) as [s m|s e]; [by intros [[]|[]]|]. apply elem_of_app.
  Qed.

  Theorem kernel_race_free : never_wrong ncpu L0 A programs ->
    forall g, multicore_reach ncpu HW K fairness memory programs g -> ~ data_race g.
  Proof using GUARDED FAIR START START_INIT INIT NLOCK.
    intros NW g Hr (c & c' & x & Hc & Hc' & Hne & Hw & Hx).
    apply (multicore_race_free ncpu (H:=HW) K fairness memory programs O
      (atomic_ownership_ok init guarded sched GUARDED) FAIR kernel_dealt NW g Hr).
    exists c, c', x. split_and!; [done..| |]; apply about_to_foot; auto.
  Qed.
End kernel.
