(** Bounded buffers: the ring in its cells. *)
From Ashlar Require Export layers.buffer.Spec lang.logic.Memory.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma slot_other cap f i j : 0 < cap -> 0 <= i < cap -> 0 <= j < cap -> i <> j -> (f + i) mod cap <> (f + j) mod cap.
Proof.
  intros Hc Hi Hj Hne E. pose proof (Z.div_mod (f + i) cap ltac:(lia)). pose proof (Z.div_mod (f + j) cap ltac:(lia)).
  assert ((f + i) / cap = (f + j) / cap) by nia. nia.
Qed.
Lemma slot_in b cap i : 0 < cap <= BUFFER_CAPACITY -> slot b (i mod cap) ∈ ring_cells b.
Proof.
  intros Hc. do 2 right. apply elem_of_list_fmap. exists (i mod cap). split; [done|]. apply elem_of_seqZ.
  pose proof (Z.mod_pos_bound i cap). lia.
Qed.

(** Putting a word into the first slot that is free. *)
Lemma ring_put b cap q d first word : ring_rep b cap q d -> d !! oldest_cell b = Some first -> used q < cap ->
  ring_rep b cap (q ++ [word]) (<[used_cell b := used q + 1]> (<[slot b ((first + used q) mod cap) := word]> d)).
Proof.
  intros (Hc & Hu & Hx & f & Hf & Ho & Hn & Hq) Ho' Hroom. assert (f = first) as -> by congruence. clear Ho'.
  assert (used (q ++ [word]) = used q + 1) as El by (unfold used; rewrite app_length; cbn; lia).
  split; [done|]. split; [lia|]. split.
  { apply exactly_write; [apply exactly_write; [done|by apply slot_in]|right; by left]. }
  exists first. split; [done|]. rewrite El. unfold oldest_cell, used_cell, field_cell, slot in *. split_and!.
  - by look.
  - by look.
  - intros i v. rewrite lookup_app_Some. intros [Hi|[Hlen Hi]].
    + pose proof (lookup_lt_Some _ _ _ Hi) as Hlt. assert ((first + Z.of_nat i) mod cap <> (first + used q) mod cap) as Hne
        by (apply slot_other; unfold used in *; lia).
      look. by apply Hq.
    + apply list_lookup_singleton_Some in Hi as [Hi <-]. replace (Z.of_nat i) with (used q) by (unfold used; lia). by look.
Qed.
(** Taking the oldest word. *)
Lemma ring_take b cap v q d first : ring_rep b cap (v :: q) d -> d !! oldest_cell b = Some first ->
  d !! slot b first = Some v /\
  ring_rep b cap q (<[used_cell b := used q]> (<[oldest_cell b := (first + 1) mod cap]> d)).
Proof.
  intros (Hc & Hu & Hx & f & Hf & Ho & Hn & Hq) Ho'. assert (f = first) as -> by congruence. clear Ho'.
  assert (used (v :: q) = used q + 1) as El by (unfold used; cbn; lia). rewrite El in *.
  split; [pose proof (Hq 0%nat v eq_refl) as H; by rewrite Z.add_0_r, Z.mod_small in H|].
  split; [done|]. split; [lia|]. split.
  { apply exactly_write; [apply exactly_write; [done|by left]|right; by left]. }
  exists ((first + 1) mod cap). split; [apply Z.mod_pos_bound; lia|]. unfold oldest_cell, used_cell, field_cell, slot in *. split_and!.
  - by look.
  - by look.
  - intros i w Hi. rewrite Zplus_mod_idemp_l. replace (first + 1 + Z.of_nat i) with (first + Z.of_nat (S i)) by lia.
    rewrite !own_lookup_ne by congruence. by apply Hq.
Qed.

(** There are cells from which start-up makes a buffer: the theorems are not vacuous. *)
Theorem buffer_cells_exist b : exists d, has_cells (capacity_cell b :: ring_cells b) d.
Proof. exists (memory (fun _ => 0) (capacity_cell b :: ring_cells b)). intros x. apply memory_dom. Qed.
