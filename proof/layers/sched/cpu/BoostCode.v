(** The C of [sched.c] that moves a waiting thread: a parked one whose period begins, and boosts, with the return from one. *)
From Ashlar Require Export layers.sched.cpu.InsertCode layers.sched.Threads.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma mark_set_priority s t p x s' : sched_mark s t x = Some s' -> sched_mark (set_priority t p s) t x = Some (set_priority t p s').
Proof.
  unfold sched_mark, set_priority. destruct (ready_threads s !! t) as [r|] eqn:E; [|done]. cbn [ready_threads ready_queues]. rewrite lookup_insert.
  case_bool_decide; [|done]. intros [= <-]. cbn [ready_threads ready_queues]. unfold ready_mark. rewrite E, !lookup_insert. cbn. by rewrite !insert_insert.
Qed.

Section code.
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
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation serves := (serves quiet kernel_entry M this ours timer).
  Context (timer_arms : forall e t, timer e -> timed "timer_arm" [t] e (fun _ e' => timer e')).
  Context (clock : clock_forward quiet kernel_entry M this).

  (** ** Steps *)
  Lemma does_valid f args X post : (ready_valid cpu (queues X) -> does f args X post) -> does f args X post.
  Proof using. intros H w Hw. pose proof Hw as (dr & d & e & _ & _ & _ & [Hv _] & _). by apply H. Qed.
  Lemma runs_valid s (Qn Qb : locals -> cpu_state -> Prop) (Qr : Z -> cpu_state -> Prop) r X : (ready_valid cpu (queues X) -> runs quiet kernel_entry M this ours timer s Qn Qb Qr r X) -> runs quiet kernel_entry M this ours timer s Qn Qb Qr r X.
  Proof using. intros H w Hw. pose proof Hw as (dr & d & e & _ & _ & _ & [Hv _] & _). by apply H. Qed.
  Lemma state_does t r X : ready_threads (queues X) !! t = Some r -> does "thread_state" [t] X (fun v Y => v = ready_state r /\ Y = X).
  Proof using HT.
    intros Hr. apply does_ready. intros d Hrep. pose proof Hrep as (_ & dq & dm & dt & -> & Hd & Hd' & _ & _ & Ht). destruct (proj2 Ht t r Hr) as [_ A].
    eapply triple_mono; [|apply (thread_state_triple kernel_entry M this HT _ _ (ready_state r))].
    - intros v d' [-> ->]. exists (queues X). split; [by destruct X|exact Hrep].
    - rewrite (assoc_L (∪)), (map_union_comm _ dt); [by apply own_read|]. apply map_disjoint_union_r in Hd as [_ Hqt]. by apply map_disjoint_union_l.
  Qed.
  Lemma set_priority_does t r p X : ready_threads (queues X) !! t = Some r -> 0 <= p < NUM_PRIORITY -> in_no_ready_queue cpu (queues X) t ->
    does "thread_set_priority" [t; p] X (fun v Y => v = 0 /\ Y = set_queues (set_priority t p (queues X)) X).
  Proof using HT.
    intros Hr Hp Hno. apply does_ready. intros d Hd. eapply triple_mono; [|by eapply body_triple_triple, (set_priority_body kernel_entry M this HT)].
    intros v d' [-> Hd']. by eexists.
  Qed.
  Lemma ready_remove_does t v s X : sched_ready_remove (queues X) cpu t = Some (v, s) -> does "sched_ready_remove" [cpu; t] X (fun _ Y => Y = set_queues s X).
  Proof using HM HQ HT HB Hcpu.
    intros H. apply does_ready. intros d Hr. eapply triple_mono; [|by eapply (sched_ready_remove_triple kernel_entry M this HM HQ HT HB)]. intros w d' [-> Hr']. by exists s.
  Qed.
  Lemma waits_not_ready s t r : ready_valid cpu s -> ready_threads s !! t = Some r -> ready_state r <> thread_is_ready -> in_no_ready_queue cpu s t.
  Proof using.
    intros Hv Hr Hn. apply Forall_forall. intros p Hp%elem_of_seqZ. eapply (ready_valid_other cpu s Hv); [done..|lia].
  Qed.
  (** A thread that leaves the queue where it waits is in none. *)
  Lemma withdraw_gives s t s1 : queue_valid (ready_queues s) -> sched_withdraw t s = Some s1 -> exists q, queue_remove (ready_queues s) t = Some (0, q) /\
    in_no_ready_queue cpu (Ready q (ready_threads s)) t /\ sched_mark (Ready q (ready_threads s)) t thread_is_blocked = Some s1.
  Proof using.
    intros Hv H. unfold sched_withdraw in H. destruct (queue_remove (ready_queues s) t) as [[v q]|] eqn:E; [|done]. cbn [mbind option_bind] in H.
    pose proof (queue_remove_takes _ _ _ _ Hv E) as (-> & q0 & l1 & l2 & Htk). destruct (takes_moves s Hv (ready_threads s) _ _ _ _ _ Htk ltac:(done)) as [_ Hgone].
    exists q. split_and!; [done| |done]. apply Forall_forall. intros p _ Hin. by apply in_ready_list, Hgone in Hin.
  Qed.

  (** ** Releases *)
  (** What [sched_insert] asks for. *)
  Definition insertable (t p kp : Z) (s s' : ready) (X : cpu_state) : Prop := payer_ok ours X (payer_of X t) /\ time_ok X /\
    may_be_queued this t p kp s X /\ sched_park (queues X) cpu (parked_queue cpu) t = Some s' /\ timeouts X !! (SCHED_RELEASE_BASE + t) = None.
  (** The next period of a parked thread begins: it leaves the queue of parked threads, and is made ready, or parked again if no time is left. *)
  Theorem sched_release_serves t r p kp s1 s s' X : ours t -> 0 <= t < NUM_THREAD -> ready_threads (queues X) !! t = Some r -> ready_state r = thread_is_parked ->
    sched_withdraw t (queues X) = Some s1 -> insertable t p kp s s' (set_queues s1 X) ->
    serves "sched_release" [SCHED_RELEASE_BASE + t] X (fun v Y => v = 0 /\ inserted this t p kp s s' (set_queues s1 X) Y).
  Proof using HM HQ HT HR HC Hcpu clock timer_arms.
    intros Ht Hb Hr Hst Hw (Hp & Hs & Hq & Hpark & Hno). opens sched_release_code. apply runs_valid. intros Hv. destruct (withdraw_gives _ _ _ (proj1 Hv) Hw) as (q & Hrem & _ & Hm).
    assert (in_no_ready_queue cpu (queues X) t) as Hnot by (eapply waits_not_ready; [done..|by rewrite Hst]).
    unfold SCHED_RELEASE_BASE, NUM_THREAD in *. locals_simpl. go. this_cpu. do 2 go. assert (wrap W32 (144 + t - 144) = t) as -> by (rewrite Z.add_simpl_l; apply Z.mod_small; cbn [bits]; lia).
    go. use queue_remove_does; [intros u Hu Hin; apply in_ready_list in Hin; by eapply in_no_ready_queue_list|].
    go. use set_state_does. eapply runs_call; [intros ?; evaluate|by apply (sched_insert_does quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock t p kp s s')|].
    intros v Y [-> HY]. done.
  Qed.

  (** ** Boosts *)
  Definition exempted (t v : Z) (X : cpu_state) : cpu_state :=
    let x := reservation_of X t in set_reservation t (Reservation (period x) (budget x) (time_left x) (period_end x) (debt x) (used x) (spends x) v) X.
  (** A thread that spends no reservation is made ready at once, not parked. *)
  Lemma insert_exempt_does t p kp s X : ours t -> payer_of X t = NONE -> time_ok X -> may_be_queued this t p kp s X ->
    does "sched_insert" [cpu; t] X (fun v Y => v = 0 /\ made_ready this t p kp s X Y).
  Proof using HM HQ HT HR HC Hcpu clock timer_arms.
    intros Ht Hn Hs Hq. enter sched_insert_code. go. use limited_does.
    match goal with |- runs _ _ _ _ _ _ ?S ?Qn ?Qb ?Qr _ _ => assert (forall x, runs quiet kernel_entry M this ours timer (Call None "sched_insert_ready" [Var 0; Var 1]) Qn Qb Qr
      [cpu; t; if spends (reservation_of X t) =? NONE then 0 else 1; x] X) as Hrest end.
    { intros x. eapply runs_call; [intros ?; evaluate|apply (sched_insert_ready_does quiet kernel_entry M this Hcpu ours timer HM HQ HT HR HC timer_arms clock t p kp s); [apply Hs|done]|]. by intros v Y [-> HY]. }
    do 2 go. destruct (spends (reservation_of X t) =? NONE); [change (0 =? 1) with false; cbn iota; go; apply Hrest|]. change (1 =? 1) with true. cbn iota.
    go. eapply runs_call; [intros ?; evaluate|by apply (has_does quiet kernel_entry M this Hcpu ours timer HM clock t X Ht); [left|]|].
    intros has X1 [(_ & -> & ->)|[? _]]; [|done]. locals_simpl. locals_plain. go. change (1 =? 0) with false. cbn iota. go. apply Hrest.
  Qed.
  (** [t], in queues and states [s], has the highest priority and spends no reservation. *)
  Definition raised (t : Z) (s : ready) (X : cpu_state) : cpu_state := exempted t 1 (set_queues (set_priority t (NUM_PRIORITY - 1) s) X).
  (** Where [t] waits for the processor, it goes on waiting as what it has become, and no period has to begin for it. *)
  Definition unparked (t : Z) (r : ready_thread) (X : cpu_state) : cpu_state :=
    if ready_state r =? thread_is_parked then set_timeouts (delete (SCHED_RELEASE_BASE + t) (timeouts X)) (cancels X) X else X.
  (** [go] up to the next call, where conditions compare [st] with constants. *)
  Ltac goes st := repeat lazymatch goal with
    | |- context [if ?c then _ else _] => match c with context [st =? ?n] => first [rewrite (proj2 (Z.eqb_eq st n)) by lia|rewrite (proj2 (Z.eqb_neq st n)) by lia] end; cbn [negb andb]
    | |- runs _ _ _ _ _ _ (Seq (Call _ _ _) _) _ _ _ _ _ => fail
    | |- _ => go end.
  Theorem sched_boost_does t r kp s1 s X : ours t -> 0 <= t < NUM_THREAD -> ready_threads (queues X) !! t = Some r ->
    let waits := (ready_state r =? thread_is_ready) || (ready_state r =? thread_is_parked) in let X1 := raised t s1 (unparked t r X) in
    (ready_state r = thread_is_ready -> t ∈ ready_list (queues X) cpu (ready_priority r)) ->
    (waits = true -> sched_withdraw t (queues X) = Some s1 /\ time_ok X /\ may_be_queued this t (NUM_PRIORITY - 1) kp s X1) ->
    does "sched_boost" [t] X (fun v Y => v = 0 /\
      if waits then made_ready this t (NUM_PRIORITY - 1) kp s X1 Y else Y = if ready_state r =? thread_is_blocked then raised t (queues X) X else X).
  Proof using HM HQ HT HR HC HB Hcpu clock timer_arms.
    intros Ht Hb Hr waits X1 Hin Hw. apply does_valid. intros Hv. enter sched_boost_code. go. this_cpu. go. use state_does. do 2 go.
    unfold waits, X1, unparked in *. clear waits X1. unfold thread_is_ready, thread_is_parked, thread_is_blocked in *. set (st := ready_state r) in *.
    assert (forall s0 Z, queues Z = s0 -> ready_threads s0 = ready_threads (queues X) -> in_no_ready_queue cpu s0 t -> st <> 3 -> sched_mark s0 t thread_is_blocked = Some s1 ->
      time_ok Z -> may_be_queued this t (NUM_PRIORITY - 1) kp s (raised t s1 Z) ->
      runs quiet kernel_entry M this ours timer (Seq (Call None "thread_set_priority" [Var 0; Bin W32 Sub (Const 256) (Const 1)])
        (Seq (Call None "sched_budget_exempt" [Var 0; Const 1]) (If (Cmp Ne (Var 2) (Const 3)) (Seq (Call None "thread_set_state" [Var 0; Const 3]) (Call None "sched_insert" [Var 1; Var 0])) Skip)))
        (fun _ Y => 0 = 0 /\ made_ready this t (NUM_PRIORITY - 1) kp s (raised t s1 Z) Y) (fun _ _ => False)
        (fun v Y => v = 0 /\ made_ready this t (NUM_PRIORITY - 1) kp s (raised t s1 Z) Y) [t; cpu; st] Z) as Hrest.
    { intros s0 Z Eq Et Hno Hst Hm Hs Hq. rewrite <- Et, <- Eq in Hr. go. use set_priority_does; [change (wrap W32 (256 - 1)) with 255; unfold NUM_PRIORITY; lia|by rewrite Eq|]. rewrite Eq.
      go. use exempt_does. go. rewrite (proj2 (Z.eqb_neq st 3)) by done. cbn [negb]. go. use set_state_does; [by apply mark_set_priority|].
      eapply runs_call; [intros ?; evaluate|apply (insert_exempt_does t (NUM_PRIORITY - 1) kp s (raised t s1 Z)); [done| |done|exact Hq]|by intros v Y [-> HY]].
      unfold payer_of, raised, exempted, payer. cbn [reservation_of set_reservation]. by rewrite Z.eqb_refl. }
    assert (st <> 1 -> in_no_ready_queue cpu (queues X) t) as Hnot by (by apply waits_not_ready).
    destruct (Z.eqb_spec st 1) as [E1|E1]; [|destruct (Z.eqb_spec st 4) as [E4|E4]; [|destruct (Z.eqb_spec st 3) as [E3|E3]]]; cbn [negb andb orb] in *.
    - destruct (Hw eq_refl) as (Hwd & Hs & Hq). destruct (withdraw_gives _ _ _ (proj1 Hv) Hwd) as (q & Hrem & Hno & Hm). rewrite (proj2 (Z.eqb_neq st 4)) in Hq by lia.
      goes st. eapply runs_call; [intros ?; evaluate|apply (ready_remove_does t 0 (Ready q (ready_threads (queues X))))|].
      { unfold sched_ready_remove. rewrite Hr, bool_decide_eq_true_2 by auto. by rewrite Hrem. }
      intros v Y ->. locals_simpl. locals_plain. goes st. eapply (Hrest _ (set_queues (Ready q (ready_threads (queues X))) X)); first [done|lia].
    - destruct (Hw eq_refl) as (Hwd & Hs & Hq). destruct (withdraw_gives _ _ _ (proj1 Hv) Hwd) as (q & Hrem & Hno & Hm).
      goes st. use sched_budget_unpark_does; [intros u Hu Hi; apply in_ready_list in Hi; eapply in_no_ready_queue_list; [apply Hnot; lia|exact Hu|exact Hi]|].
      eapply (Hrest _ (set_timeouts (delete (SCHED_RELEASE_BASE + t) (timeouts X)) (cancels X) (set_queues (Ready q (ready_threads (queues X))) X))); first [done|lia].
    - goes st. go. use set_priority_does; [change (wrap W32 (256 - 1)) with 255; unfold NUM_PRIORITY; lia|auto|]. go. use exempt_does. by goes st.
    - by go.
  Qed.
  Theorem sched_unboost_does r X : let t := word X "arch_current" in let p := base_priority X t in
    let X1 := exempted t 0 (requested (set_word "running" (p + 1) (set_queues (set_priority t p (queues X)) X))) in
    ours t -> t <> NONE -> ready_threads (queues X) !! t = Some r -> ready_state r = thread_is_running -> 0 <= p < NUM_PRIORITY ->
    payer_ok ours X1 (payer_of X1 t) -> payer_ok ours X1 (word X "charged") -> time_ok X ->
    does "sched_unboost" [] X (fun v Y => v = 0 /\ switched_to t X1 Y).
  Proof using HM HT HW HR HC Hcpu clock timer_arms.
    intros t p X1 Ht Hn Hr Hst Hp Hpay Hc Hs. apply does_valid. intros Hv. pose proof Hp as Hp'. unfold NUM_PRIORITY in Hp'.
    assert (in_no_ready_queue cpu (queues X) t) as Hnot by (eapply waits_not_ready; [done..|by rewrite Hst]).
    enter sched_unboost_code. go. this_cpu. go. use current_does. fold t. go. use base_priority_does. fold p. go. use set_priority_does.
    go. put_word sched_cpu_set_running_triple "running"%string. rewrite wrap32_next by lia. go. use sched_request_does. go. use exempt_does.
    fold (exempted t 0 (requested (set_word "running" (p + 1) (set_queues (set_priority t p (queues X)) X)))). fold X1.
    eapply runs_call; [intros ?; evaluate|apply (switch_does quiet kernel_entry M this Hcpu ours timer HM timer_arms clock t X1); [done..|congruence]|]. by intros v Y [-> HY].
  Qed.
End code.
