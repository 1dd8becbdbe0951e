(** [frame_alloc], [frame_add_owner] and [frame_remove_owner] implement their programs. *)
From Ashlar Require Export layers.frame.memory.Alloc.

(** An update of the table alone. *)
Definition table_only (f : frames -> option (Z * frames)) (s : frame_memory) (h : owned_frames) : option (Z * frame_memory * owned_frames) :=
  match f (table s) with Some (v, t) => Some (v, FrameMemory t (private s), h) | None => None end.

Lemma add_shape t f p v t1 : frame_add t f p = Some (v, t1) ->
  free t1 = free t /\ forall g, is_Some (owners t1 !! g) <-> is_Some (owners t !! g).
Proof.
  unfold frame_add. destruct (frame_id f && process_id p); [|done]. destruct (owners t !! f) as [mask|] eqn:E; [|by intros [= _ <-]].
  destruct (Z.testbit mask p); intros [= _ <-]; [done|]. split; [done|]. intros g. simpl. rewrite lookup_insert_is_Some.
  destruct (decide (f = g)) as [<-|]; [rewrite E; split; [by eexists|by left]|]. split; [by intros [?|[_ ?]]|by right].
Qed.
Lemma table_together s h (t u : mem) t1 (t' : mem) : frame_memory_valid s -> together s h t u -> frame_rep t1 t' ->
  free t1 = free (table s) -> (forall g, is_Some (owners t1 !! g) <-> is_Some (owners (table s) !! g)) ->
  together (FrameMemory t1 (private s)) h t' u.
Proof.
  intros [Hval Hpr] (Hp & Htu & Ht & Hu & Hdis & Hpv & Hhv) Ht' Ef Eo.
  assert (Hsame : forall g, words_shared s g <-> words_shared (FrameMemory t1 (private s)) g).
  { intros g. unfold words_shared. simpl. by rewrite Ef, Eo. }
  assert (Hu' : forall x, is_Some (u !! x) <-> frame_memory_cells (FrameMemory t1 (private s)) x \/ owned_frames_cells h x).
  { intros x. rewrite Hu. apply cells_same. intros g. by rewrite Hsame. }
  split_and!; [| |done|exact Hu'| | |done].
  - intros g Hg. simpl. apply Eo. by apply Hpr.
  - eapply table_disjoint; [exact Ht'|]. intros x Hx. by apply Hu'.
  - intros g Hg. apply Hdis. by apply Hsame.
  - intros g Hg. apply Hpv. by apply Eo.
Qed.

Lemma publish_valid f s h v s1 h1 : frame_memory_valid s -> frame_memory_publish f s h = Some (v, s1, h1) -> frame_memory_valid s1.
Proof.
  intros [Hv Hp] Hg. unfold frame_memory_publish in Hg. destruct (decide _); [|done]. destruct (h !! f); [|done].
  injection Hg as <- <- <-. split; [done|]. intros g [Hg _]%elem_of_difference. by apply Hp.
Qed.
Lemma add_valid f p s h v s1 h1 : frame_memory_valid s -> table_only (fun t => frame_add t f p) s h = Some (v, s1, h1) -> frame_memory_valid s1.
Proof.
  intros [Hv Hp] Hg. unfold table_only in Hg. destruct (frame_add (table s) f p) as [[w t]|] eqn:E; [|done].
  injection Hg as <- <- <-. split; [by eapply frame_add_valid|]. intros g Hg. simpl.
  apply (proj2 (add_shape _ _ _ _ _ E)). by apply Hp.
Qed.
Lemma remove_valid f p s h v s1 h1 : frame_memory_valid s -> frame_memory_remove f p s h = Some (v, s1, h1) -> frame_memory_valid s1.
Proof.
  intros [Hv Hp] Hg. unfold frame_memory_remove in Hg. destruct (frame_remove (table s) f p) as [[w t]|] eqn:E; [|done].
  pose proof (frame_remove_valid _ _ _ _ _ Hv E) as Hv'. pose proof (remove_shape _ _ _ _ _ Hv E) as Hs.
  destruct (decide (f ∈ private s /\ owners t !! f = None)) as [[Hin Hno]|Hd].
  - destruct (h !! f); [|done]. injection Hg as <- <- <-. split; [done|]. intros g [Hg Hne]%elem_of_difference. simpl.
    destruct Hs as [->|[(_ & Ho & _ & Hn)|(_ & _ & _ & Eo)]]; [by apply Hp| |].
    + rewrite Hn by set_solver. by apply Hp.
    + rewrite Eo. apply lookup_delete_is_Some. split; [set_solver|by apply Hp].
  - injection Hg as <- <- <-. split; [done|]. intros g Hg. simpl.
    destruct Hs as [->|[(_ & Ho & _ & Hn)|(_ & _ & _ & Eo)]]; [by apply Hp| |].
    + destruct (decide (g = f)) as [->|Hne]; [done|]. rewrite (Hn g Hne). by apply Hp.
    + rewrite Eo. apply lookup_delete_is_Some. split; [|by apply Hp]. intros <-. apply Hd. split; [done|].
      rewrite Eo. apply lookup_delete.
Qed.

(** The entry of [frame_private] of an allocated frame, written. *)
Lemma private_store s h (t u : mem) f v : together s h t u -> 0 <= f < NUM_FRAME ->
  is_Some ((t ∪ u) !! private_cell f) /\ <[private_cell f := v]> (t ∪ u) = t ∪ <[private_cell f := v]> u.
Proof.
  intros (_ & Htu & _ & Hu & _) Hf.
  assert (Hx : is_Some (u !! private_cell f)) by (apply Hu; left; left; by exists f). destruct Hx as [x Hx]. split.
  - exists x. by apply lookup_union_Some_r.
  - apply insert_union_r. apply eq_None_not_Some. intros [y Hy]. by eapply (proj1 (map_disjoint_spec t u) Htu).
Qed.

Section owner.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (HY : slot_lock Y = LOCK_FRAME).
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None) (clear_builtin : M "arch_frame_clear" = None).
  Notation implements := (implements X kernel_entry M cpu).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation frame_memory_locked := (frame_memory_locked X Y H).
  Notation alloc_private := (alloc_private X Yc Y H).
  Context (charge : implements "container_charge" (lock_function Yc (update2 container_charge))).
  Context (refund : implements "container_refund" (lock_function Yc (update2 container_refund))).
  Context (take_triple : forall s p v s' (d : mem), frame_valid s -> frame_take s p = Some (v, s') -> frame_rep s d ->
    triple kernel_entry M cpu "frame_take" [p] d (fun w d' => w = v /\ frame_rep s' d')).
  Context (add_triple : forall s f p v s' (d : mem), frame_valid s -> frame_add s f p = Some (v, s') -> frame_rep s d ->
    triple kernel_entry M cpu "frame_add_owner_locked" [f; p] d (fun w d' => w = v /\ frame_rep s' d')).
  Context (remove_triple : forall s f p v s' (d : mem), frame_valid s -> frame_remove s f p = Some (v, s') -> frame_rep s d ->
    triple kernel_entry M cpu "frame_remove_owner_locked" [f; p] d (fun w d' => w = v /\ frame_rep s' d')).

  Definition alloc (args : list Z) (κ : Z -> prog X) : prog X :=
    alloc_private args (fun f => if f <? NUM_FRAME then frame_memory_locked (frame_memory_publish f) (fun _ => κ f) else κ f).
  Definition add_owner (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [f; p] =>
        if NUM_FRAME <=? f then κ ERR_BAD_STATE
        else bind (lock_function Yc (update2 container_charge) [p; 1]) (fun status =>
          if status =? STATUS_OK then
            frame_memory_locked (table_only (fun t => frame_add t f p)) (fun status =>
              if status =? STATUS_OK then κ status
              else bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => κ status))
          else κ status)
    | _ => Fail
    end.
  Definition remove_owner (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [f; p] =>
        if NUM_FRAME <=? f then κ ERR_BAD_STATE
        else frame_memory_locked (frame_memory_remove f p) (fun status =>
          if status =? STATUS_OK then bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => κ status)
          else κ status)
    | _ => Fail
    end.

  Theorem frame_alloc_implements : implements_then "frame_alloc" alloc.
  Proof using HM HY lock_acquire lock_release clear_builtin charge refund take_triple.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|??]]; [by right| |by right]. left. split; [done|].
    unfold body_wp, frame_alloc_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. unfold alloc. eapply fwp_then; [|exact Hr|].
    { by apply frame_alloc_private_implements. }
    intros f m1 a1 Hy1 Hr1. locals_simpl. wp_seq. wp_if. change (f <? 4194304) with (f <? NUM_FRAME).
    destruct (f <? NUM_FRAME) eqn:Ef.
    2: { wp_skip. wp_return. apply settles_now. apply HQ; [|done].
      unfold alloc; eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy1|]. cbn beta. rewrite Ef. constructor. }
    wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY. apply fwp_frame_memory_acquire; [done|done|].
    intros s h v s1 h1 t u rest a2 Hval Htog Hg Hd Hrest Hon ->.
    pose proof (publish_valid _ _ _ _ _ _ Hval Hg) as Hval1.
    destruct (publish_together _ _ _ _ _ _ _ _ Hval Htog Hg) as (-> & Hf & Htog1).
    destruct (private_store _ _ _ _ f 0 Htog Hf) as [Hcell E].
    locals_simpl. wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|]. step.
    intros Hd2.
    match goal with |- wp _ _ _ _ _ _ (?d ∪ rest) _ =>
      assert (E' : d = t ∪ <[private_cell f := 0]> u) by exact E; rewrite E' in Hd2; rewrite E' end.
    wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
    apply fwp_frame_memory_release; [done|done|done|done|done|]. intros m2 Hr2. locals_simpl. wp_return.
    apply settles_now. apply HQ; [|done]. unfold alloc; eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy1|]. cbn beta. rewrite Ef.
    eapply frame_memory_section_yields; [exact Hval|exact Hval1|exact Hon|constructor].
  Qed.

  Theorem frame_add_owner_implements : implements_then "frame_add_owner" add_owner.
  Proof using HM HY lock_acquire lock_release charge refund add_triple.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|f [|p [|??]]]; [by right|by right| |by right]. left. split; [done|].
    unfold body_wp, frame_add_owner_code. cbn [fn_body fn_locals]. locals_simpl. cbn [add_owner] in *.
    wp_seq. wp_if. change 4194304 with NUM_FRAME. destruct (NUM_FRAME <=? f) eqn:Ef.
    { wp_return. apply settles_now. apply HQ; [constructor|done]. }
    wp_skip. wp_seq. wp_call. eapply fwp_implements; [exact charge|exact Hr|].
    intros status m1 a1 Hy1 Hr1. locals_simpl. wp_seq. wp_if. change (status =? 0) with (status =? STATUS_OK).
    destruct (status =? STATUS_OK) eqn:Es; cbn [negb].
    2: { wp_return. apply settles_now. apply HQ; [|done]. eapply yields_bind; [exact Hy1|]. cbn beta. rewrite Es. constructor. }
    wp_skip. wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY. apply fwp_frame_memory_acquire; [done|done|].
    intros s h v s1 h1 t u rest a2 Hval Htog Hg Hd Hrest Hon ->. pose proof (add_valid _ _ _ _ _ _ _ Hval Hg) as Hval1.
    pose proof Htog as (_ & Htu & Htab & _). unfold table_only in Hg.
    destruct (frame_add (table s) f p) as [[w t1]|] eqn:Ea; [|done]. injection Hg as <- <- <-.
    locals_simpl. wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_call; [evaluate|done|exact (add_triple _ _ _ _ _ _ (proj1 Hval) Ea Htab)|].
    intros x t' [-> Ht'] Htu' Hd'. locals_simpl. wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
    destruct (add_shape _ _ _ _ _ Ea) as [Ef1 Eo].
    apply fwp_frame_memory_release; [done|done|by apply (table_together s h t u)|done|done|].
    intros m2 Hr2. locals_simpl. wp_seq. wp_if. change (w =? 0) with (w =? STATUS_OK).
    assert (Hsection : forall x a3,
      yields X (if w =? STATUS_OK then Ret w else bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => Ret w))
        (<[owned_frames_object H:=owned_frames_in H h]> (delete (slot_object Y) a1)) x a3 -> yields X (add_owner [f; p] Ret) a x a3).
    { intros x a3 Hy. cbn [add_owner]. rewrite Ef. eapply yields_bind; [exact Hy1|]. cbn beta. rewrite Es.
      eapply (frame_memory_section_yields Y H); [exact Hval|exact Hval1|exact Hon|exact Hy]. }
    cbn [add_owner] in Hsection. rewrite Ef in Hsection.
    destruct (w =? STATUS_OK) eqn:Ew; cbn [negb].
    - wp_skip. wp_return. apply settles_now. apply HQ; [|done]. apply Hsection. constructor.
    - wp_call. eapply fwp_implements; [exact refund|exact Hr2|]. intros r m3 a3 Hy3 Hr3. locals_simpl. wp_return.
      apply settles_now. apply HQ; [|done]. apply Hsection. eapply yields_bind; [exact Hy3|]. constructor.
  Qed.

  Theorem frame_remove_owner_implements : implements_then "frame_remove_owner" remove_owner.
  Proof using HM HY lock_acquire lock_release refund remove_triple.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|f [|p [|??]]]; [by right|by right| |by right]. left. split; [done|].
    unfold body_wp, frame_remove_owner_code. cbn [fn_body fn_locals]. locals_simpl. cbn [remove_owner] in *.
    wp_seq. wp_if. change 4194304 with NUM_FRAME. destruct (NUM_FRAME <=? f) eqn:Ef.
    { wp_return. apply settles_now. apply HQ; [constructor|done]. }
    wp_skip. wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY. apply fwp_frame_memory_acquire; [done|done|].
    intros s h v s1 h1 t u rest a2 Hval Htog Hg Hd Hrest Hon ->. pose proof (remove_valid _ _ _ _ _ _ _ Hval Hg) as Hval1.
    pose proof Htog as (_ & Htu & Htab & _). destruct (remove_together _ _ _ _ _ _ _ _ _ Hval Htog Hg) as (t1 & Ea & Htog1).
    locals_simpl. wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_call; [evaluate|done|exact (remove_triple _ _ _ _ _ _ (proj1 Hval) Ea Htab)|].
    intros x t' [-> Ht'] Htu' Hd'. locals_simpl. wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
    apply fwp_frame_memory_release; [done|done|by apply Htog1|done|done|].
    intros m2 Hr2. locals_simpl. wp_seq. wp_if. change (v =? 0) with (v =? STATUS_OK).
    assert (Hsection : forall x a3,
      yields X (if v =? STATUS_OK then bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => Ret v) else Ret v)
        (<[owned_frames_object H:=owned_frames_in H h1]> (delete (slot_object Y) a)) x a3 ->
      yields X (frame_memory_locked (frame_memory_remove f p) (fun status =>
          if status =? STATUS_OK then bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => Ret status)
          else Ret status)) a x a3).
    { intros x a3 Hy. eapply (frame_memory_section_yields Y H); [exact Hval|exact Hval1|exact Hon|exact Hy]. }
    destruct (v =? STATUS_OK) eqn:Ew.
    - wp_call. eapply fwp_implements; [exact refund|exact Hr2|]. intros r m3 a3 Hy3 Hr3. locals_simpl. wp_return.
      apply settles_now. apply HQ; [|done]. apply Hsection. eapply yields_bind; [exact Hy3|]. constructor.
    - wp_skip. wp_return. apply settles_now. apply HQ; [|done]. apply Hsection. constructor.
  Qed.
End owner.
