(** The contents of an MCS lock's atomic cells, by its queue: the tail cell names the last CPU; a busy cell is 1 exactly
    while its CPU waits; the successor cell of a queued CPU names the successor that has registered itself. *)
From Ashlar Require Export layers.spinlock.mcs.McsQueue layers.spinlock.mcs.McsCells.

(** ** Registered successors, step by step *)

Lemma linked_outside t c : c ∉ line t -> linked t c = None.
Proof. intros H. unfold linked. by rewrite next_in_absent. Qed.
Lemma linked_move c p t b : places t !! c <> Some Waits -> p <> Waits -> linked (move c p t) b = linked t b.
Proof.
  intros H1 H2. unfold linked, move. cbn [line places]. destruct (next_in b (line t)) as [d|]; [|done].
  destruct (decide (c = d)) as [->|Hne].
  - rewrite lookup_insert, !decide_False; congruence.
  - by rewrite lookup_insert_ne.
Qed.
Lemma linked_link c b t b' : mcs_ok t -> next_in b (line t) = Some c ->
  linked (move c Waits t) b' = if decide (b' = b) then Some c else linked t b'.
Proof.
  intros Hok Hb. unfold linked, move. cbn [line places]. destruct (decide (b' = b)) as [->|Hne].
  - by rewrite Hb, lookup_insert, decide_True.
  - destruct (next_in b' (line t)) as [d|] eqn:E; [|done]. rewrite lookup_insert_ne; [done|].
    intros ->. apply Hne. eapply next_in_inj; [apply Hok|exact E|exact Hb].
Qed.
Lemma linked_join c t b : mcs_ok t -> c ∉ line t -> linked (join c t) b = linked t b.
Proof.
  intros Hok Hc. unfold linked, join. cbn [line places]. destruct (decide (last (line t) = Some b)) as [E|E].
  - destruct (next_in_last b (line t)) as [H1 H2]; [apply Hok|done|]. rewrite H1, H2, E, lookup_insert.
    by rewrite decide_False.
  - rewrite next_in_app_none by done. destruct (next_in b (line t)) as [d|] eqn:En; [|done].
    rewrite lookup_insert_ne; [done|]. intros ->. by apply next_in_elem in En as [_ ?].
Qed.
Lemma linked_pass c d t b : mcs_ok t -> places t !! c = Some (Passes d) -> b <> c -> linked (pass c d t) b = linked t b.
Proof.
  intros Hok HP Hbc. destruct (ok_place _ Hok _ _ HP) as (Hh & Hn & Hw).
  destruct (next_in_first _ _ _ Hn Hh) as [q El]. unfold linked, pass. cbn [line places].
  assert (En : next_in b (line t) = next_in b (tail (line t))) by (rewrite El; by apply next_in_skip).
  rewrite <- En. destruct (next_in b (line t)) as [x|] eqn:E; [|done].
  assert (Hxd : d <> x) by (intros ->; apply Hbc; eapply next_in_inj; [apply Hok|exact E|exact Hn]).
  assert (Hxc : c <> x).
  { intros ->. pose proof (next_in_not_head _ _ _ (ok_nodup _ Hok) E). congruence. }
  by rewrite lookup_insert_ne, lookup_delete_ne.
Qed.

Section value.
  Context (hold_bound : Z -> nat).
  Notation replay := (replay hold_bound).

  Definition busy_value (p : option place) : Z := match p with Some (Marks _) | Some Waits => 1 | _ => 0 end.

  Record replay_facts (k : Z) (l : atomic_log) (t : mcs) : Prop := {
    rf_ok : mcs_ok t;
    rf_tail : atomic_value (tail_cell k) l = name (last (line t));
    rf_busy c : Z.of_nat c < NUM_CPU -> atomic_value (busy_cell k c) l = busy_value (places t !! c);
    rf_successor c p : places t !! c = Some p -> atomic_value (successor_cell k c) l = name (linked t c);
    rf_owner c : owner k l = Some c <-> exists n, places t !! c = Some (Holds n);
    rf_left c n : places t !! c = Some (Holds n) -> (n <= hold_bound k)%nat;
  }.

  (** A move that touches no cell. *)
  Lemma facts_move k l l' c p q t : 0 <= k < NUM_LOCK -> replay_facts k l t -> places t !! c = Some q -> mcs_ok (move c p t) ->
    (forall a, cell_lock a = k -> atomic_value a l' = atomic_value a l) ->
    q <> Waits -> p <> Waits -> busy_value (Some p) = busy_value (Some q) ->
    (forall x, owner k l' = Some x <-> exists n, places (move c p t) !! x = Some (Holds n)) ->
    (forall n, p = Holds n -> (n <= hold_bound k)%nat) -> replay_facts k l' (move c p t).
  Proof.
    intros Hk [Hok Ht Hb Hs Ho Hl] Hq Hok' Hv Hqw Hpw Hbv Hown Hleft. split; try done.
    - rewrite Hv by (by apply cell_lock_tail). done.
    - intros x Hx. rewrite Hv by (by apply cell_lock_busy). cbn. rewrite Hb by done.
      destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_insert, Hq|by rewrite lookup_insert_ne].
    - intros x px Hx. rewrite linked_move by congruence. cbn in Hx.
      assert (Hpl : exists p', places t !! x = Some p').
      { destruct (decide (c = x)) as [<-|Hne]; [eauto|]. rewrite lookup_insert_ne in Hx by done. eauto. }
      destruct Hpl as [p' Hp']. rewrite Hv; [by eapply Hs|]. apply cell_lock_successor; [done|]. by eapply (ok_cpu _ Hok).
    - cbn. intros x n Hx. destruct (decide (c = x)) as [<-|Hne].
      + rewrite lookup_insert in Hx. injection Hx as ->. by apply Hleft.
      + rewrite lookup_insert_ne in Hx by done. eauto.
  Qed.

  Lemma owner_move k l c p q t : replay_facts k l t -> places t !! c = q ->
    ((exists n, q = Some (Holds n)) <-> exists n, p = Holds n) ->
    forall x, owner k l = Some x <-> exists n, places (move c p t) !! x = Some (Holds n).
  Proof.
    intros Hf Hq Hpq x. rewrite (rf_owner _ _ _ Hf). cbn. destruct (decide (c = x)) as [<-|Hne].
    - rewrite lookup_insert, Hq. rewrite Hpq. split; intros [n Hn]; exists n; congruence.
    - by rewrite lookup_insert_ne.
  Qed.

  Lemma facts_same k l l' t : 0 <= k < NUM_LOCK -> replay_facts k l t ->
    (forall a, cell_lock a = k -> atomic_value a l' = atomic_value a l) -> owner k l' = owner k l -> replay_facts k l' t.
  Proof.
    intros Hk [Hok Ht Hb Hs Ho Hl] Hv Hown. split; try done.
    - rewrite Hv; [done|by apply cell_lock_tail].
    - intros c Hc. rewrite Hv; [auto|by apply cell_lock_busy].
    - intros c p Hc. rewrite Hv; [eauto|]. apply cell_lock_successor; [done|]. by eapply (ok_cpu _ Hok).
    - intros c. by rewrite Hown.
  Qed.

  (** Stores, one lemma each. *)
  Lemma facts_prepare k l c t : 0 <= k < NUM_LOCK -> Z.of_nat c < NUM_CPU -> replay_facts k l t ->
    places t !! c = None -> mcs_ok (move c Ready t) ->
    replay_facts k (Event c (EStore (successor_cell k c) 0) :: l) (move c Ready t).
  Proof.
    intros Hk Hc Hf Hn Hok'. pose proof Hf as [Hok Ht Hb Hs Ho Hl]. split; try done; cbn [atomic_value what].
    - by rewrite tail_not_successor by lia.
    - intros x Hx. rewrite busy_not_successor, Hb by done. cbn.
      destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_insert, Hn|by rewrite lookup_insert_ne].
    - intros x px Hx. rewrite successor_same, linked_move by (congruence || done). cbn in Hx.
      destruct (decide (c = x)) as [<-|Hne].
      + rewrite bool_decide_eq_true_2 by done. by rewrite linked_outside by (by apply ok_outside).
      + rewrite bool_decide_eq_false_2 by done. rewrite lookup_insert_ne in Hx by done. eauto.
    - cbn [owner what]. eapply owner_move; [done|exact Hn|]. split; intros [? ?]; congruence.
    - cbn. intros x n Hx. destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_insert in Hx|].
      rewrite lookup_insert_ne in Hx by done. eauto.
  Qed.

  Lemma facts_join k l c t : 0 <= k < NUM_LOCK -> replay_facts k l t ->
    places t !! c = Some Ready -> mcs_ok (join c t) ->
    replay_facts k (Event c (ESwap (tail_cell k) (name (Some c))) :: l) (join c t).
  Proof.
    intros Hk Hf Hn Hok'. pose proof Hf as [Hok Ht Hb Hs Ho Hl].
    pose proof (ok_place _ Hok _ _ Hn) as Hc. cbn in Hc. split; try done; cbn [atomic_value what].
    - rewrite Z.eqb_refl. cbn. by rewrite last_snoc.
    - intros x Hx. rewrite (Z.eqb_sym (tail_cell k)), tail_not_busy, Hb by lia. cbn.
      destruct (decide (c = x)) as [<-|Hne]; [rewrite lookup_insert, Hn; by destruct (last (line t))|by rewrite lookup_insert_ne].
    - intros x px Hx. rewrite (Z.eqb_sym (tail_cell k)), tail_not_successor, linked_join by (done || lia). cbn in Hx.
      destruct (decide (c = x)) as [<-|Hne]; [eauto|]. rewrite lookup_insert_ne in Hx by done. eauto.
    - intros x. cbn [owner what]. rewrite Ho. cbn. destruct (decide (c = x)) as [<-|Hne]; [|by rewrite lookup_insert_ne].
      rewrite lookup_insert, Hn. split; intros [n H]; destruct (last (line t)); done.
    - cbn. intros x n Hx. destruct (decide (c = x)) as [<-|Hne]; [|rewrite lookup_insert_ne in Hx by done; eauto].
      rewrite lookup_insert in Hx. by destruct (last (line t)).
  Qed.

  Lemma facts_mark k l c b t : 0 <= k < NUM_LOCK -> replay_facts k l t ->
    places t !! c = Some (Joins b) -> mcs_ok (move c (Marks b) t) ->
    replay_facts k (Event c (EStore (busy_cell k c) 1) :: l) (move c (Marks b) t).
  Proof.
    intros Hk Hf Hn Hok'. pose proof Hf as [Hok Ht Hb Hs Ho Hl]. split; try done; cbn [atomic_value what].
    - by rewrite tail_not_busy by lia.
    - intros x Hx. rewrite busy_same, Hb by done. cbn. destruct (decide (c = x)) as [<-|Hne].
      + by rewrite bool_decide_eq_true_2, lookup_insert.
      + by rewrite bool_decide_eq_false_2, lookup_insert_ne.
    - intros x px Hx. rewrite Z.eqb_sym, busy_not_successor, linked_move by congruence. cbn in Hx.
      destruct (decide (c = x)) as [<-|Hne]; [eauto|]. rewrite lookup_insert_ne in Hx by done. eauto.
    - cbn [owner what]. eapply owner_move; [done|exact Hn|]. split; intros [? ?]; congruence.
    - cbn. intros x n Hx. destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_insert in Hx|].
      rewrite lookup_insert_ne in Hx by done. eauto.
  Qed.

  Lemma facts_link k l c b t : 0 <= k < NUM_LOCK -> replay_facts k l t ->
    places t !! c = Some (Marks b) -> mcs_ok (move c Waits t) ->
    replay_facts k (Event c (EStore (successor_cell k b) (name (Some c))) :: l) (move c Waits t).
  Proof.
    intros Hk Hf Hn Hok'. pose proof Hf as [Hok Ht Hb Hs Ho Hl].
    pose proof (ok_place _ Hok _ _ Hn) as Hc. cbn in Hc. split; try done; cbn [atomic_value what].
    - by rewrite tail_not_successor by lia.
    - intros x Hx. rewrite busy_not_successor, Hb by done. cbn.
      destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_insert, Hn|by rewrite lookup_insert_ne].
    - intros x px Hx. rewrite successor_same, (linked_link c b) by done. destruct (decide (x = b)) as [->|Hne].
      + by rewrite bool_decide_eq_true_2.
      + rewrite bool_decide_eq_false_2 by congruence. cbn in Hx.
        destruct (decide (c = x)) as [<-|?]; [eauto|]. rewrite lookup_insert_ne in Hx by done. eauto.
    - cbn [owner what]. eapply owner_move; [done|exact Hn|]. split; intros [? ?]; congruence.
    - cbn. intros x n Hx. destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_insert in Hx|].
      rewrite lookup_insert_ne in Hx by done. eauto.
  Qed.

  Lemma facts_empty k l c t : 0 <= k < NUM_LOCK -> replay_facts k l t ->
    places t !! c = Some Tries -> line t = [c] -> mcs_ok (empty c t) ->
    replay_facts k (Event c (ECas (tail_cell k) (name (Some c)) 0) :: l) (empty c t).
  Proof.
    intros Hk Hf Hn El Hok'. pose proof Hf as [Hok Ht Hb Hs Ho Hl]. split; try done; cbn [atomic_value what].
    - rewrite Ht, El. cbn [last]. by rewrite !Z.eqb_refl.
    - intros x Hx. rewrite (Z.eqb_sym (tail_cell k)), tail_not_busy by lia. cbn [andb]. rewrite Hb by done. cbn.
      destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_delete, Hn|by rewrite lookup_delete_ne].
    - intros x px Hx. rewrite (Z.eqb_sym (tail_cell k)), tail_not_successor by lia. cbn [andb]. cbn in Hx.
      apply lookup_delete_Some in Hx as [Hne Hx]. rewrite (Hs _ _ Hx), !linked_outside; [done| |].
      + by intros ?%elem_of_nil.
      + rewrite El. by intros ?%elem_of_list_singleton.
    - intros x. cbn [owner what]. rewrite Ho. cbn. destruct (decide (c = x)) as [<-|Hne]; [|by rewrite lookup_delete_ne].
      rewrite lookup_delete, Hn. by split; intros [n H].
    - cbn. intros x n [_ Hx]%lookup_delete_Some. eauto.
  Qed.

  Lemma facts_pass k l c d t : 0 <= k < NUM_LOCK -> replay_facts k l t ->
    places t !! c = Some (Passes d) -> mcs_ok (pass c d t) ->
    replay_facts k (Event c (EStore (busy_cell k d) 0) :: l) (pass c d t).
  Proof.
    intros Hk Hf Hn Hok'. pose proof Hf as [Hok Ht Hb Hs Ho Hl].
    destruct (ok_place _ Hok _ _ Hn) as (Hh & Hnx & Hw). destruct (next_in_first _ _ _ Hnx Hh) as [q El].
    split; try done; cbn [atomic_value what].
    - rewrite tail_not_busy by lia. rewrite Ht. cbn. by rewrite El.
    - intros x Hx. rewrite busy_same, Hb by done. cbn. destruct (decide (d = x)) as [<-|Hne].
      + by rewrite bool_decide_eq_true_2, lookup_insert.
      + rewrite bool_decide_eq_false_2, lookup_insert_ne by done.
        destruct (decide (c = x)) as [<-|?]; [by rewrite lookup_delete, Hn|by rewrite lookup_delete_ne].
    - intros x px Hx. rewrite Z.eqb_sym, busy_not_successor. cbn in Hx.
      assert (Hxc : x <> c /\ exists p', places t !! x = Some p').
      { destruct (decide (d = x)) as [<-|?]; [split; [congruence|eauto]|]. rewrite lookup_insert_ne in Hx by done.
        apply lookup_delete_Some in Hx as [? ?]. split; [congruence|eauto]. }
      destruct Hxc as [Hxc [p' Hp']]. rewrite linked_pass by done. eauto.
    - intros x. cbn [owner what]. rewrite Ho. cbn. destruct (decide (d = x)) as [<-|Hne].
      + rewrite lookup_insert, Hw. by split; intros [n H].
      + rewrite lookup_insert_ne by done. destruct (decide (c = x)) as [<-|?]; [|by rewrite lookup_delete_ne].
        rewrite lookup_delete, Hn. by split; intros [n H].
    - cbn. intros x n Hx. destruct (decide (d = x)) as [<-|Hne]; [by rewrite lookup_insert in Hx|].
      rewrite lookup_insert_ne in Hx by done. apply lookup_delete_Some in Hx as [_ Hx]. eauto.
  Qed.

  (** A [cas] that comes too late leaves the tail as it is. *)
  Lemma last_not_first c t : mcs_ok t -> head (line t) = Some c -> (forall h, line t <> [h]) ->
    name (last (line t)) <> name (Some c).
  Proof.
    intros Hok Hh Hl. pose proof (ok_nodup _ Hok) as Hnd. destruct (line t) as [|x [|y q]]; [done|by destruct (Hl x)|].
    injection Hh as ->. apply NoDup_cons in Hnd as [Hn _]. intros H.
    destruct (last (c :: y :: q)) as [z|] eqn:E; [|simpl in H; lia]. assert (z = c) as -> by (simpl in H; lia).
    apply Hn. change (last (y :: q) = Some c) in E. apply last_Some in E as [q' ->]. apply elem_of_app. right. left.
  Qed.

  Theorem replay_invariant k l t : 0 <= k < NUM_LOCK -> replay k l = Some t -> replay_facts k l t.
  Proof.
    intros Hk. revert t. induction l as [|e l IH]; intros t H.
    { pose proof (replay_ok hold_bound k [] t H) as Hok. injection H as <-. split; try done.
      intros c. split; [done|]. by intros [n ?]. }
    pose proof (replay_ok hold_bound k (e :: l) t H) as Hok'.
    apply replay_cons in H as (t0 & H0 & Hs). specialize (IH _ H0). apply mcs_step_shape in Hs as [Hc Hs].
    destruct e as [c o]. cbn [who what] in Hc, Hs.
    assert (Hother : about o <> Some k -> forall a, cell_lock a = k -> atomic_value a (Event c o :: l) = atomic_value a l).
    { intros Ha a Hcl. apply value_other. by rewrite Hcl. }
    destruct Hs as [Ha E|n Ha E|Ho E|Ho E|b Ho E|b Ho E|Ho E|Ho E|Ho E|n d Ho E|Ho E El|p d Ho E Hp El|Ho E El|h Ho E El|Ho E El|d Ho E];
      subst; try (by eapply facts_same).
    - eapply facts_same; [done|done|auto|by apply owner_other].
    - eapply facts_move; [done|done|exact E|done|auto|done|done|done| |].
      + rewrite owner_other by done. eapply (owner_move k l); [done|exact E|]. split; intros _; eauto.
      + intros m [= <-]. pose proof (rf_left _ _ _ IH _ _ E). lia.
    - by apply facts_prepare.
    - by apply facts_join.
    - by apply facts_mark.
    - by apply facts_link.
    - eapply facts_move; [done|done|exact E|done|done|done|done|done| |done].
      eapply (owner_move k l); [done|exact E|]. split; intros [? ?]; congruence.
    - eapply facts_move; [done|done|exact E|done|done|done|done|done| |].
      + intros x. cbn [owner what who]. rewrite Z.eqb_refl. cbn. destruct (decide (c = x)) as [<-|Hne].
        * rewrite lookup_insert. split; [eauto|done].
        * rewrite lookup_insert_ne by done. split; [congruence|]. intros [n Hx].
          pose proof (ok_place _ (rf_ok _ _ _ IH) _ _ E) as H1. pose proof (ok_place _ (rf_ok _ _ _ IH) _ _ Hx) as H2.
          cbn in H1, H2. congruence.
      + by intros n [= <-].
    - eapply facts_move; [done|done|exact E|done|done|done|done|done| |done].
      intros x. cbn [owner what who]. rewrite Z.eqb_refl. cbn. split; [done|]. intros [m Hx]. exfalso.
      destruct (decide (c = x)) as [<-|Hne]; [by rewrite lookup_insert in Hx|].
      rewrite lookup_insert_ne in Hx by done.
      pose proof (ok_place _ (rf_ok _ _ _ IH) _ _ E) as H1. pose proof (ok_place _ (rf_ok _ _ _ IH) _ _ Hx) as H2.
      cbn in H1, H2. congruence.
    - eapply facts_move; [done|done|exact E|done|done|done|done|done| |done].
      eapply (owner_move k l); [done|exact E|]. split; intros [? ?]; congruence.
    - destruct Hp as [->| ->]; (eapply facts_move; [done|done|exact E|done|done|done|done|done| |done];
        eapply (owner_move k l); [done|exact E|]; split; intros [? ?]; congruence).
    - assert (h = c) as ->.
      { pose proof (ok_place _ (rf_ok _ _ _ IH) _ _ E) as H1. cbn in H1. rewrite El in H1. by injection H1. }
      by apply facts_empty.
    - eapply facts_move; [done|done|exact E|done| |done|done|done| |done].
      + intros a Hcl. cbn [atomic_value what]. destruct (Z.eqb_spec (tail_cell k) a) as [<-|]; [|done]. cbn [andb].
        rewrite (rf_tail _ _ _ IH). rewrite (proj2 (Z.eqb_neq _ _)); [done|].
        apply last_not_first; [apply IH|by apply (ok_place _ (rf_ok _ _ _ IH) _ _ E)|done].
      + eapply (owner_move k l); [done|exact E|]. split; intros [? ?]; congruence.
    - by apply facts_pass.
  Qed.

  (** The line is no longer than there are CPUs. *)
  Lemma line_length t : mcs_ok t -> (length (line t) <= Z.to_nat NUM_CPU)%nat.
  Proof.
    intros Hok. assert (Hs : line t ⊆+ seq 0 (Z.to_nat NUM_CPU)).
    { apply NoDup_submseteq; [apply Hok|]. intros c Hc. apply elem_of_seq. split; [lia|].
      apply (ok_line _ Hok) in Hc as [p Hp]. apply (ok_cpu _ Hok) in Hp. unfold NUM_CPU in *. lia. }
    apply submseteq_length in Hs. by rewrite seq_length in Hs.
  Qed.
End value.
