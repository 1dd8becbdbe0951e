(** Transactions whose length follows from the state: the object held decides how often a loop runs.

    [transacts_dependent limit k o n p]: while [p] runs, the CPU holds the object [o] of lock [k] and makes at most [n]
    updates of other objects, under locks below [limit]. Unlike in [transacts] ([Updates.v]), a step on [o] may be followed
    by as many updates as its result asks for; only results that valid states give count. *)
From Ashlar Require Export lang.programs.Updates.

Section transaction.
  Context (X : layout) (nlock limit : Z) (budget : nat).
  Context (one_lock : forall k k' o, obj_of_lock X k = Some o -> obj_of_lock X k' = Some o -> k = k').
  Notation top_program := (program (top_prim X) (objects X)).

  Inductive transacts_dependent (k : Z) (o : obj X) : nat -> top_program -> Prop :=
  | transacts_dependent_step n N f κ : keeps_valid X o f -> (forall v, transacts_dependent k o (N v) (κ v)) ->
      (forall a s v a', a !! o = Some s -> obj_valid X o s -> f a = Some (v, a') -> (N v <= n)%nat) -> transacts_dependent k o n (Loc f κ)
  | transacts_dependent_updates n m p κ : updates X nlock limit n p -> (forall v, transacts_dependent k o m (κ v)) -> transacts_dependent k o (n + m) (bind p κ)
  | transacts_dependent_end n v : transacts_dependent k o n (Act (Lock (RELEASE, [k])) (fun _ => Ret v))
  | transacts_dependent_same n p q : transacts_dependent k o n p -> same p q -> transacts_dependent k o n q.

  Lemma transacts_dependent_loc k o n f κ : keeps_valid X o f -> (forall v, transacts_dependent k o n (κ v)) -> transacts_dependent k o n (Loc f κ).
  Proof using. intros Hf Hk. by apply transacts_dependent_step with (N := fun _ => n). Qed.
  Lemma transacts_dependent_more k o n m p : transacts_dependent k o n p -> (n <= m)%nat -> transacts_dependent k o m p.
  Proof using.
    intros Hp. revert m. induction Hp as [n N f κ Hf Hp IH HN|n m p κ Hu Hp IH|n v|n p q Hp IH Hs]; intros m' Hm.
    - apply transacts_dependent_step with (N := N); [done|done|]. intros a s v a' H1 H2 H3. specialize (HN a s v a' H1 H2 H3). lia.
    - replace m' with (n + (m' - n))%nat by lia. apply transacts_dependent_updates; [done|]. intros v. apply IH. lia.
    - apply transacts_dependent_end.
    - eapply transacts_dependent_same; [by apply IH|done].
  Qed.
  Lemma transacts_is_dependent k o n p : transacts X nlock limit k o n p -> transacts_dependent k o n p.
  Proof using.
    induction 1 as [n f κ Hf Ht IH|n m p κ Hp Ht IH|n v|n p q Hp IH Hs];
      [by apply transacts_dependent_loc|by apply transacts_dependent_updates|apply transacts_dependent_end|by eapply transacts_dependent_same].
  Qed.

  Lemma transacts_dependent_disciplined k o n p : limit <= k -> obj_of_lock X k = Some o -> transacts_dependent k o n p -> forall c a s,
    a !! o = Some s -> obj_valid X o s -> holds_exactly X [k] a -> (c + 2 * n < budget)%nat ->
    disciplined X nlock budget [k] c a (expand X p).
  Proof using one_lock.
    intros Hlim Ho. induction 1 as [n N f κ Hf H IH HN|n m p κ Hp H IH|n v|n p q Hp IH Hsame]; intros c a s Hs Hval Ha Hc; simpl.
    - apply disciplined_loc; [done|]. intros v a' Hu. destruct (Hf _ _ _ _ Hs Hval Hu) as [(s' & Hs' & Hval') Hsame].
      pose proof (HN _ _ _ _ Hs Hval Hu). eapply IH; [exact Hs'|done| |lia].
      exact (held_exactly_step X _ _ _ _ _ _ _ Ho Hs Hs' Hsame Ha).
    - eapply disciplined_same; [|apply same_sym, expand_bind].
      eapply updates_disciplined; [exact one_lock|lia|exact Hp| |done|right; lia|].
      + constructor; [lia|constructor].
      + intros v c' a' Hsl [?|Hc']; [done|].
        eapply IH; [by rewrite (Hsl k o Ho)|done|exact (same_locked_holds X _ _ _ Hsl Ha)|lia].
    - apply disciplined_release; [done|unfold within; apply Nat.ltb_lt; lia| | |congruence].
      + intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-. eauto.
      + intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-. apply disciplined_ret.
        intros k' o' Hk'. rewrite elem_of_nil. split; [|done]. rewrite lookup_delete_is_Some. intros [Hne Hsome].
        apply (Ha k' o' Hk') in Hsome. apply elem_of_list_singleton in Hsome. subst. congruence.
    - eapply disciplined_same; [by eapply IH|by apply expand_same].
  Qed.
  Lemma transacts_dependent_atomic k o n p atomic : (forall k' o', obj_of_lock X k' = Some o' -> 0 <= k' < limit -> atomic k' = true) ->
    atomic k = false -> transacts_dependent k o n p -> atomic_locks X atomic p.
  Proof using.
    intros Hbelow Hk. induction 1 as [n N f κ Hf H IH HN|n m p κ Hp H IH|n v|n p q Hp IH Hsame]; simpl; [done| | |by eapply same_atomic].
    - clear H. pose proof (updates_atomic X nlock _ _ _ atomic Hbelow Hp) as Ha. clear Hp. revert Ha.
      induction p as [v| |y κ' IHp|f κ' IHp]; simpl; auto.
      destruct y as [lk o' f|[g [|k' [|??]]]]; simpl; [|done| |done]; intros; destruct_and?; split_and?; auto.
    - split; [by right|done].
  Qed.

  (** The lock is taken, what follows holds its object, at most [n] updates of others are made. *)
  Definition transaction (n : nat) (q : top_program) : Prop :=
    exists k o p, limit <= k /\ 0 <= k < nlock /\ obj_of_lock X k = Some o /\
      q = Act (Lock (ACQUIRE, [k])) (fun _ => p) /\ transacts_dependent k o n p.

  Lemma transaction_more n m q : transaction n q -> (n <= m)%nat -> transaction m q.
  Proof using.
    intros (k & o & p & H1 & H2 & H3 & H4 & H5) Hm. exists k, o, p. do 4 (split; [done|]). by eapply transacts_dependent_more.
  Qed.
  Theorem transaction_keeps_discipline n q c a : transaction n q -> (2 * n < budget)%nat -> holds_exactly X [] a ->
    disciplined X nlock budget [] c a (expand X q).
  Proof using one_lock.
    intros (k & o & p & Hlim & Hk & Ho & -> & Hp) Hb Ha. simpl. apply disciplined_acquire; [done| |done| |congruence].
    - unfold below. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. by split_and!; try lia.
    - intros o' s Ho' Hs. rewrite Ho in Ho'. injection Ho' as <-. simpl.
      eapply transacts_dependent_disciplined; [done|done|exact Hp|apply lookup_insert|done| |lia]. by apply holds_exactly_insert.
  Qed.
  Theorem transaction_atomic n q atomic : (forall k o, obj_of_lock X k = Some o -> 0 <= k < limit -> atomic k = true) ->
    (forall k, limit <= k -> atomic k = false) -> transaction n q -> atomic_locks X atomic q.
  Proof using.
    intros Hbelow Habove (k & o & p & Hlim & Hk & Ho & -> & Hp). split; [right; by apply Habove|]. intros _.
    eapply transacts_dependent_atomic; [done|by apply Habove|exact Hp].
  Qed.
End transaction.
