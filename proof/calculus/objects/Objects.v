(** The lock layer over abstract objects, and the simulation relation between its logs and logs over cells.

    Each lock guards at most one object. The CPU that acquires the lock owns the object until it publishes it with the
    release; the object must then be in a valid state. Two logs are related when they have the same events, and published
    cells represent the published object. *)
From Ashlar Require Export calculus.locks.Partition lang.programs.Refine.

Section objects.
  Context (X : layout).

  Definition object_data : lock_data (option (obj_state X)) (objects X) :=
    LockData
      (fun k => obj_initial X <$> obj_of_lock X k)
      (fun k d a => match obj_of_lock X k, d with Some o, Some s => <[o := s]> a | _, _ => a end)
      (fun k a =>
         match obj_of_lock X k with
         | None => Some (None, a)
         | Some o =>
             match a !! o with
             | Some s => if decide (obj_valid X o s) then Some (Some s, delete o a) else None
             | None => None
             end
         end).

  (** What lock [k] publishes as cells and as an object. *)
  Definition same_data (k : Z) (d : mem) (x : option (obj_state X)) : Prop :=
    match obj_of_lock X k with
    | Some o => exists s, x = Some s /\ obj_rep X o s d /\ obj_valid X o s
    | None => x = None /\ d = ∅
    end.

  Definition same_event (e1 : event (lock_event mem)) (e2 : event (lock_event (option (obj_state X)))) : Prop :=
    who e1 = who e2 /\
    match what e1, what e2 with
    | OAcquire k, OAcquire k' => k = k'
    | ORelease k d, ORelease k' x => k = k' /\ same_data k d x
    | OOut v, OOut v' => v = v'
    | _, _ => False
    end.

  Definition same_log : lock_log mem -> lock_log (option (obj_state X)) -> Prop := Forall2 same_event.


  Context (rep_state : forall k o s s' d, obj_of_lock X k = Some o -> obj_rep X o s d -> obj_rep X o s' d -> s = s').

  Lemma same_data_functional k d x x' : same_data k d x -> same_data k d x' -> x = x'.
  Proof using rep_state.
    unfold same_data. destruct (obj_of_lock X k) as [o|] eqn:E.
    - intros (s & -> & Hr & _) (s' & -> & Hr' & _). f_equal. eauto.
    - by intros [-> _] [-> _].
  Qed.
  Lemma same_event_functional e x x' : same_event e x -> same_event e x' -> x = x'.
  Proof using rep_state.
    destruct e as [c o], x as [c1 o1], x' as [c2 o2]. unfold same_event. simpl. intros [<- H1] [<- H2]. f_equal.
    destruct o, o1, o2; try done; try congruence.
    destruct H1 as [<- H1], H2 as [<- H2]. f_equal. by eapply same_data_functional.
  Qed.
  Lemma same_log_functional l x x' : same_log l x -> same_log l x' -> x = x'.
  Proof using rep_state.
    intros H. revert x'. induction H as [|e y l x He Hl IH]; intros x' H'; inversion H' as [|? y' ? x1 He' Hl']; subst; [done|].
    f_equal; [by eapply same_event_functional|by apply IH].
  Qed.
  (** A longer log over cells is related to a longer log over objects. *)
  Lemma same_log_extends e l x y : same_log l x -> same_log (e ++ l) y ->
    exists f, y = f ++ x /\ same_log e f.
  Proof using rep_state.
    intros Hx Hy. apply Forall2_app_inv_l in Hy as (f & x' & Hf & Hx' & ->).
    exists f. split; [|done]. f_equal. by eapply same_log_functional.
  Qed.

  Lemma same_log_others c e f : same_log e f -> Forall (fun x => who x <> c) e -> Forall (fun x => who x <> c) f.
  Proof.
    induction 1 as [|a b e f [Hw _] Hf IH]; [done|]. inversion 1; subst. constructor; [congruence|auto].
  Qed.
  Lemma same_log_holder k l x : same_log l x -> holder k l = holder k x.
  Proof.
    induction 1 as [|e y l x [Hw He] Hl IH]; [done|]. simpl. rewrite IH, Hw.
    destruct (what e), (what y); try done; destruct He; by subst.
  Qed.
  Lemma same_log_held c l x : same_log l x -> held c l = held c x.
  Proof.
    induction 1 as [|e y l x [Hw He] Hl IH]; [done|]. simpl. rewrite IH, Hw.
    destruct (decide (who y = c)); [|done].
    destruct (held c x) as [[|??] ?], (what e), (what y); try done; try (by subst); by destruct He as [-> _].
  Qed.
  Lemma same_log_published init k l x :
    same_data k (init k) (obj_initial X <$> obj_of_lock X k) -> same_log l x ->
    same_data k (published init k l) (published (ld_init object_data) k x).
  Proof.
    intros H0. induction 1 as [|e y l x [Hw He] Hl IH]; [done|]. simpl.
    destruct (what e) as [k1|k1 d|v], (what y) as [k2|k2 d2|v2]; try done.
    destruct He as [<- Hd]. destruct (Z.eqb_spec k1 k) as [->|]; done.
  Qed.
End objects.
