(** The executor on symbols is sound: what [Semantics] does with any numbers is an instance of a path that it finds. *)
From Ashlar Require Import lang.Symbolic.

Section soundness.
  Context (size : sizes) (M : module) (rho : locals) (mu : cell -> Z).
  Local Notation V := (val rho mu).

  Definition no_builtins : builtins := fun _ _ _ _ => None.

  (** What a run comes to first: a call of what has no term, the end, or a loop that it enters. *)
  Inductive seen :=
  | SeenCall (f : string) (args : list Z)
  | SeenReturn (v : Z)
  | SeenLoop (r : locals).

  Definition enters_loop (s : cfg) : bool :=
    match ck s with
    | KStmt (While c _) :: _ => match test c (cl s) (cm s) with Some true => true | _ => false end
    | _ => false
    end.

  Inductive reaches : cfg -> seen -> mem -> Prop :=
  | reaches_loop s : enters_loop s = true -> reaches s (SeenLoop (cl s)) (cm s)
  | reaches_return s v m : enters_loop s = false -> next no_builtins M 0 s = EReturn v m -> reaches s (SeenReturn v) m
  | reaches_call s f args :
      enters_loop s = false -> next no_builtins M 0 s = EPrim (f, args) -> reaches s (SeenCall f args) (cm s)
  | reaches_on s s' e m :
      enters_loop s = false -> next no_builtins M 0 s = ETau s' -> reaches s' e m -> reaches s e m.

  (** What a state and an event stand for. *)
  Definition item_of (i : item) : frame_item :=
    match i with
    | SStmt s => KStmt s
    | SLoop c body => KLoop c body
    | SRet x r => KRet x (V <$> r)
    | SEnd => KEnd
    end.

  Definition seen_of (e : event) : seen :=
    match e with
    | Called f args => SeenCall f (V <$> args)
    | Returned v => SeenReturn (V v)
    | Looped r => SeenLoop (V <$> r)
    end.

  Definition agrees (m : mem) (w : list write) : Prop := forall c v, m !! c = Some v -> v = after rho mu w c.

  (** Cells are those that the sizes allow. *)
  Definition ranged (m : mem) : Prop :=
    forall o i f j v, m !! ((o, i, f, j) : cell) = Some v -> i < (size o f).1 /\ j < (size o f).2.

  Record stands (s : state) (c : cfg) : Prop := Stands {
    stands_stack : ck c = map item_of (stack s);
    stands_here : cl c = V <$> here s;
    stands_memory : agrees (cm c) (log s);
    stands_ranged : ranged (cm c);
    stands_held : all_hold rho mu (held s);
  }.

  Lemma all_hold_app a b : all_hold rho mu (a ++ b) <-> all_hold rho mu a /\ all_hold rho mu b.
  Proof. apply Forall_app. Qed.

  Lemma all_hold_under c n : (holds rho mu c = true -> all_hold rho mu n) -> all_hold rho mu (under c n).
  Proof.
    intros Hn. unfold all_hold, under. apply Forall_map.
    destruct (holds rho mu c) eqn:Hc.
    - eapply Forall_impl; [ by apply Hn | ]. intros x Hx. cbn. by rewrite Hc, Hx.
    - apply Forall_forall. intros x _. cbn. by rewrite Hc.
  Qed.

  Lemma read_sound w o i f j : V (read w o i f j) = after rho mu w (o, V i, f, V j).
  Proof.
    induction w as [|[[[[o' i'] f'] j'] v] w IH]; [ done | ]. cbn [read after].
    destruct (String.eqb_spec o o') as [<-|Ho]; cbn [andb].
    2: { by rewrite decide_False by congruence. }
    destruct (String.eqb_spec f f') as [<-|Hf].
    2: { by rewrite decide_False by congruence. }
    change (V (TIf _ v ?e)) with (if (V i =? V i') && (V j =? V j') then V v else V e).
    destruct (Z.eqb_spec (V i) (V i')) as [Hi|Hi]; cbn [andb].
    2: { by rewrite decide_False by congruence. }
    destruct (Z.eqb_spec (V j) (V j')) as [Hj|Hj].
    2: { by rewrite decide_False by congruence. }
    by rewrite decide_True by congruence.
  Qed.

  Lemma holds_is c a b : holds rho mu (CIs c a b) = compare c (V a) (V b).
  Proof. done. Qed.

  Lemma holds_both a b : holds rho mu (CBoth a b) = holds rho mu a && holds rho mu b.
  Proof. done. Qed.

  Lemma holds_either a b : holds rho mu (CEither a b) = holds rho mu a || holds rho mu b.
  Proof. done. Qed.

  Lemma needs_sound w o x y v :
    binary w o (V x) (V y) = Some v -> V (TBin w o x y) = v /\ all_hold rho mu (needs w o y).
  Proof.
    intros Hv. split.
    - change (V (TBin w o x y)) with (total (binary w o (V x) (V y))). by rewrite Hv.
    - destruct o; try apply Forall_nil_2; apply Forall_singleton; rewrite holds_is; unfold compare, binary in *.
      all: change (V (TConst ?z)) with z.
      all: first [ by destruct (V y =? 0) | by destruct (V y <? bits w) ].
  Qed.

  Lemma in_range_sound m o i f j v :
    ranged m -> m !! ((o, V i, f, V j) : cell) = Some v -> all_hold rho mu (in_range size o i f j).
  Proof.
    intros Hm Hv. destruct (Hm _ _ _ _ _ Hv).
    repeat apply Forall_cons_2; [ | | apply Forall_nil_2 ]; rewrite holds_is; apply Z.ltb_lt; done.
  Qed.

  Lemma expression_sound e r w m v :
    agrees m w -> ranged m -> eval e (V <$> r) m = Some v ->
    V (expression size e r w).1 = v /\ all_hold rho mu (expression size e r w).2.
  Proof.
    intros Hw Hm. revert v.
    induction e as [z|x|o i IHi f j IHj|b e IH|b e IH|b o a IHa c IHc|b e IH]; intros v Hv; cbn [eval expression] in *.
    - injection Hv as <-. split; [ done | apply Forall_nil_2 ].
    - unfold locals in Hv. rewrite list_lookup_fmap in Hv. destruct (r !! x) as [t|]; [ | done ].
      injection Hv as <-. split; [ done | apply Forall_nil_2 ].
    - destruct (eval i _ m) as [vi|] eqn:Hi; [ | done ]. destruct (eval j _ m) as [vj|] eqn:Hj; [ | done ].
      destruct (IHi _ eq_refl) as [Ei Ni]. destruct (IHj _ eq_refl) as [Ej Nj].
      destruct (expression size i r w) as [ti ni]. destruct (expression size j r w) as [tj nj]. cbn [fst snd] in *. subst vi vj.
      split.
      + rewrite read_sound. symmetry. by apply Hw.
      + apply all_hold_app; split; [ done | ]. apply all_hold_app; split; [ done | ]. by eapply in_range_sound.
    - destruct (eval e _ m) as [x|]; [ | done ]. destruct (IH _ eq_refl) as [E N].
      destruct (expression size e r w). cbn [fst snd] in *. subst. by injection Hv as <-.
    - destruct (eval e _ m) as [x|]; [ | done ]. destruct (IH _ eq_refl) as [E N].
      destruct (expression size e r w). cbn [fst snd] in *. subst. by injection Hv as <-.
    - destruct (eval a _ m) as [x|]; [ | done ]. destruct (eval c _ m) as [y|]; [ | done ].
      destruct (IHa _ eq_refl) as [Ea Na]. destruct (IHc _ eq_refl) as [Ec Nc].
      destruct (expression size a r w) as [ta na]. destruct (expression size c r w) as [tc nc]. cbn [fst snd] in *. subst x y.
      destruct (needs_sound _ _ _ _ _ Hv) as [E N]. split; [ done | ].
      apply all_hold_app; split; [ done | ]. by apply all_hold_app.
    - destruct (eval e _ m) as [x|]; [ | done ]. destruct (IH _ eq_refl) as [E N].
      destruct (expression size e r w). cbn [fst snd] in *. subst. by injection Hv as <-.
  Qed.

  Lemma expressions_sound es r w m vs :
    agrees m w -> ranged m -> evals es (V <$> r) m = Some vs ->
    V <$> (expressions size es r w).1 = vs /\ all_hold rho mu (expressions size es r w).2.
  Proof.
    intros Hw Hm. revert vs. induction es as [|e es IH]; intros vs Hv; cbn [evals expressions] in *.
    - injection Hv as <-. split; [ done | apply Forall_nil_2 ].
    - destruct (eval e _ m) as [v|] eqn:He; [ | done ]. destruct (evals es _ m) as [more|]; [ | done ].
      destruct (expression_sound _ _ _ _ _ Hw Hm He) as [E N]. destruct (IH _ eq_refl) as [Es Ns].
      destruct (expression size e r w). destruct (expressions size es r w). cbn [fst snd] in *. injection Hv as <-. subst.
      split; [ done | by apply all_hold_app ].
  Qed.

  Lemma condition_sound c r w m b :
    agrees m w -> ranged m -> test c (V <$> r) m = Some b ->
    holds rho mu (condition size c r w).1 = b /\ all_hold rho mu (condition size c r w).2.
  Proof.
    intros Hw Hm. revert b. induction c as [o x y|e|c IH|x IHx y IHy|x IHx y IHy]; intros b Hb; cbn [test condition] in *.
    - destruct (eval x _ m) as [vx|] eqn:Hx; [ | done ]. destruct (eval y _ m) as [vy|] eqn:Hy; [ | done ].
      destruct (expression_sound _ _ _ _ _ Hw Hm Hx) as [Ex Nx]. destruct (expression_sound _ _ _ _ _ Hw Hm Hy) as [Ey Ny].
      destruct (expression size x r w). destruct (expression size y r w). cbn [fst snd] in *. injection Hb as <-. subst.
      by rewrite holds_is, all_hold_app.
    - destruct (eval e _ m) as [v|] eqn:He; [ | done ]. destruct (expression_sound _ _ _ _ _ Hw Hm He) as [E N].
      destruct (expression size e r w). cbn [fst snd] in *. injection Hb as <-. by subst.
    - destruct (test c _ m) as [v|]; [ | done ]. destruct (IH _ eq_refl) as [E N].
      destruct (condition size c r w). cbn [fst snd] in *. injection Hb as <-. by subst.
    - destruct (test x _ m) as [vx|]; [ | done ]. destruct (IHx _ eq_refl) as [Ex Nx].
      destruct (condition size x r w) as [tx nx]. destruct (condition size y r w) as [ty ny]. cbn [fst snd] in *. subst vx.
      rewrite holds_both, all_hold_app. destruct (holds rho mu tx) eqn:Hx.
      + destruct (IHy _ Hb) as [Ey Ny]. split; [ done | ]. split; [ done | by apply all_hold_under ].
      + injection Hb as <-. split; [ done | ]. split; [ done | ]. apply all_hold_under. by rewrite Hx.
    - destruct (test x _ m) as [vx|]; [ | done ]. destruct (IHx _ eq_refl) as [Ex Nx].
      destruct (condition size x r w) as [tx nx]. destruct (condition size y r w) as [ty ny]. cbn [fst snd] in *. subst vx.
      rewrite holds_either, all_hold_app. destruct (holds rho mu tx) eqn:Hx.
      + injection Hb as <-. split; [ done | ]. split; [ done | ]. apply all_hold_under. cbn [holds]. by rewrite Hx.
      + destruct (IHy _ Hb) as [Ey Ny]. split; [ done | ]. split; [ done | by apply all_hold_under ].
  Qed.

  Definition ends (s : state) (m : mem) : Prop := agrees m (log s) /\ all_hold rho mu (held s).

  Lemma behind_loop_sound k : pop_loop (map item_of k) = option_map (map item_of) (behind_loop k).
  Proof. induction k as [|[] k IH]; done. Qed.

  Lemma behind_body_sound k : pop_call (map item_of k) = map item_of (behind_body k).
  Proof. induction k as [|[] k IH]; done. Qed.

  Lemma stored (m : mem) (c : cell) v : <[c := v]> m !! c = Some v.
  Proof. apply lookup_insert. Qed.

  Lemma stored_elsewhere (m : mem) (c c' : cell) v : c <> c' -> <[c := v]> m !! c' = m !! c'.
  Proof. apply lookup_insert_ne. Qed.

  Lemma agrees_store m w o i f j t :
    agrees m w -> agrees (<[((o, V i, f, V j) : cell) := V t]> m) ((o, i, f, j, t) :: w).
  Proof.
    intros Hw c v Hc. cbn [after]. destruct (decide (c = (o, V i, f, V j))) as [->|Hne].
    - rewrite stored in Hc. by injection Hc.
    - rewrite stored_elsewhere in Hc by congruence. by apply Hw.
  Qed.

  Lemma ranged_store m (c : cell) v old : ranged m -> m !! c = Some old -> ranged (<[c := v]> m).
  Proof.
    intros Hm Hc o i f j x Hx. destruct (decide (c = (o, i, f, j))) as [->|Hne].
    - by apply (Hm _ _ _ _ _ Hc).
    - rewrite stored_elsewhere in Hx by done. by apply (Hm _ _ _ _ _ Hx).
  Qed.

  Lemma return_sound k t w h m v :
    agrees m w -> ranged m -> all_hold rho mu h -> v = V t ->
    match return_to (map item_of k) v m with
    | ETau c => exists s, In (Going s) (return_from k t w h) /\ stands s c
    | EReturn v m => exists s e, In (Reached s e) (return_from k t w h) /\ seen_of e = SeenReturn v /\ ends s m
    | EStuck => True
    | EPrim _ => False
    end.
  Proof.
    intros Hw Hm Hh ->. destruct k as [|[st|cd body|x r|] k]; cbn [map item_of return_to return_from]; try done.
    - eexists. split; [ by left | ]. split; try done. cbn [cl here]. destruct x as [x|]; cbn [set_result assign]; [ | done ].
      by rewrite list_fmap_insert.
    - destruct k as [|[] k]; cbn [map item_of]; try done.
      eexists _, _. split; [ by left | ]. done.
  Qed.

  Lemma step_sound s c :
    stands s c -> enters_loop c = false ->
    match next no_builtins M 0 c with
    | ETau c' => exists s', In (Going s') (step size M s) /\ stands s' c'
    | EReturn v m => exists s' e, In (Reached s' e) (step size M s) /\ seen_of e = SeenReturn v /\ ends s' m
    | EPrim (f, args) => exists s' e, In (Reached s' e) (step size M s) /\ seen_of e = SeenCall f args /\ ends s' (cm c)
    | EStuck => True
    end.
  Proof.
    destruct s as [k r w h], c as [k' r' m]. intros [Hk Hr Hw Hm Hh] Hloop. cbn [ck cl cm stack here log held] in *. subst k' r'.
    destruct k as [|[st|cd body|x r0|] k]; cbn [map item_of next step].
    - done.
    - destruct st as [|x e|o i f j e|a b|cd a b|cd body| |e|x f es].
      + eexists. split; [ by left | done ].
      + destruct (eval e _ m) as [v|] eqn:He; [ | done ]. destruct (expression_sound _ _ _ _ _ Hw Hm He) as [<- N].
        destruct (expression size e r w) as [t n]. eexists. split; [ by left | ].
        split; try done; cbn [cl here held fst snd] in *; [ by rewrite list_fmap_insert | by apply all_hold_app ].
      + destruct (eval i _ m) as [vi|] eqn:Hi; [ | done ]. destruct (eval j _ m) as [vj|] eqn:Hj; [ | done ].
        destruct (eval e _ m) as [v|] eqn:He; [ | done ].
        destruct (expression_sound _ _ _ _ _ Hw Hm Hi) as [<- Ni]. destruct (expression_sound _ _ _ _ _ Hw Hm Hj) as [<- Nj].
        destruct (expression_sound _ _ _ _ _ Hw Hm He) as [<- N].
        destruct (expression size i r w) as [ti ni]. destruct (expression size j r w) as [tj nj].
        destruct (expression size e r w) as [t n]. cbn [fst snd] in *.
        destruct (m !! _) as [old|] eqn:Hold; [ | done ].
        eexists. split; [ by left | ]. split; try done; cbn [cm log held].
        * by apply agrees_store.
        * by eapply ranged_store.
        * rewrite !all_hold_app. repeat split; try done. by eapply in_range_sound.
      + eexists. split; [ by left | done ].
      + destruct (test cd _ m) as [b'|] eqn:Ht; [ | done ]. destruct (condition_sound _ _ _ _ _ Hw Hm Ht) as [Hb N].
        destruct (condition size cd r w) as [t n]. cbn [fst snd] in *. destruct b'.
        * eexists. split; [ by left | ]. split; try done. cbn [held]. apply Forall_cons. split; [ done | by apply all_hold_app ].
        * eexists. split; [ by right; left | ]. split; try done. cbn [held]. apply Forall_cons.
          split; [ cbn [holds]; by rewrite Hb | by apply all_hold_app ].
      + unfold enters_loop in Hloop. cbn [ck cl cm map item_of] in Hloop.
        destruct (test cd _ m) as [[]|] eqn:Ht; [ done | | done ]. destruct (condition_sound _ _ _ _ _ Hw Hm Ht) as [Hb N].
        destruct (condition size cd r w) as [t n]. cbn [fst snd] in *.
        eexists. split; [ by right; left | ]. split; try done. cbn [held]. apply Forall_cons.
        split; [ cbn [holds]; by rewrite Hb | by apply all_hold_app ].
      + rewrite behind_loop_sound. destruct (behind_loop k) as [k'|]; [ | done ].
        eexists. split; [ by left | done ].
      + destruct (eval e _ m) as [v|] eqn:He; [ | done ]. destruct (expression_sound _ _ _ _ _ Hw Hm He) as [Hv N].
        destruct (expression size e r w) as [t n]. cbn [fst snd] in *. rewrite behind_body_sound.
        pose proof (return_sound (behind_body k) t w (n ++ h) m v Hw Hm ltac:(by apply all_hold_app) (eq_sym Hv)) as Hret.
        destruct (return_to _ v m) as [| | |[]]; done.
      + destruct (evals es _ m) as [vs|] eqn:He; [ | done ]. destruct (expressions_sound _ _ _ _ _ Hw Hm He) as [Hv N].
        destruct (expressions size es r w) as [ts n]. cbn [fst snd] in *. subst vs.
        destruct (M f) as [fd|].
        * rewrite fmap_length. destruct (Nat.eqb (length ts) (fn_params fd)); [ | done ].
          eexists. split; [ by left | ]. split; try done; cbn [cl here held enter].
          -- by rewrite fmap_app, fmap_replicate.
          -- by apply all_hold_app.
        * cbn [no_builtins]. eexists _, _. split; [ by left | ]. split; [ done | ]. split; [ done | ]. by apply all_hold_app.
    - eexists. split; [ by left | done ].
    - pose proof (return_sound (SRet x r0 :: k) (TConst 0) w h m 0 Hw Hm Hh eq_refl) as Hret.
      cbn [map item_of] in Hret. destruct (return_to _ 0 m) as [| | |[]]; done.
    - pose proof (return_sound (SEnd :: k) (TConst 0) w h m 0 Hw Hm Hh eq_refl) as Hret.
      cbn [map item_of] in Hret. destruct (return_to _ 0 m) as [| | |[]]; done.
  Qed.

  Lemma loop_sound s c :
    stands s c -> enters_loop c = true ->
    exists s' e, In (Reached s' e) (step size M s) /\ seen_of e = SeenLoop (cl c) /\ ends s' (cm c).
  Proof.
    destruct s as [k r w h], c as [k' r' m]. intros [Hk Hr Hw Hm Hh] Hloop. cbn [ck cl cm stack here log held] in *. subst k' r'.
    unfold enters_loop in Hloop. cbn [ck cl cm] in Hloop.
    destruct k as [|[[]| | |] k]; cbn [map item_of] in Hloop; try done.
    destruct (test c _ m) as [[]|] eqn:Ht; try done. destruct (condition_sound _ _ _ _ _ Hw Hm Ht) as [Hb N].
    cbn [step]. destruct (condition size c r w) as [t n]. cbn [fst snd] in *.
    eexists _, _. split; [ by left | ]. split; [ done | ]. split; [ done | ]. cbn [held]. apply Forall_cons.
    split; [ done | by apply all_hold_app ].
  Qed.

  (** Every run of [Semantics] to its first event is an instance of a path that the executor finds: what the path needs holds, and
      event and memory are those of the path. [keep] must not leave out a state that holds. *)
  Theorem paths_sound keep fuel s c e m found :
    (forall s, all_hold rho mu (held s) -> keep s = true) ->
    paths size M keep fuel s = Some found ->
    stands s c -> reaches c e m ->
    exists s' e', In (s', e') found /\ seen_of e' = e /\ ends s' m.
  Proof.
    intros Hkeep. revert s c found. induction fuel as [|fuel IH]; intros s c found Hfound Hs Hreach; [ done | ].
    cbn [paths] in Hfound.
    set (all := fix all (found : list outcome) : option (list (state * event)) := _) in Hfound.
    assert (Hreached : forall os fs s' e', all os = Some fs -> In (Reached s' e') os -> In (s', e') fs).
    { induction os as [|[s1|s1 e1] os IHos]; intros fs s' e' Hall Hin; [ done | | ]; cbn in Hall.
      - destruct Hin as [Hin|Hin]; [ done | ].
        destruct (if keep s1 then _ else _) as [these|]; [ | done ]. destruct (all os) as [more|] eqn:Hmore; [ | done ].
        injection Hall as <-. apply in_or_app. right. by eapply IHos.
      - destruct (all os) as [more|] eqn:Hmore; [ | done ]. injection Hall as <-.
        destruct Hin as [[= -> ->]|Hin]; [ by left | right; by eapply IHos ]. }
    assert (Hgoing : forall os fs s' c', all os = Some fs -> In (Going s') os -> stands s' c' -> reaches c' e m ->
      exists s'' e'', In (s'', e'') fs /\ seen_of e'' = e /\ ends s'' m).
    { induction os as [|[s1|s1 e1] os IHos]; intros fs s' c' Hall Hin Hs' Hc'; [ done | | ]; cbn in Hall.
      - destruct (if keep s1 then _ else _) as [these|] eqn:Hthese; [ | done ].
        destruct (all os) as [more|] eqn:Hmore; [ | done ]. injection Hall as <-. destruct Hin as [[= ->]|Hin].
        + rewrite Hkeep in Hthese by apply Hs'. destruct (IH _ _ _ Hthese Hs' Hc') as (s'' & e'' & Hin & He).
          exists s'', e''. split; [ apply in_or_app; by left | done ].
        + destruct (IHos _ _ _ eq_refl Hin Hs' Hc') as (s'' & e'' & Hin' & He).
          exists s'', e''. split; [ apply in_or_app; by right | done ].
      - destruct (all os) as [more|] eqn:Hmore; [ | done ]. injection Hall as <-. destruct Hin as [Hin|Hin]; [ done | ].
        destruct (IHos _ _ _ eq_refl Hin Hs' Hc') as (s'' & e'' & Hin' & He). exists s'', e''. split; [ by right | done ]. }
    destruct Hreach as [c Hl|c v m Hl Hn|c f args Hl Hn|c c' e m Hl Hn Hc'].
    - destruct (loop_sound _ _ Hs Hl) as (s' & e' & Hin & He). exists s', e'. by eauto.
    - pose proof (step_sound _ _ Hs Hl) as Hstep. rewrite Hn in Hstep.
      destruct Hstep as (s' & e' & Hin & He). exists s', e'. by eauto.
    - pose proof (step_sound _ _ Hs Hl) as Hstep. rewrite Hn in Hstep.
      destruct Hstep as (s' & e' & Hin & He). exists s', e'. by eauto.
    - pose proof (step_sound _ _ Hs Hl) as Hstep. rewrite Hn in Hstep. destruct Hstep as (s' & Hin & Hs'). by eauto.
  Qed.

  (** A function that is entered with these arguments stands at its beginning. *)
  Lemma begin_stands fd m :
    length rho = fn_params fd -> (forall c v, m !! c = Some v -> v = mu c) -> ranged m ->
    stands (begin fd) (enter fd rho [KEnd] m).
  Proof.
    intros Hlen Hmu Hm. split; try done; cbn [cl here begin enter].
    - rewrite fmap_app, fmap_replicate. f_equal. apply list_eq. intros x. rewrite list_lookup_fmap.
      change (map TLocal ?l) with (TLocal <$> l). rewrite list_lookup_fmap.
      destruct (decide (x < fn_params fd)%nat) as [Hx|Hx].
      + rewrite lookup_seq_lt by done.
        destruct (lookup_lt_is_Some_2 rho x ltac:(lia)) as [v Hv]. rewrite Hv.
        exact (f_equal Some (f_equal total (eq_sym Hv))).
      + rewrite lookup_seq_ge by lia. cbn. apply lookup_ge_None_2. lia.
    - apply Forall_nil_2.
  Qed.
End soundness.
