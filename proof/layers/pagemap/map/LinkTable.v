(** An empty table in an owned frame becomes part of the map by the one store that links it. *)
From Ashlar Require Export layers.pagemap.create.Create.
Local Opaque gmap_lookup gmap_partial_alter.

(** Frame [f], owned and all 0, becomes the highest table that page [n] lacks. *)
Definition link_owned_frame (n f : Z) (s : page_map) (h : owned_frames) : option (Z * page_map * owned_frames) :=
  match h !! f with
  | Some (Some u) =>
      if bool_decide (u = ∅) then
        match pagemap_add_table s n f with Some (v, s') => Some (v, s', delete f h) | None => None end
      else None
  | _ => None
  end.
Lemma link_owned_frame_inv n f s h v s' h' : link_owned_frame n f s h = Some (v, s', h') ->
  h !! f = Some (Some ∅) /\ pagemap_add_table s n f = Some (v, s') /\ h' = delete f h.
Proof.
  unfold link_owned_frame. destruct (h !! f) as [[u|]|]; try done. destruct (bool_decide (u = ∅)) eqn:E; [|done].
  apply bool_decide_eq_true in E as ->. destruct (pagemap_add_table s n f) as [[w s1]|]; [|done]. by intros [= <- <- <-].
Qed.

(** Where a number is an entry of a table. *)
Lemma above_split l n x i : 0 <= l -> 0 <= i < 512 -> 512 * x + i = n / span l -> x = above l n /\ i = entry_index l n.
Proof.
  intros Hl Hi E. pose proof (above_slot l n Hl). pose proof (slot_range l n). lia.
Qed.

Section link.
  Context (kernel_entry : Z -> Z) (p : Z) (s : page_map) (n f : Z) (v : Z) (s' : page_map).
  Context (HV : pagemap_valid s) (Hadd : pagemap_add_table s n f = Some (v, s')).
  Notation k := (missing s n).

  (** The new table has no entries. *)
  Lemma word_new i : 0 <= i < 512 -> table_word kernel_entry s' (k - 1, above (k - 1) n) i = 0.
  Proof using HV Hadd.
    apply add_table_inv in Hadd as (_ & _ & _ & Hm & _ & _ & ->). pose proof (missing_range s n) as Hr.
    intros Hi. unfold table_word. cbn [fst snd]. destruct (Z.eqb_spec (k - 1) 0) as [E|Hl0].
    - rewrite E. change (leaves (add_table n f s)) with (leaves s). rewrite (no_table s _ HV); [done|].
      assert (above 0 (512 * above 0 n + i) = above 0 n) as ->.
      { unfold above at 1. change (span (0 + 1)) with 512. rewrite Z.mul_comm, Z.div_add_l, Z.div_small by lia. lia. }
      apply missing_absent; [done|lia].
    - rewrite (proj2 (Z.eqb_neq (k - 1) PAGEMAP_ROOT_LEVEL)) by (unfold PAGEMAP_ROOT_LEVEL; lia). cbn [andb].
      destruct (tables (add_table n f s) !! (k - 1 - 1, 512 * above (k - 1) n + i)) as [g|] eqn:E; [exfalso|done].
      apply add_table_cases in E as [(E & _)|E]; [lia|].
      destruct (table_parent s HV _ _ _ E) as [g' Hg']; [lia|]. rewrite Z.sub_add in Hg'.
      rewrite (Z.mul_comm 512), Z.div_add_l, Z.div_small, Z.add_0_r in Hg' by lia.
      rewrite (missing_absent s HV n (k - 1)) in Hg' by lia. done.
  Qed.
  (** The word that links it; all others stay. *)
  Lemma word_link : table_word kernel_entry s' (k, above k n) (entry_index k n) = link f.
  Proof using HV Hadd.
    apply add_table_inv in Hadd as (_ & Hu & _ & Hm & _ & _ & ->). pose proof (missing_range s n) as Hr.
    rewrite word_path by first [intros; by apply slot_root | lia]. by rewrite add_table_tables, lookup_insert.
  Qed.
  Lemma word_old l x g i : tables s !! (l, x) = Some g -> 0 <= i < 512 -> ((l, x) = (k, above k n) -> i <> entry_index k n) ->
    table_word kernel_entry s' (l, x) i = table_word kernel_entry s (l, x) i.
  Proof using HV Hadd.
    apply add_table_inv in Hadd as (_ & _ & _ & Hm & _ & _ & ->). pose proof (missing_range s n) as Hr.
    intros Hk Hi Hne. unfold table_word. cbn [fst snd]. destruct (l =? 0); [done|]. destruct (_ && _); [done|].
    rewrite add_table_tables, lookup_insert_ne; [done|]. intros E. injection E as El Ex.
    assert (l = k) as -> by lia. rewrite above_below in Ex.
    destruct (above_split k n x i) as [-> ->]; [lia|done|done|]. by destruct Hne.
  Qed.

  Theorem joint_link h d tbl : joint kernel_entry p s h d -> tables s !! (k, above k n) = Some tbl -> h !! f = Some (Some ∅) ->
    is_Some (d !! frame_word tbl (entry_index k n)) /\
    joint kernel_entry p s' (delete f h) (<[frame_word tbl (entry_index k n) := link f]> d).
  Proof using HV Hadd.
    intros (_ & Hx & Hno & E1 & E2 & E3 & Hw & Hhv) Htbl Hin.
    pose proof (add_table_valid s n f v s' HV Hadd) as HV'. pose proof word_new as Hnew. pose proof word_link as Hlink.
    pose proof word_old as Hold.
    apply add_table_inv in Hadd as (Hp & Hu & _ & Hm & [Hfr Hfresh] & _ & ->). pose proof (missing_range s n) as Hr.
    pose proof (slot_range k n) as Hi0.
    assert (forall key g, tables s !! key = Some g -> tables (add_table n f s) !! key = Some g) as Hkeep.
    { intros key g. by apply add_table_old. }
    assert (tables (add_table n f s) !! (k - 1, above (k - 1) n) = Some f) as Hf by (by rewrite add_table_tables, lookup_insert).
    assert (is_Some (d !! frame_word tbl (entry_index k n))) as Hcell by (rewrite (Hw _ _ _ Htbl Hi0); by eexists).
    assert (tables (add_table n f s) !! root_key = tables s !! root_key) as Hroot.
    { destruct (root_usable s HV Hp) as [_ Hrt]. by rewrite Hrt, (Hkeep _ _ Hrt). }
    split; [done|]. split; [done|]. split; [|split; [|split; [|split; [|split; [|split]]]]].
    - intros x. etrans; [apply (exactly_write (fun y => is_Some (d !! y))); [done|exact Hcell]|]. rewrite Hx. split.
      + intros [[Hc|(key & g & i & Hk & Hi & ->)]|(g & i & -> & Hi & Hg)].
        * left; by left.
        * left. apply word_cells. split; [done|]. exists key. by apply Hkeep.
        * destruct (decide (f = g)) as [<-|Hne].
          -- left. apply word_cells. split; [exact Hi|by eexists].
          -- right. apply owned_frames_word. split; [done|]. by rewrite lookup_delete_ne.
      + intros [[Hc|([l y] & g & i & Hk & Hi & ->)]|(g & i & -> & Hi & Hg)].
        * left; by left.
        * apply add_table_cases in Hk as [(_ & _ & ->)|Hk].
          -- right. apply owned_frames_word. split; [exact Hi|]. rewrite Hin. by eexists.
          -- left. apply word_cells. split; [done|by eexists].
        * right. apply owned_frames_word. split; [done|]. by apply lookup_delete_is_Some in Hg as [_ Hg].
    - intros [l y] g Hk. destruct (decide (f = g)) as [<-|Hne]; [apply lookup_delete|]. rewrite lookup_delete_ne by done.
      apply add_table_cases in Hk as [(_ & _ & ->)|Hk]; [done|by eapply Hno].
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "exists" tbl (entry_index k n))). rewrite E1. unfold present.
      by rewrite Hroot.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "root" tbl (entry_index k n))). rewrite E2. unfold root_of.
      by rewrite Hroot.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "cursor" tbl (entry_index k n))). exact E3.
    - intros [l y] g i Hk Hi. destruct (add_table_cases _ _ _ _ _ _ Hk) as [(-> & -> & ->)|Hk'].
      + rewrite own_lookup_ne by (intros [E _]%frame_word_eq; subst tbl; by apply (Hfresh (k, above k n))).
        rewrite Hnew by done. by rewrite (Hhv f ∅ i Hin Hi), word_of_empty.
      + destruct (decide (g = tbl /\ i = entry_index k n)) as [[-> ->]|Hne].
        * rewrite own_lookup. pose proof (same_key s _ _ _ HV Htbl Hk') as E. injection E as <- <-. by rewrite Hlink.
        * rewrite own_lookup_ne by (intros [E E']%frame_word_eq; by apply Hne). rewrite (Hw _ _ _ Hk' Hi).
          symmetry. f_equal. eapply Hold; [exact Hk'|done|]. intros E ->. injection E as -> ->. apply Hne.
          rewrite Htbl in Hk'. by injection Hk' as ->.
    - intros g w i [Hne Hg]%lookup_delete_Some Hi. rewrite own_lookup_ne; [by apply (Hhv g w)|].
      intros [<- _]%frame_word_eq. by rewrite (Hno _ _ Htbl) in Hg.
  Qed.
End link.
