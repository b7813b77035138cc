(** The product of two layouts is their direct sum.

    [A * B] gives the low bits of the index to [A] and the high bits to [B]; its matrix
    is block diagonal. Named dims only say which of those bits share a name. *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Definition product m n p q (A : layout m n) (B : layout p q) : layout (m + p) (n + q) :=
  block_mx A 0 0 B.

(** The product acts on each part by itself: low bits through A, high bits through B.
    Law of [algebra.LinearLayout.__mul__]. *)
Theorem product_acts_on_each_part_alone m n p q
    (A : layout m n) (B : layout p q) u v :
  apply (product A B) (row_mx u v) = row_mx (apply A u) (apply B v).
Proof.
by rewrite /apply /product mul_row_block !mulmx0 addr0 add0r.
Qed.

(** The product does not depend on where the brackets are.
    Law of [algebra.LinearLayout.__mul__]. *)
Theorem product_is_associative m1 n1 m2 n2 m3 n3
    (A : layout m1 n1) (B : layout m2 n2) (C : layout m3 n3) :
  product A (product B C) =
  castmx (esym (addnA m1 m2 m3), esym (addnA n1 n2 n3)) (product (product A B) C).
Proof.
rewrite /product -[in LHS](row_mx0 _ _ n2 n3) -[in LHS](col_mx0 _ m2 m3).
by rewrite block_mxA !row_mx0 !col_mx0.
Qed.

(** Running two products one after the other is the product of what runs in each part.
    Law of [algebra.LinearLayout.compose]. *)
Theorem compose_of_products_is_product_of_composes m n k p q r
    (A : layout m n) (A' : layout n k) (B : layout p q) (B' : layout q r) :
  compose (product A B) (product A' B') = product (compose A A') (compose B B').
Proof.
by rewrite /compose /product mulmx_block !mulmx0 !mul0mx !addr0 add0r.
Qed.

(** The rank of a product is the sum of the ranks.
    Law of [algebra.LinearLayout.rank]. *)
Theorem rank_of_product_is_sum_of_ranks m n p q (A : layout m n) (B : layout p q) :
  \rank (product A B) = (\rank A + \rank B)%N.
Proof. exact: rank_diag_block_mx. Qed.

(** A product is surjective exactly when both factors are.
    Law of [algebra.LinearLayout.is_surjective]. *)
Theorem product_is_surjective_iff_both_factors_are m n p q
    (A : layout m n) (B : layout p q) :
  row_full (product A B) = row_full A && row_full B.
Proof.
rewrite /row_full rank_of_product_is_sum_of_ranks.
apply/eqP/andP => [sum|[/eqP-> /eqP->] //].
have leA := rank_leq_col A; have leB := rank_leq_col B.
split; rewrite eqn_leq ?leA ?leB /=.
  by rewrite -(leq_add2r q) -sum leq_add2l.
by rewrite -(leq_add2l n) -sum leq_add2r.
Qed.

(** A product of invertible layouts is invertible, and its inverse is the product of the
    inverses.
    Law of [algebra.LinearLayout.invert]. *)
Theorem product_of_invertible_is_invertible m n
    (A : layout m m) (B : layout n n) :
  A \in unitmx -> B \in unitmx ->
  product A B \in unitmx /\ invmx (product A B) = product (invmx A) (invmx B).
Proof.
move=> a b; have AB: product A B \in unitmx.
  by rewrite unitmxE det_ublock unitrM -!unitmxE a b.
split=> //; rewrite -[RHS]mul1mx -(mulVmx AB) -mulmxA.
have -> : product A B *m product (invmx A) (invmx B) = 1%:M.
  rewrite -[LHS]/(compose _ _) compose_of_products_is_product_of_composes.
  by rewrite /compose !mulmxV // /product -scalar_mx_block.
by rewrite mulmx1.
Qed.
