(** Clients that keep the requirements: nothing goes wrong at the top.

    Rely and guarantee: [may c k s s'] says which changes of the object of lock [k] CPU [c] makes. What a CPU [knows] of
    the objects is [stable]: the others' changes preserve it. A program is [total] if from what is known it completes
    without a violated requirement, makes only changes that its CPU may make, and ends with the objects that the CPU holds
    outside the kernel and with what its caller needs to know. *)
From Ashlar Require Export calculus.top.Top.

Section total.
  Context (X : layout).
  (** The states of the objects, lock by lock. *)
  Definition states : Type := Z -> option (obj_state X).
  Definition changed (st : states) (k : Z) (s : option (obj_state X)) : states := fun k' => if k =? k' then s else st k'.
  Definition states_valid (st : states) : Prop :=
    forall k o, obj_of_lock X k = Some o -> exists s, st k = Some s /\ obj_valid X o s.

  Context (may : nat -> Z -> option (obj_state X) -> option (obj_state X) -> Prop).
  Definition stable (c : nat) (K : states -> Prop) : Prop :=
    forall st c' k s, c' <> c -> states_valid st -> may c' k (st k) s -> K st -> K (changed st k s).

  (** What is known, and that others keep it. *)
  Definition known (c : nat) (st : states) (J : (states -> Prop) -> Prop) : Prop := exists K, stable c K /\ K st /\ J K.

  (** What a CPU holds while it is outside the kernel. *)
  Context (holds : nat -> objects X).
  Section cpu.
    Context (c : nat) (Post : Z -> states -> Prop).
    Fixpoint total (p : program (top_prim X) (objects X)) (a : objects X) (K : states -> Prop) : Prop :=
      match p with
      | Ret v => a = holds c /\ forall st, K st -> Post v st
      | Fail => False
      | Act (Update k o f) κ =>
          obj_of_lock X k = Some o /\
          forall st s, states_valid st -> K st -> st k = Some s -> obj_valid X o s ->
            exists v s' a', updated X o f s a = Some (v, s', a') /\ obj_valid X o s' /\ may c k (Some s) (Some s') /\
              known c (changed st k (Some s')) (total (κ v) a')
      | Act (Lock (f, [k])) κ =>
          if String.eqb f ACQUIRE then
            forall st, states_valid st -> K st -> known c st (total (κ 0) (ld_pull (object_data X) k (st k) a))
          else if String.eqb f RELEASE then
            exists s a', ld_push (object_data X) k a = Some (s, a') /\
              forall st, states_valid st -> K st -> may c k (st k) s /\ known c (changed st k s) (total (κ 0) a')
          else False
      | Act (Lock _) κ => False
      | Loc f κ => exists v a', f a = Some (v, a') /\ total (κ v) a' K
      end.

    Lemma total_from p a (K K' : states -> Prop) : (forall st, K st -> K' st) -> total p a K' -> total p a K.
    Proof using.
      intros HK. revert a. induction p as [v| |q κ IH|f κ IH]; intros a;
        [| |destruct q as [k o f|[f [|k [|??]]]]|]; cbn [total]; try done.
      - intros [Ha H]. auto.
      - intros [Ho H]. auto.
      - destruct (String.eqb f ACQUIRE); [auto|]. destruct (String.eqb f RELEASE); [|done].
        intros (s & a' & Hp & H). exists s, a'. auto.
      - intros (v & a' & Hf & H). exists v, a'. auto.
    Qed.
  End cpu.

  Context (C : client) (ncpu : nat) (S : specification (PRIM := top_prim X) (MEM := objects X)).
  Context (initial_valid : forall k o, obj_of_lock X k = Some o -> obj_valid X o (obj_initial X o)).
  Context (client_start : nat -> cstate C).
  (** What the client on CPU [c] knows in state [s]; its calls are total. *)
  Context (knows : nat -> cstate C -> states -> Prop).
  Context (knows_stable : forall c s, (c < ncpu)%nat -> stable c (knows c s)).
  Context (knows_start : forall c, (c < ncpu)%nat -> knows c (client_start c) (fun k => obj_initial X <$> obj_of_lock X k)).
  Context (knows_tau : forall c s s' st, cnext C c s = CTau s' -> knows c s st -> knows c s' st).
  Context (knows_out : forall c s v w st, cnext C c s = COut v -> knows c s st -> knows c (creturn C s w) st).
  Context (calls_total : forall c s f args, cnext C c s = CCall f args -> (c < ncpu)%nat -> (exists st, knows c s st) ->
    exists p, S f args = Some p /\ total c (fun v => knows c (creturn C s v)) p (holds c) (knows c s)).
  Notation L := (top_layer X).
  Notation A := (system C (top_engine X S)).
  Definition calling (c : nat) : ast A := Idle (client_start c) (holds c).

  Definition states_of (l : list (event (top_event X))) : states := fun k => current X k l.
  Definition cpu_total (c : nat) (t : ast A) (st : states) : Prop :=
    match t with
    | Idle s a => a = holds c /\ knows c s st
    | Busy s (p, a) => known c st (total c (fun v => knows c (creturn C s v)) p a)
    end.

  Lemma known_stable c c' st k s J : c' <> c -> states_valid st -> may c' k (st k) s -> known c st J ->
    known c (changed st k s) J.
  Proof. intros Hc Hv Hm (K & HK & Hst & HJ). exists K. split; [done|]. split; [by eapply HK|done]. Qed.
  Lemma cpu_total_stable c c' t st k s : (c < ncpu)%nat -> c' <> c -> states_valid st -> may c' k (st k) s -> cpu_total c t st ->
    cpu_total c t (changed st k s).
  Proof using knows_stable.
    intros Hn Hc Hv Hm. destruct t as [x a|x [p a]]; [|by eapply known_stable]. intros [-> Hk]. split; [done|].
    by eapply knows_stable.
  Qed.
  Lemma changed_valid st k s : states_valid st ->
    (forall o, obj_of_lock X k = Some o -> exists s', s = Some s' /\ obj_valid X o s') -> states_valid (changed st k s).
  Proof. intros Hv Hs k' o Ho. unfold changed. destruct (Z.eqb_spec k k') as [->|]; auto. Qed.

  Definition machine_total (g : state L A) : Prop :=
    states_valid (states_of (glog g)) /\ forall c, (c < ncpu)%nat -> cpu_total c (gagent g c) (states_of (glog g)).

  (** What a CPU does next: a private step, or a primitive after which all is well again. *)
  Definition effect_total (c : nat) (t : ast A) (l : list (event (top_event X))) : Prop :=
    match anext A c t with
    | ADone => True
    | AStuck => False
    | ATau t' => cpu_total c t' (states_of l)
    | APrim p =>
        match top_step X c p (amem A t) l with
        | Blocked => True
        | Wrong => False
        | Ok v m o =>
            let st := states_of (Event c o :: l) in cpu_total c (aresume A t v m) st /\ states_valid st /\
            (st = states_of l \/ exists k s, st = changed (states_of l) k s /\ may c k (states_of l k) s)
        end
    end.
  Lemma cpu_total_effect c t l : (c < ncpu)%nat -> states_valid (states_of l) -> cpu_total c t (states_of l) -> effect_total c t l.
  Proof using knows_stable knows_tau knows_out calls_total.
    intros Hc Hv. unfold effect_total. destruct t as [x a|x [p a]].
    - intros [-> Hk]. simpl. destruct (cnext C c x) as [|x'|f args|v] eqn:Ex; [done| | |].
      + split; [done|]. by eapply knows_tau.
      + destruct (calls_total c x f args Ex Hc (ex_intro _ _ Hk)) as (p & -> & Hp). simpl.
        exists (knows c x). split; [by apply knows_stable|done].
      + simpl. split; [split; [done|by eapply knows_out]|]. split; [exact Hv|]. left. done.
    - intros (K & HK & Hst & Hp). destruct p as [v| |q κ|f κ]; cbn [anext system system_next enext top_engine program_engine
        program_next amem system_mem emem snd aresume system_resume eresume program_resume cpu_total total] in *.
      + split; [apply Hp|]. by apply Hp.
      + done.
      + destruct q as [k o f|[f [|k [|??]]]]; try done; cbn [top_step].
        * destruct Hp as [Ho Hp]. destruct (Hv k o Ho) as (s & Es & Hs). unfold states_of in Es. rewrite Es.
          destruct (busy X k l); [done|]. destruct (Hp _ s Hv Hst Es Hs) as (v & s' & a' & -> & Hs' & Hm & Hk).
          split; [exact Hk|]. split.
          -- apply (changed_valid (states_of l) k (Some s')); [exact Hv|]. intros o' Ho'. exists s'. split; [done|]. congruence.
          -- right. exists k, (Some s'). split; [done|]. unfold states_of. by rewrite Es.
        * destruct (String.eqb f ACQUIRE).
          { destruct (busy X k l); [done|]. split; [exact (Hp _ Hv Hst)|]. split; [exact Hv|by left]. }
          destruct (String.eqb f RELEASE); [|done]. destruct Hp as (s & a' & Epush & Hp). rewrite Epush.
          destruct (Hp _ Hv Hst) as [Hm Hk]. split; [exact Hk|]. split; [|by right; exists k, s].
          apply (changed_valid (states_of l) k s); [exact Hv|]. intros o Ho. revert Epush. simpl. rewrite Ho.
          destruct (a !! o) as [s'|]; [|done]. destruct (decide (obj_valid X o s')); [|done]. intros [= <- <-]. by exists s'.
      + destruct Hp as (v & a' & -> & Hp). by exists K.
  Qed.

  Lemma machine_total_step c g g' : cpu_step ncpu L A c g g' -> machine_total g -> machine_total g'.
  Proof using knows_stable knows_tau knows_out calls_total.
    intros Hs [Hv Hg]. destruct Hs as [l f t Hc Hn|l f p v m o Hc Hn Hsch Hp]; simpl in *;
      pose proof (cpu_total_effect c (f c) l Hc Hv (Hg c Hc)) as He; unfold effect_total in He.
    - simpl in He, Hn. rewrite Hn in He. split; [exact Hv|]. intros c' Hc'. simpl. unfold update.
      destruct (decide (c' = c)) as [->|]; [done|]. by apply Hg.
    - simpl in He, Hn. rewrite Hn in He. simpl in Hp. rewrite Hp in He. destruct He as (Ht & Hv' & Hm).
      split; [exact Hv'|]. intros c' Hc'. simpl.
      unfold update. destruct (decide (c' = c)) as [->|Hne]; [done|]. destruct Hm as [E|(k & s & E & Hm)].
      + unfold states_of in E. simpl in E. unfold states_of. simpl. rewrite E. by apply Hg.
      + unfold states_of in E |- *. simpl in E |- *. rewrite E.
        eapply cpu_total_stable; [exact Hc'|by apply not_eq_sym|exact Hv|exact Hm|by apply Hg].
  Qed.

  Theorem total_never_wrong : never_wrong ncpu L A calling.
  Proof using initial_valid knows_stable knows_start knows_tau knows_out calls_total.
    intros g c Hr Hc Hw. assert (Hg : machine_total g).
    { clear Hw Hc. induction Hr as [|g g' Hr IH [c' Hs]]; [|by eapply machine_total_step]. split.
      - intros k o Ho. exists (obj_initial X o). unfold states_of. simpl. rewrite Ho. split; [done|by eapply initial_valid].
      - intros c' Hc'. split; [done|]. by apply knows_start. }
    destruct Hg as [Hv Hg]. pose proof (cpu_total_effect c _ _ Hc Hv (Hg c Hc)) as He. unfold effect_total in He.
    unfold goes_wrong in Hw. destruct (anext A c (gagent g c)) as [| |t|p]; [done|done|done|].
    destruct Hw as [_ Hw].
    change (lstep L c p (amem A (gagent g c)) (glog g)) with (top_step X c p (amem A (gagent g c)) (glog g)) in Hw.
    by rewrite Hw in He.
  Qed.
End total.
