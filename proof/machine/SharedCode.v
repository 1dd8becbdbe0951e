(** The kernel's C, with any client, on shared memory.

    Which cells a configuration is about to read and to write ([reads], [writes]), and the laws of [shareable] for C code:
    what it does on the cells it owns it does in the same way on a memory that has more. *)
From Ashlar Require Export machine.Shared calculus.logs.Engine lang.logic.Domain.
From Ashlar Require Import lang.logic.Owned.
From stdpp Require Import fin_map_dom.

(** ** The cells that the next step touches *)

Fixpoint eval_reads (e : expr) (r : locals) (m : mem) : list cell :=
  match e with
  | Const _ | Var _ => []
  | Load o i f j =>
      eval_reads i r m ++ eval_reads j r m ++
      match eval i r m, eval j r m with
      | Some iv, Some jv => [((o, iv, f, jv) : cell)]
      | _, _ => []
      end
  | Neg _ e | Not _ e | Cast _ e => eval_reads e r m
  | Bin _ _ a b => eval_reads a r m ++ eval_reads b r m
  end.

Definition evals_reads (es : list expr) (r : locals) (m : mem) : list cell := es ≫= fun e => eval_reads e r m.

Fixpoint test_reads (c : cond) (r : locals) (m : mem) : list cell :=
  match c with
  | Cmp _ a b => eval_reads a r m ++ eval_reads b r m
  | NonZero e => eval_reads e r m
  | CNot c => test_reads c r m
  | CAnd a b => test_reads a r m ++ match test a r m with Some true => test_reads b r m | _ => [] end
  | COr a b => test_reads a r m ++ match test a r m with Some false => test_reads b r m | _ => [] end
  end.

(** Primitives of [arch] that work on a frame. *)
Definition builtin_reads (f : string) (args : list Z) : list cell :=
  if String.eqb f "arch_frame_read" then match args with [frame; word] => [frame_word frame word] | _ => [] end else [].
Definition builtin_writes (f : string) (args : list Z) : list cell :=
  if String.eqb f "arch_frame_write" then match args with [frame; word; _] => [frame_word frame word] | _ => [] end
  else if String.eqb f "arch_frame_clear" then
    match args with [frame] => (fun w => frame_word frame (Z.of_nat w)) <$> seq 0 512 | _ => [] end
  else [].

Section footprint.
  Context (M : module).

  Definition reads (s : cfg) : list cell :=
    let r := cl s in let m := cm s in
    match ck s with
    | KStmt (Assign _ e) :: _ | KStmt (Return e) :: _ => eval_reads e r m
    | KStmt (Store _ i _ j e) :: _ => eval_reads i r m ++ eval_reads j r m ++ eval_reads e r m
    | KStmt (If c _ _) :: _ | KStmt (While c _) :: _ => test_reads c r m
    | KStmt (Call _ f es) :: _ =>
        evals_reads es r m ++
        match M f, evals es r m with None, Some args => builtin_reads f args | _, _ => [] end
    | _ => []
    end.

  Definition writes (s : cfg) : list cell :=
    let r := cl s in let m := cm s in
    match ck s with
    | KStmt (Store o i f j _) :: _ =>
        match eval i r m, eval j r m with Some iv, Some jv => [((o, iv, f, jv) : cell)] | _, _ => [] end
    | KStmt (Call _ f es) :: _ =>
        match M f, evals es r m with None, Some args => builtin_writes f args | _, _ => [] end
    | _ => []
    end.
End footprint.

(** ** What is read is owned *)

Ltac in_app := repeat match goal with H : _ ∈ _ ++ _ |- _ => apply elem_of_app in H as [H|H] end.

Lemma eval_reads_owned e r (m rest : mem) v x : eval e r m = Some v -> x ∈ eval_reads e r (m ∪ rest) -> is_Some (m !! x).
Proof.
  revert v. induction e; cbn [eval eval_reads]; intros u H Hx; try by apply elem_of_nil in Hx.
  - destruct (eval e1 r m) eqn:E1; [|done]. destruct (eval e2 r m) eqn:E2; [|done].
    rewrite (eval_mono _ _ _ rest _ E1), (eval_mono _ _ _ rest _ E2) in Hx. in_app; [by eapply IHe1|by eapply IHe2|].
    apply elem_of_list_singleton in Hx as ->. by exists u.
  - destruct (eval e r m); [|done]. by eapply IHe.
  - destruct (eval e r m); [|done]. by eapply IHe.
  - destruct (eval e1 r m) eqn:E1; [|done]. destruct (eval e2 r m) eqn:E2; [|done].
    in_app; [by eapply IHe1|by eapply IHe2].
  - destruct (eval e r m); [|done]. by eapply IHe.
Qed.
Lemma evals_reads_owned es r (m rest : mem) vs x :
  evals es r m = Some vs -> x ∈ evals_reads es r (m ∪ rest) -> is_Some (m !! x).
Proof.
  revert vs. induction es as [|e es IH]; cbn [evals]; intros vs H Hx; [by apply elem_of_nil in Hx|].
  destruct (eval e r m) eqn:E; [|done]. destruct (evals es r m) eqn:Es; [|done].
  apply elem_of_list_bind in Hx as (e' & Hx & He'). apply elem_of_cons in He' as [->|He'].
  - by eapply eval_reads_owned.
  - eapply IH; [done|]. apply elem_of_list_bind. by exists e'.
Qed.
Lemma test_reads_owned c r (m rest : mem) b x : test c r m = Some b -> x ∈ test_reads c r (m ∪ rest) -> is_Some (m !! x).
Proof.
  revert b. induction c; cbn [test test_reads]; intros t H Hx.
  - destruct (eval a r m) eqn:E1; [|done]. destruct (eval b r m) eqn:E2; [|done].
    in_app; [by eapply eval_reads_owned with (e := a)|by eapply eval_reads_owned with (e := b)].
  - destruct (eval e r m) eqn:E; [|done]. by eapply eval_reads_owned.
  - destruct (test c r m); [|done]. by eapply IHc.
  - destruct (test c1 r m) as [y|] eqn:E; [|done]. in_app; [by eapply IHc1|].
    rewrite (test_mono _ _ _ rest _ E) in Hx. destruct y; [by eapply IHc2|by apply elem_of_nil in Hx].
  - destruct (test c1 r m) as [y|] eqn:E; [|done]. in_app; [by eapply IHc1|].
    rewrite (test_mono _ _ _ rest _ E) in Hx. destruct y; [by apply elem_of_nil in Hx|by eapply IHc2].
Qed.

(** ** Primitives of [arch] *)

Lemma owns_frame_mono frame (m rest : mem) : owns_frame frame m -> owns_frame frame (m ∪ rest).
Proof.
  unfold owns_frame. intros H. eapply Forall_impl; [exact H|]. simpl. intros w [v Hv]. exists v. by apply own_read.
Qed.

Section builtins.
  Context (kernel_entry : Z -> Z).
  Notation B := (arch_builtins kernel_entry).

  Lemma builtin_mono cpu f args (m rest : mem) v m' :
    B cpu f args m = Some (Some (v, m')) -> B cpu f args (m ∪ rest) = Some (Some (v, m' ∪ rest)).
  Proof.
    unfold arch_builtins. intros H.
    repeat match type of H with
           | (if String.eqb f ?n then _ else _) = _ => destruct (String.eqb f n)
           end; [..|done]; injection H as H.
    - destruct args; [|done]. by injection H as <- <-.
    - destruct args; [|done]. by injection H as <- <-.
    - destruct args as [|w [|??]]; try done. case_bool_decide; [|done]. by injection H as <- <-.
    - destruct args as [|w [|??]]; try done. case_bool_decide; [|done]. by injection H as <- <-.
    - destruct args as [|x [|w [|??]]]; try done. destruct (m !! _) eqn:E; [|done]. injection H as <- <-.
      by rewrite (own_read _ rest _ _ E).
    - destruct args as [|x [|w [|y [|??]]]]; try done. destruct (m !! frame_word x w) as [u|] eqn:E; [|done].
      injection H as <- <-. rewrite (own_read _ rest _ _ E). by rewrite own_write.
    - destruct args as [|x [|??]]; try done. destruct (decide (owns_frame x m)) as [Ho|]; [|done].
      apply some_pair in H as [<- <-]. rewrite decide_True by (by apply owns_frame_mono). by rewrite (assoc_L (∪)).
    - destruct args as [|root [|??]]; try done. case_bool_decide; [|done]. by injection H as <- <-.
    - destruct args; [|done]. by injection H as <- <-.
  Qed.
  Lemma builtin_none cpu f args (m m' : mem) : B cpu f args m = None -> B cpu f args m' = None.
  Proof.
    unfold arch_builtins.
    repeat match goal with |- (if String.eqb f ?n then _ else _) = _ -> _ => destruct (String.eqb f n); [done|] end. done.
  Qed.

  Lemma frame_read_def cpu args m : B cpu "arch_frame_read" args m =
    Some (match args with
          | [frame; word] => match m !! frame_word frame word with Some v => Some (v, m) | None => None end
          | _ => None
          end).
  Proof. reflexivity. Qed.
  Lemma frame_write_def cpu args m : B cpu "arch_frame_write" args m =
    Some (match args with
          | [frame; word; v] =>
              match m !! frame_word frame word with Some _ => Some (0%Z, <[frame_word frame word := v]> m) | None => None end
          | _ => None
          end).
  Proof. reflexivity. Qed.
  Lemma frame_clear_def cpu args m : B cpu "arch_frame_clear" args m =
    Some (match args with
          | [frame] => if decide (owns_frame frame m) then Some (0%Z, frame_cells frame (fun _ => 0%Z) ∪ m) else None
          | _ => None
          end).
  Proof. reflexivity. Qed.

  Lemma builtin_owned cpu f args (m : mem) v m' x : B cpu f args m = Some (Some (v, m')) ->
    x ∈ builtin_reads f args \/ x ∈ builtin_writes f args -> is_Some (m !! x).
  Proof.
    unfold builtin_reads, builtin_writes. intros H [Hx|Hx].
    - destruct (String.eqb_spec f "arch_frame_read") as [->|_]; [|by apply elem_of_nil in Hx].
      rewrite frame_read_def in H. destruct args as [|a [|w [|??]]]; try by apply elem_of_nil in Hx.
      apply elem_of_list_singleton in Hx as ->. destruct (m !! _) as [u|]; [by exists u|done].
    - destruct (String.eqb_spec f "arch_frame_write") as [->|_].
      { rewrite frame_write_def in H. destruct args as [|a [|w [|y [|??]]]]; try by apply elem_of_nil in Hx.
        apply elem_of_list_singleton in Hx as ->. destruct (m !! _) as [u|]; [by exists u|done]. }
      destruct (String.eqb_spec f "arch_frame_clear") as [->|_]; [|by apply elem_of_nil in Hx].
      rewrite frame_clear_def in H. destruct args as [|a [|??]]; try by apply elem_of_nil in Hx.
      destruct (decide (owns_frame a m)) as [Ho|]; [|done].
      apply elem_of_list_fmap in Hx as (w & -> & Hw). unfold owns_frame in Ho. rewrite Forall_forall in Ho. by apply Ho.
  Qed.
  Lemma builtin_untouched cpu f args (m : mem) :
    B cpu f args m = None -> builtin_reads f args = [] /\ builtin_writes f args = [].
  Proof.
    unfold builtin_reads, builtin_writes. intros H.
    destruct (String.eqb_spec f "arch_frame_read") as [->|_]; [by rewrite frame_read_def in H|].
    destruct (String.eqb_spec f "arch_frame_write") as [->|_]; [by rewrite frame_write_def in H|].
    destruct (String.eqb_spec f "arch_frame_clear") as [->|_]; [by rewrite frame_clear_def in H|]. done.
  Qed.
End builtins.
