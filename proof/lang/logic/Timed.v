(** Sequential reasoning where a function reads the clock or sets the alarm.

    A [triple] speaks of functions that cause no event. [timed f args d post] is the same for functions that may, besides,
    call primitives that [quiet] names: whatever they return, they leave this CPU's cells alone. [during] is to it what
    [owned] is to [triple]; the rules are the same. *)
From Ashlar Require Export lang.logic.Owned.

Section timed.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (cpu : nat).

  (** A judgement that quiet primitives may precede. *)
  Definition quiet_closed {G : Type} (J : cfg -> G -> Prop) : Prop :=
    forall s p g, next (arch_builtins kernel_entry) M cpu s = EPrim p -> quiet p ->
      (forall v, J (resume s v (cm s)) g) -> J s g.

  Definition timed (f : string) (args : list Z) (d : mem) (post : Z -> mem -> Prop) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (g : G) (rest : mem) (Q : call_post),
      step_closed kernel_entry M cpu J -> quiet_closed J -> d ##ₘ rest ->
      (forall v d', post v d' -> d' ##ₘ rest -> Q v (d' ∪ rest) g) -> fwp J f args (d ∪ rest) g Q.

  Lemma triple_timed f args d post : triple kernel_entry M cpu f args d post -> timed f args d post.
  Proof. intros H G J g rest Q HJ _ Hd HQ. by apply H. Qed.
  Lemma timed_mono f args d (post post' : Z -> mem -> Prop) :
    (forall v d', post v d' -> post' v d') -> timed f args d post -> timed f args d post'.
  Proof. intros Hp H G J g rest Q HJ HE Hd HQ. apply H; auto. Qed.

  (** A quiet primitive itself. *)
  Lemma timed_primitive f args d : M f = None -> (forall m, arch_builtins kernel_entry cpu f args m = None) -> quiet (f, args) ->
    timed f args d (fun _ d' => d' = d).
  Proof.
    intros HM HB Hq G J g rest Q HJ HE Hd HQ k r x es He Hk. apply (HE _ (f, args)); [|exact Hq|].
    - simpl. by rewrite He, HM, HB.
    - intros v. simpl. apply Hk. by apply HQ.
  Qed.

  Definition during (s : stmt) (Qn Qb : locals -> mem -> Prop) (Qr : Z -> mem -> Prop) (r : locals) (d : mem) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (g : G) (rest : mem),
      step_closed kernel_entry M cpu J -> quiet_closed J -> d ##ₘ rest ->
      wp J s (fun r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ Qn r d')
        (fun r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ Qb r d')
        (fun v m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ Qr v d') r (d ∪ rest) g.

  Lemma timed_body f fd args d (post : Z -> mem -> Prop) :
    M f = Some fd -> length args = fn_params fd ->
    during (fn_body fd) (fun _ d' => post 0 d') (fun _ _ => False) post (args ++ replicate (fn_locals fd) 0) d ->
    timed f args d post.
  Proof.
    intros HM Hlen Ho G J g rest Q HJ HE Hd HQ. eapply fwp_body; [exact HJ|exact HM|exact Hlen|].
    unfold body_wp. eapply wp_mono; [| | |exact (Ho G J g rest HJ HE Hd)]; simpl.
    - intros r m g' (d' & -> & Hd' & -> & Hp). by apply HQ.
    - by intros r m g' (d' & -> & Hd' & -> & []).
    - intros v m g' (d' & -> & Hd' & -> & Hp). by apply HQ.
  Qed.

  Lemma during_skip (Qn Qb : locals -> mem -> Prop) Qr r d : Qn r d -> during Skip Qn Qb Qr r d.
  Proof. intros HQ G J g rest HJ HE Hd. simpl. eauto. Qed.
  Lemma during_assign x e (Qn Qb : locals -> mem -> Prop) Qr r d v :
    eval e r d = Some v -> Qn (<[x := v]> r) d -> during (Assign x e) Qn Qb Qr r d.
  Proof. intros He HQ G J g rest HJ HE Hd. simpl. exists v. split; [by apply eval_mono|eauto]. Qed.
  Lemma during_store o i f j e (Qn Qb : locals -> mem -> Prop) Qr r d iv jv v :
    eval i r d = Some iv -> eval j r d = Some jv -> eval e r d = Some v -> is_Some (d !! ((o, iv, f, jv) : cell)) ->
    Qn r (<[(o, iv, f, jv) := v]> d) -> during (Store o i f j e) Qn Qb Qr r d.
  Proof. intros Hi Hj He Hx HQ G J g rest HJ _ Hd. by eapply owned_store. Qed.
  Lemma during_seq a b (Qn Qb : locals -> mem -> Prop) Qr r d :
    during a (during b Qn Qb Qr) Qb Qr r d -> during (Seq a b) Qn Qb Qr r d.
  Proof.
    intros Ho G J g rest HJ HE Hd. simpl. eapply wp_mono; [| | |exact (Ho G J g rest HJ HE Hd)]; simpl; [|done..].
    intros r' m g' (d' & -> & Hd' & -> & Hb). by apply Hb.
  Qed.
  Lemma during_if c a b (Qn Qb : locals -> mem -> Prop) Qr r d t :
    test c r d = Some t -> (if t then during a Qn Qb Qr r d else during b Qn Qb Qr r d) -> during (If c a b) Qn Qb Qr r d.
  Proof.
    intros Ht Ho G J g rest HJ HE Hd. simpl. exists t. split; [by apply test_mono|]. destruct t; by apply Ho.
  Qed.
  Lemma during_while c body (I : nat -> locals -> mem -> Prop) n (Qn Qb : locals -> mem -> Prop) Qr r d :
    I n r d ->
    (forall n r d, I n r d -> exists t, test c r d = Some t /\
       if t then during body (fun r d => exists n', (n' < n)%nat /\ I n' r d) Qn Qr r d else Qn r d) ->
    during (While c body) Qn Qb Qr r d.
  Proof.
    intros HI Hs G J g rest HJ HE Hd. simpl.
    exists (fun n r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ I n r d'), n. split; [eauto|].
    intros n1 r1 m1 g1 (d1 & -> & Hd1 & -> & H1). destruct (Hs n1 r1 d1 H1) as (t & Ht & Hb).
    exists t. split; [by apply test_mono|]. destruct t; [|eauto].
    eapply wp_mono; [| | |exact (Hb G J g rest HJ HE Hd1)]; simpl; [|done..].
    intros r' m g' (d' & -> & Hd' & -> & n' & Hn & HI'). eauto 10.
  Qed.
  Lemma during_return e (Qn Qb : locals -> mem -> Prop) (Qr : Z -> mem -> Prop) r d v :
    eval e r d = Some v -> Qr v d -> during (Return e) Qn Qb Qr r d.
  Proof. intros He HQ G J g rest HJ HE Hd. simpl. exists v. split; [by apply eval_mono|eauto]. Qed.

  Lemma during_call x f es (Qn Qb : locals -> mem -> Prop) Qr r d1 d2 args (post : Z -> mem -> Prop) :
    evals es r (d1 ∪ d2) = Some args -> d1 ##ₘ d2 -> timed f args d1 post ->
    (forall v d', post v d' -> d' ##ₘ d2 -> Qn (set_result x v r) (d' ∪ d2)) ->
    during (Call x f es) Qn Qb Qr r (d1 ∪ d2).
  Proof.
    intros He H12 Ht HQ G J g rest HJ HE Hd. simpl. exists args. split; [by apply evals_mono|].
    apply map_disjoint_union_l in Hd as [Hd1 Hd2]. rewrite <- (assoc_L (∪)). apply Ht; [done|done| |].
    - by apply map_disjoint_union_r.
    - intros v d' Hp [Hx Hy]%map_disjoint_union_r. exists (d' ∪ d2). split_and!; [by rewrite (assoc_L (∪))| |done|].
      + by apply map_disjoint_union_l.
      + by apply HQ.
  Qed.
  Lemma during_call_whole x f es (Qn Qb : locals -> mem -> Prop) Qr r d args (post : Z -> mem -> Prop) :
    evals es r d = Some args -> timed f args d post ->
    (forall v d', post v d' -> Qn (set_result x v r) d') -> during (Call x f es) Qn Qb Qr r d.
  Proof.
    intros He Ht HQ. rewrite <- (right_id_L ∅ (∪) d) in He |- *.
    eapply during_call; [exact He|apply map_disjoint_empty_r|exact Ht|].
    intros v d' Hp _. rewrite (right_id_L ∅ (∪)). by apply HQ.
  Qed.
  (** A call that touches no cell that is named here. *)
  Lemma during_call_nothing x f es (Qn Qb : locals -> mem -> Prop) Qr r d args (post : Z -> Prop) :
    evals es r d = Some args -> timed f args ∅ (fun v d' => post v /\ d' = ∅) -> (forall v, post v -> Qn (set_result x v r) d) ->
    during (Call x f es) Qn Qb Qr r d.
  Proof.
    intros He Ht HQ. rewrite <- (left_id_L ∅ (∪) d) in He |- *. eapply during_call; [exact He|apply map_disjoint_empty_l|exact Ht|].
    intros v d' [Hp ->] _. rewrite (left_id_L ∅ (∪)). by apply HQ.
  Qed.

  (** A primitive that leaves memory alone: the CPU's number. *)
  Lemma during_this_cpu x es (Qn Qb : locals -> mem -> Prop) Qr r d : M "arch_cpu"%string = None -> evals es r d = Some [] ->
    Qn (set_result x (Z.of_nat cpu) r) d -> during (Call x "arch_cpu" es) Qn Qb Qr r d.
  Proof. intros HC He HQ G J g rest HJ _ Hd. by eapply owned_builtin. Qed.

  Lemma during_mono s (Qn Qn' Qb Qb' : locals -> mem -> Prop) (Qr Qr' : Z -> mem -> Prop) r d :
    (forall r d, Qn r d -> Qn' r d) -> (forall r d, Qb r d -> Qb' r d) -> (forall v d, Qr v d -> Qr' v d) ->
    during s Qn Qb Qr r d -> during s Qn' Qb' Qr' r d.
  Proof.
    intros HN HB HR Ho G J g rest HJ HE Hd. eapply wp_mono; [| | |exact (Ho G J g rest HJ HE Hd)]; simpl.
    - intros r' m g' (d' & ? & ? & ? & ?). eauto 10.
    - intros r' m g' (d' & ? & ? & ? & ?). eauto 10.
    - intros r' m g' (d' & ? & ? & ? & ?). eauto 10.
  Qed.
End timed.

(** One statement, as [step]. *)
Ltac timed_step :=
  lazymatch goal with
  | |- during _ _ _ _ (Seq _ _) _ _ _ _ _ => apply during_seq
  | |- during _ _ _ _ Skip _ _ _ _ _ => apply during_skip
  | |- during _ _ _ _ (Assign _ _) _ _ _ _ _ => eapply during_assign; [evaluate|]
  | |- during _ _ _ _ (Store _ _ _ _ _) _ _ _ _ _ =>
      eapply during_store; [evaluate|evaluate|evaluate|look; first [by eexists|done|idtac]|]
  | |- during _ _ _ _ (If _ _ _) _ _ _ _ _ => eapply during_if; [evaluate|cbn [compare negb andb orb]]
  | |- during _ _ _ _ (Return _) _ _ _ _ _ => eapply during_return; [evaluate|]
  end; locals_simpl.
