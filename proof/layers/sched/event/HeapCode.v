(** Events to come: the C that moves an event to its place in the heap. *)
From Ashlar Require Export layers.sched.event.EventSpec.
Local Opaque gmap_lookup gmap_partial_alter.

Notation heap_cell f cpu p := (field_cell "sched_heap" (cpu * SCHED_HEAP_PLACES + p) f).
Notation event_cell f e := (field_cell "sched_event" e f).

(** As [step], where the list of locals came out of an invariant or was named. *)
Ltac walk := step; locals_plain.

(** What the cells of a CPU's heap contain; [mine]: the events of its threads. *)
Definition heap_cells (cpu : Z) (mine : Z -> Prop) (h : heap) (d : mem) : Prop :=
  d !! cpu_cell "events" cpu = Some (free h) /\
  (forall p, 0 <= p < SCHED_HEAP_PLACES -> d !! heap_cell "when" cpu p = Some (due h p) /\ d !! heap_cell "event" cpu p = Some (event_at h p)) /\
  (forall e, mine e -> d !! event_cell "place" e = Some (place_of h e)).
(** No other cell is written. *)
Definition heap_owns (cpu : Z) (mine : Z -> Prop) (x : cell) : Prop :=
  x = cpu_cell "events" cpu \/ (exists p f, 0 <= p < SCHED_HEAP_PLACES /\ x = heap_cell f cpu p) \/ (exists e, mine e /\ x = event_cell "place" e).
Definition heap_only (cpu : Z) (mine : Z -> Prop) (d d' : mem) : Prop := forall x, ~ heap_owns cpu mine x -> d' !! x = d !! x.
Lemma heap_only_refl cpu mine d : heap_only cpu mine d d.
Proof. done. Qed.
Lemma heap_only_trans cpu mine d d1 d2 : heap_only cpu mine d d1 -> heap_only cpu mine d1 d2 -> heap_only cpu mine d d2.
Proof. intros H1 H2 x Hx. by rewrite H2, H1. Qed.
Lemma heap_only_write cpu mine d d1 x v : heap_only cpu mine d d1 -> heap_owns cpu mine x -> heap_only cpu mine d (<[x := v]> d1).
Proof. intros H Hx y Hy. rewrite own_lookup_ne by congruence. by apply H. Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (cpu : Z) (Hcpu : 0 <= cpu < NUM_CPU) (mine : Z -> Prop).
  Notation triple := (triple kernel_entry M this).
  Notation owned := (owned kernel_entry M this).
  Notation heap_cells := (heap_cells cpu mine).
  Notation heap_only := (heap_only cpu mine).

  Ltac enter code := eapply triple_owned; [by apply HM|done|]; unfold code; locals_simpl.

  (** ** Addresses *)
  Lemma heap_index p : 0 <= p < SCHED_HEAP_PLACES -> wrap W32 (wrap W32 (cpu * 292) + p) = cpu * SCHED_HEAP_PLACES + p.
  Proof using Hcpu. unfold NUM_CPU in Hcpu. constants. intros Hp. unfold wrap. cbn [bits]. rewrite (Z.mod_small (cpu * 292)), Z.mod_small by lia. done. Qed.
  Lemma heap_when h d p : heap_cells h d -> 0 <= p < SCHED_HEAP_PLACES ->
    d !! (("sched_heap"%string, wrap W32 (wrap W32 (cpu * 292) + p), "when"%string, 0) : cell) = Some (due h p).
  Proof using Hcpu. intros (_ & H & _) Hp. rewrite heap_index by done. by apply H. Qed.
  Lemma heap_event h d p : heap_cells h d -> 0 <= p < SCHED_HEAP_PLACES ->
    d !! (("sched_heap"%string, wrap W32 (wrap W32 (cpu * 292) + p), "event"%string, 0) : cell) = Some (event_at h p).
  Proof using Hcpu. intros (_ & H & _) Hp. rewrite heap_index by done. by apply H. Qed.
  Lemma heap_place h d e : heap_cells h d -> mine e -> d !! (("sched_event"%string, e, "place"%string, 0) : cell) = Some (place_of h e).
  Proof using. intros (_ & _ & H) He. by apply H. Qed.

  Theorem sched_heap_parent_triple p d : 0 <= p < 2 ^ 32 -> triple "sched_heap_parent" [p] d (fun w d' => w = parent p /\ d' = d).
  Proof using HM. intros Hp. enter sched_heap_parent_code. step. by rewrite parent_word. Qed.
  Theorem sched_heap_when_triple p h d : heap_cells h d -> 0 <= p < SCHED_HEAP_PLACES ->
    triple "sched_heap_when" [cpu; p] d (fun w d' => w = due h p /\ d' = d).
  Proof using HM Hcpu. intros H Hp. pose proof (heap_when h d p H Hp). enter sched_heap_when_code. by step. Qed.
  Theorem sched_heap_put_triple p e t h d : heap_cells h d -> 0 <= p < SCHED_HEAP_PLACES -> mine e ->
    triple "sched_heap_put" [cpu; p; e; t] d (fun w d' => w = 0 /\ heap_cells (put p e t h) d' /\ heap_only d d').
  Proof using HM Hcpu.
    intros H Hp He. pose proof (heap_when h d p H Hp). pose proof (heap_event h d p H Hp). pose proof (heap_place h d e H He).
    enter sched_heap_put_code. do 5 step. rewrite heap_index by done. destruct H as (Hf & Hh & Hl). split; [done|].
    split; [split_and!|]; cbn [put free due event_at place_of].
    - rewrite !own_lookup_ne by (unfold field_cell; congruence). done.
    - intros q Hq. unfold field_cell, upd in *. destruct (Z.eqb_spec q p) as [->|Hne]; [by look|].
      rewrite !own_lookup_ne by (intros [=]; lia). by apply Hh.
    - intros x Hx. unfold field_cell, upd in *. destruct (Z.eqb_spec x e) as [->|Hne]; [by look|].
      rewrite !own_lookup_ne by (intros [=]; lia). by apply Hl.
    - apply heap_only_write; [apply heap_only_write; [apply heap_only_write; [done|]|]|]; unfold heap_owns; right; [left; by eauto..|right; by eauto].
  Qed.

  (** ** On the way: event [e] at time [t] is seen at [p]. *)
  Definition moving (d0 : mem) (m : gmap Z Z) (n p e t : Z) (h : heap) (d : mem) : Prop :=
    heap_cells h d /\ free h = n /\ contains (put p e t h) m /\ rest_free (put p e t h) /\ SCHED_HEAP_ROOT <= p < n /\ heap_only d0 d.
  Definition moved (d0 : mem) (m : gmap Z Z) (n : Z) (d : mem) : Prop :=
    exists h, heap_cells h d /\ free h = n /\ heap_valid h m /\ heap_only d0 d.
  Context (m : gmap Z Z) (Hm : events_ok mine m) (n : Z) (Hn : SCHED_HEAP_ROOT <= n <= SCHED_HEAP_ROOT + SCHED_NUM_EVENT).

  Lemma moving_mine d0 p e t h d : moving d0 m n p e t h d -> mine e.
  Proof using Hm.
    intros (_ & En & (Hin & _) & _ & Hp & _). destruct (Hin p) as [E _]; [cbn [put free]; lia|]. cbn [put event_at due] in E. rewrite !upd_same in E. by apply (Hm _ _ E).
  Qed.
  Lemma moving_other d0 p e t h d q : moving d0 m n p e t h d -> SCHED_HEAP_ROOT <= q < n -> q <> p -> mine (event_at h q).
  Proof using Hm.
    intros (_ & En & (Hin & _) & _ & Hp & _) Hq Hne. destruct (Hin q) as [E _]; [cbn [put free]; lia|]. cbn [put event_at due] in E. others p. by apply (Hm _ _ E).
  Qed.
  Lemma moving_step d0 p e t h d q d' : moving d0 m n p e t h d -> SCHED_HEAP_ROOT <= q < n -> q <> p ->
    heap_cells (put p (event_at h q) (due h q) h) d' -> heap_only d d' -> moving d0 m n q e t (put p (event_at h q) (due h q) h) d'.
  Proof using.
    intros (Hc & En & Hin & Hr & Hp & Hd) Hq Hne Hc' Hd'. split_and!; [done|done|apply exchange_contains; [by auto|lia|lia|done]| |lia|lia|by eapply heap_only_trans].
    intros r Hr'. cbn [put free] in Hr'. rewrite !put_due. specialize (Hr r Hr'). rewrite put_due in Hr. rewrite !(proj2 (Z.eqb_neq r _)) in * by lia. done.
  Qed.
  Lemma moving_end d0 p e t h d d' : moving d0 m n p e t h d -> in_order (put p e t h) -> heap_cells (put p e t h) d' -> heap_only d d' -> moved d0 m n d'.
  Proof using Hn.
    intros (Hc & En & Hin & Hr & Hp & Hd) Ho Hc' Hd'. exists (put p e t h). split_and!; [done|done| |by eapply heap_only_trans]. split_and!; [|done..].
    unfold fits. cbn [put free]. by rewrite En.
  Qed.

  (** Places that are reached in [k] steps. *)
  Definition up_bound (k p : Z) : Prop := k = 0 /\ p <= 290 \/ k = 1 /\ p <= 74 \/ k = 2 /\ p <= 20 \/ k = 3 /\ p <= 7 \/ k = 4 /\ p <= 3.
  Definition down_bound (k p : Z) : Prop := k = 0 /\ 3 <= p \/ k = 1 /\ 4 <= p \/ k = 2 /\ 8 <= p \/ k = 3 /\ 24 <= p \/ k = 4 /\ 88 <= p.

  Theorem sched_heap_up_triple p e t h d0 d : moving d0 m n p e t h d -> rising (put p e t h) p ->
    triple "sched_heap_up" [cpu; p; e; t] d (fun w d' => w = 0 /\ moved d0 m n d').
  Proof using HM Hcpu Hm Hn.
    intros Hmv Hup. pose proof (moving_mine _ _ _ _ _ _ Hmv) as He. enter sched_heap_up_code. do 4 step. step.
    assert (forall Qb Qr p1 k q b h1 d1, moving d0 m n p1 e t h1 d1 -> rising (put p1 e t h1) p1 -> (SCHED_HEAP_ROOT < p1 -> due h1 (parent p1) <= t) ->
      owned (Call None "sched_heap_put" [Var 0; Var 4; Var 2; Var 3]) (fun _ d' => 0 = 0 /\ moved d0 m n d') Qb Qr [cpu; p; e; t; p1; k; q; b] d1) as Hend.
    { intros Qb Qr p1 k q b h1 d1 H1 Hr1 Ht. pose proof H1 as (Hc & En & _ & _ & Hp1 & _).
      eapply owned_call_whole; [evaluate|apply sched_heap_put_triple; [exact Hc|constants; lia|exact He]|]. intros w d' (-> & Hc' & Hd'). split; [done|].
      eapply moving_end; [exact H1|by apply risen|done..]. }
    apply (owned_while _ _ _ _ _ (fun j r d1 => exists k p1 q b h1, j = Z.to_nat (4 - k) /\ r = [cpu; p; e; t; p1; k; q; b] /\ up_bound k p1 /\
      moving d0 m n p1 e t h1 d1 /\ rising (put p1 e t h1) p1) 4%nat).
    { exists 0, p, 0, 0, h. split_and!; [done..| |done|done]. left. destruct Hmv as (_ & _ & _ & _ & Hp & _). constants. lia. }
    intros j r d1 (k & p1 & q & b & h1 & -> & -> & Hk & H1 & Hr1). eexists. split; [evaluate|]. cbn [compare].
    pose proof H1 as (Hc & En & Hin & _ & Hp1 & _). pose proof (parent_children p1) as Pp. unfold up_bound in Hk. constants.
    destruct (Z.ltb_spec k 4); [destruct (Z.ltb_spec 3 p1)|]; cbn [andb]; [|eapply Hend; [exact H1|exact Hr1|constants; lia]..].
    step. eapply owned_call_whole; [evaluate|apply sched_heap_parent_triple; lia|]. intros w d' [-> ->]. locals_simpl.
    step. eapply owned_call_whole; [evaluate|apply sched_heap_when_triple; [exact Hc|constants; lia]|]. intros w d' [-> ->]. locals_simpl.
    do 2 step. destruct (Z.leb_spec (due h1 (parent p1)) t); [step; eapply Hend; [exact H1|exact Hr1|constants; lia]|]. step.
    pose proof (heap_event _ _ (parent p1) Hc ltac:(constants; lia)).
    step. eapply owned_call_whole; [evaluate|apply sched_heap_put_triple; [exact Hc|constants; lia|eapply moving_other; [exact H1|constants; lia|lia]]|].
    intros w d' (-> & Hc' & Hd'). locals_simpl. do 3 step. exists (Z.to_nat (4 - (k + 1))). split; [lia|]. rewrite wrap32_next by lia.
    eexists (k + 1), (parent p1), _, _, _. split_and!; [done|done|unfold up_bound; lia|eapply moving_step; [exact H1|constants; lia|lia|exact Hc'|exact Hd']|].
    apply rises; [constants; lia|done|done].
  Qed.

  Theorem sched_heap_down_triple p e t h d0 d : moving d0 m n p e t h d -> sinking (put p e t h) p -> 0 <= t <= timer_never ->
    triple "sched_heap_down" [cpu; p; e; t] d (fun w d' => w = 0 /\ moved d0 m n d').
  Proof using HM Hcpu Hm Hn.
    intros Hmv Hdown Ht. pose proof (moving_mine _ _ _ _ _ _ Hmv) as He. enter sched_heap_down_code. do 4 step. step.
    assert (forall Qb Qr r p1 h1 d1, moving d0 m n p1 e t h1 d1 -> sinking (put p1 e t h1) p1 ->
      (forall c, SCHED_HEAP_ROOT < c < free h1 -> parent c = p1 -> t <= due h1 c) ->
      owned (Call None "sched_heap_put" [Var 0; Var 4; Var 2; Var 3]) (fun _ d' => 0 = 0 /\ moved d0 m n d') Qb Qr (cpu :: p :: e :: t :: p1 :: r) d1) as Hend.
    { intros Qb Qr r p1 h1 d1 H1 Hr1 Hc1. pose proof H1 as (Hc & En & _ & _ & Hp1 & _).
      eapply owned_call_whole; [evaluate|apply sched_heap_put_triple; [exact Hc|constants; lia|exact He]|]. intros w d' (-> & Hc' & Hd'). split; [done|].
      eapply moving_end; [exact H1|apply sunk; [lia|done..]|done..]. }
    apply (owned_while _ _ _ _ _ (fun j r d1 => exists k p1 a1 a2 a3 a4 a5 a6 a7 h1, j = Z.to_nat (4 - k) /\
      r = [cpu; p; e; t; p1; k; a1; a2; a3; a4; a5; a6; a7] /\ down_bound k p1 /\ moving d0 m n p1 e t h1 d1 /\ sinking (put p1 e t h1) p1) 4%nat).
    { exists 0, p, 0, 0, 0, 0, 0, 0, 0, h. split_and!; [done..| |done|done]. left. destruct Hmv as (_ & _ & _ & _ & Hp & _). constants. lia. }
    intros j r d1 (k & p1 & a1 & a2 & a3 & a4 & a5 & a6 & a7 & h1 & -> & -> & Hk & H1 & Hr1). eexists. split; [evaluate|]. cbn [compare].
    pose proof H1 as (Hc & En & Hin & Hfree & Hp1 & _). unfold down_bound in Hk. constants.
    assert (forall c, parent c = p1 -> 4 * (p1 - 2) <= c < 4 * (p1 - 2) + 4) as Hch by (intros c <-; apply parent_children).
    destruct (Z.ltb_spec k 4); [destruct (Z.leb_spec p1 74)|]; cbn [andb];
      [|eapply Hend; [exact H1|exact Hr1|constants; intros c Hc1 Ec; specialize (Hch c Ec); lia]..].
    assert (forall c, 4 * (p1 - 2) <= c < 4 * (p1 - 2) + 4 -> parent c = p1) as Hpar by (intros c Hc1; pose proof (parent_children c); lia).
    pose proof (heap_index (4 * (p1 - 2)) ltac:(constants; lia)) as Ei. unfold NUM_CPU in Hcpu.
    assert (wrap W32 (4 * wrap W32 (p1 - 2)) = 4 * (p1 - 2)) as E0 by (unfold wrap; cbn [bits]; rewrite (Z.mod_small (p1 - 2)), Z.mod_small by lia; done).
    assert (forall i, 0 <= i < 4 -> wrap W32 (4 * (p1 - 2) + i) = 4 * (p1 - 2) + i) as E1 by (intros; unfold wrap; cbn [bits]; apply Z.mod_small; lia).
    set (c0 := 4 * (p1 - 2)) in *.
    assert (forall i, 0 <= i < 4 -> wrap W64 (cpu * SCHED_HEAP_PLACES + c0 + i) = cpu * SCHED_HEAP_PLACES + (c0 + i)) as E2.
    { intros i Hi. unfold wrap. cbn [bits]. constants. rewrite Z.mod_small by lia. lia. }
    pose proof Hc as (_ & Hcell & _).
    destruct (Hcell c0 ltac:(constants; lia)) as [W0 V0]. destruct (Hcell (c0 + 1) ltac:(constants; lia)) as [W1 V1].
    destruct (Hcell (c0 + 2) ltac:(constants; lia)) as [W2 V2]. destruct (Hcell (c0 + 3) ltac:(constants; lia)) as [W3 V3].
    rewrite <- E2 in W1, V1, W2, V2, W3, V3 by lia. unfold field_cell in W0, V0, W1, V1, W2, V2, W3, V3.
    do 4 walk. rewrite E0, Ei. replace (wrap W64 (cpu * SCHED_HEAP_PLACES + c0)) with (cpu * SCHED_HEAP_PLACES + c0)
      by (rewrite <- (Z.add_0_r c0) at 2; rewrite Z.add_assoc, E2 by lia; lia).
    do 10 walk.
    match goal with |- owned (Seq _ (Seq _ (Seq _ ?R))) ?Qn ?Qb ?Qr _ _ => assert (forall b, c0 <= b < c0 + 4 ->
      (forall i, 0 <= i < 4 -> due h1 b <= due h1 (c0 + i)) ->
      owned R Qn Qb Qr [cpu; p; e; t; p1; k; b; cpu * SCHED_HEAP_PLACES + c0; due h1 b; event_at h1 b; due h1 (c0 + 1); due h1 (c0 + 2); due h1 (c0 + 3)] d1) as Hrest end.
    { intros b Hb Hmin. do 2 step. destruct (Z.leb_spec t (due h1 b)).
      - step. eapply Hend; [exact H1|exact Hr1|]. constants. intros c Hc1 Ec. specialize (Hch c Ec). specialize (Hmin (c - c0) ltac:(lia)).
        replace (c0 + (c - c0)) with c in Hmin by lia. lia.
      - assert (b < n) as Hbn.
        { destruct (Z.lt_ge_cases b n) as [|Hge]; [done|]. specialize (Hfree b). cbn [put free due] in Hfree. others p1. constants.
          destruct (Z.eq_dec b p1); [lia|]. others p1. specialize (Hfree ltac:(lia)). lia. }
        step. step. eapply owned_call_whole; [evaluate|apply sched_heap_put_triple; [exact Hc|constants; lia|eapply moving_other; [exact H1|constants; lia|lia]]|].
        intros w d' (-> & Hc' & Hd'). locals_simpl. do 3 step. exists (Z.to_nat (4 - (k + 1))). split; [lia|]. rewrite wrap32_next by lia.
        exists (k + 1), b. do 8 eexists. split_and!; [done|done|unfold down_bound; lia|eapply moving_step; [exact H1|constants; lia|lia|exact Hc'|exact Hd']|].
        apply sinks; [constants; lia|constants; lia|by apply Hpar|done|done|]. constants. intros c Hc1 Ec. specialize (Hch c Ec). specialize (Hmin (c - c0) ltac:(lia)).
        by replace (c0 + (c - c0)) with c in Hmin by lia. }
    assert (forall i, 0 <= i < 4 -> i = 0 \/ i = 1 \/ i = 2 \/ i = 3) as Hfour by lia.
    Ltac choose4 Hfour := let i := fresh "i" in let Hi := fresh "Hi" in
      intros i Hi; destruct (Hfour i Hi) as [->|[->|[->| ->]]]; rewrite ?Z.add_0_r; lia.
    step. step. destruct (Z.ltb_spec (due h1 (c0 + 1)) (due h1 c0)); repeat walk; rewrite ?(E1 1) by lia;
      (match goal with |- context [due h1 ?x <? due h1 ?y] => destruct (Z.ltb_spec (due h1 x) (due h1 y)) end; repeat walk; rewrite ?E0, ?(E1 2) by lia;
      (match goal with |- context [due h1 ?x <? due h1 ?y] => destruct (Z.ltb_spec (due h1 x) (due h1 y)) end; [do 5 walk|walk]; rewrite ?E0, ?(E1 3) by lia;
      (apply Hrest; [lia|choose4 Hfour]))).
  Qed.
End proof.
