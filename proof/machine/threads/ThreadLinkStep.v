(** Linking below threads, step by step: where the thread above is at a primitive, the thread below is at it too, or enters a
    call. *)
From Ashlar Require Export machine.threads.ThreadLink.

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

    Lemma lower_at ph s : lower_thread (at1 ph s) = at0 ph (lower s).
    Proof using lower_put.
      unfold thread_at, ThreadLink.lower_thread. cbn [tphase tcode tmem]. rewrite (lower_mem B Mlow C exported M).
      by rewrite (lower_bare B Mlow C exported M S0 S1 lower_put).
    Qed.
    (** A running thread's code below is the code above. *)
    Lemma lower_code (x : ast TA1) : aput S0 (tcode T0 (lower_thread x)) (tmem T0 (lower_thread x)) = lower (aput S1 (tcode T1 x) (tmem T1 x)).
    Proof using lower_put. symmetry. apply lower_put. Qed.

    (** A primitive of the machine of threads itself: the same on both sides. *)
    Lemma special_step q m l Q (Q0 : ast TA1) : (forall p, q <> PBase p) -> standing Q0 l ->
      ((exists from to, q = PSwitch from to) -> tphase T1 Q0 <> Suspended) ->
      ((exists u w, q = PInit u w) -> tphase T1 Q0 <> Suspended) ->
      pwp TL1 GT t q m (thread_abs l) Q ->
      pwp TL0 Gb t q m l (fun v m' l' => wf (base0 l') /\ GT (thread_abs l') /\ Q v m' (thread_abs l') /\
        ((exists from to, q = PSwitch from to) \/ has_cpu L0 t l' /\ outside c (base0 l'))).
    Proof using IL GT_legal outside_stays.
      intros Hq (Hw & HG & Hst) Hs Hi HP l' Hr. pose proof (thread_rely ncpu nthread L0 L1 B Mlow reserved view wf outside X home first
        quiet IL GT GT_legal t l l' Hr) as Hr1.
      assert (Hown : tphase T1 Q0 <> Suspended -> has_cpu L0 t l' /\ outside c (base0 l')).
      { intros [Hc Ho]%Hst. destruct (own_rely nthread L0 L1 view wf outside X home first quiet GT t l l' Hc Hr) as (b & Eb & Hb & Hc' & _ & _).
        split; [exact Hc'|]. rewrite Eb. apply outside_stays; [done| |done|done]. rewrite <- Eb.
        destruct Hr as (e & -> & _ & (? & _) & _). done. }
      destruct Hr as (e & _ & _ & (Hw' & Ho' & HG') & _). specialize (HP _ Hr1).
      destruct (thread_abs_same nthread L0 L1 view X home first quiet l') as (E1 & E2 & E3 & E4).
      simpl in HP |- *. unfold thread_step_of in *. rewrite E2, E3 in HP.
      destruct (decide (current_thread L0 first c (cpu_view L0 home l') = t)) as [Hon|]; [|done].
      assert (Hother : forall c' o, transit L0 home c' (Event t o :: l') <> None -> c' <> c -> outside c' (base0 l')).
      { intros c' o Hc' Hne. apply Ho'. simpl in Hc'. by rewrite decide_False in Hc' by congruence. }
      destruct (transit L0 home c l') as [d|] eqn:Ed.
      - destruct q as [p|from to|u w|]; [done|done|done|]. rewrite E4 in HP. destruct HP as [HG2 HQ].
        assert (Hb : below_threads nthread L0 L1 view wf outside X home first quiet GT (Event t UResume :: l')).
        { split_and!; [exact Hw'| |exact HG2]. intros c' Hc'. apply (Hother c' UResume); [done|]. intros ->. simpl in Hc'.
          by rewrite decide_True in Hc'. }
        split; [exact Hb|]. split_and!; [exact Hw'|exact HG2|exact HQ|]. right. split.
        + split; [exact Hon|]. simpl. by rewrite decide_True.
        + apply (Ho' c). by rewrite Ed.
      - destruct q as [p|from to|u w|]; [by destruct (Hq p)| | |done].
        + destruct (Hown (Hs ltac:(eauto))) as [Hc Ho]. unfold quiet_below. rewrite E1 in HP. case_decide as Hd; [|done].
          destruct (bd_split X c to m) as [[d m']|]; [|done]. destruct HP as [HG2 HQ].
          split; [|split_and!; [exact Hw'|exact HG2|exact HQ|left; eauto]].
          split_and!; [exact Hw'| |exact HG2]. intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [exact Ho|].
          by apply (Hother c' (USwitch from to d)).
        + destruct (Hown (Hi ltac:(eauto))) as [Hc Ho]. rewrite E2 in HP. case_decide as Hd; [|done]. destruct HP as [HG2 HQ].
          split; [|split_and!; [exact Hw'|exact HG2|exact HQ|right; split; [|exact Ho]]].
          * split_and!; [exact Hw'| |exact HG2]. intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [exact Ho|].
            by apply (Hother c' (UInit u w)).
          * split; [exact Hon|]. simpl. by rewrite decide_True.
    Qed.

    (** A private step is the same, and changes nothing of what is known. *)
    Lemma transfer_act x : tphase T1 x = Running -> thread_next T0 t (lower_thread x) =
      match anext A0 c (lower (aput S1 (tcode T1 x) (tmem T1 x))) with
      | ADone => ADone
      | AStuck => AStuck
      | ATau s => ATau (at0 Running s)
      | APrim p =>
          match means p with
          | Ordinary => APrim (PBase p)
          | SwitchTo to => ATau (TState T0 (Leaving t to) (lower (tcode T1 x)) (tmem T1 x))
          | Begin u => APrim (PInit u (Z.of_nat u + 1))
          end
      end.
    Proof using lower_put. intros Hx. rewrite thread_running by done. unfold agent_act. by rewrite lower_code. Qed.
    Lemma transfer_tau x x' : anext TA1 t x = ATau x' -> anext TA0 t (lower_thread x) = ATau (lower_thread x').
    Proof using IL lower_put means_free.
      intros Hn. simpl in Hn. destruct (tphase T1 x) as [|from to|] eqn:Eph; [|by unfold thread_next in Hn; rewrite Eph in Hn..].
      rewrite thread_running in Hn by done. unfold agent_act in Hn. etransitivity; [exact (transfer_act x Eph)|].
      set (s1 := aput S1 (tcode T1 x) (tmem T1 x)) in *. destruct (anext A1 c s1) as [| |s'|p] eqn:En; try done.
      - injection Hn as <-. rewrite (Link.transfer_tau ncpu L0 L1 B Mlow reserved view wf outside IL C exported M c s1 s' En).
        by rewrite lower_at.
      - destruct (means p) as [|to|u] eqn:Em; try done. injection Hn as <-.
        assert (Hp : anext A0 c (lower s1) = APrim p); [|by rewrite Hp, Em].
        assert (Hf : Mlow p.1 = None) by (apply means_free; by rewrite Em). clear Eph.
        destruct s1 as [u m|u s]; simpl in En |- *.
        + destruct (cnext C c u) as [|u'|f args|v]; [done|done| |by injection En as <-]. by destruct (M f) as [fd|]; [destruct (exported f && _)|].
        + assert (Hs : next B M c s = EPrim p) by (destruct (next B M c s); congruence).
          destruct (next_prim B M c _ _ Hs) as (y & es & k & Hk & He & HM' & HB). destruct s as [k0 r m]. cbn [ck cl cm] in *.
          subst k0. simpl. unfold module_union. rewrite He, HM', Hf, HB. by destruct p.
    Qed.
    Lemma transfer_done x : anext TA1 t x = ADone -> anext TA0 t (lower_thread x) = ADone.
    Proof using lower_put.
      intros Hn. simpl in Hn. destruct (tphase T1 x) as [|from to|] eqn:Eph; [|by unfold thread_next in Hn; rewrite Eph in Hn..].
      rewrite thread_running in Hn by done. unfold agent_act in Hn. etransitivity; [exact (transfer_act x Eph)|].
      set (s1 := aput S1 (tcode T1 x) (tmem T1 x)) in *. destruct (anext A1 c s1) as [| |s'|p] eqn:En; try done; [|by destruct (means p)].
      destruct s1 as [u m|u s]; simpl in *.
      - destruct (cnext C c u) as [|u'|f args|v]; try done. by destruct (M f); [destruct (exported f && _)|].
      - by destruct (next B M c s).
    Qed.
    Lemma standing_tau x x' l : anext TA1 t x = ATau x' -> standing x l -> standing x' l.
    Proof using.
      intros Hn (Hw & HG & Hst). split_and!; [done|done|]. intros _. apply Hst. simpl in Hn. intros E. unfold thread_next in Hn.
      by rewrite E in Hn.
    Qed.

    (** What the thread below does where the thread above is at a primitive: the same primitive, or a call. *)
    Definition one_step (Q0 : ast TA0 -> log TL0 -> Prop) (x0 : ast TA0) (l : log TL0) : Prop :=
      (exists q, anext TA0 t x0 = APrim q /\
        pwp TL0 Gb t q (amem TA0 x0) l (fun v m l' => run TL0 TA0 Gb t Q0 (aresume TA0 x0 v m) l')) \/
      (exists x', anext TA0 t x0 = ATau x' /\ run TL0 TA0 Gb t Q0 x' l).
    Lemma one_step_run Q0 x0 l : one_step Q0 x0 l -> run TL0 TA0 Gb t Q0 x0 l.
    Proof using. intros [(q & Hn & Hp)|(x' & Hn & Hr)]; [by eapply run_prim|by eapply run_tau]. Qed.

    Lemma transfer_prim Q0 (Q1 : ast TA1 -> log TL1 -> Prop) x q l : standing x l -> anext TA1 t x = APrim q ->
      pwp TL1 GT t q (amem TA1 x) (thread_abs l) (fun v m lt => Q1 (aresume TA1 x v m) lt) ->
      (forall x' lt l', standing x' l' -> later_thread lt (thread_abs l') -> Q1 x' lt -> run TL0 TA0 Gb t Q0 (lower_thread x') l') ->
      one_step Q0 (lower_thread x) l.
    Proof using IL HM GT_legal Hhome out_free outside_stays means_free means_wrong lower_put.
      intros Hst Hn Hp HQ. pose proof Hst as (Hw & HG & Hrun).
      destruct (tphase T1 x) as [|from to|] eqn:Eph.
      - destruct (Hrun ltac:(done)) as [Hc Ho]. set (s1 := aput S1 (tcode T1 x) (tmem T1 x)).
        assert (Hn1 : agent_act S1 home means begin t x = APrim q) by (rewrite <- thread_running; done).
        assert (Hact : thread_next T0 t (lower_thread x) = agent_act S0 home means (fun t => lower (begin t)) t (lower_thread x))
          by (by apply thread_running).
        unfold agent_act in Hact. rewrite lower_code in Hact. fold s1 in Hact. unfold agent_act in Hn1. fold s1 in Hn1.
        assert (Hback : forall v m, aresume TA1 x v m = at1 Running (aresume A1 s1 v m)) by (intros v m; by apply thread_returned).
        assert (Hback0 : forall v m, aresume TA0 (lower_thread x) v m = at0 Running (aresume A0 (lower s1) v m)).
        { intros v m. simpl. rewrite thread_returned by done. by rewrite lower_code. }
        assert (Hmem : amem TA1 x = amem A1 s1) by (unfold s1; by rewrite amem_aput).
        assert (Hmem0 : amem TA0 (lower_thread x) = amem A1 s1) by (by rewrite <- Hmem).
        (* what follows once the primitive or the call has returned *)
        assert (Hgo : forall v m' l', back_with nthread L0 L1 view wf outside X home first quiet GT t
            (fun v m lt => Q1 (aresume TA1 x v m) lt) v m' l' -> run TL0 TA0 Gb t Q0 (at0 Running (aresume A0 (lower s1) v m')) l').
        { intros v m' l' (Hc' & Ho' & Hw' & HG' & lt & Hl & Hq). rewrite Hback in Hq.
          rewrite <- (lower_resume B Mlow C exported M), <- lower_at. eapply HQ; [|exact Hl|exact Hq]. by split_and!. }
        destruct (anext A1 c s1) as [| |s'|p] eqn:En; try done.
        assert (Hlow : (Mlow p.1 = None -> anext A0 c (lower s1) = APrim p) /\ (forall fd, Mlow p.1 = Some fd ->
          exists u s x es k, s1 = @Busy _ _ C E1 u s /\ ck s = KStmt (Call x p.1 es) :: k /\
            (length p.2 = fn_params fd -> anext A0 c (lower s1) = ATau (@Busy _ _ C E0 u (enter fd p.2 (KRet x (cl s) :: k) (cm s)))))).
        { destruct s1 as [u m|u s]; simpl in En.
          - destruct (cnext C c u) as [|u'|f args|v] eqn:Eu; try done.
            { by destruct (M f) as [fd|]; [destruct (exported f && _)|]. }
            injection En as <-. split; [intros _; simpl; by rewrite Eu|]. intros fd Hf. change (Mlow OUT = Some fd) in Hf. by rewrite out_free in Hf.
          - assert (Hs : next B M c s = EPrim p) by (destruct (next B M c s); congruence).
            destruct (next_prim B M c _ _ Hs) as (y & es & k & Hk & He & Hf & HB). split.
            + intros El. destruct s as [k0 r m]. cbn [ck cl cm] in *. subst k0. simpl. unfold module_union. rewrite He, Hf, El, HB.
              by destruct p.
            + intros fd El. exists u, s, y, es, k. split_and!; [done|done|]. intros Hlen. destruct s as [k0 r m]. cbn [ck cl cm] in *.
              subst k0. simpl. unfold module_union. by rewrite He, Hf, El, Hlen, Nat.eqb_refl. }
        destruct Hlow as [Hdirect Hcall]. destruct (means p) as [|to|u] eqn:Em; [|done|].
        + injection Hn1 as <-. rewrite Hmem in Hp. destruct (Mlow p.1) as [fd|] eqn:El.
          * destruct (Hcall fd eq_refl) as (u & s & y & es & k & Es & Hk & Hnext). right.
            rewrite Es in Hp. simpl in Hp.
            destruct (module_call ncpu nthread L0 L1 B Mlow reserved view wf outside X home first quiet IL outside_stays C exported M HM S0
              means means_wrong begin GT GT_legal t Hhome l p (cm s) (fun v m lt => Q1 (aresume TA1 x v m) lt) Hc Ho Hw HG Hp Q0 fd u y (cl s) k El)
              as [Hlen Hr].
            { intros v m' l' Hb. apply Hgo in Hb. rewrite Es in Hb. simpl in Hb. unfold resume in Hb. rewrite Hk in Hb. exact Hb. }
            eexists. split; [|exact Hr]. etransitivity; [exact Hact|]. by rewrite (Hnext Hlen).
          * left. exists (PBase p). split.
            { change (thread_next T0 t (lower_thread x) = APrim (PBase p)). rewrite Hact, (Hdirect eq_refl), Em. done. }
            rewrite Hmem0. eapply pwp_mono; [|exact (direct_step ncpu nthread L0 L1 B Mlow reserved view wf outside X home first quiet IL
              outside_stays GT GT_legal t Hhome l p (amem A1 s1) _ Hc Ho Hw HG Hp El)].
            cbn beta. intros v m' l' Hb. rewrite Hback0. by apply Hgo.
        + injection Hn1 as <-. left. eexists. split.
          { etransitivity; [exact Hact|]. rewrite Hdirect by (apply means_free; by rewrite Em). rewrite Em. reflexivity. }
          rewrite Hmem0, <- Hmem. eapply pwp_mono; [|eapply (special_step _ _ _ _ x); [done|exact Hst| | |exact Hp]].
          * cbn beta. intros v m' l' (Hw' & HG' & Hq & [(? & ? & ?)|[Hc' Ho']]); [done|].
            rewrite Hback0. apply Hgo. split_and!; [done|done|done|done|]. eexists. split; [apply later_thread_refl|exact Hq].
          * intros _. by rewrite Eph.
          * intros _. by rewrite Eph.
      - assert (Eq : q = PSwitch from to) by (simpl in Hn; unfold thread_next in Hn; rewrite Eph in Hn; congruence). subst q. left.
        exists (PSwitch from to). split; [simpl; unfold thread_next; simpl; by rewrite Eph|].
        eapply pwp_mono; [|eapply (special_step _ _ _ _ x); [done|exact Hst| | |exact Hp]]; [|intros _; by rewrite Eph..].
        cbn beta. intros v m' l' (Hw' & HG' & Hq & _).
        change (run TL0 TA0 Gb t Q0 (thread_resume T0 (lower_thread x) v m') l').
        rewrite <- (lower_thread_resume B Mlow home C exported M S0 S1 lower_put means begin).
        eapply HQ; [|apply later_thread_refl|exact Hq]. split_and!; [done|done|]. unfold thread_resume. by rewrite Eph.
      - assert (Eq : q = PResume) by (simpl in Hn; unfold thread_next in Hn; rewrite Eph in Hn; congruence). subst q. left.
        exists PResume. split; [simpl; unfold thread_next; simpl; by rewrite Eph|].
        eapply pwp_mono; [|eapply (special_step _ _ _ _ x); [done|exact Hst| | |exact Hp]]; [|by intros (? & ? & ?)..].
        cbn beta. intros v m' l' (Hw' & HG' & Hq & [(? & ? & ?)|[Hc' Ho']]); [done|].
        change (run TL0 TA0 Gb t Q0 (thread_resume T0 (lower_thread x) v m') l').
        rewrite <- (lower_thread_resume B Mlow home C exported M S0 S1 lower_put means begin).
        eapply HQ; [|apply later_thread_refl|exact Hq]. by split_and!.
    Qed.
  End one.
End link.
