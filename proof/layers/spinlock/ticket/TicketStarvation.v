(** Freedom from starvation with ticket locks: every call returns, and within CPUs x critical section x fairness bound. *)
From Ashlar Require Export layers.spinlock.ticket.TicketLinked.

Section starvation.
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

  (** Any kernel above the locks that is proved with locks as single events, any client, any start. *)
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module (reserved spinlock_module) M).
  Context (start : nat -> cstate C) (m0 : nat -> mem).
  Notation E0 := (c_engine B (module_union M spinlock_module) exported).
  Notation A0 := (system C E0).
  Notation A1 := (system C (c_engine B M exported)).
  Notation P0 := (fun c => @Idle _ _ C E0 (start c) (m0 c)).
  Notation P1 := (fun c => @Idle _ _ C (c_engine B M exported) (start c) (m0 c)).
  Context (never_wrong_above : never_wrong ncpu L1 A1 P1).

  Notation ticket_returns := (call_returns ncpu L0 L1 B spinlock_module (reserved spinlock_module) lock_view wf outside
    (ticket_implements kernel_entry ncpu budget F nlock init guarded cells_fit cpus_fit)
    ticket_inner ticket_inner_reserved ticket_inner_body C exported M HM eq_refl start m0 never_wrong_above).

  Lemma acquire_holds c lock m l : pwp L1 (traces ncpu L1 A1 P1) c (ACQUIRE, [lock]) m l (fun _ _ _ => True) ->
    pwp L1 (traces ncpu L1 A1 P1) c (ACQUIRE, [lock]) m l (fun _ _ l' => lock ∈ (held c l').1).
  Proof using.
    intros Hp l' Hl'. specialize (Hp l' Hl'). change (lop L1) with (lock_event mem) in *.
    change (lstep L1 c (ACQUIRE, [lock]) m l') with
      (lock_step nlock budget (cell_data init guarded) c (ACQUIRE, [lock]) m l') in *. unfold lock_step in *.
    destruct (held c l') as [ks n] eqn:Eh. change (String.eqb ACQUIRE ACQUIRE) with true in *. cbn iota in *.
    destruct (below nlock lock ks && within budget ks n); [|done]. destruct (holder lock l'); [done|].
    destruct Hp as [HG _]. split; [exact HG|]. rewrite held_acquire. left.
  Qed.

  Lemma reached_legal g : reach ncpu L0 A0 P0 g -> legal L1 (views (glog g)).
  Proof using cells_fit cpus_fit HM never_wrong_above.
    intros Hr. assert (Ht : traces ncpu L0 A0 P0 (glog g)) by (exists (gagent g); by destruct g).
    destruct (proj2 (ticket_refines kernel_entry ncpu budget F nlock init guarded cells_fit cpus_fit C exported M HM start m0
      never_wrong_above) _ Ht) as [_ Habove]. by eapply traces_legal.
  Qed.

  (** In every execution in which CPU [c] moves again and again, each of its calls of [spinlock_acquire] returns, with the
      lock, after at most [acquire_cost] events of its own. *)
  Theorem spinlock_acquire_returns ex schedule c i u x es k r m : (c < ncpu)%nat ->
    execution ncpu L0 A0 P0 ex schedule -> fair schedule c ->
    gagent (ex i) c = @Busy _ _ C E0 u (Cfg (KStmt (Call x "spinlock_acquire" es) :: k) r m) ->
    exists j lock v m', (i <= j)%nat /\ evals es r m = Some [lock] /\
      gagent (ex j) c = @Busy _ _ C E0 u (Cfg k (set_result x v r) m') /\ owner lock (glog (ex j)) = Some c /\
      (own_events c (glog (ex j)) <= own_events c (glog (ex i)) + acquire_cost ncpu F (hold_bound lock))%nat.
  Proof using cells_fit cpus_fit HM never_wrong_above.
    intros Hc Hex Hfair Hg.
    destruct (ticket_returns "spinlock_acquire" spinlock_acquire_code eq_refl eq_refl
      (fun args l _ _ l' => exists lock, args = [lock] /\ lock ∈ (held c (views l')).1 /\
         (own_events c l' <= own_events c l + acquire_cost ncpu F (hold_bound lock))%nat)
      ex schedule c i u x es k r m) as (j & args & l & e & l' & e' & v & m' & Hj & Hargs & Hi & He & Hl' & He' & Ht &
        lock & -> & Hheld & Hev); [|done..|].
    - intros J args m1 l HJ Hb Hp.
      destruct (acquire_required ncpu budget F nlock init guarded _ (traces_legal _ _ _ _) c args m1 l _ (proj2 (proj2 Hb)) Hp)
        as (lock & _ & _ & -> & _).
      destruct (ticket_acquire_call kernel_entry ncpu budget F nlock init guarded cells_fit cpus_fit _ (traces_legal _ _ _ _)
        c Hc M HM J HJ [lock] m1 l _ Hb (acquire_holds c lock m1 _ Hp)) as [Hlen Hw].
      split; [exact Hlen|]. eapply body_wp_mono; [|exact Hw]. cbn beta.
      intros v m' l' (_ & (e & l1 & Hv & He & HQ) & Hev). exists lock. split; [done|]. split; [|exact Hev].
      rewrite Hv. change (lop L1) with (lock_event mem) in *. by rewrite held_others.
    - exists j, lock, v, m'. split; [done|]. split; [done|]. split; [done|].
      pose proof (reached_legal _ (execution_reach _ _ _ _ _ _ j Hex)) as Hlegal.
      change (lop L0) with atomic_event in *. rewrite Hi, Hl', !own_events_others in * by done. split; [|exact Hev].
      rewrite (owner_holder budget F nlock init guarded (queued hold_bound)).
      apply (legal_holder nlock budget (cell_data init guarded)); [done|]. by rewrite held_views_others.
  Qed.

  Lemma release_gives_up c lock m l : pwp L1 (traces ncpu L1 A1 P1) c (RELEASE, [lock]) m l (fun _ _ _ => True) ->
    pwp L1 (traces ncpu L1 A1 P1) c (RELEASE, [lock]) m l (fun _ _ l' => lock ∉ (held c l').1).
  Proof using.
    intros Hp l' Hl'. specialize (Hp l' Hl'). destruct Hl' as (_ & _ & _ & _ & _ & Hlegal).
    change (lop L1) with (lock_event mem) in *.
    destruct (legal_holder nlock budget (cell_data init guarded) l' Hlegal c) as [Hnd _].
    change (lstep L1 c (RELEASE, [lock]) m l') with
      (lock_step nlock budget (cell_data init guarded) c (RELEASE, [lock]) m l') in *. unfold lock_step in *.
    destruct (held c l') as [ks n] eqn:Eh. change (String.eqb RELEASE ACQUIRE) with false in *.
    change (String.eqb RELEASE RELEASE) with true in *. cbn iota in *. destruct ks as [|k' ks]; [done|].
    destruct (Z.eqb_spec k' lock) as [->|]; [|done]. destruct (within budget (lock :: ks) n); [|done].
    cbn [andb ld_push cell_data] in *. destruct Hp as [HG _]. split; [exact HG|].
    rewrite held_release, Eh. simpl in *. by apply NoDup_cons in Hnd as [? _].
  Qed.

  (** So does each of its calls of [spinlock_release], without the lock. *)
  Theorem spinlock_release_returns ex schedule c i u x es k r m : (c < ncpu)%nat ->
    execution ncpu L0 A0 P0 ex schedule -> fair schedule c ->
    gagent (ex i) c = @Busy _ _ C E0 u (Cfg (KStmt (Call x "spinlock_release" es) :: k) r m) ->
    exists j lock v m', (i <= j)%nat /\ evals es r m = Some [lock] /\
      gagent (ex j) c = @Busy _ _ C E0 u (Cfg k (set_result x v r) m') /\ owner lock (glog (ex j)) <> Some c.
  Proof using cells_fit cpus_fit HM never_wrong_above.
    intros Hc Hex Hfair Hg.
    destruct (ticket_returns "spinlock_release" spinlock_release_code eq_refl eq_refl
      (fun args l _ _ l' => exists lock, args = [lock] /\ lock ∉ (held c (views l')).1)
      ex schedule c i u x es k r m) as (j & args & l & e & l' & e' & v & m' & Hj & Hargs & Hi & He & Hl' & He' & Ht &
        lock & -> & Hheld); [|done..|].
    - intros J args m1 l HJ Hb Hp.
      destruct (release_required ncpu budget F nlock init guarded _ (traces_legal _ _ _ _) c args m1 l _ (proj2 (proj2 Hb)) Hp)
        as (lock & _ & _ & -> & _).
      destruct (ticket_release_call kernel_entry ncpu budget F nlock init guarded cells_fit _ (traces_legal _ _ _ _)
        c Hc M HM J HJ [lock] m1 l _ Hb (release_gives_up c lock m1 _ Hp)) as [Hlen Hw].
      split; [exact Hlen|]. eapply body_wp_mono; [|exact Hw]. cbn beta.
      intros v m' l' (_ & e & l1 & Hv & He & HQ). exists lock. split; [done|].
      rewrite Hv. change (lop L1) with (lock_event mem) in *. by rewrite held_others.
    - exists j, lock, v, m'. split; [done|]. split; [done|]. split; [done|].
      pose proof (reached_legal _ (execution_reach _ _ _ _ _ _ j Hex)) as Hlegal.
      change (lop L0) with atomic_event in *. rewrite Hl' in *.
      rewrite (owner_holder budget F nlock init guarded (queued hold_bound)). intros Hh.
      apply (legal_holder nlock budget (cell_data init guarded) _ Hlegal) in Hh. by rewrite held_views_others in Hh.
  Qed.

  (** The bound, n x m x k: whatever the machine does, from the draw of a ticket for [lock] by CPU [c] at most
      [(n * (m + 5) + 2) * (k + 1) + k] events of all CPUs together pass until [c] owns what the lock guards, with n CPUs, m
      events of a critical section, and a scheduler of fairness bound k. *)
  Theorem ticket_lock_bound g c lock e l : reach ncpu L0 A0 P0 g ->
    glog g = e ++ Event c (EFetchAdd (2 * lock) 1) :: l -> Event c (EOwn lock) ∉ e ->
    (length e <= (ncpu * (hold_bound lock + 5) + 2) * S F + F)%nat.
  Proof using cells_fit cpus_fit HM never_wrong_above.
    intros Hr Hg. assert (Ht : traces ncpu L0 A0 P0 (glog g)) by (exists (gagent g); by destruct g).
    destruct (proj2 (ticket_refines kernel_entry ncpu budget F nlock init guarded cells_fit cpus_fit C exported M HM start m0
      never_wrong_above) _ Ht) as [Hw _].
    apply reach_bounded_fair in Hr. change (lop L0) with atomic_event in *. rewrite Hg in *.
    exact (ticket_starvation_bound ncpu budget F c lock e l Hw Hr).
  Qed.
End starvation.
