(** Devices: the C does what [Spec] says, on a table that the caller owns.

    No lock: start-up writes the table, on one CPU, and nothing writes it later. *)
From Ashlar Require Export layers.device.Spec layers.device.Code lang.logic.Memory lang.logic.Cells.
Local Opaque gmap_lookup gmap_partial_alter.

(** The fields of a device have different names. *)
Lemma device_names x : NoDup (device_fields x).*1.
Proof. names. Qed.

(** ** The table and its cells *)

(** Each device of the table has its cells. *)
Lemma device_present i d : exactly device_cells d -> 0 <= i < NUM_DEVICE -> has_fields "device" i (device_fields no_device).*1 d.
Proof. intros Hx Hi. apply Forall_forall. intros f Hf. apply Hx. by exists i, f. Qed.
(** Stores into a device of the table leave the table with the same cells. *)
Lemma device_exactly i x d : exactly device_cells d -> 0 <= i < NUM_DEVICE ->
  exactly device_cells (store_fields "device" i (device_fields x) d).
Proof.
  intros Hx Hi. cbn [device_fields store_fields].
  repeat apply exactly_write; [done|..]; eexists i, _; (split; [done|split; [|done]]); names.
Qed.
(** Storing device [x] is an update of the state. *)
Lemma device_stored s i x d : device_rep s d -> 0 <= i < NUM_DEVICE ->
  device_rep (<[i := x]> s) (store_fields "device" i (device_fields x) d).
Proof.
  intros (Hi & Hx & Hs) Hid. split_and!; [|by apply device_exactly|].
  - intros j. rewrite <- Hi, lookup_insert_is_Some. destruct (decide (i = j)) as [<-|]; [|naive_solver].
    split; [intros _; by apply Hi|by left].
  - intros j y. destruct (decide (i = j)) as [<-|Hne].
    + rewrite lookup_insert. intros [= <-]. apply holds_stored, device_names.
    + rewrite lookup_insert_ne by done. intros Hy. apply holds_store_other; [congruence|by apply Hs].
Qed.
(** Cells represent one state. *)
Theorem device_rep_state s s' d : device_rep s d -> device_rep s' d -> s = s'.
Proof.
  intros (Hi & _ & Hs) (Hi' & _ & Hs'). apply map_eq. intros i. destruct (s !! i) as [x|] eqn:E, (s' !! i) as [y|] eqn:E'.
  - pose proof (Hs i x E) as H. pose proof (Hs' i y E') as H'. know H "kind"%string. know H "owner"%string. know H "base"%string.
    know H "size"%string. know H' "kind"%string. know H' "owner"%string. know H' "base"%string. know H' "size"%string.
    destruct x, y; simpl in *. congruence.
  - assert (is_Some (s' !! i)) as [? ?] by (apply Hi', Hi; eauto). congruence.
  - assert (is_Some (s !! i)) as [? ?] by (apply Hi, Hi'; eauto). congruence.
  - done.
Qed.
(** A state is represented by one content of the cells. *)
Theorem device_rep_cells s d d' : device_rep s d -> device_rep s d' -> d = d'.
Proof.
  intros (Hi & Hx & Hs) (_ & Hx' & Hs'). apply own_eq. intros c. destruct (d !! c) as [v|] eqn:E.
  - assert (device_cells c) as (i & f & Hid & Hf & ->) by (apply Hx; eauto). assert (is_Some (s !! i)) as [x Hsi] by (by apply Hi).
    change (device_fields no_device).*1 with (device_fields x).*1 in Hf. apply elem_of_list_fmap in Hf as (e & -> & He).
    pose proof (proj1 (Forall_forall _ _) (Hs i x Hsi) e He). pose proof (proj1 (Forall_forall _ _) (Hs' i x Hsi) e He). congruence.
  - destruct (d' !! c) as [v|] eqn:E'; [|done]. assert (is_Some (d !! c)) as [? ?] by (apply Hx, Hx'; eauto). congruence.
Qed.
(** There are cells that represent the initial state: the theorems below are not vacuous. *)
Theorem device_initial_cells : exists d, device_rep device_initial d.
Proof.
  set (cells := i ← seqZ 0 NUM_DEVICE; f ← (device_fields no_device).*1; [field_cell "device" i f]).
  assert (forall c, c ∈ cells <-> device_cells c) as Hc.
  { intros c. unfold cells, device_cells. setoid_rewrite elem_of_list_bind. setoid_rewrite elem_of_list_bind.
    setoid_rewrite elem_of_list_singleton. setoid_rewrite elem_of_seqZ. naive_solver lia. }
  exists (memory (fun c => default 0 (value_of c.1.2 (device_fields no_device))) cells). split_and!.
  - intros i. split; [by intros [x [Hi _]%device_initial_lookup]|]. intros Hi. exists no_device. by apply device_initial_lookup.
  - intros c. rewrite memory_dom. apply Hc.
  - intros i x [Hi ->]%device_initial_lookup. apply Forall_forall. intros e He.
    assert (value_of e.1 (device_fields no_device) = Some e.2) as Hv by (revert He; revert e; apply Forall_forall; by repeat constructor).
    rewrite memory_in; [unfold field_cell; cbn [fst snd]; by rewrite Hv|]. apply Hc. exists i, e.1. split; [done|]. split; [|done].
    apply elem_of_list_fmap. by exists e.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, device_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).

  Ltac enter code := eapply triple_owned; [by apply HM|done|]; unfold code; locals_simpl.

  (** ** Start-up *)

  (** Whatever the cells contain, no device is defined afterwards. *)
  Theorem device_init_triple d : exactly device_cells d ->
    triple "device_init" [] d (fun w d' => w = 0 /\ device_rep device_initial d').
  Proof using HM.
    intros Hx. enter device_init_code. step. step.
    apply (owned_fill _ _ _ "device" 0 NUM_DEVICE (device_fields no_device)); [done|done|intros i Hi; by apply device_present|].
    split; [done|]. split_and!.
    - intros i. split; [by intros [x [Hi _]%device_initial_lookup]|]. intros Hi. exists no_device. by apply device_initial_lookup.
    - apply filled_exactly; [|done]. intros i f Hi Hf. by exists i, f.
    - intros i x [Hi ->]%device_initial_lookup. by apply filled_holds; [|apply device_names].
  Qed.
  (** The device has what the caller gives; the others are as they were. *)
  Theorem device_define_triple s d i k b n p v s' : device_rep s d -> device_define s i k b n p = Some (v, s') ->
    triple "device_define" [i; k; b; n; p] d (fun w d' => w = v /\ device_rep s' d').
  Proof using HM.
    unfold device_define. intros Hr Hf. case_bool_decide as Hok; [|done]. destruct (s !! i) as [x|] eqn:Ex; [|done]. injection Hf as <- <-.
    pose proof Hr as (Hi & Hx & Hs). assert (0 <= i < NUM_DEVICE) as Hid by (apply Hi; eauto).
    pose proof (device_present i d Hx Hid) as H. enter device_define_code. repeat store_step H. split; [done|].
    replace (<[_ := p]> _) with (store_fields "device" i (device_fields (Device k p b n)) d); [by apply device_stored|].
    symmetry. written_by (device_names x) (Hs i x Ex). done.
  Qed.

  (** ** Reading *)

  (** The process that owns the device. *)
  Theorem device_owner_triple s d i v s' : device_rep s d -> device_owner s i = Some (v, s') ->
    triple "device_owner" [i] d (fun w d' => w = v /\ device_rep s' d').
  Proof using HM.
    unfold device_owner. intros Hr Hf. pose proof Hr as (_ & _ & Hs). destruct (s !! i) as [x|] eqn:Ex; [|done]. injection Hf as <- <-.
    pose proof (Hs i x Ex) as H. know H "owner"%string. enter device_owner_code. by step.
  Qed.
  (** The frame of a page: the comparison in pages is that in bytes, and the sum does not wrap around. *)
  Theorem device_frame_triple s d i page v s' : device_rep s d -> device_valid s -> device_frame s i page = Some (v, s') ->
    triple "device_frame" [i; page] d (fun w d' => w = v /\ device_rep s' d').
  Proof using HM.
    unfold device_frame, PAGE. intros Hr Hv Hf. pose proof Hr as (_ & _ & Hs).
    destruct (Z.leb_spec 0 page) as [Hp0|]; [|done].
    destruct (s !! i) as [x|] eqn:Ex; [|done]. injection Hf as <- <-.
    pose proof (Hs i x Ex) as H. know H "kind"%string. know H "base"%string. know H "size"%string.
    pose proof (Z.div_mod (extent x) 4096) as Hn. pose proof (Z.mod_pos_bound (extent x) 4096) as Hm. enter device_frame_code. do 2 step.
    assert ((extent x / 4096 <=? page) = negb (page * 4096 + 4096 <=? extent x)) as ->.
    { apply eq_true_iff_eq. rewrite negb_true_iff, Z.leb_le, Z.leb_gt. lia. }
    change GRANT_MMIO with 7. destruct (Z.eqb_spec (kind x) 7) as [Ek|], (Z.leb_spec (page * 4096 + 4096) (extent x)) as [Hp|];
      cbn [negb andb orb]; try by step.
    destruct (device_window s i x Hv Ex Ek) as (Hb & _ & _ & _ & Hsum). unfold PAGE, NONE in Hsum.
    assert (0 <= base x / 4096) by (apply Z.div_pos; lia). repeat step. unfold wrap. cbn [bits].
    by rewrite (Z.mod_small _ (2 ^ 64)), Z.mod_small by lia.
  Qed.
  (** The port of an access: the C subtracts, since a sum of what the user gives could wrap around. *)
  Theorem device_port_triple s d i offset width v s' : device_rep s d -> device_valid s -> device_port s i offset width = Some (v, s') ->
    triple "device_port" [i; offset; width] d (fun w d' => w = v /\ device_rep s' d').
  Proof using HM.
    unfold device_port. intros Hr Hv Hf. pose proof Hr as (_ & _ & Hs).
    destruct (Z.leb_spec 0 offset) as [Ho|]; [|done].
    destruct (s !! i) as [x|] eqn:Ex; [|done]. injection Hf as <- <-.
    pose proof (Hs i x Ex) as H. know H "kind"%string. know H "base"%string. know H "size"%string.
    enter device_port_code. do 2 step. change GRANT_PORT with 8. destruct (Z.eqb_spec (kind x) 8) as [Ek|]; cbn [negb andb]; [|by step].
    destruct (device_range s i x Hv Ex Ek) as (Hb & Hn & Hsum). unfold PORTS in Hsum. do 3 step.
    assert (negb (width =? 1) && negb (width =? 2) && negb (width =? 4) = negb (bool_decide (width ∈ [1; 2; 4]))) as ->.
    { apply eq_true_iff_eq. rewrite negb_true_iff, bool_decide_eq_false, !elem_of_cons, elem_of_nil. lia. }
    case_bool_decide as Hw; cbn [negb andb]; [|by step]. rewrite !elem_of_cons, elem_of_nil in Hw. do 3 step.
    assert ((extent x <=? offset) || (wrap W64 (extent x - offset) <? width) = negb (offset + width <=? extent x)) as ->.
    { destruct (Z.leb_spec (extent x) offset); [cbn [orb]; lia|]. unfold wrap. cbn [bits orb]. rewrite Z.mod_small by lia. lia. }
    destruct (Z.leb_spec (offset + width) (extent x)); cbn [negb]; [|by step].
    repeat step. unfold wrap. cbn [bits].
    by rewrite (Z.mod_small _ (2 ^ 64)), Z.mod_small by lia.
  Qed.
End proof.
