(** What threads do to containers, frames, page maps and shares is allowed by the specification.

    It is what CPUs without threads do, of which [Cpus] speaks, whose clients make one call after the other: those that the CPU's threads have
    made. Such clients keep the requirements of all functions, whatever the others do, so that all holds that [Cpus] says of any client. *)
From Ashlar Require Export layers.sched.threads.KernelCalls calculus.top.TopRefines calculus.top.TopTotal calculus.top.TopHistory.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

Section history.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state) (init : Z -> mem).
  Context (objects : objects_start kernel_entry root_quota frames_start shares_start init).
  Notation O := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation top := (kernel_top kernel_entry root_quota frames_start shares_start).
  Notation spec := (expand_spec O top).
  Notation no_frames := (no_frames kernel_entry root_quota frames_start shares_start).
  Notation allowed := (allowed O spec no_frames).
  Notation disciplined := (disciplined O object_locks kernel_budget).

  (** A client may change objects as it likes, and knows nothing of them. *)
  Notation anything := (fun (_ : nat) (_ : Z) (_ _ : option (obj_state O)) => True).
  Lemma exact_same_held ks (a a' : Represent.objects O) : holds_exactly O ks a -> holds_exactly O ks a' -> same_held O a a'.
  Proof using.
    intros H H' k. assert (forall o, obj_of_lock O k = Some o -> a !! o = None <-> a' !! o = None) as E.
    { intros o Ho. rewrite !eq_None_not_Some. by rewrite (H k o Ho), (H' k o Ho). }
    split; intros Hn o Ho; apply (E o Ho), Hn, Ho.
  Qed.
  Lemma answers_total c (Post : Z -> Represent.objects O -> states O -> Prop) q : (forall v st, Post v no_frames st) -> forall ks n a,
    atomic_locks O kernel_atomic q -> disciplined ks n a (expand O q) -> answers O no_frames a (expand O q) -> TopTotal.total O anything c Post q a (fun _ => True).
  Proof using objects.
    intros post.
    assert (forall a (st : states O) (J : (states O -> Prop) -> Prop), J (fun _ => True) -> known O anything c a st J) as Hknown.
    { intros a st J HJ. exists (fun _ => True). split; [by intros ? *|by split]. }
    induction q as [v| |p κ IH|f κ IH]; intros ks n a Hlocks Hdis Ha.
    - inversion Ha; subst. intros st _. apply post.
    - inversion Ha.
    - destruct p as [k o f|[f [|k [|??]]]]; cbn [expand TopTotal.total] in *; [|destruct Hlocks as []| |destruct Hlocks as []].
      + destruct Hlocks as (_ & Ho & Hlocks). split; [exact Ho|]. intros st s _ _ _ Hs. unfold locked_with in *.
        inversion Hdis as [| | |? ? ? ? ? Hh _ _ H1 _|]; subst. specialize (H1 o s Ho Hs). inversion Ha as [| |? ? ? Ha1]; subst.
        specialize (Ha1 0 _ (response_acquire O k o s a Ho Hs)). inversion Ha1 as [|? ? ? v a2 Hf Ha2|]; subst.
        inversion H1 as [| |? ? ? ? ? _ H2| |]; subst. specialize (H2 v a2 Hf).
        inversion H2 as [| | | |? ? ? ? ? Hh2 _ Hv H3 _]; subst. destruct (Hv o Ho) as (s' & Hs' & Hv'). specialize (H3 o Ho).
        inversion Ha2 as [| |? ? ? Ha3]; subst. specialize (Ha3 0 _ (response_release O k o s' a2 Ho Hs' Hv')).
        exists v, s', (delete o a2). split; [unfold updated; by rewrite Hf, Hs'|]. split; [done|]. split; [done|]. split; [|apply Hknown; by eapply IH].
        assert (holds_exactly O ks (delete o a2)) as Hh3; [|by eapply exact_same_held].
        intros k' o' Ho'. destruct (decide (o' = o)) as [->|Hne].
        * rewrite lookup_delete. assert (k' = k) as -> by (by eapply kernel_one_lock). split; [by intros [? ?]|]. intros Hin. exfalso.
          assert (is_Some (a !! o)) as Hin' by (by apply (Hh k o Ho)). clear -Hdis Hin. inversion Hdis as [| | |? ? ? ? ? _ Hb _ _ _|]; subst. by eapply below_not_in.
        * rewrite lookup_delete_ne by done. rewrite (Hh2 k' o' Ho'). rewrite elem_of_cons. split; [intros [->|?]; [|done]; congruence|by right].
      + destruct Hlocks as [_ Hlocks]. inversion Hdis as [| | |? ? ? ? ? Hh Hb Hw H1 H2|? ? ? ? ? Hh Hw Hv H1 H2]; subst.
        * cbn [String.eqb Ascii.eqb Bool.eqb ACQUIRE]. intros st Hvalid _. inversion Ha as [| |? ? ? Ha1]; subst. apply Hknown. unfold object_data. cbn [ld_pull].
          destruct (obj_of_lock O k) as [o|] eqn:Eo.
          -- destruct (Hvalid k o Eo) as (s & -> & Hs). eapply IH; [done|by apply (H1 o s)|]. by apply (Ha1 0 _), response_acquire.
          -- eapply IH; [done|by apply H2|]. by apply (Ha1 0 _), response_acquire_none.
        * cbn [String.eqb Ascii.eqb Bool.eqb ACQUIRE RELEASE]. inversion Ha as [| |? ? ? Ha1]; subst. destruct (obj_of_lock O k) as [o|] eqn:Eo.
          -- destruct (Hv o eq_refl) as (s & Hs & Hvs). exists (Some s), (delete o a).
             split; [unfold object_data; cbn [ld_push]; rewrite Eo, Hs; by rewrite decide_True|]. intros st _ _.
             split; [done|]. apply Hknown. eapply IH; [done|by apply (H1 o)|]. by apply (Ha1 0 _), (response_release O k o s).
          -- exists None, a. split; [unfold object_data; cbn [ld_push]; by rewrite Eo|]. intros st _ _. split; [done|]. apply Hknown. eapply IH; [done|by apply H2|].
             by apply (Ha1 0 _), response_release_none.
    - cbn [expand TopTotal.total atomic_locks] in *. inversion Ha as [|? ? ? v a' Hf Ha'|]; subst. inversion Hdis as [| |? ? ? ? ? Hh H1| |]; subst.
      specialize (H1 v a' Hf). exists v, a'. split; [done|]. split; [|by eapply IH].
      assert (expand O (κ v) <> Fail) as Hne by (intros E; rewrite E in Ha'; inversion Ha'). eapply exact_same_held; [exact Hh|by eapply disciplined_holds].
  Qed.

  Context (ncpu : nat) (sequences : nat -> list made) (all_allowed : forall c, Forall allowed (sequences c)).
  Notation sequence_top := (system sequence (top_engine O top)).
  Notation top_start := (fun c => Idle (sequences c : cstate sequence) no_frames : ast sequence_top).
  (** Clients that make such sequences of calls keep all requirements. *)
  Theorem sequences_never_wrong : never_wrong ncpu (top_layer O) sequence_top top_start.
  Proof using objects all_allowed.
    apply (total_never_wrong O anything sequence ncpu top kernel_one_lock
      (start_valid kernel_entry root_quota frames_start shares_start init objects) sequences (fun _ => no_frames)) with
      (knows := fun _ s a _ => a = no_frames /\ Forall allowed s).
    - intros c k o Ho. apply eq_None_not_Some. intros Hs. apply (no_frames_exact kernel_entry root_quota frames_start shares_start k o Ho) in Hs. by apply elem_of_nil in Hs.
    - by intros c s a Hc st c' k y _ _ _ _ H.
    - intros c _. split; [done|apply all_allowed].
    - by intros c [|[f args|v] s] s' a st Hn.
    - intros c [|[f args|v'] s] v w a st Hn [-> Hs]; try done. split; [done|]. by apply Forall_cons in Hs as [_ Hs].
    - intros c [|[f args|v] s] f' args' a st Hn Hc [-> Hs]; try done. injection Hn as <- <-. apply Forall_cons in Hs as [(p & Ep & Ha) Hs].
      unfold expand_spec in Ep. destruct (top f args) as [q|] eqn:Eq; [|done]. injection Ep as <-. exists q. split; [done|].
      exists (fun _ => True). split; [by intros ? *|]. split; [done|]. eapply (answers_total c) with (ks := []) (n := 0%nat).
      + intros v st'. by split.
      + by eapply kernel_atomic_locks.
      + eapply (kernel_disciplined_few kernel_entry root_quota frames_start shares_start f args); [unfold expand_spec; by rewrite Eq|apply no_frames_exact].
      + exact Ha.
  Qed.
  (** So what they do is what the specification allows. *)
  Theorem sequences_refine x : traces ncpu (lock_layer object_locks kernel_budget (object_data O)) (system sequence (object_engine O spec))
      (fun c => Idle (sequences c : cstate sequence) no_frames) x ->
    traces ncpu (top_layer O) sequence_top top_start (top_views O kernel_atomic x).
  Proof using objects all_allowed.
    apply (top_refines O object_locks kernel_budget ncpu kernel_atomic sequence top (kernel_disciplined_few kernel_entry root_quota frames_start shares_start)
      (kernel_atomic_locks kernel_entry root_quota frames_start shares_start) (start_valid kernel_entry root_quota frames_start shares_start init objects)
      sequences (fun _ => no_frames) (fun c _ => no_frames_exact kernel_entry root_quota frames_start shares_start) sequences_never_wrong).
  Qed.
End history.
