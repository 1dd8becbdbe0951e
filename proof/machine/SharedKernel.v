(** The kernel's C with its client is an agent that can be run on shared memory. *)
From Ashlar Require Export machine.SharedCode.
From Ashlar Require Import lang.logic.Owned.
From stdpp Require Import fin_map_dom.

Section code.
  Context (kernel_entry : Z -> Z) (M : module) (exported : string -> bool) (C : client).
  Notation B := (arch_builtins kernel_entry).
  Notation E := (c_engine B M exported).
  Notation A := (system C E).

  Definition cput (s : cfg) (m : mem) : cfg := Cfg (ck s) (cl s) m.
  Definition system_put (t : ast A) (m : mem) : ast A :=
    match t with Idle s _ => Idle s m | Busy s e => Busy s (cput e m : est E) end.

  Lemma return_to_more k v (m rest : mem) :
    match return_to k v m with
    | EReturn v' m' => return_to k v (m ∪ rest) = EReturn v' (m' ∪ rest) /\ m' = m
    | EStuck => True
    | ETau s => return_to k v (m ∪ rest) = ETau (cput s (cm s ∪ rest))
    | EPrim p => return_to k v (m ∪ rest) = EPrim p
    end.
  Proof. destruct k as [|[| | |] [|??]]; simpl; done. Qed.

  (** A step of C on the cells owned, and the same step where there are more. *)
  Lemma next_more cpu s rest :
    match next B M cpu s with
    | EReturn v m => next B M cpu (cput s (cm s ∪ rest)) = EReturn v (m ∪ rest) /\ m = cm s
    | EStuck => True
    | ETau s' => next B M cpu (cput s (cm s ∪ rest)) = ETau (cput s' (cm s' ∪ rest))
    | EPrim p => next B M cpu (cput s (cm s ∪ rest)) = EPrim p
    end.
  Proof.
    destruct s as [k r m]. unfold cput. destruct k as [|[st|c b|x r0|] k]; cbn [next ck cl cm]; [done| |done| |].
    - destruct st; cbn [ck cl cm]; try done.
      + destruct (eval e r m) eqn:E; [|done]. by rewrite (eval_mono _ _ _ rest _ E).
      + destruct (eval index r m) eqn:E1; [|done]. destruct (eval element r m) eqn:E2; [|done].
        destruct (eval e r m) eqn:E3; [|done]. destruct (m !! _) eqn:E4; [|done].
        rewrite (eval_mono _ _ _ rest _ E1), (eval_mono _ _ _ rest _ E2), (eval_mono _ _ _ rest _ E3).
        rewrite (own_read _ rest _ _ E4). cbn [ck cl cm]. by rewrite own_write.
      + destruct (test c r m) eqn:E; [|done]. by rewrite (test_mono _ _ _ rest _ E).
      + destruct (test c r m) as [t|] eqn:E; [|done]. rewrite (test_mono _ _ _ rest _ E). by destruct t.
      + by destruct (pop_loop k).
      + destruct (eval e r m) eqn:E; [|done]. rewrite (eval_mono _ _ _ rest _ E). apply return_to_more.
      + destruct (evals arguments r m) as [args|] eqn:E; [|done]. rewrite (evals_mono _ _ _ rest _ E).
        destruct (M function) as [fd|]; [by destruct (Nat.eqb _ _)|].
        destruct (B cpu function args m) as [[[v m']|]|] eqn:Eb; [|done|].
        * by rewrite (builtin_mono _ _ _ _ _ rest _ _ Eb).
        * by rewrite (builtin_none _ _ _ _ _ (m ∪ rest) Eb).
    - apply return_to_more.
    - apply return_to_more.
  Qed.

  Lemma reads_owned cpu s rest x : next B M cpu s <> EStuck ->
    x ∈ reads M (cput s (cm s ∪ rest)) \/ x ∈ writes M (cput s (cm s ∪ rest)) -> is_Some (cm s !! x).
  Proof.
    destruct s as [k r m]. unfold cput, reads, writes. destruct k as [|[st|c b|y r0|] k]; cbn [next ck cl cm].
    1, 3, 4, 5: intros _ [Hx|Hx]; by apply elem_of_nil in Hx.
    destruct st; cbn [ck cl cm]; try by (intros _ [Hx|Hx]; by apply elem_of_nil in Hx).
    - destruct (eval e r m) eqn:E; [|done]. intros _ [Hx|Hx]; [by eapply eval_reads_owned|by apply elem_of_nil in Hx].
    - destruct (eval index r m) eqn:E1; [|done]. destruct (eval element r m) eqn:E2; [|done].
      destruct (eval e r m) eqn:E3; [|done]. destruct (m !! _) as [w|] eqn:E4; [|done].
      rewrite (eval_mono _ _ _ rest _ E1), (eval_mono _ _ _ rest _ E2). intros _ [Hx|Hx].
      + in_app; [by eapply eval_reads_owned with (e := index)|by eapply eval_reads_owned with (e := element)|].
        by eapply eval_reads_owned with (e := e).
      + apply elem_of_list_singleton in Hx as ->. by exists w.
    - destruct (test c r m) eqn:E; [|done]. intros _ [Hx|Hx]; [by eapply test_reads_owned|by apply elem_of_nil in Hx].
    - destruct (test c r m) eqn:E; [|done]. intros _ [Hx|Hx]; [by eapply test_reads_owned|by apply elem_of_nil in Hx].
    - destruct (eval e r m) eqn:E; [|done]. intros _ [Hx|Hx]; [by eapply eval_reads_owned|by apply elem_of_nil in Hx].
    - destruct (evals arguments r m) as [args|] eqn:E; [|done]. rewrite (evals_mono _ _ _ rest _ E).
      destruct (M function) as [fd|].
      { intros _ [Hx|Hx]; [|by apply elem_of_nil in Hx]. in_app; [by eapply evals_reads_owned|by apply elem_of_nil in Hx]. }
      destruct (B cpu function args m) as [[[v m']|]|] eqn:Eb; [|done|].
      + intros _ [Hx|Hx]; [in_app; [by eapply evals_reads_owned|]|]; (eapply builtin_owned; [exact Eb|auto]).
      + destruct (builtin_untouched _ _ _ _ _ Eb) as [-> ->]. intros _ [Hx|Hx];
          [in_app; [by eapply evals_reads_owned|]|]; by apply elem_of_nil in Hx.
  Qed.

  (** A CPU outside the kernel touches no cells of the kernel's. *)
  Definition system_foot (c : nat) (t : ast A) : list cell :=
    match t with Idle _ _ => [] | Busy _ e => reads M e ++ writes M e end.

  Lemma system_next_more c (t : ast A) rest :
    match anext A c t with
    | ADone => anext A c (system_put t (amem A t ∪ rest)) = ADone
    | AStuck => True
    | ATau t' => anext A c (system_put t (amem A t ∪ rest)) = ATau (system_put t' (amem A t' ∪ rest)) /\
        dom (amem A t') =@{gset cell} dom (amem A t)
    | APrim p => anext A c (system_put t (amem A t ∪ rest)) = APrim p
    end.
  Proof.
    destruct t as [s m|s e]; cbn [anext amem system system_next system_mem system_put enext emem estart c_engine].
    - destruct (cnext C c s) as [|s'|f args|v]; try done.
      destruct (M f) as [fd|]; [|done]. by destruct (exported f && Nat.eqb _ _).
    - pose proof (next_more c e rest) as Hm. pose proof (next_dom kernel_entry M c e) as Hd.
      destruct (next B M c e) as [v m| |e'|p]; [|done| |].
      + destruct Hm as [-> ->]. done.
      + rewrite Hm. split; [done|]. by apply Hd.
      + by rewrite Hm.
  Qed.

  Lemma system_foot_owned c (t : ast A) rest x : anext A c t <> AStuck ->
    x ∈ system_foot c (system_put t (amem A t ∪ rest)) -> is_Some (amem A t !! x).
  Proof.
    destruct t as [s m|s e]; simpl; [by intros _ ?%elem_of_nil|].
    intros Hn Hx%elem_of_app. eapply (reads_owned c); [|exact Hx]. intros Hs. by rewrite Hs in Hn.
  Qed.

  Program Definition shared_kernel : shareable A := {|
    aput := system_put;
    afoot := system_foot;
  |}.
  Next Obligation. by destruct s as [|? []]. Qed.
  Next Obligation. by destruct s as [|? []]. Qed.
  Next Obligation. by destruct s as [|? []]. Qed.
  Next Obligation. destruct s as [|? [k ? ?]]; [done|]. unfold resume, cput; simpl. by destruct k as [|[[]| | |] ?]. Qed.
  Next Obligation. destruct s as [|? [k ? ?]]; [done|]. unfold resume, cput; simpl. by destruct k as [|[[]| | |] ?]. Qed.
  Next Obligation. intros. apply system_next_more. Qed.
  Next Obligation. intros. by eapply system_foot_owned. Qed.
End code.
