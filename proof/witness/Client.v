(** A client that keeps the requirements, III: on each CPU a program that works with frames forever.

    It splits a container of 8 frames from the root's for its process, and then, again and again, allocates a frame, shows
    which, offers it in a share, gives it back, and shows how many frames are free. All CPUs do this at the same time;
    which frames they get, and whether any are left, depends on the others. *)
From Ashlar Require Export witness.Calls calculus.linking.InfiniteExecutions.

Inductive worker := Splits | Allocates | Allocated (f : Z) | Offers (f : Z) | GivesBack (f : Z) | Counts | Counted (n : Z).

Definition worker_next (c : nat) (s : worker) : client_act worker :=
  match s with
  | Splits => CCall "container_split"%string [ROOT; process c; 8]
  | Allocates => CCall "frame_alloc"%string [process c]
  | Allocated f => COut f
  | Offers f => CCall "share_offer"%string [process c; process c; f]
  | GivesBack f => CCall "frame_remove_owner"%string [f; process c]
  | Counts => CCall "frame_free_count"%string []
  | Counted n => COut n
  end.
Definition worker_return (s : worker) (v : Z) : worker :=
  match s with
  | Splits => Allocates
  | Allocates => Allocated v
  | Allocated f => if f <? NUM_FRAME then Offers f else Counts
  | Offers f => GivesBack f
  | GivesBack _ => Counts
  | Counts => Counted v
  | Counted _ => Allocates
  end.
Definition workers : client := Client worker worker_next worker_return.
Definition workers_start (c : nat) : cstate workers := Splits.

(** They never fall silent. *)
Lemma workers_speak c s : speaks workers c s.
Proof.
  assert (Hc : speaks workers c Counts) by (eapply speaks_call; [reflexivity|]; intros n; by eapply speaks_now).
  assert (Ha : speaks workers c Allocates) by (eapply speaks_call; [reflexivity|]; intros f; by eapply speaks_now).
  assert (Hg : forall f, speaks workers c (GivesBack f)) by (intros f; eapply speaks_call; [reflexivity|]; intros v; exact Hc).
  destruct s; [|exact Ha|by eapply speaks_now| |exact (Hg f)|exact Hc|by eapply speaks_now].
  - eapply speaks_call; [reflexivity|]. intros v. exact Ha.
  - eapply speaks_call; [reflexivity|]. intros v. exact (Hg f).
Qed.

Section client.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frame_memory) (frames_start_valid : frame_memory_valid frames_start) (ready_start : nat -> ready).
  Context (ncpu : nat) (cpus : Z.of_nat ncpu <= NUM_CPU).
  Notation X := (kernel_layout kernel_entry root_quota frames_start).
  Notation start := (kernel_start kernel_entry root_quota frames_start ready_start).
  Notation specification := (kernel_top kernel_entry root_quota frames_start).

  (** A worker that has a frame has it alone, and its container is charged. *)
  Definition worker_has (c : nat) (f : Z) (st : states X) : Prop :=
    0 <= f < NUM_FRAME /\ charged_owned kernel_entry root_quota frames_start c f false st.
  Definition worker_knows (c : nat) (s : worker) (st : states X) : Prop :=
    match s with
    | Allocated f => f < NUM_FRAME -> worker_has c f st
    | Offers f | GivesBack f => worker_has c f st
    | _ => True
    end.

  Lemma start_owned_frames c : start c !! OwnedFrames = Some (OwnedFramesState ∅).
  Proof. apply lookup_insert. Qed.
  Lemma start_free c k o : kernel_object_of k = Some o -> start c !! o = None.
  Proof.
    intros Ho. apply eq_None_not_Some. intros Hs.
    by apply (kernel_start_holds kernel_entry root_quota frames_start ready_start c k o Ho), elem_of_nil in Hs.
  Qed.

  Notation knows_stably := (TopTotal.stable X may).
  Lemma knows_stable c s : (c < ncpu)%nat -> knows_stably c (worker_knows c s).
  Proof using cpus.
    intros Hc. assert (Hr : process c <> ROOT) by (unfold process, ROOT, NUM_PROCESS, NUM_CPU in *; lia).
    assert (Hs : forall f, knows_stably c (worker_has c f)).
    { intros f st c' k s' Hne Hv Hm [Hf H]. split; [exact Hf|]. by eapply charged_owned_stable. }
    destruct s; try done; [|apply Hs..]. intros st c' k s' Hne Hv Hm H Hf. by eapply Hs; [..|apply H].
  Qed.

  Lemma calls_total c s f args : worker_next c s = CCall f args -> (c < ncpu)%nat ->
    (exists st, worker_knows c s st) -> exists p, specification f args = Some p /\
    TopTotal.total X may start c (fun v => worker_knows c (worker_return s v)) p (start c) (worker_knows c s).
  Proof using cpus.
    intros Hs Hc [st0 Hst]. assert (Hp : Z.of_nat c < NUM_PROCESS) by (unfold NUM_PROCESS, NUM_CPU in *; lia).
    pose proof (process_range c Hp) as Hr. destruct s as [| |v|v|v| |v]; try done; injection Hs as <- <-;
      (eexists; split; [reflexivity|]).
    - by apply (split_total _ _ _ start start_owned_frames start_free c Hp).
    - apply (alloc_total _ _ _ start start_owned_frames start_free c Hp). intros v st Hv Hlt. destruct (Hv Hlt). split; [lia|done].
    - destruct Hst as [Hf _]. eapply total_from; [|apply (offer_total _ _ _ start start_owned_frames start_free c Hp); [done|done|]].
      + by intros st [_ H].
      + intros v' st H. by split.
    - destruct Hst as [Hf _]. eapply total_from; [|by apply (remove_total _ _ _ start start_owned_frames start_free c Hp)].
      by intros st [_ H].
    - by apply (free_count_total _ _ _ start start_owned_frames start_free).
  Qed.

  Theorem workers_never_wrong :
    never_wrong ncpu (top_layer X) (system workers (top_engine X specification)) (fun c => Idle (workers_start c) (start c)).
  Proof using root_quota_word frames_start_valid cpus.
    apply (total_never_wrong X may start workers ncpu specification
      (kernel_initial_valid root_quota root_quota_word frames_start frames_start_valid) workers_start worker_knows).
    - exact knows_stable.
    - done.
    - intros c s s' st Hn. by destruct s.
    - intros c s v w st Hn H. destruct s as [| |f| | | |]; try done. simpl. destruct (Z.ltb_spec f NUM_FRAME); [by apply H|done].
    - exact calls_total.
  Qed.
End client.
