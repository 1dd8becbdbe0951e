(** Ready queues: the C functions that put threads in and take them out.

    A CPU's cells are its queues, its bitmap and its threads' fields. A call of layer queue changes the first, the bitmap
    follows; [ready_join] puts the parts together again. *)
From Ashlar Require Export layers.sched.ready.ClearCode layers.sched.Proof layers.queue.RemoveCode layers.thread.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** The parts *)
Lemma exactly_disjoint (P : cell -> Prop) (d d' e : mem) : exactly P d -> exactly P d' -> d ##ₘ e -> d' ##ₘ e.
Proof.
  intros Hd Hd' He. apply map_disjoint_spec. intros x v w Hv Hw.
  assert (is_Some (d !! x)) as [u Hu] by (apply Hd, Hd'; by exists v). exact (proj1 (map_disjoint_spec d e) He x u w Hu Hw).
Qed.
Lemma union_swap (a b c : mem) : a ##ₘ b -> a ∪ (b ∪ c) = b ∪ (a ∪ c).
Proof. intros H. rewrite !(assoc_L (∪)). f_equal. by apply map_union_comm. Qed.

Lemma ready_join cpu s dq dm dt : ready_valid cpu s -> dq ##ₘ dt -> dm ##ₘ (dq ∪ dt) -> queue_rep (ready_queues s) dq ->
  ready_map_rep cpu s dm -> ready_threads_rep (ready_threads s) dt -> ready_rep cpu s (dm ∪ (dq ∪ dt)).
Proof.
  intros Hv H1 [H2 H3]%map_disjoint_union_r Hq Hm Ht. split; [done|]. exists dq, dm, dt.
  split; [by apply union_swap|]. split; [|done]. by apply map_disjoint_union_r.
Qed.

(** ** Marking a thread *)
Lemma write_third (a b c : mem) (x : cell) v : is_Some (c !! x) -> a ##ₘ c -> b ##ₘ c ->
  <[x := v]> (a ∪ (b ∪ c)) = a ∪ (b ∪ <[x := v]> c) /\ a ##ₘ <[x := v]> c /\ b ##ₘ <[x := v]> c.
Proof.
  intros Hx Ha Hb. split_and!; [|symmetry; by apply own_write_disjoint..]. destruct Hx as [w Hw].
  etrans; [apply insert_union_r; by eapply map_disjoint_Some_r|]. f_equal.
  apply insert_union_r. by eapply map_disjoint_Some_r.
Qed.
Lemma own_third (a b c : mem) (x : cell) : is_Some (c !! x) -> is_Some ((a ∪ (b ∪ c)) !! x).
Proof. intros H. apply lookup_union_is_Some. right. apply lookup_union_is_Some. by right. Qed.
Lemma ready_threads_mark m d t x : ready_threads_rep m d -> is_Some (m !! t) ->
  ready_threads_rep (ready_mark t x m) (<[thread_state_cell t := x]> d).
Proof.
  intros [Hx Hr] [r Ht]. assert (forall u, is_Some (ready_mark t x m !! u) <-> is_Some (m !! u)) as Hk.
  { intros u. destruct (decide (u = t)) as [->|Hne]; [|by rewrite ready_mark_other].
    rewrite (ready_mark_same m t x r Ht), Ht. split; intros _; by eexists. }
  split.
  - assert (exactly (fun y => exists u, is_Some (m !! u) /\ (y = thread_priority_cell u \/ y = thread_state_cell u))
      (<[thread_state_cell t := x]> d)) as Hx'.
    { apply exactly_write; [exact Hx|]. exists t. split; [by exists r|by right]. }
    intros y. rewrite (Hx' y). split; intros (u & Hu & Hy); exists u; (split; [by apply Hk|exact Hy]).
  - intros u r' (r0 & Hu & Ep & Hs)%ready_mark_lookup. destruct (Hr u r0 Hu) as [A B].
    rewrite own_lookup_ne by (unfold thread_priority_cell, thread_state_cell; congruence). split; [congruence|].
    destruct Hs as [[-> <-]|[Hne ->]]; [apply own_lookup|].
    rewrite own_lookup_ne; [done|]. unfold thread_state_cell. congruence.
Qed.

(** ** Which queues have a thread *)
Lemma ready_some_list s cpu p : ready_some s cpu p = negb (bool_decide (ready_list s cpu p = [])).
Proof. unfold ready_some. by destruct (ready_list s cpu p). Qed.

Lemma ready_some_same s s' cpu u : ready_list s' cpu u = ready_list s cpu u -> ready_some s' cpu u = ready_some s cpu u.
Proof. unfold ready_some. by intros ->. Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HB : M "arch_highest_bit"%string = None).
  Notation triple := (triple kernel_entry M this).
  Notation body_triple := (body_triple kernel_entry M this).
  Notation owned := (owned kernel_entry M this).

  Ltac enter code := eapply body_triple_body; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  Lemma sched_ready_insert_body cpu s d t v s' : 0 <= cpu < NUM_CPU -> ready_rep cpu s d ->
    sched_ready_insert s cpu t = Some (v, s') ->
    body_triple "sched_ready_insert" [cpu; t] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM HQ HT.
    intros Hc (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht) H. pose proof (sched_ready_insert_valid _ _ _ _ _ Hv H) as Hv'.
    destruct (sched_ready_insert_last _ _ _ _ _ H) as (r & Hr & Hlist & Hother).
    pose proof (ready_valid_priority _ _ Hv _ _ Hr) as Hp. set (p := ready_priority r) in *.
    unfold sched_ready_insert in H. rewrite Hr in H. case_bool_decide; [|done]. unfold ready_with in H. fold p in H.
    destruct (queue_enqueue _ _ _) as [[w q']|] eqn:E; [|done]. injection H as <- <-.
    set (s' := Ready q' (ready_mark t thread_is_ready (ready_threads s))) in *.
    apply map_disjoint_union_r in Hd as [Hqm Hqt]. pose proof (group_range p Hp) as Hg.
    assert (0 <= p mod 64 < 64) as Hmod by (by apply Z.mod_pos_bound).
    destruct (proj2 Ht t r Hr) as [Hpr Hst]. fold p in Hpr.
    assert (w = 0) as -> by (by apply queue_enqueue_puts in E as [? _]).
    pose proof (ready_threads_mark _ _ t thread_is_ready Ht ltac:(by exists r)) as Ht'.
    destruct (write_third dq dm dt (thread_state_cell t) thread_is_ready) as (Edt & Hqt1 & Hmt1); [by eexists|done|done|].
    assert (forall u, ready_some s' cpu u = ready_some s cpu u || (u =? p)) as Hs.
    { intros u. rewrite !ready_some_list. destruct (Z.eqb_spec u p) as [->|Hne].
      - rewrite Hlist, orb_true_r. by destruct (ready_list s cpu p).
      - by rewrite Hother, orb_false_r. }
    enter sched_ready_insert_code. step.
    eapply owned_call_whole; [evaluate|apply (thread_priority_triple kernel_entry M this HT)|].
    { unfold field_cell. rewrite (assoc_L (∪)), (map_union_comm _ dt); [by apply own_read|by apply map_disjoint_union_l]. }
    intros x d' [-> ->]. locals_simpl. step. step. step.
    eapply owned_call_whole; [evaluate|by apply (sched_ready_queue_triple kernel_entry M this HM)|].
    intros x d' [-> ->]. locals_simpl. step.
    eapply owned_call_whole; [evaluate|apply (thread_set_state_triple kernel_entry M this HT)|].
    { apply own_third. by eexists. }
    intros x d' [-> ->]. locals_simpl. unfold field_cell. change ("thread"%string, t, "state"%string, 0) with (thread_state_cell t).
    change (<[thread_state_cell t := 1]> ?d) with (<[thread_state_cell t := thread_is_ready]> d). rewrite Edt. set (dt1 := <[thread_state_cell t := thread_is_ready]> dt) in *. clearbody dt1.
    step.
    eapply owned_call; [evaluate|by apply map_disjoint_union_r|by eapply (queue_enqueue_triple kernel_entry M this HQ)|].
    intros x dq' [-> Hq'] [Hqm' Hqt']%map_disjoint_union_r. locals_simpl.
    rewrite union_swap by done.
    assert (dm ##ₘ dq' ∪ dt1) as Hmr by (by apply map_disjoint_union_r).
    pose proof Hm as (Hx & Hw & (m & Em & Hms) & Eb). destruct (Hw (p / 64) Hg) as (w & Ew & Hwp).
    assert (forall u, u <> p -> ready_some s' cpu u = ready_some s cpu u) as Hsame
      by (intros u Hu; by rewrite Hs, (proj2 (Z.eqb_neq u p)), orb_false_r).
    pose proof (ready_map_store cpu s s' p dm _ _ _ Hm Hp Hsame (word_more cpu s s' p Hs w Hwp)
      (summary_more cpu s s' p Hp Hs m Hms) eq_refl) as Hstore.
    rewrite (ready_best_insert s s' cpu p Hp Hs) in Hstore.
    assert (forall dm', ready_map_rep cpu s' dm' -> 0 = 0 /\ ready_rep cpu s' (dm' ∪ (dq' ∪ dt1))) as Hdone.
    { intros dm' Hm'. split; [done|]. apply ready_join; try done. eapply exactly_disjoint; [exact Hx|apply Hm'|done]. }
    unfold ready_word, ready_summary, ready_best_cell in *.
    apply (own_read dm (dq' ∪ dt1)) in Ew as Ew'. apply (own_read dm (dq' ∪ dt1)) in Em as Em'.
    apply (own_read dm (dq' ∪ dt1)) in Eb as Eb'. do 5 step.
    destruct (ready_best s cpu <=? p) eqn:Eb2.
    - repeat step. rewrite !own_write. apply Hdone. rewrite wrap_small by (unfold NUM_PRIORITY in Hp; lia). exact Hstore.
    - repeat step. rewrite !own_write. apply Hdone.
      match type of Hstore with ready_map_rep _ _ ?D => match goal with |- ready_map_rep _ _ ?E =>
        replace E with D; [exact Hstore|apply insert_id; look; done] end end.
  Qed.
  Theorem sched_ready_insert_triple cpu s d t v s' : 0 <= cpu < NUM_CPU -> ready_rep cpu s d ->
    sched_ready_insert s cpu t = Some (v, s') ->
    triple "sched_ready_insert" [cpu; t] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM HQ HT. intros. by eapply body_triple_triple, sched_ready_insert_body. Qed.

  (** ** Taking out *)

  (** The bitmap's part: a thread has left queue [p]. *)
  Section taken.
    Context (cpu : Z) (s s' : ready) (p t : Z) (Hp : 0 <= p < NUM_PRIORITY) (Hv' : ready_valid cpu s').
    Context (Ht : t ∈ ready_list s cpu p) (Hother : forall u, u <> p -> ready_list s' cpu u = ready_list s cpu u).

    Lemma taken_some : ready_list s' cpu p <> [] -> forall u, ready_some s' cpu u = ready_some s cpu u.
    Proof using Ht Hother.
      intros Hne u. rewrite !ready_some_list. destruct (decide (u = p)) as [->|]; [|by rewrite Hother].
      destruct (ready_list s' cpu p); [done|]. destruct (ready_list s cpu p); [by apply elem_of_nil in Ht|done].
    Qed.
    Lemma taken_last : ready_list s' cpu p = [] -> forall u, ready_some s' cpu u = ready_some s cpu u && negb (u =? p).
    Proof using Hother.
      intros He u. rewrite !ready_some_list. destruct (Z.eqb_spec u p) as [->|]; [|by rewrite Hother, andb_true_r].
      by rewrite He, andb_false_r.
    Qed.

    (** [if (first == NONE) sched_ready_clear(cpu, priority)] *)
    Lemma owned_clear_if c i j r dm rest (Qn Qb : locals -> mem -> Prop) Qr :
      (forall d, eval c r d = Some (first_or NONE (ready_list s' cpu p))) ->
      (forall d, eval i r d = Some cpu) -> (forall d, eval j r d = Some p) ->
      ready_map_rep cpu s dm -> dm ##ₘ rest ->
      (forall dm', ready_map_rep cpu s' dm' -> dm' ##ₘ rest -> Qn r (dm' ∪ rest)) ->
      owned (If (Cmp Eq c (Const NONE)) (Call None "sched_ready_clear" [i; j]) Skip) Qn Qb Qr r (dm ∪ rest).
    Proof using HM HB Hp Hv' Ht Hother.
      intros Hc Hi Hj Hm Hd HQ'. eapply owned_if; [eapply test_cmp; [apply Hc|apply eval_const]|]. cbn [compare].
      destruct (ready_list s' cpu p) as [|u l] eqn:E; cbn [first_or].
      - rewrite Z.eqb_refl. eapply owned_call; [|exact Hd| |].
        + eapply evals_cons; [apply Hi|]. eapply evals_cons; [apply Hj|]. apply evals_nil.
        + eapply (sched_ready_clear_triple kernel_entry M this HM HB); [exact Hm|done|by apply taken_last].
        + intros v dm' [-> Hm'] Hd'. by apply HQ'.
      - rewrite (proj2 (Z.eqb_neq u NONE)).
        + step. apply HQ'; [|done]. eapply ready_map_same; [|exact Hm]. intros w _. apply taken_some. by rewrite E.
        + intros ->. pose proof (ready_list_some _ _ _ _ _ E) as El.
          apply (queue_valid_none _ _ _ (proj1 Hv') El). by left.
    Qed.
  End taken.

  Lemma peek_list cpu s p : ready_valid cpu s -> 0 <= p < NUM_PRIORITY ->
    queue_peek (ready_queues s) (ready_queue cpu p) = Some (first_or NONE (ready_list s cpu p), ready_queues s).
  Proof using.
    intros Hv Hp. destruct (ready_valid_owns _ _ Hv p Hp) as [l Hl]. unfold queue_peek, ready_list. by rewrite Hl.
  Qed.

  Lemma sched_ready_remove_body cpu s d t v s' : 0 <= cpu < NUM_CPU -> ready_rep cpu s d ->
    sched_ready_remove s cpu t = Some (v, s') ->
    body_triple "sched_ready_remove" [cpu; t] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM HQ HT HB.
    intros Hc (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht) H. pose proof (sched_ready_remove_valid _ _ _ _ _ Hv H) as Hv'.
    destruct (sched_ready_remove_without _ _ _ _ _ Hv H) as (r & Hr & _ & Hother).
    pose proof (ready_valid_priority _ _ Hv _ _ Hr) as Hp. set (p := ready_priority r) in *.
    unfold sched_ready_remove in H. rewrite Hr in H. case_bool_decide as Hin; [|done]. unfold ready_with in H. fold p in Hin.
    destruct (queue_remove _ _) as [[w q']|] eqn:E; [|done]. injection H as <- <-.
    assert (w = 0) as -> by (by apply queue_remove_takes in E as [? _]; [|apply Hv]).
    apply map_disjoint_union_r in Hd as [Hqm Hqt].
    destruct (proj2 Ht t r Hr) as [Hpr _]. fold p in Hpr.
    enter sched_ready_remove_code. step.
    eapply owned_call_whole; [evaluate|apply (thread_priority_triple kernel_entry M this HT)|].
    { unfold field_cell. rewrite (assoc_L (∪)), (map_union_comm _ dt); [by apply own_read|by apply map_disjoint_union_l]. }
    intros x d' [-> ->]. locals_simpl. step.
    eapply owned_call_whole; [evaluate|by apply (sched_ready_queue_triple kernel_entry M this HM)|].
    intros x d' [-> ->]. locals_simpl. step.
    eapply owned_call; [evaluate|by apply map_disjoint_union_r|by eapply (queue_remove_triple kernel_entry M this HQ)|].
    intros x dq1 [-> Hq1] Hd1. locals_simpl. step.
    eapply owned_call; [evaluate|exact Hd1|eapply (queue_peek_triple kernel_entry M this HQ);
      [exact Hq1|exact (peek_list _ _ p Hv' Hp)]|].
    intros x dq2 [-> Hq2] [Hqm2 Hqt2]%map_disjoint_union_r. locals_simpl.
    rewrite union_swap by done. set (s' := Ready q' (ready_threads s)) in *.
    eapply (owned_clear_if cpu s s' p t); try done; try (intros; evaluate); [by apply map_disjoint_union_r|].
    intros dm' Hm' Hd2. split; [done|]. by apply ready_join.
  Qed.
  Theorem sched_ready_remove_triple cpu s d t v s' : 0 <= cpu < NUM_CPU -> ready_rep cpu s d ->
    sched_ready_remove s cpu t = Some (v, s') ->
    triple "sched_ready_remove" [cpu; t] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM HQ HT HB. intros. by eapply body_triple_triple, sched_ready_remove_body. Qed.

  Lemma sched_ready_take_body cpu s d v s' : 0 <= cpu < NUM_CPU -> ready_rep cpu s d ->
    sched_ready_take s cpu = Some (v, s') ->
    body_triple "sched_ready_take" [cpu] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM HQ HT HB.
    intros Hc Hrep H. pose proof (ready_rep_best _ _ _ Hrep) as Hb. unfold ready_best_cell in Hb.
    pose proof Hrep as (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht). pose proof (sched_ready_take_valid _ _ _ _ Hv H) as Hv'.
    unfold sched_ready_take in H. cbv zeta in H.
    enter sched_ready_take_code. step. step.
    destruct (Z.eqb_spec (ready_best s cpu) 0) as [E0|E0].
    { injection H as <- <-. step. done. }
    destruct (ready_best_spec s cpu) as [[? _]|(p & t & l & Eb & Hp & Hl & Hnone)]; [done|].
    rewrite Eb in Hb, H. replace (p + 1 - 1) with p in H by lia.
    pose proof (ready_list_some _ _ _ _ _ Hl) as Hql. unfold ready_with in H.
    destruct (queue_dequeue _ _) as [[w q']|] eqn:E; [|done]. injection H as <- <-.
    assert (w = t) as -> by (unfold queue_dequeue in E; rewrite Hql in E; by injection E).
    set (s' := Ready q' (ready_mark t thread_is_running (ready_threads s))) in *.
    assert (forall u, u <> p -> ready_list s' cpu u = ready_list s cpu u) as Hother.
    { intros u Hu. unfold queue_dequeue in E. rewrite Hql in E. injection E as <-. unfold ready_list. simpl.
      rewrite lookup_insert_ne; [done|]. unfold ready_queue. lia. }
    assert (t ∈ ready_list s cpu p) as Hin by (rewrite Hl; by left).
    destruct (ready_valid_thread _ _ Hv p t Hp Hin) as [_ Htt]. destruct (proj2 Ht _ _ Htt) as [_ Hst].
    pose proof (ready_threads_mark _ _ t thread_is_running Ht ltac:(by eexists)) as Ht'.
    apply map_disjoint_union_r in Hd as [Hqm Hqt].
    step. step. step. rewrite (wrap_small (p + 1 - 1)) by (unfold NUM_PRIORITY in Hp; lia).
    replace (p + 1 - 1) with p by lia. step.
    eapply owned_call_whole; [evaluate|by apply (sched_ready_queue_triple kernel_entry M this HM)|].
    intros x d' [-> ->]. locals_simpl. step.
    eapply owned_call; [evaluate|by apply map_disjoint_union_r|by eapply (queue_dequeue_triple kernel_entry M this HQ)|].
    intros x dq1 [-> Hq1] [Hqm1 Hqt1]%map_disjoint_union_r. locals_simpl. step.
    eapply owned_call_whole; [evaluate|apply (thread_set_state_triple kernel_entry M this HT)|].
    { apply own_third. by eexists. }
    intros x d' [-> ->]. locals_simpl. unfold field_cell. change ("thread"%string, t, "state"%string, 0) with (thread_state_cell t).
    change (<[thread_state_cell t := 2]> ?d) with (<[thread_state_cell t := thread_is_running]> d).
    destruct (write_third dq1 dm dt (thread_state_cell t) thread_is_running) as (Edt & Hqt2 & Hmt2); [by eexists|done|done|].
    rewrite Edt. set (dt1 := <[thread_state_cell t := thread_is_running]> dt) in *. clearbody dt1. step.
    eapply owned_call; [evaluate|by apply map_disjoint_union_r|eapply (queue_peek_triple kernel_entry M this HQ);
      [exact Hq1|exact (peek_list _ _ p Hv' Hp)]|].
    intros x dq2 [-> Hq2] [Hqm3 Hqt3]%map_disjoint_union_r. locals_simpl.
    rewrite union_swap by done. step.
    eapply (owned_clear_if cpu s s' p t); try done; try (intros; evaluate); [by apply map_disjoint_union_r|].
    intros dm' Hm' Hd2. step. split; [done|]. by apply ready_join.
  Qed.
  Theorem sched_ready_take_triple cpu s d v s' : 0 <= cpu < NUM_CPU -> ready_rep cpu s d ->
    sched_ready_take s cpu = Some (v, s') ->
    triple "sched_ready_take" [cpu] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM HQ HT HB. intros. by eapply body_triple_triple, sched_ready_take_body. Qed.
End proof.
