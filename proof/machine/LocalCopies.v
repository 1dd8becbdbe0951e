(** Lemma 2, proved: the shared-memory machine is simulated by the ownership machine, step by step, and what follows for
    the multicore machine: it never goes wrong, it has no data races, and its infinite executions are infinite executions of
    the ownership machine under the same schedule. *)
From Ashlar Require Export machine.Ownership.

Section simulation.
  Context {PRIM : Type} (ncpu : nat) {H : hardware PRIM} {A : agent PRIM mem} (S : shareable A).
  Context (fairness : nat -> list (event (hmark H)) -> Prop) (m0 : mem) (P : nat -> ast A).
  Context (O : ownership H) (OK : ownership_ok O) (FAIR : fairness_ok fairness O) (DEALT : dealt ncpu m0 P O).
  Notation L := (olayer O).
  Notation multicore := (multicore H (A:=A)).
  Notation agrees := (agrees ncpu S O).

  (** What CPU [c] executes on the shared memory is what it has on its own, and more memory. *)
  Lemma agrees_current g s c : agrees g s -> (c < ncpu)%nat ->
    exists rest, mmem g = amem A (gagent s c) ∪ rest /\ amem A (gagent s c) ##ₘ rest /\
      current H S c g = aput S (gagent s c) (amem A (gagent s c) ∪ rest).
  Proof.
    intros Hg Hc. destruct (split_rest (mmem g) (amem A (gagent s c))) as (rest & Hm & Hd).
    { by apply (disjoint_own _ _ _ _ _ (agrees_disjoint _ _ _ _ _ Hg)). }
    exists rest. split_and!; [done..|]. unfold current. by rewrite (agrees_agent _ _ _ _ _ Hg), Hm.
  Qed.

  (** One step of CPU [c] of the ownership machine, as a function. *)
  Definition advance (c : nat) (s : state L A) : state L A :=
    match anext A c (gagent s c) with
    | ATau t => State (glog s) (update A (gagent s) c t)
    | APrim p =>
        match lstep L c p (amem A (gagent s c)) (glog s) with
        | Ok v m o => State (Event c o :: glog s) (update A (gagent s) c (aresume A (gagent s c) v m))
        | _ => s
        end
    | _ => s
    end.

  Lemma agrees_update f s t t' c : (forall c', (c' < ncpu)%nat -> forall m, aput S (f c') m = aput S (s c') m) ->
    (forall m, aput S t m = aput S t' m) ->
    forall c', (c' < ncpu)%nat -> forall m, aput S (update A f c t c') m = aput S (update A s c t' c') m.
  Proof. intros Hf Ht c' Hc' m. unfold update. destruct (decide (c' = c)); auto. Qed.

  Lemma advance_simulates g g' s c : agrees g s -> ~ goes_wrong L A c (gagent s c) (glog s) ->
    multicore_step ncpu H S fairness c g g' -> cpu_step ncpu L A c s (advance c s) /\ agrees g' (advance c s).
  Proof using OK FAIR.
    intros Hg Hw Hst. assert (Hc : (c < ncpu)%nat) by (by destruct Hst).
    destruct (agrees_current g s c Hg Hc) as (rest & Hm & Hd & Hcur).
    pose proof (anext_more A S c (gagent s c) rest Hd) as Hmore. rewrite <- Hcur in Hmore. clear Hcur.
    destruct Hg as [G1 G2 G3 G4]. destruct s as [l f]. unfold advance, goes_wrong in *. simpl in *.
    destruct Hst as [m x lm fm t _ Hn|m x lm fm p v x' o _ Hn Hf Hp]; unfold current in *; simpl in *;
      rewrite Hn in Hmore; destruct (anext A c (f c)) as [| |t'|p'] eqn:Ht; try done;
      try (by destruct Hw); try (by destruct Hmore).
    - destruct Hmore as [Hs Hdom]. injection Hs as ->. split; [by constructor|]. split; simpl; [done|done| |].
      + apply agrees_update; [done|]. intros. apply aput_aput.
      + rewrite amem_aput. rewrite Hm in G4. by eapply disjoint_private.
    - injection Hmore as <-. rewrite G1 in Hf. apply FAIR in Hf.
      destruct (lstep L c p (amem A (f c)) l) as [| |v2 m2 o2] eqn:Hl; [by apply (ok_blocked _ OK) in Hl|by destruct Hw|].
      destruct (ok_step _ OK _ _ _ _ _ _ _ Hl) as [Hh Hx]. rewrite <- G2, Hp in Hh. injection Hh as -> -> ->.
      split; [by econstructor|]. split; simpl; [by rewrite G1|done| |].
      + apply agrees_update; [done|]. intros m'. rewrite !aput_aresume, aresume_aput.
        rewrite <- (aresume_aput A S (fm c) m v2 m'), <- (aresume_aput A S (f c) m v2 m'). by rewrite G3.
      + eapply disjoint_exchange; [done| |done]. rewrite <- (aput_aresume A S (f c) v2 m2 m2), amem_aput. done.
  Qed.

  (** ** Every reachable state has a counterpart *)
  Context (NW : never_wrong ncpu L A P).

  Theorem multicore_agrees g : multicore_reach ncpu H S fairness m0 P g ->
    exists s, reach ncpu L A P s /\ agrees g s.
  Proof using OK FAIR DEALT NW.
    induction 1 as [|g g' c Hr (s & Hs & Hg) Hst].
    - exists (State [] P). split; [constructor|]. by apply agrees_start.
    - assert (Hc : (c < ncpu)%nat) by (by destruct Hst).
      destruct (advance_simulates g g' s c) as [Hstep Hg']; [done|by apply NW|done|].
      exists (advance c s). split; [|done]. eapply reach_step; [done|]. by exists c.
  Qed.

  Theorem multicore_never_wrong g c : multicore_reach ncpu H S fairness m0 P g -> (c < ncpu)%nat ->
    ~ multicore_wrong H S fairness c g.
  Proof using OK FAIR DEALT NW.
    intros Hr Hc Hw. destruct (multicore_agrees g Hr) as (s & Hs & Hg). apply (NW s c Hs Hc).
    destruct (agrees_current g s c Hg Hc) as (rest & Hm & Hd & Hcur).
    pose proof (anext_more A S c (gagent s c) rest Hd) as Hmore. rewrite <- Hcur in Hmore.
    unfold multicore_wrong, goes_wrong in *.
    destruct (anext A c (gagent s c)) as [| |t'|p] eqn:Ht; [| |destruct Hmore as [Hmore _]|].
    - by rewrite Hmore in Hw.
    - done.
    - by rewrite Hmore in Hw.
    - rewrite Hmore in Hw. destruct Hw as [Hf Hw]. rewrite (agrees_log _ _ _ _ _ Hg) in Hf. split; [by apply FAIR|].
      destruct (lstep L c p _ _) as [| |v m o] eqn:Hl; [by apply (ok_blocked _ OK) in Hl|done|].
      destruct (ok_step _ OK _ _ _ _ _ _ _ Hl) as [Hh _]. rewrite (agrees_cells _ _ _ _ _ Hg) in Hw. congruence.
  Qed.

  (** Data-race freedom: in no reachable state of the multicore machine are two CPUs about to touch the same ordinary
      cell; in particular, none is about to write what another is about to read or write. *)
  Theorem multicore_race_free g : multicore_reach ncpu H S fairness m0 P g -> ~ conflict ncpu H S g.
  Proof using OK FAIR DEALT NW.
    intros Hr (c & c' & x & Hc & Hc' & Hne & Hx & Hx'). destruct (multicore_agrees g Hr) as (s & Hs & Hg).
    assert (Hown : forall d, (d < ncpu)%nat -> x ∈ afoot S d (current H S d g) -> is_Some (amem A (gagent s d) !! x)).
    { intros d Hdc Hxd. destruct (agrees_current g s d Hg Hdc) as (rest & _ & Hd & Hcur). rewrite Hcur in Hxd.
      eapply afoot_owned; [exact Hd| |exact Hxd]. intros Hst. apply (NW s d Hs Hdc). unfold goes_wrong. by rewrite Hst. }
    destruct (Hown c Hc Hx) as [v Hv], (Hown c' Hc' Hx') as [v' Hv'].
    pose proof (disjoint_own_own _ _ _ _ _ (agrees_disjoint _ _ _ _ _ Hg) c c' Hc Hc' Hne) as Hdis.
    pose proof (map_disjoint_Some_l _ _ _ _ Hdis Hv) as Hn. discriminate (eq_trans (eq_sym Hv') Hn).
  Qed.

  (** Infinite executions: what CPUs inevitably reach on the ownership machine they inevitably reach on the multicore. *)
  Theorem multicore_execution (ex : nat -> multicore) (schedule : nat -> nat) :
    ex 0%nat = multicore_start H m0 P ->
    (forall i, multicore_step ncpu H S fairness (schedule i) (ex i) (ex (Datatypes.S i))) ->
    exists ex', execution ncpu L A P ex' schedule /\ forall i, agrees (ex i) (ex' i).
  Proof using OK FAIR DEALT NW.
    intros H0 Hst.
    set (ex' := fix ex' i := match i with 0%nat => State [] P | Datatypes.S i => advance (schedule i) (ex' i) end).
    assert (Hall : forall i, reach ncpu L A P (ex' i) /\ agrees (ex i) (ex' i) /\
      cpu_step ncpu L A (schedule i) (ex' i) (ex' (Datatypes.S i))).
    { induction i as [|i (Hr & Hg & Hc)].
      - assert (Hg : agrees (ex 0%nat) (ex' 0%nat)) by (rewrite H0; by apply agrees_start).
        assert (Hr : reach ncpu L A P (ex' 0%nat)) by constructor.
        assert (Hc : (schedule 0 < ncpu)%nat) by (by destruct (Hst 0%nat)).
        destruct (advance_simulates _ _ (ex' 0%nat) _ Hg (NW _ _ Hr Hc) (Hst 0%nat)). done.
      - assert (Hr' : reach ncpu L A P (ex' (Datatypes.S i))) by (eapply reach_step; [done|by exists (schedule i)]).
        assert (Hci : (schedule i < ncpu)%nat) by (by destruct (Hst i)).
        destruct (advance_simulates _ _ (ex' i) _ Hg (NW _ _ Hr Hci) (Hst i)) as [_ Hg'].
        assert (Hc' : (schedule (Datatypes.S i) < ncpu)%nat) by (by destruct (Hst (Datatypes.S i))).
        destruct (advance_simulates _ _ (ex' (Datatypes.S i)) _ Hg' (NW _ _ Hr' Hc') (Hst (Datatypes.S i))). done. }
    exists ex'. split; [|intros i; by apply Hall]. split; [done|]. intros i. by apply Hall.
  Qed.
End simulation.

Section lemma2.
  Context {PRIM : Type} (ncpu : nat) {H : hardware PRIM} {A : agent PRIM mem} (S : shareable A).
  Context (fairness : nat -> list (event (hmark H)) -> Prop) (m0 : mem) (P : nat -> ast A).
  Context (O : ownership H) (OK : ownership_ok O) (FAIR : fairness_ok fairness O) (DEALT : dealt ncpu m0 P O).
  Notation L := (olayer O).

  (** The programs [P] on the machine with local copies: [[P]]lcm. *)
  Definition local_copy : semantics (log L) := Semantics (never_wrong ncpu L A P) (traces ncpu L A P).

  (** Lemma 2 of the paper (correctness of the local copy model): for all P, [[P]]hs refines [[P]]lcm. *)
  Theorem lemma2_local_copies : refines (hs ncpu H S fairness m0 P) (observed (erase O) local_copy).
  Proof using OK FAIR DEALT.
    intros NW. simpl in NW. split.
    - intros E h c Hr%scheduled_sound Hc. by eapply multicore_never_wrong.
    - intros l (E & h & Hr & <-). rewrite (scheduled_marks _ _ _ _ _ _ _ _ Hr).
      apply scheduled_sound in Hr.
      destruct (multicore_agrees ncpu S fairness m0 P O OK FAIR DEALT NW _ Hr) as ([l f] & Hs & Hg).
      exists l. split; [by exists f|]. symmetry. apply (agrees_log _ _ _ _ _ Hg).
  Qed.
End lemma2.
