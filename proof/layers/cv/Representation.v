(** Condition variables: which cells a variable has, what they contain, and how both change when a thread comes, goes or is marked. *)
From Ashlar Require Export lang.logic.Cells layers.queue.Sides layers.cv.Fifo.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Which cells they are *)
Lemma link_cell cv l t f : t ∈ l -> f ∈ link_names -> field_cell "cv_waiter" t f ∈ cv_cells cv l.
Proof. intros Ht Hf. apply elem_of_app. right. apply elem_of_list_bind. exists t. split; [by apply elem_of_list_fmap_1|done]. Qed.
Lemma own_cell t f : f ∈ "cv"%string :: link_names -> field_cell "cv_waiter" t f ∈ place t :: link_cells t.
Proof. intros [->|Hf]%elem_of_cons; [by left|right; by apply elem_of_list_fmap_1]. Qed.
Lemma head_cell cv l f : f ∈ head_names -> field_cell "cv_queue" cv f ∈ cv_cells cv l.
Proof. intros Hf. apply elem_of_app. left. by apply elem_of_list_fmap_1. Qed.
Lemma cv_cells_in cv l x : x ∈ cv_cells cv l ->
  (exists f, f ∈ head_names /\ x = field_cell "cv_queue" cv f) \/ exists t f, t ∈ l /\ f ∈ link_names /\ x = field_cell "cv_waiter" t f.
Proof.
  intros [(f & -> & Hf)%elem_of_list_fmap|(t & (f & -> & Hf)%elem_of_list_fmap & Ht)%elem_of_list_bind]%elem_of_app; [left; eauto|right; eauto 6].
Qed.
Lemma cv_cells_other cv l t f : t ∉ l -> field_cell "cv_waiter" t f ∉ cv_cells cv l.
Proof. by intros Ht [(g & _ & E)|(u & g & Hu & _ & [= -> _])]%cv_cells_in. Qed.
Lemma cv_cells_place cv l t : place t ∉ cv_cells cv l.
Proof. intros [(g & _ & E)|(u & g & _ & Hg & [= _ <-])]%cv_cells_in; [done|]. revert Hg. names. Qed.
(** Two variables in which no thread waits twice have no common cell. *)
Theorem cv_cells_apart cv cv' l l' x : cv <> cv' -> (forall t, t ∈ l -> t ∉ l') -> x ∈ cv_cells cv l -> x ∉ cv_cells cv' l'.
Proof.
  intros Hne Hd [(f & _ & ->)|(t & f & Ht & _ & ->)]%cv_cells_in; [|by apply cv_cells_other, Hd].
  intros [(g & _ & [= E _])|(u & g & _ & _ & E)]%cv_cells_in; done.
Qed.
(** Links and marks of a thread are the variable's or its own. *)
Lemma cells_move cv l1 t l2 : cv_cells cv (l1 ++ t :: l2) ++ [place t] ≡ₚ cv_cells cv (l1 ++ l2) ++ place t :: link_cells t.
Proof. unfold cv_cells. rewrite !bind_app, bind_cons. solve_Permutation. Qed.

(** The cells that say what follows thread [p], and what precedes it; for [NONE], what the first and the last are. *)
Definition end_of (head link : string) (cv p : Z) : cell := if p =? NONE then field_cell "cv_queue" cv head else field_cell "cv_waiter" p link.
Notation left_of := (end_of "first" "next").
Notation right_of := (end_of "last" "previous").
Lemma end_of_thread head link cv p : p <> NONE -> end_of head link cv p = field_cell "cv_waiter" p link.
Proof. intros H%Z.eqb_neq. unfold end_of. by rewrite H. Qed.
Lemma end_of_in head link cv p l : head ∈ head_names -> link ∈ link_names -> p ∈ NONE :: l -> end_of head link cv p ∈ cv_cells cv l.
Proof. unfold end_of. intros Hh Hl [->|Hp]%elem_of_cons; [by apply head_cell|]. destruct (p =? NONE); [by apply head_cell|by apply link_cell]. Qed.
Lemma end_of_other head link cv p t f : p <> t \/ f <> link -> field_cell "cv_waiter" t f <> end_of head link cv p.
Proof. unfold end_of, field_cell. destruct (p =? NONE); intros [?|?]; congruence. Qed.
Lemma end_of_inj head link cv p u : end_of head link cv p = end_of head link cv u -> p = u.
Proof. unfold end_of, field_cell. destruct (Z.eqb_spec p NONE), (Z.eqb_spec u NONE); congruence. Qed.
Lemma left_right cv p n : left_of cv p <> right_of cv n.
Proof. unfold end_of, field_cell. destruct (p =? NONE), (n =? NONE); congruence. Qed.
(** The neighbours of a thread. *)
Lemma neighbours l1 t l2 : t ∉ l1 -> t ∉ l2 -> after t (l1 ++ t :: l2) = first_or NONE l2 /\ before t (l1 ++ t :: l2) = last_or NONE l1.
Proof.
  intros H1 H2. split; [by apply after_split|]. unfold before. rewrite reverse_app, reverse_cons, <- (assoc_L (++)). simpl.
  rewrite after_split by (by rewrite elem_of_reverse). apply first_or_reverse.
Qed.

(** ** What they contain *)
Lemma cv_valid_none s : cv_valid s -> NONE ∉ threads s.
Proof. intros [_ Hr] H. eapply Forall_forall in Hr; [|exact H]. unfold NONE, NUM_THREAD in Hr. lia. Qed.
Lemma cv_contents_mono cv s d d' : (forall x v, x ∈ cv_cells cv (threads s) -> d !! x = Some v -> d' !! x = Some v) ->
  cv_contents cv s d -> cv_contents cv s d'.
Proof.
  intros H [Hh Hw]. split; [|intros w Hin; specialize (Hw w Hin)]; eapply holds_keep; try eassumption; intros f v Hf; apply H.
  - by apply head_cell.
  - apply link_cell; [by apply (elem_of_list_fmap_1 thread)|done].
Qed.
Definition marks (w : waiter) (d : mem) : Prop :=
  holds "cv_waiter" (thread w) [("blocked", Z.b2z (blocked w)); ("cancelled", Z.b2z (cancelled w))]%string d.
Lemma cv_contents_linked cv s d : NONE ∉ threads s -> cv_contents cv s d <->
  (side (left_of cv) (threads s) d /\ side (right_of cv) (reverse (threads s)) d) /\ forall w, w ∈ s -> marks w d.
Proof.
  intros Hn. unfold cv_contents, marks, holds, heads, links. rewrite !side_iff by (by rewrite ?elem_of_reverse). setoid_rewrite elem_of_reverse.
  rewrite first_or_reverse. assert (forall P : Z -> Prop, (forall u, u ∈ threads s -> P u) <-> (forall w, w ∈ s -> P (thread w))) as Hs.
  { intros P. rewrite <- !Forall_forall. apply Forall_fmap. }
  rewrite !Hs. repeat setoid_rewrite Forall_cons. setoid_rewrite Forall_nil. cbn [fst snd].
  assert (forall w, w ∈ s -> thread w <> NONE) as Hne by (apply (Hs (fun u => u <> NONE)); by intros u Hu ->).
  split.
  - intros ((Hf & Hl & _) & Hw). split_and!; [done| |done| |intros w Hin; by destruct (Hw w Hin) as (_ & _ & ?)];
      intros w Hin; rewrite end_of_thread by auto; by apply Hw.
  - intros (((Hf & Hnx) & Hl & Hp) & Hm). split_and!; [done..|]. intros w Hin. specialize (Hnx w Hin). specialize (Hp w Hin).
    rewrite end_of_thread in Hnx, Hp by auto. by destruct (Hm w Hin) as (? & ? & _).
Qed.
(** Thread [t] comes or goes between [s1] and [s2]: two cells change besides its own. *)
Lemma cv_replace cv s1 m m' s2 t d d' : cv_valid (s1 ++ s2) -> t ∉ NONE :: threads (s1 ++ s2) -> (forall w, w ∈ m ++ m' -> thread w = t) ->
  let l := left_of cv (last_or NONE (threads s1)) in let r := right_of cv (first_or NONE (threads s2)) in
  cv_contents cv (s1 ++ m ++ s2) d ->
  (forall x, x <> l -> x <> r -> (forall f, x <> field_cell "cv_waiter" t f) -> d' !! x = d !! x) ->
  d' !! l = Some (first_or NONE (threads (m' ++ s2))) -> d' !! r = Some (last_or NONE (threads (s1 ++ m'))) ->
  (forall w, w ∈ m' -> holds "cv_waiter" t (links (after t (threads (s1 ++ m' ++ s2))) (before t (threads (s1 ++ m' ++ s2))) w) d') ->
  cv_contents cv (s1 ++ m' ++ s2) d'.
Proof.
  intros Hv Ht Hm l r Hc Honly Hleft Hright Hnew. pose proof (cv_valid_none _ Hv) as Hno. destruct Hv as [Hnd _].
  unfold threads in Ht, Hno, Hnd. rewrite fmap_app in Ht, Hno, Hnd. pose proof (conj Hno Hnd) as Hd%NoDup_cons.
  assert (forall k, k = m \/ k = m' -> NONE ∉ threads (s1 ++ k ++ s2)) as Hnone.
  { intros k Hk Hin. unfold threads in Hin. rewrite !fmap_app, !elem_of_app in Hin. rewrite elem_of_app in Hno.
    destruct Hin as [?|[(w & E & Hw)%elem_of_list_fmap|?]]; [tauto| |tauto]. apply Ht. rewrite <- (Hm w), <- E; [by left|].
    apply elem_of_app. destruct Hk as [-> | ->]; tauto. }
  assert (forall u, u ∈ threads m ++ threads m' -> u = t /\ t <> NONE) as Hu.
  { unfold threads. rewrite <- fmap_app. intros u (w & -> & Hw)%elem_of_list_fmap. split; [by apply Hm|intros ->; apply Ht; by left]. }
  apply cv_contents_linked in Hc as [[Hl Hr] Hmk]; [|by apply Hnone; left]. apply cv_contents_linked; [by apply Hnone; right|].
  assert (forall w, w ∈ m' -> d' !! left_of cv t = Some (after t (threads (s1 ++ m' ++ s2))) /\
    d' !! right_of cv t = Some (before t (threads (s1 ++ m' ++ s2))) /\ marks w d') as Hmine.
  { intros w Hw. pose proof (Hnew w Hw) as H. assert (thread w = t /\ t <> NONE) as [Et Ht'] by (apply Hu, elem_of_app; right; by apply (elem_of_list_fmap_1 thread)).
    rewrite !end_of_thread by done. unfold marks. rewrite Et. by do 2 (apply Forall_cons in H as [? H]). }
  unfold threads in *. rewrite !fmap_app in *. split; [split|].
  - apply (side_replace _ _ (thread <$> m) _ _ d); try done.
    + by intros u [-> _]%Hu.
    + intros u Hin Hne. apply Honly; [by intros ?%end_of_inj|apply left_right|intros f; apply not_eq_sym, end_of_other; left; by intros ->].
    + intros u Hin. destruct (Hu u) as [-> _]; [apply elem_of_app; by right|]. apply elem_of_list_fmap in Hin as (w & _ & Hw). by apply (Hmine w).
  - apply (side_replace_back _ _ (thread <$> m) _ _ d); try done.
    + by intros u [-> _]%Hu.
    + intros u Hin Hne. apply Honly; [apply not_eq_sym, left_right|by intros ?%end_of_inj|intros f; apply not_eq_sym, end_of_other; left; by intros ->].
    + intros u Hin. destruct (Hu u) as [-> _]; [apply elem_of_app; by right|]. apply elem_of_list_fmap in Hin as (w & _ & Hw). by apply (Hmine w).
  - intros w. rewrite !elem_of_app. intros Hw. assert (w ∈ m' \/ w ∈ s1 \/ w ∈ s2) as [Hin|Hold] by tauto; [by apply Hmine|].
    eapply holds_keep; [|apply Hmk; rewrite !elem_of_app; tauto]. intros f v Hf <-. apply Honly.
    + apply end_of_other. right. intros ->. revert Hf. names.
    + apply end_of_other. right. intros ->. revert Hf. names.
    + intros g. unfold field_cell. intros [= E _]. apply Ht. right. rewrite <- E, <- fmap_app. by apply (elem_of_list_fmap_1 thread), elem_of_app.
Qed.
(** A mark of thread [t] changes. *)
Lemma cv_mark cv s d g t f v : cv_rep cv s d -> t ∈ threads s -> f ∈ link_names -> (forall w, thread (g w) = thread w) ->
  (forall w n p, links n p (g w) = set_field f v (links n p w)) -> cv_rep cv (change g t s) (<[field_cell "cv_waiter" t f := v]> d).
Proof.
  intros (Hv & Hx & [Hh Hw]) Ht Hf Hg Hset. pose proof (change_threads g t s Hg) as Es. split; [by eapply cv_valid_threads|].
  unfold cv_contents. rewrite !Es. split; [by apply exactly_write, link_cell|]. split; [by apply holds_write_other|].
  intros w' (w & -> & Hin)%elem_of_list_fmap. destruct (Z.eqb_spec (thread w) t) as [<-|Hne].
  - rewrite Hg, Hset. apply holds_write; [names|done|by apply Hw].
  - apply holds_write_other; [|by apply Hw]. unfold field_cell. congruence.
Qed.

(** ** A variable and something else in one memory *)
Lemma cv_rep_both cv s k (Q : mem -> Prop) d : cv_valid s -> cv_contents cv s d -> has_cells (cv_cells cv (threads s) ++ k) d ->
  (forall x, x ∈ cv_cells cv (threads s) -> x ∉ k) -> Q (restrict k d) -> (cv_rep cv s ∗ Q) d.
Proof.
  intros Hv Hc Hx Hd HQ. apply (both_cut _ _ (cv_cells cv (threads s)) k); [intros x; by rewrite (Hx x), elem_of_app|exact Hd| |exact HQ].
  split; [done|]. split.
  - apply restrict_cells. intros x Hin. apply Hx, elem_of_app. by left.
  - eapply cv_contents_mono; [|exact Hc]. intros x v Hin Hv'. by rewrite restrict_in.
Qed.
(** A thread waits in the variable that has its links. *)
Lemma cv_rep_alone cv s d e t : cv_rep cv s d -> d ##ₘ e -> is_Some (e !! field_cell "cv_waiter" t "next") -> t ∉ threads s.
Proof.
  intros (_ & Hx & _) Hd [v Hv] Ht. assert (is_Some (d !! field_cell "cv_waiter" t "next")) as [u Hu] by (apply Hx, link_cell; [done|names]).
  exact (proj1 (map_disjoint_spec d e) Hd _ _ _ Hu Hv).
Qed.
