(** The objects of the certified layers, and which lock guards which.

    Every layer of the stack adds its object here and its cells to [Guards.v]; its functions go to [Functions.v]. The states
    of the objects are those of the layers' specifications. No lock guards a CPU's owned frames and its ready queues. *)
From Ashlar Require Export layers.container.Implements layers.frame.memory.MemoryRules calculus.objects.DataRefines.
From Ashlar Require layers.share.Representation layers.share.Invariant layers.pagemap.cells.GuardedCells layers.sched.Implements.
Notation share_state := share.Spec.share_state.
Notation share_rep := share.Spec.share_rep.
Notation share_valid := share.Spec.share_valid.
Notation page_map := pagemap.Spec.page_map.
Notation pagemap_rep := pagemap.Spec.pagemap_rep.
Notation pagemap_valid := pagemap.Spec.pagemap_valid.
Notation ready := sched.Spec.ready.
Notation ready_rep := sched.Spec.ready_rep.

Section objects.
  (** The entries of the kernel's half of every page map. *)
  Context (kernel_entry : Z -> Z).
  (** Start-up: the machine's frames that the root container may use, and the frames. *)
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frame_memory) (frames_start_valid : frame_memory_valid frames_start).
  Context (shares_start : share_state) (shares_start_valid : share_valid shares_start).

  Inductive kernel_object := Containers | FrameMemoryObject | ProcessMap (p : Z) | Shares | OwnedFrames | ReadyQueues.
  Global Instance kernel_object_eq_dec : EqDecision kernel_object.
  Proof. solve_decision. Defined.
  Global Instance kernel_object_countable : Countable kernel_object.
  Proof.
    refine (inj_countable'
      (fun o => match o with Containers => (0, 0) | FrameMemoryObject => (1, 0) | ProcessMap p => (2, p) | Shares => (3, 0) | OwnedFrames => (4, 0)
                | ReadyQueues => (5, 0) end)
      (fun n => if n.1 =? 0 then Containers else if n.1 =? 1 then FrameMemoryObject else if n.1 =? 2 then ProcessMap n.2
                else if n.1 =? 3 then Shares else if n.1 =? 4 then OwnedFrames else ReadyQueues) _).
    by intros [].
  Defined.

  Inductive kernel_state :=
  | ContainersState (s : gmap Z container) | FrameMemoryState (s : frame_memory) | ProcessMapState (s : page_map)
  | SharesState (s : share_state) | OwnedFramesState (h : owned_frames) | ReadyState (cpu : Z) (s : ready).

  Definition kernel_rep (o : kernel_object) (st : kernel_state) (d : mem) : Prop :=
    match o, st with
    | Containers, ContainersState s => container_rep s d
    | FrameMemoryObject, FrameMemoryState s => frame_memory_rep s d
    | ProcessMap p, ProcessMapState s => pagemap_rep kernel_entry p s d
    | Shares, SharesState s => share_rep s d
    | OwnedFrames, OwnedFramesState h => owned_frames_rep h d
    | ReadyQueues, ReadyState cpu s => ready_rep cpu s d
    | _, _ => False
    end.
  Definition kernel_valid (o : kernel_object) (st : kernel_state) : Prop :=
    match o, st with
    | Containers, ContainersState s => container_valid s
    | FrameMemoryObject, FrameMemoryState s => frame_memory_valid s
    | ProcessMap _, ProcessMapState s => pagemap_valid s
    | Shares, SharesState s => share_valid s
    | OwnedFrames, OwnedFramesState _ | ReadyQueues, ReadyState _ _ => True
    | _, _ => False
    end.
  Global Instance kernel_valid_dec o st : Decision (kernel_valid o st).
  Proof. destruct o, st; simpl; apply _. Defined.
  Definition kernel_object_of (k : Z) : option kernel_object :=
    if k =? LOCK_CONTAINER then Some Containers
    else if k =? LOCK_FRAME then Some FrameMemoryObject
    else if (LOCK_PAGEMAP_BASE <=? k) && (k <? LOCK_PAGEMAP_BASE + NUM_PROCESS) then Some (ProcessMap (k - LOCK_PAGEMAP_BASE))
    else if k =? LOCK_SHARE then Some Shares
    else None.
  Definition kernel_initial (o : kernel_object) : kernel_state :=
    match o with
    | Containers => ContainersState (container_initial root_quota)
    | FrameMemoryObject => FrameMemoryState frames_start
    | ProcessMap _ => ProcessMapState pagemap.Spec.pagemap_absent
    | Shares => SharesState shares_start
    | OwnedFrames | ReadyQueues => OwnedFramesState ∅ (* not looked at: no lock guards them *)
    end.

  Definition kernel_layout : layout :=
    Layout kernel_object _ _ kernel_state kernel_rep kernel_object_of kernel_valid _ kernel_initial.

  Lemma containers_rep st d : kernel_rep Containers st d <-> exists s, st = ContainersState s /\ container_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma frame_memory_rep_object st d : kernel_rep FrameMemoryObject st d <-> exists s, st = FrameMemoryState s /\ frame_memory_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma process_map_rep p st d : kernel_rep (ProcessMap p) st d <-> exists s, st = ProcessMapState s /\ pagemap_rep kernel_entry p s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma shares_rep st d : kernel_rep Shares st d <-> exists s, st = SharesState s /\ share_rep s d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma owned_frame_cell_rep st d : kernel_rep OwnedFrames st d <-> exists h, st = OwnedFramesState h /\ owned_frames_rep h d.
  Proof. destruct st; simpl; (split; [eauto; done|]); by intros (? & [= ->] & ?). Qed.
  Lemma ready_queues_rep st d :
    kernel_rep ReadyQueues st d <-> exists s, st = ReadyState s.1 s.2 /\ ready_rep s.1 s.2 d.
  Proof.
    destruct st; simpl; split; try done; try (by intros (? & ? & ?)); [by exists (cpu, s)|].
    by intros ([c r] & [= -> ->] & ?).
  Qed.
  Lemma no_lock_ready k : kernel_object_of k <> Some ReadyQueues.
  Proof. unfold kernel_object_of. repeat (destruct (_ =? _); [done|]). destruct (_ && _); [done|]. by destruct (_ =? _). Qed.
  Lemma no_lock_owned_frames k : kernel_object_of k <> Some OwnedFrames.
  Proof. unfold kernel_object_of. repeat (destruct (_ =? _); [done|]). destruct (_ && _); [done|]. by destruct (_ =? _). Qed.

  (** Every lock that guards an object. *)
  Inductive guards_object : Z -> kernel_object -> Prop :=
  | guards_containers : guards_object LOCK_CONTAINER Containers
  | guards_frames : guards_object LOCK_FRAME FrameMemoryObject
  | guards_process_map p : 0 <= p < NUM_PROCESS -> guards_object (LOCK_PAGEMAP_BASE + p) (ProcessMap p)
  | guards_shares : guards_object LOCK_SHARE Shares.
  Lemma kernel_object_guards k o : kernel_object_of k = Some o -> guards_object k o.
  Proof.
    unfold kernel_object_of. destruct (Z.eqb_spec k LOCK_CONTAINER) as [->|_]; [intros [= <-]; constructor|].
    destruct (Z.eqb_spec k LOCK_FRAME) as [->|_]; [intros [= <-]; constructor|].
    destruct (Z.leb_spec LOCK_PAGEMAP_BASE k), (Z.ltb_spec k (LOCK_PAGEMAP_BASE + NUM_PROCESS)); cbn [andb];
      try (destruct (Z.eqb_spec k LOCK_SHARE) as [->|]; [intros [= <-]; constructor|done]).
    intros [= <-]. replace k with (LOCK_PAGEMAP_BASE + (k - LOCK_PAGEMAP_BASE)) at 1 by lia. constructor. lia.
  Qed.

  Definition container_slot : slot kernel_layout (gmap Z container) container_rep container_valid :=
    Slot kernel_layout _ _ _ Containers LOCK_CONTAINER ContainersState
      (fun st => match st with ContainersState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl containers_rep
      (fun _ => iff_refl _).
  Definition frame_slot : slot kernel_layout frame_memory frame_memory_rep frame_memory_valid :=
    Slot kernel_layout _ _ _ FrameMemoryObject LOCK_FRAME FrameMemoryState
      (fun st => match st with FrameMemoryState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl frame_memory_rep_object
      (fun _ => iff_refl _).
  Lemma process_map_guards p : 0 <= p < NUM_PROCESS -> kernel_object_of (LOCK_PAGEMAP_BASE + p) = Some (ProcessMap p).
  Proof.
    unfold kernel_object_of, LOCK_PAGEMAP_BASE, LOCK_CONTAINER, LOCK_FRAME, NUM_PROCESS. intros Hp.
    rewrite !(proj2 (Z.eqb_neq _ _)) by lia. rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)) by lia.
    cbn [andb]. do 2 f_equal. lia.
  Qed.
  Definition process_map_slot (p : Z) (Hp : 0 <= p < NUM_PROCESS) : slot kernel_layout page_map (pagemap_rep kernel_entry p) pagemap_valid :=
    Slot kernel_layout _ _ _ (ProcessMap p) (LOCK_PAGEMAP_BASE + p) ProcessMapState
      (fun st => match st with ProcessMapState s => Some s | _ => None end) (fun _ => eq_refl) (process_map_guards p Hp)
      (process_map_rep p) (fun _ => iff_refl _).
  Definition share_slot : slot kernel_layout share_state share_rep share_valid :=
    Slot kernel_layout _ _ _ Shares LOCK_SHARE SharesState
      (fun st => match st with SharesState s => Some s | _ => None end) (fun _ => eq_refl) eq_refl shares_rep
      (fun _ => iff_refl _).
  Definition kernel_owned_frames : owned_frames_slot kernel_layout :=
    OwnedFramesSlot kernel_layout OwnedFrames OwnedFramesState (fun st => match st with OwnedFramesState h => Some h | _ => None end)
      (fun _ => eq_refl) no_lock_owned_frames owned_frame_cell_rep.
  Definition kernel_ready : lang.programs.Private.own_slot kernel_layout (Z * ready) layers.sched.Implements.cpu_ready_rep :=
    lang.programs.Private.OwnSlot kernel_layout _ _ ReadyQueues (fun s => ReadyState s.1 s.2)
      (fun st => match st with ReadyState c s => Some (c, s) | _ => None end) (fun s => match s with (_, _) => eq_refl end)
      no_lock_ready ready_queues_rep.
End objects.
