(** From cells to objects: C functions that implement their specification programs refine them on the machine.

    For every client and number of CPUs: if the machine of specification programs over objects never goes wrong, neither
    does the machine of C code over cells, and each of its logs has the same events as a log of the former, with published
    cells that represent the published objects. What a CPU inevitably reaches above it inevitably reaches below. *)
From Ashlar Require Export calculus.logs.Canonical calculus.locks.Discipline lang.logic.Domain.
From stdpp Require Import fin_map_dom.

(** The obligations that a layout owes, besides those of each function. *)
Record layout_ok (X : layout) (init : Z -> mem) (guarded : Z -> mem -> mem) : Prop := {
  lo_state : forall k o s s' d, obj_of_lock X k = Some o -> obj_rep X o s d -> obj_rep X o s' d -> s = s';
  lo_guarded : forall k o s d rest, obj_of_lock X k = Some o -> obj_valid X o s -> obj_rep X o s d -> d ##ₘ rest ->
    guarded k (d ∪ rest) = d;
  lo_unguarded : forall k m, obj_of_lock X k = None -> guarded k m = ∅;
  lo_init : forall k, same_data X k (init k) (obj_initial X <$> obj_of_lock X k);
}.

Section data.
  Context (X : layout) (kernel_entry : Z -> Z) (M : module) (exported : string -> bool).
  Context (spec : specification (PRIM := cprim) (MEM := objects X)) (C : client).
  Context (nlock : Z) (budget ncpu : nat) (init : Z -> mem) (guarded : Z -> mem -> mem).
  Context (LO : layout_ok X init guarded) (SD : spec_disciplined X nlock budget spec).

  Notation B := (arch_builtins kernel_entry).
  Notation L1 := (lock_layer nlock budget (cell_data init guarded)).
  Notation L2 := (lock_layer nlock budget (object_data X)).
  Notation A1 := (system C (c_engine B M exported)).
  Notation A2 := (system C (object_engine X spec)).

  (** Every function of the specification is a C function that implements it. *)
  Definition all_implemented : Prop :=
    forall f args p, spec f args = Some p -> exists fd, M f = Some fd /\ exported f = true /\
      forall cpu m a, rep X a m ->
        length args = fn_params fd /\ sim X kernel_entry M cpu (returns X kernel_entry M cpu) (enter fd args [KEnd] m) (p, a)
        \/ p = Fail.
  Context (IM : all_implemented).

  Context (start : nat -> gset cell).
  Notation above := (lock_log (option (obj_state X))).

  (** The guarantee of all CPUs, given the one of the machine above. *)
  Definition guarantee (G2 : above -> Prop) (l : lock_log mem) : Prop :=
    partitioned init start l /\ legal L1 l /\ exists x, same_log X l x /\ G2 x.

  Lemma rely_above (G2 : above -> Prop) c (l l' : lock_log mem) x : (forall x, G2 x -> legal L2 x) ->
    same_log X l x -> rely L1 (guarantee G2) c l l' ->
    exists x', same_log X l' x' /\ rely L2 G2 c x x' /\ partitioned init start l' /\ legal L1 l' /\
      owned init start c l' = owned init start c l.
  Proof using LO.
    intros HG Hx (e & -> & He & (Hp & Hl & x' & Hx' & HG2) & _ & _).
    destruct (same_log_extends X (lo_state _ _ _ LO) _ _ _ _ Hx Hx') as (f & -> & Hf).
    exists (f ++ x). split_and!; try done.
    - exists f. split_and!; [done|by eapply same_log_others|done|done|by apply HG].
    - by apply owned_others.
  Qed.

  Lemma split_own (d rest : mem) : d ##ₘ rest -> (d ∪ rest) ∖ d = rest.
  Proof.
    intros Hd. apply map_eq. intros i. apply option_eq. intros v. rewrite lookup_difference_Some.
    split.
    - intros [[H|[_ H]]%lookup_union_Some_raw Hn]; [congruence|done].
    - intros H. assert (d !! i = None) by (by eapply map_disjoint_Some_r). split; [|done].
      by apply lookup_union_Some_r.
  Qed.

  (** A lock primitive does the same on cells as on objects. *)
  Lemma lock_step_related c p a (m : mem) (l : lock_log mem) (x : above) :
    rep X a m -> same_log X l x -> partitioned init start l ->
    dom m = owned init start c l -> holds_exactly X (held c x).1 a ->
    match lock_step nlock budget (object_data X) c p a x with
    | Wrong => True
    | Blocked => lock_step nlock budget (cell_data init guarded) c p m l = Blocked
    | Ok v a' o2 => exists m' o1, lock_step nlock budget (cell_data init guarded) c p m l = Ok v m' o1 /\
        same_event X (Event c o1) (Event c o2) /\ (response X p a v a' \/ p.1 = OUT /\ a' = a) /\ rep X a' m' /\
        partitioned init start (Event c o1 :: l) /\ dom m' = owned init start c (Event c o1 :: l)
    end.
  Proof using LO.
    intros Hr Hx Hp Hd Ha.
    pose proof (same_log_held X c l x Hx) as Eh.
    unfold lock_step. rewrite Eh. destruct (held c x) as [ks n] eqn:Ehx. simpl in Ha.
    destruct p as [f [|k [|??]]]; try done.
    destruct (String.eqb_spec f ACQUIRE) as [->|_].
    { destruct (below nlock k ks) eqn:Eb; [|done]. destruct (within budget ks n); [|done]. simpl andb. cbv iota.
      rewrite (same_log_holder X k l x Hx). destruct (holder k x) eqn:Ek; [done|].
      pose proof (same_log_published X init k l x (lo_init _ _ _ LO k) Hx) as Hpub.
      rewrite <- (same_log_holder X k l x Hx) in Ek. destruct Hp as (Hp1 & Hp2 & Hp3).
      assert (Hdis : published init k l ##ₘ m).
      { apply (fin_map_dom.map_disjoint_dom (M:=gmap cell) (D:=gset cell)).
        intros y H1 H2. apply (Hp2 c k Ek y); [rewrite <- Hd; exact H2|exact H1]. }
      eexists _, _. split; [done|]. split; [done|].
      split_and!.
      - left. unfold same_data in Hpub. simpl. destruct (obj_of_lock X k) as [o|] eqn:Eo.
        + destruct Hpub as (s & Hs & _ & Hv). simpl in Hs. rewrite Hs. by apply response_acquire.
        + destruct Hpub as [Hs _]. by apply response_acquire_none.
      - unfold same_data in Hpub. simpl. destruct (obj_of_lock X k) as [o|] eqn:Eo.
        + destruct Hpub as (s & Hs & Hrs & Hv). simpl in Hs. rewrite Hs. apply represents_absent; try done.
          apply eq_None_not_Some. intros Hsome%(Ha k o Eo). by eapply below_not_in.
        + destruct Hpub as [_ ->]. by rewrite (left_id_L ∅ (∪)).
      - apply partitioned_acquire; [by split_and!|done].
      - simpl. rewrite decide_True by done. rewrite <- Hd.
        etrans; [apply (fin_map_dom.dom_union_L (M:=gmap cell) (D:=gset cell))|]. apply (comm_L (∪)). }
    destruct (String.eqb_spec f RELEASE) as [->|_].
    { destruct ks as [|k' ks]; [done|]. destruct (Z.eqb_spec k' k) as [->|]; [|done].
      destruct (within budget (k :: ks) n); [|done]. simpl andb. cbv iota.
      destruct (ld_push (object_data X) k a) as [[y a']|] eqn:Epush; [|done].
      apply push_inv in Epush. simpl ld_push. cbv beta iota.
      destruct (obj_of_lock X k) as [o|] eqn:Eo.
      - destruct Epush as (s & Hs & -> & Hv & ->).
        destruct (represents_open _ _ _ o s Hr Hs) as (d & rest & Hrd & Hdis & -> & Hrest).
        rewrite (lo_guarded _ _ _ LO k o s d rest) by done. rewrite split_own by done.
        assert (Hdom : dom (d ∪ rest) =@{gset cell} dom d ∪ dom rest)
          by apply (fin_map_dom.dom_union_L (M:=gmap cell) (D:=gset cell)).
        assert (Hdd : dom d ##@{gset cell} dom rest) by (by apply fin_map_dom.map_disjoint_dom).
        eexists _, _. split; [done|]. split; [split; [done|]; split; [done|]; unfold same_data; rewrite Eo; eauto|].
        split_and!.
        + left. by eapply response_release.
        + done.
        + apply partitioned_release; [done|]. rewrite <- Hd, Hdom. apply union_subseteq_l.
        + simpl. rewrite decide_True by done. rewrite <- Hd, Hdom. clear -Hdd.
          rewrite difference_union_distr_l_L, difference_diag_L, (left_id_L ∅ (∪)).
          symmetry. apply difference_disjoint_L. by symmetry.
      - destruct Epush as [-> ->]. rewrite (lo_unguarded _ _ _ LO k m Eo).
        assert (Hm : m ∖ ∅ = m). { apply map_eq. intros i. apply option_eq. intros v.
          rewrite lookup_difference_Some. split; [by intros [? _]|]. intros H. split; [done|apply lookup_empty]. }
        rewrite Hm. eexists _, _. split; [done|].
        split; [split; [done|]; split; [done|]; unfold same_data; by rewrite Eo|].
        assert (He : dom (∅ : mem) =@{gset cell} ∅) by apply (fin_map_dom.dom_empty_L (M:=gmap cell) (D:=gset cell)).
        split_and!.
        + left. by apply response_release_none.
        + done.
        + apply partitioned_release; [done|]. rewrite He. apply empty_subseteq.
        + simpl. rewrite decide_True by done. rewrite He, Hd. symmetry. apply difference_empty_L. }
    destruct (String.eqb_spec f OUT) as [->|_]; [|done].
    destruct ks; [|done]. eexists _, _. split; [done|]. split; [done|]. split_and!; [by right|done| |].
    - by apply partitioned_out.
    - simpl. by rewrite decide_True.
  Qed.
End data.
