(** [pagemap_create] implements its program. *)
From Ashlar Require Export layers.pagemap.create.Create.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma eval_local r m x v : r !! x = Some v -> eval (Var x) r m = Some v.
Proof. done. Qed.

Section create.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (HY : forall p Hp, slot_lock (Y p Hp) = LOCK_PAGEMAP_BASE + p).
  Context (Hother : forall p Hp, slot_object (Y p Hp) <> slot_object Yc /\ slot_object (Y p Hp) <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Context (HWrite : M "arch_frame_write" = None) (HEntry : M "arch_kernel_map_entry" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).
  Notation alloc_private := (alloc_private X Yc Yf H).
  Context (alloc : implements_then "frame_alloc_private" alloc_private).

  Definition map_release (p : Z) (Hp : 0 <= p < NUM_PROCESS) (q : prog X) : prog X :=
    Act (RELEASE, [slot_lock (Y p Hp)]) (fun _ => q).

  Definition create (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p] =>
        for_process X p (fun Hp =>
          Act (ACQUIRE, [slot_lock (Y p Hp)]) (fun _ => Loc (look (Y p Hp) (fun s => flag (present s))) (fun b =>
            if b =? 0 then
              alloc_private [p] (fun f =>
                if f =? NONE then map_release p Hp (κ ERR_NO_MEMORY)
                else if f =? FRAME_NO_QUOTA then map_release p Hp (κ ERR_QUOTA)
                else Loc (on_both (Y p Hp) H (create_owned_frames f)) (fun status => map_release p Hp (κ status)))
            else map_release p Hp (κ ERR_BAD_STATE))))
    | _ => Fail
    end.

  Theorem pagemap_create_implements : implements_then "pagemap_create" create.
  Proof using HM HY Hother lock_acquire lock_release HWrite HEntry alloc.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|??]]; [by right| |by right]. cbn [create] in *. unfold for_process in *.
    destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    unfold body_wp. change (fn_body pagemap_create_code) with
      (Seq (Assign 1 (Const 12)) (Seq (Call None "pagemap_lock" [Var 0])
        (Seq (If (Cmp Eq (Load "pagemap" (Var 0) "exists" (Const 0)) (Const 0))
           (Seq (Call (Some 2%nat) "frame_alloc_private" [Var 0])
              (If (Cmp Eq (Var 2) (Const 4294967295)) (Assign 1 (Const 7))
                 (If (Cmp Eq (Var 2) (Const 4294967294)) (Assign 1 (Const 6)) create_inner))) Skip)
        (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var 1)))))).
    change (fn_locals pagemap_create_code) with 4%nat. locals_simpl. wp_seq. wp_assign. wp_seq. wp_call. apply pagemap_lock_acquires; [done|done|]. rewrite <- (HY p Hp).
    set (Yp := Y p Hp) in *. destruct (Hother p Hp) as [Hoc Hof]. fold Yp in Hoc, Hof.
    apply (fwp_map_acquire Yp M cpu lock_acquire); [done|]. intros s m1 HV Hr1. cbn [set_result].
    assert (Htail : forall r status a' m' s', r !! 0%nat = Some p -> r !! 1%nat = Some status -> rep X a' m' ->
      a' !! slot_object Yp = Some (slot_in Yp s') -> pagemap_valid s' ->
      (forall w a2, yields X (map_release p Hp (Ret status)) a' w a2 ->
         yields X (if flag (present s) =? 0 then
              alloc_private [p] (fun f =>
                if f =? NONE then map_release p Hp (Ret ERR_NO_MEMORY)
                else if f =? FRAME_NO_QUOTA then map_release p Hp (Ret ERR_QUOTA)
                else Loc (on_both (Y p Hp) H (create_owned_frames f)) (fun status => map_release p Hp (Ret status)))
            else map_release p Hp (Ret ERR_BAD_STATE)) (<[slot_object Yp := slot_in Yp s]> a) w a2) ->
      wp (sim Post) (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var 1))) (fun _ m0 g => settles X Q 0 m0 g)
        (fun _ _ _ => False) (settles X Q) r m' (map_release p Hp (k status), a')).
    { intros r status a' m' s' H0 H1 Hr' Ho HV' Hy. wp_seq. cbn [wp]. exists [p]. split; [by apply evals_first|].
      apply pagemap_unlock_releases; [done|done|]. rewrite <- (HY p Hp).
      apply (fwp_map_release Yp M cpu lock_release Post m' a' s'); [done|done|]. intros m2 Hr2. cbn [set_result].
      exists status. split; [by apply eval_local|]. apply settles_now, HQ; [|done].
      eapply (map_acquire_yields Yp); [exact HV|]. apply Hy.
      eapply (map_release_yields Yp); [exact HV'|exact Ho|constructor]. }
    wp_seq. destruct (open_map Yp _ _ s Hr1 (lookup_insert _ _ _)) as (d & rest & Hrep & Hdis & -> & Hrest).
    pose proof Hrep as (_ & _ & E1 & _). apply (own_read _ rest) in E1. unfold pagemap_cell in E1. wp_if.
    destruct (present s) eqn:Hpre; unfold flag in *; [change (1 =? 0) with false in *|change (0 =? 0) with true in *]; cbv iota in Htail |- *.
    { wp_skip. eapply Htail; [done|done|exact Hr1|apply lookup_insert|done|done]. }
    wp_seq. wp_call. apply fwp_settle. eapply fwp_then; [exact alloc|exact Hr1|]. intros f m2 a2 Hy2 Hr2.
    destruct (alloc_private_yields _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy2) as [Hkeep Hhand].
    assert (a2 !! slot_object Yp = Some (slot_in Yp s)) as Ho2.
    { rewrite Hkeep; [apply lookup_insert|apply map_owned_frames_differ|done|done]. }
    destruct (Z.eqb_spec f NONE) as [->|Hn].
    { apply settles_now. cbn beta. unfold locals. locals_simpl. wp_if. change (NONE =? 4294967295) with true. cbv iota. wp_assign.
      eapply Htail; [done|done|exact Hr2|exact Ho2|exact HV|]. intros w a3 Hy3.
      eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. exact Hy3. }
    destruct (Z.eqb_spec f FRAME_NO_QUOTA) as [->|Hq].
    { apply settles_now. cbn beta. unfold locals. locals_simpl. wp_if. change (FRAME_NO_QUOTA =? 4294967295) with false. cbv iota. wp_if.
      change (FRAME_NO_QUOTA =? 4294967294) with true. cbv iota. wp_assign.
      eapply Htail; [done|done|exact Hr2|exact Ho2|exact HV|]. intros w a3 Hy3.
      eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. exact Hy3. }
    destruct Hhand as [[E _]|(sh & h & _ & _ & [[E _]|[_ Hh2]])]; [done|done|].
    destruct (on_both Yp H (create_owned_frames f) a2) as [[v a3]|] eqn:Eb; [|by apply settles_loc_fail].
    eapply settles_loc; [exact Eb|]. apply settles_now. cbn beta. unfold locals. locals_simpl.
    destruct (on_both_known Yp H _ _ _ _ _ _ Ho2 Hh2 Eb) as (s' & h' & Hg & ->).
    apply create_owned_frames_inv in Hg as (Hf & _ & Hu & -> & -> & ->).
    wp_if. change 4294967295 with NONE. rewrite (proj2 (Z.eqb_neq f NONE) Hn). wp_if.
    change 4294967294 with FRAME_NO_QUOTA. rewrite (proj2 (Z.eqb_neq f FRAME_NO_QUOTA) Hq).
    destruct (open_both Yp H _ _ s _ Hr2 Ho2 Hh2) as (d2 & rest2 & Hj & Hdis2 & -> & Hrest2).
    apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono; [| | |exact (create_inner_owned kernel_entry M cpu HWrite HEntry p s _ d2 f 12 HV Hj Hf Hpre Hu)]; [|done|done].
    cbn beta. intros r d' (H0 & H1 & Hj') Hd'.
    assert (pagemap_valid (PageMap {[root_key := f]} ∅ 0)) as HV'.
    { eapply (create_valid s f STATUS_OK); [done|]. unfold pagemap_create. by rewrite Hpre, Hu. }
    eapply Htail; [done|done|by apply (close_both Yp H)| |exact HV'|].
    { rewrite lookup_insert_ne by (intros E; by apply (map_owned_frames_differ Yp H)). apply lookup_insert. }
    intros w a3 Hy3. eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. cbn beta.
    rewrite (proj2 (Z.eqb_neq f NONE) Hn), (proj2 (Z.eqb_neq f FRAME_NO_QUOTA) Hq).
    eapply yields_loc; [exact Eb|exact Hy3].
  Qed.
End create.
