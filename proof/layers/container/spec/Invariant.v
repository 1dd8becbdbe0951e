(** Containers: the specification keeps its invariant, and what follows for quotas. *)
From Ashlar Require Export layers.container.spec.Sums.

Implicit Types s : container_state.

Section valid.
  Context (s : container_state) (HV : container_valid s).

  Lemma valid_ids c : is_Some (s !! c) <-> 0 <= c <= ROOT.
  Proof using HV.
    destruct HV as (Hd & _ & _). rewrite <- elem_of_dom, Hd, elem_of_list_to_set, elem_of_seqZ.
    change ROOT with 64. lia.
  Qed.
  Lemma valid_ok c x : s !! c = Some x -> container_ok s c x.
  Proof using HV. destruct HV as (_ & _ & H). apply H. Qed.
  Lemma quota_under_nonnegative p c x : s !! c = Some x -> 0 <= quota_under p c x.
  Proof using HV.
    intros Hc. unfold quota_under, is_child. destruct (exists_ x) eqn:E; simpl; [|lia].
    pose proof (valid_ok c x Hc) as H. unfold container_ok in H. rewrite E in H.
    destruct H as (? & ? & ? & _). case_match; lia.
  Qed.
  Lemma one_under_nonnegative p c x : 0 <= one_under p c x.
  Proof using. unfold one_under. case_match; lia. Qed.
  Lemma one_under_at_most p c x : one_under p c x <= 1.
  Proof using. unfold one_under. case_match; lia. Qed.

  (** The number of children fits its word. *)
  Lemma children_bound c x : s !! c = Some x -> 0 <= children x <= ROOT + 1.
  Proof using HV.
    intros Hc. pose proof (valid_ok c x Hc) as H. unfold container_ok in H. destruct (exists_ x) eqn:E.
    - destruct H as (_ & _ & _ & _ & _ & -> & _). split.
      + apply sum_nonnegative. intros. apply one_under_nonnegative.
      + etrans; [apply sum_at_most; intros; apply one_under_at_most|].
        destruct HV as (Hd & _ & _). rewrite <- (size_dom (D := gset Z)), Hd.
        rewrite size_list_to_set by apply NoDup_seqZ. rewrite seqZ_length. change ROOT with 64. lia.
    - subst x. simpl. change ROOT with 64. lia.
  Qed.

  (** A child's quota is part of what its parent gave away. *)
  Lemma child_quota c y x : s !! c = Some y -> exists_ y = true -> s !! parent y = Some x -> exists_ x = true ->
    quota y <= granted x /\ 1 <= children x.
  Proof using HV.
    intros Hc Ey Hp Ex. pose proof (valid_ok _ x Hp) as H. unfold container_ok in H. rewrite Ex in H.
    destruct H as (_ & _ & _ & _ & -> & -> & _). split.
    - etrans; [|apply (sum_term (quota_under (parent y)) s c y); [apply quota_under_nonnegative|done]].
      unfold quota_under, is_child. rewrite Ey, Z.eqb_refl. simpl. lia.
    - etrans; [|apply (sum_term (one_under (parent y)) s c y); [intros; apply one_under_nonnegative|done]].
      unfold one_under, is_child. rewrite Ey, Z.eqb_refl. simpl. lia.
  Qed.

  (** *** Promises *)

  (** Quota is never exceeded. *)
  Theorem usage_within_quota c x : s !! c = Some x -> 0 <= usage x <= quota x.
  Proof using HV.
    intros Hc. pose proof (valid_ok c x Hc) as H. unfold container_ok in H.
    destruct (exists_ x); [lia|]. subst. simpl. lia.
  Qed.

  (** Conservation: what all containers use themselves is within the root's quota. *)
  Definition own (_ : Z) (x : container) : Z := usage x - granted x.
  Definition below_root (c : Z) (x : container) : Z := if bool_decide (c = ROOT) then 0 else quota x.

  Lemma dom_update (c : Z) x y : s !! c = Some x -> dom (<[c := y]> s) =@{gset Z} dom s.
  Proof using. intros Hc. by apply (fin_map_dom.dom_insert_lookup_L (D := gset Z)). Qed.
End valid.

(** *** Updates of a single container that keep everything but its usage *)
Lemma container_ok_usage s c x n c' x' :
  s !! c = Some x -> container_ok s c' x' -> container_ok (<[c := set_usage n x]> s) c' x'.
Proof.
  intros Hc. unfold container_ok. destruct (exists_ x'); [|done].
  rewrite !(sum_update _ s c x) by done.
  assert (forall p, quota_under p c (set_usage n x) = quota_under p c x) as Hq by done.
  assert (forall p, one_under p c (set_usage n x) = one_under p c x) as Ho by done.
  rewrite Hq, Ho. intros (? & ? & ? & ? & ? & ? & Hp). split_and!; try lia.
  case_match; [done|]. destruct Hp as (? & ? & Hp). split_and!; try done.
  unfold exists_in in *. destruct (decide (parent x' = c)) as [Ep|].
  - rewrite Ep in *. rewrite lookup_insert. by rewrite Hc in Hp.
  - by rewrite lookup_insert_ne by done.
Qed.

Lemma set_usage_valid s c x n : container_valid s -> s !! c = Some x -> exists_ x = true ->
  granted x <= n <= quota x -> container_valid (<[c := set_usage n x]> s).
Proof.
  intros HV Hc Ex Hn. pose proof HV as (Hd & Hr & Hok). split_and!.
  - by rewrite (dom_update s c x).
  - unfold exists_in in *. destruct (decide (ROOT = c)) as [<-|].
    + rewrite lookup_insert. by rewrite Hc in Hr.
    + by rewrite lookup_insert_ne by done.
  - apply map_Forall_insert_2.
    + pose proof (container_ok_usage s c x n c x Hc (Hok c x Hc)) as H. unfold container_ok in *. simpl.
      rewrite Ex in *. destruct H as (? & ? & ? & ? & ? & ? & ?). split_and!; simpl; done || lia.
    + intros c' x' Hc'. by apply container_ok_usage, Hok.
Qed.

Theorem container_charge_valid s c n v s' :
  container_valid s -> container_charge s c n = Some (v, s') -> container_valid s'.
Proof.
  intros HV H. unfold container_charge, word32 in H. case_match eqn:En; [|done].
  destruct (s !! c) as [x|] eqn:Hc; [|done]. destruct (exists_ x) eqn:Ex; simpl in H; [|by simplify_eq].
  case_match eqn:Hn; simplify_eq; [done|]. apply set_usage_valid; try done.
  pose proof (valid_ok s HV c x Hc) as Hx. unfold container_ok in Hx. rewrite Ex in Hx. lia.
Qed.

Theorem container_refund_valid s c n v s' :
  container_valid s -> container_refund s c n = Some (v, s') -> container_valid s'.
Proof.
  intros HV H. unfold container_refund in H. destruct (s !! c) as [x|] eqn:Hc; [|done].
  destruct (exists_ x) eqn:Ex; [|done]. simpl in H. case_match eqn:Hn; simplify_eq. apply set_usage_valid; try done.
  pose proof (valid_ok s HV c x Hc) as Hx. unfold container_ok in Hx. rewrite Ex in Hx. lia.
Qed.

Theorem container_read_valid f s c v s' :
  container_valid s -> container_read f s c = Some (v, s') -> container_valid s'.
Proof. intros HV H. unfold container_read in H. case_match; by simplify_eq. Qed.
