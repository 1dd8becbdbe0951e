(** The functions of the certified layers that clients may call, as programs at the top: atomic updates, transactions, and
    private steps. That the C does what they say is in [Top.v]. *)
From Ashlar Require Export layers.Stack layers.frame.Implements layers.share.ClientFunctions lang.programs.Private lang.programs.Transaction.
From Ashlar Require layers.sched.Top layers.pagemap.top.ClientFunctions.

Section top.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation containers := (container_slot kernel_entry root_quota frames_start shares_start).
  Notation frames := (frame_slot kernel_entry root_quota frames_start shares_start).
  Notation maps := (process_map_slot kernel_entry root_quota frames_start shares_start).
  Notation shares := (share_slot kernel_entry root_quota frames_start shares_start).
  Notation cpu_frames := (kernel_owned_frames kernel_entry root_quota frames_start shares_start).
  Notation top_program := (program (top_prim X) (objects X)).
  Notation functions := (list (string * (list Z -> top_program))).

  Definition container_functions : functions :=
    [("container_split"%string, top_function X containers (update3 container_split));
     ("container_charge"%string, top_function X containers (update2 container_charge));
     ("container_refund"%string, top_function X containers (update2 container_refund));
     ("container_merge"%string, top_function X containers (update1 container_merge));
     ("container_quota"%string, top_function X containers (update1 container_quota));
     ("container_usage"%string, top_function X containers (update1 container_usage));
     ("container_parent"%string, top_function X containers (update1 container_parent));
     ("container_own_usage"%string, top_function X containers (update1 container_own_usage))].

  Definition frame_functions : functions :=
    [("frame_alloc"%string, fun args => top_alloc X containers frames cpu_frames args Ret);
     ("frame_alloc_private"%string, fun args => top_alloc_private X containers frames cpu_frames args Ret);
     ("frame_add_owner"%string, fun args => top_add_owner X containers frames cpu_frames args Ret);
     ("frame_remove_owner"%string, fun args => top_remove_owner X containers frames cpu_frames args Ret);
     ("frame_owners"%string, fun args => top_owners X frames cpu_frames args Ret);
     ("frame_state"%string, fun args => top_state X frames cpu_frames args Ret);
     ("frame_free_count"%string, fun args => top_free_count X frames cpu_frames args Ret)].

  Definition share_functions : functions :=
    [("share_frame"%string, top_share X shares (share_update1 share_frame));
     ("share_withdraw"%string, top_share X shares (share_update2 share_withdraw));
     ("share_forget"%string, top_share X shares (share_update2 share_forget));
     ("share_process_ended"%string, top_share X shares (share_update1 share_process_ended));
     ("share_offer"%string, top_offer X frames cpu_frames shares);
     ("share_accept"%string, top_accept X containers frames cpu_frames shares)].

  Definition map_functions : functions := layers.pagemap.top.ClientFunctions.map_functions X kernel_entry containers frames cpu_frames maps.
  Definition ready_functions : functions := layers.sched.Top.ready_functions X (kernel_ready kernel_entry root_quota frames_start shares_start).

  Definition kernel_functions : functions := container_functions ++ frame_functions ++ share_functions ++ map_functions ++ ready_functions.

  Definition find {T} (f : string) (l : list (string * T)) : option T :=
    snd <$> List.find (fun g => String.eqb f g.1) l.
  Definition kernel_top (f : string) (args : list Z) : option top_program := (fun p => p args) <$> find f kernel_functions.
  Definition kernel_exported (f : string) : bool := existsb (fun g => String.eqb f g.1) kernel_functions.

  Lemma find_some {T} f (l : list (string * T)) x : find f l = Some x -> (f, x) ∈ l /\ existsb (fun g => String.eqb f g.1) l = true.
  Proof.
    unfold find. destruct (List.find _ l) as [[g y]|] eqn:E; [|done]. intros [= <-].
    apply List.find_some in E as [Hin ->%String.eqb_eq]. split; [by apply elem_of_list_In|].
    apply existsb_exists. exists (g, y). split; [done|apply String.eqb_refl].
  Qed.
  Lemma kernel_top_inv f args p : kernel_top f args = Some p ->
    exists g, (f, g) ∈ kernel_functions /\ p = g args /\ kernel_exported f = true.
  Proof.
    unfold kernel_top. destruct (find f kernel_functions) as [g|] eqn:E; [|done]. intros [= <-].
    apply find_some in E as [H1 H2]. eauto.
  Qed.

  (** Locks whose objects change by atomic updates; the other locks are held by transactions. *)
  Definition kernel_atomic (k : Z) : bool := k <? LOCK_PAGEMAP_BASE.

  (** The updates that a transaction may make, and the events that a function may cause while it holds locks. *)
  Definition kernel_updates : nat := layers.pagemap.top.DestroyTransaction.destroy_updates.
  Definition kernel_budget : nat := S (2 * kernel_updates).

  (** The locks that guard these objects have smaller numbers. *)
  Definition object_locks : Z := LOCK_SHARE + 1.

  (** Every function is a program of updates that keep their objects valid, or one transaction on the shares or a page map. *)
  Definition disciplined_function (g : list Z -> top_program) : Prop := forall args,
    (exists n, updates X object_locks LOCK_PAGEMAP_BASE n (g args)) \/ transaction X object_locks LOCK_PAGEMAP_BASE kernel_updates (g args).

  Ltac case_functions H :=
    repeat (apply elem_of_cons in H as [[= -> ->]|H]); [..|by apply elem_of_nil in H].

  Lemma containers_out st s : slot_out containers st = Some s -> st = slot_in containers s.
  Proof. simpl. destruct st; try done. by intros [= ->]. Qed.
  Lemma frames_out st s : slot_out frames st = Some s -> st = slot_in frames s.
  Proof. simpl. destruct st; try done. by intros [= ->]. Qed.
  Lemma frame_lock_range : 0 <= slot_lock frames < object_locks.
  Proof. simpl. unfold LOCK_FRAME, object_locks, LOCK_SHARE. lia. Qed.
  Lemma container_lock_range : 0 <= slot_lock containers < object_locks.
  Proof. simpl. unfold LOCK_CONTAINER, object_locks, LOCK_SHARE. lia. Qed.
  Lemma frame_lock_below : slot_lock frames < LOCK_PAGEMAP_BASE.
  Proof. done. Qed.
  Lemma container_lock_below : slot_lock containers < LOCK_PAGEMAP_BASE.
  Proof. done. Qed.

  Lemma container_functions_disciplined f g : (f, g) ∈ container_functions -> disciplined_function g.
  Proof.
    intros H args. left. exists 1%nat. unfold container_functions in H.
    case_functions H; (apply container_updates; [exact container_lock_range|exact container_lock_below|exact containers_out|]).
    - apply container_split_keeps. - apply container_charge_keeps. - apply container_refund_keeps.
    - apply container_merge_keeps. - apply container_read_keeps. - apply container_read_keeps.
    - apply container_read_keeps. - apply container_read_keeps.
  Qed.
  Lemma frame_functions_disciplined f g : (f, g) ∈ frame_functions -> disciplined_function g.
  Proof.
    pose proof frame_lock_range. pose proof container_lock_range. pose proof frame_lock_below.
    pose proof container_lock_below. pose proof containers_out. pose proof frames_out.
    assert (Hret : forall v : Z, updates X object_locks LOCK_PAGEMAP_BASE 0 (Ret v)) by constructor.
    intros Hf args. left. unfold frame_functions in Hf. case_functions Hf.
    - exists 4%nat. by apply alloc_updates with (n := 0%nat).
    - exists 3%nat. by apply alloc_private_updates with (n := 0%nat).
    - exists 3%nat. by apply add_owner_updates with (n := 0%nat).
    - exists 2%nat. by apply remove_owner_updates with (n := 0%nat).
    - exists 1%nat. by apply owners_updates with (n := 0%nat).
    - exists 1%nat. by apply state_updates with (n := 0%nat).
    - exists 1%nat. by apply free_count_updates with (n := 0%nat).
  Qed.
  Lemma shares_out st s : slot_out shares st = Some s -> st = slot_in shares s.
  Proof. simpl. destruct st; try done. by intros [= ->]. Qed.
  Lemma share_transaction n p : (n <=? kernel_updates)%nat = true ->
    transacts X object_locks LOCK_PAGEMAP_BASE LOCK_SHARE (slot_object shares) n p ->
    transaction X object_locks LOCK_PAGEMAP_BASE kernel_updates (Act (Lock (ACQUIRE, [LOCK_SHARE])) (fun _ => p)).
  Proof.
    intros Hn Hp. apply (transaction_more _ _ _ n); [|by apply Nat.leb_le]. exists LOCK_SHARE, (slot_object shares), p.
    do 4 (split; [done|]). by apply transacts_is_dependent.
  Qed.
  Lemma share_function_disciplined f : keeps (svalid := share_valid) f -> disciplined_function (top_share X shares f).
  Proof.
    intros Hf args. unfold top_share. destruct (f args) as [g|] eqn:E; [right|left; exists 0%nat; constructor].
    apply (share_transaction 0); [done|]. by apply (share_transacts X shares object_locks LOCK_PAGEMAP_BASE shares_out f args g).
  Qed.
  Lemma share_functions_disciplined f g : (f, g) ∈ share_functions -> disciplined_function g.
  Proof.
    pose proof frame_lock_range as H1. pose proof container_lock_range as H2. pose proof frame_lock_below as H3.
    pose proof container_lock_below as H4. pose proof containers_out as H5. pose proof frames_out as H6. pose proof shares_out as H7.
    intros Hf. unfold share_functions in Hf. case_functions Hf.
    - apply share_function_disciplined, share_frame_keeps. - apply share_function_disciplined, share_withdraw_keeps.
    - apply share_function_disciplined, share_forget_keeps. - apply share_function_disciplined, share_process_ended_keeps.
    - intros args. destruct args as [|i [|p [|frame [|??]]]]; try (left; exists 0%nat; constructor). right.
      apply (share_transaction 1); [done|]. by apply (offer_transacts X frames cpu_frames shares).
    - intros args. destruct args as [|i [|p [|??]]]; try (left; exists 0%nat; constructor). right.
      apply (share_transaction 3); [done|]. by apply (accept_transacts X containers frames cpu_frames shares).
  Qed.

  Lemma maps_out p Hp st s : slot_out (maps p Hp) st = Some s -> st = slot_in (maps p Hp) s.
  Proof. simpl. destruct st; try done. by intros [= ->]. Qed.
  Lemma map_functions_disciplined f g : (f, g) ∈ map_functions -> disciplined_function g.
  Proof.
    intros Hf args. destruct (layers.pagemap.top.ClientFunctions.map_functions_transactions X kernel_entry containers frames cpu_frames maps
      containers_out frames_out maps_out object_locks LOCK_PAGEMAP_BASE f g args frame_lock_range container_lock_range
      frame_lock_below container_lock_below) as [H|H]; [|done|left; by exists 0%nat|by right].
    intros p Hp. simpl. unfold LOCK_PAGEMAP_BASE, object_locks, LOCK_SHARE, NUM_PROCESS in *. lia.
  Qed.

  Lemma kernel_functions_disciplined f g : (f, g) ∈ kernel_functions -> disciplined_function g.
  Proof.
    intros [H|[H|[H|[H|H]%elem_of_app]%elem_of_app]%elem_of_app]%elem_of_app;
      [by eapply container_functions_disciplined|by eapply frame_functions_disciplined|by eapply share_functions_disciplined|
       by eapply map_functions_disciplined|].
    intros args. left. exists 0%nat. by eapply layers.sched.Top.ready_functions_updates.
  Qed.

  (** ** The obligations of the general theorems *)
  Notation kernel_spec := (expand_spec X kernel_top).

  Theorem kernel_disciplined_few : spec_disciplined X object_locks kernel_budget kernel_spec.
  Proof using.
    intros f args p n a H Ha. unfold expand_spec in H. destruct (kernel_top f args) as [q|] eqn:E; [|done].
    injection H as <-. apply kernel_top_inv in E as (g & Hg & -> & _).
    apply kernel_functions_disciplined in Hg. destruct (Hg args) as [[m Hm]|Hp].
    - eapply (updates_function X object_locks kernel_budget kernel_one_lock); [by apply Nat.leb_le|exact Hm|exact Ha].
    - eapply (transaction_keeps_discipline X object_locks LOCK_PAGEMAP_BASE kernel_budget kernel_one_lock); [exact Hp|by apply Nat.ltb_lt|exact Ha].
  Qed.
  Theorem kernel_disciplined : spec_disciplined X NUM_LOCK kernel_budget kernel_spec.
  Proof using. intros f args p n a H Ha. apply (disciplined_more X object_locks); [done|by eapply kernel_disciplined_few]. Qed.
  Theorem kernel_atomic_locks f args p : kernel_top f args = Some p -> atomic_locks X kernel_atomic p.
  Proof using.
    intros (g & Hg & -> & _)%kernel_top_inv. apply kernel_functions_disciplined in Hg.
    destruct (Hg args) as [[m Hm]|Hp].
    - eapply updates_atomic; [|exact Hm]. intros k o _ [_ Hk]. by apply Z.ltb_lt.
    - eapply transaction_atomic; [| |exact Hp].
      + intros k o _ [_ Hk]. by apply Z.ltb_lt.
      + intros k Hk. by apply Z.ltb_ge.
  Qed.

  (** What can happen to the frame table. *)
  Theorem kernel_steps f args p : kernel_top f args = Some p -> steps_only X (frame_memory_history X frames) p.
  Proof using.
    intros (g & Hg & -> & _)%kernel_top_inv.
    assert (Hdiff : slot_lock containers <> slot_lock frames) by done.
    pose proof containers_out. pose proof frames_out. apply elem_of_app in Hg as [Hg|[Hg|[Hg|[Hg|Hg]%elem_of_app]%elem_of_app]%elem_of_app].
    - unfold container_functions in Hg. case_functions Hg; (apply container_steps; [done|done|]).
      + apply container_split_keeps. + apply container_charge_keeps. + apply container_refund_keeps.
      + apply container_merge_keeps. + apply container_read_keeps. + apply container_read_keeps.
      + apply container_read_keeps. + apply container_read_keeps.
    - unfold frame_functions in Hg. case_functions Hg.
      + by apply alloc_steps. + by apply alloc_private_steps. + by apply add_owner_steps. + by apply remove_owner_steps.
      + by apply owners_steps. + by apply state_steps. + by apply free_count_steps.
    - unfold share_functions in Hg. case_functions Hg; try apply share_steps; [by apply offer_steps|by apply accept_steps].
    - by eapply (layers.pagemap.top.ClientFunctions.map_functions_steps X kernel_entry containers frames cpu_frames maps).
    - by eapply layers.sched.Top.ready_functions_steps.
  Qed.
End top.
