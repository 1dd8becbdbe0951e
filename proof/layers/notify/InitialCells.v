(** A notification that is not defined yet: there is memory that its lock may guard. *)
From Ashlar Require Export layers.notify.Guarded lang.logic.Memory.
Local Opaque gmap_lookup gmap_partial_alter.

Definition note_contents (x : cell) : Z := let '(_, _, f, _) := x in if existsb (String.eqb f) ["waiter"; "watcher"; "first"; "last"]%string then NONE else 0.
Definition note_memory (n : Z) : mem := memory note_contents (notify_cells n).
Theorem note_memory_guarded n : 0 <= n < NUM_NOTIFICATION -> notify_guarded n (note_memory n).
Proof.
  intros Hn. exists notify_new, (fun _ => 0). split; [split; [done|by left]|]. split; [apply notify_new_valid|].
  assert (forall x, x ∈ notify_cells n -> note_memory n !! x = Some (note_contents x)) as Hin by (intros x; apply memory_in).
  apply (both_cut _ _ (field_cell "notification" n <$> (fields notify_new).*1) [queue_first (queue_id n); queue_last (queue_id n)]).
  - intros x. rewrite <- elem_of_app. apply memory_dom.
  - intros x (f & -> & _)%elem_of_list_fmap. rewrite !elem_of_cons, elem_of_nil. unfold field_cell, queue_first, queue_last. intros [E|[E|[]]]; discriminate E.
  - apply fields_cut. apply Forall_forall. intros [f v] Hf. cbn [fst snd]. rewrite Hin.
    + cbn in Hf. repeat (apply elem_of_cons in Hf as [[= -> ->]|Hf]; [done|]). by apply elem_of_nil in Hf.
    + apply elem_of_app. left. apply elem_of_list_fmap. exists f. split; [done|]. apply elem_of_list_fmap. by exists (f, v).
  - apply with_nothing. cbn [waiters notify_new].
    assert (forall x, x ∈ [queue_first (queue_id n); queue_last (queue_id n)] -> restrict [queue_first (queue_id n); queue_last (queue_id n)] (note_memory n) !! x = Some NONE) as Hq.
    { intros x Hx. rewrite restrict_in by done. rewrite Hin by (apply elem_of_app; by right). by apply elem_of_cons in Hx as [->|Hx]; [|apply elem_of_list_singleton in Hx as ->]. }
    pose proof (lookup_singleton_Some (M := gmap Z) (queue_id n) : forall j (x y : list Z), _) as Hl.
    split; [|split; [|split]].
    + apply queue_valid_intro; cbn [queue_lists queue_free line tail].
      * intros q l [<- _]%Hl. unfold queue_id, QUEUE_NOTIFICATION_BASE, NUM_NOTIFICATION, NUM_QUEUE in *. lia.
      * intros q l [_ <-]%Hl. constructor.
      * intros q l t [_ <-]%Hl Ht. by apply elem_of_nil in Ht.
      * intros q q' l l' t [_ <-]%Hl _ Ht. by apply elem_of_nil in Ht.
      * intros t Ht. by apply elem_of_empty in Ht.
    + intros x. unfold queue_cells, line. cbn [queue_lists tail]. split.
      * intros [v Hv]. destruct (decide (x ∈ [queue_first (queue_id n); queue_last (queue_id n)])) as [Hx|Hx]; [|by rewrite restrict_out in Hv].
        left. exists (queue_id n). split; [exists []; apply (lookup_singleton (M := gmap Z))|]. rewrite !elem_of_cons, elem_of_nil in Hx. tauto.
      * intros [(q & [l [<- _]%Hl] & Hc)|(t & Ht & _)]; [eexists; apply Hq; rewrite !elem_of_cons; tauto|].
        destruct Ht as [Ht|(q & l & [_ <-]%Hl & Ht)]; [by apply elem_of_empty in Ht|by apply elem_of_nil in Ht].
    + intros q l [<- <-]%Hl. split; [apply Hq; by left|]. split; [apply Hq; by right; left|done].
    + intros t Ht. by apply elem_of_empty in Ht.
Qed.
