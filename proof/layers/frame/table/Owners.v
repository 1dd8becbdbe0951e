(** Adding and removing owners: what [frame_add_owner_locked] and [frame_remove_owner_locked] do to the table's cells. *)
From Ashlar Require Export layers.frame.table.TableCells.
Local Opaque gmap_lookup gmap_partial_alter.

Implicit Types s : frames.

(** The specification, by case. *)
Lemma frame_add_cases s f p v s' : frame_valid s -> frame_add s f p = Some (v, s') ->
  0 <= f < NUM_FRAME /\ 0 <= p < NUM_PROCESS /\
  (v = ERR_BAD_STATE /\ s' = s /\ (owners s !! f = None \/ Z.testbit (owners_of s f) p = true) \/
   v = STATUS_OK /\ is_Some (owners s !! f) /\ Z.testbit (owners_of s f) p = false /\
   s' = Frames (free s) (<[f := Z.lor (owners_of s f) (only p)]> (owners s))).
Proof.
  intros HV H. unfold frame_add in H. destruct (_ && _) eqn:E; [|done].
  apply andb_true_iff in E as [Hf%frame_id_true Hp%process_id_true]. split; [done|]. split; [done|]. unfold owners_of.
  destruct (owners s !! f) as [m|] eqn:Em; simpl; [|left; simplify_eq; by auto].
  destruct (Z.testbit m p) eqn:Eb; simplify_eq; [left; by auto|right]. split_and!; [done|by eexists|done|done].
Qed.
Lemma frame_remove_cases s f p v s' : frame_valid s -> frame_remove s f p = Some (v, s') ->
  0 <= f < NUM_FRAME /\ 0 <= p < NUM_PROCESS /\
  (v = ERR_BAD_STATE /\ s' = s /\ Z.testbit (owners_of s f) p = false \/
   v = STATUS_OK /\ is_Some (owners s !! f) /\ Z.testbit (owners_of s f) p = true /\
   s' = if owners_of s f =? only p then Frames ({[f]} ∪ free s) (delete f (owners s))
        else Frames (free s) (<[f := Z.ldiff (owners_of s f) (only p)]> (owners s))).
Proof.
  intros HV H. unfold frame_remove in H. destruct (_ && _) eqn:E; [|done].
  apply andb_true_iff in E as [Hf%frame_id_true Hp%process_id_true]. split; [done|]. split; [done|]. unfold owners_of.
  destruct (owners s !! f) as [m|] eqn:Em; simpl; [|left; simplify_eq; by rewrite Z.bits_0].
  destruct (Z.testbit m p) eqn:Eb; simpl in H; [right|left; by simplify_eq].
  destruct (m =? only p); simplify_eq; (split_and!; [done|by eexists|done|done]).
Qed.

(** An owner's mask is a word. *)
Lemma owners_word s f : frame_valid s -> 0 <= owners_of s f < 2 ^ NUM_PROCESS.
Proof.
  intros [_ Ho]. unfold owners_of.
  destruct (owners s !! f) as [m|] eqn:E; simpl; [|split; [done|by apply Z.pow_pos_nonneg]].
  destruct (Ho f m E) as [_ ?]. lia.
Qed.
Lemma kind_allocated s f : frame_valid s -> kind_of s f = FRAME_ALLOCATED <-> is_Some (owners s !! f).
Proof.
  intros [Hf _]. unfold kind_of.
  destruct (decide (f ∈ free s)) as [Hin|]; [|by destruct (decide (is_Some (owners s !! f)))].
  destruct (Hf f Hin) as [_ ->]. split; [done|by intros [? ?]].
Qed.
Lemma kind_wrap s f : wrap W32 (kind_of s f) = kind_of s f.
Proof. unfold kind_of. destruct (decide (f ∈ free s)); [done|]. by destruct (decide (is_Some (owners s !! f))). Qed.
Lemma allocated_not_free s f : frame_valid s -> is_Some (owners s !! f) -> f ∉ free s.
Proof. intros [Hf _] [m Hm] Hin. destruct (Hf f Hin). congruence. Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Theorem frame_add_owner_locked_triple s d f p v s' :
    frame_rep s d -> frame_valid s -> frame_add s f p = Some (v, s') ->
    triple "frame_add_owner_locked" [f; p] d (fun w d' => w = v /\ frame_rep s' d').
  Proof using HM.
    intros Hr HV H. pose proof (frame_add_valid _ _ _ _ _ HV H) as HV'.
    destruct (frame_add_cases _ _ _ _ _ HV H) as (Hid & Hp & Hcase).
    pose proof (rep_owner _ _ Hr f Hid) as Ho. pose proof (rep_kind _ _ Hr f Hid) as Hk.
    pose proof (kind_allocated s f HV) as Hka. assert (0 <= p < 64) as Hp' by exact Hp.
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold frame_add_owner_locked_code; locals_simpl.
    frame_cells. do 3 step. rewrite bit_word by done. step. rewrite kind_wrap, and_bit_zero by lia.
    assert (negb (kind_of s f =? 2) || negb (negb (Z.testbit (owners_of s f) p)) = (v =? ERR_BAD_STATE)) as ->.
    { destruct Hcase as [(-> & _ & [Hn|Hb])|(-> & Hs & Hb & _)].
      - rewrite (proj2 (Z.eqb_neq (kind_of s f) 2)); [done|]. intros E. apply Hka in E. rewrite Hn in E. by destruct E.
      - rewrite Hb. apply orb_true_r.
      - rewrite Hb. apply Hka in Hs. rewrite Hs. done. }
    destruct Hcase as [(-> & -> & _)|(-> & Hs & Hb & Es)]; [rewrite Z.eqb_refl; step; done|].
    change (STATUS_OK =? ERR_BAD_STATE) with false. cbv iota. repeat step. split; [done|].
    apply (frame_rep_change s s' f d).
    - done. - done. - done.
    - intros g Hg. subst s'. simpl. by rewrite lookup_insert_ne.
    - apply (table_changed_write f _ (owner_cell f)); [by auto|by eexists].
    - apply map_rep_other; [apply owner_not_map|]. subst s'. exact (rep_map _ _ Hr).
    - frame_cells. look. subst s'. exact (rep_count _ _ Hr).
    - frame_cells. look. subst s'. unfold owners_of at 2. simpl. by rewrite lookup_insert.
    - frame_cells. look. f_equal. rewrite (proj2 Hka Hs). symmetry. apply kind_allocated; [done|].
      subst s'. simpl. rewrite lookup_insert. by eexists.
  Qed.

  Lemma last_owner m p : 0 <= p -> Z.testbit m p = true -> (Z.ldiff m (2 ^ p) =? 0) = (m =? only p).
  Proof using.
    intros Hp Hb. unfold only. apply Bool.eq_iff_eq_true. rewrite !Z.eqb_eq. split.
    - intros H0. apply Z.bits_inj'. intros i Hi. rewrite Z.pow2_bits_eqb by done.
      pose proof (f_equal (fun z => Z.testbit z i) H0) as Hbit. cbv beta in Hbit.
      rewrite clear_bit_test, Z.bits_0 in Hbit by done. destruct (Z.eqb_spec p i) as [<-|]; [done|].
      by rewrite andb_true_r in Hbit.
    - intros ->. apply Z.ldiff_diag.
  Qed.

  Theorem frame_remove_owner_locked_triple s d f p v s' :
    frame_rep s d -> frame_valid s -> frame_remove s f p = Some (v, s') ->
    triple "frame_remove_owner_locked" [f; p] d (fun w d' => w = v /\ frame_rep s' d').
  Proof using HM.
    intros Hr HV H. pose proof (frame_remove_valid _ _ _ _ _ HV H) as HV'.
    destruct (frame_remove_cases _ _ _ _ _ HV H) as (Hid & Hp & Hcase).
    pose proof (rep_owner _ _ Hr f Hid) as Ho. pose proof (rep_kind _ _ Hr f Hid) as Hk.
    pose proof (owners_word s f HV) as Hw. assert (0 <= p < 64) as Hp' by exact Hp.
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold frame_remove_owner_locked_code; locals_simpl.
    frame_cells. do 3 step. rewrite bit_word by done. step. rewrite and_bit_zero by lia.
    destruct Hcase as [(-> & -> & Hb)|(-> & Hs & Hb & Es)]; rewrite Hb; cbn [negb]; step; [done|].
    step. step. change (bits W64) with 64. rewrite and_complement by done. step. step.
    rewrite last_owner by (done || lia).
    pose proof (rep_count _ _ Hr) as Hn. pose proof (rep_size _ _ Hr) as Hsz. frame_cells.
    destruct (Z.eqb_spec (owners_of s f) (only p)) as [El|El].
    - assert (Hmap : map_rep (free s) (<[owner_cell f := Z.ldiff (owners_of s f) (2 ^ p)]> d)).
      { apply map_rep_other; [apply owner_not_map|exact (rep_map _ _ Hr)]. }
      eapply (owned_free kernel_entry M cpu HM (free s) f 0); [done|done|exact Hmap|exact (rep_range _ _ Hr)| | | |].
      + by apply allocated_not_free. + frame_cells. look. by eexists. + frame_cells. by look.
      + intros d' Hc' Hmap' Hn' Ho' Hk'. step. split; [done|]. apply (frame_rep_change s s' f d).
        * done. * done. * done.
        * intros g Hg. subst s'. simpl. split; [by rewrite lookup_delete_ne|].
          rewrite elem_of_union, elem_of_singleton. tauto.
        * eapply table_changed_trans; [apply (table_changed_write f _ (owner_cell f)); [by auto|by eexists]|exact Hc'].
        * by subst s'. * by subst s'.
        * rewrite Ho'. frame_cells. look. subst s'. unfold owners_of at 2. simpl. rewrite lookup_delete, El.
          f_equal. apply Z.ldiff_diag.
        * rewrite Hk'. f_equal. symmetry. apply kind_free. subst s'. apply elem_of_union_l, elem_of_singleton. done.
    - step. step. split; [done|]. apply (frame_rep_change s s' f d).
      + done. + done. + done.
      + intros g Hg. subst s'. simpl. by rewrite lookup_insert_ne.
      + apply (table_changed_write f _ (owner_cell f)); [by auto|by eexists].
      + apply map_rep_other; [apply owner_not_map|]. subst s'. exact (rep_map _ _ Hr).
      + frame_cells. look. subst s'. done.
      + frame_cells. look. subst s'. unfold owners_of at 2. simpl. by rewrite lookup_insert.
      + frame_cells. look. f_equal. rewrite (proj2 (kind_allocated s f HV) Hs). symmetry. apply kind_allocated; [done|].
        subst s'. simpl. rewrite lookup_insert. by eexists.
  Qed.
End proof.
