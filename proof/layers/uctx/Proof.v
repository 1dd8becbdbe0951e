(** User contexts: the C on the registers of threads that the caller owns.

    A thread's registers belong to the thread while it is in the kernel, and while it is blocked to the CPU that holds the lock of
    what it waits for. Here this is: the cells are among those that the triple owns. *)
From Ashlar Require Export layers.uctx.Spec.
Local Opaque gmap_lookup gmap_partial_alter.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, uctx_module f = Some fd -> M f = Some fd).
  Context (HR : forall f fd, records_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).

  Ltac enter H code := eapply triple_owned; [apply H; reflexivity|reflexivity|]; unfold code; locals_simpl.
  Ltac call T := eapply owned_call_whole; [evaluate|eapply T|intros ? ? [-> ->]; locals_simpl].

  (** ** The records of [arch] *)
  Lemma arch_uctx_get_triple t reg d v : d !! register_cell t reg = Some v ->
    triple "arch_uctx_get" [t; reg] d (fun w d' => w = v /\ d' = d).
  Proof using HR. intros H. unfold register_cell in H. enter HR arch_uctx_get_code. by step. Qed.
  Lemma arch_uctx_set_triple t reg v d : is_Some (d !! register_cell t reg) ->
    triple "arch_uctx_set" [t; reg; v] d (fun w d' => w = 0 /\ d' = <[register_cell t reg := kept reg v]> d).
  Proof using HR.
    intros [u H]. unfold register_cell in *. enter HR arch_uctx_set_code. unfold kept.
    step. step. destruct (reg =? UCTX_RIP) eqn:E1.
    - apply Z.eqb_eq in E1 as ->. do 3 step. cbn [Z.eqb Pos.eqb UCTX_RIP UCTX_RFLAGS]. by repeat step.
    - do 3 step. destruct (reg =? UCTX_RFLAGS) eqn:E2; by repeat step.
  Qed.
  Lemma arch_fpu_reset_triple t d : is_Some (d !! vector_fresh_cell t) ->
    triple "arch_fpu_reset" [t] d (fun w d' => w = 0 /\ d' = <[vector_fresh_cell t := 1]> d).
  Proof using HR. intros [u H]. unfold vector_fresh_cell in *. enter HR arch_fpu_reset_code. by step. Qed.

  (** ** One register *)
  Theorem uctx_get_triple t reg d v : d !! register_cell t reg = Some v -> triple "uctx_get" [t; reg] d (fun w d' => w = v /\ d' = d).
  Proof using HM HR. intros H. enter HM uctx_get_code. step. call arch_uctx_get_triple; [exact H|]. by step. Qed.
  Theorem uctx_set_triple t reg v d : is_Some (d !! register_cell t reg) ->
    triple "uctx_set" [t; reg; v] d (fun w d' => w = 0 /\ d' = <[register_cell t reg := kept reg v]> d).
  Proof using HM HR. intros H. enter HM uctx_set_code. by call arch_uctx_set_triple. Qed.

  (** ** Message words *)
  Theorem uctx_register_triple i d : 0 <= i < 10 -> triple "uctx_register" [i] d (fun w d' => w = message_register i /\ d' = d).
  Proof using HM.
    intros Hi. enter HM uctx_register_code. each_word Hi; by repeat first [step|progress cbn [Z.eqb Pos.eqb]].
  Qed.
  Lemma kept_message i v : 0 <= i < 10 -> kept (message_register i) v = v.
  Proof using. intros Hi. by each_word Hi. Qed.
  Theorem uctx_word_triple t i d v : 0 <= i < 10 -> d !! word_cell t i = Some v -> triple "uctx_word" [t; i] d (fun w d' => w = v /\ d' = d).
  Proof using HM HR.
    intros Hi H. enter HM uctx_word_code. step. call uctx_register_triple; [done|]. step.
    call arch_uctx_get_triple; [exact H|]. by step.
  Qed.
  Theorem uctx_set_word_triple t i v d : 0 <= i < 10 -> is_Some (d !! word_cell t i) ->
    triple "uctx_set_word" [t; i; v] d (fun w d' => w = 0 /\ d' = <[word_cell t i := v]> d).
  Proof using HM HR.
    intros Hi H. enter HM uctx_set_word_code. step. call uctx_register_triple; [done|].
    call arch_uctx_set_triple; [exact H|]. by rewrite kept_message.
  Qed.

  (** ** Copies *)
  Theorem uctx_copy_triple to from reg d v : d !! register_cell from reg = Some v -> is_Some (d !! register_cell to reg) ->
    triple "uctx_copy" [to; from; reg] d (fun w d' => w = 0 /\ d' = <[register_cell to reg := kept reg v]> d).
  Proof using HM HR. intros H Ht. enter HM uctx_copy_code. step. call arch_uctx_get_triple; [exact H|]. by call arch_uctx_set_triple. Qed.

  Section copies.
    Context (to from n : Z) (Hn : n <= 10) (d : mem).
    Context (Hto : forall i, 0 <= i < n -> is_Some (d !! word_cell to i)) (Hfrom : forall i, 0 <= i < n -> is_Some (d !! word_cell from i)).

    (** The next word. *)
    Lemma copy_next i r d1 es (Qn Qb : locals -> mem -> Prop) Qr : 0 <= i < n -> copied to from 0 i d d1 ->
      evals es r d1 = Some [to; from; message_register i] -> (forall d2, copied to from 0 (i + 1) d d2 -> Qn r d2) ->
      owned (Call None "uctx_copy" es) Qn Qb Qr r d1.
    Proof using HM HR Hn Hto Hfrom.
      intros Hi Hc He HQ. destruct (Hfrom i Hi) as [v Hv]. eapply owned_call_whole; [exact He| |].
      - eapply uctx_copy_triple.
        + fold (word_cell from i). rewrite (copied_source to from i d d1); [exact Hv|lia|exact Hc].
        + fold (word_cell to i). rewrite (proj2 Hc (word_cell to i)); [by apply Hto|].
          intros k Hk E. apply word_cell_injective in E; lia.
      - intros w d2 [-> ->]. rewrite kept_message by lia. cbn [set_result]. apply HQ, (copied_next _ _ _ _ _ v); [lia|done|done].
    Qed.
    Ltac copy i := eapply (copy_next i); [lia|eassumption|evaluate|intros ? ?; locals_simpl].

    Theorem uctx_copy_first_triple : 4 <= n -> triple "uctx_copy_first" [to; from] d (fun w d' => w = 0 /\ copied to from 0 4 d d').
    Proof using HM HR Hn Hto Hfrom.
      intros H4. pose proof (copied_none to from 0 d) as H0. enter HM uctx_copy_first_code.
      step. copy 0. step. copy 1. step. copy 2. copy 3. done.
    Qed.
    Theorem uctx_copy_rest_triple d1 : 4 < n -> copied to from 0 4 d d1 ->
      triple "uctx_copy_rest" [to; from; n] d1 (fun w d' => w = 0 /\ copied to from 0 n d d').
    Proof using HM HR Hn Hto Hfrom.
      intros H4 Hc. enter HM uctx_copy_rest_code. step. step. destruct (Z.leb_spec 10 n) as [Hge|Hlt].
      - assert (n = 10) as E by lia. step. copy 4. step. copy 5. step. copy 6. step. copy 7. step. copy 8. step. copy 9. step. by rewrite E.
      - do 2 step. copy 4. do 2 step. destruct (Z.ltb_spec n 6); [assert (n = 5) as E by lia; step; by rewrite E|].
        do 2 step. copy 5. do 2 step. destruct (Z.ltb_spec n 7); [assert (n = 6) as E by lia; step; by rewrite E|].
        do 2 step. copy 6. do 2 step. destruct (Z.ltb_spec n 8); [assert (n = 7) as E by lia; step; by rewrite E|].
        do 2 step. copy 7. do 2 step. destruct (Z.ltb_spec n 9); [assert (n = 8) as E by lia; step; by rewrite E|].
        step. copy 8. assert (n = 9) as E by lia. by rewrite E.
    Qed.
    Theorem uctx_copy_words_triple : 0 <= n -> triple "uctx_copy_words" [to; from; n] d (fun w d' => w = 0 /\ copied to from 0 n d d').
    Proof using HM HR Hn Hto Hfrom.
      intros H0. pose proof (copied_none to from 0 d) as Hc. enter HM uctx_copy_words_code. step. step.
      destruct (Z.leb_spec 4 n) as [Hge|Hlt].
      - step. eapply owned_call_whole; [evaluate|by apply uctx_copy_first_triple|intros w d1 [-> H1]; locals_simpl]. step. step.
        destruct (Z.ltb_spec 4 n) as [Hgt|Hle].
        + eapply owned_call_whole; [evaluate|by apply uctx_copy_rest_triple|intros w d2 [-> H2]; locals_simpl]. by step.
        + assert (n = 4) as E by lia. repeat step. by rewrite E.
      - do 3 step. destruct (Z.eqb_spec n 0) as [E|Hne]; [step; by rewrite E|]. do 2 step. copy 0. do 2 step.
        destruct (Z.ltb_spec n 2); [assert (n = 1) as E by lia; step; by rewrite E|]. do 2 step. copy 1. do 2 step.
        destruct (Z.ltb_spec n 3); [assert (n = 2) as E by lia; step; by rewrite E|]. step. copy 2. assert (n = 3) as E by lia. by rewrite E.
    Qed.
  End copies.

  (** ** A new program *)
  Definition zeros (n : nat) : list (Z * Z) := (fun reg => (reg, 0)) <$> seqZ 0 (Z.of_nat n).
  Lemma zeros_next t n d : write_registers t (zeros (S n)) d = <[register_cell t (Z.of_nat n) := 0]> (write_registers t (zeros n) d).
  Proof using.
    unfold zeros, write_registers. replace (Z.of_nat (S n)) with (Z.of_nat n + 1) by lia.
    by rewrite seqZ_app, fmap_app, foldl_app by lia.
  Qed.
  Lemma registers_present t l d x : is_Some (d !! x) -> is_Some (write_registers t l d !! x).
  Proof using. unfold write_registers. revert d. induction l as [|e l IH]; intros d H; [done|]. by apply IH, own_keep. Qed.

  Theorem uctx_init_triple t entry stack argument d :
    Forall (fun reg => is_Some (d !! register_cell t reg)) (seqZ 0 15 ++ [UCTX_RIP; UCTX_RFLAGS; UCTX_RSP]) -> is_Some (d !! vector_fresh_cell t) ->
    triple "uctx_init" [t; entry; stack; argument] d (fun w d' => w = 0 /\ d' = fresh_context t entry stack argument d).
  Proof using HM HR.
    intros Hall Hf. rewrite Forall_app, !Forall_cons in Hall. destruct Hall as (Hlow & Hip & Hfl & Hsp & _).
    assert (forall reg, 0 <= reg < 15 -> is_Some (d !! register_cell t reg)) as Hl.
    { intros reg Hr. rewrite Forall_forall in Hlow. apply Hlow, elem_of_seqZ. lia. }
    enter HM uctx_init_code. step. step. step.
    eapply owned_while with (n := 15%nat) (I := fun m r d1 => exists n : nat, (n <= 15)%nat /\ m = (15 - n)%nat /\
      r = [t; entry; stack; argument; Z.of_nat n] /\ d1 = write_registers t (zeros n) d).
    { exists 0%nat. split_and!; [lia|done..]. }
    intros m r d1 (n & Hn & -> & -> & ->). eexists. split; [evaluate|]. cbn [compare]. destruct (Z.leb_spec (Z.of_nat n) 14) as [Hle|Hgt].
    - step. call arch_uctx_set_triple; [apply registers_present, Hl; lia|]. step. exists (15 - S n)%nat. split; [lia|]. exists (S n).
      split; [lia|]. split; [done|]. split.
      + rewrite wrap32_next by lia. by replace (Z.of_nat (S n)) with (Z.of_nat n + 1) by lia.
      + rewrite zeros_next. f_equal. unfold kept.
        rewrite !(proj2 (Z.eqb_neq _ _)) by (unfold UCTX_RIP, UCTX_RFLAGS; lia). done.
    - assert (n = 15%nat) as -> by lia. cbv iota.
      step. call arch_uctx_set_triple; [apply registers_present, Hl; lia|].
      step. call arch_uctx_set_triple; [by apply own_keep, registers_present|].
      step. call arch_uctx_set_triple; [by do 2 apply own_keep; apply registers_present|].
      step. call arch_uctx_set_triple; [by do 3 apply own_keep; apply registers_present|].
      call arch_fpu_reset_triple; [by do 4 apply own_keep; apply registers_present|].
      split; [done|]. unfold fresh_context, fresh_registers, write_registers. by rewrite foldl_app.
  Qed.

  (** ** The invariant walk *)
  Theorem uctx_check_triple d : (forall t, NUM_CPU <= t < NUM_THREAD -> exists v, d !! register_cell t UCTX_RIP = Some v /\ 0 <= v) ->
    triple "uctx_check" [] d (fun w d' => d' = d /\ (w = 0 /\ addresses_valid d \/ w = 1 /\ ~ addresses_valid d)).
  Proof using HM HR.
    unfold addresses_valid, NUM_CPU, NUM_THREAD. intros Hall. enter HM uctx_check_code. step. step. step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => (exists ip, r = [i; ip]) /\ d1 = d /\
      forall t v, 16 <= t < i -> d !! register_cell t UCTX_RIP = Some v -> v < 2 ^ 47) 16); [lia| | | |].
    - split_and!; [by eexists|done|lia].
    - by intros i r d1 ((ip & ->) & _).
    - intros i r d1 Hi ((ip & ->) & -> & Hd). destruct (Hall i) as (v & Hv & H0); [lia|]. step. call arch_uctx_get_triple; [exact Hv|].
      step. step. assert (Z.shiftr v 47 = v / 2 ^ 47) as E by (by apply Z.shiftr_div_pow2). rewrite E.
      destruct (Z.eqb_spec (v / 2 ^ 47) 0) as [Ez|Ez]; cbn [negb].
      + repeat step. rewrite wrap32_next by lia. split_and!; [by eexists|done|]. intros t u Ht Hu. destruct (decide (t = i)) as [->|].
        * rewrite Hv in Hu. injection Hu as <-. apply Z.div_small_iff in Ez; lia.
        * apply (Hd t); [lia|exact Hu].
      + step. split; [done|]. right. split; [done|]. intros H. apply Ez, Z.div_small. split; [done|]. apply (H i); [lia|done].
    - intros r d1 ((ip & ->) & -> & Hd). step. split; [done|]. by left.
  Qed.
End proof.
