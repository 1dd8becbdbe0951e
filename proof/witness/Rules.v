(** A client that keeps the requirements, I: what each CPU may do to containers and frames, and the rules for programs.

    CPU [c] works for process [c]: it changes no container but its own and the root's, and no frame that another process
    owns alone. *)
From Ashlar Require Export layers.Top calculus.top.TopTotal.

Section rules.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory).
  Notation X := (kernel_layout kernel_entry root_quota frames_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start).
  Notation shares := (share_slot kernel_entry root_quota frames_start).
  Notation owned_frame_cell := (kernel_owned_frames kernel_entry root_quota frames_start).
  Notation states := (states X).
  Notation changed := (changed X).

  Definition process (c : nat) : Z := Z.of_nat c.
  Definition may (c : nat) (_ : Z) (st st' : option kernel_state) : Prop :=
    match st, st' with
    | Some (ContainersState s), Some (ContainersState s') => forall q, q <> ROOT -> q <> process c -> s' !! q = s !! q
    | Some (FrameMemoryState s), Some (FrameMemoryState s') => forall f p, 0 <= p -> p <> process c ->
        owners (table s) !! f = Some (only p) ->
        owners (table s') !! f = Some (only p) /\ (f ∈ private s' <-> f ∈ private s)
    | Some (ContainersState _), _ | Some (FrameMemoryState _), _ => False
    | _, _ => True
    end.
  Notation stable := (stable X may).
  Notation known := (known X may).

  (** ** What a CPU can know: a frame is charged to its container; frame [f] is its process's alone, private or not *)
  Definition charged (c : nat) (st : states) : Prop := exists s x,
    st LOCK_CONTAINER = Some (ContainersState s) /\ s !! process c = Some x /\ exists_ x = true /\ 1 <= usage x - granted x.
  Definition owned (c : nat) (f : Z) (b : bool) (st : states) : Prop := exists s,
    st LOCK_FRAME = Some (FrameMemoryState s) /\ owners (table s) !! f = Some (only (process c)) /\ bool_decide (f ∈ private s) = b.
  Definition charged_owned (c : nat) (f : Z) (b : bool) (st : states) : Prop := charged c st /\ owned c f b st.

  Lemma anything_stable c : stable c (fun _ => True).
  Proof. done. Qed.
  Lemma charged_stable c : process c <> ROOT -> stable c (charged c).
  Proof.
    intros Hr st c' k s' Hne _ Hm (s & x & Hs & Hx & H). unfold charged, TopTotal.changed.
    destruct (Z.eqb_spec k LOCK_CONTAINER) as [->|]; [|by exists s, x]. rewrite Hs in Hm. simpl in Hm.
    destruct s' as [[s'| | | | |]|]; try done. exists s', x. split; [done|]. rewrite Hm; [done|done|].
    unfold process. lia.
  Qed.
  Lemma owned_stable c f b : stable c (owned c f b).
  Proof.
    intros st c' k s' Hne _ Hm (s & Hs & Ho & Hb). unfold owned, TopTotal.changed.
    destruct (Z.eqb_spec k LOCK_FRAME) as [->|]; [|by exists s]. rewrite Hs in Hm. simpl in Hm.
    destruct s' as [[|s'| | | |]|]; try done. exists s'. split; [done|].
    destruct (Hm f (process c)) as [Ho' Hp]; [unfold process; lia..|done|]. split; [done|]. rewrite <- Hb.
    by apply bool_decide_ext.
  Qed.
  Lemma charged_owned_stable c f b : process c <> ROOT -> stable c (charged_owned c f b).
  Proof. intros Hr st c' k s Hne Hv Hm [H1 H2]. split; [by eapply charged_stable|by eapply owned_stable]. Qed.

  Lemma known_intro c (K : states -> Prop) st (J : (states -> Prop) -> Prop) : stable c K -> K st -> J K -> known c st J.
  Proof. intros. by exists K. Qed.

  (** Objects of different locks. *)
  Lemma charged_frames c st s : charged c st -> charged c (changed st LOCK_FRAME s).
  Proof. done. Qed.
  Lemma owned_containers c f b st s : owned c f b st -> owned c f b (changed st LOCK_CONTAINER s).
  Proof. done. Qed.
  Lemma charged_owned_shares c f b st s : charged_owned c f b st -> charged_owned c f b (changed st LOCK_SHARE s).
  Proof. done. Qed.

  (** ** Rules for programs *)
  Context (start : nat -> objects X).
  Context (start_owned_frames : forall c, start c !! OwnedFrames = Some (OwnedFramesState ∅)).
  Context (start_free : forall c k o, kernel_object_of k = Some o -> start c !! o = None).
  Definition transacts_dependent (c : nat) (h : owned_frames) : objects X := <[OwnedFrames := OwnedFramesState h]> (start c).

  Lemma transacts_dependent_start c : transacts_dependent c ∅ = start c.
  Proof using start_owned_frames. unfold transacts_dependent. by apply insert_id. Qed.
  Lemma transacts_dependent_free c h k o : kernel_object_of k = Some o -> transacts_dependent c h !! o = None.
  Proof using start_free.
    intros Ho. unfold transacts_dependent. rewrite lookup_insert_ne by (intros <-; by apply (no_lock_owned_frames k)). by apply (start_free c k).
  Qed.

  Section cpu.
    Context (c : nat) (Post : Z -> states -> Prop).
    Notation total := (total X may start c Post).
    Implicit Types K : states -> Prop.

    Lemma total_containers f args g κ h K : f args = Some g -> keeps (svalid := container_valid) f ->
      (forall st s, states_valid X st -> K st -> st LOCK_CONTAINER = Some (ContainersState s) -> container_valid s ->
         exists v s', g s = Some (v, s') /\ (forall q, q <> ROOT -> q <> process c -> s' !! q = s !! q) /\
           known c (changed st LOCK_CONTAINER (Some (ContainersState s'))) (total (κ v) (transacts_dependent c h))) ->
      total (bind (top_function X containers f args) κ) (transacts_dependent c h) K.
    Proof using start_free.
      intros Ef Hk H. unfold top_function. rewrite Ef. cbn [bind TopTotal.total]. split; [done|].
      intros st s Hv HK Hst Hs. change (slot_lock containers) with LOCK_CONTAINER in *.
      change (slot_object containers) with Containers in *. destruct s as [s| | | | |]; try done.
      destruct (H st s Hv HK Hst Hs) as (v & s' & Hg & Hm & Hkn). exists v, (ContainersState s'), (transacts_dependent c h). split.
      - unfold updated, update_object. rewrite lookup_insert. cbn [lift slot_out container_slot]. rewrite Hg.
        cbn [slot_in container_slot]. rewrite lookup_insert. f_equal. f_equal. rewrite insert_insert. apply delete_insert.
        by apply (transacts_dependent_free c h LOCK_CONTAINER).
      - split; [exact (Hk args g s v s' Ef Hs Hg)|]. by split.
    Qed.

    Lemma frame_memory_updated g s h v s' h' (a : objects X) : a !! OwnedFrames = Some (OwnedFramesState h) -> a !! FrameMemoryObject = None ->
      g s h = Some (v, s', h') ->
      updated X FrameMemoryObject (on_frame_memory frames owned_frame_cell g) (FrameMemoryState s) a = Some (v, FrameMemoryState s', <[OwnedFrames := OwnedFramesState h']> a).
    Proof using.
      intros Hh Hf Hg. unfold updated, on_frame_memory. change (slot_object frames) with FrameMemoryObject. change (owned_frames_object owned_frame_cell) with OwnedFrames.
      rewrite lookup_insert. rewrite lookup_insert_ne by done.
      match goal with |- context [@lookup ?A ?B ?C ?D OwnedFrames a] =>
        replace (@lookup A B C D OwnedFrames a) with (Some (OwnedFramesState h)) by (symmetry; exact Hh) end.
      cbn [slot_out frame_slot owned_frames_out kernel_owned_frames]. rewrite Hg. cbn [slot_in frame_slot owned_frames_in kernel_owned_frames].
      rewrite lookup_insert_ne by done. rewrite lookup_insert. f_equal. f_equal.
      rewrite insert_insert. rewrite delete_insert_ne by done. by rewrite delete_insert.
    Qed.
    Lemma total_frame_memory g κ h K :
      (forall s h v s1 h1, frame_memory_valid s -> g s h = Some (v, s1, h1) -> frame_memory_valid s1) ->
      (forall st s, states_valid X st -> K st -> st LOCK_FRAME = Some (FrameMemoryState s) -> frame_memory_valid s ->
         exists v s' h', g s h = Some (v, s', h') /\ may c LOCK_FRAME (Some (FrameMemoryState s)) (Some (FrameMemoryState s')) /\
           known c (changed st LOCK_FRAME (Some (FrameMemoryState s'))) (total (κ v) (transacts_dependent c h'))) ->
      total (top_frame_memory X frames owned_frame_cell g κ) (transacts_dependent c h) K.
    Proof using start_free.
      intros Hg H. unfold top_frame_memory. cbn [TopTotal.total]. split; [done|]. intros st s Hv HK Hst Hs.
      change (slot_lock frames) with LOCK_FRAME in *. change (slot_object frames) with FrameMemoryObject in *.
      destruct s as [|s| | | |]; try done. destruct (H st s Hv HK Hst Hs) as (v & s' & h' & Egs & Hm & Hkn).
      exists v, (FrameMemoryState s'), (transacts_dependent c h'). split.
      - rewrite (frame_memory_updated g s h v s' h'); [|apply lookup_insert|by apply (transacts_dependent_free c h LOCK_FRAME)|done].
        unfold transacts_dependent. by rewrite insert_insert.
      - split; [exact (Hg s h v s' h' Hs Egs)|]. by split.
    Qed.

    (** Only looking at the frames, whatever else the CPU holds. *)
    Lemma total_look (g : Spec.frames -> option (Z * Spec.frames)) κ h (a : objects X) K : stable c K ->
      a !! OwnedFrames = Some (OwnedFramesState h) -> a !! FrameMemoryObject = None ->
      (forall t w t', g t = Some (w, t') -> t' = t) -> (forall t, is_Some (g t)) ->
      (forall st s, K st -> st LOCK_FRAME = Some s -> K (changed st LOCK_FRAME (Some s))) ->
      (forall v, total (κ v) a K) -> total (top_frame_memory X frames owned_frame_cell (table_only g) κ) a K.
    Proof using.
      intros HK Hh Hf Hg Hsome Hsame Hκ. unfold top_frame_memory. cbn [TopTotal.total]. split; [done|]. intros st s Hv Hst Es Hs.
      change (slot_lock frames) with LOCK_FRAME in *. change (slot_object frames) with FrameMemoryObject in *.
      destruct s as [|s| | | |]; try done. destruct (Hsome (table s)) as [[v t] Et]. pose proof (Hg _ _ _ Et) as ->.
      exists v, (FrameMemoryState s), a. split.
      - rewrite (frame_memory_updated _ s h v s h); [by rewrite insert_id|done|done|]. unfold table_only. rewrite Et. by destruct s.
      - split; [exact Hs|]. split; [by intros f p _ _ Ho|]. eapply known_intro; [exact HK|by apply Hsame|apply Hκ].
    Qed.

    Lemma total_owned_frames (g : owned_frames -> option (Z * owned_frames)) κ h v h' K : g h = Some (v, h') -> total (κ v) (transacts_dependent c h') K ->
      total (Loc (on_owned_frames owned_frame_cell g) κ) (transacts_dependent c h) K.
    Proof using.
      intros Hg Ht. cbn [TopTotal.total]. exists v, (transacts_dependent c h'). split; [|exact Ht]. unfold on_owned_frames.
      change (owned_frames_object owned_frame_cell) with OwnedFrames. unfold transacts_dependent. rewrite lookup_insert. cbn [owned_frames_out kernel_owned_frames]. rewrite Hg.
      cbn [owned_frames_in kernel_owned_frames]. by rewrite insert_insert.
    Qed.
    Lemma total_ret v K : (forall st, K st -> Post v st) -> total (Ret v) (transacts_dependent c ∅) K.
    Proof using start_owned_frames. intros H. split; [apply transacts_dependent_start|exact H]. Qed.
  End cpu.
End rules.
