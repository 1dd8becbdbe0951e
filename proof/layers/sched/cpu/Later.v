(** What time does to the reservations of a CPU, from one state of its scheduler to a later one.

    [later X Y]: of each of its threads' reservations, [Y] has what becomes of [X]'s if it is charged, and asked for time, in turn
    ([happening]), up to the time to which it has been accounted for. [temporal_isolation] bounds what is taken from it meanwhile. *)
From Ashlar Require Export layers.sched.cpu.CpuState.
From stdpp Require Import tactics.
Local Open Scope Z_scope.

(** Two records of one reservation differ in nothing but whose it is to spend. *)
Definition same_time (x y : reservation) : Prop := period y = period x /\ budget y = budget x /\ time_left y = time_left x /\
  period_end y = period_end x /\ debt y = debt x /\ used y = used x.
Lemma same_time_trans x y z : same_time x y -> same_time y z -> same_time x z.
Proof. unfold same_time. intuition congruence. Qed.
Lemma refill_same_time now x y : same_time x y -> same_time (refill now x) (refill now y).
Proof. destruct x, y. intros (? & ? & ? & ? & ? & ?). cbn in *. subst. unfold refill. cbn. by destruct (Z.ltb now _). Qed.
Lemma spend_same_time ns x y : same_time x y -> same_time (spend ns x) (spend ns y).
Proof. destruct x, y. intros (? & ? & ? & ? & ? & ?). cbn in *. subst. unfold spend. cbn. by destruct (Z.leb ns _). Qed.
Lemma charge_same_time since now x y : same_time x y -> same_time (charge since now x) (charge since now y).
Proof.
  intros H. assert (same_time (count (now - since) x) (count (now - since) y)) as Hc by (destruct x, y; destruct H as (? & ? & ? & ? & ? & ?); cbn in *; by subst).
  unfold charge. rewrite (proj1 (proj2 (proj2 (proj2 H)))). destruct (_ && _); by repeat first [apply spend_same_time|apply refill_same_time].
Qed.
Lemma history_same_time l x y : same_time x y -> same_time (history l x) (history l y).
Proof.
  revert x y. induction l as [|e l IH]; intros x y H; [done|]. simpl. apply IH. destruct e; [by apply refill_same_time|by apply charge_same_time].
Qed.
Lemma ordered_app t l u l' v : ordered t l u -> ordered u l' v -> ordered t (l ++ l') v.
Proof.
  revert t. induction l as [|[now|since now] l IH]; intros t; simpl.
  - intros Ht. destruct l' as [|[now|since now] l']; simpl; [lia|intuition lia|intuition lia].
  - intros [? H]. split; [done|]. by apply IH.
  - intros [? H]. split; [done|]. by apply IH.
Qed.

(** Up to when [t]'s reservation has been accounted for: what is being charged is charged from [since] on. *)
Definition accounted_until (X : cpu_state) (t : Z) : Z := if t =? word X "charged" then word X "since" else word X "arch_clock".
(** What happens to [t]'s reservation from [X] to [Y]. *)
Definition happened (X Y : cpu_state) (t : Z) : Prop := exists l,
  ordered (accounted_until X t) l (accounted_until Y t) /\ same_time (history l (reservation_of X t)) (reservation_of Y t).
Definition later (X Y : cpu_state) : Prop := forall t, happened X Y t.

Lemma happened_trans X Y Z t : happened X Y t -> happened Y Z t -> happened X Z t.
Proof.
  intros (l1 & O1 & S1) (l2 & O2 & S2). exists (l1 ++ l2). split; [by eapply ordered_app|].
  unfold history. rewrite foldl_app. eapply same_time_trans; [|exact S2]. by apply history_same_time.
Qed.
Lemma later_trans X Y Z : later X Y -> later Y Z -> later X Z.
Proof. intros H1 H2 t. by apply (happened_trans X Y). Qed.
(** Nothing happens to reservations, but that time may pass. *)
Lemma later_same X Y : (forall t, same_time (reservation_of X t) (reservation_of Y t)) -> word Y "charged" = word X "charged" -> word Y "since" = word X "since" ->
  word X "arch_clock" <= word Y "arch_clock" -> later X Y.
Proof. intros Hr Ec Es Hn t. unfold happened, accounted_until. exists []. split; [|apply Hr]. rewrite Ec, Es. simpl. destruct (_ =? _); lia. Qed.
Lemma later_refl X : later X X.
Proof. apply later_same; [|done..|lia]. intros t. by split_and!. Qed.
(** A loan begins or ends. *)
Lemma later_spends t y X : same_time (reservation_of X t) y -> later X (set_reservation t y X).
Proof. intros H. apply later_same; [|done..|cbn; lia]. intros u. cbn. destruct (Z.eqb_spec u t) as [->|]; [exact H|by split_and!]. Qed.

(** ** A charge, and what is not charged *)
Definition payer_of (X : cpu_state) (t : Z) : Z := payer (reservation_of X t).
Definition charged_at (now r : Z) (X : cpu_state) : cpu_state :=
  set_word "since" now (set_reservation r (charge (word X "since") now (reservation_of X r)) X).
Lemma later_charged now r X : word X "charged" = r -> word X "since" <= now -> later X (charged_at now r X).
Proof.
  intros Hr Hn t. unfold happened, accounted_until, charged_at. cbn. rewrite Hr.
  destruct (Z.eqb_spec t r) as [->|]; [exists [Charged (word X "since") now]|exists []]; (split; [cbn; lia|by split_and!]).
Qed.
Lemma later_refilled now r X : word X "charged" <> r -> word X "arch_clock" = now -> later X (set_reservation r (refill now (reservation_of X r)) X).
Proof.
  intros Hr <- t. unfold happened, accounted_until. cbn. destruct (Z.eqb_spec t r) as [->|_].
  - rewrite (proj2 (Z.eqb_neq r _)) by congruence. exists [Refilled (word X "arch_clock")]. split; [cbn; lia|by split_and!].
  - exists []. split; [cbn; destruct (_ =? _); lia|by split_and!].
Qed.
Lemma later_clock now X : word X "arch_clock" <= now -> later X (set_word "arch_clock" now X).
Proof. intros Hn. by apply later_same; [|done..|exact Hn]. Qed.
