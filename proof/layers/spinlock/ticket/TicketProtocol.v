(** The ticket lock's protocol: the invariant of every log of its atomic cells.

    Lock [k] has two cells, [2k] (the ticket to be drawn) and [2k + 1] (the ticket served). The log determines, per lock,
    how many tickets were served, which CPUs are queued, and how far the first of the queue has come ([phase]). While it
    holds the lock, a CPU works on other locks (nested ones) and shows values; [hold_bound k] bounds how many events it may
    cause before it releases the lock. A waiting CPU does nothing else. Tickets wrap around at 2^64; the count served does
    not. *)
From Ashlar Require Export layers.spinlock.Spec.

(** Waits for its turn; has read that it is served; holds the lock, with so many events left; no longer owns what the lock
    guards; has read the cell it is about to advance. *)
Inductive phase := Waits | Served | Holds (left : nat) | Leaves | Advances.

Record queue := Queue { served : Z; waiting : list nat; first_phase : phase }.

(** Which lock an event is about. *)
Definition about (o : atomic_event) : option Z :=
  match o with
  | ELoad a | EStore a _ | EFetchAdd a _ | ESwap a _ | ECas a _ _ => Some (a / 2)
  | EOwn k | EDisown k _ => Some k
  | EOut _ => None
  end.

Section protocol.
  Context (hold_bound : Z -> nat).

  (** An event about lock [k]. *)
  Definition own_event (k : Z) (c : nat) (o : atomic_event) (t : queue) : option queue :=
    match o, waiting t with
    | EFetchAdd a v, q =>
        if decide (a = 2 * k /\ v = 1 /\ c ∉ q) then Some (Queue (served t) (q ++ [c]) (first_phase t)) else None
    | ELoad a, h :: q =>
        if decide (a = 2 * k + 1) then
          if decide (c = h) then
            match first_phase t with
            | Waits => Some (Queue (served t) (h :: q) Served)
            | Leaves => Some (Queue (served t) (h :: q) Advances)
            | _ => None
            end
          else if decide (c ∈ q) then Some t else None
        else None
    | EOwn _, h :: q =>
        match first_phase t with
        | Served => if decide (c = h) then Some (Queue (served t) (h :: q) (Holds (hold_bound k))) else None
        | _ => None
        end
    | EDisown _ _, h :: q =>
        match first_phase t with
        | Holds _ => if decide (c = h) then Some (Queue (served t) (h :: q) Leaves) else None
        | _ => None
        end
    | EStore a v, h :: q =>
        match first_phase t with
        | Advances =>
            if decide (a = 2 * k + 1 /\ v = wrap W64 (served t + 1) /\ c = h)
            then Some (Queue (served t + 1) q Waits) else None
        | _ => None
        end
    | _, _ => None
    end.

  (** Any other event: only a CPU that is not queued, or holds the lock and has events left, may cause it. *)
  Definition other_event (c : nat) (t : queue) : option queue :=
    match waiting t with
    | h :: q =>
        if decide (c = h) then
          match first_phase t with Holds (S n) => Some (Queue (served t) (h :: q) (Holds n)) | _ => None end
        else if decide (c ∈ q) then None else Some t
    | [] => Some t
    end.

  Definition queue_step (k : Z) (e : event atomic_event) (t : queue) : option queue :=
    if decide (about (what e) = Some k) then own_event k (who e) (what e) t else other_event (who e) t.

  Fixpoint replay (k : Z) (l : atomic_log) : option queue :=
    match l with
    | [] => Some (Queue 0 [] Waits)
    | e :: l => match replay k l with Some t => queue_step k e t | None => None end
    end.

  Definition keeps_protocol (ncpu : nat) (l : atomic_log) : Prop :=
    (forall k, is_Some (replay k l)) /\ Forall (fun e => (who e < ncpu)%nat) l.

  (** The lock module has to reckon with CPU [c]. *)
  Definition queued (c : nat) (l : atomic_log) : Prop := exists k t, replay k l = Some t /\ c ∈ waiting t.

  (** ** The shapes of a step *)
  Inductive shape (k : Z) (c : nat) (o : atomic_event) (t : queue) : queue -> Prop :=
  | shape_other : about o <> Some k -> c ∉ waiting t -> shape k c o t t
  | shape_count q n : about o <> Some k -> waiting t = c :: q -> first_phase t = Holds (S n) ->
      shape k c o t (Queue (served t) (c :: q) (Holds n))
  | shape_spin h q : o = ELoad (2 * k + 1) -> waiting t = h :: q -> c <> h -> c ∈ q -> shape k c o t t
  | shape_draw : o = EFetchAdd (2 * k) 1 -> c ∉ waiting t ->
      shape k c o t (Queue (served t) (waiting t ++ [c]) (first_phase t))
  | shape_served q : o = ELoad (2 * k + 1) -> waiting t = c :: q -> first_phase t = Waits ->
      shape k c o t (Queue (served t) (c :: q) Served)
  | shape_own q : o = EOwn k -> waiting t = c :: q -> first_phase t = Served ->
      shape k c o t (Queue (served t) (c :: q) (Holds (hold_bound k)))
  | shape_disown q n d : o = EDisown k d -> waiting t = c :: q -> first_phase t = Holds n ->
      shape k c o t (Queue (served t) (c :: q) Leaves)
  | shape_read q : o = ELoad (2 * k + 1) -> waiting t = c :: q -> first_phase t = Leaves ->
      shape k c o t (Queue (served t) (c :: q) Advances)
  | shape_advance q : o = EStore (2 * k + 1) (wrap W64 (served t + 1)) -> waiting t = c :: q ->
      first_phase t = Advances -> shape k c o t (Queue (served t + 1) q Waits).

  Lemma queue_step_shape k e t t' : queue_step k e t = Some t' -> shape k (who e) (what e) t t'.
  Proof.
    destruct t as [now ws ph], e as [c o]. unfold queue_step. cbn [who what].
    destruct (decide (about o = Some k)) as [Ha|Ha].
    - unfold own_event. cbn [served waiting first_phase].
      destruct o as [a|a v|a v|a v|a x v|k'|k' d|v]; simpl in Ha; try done; try injection Ha as Ha;
        destruct ws as [|h q]; try done.
      + destruct (decide (a = 2 * k + 1)) as [->|]; [|done]. destruct (decide (c = h)) as [->|Hne].
        * destruct ph; try done; intros [= <-]; [by eapply (shape_served _ _ _ (Queue _ _ _))|
            by eapply (shape_read _ _ _ (Queue _ _ _))].
        * destruct (decide (c ∈ q)); [|done]. intros [= <-]. by eapply (shape_spin _ _ _ (Queue _ _ _)).
      + destruct ph; try done. destruct (decide _) as [(-> & -> & ->)|]; [|done]. intros [= <-].
        by eapply (shape_advance _ _ _ (Queue _ _ _)).
      + destruct (decide _) as [(-> & -> & Hn)|]; [|done]. intros [= <-]. by apply (shape_draw k c _ (Queue now [] ph)).
      + destruct (decide _) as [(-> & -> & Hn)|]; [|done]. intros [= <-]. by apply (shape_draw k c _ (Queue now (h :: q) ph)).
      + subst. destruct ph; try done. destruct (decide (c = h)) as [->|]; [|done]. intros [= <-].
        by eapply (shape_own _ _ _ (Queue _ _ _)).
      + subst. destruct ph; try done. destruct (decide (c = h)) as [->|]; [|done]. intros [= <-].
        by eapply (shape_disown _ _ _ (Queue _ _ _)).
    - unfold other_event. cbn [served waiting first_phase]. destruct ws as [|h q].
      + intros [= <-]. apply shape_other; [done|]. by intros ?%elem_of_nil.
      + destruct (decide (c = h)) as [->|Hne].
        * destruct ph as [| |[|n]| |]; try done. intros [= <-]. by eapply (shape_count _ _ _ (Queue _ _ _)).
        * destruct (decide (c ∈ q)); [done|]. intros [= <-]. apply shape_other; [done|]. simpl.
          by intros [?|?]%elem_of_cons.
  Qed.

  Lemma replay_cons k e l t : replay k (e :: l) = Some t ->
    exists t0, replay k l = Some t0 /\ queue_step k e t0 = Some t.
  Proof. simpl. destruct (replay k l); [eauto|done]. Qed.

  (** Events about other locks leave the cells and the owner of lock [k] alone. *)
  Lemma value_other k i e l : 0 <= i < 2 -> about (what e) <> Some k ->
    atomic_value (2 * k + i) (e :: l) = atomic_value (2 * k + i) l.
  Proof.
    intros Hi Ha. destruct e as [c o]. simpl in *.
    assert (Hne : forall a, Some (a / 2) <> Some k -> (a =? 2 * k + i) = false).
    { intros a Hk. apply Z.eqb_neq. intros ->. apply Hk. f_equal. symmetry. apply (Z.div_unique _ _ _ i); lia. }
    destruct o as [a|a v|a v|a v|a x v|k'|k' d|v]; simpl in *; rewrite ?Hne by done; done.
  Qed.
  Lemma owner_other k e l : about (what e) <> Some k -> owner k (e :: l) = owner k l.
  Proof.
    destruct e as [c o]. destruct o; simpl; try done; intros Ha; rewrite (proj2 (Z.eqb_neq _ _)); congruence.
  Qed.

  (** Whose the lock is, by the queue. *)
  Definition queue_owner (t : queue) : option nat :=
    match waiting t, first_phase t with h :: _, Holds _ => Some h | _, _ => None end.

  Record replay_facts (k : Z) (l : atomic_log) (t : queue) : Prop := {
    rf_nodup : NoDup (waiting t);
    rf_drawn : atomic_value (2 * k + 0) l = wrap W64 (served t + Z.of_nat (length (waiting t)));
    rf_served : atomic_value (2 * k + 1) l = wrap W64 (served t);
    rf_owner : owner k l = queue_owner t;
    rf_moved c : c ∈ waiting t -> c ∈ (who <$> l);
    rf_empty : waiting t = [] -> first_phase t = Waits;
  }.

  Lemma wrap_succ x : wrap W64 (wrap W64 x + 1) = wrap W64 (x + 1).
  Proof. unfold wrap. by rewrite Zplus_mod_idemp_l. Qed.

  Theorem replay_invariant k l t : replay k l = Some t -> replay_facts k l t.
  Proof.
    revert t. induction l as [|e l IH]; intros t H.
    { injection H as <-. split; try done; try apply NoDup_nil_2; by intros c ?%elem_of_nil. }
    apply replay_cons in H as (t0 & H0 & Hs). destruct (IH _ H0) as [Hnd Hd Hsv Ho Hm He].
    apply queue_step_shape in Hs.
    assert (Hm' : forall c, c ∈ waiting t0 -> c ∈ (who <$> e :: l)) by (intros; right; auto).
    destruct Hs as [Ha Hc|q n Ha Hq Hp|h q Hev Hq Hne Hc|Hev Hc|q Hev Hq Hp|q Hev Hq Hp|q n d Hev Hq Hp|q Hev Hq Hp|q Hev Hq Hp].
    - split; rewrite ?value_other, ?owner_other by (done || lia); done.
    - unfold queue_owner in Ho. rewrite Hq in *. rewrite Hp in Ho.
      split; rewrite ?value_other, ?owner_other by (done || lia); done.
    - destruct e as [c o]. simpl in Hev. subst o. by split.
    - destruct e as [c o]. simpl in Hev, Hc, Hm' |- *. subst o. split; cbn [served waiting first_phase].
      + apply NoDup_app. split_and!; [done| |apply NoDup_singleton].
        intros x Hx ->%elem_of_list_singleton. done.
      + simpl. rewrite Z.add_0_r, Z.eqb_refl. rewrite Z.add_0_r in Hd. rewrite Hd, wrap_succ, app_length.
        f_equal. simpl. lia.
      + simpl. by rewrite (proj2 (Z.eqb_neq _ _)) by lia.
      + simpl. rewrite Ho. unfold queue_owner. simpl. destruct (waiting t0) as [|h q] eqn:E; [|done]. simpl. by rewrite He.
      + intros x [Hx|Hx]%elem_of_app; [by apply Hm'|]. apply elem_of_list_singleton in Hx as ->. left.
      + by destruct (waiting t0).
    - destruct e as [c o]. simpl in Hev. subst o. unfold queue_owner in Ho. rewrite Hq, Hp in *. by split.
    - destruct e as [c o]. simpl in Hev. subst o. unfold queue_owner in Ho. rewrite Hq, Hp in *. split; try done.
      simpl. by rewrite Z.eqb_refl.
    - destruct e as [c o]. simpl in Hev. subst o. unfold queue_owner in Ho. rewrite Hq, Hp in *. split; try done.
      simpl. by rewrite Z.eqb_refl.
    - destruct e as [c o]. simpl in Hev. subst o. unfold queue_owner in Ho. rewrite Hq, Hp in *. by split.
    - destruct e as [c o]. simpl in Hev, Hm' |- *. subst o. unfold queue_owner in Ho. rewrite Hq, Hp in *.
      apply NoDup_cons in Hnd as [_ Hnd]. split; cbn [served waiting first_phase]; try done.
      + simpl. rewrite (proj2 (Z.eqb_neq _ _)) by lia. rewrite Hd. f_equal. simpl. lia.
      + simpl. by rewrite Z.eqb_refl.
      + simpl. rewrite Ho. unfold queue_owner. simpl. by destruct q.
      + intros x Hx. apply Hm'. by right.
  Qed.
End protocol.
