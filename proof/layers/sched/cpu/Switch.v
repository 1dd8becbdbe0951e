(** Reasoning about C of the scheduler that may switch to another thread.

    [does] speaks of functions that return before anything else runs on the CPU. [goes f args X post] is the same for functions that
    may, besides, hand the CPU over: to a thread for which the state [fits], and they return when it fits the thread [self] that
    called them. [walks] is to it what [runs] is to [does].

    [fits to X] is what all threads of a CPU promise each other at each switch to [to]. The theorems hold for any: a function's
    requirement says that the state in which it switches fits the thread that comes. Besides, the state is always [later] than the one
    in which the CPU was handed over last ([later_than]). *)
From Ashlar Require Export layers.thread.Switch layers.sched.cpu.InsertCode.
From Ashlar Require Import layers.pagemap.Code.
Local Opaque gmap_lookup gmap_partial_alter.

Section switch.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (fits : Z -> cpu_state -> Prop) (self : Z).
  Notation holds := (holds this ours timer).
  Notation timed := (timed quiet kernel_entry M this).
  Notation does := (does quiet kernel_entry M this ours timer).
  Notation runs := (runs quiet kernel_entry M this ours timer).

  (** Reservations are what has become of what they were in memory [h], in which the CPU was handed over last. *)
  Definition later_than (h : option mem) (X : cpu_state) : Prop := match h with Some w => exists X0, holds X0 w /\ later X0 X | None => True end.
  Lemma later_than_later h X Y : later_than h X -> later X Y -> later_than h Y.
  Proof using. destruct h as [w|]; [|done]. intros (X0 & Hw & H) HY. exists X0. split; [done|by eapply later_trans]. Qed.
  Lemma later_than_itself w X : holds X w -> later_than (Some w) X.
  Proof using. intros Hw. exists X. split; [done|apply later_refl]. Qed.

  (** What is handed to thread [to], and what comes back. *)
  Definition handed (h : option mem) (to : Z) (w : mem) : Prop := to <> self /\ exists X, holds X w /\ later_than h X /\ fits to X.
  Definition back_again (h : option mem) (w : mem) : Prop := h = Some w /\ exists X, holds X w /\ fits self X.
  Notation switches := (switches quiet kernel_entry M this handed back_again).
  Notation switching := (switching quiet kernel_entry M this handed back_again).

  (** A switch to [to] in state [X] keeps the promise. *)
  Definition suits (to : Z) (X : cpu_state) : Prop := to <> self /\ fits to (set_word "arch_current" to X).

  (** One of the states that [post] allows, after what the CPU was when it was last handed over. *)
  Definition comes_to (post : cpu_state -> Prop) (h : option mem) (w : mem) : Prop := exists Y, post Y /\ holds Y w /\ later_than h Y.
  Lemma comes_to_mono (post post' : cpu_state -> Prop) h w : (forall Y, post Y -> post' Y) -> comes_to post h w -> comes_to post' h w.
  Proof using. intros Hp (Y & HY & Hw). exists Y. split; [by apply Hp|done]. Qed.
  Lemma reaches_comes X post h w : later_than h X -> reaches this ours timer X post w -> comes_to post h w.
  Proof using. intros Hh (Y & HY & Hw & Hl). exists Y. split_and!; [done..|]. by eapply later_than_later. Qed.

  Definition goes (f : string) (args : list Z) (X : cpu_state) (post : Z -> cpu_state -> Prop) : Prop :=
    forall h w, holds X w -> later_than h X -> switches f args h w (fun v => comes_to (post v)).
  Definition walks (s : stmt) (Qn Qb : locals -> cpu_state -> Prop) (Qr : Z -> cpu_state -> Prop) (r : locals) (X : cpu_state) : Prop :=
    forall h w, holds X w -> later_than h X -> switching s (fun r => comes_to (Qn r)) (fun r => comes_to (Qb r)) (fun v => comes_to (Qr v)) r h w.

  Lemma does_goes f args X post : does f args X post -> goes f args X post.
  Proof using. intros H h w Hw Hh. eapply switches_mono; [|by apply timed_switches, H]. intros v h' w' [-> Hr]. by eapply reaches_comes. Qed.
  Lemma goes_mono f args X (post post' : Z -> cpu_state -> Prop) : (forall v Y, post v Y -> post' v Y) -> goes f args X post -> goes f args X post'.
  Proof using. intros Hp H h w Hw Hh. eapply switches_mono; [|exact (H h w Hw Hh)]. intros v h' w'. apply comes_to_mono, Hp. Qed.
  Lemma goes_body f fd args X (post : Z -> cpu_state -> Prop) : M f = Some fd -> length args = fn_params fd ->
    walks (fn_body fd) (fun _ Y => post 0 Y) (fun _ _ => False) post (args ++ replicate (fn_locals fd) 0) X -> goes f args X post.
  Proof using.
    intros HM Hl H h w Hw Hh. eapply switches_body; [exact HM|exact Hl|]. intros G J calm g rest HJ HE HS Hd Hg.
    eapply wp_mono; [| | |exact (H h w Hw Hh G J calm g rest HJ HE HS Hd Hg)]; cbn beta; [done| |done]. by intros r m g' (h' & d & _ & _ & _ & Y & [] & _).
  Qed.
  (** The same of a function that is entered from outside the kernel's code. *)
  Definition entered (f : string) (args : list Z) (X : cpu_state) (post : Z -> cpu_state -> Prop) : Prop := exists fd, M f = Some fd /\ length args = fn_params fd /\
    walks (fn_body fd) (fun _ Y => post 0 Y) (fun _ _ => False) post (args ++ replicate (fn_locals fd) 0) X.
  Lemma entered_goes f args X post : entered f args X post -> goes f args X post.
  Proof using. intros (fd & HM & Hl & H). by eapply goes_body. Qed.
  Lemma walks_mono s (Qn Qn' Qb Qb' : locals -> cpu_state -> Prop) (Qr Qr' : Z -> cpu_state -> Prop) r X :
    (forall r Y, Qn r Y -> Qn' r Y) -> (forall r Y, Qb r Y -> Qb' r Y) -> (forall v Y, Qr v Y -> Qr' v Y) -> walks s Qn Qb Qr r X -> walks s Qn' Qb' Qr' r X.
  Proof using.
    intros HN HB HR H h w Hw Hh G J calm g rest HJ HE HS Hd Hg. eapply wp_mono; [| | |exact (H h w Hw Hh G J calm g rest HJ HE HS Hd Hg)]; cbn beta;
      intros ??? (h' & d & -> & Hd' & Hg' & HY); exists h', d; (split_and!; [done..|]); (eapply comes_to_mono; [|exact HY]); auto.
  Qed.
  Lemma entered_mono f args X (post post' : Z -> cpu_state -> Prop) : (forall v Y, post v Y -> post' v Y) -> entered f args X post -> entered f args X post'.
  Proof using. intros Hp (fd & HM & Hl & H). exists fd. split_and!; [done..|]. eapply walks_mono; [| | |exact H]; cbn beta; [intros _ Y; apply Hp|done|exact Hp]. Qed.
  Lemma runs_walks s (Qn Qb : locals -> cpu_state -> Prop) Qr r X : runs s Qn Qb Qr r X -> walks s Qn Qb Qr r X.
  Proof using. intros H h w Hw Hh. apply during_switching. eapply during_mono; [| | |exact (H w Hw)]; cbn beta; intros ??; by apply reaches_comes. Qed.
  Lemma serves_mono f args X (post post' : Z -> cpu_state -> Prop) : (forall v Y, post v Y -> post' v Y) ->
    serves quiet kernel_entry M this ours timer f args X post -> serves quiet kernel_entry M this ours timer f args X post'.
  Proof using.
    intros Hp (fd & HM & Hl & H). exists fd. split_and!; [done..|]. intros w Hw. eapply during_mono; [| | |exact (H w Hw)]; cbn beta; [|done|]; intros ? d; apply reaches_mono; auto.
  Qed.
  Lemma serves_entered f args X post : serves quiet kernel_entry M this ours timer f args X post -> entered f args X post.
  Proof using. intros (fd & HM & Hl & H). exists fd. split_and!; [done..|]. by apply runs_walks. Qed.
  Lemma walks_seq a b (Qn Qb : locals -> cpu_state -> Prop) Qr r X : walks a (walks b Qn Qb Qr) Qb Qr r X -> walks (Seq a b) Qn Qb Qr r X.
  Proof using.
    intros H h w Hw Hh. apply switching_seq. intros G J calm g rest HJ HE HS Hd Hg. eapply wp_mono; [| | |exact (H h w Hw Hh G J calm g rest HJ HE HS Hd Hg)]; cbn beta; [|done..].
    intros r' m g' (h' & d & -> & Hd' & Hg' & Y & HY & HdY & HhY). exists h', d. split_and!; [done..|]. by apply HY.
  Qed.
  (** A statement that does not switch, and what follows it. *)
  Lemma walks_first a b (Qn Qb : locals -> cpu_state -> Prop) Qr r X : runs a (walks b Qn Qb Qr) Qb Qr r X -> walks (Seq a b) Qn Qb Qr r X.
  Proof using. intros H. by apply walks_seq, runs_walks. Qed.
  Lemma walks_if c a b (Qn Qb : locals -> cpu_state -> Prop) Qr r X t : (forall d, test c r d = Some t) ->
    (if t then walks a Qn Qb Qr r X else walks b Qn Qb Qr r X) -> walks (If c a b) Qn Qb Qr r X.
  Proof using. intros Ht H h w Hw Hh. eapply switching_if; [apply Ht|]. destruct t; by apply H. Qed.
  Lemma walks_call x f es (Qn Qb : locals -> cpu_state -> Prop) Qr r X args (post : Z -> cpu_state -> Prop) :
    (forall d, evals es r d = Some args) -> goes f args X post -> (forall v Y, post v Y -> Qn (set_result x v r) Y) -> walks (Call x f es) Qn Qb Qr r X.
  Proof using.
    intros He Hf H h w Hw Hh. eapply switching_call; [apply He|exact (Hf h w Hw Hh)|]. intros v h' w'. apply comes_to_mono, H.
  Qed.

  (** ** The switch *)
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HW : forall f fd, switch_module f = Some fd -> M f = Some fd).
  Context (HP : forall f fd, pagemap_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None) (load_below : M "arch_page_map_load"%string = None).
  Notation keeps_timer := (keeps_timer quiet kernel_entry M this timer).
  Context (loaded_root : keeps_timer "arch_loaded_root"%string).
  Context (fpu_left : keeps_timer "arch_fpu_left"%string) (fpu_leave : keeps_timer "arch_fpu_leave"%string).
  (** The CPU's threads have page maps or run in any; those that [user] names may run in user mode. *)
  Context (user : Z -> Prop).
  Context (roots : forall e t, timer e -> ours t -> exists root, e !! field_cell "thread" t "root" = Some root /\ root_ok root /\ (user t -> root <> NONE)).

  (** In state [X], where thread [t] has page map [root]. *)
  Definition with_root (X : cpu_state) (t root : Z) (w : mem) : Prop :=
    exists dr d e, w = dr ∪ (d ∪ e) /\ dr ##ₘ d ∪ e /\ d ##ₘ e /\ ready_rep cpu (queues X) dr /\ own this ours X d /\ timer e /\ e !! field_cell "thread" t "root" = Some root.
  Lemma with_root_holds X t root w : with_root X t root w -> holds X w.
  Proof using. intros (dr & d & e & -> & Hr & Hde & Hq & Ho & He & _). by exists dr, d, e. Qed.
  Lemma holds_root X w t : holds X w -> ours t -> exists root, with_root X t root w /\ root_ok root /\ (user t -> root <> NONE).
  Proof using roots.
    intros (dr & d & e & -> & Hr & Hde & Hq & Ho & He) Ht. destruct (roots e t He Ht) as (root & Hroot & Hok). exists root. split; [|done]. by exists dr, d, e.
  Qed.
  Lemma root_there X t root w : with_root X t root w -> w !! field_cell "thread" t "root" = Some root.
  Proof using.
    intros (dr & d & e & -> & Hr & Hde & _ & _ & _ & Hroot). apply map_disjoint_union_r in Hr as [_ Hre].
    apply lookup_union_Some_raw. right. split; [by eapply map_disjoint_Some_r|]. apply lookup_union_Some_raw. right. split; [by eapply map_disjoint_Some_r|done].
  Qed.
  Lemma root_kept f X t root w : keeps_timer f -> with_root X t root w -> timed f [] w (fun _ w' => with_root X t root w').
  Proof using.
    intros Hf (dr & d & e & -> & Hr & Hde & Hq & Ho & He & Hroot). rewrite (assoc_L (∪)). apply map_disjoint_union_r in Hr as [Hrd Hre].
    assert (e ##ₘ dr ∪ d) as Hdis by (apply map_disjoint_union_r; split; by symmetry).
    rewrite (map_union_comm (dr ∪ d) e) by (by symmetry). eapply timed_mono; [|apply timed_frame; [exact Hdis|by apply Hf]].
    cbn beta. intros v m (e' & [He' Hsame] & Hdis' & ->). apply map_disjoint_union_r in Hdis' as [H1 H2]. exists dr, d, e'. split_and!; [|apply map_disjoint_union_r; by split|by symmetry|done..|].
    - etransitivity; [by apply map_union_comm, map_disjoint_union_r|]. by rewrite (assoc_L (∪)).
    - by rewrite Hsame.
  Qed.
  Lemma holds_current X w : holds X w -> w !! current_cell this = Some (word X "arch_current").
  Proof using. intros Hw. apply (holds_word this ours timer X w "arch_current" Hw). unfold own_words, arch_words. names. Qed.
  Lemma holds_set_current X w t : holds X w -> holds (set_word "arch_current" t X) (<[current_cell this := t]> w).
  Proof using Hcpu. intros Hw. apply (holds_set_word this Hcpu ours timer X w "arch_current" t Hw); [unfold own_words, arch_words; names|done]. Qed.
  Lemma with_root_suits h X to root : later_than h X -> suits to X -> forall w, with_root X to root w ->
    w !! field_cell "thread" to "root" = Some root /\ is_Some (w !! current_cell this) /\ handed h to (<[current_cell this := to]> w).
  Proof using Hcpu.
    intros Hh [Hne Hf] w Hw. pose proof (with_root_holds X to root w Hw) as HX. split_and!; [by apply (root_there X)|eexists; by apply (holds_current X)|split; [done|]].
    exists (set_word "arch_current" to X). split_and!; [by apply holds_set_current| |done]. apply (later_than_later h X); [done|]. by apply later_same; [|done..|].
  Qed.
  Theorem thread_switch_goes to X : ours to -> suits to X -> goes "thread_switch" [to] X (fun v Y => v = 0 /\ fits self Y).
  Proof using HT HW HP HC load_below loaded_root fpu_left fpu_leave roots Hcpu.
    intros Ht Hs h w Hw Hh. destruct (holds_root X w to Hw Ht) as (root & Hroot & Hok & _).
    eapply switches_mono; [|apply (thread_switch_switches quiet kernel_entry M this HT HW HP HC load_below handed back_again (with_root X to root)
      (fun d => root_kept _ X to root d loaded_root) (fun d => root_kept _ X to root d fpu_left) (fun d => root_kept _ X to root d fpu_leave) to root h w Hroot Hok (with_root_suits h X to root Hh Hs))].
    cbn beta. intros v h' d' [-> (-> & Y & HY & Hfit)]. exists Y. split_and!; [done..|by apply later_than_itself].
  Qed.
  Theorem thread_switch_to_user_goes to X : ours to -> user to -> suits to X -> goes "thread_switch_to_user" [to] X (fun v Y => v = 0 /\ fits self Y).
  Proof using HT HW HP HC load_below loaded_root fpu_left fpu_leave roots Hcpu.
    intros Ht Hu Hs h w Hw Hh. destruct (holds_root X w to Hw Ht) as (root & Hroot & Hok & Hroot'). destruct Hok as [->|Hok]; [by destruct (Hroot' Hu)|].
    eapply switches_mono; [|apply (thread_switch_to_user_switches quiet kernel_entry M this HT HW HP HC load_below handed back_again (with_root X to root)
      (fun d => root_kept _ X to root d loaded_root) to root h w Hroot Hok (with_root_suits h X to root Hh Hs))].
    cbn beta. intros v h' d' [-> (-> & Y & HY & Hfit)]. exists Y. split_and!; [done..|by apply later_than_itself].
  Qed.
End switch.
