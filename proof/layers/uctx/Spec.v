(** User contexts: what the functions do to the saved registers of threads.

    A message word stands in a register; [message_register] is the order of [abi.h]. [copied to from i j d d'] says that the
    message words [i] to [j - 1] of [to] are now those of [from], and that no other cell has changed. *)
From Ashlar Require Export machine.threads.ThreadRecords lang.logic.Fields layers.uctx.Code.

Definition message_registers : list Z :=
  [UCTX_RDX; UCTX_R10; UCTX_R8; UCTX_R9; UCTX_R12; UCTX_R13; UCTX_R14; UCTX_R15; UCTX_RBX; UCTX_RBP].
Definition message_register (i : Z) : Z := nth (Z.to_nat i) message_registers 0.
Definition word_cell (t i : Z) : cell := register_cell t (message_register i).

Definition copied (to from i j : Z) (d d' : mem) : Prop :=
  (forall k, i <= k < j -> d' !! word_cell to k = d !! word_cell from k) /\
  (forall x, (forall k, i <= k < j -> x <> word_cell to k) -> d' !! x = d !! x).

(** A new program: the registers that [uctx_init] writes, with their values. *)
Definition fresh_registers (entry stack argument : Z) : list (Z * Z) :=
  ((fun reg => (reg, 0)) <$> seqZ 0 (UCTX_R15 + 1)) ++
  [(UCTX_RDI, argument); (UCTX_RIP, kept UCTX_RIP entry); (UCTX_RSP, stack); (UCTX_RFLAGS, user_flag_always)].
Definition write_registers (t : Z) (l : list (Z * Z)) (d : mem) : mem := foldl (fun (d : mem) e => <[register_cell t e.1 := e.2]> d) d l.
Definition fresh_context (t entry stack argument : Z) (d : mem) : mem :=
  <[vector_fresh_cell t := 1]> (write_registers t (fresh_registers entry stack argument) d).

(** No thread has an instruction pointer outside user space. *)
Definition addresses_valid (d : mem) : Prop :=
  forall t v, NUM_CPU <= t < NUM_THREAD -> d !! register_cell t UCTX_RIP = Some v -> v < 2 ^ 47.

(** ** What follows *)

Lemma word_numbers i : 0 <= i < MESSAGE_REGISTER_WORDS -> i ∈ [0; 1; 2; 3; 4; 5; 6; 7; 8; 9].
Proof. intros Hi. change [0; 1; 2; 3; 4; 5; 6; 7; 8; 9] with (seqZ 0 10). apply elem_of_seqZ. unfold MESSAGE_REGISTER_WORDS in Hi. lia. Qed.
(** [each_word Hi]: a goal for each number of a message word. *)
Ltac each_word Hi :=
  apply word_numbers in Hi; repeat (apply elem_of_cons in Hi as [->|Hi]); [..|by apply elem_of_nil in Hi].

Lemma message_register_injective i j : 0 <= i < 10 -> 0 <= j < 10 -> message_register i = message_register j -> i = j.
Proof. intros Hi Hj. each_word Hi; each_word Hj; done. Qed.
Lemma word_cell_injective t i j : 0 <= i < 10 -> 0 <= j < 10 -> word_cell t i = word_cell t j -> i = j.
Proof. intros Hi Hj E. apply message_register_injective; [done..|]. unfold word_cell, register_cell in E. congruence. Qed.

Lemma copied_none to from i d : copied to from i i d d.
Proof. split; [lia|done]. Qed.
Lemma copied_next to from i d d' v : 0 <= i < 10 -> copied to from 0 i d d' -> d !! word_cell from i = Some v ->
  copied to from 0 (i + 1) d (<[word_cell to i := v]> d').
Proof.
  intros Hi [Hc Ho] Hv. split.
  - intros k Hk. destruct (decide (k = i)) as [->|Hne]; [rewrite Hv; apply own_lookup|].
    rewrite own_lookup_ne; [apply Hc; lia|]. intros E. by apply word_cell_injective in E; [|lia..].
  - intros x Hx. rewrite own_lookup_ne; [apply Ho; intros k Hk; apply Hx; lia|]. intros E. apply (Hx i); [lia|done].
Qed.
(** The word that is copied next has not been written, whether the threads are two or one. *)
Lemma copied_source to from i d d' : 0 <= i < 10 -> copied to from 0 i d d' -> d' !! word_cell from i = d !! word_cell from i.
Proof.
  intros Hi [Hc Ho]. apply Ho. intros k Hk E. unfold word_cell, register_cell in E.
  assert (message_register i = message_register k) as Em by congruence. apply message_register_injective in Em; lia.
Qed.

(** A program that starts has none of the values of the one before: what its registers are depends on the three arguments. *)
Theorem fresh_registers_new t entry stack argument d d' reg : reg ∈ (fresh_registers entry stack argument).*1 ->
  fresh_context t entry stack argument d !! register_cell t reg = fresh_context t entry stack argument d' !! register_cell t reg.
Proof.
  intros H. unfold fresh_context, write_registers. rewrite !(own_lookup_ne _ (vector_fresh_cell t)) by (unfold vector_fresh_cell, register_cell; congruence).
  revert d d' H. induction (fresh_registers entry stack argument) as [|[g v] l IH] using rev_ind; intros d d' H; [by apply elem_of_nil in H|].
  rewrite !foldl_app. simpl. destruct (decide (g = reg)) as [->|Hne]; [by rewrite !own_lookup|].
  rewrite !own_lookup_ne by (unfold register_cell; congruence). apply IH. rewrite fmap_app in H.
  apply elem_of_app in H as [H|H]; [done|]. by apply elem_of_list_singleton in H.
Qed.
(** Each write keeps the instruction pointers in user space. *)
Theorem addresses_stay_valid d t reg v : 0 <= v -> addresses_valid d -> addresses_valid (<[register_cell t reg := kept reg v]> d).
Proof.
  intros Hv H u w Hu. destruct (decide (register_cell t reg = register_cell u UCTX_RIP)) as [E|Hne].
  - rewrite E, own_lookup. unfold register_cell in E. assert (reg = UCTX_RIP) as -> by congruence. intros [= <-]. by apply kept_address.
  - rewrite own_lookup_ne by done. by apply H.
Qed.
