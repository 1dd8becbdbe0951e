(** What a CPU was when it was last handed over: as long as a thread has its CPU, that stays. *)
From Ashlar Require Export machine.threads.LinkLogs.

Section handed.
  Context {D : Type} (L : layer cprim mem) (X : baton_data D mem) (nthread : nat) (home first : nat -> nat) (quiet : nat -> log L -> bool).
  Notation TL := (thread_layer L X nthread home first quiet).

  (** What was handed over last on CPU [c]; nothing before its first switch. *)
  Fixpoint last_handed (c : nat) (l : list (event (thread_op (lop L) D))) : option D :=
    match l with
    | [] => None
    | e :: l => match what e with USwitch _ _ d => if decide (home (who e) = c) then Some d else last_handed c l | _ => last_handed c l end
    end.
  Lemma handed_transit c l d : transit L home c l = Some d -> last_handed c l = Some d.
  Proof using. induction l as [|[t o] l IH]; [done|]. destruct o; simpl; case_decide; done || by apply IH. Qed.

  (** Thread [t] has its CPU, which was [h] when it was last handed over. *)
  Definition has_since (h : option D) (t : nat) (l : list (event (thread_op (lop L) D))) : Prop := has_cpu home first L t l /\ last_handed (home t) l = h.
  Lemma handed_others c e l : Forall (fun x => home (who x) <> c) e -> last_handed c (e ++ l) = last_handed c l.
  Proof using. induction 1 as [|[t o] e Hx He IH]; [done|]. simpl in *. destruct o; [done|by rewrite decide_False|done..]. Qed.
  Lemma handed_stable t e l : legal TL (e ++ l) -> on_cpu L home first t l -> others TL t e -> last_handed (home t) (e ++ l) = last_handed (home t) l.
  Proof using. intros Hleg Hon He. by apply handed_others, (baton_stable L X nthread home first quiet t e l Hleg Hon He). Qed.
  Lemma handed_rely G t l l' : on_cpu L home first t l -> rely TL G t l l' -> last_handed (home t) l' = last_handed (home t) l.
  Proof using. intros Hon (e & -> & He & _ & _ & Hleg). by apply handed_stable. Qed.
End handed.
