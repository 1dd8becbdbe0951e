(** Shares: offering and accepting, during which the frame's owners are read or changed while the lock is held.

    Of the frame layer's programs only this is used: each has a continuation, and leaves the shares that its caller holds
    unchanged. *)
From Ashlar Require Export layers.share.Implements.
Local Opaque gmap_lookup gmap_partial_alter.

Section transact.
  Context (X : layout) (Y : slot X share_state share_rep share_valid).
  Context (HY : slot_lock Y = LOCK_SHARE).
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, share_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation owned := (Owned.owned kernel_entry M cpu).
  Notation o := (slot_object Y).

  (** A program leaves the shares that the CPU holds as they are. *)
  Definition keeps_shares (spec : list Z -> (Z -> prog X) -> prog X) : Prop :=
    forall args a v a', yields X (spec args Ret) a v a' -> a' !! o = a !! o.

  Context (owners : list Z -> (Z -> prog X) -> prog X) (add_owner : list Z -> (Z -> prog X) -> prog X).
  Context (owners_continuation : has_continuation X owners) (add_owner_continuation : has_continuation X add_owner).
  Context (owners_keeps : keeps_shares owners) (add_owner_keeps : keeps_shares add_owner).
  Context (owners_implements : implements_then "frame_owners" owners).
  Context (add_owner_implements : implements_then "frame_add_owner" add_owner).

  (** ** The programs *)
  Definition on_shares (f : share_state -> option (Z * share_state)) : objects X -> option (Z * objects X) :=
    update_object o (lift Y f).
  Definition unlock (v : Z) (κ : Z -> prog X) : prog X := Act (RELEASE, [slot_lock Y]) (fun _ => κ v).

  Definition offer (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [i; p; frame] =>
        Act (ACQUIRE, [slot_lock Y]) (fun _ =>
          owners [frame] (fun mask =>
            Loc (on_shares (fun s => share_offer s i p frame mask)) (fun v => unlock v κ)))
    | _ => Fail
    end.
  (** What is done while the lock is held. *)
  Definition accept_held (i p : Z) (κ : Z -> prog X) : prog X :=
    Loc (on_shares (fun s => share_accept_may s i p)) (fun may =>
      if may =? STATUS_OK then
        Loc (on_shares (fun s => share_offered s i)) (fun frame =>
          add_owner [frame; p] (fun status => Loc (on_shares (fun s => share_accept_end s i status)) κ))
      else κ may).
  Definition accept (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [i; p] => Act (ACQUIRE, [slot_lock Y]) (fun _ => accept_held i p (fun v => unlock v κ))
    | _ => Fail
    end.

  (** ** Objects and cells *)
  Lemma on_shares_inv f a v a' : on_shares f a = Some (v, a') -> exists st s s',
    a !! o = Some st /\ slot_out Y st = Some s /\ f s = Some (v, s') /\ a' = <[o := slot_in Y s']> a.
  Proof using.
    unfold on_shares, update_object. destruct (a !! o) as [st|]; [|done].
    destruct (lift Y f st) as [[w st']|] eqn:E; [|done]. intros [= -> <-].
    apply lift_inv in E as (s & s' & Hs & Hf & ->). by exists st, s, s'.
  Qed.
  Lemma on_shares_some f a s v s' : a !! o = Some (slot_in Y s) -> f s = Some (v, s') ->
    on_shares f a = Some (v, <[o := slot_in Y s']> a).
  Proof using. intros Ha Hf. unfold on_shares, update_object, lift. by rewrite Ha, slot_in_out, Hf. Qed.

  (** The cells of the shares that a CPU holds, and the rest. *)
  Lemma shares_open a m st : rep X a m -> a !! o = Some st -> exists s d rest,
    st = slot_in Y s /\ share_rep s d /\ d ##ₘ rest /\ m = d ∪ rest /\ represents (obj_rep X) (delete o a) rest.
  Proof using.
    intros Hr Ho. destruct (represents_open _ _ _ o st Hr Ho) as (d & rest & Hd & Hdis & -> & Hrest).
    apply slot_rep in Hd as (s & -> & Hd). by exists s, d, rest.
  Qed.

  (** What the shares' owner yields after acquiring the lock. *)
  Lemma yields_shares f (κ : Z -> prog X) a s v s' w a' : a !! o = Some (slot_in Y s) -> f s = Some (v, s') ->
    yields X (κ v) (<[o := slot_in Y s']> a) w a' -> yields X (Loc (on_shares f) κ) a w a'.
  Proof using. intros Ha Hf Hy. eapply yields_loc; [by eapply on_shares_some|exact Hy]. Qed.
  Lemma yields_unlock a s v : share_valid s -> a !! o = Some (slot_in Y s) -> yields X (unlock v Ret) a v (delete o a).
  Proof using.
    intros HV Ha. eapply yields_act; [|constructor].
    eapply (response_release X _ o (slot_in Y s)); [apply slot_guards|exact Ha|by apply slot_valid].
  Qed.

  (** Releasing the lock after the last statement on the cells. *)
  Lemma fwp_unlock Post s' d rest a v (κ : Z -> prog X) (Q : call_post) :
    share_rep s' d -> d ##ₘ rest -> represents (obj_rep X) (delete o a) rest ->
    (forall m', rep X (delete o a) m' -> Q 0 m' (κ v, delete o a)) ->
    fwp (G := pstate X) (sim X kernel_entry M cpu Post) RELEASE [slot_lock Y] (d ∪ rest)
      (unlock v κ, <[o := slot_in Y s']> a) Q.
  Proof using lock_release.
    intros Hr Hd Hrest HQ.
    apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock Y) o d rest (slot_in Y s') a (fun _ => κ v));
      [apply slot_guards|apply slot_rep; eauto|done|done|done].
  Qed.

  (** ** Offering *)
  Lemma owned_offer s i p frame mask v s' (d : mem) : share_rep s d -> share_valid s ->
    share_offer s i p frame mask = Some (v, s') ->
    owned (If (CAnd (CAnd (Cmp Eq (Load "share" (Var 0) "from" (Const 0)) (Var 1))
                   (Cmp Eq (Load "share" (Var 0) "offered" (Const 0)) (Const 4294967295)))
             (Cmp Eq (Bin W64 And (Bin W64 Shr (Var 4) (Var 1)) (Const 1)) (Const 1)))
         (Seq (Store "share" (Var 0) "offered" (Const 0) (Var 2))
         (Seq (Store "share_offers" (Var 1) "" (Const 0)
                (Bin W32 Add (Load "share_offers" (Var 1) "" (Const 0)) (Const 1)))
              (Assign 3 (Const 0)))) Skip)
      (fun r d' => r = [i; p; frame; v; mask] /\ share_rep s' d') (fun _ _ => False) (fun _ _ => False)
      [i; p; frame; ERR_BAD_STATE; mask] d.
  Proof using HM.
    intros Hr HV Hg. unfold share_offer in Hg. destruct (frame_id frame); [|done].
    destruct (shares s !! i) as [x|] eqn:Hi; [|done]. destruct (offers s !! p) as [n|] eqn:Hn; [|done].
    assert (0 <= p < 64) as Hp by (apply (valid_process s HV); eauto).
    pose proof (read_share s d i x Hr Hi) as (R1 & R2 & R3 & R4). unfold share_cell in *.
    pose proof (offers_bound s HV p n Hn) as Hb. step.
    assert (Hbit : (Z.land (Z.shiftr mask p) 1 =? 1) = owns mask p).
    { unfold owns. rewrite (Z.land_ones _ 1), <- Z.bit0_mod, Z.shiftr_spec by lia. rewrite Z.add_0_l.
      by destruct (Z.testbit mask p). }
    rewrite Hbit. change (offered x =? 4294967295) with (offered x =? NONE).
    destruct (_ && owns mask p); injection Hg as <- <-; [|by step].
    apply owned_seq. eapply owned_put; [exact Hr|exact Hi|evaluate|evaluate|field|]. intros d1 H1.
    pose proof (read_count _ d1 p n H1 Hn) as R. unfold offers_cell in R. apply owned_seq.
    eapply owned_count; [exact H1|exact Hn|evaluate|evaluate|]. rewrite wrap_small by lia. intros d2 H2. by step.
  Qed.

  Theorem share_offer_implements : implements_then "share_offer" offer.
  Proof using HM HY lock_acquire lock_release owners_continuation owners_keeps owners_implements.
    eapply implements_then_body; [by apply HM|]. intros Post args m a κ Q Hr HQ.
    destruct args as [|i [|p [|frame [|??]]]]; [by right..| |by right]. left. split; [done|].
    unfold body_wp, share_offer_code. cbn [fn_body fn_locals]. locals_simpl. cbn [offer] in *.
    wp_seq. wp_assign. wp_seq. wp_call. change [72] with [LOCK_SHARE]. rewrite <- HY.
    eapply fwp_acquire; [done|apply slot_guards|exact Hr|]. intros st m1 Hval Hr1. locals_simpl.
    wp_seq. wp_call. apply fwp_settle. eapply fwp_then; [exact owners_implements|exact Hr1|].
    intros mask m2 a2 Hy2 Hr2. pose proof (owners_keeps _ _ _ _ Hy2) as Ho2. rewrite lookup_insert in Ho2.
    destruct (shares_open a2 m2 st Hr2 Ho2) as (s & d & rest & -> & Hd & Hdis & -> & Hrest).
    apply slot_valid in Hval.
    destruct (share_offer s i p frame mask) as [[v s']|] eqn:Hg.
    2: { apply settles_loc_fail. unfold on_shares, update_object, lift. by rewrite Ho2, slot_in_out, Hg. }
    eapply settles_loc; [by eapply on_shares_some|]. apply settles_now. locals_simpl. wp_seq.
    apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono with (Qb := fun _ _ => False) (Qr := fun _ _ => False); [|done|done|by eapply owned_offer].
    intros r' d' (-> & Hrep') Hdis'. cbn beta. wp_seq. wp_call. change [72] with [LOCK_SHARE]. rewrite <- HY.
    apply fwp_unlock; [done|done|done|]. intros m3 Hr3. locals_simpl. wp_return. apply settles_now, HQ; [|done].
    eapply yields_act; [eapply response_acquire; [apply slot_guards|by apply slot_valid]|].
    eapply yields_then; [exact owners_continuation|exact Hy2|]. cbn beta.
    eapply yields_shares; [exact Ho2|exact Hg|]. rewrite <- (delete_insert_delete a2 o (slot_in Y s')).
    apply (yields_unlock _ s'); [by eapply share_offer_valid|apply lookup_insert].
  Qed.

  (** ** Accepting *)
  Lemma owned_accept_end s i status v s' p (d : mem) x : share_rep s d -> share_valid s -> shares s !! i = Some x ->
    share_accept_end s i status = Some (v, s') ->
    v = status /\ owned (If (Cmp Eq (Var 3) (Const 0))
         (Seq (Store "share" (Var 0) "accepted" (Const 0) (Var 2)) (Call None "share_clear"
           [Var 0; Load "share" (Var 0) "from" (Const 0)])) Skip)
      (fun r d' => r = [i; p; offered x; status] /\ share_rep s' d') (fun _ _ => False) (fun _ _ => False)
      [i; p; offered x; status] d.
  Proof using HM.
    intros Hr HV Hi Hg. unfold share_accept_end in Hg. rewrite Hi in Hg.
    change (status =? STATUS_OK) with (status =? 0) in Hg. destruct (Z.eqb_spec status 0) as [->|Hne].
    2: { injection Hg as <- <-. split; [done|]. step. rewrite (proj2 (Z.eqb_neq _ _) Hne). by step. }
    destruct (share_clear _ i) as [[w s1]|] eqn:Hc; [|done]. injection Hg as <- <-. split; [done|]. step.
    change (0 =? 0) with true. cbv iota. step. eapply owned_put; [exact Hr|exact Hi|evaluate|evaluate|field|]. intros d1 H1.
    pose proof (read_share _ d1 i _ H1 (lookup_insert _ _ _)) as (R1 & _). unfold share_cell in R1.
    eapply owned_call_whole; [evaluate| |].
    - eapply (share_clear_triple kernel_entry M cpu HM _ d1 i);
        [exact H1|by apply (accepted_valid s)|apply lookup_insert|exact Hc].
    - intros u d2 [-> H2]. done.
  Qed.

  (** The CPU holds the shares in state [s], its cells being [d]. *)
  Definition holds (s : share_state) (d rest : mem) (a : objects X) : Prop :=
    share_valid s /\ share_rep s d /\ d ##ₘ rest /\ represents (obj_rep X) (delete o a) rest.

  Theorem share_accept_locked_correct Post i p s d rest a κ (Q : call_post) : holds s d rest a ->
    rep X (<[o := slot_in Y s]> a) (d ∪ rest) ->
    (forall v s' d' rest' a', holds s' d' rest' a' ->
       (forall κ w b, yields X (κ v) (<[o := slot_in Y s']> a') w b ->
          yields X (accept_held i p κ) (<[o := slot_in Y s]> a) w b) ->
       Q v (d' ∪ rest') (κ v, <[o := slot_in Y s']> a')) ->
    fwp (G := pstate X) (sim X kernel_entry M cpu Post) "share_accept_locked" [i; p] (d ∪ rest)
      (accept_held i p κ, <[o := slot_in Y s]> a) Q.
  Proof using HM add_owner_continuation add_owner_keeps add_owner_implements.
    intros Hh Hr HQ. pose proof Hh as (HV & Hd & Hdis & Hrest). apply fwp_loc. intros may a1 Hmay.
    apply on_shares_inv in Hmay as (st & s0 & s1 & Hst & Hs0 & Hmay & ->). rewrite lookup_insert in Hst.
    injection Hst as <-. rewrite slot_in_out in Hs0. injection Hs0 as <-. pose proof Hmay as Hmay'.
    unfold share_accept_may in Hmay. destruct (shares s !! i) as [x|] eqn:Hi; [|done]. injection Hmay as Hmay <-.
    rewrite insert_insert. pose proof (read_share s d i x Hd Hi) as (R1 & R2 & R3 & R4). unfold share_cell in *.
    apply (own_read _ rest) in R2, R3. change NONE with 4294967295 in Hmay.
    destruct (may =? STATUS_OK) eqn:Eok.
    2: { (* refused: nothing happens *)
      assert (HQ' : Q may (d ∪ rest) (κ may, <[o := slot_in Y s]> a)).
      { apply HQ; [done|]. intros κ' w b Hy. eapply yields_shares; [apply lookup_insert|exact Hmay'|].
        rewrite Eok, insert_insert. exact Hy. }
      eapply fwp_body; [apply sim_step_closed|by apply HM|done|]. unfold body_wp, share_accept_locked_code.
      cbn [fn_body fn_locals]. locals_simpl. wp_seq. wp_assign. wp_seq. wp_if. destruct (to x =? p); cbn [negb] in *.
      - wp_skip. wp_seq. wp_if. destruct (offered x =? 4294967295); [|by subst may]. wp_return. by subst may.
      - wp_return. by subst may. }
    destruct (to x =? p) eqn:Hto; [|by subst may]. cbn [negb] in Hmay.
    destruct (offered x =? 4294967295) eqn:Hoff; [by subst may|].
    apply fwp_loc. intros frame a2 Hframe.
    apply on_shares_inv in Hframe as (st & s0 & s1 & Hst & Hs0 & Hframe & ->). rewrite lookup_insert in Hst.
    injection Hst as <-. rewrite slot_in_out in Hs0. injection Hs0 as <-. pose proof Hframe as Hframe'.
    unfold share_offered in Hframe. rewrite Hi in Hframe. injection Hframe as <- <-. rewrite insert_insert.
    eapply fwp_body; [apply sim_step_closed|by apply HM|done|]. unfold body_wp, share_accept_locked_code.
    cbn [fn_body fn_locals]. locals_simpl. wp_seq. wp_assign. wp_seq. wp_if. rewrite Hto. cbn [negb]. wp_skip.
    wp_seq. wp_if. rewrite Hoff. wp_skip. wp_seq. wp_call.
    apply fwp_settle. eapply fwp_then; [exact add_owner_implements|exact Hr|]. intros status m3 a3 Hy3 Hr3.
    pose proof (add_owner_keeps _ _ _ _ Hy3) as Ho3. rewrite lookup_insert in Ho3.
    destruct (shares_open a3 m3 _ Hr3 Ho3) as (s3 & d3 & rest3 & E3 & Hd3 & Hdis3 & -> & Hrest3).
    apply (f_equal (slot_out Y)) in E3. rewrite !slot_in_out in E3. injection E3 as <-.
    destruct (share_accept_end s i status) as [[v s']|] eqn:Hg.
    2: { apply settles_loc_fail. unfold on_shares, update_object, lift. by rewrite Ho3, slot_in_out, Hg. }
    eapply settles_loc; [by eapply on_shares_some|]. apply settles_now. locals_simpl. wp_seq.
    destruct (owned_accept_end s i status v s' p d3 x Hd3 HV Hi Hg) as [-> Hb].
    apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono with (Qb := fun _ _ => False) (Qr := fun _ _ => False); [|done|done|exact Hb].
    intros r' d' (-> & Hrep') Hdis'. cbn beta. wp_return.
    apply HQ; [split_and!; try done; by eapply share_accept_end_valid|]. intros κ' w b Hy.
    eapply yields_shares; [apply lookup_insert|exact Hmay'|]. rewrite Eok, insert_insert.
    eapply yields_shares; [apply lookup_insert|exact Hframe'|]. rewrite insert_insert.
    eapply yields_then; [exact add_owner_continuation|exact Hy3|]. eapply yields_shares; [exact Ho3|exact Hg|exact Hy].
  Qed.

  Theorem share_accept_implements : implements_then "share_accept" accept.
  Proof using HM HY lock_acquire lock_release add_owner_continuation add_owner_keeps add_owner_implements.
    eapply implements_then_body; [by apply HM|]. intros Post args m a κ Q Hr HQ.
    destruct args as [|i [|p [|??]]]; [by right..| |by right]. left. split; [done|].
    unfold body_wp, share_accept_code. cbn [fn_body fn_locals]. locals_simpl. cbn [accept] in *.
    wp_seq. wp_call. change [72] with [LOCK_SHARE]. rewrite <- HY.
    eapply fwp_acquire; [done|apply slot_guards|exact Hr|]. intros st m1 Hval Hr1. locals_simpl. wp_seq. wp_call.
    destruct (shares_open _ _ st Hr1 (lookup_insert _ _ _)) as (s & d & rest & -> & Hd & Hdis & -> & Hrest).
    rewrite delete_insert_delete in Hrest. apply slot_valid in Hval.
    apply share_accept_locked_correct; [by split_and!|exact Hr1|].
    intros v s' d' rest' a' (HV' & Hd' & Hdis' & Hrest') Hy. locals_simpl. wp_seq. wp_call.
    change [72] with [LOCK_SHARE]. rewrite <- HY. apply fwp_unlock; [done|done|done|].
    intros m3 Hr3. locals_simpl. wp_return. apply settles_now, HQ; [|done].
    eapply yields_act; [eapply (response_acquire X _ o (slot_in Y s)); [apply slot_guards|by apply slot_valid]|]. apply Hy.
    rewrite <- (delete_insert_delete a' o (slot_in Y s')). eapply yields_unlock; [exact HV'|apply lookup_insert].
  Qed.
End transact.
