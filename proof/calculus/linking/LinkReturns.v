(** Linking preserves liveness: what every CPU of the abstract machine inevitably reaches from any state, every CPU of the
    machine with the module linked in reaches too. With a lock module linked in, this is freedom from starvation. *)
From Ashlar Require Export calculus.linking.Link.

Section returns.
  Context (ncpu : nat) (L0 L1 : layer cprim mem) (B : builtins) (Mlow : module) (reserved : string -> bool).
  Context (view : lop L0 -> list (lop L1)) (wf : log L0 -> Prop) (outside : nat -> log L0 -> Prop).
  Context (IL : implements_layer ncpu L0 L1 B Mlow reserved view wf outside).
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module reserved M).
  Context (out_free : Mlow OUT = None).
  Context (start : nat -> cstate C) (m0 : nat -> mem).
  Notation A0 := (system C (c_engine B (module_union M Mlow) exported)).
  Notation A1 := (system C (c_engine B M exported)).
  Notation P0 := (fun c => @Idle _ _ C (c_engine B (module_union M Mlow) exported) (start c) (m0 c)).
  Notation P1 := (fun c => @Idle _ _ C (c_engine B M exported) (start c) (m0 c)).

  (** An invariant of the machine above, from which each CPU runs to [Q]. *)
  Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (G1_nil : G1 []).
  Context (I1 : nat -> ast A1 -> log L1 -> Prop) (Q : nat -> ast A1 -> log L1 -> Prop).
  Context (I1_init : forall c, (c < ncpu)%nat -> I1 c (P1 c) []).
  Context (I1_step : forall c t l, (c < ncpu)%nat -> I1 c t l -> safe_step L1 A1 G1 c (I1 c) t l).
  Context (I1_run : forall c t l, (c < ncpu)%nat -> I1 c t l -> run L1 A1 G1 c (Q c) t l).

  Notation G0 := (below_guarantee L0 L1 view wf G1).
  Notation lowered := (lowered L0 L1 B Mlow view wf outside C exported M G1).

  Lemma lowered_invariant g : reach ncpu L0 A0 P0 g ->
    (G0 (glog g) /\ legal L0 (glog g)) /\ forall c, (c < ncpu)%nat ->
      exists l e, glog g = e ++ l /\ others L0 c e /\ run L0 A0 G0 c (lowered c (I1 c)) (gagent g c) l.
  Proof using IL HM out_free G1_legal G1_nil I1_init I1_step.
    assert (H0 : G0 []) by (split; [apply (il_start _ _ _ _ _ _ _ _ _ IL 0%nat)|done]).
    apply (local_invariant ncpu L0 A0 P0 G0 H0 (fun c => run L0 A0 G0 c (lowered c (I1 c)))).
    - intros c Hc. apply run_done. exists (P1 c), []. split; [done|]. split; [|split; [apply later_refl|by apply I1_init]].
      split_and!; [apply (il_start _ _ _ _ _ _ _ _ _ IL)|apply H0|apply H0].
    - intros c t l Hc. apply (link_invariant ncpu L0 L1 B Mlow reserved view wf outside IL); try done. intros. by apply I1_step.
  Qed.

  Theorem link_returns ex schedule c : (c < ncpu)%nat -> execution ncpu L0 A0 P0 ex schedule -> fair schedule c ->
    forall i, exists j, (i <= j)%nat /\ exists t l, gagent (ex j) c = lower B Mlow C exported M t /\ Q c t l.
  Proof using IL HM out_free G1_legal G1_nil I1_init I1_step I1_run.
    intros Hc Hex Hfair i.
    assert (HI : forall j, (G0 (glog (ex j)) /\ legal L0 (glog (ex j))) /\ forall c, (c < ncpu)%nat ->
      exists l e, glog (ex j) = e ++ l /\ others L0 c e /\ run L0 A0 G0 c (lowered c (I1 c)) (gagent (ex j) c) l).
    { intros j. apply lowered_invariant. by eapply execution_reach. }
    destruct (proj2 (HI i) c Hc) as (l & e & Hl & He & Hrun).
    assert (Hrun' : run L0 A0 G0 c (lowered c (Q c)) (gagent (ex i) c) l).
    { eapply run_bind; [exact Hrun|]. intros t0 l0 (t & l1 & -> & Hb & Hl1 & Ht).
      eapply (link_run ncpu L0 L1 B Mlow reserved view wf outside IL); try done. by apply I1_run. }
    destruct (run_inevitable ncpu L0 A0 G0 c ex schedule (proj2 Hex) (fun j => proj1 (HI j)) Hfair _ _ _ Hrun' i e eq_refl Hl He)
      as (j & l' & e' & Hj & (t & l1 & Ht & _ & _ & HQ) & _).
    exists j. split; [done|]. by exists t, l1.
  Qed.
End returns.
