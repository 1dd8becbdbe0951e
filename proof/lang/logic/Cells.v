(** Cells of structs and of parts: what keeps them, a store into one of two, and how start-up fills an array.

    [fill_loop o x n l] is the loop of C that writes the fields [l] into all [n] elements of object [o], counting in local [x];
    [filled o (fun _ => l) 0 n] is the memory that it leaves. *)
From Ashlar Require Export lang.logic.Structs lang.logic.Parts.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** Structs: what keeps the values of the cells keeps the struct; a store changes one field *)
Lemma holds_keep o t l d d' : (forall f v, f ∈ l.*1 -> d !! field_cell o t f = Some v -> d' !! field_cell o t f = Some v) ->
  holds o t l d -> holds o t l d'.
Proof. unfold holds. rewrite !Forall_forall. intros H Hl e He. apply H, Hl; [|done]. by apply (elem_of_list_fmap_1 fst). Qed.
Lemma holds_write o t l d f v : NoDup l.*1 -> f ∈ l.*1 -> holds o t l d -> holds o t (set_field f v l) (<[field_cell o t f := v]> d).
Proof.
  intros Hl Hf H. rewrite <- (holds_same _ _ _ _ H), store_fields_set by done. apply holds_stored. by rewrite set_field_names.
Qed.

(** ** Parts: cells in any order, and those of both *)
Lemma has_cells_perm l k d : l ≡ₚ k -> has_cells l d -> has_cells k d.
Proof. intros E H x. rewrite <- E. apply H. Qed.
Lemma both_has (P Q : mem -> Prop) l k d : (forall d, P d -> has_cells l d) -> (forall d, Q d -> has_cells k d) -> (P ∗ Q) d -> has_cells (l ++ k) d.
Proof. intros HP HQ (d1 & d2 & -> & _ & H1%HP & H2%HQ) x. rewrite elem_of_app, <- (H1 x), <- (H2 x). apply lookup_union_is_Some. Qed.

(** ** Stores: into one of two cells, and into all of an array *)
Fixpoint stores_then (o : string) (x : nat) (l : list (string * Z)) (s : stmt) : stmt :=
  match l with [] => s | (f, v) :: l => Seq (Store o (Var x) f (Const 0) (Const v)) (stores_then o x l s) end.
Definition fill_loop (o : string) (x : nat) (n : Z) (l : list (string * Z)) : stmt :=
  While (Cmp Lt (Var x) (Const n)) (stores_then o x l (Assign x (Bin W32 Add (Var x) (Const 1)))).

Section fill.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Notation owned := (owned kernel_entry M cpu).

  (** A store into one of two cells. *)
  Lemma owned_either c o1 i1 f1 o2 i2 f2 e (Qn Qb : locals -> mem -> Prop) Qr r d t v1 v2 v :
    test c r d = Some t -> eval i1 r d = Some v1 -> eval i2 r d = Some v2 -> eval e r d = Some v ->
    let x := if t then field_cell o1 v1 f1 else field_cell o2 v2 f2 in is_Some (d !! x) -> Qn r (<[x := v]> d) ->
    owned (If c (Store o1 i1 f1 (Const 0) e) (Store o2 i2 f2 (Const 0) e)) Qn Qb Qr r d.
  Proof using.
    intros Ht H1 H2 He x Hx HQ. eapply owned_if; [exact Ht|]. unfold x, field_cell in *.
    destruct t; (eapply owned_store; [done|apply eval_const|done|done|done]).
  Qed.

  Lemma owned_stores_then o x l s t (Qn Qb : locals -> mem -> Prop) Qr r d : r !! x = Some t -> has_fields o t l.*1 d ->
    owned s Qn Qb Qr r (store_fields o t l d) -> owned (stores_then o x l s) Qn Qb Qr r d.
  Proof using.
    intros Hx. revert d. induction l as [|[f v] l IH]; intros d Hf Hs; [exact Hs|]. apply Forall_cons in Hf as [Hv Hf].
    apply owned_seq. eapply owned_store; [exact Hx|apply eval_const|apply eval_const|exact Hv|]. apply IH; [|exact Hs].
    eapply Forall_impl; [exact Hf|]. intros g. apply own_keep.
  Qed.
  Lemma owned_fill o x n l (Qn Qb : locals -> mem -> Prop) Qr r d : 0 <= n < 2 ^ 32 -> r !! x = Some 0 ->
    (forall t, 0 <= t < n -> has_fields o t l.*1 d) -> Qn (<[x:=n]> r) (filled o (fun _ => l) 0 n d) -> owned (fill_loop o x n l) Qn Qb Qr r d.
  Proof using.
    intros Hn Hx Hf HQ. pose proof (lookup_lt_Some _ _ _ Hx) as Hlen.
    assert (forall i : Z, (<[x:=i]> r : locals) !! x = Some i) as Hi by (intros i; by apply list_lookup_insert).
    apply (owned_count _ _ _ _ _ _ (fun i r1 d1 => r1 = <[x:=i]> r /\ d1 = filled o (fun _ => l) 0 i d) 0); [lia| | | |].
    - split; [symmetry; exact (list_insert_id r x 0 Hx)|by rewrite filled_none].
    - by intros i r1 d1 [-> _].
    - intros i r1 d1 Hin [-> ->]. apply (owned_stores_then _ _ _ _ i); [done|by apply filled_has, Hf|].
      eapply owned_assign; [eapply eval_bin; [exact (Hi i)|done|done]|]. rewrite wrap32_next by lia.
      split; [apply list_insert_insert|by rewrite filled_next by lia].
    - by intros r1 d1 [-> ->].
  Qed.
End fill.

(** What is there afterwards. *)
Lemma filled_holds o l n t d : 0 <= t < n -> NoDup l.*1 -> holds o t l (filled o (fun _ => l) 0 n d).
Proof. intros Ht Hl. apply Forall_forall. intros [f v] He. by apply filled_value. Qed.
Lemma holds_filled_other o t l o' l' n d : o <> o' -> holds o t l d -> holds o t l (filled o' l' 0 n d).
Proof. intros Ho. apply holds_keep. intros f v _ Hv. rewrite filled_other; [done|]. intros u g _. unfold field_cell. congruence. Qed.
Lemma store_fields_exactly (P : cell -> Prop) o t l d : (forall f, f ∈ l.*1 -> P (field_cell o t f)) -> exactly P d -> exactly P (store_fields o t l d).
Proof.
  revert d. induction l as [|[f v] l IH]; intros d Hf Hd; [exact Hd|]. apply IH; [intros g Hg|apply exactly_write; [exact Hd|]]; apply Hf; [by right|by left].
Qed.
Lemma filled_exactly (P : cell -> Prop) o l n d : (forall t f, 0 <= t < n -> f ∈ l.*1 -> P (field_cell o t f)) -> exactly P d ->
  exactly P (filled o (fun _ => l) 0 n d).
Proof.
  intros HP Hd. unfold filled. assert (forall k, (k <= Z.to_nat (n - 0))%nat -> exactly P (store_each o (fun _ => l) 0 k d)) as H; [|by apply H].
  induction k as [|k IH]; intros Hk; [exact Hd|]. apply store_fields_exactly; [intros f; apply HP; lia|apply IH; lia].
Qed.
