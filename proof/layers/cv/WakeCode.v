(** Condition variables: the C that blocks, wakes and cancels, what only reads, and start-up. *)
From Ashlar Require Export layers.cv.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** The marks of a state *)
Lemma mark_of (f : waiter -> bool) s w : cv_valid s -> w ∈ s -> existsb (fun u => (thread u =? thread w) && f u) s = f w.
Proof.
  intros [Hn _] (s1 & s2 & ->)%elem_of_list_split. apply waiter_once in Hn. unfold threads in Hn. rewrite fmap_app, not_elem_of_app in Hn.
  assert (forall s : list waiter, thread w ∉ thread <$> s -> existsb (fun u => (thread u =? thread w) && f u) s = false) as Hno.
  { induction s as [|u s IH]; [done|]. intros [Hne Hs]%not_elem_of_cons. simpl. rewrite (proj2 (Z.eqb_neq _ _)) by congruence. auto. }
  rewrite existsb_app. simpl. rewrite !Hno, Z.eqb_refl by tauto. by destruct (f w).
Qed.
Lemma wake_ready s t : cv_blocked s t = false -> cv_wake s t = s.
Proof.
  unfold cv_blocked, cv_wake, change. induction s as [|w s IH]; [done|]. simpl. intros [Hw Hs]%orb_false_iff. apply (f_equal2 cons); [|auto].
  destruct (thread w =? t); [by apply unblock_ready|done].
Qed.
Lemma wake_head w s : cv_valid (w :: s) -> cv_wake (w :: s) (thread w) = cv_wake_first (w :: s).
Proof.
  intros [Hn%(waiter_once [] w s) _]. unfold cv_wake, change, threads in *. simpl in *. rewrite Z.eqb_refl. f_equal. etrans; [|apply list_fmap_id].
  apply Forall_fmap_ext, Forall_forall. intros u Hu. destruct (Z.eqb_spec (thread u) (thread w)) as [E|]; [|done].
  destruct Hn. rewrite <- E. by apply elem_of_list_fmap_1.
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
    (forall w, thread (g w) = thread w) -> f ∈ link_names ->
    (forall w n p, links n p (g w) = set_field f v (links n p w)) -> (forall d, eval i r d = Some t) -> (forall d, eval e r d = Some v) ->
    (forall m, (E ∗ cv_rep cv (change g t s)) m -> Qn r m) -> during (Store "cv_waiter" i f (Const 0) e) Qn Qb Qr r m.
  Proof using.
    intros Hm Ht Hg Hf Hset Hi He Hn.
    eapply (during_part _ _ _ _ _ E (cv_rep cv s) _ _ _ (fun r' d => r' = r /\ cv_rep cv (change g t s) d) (fun _ _ => False) (fun _ _ => False)); [exact Hm|..].
    - intros d Hd. eapply owned_store; [apply Hi|apply eval_const|apply He| |].
      + pose proof Hd as (_ & Hx & _). by apply Hx, link_cell.
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
    eapply (during_mark cv s self block "blocked" _ _ 1); [exact Hm'|exact Hin|by intros|names|by intros|by intros|by intros|]. clear m Hm m' Hm'. intros m Hm. timed_step.
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
      eapply (during_mark cv s t unblock "blocked" _ _ 0); [exact Hm|exact Hin|by intros|names|by intros|by intros|by intros|]. clear m Hm Hb. intros m Hm. timed_step.
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
    eapply (during_mark cv s t cancel "cancelled" _ _ 1); [exact Hm|exact Hin|by intros|names|by intros|by intros|by intros|]. clear m Hm. intros m Hm.
    eapply during_call_whole; [evaluate|eapply (cv_wake_timed cv (change cancel t s) t E E')|].
    - by rewrite change_threads.
    - by rewrite blocked_cancel.
    - exact Hm.
    - rewrite blocked_cancel, wake_cancelled. by intros v m' [_ H].
  Qed.

  (** ** Start-up *)
  Notation idle := (("cv", NONE) :: links NONE NONE (Waiter 0 false false))%string.
  Theorem cv_init_triple d : exactly all_cells d -> triple "cv_init" [] d (fun v d' => v = 0 /\ cv_initial d').
  Proof using HM.
    intros Hx. assert (forall cv f, 0 <= cv < NUM_CV -> f ∈ head_names -> all_cells (field_cell "cv_queue" cv f)) as Hheads.
    { intros cv f Hcv Hf. left. exists cv. split; [done|by apply elem_of_list_fmap_1]. }
    assert (forall t f, f ∈ idle.*1 -> field_cell "cv_waiter" t f ∈ place t :: link_cells t) as Hidle.
    { intros t f [->|Hf]%elem_of_cons; [by left|right; by apply elem_of_list_fmap_1]. }
    assert (forall t f, 0 <= t < NUM_THREAD -> f ∈ idle.*1 -> all_cells (field_cell "cv_waiter" t f)) as Hall by (intros t f Ht Hf; right; eauto).
    pose proof (filled_exactly _ "cv_queue" (heads NONE NONE) NUM_CV d Hheads Hx) as Hx1. pose proof (filled_exactly _ "cv_waiter" _ NUM_THREAD _ Hall Hx1) as Hx2.
    eapply triple_owned; [by apply HM|done|]. unfold cv_init_code. locals_simpl. do 3 step.
    apply (owned_fill _ _ _ "cv_queue" 0 NUM_CV (heads NONE NONE)); [done|done|intros cv Hcv; apply Forall_forall; intros f Hf; by apply Hx, Hheads|].
    do 2 step. apply (owned_fill _ _ _ "cv_waiter" 1 NUM_THREAD idle); [done|done|intros t Ht; apply Forall_forall; intros f Hf; by apply Hx1, Hall|].
    split; [done|]. split; [done|]. split.
    - intros cv Hcv. split; [repeat constructor|]. split; [|split; [|by intros w ?%elem_of_nil]].
      + apply restrict_cells. intros x Hin. apply Hx2. left. exists cv. unfold cv_cells in Hin. by rewrite app_nil_r in Hin.
      + eapply holds_keep; [|apply (holds_filled_other _ _ _ "cv_waiter"); [done|by apply (filled_holds "cv_queue" (heads NONE NONE)); [|names]]].
        intros f v Hf <-. by apply restrict_in, head_cell.
    - intros t Ht. assert (holds "cv_waiter" t idle (restrict (place t :: link_cells t)
        (filled "cv_waiter" (fun _ => idle) 0 NUM_THREAD (filled "cv_queue" (fun _ => heads NONE NONE) 0 NUM_CV d)))) as H.
      { eapply holds_keep; [|by apply (filled_holds "cv_waiter" idle); [|names]]. intros f v Hf <-. by apply restrict_in, Hidle. }
      apply Forall_cons in H as [Hp H]. split_and!; [|done|done]. apply restrict_cells. intros x Hin. apply Hx2. right. by exists t.
  Qed.
End proof.
