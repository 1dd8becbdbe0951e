(** [pagemap_build_path] builds the path that its program builds, or frees every frame it took. *)
From Ashlar Require Export layers.pagemap.map.BuildProgram.
Local Opaque gmap_lookup gmap_partial_alter.

Section build.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).
  Notation alloc_private := (alloc_private X Yc Yf H).
  Notation remove_owner := (remove_owner X Yc Yf H).
  Context (alloc : implements_then "frame_alloc_private" alloc_private).
  Context (remove : implements_then "frame_remove_owner" remove_owner).
  Notation op := (slot_object Y).
  Notation oh := (owned_frames_object H).
  Notation give_back := (give_back X Yc Yf H).
  Notation in_owned_frames := (in_owned_frames X H).
  Notation build := (build X kernel_entry Yc Yf H p Y).

  Lemma none_not_in n leaf fresh a f : in_owned_frames n leaf fresh a -> f = NONE \/ f = FRAME_NO_QUOTA -> f ∉ fresh.
  Proof using.
    intros Hin Hf [j Hj]%elem_of_list_lookup. destruct (Hin j f Hj) as [Hr _]. unfold NUM_FRAME in Hr. destruct Hf as [-> | ->].
    - change NONE with 4294967295 in Hr. lia.
    - change FRAME_NO_QUOTA with 4294967294 in Hr. lia.
  Qed.
  Lemma list_last (l : list Z) : l = [] \/ exists l0 g, l = l0 ++ [g].
  Proof using. destruct l as [|g l0 _] using rev_ind; [by left|right; eauto]. Qed.

  Theorem pagemap_build_path_builds Post v k leaf tbl s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) -> pagemap_valid s -> present s = true -> 0 <= v -> user_page (page_of v) ->
    k = missing s (page_of v) -> 0 < k -> tables s !! (k, above k (page_of v)) = Some tbl ->
    (forall status m' a' s', rep X a' m' -> a' !! op = Some (slot_in Y s') -> pagemap_valid s' ->
       yields X (build (Z.to_nat k) (page_of v) leaf [] Ret) a status a' -> Q status m' (κ status, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_build_path" [p; v; tbl; k; leaf] m (build (Z.to_nat k) (page_of v) leaf [] κ, a) Q.
  Proof using HM HRead HWrite Hother alloc remove.
    intros Hr Ho HV Hp Hv Hu Hk Hkpos Htbl HQ. pose proof (missing_range s (page_of v)) as Hkr. rewrite <- Hk in Hkr.
    destruct Hother as [Hoc Hof]. assert (op <> oh) as Hoh by apply map_owned_frames_differ.
    eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_build_path_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_assign. wp_seq. wp_assign. wp_seq.
    match goal with |- wp ?J (While ?c ?b) ?Qn ?Qb ?Qr ?r0 ?m0 ?g0 =>
      change (exists (I : nat -> post) n, I n r0 m0 g0 /\ forall n r m g, I n r m g -> exists t, test c r m = Some t /\
        if t then wp J b (fun r m g => exists n', (n' < n)%nat /\ I n' r m g) Qn Qr r m g else Qn r m g) end.
    exists (fun todo r m g => exists fresh below f i a',
      r = [p; v; tbl; k; leaf; entry_of leaf fresh (length fresh); below; Z.of_nat (length fresh); f; i; 0] /\
      Z.of_nat (length fresh) + Z.of_nat todo = k /\ (forall l g, fresh = l ++ [g] -> below = g) /\ NoDup fresh /\
      in_owned_frames (page_of v) leaf fresh a' /\ rep X a' m /\ g = (build todo (page_of v) leaf fresh κ, a') /\
      a' !! op = Some (slot_in Y s) /\
      (forall x a2, yields X (build todo (page_of v) leaf fresh Ret) a' x a2 ->
         yields X (build (Z.to_nat k) (page_of v) leaf [] Ret) a x a2)), (Z.to_nat k).
    split.
    { exists [], NONE, 0, 0, a. split; [done|]. split; [simpl; lia|]. split; [by intros [|??] ? ?|]. split; [constructor|].
      split; [by intros ? ? ?|]. done. }
    clear m Hr. intros todo r m g (fresh & below & f0 & i0 & a' & -> & Hlen & Hbelow & Hd & Hin & Hr & -> & Ho' & Hy).
    eexists. split; [evaluate|]. cbn [compare]. destruct (Z.ltb_spec (Z.of_nat (length fresh)) k) as [Hlt|Hge].
    - destruct todo as [|todo]; [lia|]. cbn [build] in Hy |- *.
      wp_seq. wp_call. apply fwp_settle. eapply fwp_then; [exact alloc|exact Hr|]. intros f m2 a2 Hy2 Hr2.
      destruct (alloc_private_yields _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy2) as [Hkeep _].
      assert (a2 !! op = Some (slot_in Y s)) as Ho2 by (by rewrite Hkeep).
      assert (Hfail : forall status, (f = NONE /\ status = ERR_NO_MEMORY) \/ (f = FRAME_NO_QUOTA /\ status = ERR_QUOTA) ->
        forall Qn Qb, wp (sim Post)
          (Seq (If (Cmp Gt (Var 7) (Const 0)) (Call None "pagemap_drop_path" [Var 0; Var 1; Var 6; Bin W32 Sub (Var 7) (Const 1)]) Skip)
          (Seq (If (Cmp Eq (Var 8) (Const 4294967295)) (Return (Const 7)) Skip) (Return (Const 6)))) Qn Qb Q
          [p; v; tbl; k; leaf; entry_of leaf fresh (length fresh); below; Z.of_nat (length fresh); f; i0; 0] m2
          (give_back p (rev fresh) (κ status), a2)).
      { intros status Hst Qn Qb.
        assert (f ∉ fresh) as Hnf by (apply (none_not_in _ _ _ _ _ Hin); tauto).
        pose proof (in_owned_frames_taken X Yc Yf H p _ _ _ _ _ _ Hin Hnf Hy2) as Hin2.
        assert (Hreturn : forall m3 a3, rep X a3 m3 -> a3 !! op = Some (slot_in Y s) ->
          (forall x, yields X (give_back p (rev fresh) (Ret x)) a2 x a3) ->
          wp (sim Post) (Seq (If (Cmp Eq (Var 8) (Const 4294967295)) (Return (Const 7)) Skip) (Return (Const 6))) Qn Qb Q
            [p; v; tbl; k; leaf; entry_of leaf fresh (length fresh); below; Z.of_nat (length fresh); f; i0; 0] m3 (κ status, a3)).
        { intros m3 a3 Hr3 Ho3 Hy3. assert (Q status m3 (κ status, a3)) as HQ3.
          { eapply HQ; [exact Hr3|exact Ho3|done|]. apply Hy.
            eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. cbn beta.
            destruct Hst as [[-> ->]|[-> ->]].
            - rewrite Z.eqb_refl. apply Hy3.
            - change (FRAME_NO_QUOTA =? NONE) with false. rewrite Z.eqb_refl. apply Hy3. }
          wp_seq. wp_if. destruct Hst as [[-> ->]|[-> ->]].
          - change (NONE =? 4294967295) with true. cbv iota. wp_return. exact HQ3.
          - change (FRAME_NO_QUOTA =? 4294967295) with false. cbv iota. wp_skip. wp_return. exact HQ3. }
        wp_seq. wp_if. destruct (list_last fresh) as [->|(l & g & ->)].
        - change (0 <? Z.of_nat (length [])) with false. cbv iota. wp_skip. apply Hreturn; [done|done|]. intros x. constructor.
        - rewrite (Hbelow l g eq_refl) in *. rewrite app_length in *. cbn [length] in *. rewrite (proj2 (Z.ltb_lt _ _)) by lia.
          wp_call. rewrite wrap32 by lia.
          eapply (pagemap_drop_path_drops X kernel_entry M cpu Yc Yf H HM HRead remove Post p v l g _ leaf);
            [done| |lia|done|exact Hin2|exact Hr2|]; [lia|].
          intros m3 a3 Hr3 Hk3 Hy3. cbn [set_result]. apply Hreturn; [done| |done]. by rewrite Hk3. }
      destruct (Z.eqb_spec f NONE) as [Hfn|Hn].
      { apply settles_now. cbn beta. unfold locals. locals_simpl. wp_seq. wp_if.
        assert ((f =? 4294967295) = true) as E by (rewrite Hfn; done). rewrite E. cbn [orb].
        eapply Hfail. left. done. }
      destruct (Z.eqb_spec f FRAME_NO_QUOTA) as [Hfq|Hq].
      { apply settles_now. cbn beta. unfold locals. locals_simpl. wp_seq. wp_if.
        assert ((f =? 4294967294) = true) as E by (rewrite Hfq; done). rewrite E, orb_true_r.
        eapply Hfail. right. done. }
      clear Hfail. destruct (bool_decide (f ∈ fresh)) eqn:Hdup; [apply settles_fail|]. apply bool_decide_eq_false in Hdup.
      destruct (on_owned_frames H (owned_frames_put f (entry_index (Z.of_nat (length fresh)) (page_of v)) (entry_of leaf fresh (length fresh))) a2)
        as [[w a3]|] eqn:Eput; [|by apply settles_loc_fail].
      eapply settles_loc; [exact Eput|]. apply settles_now. cbn beta. unfold locals. locals_simpl.
      destruct (in_owned_frames_put X Yc Yf H p _ _ _ _ _ _ _ _ Hin Hdup Hn Hq Hy2 Eput) as [Hin3 Hfr].
      destruct (owned_frame_put_rep X H _ _ _ _ _ _ _ Hr2 Eput) as [Hcell Hr3].
      assert (a3 !! op = Some (slot_in Y s)) as Ho3.
      { apply on_owned_frames_inv in Eput as (sh & h & h1 & _ & _ & _ & ->). by rewrite lookup_insert_ne. }
      wp_seq. wp_if. change 4294967295 with NONE. change 4294967294 with FRAME_NO_QUOTA.
      rewrite (proj2 (Z.eqb_neq _ _) Hn), (proj2 (Z.eqb_neq _ _) Hq). cbn [orb]. wp_skip.
      wp_seq. wp_call. eapply fwp_pure; [intros d; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
      wp_seq. wp_call. apply (fwp_frame_write X kernel_entry M cpu HWrite); [exact Hcell|]. unfold locals. locals_simpl.
      wp_seq. wp_assign.
      assert (Z.lor (wrap W64 (Z.shiftl (wrap W64 f) 12)) 7 = link f) as ->.
      { assert (0 <= f < 2 ^ 32) as Hf32 by (unfold NUM_FRAME in Hfr; change (2 ^ 32) with 4294967296; lia).
        rewrite (wrap64 f) by (change (2 ^ 64) with (2 ^ 32 * 2 ^ 32); change (2 ^ 32) with 4294967296 in *; lia).
        rewrite wrap64 by (by apply shift_range). done. }
      wp_seq. wp_assign. wp_assign. rewrite wrap32 by lia. exists todo. split; [lia|].
      exists (fresh ++ [f]), f, f, (entry_index (Z.of_nat (length fresh)) (page_of v)), a3.
      rewrite app_length. cbn [length]. split.
      { replace (length fresh + 1)%nat with (S (length fresh)) by lia. cbn [entry_of].
        rewrite lookup_app_r, Nat.sub_diag by lia. cbn [lookup list_lookup].
        replace (Z.of_nat (S (length fresh))) with (Z.of_nat (length fresh) + 1) by lia. done. }
      split; [lia|]. split; [by intros l g [_ E]%app_inj_tail|]. split.
      { apply NoDup_app. split; [done|]. split; [|apply NoDup_singleton]. intros g Hg ->%elem_of_list_singleton. done. }
      split; [done|]. split; [done|]. split; [done|]. split; [done|]. intros x a4 Hx. apply Hy.
      eapply (yields_then X alloc_private); [apply alloc_private_continuation|exact Hy2|]. cbn beta.
      rewrite (proj2 (Z.eqb_neq _ _) Hn), (proj2 (Z.eqb_neq _ _) Hq), bool_decide_false by done.
      eapply yields_loc; [exact Eput|exact Hx].
    - destruct todo as [|todo]; [|lia]. cbn [build] in Hy |- *. rewrite Nat2Z.inj_0, Z.add_0_r in Hlen.
      destruct (list_last fresh) as [->|(l & g & Efresh)]; [simpl in Hlen; lia|].
      destruct (Hin (length l) g) as (_ & h & Ha & _); [rewrite Efresh, lookup_app_r, Nat.sub_diag by lia; done|].
      wp_seq. wp_call. apply fwp_loc. intros w a3 Eb.
      destruct (on_both_known Y H _ _ _ _ _ _ Ho' Ha Eb) as (s' & h' & Hg & ->).
      apply store_owned_frames_inv in Hg as (Hall & Hs & ->).
      assert (0 < missing s (page_of v)) as Hm by lia.
      destruct (path_facts s s' (page_of v) leaf fresh w HV Hs Hm) as (_ & _ & -> & _).
      destruct (open_both Y H _ _ s _ Hr Ho' Ha) as (d & rest & Hj & Hdis & -> & Hrest). rewrite Hk in Htbl.
      destruct (joint_store kernel_entry p s s' (page_of v) leaf fresh _ HV Hs Hp Hm h d tbl Hj Htbl Hall) as [Hcell Hj'].
      eapply fwp_pure; [intros d'; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
      wp_seq. wp_call. apply (fwp_frame_write X kernel_entry M cpu HWrite).
      { rewrite Hk. destruct Hcell as [u Hcu]. exists u. by apply own_read. }
      unfold locals. locals_simpl. wp_return. rewrite Hk at 1. rewrite own_write.
      eapply HQ; [apply (close_both Y H); [exact Hj'|by apply own_write_disjoint|done]| | |].
      + rewrite lookup_insert_ne by done. apply lookup_insert.
      + eapply (store_valid s); [done|done|exact Hs].
      + apply Hy. eapply yields_loc; [exact Eb|constructor].
  Qed.
End build.
