(** Cells that no lock guards.

    Those of objects that no lock of the kernel guards, as [kernel_guarded] says: ready queues, threads' records, a CPU's words, clocks and
    timers, among others. What a lock guards does not depend on them. So they may stay with suspended threads, or be handed over at a
    switch, whatever the locks do. *)
From Coq Require Import Btauto.
From Ashlar Require Export layers.Guards machine.threads.CellBaton machine.threads.SwitchModule.
Local Open Scope Z_scope.

Definition locked_objects : list string := ["container"; "frame_owner"; "frame_kind"; "frame_free"; "frame_map_0"; "frame_map_1"; "frame_map_2";
  "frame_map_3"; "frame_private"; "frame"; "pagemap"; "share"; "share_offers"]%string.
Definition unlocked_cell (x : cell) : bool := negb (existsb (String.eqb x.1.1.1) locked_objects).

Section guards.
  Context (m r : mem) (Hd : m ##ₘ r) (Hr : all_parked (fun x => unlocked_cell x = true) r).

  Lemma unlocked_lookup x : unlocked_cell x = false -> (m ∪ r) !! x = m !! x.
  Proof using Hr.
    intros Hx. destruct (r !! x) as [v|] eqn:E; [|by apply lookup_union_l]. apply Hr in E. congruence.
  Qed.
  Lemma tables_below_unlocked l f : pagemap.cells.GuardedCells.tables_below (m ∪ r) l f = pagemap.cells.GuardedCells.tables_below m l f.
  Proof using Hr.
    revert f. induction l as [|l IH]; intros f; [done|]. cbn [pagemap.cells.GuardedCells.tables_below]. f_equal. apply flat_map_ext.
    intros i. rewrite unlocked_lookup by done. destruct (m !! frame_word f i) as [e|]; [|done]. by rewrite IH.
  Qed.
  Lemma map_tables_unlocked p : pagemap.cells.GuardedCells.map_tables p (m ∪ r) = pagemap.cells.GuardedCells.map_tables p m.
  Proof using Hr.
    unfold pagemap.cells.GuardedCells.map_tables. rewrite !unlocked_lookup by done.
    destruct (m !! _) as [x|]; [|done]. destruct (m !! _) as [y|]; [|done]. by rewrite tables_below_unlocked.
  Qed.
  Lemma guards_unlocked k x : guards k (m ∪ r) x = guards k m x.
  Proof using Hr.
    unfold guards. destruct (kernel_object_of k) as [[| |p| | |]|]; try done.
    - unfold frame_memory_guards, words_shared_in. destruct x as [[[o f] g] i]. by rewrite !unlocked_lookup by done.
    - unfold map_cell_dec. destruct x as [[[o i] f] j]. by rewrite map_tables_unlocked.
  Qed.
  (** No lock guards such a cell. *)
  Lemma unlocked_unguarded k (d : mem) x : unlocked_cell x = true -> guards k d x = false.
  Proof using.
    destruct x as [[[o i] f] j]. unfold unlocked_cell, locked_objects. cbn [fst existsb]. rewrite negb_true_iff, !orb_false_iff.
    intros (H1 & H2 & H3 & H4 & H5 & H6 & H7 & H8 & H9 & H10 & H11 & H12 & H13 & _).
    unfold guards. destruct (kernel_object_of k) as [[| |p| | |]|]; try done;
      unfold container_cell_dec, frame_memory_guards, frame_cell_dec, share_cell_dec, map_cell_dec; cbn [existsb map_object Z.eqb Pos.eqb];
      rewrite ?H1, ?H2, ?H3, ?H4, ?H5, ?H6, ?H7, ?H8, ?H9, ?H10, ?H11, ?H12, ?H13; btauto.
  Qed.

  (** What a lock guards is the same where suspended threads, or CPUs, have such cells. *)
  Theorem kernel_guarded_unlocked k : kernel_guarded k (m ∪ r) = kernel_guarded k m.
  Proof using Hd Hr.
    unfold kernel_guarded. apply map_eq. intros x. apply option_eq. intros v. rewrite !map_filter_lookup_Some. cbn [fst].
    rewrite guards_unlocked. split; intros [Hx Hg]; (split; [|exact Hg]).
    - apply lookup_union_Some in Hx as [Hx|Hx]; [done| |done]. apply Hr in Hx. by rewrite (unlocked_unguarded k m x Hx) in Hg.
    - by apply lookup_union_Some_l.
  Qed.
End guards.
