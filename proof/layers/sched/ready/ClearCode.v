(** Ready queues: the C that brings the bitmap up to date when a queue has become empty, and at start-up. *)
From Ashlar Require Export layers.sched.ready.BitmapCells layers.sched.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HB : M "arch_highest_bit"%string = None).
  Notation triple := (triple kernel_entry M this).

  Lemma highest_bit_builtin w m : 0 < w ->
    arch_builtins kernel_entry this "arch_highest_bit" [w] m = Some (Some (Z.log2 w, m)).
  Proof using. intros Hw. unfold arch_builtins. cbn [String.eqb Ascii.eqb Bool.eqb]. by rewrite bool_decide_eq_true_2. Qed.

  Lemma best_word t b : 0 <= t < 4 -> 0 <= b < 64 -> wrap W32 (wrap W32 (wrap W32 (t * 64) + b) + 1) = t * 64 + b + 1.
  Proof using.
    intros Ht Hb. unfold wrap. change (2 ^ bits W32) with 4294967296.
    rewrite (Z.mod_small (t * 64)), (Z.mod_small (t * 64 + b)) by lia. apply Z.mod_small. lia.
  Qed.

  (** [s] is the state before, [s'] after queue [p] has become empty. *)
  Theorem sched_ready_clear_triple cpu s s' p d : ready_map_rep cpu s d -> 0 <= p < NUM_PRIORITY ->
    (forall u, ready_some s' cpu u = ready_some s cpu u && negb (u =? p)) ->
    triple "sched_ready_clear" [cpu; p] d (fun v d' => v = 0 /\ ready_map_rep cpu s' d').
  Proof using HM HB.
    intros Hr Hp Hs. pose proof (group_range p Hp) as Hg. assert (0 <= p mod 64 < 64) as Hmod by (by apply Z.mod_pos_bound).
    pose proof Hr as (_ & Hw & (m & Em & Hm) & Eb). destruct (Hw (p / 64) Hg) as (w & Ew & Hwp).
    pose proof (word_less cpu s s' p Hs w Hwp) as Hwp'. set (w' := Z.land w (2 ^ 64 - 1 - wrap W64 (Z.shiftl 1 (p mod 64)))) in *.
    assert (forall u, u <> p -> ready_some s' cpu u = ready_some s cpu u) as Hother.
    { intros u Hu. rewrite Hs, (proj2 (Z.eqb_neq u p)) by done. by rewrite andb_true_r. }
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold sched_ready_clear_code. locals_simpl.
    pose (d1 := <[ready_word cpu (p / 64) := w']> d).
    assert (exists m', word_is m' (fun i => bool_decide (i < 4) && group_some s' cpu i) /\
      m' = if w' =? 0 then Z.land m (2 ^ 64 - 1 - wrap W64 (Z.shiftl 1 (p / 64))) else m) as (m' & Hm' & Em').
    { eexists. split; [|reflexivity]. pose proof (group_some_word cpu s' w' (p / 64) Hwp') as Hgw.
      destruct (w' =? 0); [by eapply summary_less|by eapply summary_still]. }
    assert (forall b, b = ready_best s' cpu -> ready_map_rep cpu s'
      (<[ready_best_cell cpu := b]> (<[ready_summary cpu := m']> d1))) as Hr' by (intros b Hb; by eapply ready_map_store).
    assert (d1 !! ready_word cpu (p / 64) = Some w') as Ew1 by (unfold d1; look; done).
    assert (d1 !! ready_summary cpu = Some m) as Em1 by (unfold d1; cells; look; done).
    assert (d1 !! ready_best_cell cpu = Some (ready_best s cpu)) as Eb1 by (unfold d1; cells; look; done).
    cells. do 4 step. change (bits W64) with 64. fold w'.
    match goal with |- owned _ _ _ _ _ _ _ _ ?D => change D with d1 end. clearbody d1.
    step.
    eapply (owned_mono _ _ _ _ (fun r d' => r = [cpu; p; p / 64; 0; 0] /\
      d' = <[("sched_ready_map"%string, cpu, "summary"%string, 0) := m']> d1)); [|intros ? ? H; exact H|intros ? ? H; exact H|].
    2: { step. revert Em'. destruct (w' =? 0); intros Em'.
      - step. by rewrite Em'.
      - step. split; [done|]. symmetry. apply insert_id. rewrite Em'. exact Em1. }
    intros r d2 [-> ->]. step. step. destruct (Z.eqb_spec m' 0) as [->|Hne].
    { step. step. step. split; [done|]. apply Hr'. symmetry. by apply best_none. }
    pose proof (word_is_top _ _ Hm' Hne) as (Hr0 & [Ht _]%andb_true_iff & _). apply bool_decide_eq_true in Ht.
    destruct (Hr' _ eq_refl) as (_ & Hwords & _). destruct (Hwords (Z.log2 m')) as (v & Ev & Hv); [lia|].
    destruct (best_top s' cpu m' v Hm' Hne Hv) as (_ & Hpos & Hposv & Hlv & Hbest).
    unfold ready_word in Ev. rewrite !own_lookup_ne in Ev by congruence. step. step.
    eapply (owned_builtin _ _ _ _ _ _ _ _ _ _ _ _ (Z.log2 m')); [exact HB|evaluate|intros ?; by apply highest_bit_builtin|].
    locals_simpl. step.
    eapply (owned_builtin _ _ _ _ _ _ _ _ _ _ _ _ (Z.log2 v)); [exact HB|evaluate|intros ?; by apply highest_bit_builtin|].
    locals_simpl. step. split; [done|]. rewrite best_word by lia. by apply Hr'.
  Qed.
End proof.
