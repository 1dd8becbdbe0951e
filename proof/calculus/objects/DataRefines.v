(** From cells to objects: the theorem.

    [data_refines]: safety, that is never going wrong and inclusion of logs. [data_returns]: every kernel entry returns,
    whatever the others do, in a number of own steps that the code determines. *)
From Ashlar Require Export calculus.objects.Data.

Section refines.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (exported : string -> bool).
  Context (spec : specification (PRIM := cprim) (MEM := objects X)) (C : client).
  Context (nlock : Z) (budget ncpu : nat) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (LO : layout_ok X init guarded) (SD : spec_disciplined X nlock budget spec).
  Context (IM : all_implemented X kernel_entry M exported spec).
  Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).
  Context (start : nat -> gset cell).

  Notation B := (arch_builtins kernel_entry).
  Notation L1 := (lock_layer nlock budget (cell_data init guarded)).
  Notation L2 := (lock_layer nlock budget (object_data X)).
  Notation A1 := (system C (c_engine B M exported)).
  Notation A2 := (system C (object_engine X spec)).
  Notation code_busy s e := (@Busy _ _ C (c_engine B M exported) s e).
  Notation object_busy s g := (@Busy _ _ C (object_engine X spec) s g).
  Notation above := (lock_log (option (obj_state X))).
  Notation guarantee := (guarantee X nlock budget init guarded start).

  (** The client is idle, and there are a state and a log above that match. *)
  Definition idle_match (I2 : ast A2 -> above -> Prop) (c : nat) (t : ast A1) (l : lock_log mem) : Prop :=
    exists s m a x, t = Idle s m /\ same_log X l x /\ I2 (Idle s a) x /\ rep X a m /\ dom m = owned init start c l.

  Section above.
    Context (G2 : above -> Prop) (c : nat) (I2 : ast A2 -> above -> Prop).
    Context (G2_legal : forall x, G2 x -> legal L2 x).
    Context (I2_closed : forall t x, I2 t x -> safe_step L2 A2 G2 c I2 t x).
    Context (I2_orderly : forall t x, I2 t x -> orderly X nlock budget C spec c t x).

    Notation Q := (idle_match I2 c).

    (** A primitive of the C code, matched by the same primitive of the specification program. *)
    Lemma related_prim t1 t2 p (l : lock_log mem) (x : above) :
      same_log X l x -> I2 t2 x -> anext A2 c t2 = APrim p -> rep X (amem A2 t2) (amem A1 t1) ->
      dom (amem A1 t1) = owned init start c l ->
      (forall x', rely L2 G2 c x x' -> holds_exactly X (held c x').1 (amem A2 t2)) ->
      forall (QQ : Z -> mem -> lock_log mem -> Prop),
      (forall l' v m' o1 a' x', same_log X (Event c o1 :: l') x' -> I2 (aresume A2 t2 v a') x' ->
         (response X p (amem A2 t2) v a' \/ p.1 = OUT /\ a' = amem A2 t2) -> rep X a' m' ->
         dom m' = owned init start c (Event c o1 :: l') -> QQ v m' (Event c o1 :: l')) ->
      pwp L1 (guarantee G2) c p (amem A1 t1) l QQ.
    Proof using LO G2_legal I2_closed.
      intros Hx HI Hn Hr Hd Hh QQ HQ l' Hrely.
      destruct (rely_above X nlock budget init guarded LO start G2 c l l' x G2_legal Hx Hrely)
        as (x' & Hx' & Hrely2 & Hpart & Hleg & Hown).
      pose proof (I2_closed _ _ HI) as Hs. unfold safe_step in Hs. rewrite Hn in Hs.
      specialize (Hs x' Hrely2).
      pose proof (lock_step_related X nlock budget init guarded LO start c p (amem A2 t2) (amem A1 t1) l' x'
        Hr Hx' Hpart ltac:(by rewrite Hown) (Hh x' Hrely2)) as HL.
      change (lstep L2 c p (amem A2 t2) x') with (lock_step nlock budget (object_data X) c p (amem A2 t2) x') in Hs.
      change (lstep L1 c p (amem A1 t1) l') with
        (lock_step nlock budget (cell_data init guarded) c p (amem A1 t1) l').
      destruct (lock_step nlock budget (object_data X) c p (amem A2 t2) x') as [| |v a' o2].
      - by rewrite HL.
      - done.
      - destruct HL as (m' & o1 & E1 & Hev & Hresp & Hr' & Hpart' & Hd'). rewrite E1. destruct Hs as [HG HI'].
        assert (Hx2 : same_log X (Event c o1 :: l') (Event c o2 :: x')) by (by constructor).
        split; [|by eapply HQ]. split_and!; [done| |by eexists].
        by eapply legal_cons.
    Qed.

    Lemma orderly_rely (g : ast A2) x x' : I2 g x -> rely L2 G2 c x x' -> orderly X nlock budget C spec c g x'.
    Proof using I2_orderly.
      intros HI (e & -> & He & _). apply orderly_others; auto.
    Qed.

    (** The kernel's code, running for a client, returns; and what it does is matched above. *)
    Lemma busy_run e g : sim X kernel_entry M c (returns X kernel_entry M c) e g -> forall (l : lock_log mem) (x : above) s,
      same_log X l x -> I2 (object_busy s g) x -> dom (cm e) = owned init start c l ->
      run L1 A1 (guarantee G2) c Q (code_busy s e) l.
    Proof using LO G2_legal I2_closed I2_orderly.
      induction 1 as [e g Hp|e e' g Hn H IH|e a|e f k a Hf|e f k a v a' Hf H IH|e p k a Hn Hr H IH];
        intros l x s Hx HI Hd.
      - destruct Hp as (v & m & Hg & Hn & Hr). destruct g as [p a]. simpl in Hg, Hr. subst p.
        assert (Hm : cm e = m).
        { destruct e as [k r m0]. destruct k as [|[st|?? | | ] k]; simpl in Hn; try done.
          - destruct st; repeat case_match; try done; unfold return_to in Hn; repeat case_match; by simplify_eq.
          - destruct k; by simplify_eq. }
        subst m. eapply run_tau; [simpl; by rewrite Hn|]. apply run_done.
        pose proof (I2_closed _ _ HI) as Hs. unfold safe_step in Hs. simpl in Hs.
        by exists (creturn C s v), (cm e), a, x.
      - eapply run_tau; [simpl; by rewrite Hn|]. eapply IH; eauto.
        rewrite <- Hd. by eapply next_dom.
      - by apply I2_closed in HI.
      - apply I2_closed in HI. unfold safe_step in HI. simpl in HI. by rewrite Hf in HI.
      - eapply IH; eauto. apply I2_closed in HI. unfold safe_step in HI. simpl in HI. by rewrite Hf in HI.
      - eapply run_prim with (p := p); [simpl; by rewrite Hn|].
        apply (related_prim (code_busy s e) (object_busy s (Act p k, a)) p l x); try done.
        + intros x' Hrely. pose proof (orderly_rely _ _ _ HI Hrely) as Ho. simpl in Ho.
          by eapply disciplined_holds.
        + intros l' v m' o1 a' x' Hx' HI' Hresp Hr' Hd'. simpl in HI'.
          destruct Hresp as [Hresp|[Hout _]].
          * simpl in Hresp. eapply IH; eauto. simpl. unfold resume.
            destruct (ck e) as [|[[]| | |] ?]; done.
          * pose proof (I2_orderly _ _ HI) as Ho. simpl in Ho. inversion Ho; subst; by simpl in Hout.
    Qed.

    (** One step of an idle client. *)
    Lemma idle_step t l : Q t l -> safe_step L1 A1 (guarantee G2) c
      (fun t l => run L1 A1 (guarantee G2) c Q t l) t l.
    Proof using LO G2_legal I2_closed I2_orderly IM.
      intros (s & m & a & x & -> & Hx & HI & Hr & Hd). pose proof (I2_closed _ _ HI) as Hs.
      unfold safe_step in *. simpl in *. destruct (cnext C c s) as [|s'|f args|v] eqn:Ec; try done.
      - apply run_done. by exists s', m, a, x.
      - destruct (spec f args) as [p|] eqn:Ep; [|done].
        destruct (IM f args p Ep) as (fd & HM & Hexp & Himp). rewrite HM, Hexp. simpl.
        destruct (Himp c m a Hr) as [[Hlen Hsim]| ->].
        + rewrite Hlen, Nat.eqb_refl. by eapply busy_run.
        + by apply I2_closed in Hs.
      - apply (related_prim (Idle s m) (Idle s a) (OUT, [v]) l x); try done.
        + simpl. by rewrite Ec.
        + intros x' Hrely. pose proof (orderly_rely _ _ _ HI Hrely) as [Hh Ha]. by rewrite Hh.
        + intros l' w m' o1 a' x' Hx' HI' Hresp Hr' Hd'. simpl in HI'. apply run_done.
          by exists (creturn C s w), m', a', x'.
    Qed.

    Lemma run_step t l : run L1 A1 (guarantee G2) c Q t l ->
      safe_step L1 A1 (guarantee G2) c (fun t l => run L1 A1 (guarantee G2) c Q t l) t l.
    Proof using LO G2_legal I2_closed I2_orderly IM.
      destruct 1 as [t l HQ|t t' l Hn Hrun|t l p Hn Hp Hrun].
      - by apply idle_step.
      - unfold safe_step. by rewrite Hn.
      - unfold safe_step. rewrite Hn. intros l' Hl'. specialize (Hp l' Hl'). specialize (Hrun l').
        destruct (lstep L1 c p (amem A1 t) l') eqn:E; auto. split; [apply Hp|]. by eapply Hrun.
    Qed.
  End above.

  (** ** The machines *)
  Context (client_start : nat -> cstate C) (m0 : nat -> mem) (a0 : nat -> objects X).
  Context (start_rep : forall c, (c < ncpu)%nat -> rep X (a0 c) (m0 c)).
  Context (start_exact : forall c, (c < ncpu)%nat -> holds_exactly X [] (a0 c)).
  Context (start_dom : forall c, (c < ncpu)%nat -> dom (m0 c) = start c).
  Context (start_partition : partitioned init start []).

  Definition code_machine (c : nat) : ast A1 := Idle (client_start c) (m0 c).
  Definition object_machine (c : nat) : ast A2 := Idle (client_start c) (a0 c).
  (** The client's only duty: no call violates a precondition. *)
  Context (preconditions : forall g c, reach ncpu L2 A2 object_machine g -> (c < ncpu)%nat ->
    anext A2 c (gagent g c) <> AStuck).

  Notation T2 := (traces ncpu L2 A2 object_machine).
  Definition tracked (c : nat) (t : ast A2) (x : above) : Prop :=
    canonical ncpu L2 A2 object_machine c t x /\ orderly X nlock budget C spec c t x.

  Lemma objects_never_wrong : never_wrong ncpu L2 A2 object_machine.
  Proof using SD initial_valid preconditions start_exact.
    apply (preconditions_suffice X nlock budget initial_valid C spec SD); [|exact preconditions].
    intros c Hc. simpl. split; [done|exact (start_exact c Hc)].
  Qed.

  Lemma tracked_closed c t x : (c < ncpu)%nat -> tracked c t x -> safe_step L2 A2 T2 c (tracked c) t x.
  Proof using SD initial_valid preconditions start_exact.
    intros Hc [Hcan Hord]. pose proof (canonical_step ncpu L2 A2 object_machine c t x Hc objects_never_wrong Hcan) as Hs.
    unfold safe_step in *. destruct (anext A2 c t) as [| |t'|p] eqn:En; try done.
    - split; [done|]. by eapply orderly_tau.
    - intros x' Hrely. specialize (Hs x' Hrely). destruct Hrely as (e & -> & He & _ & _ & Hleg).
      pose proof (orderly_prim X nlock budget initial_valid C spec SD c t p (e ++ x)
        (orderly_others _ _ _ _ _ _ _ _ _ He Hord) En Hleg) as Ho.
      change (lstep L2 c p (amem A2 t) (e ++ x)) with
        (lock_step nlock budget (object_data X) c p (amem A2 t) (e ++ x)) in *.
      destruct (lock_step nlock budget (object_data X) c p (amem A2 t) (e ++ x)); try done.
      destruct Hs as [HT Hc']. by split.
  Qed.

  Definition code_invariant (c : nat) (t : ast A1) (l : lock_log mem) : Prop :=
    run L1 A1 (guarantee T2) c (idle_match (tracked c) c) t l.

  Lemma code_invariant_init c : (c < ncpu)%nat -> code_invariant c (code_machine c) [].
  Proof using start_rep start_exact start_dom.
    intros Hc. apply run_done. exists (client_start c), (m0 c), (a0 c), [].
    split; [done|]. split; [constructor|]. split; [|split; [exact (start_rep c Hc)|exact (start_dom c Hc)]].
    split; [exact (canonical_init ncpu L2 A2 object_machine c)|]. split; [done|exact (start_exact c Hc)].
  Qed.
  Lemma code_invariant_step c t l : (c < ncpu)%nat -> code_invariant c t l ->
    safe_step L1 A1 (guarantee T2) c (code_invariant c) t l.
  Proof using LO SD IM initial_valid preconditions start_exact.
    intros Hc. apply run_step; [exact (traces_legal ncpu L2 A2 object_machine)| |].
    - intros. by apply tracked_closed.
    - by intros t' x [_ ?].
  Qed.
  Lemma guarantee_init : guarantee T2 [].
  Proof using start_partition. split_and!; [done|constructor|]. exists []. split; [constructor|apply traces_nil]. Qed.

  Theorem data_refines :
    never_wrong ncpu L1 A1 code_machine /\
    forall l, traces ncpu L1 A1 code_machine l -> exists x, same_log X l x /\ T2 x.
  Proof using LO SD IM initial_valid preconditions start_exact start_rep start_dom start_partition.
    split.
    - exact (invariant_never_wrong ncpu L1 A1 code_machine (guarantee T2) guarantee_init code_invariant
        code_invariant_init code_invariant_step).
    - intros l [f Hr].
      by destruct (local_invariant ncpu L1 A1 code_machine (guarantee T2) guarantee_init code_invariant
        code_invariant_init code_invariant_step _ Hr)
        as [[(_ & _ & ?) _] _].
  Qed.

  Lemma guarantee_reached g : reach ncpu L1 A1 code_machine g -> guarantee T2 (glog g) /\ legal L1 (glog g).
  Proof using LO SD IM initial_valid preconditions start_exact start_rep start_dom start_partition.
    intros Hr. exact (proj1 (local_invariant ncpu L1 A1 code_machine (guarantee T2) guarantee_init code_invariant
      code_invariant_init code_invariant_step _ Hr)).
  Qed.

  (** On the machine of C code, a CPU in the kernel [run]s to an idle client, from whatever state it has reached. *)
  Theorem data_returns g c : reach ncpu L1 A1 code_machine g -> (c < ncpu)%nat ->
    exists l e, glog g = e ++ l /\ others L1 c e /\
      run L1 A1 (guarantee T2) c (idle_match (tracked c) c) (gagent g c) l.
  Proof using LO SD IM initial_valid preconditions start_exact start_rep start_dom start_partition.
    intros Hr Hc. destruct (local_invariant ncpu L1 A1 code_machine (guarantee T2) guarantee_init code_invariant
        code_invariant_init code_invariant_step _ Hr)
      as [_ H]. exact (H c Hc).
  Qed.
End refines.
