(** Lemma 5: one CPU, with the environment asked only before its primitives.

    In the partial machine whose only active CPU is [i] the environment may move before every step of [i]. In the
    CPU-local machine private steps run without it; the events that the environment makes meanwhile wait (the paper's
    log cache) and enter the log just before the next primitive. This loses nothing: private steps do not look at the log.

    It is the machine that [calculus/logs/Local.v] reasons about: [safe] says that it never goes wrong and keeps the guarantee
    [Gu]. So with Lemmas 3 and 4, CPUs that are each [safe] make a machine that never goes wrong. *)
From Ashlar Require Export machine.Partial calculus.logs.Canonical.

Section cpu_local.
  Context {PRIM MEM : Type} (ncpu : nat) (L : layer PRIM MEM) (A : agent PRIM MEM) (P : nat -> ast A).
  Context (Gu : log L -> Prop) (G0 : Gu []).
  Notation invariant := (log L -> Prop).

  Section one.
    Context (i : nat).

    (** A state of CPU [i], and the log as it was after its last primitive. *)
    Inductive cpu_local_step : ast A * log L -> ast A * log L -> Prop :=
    | cpu_local_private s s' l : anext A i s = ATau s' -> cpu_local_step (s, l) (s', l)
    | cpu_local_primitive s l l' p v m o : anext A i s = APrim p -> rely L Gu i l l' ->
        lstep L i p (amem A s) l' = Ok v m o -> cpu_local_step (s, l) (aresume A s v m, Event i o :: l').

    Inductive cpu_local_reach : ast A * log L -> Prop :=
    | cpu_local_start : cpu_local_reach (P i, [])
    | cpu_local_next x x' : cpu_local_reach x -> cpu_local_step x x' -> cpu_local_reach x'.

    (** About to do something undefined, or to break the guarantee, after some move of the environment. *)
    Definition cpu_local_wrong (s : ast A) (l : log L) : Prop :=
      match anext A i s with
      | AStuck => True
      | APrim p => exists l', rely L Gu i l l' /\
          (lstep L i p (amem A s) l' = Wrong \/ exists v m o, lstep L i p (amem A s) l' = Ok v m o /\ ~ Gu (Event i o :: l'))
      | _ => False
      end.

    (** The same positively, which asks for no decision about [Gu]. *)
    Definition cpu_local_fine : Prop := forall s l, cpu_local_reach (s, l) -> safe_step L A Gu i (fun _ _ => True) s l.

    Lemma cpu_local_not_wrong : cpu_local_fine -> forall s l, cpu_local_reach (s, l) -> ~ cpu_local_wrong s l.
    Proof.
      intros Hf s l Hr Hw. specialize (Hf s l Hr). unfold safe_step, cpu_local_wrong in *.
      destruct (anext A i s) as [| | |p]; try done. destruct Hw as (l' & Hl' & Hw). specialize (Hf l' Hl').
      destruct Hw as [Hw|(v & m & o & Hp & Hn)]; [by rewrite Hw in Hf|]. rewrite Hp in Hf. by destruct Hf.
    Qed.

    (** Being [safe] is not going wrong on this machine. *)
    Theorem safe_cpu_local : safe L A Gu i (P i) [] <-> cpu_local_fine.
    Proof.
      split.
      - intros Hs s l Hr. assert (Hsafe : safe L A Gu i s l).
        { remember (s, l) as x eqn:Ex. revert s l Ex. induction Hr as [|x x' Hr IH Hst]; intros s l Ex.
          - by injection Ex as <- <-.
          - destruct Hst as [s0 s' l0 Hn|s0 l0 l' p v m o Hn Hl' Hp]; injection Ex as <- <-;
              specialize (IH _ _ eq_refl); apply safe_unfold in IH; unfold safe_step in IH; rewrite Hn in IH; [done|].
            specialize (IH l' Hl'). rewrite Hp in IH. by destruct IH. }
        apply safe_unfold in Hsafe. unfold safe_step in *. destruct (anext A i s); try done.
        eapply pwp_mono; [|exact Hsafe]. done.
      - intros Hf. exists (fun s l => cpu_local_reach (s, l)). split; [constructor|].
        intros s l Hr. specialize (Hf s l Hr). unfold safe_step in *. destruct (anext A i s) as [| |s'|p] eqn:Hn; try done.
        + eapply cpu_local_next; [done|]. by apply cpu_local_private.
        + intros l' Hl'. specialize (Hf l' Hl'). destruct (lstep _ _ _ _ _) as [| |v m o] eqn:Hp; try done.
          destruct Hf as [Hg _]. split; [done|]. eapply cpu_local_next; [done|]. by eapply cpu_local_primitive.
    Qed.

    (** CPU [i] on the CPU-local machine, [[P]]loc(i). What is seen is its log and the events that still wait; all keep the
        guarantee. *)
    Definition loc : semantics (log L) :=
      Semantics cpu_local_fine
        (fun l => Gu l /\ exists s l0 e, cpu_local_reach (s, l0) /\ l = e ++ l0 /\ others L i e).

    Notation only := (fun c => c = i).

    (** The state of CPU [i] in the partial machine is one in the CPU-local machine; events of others wait. *)
    Lemma partial_cpu_local g : cpu_local_fine -> (i < ncpu)%nat -> partial_reach ncpu L A P only Gu g ->
      Gu (glog g) /\ exists l0 e, cpu_local_reach (gagent g i, l0) /\ glog g = e ++ l0 /\ others L i e.
    Proof using G0.
      intros Hf Hi Hr. induction Hr as [|g g' Hr [IHG (l0 & e & Hx & He & Ho)] Hs].
      { split; [done|]. exists [], []. split; [constructor|]. split; [done|constructor]. }
      pose proof (partial_legal _ _ _ _ _ _ _ Hr) as Hleg.
      destruct Hs as [c g g' -> Hs|l f e' He' HG' Hleg'].
      - destruct Hs as [l f s Hc Hn|l f p v m o Hc Hn Hsch Hp]; simpl in *; rewrite update_same.
        + split; [done|]. exists l0, e. split_and!; [|done..].
          eapply cpu_local_next; [exact Hx|]. by apply cpu_local_private.
        + assert (Hrely : rely L Gu i l0 l) by (exists e; split_and!; done).
          specialize (Hf _ _ Hx). unfold safe_step in Hf. rewrite Hn in Hf. specialize (Hf l Hrely). rewrite Hp in Hf.
          destruct Hf as [Hg _]. split; [done|]. exists (Event i o :: l), []. split_and!; [|done|constructor].
          eapply cpu_local_next; [exact Hx|]. by eapply cpu_local_primitive.
      - simpl in *. split; [done|]. exists l0, (e' ++ e). split_and!; [done|by rewrite He, app_assoc|].
        apply others_app; [|done]. eapply Forall_impl; [exact He'|]. simpl. by intros x [_ ?].
    Qed.

    (** Lemma 5 of the paper (correctness of the CPU-local machine model): for all P, [[P]]pt(i) refines [[P]]loc(i). *)
    Theorem lemma5_cpu_local : (i < ncpu)%nat -> refines (pt ncpu L A P only Gu Gu) loc.
    Proof using G0.
      intros Hi Hf. simpl in Hf. split.
      - intros g Hr. destruct (partial_cpu_local g Hf Hi Hr) as [HG (l0 & e & Hx & He & Ho)]. split; [done|].
        intros c -> _ Hw. pose proof (partial_legal _ _ _ _ _ _ _ Hr) as Hleg.
        specialize (Hf _ _ Hx). unfold safe_step, goes_wrong in *. destruct (anext A i (gagent g i)); try done.
        destruct Hw as [Hsch Hw]. specialize (Hf (glog g)). rewrite Hw in Hf. apply Hf.
        exists e. split_and!; done.
      - intros l [f Hr]. destruct (partial_cpu_local _ Hf Hi Hr) as [HG (l0 & e & Hx & He & Ho)]. simpl in *.
        split; [done|]. by exists (f i), l0, e.
    Qed.
  End one.

  (** ** All CPUs: the compositions of Lemma 3, one CPU at a time *)

  Lemma partial_iff (F F' : nat -> Prop) (env inv : invariant) :
    (forall c, F c <-> F' c) -> never_fails (pt ncpu L A P F env inv) -> never_fails (pt ncpu L A P F' env inv).
  Proof.
    intros HF HS g Hr. assert (Hr' : partial_reach ncpu L A P F env g).
    { induction Hr as [|g g' Hr IH Hs]; [constructor|]. eapply partial_next; [done|].
      destruct Hs as [c g g' Hc Hs|l f e He Hi Hl]; [by apply (partial_active _ _ _ _ _ c); [apply HF|]|].
      apply partial_context; [|done..]. eapply Forall_impl; [exact He|]. simpl. intros x [Hx Hn]. split; [done|].
      by rewrite HF. }
    destruct (HS g Hr') as [Hi Hw]. split; [done|]. intros c Hc. apply Hw. by apply HF.
  Qed.

  Lemma composed n : (n <= ncpu)%nat -> (forall i, (i < ncpu)%nat -> never_fails (loc i)) ->
    never_fails (pt ncpu L A P (fun c => (c < n)%nat) Gu Gu).
  Proof using G0.
    intros Hn Hloc. induction n as [|n IH].
    - intros g Hr. split; [|lia]. induction Hr as [|g g' Hr IHr Hs]; [done|]. destruct Hs as [c g g' Hc _|]; [lia|done].
    - assert (H1 : never_fails (pt ncpu L A P (fun c => c = n) Gu Gu)).
      { apply (lemma5_cpu_local n); [lia|]. apply Hloc. lia. }
      assert (H2 : never_fails (pt ncpu L A P (fun c => (c < n)%nat \/ c = n) Gu (fun l => Gu l /\ Gu l))).
      { eapply (lemma3_composition _ _ _ _ (fun c => (c < n)%nat) (fun c => c = n) Gu Gu Gu Gu Gu); try by auto.
        - intros c Hc ->. lia.
        - split; [apply IH; lia|done]. }
      assert (H3 : never_fails (pt ncpu L A P (fun c => (c < S n)%nat) Gu (fun l => Gu l /\ Gu l))).
      { eapply partial_iff; [|exact H2]. intros c. simpl. lia. }
      intros g Hr. destruct (H3 g Hr) as [[HG _] Hw]. done.
  Qed.

  (** CPUs that never go wrong on their CPU-local machines never go wrong together, and all of what they do together is
      allowed for by each. *)
  Theorem cpu_local_total :
    refines (Semantics (never_wrong ncpu L A P) (traces ncpu L A P))
      (Semantics (forall i, (i < ncpu)%nat -> never_fails (loc i)) (fun l => forall i, (i < ncpu)%nat -> behaves (loc i) l)).
  Proof using G0.
    intros Hloc. simpl in Hloc. assert (Htot := composed ncpu (Nat.le_refl _) Hloc).
    split; [by apply (lemma4_total ncpu L A P Gu Gu)|]. intros l [f Hr] i Hi.
    apply (proj2 (lemma5_cpu_local i Hi (Hloc i Hi))).
    enough (exists g1, partial_reach ncpu L A P (fun c => c = i) Gu g1 /\ alike L A (fun c => c = i) (State l f) g1)
      as ([l1 f1] & Hp & [El _]) by (simpl in El; subst l1; by exists f1).
    induction Hr as [|g g' Hr (g1 & Hp & Ha) [c Hs]]; [exists (State [] P); by repeat constructor|].
    assert (Hr' : reach ncpu L A P g') by (eapply reach_step; [done|by exists c]).
    destruct (decide (c = i)) as [->|Hne].
    - destruct (alike_active ncpu L A _ g g' g1 i Ha eq_refl Hs) as (g1' & Hs1 & Ha1). exists g1'. split; [|done].
      eapply partial_next; [done|]. by apply (partial_active _ _ _ _ _ i).
    - destruct (alike_context ncpu L A _ Gu g g' g1 c Ha Hne Hs) as [Ha1|(g1' & Hs1 & Ha1)].
      + by eapply reach_legal.
      + intros x l0 _ <-. by apply (Htot g'), (reach_partial ncpu L A P Gu).
      + by exists g1.
      + exists g1'. split; [|done]. by eapply partial_next.
  Qed.

  (** And nothing is lost: programs that never go wrong together never go wrong on their CPU-local machines, for the
      guarantee "the log is one of this machine". *)
  Theorem cpu_local_complete : never_wrong ncpu L A P ->
    forall i, (i < ncpu)%nat -> safe L A (traces ncpu L A P) i (P i) [].
  Proof. intros NW i Hi. by apply canonical_safe. Qed.
End cpu_local.
