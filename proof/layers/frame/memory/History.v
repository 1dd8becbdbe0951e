(** What can ever happen to the frame table.

    [table_step]: a frame that was free and without an owner goes to one owner; an owner joins; an owner leaves, others
    stay; the only owner leaves, and the frame is free. Every update of the table by the specification is such a step. *)
From Ashlar Require Export layers.frame.memory.TopFunctions calculus.top.TopHistory.

Inductive table_step (t : frames) : frames -> Prop :=
| step_none : table_step t t
| step_taken f p : f ∈ free t -> owners t !! f = None ->
    table_step t (Frames (free t ∖ {[f]}) (<[f := only p]> (owners t)))
| step_joined f p mask : owners t !! f = Some mask -> Z.testbit mask p = false ->
    table_step t (Frames (free t) (<[f := Z.lor mask (only p)]> (owners t)))
| step_left f p mask : owners t !! f = Some mask -> Z.testbit mask p = true -> mask <> only p ->
    table_step t (Frames (free t) (<[f := Z.ldiff mask (only p)]> (owners t)))
| step_freed f p : owners t !! f = Some (only p) -> table_step t (Frames ({[f]} ∪ free t) (delete f (owners t))).

Lemma take_step p s h v s1 h1 : frame_memory_valid s -> frame_memory_take p s h = Some (v, s1, h1) -> table_step (table s) (table s1).
Proof.
  intros [Hv _] H. unfold frame_memory_take in H. destruct (frame_take (table s) p) as [[f t]|] eqn:E; [|done].
  destruct (Z.eqb_spec f NONE) as [->|Hn]; injection H as <- <- <-; simpl.
  - destruct (frame_take_none _ _ _ Hv E) as [_ ->]. constructor.
  - destruct (take_shape _ _ _ _ Hv E Hn) as (Hf & Ho & _ & Ef & Eo). destruct t as [l o]. simpl in *. subst. by constructor.
Qed.
Lemma publish_step f s h v s1 h1 : frame_memory_publish f s h = Some (v, s1, h1) -> table_step (table s) (table s1).
Proof.
  unfold frame_memory_publish. destruct (decide _); [|done]. destruct (h !! f); [|done]. intros [= <- <- <-]. constructor.
Qed.
Lemma add_step f p s h v s1 h1 : table_only (fun t => frame_add t f p) s h = Some (v, s1, h1) -> table_step (table s) (table s1).
Proof.
  unfold table_only, frame_add. destruct (frame_id f && process_id p); [|done].
  destruct (owners (table s) !! f) as [mask|] eqn:E; [|intros [= <- <- <-]; constructor].
  destruct (Z.testbit mask p) eqn:Eb; intros [= <- <- <-]; [constructor|]. by eapply step_joined.
Qed.
Lemma remove_step f p s h v s1 h1 : frame_memory_remove f p s h = Some (v, s1, h1) -> table_step (table s) (table s1).
Proof.
  unfold frame_memory_remove. destruct (frame_remove (table s) f p) as [[w t]|] eqn:E; [|done].
  assert (Ht : table_step (table s) t).
  { unfold frame_remove in E. destruct (frame_id f && process_id p); [|done].
    destruct (owners (table s) !! f) as [mask|] eqn:Eo; [|injection E as _ <-; constructor].
    destruct (Z.testbit mask p) eqn:Eb; simpl in E; [|injection E as _ <-; constructor].
    destruct (Z.eqb_spec mask (only p)) as [->|Hn]; injection E as _ <-; [by eapply step_freed|by eapply step_left]. }
  destruct (decide _); [destruct (h !! f); [|done]|]; by intros [= <- <- <-].
Qed.
Lemma look_step g s h v s1 h1 : (forall t w t', g t = Some (w, t') -> t' = t) -> table_only g s h = Some (v, s1, h1) ->
  table_step (table s) (table s1).
Proof. intros Hg Ht. apply look_inv in Ht as (_ & -> & _); [constructor|done]. Qed.

Section history.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (locks_differ : slot_lock Yc <> slot_lock Y).
  Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
  Context (frame_memory_out : forall st s, slot_out Y st = Some s -> st = slot_in Y s).

  (** Frame memory changes only by such steps. *)
  Definition frame_memory_history (k : Z) (st st' : obj_state X) : Prop :=
    k = slot_lock Y -> exists s s', st = slot_in Y s /\ st' = slot_in Y s' /\ table_step (table s) (table s').
  Notation steps_only := (steps_only X frame_memory_history).

  Lemma container_steps f args : keeps (svalid := container_valid) f -> steps_only (top_function X Yc f args).
  Proof using locks_differ containers_out.
    intros Hf. unfold top_function. destruct (f args) as [g|] eqn:E; [|done]. simpl.
    split; [apply slot_guards|]. split; [|done]. intros st a v st' a' Hst Hu.
    split; [by intros ?|]. unfold updated, update_object in Hu. rewrite lookup_insert in Hu.
    destruct (lift Yc g st) as [[w s2]|] eqn:Eg; [|done]. rewrite lookup_insert in Hu. injection Hu as <- <- <-.
    apply lift_inv in Eg as (s & s' & Hs & Hg & ->). rewrite (containers_out _ _ Hs) in Hst.
    apply slot_valid. apply slot_valid in Hst. exact (Hf args g s w s' E Hst Hg).
  Qed.

  Lemma frame_memory_steps g κ : (forall s h v s1 h1, frame_memory_valid s -> g s h = Some (v, s1, h1) -> frame_memory_valid s1) ->
    (forall s h v s1 h1, frame_memory_valid s -> g s h = Some (v, s1, h1) -> table_step (table s) (table s1)) ->
    (forall v, steps_only (κ v)) -> steps_only (top_frame_memory X Y H g κ).
  Proof using frame_memory_out.
    intros Hg Hs Hk. simpl. split; [apply slot_guards|]. split; [|exact Hk]. intros st a v st' a' Hst Hu.
    unfold updated in Hu. destruct (on_frame_memory Y H g (<[slot_object Y:=st]> a)) as [[w a1]|] eqn:Eg; [|done].
    destruct (on_frame_memory_inv _ _ _ _ _ _ Eg) as (st1 & sh & s & h & s1 & h1 & E1 & E2 & E3 & E4 & E5 & ->).
    rewrite lookup_insert in E1. injection E1 as <-. pose proof (objects_differ Y H) as Hd.
    rewrite lookup_insert_ne in Hu by congruence. rewrite lookup_insert in Hu. injection Hu as <- <- <-.
    pose proof (frame_memory_out _ _ E3) as ->. apply slot_valid in Hst. split.
    - intros _. exists s, s1. split_and!; [done|done|by eapply Hs].
    - apply slot_valid. by eapply Hg.
  Qed.

  Lemma charge_steps p κ : (forall v, steps_only (κ v)) -> steps_only (bind (top_function X Yc (update2 container_charge) [p; 1]) κ).
  Proof using locks_differ containers_out. intros. apply steps_only_bind; [apply container_steps, container_charge_keeps|done]. Qed.
  Lemma refund_steps p κ : (forall v, steps_only (κ v)) -> steps_only (bind (top_function X Yc (update2 container_refund) [p; 1]) κ).
  Proof using locks_differ containers_out. intros. apply steps_only_bind; [apply container_steps, container_refund_keeps|done]. Qed.

  Lemma alloc_private_steps args κ : (forall v, steps_only (κ v)) -> steps_only (top_alloc_private X Yc Y H args κ).
  Proof using locks_differ containers_out frame_memory_out.
    intros Hk. destruct args as [|p [|??]]; try done. unfold top_alloc_private. apply charge_steps. intros status.
    destruct (status =? STATUS_OK); [|apply Hk].
    apply frame_memory_steps; [intros; by eapply take_valid|intros; by eapply take_step|]. intros f. destruct (f =? NONE).
    - apply refund_steps. intros _. apply Hk. - intros _. apply Hk.
  Qed.
  Lemma alloc_steps args κ : (forall v, steps_only (κ v)) -> steps_only (top_alloc X Yc Y H args κ).
  Proof using locks_differ containers_out frame_memory_out.
    intros Hk. apply alloc_private_steps. intros f. destruct (f <? NUM_FRAME); [|apply Hk].
    apply frame_memory_steps; [intros; by eapply publish_valid|intros; by eapply publish_step|]. intros _. apply Hk.
  Qed.
  Lemma add_owner_steps args κ : (forall v, steps_only (κ v)) -> steps_only (top_add_owner X Yc Y H args κ).
  Proof using locks_differ containers_out frame_memory_out.
    intros Hk. destruct args as [|f [|p [|??]]]; try done. unfold top_add_owner. destruct (NUM_FRAME <=? f); [apply Hk|].
    apply charge_steps. intros status. destruct (status =? STATUS_OK); [|apply Hk].
    apply frame_memory_steps; [intros; by eapply add_valid|intros; by eapply add_step|]. intros st. destruct (st =? STATUS_OK).
    - apply Hk. - apply refund_steps. intros _. apply Hk.
  Qed.
  Lemma remove_owner_steps args κ : (forall v, steps_only (κ v)) -> steps_only (top_remove_owner X Yc Y H args κ).
  Proof using locks_differ containers_out frame_memory_out.
    intros Hk. destruct args as [|f [|p [|??]]]; try done. unfold top_remove_owner. destruct (NUM_FRAME <=? f); [apply Hk|].
    apply frame_memory_steps; [intros; by eapply remove_valid|intros; by eapply remove_step|]. intros st. destruct (st =? STATUS_OK).
    - apply refund_steps. intros _. apply Hk. - apply Hk.
  Qed.
  Lemma look_steps g κ : (forall t w t', g t = Some (w, t') -> t' = t) -> (forall v, steps_only (κ v)) ->
    steps_only (top_frame_memory X Y H (table_only g) κ).
  Proof using frame_memory_out. intros Hg Hk. apply frame_memory_steps; [intros; by eapply look_valid|intros; by eapply look_step|done]. Qed.
  Lemma owners_steps args κ : (forall v, steps_only (κ v)) -> steps_only (top_owners X Y H args κ).
  Proof using frame_memory_out.
    intros Hk. destruct args as [|f [|??]]; try done. unfold top_owners. destruct (f <? NUM_FRAME); [|apply Hk].
    apply look_steps; [apply frame_owners_look|done].
  Qed.
  Lemma state_steps args κ : (forall v, steps_only (κ v)) -> steps_only (top_state X Y H args κ).
  Proof using frame_memory_out.
    intros Hk. destruct args as [|f [|??]]; try done. unfold top_state. destruct (f <? NUM_FRAME); [|apply Hk].
    apply look_steps; [apply frame_state_look|done].
  Qed.
  Lemma free_count_steps args κ : (forall v, steps_only (κ v)) -> steps_only (top_free_count X Y H args κ).
  Proof using frame_memory_out.
    intros Hk. destruct args as [|??]; [|done]. apply look_steps; [apply frame_free_count_look|done].
  Qed.
End history.
