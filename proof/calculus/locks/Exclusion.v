(** What legality of a log of the lock layer gives for free: mutual exclusion.

    A CPU has a lock on its list exactly if it is the lock's holder; so no two CPUs ever hold the same lock. *)
From Ashlar Require Export calculus.locks.Locks.

Section exclusion.
  Context {D MEM : Type} (nlock : Z) (budget : nat) (X : lock_data D MEM).
  Notation L := (lock_layer nlock budget X).
  Implicit Types l : lock_log D.

  (** The three shapes of an event. *)
  Inductive event_shape (c : nat) (m : MEM) l : lock_event D -> Z -> MEM -> Prop :=
  | shape_acquire k : below nlock k (held c l).1 = true -> within budget (held c l).1 (held c l).2 = true ->
      holder k l = None ->
      event_shape c m l (OAcquire k) 0 (ld_pull X k (published (ld_init X) k l) m)
  | shape_release k ks d m' : (held c l).1 = k :: ks -> within budget (held c l).1 (held c l).2 = true ->
      ld_push X k m = Some (d, m') -> event_shape c m l (ORelease k d) 0 m'
  | shape_out v : (held c l).1 = [] -> event_shape c m l (OOut v) 0 m.

  Lemma lock_step_shape c p m l v m' o :
    lock_step nlock budget X c p m l = Ok v m' o -> event_shape c m l o v m'.
  Proof.
    unfold lock_step. destruct (held c l) as [ks n] eqn:Eh. destruct p as [f [|k [|??]]]; try done.
    destruct (String.eqb f ACQUIRE).
    { destruct (below nlock k ks) eqn:E1; [|done]. destruct (within budget ks n) eqn:E2; [|done]. simpl.
      destruct (holder k l) eqn:E3; [done|]. intros [= <- <- <-]. apply shape_acquire; by rewrite ?Eh. }
    destruct (String.eqb f RELEASE).
    { destruct ks as [|k' ks]; [done|]. destruct (Z.eqb_spec k' k) as [->|]; [|done]. simpl.
      destruct (Nat.ltb n budget) eqn:E2; [|done]. destruct (ld_push X k m) as [[d m1]|] eqn:E3; [|done].
      intros [= <- <- <-]. eapply shape_release with (ks := ks); by rewrite ?Eh. }
    destruct (String.eqb f OUT); [|done]. destruct ks; [|done]. intros [= <- <- <-]. apply shape_out. by rewrite Eh.
  Qed.

  Lemma below_not_in k ks : below nlock k ks = true -> k ∉ ks.
  Proof.
    unfold below. intros [_ H]%andb_true_iff Hin. rewrite forallb_forall in H.
    apply elem_of_list_In, H, Z.ltb_lt in Hin. lia.
  Qed.

  Lemma held_other c e l : who e <> c -> held c (e :: l) = held c l.
  Proof. intros. simpl. by rewrite decide_False. Qed.
  Lemma held_acquire c k l : (held c (Event c (OAcquire k) :: l)).1 = k :: (held c l).1.
  Proof. simpl. rewrite decide_True by done. destruct (held c l) as [[|??] ?]; done. Qed.
  Lemma held_release c k d l : (held c (Event c (ORelease k d) :: l)).1 = tail (held c l).1.
  Proof. simpl. rewrite decide_True by done. destruct (held c l) as [[|??] ?]; done. Qed.
  Lemma held_out c v l : (held c (Event c (OOut v) :: l)).1 = (held c l).1.
  Proof. simpl. rewrite decide_True by done. destruct (held c l) as [[|??] ?]; done. Qed.

  Theorem legal_holder l : legal L l -> forall c,
    NoDup (held c l).1 /\ forall k, k ∈ (held c l).1 <-> holder k l = Some c.
  Proof.
    induction 1 as [|c' p m v m' o l Hl IH Hp].
    { intros c. split; [constructor|]. intros k. simpl. split; [by intros ?%elem_of_nil|done]. }
    apply lock_step_shape in Hp. intros c. destruct (IH c) as [Hnd Hin].
    destruct Hp as [k Hb Hw Hh|k ks d m1 Hk Hw Hpush|w Hk].
    - destruct (decide (c' = c)) as [->|Hne].
      + rewrite held_acquire. pose proof (below_not_in _ _ Hb) as Hni. split; [by constructor|].
        intros k'. simpl. rewrite elem_of_cons. destruct (Z.eqb_spec k k') as [->|]; [naive_solver|].
        rewrite <- Hin. naive_solver.
      + rewrite held_other by done. split; [done|]. intros k'. simpl.
        destruct (Z.eqb_spec k k') as [->|]; [|done]. rewrite Hin, Hh. naive_solver.
    - destruct (decide (c' = c)) as [->|Hne].
      + rewrite held_release, Hk in *. simpl in *. apply NoDup_cons in Hnd as [Hni Hnd]. split; [done|].
        intros k'. simpl. destruct (Z.eqb_spec k k') as [->|].
        * naive_solver.
        * rewrite <- Hin, elem_of_cons. naive_solver.
      + rewrite held_other by done. split; [done|]. intros k'. simpl.
        destruct (Z.eqb_spec k k') as [->|]; [|done]. rewrite Hin.
        destruct (IH c') as [_ Hin']. assert (holder k' l = Some c') as ->; [|naive_solver].
        apply Hin'. rewrite Hk. left.
    - destruct (decide (c' = c)) as [->|Hne]; [rewrite held_out|rewrite held_other by done]; done.
  Qed.

  (** Mutual exclusion. *)
  Corollary legal_exclusive l c c' k : legal L l ->
    k ∈ (held c l).1 -> k ∈ (held c' l).1 -> c = c'.
  Proof.
    intros Hl H1 H2. apply (legal_holder l Hl) in H1. apply (legal_holder l Hl) in H2. congruence.
  Qed.
End exclusion.
