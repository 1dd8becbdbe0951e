(** The cells of the scheduler are no lock's.

    Ready queues and their bitmap, the places of threads in queues, the threads' records, and the number of each CPU's current
    thread: no lock of the kernel guards a cell of these, as [kernel_guarded] says, and what a lock guards does not depend on
    them. So they may stay with suspended threads, or be handed over at a switch, whatever the locks do. *)
From Ashlar Require Export layers.Guards machine.threads.CellBaton machine.threads.SwitchModule.
Local Open Scope Z_scope.

Definition scheduler_objects : list string := ["thread"; "queue"; "queue_node"; "sched_ready_map"; "arch_current"]%string.
Definition scheduler_cell (x : cell) : bool := existsb (String.eqb x.1.1.1) scheduler_objects.

Section guards.
  Context (m r : mem) (Hd : m ##ₘ r) (Hr : all_parked (fun x => scheduler_cell x = true) r).

  Lemma scheduler_lookup x : scheduler_cell x = false -> (m ∪ r) !! x = m !! x.
  Proof using Hr.
    intros Hx. destruct (r !! x) as [v|] eqn:E; [|by apply lookup_union_l]. apply Hr in E. congruence.
  Qed.
  Lemma tables_below_scheduler l f : pagemap.cells.GuardedCells.tables_below (m ∪ r) l f = pagemap.cells.GuardedCells.tables_below m l f.
  Proof using Hr.
    revert f. induction l as [|l IH]; intros f; [done|]. cbn [pagemap.cells.GuardedCells.tables_below]. f_equal. apply flat_map_ext.
    intros i. rewrite scheduler_lookup by done. destruct (m !! frame_word f i) as [e|]; [|done]. by rewrite IH.
  Qed.
  Lemma map_tables_scheduler p : pagemap.cells.GuardedCells.map_tables p (m ∪ r) = pagemap.cells.GuardedCells.map_tables p m.
  Proof using Hr.
    unfold pagemap.cells.GuardedCells.map_tables. rewrite !scheduler_lookup by done.
    destruct (m !! _) as [x|]; [|done]. destruct (m !! _) as [y|]; [|done]. by rewrite tables_below_scheduler.
  Qed.
  Lemma guards_scheduler k x : guards k (m ∪ r) x = guards k m x.
  Proof using Hr.
    unfold guards. destruct (kernel_object_of k) as [[| |p| | |]|]; try done.
    - unfold frame_memory_guards, words_shared_in. destruct x as [[[o f] g] i]. by rewrite !scheduler_lookup by done.
    - unfold map_cell_dec. destruct x as [[[o i] f] j]. by rewrite map_tables_scheduler.
  Qed.
  (** No lock guards a cell of the scheduler. *)
  Lemma scheduler_unguarded k (d : mem) x : scheduler_cell x = true -> guards k d x = false.
  Proof using.
    destruct x as [[[o i] f] j]. unfold scheduler_cell, scheduler_objects. cbn [fst existsb].
    rewrite !orb_true_iff, !String.eqb_eq. intros Ho.
    destruct Ho as [->|[->|[->|[->|[->|Ho]]]]]; [..|done]; unfold guards; destruct (kernel_object_of k) as [[| |p| | |]|]; try done;
      unfold container_cell_dec, frame_memory_guards, frame_cell_dec, share_cell_dec, map_cell_dec; simpl;
      rewrite ?andb_false_r; try done; simpl; by rewrite ?andb_false_r.
  Qed.

  (** What a lock guards is the same where suspended threads, or CPUs, have cells of the scheduler. *)
  Theorem kernel_guarded_scheduler k : kernel_guarded k (m ∪ r) = kernel_guarded k m.
  Proof using Hd Hr.
    unfold kernel_guarded. apply map_eq. intros x. apply option_eq. intros v. rewrite !map_filter_lookup_Some. cbn [fst].
    rewrite guards_scheduler. split; intros [Hx Hg]; (split; [|exact Hg]).
    - apply lookup_union_Some in Hx as [Hx|Hx]; [done| |done]. apply Hr in Hx. by rewrite (scheduler_unguarded k m x Hx) in Hg.
    - by apply lookup_union_Some_l.
  Qed.
End guards.
