(** The bitmap of free frames: its C functions. *)
From Ashlar Require Export layers.frame.table.BitmapWords.
Local Opaque gmap_lookup gmap_partial_alter.

(** Where frame [f] stands on each level. *)
Lemma block_word f n : 0 <= f < NUM_FRAME -> 0 <= n < 4 -> 0 <= block n f /\ block n f / 64 < map_words n.
Proof.
  unfold NUM_FRAME. intros Hf Hn. assert (0 < 64 ^ n) by (apply Z.pow_pos_nonneg; lia).
  split; [apply Z.div_pos; lia|]. unfold block. rewrite Z.div_div by lia. apply Z.div_lt_upper_bound; [lia|].
  assert (n = 0 \/ n = 1 \/ n = 2 \/ n = 3) as [-> | [-> | [-> | ->]]] by lia; unfold map_words; simpl; lia.
Qed.
Lemma blocks f : f / 64 = block 1 f /\ block 1 f / 64 = block 2 f /\ block 2 f / 64 = block 3 f.
Proof.
  split_and!.
  - rewrite <- (block_zero f) at 1. symmetry. by apply (block_up 0).
  - symmetry. by apply (block_up 1).
  - symmetry. by apply (block_up 2).
Qed.
Lemma block_top f : 0 <= f < NUM_FRAME -> 0 <= block 3 f < 64 /\ block 3 f / 64 = 0 /\ block 3 f mod 64 = block 3 f.
Proof.
  unfold NUM_FRAME, block. intros Hf. change (64 ^ 3) with 262144.
  assert (0 <= f / 262144 < 64) as H by (split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia]).
  split_and!; [lia|lia|by apply Z.div_small|by apply Z.mod_small].
Qed.

Lemma wrap_small x : 0 <= x < 4294967296 -> wrap W32 x = x.
Proof. intros H. unfold wrap. change (2 ^ bits W32) with 4294967296. by apply Z.mod_small. Qed.
Lemma word_number i b : 0 <= i < 65536 -> 0 <= b < 64 -> wrap W32 (wrap W32 (i * 64) + b) = 64 * i + b.
Proof. intros. rewrite (wrap_small (i * 64)) by lia. rewrite wrap_small by lia. lia. Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).

  (** The state on the way: what levels below [n] already are. *)
  Definition levels l (l' : gset Z) (m : Z) (d : mem) : Prop :=
    forall n, 0 <= n < 4 -> level (if n <? m then l' else l) n d.

  Lemma levels_next l l' m v i d : 0 <= m < 4 -> levels l l' m d -> level l' m (<[map_cell m i := v]> d) ->
    levels l l' (m + 1) (<[map_cell m i := v]> d).
  Proof.
    intros Hm H Hl n Hn. destruct (decide (n = m)) as [-> |Hne].
    - by rewrite (proj2 (Z.ltb_lt m (m + 1))) by lia.
    - apply level_other; [done..|]. specialize (H n Hn). destruct (Z.ltb_spec n m), (Z.ltb_spec n (m + 1)); done || lia.
  Qed.
  Lemma levels_at l l' m d : 0 <= m < 4 -> levels l l' m d -> level l m d.
  Proof. intros Hm H. specialize (H m Hm). by rewrite Z.ltb_irrefl in H. Qed.

  (** Setting the bit of frame [f] in level [m]. *)
  Lemma levels_set l f m d d0 w : 0 <= f < NUM_FRAME -> 0 <= m < 4 -> map_changed d0 d -> levels l ({[f]} ∪ l) m d ->
    d !! map_cell m (block m f / 64) = Some w ->
    let d' := <[map_cell m (block m f / 64) := Z.lor w (wrap W64 (Z.shiftl 1 (block m f mod 64)))]> d in
    map_changed d0 d' /\ levels l ({[f]} ∪ l) (m + 1) d'.
  Proof.
    intros Hf Hm Hc H Hw. destruct (block_word f m Hf Hm) as [Hb Hbw]. cbv zeta. split.
    - apply map_changed_write; [done..| |by eexists]. split; [by apply Z.div_pos|done].
    - apply levels_next; [done..|]. pose proof (levels_at _ _ _ _ Hm H) as Hl.
      destruct (level_word l m (block m f) Hb Hbw d Hl) as (w' & Hw' & Hs). rewrite Hw in Hw'. injection Hw' as <-.
      eapply level_set; [done| |done..|apply some_free_add; by left].
      intros k Hk. rewrite some_free_add. split; [intros [?|?]; congruence|by right].
  Qed.
  Lemma levels_word l l' f m d : 0 <= f < NUM_FRAME -> 0 <= m < 4 -> levels l l' m d ->
    exists w, d !! map_cell m (block m f / 64) = Some w.
  Proof.
    intros Hf Hm H. destruct (block_word f m Hf Hm) as [Hb Hbw].
    destruct (level_word l m (block m f) Hb Hbw d (levels_at _ _ _ _ Hm H)) as (w & Hw & _). by exists w.
  Qed.

  Lemma owned_set l f m i e d0 (Qn Qb : locals -> mem -> Prop) Qr r d : 0 <= f < NUM_FRAME -> 0 <= m < 4 ->
    map_changed d0 d -> levels l ({[f]} ∪ l) m d ->
    eval i r d = Some (block m f / 64) -> eval e r d = Some (block m f mod 64) ->
    (forall d', map_changed d0 d' -> levels l ({[f]} ∪ l) (m + 1) d' -> Qn r d') ->
    owned (Store (map_object m) i "" (Const 0)
      (Bin W64 Or (Load (map_object m) i "" (Const 0)) (Bin W64 Shl (Const 1) e))) Qn Qb Qr r d.
  Proof.
    intros Hf Hm Hc H Hi He HQ. destruct (levels_word _ _ f m d Hf Hm H) as [w Hw].
    destruct (levels_set l f m d d0 w Hf Hm Hc H Hw) as [Hc' H'].
    pose proof (Z.mod_pos_bound (block m f) 64 ltac:(done)) as Hb.
    eapply owned_store; [exact Hi|apply eval_const| |by eexists|by apply HQ].
    eapply eval_bin; [|eapply eval_bin; [apply eval_const|exact He|]|reflexivity].
    - eapply eval_load; [exact Hi|apply eval_const|exact Hw].
    - cbn [binary bits]. by rewrite (proj2 (Z.ltb_lt _ _)) by lia.
  Qed.

  Theorem frame_map_insert_triple l f d : 0 <= f < NUM_FRAME -> map_rep l d ->
    triple "frame_map_insert" [f] d (fun v d' => v = 0 /\ map_rep ({[f]} ∪ l) d' /\ map_changed d d').
  Proof using HM.
    intros Hf Hr. destruct (blocks f) as (B1 & B2 & B3). destruct (block_top f Hf) as (T1 & T2 & T3).
    assert (H0 : levels l ({[f]} ∪ l) 0 d).
    { intros n Hn. rewrite (proj2 (Z.ltb_ge n 0)) by lia. by apply Hr. }
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold frame_map_insert_code. locals_simpl.
    do 2 step. rewrite B1. do 2 step. rewrite B2. do 2 step. rewrite B3.
    step. eapply (owned_set l f 0 _ _ d); [done|done|by apply map_changed_refl|done| | |].
    { rewrite block_zero, B1. evaluate. } { rewrite block_zero. evaluate. }
    intros d1 C1 H1. step. eapply (owned_set l f 1 _ _ d); [done|done|done|done| | |].
    { rewrite B2. evaluate. } { evaluate. }
    intros d2 C2 H2. step. eapply (owned_set l f 2 _ _ d); [done|done|done|done| | |].
    { rewrite B3. evaluate. } { evaluate. }
    intros d3 C3 H3. eapply (owned_set l f 3 _ _ d); [done|done|done|done| | |].
    { rewrite T2. evaluate. } { rewrite T3. evaluate. }
    intros d4 C4 H4. split; [done|]. split; [|done]. intros n Hn. specialize (H4 n Hn).
    by rewrite (proj2 (Z.ltb_lt n (3 + 1))) in H4 by lia.
  Qed.

  (** Clearing it in level [m] if the word below is 0. *)
  Lemma owned_clear l f m i e d0 (Qn Qb : locals -> mem -> Prop) Qr r d : 0 <= f < NUM_FRAME -> 0 <= m < 4 ->
    map_changed d0 d -> levels l (l ∖ {[f]}) m d -> ~ some_free (l ∖ {[f]}) m (block m f) ->
    eval i r d = Some (block m f / 64) -> eval e r d = Some (block m f mod 64) ->
    (forall d', map_changed d0 d' -> levels l (l ∖ {[f]}) (m + 1) d' -> Qn r d') ->
    owned (Store (map_object m) i "" (Const 0)
      (Bin W64 And (Load (map_object m) i "" (Const 0)) (Not W64 (Bin W64 Shl (Const 1) e)))) Qn Qb Qr r d.
  Proof.
    intros Hf Hm Hc H Hno Hi He HQ. destruct (block_word f m Hf Hm) as [Hb Hbw].
    pose proof (levels_at _ _ _ _ Hm H) as Hl.
    destruct (level_word l m (block m f) Hb Hbw d Hl) as (w & Hw & Hs).
    pose proof (Z.mod_pos_bound (block m f) 64 ltac:(done)) as Hr.
    eapply owned_store; [exact Hi|apply eval_const| |by eexists|apply HQ].
    - eapply eval_bin; [|eapply eval_not, eval_bin; [apply eval_const|exact He|]|reflexivity].
      + eapply eval_load; [exact Hi|apply eval_const|exact Hw].
      + cbn [binary bits]. by rewrite (proj2 (Z.ltb_lt _ _)) by lia.
    - apply map_changed_write; [done..| |by eexists]. split; [by apply Z.div_pos|done].
    - apply levels_next; [done..|]. eapply level_clear; [done| |done..]. intros k Hk. by apply some_free_drop.
  Qed.
  Lemma owned_clear_if l f m ib i e d0 (Qn Qb : locals -> mem -> Prop) Qr r d : 0 <= f < NUM_FRAME -> 0 <= m < 3 ->
    map_changed d0 d -> levels l (l ∖ {[f]}) (m + 1) d ->
    eval ib r d = Some (block m f / 64) ->
    eval i r d = Some (block (m + 1) f / 64) -> eval e r d = Some (block (m + 1) f mod 64) ->
    (forall d', map_changed d0 d' -> levels l (l ∖ {[f]}) (m + 1 + 1) d' -> Qn r d') ->
    owned (If (Cmp Eq (Load (map_object m) ib "" (Const 0)) (Const 0))
      (Store (map_object (m + 1)) i "" (Const 0)
        (Bin W64 And (Load (map_object (m + 1)) i "" (Const 0)) (Not W64 (Bin W64 Shl (Const 1) e)))) Skip)
      Qn Qb Qr r d.
  Proof.
    intros Hf Hm Hc H Hib Hi He HQ. assert (0 <= m < 4) as Hm4 by lia. destruct (block_word f m Hf Hm4) as [Hb Hbw].
    pose proof (H m Hm4) as Hl. rewrite (proj2 (Z.ltb_lt m (m + 1))) in Hl by lia.
    destruct (level_word _ m (block m f) Hb Hbw d Hl) as (w & Hw & Hs).
    eapply owned_if with (t := w =? 0).
    { eapply test_cmp; [|apply eval_const]. eapply eval_load; [exact Hib|apply eval_const|exact Hw]. }
    rewrite <- block_up in Hs by lia. destruct (Z.eqb_spec w 0) as [->|E].
    - apply (word_none _ _ _ (proj1 Hm)) in Hs. by eapply owned_clear; [done|lia|done..].
    - apply (word_some _ _ _ _ (proj1 Hm)) in Hs; [|done]. apply owned_skip, HQ; [done|].
      intros n Hn. pose proof (H n Hn) as Hn'.
      destruct (decide (n = m + 1)) as [-> |Hne].
      + rewrite Z.ltb_irrefl in Hn'. rewrite (proj2 (Z.ltb_lt _ _)) by lia.
        eapply level_same with (j := block (m + 1) f); [|split|exact Hn'].
        * intros k Hk. by apply some_free_drop.
        * intros (g & [Hg _]%elem_of_difference & Eg). by exists g.
        * done.
      + destruct (Z.ltb_spec n (m + 1)), (Z.ltb_spec n (m + 1 + 1)); done || lia.
  Qed.

  Theorem frame_map_remove_triple l f d : 0 <= f < NUM_FRAME -> map_rep l d ->
    triple "frame_map_remove" [f] d (fun v d' => v = 0 /\ map_rep (l ∖ {[f]}) d' /\ map_changed d d').
  Proof using HM.
    intros Hf Hr. destruct (blocks f) as (B1 & B2 & B3). destruct (block_top f Hf) as (T1 & T2 & T3).
    assert (H0 : levels l (l ∖ {[f]}) 0 d).
    { intros n Hn. rewrite (proj2 (Z.ltb_ge n 0)) by lia. by apply Hr. }
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold frame_map_remove_code. locals_simpl.
    do 2 step. rewrite B1. do 2 step. rewrite B2. do 2 step. rewrite B3.
    step. eapply (owned_clear l f 0 _ _ d); [done|done|by apply map_changed_refl|done|apply some_free_drop_zero| | |].
    { rewrite block_zero, B1. evaluate. } { rewrite block_zero. evaluate. }
    intros d1 C1 H1. step. eapply (owned_clear_if l f 0 _ _ _ d); [done|done|done|done| | | |].
    { rewrite block_zero, B1. evaluate. } { change (0 + 1) with 1. rewrite B2. evaluate. } { evaluate. }
    intros d2 C2 H2. step. eapply (owned_clear_if l f 1 _ _ _ d); [done|done|done|done| | | |].
    { rewrite B2. evaluate. } { change (1 + 1) with 2. rewrite B3. evaluate. } { evaluate. }
    intros d3 C3 H3. eapply (owned_clear_if l f 2 _ _ _ d); [done|done|done|done| | | |].
    { rewrite B3. evaluate. } { change (2 + 1) with 3. rewrite T2. evaluate. }
    { change (2 + 1) with 3. rewrite T3. evaluate. }
    intros d4 C4 H4. split; [done|]. split; [|done]. intros n Hn. specialize (H4 n Hn).
    by rewrite (proj2 (Z.ltb_lt n (2 + 1 + 1))) in H4 by lia.
  Qed.

  (** ** Finding: down from the top *)
  Context (HB : M "arch_highest_bit"%string = None).

  Lemma highest_block_range l n i :
    set_Forall (fun f => 0 <= f < NUM_FRAME) l -> 0 <= n < 4 -> highest_block l (n + 1) i -> 0 <= i < map_words n.
  Proof using.
    intros Hl Hn [(f & Hf & E) _]. specialize (Hl f Hf). destruct (block_word f n Hl Hn) as [Hb Hw].
    change (block (n + 1) f = i) in E. rewrite block_up in E by lia. subst i. split; [by apply Z.div_pos|done].
  Qed.

  Lemma owned_highest l n x e i (Qn Qb : locals -> mem -> Prop) Qr r d :
    set_Forall (fun f => 0 <= f < NUM_FRAME) l -> 0 <= n < 4 -> map_rep l d -> highest_block l (n + 1) i ->
    eval e r d = Some i ->
    (forall b, 0 <= b < 64 -> 0 <= i < map_words n -> highest_block l n (64 * i + b) ->
       Qn (set_result (Some x) b r) d) ->
    owned (Call (Some x) "arch_highest_bit" [Load (map_object n) e "" (Const 0)]) Qn Qb Qr r d.
  Proof using HB.
    intros Hl Hn Hr Hi He HQ. pose proof (highest_block_range l n i Hl Hn Hi) as Hir.
    destruct (Hr n Hn i Hir) as (w & Hw & Hs).
    assert (Hl0 : set_Forall (fun f => 0 <= f) l) by (intros f Hf; by apply Hl).
    destruct (highest_block_step l Hl0 n i w (proj1 Hn) Hi Hs) as [Hpos Hb].
    assert (0 <= Z.log2 w < 64) as Hlog by (split; [apply Z.log2_nonneg|apply Z.log2_lt_pow2; [done|apply Hs]]).
    eapply owned_builtin; [exact HB| | |by apply HQ].
    - eapply evals_cons; [|apply evals_nil]. eapply eval_load; [exact He|apply eval_const|exact Hw].
    - intros m. unfold arch_builtins. simpl. by rewrite bool_decide_true.
  Qed.

  Theorem frame_map_find_triple l d : set_Forall (fun f => 0 <= f < NUM_FRAME) l -> map_rep l d ->
    triple "frame_map_find" [] d (fun v d' => d' = d /\ v = if highest l =? -1 then NONE else highest l).
  Proof using HM HB.
    intros Hl Hr. assert (Hl0 : set_Forall (fun f => 0 <= f) l) by (intros f Hf; by apply Hl).
    destruct (Hr 3 ltac:(done) 0 ltac:(done)) as (w & Hw & Hs).
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold frame_map_find_code. locals_simpl.
    step. eapply owned_if with (t := w =? 0).
    { eapply test_cmp; [|apply eval_const]. eapply eval_load; [apply eval_const..|exact Hw]. }
    destruct (Z.eqb_spec w 0) as [-> |Hne].
    { step. split; [done|]. apply word_none in Hs; [|done].
      destruct (highest_spec l Hl0) as [[_ ->]|(Hin & _)]; [done|]. exfalso. apply Hs. exists (highest l).
      split; [done|]. specialize (Hl _ Hin). apply Z.div_small. cbn beta in Hl.
      change (64 ^ (3 + 1)) with 16777216. unfold NUM_FRAME in Hl. lia. }
    step. apply word_some in Hs; [|done..].
    assert (H4 : highest_block l (3 + 1) 0).
    { split; [done|]. intros f Hf. specialize (Hl f Hf). cbn beta in Hl.
      change (64 ^ (3 + 1)) with 16777216. unfold NUM_FRAME in Hl. rewrite Z.div_small by lia. done. }
    step. eapply (owned_highest l 3); [done|done|done|exact H4|evaluate|].
    intros b3 Hb3 _ H3. replace (64 * 0 + b3) with b3 in H3 by lia. unfold locals. locals_simpl.
    step. eapply (owned_highest l 2); [done|done|done|exact H3|evaluate|].
    intros b2 Hb2 Hi2 H2. unfold locals. locals_simpl. step. step.
    rewrite word_number by (change (map_words 2) with 16 in Hi2; lia).
    step. eapply (owned_highest l 1); [done|done|done|exact H2|evaluate|].
    intros b1 Hb1 Hi1 H1. unfold locals. locals_simpl. step. step.
    rewrite word_number by (change (map_words 1) with 1024 in Hi1; lia).
    step. eapply (owned_highest l 0); [done|done|done|exact H1|evaluate|].
    intros b0 Hb0 Hi0 H0. unfold locals. locals_simpl. step.
    rewrite word_number by (change (map_words 0) with 65536 in Hi0; lia).
    split; [done|]. apply (highest_block_frame l Hl0) in H0. rewrite <- H0.
    by rewrite (proj2 (Z.eqb_neq _ (-1))) by lia.
  Qed.
End proof.
