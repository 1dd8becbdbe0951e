(** Ownership of cells, replayed from the log: at every moment each cell belongs to one CPU or to one free lock.

    [owned c l]: the cells of CPU [c]; acquiring a lock adds what it guards, releasing takes away what is published. *)
From Ashlar Require Export calculus.locks.Exclusion.

Section partition.
  Context (init : Z -> mem) (start : nat -> gset cell).
  Implicit Types l : lock_log mem.

  Fixpoint owned (c : nat) l : gset cell :=
    match l with
    | [] => start c
    | e :: l =>
        if decide (who e = c) then
          match what e with
          | OAcquire k => owned c l ∪ dom (published init k l)
          | ORelease _ d => owned c l ∖ dom d
          | OOut _ => owned c l
          end
        else owned c l
    end.

  Definition partitioned l : Prop :=
    (forall c c', c <> c' -> owned c l ## owned c' l) /\
    (forall c k, holder k l = None -> owned c l ## dom (published init k l)) /\
    (forall k k', k <> k' -> holder k l = None -> holder k' l = None ->
       dom (published init k l) ## dom (published init k' l)).

  Lemma owned_other c e l : who e <> c -> owned c (e :: l) = owned c l.
  Proof. intros. simpl. by rewrite decide_False. Qed.
  Lemma owned_others c (e : lock_log mem) l : Forall (fun x => who x <> c) e -> owned c (e ++ l) = owned c l.
  Proof. induction 1; [done|]. simpl. by rewrite decide_False. Qed.

  Lemma partitioned_out c v l : partitioned l -> partitioned (Event c (OOut v) :: l).
  Proof.
    intros (H1 & H2 & H3).
    assert (Ho : forall c', owned c' (Event c (OOut v) :: l) = owned c' l).
    { intros c'. simpl. by destruct (decide (c = c')). }
    split_and!; intros *; rewrite ?Ho; simpl; auto.
  Qed.

  Lemma partitioned_acquire c k l :
    partitioned l -> holder k l = None -> partitioned (Event c (OAcquire k) :: l).
  Proof.
    intros (H1 & H2 & H3) Hk. split_and!.
    - intros c1 c2 Hne. simpl. destruct (decide (c = c1)) as [<-|]; destruct (decide (c = c2)) as [<-|]; [done| | |auto].
      + apply disjoint_union_l. split; [auto|]. symmetry. by apply H2.
      + apply disjoint_union_r. split; [auto|]. by apply H2.
    - intros c1 k1. simpl. destruct (Z.eqb_spec k k1) as [<-|Hne]; [done|]. intros Hk1.
      destruct (decide (c = c1)) as [<-|]; [|auto]. apply disjoint_union_l. auto.
    - intros k1 k2 Hne. simpl. destruct (Z.eqb_spec k k1); [done|]. destruct (Z.eqb_spec k k2); [done|]. auto.
  Qed.

  Lemma partitioned_release c k d l :
    partitioned l -> dom d ⊆ owned c l -> partitioned (Event c (ORelease k d) :: l).
  Proof.
    intros (H1 & H2 & H3) Hd.
    assert (Hsub : forall c1, owned c1 (Event c (ORelease k d) :: l) ⊆ owned c1 l).
    { intros c1. simpl. destruct (decide (c = c1)) as [<-|]; [|done]. apply subseteq_difference_l. done. }
    assert (Hdis : forall c1, owned c1 (Event c (ORelease k d) :: l) ## dom d).
    { intros c1. simpl. destruct (decide (c = c1)) as [<-|].
      - apply disjoint_difference_l1. done.
      - intros x Hx Hx'. apply (H1 c c1) with x; auto. }
    split_and!.
    - intros c1 c2 Hne x Hx Hx'. apply (H1 c1 c2 Hne x); by apply Hsub.
    - intros c1 k1. simpl holder. simpl published. destruct (Z.eqb_spec k k1) as [<-|Hne].
      + intros _. simpl. apply Hdis.
      + intros Hk1. simpl. intros x Hx Hx'. apply (H2 c1 k1 Hk1 x); [by apply Hsub|done].
    - intros k1 k2 Hne. simpl.
      destruct (Z.eqb_spec k k1) as [<-|], (Z.eqb_spec k k2) as [<-|]; [done| | |auto].
      + intros _ Hk2 x Hx Hx'. apply (H2 c k2 Hk2 x); auto.
      + intros Hk1 _ x Hx Hx'. apply (H2 c k1 Hk1 x); auto.
  Qed.

  (** At the start. *)
  Lemma partitioned_nil :
    (forall c c', c <> c' -> start c ## start c') ->
    (forall c k, start c ## dom (init k)) ->
    (forall k k', k <> k' -> dom (init k) ## dom (init k')) -> partitioned [].
  Proof. intros H1 H2 H3. split_and!; simpl; auto. Qed.
End partition.
