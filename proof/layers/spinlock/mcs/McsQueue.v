(** The queue of an MCS lock stays well-formed: a CPU's predecessor is the one before it in the queue, and the first of the
    queue is the only one that has entered. *)
From Ashlar Require Export layers.spinlock.mcs.McsProtocol.

(** ** Predecessors and successors *)

Lemma head_elem (c : nat) l : head l = Some c -> c ∈ l.
Proof. destruct l; [done|]. intros [= ->]. left. Qed.
Lemma next_in_elem c d l : next_in c l = Some d -> c ∈ l /\ d ∈ l.
Proof.
  induction l as [|x l IH]; [done|]. simpl. destruct (decide (x = c)) as [->|].
  - destruct l as [|y l]; [done|]. intros [= ->]. split; [left|right; left].
  - intros [? ?]%IH. split; by right.
Qed.
Lemma next_in_absent c l : c ∉ l -> next_in c l = None.
Proof. destruct (next_in c l) eqn:E; [|done]. by apply next_in_elem in E as [? _]. Qed.
Lemma next_in_app c d l r : next_in c l = Some d -> next_in c (l ++ r) = Some d.
Proof. induction l as [|x l IH]; [done|]. simpl. destruct (decide (x = c)); [by destruct l|done]. Qed.
Lemma next_in_app_none c d l : c ∉ l -> last l <> Some d -> next_in d (l ++ [c]) = next_in d l.
Proof.
  intros Hc. induction l as [|x l IH]; simpl.
  { intros _. by destruct (decide (c = d)). }
  intros Hl. destruct (decide (x = d)) as [->|]; [by destruct l|]. apply IH; [|by destruct l].
  intros ?. apply Hc. by right.
Qed.
Lemma next_in_last b l : NoDup l -> last l = Some b -> next_in b l = None /\ forall c, next_in b (l ++ [c]) = Some c.
Proof.
  induction l as [|x l IH]; intros Hnd Hl; [done|]. apply NoDup_cons in Hnd as [Hx Hnd]. simpl. destruct l as [|y l].
  - injection Hl as ->. split; [|intros c]; by destruct (decide _).
  - change (last (y :: l) = Some b) in Hl. assert (Hne : x <> b).
    2:{ destruct (IH Hnd Hl) as [H1 H2]. split; [|intros c]; rewrite decide_False; [exact H1|done|apply H2|done]. }
    intros ->. apply Hx. apply last_Some in Hl as [l' ->]. apply elem_of_app. right. left.
Qed.
Lemma next_in_not_head b d l : NoDup l -> next_in b l = Some d -> head l <> Some d.
Proof.
  destruct l as [|x l]; [done|]. intros Hnd. apply NoDup_cons in Hnd as [Hx Hnd]. simpl. intros H [= ->]. apply Hx.
  destruct (decide (d = b)); [by apply head_elem|]. by apply next_in_elem in H as [_ ?].
Qed.
Lemma next_in_inj b b' d l : NoDup l -> next_in b l = Some d -> next_in b' l = Some d -> b = b'.
Proof.
  induction l as [|x l IH]; [done|]. intros Hnd. apply NoDup_cons in Hnd as [Hx Hnd]. simpl.
  destruct (decide (x = b)) as [E1|], (decide (x = b')) as [E2|]; [congruence| | |].
  - intros H1 H2. by destruct (next_in_not_head _ _ _ Hnd H2).
  - intros H1 H2. by destruct (next_in_not_head _ _ _ Hnd H1).
  - by apply (IH Hnd).
Qed.
Lemma next_in_skip b h l : b <> h -> next_in b (h :: l) = next_in b l.
Proof. intros. simpl. by rewrite decide_False. Qed.
Lemma next_in_first h d l : next_in h l = Some d -> head l = Some h -> exists q, l = h :: d :: q.
Proof. destruct l as [|x [|y q]]; simpl; [done| |]; intros H [= ->]; rewrite decide_True in H by done; [done|]. injection H as ->. eauto. Qed.

(** ** What a place says about the line *)

Definition place_ok (t : mcs) (c : nat) (p : place) : Prop :=
  match p with
  | Ready => c ∉ line t
  | Joins b | Marks b => next_in b (line t) = Some c
  | Waits => exists b, next_in b (line t) = Some c
  | Let | Enters | Holds _ | Leaves | Tries => head (line t) = Some c
  | Seeks => head (line t) = Some c /\ exists d, next_in c (line t) = Some d
  | Passes d => head (line t) = Some c /\ next_in c (line t) = Some d /\ places t !! d = Some Waits
  end.

Record mcs_ok (t : mcs) : Prop := {
  ok_nodup : NoDup (line t);
  ok_line c : c ∈ line t -> is_Some (places t !! c);
  ok_place c p : places t !! c = Some p -> place_ok t c p;
  ok_cpu c p : places t !! c = Some p -> Z.of_nat c < NUM_CPU;
}.

Lemma linked_some t c d : linked t c = Some d <-> next_in c (line t) = Some d /\ places t !! d = Some Waits.
Proof.
  unfold linked. destruct (next_in c (line t)) as [x|]; [|by split; [|intros [? _]]].
  destruct (decide _) as [H|H].
  - split; [by intros [= <-]|by intros [[= <-] _]].
  - split; [done|]. intros [[= <-] ?]. done.
Qed.
Lemma ok_outside t c : mcs_ok t -> places t !! c = None -> c ∉ line t.
Proof. intros H E Hc. apply (ok_line _ H) in Hc as [p Hp]. congruence. Qed.

(** A CPU that does not wait to be let through moves on. *)
Lemma move_ok t c p : mcs_ok t -> Z.of_nat c < NUM_CPU -> places t !! c <> Some Waits ->
  place_ok t c p -> (forall d, p = Passes d -> d <> c) -> mcs_ok (move c p t).
Proof.
  intros [Hnd Hl Hp Hcpu] Hc Hw Hok Hd. split; cbn [move line places]; [done| | |].
  - intros x Hx. apply lookup_insert_is_Some. destruct (decide (c = x)); auto.
  - intros x q Hx. destruct (decide (c = x)) as [<-|Hne].
    + rewrite lookup_insert in Hx. injection Hx as <-. destruct p; try done.
      destruct Hok as (? & ? & ?). simpl. split_and!; try done. rewrite lookup_insert_ne; [done|].
      intros ->. by eapply Hd.
    + rewrite lookup_insert_ne in Hx by done. apply Hp in Hx. destruct q; try done.
      destruct Hx as (? & ? & ?). simpl. split_and!; try done. rewrite lookup_insert_ne; [done|].
      intros ->. done.
  - intros x q Hx. destruct (decide (c = x)) as [<-|Hne]; [done|].
    rewrite lookup_insert_ne in Hx by done. eauto.
Qed.

Lemma join_ok t c : mcs_ok t -> Z.of_nat c < NUM_CPU -> places t !! c = Some Ready -> mcs_ok (join c t).
Proof.
  intros [Hnd Hl Hp Hcpu] Hc HR. pose proof (Hp _ _ HR) as Hn. simpl in Hn. split; cbn [join line places].
  - apply NoDup_app. split_and!; [done| |apply NoDup_singleton]. by intros x Hx ->%elem_of_list_singleton.
  - intros x Hx. apply lookup_insert_is_Some. destruct (decide (c = x)); [auto|]. right. split; [done|].
    apply elem_of_app in Hx as [Hx|Hx%elem_of_list_singleton]; [auto|congruence].
  - intros x q Hx. destruct (decide (c = x)) as [<-|Hne].
    + rewrite lookup_insert in Hx. injection Hx as <-. destruct (last (line t)) as [b|] eqn:E; simpl.
      * by apply next_in_last.
      * apply last_None in E. by rewrite E.
    + rewrite lookup_insert_ne in Hx by done. apply Hp in Hx.
      assert (Hh : head (line t) = Some x -> head (line t ++ [c]) = Some x) by (by destruct (line t)).
      destruct q; simpl in *; try (by apply next_in_app); try (by apply Hh).
      * intros [?|?%elem_of_list_singleton]%elem_of_app; congruence.
      * destruct Hx as [b ?]. exists b. by apply next_in_app.
      * destruct Hx as (? & d & ?). split; [by apply Hh|]. exists d. by apply next_in_app.
      * destruct Hx as (? & ? & ?). split_and!; [by apply Hh|by apply next_in_app|].
        rewrite lookup_insert_ne; [done|]. intros ->. congruence.
  - intros x q Hx. destruct (decide (c = x)) as [<-|Hne]; [done|].
    rewrite lookup_insert_ne in Hx by done. eauto.
Qed.

Lemma empty_ok t c : mcs_ok t -> line t = [c] -> mcs_ok (empty c t).
Proof.
  intros [Hnd Hl Hp Hcpu] El. split; cbn [empty line places]; [constructor|by intros x ?%elem_of_nil| |].
  - intros x q [Hne Hx]%lookup_delete_Some. apply Hp in Hx.
    assert (Hno : forall b d, next_in b (line t) <> Some d) by (intros; rewrite El; simpl; by destruct (decide _)).
    assert (Hh : head (line t) <> Some x) by (rewrite El; simpl; congruence).
    destruct q; simpl in *; try (by apply Hno in Hx); try done.
    + by intros ?%elem_of_nil.
    + destruct Hx as [b ?]. by apply Hno in H.
    + by destruct Hx.
    + by destruct Hx.
  - intros x q [Hne Hx]%lookup_delete_Some. eauto.
Qed.

Lemma pass_ok t c d : mcs_ok t -> places t !! c = Some (Passes d) -> mcs_ok (pass c d t).
Proof.
  intros [Hnd Hl Hp Hcpu] HP. destruct (Hp _ _ HP) as (Hh & Hn & Hw).
  destruct (next_in_first _ _ _ Hn Hh) as [q El]. unfold pass. rewrite El. cbn [tail].
  pose proof Hnd as Hnd'. rewrite El in Hnd'. apply NoDup_cons in Hnd' as [Hcq Hndq].
  assert (Hcd : c <> d) by (intros ->; apply Hcq; left).
  split; cbn [line places].
  - done.
  - intros x Hx. apply lookup_insert_is_Some. destruct (decide (d = x)); [auto|]. right. split; [done|].
    rewrite lookup_delete_ne by (intros ->; done). apply Hl. rewrite El. by right.
  - intros x p Hx. destruct (decide (d = x)) as [<-|Hne].
    { rewrite lookup_insert in Hx. by injection Hx as <-. }
    rewrite lookup_insert_ne in Hx by done. apply lookup_delete_Some in Hx as [Hxc Hx]. apply Hp in Hx.
    assert (Hnx : forall b, next_in b (line t) = Some x -> next_in b (d :: q) = Some x).
    { intros b Hb. rewrite El in Hb. rewrite next_in_skip in Hb; [done|]. intros ->.
      rewrite <- El in Hb. congruence. }
    assert (Hhx : head (line t) <> Some x) by (rewrite El; simpl; congruence).
    destruct p; cbn [place_ok] in *; cbn [line places]; try (by apply Hnx); try done.
    + rewrite El in Hx. intros ?. apply Hx. by right.
    + destruct Hx as [b ?]. exists b. by apply Hnx.
    + by destruct Hx.
    + by destruct Hx.
  - intros x p Hx. destruct (decide (d = x)) as [<-|Hne]; [by eapply Hcpu|].
    rewrite lookup_insert_ne in Hx by done. apply lookup_delete_Some in Hx as [Hxc Hx]. eauto.
Qed.

Theorem shape_ok hold_bound k c o t t' : shape hold_bound k c o t t' -> Z.of_nat c < NUM_CPU -> mcs_ok t -> mcs_ok t'.
Proof.
  intros H Hc Hok. destruct H as [? E|n ? E|? E|? E|b ? E|b ? E|? E|? E|? E|n d ? E|? E El|p d ? E Hp El|? E El|h ? E El|? E El|d ? E];
    try done; try (apply move_ok; [done|done|congruence| |try done]); try pose proof (ok_place _ Hok _ _ E) as Hpl.
  - exact Hpl.
  - cbn. by apply ok_outside.
  - by apply join_ok.
  - exact Hpl.
  - by exists b.
  - exact Hpl.
  - exact Hpl.
  - exact Hpl.
  - exact Hpl.
  - apply linked_some in El as [El Hw]. assert (Hcw : places t !! c <> Some Waits) by (destruct Hp as [->| ->]; congruence).
    apply move_ok; try done.
    + destruct Hp as [->| ->]; [|destruct Hpl as [Hpl _]]; by split_and!.
    + intros d' [= <-] ->. done.
  - simpl in Hpl. rewrite El in Hpl. injection Hpl as ->. by apply empty_ok.
  - simpl in Hpl. destruct (line t) as [|x [|y q]] eqn:E'; [done|by destruct (El x)|]. injection Hpl as ->.
    cbn. rewrite E'. split; [done|]. exists y. simpl. by rewrite decide_True.
  - by apply pass_ok.
Qed.

Theorem replay_ok hold_bound k l t : replay hold_bound k l = Some t -> mcs_ok t.
Proof.
  revert t. induction l as [|e l IH]; intros t H.
  - injection H as <-. split; cbn; try done; [constructor|by intros c ?%elem_of_nil].
  - apply replay_cons in H as (t0 & H0 & Hs). apply mcs_step_shape in Hs as [Hc Hs]. eapply shape_ok; eauto.
Qed.
