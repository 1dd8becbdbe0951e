(** Ready queues among all objects: each CPU owns its own, which no lock guards.

    The object's state is the CPU's number and its ready queues. A function that is called with another CPU's number, or
    with its requirements broken, has no result: that is its caller's fault. *)
From Ashlar Require Export lang.programs.Private layers.sched.ready.ParkCode layers.sched.ready.ReadyRepresentation.
Local Opaque gmap_lookup gmap_partial_alter.

Notation cpu_ready := (Z * ready)%type.
Definition cpu_ready_rep (s : cpu_ready) (d : mem) : Prop := ready_rep s.1 s.2 d.

Lemma cpu_ready_rep_mem s d d' : cpu_ready_rep s d -> cpu_ready_rep s d' -> d = d'.
Proof. apply ready_rep_mem. Qed.

(** ** The functions, as steps on the state *)
Definition of_cpu (cpu : Z) (f : ready -> option (Z * ready)) (s : cpu_ready) : option (Z * cpu_ready) :=
  if s.1 =? cpu then match f s.2 with Some (v, s') => Some (v, (s.1, s')) | None => None end else None.
Lemma of_cpu_inv cpu f s v s' : of_cpu cpu f s = Some (v, s') -> s.1 = cpu /\ s'.1 = cpu /\ f s.2 = Some (v, s'.2).
Proof.
  unfold of_cpu. destruct (Z.eqb_spec s.1 cpu) as [E|]; [|done]. destruct (f s.2) as [[w t]|]; [|done].
  by intros [= <- <-].
Qed.
(** [None]: arguments that are none. *)
Definition cpu_args (cpu : Z) (f : ready -> option (Z * ready)) : option (cpu_ready -> option (Z * cpu_ready)) :=
  if (0 <=? cpu) && (cpu <? NUM_CPU) then Some (of_cpu cpu f) else None.
Lemma cpu_args_inv cpu f g : cpu_args cpu f = Some g -> 0 <= cpu < NUM_CPU /\ g = of_cpu cpu f.
Proof.
  unfold cpu_args. destruct (_ && _) eqn:E; [|done]. rewrite andb_true_iff, Z.leb_le, Z.ltb_lt in E. by intros [= <-].
Qed.

Definition ready_insert (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with [cpu; t] => cpu_args cpu (fun s => sched_ready_insert s cpu t) | _ => None end.
Definition ready_remove (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with [cpu; t] => cpu_args cpu (fun s => sched_ready_remove s cpu t) | _ => None end.
Definition ready_take (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with [cpu] => cpu_args cpu (fun s => sched_ready_take s cpu) | _ => None end.
Definition ready_read_best (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with [cpu] => cpu_args cpu (fun s => sched_ready_best s cpu) | _ => None end.
(** The threads are parked in a queue of this CPU: there is no CPU number as an argument. *)
Definition ready_park (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with
  | [q; t] => Some (fun s => match sched_park s.2 s.1 q t with Some s' => Some (0, (s.1, s')) | None => None end)
  | _ => None
  end.

Section implements.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat) (H : own_slot X cpu_ready cpu_ready_rep).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HB : M "arch_highest_bit"%string = None).
  Notation performs := (performs X kernel_entry M cpu).

  (** What the C does in the state of this CPU's number, as a step on the object. *)
  Lemma body_of_cpu f args c g s v s' d : of_cpu c g s = Some (v, s') -> cpu_ready_rep s d ->
    (ready_rep c s.2 d -> g s.2 = Some (v, s'.2) ->
       body_triple kernel_entry M cpu f args d (fun w d' => w = v /\ ready_rep c s'.2 d')) ->
    body_triple kernel_entry M cpu f args d (fun w d' => w = v /\ cpu_ready_rep s' d').
  Proof using.
    intros (E & E' & Hg)%of_cpu_inv Hr Hb. unfold cpu_ready_rep in *. rewrite E' in *. rewrite E in Hr. by apply Hb.
  Qed.

  Theorem sched_ready_insert_performs : performs "sched_ready_insert" (own_function H ready_insert).
  Proof using HM HQ HT.
    eapply own_function_performs; [by apply HM| |].
    - intros [|c [|t [|??]]] g; try done.
    - intros [|c [|t [|??]]] g s v s' d; try done. intros [Hc ->]%cpu_args_inv Hg Hr.
      eapply body_of_cpu; [exact Hg|exact Hr|]. intros Hr' Hs. by eapply (sched_ready_insert_body kernel_entry M cpu HM HQ HT).
  Qed.
  Theorem sched_ready_remove_performs : performs "sched_ready_remove" (own_function H ready_remove).
  Proof using HM HQ HT HB.
    eapply own_function_performs; [by apply HM| |].
    - intros [|c [|t [|??]]] g; try done.
    - intros [|c [|t [|??]]] g s v s' d; try done. intros [Hc ->]%cpu_args_inv Hg Hr.
      eapply body_of_cpu; [exact Hg|exact Hr|]. intros Hr' Hs. by eapply (sched_ready_remove_body kernel_entry M cpu HM HQ HT HB).
  Qed.
  Theorem sched_ready_take_performs : performs "sched_ready_take" (own_function H ready_take).
  Proof using HM HQ HT HB.
    eapply own_function_performs; [by apply HM| |].
    - intros [|c [|??]] g; try done.
    - intros [|c [|??]] g s v s' d; try done. intros [Hc ->]%cpu_args_inv Hg Hr.
      eapply body_of_cpu; [exact Hg|exact Hr|]. intros Hr' Hs. by eapply (sched_ready_take_body kernel_entry M cpu HM HQ HT HB).
  Qed.
  Theorem sched_ready_best_performs : performs "sched_ready_best" (own_function H ready_read_best).
  Proof using HM.
    eapply own_function_performs; [by apply HM| |].
    - intros [|c [|??]] g; try done.
    - intros [|c [|??]] g s v s' d; try done. intros [Hc ->]%cpu_args_inv Hg Hr.
      eapply body_of_cpu; [exact Hg|exact Hr|]. intros Hr' Hs. by eapply (sched_ready_best_body kernel_entry M cpu HM).
  Qed.
  Theorem sched_ready_park_performs : performs "sched_ready_park" (own_function H ready_park).
  Proof using HM HQ HT.
    eapply own_function_performs; [by apply HM| |].
    - intros [|q [|t [|??]]] g; try done.
    - intros [|q [|t [|??]]] g s v s' d; try done. intros [= <-] Hg Hr.
      destruct (sched_park s.2 s.1 q t) as [s1|] eqn:E; [|done]. injection Hg as <- <-.
      by eapply (sched_ready_park_body kernel_entry M cpu HM HQ HT).
  Qed.
End implements.
