(** Linking below threads: the logs.

    A module of C that implements the primitives of a layer on CPUs, such as the spin locks, runs in threads. Below, threads
    over the layer [L0] with the module's code; above, threads over [L1]. An event of [L0] is seen as in [calculus/linking/Link.v],
    by [view]; switches are the same on both sides. *)
From Ashlar Require Export calculus.linking.Link machine.threads.Baton machine.threads.AgentThreads.

Section logs.
  Context {D : Type} (nthread : nat) (L0 L1 : layer cprim mem) (view : lop L0 -> list (lop L1)).
  Context (X : baton_data D mem) (home first : nat -> nat) (quiet : nat -> log L1 -> bool).
  Notation abs := (abs L0 L1 view).

  Definition quiet_below (c : nat) (l : log L0) : bool := quiet c (abs l).
  Notation TL0 := (thread_layer L0 X nthread home first quiet_below).
  Notation TL1 := (thread_layer L1 X nthread home first quiet).
  Notation base0 l := (base L0 (cpu_view L0 home l)).
  Notation base1 l := (base L1 (cpu_view L1 home l)).

  Definition thread_view (o : lop TL0) : list (lop TL1) :=
    match o with
    | UBase o => UBase <$> view o
    | USwitch from to d => [USwitch from to d]
    | UInit t v => [UInit t v]
    | UResume => [UResume]
    end.
  Definition thread_abs (l : log TL0) : log TL1 := flat_map (fun e => Event (who e) <$> thread_view (what e)) l.

  (** Thread [t] has its CPU, and has come back. *)
  Definition has_cpu (L : layer cprim mem) (t : nat) (l : list (event (thread_op (lop L) D))) : Prop :=
    on_cpu L home first t l /\ transit L home (home t) l = None.

  Lemma base_app (L : layer cprim mem) (e l : list (event (thread_op (lop L) D))) :
    base L (cpu_view L home (e ++ l)) = base L (cpu_view L home e) ++ base L (cpu_view L home l).
  Proof using. unfold base, cpu_view. rewrite flat_map_app. apply flat_map_app. Qed.
  Lemma thread_abs_app e l : thread_abs (e ++ l) = thread_abs e ++ thread_abs l.
  Proof using. apply flat_map_app. Qed.
  Lemma thread_abs_others t e : others TL0 t e -> others TL1 t (thread_abs e).
  Proof using.
    induction 1 as [|x e Hx He IH]; [constructor|]. simpl. apply Forall_app. split; [|done].
    apply Forall_fmap, Forall_forall. simpl. auto.
  Qed.

  (** Events that hand nothing over. *)
  Lemma base_events t (l : list (lop L1)) (k : log TL1) : let l' := (Event t <$> (UBase <$> l)) ++ k in
    base1 l' = (Event (home t) <$> l) ++ base1 k /\ (forall c, current_thread L1 first c (cpu_view L1 home l') = current_thread L1 first c (cpu_view L1 home k)) /\
    (forall c, transit L1 home c l' = transit L1 home c k) /\ (forall u, started L1 u (cpu_view L1 home l') = started L1 u (cpu_view L1 home k)).
  Proof using.
    induction l as [|o l (IH1 & IH2 & IH3 & IH4)]; [done|]. simpl in *. split_and!.
    - f_equal. exact IH1.
    - exact IH2.
    - intros c. by case_decide.
    - exact IH4.
  Qed.

  (** What the log says of CPUs and threads is the same seen from above. *)
  Lemma thread_abs_same l : base1 (thread_abs l) = abs (base0 l) /\
    (forall c, current_thread L1 first c (cpu_view L1 home (thread_abs l)) = current_thread L0 first c (cpu_view L0 home l)) /\
    (forall c, transit L1 home c (thread_abs l) = transit L0 home c l) /\
    (forall u, started L1 u (cpu_view L1 home (thread_abs l)) = started L0 u (cpu_view L0 home l)).
  Proof using.
    induction l as [|[t o] l (IH1 & IH2 & IH3 & IH4)]; [done|]. destruct o as [o|from to d|u v|].
    - destruct (base_events t (view o) (thread_abs l)) as (E1 & E2 & E3 & E4). simpl in *. split_and!.
      + rewrite E1. simpl. by rewrite IH1.
      + intros c. by rewrite E2.
      + intros c. rewrite E3, IH3. by case_decide.
      + intros u. by rewrite E4.
    - simpl in *. split_and!; [done| | |].
      + intros c. by rewrite IH2.
      + intros c. by rewrite IH3.
      + intros u. by rewrite IH4.
    - simpl in *. split_and!; [done| | |].
      + intros c. by rewrite IH2.
      + intros c. by rewrite IH3.
      + intros w. by rewrite IH4.
    - simpl in *. split_and!; [done|done| |done]. intros c. by rewrite IH3.
  Qed.
  Lemma thread_abs_base l : base1 (thread_abs l) = abs (base0 l).
  Proof using. apply thread_abs_same. Qed.
  Lemma thread_abs_has_cpu t l : has_cpu L1 t (thread_abs l) <-> has_cpu L0 t l.
  Proof using.
    destruct (thread_abs_same l) as (_ & E2 & E3 & _). unfold has_cpu, on_cpu. rewrite E2, E3. done.
  Qed.

  (** While a thread has its CPU, events of other threads are events of other CPUs. *)
  Lemma others_base (L : layer cprim mem) q (e l : log (thread_layer L X nthread home first q)) t :
    legal (thread_layer L X nthread home first q) (e ++ l) -> has_cpu L t l -> others (thread_layer L X nthread home first q) t e ->
    others L (home t) (base L (cpu_view L home e)) /\ has_cpu L t (e ++ l).
  Proof using.
    intros Hleg [Hon Htr] He. destruct (baton_stable L X nthread home first q t e l Hleg Hon He) as [Hall Hon'].
    split; [|split; [exact Hon'|]].
    - clear -Hall. induction Hall as [|[u o] e Hu Hall IH]; [constructor|]. destruct o as [o| | |]; [|exact IH..].
      simpl. constructor; [done|exact IH].
    - rewrite <- Htr. clear -Hall. induction Hall as [|[u o] e Hu Hall IH]; [done|]. simpl in *. by rewrite decide_False.
  Qed.
End logs.
