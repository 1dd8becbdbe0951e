(** Events to come: after start-up no event is set. *)
From Ashlar Require Export layers.sched.event.EventCode.
Local Opaque gmap_lookup gmap_partial_alter.

Definition no_events (_ : Z) : list (string * Z) := [("events"%string, SCHED_HEAP_ROOT)].
Definition no_time (_ : Z) : list (string * Z) := [("when"%string, timer_never)].
Definition unset (_ : Z) : list (string * Z) := [("place"%string, 0); ("cancelled"%string, 0)].
(** The cells after start-up. *)
Definition events_fresh (d : mem) : mem :=
  filled "sched_event" unset 0 SCHED_NUM_EVENT (filled "sched_heap" no_time 0 SCHED_HEAP_ALL (filled "sched_cpu" no_events 0 NUM_CPU d)).
(** The cells that the scheduler's objects have. *)
Definition event_cells (d : mem) : Prop :=
  (forall c, 0 <= c < NUM_CPU -> is_Some (d !! cpu_cell "events" c)) /\
  (forall i, 0 <= i < SCHED_HEAP_ALL -> has_fields "sched_heap" i ["when"; "event"]%string d) /\
  (forall e, 0 <= e < SCHED_NUM_EVENT -> has_fields "sched_event" e ["place"; "cancelled"]%string d).

Lemma filled_keeps o l i j o' t names d : has_fields o' t names d -> has_fields o' t names (filled o l i j d).
Proof. intros H. eapply Forall_impl; [exact H|]. intros f Hf. unfold filled. induction (Z.to_nat (j - i)); [done|]. by apply store_fields_present. Qed.

Lemma filled_unwritten o l i j d x : (forall u f, f ∈ (l u).*1 -> x <> field_cell o u f) -> filled o l i j d !! x = d !! x.
Proof.
  intros Hx. unfold filled. induction (Z.to_nat (j - i)) as [|n IH]; [done|]. cbn [store_each]. rewrite <- IH. specialize (Hx (i + Z.of_nat n)).
  generalize (store_each o l i n d). revert Hx. generalize (i + Z.of_nat n). intros u. generalize (l u). intros s. induction s as [|[f v] s IH2]; intros Hx e; [done|].
  cbn [store_fields]. rewrite IH2; [apply own_lookup_ne; intros E; by apply (Hx f); [left|]|]. intros g Hg. apply Hx. by right.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat) (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).

  Theorem sched_event_init_triple d : event_cells d ->
    triple kernel_entry M this "sched_event_init" [] d (fun w d' => w = 0 /\ d' = events_fresh d).
  Proof using HM.
    unfold event_cells, events_fresh, NUM_CPU, SCHED_HEAP_ALL, SCHED_NUM_EVENT. intros (Hc & Hh & He). eapply triple_owned; [by apply HM|done|].
    unfold sched_event_init_code. locals_simpl. do 3 step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [i; 0; 0] /\ d1 = filled "sched_cpu" no_events 0 i d) 0); [lia| | | |].
    { by rewrite filled_none. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi [-> ->]. step.
      assert (has_fields "sched_cpu" i ["events"%string] (filled "sched_cpu" no_events 0 i d)) as H by (apply filled_has; constructor; [by apply Hc|constructor]).
      eapply owned_call_whole; [evaluate|apply (sched_cpu_set_events_triple kernel_entry M this HM); present H|]. intros w d1 [-> ->]. locals_simpl. walk.
      rewrite wrap32_next by lia. split; [done|]. by rewrite filled_next by lia. }
    intros r d1 [-> ->]. do 3 walk. set (d1 := filled "sched_cpu" no_events 0 16 d).
    apply (owned_count _ _ _ _ _ _ (fun i r d2 => r = [16; i; 0] /\ d2 = filled "sched_heap" no_time 0 i d1) 0); [lia| | | |].
    { by rewrite filled_none. }
    { by intros i r d2 [-> _]. }
    { intros i r d2 Hi [-> ->].
      assert (has_fields "sched_heap" i ["when"; "event"]%string (filled "sched_heap" no_time 0 i d1)) as H by (apply filled_keeps, filled_keeps, Hh; lia).
      repeat store_step H. locals_plain. rewrite wrap32_next by lia. split; [done|]. by rewrite filled_next by lia. }
    intros r d2 [-> ->]. do 2 walk. set (d2 := filled "sched_heap" no_time 0 4672 d1).
    apply (owned_count _ _ _ _ _ _ (fun i r d3 => r = [16; 4672; i] /\ d3 = filled "sched_event" unset 0 i d2) 0); [lia| | | |].
    { by rewrite filled_none. }
    { by intros i r d3 [-> _]. }
    { intros i r d3 Hi [-> ->].
      assert (has_fields "sched_event" i ["place"; "cancelled"]%string (filled "sched_event" unset 0 i d2)) as H by (apply filled_keeps, filled_keeps, filled_keeps, He; lia).
      repeat store_step H. locals_plain. rewrite wrap32_next by lia. split; [done|]. by rewrite filled_next by lia. }
    by intros r d3 [-> ->].
  Qed.
End proof.

Ltac unwritten := let u := fresh in let f := fresh in let Hf := fresh in intros u f Hf; unfold unset, no_time, no_events in Hf; cbn in Hf;
  rewrite !elem_of_cons, elem_of_nil in Hf; unfold field_cell; intuition congruence.
(** Then the heap of each CPU is empty, whatever events it is for. *)
Theorem fresh_events cpu (mine : Z -> Prop) a d : event_cells d -> 0 <= cpu < NUM_CPU -> (forall e, mine e -> 0 <= e < SCHED_NUM_EVENT) ->
  d !! cpu_cell "alarm" cpu = Some a -> events cpu mine ∅ (fun _ => 0) a (events_fresh d).
Proof.
  unfold event_cells, events_fresh. intros (Hc & Hh & He) Hcpu Hmine Ha. split_and!; [done| | |].
  - intros e H. apply filled_value; [by apply Hmine|names|]. right. by left.
  - by rewrite !filled_unwritten by unwritten.
  - exists (Heap SCHED_HEAP_ROOT (fun _ => timer_never) (fun p => default 0 (d !! heap_cell "event" cpu p)) (fun _ => 0)). split.
    + split_and!; cbn [free due event_at place_of].
      * rewrite !(filled_other "sched_event"), !(filled_other "sched_heap") by (unfold field_cell; congruence). apply filled_value; [done|names|by left].
      * intros p Hp. rewrite !(filled_other "sched_event") by (unfold field_cell; congruence). assert (0 <= cpu * SCHED_HEAP_PLACES + p < SCHED_HEAP_ALL) as Hi
          by (unfold SCHED_HEAP_ALL, NUM_CPU in *; constants; lia). split; [apply filled_value; [done|names|by left]|].
        rewrite !filled_unwritten by unwritten.
        destruct (has_field _ _ _ _ "event" (Hh _ Hi)) as [v ->]; [names|done].
      * intros e H. apply filled_value; [by apply Hmine|names|by left].
    + split_and!; [unfold fits; cbn [free]; constants; lia| |intros p Hp; cbn [free] in Hp; lia|done]. split_and!; cbn [free due event_at place_of]; [intros p Hp; lia|done|done].
Qed.
