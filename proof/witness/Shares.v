(** A client that keeps the requirements, IV: transactions on shares are total.

    While a CPU holds the shares no other CPU changes them; so it knows all of them until it returns them. *)
From Ashlar Require Export witness.Frames.

Section shares.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start shares_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start shares_start).
  Notation share_slot := (share_slot kernel_entry root_quota frames_start shares_start).
  Notation owned_frame_cell := (kernel_owned_frames kernel_entry root_quota frames_start shares_start).
  Notation with_owned := (with_owned kernel_entry root_quota frames_start shares_start).
  Notation quiet := (quiet kernel_entry root_quota frames_start shares_start).
  Notation share_table := share.Spec.shares.

  Definition with_shares (s : share_state) (a : objects X) : objects X := <[Objects.Shares := SharesState s]> a.
  Lemma quiet_shares a h s : quiet a h -> quiet (with_shares s a) h.
  Proof. intros (H1 & H2 & H3). unfold Frames.quiet, with_shares. by rewrite !lookup_insert_ne by done. Qed.

  Section cpu.
    Context (c : nat) (not_root : mine c < NUM_PROCESS - 1) (Post : Z -> objects X -> states X -> Prop).
    Notation total := (TopTotal.total X may c Post).
    Notation stable := (TopTotal.stable X may c).
    Notation K := (K kernel_entry root_quota frames_start shares_start c).
    Notation sees_map := (sees_map kernel_entry root_quota frames_start shares_start c).
    Notation home_knows := (home_knows kernel_entry root_quota frames_start shares_start c).
    Notation i := (own_share c).
    Context (s : page_map).

    Definition held (ss : share_state) (st : states X) : Prop := sees_map s st /\ st LOCK_SHARE = Some (SharesState ss).
    Lemma held_stable a h ss ss' : stable (with_owned h (with_shares ss a)) (held ss').
    Proof.
      apply and_stable; [apply sees_map_stable|]. intros st c' k s' Hne _ Hn _ Hs. rewrite changed_ne; [done|]. intros ->.
      specialize (Hn Objects.Shares eq_refl). unfold Rules.with_owned, with_shares in Hn.
      rewrite lookup_insert_ne, lookup_insert in Hn by done. done.
    Qed.
    Lemma held_stable' a ss ss' : stable (with_shares ss a) (held ss').
    Proof.
      apply and_stable; [apply sees_map_stable|]. intros st c' k s' Hne _ Hn _ Hs. rewrite changed_ne; [done|]. intros ->.
      specialize (Hn Objects.Shares eq_refl). unfold with_shares in Hn. rewrite lookup_insert in Hn by done. done.
    Qed.
    Lemma held_indifferent ss : indifferent kernel_entry root_quota frames_start shares_start (held ss).
    Proof.
      intros st k s' Hk [Hm Hs]. split.
      - unfold Knowledge.sees_map in *. rewrite changed_ne; [done|].
        unfold LOCK_PAGEMAP_BASE, LOCK_CONTAINER, LOCK_FRAME, mine in *. lia.
      - rewrite changed_ne; [done|]. by destruct Hk as [-> | ->].
    Qed.

    (** The CPU's own share is [x]; no other is from one of its processes. *)
    Definition own_shares (ss : share_state) (x : share) : Prop :=
      share_valid ss /\ share_table ss !! i = Some x /\ forall j y, share_table ss !! j = Some y -> works c (from y) -> j = i.
    (** Only the CPU's own share is another. *)
    Definition own_change (ss ss' : share_state) (x x' : share) : Prop :=
      share_valid ss' /\ from x' = from x /\ to x' = to x /\
      forall j, share_table ss' !! j = if decide (j = i) then Some x' else share_table ss !! j.
    Lemma own_change_refl ss x : own_shares ss x -> own_change ss ss x x.
    Proof using. intros (Hv & Hx & _). split; [done|]. split; [done|]. split; [done|]. intros j. by destruct (decide _) as [->|]. Qed.
    Lemma own_change_trans ss ss1 ss2 x x1 x2 : own_change ss ss1 x x1 -> own_change ss1 ss2 x1 x2 -> own_change ss ss2 x x2.
    Proof using.
      intros (_ & F1 & T1 & H1) (Hv & F2 & T2 & H2). split; [done|]. split; [congruence|]. split; [congruence|].
      intros j. rewrite H2. destruct (decide (j = i)) as [|Hj]; [done|]. rewrite H1. by rewrite decide_False.
    Qed.
    Lemma own_change_shares ss ss' x x' : own_shares ss x -> own_change ss ss' x x' -> own_shares ss' x'.
    Proof using.
      intros (_ & Hx & Ho) (Hv & Hf & _ & H). split; [done|]. split; [by rewrite H, decide_True|].
      intros j y Hj Hw. rewrite H in Hj. destruct (decide (j = i)); [done|]. by eapply Ho.
    Qed.

    Lemma total_begin q a m F x : a !! Objects.Shares = None ->
      (forall ss, own_shares ss x -> total q (with_shares ss a) (K m F (held ss))) ->
      total (Act (Lock (ACQUIRE, [slot_lock share_slot])) (fun _ => q)) a (K m F (home_knows s x)).
    Proof using not_root.
      intros Ha Hq. cbn [TopTotal.total]. change (String.eqb ACQUIRE ACQUIRE) with true. cbv iota.
      intros st Hv (Hc & Hf & Hm & ss & Es & Hx & Ho). change (slot_lock share_slot) with LOCK_SHARE. rewrite Es.
      cbn [ld_pull object_data]. change (obj_of_lock X LOCK_SHARE) with (Some Objects.Shares). cbv iota.
      exists (K m F (held ss)). split; [apply K_stable; [done|]; apply held_stable'|]. split; [done|].
      apply Hq. split; [|done]. destruct (Hv LOCK_SHARE Objects.Shares eq_refl) as (s2 & Es2 & Hs2). rewrite Es in Es2.
      by injection Es2 as <-.
    Qed.
    Lemma total_end q a m F ss ss' x x' : a !! Objects.Shares = None -> own_shares ss x -> own_change ss ss' x x' ->
      total q a (K m F (home_knows s x')) ->
      total (Act (Lock (RELEASE, [slot_lock share_slot])) (fun _ => q)) (with_shares ss' a) (K m F (held ss)).
    Proof using not_root.
      intros Ha Hss Hch Hq. pose proof (own_change_shares _ _ _ _ Hss Hch) as Hss'.
      cbn [TopTotal.total]. change (String.eqb RELEASE ACQUIRE) with false. change (String.eqb RELEASE RELEASE) with true. cbv iota.
      change (slot_lock share_slot) with LOCK_SHARE. exists (Some (SharesState ss')), a. split.
      { cbn [ld_push object_data]. change (obj_of_lock X LOCK_SHARE) with (Some Objects.Shares). cbv iota.
        unfold with_shares. rewrite lookup_insert. rewrite decide_True by apply Hss'. f_equal. f_equal. by apply delete_insert. }
      intros st Hv ((cs & Ec & Hc) & (fs & Ef & Hf) & Hm & Es). split.
      - rewrite Es. destruct Hch as (_ & Hfrom & _ & Hch). split; intros j.
        + intros Hj. rewrite Hch. by rewrite decide_False.
        + rewrite Hch. destruct (decide (j = i)) as [->|]; [|done]. destruct Hss as (_ & -> & _). simpl. by rewrite Hfrom.
      - exists (K m F (home_knows s x')). split; [apply K_stable; [done|apply home_knows_stable]|]. split; [|done].
        split; [exists cs; by rewrite changed_ne|]. split; [exists fs; by rewrite changed_ne|]. split.
        + unfold Knowledge.sees_map in *. rewrite changed_ne; [done|]. unfold LOCK_SHARE, LOCK_PAGEMAP_BASE, mine, NUM_PROCESS in *. lia.
        + exists ss'. split; [apply changed_eq|]. apply Hss'.
    Qed.
    Lemma total_on_shares g κ a ss v ss' K0 : g ss = Some (v, ss') -> total (κ v) (with_shares ss' a) K0 ->
      total (Loc (update_object (slot_object share_slot) (lift share_slot g)) κ) (with_shares ss a) K0.
    Proof using.
      intros Hg Ht. cbn [TopTotal.total]. exists v, (with_shares ss' a). split; [|split; [|exact Ht]].
      - unfold update_object, with_shares. change (slot_object share_slot) with Objects.Shares. rewrite lookup_insert.
        cbn [lift slot_out Objects.share_slot]. rewrite Hg. cbn [slot_in Objects.share_slot]. by rewrite insert_insert.
      - unfold with_shares. intros k. split; intros Hn o Ho; specialize (Hn o Ho);
          destruct (decide (Objects.Shares = o)) as [<-|Hne]; rewrite ?lookup_insert in *; try done;
          by rewrite !lookup_insert_ne in * by done.
    Qed.

    (** One update of the shares. *)
    Lemma total_share f args g a m F x : a !! Objects.Shares = None -> f args = Some g ->
      (forall ss, own_shares ss x -> exists v ss' x', g ss = Some (v, ss') /\ own_change ss ss' x x' /\
         total (Ret v) a (K m F (home_knows s x'))) ->
      total (top_share X share_slot f args) a (K m F (home_knows s x)).
    Proof using not_root.
      intros Ha Hf Hg. unfold top_share. rewrite Hf. apply total_begin; [done|]. intros ss Hss.
      destruct (Hg ss Hss) as (v & ss' & x' & Eg & Hch & Ht). eapply total_on_shares; [exact Eg|]. by eapply total_end.
    Qed.

    (** ** The changes of the functions *)
    Lemma shares_with ss x x' n q : own_shares ss x -> from x' = from x -> to x' = to x ->
      share_valid (Shares (<[i := x']> (share_table ss)) (<[q := n]> (offers ss))) ->
      own_change ss (Shares (<[i := x']> (share_table ss)) (<[q := n]> (offers ss))) x x'.
    Proof using.
      intros Hss Hf Ht Hv. split; [done|]. split; [done|]. split; [done|]. intros j. cbn [share.Spec.shares].
      destruct (decide (j = i)) as [->|]; [apply lookup_insert|by apply lookup_insert_ne].
    Qed.
    Lemma offers_some ss q : share_valid ss -> works c q -> exists n, offers ss !! q = Some n.
    Proof using not_root.
      intros (_ & Hd & _) Hq. apply elem_of_dom. rewrite Hd, elem_of_list_to_set, elem_of_seqZ. pose proof (works_range c not_root q Hq). lia.
    Qed.
    Lemma offer_change ss x q f mask : own_shares ss x -> works c q -> 0 <= f < NUM_FRAME ->
      exists v ss' x', share.Spec.share_offer ss i q f mask = Some (v, ss') /\ own_change ss ss' x x' /\
        (x' = x \/ x' = set_offered f x).
    Proof using not_root.
      intros Hss Hq Hf. pose proof Hss as (Hv & Hx & _). destruct (offers_some ss q Hv Hq) as [n Hn].
      destruct (share.Spec.share_offer ss i q f mask) as [[v ss']|] eqn:E.
      2: { exfalso. unfold share.Spec.share_offer in E. assert (share.Spec.frame_id f = true) as Ef
             by (unfold share.Spec.frame_id, NUM_FRAME, NONE in *; lia). rewrite Ef, Hx, Hn in E. by destruct (_ && _). }
      pose proof (share_offer_valid _ _ _ _ _ _ _ Hv E) as Hv'. unfold share.Spec.share_offer in E.
      destruct (share.Spec.frame_id f); [|done]. rewrite Hx, Hn in E. destruct (_ && _); injection E as <- <-.
      - exists STATUS_OK. eexists _, (set_offered f x). split; [done|]. split; [by apply shares_with|by right].
      - exists ERR_BAD_STATE, ss, x. split; [done|]. split; [by apply own_change_refl|by left].
    Qed.
    Lemma clear_change ss x : own_shares ss x -> works c (from x) -> offered x <> NONE ->
      exists v ss', share.Spec.share_clear ss i = Some (v, ss') /\ own_change ss ss' x (set_offered NONE x).
    Proof using not_root.
      intros Hss Hw Ho. pose proof Hss as (Hv & Hx & _). destruct (offers_some ss _ Hv Hw) as [n Hn].
      destruct (share.Spec.share_clear ss i) as [[v ss']|] eqn:E.
      - exists v, ss'. split; [done|]. pose proof (share_clear_valid _ _ _ _ Hv E) as Hv'. unfold share.Spec.share_clear in E.
        rewrite Hx, Hn in E. rewrite (proj2 (Z.eqb_neq _ _)) in E by done. injection E as <- <-. by apply shares_with.
      - unfold share.Spec.share_clear in E. rewrite Hx, Hn in E. by rewrite (proj2 (Z.eqb_neq _ _)) in E.
    Qed.
    Lemma withdraw_change ss x q : own_shares ss x -> works c (from x) ->
      exists v ss' x', share.Spec.share_withdraw ss i q = Some (v, ss') /\ own_change ss ss' x x' /\
        (x' = x \/ x' = set_offered NONE x).
    Proof using not_root.
      intros Hss Hw. pose proof Hss as (Hv & Hx & _). unfold share.Spec.share_withdraw. rewrite Hx.
      destruct (offers_by q x) eqn:E.
      - destruct (clear_change ss x Hss Hw) as (v & ss' & -> & Hch).
        { unfold offers_by in E. apply andb_true_iff in E as [_ E%negb_true_iff%Z.eqb_neq]. done. }
        exists STATUS_OK, ss', (set_offered NONE x). split; [done|]. split; [done|by right].
      - exists ERR_BAD_STATE, ss, x. split; [done|]. split; [by apply own_change_refl|by left].
    Qed.
    Lemma end_all_change ss x which : own_shares ss x -> from x = mine c ->
      exists v ss', share_end_all ss (mine c) which = Some (v, ss') /\ own_change ss ss' x (share.Spec.without (mine c) which x).
    Proof using not_root.
      intros Hss Hx0. pose proof Hss as (Hv & Hx & Ho). destruct (offers_some ss (mine c) Hv) as [n Hn]; [by left|].
      destruct (share_end_all ss (mine c) which) as [[v ss']|] eqn:E; [|unfold share_end_all in E; by rewrite Hn in E].
      exists v, ss'. split; [done|]. pose proof (share_end_all_valid _ _ _ _ _ Hv E) as Hv'. unfold share_end_all in E. rewrite Hn in E.
      injection E as <- <-. split; [done|]. unfold share.Spec.without. split; [by destruct (_ && _)|]. split; [by destruct (_ && _)|].
      intros j. cbn [share.Spec.shares]. rewrite lookup_fmap. destruct (decide (j = i)) as [->|Hj]; [by rewrite Hx|].
      destruct (share_table ss !! j) as [y|] eqn:Ey; [|done]. simpl. f_equal.
      destruct (offers_by (mine c) y) eqn:Eo; [|done]. exfalso. apply Hj. apply (Ho j y Ey). left.
      unfold offers_by in Eo. lia.
    Qed.
    Lemma accept_end_change ss x status : own_shares ss x -> works c (from x) -> offered x <> NONE ->
      exists ss' x', share_accept_end ss i status = Some (status, ss') /\ own_change ss ss' x x' /\
        (x' = x \/ offered x' = NONE).
    Proof using not_root.
      intros Hss Hw Ho. pose proof Hss as (Hv & Hx & Hother). unfold share_accept_end. destruct (Z.eqb_spec status STATUS_OK) as [->|].
      2: { exists ss, x. split; [done|]. split; [by apply own_change_refl|by left]. }
      rewrite Hx. set (ss1 := Shares (<[i := set_accepted x]> (share_table ss)) (offers ss)).
      assert (H1 : own_change ss ss1 x (set_accepted x)).
      { split; [by apply accepted_valid|]. split; [done|]. split; [done|]. intros j. cbn [ss1 share.Spec.shares].
        destruct (decide (j = i)) as [->|]; [apply lookup_insert|by apply lookup_insert_ne]. }
      destruct (clear_change ss1 (set_accepted x)) as (v & ss' & -> & H2); [by eapply own_change_shares|done|done|].
      exists ss', (set_offered NONE (set_accepted x)). split; [done|]. split; [by eapply own_change_trans|by right].
    Qed.

    (** ** Functions that ask about frames, or change them, while the shares are held *)
    Context (d : Z) (d_nonnegative : 0 <= d).
    Lemma total_owners f κ a h m F R : stable a R -> indifferent kernel_entry root_quota frames_start shares_start R -> quiet a h ->
      (forall v, total (κ v) a (K m F R)) -> 0 <= f ->
      total (top_owners X frames owned_frame_cell [f] κ) a (K m F R).
    Proof using not_root.
      intros HR HR' Ha Hκ Hf. pose proof Ha as (H1 & H2 & H3). unfold top_owners. destruct (Z.ltb_spec f NUM_FRAME); [|apply Hκ].
      eapply total_look; [done|exact HR'|exact HR|done|exact H3|apply frame_owners_look| |].
      - intros t. unfold frame_owners. rewrite (proj2 (frame_id_true f)) by lia. by eexists.
      - intros v. by rewrite with_owned_id.
    Qed.
    Lemma total_offer q f a h m F x : quiet a h -> a !! Objects.Shares = None -> works c q -> 0 <= f < NUM_FRAME ->
      (forall v x', from x' = from x -> to x' = to x -> x' = x \/ x' = set_offered f x -> total (Ret v) a (K m F (home_knows s x'))) ->
      total (top_offer X frames owned_frame_cell share_slot [i; q; f]) a (K m F (home_knows s x)).
    Proof using not_root.
      intros Ha Hno Hq Hf Ht. unfold top_offer. apply total_begin; [done|]. intros ss Hss.
      eapply (total_owners f _ _ h); [apply held_stable'|apply held_indifferent|by apply quiet_shares| |lia].
      intros mask. destruct (offer_change ss x q f mask Hss Hq Hf) as (v & ss' & x' & Eo & Hch & Hx').
      eapply total_on_shares; [exact Eo|]. eapply total_end; [done|exact Hss|exact Hch|]. apply Ht; [|apply Hch..|done].
      apply Hch.
    Qed.
    Lemma total_accept q mk a h m F x : quiet a h -> a !! Objects.Shares = None -> works c q -> works c (from x) ->
      books c d m F -> (offered x <> NONE -> F !! offered x = Some (mk, false)) ->
      (forall v m' x', v <> STATUS_OK -> from x' = from x -> to x' = to x -> x' = x \/ offered x' = NONE -> books c d m' F ->
         total (Ret v) a (K m' F (home_knows s x'))) ->
      (forall m' x', from x' = from x -> to x' = to x -> x' = x \/ offered x' = NONE -> Z.testbit mk q = false ->
         F !! offered x = Some (mk, false) ->
         books c d m' (<[offered x := (Z.lor mk (only q), false)]> F) ->
         total (Ret STATUS_OK) a (K m' (<[offered x := (Z.lor mk (only q), false)]> F) (home_knows s x'))) ->
      total (top_accept X containers frames owned_frame_cell share_slot [i; q]) a (K m F (home_knows s x)).
    Proof using not_root d_nonnegative.
      intros Ha Hno Hq Hw Hb HF Hrefused Haccepted. unfold top_accept. apply total_begin; [done|]. intros ss Hss.
      pose proof Hss as (Hv & Hx & _).
      assert (Hmay : exists may, share_accept_may ss i q = Some (may, ss) /\ (may = STATUS_OK -> offered x <> NONE)).
      { unfold share_accept_may. rewrite Hx. eexists. split; [reflexivity|]. destruct (negb _); [done|].
        destruct (Z.eqb_spec (offered x) NONE); done. }
      destruct Hmay as (may & Emay & Hoff). eapply total_on_shares; [exact Emay|]. destruct (Z.eqb_spec may STATUS_OK) as [->|Hne].
      2: { eapply total_end; [done|exact Hss|by apply own_change_refl|]. apply Hrefused; try done. by left. }
      specialize (Hoff eq_refl). specialize (HF Hoff).
      eapply (total_on_shares _ _ _ _ (offered x)); [unfold share_offered; by rewrite Hx|].
      eapply total_add_owner; [done|exact d_nonnegative|apply held_indifferent|apply held_stable'|by apply (quiet_shares _ h)|done|exact Hb|exact HF| |].
      - intros v m' Hv' Hb'. destruct (accept_end_change ss x v Hss Hw Hoff) as (ss' & x' & E & Hch & Hx').
        eapply total_on_shares; [exact E|]. eapply total_end; [done|exact Hss|exact Hch|]. apply Hrefused; try done; apply Hch.
      - intros m' Hbit Hb'. destruct (accept_end_change ss x STATUS_OK Hss Hw Hoff) as (ss' & x' & E & Hch & Hx').
        eapply total_on_shares; [exact E|]. eapply total_end; [done|exact Hss|exact Hch|]. apply Haccepted; try done; apply Hch.
    Qed.
  End cpu.
End shares.
