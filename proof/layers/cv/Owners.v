(** Condition variables: each owner's cells are its own, and determine the state.

    A thread waits in one variable at most, once ([cv_waits_once]): its links can be in one part of memory only. *)
From Ashlar Require Export layers.cv.Representation lang.logic.Memory.
Local Opaque gmap_lookup gmap_partial_alter.

Theorem cv_waits_once cv cv' s s' d d' t : cv_rep cv s d -> cv_rep cv' s' d' -> d ##ₘ d' -> t ∈ threads s -> t ∉ threads s'.
Proof.
  intros Hr (_ & Hx' & _) Hd Ht Ht'. eapply cv_rep_alone; [exact Hr|exact Hd| |exact Ht]. apply Hx', link_cell; [done|names].
Qed.

(** ** One state, one memory *)
Theorem cv_rep_cells cv s d d' : cv_rep cv s d -> cv_rep cv s d' -> d = d'.
Proof.
  intros (_ & Hx & Hh & Hw) (_ & Hx' & Hh' & Hw'). apply own_eq. intros x. destruct (decide (x ∈ cv_cells cv (threads s))) as [Hin|Hout].
  - assert (forall o t l f, holds o t l d -> holds o t l d' -> f ∈ l.*1 -> d !! field_cell o t f = d' !! field_cell o t f) as Hsame.
    { unfold holds. setoid_rewrite Forall_forall. intros o t l f H H' (e & -> & He)%elem_of_list_fmap. by rewrite H, H'. }
    apply cv_cells_in in Hin as [(f & Hf & ->)|(t & f & (w & -> & Hin)%elem_of_list_fmap & Hf & ->)];
      [by eapply Hsame|by eapply Hsame; [by apply Hw|by apply Hw'|]].
  - destruct (d !! x) as [v|] eqn:E; [by destruct Hout; apply Hx; eauto|].
    destruct (d' !! x) eqn:E'; [|done]. destruct Hout. apply Hx'. eauto.
Qed.

(** ** One memory, one state *)
Theorem cv_rep_state cv s s' d : cv_rep cv s d -> cv_rep cv s' d -> s = s'.
Proof.
  intros (Hv & _ & Hh & Hw) (Hv' & _ & Hh' & Hw'). assert (threads s = threads s') as Et.
  { apply (list_determined []); [by apply cv_valid_none..|apply Hv|apply Hv'| |know Hh "first"%string; know Hh' "first"%string; congruence].
    intros u (w & -> & H%Hw)%elem_of_list_fmap (w' & E & H'%Hw')%elem_of_list_fmap. rewrite <- E in H'. know H "next"%string.
    know H' "next"%string. simpl. congruence. }
  rewrite Et in Hw. remember (threads s') as l eqn:El. rewrite El in Et. clear -Hw Hw' Et. revert s' Hw' Et.
  induction s as [|w s IH]; intros [|w' s'] Hw' Et; [done..|]. injection Et as E1 E2. f_equal.
  - pose proof (Hw w ltac:(by left)) as H. pose proof (Hw' w' ltac:(by left)) as H'. rewrite E1 in H. know H "blocked"%string. know H "cancelled"%string.
    know H' "blocked"%string. know H' "cancelled"%string. destruct w as [t [] []], w' as [t' [] []]; simpl in *; congruence.
  - apply IH; [intros; apply Hw; by right|intros; apply Hw'; by right|done].
Qed.

(** There are cells that represent the initial state: the theorems are not vacuous. *)
Theorem cv_initial_cells : exists d, exactly all_cells d.
Proof.
  set (cells := (seqZ 0 NUM_CV ≫= head_cells) ++ (seqZ 0 NUM_THREAD ≫= fun t => place t :: link_cells t)).
  exists (memory (fun _ => 0) cells). intros x. rewrite memory_dom. unfold cells, all_cells.
  rewrite elem_of_app, !elem_of_list_bind. split.
  - intros [(i & H & Hi%elem_of_seqZ)|(i & H & Hi%elem_of_seqZ)]; [left|right]; exists i; (split; [lia|done]).
  - intros [(i & Hi & H)|(i & Hi & H)]; [left|right]; exists i; (split; [done|apply elem_of_seqZ; lia]).
Qed.
