(** The footprint functions [reads] and [writes] are sound.

    Data-race freedom speaks of the cells that [reads] and [writes] list, so the lists must be complete. They are: the next
    step of a configuration is determined by the cells in [reads], and changes none but those in [writes]
    ([next_footprint]). *)
From Ashlar Require Import machine.SharedKernel.

(** [m'] has the same values as [m] in the cells [xs]. *)
Definition same_on (xs : list cell) (m m' : mem) : Prop := forall x, x ∈ xs -> m' !! x = m !! x.
Definition present_on (xs : list cell) (m m' : mem) : Prop := forall x, x ∈ xs -> is_Some (m' !! x) <-> is_Some (m !! x).

Lemma same_on_app xs ys m m' : same_on (xs ++ ys) m m' -> same_on xs m m' /\ same_on ys m m'.
Proof. intros H. split; intros x Hx; apply H, elem_of_app; auto. Qed.

Lemma eval_footprint e r m m' : same_on (eval_reads e r m) m m' -> eval e r m' = eval e r m.
Proof.
  induction e; cbn [eval eval_reads]; intros H; try done.
  - apply same_on_app in H as [H1 [H2 H3]%same_on_app]. rewrite IHe1, IHe2 by done.
    destruct (eval e1 r m); [|done]. destruct (eval e2 r m); [|done]. apply H3. by apply elem_of_list_singleton.
  - by rewrite IHe.
  - by rewrite IHe.
  - apply same_on_app in H as [H1 H2]. by rewrite IHe1, IHe2.
  - by rewrite IHe.
Qed.
Lemma evals_footprint es r m m' : same_on (evals_reads es r m) m m' -> evals es r m' = evals es r m.
Proof.
  induction es as [|e es IH]; [done|]. cbn [evals]. intros H. change (evals_reads (e :: es) r m) with
    (eval_reads e r m ++ evals_reads es r m) in H.
  apply same_on_app in H as [H1 H2]. by rewrite (eval_footprint e r m m'), IH.
Qed.
Lemma test_footprint c r m m' : same_on (test_reads c r m) m m' -> test c r m' = test c r m.
Proof.
  induction c; cbn [test test_reads]; intros H.
  - apply same_on_app in H as [H1 H2]. by rewrite (eval_footprint a r m m'), (eval_footprint b r m m').
  - by rewrite (eval_footprint e r m m').
  - by rewrite IHc.
  - apply same_on_app in H as [H1 H2]. rewrite IHc1 by done. destruct (test c1 r m) as [[]|]; [by apply IHc2|done..].
  - apply same_on_app in H as [H1 H2]. rewrite IHc1 by done. destruct (test c1 r m) as [[]|]; [done|by apply IHc2|done].
Qed.

(** After a step that started in [m] and ended in [n], one that starts in [m'] ends in [n']: the same values are written to
    the cells [ws], and nothing else is changed. *)
Definition same_writes (ws : list cell) (n m' n' : mem) : Prop :=
  forall x, (x ∈ ws -> n' !! x = n !! x) /\ (x ∉ ws -> n' !! x = m' !! x).

Lemma same_writes_none n m' : same_writes [] n m' m'.
Proof. intros x. split; [by intros ?%elem_of_nil|done]. Qed.
Lemma same_writes_insert x v m m' : same_writes [x] (<[x := v]> m) m' (<[x := v]> m').
Proof.
  intros y. rewrite elem_of_list_singleton. split.
  - intros ->. etrans; [apply lookup_insert|symmetry; apply lookup_insert].
  - intros Hne. apply lookup_insert_ne. congruence.
Qed.

Lemma frame_cells_lookup frame x : (fun w => frame_word frame (Z.of_nat w)) <$> seq 0 512 = x ->
  forall y v, (y ∈ x -> is_Some (frame_cells frame v !! y)) /\ (y ∉ x -> frame_cells frame v !! y = None).
Proof.
  intros <- y v. Transparent frame_cells. unfold frame_cells. Opaque frame_cells. generalize (seq 0 512) as ws. intros ws.
  assert (Hk : ((fun w => (frame_word frame (Z.of_nat w), v (Z.of_nat w))) <$> ws).*1 =
    (fun w => frame_word frame (Z.of_nat w)) <$> ws) by (by rewrite <- list_fmap_compose).
  rewrite <- Hk. split.
  - intros Hy. apply not_eq_None_Some. intros Hn. by apply not_elem_of_list_to_map_2 in Hn.
  - apply not_elem_of_list_to_map_1.
Qed.

Section next.
  Context (kernel_entry : Z -> Z) (M : module).
  Notation B := (arch_builtins kernel_entry).

  Lemma builtin_footprint cpu f args m m' :
    same_on (builtin_reads f args) m m' -> present_on (builtin_writes f args) m m' ->
    match B cpu f args m with
    | Some (Some (v, n)) => exists n', B cpu f args m' = Some (Some (v, n')) /\ same_writes (builtin_writes f args) n m' n'
    | Some None => B cpu f args m' = Some None
    | None => B cpu f args m' = None
    end.
  Proof.
    intros HR HW. destruct (String.eqb_spec f "arch_frame_read") as [->|N1].
    { rewrite !frame_read_def. destruct args as [|a [|w [|??]]]; try done.
      rewrite (HR (frame_word a w)) by (by apply elem_of_list_singleton).
      destruct (m !! _) as [v|]; [|done]. exists m'. split; [done|]. apply same_writes_none. }
    destruct (String.eqb_spec f "arch_frame_write") as [->|N2].
    { rewrite !frame_write_def. destruct args as [|a [|w [|v [|??]]]]; try done.
      pose proof (HW (frame_word a w) ltac:(by apply elem_of_list_singleton)) as Hi.
      destruct (m !! _) as [u|]; destruct (m' !! _) as [u'|].
      - eexists. split; [done|]. apply same_writes_insert.
      - destruct (proj2 Hi) as [? H]; [by exists u|done].
      - destruct (proj1 Hi) as [? H]; [by exists u'|done].
      - done. }
    destruct (String.eqb_spec f "arch_frame_clear") as [->|N3].
    { rewrite !frame_clear_def. destruct args as [|a [|??]]; try done.
      assert (Hi : owns_frame a m' <-> owns_frame a m).
      { unfold owns_frame. rewrite !Forall_forall.
        assert (Hw : forall w, w ∈ seq 0 512 -> frame_word a (Z.of_nat w) ∈ builtin_writes "arch_frame_clear" [a]).
        { intros w Hw. apply elem_of_list_fmap. by exists w. }
        split; intros H w Hin; apply (HW _ (Hw w Hin)); by apply H. }
      destruct (decide (owns_frame a m)) as [Ho|Ho].
      - rewrite decide_True by (by apply Hi). eexists. split; [done|]. intros x.
        destruct (frame_cells_lookup a _ eq_refl x (fun _ => 0%Z)) as [H1 H2]. split; intros Hx.
        + destruct (H1 Hx) as [v Hv]. etrans; [by apply lookup_union_Some_l|]. symmetry. by apply lookup_union_Some_l.
        + apply lookup_union_r. by apply H2.
      - rewrite decide_False by (by rewrite Hi). done. }
    unfold builtin_writes, arch_builtins. apply String.eqb_neq in N1, N2, N3. rewrite N1, N2, N3.
    repeat match goal with |- context [if String.eqb f ?n then _ else _] => destruct (String.eqb f n) end;
      [destruct args as [|? [|??]]; try done..|done]; try case_bool_decide; try done;
      (eexists; split; [done|apply same_writes_none]).
  Qed.

  Theorem next_footprint cpu s m' :
    same_on (reads M s) (cm s) m' -> present_on (writes M s) (cm s) m' ->
    match next B M cpu s with
    | EReturn v _ => next B M cpu (cput s m') = EReturn v m'
    | EStuck => next B M cpu (cput s m') = EStuck
    | EPrim p => next B M cpu (cput s m') = EPrim p
    | ETau s' => exists n', next B M cpu (cput s m') = ETau (cput s' n') /\ same_writes (writes M s) (cm s') m' n'
    end.
  Proof.
    assert (Hreturn : forall k v m, match return_to k v m with
      | EReturn v' _ => return_to k v m' = EReturn v' m'
      | EStuck => return_to k v m' = EStuck
      | EPrim p => return_to k v m' = EPrim p
      | ETau s' => exists n', return_to k v m' = ETau (cput s' n') /\ same_writes [] (cm s') m' n'
      end).
    { intros k v m. destruct k as [|[| | |] [|??]]; simpl; try done;
        (exists m'; split; [done|apply same_writes_none]). }
    destruct s as [k r m]. unfold cput, reads, writes. destruct k as [|[st|c b|y r0|] k]; cbn [next ck cl cm]; intros HR HW.
    - done.
    - destruct st; cbn [ck cl cm] in *.
      + exists m'. split; [done|apply same_writes_none].
      + rewrite (eval_footprint e r m m') by done. destruct (eval e r m); [|done].
        exists m'. split; [done|apply same_writes_none].
      + apply same_on_app in HR as [H1 [H2 H3]%same_on_app].
        rewrite (eval_footprint index r m m'), (eval_footprint element r m m'), (eval_footprint e r m m') by done.
        destruct (eval index r m) as [iv|]; [|done]. destruct (eval element r m) as [jv|]; [|done].
        destruct (eval e r m) as [v|]; [|done].
        pose proof (HW (object, iv, field, jv) ltac:(by apply elem_of_list_singleton)) as Hi.
        destruct (m !! _) as [u|]; destruct (m' !! _) as [u'|].
        * eexists. split; [done|]. apply same_writes_insert.
        * destruct (proj2 Hi) as [? H]; [by exists u|done].
        * destruct (proj1 Hi) as [? H]; [by exists u'|done].
        * done.
      + exists m'. split; [done|apply same_writes_none].
      + rewrite (test_footprint c r m m') by done. destruct (test c r m) as [t|]; [|done].
        exists m'. split; [done|apply same_writes_none].
      + rewrite (test_footprint c r m m') by done. destruct (test c r m) as [[]|]; [..|done];
          (exists m'; split; [done|apply same_writes_none]).
      + destruct (pop_loop k); [|done]. exists m'. split; [done|apply same_writes_none].
      + rewrite (eval_footprint e r m m') by done. destruct (eval e r m); [|done]. apply Hreturn.
      + apply same_on_app in HR as [H1 H2]. rewrite (evals_footprint arguments r m m') by done.
        destruct (evals arguments r m) as [args|]; [|done]. destruct (M function) as [fd|].
        { destruct (Nat.eqb _ _); [|done]. exists m'. split; [done|apply same_writes_none]. }
        pose proof (builtin_footprint cpu function args m m' H2 HW) as Hb.
        destruct (B cpu function args m) as [[[v n]|]|]; [|by rewrite Hb..].
        destruct Hb as (n' & -> & Hn). by exists n'.
    - exists m'. split; [done|apply same_writes_none].
    - apply (Hreturn (KRet y r0 :: k) 0%Z m).
    - apply (Hreturn (KEnd :: k) 0%Z m).
  Qed.
End next.
