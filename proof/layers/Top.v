(** The functions of the certified layers that clients may call, as programs of atomic updates at the top. *)
From Ashlar Require Export layers.Stack calculus.TopRefines.

Section top.
  Context (root_quota : Z) (frames_start : frames).
  Notation X := (kernel_layout root_quota frames_start).
  Notation containers := (container_slot root_quota frames_start).
  Notation top_program := (program (top_prim X) (objects X)).

  Definition container_functions : list (string * (list Z -> top_program)) :=
    [("container_split"%string, top_function X containers (update3 container_split));
     ("container_charge"%string, top_function X containers (update2 container_charge));
     ("container_refund"%string, top_function X containers (update2 container_refund));
     ("container_merge"%string, top_function X containers (update1 container_merge));
     ("container_quota"%string, top_function X containers (update1 container_quota));
     ("container_usage"%string, top_function X containers (update1 container_usage));
     ("container_parent"%string, top_function X containers (update1 container_parent));
     ("container_own_usage"%string, top_function X containers (update1 container_own_usage))].

  Definition kernel_functions : list (string * (list Z -> top_program)) := container_functions.

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
  Definition kernel_atomic (k : Z) : bool := (k =? LOCK_CONTAINER) || (k =? LOCK_FRAME).

  (** The events that a function may cause while it holds locks. *)
  Definition kernel_budget : nat := 1.

  Notation one_lock := (kernel_one_lock).

  (** Every function is a program of updates that keep their objects valid, of locks that are atomic. *)
  Definition disciplined_function (g : list Z -> top_program) : Prop :=
    exists n, forall args, updates X NUM_LOCK NUM_LOCK n (g args) /\ atomic_locks X kernel_atomic (g args).

  Lemma containers_out st s : slot_out containers st = Some s -> st = slot_in containers s.
  Proof. simpl. destruct st; [by intros [= ->]|done]. Qed.

  Lemma container_function_updates f args : keeps (svalid := container_valid) f ->
    updates X NUM_LOCK NUM_LOCK 1 (top_function X containers f args).
  Proof.
    intros Hf. unfold top_function. destruct (f args) as [g|] eqn:E; [|constructor].
    apply updates_step; [cbn; unfold LOCK_CONTAINER, NUM_LOCK; lia|done|done| |intros; constructor].
    apply update_object_keeps. intros st v st' Hst Hg.
    apply lift_inv in Hg as (s & s' & Hs & Hg & ->). rewrite (containers_out _ _ Hs) in Hst.
    exact (Hf args g s v s' E Hst Hg).
  Qed.

  Lemma container_functions_disciplined f g : (f, g) ∈ container_functions -> disciplined_function g.
  Proof.
    intros H. exists 1%nat. intros args. unfold container_functions in H.
    repeat (apply elem_of_cons in H as [[= -> ->]|H];
      [split; [apply container_function_updates|by apply top_function_locks]|]); [..|by apply elem_of_nil in H].
    - apply container_split_keeps. - apply container_charge_keeps. - apply container_refund_keeps.
    - apply container_merge_keeps. - apply container_read_keeps. - apply container_read_keeps.
    - apply container_read_keeps. - apply container_read_keeps.
  Qed.
  Lemma kernel_functions_disciplined f g : (f, g) ∈ kernel_functions -> disciplined_function g.
  Proof. apply container_functions_disciplined. Qed.

  (** ** The obligations of the general theorems *)
  Notation kernel_spec := (expand_spec X kernel_top).

  Theorem kernel_disciplined : spec_disciplined X NUM_LOCK kernel_budget kernel_spec.
  Proof using.
    intros f args p n a H Ha. unfold expand_spec in H. destruct (kernel_top f args) as [q|] eqn:E; [|done].
    injection H as <-. apply kernel_top_inv in E as (g & Hg & -> & _).
    apply kernel_functions_disciplined in Hg as [m Hm]. destruct (Hm args) as [Hu _].
    eapply (updates_function X NUM_LOCK kernel_budget kernel_one_lock); [unfold kernel_budget; lia|exact Hu|exact Ha].
  Qed.
  Theorem kernel_atomic_locks f args p : kernel_top f args = Some p -> atomic_locks X kernel_atomic p.
  Proof using.
    intros (g & Hg & -> & _)%kernel_top_inv. apply kernel_functions_disciplined in Hg as [m Hm]. apply Hm.
  Qed.

  (** The C code of the layers above the spin locks. *)
  Definition kernel_code : module := container_module.

  Section code.
    Context (kernel_entry : Z -> Z) (M : module) (code_present : forall f fd, kernel_code f = Some fd -> M f = Some fd).
    Context (acquire_below : M ACQUIRE = None) (release_below : M RELEASE = None).

    (** The C function of that name does what the program says. *)
    Definition implemented_function (f : string) (g : list Z -> top_program) : Prop :=
      is_Some (M f) /\ exists sp, (forall cpu, implements X kernel_entry M cpu f sp) /\ forall args, same (sp args) (expand X (g args)).

    Lemma top_function_same f args : same (lock_function containers f args) (expand X (top_function X containers f args)).
    Proof using. rewrite expand_top_function. apply same_refl. Qed.

    Lemma container_functions_implemented f g : (f, g) ∈ container_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below.
      intros H. unfold container_functions in H.
      repeat (apply elem_of_cons in H as [[= -> ->]|H];
        [split; [eexists; by apply code_present|]; eexists; split; [intros cpu|apply top_function_same]|]);
        [..|by apply elem_of_nil in H].
      - by apply container_split_implements. - by apply container_charge_implements.
      - by apply container_refund_implements. - by apply container_merge_implements.
      - by apply container_quota_implements. - by apply container_usage_implements.
      - by apply container_parent_implements. - by apply container_own_usage_implements.
    Qed.

    Lemma kernel_functions_implemented f g : (f, g) ∈ kernel_functions -> implemented_function f g.
    Proof using code_present acquire_below release_below. apply container_functions_implemented. Qed.

    Theorem kernel_implemented : all_implemented X kernel_entry M kernel_exported kernel_spec.
    Proof using code_present acquire_below release_below.
      intros f args p H. unfold expand_spec in H. destruct (kernel_top f args) as [q|] eqn:E; [|done].
      injection H as <-. apply kernel_top_inv in E as (g & Hg & -> & Hexp).
      apply kernel_functions_implemented in Hg as ([fd Hfd] & sp & Hsp & Hs). exists fd. split_and!; [done|done|].
      intros cpu m a Hr. destruct (implements_start X kernel_entry M cpu f sp fd args m a (Hsp cpu) Hfd Hr) as [[Hlen H]|H].
      - left. split; [done|]. eapply sim_same; [exact H|apply Hs].
      - right. specialize (Hs args). rewrite H in Hs. by inversion Hs.
    Qed.
  End code.
End top.
