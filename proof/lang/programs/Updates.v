(** Programs of several atomic updates: they are disciplined, also inside a transaction.

    [updates n p]: along every path [p] makes at most [n] atomic updates, of objects under locks below [limit], and each
    keeps its object valid and the other locked ones as they are. [same]: programs that differ only in how they are
    written. *)
From Ashlar Require Export lang.programs.LockDiscipline.

Section same.
  Context {PRIM MEM : Type}.
  Notation program := (program PRIM MEM).

  Inductive same : program -> program -> Prop :=
  | same_ret v : same (Ret v) (Ret v)
  | same_fail : same Fail Fail
  | same_act p k k' : (forall v, same (k v) (k' v)) -> same (Act p k) (Act p k')
  | same_loc f k k' : (forall v, same (k v) (k' v)) -> same (Loc f k) (Loc f k').

  Lemma same_refl p : same p p.
  Proof. induction p; by constructor. Qed.
  Lemma same_trans p q r : same p q -> same q r -> same p r.
  Proof.
    intros H. revert r. induction H as [| |x k k' H IH|x k k' H IH]; intros r Hr; inversion Hr; subst; constructor; eauto.
  Qed.
  Lemma same_sym p q : same p q -> same q p.
  Proof. induction 1; by constructor. Qed.
  Lemma same_bind p p' k k' : same p p' -> (forall v, same (k v) (k' v)) -> same (bind p k) (bind p' k').
  Proof. induction 1; intros Hk; simpl; [done|constructor|constructor|constructor]; auto. Qed.
  Lemma same_bind_assoc p k k' : same (bind (bind p k) k') (bind p (fun v => bind (k v) k')).
  Proof. induction p; simpl; try constructor; auto. apply same_refl. Qed.
End same.

Section refine.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).

  Lemma sim_same s p p' a : sim X kernel_entry M cpu (returns X kernel_entry M cpu) s (p, a) -> same p p' ->
    sim X kernel_entry M cpu (returns X kernel_entry M cpu) s (p', a).
  Proof.
    remember (p, a) as g eqn:E. intros H. revert p p' a E.
    induction H as [s g Hp|s s' g Hn H IH|s a'|s f k a' Hf|s f k a' v a2 Hf H IH|s q k a' Hn Hr H IH];
      intros p p' a E Hs; subst.
    - apply sim_post. destruct Hp as (v & m & Hg & Hn & Hr). simpl in *. subst p. inversion Hs; subst. by exists v, m.
    - eapply sim_tau; [done|]. by eapply IH.
    - injection E as <- <-. inversion Hs; subst. apply sim_fail.
    - injection E as <- <-. inversion Hs; subst. by apply sim_loc_fail.
    - injection E as <- <-. inversion Hs; subst. eapply sim_loc; [done|]. by eapply IH.
    - injection E as <- <-. inversion Hs; subst. eapply sim_act; [done|done|]. intros. by eapply IH.
  Qed.

  Lemma expand_bind (p : program (top_prim X) (objects X)) k :
    same (expand X (bind p k)) (bind (expand X p) (fun v => expand X (k v))).
  Proof.
    induction p as [v| |q κ IH|f κ IH]; simpl; [apply same_refl|constructor| |by constructor].
    destruct q as [lk o f|q]; simpl; [|by constructor]. unfold locked_with. simpl. by repeat (constructor; intros ?).
  Qed.
End refine.

Section updates.
  Context (X : layout) (nlock : Z) (budget : nat).
  Context (one_lock : forall k k' o, obj_of_lock X k = Some o -> obj_of_lock X k' = Some o -> k = k').
  Notation top_program := (program (top_prim X) (objects X)).

  (** The CPU holds the same locked objects, in the same states; what no lock guards may differ. *)
  Definition same_locked (a a' : objects X) : Prop := forall k o, obj_of_lock X k = Some o -> a' !! o = a !! o.
  Lemma same_locked_refl a : same_locked a a.
  Proof. done. Qed.
  Lemma same_locked_trans a b c : same_locked a b -> same_locked b c -> same_locked a c.
  Proof. intros H1 H2 k o Ho. by rewrite (H2 k o Ho), (H1 k o Ho). Qed.
  Lemma same_locked_holds ks a a' : same_locked a a' -> holds_exactly X ks a -> holds_exactly X ks a'.
  Proof. intros H Ha k o Ho. rewrite (H k o Ho). by apply Ha. Qed.

  (** A step of a CPU that holds object [o] keeps it valid, and the other locked objects as they are. *)
  Definition keeps_valid (o : obj X) (f : objects X -> option (Z * objects X)) : Prop :=
    forall a s v a', a !! o = Some s -> obj_valid X o s -> f a = Some (v, a') ->
      (exists s', a' !! o = Some s' /\ obj_valid X o s') /\ same_locked (delete o a) (delete o a').

  Lemma update_object_keeps o f : (forall s v s', obj_valid X o s -> f s = Some (v, s') -> obj_valid X o s') ->
    keeps_valid o (update_object o f).
  Proof.
    intros Hf a s v a' Hs Hval Hu. unfold update_object in Hu. rewrite Hs in Hu.
    destruct (f s) as [[w s']|] eqn:E; [|done]. injection Hu as <- <-. split.
    - exists s'. split; [apply lookup_insert|by eapply Hf].
    - intros k o' _. by rewrite delete_insert_delete.
  Qed.

  Inductive updates (limit : Z) : nat -> top_program -> Prop :=
  | updates_ret n v : updates limit n (Ret v)
  | updates_fail n : updates limit n Fail
  | updates_step n k o f κ : 0 <= k < limit -> k < nlock -> obj_of_lock X k = Some o -> keeps_valid o f ->
      (forall v, updates limit n (κ v)) -> updates limit (S n) (Act (Update k o f) κ)
  | updates_private n f κ : (forall a v a', f a = Some (v, a') -> same_locked a a') ->
      (forall v, updates limit n (κ v)) -> updates limit n (Loc f κ).

  Lemma updates_more limit n m p : updates limit n p -> (n <= m)%nat -> updates limit m p.
  Proof.
    intros H. revert m. induction H as [n v|n|n k o f κ Hk Hn Ho Hv H IH|n f κ Hf H IH]; intros m Hm; [constructor|constructor| |].
    - destruct m as [|m]; [lia|]. constructor; try done. intros v. apply IH. lia.
    - constructor; auto.
  Qed.
  Lemma updates_bind limit n m p κ : updates limit n p -> (forall v, updates limit m (κ v)) ->
    updates limit (n + m) (bind p κ).
  Proof.
    induction 1 as [n v|n|n lk o f κ' H1 H2 H3 H4 H5 IH|n f κ' Hf H5 IH]; intros Hk; simpl; [|constructor| |].
    - eapply updates_more; [apply Hk|lia].
    - constructor; try done. intros v. by apply IH.
    - constructor; auto.
  Qed.

  Lemma not_held k o ks (a : objects X) : obj_of_lock X k = Some o -> k ∉ ks -> holds_exactly X ks a -> a !! o = None.
  Proof. intros Ho Hk Ha. apply eq_None_not_Some. by intros Hs%(Ha k o Ho). Qed.

  Lemma same_locked_insert o s a a' : a !! o = None -> same_locked (delete o (<[o:=s]> a)) (delete o a') ->
    same_locked a (delete o a').
  Proof. intros Hn H k o' Ho. rewrite (H k o' Ho), delete_insert_delete. by rewrite delete_notin. Qed.
  Lemma held_exactly_step ks o s s' a a' k : obj_of_lock X k = Some o -> a !! o = Some s -> a' !! o = Some s' ->
    same_locked (delete o a) (delete o a') -> holds_exactly X ks a -> holds_exactly X ks a'.
  Proof.
    intros Ho Hs Hs' H Ha k' o' Ho'. rewrite <- (Ha k' o' Ho'). destruct (decide (o = o')) as [->|Hne].
    - rewrite Hs, Hs'. by split; eauto.
    - specialize (H k' o' Ho'). rewrite !lookup_delete_ne in H by done. by rewrite H.
  Qed.

  Theorem updates_disciplined limit n p : (1 <= budget)%nat -> updates limit n p -> forall ks c a κ,
    Forall (fun k => limit <= k) ks -> holds_exactly X ks a -> (ks = [] \/ c + 2 * n < budget)%nat ->
    (forall v c' a', same_locked a a' -> (ks = [] \/ c' <= c + 2 * n)%nat -> disciplined X nlock budget ks c' a' (κ v)) ->
    disciplined X nlock budget ks c a (bind (expand X p) κ).
  Proof using one_lock.
    intros Hb. induction 1 as [n v|n|n k o f κ' Hk Hn Ho Hv H IH|n f κ' Hf H IH]; intros ks c a κ Hks Ha Hc Hκ; simpl.
    - apply Hκ; [done|]. destruct Hc; [by left|right; lia].
    - apply disciplined_fail.
    - assert (Hbelow : below nlock k ks = true).
      { unfold below. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. split_and!; [lia|done|].
        apply forallb_forall. intros k' Hk'%elem_of_list_In. rewrite Forall_forall in Hks.
        apply Hks in Hk'. apply Z.ltb_lt. lia. }
      assert (Hno : k ∉ ks).
      { intros Hin. rewrite Forall_forall in Hks. apply Hks in Hin. lia. }
      assert (Hin : forall s, holds_exactly X (k :: ks) (<[o:=s]> a)) by (intros; by apply holds_exactly_insert).
      assert (Hnone := not_held k o ks a Ho Hno Ha).
      assert (Hnext : (next_count ks c < budget)%nat) by (destruct ks; simpl; [lia|]; destruct Hc; [done|lia]).
      apply disciplined_acquire; [done|done| | |congruence].
      { unfold within. destruct ks; [done|]. apply Nat.ltb_lt. destruct Hc; [done|lia]. }
      intros o' s Ho' Hs. rewrite Ho in Ho'. injection Ho' as <-.
      apply disciplined_loc; [apply Hin|]. intros v a' Hu.
      destruct (Hv _ _ _ _ (lookup_insert a o s) Hs Hu) as [(s' & Hs' & Hval') Hsame].
      pose proof (same_locked_insert _ _ _ _ Hnone Hsame) as Hsl.
      apply disciplined_release.
      + eapply held_exactly_step; [exact Ho|apply (lookup_insert a o s)|exact Hs'|exact Hsame|apply Hin].
      + unfold within. by apply Nat.ltb_lt.
      + intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-. by exists s'.
      + intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-.
        apply IH; [done|by eapply same_locked_holds| |].
        * destruct ks; [by left|right]. simpl. destruct Hc; [done|lia].
        * intros w c' a2 Ha2 Hc'. apply Hκ; [by eapply same_locked_trans|].
          destruct ks; [by left|right]. simpl in *. destruct Hc'; [done|lia].
      + congruence.
    - apply disciplined_loc; [done|]. intros v a' Hu. apply IH; [done|by eapply same_locked_holds; [by eapply Hf|]|done|].
      intros w c' a2 Ha2 Hc'. apply Hκ; [|done]. eapply same_locked_trans; [by eapply Hf|done].
  Qed.

  Lemma disciplined_same ks c a p q : disciplined X nlock budget ks c a p -> same p q ->
    disciplined X nlock budget ks c a q.
  Proof.
    intros H. revert q. induction H; intros q Hs; inversion Hs; subst.
    - by apply disciplined_ret.
    - apply disciplined_fail.
    - apply disciplined_loc; eauto.
    - apply disciplined_acquire; auto.
    - apply disciplined_release; auto.
  Qed.
  Lemma same_bind_ret (p : prog X) : same (bind p Ret) p.
  Proof. induction p; by constructor. Qed.

  (** A function of several updates. *)
  Corollary updates_function limit n p c a : (1 <= budget)%nat -> updates limit n p -> holds_exactly X [] a ->
    disciplined X nlock budget [] c a (expand X p).
  Proof using one_lock.
    intros Hb Hp Ha. eapply disciplined_same; [|apply same_bind_ret].
    eapply updates_disciplined; [done|exact Hp|constructor|done|by left|]. intros v c' a' Hs _.
    apply disciplined_ret. by eapply same_locked_holds.
  Qed.

  (** All locks of such a program are atomic, if those below [limit] are. *)
  Lemma updates_atomic limit n p atomic : (forall k o, obj_of_lock X k = Some o -> 0 <= k < limit -> atomic k = true) ->
    updates limit n p -> atomic_locks X atomic p.
  Proof.
    intros Ha. induction 1 as [n v|n|n k o f κ Hk Hn Ho Hv H IH|n f κ Hf H IH]; simpl; [done|done| |done].
    split_and!; [by eapply Ha|done|done].
  Qed.

  (** ** Transactions: the object of lock [k] is held while others, under locks below [limit], are updated *)
  Inductive transacts (limit k : Z) (o : obj X) : nat -> top_program -> Prop :=
  | transacts_loc n f κ : keeps_valid o f -> (forall v, transacts limit k o n (κ v)) -> transacts limit k o n (Loc f κ)
  | transacts_updates n m p κ : updates limit n p -> (forall v, transacts limit k o m (κ v)) -> transacts limit k o (n + m) (bind p κ)
  | transacts_end n v : transacts limit k o n (Act (Lock (RELEASE, [k])) (fun _ => Ret v))
  | transacts_same n p q : transacts limit k o n p -> same p q -> transacts limit k o n q.

  Lemma expand_same (p q : top_program) : same p q -> same (expand X p) (expand X q).
  Proof.
    induction 1 as [v| |y κ κ' H IH|f κ κ' H IH]; simpl; [constructor|constructor| |by constructor].
    destruct y as [lk o f|y]; simpl; [|by constructor]. unfold locked_with. by repeat (constructor; intros ?).
  Qed.

  Lemma transacts_disciplined limit k o n p : limit <= k -> obj_of_lock X k = Some o -> transacts limit k o n p -> forall c a s,
    a !! o = Some s -> obj_valid X o s -> holds_exactly X [k] a -> (c + 2 * n < budget)%nat ->
    disciplined X nlock budget [k] c a (expand X p).
  Proof using one_lock.
    intros Hlim Ho. induction 1 as [n f κ Hf H IH|n m p κ Hp H IH|n v|n p q Hp IH Hsame]; intros c a s Hs Hval Ha Hc; simpl.
    - apply disciplined_loc; [done|]. intros v a' Hu. destruct (Hf _ _ _ _ Hs Hval Hu) as [(s' & Hs' & Hval') Hsame].
      eapply IH; [exact Hs'|done| |done]. exact (held_exactly_step _ _ _ _ _ _ _ Ho Hs Hs' Hsame Ha).
    - eapply disciplined_same; [|apply same_sym, expand_bind].
      eapply updates_disciplined; [lia|exact Hp| |done|right; lia|].
      + constructor; [lia|constructor].
      + intros v c' a' Hsl [?|Hc']; [done|].
        eapply IH; [by rewrite (Hsl k o Ho)|done|exact (same_locked_holds _ _ _ Hsl Ha)|lia].
    - apply disciplined_release; [done|unfold within; apply Nat.ltb_lt; lia| | |congruence].
      + intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-. eauto.
      + intros o' Ho'. rewrite Ho in Ho'. injection Ho' as <-. apply disciplined_ret.
        intros k' o' Hk'. rewrite elem_of_nil. split; [|done]. rewrite lookup_delete_is_Some. intros [Hne Hsome].
        apply (Ha k' o' Hk') in Hsome. apply elem_of_list_singleton in Hsome. subst. congruence.
    - eapply disciplined_same; [by eapply IH|by apply expand_same].
  Qed.
  Lemma same_atomic atomic (p q : top_program) : same p q -> atomic_locks X atomic p -> atomic_locks X atomic q.
  Proof.
    induction 1 as [v| |y κ κ' H IH|f κ κ' H IH]; simpl; [done|done| |auto].
    destruct y as [lk o f|[g [|k [|??]]]]; simpl; [|done| |done]; intros; destruct_and?; split_and?; auto.
  Qed.
  Lemma transacts_atomic limit k o n p atomic : (forall k' o', obj_of_lock X k' = Some o' -> 0 <= k' < limit -> atomic k' = true) ->
    atomic k = false -> transacts limit k o n p -> atomic_locks X atomic p.
  Proof.
    intros Hbelow Hk. induction 1 as [n f κ Hf H IH|n m p κ Hp H IH|n v|n p q Hp IH Hsame]; simpl; [done| | |by eapply same_atomic].
    - clear H. pose proof (updates_atomic _ _ _ atomic Hbelow Hp) as Ha. clear Hp. revert Ha.
      induction p as [v| |y κ' IHp|f κ' IHp]; simpl; auto.
      destruct y as [lk o' f|[g [|k' [|??]]]]; simpl; [|done| |done]; intros; destruct_and?; split_and?; auto.
    - split; [by right|done].
  Qed.

  Theorem transaction_disciplined limit k o n p c a : limit <= k -> 0 <= k < nlock -> obj_of_lock X k = Some o -> transacts limit k o n p ->
    (2 * n < budget)%nat -> holds_exactly X [] a ->
    disciplined X nlock budget [] c a (expand X (Act (Lock (ACQUIRE, [k])) (fun _ => p))).
  Proof using one_lock.
    intros Hlim Hk Ho Hp Hb Ha. simpl. apply disciplined_acquire; [done| |done| |congruence].
    - unfold below. rewrite !andb_true_iff, Z.leb_le, Z.ltb_lt. by split_and!; try lia.
    - intros o' s Ho' Hs. rewrite Ho in Ho'. injection Ho' as <-. simpl.
      eapply transacts_disciplined; [done|done|exact Hp|apply lookup_insert|done| |lia].
      by apply holds_exactly_insert.
  Qed.
End updates.
