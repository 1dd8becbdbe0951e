(** Call rules for the code of a lock module, whichever algorithm: its calls of primitives and of its own functions, under
    any module above. *)
From Ashlar Require Export layers.spinlock.Spec.

Lemma body_wp_mono {G} (J : cfg -> G -> Prop) fd args m g (Q Q' : Z -> mem -> G -> Prop) :
  (forall v m g, Q v m g -> Q' v m g) -> body_wp J fd args m g Q -> body_wp J fd args m g Q'.
Proof. intros HQ. unfold body_wp. apply wp_mono; [intros _; apply HQ|done|exact HQ]. Qed.

Section primitive.
  Context (kernel_entry : Z -> Z) (L0 L1 : layer cprim mem) (Mlock : module).
  Context (view : lop L0 -> list (lop L1)) (wf : log L0 -> Prop) (G1 : log L1 -> Prop) (c : nat).
  Context (M : module) (HM : upper_module (reserved Mlock) M).
  Context (J : cfg -> log L0 -> Prop) (HJ : stepwise L0 L1 (arch_builtins kernel_entry) Mlock view wf G1 c M J).
  Notation B := (arch_builtins kernel_entry).

  Lemma upper_atomic f : Mlock f = None -> f ∈ atomic_names -> module_union M Mlock f = None.
  Proof using HM.
    intros Hf Ha. unfold module_union. rewrite HM; [done|]. unfold reserved. rewrite Hf. by apply bool_decide_eq_true.
  Qed.

  (** A primitive of the machine below. *)
  Lemma fwp_primitive f args m l Q : Mlock f = None -> f ∈ atomic_names -> B c f args m = None ->
    pwp L0 (below_guarantee L0 L1 view wf G1) c (f, args) m l Q -> fwp J f args m l Q.
  Proof using HM HJ.
    intros Hf Ha Hb Hp k r x es He HQ. destruct HJ as [_ Hprim]. eapply Hprim.
    - simpl. by rewrite He, upper_atomic, Hb.
    - simpl. unfold resume. simpl. eapply pwp_mono; [|exact Hp]. simpl. intros v m' l' Hq. by apply HQ.
  Qed.

  (** A hint to the CPU while it spins. *)
  Lemma fwp_spin_hint m l (Q : Z -> mem -> log L0 -> Prop) : Mlock "arch_spin_hint"%string = None -> Q 0 m l ->
    fwp J "arch_spin_hint" [] m l Q.
  Proof using HM HJ.
    intros Hf HQ. destruct HJ as [Htau _]. eapply fwp_builtin with (M := module_union M Mlock) (cpu := c) (B := B);
      [exact Htau| |done|exact HQ].
    apply upper_atomic; [done|]. apply elem_of_list_In. simpl. tauto.
  Qed.
  Lemma fwp_cpu m l (Q : Z -> mem -> log L0 -> Prop) : Mlock "arch_cpu"%string = None -> Q (Z.of_nat c) m l ->
    fwp J "arch_cpu" [] m l Q.
  Proof using HM HJ.
    intros Hf HQ. destruct HJ as [Htau _]. eapply fwp_builtin with (M := module_union M Mlock) (cpu := c) (B := B);
      [exact Htau| |done|exact HQ].
    apply upper_atomic; [done|]. apply elem_of_list_In. simpl. tauto.
  Qed.

  (** A function of the lock module. *)
  Lemma fwp_own_function f fd args m l Q : Mlock f = Some fd -> length args = fn_params fd ->
    body_wp J fd args m l Q -> fwp J f args m l Q.
  Proof using HM HJ.
    intros Hf Hlen Hw. destruct HJ as [Htau _]. eapply fwp_body with (M := module_union M Mlock) (cpu := c) (B := B);
      [exact Htau| |exact Hlen|exact Hw].
    unfold module_union. rewrite HM; [done|]. unfold reserved. by rewrite Hf.
  Qed.
End primitive.
