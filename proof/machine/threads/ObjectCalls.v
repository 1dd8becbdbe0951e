(** Threads that call functions which take locks.

    [calculus/objects/] says what a function does that implements a program over objects, each guarded by a lock, on a machine where each CPU
    is one agent. A thread may call such a function, too: it has the cells of the locks that it holds besides the CPU's and its own. It can
    be handed over again when it holds none, and has given back all that it had from locks. *)
From Ashlar Require Export machine.threads.ObjectHistory.
From Ashlar Require Import lang.logic.Domain.
From stdpp Require Import fin_map_dom.

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
  Context (passes : cprim -> Prop) (L : layer cprim mem) (lock_event_of : lop L -> option (lock_event mem)) (alone : nat -> log L -> bool)
    (HL : has_locks nlock budget init guarded passes L lock_event_of alone).
  Context (ncpu nthread : nat) (home first : nat -> nat) (home_cpu : forall t, (t < nthread)%nat -> (home t < ncpu)%nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool).
  (** Objects of a CPU's own that a function begins with and leaves again, without cells. *)
  Context (own : objects O) (own_cells : forall m, rep O own m -> m = ∅) (own_rep : rep O own ∅) (own_exact : holds_exactly O [] own).
  Notation part := (lock_part lock_event_of).
  Notation explains := (explains O spec nlock budget own).
  Notation answers := (answers O own).
  Notation allowed := (allowed O spec own).
  Notation objects_sound := (objects_sound O spec nlock budget init L lock_event_of ncpu own).
  Notation objects_settled := (objects_settled O spec nlock budget L lock_event_of own).
  Notation step_at s g := (@Busy _ _ sequence (object_engine O spec) s g).
  Notation between_at s a := (@Idle _ _ sequence (object_engine O spec) s a).
  Notation X := (cell_baton cell_of_cpu parked).
  Notation calm := (calm lock_event_of init alone).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first calm).
  Notation base l := (base L (cpu_view L home l)).
  Notation has_since := (has_since (D:=mem) L home first).
  (** None of these locks guards cells that are [unlocked]. *)
  Context (unlocked : cell -> bool) (guarded_sub : forall k m, guarded k m ⊆ m).
  Context (guarded_unlocked : forall k m r, m ##ₘ r -> all_parked (fun x => unlocked x = true) r -> guarded k (m ∪ r) = guarded k m).
  Context (object_cells : forall k o s d x v, obj_of_lock O k = Some o -> obj_rep O o s d -> d !! x = Some v -> unlocked x = false).

  Local Lemma parts_own : own_replay L (fun c l => (alone c l, (held c (part l), owned init (fun _ => ∅) c (part l)))).
  Proof using HL. intros c e l Hne. rewrite (alone_own _ _ _ _ _ _ _ _ HL c e l Hne). unfold lock_part. simpl. destruct (lock_event_of (what e)) as [o|]; simpl; [|done]. by rewrite !decide_False. Qed.

  Lemma published_apart k l x (w : mem) : same_log O l x -> all_parked (fun x => unlocked x = true) w -> dom (published init k l) ##@{gset cell} dom w.
  Proof using LO object_cells.
    intros Hx Hw y [v Hv]%(elem_of_dom (M := gmap cell) (D := gset cell)) [z Hz]%(elem_of_dom (M := gmap cell) (D := gset cell)).
    pose proof (same_log_published O init k l x (lo_init _ _ _ LO k) Hx) as Hd. unfold same_data in Hd. destruct (obj_of_lock O k) as [o|] eqn:Eo.
    - destruct Hd as (s & _ & Hr & _). apply Hw in Hz. by rewrite (object_cells k o s _ y v Eo Hr Hv) in Hz.
    - destruct Hd as [_ E]. rewrite E in Hv. change ((∅ : gmap cell Z) !! y = Some v) in Hv. by rewrite lookup_empty in Hv.
  Qed.

  (** What else all CPUs guarantee, which events of these locks keep. *)
  Context (more : log L -> Prop) (more_kept : forall c o e l, lock_event_of o = Some e -> more l -> more (Event c o :: l)).

  Section thread.
    Context (valid : nat -> option mem -> nat -> mem -> Prop).
    Notation GT := (guaranteed L nthread home first cell_of_cpu parked calm valid (fun l => objects_sound l /\ more l) objects_settled).
    Context (t : nat) (Ht : (t < nthread)%nat) (Q : ast TA -> log TL -> Prop) (u : cstate C) (h : option mem).
    Notation c := (home t).
    Notation at_busy s := (thread_at S home switch_means begin Running (@Busy _ _ C E u s)).
    Notation at_idle u m := (thread_at S home switch_means begin Running (@Idle _ _ C E u m)).
    (** The thread's cells, and the CPU's. *)
    Context (w : mem) (Hw : all_parked (fun x => unlocked x = true) w).
    Context (back : forall v l, has_since h t l -> calm c (base l) = true -> objects_sound (base l) -> more (base l) -> objects_settled c (base l) -> Q (at_idle (creturn C u v) w) l).

    Lemma call_runs call e g : sim O kernel_entry M c (returns O kernel_entry M c) e g -> forall l x,
      has_since h t l -> alone c (base l) = true -> objects_sound (base l) -> more (base l) -> same_log O (part (base l)) x -> explains c x (step_at [call] g) ->
      disciplined O nlock budget (held c x).1 (held c x).2 g.2 g.1 -> answers g.2 g.1 ->
      dom (cm e) = owned init (fun _ => ∅) c (part (base l)) -> cm e ##ₘ w -> run TL TA GT t Q (at_busy (cput e (cm e ∪ w))) l.
    Proof using LO SD initial_valid HL guarded_sub guarded_unlocked object_cells Hw own_cells home_cpu Ht back more_kept.
      induction 1 as [e g Hp|e e' g Hn H IH|e a|e f k a Hf|e f k a v a' Hf H IH|e p k a Hn Hr H IH]; intros l x Hcpu Hal Hsound Hmore Hx Hy Hdis Ha Hd Hde.
      - destruct Hp as (v & m & Hg & Hn & Hr). destruct g as [p a]. simpl in Hg, Hr, Hdis, Ha. subst p. assert (a = own) as -> by (by inversion Ha).
        pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm. destruct Hm as [Hm ->].
        assert (anext A c (@Busy _ _ C E u (cput e (cm e ∪ w))) = ATau (@Idle _ _ C E (creturn C u v) (cm e ∪ w))) as En by (cbn [anext system system_next enext c_engine]; by rewrite Hm).
        refine (run_tau TL TA GT t Q _ (at_idle (creturn C u v) (cm e ∪ w)) l _ _).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = ATau (at_idle (creturn C u v) (cm e ∪ w))). by rewrite thread_at_next, En. }
        pose proof (own_cells _ Hr) as E0. rewrite E0, (left_id_L ∅ (∪)). apply run_done, back; [done| |done|done|exists x; split; [done|exact (explains_tau O spec nlock budget own c x (step_at [call] (Ret v, own)) (between_at [] own) eq_refl Hy)]]. apply calm_parts. rewrite <- Hd, E0. split; [done|]. split.
        + rewrite (same_log_held O c _ _ Hx). by inversion Hdis.
        + apply (fin_map_dom.dom_empty_L (M := gmap cell) (D := gset cell)).
      - pose proof (next_more kernel_entry M c e w) as Hm. rewrite Hn in Hm. pose proof (next_dom kernel_entry M c e e' Hn) as Hdom.
        refine (run_tau TL TA GT t Q _ (at_busy (cput e' (cm e' ∪ w))) l _ _).
        { change (thread_next T t (at_busy (cput e (cm e ∪ w))) = ATau (at_busy (cput e' (cm e' ∪ w)))). rewrite thread_at_next.
          cbn [anext system system_next enext c_engine]. by rewrite Hm. }
        apply (IH l x Hcpu Hal Hsound Hmore Hx Hy Hdis Ha); [by rewrite Hdom|by eapply same_dom_disjoint].
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
        intros l' Hrel. pose proof Hrel as (ev & El & Hev & HG & _ & Hlegal). pose proof Hcpu as [[Hon Htr] Hlast].
        destruct (baton_replay L X nthread home first calm _ GT t l l' parts_own Hon Hrel) as (Hon' & Hsame & Htr'). rewrite Htr in Htr'.
        pose proof (handed_rely L X nthread home first calm GT t l l' Hon Hrel) as Hlast'. rewrite Hlast in Hlast'.
        injection Hsame as Hal' Hheld Howned. rewrite Hal in Hal'. destruct HG as [[HGsound HGmore] Hhands]. pose proof HGsound as (Hpart & Hwho & _).
        assert (exists x', same_log O (part (base l')) x' /\ legal lock_objects x' /\ explains c x' (step_at [call] (Act p k, a)) /\
          forall c', (c' < ncpu)%nat -> exists y, explains c' x' y) as (x' & Hx' & Hleg & Hy' & Hall).
        { subst l'. destruct (others_base nthread X home first L calm ev l t Hlegal (proj1 Hcpu) Hev) as [Hb _].
          assert (base (ev ++ l) = base ev ++ base l) as Eb by exact (base_app home L ev l). rewrite Eb in HGsound |- *.
          by apply (explained_longer O spec nlock budget init guarded LO L lock_event_of ncpu own c (base ev) (base l) x). }
        assert (held c x' = held c x) as Ehx by (rewrite <- (same_log_held O c _ _ Hx), <- (same_log_held O c _ _ Hx'); exact Hheld).
        pose proof (disciplined_holds O nlock budget _ _ _ _ Hdis ltac:(done)) as Hexact. rewrite <- Ehx in Hdis, Hexact.
        assert (dom (cm e) = owned init (fun _ => ∅) c (part (base l'))) as Hd' by (etransitivity; [exact Hd|symmetry; exact Howned]).
        pose proof (lock_step_related O nlock budget init guarded LO (fun _ => ∅) c p a (cm e) (part (base l')) x' Hr Hx' Hpart Hd' Hexact) as Hrelated.
        pose proof (orderly_prim O nlock budget initial_valid C spec SD c (@Busy _ _ C (object_engine O spec) u (Act p k, a)) p x' Hdis eq_refl Hleg) as Hok.
        change (amem (system C (object_engine O spec)) (@Busy _ _ C (object_engine O spec) u (Act p k, a))) with a in Hok.
        pose proof (lock_step_framed nlock budget init guarded unlocked guarded_sub guarded_unlocked c p (cm e) w (part (base l')) Hde Hw) as Hframed.
        assert (match lock_step nlock budget (cell_data init guarded) c p (cm e ∪ w) (part (base l')) with
          | Wrong => True | Blocked => lstep L c p (cm e ∪ w) (base l') = Blocked
          | Ok v m' o => exists o', lstep L c p (cm e ∪ w) (base l') = Ok v m' o' /\ lock_event_of o' = Some o /\ alone c (Event c o' :: base l') = true end) as Hstep.
        { destruct Hp as [-> | ->]; apply (locks_step _ _ _ _ _ _ _ _ HL); [by left|done|by right; left|done]. }
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
          rewrite (Hframed Hmw) in Hstep. destruct Hstep as (o' & Eo & Elock & Hal2). rewrite Eo.
          assert (part (Event c o' :: base l') = Event c o1 :: part (base l')) as Epart by (unfold lock_part; simpl; by rewrite Elock).
          assert (explains c (Event c o2 :: x') (step_at [call] (k v, a'))) as Hy2.
          { exact (explains_own O spec nlock budget own c x' (step_at [call] (Act p k, a)) p v a' o2 eq_refl E2 Hy'). }
          assert (objects_sound (Event c o' :: base l')) as Hsound'.
          { split; [|split]; rewrite Epart; [exact Hpart'|constructor; [by apply home_cpu|exact Hwho]|]. exists (Event c o2 :: x').
            split_and!; [by constructor|by eapply (legal_cons lock_objects c p a v a' o2)|]. intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [by eexists|].
            destruct (Hall c' Hc') as [y Hy0]. exists y. apply (explains_others O spec nlock budget own c' [Event c o2]); [by repeat constructor; simpl; congruence|done]. }
          pose proof (more_kept c o' o1 (base l') Elock HGmore) as Hmore'.
          split; [split; [exact (conj Hsound' Hmore')|exact (conj I Hhands)]|].
          change (aresume TA) with (thread_resume T). rewrite (thread_at_returned S home switch_means begin (@Busy _ _ C E u (cput e (cm e ∪ w))) v (m' ∪ w)).
            assert (aresume A (@Busy _ _ C E u (cput e (cm e ∪ w))) v (m' ∪ w) = @Busy _ _ C E u (cput (resume e v m') (cm (resume e v m') ∪ w))) as ->.
            { cbn [aresume system system_resume eresume c_engine]. f_equal. unfold resume, cput. destruct e as [ke re me]. cbn [ck cl cm].
              destruct ke as [|[[]| | |] ?]; done. }
            assert (cm (resume e v m') = m') as Ecm by (unfold resume; by repeat case_match).
            destruct Hresp as [Hresp|[Hout _]]; [|by destruct Hp as [-> | ->]].
            apply (IH v m' a' Hresp Hr' (Event t (UBase o') :: l') (Event c o2 :: x')).
            -- split; [split; [exact Hon'|]|exact Hlast']. simpl. by rewrite decide_True.
            -- exact Hal2.
            -- exact Hsound'.
            -- exact Hmore'.
            -- change (same_log O (part (Event c o' :: base l')) (Event c o2 :: x')). rewrite Epart. by constructor.
            -- exact Hy2.
            -- exact Hok.
            -- by apply Ha1.
            -- rewrite Ecm. change (dom m' = owned init (fun _ => ∅) c (part (Event c o' :: base l'))). by rewrite Epart.
            -- by rewrite Ecm.
    Qed.

    (** So a thread that has the CPU, and nothing from locks, may call such a function, and has all that it had when the function returns. *)
    Theorem object_call f args l : objects_sound (base l) -> more (base l) -> objects_settled c (base l) -> has_since h t l -> calm c (base l) = true -> allowed (Made f args) ->
      exists fd, M f = Some fd /\ exported f = true /\ length args = fn_params fd /\ run TL TA GT t Q (at_busy (enter fd args [KEnd] w)) l.
    Proof using LO SD IM initial_valid HL guarded_sub guarded_unlocked object_cells Hw own_cells own_rep own_exact home_cpu Ht back more_kept.
      intros Hsound Hmore (x & Hx & Hy) Hcpu (Hal & Hh & Ho)%calm_parts Hcall. pose proof Hcall as (p & Ep & Ha). destruct (IM f args p Ep) as (fd & HM & Hexp & Himp).
      destruct (Himp c ∅ own own_rep) as [[Hlen Hsim]| ->]; [|by inversion Ha]. exists fd. split_and!; [done..|].
      assert (enter fd args [KEnd] w = cput (enter fd args [KEnd] ∅) (cm (enter fd args [KEnd] ∅) ∪ w)) as ->.
      { unfold enter, cput. cbn [ck cl cm]. by rewrite (left_id_L ∅ (∪)). }
      apply (call_runs (Made f args) _ (p, own) Hsim l x Hcpu Hal Hsound Hmore Hx).
      - eapply explains_tau; [|by apply (explains_more O spec nlock budget own c x (Made f args))]. cbn [anext system system_next cnext sequence estart object_engine program_engine]. by rewrite Ep.
      - simpl. rewrite <- (same_log_held O c _ _ Hx), Hh. by eapply SD.
      - done.
      - change (dom (∅ : gmap cell Z) = owned init (fun _ => ∅) c (part (base l))). rewrite Ho. apply (fin_map_dom.dom_empty_L (M := gmap cell) (D := gset cell)).
      - apply map_disjoint_empty_l.
    Qed.
  End thread.

End calls.
