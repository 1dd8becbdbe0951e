(** Threads that share CPUs: the machine of CPUs below, the machine of threads above.

    Both are instances of the machine of [calculus/logs/Machine.v]. Below, an agent is a CPU: which thread is current, and the
    continuation of every thread of this CPU. Above, an agent is a thread; the CPU is a baton that the log hands on: a
    thread moves only while the log says that its CPU is its own. Both stand on the same layer [L] of primitives of CPUs
    (locks, atomics, devices ...), which knows nothing about threads. *)
From stdpp Require Export functions.
From Ashlar Require Export calculus.logs.Machine.

(** What the code of a thread does next. [TSwitch from to]: call the primitive that hands the CPU over. [TInit t v]: thread
    [t], which does not run, gets a new continuation: it starts with argument [v] when it is switched to. *)
Inductive thread_act (PRIM MEM STATE : Type) :=
| TDone
| TStuck
| TTau (s : STATE) (m : MEM)
| TPrim (p : PRIM)
| TSwitch (from to : nat)
| TInit (t : nat) (v : Z).
Arguments TDone {_ _ _}. Arguments TStuck {_ _ _}. Arguments TTau {_ _ _}. Arguments TPrim {_ _ _}.
Arguments TSwitch {_ _ _}. Arguments TInit {_ _ _}.

(** Any deterministic code. Its state is without the cells it owns. [tresume s v]: its pending primitive returned [v].
    [tstart v]: the first continuation of a thread that is started with [v]. *)
Record thread_code (PRIM MEM : Type) := ThreadCode {
  tst : Type;
  tnext : nat -> tst -> MEM -> thread_act PRIM MEM tst;
  tresume : tst -> Z -> tst;
  tstart : Z -> tst;
}.
Arguments ThreadCode {_ _}. Arguments tst {_ _}. Arguments tnext {_ _}. Arguments tresume {_ _}. Arguments tstart {_ _}.

(** Primitives of agents. Only threads as agents call [PResume]: below, coming back is a private step of the CPU. *)
Inductive tprim (PRIM : Type) :=
| PBase (p : PRIM)
| PSwitch (from to : nat)
| PInit (t : nat) (v : Z)
| PResume.
Arguments PBase {_}. Arguments PSwitch {_}. Arguments PInit {_}. Arguments PResume {_}.

(** [Leaving]: about to switch. [Suspended]: has switched away, or has never run. *)
Inductive phase := Running | Leaving (from to : nat) | Suspended.

Inductive cpu_op (OP : Type) :=
| CBase (o : OP)
| CSwitch (from to : nat)
| CInit (t : nat) (v : Z).
Arguments CBase {_}. Arguments CSwitch {_}. Arguments CInit {_}.

(** Above, a switch carries the data that belong to the CPU. *)
Inductive thread_op (OP D : Type) :=
| UBase (o : OP)
| USwitch (from to : nat) (d : D)
| UInit (t : nat) (v : Z)
| UResume.
Arguments UBase {_ _}. Arguments USwitch {_ _}. Arguments UInit {_ _}. Arguments UResume {_ _}.

(** What belongs to a CPU and is handed on with it. [split c to m]: what [c] hands to thread [to], and what the thread that
    leaves keeps; [None] if it may not hand over in this state. *)
Record baton_data (D MEM : Type) := BatonData {
  bd_split : nat -> nat -> MEM -> option (D * MEM);
  bd_join : nat -> D -> MEM -> MEM;
}.
Arguments BatonData {_ _}. Arguments bd_split {_ _}. Arguments bd_join {_ _}.

Section threads.
  Context {PRIM MEM D : Type} (L : layer PRIM MEM) (T : thread_code PRIM MEM) (X : baton_data D MEM).
  Context (ncpu nthread : nat) (home : nat -> nat) (first : nat -> nat).
  (** CPU [c] may switch now: it holds no lock. *)
  Context (quiet : nat -> log L -> bool).

  Notation cpu_log := (list (event (cpu_op (lop L)))).
  Notation thread_log := (list (event (thread_op (lop L) D))).

  (** ** Logs *)

  Definition base (l : cpu_log) : log L :=
    flat_map (fun e => match what e with CBase o => [Event (who e) o] | _ => [] end) l.

  (** Who is current on CPU [c]. *)
  Fixpoint current_thread (c : nat) (l : cpu_log) : nat :=
    match l with
    | [] => first c
    | e :: l =>
        match what e with
        | CSwitch _ to => if decide (who e = c) then to else current_thread c l
        | _ => current_thread c l
        end
    end.

  (** How thread [t] goes on when it is switched to: 0: it returns from its switch; else: it starts anew. *)
  Fixpoint started (t : nat) (l : cpu_log) : Z :=
    match l with
    | [] => 0
    | e :: l =>
        match what e with
        | CInit t' v => if decide (t' = t) then v else started t l
        | CSwitch from _ => if decide (from = t) then 0 else started t l
        | CBase _ => started t l
        end
    end.

  (** A log of threads as the CPUs see it. *)
  Definition cpu_view_event (e : event (thread_op (lop L) D)) : cpu_log :=
    match what e with
    | UBase o => [Event (home (who e)) (CBase o)]
    | USwitch from to _ => [Event (home (who e)) (CSwitch from to)]
    | UInit t v => [Event (home (who e)) (CInit t v)]
    | UResume => []
    end.
  Definition cpu_view (l : thread_log) : cpu_log := flat_map cpu_view_event l.

  (** The data of CPU [c], while its current thread has not come back yet. *)
  Fixpoint transit (c : nat) (l : thread_log) : option D :=
    match l with
    | [] => None
    | e :: l =>
        if decide (home (who e) = c) then
          match what e with
          | USwitch _ _ d => Some d
          | UResume => None
          | _ => transit c l
          end
        else transit c l
    end.

  (** Thread [t] has its CPU. *)
  Definition on_cpu (t : nat) (l : thread_log) : Prop := current_thread (home t) (cpu_view l) = t.

  (** ** The layer of the CPUs *)

  Definition cpu_step_of (c : nat) (p : tprim PRIM) (m : MEM) (l : cpu_log) : outcome MEM (cpu_op (lop L)) :=
    match p with
    | PBase p =>
        match lstep L c p m (base l) with
        | Blocked => Blocked
        | Wrong => Wrong
        | Ok v m' o => Ok v m' (CBase o)
        end
    | PSwitch from to =>
        if decide (from = current_thread c l /\ to <> from /\ home to = c /\ (to < nthread)%nat)
        then Ok (started to l) m (CSwitch from to) else Wrong
    | PInit t v =>
        if decide ((t < nthread)%nat /\ current_thread (home t) l <> t /\ v <> 0) then Ok 0 m (CInit t v) else Wrong
    | PResume => Wrong
    end.
  Definition cpu_layer : layer (tprim PRIM) MEM :=
    Layer (cpu_op (lop L)) cpu_step_of (fun c l => lsched L c (base l)).

  (** ** The layer of the threads *)

  Definition thread_step_of (t : nat) (p : tprim PRIM) (m : MEM) (l : thread_log) : outcome MEM (thread_op (lop L) D) :=
    let c := home t in
    let k := cpu_view l in
    if decide (current_thread c k = t) then
      match transit c l with
      | Some d =>
          match p with
          | PResume => Ok (started t k) (bd_join X c d m) UResume
          | _ => Blocked
          end
      | None =>
          match p with
          | PBase p =>
              match lstep L c p m (base k) with
              | Blocked => Blocked
              | Wrong => Wrong
              | Ok v m' o => Ok v m' (UBase o)
              end
          | PSwitch from to =>
              if decide (from = t /\ to <> from /\ home to = c /\ (to < nthread)%nat /\ quiet c (base k) = true) then
                match bd_split X c to m with
                | Some (d, m') => Ok 0 m' (USwitch from to d)
                | None => Wrong
                end
              else Wrong
          | PInit t' v =>
              if decide ((t' < nthread)%nat /\ current_thread (home t') k <> t' /\ v <> 0) then Ok 0 m (UInit t' v) else Wrong
          | PResume => Blocked
          end
      end
    else Blocked.
  Definition thread_layer : layer (tprim PRIM) MEM :=
    Layer (thread_op (lop L) D) thread_step_of (fun t l => transit (home t) l = None -> lsched L (home t) (base (cpu_view l))).

  (** ** A thread as an agent *)

  Record tstate := TState { tphase : phase; tcode : tst T; tmem : MEM }.

  Definition back (s : tst T) (v : Z) : tst T := if decide (v = 0) then tresume T s 0 else tstart T v.

  Definition thread_next (t : nat) (x : tstate) : act (tprim PRIM) tstate :=
    match tphase x with
    | Running =>
        match tnext T t (tcode x) (tmem x) with
        | TDone => ADone
        | TStuck => AStuck
        | TTau s m => ATau (TState Running s m)
        | TPrim p => APrim (PBase p)
        | TSwitch from to => ATau (TState (Leaving from to) (tcode x) (tmem x))
        | TInit t' v => APrim (PInit t' v)
        end
    | Leaving from to => APrim (PSwitch from to)
    | Suspended => APrim PResume
    end.
  Definition thread_resume (x : tstate) (v : Z) (m : MEM) : tstate :=
    match tphase x with
    | Running => TState Running (tresume T (tcode x) v) m
    | Leaving _ _ => TState Suspended (tcode x) m
    | Suspended => TState Running (back (tcode x) v) m
    end.
  Definition thread_agent : agent (tprim PRIM) MEM := Agent tstate thread_next tmem thread_resume.

  (** ** A CPU as an agent *)

  (** [ctransit]: the switch to [ccur] has happened, [ccur] has not come back yet; the data of the CPU, and how it goes on. *)
  Record cpu_state := CpuState { ccur : nat; ctransit : option (Z * D); cthread : nat -> tstate }.

  Definition cpu_next (c : nat) (x : cpu_state) : act (tprim PRIM) cpu_state :=
    let y := cthread x (ccur x) in
    match ctransit x with
    | Some (v, d) =>
        ATau (CpuState (ccur x) None
          (<[ccur x := TState Running (back (tcode y) v) (bd_join X c d (tmem y))]> (cthread x)))
    | None =>
        match thread_next (ccur x) y with
        | ADone => ADone
        | AStuck => AStuck
        | ATau y' => ATau (CpuState (ccur x) None (<[ccur x := y']> (cthread x)))
        | APrim p => APrim p
        end
    end.
  Definition cpu_resume (x : cpu_state) (v : Z) (m : MEM) : cpu_state :=
    let y := cthread x (ccur x) in
    match tphase y with
    | Leaving from to =>
        match bd_split X (home to) to m with
        | Some (d, m') => CpuState to (Some (v, d)) (<[ccur x := TState Suspended (tcode y) m']> (cthread x))
        | None => x
        end
    | _ => CpuState (ccur x) None (<[ccur x := thread_resume y v m]> (cthread x))
    end.
  Definition cpu_agent : agent (tprim PRIM) MEM :=
    Agent cpu_state cpu_next (fun x => tmem (cthread x (ccur x))) cpu_resume.

  (** ** Start: on each CPU its first thread (its idle thread) runs, all others wait for their first turn. *)
  Context (P : nat -> tstate).

  Definition cpu_start (c : nat) : cpu_state := CpuState (first c) None P.

  Record starts : Prop := {
    start_home t : (t < nthread)%nat -> (home t < ncpu)%nat;
    start_first c : (c < ncpu)%nat -> (first c < nthread)%nat /\ home (first c) = c;
    start_running c : (c < ncpu)%nat -> tphase (P (first c)) = Running;
    start_suspended t : (t < nthread)%nat -> first (home t) <> t -> tphase (P t) = Suspended;
  }.
End threads.
