(** Objects that no lock guards: each CPU owns its own from the start.

    [own_slot]: such an object's name, its state as a case of all objects' states, and which cells represent it.
    [own_function]: the program of a C function that only works on it, one private step. Its proof needs what the C body
    does on the object's cells ([body_triple], of which a [triple] follows). *)
From Ashlar Require Export lang.programs.Continuation lang.logic.Body calculus.top.TopHistory.

Record own_slot (X : layout) (S : Type) (srep : S -> mem -> Prop) := OwnSlot {
  own_object : obj X;
  own_in : S -> obj_state X;
  own_out : obj_state X -> option S;
  own_out_in : forall s, own_out (own_in s) = Some s;
  own_free : forall k, obj_of_lock X k <> Some own_object;
  own_rep : forall st d, obj_rep X own_object st d <-> exists s, st = own_in s /\ srep s d;
}.
Arguments own_object {_ _ _}. Arguments own_in {_ _ _}. Arguments own_out {_ _ _}. Arguments own_out_in {_ _ _}.
Arguments own_free {_ _ _}. Arguments own_rep {_ _ _}.

Section own.
  Context {X : layout} {S : Type} {srep : S -> mem -> Prop} (H : own_slot X S srep).
  Notation o := (own_object H).

  (** A step on the CPU's own object. *)
  Definition on_own (g : S -> option (Z * S)) (a : objects X) : option (Z * objects X) :=
    match a !! o with
    | Some st =>
        match own_out H st with
        | Some s => match g s with Some (v, s') => Some (v, <[o := own_in H s']> a) | None => None end
        | None => None
        end
    | None => None
    end.
  Lemma on_own_inv g a v a' : on_own g a = Some (v, a') -> exists st s s',
    a !! o = Some st /\ own_out H st = Some s /\ g s = Some (v, s') /\ a' = <[o := own_in H s']> a.
  Proof.
    unfold on_own. destruct (a !! o) as [st|]; [|done]. destruct (own_out H st) as [s|] eqn:Es; [|done].
    destruct (g s) as [[w s']|] eqn:Eg; [|done]. intros [= -> <-]. by exists st, s, s'.
  Qed.
  Lemma on_own_private g a v a' : on_own g a = Some (v, a') -> same_locked X a a'.
  Proof.
    intros (st & s & s' & _ & _ & _ & ->)%on_own_inv k u Hu. apply lookup_insert_ne. intros <-. by apply (own_free H k).
  Qed.

  (** The program of a function with step [f args]; [None]: other arguments. *)
  Definition own_function {P} (f : list Z -> option (S -> option (Z * S))) (args : list Z)
      (κ : Z -> program P (objects X)) : program P (objects X) :=
    match f args with Some g => Loc (on_own g) κ | None => Fail end.

  Lemma own_function_continuation f : has_continuation X (own_function f).
  Proof. intros args κ. unfold own_function. destruct (f args); [|constructor]. simpl. apply same_refl. Qed.

End own.

Section performs.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Notation sim := (sim X kernel_entry M cpu).

  (** The C function [f] does what the program [spec] says, whether C code calls it or a client. *)
  Definition performs (f : string) (spec : list Z -> (Z -> prog X) -> prog X) : Prop :=
    (forall Post args m a κ (Q : call_post), rep X a m ->
       (forall v m' a', yields X (spec args Ret) a v a' -> rep X a' m' -> Q v m' (κ v, a')) ->
       fwp (G := pstate X) (sim Post) f args m (spec args κ, a) Q) /\
    exists fd, M f = Some fd /\ forall args m a, rep X a m ->
      length args = fn_params fd /\ sim (returns X kernel_entry M cpu) (enter fd args [KEnd] m) (spec args Ret, a)
      \/ spec args Ret = Fail.

  Lemma implements_then_performs f spec : implements_then X kernel_entry M cpu f spec -> performs f spec.
  Proof.
    intros Hi. split; [intros; by apply fwp_then|]. destruct (id Hi) as (fd & HM & _). exists fd. split; [done|].
    intros args m a Hr. by eapply implements_then_start.
  Qed.

  (** A function that works on the CPU's own object only. *)
  Context {S : Type} {srep : S -> mem -> Prop} (H : own_slot X S srep).
  Notation o := (own_object H).

  Lemma open_own a m g v a' : rep X a m -> on_own H g a = Some (v, a') -> exists s s' d rest,
    g s = Some (v, s') /\ srep s d /\ d ##ₘ rest /\ m = d ∪ rest /\
    forall d', srep s' d' -> d' ##ₘ rest -> rep X a' (d' ∪ rest).
  Proof.
    intros Hr (st & s & s' & Hst & Es & Hg & ->)%on_own_inv.
    destruct (represents_open _ _ _ o st Hr Hst) as (d & rest & Hd & Hdis & -> & Hrest).
    apply own_rep in Hd as (s1 & -> & Hd). rewrite own_out_in in Es. injection Es as ->.
    exists s, s', d, rest. split_and!; [done..|]. intros d' Hd' Hdis'. apply represents_close; [done|apply own_rep; eauto|done].
  Qed.

  Theorem own_function_performs name fd f : M name = Some fd ->
    (forall args g, f args = Some g -> length args = fn_params fd) ->
    (forall args g s v s' d, f args = Some g -> g s = Some (v, s') -> srep s d ->
       body_triple kernel_entry M cpu name args d (fun w d' => w = v /\ srep s' d')) ->
    performs name (own_function H f).
  Proof.
    intros Hfd Hlen Hb. split.
    - intros Post args m a κ Q Hr HQ. unfold own_function in *. destruct (f args) as [g|] eqn:Ef; [|apply fwp_fail].
      apply fwp_loc. intros v a' Hg. destruct (open_own a m g v a' Hr Hg) as (s & s' & d & rest & Hgs & Hd & Hdis & -> & Hend).
      eapply fwp_triple; [eapply body_triple_triple, Hb; done|exact Hdis|]. intros w d' [-> Hd'] Hdis'.
      apply HQ; [|by apply Hend]. eapply yields_loc; [exact Hg|constructor].
    - exists fd. split; [done|]. intros args m a Hr. unfold own_function in *.
      destruct (f args) as [g|] eqn:Ef; [left|by right]. split; [by eapply Hlen|].
      destruct (on_own H g a) as [[v a']|] eqn:Hg; [|by apply sim_loc_fail]. eapply sim_loc; [exact Hg|].
      destruct (open_own a m g v a' Hr Hg) as (s & s' & d & rest & Hgs & Hd & Hdis & -> & Hend).
      destruct (Hb args g s v s' d Ef Hgs Hd) as (fd' & Hfd' & _ & Ho). rewrite Hfd in Hfd'. injection Hfd' as <-.
      unfold enter. eapply (wp_sound (arch_builtins kernel_entry) M cpu (sim (returns X kernel_entry M cpu)));
        [apply sim_step_closed|exact (Ho _ _ (Ret v, a') rest (sim_step_closed X kernel_entry M cpu _) Hdis)|]. split_and!.
      + intros r m' g' (d' & -> & Hdis' & -> & <- & Hd'). apply sim_post. exists 0, (d' ∪ rest). split_and!; auto.
      + intros r m' g' (d' & _ & _ & _ & []).
      + intros w m' g' st (d' & -> & Hdis' & -> & -> & Hd') Hn. apply sim_post. exists v, (d' ∪ rest). split_and!; auto.
  Qed.
End performs.

(** ** At the top, where the program is the same: a private step, no event *)
Section top.
  Context {X : layout} {S : Type} {srep : S -> mem -> Prop} (H : own_slot X S srep).
  Notation top_program := (program (top_prim X) (objects X)).

  Definition top_own (f : list Z -> option (S -> option (Z * S))) (args : list Z) : top_program := own_function H f args Ret.

  Lemma same_own f args : same (own_function H f args Ret) (expand X (top_own f args)).
  Proof. unfold top_own, own_function. destruct (f args); [|constructor]. constructor. intros v. constructor. Qed.
  Lemma own_updates nlock limit f args : updates X nlock limit 0 (top_own f args).
  Proof.
    unfold top_own, own_function. destruct (f args) as [g|]; [|constructor].
    constructor; [intros; by eapply on_own_private|]. intros v. constructor.
  Qed.
  Lemma own_steps step f args : steps_only X step (top_own f args).
  Proof. unfold top_own, own_function. by destruct (f args). Qed.

  (** An object's state satisfies what its representation demands, whenever its CPU is between two functions. *)
  Lemma own_holds (I : S -> Prop) a m s : (forall s d, srep s d -> I s) -> rep X a m -> a !! own_object H = Some (own_in H s) -> I s.
  Proof.
    intros HI Hr Ha. destruct (represents_open _ _ _ _ _ Hr Ha) as (d & rest & Hd & _).
    apply own_rep in Hd as (s' & E & Hd). apply (f_equal (own_out H)) in E. rewrite !own_out_in in E. injection E as ->. by eapply HI.
  Qed.
End top.
