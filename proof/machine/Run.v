(** The machines, executed: two CPUs that count in one cell, with and without the lock.

    With the ticket lock of the kernel, both runs end with both increments, and the multicore machine shows exactly what
    L0 does. Without it an increment is lost, the multicore machine has a data race, and L0 goes wrong: the faults that the
    theorems exclude do occur in programs that break their premises. *)
From Ashlar Require Import machine.KernelChain layers.spinlock.Code.

Notation counter := (("counter"%string, 0%Z, ""%string, 0%Z) : cell).
Definition count : expr := Load "counter" (Const 0) "" (Const 0).

(** Read, add one, write. *)
Definition increment : stmt :=
  Seq (Assign 0 count) (Store "counter" (Const 0) "" (Const 0) (Bin W64 Add (Var 0) (Const 1))).
Definition bump : fundef := Fun 0 1
  (Seq (Call None "spinlock_acquire" [Const 0]) (Seq increment
  (Seq (Call None "spinlock_release" [Const 0]) (Return (Var 0))))).
Definition bump_unlocked : fundef := Fun 0 1 (Seq increment (Return (Var 0))).

Definition code : module :=
  module_union (module_of [("bump"%string, bump); ("bump_unlocked"%string, bump_unlocked)]) spinlock_module.

(** A user that calls [f] and shows its result. *)
Inductive user := Before | After (v : Z) | End.
Definition calls (f : string) : client :=
  Client user
    (fun _ s => match s with Before => CCall f [] | After v => COut v | End => CDone end)
    (fun s v => match s with Before => After v | _ => End end).

Section run.
  Context (f : string).
  Definition running : agent cprim mem := system (calls f) (c_engine (arch_builtins (fun _ => 0%Z)) code (fun _ => true)).
  Definition shared_running : shareable running := shared_kernel (fun _ => 0%Z) code (fun _ => true) (calls f).

  (** The counter: guarded by lock 0, zero at first. *)
  Definition init (k : Z) : mem := if (k =? 0)%Z then {[ counter := 0%Z ]} else ∅.
  Definition guarded (k : Z) (m : mem) : mem := if (k =? 0)%Z then filter (fun x => x.1 = counter) m else ∅.
  Definition owned_cells := atomic_ownership init guarded (fun _ _ => True).
  Definition begin (c : nat) : ast running := Idle (Before : cstate (calls f)) ∅.

  Definition multicore_after (turns : list nat) := play atomic_hardware shared_running turns
    (multicore_start atomic_hardware {[ counter := 0%Z ]} begin).
  Definition ownership_after (turns : list nat) : state (olayer owned_cells) running :=
    fold_left (fun s c => advance owned_cells c s) turns (State [] begin).

  Definition ended (t : ast running) : bool := match t with Idle End _ => true | _ => false end.
  Definition stuck (c : nat) (t : ast running) : bool := match anext running c t with AStuck => true | _ => false end.
End run.

(** The CPUs by turns. *)
Definition by_turns (n : nat) : list nat := concat (repeat [0%nat; 1%nat] n).

(** With the lock: both users are done, the counter is 2, the users were shown 0 and 1. *)
Example locked_run : let g := multicore_after "bump" (by_turns 60) in
  ended _ (magent g 0%nat) = true /\ ended _ (magent g 1%nat) = true /\
  mmem g !! counter = Some 2%Z /\ shown (mlog g) = [(1%nat, 1%Z); (0%nat, 0%Z)].
Proof. vm_compute. repeat split; reflexivity. Qed.

(** L0 in the same order does the same. *)
Example locked_run_ownership :
  mlog (multicore_after "bump" (by_turns 60)) = erase owned_cells (glog (ownership_after "bump" (by_turns 60))).
Proof. vm_compute. reflexivity. Qed.

(** Without the lock: an increment is lost. *)
Example unlocked_run : let g := multicore_after "bump_unlocked" (by_turns 20) in
  mmem g !! counter = Some 1%Z /\ shown (mlog g) = [(1%nat, 0%Z); (0%nat, 0%Z)].
Proof. vm_compute. repeat split; reflexivity. Qed.

(** On the way both CPUs are about to access the counter. *)
Example unlocked_conflict : conflict 2 atomic_hardware (shared_running "bump_unlocked")
  (multicore_after "bump_unlocked" (by_turns 3)).
Proof. exists 0%nat, 1%nat, counter. split_and!; [lia|lia|lia|vm_compute; left|vm_compute; left]. Qed.

(** L0 does not let it pass: a CPU is stuck at a cell it does not own. *)
Example unlocked_ownership : stuck "bump_unlocked" 0 (gagent (ownership_after "bump_unlocked" (by_turns 3)) 0%nat) = true.
Proof. vm_compute. reflexivity. Qed.

(** ** Infinite fair executions exist *)

(** Users that show 0 again and again. *)
Definition talkers : client := Client unit (fun _ _ => COut 0) (fun s _ => s).
Definition talking : agent cprim mem := system talkers (c_engine (arch_builtins (fun _ => 0%Z)) code (fun _ => true)).
Definition shared_talking : shareable talking := shared_kernel (fun _ => 0%Z) code (fun _ => true) talkers.
Definition talkers_start (c : nat) : ast talking := Idle (tt : cstate talkers) ∅.
Definition alternate (i : nat) : nat := Nat.modulo i 2.

Lemma guarded_sub k m : guarded k m ⊆ m.
Proof. unfold guarded. destruct (k =? 0)%Z; [apply map_filter_subseteq|apply map_empty_subseteq]. Qed.

Lemma talkers_idle g : reach 2 (olayer owned_cells) talking talkers_start g ->
  forall c, exists m, gagent g c = Idle (tt : cstate talkers) m.
Proof.
  induction 1 as [|g g' Hr IH [c Hs]]; [by exists ∅|]. intros c'.
  destruct Hs as [l f s Hc Hn|l f p v m o Hc Hn Hsch Hp]; simpl in *; unfold update;
    (destruct (decide (c' = c)); [|apply IH]); destruct (IH c) as [m' Hm]; rewrite Hm in *; simpl in *; [done|by exists m].
Qed.

Lemma talkers_never_wrong : never_wrong 2 (olayer owned_cells) talking talkers_start.
Proof. intros g c Hr Hc Hw. destruct (talkers_idle g Hr c) as [m Hm]. rewrite Hm in Hw. by destruct Hw. Qed.

Lemma talkers_dealt : dealt 2 {[ counter := 0%Z ]} talkers_start owned_cells.
Proof.
  split; simpl; intros *; unfold init.
  - intros _. apply map_empty_subseteq.
  - intros _. destruct (k =? 0)%Z; [done|apply map_empty_subseteq].
  - intros _ _ _. apply map_disjoint_empty_l.
  - intros _ _. apply map_disjoint_empty_l.
  - destruct (Z.eqb_spec k 0) as [->|]; [|intros; apply map_disjoint_empty_l].
    destruct (Z.eqb_spec k' 0) as [->|]; [done|intros; apply map_disjoint_empty_r].
Qed.

Theorem talkers_run_forever : exists ex,
  ex 0%nat = multicore_start atomic_hardware {[ counter := 0%Z ]} talkers_start /\
  (forall i, multicore_step 2 atomic_hardware shared_talking (fun _ _ => True) (alternate i) (ex i) (ex (S i))) /\
  fair alternate 0 /\ fair alternate 1.
Proof.
  set (fairness := fun (_ : nat) (_ : list (event (hmark atomic_hardware))) => True).
  assert (OK := atomic_ownership_ok init guarded (fun _ _ => True) guarded_sub).
  assert (FAIR : fairness_ok fairness owned_cells) by done.
  exists (moment shared_talking {[ counter := 0%Z ]} talkers_start alternate). split_and!.
  - done.
  - apply (multicore_execution_exists 2 shared_talking fairness _ _ owned_cells OK FAIR talkers_dealt talkers_never_wrong).
    + intros i. by apply Nat.mod_upper_bound.
    + intros c g Hr Hc. destruct (multicore_agrees 2 shared_talking fairness _ _ owned_cells OK FAIR talkers_dealt
        talkers_never_wrong g Hr) as (s & Hs & Hg).
      destruct (talkers_idle s Hs c) as [m Hm]. unfold current. rewrite (agrees_agent _ _ _ _ _ Hg c Hc), Hm. done.
    + done.
  - intros i. exists i. unfold alternate. replace (i + i)%nat with (0 + i * 2)%nat by lia. by rewrite Nat.mod_add.
  - intros i. exists (S i). unfold alternate. replace (i + S i)%nat with (1 + i * 2)%nat by lia. by rewrite Nat.mod_add.
Qed.
