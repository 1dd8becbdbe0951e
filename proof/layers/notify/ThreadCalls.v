(** Threads that signal, poll, watch, open and close notifications.

    They take the lock of a notification, which guards it in order ([notify_guarded]), and leave it so. The state of the CPU stays as it is. No thread waits:
    a signal keeps its bits, and interrupts the processor that watches. *)
From Ashlar Require Export layers.notify.LockCode layers.notify.Guarded layers.sched.cpu.Switch machine.threads.Locking.
Local Opaque gmap_lookup gmap_partial_alter.

(** What a thread may call. *)
Definition notifies (f : string) (args : list Z) : Prop := exists n, 0 <= n < NUM_NOTIFICATION /\
  (f ∈ ["notify_poll"; "notify_pending"; "notify_watch"; "notify_unwatch"; "notify_open"; "notify_close"]%string /\ args = [n] \/ f = "notify_signal"%string /\ exists b, args = [n; b]).

Section calls.
  Context (quiet : cprim -> Prop) (kernel_entry : Z -> Z) (M : module) (this : nat).
  Notation cpu := (Z.of_nat this).
  Context (Hcpu : 0 <= cpu < NUM_CPU) (ours : Z -> Prop) (timer : mem -> Prop).
  Context (HN : forall f fd, notify_module f = Some fd -> M f = Some fd).
  Context (HQ : forall f fd, queue_module f = Some fd -> M f = Some fd).
  Context (HT : forall f fd, thread_module f = Some fd -> M f = Some fd).
  Context (HU : forall f fd, uctx_module f = Some fd -> M f = Some fd).
  Context (HS : forall f fd, records_module f = Some fd -> M f = Some fd).
  Context (HC : M "arch_cpu"%string = None).
  Notation timed := (timed quiet kernel_entry M this).
  Context (sends : forall e c v, timer e -> 0 <= c < NUM_CPU -> timed "intc_send" [c; v] e (fun _ e' => timer e')).
  Context (hands : option mem -> Z -> mem -> Prop) (comes : option mem -> mem -> Prop) (guards : Z -> option (mem -> Prop)) (changes : Z -> mem -> mem -> Prop).
  Context (notes : forall n, 0 <= n < NUM_NOTIFICATION -> guards (lock n) = Some (notify_guarded n)).
  Context (notes_changed : forall n d0 d, 0 <= n < NUM_NOTIFICATION -> notify_changed n d0 d -> changes (lock n) d0 d).
  Notation holds := (State.holds this ours timer).
  Notation does := (does quiet kernel_entry M this ours timer).

  Lemma sends_does c v Y : 0 <= c < NUM_CPU -> does "intc_send" [c; v] Y (fun _ Z => Z = Y).
  Proof using sends.
    intros Hc. apply does_timed; [intros w Z ->; apply later_refl|]. intros d e Ho He Hde. rewrite (map_union_comm d e) by done.
    eapply timed_mono; [|apply timed_frame; [by symmetry|by apply sends]]. cbn beta. intros w m (e' & He' & Hde' & ->).
    exists Y, d, e'. split_and!; [done..|by symmetry|]. by apply map_union_comm.
  Qed.

  Section judgement.
    Context {G : Type} (J : cfg -> G -> Prop) (free : option mem -> G -> Prop) (holding : Z -> mem -> option mem -> G -> Prop).
    Context (HJ : step_closed kernel_entry M this J) (HE : quiet_closed quiet kernel_entry M this J) (HL : lock_closed guards changes J free holding).
    Notation acquires := (acquires J).
    Notation releases := (releases J).
    (** A call that takes the lock, changes the notification, and releases the lock, in a memory [m]. *)
    Lemma with_lock n h m g (K : notification -> (Z -> Z) -> (mem -> Prop) -> G -> Prop) : 0 <= n < NUM_NOTIFICATION -> free h g ->
      (forall x saved d g', notify_idle x -> notify_rep n saved x d -> holding (lock n) d h g' -> K x saved (eq m) g') -> acquires n m g K.
    Proof using HL notes.
      intros Hn Hg HK. apply (proj1 (HL _ _ (notes n Hn)) m h g _ Hg). intros d g' (x & saved & Hx & Hd) Hdm Hg'.
      exists x, saved, (eq m). split; [exists d, m; by split_and!|]. by apply (HK x saved d).
    Qed.
    Lemma lock_given n h m g x y saved d0 (Q : mem -> G -> Prop) : 0 <= n < NUM_NOTIFICATION -> notify_rep n saved x d0 -> holding (lock n) d0 h g -> notify_idle y -> notify_changes x y ->
      (forall g', free h g' -> Q m g') -> releases n saved y (eq m) g Q.
    Proof using HL notes notes_changed.
      intros Hn Hx Hg Hy Hch HQ' m1 (d & m' & -> & Hdm & Hd & <-). apply (proj2 (HL _ _ (notes n Hn)) d0 d m h g); [done| |done|done].
      apply notes_changed; [done|]. by exists x, saved, y, saved.
    Qed.
  End judgement.

  Theorem notify_called f args Y : notifies f args -> exists fd, M f = Some fd /\ length args = fn_params fd /\ forall h w, holds Y w ->
    locking quiet kernel_entry M this hands comes guards changes (fn_body fd) (fun _ h' w' => h' = h /\ holds Y w') (fun _ _ _ => False) (fun _ h' w' => h' = h /\ holds Y w')
      (args ++ replicate (fn_locals fd) 0) h w.
  Proof using HN HQ HT HU HS HC Hcpu sends notes notes_changed.
    intros (n & Hn & Hf).
    assert (exists fd, M f = Some fd /\ length args = fn_params fd) as (fd & HM & Hlen).
    { destruct Hf as [[Hf ->]|[-> [b ->]]]; [|eexists; split; [by apply HN|done]].
      repeat (apply elem_of_cons in Hf as [->|Hf]; [eexists; split; [by apply HN|done]|]). by apply elem_of_nil in Hf. }
    exists fd. split_and!; [done..|]. intros h w Hw G J free holding g rest HJ HE _ HL Hd Hg.
    pose (Q := fun (_ : Z) (m : mem) (g : G) => exists h' d', m = d' ∪ rest /\ d' ##ₘ rest /\ free h' g /\ h' = h /\ holds Y d').
    assert (forall v g', free h g' -> Q v (w ∪ rest) g') as Hback by (intros v g' Hg'; exists h, w; by split_and!).
    assert (entered_until M J f args (w ∪ rest) g Q) as (fd' & HM' & _ & Hbody).
    2: { rewrite HM in HM'. injection HM' as <-. unfold body_wp in Hbody. eapply wp_mono; [| | |exact Hbody]; cbn beta; [done|done|done]. }
    assert (forall (r : notification -> Z) (a : notification -> notification), (forall x, notify_idle x -> notify_idle (a x) /\ notify_changes x (a x)) ->
      acquires J n (w ∪ rest) g (fun x saved F g => releases J n saved (a x) F g (Q (r x)))) as Hone.
    { intros r a Ha. apply (with_lock J free holding HL n h); [exact Hn|exact Hg|]. intros x saved d g' Hx Hd0 Hg'. apply (lock_given J free holding HL n h _ _ x (a x) saved d); [exact Hn|exact Hd0|exact Hg'|by apply Ha|by apply Ha|]. intros g2 Hg2. by apply Hback. }
    destruct Hf as [[Hf ->]|[-> [b ->]]].
    - repeat (apply elem_of_cons in Hf as [->|Hf]); [..|by apply elem_of_nil in Hf].
      + apply (notify_poll_until quiet kernel_entry M this HN J HJ HE n); [exact Hn|]. apply (Hone notify.Spec.pending notify_taken). intros x Hx.
        split; [by apply idle_taken|]. right; left. exists [], [notify.Spec.pending x]. apply polls.
      + apply (notify_pending_until quiet kernel_entry M this HN J HJ HE n); [exact Hn|]. apply (Hone (fun x => Z.b2z (is_pending x)) (fun x => x)). intros x Hx. split; [done|by left].
      + apply (notify_watch_until quiet kernel_entry M this HN HC J HJ HE n); [exact Hn|]. apply (Hone (fun x => Z.b2z (is_pending x))). intros x Hx.
        split; [apply idle_watched; [done|by right]|]. right; left. exists [], []. apply watches.
      + apply (notify_unwatch_until quiet kernel_entry M this HN J HJ HE n); [exact Hn|]. apply (Hone (fun _ => 0)). intros x Hx.
        split; [apply idle_watched; [done|by left]|]. right; left. exists [], []. apply watches.
      + apply (notify_open_until quiet kernel_entry M this HN J HJ HE n); [exact Hn|]. apply (Hone (fun _ => 0)). intros x Hx. split; [by apply idle_reborn|]. right; right. by exists true.
      + apply (notify_close_until quiet kernel_entry M this HN J HJ HE n); [exact Hn|]. apply (Hone (fun _ => 0)). intros x Hx. split; [by apply idle_reborn|]. right; right. by exists false.
    - apply (notify_signal_until quiet kernel_entry M this HN HQ HT HU HS HC J HJ HE n); [exact Hn|]. unfold gives. apply (with_lock J free holding HL n h); [exact Hn|exact Hg|]. intros x saved d g' Hx Hd0 Hg'.
      destruct Hx as [El Hwatch]. rewrite El. unfold keeps. apply (lock_given J free holding HL n h _ _ x _ saved d); [exact Hn|exact Hd0|exact Hg'|by apply idle_kept| |].
      { right; left. exists [b], []. pose proof (signals x b) as Hs. unfold notify_signalled in Hs. by rewrite El in Hs. } intros g2 Hg2.
      unfold interrupts. destruct (opened x && negb (watcher x =? NONE) && negb (watcher x =? cpu)) eqn:E.
      + apply andb_true_iff in E as [[_ E%negb_true_iff%Z.eqb_neq]%andb_true_iff _].
        pose proof (sends_does (watcher x) VECTOR_RESCHEDULE Y ltac:(by destruct Hwatch) w Hw G J g2 rest) as Hs. apply Hs; [exact HJ|exact HE|exact Hd|].
        intros v w' (Z & -> & Hw' & _) Hd'. rewrite Z.eqb_refl. by exists h, w'.
      + rewrite Z.eqb_refl. by apply Hback.
  Qed.
End calls.
