(** What start-up leaves to the scheduler of each CPU, whatever CPU, priority and reservation a thread has.

    [left_by_start_up d]: the objects of threads, queues and the scheduler are as [queue_init], [thread_init] and [sched_init] make them, and
    [thread_define] and [sched_reserve] for each thread of the system ([StartUpCode.v]). From then on each CPU has cells of its own, in which
    [sched_init_cpu] begins. *)
From Ashlar Require Export layers.sched.cpu.PromiseRelease layers.sched.cpu.TimerCode layers.sched.ready.InitialCells layers.thread.Start layers.queue.Init.
Local Open Scope Z_scope.
Local Opaque gmap_lookup gmap_partial_alter.

(** The cells [l] of [d]. *)
Definition part (d : mem) (l : list cell) : mem := memory (fun x => default 0 (d !! x)) l.
Lemma part_at d l x v : x ∈ l -> d !! x = Some v -> part d l !! x = Some v.
Proof. intros Hx Hv. unfold part. rewrite memory_in by done. by rewrite Hv. Qed.
Lemma part_dom d l x : is_Some (part d l !! x) <-> x ∈ l.
Proof. apply memory_dom. Qed.
Lemma part_of_whole d l : (forall x, x ∈ l -> is_Some (d !! x)) -> part d l ⊆ d.
Proof.
  intros H. apply map_subseteq_spec. intros x v Hv. assert (x ∈ l) as Hx by (apply (part_dom d); by exists v).
  destruct (H x Hx) as [w Hw]. assert (Some w = Some v) as [= <-]; [|done]. etrans; [symmetry; by apply (part_at d l x w)|exact Hv].
Qed.
Lemma parts_apart d l l' : (forall x, x ∈ l -> x ∈ l' -> False) -> part d l ##ₘ part d l'.
Proof. intros H. apply map_disjoint_spec. intros x v w H1 H2. apply (H x); apply (part_dom d); by eexists. Qed.

Section start.
  (** Of each thread: its CPU, its priority, and its reservation. *)
  Context (home base time_period time_budget : Z -> Z).
  Definition reserved_at_start (t : Z) : reservation := take_back t (Reservation (time_period t) (time_budget t) 0 0 0 0 NONE 0).
  Definition thread_left (t : Z) : list (string * Z) :=
    [("cpu", home t); ("priority", base t); ("base_priority", base t); ("state", if Z.ltb t NUM_CPU then THREAD_RUNNING else THREAD_UNUSED);
     ("root", NONE)]%string.
  Record left_by_start_up (d : mem) : Prop := {
    left_queues : forall q, 0 <= q < NUM_QUEUE -> queue_is d q [];
    left_nodes : forall t, 0 <= t < NUM_THREAD -> node_is d t NONE NONE NONE;
    left_threads : forall t, 0 <= t < NUM_THREAD -> Structs.holds "thread" t (thread_left t) d;
    left_maps : exists dm, dm ⊆ d /\ forall cpu s, 0 <= cpu < NUM_CPU -> (forall p, 0 <= p < NUM_PRIORITY -> ready_some s cpu p = false) ->
      ready_map_rep cpu s (cells_of cpu dm);
    left_cpus : forall c, 0 <= c < NUM_CPU -> Structs.holds "sched_cpu" c (set_field "events" SCHED_HEAP_ROOT (cpu_fresh c)) d;
    left_reservations : forall t, 0 <= t < NUM_THREAD -> Structs.holds "sched_reservation" t (reservation_fields (reserved_at_start t)) d;
    left_events : forall e, 0 <= e < SCHED_NUM_EVENT -> Structs.holds "sched_event" e (unset e) d;
    left_heaps : forall i, 0 <= i < SCHED_HEAP_ALL ->
      d !! field_cell "sched_heap" i "when" = Some timer_never /\ is_Some (d !! field_cell "sched_heap" i "event") }.

  (** ** One CPU *)
  Section cpu.
    Context (home_idle : forall t, 0 <= t < NUM_CPU -> home t = t) (base_bound : forall t, 0 <= t < NUM_THREAD -> 0 <= base t < NUM_PRIORITY).
    Context (time_bound : forall t, 0 <= t < NUM_THREAD -> 0 <= time_period t < horizon /\ 0 <= time_budget t < horizon).
    Context (idle_free : forall t, 0 <= t < NUM_CPU -> time_period t = 0).
    Context (this : nat).
    Notation cpu := (Z.of_nat this).
    Context (Hcpu : 0 <= cpu < NUM_CPU).
    Definition of_home (t : Z) : Prop := 0 <= t < NUM_THREAD /\ home t = cpu.
    Definition home_list : list Z := filter (fun t => home t = cpu) (seqZ 0 NUM_THREAD).
    Lemma home_listed t : t ∈ home_list <-> of_home t.
    Proof using. unfold home_list, of_home. rewrite elem_of_list_filter, elem_of_seqZ, Z.add_0_l. split; [intros (? & ? & ?)|intros ((? & ?) & ?)]; repeat split; assumption. Qed.
    Lemma idle_home : of_home cpu.
    Proof using Hcpu home_idle. split; [unfold NUM_CPU, NUM_THREAD in *; lia|by apply home_idle]. Qed.
    Lemma idle_only t : of_home t -> t < NUM_CPU -> t = cpu.
    Proof using home_idle Hcpu. intros [H1 H2] H. rewrite home_idle in H2; lia. Qed.

    Definition record_left (t : Z) : ready_thread := ReadyThread (base t) (if t <? NUM_CPU then THREAD_RUNNING else THREAD_UNUSED).
    Definition queues_left : ready :=
      Ready (QueueState (set_to_map (fun q => (q, [])) (list_to_set (C := gset Z) (own_queue_list cpu))) (list_to_set home_list))
        (set_to_map (fun t => (t, record_left t)) (list_to_set (C := gset Z) home_list)).
    Lemma queues_empty q l : queue_lists (ready_queues queues_left) !! q = Some l <-> l = [] /\ q ∈ own_queue_list cpu.
    Proof using.
      cbn [queues_left ready_queues queue_lists]. rewrite lookup_set_to_map by done. split.
      - intros (q' & Hq & [= -> <-]). by rewrite elem_of_list_to_set in Hq.
      - intros [-> Hq]. exists q. split; [by apply elem_of_list_to_set|done].
    Qed.
    Lemma threads_there t r : ready_threads queues_left !! t = Some r <-> of_home t /\ r = record_left t.
    Proof using.
      cbn [queues_left ready_threads]. rewrite lookup_set_to_map by done. split.
      - intros (t' & Ht & [= -> <-]). by apply elem_of_list_to_set, home_listed in Ht.
      - intros [Ht ->]. exists t. split; [by apply elem_of_list_to_set, home_listed|done].
    Qed.
    Lemma threads_free t : t ∈ queue_free (ready_queues queues_left) <-> of_home t.
    Proof using. cbn [queues_left ready_queues queue_free]. by rewrite elem_of_list_to_set, home_listed. Qed.
    Lemma none_listed p : ready_list queues_left cpu p = [].
    Proof using. unfold ready_list. destruct (queue_lists _ !! _) as [l|] eqn:E; [|done]. by apply queues_empty in E as [-> _]. Qed.
    Lemma none_ready p : ready_some queues_left cpu p = false.
    Proof using. unfold ready_some. by rewrite none_listed. Qed.
    Lemma own_queue_bound q : q ∈ own_queue_list cpu -> 0 <= q < NUM_QUEUE.
    Proof using Hcpu.
      intros [->|(p & Hp & ->)]%own_queue_spec; unfold NUM_CPU, ready_queue, QUEUE_READY_BASE, QUEUE_PARKED_BASE, NUM_PRIORITY, NUM_QUEUE in *; lia.
    Qed.
    Lemma queues_left_valid : queue_valid (ready_queues queues_left).
    Proof using Hcpu.
      split.
      - intros q l [-> Hq]%queues_empty. split; [by apply own_queue_bound|]. split; [constructor|]. split; [constructor|]. intros q' l' _. right. constructor.
      - intros t [Ht _]%threads_free. exact Ht.
    Qed.
    Lemma ready_left_valid : ready_valid cpu queues_left.
    Proof using Hcpu base_bound.
      split; [exact queues_left_valid|split].
      - intros t r [[Ht _] ->]%threads_there. by apply base_bound.
      - apply Forall_forall. intros p Hp%elem_of_seqZ. split; [|rewrite none_listed; constructor].
        exists []. apply queues_empty. split; [done|]. apply own_queue_spec. right. exists p. split; [lia|done].
    Qed.
    Lemma sched_left : sched_start cpu queues_left.
    Proof using Hcpu home_idle base_bound.
      split; [exact queues_left_valid|]. split; [by intros q l [-> _]%queues_empty|]. split; [|split; [|split]].
      - intros p Hp. exists []. apply queues_empty. split; [done|]. apply own_queue_spec. right. by exists p.
      - intros t r [Ht ->]%threads_there. split; [by apply base_bound, Ht|]. cbn [record_left ready_state].
        destruct (Z.ltb_spec t NUM_CPU) as [Hlt|Hge].
        + rewrite (idle_only t Ht Hlt), bool_decide_eq_true_2 by done. done.
        + rewrite bool_decide_eq_false_2 by lia. done.
      - exists (record_left cpu). apply threads_there. split; [apply idle_home|done].
      - apply threads_free, idle_home.
    Qed.

    (** *** Its cells *)
    Definition queue_part : list cell :=
      (q ← own_queue_list cpu; [queue_first q; queue_last q]) ++ (t ← home_list; [node_queue t; node_next t; node_previous t]).
    Definition state_part : list cell := t ← home_list; [thread_priority_cell t; thread_state_cell t].
    Definition thread_part : list cell := t ← home_list; field_cell "thread" t "cpu" :: field_cell "thread" t "base_priority" ::
      (field_cell "sched_reservation" t <$> (reservation_fields unreserved).*1).
    Definition word_part : list cell := cell_of cpu <$> own_words ++ arch_words.
    Definition heap_part : list cell := p ← seqZ 0 SCHED_HEAP_PLACES; [heap_cell "when" cpu p; heap_cell "event" cpu p].
    Definition event_part : list cell := e ← filter (fun e => home (e mod NUM_THREAD) = cpu) (seqZ 0 SCHED_NUM_EVENT); [event_cell "place" e; event_cell "cancelled" e].
    Definition sched_part : list cell := cpu_cell "events" cpu :: word_part ++ thread_part ++ heap_part ++ event_part.
    Definition timer_part : list cell := field_cell "timer_alarm" cpu "deadline" :: (t ← home_list; [field_cell "thread" t "root"]).

    Lemma queue_part_spec x : x ∈ queue_part <-> queue_cells (ready_queues queues_left) x.
    Proof using.
      unfold queue_part, queue_cells. rewrite elem_of_app, !elem_of_list_bind. split.
      - intros [(q & Hx & Hq)|(t & Hx & Ht)]; rewrite !elem_of_cons, elem_of_nil in Hx.
        + left. exists q. split; [exists []; by apply queues_empty|]. destruct Hx as [->|[->|[]]]; auto.
        + right. exists t. split; [left; by apply threads_free, home_listed|]. destruct Hx as [->|[->|[->|[]]]]; auto.
      - intros [(q & [l [_ Hq]%queues_empty] & Hx)|(t & Ht & Hx)].
        + left. exists q. split; [|done]. destruct Hx as [-> | ->]; [by left|right; by left].
        + right. exists t. split; [destruct Hx as [->|[-> | ->]]; [by left|right; by left|do 2 right; by left]|].
          destruct Ht as [Ht|(q & l & [-> _]%queues_empty & Hin)]; [by apply home_listed, threads_free|]. by apply elem_of_nil in Hin.
    Qed.
    Lemma state_part_spec x : x ∈ state_part <-> exists t, is_Some (ready_threads queues_left !! t) /\ (x = thread_priority_cell t \/ x = thread_state_cell t).
    Proof using.
      unfold state_part. rewrite elem_of_list_bind. split.
      - intros (t & Hx & Ht%home_listed). exists t. split; [eexists; by apply threads_there|]. rewrite !elem_of_cons, elem_of_nil in Hx. destruct Hx as [->|[->|[]]]; auto.
      - intros (t & [r [Ht _]%threads_there] & Hx). exists t. split; [|by apply home_listed]. destruct Hx as [-> | ->]; [by left|right; by left].
    Qed.

    Context (d : mem) (Hd : left_by_start_up d).
    (** What [arch] has: the thread that runs, and the clock's last answer. *)
    Context (arch_there : forall f, f ∈ arch_words -> is_Some (d !! cell_of cpu f)) (idle_runs : d !! cell_of cpu "arch_current" = Some cpu).
    Context (timer_there : is_Some (d !! field_cell "timer_alarm" cpu "deadline")).

    Lemma queue_cell_left x : x ∈ queue_part -> d !! x = Some NONE.
    Proof using Hcpu Hd.
      unfold queue_part. rewrite elem_of_app, !elem_of_list_bind. intros [(q & Hx & Hq)|(t & Hx & Ht)].
      - destruct (left_queues d Hd q (own_queue_bound q Hq)) as (H1 & H2 & _). rewrite !elem_of_cons, elem_of_nil in Hx. destruct Hx as [->|[->|[]]]; done.
      - apply home_listed in Ht as [Ht _]. destruct (left_nodes d Hd t Ht) as (H1 & H2 & H3). rewrite !elem_of_cons, elem_of_nil in Hx.
        destruct Hx as [->|[->|[->|[]]]]; done.
    Qed.
    Lemma thread_field_left t f v : of_home t -> (f, v) ∈ thread_left t -> d !! field_cell "thread" t f = Some v.
    Proof using Hd. intros [Ht _] H. pose proof (left_threads d Hd t Ht) as HF. unfold Structs.holds in HF. rewrite Forall_forall in HF. exact (HF _ H). Qed.
    Lemma state_cell_left t : of_home t -> d !! thread_priority_cell t = Some (base t) /\ d !! thread_state_cell t = Some (ready_state (record_left t)).
    Proof using Hd. intros Ht. split; [apply (thread_field_left t "priority")|apply (thread_field_left t "state")]; try done; unfold thread_left; [do 1 right; left|do 3 right; left]. Qed.

    Lemma queues_held : exists dm, dm ⊆ d /\ exactly (ready_map_cells cpu) dm /\ ready_rep cpu queues_left (part d queue_part ∪ (dm ∪ part d state_part)).
    Proof using Hcpu Hd base_bound.
      destruct (left_maps d Hd) as (dm & Hsub & Hmaps). pose proof (Hmaps cpu queues_left Hcpu (fun p _ => none_ready p)) as Hm. pose proof Hm as [Hex _].
      exists (cells_of cpu dm). split; [etrans; [apply map_filter_subseteq|exact Hsub]|]. split; [exact Hex|].
      assert (forall x, is_Some (cells_of cpu dm !! x) -> x.1.1.1 = "sched_ready_map"%string) as Hobj by (intros x [(i & _ & ->)|[-> | ->]]%Hex; done).
      assert (forall x, x ∈ queue_part -> x.1.1.1 = "queue"%string \/ x.1.1.1 = "queue_node"%string) as Hq.
      { intros x [(q & _ & [-> | ->])|(t & _ & [->|[-> | ->]])]%queue_part_spec; auto. }
      assert (forall x, x ∈ state_part -> x.1.1.1 = "thread"%string) as Ht by (intros x (t & _ & [-> | ->])%state_part_spec; done).
      split; [exact ready_left_valid|]. exists (part d queue_part), (cells_of cpu dm), (part d state_part).
      split; [done|]. split; [apply map_disjoint_union_r; split|split; [|split; [|split; [exact Hm|]]]].
      - apply map_disjoint_spec. intros x v w H1 H2. pose proof (Hq x (proj1 (part_dom d _ x) (ex_intro _ v H1))) as H. rewrite (Hobj x (ex_intro _ w H2)) in H. by destruct H.
      - apply parts_apart. intros x H%Hq H'%Ht. rewrite H' in H. by destruct H.
      - apply map_disjoint_spec. intros x v w H1 H2. pose proof (Ht x (proj1 (part_dom d _ x) (ex_intro _ w H2))) as H. by rewrite (Hobj x (ex_intro _ v H1)) in H.
      - split; [exact queues_left_valid|]. split; [intros x; rewrite part_dom; apply queue_part_spec|]. split.
        + intros q l Hl. pose proof Hl as [-> _]%queues_empty. assert (forall x, x = queue_first q \/ x = queue_last q -> part d queue_part !! x = Some NONE) as H.
          { intros x Hx. assert (x ∈ queue_part) as Hin by (apply queue_part_spec; left; exists q; split; [by eexists|done]). apply part_at; [done|by apply queue_cell_left]. }
          split; [|split; [|done]]; apply H; auto.
        + intros t Ht'. assert (forall x, x = node_queue t \/ x = node_next t \/ x = node_previous t -> part d queue_part !! x = Some NONE) as H.
          { intros x Hx. assert (x ∈ queue_part) as Hin by (apply queue_part_spec; right; exists t; split; [by left|done]). apply part_at; [done|by apply queue_cell_left]. }
          split; [|split]; apply H; auto.
      - split; [intros x; rewrite part_dom; apply state_part_spec|]. intros t r Hr. pose proof Hr as [Hh ->]%threads_there. destruct (state_cell_left t Hh) as [H1 H2].
        split; (apply part_at; [apply state_part_spec; exists t; split; [by eexists|auto]|done]).
    Qed.

    Definition state_left : cpu_state := Cpu queues_left (fun f => default 0 (d !! cell_of cpu f)) reserved_at_start ∅ (fun _ => 0) base.
    Lemma word_left f v : Structs.value_of f (set_field "events" SCHED_HEAP_ROOT (cpu_fresh cpu)) = Some v -> d !! cpu_cell f cpu = Some v.
    Proof using Hcpu Hd. apply Structs.holds_value. by apply left_cpus. Qed.
    Lemma word_there f : f ∈ own_words ++ arch_words -> d !! cell_of cpu f = Some (word state_left f).
    Proof using Hcpu Hd arch_there.
      intros Hf. assert (is_Some (d !! cell_of cpu f)) as [v Hv]; [|cbn; by rewrite Hv]. apply elem_of_app in Hf as [Hf|Hf]; [|by apply arch_there].
      rewrite own_cell by done. unfold own_words in Hf. repeat (apply elem_of_cons in Hf as [->|Hf]; [eexists; by apply word_left|]). by apply elem_of_nil in Hf.
    Qed.
    Lemma word_fresh f v : f ∈ own_words -> Structs.value_of f (cpu_fresh cpu) = Some v -> word state_left f = v.
    Proof using Hcpu Hd.
      intros Hf H. cbn [state_left word]. rewrite own_cell by done. rewrite (word_left f v); [done|]. rewrite <- H. unfold own_words in Hf.
      repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]). by apply elem_of_nil in Hf.
    Qed.
    Lemma sched_cell x : x ∈ sched_part <-> x = cpu_cell "events" cpu \/ x ∈ word_part \/ x ∈ thread_part \/ x ∈ heap_part \/ x ∈ event_part.
    Proof using. unfold sched_part. by rewrite elem_of_cons, !elem_of_app. Qed.
    Lemma reservation_cell_left t f v : of_home t -> (f, v) ∈ reservation_fields (reserved_at_start t) -> d !! field_cell "sched_reservation" t f = Some v.
    Proof using Hd. intros [Ht _] H. pose proof (left_reservations d Hd t Ht) as HF. unfold Structs.holds in HF. rewrite Forall_forall in HF. exact (HF _ H). Qed.
    Lemma in_thread_part t x : of_home t -> x ∈ field_cell "thread" t "cpu" :: field_cell "thread" t "base_priority" ::
      (field_cell "sched_reservation" t <$> (reservation_fields unreserved).*1) -> x ∈ sched_part.
    Proof using. intros Ht Hx. apply sched_cell. right; right; left. apply elem_of_list_bind. exists t. split; [exact Hx|by apply home_listed]. Qed.
    Lemma in_heap_part p x : 0 <= p < SCHED_HEAP_PLACES -> x ∈ [heap_cell "when" cpu p; heap_cell "event" cpu p] -> x ∈ sched_part.
    Proof using. intros Hp Hx. apply sched_cell. do 3 right. left. apply elem_of_list_bind. exists p. split; [exact Hx|]. apply elem_of_seqZ. by rewrite Z.add_0_l. Qed.
    Lemma in_event_part e x : State.mine of_home e -> x ∈ [event_cell "place" e; event_cell "cancelled" e] -> x ∈ sched_part.
    Proof using.
      intros [He [_ Ht]] Hx. apply sched_cell. do 4 right. apply elem_of_list_bind. exists e. split; [exact Hx|].
      apply elem_of_list_filter. split; [exact Ht|]. apply elem_of_seqZ. by rewrite Z.add_0_l.
    Qed.
    Lemma heap_index_bound p : 0 <= p < SCHED_HEAP_PLACES -> 0 <= cpu * SCHED_HEAP_PLACES + p < SCHED_HEAP_ALL.
    Proof using Hcpu. unfold SCHED_HEAP_ALL, NUM_CPU in *. constants. lia. Qed.
    Lemma event_cell_left e f : State.mine of_home e -> f ∈ ["place"; "cancelled"]%string -> d !! event_cell f e = Some 0.
    Proof using Hd.
      intros [He _] Hf. pose proof (left_events d Hd e He) as HF. unfold Structs.holds in HF. rewrite Forall_forall in HF. apply (HF (f, 0)).
      apply elem_of_cons in Hf as [->|[->|Hf]%elem_of_cons]; [by left|right; by left|by apply elem_of_nil in Hf].
    Qed.
    Lemma own_left : State.own this of_home state_left (part d sched_part).
    Proof using Hcpu Hd arch_there base_bound.
      split; [|split].
      - intros f Hf. apply part_at; [|by apply word_there]. apply sched_cell. right; left. by apply elem_of_list_fmap_1.
      - intros t Ht. split; apply Forall_forall; intros [f v] Hf; cbn [fst snd].
        + apply part_at; [|by apply reservation_cell_left]. apply (in_thread_part t); [done|]. do 2 right. apply elem_of_list_fmap_1.
          change (f ∈ (reservation_fields (reserved_at_start t)).*1). apply elem_of_list_fmap. by exists (f, v).
        + apply elem_of_cons in Hf as [[= -> ->]|[= -> ->]%elem_of_list_singleton]; (apply part_at; [apply (in_thread_part t); [done|]|]).
          * by left.
          * pose proof Ht as [_ E]. rewrite <- E. apply (thread_field_left t "cpu"); [done|]. by left.
          * right; by left.
          * assert (base_priority state_left t = base t) as -> by (unfold base_priority; apply Z.mod_small, base_bound, Ht).
            apply (thread_field_left t "base_priority"); [done|]. unfold thread_left. do 2 right. left.
      - split; [intros e t H; change ((∅ : gmap Z Z) !! e = Some t) in H; rewrite lookup_empty in H; discriminate|].
        split; [intros e He; apply part_at; [apply (in_event_part e); [done|right; by left]|apply event_cell_left; [done|names]]|].
        split; [apply part_at; [apply sched_cell; right; left; apply (elem_of_list_fmap_1 (cell_of cpu) _ "alarm"%string); names|by apply (word_there "alarm"); names]|].
        exists (Heap SCHED_HEAP_ROOT (fun _ => timer_never) (fun p => default 0 (d !! heap_cell "event" cpu p)) (fun _ => 0)). split; [split; [|split]|].
        + apply part_at; [apply sched_cell; by left|]. by apply word_left.
        + intros p Hp. destruct (left_heaps d Hd _ (heap_index_bound p Hp)) as [H1 [v H2]].
          split; (apply part_at; [apply (in_heap_part p); [done|]|]); [by left|exact H1|right; by left|cbn [event_at]; by rewrite H2].
        + intros e He. apply part_at; [apply (in_event_part e); [done|by left]|]. apply event_cell_left; [done|names].
        + split; [unfold EventSpec.fits; constants; cbn; lia|]. split; [split; [|split]|split].
          * intros p Hp. cbn in Hp. lia.
          * intros e t H. change ((∅ : gmap Z Z) !! e = Some t) in H. rewrite lookup_empty in H. discriminate.
          * done.
          * intros p Hp. cbn in Hp. lia.
          * done.
    Qed.

    (** *** All together: the parts by the names of objects and fields, and whose a cell is *)
    Definition kind_of (x : cell) : Z :=
      let '(o, _, f, _) := x in
      if existsb (String.eqb o) ["queue"; "queue_node"; "sched_ready_map"]%string || String.eqb o "thread" && existsb (String.eqb f) ["priority"; "state"]%string then 0
      else if String.eqb o "timer_alarm" || String.eqb o "thread" && String.eqb f "root" then 2 else 1.
    Definition cell_home (x : cell) : Z :=
      let '(o, i, _, _) := x in
      if String.eqb o "queue" then (if i <? QUEUE_PARKED_BASE then (i - QUEUE_READY_BASE) / NUM_PRIORITY else i - QUEUE_PARKED_BASE)
      else if existsb (String.eqb o) ["queue_node"; "thread"; "sched_reservation"]%string then home i
      else if String.eqb o "sched_event" then home (i mod NUM_THREAD)
      else if String.eqb o "sched_heap" then i / SCHED_HEAP_PLACES else i.
    Lemma queue_part_where x : x ∈ queue_part -> kind_of x = 0 /\ cell_home x = cpu.
    Proof using Hcpu.
      unfold queue_part. rewrite elem_of_app, !elem_of_list_bind. intros [(q & Hx & Hq)|(t & Hx & [_ Ht]%home_listed)]; rewrite !elem_of_cons, elem_of_nil in Hx.
      - pose proof (own_queue_cpu cpu q Hcpu Hq). destruct Hx as [->|[->|[]]]; done.
      - destruct Hx as [->|[->|[->|[]]]]; done.
    Qed.
    Lemma map_part_where x : ready_map_cells cpu x -> kind_of x = 0 /\ cell_home x = cpu.
    Proof using. intros [(i & _ & ->)|[-> | ->]]; done. Qed.
    Lemma state_part_where x : x ∈ state_part -> kind_of x = 0 /\ cell_home x = cpu.
    Proof using. intros (t & Hx & [_ Ht]%home_listed)%elem_of_list_bind. rewrite !elem_of_cons, elem_of_nil in Hx. destruct Hx as [->|[->|[]]]; done. Qed.
    Lemma timer_part_where x : x ∈ timer_part -> kind_of x = 2 /\ cell_home x = cpu.
    Proof using.
      unfold timer_part. rewrite elem_of_cons, elem_of_list_bind. intros [->|(t & Hx & [_ Ht]%home_listed)]; [done|]. by apply elem_of_list_singleton in Hx as ->.
    Qed.
    Lemma sched_part_where x : x ∈ sched_part -> kind_of x = 1 /\ cell_home x = cpu.
    Proof using Hcpu.
      intros [->|[H|[H|[H|H]]]]%sched_cell; [done|..].
      - apply elem_of_list_fmap in H as (f & -> & Hf). unfold own_words, arch_words in Hf. cbn [app] in Hf.
        repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]). by apply elem_of_nil in Hf.
      - apply elem_of_list_bind in H as (t & H & [_ Ht]%home_listed). cbn in H. repeat (apply elem_of_cons in H as [->|H]; [done|]). by apply elem_of_nil in H.
      - apply elem_of_list_bind in H as (p & H & Hp%elem_of_seqZ). assert ((cpu * SCHED_HEAP_PLACES + p) / SCHED_HEAP_PLACES = cpu) as E.
        { symmetry. apply (Z.div_unique _ _ _ p); [left; lia|]. lia. }
        apply elem_of_cons in H as [->|H]; [done|]. by apply elem_of_list_singleton in H as ->.
      - apply elem_of_list_bind in H as (e & H & [Ht _]%elem_of_list_filter). apply elem_of_cons in H as [->|H]; [done|]. by apply elem_of_list_singleton in H as ->.
    Qed.

    Lemma sched_part_there x : x ∈ sched_part -> is_Some (d !! x).
    Proof using Hcpu Hd arch_there.
      intros [->|[H|[H|[H|H]]]]%sched_cell; [eexists; by apply word_left|..].
      - apply elem_of_list_fmap in H as (f & -> & Hf). eexists. by apply word_there.
      - apply elem_of_list_bind in H as (t & H & Ht%home_listed). apply elem_of_cons in H as [->|H]; [|apply elem_of_cons in H as [->|H]].
        + eexists. apply (thread_field_left t "cpu"); [done|by left].
        + eexists. apply (thread_field_left t "base_priority"); [done|]. unfold thread_left. do 2 right. left.
        + apply elem_of_list_fmap in H as (f & -> & Hf). change (f ∈ (reservation_fields (reserved_at_start t)).*1) in Hf.
          apply elem_of_list_fmap in Hf as ((g & v) & -> & Hf). eexists. by apply reservation_cell_left.
      - apply elem_of_list_bind in H as (p & H & Hp%elem_of_seqZ). destruct (left_heaps d Hd _ (heap_index_bound p ltac:(lia))) as [H1 H2].
        apply elem_of_cons in H as [->|H]; [by eexists|]. by apply elem_of_list_singleton in H as ->.
      - apply elem_of_list_bind in H as (e & H & [Ht He%elem_of_seqZ]%elem_of_list_filter). assert (State.mine of_home e) as Hm.
        { split; [lia|]. split; [|done]. apply Z.mod_pos_bound. done. }
        apply elem_of_cons in H as [->|H]; [eexists; apply event_cell_left; [done|by left]|]. apply elem_of_list_singleton in H as ->.
        eexists. apply event_cell_left; [done|right; by left].
    Qed.
    Lemma timer_part_there x : x ∈ timer_part -> exists v, d !! x = Some v /\ (x <> field_cell "timer_alarm" cpu "deadline" -> v = NONE).
    Proof using Hd timer_there.
      unfold timer_part. rewrite elem_of_cons, elem_of_list_bind. intros [->|(t & Hx & Ht%home_listed)].
      - destruct timer_there as [v Hv]. by exists v.
      - apply elem_of_list_singleton in Hx as ->. exists NONE. split; [|done]. apply (thread_field_left t "root"); [done|]. unfold thread_left. do 4 right. left.
    Qed.

    (** The CPU's own memory, of which no cell is another's. [timer] is what the timer and page maps keep of it. *)
    Context (timer : mem -> Prop) (timer_left : timer (part d timer_part)).
    Theorem cpu_holds : exists w, w ⊆ d /\ (forall x, is_Some (w !! x) -> cell_home x = cpu) /\ State.holds this of_home timer state_left w.
    Proof using Hcpu Hd base_bound arch_there timer_there timer_left.
      destruct queues_held as (dm & Hsub & Hex & Hrep). set (dr := part d queue_part ∪ (dm ∪ part d state_part)) in *.
      assert (forall x, is_Some (dr !! x) -> kind_of x = 0 /\ cell_home x = cpu) as Hr.
      { intros x [v [Hv|[_ [Hv|[_ Hv]]%lookup_union_Some_raw]]%lookup_union_Some_raw].
        - apply queue_part_where, (part_dom d). by exists v.
        - apply map_part_where, Hex. by exists v.
        - apply state_part_where, (part_dom d). by exists v. }
      assert (forall x, is_Some (part d sched_part !! x) -> kind_of x = 1 /\ cell_home x = cpu) as Hs by (intros x Hx%part_dom; by apply sched_part_where).
      assert (forall x, is_Some (part d timer_part !! x) -> kind_of x = 2 /\ cell_home x = cpu) as Ht by (intros x Hx%part_dom; by apply timer_part_where).
      assert (forall (a b : mem) i j, i <> j -> (forall x, is_Some (a !! x) -> kind_of x = i /\ cell_home x = cpu) -> (forall x, is_Some (b !! x) -> kind_of x = j /\ cell_home x = cpu) -> a ##ₘ b) as Hapart.
      { intros a b i j Hne Ha Hb. apply map_disjoint_spec. intros x v w H1 H2. apply Hne. rewrite <- (proj1 (Ha x (ex_intro _ v H1))). apply Hb. by exists w. }
      exists (dr ∪ (part d sched_part ∪ part d timer_part)). split; [|split].
      - apply map_union_least; [unfold dr; apply map_union_least; [|apply map_union_least; [exact Hsub|]]|apply map_union_least]; [apply part_of_whole..|].
        + intros x Hx. eexists. by apply queue_cell_left.
        + intros x (t & Hx & Ht'%home_listed)%elem_of_list_bind. destruct (state_cell_left t Ht') as [H1 H2]. rewrite !elem_of_cons, elem_of_nil in Hx. destruct Hx as [->|[->|[]]]; by eexists.
        + apply sched_part_there.
        + apply part_of_whole. intros x Hx. destruct (timer_part_there x Hx) as (v & Hv & _). by exists v.
      - intros x [v [Hv|[_ [Hv|[_ Hv]]%lookup_union_Some_raw]]%lookup_union_Some_raw]; [apply Hr|apply Hs|apply Ht]; by exists v.
      - exists dr, (part d sched_part), (part d timer_part). split_and!; [done| | |done|apply own_left|exact timer_left].
        + apply map_disjoint_union_r. split; [by apply (Hapart _ _ 0 1)|by apply (Hapart _ _ 0 2)].
        + by apply (Hapart _ _ 1 2).
    Qed.

    (** *** [sched_init_cpu]: the idle thread begins with what all threads promise each other *)
    Context (clock_there : exists k, d !! cell_of cpu "arch_clock" = Some k /\ 0 <= k < horizon).
    Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module).
    Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd) (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
    Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd) (HC : M "arch_cpu"%string = None).
    Lemma idle_marked : sched_mark queues_left cpu thread_is_running = Some queues_left.
    Proof using Hcpu home_idle.
      unfold sched_mark. assert (ready_threads queues_left !! cpu = Some (record_left cpu)) as E by (apply threads_there; split; [apply idle_home|done]).
      rewrite E, bool_decide_eq_true_2 by apply threads_free, idle_home. f_equal. unfold ready_mark. rewrite E.
      destruct queues_left as [q m] eqn:Eq. cbn [ready_queues ready_threads] in *. f_equal. apply insert_id. rewrite E. unfold record_left. by rewrite (proj2 (Z.ltb_lt _ _)) by lia.
    Qed.
    Lemma floor_nonnegative X : 0 <= word (with_floor this X) "arch_floor".
    Proof using.
      unfold with_floor, set_word. cbn [word String.eqb Ascii.eqb Bool.eqb]. destruct ((_ =? 0) && (_ =? NONE)); [|done].
      destruct (ready_best_spec (queues X) cpu) as [[-> _]|(q & ? & ? & -> & Hq & _)]; lia.
    Qed.
    Theorem sched_init_cpu_promises : does quiet kernel_entry M this of_home timer "sched_init_cpu" [] state_left (fun _ Y => promised this of_home cpu Y).
    Proof using Hcpu Hd home_idle base_bound time_bound idle_free arch_there idle_runs clock_there HM HT HR HC.
      eapply does_mono; [|apply (sched_init_cpu_does quiet kernel_entry M this Hcpu of_home timer HM HT HR HC queues_left); exact idle_marked].
      intros v Y [-> ->]. apply promised_at_start; [lia|exact sched_left| | | | | | | | | | | |done].
      - exists []. apply queues_empty. split; [done|]. apply own_queue_spec. by left.
      - intros t. split; [|intros Ht; left; by apply threads_free]. split; [intros [r [Ht _]%threads_there]; exact Ht|].
        intros Ht. exists (record_left t). by apply threads_there.
      - change (word state_left "arch_current" = cpu). unfold state_left. cbn [word]. by rewrite idle_runs.
      - done.
      - by apply (word_fresh "kept"); [names|].
      - by apply (word_fresh "charged"); [names|].
      - by apply (word_fresh "since"); [names|].
      - destruct clock_there as (k & Hk & Hb). change (0 <= word state_left "arch_clock" < horizon). unfold state_left. cbn [word]. by rewrite Hk.
      - apply floor_nonnegative.
      - intros t Ht. destruct (time_bound t (proj1 Ht)) as [Hp Hb]. split; [by apply (reserved_valid 0 t)|].
        unfold payer_of. change (reservation_of _ t) with (reserved_at_start t). unfold payer, reserved_at_start, take_back. cbn.
        destruct (time_period t =? 0); [by left|by right].
      - unfold payer_of. change (reservation_of _ cpu) with (reserved_at_start cpu). unfold payer, reserved_at_start, take_back. cbn. by rewrite (idle_free cpu Hcpu).
    Qed.
  End cpu.
End start.
