(** One memory for each CPU.

    In [cpu_agent] every suspended thread keeps its own cells aside. Here a CPU has one memory for all its threads and for
    what belongs to itself, a switch moves no cell, and a continuation is only a continuation: this is the agent that the
    machine below (local copies, ownership) knows. It does the same, if code and primitives do not mind that there are more
    cells, and the threads' cells are apart in every state that the machine of threads can reach. *)
From Ashlar Require Export machine.threads.Threads.

Section flat.
  Context {PRIM D K V : Type} `{Countable K}.
  Notation MEM := (gmap K V).
  Context (L : layer PRIM MEM) (T : thread_code PRIM MEM) (X : baton_data D MEM) (cells : D -> MEM).
  (** The cells that a thread may own while it is suspended. Those that locks guard are not among them. *)
  Context (parked : K -> Prop).
  Definition all_parked (r : MEM) : Prop := forall k v, r !! k = Some v -> parked k.
  Context (ncpu nthread : nat) (home : nat -> nat) (first : nat -> nat) (quiet : nat -> log L -> bool).
  Context (P : nat -> tstate T).

  (** [fcur]: the current thread. [ftransit]: it has just been switched to, and how it goes on. [fcode]: continuations. *)
  Record flat := Flat { fcur : nat; ftransit : option Z; fcode : nat -> phase * tst T; fmem : MEM }.
  Definition flat_set (x : flat) (y : phase * tst T) (m : MEM) : flat :=
    Flat (fcur x) None (<[fcur x := y]> (fcode x)) m.
  Definition flat_next (c : nat) (x : flat) : act (tprim PRIM) flat :=
    let (ph, s) := fcode x (fcur x) in
    match ftransit x with
    | Some v => ATau (flat_set x (Running, back T s v) (fmem x))
    | None =>
        match ph with
        | Running =>
            match tnext T (fcur x) s (fmem x) with
            | TDone => ADone
            | TStuck => AStuck
            | TTau s' m => ATau (flat_set x (Running, s') m)
            | TPrim p => APrim (PBase p)
            | TSwitch from to => ATau (flat_set x (Leaving from to, s) (fmem x))
            | TInit t v => APrim (PInit t v)
            end
        | Leaving from to => APrim (PSwitch from to)
        | Suspended => APrim PResume
        end
    end.
  Definition flat_resume (x : flat) (v : Z) (m : MEM) : flat :=
    let (ph, s) := fcode x (fcur x) in
    match ph with
    | Running => flat_set x (Running, tresume T s v) m
    | Leaving _ to => Flat to (Some v) (<[fcur x := (Suspended, s)]> (fcode x)) m
    | Suspended => flat_set x (Running, back T s v) m
    end.
  Definition flat_agent : agent (tprim PRIM) MEM := Agent flat flat_next fmem flat_resume.

  (** ** Memory is just memory *)
  Record framed : Prop := {
    framed_code t s m r : m ##ₘ r ->
      match tnext T t s m with
      | TDone => tnext T t s (m ∪ r) = TDone
      | TStuck => True
      | TTau s' m' => tnext T t s (m ∪ r) = TTau s' (m' ∪ r) /\ forall k, m' !! k = None <-> m !! k = None
      | TPrim p => tnext T t s (m ∪ r) = TPrim p
      | TSwitch from to => tnext T t s (m ∪ r) = TSwitch from to
      | TInit t' v => tnext T t s (m ∪ r) = TInit t' v
      end;
    framed_prim c p m r l : m ##ₘ r -> all_parked r ->
      match lstep L c p m l with
      | Blocked => lstep L c p (m ∪ r) l = Blocked
      | Wrong => True
      | Ok v m' o => m' ##ₘ r -> lstep L c p (m ∪ r) l = Ok v (m' ∪ r) o
      end;
    framed_split c to m d m' : bd_split X c to m = Some (d, m') -> m = cells d ∪ m' /\ cells d ##ₘ m';
    framed_join c d m : bd_join X c d m = cells d ∪ m;
  }.

  (** ** The same CPU, with parts and with one memory *)

  Definition of_cpu (c t : nat) : Prop := (t < nthread)%nat /\ home t = c.
  Record apart (c : nat) (y : cpu_state (D:=D) T) : Prop := {
    apart_threads t t' : of_cpu c t -> of_cpu c t' -> t <> t' -> tmem T (cthread T y t) ##ₘ tmem T (cthread T y t');
    apart_parked t : of_cpu c t -> t <> ccur T y -> all_parked (tmem T (cthread T y t));
    apart_transit v d t : ctransit T y = Some (v, d) -> of_cpu c t -> cells d ##ₘ tmem T (cthread T y t);
  }.
  Definition owns (c : nat) (y : cpu_state (D:=D) T) (k : K) (v : V) : Prop :=
    (exists t, of_cpu c t /\ tmem T (cthread T y t) !! k = Some v) \/
    (exists w d, ctransit T y = Some (w, d) /\ cells d !! k = Some v).

  (** A CPU with one memory, and the same CPU with a memory for each thread. *)
  Record same_cpu (c : nat) (x : flat) (y : cpu_state (D:=D) T) : Prop := {
    same_cur : fcur x = ccur T y;
    same_transit : ftransit x = fst <$> ctransit T y;
    same_code t : fcode x t = (tphase T (cthread T y t), tcode T (cthread T y t));
    same_mem k v : fmem x !! k = Some v <-> owns c y k v;
  }.

  (** The same seen from the machine of threads: the cells of the threads of a CPU, and what is handed over, are apart. *)
  Definition threads_apart (g : state (thread_layer L X nthread home first quiet) (thread_agent T)) : Prop :=
    (forall t, (t < nthread)%nat -> tphase T (gagent g t) = Suspended -> all_parked (tmem T (gagent g t))) /\
    (forall t t', (t < nthread)%nat -> (t' < nthread)%nat -> home t = home t' -> t <> t' ->
      tmem T (gagent g t) ##ₘ tmem T (gagent g t')) /\
    (forall t d, (t < nthread)%nat -> transit L home (home t) (glog g) = Some d -> cells d ##ₘ tmem T (gagent g t)).

  (** The start: [m0 c] is the memory of CPU [c], the cells of all its threads. *)
  Definition flat_start (m0 : nat -> MEM) (c : nat) : flat := Flat (first c) None (fun t => (tphase T (P t), tcode T (P t))) (m0 c).
  Definition flat_memory (m0 : nat -> MEM) : Prop :=
    forall c k v, m0 c !! k = Some v <-> exists t, of_cpu c t /\ tmem T (P t) !! k = Some v.
End flat.
