(** Functions of [Cpus] that threads may call: those of containers, frames, page maps and shares, which take locks.

    A thread may call one with arguments of which its program has an answer in every valid state of the objects ([uses]): others may have
    changed them since the thread has seen them. It has no frame's words of its own before and after. *)
From Ashlar Require Export machine.threads.ObjectCalls layers.Top layers.ThreadLocks.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

(** The code of these layers; nothing else has the names of what lies below. The functions are exported. *)
Record has_kernel (kernel_entry : Z -> Z) (exported : string -> bool) (M : module) : Prop := {
  has_kernel_code f fd : kernel_code f = Some fd -> M f = Some fd; kernel_acquire_below : M ACQUIRE = None; kernel_release_below : M RELEASE = None;
  kernel_arch_below f : f ∈ arch_used -> M f = None;
  kernel_calls_exported root_quota frames_start shares_start f : kernel_exported kernel_entry root_quota frames_start shares_start f = true -> exported f = true }.

(** Memory as start-up leaves it, lock by lock. *)
Record objects_start (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state) (init : Z -> mem) : Prop := {
  quota_word : 0 <= root_quota < 2 ^ 32; frames_valid : frame_memory_valid frames_start; shares_valid : share_valid shares_start;
  objects_represented k o : kernel_object_of k = Some o -> kernel_rep kernel_entry o (kernel_initial root_quota frames_start shares_start o) (init k);
  others_without k : kernel_object_of k = None -> init k = ∅ }.

Section calls.
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (kernel : has_kernel kernel_entry exported M).
  Context (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state) (init : Z -> mem).
  Context (objects : objects_start kernel_entry root_quota frames_start shares_start init).
  Notation O := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation spec := (expand_spec O (kernel_top kernel_entry root_quota frames_start shares_start)).

  (** What a thread has of objects between two calls: no frame's words. *)
  Definition no_frames : Represent.objects O := {[OwnedFrames := OwnedFramesState ∅]}.
  Definition uses (f : string) (args : list Z) : Prop := allowed O spec no_frames (Made f args).

  Lemma no_frames_rep : rep O no_frames ∅.
  Proof using.
    unfold rep, no_frames. rewrite <- (insert_empty (M := gmap kernel_object)). rewrite <- (left_id_L ∅ (∪) (∅ : mem)).
    constructor; [apply lookup_empty| |apply map_disjoint_empty_l|constructor]. simpl. split.
    - intros x. split; [intros Hv|intros (f & i & _ & _ & Hv)]; exfalso; revert Hv; apply eq_None_not_Some, lookup_empty.
    - intros f w i Hf. exfalso. revert Hf. assert (E : (∅ : owned_frames) !! f = None) by apply lookup_empty. congruence.
  Qed.
  Lemma no_frames_cells m : rep O no_frames m -> m = ∅.
  Proof using.
    intros [H _]%represents_single. apply map_eq. intros x. etransitivity; [|symmetry; apply lookup_empty]. apply eq_None_not_Some.
    intros (f & i & _ & _ & Hv)%H. revert Hv. apply eq_None_not_Some, lookup_empty.
  Qed.
  Lemma no_frames_exact : holds_exactly O [] no_frames.
  Proof using.
    intros k o Ho. rewrite elem_of_nil. split; [|done]. intros [st Hs]. unfold no_frames in Hs. apply lookup_singleton_Some in Hs as [<- _]. by apply (no_lock_owned_frames k).
  Qed.
  Lemma object_cells k o s d x v : obj_of_lock O k = Some o -> obj_rep O o s d -> d !! x = Some v -> unlocked_cell x = false.
  Proof using.
    intros Ho Hr Hx. destruct (unlocked_cell x) eqn:E; [|done]. pose proof (unlocked_unguarded k (d ∪ ∅) x E) as Hn.
    by rewrite (proj2 (kernel_guards_spec kernel_entry k o s d ∅ x Ho Hr (map_disjoint_empty_r d)) (ex_intro _ v Hx)) in Hn.
  Qed.
  Lemma layout_good : layout_ok O init kernel_guarded.
  Proof using objects. destruct objects. by apply kernel_layout_ok. Qed.
  Lemma start_valid k o : obj_of_lock O k = Some o -> obj_valid O o (obj_initial O o).
  Proof using objects. destruct objects. by apply (kernel_initial_valid root_quota quota_word0 frames_start frames_valid0 shares_start shares_valid0 k). Qed.
  Lemma start_apart k k' : k <> k' -> init k ##ₘ init k'.
  Proof using objects. destruct objects. by eapply kernel_init_disjoint. Qed.
  (** Locks of notifications guard other cells at the start. *)
  Lemma all_start_apart (notes : Z -> mem) : (forall n, 0 <= n < NUM_NOTIFICATION -> notify_guarded n (notes n)) ->
    forall k k', k <> k' -> all_start init notes k ##ₘ all_start init notes k'.
  Proof using objects.
    intros Hnotes. assert (forall k n, notification_of k = None -> 0 <= n < NUM_NOTIFICATION -> init k ##ₘ notes n) as Hmixed.
    { intros k n _ Hn. destruct (kernel_object_of k) as [o|] eqn:Eo; [|destruct objects as [_ _ _ _ Hw]; rewrite (Hw k Eo); apply map_disjoint_empty_l].
      apply map_disjoint_spec. intros x v z Hv Hz. pose proof (object_cells k o _ _ x v Eo (objects_represented _ _ _ _ _ objects k o Eo) Hv) as Ex.
      assert (x ∈ notify_cells n) as Hx by (apply (notify_guarded_cells n (notes n) (Hnotes n Hn)); by eexists).
      unfold notify_cells in Hx. apply elem_of_app in Hx as [(f & -> & _)%elem_of_list_fmap|Hx]; [done|].
      by apply elem_of_cons in Hx as [->|Hx]; [|apply elem_of_list_singleton in Hx as ->]. }
    intros k k' Hne. unfold all_start. destruct (notification_of k) as [n|] eqn:E, (notification_of k') as [n'|] eqn:E'.
    - apply notification_of_some in E as [-> Hn], E' as [-> Hn']. apply map_disjoint_spec. intros x v z Hv Hz.
      assert (x ∈ notify_cells n) as Hx by (apply (notify_guarded_cells n (notes n) (Hnotes n Hn)); by eexists).
      assert (x ∈ notify_cells n') as Hx' by (apply (notify_guarded_cells n' (notes n') (Hnotes n' Hn')); by eexists).
      unfold notify_cells, queue_id, queue_first, queue_last in Hx, Hx'. apply elem_of_app in Hx as [(f & -> & _)%elem_of_list_fmap|Hx];
        apply elem_of_app in Hx' as [(f' & E & _)%elem_of_list_fmap|Hx'].
      + unfold field_cell in E. injection E as E _. lia.
      + by apply elem_of_cons in Hx' as [Hx'|Hx'%elem_of_list_singleton].
      + subst x. by apply elem_of_cons in Hx as [Hx|Hx%elem_of_list_singleton].
      + apply elem_of_cons in Hx as [->|Hx%elem_of_list_singleton]; [|subst x]; apply elem_of_cons in Hx' as [E|E%elem_of_list_singleton]; try done; injection E; lia.
    - symmetry. apply notification_of_some in E as [_ Hn]. by apply (Hmixed k').
    - apply notification_of_some in E' as [_ Hn']. by apply (Hmixed k).
    - by apply start_apart.
  Qed.
  Lemma implemented : all_implemented O kernel_entry M exported spec.
  Proof using kernel.
    destruct kernel as [H1 H2 H3 H4 H5]. intros f args p Hp.
    destruct (kernel_implemented kernel_entry root_quota frames_start shares_start M H1 H2 H3 H4 f args p Hp) as (fd & HM & He & Hi).
    exists fd. split; [done|]. split; [by eapply H5|done].
  Qed.

  (** Such are all functions of containers that every valid state answers. *)
  Notation containers := (container_slot kernel_entry root_quota frames_start shares_start).
  Lemma container_answers f args g : f args = Some g -> (forall s, container_valid s -> exists v s', g s = Some (v, s') /\ container_valid s') ->
    answers O no_frames no_frames (expand O (top_function O containers f args)).
  Proof using.
    intros Hf Hg. rewrite expand_top_function. unfold lock_function. rewrite Hf. unfold locked. constructor. intros v a Hr.
    inversion Hr as [k o s a1 Ho Hv|? ? Ho| |]; subst; [|done]. injection Ho as <-. destruct s as [s|s|s|s|h|? ?]; try done.
    destruct (Hg s Hv) as (w & s' & E & Hv'). eapply answers_loc.
    { unfold update_object. rewrite lookup_insert. unfold lift. cbn [slot_out containers]. rewrite E. reflexivity. }
    rewrite insert_insert. constructor. intros v' a Hr'. inversion Hr' as [| |? o st a1 Ho Hs Hv2|? ? Ho]; subst; [|done]. injection Ho as <-.
    match goal with |- answers _ _ ?a _ => assert (a = no_frames) as ->; [|constructor] end. apply delete_insert. by apply lookup_singleton_ne.
  Qed.
  Lemma container_there s c : container_valid s -> 0 <= c <= ROOT -> exists x, s !! c = Some x.
  Proof using.
    intros (Hd & _) Hc. assert (c ∈ dom s) as [x Hx]%elem_of_dom; [|by exists x]. rewrite Hd. apply elem_of_list_to_set, elem_of_seqZ. lia.
  Qed.
  Lemma read_answers read c : 0 <= c <= ROOT -> forall s, container_valid s -> exists v s', container_read read s c = Some (v, s') /\ container_valid s'.
  Proof using. intros Hc s Hv. destruct (container_there s c Hv Hc) as [x Hx]. exists (read x), s. unfold container_read. by rewrite Hx. Qed.
  (** A thread may charge frames to any container, and read what a container has. *)
  Theorem uses_charge c n : 0 <= c <= ROOT -> word32 n = true -> uses "container_charge" [c; n].
  Proof using.
    intros Hc Hn. eexists. split; [reflexivity|]. apply (container_answers (update2 container_charge) [c; n] (fun s => container_charge s c n)); [done|].
    intros s Hv. destruct (container_there s c Hv Hc) as [x Hx].
    assert (exists v s', container_charge s c n = Some (v, s')) as (v & s' & E).
    { unfold container_charge. rewrite Hn, Hx. destruct (negb _); [by eexists _, _|]. destruct (_ <? _); by eexists _, _. }
    exists v, s'. split; [done|]. by eapply container_charge_valid.
  Qed.
  Theorem uses_usage c : 0 <= c <= ROOT -> uses "container_usage" [c].
  Proof using. intros Hc. eexists. split; [reflexivity|]. apply (container_answers (update1 container_usage) [c] (fun s => container_usage s c)); [done|by apply read_answers]. Qed.
  Theorem uses_quota c : 0 <= c <= ROOT -> uses "container_quota" [c].
  Proof using. intros Hc. eexists. split; [reflexivity|]. apply (container_answers (update1 container_quota) [c] (fun s => container_quota s c)); [done|by apply read_answers]. Qed.
  (** And read what the frame table says of a frame. *)
  Notation frames := (frame_slot kernel_entry root_quota frames_start shares_start).
  Notation cpu_frames := (kernel_owned_frames kernel_entry root_quota frames_start shares_start).
  Lemma frames_read_answers g : (forall t, exists v, g t = Some (v, t)) ->
    answers O no_frames no_frames (expand O (top_frame_memory O frames cpu_frames (table_only g) Ret)).
  Proof using.
    intros Hg. cbn [expand top_frame_memory]. unfold locked_with. constructor. intros v a Hr.
    inversion Hr as [k o s a1 Ho Hv|? ? Ho| |]; subst; [|done]. injection Ho as <-. destruct s as [s|s|s|s|h|? ?]; try done.
    destruct (Hg (table s)) as [w Ew]. eapply (answers_loc _ _ _ _ _ w (<[FrameMemoryObject := FrameMemoryState s]> no_frames)).
    { unfold on_frame_memory. cbn [slot_object frames owned_frames_object cpu_frames]. rewrite lookup_insert.
      rewrite lookup_insert_ne by done. unfold no_frames at 1. rewrite lookup_singleton. cbn [slot_out frames owned_frames_out cpu_frames]. unfold table_only. rewrite Ew. f_equal. f_equal. cbn [slot_in frames owned_frames_in cpu_frames].
      assert (FrameMemory (table s) (private s) = s) as -> by by destruct s. rewrite insert_insert. by apply insert_id. }
    constructor. intros v' a Hr'. inversion Hr' as [| |? o st a1 Ho Hs Hv2|? ? Ho]; subst; [|done]. injection Ho as <-.
    match goal with |- answers _ _ ?a _ => assert (a = no_frames) as ->; [|constructor] end. apply delete_insert. by apply lookup_singleton_ne.
  Qed.
  Theorem uses_frame_free_count : uses "frame_free_count" [].
  Proof using. eexists. split; [reflexivity|]. apply (frames_read_answers frame_free_count). intros t. by eexists. Qed.
  Theorem uses_frame_state f : frame_id f = true -> uses "frame_state" [f].
  Proof using.
    intros Hf. assert (f <? NUM_FRAME = true) as Hb by (apply Z.ltb_lt; apply frame_id_true in Hf; lia). exists (expand O (top_state O frames cpu_frames [f] Ret)). split; [reflexivity|].
    cbn [top_state]. rewrite Hb. apply (frames_read_answers (fun t => frame_state t f)). intros t. unfold frame_state. rewrite Hf. by eexists.
  Qed.

  (** What all CPUs guarantee each other of the locks' objects. *)
  Context (passes : cprim -> Prop) (L : layer cprim mem) (lock_event_of : lop L -> option (lock_event mem)) (alone : nat -> log L -> bool).
  Context (below : has_locks object_locks kernel_budget init kernel_guarded passes L lock_event_of alone) (ncpu : nat).
  Definition locks_sound : log L -> Prop := objects_sound O spec object_locks kernel_budget init L lock_event_of ncpu no_frames.
  (** CPU [c] is between two calls. *)
  Definition locks_settled : nat -> log L -> Prop := objects_settled O spec object_locks kernel_budget L lock_event_of no_frames.
  Lemma locks_sound_start : locks_sound [].
  Proof using objects. apply objects_sound_start. apply start_apart. Qed.
  Lemma locks_settled_start c : locks_settled c [].
  Proof using. apply objects_settled_start. Qed.
  Lemma locks_settled_stable c e l : others L c e -> locks_sound (e ++ l) -> locks_settled c l -> locks_settled c (e ++ l).
  Proof using objects. apply (objects_settled_stable O spec object_locks kernel_budget init kernel_guarded layout_good L lock_event_of ncpu no_frames). Qed.

  (** Whatever happens, the cells that a lock guards represent a valid object when it was last released. *)
  Lemma locks_valid l k o : locks_sound l -> kernel_object_of k = Some o ->
    exists s, kernel_rep kernel_entry o s (published init k (lock_part lock_event_of l)) /\ kernel_valid o s.
  Proof using objects.
    intros (_ & _ & x & Hx & _) Ho. pose proof (same_log_published O init k _ _ (lo_init _ _ _ layout_good k) Hx) as Hd. unfold same_data in Hd.
    cbn [obj_of_lock kernel_layout] in Hd. rewrite Ho in Hd. destruct Hd as (s & _ & Hr & Hv). by exists s.
  Qed.

  Context (nthread : nat) (home first : nat -> nat) (home_cpu : forall t, (t < nthread)%nat -> (home t < ncpu)%nat) (begin : nat -> ast (system C (c_engine (arch_builtins kernel_entry) M exported))).
  Context (cell_of_cpu : nat -> cell -> bool) (valid : nat -> option mem -> nat -> mem -> Prop).
  Notation calm := (calm lock_event_of init alone).
  Notation S := (shared_kernel kernel_entry M exported C).
  Notation E := (c_engine (arch_builtins kernel_entry) M exported).
  Notation T := (agent_threads S home switch_means begin).
  Notation TL := (thread_layer L (cell_baton cell_of_cpu parked_cell) nthread home first calm).
  Notation base l := (base L (cpu_view L home l)).
  Notation has_since := (has_since (D:=mem) L home first).
  (** What else all CPUs guarantee. *)
  Context (more : log L -> Prop) (more_kept : forall c o e l, lock_event_of o = Some e -> more l -> more (Event c o :: l)).
  Notation sound := (fun l => locks_sound l /\ more l).
  (** Such a call runs to its return, and leaves the thread, and its CPU, all their cells. *)
  Theorem use_runs t (Q : ast (thread_agent T) -> log TL -> Prop) u w f args h l : (t < nthread)%nat -> uses f args -> all_parked (fun x => parked_cell x = true) w ->
    has_since h t l -> calm (home t) (base l) = true -> sound (base l) -> locks_settled (home t) (base l) ->
    (forall v l', has_since h t l' -> calm (home t) (base l') = true -> sound (base l') -> locks_settled (home t) (base l') ->
       Q (thread_at S home switch_means begin Running (@Idle _ _ C E (creturn C u v) w)) l') ->
    exists fd, M f = Some fd /\ exported f = true /\ length args = fn_params fd /\
      run TL (thread_agent T) (guaranteed L nthread home first cell_of_cpu parked_cell calm valid sound locks_settled) t Q
        (thread_at S home switch_means begin Running (@Busy _ _ C E u (enter fd args [KEnd] w))) l.
  Proof using kernel objects below home_cpu more_kept.
    intros Ht Huse Hw Hcpu Hcalm [Hsound Hmore] Hset HQ.
    exact (object_call kernel_entry C exported M O spec object_locks kernel_budget init kernel_guarded layout_good
      (kernel_disciplined_few kernel_entry root_quota frames_start shares_start) implemented start_valid passes L lock_event_of alone below ncpu nthread home first home_cpu begin
      cell_of_cpu parked_cell no_frames no_frames_cells no_frames_rep no_frames_exact unlocked_cell
      (fun k m => map_filter_subseteq _ m) (fun k m r Hd Hp => kernel_guarded_unlocked m r Hd Hp k) object_cells
      more more_kept valid t Ht Q u h w (fun x v Hv => parked_unlocked x (Hw x v Hv)) (fun v l' H1 H2 H3 H4 => HQ v l' H1 H2 (conj H3 H4)) f args l Hsound Hmore Hset Hcpu Hcalm Huse).
  Qed.
End calls.
