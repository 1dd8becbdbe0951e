(** What [switches] says holds on the machine of threads.

    A function of which [switches] was proved may be called by a thread of that machine: handing the CPU over is its switch. What
    the threads of CPU [c] promise each other is [promise c]: memory of which [promise c h n] holds is handed to thread [n], where [h] is what
    the CPU was when it was last handed over; and memory of which [promise c h t] holds for some [h] comes back to thread [t]. It is always the whole CPU, since no step gains or loses cells;
    what a thread has besides stays with it. In between it may call primitives that the layer below lets pass, as the clock. *)
From Ashlar Require Export machine.threads.SwitchRule machine.threads.Locking machine.threads.OwnCells.
From Ashlar Require Import calculus.logs.Soundness lang.logic.Domain.
From stdpp Require Import fin_map_dom.
Local Opaque gmap_lookup gmap_partial_alter.

(** Locks that a thread may take while it holds none. [guards k]: what lock [k] guards, which is exactly the cells [guard_cells k], of which none may stay with a suspended thread. [busy k d]:
    the CPU holds lock [k], with which [d] came, and no other. A thread that releases a lock has changed what it guards as [changes k] allows, which leaves it in order. *)
Record takes_locks (L : layer cprim mem) (parked : cell -> bool) (quiet : nat -> log L -> bool) (sound : log L -> Prop) (settled : nat -> log L -> Prop)
    (guards : Z -> option (mem -> Prop)) (changes : Z -> mem -> mem -> Prop) (guard_cells : Z -> cell -> Prop) (busy : Z -> mem -> nat -> log L -> Prop) : Prop := {
  guards_cells k guarded d : guards k = Some guarded -> guarded d -> exactly (guard_cells k) d;
  guards_apart k x : guard_cells k x -> parked x = false;
  guards_changed k guarded d0 d : guards k = Some guarded -> changes k d0 d -> guarded d;
  busy_others k d c e l : others L c e -> sound (e ++ l) -> busy k d c l -> busy k d c (e ++ l);
  lock_acquired k guarded c m l : guards k = Some guarded -> quiet c l = true -> sound l -> settled c l ->
    match lstep L c (ACQUIRE, [k]) m l with
    | Wrong => False
    | Blocked => True
    | Ok v m' o => v = 0%Z /\ exists d, m' = d ∪ m /\ guarded d /\ busy k d c (Event c o :: l) /\ sound (Event c o :: l) /\ settled c (Event c o :: l)
    end;
  lock_released k guarded c d0 d m l : guards k = Some guarded -> busy k d0 c l -> sound l -> settled c l -> changes k d0 d -> d ##ₘ m ->
    all_parked (fun x => parked x = true) m ->
    exists o, lstep L c (RELEASE, [k]) (d ∪ m) l = Ok 0%Z m o /\ quiet c (Event c o :: l) = true /\ sound (Event c o :: l) /\ settled c (Event c o :: l) }.

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
  Notation mine := (mine cell_of_cpu parked).
  Notation whole c := (exactly (fun x => cell_of_cpu c x = true)).
  Notation last_handed := (last_handed (D:=mem) L home).
  Notation has_since := (has_since (D:=mem) L home first).
  Context (promise : nat -> option mem -> nat -> mem -> Prop) (sound : log L -> Prop) (settled : nat -> log L -> Prop).
  Context (settled_stable : forall c e l, others L c e -> sound (e ++ l) -> settled c l -> settled c (e ++ l)).
  (** What all threads guarantee at each switch. *)
  Definition whole_promise (c : nat) (h : option mem) (n : nat) (d : mem) : Prop := promise c h n d /\ whole c d.
  Context (t : nat) (Q0 : ast TA -> log TL -> Prop) (u : cstate C).
  Notation c := (home t).
  Notation runs_to := (runs_to kernel_entry C exported M L nthread home first begin cell_of_cpu parked quiet whole_promise sound settled t Q0 u).

  Definition hands_to (h : option mem) (to : Z) (d : mem) : Prop := exists n, to = Z.of_nat n /\ n <> t /\ home n = c /\ (n < nthread)%nat /\ promise c h n d.
  Definition comes_back (h : option mem) (d : mem) : Prop := h = Some d /\ exists h', promise c h' t d.
  (** Locks that it may take. *)
  Context (acquire_below : M ACQUIRE = None) (release_below : M RELEASE = None) (guards : Z -> option (mem -> Prop)) (changes : Z -> mem -> mem -> Prop)
    (guard_cells : Z -> cell -> Prop) (busy : Z -> mem -> nat -> log L -> Prop) (LK : takes_locks L parked quiet sound settled guards changes guard_cells busy).
  Context (cells_parked : forall x, cell_of_cpu c x = true -> parked x = true).
  (** The thread has the CPU, and holds no lock, or one. *)
  Definition in_state (g : option mem * option (Z * mem)) (l : log TL) : Prop := has_since g.1 t l /\
    match g.2 with None => quiet c (base l) = true | Some (k, d) => busy k d c (base l) end /\ sound (base l) /\ settled c (base l).
  Definition may_switch (h : option mem) (l : log TL) : Prop := has_since h t l /\ quiet c (base l) = true /\ sound (base l) /\ settled c (base l).
  (** A thread that has entered the kernel with the CPU's cells [d0] and its own, [m]. *)
  Context (d0 m : mem) (Hd0 : whole c d0) (Hm : mine c m).
  Definition has_cells (o : option (Z * mem)) (w : mem) : Prop :=
    match o with None => dom w =@{gset cell} dom (d0 ∪ m) | Some (k, _) => exactly (fun x => guard_cells k x \/ is_Some ((d0 ∪ m) !! x)) w end.
  Lemma has_cells_same o (w w' : mem) : dom w' =@{gset cell} dom w -> has_cells o w -> has_cells o w'.
  Proof using.
    destruct o as [[k d]|]; cbn [has_cells]; intros Hd Hw; [|by etransitivity]. intros y. rewrite <- (Hw y). by apply same_dom.
  Qed.
  Definition thread_runs (s : cfg) (g : option mem * option (Z * mem)) : Prop := forall l, in_state g l -> has_cells g.2 (cm s) -> runs_to s l.
  Definition free (h : option mem) (g : option mem * option (Z * mem)) : Prop := g = (h, None).
  Definition holding (k : Z) (d : mem) (h : option mem) (g : option mem * option (Z * mem)) : Prop := g = (h, Some (k, d)).
  (** If it is given a new stack while it is away, it begins where [Q0] holds. *)
  Context (anew : forall h d l, may_switch (Some d) l -> promise c h t d -> whole c d -> Q0 (TState T Running (bare S (begin t)) (d ∪ m)) l).
  (** Primitives that the layer below lets pass; and new stacks for other threads of the CPU. *)
  Context (passes : cprim -> Prop).
  Definition gives_stack (p : cprim) : Prop := exists n, p = (new_stack, [Z.of_nat n]) /\ home n = c /\ (n < nthread)%nat /\ n <> t.
  Definition may_pass (p : cprim) : Prop := passes p \/ gives_stack p.
  Context (pass : forall p m l, passes p -> exists v o, lstep L c p m l = Ok v m o /\ quiet c (Event c o :: l) = quiet c l /\
    (forall k d, busy k d c l -> busy k d c (Event c o :: l)) /\ (sound l -> settled c l -> sound (Event c o :: l) /\ settled c (Event c o :: l))).
  Context (pass_ordinary : forall p, passes p -> switch_means p = Ordinary).

  Lemma thread_runs_tau : step_closed kernel_entry M c thread_runs.
  Proof using. intros s s' h Hn Hr l Hl Hd. eapply runs_to_tau; [exact Hn|]. apply Hr; [done|]. eapply has_cells_same; [by eapply next_dom|exact Hd]. Qed.
  Theorem thread_runs_switch : switch_closed hands_to comes_back thread_runs free m.
  Proof using stack_below own_quiet settled_stable Hd0 Hm anew.
    intros to d h _ Q (n & -> & Hne & Hh & Hlt & Hp) Hd -> HQ k r x es He Hk l (Hcpu & Hq & Hs & Hset) Hdom. cbn [cm fst snd] in Hdom, Hcpu, Hq.
    pose proof (exactly_rest cell_of_cpu parked c d0 d m Hd0 Hm Hd Hdom) as Hw.
    apply (switch_stack_rule kernel_entry C exported M stack_below L nthread home first begin cell_of_cpu parked quiet own_quiet whole_promise
      sound settled settled_stable t Q0 u n _ h d m l (fun v m' l' => exists h', Q v m' (h', None) /\ may_switch h' l' /\ dom m' =@{gset cell} dom (d0 ∪ m)) Hcpu Hq Hset); [by apply mine_split|by split|done|done|done| | |exact He|].
    - intros h' d' l' Hc' Hq' Hs' Hset' [Hp' Hw']. by apply (anew h'); [split_and!|..].
    - intros h' d' l' Hc' Hq' Hs' Hset' [Hp' Hw']. exists (Some d'). split; [|split; [by split_and!|by apply (exactly_dom cell_of_cpu c d' d0)]].
      apply (HQ d' (Some d')); [split; [done|by exists h']|by apply (mine_disjoint cell_of_cpu parked c)|reflexivity].
    - intros v m' l' (h' & H1 & H2 & H3). by apply (Hk v m' (h', None) H1).
  Qed.
  Lemma in_state_rely g l l' : in_state g l -> rely TL (guaranteed L nthread home first cell_of_cpu parked quiet whole_promise sound settled) t l l' -> in_state g l'.
  Proof using own_quiet LK settled_stable.
    intros ([[Hon Htr] Hlast] & Hq & Hs & Hset) Henv.
    pose proof (settled_rely L nthread home first cell_of_cpu parked quiet whole_promise sound settled settled_stable t l l' (conj Hon Htr) Hset Henv) as Hset'.
    pose proof (handed_rely L X nthread home first quiet _ t l l' Hon Henv) as Hlast'. rewrite Hlast in Hlast'. pose proof Henv as (e & _ & _ & HG & _ & _).
    assert (forall f : nat -> log L -> bool, own_replay L f -> on_cpu L home first t l' /\ f c (base l') = f c (base l) /\ transit L home c l' = transit L home c l) as Hsame.
    { intros f Hf. exact (baton_replay L X nthread home first quiet f _ t l l' Hf Hon Henv). }
    destruct (Hsame quiet own_quiet) as (Hon' & Hq' & Htr'). rewrite Htr in Htr'. split; [by split|]. split; [|split; [exact (proj1 HG)|done]].
    destruct g as [h [[k d]|]]; cbn [fst snd] in *; [|by rewrite Hq']. destruct Henv as (e' & -> & He & _ & _ & Hleg).
    destruct (others_base nthread X home first L quiet e' l t Hleg (conj Hon Htr) He) as [Hb _].
    assert (base (e' ++ l) = base e' ++ base l) as E by exact (base_app home L e' l). destruct HG as [HG _]. rewrite E in HG |- *.
    by apply (busy_others _ _ _ _ _ _ _ _ _ LK).
  Qed.
  (** A primitive of the layer below. *)
  Lemma base_runs s p g l : thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u s)) = APrim (PBase p) -> in_state g l ->
    (forall l', in_state g l' -> match lstep L c p (cm s) (base l') with
      | Wrong => False
      | Blocked => True
      | Ok v m' o => sound (Event c o :: base l') /\ (has_since g.1 t (Event t (UBase o) :: l') -> runs_to (resume s v m') (Event t (UBase o) :: l'))
      end) -> runs_to s l.
  Proof using own_quiet LK settled_stable.
    intros Hnext Hin Hstep. unfold SwitchRule.runs_to. eapply run_prim; [exact Hnext|]. intros l' Henv. pose proof (in_state_rely g l l' Hin Henv) as Hin'.
    pose proof Henv as (e & _ & _ & HG & _ & _). pose proof Hin' as ([[Hon Htr] Hlast] & _). specialize (Hstep l' Hin').
    cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of. rewrite decide_True by exact Hon. rewrite Htr.
    change (tmem T (thread_at S home switch_means begin Running (@Busy _ _ C E u s))) with (cm s).
    destruct (lstep L c p (cm s) (base l')) as [| |v m' o]; [done|done|]. destruct Hstep as [Hs Hr]. split; [split; [exact Hs|exact (conj I (proj2 HG))]|].
    change (aresume TA) with (thread_resume T). rewrite (thread_at_returned S home switch_means begin (@Busy _ _ C E u s) v m').
    apply Hr. split; [split; [exact Hon|]|exact Hlast]. simpl. by rewrite decide_True.
  Qed.
  Lemma thread_runs_quiet : quiet_closed may_pass kernel_entry M c thread_runs.
  Proof using own_quiet LK settled_stable pass pass_ordinary.
    intros s p g Hn Hp Hr l Hin Hdom.
    assert (Hm' : forall v, cm (resume s v (cm s)) = cm s) by (intros v; unfold resume; repeat case_match; done).
    destruct Hp as [Hp|(n & -> & Hn' & Hlt & Hne)].
    - apply (base_runs s p g l); [|done|].
      { rewrite thread_at_next. simpl. rewrite Hn. simpl. by rewrite pass_ordinary. }
      intros l' (Hcpu & Hq & Hs & Hset). destruct (pass p (cm s) (base l') Hp) as (v & o & -> & Hqo & Hbo & Hso). destruct (Hso Hs Hset) as [Hso' Hseto].
      split; [done|]. intros Hcpu'. apply (Hr v); [|by rewrite Hm']. split; [exact Hcpu'|]. split; [|done].
      destruct g as [h [[k d]|]]; cbn [fst snd] in *; [exact (Hbo k d Hq)|exact (eq_trans Hqo Hq)].
    - assert (Hnext : thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u s)) = APrim (PInit n (Z.of_nat n + 1))).
      { rewrite thread_at_next. simpl. rewrite Hn. simpl. by rewrite Nat2Z.id. }
      unfold SwitchRule.runs_to. eapply run_prim; [exact Hnext|]. intros l' Henv. pose proof (in_state_rely g l l' Hin Henv) as ([[Hon Htr] Hlast] & Hq & Hs & Hset).
      pose proof Henv as (e & _ & _ & HG & _ & _).
      cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of. rewrite decide_True by exact Hon. rewrite Htr.
      rewrite decide_True by (split_and!; [done|rewrite Hn'; intros E; apply Hne; by rewrite <- E|lia]).
      split; [split; [exact (proj1 HG)|exact (conj eq_refl (proj2 HG))]|].
      change (tmem T (thread_at S home switch_means begin Running (@Busy _ _ C E u s))) with (cm s).
      change (aresume TA) with (thread_resume T). rewrite (thread_at_returned S home switch_means begin (@Busy _ _ C E u s) 0%Z (cm s)).
      apply (Hr 0%Z); [|by rewrite Hm']. split; [split; [split; [exact Hon|]|exact Hlast]|split_and!; [exact Hq|exact Hs|exact Hset]]. simpl. by rewrite decide_True.
  Qed.

  Lemma own_parked : all_parked (fun x => parked x = true) (d0 ∪ m).
  Proof using Hd0 Hm cells_parked. intros y v [Hy|[_ Hy]]%lookup_union_Some_raw; [apply cells_parked, Hd0; by eexists|by apply Hm in Hy as [_ Hy]]. Qed.
  Lemma guard_apart k guarded (d w : mem) : guards k = Some guarded -> guarded d -> dom w =@{gset cell} dom (d0 ∪ m) -> d ##ₘ w.
  Proof using Hd0 Hm cells_parked LK.
    intros Hk Hd Hw. apply map_disjoint_spec. intros y v z Hv Hz.
    assert (parked y = false) as E by (apply (guards_apart _ _ _ _ _ _ _ _ _ LK k), (guards_cells _ _ _ _ _ _ _ _ _ LK k guarded d Hk Hd); by eexists).
    destruct (proj1 (proj1 (same_dom _ _) Hw y)) as [z' Hz']; [by eexists|]. apply own_parked in Hz'. cbn in Hz'. congruence.
  Qed.
  Theorem thread_runs_lock : lock_closed guards changes thread_runs free holding.
  Proof using own_quiet LK settled_stable acquire_below release_below cells_parked Hd0 Hm.
    assert (forall f (w : mem) k r x (es : list expr) k0, f = ACQUIRE \/ f = RELEASE -> evals es r w = Some [k] ->
      thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u (Cfg (KStmt (Call x f es) :: k0) r w))) = APrim (PBase (f, [k]))) as Hnext.
    { intros f w k r x es k0 Hf He. rewrite thread_at_next. destruct Hf as [-> | ->]; simpl; by rewrite He, ?acquire_below, ?release_below. }
    intros k guarded Hk. split.
    - intros m1 h g Q -> HQ k0 r x es He HJ l Hin Hdom. cbn [cm fst snd] in Hdom.
      apply (base_runs _ (ACQUIRE, [k]) (h, None) l); [by apply Hnext; [left|]|done|]. intros l' (Hcpu & Hq & Hs & Hset). cbn [fst snd cm] in *.
      pose proof (lock_acquired _ _ _ _ _ _ _ _ _ LK k guarded c m1 (base l') Hk Hq Hs Hset) as Ha. destruct (lstep L c (ACQUIRE, [k]) m1 (base l')) as [| |v m' o]; [done|done|].
      destruct Ha as (-> & d & -> & Hd & Hb & Hs' & Hset'). split; [done|]. intros Hcpu'.
      pose proof (guard_apart k guarded d m1 Hk Hd Hdom) as Hdis.
      apply (HJ 0%Z (d ∪ m1) (h, Some (k, d))); [by apply HQ|by split_and!|]. cbn [snd cm has_cells]. intros y. rewrite <- (guards_cells _ _ _ _ _ _ _ _ _ LK k guarded d Hk Hd y).
      etransitivity; [apply lookup_union_is_Some|]. apply or_iff_compat_l. by apply same_dom.
    - intros dk d m1 h g Q -> Hch Hdis HQ k0 r x es He HJ l Hin Hdom. cbn [cm fst snd has_cells] in Hdom. pose proof (guards_changed _ _ _ _ _ _ _ _ _ LK k guarded dk d Hk Hch) as Hd.
      assert (dom m1 =@{gset cell} dom (d0 ∪ m)) as Hm1.
      { apply same_dom. intros y. pose proof (Hdom y) as Hy. split.
        - intros [v Hv]. destruct (proj1 Hy) as [Hg|?]; [exists v; by apply lookup_union_Some_r| |done].
          apply (guards_cells _ _ _ _ _ _ _ _ _ LK k guarded d Hk Hd) in Hg as [z Hz]. by destruct (proj1 (map_disjoint_spec d m1) Hdis y z v).
        - intros Hown. destruct (proj2 Hy) as [v [Hv|[_ Hv]]%lookup_union_Some_raw]; [by right| |by eexists].
          assert (d ##ₘ d0 ∪ m) as Hd' by (by apply (guard_apart k guarded)). destruct Hown as [z Hz]. by destruct (proj1 (map_disjoint_spec d (d0 ∪ m)) Hd' y v z). }
      apply (base_runs _ (RELEASE, [k]) (h, Some (k, dk)) l); [by apply Hnext; [right|]|done|]. intros l' (Hcpu & Hq & Hs & Hset). cbn [fst snd cm] in *.
      assert (all_parked (fun x => parked x = true) m1) as Hpark.
      { intros y v Hv. destruct (proj1 (proj1 (same_dom _ _) Hm1 y)) as [z Hz]; [by eexists|by apply (own_parked y z)]. }
      destruct (lock_released _ _ _ _ _ _ _ _ _ LK k guarded c dk d m1 (base l') Hk Hq Hs Hset Hch Hdis Hpark) as (o & -> & Hq' & Hs' & Hset'). split; [done|]. intros Hcpu'.
      apply (HJ 0%Z m1 (h, None)); [by apply HQ|by split_and!|exact Hm1].
  Qed.
End rule.
