(** The locked-object theorem: acquire; update; release is one atomic update (it linearises at the release).

    For every client: if the machine with atomic updates never goes wrong, neither does the one that locks, and each log
    of the latter, seen from the top, is a log of the former. While a CPU holds a lock, the object does not change. *)
From Ashlar Require Export calculus.logs.Canonical calculus.top.Top.

Section stable.
  Context {D MEM : Type} (nlock : Z) (budget : nat) (Y : lock_data D MEM).
  Notation L := (lock_layer nlock budget Y).

  Lemma held_stable c k (e l : lock_log D) : Forall (fun x => who x <> c) e -> legal L (e ++ l) ->
    holder k l = Some c ->
    holder k (e ++ l) = Some c /\ published (ld_init Y) k (e ++ l) = published (ld_init Y) k l.
  Proof.
    induction 1 as [|[c' o] e Hx He IH]; [done|]. simpl. intros Hl Hh.
    inversion Hl as [|c1 p m v m' o1 l1 Hl1 Hp]; subst. destruct (IH Hl1 Hh) as [IH1 IH2].
    pose proof (legal_holder nlock budget Y _ Hl1 c') as [_ Hin].
    apply lock_step_shape in Hp. destruct Hp as [k1 _ _ Hn|k1 ks d m1 Hks _ _|w]; simpl; [| |done].
    - destruct (Z.eqb_spec k1 k) as [->|]; [congruence|done].
    - destruct (Z.eqb_spec k1 k) as [->|]; [|done].
      assert (holder k (e ++ l) = Some c') by (apply Hin; rewrite Hks; left). simpl in Hx. congruence.
  Qed.
End stable.

Section atomicity.
  Context (X : layout) (nlock : Z) (budget ncpu : nat) (atomic : Z -> bool) (C : client).
  Context (S3 : specification (PRIM := top_prim X) (MEM := objects X)).
  Context (SD : spec_disciplined X nlock budget (expand_spec X S3)).
  Context (AL : forall f args p, S3 f args = Some p -> atomic_locks X atomic p).
  Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).

  Notation L2 := (lock_layer nlock budget (object_data X)).
  Notation L3 := (top_layer X).
  Notation A2 := (system C (object_engine X (expand_spec X S3))).
  Notation A3 := (system C (top_engine X S3)).
  Notation below := (lock_log (option (obj_state X))).
  Notation views := (top_views X atomic).
  Notation lock_busy s g := (@Busy _ _ C (object_engine X (expand_spec X S3)) s g).
  Notation top_busy s g := (@Busy _ _ C (top_engine X S3) s g).

  Lemma legal_release_some (l : below) : legal L2 l -> forall c k d o,
    obj_of_lock X k = Some o -> Event c (ORelease k d) ∈ l -> is_Some d.
  Proof.
    induction 1 as [|c' p m v m' ev l Hl IH Hp]; intros c k d o Hk; [by intros ?%elem_of_nil|].
    intros [He|Hin]%elem_of_cons; [|by eapply IH].
    injection He as -> <-. apply lock_step_shape in Hp. inversion Hp as [|? ? ? ? _ _ Hpush|]; subst.
    apply push_inv in Hpush. rewrite Hk in Hpush. destruct Hpush as (s & _ & -> & _). eauto.
  Qed.
  Lemma current_published k o (l : below) : legal L2 l -> obj_of_lock X k = Some o ->
    current X k (views l) = published (ld_init (object_data X)) k l.
  Proof. intros Hl Hk. apply current_view. intros c d Hin. left. by eapply legal_release_some. Qed.

  Definition top_guarantee (G3 : log L3 -> Prop) (l : below) : Prop := legal L2 l /\ G3 (views l).

  Section above.
    Context (G3 : log L3 -> Prop) (c : nat) (I3 : ast A3 -> log L3 -> Prop).
    Context (G3_legal : forall x, G3 x -> legal L3 x).
    Context (I3_closed : forall t x, I3 t x -> safe_step L3 A3 G3 c I3 t x).
    Context (I3_rely : forall t x x', I3 t x -> rely L3 G3 c x x' -> I3 t x').
    Context (I3_good : forall t x, I3 t x -> G3 x).

    Definition idle_view (t : ast A2) (l : below) : Prop :=
      exists s a, t = Idle s a /\ I3 (Idle s a) (views l) /\ orderly X nlock budget C (expand_spec X S3) c t l.

    Lemma rely_view (l l' : below) : rely L2 (top_guarantee G3) c l l' -> rely L3 G3 c (views l) (views l').
    Proof using G3_legal.
      intros (e & -> & He & [Hl HG] & _ & _). exists (views e).
      split; [apply top_views_app|]. split; [by apply top_views_others|]. split; [done|]. split; [done|].
      by apply G3_legal.
    Qed.
    Lemma I3_here t x : I3 t x -> rely L3 G3 c x x.
    Proof using G3_legal I3_good.
      intros HI. exists []. split_and!; try done; [constructor|by eapply I3_good|by eapply G3_legal, I3_good].
    Qed.

    (** What the top does at a primitive. *)
    Lemma top_prim_step t p x : I3 t x -> anext A3 c t = APrim p ->
      match top_step X c p (amem A3 t) x with
      | Blocked => True
      | Wrong => False
      | Ok v a' o => G3 (Event c o :: x) /\ I3 (aresume A3 t v a') (Event c o :: x)
      end.
    Proof using G3_legal I3_closed I3_good.
      intros HI Hn. pose proof (I3_closed _ _ HI) as Hs. unfold safe_step in Hs. rewrite Hn in Hs.
      exact (Hs x (I3_here _ _ HI)).
    Qed.

    (** A primitive of the locking machine: it is not wrong, and what follows is to be shown. *)
    Lemma lock_prim t p (l : below) (QQ : Z -> objects X -> below -> Prop) :
      orderly X nlock budget C (expand_spec X S3) c t l -> anext A2 c t = APrim p ->
      (forall l' v a' o, rely L2 (top_guarantee G3) c l l' ->
         lock_step nlock budget (object_data X) c p (amem A2 t) l' = Ok v a' o ->
         orderly X nlock budget C (expand_spec X S3) c t l' ->
         orderly X nlock budget C (expand_spec X S3) c (aresume A2 t v a') (Event c o :: l') ->
         legal L2 (Event c o :: l') ->
         G3 (views (Event c o :: l')) /\ QQ v a' (Event c o :: l')) ->
      pwp L2 (top_guarantee G3) c p (amem A2 t) l QQ.
    Proof using SD initial_valid.
      intros Ho Hn H l' Hrely. pose proof Hrely as (e & El & He & [Hl HG] & _ & _).
      assert (Ho' : orderly X nlock budget C (expand_spec X S3) c t l').
      { rewrite El. by apply orderly_others. }
      pose proof (orderly_prim X nlock budget initial_valid C (expand_spec X S3) SD c t p l' Ho' Hn Hl) as HO.
      change (lstep L2 c p (amem A2 t) l') with (lock_step nlock budget (object_data X) c p (amem A2 t) l').
      destruct (lock_step nlock budget (object_data X) c p (amem A2 t) l') as [| |v a' o] eqn:E; try done.
      assert (Hleg : legal L2 (Event c o :: l')) by (by eapply legal_cons).
      destruct (H l' v a' o Hrely E Ho' HO Hleg) as [HG' HQ]. by split.
    Qed.

    Lemma begin_inv lk (a a' : objects X) (l : below) v o :
      lock_step nlock budget (object_data X) c (ACQUIRE, [lk]) a l = Ok v a' o ->
      v = 0 /\ o = OAcquire lk /\ holder lk l = None /\
      a' = ld_pull (object_data X) lk (published (ld_init (object_data X)) lk l) a.
    Proof.
      unfold lock_step. destruct (held c l) as [ks n]. simpl String.eqb. cbv iota.
      destruct (_ && _); [|done]. destruct (holder lk l); [done|]. by intros [= <- <- <-].
    Qed.
    Lemma end_inv lk (a a' : objects X) (l : below) v o :
      lock_step nlock budget (object_data X) c (RELEASE, [lk]) a l = Ok v a' o ->
      v = 0 /\ exists d, o = ORelease lk d /\ ld_push (object_data X) lk a = Some (d, a') /\ lk ∈ (held c l).1.
    Proof.
      unfold lock_step. destruct (held c l) as [ks n]. simpl String.eqb. cbv iota.
      destruct ks as [|k' ks]; [done|]. destruct (Z.eqb_spec k' lk) as [->|]; [|done].
      destruct (within _ _ _); [|done]. simpl andb. cbv iota.
      destruct (ld_push (object_data X) lk a) as [[d a1]|]; [|done].
      intros [= <- <- <-]. split; [done|]. exists d. split_and!; try done. left.
    Qed.

    Theorem busy_view_run p : forall a s (l : below), atomic_locks X atomic p ->
      I3 (top_busy s (p, a)) (views l) ->
      orderly X nlock budget C (expand_spec X S3) c (lock_busy s (expand X p, a)) l ->
      run L2 A2 (top_guarantee G3) c idle_view (lock_busy s (expand X p, a)) l.
    Proof using SD initial_valid G3_legal I3_closed I3_rely I3_good.
      induction p as [v| |q κ IH|f κ IH]; intros a s l HA HI Ho.
      - assert (Hn : anext A2 c (lock_busy s (expand X (Ret v), a)) = ATau (Idle (creturn C s v) a)) by done.
        eapply run_tau; [exact Hn|]. apply run_done. exists (creturn C s v), a. split; [done|]. split.
        + exact (I3_closed _ _ HI).
        + by eapply orderly_tau.
      - by apply I3_closed in HI.
      - destruct q as [k o f|[g args]].
        + destruct HA as (Hat & Ho1 & HA). simpl expand.
          eapply run_prim with (p := (ACQUIRE, [k])); [done|].
          apply (lock_prim (lock_busy s (locked_with X k f (fun v => expand X (κ v)), a))); [done|done|].
          intros l' v a1 ev Hrely Hstep Ho' HO Hleg.
          apply (begin_inv k a) in Hstep as (-> & -> & Hfree & ->).
          pose proof (rely_view _ _ Hrely) as Hrely3. pose proof (I3_rely _ _ _ HI Hrely3) as HI'.
          assert (Ev : views (Event c (OAcquire k) :: l') = views l').
          { simpl. unfold top_view. simpl. by rewrite Hat. }
          rewrite Ev. split; [by eapply I3_good|].
          destruct (legal_published X nlock budget initial_valid _ Hleg k o Ho1) as (st & Hpub & Hval).
          assert (Hpub' : published (ld_init (object_data X)) k l' = Some st) by exact Hpub.
          pose proof (current_published k o _ Hleg Ho1) as Hcur. rewrite Ev, Hpub in Hcur.
          assert (Hpull : ld_pull (object_data X) k (published (ld_init (object_data X)) k l') a = <[o:=st]> a)
            by (rewrite Hpub'; simpl; by rewrite Ho1).
          rewrite Hpull in HO |- *.
          pose proof (top_prim_step (top_busy s (Act (Update k o f) κ, a)) (Update k o f) (views l') HI' eq_refl) as H3.
          simpl top_step in H3. rewrite (busy_atomic X atomic k l' Hat), Hcur in H3.
          destruct (updated X o f st a) as [[[w st'] a3]|] eqn:Ef; [|done]. clear H3.
          pose proof Ef as Ef'. unfold updated in Ef'. destruct (f (<[o:=st]> a)) as [[w' a4]|] eqn:Efa; [|done].
          destruct (a4 !! o) as [st4|] eqn:Ea4; [|done]. injection Ef' as -> -> <-.
          set (l1 := Event c (OAcquire k) :: l') in *.
          assert (Ht : anext A2 c (lock_busy s (Loc f (fun v => Act (RELEASE, [k]) (fun _ => expand X (κ v))), <[o:=st]> a)) =
            ATau (lock_busy s (Act (RELEASE, [k]) (fun _ => expand X (κ w)), a4))).
          { simpl. by rewrite Efa. }
          eapply run_tau; [exact Ht|].
          pose proof (orderly_tau _ _ _ _ _ SD _ _ _ _ HO Ht) as HO2.
          eapply run_prim with (p := (RELEASE, [k])); [done|].
          apply (lock_prim (lock_busy s (Act (RELEASE, [k]) (fun _ => expand X (κ w)), a4)));
            [exact HO2|done|].
          intros l2 v a2 ev2 Hrely2 Hstep2 Ho2 HO3 Hleg2.
          apply end_inv in Hstep2 as (-> & d & -> & Hpush & Hin).
          apply push_inv in Hpush. rewrite Ho1 in Hpush. simpl amem in Hpush.
          destruct Hpush as (s2 & Hs2 & -> & Hval2 & ->). rewrite Ea4 in Hs2. injection Hs2 as <-.
          simpl aresume in HO3 |- *.
          destruct Hrely2 as (e2 & El2 & He2 & [Hleg1 HG2] & Hsch2 & Hl2').
          assert (Hst : published (ld_init (object_data X)) k l2 = Some st).
          { rewrite El2 in Hleg1 |- *.
            destruct (held_stable nlock budget (object_data X) c k e2 l1 He2 Hleg1) as [_ Hp2].
            - simpl. by rewrite Z.eqb_refl.
            - etrans; [exact Hp2|exact Hpub]. }
          assert (HI2 : I3 (top_busy s (Act (Update k o f) κ, a)) (views l2)).
          { eapply I3_rely; [exact HI'|]. rewrite <- Ev. apply rely_view. by exists e2. }
          pose proof (top_prim_step _ (Update k o f) (views l2) HI2 eq_refl) as H3.
          simpl top_step in H3. rewrite (busy_atomic X atomic k l2 Hat) in H3.
          pose proof (current_published k o l2 Hleg1 Ho1) as Hcur2. rewrite Hst in Hcur2.
          rewrite Hcur2, Ef in H3. simpl in H3.
          assert (Ev2 : views (Event c (ORelease k (Some st')) :: l2) = Event c (TUpdate X k st') :: views l2).
          { simpl. unfold top_view. simpl. by rewrite Hat. }
          rewrite Ev2. destruct H3 as [HG3 HI3]. split; [exact HG3|].
          apply IH; [apply HA|rewrite Ev2; exact HI3|exact HO3].
        + destruct args as [|lk [|??]]; [done| |done]. destruct HA as [Hg HA]. simpl expand.
          eapply run_prim with (p := (g, [lk])); [done|].
          apply (lock_prim (lock_busy s (Act (g, [lk]) (fun v => expand X (κ v)), a))); [done|done|].
          intros l' v a1 ev Hrely Hstep Ho' HO Hleg.
          pose proof (rely_view _ _ Hrely) as Hrely3. pose proof (I3_rely _ _ _ HI Hrely3) as HI'.
          pose proof (top_prim_step (top_busy s (Act (Lock (g, [lk])) κ, a)) (Lock (g, [lk])) (views l') HI' eq_refl) as H3.
          assert (Hl' : legal L2 l') by (by inversion Hleg).
          simpl in Ho'. inversion Ho'; subst.
          * destruct Hg as [Hg|Hat]; [done|].
            apply begin_inv in Hstep as (-> & -> & Hfree & ->). simpl top_step in H3.
            rewrite (busy_view X atomic lk l' Hat), Hfree in H3.
            rewrite (current_view X atomic lk l') in H3 by auto.
            assert (Ev : views (Event c (OAcquire lk) :: l') = Event c (TBegin X lk) :: views l').
            { simpl. unfold top_view. simpl. by rewrite Hat. }
            rewrite Ev. destruct H3 as [HG3 HI3]. split; [exact HG3|].
            apply IH; [apply HA|rewrite Ev; exact HI3|exact HO].
          * destruct Hg as [Hg|Hat]; [done|].
            apply end_inv in Hstep as (-> & d & -> & Hpush & Hin). simpl amem in Hpush.
            simpl top_step in H3. simpl ld_push in Hpush. simpl ld_push in H3. rewrite Hpush in H3.
            assert (Ev : views (Event c (ORelease lk d) :: l') = Event c (TEnd X lk d) :: views l').
            { simpl. unfold top_view. simpl. by rewrite Hat. }
            rewrite Ev. destruct H3 as [HG3 HI3]. split; [exact HG3|].
            apply IH; [apply HA|rewrite Ev; exact HI3|exact HO].
      - simpl expand. pose proof (I3_closed _ _ HI) as Hs. unfold safe_step in Hs. simpl in Hs.
        destruct (f a) as [[v a']|] eqn:Ef; [|done].
        assert (Ht : anext A2 c (lock_busy s (Loc f (fun v => expand X (κ v)), a)) =
          ATau (lock_busy s (expand X (κ v), a'))) by (simpl; by rewrite Ef).
        eapply run_tau; [exact Ht|]. apply IH; [apply HA|exact Hs|].
        exact (orderly_tau _ _ _ _ _ SD _ _ _ _ Ho Ht).
    Qed.
  End above.
End atomicity.
