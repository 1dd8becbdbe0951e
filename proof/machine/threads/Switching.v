(** Sequential reasoning where a function may hand its CPU over.

    [timed] speaks of functions that keep the CPU. [switches f args d post] is the same for functions that may, besides, call the
    primitive [switch_stack]: what they hand to thread [to] satisfies [hands to], and they go on when memory comes back that
    satisfies [comes]. Nothing is known of it but that: other threads of the CPU have run meanwhile. [switching] is to [switches] what
    [during] is to [timed].

    A state of the judgement, such as the log of events, may change while other threads run; [calm] says what a thread needs of
    it to hand the CPU over, and what it finds when it is back. *)
From Ashlar Require Export lang.logic.Timed machine.threads.SwitchModule.

Section switching.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (hands : Z -> mem -> Prop) (comes : mem -> Prop).
  Notation timed := (timed quiet kernel_entry M cpu).
  Notation during := (during quiet kernel_entry M cpu).
  Notation quiet_closed := (quiet_closed quiet kernel_entry M cpu).

  (** A judgement that a switch may precede, where [rest] stays with the thread. *)
  Definition switch_closed {G : Type} (J : cfg -> G -> Prop) (calm : G -> Prop) (rest : mem) : Prop :=
    forall to (d : mem) (g : G) (Q : call_post), hands to d -> d ##ₘ rest -> calm g -> (forall d' g', comes d' -> d' ##ₘ rest -> calm g' -> Q 0 (d' ∪ rest) g') ->
      fwp J switch_stack [to] (d ∪ rest) g Q.

  Definition switches (f : string) (args : list Z) (d : mem) (post : Z -> mem -> Prop) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (calm : G -> Prop) (g : G) (rest : mem) (Q : call_post),
      step_closed kernel_entry M cpu J -> quiet_closed J -> switch_closed J calm rest -> d ##ₘ rest -> calm g ->
      (forall v d' g', post v d' -> d' ##ₘ rest -> calm g' -> Q v (d' ∪ rest) g') -> fwp J f args (d ∪ rest) g Q.

  Lemma timed_switches f args d post : timed f args d post -> switches f args d post.
  Proof. intros H G J calm g rest Q HJ HE HS Hd Hg HQ. apply H; [done..|]. intros v d' Hp Hd'. by apply HQ. Qed.
  Lemma switches_mono f args d (post post' : Z -> mem -> Prop) :
    (forall v d', post v d' -> post' v d') -> switches f args d post -> switches f args d post'.
  Proof. intros Hp H G J calm g rest Q HJ HE HS Hd Hg HQ. eapply H; eauto. Qed.

  (** The switch itself. *)
  Lemma switches_switch_stack to d : hands to d -> switches switch_stack [to] d (fun v d' => v = 0 /\ comes d').
  Proof. intros Hh G J calm g rest Q HJ HE HS Hd Hg HQ. apply HS; [done..|]. intros d' g' Hc Hd' Hg'. by apply HQ. Qed.

  Definition switching (s : stmt) (Qn Qb : locals -> mem -> Prop) (Qr : Z -> mem -> Prop) (r : locals) (d : mem) : Prop :=
    forall (G : Type) (J : cfg -> G -> Prop) (calm : G -> Prop) (g : G) (rest : mem),
      step_closed kernel_entry M cpu J -> quiet_closed J -> switch_closed J calm rest -> d ##ₘ rest -> calm g ->
      wp J s (fun r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm g' /\ Qn r d')
        (fun r m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm g' /\ Qb r d')
        (fun v m g' => exists d', m = d' ∪ rest /\ d' ##ₘ rest /\ calm g' /\ Qr v d') r (d ∪ rest) g.

  Lemma switches_body f fd args d (post : Z -> mem -> Prop) :
    M f = Some fd -> length args = fn_params fd ->
    switching (fn_body fd) (fun _ d' => post 0 d') (fun _ _ => False) post (args ++ replicate (fn_locals fd) 0) d ->
    switches f args d post.
  Proof.
    intros HM Hlen Ho G J calm g rest Q HJ HE HS Hd Hg HQ. eapply fwp_body; [exact HJ|exact HM|exact Hlen|].
    unfold body_wp. eapply wp_mono; [| | |exact (Ho G J calm g rest HJ HE HS Hd Hg)]; simpl.
    - intros r m g' (d' & -> & Hd' & Hg' & Hp). by apply HQ.
    - by intros r m g' (d' & -> & Hd' & Hg' & []).
    - intros v m g' (d' & -> & Hd' & Hg' & Hp). by apply HQ.
  Qed.

  Lemma during_switching s (Qn Qb : locals -> mem -> Prop) Qr r d : during s Qn Qb Qr r d -> switching s Qn Qb Qr r d.
  Proof.
    intros Ho G J calm g rest HJ HE HS Hd Hg. eapply wp_mono; [| | |exact (Ho G J g rest HJ HE Hd)]; simpl; intros ??? (d' & -> & Hd' & -> & H); eauto.
  Qed.
  Lemma switching_seq a b (Qn Qb : locals -> mem -> Prop) Qr r d :
    switching a (switching b Qn Qb Qr) Qb Qr r d -> switching (Seq a b) Qn Qb Qr r d.
  Proof.
    intros Ho G J calm g rest HJ HE HS Hd Hg. simpl. eapply wp_mono; [| | |exact (Ho G J calm g rest HJ HE HS Hd Hg)]; simpl; [|done..].
    intros r' m g' (d' & -> & Hd' & Hg' & Hb). by apply Hb.
  Qed.
  Lemma switching_if c a b (Qn Qb : locals -> mem -> Prop) Qr r d t :
    test c r d = Some t -> (if t then switching a Qn Qb Qr r d else switching b Qn Qb Qr r d) -> switching (If c a b) Qn Qb Qr r d.
  Proof.
    intros Ht Ho G J calm g rest HJ HE HS Hd Hg. simpl. exists t. split; [by apply test_mono|]. destruct t; by apply Ho.
  Qed.
  Lemma switching_call x f es (Qn Qb : locals -> mem -> Prop) Qr r d args (post : Z -> mem -> Prop) :
    evals es r d = Some args -> switches f args d post -> (forall v d', post v d' -> Qn (set_result x v r) d') ->
    switching (Call x f es) Qn Qb Qr r d.
  Proof.
    intros He Hf HQ G J calm g rest HJ HE HS Hd Hg. simpl. exists args. split; [by apply evals_mono|].
    apply (Hf G J calm g rest); [done..|]. intros v d' g' Hp Hd' Hg'. eauto 10.
  Qed.
End switching.

(** Less is handed over, and more is known of what comes back. *)
Lemma switches_weaken quiet kernel_entry M cpu (hands hands' : Z -> mem -> Prop) (comes comes' : mem -> Prop) f args d post :
  (forall to d, hands to d -> hands' to d) -> (forall d, comes' d -> comes d) ->
  switches quiet kernel_entry M cpu hands comes f args d post -> switches quiet kernel_entry M cpu hands' comes' f args d post.
Proof.
  intros Hh Hc H G J calm g rest Q HJ HE HS Hd Hg HQ. apply (H G J calm g rest Q HJ HE); [|done..].
  intros to e g' Q' He Hm Hg' HQ'. apply HS; [by apply Hh|done..|]. intros e' g'' He'. by apply HQ', Hc.
Qed.
