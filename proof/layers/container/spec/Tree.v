(** Containers: making and removing children keeps the invariant, and quota is conserved over the tree. *)
From Ashlar Require Export layers.container.spec.Invariant.

Lemma container_ok_absent s c x : container_ok s c x -> exists_ x = false -> x = absent.
Proof. unfold container_ok. intros H E. by rewrite E in H. Qed.

(** A container that does not exist, or that has no children, is the parent of none. *)
Lemma no_child s c d y : container_valid s -> s !! d = Some y -> exists_ y = true -> parent y = c ->
  (exists_in s c = true /\ c <> d /\ 0 <= c <= ROOT) \/ d = ROOT.
Proof.
  intros HV Hd Ey <-. pose proof (valid_ok s HV d y Hd) as H. unfold container_ok in H. rewrite Ey in H.
  destruct H as (_ & _ & _ & _ & _ & _ & H). case_bool_decide; [by right|left]. destruct H as (Hid & Hne & He).
  unfold container_id in Hid. split_and!; try done; lia.
Qed.

Lemma sum_zero f s : (forall c x, s !! c = Some x -> f c x = 0) -> container_sum f s = 0.
Proof.
  intros H. transitivity (container_sum (fun _ _ => 0) s); [by apply sum_ext|]. clear H.
  induction s as [|c x s Hc IH] using map_ind; [done|]. rewrite sum_insert by done. lia.
Qed.

Lemma root_parent s y : container_valid s -> s !! ROOT = Some y -> parent y = NONE.
Proof.
  intros HV Hy. pose proof (valid_ok s HV ROOT y Hy) as H. destruct HV as (_ & Hr & _).
  unfold exists_in in Hr. rewrite Hy in Hr. unfold container_ok in H. rewrite Hr in H.
  destruct H as (_ & _ & _ & _ & _ & _ & H). by rewrite bool_decide_eq_true_2 in H.
Qed.

Lemma under_none s c : container_valid s -> exists_in s c = false -> 0 <= c <= ROOT ->
  container_sum (quota_under c) s = 0 /\ container_sum (one_under c) s = 0.
Proof.
  intros HV Hc Hr.
  assert (forall d y, s !! d = Some y -> is_child c y = false) as Hn.
  { intros d y Hd. unfold is_child. destruct (exists_ y) eqn:Ey; [|done]. simpl. apply Z.eqb_neq. intros Ep.
    destruct (no_child s c d y HV Hd Ey Ep) as [(H & _)| ->]; [congruence|].
    rewrite (root_parent s y HV Hd) in Ep. subst c. revert Hr. change ROOT with 64. change NONE with 4294967295. lia. }
  split; apply sum_zero; intros d y Hd; unfold quota_under, one_under; by rewrite (Hn d y Hd).
Qed.

Section two.
  (** A state in which [p] and [c] have been replaced. *)
  Context (s : container_state) (p c : Z) (x x' y y' : container).
  Context (Hp : s !! p = Some x) (Hc : s !! c = Some y) (Hne : p <> c).
  Notation s' := (<[c := y']> (<[p := x']> s)).

  Lemma two_lookup_p : s' !! p = Some x'.
  Proof using Hne. rewrite lookup_insert_ne by congruence. apply lookup_insert. Qed.
  Lemma two_sum f : container_sum f s' = container_sum f s - f p x + f p x' - f c y + f c y'.
  Proof using Hp Hc Hne.
    rewrite (sum_update f (<[p := x']> s) c y y'); [rewrite (sum_update f s p x x') by done; lia|].
    by rewrite lookup_insert_ne.
  Qed.
  Lemma two_dom : dom s' =@{gset Z} dom s.
  Proof using Hp Hc Hne.
    rewrite (dom_update (<[p := x']> s) c y y'); [by apply (dom_update s p x x')|]. by rewrite lookup_insert_ne.
  Qed.
  Lemma two_other d z : s' !! d = Some z -> d <> p -> d <> c -> s !! d = Some z.
  Proof using. intros H ? ?. by rewrite !lookup_insert_ne in H by congruence. Qed.
End two.

Theorem container_split_valid s p c n v s' :
  container_valid s -> container_split s p c n = Some (v, s') -> container_valid s'.
Proof.
  intros HV H. unfold container_split in H. case_match eqn:Eid; [|done].
  destruct (s !! p) as [x|] eqn:Hp; [|done]. destruct (s !! c) as [y|] eqn:Hc; [|done].
  destruct (exists_ x) eqn:Ex, (exists_ y) eqn:Ey; simpl in H; try by simplify_eq.
  case_match eqn:Hn; [by simplify_eq|].
  unfold container_id, word32 in Eid. assert (Hne : p <> c) by lia. assert (Hnb : 0 <= n < 2 ^ 32) by lia.
  assert (Hidc : 0 <= c <= ROOT) by lia. assert (Hidp : 0 <= p <= ROOT) by lia. clear Eid.
  pose proof (valid_ok s HV p x Hp) as Hx. unfold container_ok in Hx. rewrite Ex in Hx.
  destruct Hx as (Hx1 & Hx2 & Hx3 & Hx4 & Hx5 & Hx6 & Hx7).
  pose proof (container_ok_absent s c y (valid_ok s HV c y Hc) Ey) as ->.
  set (x' := Container true (parent x) (quota x) (usage x + n) (granted x + n) (children x + 1)) in *.
  set (y' := Container true p n 0 0 0) in *. simplify_eq.
  assert (HcR : c <> ROOT).
  { intros ->. destruct HV as (_ & Hr & _). unfold exists_in in Hr. by rewrite Hc in Hr. }
  destruct (under_none s c HV) as [Hu1 Hu2]; [unfold exists_in; by rewrite Hc|done|].
  assert (Hq : forall d, container_sum (quota_under d) (<[c := y']> (<[p := x']> s)) =
    container_sum (quota_under d) s + if p =? d then n else 0).
  { intros d. rewrite (two_sum s p c x x' absent y' Hp Hc Hne).
    assert (quota_under d p x' = quota_under d p x) as -> by (unfold quota_under, is_child; by rewrite Ex).
    unfold quota_under at 4 5, is_child. simpl. lia. }
  assert (Ho : forall d, container_sum (one_under d) (<[c := y']> (<[p := x']> s)) =
    container_sum (one_under d) s + if p =? d then 1 else 0).
  { intros d. rewrite (two_sum s p c x x' absent y' Hp Hc Hne).
    assert (one_under d p x' = one_under d p x) as -> by (unfold one_under, is_child; by rewrite Ex).
    unfold one_under at 4 5, is_child. simpl. lia. }
  assert (He : forall d, exists_in s d = true -> exists_in (<[c := y']> (<[p := x']> s)) d = true).
  { intros d. unfold exists_in. destruct (decide (c = d)) as [<-|]; [by rewrite lookup_insert|].
    rewrite lookup_insert_ne by done. destruct (decide (p = d)) as [<-|]; [by rewrite lookup_insert|].
    by rewrite lookup_insert_ne. }
  pose proof HV as (Hd & Hr & Hok). split_and!.
  - by rewrite (two_dom s p c x x' absent y').
  - by apply He.
  - intros d z Hz. destruct (decide (d = c)) as [->|Hdc].
    { rewrite lookup_insert in Hz. simplify_eq. unfold container_ok. simpl. rewrite Hq, Ho, Hu1, Hu2.
      rewrite (proj2 (Z.eqb_neq p c)) by done. rewrite bool_decide_eq_false_2 by done.
      split_and!; try lia; [unfold container_id; lia|].
      apply He. unfold exists_in. by rewrite Hp. }
    destruct (decide (d = p)) as [->|Hdp].
    { rewrite (two_lookup_p s p c x' y' Hne) in Hz. simplify_eq. unfold container_ok. simpl.
      rewrite Hq, Ho, Z.eqb_refl. split_and!; try lia. case_bool_decide; [done|].
      destruct Hx7 as (? & ? & ?). split_and!; try done. by apply He. }
    pose proof (two_other s p c x' y' d z Hz Hdp Hdc) as Hz'.
    pose proof (Hok d z Hz') as Hkz. unfold container_ok in *. destruct (exists_ z); [|done].
    destruct Hkz as (? & ? & ? & ? & ? & ? & Hpz). rewrite Hq, Ho.
    rewrite (proj2 (Z.eqb_neq p d)) by done. split_and!; try lia.
    case_bool_decide; [done|]. destruct Hpz as (? & ? & ?). split_and!; try done. by apply He.
Qed.

Theorem container_merge_valid s c v s' :
  container_valid s -> container_merge s c = Some (v, s') -> container_valid s'.
Proof.
  intros HV H. unfold container_merge in H. destruct (Z.eqb_spec c ROOT) as [|HcR]; [done|].
  destruct (s !! c) as [y|] eqn:Hc; [|done]. destruct (exists_ y) eqn:Ey; simpl in H; [|by simplify_eq].
  destruct (Z.eqb_spec (usage y) 0) as [Hu|]; simpl in H; [|by simplify_eq].
  destruct (Z.eqb_spec (children y) 0) as [Hch|]; simpl in H; [|by simplify_eq].
  destruct (s !! parent y) as [x|] eqn:Hp; [|done].
  set (p := parent y) in *.
  destruct (no_child s p c y HV Hc Ey eq_refl) as [(Hep & Hne & Hidp)|]; [|done].
  assert (Ex : exists_ x = true) by (unfold exists_in in Hep; by rewrite Hp in Hep).
  pose proof (valid_ok s HV p x Hp) as Hx. unfold container_ok in Hx. rewrite Ex in Hx.
  destruct Hx as (Hx1 & Hx2 & Hx3 & Hx4 & Hx5 & Hx6 & Hx7).
  pose proof (valid_ok s HV c y Hc) as Hy. unfold container_ok in Hy. rewrite Ey in Hy.
  destruct Hy as (Hy1 & Hy2 & Hy3 & Hy4 & Hy5 & Hy6 & Hy7).
  destruct (child_quota s HV c y x Hc Ey Hp Ex) as [Hcq Hcc].
  set (x' := Container (exists_ x) (parent x) (quota x) (usage x - quota y) (granted x - quota y) (children x - 1)) in *.
  simplify_eq.
  assert (Hq : forall d, container_sum (quota_under d) (<[c := absent]> (<[p := x']> s)) =
    container_sum (quota_under d) s - if p =? d then quota y else 0).
  { intros d. rewrite (two_sum s p c x x' y absent Hp Hc Hne).
    assert (quota_under d p x' = quota_under d p x) as -> by done.
    unfold quota_under at 4 5, is_child. rewrite Ey. fold p. simpl. destruct (p =? d); lia. }
  assert (Ho : forall d, container_sum (one_under d) (<[c := absent]> (<[p := x']> s)) =
    container_sum (one_under d) s - if p =? d then 1 else 0).
  { intros d. rewrite (two_sum s p c x x' y absent Hp Hc Hne).
    assert (one_under d p x' = one_under d p x) as -> by done.
    unfold one_under at 4 5, is_child. rewrite Ey. fold p. simpl. destruct (p =? d); lia. }
  assert (He : forall d, d <> c -> exists_in s d = true -> exists_in (<[c := absent]> (<[p := x']> s)) d = true).
  { intros d Hdc. unfold exists_in. rewrite lookup_insert_ne by done.
    destruct (decide (p = d)) as [<-|]; [by rewrite lookup_insert|]. by rewrite lookup_insert_ne. }
  pose proof HV as (Hd & Hr & Hok). split_and!.
  - by rewrite (two_dom s p c x x' y absent).
  - by apply He.
  - intros d z Hz. destruct (decide (d = c)) as [->|Hdc].
    { rewrite lookup_insert in Hz. by simplify_eq. }
    destruct (decide (d = p)) as [->|Hdp].
    { rewrite (two_lookup_p s p c x' absent Hne) in Hz. injection Hz as <-.
      assert (Ex' : exists_ x' = true) by exact Ex. unfold container_ok. rewrite Ex'.
      rewrite Hq, Ho, Z.eqb_refl. split_and!; simpl; try lia.
      revert Hx7. destruct (bool_decide (p = ROOT)); [done|]. intros (? & Hpx & Hex). split_and!; try done. apply He; [|done]. intros Epc.
      destruct (child_quota s HV p x y) as [_ Hone]; [done|done|by rewrite Epc|done|]. lia. }
    pose proof (two_other s p c x' absent d z Hz Hdp Hdc) as Hz'.
    pose proof (Hok d z Hz') as Hkz. unfold container_ok in *. destruct (exists_ z) eqn:Ez; [|done].
    destruct Hkz as (? & ? & ? & ? & ? & ? & Hpz). rewrite Hq, Ho.
    rewrite (proj2 (Z.eqb_neq p d)) by done. split_and!; try lia.
    case_bool_decide; [done|]. destruct Hpz as (? & ? & ?). split_and!; try done. apply He; [|done]. intros Epc.
    destruct (child_quota s HV d z y) as [_ Hone]; [done|done|by rewrite Epc|done|]. lia.
Qed.
