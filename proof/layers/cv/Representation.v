(** Condition variables: states and cells determine each other; a thread that joins or leaves does so in both. *)
From Ashlar Require Export layers.cv.Waiters.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Which cells they are *)
Lemma cv_cells_in cv l x : x ∈ cv_cells cv l <-> x ∈ head_cells cv \/ exists t, t ∈ l /\ x ∈ link_cells t.
Proof. unfold cv_cells. rewrite elem_of_app, elem_of_list_bind. naive_solver. Qed.
Lemma link_cells_in t x : x ∈ link_cells t -> exists f, x = field_cell "cv_waiter" t f.
Proof. intros (f & -> & _)%elem_of_list_fmap. eauto. Qed.
Lemma head_cells_in cv x : x ∈ head_cells cv -> exists f, x = field_cell "cv_queue" cv f.
Proof. intros (f & -> & _)%elem_of_list_fmap. eauto. Qed.
Lemma link_cell cv l t f : t ∈ l -> f ∈ (links 0 0 (Waiter 0 false false)).*1 -> field_cell "cv_waiter" t f ∈ cv_cells cv l.
Proof. intros Ht Hf. apply cv_cells_in. right. exists t. split; [done|]. apply elem_of_list_fmap. by exists f. Qed.
Lemma head_cell cv l f : f ∈ (heads 0 0).*1 -> field_cell "cv_queue" cv f ∈ cv_cells cv l.
Proof. intros Hf. apply cv_cells_in. left. apply elem_of_list_fmap. by exists f. Qed.
Lemma cv_cells_other cv l t f x : x ∈ cv_cells cv l -> t ∉ l -> x <> field_cell "cv_waiter" t f.
Proof.
  intros [(g & ->)%head_cells_in|(u & Hu & (g & ->)%link_cells_in)]%cv_cells_in Ht; [done|]. intros [= -> _]. done.
Qed.
Lemma cv_cells_place cv l t : place t ∉ cv_cells cv l.
Proof.
  intros [(g & E)%head_cells_in|(u & _ & Hu)]%cv_cells_in; [done|].
  unfold link_cells, place in Hu. apply elem_of_list_fmap in Hu as (g & [= _ <-] & Hg). revert Hg. names.
Qed.
(** Two variables in which no thread waits twice have no common cell. *)
Theorem cv_cells_apart cv cv' l l' x : cv <> cv' -> (forall t, t ∈ l -> t ∉ l') -> x ∈ cv_cells cv l -> x ∉ cv_cells cv' l'.
Proof.
  intros Hne Hd [(g & ->)%head_cells_in|(t & Ht & (g & ->)%link_cells_in)]%cv_cells_in
    [(h & E)%head_cells_in|(u & Hu & (h & E)%link_cells_in)]%cv_cells_in; unfold field_cell in E; [congruence|congruence|congruence|].
  injection E as -> _. by apply (Hd u).
Qed.

(** ** What they contain *)
Lemma cv_contents_mono cv s d d' : (forall x v, x ∈ cv_cells cv (threads s) -> d !! x = Some v -> d' !! x = Some v) ->
  cv_contents cv s d -> cv_contents cv s d'.
Proof.
  intros H [Hh Hw]. split.
  - repeat (apply Forall_cons in Hh as [? Hh]). repeat constructor; (apply H; [apply head_cell; names|done]).
  - intros w Hin. pose proof (Hw w Hin) as Hl. assert (thread w ∈ threads s) by (apply elem_of_list_fmap; eauto).
    repeat (apply Forall_cons in Hl as [? Hl]). repeat constructor; (apply H; [apply link_cell; [done|names]|done]).
Qed.
Definition marks (w : waiter) (d : mem) : Prop :=
  d !! field_cell "cv_waiter" (thread w) "blocked" = Some (Z.b2z (blocked w)) /\
  d !! field_cell "cv_waiter" (thread w) "cancelled" = Some (Z.b2z (cancelled w)).
Lemma cv_contents_linked cv s d : cv_contents cv s d <-> linked cv (threads s) d /\ forall w, w ∈ s -> marks w d.
Proof.
  unfold cv_contents, linked, marks, holds, heads, links. setoid_rewrite Forall_cons. setoid_rewrite Forall_cons. setoid_rewrite Forall_cons.
  setoid_rewrite Forall_cons. setoid_rewrite Forall_nil. cbn [fst snd]. split.
  - intros ((Hf & Hl & _) & Hw). split_and!; [done|done| |].
    + intros u (w & -> & Hin)%elem_of_list_fmap. by destruct (Hw w Hin) as (? & ? & _).
    + intros w Hin. by destruct (Hw w Hin) as (_ & _ & ? & ? & _).
  - intros ((Hf & Hl & Hu) & Hm). split_and!; [done..|]. intros w Hin. destruct (Hu (thread w)) as [? ?]; [apply elem_of_list_fmap; eauto|].
    destruct (Hm w Hin). by split_and!.
Qed.

Lemma left_of_other cv p t f : p <> t -> left_of cv p <> field_cell "cv_waiter" t f.
Proof. intros Hne. unfold left_of, field_cell. destruct (p =? NONE); congruence. Qed.
Lemma right_of_other cv n t f : n <> t -> right_of cv n <> field_cell "cv_waiter" t f.
Proof. intros Hne. unfold right_of, field_cell. destruct (n =? NONE); congruence. Qed.
Lemma left_right cv p n : left_of cv p <> right_of cv n.
Proof. unfold left_of, right_of, field_cell. destruct (p =? NONE), (n =? NONE); congruence. Qed.
Lemma left_of_in cv l1 l : (forall u, u ∈ l1 -> u ∈ l) -> left_of cv (last_or NONE l1) ∈ cv_cells cv l.
Proof.
  intros Hs. unfold left_of. destruct (Z.eqb_spec (last_or NONE l1) NONE); [apply head_cell; names|].
  apply link_cell; [|names]. apply Hs. destruct l1 as [|t l1]; [done|]. exact (last_or_elem t l1).
Qed.
Lemma right_of_in cv l2 l : (forall u, u ∈ l2 -> u ∈ l) -> right_of cv (first_or NONE l2) ∈ cv_cells cv l.
Proof.
  intros Hs. unfold right_of. destruct (Z.eqb_spec (first_or NONE l2) NONE); [apply head_cell; names|].
  apply link_cell; [|names]. apply Hs. destruct l2 as [|t l2]; [done|]. by left.
Qed.
Lemma cv_valid_none s : cv_valid s -> NONE ∉ threads s.
Proof. intros [_ Hr] H. eapply Forall_forall in Hr; [|exact H]. unfold NONE, NUM_THREAD in Hr. lia. Qed.

(** Thread [t] comes or goes between [s1] and [s2]: two cells change besides its own. *)
Lemma cv_replace cv s1 m m' s2 t d d' : cv_valid (s1 ++ s2) -> t ∉ threads (s1 ++ s2) -> (forall w, w ∈ m ++ m' -> thread w = t) ->
  let l := left_of cv (last_or NONE (threads s1)) in let r := right_of cv (first_or NONE (threads s2)) in
  cv_contents cv (s1 ++ m ++ s2) d ->
  (forall x, x <> l -> x <> r -> (forall f, x <> field_cell "cv_waiter" t f) -> d' !! x = d !! x) ->
  d' !! l = Some (first_or NONE (threads (m' ++ s2))) -> d' !! r = Some (last_or NONE (threads (s1 ++ m'))) ->
  (forall w, w ∈ m' -> holds "cv_waiter" t (links (after t (threads (s1 ++ m' ++ s2))) (before t (threads (s1 ++ m' ++ s2))) w) d') ->
  cv_contents cv (s1 ++ m' ++ s2) d'.
Proof.
  intros Hv Ht Hm l r [Hl Hmk]%cv_contents_linked Honly Hleft Hright Hnew. pose proof (cv_valid_none _ Hv) as Hno. destruct Hv as [Hnd _].
  unfold threads in *. rewrite !fmap_app in *. apply cv_contents_linked. split.
  - unfold threads. rewrite !fmap_app. apply (replace_linked cv _ (thread <$> m) _ _ d d'); try done.
    + intros u Hu. split; intros (w & -> & Hw)%elem_of_list_fmap; apply Ht; rewrite <- (Hm w); [done|apply elem_of_app; tauto|done|apply elem_of_app; tauto].
    + intros u (w & -> & Hw)%elem_of_list_fmap. rewrite (Hm w) by (apply elem_of_app; tauto). pose proof (Hnew w Hw) as H.
      apply Forall_cons in H as [? H]. by apply Forall_cons in H as [? _].
    + intros x Hx Hxl Hxr. apply Honly; [done..|]. intros f. by eapply cv_cells_other.
  - intros w [Hw|[Hw|Hw]%elem_of_app]%elem_of_app.
    2: { pose proof (Hnew w Hw) as H. unfold marks. rewrite (Hm w) by (apply elem_of_app; tauto). by do 4 (apply Forall_cons in H as [? H]). }
    all: destruct (Hmk w) as [H1 H2]; [rewrite !elem_of_app; tauto|]; assert (thread w <> t) as Hne
      by (intros <-; apply Ht, elem_of_app; rewrite !elem_of_list_fmap; naive_solver);
      (split; (etrans; [apply Honly|done]; [unfold l, left_of, field_cell; destruct (last_or _ _ =? NONE); congruence|
        unfold r, right_of, field_cell; destruct (first_or _ _ =? NONE); congruence|unfold field_cell; congruence])).
Qed.
(** Its neighbours. *)
Lemma neighbours l1 t l2 : t ∉ l1 -> t ∉ l2 -> after t (l1 ++ t :: l2) = first_or NONE l2 /\ before t (l1 ++ t :: l2) = last_or NONE l1.
Proof.
  intros H1 H2. unfold before. rewrite reverse_app, reverse_cons, <- (assoc_L (++)), !after_out by (by rewrite ?elem_of_reverse).
  simpl. by rewrite Z.eqb_refl, first_or_reverse.
Qed.
(** A mark of thread [t] changes. *)
Lemma cv_mark cv s d g t f v : cv_rep cv s d -> t ∈ threads s -> (forall w, thread (g w) = thread w) -> f = "blocked"%string \/ f = "cancelled"%string ->
  (forall w n p, links n p (g w) = set_field f v (links n p w)) -> cv_rep cv (change g t s) (<[field_cell "cv_waiter" t f := v]> d).
Proof.
  intros (Hv & Hx & [Hh Hw]) Ht Hg Hf Hset. pose proof (change_threads g t s Hg) as Es.
  assert (field_cell "cv_waiter" t f ∈ cv_cells cv (threads s)) as Hin.
  { apply link_cell; [done|]. destruct Hf as [-> | ->]; names. }
  split; [by eapply cv_valid_threads|]. rewrite !Es. split; [by apply exactly_write|]. unfold cv_contents. rewrite Es. split.
  - apply holds_write_other; [done|exact Hh].
  - intros w' (w & -> & Hin')%elem_of_list_fmap. pose proof (Hw w Hin') as H. destruct (Z.eqb_spec (thread w) t) as [<-|Hne].
    + rewrite Hg, Hset. unfold holds, links in *. repeat setoid_rewrite Forall_cons in H. destruct H as (H1 & H2 & H3 & H4 & _).
      cbn [fst snd] in *. destruct Hf as [-> | ->]; repeat constructor; cbn; unfold field_cell in *; by look.
    + apply holds_write_other; [|exact H]. unfold field_cell. congruence.
Qed.

(** ** A variable and something else in one memory *)
Definition cells_of (l k : list cell) (x : cell) : Prop := x ∈ l \/ x ∈ k.
Lemma both_cells (P Q : mem -> Prop) l k d : (forall d, P d -> has_cells l d) -> (forall d, Q d -> has_cells k d) -> (P ∗ Q) d ->
  exactly (cells_of l k) d.
Proof.
  intros HP HQ (d1 & d2 & -> & _ & H1%HP & H2%HQ) x. unfold cells_of. rewrite <- (H1 x), <- (H2 x). apply lookup_union_is_Some.
Qed.
Lemma cv_rep_both cv s k (Q : mem -> Prop) d : cv_valid s -> cv_contents cv s d -> exactly (cells_of (cv_cells cv (threads s)) k) d ->
  (forall x, x ∈ cv_cells cv (threads s) -> x ∉ k) -> Q (restrict k d) -> (cv_rep cv s ∗ Q) d.
Proof.
  intros Hv Hc Hx Hd HQ. apply (both_cut _ _ (cv_cells cv (threads s)) k); [exact Hx|exact Hd| |exact HQ]. split; [done|]. split.
  - apply restrict_cells. intros x Hin. apply Hx. by left.
  - eapply cv_contents_mono; [|exact Hc]. intros x v Hin Hv'. by rewrite restrict_in.
Qed.
(** Links and marks of a thread are the variable's or its own. *)
Lemma cells_move cv l1 t l2 x :
  cells_of (cv_cells cv (l1 ++ t :: l2)) [place t] x <-> cells_of (cv_cells cv (l1 ++ l2)) (place t :: link_cells t) x.
Proof.
  unfold cells_of. rewrite !cv_cells_in, !elem_of_cons, elem_of_nil. setoid_rewrite elem_of_app. setoid_rewrite elem_of_cons. naive_solver.
Qed.
