(** Shares: the exported C functions that are one locked update implement their specification programs. *)
From Ashlar Require Export layers.share.Proof lang.programs.Slot lang.programs.Continuation.
Local Opaque gmap_lookup gmap_partial_alter.

(** What each function does to the state, by its arguments. *)
Definition share_update1 (f : share_state -> Z -> option (Z * share_state)) (args : list Z) :
    option (share_state -> option (Z * share_state)) :=
  match args with [i] => Some (fun s => f s i) | _ => None end.
Definition share_update2 (f : share_state -> Z -> Z -> option (Z * share_state)) (args : list Z) :
    option (share_state -> option (Z * share_state)) :=
  match args with [i; p] => Some (fun s => f s i p) | _ => None end.

(** A process without offers has none to end. *)
Lemma share_end_none s p which v s' : share_valid s -> offers s !! p = Some 0 ->
  share_end_all s p which = Some (v, s') -> v = 0 /\ s' = s.
Proof.
  intros HV Hp H. unfold share_end_all in H. rewrite Hp in H. injection H as <- <-. split; [done|].
  pose proof (offers_exact s HV p 0 Hp) as E. symmetry in E. pose proof (proj1 (standing_zero p (shares s)) E) as Hno.
  assert (without p which <$> shares s = shares s) as Heq.
  { apply map_eq. intros i. rewrite lookup_fmap. destruct (shares s !! i) as [x|] eqn:Hi; [|done]. simpl. f_equal.
    unfold without. by rewrite (Hno i x Hi). }
  rewrite Heq, E, insert_id by done. by destruct s.
Qed.

Section implements.
  Context (X : layout) (Y : slot X share_state share_rep share_valid).
  Context (HY : slot_lock Y = LOCK_SHARE).
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, share_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Notation implements := (implements X kernel_entry M cpu).
  Notation owned := (Owned.owned kernel_entry M cpu).

  Lemma share_frame_keeps : keeps (svalid := share_valid) (share_update1 share_frame).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|i [|??]]; try done. simpl in Hf. simplify_eq.
    by eapply share_frame_valid.
  Qed.
  Lemma share_withdraw_keeps : keeps (svalid := share_valid) (share_update2 share_withdraw).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|i [|p [|??]]]; try done. simpl in Hf. simplify_eq.
    by eapply share_withdraw_valid.
  Qed.
  Lemma share_forget_keeps : keeps (svalid := share_valid) (share_update2 share_forget).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|p [|f [|??]]]; try done. simpl in Hf. simplify_eq.
    by eapply share_end_all_valid.
  Qed.
  Lemma share_process_ended_keeps : keeps (svalid := share_valid) (share_update1 share_process_ended).
  Proof.
    intros args g s v s' Hf HV H. destruct args as [|p [|??]]; try done. simpl in Hf. simplify_eq.
    by eapply share_end_all_valid.
  Qed.

  Ltac args := intros [|?[|?[|??]]] ?; simpl; intros; by simplify_eq.

  Theorem share_frame_implements : implements "share_frame" (lock_function Y (share_update1 share_frame)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_function Y kernel_entry M cpu lock_acquire lock_release _ share_frame_code);
      [by apply HM|exact share_frame_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|i [|??]]; try done. simpl in Hf. simplify_eq.
    unfold share_frame in Hg. destruct (shares s !! i) as [x|] eqn:Hi; [|done]. injection Hg as <- <-.
    pose proof (read_share s d i x Hr Hi) as (R1 & R2 & R3 & R4). unfold share_cell in *. locals_simpl. step. done.
  Qed.

  (** What [share_withdraw] does under the lock. *)
  Lemma owned_withdraw s i p v s' (d : mem) : share_rep s d -> share_valid s -> share_withdraw s i p = Some (v, s') ->
    owned (If (CAnd (Cmp Eq (Load "share" (Var 0) "from" (Const 0)) (Var 1))
             (Cmp Ne (Load "share" (Var 0) "offered" (Const 0)) (Const 4294967295)))
         (Seq (Call None "share_clear" [Var 0; Var 1]) (Assign 2 (Const 0))) Skip)
      (fun r d' => r = [i; p; v] /\ share_rep s' d') (fun _ _ => False) (fun _ _ => False) [i; p; ERR_BAD_STATE] d.
  Proof using HM.
    intros Hr HV Hg. unfold share_withdraw in Hg. destruct (shares s !! i) as [x|] eqn:Hi; [|done].
    pose proof (read_share s d i x Hr Hi) as (R1 & R2 & R3 & R4). unfold share_cell in *. step.
    change (offered x =? 4294967295) with (offered x =? NONE). fold (offers_by p x). destruct (offers_by p x) eqn:E.
    - assert (Hp : p = from x) by (symmetry; apply Z.eqb_eq; by apply andb_true_iff in E as [E _]).
      destruct (share_clear s i) as [[w s1]|] eqn:Hc; [|done]. injection Hg as <- <-. step.
      eapply owned_call_whole; [evaluate|rewrite Hp; by eapply share_clear_triple|]. intros u d' [-> H'].
      cbn [set_result]. by step.
    - injection Hg as <- <-. by step.
  Qed.
  Theorem share_withdraw_implements : implements "share_withdraw" (lock_function Y (share_update2 share_withdraw)).
  Proof using HM HY lock_acquire lock_release.
    eapply implements_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    unfold lock_function in *. destruct args as [|i [|p [|??]]]; [right; by exists a..| |right; by exists a].
    left. split; [done|]. unfold body_wp, share_withdraw_code. cbn [fn_body fn_locals]. locals_simpl.
    cbn [share_update2] in *. wp_seq. wp_assign. wp_seq. wp_call. change [72] with [LOCK_SHARE]. rewrite <- HY.
    apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object Y)); [apply slot_guards|done|].
    intros st v st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result]. wp_seq.
    apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
    apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
    apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|].
    eapply owned_mono with (Qb := fun _ _ => False) (Qr := fun _ _ => False); [|done|done|by eapply owned_withdraw].
    intros r' d' (-> & Hrep') Hdis'. cbn beta. wp_seq. wp_call. change [72] with [LOCK_SHARE]. rewrite <- HY.
    apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock Y) (slot_object Y));
      [apply slot_guards|apply slot_rep; eauto|done|done|].
    intros m' Hr'. cbn [set_result]. wp_return. apply settles_now, HQ; [|done].
    eapply (locked_done Y); [exact Hval|by eapply share_withdraw_valid|exact Hg].
  Qed.

  (** Nothing stands, or all of it is ended. *)
  Lemma owned_end_all s p frame e v s' (d : mem) (r : locals) : share_rep s d -> share_valid s ->
    share_forget s p frame = Some (v, s') -> eval (Var 0) r d = Some p -> evals [Var 0; e] r d = Some [p; frame] ->
    v = 0 /\ owned (If (CAnd (Cmp Lt (Var 0) (Const 64)) (Cmp Ne (Load "share_offers" (Var 0) "" (Const 0)) (Const 0)))
      (Call None "share_clear_all" [Var 0; e]) Skip) (fun r d' => share_rep s' d') (fun _ _ => False) (fun _ _ => False) r d.
  Proof using HM.
    intros Hr HV H He Hes. pose proof H as H'. unfold share_forget, share_end_all in H'.
    destruct (offers s !! p) as [n|] eqn:Hn; [|done]. injection H' as <- _. split; [done|].
    pose proof (read_count s d p n Hr Hn) as R. unfold offers_cell in R.
    assert (0 <= p < NUM_PROCESS) as Hid by (apply (valid_process s HV); eauto).
    eapply owned_if.
    { eapply test_and; [eapply test_cmp; [exact He|evaluate]|].
      eapply test_cmp; [eapply eval_load; [exact He|evaluate|exact R]|evaluate]. }
    cbn [compare]. rewrite (proj2 (Z.ltb_lt p 64)) by (change NUM_PROCESS with 64 in Hid; lia). cbn [andb].
    destruct (Z.eqb_spec n 0) as [->|]; simpl.
    - apply owned_skip. by apply (share_end_none s p _ _ s') in H as [_ ->].
    - eapply owned_call_whole; [exact Hes|by eapply share_clear_all_triple|]. by intros w d' [-> H'].
  Qed.

  Theorem share_forget_implements : implements "share_forget" (lock_function Y (share_update2 share_forget)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_procedure Y kernel_entry M cpu lock_acquire lock_release _ share_forget_code);
      [by apply HM|exact share_forget_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|p [|f [|??]]]; try done. simpl in Hf. simplify_eq.
    by eapply owned_end_all.
  Qed.
  Theorem share_process_ended_implements :
    implements "share_process_ended" (lock_function Y (share_update1 share_process_ended)).
  Proof using HM HY lock_acquire lock_release.
    eapply (implements_lock_procedure Y kernel_entry M cpu lock_acquire lock_release _ share_process_ended_code);
      [by apply HM|exact share_process_ended_keeps|args|by rewrite HY|].
    intros args g s v s' d Hf HV Hg Hr. destruct args as [|p [|??]]; try done. simpl in Hf. simplify_eq.
    eapply (owned_end_all s p NONE); [exact Hr|exact HV|exact Hg|done|done].
  Qed.
End implements.
