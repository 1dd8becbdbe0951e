(** Containers: quota is conserved over the tree. What all containers use themselves is within the root's quota. *)
From Ashlar Require Export layers.container.spec.Tree.

Lemma sum_add (f g : Z -> container -> Z) (s : container_state) :
  container_sum (fun c x => f c x + g c x) s = container_sum f s + container_sum g s.
Proof.
  induction s as [|c x s Hc IH] using map_ind; [done|]. rewrite !sum_insert, IH by done. lia.
Qed.

(** Two sums over containers change places. *)
Lemma sum_exchange (g : Z -> Z -> container -> Z) (s t : container_state) :
  container_sum (fun c _ => container_sum (g c) t) s = container_sum (fun d y => container_sum (fun c _ => g c d y) s) t.
Proof.
  induction t as [|d y t Hd IH] using map_ind; [by apply sum_zero|].
  rewrite sum_insert, <- IH, <- sum_add by done. apply sum_ext. intros c x _. by rewrite sum_insert.
Qed.

(** Each container's quota is in the sum of exactly one parent; the root's in none. *)
Lemma sum_parents s d y : container_valid s -> s !! d = Some y ->
  container_sum (fun c _ => quota_under c d y) s = below_root d y.
Proof.
  intros HV Hd. unfold below_root. pose proof (valid_ok s HV d y Hd) as H. unfold container_ok in H.
  destruct (exists_ y) eqn:Ey.
  - destruct H as (_ & _ & _ & _ & _ & _ & H). case_bool_decide as Er.
    + apply sum_zero. intros c x Hc. unfold quota_under, is_child. rewrite Ey, H. cbn [andb].
      rewrite (proj2 (Z.eqb_neq NONE c)); [done|]. intros <-.
      assert (0 <= NONE <= ROOT) as Hn by (apply (valid_ids s HV); eauto).
      revert Hn. change ROOT with 64. change NONE with 4294967295. lia.
    + destruct H as (Hid & _ & He). unfold exists_in in He. destruct (s !! parent y) as [x|] eqn:Hp; [|done].
      rewrite (sum_delete _ s (parent y) x Hp), sum_zero.
      * unfold quota_under, is_child. rewrite Ey, Z.eqb_refl. simpl. lia.
      * intros c x' [Hne _]%lookup_delete_Some. unfold quota_under, is_child.
        by rewrite (proj2 (Z.eqb_neq _ _) Hne), andb_false_r.
  - subst y. rewrite sum_zero; [by case_bool_decide|done].
Qed.

(** What all gave away is what all but the root have. *)
Theorem granted_is_given s : container_valid s ->
  container_sum (fun _ x => granted x) s = container_sum below_root s.
Proof.
  intros HV. transitivity (container_sum (fun c _ => container_sum (quota_under c) s) s).
  - apply sum_ext. intros c x Hc. pose proof (valid_ok s HV c x Hc) as H. unfold container_ok in H.
    destruct (exists_ x) eqn:Ex; [lia|]. subst x. symmetry. apply (under_none s c HV).
    + unfold exists_in. by rewrite Hc.
    + apply (valid_ids s HV). eauto.
  - rewrite sum_exchange. apply sum_ext. intros d y Hd. by apply sum_parents.
Qed.

(** Conservation over the tree. *)
Theorem total_within_root s x : container_valid s -> s !! ROOT = Some x ->
  container_sum own s <= usage x /\ usage x <= quota x.
Proof.
  intros HV Hx. split; [|by apply (usage_within_quota s HV ROOT x Hx)].
  rewrite (sum_minus own (fun _ x => usage x) (fun _ x => granted x) s) by done. rewrite granted_is_given by done.
  rewrite <- (sum_minus (fun c x => usage x - below_root c x)) by done.
  rewrite (sum_delete _ s ROOT x Hx). unfold below_root at 1. rewrite bool_decide_eq_true_2 by done.
  assert (0 <= container_sum (fun c x => - (usage x - below_root c x)) (delete ROOT s)) as H1.
  { apply sum_nonnegative. intros c y [Hne Hy]%lookup_delete_Some. unfold below_root.
    rewrite bool_decide_eq_false_2 by done. pose proof (usage_within_quota s HV c y Hy). lia. }
  pose proof (sum_add (fun c x => - (usage x - below_root c x)) (fun c x => usage x - below_root c x) (delete ROOT s)) as H2.
  rewrite sum_zero in H2 by (intros; lia). lia.
Qed.
