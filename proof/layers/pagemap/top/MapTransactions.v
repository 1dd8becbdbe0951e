(** The functions of page maps at the top preserve validity of every state, and take the locks in order. *)
From Ashlar Require Export layers.pagemap.top.Transactions lang.programs.Transaction.
Local Opaque gmap_lookup gmap_partial_alter.

Lemma link_owned_frame_valid n f s h v s' h' : pagemap_valid s -> link_owned_frame n f s h = Some (v, s', h') -> pagemap_valid s'.
Proof. intros HV (_ & Hadd & _)%link_owned_frame_inv. by eapply add_table_valid. Qed.
Lemma create_owned_frames_valid f s h v s' h' : pagemap_valid s -> create_owned_frames f s h = Some (v, s', h') -> pagemap_valid s'.
Proof.
  intros HV (_ & Hp & Hu & -> & -> & _)%create_owned_frames_inv. apply (create_valid s f STATUS_OK); [done|].
  unfold pagemap_create. by rewrite Hp, Hu.
Qed.

Section map.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (nlock : Z) (frame_below : 0 <= slot_lock Yf < nlock) (container_below : 0 <= slot_lock Yc < nlock).
  (** The locks of containers and frames are below [limit], and it is not above the page maps'. *)
  Context (limit : Z) (below_frame : slot_lock Yf < limit) (below_container : slot_lock Yc < limit).
  Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
  Context (frame_memory_out : forall st s, slot_out Yf st = Some s -> st = slot_in Yf s).
  Context (map_out : forall st s, slot_out Y st = Some s -> st = slot_in Y s).
  Notation o := (slot_object Y).
  Notation transacts_dependent := (transacts_dependent X nlock limit (slot_lock Y) o).

  (** ** What the holder of the map does with it *)
  Lemma held_keeps g : (forall s v s', pagemap_valid s -> g s = Some (v, s') -> pagemap_valid s') ->
    keeps_valid X o (update_object o (lift Y g)).
  Proof using map_out.
    intros Hg. apply update_object_keeps. intros st v st' Hst Hu. apply lift_inv in Hu as (s & s' & Hs & Hu & ->).
    rewrite (map_out _ _ Hs) in Hst. apply slot_valid. apply slot_valid in Hst. by eapply Hg.
  Qed.
  Lemma look_keeps g : keeps_valid X o (look Y g).
  Proof using.
    intros a s v a' Hs Hval Hl. unfold look in Hl. rewrite Hs in Hl. destruct (slot_out Y s); [|done]. injection Hl as _ <-.
    split; [by exists s|apply same_locked_refl].
  Qed.
  Lemma both_keeps g : (forall s h v s' h', pagemap_valid s -> g s h = Some (v, s', h') -> pagemap_valid s') ->
    keeps_valid X o (on_both Y H g).
  Proof using map_out.
    intros Hg a st v a' Hst Hval Hb. unfold on_both in Hb. rewrite Hst in Hb. destruct (a !! owned_frames_object H) as [sh|]; [|done].
    destruct (slot_out Y st) as [s|] eqn:Es; [|done]. destruct (owned_frames_out H sh) as [h|]; [|done].
    destruct (g s h) as [[[w s'] h']|] eqn:Eg; [|done]. injection Hb as _ <-.
    rewrite (map_out _ _ Es) in Hval. apply slot_valid in Hval. assert (Hd := map_owned_frames_differ Y H). split.
    - exists (slot_in Y s'). rewrite lookup_insert_ne by congruence. rewrite lookup_insert. split; [done|]. apply slot_valid. by eapply Hg.
    - intros k o' Ho. assert (owned_frames_object H <> o') by (intros <-; by apply (owned_frames_unlocked H k)).
      destruct (decide (o = o')) as [<-|Hne]; [by rewrite !lookup_delete|]. by rewrite !lookup_delete_ne, !lookup_insert_ne by done.
  Qed.

  (** ** Frames are taken and given back meanwhile *)
  Lemma alloc_private_transacts args n κ : (forall v, transacts_dependent n (κ v)) -> transacts_dependent (3 + n) (top_alloc_private X Yc Yf H args κ).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out.
    intros Hk. eapply transacts_dependent_same.
    - apply transacts_dependent_updates; [|exact Hk].
      apply (alloc_private_updates X Yc Yf H nlock frame_below container_below limit below_frame below_container containers_out frame_memory_out args 0 Ret).
      intros; constructor.
    - destruct args as [|q [|??]]; try apply same_fail. unfold top_alloc_private, top_frame_memory, top_function. simpl. same_program.
  Qed.
  Lemma remove_owner_transacts args n κ : (forall v, transacts_dependent n (κ v)) -> transacts_dependent (2 + n) (top_remove_owner X Yc Yf H args κ).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out.
    intros Hk. eapply transacts_dependent_same.
    - apply transacts_dependent_updates; [|exact Hk].
      apply (remove_owner_updates X Yc Yf H nlock frame_below container_below limit below_frame below_container containers_out frame_memory_out args 0 Ret).
      intros; constructor.
    - destruct args as [|f [|q [|??]]]; try apply same_fail. unfold top_remove_owner, top_frame_memory, top_function. simpl. same_program.
  Qed.
End map.

Section functions.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (Y : forall p, 0 <= p < NUM_PROCESS -> slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Context (nlock : Z) (frame_below : 0 <= slot_lock Yf < nlock) (container_below : 0 <= slot_lock Yc < nlock).
  Context (limit : Z) (below_frame : slot_lock Yf < limit) (below_container : slot_lock Yc < limit).
  Context (map_locks : forall p Hp, limit <= slot_lock (Y p Hp) /\ 0 <= slot_lock (Y p Hp) < nlock).
  Context (containers_out : forall st s, slot_out Yc st = Some s -> st = slot_in Yc s).
  Context (frame_memory_out : forall st s, slot_out Yf st = Some s -> st = slot_in Yf s).
  Context (maps_out : forall p Hp st s, slot_out (Y p Hp) st = Some s -> st = slot_in (Y p Hp) s).
  Notation transacts_dependent p Hp := (transacts_dependent X nlock limit (slot_lock (Y p Hp)) (slot_object (Y p Hp))).
  Notation top_end := (top_end X kernel_entry Y).
  Notation transaction := (transaction X nlock limit).

  (** Nothing but a result, or a transaction on one map. *)
  Definition map_function (n : nat) (q : program (top_prim X) (objects X)) : Prop :=
    updates X nlock limit 0 q \/ transaction n q.
  Lemma process_function p n k : (forall Hp, transacts_dependent p Hp n (k Hp)) ->
    map_function n (top_process X p (fun Hp => top_begin X kernel_entry Y p Hp (k Hp))).
  Proof using map_locks.
    intros Hk. unfold top_process. destruct (decide _) as [Hp|]; [right|left; constructor].
    destruct (map_locks p Hp) as [H1 H2]. exists (slot_lock (Y p Hp)), (slot_object (Y p Hp)), (k Hp).
    split; [done|]. split; [done|]. split; [apply slot_guards|]. split; [done|apply Hk].
  Qed.
  Lemma end_transacts p Hp n v : transacts_dependent p Hp n (top_end p Hp (Ret v)).
  Proof using. apply transacts_dependent_end. Qed.

  (** ** One update of the map *)
  Lemma on_map_transaction p g f : (forall s v s', pagemap_valid s -> g s = Some (v, s') -> pagemap_valid s') ->
    map_function 0 (top_on_map X kernel_entry Y p g (fun v => Ret (f v))).
  Proof using map_locks maps_out.
    intros Hg. apply process_function. intros Hp. apply transacts_dependent_loc; [|intros v; apply end_transacts].
    apply held_keeps; [apply maps_out|done].
  Qed.
  Lemma find_transaction args f : map_function 0 (top_find X kernel_entry Y args (fun v => Ret (f v))).
  Proof using map_locks maps_out.
    destruct args as [|p [|v [|take [|??]]]]; try (left; constructor). unfold top_find.
    destruct (user_address v); [|left; constructor]. apply on_map_transaction. intros. by eapply (find_keeps v take).
  Qed.
  Lemma walk_transaction args : map_function 0 (top_walk X kernel_entry Y args Ret).
  Proof using map_locks maps_out. destruct args as [|p [|v [|??]]]; try (left; constructor). apply (find_transaction _ (fun v => v)). Qed.
  Lemma unmap_transaction args : map_function 0 (top_unmap X kernel_entry Y args Ret).
  Proof using map_locks maps_out. destruct args as [|p [|v [|??]]]; try (left; constructor). apply (find_transaction _ (fun v => v)). Qed.
  Lemma frame_transaction args : map_function 0 (top_frame X kernel_entry Y args Ret).
  Proof using map_locks maps_out.
    destruct args as [|p [|v [|prot [|??]]]]; try (left; constructor). apply (find_transaction _ (fun e => frame_of e prot)).
  Qed.
  Lemma pin_transaction args : map_function 0 (top_pin X kernel_entry Y args Ret).
  Proof using map_locks maps_out.
    destruct args as [|p [|v [|??]]]; try (left; constructor). unfold top_pin. destruct (user_address v); [|left; constructor].
    apply (on_map_transaction p _ (fun v => v)). intros s w s' HV Hs. by eapply (pin_valid s v).
  Qed.
  Lemma root_of_transaction args : map_function 0 (top_root_of X kernel_entry Y args Ret).
  Proof using map_locks maps_out.
    destruct args as [|p [|??]]; try (left; constructor). apply (on_map_transaction p _ (fun v => v)). by intros s v s' HV [= _ <-].
  Qed.
  Lemma map_transaction args : map_function 0 (top_map X kernel_entry Y args Ret).
  Proof using map_locks maps_out.
    destruct args as [|p [|v [|f [|prot [|kind [|??]]]]]]; try (left; constructor). unfold top_map.
    destruct (negb (word32 f)); [left; constructor|]. destruct (negb (user_address v)); [left; constructor|].
    destruct (_ || _); [left; constructor|]. apply (on_map_transaction p _ (fun v => v)). intros s w s'. apply store_valid.
  Qed.
  Lemma missing_transaction args : map_function 0 (top_missing X kernel_entry Y args Ret).
  Proof using map_locks maps_out.
    destruct args as [|p [|v [|??]]]; try (left; constructor). unfold top_missing. destruct (user_address v); [|left; constructor].
    apply (on_map_transaction p _ (fun v => v)). by intros s w s' HV [= _ <-].
  Qed.
  Lemma load_transaction args : map_function 0 (top_load X args Ret).
  Proof using. left. destruct args as [|r [|??]]; try constructor. unfold top_load. destruct (loadable r); constructor. Qed.
  Lemma load_kernel_transaction args : map_function 0 (top_load_kernel X args Ret).
  Proof using. left. destruct args as [|??]; constructor. Qed.

  (** ** Taking frames *)
  Lemma create_transaction args : map_function 3 (top_create X kernel_entry Yc Yf H Y args Ret).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_locks maps_out.
    destruct args as [|p [|??]]; try (left; constructor). apply process_function. intros Hp.
    apply transacts_dependent_loc; [apply look_keeps|]. intros b. destruct (b =? 0); [|apply end_transacts].
    apply (alloc_private_transacts X kernel_entry Yc Yf H p (Y p Hp) nlock frame_below container_below limit below_frame below_container
      containers_out frame_memory_out [p] 0). intros f. destruct (f =? NONE); [apply end_transacts|].
    destruct (f =? FRAME_NO_QUOTA); [apply end_transacts|].
    apply transacts_dependent_loc; [|intros; apply end_transacts]. apply both_keeps; [apply maps_out|]. intros. by eapply create_owned_frames_valid.
  Qed.

  Lemma prepare_transaction args : map_function 3 (top_prepare X kernel_entry Yc Yf H Y args Ret).
  Proof using frame_below container_below below_frame below_container containers_out frame_memory_out map_locks maps_out.
    destruct args as [|p [|v [|??]]]; try (left; constructor). unfold top_prepare.
    destruct (negb (user_address v)); [left; constructor|]. apply process_function. intros Hp.
    apply transacts_dependent_loc; [apply look_keeps|]. intros k. destruct (k =? -1); [apply end_transacts|].
    destruct (k =? 0); [apply end_transacts|].
    apply (alloc_private_transacts X kernel_entry Yc Yf H p (Y p Hp) nlock frame_below container_below limit below_frame below_container
      containers_out frame_memory_out [p] 0). intros f. destruct (f =? NONE); [apply end_transacts|].
    destruct (f =? FRAME_NO_QUOTA); [apply end_transacts|].
    apply transacts_dependent_loc; [|intros; apply end_transacts]. apply both_keeps; [apply maps_out|]. intros. by eapply link_owned_frame_valid.
  Qed.

  (** ** Frames meanwhile change as they always do *)
  Context (locks_differ : slot_lock Yc <> slot_lock Yf).
  Notation steps_only := (steps_only X (frame_memory_history X Yf)).
  Lemma process_steps p k : (forall Hp, steps_only (k Hp)) -> steps_only (top_process X p k).
  Proof using. intros Hk. unfold top_process. by destruct (decide _). Qed.
  Lemma on_map_steps p g f : steps_only (top_on_map X kernel_entry Y p g (fun v => Ret (f v))).
  Proof using. by apply process_steps. Qed.
  Lemma find_steps args f : steps_only (top_find X kernel_entry Y args (fun v => Ret (f v))).
  Proof using.
    destruct args as [|p [|v [|take [|??]]]]; try done. unfold top_find. destruct (user_address v); [apply on_map_steps|done].
  Qed.
  Lemma walk_steps args : steps_only (top_walk X kernel_entry Y args Ret).
  Proof using. destruct args as [|p [|v [|??]]]; try done. apply (find_steps _ (fun v => v)). Qed.
  Lemma unmap_steps args : steps_only (top_unmap X kernel_entry Y args Ret).
  Proof using. destruct args as [|p [|v [|??]]]; try done. apply (find_steps _ (fun v => v)). Qed.
  Lemma frame_steps args : steps_only (top_frame X kernel_entry Y args Ret).
  Proof using. destruct args as [|p [|v [|prot [|??]]]]; try done. apply (find_steps _ (fun e => frame_of e prot)). Qed.
  Lemma pin_steps args : steps_only (top_pin X kernel_entry Y args Ret).
  Proof using.
    destruct args as [|p [|v [|??]]]; try done. unfold top_pin. destruct (user_address v); [apply (on_map_steps _ _ (fun v => v))|done].
  Qed.
  Lemma root_of_steps args : steps_only (top_root_of X kernel_entry Y args Ret).
  Proof using. destruct args as [|p [|??]]; try done. apply (on_map_steps _ _ (fun v => v)). Qed.
  Lemma load_steps args : steps_only (top_load X args Ret).
  Proof using. destruct args as [|r [|??]]; try done. unfold top_load. by destruct (loadable r). Qed.
  Lemma load_kernel_steps args : steps_only (top_load_kernel X args Ret).
  Proof using. by destruct args. Qed.
  Lemma create_steps args : steps_only (top_create X kernel_entry Yc Yf H Y args Ret).
  Proof using locks_differ containers_out frame_memory_out.
    destruct args as [|p [|??]]; try done. apply process_steps. intros Hp _ b. destruct (b =? 0); [|done].
    apply (alloc_private_steps X Yc Yf H locks_differ containers_out frame_memory_out [p]). intros f.
    destruct (f =? NONE); [done|]. by destruct (f =? FRAME_NO_QUOTA).
  Qed.
  Lemma map_steps args : steps_only (top_map X kernel_entry Y args Ret).
  Proof using.
    destruct args as [|p [|v [|f [|prot [|kind [|??]]]]]]; try done. unfold top_map.
    destruct (negb (word32 f)); [done|]. destruct (negb (user_address v)); [done|]. destruct (_ || _); [done|].
    apply (on_map_steps _ _ (fun v => v)).
  Qed.
  Lemma missing_steps args : steps_only (top_missing X kernel_entry Y args Ret).
  Proof using.
    destruct args as [|p [|v [|??]]]; try done. unfold top_missing. destruct (user_address v); [apply (on_map_steps _ _ (fun v => v))|done].
  Qed.
  Lemma prepare_steps args : steps_only (top_prepare X kernel_entry Yc Yf H Y args Ret).
  Proof using locks_differ containers_out frame_memory_out.
    destruct args as [|p [|v [|??]]]; try done. unfold top_prepare. destruct (negb (user_address v)); [done|].
    apply process_steps. intros Hp _ k. destruct (k =? -1); [done|]. destruct (k =? 0); [done|].
    apply (alloc_private_steps X Yc Yf H locks_differ containers_out frame_memory_out [p]). intros f.
    destruct (f =? NONE); [done|]. by destruct (f =? FRAME_NO_QUOTA).
  Qed.
End functions.
