(** Condition variables: waiters are served in the order in which they came.

    No C yet: what the functions do to the state. [cv_fifo]: while thread [t] waits, the threads ahead of it are those that were ahead of
    it when it came, but for those that have left; none overtakes it. [cv_turn]: it is first when all of them have left. *)
From Ashlar Require Export layers.cv.Spec.

(** ** Threads of the state *)
Lemma change_threads f t s : (forall w, thread (f w) = thread w) -> threads (change f t s) = threads s.
Proof.
  intros Hf. unfold threads, change. rewrite <- list_fmap_compose. apply list_fmap_ext. intros i w _. simpl. by destruct (_ =? _).
Qed.
Lemma threads_join s t : threads (cv_join s t) = threads s ++ [t].
Proof. unfold threads, cv_join. by rewrite fmap_app. Qed.
Lemma threads_wake_first s : threads (cv_wake_first s) = threads s.
Proof. by destruct s. Qed.
Lemma threads_leave s t : threads (cv_leave s t) = filter (fun u => u <> t) (threads s).
Proof.
  unfold threads, cv_leave. induction s as [|w s IH]; [done|]. rewrite fmap_cons, !filter_cons. repeat case_decide; [|done..|done].
  rewrite fmap_cons. by f_equal.
Qed.
Lemma waiter_once s1 w s2 : NoDup (threads (s1 ++ w :: s2)) -> thread w ∉ threads (s1 ++ s2).
Proof. unfold threads. rewrite !fmap_app, fmap_cons, <- Permutation_middle. by intros [? _]%NoDup_cons. Qed.
Lemma leave_none s t : t ∉ threads s -> cv_leave s t = s.
Proof.
  unfold cv_leave. induction s as [|u s IH]; [done|]. intros [Hne Hs]%not_elem_of_cons. rewrite filter_cons_True by congruence. f_equal. auto.
Qed.
Lemma leave_split s1 w s2 : NoDup (threads (s1 ++ w :: s2)) -> cv_leave (s1 ++ w :: s2) (thread w) = s1 ++ s2.
Proof.
  intros H%waiter_once%leave_none. etrans; [|exact H]. unfold cv_leave. by rewrite !filter_app, filter_cons_False by tauto.
Qed.

(** ** The invariant is kept *)
Theorem cv_join_valid s t : cv_valid s -> t ∉ threads s -> 0 <= t < NUM_THREAD -> cv_valid (cv_join s t).
Proof.
  intros [Hn Hr] Ht Hb. unfold cv_valid. rewrite threads_join. split; [|apply Forall_app; by rewrite Forall_singleton].
  apply NoDup_app. split_and!; [done|by intros u Hu ->%elem_of_list_singleton|apply NoDup_singleton].
Qed.
Theorem cv_leave_valid s t : cv_valid s -> cv_valid (cv_leave s t).
Proof.
  intros [Hn Hr]. unfold cv_valid. rewrite threads_leave. split; [by apply NoDup_filter|].
  apply Forall_forall. intros u [_ Hu]%elem_of_list_filter. by eapply Forall_forall in Hr.
Qed.
(** So is it by the others, which change no waiter's thread. *)
Lemma cv_valid_threads s s' : threads s' = threads s -> cv_valid s -> cv_valid s'.
Proof. unfold cv_valid. by intros ->. Qed.

(** ** Order *)

(** The threads ahead of [t]. *)
Fixpoint ahead (t : Z) (l : list Z) : list Z := match l with [] => [] | u :: l => if u =? t then [] else u :: ahead t l end.

(** What happens to a variable while [t] waits in it. *)
Inductive passes (t : Z) (s : list waiter) : list waiter -> Prop :=
| joins u : u ∉ threads s -> passes t s (cv_join s u)
| blocks u : passes t s (cv_prepare_wait s u)
| wakes_first : passes t s (cv_wake_first s)
| cancels u : passes t s (cv_cancel s u)
| leaves u : u <> t -> passes t s (cv_leave s u).

Lemma ahead_join t l u : t ∈ l -> ahead t (l ++ [u]) = ahead t l.
Proof.
  induction l as [|v l IH]; [by intros ?%elem_of_nil|]. simpl. destruct (Z.eqb_spec v t) as [|Hne]; [done|].
  intros [->|Ht]%elem_of_cons; [done|]. f_equal. auto.
Qed.
Lemma ahead_leave t l u : u <> t -> ahead t (filter (fun v => v <> u) l) = filter (fun v => v <> u) (ahead t l).
Proof.
  intros Hu. induction l as [|v l IH]; [done|]. rewrite filter_cons. simpl. destruct (Z.eqb_spec v t) as [->|Hne].
  - rewrite decide_True by congruence. simpl. by rewrite Z.eqb_refl.
  - rewrite filter_cons. case_decide; [|done]. simpl. rewrite (proj2 (Z.eqb_neq v t)) by done. by f_equal.
Qed.
Lemma filter_sublist u l : sublist (filter (fun v : Z => v <> u) l) l.
Proof. induction l as [|v l IH]; [done|]. rewrite filter_cons. case_decide; [by apply sublist_skip|by apply sublist_cons]. Qed.
Theorem cv_fifo t s s' : rtc (passes t) s s' -> t ∈ threads s ->
  t ∈ threads s' /\ sublist (ahead t (threads s')) (ahead t (threads s)).
Proof.
  induction 1 as [s|s s1 s' Hs _ IH]; intros Ht; [done|].
  assert (t ∈ threads s1 /\ sublist (ahead t (threads s1)) (ahead t (threads s))) as [Ht1 E].
  { destruct Hs as [u _|u| |u|u Hu]; 
      [|by unfold cv_prepare_wait; rewrite change_threads|by rewrite threads_wake_first|by unfold cv_cancel; rewrite change_threads|].
    - rewrite threads_join, ahead_join by done. split; [apply elem_of_app; by left|done].
    - rewrite threads_leave, ahead_leave by done. split; [by apply elem_of_list_filter|apply filter_sublist]. }
  destruct (IH Ht1) as [Ht' E']. split; [done|by etrans].
Qed.
(** A thread that joins is last; the thread whose turn it is has none ahead. *)
Theorem cv_join_last s t : t ∉ threads s -> ahead t (threads (cv_join s t)) = threads s.
Proof.
  rewrite threads_join. induction (threads s) as [|u l IH]; simpl; [by rewrite Z.eqb_refl|]. intros [Hne Hl]%not_elem_of_cons.
  rewrite (proj2 (Z.eqb_neq u t)) by congruence. f_equal. auto.
Qed.
Theorem cv_turn s t : t ∈ threads s -> cv_first s = t <-> ahead t (threads s) = [].
Proof.
  unfold cv_first. destruct (threads s) as [|u l]; [by intros ?%elem_of_nil|]. intros _. simpl. by destruct (Z.eqb_spec u t).
Qed.

(** ** Wake-ups *)

(** A second one has no effect: the first does not block any more. *)
Theorem cv_wake_twice s : first_blocked (cv_wake_first s) = false /\ cv_wake_first (cv_wake_first s) = cv_wake_first s.
Proof. by destruct s. Qed.
(** Who is not blocked is left as it is. *)
Lemma unblock_ready w : blocked w = false -> unblock w = w.
Proof. destruct w. simpl. by intros ->. Qed.
(** A waiter whose wait is cancelled is marked and does not block; the others are as they were. *)
Theorem cv_cancel_marks s t : t ∈ threads s -> cv_cancelled (cv_cancel s t) t = true /\ cv_blocked (cv_cancel s t) t = false.
Proof.
  unfold threads, cv_cancelled, cv_blocked, cv_cancel, change. intros Ht. split.
  - apply existsb_exists. apply elem_of_list_fmap in Ht as (w & -> & Hw). exists (unblock (cancel w)). split; [|by cbn; rewrite Z.eqb_refl].
    apply elem_of_list_In, elem_of_list_fmap. exists w. by rewrite Z.eqb_refl.
  - apply not_true_is_false. intros (w & Hw & [Et%Z.eqb_eq Eb]%andb_true_iff)%existsb_exists.
    apply elem_of_list_In, elem_of_list_fmap in Hw as (u & -> & _). destruct (Z.eqb_spec (thread u) t); [done|]. congruence.
Qed.
Theorem cv_cancel_others s t w : thread w <> t -> w ∈ cv_cancel s t <-> w ∈ s.
Proof.
  intros Hne. unfold cv_cancel, change. rewrite elem_of_list_fmap. split.
  - intros (u & -> & Hu). destruct (Z.eqb_spec (thread u) t); [|done]. by simpl in Hne.
  - intros Hw. exists w. by rewrite (proj2 (Z.eqb_neq _ _)).
Qed.
(** Who leaves takes none of the others' wake-ups. *)
Theorem cv_leave_others s t w : w ∈ cv_leave s t <-> w ∈ s /\ thread w <> t.
Proof. unfold cv_leave. rewrite elem_of_list_filter. tauto. Qed.
