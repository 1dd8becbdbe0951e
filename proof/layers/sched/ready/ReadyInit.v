(** Ready queues: start-up. Whatever the bitmaps of all CPUs contain, [sched_ready_init] makes them those of empty queues. *)
From Ashlar Require Export layers.sched.ready.BitmapCells layers.sched.Code.
Local Opaque gmap_lookup gmap_partial_alter.

(** The part of the cells that is one CPU's. *)
Definition cells_of (cpu : Z) (d : mem) : mem := filter (fun x => x.1.1.1.2 = cpu) d.

Definition ready_maps (x : cell) : Prop := exists cpu, 0 <= cpu < NUM_CPU /\ ready_map_cells cpu x.
Definition map_clear (cpu : Z) (d : mem) : Prop :=
  (forall i, 0 <= i < 4 -> d !! ready_word cpu i = Some 0) /\ d !! ready_summary cpu = Some 0 /\
  d !! ready_best_cell cpu = Some 0.

Lemma ready_map_cells_index cpu x : ready_map_cells cpu x -> x.1.1.2 = cpu.
Proof. intros [(i & _ & ->)|[-> | ->]]; done. Qed.
Lemma cells_of_lookup cpu (d : mem) (x : cell) : x.1.1.2 = cpu -> cells_of cpu d !! x = d !! x.
Proof.
  intros Hx. unfold cells_of. destruct (d !! x) as [v|] eqn:E.
  - by apply map_filter_lookup_Some.
  - apply map_filter_lookup_None. by left.
Qed.

Lemma map_clear_rep cpu s d : 0 <= cpu < NUM_CPU -> exactly ready_maps d -> map_clear cpu d ->
  (forall p, 0 <= p < NUM_PRIORITY -> ready_some s cpu p = false) -> ready_map_rep cpu s (cells_of cpu d).
Proof.
  intros Hc Hx (Hw & Hm & Hb) Hs. split; [|split; [|split]].
  - intros x. split.
    + intros [v [E Hi]%map_filter_lookup_Some]. destruct (proj1 (Hx x)) as (c & _ & H); [by exists v|].
      simpl in Hi. pose proof (ready_map_cells_index _ _ H) as E'. congruence.
    + intros H. rewrite cells_of_lookup by (by apply ready_map_cells_index). apply Hx. by exists cpu.
  - intros i Hi. exists 0. split; [by rewrite cells_of_lookup; [apply Hw|]|]. split; [done|].
    intros b Hb'. rewrite Z.bits_0. symmetry. apply Hs. unfold NUM_PRIORITY. lia.
  - exists 0. split; [by rewrite cells_of_lookup|]. split; [done|]. intros i Hi. rewrite Z.bits_0. case_bool_decide as Hlt; [|done].
    cbn [andb]. symmetry. apply not_true_iff_false. intros (b & Hb' & H)%existsb_seqZ. rewrite Hs in H; [done|].
    unfold NUM_PRIORITY. lia.
  - rewrite cells_of_lookup by done. rewrite Hb. f_equal. unfold ready_best.
    destruct (best_below_spec s cpu 256) as [[-> _]|(p & _ & Hp & H & _)]; [done|]. by rewrite Hs in H.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).

  Lemma map_clear_keep c c' x v d : ready_map_cells c' x -> c <> c' -> map_clear c d -> map_clear c (<[x := v]> d).
  Proof using.
    intros Hx Hne (A & B & C). pose proof (ready_map_cells_index _ _ Hx) as E.
    assert (forall y : cell, y.1.1.2 = c -> x <> y) as Hy by (intros y H ->; congruence).
    unfold map_clear. rewrite !own_lookup_ne by (by apply Hy). split; [|done]. intros i Hi. rewrite own_lookup_ne by (by apply Hy). auto.
  Qed.

  Theorem sched_ready_init_triple d : exactly ready_maps d ->
    triple "sched_ready_init" [] d (fun v d' => v = 0 /\ exactly ready_maps d' /\
      forall cpu s, 0 <= cpu < NUM_CPU -> (forall p, 0 <= p < NUM_PRIORITY -> ready_some s cpu p = false) ->
        ready_map_rep cpu s (cells_of cpu d')).
  Proof using HM.
    intros Hx. eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold sched_ready_init_code. locals_simpl.
    step. step.
    eapply owned_while with (n := Z.to_nat 16) (I := fun n r d => exists c i, r = [c; i] /\ 0 <= c <= 16 /\
      n = Z.to_nat (16 - c) /\ exactly ready_maps d /\ forall u, 0 <= u < c -> map_clear u d).
    { exists 0, 0. split; [done|]. split; [lia|]. split; [f_equal; lia|]. split; [done|]. intros u Hu. lia. }
    clear d Hx. intros n r d (c & i & -> & Hc & -> & Hx & Hdone). eexists. split; [evaluate|]. cbn [compare].
    destruct (c <? 16) eqn:Elt.
    - apply Z.ltb_lt in Elt. assert (forall x, ready_map_cells c x -> ready_maps x) as Hown
        by (intros x H; exists c; split; [unfold NUM_CPU; lia|done]).
      step. step. step.
      eapply owned_while with (n := Z.to_nat 4) (I := fun n r d => exists i, r = [c; i] /\ 0 <= i <= 4 /\
        n = Z.to_nat (4 - i) /\ exactly ready_maps d /\ (forall u, 0 <= u < c -> map_clear u d) /\
        forall j, 0 <= j < i -> d !! ready_word c j = Some 0).
      { exists 0. split; [done|]. split; [lia|]. split; [f_equal; lia|]. split; [done|]. split; [done|]. intros u Hu. lia. }
      clear d Hx Hdone. intros n r d (j & -> & Hj & -> & Hx & Hdone & Hwords). eexists. split; [evaluate|]. cbn [compare].
      destruct (j <? 4) eqn:Ej.
      + apply Z.ltb_lt in Ej. assert (ready_map_cells c (ready_word c j)) as Hcell by (left; exists j; split; [lia|done]).
        destruct (proj2 (Hx _) (Hown _ Hcell)) as [v Ev]. pose proof Ev as Ev'. unfold ready_word in Ev.
        repeat step. rewrite wrap_small by lia. exists (Z.to_nat (4 - (j + 1))). split; [lia|]. exists (j + 1).
        split; [done|]. split; [lia|]. split; [done|]. split; [apply exactly_write; [done|by apply Hown]|]. split.
        * intros u Hu. apply (map_clear_keep _ c); [done|lia|by apply Hdone].
        * intros k Hk. destruct (decide (k = j)) as [->|]; [apply own_lookup|]. rewrite own_lookup_ne; [apply Hwords; lia|].
          unfold ready_word. congruence.
      + apply Z.ltb_ge in Ej. assert (j = 4) as -> by lia.
        assert (ready_map_cells c (ready_summary c)) as Hsum by (right; by left).
        assert (ready_map_cells c (ready_best_cell c)) as Hbest by (right; by right).
        destruct (proj2 (Hx _) (Hown _ Hsum)) as [v Ev], (proj2 (Hx _) (Hown _ Hbest)) as [v' Ev'].
        unfold ready_summary, ready_best_cell in Ev, Ev'. repeat step. rewrite wrap_small by lia.
        exists (Z.to_nat (16 - (c + 1))). split; [lia|]. exists (c + 1), 4.
        split; [done|]. split; [lia|]. split; [done|]. split; [by repeat (apply exactly_write; [|by apply Hown])|].
        intros u Hu. destruct (decide (u = c)) as [->|].
        * unfold map_clear. cells. split; [|split; look; done]. intros k Hk. look. by apply Hwords.
        * apply (map_clear_keep _ c); [done|done|]. apply (map_clear_keep _ c); [done|done|]. apply Hdone. lia.
    - apply Z.ltb_ge in Elt. assert (c = 16) as -> by lia. split; [done|]. split; [done|].
      intros cpu s Hcpu Hs. by apply map_clear_rep; [| |apply Hdone|].
  Qed.
End proof.
