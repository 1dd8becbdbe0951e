(** The contracts of [arch] say what [lang/Builtin.v] says.

    [Builtin.v] states primitives that work on frames as functions on memory; the proofs of the layers use them. The contracts in
    this folder state them as C over single actions, and the machine code is validated against these. Here: where the first is
    defined, the second ends with the same result and the same memory. Those of [Builtin.v] that are not here are values of the
    machine (the CPU's number, the kernel's own entries) or change nothing that it speaks of. *)
From Ashlar Require Import arch.Code lang.logic.Body.
Local Open Scope string_scope.

(** Whatever the builtin does, the function of the contract does. *)
Definition says_as (f : string) (args : list Z) : Prop :=
  forall kernel_entry cpu d v d', arch_builtins kernel_entry cpu f args d = Some (Some (v, d')) ->
    body_triple kernel_entry arch_module cpu f args d (fun v' d'' => v' = v /\ d'' = d').

(** ** A word of a frame *)
Theorem frame_read_contract f w : says_as "arch_frame_read" [f; w].
Proof.
  intros ke cpu d v d' H. cbn in H. destruct (d !! frame_word f w) as [u|] eqn:E; [|done]. simplify_eq.
  eapply body_triple_body; [reflexivity|done|]. cbn. eapply owned_return; [|done]. cbn. exact E.
Qed.

Theorem frame_write_contract f w x : says_as "arch_frame_write" [f; w; x].
Proof.
  intros ke cpu d v d' H. cbn in H. destruct (d !! frame_word f w) as [u|] eqn:E; [|done]. simplify_eq.
  eapply body_triple_body; [reflexivity|done|]. cbn.
  eapply owned_store; [reflexivity..|by eexists|done].
Qed.

(** ** Clearing a frame: after [n] words, the first [n] are 0 *)
Definition cleared (f : Z) (n : nat) : mem :=
  list_to_map ((fun w => (frame_word f (Z.of_nat w), 0)) <$> seq 0 n).

Lemma cleared_all f : cleared f 512 = frame_cells f (fun _ => 0).
Proof. reflexivity. Qed.

Lemma cleared_next f n d : <[frame_word f (Z.of_nat n) := 0]> (cleared f n ∪ d) = cleared f (S n) ∪ d.
Proof.
  rewrite own_write. f_equal. unfold cleared. rewrite seq_S, fmap_app. symmetry. apply list_to_map_snoc.
  intros Hin. rewrite <- list_fmap_compose in Hin. apply elem_of_list_fmap in Hin as (w & Heq & Hw).
  apply elem_of_seq in Hw. cbn in Heq. unfold frame_word in Heq. simplify_eq. lia.
Qed.

Lemma owned_word f n d w : owns_frame f d -> (w < 512)%nat -> is_Some ((cleared f n ∪ d) !! frame_word f (Z.of_nat w)).
Proof.
  intros Ho Hw. apply lookup_union_is_Some. right. unfold owns_frame in Ho. rewrite Forall_forall in Ho.
  apply Ho, elem_of_seq. lia.
Qed.

Lemma small_sum a b : 0 <= a -> 0 <= b -> a + b < 2 ^ 32 -> wrap W32 (a + b) = a + b.
Proof. intros. unfold wrap. cbn [bits]. apply Z.mod_small. lia. Qed.

Theorem frame_clear_contract f : says_as "arch_frame_clear" [f].
Proof.
  intros ke cpu d v d' H.
  change (Some (if decide (owns_frame f d) then Some (0, frame_cells f (fun _ => 0) ∪ d) else None) = Some (Some (v, d'))) in H.
  rewrite <- cleared_all in H. remember (cleared f 512) as done eqn:Hdone.
  destruct (decide (owns_frame f d)) as [Ho|]; [|discriminate]. injection H as <- <-.
  eapply body_triple_body; [reflexivity|reflexivity|]. cbn [fn_body arch_frame_clear_code app replicate fn_locals].
  eapply owned_seq, owned_assign; [reflexivity|]. cbn [insert list_insert].
  eapply owned_while with (n := 512%nat) (I := fun left r m => exists k j, (16 * k <= 512)%nat /\ (left = 512 - 16 * k)%nat /\
    r = [f; Z.of_nat (16 * k); j] /\ m = cleared f (16 * k) ∪ d).
  { exists 0%nat, 0. split_and!; [lia|lia|done|]. unfold cleared. cbn. by rewrite (left_id_L ∅ (∪)). }
  intros left r m (k & j & Hk & -> & -> & ->).
  exists (Z.ltb (Z.of_nat (16 * k)) 512). split; [reflexivity|]. destruct (Z.ltb_spec (Z.of_nat (16 * k)) 512) as [Hl|Hl];
    [|assert (16 * k = 512)%nat as -> by lia; split; [reflexivity|by rewrite Hdone]].
  eapply owned_seq, owned_assign; [reflexivity|]. cbn [insert list_insert]. eapply owned_seq.
  eapply owned_while with (n := 16%nat) (I := fun left r m => exists l, (l <= 16)%nat /\ (left = 16 - l)%nat /\
    r = [f; Z.of_nat (16 * k); Z.of_nat l] /\ m = cleared f (16 * k + l) ∪ d).
  { exists 0%nat. split_and!; [lia|lia|done|]. by rewrite Nat.add_0_r. }
  intros left r m (l & Hl16 & -> & -> & ->).
  exists (Z.ltb (Z.of_nat l) 16). split; [reflexivity|]. destruct (Z.ltb_spec (Z.of_nat l) 16) as [Hlt|Hge].
  - assert (16 * k + l < 512)%nat by lia.
    assert (Hsum : wrap W32 (Z.of_nat (16 * k) + Z.of_nat l) = Z.of_nat (16 * k + l)).
    { rewrite small_sum; lia. }
    eapply owned_seq, owned_store with (jv := Z.of_nat (16 * k + l)); [reflexivity| |reflexivity| |].
    + transitivity (Some (wrap W32 (Z.of_nat (16 * k) + Z.of_nat l))); [reflexivity|by rewrite Hsum].
    + by apply owned_word.
    + eapply owned_assign; [reflexivity|]. cbn [insert list_insert]. exists (16 - S l)%nat. split; [lia|]. exists (S l).
      split_and!; [lia|done| |].
      * rewrite small_sum by lia. repeat f_equal. lia.
      * etransitivity; [exact (cleared_next f (16 * k + l) d)|by rewrite <- plus_n_Sm].
  - assert (l = 16)%nat as -> by lia. eapply owned_assign; [reflexivity|]. cbn [insert list_insert].
    exists (512 - 16 * S k)%nat. split; [lia|]. exists (S k), 16. split_and!; [lia|done| |].
    + rewrite small_sum by lia. repeat f_equal. lia.
    + repeat f_equal. lia.
Qed.
