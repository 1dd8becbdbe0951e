(** [pagemap_create] implements its program: a frame is taken, becomes the root, and the kernel's half is written into it. *)
From Ashlar Require Export layers.pagemap.frames.OwnedFramesRules.
Local Opaque gmap_lookup gmap_partial_alter.

(** Frame [f], owned and all 0, becomes the root. *)
Definition create_owned_frames (f : Z) (s : page_map) (h : owned_frames) : option (Z * page_map * owned_frames) :=
  match h !! f with
  | Some (Some u) =>
      if bool_decide (u = ∅) && negb (present s) then
        match pagemap_create s f with Some (v, s') => Some (v, s', delete f h) | None => None end
      else None
  | _ => None
  end.
Lemma create_owned_frames_inv f s h v s' h' : create_owned_frames f s h = Some (v, s', h') ->
  h !! f = Some (Some ∅) /\ present s = false /\ frame_usable s f = true /\ v = STATUS_OK /\
  s' = PageMap {[root_key := f]} ∅ 0 /\ h' = delete f h.
Proof.
  unfold create_owned_frames, pagemap_create. destruct (h !! f) as [[u|]|]; try done. destruct (bool_decide (u = ∅)) eqn:E; [|done].
  apply bool_decide_eq_true in E as ->. destruct (present s); [done|]. cbn [negb andb].
  destruct (frame_usable s f); [|done]. by intros [= <- <- <-].
Qed.

Lemma word_of_empty i : word_of ∅ i = 0.
Proof. unfold word_of, FrameMemory.words. by rewrite (lookup_empty (M := gmap Z)). Qed.

(** The code between taking the frame and releasing the lock. *)
Definition create_inner : stmt :=
  Seq (Assign 3 (Const 256))
  (Seq (While (Cmp Lt (Var 3) (Const 512))
         (Seq (Call (Some 4%nat) "arch_kernel_map_entry" [Var 3])
         (Seq (Call None "arch_frame_write" [Var 2; Var 3; Var 4])
              (Assign 3 (Bin W32 Add (Var 3) (Const 1))))))
  (Seq (Store "pagemap" (Var 0) "exists" (Const 0) (Const 1))
  (Seq (Store "pagemap" (Var 0) "root" (Const 0) (Var 2))
  (Seq (Store "pagemap" (Var 0) "cursor" (Const 0) (Const 0))
       (Assign 1 (Const 0)))))).

Lemma root_word kernel_entry f i : 0 <= i < 512 ->
  table_word kernel_entry (PageMap {[root_key := f]} ∅ 0) root_key i = if 256 <=? i then kernel_entry i else 0.
Proof.
  intros Hi. unfold table_word. cbn [fst snd root_key tables]. change (PAGEMAP_ROOT_LEVEL =? 0) with false.
  change (PAGEMAP_ROOT_LEVEL =? PAGEMAP_ROOT_LEVEL) with true. cbn [andb]. change PAGEMAP_KERNEL_FIRST with 256.
  destruct (256 <=? i); [done|]. rewrite lookup_singleton_ne; [done|]. unfold root_key. intros E. injection E as E _. done.
Qed.

Section owned.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HWrite : M "arch_frame_write" = None) (HEntry : M "arch_kernel_map_entry" = None).
  Notation owned := (owned kernel_entry M cpu).
  Notation joint := (joint kernel_entry).

  (** The cells agree but for the kernel's half of frame [f] below entry [j]. *)
  Definition filled (f j : Z) (d d' : mem) : Prop :=
    (forall x, (forall i, 256 <= i < j -> x <> frame_word f i) -> d' !! x = d !! x) /\
    forall i, 256 <= i < j -> d' !! frame_word f i = Some (kernel_entry i).

  Theorem create_inner_owned p s h d f status : pagemap_valid s -> joint p s h d -> h !! f = Some (Some ∅) -> present s = false ->
    frame_usable s f = true ->
    owned create_inner
      (fun r d' => r !! 0%nat = Some p /\ r !! 1%nat = Some STATUS_OK /\
         joint p (PageMap {[root_key := f]} ∅ 0) (delete f h) d')
      (fun _ _ => False) (fun _ _ => False) [p; status; f; 0; 0] d.
  Proof using HWrite HEntry.
    intros HV (_ & Hx & Hno & E1 & E2 & E3 & Hw & Hhv) Hf Hp Hu. pose proof (frame_usable_spec _ _ Hu) as [Hfr _].
    assert (forall k g, tables s !! k = Some g -> False) as Hnone.
    { intros k g Hk. by rewrite (table_root s HV _ _ Hk) in Hp. }
    assert (forall i, 0 <= i < 512 -> d !! frame_word f i = Some 0) as Hzero.
    { intros i Hi. rewrite (Hhv f ∅) by done. by rewrite word_of_empty. }
    unfold create_inner. step. step. step.
    eapply owned_while with (n := Z.to_nat 256) (I := fun n r d' => exists j e, r = [p; status; f; j; e] /\ 256 <= j <= 512 /\
      n = Z.to_nat (512 - j) /\ filled f j d d').
    { exists 256, 0. split; [done|]. split; [lia|]. split; [done|]. split; [done|]. intros i Hi. lia. }
    intros n r d' (j & e & -> & Hj & -> & Hsame & Hfill). eexists. split; [evaluate|]. cbn [compare].
    destruct (Z.ltb_spec j 512) as [Hlt|Hge].
    - step. eapply owned_builtin with (v := kernel_entry j); [done|evaluate| |].
      { intros m. unfold arch_builtins. cbn [String.eqb Ascii.eqb Bool.eqb]. by rewrite bool_decide_true by lia. }
      unfold locals. locals_simpl. step. eapply owned_frame_write; [done|evaluate| |].
      { rewrite Hsame; [rewrite Hzero by lia; by eexists|]. intros i Hi [_ E]%frame_word_eq. lia. }
      unfold locals. locals_simpl. step. rewrite wrap32 by lia. exists (Z.to_nat (512 - (j + 1))). split; [lia|].
      exists (j + 1), (kernel_entry j). split; [done|]. split; [lia|]. split; [done|]. split.
      + intros x Hne. rewrite own_lookup_ne by (intros <-; apply (Hne j); [lia|done]). apply Hsame. intros i Hi. apply Hne. lia.
      + intros i Hi. destruct (decide (j = i)) as [<-|Hne]; [apply own_lookup|].
        rewrite own_lookup_ne by (intros [_ E]%frame_word_eq; done). apply Hfill. lia.
    - assert (j = 512) as -> by lia.
      assert (forall field, d' !! pagemap_cell p field = d !! pagemap_cell p field) as Hfields.
      { intros field. apply Hsame. intros i _. apply field_no_word. }
      pose proof (Hfields "exists"%string) as F1. pose proof (Hfields "root"%string) as F2. pose proof (Hfields "cursor"%string) as F3.
      rewrite E1 in F1. rewrite E2 in F2. rewrite E3 in F3. unfold pagemap_cell in F1, F2, F3.
      repeat step. split; [done|]. split; [done|].
      assert (forall x, (forall field, x <> pagemap_cell p field) -> forall v1 v2 v3,
        <[("pagemap"%string, p, "cursor"%string, 0) := v1]> (<[("pagemap"%string, p, "root"%string, 0) := v2]>
          (<[("pagemap"%string, p, "exists"%string, 0) := v3]> d')) !! x = d' !! x) as Hskip.
      { intros x Hn v1 v2 v3. rewrite !own_lookup_ne; [done|..]; intros E; by apply (Hn _ (eq_sym E)). }
      split; [|split; [|split; [|split; [|split; [|split; [|split]]]]]].
      + eapply (create_valid s f STATUS_OK); [done|]. unfold pagemap_create. by rewrite Hp, Hu.
      + assert (forall y, is_Some (d' !! y) <-> is_Some (d !! y)) as Hdom.
        { intros y. destruct (decide (owned_frame_cell {[f := None]} y)) as [Hy|Hy].
          - apply owned_frame_cell_dom in Hy as (g & i & -> & Hi & Hg). destruct Hg as [u Hg]. apply lookup_singleton_Some in Hg as [<- _].
            unfold word_index, frame_words in Hi. rewrite Hzero by done. split; [by eexists|]. intros _.
            destruct (Z.le_gt_cases 256 i); [rewrite Hfill by lia; by eexists|].
            rewrite Hsame; [rewrite Hzero by done; by eexists|]. intros j Hj' [_ E]%frame_word_eq. lia.
          - rewrite Hsame; [done|]. intros i Hi ->. apply Hy, owned_frame_cell_dom, owned_frames_word.
            split; [unfold word_index, frame_words; lia|]. rewrite lookup_singleton. by eexists. }
        assert (exactly (fun y => is_Some (d !! y)) d') as Hex by exact Hdom.
        assert (forall field, field ∈ pagemap_fields -> is_Some (d !! pagemap_cell p field)) as Hfs.
        { intros field Hfl. apply Hx. left. by apply field_cells. }
        intros x. etrans.
        { apply (exactly_write (fun y => is_Some (d !! y))); [|apply (Hfs "cursor"%string); unfold pagemap_fields; rewrite !elem_of_cons; tauto].
          apply (exactly_write (fun y => is_Some (d !! y))); [|apply (Hfs "root"%string); unfold pagemap_fields; rewrite !elem_of_cons; tauto].
          apply (exactly_write (fun y => is_Some (d !! y))); [exact Hex|apply (Hfs "exists"%string); unfold pagemap_fields; rewrite !elem_of_cons; tauto]. }
        rewrite Hx. split.
        * intros [[Hc|(k & g & i & Hk & _)]|(g & i & -> & Hi & Hg)]; [by left; left|by destruct (Hnone _ _ Hk)|].
          destruct (decide (f = g)) as [<-|Hne].
          -- left. apply word_cells. split; [exact Hi|]. exists root_key. apply lookup_singleton.
          -- right. apply owned_frames_word. split; [done|]. by rewrite lookup_delete_ne.
        * intros [[Hc|(k & g & i & Hk & Hi & ->)]|(g & i & -> & Hi & Hg)].
          -- left; left. done.
          -- cbn [tables] in Hk. apply lookup_singleton_Some in Hk as [_ <-]. right. apply owned_frames_word. split; [exact Hi|].
             rewrite Hf. by eexists.
          -- right. apply owned_frames_word. split; [done|]. by apply lookup_delete_is_Some in Hg as [_ Hg].
      + cbn [tables]. intros k g [_ <-]%lookup_singleton_Some. apply lookup_delete.
      + unfold pagemap_cell. look. unfold present. cbn [tables]. rewrite bool_decide_true; [done|]. rewrite lookup_singleton. by eexists.
      + unfold pagemap_cell. look. unfold root_of. cbn [tables]. by rewrite lookup_singleton.
      + unfold pagemap_cell. look. done.
      + cbn [tables]. intros k g i [<- <-]%lookup_singleton_Some Hi.
        rewrite Hskip by (intros field E; by apply (field_no_word p field f i)). rewrite root_word by done.
        destruct (Z.leb_spec 256 i); [apply Hfill; lia|]. rewrite Hsame; [by apply Hzero|]. intros j' Hj' [_ E]%frame_word_eq. lia.
      + intros g w i [Hne Hg]%lookup_delete_Some Hi.
        rewrite Hskip by (intros field E; by apply (field_no_word p field g i)).
        rewrite Hsame; [by apply (Hhv g w)|]. intros j' _ [E _]%frame_word_eq. done.
  Qed.
End owned.
