(** Page maps: start-up. Whatever their fields contain, [pagemap_init] makes them page maps that do not exist. *)
From Ashlar Require Export layers.pagemap.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(** The part of the cells that is page map [p]'s. *)
Definition fields_of (p : Z) (d : mem) : mem := filter (fun x => x.1.1.1.2 = p) d.
Definition all_fields (x : cell) : Prop := exists p field, 0 <= p < NUM_PROCESS /\ field ∈ pagemap_fields /\ x = pagemap_cell p field.
Definition fields_absent (p : Z) (d : mem) : Prop :=
  d !! pagemap_cell p "exists" = Some 0 /\ d !! pagemap_cell p "root" = Some NONE /\ d !! pagemap_cell p "cursor" = Some 0.

Lemma fields_of_lookup p (d : mem) (x : cell) : x.1.1.2 = p -> fields_of p d !! x = d !! x.
Proof.
  intros Hx. unfold fields_of. destruct (d !! x) as [v|] eqn:E.
  - by apply map_filter_lookup_Some.
  - apply map_filter_lookup_None. by left.
Qed.

Lemma absent_rep kernel_entry p d : 0 <= p < NUM_PROCESS -> exactly all_fields d -> fields_absent p d ->
  pagemap_rep kernel_entry p pagemap_absent (fields_of p d).
Proof.
  intros Hp Hx (E1 & E2 & E3). split; [apply absent_valid|]. split; [|split; [|split; [|split]]].
  - intros x. split.
    + intros [v [E Hi]%map_filter_lookup_Some]. destruct (proj1 (Hx x)) as (p' & field & _ & Hf & ->); [by exists v|].
      simpl in Hi. left. exists field. split; [done|]. by rewrite Hi.
    + intros [(field & Hf & ->)|(k & f & i & Hk & _)].
      * rewrite fields_of_lookup by done. apply Hx. by exists p, field.
      * cbn [tables pagemap_absent] in Hk. by rewrite lookup_empty in Hk.
  - by rewrite fields_of_lookup.
  - by rewrite fields_of_lookup.
  - by rewrite fields_of_lookup.
  - intros k f i Hk. cbn [tables pagemap_absent] in Hk. by rewrite lookup_empty in Hk.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Theorem pagemap_init_triple d : exactly all_fields d ->
    triple "pagemap_init" [] d (fun v d' => v = 0 /\ exactly all_fields d' /\
      forall p, 0 <= p < NUM_PROCESS -> pagemap_rep kernel_entry p pagemap_absent (fields_of p d')).
  Proof using HM.
    intros Hx. eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold pagemap_init_code. locals_simpl.
    step. step.
    eapply owned_while with (n := Z.to_nat 64) (I := fun n r d => exists p, r = [p] /\ 0 <= p <= 64 /\
      n = Z.to_nat (64 - p) /\ exactly all_fields d /\ forall u, 0 <= u < p -> fields_absent u d).
    { exists 0. split; [done|]. split; [lia|]. split; [f_equal; lia|]. split; [done|]. intros u Hu. lia. }
    clear d Hx. intros n r d (p & -> & Hp & -> & Hx & Hdone). eexists. split; [evaluate|]. cbn [compare].
    destruct (Z.ltb_spec p 64) as [Hlt|Hge].
    - assert (forall field, field ∈ pagemap_fields -> all_fields (pagemap_cell p field)) as Hown
        by (intros field Hf; exists p, field; split; [unfold NUM_PROCESS; lia|done]).
      assert (forall field, field ∈ pagemap_fields -> is_Some (d !! pagemap_cell p field)) as Hsome
        by (intros field Hf; apply Hx; by apply Hown).
      assert ("exists"%string ∈ pagemap_fields /\ "root"%string ∈ pagemap_fields /\ "cursor"%string ∈ pagemap_fields) as (F1 & F2 & F3)
        by (unfold pagemap_fields; rewrite !elem_of_cons; tauto).
      destruct (Hsome _ F1) as [v1 H1], (Hsome _ F2) as [v2 H2], (Hsome _ F3) as [v3 H3]. unfold pagemap_cell in H1, H2, H3.
      repeat step. rewrite wrap32 by lia. exists (Z.to_nat (64 - (p + 1))). split; [lia|]. exists (p + 1).
      split; [done|]. split; [lia|]. split; [done|]. split.
      + repeat (apply exactly_write; [|by apply Hown]). done.
      + intros u Hu. unfold fields_absent, pagemap_cell. destruct (decide (u = p)) as [->|Hne].
        * look. done.
        * destruct (Hdone u) as (A & B & C); [lia|]. unfold pagemap_cell in A, B, C. look. done.
    - assert (p = 64) as -> by lia. split; [done|]. split; [done|]. intros p Hp'. apply absent_rep; [done|done|by apply Hdone].
  Qed.
End proof.
