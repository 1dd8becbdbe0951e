(** Threads that call functions which take locks.

    [calculus/objects/] says what a function does that implements a program over objects, each guarded by a lock, on a machine where each CPU
    is one agent. A thread may call such a function, too: it has the cells of the locks that it holds besides the CPU's and its own. It can
    be handed over again when it holds none, and has given back all that it had from locks. *)
From Ashlar Require Export machine.threads.SwitchRule calculus.objects.Data.
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
  Context (nthread : nat) (home first : nat -> nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
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

  (** What all CPUs guarantee each other: cells are in one place, and what locks guard represents valid objects. *)
  Definition objects_sound (l : log L) : Prop :=
    partitioned init (fun _ => ∅) (part l) /\ exists x, same_log O (part l) x /\ legal lock_objects x.
  Lemma objects_sound_start : (forall k k', k <> k' -> init k ##ₘ init k') -> objects_sound [].
  Proof using.
    intros Hi. split; [|exists []; split; constructor]. apply partitioned_nil.
    - intros c c' _. apply disjoint_empty_l.
    - intros c k. apply disjoint_empty_l.
    - intros k k' Hne. apply fin_map_dom.map_disjoint_dom. by apply Hi.
  Qed.
  Lemma objects_sound_other c o l : lock_event_of o = None -> objects_sound l -> objects_sound (Event c o :: l).
  Proof using. intros E. unfold objects_sound, lock_part. simpl. by rewrite E. Qed.

  Lemma pass_calm c p m l : passes p -> calm c l = true -> exists v o, lstep L c p m l = Ok v m o /\ calm c (Event c o :: l) = true /\
    (objects_sound l -> objects_sound (Event c o :: l)).
  Proof using HL.
    intros Hp Hc. destruct (others_pass _ _ _ _ _ _ _ HL c p m l Hp Hc) as (v & o & E & Eo). exists v, o. split_and!; [done| |by apply objects_sound_other].
    revert Hc. rewrite !calm_parts. unfold lock_part. simpl. by rewrite Eo.
  Qed.
  Lemma out_calm c v m l : calm c l = true -> exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\ calm c (Event c o :: l) = true /\
    (objects_sound l -> objects_sound (Event c o :: l)).
  Proof using HL.
    intros Hc. pose proof Hc as [Hh Ho]%calm_parts. pose proof (locks_step _ _ _ _ _ _ _ HL c OUT v m l ltac:(by right; right; left)) as Hs. unfold lock_step in Hs.
    destruct (held c (part l)) as [ks n] eqn:Eh. simpl in Hh. subst ks. simpl in Hs. destruct Hs as (o & Eo & Ev). exists o. split; [done|].
    assert (part (Event c o :: l) = Event c (OOut v) :: part l) as Ep by (unfold lock_part; simpl; by rewrite Ev).
    split.
    - apply calm_parts. rewrite Ep. simpl. rewrite !decide_True by done. by rewrite Eh.
    - intros (Hp & x & Hx & Hl). split; [rewrite Ep; by apply partitioned_out|]. exists (Event c (OOut v) :: x). split; [rewrite Ep; by constructor|].
      apply (legal_cons lock_objects c (OUT, [v]) ∅ 0 ∅ (OOut v) x Hl). simpl. unfold lock_step. rewrite <- (same_log_held O c _ _ Hx), Eh. done.
  Qed.

  (** The program has an answer from objects [a], whatever the others do to objects meanwhile, and leaves none of a CPU's own. *)
  Inductive answers (rest : objects O) : objects O -> prog O -> Prop :=
  | answers_ret v : answers rest rest (Ret v)
  | answers_loc f k a v a' : f a = Some (v, a') -> answers rest a' (k v) -> answers rest a (Loc f k)
  | answers_act p k a : (forall v a', response O p a v a' -> answers rest a' (k v)) -> answers rest a (Act p k).

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
    Notation GT := (guaranteed L nthread home first cell_of_cpu parked calm valid objects_sound).
    Context (t : nat) (Q : ast TA -> log TL -> Prop) (u : cstate C).
    Notation c := (home t).
    Notation at_busy s := (thread_at S home switch_means begin Running (@Busy _ _ C E u s)).
    Notation at_idle u m := (thread_at S home switch_means begin Running (@Idle _ _ C E u m)).
    (** The thread's cells, and the CPU's; objects of its own that a function begins with and leaves again, without cells. *)
    Context (w : mem) (Hw : all_parked (fun x => parked x = true) w).
    Context (own : objects O) (own_cells : forall m, rep O own m -> m = ∅).
    Context (back : forall v l, has_cpu t l -> calm c (base l) = true -> objects_sound (base l) -> Q (at_idle (creturn C u v) w) l).

    Lemma call_runs e g : sim O kernel_entry M c (returns O kernel_entry M c) e g -> forall l x,
      has_cpu t l -> objects_sound (base l) -> same_log O (part (base l)) x -> disciplined O nlock budget (held c x).1 (held c x).2 g.2 g.1 -> answers own g.2 g.1 ->
      dom (cm e) = owned init (fun _ => ∅) c (part (base l)) -> cm e ##ₘ w -> run TL TA GT t Q (at_busy (cput e (cm e ∪ w))) l.
    Proof using LO SD initial_valid HL guarded_sub guarded_parked object_cells Hw own_cells back.
      induction 1 as [e g Hp|e e' g Hn H IH|e a|e f k a Hf|e f k a v a' Hf H IH|e p k a Hn Hr H IH]; intros l x Hcpu Hsound Hx Hdis Ha Hd Hde.
      - destruct Hp as (v & m & Hg & Hn & Hr). destruct g as [p a]. simpl in Hg, Hr, Hdis, Ha. subst p. inversion Ha; subst.
        pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm. destruct Hm as [Hm ->].
        assert (anext A c (@Busy _ _ C E u (cput e (cm e ∪ w))) = ATau (@Idle _ _ C E (creturn C u v) (cm e ∪ w))) as En by (cbn [anext system system_next enext c_engine]; by rewrite Hm).
        refine (run_tau TL TA GT t Q _ (at_idle (creturn C u v) (cm e ∪ w)) l _ _).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = ATau (at_idle (creturn C u v) (cm e ∪ w))). by rewrite thread_at_next, En. }
        pose proof (own_cells _ Hr) as E0. rewrite E0, (left_id_L ∅ (∪)). apply run_done, back; [done| |done]. apply calm_parts. rewrite <- Hd, E0. split.
        + rewrite (same_log_held O c _ _ Hx). by inversion Hdis.
        + apply (fin_map_dom.dom_empty_L (M := gmap cell) (D := gset cell)).
      - pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm. pose proof (next_dom kernel_entry M c e e' Hn) as Hdom.
        refine (run_tau TL TA GT t Q _ (at_busy (cput e' (cm e' ∪ w))) l _ _).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = ATau (at_busy (cput e' (cm e' ∪ w)))). rewrite thread_at_next.
          cbn [anext system system_next enext c_engine]. by rewrite Hm. }
        apply (IH l x Hcpu Hsound Hx Hdis Ha); [by rewrite Hdom|by eapply same_dom_disjoint].
      - by inversion Ha.
      - simpl in Ha. by inversion Ha as [|? ? ? v1 a1 Hf1 Ha1|]; simplify_eq.
      - simpl in Hdis, Ha. inversion Ha as [|? ? ? v1 a1 Hf1 Ha1|]; simplify_eq. apply (IH l x); try done.
        simpl. inversion Hdis; subst. eauto.
      - simpl in Hdis, Ha. inversion Ha as [| |? ? ? Ha1]; subst. assert (exists lock, (p = (ACQUIRE, [lock]) \/ p = (RELEASE, [lock]))) as (lock & Hp) by (inversion Hdis; subst; eauto).
        assert (switch_means p = Ordinary) as Hord by (by destruct Hp as [-> | ->]).
        pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm.
        eapply run_prim with (p := PBase p).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = APrim (PBase p)). rewrite thread_at_next. cbn [anext system system_next enext c_engine]. rewrite Hm. by rewrite Hord. }
        intros l' Hrel. pose proof Hrel as (ev & _ & _ & HG & _ & _). destruct Hcpu as [Hon Htr].
        destruct (baton_replay L X nthread home first calm _ GT t l l' parts_own Hon Hrel) as (Hon' & Hsame & Htr'). rewrite Htr in Htr'.
        injection Hsame as Hheld Howned. destruct HG as [[Hpart (x' & Hx' & Hleg)] Hhands].
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
        + destruct Hrelated as (m' & o1 & E1 & Hev & Hresp & Hr' & Hpart' & Hdm). rewrite E1 in Hframed.
          assert (m' ##ₘ w) as Hmw.
          { apply map_disjoint_spec. intros y v1 z Hv Hz.
            assert (y ∈@{gset cell} dom m') as Hy by (apply (elem_of_dom (M := gmap cell) (D := gset cell)); by exists v1).
            rewrite Hdm in Hy. simpl in Hy. rewrite decide_True in Hy by done.
            assert (y ∉ owned init (fun _ => ∅) c (part (base l'))) as Hno.
            { intros Ho. rewrite <- Hd' in Ho. apply (elem_of_dom (M := gmap cell) (D := gset cell)) in Ho as [v2 Hv2]. by apply (proj1 (map_disjoint_spec _ _) Hde y v2 z). }
            destruct o1 as [k1|k1 d1|v3]; [|by apply elem_of_difference in Hy as [Hy _]|done]. apply elem_of_union in Hy as [Hy|Hy]; [done|].
            apply (published_apart k1 _ x' w Hx' Hw y Hy). apply (elem_of_dom (M := gmap cell) (D := gset cell)). by exists z. }
          rewrite (Hframed Hmw) in Hstep. destruct Hstep as (o' & Eo & Elock). rewrite Eo.
          assert (part (Event c o' :: base l') = Event c o1 :: part (base l')) as Epart by (unfold lock_part; simpl; by rewrite Elock).
          assert (objects_sound (Event c o' :: base l')) as Hsound'.
          { split; rewrite Epart; [exact Hpart'|]. exists (Event c o2 :: x'). split; [by constructor|]. by eapply (legal_cons lock_objects c p a v a' o2). }
          split; [split; [exact Hsound'|by constructor]|].
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
            -- exact Hok.
            -- by apply Ha1.
            -- rewrite Ecm. change (dom m' = owned init (fun _ => ∅) c (part (Event c o' :: base l'))). by rewrite Epart.
            -- by rewrite Ecm.
    Qed.

    (** So a thread that has the CPU, and nothing from locks, may call such a function, and has all that it had when the function returns. *)
    Theorem object_call f args l : objects_sound (base l) -> has_cpu t l -> calm c (base l) = true -> rep O own ∅ -> holds_exactly O [] own ->
      (exists p, spec f args = Some p /\ answers own own p) ->
      exists fd, M f = Some fd /\ exported f = true /\ length args = fn_params fd /\ run TL TA GT t Q (at_busy (enter fd args [KEnd] w)) l.
    Proof using LO SD IM initial_valid HL guarded_sub guarded_parked object_cells Hw own_cells back.
      intros Hsound Hcpu [Hh Ho]%calm_parts Hown Hexact (p & Ep & Ha). pose proof Hsound as [_ (x & Hx & _)]. destruct (IM f args p Ep) as (fd & HM & Hexp & Himp).
      destruct (Himp c ∅ own Hown) as [[Hlen Hsim]| ->]; [|by inversion Ha]. exists fd. split_and!; [done..|].
      assert (enter fd args [KEnd] w = cput (enter fd args [KEnd] ∅) (cm (enter fd args [KEnd] ∅) ∪ w)) as ->.
      { unfold enter, cput. cbn [ck cl cm]. by rewrite (left_id_L ∅ (∪)). }
      apply (call_runs _ (p, own) Hsim l x Hcpu Hsound Hx).
      - simpl. rewrite <- (same_log_held O c _ _ Hx), Hh. by eapply SD.
      - done.
      - change (dom (∅ : gmap cell Z) = owned init (fun _ => ∅) c (part (base l))). rewrite Ho. apply (fin_map_dom.dom_empty_L (M := gmap cell) (D := gset cell)).
      - apply map_disjoint_empty_l.
    Qed.
  End thread.
End calls.
