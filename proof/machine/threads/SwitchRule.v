(** The call rule of the switch.

    A thread that switches away hands over the cells of its CPU, in a state that is valid for the thread it names, and holds no
    lock. When it returns, the CPU's cells are handed back to it in a state that is valid for itself; its own cells are as it
    left them. [valid c to d] is chosen by the client; every thread guarantees it at each of its switches. A thread that was given a new stack
    meanwhile does not return: it begins anew, with the CPU's cells and its own. *)
From Ashlar Require Export machine.threads.CellBaton machine.threads.SwitchModule machine.threads.LinkLogs machine.SharedKernel.

Section rule.
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (stack_below : M switch_stack = None).
  Notation B := (arch_builtins kernel_entry).
  Notation E := (c_engine B M exported).
  Notation A := (system C E).
  Notation S := (shared_kernel kernel_entry M exported C).
  Context (L : layer cprim mem) (nthread : nat) (home first : nat -> nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
  Context (quiet : nat -> log L -> bool) (own_quiet : own_replay L quiet).
  Notation X := (cell_baton cell_of_cpu parked).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first quiet).
  Notation base l := (base L (cpu_view L home l)).
  Notation has_cpu := (has_cpu (D:=mem) home first L).
  Context (valid : nat -> nat -> mem -> Prop).

  (** What is handed over is valid, and a thread that is given a new continuation begins as [begin] says. *)
  Definition hands_valid (l : log TL) : Prop :=
    Forall (fun e => match what e with USwitch _ to d => valid (home (who e)) to d | UInit u v => v = Z.of_nat u + 1 | _ => True end) l.

  (** What all threads guarantee: besides, whatever all CPUs guarantee for the layer below, [sound]. *)
  Context (sound : log L -> Prop).
  Definition guaranteed (l : log TL) : Prop := sound (base l) /\ hands_valid l.

  Lemma handed_valid l c d : hands_valid l -> transit L home c l = Some d -> valid c (current_thread L first c (cpu_view L home l)) d.
  Proof using.
    induction 1 as [|[t o] l Ho Hl IH]; [done|]. simpl. destruct (decide (home t = c)) as [<-|Hne].
    - destruct o as [o|from to d'|u v|]; simpl in *; [exact IH| |exact IH|done]. intros [= ->]. by rewrite decide_True.
    - destruct o as [o|from to d'|u v|]; simpl in *; try exact IH. by rewrite decide_False.
  Qed.
  Lemma handed_started l t : hands_valid l -> started L t (cpu_view L home l) = 0 \/ started L t (cpu_view L home l) = Z.of_nat t + 1.
  Proof using.
    induction 1 as [|[u o] l Ho Hl IH]; [by left|]. destruct o as [o|from to d|w v|]; simpl in *; [done|by case_decide; [left|]| |done].
    case_decide as E; [subst; by right|done].
  Qed.
  Lemma begins_anew t (s : ast A) m : back T (bare S s) (Z.of_nat t + 1) = bare S (begin t) /\
    thread_resume T (TState T Suspended (bare S s) m) (Z.of_nat t + 1) = fun m' => TState T Running (bare S (begin t)) m'.
  Proof using.
    assert (back T (bare S s) (Z.of_nat t + 1) = bare S (begin t)) as E.
    { unfold back. rewrite decide_False by lia. simpl. by replace (Z.to_nat (Z.of_nat t + 1 - 1)) with t by lia. }
    split; [done|]. unfold thread_resume. cbn [tphase tcode]. by rewrite E.
  Qed.

  Section thread.
    Context (t : nat) (Q0 : ast TA -> log TL -> Prop) (u : cstate C).
    Notation c := (home t).
    Notation at_busy s := (thread_at S home switch_means begin Running (@Busy _ _ C E u s)).

    (** The judgement about a thread's kernel code: it runs to [Q0]. *)
    Definition runs_to (s : cfg) (l : log TL) : Prop := run TL TA guaranteed t Q0 (at_busy s) l.

    Lemma runs_to_tau s s' l : next B M c s = ETau s' -> runs_to s' l -> runs_to s l.
    Proof using.
      intros Hn Hr. eapply run_tau; [|exact Hr]. change (thread_next T t (at_busy s) = ATau (at_busy s')).
      rewrite thread_at_next. simpl. by rewrite Hn.
    Qed.

    Theorem switch_stack_rule to m d m' l (Q : Z -> mem -> log TL -> Prop) :
      has_cpu t l -> quiet c (base l) = true -> bd_split X c to m = Some (d, m') -> valid c to d ->
      to <> t -> home to = c -> (to < nthread)%nat ->
      (forall d' l', has_cpu t l' -> quiet c (base l') = true -> sound (base l') -> valid c t d' -> Q0 (TState T Running (bare S (begin t)) (d' ∪ m')) l') ->
      (forall d' l', has_cpu t l' -> quiet c (base l') = true -> sound (base l') -> valid c t d' -> Q 0 (d' ∪ m') l') ->
      fwp runs_to switch_stack [Z.of_nat to] m l Q.
    Proof using stack_below own_quiet.
      intros [Hon Htr] Hq Hs Hv Hne Hh Hlt Hnew HQ k r x es He Hk. unfold runs_to.
      set (s := Cfg (KStmt (Call x switch_stack es) :: k) r m).
      refine (run_tau TL TA guaranteed t Q0 (at_busy s) (TState T (Leaving t to) (bare S (@Busy _ _ C E u s)) m) l _ _).
      { change (thread_next T t (at_busy s) =
          ATau (TState T (Leaving t to) (bare S (@Busy _ _ C E u s)) m)). rewrite thread_at_next. simpl. rewrite He, stack_below. simpl.
        by rewrite Nat2Z.id. }
      eapply run_prim; [done|]. intros l' Hr. pose proof Hr as (e & _ & _ & HG & _ & _).
      destruct (baton_replay L X nthread home first quiet quiet guaranteed t l l' own_quiet Hon Hr) as (Hon' & Hq' & Htr').
      rewrite Htr in Htr'. rewrite Hq in Hq'. cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of.
      rewrite decide_True by exact Hon'. rewrite Htr'. rewrite decide_True by (by split_and!). rewrite Hs.
      split; [split; [exact (proj1 HG)|by constructor; [|exact (proj2 HG)]]|]. cbn [aresume thread_agent thread_resume tphase tcode].
      eapply run_prim; [done|]. intros l'' Hr2. pose proof Hr2 as (e2 & _ & _ & HG2 & _ & Hleg2).
      cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of.
      destruct (decide (current_thread L first c (cpu_view L home l'') = t)) as [Hon2|]; [|done].
      destruct (transit L home c l'') as [d'|] eqn:Ed; [|done].
      pose proof (handed_valid l'' c d' (proj2 HG2) Ed) as Hv'. rewrite Hon2 in Hv'.
      destruct (transit_valid L X nthread home first quiet (fun _ _ _ => True) own_quiet (fun _ _ _ _ _ _ => I) l'' c d' Hleg2 Ed) as [_ Hq2].
      assert (has_cpu t (Event t UResume :: l'')) as Hcpu2 by (split; [exact Hon2|]; simpl; by rewrite decide_True).
      split; [split; [exact (proj1 HG2)|by constructor; [|exact (proj2 HG2)]]|]. destruct (handed_started l'' t (proj2 HG2)) as [-> | ->].
      - assert (Hback : aresume TA (TState T Suspended (bare S (@Busy _ _ C E u s)) m') 0 (d' ∪ m') = at_busy (Cfg k (set_result x 0 r) (d' ∪ m')))
          by done.
        refine (eq_ind_r (fun y => run TL TA guaranteed t Q0 y (Event t UResume :: l'')) _ Hback).
        apply Hk, HQ; [exact Hcpu2|exact Hq2|exact (proj1 HG2)|exact Hv'].
      - change (aresume TA) with (thread_resume T). rewrite (proj2 (begins_anew t _ m')). apply run_done, Hnew; [exact Hcpu2|exact Hq2|exact (proj1 HG2)|exact Hv'].
    Qed.
  End thread.
End rule.
