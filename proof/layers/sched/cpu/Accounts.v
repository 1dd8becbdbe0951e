(** Reservations and clocks of a CPU's threads, while time passes and is charged: they stay valid, and nothing else changes. *)
From Ashlar Require Export layers.sched.cpu.DecideCode.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma best_floor s cpu : ready_best s cpu <= ARCH_FLOOR_NONE.
Proof. destruct (ready_best_spec s cpu) as [[-> _]|(p & t & l & -> & Hp & _)]; unfold ARCH_FLOOR_NONE, NUM_PRIORITY in *; lia. Qed.

Section accounts.
  Context (this : nat) (ours : Z -> Prop).

  (** ** Reservations and clocks *)
  (** The reservations of the CPU's threads are valid, and spent by its own threads. *)
  Record accounts_valid (X : cpu_state) : Prop := {
    valid_time : time_ok X;
    valid_reservations : forall t, ours t ->
      reservation_valid (word X "since") (reservation_of X t) /\ (payer_of X t = NONE \/ ours (payer_of X t));
    valid_charged : word X "charged" = NONE \/ ours (word X "charged") }.

  Lemma valid_payer X t : accounts_valid X -> ours t -> payer_ok ours X (payer_of X t).
  Proof using. intros [_ Hr _] Ht. destruct (Hr t Ht) as [_ [?|Ho]]; [by left|right]. split; [done|]. by apply Hr. Qed.
  Lemma valid_payer_charged X : accounts_valid X -> payer_ok ours X (word X "charged").
  Proof using. intros [_ Hr [?|Ho]]; [by left|right]. split; [done|]. by apply Hr. Qed.

  Lemma accounts_step X Y : accounts_valid X -> word X "since" <= word Y "since" <= word Y "arch_clock" -> word Y "arch_clock" < horizon ->
    (forall t, ours t -> reservation_valid (word Y "since") (reservation_of Y t) /\ payer_of Y t = payer_of X t) ->
    (word Y "charged" = NONE \/ ours (word Y "charged")) -> accounts_valid Y.
  Proof using.
    intros [[Hs Hc] Hr _] Hn Hh Hv Hch. split; [unfold time_ok; lia| |done]. intros t Ht. destruct (Hv t Ht) as [? ->]. split; [done|]. by apply Hr.
  Qed.
  Lemma accounts_same X Y : accounts_valid X -> word Y "since" = word X "since" -> word Y "charged" = word X "charged" ->
    word X "arch_clock" <= word Y "arch_clock" < horizon -> reservation_of Y = reservation_of X -> accounts_valid Y.
  Proof using.
    intros HX E1 E2 Hn Er. pose proof HX as [[Hs Hc] Hr Hch]. apply (accounts_step X); [done|lia|lia| |by rewrite E2].
    intros t Ht. unfold payer_of. rewrite Er, E1. split; [by apply Hr|done].
  Qed.

  (** What stays when only time passes and is charged. *)
  Record same_place (X Y : cpu_state) : Prop := {
    same_queues : queues Y = queues X; same_timeouts : timeouts Y = timeouts X; same_running : word Y "running" = word X "running";
    same_kept : word Y "kept" = word X "kept"; same_current : word Y "arch_current" = word X "arch_current";
    same_floor : word Y "arch_floor" = word X "arch_floor"; same_mark : word Y "arch_need_resched" = word X "arch_need_resched" }.
  Lemma place_trans X Y Z : same_place X Y -> same_place Y Z -> same_place X Z.
  Proof using. intros [] []. split; congruence. Qed.

  Lemma refill_valid since now x : 0 <= now < horizon -> reservation_valid since x -> reservation_valid since (refill now x).
  Proof using. intros Hn (Hok & Hd & Hu). destruct (refill_gives now x Hn Hok) as (Hok' & _ & _ & U & D & _). split_and!; [done|lia..]. Qed.
  Lemma refill_payer now x : payer (refill now x) = payer x.
  Proof using. destruct (refill_spends now x). by apply payer_same. Qed.
  Lemma charge_payer since now x : payer (charge since now x) = payer x.
  Proof using. destruct (charge_spends since now x). by apply payer_same. Qed.

  Lemma accounts_has_time X t has Y : accounts_valid X -> ours t -> has_time t X has Y -> accounts_valid Y /\ same_place X Y.
  Proof using.
    intros HX Ht Hh. pose proof HX as [[Hs Hc] Hr Hch]. unfold has_time in Hh. cbn zeta in Hh.
    destruct Hh as [(_ & _ & ->)|(Hne & now & Hnow & -> & _)]; [done|].
    destruct (Hr t Ht) as [_ [?|Ho]]; [done|]. set (r := payer_of X t) in *. clearbody r. destruct (Hr r Ho) as [Hv _]. unfold clock_says in Hnow.
    unfold charged_at. destruct (r =? word X "charged"); (split; [|by split]).
    - apply (accounts_step X); [done|cbn; lia|cbn; lia| |done]. intros u Hu. unfold payer_of. cbn. destruct (Z.eqb_spec u r) as [->|].
      + split; [apply charge_valid; [lia|lia|done]|apply charge_payer].
      + split; [|done]. apply (valid_later (word X "since")); [lia|]. by apply Hr.
    - apply (accounts_step X); [done|cbn; lia|cbn; lia| |done]. intros u Hu. unfold payer_of. cbn. destruct (Z.eqb_spec u r) as [->|].
      + split; [apply refill_valid; [lia|done]|apply refill_payer].
      + split; [|done]. by apply Hr.
  Qed.
  Lemma accounts_switched X t Y : accounts_valid X -> ours t -> switched_to t X Y -> accounts_valid Y /\ same_place X Y.
  Proof using.
    intros HX Ht Hsw. pose proof HX as [[Hs Hc] Hr Hch]. unfold switched_to in Hsw. cbn zeta in Hsw. destruct (Hr t Ht) as [_ Hp].
    set (r := payer_of X t) in *. clearbody r. destruct Hsw as [[_ ->]|(Hne & now & Hnow & ->)].
    { destruct (r =? NONE); [done|]. split; [|by split]. by apply (accounts_same X); cbn. }
    unfold clock_says in Hnow. set (X1 := set_word "arch_clock" now X).
    set (X2 := if word X "charged" =? NONE then X1 else charged_at now (word X "charged") X1).
    assert (same_place X X2 /\ word X2 "arch_clock" = now /\ forall u, ours u ->
      reservation_valid now (reservation_of X2 u) /\ payer (reservation_of X2 u) = payer (reservation_of X u)) as (Hp2 & Ec2 & Hr2).
    { unfold X2. destruct (Z.eqb_spec (word X "charged") NONE) as [E|E]; (split; [by split|]; split; [done|]); intros u Hu; destruct (Hr u Hu) as [Hv _].
      - split; [|done]. apply (valid_later (word X "since")); [lia|done].
      - destruct Hch as [?|Hch]; [done|]. unfold charged_at. cbn. destruct (Z.eqb_spec u (word X "charged")) as [->|].
        + split; [apply charge_valid; [lia|lia|done]|apply charge_payer].
        + split; [|done]. apply (valid_later (word X "since")); [lia|done]. }
    clearbody X2. unfold spent_at. destruct (Z.eqb_spec r NONE) as [->|Hr0].
    - split; [|by destruct Hp2]. apply (accounts_step X); [done|cbn; lia|cbn; lia| |by left]. intros u Hu. by apply Hr2.
    - destruct Hp as [?|Hp]; [done|]. split; [|by destruct Hp2]. apply (accounts_step X); [done|cbn; lia|cbn; lia| |by right].
      intros u Hu. unfold payer_of. cbn. destruct (Z.eqb_spec u r) as [->|]; [|by apply Hr2]. split; [|apply refill_payer].
      apply (valid_later (word X "since")); [lia|]. apply refill_valid; [lia|]. by apply Hr.
  Qed.
  Lemma accounts_slice X Y : accounts_valid X -> slice_begun this X Y -> accounts_valid Y /\ same_place X Y.
  Proof using.
    intros HX H. unfold slice_begun in H. destruct (_ && _); [|by subst Y]. destruct H as (now & Hnow & ->). unfold clock_says in Hnow.
    split; [|by split]. apply (accounts_same X); [done|done|done|cbn; lia|done].
  Qed.
  Lemma accounts_word f v X : accounts_valid X -> f <> "since"%string -> f <> "charged"%string -> f <> "arch_clock"%string -> accounts_valid (set_word f v X).
  Proof using.
    intros HX H1 H2 H3. pose proof HX as [[Hs Hc] _ _].
    assert (forall g, f <> g -> word (set_word f v X) g = word X g) as E by (intros g Hg; cbn; by destruct (String.eqb_spec g f)).
    apply (accounts_same X); [done|by rewrite E|by rewrite E|rewrite E by done; lia|done].
  Qed.

  (** Whom time is charged to stays, and who pays for whom. *)
  Definition same_payers (X Y : cpu_state) : Prop := word Y "charged" = word X "charged" /\ forall t, payer_of Y t = payer_of X t.
  Lemma payers_trans X Y Z : same_payers X Y -> same_payers Y Z -> same_payers X Z.
  Proof using. intros [E1 P1] [E2 P2]. split; [congruence|]. intros t. by rewrite P2. Qed.
  Lemma payers_charged now r X : same_payers X (charged_at now r X).
  Proof using. split; [done|]. intros t. unfold payer_of, charged_at. cbn. destruct (Z.eqb_spec t r) as [->|]; [apply charge_payer|done]. Qed.
  Lemma payers_has_time t X has Y : has_time t X has Y -> same_payers X Y.
  Proof using.
    unfold has_time. cbn zeta. intros [(_ & _ & ->)|(_ & now & _ & -> & _)]; [by split|]. destruct (_ =? _).
    - by apply (payers_trans X (set_word "arch_clock" now X)); [|apply payers_charged].
    - split; [done|]. intros u. unfold payer_of. cbn. destruct (Z.eqb_spec u (payer (reservation_of X t))) as [->|]; [apply refill_payer|done].
  Qed.
  Lemma payers_slice X Y : slice_begun this X Y -> same_payers X Y.
  Proof using. unfold slice_begun. destruct (_ && _); [|by intros ->]. by intros (now & _ & ->). Qed.
  (** From then on the time of [t] is charged. *)
  Lemma payers_switched t X Y : switched_to t X Y -> word Y "charged" = payer_of X t /\ forall u, payer_of Y u = payer_of X u.
  Proof using.
    unfold switched_to. cbn zeta. intros [[E ->]|(_ & now & _ & ->)].
    - destruct (_ =? _); by split.
    - set (X1 := if word X "charged" =? NONE then _ else _). assert (forall u, payer_of X1 u = payer_of X u) as E.
      { intros u. unfold X1. destruct (_ =? _); [done|]. by rewrite (proj2 (payers_charged _ _ _)). }
      clearbody X1. unfold spent_at. destruct (Z.eqb_spec (payer_of X t) NONE) as [En|En]; (split; [done|]); intros u; [by apply E|].
      unfold payer_of at 1. cbn. destruct (Z.eqb_spec u (payer_of X t)) as [->|]; [by rewrite refill_payer|by apply E].
  Qed.
  Lemma payers_set_to_run next X Y : set_to_run this next X Y -> word Y "charged" = payer_of Y next /\ forall u, payer_of Y u = payer_of X u.
  Proof using.
    intros (X2 & H2 & Z & floor & H3 & ->). set (X1 := new_slice (level_of next X) X) in *. assert (same_payers X X2) as [Ec Ep].
    { destruct (_ =? _); [|by subst X2]. apply (payers_trans X X1); [by split|by apply payers_slice]. }
    assert (word Z "charged" = payer_of Z next /\ forall u, payer_of Z u = payer_of X2 u) as [E1 E2].
    { destruct ((_ =? NONE) && (_ =? NONE)) eqn:E; [|destruct H3 as [_ [Ea Eb]%payers_switched]; by rewrite Ea, Eb]. destruct H3 as [_ ->].
      apply andb_true_iff in E as [Es%Z.eqb_eq Eh%Z.eqb_eq]. split; [|done]. rewrite Eh. unfold payer_of, payer. destruct (_ =? 1); [done|by rewrite Es]. }
    split; [exact E1|]. intros u. change (payer_of Z u = payer_of X u). by rewrite E2.
  Qed.

  (** The state in which [next] is to run. *)
  Lemma accounts_set_to_run X next Y : accounts_valid X -> ours next -> set_to_run this next X Y ->
    accounts_valid Y /\ queues Y = queues X /\ timeouts Y = timeouts X /\ word Y "running" = level_of next X /\ word Y "kept" = word X "kept" /\
    word Y "arch_current" = word X "arch_current" /\ ready_best (queues X) (Z.of_nat this) <= word Y "arch_floor".
  Proof using.
    intros HX Hn (X2 & H2 & Z & floor & H3 & ->). set (X1 := new_slice (level_of next X) X) in *.
    assert (accounts_valid X1) as HX1 by (by repeat (apply accounts_word; [|done..])).
    assert (accounts_valid X2 /\ same_place X1 X2) as [HX2 P2] by (destruct (_ =? _); [by apply accounts_slice|by subst X2]).
    assert (accounts_valid Z /\ same_place X2 Z) as [HZ P3].
    { destruct (_ && _); [by destruct H3 as [_ ->]|]. destruct H3 as [_ H3]. by apply (accounts_switched X2 next). }
    split; [by apply accounts_word|]. destruct (place_trans _ _ _ P2 P3) as [E1 E2 E3 E4 E5 _ _]. cbn. rewrite E1, E2, E3, E4, E5.
    split_and!; [done..|]. destruct (_ && _); destruct H3 as [-> _]; [done|]. destruct (_ =? NONE); [done|]. apply best_floor.
  Qed.
End accounts.
