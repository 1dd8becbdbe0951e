(** Clients written as scripts: each CPU follows chapters of calls, in which a result decides what comes next, and values
    that it shows. A chapter ends with a jump to another, or to itself.

    A script is [careful] if each of its calls is total from what is known there, whatever the calls before it returned. *)
From Ashlar Require Export calculus.top.TopTotal calculus.linking.InfiniteExecutions.

Section script.
  Context {label : Type}.
  Inductive script := Invoke (f : string) (args : list Z) (κ : Z -> script) | Show (v : Z) (κ : script) | Jump (l : label).
  Context (chapter : nat -> label -> script).

  Definition script_next (c : nat) (s : script) : client_act script :=
    match s with Invoke f args _ => CCall f args | Show v _ => COut v | Jump l => CTau (chapter c l) end.
  Definition script_return (s : script) (v : Z) : script :=
    match s with Invoke _ _ κ => κ v | Show _ κ => κ | Jump l => Jump l end.
  Definition scripts : client := Client script script_next script_return.

  (** A script shows a value, whatever its calls return, if each of its jumps leads to a chapter that does. *)
  Lemma script_speaks c : (forall l, speaks scripts c (chapter c l)) -> forall s, speaks scripts c s.
  Proof.
    intros Hl s. induction s as [f args κ IH|v κ IH|l]; [by eapply speaks_call|by eapply speaks_now|].
    by eapply speaks_tau; [reflexivity|].
  Qed.

  Section careful.
    Context (X : layout) (may : nat -> Z -> option (obj_state X) -> option (obj_state X) -> Prop).
    Context (S : specification (PRIM := top_prim X) (MEM := objects X)).
    (** What is known at the beginning of a chapter. *)
    Context (home : nat -> label -> objects X -> states X -> Prop).
    Notation stable := (stable X may).
    Notation known := (known X may).
    Notation total := (TopTotal.total X may).

    Fixpoint careful (c : nat) (s : script) (a : objects X) (st : states X) : Prop :=
      known c a st (fun K =>
        match s with
        | Invoke f args κ => exists p, S f args = Some p /\ total c (fun v a' st' => careful c (κ v) a' st') p a K
        | Show _ κ => forall st', K st' -> careful c κ a st'
        | Jump l => forall st', K st' -> home c l a st'
        end).
    Lemma careful_stable c s a : stable c a (careful c s a).
    Proof using. intros st c' k s' H1 H2 H3 H4. destruct s; by eapply (known_stable X may). Qed.

    (** From all states of which [K] is known. *)
    Definition does (c : nat) (s : script) (a : objects X) (K : states X -> Prop) : Prop := forall st, K st -> careful c s a st.
    Lemma does_call c f args κ p a K : stable c a K -> S f args = Some p ->
      total c (fun v a' st' => careful c (κ v) a' st') p a K -> does c (Invoke f args κ) a K.
    Proof using. intros HK Hp Ht st Hst. exists K. split; [done|]. split; [done|]. by exists p. Qed.
    Lemma does_show c v κ a K : stable c a K -> does c κ a K -> does c (Show v κ) a K.
    Proof using. intros HK Hκ st Hst. exists K. split; [done|]. by split. Qed.
    Lemma does_jump c l a K : stable c a K -> (forall st, K st -> home c l a st) -> does c (Jump l) a K.
    Proof using. intros HK Hl st Hst. exists K. split; [done|]. by split. Qed.

    Context (ncpu : nat) (one_lock : forall k k' o, obj_of_lock X k = Some o -> obj_of_lock X k' = Some o -> k = k').
    Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).
    Context (start : nat -> objects X) (start_not_held : forall c k, not_held X (start c) k) (first : nat -> label).
    Context (home_careful : forall c l a st, (c < ncpu)%nat -> home c l a st -> careful c (chapter c l) a st).
    Context (home_start : forall c, (c < ncpu)%nat -> home c (first c) (start c) (fun k => obj_initial X <$> obj_of_lock X k)).

    Theorem scripts_never_wrong : never_wrong ncpu (top_layer X) (system scripts (top_engine X S))
      (fun c => Idle (chapter c (first c) : cstate scripts) (start c)).
    Proof using one_lock initial_valid start_not_held home_careful home_start.
      apply (total_never_wrong X may scripts ncpu S one_lock initial_valid (fun c => chapter c (first c)) start start_not_held careful).
      - intros c s a _. apply careful_stable.
      - intros c Hc. by apply home_careful, home_start.
      - intros c s s' a st Hn Hc Hk. destruct s as [| |l]; try done. injection Hn as <-. destruct Hk as (K & _ & Hst & HJ).
        by apply home_careful, HJ.
      - intros c s v w a st Hn Hk. destruct s as [|v' κ|]; try done. destruct Hk as (K & _ & Hst & HJ). by apply HJ.
      - intros c s f args a st Hn Hc Hk. destruct s as [f' args' κ| |]; try done. injection Hn as <- <-.
        destruct Hk as (K & HK & Hst & p & Hp & Ht). exists p. split; [exact Hp|]. by exists K.
    Qed.
  End careful.
End script.
Arguments script : clear implicits.
