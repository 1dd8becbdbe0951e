(** Linking below threads: the theorems of [calculus/linking/Link.v] and [LinkReturns.v] for threads.

    [thread_link_refines]: safety, and traces. [thread_link_run]: what a thread inevitably reaches above, it reaches below. So a
    lock that is proved for CPUs serves threads, as single events, whatever happens when it is contended. *)
From Ashlar Require Export machine.threads.ThreadLinkStep.

Section link.
  Context {D : Type} (ncpu nthread : nat) (L0 L1 : layer cprim mem) (B : builtins) (Mlow : module) (reserved : string -> bool).
  Context (view : lop L0 -> list (lop L1)) (wf : log L0 -> Prop) (outside : nat -> log L0 -> Prop).
  Context (X : baton_data D mem) (home first : nat -> nat) (quiet : nat -> log L1 -> bool).
  Context (IL : implements_layer ncpu L0 L1 B Mlow reserved view wf outside).
  Context (outside_stays : forall c e l, wf l -> wf (e ++ l) -> Forall (fun x => who x <> c) e -> outside c l -> outside c (e ++ l)).
  Notation TL0 := (thread_layer L0 X nthread home first (quiet_below L0 L1 view quiet)).
  Notation TL1 := (thread_layer L1 X nthread home first quiet).
  Notation base0 l := (base L0 (cpu_view L0 home l)).
  Notation base1 l := (base L1 (cpu_view L1 home l)).
  Notation thread_abs := (thread_abs nthread L0 L1 view X home first quiet).
  Notation has_cpu := (has_cpu (D:=D) home first).

  (** The code: C with a client, [lower] of Link.v for the same state below. *)
  Context (C : client) (exported : string -> bool) (M : module) (HM : upper_module reserved M) (out_free : Mlow OUT = None).
  Notation E0 := (c_engine B (module_union M Mlow) exported).
  Notation E1 := (c_engine B M exported).
  Notation A0 := (system C E0).
  Notation A1 := (system C E1).
  Notation lower := (lower B Mlow C exported M).
  Context (S0 : shareable A0) (S1 : shareable A1) (lower_put : forall s m, lower (aput S1 s m) = aput S0 (lower s) m).
  (** The primitives of the machine of threads are none of the layer below, nor of the module. *)
  Context (means : cprim -> meaning) (means_free : forall p, means p <> Ordinary -> Mlow p.1 = None).
  Context (means_wrong : forall p, means p <> Ordinary -> forall c m l, lstep L0 c p m l = Wrong).
  Context (begin : nat -> ast A1).
  Notation T0 := (agent_threads S0 home means (fun t => lower (begin t))).
  Notation T1 := (agent_threads S1 home means begin).
  Notation TA0 := (thread_agent T0).
  Notation TA1 := (thread_agent T1).

  Notation lower_thread := (lower_thread B Mlow home C exported M S0 S1 means begin).

  Section one.
    Context (GT : log TL1 -> Prop) (GT_legal : forall l, GT l -> legal TL1 l) (t : nat) (Hhome : (home t < ncpu)%nat).
    Notation Gb := (below_threads nthread L0 L1 view wf outside X home first quiet GT).
    Notation c := (home t).

    Notation standing := (standing nthread L0 L1 B view wf outside X home first quiet C exported M S1 means begin GT t).
    Notation later_thread := (later_thread nthread L1 X home first quiet t).
    Notation lowered_thread := (lowered_thread nthread L0 L1 B Mlow view wf outside X home first quiet C exported M S0 S1 means begin GT t).

    Notation at0 := (thread_at S0 home means (fun t => lower (begin t))).
    Notation at1 := (thread_at S1 home means begin).

    Local Lemma tau_below x x' : anext TA1 t x = ATau x' -> anext TA0 t (lower_thread x) = ATau (lower_thread x').
    Proof using IL means_free lower_put. by apply (ThreadLinkStep.transfer_tau ncpu L0 L1 B Mlow reserved view wf outside). Qed.
    Local Lemma done_below x : anext TA1 t x = ADone -> anext TA0 t (lower_thread x) = ADone.
    Proof using lower_put. by apply transfer_done. Qed.

    (** What the thread above inevitably reaches, the thread below does. *)
    Theorem thread_link_run Q x lt : run TL1 TA1 GT t Q x lt -> forall l, later_thread lt (thread_abs l) -> standing x l ->
      run TL0 TA0 Gb t (lowered_thread Q) (lower_thread x) l.
    Proof using IL HM GT_legal Hhome out_free outside_stays means_free means_wrong lower_put.
      induction 1 as [x lt HQ|x x' lt Hn Hrun IH|x lt p Hn Hp Hrun IH]; intros l Hl Hst.
      - apply run_done. by exists x, lt.
      - eapply run_tau; [by apply tau_below|]. apply IH; [done|]. by eapply standing_tau.
      - apply one_step_run. eapply (transfer_prim ncpu nthread L0 L1 B Mlow reserved view wf outside X home first quiet IL outside_stays
          C exported M HM out_free S0 S1 lower_put means means_free means_wrong begin GT GT_legal t Hhome _
          (fun x' lt => forall l, later_thread lt (thread_abs l) -> standing x' l -> run TL0 TA0 Gb t (lowered_thread Q) (lower_thread x') l));
          [exact Hst|exact Hn| |].
        + intros l' Hl'. apply (later_thread_rely nthread L1 X home first quiet GT t _ _ _ Hl) in Hl'. specialize (Hp l' Hl'). specialize (IH l').
          destruct (lstep TL1 t p (amem TA1 x) l') as [| |v m o] eqn:E; try done. split; [apply Hp|]. by apply IH.
        + intros x' lt2 l' Hst' Hl2 H. by apply H.
    Qed.

    (** An invariant of the machine above is one of the machine below, between calls. *)
    Theorem thread_link_invariant (I1 : ast TA1 -> log TL1 -> Prop) x0 l :
      (forall x lt, I1 x lt -> safe_step TL1 TA1 GT t I1 x lt) ->
      run TL0 TA0 Gb t (lowered_thread I1) x0 l -> safe_step TL0 TA0 Gb t (run TL0 TA0 Gb t (lowered_thread I1)) x0 l.
    Proof using IL HM GT_legal Hhome out_free outside_stays means_free means_wrong lower_put.
      intros HI Hrun. destruct Hrun as [x0 l HQ|x0 x' l Hn Hrun|x0 l p Hn Hp Hrun].
      - destruct HQ as (x & lt & -> & Hst & Hl & Hx). apply HI in Hx. unfold safe_step in Hx.
        destruct (anext TA1 t x) as [| |x'|p] eqn:Hn; [|done| |].
        + unfold safe_step. by rewrite (done_below x Hn).
        + unfold safe_step. rewrite (tau_below x x' Hn). apply run_done. exists x', lt. split_and!; [done| |done|done].
          by eapply standing_tau.
        + apply (later_thread_pwp nthread L1 X home first quiet GT t _ _ _ _ _ Hl) in Hx.
          destruct (transfer_prim ncpu nthread L0 L1 B Mlow reserved view wf outside X home first quiet IL outside_stays
            C exported M HM out_free S0 S1 lower_put means means_free means_wrong begin GT GT_legal t Hhome (lowered_thread I1) I1
            x p l Hst Hn Hx) as [(q & Hq & Hp)|(x' & Hx' & Hr)].
          { intros x' lt2 l' Hst' Hl2 H. apply run_done. by exists x', lt2. }
          * unfold safe_step. by rewrite Hq.
          * unfold safe_step. by rewrite Hx'.
      - unfold safe_step. by rewrite Hn.
      - unfold safe_step. rewrite Hn. intros l' Hl'. specialize (Hp l' Hl'). specialize (Hrun l').
        destruct (lstep TL0 t p (amem TA0 x0) l') as [| |v m o] eqn:E; try done. split; [apply Hp|]. by eapply Hrun.
    Qed.
  End one.

  (** ** The machines *)
  Context (P : nat -> tstate T1) (START : starts T1 ncpu nthread home first P).
  Notation P0 := (fun t => lower_thread (P t)).
  Notation Gb GT := (below_threads nthread L0 L1 view wf outside X home first quiet GT).
  Notation lowered_thread GT t := (lowered_thread nthread L0 L1 B Mlow view wf outside X home first quiet C exported M S0 S1 means begin GT t).

  Lemma lower_starts : starts T0 ncpu nthread home first P0.
  Proof using START. destruct START as [H1 H2 H3 H4]. by split. Qed.

  Lemma below_start (GT : log TL1 -> Prop) : GT [] -> Gb GT [].
  Proof using IL. intros HG. split_and!; [apply (il_start _ _ _ _ _ _ _ _ _ IL 0%nat)|done|done]. Qed.
  Lemma lowered_start (GT : log TL1 -> Prop) (I1 : nat -> ast TA1 -> log TL1 -> Prop) t : (t < nthread)%nat -> GT [] -> I1 t (P t) [] ->
    lowered_thread GT t (I1 t) (P0 t) [].
  Proof using IL START.
    intros Ht HG HI. exists (P t), []. split; [done|]. split; [|split; [apply later_thread_refl|exact HI]].
    split; [apply (il_start _ _ _ _ _ _ _ _ _ IL 0%nat)|]. split; [done|]. intros Hp.
    split; [|apply (il_start _ _ _ _ _ _ _ _ _ IL)]. split; [|done]. unfold on_cpu. simpl.
    destruct (decide (first (home t) = t)) as [|Hne]; [done|]. by destruct (Hp (start_suspended _ _ _ _ _ _ START t Ht Hne)).
  Qed.

  (** Below, the guarantee is kept, and every thread runs to a state that the thread above has. *)
  Theorem thread_link_reached (GT : log TL1 -> Prop) (I1 : nat -> ast TA1 -> log TL1 -> Prop) : (forall l, GT l -> legal TL1 l) -> GT [] ->
    (forall t, (t < nthread)%nat -> I1 t (P t) []) ->
    (forall t x l, (t < nthread)%nat -> I1 t x l -> safe_step TL1 TA1 GT t (I1 t) x l) ->
    forall g, reach nthread TL0 TA0 P0 g -> (Gb GT (glog g) /\ legal TL0 (glog g)) /\ forall t, (t < nthread)%nat ->
      exists l e, glog g = e ++ l /\ others TL0 t e /\ run TL0 TA0 (Gb GT) t (lowered_thread GT t (I1 t)) (gagent g t) l.
  Proof using IL HM out_free outside_stays means_free means_wrong lower_put START.
    intros HG HG0 H0 HI.
    apply (local_invariant nthread TL0 TA0 P0 (Gb GT) (below_start GT HG0)
      (fun t x l => run TL0 TA0 (Gb GT) t (lowered_thread GT t (I1 t)) x l)).
    - intros t Ht. apply run_done. by apply lowered_start; [|auto..].
    - intros t x l Ht. apply thread_link_invariant; [done|by apply (start_home _ _ _ _ _ _ START)|]. intros. by apply HI.
  Qed.

  (** Contextual refinement. *)
  Theorem thread_link_refines : never_wrong nthread TL1 TA1 P ->
    never_wrong nthread TL0 TA0 P0 /\
    forall l, traces nthread TL0 TA0 P0 l -> wf (base0 l) /\ traces nthread TL1 TA1 P (thread_abs l).
  Proof using IL HM out_free outside_stays means_free means_wrong lower_put START.
    intros Hnw. set (GT := traces nthread TL1 TA1 P).
    assert (HL : forall l, GT l -> legal TL1 l) by apply traces_legal.
    assert (HG0 : GT []) by apply traces_nil.
    set (I1 := canonical nthread TL1 TA1 P).
    assert (H0 : forall t, (t < nthread)%nat -> I1 t (P t) []) by (intros; apply canonical_init).
    assert (HI : forall t x l, (t < nthread)%nat -> I1 t x l -> safe_step TL1 TA1 GT t (I1 t) x l).
    { intros t x l Ht Hx. by apply canonical_step. }
    split.
    - apply (invariant_never_wrong nthread TL0 TA0 P0 (Gb GT) (below_start GT HG0)
        (fun t x l => run TL0 TA0 (Gb GT) t (lowered_thread GT t (I1 t)) x l)).
      + intros t Ht. apply run_done. by apply lowered_start; [|auto..].
      + intros t x l Ht. apply thread_link_invariant; [done|by apply (start_home _ _ _ _ _ _ START)|]. intros. by apply HI.
    - intros l [f Hr]. by destruct (thread_link_reached GT I1 HL HG0 H0 HI _ Hr) as [[(? & _ & ?) _] _].
  Qed.

  (** Liveness: what each thread above runs to from the states that [I1] describes, each thread below runs to. *)
  Theorem thread_link_runs (GT : log TL1 -> Prop) (I1 Q : nat -> ast TA1 -> log TL1 -> Prop) : (forall l, GT l -> legal TL1 l) -> GT [] ->
    (forall t, (t < nthread)%nat -> I1 t (P t) []) ->
    (forall t x l, (t < nthread)%nat -> I1 t x l -> safe_step TL1 TA1 GT t (I1 t) x l) ->
    (forall t x l, (t < nthread)%nat -> I1 t x l -> run TL1 TA1 GT t (Q t) x l) ->
    forall g t, reach nthread TL0 TA0 P0 g -> (t < nthread)%nat -> Gb GT (glog g) /\
      exists l e, glog g = e ++ l /\ others TL0 t e /\ run TL0 TA0 (Gb GT) t (lowered_thread GT t (Q t)) (gagent g t) l.
  Proof using IL HM out_free outside_stays means_free means_wrong lower_put START.
    intros HG HG0 H0 HI HQ g t Hr Ht. destruct (thread_link_reached GT I1 HG HG0 H0 HI g Hr) as [[HGb _] Hall]. split; [exact HGb|].
    destruct (Hall t Ht) as (l & e & El & He & Hrun). exists l, e. split_and!; [done|done|].
    eapply run_bind; [exact Hrun|]. intros x0 l' (x & lt & -> & Hst & Hl & Hx).
    eapply thread_link_run; [done|by apply (start_home _ _ _ _ _ _ START)|by apply HQ|exact Hl|exact Hst].
  Qed.
End link.
