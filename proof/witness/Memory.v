(** Start-up can leave such a memory: the objects' initial states have cells, and each CPU has some of its own. *)
From Ashlar Require Export layers.Stack.
From Ashlar Require Import layers.container.cells.InitialCells layers.frame.memory.InitialMemory.
From Ashlar Require layers.share.InitialCells layers.pagemap.cells.InitialCells layers.sched.ready.InitialCells.

Section memory.
  Context (kernel_entry : Z -> Z).
  Context (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frame_memory) (frames_start_valid : frame_memory_valid frames_start).
  Context (shares_start : share_state) (shares_start_valid : share_valid shares_start).

  (** Lock by lock. *)
  Definition lock_memory (k : Z) : mem :=
    match kernel_object_of k with
    | Some Containers => container_memory (container_initial root_quota)
    | Some FrameMemoryObject => frame_memory_mem frames_start
    | Some (ProcessMap p) => pagemap.cells.InitialCells.absent_memory p
    | Some Shares => share.InitialCells.share_memory shares_start
    | Some OwnedFrames | Some ReadyQueues | None => ∅
    end.
  Theorem lock_memory_objects k o : kernel_object_of k = Some o ->
    kernel_rep kernel_entry o (kernel_initial root_quota frames_start shares_start o) (lock_memory k).
  Proof using root_quota_word frames_start_valid shares_start_valid.
    intros Ho. unfold lock_memory. rewrite Ho. destruct o; simpl.
    - apply container_memory_rep. by apply container_initial_valid.
    - by apply frame_memory_mem_rep.
    - apply pagemap.cells.InitialCells.absent_memory_rep.
    - by apply share.InitialCells.share_memory_rep.
    - by apply no_lock_owned_frames in Ho.
    - by apply no_lock_ready in Ho.
  Qed.
  Theorem lock_memory_other k : kernel_object_of k = None -> lock_memory k = ∅.
  Proof using. unfold lock_memory. by intros ->. Qed.

  (** CPU by CPU. *)
  Context (ncpu : nat) (cpus : Z.of_nat ncpu <= NUM_CPU).
  Definition cpu_ready (c : nat) : ready := sched.ready.InitialCells.ready_at_start (Z.of_nat c).
  Definition cpu_memory (c : nat) : mem :=
    if decide (c < ncpu)%nat then sched.ready.InitialCells.ready_memory (Z.of_nat c) else ∅.
  Theorem cpu_memory_objects c : (c < ncpu)%nat -> ready_rep (Z.of_nat c) (cpu_ready c) (cpu_memory c).
  Proof using cpus. intros Hc. unfold cpu_memory. rewrite decide_True by done. apply sched.ready.InitialCells.ready_memory_rep. lia. Qed.
  Theorem cpu_memory_disjoint c c' : c <> c' -> cpu_memory c ##ₘ cpu_memory c'.
  Proof using cpus.
    intros Hne. unfold cpu_memory. destruct (decide _) as [H|_]; [|apply map_disjoint_empty_l].
    destruct (decide _) as [H'|_]; [|apply map_disjoint_empty_r]. apply sched.ready.InitialCells.ready_memory_disjoint; lia.
  Qed.

  (** What locks guard has other names than what is a CPU's own. *)
  Lemma lock_memory_names k x : is_Some (lock_memory k !! x) -> x.1.1.1 ∉ sched.ready.InitialCells.cpu_object_names.
  Proof using kernel_entry root_quota_word frames_start_valid shares_start_valid.
    intros Hx. destruct (kernel_object_of k) as [o|] eqn:Ho.
    2: { exfalso. revert Hx. rewrite (lock_memory_other k Ho). apply eq_None_not_Some. apply (lookup_empty (M := gmap cell)). }
    pose proof (lock_memory_objects k o Ho) as Hr. apply (bool_decide_eq_false_1 _).
    apply kernel_object_guards in Ho. destruct Ho; simpl in Hr.
    - apply Hr in Hx as (c & g & _ & _ & ->). reflexivity.
    - destruct Hr as (_ & t & w & E & _ & Ht & [Hw _]). rewrite E in Hx. apply union_cells in Hx as [Hx|Hx].
      + apply Ht in Hx as [(f & _ & [-> | ->])|[->|(n & i & _ & _ & ->)]]; [reflexivity..|].
        unfold map_cell, map_object. destruct (n =? 0), (n =? 1), (n =? 2); reflexivity.
      + apply Hw in Hx as [(f & _ & ->)|(f & i & -> & _)]; reflexivity.
    - destruct Hr as (_ & Hd & _). apply Hd in Hx as [(g & _ & ->)|(key & f & i & Hk & _)]; [reflexivity|].
      cbn [pagemap.Spec.tables pagemap.Spec.pagemap_absent] in Hk. by rewrite lookup_empty in Hk.
    - apply Hr in Hx as [(i & g & _ & _ & ->)|(p & _ & ->)]; reflexivity.
  Qed.
  Theorem cpu_lock_disjoint c k : cpu_memory c ##ₘ lock_memory k.
  Proof using kernel_entry cpus root_quota_word frames_start_valid shares_start_valid.
    unfold cpu_memory. destruct (decide _) as [H|_]; [|apply map_disjoint_empty_l].
    apply map_disjoint_spec. intros x v w H1 H2. apply (lock_memory_names k x (ex_intro _ w H2)).
    apply (sched.ready.InitialCells.own_cells (Z.of_nat c)); [lia|by exists v].
  Qed.
End memory.
