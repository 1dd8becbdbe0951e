(** Shares: what they guarantee to processes.

    The two processes of a share never change after start-up. A frame is accepted only while its offer stands, by the one
    process that may, once. There is at most one offer in a share, and it is by an owner of the frame. A process that gives
    up a frame offers it nowhere; one that has ended offers nothing; other processes' offers stay. *)
From Ashlar Require Export layers.share.Invariant.

(** Offers are counted exactly: they are as many as there are shares with one. *)
Theorem standing_size p m : standing p m = Z.of_nat (size (filter (fun e => offers_by p e.2 = true) m)).
Proof.
  induction m as [|i x m Hi IH] using map_ind; [done|]. rewrite standing_insert, map_filter_insert, IH by done. simpl.
  destruct (offers_by p x) eqn:E.
  - rewrite decide_True by done. rewrite map_size_insert_None; [lia|]. apply map_filter_lookup_None. by left.
  - rewrite decide_False by done. rewrite (delete_notin m i Hi). done.
Qed.
Corollary offers_counted s p n : share_valid s -> offers s !! p = Some n ->
  n = Z.of_nat (size (filter (fun e => offers_by p e.2 = true) (shares s))).
Proof. intros HV Hn. rewrite (offers_exact s HV p n Hn). apply standing_size. Qed.

(** ** Offering *)

(** An offer is made only where none stands, by the process that may, of a frame that it owns. *)
Theorem share_offer_made s i p frame mask s' : share_offer s i p frame mask = Some (STATUS_OK, s') ->
  exists x, shares s !! i = Some x /\ from x = p /\ offered x = NONE /\ owns mask p = true /\ frame <> NONE /\
    shares s' = <[i := set_offered frame x]> (shares s).
Proof.
  unfold share_offer. destruct (frame_id frame) eqn:Hf; [|done]. unfold frame_id in Hf.
  destruct (shares s !! i) as [x|] eqn:Hi; [|done]. destruct (offers s !! p) as [n|]; [|done].
  destruct (Z.eqb_spec (from x) p); [|done]. destruct (Z.eqb_spec (offered x) NONE); [|done].
  destruct (owns mask p); [|done]. intros [= <-]. exists x. split_and!; try done. lia.
Qed.
(** Where one stands, it stays, and nothing else is offered. *)
Theorem share_offer_once s i p frame mask v s' x : share_offer s i p frame mask = Some (v, s') ->
  shares s !! i = Some x -> offered x <> NONE -> v = ERR_BAD_STATE /\ s' = s.
Proof.
  unfold share_offer. intros H Hi Ho. destruct (frame_id frame); [|done]. rewrite Hi in H.
  destruct (offers s !! p); [|done]. rewrite (proj2 (Z.eqb_neq _ _) Ho), andb_false_r in H. by injection H as <- <-.
Qed.

(** ** Accepting *)

(** Asked for is only a frame whose offer stands, by the process that may accept. *)
Theorem share_accept_asks s i p s' : share_accept_may s i p = Some (STATUS_OK, s') ->
  s' = s /\ exists x, shares s !! i = Some x /\ to x = p /\ offered x <> NONE.
Proof.
  unfold share_accept_may. destruct (shares s !! i) as [x|]; [|done]. destruct (Z.eqb_spec (to x) p); [|done].
  destruct (Z.eqb_spec (offered x) NONE); [done|]. intros [= <-]. split; [done|]. by exists x.
Qed.
(** It is the frame under offer that is accepted, and with that its offer is gone. *)
Theorem share_accept_end_accepted s i s' : share_accept_end s i STATUS_OK = Some (STATUS_OK, s') ->
  exists x, shares s !! i = Some x /\ offered x <> NONE /\
    shares s' = <[i := Share (from x) (to x) NONE (offered x)]> (shares s).
Proof.
  unfold share_accept_end. change (STATUS_OK =? STATUS_OK) with true. cbv iota.
  destruct (shares s !! i) as [x|]; [|done]. unfold share_clear. cbn [shares offers]. rewrite lookup_insert.
  cbn [from offered set_accepted]. destruct (offers s !! from x) as [n|]; [|done].
  destruct (Z.eqb_spec (offered x) NONE); [done|]. intros [= <-]. exists x. split_and!; [done..|].
  cbn [shares]. by rewrite insert_insert.
Qed.
(** Where the frame cannot have another owner, the offer stays. *)
Theorem share_accept_end_refused s i status v s' : status <> STATUS_OK -> share_accept_end s i status = Some (v, s') ->
  v = status /\ s' = s.
Proof.
  intros Hne. unfold share_accept_end. rewrite (proj2 (Z.eqb_neq _ _) Hne). by intros [= <- <-].
Qed.
(** What was accepted is the result of [share_frame]. *)
Corollary share_frame_accepted s i s' x : share_accept_end s i STATUS_OK = Some (STATUS_OK, s') ->
  shares s !! i = Some x -> share_frame s' i = Some (offered x, s').
Proof.
  intros (y & Hy & _ & E)%share_accept_end_accepted Hx. rewrite Hx in Hy. injection Hy as <-.
  unfold share_frame. by rewrite E, lookup_insert.
Qed.

(** ** Ending offers *)

(** The offers of [p] that are to end are gone; everything else is as it was. *)
Theorem share_end_all_ends s p which v s' i x : share_end_all s p which = Some (v, s') -> shares s !! i = Some x ->
  exists y, shares s' !! i = Some y /\ from y = from x /\ to y = to x /\ accepted y = accepted x /\
    (offers_by p x = true -> which (offered x) = true -> offered y = NONE) /\
    (offers_by p x = false \/ which (offered x) = false -> y = x).
Proof.
  unfold share_end_all. intros H Hi. destruct (offers s !! p); [|done]. injection H as _ <-.
  exists (without p which x). cbn [shares]. rewrite lookup_fmap, Hi. split; [done|]. unfold without.
  destruct (offers_by p x), (which (offered x)); simpl; split_and!; try done; by intros [|].
Qed.
Corollary share_forget_nowhere s p frame v s' i y : share_forget s p frame = Some (v, s') -> frame <> NONE ->
  shares s' !! i = Some y -> offers_by p y = true -> offered y <> frame.
Proof.
  unfold share_forget, share_end_all. intros H Hf Hy Ho. destruct (offers s !! p); [|done]. injection H as _ <-.
  cbn [shares] in Hy. apply lookup_fmap_Some in Hy as (x & <- & Hx). revert Ho. unfold without.
  rewrite (proj2 (Z.eqb_neq _ _) Hf). simpl. destruct (offers_by p x) eqn:E; simpl.
  - destruct (Z.eqb_spec (offered x) frame); [|done]. by rewrite offers_by_none.
  - by rewrite E.
Qed.
Corollary share_process_ended_nothing s p v s' i y : share_process_ended s p = Some (v, s') ->
  shares s' !! i = Some y -> offers_by p y = false.
Proof.
  unfold share_process_ended, share_end_all. intros H Hy. destruct (offers s !! p); [|done]. injection H as _ <-.
  cbn [shares] in Hy. apply lookup_fmap_Some in Hy as (x & <- & Hx). unfold without. rewrite andb_true_r.
  destruct (offers_by p x) eqn:E; [|done]. by apply offers_by_none.
Qed.

(** ** A process that offers a frame owns it *)

(** [own f p]: process [p] owns frame [f]. *)
Definition offers_owned (own : Z -> Z -> bool) (s : share_state) : Prop :=
  forall i x, shares s !! i = Some x -> offered x <> NONE -> own (offered x) (from x) = true.

(** Owners may always be added; one may be removed that does not offer the frame. *)
Theorem offers_owned_owners own own' s : offers_owned own s ->
  (forall f p, own f p = true -> own' f p = true \/
     forall i x, shares s !! i = Some x -> offered x = f -> offers_by p x = false) -> offers_owned own' s.
Proof.
  intros H Hown i x Hi Ho. destruct (Hown _ _ (H i x Hi Ho)) as [|Hno]; [done|].
  specialize (Hno i x Hi eq_refl). rewrite offers_by_self, (proj2 (Z.eqb_neq _ _) Ho) in Hno. done.
Qed.
Lemma offers_owned_update own s i y n : offers_owned own s -> (offered y = NONE \/ own (offered y) (from y) = true) ->
  offers_owned own (Shares (<[i := y]> (shares s)) n).
Proof.
  intros H Hy j x. cbn [shares]. destruct (decide (i = j)) as [<-|Hne].
  - rewrite lookup_insert. intros [= <-] Ho. by destruct Hy.
  - rewrite lookup_insert_ne by done. apply H.
Qed.
Theorem share_offer_owned own s i p frame mask v s' : (owns mask p = true -> own frame p = true) -> offers_owned own s ->
  share_offer s i p frame mask = Some (v, s') -> offers_owned own s'.
Proof.
  unfold share_offer. intros Hown H Hg. destruct (frame_id frame); [|done].
  destruct (shares s !! i) as [x|] eqn:Hi; [|done]. destruct (offers s !! p); [|done].
  destruct (Z.eqb_spec (from x) p) as [Hx|]; [|by injection Hg as _ <-].
  destruct (offered x =? NONE); [|by injection Hg as _ <-].
  destruct (owns mask p); [|by injection Hg as _ <-]. injection Hg as _ <-.
  apply offers_owned_update; [done|]. right. cbn [set_offered offered from]. rewrite Hx. by apply Hown.
Qed.
Theorem share_clear_owned own s i v s' : offers_owned own s -> share_clear s i = Some (v, s') -> offers_owned own s'.
Proof.
  unfold share_clear. intros H Hg. destruct (shares s !! i) as [x|]; [|done]. destruct (offers s !! from x); [|done].
  destruct (offered x =? NONE); [done|]. injection Hg as _ <-. apply offers_owned_update; [done|by left].
Qed.
Theorem share_accept_end_owned own s i status v s' : offers_owned own s -> share_accept_end s i status = Some (v, s') ->
  offers_owned own s'.
Proof.
  unfold share_accept_end. intros H Hg. destruct (status =? STATUS_OK); [|by injection Hg as _ <-].
  destruct (shares s !! i) as [x|] eqn:Hi; [|done]. destruct (share_clear _ i) as [[w s1]|] eqn:Hc; [|done].
  injection Hg as _ <-. eapply share_clear_owned; [|exact Hc]. apply offers_owned_update; [done|].
  cbn [set_accepted offered from]. destruct (decide (offered x = NONE)); [by left|right]. by eapply H.
Qed.
Theorem share_withdraw_owned own s i p v s' : offers_owned own s -> share_withdraw s i p = Some (v, s') ->
  offers_owned own s'.
Proof.
  unfold share_withdraw. intros H Hg. destruct (shares s !! i) as [x|]; [|done].
  destruct (offers_by p x); [|by injection Hg as _ <-].
  destruct (share_clear s i) as [[w s1]|] eqn:Hc; [|done]. injection Hg as _ <-. by eapply share_clear_owned.
Qed.
Theorem share_end_all_owned own s p which v s' : offers_owned own s -> share_end_all s p which = Some (v, s') ->
  offers_owned own s'.
Proof.
  unfold share_end_all. intros H Hg. destruct (offers s !! p); [|done]. injection Hg as _ <-. intros i y. cbn [shares].
  intros Hy Ho. apply lookup_fmap_Some in Hy as (x & <- & Hx). revert Ho. unfold without.
  destruct (_ && _); [done|]. by eapply H.
Qed.

(** ** The processes of a share *)
Definition processes_of (s : share_state) (i : Z) : option (Z * Z) := (fun x => (from x, to x)) <$> shares s !! i.

Lemma processes_update s i x y n j : shares s !! i = Some x -> from y = from x -> to y = to x ->
  processes_of (Shares (<[i := y]> (shares s)) n) j = processes_of s j.
Proof.
  intros Hi Hf Ht. unfold processes_of. cbn [shares]. destruct (decide (i = j)) as [<-|Hne].
  - rewrite lookup_insert, Hi. simpl. by rewrite Hf, Ht.
  - by rewrite lookup_insert_ne.
Qed.
Theorem share_offer_processes s i p frame mask v s' j : share_offer s i p frame mask = Some (v, s') ->
  processes_of s' j = processes_of s j.
Proof.
  unfold share_offer. intros H. destruct (frame_id frame); [|done]. destruct (shares s !! i) as [x|] eqn:Hi; [|done].
  destruct (offers s !! p); [|done]. destruct (_ && _ && _); injection H as _ <-; [|done]. by eapply processes_update.
Qed.
Theorem share_clear_processes s i v s' j : share_clear s i = Some (v, s') -> processes_of s' j = processes_of s j.
Proof.
  unfold share_clear. intros H. destruct (shares s !! i) as [x|] eqn:Hi; [|done]. destruct (offers s !! from x); [|done].
  destruct (offered x =? NONE); [done|]. injection H as _ <-. by eapply processes_update.
Qed.
Theorem share_accept_end_processes s i status v s' j : share_accept_end s i status = Some (v, s') ->
  processes_of s' j = processes_of s j.
Proof.
  unfold share_accept_end. intros H. destruct (status =? STATUS_OK); [|by injection H as _ <-].
  destruct (shares s !! i) as [x|] eqn:Hi; [|done]. destruct (share_clear _ i) as [[w s1]|] eqn:Hc; [|done].
  injection H as _ <-. rewrite (share_clear_processes _ _ _ _ j Hc). by eapply processes_update.
Qed.
Theorem share_withdraw_processes s i p v s' j : share_withdraw s i p = Some (v, s') -> processes_of s' j = processes_of s j.
Proof.
  unfold share_withdraw. intros H. destruct (shares s !! i) as [x|]; [|done].
  destruct (offers_by p x); [|by injection H as _ <-].
  destruct (share_clear s i) as [[w s1]|] eqn:Hc; [|done]. injection H as _ <-. by eapply share_clear_processes.
Qed.
Theorem share_end_all_processes s p which v s' j : share_end_all s p which = Some (v, s') ->
  processes_of s' j = processes_of s j.
Proof.
  unfold share_end_all. intros H. destruct (offers s !! p); [|done]. injection H as _ <-. unfold processes_of.
  cbn [shares]. rewrite lookup_fmap. destruct (shares s !! j) as [x|]; [|done]. simpl. unfold without.
  by destruct (_ && _).
Qed.
