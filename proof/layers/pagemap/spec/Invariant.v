(** Page maps: every function of the specification keeps what holds of every state. *)
From Ashlar Require Export layers.pagemap.spec.Tables layers.pagemap.spec.Entries.

Lemma absent_valid : pagemap_valid pagemap_absent.
Proof. split; [apply map_Forall_empty|]. split; [apply map_Forall_empty|]. done. Qed.

Lemma frame_usable_spec s f : frame_usable s f = true -> 0 <= f < NUM_FRAME /\ forall k, tables s !! k <> Some f.
Proof.
  unfold frame_usable. intros [[H1 H2]%andb_prop H3%bool_decide_eq_true]%andb_prop. split; [lia|].
  intros k Hk. by destruct (H3 k f Hk).
Qed.

Lemma create_valid s root v s' : pagemap_valid s -> pagemap_create s root = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV. unfold pagemap_create. destruct (present s); [by intros [= <- <-]|].
  destruct (frame_usable s root) eqn:Hf; [|done]. intros [= <- <-]. apply frame_usable_spec in Hf as [Hf _].
  split; [|split; [apply map_Forall_empty|]].
  - cbn [tables]. intros k f [<- <-]%lookup_singleton_Some. unfold table_ok. simpl. split; [done|]. split; [done|]. split; [done|].
    split; [done|]. split; [by left|]. split; [done|]. by intros k' f' [<- <-]%lookup_singleton_Some _.
  - simpl. done.
Qed.

(** ** Leaves change, tables stay *)
Lemma leaves_valid s m : pagemap_valid s ->
  (forall n e, m !! n = Some e -> leaf_held s n e) -> pagemap_valid (PageMap (tables s) m (cursor s)).
Proof. intros (Ht & _ & Hc) Hm. split; [exact Ht|split; [|exact Hc]]. intros n e H. exact (Hm n e H). Qed.

Lemma unmap_valid s a v s' : pagemap_valid s -> pagemap_unmap s a = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV [= <- <-]. destruct (user_address a); [|done]. apply leaves_valid; [done|].
  cbn [leaves]. intros n e [_ H]%lookup_delete_Some. by apply valid_leaf.
Qed.

Lemma pin_valid s a v s' : pagemap_valid s -> pagemap_pin s a = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV [= <- <-]. destruct (user_address a); [|done]. apply leaves_valid; [done|].
  intros n e. cbn [leaves]. destruct (decide (page_of a = n)) as [->|].
  - rewrite lookup_alter. intros (e0 & He & ->)%fmap_Some_1. destruct (valid_leaf s HV _ _ He) as (H1 & H2 & H3 & H4).
    split; [done|]. split; [done|]. split; [by apply leaf_ok_pin|done].
  - rewrite lookup_alter_ne by done. by apply valid_leaf.
Qed.

(** ** A new table *)
Lemma add_table_inv s n f v s' : pagemap_add_table s n f = Some (v, s') ->
  present s = true /\ user_page n /\ cursor s <= 4096 * n /\ 0 < missing s n /\
  (0 <= f < NUM_FRAME /\ forall k, tables s !! k <> Some f) /\ v = STATUS_RESTART /\ s' = add_table n f s.
Proof.
  unfold pagemap_add_table. intros H. destruct (_ && _) eqn:E; [|done].
  apply andb_prop in E as [[[[H1 H2%bool_decide_eq_true]%andb_prop H3]%andb_prop H4]%andb_prop H5%frame_usable_spec].
  injection H as <- <-. split; [done|]. split; [done|]. split; [lia|]. split; [lia|]. done.
Qed.

Lemma add_table_valid s n f v s' : pagemap_valid s -> pagemap_add_table s n f = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV (Hp & Hn & Hc & Hm & [Hf Hother] & _ & ->)%add_table_inv. pose proof (missing_range s n) as Hr.
  assert (Hkeep : forall k, is_Some (tables s !! k) -> is_Some (tables (add_table n f s) !! k)).
  { intros k [g Hg]. exists g. by apply add_table_old. }
  split; [|split].
  - intros [l x] g Hk. unfold table_ok, PAGEMAP_ROOT_LEVEL. cbn [fst snd].
    assert (map_Forall (fun k' g' => g' = g -> k' = (l, x)) (tables (add_table n f s))) as Hone.
    { intros [l' x'] g' Hk' ->. apply add_table_cases in Hk as [(-> & -> & ->)|Hk];
        apply add_table_cases in Hk' as [(-> & -> & E)|Hk'].
      - done.
      - by destruct (Hother _ Hk').
      - subst g. by destruct (Hother _ Hk).
      - destruct (valid_table s HV _ _ Hk) as (_ & _ & _ & _ & _ & _ & H). by apply (H _ _ Hk'). }
    apply add_table_cases in Hk as [(-> & -> & ->)|Hk].
    + set (l := missing s n - 1) in *. destruct Hn as [Hn1 Hn2]. unfold first_page in Hn1. pose proof (above_range l n) as Ha.
      split; [lia|]. split; [apply above_nonneg; lia|]. split; [lia|]. split; [done|]. split; [|split; [|done]].
      * right. rewrite above_up by lia. apply Hkeep, missing_present; [done|done|lia].
      * intros _. change (cursor (add_table n f s)) with (cursor s). lia.
    + destruct (valid_table s HV _ _ Hk) as (H1 & H2 & H3 & H4 & H5 & H6 & _). cbn [fst snd] in *.
      split; [done|]. split; [done|]. split; [done|]. split; [done|]. split; [|by split].
      destruct H5 as [H5|H5]; [by left|right]. by apply Hkeep.
  - intros n' e H. destruct (valid_leaf s HV _ _ H) as (H1 & H2 & H3 & H4). split; [done|]. split; [done|]. split; [done|].
    by apply Hkeep.
  - destruct HV as (_ & _ & Hc1 & Hc2 & Hc3). split; [done|]. split; [done|]. intros Hno. apply Hc3.
    apply bool_decide_eq_false in Hno. apply bool_decide_eq_false. intros H. by apply Hno, Hkeep.
Qed.
Theorem prepare_valid s a fresh v s' : pagemap_valid s -> pagemap_prepare s a fresh = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV. unfold pagemap_prepare. destruct (negb (user_address a)); [by intros [= <- <-]|].
  destruct (present s); [|by intros [= <- <-]]. cbn [negb]. destruct (_ =? 0); [by intros [= <- <-]|]. by apply add_table_valid.
Qed.

(** ** A new page *)
Lemma store_inv s n e v s' : pagemap_store s n e = Some (v, s') ->
  (v <> STATUS_OK /\ s' = s) \/
  (v = STATUS_OK /\ present s = true /\ missing s n = 0 /\ user_page n /\ cursor s <= 4096 * n /\ leaf_ok e /\
   leaves s !! n = None /\ s' = PageMap (tables s) (<[n := e]> (leaves s)) (cursor s)).
Proof.
  unfold pagemap_store. destruct (present s); cbn [negb]; [|intros [= <- <-]; by left].
  destruct (Z.eqb_spec (missing s n) 0) as [Hm|]; cbn [negb]; [|intros [= <- <-]; by left].
  destruct (_ && _) eqn:E; [|done]. apply andb_prop in E as [[H1%bool_decide_eq_true H2]%andb_prop H3%bool_decide_eq_true].
  destruct (leaves s !! n); intros [= <- <-]; [by left|right]. split; [done|]. split; [done|]. split; [done|]. split; [done|].
  split; [lia|]. done.
Qed.
Lemma store_valid s n e v s' : pagemap_valid s -> pagemap_store s n e = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV [[_ ->]|(_ & Hp & Hm & Hn & Hc & He & _ & ->)]%store_inv; [done|]. apply leaves_valid; [done|].
  intros n' e' [[<- <-]|[_ H]]%lookup_insert_Some; [|by apply valid_leaf].
  split; [done|]. split; [done|]. split; [done|]. apply missing_present; [done|done|lia].
Qed.
Theorem map_valid s a f prot kind v s' : pagemap_valid s -> pagemap_map s a f prot kind = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV. unfold pagemap_map. destruct (negb _); [done|]. destruct (negb (user_address a)); [by intros [= <- <-]|].
  destruct (_ || _); [by intros [= <- <-]|]. by apply store_valid.
Qed.
