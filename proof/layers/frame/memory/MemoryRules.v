(** Specification programs about frame memory and owned frames, and the proof rules for C code that takes the frame lock. *)
From Ashlar Require Export layers.frame.memory.Clear lang.programs.Continuation.

(** The object of the CPU's owned frames: no lock guards it. *)
Record owned_frames_slot (X : layout) := OwnedFramesSlot {
  owned_frames_object : obj X;
  owned_frames_in : owned_frames -> obj_state X;
  owned_frames_out : obj_state X -> option owned_frames;
  owned_frames_out_in : forall h, owned_frames_out (owned_frames_in h) = Some h;
  owned_frames_unlocked : forall k, obj_of_lock X k <> Some owned_frames_object;
  owned_frames_object_rep : forall st d, obj_rep X owned_frames_object st d <-> exists h, st = owned_frames_in h /\ owned_frames_rep h d;
}.
Arguments owned_frames_object {_}. Arguments owned_frames_in {_}. Arguments owned_frames_out {_}. Arguments owned_frames_out_in {_}.
Arguments owned_frames_unlocked {_}. Arguments owned_frames_object_rep {_}.

Section steps.
  Context {X : layout} (Y : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Notation op := (slot_object Y).
  Notation oh := (owned_frames_object H).
  Implicit Types a : objects X.

  (** An update of frame memory by a CPU that owns [h], and a private step on the owned frames. *)
  Definition on_frame_memory (g : frame_memory -> owned_frames -> option (Z * frame_memory * owned_frames)) (a : objects X) : option (Z * objects X) :=
    match a !! op, a !! oh with
    | Some st, Some sh =>
        match slot_out Y st, owned_frames_out H sh with
        | Some s, Some h =>
            match g s h with
            | Some (v, s', h') => Some (v, <[oh := owned_frames_in H h']> (<[op := slot_in Y s']> a))
            | None => None
            end
        | _, _ => None
        end
    | _, _ => None
    end.
  Definition on_owned_frames (g : owned_frames -> option (Z * owned_frames)) (a : objects X) : option (Z * objects X) :=
    match a !! oh with
    | Some sh =>
        match owned_frames_out H sh with
        | Some h => match g h with Some (v, h') => Some (v, <[oh := owned_frames_in H h']> a) | None => None end
        | None => None
        end
    | None => None
    end.

  Lemma objects_differ : op <> oh.
  Proof. intros E. apply (owned_frames_unlocked H (slot_lock Y)). rewrite <- E. apply slot_guards. Qed.

  Lemma on_frame_memory_inv g a v a' : on_frame_memory g a = Some (v, a') -> exists st sh s h s' h',
    a !! op = Some st /\ a !! oh = Some sh /\ slot_out Y st = Some s /\ owned_frames_out H sh = Some h /\ g s h = Some (v, s', h') /\
    a' = <[oh := owned_frames_in H h']> (<[op := slot_in Y s']> a).
  Proof.
    unfold on_frame_memory. destruct (a !! op) as [st|]; [|done]. destruct (a !! oh) as [sh|]; [|done].
    destruct (slot_out Y st) as [s|] eqn:Es; [|done]. destruct (owned_frames_out H sh) as [h|] eqn:Eh; [|done].
    destruct (g s h) as [[[w s'] h']|] eqn:Eg; [|done]. intros [= -> <-]. by exists st, sh, s, h, s', h'.
  Qed.
  Lemma on_owned_frames_inv g a v a' : on_owned_frames g a = Some (v, a') -> exists sh h h',
    a !! oh = Some sh /\ owned_frames_out H sh = Some h /\ g h = Some (v, h') /\ a' = <[oh := owned_frames_in H h']> a.
  Proof.
    unfold on_owned_frames. destruct (a !! oh) as [sh|]; [|done]. destruct (owned_frames_out H sh) as [h|] eqn:Eh; [|done].
    destruct (g h) as [[w h']|] eqn:Eg; [|done]. intros [= -> <-]. by exists sh, h, h'.
  Qed.

  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).
  Notation sim := (sim X kernel_entry M cpu).

  (** The frame lock is acquired: its cells and those of the owned frames, and the rest. *)
  Lemma fwp_frame_memory_acquire Post g m a (κ : Z -> prog X) (Q : call_post) :
    rep X a m ->
    (forall s h v s1 h1 t u rest a1, frame_memory_valid s -> together s h t u -> g s h = Some (v, s1, h1) ->
       t ∪ u ##ₘ rest -> represents (obj_rep X) (delete oh (delete op a)) rest ->
       on_frame_memory g (<[op := slot_in Y s]> a) = Some (v, a1) ->
       a1 = <[oh := owned_frames_in H h1]> (<[op := slot_in Y s1]> a) ->
       Q 0 ((t ∪ u) ∪ rest) (Act (RELEASE, [slot_lock Y]) (fun _ => κ v), a1)) ->
    fwp (G := pstate X) (sim Post) ACQUIRE [slot_lock Y] m (locked_with X (slot_lock Y) (on_frame_memory g) κ, a) Q.
  Proof using lock_acquire.
    intros Hr HQ kk r x es He Hk. unfold locked_with. eapply sim_act; [simpl; by rewrite He, lock_acquire|done|].
    intros v m' a' Hresp Hr'. unfold resume; simpl.
    remember (ACQUIRE, [slot_lock Y]) as p eqn:Ep.
    destruct Hresp as [k o st a0 Ho Hval|k a0 Ho|k o st a0 Ho Hval|k a0 Ho]; inversion Ep; subst; rewrite slot_guards in Ho; [|done].
    injection Ho as <-.
    destruct (on_frame_memory g (<[op:=st]> a0)) as [[v a1]|] eqn:Eg; [|by apply sim_loc_fail].
    eapply sim_loc; [exact Eg|].
    destruct (on_frame_memory_inv _ _ _ _ Eg) as (st' & sh & s & h & s1 & h1 & Hst & Hsh & Es & Eh & Hg & Ea).
    rewrite lookup_insert in Hst. injection Hst as <-.
    rewrite lookup_insert_ne in Hsh by apply objects_differ.
    destruct (represents_open _ _ _ op st Hr') as (dp & rest1 & Hdp & Hd1 & -> & Hrest1); [apply lookup_insert|].
    rewrite delete_insert_delete in Hrest1.
    destruct (represents_open _ _ _ oh sh Hrest1) as (dh & rest & Hdh & Hd2 & -> & Hrest).
    { rewrite lookup_delete_ne by apply objects_differ. done. }
    apply slot_rep in Hdp as (s' & -> & Hdp). rewrite slot_in_out in Es. injection Es as ->.
    apply owned_frames_object_rep in Hdh as (h' & -> & Hdh). rewrite owned_frames_out_in in Eh. injection Eh as ->.
    apply slot_valid in Hval. apply map_disjoint_union_r in Hd1 as [Hd1 Hd3].
    destruct (together_join s h dp dh Hdp Hdh Hd1) as (t & u & Etu & Htog).
    apply Hk. rewrite (assoc_L (∪)), Etu. rewrite insert_insert in Ea. eapply HQ; [done|done|done| |done|done|done].
    rewrite <- Etu. apply map_disjoint_union_l. by split.
  Qed.

  Lemma fwp_frame_memory_release Post s1 h1 t u rest a (κ : Z -> prog X) (Q : call_post) :
    frame_memory_valid s1 -> together s1 h1 t u -> t ∪ u ##ₘ rest -> represents (obj_rep X) (delete oh (delete op a)) rest ->
    (forall m', rep X (<[oh := owned_frames_in H h1]> (delete op a)) m' ->
       Q 0 m' (κ 0, <[oh := owned_frames_in H h1]> (delete op a))) ->
    fwp (G := pstate X) (sim Post) RELEASE [slot_lock Y] ((t ∪ u) ∪ rest)
      (Act (RELEASE, [slot_lock Y]) κ, <[oh := owned_frames_in H h1]> (<[op := slot_in Y s1]> a)) Q.
  Proof using lock_release.
    intros Hval Htog Hd Hrest HQ kk r x es He Hk.
    destruct (together_split _ _ _ _ Htog) as (dp & dh & Etu & Hdd & Hdp & Hdh).
    rewrite Etu in *. apply map_disjoint_union_l in Hd as [Hd1 Hd2].
    eapply sim_act; [simpl; by rewrite He, lock_release| |].
    - unfold rep. simpl. rewrite insert_commute by (intros E; by apply objects_differ).
      rewrite <- (assoc_L (∪)). apply represents_close; [|apply slot_rep; eauto|by apply map_disjoint_union_r].
      rewrite delete_insert_ne by (intros E; by apply objects_differ).
      apply represents_close; [done|apply owned_frames_object_rep; eauto|done].
    - intros v m' a' Hresp Hr'. unfold resume; simpl.
      remember (RELEASE, [slot_lock Y]) as p eqn:Ep. remember (<[oh := owned_frames_in H h1]> (<[op := slot_in Y s1]> a)) as b eqn:Eb.
      destruct Hresp as [k o st a0 Ho Hv|k a0 Ho|k o st a0 Ho Hst Hv|k a0 Ho]; inversion Ep; subst; rewrite slot_guards in Ho; [|done].
      injection Ho as <-. rewrite delete_insert_ne in * by (intros E; by apply objects_differ).
      rewrite delete_insert_delete in *. apply Hk. by apply HQ.
  Qed.

  (** What the section between the two yields. *)
  Lemma frame_memory_section_yields g s a v h1 s1 (κ : Z -> prog X) w a2 :
    frame_memory_valid s -> frame_memory_valid s1 ->
    on_frame_memory g (<[op := slot_in Y s]> a) = Some (v, <[oh := owned_frames_in H h1]> (<[op := slot_in Y s1]> a)) ->
    yields X (κ v) (<[oh := owned_frames_in H h1]> (delete op a)) w a2 ->
    yields X (locked_with X (slot_lock Y) (on_frame_memory g) κ) a w a2.
  Proof using.
    intros Hs Hs1 Hg Hk. unfold locked_with.
    eapply yields_act; [apply (response_acquire X (slot_lock Y) op (slot_in Y s)); [apply slot_guards|by apply slot_valid]|].
    eapply yields_loc; [exact Hg|].
    eapply yields_act; [|].
    - eapply (response_release X (slot_lock Y) op (slot_in Y s1)); [apply slot_guards| |by apply slot_valid].
      rewrite lookup_insert_ne by (intros E; by apply objects_differ). apply lookup_insert.
    - rewrite delete_insert_ne by (intros E; by apply objects_differ). by rewrite delete_insert_delete.
  Qed.

  (** An owned frame is cleared. *)
  Lemma fwp_clear Post f h a m (κ : Z -> prog X) (Q : call_post) :
    M "arch_frame_clear" = None -> a !! oh = Some (owned_frames_in H h) -> rep X a m ->
    (forall v h1 m', owned_frames_clear f h = Some (v, h1) -> on_owned_frames (owned_frames_clear f) a = Some (v, <[oh := owned_frames_in H h1]> a) ->
       rep X (<[oh := owned_frames_in H h1]> a) m' -> Q 0 m' (κ v, <[oh := owned_frames_in H h1]> a)) ->
    fwp (G := pstate X) (sim Post) "arch_frame_clear" [f] m (Loc (on_owned_frames (owned_frames_clear f)) κ, a) Q.
  Proof using.
    intros HM Ha Hr HQ. apply fwp_loc. intros v a' Hg.
    destruct (on_owned_frames_inv _ _ _ _ Hg) as (sh & h' & h1 & Hsh & Eh & Hc & ->).
    rewrite Ha in Hsh. injection Hsh as <-. rewrite owned_frames_out_in in Eh. injection Eh as <-.
    destruct (represents_open _ _ _ oh _ Hr Ha) as (dh & rest & Hdh & Hd & -> & Hrest).
    apply owned_frames_object_rep in Hdh as (h' & Eh & Hdh). pose proof (owned_frames_out_in H h) as E1. rewrite Eh, owned_frames_out_in in E1.
    injection E1 as ->. destruct (owned_frames_clear_rep _ _ _ _ _ Hc Hdh) as (-> & Hown & Hdh1 & Hdom).
    eapply fwp_builtin with (v := 0) (m' := frame_cells f (fun _ => 0) ∪ (dh ∪ rest)); [apply sim_step_closed|exact HM| |].
    - change (Some (if decide (owns_frame f (dh ∪ rest)) then Some (0, frame_cells f (fun _ => 0) ∪ (dh ∪ rest)) else None) =
        Some (Some (0, frame_cells f (fun _ => 0) ∪ (dh ∪ rest)))).
      rewrite decide_True; [done|].
      unfold owns_frame in *. rewrite Forall_forall in *. intros w Hw. destruct (Hown w Hw) as [x Hx].
      exists x. by apply lookup_union_Some_l.
    - apply (HQ 0 h1); [done|done|]. rewrite (assoc_L (∪)). unfold rep. apply represents_close; [done|apply owned_frames_object_rep; eauto|].
      apply map_disjoint_spec. intros x y z Hy Hz. assert (Hs : is_Some (dh !! x)) by (apply Hdom; by exists y).
      destruct Hs as [y' Hy']. exact (proj1 (map_disjoint_spec dh rest) Hd _ _ _ Hy' Hz).
  Qed.
End steps.
