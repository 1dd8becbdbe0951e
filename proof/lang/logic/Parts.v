(** Memory in parts with owners of their own.

    [P ∗ Q]: the memory is two parts without a common cell; [P] is true of one, [Q] of the other. A call that works on one part
    leaves the others as they are ([during_call_part]); so do statements without calls ([during_part]). *)
From Ashlar Require Export lang.logic.Timed.

Definition both (P Q : mem -> Prop) (m : mem) : Prop := exists d e, m = d ∪ e /\ d ##ₘ e /\ P d /\ Q e.
Infix "∗" := both (at level 80, right associativity).

Lemma both_mono (P P' Q Q' : mem -> Prop) m : (forall d, P d -> P' d) -> (forall d, Q d -> Q' d) -> (P ∗ Q) m -> (P' ∗ Q') m.
Proof. intros HP HQ (d & e & ? & ? & ? & ?). exists d, e. auto. Qed.
Lemma both_pure (P Q : mem -> Prop) (F : Prop) m : (P ∗ (fun d => F /\ Q d)) m -> F /\ (P ∗ Q) m.
Proof. intros (d & e & ? & ? & ? & HF & ?). split; [exact HF|]. by exists d, e. Qed.
Lemma both_pure_left (P Q : mem -> Prop) (F : Prop) m : ((fun d => F /\ P d) ∗ Q) m -> F /\ (P ∗ Q) m.
Proof. intros (d & e & ? & ? & [HF ?] & ?). split; [exact HF|]. by exists d, e. Qed.
Lemma both_right_lookup (d e : mem) (x : cell) v : d ##ₘ e -> e !! x = Some v -> (d ∪ e) !! x = Some v.
Proof. intros. by apply lookup_union_Some_r. Qed.

(** ** The cells of a list *)

Definition has_cells (l : list cell) (d : mem) : Prop := exactly (fun x => x ∈ l) d.
(** That part of a memory. *)
Definition restrict (l : list cell) (d : mem) : mem := filter (fun e => e.1 ∈ l) d.

Lemma restrict_in l (d : mem) (x : cell) : x ∈ l -> restrict l d !! x = d !! x.
Proof.
  intros Hx. unfold restrict. destruct (d !! x) as [v|] eqn:E; [by apply map_filter_lookup_Some|].
  apply map_filter_lookup_None. by left.
Qed.
Lemma restrict_out l (d : mem) (x : cell) : x ∉ l -> restrict l d !! x = None.
Proof. intros Hx. unfold restrict. apply map_filter_lookup_None. right. by intros v _. Qed.
Lemma restrict_cells l (d : mem) : (forall x, x ∈ l -> is_Some (d !! x)) -> has_cells l (restrict l d).
Proof.
  intros H x. split.
  - intros [v Hv]. destruct (decide (x ∈ l)) as [|Hx]; [done|]. by rewrite restrict_out in Hv.
  - intros Hx. rewrite restrict_in by done. by apply H.
Qed.
(** Two lists without a common cell cut a memory in two. *)
Lemma both_cut (P Q : mem -> Prop) l k d : (forall x, is_Some (d !! x) <-> x ∈ l \/ x ∈ k) -> (forall x, x ∈ l -> x ∉ k) ->
  P (restrict l d) -> Q (restrict k d) -> (P ∗ Q) d.
Proof.
  intros Hx Hd HP HQ. assert (restrict l d ##ₘ restrict k d) as Hdis.
  { apply map_disjoint_spec. intros x v w Hv Hw. destruct (decide (x ∈ l)) as [Hl|Hl]; [|by rewrite restrict_out in Hv].
    rewrite restrict_out in Hw; [done|by apply Hd]. }
  exists (restrict l d), (restrict k d). split_and!; [|done..]. apply own_eq. intros x. destruct (decide (x ∈ l)) as [Hl|Hl].
  - destruct (d !! x) as [v|] eqn:E; [|by destruct (proj2 (Hx x) (or_introl Hl)) as [? ?]; congruence].
    symmetry. apply own_read. by rewrite restrict_in.
  - symmetry. etrans; [by apply lookup_union_r, restrict_out|]. destruct (decide (x ∈ k)) as [Hk|Hk]; [by apply restrict_in|].
    rewrite restrict_out by done. destruct (d !! x) as [v|] eqn:E; [|done]. destruct (proj1 (Hx x)) as [?|?]; [by exists v|done..].
Qed.

(** ** Statements that work on a part *)
Section rules.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation during := (during quiet kernel_entry M this).
  Notation timed := (timed quiet kernel_entry M this).
  Notation owned := (owned kernel_entry M this).

  (** A call that works on a part. *)
  Lemma timed_part f args (P R : mem -> Prop) (post : Z -> mem -> Prop) m : (forall d, P d -> timed f args d post) -> (P ∗ R) m ->
    timed f args m (fun v => post v ∗ R).
  Proof.
    intros Ht (d & e & -> & Hd & HP & HR') G J g rest Q HJ HE Hrest HQ'. apply map_disjoint_union_l in Hrest as [H1 H2]. rewrite <- (assoc_L (∪)).
    apply (Ht d HP G J g (e ∪ rest) Q HJ HE); [by apply map_disjoint_union_r|]. intros v d' Hp [H3 H4]%map_disjoint_union_r. rewrite (assoc_L (∪)).
    apply HQ'; [by exists d', e|by apply map_disjoint_union_l].
  Qed.
  Lemma timed_other f args (P R : mem -> Prop) (post : Z -> mem -> Prop) m : (forall d, R d -> timed f args d post) -> (P ∗ R) m ->
    timed f args m (fun v => P ∗ post v).
  Proof.
    intros Ht (d & e & -> & Hd & HP & HR'). eapply timed_mono; [|apply (timed_part f args R P post); [done|]; exists e, d].
    - intros v m (x & y & -> & Hx & Hp & Hy). exists y, x. split_and!; [by apply map_union_comm|done..].
    - split_and!; [by apply map_union_comm|done..].
  Qed.
  Lemma during_call_part x f es (Qn Qb : locals -> mem -> Prop) Qr r m args (P Q : mem -> Prop) (post : Z -> mem -> Prop) :
    evals es r m = Some args -> (P ∗ Q) m -> (forall d, P d -> timed f args d post) ->
    (forall v m', (post v ∗ Q) m' -> Qn (set_result x v r) m') -> during (Call x f es) Qn Qb Qr r m.
  Proof.
    intros He (d & e & -> & Hd & HP & HQ) Ht Hn. eapply during_call; [exact He|exact Hd|by apply Ht|].
    intros v d' Hp Hd'. apply Hn. by exists d', e.
  Qed.
  Lemma during_part s (P Q : mem -> Prop) (Qn Qb : locals -> mem -> Prop) (Qr : Z -> mem -> Prop) Tn Tb Tr r m :
    (P ∗ Q) m -> (forall d, Q d -> owned s Tn Tb Tr r d) -> (forall r m, (P ∗ Tn r) m -> Qn r m) ->
    (forall r m, (P ∗ Tb r) m -> Qb r m) -> (forall v m, (P ∗ Tr v) m -> Qr v m) -> during s Qn Qb Qr r m.
  Proof.
    intros (d & e & -> & Hd & HP & HQ) Ho Hn Hb Hr G J g rest HJ _ Hrest.
    apply map_disjoint_union_l in Hrest as [Hdr Her]. rewrite (map_union_comm d e), <- (assoc_L (∪)) by done.
    eapply wp_mono; [| | |apply (Ho e HQ G J g (d ∪ rest) HJ)].
    - intros r' m g' (e' & -> & He' & -> & HT). apply map_disjoint_union_r in He' as [H1 H2]. exists (d ∪ e').
      split_and!; [by rewrite (map_union_comm d e'), <- (assoc_L (∪))|by apply map_disjoint_union_l|done|].
      apply Hn. by exists d, e'.
    - intros r' m g' (e' & -> & He' & -> & HT). apply map_disjoint_union_r in He' as [H1 H2]. exists (d ∪ e').
      split_and!; [by rewrite (map_union_comm d e'), <- (assoc_L (∪))|by apply map_disjoint_union_l|done|].
      apply Hb. by exists d, e'.
    - intros v m g' (e' & -> & He' & -> & HT). apply map_disjoint_union_r in He' as [H1 H2]. exists (d ∪ e').
      split_and!; [by rewrite (map_union_comm d e'), <- (assoc_L (∪))|by apply map_disjoint_union_l|done|].
      apply Hr. by exists d, e'.
    - by apply map_disjoint_union_r.
  Qed.
End rules.
