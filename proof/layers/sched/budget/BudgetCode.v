(** Reservations: the C of [sched_budget.c] that reads no clock does what [BudgetSpec] says. *)
From Ashlar Require Export layers.sched.budget.BudgetSpec layers.sched.budget.Cpu.
Local Opaque gmap_lookup gmap_partial_alter.

Notation reserved r x := (holds "sched_reservation" r (reservation_fields x)).
(** The cells when reservation [r] has become [x]. *)
Definition stored (r : Z) (x : reservation) (d : mem) : mem := store_fields "sched_reservation" r (reservation_fields x) d.

Lemma stored_reserved r x d : reserved r x (stored r x d).
Proof. apply holds_stored, reservation_names. Qed.
Lemma stored_again r x y d : stored r y (stored r x d) = stored r y d.
Proof. by apply store_fields_again; [apply reservation_names|]. Qed.
Lemma stored_other r x d c : (forall f, c <> field_cell "sched_reservation" r f) -> stored r x d !! c = d !! c.
Proof. apply store_fields_other. Qed.
Lemma stored_cpu r x d f cpu : stored r x d !! cpu_cell f cpu = d !! cpu_cell f cpu.
Proof. apply stored_other. intros g. by unfold field_cell. Qed.

Lemma wrap64 v : 0 <= v < 2 ^ 64 -> wrap W64 v = v.
Proof. intros. by apply Z.mod_small. Qed.

(** After start-up no thread has a reservation. *)
Definition unreserved : reservation := Reservation 0 0 0 0 0 0 NONE 0.
(** What start-up makes is valid from then on: nothing is left, owed or spent, and the first period begins at the first refill. *)
Lemma unreserved_valid now : 0 <= now -> reservation_valid now unreserved.
Proof. unfold reservation_valid, reservation_ok, horizon. cbn. lia. Qed.
Lemma reserved_valid now t p b : 0 <= now -> 0 <= p < horizon -> 0 <= b < horizon ->
  reservation_valid now (take_back t (Reservation p b (time_left unreserved) (period_end unreserved) (debt unreserved) (used unreserved)
    (spends unreserved) (exempt unreserved))).
Proof. unfold reservation_valid, reservation_ok, horizon. cbn. lia. Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).

  Ltac enter code := eapply triple_owned; [by apply HM|done|]; unfold code; locals_simpl.
  Ltac close H :=
    split; [done|]; unfold stored; lazymatch type of H with reserved _ ?x _ => written_by (reservation_names x) H end.

  (** ** What a thread spends *)
  Theorem sched_payer_triple t x d : reserved t x d -> triple "sched_payer" [t] d (fun w d' => w = payer x /\ d' = d).
  Proof using HM.
    intros H. know H "exempt"%string. know H "spends"%string. enter sched_payer_code. unfold payer. step. step.
    destruct (exempt x =? 1); by repeat step.
  Qed.
  Theorem sched_budget_limited_triple t x d : reserved t x d ->
    triple "sched_budget_limited" [t] d (fun w d' => w = (if spends x =? NONE then 0 else 1) /\ d' = d).
  Proof using HM.
    intros H. know H "spends"%string. enter sched_budget_limited_code. step. step. unfold NONE. destruct (spends x =? 4294967295); by repeat step.
  Qed.
  Theorem sched_budget_exempt_triple t e x d : reserved t x d -> triple "sched_budget_exempt" [t; e] d (fun w d' => w = 0 /\
    d' = stored t (Reservation (period x) (budget x) (time_left x) (period_end x) (debt x) (used x) (spends x) e) d).
  Proof using HM. intros H. know H "exempt"%string. enter sched_budget_exempt_code. step. close H. done. Qed.
  Theorem sched_budget_take_back_triple t x d : reserved t x d ->
    triple "sched_budget_take_back" [t] d (fun w d' => w = 0 /\ d' = stored t (take_back t x) d).
  Proof using HM.
    intros H. know H "period"%string. know H "spends"%string. enter sched_budget_take_back_code. unfold take_back. do 3 step.
    destruct (period x =? 0); cbn [negb]; repeat step; by close H.
  Qed.
  Theorem sched_budget_borrow_triple t from x y d : reserved t x d -> reserved from y d ->
    triple "sched_budget_borrow" [t; from] d (fun w d' => w = 0 /\ d' = stored t (borrow (payer y) x) d).
  Proof using HM.
    intros H Hy. know H "period"%string. know H "spends"%string. enter sched_budget_borrow_code. unfold borrow. step.
    destruct (period x =? 0).
    - step. eapply owned_call_whole; [evaluate|by eapply sched_payer_triple|]. intros w d' [-> ->]. locals_simpl. step. by close H.
    - step. split; [done|]. symmetry. by apply holds_same.
  Qed.
  Theorem sched_reserve_triple t p b x d : reserved t x d -> triple "sched_reserve" [t; p; b] d (fun w d' => w = 0 /\
    d' = stored t (take_back t (Reservation p b (time_left x) (period_end x) (debt x) (used x) (spends x) (exempt x))) d).
  Proof using HM.
    intros H. know H "period"%string. know H "budget"%string. enter sched_reserve_code. do 4 step.
    set (y := Reservation p b (time_left x) (period_end x) (debt x) (used x) (spends x) (exempt x)).
    assert (<[("sched_reservation"%string, t, "budget"%string, 0) := b]> (<[("sched_reservation"%string, t, "period"%string, 0) := p]> d) = stored t y d) as ->.
    { unfold stored. written_by (reservation_names x) H. done. }
    eapply owned_call_whole; [evaluate|apply sched_budget_take_back_triple, stored_reserved|]. intros w d' [-> ->]. by rewrite stored_again.
  Qed.

  (** ** Periods and budgets *)
  Theorem sched_time_left_triple t r x d : reserved r x d -> reservation_ok x ->
    triple "sched_time_left" [t; r] d (fun w d' => w = time_for t r x /\ d' = d).
  Proof using HM.
    unfold reservation_ok, horizon. intros H (? & ? & ? & ? & ? & ?). know H "left"%string. know H "budget"%string. know H "debt"%string.
    enter sched_time_left_code. unfold time_for. do 8 step. destruct (negb (t =? r) && (debt x <? budget x)) eqn:Ecase; repeat step; [|done].
    apply andb_true_iff in Ecase as [_ Ecase%Z.ltb_lt]. rewrite (wrap64 (budget x - debt x)), wrap64 by lia. done.
  Qed.
  Theorem sched_refill_triple r now x d : reserved r x d -> reservation_ok x -> debt x < 2 ^ 64 -> 0 <= now < horizon ->
    triple "sched_refill" [r; now] d (fun w d' => w = 0 /\ d' = stored r (refill now x) d).
  Proof using HM.
    unfold reservation_ok, horizon. intros H (? & ? & ? & ? & ? & ?) Hd Hn.
    know H "period"%string. know H "budget"%string. know H "left"%string. know H "end"%string. know H "debt"%string.
    enter sched_refill_code. unfold refill. do 4 step. destruct (Z.ltb_spec now (period_end x)) as [Hlt|Hge].
    { step. split; [done|]. symmetry. by apply holds_same. }
    do 9 step. rewrite wrap64 by lia. unfold set_time.
    destruct (Z.leb_spec (period_end x + period x) now) as [Hgap|Hno]; do 3 step;
      (destruct (Z.ltb_spec (budget x) (debt x)); do 6 step; rewrite !wrap64 by lia;
        [rewrite Z.min_r by lia|rewrite Z.min_l by lia]; by close H).
  Qed.
  Theorem sched_spend_triple r ns x d : reserved r x d -> reservation_ok x -> 0 <= ns -> debt x + ns < 2 ^ 64 ->
    triple "sched_spend" [r; ns] d (fun w d' => w = 0 /\ d' = stored r (spend ns x) d).
  Proof using HM.
    unfold reservation_ok, horizon. intros H (? & ? & ? & ? & ? & ?) Hn Hd. know H "left"%string. know H "debt"%string.
    enter sched_spend_code. unfold spend, set_time. do 3 step. destruct (Z.leb_spec ns (time_left x)) as [Hle|Hgt].
    - step. rewrite wrap64 by lia. by close H.
    - do 3 step. rewrite (wrap64 (ns - time_left x)), wrap64 by lia. by close H.
  Qed.

  (** The reservation that is charged, for the time since the last charge. *)
  Theorem sched_charge_triple cpu r since now x d : d !! cpu_cell "charged" cpu = Some r -> d !! cpu_cell "since" cpu = Some since ->
    reserved r x d -> 0 <= since <= now -> now < horizon -> reservation_valid since x ->
    triple "sched_charge" [cpu; now] d (fun w d' => w = 0 /\ d' = <[cpu_cell "since" cpu := now]> (stored r (charge since now x) d)).
  Proof using HM.
    intros Hr Hs H Ht Hh (Hok & Hdebt & Hused). know H "end"%string. know H "used"%string. enter sched_charge_code. unfold horizon in Hh.
    step. eapply owned_call_whole; [evaluate|by apply sched_cpu_charged_triple|]. intros w d1 [-> ->]. locals_simpl.
    step. eapply owned_call_whole; [evaluate|by apply sched_cpu_since_triple|]. intros w d1 [-> ->]. locals_simpl.
    do 4 step. pose proof Hok as (_ & _ & _ & _ & Hd0 & Hu0). rewrite (wrap64 (now - since)), wrap64 by lia.
    assert (reservation_ok (count (now - since) x)) as Hc by (apply count_ok; [lia|done]).
    set (y := count (now - since) x) in *.
    assert (<[("sched_reservation"%string, r, "used"%string, 0) := used x + (now - since)]> d = stored r y d) as ->.
    { unfold stored. written_by (reservation_names x) H. done. }
    assert (debt y = debt x /\ period_end y = period_end x) as [Ed Ee] by done. unfold charge. fold y. clearbody y.
    assert (is_Some (d !! cpu_cell "since" cpu)) as Hsince by (by eexists).
    assert (forall z, is_Some (stored r z d !! cpu_cell "since" cpu)) as Hkeep by (intros; by rewrite stored_cpu).
    do 2 step. destruct ((since <? period_end x) && (period_end x <=? now)) eqn:Ecase.
    - apply andb_true_iff in Ecase as [E1%Z.ltb_lt E2%Z.leb_le].
      destruct (spend_exact (period_end x - since) y) as (Ha & _ & _ & _ & _ & _ & Hda); [lia|done|].
      step. eapply owned_call_whole; [evaluate|rewrite wrap64 by lia; apply (sched_spend_triple r (period_end x - since) y); [apply stored_reserved|done|lia|lia]|].
      intros w d1 [-> ->]. locals_simpl. rewrite stored_again. step. step.
      destruct (refill_gives now (spend (period_end x - since) y)) as (Hb & _ & _ & _ & Hdb & _); [unfold horizon; lia|done|].
      eapply owned_call_whole; [evaluate|apply sched_refill_triple; [apply stored_reserved|done|lia|unfold horizon; lia]|].
      intros w d1 [-> ->]. locals_simpl. rewrite stored_again. step.
      eapply owned_call_whole; [evaluate|rewrite wrap64 by lia; apply sched_spend_triple; [apply stored_reserved|done|lia|lia]|].
      intros w d1 [-> ->]. locals_simpl. rewrite stored_again.
      eapply owned_call_whole; [evaluate|apply sched_cpu_set_since_triple; [exact HM|apply Hkeep]|]. by intros w d1 [-> ->].
    - step. step. destruct (refill_gives now y) as (Hb & _ & _ & _ & Hdb & _); [unfold horizon; lia|done|].
      eapply owned_call_whole; [evaluate|apply sched_refill_triple; [apply stored_reserved|done|lia|unfold horizon; lia]|].
      intros w d1 [-> ->]. locals_simpl. rewrite stored_again. step.
      eapply owned_call_whole; [evaluate|rewrite wrap64 by lia; apply sched_spend_triple; [apply stored_reserved|done|lia|lia]|].
      intros w d1 [-> ->]. locals_simpl. rewrite stored_again.
      eapply owned_call_whole; [evaluate|apply sched_cpu_set_since_triple; [exact HM|apply Hkeep]|]. by intros w d1 [-> ->].
  Qed.

  (** ** Start-up *)
  Theorem sched_budget_init_triple d :
    (forall t, 0 <= t < NUM_THREAD -> has_fields "sched_reservation" t (reservation_fields unreserved).*1 d) ->
    triple "sched_budget_init" [] d (fun w d' => w = 0 /\
      d' = filled "sched_reservation" (fun _ => reservation_fields unreserved) 0 NUM_THREAD d).
  Proof using HM.
    unfold NUM_THREAD. intros Hall. enter sched_budget_init_code. step. step. set (l := fun _ : Z => reservation_fields unreserved).
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [i] /\ d1 = filled "sched_reservation" l 0 i d) 0); [lia| | | |].
    { split; [done|]. by rewrite filled_none. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi [-> ->].
      assert (has_fields "sched_reservation" i (reservation_fields unreserved).*1 (filled "sched_reservation" l 0 i d)) as H
        by (apply filled_has, Hall; lia).
      repeat store_step H. rewrite wrap32_next by lia. split; [done|]. by rewrite filled_next by lia. }
    by intros r d1 [-> ->].
  Qed.
End proof.
