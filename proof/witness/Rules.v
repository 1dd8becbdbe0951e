(** A client that keeps the requirements, II: the steps of functions on containers and frames are total. *)
From Ashlar Require Export witness.Knowledge.

Lemma valid_container (s : gmap Z container) q : container_valid s -> 0 <= q <= ROOT -> exists x, s !! q = Some x.
Proof. intros (Hd & _) Hq. apply elem_of_dom. rewrite Hd, elem_of_list_to_set, elem_of_seqZ. lia. Qed.
Lemma only_inj q q' : 0 <= q -> 0 <= q' -> only q = only q' -> q = q'.
Proof. unfold only. intros H1 H2 H. by apply (Z.pow_inj_r 2) in H. Qed.

Section rules.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start shares_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start shares_start).
  Notation owned_frame_cell := (kernel_owned_frames kernel_entry root_quota frames_start shares_start).
  Notation states := (states X).
  Notation changed := (changed X).
  Notation stable := (stable X may).
  Notation known := (known X may).
  Notation same_held := (same_held X).

  Lemma same_held_insert (a : objects X) (o : obj X) s : is_Some (a !! o) \/ (forall k, obj_of_lock X k <> Some o) ->
    same_held a (<[o := s]> a).
  Proof.
    intros Ho k. split; intros Hn o' Ho'; specialize (Hn o' Ho').
    - destruct (decide (o = o')) as [<-|Hne]; [exfalso|by rewrite lookup_insert_ne].
      destruct Ho as [Hs|Hno]; [exact (proj1 (eq_None_not_Some _) Hn Hs)|by apply (Hno k)].
    - destruct (decide (o = o')) as [<-|Hne]; [by rewrite lookup_insert in Hn|]. by rewrite lookup_insert_ne in Hn.
  Qed.
  (** What a CPU holds when it holds the frames [h] besides. *)
  Definition with_owned (h : owned_frames) (a : objects X) : objects X := <[OwnedFrames := OwnedFramesState h]> a.
  Lemma same_held_owned a h : same_held a (with_owned h a).
  Proof. apply same_held_insert. right. apply no_lock_owned_frames. Qed.

  Section cpu.
    Context (c : nat) (not_root : mine c < NUM_PROCESS - 1) (Post : Z -> objects X -> states -> Prop).
    Notation total := (TopTotal.total X may c Post).
    Notation K := (K kernel_entry root_quota frames_start shares_start c).
    Notation indifferent := (indifferent kernel_entry root_quota frames_start shares_start).
    Notation works := (works c).
    Notation books := (books c).
    Context (R : states -> Prop) (R_indifferent : indifferent R).

    Lemma total_containers f args g κ a m F : stable c a R -> a !! Containers = None -> f args = Some g ->
      keeps (svalid := container_valid) f ->
      (forall s, container_valid s -> (forall q, works q -> s !! q = m !! q) ->
         exists v s' m', g s = Some (v, s') /\ (forall q, q <> ROOT -> ~ works q -> s' !! q = s !! q) /\
           (forall q, works q -> s' !! q = m' !! q) /\ total (κ v) a (K m' F R)) ->
      total (bind (top_function X containers f args) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Ef Hk H. unfold top_function. rewrite Ef. cbn [bind TopTotal.total]. split; [done|].
      intros st s Hv ((s0 & E0 & Hm) & Hf & Hr) Hst Hs. change (slot_lock containers) with LOCK_CONTAINER in *.
      change (slot_object containers) with Containers in *. rewrite E0 in Hst. injection Hst as <-.
      destruct (H s0 Hs Hm) as (v & s' & m' & Hg & Ho & Hm' & Ht). exists v, (ContainersState s'), a. split.
      { unfold updated, update_object. rewrite lookup_insert. cbn [lift slot_out container_slot]. rewrite Hg.
        cbn [slot_in container_slot]. rewrite lookup_insert. f_equal. f_equal. rewrite insert_insert. by apply delete_insert. }
      split; [exact (Hk args g s0 v s' Ef Hs Hg)|]. split; [exact Ho|]. split; [done|].
      exists (K m' F R). split; [by apply K_stable|]. split; [|exact Ht]. split; [exists s'; split; [apply changed_eq|done]|].
      split; [|apply R_indifferent; [by left|done]]. destruct Hf as (fs & Ef' & Hf). exists fs. split; [|done]. by rewrite changed_ne.
    Qed.

    Lemma frame_memory_updated g s h v s' h' (a : objects X) : a !! OwnedFrames = Some (OwnedFramesState h) ->
      a !! FrameMemoryObject = None -> g s h = Some (v, s', h') ->
      updated X FrameMemoryObject (on_frame_memory frames owned_frame_cell g) (FrameMemoryState s) a =
        Some (v, FrameMemoryState s', with_owned h' a).
    Proof using.
      intros Hh Hf Hg. unfold updated, on_frame_memory. change (slot_object frames) with FrameMemoryObject.
      change (owned_frames_object owned_frame_cell) with OwnedFrames.
      rewrite lookup_insert. rewrite lookup_insert_ne by done.
      match goal with |- context [@lookup ?A ?B ?C ?D OwnedFrames a] =>
        replace (@lookup A B C D OwnedFrames a) with (Some (OwnedFramesState h)) by (symmetry; exact Hh) end.
      cbn [slot_out frame_slot owned_frames_out kernel_owned_frames]. rewrite Hg. cbn [slot_in frame_slot owned_frames_in kernel_owned_frames].
      rewrite lookup_insert_ne by done. rewrite lookup_insert. f_equal. f_equal.
      rewrite insert_insert. rewrite delete_insert_ne by done. by rewrite delete_insert.
    Qed.
    Lemma total_frames g κ a h m F : stable c a R -> a !! FrameMemoryObject = None -> a !! OwnedFrames = Some (OwnedFramesState h) ->
      (forall s h v s1 h1, frame_memory_valid s -> g s h = Some (v, s1, h1) -> frame_memory_valid s1) ->
      (forall s, frame_memory_valid s -> (forall f, slice c s f = F !! f) ->
         exists v s' h' F', g s h = Some (v, s', h') /\ (forall c' f, c' <> c -> slice c' s' f = slice c' s f) /\
           (forall f, slice c s' f = F' !! f) /\ total (κ v) (with_owned h' a) (K m F' R)) ->
      total (top_frame_memory X frames owned_frame_cell g κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hh Hg H. unfold top_frame_memory. cbn [TopTotal.total]. split; [done|].
      intros st s Hv (Hc & (s0 & E0 & HF) & Hr) Hst Hs.
      change (slot_lock frames) with LOCK_FRAME in *. change (slot_object frames) with FrameMemoryObject in *.
      rewrite E0 in Hst. injection Hst as <-. destruct (H s0 Hs HF) as (v & s' & h' & F' & Egs & Ho & HF' & Ht).
      exists v, (FrameMemoryState s'), (with_owned h' a). split; [by apply (frame_memory_updated g s0 h)|].
      split; [exact (Hg s0 h v s' h' Hs Egs)|]. split; [exact Ho|]. split; [apply same_held_owned|].
      exists (K m F' R). split; [apply K_stable; [done|]; eapply stable_same_held; [apply same_held_owned|done]|].
      split; [|exact Ht]. destruct Hc as (cs & Ec & Hc). split; [exists cs; split; [by rewrite changed_ne|done]|].
      split; [exists s'; split; [apply changed_eq|done]|]. apply R_indifferent; [by right|done].
    Qed.
    Lemma total_owned (g : owned_frames -> option (Z * owned_frames)) κ a h v h' K0 : a !! OwnedFrames = Some (OwnedFramesState h) ->
      g h = Some (v, h') -> total (κ v) (with_owned h' a) K0 -> total (Loc (on_owned_frames owned_frame_cell g) κ) a K0.
    Proof using.
      intros Hh Hg Ht. cbn [TopTotal.total]. exists v, (with_owned h' a). split; [|split; [apply same_held_owned|exact Ht]]. unfold on_owned_frames.
      change (owned_frames_object owned_frame_cell) with OwnedFrames.
      match goal with |- context [@lookup ?A ?B ?C ?D OwnedFrames a] =>
        replace (@lookup A B C D OwnedFrames a) with (Some (OwnedFramesState h)) by (symmetry; exact Hh) end.
      cbn [owned_frames_out kernel_owned_frames]. rewrite Hg. done.
    Qed.

    (** ** Containers *)
    Context (d : Z).
    Lemma books_container m F q : books d m F -> works q -> exists x, m !! q = Some x /\
      count q F + (if q =? mine c then d else 0) <= usage x - granted x /\ (exists_ x = true -> parent x = ROOT).
    Proof using. intros [H _] Hq. by apply H. Qed.
    (** One container has another state, the frames are the same. *)
    Lemma books_update d' m F q x x' : books d m F -> works q -> m !! q = Some x ->
      (forall r, r <> q -> (if r =? mine c then d' else 0) <= (if r =? mine c then d else 0)) ->
      (exists_ x' = true -> exists_ x = false \/ parent x' = parent x) -> (exists_ x' = true -> exists_ x = false -> parent x' = ROOT) ->
      count q F + (if q =? mine c then d' else 0) <= usage x' - granted x' -> books d' (<[q := x']> m) F.
    Proof using.
      intros [H1 H2] Hq Hx Hd Hp1 Hp2 Hn. split; [|done]. intros r Hr. destruct (decide (q = r)) as [<-|Hne].
      - exists x'. split; [apply lookup_insert|]. split; [done|]. intros E. destruct (exists_ x) eqn:Ex; [|by apply Hp2].
        destruct (Hp1 E) as [?| ->]; [done|]. destruct (H1 q Hq) as (y & Ey & _ & Hy). rewrite Hx in Ey. injection Ey as <-. auto.
      - rewrite lookup_insert_ne by done. destruct (H1 r Hr) as (y & Ey & Hy & Hp). exists y. split; [done|]. split; [|done].
        specialize (Hd r (not_eq_sym Hne)). lia.
    Qed.

    Lemma total_charge q n κ a m F : stable c a R -> a !! Containers = None -> works q -> books d m F -> 0 <= n < 2 ^ 32 ->
      (forall v, v <> STATUS_OK -> total (κ v) a (K m F R)) ->
      (forall x, m !! q = Some x -> exists_ x = true -> total (κ STATUS_OK) a (K (<[q := set_usage (usage x + n) x]> m) F R)) ->
      total (bind (top_function X containers (update2 container_charge) [q; n]) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hq Hb Hn Hno Hok. eapply total_containers; [done|done|reflexivity|apply container_charge_keeps|].
      intros s Hv Hs. destruct (books_container _ _ _ Hb Hq) as (x & Hx & _). unfold container_charge. rewrite (Hs q Hq), Hx.
      assert (container.Spec.word32 n = true) as -> by (unfold container.Spec.word32; lia).
      destruct (exists_ x) eqn:Ex; cbn [negb].
      2: { exists ERR_BAD_STATE, s, m. split; [done|]. split; [done|]. split; [done|]. by apply Hno. }
      destruct (quota x - usage x <? n).
      { exists ERR_QUOTA, s, m. split; [done|]. split; [done|]. split; [done|]. by apply Hno. }
      exists STATUS_OK, (<[q := set_usage (usage x + n) x]> s), (<[q := set_usage (usage x + n) x]> m).
      split; [done|]. split; [|split; [|by apply Hok]].
      - intros r _ Hr. apply lookup_insert_ne. by intros ->.
      - intros r Hr. destruct (decide (q = r)) as [<-|]; [by rewrite !lookup_insert|]. rewrite !lookup_insert_ne by done. by apply Hs.
    Qed.
    (** A container that owes something exists. *)
    Lemma owing_exists s q x : container_valid s -> s !! q = Some x -> 0 < usage x - granted x -> exists_ x = true.
    Proof using.
      intros Hv Hx Hn. pose proof (valid_ok s Hv q x Hx) as Hok. unfold container_ok in Hok.
      destruct (exists_ x); [done|]. subst. simpl in Hn. lia.
    Qed.
    Lemma total_refund q n κ a m F x : stable c a R -> a !! Containers = None -> works q -> m !! q = Some x ->
      1 <= n <= usage x - granted x ->
      total (κ 0) a (K (<[q := set_usage (usage x - n) x]> m) F R) ->
      total (bind (top_function X containers (update2 container_refund) [q; n]) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hq Hx Hn Ht. eapply total_containers; [done|done|reflexivity|apply container_refund_keeps|].
      intros s Hv Hs. assert (exists_ x = true) as Ex by (apply (owing_exists s q); [done|by rewrite (Hs q Hq)|lia]).
      unfold container_refund. rewrite (Hs q Hq), Hx, Ex.
      assert ((0 <=? n) && (n <=? usage x - granted x) = true) as Hle by lia. simpl andb. rewrite Hle.
      eexists _, _, _. split; [done|]. split; [|split; [|exact Ht]].
      - intros r _ Hr. apply lookup_insert_ne. by intros ->.
      - intros r Hr. destruct (decide (q = r)) as [<-|]; [by rewrite !lookup_insert|]. rewrite !lookup_insert_ne by done. by apply Hs.
    Qed.
    (** ** Frames *)
    Lemma total_take q κ a h m F : stable c a R -> a !! FrameMemoryObject = None -> a !! OwnedFrames = Some (OwnedFramesState h) ->
      works q -> (forall v, v = NONE -> total (κ v) (with_owned h a) (K m F R)) ->
      (forall f, 0 <= f < NUM_FRAME -> F !! f = None ->
         total (κ f) (with_owned (<[f := None]> h) a) (K m (<[f := (only q, true)]> F) R)) ->
      total (top_frame_memory X frames owned_frame_cell (frame_memory_take q) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hh Hq Hnone Hsome. pose proof (works_range c not_root q Hq) as Hr.
      apply (total_frames _ _ _ h); [done|done|done|intros; by eapply take_valid|]. intros s [Hv Hpv] HF. unfold frame_memory_take.
      assert (Ht : is_Some (frame_take (table s) q)).
      { unfold frame_take. rewrite (proj2 (process_id_true q)) by done. cbv zeta. by destruct (_ =? -1). }
      destruct Ht as [[f t] Et]. rewrite Et. destruct (Z.eqb_spec f NONE) as [->|Hf].
      - destruct (frame_take_none _ _ _ Hv Et) as [_ ->]. exists NONE, s, h, F. split; [by destruct s|].
        split; [done|]. split; [done|]. by apply Hnone.
      - destruct (take_shape _ _ _ _ Hv Et Hf) as (_ & Hno & Hid & _ & Eo).
        assert (Hnew : F !! f = None) by (rewrite <- HF; unfold slice; by rewrite Hno).
        eexists _, _, _, _. split; [reflexivity|]. split; [|split; [|by apply Hsome]].
        + intros c' g Hc'. unfold slice. cbn [table private]. rewrite Eo. destruct (decide (f = g)) as [<-|Hg].
          * rewrite lookup_insert, Hno. by rewrite (own_mask_other c c' _ Hc' (own_mask_only c q Hq)).
          * rewrite lookup_insert_ne by done. destruct (owners (table s) !! g); [|done]. destruct (works_mask c' z); [|done].
            do 2 f_equal. apply bool_decide_ext. set_solver.
        + intros g. unfold slice. cbn [table private]. rewrite Eo. destruct (decide (f = g)) as [<-|Hg].
          * rewrite !lookup_insert. rewrite (own_mask_works c _ (own_mask_only c q Hq)). do 2 f_equal.
            apply bool_decide_eq_true. set_solver.
          * rewrite !lookup_insert_ne by done. rewrite <- HF. unfold slice. destruct (owners (table s) !! g); [|done].
            destruct (works_mask c z); [|done]. do 2 f_equal. apply bool_decide_ext. set_solver.
    Qed.

    Lemma slice_some s f mk b : slice c s f = Some (mk, b) -> owners (table s) !! f = Some mk /\ bool_decide (f ∈ private s) = b.
    Proof using.
      unfold slice. destruct (owners (table s) !! f) as [m|]; [|done]. destruct (works_mask c m); [|done]. by intros [= -> ->].
    Qed.
    Lemma frame_range s f mk : frame_memory_valid s -> owners (table s) !! f = Some mk -> 0 <= f < NUM_FRAME.
    Proof using. intros [[_ Hv] _] Hf. apply frame_id_true. by apply (Hv f mk). Qed.

    Lemma total_publish f mk w κ a h m F : stable c a R -> a !! FrameMemoryObject = None -> a !! OwnedFrames = Some (OwnedFramesState h) ->
      F !! f = Some (mk, true) -> own_mask c mk -> h !! f = Some w ->
      (forall v, total (κ v) (with_owned (delete f h) a) (K m (<[f := (mk, false)]> F) R)) ->
      total (top_frame_memory X frames owned_frame_cell (frame_memory_publish f) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hh HFf Hmk Hw Ht. apply (total_frames _ _ _ h); [done|done|done|intros; by eapply publish_valid|].
      intros s Hv HF. pose proof (HF f) as Hs. rewrite HFf in Hs. destruct (slice_some _ _ _ _ Hs) as [Ho Hp%bool_decide_eq_true].
      unfold frame_memory_publish. rewrite decide_True by done. rewrite Hw. eexists _, _, _, _. split; [reflexivity|].
      split; [|split; [|apply Ht]].
      - intros c' g Hc'. unfold slice. cbn [table private]. destruct (owners (table s) !! g) as [m'|] eqn:Eg; [|done].
        destruct (works_mask c' m') eqn:Em; [|done]. do 2 f_equal. apply bool_decide_ext. assert (g <> f); [|set_solver]. intros ->.
        rewrite Ho in Eg. injection Eg as <-. by rewrite (own_mask_other c c' _ Hc' Hmk) in Em.
      - intros g. unfold slice. cbn [table private]. destruct (decide (f = g)) as [<-|Hg].
        + rewrite lookup_insert, Ho, (own_mask_works c _ Hmk). do 2 f_equal. apply bool_decide_eq_false. set_solver.
        + rewrite lookup_insert_ne by done. rewrite <- HF. unfold slice. destruct (owners (table s) !! g); [|done].
          destruct (works_mask c z); [|done]. do 2 f_equal. apply bool_decide_ext. set_solver.
    Qed.

    (** The frame has one owner less, or is free. *)
    Definition removed (f q mk : Z) (b : bool) (F : frames_known) : frames_known :=
      if mk =? only q then delete f F else <[f := (Z.ldiff mk (only q), b)]> F.
    Lemma total_remove f q mk b κ a h m F : stable c a R -> a !! FrameMemoryObject = None -> a !! OwnedFrames = Some (OwnedFramesState h) ->
      works q -> F !! f = Some (mk, b) -> own_mask c mk -> Z.testbit mk q = true -> (b = true -> mk = only q /\ is_Some (h !! f)) ->
      total (κ STATUS_OK) (with_owned (if b then delete f h else h) a) (K m (removed f q mk b F) R) ->
      total (top_frame_memory X frames owned_frame_cell (frame_memory_remove f q) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hh Hq HFf Hmk Hbit Hprivate Ht. pose proof (works_range c not_root q Hq) as Hr.
      apply (total_frames _ _ _ h); [done|done|done|intros; by eapply remove_valid|].
      intros s Hv HF. pose proof (HF f) as Hs. rewrite HFf in Hs. destruct (slice_some _ _ _ _ Hs) as [Ho Hp].
      assert (Hg : exists t, frame_remove (table s) f q = Some (STATUS_OK, t) /\
        (forall g, owners t !! g = if decide (g = f) then (if mk =? only q then None else Some (Z.ldiff mk (only q))) else owners (table s) !! g)).
      { unfold frame_remove. rewrite (proj2 (frame_id_true f)) by (by eapply frame_range).
        rewrite (proj2 (process_id_true q)) by done. cbn [andb]. rewrite Ho, Hbit. cbn [negb].
        destruct (mk =? only q); eexists; (split; [reflexivity|]); intros g; cbn [owners]; destruct (decide (g = f)) as [->|].
        - apply lookup_delete. - by apply lookup_delete_ne. - apply lookup_insert. - by apply lookup_insert_ne. }
      destruct Hg as (t & Et & Hown). unfold frame_memory_remove. rewrite Et.
      assert (Hcase : exists h', (if decide (f ∈ private s /\ owners t !! f = None)
           then match h !! f with Some _ => Some (STATUS_OK, FrameMemory t (private s ∖ {[f]}), delete f h) | None => None end
           else Some (STATUS_OK, FrameMemory t (private s), h)) =
           Some (STATUS_OK, FrameMemory t (if b then private s ∖ {[f]} else private s), h') /\ h' = if b then delete f h else h).
      { destruct b.
        - destruct (Hprivate eq_refl) as [-> [w Hw]]. rewrite decide_True; [rewrite Hw; by eexists|].
          split; [exact (bool_decide_eq_true_1 _ Hp)|]. rewrite Hown, decide_True, Z.eqb_refl by done. done.
        - rewrite decide_False; [by eexists|]. apply bool_decide_eq_false in Hp. tauto. }
      destruct Hcase as (h' & -> & ->). eexists _, _, _, _. split; [reflexivity|]. split; [|split; [|exact Ht]].
      - intros c' g Hc'. unfold slice. cbn [table private]. rewrite Hown. destruct (decide (g = f)) as [->|Hg].
        + rewrite Ho, (own_mask_other c c' _ Hc' Hmk). destruct (Z.eqb_spec mk (only q)); [done|].
          by rewrite (own_mask_other c c' _ Hc' (own_mask_remove c mk q Hmk Hq Hbit n)).
        + destruct (owners (table s) !! g); [|done]. destruct (works_mask c' z); [|done]. do 2 f_equal.
          apply bool_decide_ext. destruct b; set_solver.
      - intros g. unfold slice, removed. cbn [table private]. rewrite Hown. destruct (decide (g = f)) as [->|Hg].
        + destruct (Z.eqb_spec mk (only q)); [by rewrite lookup_delete|]. rewrite lookup_insert.
          rewrite (own_mask_works c _ (own_mask_remove c mk q Hmk Hq Hbit n)). do 2 f_equal.
          destruct b; [by destruct (Hprivate eq_refl)|done].
        + transitivity (slice c s g); [|rewrite HF; destruct (mk =? only q); [by rewrite lookup_delete_ne|by rewrite lookup_insert_ne]].
          unfold slice. destruct (owners (table s) !! g); [|done]. destruct (works_mask c z); [|done]. do 2 f_equal.
          apply bool_decide_ext. destruct b; set_solver.
    Qed.
    (** A frame that none of this CPU's processes owns. *)
    Lemma total_remove_other f q κ a h m F : stable c a R -> a !! FrameMemoryObject = None -> a !! OwnedFrames = Some (OwnedFramesState h) ->
      works q -> 0 <= f < NUM_FRAME -> F !! f = None -> total (κ ERR_BAD_STATE) (with_owned h a) (K m F R) ->
      total (top_frame_memory X frames owned_frame_cell (frame_memory_remove f q) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hh Hq Hf HFf Ht. pose proof (works_range c not_root q Hq) as Hr.
      apply (total_frames _ _ _ h); [done|done|done|intros; by eapply remove_valid|]. intros s Hv HF.
      assert (Et : frame_remove (table s) f q = Some (ERR_BAD_STATE, table s)).
      { unfold frame_remove. rewrite (proj2 (frame_id_true f)), (proj2 (process_id_true q)) by done. cbn [andb].
        pose proof (HF f) as Hs. rewrite HFf in Hs. unfold slice in Hs. destruct (owners (table s) !! f) as [m'|]; [|done].
        destruct (works_mask c m') eqn:Ew; [done|]. assert (Z.testbit m' q = false) as ->; [|done].
        unfold works_mask in Ew. apply orb_false_iff in Ew as [E1 E2]. by destruct Hq as [-> | ->]. }
      unfold frame_memory_remove. rewrite Et. rewrite decide_False.
      - exists ERR_BAD_STATE, s, h, F. split; [by destruct s|]. by split.
      - intros [Hp Hn]. destruct (proj2 Hv f Hp) as [? Hp']. congruence.
    Qed.
    Lemma total_add f q mk κ a h m F : stable c a R -> a !! FrameMemoryObject = None -> a !! OwnedFrames = Some (OwnedFramesState h) ->
      works q -> F !! f = Some (mk, false) -> own_mask c mk ->
      (Z.testbit mk q = true -> total (κ ERR_BAD_STATE) (with_owned h a) (K m F R)) ->
      (Z.testbit mk q = false -> total (κ STATUS_OK) (with_owned h a) (K m (<[f := (Z.lor mk (only q), false)]> F) R)) ->
      total (top_frame_memory X frames owned_frame_cell (table_only (fun t => frame_add t f q)) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hh Hq HFf Hmk Hhas Hnot. pose proof (works_range c not_root q Hq) as Hr.
      apply (total_frames _ _ _ h); [done|done|done|intros; by eapply add_valid|]. intros s Hv HF.
      pose proof (HF f) as Hs. rewrite HFf in Hs. destruct (slice_some _ _ _ _ Hs) as [Ho Hp].
      unfold table_only, frame_add. rewrite (proj2 (frame_id_true f)) by (by eapply frame_range).
      rewrite (proj2 (process_id_true q)) by done. cbn [andb]. rewrite Ho. destruct (Z.testbit mk q).
      { exists ERR_BAD_STATE, s, h, F. split; [by destruct s|]. split; [done|]. split; [done|]. by apply Hhas. }
      eexists _, _, _, _. split; [reflexivity|]. split; [|split; [|by apply Hnot]].
      - intros c' g Hc'. unfold slice. cbn [table private owners]. destruct (decide (f = g)) as [<-|Hg].
        + rewrite lookup_insert, Ho, (own_mask_other c c' _ Hc' Hmk). by rewrite (own_mask_other c c' _ Hc' (own_mask_add c mk q Hmk Hq)).
        + by rewrite lookup_insert_ne.
      - intros g. unfold slice. cbn [table private owners]. destruct (decide (f = g)) as [<-|Hg].
        + rewrite !lookup_insert. rewrite (own_mask_works c _ (own_mask_add c mk q Hmk Hq)). by rewrite Hp.
        + rewrite !lookup_insert_ne by done. apply HF.
    Qed.
    (** Only looking. *)
    Lemma total_look (g : Spec.frames -> option (Z * Spec.frames)) κ a h m F : stable c a R -> a !! FrameMemoryObject = None ->
      a !! OwnedFrames = Some (OwnedFramesState h) -> (forall t w t', g t = Some (w, t') -> t' = t) -> (forall t, is_Some (g t)) ->
      (forall v, total (κ v) (with_owned h a) (K m F R)) ->
      total (top_frame_memory X frames owned_frame_cell (table_only g) κ) a (K m F R).
    Proof using not_root R_indifferent.
      intros HR Ha Hh Hg Hsome Ht. apply (total_frames _ _ _ h); [done|done|done|intros; by eapply look_valid|]. intros s Hv HF.
      destruct (Hsome (table s)) as [[v t] Et]. pose proof (Hg _ _ _ Et) as ->. exists v, s, h, F.
      split; [unfold table_only; rewrite Et; by destruct s|]. split; [done|]. by split.
    Qed.
  End cpu.
End rules.
