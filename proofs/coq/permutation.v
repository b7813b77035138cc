(** Every affine permutation of memory in one pass.

    Memory is read and written in whole lines: a line is a coset of [L], the space of the
    low index bits. A permutation sends index [x] to [x *m A + c]. The tile
    [T = L + L A^-1] is the smallest set of differences such that a program which loads
    the coset [x + T], and stores it, touches whole lines only on both sides. It has at
    most twice the dimension of a line, whatever [A] is, and [L] and [L A^-1] have a
    common complement in it: the kernel of a bank map without conflicts for the write to
    shared memory and for the read back. *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout subspace conflicts.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section OnePass.
Variables (p n : nat) (L : layout p n) (A : layout n n) (c : 'rV['F_2]_n).
Hypothesis unitA : A \in unitmx.

Definition permute (x : 'rV['F_2]_n) := x *m A + c.
Definition source_line : layout p n := L *m invmx A.
Definition tile : layout n n := (L + source_line)%MS.
Definition in_tile_of (T : layout n n) (x y : 'rV['F_2]_n) := ((y - x)%R <= T)%MS.

(** A program which handles the cosets of T reads and writes whole lines. *)
Definition whole_lines (T : layout n n) :=
  forall x l, (l <= L)%MS ->
    (forall y, in_tile_of T x y -> in_tile_of T x (y + l)) /\
    (forall y, in_tile_of T x y ->
       exists2 y', in_tile_of T x y' & permute y' = permute y + l).

(** The tile has at most twice the dimension of a line.
    Law of [compiler.permute]. *)
Theorem tile_has_at_most_twice_the_bits_of_a_line :
  (\rank L <= \rank tile <= 2 * \rank L)%N.
Proof.
have same : \rank source_line = \rank L.
  by rewrite mxrankMfree // row_free_unit unitmx_inv.
rewrite mxrankS ?addsmxSl //= mul2n -addnn -{2}same.
by rewrite -mxrank_sum_cap leq_addr.
Qed.

Lemma permute_moves_by_a_line y l :
  (l <= L)%MS -> permute (y + l *m invmx A) = permute y + l.
Proof. by move=> _; rewrite /permute mulmxDl mulmxKV // addrAC. Qed.

(** Each coset of the tile is a union of whole input lines and maps onto a union of whole
    output lines.
    Law of [compiler.permute]. *)
Theorem permute_moves_whole_lines : whole_lines tile.
Proof.
move=> x l lL; rewrite /in_tile_of; split=> y yT.
  by rewrite addrAC addmx_sub // (submx_trans lL) ?addsmxSl.
exists (y + l *m invmx A); last exact: permute_moves_by_a_line.
by rewrite addrAC addmx_sub // (submx_trans _ (addsmxSr _ _)) // submxMr.
Qed.

(** Any other space of tiles that touches whole lines only contains this one: the tile
    is the smallest there is.
    Law of [compiler.permute]. *)
Theorem tile_is_the_smallest_that_moves_whole_lines (T : layout n n) :
  whole_lines T -> (tile <= T)%MS.
Proof.
move=> whole; have start : in_tile_of T 0 0 by rewrite /in_tile_of subrr sub0mx.
rewrite addsmx_sub; apply/andP; split; apply/row_subP => i.
  have [read _] := whole 0 (row i L) (row_sub i L).
  by have := read 0 start; rewrite /in_tile_of add0r subr0.
have [_ write] := whole 0 (row i L) (row_sub i L).
have [y yT] := write 0 start; rewrite /permute mul0mx add0r addrC => /addrI yA.
by rewrite row_mul -yA mulmxK //; move: yT; rewrite /in_tile_of subr0.
Qed.

(** Inside the tile, the line that is written and the line that is read have a common
    complement.
    Law of [compiler.permute]. *)
Theorem read_and_written_lines_have_a_common_complement_in_the_tile :
  exists Z : layout n n,
    [/\ (L :&: Z = 0)%MS, (L + Z :=: tile)%MS,
        (source_line :&: Z = 0)%MS & (source_line + Z :=: tile)%MS].
Proof.
have [] := @two_subspaces_have_a_common_complement _ tile <<L>>%MS <<source_line>>%MS.
- by rewrite genmxE addsmxSl.
- by rewrite genmxE addsmxSr.
- by rewrite !mxrank_gen mxrankMfree // row_free_unit unitmx_inv.
move=> Z [meet sum meet' sum'].
have bare k (W : layout k n) : (<<W>> :&: Z = 0)%MS -> (<<W>> + Z :=: tile)%MS ->
    (W :&: Z = 0)%MS /\ (W + Z :=: tile)%MS.
  move/eqP=> zero all; split.
    by apply/eqP; rewrite -mxrank_eq0 -(cap_eqmx (genmxE W) (eqmx_refl Z)) mxrank_eq0.
  exact: eqmx_trans (adds_eqmx (eqmx_sym (genmxE W)) (eqmx_refl Z)) all.
by exists Z; split; case: (bare _ _ meet sum) (bare _ _ meet' sum') => [? ?] [? ?].
Qed.

(** One bank map with a line's number of bits is free of conflicts both when a tile is
    written to shared memory by input lines and when it is read by output lines.
    Law of [compiler.permute]. *)
Theorem one_bank_map_serves_the_write_and_the_read :
  exists bank : layout n (\rank L),
    conflicts L bank = 0%N /\ conflicts source_line bank = 0%N.
Proof.
have [bank [_ write read]] := one_bank_map_is_optimal_for_two_accesses L source_line
  (rank_leq_col L).
exists bank; rewrite write read mxrankMfree ?row_free_unit ?unitmx_inv //.
by rewrite subnn.
Qed.

End OnePass.

(** Elements of less than a bank: several share a word, and banks tell words apart. If
    two accesses take whole words of the same space W, one bank map of words is free of
    conflicts for both. Its kernel K meets each access in W only, so words of one access
    in one bank are the same word; and its rank is the number of bits of the words of an
    access. So a tile needs no second pass and no more memory than one of 4-byte
    elements.
    Law of [compiler.permute]. *)
Theorem one_bank_map_of_words_serves_the_write_and_the_read n (T U V W : layout n n) :
  (U <= T)%MS -> (V <= T)%MS -> (W <= U)%MS -> (W <= V)%MS -> \rank U = \rank V ->
  exists K : layout n n,
    [/\ (W <= K <= T)%MS, (K :&: U :=: W)%MS, (K :&: V :=: W)%MS
      & (\rank T - \rank K = \rank U - \rank W)%N].
Proof.
move=> UT VT WU WV same.
have [Z [meetU allU meetV allV]] := two_subspaces_have_a_common_complement UT VT same.
have ZT : (Z <= T)%MS by rewrite -allU addsmxSr.
have words S : (W <= S)%MS -> (S :&: Z = 0)%MS -> ((W + Z) :&: S :=: W)%MS.
  move=> WS meet; apply: eqmx_trans (eqmx_sym (matrix_modl Z WS)) _.
  by rewrite capmxC meet; exact: addsmx0.
have apart : \rank (W + Z)%MS = (\rank W + \rank Z)%N.
  apply/eqP; rewrite -mxrank_disjoint_sum //.
  by apply/eqP; rewrite -submx0 -meetU capmxS.
have rkT : \rank T = (\rank U + \rank Z)%N by rewrite -allU mxrank_disjoint_sum.
exists (W + Z)%MS; split; [| exact: words | exact: words |].
  by rewrite addsmxSl addsmx_sub (submx_trans WU UT) ZT.
by rewrite apart rkT subnDr.
Qed.
