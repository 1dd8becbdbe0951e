(** Condition variables: waiters in cells.

    A list [l1 ++ m ++ l2] becomes [l1 ++ m' ++ l2] by two stores when a thread comes or goes: into the cell that says what follows [l1] and
    into the one that says what precedes [l2]. *)
From Ashlar Require Export layers.cv.Fifo.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Successors and predecessors in a list *)
Lemma after_in l m u : NoDup l -> u ∈ l -> after u (l ++ m) = if u =? last_or NONE l then first_or NONE m else after u l.
Proof.
  induction l as [|v l IH]; [by intros _ ?%elem_of_nil|]. intros [Hv Hl]%NoDup_cons Hu. simpl.
  destruct l as [|x l].
  { apply elem_of_list_singleton in Hu as ->. simpl. by rewrite !Z.eqb_refl. }
  destruct (Z.eqb_spec v u) as [->|Hne].
  - destruct (Z.eqb_spec u (last_or u (x :: l))) as [E|]; [|done]. destruct Hv. rewrite E. exact (last_or_elem x l).
  - apply elem_of_cons in Hu as [|Hu]; [done|]. exact (IH Hl Hu).
Qed.
Lemma after_out l m u : u ∉ l -> after u (l ++ m) = after u m.
Proof. induction l as [|v l IH]; [done|]. intros [Hne Hl]%not_elem_of_cons. simpl. rewrite (proj2 (Z.eqb_neq v u)) by done. auto. Qed.
Lemma list_last_cases l : l = [] \/ last_or NONE l ∈ l.
Proof. destruct l as [|t l]; [by left|right]. exact (last_or_elem t l). Qed.
Lemma last_or_reverse l : last_or NONE (reverse l) = first_or NONE l.
Proof. destruct l as [|t l]; [done|]. by rewrite reverse_cons, last_or_app. Qed.
Lemma first_or_reverse l : first_or NONE (reverse l) = last_or NONE l.
Proof. by rewrite <- last_or_reverse, reverse_involutive. Qed.

(** What follows those of [l1], and those of [l2], when [m] is replaced. *)
Lemma after_replace l1 m m' l2 u : NoDup (l1 ++ l2) -> u ∈ l1 ++ l2 -> u ∉ m -> u ∉ m' -> u <> last_or NONE l1 ->
  after u (l1 ++ m' ++ l2) = after u (l1 ++ m ++ l2).
Proof.
  intros (Hn & Hd & _)%NoDup_app Hu Hm Hm' Hne. destruct (decide (u ∈ l1)) as [Hin|Hout].
  - rewrite !after_in by done. by rewrite (proj2 (Z.eqb_neq _ _)).
  - by rewrite !after_out.
Qed.
Lemma after_last l1 m u : NoDup l1 -> u ∈ l1 -> u = last_or NONE l1 -> after u (l1 ++ m) = first_or NONE m.
Proof. intros Hn Hu E. by rewrite after_in, <- E, Z.eqb_refl. Qed.

(** ** The two cells *)
Definition left_of (cv p : Z) : cell := if p =? NONE then field_cell "cv_queue" cv "first" else field_cell "cv_waiter" p "next".
Definition right_of (cv n : Z) : cell := if n =? NONE then field_cell "cv_queue" cv "last" else field_cell "cv_waiter" n "previous".
Definition linked (cv : Z) (l : list Z) (d : mem) : Prop :=
  d !! field_cell "cv_queue" cv "first" = Some (first_or NONE l) /\ d !! field_cell "cv_queue" cv "last" = Some (last_or NONE l) /\
  forall u, u ∈ l -> d !! field_cell "cv_waiter" u "next" = Some (after u l) /\ d !! field_cell "cv_waiter" u "previous" = Some (before u l).

(** One direction: the cells [first] and [next] for a list, [last] and [previous] for the list backwards. *)
Lemma replace_side (head : cell) (next : Z -> cell) l1 m m' l2 (d d' : mem) :
  (forall t u, next t = next u -> t = u) -> (forall t, next t <> head) -> NoDup (l1 ++ l2) -> NONE ∉ l1 ++ l2 ->
  (forall u, u ∈ l1 ++ l2 -> u ∉ m /\ u ∉ m') ->
  let changed := if last_or NONE l1 =? NONE then head else next (last_or NONE l1) in
  d !! head = Some (first_or NONE (l1 ++ m ++ l2)) -> (forall u, u ∈ l1 ++ l2 -> d !! next u = Some (after u (l1 ++ m ++ l2))) ->
  (forall x, x = head \/ (exists u, u ∈ l1 ++ l2 /\ x = next u) -> x <> changed -> d' !! x = d !! x) ->
  d' !! changed = Some (first_or NONE (m' ++ l2)) ->
  d' !! head = Some (first_or NONE (l1 ++ m' ++ l2)) /\ (forall u, u ∈ l1 ++ l2 -> d' !! next u = Some (after u (l1 ++ m' ++ l2))).
Proof.
  intros Hinj Hhead Hnd Hno Hm changed Hd1 Hd2 Hkeep Hnew. pose proof Hnd as (Hn1 & _ & _)%NoDup_app. split.
  - destruct l1 as [|t l1]; [exact Hnew|]. etrans; [|exact Hd1]. apply Hkeep; [by left|]. unfold changed.
    assert (last_or NONE (t :: l1) ∈ t :: l1) as Hl by exact (last_or_elem t l1). destruct (Z.eqb_spec (last_or NONE (t :: l1)) NONE) as [E|].
    + destruct Hno. apply elem_of_app. left. by rewrite <- E.
    + intros E. by apply (Hhead (last_or NONE (t :: l1))).
  - intros u Hu. assert (u <> NONE) as Hun by (by intros ->). destruct (Hm u Hu) as [Hum Hum'].
    destruct (decide (u = last_or NONE l1)) as [E|Hne].
    + replace (next u) with changed by (unfold changed; by rewrite <- E, (proj2 (Z.eqb_neq _ _))). rewrite Hnew. f_equal. symmetry.
      apply after_last; [done| |done]. destruct l1 as [|t l1]; [done|]. rewrite E. exact (last_or_elem t l1).
    + rewrite Hkeep, Hd2; [f_equal; symmetry; by apply after_replace|done|right; by exists u|].
      unfold changed. destruct (Z.eqb_spec (last_or NONE l1) NONE); [apply Hhead|]. by intros ?%Hinj.
Qed.

Lemma replace_linked cv l1 m m' l2 d d' : NoDup (l1 ++ l2) -> NONE ∉ l1 ++ l2 -> (forall u, u ∈ l1 ++ l2 -> u ∉ m /\ u ∉ m') ->
  linked cv (l1 ++ m ++ l2) d ->
  (forall u, u ∈ m' -> d' !! field_cell "cv_waiter" u "next" = Some (after u (l1 ++ m' ++ l2)) /\
    d' !! field_cell "cv_waiter" u "previous" = Some (before u (l1 ++ m' ++ l2))) ->
  let l := left_of cv (last_or NONE l1) in let r := right_of cv (first_or NONE l2) in
  (forall x, x ∈ cv_cells cv (l1 ++ l2) -> x <> l -> x <> r -> d' !! x = d !! x) ->
  d' !! l = Some (first_or NONE (m' ++ l2)) -> d' !! r = Some (last_or NONE (l1 ++ m')) -> linked cv (l1 ++ m' ++ l2) d'.
Proof.
  intros Hnd Hno Hm (Hf & Hl & Hw) Hnew l r Hkeep Hleft Hright.
  assert (forall u, u ∈ l1 ++ l2 -> u ∈ l1 ++ m ++ l2) as Hsub by (intros u; rewrite !elem_of_app; tauto).
  assert (forall u f, u ∈ l1 ++ l2 -> f ∈ (links 0 0 (Waiter 0 false false)).*1 -> field_cell "cv_waiter" u f ∈ cv_cells cv (l1 ++ l2)) as Hin.
  { intros u f Hu Hfu. apply elem_of_app. right. apply elem_of_list_bind. exists u. split; [|done]. apply elem_of_list_fmap. by exists f. }
  assert (forall f, f ∈ (heads 0 0).*1 -> field_cell "cv_queue" cv f ∈ cv_cells cv (l1 ++ l2)) as Hhd.
  { intros f Hfu. apply elem_of_app. left. apply elem_of_list_fmap. by exists f. }
  edestruct (replace_side (field_cell "cv_queue" cv "first") (fun u => field_cell "cv_waiter" u "next") l1 m m' l2 d d') as [F1 F2];
    [by intros ? ? [=]|done|done|done|done|done|by intros u Hu%Hsub; apply Hw| |exact Hleft|].
  { intros x Hx Hne. apply Hkeep; [|exact Hne|].
    - destruct Hx as [->|(u & Hu & ->)]; [apply Hhd; names|apply Hin; [done|names]].
    - unfold r, right_of. destruct (first_or NONE l2 =? NONE), Hx as [->|(u & _ & ->)]; unfold field_cell; intros [=]. }
  edestruct (replace_side (field_cell "cv_queue" cv "last") (fun u => field_cell "cv_waiter" u "previous") (reverse l2) (reverse m) (reverse m')
    (reverse l1) d d') as [B1 B2].
  { by intros ? ? [=]. }
  { done. }
  { by rewrite <- reverse_app, reverse_Permutation. }
  { by rewrite <- reverse_app, elem_of_reverse. }
  { intros u. rewrite <- reverse_app, !elem_of_reverse. apply Hm. }
  { by rewrite <- !reverse_app, first_or_reverse, <- (assoc_L (++)). }
  { intros u. rewrite <- !reverse_app, elem_of_reverse, <- (assoc_L (++)). intros Hu%Hsub. by apply Hw. }
  { intros x Hx Hne. rewrite last_or_reverse in Hne. rewrite <- reverse_app in Hx. setoid_rewrite elem_of_reverse in Hx. apply Hkeep; [| |exact Hne].
    - destruct Hx as [->|(u & Hu & ->)]; [apply Hhd; names|apply Hin; [done|names]].
    - unfold l, left_of. destruct (last_or NONE l1 =? NONE), Hx as [->|(u & _ & ->)]; unfold field_cell; intros [=]. }
  { rewrite last_or_reverse, <- reverse_app, first_or_reverse. exact Hright. }
  rewrite <- !reverse_app, first_or_reverse, <- (assoc_L (++)) in B1. split_and!; [done..|].
  intros u [Hu|[Hu|Hu]%elem_of_app]%elem_of_app; [|by apply Hnew|]; (split; [apply F2; apply elem_of_app; tauto|]);
    specialize (B2 u); rewrite <- !reverse_app, elem_of_reverse, <- (assoc_L (++)) in B2; apply B2; apply elem_of_app; tauto.
Qed.
