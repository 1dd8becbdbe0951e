(** Infinite fair executions exist, so the theorems about all of them are not vacuous.

    The CPUs act in turn: the one whose turn it is takes private steps until it has caused one event, then the next CPU
    does. If each CPU, in whatever state it is, comes to a primitive after finitely many private steps ([acts]), and
    the scheduler assumption admits that order ([by_turns]), this goes on forever, and every CPU is served again and again. *)
From Ashlar Require Export calculus.logs.Engine calculus.logs.Soundness.

Section forever.
  Context {PRIM MEM : Type} (ncpu : nat) (L : layer PRIM MEM) (A : agent PRIM MEM) (P : nat -> ast A).

  (** CPU [c] comes to a primitive. *)
  Inductive acts (c : nat) : ast A -> Prop :=
  | acts_now s p : anext A c s = APrim p -> acts c s
  | acts_tau s s' : anext A c s = ATau s' -> acts c s' -> acts c s.

  (** Whose turn it is after [l]. *)
  Definition turn (l : log L) : nat := match l with [] => 0 | e :: _ => Nat.modulo (S (who e)) ncpu end.
  Inductive by_turns : log L -> Prop :=
  | by_turns_nil : by_turns []
  | by_turns_cons o l : by_turns l -> by_turns (Event (turn l) o :: l).

  (** One step of CPU [c]; none where it cannot move. *)
  Definition move (c : nat) (g : state L A) : state L A :=
    match anext A c (gagent g c) with
    | ATau s => State (glog g) (update A (gagent g) c s)
    | APrim p =>
        match lstep L c p (amem A (gagent g c)) (glog g) with
        | Ok v m o => State (Event c o :: glog g) (update A (gagent g) c (aresume A (gagent g c) v m))
        | _ => g
        end
    | _ => g
    end.
  Definition go (g : state L A) : state L A := move (turn (glog g)) g.
  Fixpoint going (i : nat) : state L A := match i with O => State [] P | S i => go (going i) end.
  Local Arguments going : simpl never.
  Definition whose (i : nat) : nat := turn (glog (going i)).

  Context (cpus : (0 < ncpu)%nat).
  Context (unblocked : forall c p m l, lstep L c p m l <> Blocked).
  Context (machine_never_wrong : never_wrong ncpu L A P).
  Context (acting : forall g c, reach ncpu L A P g -> (c < ncpu)%nat -> acts c (gagent g c)).
  Context (admitted : forall l, traces ncpu L A P l -> by_turns l -> lsched L (turn l) l).

  Lemma turn_below l : (turn l < ncpu)%nat.
  Proof using cpus. destruct l; simpl; [done|]. apply Nat.mod_upper_bound. lia. Qed.

  Lemma go_step g : reach ncpu L A P g -> by_turns (glog g) ->
    cpu_step ncpu L A (turn (glog g)) g (go g) /\ by_turns (glog (go g)).
  Proof using cpus unblocked machine_never_wrong acting admitted.
    intros Hr Hb. pose proof (turn_below (glog g)) as Hc. pose proof (acting g _ Hr Hc) as Ha.
    assert (Hs : lsched L (turn (glog g)) (glog g)).
    { apply admitted; [|done]. destruct g as [l f]. by exists f. }
    pose proof (machine_never_wrong g _ Hr Hc) as Hw. unfold go, move, goes_wrong in *. destruct g as [l f]. simpl in *.
    destruct (anext A (turn l) (f (turn l))) as [| |s|p] eqn:En.
    - inversion Ha; congruence.
    - by destruct Hw.
    - split; [by constructor|done].
    - destruct (lstep L (turn l) p (amem A (f (turn l))) l) as [| |v m o] eqn:Ep.
      + by apply unblocked in Ep.
      + by destruct Hw.
      + split; [by eapply step_prim|by constructor].
  Qed.

  Lemma going_reach i : reach ncpu L A P (going i) /\ by_turns (glog (going i)).
  Proof using cpus unblocked machine_never_wrong acting admitted.
    induction i as [|i [Hr Hb]]; [split; constructor|].
    pose proof (go_step _ Hr Hb) as [Hs Hb']. split; [|exact Hb']. eapply reach_step; [exact Hr|]. by eexists.
  Qed.
  Lemma going_step i : cpu_step ncpu L A (whose i) (going i) (going (S i)).
  Proof using cpus unblocked machine_never_wrong acting admitted. by apply go_step; apply going_reach. Qed.

  (** The turn passes to the next CPU. *)
  Lemma turn_passes c s : acts c s -> forall i, whose i = c -> gagent (going i) c = s ->
    exists n, whose (i + n)%nat = Nat.modulo (S c) ncpu.
  Proof using cpus unblocked machine_never_wrong acting admitted.
    induction 1 as [s p Hn|s s' Hn Ha IH]; intros i Hi Hg; pose proof (going_step i) as Hs; rewrite Hi in Hs.
    - exists 1%nat. rewrite Nat.add_1_r. unfold whose. remember (going i) as g eqn:Eg. remember (going (S i)) as g' eqn:Eg'.
      destruct Hs as [l f s' Hc Hn'|l f q v m o Hc Hn' Hsch Hp]; simpl in *; [congruence|done].
    - unfold whose in Hi. remember (going i) as g eqn:Eg. remember (going (S i)) as g' eqn:Eg'.
      destruct Hs as [l f s1 Hc Hn'|l f q v m o Hc Hn' Hsch Hp]; simpl in *; [|congruence].
      destruct (IH (S i)) as [n Hpass].
      + unfold whose. by rewrite <- Eg'.
      + rewrite <- Eg'. simpl. rewrite update_same. congruence.
      + exists (S n). by rewrite <- Nat.add_succ_comm.
  Qed.
  Lemma turns_pass k i : exists n, whose (i + n)%nat = Nat.modulo (whose i + k) ncpu.
  Proof using cpus unblocked machine_never_wrong acting admitted.
    induction k as [|k [n IH]].
    { exists 0%nat. rewrite !Nat.add_0_r. symmetry. apply Nat.mod_small, turn_below. }
    destruct (turn_passes _ _ (acting _ (whose (i + n)) (proj1 (going_reach (i + n))) (turn_below _)) _ eq_refl eq_refl) as [m Hm].
    exists (n + m)%nat. rewrite Nat.add_assoc, Hm, IH. rewrite <- Nat.add_1_r, Nat.add_mod_idemp_l by lia. f_equal. lia.
  Qed.

  Theorem fair_execution_exists : execution ncpu L A P going whose /\ forall c, (c < ncpu)%nat -> fair whose c.
  Proof using cpus unblocked machine_never_wrong acting admitted.
    split; [split; [done|exact going_step]|]. intros c Hc i. pose proof (turn_below (glog (going i))) as Hi. fold (whose i) in Hi.
    destruct (turns_pass (ncpu - whose i + c) i) as [n Hn]. exists n. rewrite Hn.
    replace (whose i + (ncpu - whose i + c))%nat with (c + 1 * ncpu)%nat by lia.
    rewrite Nat.mod_add by lia. by apply Nat.mod_small.
  Qed.
End forever.

(** ** Clients that do not fall silent *)

(** From state [s] the client on CPU [c] comes to show a value, whatever its calls return. *)
Inductive speaks (C : client) (c : nat) : cstate C -> Prop :=
| speaks_now s v : cnext C c s = COut v -> speaks C c s
| speaks_tau s s' : cnext C c s = CTau s' -> speaks C c s' -> speaks C c s
| speaks_call s f args : cnext C c s = CCall f args -> (forall v, speaks C c (creturn C s v)) -> speaks C c s.

Section speaks.
  Context {PRIM MEM : Type} (L : layer PRIM MEM) (C : client) (E : engine PRIM MEM) (Gu : log L -> Prop) (c : nat).
  Notation A := (system C E).
  (** [I] is kept, and calls return. *)
  Context (I : ast A -> log L -> Prop) (I_step : forall t l, I t l -> safe_step L A Gu c I t l).
  Context (I_returns : forall t l, I t l -> run L A Gu c (fun t _ => exists s m, t = Idle s m) t l).
  Context (client_speaks : forall s, speaks C c s).

  Lemma kept_tau t t' l : I t l -> anext A c t = ATau t' -> I t' l.
  Proof using I_step. intros Ht Hn. apply I_step in Ht. unfold safe_step in Ht. by rewrite Hn in Ht. Qed.

  (** In the kernel a CPU comes to a primitive, or returns to a client that speaks. *)
  Lemma busy_acts s e l : (forall v m l, I (Idle (creturn C s v) m) l -> acts A c (Idle (creturn C s v) m)) ->
    I (Busy s e) l -> acts A c (Busy s e).
  Proof using I_step I_returns.
    intros Hs HI. pose proof (I_returns _ _ HI) as Hr.
    remember (Busy s e : ast A) as t eqn:Et. revert e Et HI.
    induction Hr as [t l (s1 & m & ->)|t t' l Hn Hr IH|t l p Hn _ _ _]; intros e Et HI.
    - discriminate Et.
    - eapply acts_tau; [exact Hn|]. pose proof (kept_tau _ _ _ HI Hn) as HI'. subst t. simpl in Hn.
      destruct (enext E c e) as [v m| |e'|p]; try done; injection Hn as <-; [by eapply Hs|by eapply IH].
    - by eapply acts_now.
  Qed.
  Lemma idle_acts s : speaks C c s -> forall m l, I (Idle s m) l -> acts A c (Idle s m).
  Proof using I_step I_returns.
    induction 1 as [s v Hn|s s' Hn Hs IH|s f args Hn Hs IH]; intros m l HI.
    - eapply acts_now. simpl. by rewrite Hn.
    - assert (Ht : anext A c (Idle s m) = ATau (Idle s' m)) by (simpl; by rewrite Hn).
      eapply acts_tau; [exact Ht|]. eapply IH. by eapply kept_tau.
    - assert (Ht : exists e, anext A c (Idle s m) = ATau (Busy s e)).
      { pose proof (I_step _ _ HI) as Hsafe. unfold safe_step in Hsafe. simpl in *. rewrite Hn in *.
        destruct (estart E f args m) as [e|]; [by exists e|done]. }
      destruct Ht as [e Ht]. eapply acts_tau; [exact Ht|]. eapply busy_acts; [|by eapply kept_tau]. intros v. apply IH.
  Qed.

  Theorem kept_acts t l : I t l -> acts A c t.
  Proof using I_step I_returns client_speaks.
    destruct t as [s m|s e]; intros HI; [by eapply idle_acts|]. eapply busy_acts; [|exact HI].
    intros v m l'. by apply idle_acts.
  Qed.
End speaks.

(** In an execution in which the calls of CPU [c] return, a client that speaks shows values again and again. *)
Section shows.
  Context {PRIM MEM : Type} (ncpu : nat) (L : layer PRIM MEM) (C : client) (E : engine PRIM MEM) (c : nat).
  Notation A := (system C E).
  Context (ex : nat -> state L A) (schedule : nat -> nat).
  Context (steps : forall i, cpu_step ncpu L A (schedule i) (ex i) (ex (S i))) (served : fair schedule c).
  Context (returns : forall i, exists j, (i <= j)%nat /\ exists s m, gagent (ex j) c = Idle s m).
  Context (client_speaks : forall s, speaks C c s).

  (** What one step makes of the CPU's state. *)
  Lemma step_own i : schedule i = c -> match anext A c (gagent (ex i) c) with
    | ATau t => gagent (ex (S i)) c = t
    | APrim p => exists v m, gagent (ex (S i)) c = aresume A (gagent (ex i) c) v m
    | _ => False
    end.
  Proof using steps.
    intros Hi. pose proof (steps i) as Hs. rewrite Hi in Hs. remember (ex i) as g eqn:Eg. remember (ex (S i)) as g' eqn:Eg'.
    destruct Hs as [l f t Hc Hn|l f p v m o Hc Hn Hsch Hp]; cbn [gagent]; rewrite Hn, update_same; [done|by exists v, m].
  Qed.
  Lemma step_other i : schedule i <> c -> gagent (ex (S i)) c = gagent (ex i) c.
  Proof using steps.
    intros Hi. pose proof (steps i) as Hs. remember (ex i) as g eqn:Eg. remember (ex (S i)) as g' eqn:Eg'.
    destruct Hs; cbn [gagent]; by rewrite update_other by congruence.
  Qed.

  Lemma busy_returns s n : forall i e, gagent (ex i) c = Busy s e -> (exists s' m, gagent (ex (i + n)%nat) c = Idle s' m) ->
    exists j v m, (i <= j)%nat /\ gagent (ex j) c = Idle (creturn C s v) m.
  Proof using steps.
    induction n as [|n IH]; intros i e He (s' & m & Hi); [rewrite Nat.add_0_r in Hi; congruence|].
    rewrite <- Nat.add_succ_comm in Hi.
    assert (Hnext : forall e', gagent (ex (S i)) c = Busy s e' -> exists j v m, (i <= j)%nat /\ gagent (ex j) c = Idle (creturn C s v) m).
    { intros e' He'. destruct (IH (S i) e' He') as (j & v & m' & Hj & H); [by exists s', m|]. exists j, v, m'. split; [lia|done]. }
    destruct (decide (schedule i = c)) as [Hc|Hc]; [|apply (Hnext e); by rewrite step_other].
    pose proof (step_own i Hc) as Hs. rewrite He in Hs. simpl in Hs. destruct (enext E c e) as [v m'| |e'|p]; try done.
    - exists (S i), v, m'. split; [lia|done].
    - by apply (Hnext e').
    - destruct Hs as (v & m' & Hs). by apply (Hnext (eresume E e v m')).
  Qed.

  Lemma idle_shows s : speaks C c s -> forall i m, gagent (ex i) c = Idle s m ->
    exists j s' m' v, (i <= j)%nat /\ gagent (ex j) c = Idle s' m' /\ cnext C c s' = COut v.
  Proof using steps served returns.
    induction 1 as [s v Hn|s s1 Hn Hs IH|s f args Hn Hs IH]; intros i m Hi; [by exists i, s, m, v|..].
    all: destruct (served i) as [n Hturn];
      destruct (wait_turn ncpu L A c ex schedule steps n i Hturn) as (j & Hj & Hc & Hg & _);
      rewrite Hi in Hg; pose proof (step_own j Hc) as Hstep; rewrite Hg in Hstep; simpl in Hstep; rewrite Hn in Hstep.
    - destruct (IH (S j) m Hstep) as (k & s' & m' & v & Hk & H). exists k, s', m', v. split; [lia|done].
    - destruct (estart E f args m) as [e|]; [|done]. destruct (returns (S j)) as (k & Hk & Hidle).
      destruct (busy_returns s (k - S j) (S j) e Hstep) as (k1 & v & m1 & Hk1 & H1).
      { by replace (S j + (k - S j))%nat with k by lia. }
      destruct (IH v k1 m1 H1) as (k2 & s' & m' & w & Hk2 & H2). exists k2, s', m', w. split; [lia|done].
  Qed.
  Theorem shows_forever i : exists j s m v, (i <= j)%nat /\ gagent (ex j) c = Idle s m /\ cnext C c s = COut v.
  Proof using steps served returns client_speaks.
    destruct (returns i) as (j & Hj & s & m & Hi). destruct (idle_shows s (client_speaks s) j m Hi) as (k & s' & m' & v & Hk & H).
    exists k, s', m', v. split; [lia|done].
  Qed.
End shows.
