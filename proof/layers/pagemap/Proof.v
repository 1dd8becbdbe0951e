(** Page maps: the C functions that read and write fields, and the walk down the tables. *)
From Ashlar Require Export layers.pagemap.code.EntryFunctions.
Local Opaque gmap_lookup gmap_partial_alter.

(** An address in the lower half below the end of user space; the cursor of destruction is one. *)
Definition low_page (n : Z) : Prop := 0 <= n < end_page.
Lemma user_low n : user_page n -> low_page n.
Proof. unfold user_page, low_page, first_page. lia. Qed.
Lemma page_low v : 0 <= v < USER_END -> low_page (page_of v).
Proof.
  unfold low_page, page_of, USER_END, end_page. intros H. split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia].
Qed.
Lemma above_low n : low_page n -> above 3 n = 0.
Proof. intros [H1 H2]. unfold end_page in *. apply Z.div_small. change (span (3 + 1)) with 68719476736. lia. Qed.
Lemma slot_low n : low_page n -> entry_index 3 n < PAGEMAP_KERNEL_FIRST.
Proof.
  intros [H1 H2]. unfold entry_index, PAGEMAP_KERNEL_FIRST, end_page in *. change (span 3) with 134217728.
  assert (n / 134217728 < 224) by (apply Z.div_lt_upper_bound; lia). assert (0 <= n / 134217728) by (apply Z.div_pos; lia).
  rewrite Z.mod_small; lia.
Qed.

(** The table of level [l] on the way to page [n]; [NONE] if there is none. *)
Definition table_at (s : page_map) (l n : Z) : Z := default NONE (tables s !! (l, above l n)).

Lemma path_down s l l' n : pagemap_valid s -> 0 <= l <= l' -> l' <= 3 ->
  tables s !! (l', above l' n) = None -> tables s !! (l, above l n) = None.
Proof.
  intros HV Hl Hl' Hn. destruct (tables s !! (l, above l n)) as [f|] eqn:E; [exfalso|done].
  assert (forall i : nat, l + Z.of_nat i <= 3 -> is_Some (tables s !! (l + Z.of_nat i, above (l + Z.of_nat i) n))) as Hup.
  { induction i as [|i IH]; intros Hi.
    - replace (l + Z.of_nat 0) with l by lia. by exists f.
    - destruct IH as [f' Hf']; [lia|]. replace (l + Z.of_nat (S i)) with (l + Z.of_nat i + 1) by lia.
      eapply path_up; [done|exact Hf'|lia]. }
  destruct (Hup (Z.to_nat (l' - l))) as [f' Hf']; [lia|]. replace (l + Z.of_nat (Z.to_nat (l' - l))) with l' in Hf' by lia.
  congruence.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None).
  Notation triple := (triple kernel_entry M cpu).
  Notation pagemap_rep := (pagemap_rep kernel_entry).

  Ltac enter code := eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  Ltac result := unfold locals; locals_simpl.

  (** ** Fields *)
  Theorem pagemap_exists_triple p s d : pagemap_rep p s d ->
    triple "pagemap_exists" [p] d (fun v d' => v = flag (present s) /\ d' = d).
  Proof using HM. intros (_ & _ & E & _). unfold pagemap_cell in E. enter pagemap_exists_code. repeat step. done. Qed.
  Theorem pagemap_root_triple p s d : pagemap_rep p s d ->
    triple "pagemap_root" [p] d (fun v d' => v = root_of s /\ d' = d).
  Proof using HM. intros (_ & _ & _ & E & _). unfold pagemap_cell in E. enter pagemap_root_code. repeat step. done. Qed.
  Theorem pagemap_cursor_triple p s d : pagemap_rep p s d ->
    triple "pagemap_cursor" [p] d (fun v d' => v = cursor s /\ d' = d).
  Proof using HM. intros (_ & _ & _ & _ & E & _). unfold pagemap_cell in E. enter pagemap_cursor_code. repeat step. done. Qed.
  Theorem pagemap_set_cursor_triple p s d v : pagemap_rep p s d -> pagemap_valid (PageMap (tables s) (leaves s) v) ->
    triple "pagemap_set_cursor" [p; v] d (fun w d' => w = 0 /\ pagemap_rep p (PageMap (tables s) (leaves s) v) d').
  Proof using HM.
    intros (_ & Hx & E1 & E2 & E3 & Hw) HV. unfold pagemap_cell in *. enter pagemap_set_cursor_code. step.
    split; [done|]. split; [done|]. unfold pagemap_cell.
    assert (forall f i, frame_word f i <> ("pagemap"%string, p, "cursor"%string, 0)) as Hne by (unfold frame_word; congruence).
    split; [|split; [|split; [|split]]].
    - apply exactly_write; [exact Hx|]. left. exists "cursor"%string. split; [|done]. unfold pagemap_fields. rewrite !elem_of_cons. tauto.
    - by rewrite own_lookup_ne by congruence.
    - by rewrite own_lookup_ne by congruence.
    - by rewrite own_lookup.
    - cbn [tables]. intros k f i Hk Hi. rewrite own_lookup_ne by done. by apply (Hw k f i).
  Qed.

  (** ** The walk *)
  Theorem pagemap_table_triple p s d v l : pagemap_rep p s d -> present s = true -> 0 <= v < USER_END -> 0 <= l <= 3 ->
    triple "pagemap_table" [p; v; l] d (fun w d' => w = table_at s l (page_of v) /\ d' = d).
  Proof using HM HRead.
    intros Hr Hp Hv Hl. pose proof (rep_valid _ _ _ _ Hr) as HV. pose proof (page_low v Hv) as Hn.
    destruct (root_usable s HV Hp) as [_ Hroot]. unfold root_key in Hroot.
    pose proof Hr as (_ & _ & _ & E & _). unfold pagemap_cell in E.
    enter pagemap_table_code. step. step. step. step. step.
    eapply owned_while with (n := Z.to_nat (3 - l)) (I := fun k r d' => exists f a i e, r = [p; v; l; f; a; i; e] /\
      k = Z.to_nat (a - l) /\ l <= a <= 3 /\ tables s !! (a, above a (page_of v)) = Some f /\ d' = d).
    { exists (root_of s), 3, 0, 0. split; [done|]. split; [done|]. split; [lia|]. split; [|done]. by rewrite above_low. }
    intros k r d' (f & a & i & e & -> & -> & Ha & Hf & ->). eexists. split; [evaluate|]. cbn [compare].
    destruct (Z.ltb_spec l a) as [Hla|Hla].
    - step. eapply owned_call_whole; [evaluate|apply (pagemap_index_triple _ _ _ HM); lia|]. intros w d' [-> ->]. result.
      step. eapply owned_frame_read; [done|evaluate|apply (rep_word _ _ _ _ _ _ _ Hr Hf), slot_range|]. result.
      rewrite word_path by first [intros; by apply slot_low | lia].
      destruct (tables s !! (a - 1, above (a - 1) (page_of v))) as [f'|] eqn:Hf'.
      + step. step. rewrite (proj2 (Z.eqb_neq _ 0)) by apply link_nonzero. step. step.
        pose proof (table_frame _ _ _ HV Hf') as Hb. unfold NUM_FRAME in Hb.
        assert (0 <= f' < 2 ^ 32) as Hb' by (change (2 ^ 32) with 4294967296; lia).
        eapply owned_call_whole; [evaluate|apply (pagemap_entry_frame_triple _ _ _ HM)|].
        intros w d' [-> ->]. result. rewrite link_frame by done. step. exists (Z.to_nat (a - 1 - l)). split; [lia|].
        rewrite wrap32 by lia. exists f', (a - 1), (entry_index a (page_of v)), (link f'). split; [done|]. split; [done|].
        split; [lia|]. done.
      + step. step. change (0 =? 0) with true. cbv iota. step. split; [|done]. unfold table_at.
        by rewrite (path_down s l (a - 1)) by (done || lia).
    - assert (a = l) as -> by lia. step. split; [|done]. unfold table_at. by rewrite Hf.
  Qed.

  Theorem pagemap_lowest_triple p s d v : pagemap_rep p s d -> present s = true -> 0 <= v < USER_END -> user_page (page_of v) ->
    triple "pagemap_lowest" [p; v] d (fun w d' => w = missing s (page_of v) /\ d' = d).
  Proof using HM HRead.
    intros Hr Hp Hv Hn. pose proof (rep_valid _ _ _ _ Hr) as HV.
    enter pagemap_lowest_code. step. step. step.
    eapply owned_while with (n := 3%nat) (I := fun k r d' => exists l t, r = [p; v; l; t] /\ k = Z.to_nat (3 - l) /\
      0 <= l <= 3 /\ (forall i, 0 <= i < l -> tables s !! (i, above i (page_of v)) = None) /\ d' = d).
    { exists 0, 0. split; [done|]. split; [done|]. split; [lia|]. split; [intros; lia|done]. }
    intros k r d' (l & t & -> & -> & Hl & Hno & ->). eexists. split; [evaluate|]. cbn [compare].
    destruct (Z.ltb_spec l 3) as [Hlt|Hge].
    - step. eapply owned_call_whole; [evaluate|apply (pagemap_table_triple p s d v l Hr Hp Hv); lia|]. intros w d' [-> ->]. result.
      unfold table_at. destruct (tables s !! (l, above l (page_of v))) as [f|] eqn:Hf; cbn [from_option id].
      + pose proof (table_frame _ _ _ HV Hf) as Hb. unfold NUM_FRAME in Hb. step. step.
        rewrite (proj2 (Z.eqb_neq f 4294967295)) by lia. cbn [negb]. step. split; [|done].
        symmetry. apply missing_is; [done|done|done|done|done|]. right. by eexists.
      + step. step. change (NONE =? 4294967295) with true. cbn [negb]. step. step. rewrite wrap32 by lia.
        exists (Z.to_nat (3 - (l + 1))). split; [lia|]. exists (l + 1), NONE. split; [done|]. split; [done|]. split; [lia|].
        split; [|done]. intros i Hi. destruct (decide (i = l)) as [->|]; [done|]. apply Hno. lia.
    - assert (l = 3) as -> by lia. step. split; [|done].
      symmetry. apply missing_is; [done|done|done|done|done|]. by left.
  Qed.
End proof.
