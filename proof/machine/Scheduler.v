(** Lemma 1: the multicore machine with its schedule made explicit.

    A hardware scheduler is a function: given the log so far, it names the CPU that moves next. With it the machine is
    deterministic ([scheduled_step_deterministic]). Each of its decisions is written to the log, as a switch from the CPU
    that moved last to the one that moves now. Quantified over all hardware schedulers, it is the multicore machine. *)
From Ashlar Require Export machine.Shared.

Section scheduler.
  Context {PRIM : Type} (ncpu : nat) (H : hardware PRIM) {A : agent PRIM mem} (S : shareable A).
  Context (fairness : nat -> list (event (hmark H)) -> Prop) (m0 : mem) (P : nat -> ast A).
  Notation multicore := (multicore H (A:=A)).
  Notation mark := (event (hmark H)).

  Inductive entry :=
  | Switch (from to : nat)
  | Mark (e : mark).

  Definition scheduler : Type := list entry -> nat.

  (** [scpu]: the CPU that moved last. The log with switches is [slog]; the machine underneath keeps the one without. *)
  Record scheduled := Scheduled { scpu : nat; slog : list entry; smachine : multicore }.

  (** The marks that a step from [g] to [g'] made. *)
  Definition recorded (g g' : multicore) : list entry :=
    Mark <$> take (length (mlog g') - length (mlog g)) (mlog g').

  Inductive scheduled_step (E : scheduler) : scheduled -> scheduled -> Prop :=
  | scheduled_go c l g g' : multicore_step ncpu H S fairness (E l) g g' ->
      scheduled_step E (Scheduled c l g) (Scheduled (E l) (recorded g g' ++ Switch c (E l) :: l) g').

  Inductive scheduled_reach (E : scheduler) : scheduled -> Prop :=
  | scheduled_start : scheduled_reach E (Scheduled 0 [] (multicore_start H m0 P))
  | scheduled_next h h' : scheduled_reach E h -> scheduled_step E h h' -> scheduled_reach E h'.

  Lemma scheduled_step_deterministic E h h1 h2 : scheduled_step E h h1 -> scheduled_step E h h2 -> h1 = h2.
  Proof.
    intros H1 H2. destruct H1 as [c l g g1 Hs]. inversion H2 as [? ? ? g2 Hs2]; subst.
    by rewrite (multicore_step_deterministic _ _ _ _ _ _ _ _ Hs Hs2).
  Qed.

  (** The log without the switches. *)
  Fixpoint marks (l : list entry) : list mark :=
    match l with
    | [] => []
    | Switch _ _ :: l => marks l
    | Mark e :: l => e :: marks l
    end.

  Lemma marks_app l l' : marks (l ++ l') = marks l ++ marks l'.
  Proof. induction l as [|[a b|e] l IH]; simpl; [done|done|by rewrite IH]. Qed.
  Lemma marks_mark l : marks (Mark <$> l) = l.
  Proof. induction l as [|e l IH]; simpl; [done|]. by f_equal. Qed.

  Lemma scheduled_marks E h : scheduled_reach E h -> marks (slog h) = mlog (smachine h).
  Proof.
    induction 1 as [|h h' Hr IH Hs]; [done|]. destruct Hs as [c l g g' Hs]. simpl in *.
    unfold recorded. rewrite marks_app, marks_mark. simpl. rewrite IH.
    destruct Hs as [m x l1 f s Hc Hn|m x l1 f p v x' o Hc Hn Hf Hp]; simpl.
    - by rewrite Nat.sub_diag.
    - replace (Datatypes.S (length l1) - length l1)%nat with 1%nat by lia. done.
  Qed.

  (** The programs [P] on the machine with hardware scheduler, for all hardware schedulers: [[P]]hs. *)
  Definition hs : semantics (list mark) :=
    Semantics (forall E h c, scheduled_reach E h -> (c < ncpu)%nat -> ~ multicore_wrong H S fairness c (smachine h))
      (fun l => exists E h, scheduled_reach E h /\ marks (slog h) = l).

  (** Steps of the multicore machine in the order that [turn] gives. *)
  Inductive follows (turn : nat -> nat) : nat -> multicore -> Prop :=
  | follows_start : follows turn 0 (multicore_start H m0 P)
  | follows_step n g g' : follows turn n g -> multicore_step ncpu H S fairness (turn n) g g' -> follows turn (1 + n) g'.

  Lemma follows_agree turn turn' n g : (forall i, (i < n)%nat -> turn i = turn' i) -> follows turn n g -> follows turn' n g.
  Proof.
    intros Ht Hf. induction Hf as [|n g g' Hf IH Hs]; [constructor|].
    eapply follows_step; [apply IH; intros; apply Ht; lia|]. rewrite <- Ht by lia. done.
  Qed.

  Lemma reach_follows g : multicore_reach ncpu H S fairness m0 P g -> exists turn n, follows turn n g.
  Proof.
    induction 1 as [|g g' c Hr (turn & n & Hf) Hs]; [exists (fun _ => 0%nat), 0%nat; constructor|].
    exists (fun i => if decide (i = n) then c else turn i), (1 + n)%nat. eapply follows_step.
    - eapply follows_agree; [|exact Hf]. intros i Hi. by rewrite decide_False by lia.
    - by rewrite decide_True.
  Qed.

  (** The scheduler that follows a given order: it counts its decisions. *)
  Fixpoint switches (l : list entry) : nat :=
    match l with [] => 0 | Switch _ _ :: l => 1 + switches l | Mark _ :: l => switches l end.
  Definition in_order (turn : nat -> nat) : scheduler := fun l => turn (switches l).

  Lemma switches_marks l l' : switches ((Mark <$> l) ++ l') = switches l'.
  Proof. induction l; simpl; auto. Qed.

  Lemma follows_scheduled turn n g : follows turn n g ->
    exists h, scheduled_reach (in_order turn) h /\ smachine h = g /\ switches (slog h) = n.
  Proof.
    induction 1 as [|n g g' Hf (h & Hr & <- & Hn) Hs]; [eexists; split; [constructor|done]|].
    destruct h as [c l g]. simpl in *. eexists. split; [|split].
    - eapply scheduled_next; [done|]. apply scheduled_go. unfold in_order. by rewrite Hn.
    - done.
    - simpl. unfold recorded. rewrite switches_marks. simpl. by rewrite Hn.
  Qed.

  Theorem scheduled_complete g : multicore_reach ncpu H S fairness m0 P g ->
    exists E h, scheduled_reach E h /\ smachine h = g.
  Proof. intros (turn & n & Hf)%reach_follows. destruct (follows_scheduled _ _ _ Hf) as (h & ? & ? & _). eauto. Qed.

  Theorem scheduled_sound E h : scheduled_reach E h -> multicore_reach ncpu H S fairness m0 P (smachine h).
  Proof.
    induction 1 as [|h h' Hr IH Hst]; [constructor|]. destruct Hst as [c l g g' Hs]. by eapply multicore_reach_step.
  Qed.

  (** Lemma 1 of the paper (correctness of the hardware scheduler model): for all P, [[P]]x86mc refines [[P]]hs. *)
  Theorem lemma1_hardware_scheduler : refines (x86mc ncpu H S fairness m0 P) hs.
  Proof.
    intros Hsafe. split.
    - intros g c Hr Hc. destruct (scheduled_complete _ Hr) as (E & h & Hh & <-). by eapply Hsafe.
    - intros l (g & Hr & <-). destruct (scheduled_complete _ Hr) as (E & h & Hh & <-). exists E, h.
      split; [done|]. by eapply scheduled_marks.
  Qed.
End scheduler.
