(** Threads: what start-up makes of their records, and what a thread is when it is started. *)
From Ashlar Require Export lang.logic.Fields lang.Constants layers.thread.Code.

(** The fields of a thread that is defined and has not started. *)
Definition thread_new (process cpu priority : Z) : list (string * Z) :=
  [("process", process); ("cpu", cpu); ("priority", priority); ("base_priority", priority); ("state", THREAD_UNUSED);
   ("wait_kind", WAIT_NONE); ("wait_object", NONE); ("message_frame", NONE); ("root", NONE)]%string.

(** After [thread_init]: the idle threads run on their CPUs, no other is defined. *)
Definition thread_undefined (t : Z) : list (string * Z) := thread_new NONE 0 0.
Definition thread_idle (t : Z) : list (string * Z) := set_field "state" THREAD_RUNNING (thread_new NONE t 0).
Definition threads_initial (d : mem) : mem := filled "thread" thread_idle 0 NUM_CPU (filled "thread" thread_undefined 0 NUM_THREAD d).

(** A thread is started: with its base priority, blocked, and waiting for nothing. *)
Definition thread_started (base root : Z) : list (string * Z) :=
  [("priority", base); ("state", THREAD_BLOCKED); ("wait_kind", WAIT_NONE); ("wait_object", NONE); ("root", root)]%string.

Lemma thread_fields_distinct process cpu priority : NoDup (thread_new process cpu priority).*1.
Proof. names. Qed.

Theorem threads_initial_idle d t f v : 0 <= t < NUM_CPU -> (f, v) ∈ thread_idle t -> threads_initial d !! field_cell "thread" t f = Some v.
Proof. intros Ht. apply filled_value; [done|]. names. Qed.
Theorem threads_initial_undefined d t f v : NUM_CPU <= t < NUM_THREAD -> (f, v) ∈ thread_undefined t ->
  threads_initial d !! field_cell "thread" t f = Some v.
Proof.
  intros Ht Hf. unfold threads_initial. rewrite filled_other.
  - apply filled_value; [unfold NUM_CPU in Ht; lia|apply thread_fields_distinct|exact Hf].
  - intros u g Hu E. unfold field_cell in E. assert (t = u) by congruence. lia.
Qed.
