(** Sums over all containers. *)
From Ashlar Require Export layers.container.Spec.

Section sum.
  Context (f : Z -> container -> Z).
  Implicit Types s : container_state.

  Lemma sum_insert s c x : s !! c = None -> container_sum f (<[c := x]> s) = f c x + container_sum f s.
  Proof. intros Hc. apply (map_fold_insert_L (fun c x n => f c x + n)); [|done]. intros. lia. Qed.
  Lemma sum_delete s c x : s !! c = Some x -> container_sum f s = f c x + container_sum f (delete c s).
  Proof. intros Hc. rewrite <- (insert_delete s c x Hc) at 1. apply sum_insert, lookup_delete. Qed.
  Lemma sum_update s c x y : s !! c = Some x -> container_sum f (<[c := y]> s) = container_sum f s - f c x + f c y.
  Proof.
    intros Hc. pose proof (sum_delete s c x Hc) as H1.
    pose proof (sum_insert (delete c s) c y (lookup_delete s c)) as H2. rewrite insert_delete_insert in H2. lia.
  Qed.

  Lemma sum_nonnegative s : (forall c x, s !! c = Some x -> 0 <= f c x) -> 0 <= container_sum f s.
  Proof.
    induction s as [|c x s Hc IH] using map_ind; intros Hf; [done|]. rewrite sum_insert by done.
    assert (0 <= f c x) by (apply Hf, lookup_insert).
    assert (0 <= container_sum f s); [|lia]. apply IH. intros c' x' Hx'. apply Hf.
    rewrite lookup_insert_ne; congruence.
  Qed.
  Lemma sum_term s c x : (forall c x, s !! c = Some x -> 0 <= f c x) -> s !! c = Some x -> f c x <= container_sum f s.
  Proof.
    intros Hf Hc. rewrite (sum_delete s c x) by done.
    assert (0 <= container_sum f (delete c s)); [|lia]. apply sum_nonnegative.
    intros c' x' [_ Hx']%lookup_delete_Some. eauto.
  Qed.
  Lemma sum_at_most s : (forall c x, s !! c = Some x -> f c x <= 1) -> container_sum f s <= Z.of_nat (size s).
  Proof.
    induction s as [|c x s Hc IH] using map_ind; intros Hf; [done|].
    rewrite sum_insert, map_size_insert_None by done.
    assert (f c x <= 1) by (apply Hf, lookup_insert).
    assert (container_sum f s <= Z.of_nat (size s)); [|lia]. apply IH. intros c' x' Hx'. apply Hf.
    rewrite lookup_insert_ne; congruence.
  Qed.
End sum.

Lemma sum_ext (f g : Z -> container -> Z) (s : container_state) :
  (forall c x, s !! c = Some x -> f c x = g c x) -> container_sum f s = container_sum g s.
Proof.
  induction s as [|c x s Hc IH] using map_ind; intros Hf; [done|]. rewrite !sum_insert by done.
  rewrite (Hf c x) by apply lookup_insert. f_equal. apply IH. intros c' x' Hx'. apply Hf.
  rewrite lookup_insert_ne; congruence.
Qed.
Lemma sum_minus (f g h : Z -> container -> Z) (s : container_state) :
  (forall c x, s !! c = Some x -> f c x = g c x - h c x) -> container_sum f s = container_sum g s - container_sum h s.
Proof.
  induction s as [|c x s Hc IH] using map_ind; intros Hf; [done|]. rewrite !sum_insert by done.
  rewrite (Hf c x) by apply lookup_insert. rewrite IH; [lia|]. intros c' x' Hx'. apply Hf.
  rewrite lookup_insert_ne; congruence.
Qed.
