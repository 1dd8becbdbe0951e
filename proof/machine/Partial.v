(** Lemmas 3 and 4: part of the machine, the rest an environment; putting parts together.

    In a partial machine only the CPUs of the active set run their programs. What the others do is the choice of an
    environment: at any moment it may extend the log by a list of their events, provided the outcome satisfies what is
    required of the environment. (In the paper the choice is a response function from logs to lists of events; here it is
    the nondeterminism of the step relation, and "for all environment contexts" is "for all reachable states".) *)
From Ashlar Require Export machine.Shared calculus.logs.Local.

Section partial.
  Context {PRIM MEM : Type} (ncpu : nat) (L : layer PRIM MEM) (A : agent PRIM MEM) (P : nat -> ast A).
  Notation state := (state L A).
  Notation cpus := (nat -> Prop).
  Notation invariant := (log L -> Prop).

  (** Events of CPUs outside the active set [F]. *)
  Definition context_events (F : cpus) (e : log L) : Prop := Forall (fun x => (who x < ncpu)%nat /\ ~ F (who x)) e.

  Inductive partial_step (F : cpus) (env : invariant) : state -> state -> Prop :=
  | partial_active c g g' : F c -> cpu_step ncpu L A c g g' -> partial_step F env g g'
  | partial_context l f e : context_events F e -> env (e ++ l) -> legal L (e ++ l) ->
      partial_step F env (State l f) (State (e ++ l) f).

  Inductive partial_reach (F : cpus) (env : invariant) : state -> Prop :=
  | partial_start : partial_reach F env (State [] P)
  | partial_next g g' : partial_reach F env g -> partial_step F env g g' -> partial_reach F env g'.

  Lemma partial_legal F env g : partial_reach F env g -> legal L (glog g).
  Proof.
    induction 1 as [|g g' Hr IH Hs]; [constructor|]. destruct Hs as [c g g' _ Hs|]; [|done].
    destruct Hs; simpl in *; [done|by econstructor].
  Qed.

  (** The programs of the active set [F] in an environment that keeps [env]: [[P]]pt(F). Besides not going wrong, the set
      must itself keep [inv] in every environment. *)
  Definition pt (F : cpus) (env inv : invariant) : semantics (log L) :=
    Semantics
      (forall g, partial_reach F env g ->
        inv (glog g) /\ forall c, F c -> (c < ncpu)%nat -> ~ goes_wrong L A c (gagent g c) (glog g))
      (fun l => exists f, partial_reach F env (State l f)).

  (** What two semantics have in common. *)
  Definition both {B} (S T : semantics B) : semantics B :=
    Semantics (never_fails S /\ never_fails T) (fun b => behaves S b /\ behaves T b).

  Section composition.
    Context (F G : cpus) (envF envG env invF invG : invariant).
    Context (DISJOINT : forall c, F c -> ~ G c).
    (** The guarantees match: what one set keeps is what the other relies on, and a CPU in neither keeps both. *)
    Context (FG : forall e l, F (who e) -> invF (e :: l) -> envG (e :: l)).
    Context (GF : forall e l, G (who e) -> invG (e :: l) -> envF (e :: l)).
    Context (ENV : forall l, env l -> envF l /\ envG l).
    Notation FoG := (fun c => F c \/ G c).

    Definition alike (X : cpus) (g g' : state) : Prop := glog g = glog g' /\ forall c, X c -> gagent g c = gagent g' c.

    Lemma alike_goes_wrong X g g' c : alike X g g' -> X c ->
      goes_wrong L A c (gagent g c) (glog g) -> goes_wrong L A c (gagent g' c) (glog g').
    Proof. intros [Hl Ha] Hc. by rewrite Hl, (Ha c Hc). Qed.

    (** The step of an active CPU, seen where that CPU is active and where it is not. *)
    Lemma alike_active X g g' g1 c : alike X g g1 -> X c -> cpu_step ncpu L A c g g' ->
      exists g1', cpu_step ncpu L A c g1 g1' /\ alike X g' g1'.
    Proof.
      intros [Hl Ha] Hc Hs. destruct g1 as [l1 f1]. simpl in *.
      assert (Hup : forall f s c', X c' -> (forall c, X c -> f c = f1 c) -> update A f c s c' = update A f1 c s c').
      { intros f s c' Hc' Hf. unfold update. destruct (decide (c' = c)); auto. }
      destruct Hs as [l f s Hn Ht|l f p v m o Hn Ht Hsch Hp]; simpl in *; subst; rewrite (Ha c Hc) in *.
      - eexists. split; [by apply step_tau|]. split; simpl; [done|auto].
      - eexists. split; [by eapply step_prim|]. split; simpl; [done|]. auto.
    Qed.
    Lemma alike_context (X : cpus) (e : invariant) g g' g1 c : alike X g g1 -> ~ X c -> cpu_step ncpu L A c g g' ->
      legal L (glog g') -> (forall x l, who x = c -> glog g' = x :: l -> e (x :: l)) ->
      alike X g' g1 \/ exists g1', partial_step X e g1 g1' /\ alike X g' g1'.
    Proof.
      intros [Hl Ha] Hc Hs Hleg He. destruct g1 as [l1 f1]. simpl in *.
      assert (Hup : forall f s c', X c' -> update A f c s c' = f c').
      { intros f s c' Hc'. apply update_other. congruence. }
      destruct Hs as [l f s Hn Ht|l f p v m o Hn Ht Hsch Hp]; simpl in *; subst.
      - left. split; simpl; [done|]. intros c' Hc'. rewrite Hup by done. auto.
      - right. exists (State (Event c o :: l1) f1). split.
        + apply (partial_context _ _ l1 f1 [Event c o]); [by repeat constructor|by apply (He (Event c o))|done].
        + split; simpl; [done|]. intros c' Hc'. rewrite Hup by done. auto.
    Qed.

    Context (SF : never_fails (pt F envF invF)) (SG : never_fails (pt G envG invG)).

    (** Every state of the composed machine is seen alike by both parts. *)
    Lemma composition_views g : partial_reach FoG env g ->
      exists gF gG, (partial_reach F envF gF /\ alike F g gF) /\ (partial_reach G envG gG /\ alike G g gG).
    Proof using DISJOINT FG GF ENV SF SG.
      induction 1 as [|g g' Hr (gF & gG & [HrF HaF] & [HrG HaG]) Hs].
      { exists (State [] P), (State [] P). split; (split; [constructor|done]). }
      destruct Hs as [c g g' Hc Hs|l f e He Hi Hleg].
      - assert (Hlegal : legal L (glog g')).
        { destruct HaF as [El _]. pose proof (partial_legal _ _ _ HrF) as Hl. rewrite <- El in Hl.
          destruct Hs; simpl in *; [done|by econstructor]. }
        destruct Hc as [Hc|Hc].
        + destruct (alike_active F g g' gF c HaF Hc Hs) as (gF' & HsF & HaF').
          assert (HrF' : partial_reach F envF gF') by (eapply partial_next; [done|by eapply partial_active]).
          destruct (alike_context G envG g g' gG c HaG) as [HaG'|(gG' & HsG & HaG')]; [by apply DISJOINT|done|done| | |].
          * intros x l <- Hx. apply FG; [done|]. rewrite <- Hx. destruct HaF' as [-> _]. by apply SF.
          * exists gF', gG. done.
          * exists gF', gG'. split; [done|]. split; [|done]. by eapply partial_next.
        + destruct (alike_active G g g' gG c HaG Hc Hs) as (gG' & HsG & HaG').
          assert (HrG' : partial_reach G envG gG') by (eapply partial_next; [done|by eapply partial_active]).
          destruct (alike_context F envF g g' gF c HaF) as [HaF'|(gF' & HsF & HaF')].
          * intros HF. by eapply DISJOINT.
          * done.
          * done.
          * intros x l <- Hx. apply GF; [done|]. rewrite <- Hx. destruct HaG' as [-> _]. by apply SG.
          * exists gF, gG'. done.
          * exists gF', gG'. split; [|done]. split; [|done]. by eapply partial_next.
      - destruct (ENV _ Hi) as [HiF HiG]. destruct gF as [lF fF], gG as [lG fG].
        destruct HaF as [EF AF], HaG as [EG AG]. simpl in *. subst lF lG.
        exists (State (e ++ l) fF), (State (e ++ l) fG). split; (split; [eapply partial_next; [eassumption|]|done]).
        + apply partial_context; [|done..]. eapply Forall_impl; [exact He|]. simpl. intros x [? Hx]. auto.
        + apply partial_context; [|done..]. eapply Forall_impl; [exact He|]. simpl. intros x [? Hx]. auto.
    Qed.
  End composition.

  (** Lemma 3 of the paper (composition of partial machine models): for all P and disjoint F, G, [[P]]pt(F or G) refines
      [[P]]pt(F) and [[P]]pt(G); the composed machine keeps both invariants. *)
  Theorem lemma3_composition (F G : cpus) (envF envG env invF invG : invariant) :
    (forall c, F c -> ~ G c) ->
    (forall e l, F (who e) -> invF (e :: l) -> envG (e :: l)) ->
    (forall e l, G (who e) -> invG (e :: l) -> envF (e :: l)) ->
    (forall l, env l -> envF l /\ envG l) ->
    refines (pt (fun c => F c \/ G c) env (fun l => invF l /\ invG l)) (both (pt F envF invF) (pt G envG invG)).
  Proof.
    intros HD HFG HGF HE [SF SG]. split.
    - intros g Hr. destruct (composition_views F G envF envG env invF invG HD HFG HGF HE SF SG g Hr) as
        (gF & gG & [HrF HaF] & [HrG HaG]).
      split; [split; [destruct HaF as [-> _]; by apply SF|destruct HaG as [-> _]; by apply SG]|].
      intros c [Hc|Hc] Hn Hw.
      + eapply (proj2 (SF gF HrF)); [exact Hc|done|]. by eapply alike_goes_wrong.
      + eapply (proj2 (SG gG HrG)); [exact Hc|done|]. by eapply alike_goes_wrong.
    - intros l [f Hr]. destruct (composition_views F G envF envG env invF invG HD HFG HGF HE SF SG _ Hr) as
        ([lF fF] & [lG fG] & [HrF [EF _]] & [HrG [EG _]]). simpl in *. subst. split; [by exists fF|by exists fG].
  Qed.

  (** The machine of all CPUs: no CPU is left to be the environment. *)
  Definition all_cpus : cpus := fun c => (c < ncpu)%nat.

  Lemma reach_partial env g : reach ncpu L A P g -> partial_reach all_cpus env g.
  Proof.
    induction 1 as [|g g' Hr IH [c Hs]]; [constructor|]. eapply partial_next; [done|].
    apply (partial_active _ _ c); [by destruct Hs|done].
  Qed.
  Lemma partial_reach_all env g : partial_reach all_cpus env g -> reach ncpu L A P g.
  Proof.
    induction 1 as [|g g' Hr IH Hs]; [constructor|]. destruct Hs as [c g g' _ Hs|l f e He _ _].
    - eapply reach_step; [done|by exists c].
    - destruct He as [|x e [Hx Hn]]; [done|by destruct Hn].
  Qed.

  (** Lemma 4 of the paper (correctness of the composed total machine): for all P, [[P]]lcm refines [[P]]pt(C), C being
      all CPUs. *)
  Theorem lemma4_total (env inv : invariant) :
    refines (Semantics (never_wrong ncpu L A P) (traces ncpu L A P)) (pt all_cpus env inv).
  Proof.
    intros HS. split.
    - intros g c Hr Hc. by apply (HS g (reach_partial env g Hr)).
    - intros l [f Hr]. exists f. by apply reach_partial.
  Qed.
End partial.
