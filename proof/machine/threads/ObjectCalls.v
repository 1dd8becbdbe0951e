(** Threads that call functions which take locks.

    [calculus/objects/] says what a function does that implements a program over objects, each guarded by a lock, on a machine where each CPU
    is one agent. A thread may call such a function, too: it has the cells of the locks that it holds besides the CPU's and its own. It can
    be handed over again when it holds none, and has given back all that it had from locks.

    What threads do to objects is what CPUs without threads can do: those whose clients make, one after the other, the calls that a CPU's threads
    have made ([objects_history]). *)
From Ashlar Require Export machine.threads.SwitchRule calculus.objects.Data calculus.logs.Canonical.
From Ashlar Require Import lang.logic.Domain.
From stdpp Require Import fin_map_dom.

(** The events of locks, among others of a layer. *)
Section lock_part.
  Context {L : layer cprim mem} (lock_event_of : lop L -> option (lock_event mem)).
  Definition lock_part (l : log L) : lock_log mem :=
    flat_map (fun e => match lock_event_of (what e) with Some o => [Event (who e) o] | None => [] end) l.

  Context (init : Z -> mem).
  (** CPU [c] holds no lock, and has no cell from one. *)
  Definition calm (c : nat) (l : log L) : bool :=
    match (held c (lock_part l)).1 with [] => true | _ => false end && bool_decide (owned init (fun _ => ∅) c (lock_part l) = ∅).
  Lemma calm_own : own_replay L calm.
  Proof using. intros c e l Hne. unfold calm, lock_part. simpl. destruct (lock_event_of (what e)) as [o|]; simpl; [|done]. by rewrite !decide_False. Qed.
  Lemma calm_parts c l : calm c l = true <-> (held c (lock_part l)).1 = [] /\ owned init (fun _ => ∅) c (lock_part l) = ∅.
  Proof using.
    unfold calm. rewrite andb_true_iff, bool_decide_eq_true. split; intros [H1 H2]; (split; [|done]); [by destruct (held c (lock_part l)).1|by rewrite H1].
  Qed.
End lock_part.

(** A layer with locks, and with primitives that [passes] names, which touch neither locks nor cells. *)
Record has_locks (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem) (passes : cprim -> Prop) (L : layer cprim mem)
    (lock_event_of : lop L -> option (lock_event mem)) : Prop := {
  locks_step : forall c f k m l, f ∈ [ACQUIRE; RELEASE; OUT] ->
    match lock_step nlock budget (cell_data init guarded) c (f, [k]) m (lock_part lock_event_of l) with
    | Wrong => True
    | Blocked => lstep L c (f, [k]) m l = Blocked
    | Ok v m' o => exists o', lstep L c (f, [k]) m l = Ok v m' o' /\ lock_event_of o' = Some o
    end;
  others_pass : forall c p m l, passes p -> calm lock_event_of init c l = true -> exists v o, lstep L c p m l = Ok v m o /\ lock_event_of o = None;
  others_ordinary : forall p, passes p -> switch_means p = Ordinary }.

(** The lock layer itself is one. *)
Lemma locks_have_locks nlock budget init guarded :
  has_locks nlock budget init guarded (fun _ => False) (lock_layer nlock budget (cell_data init guarded)) Some.
Proof.
  split; [|done..]. intros c f k m l Hf.
  set (x := lock_part _ l). assert (x = l) as -> by (subst x; induction l as [|[w o] l IH]; [done|]; exact (f_equal (cons (Event w o)) IH)).
  change (lstep (lock_layer nlock budget (cell_data init guarded)) c (f, [k]) m l) with (lock_step nlock budget (cell_data init guarded) c (f, [k]) m l).
  destruct (lock_step _ _ _ _ _ _ _); [done..|]. by eexists.
Qed.

Lemma same_dom_disjoint (m m' r : mem) : dom m' =@{gset cell} dom m -> m ##ₘ r -> m' ##ₘ r.
Proof.
  intros Hd Hm. apply map_disjoint_spec. intros x v w Hv Hw. assert (x ∈@{gset cell} dom m) as [u Hu]%(elem_of_dom (M := gmap cell) (D := gset cell)).
  { rewrite <- Hd. apply (elem_of_dom (M := gmap cell) (D := gset cell)). by exists v. }
  by apply (proj1 (map_disjoint_spec m r) Hm x u w).
Qed.
Section framed.
  Context (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem) (parked : cell -> bool).
  Context (guarded_sub : forall k m, guarded k m ⊆ m).
  Context (guarded_parked : forall k m r, m ##ₘ r -> all_parked (fun x => parked x = true) r -> guarded k (m ∪ r) = guarded k m).
  (** A lock primitive does the same where there are more cells that no lock guards. *)
  Lemma lock_step_framed c p (m r : mem) l : m ##ₘ r -> all_parked (fun x => parked x = true) r ->
    match lock_step nlock budget (cell_data init guarded) c p m l with
    | Wrong => True
    | Blocked => lock_step nlock budget (cell_data init guarded) c p (m ∪ r) l = Blocked
    | Ok v m' o => m' ##ₘ r -> lock_step nlock budget (cell_data init guarded) c p (m ∪ r) l = Ok v (m' ∪ r) o
    end.
  Proof using guarded_sub guarded_parked.
    intros Hd Hr. unfold lock_step. destruct (held c l) as [ks n]. destruct p as [f [|k [|??]]]; try done.
    destruct (String.eqb f ACQUIRE).
    { destruct (_ && _); [|done]. destruct (holder k l); [done|]. simpl. intros _. by rewrite (assoc_L (∪)). }
    destruct (String.eqb f RELEASE).
    { destruct ks as [|k' ks]; [done|]. destruct (_ && _); [|done]. simpl. intros Hd'. rewrite guarded_parked by done. f_equal.
      pose proof (guarded_sub k m) as Hs. apply map_eq. intros x. apply option_eq. intros v.
      rewrite lookup_difference_Some, lookup_union_Some by done. rewrite lookup_union_Some by (eapply map_disjoint_weaken_l; [exact Hd|by apply map_subseteq_difference_l]).
      rewrite lookup_difference_Some. split; [naive_solver|]. intros [[]|Hx]; [naive_solver|]. split; [by right|].
      destruct (guarded k m !! x) eqn:Eg; [|done]. pose proof (lookup_weaken _ _ _ _ Eg Hs) as Hm.
      pose proof (map_disjoint_Some_r _ _ _ _ Hd Hx). congruence. }
    destruct (String.eqb f OUT); [|done]. by destruct ks.
  Qed.
End framed.

(** A client that makes calls, and shows values, one after the other. *)
Inductive made := Made (f : string) (args : list Z) | Shown (v : Z).
Definition sequence : client := Client (list made)
  (fun _ s => match s with [] => CDone | Made f args :: _ => CCall f args | Shown v :: _ => COut v end) (fun s _ => tail s).

Section calls.
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module).
  Notation B := (arch_builtins kernel_entry).
  Notation E := (c_engine B M exported).
  Notation A := (system C E).
  Notation S := (shared_kernel kernel_entry M exported C).
  (** The objects, and the programs of the functions. *)
  Context (O : layout) (spec : specification (PRIM := cprim) (MEM := objects O)) (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (LO : layout_ok O init guarded) (SD : spec_disciplined O nlock budget spec) (IM : all_implemented O kernel_entry M exported spec).
  Context (initial_valid : forall k o, obj_of_lock O k = Some o -> obj_valid O o (obj_initial O o)).
  Notation lock_objects := (lock_layer nlock budget (object_data O)).
  (** Threads, on a layer with locks. *)
  Context (passes : cprim -> Prop) (L : layer cprim mem) (lock_event_of : lop L -> option (lock_event mem)) (HL : has_locks nlock budget init guarded passes L lock_event_of).
  Context (ncpu nthread : nat) (home first : nat -> nat) (home_cpu : forall t, (t < nthread)%nat -> (home t < ncpu)%nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
  (** Objects of a CPU's own that a function begins with and leaves again, without cells. *)
  Context (own : objects O) (own_cells : forall m, rep O own m -> m = ∅) (own_rep : rep O own ∅) (own_exact : holds_exactly O [] own).
  Notation part := (lock_part lock_event_of).
  Notation X := (cell_baton cell_of_cpu parked).
  Notation calm := (calm lock_event_of init).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first calm).
  Notation base l := (base L (cpu_view L home l)).
  Notation has_cpu := (has_cpu (D:=mem) home first L).
  (** No lock guards cells that suspended threads, or CPUs, may have. *)
  Context (guarded_sub : forall k m, guarded k m ⊆ m).
  Context (guarded_parked : forall k m r, m ##ₘ r -> all_parked (fun x => parked x = true) r -> guarded k (m ∪ r) = guarded k m).
  Context (object_cells : forall k o s d x v, obj_of_lock O k = Some o -> obj_rep O o s d -> d !! x = Some v -> parked x = false).

  (** The program has an answer from objects [a], whatever the others do to objects meanwhile, and leaves none of a CPU's own. *)
  Inductive answers : objects O -> prog O -> Prop :=
  | answers_ret v : answers own (Ret v)
  | answers_loc f k a v a' : f a = Some (v, a') -> answers a' (k v) -> answers a (Loc f k)
  | answers_act p k a : (forall v a', response O p a v a' -> answers a' (k v)) -> answers a (Act p k).
  Definition allowed (e : made) : Prop := match e with Made f args => exists p, spec f args = Some p /\ answers own p | Shown _ => True end.

  Notation sequence_agent := (system sequence (object_engine O spec)).
  Notation step_at s g := (@Busy _ _ sequence (object_engine O spec) s g).
  Notation between_at s a := (@Idle _ _ sequence (object_engine O spec) s a).
  (** CPU [c] can be in state [y] after the events [x] on objects, if its client makes some sequence of such calls. *)
  Definition explains (c : nat) (x : log lock_objects) (y : ast sequence_agent) : Prop :=
    exists s, Forall allowed s /\ consistent lock_objects sequence_agent (fun _ => between_at s own) c x y.

  Definition more (e : made) (y : ast sequence_agent) : ast sequence_agent :=
    match y with Idle s a => between_at (s ++ [e]) a | Busy s g => step_at (s ++ [e]) g end.
  Definition under_way (y : ast sequence_agent) : Prop := match y with Busy s _ => s <> [] | Idle _ _ => True end.
  Lemma more_tau e c y y' : under_way y -> anext sequence_agent c y = ATau y' -> anext sequence_agent c (more e y) = ATau (more e y') /\ under_way y'.
  Proof using.
    destruct y as [s a|s [p a]]; intros Hw; cbn [anext system system_next cnext sequence enext object_engine program_engine program_next more estart].
    - destruct s as [|[f args|v] s]; [done| |done]. cbn [app]. destruct (spec f args) as [p|]; [|done]. by intros [= <-].
    - destruct p as [v| |q k|f k]; [|done|done|].
      + intros [= <-]. split; [|done]. by destruct s.
      + destruct (f a) as [[v a']|]; [|done]. by intros [= <-].
  Qed.
  Lemma more_prim e c y q : under_way y -> anext sequence_agent c y = APrim q -> anext sequence_agent c (more e y) = APrim q /\
    amem sequence_agent (more e y) = amem sequence_agent y /\
    forall v m, aresume sequence_agent (more e y) v m = more e (aresume sequence_agent y v m) /\ under_way (aresume sequence_agent y v m).
  Proof using.
    destruct y as [s a|s [p a]]; intros Hw; cbn [anext system system_next cnext sequence enext object_engine program_engine program_next more estart amem system_mem emem aresume system_resume].
    - destruct s as [|[f args|v] s]; [done|by destruct (spec f args)|]. by intros [= <-].
    - destruct p as [v| |p k|f k]; [done|done| |by destruct (f a) as [[v a']|]]. by intros [= <-].
  Qed.
  Lemma consistent_more c s e x y : consistent lock_objects sequence_agent (fun _ => between_at s own) c x y ->
    consistent lock_objects sequence_agent (fun _ => between_at (s ++ [e]) own) c x (more e y) /\ under_way y.
  Proof using.
    induction 1 as [|l y y' H [IH Hw] Hn|l y ev H [IH Hw] He|l y q v m o H [IH Hw] Hn Hp].
    - split; [exact (consistent_init lock_objects sequence_agent (fun _ => between_at (s ++ [e]) own) c)|done].
    - destruct (more_tau e c y y' Hw Hn) as [Hn' Hw']. split; [by eapply consistent_tau|done].
    - split; [by apply consistent_other|done].
    - destruct (more_prim e c y q Hw Hn) as (Hn' & Hm & Hr). destruct (Hr v m) as [E Hw']. split; [|done]. rewrite <- E.
      eapply consistent_own; [exact IH|exact Hn'|]. by rewrite Hm.
  Qed.
  (** It may make one call more. *)
  Lemma explains_more c x e : allowed e -> explains c x (between_at [] own) -> explains c x (between_at [e] own).
  Proof using.
    intros He (s & Hs & Hc). exists (s ++ [e]). split; [apply Forall_app; split; [done|by constructor]|]. exact (proj1 (consistent_more c s e x _ Hc)).
  Qed.
  Lemma explains_others c e x y : others lock_objects c e -> explains c x y -> explains c (e ++ x) y.
  Proof using. intros He (s & Hs & Hc). exists s. split; [done|]. by apply consistent_app. Qed.
  Lemma explains_tau c x y y' : anext sequence_agent c y = ATau y' -> explains c x y -> explains c x y'.
  Proof using. intros Hn (s & Hs & Hc). exists s. split; [done|]. by eapply consistent_tau. Qed.
  Lemma explains_own c x y q v m o : anext sequence_agent c y = APrim q -> lstep lock_objects c q (amem sequence_agent y) x = Ok v m o ->
    explains c x y -> explains c (Event c o :: x) (aresume sequence_agent y v m).
  Proof using. intros Hn Hp (s & Hs & Hc). exists s. split; [done|]. by eapply consistent_own. Qed.

  (** What all CPUs guarantee each other: cells are in one place, what locks guard represents valid objects, and each CPU's part in what happened
      to objects is explained. *)
  Definition objects_sound (l : log L) : Prop :=
    partitioned init (fun _ => ∅) (part l) /\ Forall (fun e => (who e < ncpu)%nat) (part l) /\
    exists x, same_log O (part l) x /\ legal lock_objects x /\ forall c, (c < ncpu)%nat -> exists y, explains c x y.
  (** CPU [c] is between two calls. *)
  Definition objects_settled (c : nat) (l : log L) : Prop := exists x, same_log O (part l) x /\ explains c x (between_at [] own).
  Lemma objects_sound_start : (forall k k', k <> k' -> init k ##ₘ init k') -> objects_sound [].
  Proof using.
    intros Hi. split; [|split; [constructor|exists []; split_and!; [constructor..|]]].
    - apply partitioned_nil.
      + intros c c' _. apply disjoint_empty_l.
      + intros c k. apply disjoint_empty_l.
      + intros k k' Hne. apply fin_map_dom.map_disjoint_dom. by apply Hi.
    - intros c _. exists (between_at [] own), []. split; [constructor|]. exact (consistent_init lock_objects sequence_agent (fun _ => between_at [] own) c).
  Qed.
  Lemma objects_settled_start c : objects_settled c [].
  Proof using. exists []. split; [constructor|]. exists []. split; [constructor|]. exact (consistent_init lock_objects sequence_agent (fun _ => between_at [] own) c). Qed.
  Lemma part_app e l : part (e ++ l) = part e ++ part l.
  Proof using. apply flat_map_app. Qed.
  Lemma part_others c e : others L c e -> others lock_objects c [] -> Forall (fun y => who y <> c) (part e).
  Proof using.
    intros He _. induction He as [|[w o] e Hw He IH]; [constructor|]. unfold lock_part. simpl. destruct (lock_event_of o); [by constructor|exact IH].
  Qed.
  (** Where others have gone on, there is a longer explanation. *)
  Lemma explained_longer c e l x y : others L c e -> objects_sound (e ++ l) -> same_log O (part l) x -> explains c x y ->
    exists x', same_log O (part (e ++ l)) x' /\ legal lock_objects x' /\ explains c x' y /\ forall c', (c' < ncpu)%nat -> exists y, explains c' x' y.
  Proof using LO.
    intros He (_ & _ & x' & Hx' & Hleg & Hall) Hx Hy. exists x'. split_and!; [done..| |done]. rewrite part_app in Hx'.
    destruct (same_log_extends O (lo_state _ _ _ LO) _ _ _ _ Hx Hx') as (f & -> & Hf). apply explains_others; [|done].
    eapply same_log_others; [exact Hf|]. by apply part_others; [|constructor].
  Qed.
  Lemma objects_settled_stable c e l : others L c e -> objects_sound (e ++ l) -> objects_settled c l -> objects_settled c (e ++ l).
  Proof using LO.
    intros He Hs (x & Hx & Hy). destruct (explained_longer c e l x _ He Hs Hx Hy) as (x' & Hx' & _ & Hy' & _). by exists x'.
  Qed.
  Lemma other_event c o l : lock_event_of o = None -> objects_sound l -> objects_settled c l -> objects_sound (Event c o :: l) /\ objects_settled c (Event c o :: l).
  Proof using. intros E. unfold objects_sound, objects_settled, lock_part. simpl. by rewrite E. Qed.

  Lemma pass_calm c p m l : passes p -> calm c l = true -> exists v o, lstep L c p m l = Ok v m o /\ calm c (Event c o :: l) = true /\
    (objects_sound l -> objects_settled c l -> objects_sound (Event c o :: l) /\ objects_settled c (Event c o :: l)).
  Proof using HL.
    intros Hp Hc. destruct (others_pass _ _ _ _ _ _ _ HL c p m l Hp Hc) as (v & o & E & Eo). exists v, o. split_and!; [done| |by apply other_event].
    revert Hc. rewrite !calm_parts. unfold lock_part. simpl. by rewrite Eo.
  Qed.
  Lemma out_calm c v m l : (c < ncpu)%nat -> calm c l = true -> exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\ calm c (Event c o :: l) = true /\
    (objects_sound l -> objects_settled c l -> objects_sound (Event c o :: l) /\ objects_settled c (Event c o :: l)).
  Proof using HL LO.
    intros Hcpu Hc. pose proof Hc as [Hh Ho]%calm_parts. pose proof (locks_step _ _ _ _ _ _ _ HL c OUT v m l ltac:(by right; right; left)) as Hs. unfold lock_step in Hs.
    destruct (held c (part l)) as [ks n] eqn:Eh. simpl in Hh. subst ks. simpl in Hs. destruct Hs as (o & Eo & Ev). exists o. split; [done|].
    assert (part (Event c o :: l) = Event c (OOut v) :: part l) as Ep by (unfold lock_part; simpl; by rewrite Ev).
    split.
    - apply calm_parts. rewrite Ep. simpl. rewrite !decide_True by done. by rewrite Eh.
    - intros (Hp & Hw & x & Hx & Hl & Hall) (x0 & Hx0 & Hy). assert (x0 = x) as -> by (by eapply (same_log_functional O (lo_state _ _ _ LO))).
      assert (lstep lock_objects c (OUT, [v]) own x = Ok 0 own (OOut v)) as Estep.
      { simpl. unfold lock_step. rewrite <- (same_log_held O c _ _ Hx), Eh. done. }
      assert (explains c (Event c (OOut v) :: x) (between_at [] own)) as Hy'.
      { apply (explains_own c x (between_at [Shown v] own) (OUT, [v]) 0 own (OOut v) eq_refl Estep). by apply explains_more. }
      assert (same_log O (part (Event c o :: l)) (Event c (OOut v) :: x)) as Hx' by (rewrite Ep; by constructor).
      split; [|by exists (Event c (OOut v) :: x)]. split; [rewrite Ep; by apply partitioned_out|]. split; [rewrite Ep; by constructor|].
      exists (Event c (OOut v) :: x). split_and!; [done|by eapply (legal_cons lock_objects c (OUT, [v]))|].
      intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [by eexists|]. destruct (Hall c' Hc') as [y Hy0]. exists y.
      apply (explains_others c' [Event c (OOut v)]); [by repeat constructor; simpl; congruence|done].
  Qed.

  Local Lemma parts_own : own_replay L (fun c l => (held c (part l), owned init (fun _ => ∅) c (part l))).
  Proof using. intros c e l Hne. unfold lock_part. simpl. destruct (lock_event_of (what e)) as [o|]; simpl; [|done]. by rewrite !decide_False. Qed.

  (** Cells from locks are none that suspended threads may have. *)
  Lemma published_apart k l x (w : mem) : same_log O l x -> all_parked (fun x => parked x = true) w -> dom (published init k l) ##@{gset cell} dom w.
  Proof using LO object_cells.
    intros Hx Hw y [v Hv]%(elem_of_dom (M := gmap cell) (D := gset cell)) [z Hz]%(elem_of_dom (M := gmap cell) (D := gset cell)).
    pose proof (same_log_published O init k l x (lo_init _ _ _ LO k) Hx) as Hd. unfold same_data in Hd. destruct (obj_of_lock O k) as [o|] eqn:Eo.
    - destruct Hd as (s & _ & Hr & _). apply Hw in Hz. by rewrite (object_cells k o s _ y v Eo Hr Hv) in Hz.
    - destruct Hd as [_ E]. rewrite E in Hv. change ((∅ : gmap cell Z) !! y = Some v) in Hv. by rewrite lookup_empty in Hv.
  Qed.

  Section thread.
    Context (valid : nat -> nat -> mem -> Prop).
    Notation GT := (guaranteed L nthread home first cell_of_cpu parked calm valid objects_sound objects_settled).
    Context (t : nat) (Ht : (t < nthread)%nat) (Q : ast TA -> log TL -> Prop) (u : cstate C).
    Notation c := (home t).
    Notation at_busy s := (thread_at S home switch_means begin Running (@Busy _ _ C E u s)).
    Notation at_idle u m := (thread_at S home switch_means begin Running (@Idle _ _ C E u m)).
    (** The thread's cells, and the CPU's. *)
    Context (w : mem) (Hw : all_parked (fun x => parked x = true) w).
    Context (back : forall v l, has_cpu t l -> calm c (base l) = true -> objects_sound (base l) -> objects_settled c (base l) -> Q (at_idle (creturn C u v) w) l).

    Lemma call_runs call e g : sim O kernel_entry M c (returns O kernel_entry M c) e g -> forall l x,
      has_cpu t l -> objects_sound (base l) -> same_log O (part (base l)) x -> explains c x (step_at [call] g) ->
      disciplined O nlock budget (held c x).1 (held c x).2 g.2 g.1 -> answers g.2 g.1 ->
      dom (cm e) = owned init (fun _ => ∅) c (part (base l)) -> cm e ##ₘ w -> run TL TA GT t Q (at_busy (cput e (cm e ∪ w))) l.
    Proof using LO SD initial_valid HL guarded_sub guarded_parked object_cells Hw own_cells home_cpu Ht back.
      induction 1 as [e g Hp|e e' g Hn H IH|e a|e f k a Hf|e f k a v a' Hf H IH|e p k a Hn Hr H IH]; intros l x Hcpu Hsound Hx Hy Hdis Ha Hd Hde.
      - destruct Hp as (v & m & Hg & Hn & Hr). destruct g as [p a]. simpl in Hg, Hr, Hdis, Ha. subst p. inversion Ha; subst.
        pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm. destruct Hm as [Hm ->].
        assert (anext A c (@Busy _ _ C E u (cput e (cm e ∪ w))) = ATau (@Idle _ _ C E (creturn C u v) (cm e ∪ w))) as En by (cbn [anext system system_next enext c_engine]; by rewrite Hm).
        refine (run_tau TL TA GT t Q _ (at_idle (creturn C u v) (cm e ∪ w)) l _ _).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = ATau (at_idle (creturn C u v) (cm e ∪ w))). by rewrite thread_at_next, En. }
        pose proof (own_cells _ Hr) as E0. rewrite E0, (left_id_L ∅ (∪)). apply run_done, back; [done| |done|exists x; split; [done|exact (explains_tau c x (step_at [call] (Ret v, own)) (between_at [] own) eq_refl Hy)]]. apply calm_parts. rewrite <- Hd, E0. split.
        + rewrite (same_log_held O c _ _ Hx). by inversion Hdis.
        + apply (fin_map_dom.dom_empty_L (M := gmap cell) (D := gset cell)).
      - pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm. pose proof (next_dom kernel_entry M c e e' Hn) as Hdom.
        refine (run_tau TL TA GT t Q _ (at_busy (cput e' (cm e' ∪ w))) l _ _).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = ATau (at_busy (cput e' (cm e' ∪ w)))). rewrite thread_at_next.
          cbn [anext system system_next enext c_engine]. by rewrite Hm. }
        apply (IH l x Hcpu Hsound Hx Hy Hdis Ha); [by rewrite Hdom|by eapply same_dom_disjoint].
      - by inversion Ha.
      - simpl in Ha. by inversion Ha as [|? ? ? v1 a1 Hf1 Ha1|]; simplify_eq.
      - simpl in Hdis, Ha. inversion Ha as [|? ? ? v1 a1 Hf1 Ha1|]; simplify_eq. apply (IH l x); try done.
        + eapply explains_tau; [|exact Hy]. cbn [anext system system_next enext object_engine program_engine program_next]. by rewrite Hf.
        + simpl. inversion Hdis; subst. eauto.
      - simpl in Hdis, Ha. inversion Ha as [| |? ? ? Ha1]; subst. assert (exists lock, (p = (ACQUIRE, [lock]) \/ p = (RELEASE, [lock]))) as (lock & Hp) by (inversion Hdis; subst; eauto).
        assert (switch_means p = Ordinary) as Hord by (by destruct Hp as [-> | ->]).
        pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm.
        eapply run_prim with (p := PBase p).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = APrim (PBase p)). rewrite thread_at_next. cbn [anext system system_next enext c_engine]. rewrite Hm. by rewrite Hord. }
        intros l' Hrel. pose proof Hrel as (ev & El & Hev & HG & _ & Hlegal). pose proof Hcpu as [Hon Htr].
        destruct (baton_replay L X nthread home first calm _ GT t l l' parts_own Hon Hrel) as (Hon' & Hsame & Htr'). rewrite Htr in Htr'.
        injection Hsame as Hheld Howned. destruct HG as [HGsound Hhands]. pose proof HGsound as (Hpart & Hwho & _).
        assert (exists x', same_log O (part (base l')) x' /\ legal lock_objects x' /\ explains c x' (step_at [call] (Act p k, a)) /\
          forall c', (c' < ncpu)%nat -> exists y, explains c' x' y) as (x' & Hx' & Hleg & Hy' & Hall).
        { subst l'. destruct (others_base nthread X home first L calm ev l t Hlegal Hcpu Hev) as [Hb _].
          assert (base (ev ++ l) = base ev ++ base l) as Eb by exact (base_app home L ev l). rewrite Eb in HGsound |- *.
          by apply (explained_longer c (base ev) (base l) x). }
        assert (held c x' = held c x) as Ehx by (rewrite <- (same_log_held O c _ _ Hx), <- (same_log_held O c _ _ Hx'); exact Hheld).
        pose proof (disciplined_holds O nlock budget _ _ _ _ Hdis ltac:(done)) as Hexact. rewrite <- Ehx in Hdis, Hexact.
        assert (dom (cm e) = owned init (fun _ => ∅) c (part (base l'))) as Hd' by (etransitivity; [exact Hd|symmetry; exact Howned]).
        pose proof (lock_step_related O nlock budget init guarded LO (fun _ => ∅) c p a (cm e) (part (base l')) x' Hr Hx' Hpart Hd' Hexact) as Hrelated.
        pose proof (orderly_prim O nlock budget initial_valid C spec SD c (@Busy _ _ C (object_engine O spec) u (Act p k, a)) p x' Hdis eq_refl Hleg) as Hok.
        change (amem (system C (object_engine O spec)) (@Busy _ _ C (object_engine O spec) u (Act p k, a))) with a in Hok.
        pose proof (lock_step_framed nlock budget init guarded parked guarded_sub guarded_parked c p (cm e) w (part (base l')) Hde Hw) as Hframed.
        assert (match lock_step nlock budget (cell_data init guarded) c p (cm e ∪ w) (part (base l')) with
          | Wrong => True | Blocked => lstep L c p (cm e ∪ w) (base l') = Blocked
          | Ok v m' o => exists o', lstep L c p (cm e ∪ w) (base l') = Ok v m' o' /\ lock_event_of o' = Some o end) as Hstep.
        { destruct Hp as [-> | ->]; apply (locks_step _ _ _ _ _ _ _ HL); [by left|by right; left]. }
        cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of. rewrite decide_True by exact Hon'. rewrite Htr'.
        change (tmem T (at_busy (cput e (cm e ∪ w)))) with (cm e ∪ w).
        destruct (lock_step nlock budget (object_data O) c p a x') as [| |v a' o2] eqn:E2.
        + rewrite Hrelated in Hframed. rewrite Hframed in Hstep. by rewrite Hstep.
        + done.
        + destruct Hrelated as (m' & o1 & E1 & Hsame2 & Hresp & Hr' & Hpart' & Hdm). rewrite E1 in Hframed.
          assert (m' ##ₘ w) as Hmw.
          { apply map_disjoint_spec. intros y v1 z Hv Hz.
            assert (y ∈@{gset cell} dom m') as Hcell by (apply (elem_of_dom (M := gmap cell) (D := gset cell)); by exists v1).
            rewrite Hdm in Hcell. simpl in Hcell. rewrite decide_True in Hcell by done.
            assert (y ∉ owned init (fun _ => ∅) c (part (base l'))) as Hno.
            { intros Ho. rewrite <- Hd' in Ho. apply (elem_of_dom (M := gmap cell) (D := gset cell)) in Ho as [v2 Hv2]. by apply (proj1 (map_disjoint_spec _ _) Hde y v2 z). }
            destruct o1 as [k1|k1 d1|v3]; [|by apply elem_of_difference in Hcell as [Hcell _]|done]. apply elem_of_union in Hcell as [Hcell|Hcell]; [done|].
            apply (published_apart k1 _ x' w Hx' Hw y Hcell). apply (elem_of_dom (M := gmap cell) (D := gset cell)). by exists z. }
          rewrite (Hframed Hmw) in Hstep. destruct Hstep as (o' & Eo & Elock). rewrite Eo.
          assert (part (Event c o' :: base l') = Event c o1 :: part (base l')) as Epart by (unfold lock_part; simpl; by rewrite Elock).
          assert (explains c (Event c o2 :: x') (step_at [call] (k v, a'))) as Hy2.
          { exact (explains_own c x' (step_at [call] (Act p k, a)) p v a' o2 eq_refl E2 Hy'). }
          assert (objects_sound (Event c o' :: base l')) as Hsound'.
          { split; [|split]; rewrite Epart; [exact Hpart'|constructor; [by apply home_cpu|exact Hwho]|]. exists (Event c o2 :: x').
            split_and!; [by constructor|by eapply (legal_cons lock_objects c p a v a' o2)|]. intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [by eexists|].
            destruct (Hall c' Hc') as [y Hy0]. exists y. apply (explains_others c' [Event c o2]); [by repeat constructor; simpl; congruence|done]. }
          split; [split; [exact Hsound'|exact (conj I Hhands)]|].
          change (aresume TA) with (thread_resume T). rewrite (thread_at_returned S home switch_means begin (@Busy _ _ C E u (cput e (cm e ∪ w))) v (m' ∪ w)).
            assert (aresume A (@Busy _ _ C E u (cput e (cm e ∪ w))) v (m' ∪ w) = @Busy _ _ C E u (cput (resume e v m') (cm (resume e v m') ∪ w))) as ->.
            { cbn [aresume system system_resume eresume c_engine]. f_equal. unfold resume, cput. destruct e as [ke re me]. cbn [ck cl cm].
              destruct ke as [|[[]| | |] ?]; done. }
            assert (cm (resume e v m') = m') as Ecm by (unfold resume; by repeat case_match).
            destruct Hresp as [Hresp|[Hout _]]; [|by destruct Hp as [-> | ->]].
            apply (IH v m' a' Hresp Hr' (Event t (UBase o') :: l') (Event c o2 :: x')).
            -- split; [exact Hon'|]. simpl. by rewrite decide_True.
            -- exact Hsound'.
            -- change (same_log O (part (Event c o' :: base l')) (Event c o2 :: x')). rewrite Epart. by constructor.
            -- exact Hy2.
            -- exact Hok.
            -- by apply Ha1.
            -- rewrite Ecm. change (dom m' = owned init (fun _ => ∅) c (part (Event c o' :: base l'))). by rewrite Epart.
            -- by rewrite Ecm.
    Qed.

    (** So a thread that has the CPU, and nothing from locks, may call such a function, and has all that it had when the function returns. *)
    Theorem object_call f args l : objects_sound (base l) -> objects_settled c (base l) -> has_cpu t l -> calm c (base l) = true -> allowed (Made f args) ->
      exists fd, M f = Some fd /\ exported f = true /\ length args = fn_params fd /\ run TL TA GT t Q (at_busy (enter fd args [KEnd] w)) l.
    Proof using LO SD IM initial_valid HL guarded_sub guarded_parked object_cells Hw own_cells own_rep own_exact home_cpu Ht back.
      intros Hsound (x & Hx & Hy) Hcpu [Hh Ho]%calm_parts Hcall. pose proof Hcall as (p & Ep & Ha). destruct (IM f args p Ep) as (fd & HM & Hexp & Himp).
      destruct (Himp c ∅ own own_rep) as [[Hlen Hsim]| ->]; [|by inversion Ha]. exists fd. split_and!; [done..|].
      assert (enter fd args [KEnd] w = cput (enter fd args [KEnd] ∅) (cm (enter fd args [KEnd] ∅) ∪ w)) as ->.
      { unfold enter, cput. cbn [ck cl cm]. by rewrite (left_id_L ∅ (∪)). }
      apply (call_runs (Made f args) _ (p, own) Hsim l x Hcpu Hsound Hx).
      - eapply explains_tau; [|by apply (explains_more c x (Made f args))]. cbn [anext system system_next cnext sequence estart object_engine program_engine]. by rewrite Ep.
      - simpl. rewrite <- (same_log_held O c _ _ Hx), Hh. by eapply SD.
      - done.
      - change (dom (∅ : gmap cell Z) = owned init (fun _ => ∅) c (part (base l))). rewrite Ho. apply (fin_map_dom.dom_empty_L (M := gmap cell) (D := gset cell)).
      - apply map_disjoint_empty_l.
    Qed.
  End thread.

  (** What has happened to objects is what CPUs without threads can do whose clients make sequences of such calls. *)
  Theorem objects_history l : objects_sound l -> exists (sequences : nat -> list made) x, (forall c, Forall allowed (sequences c)) /\
    same_log O (part l) x /\ traces ncpu lock_objects sequence_agent (fun c => between_at (sequences c) own) x.
  Proof using.
    intros (_ & Hwho & x & Hx & _ & Hall).
    destruct (finite_choice ([], between_at [] own) (fun c sy => Forall allowed sy.1 /\ consistent lock_objects sequence_agent (fun _ => between_at sy.1 own) c x sy.2) ncpu) as [f Hf].
    { intros c Hc. destruct (Hall c Hc) as (y & s & Hs & Hy). by exists (s, y). }
    exists (fun c => if decide (c < ncpu)%nat then (f c).1 else []), x. split; [|split; [done|]].
    - intros c. case_decide as Hc; [by apply Hf|constructor].
    - destruct (consistent_reaches ncpu lock_objects sequence_agent (fun c => between_at (if decide (c < ncpu)%nat then (f c).1 else []) own) x (fun c => (f c).2)) as (f' & Hr & _).
      + done.
      + clear -Hx Hwho. induction Hx as [|e y l1 x1 [Hw _] Hl IH]; [constructor|]. apply Forall_cons in Hwho as [He Hwho]. constructor; [change (who y < ncpu)%nat; by rewrite <- Hw|by apply IH].
      + intros c Hc. destruct (Hf c Hc) as [_ Hy]. eapply consistent_start; [exact Hy|]. by rewrite decide_True.
      + by exists f'.
  Qed.
End calls.
