(** [frame_owners], [frame_state] and [frame_free_count] implement their programs: one read of the table under the lock. *)
From Ashlar Require Export layers.frame.memory.OwnerFunctions.

Section read.
  Context (X : layout) (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (HY : slot_lock Y = LOCK_FRAME).
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation frame_memory_locked := (frame_memory_locked X Y H).

  Definition read_owners (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [f] => if f <? NUM_FRAME then frame_memory_locked (table_only (fun t => frame_owners t f)) κ else κ 0
    | _ => Fail
    end.
  Definition read_state (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [f] => if f <? NUM_FRAME then frame_memory_locked (table_only (fun t => frame_state t f)) κ else κ FRAME_RESERVED
    | _ => Fail
    end.
  Definition read_free_count (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [] => frame_memory_locked (table_only frame_free_count) κ | _ => Fail end.

  (** A look at the table. *)
  Lemma look_inv (g : frames -> option (Z * frames)) s h v s1 h1 : (forall t w t', g t = Some (w, t') -> t' = t) ->
    table_only g s h = Some (v, s1, h1) -> g (table s) = Some (v, table s) /\ s1 = s /\ h1 = h.
  Proof using.
    intros Hg Ht. unfold table_only in Ht. destruct (g (table s)) as [[w t]|] eqn:E; [|done]. injection Ht as <- <- <-.
    rewrite (Hg _ _ _ E) in *. by destruct s.
  Qed.
  Lemma frame_owners_look f t w t' : frame_owners t f = Some (w, t') -> t' = t.
  Proof using. unfold frame_owners. by destruct (frame_id f); [intros [= _ <-]|]. Qed.
  Lemma frame_state_look f t w t' : frame_state t f = Some (w, t') -> t' = t.
  Proof using. unfold frame_state. by destruct (frame_id f); [intros [= _ <-]|]. Qed.
  Lemma frame_free_count_look t w t' : frame_free_count t = Some (w, t') -> t' = t.
  Proof using. by intros [= _ <-]. Qed.

  Theorem frame_owners_implements : implements_then "frame_owners" read_owners.
  Proof using HM HY lock_acquire lock_release.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|f [|??]]; [by right| |by right]. left. split; [done|].
    unfold body_wp, frame_owners_code. cbn [fn_body fn_locals]. locals_simpl. cbn [read_owners] in *.
    wp_seq. wp_assign. wp_seq. wp_if. change 4194304 with NUM_FRAME. destruct (f <? NUM_FRAME).
    2: { wp_skip. wp_return. apply settles_now. apply HQ; [constructor|done]. }
    wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY. apply fwp_frame_memory_acquire; [done|done|].
    intros s h v s1 h1 t u rest a2 Hval Htog Hg Hd Hrest Hon ->.
    apply look_inv in Hg as (Hg & -> & ->); [|apply frame_owners_look].
    unfold frame_owners in Hg. destruct (frame_id f) eqn:Hf; [|done]. injection Hg as <-. apply frame_id_true in Hf.
    pose proof Htog as (_ & _ & Htab & _). destruct (proj1 (proj2 (proj2 (proj2 Htab))) f Hf) as [R _].
    apply (own_read _ u), (own_read _ rest) in R. unfold owner_cell in R.
    locals_simpl. wp_seq. wp_assign. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
    apply fwp_frame_memory_release; [done|done|done|done|done|]. intros m2 Hr2. locals_simpl. wp_return.
    apply settles_now. apply HQ; [|done]. eapply (frame_memory_section_yields Y H); [exact Hval|exact Hval|exact Hon|constructor].
  Qed.

  Theorem frame_state_implements : implements_then "frame_state" read_state.
  Proof using HM HY lock_acquire lock_release.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|f [|??]]; [by right| |by right]. left. split; [done|].
    unfold body_wp, frame_state_code. cbn [fn_body fn_locals]. locals_simpl. cbn [read_state] in *.
    wp_seq. wp_assign. wp_seq. wp_if. change 4194304 with NUM_FRAME. destruct (f <? NUM_FRAME).
    2: { wp_skip. wp_return. apply settles_now. apply HQ; [constructor|done]. }
    wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY. apply fwp_frame_memory_acquire; [done|done|].
    intros s h v s1 h1 t u rest a2 Hval Htog Hg Hd Hrest Hon ->.
    apply look_inv in Hg as (Hg & -> & ->); [|apply frame_state_look].
    unfold frame_state in Hg. destruct (frame_id f) eqn:Hf; [|done]. injection Hg as <-. apply frame_id_true in Hf.
    pose proof Htog as (_ & _ & Htab & _). destruct (proj1 (proj2 (proj2 (proj2 Htab))) f Hf) as [_ R].
    apply (own_read _ u), (own_read _ rest) in R. unfold kind_cell in R.
    locals_simpl. wp_seq. wp_assign.
    assert (Hk : wrap W32 (kind_of (table s) f) = kind_of (table s) f).
    { unfold kind_of. destruct (decide _); [done|]. by destruct (decide _). }
    rewrite Hk. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
    apply fwp_frame_memory_release; [done|done|done|done|done|]. intros m2 Hr2. locals_simpl. wp_return.
    apply settles_now. apply HQ; [|done]. eapply (frame_memory_section_yields Y H); [exact Hval|exact Hval|exact Hon|constructor].
  Qed.

  Theorem frame_free_count_implements : implements_then "frame_free_count" read_free_count.
  Proof using HM HY lock_acquire lock_release.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|??]; [|by right]. left. split; [done|].
    unfold body_wp, frame_free_count_code. cbn [fn_body fn_locals]. locals_simpl. cbn [read_free_count] in *.
    wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY. apply fwp_frame_memory_acquire; [done|done|].
    intros s h v s1 h1 t u rest a2 Hval Htog Hg Hd Hrest Hon ->.
    apply look_inv in Hg as (Hg & -> & ->); [|apply frame_free_count_look].
    unfold frame_free_count in Hg. injection Hg as <-.
    pose proof Htog as (_ & _ & Htab & _). pose proof (proj1 (proj2 (proj2 (proj2 (proj2 Htab))))) as R.
    apply (own_read _ u), (own_read _ rest) in R. unfold free_cell in R.
    locals_simpl. wp_seq. wp_assign. wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
    apply fwp_frame_memory_release; [done|done|done|done|done|]. intros m2 Hr2. locals_simpl. wp_return.
    apply settles_now. apply HQ; [|done]. eapply (frame_memory_section_yields Y H); [exact Hval|exact Hval|exact Hon|constructor].
  Qed.
End read.
