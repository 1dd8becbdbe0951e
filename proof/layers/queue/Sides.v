(** Linked lists in cells, one direction at a time: what replacing a part of a list changes.

    Nothing here is about the objects of queues: [next] is the cell that says which thread comes next. For [NONE], which stands before
    all threads, it is the cell of the head. So to replace a part is one store, besides those into the cells of its new threads. *)
From Ashlar Require Export layers.queue.Invariant.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** What comes after a thread *)
Lemma after_out l m u : u ∉ l -> after u (l ++ m) = after u m.
Proof. induction l as [|v l IH]; [done|]. intros [Hne Hl]%not_elem_of_cons. simpl. rewrite (proj2 (Z.eqb_neq v u)) by done. auto. Qed.
Lemma after_same l m m' u : u ∈ l -> u <> last_or NONE l -> after u (l ++ m) = after u (l ++ m').
Proof.
  intros (l1 & l2 & -> & Hu)%elem_of_split_first Hne. rewrite last_or_app in Hne. rewrite <- !(assoc_L (++)). simpl.
  rewrite !after_split by done. by destruct l2.
Qed.
Lemma after_last t l m : NoDup (t :: l) -> after (last_or t l) (t :: l ++ m) = first_or NONE m.
Proof.
  destruct l as [|u l _] using rev_ind; intros Hn; [by simpl; rewrite Z.eqb_refl|]. rewrite last_or_app, <- (assoc_L (++)).
  apply (after_split u (t :: l)). rewrite app_comm_cons in Hn. apply NoDup_app in Hn as (_ & Hd & _). intros Hu. by apply (Hd u), elem_of_list_singleton.
Qed.
Lemma first_or_reverse l : first_or NONE (reverse l) = last_or NONE l.
Proof. destruct l as [|u l _] using rev_ind; [done|]. by rewrite reverse_snoc, last_or_app. Qed.
Lemma last_or_reverse l : last_or NONE (reverse l) = first_or NONE l.
Proof. by rewrite <- first_or_reverse, reverse_involutive. Qed.
(** A list is known from its first thread and from what comes after each. *)
Lemma list_determined l0 l l' : NONE ∉ l -> NONE ∉ l' -> NoDup (l0 ++ l) -> NoDup (l0 ++ l') ->
  (forall u, u ∈ l0 ++ l -> u ∈ l0 ++ l' -> after u (l0 ++ l) = after u (l0 ++ l')) -> first_or NONE l = first_or NONE l' -> l = l'.
Proof.
  revert l0 l'. induction l as [|u l IH]; intros l0 [|u' l'] Hn Hn' Hd Hd' Ha Hf; simpl in Hf; subst; [done|by destruct Hn'; left|by destruct Hn; left|].
  f_equal. apply not_elem_of_cons in Hn as [_ Hn], Hn' as [_ Hn'].
  assert (forall l, NoDup (l0 ++ u' :: l) -> after u' (l0 ++ u' :: l) = first_or NONE l) as Hu.
  { intros k Hk. apply after_split. rewrite <- Permutation_middle, NoDup_cons, elem_of_app in Hk; tauto. }
  apply (IH (l0 ++ [u'])); [done|done|by rewrite <- (assoc_L (++))..|by rewrite <- !(assoc_L (++))|].
  rewrite <- Hu, <- (Hu l') by done. apply Ha; apply elem_of_app; right; by left.
Qed.

(** ** One direction *)
Definition side (next : Z -> cell) (l : list Z) (d : mem) : Prop := forall u, u ∈ NONE :: l -> d !! next u = Some (after u (NONE :: l)).
Lemma side_iff next l d : NONE ∉ l -> side next l d <-> d !! next NONE = Some (first_or NONE l) /\ forall u, u ∈ l -> d !! next u = Some (after u l).
Proof.
  intros Hn. unfold side. rewrite <- !Forall_forall, Forall_cons. apply and_iff_compat_l. rewrite !Forall_forall. split; intros H u Hu; rewrite H by done;
    cbn [after]; by destruct (Z.eqb_spec NONE u) as [<-|].
Qed.
Lemma side_replace next l1 m m' l2 d d' : NoDup (NONE :: l1 ++ l2) -> (forall u, u ∈ m ++ m' -> u ∉ NONE :: l1 ++ l2) -> side next (l1 ++ m ++ l2) d ->
  (forall u, u ∈ NONE :: l1 ++ l2 -> u <> last_or NONE l1 -> d' !! next u = d !! next u) ->
  d' !! next (last_or NONE l1) = Some (first_or NONE (m' ++ l2)) ->
  (forall u, u ∈ m' -> d' !! next u = Some (after u (l1 ++ m' ++ l2))) -> side next (l1 ++ m' ++ l2) d'.
Proof.
  intros Hn Hm Hd Hkeep Hlast Hnew u Hu. destruct (decide (u ∈ m')) as [Hin|Hout].
  { rewrite Hnew by done. cbn [after]. destruct (Z.eqb_spec NONE u) as [<-|]; [|done]. destruct (Hm NONE); [apply elem_of_app; by right|by left]. }
  unfold side in Hd. rewrite !app_comm_cons in *. apply NoDup_app in Hn as (Hn & Hd12 & _).
  destruct (decide (u = last_or NONE l1)) as [->|Hne]; [by rewrite Hlast, <- app_comm_cons, after_last|].
  rewrite !elem_of_app in Hu. setoid_rewrite elem_of_app in Hm. setoid_rewrite elem_of_app in Hd. setoid_rewrite elem_of_app in Hkeep.
  rewrite Hkeep, Hd; [f_equal|rewrite elem_of_app; tauto|tauto|done]. destruct (decide (u ∈ NONE :: l1)) as [Hl|Hl]; [by apply after_same|].
  rewrite !(after_out (NONE :: l1)), !after_out; [done|done| |done|done]. intros Hum. apply (Hm u); tauto.
Qed.

(** The other direction is that of the list backwards. *)
Lemma side_replace_back next l1 m m' l2 d d' : NoDup (NONE :: l1 ++ l2) -> (forall u, u ∈ m ++ m' -> u ∉ NONE :: l1 ++ l2) ->
  side next (reverse (l1 ++ m ++ l2)) d -> (forall u, u ∈ NONE :: l1 ++ l2 -> u <> first_or NONE l2 -> d' !! next u = d !! next u) ->
  d' !! next (first_or NONE l2) = Some (last_or NONE (l1 ++ m')) ->
  (forall u, u ∈ m' -> d' !! next u = Some (after u (reverse (l1 ++ m' ++ l2)))) -> side next (reverse (l1 ++ m' ++ l2)) d'.
Proof.
  rewrite <- (first_or_reverse (l1 ++ m')), <- (last_or_reverse l2), !reverse_app, <- !(assoc_L (++)). intros Hn Hm Hd Hkeep Hlast Hnew.
  assert (forall k : list Z, reverse k ≡ₚ k) as Hrev by apply reverse_Permutation.
  apply (side_replace _ _ (reverse m) _ _ d); try done.
  - by rewrite !Hrev, (comm (++)).
  - intros u. rewrite !Hrev, (comm (++) l2). apply Hm.
  - intros u Hu. apply Hkeep. by rewrite !Hrev, (comm (++) l2) in Hu.
  - intros u Hu. apply Hnew. by rewrite Hrev in Hu.
Qed.
