(** [pagemap_drop_path]: frames of a path that was never linked are freed, the highest table first. *)
From Ashlar Require Export layers.pagemap.map.LinkPath.
Local Opaque gmap_lookup gmap_partial_alter.

Section drop.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).
  Notation remove_owner := (remove_owner X Yc Yf H).
  Context (remove : implements_then "frame_remove_owner" remove_owner).
  Notation oh := (owned_frames_object H).

  Fixpoint give_back (p : Z) (l : list Z) (q : prog X) : prog X :=
    match l with [] => q | f :: l => remove_owner [f; p] (fun _ => give_back p l q) end.

  Lemma owned_frames_other : oh <> slot_object Yc.
  Proof using. intros E. apply (owned_frames_unlocked H (slot_lock Yc)). rewrite E. apply slot_guards. Qed.
  Lemma remove_owner_continuation : has_continuation X remove_owner.
  Proof using.
    intros [|f [|p [|??]]] κ; try constructor. unfold remove_owner. destruct (NUM_FRAME <=? f); [apply same_refl|].
    unfold frame_memory_locked, locked_with, lock_function, locked. simpl. same_program.
  Qed.

  (** The owned frames, each with its entry of the path. *)
  Definition in_owned_frames (n leaf : Z) (fresh : list Z) (a : objects X) : Prop :=
    forall (j : nat) f, fresh !! j = Some f -> 0 <= f < NUM_FRAME /\
      exists h, a !! oh = Some (owned_frames_in H h) /\ h !! f = Some (Some (path_word n leaf fresh j)).

  Lemma owned_frames_read a m h f u i : rep X a m -> a !! oh = Some (owned_frames_in H h) -> h !! f = Some (Some u) -> 0 <= i < 512 ->
    m !! frame_word f i = Some (word_of u i).
  Proof using.
    intros Hr Ha Hf Hi. destruct (represents_open _ _ _ oh _ Hr Ha) as (d & rest & Hd & _ & -> & _).
    apply owned_frames_object_rep in Hd as (h' & E & _ & Hv). pose proof (owned_frames_out_in H h) as E1. rewrite E, owned_frames_out_in in E1. injection E1 as ->.
    apply own_read. by apply (Hv f u).
  Qed.

  (** A path without its highest table. *)
  Lemma entry_of_prefix leaf l g j : (j <= length l)%nat -> entry_of leaf (l ++ [g]) j = entry_of leaf l j.
  Proof using. destruct j as [|j]; [done|]. intros Hj. cbn [entry_of]. by rewrite lookup_app_l by lia. Qed.
  Lemma path_word_prefix n leaf l g j : (j <= length l)%nat -> path_word n leaf (l ++ [g]) j = path_word n leaf l j.
  Proof using. intros. unfold path_word. by rewrite entry_of_prefix. Qed.

  Lemma in_owned_frames_removed n leaf l g p a w a' : NoDup (l ++ [g]) -> in_owned_frames n leaf (l ++ [g]) a ->
    yields X (remove_owner [g; p] Ret) a w a' -> in_owned_frames n leaf l a'.
  Proof using.
    intros Hd Hin Hy j f Hj. pose proof (lookup_lt_Some _ _ _ Hj) as Hlt.
    destruct (Hin j f) as (Hf & h & Ha & Hh); [by rewrite lookup_app_l|]. split; [done|].
    rewrite path_word_prefix in Hh by lia.
    destruct (remove_owner_yields _ _ _ _ _ _ _ _ _ owned_frames_other Hy) as [_ [E|(sh & h0 & h' & Hsh & Hout & E & Hcase)]].
    - exists h. by rewrite E.
    - rewrite Ha in Hsh. injection Hsh as <-. rewrite owned_frames_out_in in Hout. injection Hout as <-. exists h'. split; [done|].
      destruct Hcase as [-> | ->]; [done|]. rewrite lookup_delete_ne; [done|]. intros ->.
      apply NoDup_app in Hd as (_ & Hd & _). apply (Hd f); [by eapply elem_of_list_lookup_2|by left].
  Qed.

  Theorem pagemap_drop_path_drops Post p v l top level leaf q m a (Q : call_post) :
    0 <= v -> Z.of_nat (length l) = level -> level <= 2 -> NoDup (l ++ [top]) -> in_owned_frames (page_of v) leaf (l ++ [top]) a -> rep X a m ->
    (forall m' a', rep X a' m' -> (forall o, o <> oh -> o <> slot_object Yc -> o <> slot_object Yf -> a' !! o = a !! o) ->
       (forall x, yields X (give_back p (rev (l ++ [top])) (Ret x)) a x a') -> Q 0 m' (q, a')) ->
    fwp (G := pstate X) (sim Post) "pagemap_drop_path" [p; v; top; level] m (give_back p (rev (l ++ [top])) q, a) Q.
  Proof using HM HRead remove.
    intros Hv Hlen Hlevel Hd Hin Hr HQ. eapply fwp_body; [apply sim_step_closed|apply HM; reflexivity|done|].
    unfold body_wp, pagemap_drop_path_code. cbn [fn_body fn_locals]. locals_simpl.
    wp_seq. wp_assign. wp_seq. wp_assign. wp_seq.
    match goal with |- wp ?J (While ?c ?b) ?Qn ?Qb ?Qr ?r0 ?m0 ?g0 =>
      change (exists (I : nat -> post) n, I n r0 m0 g0 /\ forall n r m g, I n r m g -> exists t, test c r m = Some t /\
        if t then wp J b (fun r m g => exists n', (n' < n)%nat /\ I n' r m g) Qn Qr r m g else Qn r m g) end.
    exists (fun n r m g => exists l0 t i e a', r = [p; v; top; level; t; Z.of_nat n; i; e] /\ length l0 = n /\ (n <= 2)%nat /\
      NoDup (l0 ++ [t]) /\ in_owned_frames (page_of v) leaf (l0 ++ [t]) a' /\ rep X a' m /\ g = (give_back p (rev (l0 ++ [t])) q, a') /\
      (forall o, o <> oh -> o <> slot_object Yc -> o <> slot_object Yf -> a' !! o = a !! o) /\
      (forall x a2, yields X (give_back p (rev (l0 ++ [t])) (Ret x)) a' x a2 -> yields X (give_back p (rev (l ++ [top])) (Ret x)) a x a2)),
      (length l).
    split.
    { exists l, top, 0, 0, a. rewrite Hlen. do 2 (split; [done|]). split; [lia|]. done. }
    clear m Hr Hin. intros n r m g (l0 & t & i & e & a' & -> & Hl0 & Hn & Hd' & Hin & Hr & -> & Hkeep & Hy).
    eexists. split; [evaluate|]. cbn [compare]. rewrite (rev_unit l0 t) in Hy |- *. cbn [give_back] in Hy |- *.
    destruct (Z.ltb_spec 0 (Z.of_nat n)) as [Hpos|Hzero].
    - wp_seq. wp_call. eapply fwp_pure; [intros d; apply (pagemap_index_triple _ _ _ HM); lia|]. unfold locals. locals_simpl.
      destruct (Hin (length l0) t) as (Ht & h & Ha & Hh); [by rewrite lookup_app_r, Nat.sub_diag by lia|].
      wp_seq. wp_call. eapply fwp_frame_read; [done|eapply owned_frames_read; [exact Hr|exact Ha|exact Hh|apply slot_range]|].
      unfold locals. locals_simpl. rewrite Hl0, path_word_of, decide_True by done.
      destruct (lookup_lt_is_Some_2 l0 (n - 1)) as [b Hb]; [lia|].
      assert (l0 = take (n - 1) l0 ++ [b]) as El.
      { rewrite <- (take_drop_middle l0 (n - 1) b Hb) at 1. f_equal. f_equal. apply drop_ge. lia. }
      assert (entry_of leaf (l0 ++ [t]) n = link b) as ->.
      { destruct n as [|n']; [lia|]. cbn [entry_of]. rewrite lookup_app_l by lia. replace (S n' - 1)%nat with n' in Hb by lia. by rewrite Hb. }
      destruct (Hin (n - 1)%nat b) as (Hbr & _); [rewrite lookup_app_l by lia; exact Hb|].
      wp_seq. wp_call. eapply fwp_then; [exact remove|exact Hr|]. intros w m1 a1 Hy1 Hr1. locals_simpl.
      wp_seq. wp_call. eapply fwp_pure; [intros d; apply (pagemap_entry_frame_triple _ _ _ HM)|]. unfold locals. locals_simpl.
      unfold NUM_FRAME in Hbr. rewrite link_frame by (change (2 ^ 32) with 4294967296; lia). wp_assign.
      rewrite wrap32 by lia. exists (n - 1)%nat. split; [lia|].
      exists (take (n - 1) l0), b, (entry_index (Z.of_nat n) (page_of v)), (link b), a1.
      rewrite <- El. split; [by replace (Z.of_nat n - 1) with (Z.of_nat (n - 1)) by lia|].
      split; [rewrite take_length; lia|]. split; [lia|].
      split; [by apply NoDup_app in Hd' as (? & _)|]. split; [by eapply in_owned_frames_removed|]. split; [done|]. split; [done|].
      split.
      + intros o H1 H2 H3. destruct (remove_owner_yields _ _ _ _ _ _ _ _ _ owned_frames_other Hy1) as [K _]. rewrite K by done. by apply Hkeep.
      + intros x a2 Hx. apply Hy. eapply (yields_then X remove_owner); [apply remove_owner_continuation|exact Hy1|exact Hx].
    - destruct l0; [|simpl in Hl0; lia]. cbn [rev give_back] in *. wp_call. eapply fwp_then; [exact remove|exact Hr|].
      intros w m1 a1 Hy1 Hr1. cbn [set_result]. apply HQ; [done| |].
      + intros o H1 H2 H3. destruct (remove_owner_yields _ _ _ _ _ _ _ _ _ owned_frames_other Hy1) as [K _]. rewrite K by done. by apply Hkeep.
      + intros x. apply Hy. eapply (yields_then X remove_owner); [apply remove_owner_continuation|exact Hy1|constructor].
  Qed.
End drop.
