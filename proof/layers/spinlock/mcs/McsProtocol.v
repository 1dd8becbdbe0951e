(** The MCS lock's protocol: the invariant of every log of its atomic cells.

    Lock [k] has a tail cell, and for every CPU a node of two cells: [busy], on which the CPU waits, and [successor]. The
    log determines, per lock, the queue of CPUs ([line]) in the order in which they swapped themselves into the tail, and
    for each CPU how far it has come ([place]). A CPU knows its predecessor from the swap, so places carry it. While it
    holds the lock, a CPU works on other locks and shows values; [hold_bound k] bounds how many events it may cause before it
    releases the lock. A CPU anywhere else in the protocol does nothing but its next step there. *)
From Ashlar Require Export machine.Atomics lang.Constants.

(** Outside a CPU has no place. Then: its successor cell is 0; swapped behind CPU [before]; has set its busy cell; has
    registered with its predecessor and waits; is let through but has not seen it yet; may enter; holds the lock, with so
    many events left; has given up what the lock guards; found no successor, tries to empty the queue; must wait for the
    successor to register; knows which CPU to let through. *)
Inductive place :=
| Ready | Joins (before : nat) | Marks (before : nat) | Waits
| Let | Enters | Holds (left : nat) | Leaves | Tries | Seeks | Passes (next : nat).

Global Instance place_eq_decision : EqDecision place.
Proof. solve_decision. Defined.

Record mcs := Mcs { line : list nat; places : gmap nat place }.

(** The CPU behind [c]. *)
Fixpoint next_in (c : nat) (l : list nat) : option nat :=
  match l with
  | x :: l => if decide (x = c) then head l else next_in c l
  | [] => None
  end.

(** The CPU that has registered with [c] as its successor. *)
Definition linked (t : mcs) (c : nat) : option nat :=
  match next_in c (line t) with
  | Some d => if decide (places t !! d = Some Waits) then Some d else None
  | None => None
  end.

(** ** Cells *)
Definition tail_cell (k : Z) : Z := CELL_LOCK_BASE + 2 * k.
Definition busy_cell (k : Z) (c : nat) : Z := CELL_MCS_BASE + 2 * (k * NUM_CPU + Z.of_nat c).
Definition successor_cell (k : Z) (c : nat) : Z := busy_cell k c + 1.

Definition name (c : option nat) : Z := match c with Some c => Z.of_nat c + 1 | None => 0 end.

(** Which lock a cell belongs to, and which lock an event is about. *)
Definition cell_lock (a : Z) : Z := if a <? CELL_MCS_BASE then a / 2 else (a - CELL_MCS_BASE) / (2 * NUM_CPU).
Definition about (o : atomic_event) : option Z :=
  match o with
  | ELoad a | EStore a _ | EFetchAdd a _ | ESwap a _ | ECas a _ _ => Some (cell_lock a)
  | EOwn k | EDisown k _ => Some k
  | EOut _ => None
  end.

Section protocol.
  Context (hold_bound : Z -> nat).

  Definition move (c : nat) (p : place) (t : mcs) : mcs := Mcs (line t) (<[c := p]> (places t)).
  Definition join (c : nat) (t : mcs) : mcs :=
    Mcs (line t ++ [c]) (<[c := match last (line t) with Some b => Joins b | None => Enters end]> (places t)).
  (** [c] leaves an empty line; [c] leaves and lets [d] through. *)
  Definition empty (c : nat) (t : mcs) : mcs := Mcs [] (delete c (places t)).
  Definition pass (c d : nat) (t : mcs) : mcs := Mcs (tail (line t)) (<[d := Let]> (delete c (places t))).

  Definition load_event (k : Z) (c : nat) (a : Z) (t : mcs) : option mcs :=
    match places t !! c with
    | Some Waits => if decide (a = busy_cell k c) then Some t else None
    | Some Let => if decide (a = busy_cell k c) then Some (move c Enters t) else None
    | Some Leaves =>
        if decide (a = successor_cell k c)
        then Some (move c (match linked t c with Some d => Passes d | None => Tries end) t) else None
    | Some Seeks =>
        if decide (a = successor_cell k c)
        then Some (match linked t c with Some d => move c (Passes d) t | None => t end) else None
    | _ => None
    end.
  Definition store_event (k : Z) (c : nat) (a v : Z) (t : mcs) : option mcs :=
    match places t !! c with
    | None => if decide (a = successor_cell k c /\ v = 0) then Some (move c Ready t) else None
    | Some (Joins b) => if decide (a = busy_cell k c /\ v = 1) then Some (move c (Marks b) t) else None
    | Some (Marks b) =>
        if decide (a = successor_cell k b /\ v = name (Some c)) then Some (move c Waits t) else None
    | Some (Passes d) => if decide (a = busy_cell k d /\ v = 0) then Some (pass c d t) else None
    | _ => None
    end.

  (** An event about lock [k]. *)
  Definition own_event (k : Z) (c : nat) (o : atomic_event) (t : mcs) : option mcs :=
    match o with
    | ELoad a => load_event k c a t
    | EStore a v => store_event k c a v t
    | ESwap a v =>
        if decide (places t !! c = Some Ready /\ a = tail_cell k /\ v = name (Some c)) then Some (join c t) else None
    | ECas a expected v =>
        if decide (places t !! c = Some Tries /\ a = tail_cell k /\ expected = name (Some c) /\ v = 0)
        then Some (match line t with [_] => empty c t | _ => move c Seeks t end) else None
    | EOwn _ => if decide (places t !! c = Some Enters) then Some (move c (Holds (hold_bound k)) t) else None
    | EDisown _ _ => match places t !! c with Some (Holds _) => Some (move c Leaves t) | _ => None end
    | _ => None
    end.

  (** Any other event: only a CPU that is outside, or holds the lock and has events left, may cause it. *)
  Definition other_event (c : nat) (t : mcs) : option mcs :=
    match places t !! c with
    | None => Some t
    | Some (Holds (S n)) => Some (move c (Holds n) t)
    | _ => None
    end.

  Definition mcs_step (k : Z) (e : event atomic_event) (t : mcs) : option mcs :=
    if decide (Z.of_nat (who e) < NUM_CPU) then
      if decide (about (what e) = Some k) then own_event k (who e) (what e) t else other_event (who e) t
    else None.

  Fixpoint replay (k : Z) (l : atomic_log) : option mcs :=
    match l with
    | [] => Some (Mcs [] ∅)
    | e :: l => match replay k l with Some t => mcs_step k e t | None => None end
    end.

  Definition keeps_protocol (l : atomic_log) : Prop := forall k, 0 <= k < NUM_LOCK -> is_Some (replay k l).

  (** The lock module has to reckon with CPU [c]: it stands in some line. *)
  Definition queued (c : nat) (l : atomic_log) : Prop := exists k t, 0 <= k < NUM_LOCK /\ replay k l = Some t /\ c ∈ line t.

  (** ** The shapes of a step *)
  Inductive shape (k : Z) (c : nat) (o : atomic_event) (t : mcs) : mcs -> Prop :=
  | shape_other : about o <> Some k -> places t !! c = None -> shape k c o t t
  | shape_count n : about o <> Some k -> places t !! c = Some (Holds (S n)) -> shape k c o t (move c (Holds n) t)
  | shape_prepare : o = EStore (successor_cell k c) 0 -> places t !! c = None -> shape k c o t (move c Ready t)
  | shape_join : o = ESwap (tail_cell k) (name (Some c)) -> places t !! c = Some Ready -> shape k c o t (join c t)
  | shape_mark b : o = EStore (busy_cell k c) 1 -> places t !! c = Some (Joins b) -> shape k c o t (move c (Marks b) t)
  | shape_link b : o = EStore (successor_cell k b) (name (Some c)) -> places t !! c = Some (Marks b) ->
      shape k c o t (move c Waits t)
  | shape_spin : o = ELoad (busy_cell k c) -> places t !! c = Some Waits -> shape k c o t t
  | shape_seen : o = ELoad (busy_cell k c) -> places t !! c = Some Let -> shape k c o t (move c Enters t)
  | shape_own : o = EOwn k -> places t !! c = Some Enters -> shape k c o t (move c (Holds (hold_bound k)) t)
  | shape_disown n d : o = EDisown k d -> places t !! c = Some (Holds n) -> shape k c o t (move c Leaves t)
  | shape_alone : o = ELoad (successor_cell k c) -> places t !! c = Some Leaves -> linked t c = None ->
      shape k c o t (move c Tries t)
  | shape_found p d : o = ELoad (successor_cell k c) -> places t !! c = Some p -> p = Leaves \/ p = Seeks ->
      linked t c = Some d -> shape k c o t (move c (Passes d) t)
  | shape_seek : o = ELoad (successor_cell k c) -> places t !! c = Some Seeks -> linked t c = None -> shape k c o t t
  | shape_empty h : o = ECas (tail_cell k) (name (Some c)) 0 -> places t !! c = Some Tries -> line t = [h] ->
      shape k c o t (empty c t)
  | shape_late : o = ECas (tail_cell k) (name (Some c)) 0 -> places t !! c = Some Tries ->
      (forall h, line t <> [h]) -> shape k c o t (move c Seeks t)
  | shape_pass d : o = EStore (busy_cell k d) 0 -> places t !! c = Some (Passes d) -> shape k c o t (pass c d t).

  Lemma mcs_step_shape k e t t' : mcs_step k e t = Some t' ->
    Z.of_nat (who e) < NUM_CPU /\ shape k (who e) (what e) t t'.
  Proof.
    destruct e as [c o]. unfold mcs_step. cbn [who what]. destruct (decide (Z.of_nat c < NUM_CPU)) as [Hc|]; [|done].
    intros H. split; [done|]. destruct (decide (about o = Some k)) as [Ha|Ha].
    - destruct o as [a|a v|a v|a v|a x v|k'|k' d|v]; cbn [own_event] in H; try done.
      + unfold load_event in H. destruct (places t !! c) as [[| | | | | | | | | |]|] eqn:E; try done;
          (destruct (decide _) as [->|]; [|done]).
        * injection H as <-. by apply shape_spin.
        * injection H as <-. by apply shape_seen.
        * destruct (linked t c) eqn:El; injection H as <-; [eapply shape_found; eauto|by apply shape_alone].
        * destruct (linked t c) eqn:El; injection H as <-; [eapply shape_found; eauto|by apply shape_seek].
      + unfold store_event in H. destruct (places t !! c) as [[| | | | | | | | | |]|] eqn:E; try done;
          (destruct (decide _) as [[-> ->]|]; [|done]); injection H as <-.
        * by eapply shape_mark. * by eapply shape_link. * by eapply shape_pass. * by eapply shape_prepare.
      + destruct (decide _) as [(E & -> & ->)|]; [|done]. injection H as <-. by apply shape_join.
      + destruct (decide _) as [(E & -> & -> & ->)|]; [|done]. injection H as <-.
        destruct (line t) as [|h [|??]] eqn:El; [apply shape_late|eapply shape_empty|apply shape_late]; try done;
          intros; by rewrite El.
      + injection Ha as ->. destruct (decide _); [|done]. injection H as <-. by apply shape_own.
      + injection Ha as ->. destruct (places t !! c) as [[| | | | | | | | | |]|] eqn:E; try done. injection H as <-.
        by eapply shape_disown.
    - unfold other_event in H. destruct (places t !! c) as [[| | | | | |[|n]| | | |]|] eqn:E; try done;
        injection H as <-; [by apply shape_count|by apply shape_other].
  Qed.

  Lemma replay_cons k e l t : replay k (e :: l) = Some t ->
    exists t0, replay k l = Some t0 /\ mcs_step k e t0 = Some t.
  Proof. simpl. destruct (replay k l); [eauto|done]. Qed.
End protocol.
