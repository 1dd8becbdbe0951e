(** What a lock algorithm guarantees, whichever it is.

    Below are atomic cells and ownership ([machine/Atomics.v]), above is the lock layer ([calculus/locks/Locks.v]), where
    acquiring and releasing are single events. The event of an acquisition is the moment at which the cells that the lock
    guards change owner (the linearisation point); so it is for a release.

    Scheduler assumption ([bounded_fair]): a CPU that others may have to wait for ([contending]: it is queued for a lock or has
    not yet passed it on) moves at least once among any [fairness_bound] events. *)
From Ashlar Require Export calculus.linking.Link calculus.locks.Exclusion machine.Atomics lang.Builtin.

Section spec.
  Context (kernel_entry : Z -> Z) (ncpu budget fairness_bound : nat) (nlock : Z).
  Context (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (Mlock : module) (contending : nat -> atomic_log -> Prop).

  (** CPU [c] moves while every contending CPU has moved within the fairness bound. *)
  Definition bounded_fair (c : nat) (l : atomic_log) : Prop :=
    forall c', c' <> c -> contending c' l -> (events_since_move c' l < fairness_bound)%nat.

  Definition atomics_layer : layer cprim mem :=
    Layer atomic_event (atomics_step (cell_data init guarded)) bounded_fair.
  Definition locks : layer cprim mem := lock_layer nlock budget (cell_data init guarded).

  (** What the lock layer sees of an event on atomic cells. *)
  Definition lock_view (o : atomic_event) : list (lock_event mem) :=
    match o with
    | EOwn k => [OAcquire k]
    | EDisown k d => [ORelease k d]
    | EOut v => [OOut v]
    | _ => []
    end.
  Definition lock_views (l : atomic_log) : lock_log mem := abs atomics_layer locks lock_view l.

  (** Names that modules above the locks do not define: the lock module's functions and the primitives it calls. *)
  Definition atomic_names : list string :=
    ["arch_atomic_load"; "arch_atomic_store"; "arch_atomic_fetch_add"; "arch_atomic_swap"; "arch_atomic_cas";
     "arch_own"; "arch_disown"; "arch_cpu"; "arch_spin_hint"]%string.
  Definition reserved (f : string) : bool :=
    match Mlock f with Some _ => true | None => bool_decide (f ∈ atomic_names) end.

  (** The module implements the lock layer, by a protocol [wf] of its own; a CPU that is in none of its functions stays so while
      others move. *)
  Definition implements_locks : Prop :=
    Mlock OUT = None /\
    exists (wf : atomic_log -> Prop) (outside : nat -> atomic_log -> Prop),
      implements_layer ncpu atomics_layer locks (arch_builtins kernel_entry) Mlock reserved lock_view wf outside /\
      forall c e l, wf l -> wf (e ++ l) -> Forall (fun x => who x <> c) e -> outside c l -> outside c (e ++ l).

  (** ** What follows for every algorithm *)

  Lemma owner_holder k l : owner k l = holder k (lock_views l).
  Proof. induction l as [|[c o] l IH]; [done|]. destruct o; simpl; try exact IH; rewrite IH; done. Qed.
  Lemma disowned_published k l : disowned init k l = published init k (lock_views l).
  Proof. induction l as [|[c o] l IH]; [done|]. destruct o; simpl; try exact IH; rewrite IH; done. Qed.

  Section clients.
    Context (IL : implements_locks) (C : client) (exported : string -> bool) (M : module).
    Context (HM : upper_module reserved M) (start : nat -> cstate C) (m0 : nat -> mem).
    Notation B := (arch_builtins kernel_entry).
    Notation A0 := (system C (c_engine B (module_union M Mlock) exported)).
    Notation A1 := (system C (c_engine B M exported)).
    Notation P0 := (fun c => @Idle _ _ C (c_engine B (module_union M Mlock) exported) (start c) (m0 c)).
    Notation P1 := (fun c => @Idle _ _ C (c_engine B M exported) (start c) (m0 c)).

    (** Any kernel above the locks, with any client: what is proved of locks as single events holds of the code. *)
    Theorem locks_refine : never_wrong ncpu locks A1 P1 ->
      never_wrong ncpu atomics_layer A0 P0 /\
      forall l, traces ncpu atomics_layer A0 P0 l -> traces ncpu locks A1 P1 (lock_views l).
    Proof using IL HM.
      intros Hnw. destruct IL as [Hout (wf & outside & H & _)].
      destruct (link_refines ncpu atomics_layer locks B Mlock reserved lock_view wf outside H C exported M HM Hout
        start m0 Hnw) as [H1 H2].
      split; [exact H1|]. intros l Hl. by apply H2.
    Qed.

    (** Mutual exclusion: a CPU that has a lock on its list owns what the lock guards, and no lock is on two lists. *)
    Corollary locks_exclusive : never_wrong ncpu locks A1 P1 ->
      forall l, traces ncpu atomics_layer A0 P0 l ->
      (forall c k, k ∈ (held c (lock_views l)).1 <-> owner k l = Some c) /\
      (forall c c' k, k ∈ (held c (lock_views l)).1 -> k ∈ (held c' (lock_views l)).1 -> c = c').
    Proof using IL HM.
      intros Hnw l Hl. apply (locks_refine Hnw) in Hl. apply traces_legal in Hl. split.
      - intros c k. rewrite owner_holder. by apply (legal_holder nlock budget (cell_data init guarded)).
      - intros c c' k. by apply (legal_exclusive nlock budget (cell_data init guarded)).
    Qed.

    (** Release order: a CPU gives back the lock it acquired last. *)
    Corollary locks_ordered : never_wrong ncpu locks A1 P1 ->
      forall c k d l, traces ncpu atomics_layer A0 P0 (Event c (EDisown k d) :: l) ->
      exists ks, (held c (lock_views l)).1 = k :: ks.
    Proof using IL HM.
      intros Hnw c k d l Hl. apply (locks_refine Hnw), traces_legal in Hl.
      inversion Hl as [|c1 p m v m' o l1 Hl1 Hp]; subst. apply lock_step_shape in Hp.
      inversion Hp as [|k1 ks d1 m1 Hks|]; subst. by exists ks.
    Qed.
  End clients.
End spec.
