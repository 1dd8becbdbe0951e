(** A linked module, in the middle of one of its functions: where it was called from, and that it returns there.

    [calculus/linking/Link.v] says what every CPU inevitably reaches. Here, in whatever state the machine is, a CPU is known
    to be either between calls, in a state of the machine above, or inside a call whose continuation is known ([stands] in
    [CallStateLink.v]). *)
From Ashlar Require Export layers.spinlock.CallRules.

Section inside.
  Context (ncpu : nat) (L0 L1 : layer cprim mem) (B : builtins) (Mlow : module) (reserved : string -> bool).
  Context (view : lop L0 -> list (lop L1)) (wf : log L0 -> Prop) (outside : nat -> log L0 -> Prop).
  Notation abs := (abs L0 L1 view).
  Notation below_guarantee := (below_guarantee L0 L1 view wf).
  Notation between := (Link.between L0 L1 view wf outside).

  (** ** Code of the module on a stack of its own

      [inner]: the functions and primitives that the module's code calls. *)
  Context (inner : string -> bool).
  Fixpoint calls_inner (s : stmt) : bool :=
    match s with
    | Call _ f _ => inner f
    | Seq a b | If _ a b => calls_inner a && calls_inner b
    | While _ a => calls_inner a
    | _ => true
    end.
  Definition item_inner (i : frame_item) : bool :=
    match i with KStmt s | KLoop _ s => calls_inner s | KRet _ _ => true | KEnd => false end.
  Context (inner_reserved : forall f, inner f = true -> reserved f = true).
  Context (inner_body : forall f fd, Mlow f = Some fd -> calls_inner (fn_body fd) = true).
  Context (M : module) (HM : upper_module reserved M).
  Notation linked := (module_union M Mlow).

  Lemma pop_loop_bottom I K : forallb item_inner I = true -> pop_loop (I ++ [KEnd]) = Some K ->
    exists I', K = I' ++ [KEnd] /\ forallb item_inner I' = true /\
      forall x r0 k, pop_loop (I ++ KRet x r0 :: k) = Some (I' ++ KRet x r0 :: k).
  Proof.
    induction I as [|i I IH]; [done|]. simpl. intros [Hi HI]%andb_true_iff HK.
    destruct i as [s|cd s|y r1|]; simpl in *; try done; [by apply IH|]. injection HK as <-. by exists I.
  Qed.
  Lemma pop_call_bottom I T : forallb item_inner I = true -> pop_call T = T ->
    pop_call (I ++ T) = pop_call I ++ T /\ forallb item_inner (pop_call I) = true.
  Proof.
    intros HI HT. induction I as [|i I IH]; [done|]. simpl in HI. apply andb_true_iff in HI as [Hi HI].
    destruct i as [s|cd s|y r1|]; simpl in *; auto.
  Qed.
  Lemma pop_call_shape I : forallb item_inner I = true ->
    pop_call I = [] \/ exists y r1 I', pop_call I = KRet y r1 :: I'.
  Proof.
    induction I as [|i I IH]; [by left|]. simpl. intros [Hi HI]%andb_true_iff.
    destruct i as [s|cd s|y r1|]; simpl in *; try done; [by apply IH..|]. right. by eexists _, _, _.
  Qed.

  (** What happens on such a stack happens on top of any caller. *)
  Definition on_top (c : nat) (I : list frame_item) (r : locals) (m : mem) (x : option nat) (r0 : locals)
      (k : list frame_item) : Prop :=
    let real := next B linked c (Cfg (I ++ KRet x r0 :: k) r m) in
    match next B linked c (Cfg (I ++ [KEnd]) r m) with
    | EReturn v m' => real = ETau (Cfg k (set_result x v r0) m')
    | ETau s => exists I', s = Cfg (I' ++ [KEnd]) (cl s) (cm s) /\ forallb item_inner I' = true /\
        real = ETau (Cfg (I' ++ KRet x r0 :: k) (cl s) (cm s))
    | EPrim p => real = EPrim p /\ exists y f es I', I = KStmt (Call y f es) :: I' /\ forallb item_inner I' = true
    | EStuck => True
    end.

  Lemma next_on_top c I r m x r0 k : forallb item_inner I = true -> on_top c I r m x r0 k.
  Proof.
    intros HI. unfold on_top. destruct I as [|i I]; [done|]. pose proof HI as HI0. simpl in HI.
    apply andb_true_iff in HI as [Hi HI]. destruct i as [s|cd s|y r1|]; [|by exists (KStmt (While cd s) :: I)|by exists I|done].
    destruct s as [|y e|o a f b e|s1 s2|cd s1 s2|cd s1| |e|y f es]; simpl in Hi |- *.
    - by exists I.
    - destruct (eval e r m); [by exists I|done].
    - destruct (eval a r m), (eval b r m), (eval e r m); try done. destruct (m !! _); [by exists I|done].
    - exists (KStmt s1 :: KStmt s2 :: I). split_and!; try done. simpl. apply andb_true_iff in Hi as [-> ->]. done.
    - destruct (test cd r m) as [t|]; [|done]. exists (KStmt (if t then s1 else s2) :: I). split_and!; try done.
      simpl. apply andb_true_iff in Hi as [H1 H2]. by destruct t; rewrite ?H1, ?H2.
    - destruct (test cd r m) as [[]|]; [|by exists I|done].
      exists (KStmt s1 :: KLoop cd s1 :: I). split_and!; try done. simpl. by rewrite Hi.
    - destruct (pop_loop (I ++ [KEnd])) as [K|] eqn:EK; [|done].
      destruct (pop_loop_bottom I K HI EK) as (I' & -> & HI' & Hp). rewrite Hp. by exists I'.
    - destruct (eval e r m) as [v|]; [|done].
      destruct (pop_call_bottom I [KEnd] HI eq_refl) as [-> HI'].
      destruct (pop_call_bottom I (KRet x r0 :: k) HI eq_refl) as [-> _].
      destruct (pop_call_shape I HI) as [->|(y & r1 & I' & E)]; [done|]. rewrite E in *. simpl in *. by exists I'.
    - destruct (evals es r m) as [args|]; [|done].
      assert (Hm : linked f = Mlow f) by (unfold module_union; by rewrite (HM f (inner_reserved f Hi))). rewrite Hm.
      destruct (Mlow f) as [fd|] eqn:Ef.
      + destruct (Nat.eqb _ _); [|done]. exists (KStmt (fn_body fd) :: KRet y r :: I). split_and!; try done.
        simpl. by rewrite (inner_body f fd Ef).
      + destruct (B c f args m) as [[[v m']|]|]; [by exists I|done|]. split; [done|]. by exists y, f, es, I.
  Qed.

  (** The code on a stack of its own inevitably returns with [Q]. *)
  Inductive returns (G1 : log L1 -> Prop) (c : nat) (Q : Z -> mem -> log L0 -> Prop) : cfg -> log L0 -> Prop :=
  | returns_now s l v m : next B linked c s = EReturn v m -> Q v m l -> returns G1 c Q s l
  | returns_tau s s' l : next B linked c s = ETau s' -> returns G1 c Q s' l -> returns G1 c Q s l
  | returns_prim s p l : next B linked c s = EPrim p ->
      pwp L0 (below_guarantee G1) c p (cm s) l (fun _ _ _ => True) ->
      (forall l' v m o, rely L0 (below_guarantee G1) c l l' -> lstep L0 c p (cm s) l' = Ok v m o ->
         returns G1 c Q (resume s v m) (Event c o :: l')) ->
      returns G1 c Q s l.

  Lemma returns_stepwise G1 c Q : stepwise L0 L1 B Mlow view wf G1 c M (returns G1 c Q).
  Proof.
    split; [intros; by eapply returns_tau|]. intros s p l Hn Hp. eapply returns_prim; [exact Hn| |].
    - eapply pwp_mono; [|exact Hp]. done.
    - intros l' v m o Hl He. specialize (Hp l' Hl). rewrite He in Hp. apply Hp.
  Qed.
  Lemma body_returns G1 c fd args m l Q : body_wp (returns G1 c Q) fd args m l Q ->
    returns G1 c Q (enter fd args [KEnd] m) l.
  Proof.
    intros Hw. eapply (wp_sound B linked c (returns G1 c Q)); [apply returns_stepwise|exact Hw|]. split_and!.
    - intros r m' l' H. by eapply returns_now.
    - done.
    - intros v m' l' s H Hn. simpl in Hn. by eapply returns_now.
  Qed.
End inside.
