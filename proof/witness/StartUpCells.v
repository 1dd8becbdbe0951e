(** Memory in which start-up may run: the cells of the objects of queues, threads and the scheduler, all of which contain 7. *)
From Ashlar Require Export layers.sched.cpu.StartUpCode.
Local Open Scope Z_scope.
Local Opaque gmap_lookup gmap_partial_alter.

Definition cells_of_fields (o : string) (count : Z) (fields : list string) : list cell := t ← seqZ 0 count; field_cell o t <$> fields.
Definition all_queue_cells : list cell :=
  cells_of_fields "queue" NUM_QUEUE ["first"; "last"] ++ cells_of_fields "queue_node" NUM_THREAD ["queue"; "next"; "previous"].
Definition all_thread_cells : list cell := cells_of_fields "thread" NUM_THREAD thread_fields.
Definition all_sched_cells : list cell :=
  cells_of_fields "sched_cpu" NUM_CPU cpu_fields ++ cells_of_fields "sched_reservation" NUM_THREAD (reservation_fields unreserved).*1 ++
  cells_of_fields "sched_heap" SCHED_HEAP_ALL ["when"; "event"] ++ cells_of_fields "sched_event" SCHED_NUM_EVENT ["place"; "cancelled"].
Definition all_map_cells : list cell := c ← seqZ 0 NUM_CPU; own_map_cells c.
Definition sevens (l : list cell) : mem := memory (fun _ => 7) l.

Lemma cells_of_fields_spec o count fields x : x ∈ cells_of_fields o count fields <-> exists t f, 0 <= t < count /\ f ∈ fields /\ x = field_cell o t f.
Proof.
  unfold cells_of_fields. rewrite elem_of_list_bind. split.
  - intros (t & (f & -> & Hf)%elem_of_list_fmap & Ht%elem_of_seqZ). exists t, f. split; [lia|done].
  - intros (t & f & Ht & Hf & ->). exists t. split; [by apply elem_of_list_fmap_1|]. apply elem_of_seqZ. lia.
Qed.
Lemma sevens_have o count fields l t : (forall x, x ∈ cells_of_fields o count fields -> x ∈ l) -> 0 <= t < count -> has_fields o t fields (sevens l).
Proof. intros Hl Ht. apply Forall_forall. intros f Hf. apply memory_dom, Hl, cells_of_fields_spec. by exists t, f. Qed.
Lemma sevens_apart l l' : (forall x, x ∈ l -> x ∈ l' -> False) -> sevens l ##ₘ sevens l'.
Proof. intros H. apply map_disjoint_spec. intros x v w H1 H2. apply (H x); [apply (memory_dom (fun _ => 7))|apply (memory_dom (fun _ => 7))]; by eexists. Qed.

Lemma queue_objects x : x ∈ all_queue_cells -> x.1.1.1 = "queue"%string \/ x.1.1.1 = "queue_node"%string.
Proof. unfold all_queue_cells. rewrite elem_of_app, !cells_of_fields_spec. intros [(t & f & _ & _ & ->)|(t & f & _ & _ & ->)]; auto. Qed.
Lemma thread_objects x : x ∈ all_thread_cells -> x.1.1.1 = "thread"%string.
Proof. unfold all_thread_cells. rewrite cells_of_fields_spec. by intros (t & f & _ & _ & ->). Qed.
Lemma sched_objects x : x ∈ all_sched_cells -> x.1.1.1 ∈ ["sched_cpu"; "sched_reservation"; "sched_heap"; "sched_event"]%string.
Proof.
  unfold all_sched_cells. rewrite !elem_of_app, !cells_of_fields_spec.
  intros [(t & f & _ & _ & ->)|[(t & f & _ & _ & ->)|[(t & f & _ & _ & ->)|(t & f & _ & _ & ->)]]]; cbn; names.
Qed.
Lemma map_objects x : x ∈ all_map_cells -> x.1.1.1 = "sched_ready_map"%string.
Proof. unfold all_map_cells. rewrite elem_of_list_bind. intros (c & [(i & _ & ->)|[-> | ->]]%own_map_cells_spec & _); done. Qed.

Theorem start_cells_there : start_cells (sevens all_queue_cells) (sevens all_thread_cells) (sevens all_sched_cells) (sevens all_map_cells) /\
  sevens all_queue_cells ##ₘ sevens all_thread_cells ∪ (sevens all_sched_cells ∪ sevens all_map_cells) /\
  sevens all_thread_cells ##ₘ sevens all_sched_cells ∪ sevens all_map_cells /\ sevens all_sched_cells ##ₘ sevens all_map_cells.
Proof.
  split; [split|split; [|split]].
  - intros x. unfold sevens. rewrite memory_dom. unfold all_queue_cells, queue_cells. rewrite elem_of_app, !cells_of_fields_spec. split.
    + intros [(q & f & Hq & Hf & ->)|(t & f & Ht & Hf & ->)]; [left|right].
      * exists q. split; [exists []; by apply initial_lists|]. rewrite !elem_of_cons, elem_of_nil in Hf. destruct Hf as [->|[->|[]]]; auto.
      * exists t. split; [left; by apply initial_free|]. rewrite !elem_of_cons, elem_of_nil in Hf. destruct Hf as [->|[->|[->|[]]]]; auto.
    + intros [(q & [l [Hq _]%initial_lists] & [-> | ->])|(t & Ht & Hx)]; [left; exists q; eexists; split; [done|split; [|done]]; names..|right].
      assert (0 <= t < NUM_THREAD) as Hb by (destruct Ht as [Ht%initial_free|(q & l & [_ ->]%initial_lists & Hin)]; [done|by apply elem_of_nil in Hin]).
      exists t. destruct Hx as [->|[-> | ->]]; eexists; (split; [done|split; [|done]]); names.
  - intros t Ht. by apply (sevens_have "thread" NUM_THREAD).
  - assert (forall x, x ∈ all_sched_cells <-> x ∈ cells_of_fields "sched_cpu" NUM_CPU cpu_fields \/ x ∈ cells_of_fields "sched_reservation" NUM_THREAD (reservation_fields unreserved).*1 \/
      x ∈ cells_of_fields "sched_heap" SCHED_HEAP_ALL ["when"; "event"]%string \/ x ∈ cells_of_fields "sched_event" SCHED_NUM_EVENT ["place"; "cancelled"]%string) as Hs
      by (intros x; unfold all_sched_cells; by rewrite !elem_of_app).
    split_and!.
    + intros c Hc. apply memory_dom, Hs. left. apply cells_of_fields_spec. exists c, "events"%string. split; [done|]. split; [names|done].
    + intros i Hi. apply (sevens_have "sched_heap" SCHED_HEAP_ALL); [intros x Hx; apply Hs; auto|done].
    + intros e He. apply (sevens_have "sched_event" SCHED_NUM_EVENT); [intros x Hx; apply Hs; auto|done].
  - intros c Hc. apply (sevens_have "sched_cpu" NUM_CPU); [|done]. intros x Hx. unfold all_sched_cells. rewrite !elem_of_app. auto.
  - intros t Ht. apply (sevens_have "sched_reservation" NUM_THREAD); [|done]. intros x Hx. unfold all_sched_cells. rewrite !elem_of_app. auto.
  - intros x. unfold sevens, all_map_cells. rewrite memory_dom, elem_of_list_bind. split.
    + intros (c & Hx%own_map_cells_spec & Hc%elem_of_seqZ). exists c. split; [lia|done].
    + intros (c & Hc & Hx). exists c. split; [by apply own_map_cells_spec|]. apply elem_of_seqZ. lia.
  - apply map_disjoint_union_r. split; [|apply map_disjoint_union_r; split]; apply sevens_apart; intros x Hq%queue_objects H.
    + apply thread_objects in H. rewrite H in Hq. by destruct Hq.
    + apply sched_objects in H. destruct Hq as [E|E]; rewrite E in H; revert H; names.
    + apply map_objects in H. rewrite H in Hq. by destruct Hq.
  - apply map_disjoint_union_r. split; apply sevens_apart; intros x Ht%thread_objects H.
    + apply sched_objects in H. rewrite Ht in H. revert H. names.
    + apply map_objects in H. congruence.
  - apply sevens_apart. intros x Hs%sched_objects H%map_objects. rewrite H in Hs. revert Hs. names.
Qed.
