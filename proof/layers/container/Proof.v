(** Containers: what the C functions do on the cells, under the lock. *)
From Ashlar Require Export layers.container.cells.Representation layers.container.Code.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, container_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).
  Notation owned := (owned kernel_entry M cpu).

  Ltac enter := eapply triple_owned; [by apply HM|done|]; locals_simpl.

  Ltac choose :=
    change (0 =? 0) with true; change (1 =? 1) with true; change (0 =? 1) with false; change (1 =? 0) with false;
    cbn [negb orb andb]; cbv iota.
  Ltac go := repeat (step; choose).

  (** One store to a field is one [put]; the state follows the cells. *)
  Lemma owned_put c x s field i e (Qn Qb : locals -> mem -> Prop) Qr r (d : mem) v :
    container_rep s d -> s !! c = Some x -> eval i r d = Some c -> eval e r d = Some v ->
    field ∈ container_fields -> (field = "exists"%string -> v = 0 \/ v = 1) ->
    (forall d', container_rep (<[c := put field v x]> s) d' -> Qn r d') ->
    owned (Store "container" i field (Const 0) e) Qn Qb Qr r d.
  Proof.
    intros Hr Hc Hi He Hf Hv HQ. eapply owned_store; [exact Hi|done|exact He| |].
    - destruct Hr as (Hd & Hx & _). apply Hx. exists c, field. split_and!; [apply Hd; eauto..|done|done].
    - apply HQ. by apply (rep_put s d c x field v).
  Qed.

  Ltac field := unfold container_fields; rewrite !elem_of_cons; tauto.

  Theorem container_set_triple s d c x e p q :
    container_rep s d -> s !! c = Some x -> (e = 0 \/ e = 1) ->
    triple "container_set" [c; e; p; q] d
      (fun v d' => v = 0 /\ container_rep (<[c := Container (negb (e =? 0)) p q 0 0 0]> s) d').
  Proof using HM.
    intros Hr Hc He. enter. unfold container_set_code. locals_simpl.
    apply owned_seq. eapply owned_put; [exact Hr|exact Hc|done|done|field|intros _; exact He|]. intros d1 H1.
    apply owned_seq. eapply owned_put; [exact H1|apply lookup_insert|done|done|field|done|]. intros d2 H2.
    apply owned_seq. eapply owned_put; [exact H2|apply lookup_insert|done|done|field|done|]. intros d3 H3.
    apply owned_seq. eapply owned_put; [exact H3|apply lookup_insert|done|done|field|done|]. intros d4 H4.
    apply owned_seq. eapply owned_put; [exact H4|apply lookup_insert|done|done|field|done|]. intros d5 H5.
    eapply owned_put; [exact H5|apply lookup_insert|done|done|field|done|]. intros d6 H6.
    split; [done|]. rewrite !insert_insert in H6. exact H6.
  Qed.

  Theorem container_charge_locked_triple s d c n v s' :
    container_rep s d -> container_valid s -> container_charge s c n = Some (v, s') ->
    triple "container_charge_locked" [c; n] d (fun w d' => w = v /\ container_rep s' d').
  Proof using HM.
    intros Hr HV H. unfold container_charge, word32 in H. destruct (_ && _) eqn:En; [|done].
    destruct (s !! c) as [x|] eqn:Hc; [|done].
    pose proof (read_container s d c x Hr Hc) as (R1 & R2 & R3 & R4 & R5 & R6). unfold container_cell in *.
    pose proof (valid_ok s HV c x Hc) as Hx. unfold container_ok in Hx.
    enter. unfold container_charge_locked_code. locals_simpl.
    destruct (exists_ x) eqn:Ex; simpl in R1, H.
    2: { injection H as <- <-. go. done. }
    destruct Hx as (? & ? & ? & ? & _).
    assert (Hw : wrap W32 (quota x - usage x) = quota x - usage x) by (apply Z.mod_small; simpl; lia).
    go. rewrite Hw. destruct (quota x - usage x <? n) eqn:Hn; injection H as <- <-.
    { go. done. }
    step. step.
    eapply owned_put with (v := usage x + n); [exact Hr|exact Hc|done| |field|done|].
    { cbn. rewrite R4. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d' Hr'. go. split; [done|].
    replace (set_usage (usage x + n) x) with (put "usage" (usage x + n) x); [done|]. by destruct x.
  Qed.

  Theorem container_split_locked_triple s d p c n v s' :
    container_rep s d -> container_valid s -> container_split s p c n = Some (v, s') ->
    triple "container_split_locked" [p; c; n] d (fun w d' => w = v /\ container_rep s' d').
  Proof using HM.
    intros Hr HV H. unfold container_split, word32, container_id in H. destruct (_ && _) eqn:En; [|done].
    assert (Hne : p <> c) by lia. assert (Hn : 0 <= n < 2 ^ 32) by lia.
    destruct (s !! p) as [x|] eqn:Hp; [|done]. destruct (s !! c) as [y|] eqn:Hc; [|done].
    pose proof (read_container s d p x Hr Hp) as (R1 & R2 & R3 & R4 & R5 & R6).
    pose proof (read_container s d c y Hr Hc) as (S1 & S2 & S3 & S4 & S5 & S6). unfold container_cell in *.
    pose proof (valid_ok s HV p x Hp) as Hx. unfold container_ok in Hx.
    pose proof (children_bound s HV p x Hp) as Hch. change (ROOT + 1) with 65 in Hch.
    enter. unfold container_split_locked_code. locals_simpl.
    destruct (exists_ x) eqn:Ex; simpl in R1, H.
    2: { injection H as <- <-. go. done. }
    destruct (exists_ y) eqn:Ey; simpl in S1, H.
    { injection H as <- <-. go. done. }
    destruct Hx as (? & ? & ? & ? & _).
    assert (Hw : wrap W32 (quota x - usage x) = quota x - usage x) by (apply Z.mod_small; simpl; lia).
    go. rewrite Hw. destruct (quota x - usage x <? n) eqn:Hq; injection H as <- <-.
    { go. done. }
    apply Z.ltb_ge in Hq. do 2 step.
    eapply owned_put with (v := usage x + n); [exact Hr|exact Hp|done| |field|done|].
    { cbn. rewrite R4. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d1 K1. step.
    pose proof (read_container _ d1 p _ K1 (lookup_insert _ _ _)) as (_ & _ & _ & _ & T5 & _). unfold container_cell in *.
    eapply owned_put with (v := granted x + n); [exact K1|apply lookup_insert|done| |field|done|].
    { cbn. rewrite T5. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d2 K2. step. rewrite insert_insert in K2.
    pose proof (read_container _ d2 p _ K2 (lookup_insert _ _ _)) as (_ & _ & _ & _ & _ & T6). unfold container_cell in *.
    eapply owned_put with (v := children x + 1); [exact K2|apply lookup_insert|done| |field|done|].
    { cbn. rewrite T6. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d3 K3. step. rewrite insert_insert in K3.
    eapply owned_call_whole; [done| |].
    { eapply (container_set_triple _ d3 c y); [exact K3|by rewrite lookup_insert_ne|by right]. }
    intros w d4 [-> K4]. go. split; [done|]. simpl in K4. unfold put in K4. simpl in K4. by rewrite Ex in K4.
  Qed.

  Theorem container_merge_locked_triple s d c v s' :
    container_rep s d -> container_valid s -> container_merge s c = Some (v, s') ->
    triple "container_merge_locked" [c] d (fun w d' => w = v /\ container_rep s' d').
  Proof using HM.
    intros Hr HV H. unfold container_merge in H. destruct (Z.eqb_spec c ROOT) as [|HcR]; [done|].
    destruct (s !! c) as [y|] eqn:Hc; [|done].
    pose proof (read_container s d c y Hr Hc) as (S1 & S2 & S3 & S4 & S5 & S6). unfold container_cell in *.
    enter. unfold container_merge_locked_code. locals_simpl.
    destruct (exists_ y) eqn:Ey; simpl in S1, H.
    2: { injection H as <- <-. go. done. }
    destruct (Z.eqb_spec (usage y) 0) as [Hu|Hu]; simpl in H.
    2: { injection H as <- <-. go. rewrite (proj2 (Z.eqb_neq (usage y) 0)) by done. choose. go. done. }
    destruct (Z.eqb_spec (children y) 0) as [Hch|Hch]; simpl in H.
    2: { injection H as <- <-. rewrite Hu in S4. go. rewrite (proj2 (Z.eqb_neq (children y) 0)) by done. choose. go. done. }
    destruct (s !! parent y) as [x|] eqn:Hp; [|done]. injection H as <- <-.
    destruct (no_child s (parent y) c y HV Hc Ey eq_refl) as [(Hep & Hne & Hidp)|]; [|done].
    assert (Ex : exists_ x = true) by (unfold exists_in in Hep; by rewrite Hp in Hep).
    destruct (child_quota s HV c y x Hc Ey Hp Ex) as [Hcq Hcc].
    pose proof (valid_ok s HV _ x Hp) as Hx. unfold container_ok in Hx. rewrite Ex in Hx.
    destruct Hx as (? & ? & ? & ? & _).
    pose proof (valid_ok s HV c y Hc) as Hy. unfold container_ok in Hy. rewrite Ey in Hy.
    destruct Hy as (? & ? & ? & ? & _).
    pose proof (children_bound s HV _ x Hp) as Hb. change (ROOT + 1) with 65 in Hb.
    pose proof (read_container s d _ x Hr Hp) as (R1 & R2 & R3 & R4 & R5 & R6). unfold container_cell in *.
    rewrite Hu in S4. rewrite Hch in S6. do 6 step. choose. do 2 step.
    eapply owned_put with (v := usage x - quota y); [exact Hr|exact Hp|done| |field|done|].
    { cbn. rewrite R4. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d1 K1. step.
    pose proof (read_container _ d1 _ _ K1 (lookup_insert _ _ _)) as (_ & _ & _ & _ & T5 & _). unfold container_cell in *.
    eapply owned_put with (v := granted x - quota y); [exact K1|apply lookup_insert|done| |field|done|].
    { cbn. rewrite T5. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d2 K2. step. rewrite insert_insert in K2.
    pose proof (read_container _ d2 _ _ K2 (lookup_insert _ _ _)) as (_ & _ & _ & _ & _ & T6). unfold container_cell in *.
    eapply owned_put with (v := children x - 1); [exact K2|apply lookup_insert|done| |field|done|].
    { cbn. rewrite T6. cbn. f_equal. apply Z.mod_small. simpl. lia. }
    intros d3 K3. step. rewrite insert_insert in K3.
    eapply owned_call_whole; [done| |].
    { eapply (container_set_triple _ d3 c y); [exact K3|by rewrite lookup_insert_ne|by left]. }
    intros w d4 [-> K4]. go. split; [done|]. simpl in K4. exact K4.
  Qed.
End proof.
