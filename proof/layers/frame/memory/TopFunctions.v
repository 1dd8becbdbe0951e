(** The functions of frames at the top: programs of atomic updates. *)
From Ashlar Require Export layers.frame.memory.ReadFunctions.

Section top.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Notation top_program := (program (top_prim X) (objects X)).
  Notation containers f := (top_function X Yc (update2 f)).

  Definition top_frame_memory (g : frame_memory -> owned_frames -> option (Z * frame_memory * owned_frames)) (κ : Z -> top_program) : top_program :=
    Act (Update (slot_lock Y) (slot_object Y) (on_frame_memory Y H g)) κ.

  Definition top_alloc_private (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [p] =>
        bind (containers container_charge [p; 1]) (fun status =>
          if status =? STATUS_OK then
            top_frame_memory (frame_memory_take p) (fun f =>
              if f =? NONE then bind (containers container_refund [p; 1]) (fun _ => κ NONE)
              else Loc (on_owned_frames H (owned_frames_clear f)) (fun _ => κ f))
          else κ FRAME_NO_QUOTA)
    | _ => Fail
    end.
  Definition top_alloc (args : list Z) (κ : Z -> top_program) : top_program :=
    top_alloc_private args (fun f => if f <? NUM_FRAME then top_frame_memory (frame_memory_publish f) (fun _ => κ f) else κ f).
  Definition top_add_owner (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [f; p] =>
        if NUM_FRAME <=? f then κ ERR_BAD_STATE
        else bind (containers container_charge [p; 1]) (fun status =>
          if status =? STATUS_OK then
            top_frame_memory (table_only (fun t => frame_add t f p)) (fun status =>
              if status =? STATUS_OK then κ status
              else bind (containers container_refund [p; 1]) (fun _ => κ status))
          else κ status)
    | _ => Fail
    end.
  Definition top_remove_owner (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [f; p] =>
        if NUM_FRAME <=? f then κ ERR_BAD_STATE
        else top_frame_memory (frame_memory_remove f p) (fun status =>
          if status =? STATUS_OK then bind (containers container_refund [p; 1]) (fun _ => κ status) else κ status)
    | _ => Fail
    end.
  Definition top_owners (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [f] => if f <? NUM_FRAME then top_frame_memory (table_only (fun t => frame_owners t f)) κ else κ 0
    | _ => Fail
    end.
  Definition top_state (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with
    | [f] => if f <? NUM_FRAME then top_frame_memory (table_only (fun t => frame_state t f)) κ else κ FRAME_RESERVED
    | _ => Fail
    end.
  Definition top_free_count (args : list Z) (κ : Z -> top_program) : top_program :=
    match args with [] => top_frame_memory (table_only frame_free_count) κ | _ => Fail end.

  (** ** They stand for the programs that the C implements *)
  Context (κ : Z -> prog X) (κ' : Z -> top_program) (continuation : forall v, same (κ v) (expand X (κ' v))).
  Ltac expands :=
    unfold frame_memory_locked, top_frame_memory, lock_function, locked, top_function in *; simpl;
    repeat match goal with
           | |- same (κ _) _ => apply continuation
           | |- same Fail _ => constructor
           | |- same (Act _ _) (Act _ _) => apply same_act; intros ?
           | |- same (Loc _ _) (Loc _ _) => apply same_loc; intros ?
           | |- same (if ?x then _ else _) _ => destruct x
           | |- _ => progress (cbn [expand bind]; unfold locked_with)
           end.

  Lemma same_add_owner args : same (add_owner X Yc Y H args κ) (expand X (top_add_owner args κ')).
  Proof using continuation. destruct args as [|f [|p [|??]]]; try apply same_fail. unfold add_owner, top_add_owner. expands. Qed.
  Lemma same_remove_owner args : same (remove_owner X Yc Y H args κ) (expand X (top_remove_owner args κ')).
  Proof using continuation. destruct args as [|f [|p [|??]]]; try apply same_fail. unfold remove_owner, top_remove_owner. expands. Qed.
  Lemma same_owners args : same (read_owners X Y H args κ) (expand X (top_owners args κ')).
  Proof using continuation. destruct args as [|f [|??]]; try apply same_fail. unfold read_owners, top_owners. expands. Qed.
  Lemma same_state args : same (read_state X Y H args κ) (expand X (top_state args κ')).
  Proof using continuation. destruct args as [|f [|??]]; try apply same_fail. unfold read_state, top_state. expands. Qed.
  Lemma same_free_count args : same (read_free_count X Y H args κ) (expand X (top_free_count args κ')).
  Proof using continuation. destruct args as [|??]; [|constructor]. unfold read_free_count, top_free_count. expands. Qed.
  Lemma same_alloc_private args : same (alloc_private X Yc Y H args κ) (expand X (top_alloc_private args κ')).
  Proof using continuation. destruct args as [|p [|??]]; try apply same_fail. unfold alloc_private, top_alloc_private. expands. Qed.
End top.

Section more.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).

  Lemma same_alloc (κ : Z -> prog X) κ' args : (forall v, same (κ v) (expand X (κ' v))) ->
    same (alloc X Yc Y H args κ) (expand X (top_alloc X Yc Y H args κ')).
  Proof.
    intros Hk. apply same_alloc_private. intros f. destruct (f <? NUM_FRAME); [|apply Hk].
    unfold frame_memory_locked, top_frame_memory. simpl. unfold locked_with. constructor. intros _. constructor. intros v. constructor.
    intros _. apply Hk.
  Qed.

  (** ** They keep their objects valid *)
  Context (nlock : Z) (frame_below : 0 <= slot_lock Y < nlock) (container_below : 0 <= slot_lock Yc < nlock).
  Context (limit : Z) (below_frame : slot_lock Y < limit) (below_container : slot_lock Yc < limit).
  Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
  Context (frame_memory_out : forall st s, slot_out Y st = Some s -> st = slot_in Y s).
  Notation updates := (updates X nlock limit).

  Lemma updates_continuation n (p : program (top_prim X) (objects X)) κ m : updates n p -> (forall v, updates m (κ v)) ->
    updates (n + m) (bind p κ).
  Proof. apply updates_bind. Qed.

  Lemma container_updates f args : keeps (svalid := container_valid) f -> updates 1 (top_function X Yc f args).
  Proof using container_below below_container containers_out.
    intros Hf. unfold top_function. destruct (f args) as [g|] eqn:E; [|constructor].
    apply updates_step; [lia|lia|apply slot_guards| |intros; constructor].
    apply update_object_keeps. intros st v st' Hst Hg.
    apply lift_inv in Hg as (s & s' & Hs & Hg & ->). rewrite (containers_out _ _ Hs) in Hst.
    apply slot_valid. apply slot_valid in Hst. exact (Hf args g s v s' E Hst Hg).
  Qed.

  Lemma frame_memory_updates g n κ : (forall s h v s1 h1, frame_memory_valid s -> g s h = Some (v, s1, h1) -> frame_memory_valid s1) ->
    (forall v, updates n (κ v)) -> updates (S n) (top_frame_memory X Y H g κ).
  Proof using frame_below below_frame frame_memory_out.
    intros Hg Hk. apply updates_step; [lia|lia|apply slot_guards| |exact Hk].
    intros a st v a' Hst Hval Hu. destruct (on_frame_memory_inv _ _ _ _ _ _ Hu) as (st' & sh & s & h & s1 & h1 & E1 & E2 & E3 & E4 & E5 & ->).
    rewrite Hst in E1. injection E1 as <-. rewrite (frame_memory_out _ _ E3) in Hval. apply slot_valid in Hval.
    assert (Hd := objects_differ Y H). split.
    - exists (slot_in Y s1). rewrite lookup_insert_ne by congruence. rewrite lookup_insert. split; [done|].
      apply slot_valid. by eapply Hg.
    - intros k o Ho. assert (owned_frames_object H <> o) by (intros <-; by apply (owned_frames_unlocked H k)).
      destruct (decide (slot_object Y = o)) as [<-|Hne]; [by rewrite !lookup_delete|].
      rewrite !lookup_delete_ne, !lookup_insert_ne by done. done.
  Qed.
  Lemma owned_frames_private_step g a v a' : on_owned_frames H g a = Some (v, a') -> same_locked X a a'.
  Proof.
    intros (sh & h & h1 & _ & _ & _ & ->)%on_owned_frames_inv k o Ho.
    rewrite lookup_insert_ne; [done|]. intros <-. by apply (owned_frames_unlocked H k).
  Qed.

  Lemma charge_updates p n κ : (forall v, updates n (κ v)) -> updates (1 + n) (bind (top_function X Yc (update2 container_charge) [p; 1]) κ).
  Proof using container_below below_container containers_out.
    intros. apply updates_bind; [apply container_updates, container_charge_keeps|done].
  Qed.
  Lemma refund_updates p n κ : (forall v, updates n (κ v)) -> updates (1 + n) (bind (top_function X Yc (update2 container_refund) [p; 1]) κ).
  Proof using container_below below_container containers_out.
    intros. apply updates_bind; [apply container_updates, container_refund_keeps|done].
  Qed.

  Lemma alloc_private_updates args n κ : (forall v, updates n (κ v)) -> updates (3 + n) (top_alloc_private X Yc Y H args κ).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out.
    intros Hk. destruct args as [|p [|??]]; try apply updates_fail. unfold top_alloc_private.
    apply (charge_updates p (2 + n)). intros status. destruct (status =? STATUS_OK); [|eapply updates_more; [apply Hk|lia]].
    apply (frame_memory_updates _ (1 + n)); [intros; by eapply take_valid|]. intros f. destruct (f =? NONE).
    - apply refund_updates. intros _. apply Hk.
    - apply updates_private; [intros; by eapply owned_frames_private_step|]. intros _. eapply updates_more; [apply Hk|lia].
  Qed.
  Lemma alloc_updates args n κ : (forall v, updates n (κ v)) -> updates (4 + n) (top_alloc X Yc Y H args κ).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out.
    intros Hk. unfold top_alloc. apply (alloc_private_updates args (1 + n)). intros f. destruct (f <? NUM_FRAME).
    - apply frame_memory_updates; [intros; by eapply publish_valid|]. intros _. apply Hk.
    - eapply updates_more; [apply Hk|lia].
  Qed.
  Lemma add_owner_updates args n κ : (forall v, updates n (κ v)) -> updates (3 + n) (top_add_owner X Yc Y H args κ).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out.
    intros Hk. destruct args as [|f [|p [|??]]]; try apply updates_fail. unfold top_add_owner.
    destruct (NUM_FRAME <=? f); [eapply updates_more; [apply Hk|lia]|].
    apply (charge_updates p (2 + n)). intros status. destruct (status =? STATUS_OK); [|eapply updates_more; [apply Hk|lia]].
    apply (frame_memory_updates _ (1 + n)); [intros; by eapply add_valid|]. intros status'. destruct (status' =? STATUS_OK).
    - eapply updates_more; [apply Hk|lia].
    - apply refund_updates. intros _. apply Hk.
  Qed.
  Lemma remove_owner_updates args n κ : (forall v, updates n (κ v)) -> updates (2 + n) (top_remove_owner X Yc Y H args κ).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out.
    intros Hk. destruct args as [|f [|p [|??]]]; try apply updates_fail. unfold top_remove_owner.
    destruct (NUM_FRAME <=? f); [eapply updates_more; [apply Hk|lia]|].
    apply (frame_memory_updates _ (1 + n)); [intros; by eapply remove_valid|]. intros status. destruct (status =? STATUS_OK).
    - apply refund_updates. intros _. apply Hk.
    - eapply updates_more; [apply Hk|lia].
  Qed.
  Lemma look_valid g s h v s1 h1 : (forall t w t', g t = Some (w, t') -> t' = t) -> frame_memory_valid s ->
    table_only g s h = Some (v, s1, h1) -> frame_memory_valid s1.
  Proof. intros Hg Hv Ht. apply look_inv in Ht as (_ & -> & _); done. Qed.
  Lemma look_updates g n κ : (forall t w t', g t = Some (w, t') -> t' = t) -> (forall v, updates n (κ v)) ->
    updates (1 + n) (top_frame_memory X Y H (table_only g) κ).
  Proof using frame_below below_frame frame_memory_out. intros Hg Hk. apply frame_memory_updates; [|done]. intros. by eapply look_valid. Qed.
  Lemma owners_updates args n κ : (forall v, updates n (κ v)) -> updates (1 + n) (top_owners X Y H args κ).
  Proof using frame_below below_frame frame_memory_out.
    intros Hk. destruct args as [|f [|??]]; try apply updates_fail. unfold top_owners. destruct (f <? NUM_FRAME).
    - apply look_updates; [apply frame_owners_look|done]. - eapply updates_more; [apply Hk|lia].
  Qed.
  Lemma state_updates args n κ : (forall v, updates n (κ v)) -> updates (1 + n) (top_state X Y H args κ).
  Proof using frame_below below_frame frame_memory_out.
    intros Hk. destruct args as [|f [|??]]; try apply updates_fail. unfold top_state. destruct (f <? NUM_FRAME).
    - apply look_updates; [apply frame_state_look|done]. - eapply updates_more; [apply Hk|lia].
  Qed.
  Lemma free_count_updates args n κ : (forall v, updates n (κ v)) -> updates (1 + n) (top_free_count X Y H args κ).
  Proof using frame_below below_frame frame_memory_out.
    intros Hk. destruct args as [|??]; [|constructor]. apply look_updates; [apply frame_free_count_look|done].
  Qed.
End more.
