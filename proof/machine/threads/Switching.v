(** Sequential reasoning where a function may hand its CPU over.

    [timed] speaks of functions that keep the CPU. [switches f args d post] is the same for functions that may, besides, call the
    primitive [switch_stack]: what they hand to thread [to] satisfies [hands to], and they go on when memory comes back that
    satisfies [comes]. Nothing is known of it but that: other threads of the CPU have run meanwhile. [switching] is to [switches] what
    [during] is to [timed].

    What may be handed over may depend on what has been before, [h] of any type, such as what the CPU was when it was last handed over: a
    switch changes it.

    A state of the judgement, such as the log of events, may change while other threads run; [calm] says what a thread needs of
    it to hand the CPU over, and what it finds when it is back. *)
From Ashlar Require Export lang.logic.Timed machine.threads.SwitchModule.

Section switching.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context {H : Type} (hands : H -> Z -> mem -> Prop) (comes : H -> mem -> Prop).
  Notation timed := (timed quiet kernel_entry M cpu).
  Notation during := (during quiet kernel_entry M cpu).
  Notation quiet_closed := (quiet_closed quiet kernel_entry M cpu).

  (** A judgement that a switch may precede, where [rest] stays with the thread. *)
  Definition switch_closed {G : Type} (J : cfg -> G -> Prop) (calm : H -> G -> Prop) (rest : mem) : Prop :=
    forall to (d : mem) (h : H) (g : G) (Q : call_post), hands h to d -> d ##ₘ rest -> calm h g ->
      (forall d' h' g', comes h' d' -> d' ##ₘ rest -> calm h' g' -> Q 0 (d' ∪ rest) g') -> fwp J switch_stack [to] (d ∪ rest) g Q.

  Definition switches (f : string) (args : list Z) (h : H) (d : mem) (post : Z -> H -> mem -> Prop) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (calm : H -> G -> Prop) (g : G) (rest : mem) (Q : call_post),
      step_closed kernel_entry M cpu J -> quiet_closed J -> switch_closed J calm rest -> d ##ₘ rest -> calm h g ->
      (forall v h' d' g', post v h' d' -> d' ##ₘ rest -> calm h' g' -> Q v (d' ∪ rest) g') -> fwp J f args (d ∪ rest) g Q.

  Lemma timed_switches f args h d post : timed f args d post -> switches f args h d (fun v h' d' => h' = h /\ post v d').
  Proof. intros Hf G J calm g rest Q HJ HE HS Hd Hg HQ. apply Hf; [done..|]. intros v d' Hp Hd'. by apply (HQ v h). Qed.
  Lemma switches_mono f args h d (post post' : Z -> H -> mem -> Prop) :
    (forall v h' d', post v h' d' -> post' v h' d') -> switches f args h d post -> switches f args h d post'.
  Proof. intros Hp Hf G J calm g rest Q HJ HE HS Hd Hg HQ. eapply Hf; eauto. Qed.

  (** The switch itself. *)
  Lemma switches_switch_stack to h d : hands h to d -> switches switch_stack [to] h d (fun v h' d' => v = 0 /\ comes h' d').
  Proof. intros Hh G J calm g rest Q HJ HE HS Hd Hg HQ. eapply HS; [done..|]. intros d' h' g' Hc Hd' Hg'. by apply (HQ 0 h'). Qed.

  Definition switching (s : stmt) (Qn Qb : locals -> H -> mem -> Prop) (Qr : Z -> H -> mem -> Prop) (r : locals) (h : H) (d : mem) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (calm : H -> G -> Prop) (g : G) (rest : mem),
      step_closed kernel_entry M cpu J -> quiet_closed J -> switch_closed J calm rest -> d ##ₘ rest -> calm h g ->
      wp J s (fun r m g' => exists h' d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm h' g' /\ Qn r h' d')
        (fun r m g' => exists h' d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm h' g' /\ Qb r h' d')
        (fun v m g' => exists h' d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm h' g' /\ Qr v h' d') r (d ∪ rest) g.

  Lemma switches_body f fd args h d (post : Z -> H -> mem -> Prop) :
    M f = Some fd -> length args = fn_params fd ->
    switching (fn_body fd) (fun _ => post 0) (fun _ _ _ => False) post (args ++ replicate (fn_locals fd) 0) h d ->
    switches f args h d post.
  Proof.
    intros HM Hlen Ho G J calm g rest Q HJ HE HS Hd Hg HQ. eapply fwp_body; [exact HJ|exact HM|exact Hlen|].
    unfold body_wp. eapply wp_mono; [| | |exact (Ho G J calm g rest HJ HE HS Hd Hg)]; simpl.
    - intros r m g' (h' & d' & -> & Hd' & Hg' & Hp). by apply (HQ 0 h').
    - by intros r m g' (h' & d' & -> & Hd' & Hg' & []).
    - intros v m g' (h' & d' & -> & Hd' & Hg' & Hp). by apply (HQ v h').
  Qed.

  Lemma during_switching s (Qn Qb : locals -> H -> mem -> Prop) Qr r h d :
    during s (fun r => Qn r h) (fun r => Qb r h) (fun v => Qr v h) r d -> switching s Qn Qb Qr r h d.
  Proof.
    intros Ho G J calm g rest HJ HE HS Hd Hg. eapply wp_mono; [| | |exact (Ho G J g rest HJ HE Hd)]; simpl; intros ??? (d' & -> & Hd' & -> & HQ); eauto 10.
  Qed.
  Lemma switching_seq a b (Qn Qb : locals -> H -> mem -> Prop) Qr r h d :
    switching a (switching b Qn Qb Qr) Qb Qr r h d -> switching (Seq a b) Qn Qb Qr r h d.
  Proof.
    intros Ho G J calm g rest HJ HE HS Hd Hg. simpl. eapply wp_mono; [| | |exact (Ho G J calm g rest HJ HE HS Hd Hg)]; simpl; [|done..].
    intros r' m g' (h' & d' & -> & Hd' & Hg' & Hb). by apply Hb.
  Qed.
  Lemma switching_if c a b (Qn Qb : locals -> H -> mem -> Prop) Qr r h d t :
    test c r d = Some t -> (if t then switching a Qn Qb Qr r h d else switching b Qn Qb Qr r h d) -> switching (If c a b) Qn Qb Qr r h d.
  Proof.
    intros Ht Ho G J calm g rest HJ HE HS Hd Hg. simpl. exists t. split; [by apply test_mono|]. destruct t; by apply Ho.
  Qed.
  Lemma switching_call x f es (Qn Qb : locals -> H -> mem -> Prop) Qr r h d args (post : Z -> H -> mem -> Prop) :
    evals es r d = Some args -> switches f args h d post -> (forall v h' d', post v h' d' -> Qn (set_result x v r) h' d') ->
    switching (Call x f es) Qn Qb Qr r h d.
  Proof.
    intros He Hf HQ G J calm g rest HJ HE HS Hd Hg. simpl. exists args. split; [by apply evals_mono|].
    apply (Hf G J calm g rest); [done..|]. intros v h' d' g' Hp Hd' Hg'. eauto 10.
  Qed.
End switching.
