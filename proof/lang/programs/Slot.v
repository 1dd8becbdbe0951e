(** A layer's object among all objects, and the theorem for functions that lock it.

    [slot]: the object's name, its state as a case of all objects' states, and which cells represent it. [lock_function]:
    the program of a C function of the form acquire; body; release; return. [implements_lock_function] needs of its proof
    only what the body does on the object's cells. *)
From Ashlar Require Export lang.programs.Locked lang.logic.Owned.

Record slot (X : layout) (S : Type) (srep : S -> mem -> Prop) (svalid : S -> Prop) := Slot {
  slot_object : obj X;
  slot_lock : Z;
  slot_in : S -> obj_state X;
  slot_out : obj_state X -> option S;
  slot_in_out : forall s, slot_out (slot_in s) = Some s;
  slot_guards : obj_of_lock X slot_lock = Some slot_object;
  slot_rep : forall st d, obj_rep X slot_object st d <-> exists s, st = slot_in s /\ srep s d;
  slot_valid : forall s, obj_valid X slot_object (slot_in s) <-> svalid s;
}.
Arguments slot_object {_ _ _ _}. Arguments slot_lock {_ _ _ _}. Arguments slot_in {_ _ _ _}.
Arguments slot_out {_ _ _ _}. Arguments slot_in_out {_ _ _ _}. Arguments slot_guards {_ _ _ _}.
Arguments slot_rep {_ _ _ _}. Arguments slot_valid {_ _ _ _}.

Section slot.
  Context {X : layout} {S : Type} {srep : S -> mem -> Prop} {svalid : S -> Prop} (Y : slot X S srep svalid).

  Definition lift (f : S -> option (Z * S)) (st : obj_state X) : option (Z * obj_state X) :=
    match slot_out Y st with
    | Some s => match f s with Some (v, s') => Some (v, slot_in Y s') | None => None end
    | None => None
    end.

  (** The program of a function with update [f args]; [None]: other arguments. *)
  Definition lock_function (f : list Z -> option (S -> option (Z * S))) (args : list Z) : prog X :=
    match f args with Some g => locked (slot_lock Y) (slot_object Y) (lift g) | None => Fail end.

  Lemma lift_inv g st v st' : lift g st = Some (v, st') ->
    exists s s', slot_out Y st = Some s /\ g s = Some (v, s') /\ st' = slot_in Y s'.
  Proof.
    unfold lift. destruct (slot_out Y st) as [s|]; [|done]. destruct (g s) as [[w s']|] eqn:E; [|done].
    intros [= -> <-]. eauto.
  Qed.

  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).
  Context (lock_acquire : M ACQUIRE = None) (lock_release : M RELEASE = None).

  (** The functions keep the object valid. *)
  Definition keeps (f : list Z -> option (S -> option (Z * S))) : Prop :=
    forall args g s v s', f args = Some g -> svalid s -> g s = Some (v, s') -> svalid s'.

  Section function.
    Context (name : string) (fd : fundef) (f : list Z -> option (S -> option (Z * S))) (b : stmt) (x : nat).
    Context (HM : M name = Some fd) (Hkeeps : keeps f).
    Context (Hargs : forall args g, f args = Some g -> length args = fn_params fd).

    Lemma locked_done (g : S -> option (Z * S)) st v st' a : svalid st -> svalid st' ->
      g st = Some (v, st') -> yields X (locked (slot_lock Y) (slot_object Y) (lift g)) a v (delete (slot_object Y) a).
    Proof using.
      intros H1 H2 Hg. apply (locked_yields X _ _ _ a (slot_in Y st) v (slot_in Y st')).
      - apply slot_guards. - by apply slot_valid.
      - unfold lift. by rewrite slot_in_out, Hg. - by apply slot_valid.
    Qed.

    (** acquire; body; release; return a local *)
    Theorem implements_lock_function :
      fn_body fd = Seq (Call None ACQUIRE [Const (slot_lock Y)])
                  (Seq b (Seq (Call None RELEASE [Const (slot_lock Y)]) (Return (Var x)))) ->
      (forall args g s v s' d, f args = Some g -> svalid s -> g s = Some (v, s') -> srep s d ->
         owned kernel_entry M cpu b (fun r d' => srep s' d' /\ r !! x = Some v) (fun _ _ => False) (fun _ _ => False)
           (args ++ replicate (fn_locals fd) 0) d) ->
      implements X kernel_entry M cpu name (lock_function f).
    Proof using HM Hkeeps Hargs lock_acquire lock_release.
      intros Hbody Hb. eapply implements_body; [exact HM|]. intros Post args m a k Q Hr HQ.
      unfold lock_function in *. destruct (f args) as [g|] eqn:Ef; [left|right; by exists a].
      split; [by eapply Hargs|]. unfold body_wp. rewrite Hbody. cbn [wp].
      exists [slot_lock Y]. split; [done|].
      apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object Y)); [apply slot_guards|done|].
      intros st v st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result].
      apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
      apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
      pose proof (Hkeeps args g s v s' Ef Hval Hg) as Hval'.
      eapply wp_mono; [| | |exact (Hb args g s v s' d Ef Hval Hg Hrep _ _ _ rest (sim_step_closed X kernel_entry M cpu Post) Hdis)];
        cbn beta.
      - intros r m' g' (d' & -> & Hd' & -> & Hrep' & Hx). exists [slot_lock Y]. split; [done|].
        apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock Y) (slot_object Y));
          [apply slot_guards|apply slot_rep; eauto|done|done|].
        intros m' Hr'. cbn [wp set_result]. exists v. split; [exact Hx|]. apply settles_now, HQ; [|done].
        exact (locked_done g s v s' a Hval Hval' Hg).
      - intros r m' g' (d' & _ & _ & _ & Hf). destruct Hf.
      - intros r m' g' (d' & _ & _ & _ & Hf). destruct Hf.
    Qed.

    (** acquire; body; release *)
    Theorem implements_lock_procedure :
      fn_body fd = Seq (Call None ACQUIRE [Const (slot_lock Y)]) (Seq b (Call None RELEASE [Const (slot_lock Y)])) ->
      (forall args g s v s' d, f args = Some g -> svalid s -> g s = Some (v, s') -> srep s d ->
         v = 0 /\ owned kernel_entry M cpu b (fun r d' => srep s' d') (fun _ _ => False) (fun _ _ => False)
           (args ++ replicate (fn_locals fd) 0) d) ->
      implements X kernel_entry M cpu name (lock_function f).
    Proof using HM Hkeeps Hargs lock_acquire lock_release.
      intros Hbody Hb. eapply implements_body; [exact HM|]. intros Post args m a k Q Hr HQ.
      unfold lock_function in *. destruct (f args) as [g|] eqn:Ef; [left|right; by exists a].
      split; [by eapply Hargs|]. unfold body_wp. rewrite Hbody. cbn [wp].
      exists [slot_lock Y]. split; [done|].
      apply (fwp_locked_acquire X kernel_entry M cpu lock_acquire Post _ (slot_object Y)); [apply slot_guards|done|].
      intros st v st' d rest Hval Hg Hrep Hdis Hrest. cbn [set_result].
      apply slot_rep in Hrep as (s & -> & Hrep). apply slot_valid in Hval.
      apply lift_inv in Hg as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-.
      pose proof (Hkeeps args g s v s' Ef Hval Hg) as Hval'.
      destruct (Hb args g s v s' d Ef Hval Hg Hrep) as [-> Hb'].
      eapply wp_mono; [| | |exact (Hb' _ _ _ rest (sim_step_closed X kernel_entry M cpu Post) Hdis)]; cbn beta.
      - intros r m' g' (d' & -> & Hd' & -> & Hrep'). exists [slot_lock Y]. split; [done|].
        apply (fwp_locked_release X kernel_entry M cpu lock_release Post (slot_lock Y) (slot_object Y));
          [apply slot_guards|apply slot_rep; eauto|done|done|].
        intros m' Hr'. cbn beta. apply settles_now, HQ; [|done]. exact (locked_done g s 0 s' a Hval Hval' Hg).
      - intros r m' g' (d' & _ & _ & _ & Hf). destruct Hf.
      - intros r m' g' (d' & _ & _ & _ & Hf). destruct Hf.
    Qed.
  End function.
End slot.
