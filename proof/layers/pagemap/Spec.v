(** Page maps: the specification.

    The state of one page map is its set of tables and its set of leaves; every word of every table follows from them. A
    page is known by its number, address / 4096. The table of level [l] (3: the root, 0: it holds the leaves) on the way
    to page [n] is [(l, n / 512 ^ (l + 1))]. A function gives its result and the new state; [None] means that its caller
    broke a requirement. The frame of a new table is an argument: where it comes from, and what happens when there is none
    (nothing changes), is said by the programs. Codes of results are those of [abi.h]. *)
From Ashlar Require Export lang.Constants lang.Builtin layers.pagemap.Code.

Record page_map := PageMap {
  tables : gmap (Z * Z) Z;   (* frame of each table *)
  leaves : gmap Z Z;         (* entry of each page that is mapped *)
  cursor : Z;                (* destruction: everything below this address is gone *)
}.
Add Printing Constructor page_map.
Global Instance page_map_eq_dec : EqDecision page_map.
Proof. solve_decision. Defined.

(** ** Addresses *)
Definition page_of (v : Z) : Z := v / 4096.
Definition first_page : Z := 16.              (* USER_BASE / 4096 *)
Definition end_page : Z := 30064771072.       (* USER_END / 4096 *)
Definition user_page (n : Z) : Prop := first_page <= n < end_page.
Definition user_address (v : Z) : bool := (v mod 4096 =? 0) && (USER_BASE <=? v) && (v <? USER_END).

(** Pages under one entry of a table of level [l]. *)
Definition span (l : Z) : Z := 512 ^ l.
(** Which table of level [l] has page [n] under it, and at which entry. *)
Definition above (l n : Z) : Z := n / span (l + 1).
Definition entry_index (l n : Z) : Z := n / span l mod 512.
(** First page behind those under table [(l, x)]. *)
Definition behind (k : Z * Z) : Z := (k.2 + 1) * span (k.1 + 1).

Definition root_key : Z * Z := (PAGEMAP_ROOT_LEVEL, 0).
Definition root_of (s : page_map) : Z := default NONE (tables s !! root_key).
Definition present (s : page_map) : bool := bool_decide (is_Some (tables s !! root_key)).

(** ** Entries *)
Definition has (e b : Z) : bool := negb (Z.land e b =? 0).
Definition entry_frame (e : Z) : Z := Z.shiftr (Z.land e ARCH_PTE_FRAME_MASK) ARCH_PTE_FRAME_SHIFT mod 2 ^ 32.
(** The entry that names a table. *)
Definition link (frame : Z) : Z := Z.lor (Z.shiftl frame ARCH_PTE_FRAME_SHIFT) PAGEMAP_TABLE_BITS.

(** A leaf is there for user programs; what they can write they can't execute; and the processor, which marks what is used and
    what is written, finds it marked. *)
Definition leaf_ok (e : Z) : Prop :=
  0 <= e < 2 ^ 64 /\ has e ARCH_PTE_PRESENT = true /\ has e ARCH_PTE_USER = true /\
  (has e ARCH_PTE_WRITE = true -> has e ARCH_PTE_NO_EXECUTE = true) /\
  has e ARCH_PTE_ACCESSED = true /\ has e ARCH_PTE_DIRTY = true.
Global Instance leaf_ok_dec e : Decision (leaf_ok e).
Proof. unfold leaf_ok. apply _. Defined.

Definition leaf_entry (frame prot kind : Z) : Z :=
  let e := Z.lor (Z.shiftl frame ARCH_PTE_FRAME_SHIFT) PAGEMAP_LEAF_BITS in
  let e := if has prot PROT_WRITE then Z.lor e ARCH_PTE_WRITE else e in
  let e := if has prot PROT_EXEC then e else Z.lor e ARCH_PTE_NO_EXECUTE in
  let e := if kind =? PAGEMAP_OWNED then Z.lor e ARCH_PTE_OWNED else e in
  if kind =? PAGEMAP_DEVICE then Z.lor e ARCH_PTE_UNCACHED else e.

(** ** What holds of every state *)

(** Of each table: it is needed for user pages that destruction has not passed, the table above it exists, and no other
    table has its frame. *)
Definition table_ok (s : page_map) (k : Z * Z) (f : Z) : Prop :=
  0 <= k.1 <= PAGEMAP_ROOT_LEVEL /\ 0 <= k.2 /\ k.2 * span (k.1 + 1) < end_page /\
  0 <= f < NUM_FRAME /\
  (k.1 = PAGEMAP_ROOT_LEVEL \/ is_Some (tables s !! (k.1 + 1, k.2 / 512))) /\
  (k.1 < PAGEMAP_ROOT_LEVEL -> cursor s < 4096 * behind k) /\
  map_Forall (fun k' f' => f' = f -> k' = k) (tables s).
(** Of each mapped page: it is a page of user space that destruction has not passed, its entry is one for user programs,
    and the table that holds it exists. *)
Definition leaf_held (s : page_map) (n e : Z) : Prop :=
  user_page n /\ cursor s <= 4096 * n /\ leaf_ok e /\ is_Some (tables s !! (0, above 0 n)).

Definition pagemap_valid (s : page_map) : Prop :=
  map_Forall (table_ok s) (tables s) /\ map_Forall (leaf_held s) (leaves s) /\
  0 <= cursor s <= USER_END /\ cursor s mod 4096 = 0 /\ (present s = false -> cursor s = 0).
Global Instance pagemap_valid_dec s : Decision (pagemap_valid s).
Proof. unfold pagemap_valid, table_ok, leaf_held, user_page. apply _. Defined.

(** ** The functions *)
Definition pagemap_absent : page_map := PageMap ∅ ∅ 0.

Definition frame_usable (s : page_map) (f : Z) : bool :=
  (0 <=? f) && (f <? NUM_FRAME) && bool_decide (map_Forall (fun _ f' => f' <> f) (tables s)).

(** An empty page map with root [root], a frame that is no page map's. *)
Definition pagemap_create (s : page_map) (root : Z) : option (Z * page_map) :=
  if present s then Some (ERR_BAD_STATE, s)
  else if frame_usable s root then Some (STATUS_OK, PageMap {[root_key := root]} ∅ 0) else None.

(** The tables on the way to page [n] that do not exist are those of the levels below this one. *)
Definition missing (s : page_map) (n : Z) : Z :=
  if decide (is_Some (tables s !! (2, above 2 n))) then
    if decide (is_Some (tables s !! (1, above 1 n))) then
      if decide (is_Some (tables s !! (0, above 0 n))) then 0 else 1
    else 2
  else 3.

Definition pagemap_missing (s : page_map) (v : Z) : option (Z * page_map) :=
  Some (if user_address v && present s then missing s (page_of v) else 0, s).

(** The highest table that page [n] lacks is made in frame [f]; it is empty. *)
Definition add_table (n f : Z) (s : page_map) : page_map :=
  PageMap (<[(missing s n - 1, above (missing s n - 1) n) := f]> (tables s)) (leaves s) (cursor s).
Definition pagemap_add_table (s : page_map) (n f : Z) : option (Z * page_map) :=
  if present s && bool_decide (user_page n) && (cursor s <=? 4096 * n) && (0 <? missing s n) && frame_usable s f
  then Some (STATUS_RESTART, add_table n f s) else None.
(** At most one of the tables that a mapping at [v] lacks. *)
Definition pagemap_prepare (s : page_map) (v fresh : Z) : option (Z * page_map) :=
  if negb (user_address v) then Some (ERR_BAD_ADDRESS, s)
  else if negb (present s) then Some (ERR_BAD_STATE, s)
  else if missing s (page_of v) =? 0 then Some (STATUS_OK, s)
  else pagemap_add_table s (page_of v) fresh.

(** Page [n] gets its entry. *)
Definition pagemap_store (s : page_map) (n e : Z) : option (Z * page_map) :=
  if negb (present s) then Some (ERR_BAD_STATE, s)
  else if negb (missing s n =? 0) then Some (PAGEMAP_NO_TABLE, s)
  else if bool_decide (user_page n) && (cursor s <=? 4096 * n) && bool_decide (leaf_ok e) then
    match leaves s !! n with
    | Some _ => Some (ERR_ALREADY_MAPPED, s)
    | None => Some (STATUS_OK, PageMap (tables s) (<[n := e]> (leaves s)) (cursor s))
    end
  else None.

Definition word32 (z : Z) : bool := (0 <=? z) && (z <? 2 ^ 32).

Definition pagemap_map (s : page_map) (v frame prot kind : Z) : option (Z * page_map) :=
  if negb (word32 frame && word32 prot && word32 kind) then None
  else if negb (user_address v) then Some (ERR_BAD_ADDRESS, s)
  else if (has prot PROT_WRITE && has prot PROT_EXEC) || (PAGEMAP_DEVICE <? kind) then Some (ERR_BAD_ARGUMENT, s)
  else pagemap_store s (page_of v) (leaf_entry frame prot kind).

Definition entry_at (s : page_map) (v : Z) : Z := if user_address v then default 0 (leaves s !! page_of v) else 0.
Definition pagemap_walk (s : page_map) (v : Z) : option (Z * page_map) := Some (entry_at s v, s).
Definition pagemap_unmap (s : page_map) (v : Z) : option (Z * page_map) :=
  Some (entry_at s v,
        if user_address v then PageMap (tables s) (delete (page_of v) (leaves s)) (cursor s) else s).
Definition pagemap_pin (s : page_map) (v : Z) : option (Z * page_map) :=
  Some (0, if user_address v then
             PageMap (tables s) (alter (fun e => Z.lor e ARCH_PTE_PINNED) (page_of v) (leaves s)) (cursor s) else s).
(** The frame that an entry names if it is the process's own and mapped at least with [prot]. *)
Definition frame_of (e prot : Z) : Z :=
  if has e ARCH_PTE_OWNED && (has e ARCH_PTE_WRITE || negb (has prot PROT_WRITE)) &&
     negb (has e ARCH_PTE_NO_EXECUTE && has prot PROT_EXEC)
  then entry_frame e else NONE.
Definition pagemap_frame (s : page_map) (v prot : Z) : option (Z * page_map) := Some (frame_of (entry_at s v) prot, s).

(** ** Destruction *)

(** One move: the cursor passes the entry that it points at: a page, or everything under an entry without table. *)
Definition next_cursor (s : page_map) : Z :=
  let size := 4096 * span (missing s (page_of (cursor s))) in (cursor s / size + 1) * size.
Definition pagemap_move (s : page_map) : page_map :=
  let next := next_cursor s in
  PageMap (filter (fun t => t.1.1 = PAGEMAP_ROOT_LEVEL \/ next < 4096 * behind t.1) (tables s))
    (delete (page_of (cursor s)) (leaves s)) next.
(** The frames that it gives back, in this order: the page's, if it is the process's own, and tables, the lowest first. *)
Definition move_frames (s : page_map) : list Z :=
  let n := page_of (cursor s) in
  let e := default 0 (leaves s !! n) in
  (if has e ARCH_PTE_OWNED then [entry_frame e] else []) ++
  omap (fun l => if 4096 * behind (l, above l n) <=? next_cursor s then tables s !! (l, above l n) else None) [0; 1; 2].

(** One move; at the end of user space the root goes. Result: is there more to do; the frames given back. *)
Definition pagemap_destroy_step (s : page_map) : Z * list Z * page_map :=
  if present s then
    if USER_END <=? cursor s then (0, [root_of s], pagemap_absent) else (1, move_frames s, pagemap_move s)
  else (0, [], s).

(** ** Cells *)
Definition pagemap_cell (p : Z) (field : string) : cell := ("pagemap"%string, p, field, 0).
Definition pagemap_fields : list string := ["exists"; "root"; "cursor"]%string.
Definition flag (b : bool) : Z := if b then 1 else 0.

(** The cells of page map [p]: its fields and the words of its tables. *)
Definition pagemap_cells (p : Z) (s : page_map) (x : cell) : Prop :=
  (exists field, field ∈ pagemap_fields /\ x = pagemap_cell p field) \/
  (exists k f i, tables s !! k = Some f /\ 0 <= i < 512 /\ x = frame_word f i).

(** Word [i] of table [(l, x)]: a leaf, a link to the table below, or the kernel's. *)
Definition table_word (kernel_entry : Z -> Z) (s : page_map) (k : Z * Z) (i : Z) : Z :=
  if k.1 =? 0 then default 0 (leaves s !! (512 * k.2 + i))
  else if (k.1 =? PAGEMAP_ROOT_LEVEL) && (PAGEMAP_KERNEL_FIRST <=? i) then kernel_entry i
  else match tables s !! (k.1 - 1, 512 * k.2 + i) with Some f => link f | None => 0 end.

Definition pagemap_rep (kernel_entry : Z -> Z) (p : Z) (s : page_map) (d : mem) : Prop :=
  pagemap_valid s /\
  (forall x, is_Some (d !! x) <-> pagemap_cells p s x) /\
  d !! pagemap_cell p "exists" = Some (flag (present s)) /\
  d !! pagemap_cell p "root" = Some (root_of s) /\
  d !! pagemap_cell p "cursor" = Some (cursor s) /\
  (forall k f i, tables s !! k = Some f -> 0 <= i < 512 -> d !! frame_word f i = Some (table_word kernel_entry s k i)).
