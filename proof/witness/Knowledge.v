(** A client that keeps the requirements, I: what a CPU may do, and what it knows.

    CPU [c] works for two processes, [mine c] and [helper c]. It changes no container but theirs and the root's, no frame
    that another owns, no page map but [mine c]'s, and no share but number [c], which is from the one to the other. So of
    its processes' containers, of their frames, of the page map and of the share it knows all, whatever the other CPUs do. *)
From Ashlar Require Export layers.Top witness.Script layers.frame.table.OwnerCount.
From Ashlar Require Export layers.pagemap.spec.Guarantees.

Definition mine (c : nat) : Z := 2 * Z.of_nat c.
Definition helper (c : nat) : Z := 2 * Z.of_nat c + 1.
Definition own_share (c : nat) : Z := Z.of_nat c.
Definition works (c : nat) (q : Z) : Prop := q = mine c \/ q = helper c.
Definition works_mask (c : nat) (m : Z) : bool := Z.testbit m (mine c) || Z.testbit m (helper c).

(** The owners of a frame that one of CPU [c]'s processes owns, and whether it is private. *)
Definition slice (c : nat) (s : frame_memory) (f : Z) : option (Z * bool) :=
  match owners (table s) !! f with
  | Some m => if works_mask c m then Some (m, bool_decide (f ∈ private s)) else None
  | None => None
  end.
(** Such owners are CPU [c]'s processes alone. *)
Definition own_mask (c : nat) (m : Z) : Prop := m = only (mine c) \/ m = only (helper c) \/ m = Z.lor (only (mine c)) (only (helper c)).
Notation frames_known := (gmap Z (Z * bool)).

Definition may (c : nat) (k : Z) (st st' : option kernel_state) : Prop :=
  match st, st' with
  | Some (ContainersState s), Some (ContainersState s') => forall q, q <> ROOT -> ~ works c q -> s' !! q = s !! q
  | Some (FrameMemoryState s), Some (FrameMemoryState s') => forall c' f, c' <> c -> slice c' s' f = slice c' s f
  | Some (ProcessMapState s), Some (ProcessMapState s') => k = LOCK_PAGEMAP_BASE + mine c \/ s' = s
  | Some (SharesState s), Some (SharesState s') =>
      (forall i, i <> own_share c -> share.Spec.shares s' !! i = share.Spec.shares s !! i) /\
      (forall i, from <$> share.Spec.shares s' !! i = from <$> share.Spec.shares s !! i)
  | _, _ => False
  end.

(** ** How many frames a process owns *)
Definition one_owned (q : Z) (x : Z * bool) : Z := if Z.testbit x.1 q then 1 else 0.
Definition count (q : Z) (F : frames_known) : Z := map_fold (fun _ x n => one_owned q x + n) 0 F.
Lemma count_add q F f x : F !! f = None -> count q (<[f := x]> F) = one_owned q x + count q F.
Proof. intros Hf. apply (map_fold_insert_L (fun _ x n => one_owned q x + n)); [|done]. intros. lia. Qed.
Lemma count_delete q F f x : F !! f = Some x -> count q F = one_owned q x + count q (delete f F).
Proof. intros Hf. rewrite <- (insert_delete F f x Hf) at 1. apply count_add, lookup_delete. Qed.
Lemma count_change q F f x y : F !! f = Some x -> count q (<[f := y]> F) = count q F - one_owned q x + one_owned q y.
Proof.
  intros Hf. rewrite (count_delete q F f x Hf), <- insert_delete_insert, count_add by apply lookup_delete. lia.
Qed.
Lemma one_owned_range q x : 0 <= one_owned q x <= 1.
Proof. unfold one_owned. destruct (Z.testbit _ _); lia. Qed.
Lemma count_nonnegative q F : 0 <= count q F.
Proof. unfold count. apply (map_fold_ind (fun n _ => 0 <= n)); [done|]. intros i x m r _ Hr. pose proof (one_owned_range q x). lia. Qed.

(** ** Masks *)
Section masks.
  Context (c : nat).
  Lemma works_nonneg q : works c q -> 0 <= q.
  Proof. unfold works, mine, helper. lia. Qed.
  Lemma works_other c' q : c' <> c -> works c q -> ~ works c' q.
  Proof. unfold works, mine, helper. lia. Qed.
  Lemma only_bit q r : 0 <= q -> Z.testbit (only q) r = (q =? r).
  Proof. intros Hq. unfold only. by apply Z.pow2_bits_eqb. Qed.
  Lemma own_mask_bit m r : own_mask c m -> Z.testbit m r = true -> works c r.
  Proof.
    unfold works. intros [-> |[-> | ->]]; rewrite ?Z.lor_spec, !only_bit by (unfold mine, helper; lia); lia.
  Qed.
  Lemma own_mask_works m : own_mask c m -> works_mask c m = true.
  Proof.
    unfold works_mask. intros [-> |[-> | ->]]; rewrite ?Z.lor_spec, !only_bit by (unfold mine, helper; lia);
      rewrite ?Z.eqb_refl; by rewrite ?orb_true_r.
  Qed.
  Lemma own_mask_other c' m : c' <> c -> own_mask c m -> works_mask c' m = false.
  Proof.
    intros Hc Hm. apply not_true_is_false. unfold works_mask. intros [H|H]%orb_true_iff; apply (own_mask_bit _ _ Hm) in H;
      unfold works, mine, helper in H; lia.
  Qed.
  Lemma own_mask_only q : works c q -> own_mask c (only q).
  Proof. intros [-> | ->]; unfold own_mask; auto. Qed.
  Lemma own_mask_add m q : own_mask c m -> works c q -> own_mask c (Z.lor m (only q)).
  Proof.
    unfold own_mask. intros [-> |[-> | ->]] [-> | ->]; rewrite ?Z.lor_diag; auto.
    all: right; right; apply Z.bits_inj'; intros r _; rewrite !Z.lor_spec; by destruct (Z.testbit (only (mine c)) r), (Z.testbit (only (helper c)) r).
  Qed.
  Lemma own_mask_remove m q : own_mask c m -> works c q -> Z.testbit m q = true -> m <> only q -> own_mask c (Z.ldiff m (only q)).
  Proof.
    assert (Hd : mine c <> helper c) by (unfold mine, helper; lia).
    assert (H1 : 0 <= mine c) by (unfold mine; lia). assert (H2 : 0 <= helper c) by (unfold helper; lia).
    assert (Hlor : forall a b, 0 <= a -> 0 <= b -> a <> b -> Z.ldiff (Z.lor (only a) (only b)) (only a) = only b).
    { intros a b Ha Hb Hab. apply Z.bits_inj'. intros r Hr. rewrite Z.ldiff_spec, Z.lor_spec, !only_bit by done.
      destruct (Z.eqb_spec a r), (Z.eqb_spec b r); try done. congruence. }
    intros Hm Hq Hb Hne. destruct Hm as [-> |[-> | ->]], Hq as [-> | ->]; try done;
      try (rewrite only_bit in Hb by done; lia); unfold own_mask.
    - right. left. by apply Hlor.
    - left. rewrite Z.lor_comm. apply Hlor; [done|done|congruence].
  Qed.
End masks.

Section knowledge.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation states := (states X).
  Notation changed := (changed X).
  Notation stable := (stable X may).
  Context (c : nat).

  (** ** What a CPU can know of each object *)
  Definition sees_containers (m : gmap Z container) (st : states) : Prop :=
    exists s, st LOCK_CONTAINER = Some (ContainersState s) /\ forall q, works c q -> s !! q = m !! q.
  Definition sees_frames (F : frames_known) (st : states) : Prop :=
    exists s, st LOCK_FRAME = Some (FrameMemoryState s) /\ forall f, slice c s f = F !! f.
  Definition sees_map (s : page_map) (st : states) : Prop := st (LOCK_PAGEMAP_BASE + mine c) = Some (ProcessMapState s).
  Definition sees_share (x : share) (st : states) : Prop :=
    exists s, st LOCK_SHARE = Some (SharesState s) /\ share.Spec.shares s !! own_share c = Some x /\
      forall i y, share.Spec.shares s !! i = Some y -> works c (from y) -> i = own_share c.

  Lemma changed_eq (st : states) k s : changed st k s k = s.
  Proof. unfold TopTotal.changed. by rewrite Z.eqb_refl. Qed.
  Lemma changed_ne (st : states) k k' s : k <> k' -> changed st k s k' = st k'.
  Proof. intros Hk. unfold TopTotal.changed. by rewrite (proj2 (Z.eqb_neq k k')). Qed.

  Context (not_root : mine c < NUM_PROCESS - 1).
  Lemma works_range q : works c q -> 0 <= q < NUM_PROCESS.
  Proof using not_root. unfold works, mine, helper in *. lia. Qed.
  Lemma works_not_root q : works c q -> q <> ROOT.
  Proof using not_root. intros H%works_range. unfold ROOT. lia. Qed.
  Lemma sees_containers_stable a m : stable c a (sees_containers m).
  Proof using not_root.
    intros st c' k s' Hne _ _ Hm (s & Hs & Hx). unfold sees_containers. destruct (decide (k = LOCK_CONTAINER)) as [->|Hk].
    2: { exists s. by rewrite changed_ne. }
    rewrite Hs in Hm. simpl in Hm. destruct s' as [[s'| | | | |]|]; try done. exists s'. split; [apply changed_eq|].
    intros q Hq. rewrite Hm; [by apply Hx|by apply works_not_root|]. eapply works_other; [|exact Hq]. done.
  Qed.
  Lemma sees_frames_stable a F : stable c a (sees_frames F).
  Proof using.
    intros st c' k s' Hne _ _ Hm (s & Hs & Hx). unfold sees_frames. destruct (decide (k = LOCK_FRAME)) as [->|Hk].
    2: { exists s. by rewrite changed_ne. }
    rewrite Hs in Hm. simpl in Hm. destruct s' as [[|s'| | | |]|]; try done. exists s'. split; [apply changed_eq|].
    intros f. rewrite Hm; [apply Hx|done].
  Qed.
  Lemma sees_map_stable a s : stable c a (sees_map s).
  Proof using.
    intros st c' k s' Hne _ _ Hm Hs. unfold sees_map in *. destruct (decide (k = LOCK_PAGEMAP_BASE + mine c)) as [->|Hk].
    2: { by rewrite changed_ne. }
    rewrite Hs in Hm. simpl in Hm. destruct s' as [[| |s'| | |]|]; try done. rewrite changed_eq.
    destruct Hm as [Hm| ->]; [|done]. unfold mine in Hm. lia.
  Qed.
  Lemma sees_share_stable a x : stable c a (sees_share x).
  Proof using.
    intros st c' k s' Hne _ _ Hm (s & Hs & Hx & Hf). unfold sees_share. destruct (decide (k = LOCK_SHARE)) as [->|Hk].
    2: { exists s. by rewrite changed_ne. }
    rewrite Hs in Hm. simpl in Hm. destruct s' as [[| | |s'| |]|]; try done. destruct Hm as [Hm1 Hm2].
    exists s'. split; [apply changed_eq|]. split; [rewrite Hm1; [done|unfold own_share; lia]|].
    intros i y Hi Hw. specialize (Hm2 i). rewrite Hi in Hm2. simpl in Hm2. destruct (share.Spec.shares s !! i) as [z|] eqn:Ez; [|done].
    injection Hm2 as Hm2. apply (Hf i z Ez). by rewrite <- Hm2.
  Qed.

  (** ** Containers and frames, and what else is known, which their changes leave alone *)
  Definition indifferent (R : states -> Prop) : Prop :=
    forall st k s, k = LOCK_CONTAINER \/ k = LOCK_FRAME -> R st -> R (changed st k s).
  Definition K (m : gmap Z container) (F : frames_known) (R : states -> Prop) (st : states) : Prop :=
    sees_containers m st /\ sees_frames F st /\ R st.
  Lemma K_stable a m F R : stable c a R -> stable c a (K m F R).
  Proof using not_root.
    intros HR st c' k s H1 H2 H3 H4 (Hm & Hf & Hr). split; [by eapply sees_containers_stable|].
    split; [by eapply sees_frames_stable|by eapply HR].
  Qed.
  Lemma stable_same_held a a' R : same_held X a a' -> stable c a R -> stable c a' R.
  Proof using. intros Hs HR st c' k s H1 H2 H3. apply HR; [done|done|by apply Hs]. Qed.
  Lemma and_stable a (K1 K2 : states -> Prop) : stable c a K1 -> stable c a K2 -> stable c a (fun st => K1 st /\ K2 st).
  Proof using. intros H1 H2 st c' k s A1 A2 A3 A4 [B1 B2]. split; [by eapply H1|by eapply H2]. Qed.

  (** Outside of transactions. *)
  Definition home_knows (s : page_map) (x : share) (st : states) : Prop := sees_map s st /\ sees_share x st.
  Lemma home_knows_stable a s x : stable c a (home_knows s x).
  Proof using. apply and_stable; [apply sees_map_stable|apply sees_share_stable]. Qed.
  Lemma home_knows_indifferent s x : indifferent (home_knows s x).
  Proof using.
    intros st k s' Hk [Hm (s0 & Hs)]. split.
    - unfold sees_map in *. rewrite changed_ne; [done|]. unfold LOCK_PAGEMAP_BASE, LOCK_CONTAINER, LOCK_FRAME, mine in *. lia.
    - exists s0. rewrite changed_ne; [done|]. by destruct Hk as [-> | ->].
  Qed.

  (** Each process of the CPU is charged for its frames, and [mine c] for [d] more, that are not allocated. *)
  Definition books (d : Z) (m : gmap Z container) (F : frames_known) : Prop :=
    (forall q, works c q -> exists x, m !! q = Some x /\ count q F + (if q =? mine c then d else 0) <= usage x - granted x /\
       (exists_ x = true -> parent x = ROOT)) /\
    (forall f m b, F !! f = Some (m, b) -> own_mask c m /\ 0 <= f < NUM_FRAME).
  (** The page map's tables are private frames of [mine c], and the pages that are its own are frames of it alone, each mapped
      once. *)
  Definition fits (s : page_map) (F : frames_known) : Prop :=
    (forall k f, tables s !! k = Some f -> F !! f = Some (only (mine c), true)) /\
    (forall n e, leaves s !! n = Some e -> has e ARCH_PTE_OWNED = true -> F !! entry_frame e = Some (only (mine c), false)) /\
    owned_once s.
End knowledge.
