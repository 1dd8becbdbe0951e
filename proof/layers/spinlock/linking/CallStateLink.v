(** The state of each CPU when a module is linked in (between calls, or inside one), and that calls return. *)
From Ashlar Require Export layers.spinlock.linking.CallState.

Section link.
  Context (ncpu : nat) (L0 L1 : layer cprim mem) (B : builtins) (Mlow : module) (reserved : string -> bool).
  Context (view : lop L0 -> list (lop L1)) (wf : log L0 -> Prop) (outside : nat -> log L0 -> Prop).
  Context (IL : implements_layer ncpu L0 L1 B Mlow reserved view wf outside).
  Context (inner : string -> bool) (inner_reserved : forall f, inner f = true -> reserved f = true).
  Context (inner_body : forall f fd, Mlow f = Some fd -> calls_inner inner (fn_body fd) = true).
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module reserved M).
  Context (out_free : Mlow OUT = None) (start : nat -> cstate C) (m0 : nat -> mem).
  Notation linked := (module_union M Mlow).
  Notation abs := (Link.abs L0 L1 view).
  Notation E0 := (c_engine B linked exported).
  Notation E1 := (c_engine B M exported).
  Notation A0 := (system C E0).
  Notation A1 := (system C E1).
  Notation P0 := (fun c => @Idle _ _ C E0 (start c) (m0 c)).
  Notation P1 := (fun c => @Idle _ _ C E1 (start c) (m0 c)).
  Context (never_wrong_above : never_wrong ncpu L1 A1 P1).
  Notation T1 := (traces ncpu L1 A1 P1).
  Notation G0 := (below_guarantee L0 L1 view wf T1).
  Notation between := (Link.between L0 L1 view wf outside T1).
  Notation canon := (canonical ncpu L1 A1 P1).
  Notation down := (lower B Mlow C exported M).

  Local Lemma T1_legal l : T1 l -> legal L1 l.
  Proof using. apply traces_legal. Qed.

  (** Between calls, as the machine above. *)
  Definition stands_between (c : nat) (t0 : ast A0) (l : log L0) : Prop :=
    exists t l1, t0 = down t /\ between c l /\ later L1 c l1 (abs l) /\ canon c t l1.
  (** Inside a call, after which it will stand between calls. *)
  Definition stands_inside (c : nat) (t0 : ast A0) (l : log L0) : Prop :=
    exists u I x r0 k r m, t0 = @Busy _ _ C E0 u (Cfg (I ++ KRet x r0 :: k) r m) /\ forallb (item_inner inner) I = true /\
      returns L0 L1 B Mlow view wf M T1 c
        (fun v m' l' => stands_between c (@Busy _ _ C E0 u (Cfg k (set_result x v r0) m')) l') (Cfg (I ++ [KEnd]) r m) l.
  Definition stands (c : nat) (t0 : ast A0) (l : log L0) : Prop := stands_between c t0 l \/ stands_inside c t0 l.

  Lemma stands_start c : stands c (P0 c) [].
  Proof using IL.
    left. exists (P1 c), []. split; [done|]. split; [|split; [apply later_refl|exact (canonical_init ncpu L1 A1 P1 c)]].
    destruct (il_start _ _ _ _ _ _ _ _ _ IL c) as [Hw Ho]. split_and!; [done..|]. apply traces_nil.
  Qed.

  Lemma next_tau_down c s s' : next B M c s = ETau s' -> next B linked c s = ETau s'.
  Proof using IL.
    destruct s as [k r m]. destruct k as [|[st|cd body|x r0|] k]; simpl; try done.
    destruct st as [|x e|o i f j e|a b|cd a b|cd a| |e|x f es]; simpl; try done.
    destruct (evals es r m) as [args|]; [|done]. destruct (M f) as [fd|] eqn:Ef.
    - by rewrite (union_upper Mlow M _ _ Ef).
    - unfold module_union. rewrite Ef. destruct (Mlow f) as [fd|] eqn:El; [|done].
      by rewrite (il_builtin _ _ _ _ _ _ _ _ _ IL f fd c args m El).
  Qed.
  Lemma tau_down c t t' : anext A1 c t = ATau t' -> anext A0 c (down t) = ATau (down t').
  Proof using IL.
    destruct t as [u m|u s]; simpl.
    - destruct (cnext C c u) as [|u'|f args|v]; try done; [by intros [= <-]|].
      destruct (M f) as [fd|] eqn:Ef; [|done]. rewrite (union_upper Mlow M _ _ Ef).
      destruct (exported f && _); [|done]. by intros [= <-].
    - destruct (next B M c s) as [v m| |s'|p] eqn:Es; try done; intros [= <-].
      + by rewrite (next_return B Mlow M _ _ _ _ Es).
      + by rewrite (next_tau_down _ _ _ Es).
  Qed.

  Lemma stands_prim c t p l l1 : (c < ncpu)%nat -> between c l -> later L1 c l1 (abs l) -> canon c t l1 ->
    anext A1 c t = APrim p -> safe_step L0 A0 G0 c (stands c) (down t) l.
  Proof using IL HM out_free never_wrong_above inner_body.
    intros Hc Hb Hl Ht Hn. pose proof (canonical_step ncpu L1 A1 P1 c t l1 Hc never_wrong_above Ht) as Hp.
    unfold safe_step in Hp. rewrite Hn in Hp. apply (later_pwp L1 T1 c _ _ _ _ _ Hl) in Hp.
    assert (Hdirect : forall t', (forall v m', exists t2, t' v m' = down t2 /\ t2 = aresume A1 t v m') -> Mlow p.1 = None ->
      pwp L0 G0 c p (amem A1 t) l (fun v m' l' => stands c (t' v m') l')).
    { intros t' Ht' Hf. destruct p as [f args]. eapply pwp_mono;
        [|exact (il_direct _ _ _ _ _ _ _ _ _ IL T1 c f T1_legal Hc Hf args (amem A1 t) l _ Hb Hp)].
      intros v m' l' [Hb' HQ]. left. destruct (Ht' v m') as (t2 & -> & ->). eexists _, (abs l').
      split; [done|]. split; [done|]. split; [apply later_refl|exact HQ]. }
    destruct t as [u m|u s]; simpl in Hn.
    - destruct (cnext C c u) as [|u'|f args|v] eqn:Eu; try done.
      { by destruct (M f) as [fd|]; [destruct (exported f && _)|]. }
      injection Hn as <-. unfold safe_step. simpl. rewrite Eu.
      apply (Hdirect (fun w m' => @Idle _ _ C E0 (creturn C u w) m')); [|done].
      intros w m'. by exists (@Idle _ _ C E1 (creturn C u w) m').
    - assert (Hs : next B M c s = EPrim p) by (destruct (next B M c s); congruence). clear Hn.
      destruct (next_prim B M _ _ _ Hs) as (x & es & k & Hk & He & Hf & HB). destruct p as [f args], s as [k0 r m].
      cbn [ck cl cm fst snd] in *. subst k0. destruct (Mlow f) as [fd|] eqn:El.
      + set (QR := fun v m' l' => stands_between c (@Busy _ _ C E0 u (Cfg k (set_result x v r) m')) l').
        destruct (il_call _ _ _ _ _ _ _ _ _ IL T1 c f fd T1_legal Hc El M _ args m l _ HM
          (returns_stepwise L0 L1 B Mlow view wf M T1 c QR) Hb Hp) as [Hlen Hw].
        unfold safe_step. simpl. unfold module_union. rewrite He, Hf, El, Hlen, Nat.eqb_refl. right.
        exists u, [KStmt (fn_body fd)], x, r, k, (args ++ replicate (fn_locals fd) 0), m.
        split; [done|]. split; [simpl; by rewrite (inner_body f fd El)|].
        apply (body_returns L0 L1 B Mlow view wf M T1 c fd args m l). eapply body_wp_mono; [|exact Hw].
        intros v m' l' (Hb' & l2 & Hl2 & HQ).
        exists (@Busy _ _ C E1 u (Cfg k (set_result x v r) m')), l2. by split.
      + unfold safe_step. simpl. unfold module_union. rewrite He, Hf, El, HB.
        apply (Hdirect (fun v m' => @Busy _ _ C E0 u (Cfg k (set_result x v r) m'))); [|done].
        intros v m'. by exists (@Busy _ _ C E1 u (Cfg k (set_result x v r) m')).
  Qed.

  (** Every step leads from a place where the CPU may stand to another. *)
  Lemma stands_step c t l : (c < ncpu)%nat -> stands c t l -> safe_step L0 A0 G0 c (stands c) t l.
  Proof using IL HM out_free never_wrong_above inner_body inner_reserved.
    intros Hc [(t1 & l1 & -> & Hb & Hl & Ht)|(u & I & x & r0 & k & r & m & -> & HI & Hret)].
    - pose proof (canonical_step ncpu L1 A1 P1 c t1 l1 Hc never_wrong_above Ht) as Hs. unfold safe_step in Hs.
      destruct (anext A1 c t1) as [| |t2|p] eqn:Hn; [|done| |by eapply stands_prim].
      + assert (Hd : anext A0 c (down t1) = ADone).
        { destruct t1 as [u m|u s]; simpl in *.
          - destruct (cnext C c u) as [|u'|f args|v]; try done. by destruct (M f); [destruct (exported f && _)|].
          - by destruct (next B M c s). }
        unfold safe_step. by rewrite Hd.
      + unfold safe_step. rewrite (tau_down _ _ _ Hn). left. by exists t2, l1.
    - pose proof (next_on_top B Mlow reserved inner inner_reserved inner_body M HM c I r m x r0 k HI) as Htop.
      unfold on_top in Htop. remember (Cfg (I ++ [KEnd]) r m) as s0 eqn:Es0.
      destruct Hret as [s l v m' Hn HQ|s s' l Hn Hr|s p l Hn Hp Hr]; rewrite Hn in Htop;
        unfold safe_step; cbn [anext system system_next enext c_engine].
      + rewrite Htop. left. exact HQ.
      + destruct Htop as (I' & Es' & HI' & ->). right.
        exists u, I', x, r0, k, (cl s'), (cm s'). split; [done|]. split; [done|]. by rewrite <- Es'.
      + destruct Htop as [-> (y & f & es & I' & -> & HI')]. subst s. cbn [cm] in *. intros l' Hl'.
        specialize (Hp l' Hl'). specialize (Hr l'). simpl amem. change (amem A0 _) with m in *.
        destruct (lstep L0 c p m l') as [| |v m' o] eqn:E; try done. split; [apply Hp|]. right.
        exists u, I', x, r0, k, (set_result y v r), m'. split; [done|]. split; [done|]. exact (Hr v m' o Hl' eq_refl).
  Qed.

  Theorem stands_always g : reach ncpu L0 A0 P0 g ->
    (G0 (glog g) /\ legal L0 (glog g)) /\ forall c, (c < ncpu)%nat ->
      exists l e, glog g = e ++ l /\ others L0 c e /\ stands c (gagent g c) l.
  Proof using IL HM out_free never_wrong_above inner_body inner_reserved.
    intros Hr. apply (local_invariant ncpu L0 A0 P0 G0); [|intros; apply stands_start|exact stands_step|done].
    split; [apply (il_start _ _ _ _ _ _ _ _ _ IL 0%nat)|apply traces_nil].
  Qed.

  (** ** Calls from above

      [f]: a function of the module that the module itself does not call. *)
  Context (f : string) (fd : fundef) (f_below : Mlow f = Some fd) (f_outer : inner f = false).

  Lemma call_stands g c u x es k r m : reach ncpu L0 A0 P0 g -> (c < ncpu)%nat ->
    gagent g c = @Busy _ _ C E0 u (Cfg (KStmt (Call x f es) :: k) r m) ->
    exists l e args, glog g = e ++ l /\ others L0 c e /\ between c l /\ evals es r m = Some args /\
      pwp L1 T1 c (f, args) m (abs l) (fun _ _ _ => True).
  Proof using IL HM out_free never_wrong_above inner_body inner_reserved f_below f_outer.
    intros Hr Hc Hg. destruct (stands_always g Hr) as [_ H]. destruct (H c Hc) as (l & e & Hl & He & Hst).
    rewrite Hg in Hst. destruct Hst as [(t & l1 & Ht & Hb & Hlt & Hcan)|(u' & I & y & r0 & k' & r' & m' & Ht & HI & _)].
    - exists l, e. destruct t as [u' m'|u' s]; [done|]. simpl in Ht. injection Ht as <- <-.
      pose proof (canonical_step ncpu L1 A1 P1 c _ l1 Hc never_wrong_above Hcan) as Hs. unfold safe_step in Hs.
      simpl anext in Hs. simpl amem in Hs. destruct (evals es r m) as [args|]; [|done]. exists args.
      rewrite (HM f (il_reserved _ _ _ _ _ _ _ _ _ IL f fd f_below)) in Hs.
      rewrite (il_builtin _ _ _ _ _ _ _ _ _ IL f fd c args m f_below) in Hs.
      split_and!; [done..|]. eapply later_pwp; [exact Hlt|]. eapply pwp_mono; [|exact Hs]. done.
    - exfalso. injection Ht as _ Hk _ _. destruct I as [|i I]; [done|]. injection Hk as <- _. simpl in HI.
      by rewrite f_outer in HI.
  Qed.

  (** A call that is proved total returns, in every execution in which its CPU moves again and again. *)
  Theorem call_returns (R : list Z -> log L0 -> Z -> mem -> log L0 -> Prop) ex schedule c i u x es k r m :
    (forall J args m l, stepwise L0 L1 B Mlow view wf T1 c M J -> between c l ->
       pwp L1 T1 c (f, args) m (abs l) (fun _ _ _ => True) ->
       length args = fn_params fd /\ body_wp J fd args m l (R args l)) ->
    (c < ncpu)%nat -> execution ncpu L0 A0 P0 ex schedule -> fair schedule c ->
    gagent (ex i) c = @Busy _ _ C E0 u (Cfg (KStmt (Call x f es) :: k) r m) ->
    exists j args l e l' e' v m', (i <= j)%nat /\ evals es r m = Some args /\
      glog (ex i) = e ++ l /\ others L0 c e /\ glog (ex j) = e' ++ l' /\ others L0 c e' /\
      gagent (ex j) c = @Busy _ _ C E0 u (Cfg k (set_result x v r) m') /\ R args l v m' l'.
  Proof using IL HM out_free never_wrong_above inner_body inner_reserved f_below f_outer.
    intros HR Hc Hex Hfair Hg. pose proof (execution_reach _ _ _ _ _ _ i Hex) as Hri.
    destruct (call_stands _ c u x es k r m Hri Hc Hg) as (l & e & args & Hl & He & Hb & Hargs & Hp).
    set (Qf := fun (t : ast A0) (l' : log L0) => exists v m',
      t = @Busy _ _ C E0 u (Cfg k (set_result x v r) m') /\ R args l v m' l').
    destruct (HR (fun s l => run L0 A0 G0 c Qf (@Busy _ _ C E0 u s) l) args m l) as [Hlen Hw];
      [apply run_stepwise|done|done|].
    assert (Hrun : run L0 A0 G0 c Qf (gagent (ex i) c) l).
    { rewrite Hg. eapply run_tau.
      - simpl. rewrite Hargs. unfold module_union.
        by rewrite (HM f (il_reserved _ _ _ _ _ _ _ _ _ IL f fd f_below)), f_below, Hlen, Nat.eqb_refl.
      - eapply (body_enter L0 L1 B Mlow view wf M T1 c (fun s l => run L0 A0 G0 c Qf (@Busy _ _ C E0 u s) l));
          [apply run_stepwise|exact Hw|]. intros v m' l' HRv. apply run_done. by exists v, m'. }
    assert (HG : forall j, G0 (glog (ex j)) /\ legal L0 (glog (ex j))).
    { intros j. apply stands_always. by eapply execution_reach. }
    destruct (run_inevitable ncpu L0 A0 G0 c ex schedule (proj2 Hex) HG Hfair _ _ _ Hrun i e eq_refl Hl He)
      as (j & l' & e' & Hj & (v & m' & Ht & HRv) & Hl' & He').
    by exists j, args, l, e, l', e', v, m'.
  Qed.
End link.
