(** A client that keeps the requirements, VII: its chapters, call by call. *)
From Ashlar Require Export witness.Calls.

(** Shares as they are defined before the CPUs begin: number [c] is from one process of CPU [c] to the other. *)
Definition shares_defined : share_state :=
  foldr (fun c s => match share_define s (own_share c) (mine c) (helper c) with Some (_, s') => s' | None => s end) share_initial (seq 0 16).
Lemma shares_defined_valid : share_valid shares_defined.
Proof.
  unfold shares_defined. induction (seq 0 16) as [|c l IH]; [apply share.Invariant.share_initial_valid|]. cbn [foldr].
  destruct (share_define _ _ _ _) as [[v s']|] eqn:E; [|done]. by eapply share_define_valid.
Qed.
Lemma shares_defined_from c i x : (c < 16)%nat -> share.Spec.shares shares_defined !! i = Some x -> works c (from x) -> i = own_share c.
Proof.
  intros Hc Hi Hw.
  assert (H : forallb (fun i => match share.Spec.shares shares_defined !! i with
    | Some x => from x =? if i <? 16 then 2 * i else NONE | None => false end) (seqZ 0 NUM_SHARE) = true) by (vm_compute; reflexivity).
  assert (Hr : 0 <= i < NUM_SHARE) by (apply (valid_share _ shares_defined_valid); by exists x).
  rewrite forallb_forall in H. specialize (H i). rewrite Hi in H.
  assert (Hin : In i (seqZ 0 NUM_SHARE)) by (apply elem_of_list_In, elem_of_seqZ; lia). specialize (H Hin). apply Z.eqb_eq in H.
  unfold works, mine, helper, own_share, NONE in *. destruct (Z.ltb_spec i 16); lia.
Qed.

(** The ready queues of a CPU at the start, and after a thread is parked, where each round of calls ends. *)
Definition ready_begin (c : nat) : ready := ready_at_start (Z.of_nat c).
Definition ready_parked (c : nat) : ready :=
  default (ready_begin c) (queue_steps c [("sched_ready_park"%string, [QUEUE_PARKED_BASE + Z.of_nat c; own_thread (Z.of_nat c) 7])] (ready_begin c)).
Definition queues_return (c : nat) : bool :=
  match queue_step c "sched_ready_park" [QUEUE_PARKED_BASE + Z.of_nat c; own_thread (Z.of_nat c) 7] (ready_begin c),
        queue_steps c (queue_calls c) (ready_parked c) with
  | Some _, Some r =>
      bool_decide (queue_lists (ready_queues r) = queue_lists (ready_queues (ready_parked c))) &&
      bool_decide (queue_free (ready_queues r) = queue_free (ready_queues (ready_parked c))) &&
      bool_decide (ready_threads r = ready_threads (ready_parked c))
  | _, _ => false
  end.
Lemma queues_return_all : forallb queues_return (seq 0 16) = true.
Proof. vm_cast_no_check (eq_refl true). Qed.
Lemma queues_returned c : (c < 16)%nat ->
  (exists v, queue_step c "sched_ready_park" [QUEUE_PARKED_BASE + Z.of_nat c; own_thread (Z.of_nat c) 7] (ready_begin c) = Some (v, ready_parked c)) /\
  queue_steps c (queue_calls c) (ready_parked c) = Some (ready_parked c).
Proof.
  intros Hc. pose proof queues_return_all as H. rewrite forallb_forall in H. specialize (H c).
  assert (Hin : In c (seq 0 16)) by (apply in_seq; lia). specialize (H Hin). unfold queues_return in H.
  destruct (queue_step _ _ _ _) as [[v r1]|] eqn:E; [|done]. destruct (queue_steps c (queue_calls c) _) as [r2|]; [|done]. split.
  - exists v. f_equal. f_equal. unfold ready_parked. cbn [queue_steps]. by rewrite E.
  - apply andb_prop in H as [[H1%bool_decide_eq_true H2%bool_decide_eq_true]%andb_prop H3%bool_decide_eq_true].
    destruct r2 as [[l2 f2] t2], (ready_parked c) as [[l f] t]. cbn in *. by subst.
Qed.

Section client.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (root_quota_word : 0 <= root_quota < 2 ^ 32).
  Context (frames_start : frame_memory) (frames_start_valid : frame_memory_valid frames_start).
  (** At the start no process owns a frame. *)
  Context (frames_unowned : owners (table frames_start) = ∅).
  Context (ncpu : nat) (cpus : Z.of_nat ncpu <= NUM_CPU).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_defined).
  Notation specification := (kernel_top kernel_entry root_quota frames_start shares_defined).
  Notation with_owned := (with_owned kernel_entry root_quota frames_start shares_defined).
  Notation quiet := (quiet kernel_entry root_quota frames_start shares_defined).
  Notation K := (K kernel_entry root_quota frames_start shares_defined).
  Notation home_knows := (home_knows kernel_entry root_quota frames_start shares_defined).
  Notation with_ready := (with_ready kernel_entry root_quota frames_start shares_defined).

  (** What a CPU holds between its calls. *)
  Definition idle (c : nat) (r : ready) : objects X := kernel_start kernel_entry root_quota frames_start shares_defined (fun _ => r) c.
  Definition at_rest (c : nat) (x : share) : Prop := from x = mine c /\ to x = helper c /\ offered x = NONE.
  Definition ready_of (c : nat) (l : label) : ready := match l with Begins => ready_begin c | _ => ready_parked c end.
  Definition home (c : nat) (l : label) (a : objects X) (st : states X) : Prop :=
    exists m F s x, a = idle c (ready_of c l) /\ books c 0 m F /\ fits c s F /\ at_rest c x /\ K c m F (home_knows c s x) st.

  Lemma idle_quiet c r : quiet (idle c r) ∅.
  Proof. unfold Frames.quiet, idle, kernel_start. rewrite !lookup_insert_ne by done. split; [by rewrite lookup_singleton_ne|].
    split; [by rewrite lookup_singleton_ne|]. apply lookup_insert. Qed.
  Lemma idle_shares c r : idle c r !! Objects.Shares = None.
  Proof. unfold idle, kernel_start. rewrite lookup_insert_ne by done. by apply lookup_singleton_ne. Qed.
  Lemma idle_containers c r : idle c r !! Containers = None.
  Proof. apply idle_quiet. Qed.
  Lemma idle_ready c r : idle c r !! ReadyQueues = Some (ReadyState (Z.of_nat c) r).
  Proof. unfold idle, kernel_start. rewrite lookup_insert_ne by done. apply lookup_singleton. Qed.
  Lemma idle_with_ready c r r' : with_ready c r' (idle c r) = idle c r'.
  Proof. unfold idle, kernel_start, Calls.with_ready. rewrite insert_commute by done. f_equal. apply insert_singleton. Qed.
  Lemma idle_owned c r : with_owned ∅ (idle c r) = idle c r.
  Proof. apply with_owned_id, idle_quiet. Qed.
  Hint Resolve idle_quiet idle_shares idle_containers idle_ready : core.

  Section chapters.
    Context (c : nat) (cpu : (c < ncpu)%nat).
    Notation does := (does X may specification home c).
    Notation p := (mine c).
    Notation q := (helper c).
    Notation books := (books c 0).
    Lemma not_root : mine c < NUM_PROCESS - 1.
    Proof using cpus cpu. unfold mine, NUM_PROCESS, NUM_CPU in *. lia. Qed.
    Lemma cpu_range : (c < 16)%nat.
    Proof using cpus cpu. unfold NUM_CPU in *. lia. Qed.
    Hint Resolve not_root mine_works helper_works Z.le_refl : core.
    Context (r : ready).
    Notation a := (idle c r).

    Lemma leads_does v l m F s x : r = ready_of c l -> books m F -> fits c s F -> at_rest c x ->
      does (leads v l) a (K c m F (home_knows c s x)).
    Proof using cpus cpu.
      intros -> Hb Hf Hx. apply does_show; [by apply home_stable|]. apply does_jump; [by apply home_stable|].
      intros st Hst. by exists m, F, s, x.
    Qed.
    Lemma parked_leads v m F s x : books m F -> fits c s F -> at_rest c x ->
      does (leads v OnContainers) (idle c (ready_parked c)) (K c m F (home_knows c s x)).
    Proof using cpus cpu.
      intros Hb Hf Hx. apply does_show; [apply home_stable; auto|]. apply does_jump; [apply home_stable; auto|].
      intros st Hst. by exists m, F, s, x.
    Qed.
    (** A frame is there, and after its use it is freed again: what is known of frames is what was known before. *)
    Lemma free_again f k m F s x : books m (<[f := (only p, false)]> F) -> F !! f = None ->
      (forall m', books m' F -> does k a (K c m' F (home_knows c s x))) ->
      does (calls "frame_remove_owner" [f; p] k) a (K c m (<[f := (only p, false)]> F) (home_knows c s x)).
    Proof using cpus cpu.
      intros Hb HF Hk. eapply (does_remove_owner _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [auto|auto|exact Hb|apply lookup_insert| |done|].
      { by rewrite only_bit, Z.eqb_refl by (unfold mine; lia). }
      intros v m'. cbv iota. rewrite with_owned_id by auto. unfold removed. rewrite Z.eqb_refl, delete_insert by done. apply Hk.
    Qed.
    Lemma with_frame_does use k m F s x : books m F ->
      (forall m', books m' F -> does k a (K c m' F (home_knows c s x))) ->
      (forall f m', 0 <= f < NUM_FRAME -> F !! f = None -> books m' (<[f := (only p, false)]> F) ->
         does (use f (calls "frame_remove_owner" [f; p] k)) a (K c m' (<[f := (only p, false)]> F) (home_knows c s x))) ->
      does (with_frame c use k) a (K c m F (home_knows c s x)).
    Proof using cpus cpu.
      intros Hb Hk Hu. unfold with_frame. eapply (does_alloc _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [auto|exact Hb|done| |].
      - intros v m' Hv Hb'. rewrite (proj2 (Z.ltb_ge _ _)) by lia. by apply Hk.
      - intros f m' Hf HF Hb'. rewrite (proj2 (Z.ltb_lt _ _)) by lia. by apply Hu.
    Qed.
    Lemma with_private_frame_does k m F s x : books m F -> (forall m', books m' F -> does k a (K c m' F (home_knows c s x))) ->
      does (with_private_frame c k) a (K c m F (home_knows c s x)).
    Proof using cpus cpu.
      intros Hb Hk. unfold with_private_frame. eapply (does_alloc_private _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [auto|exact Hb| |].
      - intros v m' Hv Hb'. rewrite (proj2 (Z.ltb_ge _ _)) by lia. by apply Hk.
      - intros f m' Hf HF Hb'. rewrite (proj2 (Z.ltb_lt _ _)) by lia.
        eapply (does_remove_owner _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [apply (quiet_owned _ _ _ _ _ ∅); auto|auto|exact Hb'|apply lookup_insert| | |].
        + by rewrite only_bit, Z.eqb_refl by (unfold mine; lia).
        + intros _. split; [done|]. rewrite lookup_insert. by eexists.
        + intros v m2. cbv iota. rewrite with_owned_twice, delete_insert, idle_owned by done.
          unfold removed. rewrite Z.eqb_refl, delete_insert by done. apply Hk.
    Qed.
    (** The helper's part in a frame of both. *)
    Lemma helper_leaves f k m F s x : F !! f = None -> books m (<[f := (Z.lor (only p) (only q), false)]> (<[f := (only p, false)]> F)) ->
      (forall m', books m' (<[f := (only p, false)]> F) -> does k a (K c m' (<[f := (only p, false)]> F) (home_knows c s x))) ->
      does (calls "frame_remove_owner" [f; q] k) a
        (K c m (<[f := (Z.lor (only p) (only q), false)]> (<[f := (only p, false)]> F)) (home_knows c s x)).
    Proof using cpus cpu.
      intros HF Hb Hk. assert (Hp : 0 <= p) by (unfold mine; lia). assert (Hq : 0 <= q) by (unfold helper; lia).
      eapply (does_remove_owner _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [auto|auto|exact Hb|apply lookup_insert| |done|].
      { rewrite Z.lor_spec, !only_bit by done. rewrite Z.eqb_refl. apply orb_true_r. }
      intros v m'. cbv iota. rewrite with_owned_id by auto. unfold removed.
      assert (Hne : p <> q) by (unfold mine, helper; lia).
      rewrite (proj2 (Z.eqb_neq (Z.lor (only p) (only q)) (only q))).
      2: { intros E. assert (Z.testbit (Z.lor (only p) (only q)) p = Z.testbit (only q) p) as E' by (by rewrite E).
           rewrite Z.lor_spec, !only_bit in E' by done. rewrite Z.eqb_refl, (proj2 (Z.eqb_neq q p)) in E' by done. done. }
      assert (Z.ldiff (Z.lor (only p) (only q)) (only q) = only p) as ->.
      { apply Z.bits_inj'. intros n Hn. rewrite Z.ldiff_spec, Z.lor_spec, !only_bit by done.
        destruct (Z.eqb_spec p n), (Z.eqb_spec q n); try done. congruence. }
      rewrite !insert_insert. apply Hk.
    Qed.

    Lemma begins_does m F s x : r = ready_begin c -> books m F -> fits c s F -> at_rest c x ->
      does (begins c) a (K c m F (home_knows c s x)).
    Proof using cpus cpu.
      intros E Hb Hf Hx. unfold begins.
      assert (Hend : forall m', books m' F -> does
        (calls "sched_ready_park" [QUEUE_PARKED_BASE + Z.of_nat c; own_thread (Z.of_nat c) 7] (leads 0 OnContainers))
        a (K c m' F (home_knows c s x))).
      { intros m' Hb'. destruct (queues_returned c cpu_range) as [[v Hv] _]. rewrite E.
        eapply (does_queue_step _ _ _ _ _ c not_root); [auto|exact Hv|done|]. rewrite idle_with_ready. by apply parked_leads. }
      assert (Hpriv : forall m', books m' F -> does (with_private_frame c (
        calls "sched_ready_park" [QUEUE_PARKED_BASE + Z.of_nat c; own_thread (Z.of_nat c) 7] (leads 0 OnContainers)))
        a (K c m' F (home_knows c s x))).
      { intros m' Hb'. by apply with_private_frame_does. }
      apply with_frame_does; [exact Hb|exact Hpriv|]. intros f m' Hff HF Hb'. by apply free_again.
    Qed.

    Context (parked : r = ready_parked c).
    Lemma containers_does m F s x : books m F -> fits c s F -> at_rest c x -> does (on_containers c) a (K c m F (home_knows c s x)).
    Proof using cpus cpu parked.
      intros Hb Hf Hx. unfold on_containers.
      do 4 (eapply (does_split _ _ _ _ _ c not_root 0); [auto|auto|lia|eassumption|]; clear m Hb; intros ? m Hb).
      do 2 (eapply (does_merge _ _ _ _ _ c not_root 0); [auto|auto|eassumption|]; clear m Hb; intros ? m Hb).
      eapply (does_split _ _ _ _ _ c not_root 0); [auto|auto|lia|eassumption|]. clear m Hb. intros ? m Hb.
      do 2 (eapply (does_read _ _ _ _ _ c not_root); [reflexivity|reflexivity|auto|auto|]; intros ?).
      assert (Hend : forall m', books m' F -> does (calls "container_usage" [p] (Invoke "container_own_usage" [p] (fun n => leads n OnFrames)))
        a (K c m' F (home_knows c s x))).
      { intros m' Hb'. do 2 (eapply (does_read _ _ _ _ _ c not_root); [reflexivity|reflexivity|auto|auto|]; intros ?). by apply leads_does. }
      assert (Hthree : forall m', books m' F -> does (Invoke "container_charge" [p; 3] (fun v =>
        (if v =? STATUS_OK then calls "container_refund" [p; 3] else fun k => k) (
        calls "container_usage" [p] (Invoke "container_own_usage" [p] (fun n => leads n OnFrames))))) a (K c m' F (home_knows c s x))).
      { intros m' Hb'. eapply (does_charge _ _ _ _ _ c not_root 0); [auto|lia|exact Hb'| |].
        - intros v' Hv. rewrite (proj2 (Z.eqb_neq v' STATUS_OK)) by done. by apply Hend.
        - intros m2 Hb2. change (STATUS_OK =? STATUS_OK) with true. cbv iota.
          eapply (does_refund _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [auto|lia|exact Hb2|]. exact Hend. }
      eapply (does_charge _ _ _ _ _ c not_root 0); [auto|lia|exact Hb|intros v' Hv; by apply Hthree|].
      intros m2 Hb2. apply Hthree. destruct Hb2 as [H1 H2]. split; [|done]. intros t Ht. destruct (H1 t Ht) as (y & Hy & Hn & Hp).
      exists y. split; [done|]. split; [|done]. destruct (t =? p); lia.
    Qed.

    Lemma frames_does m F s x : books m F -> fits c s F -> at_rest c x -> does (on_frames c) a (K c m F (home_knows c s x)).
    Proof using cpus cpu parked.
      intros Hb Hf Hx. unfold on_frames.
      eapply (does_owners _ _ _ _ _ c not_root); [auto|done|]. intros _. eapply (does_state _ _ _ _ _ c not_root); [auto|done|]. intros _.
      apply (does_no_frame _ _ _ _ _ c not_root); [auto|]. apply (does_no_frame _ _ _ _ _ c not_root); [auto|].
      assert (Hend : forall m', books m' F -> does (Invoke "frame_free_count" [] (fun n => leads n OnShares)) a (K c m' F (home_knows c s x))).
      { intros m' Hb'. eapply (does_free_count _ _ _ _ _ c not_root); [auto|]. intros n. by apply leads_does. }
      apply with_private_frame_does; [exact Hb|]. clear m Hb. intros m Hb.
      apply with_frame_does; [exact Hb|exact Hend|]. clear m Hb. intros f m Hff HF Hb.
      assert (Hfree : forall m', books m' (<[f := (only p, false)]> F) -> does (calls "frame_remove_owner" [f; p]
        (Invoke "frame_free_count" [] (fun n => leads n OnShares))) a (K c m' (<[f := (only p, false)]> F) (home_knows c s x))).
      { intros m' Hb'. by apply free_again. }
      apply does_show; [apply home_stable; auto|].
      eapply (does_owners _ _ _ _ _ c not_root); [auto|lia|]. intros _. eapply (does_state _ _ _ _ _ c not_root); [auto|lia|]. intros _.
      assert (Hboth : forall m', books m' (<[f := (only p, false)]> F) -> does (Invoke "frame_add_owner" [f; q] (fun v =>
        if v =? STATUS_OK then calls "frame_remove_owner" [f; q] (calls "frame_remove_owner" [f; p]
        (Invoke "frame_free_count" [] (fun n => leads n OnShares))) else (calls "frame_remove_owner" [f; p]
        (Invoke "frame_free_count" [] (fun n => leads n OnShares))))) a (K c m' (<[f := (only p, false)]> F) (home_knows c s x))).
      { intros m' Hb'. eapply (does_add_owner _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [auto|auto|exact Hb'|apply lookup_insert| |].
        - intros v m2 Hv Hb2. rewrite (proj2 (Z.eqb_neq v STATUS_OK)) by done. by apply Hfree.
        - intros m2 _ Hb2. change (STATUS_OK =? STATUS_OK) with true. cbv iota. by apply helper_leaves. }
      eapply (does_add_owner _ _ _ _ _ c not_root 0 (Z.le_refl 0)); [auto|auto|exact Hb|apply lookup_insert| |].
      - intros v m2 Hv Hb2. by apply Hboth.
      - intros m2 Hbit. rewrite only_bit, Z.eqb_refl in Hbit by (unfold mine; lia). done.
    Qed.

    (** The share is at rest, or frame [f] is on offer. *)
    Definition offers_frame (f : Z) (x : share) : Prop := from x = p /\ to x = q /\ (offered x = NONE \/ offered x = f).
    Lemma offers_next f x x' : offers_frame f x -> from x' = from x -> to x' = to x -> x' = x \/ x' = set_offered f x \/ x' = set_offered NONE x \/ offered x' = NONE ->
      offers_frame f x'.
    Proof using. intros (H1 & H2 & H3) Hf Ht Hx. split; [congruence|]. split; [congruence|]. destruct Hx as [->|[->|[->|H]]]; simpl; auto. Qed.
    Lemma ended_at_rest f x which : offers_frame f x -> which f = true -> at_rest c (share.Spec.without p which x).
    Proof using.
      intros (H1 & H2 & H3) Hw. unfold share.Spec.without, offers_by, at_rest. rewrite H1, Z.eqb_refl. cbn [andb].
      destruct (Z.eqb_spec (offered x) NONE) as [E|Hne]; cbn [negb andb]; [done|]. destruct H3 as [H3|H3]; [congruence|]. rewrite H3, Hw. done.
    Qed.
    Lemma at_rest_offers f x : at_rest c x -> offers_frame f x.
    Proof using. intros (H1 & H2 & H3). split; [done|]. split; [done|]. by left. Qed.
    Lemma shares_does m F s x : books m F -> fits c s F -> at_rest c x -> does (on_shares c) a (K c m F (home_knows c s x)).
    Proof using cpus cpu parked.
      intros Hb Hf Hx. unfold on_shares. pose proof Hx as (Hx1 & Hx2 & Hx3).
      assert (Hend : forall m' x', books m' F -> at_rest c x' ->
        does (Invoke "share_frame" [own_share c] (fun f => leads f OnQueues)) a (K c m' F (home_knows c s x'))).
      { intros m' x' Hb' Hx'. eapply (does_share_frame _ _ _ _ _ c not_root); [auto|]. intros v. by apply leads_does. }
      assert (Hw : forall m' x', books m' F -> at_rest c x' -> does (calls "share_withdraw" [own_share c; p] (
        with_frame c (fun f k =>
          calls "share_offer" [own_share c; q; f] (calls "share_offer" [own_share c; p; f] (
          calls "share_withdraw" [own_share c; p] (calls "share_offer" [own_share c; p; f] (
          Invoke "share_accept" [own_share c; q] (fun v =>
            calls "share_forget" [p; f] (
            (if v =? STATUS_OK then calls "frame_remove_owner" [f; q] else fun k => k) (
            calls "share_offer" [own_share c; p; f] (calls "share_process_ended" [p] k)))))))))
        (Invoke "share_frame" [own_share c] (fun f => leads f OnQueues)))) a (K c m' F (home_knows c s x'))).
      { clear m x Hb Hx Hx1 Hx2 Hx3. intros m x Hb Hx. pose proof Hx as (Hx1 & Hx2 & Hx3).
        eapply (does_withdraw _ _ _ _ _ c not_root); [auto|rewrite Hx1; auto|]. intros _ x1 E1 E2 E3.
        assert (H1 : at_rest c x1). { split; [congruence|]. split; [congruence|]. by destruct E3 as [-> | ->]. } clear E1 E2 E3 x Hx Hx1 Hx2 Hx3.
        apply with_frame_does; [exact Hb|intros; by apply Hend|]. clear m Hb. intros f m Hff HF Hb. apply (at_rest_offers f) in H1.
        eapply (does_offer _ _ _ _ _ c not_root); [auto|auto|auto|done|]. intros _ x2 E1 E2 E3.
        assert (H2 : offers_frame f x2) by (apply (offers_next f x1); [done|done|done|by destruct E3; auto]). clear E1 E2 E3 x1 H1.
        eapply (does_offer _ _ _ _ _ c not_root); [auto|auto|auto|done|]. intros _ x3 E1 E2 E3.
        assert (H3 : offers_frame f x3) by (apply (offers_next f x2); [done|done|done|by destruct E3; auto]). clear E1 E2 E3 x2 H2.
        eapply (does_withdraw _ _ _ _ _ c not_root); [auto|destruct H3 as [-> _]; auto|]. intros _ x4 E1 E2 E3.
        assert (H4 : offers_frame f x4) by (apply (offers_next f x3); [done|done|done|by destruct E3; auto]). clear E1 E2 E3 x3 H3.
        eapply (does_offer _ _ _ _ _ c not_root); [auto|auto|auto|done|]. intros _ x5 E1 E2 E3.
        assert (H5 : offers_frame f x5) by (apply (offers_next f x4); [done|done|done|by destruct E3; auto]). clear E1 E2 E3 x4 H4.
        assert (Hlast : forall m' x', books m' (<[f := (only p, false)]> F) -> at_rest c x' -> does (calls "share_offer" [own_share c; p; f]
          (calls "share_process_ended" [p] (calls "frame_remove_owner" [f; p]
          (Invoke "share_frame" [own_share c] (fun f => leads f OnQueues))))) a (K c m' (<[f := (only p, false)]> F) (home_knows c s x'))).
        { intros m' x' Hb' Hx'. apply (at_rest_offers f) in Hx'.
          eapply (does_offer _ _ _ _ _ c not_root); [auto|auto|auto|done|]. intros _ x6 E1 E2 E3.
          assert (H6 : offers_frame f x6) by (apply (offers_next f x'); [done|done|done|by destruct E3; auto]).
          eapply (does_process_ended _ _ _ _ _ c not_root); [auto|apply H6|]. intros _.
          apply free_again; [done|done|]. intros m2 Hb2. apply Hend; [done|]. by apply (ended_at_rest f). }
        assert (Hforget : forall x', offers_frame f x' -> at_rest c (share.Spec.without p (fun g => (f =? NONE) || (g =? f)) x')).
        { intros x' Hx'. apply (ended_at_rest f); [done|]. rewrite Z.eqb_refl. apply orb_true_r. }
        destruct H5 as (F1 & F2 & F3).
        eapply (does_accept _ _ _ _ _ c not_root 0 (Z.le_refl 0) _ (only p)); [auto|auto|auto|rewrite F1; auto|exact Hb| | |].
        - intros Hne. destruct F3 as [F3|F3]; [done|]. rewrite F3. apply lookup_insert.
        - intros v m2 x' Hv E1 E2 E3 Hb2. assert (H6 : offers_frame f x') by (apply (offers_next f x5); [done|done|done|by destruct E3; auto]).
          eapply (does_forget _ _ _ _ _ c not_root); [auto|apply H6|]. intros _. rewrite (proj2 (Z.eqb_neq v STATUS_OK)) by done.
          apply Hlast; [done|]. by apply Hforget.
        - intros m2 x' E1 E2 E3 Hbit HF' Hb2. assert (H6 : offers_frame f x') by (apply (offers_next f x5); [done|done|done|by destruct E3; auto]).
          assert (Ef : offered x5 = f).
          { destruct F3 as [F3|F3]; [exfalso|done]. rewrite F3 in HF'. apply (proj2 Hb) in HF' as [_ Hn]. clear -Hn.
            unfold NONE, NUM_FRAME in Hn. lia. }
          rewrite Ef in Hb2 |- *. eapply (does_forget _ _ _ _ _ c not_root); [auto|apply H6|]. intros _.
          change (STATUS_OK =? STATUS_OK) with true. cbv iota. apply helper_leaves; [done|done|]. intros m3 Hb3.
          apply Hlast; [done|]. by apply Hforget. }
      eapply (does_accept _ _ _ _ _ c not_root 0 (Z.le_refl 0) _ 0); [auto|auto|auto|rewrite Hx1; auto|exact Hb|done| |].
      - intros v m2 x' Hv E1 E2 E3 Hb2. apply Hw; [done|]. split; [congruence|]. split; [congruence|]. by destruct E3 as [->|].
      - intros m2 x' _ _ _ _ HF' _. destruct (proj2 Hb _ _ _ HF') as [_ Hn]. rewrite Hx3 in Hn. unfold NONE, NUM_FRAME in Hn. lia.
    Qed.
    Lemma queues_does m F s x : books m F -> fits c s F -> at_rest c x -> does (on_queues c) a (K c m F (home_knows c s x)).
    Proof using cpus cpu parked.
      intros Hb Hf Hx. unfold on_queues. destruct (queues_returned c cpu_range) as [_ Hq]. rewrite parked.
      eapply (does_queue_steps _ _ _ _ _ c not_root); [auto|exact Hq|]. rewrite idle_with_ready. by apply parked_leads.
    Qed.
  End chapters.

  Lemma home_careful c l a st : (c < ncpu)%nat -> home c l a st -> careful X may specification home c (chapter c l) a st.
  Proof using cpus.
    intros Hc (m & F & s & x & -> & Hb & Hf & Hx & Hst). revert st Hst. change (does X may specification home c (chapter c l)
      (idle c (ready_of c l)) (K c m F (home_knows c s x))).
    destruct l; [by apply begins_does|by apply containers_does|by apply frames_does|by apply shares_does|by apply queues_does].
  Qed.

  Lemma home_start c : (c < ncpu)%nat -> home c Begins (idle c (ready_begin c)) (fun k => obj_initial X <$> obj_of_lock X k).
  Proof using cpus frames_unowned.
    intros Hc. pose proof (cpu_range c Hc) as Hc'. exists (container_initial root_quota), ∅, pagemap.Spec.pagemap_absent.
    exists (Share (mine c) (helper c) NONE NONE). split; [done|]. split; [|split; [|split; [done|]]].
    - split; [|by intros f m b Hf; apply (lookup_empty_Some (M := gmap Z)) in Hf]. intros q Hq. exists absent.
      rewrite initial_lookup, decide_False, decide_True; [|pose proof (works_range c (not_root c Hc) q Hq); unfold ROOT; lia|
        by apply (works_not_root c (not_root c Hc))]. split; [done|]. split; [by destruct (_ =? _)|done].
    - assert (E1 : forall k, tables pagemap.Spec.pagemap_absent !! k = None) by (intros; apply lookup_empty).
      assert (E2 : forall n, leaves pagemap.Spec.pagemap_absent !! n = None) by (intros; apply lookup_empty).
      split; [intros k f Hf; congruence|]. split; [intros n e He; congruence|intros n n' e e' He; congruence].
    - split; [|split; [|split]].
      + exists (container_initial root_quota). by split.
      + exists frames_start. split; [done|]. intros f. unfold slice. rewrite frames_unowned.
        transitivity (@None (Z * bool)); [by rewrite lookup_empty|symmetry; apply lookup_empty].
      + unfold Knowledge.sees_map. cbn [obj_of_lock kernel_layout]. rewrite process_map_guards; [done|].
        unfold mine, NUM_PROCESS. lia.
      + exists shares_defined. split; [done|]. clear -Hc'. split.
        * do 16 (destruct c as [|c]; [vm_compute; reflexivity|]). lia.
        * intros i y. by apply shares_defined_from.
  Qed.

  Lemma start_not_held c k : not_held X (idle c (ready_begin c)) k.
  Proof.
    intros o Ho. apply eq_None_not_Some. intros Hs.
    by apply (kernel_start_holds kernel_entry root_quota frames_start shares_defined (fun _ => ready_begin c) c k o Ho), elem_of_nil in Hs.
  Qed.
  Theorem workers_never_wrong :
    never_wrong ncpu (top_layer X) (system workers (top_engine X specification)) (fun c => Idle (workers_start c) (idle c (ready_begin c))).
  Proof using root_quota_word frames_start_valid frames_unowned cpus.
    apply (scripts_never_wrong chapter X may specification home ncpu kernel_one_lock
      (kernel_initial_valid root_quota root_quota_word frames_start frames_start_valid shares_defined shares_defined_valid)
      (fun c => idle c (ready_begin c)) start_not_held (fun _ => Begins)).
    - exact home_careful.
    - exact home_start.
  Qed.
End client.
