(** Layers with locks, below threads.

    [lock_part]: the events of locks in a layer's log. A CPU may be handed over while it is [calm]: it holds no lock, and has no cell from one.
    Cells that no lock guards make no difference to what locks do ([lock_step_framed]). *)
From Ashlar Require Export machine.threads.SwitchRule calculus.objects.Data.
From stdpp Require Import fin_map_dom.

(** The events of locks, among others of a layer. *)
Section lock_part.
  Context {L : layer cprim mem} (lock_event_of : lop L -> option (lock_event mem)).
  Definition lock_part (l : log L) : lock_log mem :=
    flat_map (fun e => match lock_event_of (what e) with Some o => [Event (who e) o] | None => [] end) l.

  Context (init : Z -> mem).
  (** CPU [c] holds no lock, and has no cell from one. *)
  Definition calm (c : nat) (l : log L) : bool :=
    match (held c (lock_part l)).1 with [] => true | _ => false end && bool_decide (owned init (fun _ => ∅) c (lock_part l) = ∅).
  Lemma calm_own : own_replay L calm.
  Proof using. intros c e l Hne. unfold calm, lock_part. simpl. destruct (lock_event_of (what e)) as [o|]; simpl; [|done]. by rewrite !decide_False. Qed.
  Lemma calm_parts c l : calm c l = true <-> (held c (lock_part l)).1 = [] /\ owned init (fun _ => ∅) c (lock_part l) = ∅.
  Proof using.
    unfold calm. rewrite andb_true_iff, bool_decide_eq_true. split; intros [H1 H2]; (split; [|done]); [by destruct (held c (lock_part l)).1|by rewrite H1].
  Qed.
End lock_part.

(** A layer with locks, and with primitives that [passes] names, which touch neither locks nor cells. *)
Record has_locks (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem) (passes : cprim -> Prop) (L : layer cprim mem)
    (lock_event_of : lop L -> option (lock_event mem)) : Prop := {
  locks_step : forall c f k m l, f ∈ [ACQUIRE; RELEASE; OUT] ->
    match lock_step nlock budget (cell_data init guarded) c (f, [k]) m (lock_part lock_event_of l) with
    | Wrong => True
    | Blocked => lstep L c (f, [k]) m l = Blocked
    | Ok v m' o => exists o', lstep L c (f, [k]) m l = Ok v m' o' /\ lock_event_of o' = Some o
    end;
  others_pass : forall c p m l, passes p -> calm lock_event_of init c l = true -> exists v o, lstep L c p m l = Ok v m o /\ lock_event_of o = None;
  others_ordinary : forall p, passes p -> switch_means p = Ordinary }.

(** The lock layer itself is one. *)
Lemma lock_part_all nlock budget init guarded (l : log (lock_layer nlock budget (cell_data init guarded))) :
  lock_part (L := lock_layer nlock budget (cell_data init guarded)) Some l = l.
Proof. induction l as [|[w o] l IH]; [done|]. exact (f_equal (cons (Event w o)) IH). Qed.
Lemma locks_have_locks nlock budget init guarded :
  has_locks nlock budget init guarded (fun _ => False) (lock_layer nlock budget (cell_data init guarded)) Some.
Proof.
  split; [|done..]. intros c f k m l Hf.
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
