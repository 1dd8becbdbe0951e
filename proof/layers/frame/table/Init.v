(** Start-up of frames, first half: whatever the table's cells contain, [frame_init] makes every frame reserved. *)
From Ashlar Require Export layers.frame.table.TableCells.
Local Opaque gmap_lookup gmap_partial_alter.

(** A level of zeros. *)
Lemma level_empty n d : (forall i, 0 <= i < map_words n -> d !! map_cell n i = Some 0) -> level ∅ n d.
Proof.
  intros H i Hi. exists 0. split; [by apply H|]. split; [by split|]. intros b Hb. rewrite Z.bits_0. split; [done|].
  intros (f & Hf & _). by apply not_elem_of_empty in Hf.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).

  Lemma owned_clear_level n x r0 d0 (Qn Qb : locals -> mem -> Prop) Qr d :
    0 <= n < 4 -> (x < length r0)%nat -> map_changed d0 d ->
    (forall i, 0 <= i < map_words n -> is_Some (d0 !! map_cell n i)) ->
    (forall d', map_changed d0 d' -> (forall m, 0 <= m < 4 -> m <> n -> level ∅ m d -> level ∅ m d') -> level ∅ n d' ->
       Qn (<[x := map_words n]> r0) d') ->
    owned (While (Cmp Lt (Var x) (Const (map_words n)))
      (Seq (Store (map_object n) (Var x) "" (Const 0) (Const 0)) (Assign x (Bin W32 Add (Var x) (Const 1)))))
      Qn Qb Qr (<[x := 0]> r0) d.
  Proof.
    intros Hn Hx Hc Hs HQ. assert (0 <= map_words n < 4294967295) as Hw.
    { unfold map_words. repeat (destruct (_ =? _); [lia|]). lia. }
    assert (Hvar : forall i d, eval (Var x) (<[x := i]> r0) d = Some i) by (intros; by apply list_lookup_insert).
    eapply owned_while with (n := Z.to_nat (map_words n)) (I := fun k r d' => exists i, r = <[x := i]> r0 /\
      0 <= i <= map_words n /\ k = Z.to_nat (map_words n - i) /\ map_changed d0 d' /\
      (forall m, 0 <= m < 4 -> m <> n -> level ∅ m d -> level ∅ m d') /\
      forall j, 0 <= j < i -> d' !! map_cell n j = Some 0).
    { exists 0. split; [done|]. split; [lia|]. split; [f_equal; lia|]. split; [done|]. split; [done|]. lia. }
    intros k r d1 (i & -> & Hi & -> & Hc1 & Hm1 & Hz1). exists (i <? map_words n). split.
    { eapply test_cmp; [apply Hvar|apply eval_const]. }
    destruct (Z.ltb_spec i (map_words n)) as [Hlt|Hge].
    - apply owned_seq. eapply owned_store; [apply Hvar|apply eval_const|apply eval_const| |].
      { apply (proj2 Hc1), Hs. lia. }
      change (map_object n, i, ""%string, 0) with (map_cell n i).
      eapply owned_assign.
      { eapply eval_bin; [apply Hvar|apply eval_const|cbn [binary]; rewrite wrap_small by lia; reflexivity]. }
      exists (Z.to_nat (map_words n - (i + 1))). split; [lia|]. exists (i + 1).
      split; [apply list_insert_insert|]. split; [lia|]. split; [done|]. split; [|split].
      + apply map_changed_write; [done|done|lia|]. apply (proj2 Hc1), Hs. lia.
      + intros m Hm Hne Hl. apply level_other; [done|done|done|]. by apply Hm1.
      + intros j Hj. destruct (decide (j = i)) as [-> |Hne]; [apply own_lookup|].
        rewrite own_lookup_ne; [apply Hz1; lia|]. intros E%map_cell_inj; [|done..]. destruct E. lia.
    - assert (i = map_words n) as -> by lia. apply HQ; [done|done|]. by apply level_empty.
  Qed.

  (** The cells of the bitmap are there. *)
  Definition has_map (d : mem) : Prop := forall x, is_map x -> is_Some (d !! x).

  Theorem frame_map_init_triple d : has_map d ->
    triple "frame_map_init" [] d (fun v d' => v = 0 /\ map_rep ∅ d' /\ map_changed d d').
  Proof using HM.
    intros Hd. assert (Hs : forall n i, 0 <= n < 4 -> 0 <= i < map_words n -> is_Some (d !! map_cell n i)).
    { intros n i Hn Hi. apply Hd. by exists n, i. }
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold frame_map_init_code; locals_simpl.
    step. step. step. change [0; 0; 0] with (<[0%nat := 0]> [0; 0; 0]).
    eapply (owned_clear_level 0 0 [0; 0; 0] d); [done|simpl; lia|apply map_changed_refl|intros; by apply Hs|].
    intros d0 C0 _ L0.
    locals_simpl. step. step. step. change [map_words 0; 0; 0] with (<[1%nat := 0]> [map_words 0; 0; 0]).
    eapply (owned_clear_level 1 1 _ d); [done|simpl; lia|done|intros; by apply Hs|]. intros d1 C1 K1 L1.
    locals_simpl. step. step. step.
    change [map_words 0; map_words 1; 0] with (<[2%nat := 0]> [map_words 0; map_words 1; 0]).
    eapply (owned_clear_level 2 2 _ d); [done|simpl; lia|done|intros; by apply Hs|]. intros d2 C2 K2 L2.
    assert (is_Some (d2 !! map_cell 3 0)) as H3 by (apply (proj2 C2), Hs; done).
    eapply owned_store; [apply eval_const..|exact H3|].
    change ("frame_map_3"%string, 0, ""%string, 0) with (map_cell 3 0).
    split; [done|]. split; [|by apply map_changed_write]. intros n Hn.
    assert (n = 0 \/ n = 1 \/ n = 2 \/ n = 3) as [-> | [-> | [-> | ->]]] by lia.
    - apply level_other; [done..|]. apply K2; [done..|]. by apply K1.
    - apply level_other; [done..|]. by apply K2.
    - by apply level_other.
    - apply level_empty. intros i Hi. change (map_words 3) with 1 in Hi. assert (i = 0) as -> by lia. apply own_lookup.
  Qed.

  Theorem frame_init_triple d : exactly frame_table_cells d ->
    triple "frame_init" [] d (fun v d' => v = 0 /\ frame_rep frame_initial d').
  Proof using HM.
    intros Hx. eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold frame_init_code; locals_simpl.
    step. step. step.
    eapply owned_while with (n := Z.to_nat NUM_FRAME) (I := fun n r d => exists f, r = [f] /\ 0 <= f <= NUM_FRAME /\
      n = Z.to_nat (NUM_FRAME - f) /\ exactly frame_table_cells d /\
      forall g, 0 <= g < f -> d !! owner_cell g = Some 0 /\ d !! kind_cell g = Some 0).
    { exists 0. split; [done|]. split; [done|]. split; [f_equal; lia|]. split; [done|]. lia. }
    clear d Hx. intros n r d (f & -> & Hf & -> & Hx & Hz). exists (f <? NUM_FRAME). split; [evaluate|].
    destruct (Z.ltb_spec f NUM_FRAME) as [Hlt|Hge].
    - assert (frame_table_cells (owner_cell f)) as Po by (left; exists f; split; [lia|by left]).
      assert (frame_table_cells (kind_cell f)) as Pk by (left; exists f; split; [lia|by right]).
      destruct (proj2 (Hx _) Po) as [o Ho], (proj2 (Hx _) Pk) as [k Hk]. frame_cells.
      repeat step. rewrite wrap_small by (unfold NUM_FRAME in Hlt; lia). exists (Z.to_nat (NUM_FRAME - (f + 1))).
      split; [lia|].
      exists (f + 1). split; [done|]. split; [lia|]. split; [done|]. split; [by do 2 (apply exactly_write; [|done])|].
      intros g Hg. destruct (decide (g = f)) as [-> |Hne]; [look; done|]. destruct (Hz g) as [A B]; [lia|]. look. done.
    - assert (f = NUM_FRAME) as -> by lia.
      step. eapply owned_call_whole; [evaluate| |].
      { apply frame_map_init_triple. intros x Hm. apply Hx. by right; right. }
      intros v d1 (-> & Hmap & Hc). cbn [set_result].
      assert (is_Some (d1 !! free_cell)) as Hfree by (apply (proj2 Hc), Hx; by right; left).
      eapply owned_store; [apply eval_const..|exact Hfree|].
      change ("frame_free"%string, 0, ""%string, 0) with free_cell.
      split; [done|]. split_and!.
      + apply set_Forall_empty. + apply map_Forall_empty.
      + apply exactly_write; [|by right; left]. intros x. rewrite (proj2 Hc x). apply Hx.
      + intros f Hf'. destruct (Hz f Hf') as [A B]. rewrite !own_lookup_ne by discriminate.
        rewrite (proj1 Hc _ (owner_not_map f)), (proj1 Hc _ (kind_not_map f)). done.
      + apply own_lookup.
      + intros n i Hn Hi. apply (map_rep_other _ _ _ _ free_not_map Hmap); done.
  Qed.
End proof.
