(** Reservations: what a charge does to one, and what a thread can get out of it.

    Times are nanoseconds since boot. [reservation_valid now x]: what holds at time [now]; all times are below [2 ^ 62], which is
    146 years, so that no sum of two wraps around. *)
From Ashlar Require Export lang.logic.Structs lang.Constants.

Record reservation := Reservation {
  period : Z; budget : Z; (* constant; period 0: the thread has none *)
  time_left : Z; (* of this period's budget *)
  period_end : Z; debt : Z; (* time run beyond the budget, which later ones are shortened by *)
  used : Z; spends : Z; exempt : Z }.
Add Printing Constructor reservation.

Definition reservation_fields (x : reservation) : list (string * Z) :=
  [("period", period x); ("budget", budget x); ("left", time_left x); ("end", period_end x); ("debt", debt x); ("used", used x);
   ("spends", spends x); ("exempt", exempt x)]%string.
Lemma reservation_names x : NoDup (reservation_fields x).*1.
Proof. names. Qed.

Definition horizon : Z := 2 ^ 62.
Definition reservation_ok (x : reservation) : Prop :=
  0 <= period x < horizon /\ 0 <= time_left x <= budget x /\ budget x < horizon /\ 0 <= period_end x < 2 * horizon /\ 0 <= debt x /\ 0 <= used x.
Definition reservation_valid (now : Z) (x : reservation) : Prop := reservation_ok x /\ debt x <= now /\ used x <= now.

(** ** The functions *)

Definition set_time (left until owed total : Z) (x : reservation) : reservation :=
  Reservation (period x) (budget x) left until owed total (spends x) (exempt x).

(** [sched_refill]: if the period has ended, the next one begins, at the end of this one or, after a gap, now. *)
Definition refill (now : Z) (x : reservation) : reservation :=
  if now <? period_end x then x else
  let start := if period_end x + period x <=? now then now else period_end x in
  let taken := Z.min (debt x) (budget x) in
  set_time (budget x - taken) (start + period x) (debt x - taken) (used x) x.
(** [sched_spend] *)
Definition spend (ns : Z) (x : reservation) : reservation :=
  if ns <=? time_left x then set_time (time_left x - ns) (period_end x) (debt x) (used x) x
  else set_time 0 (period_end x) (debt x + (ns - time_left x)) (used x) x.
(** [sched_charge], for the time from [since] to [now]: what was run before the period's end is of its budget. *)
Definition count (ns : Z) (x : reservation) : reservation := set_time (time_left x) (period_end x) (debt x) (used x + ns) x.
Definition charge (since now : Z) (x : reservation) : reservation :=
  let y := count (now - since) x in
  if (since <? period_end x) && (period_end x <=? now)
  then spend (now - period_end x) (refill now (spend (period_end x - since) y))
  else spend (now - since) (refill now y).

(** [sched_payer]: the reservation that a thread spends. *)
Definition payer (x : reservation) : Z := if exempt x =? 1 then NONE else spends x.
(** [sched_time_left]: what thread [t] may run on reservation [r]; who borrows it, one more budget in advance. *)
Definition time_for (t r : Z) (x : reservation) : Z :=
  if negb (t =? r) && (debt x <? budget x) then time_left x + (budget x - debt x) else time_left x.

Definition set_spends (r : Z) (x : reservation) : reservation :=
  Reservation (period x) (budget x) (time_left x) (period_end x) (debt x) (used x) r (exempt x).
(** [sched_budget_take_back] *)
Definition take_back (t : Z) (x : reservation) : reservation := set_spends (if period x =? 0 then NONE else t) x.
(** [sched_budget_borrow], from a thread that spends [r] *)
Definition borrow (r : Z) (x : reservation) : reservation := if period x =? 0 then set_spends r x else x.

(** ** Each step *)

Lemma spend_exact ns x : 0 <= ns -> reservation_ok x ->
  let y := spend ns x in
  reservation_ok y /\ period y = period x /\ budget y = budget x /\ period_end y = period_end x /\ used y = used x /\
  time_left y - debt y = time_left x - debt x - ns /\ debt x <= debt y <= debt x + ns.
Proof.
  unfold reservation_ok, spend. intros Hn (? & ? & ? & ? & ? & ?). destruct (Z.leb_spec ns (time_left x)); cbn; split_and!; lia.
Qed.
(** A refill gives at most one budget, and that where a period has ended. *)
Lemma refill_gives now x : 0 <= now < horizon -> reservation_ok x ->
  let y := refill now x in
  reservation_ok y /\ period y = period x /\ budget y = budget x /\ used y = used x /\ debt y <= debt x /\
  exists k, 0 <= k <= 1 /\ time_left y - debt y <= time_left x - debt x + budget x * k /\
    period_end x + k * period x <= period_end y /\ (0 < k -> period_end x <= now).
Proof.
  unfold reservation_ok, refill, horizon. intros Hn (? & ? & ? & ? & ? & ?). destruct (Z.ltb_spec now (period_end x)).
  { split_and!; try lia. exists 0. lia. }
  cbn. set (start := if period_end x + period x <=? now then now else period_end x).
  assert (period_end x <= start <= now) as Hs by (unfold start; destruct (Z.leb_spec (period_end x + period x) now); lia). clearbody start.
  split_and!; try lia. exists 1. lia.
Qed.
Lemma count_ok ns x : 0 <= ns -> reservation_ok x -> reservation_ok (count ns x).
Proof. unfold reservation_ok, count. cbn. intuition lia. Qed.

(** A charge as a whole: it spends the time that has passed. *)
Lemma charge_gives since now x : 0 <= since <= now -> now < horizon -> reservation_ok x ->
  let y := charge since now x in
  reservation_ok y /\ period y = period x /\ budget y = budget x /\ used y = used x + (now - since) /\ debt y <= debt x + (now - since) /\
  exists k, 0 <= k <= 1 /\ time_left y - debt y <= time_left x - debt x - (now - since) + budget x * k /\
    period_end x + k * period x <= period_end y /\ (0 < k -> period_end x <= now).
Proof.
  intros Hs Hn Hx. unfold charge. assert (reservation_ok (count (now - since) x)) as H0 by (by apply count_ok; [lia|]).
  set (c := count (now - since) x) in *.
  assert (period c = period x /\ budget c = budget x /\ time_left c = time_left x /\ debt c = debt x /\ period_end c = period_end x /\ used c = used x + (now - since))
    as (Ec1 & Ec2 & Ec3 & Ec4 & Ec5 & Ec6) by done. clearbody c.
  destruct ((since <? period_end x) && (period_end x <=? now)) eqn:E.
  - apply andb_true_iff in E as [E1%Z.ltb_lt E2%Z.leb_le].
    destruct (spend_exact (period_end x - since) c) as (Ha & ? & ? & ? & ? & ? & ?); [lia|done|]. set (d := spend _ c) in *. clearbody d.
    destruct (refill_gives now d) as (Hb & ? & ? & ? & ? & k & ? & ? & ? & ?); [lia|done|]. set (e := refill now d) in *. clearbody e.
    destruct (spend_exact (now - period_end x) e) as (Hc & ? & ? & ? & ? & ? & ?); [lia|done|]. set (f := spend _ e) in *. clearbody f.
    split_and!; try done; try lia. exists k. rewrite <- Ec1, <- Ec2 in *. split_and!; [lia..|]. intros. lia.
  - destruct (refill_gives now c) as (Hb & ? & ? & ? & ? & k & ? & ? & ? & ?); [lia|done|]. set (e := refill now c) in *. clearbody e.
    destruct (spend_exact (now - since) e) as (Hc & ? & ? & ? & ? & ? & ?); [lia|done|]. set (f := spend _ e) in *. clearbody f.
    split_and!; try done; try lia. exists k. rewrite <- Ec1, <- Ec2 in *. split_and!; [lia..|]. intros. lia.
Qed.

Theorem refill_valid now x : 0 <= now < horizon -> reservation_valid now x -> reservation_valid now (refill now x).
Proof. intros Hn (Hx & Hd & Hu). destruct (refill_gives now x Hn Hx) as (Hy & ? & ? & ? & ? & _). split_and!; [done|lia..]. Qed.
Theorem charge_valid since now x : 0 <= since <= now -> now < horizon -> reservation_valid since x -> reservation_valid now (charge since now x).
Proof. intros Hs Hn (Hx & Hd & Hu). destruct (charge_gives since now x Hs Hn Hx) as (Hy & ? & ? & ? & ? & _). split_and!; [done|lia..]. Qed.
Lemma valid_later now now' x : now <= now' -> reservation_valid now x -> reservation_valid now' x.
Proof. intros Hn (? & ? & ?). split_and!; [done|lia..]. Qed.

(** ** Temporal isolation *)

(** What happens to a reservation: it is asked whether it has time left, or charged for a time that has passed. *)
Inductive happening := Refilled (now : Z) | Charged (since now : Z).
Definition happens (e : happening) (x : reservation) : reservation :=
  match e with Refilled now => refill now x | Charged since now => charge since now x end.
(** From time [t] to time [t'], one after the other. *)
Fixpoint ordered (t : Z) (l : list happening) (t' : Z) : Prop :=
  match l with
  | [] => t <= t'
  | Refilled now :: l => t <= now /\ ordered now l t'
  | Charged since now :: l => t <= since <= now /\ ordered now l t'
  end.
Definition history (l : list happening) (x : reservation) : reservation := foldl (fun x e => happens e x) x l.

(** Whatever happens from time [t] to time [t'], no more time is spent than what was left of the period, and a budget for each
    period that has begun since; but for what was run too long, because an alarm was served late, which is the growth of the debt and
    shortens later budgets. Of periods that have begun, the first began when the old one had ended, and each later one a period later. *)
Theorem temporal_isolation l t x t' : ordered t l t' -> 0 <= t -> t' < horizon -> reservation_ok x ->
  exists k, 0 <= k /\ used (history l x) - used x <= time_left x + budget x * k + (debt (history l x) - debt x) /\
    (0 < k -> period_end x + (k - 1) * period x <= t').
Proof.
  intros Ho Ht Hh Hx.
  assert (t <= t' /\ reservation_ok (history l x) /\ exists k, 0 <= k /\
    used (history l x) - used x + time_left (history l x) <= time_left x + budget x * k + (debt (history l x) - debt x) /\
    (0 < k -> period_end x + (k - 1) * period x <= t')) as (_ & (_ & [? _] & _) & k & ? & ? & ?); [|exists k; split_and!; [done|lia|done]].
  revert t x Ho Ht Hx. induction l as [|e l IH]; intros t x Ho Ht Hx.
  { split; [exact Ho|]. split; [exact Hx|]. exists 0. simpl. lia. }
  assert (exists u, t <= u /\ ordered u l t' /\ (u < horizon -> reservation_ok (happens e x) /\ period (happens e x) = period x /\
    budget (happens e x) = budget x /\ exists k, 0 <= k <= 1 /\
    used (happens e x) - used x + (time_left (happens e x) - debt (happens e x)) <= time_left x - debt x + budget x * k /\
    period_end x + k * period x <= period_end (happens e x) /\ (0 < k -> period_end x <= u))) as (u & Hu & Hr & Hgive).
  { destruct e as [now|since now]; simpl in Ho; exists now.
    - destruct Ho as [? Ho]. split_and!; [done..|]. intros Hn. destruct (refill_gives now x) as (? & ? & ? & ? & ? & k & ? & ? & ? & ?); [lia|done|].
      simpl. split_and!; try done. exists k. split_and!; [lia..|done].
    - destruct Ho as [? Ho]. split_and!; [lia|done|]. intros Hn. destruct (charge_gives since now x) as (? & ? & ? & ? & ? & k & ? & ? & ? & ?); [lia|done|done|].
      simpl. split_and!; try done. exists k. split_and!; [lia..|done]. }
  assert (u <= t') as Hut.
  { clear - Hr. revert u Hr. induction l as [|[now|since now] l IH]; simpl; intros u; [done| |]; intros [? H%IH]; lia. }
  destruct Hgive as (Hok & Ep & Eb & k & Hk & Hgive & Hend & Hfirst); [lia|].
  simpl. destruct (IH u (happens e x) Hr) as (_ & Hok' & k' & Hk' & Huse & Hlast); [lia|done|].
  split; [lia|]. split; [exact Hok'|]. exists (k + k'). rewrite Eb, Ep in *. split_and!; [lia|lia|]. intros Hpos.
  destruct (decide (k' = 0)) as [->|Hne]; [assert (k = 1) as -> by lia; lia|]. specialize (Hlast ltac:(lia)). lia.
Qed.
