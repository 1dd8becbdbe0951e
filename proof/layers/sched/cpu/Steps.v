(** What functions below [sched.c] do to the state of a CPU's scheduler. *)
From Ashlar Require Export layers.sched.cpu.State layers.sched.Proof layers.sched.pick.BoostRelease.
Local Opaque gmap_lookup gmap_partial_alter.

Section steps.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (HB : M "arch_highest_bit"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Notation triple := (triple kernel_entry M this).
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation own := (own this ours).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).

  (** ** Fields of the CPU, and what [arch] keeps *)
  Lemma own_word X d f : own X d -> f ∈ own_words -> d !! cpu_cell f cpu = Some (word X f).
  Proof using. intros (Hw & _) Hf. rewrite <- own_cell by done. apply Hw, elem_of_app. by left. Qed.
  Lemma reads_does f g X : reads kernel_entry M this f "sched_cpu" g -> g ∈ own_words -> does f [cpu] X (fun v Y => v = word X g /\ Y = X).
  Proof using. intros H Hg. apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|by apply H, own_word]. intros v d' [-> ->]. by exists X. Qed.
  (** Fields that have nothing to do with time. *)
  Definition plain_words : list string := ["slice_end"; "running"; "slice_over"; "kept"]%string.
  Lemma writes_does f g v X : writes kernel_entry M this f "sched_cpu" g -> g ∈ plain_words -> does f [cpu; v] X (fun w Y => w = 0 /\ Y = set_word g v X).
  Proof using Hcpu.
    intros H Hp. assert (g ∈ own_words /\ g <> "alarm"%string /\ later X (set_word g v X)) as (Hg & Hne & Hl).
    { unfold plain_words in Hp. repeat (apply elem_of_cons in Hp as [->|Hp]; [split_and!; [unfold own_words; names|done|by apply later_same; [|done..|]]|]). by apply elem_of_nil in Hp. }
    apply does_own; [by intros ? ? [_ ->]|]. intros d Ho. eapply triple_mono; [|apply H; eexists; by eapply own_word]. intros w d' [-> ->].
    exists (set_word g v X). split; [done|]. split; [done|]. rewrite <- own_cell by done. apply own_set_word; [done|apply elem_of_app; by left|done].
  Qed.
  Lemma arch_read X d f : own X d -> f ∈ arch_words -> d !! ((f, cpu, ""%string, 0) : cell) = Some (word X f).
  Proof using.
    intros (Hw & _) Hf. rewrite <- (Hw f) by (apply elem_of_app; by right). f_equal. unfold cell_of.
    repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]). by apply elem_of_nil in Hf.
  Qed.
  Lemma arch_write X d f v : own X d -> f ∈ arch_words -> own (set_word f v X) (<[(f, cpu, ""%string, 0) := v]> d).
  Proof using Hcpu.
    intros Ho Hf. assert ((f, cpu, ""%string, 0) = cell_of cpu f /\ f <> "alarm"%string) as [-> Hne].
    { repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]). by apply elem_of_nil in Hf. }
    apply own_set_word; [done|apply elem_of_app; by right|done].
  Qed.
  Ltac arch code := eapply triple_owned; [by apply HR|done|]; unfold code; locals_simpl; step; eapply owned_builtin; [exact HC|evaluate|done|]; locals_simpl.
  Lemma need_resched_does X : does "arch_need_resched" [] X (fun v Y => v = word X "arch_need_resched" /\ Y = X).
  Proof using HR HC. apply does_own; [same_times|]. intros d Ho. pose proof (arch_read X d "arch_need_resched" Ho ltac:(names)). arch arch_need_resched_code. step. by exists X. Qed.
  Lemma floor_does X : does "arch_floor" [] X (fun v Y => v = word X "arch_floor" /\ Y = X).
  Proof using HR HC. apply does_own; [same_times|]. intros d Ho. pose proof (arch_read X d "arch_floor" Ho ltac:(names)). arch arch_floor_code. step. by exists X. Qed.
  Lemma set_need_resched_does v X : does "arch_set_need_resched" [v] X (fun w Y => w = 0 /\ Y = set_word "arch_need_resched" v X).
  Proof using HR HC Hcpu.
    apply does_own; [same_times|]. intros d Ho. pose proof (arch_read X d "arch_need_resched" Ho ltac:(names)). arch arch_set_need_resched_code. step.
    eexists. split; [done|]. split; [done|]. by apply arch_write; [|names].
  Qed.
  Lemma set_floor_does v X : does "arch_set_floor" [v] X (fun w Y => w = 0 /\ Y = set_word "arch_floor" v X).
  Proof using HR HC Hcpu.
    apply does_own; [same_times|]. intros d Ho. pose proof (arch_read X d "arch_floor" Ho ltac:(names)). arch arch_set_floor_code. step.
    eexists. split; [done|]. split; [done|]. by apply arch_write; [|names].
  Qed.
  Lemma current_does X : does "thread_current" [] X (fun v Y => v = word X "arch_current" /\ Y = X).
  Proof using HT HW HC.
    apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|apply (thread_current_triple kernel_entry M this HT HW HC); by apply (arch_read X d "arch_current"); [|names]].
    intros v d' [-> ->]. by exists X.
  Qed.

  (** ** Threads and ready queues *)
  Lemma priority_does t r X : ready_threads (queues X) !! t = Some r -> does "thread_priority" [t] X (fun v Y => v = ready_priority r /\ Y = X).
  Proof using HT.
    intros Hr. apply does_ready. intros d Hrep. pose proof Hrep as (_ & dq & dm & dt & -> & Hd & Hd' & _ & _ & Ht). destruct (proj2 Ht t r Hr) as [A _].
    eapply triple_mono; [|apply (thread_priority_triple kernel_entry M this HT _ _ (ready_priority r))].
    - intros v d' [-> ->]. exists (queues X). split; [by destruct X|exact Hrep].
    - rewrite (assoc_L (∪)), (map_union_comm _ dt); [by apply own_read|]. apply map_disjoint_union_r in Hd as [_ Hqt]. by apply map_disjoint_union_l.
  Qed.
  Lemma set_state_does t x s X : sched_mark (queues X) t x = Some s -> does "thread_set_state" [t; x] X (fun v Y => v = 0 /\ Y = set_queues s X).
  Proof using HT. intros H. apply does_ready. intros d Hr. eapply triple_mono; [|by eapply (sched_mark_triple kernel_entry M this HT)]. intros v d' [-> Hr']. by exists s. Qed.
  Lemma own_field t X d f v : own X d -> ours t -> value_of f [("cpu", cpu); ("base_priority", base_priority X t)]%string = Some v -> d !! field_cell "thread" t f = Some v.
  Proof using. intros Ho Ht. apply holds_value. by apply Ho. Qed.
  Lemma cpu_does t X : ours t -> does "thread_cpu" [t] X (fun v Y => v = cpu /\ Y = X).
  Proof using HT.
    intros Ht. apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|apply (thread_cpu_triple kernel_entry M this HT), (own_field t X d "cpu" _ Ho Ht); reflexivity].
    intros v d' [-> ->]. by exists X.
  Qed.
  Lemma base_priority_does t X : ours t -> does "thread_base_priority" [t] X (fun v Y => v = base_priority X t /\ Y = X).
  Proof using HT.
    intros Ht. apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|apply (thread_base_priority_triple kernel_entry M this HT), (own_field t X d "base_priority" _ Ho Ht); reflexivity].
    intros v d' [-> ->]. by exists X.
  Qed.
  Lemma best_does X : does "sched_ready_best" [cpu] X (fun v Y => v = ready_best (queues X) cpu /\ Y = X).
  Proof using HM.
    apply does_ready. intros d Hr. eapply triple_mono; [|by eapply (sched_ready_best_triple kernel_entry M this HM)]. intros v d' [-> Hr'].
    exists (queues X). split; [by destruct X|done].
  Qed.
  Lemma ready_insert_does t v s X : sched_ready_insert (queues X) cpu t = Some (v, s) -> does "sched_ready_insert" [cpu; t] X (fun _ Y => Y = set_queues s X).
  Proof using HM HQ HT Hcpu.
    intros H. apply does_ready. intros d Hr. eapply triple_mono; [|by eapply (sched_ready_insert_triple kernel_entry M this HM HQ HT)]. intros w d' [-> Hr']. by exists s.
  Qed.
  Lemma ready_take_does v s X : sched_ready_take (queues X) cpu = Some (v, s) -> does "sched_ready_take" [cpu] X (fun w Y => w = v /\ Y = set_queues s X).
  Proof using HM HQ HT HB Hcpu.
    intros H. apply does_ready. intros d Hr. eapply triple_mono; [|by eapply (sched_ready_take_triple kernel_entry M this HM HQ HT HB)]. intros w d' [-> Hr']. by exists s.
  Qed.
  Lemma ready_park_does q t s X : sched_park (queues X) cpu q t = Some s -> does "sched_ready_park" [q; t] X (fun v Y => v = 0 /\ Y = set_queues s X).
  Proof using HM HQ HT.
    intros H. apply does_ready. intros d Hr. eapply triple_mono; [|by eapply (sched_ready_park_triple kernel_entry M this HM HQ HT)]. intros w d' [-> Hr']. by exists s.
  Qed.

  (** ** Alarm and events *)
  Lemma own_alarm X d t : own X d -> own (set_word "alarm" (Z.min (word X "alarm") t) X) (alarm_by cpu t (word X "alarm") d).
  Proof using Hcpu.
    intros Ho. destruct X as [s f r m k b]. apply (own_events this ours (Cpu s f r m k b) d _ m k); [done|by apply alarm_only|apply alarm_events, Ho].
  Qed.
  Lemma alarm_want_does t X : does "sched_alarm_want" [cpu; t] X (fun v Y => v = 0 /\ Y = set_word "alarm" (Z.min (word X "alarm") t) X).
  Proof using HM Hcpu timer_arms.
    apply does_timed; [same_times|]. intros d e Ho He Hde. eapply timed_mono; [|eapply (sched_alarm_want_timed kernel_entry M this HM quiet timer timer_arms); [by eapply (own_word X d "alarm"); [|names]|done..]].
    cbn beta. intros v m [-> (e' & He' & Hd' & ->)]. eexists _, _, e'. split_and!; [done|done|done|by apply own_alarm|done..].
  Qed.
  Lemma event_set_does ev t X : mine ours ev -> 0 <= t <= timer_never ->
    does "sched_event_set" [cpu; ev; t] X (fun v Y => v = 0 /\ Y = set_word "alarm" (Z.min (word X "alarm") t) (set_timeouts (<[ev := t]> (timeouts X)) (upd ev 0 (cancels X)) X)).
  Proof using HM Hcpu timer_arms.
    intros Hm Ht. apply does_timed; [same_times|]. intros d e Ho He Hde. pose proof Ho as (_ & _ & Hev).
    eapply timed_mono; [|eapply (sched_event_set_timed kernel_entry M this HM cpu Hcpu (mine ours) ltac:(by intros ? [? _]) quiet timer timer_arms); [exact Hde|exact He|exact Hm|exact Ht|exact Hev]].
    cbn beta. intros v m [-> (d' & e' & He' & Hd' & -> & Hev' & Honly)]. eexists _, d', e'. split_and!; [done|done|done|by eapply own_events|done..].
  Qed.
  Lemma event_add_does ev t X : mine ours ev -> 0 <= t <= timer_never -> timeouts X !! ev = None ->
    does "sched_event_add" [cpu; ev; t] X (fun v Y => v = 0 /\ Y = set_word "alarm" (Z.min (word X "alarm") t) (set_timeouts (<[ev := t]> (timeouts X)) (cancels X) X)).
  Proof using HM Hcpu timer_arms.
    intros Hm Ht Hno. apply does_timed; [same_times|]. intros d e Ho He Hde. pose proof Ho as (_ & _ & Hev).
    eapply timed_mono; [|eapply (sched_event_add_timed kernel_entry M this HM cpu Hcpu (mine ours) ltac:(by intros ? [? _]) quiet timer timer_arms); [exact Hde|exact He|exact Hm|exact Ht|exact Hev|exact Hno]].
    cbn beta. intros v m [-> (d' & e' & He' & Hd' & -> & Hev' & Honly)]. eexists _, d', e'. split_and!; [done|done|done|by eapply own_events|done..].
  Qed.
  (** Nothing but the events changes, or the alarm. *)
  Lemma own_timeouts X d d' m k : own X d -> events_only cpu (mine ours) d d' -> events cpu (mine ours) m k (word X "alarm") d' -> own (set_timeouts m k X) d'.
  Proof using Hcpu.
    intros Ho Hd Hev. destruct (own_events this ours X d d' m k _ Ho Hd Hev) as (H1 & H2 & H3). split_and!; [|done|done].
    intros g Hg. rewrite (H1 g Hg). cbn [word set_word]. by destruct (String.eqb_spec g "alarm") as [->|].
  Qed.
  Lemma event_remove_does ev X : mine ours ev -> does "sched_event_remove" [cpu; ev] X (fun v Y => v = 0 /\ Y = set_timeouts (delete ev (timeouts X)) (cancels X) X).
  Proof using HM Hcpu.
    intros Hm. apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|apply (sched_event_remove_triple kernel_entry M this HM cpu Hcpu (mine ours)); [exact Hm|apply Ho]].
    intros v d' (-> & Hev & Hd). eexists. split; [done|]. split; [done|]. by eapply own_timeouts; [|apply only_heap|].
  Qed.
  Lemma event_cancel_does ev X : mine ours ev -> does "sched_event_cancel" [ev] X (fun v Y => v = 0 /\ Y = set_timeouts (timeouts X) (upd ev 1 (cancels X)) X).
  Proof using HM Hcpu.
    intros Hm. apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|apply (sched_event_cancel_triple kernel_entry M this HM cpu (mine ours)); [exact Hm|apply Ho]].
    intros v d' (-> & Hev & Hd). eexists. split; [done|]. split; [done|]. by eapply own_timeouts.
  Qed.
  Lemma event_first_does X : does "sched_event_first" [cpu] X (fun v Y => earliest (timeouts X) v /\ Y = X).
  Proof using HM Hcpu.
    apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|eapply (sched_event_first_triple kernel_entry M this HM cpu Hcpu (mine ours)); apply Ho]. intros v d' [H ->]. by exists X.
  Qed.
  Lemma event_take_does now X : now < timer_never ->
    does "sched_event_take" [cpu; now] X (fun v Y => exists m, taken now (timeouts X) (cancels X) v m /\ Y = set_timeouts m (cancels X) X).
  Proof using HM Hcpu.
    intros Hn. apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|eapply (sched_event_take_triple kernel_entry M this HM cpu Hcpu (mine ours)); [exact Hn|apply Ho]].
    intros v d' (m & Ht & Hev & Hd). eexists. split; [by exists m|]. split; [done|]. by eapply own_timeouts; [|apply only_heap|].
  Qed.

  (** ** Reservations *)
  Lemma limited_does t X : ours t -> does "sched_budget_limited" [t] X (fun v Y => v = (if spends (reservation_of X t) =? NONE then 0 else 1) /\ Y = X).
  Proof using HM.
    intros Ht. apply does_own; [same_times|]. intros d Ho. eapply triple_mono; [|apply (sched_budget_limited_triple kernel_entry M this HM); by apply Ho]. intros v d' [-> ->]. by exists X.
  Qed.
  Lemma exempt_does t v X : ours t -> let x := reservation_of X t in does "sched_budget_exempt" [t; v] X (fun w Y => w = 0 /\
    Y = set_reservation t (Reservation (period x) (budget x) (time_left x) (period_end x) (debt x) (used x) (spends x) v) X).
  Proof using HM Hcpu.
    intros Ht x. apply does_own; [intros w Y [_ ->]; by apply later_spends|]. intros d Ho. eapply triple_mono; [|eapply (sched_budget_exempt_triple kernel_entry M this HM); by apply Ho]. intros w d' [-> ->].
    eexists. split; [done|]. split; [done|]. by apply own_set_reservation.
  Qed.
  Lemma take_back_does t X : ours t -> does "sched_budget_take_back" [t] X (fun w Y => w = 0 /\ Y = set_reservation t (take_back t (reservation_of X t)) X).
  Proof using HM Hcpu.
    intros Ht. apply does_own; [intros w Y [_ ->]; by apply later_spends|]. intros d Ho. eapply triple_mono; [|eapply (sched_budget_take_back_triple kernel_entry M this HM); by apply Ho]. intros w d' [-> ->].
    eexists. split; [done|]. split; [done|]. by apply own_set_reservation.
  Qed.
  Lemma borrow_does t from X : ours t -> ours from ->
    does "sched_budget_borrow" [t; from] X (fun w Y => w = 0 /\ Y = set_reservation t (borrow (payer (reservation_of X from)) (reservation_of X t)) X).
  Proof using HM Hcpu.
    intros Ht Hf. apply does_own; [intros w Y [_ ->]; apply later_spends; unfold borrow; by destruct (_ =? _)|]. intros d Ho. eapply triple_mono; [|eapply (sched_budget_borrow_triple kernel_entry M this HM); by apply Ho]. intros w d' [-> ->].
    eexists. split; [done|]. split; [done|]. by apply own_set_reservation.
  Qed.
End steps.

(** ** Tactics of the files that walk through the C

    Their sections have the premises of this one: each is found by its form. *)
Ltac premise := lazymatch goal with
  | |- forall f fd, sched_module f = _ -> _ => lazymatch goal with H : forall f fd, sched_module f = _ -> _ |- _ => exact H end
  | |- forall f fd, queue_module f = _ -> _ => lazymatch goal with H : forall f fd, queue_module f = _ -> _ |- _ => exact H end
  | |- forall f fd, thread_module f = _ -> _ => lazymatch goal with H : forall f fd, thread_module f = _ -> _ |- _ => exact H end
  | |- forall f fd, switch_module f = _ -> _ => lazymatch goal with H : forall f fd, switch_module f = _ -> _ |- _ => exact H end
  | |- forall f fd, resched_module f = _ -> _ => lazymatch goal with H : forall f fd, resched_module f = _ -> _ |- _ => exact H end
  | |- ?M ?f = None => lazymatch goal with H : M f = None |- _ => exact H end
  | |- forall e t, _ e -> _ => lazymatch goal with H : forall e t, _ e -> _ |- _ => exact H end
  | |- 0 <= Z.of_nat _ < NUM_CPU => lazymatch goal with H : 0 <= Z.of_nat _ < NUM_CPU |- _ => exact H end
  | |- _ => first [eassumption|idtac] end.
Ltac enter code := eapply does_body;
  [lazymatch goal with H : forall f fd, sched_module f = Some fd -> _ |- _ => apply H; reflexivity end|reflexivity|]; unfold code; locals_simpl.
(** The same where the function is entered from outside the kernel's code. *)
Ltac opens code := eexists; split;
  [lazymatch goal with H : forall f fd, sched_module f = Some fd -> _ |- _ => apply H; reflexivity end|split; [reflexivity|]]; unfold code; cbn [fn_body fn_locals]; locals_simpl.
Ltac after := intros ? ? [-> ->]; locals_simpl; locals_plain.
(** A call of a function with lemma [L]; of one that reads or writes the CPU's field [g]. *)
Ltac use L := eapply runs_call; [intros ?; evaluate|eapply L; premise|after].
Ltac get L g := eapply runs_call; [intros ?; evaluate|eapply (reads_does _ _ _ _ _ _ _ g); [eapply L; premise|names]|after].
Ltac put_word L g := eapply runs_call; [intros ?; evaluate
  |lazymatch goal with H : 0 <= Z.of_nat _ < NUM_CPU |- _ => eapply (writes_does _ _ _ _ H _ _ _ g); [eapply L; premise|unfold plain_words; names] end|after].
Ltac this_cpu := apply runs_this_cpu; [premise|]; locals_simpl; locals_plain.
