(** A locked update is disciplined, and it is what an atomic update at the top stands for. *)
From Ashlar Require Export lang.programs.Slot calculus.top.TopRefines.

Section discipline.
  Context (X : layout) (nlock : Z) (budget : nat).
  Context (one_lock : forall k k' o, obj_of_lock X k = Some o -> obj_of_lock X k' = Some o -> k = k').

  Lemma locked_disciplined k o f n a : (1 <= budget)%nat -> 0 <= k < nlock -> obj_of_lock X k = Some o ->
    (forall s v s', obj_valid X o s -> f s = Some (v, s') -> obj_valid X o s') ->
    holds_exactly X [] a -> disciplined X nlock budget [] n a (locked k o f).
  Proof using one_lock.
    intros Hb Hk Ho Hf Ha. unfold locked.
    assert (Hin : forall s, holds_exactly X [k] (<[o:=s]> a)).
    { intros s. by apply holds_exactly_insert. }
    assert (Hdel : forall s s', delete o (<[o:=s']> (<[o:=s]> a)) = delete o a).
    { intros. by rewrite !delete_insert_delete. }
    assert (Hout : holds_exactly X [] (delete o a)).
    { intros k' o' Hk'. rewrite <- (Ha k' o' Hk'). split; [|intros Hs; exfalso; apply (Ha k' o' Hk') in Hs; by apply elem_of_nil in Hs].
      intros [x [_ Hx]%lookup_delete_Some]. eauto. }
    apply disciplined_acquire; [done|unfold below; simpl; lia|done| |congruence].
    intros o' s Ho' Hs. rewrite Ho in Ho'. injection Ho' as <-. simpl.
    apply disciplined_loc; [apply Hin|]. intros v a' Hu. unfold update_object in Hu. rewrite lookup_insert in Hu.
    destruct (f s) as [[w s']|] eqn:E; [|done]. injection Hu as <- <-.
    assert (Hs' : obj_valid X o s') by eauto.
    apply disciplined_release.
    - rewrite insert_insert. apply Hin.
    - unfold within. apply Nat.ltb_lt. lia.
    - intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-. exists s'. split; [apply lookup_insert|done].
    - intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-. rewrite Hdel. by apply disciplined_ret.
    - congruence.
  Qed.

  Context {S : Type} {srep : S -> mem -> Prop} {svalid : S -> Prop} (Y : slot X S srep svalid).

  (** The same function at the top: one atomic update. *)
  Definition top_function (f : list Z -> option (S -> option (Z * S))) (args : list Z) :
      program (top_prim X) (objects X) :=
    match f args with Some g => Act (Update (slot_lock Y) (slot_object Y) (update_object (slot_object Y) (lift Y g))) Ret | None => Fail end.

  Lemma expand_top_function f args : expand X (top_function f args) = lock_function Y f args.
  Proof. unfold top_function, lock_function. by destruct (f args). Qed.

  Lemma top_function_locks atomic f args : atomic (slot_lock Y) = true -> atomic_locks X atomic (top_function f args).
  Proof.
    intros Ha. unfold top_function. destruct (f args) as [g|]; simpl; [|done].
    split_and!; [done|apply slot_guards|done].
  Qed.

  Lemma lock_function_disciplined f args n a : (1 <= budget)%nat -> 0 <= slot_lock Y < nlock ->
    keeps (svalid := svalid) f -> (forall s st, obj_valid X (slot_object Y) st -> slot_out Y st = Some s -> st = slot_in Y s) ->
    holds_exactly X [] a -> disciplined X nlock budget [] n a (lock_function Y f args).
  Proof using one_lock.
    intros Hb Hk Hkeeps Hout Ha. unfold lock_function. destruct (f args) as [g|] eqn:Ef; [|apply disciplined_fail].
    apply locked_disciplined; [done|done|apply slot_guards| |done].
    intros st v st' Hst Hg. apply lift_inv in Hg as (s & s' & Hs & Hg & ->). rewrite (Hout s st Hst Hs) in Hst.
    apply slot_valid in Hst. apply slot_valid. by eapply Hkeeps.
  Qed.
End discipline.
