(** Layers with locks, below threads.

    [lock_part]: the events of locks in a layer's log. A CPU may be handed over while it is [calm]: it holds no lock, and has no cell from one.
    Cells that no lock guards make no difference to what locks do ([lock_step_framed]).

    Theorems about some locks, those whose numbers are below [nlock], hold beside others: where a CPU is [alone] with them, it holds no other
    ([fewer_locks]). *)
From Ashlar Require Export machine.threads.SwitchRule calculus.objects.Data.
From stdpp Require Import fin_map_dom.

(** The events of locks, among others of a layer. *)
Section lock_part.
  Context {L : layer cprim mem} (lock_event_of : lop L -> option (lock_event mem)).
  Definition lock_part (l : log L) : lock_log mem :=
    flat_map (fun e => match lock_event_of (what e) with Some o => [Event (who e) o] | None => [] end) l.

  Context (init : Z -> mem) (alone : nat -> log L -> bool) (alone_own : own_replay L alone).
  (** CPU [c] holds no lock, and has no cell from one. *)
  Definition calm (c : nat) (l : log L) : bool :=
    alone c l && (match (held c (lock_part l)).1 with [] => true | _ => false end && bool_decide (owned init (fun _ => ∅) c (lock_part l) = ∅)).
  Lemma calm_own : own_replay L calm.
  Proof using alone_own.
    intros c e l Hne. unfold calm, lock_part. rewrite (alone_own c e l Hne). simpl. destruct (lock_event_of (what e)) as [o|]; simpl; [|done]. by rewrite !decide_False.
  Qed.
  Lemma calm_parts c l : calm c l = true <-> alone c l = true /\ (held c (lock_part l)).1 = [] /\ owned init (fun _ => ∅) c (lock_part l) = ∅.
  Proof using.
    unfold calm. rewrite !andb_true_iff, bool_decide_eq_true. split; intros (H0 & H1 & H2); (split_and!; [done| |done]); [by destruct (held c (lock_part l)).1|by rewrite H1].
  Qed.
End lock_part.

(** A layer with locks, and with primitives that [passes] names, which touch neither locks nor cells. *)
Record has_locks (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem) (passes : cprim -> Prop) (L : layer cprim mem)
    (lock_event_of : lop L -> option (lock_event mem)) (alone : nat -> log L -> bool) : Prop := {
  locks_step : forall c f k m l, f ∈ [ACQUIRE; RELEASE; OUT] -> alone c l = true ->
    match lock_step nlock budget (cell_data init guarded) c (f, [k]) m (lock_part lock_event_of l) with
    | Wrong => True
    | Blocked => lstep L c (f, [k]) m l = Blocked
    | Ok v m' o => exists o', lstep L c (f, [k]) m l = Ok v m' o' /\ lock_event_of o' = Some o /\ alone c (Event c o' :: l) = true
    end;
  others_pass : forall c p m l, passes p -> exists v o, lstep L c p m l = Ok v m o /\ lock_event_of o = None /\ alone c (Event c o :: l) = alone c l;
  alone_own : own_replay L alone;
  others_ordinary : forall p, passes p -> switch_means p = Ordinary }.
Notation always_alone := (fun _ _ => true).

(** ** Some of the locks *)
Section fewer.
  Local Open Scope Z_scope.
  Context (nlock few : Z) (budget : nat) (init init_few : Z -> mem) (guarded guarded_few : Z -> mem -> mem) (few_locks : few <= nlock).
  Context (init_same : forall k, k < few -> init_few k = init k) (guarded_same : forall k m, k < few -> guarded_few k m = guarded k m).
  (** Events of the locks with numbers below [few]. *)
  Definition few_event (o : lock_event mem) : option (lock_event mem) :=
    match o with OAcquire k | ORelease k _ => if k <? few then Some o else None | OOut _ => Some o end.
  Definition few_part (l : lock_log mem) : lock_log mem := flat_map (fun e => match few_event (what e) with Some o => [Event (who e) o] | None => [] end) l.
  (** CPU [c] holds no other lock. *)
  Definition alone_with (c : nat) (l : lock_log mem) : bool :=
    bool_decide ((held c (few_part l)).1 = (held c l).1) && (bool_decide ((held c l).1 = []) || bool_decide ((held c (few_part l)).2 = (held c l).2)).
  Lemma alone_with_spec c l : alone_with c l = true <-> (held c (few_part l)).1 = (held c l).1 /\ ((held c l).1 = [] \/ (held c (few_part l)).2 = (held c l).2).
  Proof using. unfold alone_with. by rewrite andb_true_iff, orb_true_iff, !bool_decide_eq_true. Qed.
  Lemma few_holder k l : k < few -> holder k (few_part l) = holder k l.
  Proof using.
    intros Hk. induction l as [|[c o] l IH]; [done|]. unfold few_part. cbn [flat_map what who]. fold (few_part l). destruct o as [k'|k' d|v]; cbn [few_event].
    - destruct (Z.ltb_spec k' few); cbn [app holder what who]; rewrite IH; [done|]. destruct (Z.eqb_spec k' k); [lia|done].
    - destruct (Z.ltb_spec k' few); cbn [app holder what who]; rewrite IH; [done|]. destruct (Z.eqb_spec k' k); [lia|done].
    - exact IH.
  Qed.
  Lemma few_published k l : k < few -> published init_few k (few_part l) = published init k l.
  Proof using init_same.
    intros Hk. induction l as [|[c o] l IH]; [by apply init_same|]. unfold few_part. cbn [flat_map what who]. fold (few_part l). destruct o as [k'|k' d|v]; cbn [few_event].
    - destruct (k' <? few); exact IH.
    - destruct (Z.ltb_spec k' few); cbn [app published what who]; rewrite IH; [done|]. destruct (Z.eqb_spec k' k); [lia|done].
    - exact IH.
  Qed.
  Lemma few_cons c o l : few_event o = Some o -> few_part (Event c o :: l) = Event c o :: few_part l.
  Proof using. intros E. unfold few_part. cbn [flat_map what who]. by rewrite E. Qed.
  (** What happens to these locks keeps a CPU alone with them. *)
  Lemma few_alone c o l : few_event o = Some o -> alone_with c l = true -> alone_with c (Event c o :: l) = true.
  Proof using.
    rewrite !alone_with_spec. intros E [H1 H2]. rewrite (few_cons c o l E). cbn [held who what]. rewrite !decide_True by done.
    destruct (held c (few_part l)) as [ks n], (held c l) as [ks' n']. cbn [fst snd] in *. subst ks'.
    destruct ks as [|k ks], o; cbn [fst snd]; (split; [done|]); try (by left); try (by right); destruct H2 as [H2|H2]; try done; subst; by right.
  Qed.
  Lemma few_held c l : Forall (fun k => k < few) (held c (few_part l)).1.
  Proof using.
    induction l as [|[c' o] l IH]; [constructor|]. destruct (few_event o) as [o'|] eqn:E.
    - assert (o' = o /\ match o with OAcquire k | ORelease k _ => k < few | OOut _ => True end) as [-> Hk].
      { destruct o as [k|k d|v]; cbn [few_event] in E; [..|by injection E as <-]; (destruct (Z.ltb_spec k few); [|done]); by injection E as <-. }
      rewrite (few_cons c' o l E). cbn [held who what]. destruct (decide (c' = c)); [|done]. destruct (held c (few_part l)) as [ks n].
      cbn [fst] in IH. destruct ks as [|k ks], o; cbn [fst tail]; try done; try (by constructor). by apply Forall_cons in IH as [_ IH].
    - unfold few_part. cbn [flat_map what]. rewrite E. exact IH.
  Qed.
  Lemma few_step c f k m l : f ∈ [ACQUIRE; RELEASE; OUT] -> alone_with c l = true ->
    match lock_step few budget (cell_data init_few guarded_few) c (f, [k]) m (few_part l) with
    | Wrong => True
    | r => lock_step nlock budget (cell_data init guarded) c (f, [k]) m l = r /\ match r with Ok _ _ o => few_event o = Some o | _ => True end
    end.
  Proof using few_locks init_same guarded_same.
    intros Hf [H1 H2]%alone_with_spec. pose proof (few_held c l) as Hlow. unfold lock_step. destruct (held c (few_part l)) as [ks n], (held c l) as [ks' n']. cbn [fst snd] in *. subst ks'.
    assert (within budget ks n = within budget ks n') as Ew by (destruct H2 as [-> | ->]; done).
    repeat (apply elem_of_cons in Hf as [->|Hf]); [..|by apply elem_of_nil in Hf].
    - change (String.eqb ACQUIRE ACQUIRE) with true. cbn iota. rewrite Ew. unfold below. destruct (Z.ltb_spec k few) as [Hk|]; [|by rewrite andb_false_r].
      rewrite (proj2 (Z.ltb_lt k nlock)) by lia. destruct (_ && within _ _ _); [|done]. rewrite few_holder by done. destruct (holder k l); [done|].
      cbn [cell_data ld_pull ld_init]. rewrite few_published by done. split; [done|]. cbn [few_event]. by rewrite (proj2 (Z.ltb_lt k few)).
    - change (String.eqb RELEASE ACQUIRE) with false. change (String.eqb RELEASE RELEASE) with true. cbn iota. rewrite Ew. destruct ks as [|k' ks]; [done|].
      destruct (Z.eqb_spec k' k) as [->|]; [|done]. apply Forall_cons in Hlow as [Hk _]. destruct (within budget (k :: ks) n'); [|done]. cbn [andb cell_data ld_push].
      rewrite guarded_same by done. split; [done|]. cbn [few_event]. by rewrite (proj2 (Z.ltb_lt k few)).
    - destruct ks; done.
  Qed.

  (** Such theorems hold on a layer with more locks. *)
  Context (passes : cprim -> Prop) (L : layer cprim mem) (lock_event_of : lop L -> option (lock_event mem)).
  Context (HL : has_locks nlock budget init guarded passes L lock_event_of always_alone).
  Definition few_event_of (o : lop L) : option (lock_event mem) := lock_event_of o ≫= few_event.
  Definition few_alone_of (c : nat) (l : log L) : bool := alone_with c (lock_part lock_event_of l).
  Lemma few_part_of l : lock_part few_event_of l = few_part (lock_part lock_event_of l).
  Proof using.
    induction l as [|[c o] l IH]; [done|]. unfold lock_part in *. cbn [flat_map what who]. rewrite IH. unfold few_event_of.
    destruct (lock_event_of o) as [o'|]; cbn [mbind option_bind app]; [|done]. unfold few_part. cbn [flat_map what who app]. done.
  Qed.
  Lemma fewer_locks : has_locks few budget init_few guarded_few passes L few_event_of few_alone_of.
  Proof using few_locks init_same guarded_same HL.
    split.
    - intros c f k m l Hf Ha. pose proof (few_step c f k m (lock_part lock_event_of l) Hf Ha) as Hs. rewrite few_part_of.
      pose proof (locks_step _ _ _ _ _ _ _ _ HL c f k m l Hf eq_refl) as Hl.
      destruct (lock_step few _ _ _ _ _ _) as [| |v m' o]; [|done|]; destruct Hs as [Hs Ho]; rewrite Hs in Hl; [done|].
      destruct Hl as (o' & El & Eo & _). exists o'. split; [done|]. unfold few_event_of. rewrite Eo. split; [done|].
      unfold few_alone_of, lock_part. cbn [flat_map what who]. rewrite Eo. by apply few_alone.
    - intros c p m l Hp. destruct (others_pass _ _ _ _ _ _ _ _ HL c p m l Hp) as (v & o & E & Eo & _). exists v, o. split; [done|].
      unfold few_event_of, few_alone_of, lock_part. cbn [flat_map what who]. by rewrite Eo.
    - intros c e l Hne. unfold few_alone_of, lock_part. cbn [flat_map]. destruct (lock_event_of (what e)) as [o|]; [|done]. cbn [app].
      unfold alone_with, few_part. cbn [flat_map what who held]. rewrite !decide_False by done. destruct (few_event o); [|done]. cbn [app held who]. by rewrite !decide_False.
    - apply (others_ordinary _ _ _ _ _ _ _ _ HL).
  Qed.
End fewer.

(** The lock layer itself is one. *)
Lemma lock_part_all nlock budget init guarded (l : log (lock_layer nlock budget (cell_data init guarded))) :
  lock_part (L := lock_layer nlock budget (cell_data init guarded)) Some l = l.
Proof. induction l as [|[w o] l IH]; [done|]. exact (f_equal (cons (Event w o)) IH). Qed.
Lemma locks_have_locks nlock budget init guarded :
  has_locks nlock budget init guarded (fun _ => False) (lock_layer nlock budget (cell_data init guarded)) Some always_alone.
Proof.
  split; [|done..]. intros c f k m l Hf _.
  rewrite lock_part_all.
  change (lstep (lock_layer nlock budget (cell_data init guarded)) c (f, [k]) m l) with (lock_step nlock budget (cell_data init guarded) c (f, [k]) m l).
  destruct (lock_step _ _ _ _ _ _ _); [done..|]. by eexists.
Qed.

Lemma same_dom_disjoint (m m' r : mem) : dom m' =@{gset cell} dom m -> m ##ₘ r -> m' ##ₘ r.
Proof.
  intros Hd Hm. apply map_disjoint_spec. intros x v w Hv Hw. assert (x ∈@{gset cell} dom m) as [u Hu]%(elem_of_dom (M := gmap cell) (D := gset cell)).
  { rewrite <- Hd. apply (elem_of_dom (M := gmap cell) (D := gset cell)). by exists v. }
  by apply (proj1 (map_disjoint_spec m r) Hm x u w).
Qed.
Section framed.
  Context (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem) (parked : cell -> bool).
  Context (guarded_sub : forall k m, guarded k m ⊆ m).
  Context (guarded_parked : forall k m r, m ##ₘ r -> all_parked (fun x => parked x = true) r -> guarded k (m ∪ r) = guarded k m).
  (** A lock primitive does the same where there are more cells that no lock guards. *)
  Lemma lock_step_framed c p (m r : mem) l : m ##ₘ r -> all_parked (fun x => parked x = true) r ->
    match lock_step nlock budget (cell_data init guarded) c p m l with
    | Wrong => True
    | Blocked => lock_step nlock budget (cell_data init guarded) c p (m ∪ r) l = Blocked
    | Ok v m' o => m' ##ₘ r -> lock_step nlock budget (cell_data init guarded) c p (m ∪ r) l = Ok v (m' ∪ r) o
    end.
  Proof using guarded_sub guarded_parked.
    intros Hd Hr. unfold lock_step. destruct (held c l) as [ks n]. destruct p as [f [|k [|??]]]; try done.
    destruct (String.eqb f ACQUIRE).
    { destruct (_ && _); [|done]. destruct (holder k l); [done|]. simpl. intros _. by rewrite (assoc_L (∪)). }
    destruct (String.eqb f RELEASE).
    { destruct ks as [|k' ks]; [done|]. destruct (_ && _); [|done]. simpl. intros Hd'. rewrite guarded_parked by done. f_equal.
      pose proof (guarded_sub k m) as Hs. apply map_eq. intros x. apply option_eq. intros v.
      rewrite lookup_difference_Some, lookup_union_Some by done. rewrite lookup_union_Some by (eapply map_disjoint_weaken_l; [exact Hd|by apply map_subseteq_difference_l]).
      rewrite lookup_difference_Some. split; [naive_solver|]. intros [[]|Hx]; [naive_solver|]. split; [by right|].
      destruct (guarded k m !! x) eqn:Eg; [|done]. pose proof (lookup_weaken _ _ _ _ Eg Hs) as Hm.
      pose proof (map_disjoint_Some_r _ _ _ _ Hd Hx). congruence. }
    destruct (String.eqb f OUT); [|done]. by destruct ks.
  Qed.
End framed.
