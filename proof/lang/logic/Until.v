(** Functions that release a lock, acquire one, or block.

    What a release does is the judgement's own: the log gets an event, or a specification takes a step. So a theorem about such a function
    is about one judgement [J], and what it needs of the release is a premise: that the call, with memory as the function leaves it, has the
    wanted result. Everything before is sequential, and comes in from [timed] and [during]. *)
From Ashlar Require Export lang.logic.Parts.

(** ** Parts in another order *)
Lemma both_comm (P Q : mem -> Prop) m : (P ∗ Q) m -> (Q ∗ P) m.
Proof. intros (d & e & -> & Hd & HP & HQ). exists e, d. split_and!; [by apply map_union_comm|done..]. Qed.
Lemma both_assoc (P Q R : mem -> Prop) m : (P ∗ Q ∗ R) m -> ((P ∗ Q) ∗ R) m.
Proof.
  intros (d & x & -> & Hd & HP & e & f & -> & Hef & HQ & HR). apply map_disjoint_union_r in Hd as [H1 H2].
  exists (d ∪ e), f. split_and!; [by rewrite (assoc_L (∪))|by apply map_disjoint_union_l| |done]. by exists d, e.
Qed.
Lemma both_flat (P Q R : mem -> Prop) m : ((P ∗ Q) ∗ R) m -> (P ∗ Q ∗ R) m.
Proof.
  intros (x & f & -> & Hd & (d & e & -> & Hde & HP & HQ) & HR). apply map_disjoint_union_l in Hd as [H1 H2].
  exists d, (e ∪ f). split_and!; [by rewrite (assoc_L (∪))|by apply map_disjoint_union_r|done|]. by exists e, f.
Qed.
Lemma both_assoc3 (P Q R S : mem -> Prop) m : (P ∗ Q ∗ R ∗ S) m -> ((P ∗ Q ∗ R) ∗ S) m.
Proof. intros H. apply both_assoc. eapply both_mono; [exact (fun d H => H)|apply both_assoc|exact H]. Qed.
Lemma both_flat3 (P Q R S : mem -> Prop) m : ((P ∗ Q ∗ R) ∗ S) m -> (P ∗ Q ∗ R ∗ S) m.
Proof. intros H%both_flat. eapply both_mono; [exact (fun d H => H)|apply both_flat|exact H]. Qed.
Lemma both_find (A B P R : mem -> Prop) m : (forall d, B d -> (P ∗ R) d) -> (A ∗ B) m -> (P ∗ A ∗ R) m.
Proof.
  intros H (d & e & -> & Hd & HA & HB%H). apply both_flat. eapply both_mono; [apply both_comm|exact (fun d H => H)|]. apply both_assoc.
  by exists d, e.
Qed.
(** [front]: [forall d, X d -> (P ∗ _) d], for a part [P] of [X]. [perm]: [forall d, X d -> Y d], if [Y] is [X] in another order. *)
Lemma both_first (X P R Q : mem -> Prop) : (forall d, X d -> (P ∗ R) d) -> (forall d, R d -> Q d) -> forall d, X d -> (P ∗ Q) d.
Proof. intros HX HR d Hd. eapply both_mono; [exact (fun d H => H)|exact HR|by apply HX]. Qed.
Ltac front := first [let H := fresh in intros ? H; exact H|let H := fresh in intros ? H; exact (both_comm _ _ _ H)|intros ?; apply both_find; front].
Ltac perm := first [let H := fresh in intros ? H; exact H|eapply both_first; [front|perm]].
(** The goal is [Hm] in another order. *)
Ltac permute Hm :=
  lazymatch type of Hm with ?X ?m => lazymatch goal with |- ?Y m => refine ((_ : forall d, X d -> Y d) m Hm); perm end end.

Lemma both_at (P Q : mem -> Prop) m (x : cell) v : (P ∗ Q) m -> (forall d, P d -> d !! x = Some v) -> m !! x = Some v.
Proof. intros (d & e & -> & _ & HP & _) H. by apply own_read, H. Qed.

(** ** The first statements of a body, and the others *)
Fixpoint first_of (n : nat) (s : stmt) : stmt := match n, s with S n, Seq a b => Seq a (first_of n b) | _, _ => Skip end.
Fixpoint rest_of (n : nat) (s : stmt) : stmt := match n, s with S n, Seq _ b => rest_of n b | _, _ => s end.

Section rules.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation during := (during quiet kernel_entry M this).
  Notation timed := (timed quiet kernel_entry M this).

  Lemma wp_split {G} (J : cfg -> G -> Prop) n s Qn Qb Qr r m g :
    wp J (first_of n s) (wp J (rest_of n s) Qn Qb Qr) Qb Qr r m g -> wp J s Qn Qb Qr r m g.
  Proof.
    revert s r m g. induction n as [|n IH]; intros [] r m g H; try exact H. cbn [first_of rest_of wp] in H |- *.
    eapply wp_mono; [| | |exact H]; [intros r' m' g'; apply IH|done..].
  Qed.
  Lemma during_split n s (Qn Qb : locals -> mem -> Prop) Qr r d :
    during (first_of n s) (during (rest_of n s) Qn Qb Qr) Qb Qr r d -> during s Qn Qb Qr r d.
  Proof.
    intros H G J g rest HJ HE Hd. apply (wp_split J n). eapply wp_mono; [| | |exact (H G J g rest HJ HE Hd)]; cbn beta; [|done..].
    intros r' m g' (d' & -> & Hd' & -> & H'). by apply H'.
  Qed.

  Section judgement.
    Context {G : Type} (J : cfg -> G -> Prop) (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J).

    Lemma wp_during s (Tn Tb : locals -> mem -> Prop) (Tr : Z -> mem -> Prop) (Qn Qb : post) (Qr : call_post) r m (g : G) : during s Tn Tb Tr r m ->
      (forall r m, Tn r m -> Qn r m g) -> (forall r m, Tb r m -> Qb r m g) -> (forall v m, Tr v m -> Qr v m g) -> wp J s Qn Qb Qr r m g.
    Proof using HJ HE.
      intros H Hn Hb Hr. rewrite <- (right_id_L ∅ (∪) m). eapply wp_mono; [| | |apply (H G J g ∅ HJ HE), map_disjoint_empty_r]; cbn beta;
        intros ? ? ? (d & -> & _ & -> & HT); rewrite (right_id_L ∅ (∪)); auto.
    Qed.
    (** The call with which a function ends, and before which its first [n] statements are sequential. *)
    Lemma fwp_until f fd args n (T : locals -> mem -> Prop) m g Q : M f = Some fd -> length args = fn_params fd ->
      during (first_of n (fn_body fd)) T (fun _ _ => False) (fun _ _ => False) (args ++ replicate (fn_locals fd) 0) m ->
      (forall r m, T r m -> wp J (rest_of n (fn_body fd)) (fun _ m g => Q 0 m g) (fun _ _ _ => False) Q r m g) -> fwp J f args m g Q.
    Proof using HJ HE.
      intros HM Hl H HT. eapply fwp_body; [exact HJ|exact HM|exact Hl|]. apply (wp_split J n). by eapply wp_during.
    Qed.
    (** The same of a function that is entered from outside the kernel's code. *)
    Definition entered_until (f : string) (args : list Z) (m : mem) (g : G) (Q : @call_post G) : Prop := exists fd, M f = Some fd /\ length args = fn_params fd /\ body_wp J fd args m g Q.
    Lemma entered_fwp f args m g Q : entered_until f args m g Q -> fwp J f args m g Q.
    Proof using HJ. intros (fd & HM & Hl & H). by eapply fwp_body. Qed.
    (** Statement by statement, where a function calls what is not sequential. *)
    Lemma wp_then s (Qn Qb : post) (Qr : call_post) r m (g : G) :
      during s (fun r m => Qn r m g) (fun _ _ => False) (fun _ _ => False) r m -> wp J s Qn Qb Qr r m g.
    Proof using HJ HE. intros H. by eapply wp_during. Qed.
    Lemma wp_call x f es (Qn Qb : post) (Qr : call_post) r m (g : G) args (Q : call_post) : evals es r m = Some args -> fwp J f args m g Q ->
      (forall v m g, Q v m g -> Qn (set_result x v r) m g) -> wp J (Call x f es) Qn Qb Qr r m g.
    Proof using. intros He H HQ. exists args. split; [exact He|]. eapply fwp_mono; [|exact H]. exact HQ. Qed.
    Lemma wp_call_part x f es (Qn Qb : post) (Qr : call_post) r m (g : G) args (P R : mem -> Prop) (after : Z -> mem -> Prop) :
      evals es r m = Some args -> (P ∗ R) m -> (forall d, P d -> timed f args d after) ->
      (forall v m, (after v ∗ R) m -> Qn (set_result x v r) m g) -> wp J (Call x f es) Qn Qb Qr r m g.
    Proof using HJ HE. intros He Hm Hf HQ. apply wp_then. by eapply during_call_part. Qed.
    Lemma wp_read x f es (Qn Qb : post) (Qr : call_post) r m (g : G) args u : evals es r m = Some args ->
      triple kernel_entry M this f args m (fun v d => v = u /\ d = m) -> Qn (set_result x u r) m g -> wp J (Call x f es) Qn Qb Qr r m g.
    Proof using HJ HE.
      intros He Ht HQ. apply wp_then. eapply during_call_whole; [exact He|apply triple_timed, Ht|]. by intros v d [-> ->].
    Qed.
    Lemma wp_this_cpu x (Qn Qb : post) (Qr : call_post) r m (g : G) : M "arch_cpu"%string = None -> Qn (set_result x (Z.of_nat this) r) m g ->
      wp J (Call x "arch_cpu" []) Qn Qb Qr r m g.
    Proof using HJ HE. intros HC HQ. apply wp_then. by eapply during_this_cpu. Qed.
  End judgement.
End rules.

Lemma wp_if {G} (J : cfg -> G -> Prop) c a b (Qn Qb : post) (Qr : call_post) r m (g : G) t : test c r m = Some t ->
  (if t then wp J a Qn Qb Qr r m g else wp J b Qn Qb Qr r m g) -> wp J (If c a b) Qn Qb Qr r m g.
Proof. intros Ht H. by exists t. Qed.
Lemma wp_value e (P : Z -> Prop) r m v : eval e r m = Some v -> P v -> exists v, eval e r m = Some v /\ P v.
Proof. eauto. Qed.
(** The next statement, if it is no call and no store. *)
Ltac until_step :=
  lazymatch goal with
  | |- wp ?J (Seq ?a ?b) ?Qn ?Qb ?Qr ?r ?m ?g => change (wp J a (wp J b Qn Qb Qr) Qb Qr r m g)
  | |- wp _ Skip ?Qn _ _ ?r ?m ?g => change (Qn r m g); cbv beta
  | |- wp ?J (Assign ?x ?e) ?Qn _ _ ?r ?m ?g => change (exists v, eval e r m = Some v /\ Qn (<[x := v]> r) m g); eapply wp_value; [evaluate|]; cbv beta
  | |- wp _ (If _ _ _) _ _ _ _ _ _ => eapply wp_if; [evaluate|cbn [compare negb andb orb]]
  | |- wp _ (Return ?e) _ _ ?Qr ?r ?m ?g => change (exists v, eval e r m = Some v /\ Qr v m g); eapply wp_value; [evaluate|]; cbv beta
  end; locals_simpl; locals_plain.
