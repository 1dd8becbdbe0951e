(** The locked-object theorem, sequential half.

    A C function that acquires a lock, works on the object the lock guards, and releases it, implements the program
    [locked]: the two rules here give its code the cells of the object after the acquire, and take them back, in the new
    state, at the release. What other CPUs may do meanwhile is proved once, in [calculus]. *)
From Ashlar Require Export lang.programs.Refine.

Section locked.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).

  Notation sim := (sim X kernel_entry M cpu).
  Notation rep := (rep X).

  (** The specification's update is done at once; the code follows. *)
  Lemma fwp_locked_acquire Post k o f m a (κ : Z -> prog X) (Q : call_post) :
    obj_of_lock X k = Some o -> rep a m ->
    (forall s v s' d rest, obj_valid X o s -> f s = Some (v, s') ->
       obj_rep X o s d -> d ##ₘ rest -> represents (obj_rep X) (delete o a) rest ->
       Q 0 (d ∪ rest) (Act (RELEASE, [k]) (fun _ => κ v), <[o := s']> a)) ->
    fwp (G := pstate X) (sim Post) ACQUIRE [k] m (bind (locked k o f) κ, a) Q.
  Proof using lock_acquire.
    intros Ho Hr HQ kk r x es He Hk. simpl. eapply sim_act; [simpl; by rewrite He, lock_acquire|done|].
    intros v m' a' Hresp Hr'. unfold resume; simpl.
    remember (ACQUIRE, [k]) as p eqn:Ep. destruct Hresp; inversion Ep; subst; simplify_eq.
    destruct (f s) as [[v s']|] eqn:E.
    - eapply sim_loc; [unfold update_object; by rewrite lookup_insert, E|]. simpl. rewrite insert_insert.
      destruct (represents_open _ _ _ o s Hr') as (d & rest & Hd & Hdis & -> & Hrest); [apply lookup_insert|].
      apply Hk. eapply HQ; eauto. revert Hrest. by rewrite delete_insert_delete.
    - apply sim_loc_fail. unfold update_object. by rewrite lookup_insert, E.
  Qed.

  Lemma fwp_locked_release Post k o d rest s a (κ : Z -> prog X) (Q : call_post) :
    obj_of_lock X k = Some o -> obj_rep X o s d -> d ##ₘ rest -> represents (obj_rep X) (delete o a) rest ->
    (forall m', rep (delete o a) m' -> Q 0 m' (κ 0, delete o a)) ->
    fwp (G := pstate X) (sim Post) RELEASE [k] (d ∪ rest) (Act (RELEASE, [k]) κ, <[o := s]> a) Q.
  Proof using lock_release.
    intros Ho Hd Hdis Hrest HQ kk r x es He Hk.
    eapply sim_act; [simpl; by rewrite He, lock_release| |].
    - unfold rep. simpl. by apply represents_close.
    - intros v m' a' Hresp Hr'. unfold resume; simpl.
      remember (RELEASE, [k]) as p eqn:Ep. remember (<[o := s]> a) as b eqn:Eb.
      destruct Hresp; inversion Ep; subst; simplify_eq.
      rewrite delete_insert_delete in *. apply Hk. by apply HQ.
  Qed.

  Lemma locked_yields k o f a s v s' :
    obj_of_lock X k = Some o -> obj_valid X o s -> f s = Some (v, s') -> obj_valid X o s' ->
    yields X (locked k o f) a v (delete o a).
  Proof.
    intros Ho Hs Hf Hs'. unfold locked. eapply yields_act; [by apply (response_acquire X k o s)|].
    apply yields_loc with (v := v) (a' := <[o := s']> (<[o := s]> a)).
    { unfold update_object. rewrite lookup_insert. simpl. by rewrite Hf. }
    replace (delete o a) with (delete o (<[o := s']> (<[o := s]> a))).
    - eapply yields_act; [|constructor]. eapply response_release; [done|apply lookup_insert|done].
    - by rewrite insert_insert, delete_insert_delete.
  Qed.
End locked.
