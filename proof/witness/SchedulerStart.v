(** A memory in which a CPU's scheduler can begin: its idle thread runs, another one is blocked, the rest are unused, no time is reserved, no
    event is to come, and the alarm is off. *)
From Ashlar Require Export layers.ThreadLocks.
From Ashlar Require Export layers.sched.ready.InitialCells layers.sched.cpu.PromiseRelease layers.sched.cpu.PromiseStart.
Local Open Scope Z_scope.
Local Opaque gmap_lookup gmap_partial_alter.

(** Sixteen CPUs, thread [u] on CPU [u mod 16]. *)
Definition home_of (u : nat) : nat := Nat.modulo u 16.
(** The threads of CPU [c]. *)
Definition own_of (c : nat) (t : Z) : Prop := exists n, t = Z.of_nat n /\ home_of n = c /\ (n < 144)%nat.

Section start.
  Context (c : nat) (Hc : Z.of_nat c < NUM_CPU).
  Notation cpu := (Z.of_nat c).
  Notation s0 := (ready_at_start cpu).

  Lemma own_listed t : own_of c t <-> t ∈ own_thread_list cpu.
  Proof using Hc.
    unfold NUM_CPU in Hc. transitivity (t ∈ own_threads cpu); [rewrite own_threads_spec|unfold own_threads; apply elem_of_list_to_set].
    unfold InitialCells.own_thread, NUM_CPU, own_of, home_of. split.
    - intros (n & -> & Hn & Hlt). exists (Z.of_nat (n / 16) - 1). pose proof (Nat.div_mod_eq n 16) as E. rewrite Hn in E. lia.
    - intros (i & Hi & ->). exists (16 * Z.to_nat (i + 1) + c)%nat. split; [lia|]. split; [|lia].
      replace (16 * Z.to_nat (i + 1) + c)%nat with (c + Z.to_nat (i + 1) * 16)%nat by lia. rewrite Nat.mod_add by lia. apply Nat.mod_small. lia.
  Qed.
  Lemma idle_own : own_of c cpu.
  Proof using Hc. unfold NUM_CPU in Hc. exists c. split; [done|]. split; [apply Nat.mod_small; lia|lia]. Qed.

  (** ** The queues *)
  (** The thread that sleeps at the start. *)
  Definition sleeper_of : Z := NUM_CPU + cpu.
  Definition idle_marked : ready := Ready (ready_queues s0) (ready_mark cpu thread_is_running (ready_threads s0)).
  Definition idle_ready : ready := Ready (ready_queues s0) (ready_mark sleeper_of thread_is_blocked (ready_threads idle_marked)).
  Definition idle_queues : mem := <[thread_state_cell sleeper_of := thread_is_blocked]> (<[thread_state_cell cpu := thread_is_running]> (ready_memory cpu)).
  Lemma idle_there : ready_threads s0 !! cpu = Some (ReadyThread 0 0) /\ cpu ∈ queue_free (ready_queues s0).
  Proof using Hc.
    assert (cpu ∈ own_threads cpu) as Hin by (apply elem_of_list_to_set, own_listed, idle_own). split; [by apply start_threads|exact Hin].
  Qed.
  Lemma sleeper_own : own_of c sleeper_of.
  Proof using Hc.
    unfold NUM_CPU in Hc. exists (16 + c)%nat. unfold sleeper_of, NUM_CPU. split; [lia|]. split; [|lia]. unfold home_of.
    replace (16 + c)%nat with (c + 1 * 16)%nat by lia. rewrite Nat.mod_add by done. apply Nat.mod_small. lia.
  Qed.
  Lemma sleeper_there : ready_threads s0 !! sleeper_of = Some (ReadyThread 0 0) /\ sleeper_of ∈ queue_free (ready_queues s0).
  Proof using Hc.
    assert (sleeper_of ∈ own_threads cpu) as Hin by (apply elem_of_list_to_set, own_listed, sleeper_own). split; [by apply start_threads|exact Hin].
  Qed.
  Lemma sleeper_not_idle : sleeper_of <> cpu.
  Proof using. unfold sleeper_of, NUM_CPU. lia. Qed.
  Lemma idle_rep : ready_rep cpu idle_ready idle_queues.
  Proof using Hc.
    destruct idle_there as [Hr Hf], sleeper_there as [Hrs Hfs]. unfold idle_queues.
    apply (marked_rep cpu idle_marked _ sleeper_of thread_is_blocked); [apply (marked_rep cpu s0 _ cpu thread_is_running _ (ready_memory_rep cpu (conj (Zle_0_nat c) Hc)))|].
    - unfold sched_mark. by rewrite Hr, bool_decide_eq_true_2.
    - unfold sched_mark, idle_marked. cbn [ready_threads ready_queues]. rewrite ready_mark_other by apply sleeper_not_idle. by rewrite Hrs, bool_decide_eq_true_2.
  Qed.
  Lemma idle_thread t r : ready_threads idle_ready !! t = Some r -> t ∈ own_threads cpu /\ ready_priority r = 0 /\
    (ready_state r = if bool_decide (t = cpu) then thread_is_running else if bool_decide (t = sleeper_of) then thread_is_blocked else 0).
  Proof using.
    pose proof sleeper_not_idle as Hne. intros (r1 & (r0 & H0 & Hp0 & H1)%ready_mark_lookup & Hp1 & H2)%ready_mark_lookup.
    apply start_threads in H0 as [Ht ->]. rewrite Hp1, Hp0. split; [done|]. split; [done|]. destruct H2 as [[-> ->]|[Hns ->]].
    - rewrite bool_decide_eq_false_2 by done. by rewrite bool_decide_eq_true_2.
    - destruct H1 as [[-> ->]|[Hnc ->]]; [by rewrite bool_decide_eq_true_2|]. rewrite bool_decide_eq_false_2 by done. by rewrite bool_decide_eq_false_2.
  Qed.
  Lemma idle_start : sched_start cpu idle_ready.
  Proof using Hc.
    destruct idle_there as [Hr Hf]. destruct (ready_at_start_valid cpu ltac:(lia)) as [Hv _].
    split; [exact Hv|]. split; [|split; [|split; [|split; [|exact Hf]]]].
    - intros q l Hl. by apply start_queues in Hl as [-> _].
    - intros p Hp. exists []. apply start_queues. split; [done|]. apply own_queue_spec. right. by exists p.
    - intros t r (_ & -> & ->)%idle_thread. split; [done|]. destruct (bool_decide (t = cpu)); [done|]. by destruct (bool_decide (t = sleeper_of)).
    - eexists. cbn [idle_ready ready_threads]. rewrite ready_mark_other by (intros E; by apply sleeper_not_idle). by apply ready_mark_same.
  Qed.

  (** ** The cells of the scheduler itself *)
  Definition own_events : list Z := filter (fun e => e mod NUM_THREAD ∈ own_thread_list cpu) (seqZ 0 SCHED_NUM_EVENT).
  Definition reservation_cells (t : Z) : list cell := field_cell "sched_reservation" t <$> (reservation_fields unreserved).*1.
  Definition words_part : list cell := cell_of cpu <$> own_words ++ arch_words.
  Definition threads_part : list cell :=
    t ← own_thread_list cpu; field_cell "thread" t "cpu" :: field_cell "thread" t "base_priority" :: reservation_cells t.
  Definition heap_part : list cell := p ← seqZ 0 SCHED_HEAP_PLACES; [heap_cell "when" cpu p; heap_cell "event" cpu p].
  Definition events_part : list cell := e ← own_events; [event_cell "place" e; event_cell "cancelled" e].
  Definition own_cells_at_start : list cell := cpu_cell "events" cpu :: words_part ++ threads_part ++ heap_part ++ events_part.
  Lemma own_cells_cases x : x ∈ own_cells_at_start <->
    x = cpu_cell "events" cpu \/ x ∈ words_part \/ x ∈ threads_part \/ x ∈ heap_part \/ x ∈ events_part.
  Proof using. unfold own_cells_at_start. by rewrite elem_of_cons, !elem_of_app. Qed.
  Definition own_contents (x : cell) : Z :=
    let '(o, _, f, _) := x in
    if String.eqb o "sched_reservation" then (if String.eqb f "spends" then NONE else 0)
    else if String.eqb o "thread" then (if String.eqb f "cpu" then cpu else 0)
    else if String.eqb o "sched_heap" then timer_never
    else if String.eqb o "arch_current" then cpu
    else if String.eqb o "sched_cpu" then
      (if String.eqb f "events" then SCHED_HEAP_ROOT else if String.eqb f "alarm" then timer_never
       else if String.eqb f "kept" || String.eqb f "charged" then NONE else 0)
    else 0.
  Definition own_at_start : mem := memory own_contents own_cells_at_start.
  Definition start_state : cpu_state :=
    Cpu idle_ready (fun f => own_contents (cell_of cpu f)) (fun _ => unreserved) ∅ (fun _ => 0) (fun _ => 0).

  Lemma own_at x v : x ∈ own_cells_at_start -> own_contents x = v -> own_at_start !! x = Some v.
  Proof using. intros Hx <-. by apply memory_in. Qed.
  Lemma own_thread_cell t x : own_of c t -> x ∈ field_cell "thread" t "cpu" :: field_cell "thread" t "base_priority" :: reservation_cells t ->
    x ∈ own_cells_at_start.
  Proof using Hc. intros Ht Hx. apply own_cells_cases. right; right; left. apply elem_of_list_bind. exists t. split; [exact Hx|by apply own_listed]. Qed.
  Lemma own_event_cell e x : State.mine (own_of c) e -> x ∈ [event_cell "place" e; event_cell "cancelled" e] -> x ∈ own_cells_at_start.
  Proof using Hc.
    intros [He Ht%own_listed] Hx. apply own_cells_cases. do 4 right. apply elem_of_list_bind. exists e. split; [exact Hx|].
    apply elem_of_list_filter. split; [exact Ht|]. apply elem_of_seqZ. lia.
  Qed.
  Lemma own_heap_cell p x : 0 <= p < SCHED_HEAP_PLACES -> x ∈ [heap_cell "when" cpu p; heap_cell "event" cpu p] -> x ∈ own_cells_at_start.
  Proof using.
    intros Hp Hx. apply own_cells_cases. do 3 right. left. apply elem_of_list_bind. exists p. split; [exact Hx|]. apply elem_of_seqZ. lia.
  Qed.
  Lemma own_word_cell f : f ∈ own_words ++ arch_words -> cell_of cpu f ∈ own_cells_at_start.
  Proof using. intros Hf. apply own_cells_cases. right; left. by apply elem_of_list_fmap_1. Qed.

  Lemma own_start : State.own c (own_of c) start_state own_at_start.
  Proof using Hc.
    split; [|split].
    - intros f Hf. apply own_at; [by apply own_word_cell|done].
    - intros t Ht. split; apply Forall_forall; intros [f v] Hf; cbn [fst snd].
      + apply own_at.
        * apply (own_thread_cell t); [done|]. do 2 right. apply elem_of_list_fmap_1, elem_of_list_fmap. by exists (f, v).
        * cbn in Hf. repeat (apply elem_of_cons in Hf as [[= -> ->]|Hf]; [done|]). by apply elem_of_nil in Hf.
      + cbn in Hf. apply elem_of_cons in Hf as [[= -> ->]|[= -> ->]%elem_of_list_singleton]; (apply own_at; [apply (own_thread_cell t); [done|]|done]);
          [by left|right; by left].
    - split; [intros e t H; change ((∅ : gmap Z Z) !! e = Some t) in H; rewrite lookup_empty in H; discriminate|]. split; [intros e He; apply own_at; [apply (own_event_cell e); [done|right; by left]|done]|].
      split; [apply (own_at (cell_of cpu "alarm")); [apply own_word_cell; unfold own_words, arch_words; names|done]|].
      exists (Heap SCHED_HEAP_ROOT (fun _ => timer_never) (fun _ => timer_never) (fun _ => 0)). split; [split; [|split]|].
      + apply own_at; [apply own_cells_cases; by left|done].
      + intros p Hp. split; (apply own_at; [apply (own_heap_cell p); [done|]|done]); [by left|right; by left].
      + intros e He. apply own_at; [apply (own_event_cell e); [done|by left]|done].
      + split; [unfold EventSpec.fits, SCHED_HEAP_ROOT, SCHED_NUM_EVENT; cbn; lia|]. split; [split; [|split]|split].
        * intros p Hp. cbn in Hp. lia.
        * intros e t H. change ((∅ : gmap Z Z) !! e = Some t) in H. rewrite lookup_empty in H. discriminate.
        * done.
        * intros p Hp. cbn in Hp. lia.
        * done.
  Qed.

  (** ** What the timer and page maps have of the CPU *)
  Definition timer_cells : list cell := field_cell "timer_alarm" cpu "deadline" :: (t ← own_thread_list cpu; field_cell "thread" t <$> ["root"; "wait_kind"; "wait_object"]%string).
  Definition timer_at_start : mem := memory (fun _ => 0) timer_cells.
  Definition timer_of (e : mem) : Prop :=
    is_Some (e !! field_cell "timer_alarm" cpu "deadline") /\ forall t, own_of c t -> (exists root, e !! field_cell "thread" t "root" = Some root /\ root_ok root /\ root <> NONE) /\
      is_Some (e !! field_cell "thread" t "wait_kind") /\ is_Some (e !! field_cell "thread" t "wait_object").
  Lemma timer_start : timer_of timer_at_start.
  Proof using Hc.
    assert (forall t f, own_of c t -> f ∈ ["root"; "wait_kind"; "wait_object"]%string -> timer_at_start !! field_cell "thread" t f = Some 0) as Hall.
    { intros t f Ht Hf. apply (memory_in (fun _ => 0)). apply elem_of_cons. right. apply elem_of_list_bind. exists t. split; [by apply elem_of_list_fmap_1|by apply own_listed]. }
    split; [apply memory_dom; by left|]. intros t Ht. split_and!; [exists 0; split_and!; [by apply Hall; [|names]|right; unfold NUM_FRAME; lia|done]|eexists; by apply Hall; [|names]..].
  Qed.

  (** ** All together *)
  Definition start_of_cpu : mem := idle_queues ∪ (own_at_start ∪ timer_at_start).
  (** A cell of the queues is no other one. *)
  Lemma idle_queue_cell x : is_Some (idle_queues !! x) -> x ∈ own_queue_cells cpu \/ x ∈ own_map_cells cpu \/ x ∈ InitialCells.own_thread_cells cpu.
  Proof using Hc.
    unfold idle_queues. destruct (decide (x = thread_state_cell sleeper_of)) as [->|Hns]; [|destruct (decide (x = thread_state_cell cpu)) as [->|Hne]].
    - intros _. right. right. apply own_thread_cells_spec. exists sleeper_of. split; [|by right]. eexists. apply sleeper_there.
    - intros _. right. right. apply own_thread_cells_spec. exists cpu. split; [|by right]. eexists. apply idle_there.
    - rewrite own_lookup_ne by done. rewrite own_lookup_ne by done. unfold ready_memory. intros [v [Hv|[_ [Hv|[_ Hv]]%lookup_union_Some_raw]]%lookup_union_Some_raw].
      + left. apply (memory_dom (fun _ => NONE)). by exists v.
      + right; left. apply (memory_dom (fun _ => 0)). by exists v.
      + right; right. apply (memory_dom (fun _ => 0)). by exists v.
  Qed.
  (** Queues, the scheduler and the timer have cells of their own, and none that a lock guards: by the names of objects and fields. *)
  Definition part_of (x : cell) : Z :=
    let '(o, _, f, _) := x in
    if existsb (String.eqb o) ["queue"; "queue_node"; "sched_ready_map"]%string || String.eqb o "thread" && existsb (String.eqb f) ["priority"; "state"]%string then 0
    else if String.eqb o "timer_alarm" || String.eqb o "thread" && existsb (String.eqb f) ["root"; "wait_kind"; "wait_object"]%string then 2 else 1.
  Lemma idle_queue_part x : is_Some (idle_queues !! x) -> part_of x = 0 /\ parked_cell x = true.
  Proof using Hc.
    intros [[(q & Hq & Hx)|(t & _ & [->|[-> | ->]])]%own_queue_cells_spec|
      [[(i & _ & ->)|[-> | ->]]%own_map_cells_spec|(t & _ & [-> | ->])%own_thread_cells_spec]]%idle_queue_cell; [|done..].
    assert ((QUEUE_NOTIFICATION_BASE <=? q) && (q <? QUEUE_NOTIFICATION_BASE + NUM_NOTIFICATION) = false) as Hn.
    { clear Hx. destruct Hq as [l (_ & Hq)%start_queues]. apply own_queue_spec in Hq as [->|(p & Hp & ->)]; apply andb_false_iff; [right; apply Z.ltb_ge|left; apply Z.leb_gt];
        unfold QUEUE_PARKED_BASE, QUEUE_NOTIFICATION_BASE, NUM_NOTIFICATION, ready_queue, QUEUE_READY_BASE, NUM_PRIORITY, NUM_CPU in *; lia. }
    unfold parked_cell, guarded_cell. destruct Hx as [-> | ->]; (split; [done|]); cbn [queue_first queue_last]; rewrite <- andb_assoc, Hn; done.
  Qed.
  Lemma own_part x : is_Some (own_at_start !! x) -> part_of x = 1 /\ parked_cell x = true.
  Proof using.
    intros Hx%memory_dom%own_cells_cases. destruct Hx as [->|[H|[H|[H|H]]]]; [done|..].
    - apply elem_of_list_fmap in H as (f & -> & Hf). unfold own_words, arch_words in Hf. cbn [app] in Hf.
      repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]). by apply elem_of_nil in Hf.
    - apply elem_of_list_bind in H as (t & H & _). unfold reservation_cells in H. cbn in H. repeat (apply elem_of_cons in H as [->|H]; [done|]). by apply elem_of_nil in H.
    - apply elem_of_list_bind in H as (p & H & _). apply elem_of_cons in H as [->|H]; [done|]. by apply elem_of_list_singleton in H as ->.
    - apply elem_of_list_bind in H as (e & H & _). apply elem_of_cons in H as [->|H]; [done|]. by apply elem_of_list_singleton in H as ->.
  Qed.
  Lemma timer_part x : is_Some (timer_at_start !! x) -> part_of x = 2 /\ parked_cell x = true.
  Proof using.
    intros Hx%memory_dom. unfold timer_cells in Hx. apply elem_of_cons in Hx as [->|H]; [done|]. apply elem_of_list_bind in H as (t & H & _).
    cbn in H. repeat (apply elem_of_cons in H as [->|H]; [done|]). by apply elem_of_nil in H.
  Qed.
  Lemma parts_disjoint (d e : mem) i j : i <> j -> (forall x, is_Some (d !! x) -> part_of x = i /\ parked_cell x = true) ->
    (forall x, is_Some (e !! x) -> part_of x = j /\ parked_cell x = true) -> d ##ₘ e.
  Proof using. intros Hne Hd He. apply map_disjoint_spec. intros x v w Hv Hw. apply Hne. rewrite <- (proj1 (Hd x (ex_intro _ v Hv))). apply (He x). by exists w. Qed.

  Lemma start_parked x : is_Some (start_of_cpu !! x) -> parked_cell x = true.
  Proof using Hc.
    unfold start_of_cpu. intros [v [Hv|[_ [Hv|[_ Hv]]%lookup_union_Some_raw]]%lookup_union_Some_raw]; [apply idle_queue_part|apply own_part|apply timer_part]; by exists v.
  Qed.

  Theorem start_holds : State.holds c (own_of c) timer_of start_state start_of_cpu.
  Proof using Hc.
    exists idle_queues, own_at_start, timer_at_start. split; [done|]. split; [|split; [|split; [|split]]].
    - apply map_disjoint_union_r. split; [apply (parts_disjoint _ _ 0 1)|apply (parts_disjoint _ _ 0 2)];
        first [done|apply idle_queue_part|apply own_part|apply timer_part].
    - apply (parts_disjoint _ _ 1 2); [done|apply own_part|apply timer_part].
    - apply idle_rep.
    - apply own_start.
    - apply timer_start.
  Qed.
  Theorem start_promised : promised c (own_of c) cpu start_state.
  Proof using Hc.
    apply promised_at_start; [lia|exact idle_start| | |reflexivity..|split; [done|reflexivity]|done| |reflexivity|reflexivity].
    - exists []. apply start_queues. split; [reflexivity|]. apply own_queue_spec. by left.
    - intros t. assert (own_of c t -> t ∈ own_threads cpu) as Hin by (intros Ht; by apply elem_of_list_to_set, own_listed).
      split; [|intros Ht; left; by apply Hin]. split; [intros [r (Ht & _)%idle_thread]; apply own_listed; by apply elem_of_list_to_set in Ht|].
      intros Ht%Hin. assert (ready_threads s0 !! t = Some (ReadyThread 0 0)) as Hr by (by apply start_threads).
      cbn [start_state queues idle_ready ready_threads]. unfold ready_mark at 1. cbn [idle_marked ready_threads]. destruct (ready_mark cpu thread_is_running (ready_threads s0) !! sleeper_of) as [rs|] eqn:E.
      + destruct (decide (t = sleeper_of)) as [->|Hne]; [rewrite lookup_insert; by eexists|]. rewrite lookup_insert_ne by done.
        destruct (decide (t = cpu)) as [->|Hnc]; [eexists; by apply ready_mark_same|]. rewrite ready_mark_other by done. by eexists.
      + rewrite ready_mark_other in E by apply sleeper_not_idle. by rewrite (proj1 sleeper_there) in E.
    - intros t _. split; [by apply unreserved_valid|by left].
  Qed.
  (** The one that is blocked may be woken. *)
  Theorem start_sleeps : sleeps sleeper_of start_state.
  Proof using Hc.
    destruct sleeper_there as [Hr Hf]. split; [unfold sleeper_of, NUM_CPU; lia|]. split; [|split; [exact Hf|]].
    - cbn. unfold sleeper_of, NONE, NUM_CPU in *. lia.
    - exists (ReadyThread 0 thread_is_blocked). split; [|done]. cbn [start_state queues idle_ready ready_threads].
      eapply (ready_mark_same _ _ _ (ReadyThread 0 0)). cbn [idle_marked ready_threads]. rewrite ready_mark_other by apply sleeper_not_idle. exact Hr.
  Qed.
End start.
