(** Specification programs about a page map and owned frames, and the proof rules for C code that holds the map's lock. *)
From Ashlar Require Export layers.pagemap.frames.OwnedFramesYields.
Local Opaque gmap_lookup gmap_partial_alter.

Section steps.
  Context {X : layout} {kernel_entry : Z -> Z} {p : Z}.
  Context (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid) (H : owned_frames_slot X).
  Notation op := (slot_object Y).
  Notation oh := (owned_frames_object H).
  Notation joint := (joint kernel_entry p).

  (** A look at the map; an update of the map by a CPU that owns the frames [h]. *)
  Definition look (g : page_map -> Z) (a : objects X) : option (Z * objects X) :=
    match a !! op with
    | Some st => match slot_out Y st with Some s => Some (g s, a) | None => None end
    | None => None
    end.
  Definition on_both (g : page_map -> owned_frames -> option (Z * page_map * owned_frames)) (a : objects X) : option (Z * objects X) :=
    match a !! op, a !! oh with
    | Some st, Some sh =>
        match slot_out Y st, owned_frames_out H sh with
        | Some s, Some h =>
            match g s h with
            | Some (v, s', h') => Some (v, <[oh := owned_frames_in H h']> (<[op := slot_in Y s']> a))
            | None => None
            end
        | _, _ => None
        end
    | _, _ => None
    end.

  Lemma map_owned_frames_differ : op <> oh.
  Proof using. intros E. apply (owned_frames_unlocked H (slot_lock Y)). rewrite <- E. apply slot_guards. Qed.
  Lemma look_present g a s : a !! op = Some (slot_in Y s) -> look g a = Some (g s, a).
  Proof using. intros E. unfold look. by rewrite E, slot_in_out. Qed.
  Lemma on_both_known g a s h v a' : a !! op = Some (slot_in Y s) -> a !! oh = Some (owned_frames_in H h) ->
    on_both g a = Some (v, a') ->
    exists s' h', g s h = Some (v, s', h') /\ a' = <[oh := owned_frames_in H h']> (<[op := slot_in Y s']> a).
  Proof using.
    intros E1 E2. unfold on_both. rewrite E1, E2, slot_in_out, owned_frames_out_in.
    destruct (g s h) as [[[w s'] h']|]; [|done]. intros [= -> <-]. eauto.
  Qed.

  (** ** The cells *)
  Lemma open_map a m s : rep X a m -> a !! op = Some (slot_in Y s) ->
    exists d rest, pagemap_rep kernel_entry p s d /\ d ##ₘ rest /\ m = d ∪ rest /\ represents (obj_rep X) (delete op a) rest.
  Proof using.
    intros Hr Ho. destruct (represents_open _ _ _ op _ Hr Ho) as (d & rest & Hd & Hdis & -> & Hrest).
    apply slot_rep in Hd as (s' & E & Hd). pose proof (slot_in_out Y s) as E1. rewrite E, slot_in_out in E1. injection E1 as ->.
    by exists d, rest.
  Qed.
  Lemma open_both a m s h : rep X a m -> a !! op = Some (slot_in Y s) -> a !! oh = Some (owned_frames_in H h) ->
    exists d rest, joint s h d /\ d ##ₘ rest /\ m = d ∪ rest /\ represents (obj_rep X) (delete oh (delete op a)) rest.
  Proof using.
    intros Hr Ho Hh. destruct (open_map a m s Hr Ho) as (d & rest & Hd & Hdis & -> & Hrest).
    destruct (represents_open _ _ _ oh (owned_frames_in H h) Hrest) as (dh & rest' & Hdh & Hdis' & -> & Hrest').
    { rewrite lookup_delete_ne by apply map_owned_frames_differ. done. }
    apply owned_frames_object_rep in Hdh as (h' & E & Hdh). pose proof (owned_frames_out_in H h) as E1. rewrite E, owned_frames_out_in in E1. injection E1 as ->.
    apply map_disjoint_union_r in Hdis as [D1 D2]. exists (d ∪ dh), rest'. split; [by apply joint_join|].
    split; [by apply map_disjoint_union_l|]. split; [by rewrite (assoc_L (∪))|done].
  Qed.
  Lemma close_both a s h d rest : joint s h d -> d ##ₘ rest -> represents (obj_rep X) (delete oh (delete op a)) rest ->
    rep X (<[oh := owned_frames_in H h]> (<[op := slot_in Y s]> a)) (d ∪ rest).
  Proof using.
    intros Hj Hd Hrest. destruct (joint_split _ _ _ _ _ Hj) as (dp & dh & -> & Hdd & Hdp & Hdh).
    apply map_disjoint_union_l in Hd as [Hd1 Hd2]. rewrite <- (assoc_L (∪)). unfold rep.
    rewrite insert_commute by (intros E; by apply map_owned_frames_differ).
    apply represents_close; [|apply slot_rep; eauto|by apply map_disjoint_union_r].
    rewrite delete_insert_ne by (intros E; by apply map_owned_frames_differ).
    apply represents_close; [done|apply owned_frames_object_rep; eauto|done].
  Qed.

  (** ** Lock and unlock *)
  Context (M : module) (cpu : nat).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Notation sim := (sim X kernel_entry M cpu).

  Lemma fwp_map_acquire Post g m a (κ : Z -> prog X) (Q : call_post) : rep X a m ->
    (forall s m', pagemap_valid s -> rep X (<[op := slot_in Y s]> a) m' -> Q 0 m' (κ (g s), <[op := slot_in Y s]> a)) ->
    fwp (G := pstate X) (sim Post) ACQUIRE [slot_lock Y] m (Act (ACQUIRE, [slot_lock Y]) (fun _ => Loc (look g) κ), a) Q.
  Proof using lock_acquire.
    intros Hr HQ. apply fwp_settle. eapply (fwp_acquire X kernel_entry M cpu lock_acquire); [apply slot_guards|done|].
    intros st m' Hval Hr'. destruct (represents_open _ _ _ op _ Hr' (lookup_insert _ _ _)) as (d & rest & Hd & _).
    apply slot_rep in Hd as (s & -> & _). apply slot_valid in Hval.
    eapply settles_loc; [apply (look_present _ _ s), lookup_insert|]. apply settles_now. by apply HQ.
  Qed.
  Lemma map_acquire_yields g a (κ : Z -> prog X) s w a2 : pagemap_valid s ->
    yields X (κ (g s)) (<[op := slot_in Y s]> a) w a2 ->
    yields X (Act (ACQUIRE, [slot_lock Y]) (fun _ => Loc (look g) κ)) a w a2.
  Proof using.
    intros HV Hy. eapply yields_act.
    - apply (response_acquire X (slot_lock Y) op (slot_in Y s)); [apply slot_guards|by apply slot_valid].
    - eapply yields_loc; [apply (look_present _ _ s), lookup_insert|done].
  Qed.

  Lemma fwp_map_release Post m a s (κ : Z -> prog X) (Q : call_post) : rep X a m -> a !! op = Some (slot_in Y s) ->
    (forall m', rep X (delete op a) m' -> Q 0 m' (κ 0, delete op a)) ->
    fwp (G := pstate X) (sim Post) RELEASE [slot_lock Y] m (Act (RELEASE, [slot_lock Y]) κ, a) Q.
  Proof using lock_release.
    intros Hr Ho HQ. eapply (fwp_release X kernel_entry M cpu lock_release); [apply slot_guards|done|].
    intros st m' _ _ Hr'. by apply HQ.
  Qed.
  Lemma map_release_yields a s (κ : Z -> prog X) w a2 : pagemap_valid s -> a !! op = Some (slot_in Y s) ->
    yields X (κ 0) (delete op a) w a2 -> yields X (Act (RELEASE, [slot_lock Y]) κ) a w a2.
  Proof using.
    intros HV Ho Hy. eapply yields_act; [|exact Hy].
    eapply (response_release X (slot_lock Y) op (slot_in Y s)); [apply slot_guards|done|by apply slot_valid].
  Qed.
End steps.

(** A word of a frame that the CPU owns is read. *)
Lemma fwp_frame_read {X kernel_entry M cpu} Post f i v m g (Q : call_post) : M "arch_frame_read" = None ->
  m !! frame_word f i = Some v -> Q v m g -> fwp (G := pstate X) (sim X kernel_entry M cpu Post) "arch_frame_read" [f; i] m g Q.
Proof.
  intros HM Hv HQ. eapply fwp_builtin with (v := v) (m' := m); [apply sim_step_closed|exact HM| |exact HQ].
  change (Some (match m !! frame_word f i with Some u => Some (u, m) | None => None end) = Some (Some (v, m))). by rewrite Hv.
Qed.

(** It is written: a word of the map, or of an owned frame. *)
Lemma fwp_frame_write X kernel_entry M cpu : M "arch_frame_write" = None -> forall Post f i v m g (Q : call_post),
  is_Some (m !! frame_word f i) -> Q 0 (<[frame_word f i := v]> m) g ->
  fwp (G := pstate X) (sim X kernel_entry M cpu Post) "arch_frame_write" [f; i; v] m g Q.
Proof.
  intros HM Post f i v m g Q [u Hu] HQ.
  eapply fwp_builtin with (v := 0) (m' := <[frame_word f i := v]> m); [apply sim_step_closed|exact HM| |exact HQ].
  change (Some (match m !! frame_word f i with Some _ => Some (0, <[frame_word f i := v]> m) | None => None end) =
    Some (Some (0, <[frame_word f i := v]> m))). by rewrite Hu.
Qed.

(** The frames that a CPU owns are not the containers. *)
Lemma owned_frames_other X (Yc : slot X (gmap Z container) container_rep container_valid) (H : owned_frames_slot X) :
  owned_frames_object H <> slot_object Yc.
Proof. intros E. apply (owned_frames_unlocked H (slot_lock Yc)). rewrite E. apply slot_guards. Qed.

Lemma remove_owner_continuation X Yc Yf H : has_continuation X (remove_owner X Yc Yf H).
Proof.
  intros [|f [|p [|??]]] κ; try constructor. unfold remove_owner. destruct (NUM_FRAME <=? f); [apply same_refl|].
  unfold frame_memory_locked, locked_with, lock_function, locked. simpl. same_program.
Qed.
