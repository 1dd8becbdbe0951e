(** Containers: every exported C function implements its specification program. *)
From Ashlar Require Export layers.container.Proof lang.programs.Slot.

(** What each function does to the state, by its arguments. *)
Definition update1 (f : gmap Z container -> Z -> option (Z * gmap Z container)) (args : list Z) :
    option (gmap Z container -> option (Z * gmap Z container)) :=
  match args with [c] => Some (fun s => f s c) | _ => None end.
Definition update2 (f : gmap Z container -> Z -> Z -> option (Z * gmap Z container)) (args : list Z) :
    option (gmap Z container -> option (Z * gmap Z container)) :=
  match args with [c; n] => Some (fun s => f s c n) | _ => None end.
Definition update3 (f : gmap Z container -> Z -> Z -> Z -> option (Z * gmap Z container)) (args : list Z) :
    option (gmap Z container -> option (Z * gmap Z container)) :=
  match args with [p; c; n] => Some (fun s => f s p c n) | _ => None end.

Section implements.
  Context (X : layout) (Y : slot X (gmap Z container) container_rep container_valid).
  Context (HY : slot_lock Y = LOCK_CONTAINER).
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, container_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Notation implements := (implements X kernel_entry M cpu).

  Lemma container_split_keeps : keeps (svalid := container_valid) (update3 container_split).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|p [|c [|n [|??]]]]; try done. simpl in Hf. simplify_eq.
    by eapply container_split_valid.
  Qed.
  Lemma container_charge_keeps : keeps (svalid := container_valid) (update2 container_charge).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|c [|n [|??]]]; try done. simpl in Hf. simplify_eq.
    by eapply container_charge_valid.
  Qed.
  Lemma container_refund_keeps : keeps (svalid := container_valid) (update2 container_refund).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|c [|n [|??]]]; try done. simpl in Hf. simplify_eq.
    by eapply container_refund_valid.
  Qed.
  Lemma container_merge_keeps : keeps (svalid := container_valid) (update1 container_merge).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|c [|??]]; try done. simpl in Hf. simplify_eq.
    by eapply container_merge_valid.
  Qed.
  Lemma container_read_keeps f : keeps (svalid := container_valid) (update1 (container_read f)).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|c [|??]]; try done. simpl in Hf. simplify_eq.
    by eapply container_read_valid.
  Qed.

  Ltac args := intros [|?[|?[|?[|??]]]] ?; simpl; intros; by simplify_eq.

  Theorem container_split_implements : implements "container_split" (lock_function Y (update3 container_split)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_function Y kernel_entry M cpu lock_acquire lock_release _ container_split_code);
      [by apply HM|exact container_split_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|p [|c [|n [|??]]]]; try done. simpl in Hf. simplify_eq.
    eapply owned_call_whole; [done|by eapply container_split_locked_triple|].
    intros w d' [-> Hr']. done.
  Qed.
  Theorem container_charge_implements : implements "container_charge" (lock_function Y (update2 container_charge)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_function Y kernel_entry M cpu lock_acquire lock_release _ container_charge_code);
      [by apply HM|exact container_charge_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|c [|n [|??]]]; try done. simpl in Hf. simplify_eq.
    eapply owned_call_whole; [done|by eapply container_charge_locked_triple|].
    intros w d' [-> Hr']. done.
  Qed.
  Theorem container_merge_implements : implements "container_merge" (lock_function Y (update1 container_merge)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_function Y kernel_entry M cpu lock_acquire lock_release _ container_merge_code);
      [by apply HM|exact container_merge_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|c [|??]]; try done. simpl in Hf. simplify_eq.
    eapply owned_call_whole; [done|by eapply container_merge_locked_triple|].
    intros w d' [-> Hr']. done.
  Qed.

  Theorem container_refund_implements : implements "container_refund" (lock_function Y (update2 container_refund)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_procedure Y kernel_entry M cpu lock_acquire lock_release _ container_refund_code);
      [by apply HM|exact container_refund_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|c [|n [|??]]]; try done. simpl in Hf. simplify_eq.
    unfold container_refund in Hg. destruct (s !! c) as [x|] eqn:Hc; [|done].
    destruct (exists_ x) eqn:Ex; [|done]. simpl in Hg. destruct (_ && _) eqn:Hn; [|done]. simplify_eq. split; [done|].
    pose proof (valid_ok s HV c x Hc) as Hx. unfold container_ok in Hx. rewrite Ex in Hx.
    destruct Hx as (? & ? & ? & ? & _).
    pose proof (read_container s d c x Hr Hc) as (_ & _ & _ & R4 & _). unfold container_cell in *.
    eapply owned_put with (v := usage x - n); [exact Hr|exact Hc|done| |unfold container_fields; rewrite !elem_of_cons; tauto|done|].
    { cbn. rewrite R4. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d' Hr'. replace (set_usage (usage x - n) x) with (put "usage" (usage x - n) x); [done|]. by destruct x.
  Qed.

  Section reads.
    Context (name field : string) (fd : fundef) (f : container -> Z).
    Context (Hfd : container_module name = Some fd).
    Context (Hcode : fd = Fun 1 1
      (Seq (Call None "spinlock_acquire" [Const LOCK_CONTAINER])
      (Seq (Assign 1 (Load "container" (Var 0) field (Const 0)))
      (Seq (Call None "spinlock_release" [Const LOCK_CONTAINER]) (Return (Var 1)))))).
    Context (Hread : forall d c x, container_is d c x -> d !! container_cell c field = Some (f x)).

    Lemma container_read_implements : implements name (lock_function Y (update1 (container_read f))).
    Proof using HM HY lock_acquire lock_release Hfd Hcode Hread.
      eapply (implements_lock_function Y kernel_entry M cpu lock_acquire lock_release _ fd);
        [by apply HM|apply container_read_keeps|rewrite Hcode; args|rewrite Hcode; by rewrite HY|].
      intros args g s v s' d Hf HV Hg Hr. destruct args as [|c [|??]]; try done. simpl in Hf. simplify_eq.
      unfold container_read in Hg. destruct (s !! c) as [x|] eqn:Hc; [|done]. simplify_eq.
      pose proof (Hread d c x (read_container s' d c x Hr Hc)) as R. unfold container_cell in R.
      eapply owned_assign; [cbn; exact R|]. done.
    Qed.
  End reads.

  Theorem container_quota_implements : implements "container_quota" (lock_function Y (update1 container_quota)).
  Proof using HM HY lock_acquire lock_release.
    eapply (container_read_implements "container_quota" "quota"); [done|done|]. by intros d c x (_ & _ & H & _).
  Qed.
  Theorem container_usage_implements : implements "container_usage" (lock_function Y (update1 container_usage)).
  Proof using HM HY lock_acquire lock_release.
    eapply (container_read_implements "container_usage" "usage"); [done|done|]. by intros d c x (_ & _ & _ & H & _).
  Qed.
  Theorem container_parent_implements : implements "container_parent" (lock_function Y (update1 container_parent)).
  Proof using HM HY lock_acquire lock_release.
    eapply (container_read_implements "container_parent" "parent"); [done|done|]. by intros d c x (_ & H & _).
  Qed.
  Theorem container_own_usage_implements :
    implements "container_own_usage" (lock_function Y (update1 container_own_usage)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_function Y kernel_entry M cpu lock_acquire lock_release _ container_own_usage_code);
      [by apply HM|apply container_read_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|c [|??]]; try done. simpl in Hf. simplify_eq.
    unfold container_own_usage, container_read in Hg. destruct (s !! c) as [x|] eqn:Hc; [|done]. simplify_eq.
    pose proof (valid_ok s' HV c x Hc) as Hx. unfold container_ok in Hx.
    pose proof (read_container s' d c x Hr Hc) as (_ & _ & _ & R4 & R5 & _). unfold container_cell in *.
    eapply owned_assign with (v := usage x - granted x); [|done].
    cbn. rewrite R4. cbn. rewrite R5. cbn. f_equal. apply Z.mod_small. simpl.
    destruct (exists_ x); [lia|]. subst x. simpl. lia.
  Qed.

  (** All of them, as the specification of the layer. *)
  Definition container_spec (f : string) (args : list Z) : option (prog X) :=
    if String.eqb f "container_split" then Some (lock_function Y (update3 container_split) args)
    else if String.eqb f "container_charge" then Some (lock_function Y (update2 container_charge) args)
    else if String.eqb f "container_refund" then Some (lock_function Y (update2 container_refund) args)
    else if String.eqb f "container_merge" then Some (lock_function Y (update1 container_merge) args)
    else if String.eqb f "container_quota" then Some (lock_function Y (update1 container_quota) args)
    else if String.eqb f "container_usage" then Some (lock_function Y (update1 container_usage) args)
    else if String.eqb f "container_parent" then Some (lock_function Y (update1 container_parent) args)
    else if String.eqb f "container_own_usage" then Some (lock_function Y (update1 container_own_usage) args)
    else None.

  Theorem container_implemented f args p : container_spec f args = Some p ->
    exists sp, p = sp args /\ implements f sp.
  Proof using HM HY lock_acquire lock_release.
    unfold container_spec. intros H.
    repeat match type of H with
           | (if String.eqb f ?n then _ else _) = _ => destruct (String.eqb_spec f n) as [->|_]
           end; [..|done]; injection H as <-; eexists; (split; [reflexivity|]).
    - apply container_split_implements. - apply container_charge_implements.
    - apply container_refund_implements. - apply container_merge_implements.
    - apply container_quota_implements. - apply container_usage_implements.
    - apply container_parent_implements. - apply container_own_usage_implements.
  Qed.
End implements.
