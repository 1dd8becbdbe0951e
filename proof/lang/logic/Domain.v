(** Private steps of C code neither gain nor lose cells. *)
From Ashlar Require Export lang.Builtin.
From stdpp Require Import fin_map_dom.

Lemma frame_cells_dom frame v m : owns_frame frame m -> dom (frame_cells frame v ∪ m) =@{gset cell} dom m.
Proof.
  unfold owns_frame, frame_cells. generalize (seq 0 512) as ws. intros ws Ho.
  etrans; [apply (fin_map_dom.dom_union_L (M:=gmap cell) (D:=gset cell))|].
  apply subseteq_union_1_L. intros x Hx. apply elem_of_dom in Hx as [w Hw].
  apply elem_of_list_to_map_2, elem_of_list_fmap in Hw as (i & Hi & Hin). injection Hi as -> ->.
  rewrite Forall_forall in Ho. apply elem_of_dom. by apply Ho.
Qed.

Global Opaque frame_cells.
Global Typeclasses Opaque owns_frame.
Opaque owns_frame_decision.

Lemma some_pair {A B} (a c : A) (b d : B) : Some (a, b) = Some (c, d) -> a = c /\ b = d.
Proof. intros H. by injection H. Qed.

Section domain.
  Context (kernel_entry : Z -> Z).

  Lemma builtin_dom cpu f args m v m' :
    arch_builtins kernel_entry cpu f args m = Some (Some (v, m')) -> dom m' =@{gset cell} dom m.
  Proof.
    unfold arch_builtins. intros H.
    repeat match type of H with
           | (if String.eqb f ?n then _ else _) = _ => destruct (String.eqb f n)
           end; [..|done]; injection H as H.
    - destruct args; [|done]. by injection H as <- <-.
    - destruct args; [|done]. by injection H as <- <-.
    - destruct args as [|w [|??]]; try done. case_bool_decide; [|done]. by injection H as <- <-.
    - destruct args as [|w [|??]]; try done. case_bool_decide; [|done]. by injection H as <- <-.
    - destruct args as [|x [|w [|??]]]; try done. destruct (m !! _); [|done]. by injection H as <- <-.
    - destruct args as [|x [|w [|y [|??]]]]; try done. destruct (m !! frame_word x w) as [u|] eqn:E; [|done].
      injection H as <- <-. apply (fin_map_dom.dom_insert_lookup_L (D:=gset cell)). by exists u.
    - destruct args as [|x [|??]]; try done. destruct (decide (owns_frame x m)) as [Ho|]; [|done].
      apply some_pair in H as [_ <-]. by apply frame_cells_dom.
    - destruct args as [|root [|??]]; try done. case_bool_decide; [|done]. by injection H as <- <-.
    - destruct args; [|done]. by injection H as <- <-.
  Qed.

  Lemma return_to_dom k v m s : return_to k v m = ETau s -> cm s = m.
  Proof. unfold return_to. intros H. repeat (case_match; try done); by simplify_eq. Qed.

  Lemma next_dom M cpu s s' : next (arch_builtins kernel_entry) M cpu s = ETau s' -> dom (cm s') =@{gset cell} dom (cm s).
  Proof.
    destruct s as [k r m]. destruct k as [|[st|c b|x r0|] k]; cbn [next cm]; try done.
    - destruct st; try (intros; repeat (case_match; try done); simplify_eq; done).
      + intros. repeat (case_match; try done). simplify_eq. simpl. by apply (fin_map_dom.dom_insert_lookup_L (D:=gset cell)).
      + case_match; [|done]. intros Hd%return_to_dom. by rewrite Hd.
      + intros. repeat (case_match; try done); simplify_eq; try done. simpl. by eapply builtin_dom.
    - by intros [= <-].
    - intros H%return_to_dom. by rewrite H.
    - intros H%return_to_dom. by rewrite H.
  Qed.
End domain.
