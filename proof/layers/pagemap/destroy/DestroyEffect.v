(** The effect of destruction's program on the map, and the frames it frees in order: the specification's step. *)
From Ashlar Require Export layers.pagemap.destroy.Destroy.
Local Opaque gmap_lookup gmap_partial_alter.

(** The frame of the table of level [i] of the way, if the cursor leaves it behind. *)
Definition left_behind (s : page_map) (i : Z) : option Z :=
  let n := page_of (cursor s) in if 4096 * behind (i, above i n) <=? next_cursor s then tables s !! (i, above i n) else None.
Definition leaf_frame (s : page_map) : list Z :=
  let e := default 0 (leaves s !! page_of (cursor s)) in if has e ARCH_PTE_OWNED then [entry_frame e] else [].

Lemma move_frames_levels s : pagemap_valid s ->
  let l := missing s (page_of (cursor s)) in move_frames s = leaf_frame s ++ omap (left_behind s) (seqZ l (3 - l)).
Proof.
  intros HV l. subst l. unfold move_frames. cbv zeta. f_equal. change (omap (left_behind s) [0; 1; 2] =
    omap (left_behind s) (seqZ (missing s (page_of (cursor s))) (3 - missing s (page_of (cursor s))))).
  assert (forall i, 0 <= i < missing s (page_of (cursor s)) -> left_behind s i = None) as Hno.
  { intros i Hi. unfold left_behind. rewrite (missing_absent s HV) by done. by destruct (_ <=? _). }
  pose proof (missing_range s (page_of (cursor s))) as Hm. generalize dependent (missing s (page_of (cursor s))).
  intros l Hno Hm. assert (l = 0 \/ l = 1 \/ l = 2 \/ l = 3) as [->|[->|[->| ->]]] by lia.
  - done.
  - change (seqZ 1 (3 - 1)) with [1; 2]. cbn [omap list_omap]. by rewrite (Hno 0) by lia.
  - change (seqZ 2 (3 - 2)) with [2]. cbn [omap list_omap]. by rewrite (Hno 0), (Hno 1) by lia.
  - change (seqZ 3 (3 - 3)) with (@nil Z). cbn [omap list_omap]. by rewrite (Hno 0), (Hno 1), (Hno 2) by lia.
Qed.

Lemma yields_loc_inv X f (κ : Z -> prog X) a w b : yields X (Loc f κ) a w b ->
  exists v a1, f a = Some (v, a1) /\ yields X (κ v) a1 w b.
Proof. intros Hy. inversion Hy; subst. eauto. Qed.
Lemma yields_act_inv X q (κ : Z -> prog X) a w b : yields X (Act q κ) a w b ->
  exists v a1, response X q a v a1 /\ yields X (κ v) a1 w b.
Proof. intros Hy. inversion Hy; subst. eauto. Qed.

Section effect.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Notation op := (slot_object Y).
  Notation oh := (owned_frames_object H).
  Notation remove_owner := (remove_owner X Yc Yf H).
  Notation drop_table := (drop_table X kernel_entry Yc Yf H p Y).
  Notation drop_leaf := (drop_leaf X kernel_entry Yc Yf H p Y).
  Notation pass_levels := (pass_levels X kernel_entry Yc Yf H p Y).
  Notation on_held := (on_held X kernel_entry p Y).

  (** The frames [l] are freed, in this order; between, the map and the owned frames change. *)
  Inductive gives : objects X -> list Z -> objects X -> Prop :=
  | gives_end a : gives a [] a
  | gives_change a a1 l a2 : (forall o, o <> op -> o <> oh -> a1 !! o = a !! o) -> gives a1 l a2 -> gives a l a2
  | gives_frame a f w a1 l a2 : yields X (remove_owner [f; p] Ret) a w a1 -> gives a1 l a2 -> gives a (f :: l) a2.
  Lemma gives_app a l a1 l' a2 : gives a l a1 -> gives a1 l' a2 -> gives a (l ++ l') a2.
  Proof using.
    induction 1 as [a|a b l a1 Hb H1 IH|a f w b l a1 Hy H1 IH]; intros H2; simpl; [done| |].
    - eapply gives_change; [exact Hb|auto]. - eapply gives_frame; [exact Hy|auto].
  Qed.

  (** *** The programs' parts *)
  Lemma then_inv (q : (Z -> prog X) -> prog X) κ a w a' : same (bind (q Ret) κ) (q κ) -> yields X (q κ) a w a' ->
    exists v a1, yields X (q Ret) a v a1 /\ yields X (κ v) a1 w a'.
  Proof using. intros Hs Hy. apply yields_bind_inv. eapply yields_same; [exact Hy|by apply same_sym]. Qed.

  Lemma remove_owner_keeps f a w a' : yields X (remove_owner [f; p] Ret) a w a' -> a' !! op = a !! op.
  Proof using Hother.
    intros Hy. destruct Hother as [Hoc Hof]. destruct (remove_owner_yields _ _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy) as [K _].
    apply K; [apply map_owned_frames_differ|done|done].
  Qed.

  Lemma on_held_gives g a w a' s : a !! op = Some (slot_in Y s) -> yields X (on_held g Ret) a w a' ->
    exists s', g s = Some (w, s') /\ a' !! op = Some (slot_in Y s') /\ gives a [] a'.
  Proof using.
    intros Ho Hy. apply yields_loc_inv in Hy as (v & a1 & Hf & Hy1). inversion Hy1; subst.
    destruct (held_known X kernel_entry p Y _ _ _ _ _ Ho Hf) as (s' & Hg & ->). exists s'. split; [done|].
    split; [apply lookup_insert|]. eapply gives_change; [|apply gives_end]. intros o H1 _. by rewrite lookup_insert_ne.
  Qed.
  Lemma taken_gives g a w a' s : a !! op = Some (slot_in Y s) ->
    yields X (Loc (on_both Y H g) (fun f => remove_owner [f; p] Ret)) a w a' ->
    exists h f s' h', g s h = Some (f, s', h') /\ a' !! op = Some (slot_in Y s') /\ gives a [f] a'.
  Proof using Hother.
    intros Ho Hy. apply yields_loc_inv in Hy as (f & a1 & Hf & Hy1). unfold on_both in Hf. rewrite Ho, slot_in_out in Hf.
    destruct (a !! oh) as [sh|]; [|done]. destruct (owned_frames_out H sh) as [h|]; [|done].
    destruct (g s h) as [[[v s'] h']|] eqn:Hg; [|done]. injection Hf as <- <-. exists h, v, s', h'. split; [done|]. split.
    - rewrite (remove_owner_keeps _ _ _ _ Hy1). rewrite lookup_insert_ne by (intros E; by apply (map_owned_frames_differ Y H)).
      apply lookup_insert.
    - eapply gives_change; [|eapply gives_frame; [exact Hy1|apply gives_end]]. intros o H1 H2. by rewrite !lookup_insert_ne.
  Qed.
  Lemma drop_leaf_gives n a w a' s : a !! op = Some (slot_in Y s) -> yields X (drop_leaf n Ret) a w a' ->
    a' !! op = Some (slot_in Y (without_page n s)) /\
    gives a (if has (default 0 (leaves s !! n)) ARCH_PTE_OWNED then [entry_frame (default 0 (leaves s !! n))] else []) a'.
  Proof using Hother.
    intros Ho Hy. unfold DestroyPrograms.drop_leaf, DestroyPrograms.on_held in Hy.
    apply yields_loc_inv in Hy as (e & a1 & Hf & Hy1).
    destruct (held_known X kernel_entry p Y _ _ _ _ _ Ho Hf) as (s' & Hg & ->). injection Hg as <- <-.
    assert (forall l a2, gives (<[op := slot_in Y (without_page n s)]> a) l a2 -> gives a l a2) as Hchange.
    { intros l a2. apply gives_change. intros o H1 _. by rewrite lookup_insert_ne. }
    destruct (has _ ARCH_PTE_OWNED).
    - split; [rewrite (remove_owner_keeps _ _ _ _ Hy1); apply lookup_insert|]. apply Hchange.
      eapply gives_frame; [exact Hy1|apply gives_end].
    - inversion Hy1; subst. split; [apply lookup_insert|]. apply Hchange, gives_end.
  Qed.

  (** *** The pass, the move *)
  Section passes.
    Context (s : page_map) (HV : pagemap_valid s) (Hc : cursor s < USER_END).
    Notation n := (page_of (cursor s)).
    Notation l := (missing s n).
    Notation next := (next_page s).

    Lemma left_behind_is j : l <= j -> (forall i, l <= i < j -> entry_index i next = 0) ->
      left_behind s j = if entry_index j next =? 0 then tables s !! (j, above j n) else None.
    Proof using HV Hc.
      intros Hj Hi. unfold left_behind. rewrite (next_cursor_page s HV Hc). pose proof (behind_indices s HV Hc j Hj Hi) as Hb.
      destruct (Z.eqb_spec (entry_index j next) 0) as [E|E].
      - rewrite (proj2 (Z.leb_le _ _)); [done|]. apply Hb in E. lia.
      - rewrite (proj2 (Z.leb_gt _ _)); [done|].
        destruct (Z.lt_ge_cases next (behind (j, above j n))); [lia|]. by destruct E; apply Hb.
    Qed.
    Lemma left_behind_none j k : l <= j -> j + Z.of_nat k = 3 -> (forall i, l <= i < j -> entry_index i next = 0) ->
      entry_index j next <> 0 -> omap (left_behind s) (seqZ j (Z.of_nat k)) = [].
    Proof using HV Hc.
      intros Hj Hk Hi Hne. assert (forall i, i ∈ seqZ j (Z.of_nat k) -> left_behind s i = None) as Hno.
      { intros i Hin%elem_of_seqZ. unfold left_behind. rewrite (next_cursor_page s HV Hc).
        rewrite (proj2 (Z.leb_gt _ _)); [done|]. pose proof (behind_above s HV Hc j Hj Hne Hi i (proj1 Hin)). lia. }
      induction (seqZ j (Z.of_nat k)) as [|i is IH]; [done|]. cbn [omap list_omap]. rewrite Hno by (by left).
      apply IH. intros i' Hi'. apply Hno. by right.
    Qed.

    Lemma pass_levels_gives k j t a w a' : l <= j -> j + Z.of_nat k = 3 -> passed s j t ->
      (forall i, l <= i < j -> entry_index i next = 0) -> a !! op = Some (slot_in Y t) ->
      yields X (pass_levels k j n next Ret) a w a' ->
      a' !! op = Some (slot_in Y (with_cursor (4096 * next) (pass_tables k j n next t))) /\
      gives a (omap (left_behind s) (seqZ j (Z.of_nat k))) a'.
    Proof using HV Hc Hother.
      revert j t a. induction k as [|k IH]; intros j t a Hj Hk Hp Hi Ho Hy.
      - destruct (on_held_gives _ _ _ _ _ Ho Hy) as (t' & Hg & Ho' & Hgives). apply move_cursor_inv in Hg as (_ & _ & ->). done.
      - cbn [DestroyPrograms.pass_levels pass_tables] in *. destruct (Z.eqb_spec (entry_index j next) 0) as [E|E].
        + apply (then_inv (drop_table j n)) in Hy as (v & a1 & Hy1 & Hy2); [|apply drop_table_continuation].
          destruct (taken_gives _ _ _ _ _ Ho Hy1) as (h & f & t' & h' & Hg & Ho1 & Hg1).
          apply take_table_inv in Hg as (Hf & _ & -> & _).
          assert (left_behind s j = Some f) as Hl.
          { rewrite left_behind_is by done. rewrite (proj2 (Z.eqb_eq _ _) E). destruct Hp as (Ht & _). rewrite Ht in Hf.
            cbn [fst snd] in Hf. by rewrite decide_False in Hf by lia. }
          assert (forall i, l <= i < j + 1 -> entry_index i next = 0) as Hi'.
          { intros i Hi'. destruct (decide (i = j)) as [->|]; [done|]. apply Hi. lia. }
          destruct (IH (j + 1) (without t (j, above j n)) a1) as [Ho2 Hg2];
            [lia|lia|by apply passed_next|exact Hi'|exact Ho1|exact Hy2|].
          split; [exact Ho2|]. rewrite seqZ_cons by lia. cbn [omap list_omap]. rewrite Hl.
          replace (Z.pred (Z.of_nat (S k))) with (Z.of_nat k) by lia. by apply (gives_app a [f] a1).
        + destruct (on_held_gives _ _ _ _ _ Ho Hy) as (t' & Hg & Ho' & Hgives). apply move_cursor_inv in Hg as (_ & _ & ->).
          rewrite left_behind_none by done. done.
    Qed.
    Lemma pass_gives a w a' : a !! op = Some (slot_in Y (page_gone s)) ->
      yields X (pass X kernel_entry Yc Yf H p Y l n Ret) a w a' ->
      a' !! op = Some (slot_in Y (pagemap_move s)) /\ gives a (omap (left_behind s) (seqZ l (3 - l))) a'.
    Proof using HV Hc Hother.
      intros Ho Hy. pose proof (missing_range s n). rewrite <- (pass_state_move s HV Hc). unfold pass, pass_state in *.
      rewrite (end_of_next s) in *. unfold PAGEMAP_ROOT_LEVEL in *.
      pose proof (pass_levels_gives (Z.to_nat (3 - l)) l (page_gone s) a w a') as Hpass. rewrite Z2Nat.id in Hpass by lia.
      apply Hpass; [lia|lia|by apply page_gone_passed|intros i Hi; lia|exact Ho|exact Hy].
    Qed.
  End passes.

  Notation move := (move X kernel_entry Yc Yf H p Y).
  Notation move_or_end := (move_or_end X kernel_entry Yc Yf H p Y).
  Notation drop_root := (drop_root X kernel_entry Yc Yf H p Y).
  Notation pass := (pass X kernel_entry Yc Yf H p Y).

  Lemma look_inv g a v a' s : a !! op = Some (slot_in Y s) -> look Y g a = Some (v, a') -> v = g s /\ a' = a.
  Proof using. intros Ho. rewrite (look_present Y g a s Ho). by intros [= <- <-]. Qed.
  Lemma pass_then l n v a w a' : yields X (pass l n (fun _ => Ret v)) a w a' ->
    w = v /\ exists u, yields X (pass l n Ret) a u a'.
  Proof using.
    intros Hy. apply (then_inv (pass l n)) in Hy as (u & a1 & Hy1 & Hy2); [|apply pass_continuation]. inversion Hy2; subst.
    split; [done|by exists u].
  Qed.

  Theorem move_gives s a w a' : pagemap_valid s -> a !! op = Some (slot_in Y s) -> yields X (move Ret) a w a' ->
    if USER_END <=? cursor s then w = 0 /\ a' = a
    else w = 1 /\ a' !! op = Some (slot_in Y (pagemap_move s)) /\ gives a (move_frames s) a'.
  Proof using Hother.
    intros HV Ho Hy. apply yields_loc_inv in Hy as (v & a1 & Hf & Hy1). apply (look_inv _ _ _ _ s Ho) in Hf as [-> ->].
    destruct (Z.leb_spec USER_END (cursor s)) as [|Hc]; [by inversion Hy1|].
    apply yields_loc_inv in Hy1 as (v & a1 & Hf & Hy2). apply (look_inv _ _ _ _ s Ho) in Hf as [-> ->].
    rewrite (move_frames_levels s HV). pose proof (pass_gives s HV Hc) as Hpass. unfold page_gone in Hpass.
    pose proof (missing_range s (page_of (cursor s))). destruct (Z.eqb_spec (missing s (page_of (cursor s))) 0) as [E|E].
    - apply (then_inv (drop_leaf (page_of (cursor s)))) in Hy2 as (e & a1 & Hy3 & Hy4); [|apply drop_leaf_continuation].
      apply pass_then in Hy4 as [-> [u Hy4]]. destruct (drop_leaf_gives _ _ _ _ _ Ho Hy3) as [Ho1 Hg1].
      rewrite <- E in Hy4 at 1. destruct (Hpass a1 u a' Ho1 Hy4) as [Ho2 Hg2]. split; [done|]. split; [done|].
      eapply gives_app; [exact Hg1|exact Hg2].
    - apply pass_then in Hy2 as [-> [u Hy2]]. destruct (Hpass a u a' Ho Hy2) as [Ho2 Hg2]. split; [done|]. split; [done|].
      unfold leaf_frame. rewrite (no_table s _ HV); [exact Hg2|]. apply (missing_absent s HV). lia.
  Qed.

  Theorem move_or_end_gives s a w a' : pagemap_valid s -> present s = true -> a !! op = Some (slot_in Y s) ->
    yields X (move_or_end Ret) a w a' ->
    exists l s', pagemap_destroy_step s = (w, l, s') /\ a' !! op = Some (slot_in Y s') /\ gives a l a'.
  Proof using Hother.
    intros HV Hp Ho Hy. unfold Destroy.move_or_end in Hy.
    apply (then_inv move) in Hy as (more & a1 & Hy1 & Hy2); [|apply move_continuation].
    pose proof (move_gives s a more a1 HV Ho Hy1) as Hm. unfold pagemap_destroy_step. rewrite Hp.
    destruct (Z.leb_spec USER_END (cursor s)) as [Hc|Hc].
    - destruct Hm as [-> ->]. change (0 =? 0) with true in Hy2. cbv iota in Hy2.
      apply (then_inv drop_root) in Hy2 as (v & a2 & Hy3 & Hy4); [|apply drop_root_continuation]. inversion Hy4; subst.
      destruct (taken_gives _ _ _ _ _ Ho Hy3) as (h & f & s' & h' & Hg & Ho' & Hgives).
      apply take_root_inv in Hg as (_ & -> & -> & _). by exists [root_of s], pagemap_absent.
    - destruct Hm as (-> & Ho1 & Hg1). change (1 =? 0) with false in Hy2. cbv iota in Hy2. inversion Hy2; subst.
      by exists (move_frames s), (pagemap_move s).
  Qed.
End effect.

(** A whole step: the map as the lock gives it, the frames given back, the map as it goes back to the lock. *)
Section step.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : forall p Hp, slot_object (Y p Hp) <> slot_object Yc /\ slot_object (Y p Hp) <> slot_object Yf).
  Context (Hout : forall p Hp st s, slot_out (Y p Hp) st = Some s -> st = slot_in (Y p Hp) s).

  Theorem destroy_step_gives p Hp a w a' : yields X (destroy_under X kernel_entry Yc Yf H Y p Hp Ret) a w a' ->
    exists s l s' a1, pagemap_valid s /\ pagemap_destroy_step s = (w, l, s') /\
      gives X kernel_entry Yc Yf H p (Y p Hp) (<[slot_object (Y p Hp) := slot_in (Y p Hp) s]> a) l a1 /\
      a1 !! slot_object (Y p Hp) = Some (slot_in (Y p Hp) s') /\ a' = delete (slot_object (Y p Hp)) a1.
  Proof using Hother Hout.
    set (Yp := Y p Hp). unfold destroy_under. fold Yp. intros (v & a1 & Hr & Hy1)%yields_act_inv.
    apply (response_acquire_inv X _ (slot_object Yp)) in Hr as (st & Hval & ->); [|apply slot_guards].
    apply yields_loc_inv in Hy1 as (b & a1 & Hf & Hy2). unfold look in Hf. rewrite lookup_insert in Hf.
    destruct (slot_out Yp st) as [s|] eqn:Es; [|done]. injection Hf as <- <-. apply Hout in Es as ->. apply slot_valid in Hval.
    assert (forall r a1 s', yields X (map_release X kernel_entry Y p Hp (Ret r)) a1 w a' ->
      a1 !! slot_object Yp = Some (slot_in Yp s') ->
      w = r /\ a' = delete (slot_object Yp) a1) as Hrel.
    { intros r a1 s' (u & a3 & Hr3 & Hy4)%yields_act_inv _.
      apply (response_release_inv X _ (slot_object Yp)) in Hr3 as ->; [|apply slot_guards]. by inversion Hy4. }
    pose proof (lookup_insert a (slot_object Yp) (slot_in Yp s)) as Ho.
    destruct (present s) eqn:Hpre; unfold flag in Hy2;
      [change (1 =? 1) with true in Hy2|change (0 =? 1) with false in Hy2]; cbv match in Hy2.
    - apply (then_inv X (move_or_end X kernel_entry Yc Yf H p Yp)) in Hy2 as (more & a1 & Hy3 & Hy4); [|apply move_or_end_continuation].
      destruct (move_or_end_gives X kernel_entry Yc Yf H p Yp (Hother p Hp) s _ _ _ Hval Hpre Ho Hy3) as (l & s' & E & Ho1 & Hg).
      destruct (Hrel _ _ s' Hy4 Ho1) as [-> ->]. exists s, l, s', a1.
      split; [done|]. split; [exact E|]. split; [exact Hg|]. by split.
    - destruct (Hrel _ _ s Hy2 Ho) as [-> ->]. exists s, [], s, (<[slot_object Yp := slot_in Yp s]> a).
      split; [done|]. split; [by unfold pagemap_destroy_step; rewrite Hpre|]. split; [constructor|done].
  Qed.
End step.
