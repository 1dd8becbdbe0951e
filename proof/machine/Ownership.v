(** Lemma 2: from shared memory to local copies with ownership.

    The ownership machine is the machine of [calculus/logs/Machine.v] over a layer in which primitives transfer the ownership of cells:
    each CPU has a copy of the cells it owns and works on nothing else; a pull hands it the cells that a lock guards, a
    push takes them back and writes their values to the log. Whatever programs never go wrong there may run on the shared
    memory: they do not go wrong, and they do nothing that they cannot do with local copies.

    The invariant ([agrees]): each CPU's copy agrees with the shared memory on the cells it owns, so does what a lock has
    published while no CPU owns it, and all of these are pairwise disjoint. *)
From Ashlar Require Export machine.Scheduler.
From stdpp Require Import fin_map_dom.

(** ** Layers that transfer the ownership of cells *)

(** [ofree k l]: no CPU owns what lock [k] guards. [opublished k l]: its cells, with the values published last. [omark]:
    what an event leaves of itself on the hardware. [ocells l]: the atomic cells, replayed from the log. *)
Record ownership {PRIM} (H : hardware PRIM) := Ownership {
  olayer : layer PRIM mem;
  ofree : Z -> log olayer -> Prop;
  opublished : Z -> log olayer -> mem;
  omark : lop olayer -> hmark H;
  ocells : log olayer -> hcells H;
}.
Arguments olayer {_ _}. Arguments ofree {_ _}. Arguments opublished {_ _}. Arguments omark {_ _}. Arguments ocells {_ _}.

Section exchange.
  Context {PRIM : Type} {H : hardware PRIM} (O : ownership H).
  Notation L := (olayer O).

  (** What an event [e] after [l] may do to the memory of its CPU: [m] becomes [m']. *)
  Inductive exchange (e : event (lop L)) (l : log L) (m m' : mem) : Prop :=
  | exchange_none : m' = m ->
      (forall k, ofree O k (e :: l) -> ofree O k l /\ opublished O k (e :: l) = opublished O k l) -> exchange e l m m'
  | exchange_pull k : ofree O k l -> m' = opublished O k l ∪ m ->
      (forall k', ofree O k' (e :: l) -> k' <> k /\ ofree O k' l /\ opublished O k' (e :: l) = opublished O k' l) ->
      exchange e l m m'
  | exchange_push k d : m = d ∪ m' -> d ##ₘ m' ->
      (forall k', ofree O k' (e :: l) ->
        k' = k /\ opublished O k' (e :: l) = d \/
        k' <> k /\ ofree O k' l /\ opublished O k' (e :: l) = opublished O k' l) ->
      exchange e l m m'.

  Record ownership_ok : Prop := {
    ok_start : ocells O [] = hinit H;
    ok_step c p m l v m' o : lstep L c p m l = Ok v m' o ->
      hstep H p (ocells O l) = Some (v, ocells O (Event c o :: l), omark O o) /\ exchange (Event c o) l m m';
    ok_blocked c p m l : lstep L c p m l <> Blocked;
  }.

  (** A log as the hardware shows it: without the values of ordinary cells. *)
  Definition erase : log L -> list (event (hmark H)) := fmap (fun e => Event (who e) (omark O (what e))).
End exchange.

Section local_copies.
  Context {PRIM : Type} (ncpu : nat) {H : hardware PRIM} {A : agent PRIM mem} (S : shareable A).
  Context (fairness : nat -> list (event (hmark H)) -> Prop) (m0 : mem) (P : nat -> ast A).
  Context (O : ownership H) (OK : ownership_ok O).
  Notation L := (olayer O).
  Notation multicore := (multicore H (A:=A)).

  (** The layer's scheduler assumption is one about the hardware. *)
  Definition fairness_ok : Prop := forall c l, fairness c (erase O l) -> lsched L c l.

  (** All pieces, owned by CPUs or published, lie in the shared memory and are disjoint. *)
  Record all_disjoint (m : mem) (l : log L) (f : nat -> ast A) : Prop := {
    disjoint_own c : (c < ncpu)%nat -> amem A (f c) ⊆ m;
    disjoint_free k : ofree O k l -> opublished O k l ⊆ m;
    disjoint_own_own c c' : (c < ncpu)%nat -> (c' < ncpu)%nat -> c <> c' -> amem A (f c) ##ₘ amem A (f c');
    disjoint_own_free c k : (c < ncpu)%nat -> ofree O k l -> amem A (f c) ##ₘ opublished O k l;
    disjoint_free_free k k' : k <> k' -> ofree O k l -> ofree O k' l -> opublished O k l ##ₘ opublished O k' l;
  }.

  Record agrees (g : multicore) (s : state L A) : Prop := {
    agrees_log : mlog g = erase O (glog s);
    agrees_cells : mcells g = ocells O (glog s);
    agrees_agent c : (c < ncpu)%nat -> forall m, aput S (magent g c) m = aput S (gagent s c) m;
    agrees_disjoint : all_disjoint (mmem g) (glog s) (gagent s);
  }.

  (** The cells are dealt out at the start. *)
  Definition dealt : Prop := all_disjoint m0 [] P.

  Lemma agrees_start : dealt -> agrees (multicore_start H m0 P) (State [] P).
  Proof using OK. intros Hd. split; simpl; [done|by rewrite (ok_start _ OK)|done|done]. Qed.

  Lemma split_rest (m d : mem) : d ⊆ m -> exists rest, m = d ∪ rest /\ d ##ₘ rest.
  Proof.
    intros Hd. exists (m ∖ d). split; [symmetry; by apply map_difference_union|by apply map_disjoint_difference_r].
  Qed.
  Lemma sub_rest (x d rest : mem) : x ⊆ d ∪ rest -> x ##ₘ d -> d ##ₘ rest -> x ⊆ rest.
  Proof.
    intros Hx Hd Hr. apply map_subseteq_spec. intros i v Hi. pose proof (lookup_weaken _ _ _ _ Hi Hx) as Hv.
    apply lookup_union_Some in Hv as [Hv|Hv]; [|done|done].
    pose proof (map_disjoint_Some_l _ _ _ _ Hd Hi) as Hn. by simplify_eq.
  Qed.
  Lemma disjoint_dom (x d d' : mem) : dom d' =@{gset cell} dom d -> d ##ₘ x -> d' ##ₘ x.
  Proof.
    intros Hd Hx. apply (map_disjoint_dom (M:=gmap cell) (D:=gset cell)) in Hx.
    apply (map_disjoint_dom (M:=gmap cell) (D:=gset cell)). unfold mem in *. by rewrite Hd.
  Qed.

  (** A CPU's private step on its own cells. *)
  Lemma disjoint_private d rest d' l f c s : (c < ncpu)%nat -> d ##ₘ rest -> amem A (f c) = d -> amem A s = d' ->
    dom d' =@{gset cell} dom d -> all_disjoint (d ∪ rest) l f -> all_disjoint (d' ∪ rest) l (update A f c s).
  Proof.
    intros Hc Hdr Hfd <- Hdom [A1 A2 A3 A4 A5].
    assert (Hdr' : amem A s ##ₘ rest) by (by eapply disjoint_dom).
    split; [| | | |done].
    - intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [rewrite update_same; apply map_union_subseteq_l|].
      rewrite update_other by done. transitivity rest; [|by apply map_union_subseteq_r].
      eapply sub_rest; [by apply A1| |exact Hdr]. rewrite <- Hfd. by apply A3.
    - intros k Hk. transitivity rest; [|by apply map_union_subseteq_r].
      eapply sub_rest; [by apply A2| |exact Hdr]. rewrite <- Hfd. symmetry. by apply A4.
    - intros c1 c2 H1 H2 Hne. destruct (decide (c1 = c)) as [->|N1]; destruct (decide (c2 = c)) as [->|N2]; [done|..];
        rewrite ?update_same, ?update_other by done; [|symmetry|by apply A3];
        (eapply disjoint_dom; [done|]); rewrite <- Hfd; by apply A3.
    - intros c' k Hc' Hk. destruct (decide (c' = c)) as [->|Hne]; [|rewrite update_other by done; by apply A4].
      rewrite update_same. eapply disjoint_dom; [done|]. rewrite <- Hfd. by apply A4.
  Qed.

  (** Handing cells over moves no data. *)
  Lemma disjoint_exchange m l f c s e : (c < ncpu)%nat -> exchange O e l (amem A (f c)) (amem A s) ->
    all_disjoint m l f -> all_disjoint m (e :: l) (update A f c s).
  Proof.
    intros Hc Hx [A1 A2 A3 A4 A5]. destruct Hx as [Hm Hk|k Hfree Hm Hk|k d Hm Hd Hk].
    - assert (Hsame : forall c', amem A (update A f c s c') = amem A (f c')).
      { intros c'. unfold update. by destruct (decide (c' = c)) as [->|]. }
      split; intros *; rewrite ?Hsame; auto.
      + intros [Hk' ->]%Hk. auto.
      + intros Hc' [Hk' ->]%Hk. auto.
      + intros Hne [? ->]%Hk [? ->]%Hk. auto.
    - assert (Hin : forall c', (c' < ncpu)%nat -> c' <> c -> amem A s ##ₘ amem A (f c')).
      { intros c' Hc' Hne. rewrite Hm. apply map_disjoint_union_l. split; [symmetry; by apply A4|by apply A3]. }
      split.
      + intros c' Hc'. destruct (decide (c' = c)) as [->|]; [|rewrite update_other by done; auto].
        rewrite update_same, Hm. apply map_union_least; auto.
      + intros k' (_ & Hk' & ->)%Hk. auto.
      + intros c1 c2 H1 H2 Hne. destruct (decide (c1 = c)) as [->|N1]; destruct (decide (c2 = c)) as [->|N2]; [done|..];
          rewrite ?update_same, ?update_other by done; [by apply Hin|symmetry; by apply Hin|by apply A3].
      + intros c' k' Hc' (Hne & Hk' & ->)%Hk. destruct (decide (c' = c)) as [->|]; [|rewrite update_other by done; auto].
        rewrite update_same, Hm. apply map_disjoint_union_l. split; [by apply A5|by apply A4].
      + intros k1 k2 Hne (_ & H1 & ->)%Hk (_ & H2 & ->)%Hk. auto.
    - assert (Hsub : amem A s ⊆ amem A (f c)) by (rewrite Hm; by apply map_union_subseteq_r).
      assert (Hdsub : d ⊆ amem A (f c)) by (rewrite Hm; apply map_union_subseteq_l).
      assert (Hle : forall c', amem A (update A f c s c') ⊆ amem A (f c')).
      { intros c'. unfold update. by destruct (decide (c' = c)) as [->|]. }
      assert (Hdis : forall c', (c' < ncpu)%nat -> amem A (update A f c s c') ##ₘ d).
      { intros c' Hc'. destruct (decide (c' = c)) as [->|Hne]; [rewrite update_same; by symmetry|].
        rewrite update_other by done. eapply map_disjoint_weaken_r; [|exact Hdsub]. by apply A3. }
      split.
      + intros c' Hc'. etrans; [apply Hle|auto].
      + intros k' [[_ ->]|(_ & Hk' & ->)]%Hk; [|auto]. transitivity (amem A (f c)); [done|auto].
      + intros c1 c2 H1 H2 Hne. eapply map_disjoint_weaken; [exact (A3 c1 c2 H1 H2 Hne)|apply Hle..].
      + intros c' k' Hc' [[_ ->]|(_ & Hk' & ->)]%Hk; [auto|].
        eapply map_disjoint_weaken_l; [exact (A4 c' k' Hc' Hk')|apply Hle].
      + intros k1 k2 Hne [[-> ->]|(N1 & H1 & ->)]%Hk [[-> ->]|(N2 & H2 & ->)]%Hk; [done| | |auto].
        * eapply map_disjoint_weaken_l; [|exact Hdsub]. by apply A4.
        * symmetry. eapply map_disjoint_weaken_l; [|exact Hdsub]. by apply A4.
  Qed.
End local_copies.
