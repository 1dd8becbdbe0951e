(** Linking below threads: a module that implements a layer for CPUs implements it for threads.

    The threads run C with clients. Below, the code of [Mlow] is linked in and the machine of threads stands on [L0]; above it
    stands on [L1], where the functions of [Mlow] are primitives. All that is asked of [Mlow] is [implements_layer], which is
    about CPUs: no proof of a lock is done again for threads. What a thread inevitably reaches above, it reaches below. *)
From Ashlar Require Export machine.threads.LinkCalls.

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

  Definition lower_thread (x : ast TA1) : ast TA0 := TState T0 (tphase T1 x) (lower (tcode T1 x)) (tmem T1 x).

  Lemma lower_bare s : lower (bare S1 s) = bare S0 (lower s).
  Proof using lower_put. apply lower_put. Qed.
  Lemma lower_mem (s : ast A1) : amem A0 (lower s) = amem A1 s.
  Proof using. by destruct s. Qed.
  Lemma lower_resume (s : ast A1) v m : lower (aresume A1 s v m) = aresume A0 (lower s) v m.
  Proof using. by destruct s. Qed.
  Lemma lower_thread_resume x v m : lower_thread (thread_resume T1 x v m) = thread_resume T0 (lower_thread x) v m.
  Proof using lower_put.
    unfold lower_thread, thread_resume, back. simpl. destruct (tphase T1 x); cbn [tphase tcode tmem]; f_equal; [apply lower_resume|].
    case_decide; [apply lower_resume|apply lower_bare].
  Qed.

  Section one.
    Context (GT : log TL1 -> Prop) (GT_legal : forall l, GT l -> legal TL1 l) (t : nat) (Hhome : (home t < ncpu)%nat).
    Notation Gb := (below_threads nthread L0 L1 view wf outside X home first quiet GT).
    Notation c := (home t).

    (** Where a thread stands between two calls of the module. *)
    Definition standing (x : ast TA1) (l : log TL0) : Prop :=
      wf (base0 l) /\ GT (thread_abs l) /\ (tphase T1 x <> Suspended -> has_cpu L0 t l /\ outside c (base0 l)).
    Definition later_thread (lt lt' : log TL1) : Prop := exists e, lt' = e ++ lt /\ others TL1 t e.
    Definition lowered_thread (Q : ast TA1 -> log TL1 -> Prop) (x0 : ast TA0) (l : log TL0) : Prop :=
      exists x lt, x0 = lower_thread x /\ standing x l /\ later_thread lt (thread_abs l) /\ Q x lt.

    Lemma later_thread_refl l : later_thread l l.
    Proof using. exists []. split; [done|constructor]. Qed.
    Lemma later_thread_rely l l' l'' : later_thread l l' -> rely TL1 GT t l' l'' -> rely TL1 GT t l l''.
    Proof using.
      intros (e & -> & He) (e' & -> & He' & H). exists (e' ++ e). rewrite <- app_assoc.
      split; [done|]. split; [by apply others_app|done].
    Qed.
    Lemma later_thread_pwp l l' p m Q : later_thread l l' -> pwp TL1 GT t p m l Q -> pwp TL1 GT t p m l' Q.
    Proof using. intros Hl Hp l'' Hr. apply Hp. by eapply later_thread_rely. Qed.

    (** A thread below that is to run on from configuration [s] of its client [u]. *)
    Notation busy u s := (thread_at S0 home means (fun t => lower (begin t)) Running (@Busy _ _ C E0 u s)).

    Lemma own_rely l l' : has_cpu L0 t l -> rely TL0 Gb t l l' ->
      exists b, base0 l' = b ++ base0 l /\ others L0 c b /\ has_cpu L0 t l' /\ lsched L0 c (base0 l') /\ legal L0 (base0 l').
    Proof using.
      intros Hc (e & -> & He & _ & Hs & Hleg). destruct (others_base nthread X home first L0 _ e l t Hleg Hc He) as [Hb Hc'].
      exists (base0 e). split_and!; [exact (base_app home L0 e l)|done|done| |].
      - apply Hs. apply Hc'.
      - by apply (legal_base L0 X nthread home first (quiet_below L0 L1 view quiet)).
    Qed.

    Section call.
      Context (l0 : log TL0) (p : cprim) (m : mem) (Q : Z -> mem -> log TL1 -> Prop).
      Context (Hcpu : has_cpu L0 t l0) (Hout : outside c (base0 l0)) (Hwf : wf (base0 l0)) (HG0 : GT (thread_abs l0)).
      Context (HU : pwp TL1 GT t (PBase p) m (thread_abs l0) Q).
      Notation tracks := (tracks nthread L0 L1 view X home first quiet GT t l0 p m).
      Notation called := (called nthread L0 L1 view X home first quiet GT t l0).
      Notation G1 := (call_guarantee nthread L0 L1 view X home first quiet GT t l0 p m).
      Notation result := (call_result nthread L0 L1 view X home first quiet t l0 p m).

      Lemma tracks_start : tracks (thread_abs l0).
      Proof using HG0. left. exists []. split_and!; [done|constructor|done]. Qed.
      Lemma between_start : Link.between L0 L1 view wf outside G1 c (base0 l0).
      Proof using Hout Hwf HG0.
        split_and!; [done|done|]. exists (thread_abs l0). split; [apply thread_abs_base|apply tracks_start].
      Qed.
      Lemma result_pwp : pwp L1 G1 c p m (abs L0 L1 view (base0 l0)) result.
      Proof using HU Hcpu GT_legal.
        rewrite <- (thread_abs_base nthread L0 L1 view X home first quiet l0).
        by apply (call_pwp nthread L0 L1 view X home first quiet GT GT_legal t l0 p m Q Hcpu HU).
      Qed.

      (** The log goes on by events of others. *)
      Lemma tracks_rely l l' : tracks (thread_abs l) -> rely TL0 Gb t l l' -> tracks (thread_abs l').
      Proof using.
        intros Ht (e & -> & He & (_ & _ & HG) & _). rewrite thread_abs_app in *. apply thread_abs_others in He.
        destruct Ht as [(e' & E & He' & _)|(e' & o & v & m' & lt' & E & He' & Hh & _)].
        - left. exists (thread_abs e ++ e'). rewrite E. split_and!; [by rewrite app_assoc|by apply others_app|]. by rewrite <- E.
        - right. exists (thread_abs e ++ e'), o, v, m', lt'. rewrite E. split_and!; [by rewrite app_assoc|by apply others_app|done|].
          by rewrite <- E.
      Qed.

      (** One own step below, from a state where the call is tracked, to one where it is. *)
      Lemma tracked_step q (QQ : Z -> mem -> log L0 -> Prop) mq l : has_cpu L0 t l -> tracks (thread_abs l) ->
        pwp L0 (below_guarantee L0 L1 view wf G1) c q mq (base0 l) QQ ->
        pwp TL0 Gb t (PBase q) mq l (fun v m' l' => has_cpu L0 t l' /\ tracks (thread_abs l') /\ wf (base0 l') /\
          GT (thread_abs l') /\ QQ v m' (base0 l')).
      Proof using HU Hcpu GT_legal outside_stays IL.
        intros Hc Htr Hp l' Hr. destruct (own_rely l l' Hc Hr) as (b & Eb & Hb & Hc' & Hs & Hleg).
        pose proof (tracks_rely l l' Htr Hr) as Htr'. pose proof Hr as (e & El & He & HGb & Hsch & Hleg').
        assert (Hr0 : rely L0 (below_guarantee L0 L1 view wf G1) c (base0 l) (base0 l')).
        { exists b. split_and!; [done|done| |done|done]. split; [apply HGb|]. exists (thread_abs l').
          split; [apply thread_abs_base|done]. }
        specialize (Hp _ Hr0). simpl. unfold thread_step_of. destruct Hc' as [Hon Htra]. rewrite decide_True by exact Hon. rewrite Htra.
        destruct (lstep L0 c q mq (base0 l')) as [| |v m' o]; [done|done|]. destruct Hp as [HG1 HQ].
        destruct (own_step nthread L0 L1 view wf outside X home first quiet outside_stays GT GT_legal t l0 p m Q Hcpu HU l' o)
          as [HGb' Htr2]; [done|done|done| |exact HG1|].
        { intros (e1 & E1 & He1 & HG1'). exists e1. split_and!; [done|done|done| |by apply GT_legal]. simpl. intros _.
          rewrite thread_abs_base. apply (il_sched _ _ _ _ _ _ _ _ _ IL); [apply HGb|exact Hs]. }
        split; [exact HGb'|]. split_and!; [split; [exact Hon|]|exact Htr2|apply HGb'|apply HGb'|exact HQ].
        simpl. by rewrite decide_True.
      Qed.

      (** The call has returned: its event has happened above. *)
      Lemma returned l v m' : tracks (thread_abs l) -> (exists l1, later L1 c l1 (abs L0 L1 view (base0 l)) /\ result v m' l1) ->
        exists lt, later_thread lt (thread_abs l) /\ Q v m' lt.
      Proof using HU Hcpu GT_legal.
        intros Htr (l1 & (b & Eb & Hb) & (o & b1 & -> & Hb1 & Hs)).
        rewrite <- (thread_abs_base nthread L0 L1 view X home first quiet l) in Eb. destruct Htr as [Hca|Hdo].
        - exfalso. destruct (called_shape nthread L0 L1 view X home first quiet GT GT_legal t l0 Hcpu _ Hca) as (b2 & Eb2 & Hb2).
          assert (E3 : b2 = b ++ Event c o :: b1).
          { apply (app_inv_tail (base1 (thread_abs l0))). refine (eq_trans (eq_sym Eb2) (eq_trans Eb _)). by rewrite <- app_assoc. }
          by apply (no_own_event L1 home t b2 b o b1 Hb2) in E3.
        - destruct (done_shape nthread L0 L1 view X home first quiet GT GT_legal t l0 p m Q Hcpu HU _ Hdo)
            as (e & o2 & v2 & m2 & lt' & b2 & b' & E & He & Hh & Eb2 & Hb2 & Hb' & Elt').
          rewrite Eb2 in Eb. apply (own_event_unique L1 home t b2 b o2 o _ _ Hb2 Hb) in Eb as (-> & -> & Eb).
          destruct (happened_upper nthread L0 L1 view X home first quiet GT GT_legal t l0 p m Q Hcpu HU _ _ _ _ Hh) as [_ HQ].
          exists (Event t (UBase o) :: lt'). split; [by exists e|].
          destruct Hh as [_ Hs2]. pose proof (eq_trans (eq_sym (f_equal (lstep L1 c p m) (eq_trans Elt' Eb))) Hs2) as E2.
          rewrite Hs in E2. by injection E2 as -> ->.
      Qed.

      (** The module's code, step by step: the log may grow by events of other threads before each primitive. *)
      Lemma tracked_stepwise Q0 u : stepwise L0 L1 B Mlow view wf G1 c M (fun s k => forall l, base0 l = k -> has_cpu L0 t l ->
        tracks (thread_abs l) -> wf (base0 l) -> GT (thread_abs l) -> run TL0 TA0 Gb t Q0 (busy u s) l).
      Proof using HU Hcpu GT_legal outside_stays IL means_wrong.
        split.
        - intros s s' k Hn HJ l <- Hc Htr Hw HG. eapply run_tau; [|by apply (HJ l)].
          change (thread_next T0 t (busy u s) = ATau (busy u s')). rewrite thread_at_next. simpl. by rewrite Hn.
        - intros s q k Hn Hp l <- Hc Htr Hw HG. pose proof (tracked_step q _ (cm s) l Hc Htr Hp) as Hstep.
          assert (Hnext : thread_next T0 t (busy u s) = match means q with
            | Ordinary => APrim (PBase q)
            | SwitchTo to => ATau (TState T0 (Leaving t to) (bare S0 (@Busy _ _ C E0 u s)) (cm s))
            | Begin v => APrim (PInit v (Z.of_nat v + 1))
            end).
          { rewrite thread_at_next. simpl. by rewrite Hn. }
          assert (Hwrong : means q <> Ordinary -> forall l', ~ rely TL0 Gb t l l').
          { intros Hq l' Hr. specialize (Hstep l' Hr). destruct (own_rely l l' Hc Hr) as (_ & _ & _ & [Hon Htra] & _).
            simpl in Hstep. unfold thread_step_of in Hstep. rewrite decide_True in Hstep by exact Hon. rewrite Htra in Hstep.
            by rewrite means_wrong in Hstep. }
          destruct (means q) as [|to|v] eqn:Em.
          + eapply run_prim; [exact Hnext|]. eapply pwp_mono; [|exact Hstep]. cbn beta.
            intros v m' l' (Hc' & Htr' & Hw' & HG' & HJ). change (run TL0 TA0 Gb t Q0 (thread_resume T0 (busy u s) v m') l').
            rewrite thread_at_returned. by apply HJ.
          + eapply run_tau; [exact Hnext|]. eapply run_prim_step; [done|intros l' Hr; by destruct (Hwrong ltac:(done) l' Hr)|].
            intros l' v m' o Hr. by destruct (Hwrong ltac:(done) l' Hr).
          + eapply run_prim_step; [exact Hnext|intros l' Hr; by destruct (Hwrong ltac:(done) l' Hr)|].
            intros l' w m' o Hr. by destruct (Hwrong ltac:(done) l' Hr).
      Qed.

      (** What is known when the call, or the primitive, has returned. *)
      Definition back_with (v : Z) (m' : mem) (l : log TL0) : Prop :=
        has_cpu L0 t l /\ outside c (base0 l) /\ wf (base0 l) /\ GT (thread_abs l) /\
        exists lt, later_thread lt (thread_abs l) /\ Q v m' lt.

      Lemma module_call Q0 fd u x r k : Mlow p.1 = Some fd ->
        (forall v m' l, back_with v m' l -> run TL0 TA0 Gb t Q0 (busy u (Cfg k (set_result x v r) m')) l) ->
        length p.2 = fn_params fd /\ run TL0 TA0 Gb t Q0 (busy u (enter fd p.2 (KRet x r :: k) m)) l0.
      Proof using HU Hcpu Hout Hwf HG0 GT_legal outside_stays IL means_wrong HM Hhome.
        intros Hf HQ.
        pose proof (call_guarantee_legal nthread L0 L1 view X home first quiet GT GT_legal t l0 p m) as Hlegal.
        pose proof (tracked_stepwise Q0 u) as HJ.
        pose proof result_pwp as Hp. rewrite (surjective_pairing p) in Hp at 2.
        destruct (il_call _ _ _ _ _ _ _ _ _ IL G1 c p.1 fd Hlegal Hhome Hf M _ p.2 m (base0 l0) result HM HJ between_start Hp) as [Hlen Hw].
        split; [exact Hlen|].
        refine (body_enter L0 L1 B Mlow view wf M G1 c _ fd p.2 m (base0 l0) _ x r k HJ Hw _ l0 eq_refl Hcpu tracks_start Hwf HG0).
        intros v m' k0 ((Ho & _ & _) & Hres) l <- Hc Htr Hw' HG. apply HQ. split_and!; [done|done|done|done|].
        by apply returned.
      Qed.

      Lemma direct_step : Mlow p.1 = None -> pwp TL0 Gb t (PBase p) m l0 back_with.
      Proof using HU Hcpu Hout Hwf HG0 GT_legal outside_stays IL Hhome.
        intros Hf. pose proof (call_guarantee_legal nthread L0 L1 view X home first quiet GT GT_legal t l0 p m) as Hlegal.
        pose proof result_pwp as Hp. rewrite (surjective_pairing p) in Hp at 2.
        pose proof (il_direct _ _ _ _ _ _ _ _ _ IL G1 c p.1 Hlegal Hhome Hf p.2 m (base0 l0) result between_start Hp) as Hd.
        rewrite <- surjective_pairing in Hd.
        eapply pwp_mono; [|exact (tracked_step p _ m l0 Hcpu tracks_start Hd)]. cbn beta.
        intros v m' l (Hc & Htr & Hw & HG & (Ho & _ & _) & Hres). split_and!; [done|done|done|done|].
        apply (returned l v m' Htr). eexists. split; [apply later_refl|exact Hres].
      Qed.
    End call.
  End one.
End link.
