(** C functions against their specification programs.

    [sim Post s g]: from configuration [s] the C code goes in step with the specification program and objects [g], and
    reaches [Post]. Private steps are free on both sides; primitives are called at the same time with the same arguments,
    when the cells owned represent the objects held; a specification that is wrong is matched by anything. Nothing here
    mentions logs or other CPUs: [calculus/objects/Data.v] proves once that such code refines its specification on the machine.

    [implements f spec]: the C function [f] has the specification program [spec]. *)
From Ashlar Require Export lang.logic.Triple lang.programs.Program lang.programs.Represent calculus.locks.Locks.

Section refine.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Notation B := (arch_builtins kernel_entry).

  Definition prog : Type := program cprim (objects X).
  Definition pstate : Type := prog * objects X.
  Definition rep (a : objects X) (m : mem) : Prop := represents (obj_rep X) a m.

  (** What may be the result of a primitive for a CPU that holds [a]. *)
  Inductive response : cprim -> objects X -> Z -> objects X -> Prop :=
  | response_acquire k o s a : obj_of_lock X k = Some o -> obj_valid X o s ->
      response (ACQUIRE, [k]) a 0 (<[o := s]> a)
  | response_acquire_none k a : obj_of_lock X k = None -> response (ACQUIRE, [k]) a 0 a
  | response_release k o s a : obj_of_lock X k = Some o -> a !! o = Some s -> obj_valid X o s ->
      response (RELEASE, [k]) a 0 (delete o a)
  | response_release_none k a : obj_of_lock X k = None -> response (RELEASE, [k]) a 0 a.

  (** The results a program may have. *)
  Inductive yields : prog -> objects X -> Z -> objects X -> Prop :=
  | yields_ret v a : yields (Ret v) a v a
  | yields_loc f k a v a' w b : f a = Some (v, a') -> yields (k v) a' w b -> yields (Loc f k) a w b
  | yields_act p k a v a' w b : response p a v a' -> yields (k v) a' w b -> yields (Act p k) a w b.

  Inductive sim (Post : cfg -> pstate -> Prop) : cfg -> pstate -> Prop :=
  | sim_post s g : Post s g -> sim Post s g
  | sim_tau s s' g : next B M cpu s = ETau s' -> sim Post s' g -> sim Post s g
  | sim_fail s a : sim Post s (Fail, a)
  | sim_loc_fail s f k a : f a = None -> sim Post s (Loc f k, a)
  | sim_loc s f k a v a' : f a = Some (v, a') -> sim Post s (k v, a') -> sim Post s (Loc f k, a)
  | sim_act s p k a : next B M cpu s = EPrim p -> rep a (cm s) ->
      (forall v m' a', response p a v a' -> rep a' m' -> sim Post (resume s v m') (k v, a')) ->
      sim Post s (Act p k, a).

  Lemma sim_step_closed Post : step_closed kernel_entry M cpu (sim Post).
  Proof. intros s s' g. apply sim_tau. Qed.

  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).

  (** ** Rules for the specification's side, at any call *)
  Lemma fwp_fail Post f args m a Q : fwp (G := pstate) (sim Post) f args m (Fail, a) Q.
  Proof. intros k r x es _ _. apply sim_fail. Qed.
  Lemma fwp_loc Post f args m g k a (Q : call_post) :
    (forall v a', g a = Some (v, a') -> fwp (G := pstate) (sim Post) f args m (k v, a') Q) ->
    fwp (G := pstate) (sim Post) f args m (Loc g k, a) Q.
  Proof.
    intros H kk r x es He HQ. destruct (g a) as [[v a']|] eqn:E; [|by apply sim_loc_fail].
    eapply sim_loc; [exact E|]. by apply (H v a' eq_refl kk r x es He).
  Qed.

  (** The specification may take private steps, or be wrong, at the end of a function. *)
  Inductive settles (Q : call_post (G := pstate)) (v : Z) (m : mem) : pstate -> Prop :=
  | settles_now g : Q v m g -> settles Q v m g
  | settles_fail a : settles Q v m (Fail, a)
  | settles_loc_fail f k a : f a = None -> settles Q v m (Loc f k, a)
  | settles_loc f k a w a' : f a = Some (w, a') -> settles Q v m (k w, a') -> settles Q v m (Loc f k, a).
  Lemma fwp_settle Post f args m g (Q : call_post) :
    fwp (G := pstate) (sim Post) f args m g (fun v m g => settles Q v m g) ->
    fwp (G := pstate) (sim Post) f args m g Q.
  Proof.
    intros H k r x es He HQ. apply (H k r x es He). intros v m' g' Hs.
    induction Hs; eauto using sim_fail, sim_loc_fail, sim_loc.
  Qed.

  (** The C function [f] has the specification program [spec]: its body, from cells that represent the objects held, ends
      with a result and objects that the program yields; or the program fails, which is its caller's fault. *)
  Definition implements (f : string) (spec : list Z -> prog) : Prop :=
    exists fd, M f = Some fd /\
      forall Post args m a k (Q : call_post),
        rep a m ->
        (forall v m' a', yields (spec args) a v a' -> rep a' m' -> Q v m' (k v, a')) ->
        length args = fn_params fd /\
        body_wp (G := pstate) (sim Post) fd args m (bind (spec args) k, a) (settles Q)
        \/ exists a', bind (spec args) k = Fail /\ a' = a.

  Lemma implements_body f fd spec :
    M f = Some fd ->
    (forall Post args m a k (Q : call_post),
       rep a m ->
       (forall v m' a', yields (spec args) a v a' -> rep a' m' -> Q v m' (k v, a')) ->
       length args = fn_params fd /\
       body_wp (G := pstate) (sim Post) fd args m (bind (spec args) k, a) (settles Q)
       \/ exists a', bind (spec args) k = Fail /\ a' = a) ->
    implements f spec.
  Proof. intros HM H. by exists fd. Qed.

  (** ** Rules for locks *)
  Lemma fwp_acquire Post k m a κ (Q : call_post) o :
    obj_of_lock X k = Some o -> rep a m ->
    (forall s m', obj_valid X o s -> rep (<[o := s]> a) m' -> Q 0 m' (κ 0, <[o := s]> a)) ->
    fwp (G := pstate) (sim Post) ACQUIRE [k] m (Act (ACQUIRE, [k]) κ, a) Q.
  Proof using lock_acquire.
    intros Ho Hr HQ kk r x es He Hk. eapply sim_act; [simpl; by rewrite He, lock_acquire|done|].
    intros v m' a' Hresp Hr'. unfold resume; simpl.
    remember (ACQUIRE, [k]) as p eqn:Ep. destruct Hresp; inversion Ep; subst; simplify_eq; auto.
  Qed.
  Lemma fwp_release Post k m a κ (Q : call_post) o :
    obj_of_lock X k = Some o -> rep a m ->
    (forall s m', a !! o = Some s -> obj_valid X o s -> rep (delete o a) m' -> Q 0 m' (κ 0, delete o a)) ->
    fwp (G := pstate) (sim Post) RELEASE [k] m (Act (RELEASE, [k]) κ, a) Q.
  Proof using lock_release.
    intros Ho Hr HQ kk r x es He Hk. eapply sim_act; [simpl; by rewrite He, lock_release|done|].
    intros v m' a' Hresp Hr'. unfold resume; simpl.
    remember (RELEASE, [k]) as p eqn:Ep. destruct Hresp; inversion Ep; subst; simplify_eq; eauto.
  Qed.

  (** ** Calls of functions already proved *)
  Lemma fwp_implements Post f spec args m a κ (Q : call_post) :
    implements f spec -> rep a m ->
    (forall v m' a', yields (spec args) a v a' -> rep a' m' -> Q v m' (κ v, a')) ->
    fwp (G := pstate) (sim Post) f args m (bind (spec args) κ, a) Q.
  Proof.
    intros (fd & HM & H) Hr HQ. destruct (H Post args m a κ Q Hr HQ) as [[Hlen Hw]|(? & E & ->)].
    - apply fwp_settle. eapply fwp_body; [apply sim_step_closed|exact HM|exact Hlen|exact Hw].
    - rewrite E. apply fwp_fail.
  Qed.

  (** A sequential function inside: the specification stands still. *)
  Lemma fwp_triple Post f args d rest post g (Q : call_post) :
    triple kernel_entry M cpu f args d post -> d ##ₘ rest ->
    (forall v d', post v d' -> d' ##ₘ rest -> Q v (d' ∪ rest) g) ->
    fwp (G := pstate) (sim Post) f args (d ∪ rest) g Q.
  Proof. intros Ht Hd HQ. eapply Ht; [apply sim_step_closed|done|done]. Qed.

  (** ** Entry from a client *)

  (** The code is about to return what the program yields. *)
  Definition returns (s : cfg) (g : pstate) : Prop :=
    exists v m, g.1 = Ret v /\ next B M cpu s = EReturn v m /\ rep g.2 m.

  Lemma sim_unbind s p a : sim returns s (bind p Ret, a) -> sim returns s (p, a).
  Proof.
    remember (bind p Ret, a) as g eqn:E. intros H. revert p a E.
    induction H as [s g Hp|s s' g Hn H IH|s a'|s f k a' Hf|s f k a' v a2 Hf H IH|s q k a' Hn Hr H IH];
      intros p a E; subst.
    - apply sim_post. destruct Hp as (v & m & Hg & Hn & Hr). exists v, m. simpl in *.
      destruct p; simpl in Hg; by simplify_eq.
    - eapply sim_tau; [done|]. by apply IH.
    - destruct p; simpl in E; simplify_eq. apply sim_fail.
    - destruct p; simpl in E; simplify_eq. by apply sim_loc_fail.
    - destruct p; simpl in E; simplify_eq. eapply sim_loc; [done|]. by apply IH.
    - destruct p; simpl in E; simplify_eq. eapply sim_act; [done|done|]. intros v m' a2 Hresp Hr'.
      eapply IH; eauto.
  Qed.

  Lemma settles_returns (Q : call_post (G := pstate)) s v m g :
    (forall v m g, Q v m g -> g.1 = Ret v /\ rep g.2 m) ->
    next B M cpu s = EReturn v m -> settles Q v m g -> sim returns s g.
  Proof.
    intros HQ Hn. induction 1 as [g Hg|a|f k a Hf|f k a w a' Hf H IH].
    - apply sim_post. destruct (HQ _ _ _ Hg). by exists v, m.
    - apply sim_fail. - by apply sim_loc_fail. - by eapply sim_loc.
  Qed.

  Theorem implements_start f spec fd args m a :
    implements f spec -> M f = Some fd -> rep a m ->
    length args = fn_params fd /\ sim returns (enter fd args [KEnd] m) (spec args, a) \/ spec args = Fail.
  Proof.
    intros (fd' & HM & H) HM' Hr. rewrite HM in HM'. injection HM' as ->.
    destruct (H returns args m a Ret (fun v m' g => g.1 = Ret v /\ rep g.2 m') Hr) as [[Hlen Hw]|(? & E & _)].
    - intros v m' a' _ Hr'. done.
    - left. split; [done|]. apply sim_unbind. unfold enter.
      eapply (wp_sound B M cpu (sim returns)); [apply sim_step_closed|exact Hw|]. split_and!.
      + intros r m' g Hs. eapply settles_returns; [|done|exact Hs]. done.
      + done.
      + intros v m' g s Hs Hn. eapply settles_returns; [|exact Hn|exact Hs]. done.
    - right. destruct (spec args); simpl in E; done.
  Qed.
End refine.

(** ** Locked updates *)

(** Acquire lock [k], update the object it guards by [f], release, return [f]'s result. [None]: the precondition is
    violated. *)
Definition update_object {X : layout} (o : obj X) (f : obj_state X -> option (Z * obj_state X)) (a : objects X) :
    option (Z * objects X) :=
  match a !! o with
  | Some s => match f s with Some (v, s') => Some (v, <[o := s']> a) | None => None end
  | None => None
  end.

Definition locked {X : layout} (k : Z) (o : obj X) (f : obj_state X -> option (Z * obj_state X)) :
    program cprim (objects X) :=
  Act (ACQUIRE, [k]) (fun _ => Loc (update_object o f) (fun v => Act (RELEASE, [k]) (fun _ => Ret v))).
