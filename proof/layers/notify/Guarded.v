(** What the lock of a notification guards, where no thread waits: its cells, in a state that start-up or a call has left. *)
From Ashlar Require Export layers.notify.Waiters layers.notify.History.
Local Opaque gmap_lookup gmap_partial_alter.

(** No thread waits, and who watches is a processor. *)
Definition notify_idle (x : notification) : Prop := waiters x = [] /\ (watcher x = NONE \/ 0 <= watcher x < NUM_CPU).
Definition notify_guarded (n : Z) (d : mem) : Prop := exists x saved, notify_idle x /\ notify_rep n saved x d.

(** Which cells these are. *)
Definition notify_cells (n : Z) : list cell := (field_cell "notification" n <$> (fields notify_new).*1) ++ [queue_first (queue_id n); queue_last (queue_id n)].
Lemma notify_guarded_cells n d : notify_guarded n d -> exactly (fun x => x ∈ notify_cells n) d.
Proof.
  intros (x & saved & [Hl _] & _ & d1 & d2 & -> & Hd & [Hf _] & H2). rewrite Hl in H2. apply alone in H2 as (_ & Hq & _). intros y.
  etransitivity; [apply lookup_union_is_Some|]. rewrite (Hf y), (Hq y). unfold notify_cells. rewrite elem_of_app. apply or_iff_compat_l.
  rewrite !elem_of_cons, elem_of_nil. unfold queue_cells, line. cbn [queue_lists tail]. split.
  - intros [(q & [l Hq'] & Hc)|(t & Ht & _)].
    + apply (lookup_singleton_Some (M := gmap Z)) in Hq' as [<- _]. tauto.
    + destruct Ht as [Ht|(q & l & Hq' & Ht)]; [by apply elem_of_empty in Ht|]. cbn [queue_lists] in Hq'. apply (lookup_singleton_Some (M := gmap Z)) in Hq' as [_ <-]. by apply elem_of_nil in Ht.
  - intros [->|[->|[]]]; left; exists (queue_id n); (split; [exists []; apply (lookup_singleton (M := gmap Z))|tauto]).
Qed.

(** What calls make of it. *)
Lemma idle_taken x : notify_idle x -> notify_idle (notify_taken x).
Proof. done. Qed.
Lemma idle_watched x c : notify_idle x -> c = NONE \/ 0 <= c < NUM_CPU -> notify_idle (set_watcher c x).
Proof. by intros [Hl _]. Qed.
Lemma idle_reborn x o : notify_idle x -> notify_idle (notify_reborn x o).
Proof. intros [Hl _]. split; [done|by left]. Qed.
Lemma idle_kept x b : notify_idle x -> notify_idle (notify_kept x b).
Proof. unfold notify_kept. by destruct (opened x). Qed.

(** What a thread that takes the lock may make of it: what signals, polls and watches make, or a life begins or ends. *)
Definition notify_changes (x y : notification) : Prop := y = x \/ (exists signalled given, happens x signalled given y) \/ exists o, y = notify_reborn x o.
Definition notify_changed (n : Z) (d0 d : mem) : Prop := exists x saved y saved', notify_rep n saved x d0 /\ notify_rep n saved' y d /\ notify_idle y /\ notify_changes x y.
Lemma notify_changed_guarded n d0 d : notify_changed n d0 d -> notify_guarded n d.
Proof. intros (x & saved & y & saved' & _ & H & Hy & _). by exists y, saved'. Qed.
