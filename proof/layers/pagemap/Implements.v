(** Page maps: the functions that take a page map's lock once and call no other locking function implement their programs. *)
From Ashlar Require Export layers.pagemap.code.MapLocked lang.programs.Slot lang.programs.Continuation.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma evals_first r m p : r !! 0%nat = Some p -> evals [Var 0] r m = Some [p].
Proof. intros H. cbn [evals eval]. unfold locals in *. by rewrite H. Qed.

Section implements.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (HY : forall p Hp, slot_lock (Y p Hp) = LOCK_PAGEMAP_BASE + p).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).

  (** ** Programs *)

  (** [k] for a process, [Fail] for other numbers. *)
  Definition for_process (p : Z) (k : 0 <= p < NUM_PROCESS -> prog X) : prog X :=
    match decide (0 <= p < NUM_PROCESS) with left Hp => k Hp | right _ => Fail end.
  (** The lock of page map [p] is held for one update. *)
  Definition on_map (p : Z) (g : page_map -> option (Z * page_map)) (κ : Z -> prog X) : prog X :=
    for_process p (fun Hp => bind (locked (slot_lock (Y p Hp)) (slot_object (Y p Hp)) (lift (Y p Hp) g)) κ).

  Definition find (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p; v; take] =>
        if user_address v then on_map p (fun s => if take =? 1 then pagemap_unmap s v else pagemap_walk s v) κ else κ 0
    | _ => Fail
    end.
  Definition walk (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [p; v] => find [p; v; 0] κ | _ => Fail end.
  Definition unmap (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [p; v] => find [p; v; 1] κ | _ => Fail end.
  Definition pin (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p; v] => if user_address v then on_map p (fun s => pagemap_pin s v) κ else κ 0
    | _ => Fail
    end.
  Definition frame (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [p; v; prot] => find [p; v; 0] (fun e => κ (frame_of e prot)) | _ => Fail end.

  Lemma on_map_continuation p g κ : same (bind (on_map p g Ret) κ) (on_map p g κ).
  Proof using. unfold on_map, for_process. destruct (decide _); [|constructor]. unfold locked. simpl. same_program. Qed.
  Lemma find_continuation : has_continuation X find.
  Proof using.
    intros [|p [|v [|t [|??]]]] κ; try constructor. unfold find. destruct (user_address v); [apply on_map_continuation|apply same_refl].
  Qed.

  (** ** Locks and pure functions *)
  Theorem pagemap_lock_acquires Post p m g (Q : call_post) : 0 <= p < NUM_PROCESS ->
    fwp (G := pstate X) (sim Post) ACQUIRE [LOCK_PAGEMAP_BASE + p] m g (fun _ => Q 0) ->
    fwp (G := pstate X) (sim Post) "pagemap_lock" [p] m g Q.
  Proof using HM.
    intros Hp H. eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_lock_code. cbn [fn_body fn_locals]. locals_simpl. wp_call.
    rewrite wrap32 by (unfold NUM_PROCESS in Hp; lia). exact H.
  Qed.
  Theorem pagemap_unlock_releases Post p m g (Q : call_post) : 0 <= p < NUM_PROCESS ->
    fwp (G := pstate X) (sim Post) RELEASE [LOCK_PAGEMAP_BASE + p] m g (fun _ => Q 0) ->
    fwp (G := pstate X) (sim Post) "pagemap_unlock" [p] m g Q.
  Proof using HM.
    intros Hp H. eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_unlock_code. cbn [fn_body fn_locals]. locals_simpl. wp_call.
    rewrite wrap32 by (unfold NUM_PROCESS in Hp; lia). exact H.
  Qed.
  Lemma fwp_pure Post f args x m g (Q : call_post) :
    (forall d, triple kernel_entry M cpu f args d (fun w d' => w = x /\ d' = d)) -> Q x m g ->
    fwp (G := pstate X) (sim Post) f args m g Q.
  Proof using.
    intros Ht HQ. rewrite <- (left_id_L ∅ (∪) m) in HQ |- *. eapply fwp_triple; [apply Ht|apply map_disjoint_empty_l|].
    by intros v d' [-> ->] _.
  Qed.

  (** ** Looking, taking out, pinning *)
  Lemma find_keeps v take s w s' : pagemap_valid s ->
    (if take =? 1 then pagemap_unmap s v else pagemap_walk s v) = Some (w, s') -> pagemap_valid s'.
  Proof using. intros HV. destruct (take =? 1); [by apply unmap_valid|by intros [= <- <-]]. Qed.

  Theorem pagemap_find_implements : implements_then "pagemap_find" find.
  Proof using HM HY lock_acquire lock_release HRead HWrite.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|take [|??]]]]; [by right..| |by right]. cbn [find] in *.
    destruct (user_address v) eqn:Ha.
    2:{ left. split; [done|]. rewrite find_code. unfold body_wp. cbn [fn_body fn_locals]. locals_simpl.
        wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
        unfold locals. locals_simpl. wp_seq. wp_if. change (flag false =? 0) with true. cbv iota. wp_return.
        apply settles_now, HQ; [constructor|done]. }
    unfold on_map, for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    rewrite find_code. unfold body_wp. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
    unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip.
    wp_seq. wp_call. apply pagemap_lock_acquires; [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object (Y p Hp))); [apply slot_guards|done|].
    intros st w st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result].
    apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
    pose proof Hg as Hg0. apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
    pose proof (find_keeps v take s w s' Hval Hg) as Hval'.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono; [| | |exact (find_inner_owned kernel_entry M cpu HM HRead HWrite p s d v take Hrep Ha)]; [|done|done].
    cbn beta. intros r d' (H3 & H0 & Hrep') Hd'.
    assert (w = entry_at s v /\ (if take =? 1 then PageMap (tables s) (delete (page_of v) (leaves s)) (cursor s) else s) = s') as [-> E].
    { destruct (take =? 1); injection Hg as <- <-; [|done]. by rewrite Ha. }
    rewrite E in Hrep'. wp_seq. cbn [wp]. exists [p]. split; [by apply evals_first|].
    apply pagemap_unlock_releases; [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock (Y p Hp)) (slot_object (Y p Hp)));
      [apply slot_guards|apply slot_rep; eauto|done|done|].
    intros m' Hr'. cbn [wp set_result]. exists (entry_at s v). split; [exact H3|]. apply settles_now, HQ; [|done].
    eapply yields_bind; [|constructor]. exact (locked_done (Y p Hp) _ s _ s' a Hval Hval' Hg).
  Qed.

  Theorem pagemap_walk_implements : implements_then "pagemap_walk" walk.
  Proof using HM HY lock_acquire lock_release HRead HWrite.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|??]]]; [by right..| |by right]. left. split; [done|].
    unfold body_wp, pagemap_walk_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. change (walk [p; v] k) with (find [p; v; 0] k).
    eapply fwp_then; [apply pagemap_find_implements|exact Hr|].
    intros e m1 a1 Hy Hr1. locals_simpl. wp_return. apply settles_now. by apply HQ.
  Qed.
  Theorem pagemap_unmap_implements : implements_then "pagemap_unmap" unmap.
  Proof using HM HY lock_acquire lock_release HRead HWrite.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|??]]]; [by right..| |by right]. left. split; [done|].
    unfold body_wp, pagemap_unmap_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. change (unmap [p; v] k) with (find [p; v; 1] k).
    eapply fwp_then; [apply pagemap_find_implements|exact Hr|].
    intros e m1 a1 Hy Hr1. locals_simpl. wp_return. apply settles_now. by apply HQ.
  Qed.

  Theorem pagemap_frame_implements : implements_then "pagemap_frame" frame.
  Proof using HM HY lock_acquire lock_release HRead HWrite.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|prot [|??]]]]; [by right..| |by right]. left. split; [done|].
    unfold body_wp, pagemap_frame_code. cbn [fn_body fn_locals]. locals_simpl. cbn [frame] in *.
    wp_seq. wp_call. eapply fwp_then; [apply pagemap_find_implements|exact Hr|].
    intros e m1 a1 Hy Hr1. locals_simpl. wp_seq. wp_call.
    eapply fwp_pure; [intros d; by apply pagemap_entry_frame_triple|]. unfold locals. locals_simpl.
    assert (Q (frame_of e prot) m1 (k (frame_of e prot), a1)) as HQ1.
    { apply HQ; [|done]. eapply (yields_then X find); [apply find_continuation|exact Hy|constructor]. }
    unfold frame_of in *. wp_seq. wp_if.
    replace (Z.land e 512 =? 0) with (negb (has e ARCH_PTE_OWNED)) by (unfold has; apply negb_involutive).
    destruct (has e ARCH_PTE_OWNED); cbn [negb andb] in *; [|wp_return; by apply settles_now].
    wp_skip. wp_seq. wp_if.
    replace (Z.land e 2 =? 0) with (negb (has e ARCH_PTE_WRITE)) by (unfold has; apply negb_involutive).
    change (negb (Z.land prot 2 =? 0)) with (has prot PROT_WRITE).
    assert (has e ARCH_PTE_WRITE || negb (has prot PROT_WRITE) = negb (has prot PROT_WRITE && negb (has e ARCH_PTE_WRITE))) as E
      by (by destruct (has e ARCH_PTE_WRITE), (has prot PROT_WRITE)).
    rewrite E in *. destruct (has prot PROT_WRITE && negb (has e ARCH_PTE_WRITE)); cbn [negb andb] in *;
      [wp_return; by apply settles_now|].
    wp_skip. wp_seq. wp_if. change (negb (Z.land prot 4 =? 0)) with (has prot PROT_EXEC).
    change (negb (Z.land e 9223372036854775808 =? 0)) with (has e ARCH_PTE_NO_EXECUTE).
    rewrite (andb_comm (has e ARCH_PTE_NO_EXECUTE)) in *.
    destruct (has prot PROT_EXEC && has e ARCH_PTE_NO_EXECUTE); cbn [negb andb] in *; [wp_return; by apply settles_now|].
    wp_skip. wp_return. by apply settles_now.
  Qed.

  Theorem pagemap_pin_implements : implements_then "pagemap_pin" pin.
  Proof using HM HY lock_acquire lock_release HRead HWrite.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|??]]]; [by right..| |by right]. cbn [pin] in *.
    destruct (user_address v) eqn:Ha.
    2:{ left. split; [done|]. rewrite pin_code. unfold body_wp. cbn [fn_body fn_locals]. locals_simpl.
        wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
        unfold locals. locals_simpl. wp_seq. wp_if. change (flag false =? 0) with true. cbv iota. wp_return.
        apply settles_now, HQ; [constructor|done]. }
    unfold on_map, for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    rewrite pin_code. unfold body_wp. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
    unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip.
    wp_seq. wp_call. apply pagemap_lock_acquires; [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object (Y p Hp))); [apply slot_guards|done|].
    intros st w st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result].
    apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
    pose proof Hg as Hg0. apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
    pose proof (pin_valid s v w s' Hval Hg) as Hval'.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono; [| | |exact (pin_inner_owned kernel_entry M cpu HM HRead HWrite p s d v Hrep Ha)]; [|done|done].
    cbn beta. intros r d' (H0 & Hrep') Hd'. pose proof Hg as Hg1. unfold pagemap_pin in Hg1. rewrite Ha in Hg1. injection Hg1 as <- E.
    rewrite E in Hrep'. cbn [wp]. exists [p]. split; [by apply evals_first|].
    apply pagemap_unlock_releases; [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock (Y p Hp)) (slot_object (Y p Hp)));
      [apply slot_guards|apply slot_rep; eauto|done|done|].
    intros m' Hr'. apply settles_now, HQ; [|done].
    eapply yields_bind; [|constructor]. exact (locked_done (Y p Hp) _ s _ s' a Hval Hval' Hg).
  Qed.
End implements.
