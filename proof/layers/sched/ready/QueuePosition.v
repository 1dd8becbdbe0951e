(** Ready queues: how many threads are served before a given one.

    [ahead s cpu p t]: the ready threads of higher priority than [p], and those before [t] in the queue of [p]. Each take
    serves [t] or one of them, and a thread inserted at [t]'s priority or a lower one is not among them. So [t] is served
    at the latest after as many others as were ahead of it and as were inserted at a higher priority since. *)
From Ashlar Require Export layers.sched.ready.ReadyGuarantees.

Definition ready_number (s : ready) (cpu p : Z) : nat := length (ready_list s cpu p).
Definition higher (s : ready) (cpu p : Z) : nat := sum_list_with (ready_number s cpu) (seqZ (p + 1) (NUM_PRIORITY - (p + 1))).
Fixpoint place_in (t : Z) (l : list Z) : nat := match l with [] => 0 | u :: l => if u =? t then 0 else S (place_in t l) end.
Definition ahead (s : ready) (cpu p t : Z) : nat := higher s cpu p + place_in t (ready_list s cpu p).

Lemma place_in_snoc t u l : t ∈ l -> place_in t (l ++ [u]) = place_in t l.
Proof.
  induction l as [|w l IH]; intros Ht; [by apply elem_of_nil in Ht|]. simpl. destruct (Z.eqb_spec w t) as [|Hne]; [done|].
  f_equal. apply IH. apply elem_of_cons in Ht as [->|?]; done.
Qed.

Lemma sum_same (f g : Z -> nat) l : (forall x, x ∈ l -> f x = g x) -> sum_list_with f l = sum_list_with g l.
Proof.
  induction l as [|x l IH]; intros H; simpl; [done|]. rewrite (H x) by (by left). f_equal. apply IH. intros y Hy. apply H. by right.
Qed.
(** One of the numbers is one less. *)
Lemma sum_less (f g : Z -> nat) l q : NoDup l -> q ∈ l -> g q = S (f q) -> (forall x, x <> q -> f x = g x) ->
  sum_list_with g l = S (sum_list_with f l).
Proof.
  intros Hnd Hin Hq Hs. induction l as [|x l IH]; [by apply elem_of_nil in Hin|]. apply NoDup_cons in Hnd as [Hx Hnd]. simpl.
  destruct (decide (x = q)) as [->|Hne].
  - rewrite Hq, (sum_same f g l); [done|]. intros y Hy. apply Hs. by intros ->.
  - rewrite (Hs x Hne), IH; [lia|done|]. apply elem_of_cons in Hin as [->|?]; done.
Qed.
Lemma sum_none (f : Z -> nat) l : (forall x, x ∈ l -> f x = 0%nat) -> sum_list_with f l = 0%nat.
Proof. induction l as [|x l IH]; intros H; simpl; [done|]. rewrite (H x) by (by left). apply IH. intros y Hy. apply H. by right. Qed.

Lemma elem_of_higher p q : q ∈ seqZ (p + 1) (NUM_PRIORITY - (p + 1)) <-> p < q < NUM_PRIORITY.
Proof. rewrite elem_of_seqZ. lia. Qed.

(** A take serves [t] if no thread is ahead of it, else one of those that are. *)
Theorem take_ahead cpu s v s' p t : ready_valid cpu s -> sched_ready_take s cpu = Some (v, s') ->
  0 <= p < NUM_PRIORITY -> t ∈ ready_list s cpu p ->
  v = t /\ ahead s cpu p t = 0%nat \/
  v <> t /\ t ∈ ready_list s' cpu p /\ ahead s cpu p t = S (ahead s' cpu p t).
Proof.
  intros Hv H Hp Ht. pose proof (sched_ready_take_some cpu s v s' p t Hv H Hp Ht) as Hne.
  destruct (sched_ready_take_first _ _ _ _ H) as [(? & _)|(q & l & Hq & Hl & Hl' & Hhigh & Hother)]; [done|].
  unfold ahead. destruct (Z.lt_trichotomy p q) as [Hlt|[<-|Hgt]].
  - right. assert (v <> t) as Hvt.
    { intros ->. assert (q = p); [|lia]. eapply ready_list_one; [exact Hv|exact Ht|rewrite Hl; by left]. }
    split; [done|]. rewrite Hother by lia. split; [done|]. unfold higher.
    rewrite (sum_less (ready_number s' cpu) (ready_number s cpu) _ q); [lia|apply NoDup_seqZ|by apply elem_of_higher; lia| |].
    + unfold ready_number. by rewrite Hl, Hl'.
    + intros x Hx. unfold ready_number. by rewrite Hother.
  - assert (higher s cpu p = 0%nat) as Hh.
    { apply sum_none. intros x Hx%elem_of_higher. unfold ready_number. by rewrite Hhigh. }
    assert (higher s' cpu p = 0%nat) as Hh'.
    { apply sum_none. intros x Hx%elem_of_higher. unfold ready_number. by rewrite Hother, Hhigh by lia. }
    rewrite Hh, Hh', Hl, Hl'. simpl. destruct (Z.eqb_spec v t) as [->|Hvt]; [by left|right].
    split; [done|]. split; [|done]. rewrite Hl in Ht. by apply elem_of_cons in Ht as [->|?].
  - rewrite Hhigh in Ht by lia. by apply elem_of_nil in Ht.
Qed.

(** A thread inserted at the same or a lower priority comes behind. *)
Theorem insert_ahead cpu s u v s' p t r : ready_valid cpu s -> sched_ready_insert s cpu u = Some (v, s') ->
  ready_threads s !! u = Some r -> ready_priority r <= p -> t ∈ ready_list s cpu p ->
  t ∈ ready_list s' cpu p /\ ahead s' cpu p t = ahead s cpu p t.
Proof.
  intros Hv H Hr Hp Ht. destruct (sched_ready_insert_last _ _ _ _ _ H) as (r' & Hr' & Hl & Hother). rewrite Hr in Hr'.
  injection Hr' as <-. unfold ahead.
  assert (higher s' cpu p = higher s cpu p) as ->.
  { apply sum_same. intros x Hx%elem_of_higher. unfold ready_number. by rewrite Hother by lia. }
  destruct (decide (p = ready_priority r)) as [->|Hne]; [|by rewrite Hother].
  rewrite Hl. split; [apply elem_of_app; by left|]. by rewrite place_in_snoc.
Qed.

(** Takes one after the other: after as many as were ahead, [t] is served by the next. *)
Fixpoint take_times (n : nat) (s : ready) (cpu : Z) : option ready :=
  match n with
  | O => Some s
  | S n => match sched_ready_take s cpu with Some (_, s') => take_times n s' cpu | None => None end
  end.
Theorem served_in_turn cpu s p t s' : ready_valid cpu s -> 0 <= p < NUM_PRIORITY -> t ∈ ready_list s cpu p ->
  take_times (ahead s cpu p t) s cpu = Some s' -> forall v s'', sched_ready_take s' cpu = Some (v, s'') -> v = t.
Proof.
  intros Hv Hp. remember (ahead s cpu p t) as n eqn:En. revert s Hv En. induction n as [|n IH]; intros s Hv En Ht H v s'' H'.
  - injection H as <-. destruct (take_ahead cpu s v s'' p t Hv H' Hp Ht) as [[? _]|(_ & _ & E)]; [done|congruence].
  - cbn [take_times] in H. destruct (sched_ready_take s cpu) as [[u s1]|] eqn:E; [|done].
    destruct (take_ahead cpu s u s1 p t Hv E Hp Ht) as [[_ E0]|(_ & Ht1 & E1)]; [congruence|].
    eapply (IH s1); [by eapply sched_ready_take_valid| |exact Ht1|exact H|exact H']. congruence.
Qed.
