(** Page maps: what the layer guarantees. The map is a partial function from pages to entries, changed at one page only;
    user programs reach user pages with the rights they were given and nothing else; an owned frame is mapped at most once. *)
From Ashlar Require Export layers.pagemap.spec.Invariant.

(** ** A partial function from pages to entries *)
Lemma same_page a b : user_address a = true -> user_address b = true -> page_of a = page_of b -> a = b.
Proof. intros [_ Ha]%user_page_address [_ Hb]%user_page_address. congruence. Qed.

Lemma map_spec s a f prot kind v s' : pagemap_map s a f prot kind = Some (v, s') ->
  (v <> STATUS_OK /\ s' = s) \/
  (v = STATUS_OK /\ user_address a = true /\ present s = true /\ 0 <= f < 2 ^ 32 /\ leaves s !! page_of a = None /\
   leaf_ok (leaf_entry f prot kind) /\
   s' = PageMap (tables s) (<[page_of a := leaf_entry f prot kind]> (leaves s)) (cursor s)).
Proof.
  unfold pagemap_map. destruct (word32 f) eqn:Hf; [|done]. unfold word32 in Hf. assert (0 <= f < 2 ^ 32) as Hf' by lia. clear Hf.
  destruct (negb _); [done|]. destruct (user_address a); [|intros [= <- <-]; by left].
  destruct (_ || _); [intros [= <- <-]; by left|]. cbn [negb].
  intros [H|(-> & Hp & _ & _ & _ & Hok & Hn & ->)]%store_inv; [by left|by right].
Qed.

Theorem map_walk s a f prot kind s' : pagemap_map s a f prot kind = Some (STATUS_OK, s') ->
  entry_at s a = 0 /\ entry_at s' a = leaf_entry f prot kind /\ forall b, b <> a -> entry_at s' b = entry_at s b.
Proof.
  intros [[? _]|(_ & Ha & _ & _ & Hn & _ & ->)]%map_spec; [done|]. unfold entry_at. cbn [leaves]. rewrite Ha, Hn.
  split; [done|]. split; [by rewrite lookup_insert|]. intros b Hb. destruct (user_address b) eqn:Eb; [|done].
  rewrite lookup_insert_ne; [done|]. intros E. apply Hb. by apply same_page.
Qed.
Theorem map_error s a f prot kind v s' : pagemap_map s a f prot kind = Some (v, s') -> v <> STATUS_OK -> s' = s.
Proof. intros [[_ ?]|[? _]]%map_spec; [done|done]. Qed.
(** It takes no frame. *)
Theorem map_tables s a f prot kind v s' : pagemap_map s a f prot kind = Some (v, s') -> tables s' = tables s.
Proof. intros [[_ ->]|(_ & _ & _ & _ & _ & _ & ->)]%map_spec; done. Qed.
(** The entry that is stored is always one for user programs. *)
Theorem map_leaf_ok f prot kind : word32 f = true -> has prot PROT_WRITE && has prot PROT_EXEC = false ->
  leaf_ok (leaf_entry f prot kind).
Proof. unfold word32. intros Hf. apply leaf_entry_ok. lia. Qed.

Lemma prepare_inv s a fresh v s' : pagemap_prepare s a fresh = Some (v, s') ->
  (v <> STATUS_RESTART /\ s' = s /\ (v = STATUS_OK -> missing s (page_of a) = 0)) \/
  (v = STATUS_RESTART /\ present s = true /\ user_page (page_of a) /\ 0 < missing s (page_of a) /\ s' = add_table (page_of a) fresh s).
Proof.
  unfold pagemap_prepare. destruct (user_address a); cbn [negb]; [|intros [= <- <-]; by left].
  destruct (present s) eqn:Hp; cbn [negb]; [|intros [= <- <-]; by left].
  destruct (Z.eqb_spec (missing s (page_of a)) 0); [intros [= <- <-]; by left|].
  intros (_ & Hn & _ & Hm & _ & -> & ->)%add_table_inv. by right.
Qed.
Theorem prepare_walk s a fresh v s' : pagemap_prepare s a fresh = Some (v, s') -> leaves s' = leaves s.
Proof. by intros [(_ & -> & _)|(_ & _ & _ & _ & ->)]%prepare_inv. Qed.
(** After [STATUS_OK] a mapping at the same address lacks no table; after [STATUS_RESTART] it lacks one less. *)
Theorem prepare_enough s a fresh s' : pagemap_prepare s a fresh = Some (STATUS_OK, s') -> missing s' (page_of a) = 0.
Proof. intros [(_ & -> & H)|(? & _)]%prepare_inv; [by apply H|done]. Qed.
Theorem prepare_closer s a fresh s' : pagemap_valid s -> pagemap_prepare s a fresh = Some (STATUS_RESTART, s') ->
  missing s' (page_of a) = missing s (page_of a) - 1.
Proof. intros HV [(? & _)|(_ & Hp & Hn & Hm & ->)]%prepare_inv; [done|by apply add_table_missing]. Qed.
(** Tables stay where they are. *)
Theorem prepare_keeps s a fresh v s' k : pagemap_valid s -> pagemap_prepare s a fresh = Some (v, s') ->
  is_Some (tables s !! k) -> tables s' !! k = tables s !! k.
Proof.
  intros HV [(_ & -> & _)|(_ & _ & _ & Hm & ->)]%prepare_inv [g Hg]; [done|]. rewrite Hg. by apply add_table_old.
Qed.

Theorem unmap_walk s a v s' : pagemap_unmap s a = Some (v, s') ->
  v = entry_at s a /\ entry_at s' a = 0 /\ forall b, b <> a -> entry_at s' b = entry_at s b.
Proof.
  intros [= <- <-]. unfold entry_at. split; [done|]. destruct (user_address a) eqn:Ha; [|done]. cbn [leaves].
  rewrite lookup_delete. split; [done|]. intros b Hb. destruct (user_address b) eqn:Eb; [|done].
  rewrite lookup_delete_ne; [done|]. intros E. apply Hb. by apply same_page.
Qed.
Theorem pin_walk s a v s' : pagemap_valid s -> pagemap_pin s a = Some (v, s') ->
  entry_at s' a = (if entry_at s a =? 0 then 0 else Z.lor (entry_at s a) ARCH_PTE_PINNED) /\
  forall b, b <> a -> entry_at s' b = entry_at s b.
Proof.
  intros HV [= <- <-]. unfold entry_at. destruct (user_address a) eqn:Ha; [|done]. cbn [leaves]. rewrite lookup_alter. split.
  - destruct (leaves s !! page_of a) as [e|] eqn:He; [|done]. simpl. destruct (valid_leaf s HV _ _ He) as (_ & _ & H & _).
    by rewrite (proj2 (Z.eqb_neq _ 0) (leaf_nonzero _ H)).
  - intros b Hb. destruct (user_address b) eqn:Eb; [|done]. rewrite lookup_alter_ne; [done|]. intros E. apply Hb. by apply same_page.
Qed.

(** ** What user programs reach *)
Theorem walk_user s a : pagemap_valid s -> entry_at s a <> 0 ->
  user_address a = true /\ has (entry_at s a) ARCH_PTE_PRESENT = true /\ has (entry_at s a) ARCH_PTE_USER = true /\
  (has (entry_at s a) ARCH_PTE_WRITE = true -> has (entry_at s a) ARCH_PTE_NO_EXECUTE = true).
Proof.
  intros HV. unfold entry_at. destruct (user_address a); [|done].
  destruct (leaves s !! page_of a) as [e|] eqn:He; [|done]. intros _. simpl.
  by destruct (valid_leaf s HV _ _ He) as (_ & _ & (_ & ? & ? & ? & _) & _).
Qed.

(** ** An owned frame is mapped at most once *)
Definition owned_once (s : page_map) : Prop := forall n n' e e',
  leaves s !! n = Some e -> leaves s !! n' = Some e' -> has e ARCH_PTE_OWNED = true -> has e' ARCH_PTE_OWNED = true ->
  entry_frame e = entry_frame e' -> n = n'.
(** The requirement of [pagemap_map]: the frame is not mapped as the process's own already. *)
Definition not_mapped (s : page_map) (f : Z) : Prop :=
  forall n e, leaves s !! n = Some e -> has e ARCH_PTE_OWNED = true -> entry_frame e <> f.

Theorem map_owned_once s a f prot kind v s' :
  owned_once s -> (kind = PAGEMAP_OWNED -> not_mapped s f) -> pagemap_map s a f prot kind = Some (v, s') ->
  owned_once s'.
Proof.
  intros HO Hreq [[_ ->]|(_ & _ & _ & Hf & _ & _ & ->)]%map_spec; [done|].
  assert (has (leaf_entry f prot kind) ARCH_PTE_OWNED = true -> not_mapped s f) as Hnot.
  { intros H. apply Hreq. rewrite has_leaf_entry, has_shift in H by (done || lia).
    change (has PAGEMAP_LEAF_BITS ARCH_PTE_OWNED) with false in H.
    change (has ARCH_PTE_WRITE ARCH_PTE_OWNED) with false in H. change (has ARCH_PTE_NO_EXECUTE ARCH_PTE_OWNED) with false in H.
    change (has ARCH_PTE_UNCACHED ARCH_PTE_OWNED) with false in H. change (has ARCH_PTE_OWNED ARCH_PTE_OWNED) with true in H.
    rewrite !andb_false_r, andb_true_r in H. simpl in H. rewrite orb_false_r in H. lia. }
  intros n n' e e'. cbn [leaves]. intros [[<- <-]|[_ H]]%lookup_insert_Some [[<- <-]|[_ H']]%lookup_insert_Some Ho Ho' E.
  - done.
  - destruct (Hnot Ho _ _ H' Ho'). by rewrite <- E, leaf_entry_frame.
  - destruct (Hnot Ho' _ _ H Ho). by rewrite E, leaf_entry_frame.
  - by apply (HO _ _ _ _ H H').
Qed.
Theorem unmap_owned_once s a v s' : owned_once s -> pagemap_unmap s a = Some (v, s') -> owned_once s'.
Proof.
  intros HO [= <- <-]. destruct (user_address a); [|done]. intros n n' e e'. cbn [leaves].
  intros [_ H]%lookup_delete_Some [_ H']%lookup_delete_Some. by apply (HO _ _ _ _ H H').
Qed.
