(** Threads: the C makes of their records what [Spec] says. *)
From Ashlar Require Export lang.logic.Timed layers.thread.Spec layers.thread.Proof.
Local Opaque gmap_lookup gmap_partial_alter.

(** The fields that are cells of a record. *)
Definition thread_fields : list string := (thread_new 0 0 0).*1.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (HM : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M cpu).

  Theorem thread_set_triple t process home priority d : has_fields "thread" t thread_fields d ->
    triple "thread_set" [t; process; home; priority] d (fun w d' => w = 0 /\ d' = store_fields "thread" t (thread_new process home priority) d).
  Proof using HM.
    intros H. eapply triple_owned; [by apply HM|done|]. unfold thread_set_code. locals_simpl. by repeat store_step H.
  Qed.
  Theorem thread_define_triple t process home priority d : has_fields "thread" t thread_fields d ->
    triple "thread_define" [t; process; home; priority] d (fun w d' => w = 0 /\ d' = store_fields "thread" t (thread_new process home priority) d).
  Proof using HM.
    intros H. eapply triple_owned; [by apply HM|done|]. unfold thread_define_code. locals_simpl.
    eapply owned_call_whole; [evaluate|by apply thread_set_triple|]. by intros w d' [-> ->].
  Qed.

  Theorem thread_init_triple d : (forall t, 0 <= t < NUM_THREAD -> has_fields "thread" t thread_fields d) ->
    triple "thread_init" [] d (fun w d' => w = 0 /\ d' = threads_initial d).
  Proof using HM.
    unfold threads_initial, NUM_THREAD, NUM_CPU. intros Hall. eapply triple_owned; [by apply HM|done|]. unfold thread_init_code. locals_simpl.
    step. step. step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [i; 0] /\ d1 = filled "thread" thread_undefined 0 i d) 0); [lia| | | |].
    { split; [done|]. by rewrite filled_none. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi [-> ->]. step. eapply owned_call_whole; [evaluate|apply thread_set_triple, filled_has, Hall; lia|].
      intros w d1 [-> ->]. locals_simpl. step. rewrite wrap32_next by lia. split; [done|]. by rewrite filled_next by lia. }
    intros r d1 [-> ->]. set (e := filled "thread" thread_undefined 0 144 d). step. step.
    apply (owned_count _ _ _ _ _ _ (fun i r d1 => r = [144; i] /\ d1 = filled "thread" thread_idle 0 i e) 0); [lia| | | |].
    { split; [done|]. by rewrite filled_none. }
    { by intros i r d1 [-> _]. }
    { intros i r d1 Hi [-> ->]. step. eapply owned_call_whole; [evaluate|apply thread_set_triple; do 2 apply filled_has; apply Hall; lia|].
      intros w d1 [-> ->]. locals_simpl. step. step.
      { apply store_fields_present. eapply (has_field "thread" i thread_fields); [do 2 apply filled_has; apply Hall; lia|names]. }
      step. rewrite wrap32_next by lia. split; [done|]. rewrite filled_next by lia. apply store_fields_set; [apply thread_fields_distinct|].
      names. }
    by intros r d1 [-> ->].
  Qed.

  (** Starting a thread: [arch_thread_init] does to its own cells [e] what it does, and the thread's fields are those of a thread
      that has been started. [quiet] are the primitives that [arch_thread_init] may call. *)
  Context (quiet : cprim -> Prop).
  Theorem thread_reset_timed t root base (d e : mem) (post : mem -> Prop) :
    timed quiet kernel_entry M cpu "arch_thread_init" [t] e (fun _ e' => post e') -> d ##ₘ e ->
    has_fields "thread" t thread_fields d -> d !! field_cell "thread" t "base_priority" = Some base ->
    timed quiet kernel_entry M cpu "thread_reset" [t; root] (d ∪ e)
      (fun w m => w = 0 /\ exists e', post e' /\ store_fields "thread" t (thread_started base root) d ##ₘ e' /\
        m = store_fields "thread" t (thread_started base root) d ∪ e').
  Proof using HM.
    intros Hi Hde Hf Hb. pose proof (has_fields_union _ _ _ _ e Hf) as H. pose proof (own_read _ e _ _ Hb) as Hb'. unfold field_cell in Hb'.
    assert (has_fields "thread" t (thread_started base root).*1 d) as Hs by (eapply has_fields_some; [exact Hf|names]).
    pose proof (store_fields_disjoint _ _ _ _ e Hs Hde) as Hd'.
    eapply timed_body; [by apply HM|done|]. unfold thread_reset_code. locals_simpl.
    do 5 (timed_step; eapply during_store; [evaluate|evaluate|evaluate|present H|]; locals_simpl). rewrite !own_write.
    change (<[_ := root]> _) with (store_fields "thread" t (thread_started base root) d). rewrite (map_union_comm _ e) by done.
    eapply during_call; [evaluate|done|exact Hi|]. intros w e' He Hdis. split; [done|]. exists e'. split; [done|].
    split; [done|]. by apply map_union_comm.
  Qed.
End proof.
