(** The locking machine refines the machine with atomic updates, for every client. *)
From Ashlar Require Export calculus.top.Atomicity.

Section refines.
  Context (X : layout) (nlock : Z) (budget ncpu : nat) (atomic : Z -> bool) (C : client).
  Context (S3 : specification (PRIM := top_prim X) (MEM := objects X)).
  Context (SD : spec_disciplined X nlock budget (expand_spec X S3)).
  Context (AL : forall f args p, S3 f args = Some p -> atomic_locks X atomic p).
  Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).

  Notation L2 := (lock_layer nlock budget (object_data X)).
  Notation L3 := (top_layer X).
  Notation A2 := (system C (object_engine X (expand_spec X S3))).
  Notation A3 := (system C (top_engine X S3)).
  Notation below := (lock_log (option (obj_state X))).
  Notation views := (top_views X atomic).

  Context (client_start : nat -> cstate C) (a0 : nat -> objects X).
  Context (start_exact : forall c, (c < ncpu)%nat -> holds_exactly X [] (a0 c)).
  Definition lock_machine (c : nat) : ast A2 := Idle (client_start c) (a0 c).
  Definition top_machine (c : nat) : ast A3 := Idle (client_start c) (a0 c).
  Context (top_never_wrong : never_wrong ncpu L3 A3 top_machine).

  Notation T3 := (traces ncpu L3 A3 top_machine).
  Notation guarantee := (top_guarantee X nlock budget atomic T3).
  Notation tracked := (canonical ncpu L3 A3 top_machine).
  Notation Q c := (idle_view X nlock budget atomic C S3 c (tracked c)).

  Lemma tracked_step c t x : (c < ncpu)%nat -> tracked c t x -> safe_step L3 A3 T3 c (tracked c) t x.
  Proof using top_never_wrong. intros. by apply canonical_step. Qed.
  Lemma tracked_rely c t x x' : tracked c t x -> rely L3 T3 c x x' -> tracked c t x'.
  Proof using. intros [Hc HT] (e & -> & He & HT' & _). split; [by apply consistent_app|done]. Qed.
  Lemma tracked_good c t x : tracked c t x -> T3 x.
  Proof using. by intros [_ ?]. Qed.

  Lemma idle_view_step c t l : (c < ncpu)%nat -> Q c t l ->
    safe_step L2 A2 guarantee c (fun t l => run L2 A2 guarantee c (Q c) t l) t l.
  Proof using SD AL initial_valid top_never_wrong.
    intros Hc (s & a & -> & HI & Ho). pose proof (tracked_step c _ _ Hc HI) as Hs.
    unfold safe_step in *. simpl in *. destruct (cnext C c s) as [|s'|f args|v] eqn:Ec; try done.
    - apply run_done. exists s', a. split; [done|]. split; [exact Hs|exact Ho].
    - unfold expand_spec. destruct (S3 f args) as [p|] eqn:Ep; [|done]. simpl.
      apply (busy_view_run X nlock budget atomic C S3 SD initial_valid T3 c (tracked c)).
      + apply traces_legal.
      + intros t x. by apply tracked_step.
      + intros t x x'. apply tracked_rely.
      + intros t x. apply tracked_good.
      + by eapply AL.
      + exact Hs.
      + simpl. destruct Ho as [Hh Ha]. rewrite Hh. eapply SD; [|exact Ha].
        unfold expand_spec. by rewrite Ep.
    - apply (lock_prim X nlock budget atomic C S3 SD initial_valid T3 c (Idle s a)); [exact Ho|simpl; by rewrite Ec|].
      intros l' w a' o Hrely Hstep Ho' HO Hleg.
      assert (HI' : tracked c (Idle s a) (views l')).
      { eapply tracked_rely; [exact HI|]. eapply rely_view; [|exact Hrely]. apply traces_legal. }
      pose proof (top_prim_step X C S3 T3 c (tracked c) (traces_legal _ _ _ _)
        (fun t x => tracked_step c t x Hc) (tracked_good c) (Idle s a) (Lock (OUT, [v])) (views l') HI'
        ltac:(simpl; by rewrite Ec)) as H3. simpl in H3.
      revert Hstep. unfold lock_step. destruct (held c l') as [ks n]. simpl.
      destruct ks; [|done]. intros [= <- <- <-]. destruct H3 as [HG HI3].
      split; [exact HG|]. apply run_done. exists (creturn C s 0), a. split; [done|]. split; [exact HI3|exact HO].
  Qed.

  Definition lock_invariant (c : nat) (t : ast A2) (l : below) : Prop := run L2 A2 guarantee c (Q c) t l.
  Lemma lock_invariant_step c t l : (c < ncpu)%nat -> lock_invariant c t l ->
    safe_step L2 A2 guarantee c (lock_invariant c) t l.
  Proof using SD AL initial_valid top_never_wrong.
    intros Hc. destruct 1 as [t l HQ|t t' l Hn Hrun|t l p Hn Hp Hrun].
    - by apply idle_view_step.
    - unfold safe_step. by rewrite Hn.
    - unfold safe_step. rewrite Hn. intros l' Hl'. specialize (Hp l' Hl'). specialize (Hrun l').
      destruct (lstep L2 c p (amem A2 t) l') eqn:E; auto. split; [apply Hp|]. by eapply Hrun.
  Qed.
  Lemma lock_invariant_init c : (c < ncpu)%nat -> lock_invariant c (lock_machine c) [].
  Proof using start_exact.
    intros Hc. apply run_done. exists (client_start c), (a0 c). split; [done|].
    split; [exact (canonical_init ncpu L3 A3 top_machine c)|]. split; [done|exact (start_exact c Hc)].
  Qed.
  Lemma lock_guarantee_init : guarantee [].
  Proof using. split; [constructor|]. apply (traces_nil ncpu L3 A3 top_machine). Qed.

  Theorem top_refines :
    never_wrong ncpu L2 A2 lock_machine /\ (forall l, traces ncpu L2 A2 lock_machine l -> T3 (views l)).
  Proof using SD AL initial_valid top_never_wrong start_exact.
    split.
    - exact (invariant_never_wrong ncpu L2 A2 lock_machine guarantee lock_guarantee_init lock_invariant
        lock_invariant_init lock_invariant_step).
    - intros l [f Hr].
      by destruct (local_invariant ncpu L2 A2 lock_machine guarantee lock_guarantee_init lock_invariant
        lock_invariant_init lock_invariant_step _ Hr) as [[[_ ?] _] _].
  Qed.
End refines.
