(** A thread's own cells beside those of its CPU: a switch hands over the latter, and neither gains nor loses cells. *)
From Ashlar Require Export lang.logic.Triple machine.threads.CellBaton machine.threads.Apart.
From stdpp Require Import fin_map_dom.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma dom_union_elem (e m : mem) x : x ∈@{gset cell} dom (e ∪ m) <-> is_Some (e !! x) \/ is_Some (m !! x).
Proof. etransitivity; [apply (elem_of_dom (M := gmap cell) (D := gset cell))|apply lookup_union_is_Some]. Qed.

Lemma dom_some (w : mem) x : x ∈@{gset cell} dom w <-> is_Some (w !! x).
Proof. apply (elem_of_dom (M := gmap cell) (D := gset cell)). Qed.
Lemma same_dom (w w' : mem) : dom w =@{gset cell} dom w' <-> forall x, is_Some (w !! x) <-> is_Some (w' !! x).
Proof. split; [intros E x; apply (set_eq (C := gset cell)) with (x := x) in E; by rewrite !dom_some in E|intros H; apply set_eq; intros x; by rewrite !dom_some]. Qed.

Section own.
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
  Notation X := (cell_baton cell_of_cpu parked).

  (** What a thread may have besides. *)
  Definition mine (c : nat) (m : mem) : Prop := forall x v, m !! x = Some v -> cell_of_cpu c x = false /\ parked x = true.

  Lemma mine_disjoint c (d m : mem) : exactly (fun x => cell_of_cpu c x = true) d -> mine c m -> d ##ₘ m.
  Proof using.
    intros Hd Hm. apply map_disjoint_spec. intros x v w Hv [Hw _]%Hm. assert (cell_of_cpu c x = true) by (apply Hd; by eexists). congruence.
  Qed.
  Lemma mine_split c to (d m : mem) : exactly (fun x => cell_of_cpu c x = true) d -> mine c m -> bd_split X c to (d ∪ m) = Some (d, m).
  Proof using. intros Hd Hm. apply cell_baton_parts; [|exact Hm]. intros x v Hx. apply Hd. by eexists. Qed.
  (** The CPU's cells are those that are there besides a thread's own. *)
  Lemma exactly_rest c (d0 d m : mem) : exactly (fun x => cell_of_cpu c x = true) d0 -> mine c m -> d ##ₘ m ->
    dom (d ∪ m) =@{gset cell} dom (d0 ∪ m) -> exactly (fun x => cell_of_cpu c x = true) d.
  Proof using.
    intros Hd0 Hm Hd Hdom x. apply (set_eq (C := gset cell)) with (x := x) in Hdom.
    rewrite !dom_union_elem in Hdom. split.
    - intros Hx. apply Hd0. destruct Hx as [v Hv]. destruct (proj1 Hdom) as [?|[w Hw]]; [left; by eexists|done|].
      by destruct (disjoint_at _ _ x v w Hd Hv Hw).
    - intros Hx. destruct (proj2 Hdom) as [?|[w Hw]]; [left; by apply Hd0|done|]. apply Hm in Hw as [Hw _]. congruence.
  Qed.
  Lemma exactly_dom c (d d' m : mem) : exactly (fun x => cell_of_cpu c x = true) d -> exactly (fun x => cell_of_cpu c x = true) d' ->
    dom (d ∪ m) =@{gset cell} dom (d' ∪ m).
  Proof using.
    intros Hd Hd'. apply set_eq. intros x. rewrite !dom_union_elem. by rewrite (Hd x), (Hd' x).
  Qed.
End own.
