(** Frames: every exported C function implements its specification program, given the code of frames and containers. *)
From Ashlar Require Export layers.frame.memory.ReadFunctions layers.frame.table.Take layers.frame.table.Owners.

Section implements.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (HYc : slot_lock Yc = LOCK_CONTAINER) (HY : slot_lock Y = LOCK_FRAME).
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, frame_module f = Some fd -> M f = Some fd).
  Context (HMc : forall f fd, container_module f = Some fd -> M f = Some fd).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Context (clear_builtin : M "arch_frame_clear"%string = None) (highest_builtin : M "arch_highest_bit"%string = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).

  Lemma charge : implements X kernel_entry M cpu "container_charge" (lock_function Yc (update2 container_charge)).
  Proof using HYc HMc lock_acquire lock_release. by apply container_charge_implements. Qed.
  Lemma refund : implements X kernel_entry M cpu "container_refund" (lock_function Yc (update2 container_refund)).
  Proof using HYc HMc lock_acquire lock_release. by apply container_refund_implements. Qed.

  Lemma take s p v s' (d : mem) : frame_valid s -> frame_take s p = Some (v, s') -> frame_rep s d ->
    triple kernel_entry M cpu "frame_take" [p] d (fun w d' => w = v /\ frame_rep s' d').
  Proof using HM highest_builtin.
    intros HV Ht Hr. by apply (frame_take_triple kernel_entry M cpu HM highest_builtin s).
  Qed.
  Lemma add s f p v s' (d : mem) : frame_valid s -> frame_add s f p = Some (v, s') -> frame_rep s d ->
    triple kernel_entry M cpu "frame_add_owner_locked" [f; p] d (fun w d' => w = v /\ frame_rep s' d').
  Proof using HM. intros HV Ht Hr. by apply (frame_add_owner_locked_triple kernel_entry M cpu HM s). Qed.
  Lemma remove s f p v s' (d : mem) : frame_valid s -> frame_remove s f p = Some (v, s') -> frame_rep s d ->
    triple kernel_entry M cpu "frame_remove_owner_locked" [f; p] d (fun w d' => w = v /\ frame_rep s' d').
  Proof using HM. intros HV Ht Hr. by apply (frame_remove_owner_locked_triple kernel_entry M cpu HM s). Qed.

  Ltac known := first [assumption|exact charge|exact refund|exact take|exact add|exact remove].

  Theorem frame_alloc_private_certified : implements_then "frame_alloc_private" (alloc_private X Yc Y H).
  Proof using HYc HY HM HMc lock_acquire lock_release clear_builtin highest_builtin.
    apply frame_alloc_private_implements; known.
  Qed.
  Theorem frame_alloc_certified : implements_then "frame_alloc" (alloc X Yc Y H).
  Proof using HYc HY HM HMc lock_acquire lock_release clear_builtin highest_builtin.
    apply frame_alloc_implements; known.
  Qed.
  Theorem frame_add_owner_certified : implements_then "frame_add_owner" (add_owner X Yc Y H).
  Proof using HYc HY HM HMc lock_acquire lock_release.
    apply frame_add_owner_implements; known.
  Qed.
  Theorem frame_remove_owner_certified : implements_then "frame_remove_owner" (remove_owner X Yc Y H).
  Proof using HYc HY HM HMc lock_acquire lock_release.
    apply frame_remove_owner_implements; known.
  Qed.
  Theorem frame_owners_certified : implements_then "frame_owners" (read_owners X Y H).
  Proof using HY HM lock_acquire lock_release. by apply frame_owners_implements. Qed.
  Theorem frame_state_certified : implements_then "frame_state" (read_state X Y H).
  Proof using HY HM lock_acquire lock_release. by apply frame_state_implements. Qed.
  Theorem frame_free_count_certified : implements_then "frame_free_count" (read_free_count X Y H).
  Proof using HY HM lock_acquire lock_release. by apply frame_free_count_implements. Qed.
End implements.
