(** Threads that run the code of an agent: the kernel's C with its client, once for each thread.

    Two primitives are not for the layer below: the switch, and giving a thread a new continuation. Everything else of the code
    is as on a CPU; so a thread sees the number of its CPU, its home, and not its own. *)
From Ashlar Require Export machine.threads.OneMemory machine.Shared.
From stdpp Require Import fin_map_dom.

(** What a primitive of the code means to the machine of threads. *)
Inductive meaning := Ordinary | SwitchTo (to : nat) | Begin (t : nat).

Section code.
  Context {PRIM : Type} {A : agent PRIM mem} (S : shareable A) (home : nat -> nat).
  (** [begin t]: the state in which thread [t] starts when it has been given a new continuation. *)
  Context (means : PRIM -> meaning) (begin : nat -> ast A).

  (** A state without memory: the machine of threads keeps a thread's cells apart from its code. *)
  Definition bare (s : ast A) : ast A := aput S s ∅.

  Definition agent_next (t : nat) (s : ast A) (m : mem) : thread_act PRIM mem (ast A) :=
    match anext A (home t) (aput S s m) with
    | ADone => TDone
    | AStuck => TStuck
    | ATau s' => TTau (bare s') (amem A s')
    | APrim p =>
        match means p with
        | Ordinary => TPrim p
        | SwitchTo to => TSwitch t to
        | Begin u => TInit u (Z.of_nat u + 1)
        end
    end.
  Definition agent_threads : thread_code PRIM mem :=
    ThreadCode (ast A) agent_next (fun s v => aresume A s v ∅) (fun v => bare (begin (Z.to_nat (v - 1)))).

  (** Thread in state [s] of the agent. *)
  Definition thread_at (ph : phase) (s : ast A) : tstate agent_threads := TState agent_threads ph (bare s) (amem A s).

  Lemma put_bare s m : aput S (bare s) m = aput S s m.
  Proof using. apply aput_aput. Qed.
  Lemma put_own s : aput S (bare s) (amem A s) = s.
  Proof using. rewrite put_bare. apply aput_amem. Qed.
  Lemma bare_put s m : bare (aput S s m) = bare s.
  Proof using. apply aput_aput. Qed.
  Lemma resume_put s v m m' : aput S (aresume A s v m) m' = aresume A s v m'.
  Proof using. apply aput_aresume. Qed.
  Lemma resume_mem s v m : amem A (aresume A s v m) = m.
  Proof using S. pose proof (amem_aput A S (aresume A s v m) m) as E. rewrite aput_aresume in E. exact E. Qed.
  Lemma resume_bare s v m : aresume A (bare s) v m = aresume A s v m.
  Proof using. apply aresume_aput. Qed.

  (** What a running thread does next, and when a primitive has returned. *)
  Definition agent_act (t : nat) (x : tstate agent_threads) : act (tprim PRIM) (tstate agent_threads) :=
    match anext A (home t) (aput S (tcode _ x) (tmem _ x)) with
    | ADone => ADone
    | AStuck => AStuck
    | ATau s => ATau (thread_at Running s)
    | APrim p =>
        match means p with
        | Ordinary => APrim (PBase p)
        | SwitchTo to => ATau (TState agent_threads (Leaving t to) (tcode _ x) (tmem _ x))
        | Begin u => APrim (PInit u (Z.of_nat u + 1))
        end
    end.
  Lemma thread_running t x : tphase _ x = Running -> thread_next agent_threads t x = agent_act t x.
  Proof using.
    intros Hx. unfold thread_next, agent_act. rewrite Hx. simpl. unfold agent_next.
    destruct (anext A (home t) _) as [| |s|p]; try done. by destruct (means p).
  Qed.
  Lemma thread_at_next t s : thread_next agent_threads t (thread_at Running s) =
    match anext A (home t) s with
    | ADone => ADone
    | AStuck => AStuck
    | ATau s => ATau (thread_at Running s)
    | APrim p =>
        match means p with
        | Ordinary => APrim (PBase p)
        | SwitchTo to => ATau (TState agent_threads (Leaving t to) (bare s) (amem A s))
        | Begin u => APrim (PInit u (Z.of_nat u + 1))
        end
    end.
  Proof using. rewrite thread_running by done. unfold agent_act, thread_at. simpl. by rewrite put_own. Qed.
  Lemma thread_returned x v m : tphase _ x = Running ->
    thread_resume agent_threads x v m = thread_at Running (aresume A (aput S (tcode _ x) (tmem _ x)) v m).
  Proof using.
    intros Hx. unfold thread_resume, thread_at. rewrite Hx. simpl. unfold bare. by rewrite resume_put, resume_mem, aresume_aput.
  Qed.
  Lemma thread_at_returned s v m : thread_resume agent_threads (thread_at Running s) v m = thread_at Running (aresume A s v m).
  Proof using. rewrite thread_returned by done. unfold thread_at. simpl. by rewrite put_own. Qed.

  (** Memory is just memory, for threads as for CPUs. *)
  Lemma agent_threads_framed t s (m r : mem) : m ##ₘ r ->
    match tnext agent_threads t s m with
    | TDone => tnext agent_threads t s (m ∪ r) = TDone
    | TStuck => True
    | TTau s' m' => tnext agent_threads t s (m ∪ r) = TTau s' (m' ∪ r) /\ forall k, m' !! k = None <-> m !! k = None
    | TPrim p => tnext agent_threads t s (m ∪ r) = TPrim p
    | TSwitch from to => tnext agent_threads t s (m ∪ r) = TSwitch from to
    | TInit t' v => tnext agent_threads t s (m ∪ r) = TInit t' v
    end.
  Proof using.
    intros Hd. simpl. unfold agent_next. pose proof (anext_more A S (home t) (aput S s m) r) as Hn.
    rewrite amem_aput, aput_aput in Hn. specialize (Hn Hd).
    destruct (anext A (home t) (aput S s m)) as [| |s'|p]; [by rewrite Hn|done|..].
    - destruct Hn as [-> Hdom]. rewrite bare_put, amem_aput. split; [done|]. intros k.
      apply (set_eq (C := gset cell)) with (x := k) in Hdom.
    split; intros Hk; apply (not_elem_of_dom (M := gmap cell) (D := gset cell)); intros Hin;
      apply (not_elem_of_dom (M := gmap cell) (D := gset cell)) in Hk; apply Hk; apply Hdom; exact Hin.
    - rewrite Hn. by destruct (means p).
  Qed.

  (** ** On shared memory *)
  Definition flat_put (x : flat agent_threads) (m : mem) : flat agent_threads :=
    Flat agent_threads (fcur _ x) (ftransit _ x) (fcode _ x) m.
  (** The cells that the next step touches: those that the code of the current thread does. *)
  Definition flat_foot (c : nat) (x : flat agent_threads) : list cell :=
    match ftransit _ x, fcode _ x (fcur _ x) with
    | None, (Running, s) => afoot S (home (fcur _ x)) (aput S s (fmem _ x))
    | _, _ => []
    end.

  Program Definition shared_threads : shareable (flat_agent agent_threads) :=
    Shareable _ (flat_agent agent_threads) flat_put flat_foot _ _ _ _ _ _ _.
  Next Obligation. done. Qed.
  Next Obligation. by intros []. Qed.
  Next Obligation. done. Qed.
  Next Obligation. done. Qed.
  Next Obligation. intros x v m m'. simpl. unfold flat_resume. by destruct (fcode _ x (fcur _ x)) as [[] ?]. Qed.
  Next Obligation.
    intros c x rest Hd. simpl in *. unfold flat_next, flat_put, flat_set. simpl.
    destruct (fcode _ x (fcur _ x)) as [ph s], (ftransit _ x) as [v|]; [done|].
    destruct ph; [|done..]. pose proof (agent_threads_framed (fcur _ x) s (fmem _ x) rest Hd) as Hf. simpl in Hf.
    destruct (agent_next (fcur _ x) s (fmem _ x)) as [| |s' m'|p|from to|t' v]; simpl; rewrite ?Hf; try done.
    destruct Hf as [Hf Hdom]. rewrite Hf. split; [done|]. apply set_eq. intros k.
    split; intros [v Hv]%(elem_of_dom (M := gmap cell) (D := gset cell)); apply (elem_of_dom (M := gmap cell) (D := gset cell));
      apply not_eq_None_Some; intros E; apply Hdom in E; unfold mem in *; by rewrite E in Hv.
  Qed.
  Next Obligation.
    intros c x rest k Hd Hn. simpl in *. unfold flat_foot, flat_put. simpl. unfold flat_next in Hn.
    destruct (fcode _ x (fcur _ x)) as [ph s], (ftransit _ x) as [v|]; [by intros ?%elem_of_nil|].
    destruct ph; [|by intros ?%elem_of_nil..]. simpl in Hn. unfold agent_next in Hn.
    pose proof (afoot_owned A S (home (fcur _ x)) (aput S s (fmem _ x)) rest k) as Ho. rewrite amem_aput, aput_aput in Ho.
    apply Ho; [done|]. intros E. by rewrite E in Hn.
  Qed.
End code.
