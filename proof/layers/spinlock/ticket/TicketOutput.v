(** Showing a value to the client does not change the ticket locks' state. *)
From Ashlar Require Export layers.spinlock.ticket.TicketBetween layers.spinlock.Code.

Section out.
  Context (ncpu budget F : nat) (nlock : Z) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Notation hold_bound := (critical_section ncpu budget F).
  Notation wf := (keeps_protocol hold_bound ncpu).
  Notation L0 := (atomics_layer F init guarded (queued hold_bound)).
  Notation L1 := (locks budget nlock init guarded).
  Notation views := (lock_views budget F nlock init guarded (queued hold_bound)).
  Notation outside := (outside ncpu budget F nlock init guarded).

  Lemma rely_views (G1 : log L1 -> Prop) c l l' : (forall l, G1 l -> legal L1 l) ->
    rely L0 (below_guarantee L0 L1 lock_view wf G1) c l l' -> rely L1 G1 c (views l) (views l').
  Proof.
    intros Hlg (e & -> & He & [Hw Hg] & Hs & _). exists (abs L0 L1 lock_view e).
    split; [apply abs_app|]. split; [by apply abs_others|]. split; [exact Hg|]. split; [done|]. by apply Hlg.
  Qed.

  Lemma step_unqueued k c o t : about o <> Some k -> c ∉ waiting t -> queue_step hold_bound k (Event c o) t = Some t.
  Proof.
    intros Ha Hc. unfold queue_step. rewrite decide_False by done. unfold other_event. simpl.
    destruct (waiting t) as [|h q]; [done|]. apply not_elem_of_cons in Hc as [H1 H2].
    by rewrite decide_False, decide_False.
  Qed.

  Theorem ticket_direct (G1 : log L1 -> Prop) c f : (forall l, G1 l -> legal L1 l) -> (c < ncpu)%nat ->
    spinlock_module f = None -> implements_direct L0 L1 lock_view wf outside G1 c f.
  Proof.
    intros Hlg Hc Hf args m l Q (Ho & Hw & HG) Hp l' Hl'. specialize (Hp _ (rely_views _ _ _ _ Hlg Hl')).
    destruct Hl' as (e & -> & He & [Hw' HG'] & _ & _). change (lop L0) with atomic_event in *.
    pose proof (outside_others ncpu budget F nlock init guarded c e l Hw Hw' He Ho) as Ho'.
    change (lstep L1 c (f, args) m (views (e ++ l))) with
      (lock_step nlock budget (cell_data init guarded) c (f, args) m (views (e ++ l))) in Hp.
    unfold lock_step in Hp. destruct (held c (views (e ++ l))) as [ks n] eqn:Eh.
    destruct args as [|v [|? ?]]; [done| |done].
    destruct (String.eqb_spec f ACQUIRE) as [->|_]; [done|]. destruct (String.eqb_spec f RELEASE) as [->|_]; [done|].
    destruct (String.eqb_spec f OUT) as [->|_]; [|done]. destruct ks; [|done].
    destruct Hp as [HG2 HQ]. unfold TicketBetween.outside in Ho'. rewrite Eh in Ho'. destruct Ho' as [H1 _].
    assert (Hn : forall k t, replay hold_bound k (e ++ l) = Some t -> c ∉ waiting t).
    { intros k t Ht Hi. destruct (H1 k t Ht Hi) as (q & left & _ & _ & Hk & _). by apply elem_of_nil in Hk. }
    assert (Hr : forall k, replay hold_bound k (Event c (EOut v) :: e ++ l) = replay hold_bound k (e ++ l)).
    { intros k. simpl. destruct (replay hold_bound k (e ++ l)) as [t|] eqn:Et; [|done]. apply step_unqueued; [done|eauto]. }
    assert (Hw2 : wf (Event c (EOut v) :: e ++ l)).
    { split; [intros k; rewrite Hr; apply Hw'|]. constructor; [done|apply Hw']. }
    simpl. split; [by split|]. split; [|exact HQ]. split; [|by split].
    unfold TicketBetween.outside.
    assert (Eh' : held c (views (Event c (EOut v) :: e ++ l)) = ([], S n)).
    { change (views (Event c (EOut v) :: e ++ l)) with (Event c (OOut v) :: views (e ++ l)).
      simpl. rewrite decide_True by done. by rewrite Eh. }
    rewrite Eh'. split; [|by intros k ?%elem_of_nil]. intros k t Ht Hi. rewrite Hr in Ht. by destruct (Hn k t Ht).
  Qed.
End out.
