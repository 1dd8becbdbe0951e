(** The hardware with the switch: what the assembly of [arch_switch] and [arch_thread_init] is assumed to do.

    To a machine with atomic cells it adds one thing that all CPUs see: how each thread goes on when it is switched to. A
    switch takes this from the thread that it goes to, and notes for the thread that it leaves that it will return from its
    switch. Nothing is checked: that [from] is the thread that runs, and [to] another one of the same CPU that does not run, is
    what never going wrong on the layer of CPUs says. *)
From Ashlar Require Export machine.threads.Threads machine.Ownership.

Section hardware.
  Context {PRIM : Type} (H : hardware PRIM).

  Definition switch_step (p : tprim PRIM) (x : hcells H * (nat -> Z)) :
      option (Z * (hcells H * (nat -> Z)) * cpu_op (hmark H)) :=
    match p with
    | PBase p => match hstep H p x.1 with Some (v, y, o) => Some (v, (y, x.2), CBase o) | None => None end
    | PSwitch from to => Some (x.2 to, (x.1, fun t => if decide (from = t) then 0 else x.2 t), CSwitch from to)
    | PInit u v => Some (0, (x.1, fun t => if decide (u = t) then v else x.2 t), CInit u v)
    | PResume => None
    end.
  Definition switch_hardware : hardware (tprim PRIM) :=
    Hardware (tprim PRIM) (hcells H * (nat -> Z)) (hinit H, fun _ => 0) (cpu_op (hmark H)) switch_step.

  (** The marks of the hardware below. *)
  Definition base_marks (l : list (event (cpu_op (hmark H)))) : list (event (hmark H)) :=
    flat_map (fun e => match what e with CBase o => [Event (who e) o] | _ => [] end) l.
End hardware.

(** The layer of CPUs over a layer that transfers ownership transfers it, too: a switch moves no cell. *)
Section ownership.
  Context {PRIM : Type} {H : hardware PRIM} (O : ownership H) (nthread : nat) (home first : nat -> nat).
  Notation L := (olayer O).

  Definition switch_mark (o : cpu_op (lop L)) : cpu_op (hmark H) :=
    match o with CBase o => CBase (omark O o) | CSwitch from to => CSwitch from to | CInit t v => CInit t v end.
  Definition switch_ownership : ownership (switch_hardware H) :=
    Ownership (tprim PRIM) (switch_hardware H) (cpu_layer L nthread home first)
      (fun k l => ofree O k (base L l)) (fun k l => opublished O k (base L l)) switch_mark
      (fun l => (ocells O (base L l), fun t => started L t l)).

  Context (OK : ownership_ok O).

  Theorem switch_ownership_ok : ownership_ok switch_ownership.
  Proof using OK.
    split.
    - simpl. by rewrite (ok_start _ OK).
    - intros c p m l v m' o Hp. simpl in *. destruct p as [p|from to|u w|]; simpl in *; [|case_decide; [|done]..|done].
      + destruct (lstep L c p m (base L l)) as [| |v1 m1 o1] eqn:E; try done. injection Hp as -> -> <-.
        destruct (ok_step _ OK _ _ _ _ _ _ _ E) as [Hh Hx]. simpl. rewrite Hh. split; [done|].
        destruct Hx as [Hm Hk|k Hfree Hm Hk|k d Hm Hd Hk].
        * by apply exchange_none.
        * by eapply (exchange_pull _ _ _ _ _ k).
        * by eapply (exchange_push _ _ _ _ _ k d).
      + injection Hp as <- <- <-. simpl. split; [done|]. by apply exchange_none.
      + injection Hp as <- <- <-. simpl. split; [done|]. by apply exchange_none.
    - intros c p m l Hb. simpl in Hb. destruct p as [p|from to|u w|]; simpl in *; [|by case_decide..|done].
      pose proof (ok_blocked _ OK c p m (base L l)). by destruct (lstep L c p m (base L l)).
  Qed.

  Lemma base_marks_erase l : base_marks H (erase switch_ownership l) = erase O (base L l).
  Proof using. induction l as [|[c o] l IH]; [done|]. destruct o; simpl; [|exact IH..]. f_equal. exact IH. Qed.

  (** Switches neither help nor hinder the scheduler. *)
  Theorem switch_fairness_ok fairness : fairness_ok fairness O ->
    fairness_ok (H := switch_hardware H) (fun c l => fairness c (base_marks H l)) switch_ownership.
  Proof using. intros Hf c l. simpl. rewrite base_marks_erase. apply Hf. Qed.
End ownership.
