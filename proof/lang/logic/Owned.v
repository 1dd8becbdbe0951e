(** Sequential reasoning on owned cells, one statement at a time.

    [owned M cpu s Qn Qb Qr r d]: statement [s], started with locals [r] on a CPU that owns at least the cells [d], ends
    after itself ([Qn]), by [break] ([Qb]) or by [return] ([Qr]) and touches nothing but [d]. Judgement, ghost and the
    cells outside are gone from view: the rules below are those of a sequential program logic, and [triple_owned] turns
    the result into a triple. *)
From Ashlar Require Export lang.logic.Triple.

(** ** Expressions see only more when more is owned *)
Lemma eval_mono e r (d rest : mem) v : eval e r d = Some v -> eval e r (d ∪ rest) = Some v.
Proof.
  revert v. induction e; cbn [eval]; intros u H; try done.
  - destruct (eval e1 r d); [|done]. destruct (eval e2 r d); [|done].
    rewrite (IHe1 _ eq_refl), (IHe2 _ eq_refl). by apply own_read.
  - destruct (eval e r d); [|done]. by rewrite (IHe _ eq_refl).
  - destruct (eval e r d); [|done]. by rewrite (IHe _ eq_refl).
  - destruct (eval e1 r d); [|done]. destruct (eval e2 r d); [|done]. by rewrite (IHe1 _ eq_refl), (IHe2 _ eq_refl).
  - destruct (eval e r d); [|done]. by rewrite (IHe _ eq_refl).
Qed.
Lemma evals_mono es r (d rest : mem) vs : evals es r d = Some vs -> evals es r (d ∪ rest) = Some vs.
Proof.
  revert vs. induction es as [|e es IH]; cbn [evals]; intros vs H; [done|].
  destruct (eval e r d) eqn:E; [|done]. destruct (evals es r d); [|done].
  by rewrite (eval_mono _ _ _ _ _ E), (IH _ eq_refl).
Qed.
Lemma test_mono c r (d rest : mem) b : test c r d = Some b -> test c r (d ∪ rest) = Some b.
Proof.
  revert b. induction c; cbn [test]; intros t H.
  - destruct (eval a r d) eqn:E1; [|done]. destruct (eval b r d) eqn:E2; [|done].
    by rewrite (eval_mono _ _ _ _ _ E1), (eval_mono _ _ _ _ _ E2).
  - destruct (eval e r d) eqn:E; [|done]. by rewrite (eval_mono _ _ _ _ _ E).
  - destruct (test c r d); [|done]. by rewrite (IHc _ eq_refl).
  - destruct (test c1 r d) as [x|]; [|done]. rewrite (IHc1 _ eq_refl). destruct x; auto.
  - destruct (test c1 r d) as [x|]; [|done]. rewrite (IHc1 _ eq_refl). destruct x; auto.
Qed.

Section owned.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).

  Definition owned (s : stmt) (Qn Qb : locals -> mem -> Prop) (Qr : Z -> mem -> Prop) (r : locals) (d : mem) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (g : G) (rest : mem),
      step_closed kernel_entry M cpu J -> d ##ₘ rest ->
      wp J s (fun r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ Qn r d')
        (fun r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ Qb r d')
        (fun v m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ Qr v d') r (d ∪ rest) g.

  (** The body of a function gives a triple about the function. *)
  Lemma triple_owned f fd args d (post : Z -> mem -> Prop) :
    M f = Some fd -> length args = fn_params fd ->
    owned (fn_body fd) (fun _ d' => post 0 d') (fun _ _ => False) post (args ++ replicate (fn_locals fd) 0) d ->
    triple kernel_entry M cpu f args d post.
  Proof.
    intros HM Hlen Ho G J g rest Q HJ Hd HQ. eapply fwp_body; [exact HJ|exact HM|exact Hlen|].
    unfold body_wp. eapply wp_mono; [| | |exact (Ho G J g rest HJ Hd)]; simpl.
    - intros r m g' (d' & -> & Hd' & -> & Hp). by apply HQ.
    - by intros r m g' (d' & -> & Hd' & -> & []).
    - intros v m g' (d' & -> & Hd' & -> & Hp). by apply HQ.
  Qed.

  Lemma owned_mono s (Qn Qn' Qb Qb' : locals -> mem -> Prop) (Qr Qr' : Z -> mem -> Prop) r d :
    (forall r d, Qn r d -> Qn' r d) -> (forall r d, Qb r d -> Qb' r d) -> (forall v d, Qr v d -> Qr' v d) ->
    owned s Qn Qb Qr r d -> owned s Qn' Qb' Qr' r d.
  Proof.
    intros HN HB HR Ho G J g rest HJ Hd. eapply wp_mono; [| | |exact (Ho G J g rest HJ Hd)]; simpl.
    - intros r' m g' (d' & ? & ? & ? & ?). eauto 10.
    - intros r' m g' (d' & ? & ? & ? & ?). eauto 10.
    - intros r' m g' (d' & ? & ? & ? & ?). eauto 10.
  Qed.

  Lemma owned_skip (Qn Qb : locals -> mem -> Prop) Qr r d : Qn r d -> owned Skip Qn Qb Qr r d.
  Proof. intros HQ G J g rest HJ Hd. simpl. eauto. Qed.
  Lemma owned_assign x e (Qn Qb : locals -> mem -> Prop) Qr r d v :
    eval e r d = Some v -> Qn (<[x := v]> r) d -> owned (Assign x e) Qn Qb Qr r d.
  Proof. intros He HQ G J g rest HJ Hd. simpl. exists v. split; [by apply eval_mono|eauto]. Qed.
  Lemma owned_store o i f j e (Qn Qb : locals -> mem -> Prop) Qr r d iv jv v :
    eval i r d = Some iv -> eval j r d = Some jv -> eval e r d = Some v -> is_Some (d !! ((o, iv, f, jv) : cell)) ->
    Qn r (<[(o, iv, f, jv) := v]> d) -> owned (Store o i f j e) Qn Qb Qr r d.
  Proof.
    intros Hi Hj He Hx HQ G J g rest HJ Hd. simpl. exists iv, jv, v. split_and!; [by apply eval_mono..| |].
    - destruct Hx as [w Hw]. exists w. by apply own_read.
    - exists (<[(o, iv, f, jv) := v]> d). split_and!; [apply own_write|by apply own_write_disjoint|done..].
  Qed.
  Lemma owned_seq a b (Qn Qb : locals -> mem -> Prop) Qr r d :
    owned a (owned b Qn Qb Qr) Qb Qr r d -> owned (Seq a b) Qn Qb Qr r d.
  Proof.
    intros Ho G J g rest HJ Hd. simpl. eapply wp_mono; [| | |exact (Ho G J g rest HJ Hd)]; simpl; [|done..].
    intros r' m g' (d' & -> & Hd' & -> & Hb). by apply Hb.
  Qed.
  Lemma owned_if c a b (Qn Qb : locals -> mem -> Prop) Qr r d t :
    test c r d = Some t -> (if t then owned a Qn Qb Qr r d else owned b Qn Qb Qr r d) -> owned (If c a b) Qn Qb Qr r d.
  Proof.
    intros Ht Ho G J g rest HJ Hd. simpl. exists t. split; [by apply test_mono|]. destruct t; by apply Ho.
  Qed.
  Lemma owned_while c body (I : nat -> locals -> mem -> Prop) n (Qn Qb : locals -> mem -> Prop) Qr r d :
    I n r d ->
    (forall n r d, I n r d -> exists t, test c r d = Some t /\
       if t then owned body (fun r d => exists n', (n' < n)%nat /\ I n' r d) Qn Qr r d else Qn r d) ->
    owned (While c body) Qn Qb Qr r d.
  Proof.
    intros HI Hs G J g rest HJ Hd. simpl.
    exists (fun n r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ g' = g /\ I n r d'), n. split; [eauto|].
    intros n1 r1 m1 g1 (d1 & -> & Hd1 & -> & H1). destruct (Hs n1 r1 d1 H1) as (t & Ht & Hb).
    exists t. split; [by apply test_mono|]. destruct t; [|eauto].
    eapply wp_mono; [| | |exact (Hb G J g rest HJ Hd1)]; simpl; [|done..].
    intros r' m g' (d' & -> & Hd' & -> & n' & Hn & HI'). eauto 10.
  Qed.
  Lemma owned_break (Qn Qb : locals -> mem -> Prop) Qr r d : Qb r d -> owned Break Qn Qb Qr r d.
  Proof. intros HQ G J g rest HJ Hd. simpl. eauto. Qed.
  Lemma owned_return e (Qn Qb : locals -> mem -> Prop) (Qr : Z -> mem -> Prop) r d v :
    eval e r d = Some v -> Qr v d -> owned (Return e) Qn Qb Qr r d.
  Proof. intros He HQ G J g rest HJ Hd. simpl. exists v. split; [by apply eval_mono|eauto]. Qed.

  (** A call of a function whose triple speaks of some of the cells. *)
  Lemma owned_call x f es (Qn Qb : locals -> mem -> Prop) Qr r d1 d2 args (post : Z -> mem -> Prop) :
    evals es r (d1 ∪ d2) = Some args -> d1 ##ₘ d2 -> triple kernel_entry M cpu f args d1 post ->
    (forall v d', post v d' -> d' ##ₘ d2 -> Qn (set_result x v r) (d' ∪ d2)) ->
    owned (Call x f es) Qn Qb Qr r (d1 ∪ d2).
  Proof.
    intros He H12 Ht HQ G J g rest HJ Hd. simpl. exists args. split; [by apply evals_mono|].
    apply map_disjoint_union_l in Hd as [Hd1 Hd2]. rewrite <- (assoc_L (∪)). apply Ht; [done| |].
    - by apply map_disjoint_union_r.
    - intros v d' Hp [Hx Hy]%map_disjoint_union_r. exists (d' ∪ d2). split_and!; [by rewrite (assoc_L (∪))| |done|].
      + by apply map_disjoint_union_l.
      + by apply HQ.
  Qed.
  Lemma owned_call_whole x f es (Qn Qb : locals -> mem -> Prop) Qr r d args (post : Z -> mem -> Prop) :
    evals es r d = Some args -> triple kernel_entry M cpu f args d post ->
    (forall v d', post v d' -> Qn (set_result x v r) d') -> owned (Call x f es) Qn Qb Qr r d.
  Proof.
    intros He Ht HQ. rewrite <- (right_id_L ∅ (∪) d) in He |- *.
    eapply owned_call; [exact He|apply map_disjoint_empty_r|exact Ht|].
    intros v d' Hp _. rewrite (right_id_L ∅ (∪)). by apply HQ.
  Qed.

  (** A call of a primitive of this CPU that leaves memory alone. *)
  Lemma owned_builtin x f es (Qn Qb : locals -> mem -> Prop) Qr r d args v :
    M f = None -> evals es r d = Some args ->
    (forall m, arch_builtins kernel_entry cpu f args m = Some (Some (v, m))) ->
    Qn (set_result x v r) d -> owned (Call x f es) Qn Qb Qr r d.
  Proof.
    intros HM He Hb HQ G J g rest HJ Hd. simpl. exists args. split; [by apply evals_mono|].
    eapply fwp_builtin; [exact HJ|exact HM|apply Hb|]. eauto.
  Qed.
End owned.

(** ** Reading through stores *)
Lemma own_lookup (d : mem) (x : cell) (v : Z) : <[x := v]> d !! x = Some v.
Proof. apply lookup_insert. Qed.
Lemma own_lookup_ne (d : mem) (x y : cell) (v : Z) : x <> y -> <[x := v]> d !! y = d !! y.
Proof. apply lookup_insert_ne. Qed.
Arguments wrap : simpl never.
Lemma own_eq (d d' : mem) : (forall x : cell, d !! x = d' !! x) -> d = d'.
Proof. apply map_eq. Qed.

(** ** Evaluation, a rule for each form of expression: nothing here computes with maps *)
Section evaluation.
  Context (r : locals) (d : mem).
  Lemma eval_const z : eval (Const z) r d = Some z.
  Proof. done. Qed.
  Lemma eval_var x v : nth_error r x = Some v -> eval (Var x) r d = Some v.
  Proof. intros H. simpl. revert x H. induction r as [|u l IH]; intros [|x] H; [done..|by apply IH]. Qed.
  Lemma eval_load o i f j iv jv v : eval i r d = Some iv -> eval j r d = Some jv ->
    d !! ((o, iv, f, jv) : cell) = Some v -> eval (Load o i f j) r d = Some v.
  Proof. intros Hi Hj Hv. cbn [eval]. by rewrite Hi, Hj. Qed.
  Lemma eval_bin w o a b x y v : eval a r d = Some x -> eval b r d = Some y -> binary w o x y = Some v ->
    eval (Bin w o a b) r d = Some v.
  Proof. intros Ha Hb Hv. cbn [eval]. by rewrite Ha, Hb. Qed.
  Lemma eval_not w e v : eval e r d = Some v -> eval (Not w e) r d = Some (2 ^ bits w - 1 - v).
  Proof. intros H. cbn [eval]. by rewrite H. Qed.
  Lemma eval_neg w e v : eval e r d = Some v -> eval (Neg w e) r d = Some (wrap w (- v)).
  Proof. intros H. cbn [eval]. by rewrite H. Qed.
  Lemma eval_cast w e v : eval e r d = Some v -> eval (Cast w e) r d = Some (wrap w v).
  Proof. intros H. cbn [eval]. by rewrite H. Qed.
  Lemma evals_nil : evals [] r d = Some [].
  Proof. done. Qed.
  Lemma evals_cons e es v vs : eval e r d = Some v -> evals es r d = Some vs -> evals (e :: es) r d = Some (v :: vs).
  Proof. intros He Hes. cbn [evals]. by rewrite He, Hes. Qed.
  Lemma test_cmp c a b x y : eval a r d = Some x -> eval b r d = Some y -> test (Cmp c a b) r d = Some (compare c x y).
  Proof. intros Ha Hb. cbn [test]. by rewrite Ha, Hb. Qed.
  Lemma test_nonzero e v : eval e r d = Some v -> test (NonZero e) r d = Some (negb (v =? 0)).
  Proof. intros H. cbn [test]. by rewrite H. Qed.
  Lemma test_not c b : test c r d = Some b -> test (CNot c) r d = Some (negb b).
  Proof. intros H. cbn [test]. by rewrite H. Qed.
  Lemma test_and a b x y : test a r d = Some x -> test b r d = Some y -> test (CAnd a b) r d = Some (x && y).
  Proof. intros Ha Hb. cbn [test]. rewrite Ha. by destruct x. Qed.
  Lemma test_or a b x y : test a r d = Some x -> test b r d = Some y -> test (COr a b) r d = Some (x || y).
  Proof. intros Ha Hb. cbn [test]. rewrite Ha. by destruct x. Qed.
  Lemma owned_some (x : cell) v : d !! x = Some v -> is_Some (d !! x).
  Proof. intros ->. by eexists. Qed.
End evaluation.

(** [look]: simplifies reads of cells below stores, using the disequalities and the values in the context. *)
Ltac look :=
  repeat first
    [ rewrite own_lookup
    | rewrite own_lookup_ne by congruence
    | match goal with H : ?d !! ?x = Some _ |- context [?d !! ?x] => rewrite H end ].

(** [evaluate]: an expression, a condition or arguments. Shifts need [0 <= count < width] among the hypotheses. *)
Ltac evaluate :=
  lazymatch goal with
  | |- eval (Const _) _ _ = _ => apply eval_const
  | |- eval (Var _) _ _ = _ => apply eval_var; cbn [nth_error]; reflexivity
  | |- eval (Load _ _ _ _) _ _ = _ => eapply eval_load; [evaluate|evaluate|look; reflexivity]
  | |- eval (Bin _ _ _ _) _ _ = _ =>
      eapply eval_bin; [evaluate|evaluate|cbn [binary]; try rewrite (proj2 (Z.ltb_lt _ _)) by (cbn [bits]; lia); reflexivity]
  | |- eval (Not _ _) _ _ = _ => eapply eval_not; evaluate
  | |- eval (Neg _ _) _ _ = _ => eapply eval_neg; evaluate
  | |- eval (Cast _ _) _ _ = _ => eapply eval_cast; evaluate
  | |- evals [] _ _ = _ => apply evals_nil
  | |- evals (_ :: _) _ _ = _ => eapply evals_cons; [evaluate|evaluate]
  | |- test (Cmp _ _ _) _ _ = _ => eapply test_cmp; [evaluate|evaluate]
  | |- test (NonZero _) _ _ = _ => eapply test_nonzero; evaluate
  | |- test (CNot _) _ _ = _ => eapply test_not; evaluate
  | |- test (CAnd _ _) _ _ = _ => eapply test_and; [evaluate|evaluate]
  | |- test (COr _ _) _ _ = _ => eapply test_or; [evaluate|evaluate]
  end.

(** [locals_simpl]: the list of locals, written out. *)
Ltac locals_simpl :=
  cbn [app replicate fn_params fn_locals fn_body set_result];
  repeat match goal with
         | |- context [@insert nat Z (list Z) _ ?x ?v ?l] =>
             let l' := eval cbn [insert list_insert] in (@insert nat Z (list Z) list_insert x v l) in
             change (@insert nat Z (list Z) _ x v l) with l'
         end.

(** The same, where the list of locals came out of an invariant or was named. *)
Ltac locals_plain := repeat match goal with |- context [@insert nat Z locals ?i ?x ?v ?l] =>
  let l' := eval cbn [insert list_insert] in (@insert nat Z (list Z) list_insert x v l) in change (@insert nat Z locals i x v l) with l' end.

(** One statement. Loops and calls are left to the proof; a condition stays as the comparison that it is. *)
Ltac step :=
  lazymatch goal with
  | |- owned _ _ _ (Seq _ _) _ _ _ _ _ => apply owned_seq
  | |- owned _ _ _ Skip _ _ _ _ _ => apply owned_skip
  | |- owned _ _ _ (Assign _ _) _ _ _ _ _ => eapply owned_assign; [evaluate|]
  | |- owned _ _ _ (Store _ _ _ _ _) _ _ _ _ _ =>
      eapply owned_store; [evaluate|evaluate|evaluate|look; first [by eexists|done|idtac]|]
  | |- owned _ _ _ (If _ _ _) _ _ _ _ _ => eapply owned_if; [evaluate|cbn [compare negb andb orb]]
  | |- owned _ _ _ (Return _) _ _ _ _ _ => eapply owned_return; [evaluate|]
  | |- owned _ _ _ Break _ _ _ _ _ => apply owned_break
  end; locals_simpl.
