(** Specification programs that use locks as they must.

    [disciplined]: along every path the program acquires locks in falling order, stays within the budget of events while
    it holds any, publishes only valid objects, and holds none at its end. It is a property of a program alone, proved
    once for each kernel function; with it the only fault left is the client's, a violated precondition. *)
From Ashlar Require Export calculus.objects.Objects.

Section discipline.
  Context (X : layout) (nlock : Z) (budget : nat).
  Notation prog := (prog X).
  Notation L2 := (lock_layer nlock budget (object_data X)).

  (** Among the objects that locks guard, [a] has exactly those of the locks [ks]. *)
  Definition holds_exactly (ks : list Z) (a : objects X) : Prop :=
    forall k o, obj_of_lock X k = Some o -> is_Some (a !! o) <-> k ∈ ks.

  Definition next_count (ks : list Z) (n : nat) : nat := match ks with [] => 0 | _ => S n end.

  Inductive disciplined : list Z -> nat -> objects X -> prog -> Prop :=
  | disciplined_ret n a v : holds_exactly [] a -> disciplined [] n a (Ret v)
  | disciplined_fail ks n a : disciplined ks n a Fail
  | disciplined_loc ks n a f k : holds_exactly ks a ->
      (forall v a', f a = Some (v, a') -> disciplined ks n a' (k v)) -> disciplined ks n a (Loc f k)
  | disciplined_acquire ks n a lock k : holds_exactly ks a ->
      below nlock lock ks = true -> within budget ks n = true ->
      (forall o s, obj_of_lock X lock = Some o -> obj_valid X o s ->
         disciplined (lock :: ks) (next_count ks n) (<[o := s]> a) (k 0)) ->
      (obj_of_lock X lock = None -> disciplined (lock :: ks) (next_count ks n) a (k 0)) ->
      disciplined ks n a (Act (ACQUIRE, [lock]) k)
  | disciplined_release ks n a lock k : holds_exactly (lock :: ks) a -> within budget (lock :: ks) n = true ->
      (forall o, obj_of_lock X lock = Some o -> exists s, a !! o = Some s /\ obj_valid X o s) ->
      (forall o, obj_of_lock X lock = Some o -> disciplined ks (S n) (delete o a) (k 0)) ->
      (obj_of_lock X lock = None -> disciplined ks (S n) a (k 0)) ->
      disciplined (lock :: ks) n a (Act (RELEASE, [lock]) k).

  Lemma disciplined_holds ks n a p : disciplined ks n a p -> p <> Fail -> holds_exactly ks a.
  Proof. by destruct 1. Qed.

  (** Published objects are valid. *)
  Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).

  Lemma push_inv k a d a' : ld_push (object_data X) k a = Some (d, a') ->
    match obj_of_lock X k with
    | Some o => exists s, a !! o = Some s /\ d = Some s /\ obj_valid X o s /\ a' = delete o a
    | None => d = None /\ a' = a
    end.
  Proof.
    simpl. destruct (obj_of_lock X k) as [o|]; [|by intros [= <- <-]].
    destruct (a !! o) as [s|]; [|done]. destruct (decide _); [|done]. intros [= <- <-]. eauto.
  Qed.

  Lemma legal_published l : legal L2 l -> forall k o, obj_of_lock X k = Some o ->
    exists s, published (ld_init (object_data X)) k l = Some s /\ obj_valid X o s.
  Proof using initial_valid.
    induction 1 as [|c p m v m' ev l Hl IH Hp]; intros k o Hk.
    { exists (obj_initial X o). simpl. rewrite Hk. eauto. }
    apply lock_step_shape in Hp. destruct Hp as [k1|k1 ks d m1 Hks Hw Hpush|w]; simpl; auto.
    destruct (Z.eqb_spec k1 k) as [->|]; [|auto].
    apply push_inv in Hpush. rewrite Hk in Hpush. destruct Hpush as (s & _ & -> & Hv & _). eauto.
  Qed.

  Section system.
    Context (C : client) (spec : specification (PRIM := cprim) (MEM := objects X)).
    Definition object_engine : engine cprim (objects X) := program_engine spec (fun v => (OUT, [v])).
    Notation A2 := (system C object_engine).

    (** Every program of the kernel is disciplined. *)
    Definition spec_disciplined : Prop :=
      forall f args p n a, spec f args = Some p -> holds_exactly [] a -> disciplined [] n a p.
    Context (SD : spec_disciplined).

    (** What holds of CPU [c] at log [l]. *)
    Definition orderly (c : nat) (t : ast A2) (l : lock_log (option (obj_state X))) : Prop :=
      match t with
      | Idle _ a => (held c l).1 = [] /\ holds_exactly [] a
      | Busy _ (p, a) => disciplined (held c l).1 (held c l).2 a p
      end.

    Lemma orderly_other c t e (l : lock_log (option (obj_state X))) : who e <> c -> orderly c t l -> orderly c t (e :: l).
    Proof. intros Hw. unfold orderly. by rewrite held_other. Qed.
    Lemma orderly_others c t e (l : lock_log (option (obj_state X))) : Forall (fun x => who x <> c) e -> orderly c t l -> orderly c t (e ++ l).
    Proof. induction 1; [done|]. intros. simpl. by apply orderly_other; auto. Qed.

    Lemma orderly_tau c t t' (l : lock_log (option (obj_state X))) : orderly c t l -> anext A2 c t = ATau t' -> orderly c t' l.
    Proof using SD.
      destruct t as [s a|s [p a]]; simpl.
      - intros [Hh Ha]. destruct (cnext C c s) as [|s'|f args|v]; try done; [by intros [= <-]|].
        destruct (spec f args) as [p|] eqn:Ep; [|done]. intros [= <-]. simpl. rewrite Hh. by eapply SD.
      - intros Hd. destruct p as [v| |q k|f k]; simpl; try done.
        + intros [= <-]. inversion Hd; subst. simpl. by split.
        + destruct (f a) as [[v a']|] eqn:Ef; [|done]. intros [= <-]. simpl. inversion Hd; subst.
          by assert (Hdd : disciplined (held c l).1 (held c l).2 a' (k v)) by eauto.
    Qed.

    (** A primitive of an orderly CPU is never wrong, and leaves it orderly. *)
    Lemma orderly_prim c t p (l : lock_log (option (obj_state X))) : orderly c t l -> anext A2 c t = APrim p -> legal L2 l ->
      match lock_step nlock budget (object_data X) c p (amem A2 t) l with
      | Blocked => True
      | Wrong => False
      | Ok v m o => orderly c (aresume A2 t v m) (Event c o :: l)
      end.
    Proof using SD initial_valid.
      intros Ho Hn Hl. destruct t as [s a|s [q a]]; simpl in Ho, Hn |- *.
      - destruct Ho as [Hh Ha]. destruct (cnext C c s) as [|s'|f args|v]; try done.
        { by destruct (spec f args). } injection Hn as <-.
        unfold lock_step. destruct (held c l) as [ks n] eqn:Eh. simpl in Hh. subst ks. simpl.
        by rewrite decide_True.
      - destruct q as [v| |q k|f k]; try done; [|by destruct (f a) as [[??]|]]. injection Hn as ->.
        unfold lock_step. destruct (held c l) as [ks n] eqn:Eh. simpl in Ho.
        inversion Ho as [| | |? ? ? lock ? Ha Hb Hw H1 H2|ks' ? ? lock ? Ha Hw Hv H1 H2]; subst; simpl.
        + rewrite Hb, Hw. simpl. destruct (holder lock l); [done|]. simpl. rewrite decide_True by done.
          assert (He : forall (x : list Z * nat), match ks with [] => ([lock], 0%nat) | _ :: _ => (lock :: ks, S n) end
            = (lock :: ks, next_count ks n)) by (intros _; by destruct ks).
          assert (Hd : disciplined (lock :: ks) (next_count ks n)
            (match obj_of_lock X lock, published (ld_init (object_data X)) lock l with
             | Some o, Some s => <[o:=s]> a | _, _ => a end) (k 0)).
          { destruct (obj_of_lock X lock) as [o|] eqn:Eo; [|auto].
            destruct (legal_published l Hl lock o Eo) as (s' & Hs' & Hval). rewrite Hs'. auto. }
          by destruct ks.
        + rewrite Z.eqb_refl. unfold within in Hw. rewrite Hw. simpl.
          destruct (obj_of_lock X lock) as [o|] eqn:Eo.
          * destruct (Hv o eq_refl) as (s' & Hs' & Hval). rewrite Hs', decide_True by done. simpl.
            rewrite decide_True by done. simpl. auto.
          * simpl. rewrite decide_True by done. simpl. auto.
    Qed.

    (** So the kernel goes wrong only if a client violates a precondition. *)
    Context (ncpu : nat) (P : nat -> ast A2).
    Context (start : forall c, (c < ncpu)%nat -> orderly c (P c) []).

    Lemma reach_orderly g : reach ncpu L2 A2 P g -> forall c, (c < ncpu)%nat -> orderly c (gagent g c) (glog g).
    Proof using SD initial_valid start.
      induction 1 as [|g g' Hr IH [c' Hst]]; [done|]. intros c Hc. specialize (IH c Hc) as Hor.
      pose proof (reach_legal _ _ _ _ _ Hr) as Hl.
      destruct Hst as [l f s Hc' Hn|l f p v m o Hc' Hn Hsch Hp]; simpl in *.
      - unfold update. destruct (decide (c = c')) as [->|]; [|done]. by eapply orderly_tau.
      - unfold update. destruct (decide (c = c')) as [->|]; [|by apply orderly_other; auto].
        pose proof (orderly_prim _ _ _ _ Hor Hn Hl) as H.
        assert (E : lock_step nlock budget (object_data X) c' p (amem A2 (f c')) l = Ok v m o) by exact Hp.
        by rewrite E in H.
    Qed.

    Theorem preconditions_suffice :
      (forall g c, reach ncpu L2 A2 P g -> (c < ncpu)%nat -> anext A2 c (gagent g c) <> AStuck) ->
      never_wrong ncpu L2 A2 P.
    Proof using SD initial_valid start.
      intros Hok g c Hr Hc Hw. specialize (Hok g c Hr Hc). unfold goes_wrong in Hw.
      destruct (anext A2 c (gagent g c)) as [| |t|p] eqn:En; try done.
      pose proof (orderly_prim _ _ _ _ (reach_orderly g Hr c Hc) En (reach_legal _ _ _ _ _ Hr)) as H.
      destruct Hw as [_ Hw].
      assert (E : lock_step nlock budget (object_data X) c p (amem A2 (gagent g c)) (glog g) = Wrong) by exact Hw.
      by rewrite E in H.
    Qed.
  End system.

  (** ** Programs of locked updates *)
  Lemma holds_exactly_insert lock ks a o s :
    (forall k k' o, obj_of_lock X k = Some o -> obj_of_lock X k' = Some o -> k = k') ->
    obj_of_lock X lock = Some o -> holds_exactly ks a -> holds_exactly (lock :: ks) (<[o := s]> a).
  Proof.
    intros Hinj Ho Ha k o' Hk. rewrite elem_of_cons, lookup_insert_is_Some.
    rewrite <- (Ha k o' Hk). destruct (decide (o = o')) as [->|Hne]; [naive_solver|].
    assert (k <> lock) by congruence. naive_solver.
  Qed.
End discipline.

(** Where there are more locks, a program is as disciplined. *)
Lemma disciplined_more (X : layout) (few nlock : Z) (budget : nat) ks n a p : few <= nlock -> disciplined X few budget ks n a p -> disciplined X nlock budget ks n a p.
Proof.
  intros Hle. induction 1 as [n a v H|ks n a|ks n a f k H _ IH|ks n a lock k H Hb Hw _ IH1 _ IH2|ks n a lock k H Hw Hv _ IH1 _ IH2]; constructor; auto.
  unfold below in *. apply andb_true_iff in Hb as [[H0 H1]%andb_true_iff H2]. rewrite H0, H2, (proj2 (Z.ltb_lt lock nlock)); [done|]. apply Z.ltb_lt in H1. lia.
Qed.

