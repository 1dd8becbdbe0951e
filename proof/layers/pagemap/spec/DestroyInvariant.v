(** Page maps: destruction keeps what holds of every state, and moves on. *)
From Ashlar Require Export layers.pagemap.spec.Invariant.

(** The move in page numbers. *)
Definition next_page (s : page_map) : Z :=
  let n := page_of (cursor s) in let m := span (missing s n) in (n / m + 1) * m.

Section move.
  Context (s : page_map) (HV : pagemap_valid s) (Hc : cursor s < USER_END).
  Notation n := (page_of (cursor s)).
  Notation m := (missing s n).

  Lemma cursor_page : cursor s = 4096 * n /\ 0 <= n < end_page.
  Proof using HV Hc.
    destruct HV as (_ & _ & H1 & H2 & _). unfold page_of, USER_END, end_page in *. pose proof (Z.div_mod (cursor s) 4096). lia.
  Qed.
  Lemma next_cursor_page : next_cursor s = 4096 * next_page s.
  Proof using HV Hc.
    destruct cursor_page as [E _]. unfold next_cursor, next_page. cbv zeta. pose proof (missing_range s n).
    pose proof (span_pos m). rewrite E at 1. rewrite Z.div_mul_cancel_l by lia. lia.
  Qed.
  Lemma next_page_bounds : n < next_page s <= end_page.
  Proof using HV Hc.
    destruct cursor_page as [_ Hn]. unfold next_page. cbv zeta. pose proof (missing_range s n) as Hm.
    pose proof (span_pos m). pose proof (Z.mul_succ_div_gt n (span m)). split; [lia|].
    assert (exists q, end_page = q * span m) as [q Hq].
    { assert (m = 0 \/ m = 1 \/ m = 2 \/ m = 3) as [->|[->|[->| ->]]] by lia.
      - by exists 30064771072.
      - by exists 58720256.
      - by exists 114688.
      - by exists 224. }
    rewrite Hq in *. apply Z.mul_le_mono_nonneg_r; [lia|]. assert (n / span m < q); [|lia]. apply Z.div_lt_upper_bound; lia.
  Qed.

  (** Between the cursor and where it goes there is no page but the one at the cursor. *)
  Lemma passed_empty n' e : leaves s !! n' = Some e -> n' <> n -> next_page s <= n'.
  Proof using HV Hc.
    intros He Hne. destruct (Z.le_gt_cases (next_page s) n') as [|Hlt]; [done|exfalso].
    destruct cursor_page as [Ec Hn]. destruct (valid_leaf s HV _ _ He) as (_ & Hn' & _ & Ht).
    pose proof (missing_range s n) as Hm. unfold next_page in Hlt. cbv zeta in Hlt.
    destruct (decide (m = 0)) as [E|Hm0]; [rewrite E, span_0, Z.div_1_r in Hlt; lia|].
    assert (above (m - 1) n' = above (m - 1) n) as Ea.
    { rewrite !above_below. pose proof (span_pos m). apply Z.le_antisymm.
      - assert (n' / span m < n / span m + 1); [|lia]. apply Z.div_lt_upper_bound; lia.
      - apply Z.div_le_mono; lia. }
    assert (forall l, 0 <= l <= 2 -> is_Some (tables s !! (l, above l n'))) as Hup.
    { destruct Ht as [f0 H0]. destruct (path_up s HV _ _ _ H0) as [f1 H1]; [lia|].
      destruct (path_up s HV _ _ _ H1) as [f2 H2]; [lia|]. intros l Hl.
      assert (l = 0 \/ l = 1 \/ l = 2) as [->|[->| ->]] by lia; eauto. }
    destruct (Hup (m - 1)) as [f Hf]; [lia|]. rewrite Ea, (missing_absent s HV) in Hf by lia. done.
  Qed.

  Lemma move_tables k f : tables (pagemap_move s) !! k = Some f <->
    tables s !! k = Some f /\ (k.1 = PAGEMAP_ROOT_LEVEL \/ next_cursor s < 4096 * behind k).
  Proof using. unfold pagemap_move. cbn [tables]. by rewrite map_filter_lookup_Some. Qed.
  Lemma move_present : present (pagemap_move s) = present s.
  Proof using.
    unfold present. apply bool_decide_ext. split; intros [f Hf]; exists f.
    - by apply move_tables in Hf as [? _].
    - apply move_tables. split; [done|]. by left.
  Qed.

  Theorem move_valid : present s = true -> pagemap_valid (pagemap_move s).
  Proof using HV Hc.
    intros Hp. pose proof next_cursor_page as En. pose proof next_page_bounds as Hb. destruct cursor_page as [_ Hn]. split; [|split].
    - intros [l x] f [Hk Hl]%move_tables. destruct (valid_table s HV _ _ Hk) as (H1 & H2 & H3 & H4 & H5 & H6 & H7).
      cbn [fst snd] in *. split; [done|]. split; [done|]. split; [done|]. split; [done|]. cbn [fst snd]. split; [|split].
      + destruct H5 as [H5|[f' Hf']]; [by left|]. destruct Hl as [Hl|Hl]; [by left|]. right. exists f'.
        apply move_tables. split; [done|]. right. pose proof (behind_up l x (proj1 H1)). lia.
      + intros Hne. destruct Hl as [Hl|Hl]; [lia|done].
      + intros k' f' [Hk' _]%move_tables. by apply H7.
    - cbn [leaves pagemap_move]. intros n' e [Hne He]%lookup_delete_Some.
      destruct (valid_leaf s HV _ _ He) as (H1 & H2 & H3 & [f Hf]).
      pose proof (passed_empty n' e He) as Hpass. specialize (Hpass (fun E => Hne (eq_sym E))).
      split; [done|]. split; [unfold pagemap_move; cbn [cursor]; lia|]. split; [done|]. exists f. apply move_tables. split; [done|]. right.
      rewrite En.
      destruct (above_range 0 n'); [done|]. lia.
    - rewrite move_present, Hp. change (cursor (pagemap_move s)) with (next_cursor s). rewrite En. unfold end_page, USER_END in *.
      split; [lia|]. split; [|done]. rewrite Z.mul_comm. by apply Z.mod_mul.
  Qed.
End move.

Theorem destroy_step_valid s more l s' : pagemap_valid s -> pagemap_destroy_step s = (more, l, s') -> pagemap_valid s'.
Proof.
  intros HV. unfold pagemap_destroy_step. destruct (present s) eqn:Hp; [|by intros [= <- <- <-]].
  destruct (Z.leb_spec USER_END (cursor s)); intros [= <- <- <-]; [apply absent_valid|by apply move_valid].
Qed.
