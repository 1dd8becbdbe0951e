(** The functions of the ready queues and of a CPU's own threads at the top: private steps of the CPU whose queues they are.

    Between two functions, a CPU's queues are as [ready_valid] says: a thread is in the ready queue of its priority only if it
    is ready, in at most one queue, and never while it runs. *)
From Ashlar Require Export layers.sched.Threads.

Section top.
  Context (X : layout) (H : own_slot X cpu_ready cpu_ready_rep).

  Definition ready_functions : list (string * (list Z -> program (top_prim X) (objects X))) :=
    [("sched_ready_insert", top_own H ready_insert); ("sched_ready_remove", top_own H ready_remove);
     ("sched_ready_take", top_own H ready_take); ("sched_ready_park", top_own H ready_park);
     ("sched_ready_best", top_own H ready_read_best);
     ("thread_priority", top_own H read_priority); ("thread_state", top_own H read_state);
     ("thread_set_priority", top_own H write_priority); ("thread_set_state", top_own H write_state)]%string.

  Ltac case_functions Hf :=
    unfold ready_functions in Hf; repeat (apply elem_of_cons in Hf as [[= -> ->]|Hf]); [..|by apply elem_of_nil in Hf].

  (** They change no object that a lock guards. *)
  Lemma ready_functions_updates nlock limit f g args : (f, g) ∈ ready_functions -> updates X nlock limit 0 (g args).
  Proof using. intros Hf. case_functions Hf; apply own_updates. Qed.
  Lemma ready_functions_steps step f g args : (f, g) ∈ ready_functions -> steps_only X step (g args).
  Proof using. intros Hf. case_functions Hf; apply own_steps. Qed.

  (** The C does what they say. *)
  Section code.
    Context (kernel_entry : Z -> Z) (M : module).
    Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
    Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
    Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
    Context (HB : M "arch_highest_bit"%string = None).

    Theorem ready_functions_performed f g : (f, g) ∈ ready_functions ->
      exists sp, (forall cpu, performs X kernel_entry M cpu f sp) /\ forall args, same (sp args Ret) (expand X (g args)).
    Proof using HM HQ HT HB.
      intros Hf. case_functions Hf; eexists; (split; [intros cpu|intros args; apply same_own]).
      (* The hypotheses are named: to search for one that fits is to compare modules. *)
      - exact (sched_ready_insert_performs X kernel_entry M cpu H HM HQ HT).
      - exact (sched_ready_remove_performs X kernel_entry M cpu H HM HQ HT HB).
      - exact (sched_ready_take_performs X kernel_entry M cpu H HM HQ HT HB).
      - exact (sched_ready_park_performs X kernel_entry M cpu H HM HQ HT).
      - exact (sched_ready_best_performs X kernel_entry M cpu H HM).
      - exact (thread_priority_performs X kernel_entry M cpu H HT).
      - exact (thread_state_performs X kernel_entry M cpu H HT).
      - exact (thread_set_priority_performs X kernel_entry M cpu H HT).
      - exact (thread_set_state_performs X kernel_entry M cpu H HT).
    Qed.
  End code.

  Theorem ready_held_valid a m s : rep X a m -> a !! own_object H = Some (own_in H s) -> ready_valid s.1 s.2.
  Proof using. apply (own_holds H (fun s => ready_valid s.1 s.2)). by intros s' d [Hv _]. Qed.
End top.
