(** C functions of several parts, which may call each other: specification programs in continuation-passing style.

    [implements_then f spec]: the C function [f] has the specification program [spec args κ], where the continuation [κ] is
    what the caller does with the result. So a program has the same shape whatever calls it; a program without a
    continuation is [spec args Ret]. *)
From Ashlar Require Export lang.logic.Owned lang.programs.Updates.

(** One statement of [wp]. *)
Ltac wp_seq := lazymatch goal with
  | |- wp ?J (Seq ?a ?b) ?Qn ?Qb ?Qr ?r ?m ?g => change (wp J a (wp J b Qn Qb Qr) Qb Qr r m g) end.
Ltac wp_call := lazymatch goal with
  | |- wp ?J (Call ?x ?f ?es) ?Qn ?Qb ?Qr ?r ?m ?g =>
      change (exists args, evals es r m = Some args /\ fwp J f args m g (fun v m' g' => Qn (set_result x v r) m' g')) end;
  eexists; (split; [evaluate|]).
Ltac wp_if := lazymatch goal with
  | |- wp ?J (If ?c ?a ?b) ?Qn ?Qb ?Qr ?r ?m ?g =>
      change (exists t, test c r m = Some t /\ if t then wp J a Qn Qb Qr r m g else wp J b Qn Qb Qr r m g) end;
  eexists; (split; [evaluate|]); cbn [compare negb andb orb].
Ltac wp_return := lazymatch goal with
  | |- wp ?J (Return ?e) ?Qn ?Qb ?Qr ?r ?m ?g => change (exists v, eval e r m = Some v /\ Qr v m g) end;
  eexists; (split; [evaluate|]).
Ltac wp_assign := lazymatch goal with
  | |- wp ?J (Assign ?x ?e) ?Qn ?Qb ?Qr ?r ?m ?g => change (exists v, eval e r m = Some v /\ Qn (<[x := v]> r) m g) end;
  eexists; (split; [evaluate|]); locals_simpl.
Ltac wp_skip := lazymatch goal with |- wp ?J Skip ?Qn ?Qb ?Qr ?r ?m ?g => change (Qn r m g) end.

Section continuation.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Notation sim := (sim X kernel_entry M cpu).
  Notation prog := (prog X).

  Definition implements_then (f : string) (spec : list Z -> (Z -> prog) -> prog) : Prop :=
    exists fd, M f = Some fd /\
      forall Post args m a κ (Q : call_post),
        rep X a m ->
        (forall v m' a', yields X (spec args Ret) a v a' -> rep X a' m' -> Q v m' (κ v, a')) ->
        length args = fn_params fd /\
        body_wp (G := pstate X) (sim Post) fd args m (spec args κ, a) (settles X Q)
        \/ spec args κ = Fail.

  Lemma implements_then_body f fd spec : M f = Some fd ->
    (forall Post args m a κ (Q : call_post),
       rep X a m ->
       (forall v m' a', yields X (spec args Ret) a v a' -> rep X a' m' -> Q v m' (κ v, a')) ->
       length args = fn_params fd /\ body_wp (G := pstate X) (sim Post) fd args m (spec args κ, a) (settles X Q)
       \/ spec args κ = Fail) ->
    implements_then f spec.
  Proof. intros HM H. by exists fd. Qed.

  Lemma fwp_then Post f spec args m a κ (Q : call_post) : implements_then f spec -> rep X a m ->
    (forall v m' a', yields X (spec args Ret) a v a' -> rep X a' m' -> Q v m' (κ v, a')) ->
    fwp (G := pstate X) (sim Post) f args m (spec args κ, a) Q.
  Proof.
    intros (fd & HM & H) Hr HQ. destruct (H Post args m a κ Q Hr HQ) as [[Hlen Hw]|E].
    - apply fwp_settle. eapply fwp_body; [apply sim_step_closed|exact HM|exact Hlen|exact Hw].
    - rewrite E. apply fwp_fail.
  Qed.

  Lemma yields_bind (p : prog) κ a v a1 w a2 : yields X p a v a1 -> yields X (κ v) a1 w a2 -> yields X (bind p κ) a w a2.
  Proof.
    induction 1 as [v a|f k a u a' x b Hf H IH|q k a u a' x b Hr H IH]; intros Hk; simpl; [done| |].
    - eapply yields_loc; [exact Hf|auto]. - eapply yields_act; [exact Hr|auto].
  Qed.

  Lemma yields_same (p q : prog) a v a' : yields X p a v a' -> same p q -> yields X q a v a'.
  Proof.
    intros Hy. revert q. induction Hy as [v a|f k a u a' x b Hf H IH|y k a u a' x b Hr H IH]; intros q Hs; inversion Hs; subst.
    - constructor. - eapply yields_loc; [exact Hf|auto]. - eapply yields_act; [exact Hr|auto].
  Qed.

  (** A program with a continuation is the program, then the continuation. *)
  Definition has_continuation (spec : list Z -> (Z -> prog) -> prog) : Prop :=
    forall args κ, same (bind (spec args Ret) κ) (spec args κ).
  Lemma yields_then spec args κ a v a1 w a2 : has_continuation spec -> yields X (spec args Ret) a v a1 -> yields X (κ v) a1 w a2 ->
    yields X (spec args κ) a w a2.
  Proof. intros Hs H1 H2. eapply yields_same; [by eapply yields_bind|apply Hs]. Qed.

  Lemma implements_has_then f spec : implements X kernel_entry M cpu f spec ->
    implements_then f (fun args κ => bind (spec args) κ).
  Proof.
    intros (fd & HM & H). exists fd. split; [done|]. intros Post args m a κ Q Hr HQ.
    destruct (H Post args m a κ Q Hr) as [Hw|(? & E & _)]; [|by left|by right].
    intros v m' a' Hy. apply HQ. eapply yields_bind; [exact Hy|constructor].
  Qed.

  (** Entry from a client. *)
  Theorem implements_then_start f spec fd args m a : implements_then f spec -> M f = Some fd -> rep X a m ->
    length args = fn_params fd /\ sim (returns X kernel_entry M cpu) (enter fd args [KEnd] m) (spec args Ret, a)
    \/ spec args Ret = Fail.
  Proof.
    intros (fd' & HM & H) HM' Hr. rewrite HM in HM'. injection HM' as ->.
    destruct (H (returns X kernel_entry M cpu) args m a Ret (fun v m' g => g.1 = Ret v /\ rep X g.2 m') Hr) as [[Hlen Hw]|E].
    - intros v m' a' _ Hr'. done.
    - left. split; [done|]. unfold enter.
      eapply (wp_sound (arch_builtins kernel_entry) M cpu (sim (returns X kernel_entry M cpu))); [apply sim_step_closed|exact Hw|].
      split_and!.
      + intros r m' g Hs. eapply settles_returns; [|done|exact Hs]. done.
      + done.
      + intros v m' g s Hs Hn. eapply settles_returns; [|exact Hn|exact Hs]. done.
    - by right.
  Qed.

  (** A statement that works on cells that the CPU owns, in the middle of a function. *)
  Lemma wp_owned {G} (J : cfg -> G -> Prop) s (Qn Qb : post (G := G)) (Qr : call_post (G := G)) r (d rest : mem) (g : G) :
    step_closed kernel_entry M cpu J -> d ##ₘ rest ->
    Owned.owned kernel_entry M cpu s (fun r' d' => d' ##ₘ rest -> Qn r' (d' ∪ rest) g)
      (fun r' d' => d' ##ₘ rest -> Qb r' (d' ∪ rest) g) (fun v d' => d' ##ₘ rest -> Qr v (d' ∪ rest) g) r d ->
    wp J s Qn Qb Qr r (d ∪ rest) g.
  Proof.
    intros HJ Hd Ho. eapply wp_mono; [| | |exact (Ho G J g rest HJ Hd)]; cbn beta.
    - intros r' m' g' (d' & -> & Hd' & -> & HQ). auto.
    - intros r' m' g' (d' & -> & Hd' & -> & HQ). auto.
    - intros r' m' g' (d' & -> & Hd' & -> & HQ). auto.
  Qed.
End continuation.

(** [same] of two programs written out. *)
Ltac same_program :=
  repeat match goal with
         | |- same ?p ?p => apply same_refl
         | |- same (match ?x with _ => _ end) _ => destruct x
         | |- same (bind (match ?x with _ => _ end) _) _ => destruct x
         | |- same Fail Fail => apply same_fail
         | |- same (Act _ _) (Act _ _) => apply same_act; intros ?
         | |- same (Loc _ _) (Loc _ _) => apply same_loc; intros ?
         | |- _ => progress cbn [bind]
         end.
