(** The multicore machine: CPUs that interleave every step over one shared memory.

    This is the model of the hardware. There is one memory of ordinary cells and one set of atomic cells; at each step any
    CPU moves, and reads and writes the shared memory in place. No ownership is checked, no copy is made; the ghost
    primitives [arch_own] and [arch_disown] do nothing but leave a mark in the log. The memory model is sequential
    consistency: all CPUs see all steps in one order. Real x86 is weaker (TSO: a CPU's stores wait in a buffer, atomic ones
    too unless a locked operation follows); that the kernel cannot tell the difference is trusted.

    The code of a CPU is any [agent] that can be run on a memory given from outside ([shareable]). *)
From Ashlar Require Export calculus.logs.Machine lang.Semantics.

(** ** Semantics and their refinement *)

(** A program on a machine: whether it can go wrong, and what can be observed of it. *)
Record semantics (B : Type) := Semantics { never_fails : Prop; behaves : B -> Prop }.
Arguments Semantics {_}. Arguments never_fails {_}. Arguments behaves {_}.

(** Contextual refinement (Definition 1 of the CertiKOS paper): what does not go wrong above does not go wrong below, and
    whatever is observed below can be observed above. *)
Definition refines {B} (low high : semantics B) : Prop :=
  never_fails high -> never_fails low /\ forall b, behaves low b -> behaves high b.

Lemma refines_trans {B} (a b c : semantics B) : refines a b -> refines b c -> refines a c.
Proof. intros Hab Hbc Hc. destruct (Hbc Hc) as [Hb H2]. destruct (Hab Hb) as [Ha H1]. auto. Qed.

(** The same machine, seen through [f]. *)
Definition observed {B B'} (f : B -> B') (S : semantics B) : semantics B' :=
  Semantics (never_fails S) (fun b' => exists b, behaves S b /\ f b = b').
Lemma observed_refines {B B'} (f : B -> B') (low high : semantics B) :
  refines low high -> refines (observed f low) (observed f high).
Proof. intros H Hh. destruct (H Hh) as [Hl Hb]. split; [done|]. intros b' (b & Hlb & <-). exists b. auto. Qed.

(** ** Agents on a memory given from outside *)

(** [aput s m]: state [s] with [m] for its memory. [afoot c s]: the ordinary cells that the next step reads or writes.

    The laws say that memory is just memory: a step that works on some cells works the same if there are more, leaves those
    alone, and neither gains nor loses cells. *)
Record shareable {PRIM} (A : agent PRIM mem) := Shareable {
  aput : ast A -> mem -> ast A;
  afoot : nat -> ast A -> list cell;
  aput_aput s m m' : aput (aput s m) m' = aput s m';
  aput_amem s : aput s (amem A s) = s;
  amem_aput s m : amem A (aput s m) = m;
  aresume_aput s m v m' : aresume A (aput s m) v m' = aresume A s v m';
  aput_aresume s v m m' : aput (aresume A s v m) m' = aresume A s v m';
  anext_more c s rest : amem A s ##ₘ rest ->
    match anext A c s with
    | ADone => anext A c (aput s (amem A s ∪ rest)) = ADone
    | AStuck => True
    | ATau s' => anext A c (aput s (amem A s ∪ rest)) = ATau (aput s' (amem A s' ∪ rest)) /\
        dom (amem A s') =@{gset cell} dom (amem A s)
    | APrim p => anext A c (aput s (amem A s ∪ rest)) = APrim p
    end;
  afoot_owned c s rest x : amem A s ##ₘ rest -> anext A c s <> AStuck ->
    x ∈ afoot c (aput s (amem A s ∪ rest)) -> is_Some (amem A s !! x);
}.
Arguments aput {_ _}. Arguments afoot {_ _}.

(** Where atomic operations are carried out: the atomic cells, and what each operation does to them. Each operation is
    recorded by a mark. [None]: there is no such operation. *)
Record hardware (PRIM : Type) := Hardware {
  hcells : Type;
  hinit : hcells;
  hmark : Type;
  hstep : PRIM -> hcells -> option (Z * hcells * hmark);
}.
Arguments hcells {_}. Arguments hinit {_}. Arguments hmark {_}. Arguments hstep {_}.

(** ** The machine *)

Section multicore.
  Context {PRIM : Type} (ncpu : nat) (H : hardware PRIM) {A : agent PRIM mem} (S : shareable A).
  (** What is assumed of the hardware's fairness when a CPU carries out an atomic operation after these marks. *)
  Context (fairness : nat -> list (event (hmark H)) -> Prop).

  (** The memory inside an agent's state is not used: the shared memory is put in its place before each step. *)
  Record multicore := Multicore {
    mmem : mem;
    mcells : hcells H;
    mlog : list (event (hmark H));
    magent : nat -> ast A;
  }.

  (** What CPU [c] executes now: its own state, and the memory of all. *)
  Definition current (c : nat) (g : multicore) : ast A := aput S (magent g c) (mmem g).

  Inductive multicore_step (c : nat) : multicore -> multicore -> Prop :=
  | multicore_private m x l f s : (c < ncpu)%nat ->
      anext A c (aput S (f c) m) = ATau s ->
      multicore_step c (Multicore m x l f) (Multicore (amem A s) x l (update A f c s))
  | multicore_atomic m x l f p v x' o : (c < ncpu)%nat ->
      anext A c (aput S (f c) m) = APrim p ->
      fairness c l ->
      hstep H p x = Some (v, x', o) ->
      multicore_step c (Multicore m x l f)
        (Multicore m x' (Event c o :: l) (update A f c (aresume A (aput S (f c) m) v m))).

  Definition multicore_start (m : mem) (P : nat -> ast A) : multicore := Multicore m (hinit H) [] P.

  Inductive multicore_reach (m : mem) (P : nat -> ast A) : multicore -> Prop :=
  | multicore_reach_start : multicore_reach m P (multicore_start m P)
  | multicore_reach_step g g' c : multicore_reach m P g -> multicore_step c g g' -> multicore_reach m P g'.

  (** CPU [c] is about to do something undefined, such as an access to a cell that does not exist. *)
  Definition multicore_wrong (c : nat) (g : multicore) : Prop :=
    match anext A c (current c g) with
    | AStuck => True
    | APrim p => fairness c (mlog g) /\ hstep H p (mcells g) = None
    | _ => False
    end.

  (** The programs [P] on the multicore machine. *)
  Definition x86mc (m : mem) (P : nat -> ast A) : semantics (list (event (hmark H))) :=
    Semantics (forall g c, multicore_reach m P g -> (c < ncpu)%nat -> ~ multicore_wrong c g)
      (fun l => exists g, multicore_reach m P g /\ mlog g = l).

  (** Two CPUs are about to touch the same ordinary cell. *)
  Definition conflict (g : multicore) : Prop :=
    exists c c' x, (c < ncpu)%nat /\ (c' < ncpu)%nat /\ c <> c' /\
      x ∈ afoot S c (current c g) /\ x ∈ afoot S c' (current c' g).

  Lemma multicore_step_deterministic c g g1 g2 : multicore_step c g g1 -> multicore_step c g g2 -> g1 = g2.
  Proof. intros H1 H2. destruct H1; inversion H2; subst; simplify_eq; congruence. Qed.

  (** The machine can be run. *)
  Definition execute (c : nat) (g : multicore) : option multicore :=
    match anext A c (current c g) with
    | ATau s => Some (Multicore (amem A s) (mcells g) (mlog g) (update A (magent g) c s))
    | APrim p =>
        match hstep H p (mcells g) with
        | Some (v, x', o) => Some (Multicore (mmem g) x' (Event c o :: mlog g)
            (update A (magent g) c (aresume A (current c g) v (mmem g))))
        | None => None
        end
    | _ => None
    end.

  Lemma execute_step c g g' : (c < ncpu)%nat -> fairness c (mlog g) -> execute c g = Some g' -> multicore_step c g g'.
  Proof.
    intros Hc Hf. unfold execute, current. destruct g as [m x l f]. simpl in *.
    destruct (anext A c _) as [| |s|p] eqn:Hn; try done; [intros [= <-]; by constructor|].
    destruct (hstep H p x) as [[[v x'] o]|] eqn:Hp; [|done]. intros [= <-]. by econstructor.
  Qed.

  (** CPUs move in the given order; one that cannot move is passed over. *)
  Fixpoint play (turns : list nat) (g : multicore) : multicore :=
    match turns with
    | [] => g
    | c :: turns => play turns (match execute c g with Some g' => g' | None => g end)
    end.

  Lemma play_reach m P turns g : (forall c l, fairness c l) -> Forall (fun c => (c < ncpu)%nat) turns ->
    multicore_reach m P g -> multicore_reach m P (play turns g).
  Proof.
    intros Hf Ht. revert g. induction Ht as [|c turns Hc Ht IH]; intros g Hg; simpl; [done|]. apply IH.
    destruct (execute c g) as [g1|] eqn:He; [|done]. eapply multicore_reach_step; [done|]. by eapply execute_step.
  Qed.
End multicore.
Arguments Multicore {_ _ _}. Arguments mmem {_ _ _}. Arguments mcells {_ _ _}.
Arguments mlog {_ _ _}. Arguments magent {_ _ _}.
