(** A client that keeps the requirements, VI: rules for each call of a script. *)
From Ashlar Require Export witness.Shares witness.Chapters.
From Ashlar Require Import layers.sched.Top.

Section calls.
  Context (kernel_entry : Z -> Z) (root_quota : Z) (frames_start : frame_memory) (shares_start : share_state).
  Notation X := (kernel_layout kernel_entry root_quota frames_start shares_start).
  Notation specification := (kernel_top kernel_entry root_quota frames_start shares_start).
  Notation with_owned := (with_owned kernel_entry root_quota frames_start shares_start).
  Notation quiet := (quiet kernel_entry root_quota frames_start shares_start).
  Context (home : nat -> label -> objects X -> states X -> Prop).
  Context (c : nat) (not_root : mine c < NUM_PROCESS - 1).
  Notation does := (does X may specification home c).
  Notation careful := (careful X may specification home).
  Notation K := (K kernel_entry root_quota frames_start shares_start c).
  Notation home_knows := (home_knows kernel_entry root_quota frames_start shares_start c).
  Notation p := (mine c).
  Notation q := (helper c).
  Implicit Types (a : objects X) (m : gmap Z container) (F : frames_known) (h : owned_frames) (s : page_map) (x : share).

  Lemma home_stable a m F s x : TopTotal.stable X may c a (K m F (home_knows s x)).
  Proof using not_root. apply K_stable; [done|]. apply home_knows_stable. Qed.
  Lemma rest_stable a s x : TopTotal.stable X may c a (home_knows s x).
  Proof using. apply home_knows_stable. Qed.
  Lemma rest_indifferent s x : indifferent kernel_entry root_quota frames_start shares_start (home_knows s x).
  Proof using. apply home_knows_indifferent. Qed.
  Hint Resolve home_stable rest_stable rest_indifferent : core.
  Lemma mine_works : works c p. Proof using. by left. Qed.
  Lemma helper_works : works c q. Proof using. by right. Qed.
  Lemma mine_helper : q <> p. Proof using. unfold mine, helper. lia. Qed.

  (** ** Containers *)
  Context (d : Z) (d_nonnegative : 0 <= d).
  Notation books := (books c).

  Lemma does_containers f (g : list Z -> option (gmap Z container -> option (Z * gmap Z container))) args g' κ a m F s x :
    specification f args = Some (top_function X (container_slot kernel_entry root_quota frames_start shares_start) g args) ->
    a !! Containers = None -> g args = Some g' -> keeps (svalid := container_valid) g ->
    (forall cs, container_valid cs -> (forall r, works c r -> cs !! r = m !! r) ->
       exists v cs' m', g' cs = Some (v, cs') /\ (forall r, r <> ROOT -> ~ works c r -> cs' !! r = cs !! r) /\
         (forall r, works c r -> cs' !! r = m' !! r) /\ does (κ v) a (K m' F (home_knows s x))) ->
    does (Invoke f args κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Hf Ha Hg Hk H. eapply does_call; [done|exact Hf|].
    match goal with |- TopTotal.total X may c ?P ?t ?b ?k => assert (E : t = bind t Ret) end.
    { unfold top_function. by rewrite Hg. }
    rewrite E. eapply total_containers; [done|done|done|exact Ha|exact Hg|exact Hk|exact H].
  Qed.
  Lemma does_read f g (read : container -> Z) r κ a m F s x :
    specification f [r] = Some (top_function X (container_slot kernel_entry root_quota frames_start shares_start) (update1 g) [r]) ->
    g = container_read read -> a !! Containers = None -> works c r ->
    (forall v, does (κ v) a (K m F (home_knows s x))) -> does (Invoke f [r] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Hf -> Ha Hr Hκ. eapply does_containers; [exact Hf|done|reflexivity|apply container_read_keeps|].
    intros cs Hv Hm. destruct (valid_container cs r Hv) as [y Hy]; [pose proof (works_range c not_root r Hr); unfold ROOT; lia|].
    exists (read y), cs, m. split; [unfold container_read; by rewrite Hy|]. split; [done|]. split; [done|]. apply Hκ.
  Qed.
  Lemma does_split r n κ a m F s x : a !! Containers = None -> works c r -> 0 <= n < 2 ^ 32 -> books d m F ->
    (forall v m', books d m' F -> does (κ v) a (K m' F (home_knows s x))) ->
    does (Invoke "container_split" [ROOT; r; n] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hr Hn Hb Hκ. pose proof (works_range c not_root r Hr) as Hr'.
    eapply does_containers; [reflexivity|done|reflexivity|apply container_split_keeps|]. intros cs Hv Hm.
    destruct (valid_container cs r Hv) as [y Hy]; [unfold ROOT; lia|].
    destruct (valid_container cs ROOT Hv) as [z Hz]; [unfold ROOT, NUM_PROCESS; lia|]. unfold container_split.
    assert (container_id ROOT && container_id r && negb (ROOT =? r) && container.Spec.word32 n = true) as ->.
    { unfold container_id, container.Spec.word32, ROOT in *. unfold NUM_PROCESS in *. lia. }
    rewrite Hz, Hy. destruct (negb (exists_ z) || exists_ y) eqn:E.
    { exists ERR_BAD_STATE, cs, m. split; [done|]. split; [done|]. split; [done|]. by apply Hκ. }
    destruct (quota z - usage z <? n).
    { exists ERR_QUOTA, cs, m. split; [done|]. split; [done|]. split; [done|]. by apply Hκ. }
    apply orb_false_iff in E as [_ Ey]. pose proof (valid_ok cs Hv r y Hy) as Hok. unfold container_ok in Hok. rewrite Ey in Hok. subst y.
    assert (Hmr : m !! r = Some absent) by (rewrite <- Hm; done).
    eexists _, _, (<[r := Container true ROOT n 0 0 0]> m). split; [reflexivity|]. split; [|split; [|apply Hκ]].
    - intros r' H1 H2. assert (r <> r') by (intros ->; done). by rewrite !lookup_insert_ne.
    - intros r' Hr1. destruct (decide (r = r')) as [<-|]; [by rewrite !lookup_insert|].
      rewrite !lookup_insert_ne by (done || by apply not_eq_sym, (works_not_root c not_root)). by apply Hm.
    - destruct (proj1 Hb r Hr) as (y & Hy' & Hn' & _). rewrite Hmr in Hy'. injection Hy' as <-. simpl in Hn'.
      eapply books_update; [exact Hb|exact Hr|exact Hmr|done|by left|done|]. simpl. lia.
  Qed.
  Lemma does_merge r κ a m F s x : a !! Containers = None -> works c r -> books d m F ->
    (forall v m', books d m' F -> does (κ v) a (K m' F (home_knows s x))) ->
    does (Invoke "container_merge" [r] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hr Hb Hκ. pose proof (works_range c not_root r Hr) as Hr'.
    eapply does_containers; [reflexivity|done|reflexivity|apply container_merge_keeps|]. intros cs Hv Hm.
    destruct (valid_container cs r Hv) as [y Hy]; [unfold ROOT; lia|].
    destruct (valid_container cs ROOT Hv) as [z Hz]; [unfold ROOT, NUM_PROCESS; lia|]. unfold container_merge.
    rewrite (proj2 (Z.eqb_neq r ROOT)) by by apply (works_not_root c not_root). rewrite Hy.
    destruct (negb (exists_ y) || negb (usage y =? 0) || negb (children y =? 0)) eqn:E.
    { exists ERR_BAD_STATE, cs, m. split; [done|]. split; [done|]. split; [done|]. by apply Hκ. }
    assert (Hmr : m !! r = Some y) by (rewrite <- Hm; done).
    destruct (proj1 Hb r Hr) as (y' & Hy' & Hn & Hp). rewrite Hmr in Hy'. injection Hy' as <-.
    assert (Ey : exists_ y = true /\ usage y = 0) by (destruct (exists_ y); [split; [done|lia]|done]). destruct Ey as [Ey Eu].
    rewrite (Hp Ey), Hz. pose proof (valid_ok cs Hv r y Hy) as Hok. unfold container_ok in Hok. rewrite Ey in Hok.
    eexists _, _, (<[r := absent]> m). split; [reflexivity|]. split; [|split; [|apply Hκ]].
    - intros r' H1 H2. assert (r <> r') by (intros ->; done). by rewrite !lookup_insert_ne.
    - intros r' Hr1. destruct (decide (r = r')) as [<-|]; [by rewrite !lookup_insert|].
      rewrite !lookup_insert_ne by (done || by apply not_eq_sym, (works_not_root c not_root)). by apply Hm.
    - eapply books_update; [exact Hb|exact Hr|exact Hmr|done|done|done|]. simpl. lia.
  Qed.
  (** Charged without a frame: the debt is remembered. *)
  Lemma does_charge n κ a m F s x : a !! Containers = None -> 0 <= n < 2 ^ 32 -> books d m F ->
    (forall v, v <> STATUS_OK -> does (κ v) a (K m F (home_knows s x))) ->
    (forall m', books (d + n) m' F -> does (κ STATUS_OK) a (K m' F (home_knows s x))) ->
    does (Invoke "container_charge" [p; n] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hn Hb Hno Hok. eapply does_call; [done|reflexivity|].
    change (TopTotal.total X may c (fun v a' st' => careful c (κ v) a' st')
      (bind (top_function X (container_slot kernel_entry root_quota frames_start shares_start) (update2 container_charge) [p; n]) Ret) a
      (K m F (home_knows s x))).
    eapply total_charge; [done|done|done|exact Ha|apply mine_works|exact Hb|done|exact Hno|].
    intros y Hy Ey. apply Hok. destruct (proj1 Hb p mine_works) as (y' & Hy' & Hn' & _). rewrite Hy in Hy'. injection Hy' as <-.
    rewrite Z.eqb_refl in Hn'. eapply books_update; [exact Hb|apply mine_works|exact Hy| |by right|cbn; congruence|].
    - intros r Hr. rewrite (proj2 (Z.eqb_neq r p)) by done. done.
    - rewrite Z.eqb_refl. cbn [set_usage usage granted]. lia.
  Qed.
  Lemma does_refund n κ a m F s x : a !! Containers = None -> 1 <= n -> books (d + n) m F ->
    (forall m', books d m' F -> does (κ 0) a (K m' F (home_knows s x))) ->
    does (Invoke "container_refund" [p; n] κ) a (K m F (home_knows s x)).
  Proof using not_root d_nonnegative.
    intros Ha Hn Hb Hκ. eapply does_call; [done|reflexivity|].
    change (TopTotal.total X may c (fun v a' st' => careful c (κ v) a' st')
      (bind (top_function X (container_slot kernel_entry root_quota frames_start shares_start) (update2 container_refund) [p; n]) Ret) a
      (K m F (home_knows s x))).
    destruct (proj1 Hb p mine_works) as (y & Hy & Hn' & _). rewrite Z.eqb_refl in Hn'. pose proof (count_nonnegative p F) as H0.
    eapply total_refund; [done|done|done|exact Ha|apply mine_works|exact Hy|lia|]. apply Hκ.
    eapply books_update; [exact Hb|apply mine_works|exact Hy| |by right|cbn; congruence|].
    - intros r Hr. rewrite (proj2 (Z.eqb_neq r p)) by done. done.
    - rewrite Z.eqb_refl. cbn [set_usage usage granted]. lia.
  Qed.

  (** ** Frames *)
  Lemma does_alloc κ a h m F s x : quiet a h -> books d m F -> (forall f, F !! f = None -> h !! f = None) ->
    (forall v m', NUM_FRAME <= v -> books d m' F -> does (κ v) a (K m' F (home_knows s x))) ->
    (forall f m', 0 <= f < NUM_FRAME -> F !! f = None -> books d m' (<[f := (only p, false)]> F) ->
       does (κ f) a (K m' (<[f := (only p, false)]> F) (home_knows s x))) ->
    does (Invoke "frame_alloc" [p] κ) a (K m F (home_knows s x)).
  Proof using not_root d_nonnegative.
    intros Ha Hb Hh Hno Hok. eapply does_call; [done|reflexivity|].
    eapply total_alloc; [done|exact d_nonnegative|done|done|exact Ha|apply mine_works|exact Hb|exact Hh| |exact Hok].
    intros v m' Hv Hb'. apply Hno; [by destruct Hv as [-> | ->]|done].
  Qed.
  Lemma does_alloc_private κ a h m F s x : quiet a h -> books d m F ->
    (forall v m', NUM_FRAME <= v -> books d m' F -> does (κ v) a (K m' F (home_knows s x))) ->
    (forall f m', 0 <= f < NUM_FRAME -> F !! f = None -> books d m' (<[f := (only p, true)]> F) ->
       does (κ f) (with_owned (<[f := Some ∅]> h) a) (K m' (<[f := (only p, true)]> F) (home_knows s x))) ->
    does (Invoke "frame_alloc_private" [p] κ) a (K m F (home_knows s x)).
  Proof using not_root d_nonnegative.
    intros Ha Hb Hno Hok. eapply does_call; [done|reflexivity|].
    eapply total_alloc_private; [done|exact d_nonnegative|done|done|exact Ha|apply mine_works|exact Hb| |exact Hok].
    intros v m' Hv Hb'. apply Hno; [by destruct Hv as [-> | ->]|done].
  Qed.
  Lemma does_remove_owner f r mk b κ a h m F s x : quiet a h -> works c r -> books d m F -> F !! f = Some (mk, b) ->
    Z.testbit mk r = true -> (b = true -> mk = only r /\ is_Some (h !! f)) ->
    (forall v m', books d m' (removed f r mk b F) ->
       does (κ v) (with_owned (if b then delete f h else h) a) (K m' (removed f r mk b F) (home_knows s x))) ->
    does (Invoke "frame_remove_owner" [f; r] κ) a (K m F (home_knows s x)).
  Proof using not_root d_nonnegative.
    intros Ha Hr Hb HF Hbit Hp Hκ. eapply does_call; [done|reflexivity|].
    eapply total_remove_owner; [done|exact d_nonnegative|done|done|exact Ha|exact Hr|exact Hb|exact HF|exact Hbit|exact Hp|].
    intros m' Hb'. by apply (Hκ STATUS_OK).
  Qed.
  Lemma does_add_owner f r mk κ a h m F s x : quiet a h -> works c r -> books d m F -> F !! f = Some (mk, false) ->
    (forall v m', v <> STATUS_OK -> books d m' F -> does (κ v) a (K m' F (home_knows s x))) ->
    (forall m', Z.testbit mk r = false -> books d m' (<[f := (Z.lor mk (only r), false)]> F) ->
       does (κ STATUS_OK) a (K m' (<[f := (Z.lor mk (only r), false)]> F) (home_knows s x))) ->
    does (Invoke "frame_add_owner" [f; r] κ) a (K m F (home_knows s x)).
  Proof using not_root d_nonnegative.
    intros Ha Hr Hb HF Hno Hok. eapply does_call; [done|reflexivity|].
    eapply total_add_owner; [done|exact d_nonnegative|done|done|exact Ha|exact Hr|exact Hb|exact HF|exact Hno|exact Hok].
  Qed.
  (** Numbers that are no frame's. *)
  Lemma does_no_frame name κ a m F s x r : name = "frame_add_owner"%string \/ name = "frame_remove_owner"%string ->
    does (κ ERR_BAD_STATE) a (K m F (home_knows s x)) -> does (Invoke name [NUM_FRAME; r] κ) a (K m F (home_knows s x)).
  Proof using not_root. intros [-> | ->] Hκ; (eapply does_call; [done|reflexivity|]); exact Hκ. Qed.
  Lemma does_owners f κ a h m F s x : quiet a h -> 0 <= f -> (forall v, does (κ v) a (K m F (home_knows s x))) ->
    does (Invoke "frame_owners" [f] κ) a (K m F (home_knows s x)).
  Proof using not_root. intros Ha Hf Hκ. eapply does_call; [done|reflexivity|]. eapply (total_owners _ _ _ _ c not_root); done. Qed.
  Lemma does_state f κ a h m F s x : quiet a h -> 0 <= f -> (forall v, does (κ v) a (K m F (home_knows s x))) ->
    does (Invoke "frame_state" [f] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hf Hκ. pose proof Ha as (H1 & H2 & H3). eapply does_call; [done|reflexivity|]. cbn [snd]. unfold top_state.
    destruct (Z.ltb_spec f NUM_FRAME); [|apply Hκ].
    eapply total_look; [done|done|done|done|exact H3|apply frame_state_look| |].
    - intros t. unfold frame_state. rewrite (proj2 (frame_id_true f)) by lia. by eexists.
    - intros v. rewrite with_owned_id by done. apply Hκ.
  Qed.
  Lemma does_free_count κ a h m F s x : quiet a h -> (forall v, does (κ v) a (K m F (home_knows s x))) ->
    does (Invoke "frame_free_count" [] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hκ. pose proof Ha as (H1 & H2 & H3). eapply does_call; [done|reflexivity|]. cbn [snd]. unfold top_free_count.
    eapply total_look; [done|done|done|done|exact H3|apply frame_free_count_look|by eexists|].
    intros v. rewrite with_owned_id by done. apply Hκ.
  Qed.

  (** ** Shares *)
  Notation i := (own_share c).
  Lemma does_share name f args g κ a m F s x :
    specification name args = Some (top_share X (share_slot kernel_entry root_quota frames_start shares_start) f args) ->
    a !! Objects.Shares = None -> f args = Some g ->
    (forall ss, own_shares c ss x -> exists v ss' x', g ss = Some (v, ss') /\ own_change c ss ss' x x' /\
       does (κ v) a (K m F (home_knows s x'))) ->
    does (Invoke name args κ) a (K m F (home_knows s x)).
  Proof using not_root. intros Hn Ha Hf Hg. eapply does_call; [done|exact Hn|]. eapply total_share; [done|done|exact Hf|exact Hg]. Qed.
  Lemma does_share_frame κ a m F s x : a !! Objects.Shares = None -> (forall v, does (κ v) a (K m F (home_knows s x))) ->
    does (Invoke "share_frame" [i] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hκ. eapply does_share; [reflexivity|done|reflexivity|]. intros ss Hss. pose proof Hss as (_ & Hx & _).
    exists (accepted x), ss, x. split; [unfold share.Spec.share_frame; by rewrite Hx|]. split; [by apply own_change_refl|apply Hκ].
  Qed.
  Lemma does_withdraw r κ a m F s x : a !! Objects.Shares = None -> works c (from x) ->
    (forall v x', from x' = from x -> to x' = to x -> x' = x \/ x' = set_offered NONE x -> does (κ v) a (K m F (home_knows s x'))) ->
    does (Invoke "share_withdraw" [i; r] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hw Hκ. eapply does_share; [reflexivity|done|reflexivity|]. intros ss Hss.
    destruct (withdraw_change c not_root ss x r Hss Hw) as (v & ss' & x' & E & Hch & Hx'). exists v, ss', x'. split; [exact E|].
    split; [exact Hch|]. by apply Hκ; [apply Hch..|].
  Qed.
  Lemma does_forget f κ a m F s x : a !! Objects.Shares = None -> from x = p ->
    (forall v, does (κ v) a (K m F (home_knows s (share.Spec.without p (fun g => (f =? NONE) || (g =? f)) x)))) ->
    does (Invoke "share_forget" [p; f] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hx Hκ. eapply does_share; [reflexivity|done|reflexivity|]. intros ss Hss.
    destruct (end_all_change c not_root ss x (fun g => (f =? NONE) || (g =? f)) Hss Hx) as (v & ss' & E & Hch). by eexists _, _, _.
  Qed.
  Lemma does_process_ended κ a m F s x : a !! Objects.Shares = None -> from x = p ->
    (forall v, does (κ v) a (K m F (home_knows s (share.Spec.without p (fun _ => true) x)))) ->
    does (Invoke "share_process_ended" [p] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hx Hκ. eapply does_share; [reflexivity|done|reflexivity|]. intros ss Hss.
    destruct (end_all_change c not_root ss x (fun _ => true) Hss Hx) as (v & ss' & E & Hch). by eexists _, _, _.
  Qed.
  Lemma does_offer r f κ a h m F s x : quiet a h -> a !! Objects.Shares = None -> works c r -> 0 <= f < NUM_FRAME ->
    (forall v x', from x' = from x -> to x' = to x -> x' = x \/ x' = set_offered f x -> does (κ v) a (K m F (home_knows s x'))) ->
    does (Invoke "share_offer" [i; r; f] κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hno Hr Hf Hκ. eapply does_call; [done|reflexivity|]. eapply (total_offer _ _ _ _ c not_root); [exact Ha|done|done|done|exact Hκ].
  Qed.
  Lemma does_accept r mk κ a h m F s x : quiet a h -> a !! Objects.Shares = None -> works c r -> works c (from x) ->
    books d m F -> (offered x <> NONE -> F !! offered x = Some (mk, false)) ->
    (forall v m' x', v <> STATUS_OK -> from x' = from x -> to x' = to x -> x' = x \/ offered x' = NONE -> books d m' F ->
       does (κ v) a (K m' F (home_knows s x'))) ->
    (forall m' x', from x' = from x -> to x' = to x -> x' = x \/ offered x' = NONE -> Z.testbit mk r = false ->
       F !! offered x = Some (mk, false) -> books d m' (<[offered x := (Z.lor mk (only r), false)]> F) ->
       does (κ STATUS_OK) a (K m' (<[offered x := (Z.lor mk (only r), false)]> F) (home_knows s x'))) ->
    does (Invoke "share_accept" [i; r] κ) a (K m F (home_knows s x)).
  Proof using not_root d_nonnegative.
    intros Ha Hno Hr Hw Hb HF H1 H2. eapply does_call; [done|reflexivity|].
    eapply (total_accept _ _ _ _ c not_root _ _ d d_nonnegative); [exact Ha|done|done|done|exact Hb|exact HF|exact H1|exact H2].
  Qed.

  (** ** The CPU's ready queues *)
  Definition with_ready (r : ready) (a : objects X) : objects X := <[ReadyQueues := ReadyState (Z.of_nat c) r]> a.
  Definition queue_functions : list (string * (list Z -> option (cpu_ready -> option (Z * cpu_ready)))) :=
    [("sched_ready_insert", ready_insert); ("sched_ready_remove", ready_remove);
     ("sched_ready_take", ready_take); ("sched_ready_park", ready_park); ("sched_ready_best", ready_read_best);
     ("thread_priority", read_priority); ("thread_state", read_state);
     ("thread_set_priority", write_priority); ("thread_set_state", write_state)]%string.
  Definition queue_step (f : string) (args : list Z) (r : ready) : option (Z * ready) :=
    match Functions.find f queue_functions with
    | Some g => match g args with Some g => match g (Z.of_nat c, r) with Some (v, (_, r')) => Some (v, r') | None => None end | None => None end
    | None => None
    end.
  Fixpoint queue_steps (l : list (string * list Z)) (r : ready) : option ready :=
    match l with
    | [] => Some r
    | (f, args) :: l => match queue_step f args r with Some (_, r') => queue_steps l r' | None => None end
    end.
  Lemma queue_function_spec f g args : Functions.find f queue_functions = Some g ->
    specification f args = Some (top_own (kernel_ready kernel_entry root_quota frames_start shares_start) g args).
  Proof using.
    intros [H _]%Functions.find_some. unfold queue_functions in H.
    repeat (apply elem_of_cons in H as [[= -> ->]|H]; [reflexivity|]). by apply elem_of_nil in H.
  Qed.
  Lemma does_queue_step f args κ a r v r' m F s x : a !! ReadyQueues = Some (ReadyState (Z.of_nat c) r) ->
    queue_step f args r = Some (v, r') -> (forall s' : Z * ready, s'.1 = Z.of_nat c -> True) ->
    does (κ v) (with_ready r' a) (K m F (home_knows s x)) -> does (Invoke f args κ) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hs _ Hκ. unfold queue_step in Hs. destruct (Functions.find f queue_functions) as [g|] eqn:Ef; [|done].
    pose proof (queue_function_spec f g args Ef) as Hspec. eapply does_call; [done|exact Hspec|].
    unfold top_own, own_function. destruct (g args) as [g'|] eqn:Eg; [|done].
    destruct (g' (Z.of_nat c, r)) as [[w [k r1]]|] eqn:Er; [|done]. injection Hs as -> ->.
    assert (k = Z.of_nat c) as ->.
    { apply Functions.find_some in Ef as [H _]. unfold queue_functions in H.
      repeat (apply elem_of_cons in H as [[= -> ->]|H]);
        [..|by apply elem_of_nil in H]; clear -Eg Er;
        repeat (destruct args as [|? args]; try done);
        cbn [ready_insert ready_remove ready_take ready_park ready_read_best read_priority read_state write_priority write_state] in Eg;
        try (apply cpu_args_inv in Eg as [_ ->]; apply of_cpu_inv in Er as (E0 & E & _); simpl in E0, E; congruence);
        injection Eg as <-; cbn in Er; repeat case_match; by simplify_eq. }
    cbn [TopTotal.total]. exists v, (with_ready r' a). split; [|split; [|exact Hκ]].
    - unfold on_own. change (own_object (kernel_ready kernel_entry root_quota frames_start shares_start)) with ReadyQueues.
      match goal with |- context [@lookup ?A ?B ?C ?D ReadyQueues a] =>
        replace (@lookup A B C D ReadyQueues a) with (Some (ReadyState (Z.of_nat c) r)) by (symmetry; exact Ha) end.
      cbn [own_out kernel_ready]. rewrite Er. done.
    - apply same_held_insert. right. apply no_lock_ready.
  Qed.
  Lemma with_ready_twice r r' a : with_ready r (with_ready r' a) = with_ready r a.
  Proof using. apply insert_insert. Qed.
  Lemma does_queue_steps l k a r r' m F s x : a !! ReadyQueues = Some (ReadyState (Z.of_nat c) r) ->
    queue_steps l r = Some r' ->
    does k (with_ready r' a) (K m F (home_knows s x)) -> does (calls_all l k) a (K m F (home_knows s x)).
  Proof using not_root.
    intros Ha Hl Hk. revert a r Ha Hl Hk. induction l as [|[f args] l IH]; intros a r Ha Hl Hk.
    - injection Hl as <-. unfold with_ready in Hk. by rewrite insert_id in Hk.
    - cbn [queue_steps calls_all] in *. destruct (queue_step f args r) as [[v r1]|] eqn:E; [|done].
      eapply does_queue_step; [exact Ha|exact E|done|]. eapply IH; [apply lookup_insert|exact Hl|]. by rewrite with_ready_twice.
  Qed.
End calls.
