(** The top: objects with atomic updates.

    At the top a function that only updates one locked object is a single event: the update of the object's state by a
    function. It may also change what the CPU holds besides, as the content of a frame that it takes. Locks of such
    objects are not visible any more. A function that holds a lock while it calls other layers is
    a transaction: its beginning ([TBegin], the object is taken) and end ([TEnd], the object is back in a new state) are
    events, and no one can use the object in between. The state of an object is the last that was published. *)
From Ashlar Require Export calculus.locks.Discipline.

Section top.
  Context (X : layout).

  Inductive top_prim :=
  | Update (k : Z) (o : obj X) (f : objects X -> option (Z * objects X))
  | Lock (p : cprim).

  Inductive top_event :=
  | TUpdate (k : Z) (s : obj_state X)
  | TBegin (k : Z)
  | TEnd (k : Z) (s : option (obj_state X))
  | TOut (v : Z).

  Notation top_log := (list (event top_event)).

  (** Whose transaction on the object of lock [k] is under way. *)
  Fixpoint busy (k : Z) (l : top_log) : option nat :=
    match l with
    | [] => None
    | e :: l =>
        match what e with
        | TBegin k' => if k' =? k then Some (who e) else busy k l
        | TEnd k' _ => if k' =? k then None else busy k l
        | _ => busy k l
        end
    end.

  (** The state of the object of lock [k]. *)
  Fixpoint current (k : Z) (l : top_log) : option (obj_state X) :=
    match l with
    | [] => obj_initial X <$> obj_of_lock X k
    | e :: l =>
        match what e with
        | TUpdate k' s => if k' =? k then Some s else current k l
        | TEnd k' s => if k' =? k then s else current k l
        | _ => current k l
        end
    end.

  (** What update [f] of object [o] does in state [s], for a CPU that holds [a]: result, new state, what the CPU holds. *)
  Definition updated (o : obj X) (f : objects X -> option (Z * objects X)) (s : obj_state X) (a : objects X) :
      option (Z * obj_state X * objects X) :=
    match f (<[o := s]> a) with
    | Some (v, a') => match a' !! o with Some s' => Some (v, s', delete o a') | None => None end
    | None => None
    end.

  Definition top_step (c : nat) (p : top_prim) (a : objects X) (l : top_log) : outcome (objects X) top_event :=
    match p with
    | Update k o f =>
        match busy k l, current k l with
        | None, Some s => match updated o f s a with Some (v, s', a') => Ok v a' (TUpdate k s') | None => Wrong end
        | None, None => Wrong
        | Some _, _ => Blocked
        end
    | Lock (f, [k]) =>
        if String.eqb f ACQUIRE then
          match busy k l with
          | None => Ok 0 (ld_pull (object_data X) k (current k l) a) (TBegin k)
          | Some _ => Blocked
          end
        else if String.eqb f RELEASE then
          match ld_push (object_data X) k a with
          | Some (d, a') => Ok 0 a' (TEnd k d)
          | None => Wrong
          end
        else if String.eqb f OUT then Ok 0 a (TOut k)
        else Wrong
    | _ => Wrong
    end.

  Definition top_layer : layer top_prim (objects X) := Layer top_event top_step (fun _ _ => True).

  Notation top_program := (program top_prim (objects X)).

  (** What an atomic update stands for below. *)
  Definition locked_with (k : Z) (f : objects X -> option (Z * objects X)) (κ : Z -> prog X) : prog X :=
    Act (ACQUIRE, [k]) (fun _ => Loc f (fun v => Act (RELEASE, [k]) (fun _ => κ v))).
  Fixpoint expand (p : top_program) : prog X :=
    match p with
    | Ret v => Ret v
    | Fail => Fail
    | Act (Update k o f) κ => locked_with k f (fun v => expand (κ v))
    | Act (Lock q) κ => Act q (fun v => expand (κ v))
    | Loc f κ => Loc f (fun v => expand (κ v))
    end.

  Definition expand_spec (S : specification (PRIM := top_prim) (MEM := objects X)) :
      specification (PRIM := cprim) (MEM := objects X) :=
    fun f args => expand <$> S f args.

  Definition top_engine (S : specification) : engine top_prim (objects X) :=
    program_engine S (fun v => Lock (OUT, [v])).

  (** Locks used for atomic updates only, and for transactions only. *)
  Fixpoint atomic_locks (atomic : Z -> bool) (p : top_program) : Prop :=
    match p with
    | Ret _ | Fail => True
    | Act (Update k o f) κ => atomic k = true /\ obj_of_lock X k = Some o /\ forall v, atomic_locks atomic (κ v)
    | Act (Lock (g, [k])) κ => (g = OUT \/ atomic k = false) /\ forall v, atomic_locks atomic (κ v)
    | Act (Lock _) κ => False
    | Loc f κ => forall v, atomic_locks atomic (κ v)
    end.

  (** The top's view of an event below. *)
  Definition top_view (atomic : Z -> bool) (e : event (lock_event (option (obj_state X)))) : top_log :=
    match what e with
    | OAcquire k => if atomic k then [] else [Event (who e) (TBegin k)]
    | ORelease k s =>
        if atomic k then match s with Some s => [Event (who e) (TUpdate k s)] | None => [] end
        else [Event (who e) (TEnd k s)]
    | OOut v => [Event (who e) (TOut v)]
    end.
  Definition top_views (atomic : Z -> bool) (l : lock_log (option (obj_state X))) : top_log :=
    flat_map (top_view atomic) l.

  Section views.
    Context (atomic : Z -> bool).
    Implicit Types l : lock_log (option (obj_state X)).

    Lemma top_views_app e l : top_views atomic (e ++ l) = top_views atomic e ++ top_views atomic l.
    Proof. apply flat_map_app. Qed.
    Lemma top_views_others c e : Forall (fun x => who x <> c) e ->
      Forall (fun x => who x <> c) (top_views atomic e).
    Proof.
      induction 1 as [|x e Hx He IH]; [constructor|]. simpl. apply Forall_app. split; [|done].
      unfold top_view. repeat case_match; repeat constructor; done.
    Qed.
    Lemma busy_view k l : atomic k = false -> busy k (top_views atomic l) = holder k l.
    Proof.
      intros Hk. induction l as [|[c o] l IH]; [done|]. simpl. destruct o as [k'|k' s|v]; unfold top_view; simpl.
      - destruct (Z.eqb_spec k' k) as [->|Hne].
        + rewrite Hk. simpl. by rewrite Z.eqb_refl.
        + destruct (atomic k'); simpl; [done|]. rewrite (proj2 (Z.eqb_neq k' k)) by done. done.
      - destruct (Z.eqb_spec k' k) as [->|Hne].
        + rewrite Hk. simpl. by rewrite Z.eqb_refl.
        + destruct (atomic k'), s; simpl; try done; rewrite (proj2 (Z.eqb_neq k' k)) by done; done.
      - done.
    Qed.
    Lemma busy_atomic k l : atomic k = true -> busy k (top_views atomic l) = None.
    Proof.
      intros Hk. induction l as [|[c o] l IH]; [done|]. simpl. destruct o as [k'|k' s|v]; unfold top_view; simpl; [| |done].
      - destruct (Z.eqb_spec k' k) as [->|Hne]; [by rewrite Hk|].
        destruct (atomic k'); simpl; [done|]. rewrite (proj2 (Z.eqb_neq k' k)) by done. done.
      - destruct (Z.eqb_spec k' k) as [->|Hne]; [rewrite Hk; by destruct s|].
        destruct (atomic k'), s; simpl; try done; rewrite (proj2 (Z.eqb_neq k' k)) by done; done.
    Qed.
    Lemma current_view k l : (forall c d, Event c (ORelease k d) ∈ l -> is_Some d \/ atomic k = false) ->
      current k (top_views atomic l) = published (ld_init (object_data X)) k l.
    Proof.
      induction l as [|[c o] l IH]; intros Hs; [done|].
      assert (IH' : current k (top_views atomic l) = published (ld_init (object_data X)) k l).
      { apply IH. intros c' d Hin. apply (Hs c' d). by right. }
      simpl. destruct o as [k'|k' s|v]; unfold top_view; simpl; [| |done].
      - destruct (atomic k'); done.
      - destruct (Z.eqb_spec k' k) as [->|Hne].
        + destruct (Hs c s) as [[s' ->]|Hk]; [left| |].
          * destruct (atomic k); simpl; by rewrite Z.eqb_refl.
          * rewrite Hk. simpl. by rewrite Z.eqb_refl.
        + destruct (atomic k'), s; simpl; try done; rewrite (proj2 (Z.eqb_neq k' k)) by done; done.
    Qed.
  End views.
End top.
Arguments Update {_}. Arguments Lock {_}.
