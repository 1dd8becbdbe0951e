(** What has ever happened to an object: at the top every change is one atomic update by a function of the specification.

    [step k s s']: the updates of the object of lock [k] that the specification allows. If every program makes only such
    updates of valid states to valid states, every change in every history is one ([history]). *)
From Ashlar Require Export calculus.top.Top.

Section history.
  Context (X : layout) (step : Z -> obj_state X -> obj_state X -> Prop).
  Notation top_log := (list (event (top_event X))).

  Fixpoint history (l : top_log) : Prop :=
    match l with
    | [] => True
    | Event c (TUpdate _ k s') :: l =>
        (exists o s, obj_of_lock X k = Some o /\ current X k l = Some s /\ obj_valid X o s /\ step k s s') /\ history l
    | _ :: l => history l
    end.

  (** The program makes only updates that are allowed. *)
  Fixpoint steps_only (p : program (top_prim X) (objects X)) : Prop :=
    match p with
    | Ret _ | Fail => True
    | Act (Update k o f) κ =>
        obj_of_lock X k = Some o /\
        (forall s a v s' a', obj_valid X o s -> updated X o f s a = Some (v, s', a') -> step k s s' /\ obj_valid X o s') /\
        forall v, steps_only (κ v)
    | Act (Lock _) κ | Loc _ κ => forall v, steps_only (κ v)
    end.

  Lemma steps_only_bind p κ : steps_only p -> (forall v, steps_only (κ v)) -> steps_only (bind p κ).
  Proof.
    intros Hp Hk. induction p as [v| |q κ' IH|f κ' IH]; simpl in *; auto.
    destruct q; simpl in *; [|auto]. destruct Hp as (? & ? & ?). auto.
  Qed.

  Context (C : client) (ncpu : nat) (S : specification (PRIM := top_prim X) (MEM := objects X)).
  Context (S_steps : forall f args p, S f args = Some p -> steps_only p).
  Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).
  Context (client_start : nat -> cstate C) (a0 : nat -> objects X).
  Notation A := (system C (top_engine X S)).
  Notation P := (fun c => @Idle _ _ C (top_engine X S) (client_start c) (a0 c)).

  Definition follows (t : ast A) : Prop := match t with Idle _ _ => True | Busy _ (p, _) => steps_only p end.

  Lemma follows_tau c t t' : follows t -> anext A c t = ATau t' -> follows t'.
  Proof using S_steps.
    destruct t as [s a|s [p a]]; simpl.
    - intros _. destruct (cnext C c s) as [|s'|f args|v]; try done; [by intros [= <-]|].
      destruct (S f args) as [p|] eqn:E; [|done]. intros [= <-]. simpl. by eapply S_steps.
    - destruct p as [v| |q κ|f κ]; simpl; try done; [by intros _ [= <-]|].
      intros H. destruct (f a) as [[v a']|]; [|done]. intros [= <-]. simpl. auto.
  Qed.

  (** What is published is valid. *)
  Definition all_valid (l : top_log) : Prop := forall k o s, obj_of_lock X k = Some o -> current X k l = Some s -> obj_valid X o s.

  Lemma top_step_history c t p v m o l : follows t -> anext A c t = APrim p -> top_step X c p (amem A t) l = Ok v m o ->
    history l -> all_valid l ->
    follows (aresume A t v m) /\ history (Event c o :: l) /\ all_valid (Event c o :: l).
  Proof using S_steps.
    intros Ht Hn Hp Hl Hv. assert (Hf : follows (aresume A t v m)).
    { destruct t as [s a|s [q a]]; simpl in *; [done|]. destruct q as [w| |q κ|f κ]; simpl in *; try done.
      destruct q; [apply Ht|auto]. }
    split; [done|]. destruct p as [k u f|[f [|k [|? ?]]]]; try done; cbn [top_step] in Hp.
    - destruct (busy X k l); [done|]. destruct (current X k l) as [s|] eqn:E; [|done].
      destruct (updated X u f s (amem A t)) as [[[w s'] a']|] eqn:Ef; [|done]. injection Hp as <- <- <-.
      assert (Hu : obj_of_lock X k = Some u /\ step k s s' /\ obj_valid X u s').
      { destruct t as [x a|x [q a]]; simpl in *.
        - destruct (cnext C c x) as [| |g args|]; try done. by destruct (S g args).
        - destruct q as [y| |q κ|g κ]; try done; [|by destruct (g a) as [[??]|]]. injection Hn as ->.
          destruct Ht as (Ho & Hs & _). split; [done|]. eapply Hs; [|exact Ef]. by eapply Hv. }
      destruct Hu as (Hu & Hs & Hs'). split.
      + split; [|done]. exists u, s. split_and!; [done|done|by eapply Hv|done].
      + intros k1 o1 s1 Ho1. cbn [current what]. destruct (Z.eqb_spec k k1) as [<-|]; [|by apply Hv].
        intros [= <-]. rewrite Hu in Ho1. by injection Ho1 as <-.
    - destruct (String.eqb f ACQUIRE).
      { destruct (busy X k l); [done|]. injection Hp as <- <- <-. by split. }
      destruct (String.eqb f RELEASE).
      { destruct (ld_push (object_data X) k (amem A t)) as [[d a']|] eqn:Epush; [|done]. injection Hp as <- <- <-.
        split; [exact Hl|]. intros k1 o1 s1 Ho1. cbn [current what]. destruct (Z.eqb_spec k k1) as [<-|]; [|by apply Hv].
        intros ->. apply push_inv in Epush. rewrite Ho1 in Epush. destruct Epush as (s & _ & E & Hval & _). by injection E as ->. }
      destruct (String.eqb f OUT); [|done]. injection Hp as <- <- <-. by split.
  Qed.

  Theorem top_history l : traces ncpu (top_layer X) A P l -> history l /\ all_valid l.
  Proof using S_steps initial_valid.
    intros [f Hr].
    assert (H : (forall c, follows (gagent (State (L := top_layer X) (A := A) l f) c)) /\
      history (glog (State (L := top_layer X) (A := A) l f)) /\ all_valid (glog (State (L := top_layer X) (A := A) l f)));
      [|exact (proj2 H)].
    induction Hr as [|g g' Hr (IHf & IHl & IHv) [c Hst]].
    { split_and!; [done|done|]. intros k o s Ho. simpl. rewrite Ho. intros [= <-]. by eapply initial_valid. }
    destruct Hst as [l0 f0 s Hc Hn|l0 f0 p v m o Hc Hn Hsch Hp]; simpl in *.
    - split_and!; [|done|done]. intros c'. unfold update. destruct (decide (c' = c)) as [->|]; [|done].
      by eapply follows_tau.
    - destruct (top_step_history c (f0 c) p v m o l0 (IHf c) Hn Hp IHl IHv) as (H1 & H2 & H3). split_and!; [|done|done].
      intros c'. unfold update. by destruct (decide (c' = c)) as [->|].
  Qed.
End history.
