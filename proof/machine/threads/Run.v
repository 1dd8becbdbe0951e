(** The machines run: creation, blocking, a wake-up from another CPU, exit.

    CPU 0: idle thread 0, threads 2 and 4. CPU 1: idle thread 1, thread 3. Thread 2 shows 10 and blocks; thread 3 starts
    thread 4 with argument 7 and puts 2 and 4 on the pending queue of CPU 0, under that queue's lock; the idle thread of
    CPU 0 takes them over into its ready queue and switches to them; they show 20 and 47 and exit. *)
From Ashlar Require Import machine.threads.Executions.
From Ashlar Require Import calculus.locks.Locks.

Record owned := Owned { ready : option (list nat); pending : option (list nat) }.
Definition pending_data : lock_data (list nat) owned :=
  LockData (fun _ => []) (fun _ d m => Owned (ready m) (Some d))
    (fun _ m => match pending m with Some d => Some (d, Owned (ready m) None) | None => None end).
Definition ready_data : baton_data (list nat) owned :=
  BatonData (fun _ _ m => match ready m with Some q => Some (q, Owned None (pending m)) | None => None end)
    (fun _ q m => Owned (Some q) (pending m)).

Notation L := (lock_layer 2 2 pending_data).
Definition quiet (c : nat) (l : log L) : bool := match held c l with ([], _) => true | _ => false end.
Definition home (t : nat) : nat := Nat.modulo t 2.
Definition first (c : nat) : nat := c.

Definition next (t s : nat) (m : owned) : thread_act cprim owned nat :=
  match s with
  (* idle: take over what is pending, run what is ready *)
  | 0 => TPrim (ACQUIRE, [Z.of_nat t])
  | 1 => match ready m, pending m with Some q, Some p => TTau 2 (Owned (Some (q ++ p)) (Some [])) | _, _ => TStuck end
  | 2 => TPrim (RELEASE, [Z.of_nat t])
  | 3 => match ready m with
         | Some (n :: q) => TTau (10 + n)%nat (Owned (Some q) (pending m))
         | Some [] => TTau 0 m
         | None => TStuck
         end
  | 12 => TSwitch t 2 | 13 => TSwitch t 3 | 14 => TSwitch t 4
  (* thread 2 *)
  | 20 => TPrim (OUT, [10%Z])
  | 21 | 23 => TSwitch t 0
  | 22 => TPrim (OUT, [20%Z])
  (* thread 3 *)
  | 30 => TInit 4 7%Z
  | 31 => TPrim (ACQUIRE, [0%Z])
  | 32 => match pending m with Some p => TTau 33 (Owned (ready m) (Some (p ++ [2; 4]%nat))) | None => TStuck end
  | 33 => TPrim (RELEASE, [0%Z])
  | 34 => TSwitch t 1
  (* thread 4 *)
  | 47 => TPrim (OUT, [47%Z])
  | 48 => TSwitch t 0
  | _ => TStuck
  end%nat.
Definition resume (s : nat) (_ : Z) : nat := match s with 12 | 13 | 14 => 0 | _ => S s end%nat.
Definition code : thread_code cprim owned := ThreadCode nat next resume (fun v => 40 + Z.to_nat v)%nat.

(** Thread 4 does not exist yet: its continuation would be stuck. *)
Definition begin (t : nat) : tstate code :=
  match t with
  | 0 => TState code Running 0 (Owned (Some [2]) None)
  | 1 => TState code Running 0 (Owned (Some [3]) None)
  | 2 => TState code Suspended 19 (Owned None None)
  | 3 => TState code Suspended 29 (Owned None None)
  | _ => TState code Suspended 99 (Owned None None)
  end%nat.

Notation L0 := (cpu_layer L 5 home first).
Notation L1 := (thread_layer L ready_data 5 home first quiet).
Notation A0 := (cpu_agent code ready_data home).
Notation A1 := (thread_agent code).

Definition cpus_after (turns : list nat) : state L0 A0 :=
  fold_left (fun g c => move L0 A0 c g) turns (@State _ _ L0 A0 [] (cpu_start code first begin)).
(** At each turn of a CPU its current thread moves. *)
Definition threads_after (turns : list nat) : state L1 A1 :=
  fold_left (fun (g : state L1 A1) c => move L1 A1 (current_thread L first c (cpu_view L home (glog g))) g) turns (@State _ _ L1 A1 [] begin).

Definition turns (n : nat) : list nat := concat (repeat [0%nat; 1%nat] n).
Definition shown (l : list (event (cpu_op (lop L)))) : list (nat * Z) :=
  flat_map (fun e => match what e with CBase (OOut v) => [(who e, v)] | _ => [] end) l.
Definition switches (l : list (event (cpu_op (lop L)))) : list (nat * nat) :=
  flat_map (fun e => match what e with CSwitch a b => [(a, b)] | _ => [] end) l.

Example cpus_run : shown (rev (glog (cpus_after (turns 60)))) = [(0%nat, 10); (0%nat, 20); (0%nat, 47)].
Proof. vm_compute. reflexivity. Qed.
Example cpus_switch : switches (rev (glog (cpus_after (turns 60)))) = [(0, 2); (1, 3); (2, 0); (3, 1); (0, 2); (2, 0); (0, 4); (4, 0)]%nat.
Proof. vm_compute. reflexivity. Qed.
(** The machine of threads shows the same log. *)
Example same_run : cpu_view L home (glog (threads_after (turns 60))) = glog (cpus_after (turns 60)).
Proof. vm_compute. reflexivity. Qed.

(** A lock held across a switch: wrong for threads, while the CPU itself would not mind. *)
Example switch_with_lock :
  lstep L1 0%nat (PSwitch 0 2) (Owned (Some []) (Some [])) [Event 0%nat (UBase (OAcquire 0))] = Wrong /\
  lstep L0 0%nat (PSwitch 0 2) (Owned (Some []) (Some [])) [Event 0%nat (CBase (OAcquire 0))] <> Wrong.
Proof. vm_compute. done. Qed.
(** A thread of another CPU, oneself, and a thread that does not have the CPU. *)
Example switch_to_other_cpu : lstep L1 0%nat (PSwitch 0 3) (Owned (Some []) None) [] = Wrong.
Proof. vm_compute. reflexivity. Qed.
Example switch_to_oneself : lstep L1 0%nat (PSwitch 0 0) (Owned (Some []) None) [] = Wrong.
Proof. vm_compute. reflexivity. Qed.
Example without_cpu : lstep L1 2%nat (PBase (OUT, [1])) (Owned None None) [] = Blocked.
Proof. vm_compute. reflexivity. Qed.
(** A thread that runs is not given a new continuation. *)
Example init_running : lstep L1 0%nat (PInit 1 7) (Owned (Some []) None) [] = Wrong.
Proof. vm_compute. reflexivity. Qed.
