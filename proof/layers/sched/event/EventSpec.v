(** Events to come: what the heap of a CPU is for, and that sifting keeps it a heap.

    [m]: the events that are set, each with its time. The heap has places 3 to [free h - 1]; the parent of place [p] is [parent p].
    [heap_valid]: each event of [m] is at one place and each place has one of [m], and none is before its parent; so the one at the
    root is the earliest of all ([root_earliest]). While an event moves to its place the heap is seen as if it were there already:
    [put p e t h] contains all events, and is in order but for [p] and its parent ([rising]) or its children ([sinking]). *)
From Ashlar Require Export layers.sched.budget.Cpu.

Definition parent (p : Z) : Z := p / 4 + 2.
Lemma parent_children p : 4 * (parent p - 2) <= p < 4 * (parent p - 2) + 4.
Proof. unfold parent. pose proof (Z.div_mod p 4 ltac:(lia)). pose proof (Z.mod_pos_bound p 4 ltac:(lia)). lia. Qed.
Lemma parent_word p : 0 <= p < 2 ^ 32 -> wrap W32 (p / 4 + 2) = parent p.
Proof. intros H. apply Z.mod_small. pose proof (parent_children p). unfold parent in *. cbn [bits]. lia. Qed.
Global Opaque parent.

Record heap := Heap { free : Z; due : Z -> Z; event_at : Z -> Z; place_of : Z -> Z }.
Definition upd (x v : Z) (f : Z -> Z) : Z -> Z := fun y => if y =? x then v else f y.
Definition put (p e t : Z) (h : heap) : heap := Heap (free h) (upd p t (due h)) (upd p e (event_at h)) (upd e p (place_of h)).
Lemma upd_same x v f : upd x v f x = v.
Proof. unfold upd. by rewrite Z.eqb_refl. Qed.
Lemma upd_other x v f y : y <> x -> upd x v f y = f y.
Proof. intros H. unfold upd. by rewrite (proj2 (Z.eqb_neq y x)). Qed.

(** The heap contains [m]. *)
Definition contains (h : heap) (m : gmap Z Z) : Prop :=
  (forall p, SCHED_HEAP_ROOT <= p < free h -> m !! event_at h p = Some (due h p) /\ place_of h (event_at h p) = p) /\
  (forall e t, m !! e = Some t -> SCHED_HEAP_ROOT <= place_of h e < free h /\ event_at h (place_of h e) = e) /\
  (forall e, m !! e = None -> place_of h e = 0).
Definition in_order (h : heap) : Prop := forall p, SCHED_HEAP_ROOT < p < free h -> due h (parent p) <= due h p.
(** A place without an event has no time. *)
Definition rest_free (h : heap) : Prop := forall p, free h <= p < SCHED_HEAP_PLACES -> due h p = timer_never.
Definition fits (h : heap) : Prop := SCHED_HEAP_ROOT <= free h <= SCHED_HEAP_ROOT + SCHED_NUM_EVENT.
Definition heap_valid (h : heap) (m : gmap Z Z) : Prop := fits h /\ contains h m /\ in_order h /\ rest_free h.
(** The events are of threads of this CPU, their times are words. *)
Definition events_ok (mine : Z -> Prop) (m : gmap Z Z) : Prop := forall e t, m !! e = Some t -> mine e /\ 0 <= t <= timer_never.

Ltac constants := unfold SCHED_HEAP_ROOT, SCHED_HEAP_PLACES, SCHED_NUM_EVENT, timer_never in *.
(** Reads another place than [x]. *)
Ltac others x := repeat match goal with
  | |- context [upd x ?v ?f ?y] => rewrite (upd_other x v f y) by done
  | H : context [upd x ?v ?f ?y] |- _ => rewrite (upd_other x v f y) in H by done
  end.

(** ** What it is for *)
Theorem root_earliest h m : heap_valid h m ->
  (free h = SCHED_HEAP_ROOT /\ m = ∅) \/
  (SCHED_HEAP_ROOT < free h /\ m !! event_at h SCHED_HEAP_ROOT = Some (due h SCHED_HEAP_ROOT) /\
   forall e t, m !! e = Some t -> due h SCHED_HEAP_ROOT <= t).
Proof.
  intros (Hf & (Hin & Hat & _) & Ho & _). unfold fits, in_order in *. constants. destruct (Z.eq_dec (free h) 3) as [E|Hne].
  - left. split; [done|]. apply map_empty. intros e. destruct (m !! e) as [t|] eqn:Em; [|done]. destruct (Hat e t Em). lia.
  - right. split; [lia|]. split; [apply Hin; lia|]. intros e t Em. destruct (Hat e t Em) as [Hp He].
    destruct (Hin (place_of h e) Hp) as [Hd _]. rewrite He, Em in Hd. injection Hd as ->. clear He Em.
    generalize (place_of h e) Hp. intros p Hp'. assert (exists n, p < 3 + Z.of_nat n) as [n Hn] by (exists (Z.to_nat p); lia).
    revert p Hn Hp'. induction n as [|n IH]; intros p Hn Hp'; [lia|]. destruct (Z.eq_dec p 3) as [->|Hp3]; [lia|].
    pose proof (parent_children p) as Pp. specialize (Ho p ltac:(lia)). specialize (IH (parent p) ltac:(lia) ltac:(lia)). lia.
Qed.

(** As many places as there are events suffice. *)
Theorem room (mine : Z -> Prop) h m e : (forall e, mine e -> 0 <= e < SCHED_NUM_EVENT) -> heap_valid h m -> events_ok mine m -> mine e -> m !! e = None ->
  free h < SCHED_HEAP_ROOT + SCHED_NUM_EVENT.
Proof.
  intros Hmine (Hf & (Hin & _) & _) Hok He Hno. unfold fits in Hf. constants. set (l := seqZ 3 (free h - 3)).
  assert (length (e :: (event_at h <$> l)) <= length (seqZ 0 288))%nat as Hlen.
  { apply submseteq_length, NoDup_submseteq.
    - constructor.
      + intros (p & -> & Hp)%elem_of_list_fmap. apply elem_of_seqZ in Hp. destruct (Hin p) as [E _]; [lia|]. congruence.
      + apply NoDup_fmap_2_strong; [|apply NoDup_seqZ]. intros p q Hp Hq E. apply elem_of_seqZ in Hp, Hq.
        destruct (Hin p) as [_ <-]; [lia|]. destruct (Hin q) as [_ <-]; [lia|]. by rewrite E.
    - intros x [->|(p & -> & Hp)%elem_of_list_fmap]%elem_of_cons; apply elem_of_seqZ.
      + pose proof (Hmine e He). lia.
      + apply elem_of_seqZ in Hp. destruct (Hin p) as [E _]; [lia|]. destruct (Hok _ _ E) as [Hm _]. pose proof (Hmine _ Hm). lia. }
  cbn [length] in Hlen. rewrite fmap_length in Hlen. unfold l in Hlen. rewrite !seqZ_length in Hlen. lia.
Qed.

(** ** Moving an event *)
Definition rising (h : heap) (p : Z) : Prop :=
  (forall r, SCHED_HEAP_ROOT < r < free h -> r <> p -> due h (parent r) <= due h r) /\
  (forall r, SCHED_HEAP_ROOT < r < free h -> SCHED_HEAP_ROOT < p -> parent r = p -> due h (parent p) <= due h r).
Definition sinking (h : heap) (p : Z) : Prop :=
  (forall r, SCHED_HEAP_ROOT < r < free h -> parent r <> p -> due h (parent r) <= due h r) /\
  (forall r, SCHED_HEAP_ROOT < r < free h -> SCHED_HEAP_ROOT < p -> parent r = p -> due h (parent p) <= due h r).

(** The event that was at [q] goes to [p], and [e], for which [p] was kept, is seen at [q]. *)
Definition exchange (p q e t : Z) (h : heap) : heap := put q e t (put p (event_at h q) (due h q) h).
Lemma exchange_due p q e t h r : p <> q -> due (exchange p q e t h) r = if r =? q then t else if r =? p then due h q else due h r.
Proof. done. Qed.
Lemma put_due p e t h r : due (put p e t h) r = if r =? p then t else due h r.
Proof. done. Qed.

Lemma exchange_contains h m p q e t : p <> q -> SCHED_HEAP_ROOT <= p < free h -> SCHED_HEAP_ROOT <= q < free h ->
  contains (put p e t h) m -> contains (exchange p q e t h) m.
Proof.
  intros Hpq Hp Hq (Hin & Hat & Hno). unfold put in Hin, Hat, Hno. cbn [free due event_at place_of] in *.
  destruct (Hin p Hp) as [Hp1 Hp2]. rewrite !upd_same in *. destruct (Hin q Hq) as [Hq1 Hq2]. others p.
  assert (event_at h q <> e) as Heq by (intros E; rewrite E, upd_same in Hq2; lia). rewrite (upd_other e) in Hq2 by done.
  unfold contains, exchange, put. cbn [free due event_at place_of]. split; [|split].
  - intros r Hr. destruct (Hin r Hr) as [H1 H2]. destruct (Z.eq_dec r q) as [->|Hrq]; [by rewrite !upd_same|]. others q.
    destruct (Z.eq_dec r p) as [->|Hrp]; [rewrite !upd_same, (upd_other e) by done; by rewrite upd_same|]. others p.
    assert (event_at h r <> e) by (intros E; rewrite E, upd_same in H2; lia).
    assert (event_at h r <> event_at h q) by (intros E; rewrite E, (upd_other e) in H2 by done; lia).
    rewrite !upd_other in * by done. done.
  - intros x u Hx. destruct (Hat x u Hx) as [H1 H2]. destruct (Z.eq_dec x e) as [->|Hxe]; [by rewrite !upd_same|].
    rewrite (upd_other e) in * by done. destruct (Z.eq_dec x (event_at h q)) as [->|Hxq]; [rewrite !upd_same; split; [done|]; by rewrite upd_other, upd_same by done|].
    rewrite (upd_other (event_at h q)) in * by done. split; [done|]. destruct (Z.eq_dec (place_of h x) p) as [E|Hp']; [rewrite E, upd_same in H2; congruence|].
    rewrite (upd_other p) in H2 by done. rewrite !upd_other; [done|done|]. intros E. rewrite E in H2. congruence.
  - intros x Hx. specialize (Hno x Hx). assert (x <> e) by congruence. rewrite (upd_other e) in * by done. rewrite upd_other; [done|]. congruence.
Qed.

(** One step up, and where it ends. *)
Lemma rises h p e t : SCHED_HEAP_ROOT < p < free h -> rising (put p e t h) p -> t < due h (parent p) -> rising (exchange p (parent p) e t h) (parent p).
Proof.
  constants. intros Hp [Ho Hc] Ht. constants. pose proof (parent_children p) as Pp. unfold rising. cbn [free exchange put] in *.
  assert (forall r, 3 < r < free h -> r <> p -> (parent r = p -> due h (parent p) <= due h r) /\ (parent r <> p -> due h (parent r) <= due h r)) as H.
  { intros r Hr Hne. pose proof (parent_children r) as Pr. specialize (Ho r Hr Hne). specialize (Hc r Hr ltac:(lia)).
    rewrite !put_due in Ho, Hc. rewrite (proj2 (Z.eqb_neq r p)) in Ho, Hc by done. rewrite (proj2 (Z.eqb_neq (parent p) p)) in Hc by lia. split; [done|].
    intros Hx. by rewrite (proj2 (Z.eqb_neq (parent r) p)) in Ho. }
  constants. split; intros r Hr Hne.
  - rewrite !exchange_due by lia. pose proof (parent_children r) as Pr. destruct (Z.eqb_spec r (parent p)); [lia|].
    destruct (Z.eqb_spec (parent r) (parent p)) as [E|].
    + destruct (Z.eqb_spec r p); [lia|]. rewrite <- E in *. destruct (H r Hr ltac:(done)) as [_ H2]. specialize (H2 ltac:(lia)). lia.
    + destruct (Z.eqb_spec r p) as [->|]; [lia|]. destruct (H r Hr ltac:(done)) as [H1 H2]. destruct (Z.eqb_spec (parent r) p); auto.
  - intros Hrp. rewrite !exchange_due by lia. pose proof (parent_children r) as Pr. pose proof (parent_children (parent p)) as Pq.
    destruct (Z.eqb_spec (parent (parent p)) (parent p)); [lia|]. destruct (Z.eqb_spec (parent (parent p)) p); [lia|]. destruct (Z.eqb_spec r (parent p)); [lia|].
    destruct (H (parent p)) as [_ H1]; [lia..|]. specialize (H1 ltac:(lia)). destruct (Z.eqb_spec r p); [done|].
    destruct (H r Hr ltac:(done)) as [_ H2]. rewrite Hrp in H2. specialize (H2 ltac:(lia)). lia.
Qed.
Lemma risen h p e t : rising (put p e t h) p -> (SCHED_HEAP_ROOT < p -> due h (parent p) <= t) -> in_order (put p e t h).
Proof.
  intros [Ho _] Ht r Hr. destruct (Z.eq_dec r p) as [->|]; [|by apply Ho]. pose proof (parent_children p) as Pp. constants.
  rewrite !put_due, Z.eqb_refl, (proj2 (Z.eqb_neq (parent p) p)) by lia. apply Ht. lia.
Qed.

(** One step down, to the earliest of the children. *)
Lemma sinks h p e t c : SCHED_HEAP_ROOT <= p -> SCHED_HEAP_ROOT < c < free h -> parent c = p -> sinking (put p e t h) p -> due h c < t ->
  (forall r, SCHED_HEAP_ROOT < r < free h -> parent r = p -> due h c <= due h r) -> sinking (exchange p c e t h) c.
Proof.
  constants. intros Hp Hc Pc [Ho Hg] Ht Hmin. constants. pose proof (parent_children c) as Pc'. unfold sinking. cbn [free exchange put] in *.
  assert (forall r, 3 < r < free h -> parent r <> p -> r <> p -> due h (parent r) <= due h r) as H.
  { intros r Hr Hne Hrp. specialize (Ho r Hr Hne). rewrite !put_due in Ho. by rewrite (proj2 (Z.eqb_neq r p)), (proj2 (Z.eqb_neq (parent r) p)) in Ho. }
  constants. split; intros r Hr Hne; pose proof (parent_children r) as Pr; rewrite !exchange_due by lia.
  - destruct (Z.eqb_spec (parent r) c); [lia|]. destruct (Z.eqb_spec r c) as [->|].
    + rewrite Pc, Z.eqb_refl. lia.
    + destruct (Z.eqb_spec (parent r) p) as [E|]; destruct (Z.eqb_spec r p) as [->|]; [lia|by apply Hmin| |by apply H].
      specialize (Hg c ltac:(lia) ltac:(lia) Pc). rewrite !put_due in Hg. by rewrite (proj2 (Z.eqb_neq c p)), (proj2 (Z.eqb_neq (parent p) p)) in Hg by lia.
  - intros Hrc. rewrite Pc, Z.eqb_refl. destruct (Z.eqb_spec p c); [lia|]. destruct (Z.eqb_spec r c); [lia|]. destruct (Z.eqb_spec r p); [lia|].
    rewrite <- Hrc. apply H; lia.
Qed.
Lemma sunk h p e t : SCHED_HEAP_ROOT <= p -> sinking (put p e t h) p -> (forall r, SCHED_HEAP_ROOT < r < free h -> parent r = p -> t <= due h r) -> in_order (put p e t h).
Proof.
  intros Hp [Ho _] Ht r Hr. destruct (Z.eq_dec (parent r) p) as [E|]; [|by apply Ho]. pose proof (parent_children r) as Pr. constants.
  rewrite !put_due, E, Z.eqb_refl, (proj2 (Z.eqb_neq r p)) by lia. by apply Ht.
Qed.

(** ** Where moving begins *)
Section begin.
  Context (h : heap) (m : gmap Z Z) (Hv : heap_valid h m).

  (** A new event. *)
  Definition longer : heap := Heap (free h + 1) (due h) (event_at h) (place_of h).
  Lemma add_contains e t : m !! e = None -> contains (put (free h) e t longer) (<[e := t]> m).
  Proof using Hv.
    destruct Hv as (Hf & (Hin & Hat & Hno) & _). unfold fits in Hf. intros He. unfold contains, put, longer. cbn [free due event_at place_of]. split; [|split].
    - intros p Hp. destruct (Z.eq_dec p (free h)) as [->|]; [by rewrite !upd_same, lookup_insert|]. others (free h).
      destruct (Hin p) as [H1 H2]; [lia|]. assert (event_at h p <> e) by congruence. by rewrite lookup_insert_ne, upd_other.
    - intros x u Hx. destruct (Z.eq_dec x e) as [->|]; [rewrite !upd_same; split; [lia|done]|]. rewrite lookup_insert_ne in Hx by done.
      destruct (Hat x u Hx). rewrite (upd_other e) by done. split; [lia|]. rewrite upd_other by lia. done.
    - intros x Hx. apply lookup_insert_None in Hx as [Hx Hne]. rewrite upd_other by done. auto.
  Qed.
  Lemma add_rising e t : rising (put (free h) e t longer) (free h).
  Proof using Hv.
    destruct Hv as (Hf & _ & Ho & _). unfold fits in Hf. constants. split; cbn [free put longer]; constants.
    - intros r Hr Hne. pose proof (parent_children r) as Pr. rewrite !put_due, !(proj2 (Z.eqb_neq _ (free h))) by lia. apply Ho. constants. lia.
    - intros r Hr Hl E. pose proof (parent_children r) as Pr. lia.
  Qed.
  Lemma add_free e t : rest_free (put (free h) e t longer).
  Proof using Hv.
    destruct Hv as (_ & _ & _ & Hr). intros p Hp. cbn [free put longer] in Hp. rewrite put_due, (proj2 (Z.eqb_neq p (free h))) by lia. apply Hr. lia.
  Qed.

  (** Another time for an event. *)
  Context (e : Z) (old : Z) (He : m !! e = Some old).
  Notation p := (place_of h e).
  Lemma event_place : SCHED_HEAP_ROOT <= p < free h /\ event_at h p = e /\ due h p = old.
  Proof using Hv He.
    destruct Hv as (_ & (Hin & Hat & _) & _). destruct (Hat e old He) as [H1 H2]. split_and!; [lia..|done|]. destruct (Hin _ H1) as [H3 _]. congruence.
  Qed.
  Lemma set_contains t : contains (put p e t h) (<[e := t]> m).
  Proof using Hv He.
    destruct event_place as (Hp & Ee & Ed). destruct Hv as (_ & (Hin & Hat & Hno) & _). unfold contains, put. cbn [free due event_at place_of]. split; [|split].
    - intros r Hr. destruct (Z.eq_dec r p) as [->|]; [by rewrite !upd_same, lookup_insert|]. others (place_of h e).
      destruct (Hin r Hr) as [H1 H2]. assert (event_at h r <> e) by (intros E; rewrite E in H2; congruence). by rewrite lookup_insert_ne, upd_other.
    - intros x u Hx. destruct (Z.eq_dec x e) as [->|]; [by rewrite !upd_same|]. rewrite lookup_insert_ne in Hx by done.
      destruct (Hat x u Hx) as [H1 H2]. rewrite (upd_other e) by done. split; [done|]. rewrite upd_other; [done|]. intros E. rewrite E in H2. congruence.
    - intros x Hx. apply lookup_insert_None in Hx as [Hx Hne]. rewrite upd_other by done. auto.
  Qed.
  Lemma set_free t : rest_free (put p e t h).
  Proof using Hv He.
    destruct event_place as (Hp & _). destruct Hv as (_ & _ & _ & Hr). intros r Hr'. cbn [free put] in Hr'. rewrite put_due, (proj2 (Z.eqb_neq r p)) by lia. by apply Hr.
  Qed.
  Lemma set_rising t : t <= old -> rising (put p e t h) p.
  Proof using Hv He.
    destruct event_place as (Hp & _ & Ed). destruct Hv as (_ & _ & Ho & _). intros Ht. assert (forall r, 3 < r < free h -> due h (parent r) <= due h r) as H by done.
    split; cbn [free put]; intros r Hr Hne; pose proof (parent_children r) as Pr; pose proof (parent_children p) as Pp; constants.
    - rewrite !put_due, (proj2 (Z.eqb_neq r p)) by done. specialize (H r Hr). destruct (Z.eqb_spec (parent r) p) as [E|]; [rewrite E in H; lia|done].
    - intros E. rewrite !put_due, !(proj2 (Z.eqb_neq _ p)) by lia. pose proof (H r Hr) as H1. rewrite E in H1. specialize (H p). lia.
  Qed.
  Lemma set_sinking t : old <= t -> sinking (put p e t h) p.
  Proof using Hv He.
    destruct event_place as (Hp & _ & Ed). destruct Hv as (_ & _ & Ho & _). intros Ht. assert (forall r, 3 < r < free h -> due h (parent r) <= due h r) as H by done.
    split; cbn [free put]; intros r Hr Hne; pose proof (parent_children r) as Pr; pose proof (parent_children p) as Pp; constants.
    - rewrite !put_due, (proj2 (Z.eqb_neq (parent r) p)) by done. specialize (H r Hr). destruct (Z.eqb_spec r p) as [E|]; [subst r; lia|done].
    - intros E. rewrite !put_due, !(proj2 (Z.eqb_neq _ p)) by lia. pose proof (H r Hr) as H1. rewrite E in H1. specialize (H p). lia.
  Qed.

  (** An event goes; the last one takes its place. *)
  Notation last := (free h - 1).
  Definition shorter : heap := Heap last (upd last timer_never (due h)) (event_at h) (upd e 0 (place_of h)).
  Notation moved := (event_at h last).
  Notation when := (due h last).
  Lemma shorter_fits : fits shorter.
  Proof using Hv He. destruct event_place as (Hp & _). destruct Hv as (Hf & _). unfold fits, shorter in *. cbn [free]. lia. Qed.
  Lemma remove_last : p = last -> heap_valid shorter (delete e m).
  Proof using Hv He.
    pose proof shorter_fits as Hf'. destruct event_place as (Hp & Ee & _). destruct Hv as (Hf & (Hin & Hat & Hno) & Ho & Hr). intros E. split; [done|].
    unfold shorter, contains. split_and!; cbn [free due event_at place_of].
    - intros r Hr'. destruct (Hin r) as [H1 H2]; [lia|]. assert (event_at h r <> e) by (intros Ex; rewrite Ex in H2; lia).
      by rewrite lookup_delete_ne, !upd_other by (done || lia).
    - intros x u Hx. apply lookup_delete_Some in Hx as [Hne Hx]. destruct (Hat x u Hx) as [H1 H2]. rewrite upd_other by done. split; [|done].
      assert (place_of h x <> last); [|lia]. intros Ex. rewrite Ex, <- E, Ee in H2. done.
    - intros x Hx. destruct (Z.eq_dec x e) as [->|]; [by rewrite upd_same|]. rewrite upd_other by done. rewrite lookup_delete_ne in Hx by done. auto.
    - intros r Hr'. cbn [free due] in *. pose proof (parent_children r) as Pr. constants. rewrite !upd_other by lia. apply Ho. constants. lia.
    - intros r Hr'. cbn [free due] in *. destruct (Z.eq_dec r last) as [->|]; [by rewrite upd_same|]. rewrite upd_other by done. apply Hr. lia.
  Qed.
  Context (Hne : p <> last).
  Lemma remove_contains : contains (put p moved when shorter) (delete e m).
  Proof using Hv He Hne.
    destruct event_place as (Hp & Ee & _). destruct Hv as (Hf & (Hin & Hat & Hno) & _). constants.
    destruct (Hin last) as [Hl1 Hl2]; [lia|]. assert (moved <> e) as Hme by (intros E; rewrite E in Hl2; lia).
    unfold contains, put, shorter. cbn [free due event_at place_of]. split; [|split].
    - intros r Hr. constants. destruct (Z.eq_dec r p) as [->|]; [rewrite !upd_same, lookup_delete_ne by done; done|]. others (place_of h e).
      destruct (Hin r) as [H1 H2]; [lia|]. assert (event_at h r <> e) by (intros Ex; rewrite Ex in H2; lia).
      assert (event_at h r <> moved) by (intros Ex; rewrite Ex in H2; lia). by rewrite lookup_delete_ne, !upd_other by (done || lia).
    - intros x u Hx. apply lookup_delete_Some in Hx as [Hxe Hx]. destruct (Hat x u Hx) as [H1 H2]. constants.
      destruct (Z.eq_dec x moved) as [->|Hxm]; [rewrite !upd_same; split; [lia|done]|]. rewrite !upd_other by done. split; [|].
      + assert (place_of h x <> last); [|lia]. intros Ex. rewrite Ex in H2. done.
      + rewrite upd_other; [done|]. intros Ex. rewrite Ex in H2. congruence.
    - intros x Hx. destruct (Z.eq_dec x e) as [->|]; [by rewrite upd_other, upd_same|]. rewrite lookup_delete_ne in Hx by done.
      rewrite upd_other by congruence. rewrite upd_other by done. auto.
  Qed.
  Lemma remove_free : rest_free (put p moved when shorter).
  Proof using Hv He Hne.
    destruct event_place as (Hp & _). destruct Hv as (_ & _ & _ & Hr). intros r Hr'. cbn [free put shorter] in Hr'.
    rewrite put_due, (proj2 (Z.eqb_neq r p)) by lia. unfold shorter. cbn [due]. destruct (Z.eq_dec r last) as [->|]; [by rewrite upd_same|].
    rewrite upd_other by done. apply Hr. lia.
  Qed.
  Lemma shorter_due r : r <> last -> due shorter r = due h r.
  Proof using. apply upd_other. Qed.
  Lemma remove_rising : SCHED_HEAP_ROOT < p -> when < due h (parent p) -> rising (put p moved when shorter) p.
  Proof using Hv He Hne.
    destruct event_place as (Hp & _ & Ed). destruct Hv as (_ & _ & Ho & _). intros H3 Hw. assert (forall r, 3 < r < free h -> due h (parent r) <= due h r) as H by done.
    pose proof (parent_children p) as Pp. constants. pose proof (H p ltac:(lia)) as Hpp.
    split; cbn [free put shorter]; intros r Hr Hrne; constants; pose proof (parent_children r) as Pr; pose proof (H r ltac:(lia)) as H1.
    - rewrite !put_due, (proj2 (Z.eqb_neq r p)), (shorter_due r) by lia. destruct (Z.eqb_spec (parent r) p) as [E|]; [rewrite E in H1; lia|].
      by rewrite shorter_due by lia.
    - intros E. rewrite !put_due, !(proj2 (Z.eqb_neq _ p)), !shorter_due by lia. rewrite E in H1. lia.
  Qed.
  Lemma remove_sinking : (SCHED_HEAP_ROOT < p -> due h (parent p) <= when) -> sinking (put p moved when shorter) p.
  Proof using Hv He Hne.
    destruct event_place as (Hp & _ & Ed). destruct Hv as (_ & _ & Ho & _). intros Hw. assert (forall r, 3 < r < free h -> due h (parent r) <= due h r) as H by done.
    pose proof (parent_children p) as Pp. constants.
    split; cbn [free put shorter]; intros r Hr Hrne; constants; pose proof (parent_children r) as Pr; pose proof (H r ltac:(lia)) as H1.
    - rewrite !put_due, (proj2 (Z.eqb_neq (parent r) p)), (shorter_due (parent r)) by lia. destruct (Z.eqb_spec r p) as [->|]; [apply Hw; lia|].
      by rewrite shorter_due by lia.
    - intros E. rewrite !put_due, !(proj2 (Z.eqb_neq _ p)), !shorter_due by lia. rewrite E in H1. specialize (H p). lia.
  Qed.
End begin.
