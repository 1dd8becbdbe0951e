(** Rely-guarantee reasoning about one CPU: the others are an environment that extends the log.

    [rely]: how the environment may extend the log: by events of others, keeping the guarantee [Gu] (a predicate on whole
    logs that every CPU establishes), the scheduler assumption and legality. Two judgements about an agent: [run Q] (it
    inevitably reaches [Q]; inductive, so total correctness) and [safe] (it never goes wrong; greatest fixed point). The
    guarantee for the CPU's own events is built into the transformer [pwp]. *)
From Ashlar Require Export calculus.logs.Machine.

Section local.
  Context {PRIM MEM : Type} (L : layer PRIM MEM) (A : agent PRIM MEM) (Gu : log L -> Prop) (c : nat).

  Definition others (e : log L) : Prop := Forall (fun x => who x <> c) e.

  Definition rely (l l' : log L) : Prop :=
    exists e, l' = e ++ l /\ others e /\ Gu l' /\ lsched L c l' /\ legal L l'.

  (** Weakest precondition of one primitive: whatever the environment did before, the primitive is not wrong, its event
      keeps the guarantee, and [Q] holds of result, memory and log. *)
  Definition pwp (p : PRIM) (m : MEM) (l : log L) (Q : Z -> MEM -> log L -> Prop) : Prop :=
    forall l', rely l l' ->
      match lstep L c p m l' with
      | Blocked => True
      | Wrong => False
      | Ok v m' o => Gu (Event c o :: l') /\ Q v m' (Event c o :: l')
      end.

  Inductive run (Q : ast A -> log L -> Prop) : ast A -> log L -> Prop :=
  | run_done s l : Q s l -> run Q s l
  | run_tau s s' l : anext A c s = ATau s' -> run Q s' l -> run Q s l
  | run_prim_step s l p : anext A c s = APrim p ->
      pwp p (amem A s) l (fun _ _ _ => True) ->
      (forall l' v m o, rely l l' -> lstep L c p (amem A s) l' = Ok v m o ->
         run Q (aresume A s v m) (Event c o :: l')) ->
      run Q s l.

  Lemma pwp_mono p m l (Q Q' : Z -> MEM -> log L -> Prop) :
    (forall v m l, Q v m l -> Q' v m l) -> pwp p m l Q -> pwp p m l Q'.
  Proof.
    intros HQ H l' Hl. specialize (H l' Hl). destruct (lstep _ _ _ _ _); auto. destruct H. auto.
  Qed.

  Lemma run_prim Q s l p : anext A c s = APrim p ->
    pwp p (amem A s) l (fun v m l' => run Q (aresume A s v m) l') -> run Q s l.
  Proof.
    intros Hn H. eapply run_prim_step; [done| |].
    - eapply pwp_mono; [|exact H]. done.
    - intros l' v m o Hl Hp. specialize (H l' Hl). rewrite Hp in H. apply H.
  Qed.

  Lemma run_bind (Q Q' : ast A -> log L -> Prop) s l :
    run Q s l -> (forall s l, Q s l -> run Q' s l) -> run Q' s l.
  Proof. intros H HQ. induction H; [auto|by eapply run_tau|by eapply run_prim_step]. Qed.

  (** One step that stays within [I]. *)
  Definition safe_step (I : ast A -> log L -> Prop) (s : ast A) (l : log L) : Prop :=
    match anext A c s with
    | ADone => True
    | AStuck => False
    | ATau s' => I s' l
    | APrim p => pwp p (amem A s) l (fun v m l' => I (aresume A s v m) l')
    end.

  Definition safe (s : ast A) (l : log L) : Prop :=
    exists I : ast A -> log L -> Prop, I s l /\ forall s l, I s l -> safe_step I s l.

  Lemma safe_unfold s l : safe s l -> safe_step safe s l.
  Proof.
    intros (I & HI & Hc). specialize (Hc s l HI) as Hs. unfold safe_step in *.
    destruct (anext A c s); auto; [exists I; auto|].
    eapply pwp_mono; [|exact Hs]. intros. exists I; auto.
  Qed.

  Lemma others_app e e' : others e -> others e' -> others (e ++ e').
  Proof. intros. by apply Forall_app. Qed.
  Lemma rely_trans l l' l'' : rely l l' -> rely l' l'' -> rely l l''.
  Proof.
    intros (e & -> & He & _) (e' & -> & He' & H). exists (e' ++ e). rewrite <- app_assoc.
    split; [done|]. split; [by apply others_app|done].
  Qed.
End local.

(** Legality of the log may be added to any guarantee for free. *)
Section legality.
  Context {PRIM MEM : Type} (L : layer PRIM MEM) (A : agent PRIM MEM) (Gu : log L -> Prop) (c : nat).

  Definition and_legal (l : log L) : Prop := Gu l /\ legal L l.

  Lemma rely_and_legal l l' : rely L and_legal c l l' -> rely L Gu c l l'.
  Proof. intros (e & -> & He & [Hg Hl] & Hs & _). exists e. auto. Qed.
  Lemma pwp_and_legal p m l Q : pwp L Gu c p m l Q -> pwp L and_legal c p m l Q.
  Proof.
    intros H l' Hr. pose proof (rely_and_legal _ _ Hr) as Hr'. specialize (H l' Hr').
    destruct Hr' as (e & _ & _ & _ & _ & Hleg).
    destruct (lstep _ _ _ _ _) eqn:Ep; auto. destruct H as [H1 H2].
    split; [split; [done|by econstructor]|done].
  Qed.
  Lemma run_and_legal Q s l : run L A Gu c Q s l -> run L A and_legal c Q s l.
  Proof.
    induction 1 as [|s s' l Hn Hrun IH|s l p Hn Hp Hrun IH]; [by apply run_done|by eapply run_tau|].
    eapply run_prim_step; [done|by apply pwp_and_legal|]. intros. eapply IH; eauto using rely_and_legal.
  Qed.
  Lemma safe_step_and_legal I s l : safe_step L A Gu c I s l -> safe_step L A and_legal c I s l.
  Proof. unfold safe_step. destruct (anext A c s); auto. apply pwp_and_legal. Qed.
End legality.
