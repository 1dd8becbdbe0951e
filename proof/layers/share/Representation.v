(** Shares: cells and states determine each other; a store to a field is an update of the state. *)
From Ashlar Require Export layers.share.Invariant layers.share.Code lang.logic.Owned.
Local Opaque gmap_lookup gmap_partial_alter.

(** Share [x] with one field replaced. *)
Definition put (field : string) (v : Z) (x : share) : share :=
  Share
    (if String.eqb field "from" then v else from x)
    (if String.eqb field "to" then v else to x)
    (if String.eqb field "offered" then v else offered x)
    (if String.eqb field "accepted" then v else accepted x).

Lemma field_cases field : field ∈ share_fields ->
  field = "from"%string \/ field = "to"%string \/ field = "offered"%string \/ field = "accepted"%string.
Proof. unfold share_fields. rewrite !elem_of_cons, elem_of_nil. tauto. Qed.

Lemma rep_put s (d : mem) i x field v : share_rep s d -> shares s !! i = Some x -> field ∈ share_fields ->
  share_rep (Shares (<[i := put field v x]> (shares s)) (offers s)) (<[share_cell i field := v]> d).
Proof.
  intros (Hi & Hp & Hx & Hs & Ho) Hix Hf. assert (Hid : 0 <= i < NUM_SHARE) by (apply Hi; eauto).
  split_and!; cbn [shares offers].
  - intros j. rewrite <- Hi. rewrite lookup_insert_is_Some. destruct (decide (i = j)) as [<-|]; [|naive_solver].
    split; [intros _; eauto|by left].
  - done.
  - apply exactly_write; [done|]. left. by exists i, field.
  - intros j y. destruct (decide (i = j)) as [<-|Hne].
    + rewrite lookup_insert. intros [= <-]. destruct (Hs i x Hix) as (R1 & R2 & R3 & R4).
      unfold share_is, share_cell, put in *.
      destruct (field_cases field Hf) as [->|[->|[->| ->]]]; simpl;
        rewrite ?own_lookup; rewrite ?own_lookup_ne by congruence; done.
    + rewrite lookup_insert_ne by done. intros Hy. pose proof (Hs j y Hy) as R. unfold share_is, share_cell in *.
      rewrite !own_lookup_ne by congruence. done.
  - intros p n Hn. unfold share_cell, offers_cell in *. rewrite own_lookup_ne by congruence. by apply Ho.
Qed.

Lemma rep_count s (d : mem) p n v : share_rep s d -> offers s !! p = Some n ->
  share_rep (Shares (shares s) (<[p := v]> (offers s))) (<[offers_cell p := v]> d).
Proof.
  intros (Hi & Hp & Hx & Hs & Ho) Hn. assert (Hid : 0 <= p < NUM_PROCESS) by (apply Hp; eauto).
  split_and!; cbn [shares offers].
  - done.
  - intros q. rewrite <- Hp. rewrite lookup_insert_is_Some. destruct (decide (p = q)) as [<-|]; [|naive_solver].
    split; [intros _; eauto|by left].
  - apply exactly_write; [done|]. right. by exists p.
  - intros j y Hy. pose proof (Hs j y Hy) as R. unfold share_is, share_cell, offers_cell in *.
    rewrite !own_lookup_ne by congruence. done.
  - intros q k. destruct (decide (p = q)) as [<-|Hne].
    + rewrite lookup_insert. intros [= <-]. apply own_lookup.
    + rewrite lookup_insert_ne by done. intros Hk. unfold offers_cell in *. rewrite own_lookup_ne by congruence.
      by apply Ho.
Qed.

Lemma read_share s (d : mem) i x : share_rep s d -> shares s !! i = Some x -> share_is d i x.
Proof. intros (_ & _ & _ & H & _). apply H. Qed.
Lemma read_count s (d : mem) p n : share_rep s d -> offers s !! p = Some n -> d !! offers_cell p = Some n.
Proof. intros (_ & _ & _ & _ & H). apply H. Qed.

Theorem share_rep_state s s' (d : mem) : share_rep s d -> share_rep s' d -> s = s'.
Proof.
  intros (Hi & Hp & _ & Hs & Ho) (Hi' & Hp' & _ & Hs' & Ho'). destruct s as [m n], s' as [m' n']. simpl in *. f_equal.
  - apply map_eq. intros i. destruct (m !! i) as [x|] eqn:E, (m' !! i) as [y|] eqn:E'.
    + destruct (Hs i x E) as (A1 & A2 & A3 & A4), (Hs' i y E') as (B1 & B2 & B3 & B4).
      destruct x, y; simpl in *. congruence.
    + assert (is_Some (m' !! i)) as [? ?] by (apply Hi', Hi; eauto). congruence.
    + assert (is_Some (m !! i)) as [? ?] by (apply Hi, Hi'; eauto). congruence.
    + done.
  - apply map_eq. intros p. destruct (n !! p) as [x|] eqn:E, (n' !! p) as [y|] eqn:E'.
    + pose proof (Ho p x E). pose proof (Ho' p y E'). congruence.
    + assert (is_Some (n' !! p)) as [? ?] by (apply Hp', Hp; eauto). congruence.
    + assert (is_Some (n !! p)) as [? ?] by (apply Hp, Hp'; eauto). congruence.
    + done.
Qed.

Theorem share_rep_cells s (d d' : mem) : share_rep s d -> share_rep s d' -> d = d'.
Proof.
  intros (Hi & Hp & Hx & Hs & Ho) (_ & _ & Hx' & Hs' & Ho'). apply own_eq. intros y.
  destruct (d !! y) as [v|] eqn:E.
  - assert (share_cells y) as [(i & field & Hid & Hf & ->)|(p & Hid & ->)] by (apply Hx; eauto).
    + assert (is_Some (shares s !! i)) as [x Hsi] by (by apply Hi).
      destruct (Hs i x Hsi) as (A1 & A2 & A3 & A4), (Hs' i x Hsi) as (B1 & B2 & B3 & B4).
      destruct (field_cases field Hf) as [->|[->|[->| ->]]]; congruence.
    + assert (is_Some (offers s !! p)) as [n Hn] by (by apply Hp). rewrite (Ho p n Hn) in E. rewrite (Ho' p n Hn). congruence.
  - destruct (d' !! y) as [v|] eqn:E'; [|done].
    assert (is_Some (d !! y)) as [? ?] by (apply Hx, Hx'; eauto). congruence.
Qed.
