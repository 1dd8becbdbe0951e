(** The fields of a CPU's own threads, as parts of its ready queues' object: priority and state.

    That a thread's priority is not changed while it stands in a ready queue, and its state only while it stands in none,
    keeps the queues as [ready_valid] says. *)
From Ashlar Require Export layers.sched.Implements layers.sched.pick.BoostRelease.
Local Opaque gmap_lookup gmap_partial_alter.

Definition in_no_ready_queue (cpu : Z) (s : ready) (t : Z) : Prop :=
  Forall (fun p => t ∉ ready_list s cpu p) (seqZ 0 NUM_PRIORITY).
Global Instance in_no_ready_queue_dec cpu s t : Decision (in_no_ready_queue cpu s t).
Proof. unfold in_no_ready_queue. apply _. Defined.
Lemma in_no_ready_queue_list cpu s t p : in_no_ready_queue cpu s t -> 0 <= p < NUM_PRIORITY -> t ∉ ready_list s cpu p.
Proof. unfold in_no_ready_queue. rewrite Forall_forall. intros H Hp. apply H, elem_of_seqZ. lia. Qed.

(** ** The functions, as steps on the state *)
Definition own_thread (s : cpu_ready) (t : Z) : option ready_thread := ready_threads s.2 !! t.

Definition read_priority (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with
  | [t] => Some (fun s => match own_thread s t with Some r => Some (ready_priority r, s) | None => None end)
  | _ => None
  end.
Definition read_state (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with
  | [t] => Some (fun s => match own_thread s t with Some r => Some (ready_state r, s) | None => None end)
  | _ => None
  end.
Definition write_priority (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with
  | [t; p] => Some (fun s =>
      match own_thread s t with
      | Some _ =>
          if bool_decide (0 <= p < NUM_PRIORITY) && bool_decide (in_no_ready_queue s.1 s.2 t)
          then Some (0, (s.1, set_priority t p s.2)) else None
      | None => None
      end)
  | _ => None
  end.
Definition write_state (args : list Z) : option (cpu_ready -> option (Z * cpu_ready)) :=
  match args with
  | [t; x] => Some (fun s => match sched_mark s.2 t x with Some s' => Some (0, (s.1, s')) | None => None end)
  | _ => None
  end.

(** ** The state after a change of priority *)
Section priority.
  Context (cpu : Z) (s : ready) (Hv : ready_valid cpu s) (t p : Z) (r : ready_thread).
  Context (Hr : ready_threads s !! t = Some r) (Hp : 0 <= p < NUM_PRIORITY) (Hno : in_no_ready_queue cpu s t).

  Lemma set_priority_valid : ready_valid cpu (set_priority t p s).
  Proof using Hv Hr Hp Hno.
    destruct (set_priority_moves s t p r Hr) as (Hm & Hr' & Eq).
    apply (moves_valid cpu s Hv t _ Hm); [rewrite Eq; apply Hv|unfold keeps_queues; by rewrite Eq| |].
    - intros r' E. rewrite Hr' in E. by injection E as <-.
    - intros p' Hp' Hin. unfold in_queue in Hin. rewrite Eq in Hin. apply in_ready_list in Hin.
      by destruct (in_no_ready_queue_list cpu s t p' Hno Hp').
  Qed.
  Lemma set_priority_list u : ready_list (set_priority t p s) cpu u = ready_list s cpu u.
  Proof using. done. Qed.
  Lemma set_priority_threads d : ready_threads_rep (ready_threads s) d ->
    ready_threads_rep (ready_threads (set_priority t p s)) (<[thread_priority_cell t := p]> d).
  Proof using Hr.
    intros [Hx Hc]. destruct (set_priority_moves s t p r Hr) as (Hm & Hr' & _). split.
    - assert (exactly (fun y => exists u, is_Some (ready_threads s !! u) /\ (y = thread_priority_cell u \/ y = thread_state_cell u))
        (<[thread_priority_cell t := p]> d)) as Hx'.
      { apply exactly_write; [exact Hx|]. exists t. split; [by exists r|by left]. }
      assert (forall u, is_Some (ready_threads (set_priority t p s) !! u) <-> is_Some (ready_threads s !! u)) as Hk.
      { intros u. destruct (decide (u = t)) as [->|Hne]; [rewrite Hr', Hr; split; intros _; by eexists|]. by rewrite (proj1 (Hm u Hne)). }
      intros y. rewrite (Hx' y). split; intros (u & Hu & Hy); exists u; (split; [by apply Hk|exact Hy]).
    - intros u r' Hu. destruct (decide (u = t)) as [->|Hne].
      + rewrite Hr' in Hu. injection Hu as <-. cbn [ready_priority ready_state]. split; [apply own_lookup|].
        rewrite own_lookup_ne by (unfold thread_priority_cell, thread_state_cell; congruence). by apply (Hc t r Hr).
      + rewrite (proj1 (Hm u Hne)) in Hu. destruct (Hc u r' Hu) as [A B].
        rewrite !own_lookup_ne by (unfold thread_priority_cell, thread_state_cell; congruence). by split.
  Qed.
End priority.

(** A thread's priority changes, while it is in no ready queue: its cell changes, and nothing else. *)
Lemma priority_rep cpu s d t p r : ready_rep cpu s d -> ready_threads s !! t = Some r -> 0 <= p < NUM_PRIORITY -> in_no_ready_queue cpu s t ->
  ready_rep cpu (set_priority t p s) (<[thread_priority_cell t := p]> d).
Proof.
  intros (Hv & dq & dm & dt & -> & Hd & Hd' & Hq & Hm & Ht) Hr Hp Hno.
  pose proof (set_priority_valid cpu s Hv t p r Hr Hp Hno) as Hv'. pose proof (set_priority_threads s t p r Hr dt Ht) as Ht'.
  destruct (proj2 Ht _ _ Hr) as [Hpr _]. apply map_disjoint_union_r in Hd as [Hqm Hqt].
  destruct (write_third dq dm dt (thread_priority_cell t) p) as (Edt & Hqt1 & Hmt1); [by eexists|done|done|].
  rewrite Edt, union_swap by done. apply ready_join; [exact Hv'|done|by apply map_disjoint_union_r|exact Hq| |exact Ht'].
  eapply ready_map_same; [|exact Hm]. intros u _. apply ready_some_same, set_priority_list.
Qed.

Section implements.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (cpu : nat) (H : own_slot X cpu_ready cpu_ready_rep).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Notation performs := (performs X kernel_entry M cpu).
  Notation body_triple := (body_triple kernel_entry M cpu).

  Lemma own_thread_cells s d t r : cpu_ready_rep s d -> own_thread s t = Some r ->
    d !! thread_priority_cell t = Some (ready_priority r) /\ d !! thread_state_cell t = Some (ready_state r).
  Proof using.
    intros (_ & dq & dm & dt & -> & Hd & Hd' & _ & _ & Ht) Hr. destruct (proj2 Ht t r Hr) as [A B].
    rewrite (assoc_L (∪)), (map_union_comm _ dt).
    - split; by apply own_read.
    - apply map_disjoint_union_r in Hd as [_ Hqt]. by apply map_disjoint_union_l.
  Qed.
  Lemma set_priority_body c s d t p r : ready_rep c s d -> ready_threads s !! t = Some r -> 0 <= p < NUM_PRIORITY ->
    in_no_ready_queue c s t ->
    body_triple "thread_set_priority" [t; p] d (fun w d' => w = 0 /\ ready_rep c (set_priority t p s) d').
  Proof using HT.
    intros Hrep Hr Hp Hno. pose proof Hrep as (_ & dq & dm & dt & E & _ & _ & _ & _ & Ht). destruct (proj2 Ht _ _ Hr) as [Hpr _].
    eapply body_triple_mono; [|apply (thread_set_priority_body kernel_entry M cpu HT); rewrite E; apply own_third; by eexists].
    cbn beta. intros w d' [-> ->]. split; [done|]. exact (priority_rep c s d t p r Hrep Hr Hp Hno).
  Qed.

  Theorem thread_priority_performs : performs "thread_priority" (own_function H read_priority).
  Proof using HT.
    eapply own_function_performs; [by apply HT| |].
    - intros [|t [|??]] g; done.
    - intros [|t [|??]] g s v s' d; try done. intros [= <-] Hg Hr.
      destruct (own_thread s t) as [r|] eqn:E; [|done]. injection Hg as <- <-. destruct (own_thread_cells s d t r Hr E) as [A _].
      eapply body_triple_mono; [|exact (thread_priority_body kernel_entry M cpu HT d t _ A)]. cbn beta. by intros w d' [-> ->].
  Qed.
  Theorem thread_state_performs : performs "thread_state" (own_function H read_state).
  Proof using HT.
    eapply own_function_performs; [by apply HT| |].
    - intros [|t [|??]] g; done.
    - intros [|t [|??]] g s v s' d; try done. intros [= <-] Hg Hr.
      destruct (own_thread s t) as [r|] eqn:E; [|done]. injection Hg as <- <-. destruct (own_thread_cells s d t r Hr E) as [_ A].
      eapply body_triple_mono; [|exact (thread_state_body kernel_entry M cpu HT d t _ A)]. cbn beta. by intros w d' [-> ->].
  Qed.
  Theorem thread_set_priority_performs : performs "thread_set_priority" (own_function H write_priority).
  Proof using HT.
    eapply own_function_performs; [by apply HT| |].
    - intros [|t [|p [|??]]] g; done.
    - intros [|t [|p [|??]]] g s v s' d; try done. intros [= <-] Hg Hr.
      destruct (own_thread s t) as [r|] eqn:E; [|done]. case_bool_decide as Hp; [|done].
      case_bool_decide as Hno; [|done]. injection Hg as <- <-. by apply (set_priority_body s.1 s.2 d t p r).
  Qed.
  Theorem thread_set_state_performs : performs "thread_set_state" (own_function H write_state).
  Proof using HT.
    eapply own_function_performs; [by apply HT| |].
    - intros [|t [|x [|??]]] g; done.
    - intros [|t [|x [|??]]] g s v s' d; try done. intros [= <-] Hg Hr.
      destruct (sched_mark s.2 t x) as [s1|] eqn:E; [|done]. injection Hg as <- <-. by eapply sched_mark_body.
  Qed.
End implements.
