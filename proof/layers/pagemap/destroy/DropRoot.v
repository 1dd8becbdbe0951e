(** [pagemap_drop_root]: when nothing is left but the root, the map is gone and the root's frame freed. *)
From Ashlar Require Export layers.pagemap.destroy.DropTable.
Local Opaque gmap_lookup gmap_partial_alter.

(** The root, the only table left, becomes an owned frame; the result is its number. *)
Definition take_root (s : page_map) (h : owned_frames) : option (Z * page_map * owned_frames) :=
  if decide (tables s = {[root_key := root_of s]}) then Some (root_of s, pagemap_absent, <[root_of s := None]> h) else None.
Lemma take_root_inv s h f s' h' : take_root s h = Some (f, s', h') ->
  tables s = {[root_key := f]} /\ f = root_of s /\ s' = pagemap_absent /\ h' = <[f := None]> h.
Proof. unfold take_root. destruct (decide _) as [E|]; [|done]. intros [= <- <- <-]. done. Qed.

Definition cleared (p : Z) (d : mem) : mem :=
  <[pagemap_cell p "cursor" := 0]> (<[pagemap_cell p "root" := NONE]> (<[pagemap_cell p "exists" := 0]> d)).

Lemma joint_drop_root kernel_entry p s h d f : joint kernel_entry p s h d -> tables s = {[root_key := f]} ->
  joint kernel_entry p pagemap_absent (<[f := None]> h) (cleared p d).
Proof.
  intros (_ & Hx & Hno & E1 & E2 & E3 & Hw & Hhv) Et.
  assert (forall g i, cleared p d !! frame_word g i = d !! frame_word g i) as Hword.
  { intros g i. unfold cleared. rewrite !own_lookup_ne; [done|apply field_no_word..]. }
  assert (forall field, field ∈ pagemap_fields -> is_Some (d !! pagemap_cell p field)) as Hfs.
  { intros field Hfl. apply Hx. left. by apply field_cells. }
  split; [apply absent_valid|]. split; [|split; [|split; [|split; [|split; [|split]]]]].
  - intros y. etrans.
    { apply (exactly_write (fun z => is_Some (d !! z))); [|apply (Hfs "cursor"%string); unfold pagemap_fields; rewrite !elem_of_cons; tauto].
      apply (exactly_write (fun z => is_Some (d !! z))); [|apply (Hfs "root"%string); unfold pagemap_fields; rewrite !elem_of_cons; tauto].
      apply (exactly_write (fun z => is_Some (d !! z))); [done|apply (Hfs "exists"%string); unfold pagemap_fields; rewrite !elem_of_cons; tauto]. }
    rewrite Hx. split.
    + intros [[Hc|(k & g & i & Hk & Hi & ->)]|(g & i & -> & Hi & Hg)].
      * left; by left.
      * rewrite Et in Hk. apply lookup_singleton_Some in Hk as [_ <-]. right. apply owned_frames_word. split; [exact Hi|].
        rewrite lookup_insert. by eexists.
      * right. apply owned_frames_word. split; [done|]. apply lookup_insert_is_Some. destruct (decide (f = g)); auto.
    + intros [[Hc|(k & g & i & Hk & _)]|(g & i & -> & Hi & Hg)].
      * left; by left.
      * cbn [tables pagemap_absent] in Hk. by rewrite lookup_empty in Hk.
      * apply lookup_insert_is_Some in Hg as [<-|[_ Hg]].
        -- left. apply word_cells. split; [exact Hi|]. exists root_key. rewrite Et. apply lookup_singleton.
        -- right. by apply owned_frames_word.
  - intros k g Hk. cbn [tables pagemap_absent] in Hk. by rewrite lookup_empty in Hk.
  - unfold cleared, pagemap_cell. look. done.
  - unfold cleared, pagemap_cell. look. done.
  - unfold cleared, pagemap_cell. look. done.
  - intros k g i Hk. cbn [tables pagemap_absent] in Hk. by rewrite lookup_empty in Hk.
  - intros g w i Hg Hi. rewrite Hword. destruct (decide (f = g)) as [<-|Hne]; [by rewrite lookup_insert in Hg|].
    rewrite lookup_insert_ne in Hg by done. by apply (Hhv g w).
Qed.

Section drop.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Notation sim := (sim X kernel_entry M cpu).
  Context (remove : implements_then X kernel_entry M cpu "frame_remove_owner" (remove_owner X Yc Yf H)).
  Notation op := (slot_object Y).
  Notation oh := (owned_frames_object H).

  Definition drop_root (κ : Z -> prog X) : prog X :=
    Loc (on_both Y H take_root) (fun f => remove_owner X Yc Yf H [f; p] κ).

  Theorem pagemap_drop_root_drops Post s κ m a (Q : call_post) :
    rep X a m -> a !! op = Some (slot_in Y s) ->
    (forall w m' a', rep X a' m' -> a' !! op = Some (slot_in Y pagemap_absent) -> yields X (drop_root Ret) a w a' ->
       Q 0 m' (κ w, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_drop_root" [p] m (drop_root κ, a) Q.
  Proof using Hother HM remove.
    intros Hr Ho HQ. destruct Hother as [Hoc Hof]. assert (op <> oh) as Hoh by apply map_owned_frames_differ.
    destruct (open_map Y a m s Hr Ho) as (d & rest & Hrep & Hdis & Em & Hrest).
    pose proof Hrep as (_ & _ & E1 & E2 & E3 & _). unfold pagemap_cell in E1, E2, E3.
    eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_drop_root_code. cbn [fn_body fn_locals]. locals_simpl. rewrite Em.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|]. step. intros D0.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|]. step. intros D1.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|]. step. intros D2.
    wp_seq. apply (wp_owned kernel_entry M cpu); [apply sim_step_closed|done|]. step. intros D3.
    rewrite <- !own_write, <- Em. wp_call. unfold drop_root. apply fwp_loc. intros f a3 Eb.
    destruct (on_both_owned_frames X kernel_entry H p Y _ _ _ _ _ _ Hr Ho Eb) as [h Ha].
    destruct (on_both_known Y H _ _ _ _ _ _ Ho Ha Eb) as (s' & h' & Hg & ->).
    apply take_root_inv in Hg as (Et & -> & -> & ->).
    destruct (open_both Y H a m s h Hr Ho Ha) as (d2 & rest2 & Hj & Hdis2 & Em2 & Hrest2). rewrite Em2, !own_write.
    pose proof (joint_drop_root _ _ _ _ _ _ Hj Et) as Hj'. pose proof Hj as (_ & _ & _ & F1 & F2 & F3 & _).
    eapply fwp_then; [exact remove|apply (close_both Y H); [exact Hj'| |done]|].
    { unfold cleared. apply own_write_disjoint; [apply own_keep, own_keep; by eexists|].
      apply own_write_disjoint; [apply own_keep; by eexists|]. apply own_write_disjoint; [by eexists|done]. }
    intros w m1 a1 Hy1 Hr1. cbn [set_result]. eapply HQ; [exact Hr1| |eapply yields_loc; [exact Eb|exact Hy1]].
    destruct (remove_owner_yields _ _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy1) as [K _]. rewrite K by done.
    rewrite lookup_insert_ne by done. apply lookup_insert.
  Qed.
End drop.
