(** Triples about bodies. A [triple] speaks of a function that C code calls; [body_triple] of its body, so also of a function
    that a client calls. *)
From Ashlar Require Export lang.logic.Owned.

Section body.
  Context (kernel_entry : Z -> Z) (M : module) (cpu : nat).

  Definition body_triple (f : string) (args : list Z) (d : mem) (post : Z -> mem -> Prop) : Prop :=
    exists fd, M f = Some fd /\ length args = fn_params fd /\
      owned kernel_entry M cpu (fn_body fd) (fun _ d' => post 0 d') (fun _ _ => False) post
        (args ++ replicate (fn_locals fd) 0) d.

  Lemma body_triple_body f fd args d post : M f = Some fd -> length args = fn_params fd ->
    owned kernel_entry M cpu (fn_body fd) (fun _ d' => post 0 d') (fun _ _ => False) post
      (args ++ replicate (fn_locals fd) 0) d -> body_triple f args d post.
  Proof. intros. by exists fd. Qed.
  Lemma body_triple_triple f args d post : body_triple f args d post -> triple kernel_entry M cpu f args d post.
  Proof. intros (fd & HM & Hlen & Ho). by eapply triple_owned. Qed.
  Lemma body_triple_mono f args d (post post' : Z -> mem -> Prop) : (forall v d', post v d' -> post' v d') ->
    body_triple f args d post -> body_triple f args d post'.
  Proof.
    intros Hp (fd & HM & Hlen & Ho). exists fd. split; [done|]. split; [done|].
    eapply owned_mono; [| | |exact Ho]; cbn beta; [|done|]; intros; by apply Hp.
  Qed.
End body.
