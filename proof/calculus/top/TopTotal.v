(** Clients that keep the requirements: nothing goes wrong at the top.

    Rely and guarantee: [may c k s s'] says which changes of the object of lock [k] CPU [c] makes. What a CPU [knows] of
    the objects is [stable]: the others' changes preserve it, and they change no object that this CPU holds. A program is
    [total] if from what is known it completes without a violated requirement, makes only changes that its CPU may make, and
    ends with what its caller needs to know of the objects and of what the CPU holds. *)
From Ashlar Require Export calculus.top.Top.

Section total.
  Context (X : layout).
  (** The states of the objects, lock by lock. *)
  Definition states : Type := Z -> option (obj_state X).
  Definition changed (st : states) (k : Z) (s : option (obj_state X)) : states := fun k' => if k =? k' then s else st k'.
  Definition states_valid (st : states) : Prop :=
    forall k o, obj_of_lock X k = Some o -> exists s, st k = Some s /\ obj_valid X o s.

  (** A CPU that holds [a] does not hold the object of lock [k]; it holds the same locked objects with [a'] as with [a]. *)
  Definition not_held (a : objects X) (k : Z) : Prop := forall o, obj_of_lock X k = Some o -> a !! o = None.
  Definition same_held (a a' : objects X) : Prop := forall k, not_held a k <-> not_held a' k.

  Context (may : nat -> Z -> option (obj_state X) -> option (obj_state X) -> Prop).
  Definition stable (c : nat) (a : objects X) (K : states -> Prop) : Prop :=
    forall st c' k s, c' <> c -> states_valid st -> not_held a k -> may c' k (st k) s -> K st -> K (changed st k s).

  (** What is known, and that others keep it. *)
  Definition known (c : nat) (a : objects X) (st : states) (J : (states -> Prop) -> Prop) : Prop :=
    exists K, stable c a K /\ K st /\ J K.

  Section cpu.
    Context (c : nat) (Post : Z -> objects X -> states -> Prop).
    Fixpoint total (p : program (top_prim X) (objects X)) (a : objects X) (K : states -> Prop) : Prop :=
      match p with
      | Ret v => forall st, K st -> Post v a st
      | Fail => False
      | Act (Update k o f) κ =>
          obj_of_lock X k = Some o /\
          forall st s, states_valid st -> K st -> st k = Some s -> obj_valid X o s ->
            exists v s' a', updated X o f s a = Some (v, s', a') /\ obj_valid X o s' /\ may c k (Some s) (Some s') /\
              same_held a a' /\ known c a' (changed st k (Some s')) (total (κ v) a')
      | Act (Lock (f, [k])) κ =>
          if String.eqb f ACQUIRE then
            forall st, states_valid st -> K st ->
              known c (ld_pull (object_data X) k (st k) a) st (total (κ 0) (ld_pull (object_data X) k (st k) a))
          else if String.eqb f RELEASE then
            exists s a', ld_push (object_data X) k a = Some (s, a') /\
              forall st, states_valid st -> K st -> may c k (st k) s /\ known c a' (changed st k s) (total (κ 0) a')
          else False
      | Act (Lock _) κ => False
      | Loc f κ => exists v a', f a = Some (v, a') /\ same_held a a' /\ total (κ v) a' K
      end.

    Lemma total_from p a (K K' : states -> Prop) : (forall st, K st -> K' st) -> total p a K' -> total p a K.
    Proof using.
      intros HK. revert a. induction p as [v| |q κ IH|f κ IH]; intros a;
        [| |destruct q as [k o f|[f [|k [|??]]]]|]; cbn [total]; try done.
      - auto.
      - intros [Ho H]. auto.
      - destruct (String.eqb f ACQUIRE); [auto|]. destruct (String.eqb f RELEASE); [|done].
        intros (s & a' & Hp & H). exists s, a'. auto.
      - intros (v & a' & Hf & Hh & H). exists v, a'. auto.
    Qed.
    Lemma same_held_refl a : same_held a a.
    Proof using. done. Qed.
  End cpu.

  Context (C : client) (ncpu : nat) (S : specification (PRIM := top_prim X) (MEM := objects X)).
  Context (one_lock : forall k k' o, obj_of_lock X k = Some o -> obj_of_lock X k' = Some o -> k = k').
  Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).
  Context (client_start : nat -> cstate C) (start : nat -> objects X).
  Context (start_not_held : forall c k, not_held (start c) k).
  (** What the client on CPU [c] knows in state [s] while the CPU holds [a]; its calls are total. *)
  Context (knows : nat -> cstate C -> objects X -> states -> Prop).
  Context (knows_stable : forall c s a, (c < ncpu)%nat -> stable c a (knows c s a)).
  Context (knows_start : forall c, (c < ncpu)%nat ->
    knows c (client_start c) (start c) (fun k => obj_initial X <$> obj_of_lock X k)).
  Context (knows_tau : forall c s s' a st, cnext C c s = CTau s' -> (c < ncpu)%nat -> knows c s a st -> knows c s' a st).
  Context (knows_out : forall c s v w a st, cnext C c s = COut v -> knows c s a st -> knows c (creturn C s w) a st).
  Context (calls_total : forall c s f args a st, cnext C c s = CCall f args -> (c < ncpu)%nat -> knows c s a st ->
    exists p, S f args = Some p /\ known c a st (total c (fun v => knows c (creturn C s v)) p a)).
  Notation L := (top_layer X).
  Notation A := (system C (top_engine X S)).
  Definition calling (c : nat) : ast A := Idle (client_start c) (start c).

  Definition states_of (l : list (event (top_event X))) : states := fun k => current X k l.
  Definition cpu_total (c : nat) (t : ast A) (st : states) : Prop :=
    match t with
    | Idle s a => knows c s a st
    | Busy s (p, a) => known c a st (total c (fun v => knows c (creturn C s v)) p a)
    end.
  (** A CPU holds only what is taken for its transaction. *)
  Definition holds_busy (c : nat) (a : objects X) (l : list (event (top_event X))) : Prop :=
    forall k, busy X k l <> Some c -> not_held a k.

  Lemma known_stable c c' a st k s J : c' <> c -> states_valid st -> not_held a k -> may c' k (st k) s -> known c a st J ->
    known c a (changed st k s) J.
  Proof. intros Hc Hv Hn Hm (K & HK & Hst & HJ). exists K. split; [done|]. split; [by eapply HK|done]. Qed.
  Lemma cpu_total_stable c c' t st k s : (c < ncpu)%nat -> c' <> c -> states_valid st -> not_held (amem A t) k ->
    may c' k (st k) s -> cpu_total c t st -> cpu_total c t (changed st k s).
  Proof using knows_stable.
    intros Hn Hc Hv Hf Hm. destruct t as [x a|x [p a]]; [|by eapply known_stable]. intros Hk. by eapply knows_stable.
  Qed.
  Lemma changed_valid st k s : states_valid st ->
    (forall o, obj_of_lock X k = Some o -> exists s', s = Some s' /\ obj_valid X o s') -> states_valid (changed st k s).
  Proof. intros Hv Hs k' o Ho. unfold changed. destruct (Z.eqb_spec k k') as [->|]; auto. Qed.

  Definition machine_total (g : state L A) : Prop :=
    states_valid (states_of (glog g)) /\
    forall c, (c < ncpu)%nat -> cpu_total c (gagent g c) (states_of (glog g)) /\ holds_busy c (amem A (gagent g c)) (glog g).

  (** What a CPU does next: a private step, or a primitive after which all is well again. *)
  Definition effect_total (c : nat) (t : ast A) (l : list (event (top_event X))) : Prop :=
    match anext A c t with
    | ADone => True
    | AStuck => False
    | ATau t' => cpu_total c t' (states_of l) /\ holds_busy c (amem A t') l
    | APrim p =>
        match top_step X c p (amem A t) l with
        | Blocked => True
        | Wrong => False
        | Ok v m o =>
            let st := states_of (Event c o :: l) in
            cpu_total c (aresume A t v m) st /\ holds_busy c (amem A (aresume A t v m)) (Event c o :: l) /\ states_valid st /\
            (forall c' k, c' <> c -> obj_of_lock X k <> None -> busy X k l = Some c' -> busy X k (Event c o :: l) = Some c') /\
            (st = states_of l \/ exists k s, st = changed (states_of l) k s /\ may c k (states_of l k) s /\
               forall c', c' <> c -> busy X k l = Some c' -> obj_of_lock X k = None)
        end
    end.

  Lemma holds_busy_same c a a' l l' : same_held a a' -> (forall k, busy X k l = Some c -> busy X k l' = Some c) ->
    holds_busy c a l -> holds_busy c a' l'.
  Proof using. intros Hs Hl Hb k Hk. apply Hs. apply Hb. intros E. by apply Hk, Hl. Qed.
  Lemma cpu_total_effect c t l : (c < ncpu)%nat -> states_valid (states_of l) -> holds_busy c (amem A t) l ->
    cpu_total c t (states_of l) -> effect_total c t l.
  Proof using one_lock knows_stable knows_tau knows_out calls_total.
    intros Hc Hv Hb. unfold effect_total. destruct t as [x a|x [p a]].
    - intros Hk. simpl in *. destruct (cnext C c x) as [|x'|f args|v] eqn:Ex; [done| | |].
      + split; [by eapply knows_tau|done].
      + destruct (calls_total c x f args a _ Ex Hc Hk) as (p & -> & Hp). simpl. by split.
      + simpl. split; [by eapply knows_out|]. split; [done|]. split; [exact Hv|]. split; [done|]. by left.
    - intros (K & HK & Hst & Hp). destruct p as [v| |q κ|f κ]; cbn [anext system system_next enext top_engine program_engine
        program_next amem system_mem emem snd aresume system_resume eresume program_resume cpu_total total] in *.
      + split; [by apply Hp|done].
      + done.
      + destruct q as [k o f|[f [|k [|??]]]]; try done; cbn [top_step].
        * destruct Hp as [Ho Hp]. destruct (Hv k o Ho) as (s & Es & Hs). pose proof Es as Es'. unfold states_of in Es. rewrite Es.
          destruct (busy X k l) eqn:Ebusy; [done|]. destruct (Hp _ s Hv Hst Es' Hs) as (v & s' & a' & -> & Hs' & Hm & Hh & Hk).
          split; [exact Hk|]. split; [|split; [|split; [done|]]].
          -- by eapply holds_busy_same.
          -- apply (changed_valid (states_of l) k (Some s')); [exact Hv|]. intros o' Ho'. exists s'. split; [done|]. congruence.
          -- right. exists k, (Some s'). split; [done|]. split; [by rewrite Es'|]. congruence.
        * destruct (String.eqb f ACQUIRE).
          { destruct (busy X k l) eqn:Ebusy; [done|]. split; [exact (Hp _ Hv Hst)|]. split; [|split; [exact Hv|split; [|by left]]].
            - intros k' Hk' o' Ho'. simpl in Hk'. destruct (Z.eqb_spec k k') as [->|Hne]; [done|].
              change (current X k l) with (states_of l k). simpl. destruct (obj_of_lock X k) as [o|] eqn:Eo; [|by apply (Hb k')].
              destruct (states_of l k); [|by apply (Hb k')]. rewrite lookup_insert_ne; [by apply (Hb k')|].
              intros ->. apply Hne. by eapply one_lock.
            - intros c' k' Hc' _ E. simpl. destruct (Z.eqb_spec k k') as [->|Hne]; [congruence|done]. }
          destruct (String.eqb f RELEASE); [|done]. destruct Hp as (s & a' & Epush & Hp). rewrite Epush.
          destruct (Hp _ Hv Hst) as [Hm Hk]. split; [exact Hk|].
          assert (Ha : obj_of_lock X k = None /\ a' = a \/
            exists o s', obj_of_lock X k = Some o /\ a !! o = Some s' /\ a' = delete o a /\ s = Some s' /\ obj_valid X o s').
          { revert Epush. simpl. destruct (obj_of_lock X k) as [o|]; [|intros [= <- <-]; by left].
            destruct (a !! o) as [s'|] eqn:Es; [|done]. destruct (decide (obj_valid X o s')); [|done].
            intros [= <- <-]. right. by exists o, s'. }
          assert (Hmine : forall c', c' <> c -> busy X k l = Some c' -> obj_of_lock X k = None).
          { intros c' Hc' E. destruct Ha as [[? _]|(o & s' & Ho & Es & _)]; [done|]. exfalso.
            assert (Hno : busy X k l <> Some c) by congruence. specialize (Hb k Hno o Ho). congruence. }
          split; [|split; [|split]].
          -- intros k' Hk' o' Ho'. simpl in Hk'. destruct (Z.eqb_spec k k') as [->|Hne].
             ++ destruct Ha as [[? _]|(o & s' & Ho & _ & -> & _)]; [congruence|]. rewrite Ho in Ho'. injection Ho' as <-.
                apply lookup_delete.
             ++ destruct Ha as [[_ ->]|(o & s' & Ho & _ & -> & _)]; [by apply (Hb k')|].
                rewrite lookup_delete_ne; [by apply (Hb k')|]. intros ->. apply Hne. by eapply one_lock.
          -- apply (changed_valid (states_of l) k s); [exact Hv|]. intros o Ho.
             destruct Ha as [[? _]|(o' & s' & Ho' & _ & _ & -> & Hs')]; [congruence|]. exists s'. split; [done|]. congruence.
          -- intros c' k' Hc' Ho' E. simpl. destruct (Z.eqb_spec k k') as [->|Hne]; [|done]. by apply Hmine in E.
          -- right. exists k, s. by split.
      + destruct Hp as (v & a' & -> & Hh & Hp). split; [|by eapply holds_busy_same].
        exists K. split; [|done]. intros st c' k s H1 H2 H3. apply HK; [done|done|]. by apply Hh.
  Qed.

  Lemma machine_total_step c g g' : cpu_step ncpu L A c g g' -> machine_total g -> machine_total g'.
  Proof using one_lock knows_stable knows_tau knows_out calls_total.
    intros Hs [Hv Hg]. destruct Hs as [l f t Hc Hn|l f p v m o Hc Hn Hsch Hp]; simpl in *; destruct (Hg c Hc) as [Hk Hb];
      pose proof (cpu_total_effect c (f c) l Hc Hv Hb Hk) as He; unfold effect_total in He.
    - simpl in He, Hn. rewrite Hn in He. split; [exact Hv|]. intros c' Hc'. simpl. unfold update.
      destruct (decide (c' = c)) as [->|]; [done|]. by apply Hg.
    - simpl in He, Hn. rewrite Hn in He. simpl in Hp. rewrite Hp in He. destruct He as (Ht & Hh & Hv' & Hbusy & Hm).
      split; [exact Hv'|]. intros c' Hc'. simpl.
      unfold update. destruct (decide (c' = c)) as [->|Hne]; [done|]. destruct (Hg c' Hc') as [Hk' Hb']. split.
      + destruct Hm as [E|(k & s & E & Hm & Hmine)].
        * unfold states_of in E. simpl in E. unfold states_of. simpl. rewrite E. exact Hk'.
        * unfold states_of in E |- *. simpl in E |- *. rewrite E.
          eapply cpu_total_stable; [exact Hc'|by apply not_eq_sym|exact Hv| |exact Hm|exact Hk'].
          intros o' Ho'. apply (Hb' k); [|done]. intros Eb. rewrite (Hmine c' Hne Eb) in Ho'. done.
      + intros k Hk1 o' Ho'. apply (Hb' k); [|done]. intros Eb. apply Hk1. apply Hbusy; [done| |done]. congruence.
  Qed.

  Theorem total_never_wrong : never_wrong ncpu L A calling.
  Proof using one_lock initial_valid start_not_held knows_stable knows_start knows_tau knows_out calls_total.
    intros g c Hr Hc Hw. assert (Hg : machine_total g).
    { clear Hw Hc. induction Hr as [|g g' Hr IH [c' Hs]]; [|by eapply machine_total_step]. split.
      - intros k o Ho. exists (obj_initial X o). unfold states_of. simpl. rewrite Ho. split; [done|by eapply initial_valid].
      - intros c' Hc'. split; [by apply knows_start|]. intros k _. apply start_not_held. }
    destruct Hg as [Hv Hg]. destruct (Hg c Hc) as [Hk Hb]. pose proof (cpu_total_effect c _ _ Hc Hv Hb Hk) as He.
    unfold effect_total in He.
    unfold goes_wrong in Hw. destruct (anext A c (gagent g c)) as [| |t|p]; [done|done|done|].
    destruct Hw as [_ Hw].
    change (lstep L c p (amem A (gagent g c)) (glog g)) with (top_step X c p (amem A (gagent g c)) (glog g)) in Hw.
    by rewrite Hw in He.
  Qed.
End total.
