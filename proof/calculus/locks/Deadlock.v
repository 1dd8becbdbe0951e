(** Freedom from deadlock: locks are acquired in falling order, so CPUs never wait for each other in a cycle.

    A CPU that waits for a lock waits for the CPU that holds it; if that one waits too, it waits for a lower lock. *)
From Ashlar Require Export calculus.locks.Exclusion.

Section deadlock.
  Context {D MEM : Type} (nlock : Z) (budget ncpu : nat) (X : lock_data D MEM) (A : agent cprim MEM) (P : nat -> ast A).
  Notation L := (lock_layer nlock budget X).

  Context (machine_never_wrong : never_wrong ncpu L A P).
  (** A CPU that has finished holds no lock. *)
  Context (finished_free : forall g c, reach ncpu L A P g -> (c < ncpu)%nat -> anext A c (gagent g c) = ADone ->
    (held c (glog g)).1 = []).

  Lemma reach_authors g : reach ncpu L A P g -> Forall (fun e => (who e < ncpu)%nat) (glog g).
  Proof.
    induction 1 as [|g g' Hr IH [c Hst]]; [constructor|]. destruct Hst; simpl in *; [done|]. by constructor.
  Qed.
  Lemma holder_author k c (l : lock_log D) : Forall (fun e => (who e < ncpu)%nat) l -> holder k l = Some c -> (c < ncpu)%nat.
  Proof.
    induction 1 as [|[c' o] l Hx Hl IH]; simpl; [done|]. simpl in Hx.
    destruct o as [k'|k' d|v]; [| |done]; destruct (k' =? k); auto; [by intros [= <-]|done].
  Qed.

  (** Only an acquire can wait, for a lock below those held and held by another CPU. *)
  Lemma blocked_shape c p m (l : lock_log D) : lock_step nlock budget X c p m l = Blocked ->
    exists k c', below nlock k (held c l).1 = true /\ holder k l = Some c'.
  Proof.
    unfold lock_step. destruct (held c l) as [ks n]. destruct p as [f [|k [|??]]]; try done.
    destruct (String.eqb f ACQUIRE).
    { destruct (below nlock k ks) eqn:Eb; [|done]. destruct (within budget ks n); [|done]. simpl.
      destruct (holder k l) as [c'|] eqn:Eh; [|done]. eauto. }
    destruct (String.eqb f RELEASE).
    { destruct ks as [|k' ks]; [done|]. destruct (_ && _); [|done]. by destruct (ld_push X k m) as [[??]|]. }
    destruct (String.eqb f OUT); [|done]. by destruct ks.
  Qed.

  Lemma below_range k ks : below nlock k ks = true -> 0 <= k /\ Forall (fun k' => k < k') ks.
  Proof.
    unfold below. rewrite !andb_true_iff, Z.leb_le, forallb_forall. intros [[H1 _] H]. split; [done|].
    apply Forall_forall. intros k' Hk'. apply Z.ltb_lt, H. by apply elem_of_list_In.
  Qed.

  Definition can_move (g : state L A) : Prop := exists c g', (c < ncpu)%nat /\ cpu_step ncpu L A c g g'.

  Lemma moves_or_waits g c : reach ncpu L A P g -> (c < ncpu)%nat -> anext A c (gagent g c) <> ADone ->
    can_move g \/ exists k c', below nlock k (held c (glog g)).1 = true /\ holder k (glog g) = Some c'.
  Proof using machine_never_wrong.
    intros Hr Hc Hd. pose proof (machine_never_wrong g c Hr Hc) as Hw. unfold goes_wrong in Hw. destruct g as [l f].
    simpl in *. destruct (anext A c (f c)) as [| |t|p] eqn:En; [done|by destruct Hw| |].
    - left. eexists c, _. split; [done|]. by apply step_tau.
    - destruct (lock_step nlock budget X c p (amem A (f c)) l) as [| |v m o] eqn:Es.
      + right. by eapply blocked_shape.
      + destruct Hw. by split.
      + left. eexists c, _. split; [done|]. by eapply (step_prim ncpu L).
  Qed.

  Lemma someone_moves g : reach ncpu L A P g -> forall n k c, 0 <= k -> (Z.to_nat k < n)%nat ->
    holder k (glog g) = Some c -> can_move g.
  Proof using machine_never_wrong finished_free.
    intros Hr n. induction n as [|n IH]; intros k c Hk Hn Hh; [lia|].
    pose proof (holder_author _ _ _ (reach_authors g Hr) Hh) as Hc.
    pose proof (proj2 (proj2 (legal_holder nlock budget X _ (reach_legal _ _ _ _ _ Hr) c) k) Hh) as Hin.
    destruct (moves_or_waits g c Hr Hc) as [Hm|(k' & c' & Hb & Hh')]; [|done|].
    - intros Hd. rewrite (finished_free g c Hr Hc Hd) in Hin. by apply elem_of_nil in Hin.
    - apply below_range in Hb as [Hk' Hall]. rewrite Forall_forall in Hall. apply Hall in Hin.
      apply (IH k' c'); [done|lia|done].
  Qed.

  (** Unless all have finished, some CPU can move. *)
  Theorem no_deadlock g c : reach ncpu L A P g -> (c < ncpu)%nat -> anext A c (gagent g c) <> ADone -> can_move g.
  Proof using machine_never_wrong finished_free.
    intros Hr Hc Hd. destruct (moves_or_waits g c Hr Hc Hd) as [Hm|(k & c' & Hb & Hh)]; [done|].
    apply below_range in Hb as [Hk _]. eapply (someone_moves g Hr (S (Z.to_nat k)) k); [done|lia|exact Hh].
  Qed.
End deadlock.
