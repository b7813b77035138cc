(** The kernel counts broadcasts.

    All inputs that reach one output form a coset of the kernel, so every output that
    is reached is reached equally often: [2 ^ (m - rank)] times. That number is the
    broadcast factor of a layout. *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(** Two inputs hold the same element exactly when their xor lies in the kernel.
    Law of [algebra.gauss.kernel]. *)
Theorem inputs_share_an_output_iff_they_differ_by_the_kernel m n
    (A : layout m n) (v w : 'rV['F_2]_m) :
  apply A v = apply A w <-> ((v + w)%R <= kermx A)%MS.
Proof.
rewrite -sub_is_add /apply; split=> [same|/sub_kermxP same].
  by apply/sub_kermxP; rewrite mulmxBl same subrr.
by apply/eqP; rewrite -subr_eq0 -mulmxBl same.
Qed.

Lemma card_row_space m n (A : layout m n) :
  #|[set v : 'rV['F_2]_n | (v <= A)%MS]| = (2 ^ \rank A)%N.
Proof.
have -> : [set v : 'rV['F_2]_n | (v <= A)%MS] =
          [set u *m row_base A | u in [set: 'rV['F_2]_(\rank A)]].
  apply/setP => v; rewrite inE; apply/idP/imsetP => [vA|[u _ ->]].
    have /submxP[u ->] : (v <= row_base A)%MS by rewrite eq_row_base.
    by exists u; rewrite ?inE.
  by apply: submx_trans (submxMl _ _) _; rewrite eq_row_base.
rewrite card_imset; last exact: row_free_inj (row_base_free A).
by rewrite cardsT card_matrix mul1n card_Fp.
Qed.

(** A layout reaches exactly two to the rank outputs.
    Law of [algebra.LinearLayout.rank]. *)
Theorem layout_reaches_two_to_the_rank_outputs m n (A : layout m n) :
  #|[set apply A v | v : 'rV['F_2]_m]| = (2 ^ \rank A)%N.
Proof.
rewrite -card_row_space; apply: eq_card => w; rewrite inE.
by apply/imsetP/submxP => [[v _ ->]|[v ->]]; exists v.
Qed.

(** Every output that is reached is reached by exactly two to the dimension of the
    kernel inputs, and that dimension is the number of input bits less the rank.
    Law of [algebra.gauss.kernel]. *)
Theorem kernel_dimension_is_broadcast_factor m n (A : layout m n) v :
  #|[set w : 'rV['F_2]_m | apply A w == apply A v]| = (2 ^ \rank (kermx A))%N /\
  \rank (kermx A) = (m - \rank A)%N.
Proof.
split; last exact: mxrank_ker.
rewrite -card_row_space -[RHS](card_imset _ (addIr v)); apply: eq_card => w.
rewrite inE; apply/eqP/imsetP => [/inputs_share_an_output_iff_they_differ_by_the_kernel|].
  by move=> ker; exists (w + v); rewrite ?inE // -addrA add_self addr0.
case=> u; rewrite inE => ker ->.
by apply/inputs_share_an_output_iff_they_differ_by_the_kernel; rewrite -addrA add_self addr0.
Qed.

(** The basis of an input bit is zero exactly when flipping that bit never moves
    the element: the bit is a pure broadcast.
    Law of [algebra.LinearLayout.remove_zero_bases_along_dim]. *)
Theorem zero_basis_iff_flipping_the_bit_changes_nothing m n
    (A : layout m n) (i : 'I_m) :
  row i A = 0 <-> forall v, apply A (v + delta_mx 0 i) = apply A v.
Proof.
rewrite rowE /apply; split=> [zero v|flip]; first by rewrite mulmxDl zero addr0.
by apply: (addrI (0 *m A)); rewrite -mulmxDl flip addr0.
Qed.

(** The dimension of the kernel counts the dependent bases: the ones that can be written
    with the bases before them add nothing to the rank.
    Law of [algebra.gauss.rank]. *)
Theorem appending_a_basis_adds_one_to_the_rank_iff_it_is_independent m n
    (A : layout m n) (b : 'rV['F_2]_n) :
  \rank (col_mx A b) = (\rank A + ~~ (b <= A)%MS)%N.
Proof.
rewrite -addsmxE; case: (boolP (b <= A)%MS) => inA /=.
  by rewrite addn0 (addsmx_idPl inA).
have b0 : b != 0 by apply: contraNneq inA => ->; apply: sub0mx.
rewrite mxrank_disjoint_sum ?rank_rV ?b0 //; apply/eqP; rewrite -submx0.
apply/rV_subP => u; rewrite sub_capmx => /andP[uA /sub_rVP[a ua]].
case: (bit_is_zero_or_one a) => a_val; first by rewrite ua a_val scale0r sub0mx.
by case/negP: inA; rewrite -[b]scale1r -a_val -ua.
Qed.
