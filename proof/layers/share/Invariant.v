(** Shares: the specification preserves its invariant.

    An offer stands in a share until it is accepted, withdrawn or ended, and there is one place for it; only the frame
    under offer can be accepted, by the process named from the start; the number of a process's offers is exact. *)
From Ashlar Require Export layers.share.Spec.

(** ** Counting offers *)
Notation one_if b := (if b then 1 else 0).

Lemma standing_insert p m i x : m !! i = None -> standing p (<[i := x]> m) = one_if (offers_by p x) + standing p m.
Proof. intros Hi. apply (map_fold_insert_L (fun _ x n => one_if (offers_by p x) + n)); [intros; lia|done]. Qed.
Lemma standing_delete p m i x : m !! i = Some x -> standing p m = one_if (offers_by p x) + standing p (delete i m).
Proof. intros Hi. rewrite <- (insert_delete m i x Hi) at 1. apply standing_insert, lookup_delete. Qed.
Lemma standing_update p m i x y : m !! i = Some x ->
  standing p (<[i := y]> m) = standing p m - one_if (offers_by p x) + one_if (offers_by p y).
Proof.
  intros Hi. rewrite (standing_delete p m i x Hi), <- insert_delete_insert.
  rewrite standing_insert by apply lookup_delete. lia.
Qed.
Lemma standing_bound p m : 0 <= standing p m <= Z.of_nat (size m).
Proof.
  induction m as [|i x m Hi IH] using map_ind; [done|].
  rewrite standing_insert, map_size_insert_None by done. destruct (offers_by p x); lia.
Qed.
Lemma standing_one p m i x : m !! i = Some x -> offers_by p x = true -> 1 <= standing p m.
Proof. intros Hi Hx. rewrite (standing_delete p m i x Hi), Hx. pose proof (standing_bound p (delete i m)). lia. Qed.
(** No offer is counted exactly where none stands. *)
Lemma standing_zero p m : standing p m = 0 <-> map_Forall (fun _ x => offers_by p x = false) m.
Proof.
  split.
  - intros H0 i x Hi. destruct (offers_by p x) eqn:E; [|done]. pose proof (standing_one p m i x Hi E). lia.
  - induction m as [|i x m Hi IH] using map_ind; intros Hf; [done|].
    rewrite standing_insert by done. apply map_Forall_insert in Hf as [-> Hf]; [|done]. rewrite IH by done. done.
Qed.

(** ** The invariant, point by point *)
Section valid.
  Context (s : share_state) (HV : share_valid s).

  Lemma valid_share i : is_Some (shares s !! i) <-> 0 <= i < NUM_SHARE.
  Proof using HV.
    destruct HV as (Hd & _). rewrite <- elem_of_dom, Hd, elem_of_list_to_set, elem_of_seqZ. lia.
  Qed.
  Lemma valid_process p : is_Some (offers s !! p) <-> 0 <= p < NUM_PROCESS.
  Proof using HV.
    destruct HV as (_ & Hd & _). rewrite <- elem_of_dom, Hd, elem_of_list_to_set, elem_of_seqZ. lia.
  Qed.
  Lemma valid_ok i x : shares s !! i = Some x -> share_ok x.
  Proof using HV. destruct HV as (_ & _ & H & _). apply H. Qed.
  (** Offers are counted exactly. *)
  Theorem offers_exact p n : offers s !! p = Some n -> n = standing p (shares s).
  Proof using HV. destruct HV as (_ & _ & _ & H). apply H. Qed.
  Lemma valid_size : size (shares s) = 64%nat.
  Proof using HV.
    destruct HV as (Hd & _). rewrite <- (size_dom (D := gset Z)), Hd.
    rewrite size_list_to_set by apply NoDup_seqZ. by rewrite seqZ_length.
  Qed.
  Lemma offers_bound p n : offers s !! p = Some n -> 0 <= n <= 64.
  Proof using HV.
    intros ->%offers_exact. pose proof (standing_bound p (shares s)) as H. rewrite valid_size in H. lia.
  Qed.
  (** An offer is made by a process, and is counted. *)
  Lemma offer_counted i x : shares s !! i = Some x -> offered x <> NONE ->
    exists n, offers s !! from x = Some n /\ 1 <= n <= 64.
  Proof using HV.
    intros Hi Ho. pose proof (valid_ok i x Hi) as [Hf _].
    destruct (Z.eqb_spec (from x) NONE) as [E|_]; [done|].
    unfold process_id in Hf. assert (0 <= from x < NUM_PROCESS) as [n Hn]%valid_process by lia.
    exists n. split; [done|]. pose proof (offers_bound _ _ Hn). pose proof (offers_exact _ _ Hn) as E.
    assert (1 <= standing (from x) (shares s)); [|lia]. eapply standing_one; [done|].
    unfold offers_by. rewrite Z.eqb_refl. simpl. rewrite (proj2 (Z.eqb_neq _ _) Ho). done.
  Qed.
End valid.

Lemma dom_update {A} (m : gmap Z A) i x y : m !! i = Some x -> dom (<[i := y]> m) =@{gset Z} dom m.
Proof. intros Hi. by apply (fin_map_dom.dom_insert_lookup_L (D := gset Z)). Qed.

(** A share takes the place of another, and the counts follow. *)
Lemma update_valid s i x y p n : share_valid s -> shares s !! i = Some x -> share_ok y ->
  (forall q, q <> p -> offers_by q y = offers_by q x) -> is_Some (offers s !! p) ->
  n = standing p (shares s) - one_if (offers_by p x) + one_if (offers_by p y) ->
  share_valid (Shares (<[i := y]> (shares s)) (<[p := n]> (offers s))).
Proof.
  intros HV Hi Hy Hne [k Hp] Hn. pose proof HV as (H1 & H2 & H3 & H4). split_and!; simpl.
  - by rewrite (dom_update _ i x y).
  - by rewrite (dom_update _ p k n).
  - by apply map_Forall_insert_2.
  - intros q m. rewrite (standing_update q _ i x y Hi). destruct (decide (p = q)) as [<-|Hq].
    + rewrite lookup_insert. intros [= <-]. done.
    + rewrite lookup_insert_ne by done. intros Hm. rewrite (offers_exact s HV q m Hm), Hne by done. lia.
Qed.

Lemma offers_by_other p q x y : from x = p -> from y = p -> q <> p -> offers_by q y = offers_by q x.
Proof. intros Hx Hy Hq. unfold offers_by. by rewrite Hx, Hy, (proj2 (Z.eqb_neq p q)). Qed.
Lemma offers_by_self x : offers_by (from x) x = negb (offered x =? NONE).
Proof. unfold offers_by. by rewrite Z.eqb_refl. Qed.
Lemma offers_by_none q x : offered x = NONE -> offers_by q x = false.
Proof. intros E. unfold offers_by. by rewrite E, Z.eqb_refl, andb_false_r. Qed.

(** ** Every function keeps the invariant *)

Theorem share_initial_valid : share_valid share_initial.
Proof.
  set (all := fun (A : Type) (x : A) n => set_to_map (fun i => (i, x)) (list_to_set (C := gset Z) (seqZ 0 n)) : gmap Z A).
  assert (Hall : forall A (x : A) n i y, all A x n !! i = Some y <-> 0 <= i < n /\ y = x).
  { intros A x n i y. unfold all. rewrite lookup_set_to_map by done. split.
    - intros (j & Hj & [= -> <-]). rewrite elem_of_list_to_set, elem_of_seqZ in Hj. split; [lia|done].
    - intros [Hi ->]. exists i. rewrite elem_of_list_to_set, elem_of_seqZ. split; [lia|done]. }
  assert (Hdom : forall A (x : A) n, dom (all A x n) =@{gset Z} list_to_set (seqZ 0 n)).
  { intros A x n. apply set_eq. intros i. rewrite elem_of_dom, elem_of_list_to_set, elem_of_seqZ. split.
    - intros [y [Hi _]%Hall]. lia.
    - intros Hi. exists x. apply Hall. split; [lia|done]. }
  change share_initial with (Shares (all _ no_share NUM_SHARE) (all _ 0 NUM_PROCESS)). split_and!; cbn [shares offers].
  - apply Hdom. - apply Hdom.
  - intros i x [_ ->]%Hall. done.
  - intros p n [_ ->]%Hall. symmetry. apply standing_zero. intros i x [_ ->]%Hall. apply offers_by_none. done.
Qed.

Theorem share_define_valid s i p q v s' : share_valid s -> share_define s i p q = Some (v, s') -> share_valid s'.
Proof.
  unfold share_define. intros HV H. destruct (shares s !! i) as [x|] eqn:Hi; [|done].
  destruct (process_id p) eqn:Hp; [|done]. destruct (process_id q); [|done]. simpl in H.
  destruct (Z.eqb_spec (offered x) NONE) as [Ho|]; [|done]. injection H as _ <-.
  pose proof HV as (H1 & H2 & H3 & H4). split_and!; simpl; [by rewrite (dom_update _ i x)|done| |].
  - apply map_Forall_insert_2; [|done]. split; simpl; [|done].
    unfold process_id in Hp. destruct (Z.eqb_spec p NONE) as [->|]; [done|]. unfold process_id. lia.
  - intros r n Hn. rewrite (standing_update r _ i x _ Hi), !offers_by_none by done.
    rewrite (offers_exact s HV r n Hn). lia.
Qed.

Lemma share_clear_some s i x : share_valid s -> shares s !! i = Some x -> offered x <> NONE ->
  exists s', share_clear s i = Some (0, s').
Proof.
  intros HV Hi Ho. destruct (offer_counted s HV i x Hi Ho) as (n & Hn & _). unfold share_clear.
  rewrite Hi, Hn, (proj2 (Z.eqb_neq _ _) Ho). by eexists.
Qed.
Theorem share_clear_valid s i v s' : share_valid s -> share_clear s i = Some (v, s') -> share_valid s'.
Proof.
  unfold share_clear. intros HV H. destruct (shares s !! i) as [x|] eqn:Hi; [|done].
  destruct (offers s !! from x) as [n|] eqn:Hn; [|done]. destruct (Z.eqb_spec (offered x) NONE) as [|Ho]; [done|].
  injection H as _ <-. pose proof (valid_ok s HV i x Hi) as [Hf _]. eapply update_valid; [done|done| | |by eexists|].
  - split; simpl; [by destruct (from x =? NONE)|done].
  - intros q Hq. by apply (offers_by_other (from x)).
  - rewrite (offers_exact s HV _ _ Hn), offers_by_self, (proj2 (Z.eqb_neq _ _) Ho), offers_by_none by done. simpl. lia.
Qed.

Theorem share_offer_valid s i p frame o v s' : share_valid s -> share_offer s i p frame o = Some (v, s') -> share_valid s'.
Proof.
  unfold share_offer. intros HV H. destruct (frame_id frame) eqn:Hframe; [|done]. unfold frame_id in Hframe.
  destruct (shares s !! i) as [x|] eqn:Hi; [|done]. destruct (offers s !! p) as [n|] eqn:Hn; [|done].
  destruct (Z.eqb_spec (from x) p) as [Hx|]; [|by injection H as _ <-].
  destruct (Z.eqb_spec (offered x) NONE) as [Ho|]; [|by injection H as _ <-].
  destruct (owns o p); simpl in H; [|by injection H as _ <-]. injection H as _ <-.
  assert (0 <= p < NUM_PROCESS) as Hp by (apply (valid_process s HV); eauto).
  eapply update_valid; [done|done| | |by eexists|].
  - split; simpl; [|lia]. destruct (Z.eqb_spec (from x) NONE) as [E|]; [|unfold process_id; lia].
    exfalso. subst p. rewrite E in Hp. by destruct Hp.
  - intros q Hq. by apply (offers_by_other p).
  - rewrite (offers_exact s HV _ _ Hn), (offers_by_none p x Ho). unfold offers_by, set_offered. simpl.
    rewrite (proj2 (Z.eqb_eq _ _) Hx), (proj2 (Z.eqb_neq frame NONE)) by lia. simpl. lia.
Qed.

(** What was accepted last says nothing about offers. *)
Lemma accepted_valid s i x : share_valid s -> shares s !! i = Some x ->
  share_valid (Shares (<[i := set_accepted x]> (shares s)) (offers s)).
Proof.
  intros HV Hi. pose proof HV as (H1 & H2 & H3 & H4). split_and!; simpl; [by rewrite (dom_update _ i x)|done| |].
  - apply map_Forall_insert_2; [|done]. exact (valid_ok s HV i x Hi).
  - intros p n Hn. rewrite (standing_update p _ i x _ Hi). rewrite (offers_exact s HV p n Hn).
    change (offers_by p (set_accepted x)) with (offers_by p x). lia.
Qed.
Theorem share_accept_end_valid s i status v s' :
  share_valid s -> share_accept_end s i status = Some (v, s') -> share_valid s'.
Proof.
  unfold share_accept_end. intros HV H. destruct (status =? STATUS_OK); [|by injection H as _ <-].
  destruct (shares s !! i) as [x|] eqn:Hi; [|done].
  destruct (share_clear _ i) as [[w s1]|] eqn:Hc; [|done]. injection H as _ <-.
  eapply share_clear_valid; [|exact Hc]. by apply accepted_valid.
Qed.
Theorem share_accept_valid s i p status v s' :
  share_valid s -> share_accept s i p status = Some (v, s') -> share_valid s'.
Proof.
  unfold share_accept, share_accept_may. intros HV H. destruct (shares s !! i) as [x|] eqn:Hi; [|done].
  case_match; [by eapply share_accept_end_valid|by injection H as _ <-].
Qed.
Theorem share_frame_valid s i v s' : share_valid s -> share_frame s i = Some (v, s') -> share_valid s'.
Proof. unfold share_frame. intros HV H. destruct (shares s !! i); [|done]. by injection H as _ <-. Qed.
Theorem share_withdraw_valid s i p v s' : share_valid s -> share_withdraw s i p = Some (v, s') -> share_valid s'.
Proof.
  unfold share_withdraw. intros HV H. destruct (shares s !! i) as [x|]; [|done].
  destruct (offers_by p x); [|by injection H as _ <-].
  destruct (share_clear s i) as [[w s1]|] eqn:Hc; [|done]. injection H as _ <-. by eapply share_clear_valid.
Qed.

Lemma standing_without p q which m : q <> p -> standing q (without p which <$> m) = standing q m.
Proof.
  intros Hq. induction m as [|i x m Hi IH] using map_ind; [by rewrite fmap_empty|].
  rewrite fmap_insert, !standing_insert; [|done|by rewrite lookup_fmap, Hi]. rewrite IH.
  enough (offers_by q (without p which x) = offers_by q x) as -> by done.
  unfold without. destruct (offers_by p x && which (offered x)) eqn:E; [|done].
  apply andb_true_iff in E as [E _]. unfold offers_by in E. apply andb_true_iff in E as [E%Z.eqb_eq _].
  by apply (offers_by_other p).
Qed.
Lemma without_ok p which x : share_ok x -> share_ok (without p which x).
Proof.
  intros [H1 H2]. unfold without. destruct (_ && _); [|by split]. split; simpl; [by destruct (from x =? NONE)|done].
Qed.
Theorem share_end_all_valid s p which v s' : share_valid s -> share_end_all s p which = Some (v, s') -> share_valid s'.
Proof.
  unfold share_end_all. intros HV H. destruct (offers s !! p) as [n|] eqn:Hn; [|done]. injection H as _ <-.
  pose proof HV as (H1 & H2 & H3 & H4). split_and!; simpl.
  - by rewrite (fin_map_dom.dom_fmap_L (D := gset Z)).
  - by rewrite (dom_update _ p n).
  - intros i y Hy. apply lookup_fmap_Some in Hy as (x & <- & Hx). by apply without_ok, (H3 i).
  - intros q k. destruct (decide (p = q)) as [<-|Hq].
    + rewrite lookup_insert. by intros [= <-].
    + rewrite lookup_insert_ne, standing_without by done. apply H4.
Qed.
