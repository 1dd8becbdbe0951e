(** Notifications: the C of start-up, and what it does under the lock: threads that come and go, and the end of a wait. *)
From Ashlar Require Export layers.notify.Waiters layers.notify.Code layers.queue.RemoveCode layers.thread.Proof layers.uctx.Proof lang.logic.Memory.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, notify_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HU : forall f fd, uctx_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, records_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).
  Notation timed := (timed quiet kernel_entry M this).
  Notation during := (during quiet kernel_entry M this).

  Ltac enter code := eapply timed_body; [by apply HM|done|]; unfold code; locals_simpl.

  (** ** Start-up *)
  Notation initial := (("owner", NONE) :: fields notify_new)%string.
  Theorem notify_init_triple d : exactly all_cells d -> triple "notify_init" [] d (fun v d' => v = 0 /\ notify_initial d').
  Proof using HM.
    intros Hx. assert (forall n f, f ∈ field_names -> 0 <= n < NUM_NOTIFICATION -> all_cells (field_cell "notification" n f)) as Hall.
    { intros n f Hf Hn. exists n. split; [done|]. apply elem_of_list_fmap. by exists f. }
    assert (forall d f, exactly all_cells d -> 0 <= f < NUM_NOTIFICATION -> has_fields "notification" f field_names d) as Hhas.
    { intros d1 n H1 Hn. apply Forall_forall. intros f Hf. by apply H1, Hall. }
    eapply triple_owned; [by apply HM|done|]. unfold notify_init_code. locals_simpl. do 2 step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [i] /\ exactly all_cells d1 /\ forall n, 0 <= n < i -> holds "notification" n initial d1) 0); [lia| | | |].
    { split_and!; [done..|lia]. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi (-> & Hx1 & Hdone). pose proof (Hhas d1 i Hx1 Hi) as H. repeat store_step H. rewrite wrap32_next by lia.
      split_and!; [done|repeat apply exactly_write; first [done|apply Hall; [names|done]]|].
      intros n Hn. destruct (decide (n = i)) as [->|Hne]; [unfold holds, fields, notify_first, field_cell; cbn; repeat constructor; cbn; by look|].
      repeat (apply holds_write_other; [intros f E; unfold field_cell in E; congruence|]). apply Hdone. lia. }
    clear d Hx. intros r d (-> & Hx & Hdone). split; [done|]. split; [done|]. intros n Hn.
    assert (holds "notification" n initial (restrict (field_cell "notification" n <$> field_names) d)) as Hh.
    { apply Forall_forall. intros e He. rewrite restrict_in; [exact (proj1 (Forall_forall _ _) (Hdone n Hn) e He)|].
      apply elem_of_list_fmap. exists e.1. split; [done|]. apply (elem_of_list_fmap_1 fst initial e He). }
    apply (both_cut _ _ [field_cell "notification" n "owner"] (field_cell "notification" n <$> (fields notify_new).*1)).
    - intros x. rewrite <- (elem_of_app [_] _ x). revert x. apply restrict_cells. intros y Hy. apply Hx. by exists n.
    - intros x ->%elem_of_list_singleton (f & [= <-] & Hf)%elem_of_list_fmap. revert Hf. names.
    - apply (fields_cut n [("owner"%string, NONE)]). apply Forall_cons in Hh as [Ho _]. by repeat constructor.
    - apply fields_cut. by apply Forall_cons in Hh as [_ Hh].
  Qed.
  Theorem notify_define_timed n owner o x m : (owner_is n o ∗ fields_are n (fields x)) m ->
    timed "notify_define" [n; owner] m (fun v m' => v = 0 /\
      (owner_is n owner ∗ fields_are n (fields (Notification 0 (waiters x) (watcher x) false))) m').
  Proof using HM.
    intros Hm. enter notify_define_code. unfold owner_is in Hm. timed_step. word Hm. apply both_comm in Hm. timed_step. word Hm. word Hm.
    split; [done|]. by apply both_comm.
  Qed.
  Theorem notify_owner_triple n owner d : owner_is n owner d -> triple "notify_owner" [n] d (fun v d' => v = owner /\ d' = d).
  Proof using HM. intros [_ H]. apply (reads_code kernel_entry M this "notify_owner" "notification" "owner"); [by apply HM|]. by eapply holds_value. Qed.

  (** ** Threads that come and go. Requires: the lock is held. *)
  Notation standing b w k c o := [("bits", b); ("waiter", w); ("waiters", k); ("watcher", c); ("open", o)]%string.
  Lemma queue_number n : 0 <= n < NUM_NOTIFICATION -> wrap W32 (4240 + n) = queue_id n.
  Proof using. intros H. unfold wrap, queue_id, QUEUE_NOTIFICATION_BASE, NUM_NOTIFICATION in *. apply Z.mod_small. cbn [Syntax.bits]. lia. Qed.
  Lemma count_less (u : Z) l : Z.of_nat (length (u :: l)) <= NUM_THREAD -> wrap W32 (Z.of_nat (length (u :: l)) - 1) = Z.of_nat (length l).
  Proof using. unfold NUM_THREAD. intros H. cbn [length] in *. rewrite Nat2Z.inj_succ in *. unfold wrap. rewrite Z.mod_small; cbn [Syntax.bits]; lia. Qed.
  Lemma count_more k : 0 <= k < NUM_THREAD -> wrap W32 (k + 1) = k + 1.
  Proof using. unfold NUM_THREAD. intros H. apply wrap32_next. lia. Qed.
  Lemma without_length l t : t ∈ l -> Z.of_nat (length l) <= NUM_THREAD -> wrap W32 (Z.of_nat (length l) - 1) = Z.of_nat (length (without t l)).
  Proof using.
    intros Hin Hl. assert (length l = S (length (without t l))) as E.
    { clear Hl. induction l as [|u l IH]; [by apply elem_of_nil in Hin|]. cbn [without length]. destruct (Z.eqb_spec u t); [done|].
      apply elem_of_cons in Hin as [|Hin]; [done|]. cbn [length]. by rewrite <- IH. }
    rewrite E in *. by apply (count_less 0 (without t l)).
  Qed.

  Theorem notify_next_waiter_timed n b w c o u l f m : 0 <= n < NUM_NOTIFICATION -> Z.of_nat (length (u :: l)) <= NUM_THREAD ->
    (fields_are n (standing b w (Z.of_nat (length (u :: l))) c o) ∗ queue_rep (QueueState {[queue_id n := u :: l]} f)) m ->
    timed "notify_next_waiter" [n] m (fun v m' => v = 0 /\
      (fields_are n (standing b u (Z.of_nat (length l)) c o) ∗ queue_rep (QueueState {[queue_id n := l]} ({[u]} ∪ f))) m').
  Proof using HM HQ.
    intros Hn Hlen Hm. enter notify_next_waiter_code. timed_step. apply both_comm in Hm.
    eapply during_call_part; [etrans; [evaluate|by rewrite queue_number]|exact Hm| |].
    { intros d Hd. apply triple_timed. exact (queue_dequeue_triple kernel_entry M this HQ _ _ _ _ _ Hd (one_dequeue _ u l f)). }
    clear m Hm. intros v m [-> Hm%both_comm]%both_pure_left. locals_simpl. timed_step. word Hm. read_word Hm "waiters"%string. word Hm.
    rewrite count_less in Hm by done. split; [done|exact Hm].
  Qed.

  (** The thread that stood in the notification is out, with its node and what it gave. *)
  Lemma served n saved x t l m : notify_valid x -> waiters x = t :: l -> t ∉ l ->
    (fields_are n (fields (notify_served x)) ∗ queue_rep (QueueState {[queue_id n := tail l]} ({[t]} ∪ queue_free (line n l))) ∗
      waits saved t ∗ each (waits saved) l) m -> (notify_rep n saved (notify_served x) ∗ waits saved t ∗ free_node t) m.
  Proof using.
    intros Hv El Ht Hm.
    assert ((free_node t ∗ fields_are n (fields (notify_served x)) ∗ queue_rep (line n l) ∗ waits saved t ∗ each (waits saved) l) m) as H.
    { apply (both_find (fields_are n (fields (notify_served x))) (queue_rep (QueueState {[queue_id n := tail l]} ({[t]} ∪ queue_free (line n l))) ∗
        waits saved t ∗ each (waits saved) l)); [|exact Hm]. intros d Hd. apply both_flat. eapply both_mono; [|exact (fun d H => H)|exact Hd].
      intros e He. apply node_given; [|exact He]. destruct l; cbn; [apply not_elem_of_empty|]. intros ->%elem_of_singleton. apply Ht. by left. }
    assert (((fields_are n (fields (notify_served x)) ∗ queue_rep (line n l) ∗ each (waits saved) l) ∗ waits saved t ∗ free_node t) m) as H'.
    { apply both_assoc3. permute H. }
    eapply both_mono; [|exact (fun d H => H)|exact H']. intros d Hd. split; [by apply notify_served_valid|]. cbn [notify_served set_waiters waiters]. by rewrite El.
  Qed.
  Theorem notify_dequeue_timed n saved x m : 0 <= n < NUM_NOTIFICATION -> notify_rep n saved x m ->
    timed "notify_dequeue" [n] m (fun v m' => v = notify_first x /\
      match waiters x with
      | [] => notify_rep n saved x m'
      | t :: _ => (notify_rep n saved (notify_served x) ∗ waits saved t ∗ free_node t) m'
      end).
  Proof using HM HQ.
    intros Hn Hm. destruct (notify_threads _ _ _ _ _ (with_nothing _ _ Hm)) as (Hnd & Hb & Hlen). destruct Hm as [Hv Hm]. enter notify_dequeue_code.
    read_word Hm "waiter"%string. do 4 timed_step.
    unfold notify_first in *. destruct (waiters x) as [|t l] eqn:El.
    - cbn [first_or]. rewrite Z.eqb_refl. cbn [negb]. repeat timed_step. split; [done|]. split; [done|]. by rewrite El.
    - apply Forall_cons in Hb as [Ht _]. apply NoDup_cons in Hnd as [Hnt _]. cbn [first_or]. change 4294967295 with NONE.
      rewrite (proj2 (Z.eqb_neq t NONE)) by (by apply thread_not_none). cbn [negb].
      pose proof (notify_served_valid x Hv) as Hv'. unfold fields, notify_first in Hm. rewrite El in Hm. cbn [first_or tail] in Hm.
      timed_step. word Hm. read_word Hm "waiters"%string. timed_step. destruct l as [|u l].
      + change (Z.of_nat (length []) =? 0) with true. cbn [negb]. do 2 timed_step. split; [done|].
        apply (served n saved x t []); [done..|]. unfold fields, notify_served, notify_first. rewrite El.
        cbn [queue_free line]. rewrite (right_id_L ∅ (∪)). exact Hm.
      + rewrite (proj2 (Z.eqb_neq _ 0)) by (cbn [length]; lia). cbn [negb].
        eapply during_call_part; [evaluate|apply both_assoc; exact Hm|intros d Hd; eapply (notify_next_waiter_timed n _ _ _ _ u l);
          [done|cbn [length] in *; lia|exact Hd]|].
        clear m Hm E m0 E0. intros v m [_ Hm%both_flat]%both_pure_left. locals_simpl. timed_step. split; [done|].
        apply (served n saved x t (u :: l)); [done..|]. unfold fields, notify_served, notify_first. rewrite El.
        cbn [queue_free line waiters set_waiters tail first_or].
        rewrite (comm_L (∪)). exact Hm.
  Qed.

  (** A thread that begins to wait is the last in the queue. *)
  Theorem notify_enqueue_timed n saved x t m : 0 <= n < NUM_NOTIFICATION -> pending x = 0 -> (notify_rep n saved x ∗ waits saved t ∗ free_node t) m ->
    timed "notify_enqueue" [n; t] m (fun v m' => v = 0 /\ notify_rep n saved (notify_joined x t) m').
  Proof using HM HQ.
    intros Hn Hp Hm. destruct (notify_threads _ _ _ _ _ Hm) as (Hnd & Hb & Hlen). apply notify_parts in Hm as [Hv Hm].
    pose proof (notify_joined_valid x t Hv Hp) as Hv'. enter notify_enqueue_code. read_word Hm "waiter"%string. timed_step. unfold notify_first in E.
    assert ((fields_are n (fields x) ∗ (free_node t ∗ queue_rep (line n (waiters x))) ∗ each (waits saved) (waiters x) ∗ waits saved t) m) as H.
    { eapply both_mono; [exact (fun d H => H)| |exact Hm]. intros d Hd. apply both_assoc. permute Hd. }
    clear Hm. rename H into Hm. unfold notify_first. destruct (waiters x) as [|u l] eqn:El.
    - cbn [first_or]. rewrite Z.eqb_refl. word Hm. split; [done|]. apply alone, notify_whole; [done|].
      unfold fields, notify_first in *. cbn [notify_joined set_waiters waiters pending watcher opened]. rewrite El in *.
      eapply both_mono; [exact (fun d H => H)| |exact Hm].
      intros d. apply both_mono.
      + intros e (_ & _ & He)%node_taken. cbn [line app tail] in *. rewrite (right_id_L ∅ (∪)) in He. exact He.
      + intros e He. apply with_nothing. by apply each_join.
    - apply Forall_cons in Hb as [Hu _]. cbn [first_or]. change 4294967295 with NONE. rewrite (proj2 (Z.eqb_neq u NONE)) by (by apply thread_not_none).
      timed_step. apply (both_find (fields_are n (fields x)) _ _ _ _ (fun d H => H)) in Hm.
      eapply during_call_part; [etrans; [evaluate|by rewrite queue_number]|exact Hm| |].
      { intros d (Ht & _ & Hd)%node_taken. apply triple_timed. exact (queue_enqueue_triple kernel_entry M this HQ _ _ _ _ _ _ Hd (one_enqueue _ t l {[u]} Ht)). }
      clear m Hm E. intros v m [-> Hm]%both_pure_left. locals_simpl. apply (both_find _ _ _ _ _ (fun d H => H)) in Hm. read_word Hm "waiters"%string. word Hm.
      split; [done|]. apply alone, notify_whole; [done|]. unfold fields, notify_first in *.
      cbn [notify_joined set_waiters waiters pending watcher opened]. rewrite El in *.
      rewrite count_more in Hm by (cbn [tail length] in *; lia). change (u :: l) with ([u] ++ l) in *. rewrite <- (assoc_L (++)). cbn [app tail first_or line] in *.
      rewrite (app_length l [t]), Nat2Z.inj_add. change (Z.of_nat (length [t])) with 1. eapply both_mono; [exact (fun d H => H)| |exact Hm]. intros d.
      apply both_mono; [done|]. intros e He. apply with_nothing. by apply (each_join _ (u :: l)).
  Qed.

  Theorem notify_remove_timed n saved x t m : 0 <= n < NUM_NOTIFICATION -> t ∈ waiters x -> notify_rep n saved x m ->
    timed "notify_remove" [n; t] m (fun v m' => v = 0 /\ (notify_rep n saved (notify_ended x t) ∗ waits saved t ∗ free_node t) m').
  Proof using HM HQ.
    intros Hn Hin Hm. destruct (notify_threads _ _ _ _ _ (with_nothing _ _ Hm)) as (Hnd & Hb & Hlen). pose proof Hm as [Hv Hp]. enter notify_remove_code.
    read_word Hp "waiter"%string. timed_step. unfold notify_first in *. destruct (Z.eqb_spec (first_or NONE (waiters x)) t) as [Ef|Ef].
    - eapply during_call_whole; [evaluate|by apply notify_dequeue_timed|]. intros v m' [_ H]. split; [done|].
      destruct (waiters x) as [|u l] eqn:El; [by apply elem_of_nil in Hin|]. cbn [first_or] in Ef. subst u.
      replace (notify_ended x t) with (notify_served x); [exact H|]. unfold notify_ended, notify_served. rewrite El. cbn [without tail]. by rewrite Z.eqb_refl.
    - timed_step. destruct (waiters x) as [|u l] eqn:El; [by apply elem_of_nil in Hin|]. cbn [first_or] in Ef.
      apply elem_of_cons in Hin as [->|Hin]; [done|]. unfold fields in Hp. rewrite El in Hp. cbn [tail line] in Hp.
      apply (both_find _ _ _ _ _ (fun d H => H)) in Hp. eapply during_call_part; [evaluate|exact Hp| |].
      { intros d Hd. apply triple_timed. exact (queue_remove_triple kernel_entry M this HQ _ _ _ _ _ Hd (one_remove _ t l _ (proj1 Hd) Hin)). }
      clear m Hm Hp E. intros v m [_ Hm]%both_pure_left. locals_simpl. apply (both_find _ _ _ _ _ (fun d H => H)) in Hm.
      read_word Hm "waiters"%string. word Hm. split; [done|].
      assert ((notify_rep n saved (notify_ended x t) ∗ waits saved t ∗ free_node t) m0) as H; [|exact H].
      apply notify_whole; [by apply notify_ended_valid|]. unfold fields, notify_first in *.
      cbn [notify_ended set_waiters waiters pending watcher opened]. rewrite El in *.
      change 4294967295 with NONE in *. cbn [without] in *. rewrite (proj2 (Z.eqb_neq u t)) in * by done. cbn [tail first_or line] in *.
      rewrite (without_length l t Hin) in Hm by (cbn [length] in Hlen; lia).
      assert (forall d, each (waits saved) (u :: l) d -> (waits saved t ∗ each (waits saved) (u :: without t l)) d) as Hleave.
      { intros d Hd. pose proof (each_leave _ _ t _ ltac:(by right) Hd) as H. cbn [without] in H. by rewrite (proj2 (Z.eqb_neq u t)) in H. }
      assert (forall d, queue_rep (QueueState {[queue_id n := without t l]} ({[t]} ∪ {[u]})) d ->
        (free_node t ∗ queue_rep (QueueState {[queue_id n := without t l]} {[u]})) d) as Hgive.
      { intros d. apply node_given. by intros ->%elem_of_singleton. }
      eapply both_mono in Hm; [|exact (fun d H => H)|intros d H; eapply both_mono; [exact Hgive|exact Hleave|exact H]].
      apply (both_find _ _ _ _ _ (fun d H => H)), both_flat in Hm. permute Hm.
  Qed.

  (** The outcome of a wait stands in the saved registers. *)
  Lemma wait_state_set t kind rax rdi d x v k' a' b' : wait_state t kind rax rdi d ->
    x = wait_kind t /\ k' = v /\ a' = rax /\ b' = rdi \/ x = register_cell t UCTX_RAX /\ k' = kind /\ a' = v /\ b' = rdi \/
      x = register_cell t UCTX_RDI /\ k' = kind /\ a' = rax /\ b' = v ->
    is_Some (d !! x) /\ wait_state t k' a' b' (<[x := v]> d).
  Proof using.
    intros (Hx & Hk & Ha & Hb) H.
    assert (x ∈ [wait_kind t; register_cell t UCTX_RAX; register_cell t UCTX_RDI]) as Hin
      by (destruct H as [(-> & _)|[(-> & _)|(-> & _)]]; [by left|right; by left|right; right; by left]).
    split; [by apply Hx|]. split; [by apply exactly_write|]. unfold wait_kind, register_cell, field_cell, UCTX_RAX, UCTX_RDI in *.
    destruct H as [(-> & -> & -> & ->)|[(-> & -> & -> & ->)|(-> & -> & -> & ->)]]; by look.
  Qed.
  Theorem notify_end_triple t kind rax rdi status d : 0 <= status < 2 ^ 64 -> wait_state t kind rax rdi d ->
    triple "notify_end" [t; status] d (fun v d' => v = 0 /\ wait_state t WAIT_NONE status rdi d').
  Proof using HM HT HU HR.
    intros Hs Hd. eapply triple_owned; [by apply HM|done|]. unfold notify_end_code. locals_simpl. step.
    destruct (wait_state_set t kind rax rdi d (register_cell t UCTX_RAX) status kind status rdi Hd) as [H1 Hd1]; [naive_solver|].
    eapply owned_call_whole; [evaluate|apply (uctx_set_triple kernel_entry M this HU HR); exact H1|]. intros v d1 [_ ->]. locals_simpl.
    change (kept 0 (wrap W64 status)) with (wrap W64 status). replace (wrap W64 status) with status by (symmetry; apply Z.mod_small; exact Hs).
    destruct (wait_state_set t kind status rdi _ (wait_kind t) WAIT_NONE WAIT_NONE status rdi Hd1) as [H2 Hd2]; [naive_solver|].
    eapply owned_call_whole; [evaluate|apply (thread_end_wait_triple kernel_entry M this HT); exact H2|]. by intros w d2 [_ ->].
  Qed.
End proof.

(** There are cells from which start-up makes notifications: the theorems are not vacuous. *)
Theorem notify_initial_cells : exists d, exactly all_cells d.
Proof.
  set (cells := seqZ 0 NUM_NOTIFICATION ≫= fun n => field_cell "notification" n <$> field_names). exists (memory (fun _ => 0) cells). intros x.
  rewrite memory_dom. unfold cells, all_cells. rewrite elem_of_list_bind.
  split; intros (n & H1 & H2); exists n; rewrite elem_of_seqZ in *; (split; [lia|done]) || (split; [done|lia]).
Qed.
