(** Shares: start-up. Whatever the cells of all shares contain, [share_init] makes them the initial state. *)
From Ashlar Require Export layers.share.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma initial_lookup {A} (x : A) n i y :
  (set_to_map (fun i => (i, x)) (list_to_set (C := gset Z) (seqZ 0 n)) : gmap Z A) !! i = Some y <-> 0 <= i < n /\ y = x.
Proof.
  rewrite lookup_set_to_map by done. split.
  - intros (j & Hj & [= -> <-]). rewrite elem_of_list_to_set, elem_of_seqZ in Hj. split; [lia|done].
  - intros [Hi ->]. exists i. rewrite elem_of_list_to_set, elem_of_seqZ. split; [lia|done].
Qed.

Section init.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, share_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  (** The shares below [i] are not defined; the processes below [p] offer nothing. *)
  Definition done_shares (i : Z) (d : mem) : Prop := forall j, 0 <= j < i -> share_is d j no_share.
  Definition done_counts (p : Z) (d : mem) : Prop := forall q, 0 <= q < p -> d !! offers_cell q = Some 0.

  Lemma share_cell_in i field : 0 <= i < NUM_SHARE -> field ∈ share_fields -> share_cells (share_cell i field).
  Proof. intros Hi Hf. left. by exists i, field. Qed.

  Theorem share_init_triple d : exactly share_cells d ->
    triple "share_init" [] d (fun w d' => w = 0 /\ share_rep share_initial d').
  Proof using HM.
    intros Hx. eapply triple_owned; [by apply HM|done|]. unfold share_init_code. locals_simpl. step. step. step.
    eapply owned_while with (n := 64%nat) (I := fun n r d => exists i, r = [i; 0] /\ 0 <= i <= 64 /\
      n = Z.to_nat (64 - i) /\ exactly share_cells d /\ done_shares i d).
    { exists 0. split_and!; try done. intros j Hj. lia. }
    clear d Hx. intros n r d (i & -> & Hi & -> & Hx & Hdone). exists (i <? 64). split; [evaluate|].
    destruct (Z.ltb_spec i 64) as [Hlt|Hge]; cbv iota.
    - assert (Hin : forall field, field ∈ share_fields -> share_cells (share_cell i field)).
      { intros field Hf. apply share_cell_in; [change NUM_SHARE with 64; lia|done]. }
      assert (Hc : forall d' field, exactly share_cells d' -> field ∈ share_fields ->
        is_Some (d' !! (("share"%string, i, field, 0) : cell))) by (intros d' field H Hf; by apply H, Hin).
      assert (exactly share_cells (<[share_cell i "from" := NONE]> d)) as H1
        by (apply exactly_write; [done|apply Hin; field]).
      assert (exactly share_cells (<[share_cell i "to" := NONE]> (<[share_cell i "from" := NONE]> d))) as H2
        by (apply exactly_write; [done|apply Hin; field]).
      assert (exactly share_cells (<[share_cell i "offered" := NONE]>
        (<[share_cell i "to" := NONE]> (<[share_cell i "from" := NONE]> d)))) as H3
        by (apply exactly_write; [done|apply Hin; field]).
      assert (exactly share_cells (<[share_cell i "accepted" := NONE]> (<[share_cell i "offered" := NONE]>
        (<[share_cell i "to" := NONE]> (<[share_cell i "from" := NONE]> d))))) as H4
        by (apply exactly_write; [done|apply Hin; field]).
      step. eapply owned_store; [evaluate|evaluate|evaluate|apply Hc; [done|field]|].
      step. eapply owned_store; [evaluate|evaluate|evaluate|apply Hc; [done|field]|].
      step. eapply owned_store; [evaluate|evaluate|evaluate|apply Hc; [done|field]|].
      step. eapply owned_store; [evaluate|evaluate|evaluate|apply Hc; [done|field]|].
      step. rewrite wrap_small by lia. exists (Z.to_nat (64 - (i + 1))). split; [lia|]. exists (i + 1).
      split; [done|]. split; [lia|]. split; [done|]. split; [done|]. intros j Hj. destruct (decide (j = i)) as [->|Hne].
      + unfold share_is, share_cell, no_share. cbn [from to offered accepted]. look. done.
      + destruct (Hdone j) as (A1 & A2 & A3 & A4); [lia|]. unfold share_is, share_cell in *. look. done.
    - assert (i = 64) as -> by lia. step. step.
      eapply owned_while with (n := 64%nat) (I := fun n r d => exists p, r = [64; p] /\ 0 <= p <= 64 /\
        n = Z.to_nat (64 - p) /\ exactly share_cells d /\ done_shares 64 d /\ done_counts p d).
      { exists 0. split_and!; try done. intros q Hq. lia. }
      clear d Hx Hdone Hi Hge. intros n r d (p & -> & Hp & -> & Hx & Hs & Hdone). exists (p <? 64). split; [evaluate|].
      destruct (Z.ltb_spec p 64) as [Hlt|Hge]; cbv iota.
      + assert (Hin : share_cells (offers_cell p)) by (right; exists p; split; [change NUM_PROCESS with 64; lia|done]).
        step. eapply owned_store; [evaluate|evaluate|evaluate|by apply Hx|].
        step. rewrite wrap_small by lia. exists (Z.to_nat (64 - (p + 1))). split; [lia|]. exists (p + 1).
        split; [done|]. split; [lia|]. split; [done|]. split; [by apply exactly_write|]. split.
        * intros j Hj. destruct (Hs j Hj) as (A1 & A2 & A3 & A4). unfold share_is, share_cell in *. look. done.
        * intros q Hq. unfold done_counts, offers_cell in *. destruct (decide (q = p)) as [->|Hne]; [by look|].
          rewrite own_lookup_ne by congruence. apply Hdone. lia.
      + assert (p = 64) as -> by lia. split; [done|]. unfold share_initial. split_and!; cbn [shares offers].
        * intros i. split; [by intros [x [? _]%initial_lookup]|]. intros Hi. exists no_share. by apply initial_lookup.
        * intros q. split; [by intros [x [? _]%initial_lookup]|]. intros Hq. exists 0. by apply initial_lookup.
        * exact Hx.
        * intros i x [Hi ->]%initial_lookup. by apply Hs.
        * intros q m [Hq ->]%initial_lookup. by apply Hdone.
  Qed.
End init.
