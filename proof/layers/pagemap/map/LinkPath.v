(** A path of tables built in owned frames becomes part of the map by the one store that links it. *)
From Ashlar Require Export layers.pagemap.create.Create.
Local Opaque gmap_lookup gmap_partial_alter.

(** What the table of level [j] of a path in the frames [fresh] contains on the way to the page; at the level above the
    path: the link to it. *)
Definition entry_of (leaf : Z) (fresh : list Z) (j : nat) : Z :=
  match j with O => leaf | S j => match fresh !! j with Some f => link f | None => 0 end end.
Definition path_word (n leaf : Z) (fresh : list Z) (j : nat) : FrameMemory.words := {[entry_index (Z.of_nat j) n := entry_of leaf fresh j]}.

(** The owned frames [fresh], each with its one word, become the tables that page [n] is missing in a map that exists. *)
Definition store_owned_frames (n leaf : Z) (fresh : list Z) (s : page_map) (h : owned_frames) : option (Z * page_map * owned_frames) :=
  if negb (present s) then None
  else if decide (Forall (fun j => fresh !! j ≫= (fun f => h !! f) = Some (Some (path_word n leaf fresh j)))
                    (seq 0 (length fresh))) then
    match pagemap_store s n leaf fresh with
    | Some (v, s') => Some (v, s', foldr delete h fresh)
    | None => None
    end
  else None.
Lemma store_owned_frames_inv n leaf fresh s h v s' h' : store_owned_frames n leaf fresh s h = Some (v, s', h') ->
  (forall (j : nat) f, fresh !! j = Some f -> h !! f = Some (Some (path_word n leaf fresh j))) /\
  pagemap_store s n leaf fresh = Some (v, s') /\ h' = foldr delete h fresh.
Proof.
  unfold store_owned_frames. destruct (present s); cbn [negb]; [|done]. destruct (decide _) as [Hall|]; [|done]. destruct (pagemap_store s n leaf fresh) as [[w s1]|] eqn:E; [|done].
  intros [= <- <- <-]. split; [|done]. intros j f Hj. rewrite Forall_forall in Hall. specialize (Hall j). rewrite Hj in Hall.
  cbn [mbind option_bind] in Hall. apply Hall, elem_of_seq. apply lookup_lt_Some in Hj. lia.
Qed.

Lemma store_owned_frames_present n leaf fresh s h v s' h' : store_owned_frames n leaf fresh s h = Some (v, s', h') -> present s = true.
Proof. unfold store_owned_frames. by destruct (present s). Qed.

Lemma foldr_delete_in (h : owned_frames) fresh f : f ∈ fresh -> foldr delete h fresh !! f = None.
Proof.
  induction fresh as [|g fresh IH]; [by intros ?%elem_of_nil|]. intros Hin. cbn [foldr].
  destruct (decide (g = f)) as [->|Hne]; [apply lookup_delete|]. rewrite lookup_delete_ne by done. apply IH.
  apply elem_of_cons in Hin as [->|]; done.
Qed.
Lemma foldr_delete_out (h : owned_frames) fresh f : f ∉ fresh -> foldr delete h fresh !! f = h !! f.
Proof.
  induction fresh as [|g fresh IH]; [done|]. intros [Hne Hin]%not_elem_of_cons. cbn [foldr].
  rewrite lookup_delete_ne by done. by apply IH.
Qed.
Lemma path_word_of n leaf fresh j i :
  word_of (path_word n leaf fresh j) i = if decide (entry_index (Z.of_nat j) n = i) then entry_of leaf fresh j else 0.
Proof.
  unfold path_word, word_of, FrameMemory.words. destruct (decide _) as [<-|Hne].
  - by rewrite (lookup_singleton (M := gmap Z)).
  - by rewrite (lookup_singleton_ne (M := gmap Z)).
Qed.

(** Where a number is an entry of a table. *)
Lemma above_split l n x i : 0 <= l -> 0 <= i < 512 -> 512 * x + i = n / span l -> x = above l n /\ i = entry_index l n.
Proof.
  intros Hl Hi E. pose proof (above_slot l n Hl). pose proof (slot_range l n). lia.
Qed.

Section path.
  Context (kernel_entry : Z -> Z) (p : Z) (s s' : page_map) (n leaf : Z) (fresh : list Z) (v : Z).
  Context (HV : pagemap_valid s) (Hs : pagemap_store s n leaf fresh = Some (v, s')).
  Context (Hp : present s = true) (Hm : 0 < missing s n).
  Notation k := (missing s n).

  Lemma path_facts : user_page n /\ Z.of_nat (length fresh) = k /\ v = STATUS_OK /\ leaves s !! n = None /\
    s' = PageMap (add_path 0 n fresh (tables s)) (put_leaf n leaf (leaves s)) (cursor s) /\
    (forall f, f ∈ fresh -> forall key, tables s !! key <> Some f).
  Proof using HV Hs Hm.
    apply store_spec in Hs as (Hu & _ & _ & Hlen & Hf & _ & H).
    assert (leaves s !! n = None) as E by (apply no_table; [done|apply missing_absent; [done|lia]]). rewrite E in H.
    destruct H as [-> ->]. split; [done|]. split; [done|]. split; [done|]. split; [done|]. split; [done|].
    intros f Hin. by apply Hf.
  Qed.

  (** The tables after. *)
  Lemma tables_new l : 0 <= l < k -> exists f, fresh !! Z.to_nat l = Some f /\ tables s' !! (l, above l n) = Some f.
  Proof using HV Hs Hm.
    destruct path_facts as (_ & Hlen & _ & _ & -> & _). intros Hl. cbn [tables].
    destruct (lookup_lt_is_Some_2 fresh (Z.to_nat l)) as [f Hf]; [lia|]. exists f. split; [done|].
    rewrite add_path_lookup, bool_decide_true by lia. by rewrite Z.sub_0_r.
  Qed.
  Lemma tables_old key f : tables s !! key = Some f -> tables s' !! key = Some f.
  Proof using HV Hs Hm.
    destruct path_facts as (_ & Hlen & _ & _ & -> & _). intros Hk. cbn [tables].
    rewrite (path_keeps s n fresh key HV Hlen); [done|by exists f].
  Qed.
  Lemma tables_cases l x f : tables s' !! (l, x) = Some f ->
    (0 <= l < k /\ x = above l n /\ fresh !! Z.to_nat l = Some f) \/ tables s !! (l, x) = Some f.
  Proof using HV Hs Hm.
    destruct path_facts as (_ & Hlen & _ & _ & -> & _). cbn [tables]. rewrite <- Hlen. apply path_lookup.
  Qed.

  (** An entry that is not on the way is as before. *)
  Lemma tables_away l x i : 1 <= l -> 0 <= i < 512 -> (x = above l n -> i <> entry_index l n) ->
    tables s' !! (l - 1, 512 * x + i) = tables s !! (l - 1, 512 * x + i).
  Proof using HV Hs Hm.
    intros Hl Hi Hne. destruct (tables s' !! (l - 1, 512 * x + i)) as [f|] eqn:E.
    - destruct (tables_cases _ _ _ E) as [(_ & Ex & _)|E']; [exfalso|done].
      rewrite above_below in Ex. destruct (above_split l n x i) as [H1 H2]; [lia|done|done|]. by apply Hne.
    - destruct (tables s !! (l - 1, 512 * x + i)) as [f|] eqn:E'; [|done]. by rewrite (tables_old _ _ E') in E.
  Qed.
  Lemma leaves_away n' : n' <> n -> leaves s' !! n' = leaves s !! n'.
  Proof using HV Hs Hm.
    destruct path_facts as (_ & _ & _ & _ & -> & _). intros Hne. cbn [leaves]. unfold put_leaf.
    destruct (leaf =? 0); [done|]. by rewrite lookup_insert_ne.
  Qed.
  Lemma leaf_new : default 0 (leaves s' !! n) = leaf.
  Proof using HV Hs Hm.
    destruct path_facts as (_ & _ & _ & E & -> & _). cbn [leaves]. unfold put_leaf.
    destruct (Z.eqb_spec leaf 0) as [->|]; [by rewrite E|by rewrite lookup_insert].
  Qed.

  (** The words of the new tables. *)
  Lemma word_new l i : 0 <= l < k -> 0 <= i < 512 ->
    table_word kernel_entry s' (l, above l n) i = if decide (entry_index l n = i) then entry_of leaf fresh (Z.to_nat l) else 0.
  Proof using HV Hs Hm.
    intros Hl Hi. pose proof (missing_range s n) as Hr. unfold table_word. cbn [fst snd].
    destruct (Z.eqb_spec l 0) as [->|Hl0].
    - destruct (decide (entry_index 0 n = i)) as [<-|Hne].
      + rewrite page_slot. simpl. apply leaf_new.
      + assert (512 * above 0 n + i <> n) as Hn by (pose proof (page_slot n); lia). rewrite leaves_away by done.
        rewrite (no_table s (512 * above 0 n + i) HV); [done|].
        assert (above 0 (512 * above 0 n + i) = above 0 n) as ->.
        { unfold above at 1. change (span (0 + 1)) with 512. rewrite Z.mul_comm, Z.div_add_l, Z.div_small by lia. lia. }
        apply missing_absent; [done|lia].
    - rewrite (proj2 (Z.eqb_neq l PAGEMAP_ROOT_LEVEL)) by (unfold PAGEMAP_ROOT_LEVEL; lia). cbn [andb].
      destruct (decide (entry_index l n = i)) as [<-|Hne].
      + rewrite above_slot, <- above_below by lia. destruct (tables_new (l - 1)) as (f & Hf & ->); [lia|].
        replace (Z.to_nat l) with (S (Z.to_nat (l - 1))) by lia. cbn [entry_of]. by rewrite Hf.
      + rewrite tables_away by first [lia | intros _; done].
        destruct (tables s !! (l - 1, 512 * above l n + i)) as [f|] eqn:E; [exfalso|done].
        destruct (table_parent s HV _ _ _ E) as [f' Hf']; [lia|]. rewrite Z.sub_add in Hf'.
        rewrite (Z.mul_comm 512), Z.div_add_l, Z.div_small, Z.add_0_r in Hf' by lia.
        rewrite (missing_absent s HV n l) in Hf' by lia. done.
  Qed.
  (** The word that links the path; all others stay. *)
  Lemma word_link : table_word kernel_entry s' (k, above k n) (entry_index k n) = entry_of leaf fresh (length fresh).
  Proof using HV Hs Hm.
    destruct path_facts as (Hu & Hlen & _). pose proof (missing_range s n) as Hr.
    rewrite word_path by first [intros; by apply slot_root | lia]. destruct (tables_new (k - 1)) as (f & Hf & ->); [lia|].
    replace (length fresh) with (S (Z.to_nat (k - 1))) by lia. cbn [entry_of]. by rewrite Hf.
  Qed.
  Lemma word_old l x f i : tables s !! (l, x) = Some f -> 0 <= i < 512 -> ((l, x) = (k, above k n) -> i <> entry_index k n) ->
    table_word kernel_entry s' (l, x) i = table_word kernel_entry s (l, x) i.
  Proof using HV Hs Hp Hm.
    intros Hk Hi Hne. unfold table_word. cbn [fst snd]. destruct (Z.eqb_spec l 0) as [->|Hl0].
    - rewrite leaves_away; [done|]. intros E. destruct (above_split 0 n x i) as [-> _]; [lia|done|by rewrite span_0, Z.div_1_r|].
      by rewrite (missing_absent s HV n 0) in Hk by lia.
    - destruct (_ && _); [done|]. pose proof (valid_table s HV _ _ Hk) as (Hl & _). cbn [fst] in Hl. unfold PAGEMAP_ROOT_LEVEL in Hl.
      destruct (decide (x = above l n /\ i = entry_index l n)) as [[-> ->]|Haway].
      + destruct (Z.lt_ge_cases l k); [by rewrite (missing_absent s HV n l) in Hk by lia|].
        destruct (decide (l = k)) as [->|]; [by destruct Hne|].
        destruct path_facts as (Hu & _). destruct (missing_present s n (l - 1) Hp Hu) as [g Hg]; [lia|].
        rewrite above_slot, <- above_below by lia. by rewrite Hg, (tables_old _ _ Hg).
      + rewrite tables_away; [done|lia|done|]. intros -> ->. by apply Haway.
  Qed.

  (** The store. *)
  Theorem joint_store h d tbl : joint kernel_entry p s h d -> tables s !! (k, above k n) = Some tbl ->
    (forall (j : nat) f, fresh !! j = Some f -> h !! f = Some (Some (path_word n leaf fresh j))) ->
    is_Some (d !! frame_word tbl (entry_index k n)) /\
    joint kernel_entry p s' (foldr delete h fresh)
      (<[frame_word tbl (entry_index k n) := entry_of leaf fresh (length fresh)]> d).
  Proof using HV Hs Hp Hm.
    intros (_ & Hx & Hno & E1 & E2 & E3 & Hw & Hhv) Htbl Hin. destruct path_facts as (Hu & Hlen & _ & _ & Es & Hfresh).
    pose proof (slot_range k n) as Hi0.
    assert (forall l x f, tables s' !! (l, x) = Some f -> f ∈ fresh \/ tables s !! (l, x) = Some f) as Hcases.
    { intros l x f [(_ & _ & Hf)|Hf]%tables_cases; [left; by eapply elem_of_list_lookup_2|by right]. }
    assert (is_Some (d !! frame_word tbl (entry_index k n))) as Hcell by (rewrite (Hw _ _ _ Htbl Hi0); by eexists).
    assert (tables s' !! root_key = tables s !! root_key) as Hroot.
    { destruct (root_usable s HV Hp) as [_ Hr]. by rewrite Hr, (tables_old _ _ Hr). }
    split; [done|]. split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]].
    - by eapply (store_valid s n leaf fresh).
    - intros x. etrans; [apply (exactly_write (fun y => is_Some (d !! y))); [done|exact Hcell]|]. rewrite Hx. split.
      + intros [[Hc|([l y] & f & i & Hk & Hi & ->)]|(f & i & -> & Hi & Hf)].
        * left; by left.
        * left. apply word_cells. split; [done|]. exists (l, y). by apply tables_old.
        * destruct (decide (f ∈ fresh)) as [Hf'|Hf'].
          -- left. apply word_cells. split; [exact Hi|]. apply elem_of_list_lookup in Hf' as [j Hj].
             pose proof (lookup_lt_Some _ _ _ Hj). destruct (tables_new (Z.of_nat j)) as (g & Hg & Ht); [lia|].
             rewrite Nat2Z.id, Hj in Hg. injection Hg as <-. by eexists.
          -- right. apply owned_frames_word. split; [done|]. by rewrite foldr_delete_out.
      + intros [[Hc|([l y] & f & i & Hk & Hi & ->)]|(f & i & -> & Hi & Hf)].
        * left; by left.
        * destruct (Hcases _ _ _ Hk) as [Hf|Hf].
          -- right. apply owned_frames_word. split; [exact Hi|]. apply elem_of_list_lookup in Hf as [j Hj]. rewrite (Hin _ _ Hj). by eexists.
          -- left. apply word_cells. split; [done|by eexists].
        * right. apply owned_frames_word. split; [done|]. destruct (decide (f ∈ fresh)) as [Hf'|Hf'].
          -- rewrite foldr_delete_in in Hf by done. by destruct Hf.
          -- by rewrite foldr_delete_out in Hf.
    - intros [l y] f Hk. destruct (decide (f ∈ fresh)) as [Hf|Hf]; [by apply foldr_delete_in|]. rewrite foldr_delete_out by done.
      destruct (Hcases _ _ _ Hk) as [|Hk']; [done|]. by eapply Hno.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "exists" tbl (entry_index k n))). rewrite E1. unfold present.
      by rewrite Hroot.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "root" tbl (entry_index k n))). rewrite E2. unfold root_of.
      by rewrite Hroot.
    - rewrite own_lookup_ne by (intros E; by apply (field_no_word p "cursor" tbl (entry_index k n))). rewrite E3. by rewrite Es.
    - intros [l y] f i Hk Hi. destruct (tables_cases _ _ _ Hk) as [(Hl & -> & Hf)|Hk'].
      + assert (f <> tbl) as Hne.
        { intros ->. apply (Hfresh tbl) with (key := (k, above k n)); [by eapply elem_of_list_lookup_2|done]. }
        rewrite own_lookup_ne by (intros [E _]%frame_word_eq; done).
        rewrite (Hhv f (path_word n leaf fresh (Z.to_nat l)) i (Hin _ _ Hf) Hi), path_word_of, word_new by done.
        by rewrite Z2Nat.id by lia.
      + destruct (decide (f = tbl /\ i = entry_index k n)) as [[-> ->]|Hne].
        * rewrite own_lookup. pose proof (same_key s _ _ _ HV Htbl Hk') as E. injection E as <- <-. by rewrite word_link.
        * rewrite own_lookup_ne by (intros [E E']%frame_word_eq; by apply Hne). rewrite (Hw _ _ _ Hk' Hi).
          symmetry. f_equal. eapply word_old; [exact Hk'|done|]. intros E ->. injection E as -> ->. apply Hne.
          rewrite Htbl in Hk'. by injection Hk' as ->.
    - intros f w i Hf Hi. destruct (decide (f ∈ fresh)) as [Hf'|Hf']; [by rewrite foldr_delete_in in Hf|].
      rewrite foldr_delete_out in Hf by done. rewrite own_lookup_ne; [by apply (Hhv f w)|].
      intros [<- _]%frame_word_eq. by rewrite (Hno _ _ Htbl) in Hf.
  Qed.
End path.
