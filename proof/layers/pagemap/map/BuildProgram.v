(** The program of [pagemap_build_path]: the missing tables are built in owned frames, the lowest first, and linked by one
    store; if a frame is missing, all of them are freed. *)
From Ashlar Require Export layers.pagemap.map.DropPath.
Local Opaque gmap_lookup gmap_partial_alter.

Section build.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (Hother : slot_object Y <> slot_object Yc /\ slot_object Y <> slot_object Yf).
  Context (HM : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HRead : M "arch_frame_read" = None) (HWrite : M "arch_frame_write" = None).
  Notation implements_then := (implements_then X kernel_entry M cpu).
  Notation sim := (sim X kernel_entry M cpu).
  Notation alloc_private := (alloc_private X Yc Yf H).
  Notation remove_owner := (remove_owner X Yc Yf H).
  Context (alloc : implements_then "frame_alloc_private" alloc_private).
  Context (remove : implements_then "frame_remove_owner" remove_owner).
  Notation op := (slot_object Y).
  Notation oh := (owned_frames_object H).
  Notation give_back := (give_back X Yc Yf H).
  Notation in_owned_frames := (in_owned_frames X H).

  Fixpoint build (todo : nat) (n leaf : Z) (fresh : list Z) (κ : Z -> prog X) : prog X :=
    match todo with
    | O => Loc (on_both Y H (store_owned_frames n leaf fresh)) κ
    | S todo =>
        alloc_private [p] (fun f =>
          if f =? NONE then give_back p (rev fresh) (κ ERR_NO_MEMORY)
          else if f =? FRAME_NO_QUOTA then give_back p (rev fresh) (κ ERR_QUOTA)
          else if bool_decide (f ∈ fresh) then Fail
          else Loc (on_owned_frames H (owned_frames_put f (entry_index (Z.of_nat (length fresh)) n) (entry_of leaf fresh (length fresh))))
                 (fun _ => build todo n leaf (fresh ++ [f]) κ))
    end.

  Lemma fwp_frame_write Post f i v m g (Q : call_post) : is_Some (m !! frame_word f i) ->
    Q 0 (<[frame_word f i := v]> m) g -> fwp (G := pstate X) (sim Post) "arch_frame_write" [f; i; v] m g Q.
  Proof using HWrite.
    intros [u Hu] HQ. eapply fwp_builtin with (v := 0) (m' := <[frame_word f i := v]> m); [apply sim_step_closed|exact HWrite| |exact HQ].
    change (Some (match m !! frame_word f i with Some _ => Some (0, <[frame_word f i := v]> m) | None => None end) =
      Some (Some (0, <[frame_word f i := v]> m))). by rewrite Hu.
  Qed.
  Lemma owned_frame_put_rep f i v a m w a' : rep X a m -> on_owned_frames H (owned_frames_put f i v) a = Some (w, a') ->
    is_Some (m !! frame_word f i) /\ rep X a' (<[frame_word f i := v]> m).
  Proof using.
    intros Hr Ho. apply on_owned_frames_inv in Ho as (sh & h & h1 & Hsh & Hout & Hput & ->).
    destruct (represents_open _ _ _ oh _ Hr Hsh) as (d & rest & Hd & Hdis & -> & Hrest).
    apply owned_frames_object_rep in Hd as (h' & -> & Hd). rewrite owned_frames_out_in in Hout. injection Hout as ->.
    destruct (owned_frames_put_rep _ _ _ _ _ _ _ Hput Hd) as [[u Hu] Hd1]. split.
    - exists u. by apply own_read.
    - rewrite own_write. apply represents_close; [done|apply owned_frames_object_rep; eauto|]. apply own_write_disjoint; [by exists u|done].
  Qed.

  (** Owned frames stay owned when another is taken. *)
  Lemma in_owned_frames_taken n leaf fresh a f a' : in_owned_frames n leaf fresh a -> f ∉ fresh ->
    yields X (alloc_private [p] Ret) a f a' -> in_owned_frames n leaf fresh a'.
  Proof using.
    intros Hin Hf Hy j g Hj. destruct (Hin j g Hj) as (Hg & h & Ha & Hh). split; [done|].
    destruct (alloc_private_yields _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy) as [_ [[_ E]|(sh & h0 & Hsh & Hout & Hc)]].
    - exists h. by rewrite E.
    - rewrite Ha in Hsh. injection Hsh as <-. rewrite owned_frames_out_in in Hout. injection Hout as <-.
      destruct Hc as [[_ E]|[_ E]]; [by exists h|]. exists (<[f := Some ∅]> h). split; [done|].
      rewrite lookup_insert_ne; [done|]. intros ->. apply Hf. by eapply elem_of_list_lookup_2.
  Qed.
  Lemma in_owned_frames_put n leaf fresh a f a1 w a2 : in_owned_frames n leaf fresh a -> f ∉ fresh -> f <> NONE -> f <> FRAME_NO_QUOTA ->
    yields X (alloc_private [p] Ret) a f a1 ->
    on_owned_frames H (owned_frames_put f (entry_index (Z.of_nat (length fresh)) n) (entry_of leaf fresh (length fresh))) a1 = Some (w, a2) ->
    in_owned_frames n leaf (fresh ++ [f]) a2 /\ 0 <= f < NUM_FRAME.
  Proof using.
    intros Hin Hf Hn Hq Hy Hp. pose proof (in_owned_frames_taken _ _ _ _ _ _ Hin Hf Hy) as Hin1.
    destruct (alloc_private_yields _ _ _ _ _ _ _ _ (owned_frames_other X Yc H) Hy) as [_ [[? _]|(sh & h0 & _ & _ & [[? _]|[_ E]])]]; [done|done|].
    apply on_owned_frames_inv in Hp as (sh1 & h & h1 & Hsh & Hout & Hput & ->). rewrite E in Hsh. injection Hsh as <-.
    rewrite owned_frames_out_in in Hout. injection Hout as <-. apply owned_frames_put_inv in Hput as (Hfr & _ & _ & u & Hu & ->).
    rewrite lookup_insert in Hu. injection Hu as <-. split; [|done]. intros j g Hj. destruct (decide (j < length fresh)%nat) as [Hlt|Hge].
    - rewrite lookup_app_l in Hj by done. destruct (Hin1 j g Hj) as (Hg & h & Ha & Hh). split; [done|].
      rewrite E in Ha. pose proof (owned_frames_out_in H h) as E1. injection Ha as Ea. rewrite <- Ea, owned_frames_out_in in E1. injection E1 as <-.
      eexists. split; [by rewrite lookup_insert|]. rewrite path_word_prefix by lia.
      rewrite lookup_insert_ne; [done|]. intros ->. apply Hf. by eapply elem_of_list_lookup_2.
    - pose proof (lookup_lt_Some _ _ _ Hj) as Hlt. rewrite app_length in Hlt. simpl in Hlt. assert (j = length fresh) as -> by lia.
      rewrite lookup_app_r, Nat.sub_diag in Hj by lia. injection Hj as <-. split; [done|]. eexists. split; [by rewrite lookup_insert|].
      rewrite lookup_insert. rewrite path_word_prefix by lia. done.
  Qed.
End build.
