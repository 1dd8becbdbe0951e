(** The scheduler of a CPU as a whole: a state, and reasoning about C in which memory does not occur.

    [holds X w]: the memory [w] is the CPU's ready queues, its scheduler's own cells, and the timer's, in state [X].
    [does f args X post]: called in state [X], [f] returns [v] in a [later] state [Y] with [post v Y]; it may read the clock and set the
    alarm. [runs] is to it what [during] is to [timed]; as functions of [sched.c] access no cells themselves, expressions are
    those of locals. [ours]: this CPU's threads. *)
From Ashlar Require Export layers.sched.event.EventCode layers.sched.budget.BudgetSwitch layers.sched.ready.ParkCode layers.sched.pick.NoFailure
  machine.threads.ReschedRecords layers.sched.cpu.Later.
Local Opaque gmap_lookup gmap_partial_alter.

Definition own_words : list string := ["slice_end"; "since"; "alarm"; "running"; "slice_over"; "kept"; "charged"]%string.
Definition arch_words : list string := ["arch_need_resched"; "arch_floor"; "arch_current"; "arch_clock"]%string.
Definition cell_of (cpu : Z) (f : string) : cell :=
  if existsb (String.eqb f) arch_words then (f, cpu, ""%string, 0) else cpu_cell f cpu.
Lemma own_cell cpu f : f ∈ own_words -> cell_of cpu f = cpu_cell f cpu.
Proof. intros H. repeat (apply elem_of_cons in H as [->|H]; [done|]). by apply elem_of_nil in H. Qed.

Section state.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Notation timed := (timed quiet kernel_entry M this).
  Notation triple := (triple kernel_entry M this).
  Notation during := (during quiet kernel_entry M this).

  Definition mine (e : Z) : Prop := 0 <= e < SCHED_NUM_EVENT /\ ours (e mod NUM_THREAD).
  Definition own (X : cpu_state) (d : mem) : Prop :=
    (forall f, f ∈ own_words ++ arch_words -> d !! cell_of cpu f = Some (word X f)) /\
    (forall t, ours t -> reserved t (reservation_of X t) d /\ holds "thread" t [("cpu", cpu); ("base_priority", base_priority X t)]%string d) /\
    events cpu mine (timeouts X) (cancels X) (word X "alarm") d.
  Definition holds (X : cpu_state) (w : mem) : Prop :=
    exists dr d e, w = dr ∪ (d ∪ e) /\ dr ##ₘ d ∪ e /\ d ##ₘ e /\ ready_rep cpu (queues X) dr /\ own X d /\ timer e.

  (** ** Reasoning *)
  Definition reaches (X : cpu_state) (post : cpu_state -> Prop) (w : mem) : Prop := exists Y, post Y /\ holds Y w /\ later X Y.
  Definition does (f : string) (args : list Z) (X : cpu_state) (post : Z -> cpu_state -> Prop) : Prop :=
    forall w, holds X w -> timed f args w (fun v => reaches X (post v)).
  Definition runs (s : stmt) (Qn Qb : locals -> cpu_state -> Prop) (Qr : Z -> cpu_state -> Prop) (r : locals) (X : cpu_state) : Prop :=
    forall w, holds X w -> during s (fun r => reaches X (Qn r)) (fun r => reaches X (Qb r)) (fun v => reaches X (Qr v)) r w.
  Lemma reaches_mono X (post post' : cpu_state -> Prop) w : (forall Y, post Y -> post' Y) -> reaches X post w -> reaches X post' w.
  Proof using. intros Hp (Y & HY & Hw). exists Y. split; [by apply Hp|done]. Qed.
  Lemma reaches_here X (post : cpu_state -> Prop) w : holds X w -> post X -> reaches X post w.
  Proof using. intros Hw HX. exists X. split_and!; [done..|apply later_refl]. Qed.
  Lemma reaches_from X Y (post : cpu_state -> Prop) w : later X Y -> reaches Y post w -> reaches X post w.
  Proof using. intros HX (Z & HZ & Hw & HY). exists Z. split_and!; [done..|]. by eapply later_trans. Qed.

  Lemma does_body f fd args X (post : Z -> cpu_state -> Prop) : M f = Some fd -> length args = fn_params fd ->
    runs (fn_body fd) (fun _ Y => post 0 Y) (fun _ _ => False) post (args ++ replicate (fn_locals fd) 0) X -> does f args X post.
  Proof using.
    intros HM Hl H w Hw. eapply timed_body; [exact HM|exact Hl|]. eapply during_mono; [| | |exact (H w Hw)]; cbn beta; [done| |done].
    by intros r d (Y & [] & _).
  Qed.
  (** The same of a function that is entered from outside the kernel's code. *)
  Definition serves (f : string) (args : list Z) (X : cpu_state) (post : Z -> cpu_state -> Prop) : Prop := exists fd, M f = Some fd /\ length args = fn_params fd /\
    runs (fn_body fd) (fun _ Y => post 0 Y) (fun _ _ => False) post (args ++ replicate (fn_locals fd) 0) X.
  Lemma serves_does f args X post : serves f args X post -> does f args X post.
  Proof using. intros (fd & HM & Hl & H). by eapply does_body. Qed.
  Lemma does_mono f args X (post post' : Z -> cpu_state -> Prop) : (forall v Y, post v Y -> post' v Y) -> does f args X post -> does f args X post'.
  Proof using. intros Hp H w Hw. eapply timed_mono; [|exact (H w Hw)]. intros v w'. apply reaches_mono, Hp. Qed.
  Lemma runs_skip (Qn Qb : locals -> cpu_state -> Prop) Qr r X : Qn r X -> runs Skip Qn Qb Qr r X.
  Proof using. intros H w Hw. by apply during_skip, reaches_here. Qed.
  Lemma runs_seq a b (Qn Qb : locals -> cpu_state -> Prop) Qr r X : runs a (runs b Qn Qb Qr) Qb Qr r X -> runs (Seq a b) Qn Qb Qr r X.
  Proof using.
    intros H w Hw. apply during_seq. eapply during_mono; [| | |exact (H w Hw)]; cbn beta; [|done..]. intros r' d (Y & HY & Hd & Hl).
    eapply during_mono; [| | |exact (HY d Hd)]; cbn beta; intros ??; by apply reaches_from.
  Qed.
  Lemma runs_assign x e (Qn Qb : locals -> cpu_state -> Prop) Qr r X v :
    (forall d, eval e r d = Some v) -> Qn (<[x := v]> r) X -> runs (Assign x e) Qn Qb Qr r X.
  Proof using. intros He H w Hw. eapply during_assign; [apply He|]. by apply reaches_here. Qed.
  Lemma runs_if c a b (Qn Qb : locals -> cpu_state -> Prop) Qr r X t : (forall d, test c r d = Some t) ->
    (if t then runs a Qn Qb Qr r X else runs b Qn Qb Qr r X) -> runs (If c a b) Qn Qb Qr r X.
  Proof using. intros Ht H w Hw. eapply during_if; [apply Ht|]. destruct t; by apply H. Qed.
  Lemma runs_return e (Qn Qb : locals -> cpu_state -> Prop) (Qr : Z -> cpu_state -> Prop) r X v :
    (forall d, eval e r d = Some v) -> Qr v X -> runs (Return e) Qn Qb Qr r X.
  Proof using. intros He H w Hw. eapply during_return; [apply He|]. by apply reaches_here. Qed.
  Lemma runs_call x f es (Qn Qb : locals -> cpu_state -> Prop) Qr r X args (post : Z -> cpu_state -> Prop) :
    (forall d, evals es r d = Some args) -> does f args X post -> (forall v Y, post v Y -> Qn (set_result x v r) Y) -> runs (Call x f es) Qn Qb Qr r X.
  Proof using.
    intros He Hf H w Hw. eapply during_call_whole; [apply He|exact (Hf w Hw)|]. intros v w'. apply reaches_mono, H.
  Qed.
  Lemma runs_this_cpu x (Qn Qb : locals -> cpu_state -> Prop) Qr r X : M "arch_cpu"%string = None ->
    Qn (set_result x cpu r) X -> runs (Call x "arch_cpu" []) Qn Qb Qr r X.
  Proof using. intros HC H w Hw. eapply during_this_cpu; [exact HC|done|]. by apply reaches_here. Qed.
  (** ** What is proved of cells, as steps on the state *)
  Lemma timed_frame f args (d e : mem) (post : Z -> mem -> Prop) : d ##ₘ e -> timed f args d post ->
    timed f args (d ∪ e) (fun v d' => exists d1, post v d1 /\ d1 ##ₘ e /\ d' = d1 ∪ e).
  Proof using.
    intros Hde H G J g rest Q HJ HE Hd HQ. apply map_disjoint_union_l in Hd as [Hd1 Hd2]. rewrite <- (assoc_L (∪)). apply H; [done|done| |].
    - by apply map_disjoint_union_r.
    - intros v d' Hp [Hx Hy]%map_disjoint_union_r. rewrite (assoc_L (∪)). apply HQ; [eauto|]. by apply map_disjoint_union_l.
  Qed.
  Lemma does_timed f args X (post : Z -> cpu_state -> Prop) : (forall v Y, post v Y -> later X Y) ->
    (forall d e, own X d -> timer e -> d ##ₘ e -> timed f args (d ∪ e) (fun v m => exists Y d' e', post v Y /\ queues Y = queues X /\ own Y d' /\ timer e' /\
       d' ##ₘ e' /\ m = d' ∪ e')) -> does f args X post.
  Proof using.
    intros Hl H w (dr & d & e & -> & Hr & Hde & Hq & Ho & Ht). rewrite (map_union_comm dr) by done. eapply timed_mono; [|apply timed_frame; [by symmetry|by apply H]].
    cbn beta. intros v m (m1 & (Y & d' & e' & Hp & Hq' & Ho' & Ht' & Hde' & ->) & Hdis & ->). exists Y. split; [done|]. split; [|by eapply Hl].
    exists dr, d', e'. rewrite Hq'. split_and!; [by apply map_union_comm|by symmetry|done..].
  Qed.
  Lemma does_own f args X (post : Z -> cpu_state -> Prop) : (forall v Y, post v Y -> later X Y) ->
    (forall d, own X d -> triple f args d (fun v d' => exists Y, post v Y /\ queues Y = queues X /\ own Y d')) -> does f args X post.
  Proof using.
    intros Hl H. apply does_timed; [exact Hl|]. intros d e Ho Ht Hde. eapply timed_mono; [|apply timed_frame; [exact Hde|by apply triple_timed, H]].
    cbn beta. intros v m (d' & (Y & Hp & Hq & Ho') & Hde' & ->). by exists Y, d', e.
  Qed.
  Lemma does_ready f args X (post : Z -> cpu_state -> Prop) :
    (forall d, ready_rep cpu (queues X) d -> triple f args d (fun v d' => exists s, post v (set_queues s X) /\ ready_rep cpu s d')) -> does f args X post.
  Proof using.
    intros H w (dr & d & e & -> & Hr & Hde & Hq & Ho & Ht). eapply timed_mono; [|apply timed_frame; [exact Hr|by apply triple_timed, H]].
    cbn beta. intros v m (d' & (s & Hp & Hq') & Hdis & ->). exists (set_queues s X). split; [done|]. split; [by exists d', d, e|].
    by apply later_same; [|done..|].
  Qed.

  (** A function that keeps to what [arch] and the timer have of the CPU, and leaves the threads' page maps there. *)
  Definition keeps_timer (f : string) : Prop := forall e, timer e ->
    timed f [] e (fun _ e' => timer e' /\ forall t, e' !! field_cell "thread" t "root" = e !! field_cell "thread" t "root").
  Lemma does_keep f X : keeps_timer f -> does f [] X (fun _ Y => Y = X).
  Proof using.
    intros Hf. apply does_timed; [intros v Y ->; apply later_refl|]. intros d e Ho Ht Hde. rewrite (map_union_comm d e) by done. eapply timed_mono; [|apply timed_frame; [by symmetry|by apply Hf]].
    cbn beta. intros v m (e' & [Ht' _] & Hde' & ->). exists X, d, e'. split_and!; [done..|by symmetry|]. by apply map_union_comm.
  Qed.

  (** ** Cells *)
  Lemma cell_of_cases f : f ∈ own_words ++ arch_words -> exists o g, cell_of cpu f = (o, cpu, g, 0) /\
    (o = "sched_cpu"%string /\ g = f /\ f <> "events"%string \/ o = f /\ f ∈ arch_words).
  Proof using.
    intros [H|H]%elem_of_app.
    - rewrite own_cell by done. eexists _, _. split; [done|]. left. split_and!; [done..|]. intros ->. repeat (apply elem_of_cons in H as [H|H]; [done|]). by apply elem_of_nil in H.
    - exists f, ""%string. split; [|by right]. repeat (apply elem_of_cons in H as [->|H]; [done|]). by apply elem_of_nil in H.
  Qed.
  Lemma cell_of_inj f g : f ∈ own_words ++ arch_words -> g ∈ own_words ++ arch_words -> cell_of cpu f = cell_of cpu g -> f = g.
  Proof using.
    unfold own_words, arch_words. cbn [app]. intros Hf Hg E.
    repeat (apply elem_of_cons in Hf as [->|Hf]; [repeat (apply elem_of_cons in Hg as [->|Hg]; [first [done|cbn in E; unfold field_cell in E; congruence]|]); by apply elem_of_nil in Hg|]).
    by apply elem_of_nil in Hf.
  Qed.
  (** The other objects of the scheduler are none of these cells. *)
  Lemma cell_of_object f o t g : f ∈ own_words ++ arch_words -> o ∈ ["sched_reservation"; "sched_event"; "sched_heap"; "thread"]%string -> cell_of cpu f <> field_cell o t g.
  Proof using.
    intros Hf Ho E. destruct (cell_of_cases f Hf) as (o' & x & E1 & [(-> & _)|(-> & H)]); rewrite E1 in E; unfold field_cell in E; injection E as <- _ _;
      repeat (apply elem_of_cons in Ho as [Ho|Ho]; [subst; try done; repeat (apply elem_of_cons in H as [H|H]; [done|]); by apply elem_of_nil in H|]); by apply elem_of_nil in Ho.
  Qed.
  Lemma cell_of_events f : f ∈ own_words ++ arch_words -> f <> "alarm"%string -> ~ events_owns cpu mine (cell_of cpu f).
  Proof using.
    intros Hf Hne [[E|[(p & g & _ & E)|(e & _ & E)]]|[E|(e & _ & E)]].
    - destruct (cell_of_cases f Hf) as (o' & x & E1 & [(-> & -> & H)|(-> & H)]); rewrite E1 in E; unfold field_cell in E; injection E; [done|].
      intros _ ->. repeat (apply elem_of_cons in H as [H|H]; [done|]). by apply elem_of_nil in H.
    - eapply cell_of_object; [exact Hf| |exact E]. names.
    - eapply cell_of_object; [exact Hf| |exact E]. names.
    - change (cpu_cell "alarm" cpu) with (cell_of cpu "alarm") in E. by apply cell_of_inj in E; [|exact Hf|names].
    - eapply cell_of_object; [exact Hf| |exact E]. names.
  Qed.
  Lemma events_write m k a d x v : events cpu mine m k a d -> ~ events_owns cpu mine x -> events cpu mine m k a (<[x := v]> d).
  Proof using.
    intros (Hok & Hk & Ha & h & Hh & Hv) Hx. split_and!; [done|intros e He; rewrite own_lookup_ne; [auto|]|rewrite own_lookup_ne; [done|]|].
    - intros ->. apply Hx. right. right. by exists e.
    - intros ->. apply Hx. right. by left.
    - exists h. split; [|done]. apply heap_write; [done|]. intros Ho. apply Hx. by left.
  Qed.
  Lemma own_set_word X d f v : own X d -> f ∈ own_words ++ arch_words -> f <> "alarm"%string -> own (set_word f v X) (<[cell_of cpu f := v]> d).
  Proof using.
    intros (Hw & Hr & He) Hf Hne. split_and!.
    - intros g Hg. cbn [word set_word]. destruct (String.eqb_spec g f) as [->|Hgf]; [apply own_lookup|]. rewrite own_lookup_ne; [auto|]. intros E. by apply Hgf, cell_of_inj.
    - intros t Ht. destruct (Hr t Ht) as [H1 H2]. split; (apply holds_write_other; [|done]; intros g; apply cell_of_object; [done|names]).
    - cbn [word set_word]. destruct (String.eqb_spec "alarm" f) as [<-|_]; [done|]. apply events_write; [done|]. by apply cell_of_events.
  Qed.
  Lemma holds_read X w x v : holds X w -> (forall d, own X d -> d !! x = Some v) -> w !! x = Some v.
  Proof using.
    intros (dr & d & e & -> & Hr & Hde & _ & Ho & _) H. rewrite (map_union_comm dr) by done. apply own_read, own_read. by apply H.
  Qed.
  Lemma holds_word X w f : holds X w -> f ∈ own_words ++ arch_words -> w !! cell_of cpu f = Some (word X f).
  Proof using. intros Hw Hf. apply (holds_read X w _ _ Hw). intros d (Hd & _). by apply Hd. Qed.
  Lemma holds_set_word X w f v : holds X w -> f ∈ own_words ++ arch_words -> f <> "alarm"%string -> holds (set_word f v X) (<[cell_of cpu f := v]> w).
  Proof using Hcpu.
    intros (dr & d & e & -> & Hr & Hde & Hq & Ho & He) Hf Hne. assert (d !! cell_of cpu f = Some (word X f)) as Hc by (by apply Ho).
    apply map_disjoint_union_r in Hr as [Hrd Hre].
    pose proof (map_disjoint_Some_r dr d _ _ Hrd Hc) as N1. pose proof (map_disjoint_Some_l d e _ _ Hde Hc) as N2.
    exists dr, (<[cell_of cpu f := v]> d), e. split_and!; [etransitivity; [by apply insert_union_r|f_equal; apply own_write]| | |done|by apply own_set_word|done].
    - apply map_disjoint_union_r. split; [by apply map_disjoint_insert_r|done].
    - by apply map_disjoint_insert_l.
  Qed.
  (** The clock's answer is what it said last from now on. *)
  Lemma runs_clock x (Qn Qb : locals -> cpu_state -> Prop) Qr r X :
    clock_forward quiet kernel_entry M this -> word X "arch_clock" < horizon ->
    (forall now, clock_says (word X "arch_clock") now -> Qn (set_result x now r) (set_word "arch_clock" now X)) -> runs (Call x "timer_now" []) Qn Qb Qr r X.
  Proof using Hcpu.
    intros Hc Hh HQ w Hw. assert ("arch_clock"%string ∈ own_words ++ arch_words) as Hin by (unfold own_words, arch_words; names).
    eapply during_clock; [exact Hc|by apply (holds_word X w "arch_clock")|exact Hh|done|]. intros now Hn. exists (set_word "arch_clock" now X).
    split; [by apply HQ|]. split; [by apply (holds_set_word X w "arch_clock")|]. apply later_same; [by intros ?|done..|]. unfold clock_says in Hn. cbn. clear -Hn. lia.
  Qed.
  Lemma own_set_reservation X d t x : own X d -> ours t -> own (set_reservation t x X) (stored t x d).
  Proof using.
    intros (Hw & Hr & He) Ht. split_and!.
    - intros g Hg. rewrite stored_other; [by apply Hw|]. intros f. apply cell_of_object; [done|names].
    - intros u Hu. destruct (Hr u Hu) as [H1 H2]. cbn [reservation_of set_reservation]. split; [|by apply holds_store_other].
      destruct (Z.eqb_spec u t) as [->|]; [apply stored_reserved|]. apply holds_store_other; [congruence|done].
    - unfold stored. assert (forall l d, events cpu mine (timeouts X) (cancels X) (word X "alarm") d ->
        events cpu mine (timeouts X) (cancels X) (word X "alarm") (store_fields "sched_reservation" t l d)) as H; [|by apply H].
      induction l as [|[f v] l IH]; intros d1 H1; [done|]. cbn [store_fields]. apply IH, events_write; [done|].
      intros [[E|[(p & g & _ & E)|(e & _ & E)]]|[E|(e & _ & E)]]; unfold field_cell in E; congruence.
  Qed.
  Lemma own_events X d d' m k a : own X d -> events_only cpu mine d d' -> events cpu mine m k a d' -> own (set_word "alarm" a (set_timeouts m k X)) d'.
  Proof using.
    intros (Hw & Hr & He) Hd He'. split_and!.
    - intros g Hg. cbn [word set_word set_timeouts]. destruct (String.eqb_spec g "alarm") as [->|Hne]; [by apply He'|]. rewrite Hd; [auto|]. by apply cell_of_events.
    - intros t Ht. destruct (Hr t Ht) as [H1 H2]. cbn [reservation_of set_word set_timeouts].
      assert (forall f o, o ∈ ["sched_reservation"; "thread"]%string -> d' !! field_cell o t f = d !! field_cell o t f) as Hs.
      { intros f o Ho. apply Hd. repeat (apply elem_of_cons in Ho as [->|Ho]; [intros [[E|[(p & g & _ & E)|(e & _ & E)]]|[E|(e & _ & E)]]; unfold field_cell in E; congruence|]).
        by apply elem_of_nil in Ho. }
      split; (eapply Forall_impl; [first [exact H1|exact H2]|]; intros y Hy; rewrite Hs; [done|names]).
    - done.
  Qed.
  (** Reservations, and up to when they are accounted for, are read from the cells. *)
  Lemma holds_agree X Y w t : holds X w -> holds Y w -> ours t -> reservation_of X t = reservation_of Y t /\ accounted_until X t = accounted_until Y t.
  Proof using.
    intros HX HY Ht. split.
    - assert (forall Z f v, holds Z w -> value_of f (reservation_fields (reservation_of Z t)) = Some v -> w !! field_cell "sched_reservation" t f = Some v) as Hread.
      { intros Z f v HZ Hv. apply (holds_read Z w _ _ HZ). intros d (_ & Hr & _). exact (holds_value _ _ _ _ f v (proj1 (Hr t Ht)) Hv). }
      assert (forall f vx vy, value_of f (reservation_fields (reservation_of X t)) = Some vx -> value_of f (reservation_fields (reservation_of Y t)) = Some vy -> vx = vy) as Hsame.
      { intros f vx vy Hx Hy. pose proof (Hread X f vx HX Hx) as E. rewrite (Hread Y f vy HY Hy) in E. by injection E. }
      destruct (reservation_of X t), (reservation_of Y t).
      f_equal; [apply (Hsame "period"%string)|apply (Hsame "budget"%string)|apply (Hsame "left"%string)|apply (Hsame "end"%string)|apply (Hsame "debt"%string)|apply (Hsame "used"%string)
        |apply (Hsame "spends"%string)|apply (Hsame "exempt"%string)]; reflexivity.
    - assert (forall f, f ∈ own_words ++ arch_words -> word X f = word Y f) as Hsame.
      { intros f Hf. pose proof (holds_word X w f HX Hf) as E. rewrite (holds_word Y w f HY Hf) in E. by injection E. }
      unfold accounted_until. rewrite !Hsame by (unfold own_words, arch_words; names). done.
  Qed.
End state.

(** One statement. A condition stays as the comparison that it is. *)
Ltac go :=
  lazymatch goal with
  | |- runs _ _ _ _ _ _ (Seq _ _) _ _ _ _ _ => apply runs_seq
  | |- runs _ _ _ _ _ _ Skip _ _ _ _ _ => apply runs_skip
  | |- runs _ _ _ _ _ _ (Assign _ _) _ _ _ _ _ => eapply runs_assign; [intros ?; evaluate|]
  | |- runs _ _ _ _ _ _ (If _ _ _) _ _ _ _ _ => eapply runs_if; [intros ?; evaluate|cbn [compare negb andb orb]]
  | |- runs _ _ _ _ _ _ (Return _) _ _ _ _ _ => eapply runs_return; [intros ?; evaluate|]
  end; locals_simpl; locals_plain.

(** What a function does leads to a [later] state, if reservations and clock are as before. *)
Ltac same_times := let H := fresh in intros ? ? H; decompose [and ex] H; clear H; subst;
  apply later_same; [intros ?; by split_and!|reflexivity|reflexivity|reflexivity].
