(** Ready queues: each CPU can start with empty ones, with an empty queue for parked threads, and with threads that are its
    own, in cells of its own.

    CPU [cpu] starts with its idle thread, number [cpu], and with every [NUM_CPU]th other one; all are unused. *)
From Ashlar Require Export layers.sched.ready.BitmapCells lang.logic.Memory.
Local Opaque gmap_lookup gmap_partial_alter.

Definition own_thread (cpu i : Z) : Z := NUM_CPU + NUM_CPU * i + cpu.
Definition own_thread_list (cpu : Z) : list Z := own_thread cpu <$> seqZ (-1) 9.
Definition own_queue_list (cpu : Z) : list Z := (QUEUE_PARKED_BASE + cpu) :: (ready_queue cpu <$> seqZ 0 NUM_PRIORITY).
Definition own_threads (cpu : Z) : gset Z := list_to_set (own_thread_list cpu).
Definition ready_at_start (cpu : Z) : ready :=
  Ready (QueueState (set_to_map (fun q => (q, [])) (list_to_set (C := gset Z) (own_queue_list cpu))) (own_threads cpu))
    (set_to_map (fun t => (t, ReadyThread 0 0)) (own_threads cpu)).

Lemma own_queue_spec cpu q : q ∈ own_queue_list cpu <->
  q = QUEUE_PARKED_BASE + cpu \/ exists p, 0 <= p < NUM_PRIORITY /\ q = ready_queue cpu p.
Proof.
  unfold own_queue_list. rewrite elem_of_cons, elem_of_list_fmap. apply or_iff_compat_l. split; intros (p & H1 & H2); exists p.
  - apply elem_of_seqZ in H2. split; [lia|done].
  - split; [done|]. apply elem_of_seqZ. lia.
Qed.
Lemma start_queues cpu q l : queue_lists (ready_queues (ready_at_start cpu)) !! q = Some l <-> l = [] /\ q ∈ own_queue_list cpu.
Proof.
  cbn [ready_at_start ready_queues queue_lists]. rewrite lookup_set_to_map by done. split.
  - intros (q' & Hq & [= -> <-]). by rewrite elem_of_list_to_set in Hq.
  - intros [-> Hq]. exists q. split; [by apply elem_of_list_to_set|done].
Qed.
Lemma own_threads_spec cpu t : t ∈ own_threads cpu <-> exists i, -1 <= i < 8 /\ t = own_thread cpu i.
Proof.
  unfold own_threads, own_thread_list. rewrite elem_of_list_to_set, elem_of_list_fmap. split.
  - intros (i & -> & Hi%elem_of_seqZ). exists i. split; [lia|done].
  - intros (i & Hi & ->). exists i. split; [done|]. apply elem_of_seqZ. lia.
Qed.
Lemma start_threads cpu t r : ready_threads (ready_at_start cpu) !! t = Some r <-> t ∈ own_threads cpu /\ r = ReadyThread 0 0.
Proof.
  cbn [ready_at_start ready_threads]. rewrite lookup_set_to_map by done. split.
  - intros (t' & Ht & [= -> <-]). done.
  - intros [Ht ->]. by exists t.
Qed.
Lemma start_list cpu p : ready_list (ready_at_start cpu) cpu p = [].
Proof.
  unfold ready_list. destruct (queue_lists _ !! _) as [l|] eqn:E; [|done]. apply start_queues in E as [-> _]. done.
Qed.
Lemma start_none cpu p : ready_some (ready_at_start cpu) cpu p = false.
Proof. unfold ready_some. by rewrite start_list. Qed.

Theorem ready_at_start_valid cpu : 0 <= cpu < NUM_CPU -> ready_valid cpu (ready_at_start cpu).
Proof.
  intros Hc. unfold NUM_CPU in Hc. split; [split|split].
  - intros q l Hl. apply start_queues in Hl as [-> Hq%own_queue_spec].
    split; [destruct Hq as [->|(p & Hp & ->)]; unfold ready_queue, QUEUE_READY_BASE, QUEUE_PARKED_BASE, NUM_PRIORITY, NUM_QUEUE in *; lia|].
    split; [constructor|]. split; [constructor|]. intros q' l' _. right. constructor.
  - intros t Ht. apply own_threads_spec in Ht as (i & Hi & ->). unfold own_thread, NUM_CPU, NUM_THREAD. lia.
  - intros t r Hr. apply start_threads in Hr as [_ ->]. unfold NUM_PRIORITY. simpl. lia.
  - apply Forall_forall. intros p Hp%elem_of_seqZ. split.
    + exists []. apply start_queues. split; [done|]. apply own_queue_spec. right. exists p. split; [lia|done].
    + rewrite start_list. constructor.
Qed.

(** ** The cells *)
Definition own_queue_cells (cpu : Z) : list cell :=
  (q ← own_queue_list cpu; [queue_first q; queue_last q]) ++
  (t ← own_thread_list cpu; [node_queue t; node_next t; node_previous t]).
Definition own_map_cells (cpu : Z) : list cell := (ready_word cpu <$> [0; 1; 2; 3]) ++ [ready_summary cpu; ready_best_cell cpu].
Definition own_thread_cells (cpu : Z) : list cell := t ← own_thread_list cpu; [thread_priority_cell t; thread_state_cell t].
Definition ready_memory (cpu : Z) : mem :=
  memory (fun _ => NONE) (own_queue_cells cpu) ∪
  (memory (fun _ => 0) (own_map_cells cpu) ∪ memory (fun _ => 0) (own_thread_cells cpu)).

(** Whose a cell is, by its object and index; and that it is some CPU's. *)
Definition cpu_of_cell (x : cell) : Z :=
  let '(o, i, _, _) := x in
  if String.eqb o "queue" then (if i <? QUEUE_PARKED_BASE then (i - QUEUE_READY_BASE) / NUM_PRIORITY else i - QUEUE_PARKED_BASE)
  else if String.eqb o "sched_ready_map" then i else i mod NUM_CPU.
Definition cpu_object_names : list string := ["queue"; "queue_node"; "sched_ready_map"; "thread"]%string.

Lemma own_queue_cpu cpu q : 0 <= cpu < NUM_CPU -> q ∈ own_queue_list cpu ->
  (if q <? QUEUE_PARKED_BASE then (q - QUEUE_READY_BASE) / NUM_PRIORITY else q - QUEUE_PARKED_BASE) = cpu.
Proof.
  intros Hc [->|(p & Hp & ->)]%own_queue_spec.
  - rewrite (proj2 (Z.ltb_ge _ _)) by lia. lia.
  - unfold ready_queue, QUEUE_READY_BASE, QUEUE_PARKED_BASE, NUM_PRIORITY, NUM_CPU in *. rewrite (proj2 (Z.ltb_lt _ _)) by lia.
    symmetry. apply (Z.div_unique _ _ _ p); [by left|]. lia.
Qed.
Lemma own_thread_cpu cpu i : 0 <= cpu < NUM_CPU -> own_thread cpu i mod NUM_CPU = cpu.
Proof.
  intros Hc. unfold own_thread. symmetry. apply (Z.mod_unique _ _ (i + 1)); [by left|]. lia.
Qed.

Lemma own_queue_cells_spec cpu x : x ∈ own_queue_cells cpu <-> queue_cells (ready_queues (ready_at_start cpu)) x.
Proof.
  unfold own_queue_cells, queue_cells. rewrite elem_of_app, !elem_of_list_bind. split.
  - intros [(q & Hx & Hq)|(t & Hx & Ht)].
    + left. exists q. split.
      * exists []. by apply start_queues.
      * rewrite !elem_of_cons, elem_of_nil in Hx. tauto.
    + right. exists t. split; [left; by apply elem_of_list_to_set|]. rewrite !elem_of_cons, elem_of_nil in Hx. tauto.
  - intros [(q & [l Hl] & Hx)|(t & Ht & Hx)].
    + left. apply start_queues in Hl as [_ Hq]. exists q. split; [rewrite !elem_of_cons; tauto|done].
    + right. exists t. split; [rewrite !elem_of_cons; tauto|]. destruct Ht as [Ht|(q & l & Hl & Hin)].
      * by apply elem_of_list_to_set in Ht.
      * apply start_queues in Hl as [-> _]. by apply elem_of_nil in Hin.
Qed.
Lemma own_map_cells_spec cpu x : x ∈ own_map_cells cpu <-> ready_map_cells cpu x.
Proof.
  unfold own_map_cells, ready_map_cells. rewrite elem_of_app, elem_of_list_fmap, !elem_of_cons, elem_of_nil. split.
  - intros [(i & -> & Hi)|[->|[->|[]]]]; [left|by right; left|by right; right]. exists i. split; [|done].
    rewrite !elem_of_cons, elem_of_nil in Hi. lia.
  - intros [(i & Hi & ->)|[-> | ->]]; [left|by right; left|by right; right; left]. exists i. split; [done|].
    rewrite !elem_of_cons. lia.
Qed.
Lemma own_thread_cells_spec cpu x : x ∈ own_thread_cells cpu <->
  exists t, is_Some (ready_threads (ready_at_start cpu) !! t) /\ (x = thread_priority_cell t \/ x = thread_state_cell t).
Proof.
  unfold own_thread_cells. rewrite elem_of_list_bind. split.
  - intros (t & Hx & Ht). exists t. split.
    + eexists. apply start_threads. split; [by apply elem_of_list_to_set|done].
    + rewrite !elem_of_cons, elem_of_nil in Hx. tauto.
  - intros (t & [r [Ht%elem_of_list_to_set _]%start_threads] & Hx). exists t. rewrite !elem_of_cons. tauto.
Qed.

Lemma own_cells cpu x : 0 <= cpu < NUM_CPU -> is_Some (ready_memory cpu !! x) -> x.1.1.1 ∈ cpu_object_names /\ cpu_of_cell x = cpu.
Proof.
  intros Hc Hx. assert (H : x ∈ own_queue_cells cpu \/ x ∈ own_map_cells cpu \/ x ∈ own_thread_cells cpu).
  { unfold ready_memory in Hx. destruct Hx as [v [Hv|[_ [Hv|[_ Hv]]%lookup_union_Some_raw]]%lookup_union_Some_raw].
    - left. apply (memory_dom (fun _ => NONE)). by exists v.
    - right; left. apply (memory_dom (fun _ => 0)). by exists v.
    - right; right. apply (memory_dom (fun _ => 0)). by exists v. }
  destruct H as [[(q & [l Hl] & H)|(t & Ht & H)]%own_queue_cells_spec|
    [H%own_map_cells_spec|(t & [r [Ht _]%start_threads] & H)%own_thread_cells_spec]].
  - apply start_queues in Hl as [_ Hq]. destruct H as [-> | ->]; (split; [left|by apply own_queue_cpu]).
  - assert (Ho : t ∈ own_threads cpu).
    { destruct Ht as [Ht|(q & l & Hl & Hin)]; [done|]. apply start_queues in Hl as [-> _]. by apply elem_of_nil in Hin. }
    apply own_threads_spec in Ho as (i & _ & ->). destruct H as [->|[-> | ->]]; (split; [right; left|by apply own_thread_cpu]).
  - destruct H as [(i & _ & ->)|[-> | ->]]; (split; [do 2 right; left|done]).
  - apply own_threads_spec in Ht as (i & _ & ->). destruct H as [-> | ->]; (split; [do 3 right; left|by apply own_thread_cpu]).
Qed.
Theorem ready_memory_disjoint cpu cpu' : 0 <= cpu < NUM_CPU -> 0 <= cpu' < NUM_CPU -> cpu <> cpu' ->
  ready_memory cpu ##ₘ ready_memory cpu'.
Proof.
  intros Hc Hc' Hne. apply map_disjoint_spec. intros x v w H1 H2. apply Hne.
  destruct (own_cells cpu x Hc (ex_intro _ v H1)) as [_ <-]. by destruct (own_cells cpu' x Hc' (ex_intro _ w H2)) as [_ <-].
Qed.

Lemma word_is_zero f : (forall b, 0 <= b < 64 -> f b = false) -> word_is 0 f.
Proof. intros Hf. split; [done|]. intros b Hb. by rewrite Z.bits_0, Hf. Qed.

Theorem ready_memory_rep cpu : 0 <= cpu < NUM_CPU -> ready_rep cpu (ready_at_start cpu) (ready_memory cpu).
Proof.
  intros Hc. split; [by apply ready_at_start_valid|].
  exists (memory (fun _ => NONE) (own_queue_cells cpu)), (memory (fun _ => 0) (own_map_cells cpu)),
    (memory (fun _ => 0) (own_thread_cells cpu)).
  assert (Hapart : forall f g l l', (forall x, x ∈ l -> x ∈ l' -> False) -> memory f l ##ₘ memory g l').
  { intros f g l l' H. apply map_disjoint_spec. intros x v w H1 H2. apply (H x);
      [apply (memory_dom f)|apply (memory_dom g)]; eexists; done. }
  assert (Hobj : forall x, x ∈ own_queue_cells cpu -> x.1.1.1 = "queue"%string \/ x.1.1.1 = "queue_node"%string).
  { intros x [(q & _ & [-> | ->])|(t & _ & [->|[-> | ->]])]%own_queue_cells_spec; auto. }
  assert (Hobj' : forall x, x ∈ own_map_cells cpu -> x.1.1.1 = "sched_ready_map"%string).
  { intros x [(i & _ & ->)|[-> | ->]]%own_map_cells_spec; auto. }
  assert (Hobj'' : forall x, x ∈ own_thread_cells cpu -> x.1.1.1 = "thread"%string).
  { intros x (t & _ & [-> | ->])%own_thread_cells_spec; auto. }
  split; [done|]. split; [apply map_disjoint_union_r; split|split; [|split; [|split]]].
  - apply Hapart. intros x H%Hobj H'%Hobj'. rewrite H' in H. by destruct H.
  - apply Hapart. intros x H%Hobj H'%Hobj''. rewrite H' in H. by destruct H.
  - apply Hapart. intros x H%Hobj' H'%Hobj''. congruence.
  - split; [by apply ready_at_start_valid|]. split; [intros x; rewrite memory_dom; apply own_queue_cells_spec|]. split.
    + intros q l Hl. pose proof Hl as [-> _]%start_queues.
      split; [|split; [|done]]; (apply memory_in, own_queue_cells_spec; left; exists q; split; [by eexists|auto]).
    + intros t Ht. split; [|split]; (apply memory_in, own_queue_cells_spec; right; exists t; split; [by left|auto]).
  - split; [intros x; rewrite memory_dom; apply own_map_cells_spec|]. split; [|split].
    + intros i Hi. exists 0. split; [apply memory_in, own_map_cells_spec; left; by exists i|]. apply word_is_zero.
      intros b _. apply start_none.
    + exists 0. split; [apply memory_in, own_map_cells_spec; by right; left|]. apply word_is_zero. intros i _.
      apply andb_false_iff. right. apply not_true_iff_false. intros (b & _ & H)%existsb_exists. by rewrite start_none in H.
    + etrans; [apply memory_in, own_map_cells_spec; by right; right|]. f_equal. unfold ready_best.
      destruct (best_below_spec (ready_at_start cpu) cpu 256) as [[-> _]|(p & _ & _ & H & _)]; [done|]. by rewrite start_none in H.
  - split; [intros x; rewrite memory_dom; apply own_thread_cells_spec|]. intros t r Ht. pose proof Ht as [_ ->]%start_threads.
    split; (apply memory_in, own_thread_cells_spec; exists t; split; [by eexists|auto]).
Qed.
