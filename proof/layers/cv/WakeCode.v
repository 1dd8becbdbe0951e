(** Condition variables: the C that blocks, wakes and cancels, what only reads, and start-up. *)
From Ashlar Require Export layers.cv.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** The marks of a state *)
Lemma mark_of (f : waiter -> bool) s w : cv_valid s -> w ∈ s -> existsb (fun u => (thread u =? thread w) && f u) s = f w.
Proof.
  unfold cv_valid, threads. intros [Hn _] (s1 & s2 & ->)%elem_of_list_split. rewrite fmap_app, fmap_cons in Hn.
  apply NoDup_app in Hn as (_ & Hd & [Hw _]%NoDup_cons).
  assert (forall s : list waiter, thread w ∉ thread <$> s -> existsb (fun u => (thread u =? thread w) && f u) s = false) as Hno.
  { induction s as [|u s IH]; [done|]. rewrite fmap_cons. intros [Hne Hs]%not_elem_of_cons. simpl.
    rewrite (proj2 (Z.eqb_neq (thread u) (thread w))) by congruence. auto. }
  rewrite existsb_app. simpl. rewrite !Hno, Z.eqb_refl; [by destruct (f w)|done|]. intros H. apply (Hd _ H). by left.
Qed.
Lemma wake_ready s t : cv_blocked s t = false -> cv_wake s t = s.
Proof.
  unfold cv_blocked, cv_wake, change. induction s as [|w s IH]; [done|]. simpl. intros [Hw Hs]%orb_false_iff. apply (f_equal2 cons); [|exact (IH Hs)].
  destruct (thread w =? t); [by apply unblock_ready|done].
Qed.
Lemma wake_head w s : cv_valid (w :: s) -> cv_wake (w :: s) (thread w) = cv_wake_first (w :: s).
Proof.
  unfold cv_valid, threads, cv_wake, change. rewrite !fmap_cons, Z.eqb_refl. intros [[Hw _]%NoDup_cons _]. apply (f_equal2 cons); [done|].
  induction s as [|u s IH]; [done|]. rewrite fmap_cons in *. apply not_elem_of_cons in Hw as [Hne Hs]. apply (f_equal2 cons); [|exact (IH Hs)].
  by rewrite (proj2 (Z.eqb_neq (thread u) (thread w))).
Qed.
Lemma wake_cancelled s t : cv_wake (change cancel t s) t = cv_cancel s t.
Proof.
  unfold cv_wake, cv_cancel, change. rewrite <- list_fmap_compose. apply list_fmap_ext. intros _ w _. simpl.
  destruct (thread w =? t) eqn:E; simpl; by rewrite E.
Qed.
Lemma blocked_cancel s t : cv_blocked (change cancel t s) t = cv_blocked s t.
Proof. unfold cv_blocked, change. induction s as [|w s IH]; [done|]. simpl. apply (f_equal2 orb); [|exact IH]. by destruct (thread w =? t) eqn:E; simpl; rewrite E. Qed.

Section proof.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, cv_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).
  Notation timed := (timed quiet kernel_entry M this).
  Notation during := (during quiet kernel_entry M this).
  Notation current_is := (current_is quiet kernel_entry M this).
  Notation goes_to_sleep := (goes_to_sleep quiet kernel_entry M this).
  Notation gets_ready := (gets_ready quiet kernel_entry M this).

  Ltac enter code := eapply timed_body; [by apply HM|done|]; unfold code; locals_simpl.

  (** ** Reading *)
  Lemma cv_rep_mark cv s d w : cv_rep cv s d -> w ∈ s ->
    d !! field_cell "cv_waiter" (thread w) "blocked" = Some (Z.b2z (cv_blocked s (thread w))) /\
    d !! field_cell "cv_waiter" (thread w) "cancelled" = Some (Z.b2z (cv_cancelled s (thread w))).
  Proof using.
    intros (Hv & _ & _ & Hw) Hin. specialize (Hw w Hin). unfold cv_blocked, cv_cancelled. rewrite !mark_of by done.
    split; by eapply holds_value.
  Qed.
  Theorem cv_first_triple cv s d : cv_rep cv s d -> triple "cv_first" [cv] d (fun v d' => v = cv_first s /\ d' = d).
  Proof using HM. intros (_ & _ & Hh & _). apply (reads_code kernel_entry M this "cv_first" "cv_queue" "first"); [by apply HM|]. by eapply holds_value. Qed.
  (** Where a thread waits: no lock is needed, the cell is the thread's. *)
  Theorem cv_of_triple t d v : d !! place t = Some v -> triple "cv_of" [t] d (fun w d' => w = v /\ d' = d).
  Proof using HM. apply (reads_code kernel_entry M this "cv_of" "cv_waiter" "cv"). by apply HM. Qed.
  Theorem cv_cancelled_timed cv s self E m : current_is self E -> self ∈ threads s -> (E ∗ cv_rep cv s) m ->
    timed "cv_cancelled" [] m (fun v m' => v = Z.b2z (cv_cancelled s self) /\ (E ∗ cv_rep cv s) m').
  Proof using HM.
    intros Hself Hin Hm. enter cv_cancelled_code. eapply current_then; [done|exact Hm|]. intros d Hd. locals_plain.
    apply elem_of_list_fmap in Hin as (w & -> & Hw). destruct (cv_rep_mark cv s d w Hd Hw) as [_ Hc]. unfold field_cell in Hc. by step.
  Qed.

  (** ** Marking *)

  (** The statement that writes mark [f] of waiter [t]. *)
  Lemma during_mark cv s t g f i e v E (Qn Qb : locals -> mem -> Prop) Qr r m : (E ∗ cv_rep cv s) m -> t ∈ threads s ->
    (forall w, thread (g w) = thread w) -> f = "blocked"%string \/ f = "cancelled"%string ->
    (forall w n p, links n p (g w) = set_field f v (links n p w)) -> (forall d, eval i r d = Some t) -> (forall d, eval e r d = Some v) ->
    (forall m, (E ∗ cv_rep cv (change g t s)) m -> Qn r m) -> during (Store "cv_waiter" i f (Const 0) e) Qn Qb Qr r m.
  Proof using.
    intros Hm Ht Hg Hf Hset Hi He Hn.
    eapply (during_part _ _ _ _ _ E (cv_rep cv s) _ _ _ (fun r' d => r' = r /\ cv_rep cv (change g t s) d) (fun _ _ => False) (fun _ _ => False)); [exact Hm|..].
    - intros d Hd. eapply owned_store; [apply Hi|apply eval_const|apply He| |].
      + pose proof Hd as (_ & Hx & _). apply Hx, link_cell; [done|]. destruct Hf as [-> | ->]; names.
      + split; [done|]. by apply cv_mark.
    - intros r' m' [-> H]%both_pure. by apply Hn.
    - by intros r' m' (? & ? & _ & _ & _ & []).
    - by intros r' m' (? & ? & _ & _ & _ & []).
  Qed.

  (** The current thread is marked as blocked, here and below. *)
  Theorem cv_prepare_wait_timed cv s self E E' m : current_is self E -> goes_to_sleep self cv E E' -> self ∈ threads s -> (E ∗ cv_rep cv s) m ->
    timed "cv_prepare_wait" [cv] m (fun v m' => v = 0 /\ (E' ∗ cv_rep cv (cv_prepare_wait s self)) m').
  Proof using HM.
    intros Hself (F & Hwait & Hblock) Hin Hm. enter cv_prepare_wait_code. timed_step.
    eapply during_call_part; [evaluate|exact Hm|exact Hself|]. intros v m' Hm'. apply both_pure_left in Hm' as [-> Hm']. locals_simpl. timed_step.
    eapply (during_mark cv s self block "blocked" _ _ 1); [exact Hm'|exact Hin|by intros|by left|by intros|by intros|by intros|]. clear m Hm m' Hm'. intros m Hm. timed_step.
    eapply during_call_part; [evaluate|exact Hm|exact Hwait|]. clear m Hm. intros v m Hm. locals_simpl.
    by eapply during_call_part; [evaluate|exact Hm|exact Hblock|].
  Qed.

  (** ** Waking *)

  (** A waiter that is blocked is made ready; it keeps its place. Who is not blocked is left alone. *)
  Theorem cv_wake_timed cv s t E E' m : t ∈ threads s -> (cv_blocked s t = true -> gets_ready t E E') -> (E ∗ cv_rep cv s) m ->
    timed "cv_wake" [t] m (fun v m' => v = 0 /\ ((if cv_blocked s t then E' else E) ∗ cv_rep cv (cv_wake s t)) m').
  Proof using HM.
    intros Hin Hready Hm. enter cv_wake_code.
    assert (m !! field_cell "cv_waiter" t "blocked" = Some (Z.b2z (cv_blocked s t))) as Hb.
    { destruct Hm as (e & d & -> & Hd & _ & Hr). apply elem_of_list_fmap in Hin as (w & -> & Hw).
      apply both_right_lookup; [done|]. by apply (cv_rep_mark cv). }
    unfold field_cell in Hb. timed_step. destruct (cv_blocked s t) eqn:Eb; cbn [Z.b2z Z.eqb Pos.eqb].
    - destruct (Hready eq_refl) as (F & Hend & Hrdy). timed_step.
      eapply (during_mark cv s t unblock "blocked" _ _ 0); [exact Hm|exact Hin|by intros|by left|by intros|by intros|by intros|]. clear m Hm Hb. intros m Hm. timed_step.
      eapply during_call_part; [evaluate|exact Hm|exact Hend|]. clear m Hm. intros v m Hm. locals_simpl.
      by eapply during_call_part; [evaluate|exact Hm|exact Hrdy|].
    - timed_step. by rewrite wake_ready.
  Qed.
  Theorem cv_wake_first_timed cv s E E' m : (first_blocked s = true -> gets_ready (cv_first s) E E') -> (E ∗ cv_rep cv s) m ->
    timed "cv_wake_first" [cv] m (fun v m' => v = 0 /\ ((if first_blocked s then E' else E) ∗ cv_rep cv (cv_wake_first s)) m').
  Proof using HM.
    intros Hready Hm. enter cv_wake_first_code.
    assert (m !! field_cell "cv_queue" cv "first" = Some (cv_first s)) as Hf.
    { destruct Hm as (e & d & -> & Hd & _ & _ & _ & Hh & _). apply both_right_lookup; [done|]. by eapply holds_value. }
    assert (cv_valid s) as Hv by by destruct Hm as (_ & d & _ & _ & _ & Hv & _).
    unfold field_cell in Hf. do 3 timed_step. fold NONE.
    destruct s as [|w s]; [change (cv_first []) with NONE; rewrite Z.eqb_refl; cbn [negb]; by timed_step|].
    change (cv_first (w :: s)) with (thread w) in *. pose proof (cv_valid_none _ Hv) as Hno. unfold threads in Hno. rewrite fmap_cons in Hno.
    apply not_elem_of_cons in Hno as [Hno _]. rewrite (proj2 (Z.eqb_neq (thread w) NONE)) by congruence. cbn [negb].
    assert (cv_blocked (w :: s) (thread w) = first_blocked (w :: s)) as Eb by (apply (mark_of blocked); [done|by left]).
    eapply during_call_whole; [evaluate|eapply (cv_wake_timed cv (w :: s) (thread w) E E')|].
    - by left.
    - by rewrite Eb.
    - exact Hm.
    - rewrite Eb, wake_head by done. by intros v m' [_ H].
  Qed.
  (** Its wait is marked as cancelled, and it is woken, wherever in the queue it is. *)
  Theorem cv_cancel_timed cv s t E E' m : t ∈ threads s -> (cv_blocked s t = true -> gets_ready t E E') -> (E ∗ cv_rep cv s) m ->
    timed "cv_cancel" [t] m (fun v m' => v = 0 /\ ((if cv_blocked s t then E' else E) ∗ cv_rep cv (cv_cancel s t)) m').
  Proof using HM.
    intros Hin Hready Hm. enter cv_cancel_code. timed_step.
    eapply (during_mark cv s t cancel "cancelled" _ _ 1); [exact Hm|exact Hin|by intros|by right|by intros|by intros|by intros|]. clear m Hm. intros m Hm.
    eapply during_call_whole; [evaluate|eapply (cv_wake_timed cv (change cancel t s) t E E')|].
    - by rewrite change_threads.
    - by rewrite blocked_cancel.
    - exact Hm.
    - rewrite blocked_cancel, wake_cancelled. by intros v m' [_ H].
  Qed.

  (** ** Start-up *)
  Notation head_names := (heads 0 0).*1.
  Notation waiter_names := ("cv"%string :: (links 0 0 (Waiter 0 false false)).*1).
  Notation idle t := (("cv", NONE) :: links NONE NONE (Waiter t false false))%string.
  Lemma initial_present d : exactly all_cells d -> (forall cv, 0 <= cv < NUM_CV -> has_fields "cv_queue" cv head_names d) /\
    (forall t, 0 <= t < NUM_THREAD -> has_fields "cv_waiter" t waiter_names d).
  Proof using.
    intros Hx. split; intros i Hi; apply Forall_forall; intros f Hf; apply Hx.
    - left. exists i. split; [done|]. apply elem_of_list_fmap. by exists f.
    - right. exists i. split; [done|]. apply elem_of_cons in Hf as [->|Hf]; [by left|right]. apply elem_of_list_fmap. by exists f.
  Qed.
  Lemma store_fields_exactly P o t l d : exactly P d -> (forall f, f ∈ l.*1 -> P (field_cell o t f)) -> exactly P (store_fields o t l d).
  Proof using.
    revert d. induction l as [|[f v] l IH]; intros d Hd Hf; [done|]. apply IH; [apply exactly_write; [done|]|intros g Hg]; apply Hf; [by left|by right].
  Qed.
  Theorem cv_init_triple d : exactly all_cells d -> triple "cv_init" [] d (fun v d' => v = 0 /\ cv_initial d').
  Proof using HM.
    intros Hx. eapply triple_owned; [by apply HM|done|]. unfold cv_init_code. locals_simpl. do 3 step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [i; 0] /\ exactly all_cells d1 /\
      forall cv, 0 <= cv < i -> holds "cv_queue" cv (heads NONE NONE) d1) 0); [lia| | | |].
    { split_and!; [done..|lia]. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi (-> & Hx1 & Hdone). pose proof (proj1 (initial_present d1 Hx1) i Hi) as H. repeat store_step H.
      rewrite wrap32_next by lia. split_and!; [done| |].
      - apply (store_fields_exactly _ "cv_queue" i (heads NONE NONE)); [done|]. intros f Hf. left. exists i. split; [done|].
        apply elem_of_list_fmap. by exists f.
      - intros cv Hcv. destruct (decide (cv = i)) as [->|Hne]; [apply (holds_stored "cv_queue" i (heads NONE NONE)); names|].
        apply (holds_store_other _ _ _ _ "cv_queue" i (heads NONE NONE)); [congruence|apply Hdone; lia]. }
    clear d Hx. intros r d (-> & Hx & Hheads). do 2 step.
    apply (owned_count _ _ _ _ _ _ (fun t r d1 => r = [32; t] /\ exactly all_cells d1 /\
      (forall cv, 0 <= cv < NUM_CV -> holds "cv_queue" cv (heads NONE NONE) d1) /\
      forall u, 0 <= u < t -> holds "cv_waiter" u (idle u) d1) 0); [lia| | | |].
    { split_and!; [done..|lia]. }
    { by intros t r d1 [-> _]. }
    { intros t r d1 Ht (-> & Hx1 & Hhd & Hdone). pose proof (proj2 (initial_present d1 Hx1) t Ht) as H. repeat store_step H.
      rewrite wrap32_next by lia. split_and!; [done| | |].
      - apply (store_fields_exactly _ "cv_waiter" t (idle t)); [done|]. intros f Hf. right. exists t. split; [done|].
        apply elem_of_cons in Hf as [->|Hf]; [by left|right]. apply elem_of_list_fmap. by exists f.
      - intros cv Hcv. apply (holds_store_other _ _ _ _ "cv_waiter" t (idle t)); [congruence|by apply Hhd].
      - intros u Hu. destruct (decide (u = t)) as [->|Hne]; [apply (holds_stored "cv_waiter" t (idle t)); names|].
        apply (holds_store_other _ _ _ _ "cv_waiter" t (idle t)); [congruence|apply Hdone; lia]. }
    clear d Hx Hheads. intros r d (-> & Hx & Hheads & Hidle). split; [done|]. split; [done|]. split.
    - intros cv Hcv. split; [repeat constructor|]. split.
      + apply restrict_cells. intros x Hx'. apply Hx. left. exists cv. split; [done|]. unfold cv_cells in Hx'. by rewrite app_nil_r in Hx'.
      + split; [|by intros w ?%elem_of_nil]. pose proof (Hheads cv Hcv) as Hh. repeat (apply Forall_cons in Hh as [? Hh]).
        repeat constructor; cbn [fst snd]; (rewrite restrict_in by (apply head_cell; names)); done.
    - intros t Ht. pose proof (Hidle t Ht) as Hi.
      assert (forall f, f ∈ waiter_names -> field_cell "cv_waiter" t f ∈ place t :: link_cells t) as Hin.
      { intros f [->|Hf]%elem_of_cons; [by left|right]. apply elem_of_list_fmap. by exists f. }
      repeat (apply Forall_cons in Hi as [? Hi]). split_and!.
      + apply restrict_cells. intros x Hx'. apply Hx. right. by exists t.
      + by rewrite restrict_in by (by left).
      + repeat constructor; cbn [fst snd]; (rewrite restrict_in by (apply Hin; names)); done.
  Qed.
End proof.
