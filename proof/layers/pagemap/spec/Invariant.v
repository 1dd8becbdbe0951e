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

(** ** New tables *)
Lemma store_spec s n e fresh v s' : pagemap_store s n e fresh = Some (v, s') ->
  user_page n /\ cursor s <= 4096 * n /\ (e = 0 \/ leaf_ok e) /\ Z.of_nat (length fresh) = missing s n /\
  (forall f, f ∈ fresh -> 0 <= f < NUM_FRAME /\ forall k, tables s !! k <> Some f) /\ NoDup fresh /\
  (if leaves s !! n then v = ERR_ALREADY_MAPPED /\ s' = s
   else v = STATUS_OK /\ s' = PageMap (add_path 0 n fresh (tables s)) (put_leaf n e (leaves s)) (cursor s)).
Proof.
  unfold pagemap_store. intros H. destruct (_ && _) eqn:E; [|done].
  apply andb_prop in E as [[[[[H1%bool_decide_eq_true H2]%andb_prop H3]%andb_prop H4]%andb_prop H5]%andb_prop
    H6%bool_decide_eq_true].
  split; [done|]. split; [lia|]. split.
  { apply orb_prop in H3 as [H3|H3%bool_decide_eq_true]; [left; lia|by right]. }
  split; [lia|]. split.
  { intros f Hf. apply frame_usable_spec. rewrite forallb_forall in H5. apply H5. by apply elem_of_list_In. }
  split; [done|]. by destruct (leaves s !! n); injection H as <- <-.
Qed.

(** The tables after: the old ones and those of the path, each where it belongs. *)
Lemma path_lookup s n fresh l x f :
  add_path 0 n fresh (tables s) !! (l, x) = Some f ->
  (0 <= l < Z.of_nat (length fresh) /\ x = above l n /\ fresh !! Z.to_nat l = Some f) \/ tables s !! (l, x) = Some f.
Proof.
  rewrite add_path_lookup. case_bool_decide as H; [|by right]. rewrite Z.sub_0_r. intros Hf. left. split; [lia|].
  by destruct H.
Qed.
Lemma path_keeps s n fresh k : pagemap_valid s -> Z.of_nat (length fresh) = missing s n ->
  is_Some (tables s !! k) -> add_path 0 n fresh (tables s) !! k = tables s !! k.
Proof.
  intros HV Hlen [f Hf]. destruct k as [l x]. rewrite add_path_lookup. case_bool_decide as H; [|done].
  destruct H as [Hl ->]. rewrite (missing_absent s HV) in Hf by lia. done.
Qed.
Lemma path_has s n fresh l : present s = true -> user_page n -> Z.of_nat (length fresh) = missing s n -> 0 <= l <= 3 ->
  is_Some (add_path 0 n fresh (tables s) !! (l, above l n)).
Proof.
  intros Hp Hn Hlen Hl. rewrite add_path_lookup. case_bool_decide as H.
  - apply lookup_lt_is_Some_2. lia.
  - apply missing_present; [done|done|]. destruct (Z.lt_ge_cases l (missing s n)); [|lia]. exfalso. apply H. split; [lia|done].
Qed.

Lemma store_valid s n e fresh v s' : pagemap_valid s -> present s = true ->
  pagemap_store s n e fresh = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV Hp (Hn & Hc & He & Hlen & Hf & Hd & H)%store_spec. destruct (leaves s !! n); [by destruct H as [_ ->]|].
  destruct H as [_ ->]. pose proof (missing_range s n) as Hm.
  pose proof (path_has s n fresh) as Hhas. specialize (fun l => Hhas l Hp Hn Hlen).
  pose proof (path_keeps s n fresh) as Hkeep. specialize (fun k => Hkeep k HV Hlen).
  split; [|split].
  - cbn [tables]. intros [l x] f Hk. unfold table_ok, PAGEMAP_ROOT_LEVEL. cbn [tables cursor fst snd].
    assert (map_Forall (fun k' f' => f' = f -> k' = (l, x)) (add_path 0 n fresh (tables s))) as Hone.
    { intros [l' x'] f' Hk' ->.
      apply path_lookup in Hk as [(Hl & -> & Hi)|Hk]; apply path_lookup in Hk' as [(Hl' & -> & Hi')|Hk'].
      - pose proof (NoDup_lookup _ _ _ _ Hd Hi Hi'). assert (l = l') as -> by lia. done.
      - exfalso. apply elem_of_list_lookup_2 in Hi. by apply (proj2 (Hf f Hi) (l', x')).
      - exfalso. apply elem_of_list_lookup_2 in Hi'. by apply (proj2 (Hf f Hi') (l, x)).
      - destruct (valid_table s HV _ _ Hk) as (_ & _ & _ & _ & _ & _ & H). by apply (H _ _ Hk'). }
    destruct (path_lookup _ _ _ _ _ _ Hk) as [(Hl & -> & Hi)|Hk0].
    + destruct Hn as [Hn1 Hn2]. unfold first_page in Hn1. pose proof (above_range l n). 
      split; [lia|]. split; [apply above_nonneg; lia|]. split; [lia|].
      split; [apply (Hf f), (elem_of_list_lookup_2 _ _ _ Hi)|]. split; [|split; [lia|done]].
      right. rewrite above_up by lia. apply Hhas. lia.
    + destruct (valid_table s HV _ _ Hk0) as (H1 & H2 & H3 & H4 & H5 & H6 & _). cbn [fst snd] in *.
      split; [done|]. split; [done|]. split; [done|]. split; [done|]. split; [|done].
      destruct H5 as [H5|H5]; [by left|right]. by rewrite Hkeep.
  - cbn [leaves]. intros n' e' H. unfold leaf_held. cbn [tables cursor].
    unfold put_leaf in H. destruct (Z.eqb_spec e 0) as [->|Hne].
    + destruct (valid_leaf s HV _ _ H) as (H1 & H2 & H3 & H4). split; [done|]. split; [done|]. split; [done|]. by rewrite Hkeep.
    + apply lookup_insert_Some in H as [[<- <-]|[_ H]].
      * split; [done|]. split; [done|]. split; [by destruct He|]. apply Hhas. lia.
      * destruct (valid_leaf s HV _ _ H) as (H1 & H2 & H3 & H4). split; [done|]. split; [done|]. split; [done|]. by rewrite Hkeep.
  - destruct HV as (_ & _ & Hc1 & Hc2 & Hc3). cbn [cursor]. split; [done|]. split; [done|].
    intros Hno. apply Hc3. unfold present in *. cbn [tables] in Hno. 
    apply bool_decide_eq_true in Hp. apply bool_decide_eq_false in Hno. destruct Hno. by rewrite Hkeep.
Qed.

Theorem map_valid s a f prot kind fresh v s' : pagemap_valid s ->
  pagemap_map s a f prot kind fresh = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV. unfold pagemap_map. destruct (negb _); [done|]. destruct (negb (user_address a)); [by intros [= <- <-]|].
  destruct (_ || _); [by intros [= <- <-]|]. destruct (present s) eqn:Hp; [|by intros [= <- <-]]. by apply store_valid.
Qed.
Theorem prepare_valid s a fresh v s' : pagemap_valid s -> pagemap_prepare s a fresh = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV. unfold pagemap_prepare. destruct (negb (user_address a)); [by intros [= <- <-]|].
  destruct (present s) eqn:Hp; [|by intros [= <- <-]]. by apply store_valid.
Qed.
