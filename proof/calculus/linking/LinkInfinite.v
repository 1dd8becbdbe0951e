(** Infinite executions after linking: if its client never falls silent, every CPU of the machine with a module linked in
    causes another event, whatever the others do, because calls return. So infinite fair executions exist there too. *)
From Ashlar Require Export calculus.linking.LinkReturns calculus.linking.InfiniteExecutions.

Section acts.
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

  Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (G1_nil : G1 []).
  Context (I1 : nat -> ast A1 -> log L1 -> Prop) (Q : nat -> ast A1 -> log L1 -> Prop).
  Context (I1_init : forall c, (c < ncpu)%nat -> I1 c (P1 c) []).
  Context (I1_step : forall c t l, (c < ncpu)%nat -> I1 c t l -> safe_step L1 A1 G1 c (I1 c) t l).
  Context (I1_run : forall c t l, (c < ncpu)%nat -> I1 c t l -> run L1 A1 G1 c (Q c) t l).
  Context (Q_idle : forall c t l, Q c t l -> exists s m, t = @Idle _ _ C (c_engine B M exported) s m).
  Context (client_speaks : forall c s, speaks C c s).
  Notation G0 := (below_guarantee L0 L1 view wf G1).
  Notation lowered := (lowered L0 L1 B Mlow view wf outside C exported M G1).

  Theorem link_acts g c : reach ncpu L0 A0 P0 g -> (c < ncpu)%nat -> acts A0 c (gagent g c).
  Proof using IL HM out_free G1_legal G1_nil I1_init I1_step I1_run Q_idle client_speaks.
    intros Hr Hc.
    destruct (proj2 (lowered_invariant ncpu L0 L1 B Mlow reserved view wf outside IL C exported M HM out_free start m0 G1
      G1_legal G1_nil I1 I1_init I1_step g Hr) c Hc) as (l & e & _ & _ & Hrun).
    apply (kept_acts L0 C _ G0 c (fun t l => run L0 A0 G0 c (lowered c (I1 c)) t l)) with (l := l); [| |apply client_speaks|exact Hrun].
    - intros t l' Ht. apply (link_invariant ncpu L0 L1 B Mlow reserved view wf outside IL); try done. intros. by apply I1_step.
    - intros t l' Ht. eapply run_bind; [exact Ht|]. intros t0 l0 (t1 & l1 & -> & Hb & Hl1 & Ht1).
      eapply run_bind; [apply (link_run ncpu L0 L1 B Mlow reserved view wf outside IL C exported M HM out_free G1 G1_legal c Hc
        (Q c) t1 l1); [by apply I1_run|exact Hl1|exact Hb]|].
      intros t2 l2 (t3 & l3 & -> & _ & _ & HQ). apply Q_idle in HQ as (s & m & ->). apply run_done. by exists s, m.
  Qed.

  (** The machine below never goes wrong, none of its primitives waits, and its scheduler admits turns. *)
  Context (cpus : (0 < ncpu)%nat) (unblocked : forall c p m l, lstep L0 c p m l <> Blocked).
  Context (below_never_wrong : never_wrong ncpu L0 A0 P0).
  Context (admitted : forall l, by_turns ncpu L0 l -> lsched L0 (turn ncpu L0 l) l).
  Theorem link_execution_exists : execution ncpu L0 A0 P0 (going ncpu L0 A0 P0) (whose ncpu L0 A0 P0) /\
    forall c, (c < ncpu)%nat -> fair (whose ncpu L0 A0 P0) c.
  Proof using IL HM out_free G1_legal G1_nil I1_init I1_step I1_run Q_idle client_speaks cpus unblocked below_never_wrong
    admitted.
    apply (fair_execution_exists ncpu L0 A0 P0 cpus unblocked below_never_wrong).
    - intros g c. apply link_acts.
    - intros l _. apply admitted.
  Qed.
End acts.
