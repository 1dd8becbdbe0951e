(** Threads that call functions of the scheduler, on the machine of threads.

    Any client may run: what it needs of the state of its CPU when it calls a function, and finds afterwards, it says itself ([can]).
    Proved: it never goes wrong, whatever the threads of all CPUs do, and at each switch the state of the CPU [fits] the thread that comes. *)
From Ashlar Require Export machine.threads.SwitchingRule layers.sched.cpu.Switch.
From Ashlar Require Import calculus.logs.Soundness lang.logic.Domain.
From stdpp Require Import fin_map_dom.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

Lemma next_return_mem Bs M cpu s v m : next Bs M cpu s = EReturn v m -> cm s = m.
Proof.
  destruct s as [k r m0]. destruct k as [|[st|??|x r0|] k]; simpl; intros Hn; try done.
  - destruct st; repeat case_match; try done; unfold return_to in Hn; repeat case_match; by simplify_eq.
  - destruct k; by simplify_eq.
Qed.

Section client.
  Context (kernel_entry : Z -> Z) (C : client) (exported : string -> bool) (M : module) (stack_below : M switch_stack = None).
  Notation B := (arch_builtins kernel_entry).
  Notation E := (c_engine B M exported).
  Notation A := (system C E).
  Notation S := (shared_kernel kernel_entry M exported C).
  Context (L : layer cprim mem) (nthread : nat) (home first : nat -> nat) (begin : nat -> ast A).
  Context (cell_of_cpu : nat -> cell -> bool) (parked : cell -> bool) (calm : nat -> log L -> bool) (own_calm : own_replay L calm).
  Notation X := (cell_baton cell_of_cpu parked).
  Notation T := (agent_threads S home switch_means begin).
  Notation TA := (thread_agent T).
  Notation TL := (thread_layer L X nthread home first calm).
  Notation base l := (base L (cpu_view L home l)).
  Notation last_handed := (last_handed (D:=mem) L home).
  Notation has_since := (has_since (D:=mem) L home first).
  Notation mine := (OwnCells.mine cell_of_cpu parked).
  Notation whole c := (exactly (fun x => cell_of_cpu c x = true)).
  (** Primitives that the layer below lets a CPU without locks do: those of the clock, and showing values. *)
  Context (passes : cprim -> Prop) (pass_ordinary : forall p, passes p -> switch_means p = Ordinary).
  (** What all CPUs guarantee for the layer below; and what holds of a CPU between two calls, and whenever it is handed over. *)
  Context (sound : log L -> Prop) (settled : nat -> log L -> Prop).
  Context (settled_stable : forall c e l, others L c e -> sound (e ++ l) -> settled c l -> settled c (e ++ l)).
  (** Locks that threads may take. *)
  Context (acquire_below : M ACQUIRE = None) (release_below : M RELEASE = None) (guards : Z -> option (mem -> Prop)) (changes : Z -> mem -> mem -> Prop)
    (guard_cells : Z -> cell -> Prop) (busy : Z -> mem -> nat -> log L -> Prop) (locks_taken : takes_locks L parked calm sound settled guards changes guard_cells busy)
    (cells_parked : forall c x, cell_of_cpu c x = true -> parked x = true).
  Context (pass : forall c p m l, passes p -> exists v o, lstep L c p m l = Ok v m o /\ calm c (Event c o :: l) = calm c l /\
    (forall k d, busy k d c l -> busy k d c (Event c o :: l)) /\ (sound l -> settled c l -> sound (Event c o :: l) /\ settled c (Event c o :: l))).
  Context (out_calm : forall c v m l, (exists t, (t < nthread)%nat /\ home t = c) -> calm c l = true -> exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\ calm c (Event c o :: l) = true /\
    (sound l -> settled c l -> sound (Event c o :: l) /\ settled c (Event c o :: l))).

  (** The state of a CPU, which threads are its own, and what is promised to the thread that a CPU is handed to. *)
  Context (ours : nat -> Z -> Prop) (timer : nat -> mem -> Prop) (fits : nat -> Z -> cpu_state -> Prop).
  Context (fits_thread : forall c to Y, fits c to Y -> exists n, to = Z.of_nat n /\ home n = c /\ (n < nthread)%nat).
  Notation holds c := (State.holds c (ours c) (timer c)).
  Notation later_than c := (Switch.later_than c (ours c) (timer c)).
  Definition cpu_promise (c : nat) (h : option mem) (n : nat) (w : mem) : Prop := exists Y, holds c Y w /\ later_than c h Y /\ fits c (Z.of_nat n) Y.
  Notation cpu_valid := (whole_promise cell_of_cpu cpu_promise).
  Notation hands := (guaranteed L nthread home first cell_of_cpu parked calm cpu_valid sound settled).
  Notation idle_at u m := (thread_at S home switch_means begin Running (@Idle _ _ C E u m)).
  Notation busy_at u s := (thread_at S home switch_means begin Running (@Busy _ _ C E u s)).

  (** What holds while thread [t] of the client is in state [u], with the CPU in its hands: it may take its next step. *)
  Context (can : nat -> cstate C -> cpu_state -> Prop).
  Notation quiet t := (may_pass nthread home t passes).
  Definition called (t : nat) (f : string) (args : list Z) (Y : cpu_state) (post : Z -> cpu_state -> Prop) : Prop := exists fd, M f = Some fd /\ length args = fn_params fd /\
    forall h w, holds (home t) Y w -> later_than (home t) h Y ->
    locking (quiet t) kernel_entry M (home t) (handed (home t) (ours (home t)) (timer (home t)) (fits (home t)) (Z.of_nat t))
      (back_again (home t) (ours (home t)) (timer (home t)) (fits (home t)) (Z.of_nat t)) guards changes (fn_body fd)
      (fun _ => comes_to (home t) (ours (home t)) (timer (home t)) (post 0)) (fun _ _ _ => False) (fun v => comes_to (home t) (ours (home t)) (timer (home t)) (post v))
      (args ++ replicate (fn_locals fd) 0) h w.
  Lemma entered_called t f args Y (post : Z -> cpu_state -> Prop) :
    entered (quiet t) kernel_entry M (home t) (ours (home t)) (timer (home t)) (fits (home t)) (Z.of_nat t) f args Y post -> called t f args Y post.
  Proof using.
    intros (fd & HM & Hl & H). exists fd. split_and!; [done..|]. intros h w Hw Hh G J free holding g rest HJ HE HS HL Hd Hg.
    eapply wp_mono; [| | |exact (H h w Hw Hh G J free g rest HJ HE HS Hd Hg)]; cbn beta; [done| |done]. by intros r m g' (h' & d & _ & _ & _ & Z & [] & _).
  Qed.
  Definition may_call (t : nat) (u : cstate C) (f : string) (args : list Z) (Y : cpu_state) : Prop := exported f = true /\
    called t f args Y (fun v Z => can t (creturn C u v) Z).
  (** Functions that a thread may call, too, which leave the state of the CPU alone: they run to where they return. They may take locks. *)
  Context (uses : string -> list Z -> Prop).
  Context (use_runs : forall t (Q : ast TA -> log TL -> Prop) u w f args h l, (t < nthread)%nat -> uses f args -> all_parked (fun x => parked x = true) w ->
    has_since h t l -> calm (home t) (base l) = true -> sound (base l) -> settled (home t) (base l) ->
    (forall v l', has_since h t l' -> calm (home t) (base l') = true -> sound (base l') -> settled (home t) (base l') -> Q (idle_at (creturn C u v) w) l') ->
    exists fd, M f = Some fd /\ exported f = true /\ length args = fn_params fd /\ run TL TA hands t Q (busy_at u (enter fd args [KEnd] w)) l).
  Context (client_steps : forall t u Y, (t < nthread)%nat -> can t u Y -> match cnext C (home t) u with
    | CDone => True | CTau u' => can t u' Y
    | CCall f args => may_call t u f args Y \/ uses f args /\ forall v, can t (creturn C u v) Y
    | COut v => can t (creturn C u 0) Y end).

  (** A thread that has been started begins between two calls. *)
  Context (begin_can : forall t, (t < nthread)%nat -> exists u m, begin t = @Idle _ _ C E u m /\ forall Y, fits (home t) (Z.of_nat t) Y -> can t u Y).

  Section thread.
    Context (t : nat) (Ht : (t < nthread)%nat).
    Notation c := (home t).
    Notation at_idle u m := (thread_at S home switch_means begin Running (@Idle _ _ C E u m)).
    (** Between two calls, with the CPU; or waiting for its first turn. *)
    Definition between_calls (x : ast TA) (l : log TL) : Prop :=
      (exists u m h d Y, x = at_idle u (d ∪ m) /\ has_since h t l /\ calm c (base l) = true /\ sound (base l) /\ settled c (base l) /\ holds c Y d /\ later_than c h Y /\ can t u Y /\ whole c d /\ mine c m) \/
      (exists u m, x = TState T Suspended (bare S (@Idle _ _ C E u m)) m /\ mine c m /\ forall Y, fits c (Z.of_nat t) Y -> can t (creturn C u 0) Y).

    (** It has been started, and comes to run. *)
    Lemma begins_between h d m l : has_since (Some d) t l -> calm c (base l) = true -> sound (base l) -> settled c (base l) -> cpu_valid c h t d -> mine c m -> between_calls (TState T Running (bare S (begin t)) (d ∪ m)) l.
    Proof using begin_can Ht.
      intros Hcpu Hq Hs Hset [(Y & HY & _ & Hf) Hw] Hm. destruct (begin_can t Ht) as (u & m0 & -> & Hcan). left. exists u, m, (Some d), d, Y. split_and!; [done..|by apply later_than_itself|by apply Hcan|done|done].
    Qed.

    Section call.
      Context (u : cstate C) (d0 m : mem) (Hd0 : whole c d0) (Hm : mine c m).
      Notation runs_to := (runs_to kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm cpu_valid sound settled t between_calls u).
      Notation thread_runs := (thread_runs kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm cpu_promise sound settled t between_calls u guard_cells busy d0 m).
      Notation may_switch := (may_switch L nthread home first cell_of_cpu parked calm sound settled t).

      Lemma back_idle h d Y l v : may_switch h l -> holds c Y d -> later_than c h Y -> can t (creturn C u v) Y -> d ##ₘ m -> dom (d ∪ m) =@{gset cell} dom (d0 ∪ m) ->
        between_calls (at_idle (creturn C u v) (d ∪ m)) l.
      Proof using Hd0 Hm.
        intros (Hc & Hq & Hs & Hset) HY Hh Hcan Hd Hdom. left. exists (creturn C u v), m, h, d, Y. split_and!; [done..| |done]. by apply (exactly_rest cell_of_cpu parked c d0 d m).
      Qed.
      (** A call of which [may_call] holds runs to where it is between two calls. *)
      Lemma call_runs f args fd h l : length args = fn_params fd ->
        locking (quiet t) kernel_entry M c (handed c (ours c) (timer c) (fits c) (Z.of_nat t)) (back_again c (ours c) (timer c) (fits c) (Z.of_nat t)) guards changes (fn_body fd)
          (fun _ => comes_to c (ours c) (timer c) (fun Z => can t (creturn C u 0) Z)) (fun _ _ _ => False) (fun v => comes_to c (ours c) (timer c) (fun Z => can t (creturn C u v) Z))
          (args ++ replicate (fn_locals fd) 0) h d0 ->
        M f = Some fd -> may_switch h l -> runs_to (enter fd args [KEnd] (d0 ∪ m)) l.
      Proof using stack_below acquire_below release_below locks_taken cells_parked own_calm settled_stable fits_thread pass pass_ordinary Hd0 Hm begin_can Ht.
        intros _ Hwalk _ Hl. pose proof (mine_disjoint cell_of_cpu parked c d0 m Hd0 Hm) as Hdm.
        assert (HJ : thread_runs (enter fd args [KEnd] (d0 ∪ m)) (h, None)); [|by apply HJ].
        pose proof (thread_runs_tau kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm cpu_promise sound settled t between_calls u guard_cells busy d0 m) as Htau.
        unfold enter. eapply (wp_sound B M c thread_runs Htau (fn_body fd)).
        - apply (Hwalk (option mem * option (Z * mem))%type thread_runs (fun h g => g = (h, None)) (fun k d h g => g = (h, Some (k, d))) (h, None) m Htau); [|intros to d h1 g Q Hhand| |done|done].
          + apply (thread_runs_quiet kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm own_calm cpu_promise sound settled settled_stable t between_calls u
              guards changes guard_cells busy locks_taken d0 m passes (pass c) pass_ordinary).
          + intros Hd Hg HQ. apply (thread_runs_switch kernel_entry C exported M stack_below L nthread home first begin cell_of_cpu parked calm own_calm cpu_promise sound settled settled_stable t between_calls u guard_cells busy d0 m Hd0 Hm
              (fun h1 d l Hl Hp Hw => begins_between h1 d m l (proj1 Hl) (proj1 (proj2 Hl)) (proj1 (proj2 (proj2 Hl))) (proj2 (proj2 (proj2 Hl))) (conj Hp Hw) Hm) to d h1 g Q);
              [|done..|].
            * destruct Hhand as [Hne (Z & HZ & HhZ & Hf)]. destruct (fits_thread _ _ _ Hf) as (n & -> & Hn & Hlt). exists n. split_and!; [done| |done|done|by exists Z]. by intros ->.
            * intros d' h' g' (-> & h2 & Z & HZ & _ & Hf). apply HQ. split; [done|]. by exists Z.
          + apply (thread_runs_lock kernel_entry C exported M L nthread home first begin cell_of_cpu parked calm own_calm cpu_promise sound settled settled_stable t between_calls u
              acquire_below release_below guards changes guard_cells busy locks_taken (cells_parked c) d0 m Hd0 Hm).
        - split_and!; [|by intros r m' h1 (h' & d' & _ & _ & _ & [])|].
          + intros r m' h1 (h' & d' & -> & Hd' & -> & Z & Hcan & HZ & HhZ) l1 Hl1 Hdom. unfold SwitchRule.runs_to.
            refine (run_tau TL TA hands t between_calls _ (at_idle (creturn C u 0) (d' ∪ m)) l1 _ _).
            * change (thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u (Cfg [KEnd] r (d' ∪ m)))) =
                ATau (at_idle (creturn C u 0) (d' ∪ m))). by rewrite thread_at_next.
            * apply run_done. by apply (back_idle h' d' Z).
          + intros v m' h1 s' (h' & d' & -> & Hd' & -> & Z & Hcan & HZ & HhZ) Hnext l1 Hl1 Hdom. change (next B M c s' = EReturn v (d' ∪ m)) in Hnext. unfold SwitchRule.runs_to.
            refine (run_tau TL TA hands t between_calls _ (at_idle (creturn C u v) (d' ∪ m)) l1 _ _).
            * change (thread_next T t (thread_at S home switch_means begin Running (@Busy _ _ C E u s')) = ATau (at_idle (creturn C u v) (d' ∪ m))). rewrite thread_at_next.
              assert (Ha : anext A c (@Busy _ _ C E u s') = ATau (@Idle _ _ C E (creturn C u v) (d' ∪ m))).
              { cbn [anext system system_next enext c_engine]. by rewrite Hnext. }
              by rewrite Ha.
            * apply run_done. apply (back_idle h' d' Z); [done..|]. rewrite <- Hdom. f_equal. symmetry. by eapply next_return_mem.
      Qed.
    End call.

    (** Whatever the client does next. *)
    Theorem between_calls_step x l : between_calls x l -> safe_step TL TA hands t (run TL TA hands t between_calls) x l.
    Proof using stack_below acquire_below release_below locks_taken own_calm settled_stable fits_thread pass pass_ordinary out_calm client_steps cells_parked use_runs begin_can Ht.
      intros [(u & m & h & d & Y & -> & [[Hon Htr] Hlast] & Hq & Hsound & Hset & HY & Hh & Hcan & Hd & Hm)|(u & m & -> & Hm & Hcan)]; unfold safe_step.
      - assert (Hn : anext A c (@Idle _ _ C E u (d ∪ m)) = match cnext C c u with
          | CDone => ADone
          | CTau u' => ATau (@Idle _ _ C E u' (d ∪ m))
          | CCall f args => match estart E f args (d ∪ m) with Some e => ATau (@Busy _ _ C E u e) | None => AStuck end
          | COut v => APrim (OUT, [v])
          end) by done.
        change (anext TA t (at_idle u (d ∪ m))) with (thread_next T t (at_idle u (d ∪ m))). rewrite thread_at_next, Hn.
        pose proof (client_steps t u Y Ht Hcan) as Hstep. destruct (cnext C c u) as [|u'|f args|v]; [done| | |].
        + apply run_done. left. exists u', m, h, d, Y. by split_and!.
        + destruct Hstep as [Hstep|[Huse Hafter]].
          2: { assert (all_parked (fun x => parked x = true) (d ∪ m)) as Hall.
            { intros y v [Hy|[_ Hy]]%lookup_union_Some_raw; [apply (cells_parked c), Hd; by eexists|by apply Hm in Hy as [_ Hy]]. }
            destruct (use_runs t between_calls u (d ∪ m) f args h l Ht Huse Hall (conj (conj Hon Htr) Hlast) Hq Hsound Hset) as (fd & HM & Hexp & Hlen & Hrun).
            { intros v l' Hc' Hq' Hs' Hset'. left. by exists (creturn C u v), m, h, d, Y. }
            cbn [estart c_engine]. rewrite HM, Hexp. cbn [andb]. by rewrite (proj2 (Nat.eqb_eq _ _) Hlen). }
          destruct Hstep as (Hexp & fd & HM & Hlen & Hwalk). specialize (Hwalk h d HY Hh).
          assert (Es : estart E f args (d ∪ m) = Some (enter fd args [KEnd] (d ∪ m))).
          { cbn [estart c_engine]. rewrite HM, Hexp. cbn [andb]. by rewrite (proj2 (Nat.eqb_eq _ _) Hlen). }
          rewrite Es. eapply (call_runs u d m Hd Hm f args fd h l Hlen Hwalk HM). by split_and!.
        + change (switch_means (OUT, [v])) with Ordinary. intros l' Hr.
          pose proof (settled_rely L nthread home first cell_of_cpu parked calm cpu_valid sound settled settled_stable t l l' (conj Hon Htr) Hset Hr) as Hset'. pose proof Hr as (e & _ & _ & HG & _ & _).
          destruct (baton_replay L X nthread home first calm calm hands t l l' own_calm Hon Hr) as (Hon' & Hq' & Htr').
          rewrite Htr in Htr'. rewrite Hq in Hq'. pose proof (handed_rely L X nthread home first calm hands t l l' Hon Hr) as Hlast'. rewrite Hlast in Hlast'. destruct (out_calm c v (d ∪ m) (base l') (ex_intro _ t (conj Ht eq_refl)) Hq') as (o & Eo & Hqo & Hso). destruct (Hso (proj1 HG) Hset') as [Hso' Hseto].
          change (amem TA (at_idle u (d ∪ m))) with (d ∪ m). cbn [lstep thread_layer]. unfold thread_step_of.
          rewrite decide_True by exact Hon'. rewrite Htr', Eo. split; [split; [exact Hso'|exact (conj I (proj2 HG))]|].
          apply run_done. left. exists (creturn C u 0), m, h, d, Y. split_and!; [done| |exact Hqo|exact Hso'|exact Hseto|done..].
          split; [split; [exact Hon'|]|exact Hlast']. simpl. by rewrite decide_True.
      - change (anext TA t (TState T Suspended (bare S (@Idle _ _ C E u m)) m)) with (APrim (STATE := ast TA) (@PResume cprim)).
        intros l' Hr. pose proof Hr as (e & _ & _ & HG & _ & Hleg). cbn [lstep thread_layer amem thread_agent tmem]. unfold thread_step_of.
        destruct (decide (current_thread L first c (cpu_view L home l') = t)) as [Hon|]; [|done].
        destruct (transit L home c l') as [d|] eqn:Ed; [|done].
        destruct (handed_valid L nthread home first cell_of_cpu parked calm cpu_valid settled l' c d (proj2 HG) Ed) as [h Hv]. rewrite Hon in Hv.
        destruct (transit_valid L X nthread home first calm (fun _ _ _ => True) own_calm (fun _ _ _ _ _ _ => I) l' c d Hleg Ed) as [_ Hq].
        pose proof (handed_settled L nthread home first cell_of_cpu parked calm cpu_valid sound settled settled_stable l' c d Hleg HG Ed) as Hset.
        split; [split; [exact (proj1 HG)|exact (conj I (proj2 HG))]|]. assert (has_since (Some d) t (Event t UResume :: l')) as Hcpu by (split; [split; [exact Hon|]; simpl; by rewrite decide_True|exact (handed_transit L home c _ d Ed)]).
        destruct (handed_started L nthread home first cell_of_cpu parked calm cpu_valid settled l' t (proj2 HG)) as [-> | ->].
        + destruct Hv as [(Y & HY & _ & Hf) Hw]. apply run_done. left. exists (creturn C u 0), m, (Some d), d, Y. by split_and!; [done..|exact (proj1 HG)|done|done|by apply later_than_itself|by apply Hcan| |].
        + change (aresume TA) with (thread_resume T).
          rewrite (proj2 (begins_anew kernel_entry C exported M home begin t (@Idle _ _ C E u m) m)). apply run_done. apply (begins_between h); [done..|exact (proj1 HG)|done|done|done].
    Qed.
  End thread.

  (** ** All threads *)
  Context (P : nat -> tstate T) (start : forall t, (t < nthread)%nat -> between_calls t (P t) []) (sound_start : sound []).
  Notation running t := (run TL TA hands t (between_calls t)).

  Lemma running_step t x l : (t < nthread)%nat -> running t x l -> safe_step TL TA hands t (running t) x l.
  Proof using stack_below acquire_below release_below locks_taken own_calm settled_stable fits_thread pass pass_ordinary out_calm client_steps cells_parked use_runs begin_can.
    intros Ht Hrun. destruct Hrun as [x l Hx|x x' l Hn Hrun|x l p Hn Hp Hrun].
    - by apply between_calls_step.
    - unfold safe_step. by rewrite Hn.
    - unfold safe_step. rewrite Hn. intros l' Hl'. specialize (Hp l' Hl'). specialize (Hrun l').
      destruct (lstep TL t p (amem TA x) l') as [| |v m o] eqn:EL; try done. split; [apply Hp|]. by eapply Hrun.
  Qed.
  Lemma running_start t : (t < nthread)%nat -> running t (P t) [].
  Proof using start. intros Ht. apply run_done. by apply start. Qed.

  Lemma kept_start : hands [].
  Proof using sound_start. by split; [exact sound_start|]. Qed.

  (** The C never goes wrong, whatever the threads of all CPUs do. *)
  Theorem client_never_wrong : never_wrong nthread TL TA P.
  Proof using stack_below acquire_below release_below locks_taken own_calm settled_stable fits_thread pass pass_ordinary out_calm client_steps cells_parked use_runs begin_can start sound_start.
    apply (invariant_never_wrong nthread TL TA P hands kept_start (fun t => running t) running_start running_step).
  Qed.
  (** Whenever a CPU is being handed over, its state fits the thread that comes. *)
  Theorem state_at_switch l c d : traces nthread TL TA P l -> transit L home c l = Some d ->
    exists h, cpu_valid c h (current_thread L first c (cpu_view L home l)) d.
  Proof using stack_below acquire_below release_below locks_taken own_calm settled_stable fits_thread pass pass_ordinary out_calm client_steps cells_parked use_runs begin_can start sound_start.
    intros [f Hr] Ed.
    destruct (local_invariant nthread TL TA P hands kept_start (fun t => running t) running_start running_step _ Hr) as [[[_ HG] _] _].
    by apply (handed_valid L nthread home first cell_of_cpu parked calm cpu_valid settled).
  Qed.
  (** From one switch of a CPU to a later one, its reservations are charged and asked for time, and nothing else happens to them. *)
  Theorem reservations_at_switches e l c d d' X0 : traces nthread TL TA P (e ++ l) -> last_handed c l = Some d -> last_handed c (e ++ l) = Some d' ->
    holds c X0 d -> exists Y, holds c Y d' /\ forall t, ours c t -> happened X0 Y t.
  Proof using stack_below acquire_below release_below locks_taken own_calm settled_stable fits_thread pass pass_ordinary out_calm client_steps cells_parked use_runs begin_can start sound_start.
    intros [f Hr] Hd Hd' HX0.
    destruct (local_invariant nthread TL TA P hands kept_start (fun t => running t) running_start running_step _ Hr) as [[[_ HG] _] _].
    assert (forall d1 X1 Y, later_than c (Some d1) Y -> holds c X1 d1 -> forall t, ours c t -> happened X1 Y t) as Hone.
    { intros d1 X1 Y (X2 & H2 & Hl) H1 t Ht. destruct (holds_agree c (ours c) (timer c) X1 X2 d1 t H1 H2 Ht) as [E1 E2].
      unfold happened. rewrite E1, E2. apply Hl. }
    destruct (handed_related L nthread home first cell_of_cpu parked calm cpu_valid settled
      (fun c d d' => forall X, holds c X d -> exists Y, holds c Y d' /\ forall t, ours c t -> happened X Y t) c) with (e := e) (l := l) (d := d) (d' := d') as [-> | H]; [..|by apply H].
    - intros d1 to d2 [(Y & HY & Hf & _) _] X1 H1. exists Y. split; [done|]. by apply (Hone d1 X1 Y).
    - intros d1 d2 to d3 H [(Y & HY & Hf & _) _] X1 H1. destruct (H X1 H1) as (Y1 & HY1 & Hh). exists Y. split; [done|]. intros t Ht.
      apply (happened_trans X1 Y1); [by apply Hh|]. by apply (Hone d2 Y1 Y).
    - done.
    - done.
    - done.
    - exists X0. split; [done|]. intros t _. apply later_refl.
  Qed.
  (** What all CPUs guarantee for the layer below holds always. *)
  Theorem sound_always l : traces nthread TL TA P l -> sound (base l).
  Proof using stack_below acquire_below release_below locks_taken own_calm settled_stable fits_thread pass pass_ordinary out_calm client_steps cells_parked use_runs begin_can start sound_start.
    intros [f Hr]. by destruct (local_invariant nthread TL TA P hands kept_start (fun t => running t) running_start running_step _ Hr) as [[[HG _] _] _].
  Qed.
  (** Each call returns, if the CPU is handed back: a thread runs to where it is between two calls, whatever the others do. Down
      to shared memory by [threads_return_on_shared_memory]. *)
  Theorem calls_return g t : reach nthread TL TA P g -> (t < nthread)%nat ->
    hands (glog g) /\ exists l e, glog g = e ++ l /\ others TL t e /\ running t (gagent g t) l.
  Proof using stack_below acquire_below release_below locks_taken own_calm settled_stable fits_thread pass pass_ordinary out_calm client_steps cells_parked use_runs begin_can start sound_start.
    intros Hr Ht.
    destruct (local_invariant nthread TL TA P hands kept_start (fun t => running t) running_start running_step _ Hr) as [[HG _] Hall].
    split; [exact HG|]. by apply Hall.
  Qed.
End client.
