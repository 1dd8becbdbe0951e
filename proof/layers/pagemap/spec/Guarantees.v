(** Page maps: what the layer guarantees. The map is a partial function from pages to entries, changed at one page only;
    user programs reach user pages with the rights they were given and nothing else; an owned frame is mapped at most once. *)
From Ashlar Require Export layers.pagemap.spec.Invariant.

(** ** A partial function from pages to entries *)
Lemma same_page a b : user_address a = true -> user_address b = true -> page_of a = page_of b -> a = b.
Proof. intros [_ Ha]%user_page_address [_ Hb]%user_page_address. congruence. Qed.

Lemma map_spec s a f prot kind fresh v s' : pagemap_map s a f prot kind fresh = Some (v, s') ->
  (v <> STATUS_OK /\ s' = s) \/
  (v = STATUS_OK /\ user_address a = true /\ present s = true /\ 0 <= f < 2 ^ 32 /\ leaves s !! page_of a = None /\
   leaf_ok (leaf_entry f prot kind) /\
   s' = PageMap (add_path 0 (page_of a) fresh (tables s)) (<[page_of a := leaf_entry f prot kind]> (leaves s)) (cursor s)).
Proof.
  unfold pagemap_map. destruct (word32 f) eqn:Hf; [|done]. unfold word32 in Hf. assert (0 <= f < 2 ^ 32) as Hf' by lia. clear Hf.
  destruct (negb _); [done|]. destruct (user_address a); [|intros [= <- <-]; by left].
  destruct (has prot PROT_WRITE && has prot PROT_EXEC) eqn:Hwx; [intros [= <- <-]; by left|].
  destruct (_ || _); [intros [= <- <-]; by left|]. destruct (present s); [|intros [= <- <-]; by left].
  pose proof (leaf_entry_ok f prot kind ltac:(done) Hwx) as Hok. cbn [negb].
  intros (_ & _ & _ & _ & _ & _ & H)%store_spec. destruct (leaves s !! page_of a) as [e|] eqn:He.
  - destruct H as [-> ->]. by left.
  - destruct H as [-> ->]. right. unfold put_leaf. by rewrite (proj2 (Z.eqb_neq _ 0) (leaf_nonzero _ Hok)).
Qed.

Theorem map_walk s a f prot kind fresh s' : pagemap_map s a f prot kind fresh = Some (STATUS_OK, s') ->
  entry_at s a = 0 /\ entry_at s' a = leaf_entry f prot kind /\ forall b, b <> a -> entry_at s' b = entry_at s b.
Proof.
  intros [[? _]|(_ & Ha & _ & _ & Hn & _ & ->)]%map_spec; [done|]. unfold entry_at. cbn [leaves]. rewrite Ha, Hn.
  split; [done|]. split; [by rewrite lookup_insert|]. intros b Hb. destruct (user_address b) eqn:Eb; [|done].
  rewrite lookup_insert_ne; [done|]. intros E. apply Hb. by apply same_page.
Qed.
Theorem map_error s a f prot kind fresh v s' : pagemap_map s a f prot kind fresh = Some (v, s') -> v <> STATUS_OK -> s' = s.
Proof. intros [[_ ?]|[? _]]%map_spec; [done|done]. Qed.

Theorem prepare_walk s a fresh v s' : pagemap_prepare s a fresh = Some (v, s') -> leaves s' = leaves s.
Proof.
  unfold pagemap_prepare. destruct (negb (user_address a)); [by intros [= <- <-]|].
  destruct (present s); [|by intros [= <- <-]]. intros (_ & _ & _ & _ & _ & _ & H)%store_spec.
  destruct (leaves s !! page_of a); by destruct H as [_ ->].
Qed.
(** After it a mapping at the same address needs no frame. *)
Theorem prepare_enough s a fresh s' : pagemap_valid s -> pagemap_prepare s a fresh = Some (STATUS_OK, s') ->
  missing s' (page_of a) = 0.
Proof.
  intros HV. unfold pagemap_prepare. destruct (negb (user_address a)); [done|]. destruct (present s) eqn:Hp; [|done].
  intros (Hn & _ & _ & Hlen & _ & _ & H)%store_spec. destruct (leaves s !! page_of a); [by destruct H as [? _]|].
  destruct H as [_ ->]. pose proof (path_has s (page_of a) fresh) as Hhas. specialize (fun l => Hhas l Hp Hn Hlen).
  unfold missing. cbn [tables]. rewrite !decide_True by (apply Hhas; lia). done.
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
  by destruct (valid_leaf s HV _ _ He) as (_ & _ & (_ & H) & _).
Qed.

(** ** An owned frame is mapped at most once *)
Definition owned_once (s : page_map) : Prop := forall n n' e e',
  leaves s !! n = Some e -> leaves s !! n' = Some e' -> has e ARCH_PTE_OWNED = true -> has e' ARCH_PTE_OWNED = true ->
  entry_frame e = entry_frame e' -> n = n'.
(** The requirement of [pagemap_map]: the frame is not mapped as the process's own already. *)
Definition not_mapped (s : page_map) (f : Z) : Prop :=
  forall n e, leaves s !! n = Some e -> has e ARCH_PTE_OWNED = true -> entry_frame e <> f.

Theorem map_owned_once s a f prot kind fresh v s' :
  owned_once s -> (kind = PAGEMAP_OWNED -> not_mapped s f) -> pagemap_map s a f prot kind fresh = Some (v, s') ->
  owned_once s'.
Proof.
  intros HO Hreq [[_ ->]|(_ & _ & _ & Hf & _ & _ & ->)]%map_spec; [done|].
  assert (has (leaf_entry f prot kind) ARCH_PTE_OWNED = true -> not_mapped s f) as Hnot.
  { intros H. apply Hreq. rewrite has_leaf_entry, has_shift in H by (done || lia).
    change (has ARCH_PTE_PRESENT ARCH_PTE_OWNED) with false in H. change (has ARCH_PTE_USER ARCH_PTE_OWNED) with false in H.
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
