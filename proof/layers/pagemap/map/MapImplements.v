(** [pagemap_map] and [pagemap_prepare] implement their programs. *)
From Ashlar Require Export layers.pagemap.map.MapLocked layers.pagemap.create.CreateImplements.
Local Opaque gmap_lookup gmap_partial_alter.

(** One statement whose expressions the proof evaluates itself. *)
Ltac wp_call_open := lazymatch goal with
  | |- wp ?J (Call ?x ?f ?es) ?Qn ?Qb ?Qr ?r ?m ?g =>
      change (exists args, evals es r m = Some args /\ fwp J f args m g (fun v m' g' => Qn (set_result x v r) m' g')) end.
Ltac wp_if_open := lazymatch goal with
  | |- wp ?J (If ?c ?a ?b) ?Qn ?Qb ?Qr ?r ?m ?g =>
      change (exists t, test c r m = Some t /\ if t then wp J a Qn Qb Qr r m g else wp J b Qn Qb Qr r m g) end.

Section map.
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
  Context (remove : implements_then "frame_remove_owner" (remove_owner X Yc Yf H)).
  Notation map_release := (map_release X kernel_entry Y).

  (** Page [n] of process [p] gets the entry [leaf], or only its tables. *)
  Definition put_under (p : Z) (Hp : 0 <= p < NUM_PROCESS) (n leaf : Z) (κ : Z -> prog X) : prog X :=
    Act (ACQUIRE, [slot_lock (Y p Hp)]) (fun _ =>
      Loc (look (Y p Hp) (fun s => if present s then missing s n else -1)) (fun k =>
        if k =? -1 then map_release p Hp (κ ERR_BAD_STATE)
        else store X kernel_entry Yc Yf H p (Y p Hp) k n leaf (fun status => map_release p Hp (κ status)))).
  Definition put_page (p n leaf : Z) (κ : Z -> prog X) : prog X := for_process X p (fun Hp => put_under p Hp n leaf κ).

  Definition map (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p; v; f; prot; kind] =>
        if negb (word32 f) then Fail
        else if negb (user_address v) then κ ERR_BAD_ADDRESS
        else if (has prot PROT_WRITE && has prot PROT_EXEC) || (PAGEMAP_DEVICE <? kind) then κ ERR_BAD_ARGUMENT
        else put_page p (page_of v) (leaf_entry f prot kind) κ
    | _ => Fail
    end.
  Definition prepare (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p; v] => if negb (user_address v) then κ ERR_BAD_ADDRESS else put_page p (page_of v) 0 κ
    | _ => Fail
    end.

  (** A program with a continuation inside another. *)
  Lemma give_back_bind p l q κ : same (bind (give_back X Yc Yf H p l q) κ) (give_back X Yc Yf H p l (bind q κ)).
  Proof using.
    revert q. induction l as [|f l IH]; intros q; [apply same_refl|]. cbn [give_back].
    unfold remove_owner. destruct (NUM_FRAME <=? f); [apply IH|].
    unfold frame_memory_locked, locked_with. cbn [bind]. constructor. intros _. constructor. intros v. constructor. intros _.
    destruct (v =? STATUS_OK); [|apply IH]. eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|].
    intros _. apply IH.
  Qed.
  Lemma build_bind p Hp todo n leaf fresh κ κ' :
    same (bind (build X kernel_entry Yc Yf H p (Y p Hp) todo n leaf fresh κ) κ')
      (build X kernel_entry Yc Yf H p (Y p Hp) todo n leaf fresh (fun v => bind (κ v) κ')).
  Proof using.
    revert fresh. induction todo as [|todo IH]; intros fresh; cbn [build].
    { cbn [bind]. constructor. intros v. apply same_refl. }
    unfold alloc_private. eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros status.
    assert (forall f, same
      (bind (if f =? NONE then give_back X Yc Yf H p (rev fresh) (κ ERR_NO_MEMORY)
             else if f =? FRAME_NO_QUOTA then give_back X Yc Yf H p (rev fresh) (κ ERR_QUOTA)
             else if bool_decide (f ∈ fresh) then Fail
             else Loc (on_owned_frames H (owned_frames_put f (entry_index (Z.of_nat (length fresh)) n) (entry_of leaf fresh (length fresh))))
                    (fun _ => build X kernel_entry Yc Yf H p (Y p Hp) todo n leaf (fresh ++ [f]) κ)) κ')
      (if f =? NONE then give_back X Yc Yf H p (rev fresh) (bind (κ ERR_NO_MEMORY) κ')
       else if f =? FRAME_NO_QUOTA then give_back X Yc Yf H p (rev fresh) (bind (κ ERR_QUOTA) κ')
       else if bool_decide (f ∈ fresh) then Fail
       else Loc (on_owned_frames H (owned_frames_put f (entry_index (Z.of_nat (length fresh)) n) (entry_of leaf fresh (length fresh))))
              (fun _ => build X kernel_entry Yc Yf H p (Y p Hp) todo n leaf (fresh ++ [f]) (fun v => bind (κ v) κ')))) as Hf.
    { intros f. destruct (f =? NONE); [apply give_back_bind|]. destruct (f =? FRAME_NO_QUOTA); [apply give_back_bind|].
      destruct (bool_decide (f ∈ fresh)); [constructor|]. cbn [bind]. constructor. intros _. apply IH. }
    destruct (status =? STATUS_OK); [|apply Hf].
    unfold frame_memory_locked, locked_with. cbn [bind]. constructor. intros _. constructor. intros f. constructor. intros _.
    destruct (f =? NONE) eqn:E.
    - eapply same_trans; [apply same_bind_assoc|]. apply same_bind; [apply same_refl|]. intros _. apply (Hf NONE).
    - cbn [bind]. constructor. intros _. specialize (Hf f). rewrite E in Hf. exact Hf.
  Qed.
  Lemma store_then p Hp k n leaf κ a status a1 w a2 :
    yields X (store X kernel_entry Yc Yf H p (Y p Hp) k n leaf Ret) a status a1 -> yields X (κ status) a1 w a2 ->
    yields X (store X kernel_entry Yc Yf H p (Y p Hp) k n leaf κ) a w a2.
  Proof using.
    intros H1 H2. eapply yields_same; [by eapply yields_bind|]. unfold store. destruct (k =? 0).
    - cbn [bind]. constructor. intros v. apply same_refl.
    - eapply same_trans; [apply build_bind|]. apply same_refl.
  Qed.

  (** The part under the lock, of both functions. *)
  Definition put_inner (x status : nat) (e : expr) : stmt :=
    Seq (Call None "pagemap_lock" [Var 0])
    (Seq (If (Cmp Eq (Load "pagemap" (Var 0) "exists" (Const 0)) (Const 1))
            (Call (Some status) "pagemap_map_locked" [Var 0; Var x; e]) Skip)
    (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var status)))).

  Lemma put_inner_wp Post p Hp x status e v leaf (κ : Z -> prog X) r m a (Q : call_post) Qn Qb :
    rep X a m -> user_address v = true -> (status < length r)%nat -> status <> 0%nat ->
    r !! 0%nat = Some p -> r !! x = Some v -> r !! status = Some ERR_BAD_STATE ->
    (forall m, eval e r m = Some leaf) ->
    (forall w m' a', yields X (put_under p Hp (page_of v) leaf Ret) a w a' -> rep X a' m' -> Q w m' (κ w, a')) ->
    wp (sim Post) (put_inner x status e) Qn Qb Q r m (put_under p Hp (page_of v) leaf κ, a).
  Proof using HM HY Hother lock_acquire lock_release HRead HWrite alloc remove.
    intros Hr Ha Hlt Hne H0 Hx Hst He HQ. set (Yp := Y p Hp) in *. unfold put_inner.
    wp_seq. wp_call_open. exists [p]. split; [by apply evals_first|]. apply pagemap_lock_acquires; [done|done|]. rewrite <- (HY p Hp).
    apply (fwp_map_acquire Yp M cpu lock_acquire); [done|]. intros s m1 HV Hr1. cbn [set_result].
    assert (Htail : forall r' w a' m' s', r' !! 0%nat = Some p -> r' !! status = Some w -> rep X a' m' ->
      a' !! slot_object Yp = Some (slot_in Yp s') -> pagemap_valid s' ->
      (forall u a2, yields X (map_release p Hp (Ret w)) a' u a2 ->
         yields X (if (if present s then missing s (page_of v) else -1) =? -1 then map_release p Hp (Ret ERR_BAD_STATE)
           else store X kernel_entry Yc Yf H p Yp (if present s then missing s (page_of v) else -1) (page_of v) leaf
             (fun status => map_release p Hp (Ret status))) (<[slot_object Yp := slot_in Yp s]> a) u a2) ->
      wp (sim Post) (Seq (Call None "pagemap_unlock" [Var 0]) (Return (Var status))) Qn Qb Q r' m' (map_release p Hp (κ w), a')).
    { intros r' w a' m' s' H0' H1 Hr' Ho HV' Hy. wp_seq. cbn [wp]. exists [p]. split; [by apply evals_first|].
      apply pagemap_unlock_releases; [done|done|]. rewrite <- (HY p Hp).
      apply (fwp_map_release Yp M cpu lock_release Post m' a' s'); [done|done|]. intros m2 Hr2. cbn [set_result].
      exists w. split; [by apply eval_local|]. apply HQ; [|done].
      eapply (map_acquire_yields Yp); [exact HV|]. apply Hy.
      eapply (map_release_yields Yp); [exact HV'|exact Ho|constructor]. }
    assert (Hset : forall w, <[status := w]> r !! 0%nat = Some p /\ <[status := w]> r !! status = Some w).
    { intros w. split; [rewrite list_lookup_insert_ne by done; exact H0|by apply list_lookup_insert]. }
    wp_seq. destruct (open_map Yp _ _ s Hr1 (lookup_insert _ _ _)) as (d & rest & Hrep & Hdis & Em & Hrest).
    pose proof Hrep as (_ & _ & E1 & _). apply (own_read _ rest) in E1. unfold pagemap_cell in E1. rewrite <- Em in E1.
    wp_if_open. exists (flag (present s) =? 1). split.
    { cbn [test eval compare]. unfold locals in *. rewrite H0, E1. done. }
    destruct (present s) eqn:Hpre; unfold flag in *; [change (1 =? 1) with true|change (0 =? 1) with false]; cbv iota.
    2:{ change (-1 =? -1) with true in *. cbv iota in Htail |- *.
        wp_skip. eapply Htail; [exact H0|exact Hst|exact Hr1|apply lookup_insert|exact HV|]. done. }
    pose proof (missing_range s (page_of v)) as Hmr. rewrite (proj2 (Z.eqb_neq (missing s (page_of v)) (-1))) in * by lia.
    wp_call_open. exists [p; v; leaf]. split.
    { cbn [evals]. rewrite He. cbn [eval]. unfold locals in *. by rewrite H0, Hx. }
    destruct (Hother p Hp) as [Hoc Hof].
    eapply (pagemap_map_locked_stores X kernel_entry M cpu Yc Yf H p Yp (conj Hoc Hof) HM HRead HWrite alloc remove Post v leaf s);
      [exact Hr1|apply lookup_insert|done|done|done|].
    intros w m2 a2 s' Hr2 Ho2 HV2 Hy2. cbn [set_result]. destruct (Hset w) as [K0 K1].
    eapply Htail; [exact K0|exact K1|exact Hr2|exact Ho2|exact HV2|]. intros u a3 Hy3.
    eapply store_then; [exact Hy2|exact Hy3].
  Qed.

  Theorem pagemap_map_implements : implements_then "pagemap_map" map.
  Proof using HM HY Hother lock_acquire lock_release HRead HWrite alloc remove.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|f [|prot [|kind [|??]]]]]]; [by right..| |by right]. cbn [map] in *.
    destruct (word32 f) eqn:Hf; cbn [negb] in *; [|by right].
    assert (0 <= f < 2 ^ 32) as Hf' by (unfold word32 in Hf; lia).
    assert (Hbody : fn_body pagemap_map_code =
      Seq (Assign 5 (Const 12)) (Seq (Call (Some 6%nat) "pagemap_valid" [Var 1])
      (Seq (If (Cmp Eq (Var 6) (Const 0)) (Return (Const 4)) Skip)
      (Seq (If (COr (CAnd (Cmp Ne (Bin W32 And (Var 3) (Const 2)) (Const 0)) (Cmp Ne (Bin W32 And (Var 3) (Const 4)) (Const 0)))
                  (Cmp Gt (Var 4) (Const 2))) (Return (Const 3)) Skip)
      (Seq (Call (Some 7%nat) "pagemap_leaf" [Var 2; Var 3; Var 4]) (put_inner 1 5 (Var 7))))))) by done.
    destruct (user_address v) eqn:Ha; cbn [negb] in *.
    2:{ left. split; [done|]. unfold body_wp. rewrite Hbody. change (fn_locals pagemap_map_code) with 3%nat. locals_simpl.
        wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
        unfold locals. locals_simpl. wp_seq. wp_if. change (flag false =? 0) with true. cbv iota. wp_return.
        apply settles_now, HQ; [constructor|done]. }
    destruct (has prot PROT_WRITE && has prot PROT_EXEC || (PAGEMAP_DEVICE <? kind)) eqn:Hbad.
    { left. split; [done|]. unfold body_wp. rewrite Hbody. change (fn_locals pagemap_map_code) with 3%nat. locals_simpl.
      wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
      unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip. wp_seq. wp_if.
      change (negb (Z.land prot 2 =? 0)) with (has prot PROT_WRITE). change (negb (Z.land prot 4 =? 0)) with (has prot PROT_EXEC).
      change (2 <? kind) with (PAGEMAP_DEVICE <? kind). rewrite Hbad. wp_return. apply settles_now, HQ; [constructor|done]. }
    unfold put_page, for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    unfold body_wp. rewrite Hbody. change (fn_locals pagemap_map_code) with 3%nat. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
    unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip. wp_seq. wp_if.
    change (negb (Z.land prot 2 =? 0)) with (has prot PROT_WRITE). change (negb (Z.land prot 4 =? 0)) with (has prot PROT_EXEC).
    change (2 <? kind) with (PAGEMAP_DEVICE <? kind). rewrite Hbad. wp_skip. wp_seq. wp_call.
    eapply fwp_pure; [intros d; by apply (pagemap_leaf_triple _ _ _ HM)|]. unfold locals. locals_simpl.
    eapply (put_inner_wp Post p Hp 1 5 (Var 7) v); [exact Hr|done|simpl; lia|done|done|done|done|done|].
    intros w m' a' Hy Hr'. apply settles_now. by apply HQ.
  Qed.

  Theorem pagemap_prepare_implements : implements_then "pagemap_prepare" prepare.
  Proof using HM HY Hother lock_acquire lock_release HRead HWrite alloc remove.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|v [|??]]]; [by right..| |by right]. cbn [prepare] in *.
    assert (Hbody : fn_body pagemap_prepare_code =
      Seq (Assign 2 (Const 12)) (Seq (Call (Some 3%nat) "pagemap_valid" [Var 1])
      (Seq (If (Cmp Eq (Var 3) (Const 0)) (Return (Const 4)) Skip) (put_inner 1 2 (Const 0))))) by done.
    destruct (user_address v) eqn:Ha; cbn [negb] in *.
    2:{ left. split; [done|]. unfold body_wp. rewrite Hbody. change (fn_locals pagemap_prepare_code) with 2%nat. locals_simpl.
        wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
        unfold locals. locals_simpl. wp_seq. wp_if. change (flag false =? 0) with true. cbv iota. wp_return.
        apply settles_now, HQ; [constructor|done]. }
    unfold put_page, for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    unfold body_wp. rewrite Hbody. change (fn_locals pagemap_prepare_code) with 2%nat. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_call. eapply fwp_pure; [intros d; by apply pagemap_valid_triple|]. rewrite Ha.
    unfold locals. locals_simpl. wp_seq. wp_if. change (flag true =? 0) with false. cbv iota. wp_skip.
    eapply (put_inner_wp Post p Hp 1 2 (Const 0) v); [exact Hr|done|simpl; lia|done|done|done|done|done|].
    intros w m' a' Hy Hr'. apply settles_now. by apply HQ.
  Qed.
End map.
