(** Threads that other processors have woken: the pending queue of a processor, and its interrupts.

    Who wakes a thread of another processor appends it to that one's queue, and sends an interrupt if the queue was empty. Each interrupt makes
    the processor take one thread out; while more are left it sends itself the next. Here: no wake-up is lost, none comes twice, and they
    come in order. *)
From stdpp Require Export base list relations.
From Coq Require Export ZArith Lia.
Local Open Scope Z_scope.

(** ** What the two functions do to the queue: do they send an interrupt? *)
Definition append_sends (q : list Z) : bool := match q with [] => true | _ :: _ => false end.
Definition drain_sends (q : list Z) : bool := match q with _ :: _ :: _ => true | _ => false end.

Record pending := Pending {
  queued : list Z;  (* what the lock guards *)
  senders : nat;    (* interrupts that are to be sent: the lock is released, the call comes next *)
  underway : bool;  (* an interrupt is on its way, or waits until the processor allows interrupts *)
  served : bool;    (* the processor has taken an interrupt and not yet drained its queue *)
}.

(** What happens to a processor's queue and interrupts; [woken] are the threads that are appended, [come] those that the processor gets. *)
Inductive happens : pending -> list Z -> list Z -> pending -> Prop :=
| appends q n u s t : happens (Pending q n u s) [t] [] (Pending (q ++ [t]) (if append_sends q then S n else n) u s)
| sends q n u s : happens (Pending q (S n) u s) [] [] (Pending q n true s)
| another_sends q n u s : happens (Pending q n u s) [] [] (Pending q n true s) (* for another reason *)
| accepts q n : happens (Pending q n true false) [] [] (Pending q n false true)
| drains q n u : happens (Pending q n u true) [] (take 1 q) (Pending (tail q) (if drain_sends q then S n else n) u false).
Inductive history (x : pending) : list Z -> list Z -> pending -> Prop :=
| nothing : history x [] [] x
| more woken come y w c z : history x woken come y -> happens y w c z -> history x (woken ++ w) (come ++ c) z.
Definition pending_none : pending := Pending [] 0 false false.

(** ** As long as a thread is queued, an interrupt is to be sent, on its way, or being served *)
Definition arrives (x : pending) : Prop := queued x <> [] -> senders x <> 0%nat \/ underway x = true \/ served x = true.
Theorem happens_arrives x w c y : happens x w c y -> arrives x -> arrives y.
Proof.
  unfold arrives. destruct 1 as [q n u s t|q n u s|q n u s|q n|q n u]; cbn [queued senders underway served]; [|tauto..|].
  - intros H _. destruct q; cbn [append_sends]; [by left|]. by apply H.
  - intros _ H. destruct q as [|t [|t' q]]; cbn [drain_sends tail] in *; [done..|by left].
Qed.
Theorem pending_arrives x woken come : history pending_none woken come x -> arrives x.
Proof. induction 1; [intros H; by destruct H|by eapply happens_arrives]. Qed.
(** So the processor gets a thread after three events at most, of which none needs another wake-up. *)
Theorem pending_progress x : arrives x -> queued x <> [] -> exists y z come,
  rtc (fun x y => happens x [] [] y) x y /\ happens y [] come z /\ come <> [].
Proof.
  destruct x as [q n u s]. unfold arrives. cbn [queued senders underway served]. intros H Hq. specialize (H Hq).
  assert (forall n u, exists y z come, rtc (fun x y => happens x [] [] y) (Pending q n u true) y /\ happens y [] come z /\ come <> []) as Hserve.
  { intros n' u'. eexists _, _, _. split; [done|]. split; [apply drains|]. by destruct q. }
  assert (forall n, exists y z come, rtc (fun x y => happens x [] [] y) (Pending q n true false) y /\ happens y [] come z /\ come <> []) as Htake.
  { intros n'. destruct (Hserve n' false) as (y & z & come & Hr & Hy). exists y, z, come. split; [|done]. eapply rtc_l; [apply accepts|exact Hr]. }
  destruct s; [apply Hserve|]. destruct u; [apply Htake|]. destruct n as [|n]; [naive_solver|].
  destruct (Htake n) as (y & z & come & Hr & Hy). exists y, z, come. split; [|done]. eapply rtc_l; [apply sends|exact Hr].
Qed.
(** Threads come in the order in which they were woken, each once. *)
Theorem pending_in_order x woken come y : history x woken come y -> queued x ++ woken = come ++ queued y.
Proof.
  induction 1 as [|woken come y w c z _ IH Hs]; [by rewrite app_nil_r|]. rewrite (assoc_L (++)), IH.
  destruct Hs as [q n u s t|q n u s|q n u s|q n|q n u]; cbn [queued]; rewrite ?app_nil_r, <- ?(assoc_L (++)); [done..|]. by destruct q.
Qed.
