(** Ready queues: the C functions that read the bitmap's digest. *)
From Ashlar Require Export lang.logic.Body layers.sched.ready.ReadyInvariant layers.sched.Code.
Local Opaque gmap_lookup gmap_partial_alter.

(** The bitmap's cells among all of a CPU's. *)
Lemma ready_rep_best cpu s d : ready_rep cpu s d -> d !! ready_best_cell cpu = Some (ready_best s cpu).
Proof.
  intros (_ & dq & dm & dt & -> & Hd & Hd' & _ & (_ & _ & _ & Hb) & _).
  rewrite (map_union_comm dq (dm ∪ dt)) by done. by apply own_read, own_read.
Qed.

Section proof.
  Context (kernel_entry : Z -> Z) (M : module) (this : nat).
  Context (HM : forall f fd, sched_module f = Some fd -> M f = Some fd).
  Notation triple := (triple kernel_entry M this).
  Notation body_triple := (body_triple kernel_entry M this).

  Lemma sched_ready_best_body cpu s d v s' : ready_rep cpu s d -> sched_ready_best s cpu = Some (v, s') ->
    body_triple "sched_ready_best" [cpu] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM.
    unfold sched_ready_best. intros Hr [= <- <-]. pose proof (ready_rep_best _ _ _ Hr) as Hb.
    eapply body_triple_body; [apply HM; reflexivity|reflexivity|]. unfold sched_ready_best_code. locals_simpl.
    unfold ready_best_cell in Hb. repeat step. done.
  Qed.
  Theorem sched_ready_best_triple cpu s d v s' : ready_rep cpu s d -> sched_ready_best s cpu = Some (v, s') ->
    triple "sched_ready_best" [cpu] d (fun w d' => w = v /\ ready_rep cpu s' d').
  Proof using HM. intros. by eapply body_triple_triple, sched_ready_best_body. Qed.

  Theorem sched_ready_queue_triple cpu p d : 0 <= cpu < NUM_CPU -> 0 <= p < NUM_PRIORITY ->
    triple "sched_ready_queue" [cpu; p] d (fun w d' => w = ready_queue cpu p /\ d' = d).
  Proof using HM.
    unfold NUM_CPU, NUM_PRIORITY. intros Hc Hp.
    eapply triple_owned; [apply HM; reflexivity|reflexivity|]. unfold sched_ready_queue_code. locals_simpl.
    step. split; [|done]. unfold wrap, ready_queue, QUEUE_READY_BASE, NUM_PRIORITY. change (2 ^ bits W32) with 4294967296.
    rewrite (Z.mod_small (cpu * 256)) by lia. rewrite (Z.mod_small (0 + cpu * 256)) by lia. apply Z.mod_small. lia.
  Qed.
End proof.
