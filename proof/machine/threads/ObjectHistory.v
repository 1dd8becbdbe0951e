(** What happens to the objects of locks, where threads call functions that take locks.

    It is what CPUs without threads can do: those whose clients make, one after the other, the calls that a CPU's threads have made
    ([objects_history]). All CPUs guarantee each other that each one's part in it is explained so; and a CPU that is between two calls hands
    this on at each switch ([objects_settled]). *)
From Ashlar Require Export machine.threads.LockEvents calculus.logs.Canonical.
From stdpp Require Import fin_map_dom.

(** A client that makes calls, and shows values, one after the other. *)
Inductive made := Made (f : string) (args : list Z) | Shown (v : Z).
Definition sequence : client := Client (list made)
  (fun _ s => match s with [] => CDone | Made f args :: _ => CCall f args | Shown v :: _ => COut v end) (fun s _ => tail s).

Section history.
  (** The objects, and the programs of the functions. *)
  Context (O : layout) (spec : specification (PRIM := cprim) (MEM := objects O)) (nlock : Z) (budget : nat) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (LO : layout_ok O init guarded).
  Notation lock_objects := (lock_layer nlock budget (object_data O)).
  (** A layer with locks; CPUs; objects of a CPU's own that a function begins with and leaves again. *)
  Context (passes : cprim -> Prop) (L : layer cprim mem) (lock_event_of : lop L -> option (lock_event mem)) (alone : nat -> log L -> bool)
    (HL : has_locks nlock budget init guarded passes L lock_event_of alone).
  Context (ncpu : nat) (own : objects O).
  Notation part := (lock_part lock_event_of).
  Notation calm := (calm lock_event_of init alone).

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
  Lemma part_others c e : others L c e -> Forall (fun y => who y <> c) (part e).
  Proof using.
    induction 1 as [|[w o] e Hw He IH]; [constructor|]. unfold lock_part. simpl. destruct (lock_event_of o); [by constructor|exact IH].
  Qed.
  (** Where others have gone on, there is a longer explanation. *)
  Lemma explained_longer c e l x y : others L c e -> objects_sound (e ++ l) -> same_log O (part l) x -> explains c x y ->
    exists x', same_log O (part (e ++ l)) x' /\ legal lock_objects x' /\ explains c x' y /\ forall c', (c' < ncpu)%nat -> exists y, explains c' x' y.
  Proof using LO.
    intros He (_ & _ & x' & Hx' & Hleg & Hall) Hx Hy. exists x'. split_and!; [done..| |done]. rewrite part_app in Hx'.
    destruct (same_log_extends O (lo_state _ _ _ LO) _ _ _ _ Hx Hx') as (f & -> & Hf). apply explains_others; [|done].
    eapply same_log_others; [exact Hf|]. by apply part_others.
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
    intros Hp Hc. destruct (others_pass _ _ _ _ _ _ _ _ HL c p m l Hp) as (v & o & E & Eo & Ea). exists v, o. split_and!; [done| |by apply other_event].
    revert Hc. rewrite !calm_parts, Ea. unfold lock_part. simpl. by rewrite Eo.
  Qed.
  Lemma out_calm c v m l : (c < ncpu)%nat -> calm c l = true -> exists o, lstep L c (OUT, [v]) m l = Ok 0 m o /\ calm c (Event c o :: l) = true /\
    (objects_sound l -> objects_settled c l -> objects_sound (Event c o :: l) /\ objects_settled c (Event c o :: l)).
  Proof using HL LO.
    intros Hcpu Hc. pose proof Hc as (Hal & Hh & Ho)%calm_parts. pose proof (locks_step _ _ _ _ _ _ _ _ HL c OUT v m l ltac:(by right; right; left) Hal) as Hs. unfold lock_step in Hs.
    destruct (held c (part l)) as [ks n] eqn:Eh. simpl in Hh. subst ks. simpl in Hs. destruct Hs as (o & Eo & Ev & Hal'). exists o. split; [done|].
    assert (part (Event c o :: l) = Event c (OOut v) :: part l) as Ep by (unfold lock_part; simpl; by rewrite Ev).
    split.
    - apply calm_parts. split; [done|]. rewrite Ep. simpl. rewrite !decide_True by done. by rewrite Eh.
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
End history.
