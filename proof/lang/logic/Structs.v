(** What a struct contains, before and after a function that works on it.

    [holds o t l d]: element [t] of object [o] has the fields and values of [l]. A function that writes some of them leaves
    [store_fields o t l' d] for the new list [l'], which is a function of the old one: [written_by] shows it. *)
From Ashlar Require Export lang.logic.Fields.

Definition holds (o : string) (t : Z) (l : list (string * Z)) (d : mem) : Prop := Forall (fun e => d !! field_cell o t e.1 = Some e.2) l.

Fixpoint value_of (f : string) (l : list (string * Z)) : option Z :=
  match l with [] => None | (g, v) :: l => if String.eqb g f then Some v else value_of f l end.
Lemma holds_value o t l d f v : holds o t l d -> value_of f l = Some v -> d !! field_cell o t f = Some v.
Proof.
  induction 1 as [|[g w] l Hg Hl IH]; [done|]. simpl. destruct (String.eqb_spec g f) as [->|]; [|done]. by intros [= <-].
Qed.
Lemma holds_has o t l d : holds o t l d -> has_fields o t l.*1 d.
Proof. intros H. unfold has_fields. apply Forall_fmap. eapply Forall_impl; [exact H|]. intros e He. by exists e.2. Qed.
Lemma holds_same o t l d : holds o t l d -> store_fields o t l d = d.
Proof. induction 1 as [|[f v] l Hf Hl IH]; [done|]. simpl in *. rewrite (insert_id d) by done. exact IH. Qed.
Lemma holds_stored o t l d : NoDup l.*1 -> holds o t l (store_fields o t l d).
Proof. intros Hl. apply Forall_forall. intros [f v] Hin. by apply store_fields_value. Qed.
(** Another struct, or another object, is not concerned. *)
Lemma holds_write_other o t l d x v : (forall f, x <> field_cell o t f) -> holds o t l d -> holds o t l (<[x := v]> d).
Proof. intros Hx H. eapply Forall_impl; [exact H|]. intros e He. rewrite own_lookup_ne; [done|]. apply Hx. Qed.
Lemma holds_store_other o t l d o' t' l' : (o, t) <> (o', t') -> holds o t l d -> holds o t l (store_fields o' t' l' d).
Proof.
  intros Hne H. eapply Forall_impl; [exact H|]. intros e He. rewrite store_fields_other; [done|]. intros f E. apply Hne. unfold field_cell in E. congruence.
Qed.

Lemma set_field_names f v l : (set_field f v l).*1 = l.*1.
Proof. induction l as [|[g w] l IH]; [done|]. simpl. destruct (String.eqb g f); [done|]. cbn. f_equal. exact IH. Qed.
Lemma store_fields_again o t l l' d : NoDup l.*1 -> l'.*1 = l.*1 -> store_fields o t l' (store_fields o t l d) = store_fields o t l' d.
Proof.
  intros Hl Hn. apply own_eq. intros x. destruct (decide (Exists (fun f => x = field_cell o t f) l.*1)) as [(f & Hf & ->)%Exists_exists|Hno].
  - assert (exists v, (f, v) ∈ l') as [v Hv].
    { rewrite <- Hn in Hf. apply elem_of_list_fmap in Hf as ([g v] & -> & Hin). by exists v. }
    rewrite <- Hn in Hl. by rewrite !(store_fields_value o t l' _ f v).
  - assert (forall l (d : mem), (forall f, f ∈ l.*1 -> x <> field_cell o t f) -> store_fields o t l d !! x = d !! x) as Ho.
    { clear. induction l as [|[f v] l IH]; intros d H; [done|]. simpl. rewrite IH; [apply own_lookup_ne|]; [intros E; by apply (H f); [left|]|].
      intros g Hg. apply H. by right. }
    assert (forall f, f ∈ l.*1 -> x <> field_cell o t f) as Hx by (intros f Hf E; apply Hno, Exists_exists; by exists f).
    rewrite !Ho; [done| | |]; [by rewrite Hn|exact Hx|by rewrite Hn].
Qed.

(** Stores into a struct, one after the other, are the store of all its fields. *)
Definition written (o : string) (t : Z) (l : list (string * Z)) (d d' : mem) : Prop := NoDup l.*1 /\ d' = store_fields o t l d.
Lemma written_none o t l d : NoDup l.*1 -> holds o t l d -> written o t l d d.
Proof. intros Hl H. split; [done|]. symmetry. by apply holds_same. Qed.
Lemma written_more o t l d d' f v : written o t l d d' -> existsb (String.eqb f) l.*1 = true ->
  written o t (set_field f v l) d (<[field_cell o t f := v]> d').
Proof.
  intros [Hl ->] Hf. split; [by rewrite (set_field_names f v l)|]. apply store_fields_set; [done|].
  apply existsb_exists in Hf as (g & Hg & ->%String.eqb_eq). by apply elem_of_list_In.
Qed.
(** [written_by Hn H]: [H] says what the struct contained, [Hn] that its fields have different names. *)
Ltac written_chain Hn H :=
  first [eapply written_more; [written_chain Hn H|reflexivity]|exact (written_none _ _ _ _ Hn H)].
Ltac written_by Hn H :=
  etrans; [refine (proj2 (_ : written _ _ _ _ _)); written_chain Hn H|]; cbn [set_field String.eqb Ascii.eqb Bool.eqb].
(** [know H f]: what field [f] contains. *)
Ltac know H f := let E := fresh "E" in pose proof (holds_value _ _ _ _ f _ H eq_refl) as E; unfold field_cell in E.
