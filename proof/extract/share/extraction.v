(** The specification of shares, with the frames that they pass on, extracted for the comparison with the C. *)
From Ashlar Require layers.container.Spec layers.frame.Spec.
From Ashlar Require Import layers.share.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Definition frames : Type := frame.Spec.frames.
Definition containers : Type := gmap Z container.Spec.container.
Definition owner_mask (s : frames) (f : Z) : Z := frame.Spec.owners_of s f.

(** The process that may offer by a share, and the one that may accept. *)
Definition processes (s : share_state) (i : Z) : Z * Z :=
  match shares s !! i with Some x => (from x, to x) | None => (NONE, NONE) end.

(** Also: a process that offers a frame owns it. *)
Definition valid (s : share_state) (f : frames) (c : containers) : bool :=
  bool_decide (share_valid s) && bool_decide (frame.Spec.frame_valid f) &&
  bool_decide (container.Spec.container_valid c) &&
  bool_decide (map_Forall (fun _ x => offered x = NONE \/ owns (owner_mask f (offered x)) (from x) = true) (shares s)).

Extraction "share_spec.ml" share_initial share_define share_offer share_accept_may share_offered share_accept_end
  share_withdraw share_forget share_process_ended share_frame share_state processes owner_mask frames valid containers
  frame.Spec.frame_initial frame.Spec.frame_make_usable frame.Spec.frame_take frame.Spec.frame_add
  frame.Spec.frame_remove container.Spec.container_initial container.Spec.container_split
  container.Spec.container_charge container.Spec.container_refund container.Spec.ROOT STATUS_OK frame.Code.FRAME_NO_QUOTA NONE
  NUM_SHARE NUM_FRAME NUM_PROCESS.
