(** Containers: start-up establishes the initial state, whatever the cells contained. *)
From Ashlar Require Export layers.container.Proof.

Section init.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, container_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  (** The first [c] containers are absent. *)
  Definition cleared (c : Z) (d : mem) : Prop :=
    exists s, container_rep s d /\ forall c', 0 <= c' < c -> s !! c' = Some absent.

  Lemma cleared_all (d : mem) s root_quota : container_rep s d -> (forall c', 0 <= c' <= ROOT -> s !! c' = Some absent) ->
    <[ROOT := Container true NONE root_quota 0 0 0]> s = container_initial root_quota.
  Proof.
    intros (Hd & _ & _) Ha. unfold container_initial. apply map_eq. intros c.
    destruct (decide (c = ROOT)) as [->|Hne]; [by rewrite !lookup_insert|]. rewrite !lookup_insert_ne by done.
    destruct (set_to_map (fun c => (c, absent)) (list_to_set (C := gset Z) (seqZ 0 (ROOT + 1))) !! c) as [x|] eqn:E.
    - apply lookup_set_to_map in E; [|by intros]. destruct E as (c' & Hc & [= -> <-]).
      rewrite elem_of_list_to_set, elem_of_seqZ in Hc. apply Ha. lia.
    - destruct (s !! c) as [x|] eqn:Hs; [|done]. exfalso. assert (0 <= c <= ROOT) by (apply Hd; eauto).
      revert E. apply not_eq_None_Some. exists absent. apply lookup_set_to_map; [by intros|]. exists c. split; [|done].
      rewrite elem_of_list_to_set, elem_of_seqZ. lia.
  Qed.

  Theorem container_init_triple s (d : mem) root_quota : container_rep s d ->
    triple "container_init" [root_quota] d (fun v d' => v = 0 /\ container_rep (container_initial root_quota) d').
  Proof using HM.
    intros Hr. eapply triple_owned; [by apply HM|done|]. locals_simpl. unfold container_init_code. locals_simpl.
    step. step. step.
    eapply owned_while with (n := 65%nat)
      (I := fun n r d => exists c, r = [root_quota; c] /\ 0 <= c <= 65 /\ n = Z.to_nat (65 - c) /\ cleared c d).
    { exists 0. split_and!; try done. exists s. split; [done|]. lia. }
    intros n r d1 (c & -> & Hc & -> & s1 & H1 & Ha1). exists (c <? 65). split; [evaluate|].
    destruct (Z.ltb_spec c 65) as [Hlt|Hge]; cbv iota.
    - step. eapply owned_call_whole; [done| |].
      { assert (is_Some (s1 !! c)) as [x Hx] by (apply H1; change ROOT with 64; lia).
        eapply (container_set_triple kernel_entry M cpu HM s1 d1 c x 0); [exact H1|exact Hx|by left]. }
      intros v d2 [-> H2]. cbn [set_result]. step. exists (Z.to_nat (65 - (c + 1))). split; [lia|].
      exists (c + 1). split_and!; try lia.
      + assert (wrap W32 (c + 1) = c + 1) as -> by (apply Z.mod_small; simpl; lia). done.
      + eexists. split; [exact H2|]. intros c' Hc'. destruct (decide (c = c')) as [<-|]; [by rewrite lookup_insert|].
        rewrite lookup_insert_ne by done. apply Ha1. lia.
    - assert (is_Some (s1 !! ROOT)) as [x Hx] by (apply H1; change ROOT with 64; lia).
      eapply owned_call_whole; [done| |].
      { eapply (container_set_triple kernel_entry M cpu HM s1 d1 64 x 1); [exact H1|exact Hx|by right]. }
      intros v d2 [-> H2]. split; [done|].
      rewrite <- (cleared_all d1 s1); [exact H2|exact H1|]. intros c' Hc'. apply Ha1. revert Hc'. change ROOT with 64. lia.
  Qed.

  (** *** The initial states exist: cells of memory that is all zero represent a state. *)
  Definition zero_cells : mem :=
    list_to_map ((fun x => (x, 0)) <$> (c ← seqZ 0 (ROOT + 1); field ← container_fields; [container_cell c field])).
  Definition zero_state : gmap Z container :=
    set_to_map (fun c => (c, Container false 0 0 0 0 0)) (list_to_set (C := gset Z) (seqZ 0 (ROOT + 1))).

  Lemma zero_cells_lookup x : zero_cells !! x = Some 0 <-> container_cells x.
  Proof.
    unfold zero_cells. split.
    - intros H%elem_of_list_to_map_2. apply elem_of_list_fmap in H as (y & [= ->] & H).
      apply elem_of_list_bind in H as (c & H & Hc). apply elem_of_list_bind in H as (f & H & Hf).
      apply elem_of_list_singleton in H as ->. exists c, f. split_and!; try done; apply elem_of_seqZ in Hc; lia.
    - intros (c & f & Hc & Hf & ->). apply elem_of_list_to_map_1'.
      + intros y Hy. apply elem_of_list_fmap in Hy as (z & [= _ ->] & _). done.
      + apply elem_of_list_fmap. eexists. split; [done|]. apply elem_of_list_bind. exists c. split.
        * apply elem_of_list_bind. exists f. split; [by apply elem_of_list_singleton|done].
        * apply elem_of_seqZ. lia.
  Qed.

  Theorem zero_cells_represent : container_rep zero_state zero_cells.
  Proof.
    split_and!.
    - intros c. unfold zero_state. split.
      + intros [x Hx]. apply lookup_set_to_map in Hx as (c' & Hc & [= -> <-]); [|by intros].
        rewrite elem_of_list_to_set, elem_of_seqZ in Hc. lia.
      + intros Hc. eexists. apply lookup_set_to_map; [by intros|]. exists c. split; [|done].
        rewrite elem_of_list_to_set, elem_of_seqZ. lia.
    - intros x. rewrite <- zero_cells_lookup. split; [|eauto]. intros [v Hv]. rewrite Hv. f_equal.
      unfold zero_cells in Hv. apply elem_of_list_to_map_2, elem_of_list_fmap in Hv as (y & [= _ ->] & _). done.
    - intros c x Hx. unfold zero_state in Hx. apply lookup_set_to_map in Hx as (c' & Hc & [= -> <-]); [|by intros].
      rewrite elem_of_list_to_set, elem_of_seqZ in Hc.
      unfold container_is; cbn [exists_ parent quota usage granted children Z_of_bool].
      split_and!; apply zero_cells_lookup; eexists c, _; (split_and!; [lia|lia| |reflexivity]);
        unfold container_fields; rewrite !elem_of_cons; tauto.
  Qed.
End init.
