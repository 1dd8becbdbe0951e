(** Sequential triples about C functions on the cells they own.

    [triple M f args d post]: called with [args] and owning at least the cells [d], function [f] of module [M] returns,
    touches nothing but [d], and leaves in it what [post] says. It holds under every judgement and ghost, so it is proved
    once and used wherever the function is called. *)
From Ashlar Require Export lang.logic.Wp lang.Builtin.

Section triple.
  Context (kernel_entry : Z -> Z) (M : module).

  Definition B : builtins := arch_builtins kernel_entry.

  (** A judgement that private steps of C code on [cpu] may precede. *)
  Definition step_closed {G : Type} (cpu : nat) (J : cfg -> G -> Prop) : Prop :=
    forall s s' g, next B M cpu s = ETau s' -> J s' g -> J s g.

  Definition triple (cpu : nat) (f : string) (args : list Z) (d : mem) (post : Z -> mem -> Prop) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (g : G) (rest : mem) (Q : call_post),
      step_closed cpu J -> d ##ₘ rest ->
      (forall v d', post v d' -> d' ##ₘ rest -> Q v (d' ∪ rest) g) ->
      fwp J f args (d ∪ rest) g Q.

  Lemma triple_mono cpu f args d (post post' : Z -> mem -> Prop) :
    (forall v d', post v d' -> post' v d') -> triple cpu f args d post -> triple cpu f args d post'.
  Proof. intros Hp H G J g rest Q HJ Hd HQ. apply H; auto. Qed.

  (** Owning more does not hurt. *)
  Lemma triple_frame cpu f args d e (post : Z -> mem -> Prop) :
    d ##ₘ e -> triple cpu f args d post ->
    triple cpu f args (d ∪ e) (fun v d' => exists d1, post v d1 /\ d1 ##ₘ e /\ d' = d1 ∪ e).
  Proof.
    intros Hde H G J g rest Q HJ Hd HQ. apply map_disjoint_union_l in Hd as [Hd1 Hd2].
    rewrite <- (assoc_L (∪)). apply H; [done| |].
    - by apply map_disjoint_union_r.
    - intros v d' Hp [Hx Hy]%map_disjoint_union_r. rewrite (assoc_L (∪)). apply HQ; [eauto|].
      by apply map_disjoint_union_l.
  Qed.
End triple.

(** Cells and their values under a store, without computing with maps. *)
Lemma own_read (d rest : mem) (x : cell) (v : Z) : d !! x = Some v -> (d ∪ rest) !! x = Some v.
Proof. intros. by apply lookup_union_Some_l. Qed.
Lemma own_write (d rest : mem) (x : cell) (v : Z) : <[x := v]> (d ∪ rest) = <[x := v]> d ∪ rest.
Proof. apply insert_union_l. Qed.
Lemma own_write_disjoint (d rest : mem) (x : cell) (v : Z) :
  is_Some (d !! x) -> d ##ₘ rest -> <[x := v]> d ##ₘ rest.
Proof.
  intros [w Hw] Hd. apply map_disjoint_insert_l. split; [|done]. by eapply map_disjoint_Some_l.
Qed.
Lemma own_keep (d : mem) (x y : cell) (v : Z) : is_Some (d !! y) -> is_Some (<[x := v]> d !! y).
Proof. intros. apply lookup_insert_is_Some. destruct (decide (x = y)); auto. Qed.

(** [array_size]-like facts: exactly the cells that [P] names are in [d]. *)
Definition exactly (P : cell -> Prop) (d : mem) : Prop := forall x, is_Some (d !! x) <-> P x.
Lemma exactly_write (P : cell -> Prop) (d : mem) (x : cell) (v : Z) :
  exactly P d -> P x -> exactly P (<[x := v]> d).
Proof.
  intros HP Hx y. split.
  - intros [<-|[_ H]]%lookup_insert_is_Some; [done|by apply HP].
  - intros H. apply lookup_insert_is_Some. destruct (decide (x = y)); [auto|]. right. split; [done|by apply HP].
Qed.
