(** Notifications: the C that signals, polls and watches, and that begins and ends lives.

    What the acquisition and the release of the lock do, an interrupt that is sent and a thread that is made ready, is a premise: that from
    there the call has the wanted result ([lang/logic/Until.v]). *)
From Ashlar Require Export layers.notify.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

Section rules.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
  Lemma wp_word n l f v (R : mem -> Prop) i e (Qn Qb : post) (Qr : call_post) r m (g : G) : (fields_are n l ∗ R) m ->
    NoDup l.*1 -> f ∈ l.*1 -> eval i r m = Some n -> eval e r m = Some v -> (forall m', (fields_are n (set_field f v l) ∗ R) m' -> Qn r m' g) ->
    wp J (Store "notification" i f (Const 0) e) Qn Qb Qr r m g.
  Proof using HJ HE. intros Hm Hnd Hf Hi He HQ. eapply wp_then; [exact HJ|exact HE|]. by eapply during_word. Qed.
End rules.
(** A store into a field, as [word]. *)
Ltac put Hm :=
  eapply wp_word; [eassumption|eassumption|exact Hm|apply (bool_decide_unpack _); by compute|apply (bool_decide_unpack _); by compute|evaluate|evaluate|];
  let m := fresh "m" in clear Hm; intros m Hm; cbn [set_field String.eqb Ascii.eqb Bool.eqb] in Hm; locals_simpl; locals_plain.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, notify_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HU : forall f fd, uctx_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, records_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).
  Notation cpu := (Z.of_nat this).
  Notation call_post := (@call_post G).

  (** ** What the calls do *)
  Definition lock (n : Z) : Z := LOCK_NOTIFY_BASE + n.
  (** Acquiring the lock gives the notification in some state [x], beside [F]; from there, [K]. *)
  Definition acquires (n : Z) (m : mem) (g : G) (K : notification -> (Z -> Z) -> (mem -> Prop) -> G -> Prop) : Prop :=
    fwp J "spinlock_acquire" [lock n] m g (fun _ m g => exists x saved F, (notify_rep n saved x ∗ F) m /\ K x saved F g).
  (** Releasing it takes the notification in state [x], beside [F]; from there, [Q]. *)
  Definition releases (n : Z) (saved : Z -> Z) (x : notification) (F : mem -> Prop) (g : G) (Q : mem -> G -> Prop) : Prop :=
    forall m, (notify_rep n saved x ∗ F) m -> fwp J "spinlock_release" [lock n] m g (fun _ => Q).
  (** Bits for which no thread waits: they are kept if the owner lives, and the watching processor is interrupted. *)
  Definition keeps (n : Z) (saved : Z -> Z) (x : notification) (b : Z) (F : mem -> Prop) (g : G) (Q : mem -> G -> Prop) : Prop :=
    releases n saved (notify_kept x b) F g (fun m g =>
      if interrupts x cpu then fwp J "intc_send" [watcher x; VECTOR_RESCHEDULE] m g (fun _ => Q) else Q m g).
  (** A signal: the bits are kept, or given to the first waiter, who is the result. *)
  Definition gives (n b : Z) (m : mem) (g : G) (Q : call_post) : Prop :=
    acquires n m g (fun x saved F g => match waiters x with
      | [] => keeps n saved x b F g (Q NONE)
      | t :: _ => releases n saved (notify_served x) (woken t STATUS_OK b ∗ F) g (Q t)
      end).
  (** The waiter is the result if it belongs to this processor; another is made ready there. *)
  Definition signals_here (n b : Z) (m : mem) (g : G) (Q : call_post) : Prop :=
    gives n b m g (fun t m g => if t =? NONE then Q NONE m g else exists home, m !! field_cell "thread" t "cpu" = Some home /\
      if home =? cpu then Q t m g else fwp J "sched_ready_remote" [t] m g (fun _ => Q NONE)).

  Lemma lock_of n r d : 0 <= n < NUM_NOTIFICATION -> r !! 0%nat = Some n -> evals [Bin W32 Add (Const 169) (Var 0)] r d = Some [lock n].
  Proof using.
    intros Hn Hr. cbn [evals eval]. rewrite Hr. cbn [binary]. unfold wrap, lock, LOCK_NOTIFY_BASE, NUM_NOTIFICATION in *.
    rewrite Z.mod_small; [done|]. cbn [Syntax.bits]. lia.
  Qed.
  Lemma wp_acquire n es (Qn Qb : post) (Qr : call_post) r m g K : evals es r m = Some [lock n] -> acquires n m g K ->
    (forall x saved F m g, (notify_rep n saved x ∗ F) m -> K x saved F g -> Qn r m g) -> wp J (Call None "spinlock_acquire" es) Qn Qb Qr r m g.
  Proof using. intros He Ha HK. eapply wp_call; [exact He|exact Ha|]. cbn beta. intros v m' g' (x & saved & F & Hm & H). by eapply HK. Qed.
  Lemma wp_release n es (Qn Qb : post) (Qr : call_post) r m g saved x F (Q : mem -> G -> Prop) : evals es r m = Some [lock n] ->
    releases n saved x F g Q -> notify_valid x ->
    (fields_are n (fields x) ∗ queue_rep (line n (waiters x)) ∗ each (waits saved) (waiters x) ∗ F) m ->
    (forall m g, Q m g -> Qn r m g) -> wp J (Call None "spinlock_release" es) Qn Qb Qr r m g.
  Proof using. intros He Hr Hv Hm HQn. eapply wp_call; [exact He|apply Hr; by apply notify_whole|]. intros v. apply HQn. Qed.

  Notation entered_until := (entered_until M J).
  Ltac enters code := eexists; split; [by apply HM|split; [done|]]; unfold body_wp, code; cbn [fn_body fn_locals]; locals_simpl.
  Ltac opens code := eapply fwp_body; [exact HJ|by apply HM|done|]; unfold body_wp, code; cbn [fn_body fn_locals]; locals_simpl.
  Ltac acquire Ha := eapply wp_acquire; [by apply lock_of|exact Ha|]; clear Ha; intros x saved F m1 g1 [Hv Hm]%notify_parts Ha; cbv beta in Ha.
  Ltac release Ha Hm := eapply wp_release; [by apply lock_of|exact Ha| |exact Hm|].

  (** ** Reading and taking bits *)
  Theorem notify_poll_until n m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    acquires n m g (fun x saved F g => releases n saved (notify_taken x) F g (Q (pending x))) -> entered_until "notify_poll" [n] m g Q.
  Proof using HM HJ HE.
    intros Hn Ha. enters notify_poll_code. until_step. acquire Ha. until_step. read_word Hm "bits"%string. do 2 until_step. put Hm. until_step.
    release Ha Hm; [done|].
    intros m2 g2 H. by until_step.
  Qed.
  Theorem notify_pending_until n m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    acquires n m g (fun x saved F g => releases n saved x F g (Q (Z.b2z (is_pending x)))) -> entered_until "notify_pending" [n] m g Q.
  Proof using HM HJ HE.
    intros Hn Ha. enters notify_pending_code. do 3 until_step. acquire Ha. until_step. read_word Hm "bits"%string. until_step. unfold is_pending in Ha.
    destruct (pending x =? 0); cbn [negb Z.b2z] in *; until_step; until_step; (release Ha Hm; [done|]); intros m2 g2 H; by until_step.
  Qed.

  (** ** The processor that watches *)
  Theorem notify_watch_until n m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    acquires n m g (fun x saved F g => releases n saved (set_watcher cpu x) F g (Q (Z.b2z (is_pending x)))) -> entered_until "notify_watch" [n] m g Q.
  Proof using HM HC HJ HE.
    intros Hn Ha. enters notify_watch_code. do 3 until_step. eapply wp_this_cpu; [eassumption..|]. locals_simpl. locals_plain. until_step. acquire Ha.
    until_step. put Hm. until_step. read_word Hm "bits"%string.
    until_step. unfold is_pending in Ha. destruct (pending x =? 0); cbn [negb Z.b2z] in *; until_step; until_step; (release Ha Hm; [done|]);
      intros m2 g2 H; by until_step.
  Qed.
  Theorem notify_unwatch_until n m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    acquires n m g (fun x saved F g => releases n saved (set_watcher NONE x) F g (Q 0)) -> entered_until "notify_unwatch" [n] m g Q.
  Proof using HM HJ HE. intros Hn Ha. enters notify_unwatch_code. until_step. acquire Ha. until_step. put Hm. by release Ha Hm; [exact Hv|]. Qed.

  (** ** Lives *)
  Theorem notify_set_open_until n o m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    acquires n m g (fun x saved F g => releases n saved (notify_reborn x o) F g (Q 0)) -> fwp J "notify_set_open" [n; Z.b2z o] m g Q.
  Proof using HM HJ HE.
    intros Hn Ha. opens notify_set_open_code. until_step. acquire Ha. until_step. put Hm. until_step. put Hm. until_step. put Hm. by release Ha Hm.
  Qed.
  Theorem notify_open_until n m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    acquires n m g (fun x saved F g => releases n saved (notify_reborn x true) F g (Q 0)) -> entered_until "notify_open" [n] m g Q.
  Proof using HM HJ HE. intros Hn Ha. enters notify_open_code. eapply wp_call; [evaluate|by apply (notify_set_open_until n true m g (fun _ => Q 0))|done]. Qed.
  Theorem notify_close_until n m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    acquires n m g (fun x saved F g => releases n saved (notify_reborn x false) F g (Q 0)) -> entered_until "notify_close" [n] m g Q.
  Proof using HM HJ HE. intros Hn Ha. enters notify_close_code. eapply wp_call; [evaluate|by apply (notify_set_open_until n false m g (fun _ => Q 0))|done]. Qed.

  (** ** Signals *)
  Theorem notify_keep_until n saved x b F m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION -> waiters x = [] -> (notify_rep n saved x ∗ F) m ->
    keeps n saved x b F g (Q 0) -> fwp J "notify_keep" [n; b] m g Q.
  Proof using HM HC HJ HE.
    intros Hn El [Hv Hm]%notify_parts Hk. unfold keeps, interrupts in Hk.
    assert (notify_valid (notify_kept x b)) as Hv'.
    { pose proof (notify_signalled_valid x b Hv) as H. unfold notify_signalled in H. by rewrite El in H. }
    unfold notify_kept in *. opens notify_keep_code. until_step. eapply wp_this_cpu; [eassumption..|]. locals_simpl. do 3 until_step.
    read_word Hm "open"%string. until_step.
    destruct (opened x); cbn [Z.b2z Z.eqb Pos.eqb andb] in *.
    - until_step. read_word Hm "bits"%string. put Hm. read_word Hm "watcher"%string. until_step. until_step. release Hk Hm; [done|]. intros m2 g2 H.
      until_step. unfold NONE in H.
      destruct (negb (watcher x =? 4294967295) && negb (watcher x =? cpu)); [|exact H]. by eapply wp_call; [evaluate|exact H|].
    - until_step. until_step. release Hk Hm; [done|]. intros m2 g2 H. until_step. rewrite Z.eqb_refl. cbn [negb andb]. by until_step.
  Qed.
  Theorem notify_give_until n b m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION -> gives n b m g Q -> fwp J "notify_give" [n; b] m g Q.
  Proof using HM HQ HT HU HR HC HJ HE.
    intros Hn Ha. opens notify_give_code. until_step. unfold gives in Ha. acquire Ha. pose proof (notify_whole _ _ _ _ _ Hv Hm) as H. clear Hm. rename H into Hm.
    pose proof (notify_served_valid x Hv) as Hv'. destruct (notify_threads _ _ _ _ _ Hm) as (_ & Hb & _).
    until_step. eapply wp_call_part; [eassumption..|evaluate|exact Hm|intros d Hd; by apply (notify_dequeue_timed quiet kernel_entry M this HM HQ n saved x)|].
    clear m1 Hm. intros v m1 [-> Hm]%both_pure_left. locals_simpl. locals_plain. until_step. until_step. unfold notify_first.
    destruct (waiters x) as [|t l] eqn:El; cbn [first_or].
    - rewrite Z.eqb_refl. until_step. eapply wp_call; [evaluate|by apply (notify_keep_until n saved x b F m1 g1 (fun _ => Q NONE))|].
      intros v m2 g2 H. by until_step.
    - apply Forall_cons in Hb as [Ht _]. change 4294967295 with NONE. rewrite (proj2 (Z.eqb_neq t NONE)) by (by apply thread_not_none). until_step.
      assert ((waits saved t ∗ notify_rep n saved (notify_served x) ∗ free_node t ∗ F) m1) as H by (apply both_flat3 in Hm; permute Hm).
      clear Hm. rename H into Hm. until_step.
      eapply (wp_call_part quiet kernel_entry M this J HJ HE _ _ _ _ _ _ _ _ _ _ (waits saved t) _ (fun _ d => exists rax, wait_state t WAIT_NOTIFICATION rax b d));
        [evaluate|exact Hm| |].
      { intros d (rax & Hd). destruct (wait_state_set t _ _ _ d (register_cell t UCTX_RDI) b WAIT_NOTIFICATION rax b Hd) as [Hx Hset]; [naive_solver|].
        apply triple_timed. eapply triple_mono; [|apply (uctx_set_triple kernel_entry M this HU HR); exact Hx]. intros v d' [_ ->]. by exists rax. }
      clear m1 Hm. intros v m1 Hm. locals_simpl. until_step.
      eapply (wp_call_part quiet kernel_entry M this J HJ HE _ _ _ _ _ _ _ _ _ _ _ _ (fun _ d => wait_state t WAIT_NONE STATUS_OK b d));
        [evaluate|exact Hm| |].
      { intros d (rax & Hd). apply triple_timed. eapply triple_mono; [|by eapply (notify_end_triple kernel_entry M this HM HT HU HR); [|exact Hd]].
        by intros w d' [_ H]. }
      clear m1 Hm. intros w m1 Hm. locals_simpl. until_step.
      assert ((notify_rep n saved (notify_served x) ∗ woken t STATUS_OK b ∗ F) m1) as H.
      { unfold woken. eapply both_mono; [exact (fun d H => H)|apply both_assoc|]. permute Hm. }
      eapply wp_call; [by apply lock_of|by apply Ha|]. cbv beta. intros u m2 g2 H2. by until_step.
  Qed.
  Theorem notify_signal_until n b m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION ->
    gives n b m g (fun t m g => if t =? NONE then Q 0 m g else fwp J "sched_ready" [t] m g (fun _ => Q 0)) -> entered_until "notify_signal" [n; b] m g Q.
  Proof using HM HQ HT HU HR HC HJ HE.
    intros Hn Ha. enters notify_signal_code. until_step. eapply wp_call; [evaluate|by apply notify_give_until|]. cbv beta. intros t m1 g1 H.
    locals_simpl. locals_plain.
    until_step. change 4294967295 with NONE. destruct (t =? NONE); cbn [negb]; [by until_step|]. by eapply wp_call; [evaluate|exact H|].
  Qed.
  Theorem notify_signal_here_until n b m g (Q : call_post) : 0 <= n < NUM_NOTIFICATION -> signals_here n b m g Q -> fwp J "notify_signal_here" [n; b] m g Q.
  Proof using HM HQ HT HU HR HC HJ HE.
    intros Hn Ha. opens notify_signal_here_code. until_step. eapply wp_this_cpu; [eassumption..|]. locals_simpl. locals_plain. until_step.
    eapply wp_call; [evaluate|by apply notify_give_until|]. cbv beta. clear m g Ha. intros t m g H. locals_simpl. locals_plain. do 2 until_step.
    change 4294967295 with NONE.
    destruct (t =? NONE); [by until_step|]. destruct H as (home & Hhome & H). do 2 until_step.
    eapply wp_read; [eassumption..|evaluate|by apply (thread_cpu_triple kernel_entry M this HT)|]. locals_simpl. locals_plain. do 2 until_step.
    destruct (home =? cpu); cbn [negb]; [by do 2 until_step|]. until_step. eapply wp_call; [evaluate|exact H|]. cbv beta. intros v m1 g1 H1. by until_step.
  Qed.
End proof.
