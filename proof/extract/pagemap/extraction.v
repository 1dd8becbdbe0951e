(** The specification of page maps, with the frames that tables are made of, extracted for the comparison with the C. *)
From Ashlar Require layers.container.Spec layers.frame.Spec.
From Ashlar Require Import layers.pagemap.Spec.
From Coq Require Import ExtrOcamlBasic ExtrOcamlZBigInt ExtrOcamlNatInt.

Definition frames : Type := frame.Spec.frames.
Definition containers : Type := gmap Z container.Spec.container.

Definition valid (s : page_map) : bool := bool_decide (pagemap_valid s).
(** A mapping at [v] lacks so many tables. *)
Definition needs (s : page_map) (v : Z) : Z := if user_address v then missing s (page_of v) else 0.
(** The pages that are mapped. *)
Definition pages (s : page_map) : list Z := fst <$> map_to_list (leaves s).
(** A frame is mapped as the process's own. *)
Definition maps_own (s : page_map) (f : Z) : bool :=
  negb (bool_decide (map_Forall (fun _ e => has e ARCH_PTE_OWNED = false \/ entry_frame e <> f) (leaves s))).

Extraction "pagemap_spec.ml" pagemap_absent pagemap_create pagemap_missing pagemap_prepare pagemap_map pagemap_unmap pagemap_walk
  pagemap_frame pagemap_pin pagemap_destroy_step page_map present needs pages maps_own valid frames containers
  frame.Spec.frame_initial frame.Spec.frame_make_usable frame.Spec.frame_take frame.Spec.frame_add
  frame.Spec.frame_remove frame.Spec.owners_of container.Spec.container_initial container.Spec.container_split
  container.Spec.container_charge container.Spec.container_refund container.Spec.container_usage container.Spec.ROOT
  STATUS_OK STATUS_RESTART ERR_BAD_STATE ERR_QUOTA ERR_NO_MEMORY frame.Code.FRAME_NO_QUOTA NONE NUM_FRAME first_page end_page.
