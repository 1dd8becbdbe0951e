(** Threads whose nodes are away: with a notification, a buffer or a pending queue that a thread waits in.

    A thread that goes to sleep may have given its node away before it marks itself as blocked ([sched_prepare_block_away]); when the node comes back the CPU is as if it had
    always been there, and the thread may be woken ([away_comes_back]). So a thread that another CPU has woken keeps the promise of [Promise.v], when its own CPU takes it out of the
    pending queue ([sched_insert_away]). *)
From Ashlar Require Export layers.sched.pending.Scheduler layers.sched.cpu.PromiseWake layers.sched.cpu.PromiseCode.
Local Opaque gmap_lookup gmap_partial_alter.

Section away.
  Context (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (ours_bound : forall t, ours t -> 0 <= t < NUM_THREAD).
  Notation steady := (steady this ours).
  Notation at_work := (at_work this ours).
  Notation waiting := (waiting this ours).

  (** [t] is blocked, and not kept; its node is not the CPU's. *)
  Definition away (t : Z) (X : cpu_state) : Prop := NUM_CPU <= t /\ word X "kept" <> t /\ t ∉ queue_free (ready_queues (queues X)) /\
    exists r, ready_threads (queues X) !! t = Some r /\ ready_state r = thread_is_blocked.
  (** The CPU without the node of [t]. *)
  Definition ready_without_node (t : Z) (s : ready) : ready :=
    Ready (QueueState (queue_lists (ready_queues s)) (queue_free (ready_queues s) ∖ {[t]})) (ready_threads s).
  Definition without_node (t : Z) (X : cpu_state) : cpu_state := set_queues (ready_without_node t (queues X)) X.

  (** Where only nodes come or go, of threads that do not run. *)
  Lemma nodes_ok o s f : sched_ok cpu o s -> queue_valid (QueueState (queue_lists (ready_queues s)) f) -> (forall t, o = Some t -> t ∈ f) ->
    sched_ok cpu o (Ready (QueueState (queue_lists (ready_queues s)) f) (ready_threads s)).
  Proof using.
    intros [(H1 & H2 & H3) Hp Hr Hf] Hv Ho. split; [by split_and!|exact Hp|exact Hr|]. intros t Ht. split; [by apply Hf|by apply Ho].
  Qed.
  Lemma valid_less s t : queue_valid (ready_queues s) -> queue_valid (QueueState (queue_lists (ready_queues s)) (queue_free (ready_queues s) ∖ {[t]})).
  Proof using.
    intros Hv. apply queue_valid_intro; cbn [queue_lists queue_free].
    - apply (queue_valid_id _ Hv).
    - apply (queue_valid_nodup _ Hv).
    - intros q l u Hl Hu. destruct (queue_valid_thread _ Hv q l u Hl Hu) as [? Hno]. split; [done|]. intros [Hin _]%elem_of_difference. done.
    - apply (queue_valid_one _ Hv).
    - intros u [Hu _]%elem_of_difference. by apply (queue_valid_free _ Hv).
  Qed.
  Lemma valid_more s t : queue_valid (ready_queues s) -> 0 <= t < NUM_THREAD -> (forall q, ~ in_queue s q t) ->
    queue_valid (QueueState (queue_lists (ready_queues s)) ({[t]} ∪ queue_free (ready_queues s))).
  Proof using.
    intros Hv Ht Hno. apply queue_valid_intro; cbn [queue_lists queue_free].
    - apply (queue_valid_id _ Hv).
    - apply (queue_valid_nodup _ Hv).
    - intros q l u Hl Hu. destruct (queue_valid_thread _ Hv q l u Hl Hu) as [? Hfree]. split; [done|].
      intros [->%elem_of_singleton|Hin]%elem_of_union; [apply (Hno q); by exists l|done].
    - apply (queue_valid_one _ Hv).
    - intros u [->%elem_of_singleton|Hu]%elem_of_union; [done|by apply (queue_valid_free _ Hv)].
  Qed.
  Lemma blocked_nowhere o s t r : sched_ok cpu o s -> ready_threads s !! t = Some r -> ready_state r = thread_is_blocked -> forall q, ~ in_queue s q t.
  Proof using.
    intros Hok Hr Hst q Hq. destruct (ok_placed _ _ _ Hok t r Hr) as (w & [_ Hw] & Hplace). apply Hw in Hq as ->. destruct Hplace as (_ & [[E _]|[E _]]); by rewrite Hst in E.
  Qed.

  (** Ready queues do not depend on them. *)
  Lemma nodes_best s f : ready_best (Ready (QueueState (queue_lists (ready_queues s)) f) (ready_threads s)) cpu = ready_best s cpu.
  Proof using.
    unfold ready_best. generalize 256%nat. intros n. induction n as [|n IH]; [reflexivity|]. cbn [best_below]. rewrite IH. reflexivity.
  Qed.
  Lemma nodes_kept s f k : may_be_kept cpu k s -> k ∈ f -> may_be_kept cpu k (Ready (QueueState (queue_lists (ready_queues s)) f) (ready_threads s)).
  Proof using.
    intros (H1 & _ & r & Hr & Hst & Hbest) Hk. split; [exact H1|]. split; [exact Hk|]. exists r. split; [exact Hr|]. split; [exact Hst|]. by rewrite nodes_best.
  Qed.
  Lemma nodes_floor f X : floor_sound this X -> floor_sound this (set_queues (Ready (QueueState (queue_lists (ready_queues (queues X))) f) (ready_threads (queues X))) X).
  Proof using. intros [H1 H2]. split; [|exact H2]. cbn [queues set_queues word]. by rewrite nodes_best. Qed.

  (** ** The node comes back *)
  Theorem away_comes_back self t X : steady self X -> away t X -> steady self (with_node t X) /\ sleeps t (with_node t X).
  Proof using ours_bound.
    intros (Hcur & Hw & Hfl) (Hc & Hk & Hf & r & Hr & Hst). pose proof Hw as [Hok Hown Hkept Ho Ha Hrel Hrest Hlev Hpay].
    assert (ours t) as Hot by (apply (proj1 (Ho t)); by exists r). pose proof (ours_bound t Hot) as Hb.
    split; [split; [exact Hcur|split; [|by apply nodes_floor]]|split; [exact Hc|split; [exact Hk|split; [cbn; apply elem_of_union; left; by apply elem_of_singleton|by exists r]]]].
    split; [..|exact Hlev|exact Hpay].
    - apply nodes_ok; [exact Hok|apply valid_more; [apply (ok_valid _ _ _ Hok)|done|by eapply blocked_nowhere]|]. intros u [= <-]. apply elem_of_union. right. by apply (ok_free _ _ _ Hok).
    - destruct Hown as [[Hi Hif] Hpk]. split; [|exact Hpk]. split; [exact Hi|]. cbn. apply elem_of_union. by right.
    - intros k Ek. destruct (Hkept k Ek) as [Hmk Hle]. split; [|exact Hle]. apply nodes_kept; [exact Hmk|]. apply elem_of_union. right. by destruct Hmk as (_ & ? & _).
    - intros u. destruct (Ho u) as [Hknown Hplace]. split; [exact Hknown|]. intros [H|[H|H]]%Hplace; [left; cbn; apply elem_of_union; by right|right; by left|right; by right].
    - apply (accounts_same ours X); [done..|cbn; pose proof (valid_time ours X Ha) as [??]; lia|done].
    - exact Hrel.
    - intros u Hu H. destruct (Hrest u Hu H) as (H1 & H2 & H3 & H4). split; [exact H1|split; [exact H2|split; [cbn; apply elem_of_union; by right|exact H4]]].
  Qed.
  (** The C. *)
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (timer : mem -> Prop).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, resched_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Notation holds := (State.holds this ours timer).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).

  (** ** A thread goes to sleep, and has given its node away *)
  Lemma holds_without t X w : t ∈ queue_free (ready_queues (queues X)) -> holds X w -> (free_node t ∗ holds (without_node t X)) w.
  Proof using Hcpu.
    intros Hf (dr & d & e & -> & Hr & Hde & Hq & Ho & He). destruct Hq as (Hv & dq & dm & dt & -> & H1 & H2 & Hrep & Hm & Ht).
    assert (queue_free (ready_queues (queues X)) = {[t]} ∪ queue_free (ready_queues (queues X)) ∖ {[t]}) as E.
    { apply set_eq. intros u. rewrite elem_of_union, elem_of_difference, elem_of_singleton. destruct (decide (u = t)) as [->|]; tauto. }
    assert (queue_rep (QueueState (queue_lists (ready_queues (queues X))) ({[t]} ∪ queue_free (ready_queues (queues X)) ∖ {[t]})) dq) as Hrep'.
    { rewrite <- E. by destruct (ready_queues (queues X)). }
    apply node_given in Hrep' as (n & dq' & -> & Hn & Hnode & Hrest); [|rewrite elem_of_difference, elem_of_singleton; tauto].
    apply map_disjoint_union_l in H1 as [H1n H1q]. apply map_disjoint_union_l in Hr as [Hr1 Hr2]. apply map_disjoint_union_l in Hr1 as [Hrn Hrq].
    exists n, (dq' ∪ (dm ∪ dt) ∪ (d ∪ e)). split; [by rewrite !(assoc_L (∪))|]. split; [apply map_disjoint_union_r; split; [apply map_disjoint_union_r; by split|exact Hrn]|].
    split; [exact Hnode|]. exists (dq' ∪ (dm ∪ dt)), d, e. split; [done|]. split; [by apply map_disjoint_union_l|]. split; [done|]. split; [|split; [exact Ho|exact He]].
    destruct Hv as (Hv1 & Hv2 & Hv3). split; [split; [exact (proj1 Hrest)|split; [exact Hv2|exact Hv3]]|]. exists dq', dm, dt. split_and!; [done..|exact Hrest| |exact Ht].
    apply (ready_map_same cpu (queues X)); [|exact Hm]. intros p _. reflexivity.
  Qed.
  Lemma waiting_without t Y : waiting Y -> NUM_CPU <= t -> word Y "kept" <> t -> timeouts Y !! t = None ->
    (exists r, ready_threads (queues Y) !! t = Some r /\ ready_state r = thread_is_blocked) -> waiting (without_node t Y) /\ away t (without_node t Y).
  Proof using Hcpu.
    intros [Hok Hown Hkept Ho Ha Hrel Hrest] Hc Hk Hd Hb. split; [split|split; [exact Hc|split; [exact Hk|split; [cbn; rewrite elem_of_difference, elem_of_singleton; tauto|exact Hb]]]].
    - apply nodes_ok; [exact Hok|apply valid_less, (ok_valid _ _ _ Hok)|done].
    - destruct Hown as [[Hi Hif] Hpk]. split; [|exact Hpk]. split; [exact Hi|]. cbn. rewrite elem_of_difference, elem_of_singleton. split; [done|]. unfold NUM_CPU in *. lia.
    - intros k Ek. pose proof (Hkept k Ek) as Hmk. apply nodes_kept; [exact Hmk|]. rewrite elem_of_difference, elem_of_singleton. split; [by destruct Hmk as (_ & ? & _)|].
      intros ->. unfold kept_thread in Ek. change (word (without_node t Y) "kept") with (word Y "kept") in Ek. destruct (_ =? _); [done|]. by injection Ek.
    - intros u. destruct (Ho u) as [Hknown Hplace]. split; [exact Hknown|]. intros Hou. destruct (decide (u = t)) as [->|Hne]; [right; right; exact Hb|].
      destruct (Hplace Hou) as [H|H]; [left; cbn; rewrite elem_of_difference, elem_of_singleton; tauto|by right].
    - apply (accounts_same ours Y); [done..|cbn; pose proof (valid_time ours Y Ha) as [??]; lia|done].
    - exact Hrel.
    - intros u Hu H. change (is_Some (timeouts Y !! u)) in H. assert (u <> t) as Hne by (intros ->; rewrite Hd in H; by destruct H).
      destruct (Hrest u Hu H) as (H1 & H2 & H3 & H4). split; [exact H1|split; [exact H2|split; [cbn; rewrite elem_of_difference, elem_of_singleton; tauto|exact H4]]].
  Qed.
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation serves := (serves quiet kernel_entry M this ours timer).
  Lemma set_state_nowhere t x X : is_Some (ready_threads (queues X) !! t) -> (forall q, ~ in_queue (queues X) q t) ->
    does "thread_set_state" [t; x] X (fun v Y => v = 0 /\ Y = set_queues (Ready (ready_queues (queues X)) (ready_mark t x (ready_threads (queues X)))) X).
  Proof using HT.
    intros Hs Hno. apply does_ready. intros d Hr. destruct Hs as [r Hs].
    assert (is_Some (d !! field_cell "thread" t "state")) as Hx.
    { destruct Hr as (_ & dq & dm & dt & -> & _ & _ & _ & _ & Ht). destruct (proj2 Ht _ _ Hs) as [_ E]. apply own_third. by eexists. }
    eapply triple_mono; [|by apply (thread_set_state_triple kernel_entry M this HT)]. cbn beta. intros v d' [-> ->]. eexists. split; [split; reflexivity|].
    change (field_cell "thread" t "state") with (thread_state_cell t). apply marked_nowhere; [exact Hr|by eexists|exact Hno].
  Qed.
  (** The running thread, which has given its node away, marks itself as blocked. *)
  Theorem sched_prepare_block_away self X : steady self X -> NUM_CPU <= self ->
    serves "sched_prepare_block" [self] (without_node self X) (fun _ Y => waiting Y /\ word Y "arch_current" = self /\ away self Y).
  Proof using HM HT ours_bound Hcpu.
    intros HX Hc. pose proof HX as (Ec & Hw & _). destruct (at_work_thread this ours self X Hw) as (r & Hr & Hrun & Hf & Hos). pose proof (ours_bound self Hos) as Hb.
    pose proof Hw as [Hok Hown Hkept _ Ha _ Hrest _ _]. destruct (marked cpu self (queues X) Hok Hown thread_is_blocked) as (s & E & _); [done..|].
    assert (waiting (set_queues s X)) as Hwait.
    { apply (marked_waits this ours ours_bound self s X); [exact HX|exact Hc|exact E|reflexivity| |reflexivity|by left].
      apply (accounts_same ours X); [done..|cbn; pose proof (valid_time ours X Ha) as [??]; lia|done]. }
    assert (s = Ready (ready_queues (queues X)) (ready_mark self thread_is_blocked (ready_threads (queues X)))) as Es.
    { unfold sched_mark in E. rewrite Hr in E. case_bool_decide; [|done]. by injection E as <-. }
    assert (~ sleeps self X) as Hawake by (by apply (running_wakes self X r); [|rewrite Hrun]).
    destruct (waiting_without self (set_queues s X) Hwait Hc) as [Hwithout Haway].
    - cbn. intros Ekept. assert (kept_thread X = Some self) as Hks by (unfold kept_thread; rewrite Ekept, (proj2 (Z.eqb_neq self NONE)); [done|pose proof (none_no_thread self Hb); congruence]).
      destruct (Hkept self Hks) as [(_ & _ & rk & Hrk & Hsk & _) _]. rewrite Hr in Hrk. injection Hrk as <-. by rewrite Hrun in Hsk.
    - cbn. apply eq_None_not_Some. intros H. by apply Hawake, Hrest.
    - rewrite Es. cbn. eexists. split; [by apply ready_mark_same|done].
    - opens sched_prepare_block_code. eapply runs_call; [intros ?; evaluate|apply (set_state_nowhere self thread_is_blocked (without_node self X))|].
      + cbn. by eexists.
      + intros q. apply (in_queue_free (queues X) q self); [apply (ok_valid _ _ _ Hok)|exact Hf].
      + intros v Y [-> ->]. rewrite Es in Hwithout, Haway. exact (conj Hwithout (conj Ec Haway)).
  Qed.

  (** ** It is taken out of the pending queue *)
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
  Theorem sched_insert_away self t X R m g (Q : call_post) : steady self X -> away t X -> timeouts X !! t = None -> (free_node t ∗ holds X ∗ R) m ->
    (forall Y m', steady self Y -> all_awake t (with_node t X) Y -> (holds Y ∗ R) m' -> Q 0 m' g) -> fwp J "sched_insert" [cpu; t] m g Q.
  Proof using Hcpu ours_bound HM HQ HT HR HC timer_arms clock HJ HE.
    intros HX Ht Hd Hm HQ'. destruct (away_comes_back self t X HX Ht) as [HY Hs]. set (Y := with_node t X) in *.
    destruct (sleeper this ours self t Y HY Hs) as (r & rs & Hr & _ & _ & Hot & _ & _ & _ & Hno). destruct (sleeper_insertable this Hcpu ours ours_bound self t r Y HY Hs Hr) as (kp & s & s' & Hkp & Hq & Hp).
    pose proof HY as (_ & Hw & _). pose proof (work_accounts _ _ _ _ Hw) as Ha.
    apply (sched_insert_woken quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock J HJ HE t (ready_priority r) kp s s' X Y R m g Q eq_refl Hot (ours_bound t Hot)
      (valid_payer ours Y t Ha Hot) (valid_time ours Y Ha) Hq Hp Hno Hm).
    intros W m' HW. apply HQ'; [by eapply (inserted_steady this Hcpu ours ours_bound self t Y HY Hs Hd r Hr kp Hkp)|by eapply (inserted_awake this ours ours_bound self t Y HY Hs r Hr kp)].
  Qed.
End away.
