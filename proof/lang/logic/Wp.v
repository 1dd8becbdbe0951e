(** Weakest preconditions for the C subset (total correctness), sound for every judgement that is closed under private
    steps.

    [J s g]: some judgement about a configuration [s] and a ghost [g] of any type: the log so far, or the specification
    program that is still to be matched. [fwp f args m g Q]: a call of [f] leads to its return with [Q]. Lemmas that
    conclude [fwp f ...] are the call rules; [wp] is the verification-condition generator. *)
From Ashlar Require Export lang.Semantics.

Section wp.
  Context {G : Type} (B : builtins) (M : module) (cpu : nat) (J : cfg -> G -> Prop).
  Context (J_tau : forall s s' g, next B M cpu s = ETau s' -> J s' g -> J s g).

  Definition post : Type := locals -> mem -> G -> Prop.
  Definition call_post : Type := Z -> mem -> G -> Prop.

  Definition fwp (f : string) (args : list Z) (m : mem) (g : G) (Q : call_post) : Prop :=
    forall k r x es, evals es r m = Some args ->
      (forall v m' g', Q v m' g' -> J (Cfg k (set_result x v r) m') g') ->
      J (Cfg (KStmt (Call x f es) :: k) r m) g.

  (** Where a statement may end: after it ([Qn]), by [break] ([Qb]), by [return] ([Qr]). A loop is proved with an
      invariant indexed by a number of rounds that decreases. *)
  Fixpoint wp (s : stmt) (Qn Qb : post) (Qr : call_post) (r : locals) (m : mem) (g : G) : Prop :=
    match s with
    | Skip => Qn r m g
    | Assign x e => exists v, eval e r m = Some v /\ Qn (<[x := v]> r) m g
    | Store o i f j e =>
        exists iv jv v, eval i r m = Some iv /\ eval j r m = Some jv /\ eval e r m = Some v /\
          is_Some (m !! ((o, iv, f, jv) : cell)) /\ Qn r (<[(o, iv, f, jv) := v]> m) g
    | Seq a b => wp a (wp b Qn Qb Qr) Qb Qr r m g
    | If c a b =>
        exists t, test c r m = Some t /\ if t then wp a Qn Qb Qr r m g else wp b Qn Qb Qr r m g
    | While c body =>
        exists (I : nat -> post) n, I n r m g /\
          forall n r m g, I n r m g -> exists t, test c r m = Some t /\
            if t then wp body (fun r m g => exists n', (n' < n)%nat /\ I n' r m g) Qn Qr r m g else Qn r m g
    | Break => Qb r m g
    | Return e => exists v, eval e r m = Some v /\ Qr v m g
    | Call x f es =>
        exists args, evals es r m = Some args /\
          fwp f args m g (fun v m' g' => Qn (set_result x v r) m' g')
    end.

  Lemma wp_mono s : forall (Qn Qn' Qb Qb' : post) (Qr Qr' : call_post) r m g,
    (forall r m g, Qn r m g -> Qn' r m g) -> (forall r m g, Qb r m g -> Qb' r m g) ->
    (forall v m g, Qr v m g -> Qr' v m g) -> wp s Qn Qb Qr r m g -> wp s Qn' Qb' Qr' r m g.
  Proof.
    induction s as [|x e|o i f j e|a IHa b IHb|c a IHa b IHb|c a IHa| |e|x f es];
      simpl; intros Qn Qn' Qb Qb' Qr Qr' r m g HN HB HR Hw; auto.
    - destruct Hw as (v & ? & ?). eauto.
    - destruct Hw as (iv & jv & v & ? & ? & ? & ? & ?). eauto 10.
    - eapply IHa; [| | |exact Hw]; auto. intros. eapply IHb; [| | |eassumption]; auto.
    - destruct Hw as (t & ? & Hw). exists t. split; [done|]. destruct t; [eapply IHa|eapply IHb]; eauto.
    - destruct Hw as (I & n & HI & Hs). exists I, n. split; [done|]. intros n1 r1 m1 g1 H1.
      destruct (Hs _ _ _ _ H1) as (t & ? & Hw). exists t. split; [done|]. destruct t; [|auto].
      eapply IHa; [| | |exact Hw]; auto.
    - destruct Hw as (v & ? & ?). eauto.
    - destruct Hw as (args & ? & Hw). exists args. split; [done|]. intros k r' x' es' He HQ.
      apply (Hw k r' x' es' He). auto.
  Qed.

  (** The stack [k] continues as the three postconditions say. *)
  Definition follows (k : list frame_item) (Qn Qb : post) (Qr : call_post) : Prop :=
    (forall r m g, Qn r m g -> J (Cfg k r m) g) /\
    (forall r m g, Qb r m g -> exists k', pop_loop k = Some k' /\ J (Cfg k' r m) g) /\
    (forall v m g s, Qr v m g -> next B M cpu s = return_to (pop_call k) v m -> J s g).

  Theorem wp_sound s : forall Qn Qb Qr r m g k,
    wp s Qn Qb Qr r m g -> follows k Qn Qb Qr -> J (Cfg (KStmt s :: k) r m) g.
  Proof.
    induction s as [|x e|o i f j e|a IHa b IHb|c a IHa b IHb|c a IHa| |e|x f es];
      simpl; intros Qn Qb Qr r m g k Hw (HN & HB & HR).
    - eapply J_tau; [done|]. auto.
    - destruct Hw as (v & E & Hw). eapply J_tau; [simpl; by rewrite E|]. auto.
    - destruct Hw as (iv & jv & v & E1 & E2 & E3 & [v0 E4] & Hw).
      eapply J_tau; [simpl; by rewrite E1, E2, E3, E4|]. auto.
    - eapply J_tau; [done|]. eapply IHa; [exact Hw|]. split_and!; [|exact HB|exact HR].
      intros. eapply IHb; [eassumption|]. by split_and!.
    - destruct Hw as (t & E & Hw). eapply J_tau; [simpl; by rewrite E|].
      destruct t; [eapply IHa|eapply IHb]; try exact Hw; by split_and!.
    - destruct Hw as (I & n & HI & Hstep). revert r m g HI.
      induction (lt_wf n) as [n _ IHn]. intros r m g HI. destruct (Hstep n r m g HI) as (t & E & Hw).
      destruct t; (eapply J_tau; [simpl; by rewrite E|]); [|by apply HN].
      eapply IHa; [exact Hw|]. split_and!.
      + intros r' m' g' (n' & Hlt & HI'). eapply J_tau; [done|]. eapply IHn; eauto.
      + intros r' m' g' HQ. exists k. auto.
      + exact HR.
    - destruct (HB _ _ _ Hw) as (k' & E & HJ). eapply J_tau; [simpl; by rewrite E|]. done.
    - destruct Hw as (v & E & Hw). eapply HR; [exact Hw|]. simpl. by rewrite E.
    - destruct Hw as (args & E & Hw). eapply Hw; eauto.
  Qed.

  (** The body of a function, entered with its arguments. *)
  Definition body_wp (fd : fundef) (args : list Z) (m : mem) (g : G) (Q : call_post) : Prop :=
    wp (fn_body fd) (fun _ m g => Q 0 m g) (fun _ _ _ => False) Q (args ++ replicate (fn_locals fd) 0) m g.

  (** Call rule of a function of the module. *)
  Lemma fwp_body f fd args m g (Q : call_post) :
    M f = Some fd -> length args = fn_params fd -> body_wp fd args m g Q -> fwp f args m g Q.
  Proof.
    intros HM Hlen Hw k r x es He HQ. eapply J_tau; [simpl; rewrite He, HM, Hlen, Nat.eqb_refl; done|].
    eapply wp_sound; [exact Hw|]. split_and!.
    - intros r' m' g' H. eapply J_tau; [done|]. simpl. by apply HQ.
    - done.
    - intros v m' g' s H Hn. simpl in Hn. eapply J_tau; [exact Hn|]. by apply HQ.
  Qed.

  (** Call rule of a primitive of this CPU. *)
  Lemma fwp_builtin f args m g (Q : call_post) v m' :
    M f = None -> B cpu f args m = Some (Some (v, m')) -> Q v m' g -> fwp f args m g Q.
  Proof.
    intros HM HB HQ k r x es He Hk. eapply J_tau; [simpl; by rewrite He, HM, HB|]. by apply Hk.
  Qed.

  Lemma fwp_mono f args m g (Q Q' : call_post) :
    (forall v m g, Q v m g -> Q' v m g) -> fwp f args m g Q -> fwp f args m g Q'.
  Proof. intros HQ H k r x es He Hk. apply (H k r x es He). auto. Qed.
End wp.
