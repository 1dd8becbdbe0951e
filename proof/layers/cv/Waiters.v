(** Condition variables: the list of waiters in cells.

    Forwards and backwards it is the same: one cell for each waiter, and that of the head for [NONE], which stands before all, say which
    waiter is next. So [l1 ++ m ++ l2] becomes [l1 ++ m' ++ l2] by a store in each direction, besides what the cells of [m'] contain. *)
From Ashlar Require Export layers.queue.Invariant layers.cv.Fifo.
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
(** The neighbours of a thread. *)
Lemma neighbours l1 t l2 : t ∉ l1 -> t ∉ l2 -> after t (l1 ++ t :: l2) = first_or NONE l2 /\ before t (l1 ++ t :: l2) = last_or NONE l1.
Proof.
  intros H1 H2. split; [by apply after_split|]. unfold before. rewrite reverse_app, reverse_cons, <- (assoc_L (++)). simpl.
  rewrite after_split by (by rewrite elem_of_reverse). apply first_or_reverse.
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
  (forall u, u ∈ m' -> d' !! next u = Some (before u (l1 ++ m' ++ l2))) -> side next (reverse (l1 ++ m' ++ l2)) d'.
Proof.
  unfold before. rewrite <- (first_or_reverse (l1 ++ m')), <- (last_or_reverse l2), !reverse_app, <- !(assoc_L (++)). intros Hn Hm Hd Hkeep Hlast Hnew.
  assert (forall k : list Z, reverse k ≡ₚ k) as Hrev by apply reverse_Permutation.
  apply (side_replace _ _ (reverse m) _ _ d); try done.
  - by rewrite !Hrev, (comm (++)).
  - intros u. rewrite !Hrev, (comm (++) l2). apply Hm.
  - intros u Hu. apply Hkeep. by rewrite !Hrev, (comm (++) l2) in Hu.
  - intros u Hu. apply Hnew. by rewrite Hrev in Hu.
Qed.

(** ** The two cells *)
Definition left_of (cv p : Z) : cell := if p =? NONE then field_cell "cv_queue" cv "first" else field_cell "cv_waiter" p "next".
Definition right_of (cv n : Z) : cell := if n =? NONE then field_cell "cv_queue" cv "last" else field_cell "cv_waiter" n "previous".
Lemma left_of_thread cv p : p <> NONE -> left_of cv p = field_cell "cv_waiter" p "next".
Proof. intros H%Z.eqb_neq. unfold left_of. by rewrite H. Qed.
Lemma right_of_thread cv n : n <> NONE -> right_of cv n = field_cell "cv_waiter" n "previous".
Proof. intros H%Z.eqb_neq. unfold right_of. by rewrite H. Qed.
(** Both directions. *)
Definition linked (cv : Z) (l : list Z) (d : mem) : Prop := side (left_of cv) l d /\ side (right_of cv) (reverse l) d.
