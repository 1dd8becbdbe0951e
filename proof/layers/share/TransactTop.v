(** Shares at the top: offering and accepting are transactions, in which frames are looked at or given another owner by
    atomic updates. *)
From Ashlar Require Export layers.share.Transact.

Section top.
  Context (X : layout) (Y : slot X share_state share_rep share_valid).
  Notation o := (slot_object Y).
  Notation k := (slot_lock Y).
  Notation top_program := (program (top_prim X) (objects X)).

  (** What is asked of frames, below and at the top. *)
  Context (owners add_owner : list Z -> (Z -> prog X) -> prog X) (top_owners top_add_owner : list Z -> top_program).
  Context (owners_sequel : has_sequel X owners) (add_owner_sequel : has_sequel X add_owner).
  Context (owners_top : forall args, same (owners args Ret) (expand X (top_owners args))).
  Context (add_owner_top : forall args, same (add_owner args Ret) (expand X (top_add_owner args))).

  Definition top_unlock (v : Z) : top_program := Act (Lock (RELEASE, [k])) (fun _ => Ret v).
  Definition top_offer (args : list Z) : top_program :=
    match args with
    | [i; p; frame] =>
        Act (Lock (ACQUIRE, [k])) (fun _ =>
          bind (top_owners [frame]) (fun mask =>
            Loc (on_shares X Y (fun s => share_offer s i p frame mask)) top_unlock))
    | _ => Fail
    end.
  Definition top_accept (args : list Z) : top_program :=
    match args with
    | [i; p] =>
        Act (Lock (ACQUIRE, [k])) (fun _ =>
          Loc (on_shares X Y (fun s => share_accept_may s i p)) (fun may =>
            if may =? STATUS_OK then
              Loc (on_shares X Y (fun s => share_offered s i)) (fun frame =>
                bind (top_add_owner [frame; p]) (fun status =>
                  Loc (on_shares X Y (fun s => share_accept_end s i status)) top_unlock))
            else top_unlock may))
    | _ => Fail
    end.
  (** The functions that are one step on the shares. *)
  Definition top_section (f : list Z -> option (share_state -> option (Z * share_state))) (args : list Z) : top_program :=
    match f args with
    | Some g => Act (Lock (ACQUIRE, [k])) (fun _ => Loc (on_shares X Y g) top_unlock)
    | None => Fail
    end.

  (** ** They stand for the programs that the C implements *)
  Lemma same_sequel (spec : list Z -> (Z -> prog X) -> prog X) top args κ κ' : has_sequel X spec ->
    (forall args, same (spec args Ret) (expand X (top args))) -> (forall v, same (κ v) (expand X (κ' v))) ->
    same (spec args κ) (expand X (bind (top args) κ')).
  Proof.
    intros Hs Ht Hk. eapply same_trans; [apply same_sym, Hs|]. eapply same_trans; [|apply same_sym, expand_bind].
    apply same_bind; [apply Ht|exact Hk].
  Qed.
  Theorem same_offer args : same (offer X Y owners args Ret) (expand X (top_offer args)).
  Proof using owners_sequel owners_top.
    destruct args as [|i [|p [|frame [|??]]]]; try apply same_fail. unfold offer, top_offer. cbn [expand].
    apply same_act. intros _. apply same_sequel; [done|done|]. intros mask. cbn [expand]. apply same_loc. intros v.
    apply same_refl.
  Qed.
  Theorem same_accept args : same (accept X Y add_owner args Ret) (expand X (top_accept args)).
  Proof using add_owner_sequel add_owner_top.
    destruct args as [|i [|p [|??]]]; try apply same_fail. unfold accept, accept_held, top_accept. cbn [expand].
    apply same_act. intros _. apply same_loc. intros may. destruct (may =? STATUS_OK); [|apply same_refl]. cbn [expand].
    apply same_loc. intros frame. apply same_sequel; [done|done|]. intros status. cbn [expand]. apply same_loc.
    intros v. apply same_refl.
  Qed.

  Theorem same_section f args : lock_function Y f args = expand X (top_section f args).
  Proof using. unfold lock_function, top_section. by destruct (f args). Qed.

  (** ** They are transactions that keep the shares valid *)
  Context (nlock : Z) (n m : nat) (shares_out : forall st s, slot_out Y st = Some s -> st = slot_in Y s).
  Context (owners_updates : forall args, updates X nlock k n (top_owners args)).
  Context (add_owner_updates : forall args, updates X nlock k m (top_add_owner args)).

  Lemma on_shares_keeps f : (forall s v s', share_valid s -> f s = Some (v, s') -> share_valid s') ->
    keeps_valid X o (on_shares X Y f).
  Proof using shares_out.
    intros Hf. apply update_object_keeps. intros st v st' Hval (s & s' & Hs & Hg & ->)%lift_inv.
    rewrite (shares_out _ _ Hs) in Hval. apply slot_valid in Hval. apply slot_valid. by eapply Hf.
  Qed.
  Lemma unlock_transacts v : transacts X nlock k o 0 (top_unlock v).
  Proof using. apply transacts_end. Qed.

  (** The programs while the lock is held. *)
  Theorem top_offer_transacts i p frame : exists q, top_offer [i; p; frame] = Act (Lock (ACQUIRE, [k])) (fun _ => q) /\
    transacts X nlock k o (n + 0) q.
  Proof using shares_out owners_updates.
    eexists. split; [reflexivity|]. apply transacts_updates; [apply owners_updates|]. intros mask.
    apply transacts_loc; [|intros v; apply unlock_transacts]. apply on_shares_keeps. intros. by eapply share_offer_valid.
  Qed.
  Theorem top_accept_transacts i p : exists q, top_accept [i; p] = Act (Lock (ACQUIRE, [k])) (fun _ => q) /\
    transacts X nlock k o (m + 0) q.
  Proof using shares_out add_owner_updates.
    eexists. split; [reflexivity|]. apply transacts_loc.
    { apply on_shares_keeps. unfold share_accept_may. intros s v s' HV H. destruct (shares s !! i); [|done].
      by injection H as _ <-. }
    intros may. destruct (may =? STATUS_OK).
    2: { apply (transacts_updates X nlock k o m 0 (Ret may) top_unlock); [constructor|]. apply unlock_transacts. }
    apply transacts_loc.
    { apply on_shares_keeps. unfold share_offered. intros s v s' HV H. destruct (shares s !! i); [|done].
      by injection H as _ <-. }
    intros frame. apply transacts_updates; [apply add_owner_updates|]. intros status.
    apply transacts_loc; [|intros v; apply unlock_transacts]. apply on_shares_keeps. intros.
    by eapply share_accept_end_valid.
  Qed.
  Theorem top_section_transacts f args g : keeps (svalid := share_valid) f -> f args = Some g ->
    exists q, top_section f args = Act (Lock (ACQUIRE, [k])) (fun _ => q) /\ transacts X nlock k o 0 q.
  Proof using shares_out.
    intros Hf Hg. unfold top_section. rewrite Hg. eexists. split; [reflexivity|].
    apply transacts_loc; [|intros v; apply unlock_transacts]. apply on_shares_keeps. intros s v s' HV H. by eapply Hf.
  Qed.
End top.
