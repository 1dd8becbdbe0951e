(** [pagemap_destroy_step]: one move of the destruction cursor under the map's lock; at the end of user space the root is
    freed. *)
From Ashlar Require Export layers.pagemap.destroy.CursorStep layers.pagemap.destroy.DropRoot layers.pagemap.create.CreateImplements.
Local Opaque gmap_lookup gmap_partial_alter.

(** When the cursor is at the end of user space, nothing is left but the root, so taking it does not fail. *)
Lemma end_alone s : pagemap_valid s -> present s = true -> USER_END <= cursor s -> tables s = {[root_key := root_of s]}.
Proof.
  intros HV Hp Hc. destruct (root_usable s HV Hp) as [_ Hroot]. apply map_eq. intros [l x].
  destruct (decide (root_key = (l, x))) as [<-|Hne]; [by rewrite lookup_singleton|]. rewrite lookup_singleton_ne by done.
  destruct (tables s !! (l, x)) as [f|] eqn:Hf; [exfalso|done].
  destruct (valid_table s HV _ _ Hf) as (H1 & H2 & H3 & _ & _ & H6 & _). cbn [fst snd] in *.
  unfold root_key, PAGEMAP_ROOT_LEVEL, USER_END, end_page in *. destruct (decide (l = 3)) as [->|Hl].
  - apply Hne. change (span (3 + 1)) with 68719476736 in H3. f_equal. lia.
  - specialize (H6 ltac:(lia)). unfold behind in H6. cbn [fst snd] in H6. clear Hne Hf Hroot Hp.
    assert (l = 0 \/ l = 1 \/ l = 2) as [->|[-> | ->]] by lia.
    + change (span (0 + 1)) with 512 in *. lia.
    + change (span (1 + 1)) with 262144 in *. lia.
    + change (span (2 + 1)) with 134217728 in *. lia.
Qed.
Lemma take_root_end s h : pagemap_valid s -> present s = true -> USER_END <= cursor s ->
  take_root s h = Some (root_of s, pagemap_absent, <[root_of s := None]> h).
Proof. intros HV Hp Hc. unfold take_root. by rewrite decide_True by (by apply end_alone). Qed.

Section move.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Notation move := (move X kernel_entry Yc Yf H p Y).
  Notation drop_root := (drop_root X kernel_entry Yc Yf H p Y).

  (** A move, or the root goes. Result: is there more to do. *)
  Definition move_or_end (κ : Z -> prog X) : prog X :=
    move (fun more => if more =? 0 then drop_root (fun _ => κ 0) else κ more).

  Lemma drop_root_continuation κ : same (bind (drop_root Ret) κ) (drop_root κ).
  Proof using. apply same_loc. intros f. apply remove_owner_continuation. Qed.
  Lemma move_or_end_continuation κ : same (bind (move_or_end Ret) κ) (move_or_end κ).
  Proof using.
    unfold move_or_end. eapply same_trans; [|apply move_continuation]. eapply same_trans.
    { eapply same_bind; [apply same_sym, move_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros more.
    destruct (more =? 0); [|apply same_refl]. eapply same_trans; [|apply drop_root_continuation]. eapply same_trans.
    { eapply same_bind; [apply same_sym, drop_root_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros _. apply same_refl.
  Qed.
  Lemma move_or_end_end a a1 w : yields X (move Ret) a 0 a -> yields X (drop_root Ret) a w a1 -> yields X (move_or_end Ret) a 0 a1.
  Proof using.
    intros H1 H2. eapply yields_same; [|apply move_continuation]. eapply yields_bind; [exact H1|].
    change (0 =? 0) with true. cbv iota. eapply yields_same; [|apply drop_root_continuation].
    eapply yields_bind; [exact H2|constructor].
  Qed.
  Lemma move_or_end_move a a1 : yields X (move Ret) a 1 a1 -> yields X (move_or_end Ret) a 1 a1.
  Proof using.
    intros H1. eapply yields_same; [|apply move_continuation]. eapply yields_bind; [exact H1|].
    change (1 =? 0) with false. cbv iota. constructor.
  Qed.
End move.

Section step.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (HY : forall p Hp, slot_lock (Y p Hp) = LOCK_PAGEMAP_BASE + p).
  Context (Hother : forall p Hp, slot_object (Y p Hp) <> slot_object Yc /\ slot_object (Y p Hp) <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).
  Context (remove : implements_then "frame_remove_owner" (remove_owner X Yc Yf H)).
  Notation map_release := (map_release X kernel_entry Y).
  Notation move_or_end p Hp := (move_or_end X kernel_entry Yc Yf H p (Y p Hp)).

  Definition destroy_under (p : Z) (Hp : 0 <= p < NUM_PROCESS) (κ : Z -> prog X) : prog X :=
    Act (ACQUIRE, [slot_lock (Y p Hp)]) (fun _ => Loc (look (Y p Hp) (fun s => flag (present s))) (fun b =>
      if b =? 1 then move_or_end p Hp (fun more => map_release p Hp (κ more)) else map_release p Hp (κ 0))).
  Definition destroy_step (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [p] => for_process X p (fun Hp => destroy_under p Hp κ) | _ => Fail end.

  Lemma destroy_step_continuation : has_continuation X destroy_step.
  Proof using.
    intros [|p [|??]] κ; try constructor. unfold destroy_step, for_process. destruct (decide _) as [Hp|]; [|constructor].
    unfold destroy_under. cbn [bind]. apply same_act. intros _. apply same_loc. intros b. destruct (b =? 1).
    - eapply same_trans; [|apply move_or_end_continuation]. eapply same_trans.
      { eapply same_bind; [apply same_sym, move_or_end_continuation|intros; apply same_refl]. }
      eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros more. apply same_refl.
    - apply same_refl.
  Qed.

  Theorem pagemap_destroy_step_implements : implements_then "pagemap_destroy_step" destroy_step.
  Proof using HM HY Hother lock_acquire lock_release HRead HWrite remove.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|??]]; [by right| |by right]. unfold destroy_step, for_process in *.
    destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    unfold destroy_under in *. set (Yp := Y p Hp) in *.
    unfold body_wp, pagemap_destroy_step_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_call. apply pagemap_lock_acquires; [done|done|]. rewrite <- (HY p Hp). fold Yp.
    apply (fwp_map_acquire Yp M cpu lock_acquire); [done|]. intros s m1 HV Hr1. cbn [set_result].
    destruct (open_map Yp _ _ s Hr1 (lookup_insert _ _ _)) as (d & rest & Hrep & Hdis & Em & Hrest).
    wp_seq. wp_call. rewrite Em. eapply fwp_triple; [by apply (pagemap_exists_triple _ _ _ HM)|done|].
    intros w d' [-> ->] _. rewrite <- Em. unfold locals. locals_simpl.
    assert (Htail : forall r more a' m' s', r !! 0%nat = Some p -> r !! 1%nat = Some more -> rep X a' m' ->
      a' !! slot_object Yp = Some (slot_in Yp s') -> pagemap_valid s' ->
      (forall w a2, yields X (map_release p Hp (Ret more)) a' w a2 ->
         yields X (if flag (present s) =? 1 then move_or_end p Hp (fun more => map_release p Hp (Ret more))
           else map_release p Hp (Ret 0)) (<[slot_object Yp := slot_in Yp s]> a) w a2) ->
      wp (sim Post) (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var 1))) (fun _ m0 g => settles X Q 0 m0 g)
        (fun _ _ _ => False) (settles X Q) r m' (map_release p Hp (k more), a')).
    { intros r more a' m' s' H0 H1 Hr' Ho HV' Hy. wp_seq. cbn [wp]. exists [p]. split; [by apply evals_first|].
      apply pagemap_unlock_releases; [done|done|]. rewrite <- (HY p Hp).
      apply (fwp_map_release Yp M cpu lock_release Post m' a' s'); [done|done|]. intros m2 Hr2. cbn [set_result].
      exists more. split; [by apply eval_local|]. apply settles_now, HQ; [|done].
      eapply (map_acquire_yields Yp); [exact HV|]. apply Hy.
      eapply (map_release_yields Yp); [exact HV'|exact Ho|constructor]. }
    wp_seq. wp_if. destruct (present s) eqn:Hpre; unfold flag in *;
      [change (1 =? 1) with true in *|change (0 =? 1) with false in *]; cbv iota in Htail |- *.
    - destruct (Hother p Hp) as [Hoc Hof]. wp_seq. wp_call.
      assert (Hdone : forall more a2, yields X (move_or_end p Hp Ret) (<[slot_object Yp := slot_in Yp s]> a) more a2 ->
        forall w a3, yields X (map_release p Hp (Ret more)) a2 w a3 ->
        yields X (move_or_end p Hp (fun more => map_release p Hp (Ret more))) (<[slot_object Yp := slot_in Yp s]> a) w a3).
      { intros more a2 Hy2 w a3 Hy3. eapply yields_same; [|apply move_or_end_continuation]. by eapply yields_bind. }
      eapply (pagemap_move_moves X kernel_entry M cpu Yc Yf H p Yp (conj Hoc Hof) HM HRead HWrite remove Post s);
        [exact Hr1|apply lookup_insert|done|done| |].
      + intros Hc Hy1. unfold locals. locals_simpl. wp_if. change (0 =? 0) with true. cbv iota. wp_call.
        eapply (pagemap_drop_root_drops X kernel_entry M cpu Yc Yf H p Yp (conj Hoc Hof) HM remove Post s);
          [exact Hr1|apply lookup_insert|].
        intros w m2 a2 Hr2 Ho2 Hy2. unfold locals. locals_simpl.
        eapply Htail; [done|done|exact Hr2|exact Ho2|apply absent_valid|]. intros u a3. apply Hdone. by eapply move_or_end_end.
      + intros m2 a2 Hc Hr2 Ho2 Hy2. unfold locals. locals_simpl. wp_if. change (1 =? 0) with false. cbv iota. wp_skip.
        eapply Htail; [done|done|exact Hr2|exact Ho2|by apply move_valid|]. intros u a3. apply Hdone. by apply move_or_end_move.
    - wp_skip. eapply Htail; [done|done|exact Hr1|apply lookup_insert|done|]. done.
  Qed.
End step.
