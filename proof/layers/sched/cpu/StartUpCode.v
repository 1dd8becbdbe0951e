(** Start-up: the calls that leave memory as [StartUp.v] says, and what each CPU begins with. *)
From Ashlar Require Export layers.sched.cpu.StartUp.
Local Open Scope Z_scope.
Local Opaque gmap_lookup gmap_partial_alter.

(** An element of a list that is written out. *)
Ltac listed := repeat first [by left|right].

Lemma initial_fields t names d : has_fields "thread" t names d -> has_fields "thread" t names (threads_initial d).
Proof. intros H. unfold threads_initial. by do 2 apply filled_keeps. Qed.

(** ** What [sched_init] leaves of the scheduler's objects *)
Lemma fresh_apart o d x : x.1.1.1 = o -> o <> "sched_reservation"%string -> o <> "sched_event"%string -> o <> "sched_heap"%string ->
  sched_fresh d !! x = filled "sched_cpu" no_events 0 NUM_CPU (filled "sched_cpu" cpu_fresh 0 NUM_CPU d) !! x.
Proof. intros Hx H1 H2 H3. unfold sched_fresh, events_fresh. rewrite (filled_other "sched_reservation"), (filled_other "sched_event"), (filled_other "sched_heap"); [done|..]; intros u f _ ->; unfold field_cell in Hx; cbn in Hx; congruence. Qed.
Lemma fresh_cpu c d : 0 <= c < NUM_CPU -> Structs.holds "sched_cpu" c (set_field "events" SCHED_HEAP_ROOT (cpu_fresh c)) (sched_fresh d).
Proof.
  intros Hc. unfold Structs.holds. cbn [set_field cpu_fresh String.eqb Ascii.eqb Bool.eqb].
  repeat (constructor; [cbn [fst snd]; etrans; [by apply (fresh_apart "sched_cpu")|]|]); try constructor.
  all: first [apply filled_value; [done|names|by left]|rewrite filled_unwritten by unwritten; apply filled_value; [done|names|cbn; names]].
Qed.
Lemma fresh_reservation t d : 0 <= t < NUM_THREAD -> Structs.holds "sched_reservation" t (reservation_fields unreserved) (sched_fresh d).
Proof. intros Ht. apply Forall_forall. intros [f v] Hf. by apply filled_value; [|apply reservation_names|]. Qed.
Lemma fresh_event e d : 0 <= e < SCHED_NUM_EVENT -> Structs.holds "sched_event" e (unset e) (sched_fresh d).
Proof.
  intros He. apply Forall_forall. intros [f v] Hf. unfold sched_fresh, events_fresh. rewrite filled_other by (intros u g _ [=]). apply filled_value; [done|names|exact Hf].
Qed.
Lemma fresh_heap i d : event_cells d -> 0 <= i < SCHED_HEAP_ALL ->
  sched_fresh d !! field_cell "sched_heap" i "when" = Some timer_never /\ is_Some (sched_fresh d !! field_cell "sched_heap" i "event").
Proof.
  intros (_ & Hh & _) Hi. unfold sched_fresh, events_fresh. split.
  - rewrite !(filled_other "sched_reservation"), !(filled_other "sched_event") by (intros u g _ [=]). apply filled_value; [done|names|by left].
  - assert (has_fields "sched_heap" i ["when"; "event"]%string (sched_fresh d)) as H by (unfold sched_fresh, events_fresh; do 5 apply filled_keeps; by apply Hh).
    apply (has_field _ _ _ _ "event" H). names.
Qed.

Lemma fresh_map d x : ready_maps x -> sched_fresh d !! x = d !! x.
Proof.
  intros (c & _ & H). assert (x.1.1.1 = "sched_ready_map"%string) as Hx by (destruct H as [(i & _ & ->)|[-> | ->]]; done).
  rewrite (fresh_apart "sched_ready_map") by done. rewrite !filled_other; [done|..]; intros u f _ ->; done.
Qed.
Local Opaque queue_initial sched_fresh threads_initial.

Section start.
  Context (home base time_period time_budget : Z -> Z).
  Notation left_by_start_up := (left_by_start_up home base time_period time_budget).
  Notation thread_left := (thread_left home base).
  Notation reserved_at_start := (reserved_at_start time_period time_budget).
  Context (process : Z -> Z) (defined : list Z).
  (** Threads that the system does not have are as [thread_init] makes them. *)
  Context (defined_bound : forall t, t ∈ defined -> NUM_CPU <= t < NUM_THREAD).
  Context (home_idle : forall t, 0 <= t < NUM_CPU -> home t = t /\ base t = 0) (rest_undefined : forall t, NUM_CPU <= t < NUM_THREAD -> t ∉ defined -> home t = 0 /\ base t = 0).
  Context (no_budget : forall t, t ∉ defined \/ time_period t = 0 -> time_period t = 0 /\ time_budget t = 0).
  (** The cells of the objects, whatever they contain: of queues, threads, the scheduler, and its bitmaps. *)
  Record start_cells (dq dt ds dm : mem) : Prop := {
    cells_queue : exactly (queue_cells queue_initial) dq;
    cells_thread : forall t, 0 <= t < NUM_THREAD -> has_fields "thread" t thread_fields dt;
    cells_events : event_cells ds;
    cells_cpus : forall c, 0 <= c < NUM_CPU -> has_fields "sched_cpu" c cpu_fields ds;
    cells_reservations : forall t, 0 <= t < NUM_THREAD -> has_fields "sched_reservation" t (reservation_fields unreserved).*1 ds;
    cells_maps : exactly ready_maps dm }.


  (** *** Threads *)
  Definition thread_made (l : list Z) (t : Z) : list (string * Z) :=
    if bool_decide (t ∈ l) then thread_left t
    else [("cpu", if Z.ltb t NUM_CPU then t else 0); ("priority", 0); ("base_priority", 0); ("state", if Z.ltb t NUM_CPU then THREAD_RUNNING else THREAD_UNUSED); ("root", NONE)]%string.
  Definition threads_made (l : list Z) (d : mem) : Prop :=
    forall t, 0 <= t < NUM_THREAD -> has_fields "thread" t thread_fields d /\ Structs.holds "thread" t (thread_made l t) d.
  Lemma threads_made_none d : (forall t, 0 <= t < NUM_THREAD -> has_fields "thread" t thread_fields d) -> threads_made [] (threads_initial d).
  Proof using.
    intros H t Ht. split; [by apply initial_fields, H|]. unfold thread_made. rewrite bool_decide_eq_false_2 by apply not_elem_of_nil.
    unfold Structs.holds. destruct (Z.ltb_spec t NUM_CPU) as [Hlt|Hge]; repeat (constructor; [cbn [fst snd]|]); try constructor.
    1-5: apply threads_initial_idle; [lia|]; unfold thread_idle, thread_new; cbn [set_field String.eqb Ascii.eqb Bool.eqb]; listed.
    all: apply threads_initial_undefined; [lia|]; unfold thread_undefined, thread_new; listed.
  Qed.
  Lemma threads_made_more l t d : NUM_CPU <= t -> threads_made l d -> threads_made (t :: l) (store_fields "thread" t (thread_new (process t) (home t) (base t)) d).
  Proof using.
    intros Hge H u Hu. destruct (H u Hu) as [H1 H2]. split; [by apply store_fields_has|]. destruct (decide (u = t)) as [->|Hne].
    - unfold thread_made. rewrite bool_decide_eq_true_2 by left. unfold thread_left. rewrite (proj2 (Z.ltb_ge _ _)) by done. unfold Structs.holds.
      repeat (constructor; [cbn [fst snd]; apply store_fields_value; [apply thread_fields_distinct|unfold thread_new; listed]|]). constructor.
    - unfold thread_made in *. rewrite (bool_decide_ext (u ∈ t :: l) (u ∈ l)) by (rewrite elem_of_cons; split; [intros [->|?]; done|by right]). apply Structs.holds_store_other; [congruence|exact H2].
  Qed.
  Lemma threads_all_made d : threads_made (rev defined) d -> forall t, 0 <= t < NUM_THREAD -> Structs.holds "thread" t (thread_left t) d.
  Proof using home_idle rest_undefined defined_bound.
    intros H t Ht. destruct (H t Ht) as [_ H2]. unfold thread_made in H2. case_bool_decide as Hin; [exact H2|]. rewrite elem_of_list_In, <- in_rev, <- elem_of_list_In in Hin.
    unfold thread_left. destruct (Z.ltb_spec t NUM_CPU) as [Hlt|Hge]; [destruct (home_idle t) as [-> ->]|destruct (rest_undefined t) as [-> ->]]; [lia|exact H2|lia|done|exact H2].
  Qed.

  (** *** The calls *)
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd) (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).

  (** These calls one after the other. *)
  Fixpoint calls_leave (l : list (string * list Z)) (d : mem) (post : mem -> Prop) : Prop :=
    match l with [] => post d | (f, args) :: l => triple f args d (fun _ d' => calls_leave l d' post) end.
  (** A thread without a reservation has period 0. *)
  Definition define_call (t : Z) : list (string * list Z) := ("thread_define"%string, [t; process t; home t; base t]) ::
    (if time_period t =? 0 then [] else [("sched_reserve"%string, [t; time_period t; time_budget t])]).
  Definition define_calls (l : list Z) : list (string * list Z) := l ≫= define_call.
  Definition start_up_calls : list (string * list Z) := [("queue_init", []); ("thread_init", []); ("sched_init", [])]%string ++ define_calls defined.

  Lemma calls_mono l d (P Q : mem -> Prop) : (forall d, P d -> Q d) -> calls_leave l d P -> calls_leave l d Q.
  Proof using. revert d. induction l as [|[f args] l IH]; intros d HPQ H; [by apply HPQ|]. eapply triple_mono; [|exact H]. intros v d' Hd. by apply IH. Qed.
  Lemma calls_app l l' d P : calls_leave l d (fun d' => calls_leave l' d' P) -> calls_leave (l ++ l') d P.
  Proof using. revert d. induction l as [|[f args] l IH]; intros d H; [exact H|]. eapply triple_mono; [|exact H]. intros v d' Hd. by apply IH. Qed.
  (** The scheduler's cells, when the threads [l] have been defined: all but reservations are as [sched_init] has left them. *)
  Definition sched_made (l : list Z) (d0 d : mem) : Prop :=
    (forall x, x.1.1.1 <> "sched_reservation"%string -> d !! x = sched_fresh d0 !! x) /\
    (forall t, 0 <= t < NUM_THREAD -> reserved t (if bool_decide (t ∈ l) then reserved_at_start t else unreserved) d).
  Lemma sched_made_none d0 : sched_made [] d0 (sched_fresh d0).
  Proof using. split; [done|]. intros t Ht. rewrite bool_decide_eq_false_2 by apply not_elem_of_nil. by apply fresh_reservation. Qed.
  Lemma sched_made_more l t d0 d : 0 <= t < NUM_THREAD -> sched_made l d0 d -> sched_made (t :: l) d0 (stored t (reserved_at_start t) d).
  Proof using.
    intros Ht [H1 H2]. split.
    - intros x Hx. unfold stored. rewrite store_fields_other; [by apply H1|]. by intros f ->.
    - intros u Hu. destruct (decide (u = t)) as [->|Hne]; [rewrite bool_decide_eq_true_2 by left; apply stored_reserved|].
      rewrite (bool_decide_ext (u ∈ t :: l) (u ∈ l)) by (rewrite elem_of_cons; split; [intros [->|?]; done|by right]).
      apply Structs.holds_store_other; [congruence|by apply H2].
  Qed.
  Lemma sched_made_same l t d0 d : reserved_at_start t = unreserved -> sched_made l d0 d -> sched_made (t :: l) d0 d.
  Proof using.
    intros E [H1 H2]. split; [done|]. intros u Hu. specialize (H2 u Hu). destruct (decide (u = t)) as [->|Hne].
    - rewrite bool_decide_eq_true_2 by left. rewrite E in *. by case_bool_decide; rewrite ?E in H2.
    - rewrite (bool_decide_ext (u ∈ t :: l) (u ∈ l)) by (rewrite elem_of_cons; split; [intros [->|?]; done|by right]). exact H2.
  Qed.
  Lemma none_reserved t : t ∉ defined \/ time_period t = 0 -> reserved_at_start t = unreserved.
  Proof using no_budget. intros H. destruct (no_budget t H) as [H1 H2]. unfold reserved_at_start. by rewrite H1, H2. Qed.
  Lemma sched_all_made d0 d : sched_made (rev defined) d0 d -> forall t, 0 <= t < NUM_THREAD -> reserved t (reserved_at_start t) d.
  Proof using no_budget.
    intros [_ H] t Ht. specialize (H t Ht). case_bool_decide as Hin; [exact H|]. rewrite elem_of_list_In, <- in_rev, <- elem_of_list_In in Hin. by rewrite none_reserved by (by left).
  Qed.
  Lemma define_leaves l done_ d0 dt s e : Forall (fun t => NUM_CPU <= t < NUM_THREAD) l -> threads_made done_ dt -> sched_made done_ d0 s -> dt ##ₘ s ∪ e -> s ##ₘ e ->
    calls_leave (define_calls l) (dt ∪ (s ∪ e)) (fun d => exists dt' s', d = dt' ∪ (s' ∪ e) /\ dt' ##ₘ s' ∪ e /\ s' ##ₘ e /\
      threads_made (rev l ++ done_) dt' /\ sched_made (rev l ++ done_) d0 s').
  Proof using HT HM no_budget.
    revert done_ dt s. induction l as [|t l IH]; intros done_ dt s Hl Hm Hs Hd He; [by exists dt, s|]. apply Forall_cons in Hl as [Ht Hl].
    assert (0 <= t < NUM_THREAD) as Ht0 by (unfold NUM_CPU in *; lia). destruct (Hm t Ht0) as [Hf _].
    unfold define_calls. cbn [mbind list_bind]. apply calls_app. unfold define_call. cbn [calls_leave].
    eapply triple_mono; [|apply triple_frame; [exact Hd|by apply (thread_define_triple kernel_entry M this HT)]]. cbn beta. intros v d (dt1 & [_ ->] & Hd1 & ->).
    pose proof (threads_made_more done_ t dt ltac:(lia) Hm) as Hm1. set (dt1 := store_fields _ _ _ dt) in *. clearbody dt1.
    assert (forall s1, dt1 ##ₘ s1 ∪ e -> s1 ##ₘ e -> sched_made (t :: done_) d0 s1 -> calls_leave (define_calls l) (dt1 ∪ (s1 ∪ e)) (fun d => exists dt' s',
      d = dt' ∪ (s' ∪ e) /\ dt' ##ₘ s' ∪ e /\ s' ##ₘ e /\ threads_made (rev (t :: l) ++ done_) dt' /\ sched_made (rev (t :: l) ++ done_) d0 s')) as Hrest.
    { intros s1 D1 D2 Hs1. eapply calls_mono; [|exact (IH (t :: done_) dt1 s1 Hl Hm1 Hs1 D1 D2)]. cbn beta.
      intros d (dt' & s' & H). exists dt', s'. cbn [rev]. by rewrite <- !app_assoc. }
    destruct (Z.eqb_spec (time_period t) 0) as [E|E]; cbn [calls_leave].
    - apply Hrest; [done..|]. apply sched_made_same; [apply none_reserved; by right|exact Hs].
    - apply map_disjoint_union_r in Hd1 as [D1 D2]. rewrite (assoc_L (∪) dt1), (map_union_comm dt1) by done. rewrite <- (assoc_L (∪)).
      pose proof (proj2 Hs t Ht0) as Hr. assert (exists x, reserved t x s /\ take_back t (Reservation (time_period t) (time_budget t) (time_left x) (period_end x) (debt x) (used x) (spends x) (exempt x)) = reserved_at_start t) as (x & Hx & Ex).
      { case_bool_decide; eexists; (split; [exact Hr|]); unfold reserved_at_start, take_back, set_spends, unreserved; cbn; by rewrite ?(proj2 (Z.eqb_neq _ _) E). }
      eapply triple_mono; [|apply triple_frame; [|by apply (sched_reserve_triple kernel_entry M this HM)]].
      2: { apply map_disjoint_union_r. split; [by symmetry|exact He]. }
      cbn beta. intros _ d (s1 & [_ ->] & D3 & ->). rewrite Ex in *. apply map_disjoint_union_r in D3 as [D3 D4]. rewrite (assoc_L (∪)), (map_union_comm _ dt1) by done. rewrite <- (assoc_L (∪)).
      apply Hrest; [apply map_disjoint_union_r; by split|done|]. by apply sched_made_more.
  Qed.

  (** *** All calls *)
  Lemma left_intro dq dt ds dm d0 : queue_rep queue_initial dq -> (forall t, 0 <= t < NUM_THREAD -> Structs.holds "thread" t (thread_left t) dt) -> event_cells d0 -> sched_made (rev defined) d0 ds ->
    (forall cpu s, 0 <= cpu < NUM_CPU -> (forall p, 0 <= p < NUM_PRIORITY -> ready_some s cpu p = false) -> ready_map_rep cpu s (cells_of cpu dm)) ->
    forall d, dq ⊆ d -> dt ⊆ d -> ds ⊆ d -> dm ⊆ d -> left_by_start_up d.
  Proof using no_budget.
    intros (_ & _ & Hq & Hn) Ht He Hs Hm d S1 S2 S3 S4. pose proof (sched_all_made d0 ds Hs) as Hres. destruct Hs as [Hs _]. assert (forall (a : mem) x v, a ⊆ d -> a !! x = Some v -> d !! x = Some v) as Hin by (intros a x v Ha Hx; by eapply lookup_weaken).
    assert (forall (a : mem) o t l, a ⊆ d -> Structs.holds o t l a -> Structs.holds o t l d) as Hh by (intros a o t l Ha H; eapply Forall_impl; [exact H|]; intros x Hx; by eapply Hin).
    split.
    - intros q Hq0. destruct (Hq q [] (proj2 (initial_lists q []) (conj Hq0 eq_refl))) as (H1 & H2 & _). split; [exact (Hin _ _ _ S1 H1)|]. split; [exact (Hin _ _ _ S1 H2)|done].
    - intros t Ht0. destruct (Hn t) as (H1 & H2 & H3); [by apply initial_free|]. split; [exact (Hin _ _ _ S1 H1)|]. split; [exact (Hin _ _ _ S1 H2)|exact (Hin _ _ _ S1 H3)].
    - intros t Ht0. eapply Hh; [exact S2|by apply Ht].
    - exists dm. split; [exact S4|exact Hm].
    - intros c Hc. eapply Hh; [exact S3|]. eapply Forall_impl; [by apply fresh_cpu|]. intros x Hx. cbn beta in *. etrans; [by apply Hs|exact Hx].
    - intros t Ht0. eapply Hh; [exact S3|by apply Hres].
    - intros e He0. eapply Hh; [exact S3|]. eapply Forall_impl; [by apply fresh_event|]. intros x Hx. cbn beta in *. etrans; [by apply Hs|exact Hx].
    - intros i Hi. destruct (fresh_heap i d0 He Hi) as [H1 [v H2]]. split; [|exists v]; (apply (Hin ds); [exact S3|etrans; [by apply Hs|done]]).
  Qed.
  Theorem start_up_leaves dq dt ds dm : start_cells dq dt ds dm -> dq ##ₘ dt ∪ (ds ∪ dm) -> dt ##ₘ ds ∪ dm -> ds ##ₘ dm ->
    calls_leave start_up_calls (dq ∪ (dt ∪ (ds ∪ dm))) (fun d => forall e, d ⊆ e -> left_by_start_up e).
  Proof using HM HT HQ home_idle rest_undefined defined_bound no_budget.
    intros [Cq Ct Ce Cc Cr Cm] D1 D2 D3. unfold start_up_calls. cbn [app calls_leave].
    eapply triple_mono; [|apply triple_frame; [exact D1|by apply (queue_init_triple kernel_entry M this HQ)]]. cbn beta. intros _ d (q1 & [_ Hq] & E1 & ->). clear D1.
    apply map_disjoint_union_r in E1 as [E1 E2].
    rewrite (map_union_comm q1) by (by apply map_disjoint_union_r). rewrite <- (assoc_L (∪)).
    eapply triple_mono; [|apply triple_frame; [|by apply (thread_init_triple kernel_entry M this HT)]].
    2: { apply map_disjoint_union_r. split; [exact D2|by symmetry]. }
    cbn beta. intros _ d (t1 & [_ ->] & E3 & ->). pose proof (threads_made_none dt Ct) as Ht. set (t1 := threads_initial dt) in *. clearbody t1. clear D2 Ct E1 dt.
    apply map_disjoint_union_r in E3 as [E3 E4]. rewrite (assoc_L (∪)), (map_union_comm t1) by done. rewrite <- (assoc_L (∪)).
    eapply triple_mono; [|apply triple_frame; [|by apply (sched_init_triple kernel_entry M this HM)]].
    2: { apply map_disjoint_union_r. split; [by symmetry|by symmetry]. }
    cbn beta. intros _ d (s1 & (_ & m1 & -> & Hx & Hm) & E5 & ->). destruct (proj1 (map_disjoint_union_r _ t1 q1) E5) as [E8 E6].
    assert (sched_fresh ds ##ₘ m1) as E9.
    { apply map_disjoint_spec. intros x v w Hv Hw. assert (ready_maps x) as Hmap by (apply Hx; by exists w). rewrite fresh_map in Hv by done.
      destruct (proj2 (Cm x) Hmap) as [u Hu]. exact (proj1 (map_disjoint_spec ds dm) D3 x v u Hv Hu). }
    pose proof (sched_made_none ds) as Hs. set (s1 := sched_fresh ds) in *. clearbody s1.
    destruct (proj1 (map_disjoint_union_l s1 m1 t1) E8) as [E10 E11]. destruct (proj1 (map_disjoint_union_l s1 m1 q1) E6) as [E12 E13].
    rewrite (assoc_L (∪) _ t1 q1), (map_union_comm _ t1) by done. rewrite <- !(assoc_L (∪)).
    eapply calls_mono; [|apply (define_leaves defined [] ds t1 s1 (m1 ∪ q1)); [by apply Forall_forall|exact Ht|exact Hs|..]].
    2: { apply map_disjoint_union_r. split; [by symmetry|]. apply map_disjoint_union_r. split; [by symmetry|exact E4]. }
    2: { apply map_disjoint_union_r. by split. }
    cbn beta. intros d (t2 & s2 & -> & E7 & E14 & Ht2 & Hs2). rewrite app_nil_r in Ht2, Hs2. intros e He.
    assert (m1 ##ₘ q1) as E15 by done.
    apply (left_intro q1 t2 s2 m1 ds Hq (threads_all_made t2 Ht2) Ce Hs2 Hm); (etrans; [|exact He]).
    - etrans; [|by apply map_union_subseteq_r]. etrans; [|by apply map_union_subseteq_r]. by apply map_union_subseteq_r.
    - apply map_union_subseteq_l.
    - etrans; [|by apply map_union_subseteq_r]. apply map_union_subseteq_l.
    - etrans; [|by apply map_union_subseteq_r]. etrans; [|by apply map_union_subseteq_r]. apply map_union_subseteq_l.
  Qed.

  (** *** And each CPU begins *)
  Context (base_bound : forall t, t ∈ defined -> 0 <= base t < NUM_PRIORITY).
  Context (time_bound : forall t, t ∈ defined -> 0 <= time_period t < horizon /\ 0 <= time_budget t < horizon).
  Context (quiet : cprim -> Prop) (timer : nat -> mem -> Prop).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd) (HC : M "arch_cpu"%string = None).
  (** What [arch] and the timer have of a CPU that begins: the idle thread runs, and the clock is below 2^62 ns. *)
  Record arch_begins (cpu : Z) (d : mem) : Prop := {
    begins_words : forall f, f ∈ arch_words -> is_Some (d !! cell_of cpu f);
    begins_current : d !! cell_of cpu "arch_current" = Some cpu;
    begins_clock : exists k, d !! cell_of cpu "arch_clock" = Some k /\ 0 <= k < horizon;
    begins_alarm : is_Some (d !! field_cell "timer_alarm" cpu "deadline") }.
  Theorem start_up_promises dq dt ds dm : start_cells dq dt ds dm -> dq ##ₘ dt ∪ (ds ∪ dm) -> dt ##ₘ ds ∪ dm -> ds ##ₘ dm ->
    calls_leave start_up_calls (dq ∪ (dt ∪ (ds ∪ dm))) (fun d => forall e c, d ⊆ e -> 0 <= Z.of_nat c < NUM_CPU ->
      arch_begins (Z.of_nat c) e -> timer c (part e (timer_part home c)) ->
      exists X w, w ⊆ e /\ (forall x, is_Some (w !! x) -> cell_home home x = Z.of_nat c) /\ State.holds c (of_home home c) (timer c) X w /\
        does quiet kernel_entry M c (of_home home c) (timer c) "sched_init_cpu" [] X (fun _ Y => promised c (of_home home c) (Z.of_nat c) Y)).
  Proof using All.
    intros Hc D1 D2 D3. assert (forall t, 0 <= t < NUM_THREAD -> 0 <= base t < NUM_PRIORITY) as Hb.
    { intros t Ht. destruct (decide (t ∈ defined)) as [Hin|Hout]; [by apply base_bound|].
      assert (base t = 0) as ->; [|done]. destruct (Z.lt_ge_cases t NUM_CPU); [apply home_idle; lia|apply rest_undefined; [lia|done]]. }
    assert (forall t, 0 <= t < NUM_THREAD -> 0 <= time_period t < horizon /\ 0 <= time_budget t < horizon) as Htb.
    { intros t Ht. destruct (decide (t ∈ defined)) as [Hin|Hout]; [by apply time_bound|]. by destruct (no_budget t (or_introl Hout)) as [-> ->]. }
    assert (forall t, 0 <= t < NUM_CPU -> time_period t = 0) as Hidle.
    { intros t Ht. apply (no_budget t). left. intros Hin. destruct (defined_bound t Hin). lia. }
    eapply calls_mono; [|by apply start_up_leaves]. cbn beta. intros d Hd e c He Hcpu [Hw Hcur Hk Ha] Ht. specialize (Hd e He).
    destruct (cpu_holds home base time_period time_budget Hb c Hcpu e Hd Hw Ha (timer c) Ht) as (w & H1 & H2 & H3). exists (state_left home base time_period time_budget c e), w. split; [done|]. split; [done|]. split; [done|].
    apply (sched_init_cpu_promises home base time_period time_budget (fun t Ht => proj1 (home_idle t Ht)) Hb Htb Hidle c Hcpu e Hd Hw Hcur (timer c) Hk quiet kernel_entry M HM HT HR HC).
  Qed.
End start.
