(** [pagemap_pass]: the cursor passes an entry, and the tables that it leaves behind are freed. *)
From Ashlar Require Export layers.pagemap.destroy.DestroyPrograms.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma next_end v l : 0 <= l -> (v / (4096 * span l) + 1) * (4096 * span l) = 4096 * end_of l (page_of v).
Proof. intros Hl. unfold end_of, page_of. pose proof (span_pos l Hl). rewrite Z.div_div by lia. lia. Qed.
Lemma end_page_of m : page_of (4096 * m) = m.
Proof. unfold page_of. rewrite Z.mul_comm. by apply Z.div_mul. Qed.
Lemma end_nonneg l n : 0 <= l -> 0 <= n -> 0 <= end_of l n.
Proof. intros Hl Hn. unfold end_of. pose proof (span_pos l Hl). pose proof (Z.div_pos n (span l)). apply Z.mul_nonneg_nonneg; lia. Qed.

Section pass.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation sim := (sim X kernel_entry M cpu).
  Context (remove : implements_then X kernel_entry M cpu "frame_remove_owner" (remove_owner X Yc Yf H)).
  Notation op := (slot_object Y).
  Notation pass := (pass X kernel_entry Yc Yf H p Y).
  Notation pass_levels := (pass_levels X kernel_entry Yc Yf H p Y).
  Notation on_held := (on_held X kernel_entry p Y).

  (** The cursor is set. *)
  Lemma set_cursor_moves Post v s κ m a (Q : call_post) : rep X a m -> a !! op = Some (slot_in Y s) ->
    (forall m' a', rep X a' m' -> a' !! op = Some (slot_in Y (with_cursor v s)) -> pagemap_valid (with_cursor v s) ->
       yields X (on_held (move_cursor v) Ret) a 0 a' -> Q 0 m' (κ 0, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_set_cursor" [p; v] m (on_held (move_cursor v) κ, a) Q.
  Proof using HM.
    intros Hr Ho HQ. destruct (open_map Y a m s Hr Ho) as (d & rest & Hrep & Hdis & -> & Hrest).
    unfold DestroyPrograms.on_held. apply fwp_loc. intros w a1 Eu.
    destruct (held_known X kernel_entry p Y _ _ _ _ _ Ho Eu) as (s' & Hg & ->). apply move_cursor_inv in Hg as (HV' & -> & ->).
    eapply fwp_triple; [exact (pagemap_set_cursor_triple kernel_entry M cpu HM p s d v Hrep HV')|done|].
    intros w d' [-> Hrep'] Hdis'. apply HQ; [|apply lookup_insert|done|].
    - apply represents_close; [exact Hrest|apply slot_rep; eauto|done].
    - eapply yields_loc; [exact Eu|constructor].
  Qed.

  Theorem pagemap_pass_passes Post v l s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) -> pagemap_valid s -> 0 <= v < USER_END -> 0 <= l <= 3 ->
    (forall w m' a', rep X a' m' -> a' !! op = Some (slot_in Y (pass_state l (page_of v) s)) ->
       pagemap_valid (pass_state l (page_of v) s) -> yields X (pass l (page_of v) Ret) a w a' -> Q 0 m' (κ w, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_pass" [p; v; l] m (pass l (page_of v) κ, a) Q.
  Proof using Hother HM HRead HWrite remove.
    intros Hr Ho HV Hv Hl HQ. pose proof (page_low v Hv) as [Hn _].
    eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_pass_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. eapply fwp_pure; [intros d'; apply (pagemap_next_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
    rewrite next_end by lia. unfold pass_state, DestroyPrograms.pass in *.
    assert (0 <= end_of l (page_of v)) as He by (apply end_nonneg; lia).
    generalize dependent (end_of l (page_of v)). intros e HQ He.
    assert (exists k, Z.to_nat (PAGEMAP_ROOT_LEVEL - l) = k /\ (k <= 3)%nat /\ l = 3 - Z.of_nat k) as (k & Ek & Hk & El).
    { unfold PAGEMAP_ROOT_LEVEL. eexists. split; [reflexivity|]. lia. }
    rewrite Ek in *. clear Ek.
    wp_seq. wp_assign. wp_seq.
    match goal with |- wp ?J (While ?c ?b) ?Qn ?Qb ?Qr ?r0 ?m0 ?g0 =>
      change (exists (I : nat -> post) n, I n r0 m0 g0 /\ forall n r m g, I n r m g -> exists t, test c r m = Some t /\
        if t then wp J b (fun r m g => exists n', (n' < n)%nat /\ I n' r m g) Qn Qr r m g else Qn r m g) end.
    exists (fun n r m g => exists s1 x i a1, r = [p; v; l; 4096 * e; x; i] /\ x = 3 - Z.of_nat n /\ (n <= 3)%nat /\
      rep X a1 m /\ a1 !! op = Some (slot_in Y s1) /\ pagemap_valid s1 /\ g = (pass_levels n x (page_of v) e κ, a1) /\
      pass_tables k l (page_of v) e s = pass_tables n x (page_of v) e s1 /\
      (forall w a2, yields X (pass_levels n x (page_of v) e Ret) a1 w a2 -> yields X (pass_levels k l (page_of v) e Ret) a w a2)), k.
    split.
    { exists s, l, 0, a. do 4 (split; [done|]). done. }
    clear m Hr. intros n r m g (s1 & x & i & a1 & -> & Hx & Hn3 & Hr & Ho1 & HV1 & -> & Et & Hy).
    eexists. split; [evaluate|]. cbn [compare].
    assert (forall i m, rep X a1 m -> pass_levels n x (page_of v) e = on_held (move_cursor (4096 * e)) ->
      pass_tables n x (page_of v) e s1 = s1 ->
      wp (G := pstate X) (sim Post) (Call None "pagemap_set_cursor" [Var 0; Var 3]) (fun _ => Q 0) (fun _ _ _ => False) Q
        [p; v; l; 4096 * e; x; i] m (pass_levels n x (page_of v) e κ, a1)) as Hend.
    { clear i m Hr. intros i m Hr Ep Es. rewrite Ep in *. wp_call. apply set_cursor_moves with (s := s1); [done|done|].
      intros m' a' Hr' Ho' HV' Hy'. rewrite Et, Es in HQ. cbn [set_result]. by eapply HQ; [..|apply Hy]. }
    destruct (Z.ltb_spec x 3) as [Hpos|Hzero].
    - destruct n as [|n]; [lia|]. wp_seq. wp_call. eapply fwp_pure; [intros d; apply (pagemap_index_triple _ _ _ HM); lia|].
      unfold locals. locals_simpl. rewrite end_page_of. wp_seq. wp_if. cbn [DestroyPrograms.pass_levels pass_tables] in *.
      destruct (Z.eqb_spec (entry_index x e) 0) as [Ei|Ei].
      + change (negb true) with false. cbv iota. wp_skip. wp_seq. wp_call.
        apply (pagemap_drop_table_drops X kernel_entry M cpu Yc Yf H p Y Hother HM HRead HWrite remove) with (s := s1); [done|done|done|done|lia|].
        intros w m2 a2 Hr2 Ho2 HV2 Hy2. cbn [set_result]. wp_assign. exists n. split; [lia|].
        rewrite wrap32 by lia. exists (without s1 (x, above x (page_of v))), (x + 1), (entry_index x e), a2.
        split; [done|]. split; [lia|]. split; [lia|]. do 5 (split; [done|]). intros w3 a3 Hy3. apply Hy.
        eapply yields_same; [|apply drop_table_continuation]. by eapply yields_bind.
      + change (negb false) with true. cbv iota. by apply Hend.
    - assert (n = 0%nat) as -> by lia. by apply Hend.
  Qed.
End pass.
