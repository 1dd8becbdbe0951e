(** Linking: a module of C that implements the primitives of a layer takes their place, under every client and every
    module above.

    Below, the layer [L0] with the code of [Mlow] linked in; above, the layer [L1], whose primitives are events. Both
    machines own the same cells, so the configurations are the same except while code of [Mlow] runs. The obligation is
    one per function ([implements_call]), in the form of a call rule of the weakest-precondition calculus; it is total,
    so what the machine above inevitably reaches, the machine below does too. The event of the machine above need not be
    the last thing the function does: others may act between it and the return ([later]). [wf]: what every log below
    satisfies, the protocol of the algorithm. [outside c l]: CPU [c] is in no function of [Mlow] at log [l]. *)
From Ashlar Require Export calculus.logs.Canonical calculus.locks.Locks lang.logic.Wp.

Section link.
  Context (ncpu : nat) (L0 L1 : layer cprim mem) (B : builtins) (Mlow : module).
  Context (reserved : string -> bool).  (* names that modules above may not define *)
  Context (view : lop L0 -> list (lop L1)).
  Context (wf : log L0 -> Prop) (outside : nat -> log L0 -> Prop).

  Definition abs (l : log L0) : log L1 := flat_map (fun e => Event (who e) <$> view (what e)) l.
  Definition below_guarantee (G1 : log L1 -> Prop) (l : log L0) : Prop := wf l /\ G1 (abs l).
  Definition upper_module (M : module) : Prop := forall f, reserved f = true -> M f = None.

  Lemma abs_app e l : abs (e ++ l) = abs e ++ abs l.
  Proof. apply flat_map_app. Qed.
  Lemma abs_others c e : others L0 c e -> others L1 c (abs e).
  Proof.
    induction 1 as [|x e Hx He IH]; [constructor|]. simpl. apply Forall_app. split; [|done].
    apply Forall_fmap, Forall_forall. simpl. auto.
  Qed.

  Section obligations.
    Context (G1 : log L1 -> Prop) (c : nat).
    Notation pwp0 := (pwp L0 (below_guarantee G1) c).
    Notation pwp1 := (pwp L1 G1 c).

    (** A judgement about configurations below that may be proved step by step. *)
    Record stepwise (M : module) (J : cfg -> log L0 -> Prop) : Prop := {
      stepwise_tau s s' l : next B (module_union M Mlow) c s = ETau s' -> J s' l -> J s l;
      stepwise_prim s p l : next B (module_union M Mlow) c s = EPrim p ->
        pwp0 p (cm s) l (fun v m l' => J (resume s v m) l') -> J s l;
    }.

    (** The log [l'] is [l], or others have extended it. *)
    Definition later (l l' : log L1) : Prop := exists e, l' = e ++ l /\ others L1 c e.
    Lemma later_refl l : later l l.
    Proof. exists []. split; [done|constructor]. Qed.
    Lemma later_rely l l' l'' : later l l' -> rely L1 G1 c l' l'' -> rely L1 G1 c l l''.
    Proof.
      intros (e & -> & He) (e' & -> & He' & H). exists (e' ++ e). rewrite <- app_assoc.
      split; [done|]. split; [by apply others_app|done].
    Qed.
    Lemma later_pwp l l' p m Q : later l l' -> pwp1 p m l Q -> pwp1 p m l' Q.
    Proof. intros Hl Hp l'' Hr. apply Hp. by eapply later_rely. Qed.

    (** Where a CPU stands between two calls into [Mlow]. *)
    Definition between (l : log L0) : Prop := outside c l /\ wf l /\ G1 (abs l).

    (** A function of [Mlow] implements the primitive of its name. *)
    Definition implements_call (f : string) (fd : fundef) : Prop :=
      forall M J args m l Q, upper_module M -> stepwise M J -> between l ->
        pwp1 (f, args) m (abs l) Q ->
        length args = fn_params fd /\
        body_wp J fd args m l (fun v m' l' => between l' /\ exists l1, later l1 (abs l') /\ Q v m' l1).

    (** A primitive that both layers have. *)
    Definition implements_direct (f : string) : Prop :=
      forall args m l Q, between l -> pwp1 (f, args) m (abs l) Q ->
        pwp0 (f, args) m l (fun v m' l' => between l' /\ Q v m' (abs l')).
  End obligations.

  Record implements_layer : Prop := {
    il_reserved f fd : Mlow f = Some fd -> reserved f = true;
    il_builtin f fd c args m : Mlow f = Some fd -> B c f args m = None;
    il_sched c l : wf l -> lsched L0 c l -> lsched L1 c (abs l);
    il_start c : wf [] /\ outside c [];
    il_call (G1 : log L1 -> Prop) c f fd : (forall l, G1 l -> legal L1 l) -> (c < ncpu)%nat -> Mlow f = Some fd -> implements_call G1 c f fd;
    il_direct (G1 : log L1 -> Prop) c f : (forall l, G1 l -> legal L1 l) -> (c < ncpu)%nat -> Mlow f = None -> implements_direct G1 c f;
  }.

  Context (IL : implements_layer).
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module M).
  Context (out_free : Mlow OUT = None).
  Notation E0 := (c_engine B (module_union M Mlow) exported).
  Notation E1 := (c_engine B M exported).
  Notation A0 := (system C E0).
  Notation A1 := (system C E1).

  (** The same state, seen by the machine below. *)
  Definition lower (t : ast A1) : ast A0 :=
    match t with Idle s m => @Idle _ _ C E0 s m | Busy s e => @Busy _ _ C E0 s e end.

  Lemma rely_abs (G1 : log L1 -> Prop) c l l' : (forall l, G1 l -> legal L1 l) ->
    rely L0 (below_guarantee G1) c l l' -> rely L1 G1 c (abs l) (abs l').
  Proof using IL.
    intros Hlg (e & -> & He & [Hw Hg] & Hs & _). exists (abs e). rewrite <- abs_app.
    split_and!; auto using abs_others. by apply (il_sched IL).
  Qed.

  Lemma union_upper f fd : M f = Some fd -> module_union M Mlow f = Some fd.
  Proof. unfold module_union. by intros ->. Qed.

  (** The four things the code above may do are the same below, except a primitive that is now a function. *)
  Lemma next_tau c s s' : next B M c s = ETau s' -> next B (module_union M Mlow) c s = ETau s'.
  Proof using IL.
    destruct s as [k r m]. destruct k as [|[st|cd body|x r0|] k]; simpl; try done.
    destruct st as [|x e|o i f j e|a b|cd a b|cd a| |e|x f es]; simpl; try done.
    destruct (evals es r m) as [args|]; [|done]. destruct (M f) as [fd|] eqn:Ef.
    - by rewrite (union_upper _ _ Ef).
    - unfold module_union. rewrite Ef. destruct (Mlow f) as [fd|] eqn:El; [|done]. by rewrite (il_builtin IL _ _ c args m El).
  Qed.
  Lemma next_return c s v m : next B M c s = EReturn v m -> next B (module_union M Mlow) c s = EReturn v m.
  Proof using.
    destruct s as [k r m1]. destruct k as [|[st|cd body|x r0|] k]; simpl; try done.
    destruct st as [|x e|o i f j e|a b|cd a b|cd a| |e|x f es]; simpl; try done;
      repeat match goal with |- context [match ?e with _ => _ end] => destruct e eqn:?; try done end.
  Qed.
  Lemma next_prim c s p : next B M c s = EPrim p -> exists x es k,
    ck s = KStmt (Call x p.1 es) :: k /\ evals es (cl s) (cm s) = Some p.2 /\ M p.1 = None /\
    B c p.1 p.2 (cm s) = None.
  Proof using.
    destruct s as [k r m]. unfold next, return_to.
    destruct k as [|[st|cd body|x r0|] k]; simpl; try done.
    2: by destruct k.
    - destruct st as [|x e|o i f j e|a b|cd a b|cd a| |e|x f es]; simpl; try done;
        repeat match goal with |- context [match ?e with _ => _ end] => destruct e eqn:?; try done end.
      intros [= <-]. simpl. eauto 10.
  Qed.

  Section transfer.
    Context (G1 : log L1 -> Prop) (G1_legal : forall l, G1 l -> legal L1 l) (c : nat) (Hc : (c < ncpu)%nat).
    Notation G0 := (below_guarantee G1).

    Lemma run_stepwise Q u : stepwise G1 c M (fun s l => run L0 A0 G0 c Q (@Busy _ _ C E0 u s) l).
    Proof using.
      split.
      - intros s s' l Hn Hr. eapply run_tau; [|exact Hr]. simpl. by rewrite Hn.
      - intros s p l Hn Hp. eapply run_prim; [simpl; by rewrite Hn|]. exact Hp.
    Qed.

    (** A body that is proved may be entered. *)
    Lemma body_enter J fd args m l (Q : Z -> mem -> log L0 -> Prop) x r k : stepwise G1 c M J ->
      body_wp J fd args m l Q ->
      (forall v m' l', Q v m' l' -> J (Cfg k (set_result x v r) m') l') ->
      J (enter fd args (KRet x r :: k) m) l.
    Proof using.
      intros [HT _] Hw HQ. eapply (wp_sound B (module_union M Mlow) c J); [exact HT|exact Hw|]. split_and!.
      - intros r' m' l' H. eapply HT; [done|]. by apply HQ.
      - done.
      - intros v m' l' s H Hn. simpl in Hn. eapply HT; [exact Hn|]. by apply HQ.
    Qed.

    (** What the machine below does where the machine above is at a primitive: the same primitive, or a call. *)
    Definition one_step (Q0 : ast A0 -> log L0 -> Prop) (t : ast A0) (l : log L0) : Prop :=
      (exists p, anext A0 c t = APrim p /\
        pwp L0 G0 c p (amem A0 t) l (fun v m l' => run L0 A0 G0 c Q0 (aresume A0 t v m) l')) \/
      (exists t', anext A0 c t = ATau t' /\ run L0 A0 G0 c Q0 t' l).
    Lemma one_step_run Q0 t l : one_step Q0 t l -> run L0 A0 G0 c Q0 t l.
    Proof using. intros [(p & Hn & Hp)|(t' & Hn & Hr)]; [by eapply run_prim|by eapply run_tau]. Qed.

    Lemma transfer_prim Q0 (Q1 : ast A1 -> log L1 -> Prop) t p l :
      between G1 c l -> anext A1 c t = APrim p ->
      pwp L1 G1 c p (amem A1 t) (abs l) (fun v m l1 => Q1 (aresume A1 t v m) l1) ->
      (forall t' l1 l', between G1 c l' -> later c l1 (abs l') -> Q1 t' l1 -> run L0 A0 G0 c Q0 (lower t') l') ->
      one_step Q0 (lower t) l.
    Proof using IL HM G1_legal Hc out_free.
      intros Hb Hn Hp HQ. destruct t as [u m|u s]; simpl in Hn.
      - destruct (cnext C c u) as [|u'|f args|v] eqn:Eu; try done.
        { by destruct (M f) as [fd|]; [destruct (exported f && _)|]. }
        injection Hn as <-. left. exists (OUT, [v]). split; [simpl; by rewrite Eu|].
        eapply pwp_mono; [|exact (il_direct IL G1 c OUT G1_legal Hc out_free [v] m l _ Hb Hp)].
        simpl. intros w m' l' [Hb' HQ']. exact (HQ _ _ _ Hb' (later_refl c _) HQ').
      - assert (Hs : next B M c s = EPrim p) by (destruct (next B M c s); congruence). clear Hn.
        destruct (next_prim _ _ _ Hs) as (x & es & k & Hk & He & Hf & HB). destruct p as [f args], s as [k0 r m].
        cbn [ck cl cm fst snd] in *. subst k0. destruct (Mlow f) as [fd|] eqn:El.
        + right.
          destruct (il_call IL G1 c f fd G1_legal Hc El M _ args m l _ HM (run_stepwise Q0 u) Hb Hp) as [Hlen Hw].
          exists (@Busy _ _ C E0 u (enter fd args (KRet x r :: k) m)). split.
          { simpl. unfold module_union. by rewrite He, Hf, El, Hlen, Nat.eqb_refl. }
          eapply (body_enter (fun s l => run L0 A0 G0 c Q0 (@Busy _ _ C E0 u s) l)); [apply run_stepwise|exact Hw|].
          intros v m' l' (Hb' & l1 & Hl1 & HQ'). exact (HQ _ _ _ Hb' Hl1 HQ').
        + left. exists (f, args). split; [simpl; unfold module_union; by rewrite He, Hf, El, HB|].
          eapply pwp_mono; [|exact (il_direct IL G1 c f G1_legal Hc El args m l _ Hb Hp)].
          intros v m' l' [Hb' HQ']. exact (HQ _ _ _ Hb' (later_refl c _) HQ').
    Qed.

    Lemma transfer_tau t t' : anext A1 c t = ATau t' -> anext A0 c (lower t) = ATau (lower t').
    Proof using IL.
      destruct t as [u m|u s]; simpl.
      - destruct (cnext C c u) as [|u'|f args|v]; try done; [by intros [= <-]|].
        destruct (M f) as [fd|] eqn:Ef; [|done]. rewrite (union_upper _ _ Ef).
        destruct (exported f && _); [|done]. by intros [= <-].
      - destruct (next B M c s) as [v m| |s'|p] eqn:Es; try done.
        + intros [= <-]. by rewrite (next_return _ _ _ _ Es).
        + intros [= <-]. by rewrite (next_tau _ _ _ Es).
    Qed.

    (** Where the machine below stands as the machine above does, or did a moment ago. *)
    Definition lowered (Q : ast A1 -> log L1 -> Prop) (t0 : ast A0) (l : log L0) : Prop :=
      exists t l1, t0 = lower t /\ between G1 c l /\ later c l1 (abs l) /\ Q t l1.

    (** What the machine above inevitably reaches, the machine below does. *)
    Theorem link_run Q t l1 : run L1 A1 G1 c Q t l1 -> forall l, later c l1 (abs l) -> between G1 c l ->
      run L0 A0 G0 c (lowered Q) (lower t) l.
    Proof using IL HM G1_legal Hc out_free.
      induction 1 as [t l1 HQ|t t' l1 Hn Hrun IH|t l1 p Hn Hp Hrun IH]; intros l Hl Hb.
      - apply run_done. by exists t, l1.
      - eapply run_tau; [by apply transfer_tau|]. by apply IH.
      - apply one_step_run. eapply (transfer_prim (lowered Q) (fun t' l1 => forall l, later c l1 (abs l) -> between G1 c l ->
          run L0 A0 G0 c (lowered Q) (lower t') l)); [exact Hb|exact Hn| |].
        + intros l' Hl'. apply (later_rely G1 c _ _ _ Hl) in Hl'. specialize (Hp l' Hl'). specialize (IH l').
          destruct (lstep L1 c p (amem A1 t) l') as [| |v m o] eqn:E; try done. split; [apply Hp|].
          by apply IH.
        + intros t' l2 l' Hb' Hl2 H. by apply H.
    Qed.

    (** An invariant of the machine above is one of the machine below, between calls. *)
    Theorem link_invariant (I1 : ast A1 -> log L1 -> Prop) t l :
      (forall t l, I1 t l -> safe_step L1 A1 G1 c I1 t l) ->
      run L0 A0 G0 c (lowered I1) t l -> safe_step L0 A0 G0 c (run L0 A0 G0 c (lowered I1)) t l.
    Proof using IL HM G1_legal Hc out_free.
      intros HI Hrun. destruct Hrun as [t0 l HQ|t0 t' l Hn Hrun|t0 l p Hn Hp Hrun].
      - destruct HQ as (t & l1 & -> & Hb & Hl & Ht). apply HI in Ht. unfold safe_step in Ht.
        destruct (anext A1 c t) as [| |t'|p] eqn:Hn; [|done| |].
        + assert (Hd : anext A0 c (lower t) = ADone).
          { destruct t as [u m|u s]; simpl in *.
            - destruct (cnext C c u) as [|u'|f args|v]; try done. by destruct (M f); [destruct (exported f && _)|].
            - by destruct (next B M c s). }
          unfold safe_step. by rewrite Hd.
        + unfold safe_step. rewrite (transfer_tau _ _ Hn). apply run_done. by exists t', l1.
        + apply (later_pwp G1 c _ _ _ _ _ Hl) in Ht. destruct (transfer_prim (lowered I1) I1 t p l Hb Hn Ht) as [(q & Hq & Hp)|(t' & Ht' & Hr)].
          { intros t' l2 l' Hb' Hl2 H. apply run_done. by exists t', l2. }
          * unfold safe_step. by rewrite Hq.
          * unfold safe_step. by rewrite Ht'.
      - unfold safe_step. by rewrite Hn.
      - unfold safe_step. rewrite Hn. intros l' Hl'. specialize (Hp l' Hl'). specialize (Hrun l').
        destruct (lstep L0 c p (amem A0 t0) l') as [| |v m o] eqn:E; try done. split; [apply Hp|]. by eapply Hrun.
    Qed.
  End transfer.

  Context (start : nat -> cstate C) (m0 : nat -> mem).
  Notation P0 := (fun c => @Idle _ _ C E0 (start c) (m0 c)).
  Notation P1 := (fun c => @Idle _ _ C E1 (start c) (m0 c)).

  (** Contextual refinement. *)
  Theorem link_refines : never_wrong ncpu L1 A1 P1 ->
    never_wrong ncpu L0 A0 P0 /\ forall l, traces ncpu L0 A0 P0 l -> wf l /\ traces ncpu L1 A1 P1 (abs l).
  Proof using IL HM out_free.
    intros Hnw. set (T1 := traces ncpu L1 A1 P1).
    assert (HL : forall l, T1 l -> legal L1 l) by apply traces_legal.
    set (I0 := fun c => run L0 A0 (below_guarantee T1) c (lowered T1 c (canonical ncpu L1 A1 P1 c))).
    assert (H0 : below_guarantee T1 []) by (split; [apply (il_start IL 0%nat)|apply traces_nil]).
    assert (Hinit : forall c, (c < ncpu)%nat -> I0 c (P0 c) []).
    { intros c Hc. apply run_done. exists (P1 c), []. split; [done|].
      split; [|split; [apply later_refl|exact (canonical_init ncpu L1 A1 P1 c)]].
      split_and!; [apply (il_start IL)|apply H0|apply H0]. }
    assert (Hstep : forall c s l, (c < ncpu)%nat -> I0 c s l -> safe_step L0 A0 (below_guarantee T1) c (I0 c) s l).
    { intros c s l Hc. apply link_invariant; [done|done|]. intros. by apply canonical_step. }
    split; [exact (invariant_never_wrong ncpu L0 A0 P0 _ H0 I0 Hinit Hstep)|].
    intros l [f Hr]. by destruct (local_invariant ncpu L0 A0 P0 _ H0 I0 Hinit Hstep _ Hr) as [[? _] _].
  Qed.
End link.
