(** The hardware's atomic cells, and L0 as the ownership layer over them.

    [atomic_hardware] is what the machine has: a map of atomic cells and an effect for each operation on them. L0
    ([machine/Atomics.v]) knows no map; it replays values from the log, and adds who owns the cells that locks guard. *)
From Ashlar Require Export machine.Ownership machine.Atomics.

(** ** The atomic cells *)

Notation atomic_cells := (gmap Z Z).
(** The value of a cell; all are 0 at first. *)
Definition cell_value (a : Z) (x : atomic_cells) : Z := default 0%Z (x !! a).

(** Which operation a primitive is. *)
Definition atomic_operation (p : cprim) : option atomic_event :=
  match p with
  | ("arch_atomic_load"%string, [a]) => Some (ELoad a)
  | ("arch_atomic_store"%string, [a; v]) => Some (EStore a v)
  | ("arch_atomic_fetch_add"%string, [a; v]) => Some (EFetchAdd a v)
  | ("arch_atomic_swap"%string, [a; v]) => Some (ESwap a v)
  | ("arch_atomic_cas"%string, [a; expected; v]) => Some (ECas a expected v)
  | ("arch_own"%string, [k]) => Some (EOwn k)
  | ("arch_disown"%string, [k]) => Some (EDisown k ∅)
  | ("out"%string, [v]) => Some (EOut v)
  | _ => None
  end.

Definition atomic_result (o : atomic_event) (x : atomic_cells) : Z :=
  match o with ELoad a | EFetchAdd a _ | ESwap a _ | ECas a _ _ => cell_value a x | _ => 0%Z end.

Definition atomic_effect (o : atomic_event) (x : atomic_cells) : atomic_cells :=
  match o with
  | EStore a v | ESwap a v => <[a := v]> x
  | EFetchAdd a v => <[a := wrap W64 (cell_value a x + v)]> x
  | ECas a expected v => if (cell_value a x =? expected)%Z then <[a := v]> x else x
  | _ => x
  end.

Definition atomic_hardware : hardware cprim :=
  Hardware cprim atomic_cells ∅ atomic_event
    (fun p x => match atomic_operation p with Some o => Some (atomic_result o x, atomic_effect o x, o) | None => None end).

(** ** L0 over these cells *)

(** What an event of L0 leaves of itself on the hardware: [arch_disown] moves no data there. *)
Definition atomic_mark (o : atomic_event) : atomic_event :=
  match o with EDisown k _ => EDisown k ∅ | o => o end.

Definition replay_cells (l : atomic_log) : atomic_cells := foldr (fun e x => atomic_effect (what e) x) ∅ l.

Lemma atomic_value_cells a l : atomic_value a l = cell_value a (replay_cells l).
Proof.
  assert (Hin : forall b v x, cell_value a (<[b := v]> x) = if (b =? a)%Z then v else cell_value a x).
  { intros b v x. unfold cell_value. destruct (Z.eqb_spec b a) as [->|]; [by rewrite lookup_insert|].
    by rewrite lookup_insert_ne. }
  induction l as [|e l IH]; [done|]. simpl.
  destruct (what e) as [b|b v|b v|b v|b x v|k|k d|v]; simpl; rewrite ?Hin, ?IH; try done.
  - destruct (Z.eqb_spec b a) as [->|]; done.
  - destruct (Z.eqb_spec b a) as [->|Hne]; simpl.
    + destruct (cell_value a (replay_cells l) =? x)%Z; [|done]. by rewrite Hin, Z.eqb_refl.
    + destruct (cell_value b (replay_cells l) =? x)%Z; [|done]. rewrite Hin. by apply Z.eqb_neq in Hne as ->.
Qed.

Section shape.
  Context (X : lock_data mem mem) (c : nat) (m : mem) (l : atomic_log).

  (** The forms of a step of L0. *)
  Inductive atomics_shape : cprim -> Z -> mem -> atomic_event -> Prop :=
  | shape_load a : atomics_shape ("arch_atomic_load"%string, [a]) (atomic_value a l) m (ELoad a)
  | shape_store a v : atomics_shape ("arch_atomic_store"%string, [a; v]) 0%Z m (EStore a v)
  | shape_fetch_add a v : atomics_shape ("arch_atomic_fetch_add"%string, [a; v]) (atomic_value a l) m (EFetchAdd a v)
  | shape_swap a v : atomics_shape ("arch_atomic_swap"%string, [a; v]) (atomic_value a l) m (ESwap a v)
  | shape_cas a x v : atomics_shape ("arch_atomic_cas"%string, [a; x; v]) (atomic_value a l) m (ECas a x v)
  | shape_own k : owner k l = None ->
      atomics_shape ("arch_own"%string, [k]) 0%Z (ld_pull X k (disowned (ld_init X) k l) m) (EOwn k)
  | shape_disown k d m' : owner k l = Some c -> ld_push X k m = Some (d, m') ->
      atomics_shape ("arch_disown"%string, [k]) 0%Z m' (EDisown k d)
  | shape_out v : atomics_shape ("out"%string, [v]) 0%Z m (EOut v).

  Lemma atomics_step_shape p v m' o : atomics_step X c p m l = Ok v m' o -> atomics_shape p v m' o.
  Proof.
    destruct p as [f args]. unfold atomics_step. intros H.
    repeat match type of H with
           | context [match ?x with _ => _ end] => is_var x; destruct x; try discriminate H
           end.
    all: try (injection H as <- <- <-; constructor).
    - destruct (owner _ _) eqn:E; [done|]. injection H as <- <- <-. by constructor.
    - destruct (decide _); [|done]. destruct (ld_push X z m) as [[d m1]|] eqn:E; [|done].
      injection H as <- <- <-. by constructor.
  Qed.

  Lemma atomics_step_not_blocked p : atomics_step X c p m l <> Blocked.
  Proof.
    destruct p as [f args]. unfold atomics_step. intros H.
    repeat match type of H with
           | context [match ?x with _ => _ end] => is_var x; destruct x; try discriminate H
           end.
    - by destruct (owner _ _).
    - destruct (decide _); [|done]. by destruct (ld_push X z m) as [[??]|].
  Qed.
End shape.

Section ownership.
  Context (init : Z -> mem) (guarded : Z -> mem -> mem) (sched : nat -> atomic_log -> Prop).
  (** What a lock guards is part of what its owner has. *)
  Context (GUARDED : forall k m, guarded k m ⊆ m).

  Definition atomic_ownership : ownership atomic_hardware :=
    Ownership cprim atomic_hardware (Layer atomic_event (atomics_step (cell_data init guarded)) sched)
      (fun k l => owner k l = None) (disowned init) atomic_mark replay_cells.

  Theorem atomic_ownership_ok : ownership_ok atomic_ownership.
  Proof using GUARDED.
    split; [done| |].
    - intros c p m l v m' o Hst. pose proof (atomics_step_shape _ _ _ _ _ _ _ _ Hst) as Hsh. clear Hst.
      destruct Hsh as [a|a u|a u|a u|a x u|k Hk|k d m' Hk Hpush|u]; (split; [simpl; by rewrite ?atomic_value_cells|]).
      1, 2, 3, 4, 5, 8: by apply exchange_none.
      + eapply (exchange_pull _ _ _ _ _ k); [done|done|]. intros k' Hk'. simpl in *.
        destruct (Z.eqb_spec k k') as [->|]; [done|]. split_and!; congruence.
      + simpl in Hpush. injection Hpush as <- <-. apply (exchange_push _ _ _ _ _ k (guarded k m)).
        * symmetry. by apply map_difference_union.
        * by apply map_disjoint_difference_r.
        * intros k' Hk'. simpl in *. destruct (Z.eqb_spec k k') as [->|]; [by left|]. right. split_and!; congruence.
    - intros c p m l. apply atomics_step_not_blocked.
  Qed.

  (** What a scheduler assumption may look at is the same in the log that the hardware shows. *)
  Lemma events_since_move_erase c l : events_since_move c (erase atomic_ownership l) = events_since_move c l.
  Proof. induction l as [|e l IH]; simpl; [done|]. destruct (decide _); [done|]. by f_equal. Qed.
  Lemma owner_erase k l : owner k (erase atomic_ownership l) = owner k l.
  Proof. induction l as [|[c o] l IH]; simpl; [done|]. destruct o; simpl; try done; by case_match. Qed.
  Lemma atomic_value_erase a l : atomic_value a (erase atomic_ownership l) = atomic_value a l.
  Proof.
    rewrite !atomic_value_cells. f_equal. induction l as [|[c o] l IH]; simpl; [done|].
    destruct o; simpl in *; by rewrite <- IH.
  Qed.

  (** What the world sees: the values shown, by whom. *)
  Definition shown (l : atomic_log) : list (nat * Z) :=
    omap (fun e => match what e with EOut v => Some (who e, v) | _ => None end) l.
  Lemma shown_erase l : shown (erase atomic_ownership l) = shown l.
  Proof. induction l as [|[c o] l IH]; simpl; [done|]. by destruct o; simpl; rewrite <- ?IH. Qed.
End ownership.
