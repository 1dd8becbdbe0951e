(** Notifications: what follows for sequences of calls.

    No C yet: [bits_given_or_kept], no bit of a signal is lost while the owner lives; [notify_fifo], waiters are served in the order in which
    they came. *)
From Ashlar Require Export layers.notify.Spec layers.cv.Fifo.

(** What happens to a notification in one life: the words that are signalled, and those that threads get. *)
Inductive happens (x : notification) : list Z -> list Z -> notification -> Prop :=
| signals b : happens x [b] (match waiters x with [] => [] | _ :: _ => [b] end) (notify_signalled x b)
| polls : happens x [] [pending x] (notify_taken x) (* also a wait that finds bits *)
| joins t : pending x = 0 -> t ∉ waiters x -> happens x [] [] (notify_joined x t)
| ends t : t ∈ waiters x -> happens x [] [] (notify_ended x t)
| watches c : happens x [] [] (set_watcher c x).
Inductive history (x : notification) : list Z -> list Z -> notification -> Prop :=
| nothing : history x [] [] x
| more signalled given y s g z : history x signalled given y -> happens y s g z -> history x (signalled ++ s) (given ++ g) z.

Lemma happens_keeps x s g y : happens x s g y -> notify_valid x -> notify_valid y /\ opened y = opened x.
Proof.
  intros H Hv. destruct H as [b| |t|t|c].
  - split; [by apply notify_signalled_valid|]. unfold notify_signalled, notify_kept. destruct (waiters x); [|done]. by destruct (opened x) eqn:E.
  - by split.
  - split; [by apply notify_joined_valid|done].
  - split; [by apply notify_ended_valid|done].
  - by split.
Qed.
Lemma history_keeps x s g y : history x s g y -> notify_valid x -> notify_valid y /\ opened y = opened x.
Proof.
  induction 1 as [|signalled given y s g z _ IH Hs]; [done|]. intros Hv. destruct (IH Hv) as [Hv1 E1].
  destruct (happens_keeps _ _ _ _ Hs Hv1) as [Hv2 E2]. split; [done|congruence].
Qed.

(** ** Bits *)
Definition ors (l : list Z) : Z := foldr Z.lor 0 l.
Lemma ors_app l k : ors (l ++ k) = Z.lor (ors l) (ors k).
Proof. unfold ors. induction l as [|b l IH]; [done|]. cbn [app foldr]. by rewrite IH, Z.lor_assoc. Qed.
(** While the owner lives, the bits that threads have got and those that are kept are those that were signalled, and those kept before. *)
Theorem bits_given_or_kept x signalled given y : notify_valid x -> opened x = true -> history x signalled given y ->
  Z.lor (ors given) (pending y) = Z.lor (ors signalled) (pending x).
Proof.
  intros Hv Ho. induction 1 as [|signalled given y s g z Hh IH Hs]; [done|]. destruct (history_keeps _ _ _ _ Hh Hv) as [Hvy Ey].
  assert (Z.lor (ors g) (pending z) = Z.lor (ors s) (pending y)) as E.
  { destruct Hs as [b| |t Hp _|t _|c]; [|unfold ors; cbn; by rewrite !Z.lor_0_r, Z.lor_0_l|done..].
    unfold notify_signalled, notify_kept, ors. rewrite Ey, Ho. destruct (waiters y) as [|t l] eqn:El; cbn; rewrite ?Z.lor_0_r, ?Z.lor_0_l; [apply Z.lor_comm|done]. }
  rewrite !ors_app, <- Z.lor_assoc, E, Z.lor_assoc, (Z.lor_comm (ors given)), <- Z.lor_assoc, IH, !Z.lor_assoc. by rewrite (Z.lor_comm (ors s)).
Qed.
(** Between two lives no bit is kept. *)
Theorem closed_keeps_none x signalled given y : notify_valid x -> opened x = false -> history x signalled given y -> pending y = 0.
Proof. intros Hv Ho Hh. destruct (history_keeps _ _ _ _ Hh Hv) as [[_ H] E]. apply H. congruence. Qed.
(** A signal that finds a waiter gives it all bits, and keeps none. *)
Theorem signal_gives_all x b t l : notify_valid x -> waiters x = t :: l -> waiters (notify_signalled x b) = l /\ pending (notify_signalled x b) = 0.
Proof. intros [Hp _] El. unfold notify_signalled. rewrite El. cbn. rewrite El. split; [done|]. apply Hp. by rewrite El. Qed.

(** ** Waiters *)
Lemma ahead_without t u l : u <> t -> ahead t (without u l) = without u (ahead t l).
Proof.
  intros Hne. induction l as [|v l IH]; [done|]. cbn [without ahead]. destruct (Z.eqb_spec v u) as [->|Hvu].
  - rewrite (proj2 (Z.eqb_neq u t)) by done. cbn [without]. by rewrite Z.eqb_refl.
  - cbn [ahead]. destruct (Z.eqb_spec v t); [done|]. cbn [without]. by rewrite (proj2 (Z.eqb_neq v u)), IH.
Qed.
Lemma without_sublist u l : sublist (without u l) l.
Proof. induction l as [|v l IH]; [done|]. cbn [without]. destruct (v =? u); [by apply sublist_cons|by apply sublist_skip]. Qed.
Lemma without_in t u l : NoDup l -> t ∈ without u l -> t <> u.
Proof.
  induction 1 as [|v l Hv Hl IH]; [by intros ?%elem_of_nil|]. cbn [without]. destruct (Z.eqb_spec v u) as [->|Hne]; [by intros Ht ->|].
  intros [->|Ht]%elem_of_cons; [done|by apply IH].
Qed.
(** While [t] waits, those ahead of it are those that were ahead when it came, but for those whose wait is over; none overtakes it. *)
Definition stays (t : Z) (x y : notification) : Prop := NoDup (waiters x) /\ t ∈ waiters y /\ exists s g, happens x s g y.
Theorem notify_fifo t x y : rtc (stays t) x y -> t ∈ waiters x -> sublist (ahead t (waiters y)) (ahead t (waiters x)).
Proof.
  induction 1 as [x|x z y (Hnd & Hin & s & g & Hs) _ IH]; intros Ht; [done|]. etrans; [by apply IH|]. clear IH.
  destruct Hs as [b| |u _ Hu|u Hu|c]; cbn in *; [|done| | |done].
  - unfold notify_signalled, notify_kept in *. destruct (waiters x) as [|v l] eqn:El; [by apply elem_of_nil in Ht|]. cbn in *. rewrite El in *.
    cbn [tail ahead] in *.
    destruct (Z.eqb_spec v t) as [->|Hne]; [by apply NoDup_cons in Hnd as [? _]|]. by apply sublist_cons.
  - by rewrite ahead_join.
  - rewrite ahead_without by (intros ->; by apply (without_in t t (waiters x))). apply without_sublist.
Qed.
(** Waiters are served first in, first out. *)
Theorem notify_joined_last x t : t ∉ waiters x -> ahead t (waiters (notify_joined x t)) = waiters x.
Proof.
  cbn. induction (waiters x) as [|u l IH]; cbn [app ahead]; [by rewrite Z.eqb_refl|]. intros [Hne Hl]%not_elem_of_cons.
  rewrite (proj2 (Z.eqb_neq u t)) by congruence. f_equal. auto.
Qed.
(** A wait that is over cannot be ended again: nothing changes. *)
Theorem notify_ended_twice x t : t ∉ waiters x -> notify_ended x t = x.
Proof.
  intros Ht. unfold notify_ended, set_waiters. assert (without t (waiters x) = waiters x) as ->; [|by destruct x].
  induction (waiters x) as [|u l IH]; [done|]. apply not_elem_of_cons in Ht as [Hne Hl]. cbn [without].
  rewrite (proj2 (Z.eqb_neq u t)) by congruence. f_equal. auto.
Qed.
(** It leaves the others and the bits as they were. *)
Theorem notify_ended_others x t u : u <> t -> (u ∈ waiters (notify_ended x t) <-> u ∈ waiters x) /\ pending (notify_ended x t) = pending x.
Proof.
  intros Hne. split; [|done]. cbn. induction (waiters x) as [|v l IH]; [done|]. cbn [without]. destruct (Z.eqb_spec v t) as [->|Hv].
  - rewrite elem_of_cons. tauto.
  - by rewrite !elem_of_cons, IH.
Qed.
