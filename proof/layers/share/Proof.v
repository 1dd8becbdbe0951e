(** Shares: what the C functions do on the cells, under the lock or at start-up. *)
From Ashlar Require Export layers.share.Representation.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma wrap_small x : 0 <= x < 4294967296 -> wrap W32 x = x.
Proof. intros H. unfold wrap. change (2 ^ bits W32) with 4294967296. by apply Z.mod_small. Qed.

Ltac field := unfold share_fields; rewrite !elem_of_cons; tauto.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, share_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).

  Ltac enter := eapply triple_owned; [by apply HM|done|]; locals_simpl.

  (** One store to a field is one [put]; the state follows the cells. *)
  Lemma owned_put s i x field e1 e (Qn Qb : locals -> mem -> Prop) Qr r (d : mem) v :
    share_rep s d -> shares s !! i = Some x -> eval e1 r d = Some i -> eval e r d = Some v -> field ∈ share_fields ->
    (forall d', share_rep (Shares (<[i := put field v x]> (shares s)) (offers s)) d' -> Qn r d') ->
    owned (Store "share" e1 field (Const 0) e) Qn Qb Qr r d.
  Proof.
    intros Hr Hi He1 He Hf HQ. eapply owned_store; [exact He1|done|exact He| |].
    - destruct Hr as (Hd & _ & Hx & _). apply Hx. left. exists i, field. split_and!; [apply Hd; eauto..|done|done].
    - apply HQ. by apply (rep_put s d i x field v).
  Qed.
  Lemma owned_count s p n e1 e (Qn Qb : locals -> mem -> Prop) Qr r (d : mem) v :
    share_rep s d -> offers s !! p = Some n -> eval e1 r d = Some p -> eval e r d = Some v ->
    (forall d', share_rep (Shares (shares s) (<[p := v]> (offers s))) d' -> Qn r d') ->
    owned (Store "share_offers" e1 "" (Const 0) e) Qn Qb Qr r d.
  Proof.
    intros Hr Hp He1 He HQ. eapply owned_store; [exact He1|done|exact He| |].
    - exists n. by apply (read_count s d).
    - apply HQ. by apply (rep_count s d p n v).
  Qed.

  Theorem share_define_triple s d i p q v s' : share_rep s d -> share_define s i p q = Some (v, s') ->
    triple "share_define" [i; p; q] d (fun w d' => w = v /\ share_rep s' d').
  Proof using HM.
    intros Hr H. unfold share_define in H. destruct (shares s !! i) as [x|] eqn:Hi; [|done].
    destruct (_ && _); [|done]. injection H as <- <-. enter. unfold share_define_code. locals_simpl.
    apply owned_seq. eapply owned_put; [exact Hr|exact Hi|evaluate|evaluate|field|]. intros d1 H1.
    apply owned_seq. eapply owned_put; [exact H1|apply lookup_insert|evaluate|evaluate|field|]. intros d2 H2.
    eapply owned_put; [exact H2|apply lookup_insert|evaluate|evaluate|field|]. intros d3 H3. split; [done|].
    cbn [shares offers] in H3. rewrite !insert_insert in H3. exact H3.
  Qed.

  Theorem share_clear_triple s d i x v s' : share_rep s d -> share_valid s -> shares s !! i = Some x ->
    share_clear s i = Some (v, s') ->
    triple "share_clear" [i; from x] d (fun w d' => w = v /\ share_rep s' d').
  Proof using HM.
    intros Hr HV Hi H. unfold share_clear in H. rewrite Hi in H.
    destruct (offers s !! from x) as [n|] eqn:Hn; [|done]. destruct (Z.eqb_spec (offered x) NONE) as [|Ho]; [done|].
    injection H as <- <-. destruct (offer_counted s HV i x Hi Ho) as (k & Hk & Hb). rewrite Hn in Hk. injection Hk as <-.
    enter. unfold share_clear_code. locals_simpl. apply owned_seq.
    eapply owned_put; [exact Hr|exact Hi|evaluate|evaluate|field|]. intros d1 H1.
    pose proof (read_count _ d1 (from x) n H1 Hn) as R. unfold offers_cell in R.
    eapply owned_count; [exact H1|exact Hn|evaluate|evaluate|]. rewrite wrap_small by lia. intros d2 H2.
    split; [done|exact H2].
  Qed.

  (** The shares below [i] are cleared of what is to end. *)
  Definition ended_below (s : share_state) (p : Z) (which : Z -> bool) (i : Z) (s1 : share_state) : Prop :=
    share_valid s1 /\ offers s1 = <[p := standing p (shares s1)]> (offers s) /\
    forall j, shares s1 !! j = if j <? i then without p which <$> shares s !! j else shares s !! j.

  Lemma ended_first s p which : share_valid s -> is_Some (offers s !! p) -> ended_below s p which 0 s.
  Proof using.
    intros HV [n Hn]. split; [done|]. split.
    - rewrite <- (offers_exact s HV p n Hn). by rewrite insert_id.
    - intros j. destruct (Z.ltb_spec j 0) as [Hj|]; [|done]. destruct (shares s !! j) as [x|] eqn:E; [|done].
      assert (0 <= j < NUM_SHARE) by (apply (valid_share s HV); eauto). lia.
  Qed.
  Lemma ended_skip s p which i s1 x : ended_below s p which i s1 -> shares s1 !! i = Some x ->
    offers_by p x && which (offered x) = false -> ended_below s p which (i + 1) s1.
  Proof using.
    intros (HV & Ho & Hs) Hi Hx. split; [done|]. split; [done|]. intros j. rewrite Hs.
    destruct (decide (j = i)) as [->|Hne].
    - rewrite Hs, Z.ltb_irrefl in Hi. rewrite Z.ltb_irrefl, (proj2 (Z.ltb_lt i (i + 1))), Hi by lia. simpl.
      unfold without. by rewrite Hx.
    - destruct (Z.ltb_spec j i), (Z.ltb_spec j (i + 1)); try done; lia.
  Qed.
  Lemma ended_clear s p which i s1 x s2 : is_Some (offers s !! p) -> ended_below s p which i s1 ->
    shares s1 !! i = Some x -> offers_by p x && which (offered x) = true -> share_clear s1 i = Some (0, s2) ->
    ended_below s p which (i + 1) s2.
  Proof using.
    intros [k Hk] (HV & Ho & Hs) Hi Hx Hc. pose proof (share_clear_valid _ _ _ _ HV Hc) as HV2. split; [done|].
    unfold share_clear in Hc. rewrite Hi in Hc.
    assert (from x = p) as Hp.
    { apply andb_true_iff in Hx as [Hx _]. unfold offers_by in Hx. apply andb_true_iff in Hx as [Hx _].
      by apply Z.eqb_eq. }
    rewrite Hp in Hc. destruct (offers s1 !! p) as [n|] eqn:Hn; [|done]. destruct (offered x =? NONE); [done|].
    injection Hc as <-. cbn [shares offers] in *. split.
    - pose proof (offers_exact _ HV2 p (n - 1) (lookup_insert _ _ _)) as E. cbn [shares] in E. rewrite <- E, Ho.
      by rewrite insert_insert.
    - intros j. destruct (decide (i = j)) as [<-|Hne].
      + rewrite lookup_insert. rewrite Hs, Z.ltb_irrefl in Hi.
        rewrite (proj2 (Z.ltb_lt i (i + 1))), Hi by lia. simpl. unfold without. by rewrite Hx.
      + rewrite lookup_insert_ne, Hs by done. destruct (Z.ltb_spec j i), (Z.ltb_spec j (i + 1)); try done; lia.
  Qed.
  Lemma ended_all s p which s1 : share_valid s -> ended_below s p which NUM_SHARE s1 ->
    s1 = Shares (without p which <$> shares s) (<[p := standing p (without p which <$> shares s)]> (offers s)).
  Proof using.
    intros HV (_ & Ho & Hs). assert (shares s1 = without p which <$> shares s) as E.
    { apply map_eq. intros j. rewrite lookup_fmap, Hs. destruct (Z.ltb_spec j NUM_SHARE); [done|].
      destruct (shares s !! j) as [x|] eqn:Ej; [|done].
      assert (0 <= j < NUM_SHARE) by (apply (valid_share s HV); eauto). lia. }
    destruct s1 as [m n]. simpl in *. by rewrite Ho, E.
  Qed.

  Theorem share_clear_all_triple s d p frame v s' : share_rep s d -> share_valid s ->
    share_forget s p frame = Some (v, s') ->
    triple "share_clear_all" [p; frame] d (fun w d' => w = v /\ share_rep s' d').
  Proof using HM.
    unfold share_forget. set (which := fun f => (frame =? NONE) || (f =? frame)). intros Hr HV H.
    unfold share_end_all in H. destruct (offers s !! p) as [n|] eqn:Hn; [|done]. injection H as <- <-.
    assert (Hp : is_Some (offers s !! p)) by eauto.
    enter. unfold share_clear_all_code. locals_simpl. step. step.
    eapply owned_while with (n := 64%nat)
      (I := fun n r d => exists i, r = [p; frame; i] /\ 0 <= i <= 64 /\ n = Z.to_nat (64 - i) /\
        exists s1, share_rep s1 d /\ ended_below s p which i s1).
    { exists 0. split_and!; try done. exists s. split; [done|]. by apply ended_first. }
    clear d Hr. intros k r d (i & -> & Hi & -> & s1 & Hr & Hs1). exists (i <? 64). split; [evaluate|].
    destruct (Z.ltb_spec i 64) as [Hlt|Hge]; cbv iota.
    2: { split; [done|]. assert (i = NUM_SHARE) as -> by (change NUM_SHARE with 64; lia).
      by rewrite <- (ended_all s p which s1). }
    pose proof (proj1 Hs1) as HV1.
    assert (is_Some (shares s1 !! i)) as [x Hx] by (apply (valid_share s1 HV1); change NUM_SHARE with 64; lia).
    pose proof (read_share s1 d i x Hr Hx) as (R1 & R2 & R3 & R4). unfold share_cell in *.
    assert (Hnext : forall s2 d2, share_rep s2 d2 -> ended_below s p which (i + 1) s2 ->
      owned (Assign 2 (Bin W32 Add (Var 2) (Const 1)))
        (fun r d => exists n', (n' < Z.to_nat (64 - i))%nat /\ exists i, r = [p; frame; i] /\ 0 <= i <= 64 /\
          n' = Z.to_nat (64 - i) /\ exists s1, share_rep s1 d /\ ended_below s p which i s1)
        (fun r d => 0 = 0 /\ share_rep (Shares (without p which <$> shares s)
          (<[p := standing p (without p which <$> shares s)]> (offers s))) d) (fun v d => v = 0 /\ share_rep
          (Shares (without p which <$> shares s) (<[p := standing p (without p which <$> shares s)]> (offers s))) d)
        [p; frame; i] d2).
    { intros s2 d2 H2 He. step. rewrite wrap_small by lia. exists (Z.to_nat (64 - (i + 1))). split; [lia|].
      exists (i + 1). split_and!; try done; try lia. eauto. }
    step. step. change (offered x =? 4294967295) with (offered x =? NONE).
    destruct ((from x =? p) && negb (offered x =? NONE)) eqn:E.
    2: { step. eapply Hnext; [exact Hr|]. eapply ended_skip; [exact Hs1|exact Hx|].
      unfold offers_by. by rewrite E. }
    step. change (frame =? 4294967295) with (frame =? NONE).
    destruct ((frame =? NONE) || (offered x =? frame)) eqn:E'.
    2: { step. eapply Hnext; [exact Hr|]. eapply ended_skip; [exact Hs1|exact Hx|].
      unfold offers_by, which. by rewrite E, E'. }
    destruct (share_clear_some s1 i x HV1 Hx) as [s2 Hc].
    { intros Ho. rewrite Ho, Z.eqb_refl, andb_false_r in E. done. }
    assert (Hp' : p = from x) by (symmetry; apply Z.eqb_eq; by apply andb_true_iff in E as [E _]).
    eapply owned_call_whole; [evaluate|rewrite Hp'; by eapply share_clear_triple|]. intros w d2 [-> H2].
    cbn [set_result]. eapply Hnext; [exact H2|]. eapply ended_clear; [exact Hp|exact Hs1|exact Hx| |exact Hc].
    unfold offers_by, which. by rewrite E, E'.
  Qed.
End proof.
