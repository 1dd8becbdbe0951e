(** What the switch hands over, in cells: those of the CPU.

    [of_cpu c]: the cells that belong to CPU [c], whichever of its threads runs. [parked]: the cells that a thread may own while
    it is suspended; none that a lock guards. So a thread that still owns cells of a lock cannot switch. *)
From Ashlar Require Export machine.threads.OneMemory machine.SharedAtomics.

Section baton.
  Context (of_cpu : nat -> cell -> bool) (parked : cell -> bool).

  Definition cpu_part (c : nat) (m : mem) : mem := filter (fun x => of_cpu c x.1 = true) m.
  Definition own_part (c : nat) (m : mem) : mem := filter (fun x => ~ of_cpu c x.1 = true) m.
  Definition only_parked (m : mem) : Prop := map_Forall (fun x _ => parked x = true) m.
  Global Instance only_parked_dec m : Decision (only_parked m).
  Proof. unfold only_parked. apply _. Defined.

  Definition cell_baton : baton_data mem mem :=
    BatonData (fun c _ m => if decide (only_parked (own_part c m)) then Some (cpu_part c m, own_part c m) else None)
      (fun _ d m => d ∪ m).

  Lemma cell_baton_split c to m d m' : bd_split cell_baton c to m = Some (d, m') ->
    d = cpu_part c m /\ m' = own_part c m /\ only_parked m' /\ m = d ∪ m' /\ d ##ₘ m'.
  Proof.
    simpl. case_decide as Hp; [|done]. intros [= <- <-]. split_and!; try done.
    - symmetry. apply map_filter_union_complement.
    - apply map_disjoint_filter_complement.
  Qed.
  Lemma cell_baton_parked c to m d m' : bd_split cell_baton c to m = Some (d, m') -> all_parked (fun x => parked x = true) m'.
  Proof. intros (_ & _ & Hp & _)%cell_baton_split x v Hx. exact (Hp x v Hx). Qed.

  (** A memory of two parts, one the CPU's, the other not. *)
  Lemma cell_baton_parts c to (d m' : mem) : (forall x v, d !! x = Some v -> of_cpu c x = true) ->
    (forall x v, m' !! x = Some v -> of_cpu c x = false /\ parked x = true) ->
    bd_split cell_baton c to (d ∪ m') = Some (d, m').
  Proof.
    intros Hd Hm. assert (Hdis : d ##ₘ m').
    { apply map_disjoint_spec. intros x v w Hv Hw. apply Hd in Hv. apply Hm in Hw as [Hw _]. congruence. }
    assert (A1 : cpu_part c d = d) by (apply map_filter_id; by intros x v Hx%Hd).
    assert (A2 : cpu_part c m' = ∅).
    { apply map_filter_empty_iff. intros x v Hx E. apply Hm in Hx as [Hx _]. simpl in E. congruence. }
    assert (A3 : own_part c d = ∅) by (apply map_filter_empty_iff; intros x v Hx E; apply E; simpl; by eapply Hd).
    assert (A4 : own_part c m' = m') by (apply map_filter_id; intros x v Hx; apply Hm in Hx as [Hx _]; simpl; by rewrite Hx).
    assert (E1 : cpu_part c (d ∪ m') = d).
    { etransitivity; [apply map_filter_union; exact Hdis|]. change (cpu_part c d ∪ cpu_part c m' = d). rewrite A1, A2. apply (right_id_L ∅ (∪)). }
    assert (E2 : own_part c (d ∪ m') = m').
    { etransitivity; [apply map_filter_union; exact Hdis|]. change (own_part c d ∪ own_part c m' = m'). rewrite A3, A4. apply (left_id_L ∅ (∪)). }
    simpl. rewrite E1, E2, decide_True; [done|]. intros x v Hx. by apply (Hm x v).
  Qed.
End baton.

(** The machine of atomic cells and ownership does not mind what suspended threads own, if no lock guards such cells. *)
Section atomics.
  Context (init : Z -> mem) (guarded : Z -> mem -> mem) (parked : cell -> Prop).
  Context (guarded_sub : forall k m, guarded k m ⊆ m).
  Context (guarded_parked : forall k m r, m ##ₘ r -> all_parked parked r -> guarded k (m ∪ r) = guarded k m).

  Lemma atomics_framed c p (m r : mem) l : m ##ₘ r -> all_parked parked r ->
    match atomics_step (cell_data init guarded) c p m l with
    | Blocked => atomics_step (cell_data init guarded) c p (m ∪ r) l = Blocked
    | Wrong => True
    | Ok v m' o => m' ##ₘ r -> atomics_step (cell_data init guarded) c p (m ∪ r) l = Ok v (m' ∪ r) o
    end.
  Proof using guarded_sub guarded_parked.
    intros Hd Hp. destruct (atomics_step _ c p m l) as [| |v m' o] eqn:E; [|done|].
    { by apply atomics_step_not_blocked in E. }
    intros Hd'. destruct (atomics_step_shape _ _ _ _ _ _ _ _ E) as [a|a w|a w|a w|a x w|k Hk|k d m1 Hk Hpush|w]; try done.
    - simpl in *. rewrite Hk. by rewrite (assoc_L (∪)).
    - simpl in *. injection Hpush as <- <-. rewrite decide_True by done. rewrite guarded_parked by done. f_equal.
      pose proof (guarded_sub k m) as Hs. apply map_eq. intros x. apply option_eq. intros v.
      rewrite lookup_difference_Some, lookup_union_Some by done.
      rewrite lookup_union_Some by (eapply map_disjoint_weaken_l; [exact Hd|by apply map_subseteq_difference_l]).
      rewrite lookup_difference_Some. split; [naive_solver|]. intros [[]|Hr]; [naive_solver|]. split; [by right|].
      destruct (guarded k m !! x) eqn:Eg; [|done]. pose proof (lookup_weaken _ _ _ _ Eg Hs) as Hm.
      pose proof (map_disjoint_Some_r _ _ _ _ Hd Hr). congruence.
  Qed.
End atomics.
