(** One memory for each CPU, step by step: a step with one memory is a step with parts. *)
From Ashlar Require Export machine.threads.OneMemory.

Section steps.
  Context {PRIM D K V : Type} `{Countable K}.
  Notation MEM := (gmap K V).
  Context (L : layer PRIM MEM) (T : thread_code PRIM MEM) (X : baton_data D MEM) (cells : D -> MEM) (parked : K -> Prop).
  Context (ncpu nthread : nat) (home : nat -> nat) (first : nat -> nat) (quiet : nat -> log L -> bool).
  Context (P : nat -> tstate T).
  Context (FR : framed L T X cells parked).
  Notation of_cpu := (of_cpu nthread home).
  Notation apart := (apart T cells parked nthread home).
  Notation same_cpu := (same_cpu T cells nthread home).
  Notation owns := (owns T cells nthread home).
  Notation flat := (flat T).
  Notation fcur := (fcur T). Notation ftransit := (ftransit T). Notation fcode := (fcode T). Notation fmem := (fmem T).
  Notation flat_set := (flat_set T).
  Notation flat_next := (flat_next T).
  Notation flat_resume := (flat_resume T).
  Notation flat_agent := (flat_agent T).
  Notation all_parked := (all_parked parked).
  Lemma same_rest c x y : same_cpu c x y -> apart c y -> of_cpu c (ccur T y) -> ctransit T y = None ->
    exists r, fmem x = tmem T (cthread T y (ccur T y)) ∪ r /\ tmem T (cthread T y (ccur T y)) ##ₘ r /\ all_parked r /\
      forall k v, r !! k = Some v <-> exists t, t <> ccur T y /\ of_cpu c t /\ tmem T (cthread T y t) !! k = Some v.
  Proof using.
    intros HS HA Hc Htr. set (m := tmem T (cthread T y (ccur T y))).
    assert (Hsub : m ⊆ fmem x).
    { apply map_subseteq_spec. intros k v Hk. apply (same_mem _ _ _ _ _ _ _ HS). left. eauto. }
    assert (Hr : forall k v, (fmem x ∖ m) !! k = Some v <->
      exists t, t <> ccur T y /\ of_cpu c t /\ tmem T (cthread T y t) !! k = Some v).
    { intros k v. rewrite lookup_difference_Some. split.
      + intros [Hk Hno]. apply (same_mem _ _ _ _ _ _ _ HS) in Hk as [(t & Ht & Hk)|(w & d & Hd & _)]; [|congruence].
        exists t. split; [|done]. intros ->. fold m in Hk. congruence.
      + intros (t & Hne & Ht & Hk). split; [apply (same_mem _ _ _ _ _ _ _ HS); left; eauto|].
        eapply map_disjoint_Some_l; [|exact Hk]. by apply (apart_threads _ _ _ _ _ _ _ HA). }
    exists (fmem x ∖ m). split_and!; [|by apply map_disjoint_difference_r| |exact Hr].
    - symmetry. by apply map_difference_union.
    - intros k v (t & Hne & Ht & Hk)%Hr. by eapply (apart_parked _ _ _ _ _ _ _ HA t Ht Hne).
  Qed.

  (** The current thread's part has changed. *)
  Lemma same_set c x y r y' : same_cpu c x y -> of_cpu c (ccur T y) ->
    (forall k v, r !! k = Some v <-> exists t, t <> ccur T y /\ of_cpu c t /\ tmem T (cthread T y t) !! k = Some v) ->
    tmem T y' ##ₘ r ->
    same_cpu c (flat_set x (tphase T y', tcode T y') (tmem T y' ∪ r)) (CpuState T (ccur T y) None (<[ccur T y := y']> (cthread T y))).
  Proof using.
    intros HS Hc Hr Hd. split; simpl.
    - apply HS.
    - done.
    - intros t. rewrite (same_cur _ _ _ _ _ _ _ HS). destruct (decide (t = ccur T y)) as [->|Hne]; [by rewrite !fn_lookup_insert|].
      rewrite !fn_lookup_insert_ne by done. apply HS.
    - intros k v. rewrite lookup_union_Some by done. rewrite Hr. unfold owns. simpl. split.
      + intros [Hk|(t & Hne & Ht & Hk)]; left; [exists (ccur T y); by rewrite fn_lookup_insert|].
        exists t. by rewrite fn_lookup_insert_ne.
      + intros [(t & Ht & Hk)|(w & d & Hw & _)]; [|done].
        destruct (decide (t = ccur T y)) as [->|Hne]; [left; by rewrite fn_lookup_insert in Hk|].
        rewrite fn_lookup_insert_ne in Hk by done. right. eauto.
  Qed.

  Lemma rest_apart c (y : cpu_state (D:=D) T) y' r : of_cpu c (ccur T y) -> apart c (CpuState T (ccur T y) None (<[ccur T y := y']> (cthread T y))) ->
    (forall k v, r !! k = Some v <-> exists t, t <> ccur T y /\ of_cpu c t /\ tmem T (cthread T y t) !! k = Some v) ->
    tmem T y' ##ₘ r.
  Proof using.
    intros Hc HA Hr. apply map_disjoint_spec. intros k v v' Hk Hk'. apply Hr in Hk' as (t & Hne & Ht & Hk').
    pose proof (apart_threads _ _ _ _ _ _ _ HA (ccur T y) t Hc Ht) as Hd. simpl in Hd.
    rewrite fn_lookup_insert, fn_lookup_insert_ne in Hd by done. specialize (Hd ltac:(congruence)).
    by eapply map_disjoint_spec.
  Qed.

  Notation L0 := (cpu_layer L nthread home first).
  Notation A0 := (cpu_agent T X home).
  Notation AF := flat_agent.

  (** The layer's own primitives are framed, too. *)
  Lemma framed_step c p m r l : m ##ₘ r -> all_parked r ->
    match lstep L0 c p m l with
    | Blocked => lstep L0 c p (m ∪ r) l = Blocked
    | Wrong => True
    | Ok v m' o => m' ##ₘ r -> lstep L0 c p (m ∪ r) l = Ok v (m' ∪ r) o
    end.
  Proof using FR.
    intros Hd Hpk. destruct p as [p|from to|t v|]; simpl; [|by case_decide..|done].
    pose proof (framed_prim _ _ _ _ _ FR c p m r (base L l) Hd Hpk) as Hp. destruct (lstep L c p m (base L l)) as [| |v m' o]; [by rewrite Hp|done|].
    intros Hm. by rewrite Hp.
  Qed.

  (** One step of an agent at log [l]. *)
  Definition goes (A : agent (tprim PRIM) MEM) (c : nat) (s : ast A) (l : log L0) (s' : ast A) (l' : log L0) : Prop :=
    anext A c s = ATau s' /\ l' = l \/
    exists p v m o, anext A c s = APrim p /\ lsched L0 c l /\ lstep L0 c p (amem A s) l = Ok v m o /\
      s' = aresume A s v m /\ l' = Event c o :: l.

  (** A step with one memory is a step with parts, if the machine with parts goes only to states that are apart. *)
  Theorem flat_goes c (l : log L0) (x : flat) (y : cpu_state (D:=D) T) (x' : flat) l' :
    same_cpu c x y -> apart c y -> of_cpu c (ccur T y) ->
    ~ goes_wrong L0 A0 c y l ->
    (forall from to, lsched L0 c l -> ctransit T y = None -> tphase T (cthread T y (ccur T y)) = Leaving from to ->
      home to = c /\ exists d m', bd_split X c to (tmem T (cthread T y (ccur T y))) = Some (d, m')) ->
    (forall (y' : cpu_state (D:=D) T) l', goes A0 c y l y' l' -> apart c y') ->
    goes AF c x l x' l' ->
    exists y' : cpu_state (D:=D) T, goes A0 c y l y' l' /\ same_cpu c x' y'.
  Proof using FR.
    intros HS HA Hc Hnw Hleave Hnext Hst.
    pose proof (same_code _ _ _ _ _ _ _ HS (fcur x)) as Ecode.
    destruct (ctransit T y) as [[v d]|] eqn:Htr.
    - (* coming back *)
      assert (Hx : flat_next c x = ATau (flat_set x (Running, back T (tcode T (cthread T y (ccur T y))) v) (fmem x))).
      { unfold flat_next. by rewrite Ecode, (same_transit _ _ _ _ _ _ _ HS), Htr, (same_cur _ _ _ _ _ _ _ HS). }
      destruct Hst as [[Hn ->]|(p & w & m & o & Hn & _)]; simpl in Hn; rewrite Hx in Hn; [|done]. injection Hn as <-.
      eexists. split; [left; split; [|done]; simpl; unfold cpu_next; by rewrite Htr|].
      split; simpl.
      + apply HS.
      + done.
      + intros t. rewrite (same_cur _ _ _ _ _ _ _ HS). destruct (decide (t = ccur T y)) as [->|Hne]; [by rewrite !fn_lookup_insert|].
        rewrite !fn_lookup_insert_ne by done. apply HS.
      + intros k u. rewrite (same_mem _ _ _ _ _ _ _ HS). unfold owns. simpl. rewrite Htr. split.
        * intros [(t & Ht & Hk)|(w & d' & [= <- <-] & Hk)]; left.
          -- exists t. split; [done|]. destruct (decide (t = ccur T y)) as [->|Hne]; [|by rewrite fn_lookup_insert_ne].
             rewrite fn_lookup_insert. simpl. rewrite (framed_join _ _ _ _ _ FR). apply lookup_union_Some_r; [|done].
             by apply (apart_transit _ _ _ _ _ _ _ HA v).
          -- exists (ccur T y). split; [done|]. rewrite fn_lookup_insert. simpl. rewrite (framed_join _ _ _ _ _ FR).
             by apply lookup_union_Some_l.
        * intros [(t & Ht & Hk)|(w & d' & Hw & _)]; [|done].
          destruct (decide (t = ccur T y)) as [->|Hne]; [|rewrite fn_lookup_insert_ne in Hk by done; eauto].
          rewrite fn_lookup_insert in Hk. simpl in Hk. rewrite (framed_join _ _ _ _ _ FR) in Hk.
          apply lookup_union_Some in Hk as [Hk|Hk]; [eauto|eauto|by apply (apart_transit _ _ _ _ _ _ _ HA v)].
    - destruct (same_rest c x y HS HA Hc Htr) as (r & Hm & Hd & Hpk & Hr).
      set (z := cthread T y (ccur T y)) in *.
      assert (Ey : cpu_next T X c y = match thread_next T (ccur T y) z with
        | ADone => ADone | AStuck => AStuck
        | ATau y' => ATau (CpuState T (ccur T y) None (<[ccur T y := y']> (cthread T y))) | APrim p => APrim p end)
        by (unfold cpu_next; by rewrite Htr).
      assert (Ex : flat_next c x =
        match tphase T z with
        | Running =>
            match tnext T (ccur T y) (tcode T z) (tmem T z ∪ r) with
            | TDone => ADone
            | TStuck => AStuck
            | TTau s' m => ATau (flat_set x (Running, s') m)
            | TPrim p => APrim (PBase p)
            | TSwitch from to => ATau (flat_set x (Leaving from to, tcode T z) (tmem T z ∪ r))
            | TInit t v => APrim (PInit t v)
            end
        | Leaving from to => APrim (PSwitch from to)
        | Suspended => APrim PResume
        end).
      { unfold flat_next. rewrite Ecode, (same_transit _ _ _ _ _ _ _ HS), Htr. simpl. rewrite Hm, (same_cur _ _ _ _ _ _ _ HS). done. }
      (* a private step *)
      assert (TAU : forall z', thread_next T (ccur T y) z = ATau z' -> (forall k, tmem T z' !! k = None <-> tmem T z !! k = None) ->
        flat_next c x = ATau (flat_set x (tphase T z', tcode T z') (tmem T z' ∪ r)) ->
        exists y' : cpu_state (D:=D) T, goes A0 c y l y' l' /\ same_cpu c x' y').
      { intros z' Hz Hdom Hx. destruct Hst as [[Hn ->]|(p & w & m & o & Hn & _)]; simpl in Hn; rewrite Hx in Hn; [|done].
        injection Hn as <-. eexists. split; [left; split; [|done]; simpl; by rewrite Ey, Hz|].
        eapply same_set; [done|done|exact Hr|].
        apply map_disjoint_spec. intros k u w Hu Hw. destruct (tmem T z !! k) as [u'|] eqn:Ek.
        - by eapply (proj1 (map_disjoint_spec _ _) Hd).
        - apply Hdom in Ek. congruence. }
      (* a primitive *)
      assert (PRIMS : forall p, thread_next T (ccur T y) z = APrim p -> flat_next c x = APrim p ->
        exists v m o, goes A0 c y l (cpu_resume T X home y v m) (Event c o :: l) /\ lsched L0 c l /\ lstep L0 c p (tmem T z) l = Ok v m o /\
          (m ##ₘ r -> x' = flat_resume x v (m ∪ r) /\ l' = Event c o :: l)).
      { intros p Hz Hx. destruct Hst as [[Hn ->]|(p' & v & m & o & Hn & Hsch & Hp & -> & ->)]; simpl in Hn; rewrite Hx in Hn; [done|].
        injection Hn as <-. simpl amem in Hp. rewrite Hm in Hp.
        pose proof (framed_step c p (tmem T z) r l Hd Hpk) as Hf.
        destruct (lstep L0 c p (tmem T z) l) as [| |v1 m1 o1] eqn:Ep.
        - congruence.
        - destruct Hnw. unfold goes_wrong. simpl anext. rewrite Ey, Hz. done.
        - exists v1, m1, o1. split_and!; [|done|done|].
          + right. exists p, v1, m1, o1. split_and!; try done. simpl. by rewrite Ey, Hz.
          + intros Hm1. specialize (Hf Hm1). rewrite Hf in Hp. by injection Hp as <- <- <-. }
      destruct (tphase T z) as [|from to|] eqn:Eph.
      + pose proof (framed_code _ _ _ _ _ FR (ccur T y) (tcode T z) (tmem T z) r Hd) as Hf.
        assert (RUN : forall p, thread_next T (ccur T y) z = APrim p -> flat_next c x = APrim p ->
          exists y' : cpu_state (D:=D) T, goes A0 c y l y' l' /\ same_cpu c x' y').
        { intros p Hz Hx. destruct (PRIMS p Hz Hx) as (v & m & o & Hg & _ & _ & Hfl).
          assert (Hy : cpu_resume T X home y v m =
            CpuState T (ccur T y) None (<[ccur T y := TState T Running (tresume T (tcode T z) v) m]> (cthread T y))).
          { unfold cpu_resume, thread_resume. fold z. by rewrite Eph. }
          pose proof (Hnext _ _ Hg) as Hap. rewrite Hy in Hap.
          pose proof (rest_apart c y (TState T Running (tresume T (tcode T z) v) m) r Hc Hap Hr) as Hmr. simpl in Hmr.
          destruct (Hfl Hmr) as [-> ->]. eexists. split; [exact Hg|]. rewrite Hy.
          assert (flat_resume x v (m ∪ r) = flat_set x (Running, tresume T (tcode T z) v) (m ∪ r)) as ->.
          { unfold flat_resume. rewrite Ecode, (same_cur _ _ _ _ _ _ _ HS). fold z. by rewrite Eph. }
          exact (same_set c x y r (TState T Running (tresume T (tcode T z) v) m) HS Hc Hr Hmr). }
        assert (Ez : thread_next T (ccur T y) z = match tnext T (ccur T y) (tcode T z) (tmem T z) with
          | TDone => ADone
          | TStuck => AStuck
          | TTau s m => ATau (TState T Running s m)
          | TPrim p => APrim (PBase p)
          | TSwitch from to => ATau (TState T (Leaving from to) (tcode T z) (tmem T z))
          | TInit t' v => APrim (PInit t' v)
          end) by (unfold thread_next; by rewrite Eph).
        destruct (tnext T (ccur T y) (tcode T z) (tmem T z)) as [| |s' m'|p|from to|t' v] eqn:En.
        * rewrite Hf in Ex. destruct Hst as [[Hn ->]|(p & w & m & o & Hn & _)]; simpl in Hn; congruence.
        * destruct Hnw. unfold goes_wrong. simpl anext. by rewrite Ey, Ez.
        * destruct Hf as [Hf Hdom]. rewrite Hf in Ex. by apply (TAU _ Ez).
        * rewrite Hf in Ex. by apply (RUN (PBase p)).
        * rewrite Hf in Ex. by apply (TAU _ Ez).
        * rewrite Hf in Ex. by apply (RUN (PInit t' v)).
      + (* a switch *)
        destruct (PRIMS (PSwitch from to)) as (v & m & o & Hg & Hsch & Hp & Hfl); [unfold thread_next; by rewrite Eph|done|].
        destruct (Hleave from to Hsch eq_refl eq_refl) as (Hh & d & m' & Es).
        simpl in Hp. case_decide as Hw; [|done]. injection Hp as Ev <- Eo. destruct (Hfl Hd) as [-> ->].
        eexists. split; [exact Hg|].
        destruct (framed_split _ _ _ _ _ FR _ _ _ _ _ Es) as [Em Hdm].
        assert (cpu_resume T X home y v (tmem T z) =
          CpuState T to (Some (v, d)) (<[ccur T y := TState T Suspended (tcode T z) m']> (cthread T y))) as ->.
        { unfold cpu_resume. fold z. by rewrite Eph, Hh, Es. }
        assert (flat_resume x v (tmem T z ∪ r) = Flat T to (Some v) (<[ccur T y := (Suspended, tcode T z)]> (fcode x)) (tmem T z ∪ r)) as ->.
        { unfold flat_resume. rewrite Ecode, (same_cur _ _ _ _ _ _ _ HS). fold z. by rewrite Eph. }
        split; simpl; [done|done| |].
        * intros t. destruct (decide (t = ccur T y)) as [->|Hne]; [by rewrite !fn_lookup_insert|].
          rewrite !fn_lookup_insert_ne by done. apply HS.
        * intros k u. rewrite lookup_union_Some by done. rewrite Hr, Em, lookup_union_Some by done. unfold owns. simpl. split.
          -- intros [[Hk|Hk]|(t & Hne & Ht & Hk)].
             ++ right. eauto.
             ++ left. exists (ccur T y). by rewrite fn_lookup_insert.
             ++ left. exists t. by rewrite fn_lookup_insert_ne.
          -- intros [(t & Ht & Hk)|(w & d' & [= _ <-] & Hk)]; [|by left; left].
             destruct (decide (t = ccur T y)) as [->|Hne].
             ++ rewrite fn_lookup_insert in Hk. left. by right.
             ++ rewrite fn_lookup_insert_ne in Hk by done. right. eauto.
      + destruct (PRIMS PResume) as (v & m & o & Hg & _ & Hp & Hfl); [unfold thread_next; by rewrite Eph|done|done].
  Qed.

  (** What goes wrong with one memory does so with parts. *)
  Theorem flat_wrong c (l : log L0) (x : flat) (y : cpu_state (D:=D) T) :
    same_cpu c x y -> apart c y -> of_cpu c (ccur T y) ->
    (forall (y' : cpu_state (D:=D) T) l', goes A0 c y l y' l' -> apart c y') ->
    goes_wrong L0 AF c x l -> goes_wrong L0 A0 c y l.
  Proof using FR.
    intros HS HA Hc Hnext Hw. pose proof (same_code _ _ _ _ _ _ _ HS (fcur x)) as Ecode.
    destruct (ctransit T y) as [[v d]|] eqn:Htr.
    { unfold goes_wrong in Hw. simpl in Hw. unfold flat_next in Hw. by rewrite Ecode, (same_transit _ _ _ _ _ _ _ HS), Htr in Hw. }
    destruct (same_rest c x y HS HA Hc Htr) as (r & Hm & Hd & Hpk & Hr). set (z := cthread T y (ccur T y)) in *.
    assert (PRIMS : forall p, thread_next T (ccur T y) z = APrim p -> lsched L0 c l /\ lstep L0 c p (tmem T z ∪ r) l = Wrong ->
      goes_wrong L0 A0 c y l).
    { intros p Hz [Hsch Hp]. pose proof (framed_step c p (tmem T z) r l Hd Hpk) as Hf.
      assert (Hn : cpu_next T X c y = APrim p) by (unfold cpu_next; fold z; by rewrite Htr, Hz).
      unfold goes_wrong. simpl anext. rewrite Hn. split; [done|]. simpl amem. fold z.
      destruct (lstep L0 c p (tmem T z) l) as [| |v m o] eqn:Ep; [congruence|done|].
      assert (Hg : goes A0 c y l (cpu_resume T X home y v m) (Event c o :: l)) by (right; eauto 10).
      apply Hnext in Hg. destruct (tphase T z) as [|from to|] eqn:Eph.
      - assert (Hy : cpu_resume T X home y v m =
          CpuState T (ccur T y) None (<[ccur T y := TState T Running (tresume T (tcode T z) v) m]> (cthread T y))).
        { unfold cpu_resume, thread_resume. fold z. by rewrite Eph. }
        rewrite Hy in Hg. pose proof (rest_apart c y (TState T Running (tresume T (tcode T z) v) m) r Hc Hg Hr) as Hmr.
        simpl in Hmr. rewrite (Hf Hmr) in Hp. done.
      - unfold thread_next in Hz. rewrite Eph in Hz. injection Hz as <-. simpl in Hp, Ep. by case_decide.
      - unfold thread_next in Hz. rewrite Eph in Hz. injection Hz as <-. done. }
    unfold goes_wrong in Hw. simpl in Hw. unfold flat_next in Hw.
    rewrite Ecode, (same_transit _ _ _ _ _ _ _ HS), Htr, (same_cur _ _ _ _ _ _ _ HS), Hm in Hw. fold z in Hw. simpl in Hw.
    assert (Ez : thread_next T (ccur T y) z = thread_next T (ccur T y) z) by done. unfold thread_next in Ez at 2.
    destruct (tphase T z) as [|from to|] eqn:Eph.
    - pose proof (framed_code _ _ _ _ _ FR (ccur T y) (tcode T z) (tmem T z) r Hd) as Hf.
      destruct (tnext T (ccur T y) (tcode T z) (tmem T z)) as [| |s' m'|p|from to|t' v] eqn:En.
      + by rewrite Hf in Hw.
      + unfold goes_wrong. simpl. unfold cpu_next. fold z. by rewrite Htr, Ez.
      + destruct Hf as [Hf _]. by rewrite Hf in Hw.
      + rewrite Hf in Hw. by apply (PRIMS (PBase p)).
      + by rewrite Hf in Hw.
      + rewrite Hf in Hw. by apply (PRIMS (PInit t' v)).
    - by apply (PRIMS (PSwitch from to)).
    - by apply (PRIMS PResume).
  Qed.

End steps.
