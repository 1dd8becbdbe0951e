(** A client that keeps the requirements, V: what each CPU does.

    It works for two processes forever: makes and merges containers, allocates, shares and frees frames, lets its threads
    ready and takes them. All CPUs do this at the same time; which frames they get, and whether any are left, depends on the
    others. Each function is called where it succeeds, if there is memory, and where it refuses, if it can. *)
From Ashlar Require Export witness.Knowledge layers.sched.ready.InitialCells.

Inductive label := Begins | OnContainers | OnFrames | OnShares | OnQueues.
Notation script := (script label).

(** A call whose result does not matter; a value shown before the next chapter. *)
Definition calls (f : string) (args : list Z) (k : script) : script := Invoke f args (fun _ => k).
Fixpoint calls_all (l : list (string * list Z)) (k : script) : script :=
  match l with [] => k | (f, args) :: l => calls f args (calls_all l k) end.
Definition leads (v : Z) (l : label) : script := Show v (Jump l).

Section chapters.
  Context (c : nat).
  Notation p := (mine c).
  Notation q := (helper c).
  Notation cpu := (Z.of_nat c).
  Notation t := (own_thread cpu 0).
  Notation u := (own_thread cpu 1).

  (** A frame is allocated for [mine c], used, and freed. *)
  Definition with_frame (use : Z -> script -> script) (k : script) : script :=
    Invoke "frame_alloc" [p] (fun f => if f <? NUM_FRAME then use f (calls "frame_remove_owner" [f; p] k) else k).
  Definition with_private_frame (k : script) : script :=
    Invoke "frame_alloc_private" [p] (fun f => if f <? NUM_FRAME then calls "frame_remove_owner" [f; p] k else k).

  (** Before there are containers there is no quota. *)
  Definition begins : script :=
    with_frame (fun _ k => k) (with_private_frame (
    calls "sched_ready_park" [QUEUE_PARKED_BASE + cpu; own_thread cpu 7] (leads 0 OnContainers))).

  Definition on_containers : script :=
    calls "container_split" [ROOT; p; 8] (calls "container_split" [ROOT; p; 8] (
    calls "container_split" [ROOT; q; 2 ^ 32 - 1] (calls "container_split" [ROOT; q; 2] (calls "container_merge" [q] (
    calls "container_merge" [q] (calls "container_split" [ROOT; q; 2] (
    calls "container_quota" [p] (calls "container_parent" [p] (
    calls "container_charge" [p; 2 ^ 32 - 1] (
    Invoke "container_charge" [p; 3] (fun v =>
      (if v =? STATUS_OK then calls "container_refund" [p; 3] else fun k => k) (
      calls "container_usage" [p] (Invoke "container_own_usage" [p] (fun n => leads n OnFrames)))))))))))))).

  Definition on_frames : script :=
    calls "frame_owners" [NUM_FRAME] (calls "frame_state" [NUM_FRAME] (
    calls "frame_add_owner" [NUM_FRAME; p] (calls "frame_remove_owner" [NUM_FRAME; p] (
    with_private_frame (with_frame (fun f k =>
      Show f (calls "frame_owners" [f] (calls "frame_state" [f] (calls "frame_add_owner" [f; p] (
      Invoke "frame_add_owner" [f; q] (fun v =>
        if v =? STATUS_OK then calls "frame_remove_owner" [f; q] k else k))))))
    (Invoke "frame_free_count" [] (fun n => leads n OnShares))))))).

  Definition on_shares : script :=
    calls "share_accept" [own_share c; q] (calls "share_withdraw" [own_share c; p] (
    with_frame (fun f k =>
      calls "share_offer" [own_share c; q; f] (calls "share_offer" [own_share c; p; f] (
      calls "share_withdraw" [own_share c; p] (calls "share_offer" [own_share c; p; f] (
      Invoke "share_accept" [own_share c; q] (fun v =>
        calls "share_forget" [p; f] (
        (if v =? STATUS_OK then calls "frame_remove_owner" [f; q] else fun k => k) (
        calls "share_offer" [own_share c; p; f] (calls "share_process_ended" [p] k)))))))))
    (Invoke "share_frame" [own_share c] (fun f => leads f OnQueues)))).

  Definition queue_calls : list (string * list Z) :=
    [("thread_state", [t]); ("thread_priority", [t]);
     ("thread_set_priority", [t; 5]); ("sched_ready_insert", [cpu; t]); ("thread_set_priority", [u; 9]);
     ("sched_ready_insert", [cpu; u]); ("sched_ready_best", [cpu]); ("sched_ready_take", [cpu]); ("thread_state", [u]);
     ("sched_ready_remove", [cpu; t]); ("sched_ready_best", [cpu]); ("sched_ready_take", [cpu]);
     ("thread_set_state", [t; 0]); ("thread_set_state", [u; 0]); ("thread_set_priority", [t; 0]);
     ("thread_set_priority", [u; 0])]%string.
  Definition on_queues : script := calls_all queue_calls (leads 0 OnContainers).

  Definition chapter (l : label) : script :=
    match l with
    | Begins => begins
    | OnContainers => on_containers
    | OnFrames => on_frames
    | OnShares => on_shares
    | OnQueues => on_queues
    end.
End chapters.

Definition workers : client := scripts chapter.
Definition workers_start (c : nat) : cstate workers := chapter c Begins.

(** They never fall silent: whatever its calls return, a chapter shows a value before the next. *)
Lemma workers_speak c s : speaks workers c s.
Proof.
  apply script_speaks. intros l.
  assert (Hl : forall v l, speaks workers c (leads v l)) by (intros; by eapply speaks_now).
  assert (Hs : forall f args k, speaks workers c k -> speaks workers c (calls f args k)).
  { intros f args k Hk. by eapply speaks_call. }
  assert (Hc : forall f args κ, (forall v, speaks workers c (κ v)) -> speaks workers c (Invoke f args κ)).
  { intros f args κ Hk. by eapply speaks_call. }
  assert (Hf : forall use k, (forall f k, speaks workers c k -> speaks workers c (use f k)) -> speaks workers c k ->
    speaks workers c (with_frame c use k)).
  { intros use k Hu Hk. apply Hc. intros f. destruct (f <? NUM_FRAME); auto. }
  assert (Hp : forall k, speaks workers c k -> speaks workers c (with_private_frame c k)).
  { intros k Hk. apply Hc. intros f. destruct (f <? NUM_FRAME); auto. }
  assert (Ha : forall l k, speaks workers c k -> speaks workers c (calls_all l k)).
  { intros cs k Hk. induction cs as [|[f args] cs IH]; [exact Hk|]. by apply Hs. }
  destruct l; cbn [chapter].
  - apply Hf; [auto|]. apply Hp. by apply Hs.
  - unfold on_containers. do 10 apply Hs. apply Hc. intros v.
    assert (H : forall k, speaks workers c k -> speaks workers c ((if v =? STATUS_OK then calls "container_refund" [mine c; 3] else fun k => k) k)).
    { intros k Hk. destruct (v =? STATUS_OK); auto. }
    apply H, Hs. apply Hc. auto.
  - unfold on_frames. do 4 apply Hs. apply Hp, Hf; [|apply Hc; auto]. intros f k Hk. by eapply speaks_now.
  - unfold on_shares. do 2 apply Hs. apply Hf; [|apply Hc; auto]. intros f k Hk. do 4 apply Hs. apply Hc. intros v. apply Hs.
    destruct (v =? STATUS_OK); auto.
  - apply Ha, Hl.
Qed.
