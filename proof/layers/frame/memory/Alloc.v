(** [frame_alloc_private] and [frame_alloc] implement their programs: charge the owner, take a frame under the lock, refund
    if there was none, clear it; [frame_alloc] then makes its words shared. *)
From Ashlar Require Export layers.frame.memory.MemoryRules layers.container.Implements.

Section alloc.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (HY : slot_lock Y = LOCK_FRAME).
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None) (clear_builtin : M "arch_frame_clear" = None).
  Notation implements := (implements X kernel_entry M cpu).
  Context (charge : implements "container_charge" (lock_function Yc (update2 container_charge))).
  Context (refund : implements "container_refund" (lock_function Yc (update2 container_refund))).
  Context (take_triple : forall s p v s' (d : mem), frame_valid s -> frame_take s p = Some (v, s') -> frame_rep s d ->
    triple kernel_entry M cpu "frame_take" [p] d (fun w d' => w = v /\ frame_rep s' d')).

  (** The frame lock is held for one update. *)
  Definition frame_memory_locked (g : frame_memory -> owned_frames -> option (Z * frame_memory * owned_frames)) (κ : Z -> prog X) : prog X :=
    locked_with X (slot_lock Y) (on_frame_memory Y H g) κ.

  Definition alloc_private (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with
    | [p] =>
        bind (lock_function Yc (update2 container_charge) [p; 1]) (fun status =>
          if status =? STATUS_OK then
            frame_memory_locked (frame_memory_take p) (fun f =>
              if f =? NONE then bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => κ NONE)
              else Loc (on_owned_frames H (owned_frames_clear f)) (fun _ => κ f))
          else κ FRAME_NO_QUOTA)
    | _ => Fail
    end.

  Lemma alloc_private_continuation : has_continuation X alloc_private.
  Proof using. intros [|p [|??]] κ; [constructor| |constructor]. unfold alloc_private, frame_memory_locked, locked_with, lock_function, locked. simpl. same_program. Qed.

  Lemma take_valid p s h v s1 h1 : frame_memory_valid s -> frame_memory_take p s h = Some (v, s1, h1) -> frame_memory_valid s1.
  Proof using.
    intros [Hv Hp] Ht. unfold frame_memory_take in Ht. destruct (frame_take (table s) p) as [[f t]|] eqn:E; [|done].
    pose proof (frame_take_valid _ _ _ _ Hv E) as Hv'. destruct (Z.eqb_spec f NONE) as [->|Hn].
    - injection Ht as <- <- <-. destruct (frame_take_none _ _ _ Hv E) as [_ ->]. by split.
    - injection Ht as <- <- <-. split; [done|]. destruct (take_shape _ _ _ _ Hv E Hn) as (_ & _ & _ & _ & Eo).
      intros g [->%elem_of_singleton|Hg]%elem_of_union; simpl; rewrite Eo.
      + rewrite lookup_insert. by eexists.
      + apply lookup_insert_is_Some. destruct (decide (f = g)); [by left|right]. split; [done|]. by apply Hp.
  Qed.

  Theorem frame_alloc_private_implements : implements_then X kernel_entry M cpu "frame_alloc_private" alloc_private.
  Proof using HM HY lock_acquire lock_release clear_builtin charge refund take_triple.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|??]]; [by right| |by right]. left. split; [done|].
    unfold body_wp, frame_alloc_private_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call.
    cbn [alloc_private].
    eapply fwp_implements; [exact charge|exact Hr|].
    intros status m1 a1 Hy1 Hr1. locals_simpl. wp_seq. wp_if. change (status =? 0) with (status =? STATUS_OK).
    destruct (status =? STATUS_OK) eqn:Es; cbn [negb].
    2: { wp_return. apply settles_now. apply HQ; [|done].
      eapply yields_bind; [exact Hy1|]. cbn beta. rewrite Es. constructor. }
    wp_skip. wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
    apply fwp_frame_memory_acquire; [done|done|].
    intros s h v s1 h1 t u rest a2 Hval Htog Hg Hd Hrest Hon ->.
    pose proof (take_valid _ _ _ _ _ _ Hval Hg) as Hval1.
    pose proof Htog as (_ & Htu & Htab & _). pose proof Hval as [Hvt _].
    assert (Ht : exists t1, frame_take (table s) p = Some (v, t1)).
    { unfold frame_memory_take in Hg. destruct (frame_take (table s) p) as [[f t1]|]; [|done].
      exists t1. destruct (f =? NONE); by injection Hg as <- _ _. }
    destruct Ht as [tab1 Ht]. locals_simpl. wp_seq.
    apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_call; [evaluate|done|exact (take_triple _ _ _ _ _ Hvt Ht Htab)|].
    intros w t' [-> Ht'] Htu' Hd'. locals_simpl. wp_seq. wp_if. change (v =? 4294967295) with (v =? NONE).
    (* the table and the words after the critical section, as the program has them *)
    assert (Hafter : forall u', (if v =? NONE then u' = u else u' = <[private_cell v := 1]> u) ->
      together s1 h1 t' u').
    { intros u' Hu'. unfold frame_memory_take in Hg. rewrite Ht in Hg. destruct (Z.eqb_spec v NONE) as [->|Hn].
      - injection Hg as <- <-. subst u'. destruct (frame_take_none _ _ _ Hvt Ht) as [_ ->].
        rewrite (frame_rep_cells _ _ _ Ht' Htab). by destruct s.
      - injection Hg as <- <-. subst u'. by eapply take_together. }
    assert (Hin : v <> NONE -> is_Some (u !! private_cell v)).
    { intros Hn. destruct (take_shape _ _ _ _ Hvt Ht Hn) as (_ & _ & Hf & _). apply Htog. left. left. by exists v. }
    assert (Hrel : forall u', (if v =? NONE then u' = u else u' = <[private_cell v := 1]> u) -> t' ∪ u' ##ₘ rest ->
      wp (sim X kernel_entry M cpu Post)
       (Seq (Call None "spinlock_release" [Const 7])
             (Seq
                (If (Cmp Eq (Var 2) (Const 4294967295))
                   (Seq (Call None "container_refund" [Var 0; Const 1])
                      (Return (Const 4294967295))) Skip)
                (Seq (Call None "arch_frame_clear" [Var 2]) (Return (Var 2)))))
       (fun (_ : locals) (m0 : mem) (g : pstate X) => settles X Q 0 m0 g)
       (fun (_ : locals) (_ : mem) (_ : pstate X) => False)
       (settles X Q) [p; status; v] ((t' ∪ u') ∪ rest)
       (Act (RELEASE, [slot_lock Y]) (fun _ =>
            if v =? NONE then bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => k NONE)
             else Loc (on_owned_frames H (owned_frames_clear v)) (fun _ => k v)),
        <[owned_frames_object H:=owned_frames_in H h1]> (<[slot_object Y:=slot_in Y s1]> a1))).
    { intros u' Hu' Hdu. wp_seq. wp_call. change [7] with [LOCK_FRAME]. rewrite <- HY.
      apply fwp_frame_memory_release; [done|done|by apply Hafter|done|done|].
      intros m2 Hr2. locals_simpl. wp_seq. wp_if. change (v =? 4294967295) with (v =? NONE).
      assert (Hsection : forall w a3,
        yields X (if v =? NONE then bind (lock_function Yc (update2 container_refund) [p; 1]) (fun _ => Ret NONE)
             else Loc (on_owned_frames H (owned_frames_clear v)) (fun _ => Ret v))
          (<[owned_frames_object H:=owned_frames_in H h1]> (delete (slot_object Y) a1)) w a3 -> yields X (alloc_private [p] Ret) a w a3).
      { intros w a3 Hy. eapply yields_bind; [exact Hy1|]. cbn beta. rewrite Es.
        unfold frame_memory_locked. eapply (frame_memory_section_yields Y H (frame_memory_take p)); [exact Hval|exact Hval1|exact Hon|exact Hy]. }
      destruct (v =? NONE) eqn:Ev.
      - wp_seq. wp_call.
        eapply fwp_implements; [exact refund|exact Hr2|]. intros r m3 a3 Hy3 Hr3. locals_simpl. wp_return.
        apply settles_now. apply HQ; [|done]. apply Hsection. eapply yields_bind; [exact Hy3|]. constructor.
      - wp_skip. wp_seq. wp_call. cbn [bind].
        eapply (fwp_clear H kernel_entry M cpu); [exact clear_builtin|apply lookup_insert|exact Hr2|].
        intros r h2 m3 Hc Hon2 Hr3. locals_simpl. wp_return. apply settles_now. apply HQ; [|done].
        apply Hsection. eapply yields_loc; [exact Hon2|constructor]. }
    destruct (v =? NONE) eqn:Ev; cbn [negb].
    - wp_skip. by apply Hrel.
    - pose proof (proj1 (Z.eqb_neq v NONE) Ev) as Hn. destruct (Hin Hn) as [x Hx].
      assert (Hnt : t' !! private_cell v = None).
      { apply eq_None_not_Some. intros [y Hy]. by eapply (proj1 (map_disjoint_spec t' u) Htu'). }
      apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|]. step.
      { exists x. by apply lookup_union_Some_r. }
      intros Hd2. pose proof (insert_union_r t' u (private_cell v) 1 Hnt) as E.
      match goal with |- wp _ _ _ _ _ _ (?d ∪ rest) _ =>
        assert (E' : d = t' ∪ <[private_cell v := 1]> u) by exact E; rewrite E' in Hd2; rewrite E' end.
      by apply Hrel.
  Qed.
End alloc.
