(** Page maps and the processor: a map's root is read under its lock; loading a map concerns this CPU alone.

    The root of a map that exists is a frame, so it may be loaded ([root_loadable]). The caller has to ensure that the map
    exists until another is loaded: which map is loaded is not modelled. *)
From Ashlar Require Export layers.pagemap.Implements.
Local Opaque gmap_lookup gmap_partial_alter.

(** A frame that can be the root of a page map. *)
Definition loadable (root : Z) : bool := (0 <=? root) && (root <? NUM_FRAME).
Lemma loadable_spec root : loadable root = true <-> 0 <= root < NUM_FRAME.
Proof. unfold loadable. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt. done. Qed.
Lemma root_loadable s : pagemap_valid s -> present s = true -> loadable (root_of s) = true.
Proof.
  unfold present, root_of. intros HV Hp. apply loadable_spec. case_bool_decide as Hs; [|done]. destruct Hs as [f Hf].
  rewrite Hf. by eapply table_frame.
Qed.

Lemma page_map_load_def kernel_entry cpu root m : 0 <= root < NUM_FRAME ->
  arch_builtins kernel_entry cpu "arch_page_map_load" [root] m = Some (Some (0, m)).
Proof. intros Hr. cbv [arch_builtins String.eqb Ascii.eqb Bool.eqb]. by rewrite bool_decide_true. Qed.

Section load.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (HY : forall p Hp, slot_lock (Y p Hp) = LOCK_PAGEMAP_BASE + p).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).

  (** ** Programs *)
  Definition read_root (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [p] => on_map X kernel_entry Y p (fun s => Some (root_of s, s)) κ | _ => Fail end.
  Definition load_map (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [root] => if loadable root then κ 0 else Fail | _ => Fail end.
  Definition load_kernel_map (args : list Z) (κ : Z -> prog X) : prog X :=
    match args with [] => κ 0 | _ => Fail end.

  Lemma read_root_continuation : has_continuation X read_root.
  Proof using. intros [|p [|??]] κ; try constructor. apply on_map_continuation. Qed.
  Lemma load_map_continuation : has_continuation X load_map.
  Proof using. intros [|r [|??]] κ; try constructor. unfold load_map. destruct (loadable r); [apply same_refl|constructor]. Qed.
  Lemma load_kernel_map_continuation : has_continuation X load_kernel_map.
  Proof using. intros [|??] κ; [apply same_refl|constructor]. Qed.

  (** ** Loading touches no cell *)
  Ltac enter code := eapply triple_owned; [apply HM; reflexivity|reflexivity|]; unfold code; locals_simpl.

  Theorem pagemap_load_triple root d : M "arch_page_map_load" = None -> 0 <= root < NUM_FRAME ->
    triple kernel_entry M cpu "pagemap_load" [root] d (fun v d' => v = 0 /\ d' = d).
  Proof using HM.
    intros HL Hr. enter pagemap_load_code. eapply owned_builtin; [exact HL|evaluate| |split; reflexivity].
    intros m. by apply page_map_load_def.
  Qed.
  Theorem pagemap_load_kernel_triple d : M "arch_page_map_load_kernel" = None ->
    triple kernel_entry M cpu "pagemap_load_kernel" [] d (fun v d' => v = 0 /\ d' = d).
  Proof using HM. intros HL. enter pagemap_load_kernel_code. by eapply owned_builtin; [exact HL|evaluate| |]. Qed.

  (** ** The C follows the programs *)
  Theorem pagemap_load_implements : M "arch_page_map_load" = None -> implements_then "pagemap_load" load_map.
  Proof using HM.
    intros HL. eapply implements_then_body; [by apply HM|]. intros Post args m a κ Q Hr HQ.
    destruct args as [|root [|??]]; [by right| |by right]. cbn [load_map] in *.
    destruct (loadable root) eqn:E; [left|by right]. split; [done|]. apply loadable_spec in E.
    unfold body_wp, pagemap_load_code. cbn [fn_body fn_locals]. locals_simpl. wp_call.
    eapply fwp_builtin with (v := 0) (m' := m); [apply sim_step_closed|exact HL| |apply settles_now, HQ; [constructor|done]].
    by apply page_map_load_def.
  Qed.
  Theorem pagemap_load_kernel_implements : M "arch_page_map_load_kernel" = None ->
    implements_then "pagemap_load_kernel" load_kernel_map.
  Proof using HM.
    intros HL. eapply implements_then_body; [by apply HM|]. intros Post args m a κ Q Hr HQ.
    destruct args as [|??]; [|by right]. left. split; [done|].
    unfold body_wp, pagemap_load_kernel_code. cbn [fn_body fn_locals]. locals_simpl. wp_call.
    eapply fwp_builtin with (v := 0) (m' := m); [apply sim_step_closed|exact HL|done|apply settles_now, HQ; [constructor|done]].
  Qed.

  Theorem pagemap_root_of_implements : implements_then "pagemap_root_of" read_root.
  Proof using HM HY lock_acquire lock_release.
    eapply implements_then_body; [by apply HM|]. intros Post args m a k Q Hr HQ.
    destruct args as [|p [|??]]; [by right| |by right]. cbn [read_root] in *.
    unfold on_map, for_process in *. destruct (decide (0 <= p < NUM_PROCESS)) as [Hp|]; [left|by right]. split; [done|].
    unfold body_wp, pagemap_root_of_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_call. apply (pagemap_lock_acquires X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object (Y p Hp))); [apply slot_guards|done|].
    intros st w st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result].
    apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
    apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
    pose proof Hg as Hg0. injection Hg0 as <- <-.
    pose proof Hrep as (_ & _ & _ & E & _). unfold pagemap_cell in E. apply (own_read d rest) in E.
    wp_seq. wp_assign. unfold locals. locals_simpl. wp_seq. wp_call.
    apply (pagemap_unlock_releases X kernel_entry M cpu HM); [done|]. rewrite <- (HY p Hp).
    apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock (Y p Hp)) (slot_object (Y p Hp)));
      [apply slot_guards|apply slot_rep; eauto|done|done|].
    intros m' Hr'. cbn [set_result]. wp_return. apply settles_now, HQ; [|done].
    eapply yields_bind; [|constructor]. exact (locked_done (Y p Hp) _ s _ s a Hval Hval Hg).
  Qed.
End load.
