(** The converse for infinite executions: what CPUs do with ownership, under a scheduler assumption that the hardware can
    see, they can do on shared memory, step by step. So infinite fair executions exist there too. *)
From Ashlar Require Export machine.Chain.

Section converse.
  Context {PRIM : Type} (ncpu : nat) {H : hardware PRIM} {A : agent PRIM mem} (S : shareable A).
  Context (fairness : nat -> list (event (hmark H)) -> Prop) (m0 : mem) (P : nat -> ast A).
  Context (O : ownership H) (OK : ownership_ok O) (FAIR : fairness_ok fairness O) (DEALT : dealt ncpu m0 P O).
  Notation L := (olayer O).
  Context (NW : never_wrong ncpu L A P).
  (** The hardware's assumption is no stronger than the layer's. *)
  Context (SEEN : forall c l, lsched L c l -> fairness c (erase O l)).
  Notation agrees := (agrees ncpu S O).

  Lemma cpu_step_advance c s s' : cpu_step ncpu L A c s s' -> advance O c s = s'.
  Proof. intros Hs. unfold advance. destruct Hs as [l f t Hc Hn|l f p v m o Hc Hn Hsch Hp]; simpl; rewrite Hn; [done|by rewrite Hp]. Qed.

  Lemma agrees_follow g s s' c : reach ncpu L A P s -> agrees g s -> cpu_step ncpu L A c s s' ->
    exists g', execute H S c g = Some g' /\ multicore_step ncpu H S fairness c g g' /\ agrees g' s'.
  Proof using OK FAIR NW SEEN.
    intros Hr Hg Hs. assert (Hc : (c < ncpu)%nat) by (by destruct Hs).
    assert (He : exists g', execute H S c g = Some g' /\ multicore_step ncpu H S fairness c g g').
    { destruct (agrees_current ncpu S O g s c Hg Hc) as (rest & Hm & Hd & Hcur).
      pose proof (anext_more A S c (gagent s c) rest Hd) as Hmore. rewrite <- Hcur in Hmore. clear Hcur.
      pose proof (agrees_log _ _ _ _ _ Hg) as G1. pose proof (agrees_cells _ _ _ _ _ Hg) as G2.
      destruct g as [mm x lm fm]. unfold execute, current in *. simpl in *.
      destruct Hs as [l f t _ Hn|l f p v m o _ Hn Hsch Hp]; simpl in *; rewrite Hn in Hmore.
      - destruct Hmore as [E _]. rewrite E. eexists. split; [reflexivity|]. by apply multicore_private.
      - rewrite Hmore. destruct (ok_step _ OK _ _ _ _ _ _ _ Hp) as [Hh _]. rewrite <- G2 in Hh. rewrite Hh.
        eexists. split; [reflexivity|]. eapply multicore_atomic; [done|exact Hmore| |exact Hh]. rewrite G1. by apply SEEN. }
    destruct He as (g' & He & Hst). exists g'. split; [done|]. split; [done|].
    destruct (advance_simulates ncpu S fairness O OK FAIR g g' s c Hg (NW s c Hr Hc) Hst) as [_ Ha].
    by rewrite (cpu_step_advance c s s' Hs) in Ha.
  Qed.

  Theorem shared_execution ex schedule : execution ncpu L A P ex schedule ->
    let ex' := moment S m0 P schedule in
    ex' 0%nat = multicore_start H m0 P /\
    (forall i, multicore_step ncpu H S fairness (schedule i) (ex' i) (ex' (Datatypes.S i))) /\ forall i, agrees (ex' i) (ex i).
  Proof using OK FAIR DEALT NW SEEN.
    intros Hex ex'. pose proof Hex as [H0 Hs].
    assert (Hstep : forall i, agrees (ex' i) (ex i) ->
      multicore_step ncpu H S fairness (schedule i) (ex' i) (ex' (Datatypes.S i)) /\ agrees (ex' (Datatypes.S i)) (ex (Datatypes.S i))).
    { intros i Hg. destruct (agrees_follow _ _ _ _ (execution_reach _ _ _ _ _ _ i Hex) Hg (Hs i)) as (g' & He & Hst & Hg').
      unfold ex' in *. cbn [moment]. by rewrite He. }
    assert (Hall : forall i, agrees (ex' i) (ex i)).
    { induction i as [|i IH]; [rewrite H0; by apply agrees_start|]. by apply Hstep. }
    split; [done|]. split; [|exact Hall]. intros i. by apply Hstep.
  Qed.
End converse.
