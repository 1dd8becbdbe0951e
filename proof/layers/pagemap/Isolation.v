(** Isolation by page maps: what a page map's cells guarantee, alone and together with those of others. *)
From Ashlar Require Export layers.pagemap.cells.ProcessorWalk layers.pagemap.spec.Guarantees layers.frame.FrameMemory.
Local Opaque gmap_lookup gmap_partial_alter.

(** In the cells [d], a user program reaches from the map's root exactly the pages that are mapped, by the entries they have;
    all are pages of user space, and none can be both written and executed. The processor that walks there for the program changes
    no cell, though it marks what is used and written. *)
Definition translates (d : mem) (s : page_map) : Prop :=
  present s = true -> forall n, 0 <= n < 2 ^ 36 ->
    user_reach d 3 (root_of s) n = leaves s !! n /\ user_walk_marks d 3 (root_of s) n = d /\
    forall e, leaves s !! n = Some e -> user_page n /\ (has e ARCH_PTE_WRITE = true -> has e ARCH_PTE_NO_EXECUTE = true).

(** Frame [f] holds a table of the map. *)
Definition has_table (s : page_map) (f : Z) : Prop := exists k, tables s !! k = Some f.

Section isolation.
  Context (kernel_entry : Z -> Z) (p : Z) (s : page_map) (d : mem) (Hr : pagemap_rep kernel_entry p s d).

  Theorem rep_translates : (forall i, PAGEMAP_KERNEL_FIRST <= i < 512 -> has (kernel_entry i) ARCH_PTE_USER = false) ->
    translates d s.
  Proof using Hr.
    intros Hk Hp n Hn. pose proof (user_reach_exact _ _ _ _ Hr n Hp Hn Hk) as E. split; [exact E|].
    split; [by apply (user_walk_marks_nothing _ _ _ _ Hr n Hp Hn Hk)|].
    intros e He. apply (user_reach_user _ _ _ _ Hr n e Hp Hn Hk). by rewrite E.
  Qed.

  Lemma table_cell f : has_table s f -> is_Some (d !! frame_word f 0).
  Proof using Hr. intros [k Hk]. exists (table_word kernel_entry s k 0). eapply rep_word; [exact Hr|exact Hk|lia]. Qed.
  Lemma cells_disjoint (d' : mem) x : d ##ₘ d' -> is_Some (d !! x) -> ~ is_Some (d' !! x).
  Proof using. intros Hd [v Hv] [w Hw]. exact (proj1 (map_disjoint_spec d d') Hd _ _ _ Hv Hw). Qed.

  Theorem tables_disjoint q s' d' f : pagemap_rep kernel_entry q s' d' -> d ##ₘ d' -> has_table s f -> ~ has_table s' f.
  Proof using Hr.
    intros Hr' Hd Hf [k Hk]. apply (cells_disjoint d' (frame_word f 0) Hd (table_cell f Hf)).
    exists (table_word kernel_entry s' k 0). eapply rep_word; [exact Hr'|exact Hk|lia].
  Qed.
  Theorem tables_words_not_shared w d' f : frame_memory_rep w d' -> d ##ₘ d' -> has_table s f -> ~ words_shared w f.
  Proof using Hr.
    intros (_ & t & u & -> & Htu & _ & [Hu _]) Hd Hf Hp. apply (cells_disjoint (t ∪ u) (frame_word f 0) Hd (table_cell f Hf)).
    assert (Hs : is_Some (u !! frame_word f 0)).
    { apply Hu. right. exists f, 0. split; [done|]. split; [unfold word_index, frame_words; lia|done]. }
    destruct Hs as [v Hs]. exists v. by apply lookup_union_Some_r.
  Qed.
End isolation.

(** A caller that maps a frame as a process's own ensures that the process owns it, and removes that owner only after
    unmapping it: the requirements of [pagemap_map] and [frame_remove_owner] together. [maps]: every process's page map. *)
Definition mapped_by_owners (maps : Z -> page_map) (w : frames) : Prop := forall p n e,
  leaves (maps p) !! n = Some e -> has e ARCH_PTE_OWNED = true -> owns w (entry_frame e) p = true.

(** Then a frame with one owner is in the map of that process alone, and there at one page. *)
Theorem unshared_frame_once maps w f p : 0 <= p -> mapped_by_owners maps w -> owners w !! f = Some (only p) -> owned_once (maps p) ->
  forall q q' n n' e e', 0 <= q -> 0 <= q' -> leaves (maps q) !! n = Some e -> leaves (maps q') !! n' = Some e' ->
    has e ARCH_PTE_OWNED = true -> has e' ARCH_PTE_OWNED = true -> entry_frame e = f -> entry_frame e' = f ->
    q = p /\ q' = p /\ n = n'.
Proof.
  intros Hp Hm Hf Hone q q' n n' e e' Hq Hq' Hn Hn' He He' Ef Ef'.
  assert (Howner : forall r m x, 0 <= r -> leaves (maps r) !! m = Some x -> has x ARCH_PTE_OWNED = true -> entry_frame x = f -> r = p).
  { intros r m x Hr Hx Ho Ex. pose proof (Hm r m x Hx Ho) as H. unfold owns, owners_of in H. rewrite Ex, Hf in H. simpl in H.
    unfold only in H. destruct (decide (r = p)) as [|Hne]; [done|]. by rewrite Z.pow2_bits_false in H by congruence. }
  pose proof (Howner q n e Hq Hn He Ef) as ->. pose proof (Howner q' n' e' Hq' Hn' He' Ef') as ->.
  split; [done|]. split; [done|]. apply (Hone n n' e e' Hn Hn' He He'). congruence.
Qed.
