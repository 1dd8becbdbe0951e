(** A client that keeps the requirements, II: the calls of a CPU that works for its own process are total. *)
From Ashlar Require Export witness.Rules.

Lemma container_there (s : gmap Z container) q : container_valid s -> 0 <= q <= ROOT -> is_Some (s !! q).
Proof. intros (Hd & _) Hq. apply elem_of_dom. rewrite Hd, elem_of_list_to_set, elem_of_seqZ. lia. Qed.
Lemma only_inj q q' : 0 <= q -> 0 <= q' -> only q = only q' -> q = q'.
Proof. unfold only. intros H1 H2 H. by apply (Z.pow_inj_r 2) in H. Qed.
Lemma share_there (s : share_state) i : share_valid s -> 0 <= i < NUM_SHARE -> is_Some (share.Spec.shares s !! i).
Proof. intros (Hd & _) Hi. apply elem_of_dom. rewrite Hd, elem_of_list_to_set, elem_of_seqZ. lia. Qed.
Lemma offers_there (s : share_state) q : share_valid s -> 0 <= q < NUM_PROCESS -> is_Some (share.Spec.offers s !! q).
Proof. intros (_ & Hd & _) Hi. apply elem_of_dom. rewrite Hd, elem_of_list_to_set, elem_of_seqZ. lia. Qed.

Section calls.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory).
  Notation X := (kernel_layout kernel_entry root_quota frames_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start).
  Notation shares := (share_slot kernel_entry root_quota frames_start).
  Notation cpu_frames := (kernel_owned_frames kernel_entry root_quota frames_start).
  Notation states := (states X).
  Notation changed := (changed X).
  Notation known := (known X may).
  Notation charged := (charged kernel_entry root_quota frames_start).
  Notation owned := (owned kernel_entry root_quota frames_start).
  Notation charged_owned := (charged_owned kernel_entry root_quota frames_start).

  Context (start : nat -> objects X).
  Context (start_owned_frames : forall c, start c !! OwnedFrames = Some (OwnedFramesState ∅)).
  Context (start_free : forall c k o, kernel_object_of k = Some o -> start c !! o = None).
  Notation transacts_dependent := (transacts_dependent kernel_entry root_quota frames_start start).

  Context (c : nat) (cpu : Z.of_nat c < NUM_PROCESS).
  Notation p := (process c).
  Lemma process_range : 0 <= p < NUM_PROCESS.
  Proof using cpu. unfold process. lia. Qed.
  Lemma process_not_root : p <> ROOT.
  Proof using cpu. pose proof process_range. unfold ROOT. lia. Qed.

  Section programs.
    Context (Post : Z -> states -> Prop).
    Notation total := (total X may start c Post).
    Implicit Types K : states -> Prop.


    (** ** Containers *)
    Lemma total_charge κ h : (forall v, total (κ v) (transacts_dependent c h) (if v =? STATUS_OK then charged c else fun _ => True)) ->
      total (bind (top_function X containers (update2 container_charge) [p; 1]) κ) (transacts_dependent c h) (fun _ => True).
    Proof using start_free cpu.
      pose proof process_range as Hp. intros Hκ.
      eapply total_containers; [exact start_free|reflexivity|apply container_charge_keeps|].
      intros st s _ _ Hst Hv. destruct (container_there s p Hv) as [x Hx]; [unfold ROOT; lia|].
      pose proof (valid_ok s Hv p x Hx) as Hok. unfold container_ok in Hok. unfold container_charge. simpl word32. cbv iota. rewrite Hx.
      destruct (exists_ x) eqn:Ex; cbn [negb].
      2: { exists ERR_BAD_STATE, s. split; [done|]. split; [done|]. eapply known_intro; [apply anything_stable|done|]. apply Hκ. }
      destruct (quota x - usage x <? 1) eqn:Eq.
      { exists ERR_QUOTA, s. split; [done|]. split; [done|]. eapply known_intro; [apply anything_stable|done|]. apply Hκ. }
      exists STATUS_OK, (<[p := set_usage (usage x + 1) x]> s). split; [done|]. split.
      - intros q _ Hq. by rewrite lookup_insert_ne.
      - eapply known_intro; [apply charged_stable, process_not_root| |apply (Hκ STATUS_OK)].
        exists (<[p := set_usage (usage x + 1) x]> s), (set_usage (usage x + 1) x). split; [done|].
        split; [apply lookup_insert|]. simpl. split; [done|]. lia.
    Qed.
    Lemma total_refund κ h : (forall v, total (κ v) (transacts_dependent c h) (fun _ => True)) ->
      total (bind (top_function X containers (update2 container_refund) [p; 1]) κ) (transacts_dependent c h) (charged c).
    Proof using start_free.
      intros Hκ. eapply total_containers; [exact start_free|reflexivity|apply container_refund_keeps|].
      intros st s _ (s0 & x & Es & Hx & Ex & Hu) Hst Hv. rewrite Hst in Es. injection Es as <-. unfold container_refund.
      rewrite Hx, Ex. rewrite (proj2 (Z.leb_le 1 _)) by lia. cbn [andb Z.leb Z.compare].
      eexists _, _. split; [reflexivity|]. split; [intros q _ Hq; by rewrite lookup_insert_ne|].
      eapply known_intro; [apply anything_stable|done|]. apply Hκ.
    Qed.
    Lemma total_split n : 0 <= n < 2 ^ 32 -> (forall v st, Post v st) ->
      total (top_function X containers (update3 container_split) [ROOT; p; n]) (transacts_dependent c ∅) (fun _ => True).
    Proof using start_free start_owned_frames cpu.
      pose proof process_range as Hp. intros Hn HP.
      assert (Hκ : forall v, total (Ret v) (transacts_dependent c ∅) (fun _ => True)) by (intros v; apply total_ret; auto).
      change (total (bind (top_function X containers (update3 container_split) [ROOT; p; n]) Ret) (transacts_dependent c ∅) (fun _ => True)).
      eapply total_containers; [exact start_free|reflexivity|apply container_split_keeps|].
      intros st s _ _ Hst Hv. destruct (container_there s p Hv) as [y Hy]; [unfold ROOT; lia|].
      destruct (container_there s ROOT Hv) as [x Hx]; [unfold ROOT, NUM_PROCESS; lia|]. unfold container_split.
      assert (container_id ROOT && container_id p && negb (ROOT =? p) && word32 n = true) as ->.
      { unfold container_id, word32, ROOT in *. unfold NUM_PROCESS in *. lia. }
      rewrite Hx, Hy. destruct (negb (exists_ x) || exists_ y).
      { exists ERR_BAD_STATE, s. split; [done|]. split; [done|]. eapply known_intro; [apply anything_stable|done|]. apply Hκ. }
      destruct (quota x - usage x <? n).
      { exists ERR_QUOTA, s. split; [done|]. split; [done|]. eapply known_intro; [apply anything_stable|done|]. apply Hκ. }
      eexists _, _. split; [reflexivity|]. split.
      - intros q H1 H2. by rewrite !lookup_insert_ne.
      - eapply known_intro; [apply anything_stable|done|]. apply Hκ.
    Qed.

    (** ** Frames *)

    Lemma owned_look f b st s : charged_owned c f b st -> st LOCK_FRAME = Some s ->
      charged_owned c f b (changed st LOCK_FRAME (Some s)).
    Proof using. intros [Hc (s0 & Es & Ho)] Hs. split; [exact Hc|]. exists s0. split; [|done]. rewrite <- Es, Hs. done. Qed.
    Lemma anything_look (st : states) s : True -> st LOCK_FRAME = Some s -> True.
    Proof using. done. Qed.

    Lemma total_take κ :
      total (κ NONE) (transacts_dependent c ∅) (charged c) ->
      (forall f, 0 <= f < NUM_FRAME -> total (κ f) (transacts_dependent c {[f := None]}) (charged_owned c f true)) ->
      total (top_frame_memory X frames cpu_frames (frame_memory_take p) κ) (transacts_dependent c ∅) (charged c).
    Proof using start_free cpu.
      pose proof process_range as Hp. pose proof process_not_root as Hr. intros Hnone Hsome.
      apply total_frame_memory; [exact start_free|intros; by eapply take_valid|]. intros st s _ Hc Hst [Hv Hpv]. unfold frame_memory_take.
      assert (Ht : is_Some (frame_take (table s) p)).
      { unfold frame_take. rewrite (proj2 (process_id_true p)) by done. cbv zeta. by destruct (_ =? -1). }
      destruct Ht as [[f t] Et]. rewrite Et. destruct (Z.eqb_spec f NONE) as [->|Hf].
      - destruct (frame_take_none _ _ _ Hv Et) as [_ ->]. exists NONE, s, ∅. split; [by destruct s|].
        split; [by intros g q _ _ Ho|]. eapply known_intro; [by apply charged_stable|exact Hc|exact Hnone].
      - destruct (take_shape _ _ _ _ Hv Et Hf) as (_ & Hno & Hid & _ & Eo). eexists _, _, _. split; [reflexivity|]. split.
        + intros g q Hq0 Hq Hg. simpl. rewrite Eo. assert (f <> g) by (intros ->; congruence).
          rewrite lookup_insert_ne by done. split; [done|]. rewrite elem_of_union, elem_of_singleton. intuition congruence.
        + eapply known_intro; [by apply charged_owned_stable| |apply (Hsome f Hid)]. split; [exact Hc|].
          eexists. split; [reflexivity|]. simpl. rewrite Eo. split; [apply lookup_insert|]. apply bool_decide_eq_true.
          apply elem_of_union. left. by apply elem_of_singleton.
    Qed.
    Lemma total_publish f w κ : (forall v, total (κ v) (transacts_dependent c ∅) (charged_owned c f false)) ->
      total (top_frame_memory X frames cpu_frames (frame_memory_publish f) κ) (transacts_dependent c {[f := w]}) (charged_owned c f true).
    Proof using start_free cpu.
      pose proof process_range as Hp. pose proof process_not_root as Hr. intros Hκ.
      apply total_frame_memory; [exact start_free|intros; by eapply publish_valid|].
      intros st s _ (Hc & s0 & Es & Ho & Hin%bool_decide_eq_true) Hst Hv. rewrite Hst in Es. injection Es as <-.
      unfold frame_memory_publish. rewrite decide_True by done. rewrite lookup_singleton. eexists _, _, _. split; [reflexivity|]. split.
      - intros g q Hq0 Hq Hg. simpl. split; [done|]. rewrite elem_of_difference, elem_of_singleton.
        assert (g <> f); [|intuition]. intros ->. rewrite Ho in Hg. injection Hg as Hg. apply Hq.
        symmetry. apply only_inj; [lia|done|done].
      - rewrite delete_singleton. eapply known_intro; [by apply charged_owned_stable| |apply Hκ]. split; [exact Hc|].
        eexists. split; [reflexivity|]. simpl. split; [done|]. apply bool_decide_eq_false.
        rewrite elem_of_difference, elem_of_singleton. by intros [_ ?].
    Qed.
    Lemma total_remove f κ : 0 <= f < NUM_FRAME -> total (κ STATUS_OK) (transacts_dependent c ∅) (charged c) ->
      total (top_frame_memory X frames cpu_frames (frame_memory_remove f p) κ) (transacts_dependent c ∅) (charged_owned c f false).
    Proof using start_free cpu.
      pose proof process_range as Hp. pose proof process_not_root as Hr. intros Hf Hκ.
      apply total_frame_memory; [exact start_free|intros; by eapply remove_valid|].
      intros st s _ (Hc & s0 & Es & Ho & Hin%bool_decide_eq_false) Hst Hv. rewrite Hst in Es. injection Es as <-.
      assert (Et : frame_remove (table s) f p =
        Some (STATUS_OK, Spec.Frames ({[f]} ∪ free (table s)) (delete f (owners (table s))))).
      { unfold frame_remove. rewrite (proj2 (frame_id_true f)), (proj2 (process_id_true p)), Ho by done. simpl.
        unfold only at 1. rewrite Z.pow2_bits_true by lia. simpl. by rewrite Z.eqb_refl. }
      unfold frame_memory_remove. rewrite Et. rewrite decide_False by tauto. eexists _, _, _. split; [reflexivity|]. split.
      - intros g q Hq0 Hq Hg. simpl. assert (f <> g).
        { intros <-. rewrite Ho in Hg. injection Hg as Hg. apply Hq. symmetry. apply only_inj; [lia|done|done]. }
        by rewrite lookup_delete_ne.
      - eapply known_intro; [by apply charged_stable|exact Hc|exact Hκ].
    Qed.
  End programs.

  (** ** The calls *)
  Notation total := (total X may start c).

  Lemma alloc_total (Post : Z -> states -> Prop) :
    (forall v st, (v < NUM_FRAME -> 0 <= v /\ charged_owned c v false st) -> Post v st) ->
    total Post (top_alloc X containers frames cpu_frames [p] Ret) (start c) (fun _ => True).
  Proof using start_free start_owned_frames cpu.
    intros HP. rewrite <- (transacts_dependent_start kernel_entry root_quota frames_start start start_owned_frames c).
    assert (Hlarge : forall v (K : states -> Prop), ~ v < NUM_FRAME -> total Post (Ret v) (transacts_dependent c ∅) K).
    { intros v K Hv. apply total_ret; [exact start_owned_frames|]. intros st _. apply HP. intros Hv'. by destruct Hv. }
    unfold top_alloc, top_alloc_private. apply total_charge. intros status. destruct (Z.eqb_spec status STATUS_OK).
    - apply total_take.
      + change (NONE =? NONE) with true. cbv iota. apply total_refund. intros _. change (NONE <? NUM_FRAME) with false.
        cbv iota. by apply Hlarge.
      + intros f Hf. assert ((f =? NONE) = false) as -> by (apply Z.eqb_neq; unfold NONE, NUM_FRAME in *; lia).
        eapply total_owned_frames; [unfold owned_frames_clear; by rewrite lookup_singleton|]. rewrite insert_singleton.
        rewrite (proj2 (Z.ltb_lt f NUM_FRAME)) by lia. apply total_publish. intros _. apply total_ret; [exact start_owned_frames|].
        intros st Hst. apply HP. intros _. split; [lia|exact Hst].
    - change (FRAME_NO_QUOTA <? NUM_FRAME) with false. cbv iota. by apply Hlarge.
  Qed.

  Lemma remove_total (Post : Z -> states -> Prop) f : 0 <= f < NUM_FRAME -> (forall v st, Post v st) ->
    total Post (top_remove_owner X containers frames cpu_frames [f; p] Ret) (start c) (charged_owned c f false).
  Proof using start_free start_owned_frames cpu.
    intros Hf HP. rewrite <- (transacts_dependent_start kernel_entry root_quota frames_start start start_owned_frames c).
    unfold top_remove_owner. rewrite (proj2 (Z.leb_gt NUM_FRAME f)) by lia. apply total_remove; [done|].
    change (STATUS_OK =? STATUS_OK) with true. cbv iota. apply total_refund. intros _.
    apply total_ret; [exact start_owned_frames|auto].
  Qed.

  Lemma free_count_total (Post : Z -> states -> Prop) : (forall v st, Post v st) ->
    total Post (top_free_count X frames cpu_frames [] Ret) (start c) (fun _ => True).
  Proof using start_free start_owned_frames.
    intros HP. rewrite <- (transacts_dependent_start kernel_entry root_quota frames_start start start_owned_frames c).
    eapply total_look; [apply anything_stable|apply lookup_insert|by apply (transacts_dependent_free _ _ _ start start_free c ∅ LOCK_FRAME)|
      apply frame_free_count_look|by eexists|done|].
    intros v. apply total_ret; [exact start_owned_frames|auto].
  Qed.

  Lemma split_total (Post : Z -> states -> Prop) n : 0 <= n < 2 ^ 32 -> (forall v st, Post v st) ->
    total Post (top_function X containers (update3 container_split) [ROOT; p; n]) (start c) (fun _ => True).
  Proof using start_free start_owned_frames cpu.
    intros Hn HP. rewrite <- (transacts_dependent_start kernel_entry root_quota frames_start start start_owned_frames c). by apply total_split.
  Qed.

  (** Shares are locked while the frames are asked: locks are nested. *)
  Lemma offer_total (Post : Z -> states -> Prop) i f : 0 <= i < NUM_SHARE -> 0 <= f < NUM_FRAME ->
    (forall v st, charged_owned c f false st -> Post v st) ->
    total Post (top_offer X frames cpu_frames shares [i; p; f]) (start c) (charged_owned c f false).
  Proof using start_free start_owned_frames cpu.
    pose proof process_range as Hp. pose proof process_not_root as Hr. intros Hi Hf HP.
    cbn [top_offer TopTotal.total]. change (String.eqb ACQUIRE ACQUIRE) with true. cbv iota. intros st Hv Hst.
    destruct (Hv LOCK_SHARE Objects.Shares eq_refl) as (s & Es & Hs). destruct s as [| | |s| |]; try done.
    change (slot_lock shares) with LOCK_SHARE. rewrite Es. cbn [ld_pull object_data obj_of_lock].
    change (obj_of_lock X LOCK_SHARE) with (Some Objects.Shares). cbv iota.
    eapply known_intro; [by apply charged_owned_stable|exact Hst|]. unfold top_owners. rewrite (proj2 (Z.ltb_lt f NUM_FRAME)) by lia.
    eapply total_look; [by apply charged_owned_stable| | |apply frame_owners_look| |intros; by apply owned_look|].
    - rewrite lookup_insert_ne by done. apply start_owned_frames.
    - rewrite lookup_insert_ne by done. by apply (start_free c LOCK_FRAME).
    - intros t. unfold frame_owners. rewrite (proj2 (frame_id_true f)) by done. by eexists.
    - intros mask. cbn [TopTotal.total].
      assert (Ho : exists v s', share.Spec.share_offer s i p f mask = Some (v, s')).
      { destruct (share_there s i Hs Hi) as [x Hx], (offers_there s p Hs Hp) as [n Hn]. unfold share.Spec.share_offer.
        assert (share.Spec.frame_id f = true) as -> by (unfold share.Spec.frame_id, NUM_FRAME, NONE in *; lia).
        rewrite Hx, Hn. destruct (_ && _); by eexists _, _. }
      destruct Ho as (v & s' & Ho). exists v, (<[Objects.Shares := SharesState s']> (start c)). split.
      + unfold on_shares, update_object. change (slot_object shares) with Objects.Shares. rewrite lookup_insert.
        cbn [lift slot_out share_slot]. rewrite Ho. cbn [slot_in share_slot]. by rewrite insert_insert.
      + change (String.eqb RELEASE ACQUIRE) with false. change (String.eqb RELEASE RELEASE) with true. cbv iota.
        exists (Some (SharesState s')), (start c). split.
        * change (slot_lock shares) with LOCK_SHARE. cbn [ld_push object_data].
          change (obj_of_lock X LOCK_SHARE) with (Some Objects.Shares).
          cbv iota. rewrite lookup_insert. rewrite decide_True by (exact (share_offer_valid s i p f mask v s' Hs Ho)).
          f_equal. f_equal. apply delete_insert. by apply (start_free c LOCK_SHARE).
        * intros st' Hv' Hst'. split.
          -- change (slot_lock shares) with LOCK_SHARE. destruct (Hv' LOCK_SHARE Objects.Shares eq_refl) as (s2 & -> & Hs2).
             by destruct s2.
          -- eapply known_intro; [by apply charged_owned_stable|exact Hst'|]. split; [done|]. auto.
  Qed.
End calls.
