(** The locks that threads take besides those of the kernel's objects: those of notifications.

    They have greater numbers than the others, so that what is proved of objects does not depend on them ([fewer_locks]). What each guards are always the same cells. *)
From Ashlar Require Export layers.UnlockedCells layers.notify.Guarded machine.threads.ObjectHistory machine.threads.SwitchingRule layers.Functions.
Local Opaque gmap_lookup gmap_partial_alter.
Local Open Scope Z_scope.

(** The notification of a lock. *)
Definition notification_of (k : Z) : option Z := if bool_decide (0 <= k - LOCK_NOTIFY_BASE < NUM_NOTIFICATION) then Some (k - LOCK_NOTIFY_BASE) else None.
Lemma notification_of_some k n : notification_of k = Some n <-> k = LOCK_NOTIFY_BASE + n /\ 0 <= n < NUM_NOTIFICATION.
Proof. unfold notification_of. case_bool_decide; (split; [intros [= <-]; lia|intros [-> ?]]); [f_equal|]; lia. Qed.
Definition thread_guards (k : Z) : option (mem -> Prop) := notify_guarded <$> notification_of k.
Definition thread_guard_cells (k : Z) (x : cell) : Prop := exists n, notification_of k = Some n /\ x ∈ notify_cells n.
Lemma thread_guards_some k guarded : thread_guards k = Some guarded -> exists n, k = LOCK_NOTIFY_BASE + n /\ 0 <= n < NUM_NOTIFICATION /\ guarded = notify_guarded n.
Proof. unfold thread_guards. destruct (notification_of k) as [n|] eqn:E; [|done]. intros [= <-]. apply notification_of_some in E as [-> ?]. by exists n. Qed.
Definition thread_changes (k : Z) (d0 d : mem) : Prop := exists n, notification_of k = Some n /\ notify_changed n d0 d.
Lemma thread_changes_guarded k guarded d0 d : thread_guards k = Some guarded -> thread_changes k d0 d -> guarded d.
Proof. unfold thread_guards. intros Hk (n & E & H). rewrite E in Hk. injection Hk as <-. by apply (notify_changed_guarded n d0). Qed.
Lemma thread_guards_high k guarded : thread_guards k = Some guarded -> object_locks <= k < NUM_LOCK.
Proof. intros (n & -> & ? & _)%thread_guards_some. unfold object_locks, LOCK_SHARE, LOCK_NOTIFY_BASE, NUM_NOTIFICATION, NUM_LOCK in *. lia. Qed.

(** Cells that no lock guards: they may stay with suspended threads, or be handed over. *)
Definition guarded_cell (x : cell) : bool :=
  let '(o, i, f, _) := x in String.eqb o "notification" && negb (String.eqb f "owner") || String.eqb o "queue" && (QUEUE_NOTIFICATION_BASE <=? i) && (i <? QUEUE_NOTIFICATION_BASE + NUM_NOTIFICATION).
Definition parked_cell (x : cell) : bool := unlocked_cell x && negb (guarded_cell x).
Lemma parked_unlocked x : parked_cell x = true -> unlocked_cell x = true.
Proof. unfold parked_cell. by intros [? _]%andb_true_iff. Qed.
Lemma thread_guard_apart k x : thread_guard_cells k x -> parked_cell x = false.
Proof.
  intros (n & [-> Hn]%notification_of_some & Hx). unfold parked_cell. assert (guarded_cell x = true) as ->; [|by rewrite andb_false_r].
  unfold notify_cells in Hx. apply elem_of_app in Hx as [(f & -> & Hf)%elem_of_list_fmap|Hx].
  - cbn. rewrite orb_false_r. repeat (apply elem_of_cons in Hf as [->|Hf]; [done|]). by apply elem_of_nil in Hf.
  - apply elem_of_cons in Hx as [->|Hx]; [|apply elem_of_list_singleton in Hx as ->]; cbn; unfold queue_id, QUEUE_NOTIFICATION_BASE, NUM_NOTIFICATION in *;
      by rewrite (proj2 (Z.leb_le _ _)), (proj2 (Z.ltb_lt _ _)) by lia.
Qed.

(** What all locks guard, and at the start: [objects], or [notes]. *)
Definition all_guarded (k : Z) (m : mem) : mem :=
  match notification_of k with Some n => restrict (notify_cells n) m | None => kernel_guarded k m end.
Definition all_start (objects notes : Z -> mem) (k : Z) : mem := match notification_of k with Some n => notes n | None => objects k end.
Lemma no_notification k : k < object_locks -> notification_of k = None.
Proof. intros Hk. unfold notification_of. rewrite bool_decide_eq_false_2; [done|]. unfold object_locks, LOCK_SHARE, LOCK_NOTIFY_BASE in *. lia. Qed.
Lemma all_guarded_few k m : k < object_locks -> kernel_guarded k m = all_guarded k m.
Proof. intros Hk. unfold all_guarded. by rewrite no_notification. Qed.
Lemma all_start_few objects notes k : k < object_locks -> objects k = all_start objects notes k.
Proof. intros Hk. unfold all_start. by rewrite no_notification. Qed.
Lemma all_guarded_sub k m : all_guarded k m ⊆ m.
Proof. unfold all_guarded. destruct (notification_of k); apply map_filter_subseteq. Qed.
Lemma all_guarded_parked k m r : m ##ₘ r -> all_parked (fun x => parked_cell x = true) r -> all_guarded k (m ∪ r) = all_guarded k m.
Proof.
  intros Hd Hr. unfold all_guarded. destruct (notification_of k) as [n|] eqn:E.
  - apply map_eq. intros x. destruct (decide (x ∈ notify_cells n)) as [Hx|Hx]; [|by rewrite !restrict_out]. rewrite !restrict_in by done.
    destruct (r !! x) as [v|] eqn:Ev; [|by apply lookup_union_l]. apply Hr in Ev. rewrite (thread_guard_apart k x) in Ev; [done|by exists n].
  - apply kernel_guarded_unlocked; [done|]. intros x v Hv. by eapply parked_unlocked, Hr.
Qed.
Lemma all_guarded_exact k guarded (d m : mem) : thread_guards k = Some guarded -> guarded d -> d ##ₘ m -> all_parked (fun x => parked_cell x = true) m -> all_guarded k (d ∪ m) = d.
Proof.
  intros (n & -> & Hn & ->)%thread_guards_some Hd Hdis Hm. assert (notification_of (LOCK_NOTIFY_BASE + n) = Some n) as E by by apply notification_of_some.
  rewrite all_guarded_parked by done. unfold all_guarded. rewrite E. pose proof (notify_guarded_cells n d Hd) as Hx. apply map_eq. intros x.
  destruct (decide (x ∈ notify_cells n)) as [Hin|Hout]; [by apply restrict_in|]. rewrite restrict_out by done. destruct (d !! x) as [v|] eqn:Ev; [|done].
  destruct Hout. apply Hx. by eexists.
Qed.

(** ** A layer with all locks serves threads with those of notifications *)
Section locks.
  Context (objects notes : Z -> mem) (passes : cprim -> Prop) (L : layer cprim mem) (lock_event_of : lop L -> option (lock_event mem)).
  Notation start := (all_start objects notes).
  Context (budget : nat) (budget_some : (0 < budget)%nat) (HL : has_locks NUM_LOCK budget start all_guarded passes L lock_event_of always_alone).
  Notation object_event_of := (few_event_of object_locks L lock_event_of).
  Notation alone := (few_alone_of object_locks L lock_event_of).
  Notation object_part := (lock_part object_event_of).
  Notation all_part := (lock_part lock_event_of).
  Definition objects_below : has_locks object_locks budget objects kernel_guarded passes L object_event_of alone :=
    fewer_locks NUM_LOCK object_locks budget start objects all_guarded kernel_guarded ltac:(done) (all_start_few objects notes) all_guarded_few passes L lock_event_of HL.
  Notation calm := (calm object_event_of objects alone).

  (** What has happened to notifications: a lock is acquired when it is free, and released by the CPU that has acquired it, which has changed the notification as a call may. *)
  Fixpoint notes_in_order (l : lock_log mem) : Prop :=
    match l with
    | [] => True
    | e :: l => match what e with
        | OAcquire k => is_Some (notification_of k) -> holder k l = None
        | ORelease k d => is_Some (notification_of k) -> holder k l = Some (who e) /\ thread_changes k (published start k l) d
        | OOut _ => True
        end /\ notes_in_order l
    end.
  (** CPU [c] holds lock [k], with which [d] came, and nothing else of locks. *)
  Definition busy_with (k : Z) (d : mem) (c : nat) (l : log L) : Prop := held c (all_part l) = ([k], 0%nat) /\ (held c (object_part l)).1 = [] /\
    owned objects (fun _ => ∅) c (object_part l) = ∅ /\ is_Some (notification_of k) /\ holder k (all_part l) = Some c /\ published start k (all_part l) = d.
  (** While it does, others leave the notification alone. *)
  Lemma notes_kept k c e l : is_Some (notification_of k) -> holder k l = Some c -> Forall (fun x => who x <> c) e -> notes_in_order (e ++ l) ->
    holder k (e ++ l) = Some c /\ published start k (e ++ l) = published start k l.
  Proof using.
    intros Hk Hh. induction 1 as [|[c' o] e Hne He IH]; [done|]. intros [Ho Hl]. destruct (IH Hl) as [H1 H2]. cbn [app holder published what who] in *.
    destruct o as [k'|k' d|v]; [| |done]; (destruct (Z.eqb_spec k' k) as [->|]; [|done]).
    - by rewrite (Ho Hk) in H1.
    - destruct (Ho Hk) as [Ho' _]. rewrite Ho' in H1. by injection H1.
  Qed.
  Context (notes_idle : forall n, 0 <= n < NUM_NOTIFICATION -> notify_guarded n (notes n)).
  (** What the lock of a notification guards is always in order. *)
  Lemma notes_guarded l k guarded : notes_in_order l -> thread_guards k = Some guarded -> guarded (published start k l).
  Proof using notes_idle.
    intros Hl Hk. induction l as [|[c o] l IH]; cbn [published what].
    - pose proof Hk as (n & -> & Hb & ->)%thread_guards_some. unfold all_start. rewrite (proj2 (notification_of_some (LOCK_NOTIFY_BASE + n) n)) by done. by apply notes_idle.
    - destruct Hl as [Ho Hl]. specialize (IH Hl). destruct o as [k'|k' d|v]; [done| |done]. destruct (Z.eqb_spec k' k) as [->|]; [|done].
      apply (thread_changes_guarded k guarded (published start k l) d Hk), Ho. cbn [what]. unfold thread_guards in Hk. by destruct (notification_of k); [eexists|].
  Qed.
  Context (sound : log L -> Prop) (settled : nat -> log L -> Prop).
  (** Events that are not those of objects are nothing to them. *)
  Context (other : forall c o l, object_event_of o = None -> sound l -> settled c l -> sound (Event c o :: l) /\ settled c (Event c o :: l)).

  Lemma all_part_cons c o e l : lock_event_of o = Some e -> all_part (Event c o :: l) = Event c e :: all_part l.
  Proof using. intros E. unfold lock_part. simpl. by rewrite E. Qed.
  Lemma other_event_none k o : object_locks <= k -> lock_event_of o = Some (OAcquire k) \/ (exists d, lock_event_of o = Some (ORelease k d)) -> object_event_of o = None.
  Proof using. intros Hk [E|[d E]]; unfold few_event_of; rewrite E; cbn; by rewrite (proj2 (Z.ltb_ge k object_locks)). Qed.
  Lemma object_part_other c o l : object_event_of o = None -> object_part (Event c o :: l) = object_part l.
  Proof using. intros E. unfold lock_part. simpl. by rewrite E. Qed.
  Lemma few_part_all l : few_part object_locks (all_part l) = object_part l.
  Proof using. symmetry. apply (few_part_of object_locks L lock_event_of). Qed.

  Lemma all_part_others c e l : others L c e -> all_part (e ++ l) = all_part e ++ all_part l /\ Forall (fun x => who x <> c) (all_part e) /\
    object_part (e ++ l) = object_part e ++ object_part l /\ Forall (fun x => who x <> c) (object_part e).
  Proof using.
    intros He. split; [apply flat_map_app|]. split; [by eapply (part_others L lock_event_of)|]. split; [apply flat_map_app|by eapply (part_others L object_event_of)].
  Qed.
  Notation in_order l := (notes_in_order (all_part l)).

  Lemma thread_locks_taken : takes_locks L parked_cell calm (fun l => sound l /\ in_order l) settled thread_guards thread_changes thread_guard_cells busy_with.
  Proof using HL other budget_some notes_idle.
    split.
    - intros k guarded d (n & -> & Hn & ->)%thread_guards_some Hd x. rewrite (notify_guarded_cells n d Hd x). unfold thread_guard_cells.
      assert (notification_of (LOCK_NOTIFY_BASE + n) = Some n) as -> by by apply notification_of_some. split; [by exists n|]. by intros (n' & [= <-] & H).
    - apply thread_guard_apart.
    - apply thread_changes_guarded.
    - intros k d c e l He [_ Hord] (Hh & Hoh & Ho & Hk & Hhold & Hpub). destruct (all_part_others c e l He) as (Ea & Hothers & Eo & Hothers').
      unfold busy_with. rewrite Ea in *. rewrite Eo. destruct (notes_kept k c (all_part e) (all_part l) Hk Hhold Hothers Hord) as [H1 H2]. rewrite H1, H2.
      assert (forall (p q : lock_log mem), Forall (fun x => who x <> c) p -> held c (p ++ q) = held c q) as Hheld.
      { intros p q. induction 1 as [|x p Hx Hp IH]; [done|]. cbn [app held]. by rewrite decide_False. }
      split_and!; [by rewrite Hheld|by rewrite Hheld| |done..]. etransitivity; [by apply owned_others|exact Ho].
    - intros k guarded c m l Hk (Hal & Hh & Ho)%calm_parts [Hs Hg] Hset. pose proof (thread_guards_high k guarded Hk) as Hb.
      assert (is_Some (notification_of k)) as Hnote by (unfold thread_guards in Hk; by destruct (notification_of k); [eexists|]).
      pose proof (locks_step _ _ _ _ _ _ _ _ HL c ACQUIRE k m l ltac:(by left) eq_refl) as Hstep. apply alone_with_spec in Hal as [Hal _]. rewrite few_part_all, Hh in Hal.
      unfold lock_step in Hstep. destruct (held c (all_part l)) as [ks n] eqn:Eh. cbn [fst] in Hal. subst ks.
      change (String.eqb ACQUIRE ACQUIRE) with true in Hstep. cbn iota in Hstep. unfold below in Hstep.
      rewrite (proj2 (Z.leb_le 0 k)), (proj2 (Z.ltb_lt k NUM_LOCK)) in Hstep by (unfold object_locks, LOCK_SHARE in *; lia). cbn [forallb andb within] in Hstep.
      destruct (holder k (all_part l)) eqn:Ehold; [by rewrite Hstep|]. destruct Hstep as (o & El & Eo & _). rewrite El. cbn [cell_data ld_pull ld_init].
      assert (object_event_of o = None) as En by (eapply other_event_none; [apply Hb|by left]).
      destruct (other c o l En Hs Hset) as [Hs' Hset']. split; [done|]. eexists. split; [done|]. split; [by apply notes_guarded|]. split; [|split; [split; [done|]|done]].
      + unfold busy_with. rewrite (all_part_cons c o _ l Eo), (object_part_other c o l En). cbn [held who what holder published]. rewrite decide_True by done. rewrite Eh, Z.eqb_refl. by split_and!.
      + rewrite (all_part_cons c o _ l Eo). split; [intros _; exact Ehold|exact Hg].
    - intros k guarded c d0 d m l Hk (Hh & Hoh & Ho & Hnote & Hhold & Hpub) [Hs Hg] Hset Hch Hdm Hm. pose proof (thread_guards_high k guarded Hk) as Hb.
      pose proof (thread_changes_guarded k guarded d0 d Hk Hch) as Hd.
      pose proof (locks_step _ _ _ _ _ _ _ _ HL c RELEASE k (d ∪ m) l ltac:(by right; left) eq_refl) as Hstep. unfold lock_step in Hstep. rewrite Hh in Hstep.
      change (String.eqb RELEASE ACQUIRE) with false in Hstep. change (String.eqb RELEASE RELEASE) with true in Hstep. cbn iota in Hstep. rewrite Z.eqb_refl in Hstep.
      cbn [within andb] in Hstep. rewrite (proj2 (Nat.ltb_lt 0 budget)) in Hstep by done. cbn [cell_data ld_push] in Hstep.
      rewrite (all_guarded_exact k guarded d m Hk Hd Hdm Hm), split_own in Hstep by done. destruct Hstep as (o & El & Eo & _). exists o. split; [done|].
      assert (object_event_of o = None) as En by (eapply other_event_none; [apply Hb|right; by eexists]).
      destruct (other c o l En Hs Hset) as [Hs' Hset'].
      assert (held c (all_part (Event c o :: l)) = ([], 1%nat)) as Eh by (rewrite (all_part_cons c o _ l Eo); cbn [held who what]; rewrite decide_True by done; by rewrite Hh).
      split; [|split; [split; [done|]|done]].
      + apply calm_parts. rewrite (object_part_other c o l En). split_and!; [|done..]. apply alone_with_spec. rewrite few_part_all, (object_part_other c o l En), Eh. split; [done|by left].
      + rewrite (all_part_cons c o _ l Eo). split; [|exact Hg]. intros _. cbn [who]. by rewrite Hpub.
  Qed.
  (** Primitives of the layer below that pass change nothing of this. *)
  Lemma thread_locks_pass c p m l : passes p -> exists v o, lstep L c p m l = Ok v m o /\ calm c (Event c o :: l) = calm c l /\
    (forall k d, busy_with k d c l -> busy_with k d c (Event c o :: l)) /\
    (sound l /\ in_order l -> settled c l -> (sound (Event c o :: l) /\ in_order (Event c o :: l)) /\ settled c (Event c o :: l)).
  Proof using HL other.
    intros Hp. destruct (others_pass _ _ _ _ _ _ _ _ HL c p m l Hp) as (v & o & E & Eo & _). exists v, o. split; [done|].
    assert (object_event_of o = None) as En by (unfold few_event_of; by rewrite Eo).
    assert (all_part (Event c o :: l) = all_part l) as Ea by (unfold lock_part; simpl; by rewrite Eo).
    split_and!.
    - unfold LockEvents.calm, few_alone_of. by rewrite Ea, (object_part_other c o l En).
    - intros k d. unfold busy_with. by rewrite Ea, (object_part_other c o l En).
    - intros [Hs Hg] Hset. destruct (other c o l En Hs Hset) as [Hs' Hset']. rewrite Ea. done.
  Qed.
  (** Nor do events of the objects' locks. *)
  Lemma order_kept c o e l : object_event_of o = Some e -> in_order l -> in_order (Event c o :: l).
  Proof using.
    unfold few_event_of. destruct (lock_event_of o) as [e'|] eqn:Eo; [|done]. cbn [mbind option_bind]. intros He Hg. rewrite (all_part_cons c o e' l Eo). split; [|done]. cbn [what].
    destruct e' as [k|k d|v]; [| |done]; cbn in He; (destruct (Z.ltb_spec k object_locks); [|done]); rewrite no_notification by done; by intros [? ?].
  Qed.
  (** A CPU without locks may show values. *)
  Lemma all_held c l : calm c l = true -> (held c (all_part l)).1 = [].
  Proof using. intros (Hal & Hh & _)%calm_parts. apply alone_with_spec in Hal as [Hal _]. by rewrite few_part_all, Hh in Hal. Qed.
  Lemma shown_kept c v m l o : calm c l = true -> lstep L c (OUT, [v]) m l = Ok 0 m o -> in_order l -> in_order (Event c o :: l).
  Proof using HL.
    intros Hc%all_held El Hg. pose proof (locks_step _ _ _ _ _ _ _ _ HL c OUT v m l ltac:(by right; right; left) eq_refl) as Hstep. unfold lock_step in Hstep.
    destruct (held c (all_part l)) as [ks n]. cbn [fst] in Hc. subst ks. cbn in Hstep. destruct Hstep as (o' & El' & Eo & _). rewrite El in El'. injection El' as <-.
    rewrite (all_part_cons c o _ l Eo). by split; [|exact Hg].
  Qed.
End locks.
