(** Containers: cells and states determine each other; a store to a field is an update of the state. *)
From Ashlar Require Export layers.container.spec.Tree lang.logic.Owned.

Implicit Types s : gmap Z container.

(** Container [x] with one field replaced. *)
Definition put (field : string) (v : Z) (x : container) : container :=
  Container
    (if String.eqb field "exists" then negb (v =? 0) else exists_ x)
    (if String.eqb field "parent" then v else parent x)
    (if String.eqb field "quota" then v else quota x)
    (if String.eqb field "usage" then v else usage x)
    (if String.eqb field "granted" then v else granted x)
    (if String.eqb field "children" then v else children x).

Lemma field_cases field : field ∈ container_fields ->
  field = "exists"%string \/ field = "parent"%string \/ field = "quota"%string \/ field = "usage"%string \/
  field = "granted"%string \/ field = "children"%string.
Proof. unfold container_fields. rewrite !elem_of_cons, elem_of_nil. tauto. Qed.

Lemma container_is_other (d : mem) c c' field v x :
  c' <> c -> container_is d c' x -> container_is (<[container_cell c field := v]> d) c' x.
Proof.
  intros Hne H. unfold container_is, container_cell in *. rewrite !own_lookup_ne by congruence. done.
Qed.

Lemma container_is_put (d : mem) c field v x :
  field ∈ container_fields -> (field = "exists"%string -> v = 0 \/ v = 1) ->
  container_is d c x -> container_is (<[container_cell c field := v]> d) c (put field v x).
Proof.
  intros Hf Hv (H1 & H2 & H3 & H4 & H5 & H6). unfold container_is, container_cell, put in *.
  destruct (field_cases field Hf) as [->|[->|[->|[->|[->| ->]]]]]; simpl;
    rewrite ?own_lookup; rewrite ?own_lookup_ne by congruence; split_and!; try done.
  by destruct (Hv eq_refl) as [-> | ->].
Qed.

Lemma rep_put s (d : mem) c x field v :
  container_rep s d -> s !! c = Some x -> field ∈ container_fields -> (field = "exists"%string -> v = 0 \/ v = 1) ->
  container_rep (<[c := put field v x]> s) (<[container_cell c field := v]> d).
Proof.
  intros (Hd & Hx & Hs) Hc Hf Hv. assert (Hid : 0 <= c <= ROOT) by (apply Hd; eauto). split_and!.
  - intros c'. rewrite <- Hd. rewrite lookup_insert_is_Some. destruct (decide (c = c')) as [<-|]; [|naive_solver].
    split; [intros _; eauto|by left].
  - intros y. rewrite <- Hx. rewrite (lookup_insert_is_Some d). destruct (decide (container_cell c field = y)) as [<-|].
    + split; [intros _; apply Hx; by exists c, field|by left].
    + naive_solver.
  - intros c' y. destruct (decide (c = c')) as [<-|].
    + rewrite lookup_insert. intros [= <-]. apply container_is_put; auto.
    + rewrite lookup_insert_ne by done. intros Hy. apply container_is_other; auto.
Qed.

(** Field by field: what is read. *)
Section read.
  Context (s : gmap Z container) (d : mem) (c : Z) (x : container) (Hr : container_rep s d) (Hc : s !! c = Some x).
  Lemma read_container : container_is d c x.
  Proof using Hr Hc. destruct Hr as (_ & _ & H). by apply H. Qed.
End read.

Theorem container_rep_state s s' (d : mem) : container_rep s d -> container_rep s' d -> s = s'.
Proof.
  intros (Hd & _ & Hs) (Hd' & _ & Hs'). apply map_eq. intros c.
  destruct (s !! c) as [x|] eqn:Hc, (s' !! c) as [y|] eqn:Hc'.
  - destruct (Hs c x Hc) as (A1 & A2 & A3 & A4 & A5 & A6), (Hs' c y Hc') as (B1 & B2 & B3 & B4 & B5 & B6).
    destruct x as [ex ? ? ? ? ?], y as [ey ? ? ? ? ?]; simpl in *. f_equal.
    assert (Z_of_bool ex = Z_of_bool ey) by congruence. f_equal; try congruence. by destruct ex, ey.
  - assert (is_Some (s' !! c)) as [? ?] by (apply Hd', Hd; eauto). congruence.
  - assert (is_Some (s !! c)) as [? ?] by (apply Hd, Hd'; eauto). congruence.
  - done.
Qed.

Theorem container_rep_cells s (d d' : mem) : container_rep s d -> container_rep s d' -> d = d'.
Proof.
  intros (Hd & Hx & Hs) (_ & Hx' & Hs'). apply own_eq. intros y.
  destruct (d !! y) as [v|] eqn:E.
  - assert (container_cells y) as (c & field & Hc & Hf & ->) by (apply Hx; eauto).
    assert (is_Some (s !! c)) as [x Hsc] by (by apply Hd).
    destruct (Hs c x Hsc) as (A1 & A2 & A3 & A4 & A5 & A6), (Hs' c x Hsc) as (B1 & B2 & B3 & B4 & B5 & B6).
    destruct (field_cases field Hf) as [->|[->|[->|[->|[->| ->]]]]]; congruence.
  - destruct (d' !! y) as [v|] eqn:E'; [|done].
    assert (is_Some (d !! y)) as [? ?] by (apply Hx, Hx'; eauto). congruence.
Qed.
