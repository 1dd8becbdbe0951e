(** The functions of shares at the top: transactions on the shares, during which frames are asked or changed. *)
From Ashlar Require Export layers.share.Transactions layers.frame.memory.History.

Section top.
  Context (X : layout) (Yc : slot X (gmap Z container) container_rep container_valid).
  Context (Yp : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X) (Y : slot X share_state share_rep share_valid).
  Notation top_program := (program (top_prim X) (objects X)).
  Notation o := (slot_object Y).
  Notation begins p := (Act (Lock (ACQUIRE, [slot_lock Y])) (fun _ => p)).
  Notation ends v := (Act (Lock (RELEASE, [slot_lock Y])) (fun _ => Ret v)).

  (** One update of the shares. *)
  Definition top_share (f : list Z -> option (share_state -> option (Z * share_state))) (args : list Z) : top_program :=
    match f args with Some g => begins (Loc (update_object o (lift Y g)) (fun v => ends v)) | None => Fail end.
  Definition top_offer (args : list Z) : top_program :=
    match args with
    | [i; p; frame] =>
        begins (top_owners X Yp H [frame] (fun mask =>
          Loc (on_shares X Y (fun s => share_offer s i p frame mask)) (fun v => ends v)))
    | _ => Fail
    end.
  Definition top_accept (args : list Z) : top_program :=
    match args with
    | [i; p] =>
        begins (Loc (on_shares X Y (fun s => share_accept_may s i p)) (fun may =>
          if may =? STATUS_OK then
            Loc (on_shares X Y (fun s => share_offered s i)) (fun frame =>
              top_add_owner X Yc Yp H [frame; p] (fun status =>
                Loc (on_shares X Y (fun s => share_accept_end s i status)) (fun v => ends v)))
          else ends may))
    | _ => Fail
    end.

  (** ** They stand for the programs that the C implements *)
  Lemma same_share f args : same (bind (lock_function Y f args) Ret) (expand X (top_share f args)).
  Proof.
    unfold lock_function, top_share. destruct (f args) as [g|]; [|constructor]. unfold locked. simpl.
    by repeat (constructor; intros ?).
  Qed.
  Lemma same_offer args : same (offer X Y (read_owners X Yp H) args Ret) (expand X (top_offer args)).
  Proof.
    destruct args as [|i [|p [|frame [|??]]]]; try apply same_fail. cbn [offer top_offer expand]. constructor. intros _.
    apply (same_owners X Yp H). intros mask. cbn [expand]. by repeat (constructor; intros ?).
  Qed.
  Lemma same_accept args : same (accept X Y (add_owner X Yc Yp H) args Ret) (expand X (top_accept args)).
  Proof.
    destruct args as [|i [|p [|??]]]; try apply same_fail. cbn [accept accept_held top_accept expand]. constructor. intros _. constructor. intros may.
    destruct (may =? STATUS_OK); cbn [expand]; [|by repeat (constructor; intros ?)]. constructor. intros frame.
    apply (same_add_owner X Yc Yp H). intros status. cbn [expand]. by repeat (constructor; intros ?).
  Qed.

  (** ** Programs of frames leave the shares alone *)
  Context (not_frame_memory : o <> slot_object Yp) (not_owned_frames : o <> owned_frames_object H) (not_containers : o <> slot_object Yc).

  Lemma frame_memory_section_keeps g κ a v a' : yields X (frame_memory_locked X Yp H g κ) a v a' ->
    exists u a1, a1 !! o = a !! o /\ yields X (κ u) a1 v a'.
  Proof using not_frame_memory not_owned_frames.
    unfold frame_memory_locked, locked_with. intros Hy. inversion Hy as [| |q k ? u1 a1 w b Hr1 Hy1]; subst. clear Hy.
    inversion Hr1 as [lk ob s a0 Ho Hval| | |]; subst; try (rewrite slot_guards in *; done).
    rewrite slot_guards in Ho. injection Ho as <-.
    inversion Hy1 as [|f k a0 u2 a2 w' b' Hf Hy2|]; subst. clear Hy1.
    destruct (on_frame_memory_inv _ _ _ _ _ _ Hf) as (st & sh & s0 & h & s1 & h1 & _ & _ & _ & _ & _ & ->).
    inversion Hy2 as [| |q k ? u3 a3 w' b' Hr2 Hy3]; subst. clear Hy2.
    inversion Hr2 as [| |lk ob s2 a0 Ho Hs2 Hval2|]; subst; try (rewrite slot_guards in *; done).
    rewrite slot_guards in Ho. injection Ho as <-. eexists _, _. split; [|exact Hy3].
    rewrite lookup_delete_ne by done. rewrite !lookup_insert_ne by done. done.
  Qed.
  Lemma container_section_keeps f args κ a v a' : yields X (bind (lock_function Yc f args) κ) a v a' ->
    exists u a1, a1 !! o = a !! o /\ yields X (κ u) a1 v a'.
  Proof using not_containers.
    unfold lock_function. destruct (f args) as [g|]; [|by inversion 1]. unfold locked. simpl.
    intros Hy. inversion Hy as [| |q k ? u1 a1 w b Hr1 Hy1]; subst. clear Hy.
    inversion Hr1 as [lk ob s a0 Ho Hval| | |]; subst; try (rewrite slot_guards in *; done).
    rewrite slot_guards in Ho. injection Ho as <-.
    inversion Hy1 as [|f' k a0 u2 a2 w' b' Hf Hy2|]; subst. clear Hy1.
    unfold update_object in Hf. rewrite lookup_insert in Hf. destruct (lift Yc g s) as [[z s']|]; [|done]. injection Hf as <- <-.
    inversion Hy2 as [| |q k ? u3 a3 w' b' Hr2 Hy3]; subst. clear Hy2.
    inversion Hr2 as [| |lk ob s2 a0 Ho Hs2 Hval2|]; subst; try (rewrite slot_guards in *; done).
    rewrite slot_guards in Ho. injection Ho as <-. eexists _, _. split; [|exact Hy3].
    rewrite lookup_delete_ne by done. rewrite !lookup_insert_ne by done. done.
  Qed.
  Lemma ret_keeps (w : Z) a v a' : yields X (Ret w) a v a' -> a' !! o = a !! o.
  Proof. by inversion 1. Qed.

  Lemma owners_keeps : keeps_shares X Y (read_owners X Yp H).
  Proof using not_frame_memory not_owned_frames.
    intros args a v a' Hy. destruct args as [|f [|??]]; simpl in Hy; try by inversion Hy. destruct (f <? NUM_FRAME).
    - apply frame_memory_section_keeps in Hy as (u & a1 & <- & Hy). by eapply ret_keeps.
    - by eapply ret_keeps.
  Qed.
  Lemma add_owner_keeps : keeps_shares X Y (add_owner X Yc Yp H).
  Proof using not_frame_memory not_owned_frames not_containers.
    intros args a v a' Hy. destruct args as [|f [|p [|??]]]; cbn [add_owner] in Hy; try by inversion Hy.
    destruct (NUM_FRAME <=? f); [by eapply ret_keeps|].
    apply container_section_keeps in Hy as (status & a1 & <- & Hy). destruct (status =? STATUS_OK); [|by eapply ret_keeps].
    apply frame_memory_section_keeps in Hy as (u & a2 & <- & Hy). destruct (u =? STATUS_OK); [by eapply ret_keeps|].
    apply container_section_keeps in Hy as (w & a3 & <- & Hy). by eapply ret_keeps.
  Qed.
  Lemma owners_continuation : has_continuation X (read_owners X Yp H).
  Proof.
    intros [|f [|??]] κ; try apply same_fail. unfold read_owners, frame_memory_locked, locked_with. simpl. same_program.
  Qed.
  Lemma add_owner_continuation : has_continuation X (add_owner X Yc Yp H).
  Proof.
    intros [|f [|p [|??]]] κ; try apply same_fail. unfold add_owner, frame_memory_locked, locked_with, lock_function, locked.
    simpl. same_program.
  Qed.

  (** ** Discipline *)
  Context (nlock : Z) (frame_below : 0 <= slot_lock Yp < nlock) (container_below : 0 <= slot_lock Yc < nlock).
  (** The locks of containers and frames are below [limit], and it is not above the shares'. *)
  Context (limit : Z) (below_frame : slot_lock Yp < limit) (below_container : slot_lock Yc < limit).
  Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
  Context (frame_memory_out : forall st s, slot_out Yp st = Some s -> st = slot_in Yp s).
  Context (shares_out : forall st s, slot_out Y st = Some s -> st = slot_in Y s).
  Notation transacts := (transacts X nlock limit (slot_lock Y) o).

  Lemma on_shares_keeps f : (forall s v s', share_valid s -> f s = Some (v, s') -> share_valid s') ->
    keeps_valid X o (on_shares X Y f).
  Proof using shares_out.
    intros Hf. apply update_object_keeps. intros st v st' Hst Hg. apply lift_inv in Hg as (s & s' & Hs & Hg & ->).
    rewrite (shares_out _ _ Hs) in Hst. apply slot_valid. apply slot_valid in Hst. by eapply Hf.
  Qed.
  Lemma may_valid s i p v s' : share_valid s -> share_accept_may s i p = Some (v, s') -> share_valid s'.
  Proof. unfold share_accept_may. destruct (shares s !! i); [|done]. by intros Hv [= _ <-]. Qed.
  Lemma offered_valid s i v s' : share_valid s -> share_offered s i = Some (v, s') -> share_valid s'.
  Proof. unfold share_offered. destruct (shares s !! i); [|done]. by intros Hv [= _ <-]. Qed.

  Lemma share_transacts f args g : keeps (svalid := share_valid) f -> f args = Some g ->
    transacts 0 (Loc (update_object o (lift Y g)) (fun v => ends v)).
  Proof using shares_out.
    intros Hf Eg. apply transacts_loc; [|intros; apply transacts_end]. apply (on_shares_keeps g). intros. by eapply Hf.
  Qed.
  Lemma top_owners_continuation args κ : same (bind (top_owners X Yp H args Ret) κ) (top_owners X Yp H args κ).
  Proof. destruct args as [|f [|??]]; try apply same_fail. unfold top_owners, top_frame_memory. same_program. Qed.
  Lemma top_add_owner_continuation args κ : same (bind (top_add_owner X Yc Yp H args Ret) κ) (top_add_owner X Yc Yp H args κ).
  Proof.
    destruct args as [|f [|p [|??]]]; try apply same_fail. unfold top_add_owner, top_frame_memory, top_function. simpl. same_program.
  Qed.
  Lemma offer_transacts i p frame : transacts 1 (top_owners X Yp H [frame] (fun mask =>
    Loc (on_shares X Y (fun s => share_offer s i p frame mask)) (fun v => ends v))).
  Proof using frame_below below_frame frame_memory_out shares_out.
    eapply transacts_same; [|apply top_owners_continuation]. apply (transacts_updates X nlock limit (slot_lock Y) o 1 0).
    - apply (owners_updates X Yp H nlock frame_below limit below_frame frame_memory_out [frame] 0). intros; constructor.
    - intros mask. apply transacts_loc; [|intros; apply transacts_end]. apply on_shares_keeps. intros. by eapply share_offer_valid.
  Qed.
  Lemma accept_transacts i p : transacts 3 (Loc (on_shares X Y (fun s => share_accept_may s i p)) (fun may =>
          if may =? STATUS_OK then
            Loc (on_shares X Y (fun s => share_offered s i)) (fun frame =>
              top_add_owner X Yc Yp H [frame; p] (fun status =>
                Loc (on_shares X Y (fun s => share_accept_end s i status)) (fun v => ends v)))
          else ends may)).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out shares_out.
    apply transacts_loc; [apply on_shares_keeps; intros; by eapply may_valid|]. intros may.
    destruct (may =? STATUS_OK); [|apply transacts_end].
    apply transacts_loc; [apply on_shares_keeps; intros; by eapply offered_valid|]. intros frame.
    eapply transacts_same; [|apply top_add_owner_continuation]. apply (transacts_updates X nlock limit (slot_lock Y) o 3 0).
    - apply (add_owner_updates X Yc Yp H nlock frame_below container_below limit below_frame below_container
        containers_out frame_memory_out [frame; p] 0). intros; constructor.
    - intros status. apply transacts_loc; [|intros; apply transacts_end]. apply on_shares_keeps.
      intros. by eapply share_accept_end_valid.
  Qed.

  (** ** Frames meanwhile change as they always do *)
  Context (locks_differ : slot_lock Yc <> slot_lock Yp).
  Notation steps_only := (steps_only X (frame_memory_history X Yp)).
  Lemma share_steps f args : steps_only (top_share f args).
  Proof. unfold top_share. by destruct (f args). Qed.
  Lemma offer_steps args : steps_only (top_offer args).
  Proof using frame_memory_out.
    destruct args as [|i [|p [|frame [|??]]]]; try done. intros _.
    apply (owners_steps X Yp H frame_memory_out [frame]). by intros mask v w.
  Qed.
  Lemma accept_steps args : steps_only (top_accept args).
  Proof using locks_differ containers_out frame_memory_out.
    destruct args as [|i [|p [|??]]]; try done. intros _ may. destruct (may =? STATUS_OK); [|done]. intros frame.
    apply (add_owner_steps X Yc Yp H locks_differ containers_out frame_memory_out [frame; p]). by intros status v w.
  Qed.
End top.
