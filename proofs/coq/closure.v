(** Shape operations keep layouts surjective.

    This is why layouts can be propagated through any tensor program. Each operation is
    one of five moves on a matrix: permute rows or columns (transpose, and reshape,
    which also re-brackets the bits), drop columns (slice), multiply by an identity
    (join, broadcast to a larger shape), take an identity factor away (split), add
    zero rows (broadcast to more threads). *)

From mathcomp Require Import all_ssreflect all_algebra all_fingroup.
From tilewright Require Import layout product.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(** Permuting the input bits and the output bits keeps the rank, so the transpose of a
    surjective layout is surjective, and the same for injective ones.
    Law of [algebra.propagate.trans]. *)
Theorem transpose_of_surjective_is_surjective m n (A : layout m n) (s : 'S_m) (t : 'S_n) :
  \rank (row_perm s (col_perm t A)) = \rank A /\
  row_full (row_perm s (col_perm t A)) = row_full A.
Proof.
have step k l (B : layout k l) (r : 'S_k) : \rank (row_perm r B) = \rank B.
  by rewrite row_permE (eqmxMfull B) // row_full_unit unitmx_perm.
have rk : \rank (row_perm s (col_perm t A)) = \rank A.
  by rewrite step -mxrank_tr tr_col_perm step mxrank_tr.
by rewrite /row_full rk.
Qed.

(** Reshape re-brackets the bits of the index or the coordinate and moves none: a
    surjective layout stays surjective, and the bit at each position is the same bit.
    Law of [algebra.propagate.reshape]. *)
Theorem reshape_of_surjective_is_surjective m n m' n' (eqs : (m = m') * (n = n'))
    (A : layout m n) :
  row_full (castmx eqs A) = row_full A /\
  forall i j, castmx eqs A (cast_ord eqs.1 i) (cast_ord eqs.2 j) = A i j.
Proof. by case: eqs => e f; subst m' n'; split=> *; rewrite ?castmx_id ?cast_ord_id. Qed.

(** Joining two tensors with the same layout appends an out-dim of one bit and an input
    bit that selects it; the join is surjective exactly when the layout was.
    Law of [algebra.propagate.join]. *)
Theorem join_of_surjective_is_surjective m n (A : layout m n) :
  row_full (product (1%:M : layout 1 1) A) = row_full A.
Proof.
by rewrite product_is_surjective_iff_both_factors_are row_full_unit unitmx1.
Qed.

(** Split takes back what join added, and the halves of a surjective layout are
    surjective.
    Law of [algebra.propagate.split]. *)
Theorem split_undoes_join_and_keeps_surjective m n (L : layout (1 + m) (1 + n)) :
  ulsubmx L = 1%:M -> ursubmx L = 0 -> dlsubmx L = 0 ->
  L = product (1%:M : layout 1 1) (drsubmx L) /\
  (row_full L -> row_full (drsubmx L)).
Proof.
move=> ul ur dl; have L_eq : L = product (1%:M : layout 1 1) (drsubmx L).
  by rewrite -[LHS]submxK ul ur dl.
by split=> //; rewrite {1}L_eq join_of_surjective_is_surjective.
Qed.

(** Dropping an out-dim keeps a surjective layout surjective: a slice of a distributed
    layout is one.
    Law of [algebra.encodings.Slice]. *)
Theorem slice_of_surjective_is_surjective m n q (A : layout m (n + q)) :
  row_full A -> row_full (lsubmx A : layout m n) /\ row_full (rsubmx A : layout m q).
Proof.
case/row_fullP=> C C1; split; apply/row_fullP.
  exists (usubmx C); move/(congr1 ulsubmx): C1.
  rewrite scalar_mx_block block_mxKul -{1}[A]hsubmxK -{1}[C]vsubmxK.
  by rewrite mul_col_row block_mxKul.
exists (dsubmx C); move/(congr1 drsubmx): C1.
rewrite scalar_mx_block block_mxKdr -{1}[A]hsubmxK -{1}[C]vsubmxK.
by rewrite mul_col_row block_mxKdr.
Qed.

(** Adding bases, zero or not, in any number keeps a surjective layout surjective, and
    zero bases never change which outputs are reached: broadcast to more threads.
    Law of [algebra.LinearLayout.resize_in_dim]. *)
Theorem broadcast_to_more_inputs_keeps_surjective m k n
    (A : layout m n) (B : layout k n) :
  (row_full A -> row_full (col_mx A B)) /\
  row_full (col_mx A (0 : layout k n)) = row_full A.
Proof.
split.
  rewrite -!sub1mx => /submx_trans; apply.
  by rewrite -addsmxE addsmxSl.
by rewrite /row_full -addsmxE addsmx0.
Qed.

(** Broadcasting a dim of size one to two to the k elements appends an identity on k new
    register bits; the result is surjective exactly when the layout was.
    Law of [algebra.propagate.broadcast]. *)
Theorem broadcast_of_surjective_is_surjective m n k
    (A : layout m n) :
  row_full (product A (1%:M : layout k k)) = row_full A.
Proof.
by rewrite product_is_surjective_iff_both_factors_are row_full_unit unitmx1 andbT.
Qed.

(** Cutting an out-dim down, by masking the bits above it, keeps a surjective layout
    surjective onto the smaller dim, and inputs that held one element still do.
    Law of [algebra.LinearLayout.resize_out_dim]. *)
Theorem mask_keeps_surjective_and_splits_no_element m n q
    (A : layout m (n + q)) :
  (row_full A -> row_full (lsubmx A : layout m n)) /\
  forall u v, apply A u = apply A v ->
    apply (lsubmx A : layout m n) u = apply (lsubmx A : layout m n) v.
Proof.
split=> [/slice_of_surjective_is_surjective[] //|u v].
by rewrite /apply -{1 2}[A]hsubmxK !mul_mx_row => /eq_row_mx[].
Qed.
