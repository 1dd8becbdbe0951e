(** Notifications: the C that waits, and that ends a wait without a signal.

    Premises, as in [LockCode.v], are what the lock's functions do, those of the scheduler that block and switch, and the clock. *)
From Ashlar Require Export layers.notify.LockCode layers.timer.Proof layers.thread.Records.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, notify_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HU : forall f fd, uctx_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, records_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HI : forall f fd, timer_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
  Notation timed := (timed quiet kernel_entry M this).
  Notation cpu := (Z.of_nat this).
  Notation call_post := (@call_post G).
  Notation acquires := (acquires J).
  Notation releases := (releases J).
  Notation signals_here := (signals_here this J).
  (** The clock answers some [now] with [time now]. *)
  Context (time : Z -> Prop) (clock : timed "arch_clock_ns" [] ∅ (fun now d => time now /\ d = ∅)).

  (** ** What the functions do *)

  (** Thread [t] waits for [n], or did last. *)
  Definition waits_for (t n : Z) (d : mem) : Prop := has_cells [wait_object t] d /\ d !! wait_object t = Some (lock n).
  (** The thread takes the bits; or it gets an error because the deadline has passed; or it waits behind all others, marked as blocked
      before the lock is released, so that no signal is lost. *)
  Definition begins (n self deadline : Z) (m : mem) (g : G) (Q : call_post) : Prop := forall now,
    (if deadline =? NOTIFY_FOREVER then now = 0 else time now) ->
    acquires n m g (fun x saved F g =>
      if is_pending x || (deadline <=? now) then
        releases n saved (notify_taken x) F g (fun m g => exists kind rax rdi R, (wait_state self kind rax rdi ∗ R) m /\
          forall m', (wait_state self kind (if is_pending x then STATUS_OK else ERR_TIMEOUT) (if is_pending x then pending x else rdi) ∗ R) m' -> Q 0 m' g)
      else exists kind rax E E',
        (forall d, F d -> (wait_state self kind rax (saved self) ∗ has_cells [wait_object self] ∗ free_node self ∗ E) d) /\
        (forall e, E e -> timed "sched_prepare_block" [self] e (fun _ => E')) /\
        releases n saved (notify_joined x self) (waits_for self n ∗ E') g (Q 1)).
  (** It blocks; its deadline is set meanwhile. *)
  Definition blocks_until (self deadline : Z) (m : mem) (g : G) (Q : mem -> G -> Prop) : Prop :=
    fwp J "sched_set_deadline" [self; deadline] m g (fun _ m g => fwp J "sched_block" [] m g (fun _ m g =>
      fwp J "sched_clear_deadline" [self] m g (fun _ => Q))).
  (** A wait of [t] ends, if [t] is among the waiters of the notification that its record names; if it is not, nothing changes: its wait was
      ended before, and its record says so. *)
  Definition ends (t status : Z) (m : mem) (g : G) (Q : call_post) : Prop := exists object,
    0 <= object < 2 ^ 32 /\ m !! wait_object t = Some object /\ let n := object - LOCK_NOTIFY_BASE in
    if bool_decide (0 <= n < NUM_NOTIFICATION) then
      acquires n m g (fun x saved F g =>
        if bool_decide (t ∈ waiters x) then releases n saved (notify_ended x t) (woken t status (saved t) ∗ F) g (Q 1)
        else exists kind, kind <> WAIT_NOTIFICATION /\ (forall d, F d -> d !! wait_kind t = Some kind) /\ releases n saved x F g (Q 0))
    else Q 0 m g.

  Ltac opens code := eapply fwp_body; [exact HJ|by apply HM|done|]; unfold body_wp, code; cbn [fn_body fn_locals]; locals_simpl.
  Ltac call H := eapply wp_call; [evaluate|exact H|]; cbv beta.
  Ltac plain := locals_simpl; locals_plain.

  (** ** Beginning to wait *)
  Lemma wait_state_at t kind rax rdi (R : mem -> Prop) m reg v : (wait_state t kind rax rdi ∗ R) m -> reg = UCTX_RAX \/ reg = UCTX_RDI ->
    forall (Qn Qb : post) Qr r g es, evals es r m = Some [t; reg; v] ->
    (forall m', (wait_state t kind (if reg =? UCTX_RAX then v else rax) (if reg =? UCTX_RAX then rdi else v) ∗ R) m' -> Qn r m' g) ->
    wp J (Call None "uctx_set" es) Qn Qb Qr r m g.
  Proof using HU HR HJ HE.
    intros Hm Hreg Qn Qb Qr r g es He HQn. set (a := if reg =? UCTX_RAX then v else rax) in *. set (b := if reg =? UCTX_RAX then rdi else v) in *.
    eapply (wp_call_part quiet kernel_entry M this J HJ HE _ _ _ _ _ _ _ _ _ _ _ _ (fun _ d => wait_state t kind a b d)); [exact He|exact Hm| |].
    - intros d Hd. destruct (wait_state_set t _ _ _ d (register_cell t reg) v kind a b Hd) as [Hx Hset].
      { by destruct Hreg as [-> | ->]; [right; left|right; right]. }
      apply triple_timed. eapply triple_mono; [|apply (uctx_set_triple kernel_entry M this HU HR); exact Hx].
      intros w d' [_ ->]. assert (kept reg v = v) as -> by by destruct Hreg as [-> | ->]. exact Hset.
    - intros w m'. apply HQn.
  Qed.
  Lemma lock_number n : 0 <= n < NUM_NOTIFICATION -> wrap W32 (169 + n) = lock n.
  Proof using. intros H. unfold wrap, lock, LOCK_NOTIFY_BASE, NUM_NOTIFICATION in *. apply Z.mod_small. cbn [Syntax.bits]. lia. Qed.
  Lemma both_write (P P' R : mem -> Prop) x v m : (P ∗ R) m -> (forall d, P d -> is_Some (d !! x) /\ P' (<[x := v]> d)) ->
    is_Some (m !! x) /\ (P' ∗ R) (<[x := v]> m).
  Proof using.
    intros (d & e & -> & Hd & HP & HR') H. destruct (H d HP) as [[w Hw] HP']. split; [exists w; by apply own_read|]. rewrite own_write.
    eexists _, e. split_and!; [done|apply own_write_disjoint; [by exists w|done]|done..].
  Qed.
  Lemma set_wait_timed t n kind rax (saved : Z -> Z) d : (wait_state t kind rax (saved t) ∗ has_cells [wait_object t]) d ->
    timed "thread_set_wait" [t; WAIT_NOTIFICATION; lock n] d (fun _ => waits saved t ∗ waits_for t n).
  Proof using HT.
    intros Hd. assert (is_Some (d !! wait_object t)) as Ho.
    { apply both_comm in Hd as (e & f & -> & _ & He & _). destruct (proj2 (He (wait_object t))) as [v Hv]; [by left|]. exists v. by apply own_read. }
    destruct (both_write _ (waits saved t) _ (wait_kind t) WAIT_NOTIFICATION _ Hd) as [Hk Hd1].
    { intros e He. destruct (wait_state_set t _ _ _ e (wait_kind t) WAIT_NOTIFICATION WAIT_NOTIFICATION rax (saved t) He) as [? ?]; [by left|]. split;
        [done|by exists rax]. }
    apply both_comm in Hd1. destruct (both_write _ (waits_for t n) _ (wait_object t) (lock n) _ Hd1) as [_ Hd2].
    { intros e He. split; [apply He; by left|]. split; [by apply exactly_write; [|left]|apply own_lookup]. }
    apply triple_timed. eapply triple_mono; [|by apply (thread_set_wait_triple kernel_entry M this HT)]. intros v d' [_ ->]. by apply both_comm.
  Qed.
  Theorem notify_begin_wait_until n self deadline m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION -> begins n self deadline m g Q ->
    fwp J "notify_begin_wait" [n; self; deadline] m g Q.
  Proof using HM HQ HT HU HR HI HJ HE clock.
    intros Hn Hb. opens notify_begin_wait_code. do 3 until_step. change 0xffffffffffffffff with NOTIFY_FOREVER.
    match goal with |- wp _ _ ?K _ _ _ _ _ =>
      assert (forall now, (if deadline =? NOTIFY_FOREVER then now = 0 else time now) -> K [n; self; deadline; now; 0] m g) as Hgo end.
    2: { eapply wp_if; [evaluate|]. cbn [compare]. destruct (deadline =? NOTIFY_FOREVER) eqn:Ed; cbn [negb]; [until_step; by apply Hgo|].
      eapply (wp_during quiet kernel_entry M this J HJ HE _ (fun r m' => exists now, time now /\ r = [n; self; deadline; now; 0] /\ m' = m)
        (fun _ _ => False) (fun _ _ => False)); [|by intros r m' (now & Ht & -> & ->); apply Hgo|done..].
      eapply during_call_nothing; [evaluate|by apply (timer_now_timed quiet kernel_entry M this HI)|]. cbv beta. intros v Hv. plain. by exists v. }
    intros now Hnow. specialize (Hb now Hnow). clear Hnow. until_step. eapply wp_acquire; [by apply lock_of|exact Hb|]. clear Hb m g.
    intros x saved F m g [Hv Hm]%notify_parts Hb. cbv beta in Hb. until_step. read_word Hm "bits"%string. do 3 until_step. fold (is_pending x).
    destruct (is_pending x) eqn:Ep; cbn [orb] in *.
    - until_step. put Hm. until_step. eapply wp_release; [by apply lock_of|exact Hb|done|exact Hm|]. clear m E m0 g Hm Hb.
      intros m g (kind & rax & rdi & R & Hm & Hb).
      until_step. eapply (wait_state_at self); [exact Hm|by left|evaluate|]. clear m Hm. intros m Hm. do 2 until_step. fold (is_pending x). rewrite Ep. until_step.
      eapply (wait_state_at self); [exact Hm|by left|evaluate|]. clear m Hm. intros m Hm. plain.
      eapply (wait_state_at self); [exact Hm|by right|evaluate|]. clear m Hm. intros m Hm. plain. until_step. by apply Hb.
    - destruct (deadline <=? now).
      + until_step. put Hm. until_step. eapply wp_release; [by apply lock_of|exact Hb|done|exact Hm|]. clear m E m0 g Hm Hb.
        intros m g (kind & rax & rdi & R & Hm & Hb).
        until_step. eapply (wait_state_at self); [exact Hm|by left|evaluate|]. clear m Hm. intros m Hm. do 2 until_step. fold (is_pending x).
        rewrite Ep. do 2 until_step. by apply Hb.
      + destruct Hb as (kind & rax & P & P' & HF & Hprep & Hb). apply (notify_whole _ _ _ _ _ Hv) in Hm. do 2 until_step. clear E.
        assert (((wait_state self kind rax (saved self) ∗ has_cells [wait_object self]) ∗ notify_rep n saved x ∗ free_node self ∗ P) m) as H.
        { apply both_assoc. eapply both_mono in Hm; [|exact (fun d H => H)|exact HF]. permute Hm. }
        clear Hm. rename H into Hm.
        eapply (wp_call_part quiet kernel_entry M this J HJ HE _ _ _ _ _ _ _ _ _ _ _ _ (fun _ => waits saved self ∗ waits_for self n));
          [etrans; [evaluate|by rewrite lock_number]|exact Hm|intros d; by apply set_wait_timed|].
        clear m Hm. intros v m Hm%both_flat. plain. until_step.
        assert (((notify_rep n saved x ∗ waits saved self ∗ free_node self) ∗ waits_for self n ∗ P) m) as H by (apply both_assoc3; permute Hm).
        clear Hm. rename H into Hm. unfold is_pending in Ep. apply negb_false_iff, Z.eqb_eq in Ep.
        eapply wp_call_part; [eassumption..|evaluate|exact Hm|intros d; by apply (notify_enqueue_timed quiet kernel_entry M this HM HQ)|].
        clear m Hm. cbv beta. intros u m [_ Hm]%both_pure_left. plain. until_step.
        assert ((P ∗ notify_rep n saved (notify_joined x self) ∗ waits_for self n) m) as H by permute Hm. clear Hm. rename H into Hm.
        eapply wp_call_part; [eassumption..|evaluate|exact Hm|exact Hprep|]. clear m Hm. cbv beta. intros w m Hm. plain. until_step.
        eapply wp_call; [by apply lock_of|apply Hb; permute Hm|]. cbv beta. intros z m1 g1 H1. by until_step.
  Qed.

  (** ** Blocking *)
  Theorem notify_block_until_until self deadline m g (Q : call_post) : blocks_until self deadline m g (Q 0) -> fwp J "notify_block_until" [self; deadline] m g Q.
  Proof using HM HJ.
    intros Hb. opens notify_block_until_code. until_step. call Hb. clear m g Hb. intros u m g Hb. plain. until_step. call Hb. clear u m g Hb.
    intros u m g Hb. plain. by call Hb.
  Qed.
  Theorem notify_wait_until_until n self deadline m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION -> m !! current_cell this = Some self ->
    begins n self deadline m g (fun v m g => if v =? 1 then blocks_until self deadline m g (Q 0) else Q 0 m g) -> fwp J "notify_wait_until" [n; deadline] m g Q.
  Proof using HM HQ HT HU HR HW HI HC HJ HE clock.
    intros Hn Hc Hb. opens notify_wait_until_code. until_step.
    eapply wp_read; [eassumption..|evaluate|by apply (thread_current_triple kernel_entry M this HT HW HC)|]. plain.
    until_step. eapply wp_call; [evaluate|by apply notify_begin_wait_until|]. cbv beta. clear m g Hc Hb. intros v m g Hb. plain. until_step.
    destruct (v =? 1); [|by until_step]. eapply wp_call; [evaluate|by apply (notify_block_until_until _ _ _ _ (fun _ => Q 0))|done].
  Qed.
  Theorem notify_wait_until n self deadline m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION -> m !! current_cell this = Some self ->
    begins n self deadline m g (fun v m g => if v =? 0 then Q 0 m g else
      if deadline =? NOTIFY_FOREVER then fwp J "sched_block_to_leave" [] m g (fun _ => Q 1) else blocks_until self deadline m g (Q 1)) ->
    fwp J "notify_wait" [n; deadline] m g Q.
  Proof using HM HQ HT HU HR HW HI HC HJ HE clock.
    intros Hn Hc Hb. opens notify_wait_code. until_step.
    eapply wp_read; [eassumption..|evaluate|by apply (thread_current_triple kernel_entry M this HT HW HC)|]. plain.
    until_step. eapply wp_call; [evaluate|by apply notify_begin_wait_until|]. cbv beta. clear m g Hc Hb. intros v m g Hb. plain. do 2 until_step.
    destruct (v =? 0); [by until_step|]. until_step. until_step. until_step. change 0xffffffffffffffff with NOTIFY_FOREVER.
    destruct (deadline =? NOTIFY_FOREVER); cbn [negb].
    - call Hb. intros u m1 g1 H1. by until_step.
    - eapply wp_call; [evaluate|by apply (notify_block_until_until _ _ _ _ (fun _ => Q 1))|]. cbv beta. intros u m1 g1 H1. by until_step.
  Qed.
  (** The processor is given to the thread that was signalled, if it is of this processor and the current one blocks. *)
  Theorem notify_signal_wait_until signalled b n self m g (Q : call_post) : 0 <= signalled < NUM_NOTIFICATION -> 0 <= n < NUM_NOTIFICATION ->
    m !! current_cell this = Some self ->
    signals_here signalled b m g (fun t m g => begins n self NOTIFY_FOREVER m g (fun v m g =>
      if t =? NONE then (if v =? 1 then fwp J "sched_block_to_leave" [] m g (fun _ => Q v) else Q v m g)
      else fwp J (if v =? 1 then "sched_switch_to"%string else "sched_ready"%string) [t] m g (fun _ => Q v))) ->
    fwp J "notify_signal_wait" [signalled; b; n] m g Q.
  Proof using HM HQ HT HU HR HW HI HC HJ HE clock.
    intros Hs Hn Hc Hb. opens notify_signal_wait_code. until_step.
    eapply wp_read; [eassumption..|evaluate|by apply (thread_current_triple kernel_entry M this HT HW HC)|]. plain.
    until_step. eapply wp_call; [evaluate|by apply (notify_signal_here_until quiet kernel_entry M this HM HQ HT HU HR HC J HJ HE)|]. cbv beta.
    clear m g Hc Hb. intros t m g Hb. plain. do 2 until_step.
    change 4294967295 with NONE. destruct (t =? NONE); until_step.
    - eapply wp_call; [evaluate|by apply notify_begin_wait_until|]. cbv beta. clear m g Hb. intros v m g Hb. plain. do 2 until_step.
      destruct (v =? 1); [call Hb; intros u m1 g1 H1|until_step]; by until_step.
    - until_step. eapply wp_call; [evaluate|by apply notify_begin_wait_until|]. cbv beta. clear m g Hb. intros v m g Hb. plain. do 2 until_step.
      destruct (v =? 1); (call Hb; intros u m1 g1 H1; by until_step).
  Qed.

  (** ** Ending a wait *)
  Theorem notify_end_wait_until t status m g (Q : call_post) : 0 <= status < 2 ^ 64 -> ends t status m g Q -> fwp J "notify_end_wait" [t; status] m g Q.
  Proof using HM HQ HT HU HR HJ HE.
    intros Hs (object & Hb & Ho & He). opens notify_end_wait_code. until_step.
    eapply wp_read; [eassumption..|evaluate|by apply (thread_wait_object_triple kernel_entry M this HT)|]. plain.
    do 4 until_step. unfold LOCK_NOTIFY_BASE in He. set (n := object - 169) in *.
    case_bool_decide as Hn; unfold NUM_NOTIFICATION in Hn.
    2: { assert ((128 <=? wrap W32 n) = true) as ->; [|by until_step]. apply Z.leb_le. unfold wrap. cbn [Syntax.bits].
      destruct (decide (0 <= n)); [rewrite Z.mod_small; lia|]. rewrite <- (Z_mod_plus_full n 1), Z.mod_small; lia. }
    assert (wrap W32 n = n) as En by (apply Z.mod_small; cbn [Syntax.bits]; lia). rewrite En. clear En.
    rewrite (proj2 (Z.leb_gt 128 n)) by lia. do 2 until_step.
    assert (lock n = object) as El by (unfold lock, LOCK_NOTIFY_BASE, n; lia).
    eapply wp_acquire; [by rewrite El; evaluate|exact He|]. clear m g Ho He. intros x saved F m g Hm He. cbv beta in He. until_step.
    case_bool_decide as Hin.
    - assert (m !! wait_kind t = Some WAIT_NOTIFICATION) as Hk.
      { apply notify_parts in Hm as [_ Hm]. destruct Hm as (? & d1 & -> & Hd1 & _ & ? & d2 & -> & Hd2 & _ & d3 & d4 & -> & Hd3 & H & _).
        apply (each_leave _ _ t) in H as (e & f & -> & _ & (rax & _ & H & _) & _); [|done].
        do 2 (apply both_right_lookup; [done|]). do 2 apply own_read. exact H. }
      eapply wp_read; [eassumption..|evaluate|by apply (thread_wait_kind_triple kernel_entry M this HT)|]. plain. do 2 until_step.
      change (WAIT_NOTIFICATION =? 5) with true. cbn iota. until_step.
      eapply wp_call_part; [eassumption..|evaluate|exact Hm|intros d; by apply (notify_remove_timed quiet kernel_entry M this HM HQ)|].
      clear m Hm Hk. cbv beta. intros v m [_ Hm]%both_pure_left. plain.
      assert ((waits saved t ∗ notify_rep n saved (notify_ended x t) ∗ free_node t ∗ F) m) as H by (apply both_flat3 in Hm; permute Hm).
      clear Hm. rename H into Hm.
      eapply (wp_call_part quiet kernel_entry M this J HJ HE _ _ _ _ _ _ _ _ _ _ _ _ (fun _ => wait_state t WAIT_NONE status (saved t)));
        [evaluate|exact Hm| |].
      { intros d (rax & Hd). apply triple_timed. eapply triple_mono; [|by eapply (notify_end_triple kernel_entry M this HM HT HU HR); [|exact Hd]].
        by intros w d' [_ H]. }
      clear m Hm. cbv beta. intros w m Hm. plain. until_step.
      assert ((notify_rep n saved (notify_ended x t) ∗ woken t status (saved t) ∗ F) m) as H.
      { unfold woken. eapply both_mono; [exact (fun d H => H)|apply both_assoc|]. permute Hm. }
      eapply wp_call; [|by apply He|]; [rewrite El; evaluate|]. cbv beta. intros u m1 g1 H1. plain. do 2 until_step.
      change (WAIT_NOTIFICATION =? 5) with true. cbn [negb]. by do 2 until_step.
    - destruct He as (kind & Hne & Hk & He).
      assert (m !! wait_kind t = Some kind) as Hkind by (apply (both_at F (notify_rep n saved x)); [by apply both_comm|exact Hk]).
      eapply wp_read; [eassumption..|evaluate|by apply (thread_wait_kind_triple kernel_entry M this HT)|]. plain. do 2 until_step.
      change 5 with WAIT_NOTIFICATION. rewrite (proj2 (Z.eqb_neq kind _)) by done. do 2 until_step.
      eapply wp_call; [|by apply He|]; [rewrite El; evaluate|]. cbv beta. intros u m1 g1 H1. plain. do 2 until_step.
      rewrite (proj2 (Z.eqb_neq kind _)) by done. cbn [negb]. by until_step.
  Qed.
  Theorem notify_cancel_until t m g (Q : call_post) :
    ends t ERR_CANCELLED m g (fun v m g => if v =? 1 then fwp J "sched_ready" [t] m g (fun _ => Q v) else Q v m g) -> fwp J "notify_cancel" [t] m g Q.
  Proof using HM HQ HT HU HR HJ HE.
    intros He. opens notify_cancel_code. until_step. eapply wp_call; [evaluate|by apply notify_end_wait_until|]. cbv beta. clear m g He.
    intros v m g H. plain. do 2 until_step.
    destruct (v =? 1); [call H; intros u m1 g1 H1|until_step]; by until_step.
  Qed.
  (** The caller makes the thread ready. *)
  Theorem notify_timeout_until t m g (Q : call_post) : ends t ERR_TIMEOUT m g Q -> fwp J "notify_timeout" [t] m g Q.
  Proof using HM HQ HT HU HR HJ HE.
    intros He. opens notify_timeout_code. until_step. eapply wp_call; [evaluate|by apply notify_end_wait_until|]. cbv beta. intros v m1 g1 H. by until_step.
  Qed.
End proof.
