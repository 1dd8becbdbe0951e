(** Ready queues: the bitmap's cells.

    They follow from which queues have a thread ([ready_map_same], [ready_map_unique]); after [sched_ready_insert]'s stores
    they are those of one more queue, and after [sched_ready_clear]'s of one queue less. *)
From Ashlar Require Export lang.logic.Owned layers.sched.ready.Bitmap.
Local Opaque gmap_lookup gmap_partial_alter.

(** Queues [64 * i] to [64 * i + 63]: one has a thread. *)
Definition group_some (s : ready) (cpu i : Z) : bool := existsb (fun b => ready_some s cpu (64 * i + b)) (seqZ 0 64).

Lemma existsb_ext {A} (f g : A -> bool) l : (forall x, x ∈ l -> f x = g x) -> existsb f l = existsb g l.
Proof.
  induction l as [|x l IH]; intros H; simpl; [done|]. rewrite (H x) by (by left). f_equal. apply IH. intros y Hy. apply H. by right.
Qed.
Lemma existsb_seqZ f n : existsb f (seqZ 0 n) = true <-> exists b, 0 <= b < n /\ f b = true.
Proof.
  rewrite existsb_exists. split.
  - intros (b & Hb & Hf). exists b. split; [|done]. apply elem_of_list_In, elem_of_seqZ in Hb. lia.
  - intros (b & Hb & Hf). exists b. split; [|done]. apply elem_of_list_In, elem_of_seqZ. lia.
Qed.

(** A word is not 0 exactly if it has a bit; its logarithm is the highest. *)
Lemma word_is_top w f : word_is w f -> w <> 0 -> 0 <= Z.log2 w < 64 /\ f (Z.log2 w) = true /\
  forall b, Z.log2 w < b < 64 -> f b = false.
Proof.
  intros [Hw Hf] Hne. assert (0 <= Z.log2 w < 64) as Hr.
  { split; [apply Z.log2_nonneg|]. apply Z.log2_lt_pow2; lia. }
  split; [done|]. split.
  - rewrite <- Hf by done. apply Z.bit_log2. lia.
  - intros b Hb. rewrite <- Hf by lia. apply Z.bits_above_log2; lia.
Qed.
Lemma word_is_some w f : word_is w f -> existsb f (seqZ 0 64) = negb (w =? 0).
Proof.
  intros Hw. destruct (Z.eqb_spec w 0) as [->|Hne]; cbn [negb].
  - apply not_true_is_false. intros (b & Hb & H)%existsb_seqZ. destruct Hw as [_ Hf]. rewrite <- Hf, Z.bits_0 in H; done.
  - apply existsb_seqZ. destruct (word_is_top _ _ Hw Hne) as (? & ? & _). eauto.
Qed.

(** ** What the queues determine *)
Section same.
  Context (cpu : Z) (s s' : ready).
  Context (Hs : forall p, 0 <= p < NUM_PRIORITY -> ready_some s' cpu p = ready_some s cpu p).

  Lemma best_same : ready_best s' cpu = ready_best s cpu.
  Proof using Hs.
    unfold ready_best. assert (Z.of_nat 256 <= NUM_PRIORITY) as Hn by done. revert Hn. generalize 256%nat as n.
    induction n as [|n IH]; intros Hn; cbn [best_below]; [done|]. rewrite Hs by lia. rewrite IH by lia. done.
  Qed.
  Lemma group_same i : 0 <= i < 4 -> group_some s' cpu i = group_some s cpu i.
  Proof using Hs. intros Hi. apply existsb_ext. intros b [Hb Hb']%elem_of_seqZ. apply Hs. unfold NUM_PRIORITY. lia. Qed.
  Lemma ready_map_same d : ready_map_rep cpu s d -> ready_map_rep cpu s' d.
  Proof using Hs.
    intros (Hx & Hw & (m & Hm & Hms) & Hb). split; [done|]. split; [|split].
    - intros i Hi. destruct (Hw i Hi) as (w & E & Hws). exists w. split; [done|]. eapply word_is_ext; [|exact Hws].
      intros b Hb'. symmetry. apply Hs. unfold NUM_PRIORITY. lia.
    - exists m. split; [done|]. eapply word_is_ext; [|exact Hms]. intros i Hi. cbn beta. case_bool_decide; [|done]. cbn [andb].
      symmetry. apply group_same. lia.
    - by rewrite best_same.
  Qed.
End same.

Theorem ready_map_unique cpu s d d' : ready_map_rep cpu s d -> ready_map_rep cpu s d' -> d = d'.
Proof.
  intros (Hx & Hw & (m & Hm & Hms) & Hb) (Hx' & Hw' & (m' & Hm' & Hms') & Hb'). apply own_eq. intros x.
  destruct (d !! x) as [v|] eqn:E.
  - assert (ready_map_cells cpu x) as [(i & Hi & ->)|[-> | ->]] by (apply Hx; eauto).
    + destruct (Hw i Hi) as (w & A & C), (Hw' i Hi) as (w' & A' & C'). rewrite A'. pose proof (word_is_unique _ _ _ C C'). congruence.
    + rewrite Hm'. pose proof (word_is_unique _ _ _ Hms Hms'). congruence.
    + congruence.
  - destruct (d' !! x) eqn:E'; [|done]. assert (is_Some (d !! x)) as [? ?]; [|congruence]. apply Hx, Hx'. eauto.
Qed.

(** ** The stores *)
Lemma wrap_small x : 0 <= x < 4294967296 -> wrap W32 x = x.
Proof. intros H. unfold wrap. change (2 ^ bits W32) with 4294967296. by apply Z.mod_small. Qed.

Ltac cells := unfold ready_word, ready_summary, ready_best_cell in *.

Lemma split_eqb p i b : 0 <= b < 64 -> (64 * i + b =? p) = (i =? p / 64) && (b =? p mod 64).
Proof.
  intros Hb. pose proof (Z.div_mod p 64 ltac:(done)) as Hp. pose proof (Z.mod_pos_bound p 64 ltac:(done)) as Hm.
  destruct (Z.eqb_spec i (p / 64)), (Z.eqb_spec b (p mod 64)); simpl; [apply Z.eqb_eq|apply Z.eqb_neq..]; lia.
Qed.
Lemma group_range p : 0 <= p < NUM_PRIORITY -> 0 <= p / 64 < 4.
Proof.
  unfold NUM_PRIORITY. intros Hp. split; [apply Z.div_pos; lia|apply Z.div_lt_upper_bound; lia].
Qed.

(** The cells of a state whose queue [p] may differ, from those of another state: [w], [m] and [b] are what word,
    summary and best become. *)
Lemma ready_map_store cpu s s' p d w m b : ready_map_rep cpu s d -> 0 <= p < NUM_PRIORITY ->
  (forall u, u <> p -> ready_some s' cpu u = ready_some s cpu u) ->
  word_is w (fun b => ready_some s' cpu (64 * (p / 64) + b)) ->
  word_is m (fun i => bool_decide (i < 4) && group_some s' cpu i) -> b = ready_best s' cpu ->
  ready_map_rep cpu s' (<[ready_best_cell cpu := b]> (<[ready_summary cpu := m]> (<[ready_word cpu (p / 64) := w]> d))).
Proof.
  intros (Hx & Hw & _ & _) Hp Hs Hw' Hm ->. split; [|split; [|split]].
  - apply exactly_write; [apply exactly_write; [apply exactly_write; [done|]|]|]; unfold ready_map_cells; eauto.
    left. exists (p / 64). split; [by apply group_range|done].
  - intros i Hi. destruct (decide (i = p / 64)) as [->|Hne].
    + exists w. split; [|done]. cells. look. done.
    + destruct (Hw i Hi) as (u & E & Hu). exists u. split; [cells; look; done|]. eapply word_is_ext; [|exact Hu].
      intros n Hn. simpl. symmetry. apply Hs. intros E'. apply Hne. symmetry. pose proof (split_eqb p i n Hn) as H.
      rewrite E', Z.eqb_refl in H. symmetry in H. apply andb_true_iff in H as [H _]. apply Z.eqb_eq in H. done.
  - exists m. split; [cells; look; done|]. exact Hm.
  - apply own_lookup.
Qed.

(** A word of the bitmap follows one queue that changes. *)
Section change.
  Context (cpu : Z) (s s' : ready) (p : Z) (Hp : 0 <= p < NUM_PRIORITY).

  Lemma group_eq i : group_some s cpu i = existsb (fun b => ready_some s cpu (64 * i + b)) (seqZ 0 64).
  Proof using. done. Qed.

  Section more.
    Context (Hs : forall u, ready_some s' cpu u = ready_some s cpu u || (u =? p)).
    Lemma word_more w : word_is w (fun b => ready_some s cpu (64 * (p / 64) + b)) ->
      word_is (Z.lor w (wrap W64 (Z.shiftl 1 (p mod 64)))) (fun b => ready_some s' cpu (64 * (p / 64) + b)).
    Proof using Hs.
      intros Hw. eapply word_is_ext; [|apply word_is_set; [by apply Z.mod_pos_bound|exact Hw]].
      intros b Hb. cbn beta. by rewrite Hs, split_eqb, Z.eqb_refl.
    Qed.
    Lemma group_more i : group_some s' cpu i = group_some s cpu i || (i =? p / 64).
    Proof using Hs.
      apply eq_true_iff_eq. rewrite orb_true_iff. unfold group_some. rewrite !existsb_seqZ. split.
      - intros (b & Hb & H). rewrite Hs, split_eqb in H by done. apply orb_true_iff in H as [H|[H _]%andb_true_iff]; eauto.
      - intros [(b & Hb & H)|H%Z.eqb_eq].
        + exists b. by rewrite Hs, H.
        + exists (p mod 64). split; [by apply Z.mod_pos_bound|]. rewrite Hs, split_eqb by (by apply Z.mod_pos_bound).
          by rewrite H, !Z.eqb_refl, orb_true_r.
    Qed.
    Lemma summary_more m : word_is m (fun i => bool_decide (i < 4) && group_some s cpu i) ->
      word_is (Z.lor m (wrap W64 (Z.shiftl 1 (p / 64)))) (fun i => bool_decide (i < 4) && group_some s' cpu i).
    Proof using Hs Hp.
      intros Hm. pose proof (group_range p Hp) as Hg. eapply word_is_ext; [|apply word_is_set; [lia|exact Hm]].
      intros i Hi. cbn beta. rewrite group_more. destruct (Z.eqb_spec i (p / 64)) as [->|]; [|by rewrite !orb_false_r].
      by rewrite bool_decide_eq_true_2, !orb_true_r by lia.
    Qed.
  End more.

  Section less.
    Context (Hs : forall u, ready_some s' cpu u = ready_some s cpu u && negb (u =? p)).
    Lemma word_less w : word_is w (fun b => ready_some s cpu (64 * (p / 64) + b)) ->
      word_is (Z.land w (2 ^ 64 - 1 - wrap W64 (Z.shiftl 1 (p mod 64)))) (fun b => ready_some s' cpu (64 * (p / 64) + b)).
    Proof using Hs.
      intros Hw. eapply word_is_ext; [|apply word_is_clear; [by apply Z.mod_pos_bound|exact Hw]].
      intros b Hb. cbn beta. by rewrite Hs, split_eqb, Z.eqb_refl.
    Qed.
    Lemma group_less i : i <> p / 64 -> group_some s' cpu i = group_some s cpu i.
    Proof using Hs.
      intros Hi. apply existsb_ext. intros b [Hb Hb']%elem_of_seqZ. rewrite Hs, split_eqb by lia.
      rewrite (proj2 (Z.eqb_neq i _)) by done. by rewrite andb_true_r.
    Qed.
    Lemma group_some_word w i : word_is w (fun b => ready_some s' cpu (64 * i + b)) -> group_some s' cpu i = negb (w =? 0).
    Proof using. apply word_is_some. Qed.
    (** Its word has become 0. *)
    Lemma summary_less m : group_some s' cpu (p / 64) = false ->
      word_is m (fun i => bool_decide (i < 4) && group_some s cpu i) ->
      word_is (Z.land m (2 ^ 64 - 1 - wrap W64 (Z.shiftl 1 (p / 64)))) (fun i => bool_decide (i < 4) && group_some s' cpu i).
    Proof using Hs Hp.
      intros H0 Hm. pose proof (group_range p Hp) as Hg. eapply word_is_ext; [|apply word_is_clear; [lia|exact Hm]].
      intros i Hi. cbn beta. destruct (Z.eqb_spec i (p / 64)) as [->|Hne]; cbn [negb].
      - by rewrite H0, !andb_false_r.
      - by rewrite group_less, andb_true_r.
    Qed.
    (** It has not. *)
    Lemma summary_still m : group_some s' cpu (p / 64) = true ->
      word_is m (fun i => bool_decide (i < 4) && group_some s cpu i) ->
      word_is m (fun i => bool_decide (i < 4) && group_some s' cpu i).
    Proof using Hs.
      intros H1. apply word_is_ext. intros i Hi. cbn beta. f_equal. destruct (decide (i = p / 64)) as [->|].
      - rewrite H1. rewrite !group_eq in *. apply existsb_seqZ in H1 as (b & Hb & H1). apply existsb_seqZ. exists b.
        split; [done|]. rewrite Hs in H1. by apply andb_true_iff in H1 as [? _].
      - symmetry. by apply group_less.
    Qed.
  End less.
End change.

(** [best], from summary and words. *)
Lemma best_none s cpu : word_is 0 (fun i => bool_decide (i < 4) && group_some s cpu i) -> ready_best s cpu = 0.
Proof.
  intros [_ Hm]. unfold ready_best. destruct (best_below_spec s cpu 256) as [[E _]|(p & _ & Hp & Hs & _)]; [done|].
  assert (0 <= p / 64 < 4) as Hg by (by apply group_range). specialize (Hm (p / 64) ltac:(lia)). rewrite Z.bits_0 in Hm.
  rewrite bool_decide_eq_true_2 in Hm by lia. cbn [andb] in Hm. symmetry in Hm.
  apply not_true_iff_false in Hm as []. apply existsb_seqZ. exists (p mod 64). split; [by apply Z.mod_pos_bound|].
  by rewrite <- Z.div_mod.
Qed.
Lemma best_top s cpu m w : word_is m (fun i => bool_decide (i < 4) && group_some s cpu i) -> m <> 0 ->
  word_is w (fun b => ready_some s cpu (64 * Z.log2 m + b)) ->
  0 <= Z.log2 m < 4 /\ 0 < m /\ 0 < w /\ 0 <= Z.log2 w < 64 /\ ready_best s cpu = Z.log2 m * 64 + Z.log2 w + 1.
Proof.
  intros Hm Hne Hw. destruct (word_is_top _ _ Hm Hne) as (Hr & Ht & Hhigh). apply andb_true_iff in Ht as [Hl Hg].
  apply bool_decide_eq_true in Hl. assert (w <> 0) as Hnw.
  { intros ->. rewrite (group_some_word cpu s 0 _ Hw) in Hg. done. }
  destruct (word_is_top _ _ Hw Hnw) as (Hr' & Ht' & Hhigh'). pose proof (proj1 Hm). pose proof (proj1 Hw).
  split; [lia|]. split; [lia|]. split; [lia|]. split; [lia|].
  unfold ready_best. apply best_below_at; [|by rewrite Z.mul_comm|]; [lia|].
  intros u Hu. assert (0 <= u mod 64 < 64) as Hmod by (by apply Z.mod_pos_bound). pose proof (Z.div_mod u 64 ltac:(done)) as Hd.
  destruct (decide (u / 64 = Z.log2 m)) as [E|].
  - rewrite Hd, E. apply Hhigh'. rewrite E in Hd. lia.
  - assert (Z.log2 m < u / 64 < 4) as Hi by lia. specialize (Hhigh (u / 64) ltac:(lia)).
    rewrite bool_decide_eq_true_2 in Hhigh by lia. cbn [andb] in Hhigh. apply not_true_iff_false. intros Hu'.
    apply not_true_iff_false in Hhigh as []. apply existsb_seqZ. exists (u mod 64). split; [done|]. by rewrite <- Hd.
Qed.
