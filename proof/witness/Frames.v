(** A client that keeps the requirements, III: functions that allocate and free frames, and read what is known of them.

    Each is total, and the books stay right, whatever it returns. *)
From Ashlar Require Export witness.Rules.

Section frames.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start shares_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start shares_start).
  Notation owned_frame_cell := (kernel_owned_frames kernel_entry root_quota frames_start shares_start).
  Notation with_owned := (with_owned kernel_entry root_quota frames_start shares_start).

  (** The CPU holds the frames [h] and neither the containers nor the frame table. *)
  Definition quiet (a : objects X) (h : owned_frames) : Prop :=
    a !! Containers = None /\ a !! FrameMemoryObject = None /\ a !! OwnedFrames = Some (OwnedFramesState h).
  Lemma with_owned_id h a : quiet a h -> with_owned h a = a.
  Proof. intros (_ & _ & H). by apply insert_id. Qed.
  Lemma with_owned_twice h h' a : with_owned h' (with_owned h a) = with_owned h' a.
  Proof. apply insert_insert. Qed.
  Lemma quiet_owned a h h' : quiet a h -> quiet (with_owned h' a) h'.
  Proof.
    intros (H1 & H2 & _). unfold quiet, Rules.with_owned. split; [by rewrite lookup_insert_ne|].
    split; [by rewrite lookup_insert_ne|]. apply lookup_insert.
  Qed.

  Section cpu.
    Context (c : nat) (not_root : mine c < NUM_PROCESS - 1) (Post : Z -> objects X -> states X -> Prop).
    Notation total := (TopTotal.total X may c Post).
    Notation stable := (TopTotal.stable X may c).
    Notation K := (K kernel_entry root_quota frames_start shares_start c).
    Notation works := (works c).
    Context (d : Z) (d_nonnegative : 0 <= d) (R : states X -> Prop).
    Context (R_indifferent : indifferent kernel_entry root_quota frames_start shares_start R).
    Notation books := (books c d).

    Lemma stable_owned a h : stable a R -> stable (with_owned h a) R.
    Proof using. apply stable_same_held, same_held_owned. Qed.
    Lemma books_exists m F f mk b q : books m F -> works q -> F !! f = Some (mk, b) -> Z.testbit mk q = true ->
      exists x, m !! q = Some x /\ 1 <= usage x - granted x.
    Proof using d_nonnegative.
      intros Hb Hq HF Hbit. destruct (proj1 Hb q Hq) as (x & Hx & Hn & _). exists x. split; [done|].
      rewrite (count_delete q F f _ HF) in Hn. pose proof (count_nonnegative q (delete f F)) as H0.
      unfold one_owned in Hn. cbn [fst] in Hn. rewrite Hbit in Hn. destruct (q =? mine c); lia.
    Qed.

    (** Charged for one frame more. *)
    Definition charged (q : Z) (m : gmap Z container) : gmap Z container :=
      match m !! q with Some x => <[q := set_usage (usage x + 1) x]> m | None => m end.
    Lemma books_refund q m F x : books m F -> works q -> m !! q = Some x ->
      count q F + (if q =? mine c then d else 0) < usage x - granted x -> books (<[q := set_usage (usage x - 1) x]> m) F.
    Proof using.
      intros Hb Hq Hx Hn. eapply books_update; [exact Hb|exact Hq|exact Hx|done|by right|cbn; congruence|]. cbn [set_usage usage granted]. lia.
    Qed.
    Lemma books_take q m F f x : books m F -> works q -> m !! q = Some x -> F !! f = None -> 0 <= f < NUM_FRAME ->
      books (<[q := set_usage (usage x + 1) x]> m) (<[f := (only q, true)]> F).
    Proof using.
      intros [H1 H2] Hq Hx Hf Hr. split.
      - intros r Hr'. rewrite count_add by done. unfold one_owned. cbn [fst]. rewrite only_bit by (by eapply works_nonneg).
        destruct (H1 r Hr') as (y & Hy & Hn & Hp). destruct (Z.eqb_spec q r) as [<-|Hne].
        + rewrite Hx in Hy. injection Hy as <-. eexists. split; [apply lookup_insert|]. cbn [set_usage usage granted exists_ parent].
          split; [lia|done].
        + exists y. rewrite lookup_insert_ne by done. split; [done|]. split; [lia|done].
      - intros g mk b [[<- [= <- <-]]|[_ Hg]]%lookup_insert_Some; [|by eapply H2]. split; [by apply own_mask_only|done].
    Qed.
    Lemma books_publish m F f mk : books m F -> F !! f = Some (mk, true) -> books m (<[f := (mk, false)]> F).
    Proof using.
      intros [H1 H2] Hf. split.
      - intros q Hq. rewrite (count_change q F f _ _ Hf). change (one_owned q (mk, false)) with (one_owned q (mk, true)).
        destruct (H1 q Hq) as (x & Hx & Hn & Hp). exists x. split; [done|]. split; [lia|done].
      - intros g mk' b [[<- [= <- <-]]|[_ Hg]]%lookup_insert_Some; [by eapply H2|by eapply H2].
    Qed.
    Lemma books_removed q m F f mk b x : books m F -> works q -> m !! q = Some x -> F !! f = Some (mk, b) -> Z.testbit mk q = true ->
      books (<[q := set_usage (usage x - 1) x]> m) (removed f q mk b F).
    Proof using.
      intros [H1 H2] Hq Hx HF Hbit. destruct (H2 f mk b HF) as [Hmk Hr]. assert (Hq0 : 0 <= q) by by eapply works_nonneg.
      assert (Hc : forall r, works r -> count r (removed f q mk b F) = count r F - (if q =? r then 1 else 0)).
      { intros r Hr'. unfold removed. destruct (Z.eqb_spec mk (only q)) as [->|Hne].
        - rewrite (count_delete r F f _ HF). unfold one_owned. cbn [fst]. rewrite only_bit by done. lia.
        - rewrite (count_change r F f _ _ HF). unfold one_owned. cbn [fst]. rewrite Z.ldiff_spec, only_bit by done.
          destruct (Z.eqb_spec q r) as [<-|]; [rewrite Hbit; simpl; lia|]. rewrite andb_true_r. destruct (Z.testbit mk r); lia. }
      split.
      - intros r Hr'. rewrite (Hc r Hr'). destruct (H1 r Hr') as (y & Hy & Hn & Hp). destruct (Z.eqb_spec q r) as [<-|Hne].
        + rewrite Hx in Hy. injection Hy as <-. eexists. split; [apply lookup_insert|]. cbn [set_usage usage granted exists_ parent].
          split; [lia|done].
        + exists y. rewrite lookup_insert_ne by done. split; [done|]. split; [lia|done].
      - intros g mk' b'. unfold removed. destruct (Z.eqb_spec mk (only q)); [intros [_ Hg]%lookup_delete_Some; by eapply H2|].
        intros [[<- [= <- <-]]|[_ Hg]]%lookup_insert_Some; [|by eapply H2]. split; [by apply own_mask_remove|done].
    Qed.
    Lemma books_add q m F f mk x : books m F -> works q -> m !! q = Some x -> F !! f = Some (mk, false) -> Z.testbit mk q = false ->
      books (<[q := set_usage (usage x + 1) x]> m) (<[f := (Z.lor mk (only q), false)]> F).
    Proof using.
      intros [H1 H2] Hq Hx HF Hbit. destruct (H2 f mk _ HF) as [Hmk Hr]. split.
      - intros r Hr'. rewrite (count_change r F f _ _ HF). unfold one_owned. cbn [fst].
        rewrite Z.lor_spec, only_bit by (by eapply works_nonneg).
        destruct (H1 r Hr') as (y & Hy & Hn & Hp). destruct (Z.eqb_spec q r) as [<-|Hne].
        + rewrite Hx in Hy. injection Hy as <-. eexists. split; [apply lookup_insert|]. cbn [set_usage usage granted exists_ parent].
          rewrite Hbit. simpl. split; [lia|done].
        + exists y. rewrite lookup_insert_ne by done. split; [done|]. rewrite orb_false_r. split; [lia|done].
      - intros g mk' b' [[<- [= <- <-]]|[_ Hg]]%lookup_insert_Some; [|by eapply H2]. split; [by apply own_mask_add|done].
    Qed.

    Lemma total_alloc_private q κ a h m F : stable a R -> quiet a h -> works q -> books m F ->
      (forall v m', v = NONE \/ v = FRAME_NO_QUOTA -> books m' F -> total (κ v) a (K m' F R)) ->
      (forall f m', 0 <= f < NUM_FRAME -> F !! f = None -> books m' (<[f := (only q, true)]> F) ->
         total (κ f) (with_owned (<[f := Some ∅]> h) a) (K m' (<[f := (only q, true)]> F) R)) ->
      total (top_alloc_private X containers frames owned_frame_cell [q] κ) a (K m F R).
    Proof using not_root R_indifferent d_nonnegative.
      intros HR Ha Hq Hb Hno Hok. pose proof Ha as (H1 & H2 & H3). unfold top_alloc_private.
      eapply total_charge; [done|done|exact HR|done|done|exact Hb|lia| |].
      { intros v Hv. rewrite (proj2 (Z.eqb_neq v STATUS_OK)) by done. apply Hno; [by right|done]. }
      intros x Hx Ex. change (STATUS_OK =? STATUS_OK) with true. cbv iota.
      eapply total_take; [done|done|exact HR|done|exact H3|done| |].
      - intros v ->. rewrite with_owned_id by done. change (NONE =? NONE) with true. cbv iota.
        destruct (proj1 Hb q Hq) as (y & Hy & Hn & Hp). rewrite Hx in Hy. injection Hy as <-. pose proof (count_nonnegative q F) as H0.
        eapply total_refund; [done|done|exact HR|done|done|apply lookup_insert| |].
        + cbn [set_usage usage granted]. destruct (q =? mine c); lia.
        + apply Hno; [by left|]. apply books_refund; [|done|apply lookup_insert|cbn [set_usage usage granted]; lia].
          eapply books_update; [exact Hb|exact Hq|exact Hx|done|by right|cbn; congruence|]. cbn [set_usage usage granted]. lia.
      - intros f Hf HF. assert ((f =? NONE) = false) as -> by (apply Z.eqb_neq; unfold NONE, NUM_FRAME in *; lia).
        eapply total_owned; [by apply lookup_insert|unfold owned_frames_clear; by rewrite lookup_insert|]. rewrite with_owned_twice, insert_insert.
        apply Hok; [done|done|]. by apply books_take.
    Qed.
    Lemma total_alloc q κ a h m F : stable a R -> quiet a h -> works q -> books m F ->
      (forall f, F !! f = None -> h !! f = None) ->
      (forall v m', v = NONE \/ v = FRAME_NO_QUOTA -> books m' F -> total (κ v) a (K m' F R)) ->
      (forall f m', 0 <= f < NUM_FRAME -> F !! f = None -> books m' (<[f := (only q, false)]> F) ->
         total (κ f) a (K m' (<[f := (only q, false)]> F) R)) ->
      total (top_alloc X containers frames owned_frame_cell [q] κ) a (K m F R).
    Proof using not_root R_indifferent d_nonnegative.
      intros HR Ha Hq Hb Hh Hno Hok. unfold top_alloc. eapply total_alloc_private; [exact HR|exact Ha|done|exact Hb| |].
      - intros v m' Hv Hb'. assert (v <? NUM_FRAME = false) as -> by (by destruct Hv as [-> | ->]). by apply Hno.
      - intros f m' Hf HF Hb'. rewrite (proj2 (Z.ltb_lt f NUM_FRAME)) by lia.
        eapply total_publish; [done|done|by apply stable_owned|apply (quiet_owned a h), Ha|apply lookup_insert|apply lookup_insert|by apply own_mask_only|apply lookup_insert|].
        intros _. rewrite with_owned_twice, !insert_insert, delete_insert by by apply Hh. rewrite with_owned_id by done.
        apply Hok; [done|done|]. rewrite <- (insert_insert F f (only q, false) (only q, true)).
        eapply books_publish; [exact Hb'|]. apply lookup_insert.
    Qed.
    Lemma total_remove_owner f q mk b κ a h m F : stable a R -> quiet a h -> works q -> books m F -> F !! f = Some (mk, b) ->
      Z.testbit mk q = true -> (b = true -> mk = only q /\ is_Some (h !! f)) ->
      (forall m', books m' (removed f q mk b F) ->
         total (κ STATUS_OK) (with_owned (if b then delete f h else h) a) (K m' (removed f q mk b F) R)) ->
      total (top_remove_owner X containers frames owned_frame_cell [f; q] κ) a (K m F R).
    Proof using not_root R_indifferent d_nonnegative.
      intros HR Ha Hq Hb HF Hbit Hprivate Hκ. pose proof Ha as (H1 & H2 & H3). destruct (proj2 Hb f mk b HF) as [Hmk Hf].
      unfold top_remove_owner. rewrite (proj2 (Z.leb_gt NUM_FRAME f)) by lia.
      eapply total_remove; [done|done|exact HR|done|exact H3|done|exact HF|done|done|done|].
      change (STATUS_OK =? STATUS_OK) with true. cbv iota.
      destruct (books_exists m F f mk b q Hb Hq HF Hbit) as (x & Hx & Hn).
      pose proof (quiet_owned a h (if b then delete f h else h) Ha) as (H1' & _).
      eapply total_refund; [done|done|by apply stable_owned|done|done|done|lia|].
      change (κ STATUS_OK) with (κ 0). apply Hκ. by apply books_removed.
    Qed.
    Lemma total_add_owner f q mk κ a h m F : stable a R -> quiet a h -> works q -> books m F -> F !! f = Some (mk, false) ->
      (forall v m', v <> STATUS_OK -> books m' F -> total (κ v) a (K m' F R)) ->
      (forall m', Z.testbit mk q = false -> books m' (<[f := (Z.lor mk (only q), false)]> F) ->
         total (κ STATUS_OK) a (K m' (<[f := (Z.lor mk (only q), false)]> F) R)) ->
      total (top_add_owner X containers frames owned_frame_cell [f; q] κ) a (K m F R).
    Proof using not_root R_indifferent d_nonnegative.
      intros HR Ha Hq Hb HF Hno Hok. pose proof Ha as (H1 & H2 & H3). destruct (proj2 Hb f mk _ HF) as [Hmk Hf].
      unfold top_add_owner. rewrite (proj2 (Z.leb_gt NUM_FRAME f)) by lia.
      eapply total_charge; [done|done|exact HR|done|done|exact Hb|lia| |].
      { intros v Hv. rewrite (proj2 (Z.eqb_neq v STATUS_OK)) by done. by apply Hno. }
      intros x Hx Ex. change (STATUS_OK =? STATUS_OK) with true. cbv iota.
      eapply total_add; [done|done|exact HR|done|exact H3|done|exact HF|done| |]; intros Hbit; rewrite with_owned_id by done.
      - change (ERR_BAD_STATE =? STATUS_OK) with false. cbv iota.
        destruct (proj1 Hb q Hq) as (y & Hy & Hn & Hp). rewrite Hx in Hy. injection Hy as <-. pose proof (count_nonnegative q F) as H0.
        eapply total_refund; [done|done|exact HR|done|done|apply lookup_insert| |].
        + cbn [set_usage usage granted]. destruct (q =? mine c); lia.
        + apply Hno; [done|]. apply books_refund; [|done|apply lookup_insert|cbn [set_usage usage granted]; lia].
          eapply books_update; [exact Hb|exact Hq|exact Hx|done|by right|cbn; congruence|]. cbn [set_usage usage granted]. lia.
      - change (STATUS_OK =? STATUS_OK) with true. cbv iota. apply Hok; [done|]. by apply books_add.
    Qed.
  End cpu.
End frames.
