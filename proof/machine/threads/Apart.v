(** Cells are in one place: with a thread, with a free lock, or with a CPU that is being handed over.

    So the threads of a CPU are apart, as [OneMemoryRefines.v] asks, in every machine of threads over a layer that transfers
    the ownership of cells. *)
From Ashlar Require Export machine.threads.OneMemoryRefines machine.Ownership.

Inductive place := AtThread (t : nat) | AtLock (k : Z) | AtSwitch (c : nat).
Global Instance place_eq_dec : EqDecision place.
Proof. solve_decision. Defined.

Lemma disjoint_at (m1 m2 : mem) x u v : m1 ##ₘ m2 -> m1 !! x = Some u -> m2 !! x = Some v -> False.
Proof. intros Hd. by apply (proj1 (map_disjoint_spec m1 m2) Hd). Qed.

(** Cells move between two places. *)
Lemma disjoint_move (p p' : place -> mem) a b : a <> b -> (forall i j, i <> j -> p i ##ₘ p j) ->
  (forall i, i <> a -> i <> b -> p' i ⊆ p i) -> p' a ##ₘ p' b ->
  (forall x, is_Some (p' a !! x) \/ is_Some (p' b !! x) -> is_Some (p a !! x) \/ is_Some (p b !! x)) ->
  forall i j, i <> j -> p' i ##ₘ p' j.
Proof.
  intros Hab Hp Hsame Hd Hdom.
  assert (H : forall i, i <> a -> i <> b -> p' i ##ₘ p' a /\ p' i ##ₘ p' b).
  { intros i Ha Hb. split; apply map_disjoint_spec; intros x u v Hu Hv; apply (lookup_weaken _ (p i)) in Hu; [|by apply Hsame| |by apply Hsame].
    - destruct (Hdom x) as [[w Hw]|[w Hw]]; [left; by eexists|..];
        [by eapply (disjoint_at _ _ x u w (Hp i a Ha))|by eapply (disjoint_at _ _ x u w (Hp i b Hb))].
    - destruct (Hdom x) as [[w Hw]|[w Hw]]; [right; by eexists|..];
        [by eapply (disjoint_at _ _ x u w (Hp i a Ha))|by eapply (disjoint_at _ _ x u w (Hp i b Hb))]. }
  intros i j Hij. destruct (decide (i = a)) as [->|Hia].
  - destruct (decide (j = b)) as [->|Hjb]; [done|]. symmetry. by apply H.
  - destruct (decide (i = b)) as [->|Hib].
    + destruct (decide (j = a)) as [->|Hja]; [by symmetry|]. symmetry. by apply H.
    + destruct (decide (j = a)) as [->|Hja]; [by apply H|]. destruct (decide (j = b)) as [->|Hjb]; [by apply H|].
      apply (map_disjoint_weaken (p' i) (p i) (p' j) (p j)); [by apply Hp|by apply Hsame..].
Qed.

Section apart.
  Context {PRIM D : Type} {HW : hardware PRIM} (O : ownership HW) (OK : ownership_ok O).
  Context `{free_decided : forall k l, Decision (ofree O k l)}.
  Notation L := (olayer O).
  Context (T : thread_code PRIM mem) (X : baton_data D mem) (cells : D -> mem) (parked : cell -> Prop).
  Context (nthread : nat) (home : nat -> nat) (first : nat -> nat) (quiet : nat -> log L -> bool).
  Context (P : nat -> tstate T).
  Context (FR : framed L T X cells parked).
  (** A thread that leaves keeps only what it may own while it is suspended. *)
  Context (split_parked : forall c to m d m', bd_split X c to m = Some (d, m') -> all_parked parked m').
  Notation L1 := (thread_layer L X nthread home first quiet).
  Notation A1 := (thread_agent T).
  Notation state1 l f := (@State _ _ L1 A1 l f).

  Definition piece (g : state L1 A1) (i : place) : mem :=
    match i with
    | AtThread t => if decide (t < nthread)%nat then tmem T (gagent g t) else ∅
    | AtLock k => let l := base L (cpu_view L home (glog g)) in if decide (ofree O k l) then opublished O k l else ∅
    | AtSwitch c => match transit L home c (glog g) with Some d => cells d | None => ∅ end
    end.
  Definition in_one_place (g : state L1 A1) : Prop := forall i j, i <> j -> piece g i ##ₘ piece g j.

  Context (start_apart : in_one_place (state1 [] P)).
  Context (start_parked : forall t, (t < nthread)%nat -> tphase T (P t) = Suspended -> all_parked parked (tmem T (P t))).

  (** Thread [t] and place [b] exchange cells; locks may be taken. *)
  Lemma exchange_move l f l' t y b : (t < nthread)%nat -> b <> AtThread t ->
    let g := state1 l f in let g' := state1 l' (update A1 f t y) in
    (forall k, AtLock k <> b -> piece g' (AtLock k) ⊆ piece g (AtLock k)) ->
    (forall c, AtSwitch c <> b -> piece g' (AtSwitch c) = piece g (AtSwitch c)) ->
    (forall u, AtThread u <> b) ->
    tmem T y ##ₘ piece g' b ->
    (forall x, is_Some (tmem T y !! x) \/ is_Some (piece g' b !! x) -> is_Some (tmem T (f t) !! x) \/ is_Some (piece g b !! x)) ->
    in_one_place g -> in_one_place g'.
  Proof using.
    intros Htn Hb g g' HL HS Hno Hd Hdom HP.
    assert (Et : piece g' (AtThread t) = tmem T y) by (unfold g'; simpl; by rewrite update_same, decide_True).
    assert (Et0 : piece g (AtThread t) = tmem T (f t)) by (unfold g; simpl; by rewrite decide_True).
    refine (disjoint_move (piece g) (piece g') (AtThread t) b _ HP _ _ _); [done| | |].
    - intros i Hi Hi'. destruct i as [u|k|c]; [|by apply HL|by rewrite HS].
      unfold g, g'. simpl. by rewrite update_other by congruence.
    - by rewrite Et.
    - by rewrite Et, Et0.
  Qed.

  (** A step that hands nothing over: to a place that stays empty or the same. *)
  Lemma quiet_move l f l' t y : (t < nthread)%nat ->
    (forall k, piece (state1 l' (update A1 f t y)) (AtLock k) ⊆ piece (state1 l f) (AtLock k)) ->
    (forall c, piece (state1 l' (update A1 f t y)) (AtSwitch c) = piece (state1 l f) (AtSwitch c)) ->
    (forall x, tmem T y !! x = None <-> tmem T (f t) !! x = None) ->
    in_one_place (state1 l f) -> in_one_place (state1 l' (update A1 f t y)).
  Proof using.
    intros Htn HL HS Hdom HP.
    assert (Hd : forall x, is_Some (tmem T y !! x) -> is_Some (tmem T (f t) !! x)).
    { intros x. rewrite <- !not_eq_None_Some. intros H E. apply H. by apply Hdom. }
    apply (exchange_move l f l' t y (AtSwitch 0) Htn); try done.
    - rewrite HS. apply map_disjoint_spec. intros x u v Hu Hv. destruct (Hd x) as [w Hw]; [by eexists|].
      eapply (disjoint_at _ _ x w v (HP (AtThread t) (AtSwitch 0) ltac:(done))); [|exact Hv]. simpl. by rewrite decide_True.
    - intros x. rewrite HS. intros [H|H]; [left; auto|by right].
  Qed.

  Lemma union_some (m1 m2 : mem) x : is_Some ((m1 ∪ m2) !! x) -> is_Some (m1 !! x) \/ is_Some (m2 !! x).
  Proof using. intros [v Hv]. apply lookup_union_Some_raw in Hv as [|[_ ?]]; eauto. Qed.

  Lemma resumed_mem x v m : tmem T (thread_resume T x v m) = m.
  Proof using. unfold thread_resume. by destruct (tphase T x). Qed.

  Theorem cells_in_one_place g : reach nthread L1 A1 P g -> in_one_place g.
  Proof using OK FR start_apart.
    induction 1 as [|g g' Hr IH [t Hst]]; [done|].
    destruct Hst as [l f y Htn Hn|l f p v m o Htn Hn Hs Hp]; simpl in *.
    - apply (quiet_move l f l t y Htn); [done|done| |exact IH]. unfold thread_next in Hn. destruct (tphase T (f t)); try done.
      pose proof (framed_code _ _ _ _ _ FR t (tcode T (f t)) (tmem T (f t)) ∅ ltac:(apply map_disjoint_empty_r)) as Hf.
      destruct (tnext T t (tcode T (f t)) (tmem T (f t))) eqn:En; try done; injection Hn as <-; simpl; [|done].
      unfold mem in *. rewrite En in Hf. exact (proj2 Hf).
    - unfold thread_step_of in Hp. destruct (decide _) as [Ho|]; [|done].
      destruct (transit L home (home t) l) as [d|] eqn:Ed; destruct p as [p|from to|t' w|]; try done.
      + (* coming back *)
        injection Hp as <- <- <-.
        assert (Ey : tmem T (thread_resume T (f t) (started L t (cpu_view L home l)) (bd_join X (home t) d (tmem T (f t)))) =
          cells d ∪ tmem T (f t)) by (rewrite resumed_mem; apply (framed_join _ _ _ _ _ FR)).
        apply (exchange_move l f _ t _ (AtSwitch (home t)) Htn); try done; rewrite ?Ey.
        * intros c Hc. simpl. rewrite decide_False by congruence. done.
        * simpl. rewrite decide_True by done. apply map_disjoint_empty_r.
        * intros x. simpl. rewrite decide_True by done. rewrite Ed. intros [H|H]; [apply union_some in H; tauto|].
          by destruct H.
      + (* a primitive of the layer below *)
        destruct (lstep L (home t) p (tmem T (f t)) (base L (cpu_view L home l))) as [| |v1 m1 o1] eqn:El; try done.
        injection Hp as -> -> <-. destruct (ok_step _ OK _ _ _ _ _ _ _ El) as [_ Hx].
        destruct Hx as [Hm Hk|k Hfree Hm Hk|k d Hm Hd Hk].
        * apply (quiet_move l f _ t _ Htn); [| |by rewrite resumed_mem, Hm|exact IH].
          -- intros k. simpl. destruct (decide _) as [Hf|]; [|apply map_empty_subseteq].
             destruct (Hk k Hf) as [Hf' ->]. by rewrite decide_True.
          -- intros c. simpl. by case_decide.
        * apply (exchange_move l f _ t _ (AtLock k) Htn); try done; rewrite ?resumed_mem, ?Hm.
          -- intros k' Hne. simpl. destruct (decide _) as [Hf|]; [|apply map_empty_subseteq].
             destruct (Hk k' Hf) as (_ & Hf' & ->). by rewrite decide_True.
          -- intros c _. simpl. by case_decide.
          -- simpl. rewrite decide_False; [apply map_disjoint_empty_r|]. intros Hf. by destruct (Hk k Hf).
          -- intros x. simpl. rewrite (decide_True _ _ Hfree). rewrite decide_False; [|intros Hf; by destruct (Hk k Hf)].
             intros [H|H]; [apply union_some in H; tauto|by destruct H].
        * assert (Hfk : forall P' : Prop, (ofree O k (Event (home t) o1 :: base L (cpu_view L home l)) ->
            opublished O k (Event (home t) o1 :: base L (cpu_view L home l)) = d)).
          { intros _ Hf. by destruct (Hk k Hf) as [[_ ?]|[? _]]. }
          apply (exchange_move l f _ t _ (AtLock k) Htn); try done; rewrite ?resumed_mem.
          -- intros k' Hne. simpl. destruct (decide _) as [Hf|]; [|apply map_empty_subseteq].
             destruct (Hk k' Hf) as [[-> _]|(_ & Hf' & ->)]; [done|]. by rewrite decide_True.
          -- intros c _. simpl. by case_decide.
          -- simpl. destruct (decide _) as [Hf|]; [|apply map_disjoint_empty_r]. by rewrite (Hfk True Hf).
          -- intros x. simpl. rewrite Hm. intros [[u Hu]|[u Hu]]; left.
             ++ exists u. by apply lookup_union_Some_r.
             ++ destruct (decide _) as [Hf|]; [|done]. rewrite (Hfk True Hf) in Hu. exists u. by apply lookup_union_Some_l.
      + (* a switch *)
        destruct (decide _) as [Hq|]; [|done]. destruct (bd_split X (home t) to (tmem T (f t))) as [[d m1]|] eqn:Es; [|done].
        injection Hp as <- <- <-. destruct (framed_split _ _ _ _ _ FR _ _ _ _ _ Es) as [Em Hd].
        apply (exchange_move l f _ t _ (AtSwitch (home t)) Htn); try done; rewrite ?resumed_mem.
        * intros c Hc. simpl. rewrite decide_False by congruence. done.
        * simpl. by rewrite decide_True.
        * intros x. simpl. rewrite decide_True by done. rewrite Em. intros [[u Hu]|[u Hu]]; left; exists u.
          -- by apply lookup_union_Some_r.
          -- by apply lookup_union_Some_l.
      + (* a new continuation *)
        destruct (decide _) as [Hq|]; [|done]. injection Hp as <- <- <-.
        apply (quiet_move l f _ t _ Htn); [done| |by rewrite resumed_mem|exact IH]. intros c. simpl. by case_decide.
  Qed.

  Lemma suspended_parked g : reach nthread L1 A1 P g ->
    forall t, (t < nthread)%nat -> tphase T (gagent g t) = Suspended -> all_parked parked (tmem T (gagent g t)).
  Proof using split_parked start_parked.
    induction 1 as [|g g' Hr IH [t Hst]]; [done|]. intros u Hu.
    destruct Hst as [l f y Htn Hn|l f p v m o Htn Hn Hs Hp]; simpl in *;
      (destruct (decide (u = t)) as [->|Hne]; [rewrite update_same|rewrite update_other by done; by apply IH]).
    - unfold thread_next in Hn. destruct (tphase T (f t)); try done. destruct (tnext T t _ _); try done; by injection Hn as <-.
    - unfold thread_resume, thread_next in *. destruct (tphase T (f t)) as [|from to|]; try done. injection Hn as <-. simpl. intros _.
      unfold thread_step_of in Hp. destruct (decide _) as [|]; [|done]. destruct (transit _ _ _ _); [done|].
      destruct (decide _) as [|]; [|done]. destruct (bd_split X (home t) to (tmem T (f t))) as [[d m1]|] eqn:Es; [|done].
      injection Hp as _ <- _. by eapply split_parked.
  Qed.

  Theorem owned_threads_apart g : reach nthread L1 A1 P g -> threads_apart L T X cells parked nthread home first quiet g.
  Proof using OK FR start_apart split_parked start_parked.
    intros Hr. pose proof (cells_in_one_place g Hr) as HP. split_and!.
    - by apply suspended_parked.
    - intros t t' Ht Ht' _ Hne. specialize (HP (AtThread t) (AtThread t') ltac:(congruence)). simpl in HP.
      by rewrite !decide_True in HP.
    - intros t d Ht Hd. specialize (HP (AtSwitch (home t)) (AtThread t) ltac:(done)). simpl in HP.
      unfold mem in *. rewrite Hd, decide_True in HP by done. exact HP.
  Qed.
End apart.
