(** Queues: taking a thread out of the middle, in C. *)
From Ashlar Require Export layers.queue.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Ltac enter code := eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  Theorem queue_remove_triple s d t v s' : queue_rep s d -> queue_remove s t = Some (v, s') ->
    triple "queue_remove" [t] d (fun w d' => w = v /\ queue_rep s' d').
  Proof using HM.
    intros Hr H. pose proof Hr as [Hv _]. apply queue_remove_takes in H as (-> & q & l1 & l2 & Hp); [|done].
    pose proof (unlink_rep _ _ _ _ _ _ _ Hr Hp) as Hr'. pose proof (proj1 Hp) as Hl.
    pose proof (read_first _ _ Hr q _ Hl) as Hf. pose proof (read_last _ _ Hr q _ Hl) as Hla.
    pose proof (read_node _ _ Hr q l1 t l2 Hl) as (T1 & T2 & T3).
    pose proof (queue_valid_nodup s Hv _ _ Hl) as Hnd. pose proof Hnd as Hnd'. rewrite <- Permutation_middle in Hnd'.
    apply NoDup_cons in Hnd' as [Hnt Hnd'].
    assert (forall u, u ∈ l1 ++ l2 -> u <> t /\ u <> NONE) as Hother.
    { intros u Hu. split; [by intros ->|]. eapply (other_not_none s d q); [exact Hr|exact Hl|].
      rewrite elem_of_app, elem_of_cons. apply elem_of_app in Hu. tauto. }
    rewrite last_or_app in Hla. unfold unlink, set_halves in Hr'.
    assert (forall l0 u, l1 = l0 ++ [u] -> node_is d u q (last_or NONE l0) t) as Hleft.
    { intros l0 u ->. apply (read_node _ _ Hr q l0 u (t :: l2)). by rewrite <- (assoc_L (++)) in Hl. }
    assert (forall u l0, l2 = u :: l0 -> node_is d u q t (first_or NONE l0)) as Hright.
    { intros u l0 ->. rewrite <- (last_or_snoc NONE l1 t). apply (read_node _ _ Hr q (l1 ++ [t]) u l0).
      by rewrite <- (assoc_L (++)). }
    enter queue_remove_code. destruct (list_snoc_cases l1) as [->|(l0 & a & ->)]; destruct l2 as [|b l2].
    - cells. simpl in Hf, Hla, T2, T3, Hr'. run. settle.
    - destruct (Hother b) as [Hbt Hbn]; [by left|]. destruct (Hright b l2 eq_refl) as (B1 & B2 & B3).
      cells. simpl in Hf, T2, T3, Hr'. run. settle.
    - destruct (Hother a) as [Hat Han]; [apply elem_of_app; left; apply elem_of_app; right; by left|].
      destruct (Hleft l0 a eq_refl) as (A1 & A2 & A3).
      rewrite left_cell_snoc, last_or_snoc in Hr'. rewrite last_or_snoc in T2.
      cells. simpl in Hla, T3, Hr'. run. settle.
    - destruct (Hother a) as [Hat Han]; [apply elem_of_app; left; apply elem_of_app; right; by left|].
      destruct (Hother b) as [Hbt Hbn]; [apply elem_of_app; right; by left|].
      destruct (Hleft l0 a eq_refl) as (A1 & A2 & A3). destruct (Hright b l2 eq_refl) as (B1 & B2 & B3).
      assert (a <> b) as Hab.
      { intros ->. apply NoDup_app in Hnd' as (_ & Hd & _). apply (Hd b); [apply elem_of_app; right; by left|by left]. }
      rewrite left_cell_snoc, last_or_snoc in Hr'. rewrite last_or_snoc in T2.
      cells. simpl in T3, Hr'. run. settle.
  Qed.
End proof.
