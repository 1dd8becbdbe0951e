(** Destroying a page map at the top: a transaction on the map, during which its frames are freed. *)
From Ashlar Require Export layers.pagemap.destroy.Destroy layers.pagemap.top.MapTransactions.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma take_table_valid l n s h f s' h' : pagemap_valid s -> l < 3 -> take_table l n s h = Some (f, s', h') -> pagemap_valid s'.
Proof.
  intros HV Hl (Hf & He & -> & _)%take_table_inv. destruct (valid_table s HV _ _ Hf) as ([Hl0 _] & _).
  cbn [fst] in Hl0. eapply without_valid; [done|exact Hf|lia|exact He].
Qed.
Lemma take_root_valid s h f s' h' : take_root s h = Some (f, s', h') -> pagemap_valid s'.
Proof. intros (_ & _ & -> & _)%take_root_inv. apply absent_valid. Qed.

Section destroy.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Notation top_program := (program (top_prim X) (objects X)).
  Notation top_remove_owner := (top_remove_owner X Yc Yf H).

  (** ** The programs *)
  Definition top_on_held (g : page_map -> option (Z * page_map)) (κ : Z -> top_program) : top_program :=
    Loc (update_object (slot_object Y) (lift Y g)) κ.
  Definition top_drop_leaf (n : Z) (κ : Z -> top_program) : top_program :=
    top_on_held (take_leaf n) (fun e => if has e ARCH_PTE_OWNED then top_remove_owner [entry_frame e; p] κ else κ 0).
  Definition top_drop_table (l n : Z) (κ : Z -> top_program) : top_program :=
    Loc (on_both Y H (take_table l n)) (fun f => top_remove_owner [f; p] κ).
  Fixpoint top_pass_levels (k : nat) (l n m : Z) (κ : Z -> top_program) : top_program :=
    match k with
    | O => top_on_held (move_cursor (4096 * m)) κ
    | S k =>
        if entry_index l m =? 0 then top_drop_table l n (fun _ => top_pass_levels k (l + 1) n m κ)
        else top_on_held (move_cursor (4096 * m)) κ
    end.
  Definition top_pass (l n : Z) (κ : Z -> top_program) : top_program :=
    top_pass_levels (Z.to_nat (PAGEMAP_ROOT_LEVEL - l)) l n (end_of l n) κ.
  Definition top_move (κ : Z -> top_program) : top_program :=
    Loc (look Y cursor) (fun v =>
      if USER_END <=? v then κ 0
      else Loc (look Y (fun s => missing s (page_of v))) (fun l =>
        if l =? 0 then top_drop_leaf (page_of v) (fun _ => top_pass 0 (page_of v) (fun _ => κ 1))
        else top_pass l (page_of v) (fun _ => κ 1))).
  Definition top_drop_root (κ : Z -> top_program) : top_program :=
    Loc (on_both Y H take_root) (fun f => top_remove_owner [f; p] κ).
  Definition top_move_or_end (κ : Z -> top_program) : top_program :=
    top_move (fun more => if more =? 0 then top_drop_root (fun _ => κ 0) else κ more).

  (** ** They stand for the programs that the C implements *)
  Lemma same_pass_levels k l n m (κ : Z -> prog X) κ' : (forall v, same (κ v) (expand X (κ' v))) ->
    same (pass_levels X kernel_entry Yc Yf H p Y k l n m κ) (expand X (top_pass_levels k l n m κ')).
  Proof.
    intros Hk. revert l. induction k as [|k IH]; intros l; cbn [pass_levels top_pass_levels]; [by apply same_loc|].
    destruct (entry_index l m =? 0); [|by apply same_loc]. apply same_loc. intros f. apply same_remove_owner. intros _. apply IH.
  Qed.
  Lemma same_move (κ : Z -> prog X) κ' : (forall v, same (κ v) (expand X (κ' v))) ->
    same (move X kernel_entry Yc Yf H p Y κ) (expand X (top_move κ')).
  Proof.
    intros Hk. apply same_loc. intros v. destruct (USER_END <=? v); [apply Hk|]. apply same_loc. intros l.
    destruct (l =? 0); [|apply same_pass_levels; intros _; apply Hk]. apply same_loc. intros e.
    destruct (has e ARCH_PTE_OWNED); [apply same_remove_owner; intros _|]; apply same_pass_levels; intros _; apply Hk.
  Qed.
  Lemma same_move_or_end (κ : Z -> prog X) κ' : (forall v, same (κ v) (expand X (κ' v))) ->
    same (move_or_end X kernel_entry Yc Yf H p Y κ) (expand X (top_move_or_end κ')).
  Proof.
    intros Hk. apply same_move. intros more. destruct (more =? 0); [|apply Hk].
    apply same_loc. intros f. apply same_remove_owner. intros _. apply Hk.
  Qed.

  (** ** Discipline *)
  Section transacts_dependent.
    Context (nlock : Z) (frame_below : 0 <= slot_lock Yf < nlock) (container_below : 0 <= slot_lock Yc < nlock).
    Context (limit : Z) (below_frame : slot_lock Yf < limit) (below_container : slot_lock Yc < limit).
    Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
    Context (frame_memory_out : forall st s, slot_out Yf st = Some s -> st = slot_in Yf s).
    Context (map_out : forall st s, slot_out Y st = Some s -> st = slot_in Y s).
    Notation transacts_dependent := (transacts_dependent X nlock limit (slot_lock Y) (slot_object Y)).
    Notation remove_transacts := (remove_owner_transacts X kernel_entry Yc Yf H p Y nlock frame_below container_below limit below_frame
      below_container containers_out frame_memory_out).

    Lemma move_cursor_transacts v n κ : (forall w, transacts_dependent n (κ w)) -> transacts_dependent n (top_on_held (move_cursor v) κ).
    Proof using map_out.
      intros Hk. apply transacts_dependent_loc; [|done]. apply held_keeps; [done|]. by intros s w s' _ (HV & _ & ->)%move_cursor_inv.
    Qed.
    (** A pass gives back one table of each level below the root at most. *)
    Lemma pass_levels_transacts k l m e n κ : l + Z.of_nat k <= 3 -> (forall v, transacts_dependent n (κ v)) ->
      transacts_dependent (2 * k + n) (top_pass_levels k l m e κ).
    Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_out.
      intros Hl Hk. revert l Hl. induction k as [|k IH]; intros l Hl; cbn [top_pass_levels]; [by apply move_cursor_transacts|].
      destruct (entry_index l e =? 0).
      - apply transacts_dependent_loc; [apply both_keeps; [done|]; intros; eapply take_table_valid; [done| |done]; lia|]. intros f.
        replace (2 * S k + n)%nat with (2 + (2 * k + n))%nat by lia. apply remove_transacts. intros _. apply IH. lia.
      - apply (move_cursor_transacts (4096 * e)). intros w. eapply transacts_dependent_more; [apply Hk|lia].
    Qed.
    Lemma pass_transacts l m n κ : (forall v, transacts_dependent n (κ v)) -> transacts_dependent (2 * Z.to_nat (3 - l) + n) (top_pass l m κ).
    Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_out.
      intros Hk. unfold top_pass, PAGEMAP_ROOT_LEVEL. destruct (Z.le_gt_cases l 3).
      - apply pass_levels_transacts; [lia|done].
      - replace (Z.to_nat (3 - l)) with 0%nat by lia. by apply move_cursor_transacts.
    Qed.
    Lemma drop_leaf_transacts m n κ : (forall v, transacts_dependent n (κ v)) -> transacts_dependent (2 + n) (top_drop_leaf m κ).
    Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_out.
      intros Hk. apply transacts_dependent_loc; [apply held_keeps; [done|]; intros; by eapply take_leaf_valid|]. intros e.
      destruct (has e ARCH_PTE_OWNED); [by apply remove_transacts|]. eapply transacts_dependent_more; [apply Hk|lia].
    Qed.
    (** A move gives back a page and three tables at most. *)
    Lemma move_transacts n κ : transacts_dependent (8 + n) (κ 0) -> transacts_dependent n (κ 1) -> transacts_dependent (8 + n) (top_move κ).
    Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_out.
      intros H0 H1. apply transacts_dependent_loc; [apply look_keeps|]. intros v. destruct (USER_END <=? v); [done|].
      apply transacts_dependent_step with (N := fun l => if l =? 0 then (8 + n)%nat else (2 * Z.to_nat (3 - l) + n)%nat); [apply look_keeps| |].
      - intros l. destruct (l =? 0); [|by apply pass_transacts].
        change (8 + n)%nat with (2 + (2 * Z.to_nat (3 - 0) + n))%nat. apply drop_leaf_transacts. intros _. by apply pass_transacts.
      - intros a st l a' Hst _ Hl. unfold look in Hl. rewrite Hst in Hl. destruct (slot_out Y st) as [s|]; [|done].
        injection Hl as <- _. pose proof (missing_range s (page_of v)). destruct (Z.eqb_spec (missing s (page_of v)) 0); lia.
    Qed.
    Lemma drop_root_transacts n κ : (forall v, transacts_dependent n (κ v)) -> transacts_dependent (2 + n) (top_drop_root κ).
    Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_out.
      intros Hk. apply transacts_dependent_loc; [apply both_keeps; [done|]; intros; by eapply take_root_valid|]. intros f. by apply remove_transacts.
    Qed.
    Lemma move_or_end_transacts κ : (forall n v, transacts_dependent n (κ v)) -> transacts_dependent 8 (top_move_or_end κ).
    Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_out.
      intros Hk. apply (move_transacts 0); [|apply Hk].
      change (0 =? 0) with true. cbv iota. eapply transacts_dependent_more; [apply (drop_root_transacts 0); intros _; apply Hk|lia].
    Qed.
  End transacts_dependent.

  (** ** Frames meanwhile change as they always do *)
  Section steps.
    Context (locks_differ : slot_lock Yc <> slot_lock Yf).
    Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
    Context (frame_memory_out : forall st s, slot_out Yf st = Some s -> st = slot_in Yf s).
    Notation steps_only := (steps_only X (frame_memory_history X Yf)).
    Notation remove_steps := (remove_owner_steps X Yc Yf H locks_differ containers_out frame_memory_out).
    Lemma pass_levels_steps k l m e κ : (forall v, steps_only (κ v)) -> steps_only (top_pass_levels k l m e κ).
    Proof using locks_differ containers_out frame_memory_out.
      intros Hk. revert l. induction k as [|k IH]; intros l; cbn [top_pass_levels]; [done|].
      destruct (entry_index l e =? 0); [|done]. intros f. apply (remove_steps [f; p]). intros _. apply IH.
    Qed.
    Lemma move_steps κ : (forall v, steps_only (κ v)) -> steps_only (top_move κ).
    Proof using locks_differ containers_out frame_memory_out.
      intros Hk v. destruct (USER_END <=? v); [apply Hk|]. intros l.
      destruct (l =? 0); [|apply pass_levels_steps; intros _; apply Hk]. intros e.
      destruct (has e ARCH_PTE_OWNED); [apply (remove_steps [entry_frame e; p]); intros _|]; apply pass_levels_steps; intros _; apply Hk.
    Qed.
    Lemma move_or_end_steps κ : (forall v, steps_only (κ v)) -> steps_only (top_move_or_end κ).
    Proof using locks_differ containers_out frame_memory_out.
      intros Hk. apply move_steps. intros more. destruct (more =? 0); [|apply Hk]. intros f. apply (remove_steps [f; p]). intros _. apply Hk.
    Qed.
  End steps.
End destroy.

Section function.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).

  Definition top_destroy_step (args : list Z) (κ : Z -> program (top_prim X) (objects X)) : program (top_prim X) (objects X) :=
    match args with
    | [p] =>
        top_process X p (fun Hp => top_begin X kernel_entry Y p Hp (
          Loc (look (Y p Hp) (fun s => flag (present s))) (fun b =>
            if b =? 1 then top_move_or_end X kernel_entry Yc Yf H p (Y p Hp) (fun more => top_end X kernel_entry Y p Hp (κ more))
            else top_end X kernel_entry Y p Hp (κ 0))))
    | _ => Fail
    end.
  Lemma same_destroy_step κ κ' args : (forall v, same (κ v) (expand X (κ' v))) ->
    same (destroy_step X kernel_entry Yc Yf H Y args κ) (expand X (top_destroy_step args κ')).
  Proof.
    intros Hk. destruct args as [|p [|??]]; try apply same_fail. unfold destroy_step, top_destroy_step, for_process, top_process.
    destruct (decide _) as [Hp|]; [|apply same_fail]. apply same_act. intros _. apply same_loc. intros b.
    destruct (b =? 1); [|by apply same_release]. apply same_move_or_end. intros more. by apply same_release.
  Qed.

  Context (nlock : Z) (frame_below : 0 <= slot_lock Yf < nlock) (container_below : 0 <= slot_lock Yc < nlock).
  Context (limit : Z) (below_frame : slot_lock Yf < limit) (below_container : slot_lock Yc < limit).
  Context (map_locks : forall p Hp, limit <= slot_lock (Y p Hp) /\ 0 <= slot_lock (Y p Hp) < nlock).
  Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
  Context (frame_memory_out : forall st s, slot_out Yf st = Some s -> st = slot_in Yf s).
  Context (maps_out : forall p Hp st s, slot_out (Y p Hp) st = Some s -> st = slot_in (Y p Hp) s).

  (** A page and three tables, each of which changes the containers and the frames. *)
  Definition destroy_updates : nat := 8.
  Lemma destroy_step_transaction args : map_function X nlock limit destroy_updates (top_destroy_step args Ret).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_locks maps_out.
    destruct args as [|p [|??]]; try (left; constructor).
    apply (process_function X kernel_entry Y nlock limit map_locks). intros Hp.
    apply transacts_dependent_loc; [apply look_keeps|]. intros b. destruct (b =? 1); [|apply end_transacts].
    unfold destroy_updates. apply (move_or_end_transacts X kernel_entry Yc Yf H p (Y p Hp)); try done; [apply maps_out|].
    intros n v. apply end_transacts.
  Qed.
  Lemma destroy_step_steps args : slot_lock Yc <> slot_lock Yf ->
    steps_only X (frame_memory_history X Yf) (top_destroy_step args Ret).
  Proof using containers_out frame_memory_out.
    intros Hd. destruct args as [|p [|??]]; try done. apply process_steps. intros Hp _ b. destruct (b =? 1); [|done].
    by apply move_or_end_steps.
  Qed.
End function.
