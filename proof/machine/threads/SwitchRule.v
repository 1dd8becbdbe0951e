(** The call rule of the switch.

    A thread that switches away hands over the cells of its CPU, in a state that is valid for the thread it names, and holds no
    lock. When it returns, the CPU's cells are handed back to it in a state that is valid for itself; its own cells are as it
    left them. [valid c h to d] is chosen by the client, where [h] is what CPU [c] was when it was last handed over; every thread guarantees it at each of its switches. A thread that was given a new stack
    meanwhile does not return: it begins anew, with the CPU's cells and its own. *)
From Ashlar Require Export machine.threads.CellBaton machine.threads.SwitchModule machine.threads.Handed machine.SharedKernel.

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
  Context (valid : nat -> option mem -> nat -> mem -> Prop).
  Notation last_handed := (last_handed (D:=mem) L home).
  Notation has_since := (has_since (D:=mem) L home first).

  (** What all CPUs guarantee for the layer below; and what holds of a CPU whenever it is handed over, which events of others keep. *)
  Context (sound : log L -> Prop) (settled : nat -> log L -> Prop).
  Context (settled_stable : forall c e l, others L c e -> sound (e ++ l) -> settled c l -> settled c (e ++ l)).

  (** What is handed over is valid, and a thread that is given a new continuation begins as [begin] says. *)
  Fixpoint hands_valid (l : log TL) : Prop :=
    match l with
    | [] => True
    | e :: l => match what e with
        | USwitch _ to d => valid (home (who e)) (last_handed (home (who e)) l) to d /\ settled (home (who e)) (base l)
        | UInit u v => v = Z.of_nat u + 1
        | _ => True
        end /\ hands_valid l
    end.
  (** What all threads guarantee. *)
  Definition guaranteed (l : log TL) : Prop := sound (base l) /\ hands_valid l.

  Lemma handed_valid l c d : hands_valid l -> transit L home c l = Some d -> exists h, valid c h (current_thread L first c (cpu_view L home l)) d.
  Proof using.
    induction l as [|[t o] l IH]; [done|]. simpl. intros [Ho Hl]. destruct (decide (home t = c)) as [<-|Hne].
    - destruct o as [o|from to d'|u v|]; simpl in *; [by apply IH| |by apply IH|done]. intros [= ->]. rewrite decide_True by done. eexists. apply Ho.
    - destruct o as [o|from to d'|u v|]; simpl in *; try by apply IH. rewrite decide_False by done. by apply IH.
  Qed.
  (** So what a CPU is when it is handed over is related, by any relation that is transitive there, to what it was before. *)
  Lemma handed_related (R : nat -> mem -> mem -> Prop) c : (forall d to d', valid c (Some d) to d' -> R c d d') ->
    (forall d d' to d'', R c d d' -> valid c (Some d') to d'' -> R c d d'') ->
    forall e l d d', hands_valid (e ++ l) -> last_handed c l = Some d -> last_handed c (e ++ l) = Some d' -> d' = d \/ R c d d'.
  Proof using.
    intros Hone Htrans e l d d' Hv Hd. revert d'. induction e as [|[t o] e IH]; intros d' Hd'; [left; simpl in *; congruence|]. destruct Hv as [Ho Hv].
    destruct o as [o|from to x|u v|]; simpl in *; try by apply IH. destruct (decide (home t = c)) as [<-|]; [|by apply IH]. injection Hd' as ->. destruct Ho as [Ho _].
    destruct (last_handed (home t) (e ++ l)) as [d1|] eqn:E.
    - right. destruct (IH Hv d1 eq_refl) as [-> |]; [by eapply Hone|by eapply Htrans].
    - exfalso. clear -E Hd. induction e as [|[u o] e IH]; simpl in *; [congruence|]. destruct o; try by apply IH. case_decide; [done|by apply IH].
  Qed.
  (** A CPU that is being handed over is as it was when it was left, but for what others have done. *)
  Lemma handed_settled l c d : legal TL l -> guaranteed l -> transit L home c l = Some d -> settled c (base l).
  Proof using settled_stable.
    intros Hleg [Hs Hl] Hd. assert (exists e l0, base l = e ++ l0 /\ others L c e /\ settled c l0) as (e & l0 & E & He & H0).
    2: { rewrite E in Hs |- *. by apply settled_stable. }
    clear Hs. induction Hleg as [|t p m v m' o l Hleg IH Hp]; [done|]. destruct Hl as [Ho Hl]. destruct (decide (home t = c)) as [Ec|Hne].
    - simpl in Hd. rewrite decide_True in Hd by done. simpl in Hp. unfold thread_step_of in Hp.
      destruct (decide (current_thread L first (home t) (cpu_view L home l) = t)) as [Et|]; [|done].
      destruct o as [o|from to d'|u w|]; simpl in Ho.
      + rewrite Ec in Hp. rewrite Hd in Hp. by destruct p.
      + exists [], (base l). split; [done|]. split; [constructor|]. rewrite <- Ec. apply Ho.
      + rewrite Ec in Hp. rewrite Hd in Hp. by destruct p.
      + done.
    - assert (transit L home c l = Some d) as Hd' by (simpl in Hd; by rewrite decide_False in Hd). destruct (IH Hl Hd') as (e & l0 & E & He & H0).
      destruct o as [o| | |]; [|by exists e, l0..]. exists (Event (home t) o :: e), l0. split; [exact (f_equal (cons (Event (home t) o)) E)|].
      split; [by constructor|done].
  Qed.
  Lemma handed_started l t : hands_valid l -> started L t (cpu_view L home l) = 0 \/ started L t (cpu_view L home l) = Z.of_nat t + 1.
  Proof using.
    induction l as [|[u o] l IH]; [by left|]. intros [Ho Hl]. specialize (IH Hl). destruct o as [o|from to d|w v|]; simpl in *; [done|by case_decide; [left|]| |done].
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

    (** Events of others leave the thread's CPU as it is. *)
    Lemma settled_rely l l' : has_cpu t l -> settled c (base l) -> rely TL guaranteed t l l' -> settled c (base l').
    Proof using settled_stable.
      intros Hcpu Hs (e & -> & He & [HG _] & _ & Hleg). destruct (others_base nthread X home first L quiet e l t Hleg Hcpu He) as [Hb _].
      assert (base (e ++ l) = base e ++ base l) as E by exact (base_app home L e l). rewrite E in HG |- *. by apply settled_stable.
    Qed.
    (** The judgement about a thread's kernel code: it runs to [Q0]. *)
    Definition runs_to (s : cfg) (l : log TL) : Prop := run TL TA guaranteed t Q0 (at_busy s) l.

    Lemma runs_to_tau s s' l : next B M c s = ETau s' -> runs_to s' l -> runs_to s l.
    Proof using.
      intros Hn Hr. eapply run_tau; [|exact Hr]. change (thread_next T t (at_busy s) = ATau (at_busy s')).
      rewrite thread_at_next. simpl. by rewrite Hn.
    Qed.

    Theorem switch_stack_rule to m h d m' l (Q : Z -> mem -> log TL -> Prop) :
      has_since h t l -> quiet c (base l) = true -> settled c (base l) -> bd_split X c to m = Some (d, m') -> valid c h to d ->
      to <> t -> home to = c -> (to < nthread)%nat ->
      (forall h' d' l', has_since (Some d') t l' -> quiet c (base l') = true -> sound (base l') -> settled c (base l') -> valid c h' t d' -> Q0 (TState T Running (bare S (begin t)) (d' ∪ m')) l') ->
      (forall h' d' l', has_since (Some d') t l' -> quiet c (base l') = true -> sound (base l') -> settled c (base l') -> valid c h' t d' -> Q 0 (d' ∪ m') l') ->
      fwp runs_to switch_stack [Z.of_nat to] m l Q.
    Proof using stack_below own_quiet settled_stable.
      intros [[Hon Htr] Hlast] Hq Hset Hs Hv Hne Hh Hlt Hnew HQ k r x es He Hk. unfold runs_to.
      set (s := Cfg (KStmt (Call x switch_stack es) :: k) r m).
      refine (run_tau TL TA guaranteed t Q0 (at_busy s) (TState T (Leaving t to) (bare S (@Busy _ _ C E u s)) m) l _ _).
      { change (thread_next T t (at_busy s) =
          ATau (TState T (Leaving t to) (bare S (@Busy _ _ C E u s)) m)). rewrite thread_at_next. simpl. rewrite He, stack_below. simpl.
        by rewrite Nat2Z.id. }
      eapply run_prim; [done|]. intros l' Hr. pose proof (settled_rely l l' (conj Hon Htr) Hset Hr) as Hset'. pose proof Hr as (e & _ & _ & HG & _ & _).
      destruct (baton_replay L X nthread home first quiet quiet guaranteed t l l' own_quiet Hon Hr) as (Hon' & Hq' & Htr').
      rewrite Htr in Htr'. rewrite Hq in Hq'. pose proof (handed_rely L X nthread home first quiet guaranteed t l l' Hon Hr) as Hlast'. rewrite Hlast in Hlast'.
      cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of.
      rewrite decide_True by exact Hon'. rewrite Htr'. rewrite decide_True by (by split_and!). rewrite Hs.
      assert (valid c (last_handed c l') to d) as Hv1 by (by rewrite Hlast').
      split; [split; [exact (proj1 HG)|exact (conj (conj Hv1 Hset') (proj2 HG))]|]. cbn [aresume thread_agent thread_resume tphase tcode].
      eapply run_prim; [done|]. intros l'' Hr2. pose proof Hr2 as (e2 & _ & _ & HG2 & _ & Hleg2).
      cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of.
      destruct (decide (current_thread L first c (cpu_view L home l'') = t)) as [Hon2|]; [|done].
      destruct (transit L home c l'') as [d'|] eqn:Ed; [|done].
      destruct (handed_valid l'' c d' (proj2 HG2) Ed) as [h' Hv']. rewrite Hon2 in Hv'.
      destruct (transit_valid L X nthread home first quiet (fun _ _ _ => True) own_quiet (fun _ _ _ _ _ _ => I) l'' c d' Hleg2 Ed) as [_ Hq2].
      assert (has_since (Some d') t (Event t UResume :: l'')) as Hcpu2 by (split; [split; [exact Hon2|]; simpl; by rewrite decide_True|exact (handed_transit L home c _ d' Ed)]).
      pose proof (handed_settled l'' c d' Hleg2 HG2 Ed) as Hset2.
      split; [split; [exact (proj1 HG2)|exact (conj I (proj2 HG2))]|]. destruct (handed_started l'' t (proj2 HG2)) as [-> | ->].
      - assert (Hback : aresume TA (TState T Suspended (bare S (@Busy _ _ C E u s)) m') 0 (d' ∪ m') = at_busy (Cfg k (set_result x 0 r) (d' ∪ m')))
          by done.
        refine (eq_ind_r (fun y => run TL TA guaranteed t Q0 y (Event t UResume :: l'')) _ Hback).
        apply Hk, (HQ h'); [exact Hcpu2|exact Hq2|exact (proj1 HG2)|exact Hset2|exact Hv'].
      - change (aresume TA) with (thread_resume T). rewrite (proj2 (begins_anew t _ m')). apply run_done, (Hnew h'); [exact Hcpu2|exact Hq2|exact (proj1 HG2)|exact Hset2|exact Hv'].
    Qed.
  End thread.
End rule.
