(** Linking below threads: one call of the module, or one primitive that both layers have.

    The obligations of [calculus/linking/Link.v] speak of a CPU and of logs of the layer below. They hold of the thread that has
    the CPU, whatever the other threads do meanwhile: their events are events of other CPUs. What the threads' log has besides
    is tracked on the way ([tracks]): up to the event of the call it is as at the call, but for events of others; then that event
    has happened, by the primitive that was called. *)
From Ashlar Require Export machine.threads.LinkLogs.

Section calls.
  Context {D : Type} (ncpu nthread : nat) (L0 L1 : layer cprim mem) (B : builtins) (Mlow : module) (reserved : string -> bool).
  Context (view : lop L0 -> list (lop L1)) (wf : log L0 -> Prop) (outside : nat -> log L0 -> Prop).
  Context (X : baton_data D mem) (home first : nat -> nat) (quiet : nat -> log L1 -> bool).
  Notation abs := (abs L0 L1 view).
  Notation TL0 := (thread_layer L0 X nthread home first (quiet_below L0 L1 view quiet)).
  Notation TL1 := (thread_layer L1 X nthread home first quiet).
  Notation base0 l := (base L0 (cpu_view L0 home l)).
  Notation base1 l := (base L1 (cpu_view L1 home l)).
  Notation thread_abs := (thread_abs nthread L0 L1 view X home first quiet).
  Notation has_cpu := (has_cpu (D:=D) home first).

  (** What every log below satisfies: the protocol of the module, that no CPU is handed over in the middle of a call, and what
      the machine of threads above guarantees. *)
  Definition below_threads (GT : log TL1 -> Prop) (l : log TL0) : Prop :=
    wf (base0 l) /\ (forall c, transit L0 home c l <> None -> outside c (base0 l)) /\ GT (thread_abs l).

  Context (IL : implements_layer ncpu L0 L1 B Mlow reserved view wf outside).
  (** A CPU that is in no function of the module stays so while others move. *)
  Context (outside_stays : forall c e l, wf l -> wf (e ++ l) -> Forall (fun x => who x <> c) e -> outside c l -> outside c (e ++ l)).
  Context (GT : log TL1 -> Prop) (GT_legal : forall l, GT l -> legal TL1 l).
  Notation Gb := (below_threads GT).

  Lemma thread_rely t l l' : rely TL0 Gb t l l' -> rely TL1 GT t (thread_abs l) (thread_abs l').
  Proof using IL GT_legal.
    intros (e & -> & He & (Hw & Ho & HG) & Hs & _). exists (thread_abs e). rewrite <- thread_abs_app.
    split_and!; [done|by apply thread_abs_others|done| |by apply GT_legal].
    simpl in *. intros Htr. rewrite thread_abs_base. apply (il_sched _ _ _ _ _ _ _ _ _ IL); [done|]. apply Hs.
    destruct (thread_abs_same nthread L0 L1 view X home first quiet (e ++ l)) as (_ & _ & E & _). by rewrite <- E.
  Qed.

  Section one.
    Context (t : nat) (Hhome : (home t < ncpu)%nat).
    Notation c := (home t).
    (** The call: at log [l0], of primitive [p] with memory [m]; above it leads to [Q]. *)
    Context (l0 : log TL0) (p : cprim) (m : mem) (Q : Z -> mem -> log TL1 -> Prop).
    Notation lts := (thread_abs l0).
    Context (Hcpu : has_cpu L0 t l0) (HG0 : GT lts).
    Context (HU : pwp TL1 GT t (PBase p) m lts Q).

    Definition called (lt : log TL1) : Prop := exists e, lt = e ++ lts /\ others TL1 t e /\ GT lt.
    Definition happened (o : lop L1) (v : Z) (m' : mem) (lt : log TL1) : Prop :=
      rely TL1 GT t lts lt /\ lstep L1 c p m (base1 lt) = Ok v m' o.
    Definition done_since (lt : log TL1) : Prop := exists e o v m' lt', lt = e ++ Event t (UBase o) :: lt' /\
      others TL1 t e /\ happened o v m' lt' /\ GT lt.
    Definition tracks (lt : log TL1) : Prop := called lt \/ done_since lt.
    (** The guarantee for the proof of the call. *)
    Definition call_guarantee (l1 : log L1) : Prop := exists lt, base1 lt = l1 /\ tracks lt.

    Lemma Hcpu1 : has_cpu L1 t lts.
    Proof using Hcpu. by apply thread_abs_has_cpu. Qed.

    Lemma called_base e : others TL1 t e -> GT (e ++ lts) -> others L1 c (base1 e) /\ has_cpu L1 t (e ++ lts).
    Proof using Hcpu GT_legal. intros He HG. by apply (others_base nthread X home first L1 quiet e lts t (GT_legal _ HG) Hcpu1). Qed.

    Lemma step_with_cpu lt l1 : has_cpu L1 t lt -> base1 lt = l1 -> lstep TL1 t (PBase p) m lt =
      match lstep L1 c p m l1 with Blocked => Blocked | Wrong => Wrong | Ok v m' o => Ok v m' (UBase o) end.
    Proof using. intros [Hon Htr] <-. simpl. unfold thread_step_of. rewrite decide_True by exact Hon. by rewrite Htr. Qed.

    (** Above, the call's event when it happens. *)
    Lemma happened_upper o v m' lt : happened o v m' lt -> GT (Event t (UBase o) :: lt) /\ Q v m' (Event t (UBase o) :: lt).
    Proof using HU Hcpu GT_legal.
      intros [Hr Hs]. pose proof Hr as (e & -> & He & HG & _ & _). destruct (called_base e He HG) as [_ Hc].
      specialize (HU _ Hr). rewrite (step_with_cpu _ _ Hc eq_refl), Hs in HU. exact HU.
    Qed.

    Lemma happened_cpu o v m' lt : happened o v m' lt ->
      exists e, lt = e ++ lts /\ others TL1 t e /\ others L1 c (base1 e) /\ has_cpu L1 t lt /\ GT lt.
    Proof using Hcpu GT_legal.
      intros [(e & -> & He & HG & _ & _) _]. destruct (called_base e He HG) as [H1 H2]. by exists e.
    Qed.
    Lemma happened_has_cpu o v m' lt : happened o v m' lt -> has_cpu L1 t (Event t (UBase o) :: lt).
    Proof using Hcpu GT_legal.
      intros (e & _ & _ & _ & [Hon Htr] & _)%happened_cpu. split; [exact Hon|]. simpl. by rewrite decide_True.
    Qed.

    (** The events of the CPU since the call. *)
    Lemma called_shape lt : called lt -> exists b, base1 lt = b ++ base1 lts /\ others L1 c b.
    Proof using Hcpu GT_legal.
      intros (e & -> & He & HG). destruct (called_base e He HG) as [H1 _]. exists (base1 e).
      split; [exact (base_app home L1 e _)|exact H1].
    Qed.
    Lemma done_shape lt : done_since lt -> exists e o v m' lt' b b', lt = e ++ Event t (UBase o) :: lt' /\ others TL1 t e /\
      happened o v m' lt' /\ base1 lt = b ++ Event c o :: b' ++ base1 lts /\ others L1 c b /\ others L1 c b' /\
      base1 lt' = b' ++ base1 lts.
    Proof using HU Hcpu GT_legal.
      intros (e & o & v & m' & lt' & -> & He & Hh & HG). destruct (happened_cpu _ _ _ _ Hh) as (e' & -> & He' & Hb' & Hc & _).
      exists e, o, v, m', (e' ++ lts), (base1 e), (base1 e').
      destruct (others_base nthread X home first L1 quiet e _ t (GT_legal _ HG) (happened_has_cpu _ _ _ _ Hh) He) as [Hb _].
      split_and!; try done; [|exact (base_app home L1 e' _)].
      refine (eq_trans (base_app home L1 e _) _). f_equal. simpl. f_equal. exact (base_app home L1 e' _).
    Qed.
    Lemma own_event_unique (b b1 : log L1) (o o1 : lop L1) (r r1 : log L1) : others L1 c b -> others L1 c b1 ->
      b ++ Event c o :: r = b1 ++ Event c o1 :: r1 -> b = b1 /\ o = o1 /\ r = r1.
    Proof using.
      intros Hb. revert b1. induction Hb as [|x b Hx Hb IH]; intros b1 Hb1 E; destruct b1 as [|y b1]; simpl in E.
      - by injection E as -> ->.
      - injection E as <- _. by apply Forall_cons in Hb1 as [Hn _].
      - injection E as -> _. done.
      - injection E as <- E. apply Forall_cons in Hb1 as [_ Hb1]. by destruct (IH b1 Hb1 E) as (-> & -> & ->).
    Qed.
    Lemma no_own_event (b b1 : log L1) (o : lop L1) (r : log L1) : others L1 c b -> b = b1 ++ Event c o :: r -> False.
    Proof using. intros Hb ->. apply Forall_app in Hb as [_ Hb]. by apply Forall_cons in Hb as [Hn _]. Qed.

    Lemma call_guarantee_legal l1 : call_guarantee l1 -> legal L1 l1.
    Proof using GT_legal.
      intros (lt & <- & [(e & -> & _ & HG)|(e & o & v & m' & lt' & -> & _ & _ & HG)]);
        apply (legal_base L1 X nthread home first quiet), GT_legal, HG.
    Qed.

    (** The call as the obligations of the module see it. *)
    Definition call_result (v : Z) (m' : mem) (l1 : log L1) : Prop :=
      exists o b, l1 = Event c o :: b ++ base1 lts /\ others L1 c b /\ lstep L1 c p m (b ++ base1 lts) = Ok v m' o.
    Lemma call_pwp : pwp L1 call_guarantee c p m (base1 lts) call_result.
    Proof using HU Hcpu GT_legal.
      intros l' (b & -> & Hb & (lt & Hlt & Htr) & Hs & Hleg). destruct Htr as [Hca|Hdo].
      - pose proof Hca as (e & -> & He & HG).
        assert (Hr : rely TL1 GT t lts (e ++ lts)).
        { exists e. split_and!; [done|done|done| |by apply GT_legal]. simpl. intros _.
          exact (eq_ind_r (lsched L1 c) Hs Hlt). }
        destruct (called_base e He HG) as [_ Hc]. specialize (HU _ Hr). rewrite (step_with_cpu _ _ Hc Hlt) in HU.
        destruct (lstep L1 c p m (b ++ base1 lts)) as [| |v m' o] eqn:E; try done. destruct HU as [HG' _]. split; [|by exists o, b].
        exists (Event t (UBase o) :: e ++ lts). split; [simpl; f_equal; exact Hlt|]. right.
        exists [], o, v, m', (e ++ lts). split_and!; [done|constructor| |done].
        split; [exact Hr|]. exact (eq_trans (f_equal (lstep L1 c p m) Hlt) E).
      - destruct (done_shape _ Hdo) as (e & o & v & m' & lt' & b1 & b' & _ & _ & _ & E & _).
        assert (E3 : b = b1 ++ Event c o :: b').
        { apply (app_inv_tail (base1 lts)). refine (eq_trans (eq_sym Hlt) (eq_trans E _)). by rewrite <- app_assoc. }
        by apply (no_own_event b b1 o b' Hb) in E3.
    Qed.

    (** One own event below, while the call is tracked. *)
    Lemma own_step l' o : has_cpu L0 t l' -> Gb l' -> tracks (thread_abs l') ->
      (called (thread_abs l') -> rely TL1 GT t lts (thread_abs l')) ->
      below_guarantee L0 L1 view wf call_guarantee (Event c o :: base0 l') ->
      Gb (Event t (UBase o) :: l') /\ tracks (thread_abs (Event t (UBase o) :: l')).
    Proof using HU Hcpu GT_legal outside_stays.
      intros Hc (Hw & Ho & HG) Htr Hrely [Hw' (lt2 & E2 & Htr2)].
      assert (H : GT (thread_abs (Event t (UBase o) :: l')) /\ tracks (thread_abs (Event t (UBase o) :: l'))).
      { simpl in E2. rewrite <- (thread_abs_base nthread L0 L1 view X home first quiet l') in E2. simpl.
        destruct (view o) as [|o1 os] eqn:Ev; [done|]. simpl in *.
        assert (Hone : done_since lt2).
        { destruct Htr2 as [Hca|]; [|done]. destruct (called_shape _ Hca) as (b & Eb & Hb). rewrite Eb in E2. exfalso.
          destruct Htr as [Hca'|Hdo'].
          - destruct (called_shape _ Hca') as (b' & Eb' & _). rewrite Eb' in E2.
            assert (E3 : b = [] ++ Event c o1 :: (Event c <$> os) ++ b').
            { apply (app_inv_tail (base1 lts)). refine (eq_trans E2 _). simpl. by rewrite <- app_assoc. }
            by apply no_own_event in E3.
          - destruct (done_shape _ Hdo') as (? & o' & ? & ? & ? & b1 & b' & _ & _ & _ & Eb' & _). rewrite Eb' in E2.
            assert (E3 : b = [] ++ Event c o1 :: (Event c <$> os) ++ b1 ++ Event c o' :: b').
            { apply (app_inv_tail (base1 lts)). refine (eq_trans E2 _). simpl. by rewrite <- !app_assoc. }
            by apply no_own_event in E3. }
        destruct (done_shape _ Hone) as (e & o2 & v & m' & lt' & b & b' & _ & _ & Hh & Eb & Hb & Hb' & Elt'). rewrite Eb in E2.
        apply (own_event_unique b [] o2 o1 _ _ Hb ltac:(constructor)) in E2 as (-> & -> & E2).
        destruct Htr as [Hca|Hdo].
        - destruct (called_shape _ Hca) as (b1 & Eb1 & Hb1). rewrite Eb1 in E2.
          assert (E3 : b' = (Event c <$> os) ++ b1).
          { apply (app_inv_tail (base1 lts)). refine (eq_trans E2 _). by rewrite <- app_assoc. }
          destruct os as [|o3 os]; [|exfalso; by apply (no_own_event b' [] o3 _ Hb') in E3]. simpl in E3. subst b1.
          assert (Hh' : happened o1 v m' (thread_abs l')).
          { split; [by apply Hrely|]. destruct Hh as [_ Hs]. rewrite <- Hs. f_equal. exact (eq_trans Eb1 (eq_sym Elt')). }
          destruct (happened_upper _ _ _ _ Hh') as [HG' _]. split; [exact HG'|]. right.
          exists [], o1, v, m', (thread_abs l'). split_and!; [done|constructor|done|exact HG'].
        - exfalso. destruct (done_shape _ Hdo) as (? & o' & ? & ? & ? & b1 & b2 & _ & _ & _ & Eb1 & _). rewrite Eb1 in E2.
          assert (E3 : b' = ((Event c <$> os) ++ b1) ++ Event c o' :: b2).
          { apply (app_inv_tail (base1 lts)). refine (eq_trans E2 _). by rewrite <- !app_assoc. }
          by apply (no_own_event b' _ o' b2 Hb') in E3. }
      destruct H as [HG' Htr']. split; [|done]. split_and!; [exact Hw'| |exact HG'].
      intros c' Hc'. simpl in Hc'. destruct (decide (home t = c')) as [<-|Hne]; [by destruct Hc as [_ ?]|].
      apply (outside_stays c' [Event c o] (base0 l')); [done|exact Hw'|by repeat constructor|by apply Ho].
    Qed.
  End one.
End calls.
