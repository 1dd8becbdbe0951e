(** [pagemap_prepare] implements its program: the highest table that the page lacks is made. *)
From Ashlar Require Export layers.pagemap.map.LinkTable layers.pagemap.create.CreateImplements.
Local Opaque gmap_lookup gmap_partial_alter.

Section locked.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation sim := (sim X kernel_entry M cpu).
  Notation alloc_private := (alloc_private X Yc Yf H).
  Context (alloc : implements_then X kernel_entry M cpu "frame_alloc_private" alloc_private).
  Notation op := (slot_object Y).

  (** Page [n] lacks [k] tables; the highest is made. *)
  Definition make_table (k n : Z) (κ : Z -> prog X) : prog X :=
    if k =? 0 then κ STATUS_OK
    else alloc_private [p] (fun f =>
      if f =? NONE then κ ERR_NO_MEMORY
      else if f =? FRAME_NO_QUOTA then κ ERR_QUOTA
      else Loc (on_both Y H (link_owned_frame n f)) κ).

  Lemma make_table_continuation k n κ : same (bind (make_table k n Ret) κ) (make_table k n κ).
  Proof using.
    unfold make_table. destruct (k =? 0); [apply same_refl|].
    eapply same_trans; [|apply alloc_private_continuation]. eapply same_trans.
    { eapply same_bind; [apply same_sym, alloc_private_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros f.
    destruct (f =? NONE); [apply same_refl|]. destruct (f =? FRAME_NO_QUOTA); apply same_refl.
  Qed.

  Theorem pagemap_prepare_locked_makes Post v s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) -> pagemap_valid s -> present s = true -> user_address v = true ->
    (forall status m' a' s', rep X a' m' -> a' !! op = Some (slot_in Y s') -> pagemap_valid s' ->
       yields X (make_table (missing s (page_of v)) (page_of v) Ret) a status a' -> Q status m' (κ status, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_prepare_locked" [p; v] m (make_table (missing s (page_of v)) (page_of v) κ, a) Q.
  Proof using HM HRead HWrite Hother alloc.
    intros Hr Ho HV Hp Ha HQ. pose proof (user_address_range _ Ha) as Hv. pose proof (user_page_address _ Ha) as [Hu _].
    pose proof (missing_range s (page_of v)) as Hmr. destruct Hother as [Hoc Hof].
    destruct (open_map Y a m s Hr Ho) as (d & rest & Hrep & Hdis & Em & Hrest).
    eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_prepare_locked_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. rewrite Em.
    eapply fwp_triple; [by apply (pagemap_lowest_triple _ _ _ HM HRead p s d v)|done|].
    intros w d' [-> ->] _. rewrite <- Em. unfold locals. locals_simpl.
    wp_seq. wp_if. unfold make_table in *. destruct (Z.eqb_spec (missing s (page_of v)) 0) as [Hm|Hm].
    { wp_return. eapply HQ; [exact Hr|exact Ho|done|constructor]. }
    wp_skip. wp_seq. wp_call. apply fwp_settle. eapply fwp_then; [exact alloc|exact Hr|]. intros f m2 a2 Hy2 Hr2.
    destruct (alloc_private_yields _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy2) as [Hkeep Hhand].
    assert (a2 !! op = Some (slot_in Y s)) as Ho2.
    { rewrite Hkeep; [exact Ho|apply map_owned_frames_differ|done|done]. }
    destruct (Z.eqb_spec f NONE) as [->|Hn].
    { apply settles_now. cbn beta. unfold locals. locals_simpl. wp_seq. wp_if. change (NONE =? 4294967295) with true. cbv iota.
      wp_return. eapply HQ; [exact Hr2|exact Ho2|done|].
      eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. constructor. }
    destruct (Z.eqb_spec f FRAME_NO_QUOTA) as [->|Hq].
    { apply settles_now. cbn beta. unfold locals. locals_simpl. wp_seq. wp_if. change (FRAME_NO_QUOTA =? 4294967295) with false.
      cbv iota. wp_skip. wp_seq. wp_if. change (FRAME_NO_QUOTA =? 4294967294) with true. cbv iota.
      wp_return. eapply HQ; [exact Hr2|exact Ho2|done|].
      eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. constructor. }
    destruct Hhand as [[E _]|(sh & h & _ & _ & [[E _]|[_ Hh2]])]; [done|done|].
    destruct (on_both Y H (link_owned_frame (page_of v) f) a2) as [[u a3]|] eqn:Eb; [|by apply settles_loc_fail].
    eapply settles_loc; [exact Eb|]. apply settles_now. cbn beta. unfold locals. locals_simpl.
    destruct (on_both_known Y H _ _ _ _ _ _ Ho2 Hh2 Eb) as (s' & h' & Hg & ->).
    apply link_owned_frame_inv in Hg as (Hf & Hadd & ->). pose proof (add_table_valid _ _ _ _ _ HV Hadd) as HV'.
    pose proof (add_table_inv _ _ _ _ _ Hadd) as (_ & _ & _ & _ & [Hfr _] & -> & _). unfold NUM_FRAME in Hfr.
    wp_seq. wp_if. change 4294967295 with NONE. rewrite (proj2 (Z.eqb_neq f NONE) Hn). wp_skip. wp_seq. wp_if.
    change 4294967294 with FRAME_NO_QUOTA. rewrite (proj2 (Z.eqb_neq f FRAME_NO_QUOTA) Hq). wp_skip.
    destruct (missing_present s (page_of v) (missing s (page_of v)) Hp Hu) as [tbl Htbl]; [lia|].
    destruct (open_map Y a2 m2 s Hr2 Ho2) as (d1 & rest1 & Hrep1 & Hdis1 & Em1 & Hrest1).
    wp_seq. wp_call. rewrite Em1.
    eapply fwp_triple; [apply (pagemap_table_triple _ _ _ HM HRead p s d1 v (missing s (page_of v)) Hrep1 Hp Hv); lia|done|].
    intros w d' [-> ->] _. rewrite <- Em1. unfold table_at. rewrite Htbl. cbn [from_option id]. unfold locals. locals_simpl.
    wp_seq. wp_call. eapply fwp_pure; [intros d'; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
    destruct (open_both Y H _ _ s _ Hr2 Ho2 Hh2) as (d2 & rest2 & Hj & Hdis2 & Em2 & Hrest2).
    destruct (joint_link kernel_entry p s (page_of v) f _ _ HV Hadd _ d2 tbl Hj Htbl Hf) as [Hcell Hj']. rewrite Em2.
    assert (Z.lor (wrap W64 (Z.shiftl (wrap W64 f) 12)) PAGEMAP_TABLE_BITS = link f) as Elink.
    { assert (0 <= f < 2 ^ 32) as Hf32 by (change (2 ^ 32) with 4294967296; lia).
      rewrite (wrap64 f) by (change (2 ^ 64) with (2 ^ 32 * 2 ^ 32); change (2 ^ 32) with 4294967296 in *; lia).
      rewrite wrap64 by (by apply shift_range). done. }
    wp_seq. wp_call. change 39 with PAGEMAP_TABLE_BITS. rewrite Elink. apply (fwp_frame_write X kernel_entry M cpu HWrite).
    { destruct Hcell as [x Hx]. exists x. by apply own_read. }
    unfold locals. locals_simpl. wp_return. rewrite own_write.
    eapply HQ; [apply (close_both Y H); [exact Hj'|by apply own_write_disjoint|done]| |exact HV'|].
    - rewrite lookup_insert_ne by (intros E; by apply (map_owned_frames_differ Y H)). apply lookup_insert.
    - eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. cbn beta.
      rewrite (proj2 (Z.eqb_neq f NONE) Hn), (proj2 (Z.eqb_neq f FRAME_NO_QUOTA) Hq). eapply yields_loc; [exact Eb|constructor].
  Qed.
End locked.

Section prepare.
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
  Context (alloc : implements_then "frame_alloc_private" (alloc_private X Yc Yf H)).
  Notation map_release := (map_release X kernel_entry Y).
  Notation make p Hp := (make_table X kernel_entry Yc Yf H p (Y p Hp)).

  Definition prepare (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p; v] =>
        if negb (user_address v) then κ ERR_BAD_ADDRESS
        else for_process X p (fun Hp =>
          Act (ACQUIRE, [slot_lock (Y p Hp)]) (fun _ =>
            Loc (look (Y p Hp) (fun s => if present s then missing s (page_of v) else -1)) (fun k =>
              if k =? -1 then map_release p Hp (κ ERR_BAD_STATE)
              else make p Hp k (page_of v) (fun status => map_release p Hp (κ status)))))
    | _ => Fail
    end.

  Theorem pagemap_prepare_implements : implements_then "pagemap_prepare" prepare.
  Proof using HM HY Hother lock_acquire lock_release HRead HWrite alloc.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|??]]]; [by right..| |by right]. cbn [prepare] in *.
    destruct (user_address v) eqn:Ha; cbn [negb] in *.
    2:{ left. split; [done|]. unfold body_wp, pagemap_prepare_code. cbn [fn_body fn_locals]. locals_simpl.
        wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
        unfold locals. locals_simpl. wp_seq. wp_if. change (flag false =? 0) with true. cbv iota. wp_return.
        apply settles_now, HQ; [constructor|done]. }
    unfold for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    set (Yp := Y p Hp) in *. destruct (Hother p Hp) as [Hoc Hof]. fold Yp in Hoc, Hof.
    unfold body_wp, pagemap_prepare_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
    unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip.
    wp_seq. wp_call. apply (pagemap_lock_acquires X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp). fold Yp.
    apply (fwp_map_acquire Yp M cpu lock_acquire); [done|]. intros s m1 HV Hr1. cbn [set_result].
    assert (Htail : forall r status a' m' s', r !! 0%nat = Some p -> r !! 2%nat = Some status -> rep X a' m' ->
      a' !! slot_object Yp = Some (slot_in Yp s') -> pagemap_valid s' ->
      (forall w a2, yields X (map_release p Hp (Ret status)) a' w a2 ->
         yields X (if (if present s then missing s (page_of v) else -1) =? -1 then map_release p Hp (Ret ERR_BAD_STATE)
           else make p Hp (if present s then missing s (page_of v) else -1) (page_of v)
             (fun status => map_release p Hp (Ret status))) (<[slot_object Yp := slot_in Yp s]> a) w a2) ->
      wp (sim Post) (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var 2))) (fun _ m0 g => settles X Q 0 m0 g)
        (fun _ _ _ => False) (settles X Q) r m' (map_release p Hp (k status), a')).
    { intros r status a' m' s' H0 H2 Hr' Ho HV' Hy. wp_seq. cbn [wp]. exists [p]. split; [by apply evals_first|].
      apply (pagemap_unlock_releases X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp). fold Yp.
      apply (fwp_map_release Yp M cpu lock_release Post m' a' s'); [done|done|]. intros m2 Hr2. cbn [set_result].
      exists status. split; [by apply eval_local|]. apply settles_now, HQ; [|done].
      eapply (map_acquire_yields Yp); [exact HV|]. apply Hy.
      eapply (map_release_yields Yp); [exact HV'|exact Ho|constructor]. }
    wp_seq. destruct (open_map Yp _ _ s Hr1 (lookup_insert _ _ _)) as (d & rest & Hrep & Hdis & Em & Hrest).
    pose proof Hrep as (_ & _ & E1 & _). apply (own_read _ rest) in E1. unfold pagemap_cell in E1. rewrite <- Em in E1. wp_if.
    destruct (present s) eqn:Hpre; unfold flag in *; [change (1 =? 1) with true|change (0 =? 1) with false]; cbv iota.
    2:{ change (-1 =? -1) with true in *. cbv iota in Htail |- *.
        wp_skip. eapply Htail; [done|done|exact Hr1|apply lookup_insert|exact HV|]. done. }
    pose proof (missing_range s (page_of v)) as Hmr. rewrite (proj2 (Z.eqb_neq (missing s (page_of v)) (-1))) in * by lia.
    wp_call.
    eapply (pagemap_prepare_locked_makes X kernel_entry M cpu Yc Yf H p Yp (conj Hoc Hof) HM HRead HWrite alloc Post v s);
      [exact Hr1|apply lookup_insert|done|done|done|].
    intros w m2 a2 s' Hr2 Ho2 HV2 Hy2. unfold locals. locals_simpl.
    eapply Htail; [done|done|exact Hr2|exact Ho2|exact HV2|]. intros u a3 Hy3.
    eapply yields_same; [|apply make_table_continuation]. eapply yields_bind; [exact Hy2|exact Hy3].
  Qed.
End prepare.
