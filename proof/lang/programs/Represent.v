(** Abstract objects and the cells that represent them.

    [rep o s d]: exactly the cells [d] represent object [o] in state [s]. A CPU that holds the objects [a] owns the cells
    [m] with [represents a m]: one disjoint piece for each object and nothing else. *)
From Ashlar Require Export lang.Semantics.

Section represents.
  Context {O V : Type} `{Countable O} (rep : O -> V -> mem -> Prop).

  Inductive represents : gmap O V -> mem -> Prop :=
  | represents_empty : represents ∅ ∅
  | represents_insert o s d a m :
      a !! o = None -> rep o s d -> d ##ₘ m -> represents a m -> represents (<[o := s]> a) (d ∪ m).

  (** Opening an object: its cells, and the rest. *)
  Lemma represents_open a m o s : represents a m -> a !! o = Some s ->
    exists d rest, rep o s d /\ d ##ₘ rest /\ m = d ∪ rest /\ represents (delete o a) rest.
  Proof.
    induction 1 as [|o' s' d' a m Hn Hr Hd Ha IH]; intros Ho; [by rewrite lookup_empty in Ho|].
    destruct (decide (o' = o)) as [->|Hne].
    - rewrite lookup_insert in Ho. simplify_eq. exists d', m. by rewrite delete_insert.
    - rewrite lookup_insert_ne in Ho by done. destruct (IH Ho) as (d & rest & Hr' & Hd' & -> & Ha').
      apply map_disjoint_union_r in Hd as [Hd1 Hd2].
      exists d, (d' ∪ rest). split_and!; [done| | |].
      + apply map_disjoint_union_r. by split.
      + rewrite !(assoc_L (∪)). f_equal. by apply map_union_comm.
      + rewrite delete_insert_ne by done. constructor; [by rewrite lookup_delete_ne|done..].
  Qed.

  (** Closing it again in a new state. *)
  Lemma represents_close a rest o s d :
    represents (delete o a) rest -> rep o s d -> d ##ₘ rest -> represents (<[o := s]> a) (d ∪ rest).
  Proof.
    intros Ha Hr Hd. rewrite <- insert_delete_insert. constructor; [apply lookup_delete|done..].
  Qed.

  Lemma represents_absent a m o s d :
    a !! o = None -> represents a m -> rep o s d -> d ##ₘ m -> represents (<[o := s]> a) (d ∪ m).
  Proof. intros. by constructor. Qed.

  Lemma represents_single o s m : represents {[o := s]} m -> rep o s m.
  Proof.
    intros Ha. destruct (represents_open _ _ o s Ha) as (d & rest & Hr & Hd & -> & Hrest); [apply lookup_singleton|].
    rewrite delete_singleton in Hrest. assert (rest = ∅) as ->; [|by rewrite (right_id_L ∅ (∪))].
    remember ∅ as e eqn:E. destruct Hrest as [|o' s' d' a m]; [done|]. by apply insert_non_empty in E.
  Qed.
End represents.

(** The objects of a kernel and how locks guard them. [object_of k]: the object that lock [k] guards, if any;
    [valid o s]: what every state of it that is published satisfies; [initial o]: its state after start-up. *)
Record layout := Layout {
  obj : Type;
  obj_eq : EqDecision obj;
  obj_countable : Countable obj;
  obj_state : Type;
  obj_rep : obj -> obj_state -> mem -> Prop;
  obj_of_lock : Z -> option obj;
  obj_valid : obj -> obj_state -> Prop;
  obj_valid_dec : forall o s, Decision (obj_valid o s);
  obj_initial : obj -> obj_state;
}.
Global Existing Instances obj_eq obj_countable obj_valid_dec.

(** The objects a CPU holds. *)
Notation objects X := (gmap (obj X) (obj_state X)).
