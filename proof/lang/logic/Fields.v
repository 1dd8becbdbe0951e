(** Functions that only read or write fields, and loops that count.

    A getter or setter is proved by looking at it: [reads_code] and [writes_code] take its term and give its triple. The
    initialisation of an array of structs is a loop that writes some fields of each: [owned_count] is its rule, and [filled]
    the memory that it leaves. *)
From Ashlar Require Export lang.logic.Body.

Definition field_cell (o : string) (t : Z) (f : string) : cell := (o, t, f, 0).

Section fields.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Notation body_triple := (body_triple kernel_entry M cpu).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).

  (** The result is the field's value; nothing is changed. *)
  Definition body_reads (f o field : string) : Prop := forall d t v,
    d !! field_cell o t field = Some v -> body_triple f [t] d (fun w d' => w = v /\ d' = d).
  Definition reads (f o field : string) : Prop := forall d t v,
    d !! field_cell o t field = Some v -> triple f [t] d (fun w d' => w = v /\ d' = d).
  (** The field has the new value; nothing else is changed. *)
  Definition body_writes (f o field : string) : Prop := forall d t v, is_Some (d !! field_cell o t field) ->
    body_triple f [t; v] d (fun w d' => w = 0 /\ d' = <[field_cell o t field := v]> d).
  Definition writes (f o field : string) : Prop := forall d t v, is_Some (d !! field_cell o t field) ->
    triple f [t; v] d (fun w d' => w = 0 /\ d' = <[field_cell o t field := v]> d).

  Lemma body_reads_code f o field : M f = Some (Fun 1 0 (Return (Load o (Var 0) field (Const 0)))) -> body_reads f o field.
  Proof. intros HM d t v H. unfold field_cell in *. eapply body_triple_body; [exact HM|done|]. locals_simpl. by step. Qed.
  Lemma body_writes_code f o field : M f = Some (Fun 2 0 (Store o (Var 0) field (Const 0) (Var 1))) -> body_writes f o field.
  Proof. intros HM d t v [u H]. unfold field_cell in *. eapply body_triple_body; [exact HM|done|]. locals_simpl. by step. Qed.
  Lemma reads_code f o field : M f = Some (Fun 1 0 (Return (Load o (Var 0) field (Const 0)))) -> reads f o field.
  Proof. intros HM d t v H. exact (body_triple_triple _ _ _ _ _ _ _ (body_reads_code f o field HM d t v H)). Qed.
  Lemma writes_code f o field : M f = Some (Fun 2 0 (Store o (Var 0) field (Const 0) (Var 1))) -> writes f o field.
  Proof. intros HM d t v H. exact (body_triple_triple _ _ _ _ _ _ _ (body_writes_code f o field HM d t v H)). Qed.

  (** [for (x = i; x < n; x = x + 1) body]: the body ends with the step. *)
  Lemma owned_count x n body (I : Z -> locals -> mem -> Prop) i (Qn Qb : locals -> mem -> Prop) Qr r d :
    i <= n -> I i r d -> (forall i r d, I i r d -> r !! x = Some i) ->
    (forall j r d, i <= j < n -> I j r d -> owned body (I (j + 1)) Qn Qr r d) ->
    (forall r d, I n r d -> Qn r d) -> owned (While (Cmp Lt (Var x) (Const n)) body) Qn Qb Qr r d.
  Proof.
    intros Hi HI Hx Hb HQ.
    apply owned_while with (n := Z.to_nat (n - i)) (I := fun m r d => exists j, i <= j <= n /\ m = Z.to_nat (n - j) /\ I j r d).
    { exists i. split_and!; [lia..|done|done]. }
    intros m r1 d1 (j & Hj & -> & H1). exists (j <? n). split.
    { cbn [test eval]. by rewrite (Hx _ _ _ H1). }
    destruct (Z.ltb_spec j n) as [Hlt|Hge].
    - eapply owned_mono; [| | |apply (Hb j r1 d1); [lia|exact H1]]; cbn beta; [|by auto..]. intros r2 d2 H2. exists (Z.to_nat (n - (j + 1))). split; [lia|].
      exists (j + 1). split_and!; [lia..|done|done].
    - assert (j = n) as -> by lia. by apply HQ.
  Qed.
End fields.

Lemma wrap32_next i : 0 <= i < 2 ^ 32 - 1 -> wrap W32 (i + 1) = i + 1.
Proof. intros. unfold wrap. apply Z.mod_small. cbn [bits]. lia. Qed.

(** ** Some fields of a struct, written one after the other *)

Fixpoint store_fields (o : string) (t : Z) (l : list (string * Z)) (d : mem) : mem :=
  match l with [] => d | (f, v) :: l => store_fields o t l (<[field_cell o t f := v]> d) end.
Definition has_fields (o : string) (t : Z) (names : list string) (d : mem) : Prop :=
  Forall (fun f => is_Some (d !! field_cell o t f)) names.
Lemma has_field o t names d f : has_fields o t names d -> f ∈ names -> is_Some (d !! field_cell o t f).
Proof. unfold has_fields. rewrite Forall_forall. auto. Qed.
Lemma has_fields_some o t names some d : has_fields o t names d -> Forall (fun f => f ∈ names) some -> has_fields o t some d.
Proof. intros H Hs. eapply Forall_impl; [exact Hs|]. intros f. by apply has_field. Qed.
Lemma has_fields_union o t names (d e : mem) : has_fields o t names d -> has_fields o t names (d ∪ e).
Proof. intros H. eapply Forall_impl; [exact H|]. intros f [v Hv]. exists v. by apply own_read. Qed.
(** Those of the elements [i] to [i + n - 1]; [l t] are those of element [t]. *)
Fixpoint store_each (o : string) (l : Z -> list (string * Z)) (i : Z) (n : nat) (d : mem) : mem :=
  match n with O => d | S n => store_fields o (i + Z.of_nat n) (l (i + Z.of_nat n)) (store_each o l i n d) end.
Definition filled (o : string) (l : Z -> list (string * Z)) (i j : Z) (d : mem) : mem := store_each o l i (Z.to_nat (j - i)) d.

Lemma store_fields_present o t l d x : is_Some (d !! x) -> is_Some (store_fields o t l d !! x).
Proof. revert d. induction l as [|[f v] l IH]; intros d H; [done|]. by apply IH, own_keep. Qed.
Lemma store_fields_disjoint o t l d e : has_fields o t l.*1 d -> d ##ₘ e -> store_fields o t l d ##ₘ e.
Proof.
  revert d. induction l as [|[f v] l IH]; intros d H Hd; [done|]. apply Forall_cons in H as [Hf H]. apply IH; [|by apply own_write_disjoint].
  eapply Forall_impl; [exact H|]. intros g. apply own_keep.
Qed.
Lemma store_fields_has o t names u l d : has_fields o t names d -> has_fields o t names (store_fields o u l d).
Proof. intros H. eapply Forall_impl; [exact H|]. intros f. apply store_fields_present. Qed.
Lemma filled_has o l i j t names d : has_fields o t names d -> has_fields o t names (filled o l i j d).
Proof.
  intros H. unfold filled. induction (Z.to_nat (j - i)) as [|n IH]; [done|]. by apply store_fields_has.
Qed.
Lemma filled_none o l i d : filled o l i i d = d.
Proof. unfold filled. by rewrite Z.sub_diag. Qed.
Lemma filled_next o l i j d : i <= j -> filled o l i (j + 1) d = store_fields o j (l j) (filled o l i j d).
Proof.
  intros H. unfold filled. replace (Z.to_nat (j + 1 - i)) with (S (Z.to_nat (j - i))) by lia. simpl.
  by replace (i + Z.of_nat (Z.to_nat (j - i))) with j by lia.
Qed.

(** One more store. *)
Fixpoint set_field (f : string) (v : Z) (l : list (string * Z)) : list (string * Z) :=
  match l with [] => [] | (g, w) :: l => if String.eqb g f then (g, v) :: l else (g, w) :: set_field f v l end.
Lemma store_fields_first o t l f v d : f ∉ l.*1 -> <[field_cell o t f := v]> (store_fields o t l d) = store_fields o t l (<[field_cell o t f := v]> d).
Proof.
  revert d. induction l as [|[g w] l IH]; intros d Hf; [done|]. simpl in *. apply not_elem_of_cons in Hf as [Hne Hf]. rewrite IH by done.
  f_equal. apply (insert_commute d). unfold field_cell. congruence.
Qed.
Lemma store_fields_set o t l f v d : NoDup l.*1 -> f ∈ l.*1 -> <[field_cell o t f := v]> (store_fields o t l d) = store_fields o t (set_field f v l) d.
Proof.
  revert d. induction l as [|[g w] l IH]; intros d Hl Hf; [by apply elem_of_nil in Hf|]. simpl in *. apply NoDup_cons in Hl as [Hg Hl].
  destruct (String.eqb_spec g f) as [->|Hne].
  - simpl. rewrite store_fields_first by done. f_equal. apply (insert_insert d).
  - simpl. apply elem_of_cons in Hf as [->|Hf]; [done|]. by apply IH.
Qed.

(** What is there afterwards: the values, and what was there besides. *)
Lemma store_fields_other o t l d x : (forall f, x <> field_cell o t f) -> store_fields o t l d !! x = d !! x.
Proof. intros Hx. revert d. induction l as [|[f v] l IH]; intros d; [done|]. simpl. rewrite IH. apply own_lookup_ne. intros E. by apply (Hx f). Qed.
Lemma store_fields_value o t l d f v : NoDup l.*1 -> (f, v) ∈ l -> store_fields o t l d !! field_cell o t f = Some v.
Proof.
  revert d. induction l as [|[g w] l IH]; intros d Hl Hin; [by apply elem_of_nil in Hin|].
  apply NoDup_cons in Hl as [Hg Hl]. simpl. apply elem_of_cons in Hin as [[= <- <-]|Hin]; [|by apply IH].
  clear IH Hl. assert (forall d : mem, d !! field_cell o t f = Some v -> store_fields o t l d !! field_cell o t f = Some v) as H; [|apply H, own_lookup].
  induction l as [|[h u] l IH]; intros e He; [done|]. simpl. apply not_elem_of_cons in Hg as [Hne Hg]. apply IH; [done|].
  rewrite own_lookup_ne; [done|]. unfold field_cell. simpl in Hne. congruence.
Qed.
Theorem filled_value o l i j t d f v : i <= t < j -> NoDup (l t).*1 -> (f, v) ∈ l t -> filled o l i j d !! field_cell o t f = Some v.
Proof.
  intros Ht Hl Hin. unfold filled. remember (Z.to_nat (j - i)) as n eqn:En. assert (t < i + Z.of_nat n) as Hn by lia. clear En.
  induction n as [|n IH]; [lia|]. simpl. destruct (decide (t = i + Z.of_nat n)) as [<-|Hne]; [by apply store_fields_value|].
  rewrite store_fields_other; [apply IH; lia|]. unfold field_cell. congruence.
Qed.
Theorem filled_other o l i j d x : (forall t f, i <= t < j -> x <> field_cell o t f) -> filled o l i j d !! x = d !! x.
Proof.
  intros Hx. unfold filled. remember (Z.to_nat (j - i)) as n eqn:En. assert (forall m : nat, (m < n)%nat -> i <= i + Z.of_nat m < j) as Hn by lia.
  clear En. induction n as [|n IH]; [done|]. simpl. rewrite store_fields_other; [apply IH; intros; apply Hn; lia|]. intros f. apply Hx, Hn. lia.
Qed.

(** What is decided by computing with names. *)
Ltac names := by apply (bool_decide_unpack _).
(** [present H]: the cell of a field, below stores; [H] says that all fields are there. *)
Ltac present H := repeat apply own_keep; eapply (has_field _ _ _ _ _ H); names.
(** Statements that store into the fields of which [H] says that they are there. *)
Ltac store_step H :=
  lazymatch goal with
  | |- owned _ _ _ (Store _ _ _ _ _) _ _ _ _ _ => eapply owned_store; [evaluate|evaluate|evaluate|present H|locals_simpl]
  | |- _ => step
  end.
