(** Destruction of a page map, step by step: a page is unmapped, tables that the cursor leaves are freed, the cursor
    moves. *)
From Ashlar Require Export layers.pagemap.destroy.DropTable.
Local Opaque gmap_lookup gmap_partial_alter.

(** ** The states *)

Definition without_page (n : Z) (s : page_map) : page_map := PageMap (tables s) (delete n (leaves s)) (cursor s).
Definition with_cursor (v : Z) (s : page_map) : page_map := PageMap (tables s) (leaves s) v.

(** Where the entry of level [l] that covers page [n] ends. *)
Definition end_of (l n : Z) : Z := (n / span l + 1) * span l.

(** The tables of levels [l], [l + 1], .. (at most [k] of them) on the way to page [n] go, as long as they end at page [m]. *)
Fixpoint pass_tables (k : nat) (l n m : Z) (s : page_map) : page_map :=
  match k with
  | O => s
  | S k => if entry_index l m =? 0 then pass_tables k (l + 1) n m (without s (l, above l n)) else s
  end.
(** The cursor, at page [n], passes the entry of level [l] that covers it. *)
Definition pass_state (l n : Z) (s : page_map) : page_map :=
  with_cursor (4096 * end_of l n) (pass_tables (Z.to_nat (PAGEMAP_ROOT_LEVEL - l)) l n (end_of l n) s).

(** ** The steps *)

(** The entry of page [n] goes; it is the result, 0 if the page was not mapped. *)
Definition take_leaf (n : Z) (s : page_map) : option (Z * page_map) := Some (default 0 (leaves s !! n), without_page n s).
(** The cursor moves, if no table and no page is left behind it. *)
Definition move_cursor (v : Z) (s : page_map) : option (Z * page_map) :=
  if decide (pagemap_valid (with_cursor v s)) then Some (0, with_cursor v s) else None.

Lemma take_leaf_valid n s v s' : pagemap_valid s -> take_leaf n s = Some (v, s') -> pagemap_valid s'.
Proof.
  intros HV [= _ <-]. apply leaves_valid; [done|]. intros n' e [_ He]%lookup_delete_Some. by apply valid_leaf.
Qed.
Lemma move_cursor_inv v s w s' : move_cursor v s = Some (w, s') ->
  pagemap_valid (with_cursor v s) /\ w = 0 /\ s' = with_cursor v s.
Proof. unfold move_cursor. destruct (decide _); [|done]. by intros [= <- <-]. Qed.

(** ** The programs *)
Section programs.
  Context (X : layout) (kernel_entry : Z -> Z).
  Context (Yc : slot X (gmap Z container) container_rep container_valid) (Yf : slot X frame_memory frame_memory_rep frame_memory_valid) (H : owned_frames_slot X).
  Context (p : Z) (Y : slot X page_map (pagemap_rep kernel_entry p) pagemap_valid).
  Notation op := (slot_object Y).
  Notation drop_table := (drop_table X kernel_entry Yc Yf H p Y).

  (** The holder of the map's lock changes it. *)
  Definition on_held (g : page_map -> option (Z * page_map)) (κ : Z -> prog X) : prog X :=
    Loc (update_object op (lift Y g)) κ.
  (** Page [n] is taken out; its frame, if it is the process's own, is given back. *)
  Definition drop_leaf (n : Z) (κ : Z -> prog X) : prog X :=
    on_held (take_leaf n) (fun e => if has e ARCH_PTE_OWNED then remove_owner X Yc Yf H [entry_frame e; p] κ else κ 0).
  Fixpoint pass_levels (k : nat) (l n m : Z) (κ : Z -> prog X) : prog X :=
    match k with
    | O => on_held (move_cursor (4096 * m)) κ
    | S k =>
        if entry_index l m =? 0 then drop_table l n (fun _ => pass_levels k (l + 1) n m κ)
        else on_held (move_cursor (4096 * m)) κ
    end.
  Definition pass (l n : Z) (κ : Z -> prog X) : prog X :=
    pass_levels (Z.to_nat (PAGEMAP_ROOT_LEVEL - l)) l n (end_of l n) κ.

  (** *** With a continuation *)
  Lemma drop_table_continuation l n κ : same (bind (drop_table l n Ret) κ) (drop_table l n κ).
  Proof using. apply same_loc. intros f. apply remove_owner_continuation. Qed.
  Lemma drop_leaf_continuation n κ : same (bind (drop_leaf n Ret) κ) (drop_leaf n κ).
  Proof using. apply same_loc. intros e. destruct (has e ARCH_PTE_OWNED); [apply remove_owner_continuation|apply same_refl]. Qed.
  Lemma pass_levels_continuation k l n m κ : same (bind (pass_levels k l n m Ret) κ) (pass_levels k l n m κ).
  Proof using.
    revert l. induction k as [|k IH]; intros l; [apply same_refl|]. cbn [pass_levels].
    destruct (entry_index l m =? 0); [|apply same_refl]. eapply same_trans.
    { eapply same_bind; [apply same_sym, drop_table_continuation|intros; apply same_refl]. }
    eapply same_trans; [apply same_bind_assoc|]. eapply same_trans; [|apply drop_table_continuation].
    apply same_bind; [apply same_refl|]. intros _. apply IH.
  Qed.
  Lemma pass_continuation l n κ : same (bind (pass l n Ret) κ) (pass l n κ).
  Proof using. apply pass_levels_continuation. Qed.

  (** *** One change *)
  Lemma held_known g a s v a' : a !! op = Some (slot_in Y s) -> update_object op (lift Y g) a = Some (v, a') ->
    exists s', g s = Some (v, s') /\ a' = <[op := slot_in Y s']> a.
  Proof using.
    intros Ho. unfold update_object. rewrite Ho. destruct (lift Y g (slot_in Y s)) as [[w st]|] eqn:E; [|done].
    intros [= -> <-]. apply lift_inv in E as (s1 & s' & Hout & Hg & ->). rewrite slot_in_out in Hout. injection Hout as <-. eauto.
  Qed.
End programs.
