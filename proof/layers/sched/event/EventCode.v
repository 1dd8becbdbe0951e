(** Events to come: the C of [sched_event.c]. No event is lost and none comes twice; the earliest is first; the alarm is not later.

    [events m k a]: of this CPU's events those of [m] are in the heap, each with its time; [k e = 1]: [e] was cancelled, and is as if
    it were not set ([pending]); [a]: the time of the alarm. *)
From Ashlar Require Export layers.sched.event.HeapCode layers.thread.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

Definition events (cpu : Z) (mine : Z -> Prop) (m : gmap Z Z) (k : Z -> Z) (a : Z) (d : mem) : Prop :=
  events_ok mine m /\ (forall e, mine e -> d !! event_cell "cancelled" e = Some (k e)) /\ d !! cpu_cell "alarm" cpu = Some a /\
  exists h, heap_cells cpu mine h d /\ heap_valid h m.
Definition events_owns (cpu : Z) (mine : Z -> Prop) (x : cell) : Prop :=
  heap_owns cpu mine x \/ x = cpu_cell "alarm" cpu \/ exists e, mine e /\ x = event_cell "cancelled" e.
Definition events_only (cpu : Z) (mine : Z -> Prop) (d d' : mem) : Prop := forall x, ~ events_owns cpu mine x -> d' !! x = d !! x.

(** ** What events are for *)
Definition pending (m : gmap Z Z) (k : Z -> Z) : gmap Z Z := filter (fun x => k x.1 <> 1) m.
Lemma pending_lookup m k e t : pending m k !! e = Some t <-> m !! e = Some t /\ k e <> 1.
Proof. apply map_filter_lookup_Some. Qed.
(** [t]: the time of the earliest event. *)
Definition earliest (m : gmap Z Z) (t : Z) : Prop :=
  m = ∅ /\ t = timer_never \/ (exists e, m !! e = Some t) /\ forall e t', m !! e = Some t' -> t <= t'.
(** What [sched_event_take] takes at [now]: nothing, because nothing is due, or the earliest event, which is due. *)
Definition taken (now : Z) (m : gmap Z Z) (k : Z -> Z) (v : Z) (m' : gmap Z Z) : Prop :=
  v = NONE /\ m' = m /\ (forall e t, m !! e = Some t -> now < t) \/
  exists e t, m !! e = Some t /\ t <= now /\ (forall e' t', m !! e' = Some t' -> t <= t') /\ m' = delete e m /\ v = (if k e =? 1 then NONE else e).
(** The alarm is not later than any event. *)
Definition in_time (m : gmap Z Z) (a : Z) : Prop := forall e t, m !! e = Some t -> a <= t.

Theorem set_pending m k e t : pending (<[e := t]> m) (upd e 0 k) = <[e := t]> (pending m k).
Proof.
  apply map_eq. intros x. apply option_eq. intros u. rewrite pending_lookup. destruct (Z.eq_dec x e) as [->|Hne].
  - rewrite !lookup_insert, upd_same. split; [by intros [? _]|by intros ->].
  - by rewrite !lookup_insert_ne, pending_lookup, upd_other by done.
Qed.
Theorem cancel_pending m k e : pending m (upd e 1 k) = delete e (pending m k).
Proof.
  apply map_eq. intros x. apply option_eq. intros u. rewrite pending_lookup, lookup_delete_Some, pending_lookup. destruct (Z.eq_dec x e) as [->|Hne].
  - rewrite upd_same. split; [by intros [_ []]|by intros [[] _]].
  - rewrite upd_other by done. split; [intros []; auto|intros (_ & ? & ?); auto].
Qed.
Theorem remove_pending m k e : pending (delete e m) k = delete e (pending m k).
Proof. apply map_eq. intros x. apply option_eq. intros u. rewrite pending_lookup, !lookup_delete_Some, pending_lookup. tauto. Qed.
(** An event is taken when it is due, all others stay, and none that is pending was due before. *)
Theorem taken_pending now m k v m' : (forall e, m !! e <> None -> e <> NONE) -> taken now m k v m' ->
  (v = NONE /\ pending m' k = pending m k) \/
  (exists t, v <> NONE /\ pending m k !! v = Some t /\ t <= now /\ pending m' k = delete v (pending m k) /\ forall e t', pending m k !! e = Some t' -> t <= t').
Proof.
  intros Hn [(-> & -> & _)|(e & t & He & Ht & Hmin & -> & ->)]; [by left|]. destruct (Z.eqb_spec (k e) 1) as [E|E].
  - left. split; [done|]. rewrite remove_pending. apply delete_notin. apply eq_None_not_Some. intros [u [_ Hu]%pending_lookup]. done.
  - right. exists t. split_and!; [apply Hn; congruence|by apply pending_lookup|done|apply remove_pending|].
    intros x u [Hx _]%pending_lookup. by eapply Hmin.
Qed.
Lemma in_time_set m a e t : in_time m a -> in_time (<[e := t]> m) (Z.min a t).
Proof. intros H x u [[_ <-]|[_ Hx]]%lookup_insert_Some; [lia|]. specialize (H x u Hx). lia. Qed.
Lemma in_time_delete m a e : in_time m a -> in_time (delete e m) a.
Proof. intros H x u [_ Hx]%lookup_delete_Some. by eapply H. Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (cpu : Z) (Hcpu : 0 <= cpu < NUM_CPU) (mine : Z -> Prop) (mine_small : forall e, mine e -> 0 <= e < SCHED_NUM_EVENT).
  Notation triple := (triple kernel_entry M this).
  Notation owned := (owned kernel_entry M this).
  Notation heap_cells := (heap_cells cpu mine).
  Notation heap_only := (heap_only cpu mine).
  Notation events := (events cpu mine).
  Notation events_only := (events_only cpu mine).
  Ltac enter code := eapply triple_owned; [by apply HM|done|]; unfold code; locals_simpl.
  Ltac call T := eapply owned_call_whole; [evaluate|eapply T|intros ? ? [-> ->]; locals_simpl].

  (** ** Cells *)
  Lemma heap_free h d n : heap_cells h d -> heap_cells (Heap n (due h) (event_at h) (place_of h)) (<[cpu_cell "events" cpu := n]> d).
  Proof using.
    intros (_ & Hh & Hl). split_and!; [apply own_lookup|intros p Hp|intros e He]; rewrite !own_lookup_ne by (unfold field_cell; congruence); [by apply Hh|by apply Hl].
  Qed.
  Lemma heap_out h d e v : heap_cells h d -> heap_cells (Heap (free h) (due h) (event_at h) (upd e v (place_of h))) (<[event_cell "place" e := v]> d).
  Proof using.
    intros (Hf & Hh & Hl). split_and!; [|intros p Hp|intros x Hx]; cbn [free due event_at place_of].
    1,2: rewrite !own_lookup_ne by (unfold field_cell; congruence); first [done|by apply Hh].
    destruct (Z.eq_dec x e) as [->|]; [rewrite upd_same; apply own_lookup|]. rewrite upd_other, own_lookup_ne by (done || (unfold field_cell; congruence)). by apply Hl.
  Qed.
  Lemma heap_due h d p v : heap_cells h d -> heap_cells (Heap (free h) (upd p v (due h)) (event_at h) (place_of h)) (<[heap_cell "when" cpu p := v]> d).
  Proof using.
    intros (Hf & Hh & Hl). split_and!; [|intros q Hq|intros x Hx]; cbn [free due event_at place_of].
    1,3: rewrite !own_lookup_ne by (unfold field_cell; congruence); first [done|by apply Hl].
    destruct (Hh q Hq) as [H1 H2]. split; [|by rewrite own_lookup_ne by (unfold field_cell; congruence)].
    destruct (Z.eq_dec q p) as [->|]; [rewrite upd_same; apply own_lookup|]. by rewrite upd_other, own_lookup_ne by (done || (unfold field_cell; intros [=]; lia)).
  Qed.
  Lemma not_heap x : heap_owns cpu mine x -> (exists p f, x = ("sched_heap"%string, p, f, 0)) \/ x = cpu_cell "events" cpu \/ exists e, x = event_cell "place" e.
  Proof using. unfold heap_owns, field_cell. intros [->|[(p & f & _ & ->)|(e & _ & ->)]]; eauto. Qed.
  Lemma heap_write h d x v : heap_cells h d -> ~ heap_owns cpu mine x -> heap_cells h (<[x := v]> d).
  Proof using.
    intros (H1 & H2 & H3) Hx. split_and!; [|intros p Hp; split|intros e He]; (rewrite own_lookup_ne; [first [done|by apply H2|by apply H3]|]); intros ->; apply Hx;
      [by left|right; left; by eauto..|right; right; by eauto].
  Qed.
  (** Whatever only the heap's functions write, the rest of the state stays. *)
  Lemma events_heap m m' k a d d' : events m k a d -> heap_only d d' -> events_ok mine m' -> (exists h, heap_cells h d' /\ heap_valid h m') -> events m' k a d'.
  Proof using.
    intros (Hok & Hk & Ha & _) Hd Hok' Hh. split_and!; [done|intros e He|..|done]; (rewrite Hd; [auto|]);
      intros [(p & f & E)|[E|(x & E)]]%not_heap; unfold field_cell in E; congruence.
  Qed.
  Lemma only_heap d d' : heap_only d d' -> events_only d d'.
  Proof using. intros H x Hx. apply H. intros Ho. apply Hx. by left. Qed.
  Lemma only_trans d d1 d2 : events_only d d1 -> events_only d1 d2 -> events_only d d2.
  Proof using. intros H1 H2 x Hx. by rewrite H2, H1. Qed.
  Lemma only_write d d1 x v : events_only d d1 -> events_owns cpu mine x -> events_only d (<[x := v]> d1).
  Proof using. intros H Hx y Hy. rewrite own_lookup_ne by congruence. by apply H. Qed.
  Lemma delete_ok m e : events_ok mine m -> events_ok mine (delete e m).
  Proof using. intros H x u [_ Hx]%lookup_delete_Some. by apply (H x). Qed.
  Lemma set_ok m e t : events_ok mine m -> mine e -> 0 <= t <= timer_never -> events_ok mine (<[e := t]> m).
  Proof using. intros H He Ht x u [[<- <-]|[_ Hx]]%lookup_insert_Some; [done|by apply (H x)]. Qed.

  (** ** The functions *)
  Theorem sched_event_cancel_triple e m k a d : mine e -> events m k a d ->
    triple "sched_event_cancel" [e] d (fun w d' => w = 0 /\ events m (upd e 1 k) a d' /\ events_only d d').
  Proof using HM.
    intros He (Hok & Hk & Ha & h & Hh & Hv). pose proof (Hk e He) as Hke. unfold field_cell in Hke. enter sched_event_cancel_code. step. split; [done|]. split.
    - split_and!; [done| | |exists h; split; [|done]].
      + intros x Hx. unfold upd. destruct (Z.eqb_spec x e) as [->|]; [apply own_lookup|]. rewrite own_lookup_ne by (unfold field_cell; congruence). auto.
      + by rewrite own_lookup_ne by (unfold field_cell; congruence).
      + apply heap_write; [done|]. intros [(q & f & E)|[E|(x & E)]]%not_heap; unfold field_cell in E; congruence.
    - apply only_write; [done|]. right. right. by exists e.
  Qed.

  Theorem sched_event_first_triple m k a d : events m k a d ->
    triple "sched_event_first" [cpu] d (fun w d' => earliest m w /\ d' = d).
  Proof using HM Hcpu.
    intros (Hok & Hk & Ha & h & Hh & Hv). pose proof Hh as (Hf & _ & _). enter sched_event_first_code.
    step. call sched_cpu_events_triple; [exact HM|exact Hf|]. step. step. destruct (root_earliest h m Hv) as [[E ->]|(E & E1 & E2)].
    - rewrite E, Z.eqb_refl. step. split; [by left|done].
    - rewrite (proj2 (Z.eqb_neq _ 3)) by (constants; lia). do 2 step. call (sched_heap_when_triple kernel_entry M this HM cpu Hcpu mine SCHED_HEAP_ROOT h); [done|constants; lia|].
      step. split; [right|done]. split; [by eexists|done].
  Qed.

  Theorem sched_event_remove_triple e m k a d : mine e -> events m k a d ->
    triple "sched_event_remove" [cpu; e] d (fun w d' => w = 0 /\ events (delete e m) k a d' /\ heap_only d d').
  Proof using HM Hcpu.
    intros He Hev. pose proof Hev as (Hok & Hk & Ha & h & Hh & Hv). pose proof Hh as (Hf & _ & Hpl). pose proof (Hpl e He) as Hp. unfold field_cell in Hp.
    pose proof Hv as (Hfit & (Hin & _ & Hno) & _). enter sched_event_remove_code. do 4 step. destruct (m !! e) as [t|] eqn:Em.
    2: { rewrite (Hno e Em), Z.eqb_refl. step. rewrite delete_notin by done. by split_and!. }
    destruct (event_place h m Hv e t Em) as (Hpr & Epe & Ept). pose proof (shorter_fits h m Hv e t Em) as Hfit'. unfold fits in Hfit, Hfit'. cbn [shorter free] in Hfit'.
    set (p := place_of h e) in *. rewrite (proj2 (Z.eqb_neq p 0)) by (constants; lia). step.
    step. call sched_cpu_events_triple; [exact HM|exact Hf|]. do 2 step.
    assert (wrap W32 (free h - 1) = free h - 1) as -> by (constants; apply Z.mod_small; cbn [bits]; lia). set (l := free h - 1) in *.
    step. call sched_cpu_set_events_triple; [exact HM|by eexists|]. pose proof (heap_free h d l Hh) as H1. set (d1 := <[_ := l]> d) in *.
    assert (heap_only d d1) as O1 by (apply heap_only_write; [done|by left]). clearbody d1.
    pose proof (heap_place cpu mine _ _ e H1 He) as Hp1. do 2 step. pose proof (heap_out _ _ e 0 H1) as H2. cbn [free due event_at place_of] in H2. unfold field_cell at 1 in H2.
    set (d2 := <[_ := 0]> d1) in *. assert (heap_only d d2) as O2 by (apply heap_only_write; [done|right; right; by exists e]). clearbody d2. clear H1 Hp1.
    assert (0 <= l < SCHED_HEAP_PLACES) as Hl by (constants; lia). pose proof (heap_when cpu Hcpu mine _ _ l H2 Hl) as Hw. pose proof (heap_event cpu Hcpu mine _ _ l H2 Hl) as Hx.
    cbn [due event_at] in Hw, Hx. pose proof (heap_due _ _ l timer_never H2) as H3. cbn [free due event_at place_of] in H3.
    rewrite <- (heap_index cpu Hcpu l Hl) in H3. unfold field_cell at 1 in H3. change timer_never with 18446744073709551615 in H3 at 2.
    do 2 step. destruct (Z.eqb_spec p l) as [Epl|Hpl'].
    { do 3 step. split; [done|]. assert (heap_only d (<[("sched_heap"%string, wrap W32 (wrap W32 (cpu * 292) + l), "when"%string, 0) := 18446744073709551615]> d2)) as O3.
      { apply heap_only_write; [done|]. right. left. exists l, "when"%string. rewrite heap_index by done. by split. }
      split; [|done]. eapply events_heap; [exact Hev|exact O3|by apply delete_ok|]. exists (shorter h e). split; [exact H3|]. by eapply remove_last. }
    do 4 step. call (sched_heap_when_triple kernel_entry M this HM cpu Hcpu mine l _ d2 H2 Hl). cbn [due]. do 2 step.
    set (d3 := <[_ := 18446744073709551615]> d2) in *.
    assert (heap_only d d3) as O3.
    { apply heap_only_write; [done|]. right. left. exists l, "when"%string. rewrite heap_index by done. by split. }
    clearbody d3. fold (shorter h e) in H3. change (Heap l (upd l timer_never (due h)) (event_at h) (upd e 0 (place_of h))) with (shorter h e) in H3.
    assert (moving cpu mine d (delete e m) l p (event_at h l) (due h l) (shorter h e) d3) as Hmv.
    { split_and!; [exact H3|done|by eapply remove_contains|by eapply remove_free|lia|unfold l in *; lia|exact O3]. }
    assert (0 <= due h l <= timer_never) as Hdl.
    { destruct (Hin l) as [E _]; [unfold l in *; constants; lia|]. by apply (Hok _ _ E). }
    assert (forall d', moved cpu mine d (delete e m) l d' -> events (delete e m) k a d' /\ heap_only d d') as Hend.
    { intros d' (h' & Hh' & _ & Hv' & Hd'). split; [|exact Hd']. eapply events_heap; [exact Hev|exact Hd'|by apply delete_ok|by exists h']. }
    assert (SCHED_HEAP_ROOT <= l <= SCHED_HEAP_ROOT + SCHED_NUM_EVENT) as Hl' by (constants; lia).
    pose proof (parent_children p) as Pp. do 4 step. unfold SCHED_HEAP_ROOT in *. destruct (Z.ltb_spec 3 p).
    - step. call (sched_heap_parent_triple kernel_entry M this HM p); [constants; lia|].
      call (sched_heap_when_triple kernel_entry M this HM cpu Hcpu mine (parent p) _ d3 H3); [constants; lia|]. rewrite shorter_due by (unfold l in *; lia).
      step. destruct (Z.ltb_spec (due h l) (due h (parent p))).
      + eapply owned_call_whole; [evaluate|eapply sched_heap_up_triple; [exact HM|exact Hcpu|by apply delete_ok|exact Hl'|exact Hmv|by eapply remove_rising]|].
        intros w d' [-> Hd']. split; [done|]. by apply Hend.
      + eapply owned_call_whole; [evaluate|eapply sched_heap_down_triple; [exact HM|exact Hcpu|by apply delete_ok|exact Hl'|exact Hmv|by eapply remove_sinking|exact Hdl]|].
        intros w d' [-> Hd']. split; [done|]. by apply Hend.
    - do 2 step. rewrite (proj2 (Z.ltb_ge _ 0)) by lia.
      eapply owned_call_whole; [evaluate|eapply sched_heap_down_triple; [exact HM|exact Hcpu|by apply delete_ok|exact Hl'|exact Hmv|eapply remove_sinking; [done..|unfold SCHED_HEAP_ROOT; lia]|exact Hdl]|].
      intros w d' [-> Hd']. split; [done|]. by apply Hend.
  Qed.

  Theorem sched_event_take_triple now m k a d : now < timer_never -> events m k a d ->
    triple "sched_event_take" [cpu; now] d (fun v d' => exists m', taken now m k v m' /\ events m' k a d' /\ heap_only d d').
  Proof using HM Hcpu.
    intros Hnow Hev. pose proof Hev as (Hok & Hk & Ha & h & Hh & Hv). enter sched_event_take_code.
    step. eapply owned_call_whole; [evaluate|by eapply sched_event_first_triple|]. intros first d' [Hfirst ->]. locals_simpl. do 2 step.
    destruct (root_earliest h m Hv) as [[_ ->]|(Hf & Hroot & Hmin)].
    { destruct Hfirst as [[_ ->]|[(e & He) _]]; [|done]. rewrite (proj2 (Z.ltb_lt _ _)) by done. step. exists ∅. split_and!; [|done..]. left. by split_and!. }
    assert (first = due h SCHED_HEAP_ROOT) as ->.
    { destruct Hfirst as [[-> _]|[(e & He) Hle]]; [done|]. pose proof (Hmin _ _ He). pose proof (Hle _ _ Hroot). lia. }
    set (t := due h SCHED_HEAP_ROOT) in *. destruct (Z.ltb_spec now t) as [Hlt|Hge].
    { step. exists m. split_and!; [|done..]. left. split_and!; [done..|]. intros e u He. pose proof (Hmin _ _ He). lia. }
    pose proof (heap_event cpu Hcpu mine h d 3 Hh ltac:(constants; lia)) as Hx. set (e := event_at h 3) in *. change (event_at h SCHED_HEAP_ROOT) with e in Hroot.
    assert (mine e) as He by (by apply (Hok _ _ Hroot)). do 4 step.
    eapply owned_call_whole; [evaluate|by eapply sched_event_remove_triple|]. intros w d' (-> & Hev' & Hd'). locals_simpl.
    pose proof Hev' as (_ & Hk' & _). pose proof (Hk' e He) as Hke. unfold field_cell in Hke. locals_plain. do 2 step.
    assert (taken now m k (if k e =? 1 then NONE else e) (delete e m)) as Ht by (right; exists e, t; by split_and!).
    destruct (k e =? 1); repeat step; exists (delete e m); by split_and!.
  Qed.

  Theorem sched_event_when_triple e m k a d : mine e -> events m k a d -> d !! field_cell "thread" (e mod NUM_THREAD) "cpu" = Some cpu ->
    triple "sched_event_when" [e] d (fun v d' => v = default timer_never (pending m k !! e) /\ d' = d).
  Proof using HM HT Hcpu.
    intros He (Hok & Hk & Ha & h & Hh & Hv) Ht. pose proof (Hk e He) as Hke. unfold field_cell in Hke. pose proof (heap_place cpu mine h d e Hh He) as Hp.
    pose proof Hv as (_ & (_ & _ & Hno) & _). unfold pending. enter sched_event_when_code. do 4 step. destruct (m !! e) as [t|] eqn:Em.
    - destruct (event_place h m Hv e t Em) as (Hpr & _ & <-). pose proof Hv as (Hfit & _). unfold fits in Hfit. constants.
      rewrite (proj2 (Z.eqb_neq (place_of h e) 0)) by lia. cbn [orb]. destruct (Z.eqb_spec (k e) 1) as [E|E].
      + step. rewrite map_filter_lookup, Em. cbn. by rewrite option_guard_False by auto.
      + do 4 walk. call (thread_cpu_triple kernel_entry M this HT); [exact Ht|].
        step. call (sched_heap_when_triple kernel_entry M this HM cpu Hcpu mine (place_of h e) h d Hh); [constants; lia|]. step.
        rewrite map_filter_lookup, Em. cbn. by rewrite option_guard_True.
    - rewrite (Hno e Em), Z.eqb_refl. cbn [orb]. step. by rewrite map_filter_lookup, Em.
  Qed.

  (** ** Setting an event, and the alarm *)
  Context (quiet : cprim -> Prop) (timer : mem -> Prop).
  Notation timed := (timed quiet kernel_entry M this).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).

  Lemma alarm_events m k a t d : events m k a d -> events m k (Z.min a t) (alarm_by cpu t a d).
  Proof using.
    intros (Hok & Hk & Ha & h & Hh & Hv). unfold alarm_by. destruct (Z.ltb_spec t a).
    - rewrite Z.min_r by lia. split_and!; [done|intros x Hx; rewrite own_lookup_ne by (unfold field_cell; congruence); auto|apply own_lookup|].
      exists h. split; [|done]. apply heap_write; [done|]. intros [(q & f & E)|[E|(x & E)]]%not_heap; unfold field_cell in E; congruence.
    - rewrite Z.min_l by lia. split_and!; [done..|by exists h].
  Qed.
  Lemma alarm_only a t d d1 : events_only d d1 -> events_only d (alarm_by cpu t a d1).
  Proof using. intros H. unfold alarm_by. destruct (t <? a); [|done]. apply only_write; [done|]. right. by left. Qed.
  (** What is left after [sched_event_add] and [sched_event_set]: [e'] is the timer's. *)
  Definition event_set (e t : Z) (m : gmap Z Z) (k : Z -> Z) (a : Z) (d m' : mem) : Prop :=
    exists d' e', timer e' /\ d' ##ₘ e' /\ m' = d' ∪ e' /\ events (<[e := t]> m) k (Z.min a t) d' /\ events_only d d'.
  Lemma wants_alarm Qb Qr r (d d1 e : mem) ev t m k a : d1 ##ₘ e -> timer e -> events (<[ev := t]> m) k a d1 -> events_only d d1 ->
    during quiet kernel_entry M this (Call None "sched_alarm_want" [Var 0; Var 2]) (fun _ m' => 0 = 0 /\ event_set ev t m k a d m') Qb Qr (cpu :: ev :: t :: r) (d1 ∪ e).
  Proof using HM timer_arms.
    intros Hde He Hev Hd. pose proof Hev as (_ & _ & Ha & _).
    eapply during_call_whole; [evaluate|by apply (sched_alarm_want_timed kernel_entry M this HM quiet timer timer_arms d1 e cpu t a)|].
    intros w m' [-> (e' & He' & Hd' & ->)]. split; [done|]. eexists _, e'. split_and!; [done|exact Hd'|done|by apply alarm_events|by apply alarm_only].
  Qed.

  Theorem sched_event_add_timed ev t m k a (d e : mem) : d ##ₘ e -> timer e -> mine ev -> 0 <= t <= timer_never -> events m k a d -> m !! ev = None ->
    timed "sched_event_add" [cpu; ev; t] (d ∪ e) (fun v m' => v = 0 /\ event_set ev t m k a d m').
  Proof using HM Hcpu mine_small timer_arms.
    intros Hde Ht Hmine Hbound Hev Hno. pose proof Hev as (Hok & Hk & Ha & h & Hh & Hv). pose proof Hh as (Hf & _). pose proof Hv as (Hfit & _). unfold fits in Hfit.
    pose proof (room mine h m ev mine_small Hv Hok Hmine Hno) as Hroom. eapply timed_body; [by apply HM|done|]. unfold sched_event_add_code. locals_simpl.
    timed_step. eapply during_call; [evaluate|exact Hde|apply triple_timed, sched_cpu_events_triple; [exact HM|exact Hf]|]. intros w d1 [-> ->] _. locals_simpl.
    timed_step. eapply during_call; [evaluate|exact Hde|apply triple_timed, sched_cpu_set_events_triple; [exact HM|by eexists]|]. intros w d1 [-> ->] Hd1. locals_simpl.
    rewrite wrap32_next in * by (constants; lia). pose proof (heap_free h d (free h + 1) Hh) as H1. fold (longer h) in H1.
    timed_step. eapply during_call; [evaluate|exact Hd1|apply triple_timed; eapply (sched_heap_up_triple kernel_entry M this HM cpu Hcpu mine (<[ev := t]> m) ltac:(by apply set_ok) (free h + 1) ltac:(constants; lia) _ _ _ (longer h) d)|].
    { split_and!; [exact H1|done|by apply add_contains|by eapply add_free|lia|lia|]. apply heap_only_write; [done|by left]. }
    { by eapply add_rising. }
    intros w d2 (-> & h2 & Hh2 & _ & Hv2 & Hd2) Hde2. locals_simpl. apply wants_alarm; [done|done| |by apply only_heap].
    eapply events_heap; [exact Hev|exact Hd2|by apply set_ok|by exists h2].
  Qed.

  Theorem sched_event_set_timed ev t m k a (d e : mem) : d ##ₘ e -> timer e -> mine ev -> 0 <= t <= timer_never -> events m k a d ->
    timed "sched_event_set" [cpu; ev; t] (d ∪ e) (fun v m' => v = 0 /\ event_set ev t m (upd ev 0 k) a d m').
  Proof using HM Hcpu mine_small timer_arms.
    intros Hde Ht Hmine Hbound Hev. pose proof Hev as (Hok & Hk & Ha & h & Hh & Hv). pose proof (own_read d e _ _ (heap_place cpu mine h d ev Hh Hmine)) as Hp.
    pose proof (own_read d e _ _ (Hk ev Hmine)) as Hke. unfold field_cell in Hke. eapply timed_body; [by apply HM|done|]. unfold sched_event_set_code. locals_simpl. do 6 timed_step.
    rewrite own_write. set (d0 := <[_ := 0]> d).
    assert (heap_cells h d0) as Hh0.
    { apply heap_write; [done|]. intros [(q & f & E)|[E|(x & E)]]%not_heap; unfold field_cell in E; congruence. }
    assert (events m (upd ev 0 k) a d0 /\ events_only d d0 /\ d0 ##ₘ e) as (Hev0 & Hd0 & Hde0).
    { split_and!; [split_and!; [done| | |by exists h]| |].
      - intros x Hx. unfold upd. destruct (Z.eqb_spec x ev) as [->|]; [apply own_lookup|]. unfold d0. rewrite own_lookup_ne by (unfold field_cell; congruence). auto.
      - unfold d0. by rewrite own_lookup_ne by (unfold field_cell; congruence).
      - apply only_write; [done|]. right. right. by exists ev.
      - apply own_write_disjoint; [by eexists; apply (Hk ev Hmine)|done]. }
    clearbody d0. clear Hke Hp Hev Hk Ha Hh. pose proof Hh0 as (Hf & _ & _). pose proof Hv as (Hfit & (_ & _ & Hout) & _). unfold fits in Hfit.
    assert (forall d2 n, events_only d d2 -> moved cpu mine d0 (<[ev := t]> m) n d2 -> d2 ##ₘ e -> forall Qb Qr r,
      during quiet kernel_entry M this (Call None "sched_alarm_want" [Var 0; Var 2]) (fun _ m' => 0 = 0 /\ event_set ev t m (upd ev 0 k) a d m') Qb Qr (cpu :: ev :: t :: r) (d2 ∪ e)) as Hend.
    { intros d2 n Ho (h2 & Hh2 & _ & Hv2 & Hd2) Hde2 Qb Qr r. apply wants_alarm; [done|done| |done].
      eapply events_heap; [exact Hev0|exact Hd2|by apply set_ok|by exists h2]. }
    timed_step. timed_step. destruct (m !! ev) as [old|] eqn:Em.
    - destruct (event_place h m Hv ev old Em) as (Hpr & Epe & Ept). rewrite (proj2 (Z.eqb_neq (place_of h ev) 0)) by (constants; lia). cbn [negb].
      eapply during_call; [evaluate|exact Hde0|apply triple_timed, (sched_heap_when_triple kernel_entry M this HM cpu Hcpu mine (place_of h ev) h d0 Hh0); constants; lia|].
      intros w d1 [-> ->] _. locals_simpl. rewrite Ept. do 2 timed_step.
      assert (moving cpu mine d0 (<[ev := t]> m) (free h) (place_of h ev) ev t h d0) as Hmv by (split_and!; [done|done|by eapply set_contains|by eapply set_free|lia..|done]).
      destruct (Z.leb_spec t old).
      + eapply during_call; [evaluate|exact Hde0|apply triple_timed; eapply (sched_heap_up_triple kernel_entry M this HM cpu Hcpu mine _ ltac:(by apply set_ok) (free h) Hfit); [exact Hmv|by eapply set_rising]|].
        intros w d2 (-> & Hd2) Hde2. locals_simpl. eapply Hend; [|exact Hd2|done]. eapply only_trans; [exact Hd0|]. destruct Hd2 as (? & _ & _ & _ & ?). by apply only_heap.
      + eapply during_call; [evaluate|exact Hde0|apply triple_timed; eapply (sched_heap_down_triple kernel_entry M this HM cpu Hcpu mine _ ltac:(by apply set_ok) (free h) Hfit); [exact Hmv|eapply set_sinking; [done..|lia]|done]|].
        intros w d2 (-> & Hd2) Hde2. locals_simpl. eapply Hend; [|exact Hd2|done]. eapply only_trans; [exact Hd0|]. destruct Hd2 as (? & _ & _ & _ & ?). by apply only_heap.
    - rewrite (Hout ev Em), Z.eqb_refl. pose proof (room mine h m ev mine_small Hv Hok Hmine Em) as Hroom.
      timed_step. eapply during_call; [evaluate|exact Hde0|apply triple_timed, sched_cpu_events_triple; [exact HM|exact Hf]|]. intros w d1 [-> ->] _. locals_simpl.
      eapply during_call; [evaluate|exact Hde0|apply triple_timed, sched_cpu_set_events_triple; [exact HM|by eexists]|]. intros w d1 [-> ->] Hd1. locals_simpl.
      rewrite wrap32_next in * by (constants; lia). pose proof (heap_free h d0 (free h + 1) Hh0) as H1. fold (longer h) in H1.
      do 2 timed_step. rewrite (proj2 (Z.leb_le _ _)) by (unfold timer_never in Hbound; lia).
      eapply during_call; [evaluate|exact Hd1|apply triple_timed; eapply (sched_heap_up_triple kernel_entry M this HM cpu Hcpu mine (<[ev := t]> m) ltac:(by apply set_ok) (free h + 1) ltac:(constants; lia) _ _ _ (longer h) d0)|].
      { split_and!; [exact H1|done|by apply add_contains|by eapply add_free|lia|lia|]. apply heap_only_write; [done|by left]. }
      { by eapply add_rising. }
      intros w d2 (-> & Hd2) Hde2. locals_simpl. eapply Hend; [|exact Hd2|done]. eapply only_trans; [exact Hd0|]. destruct Hd2 as (? & _ & _ & _ & ?). by apply only_heap.
  Qed.
End proof.
