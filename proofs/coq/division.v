(** Division recognises a product and takes one factor away.

    [divide_left L A] is the layout [Q] with [L = product A Q], when there is one: the
    test "does this instruction's tile cover the layout". It reads [Q] off the block it
    must be in and then checks the other three blocks, as the Python does. *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout product.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Division.
Variables m n p q : nat.

Definition divide_left (L : layout (m + p) (n + q)) (A : layout m n) :
    option (layout p q) :=
  if [&& ulsubmx L == A, ursubmx L == 0 & dlsubmx L == 0] then Some (drsubmx L)
  else None.

Definition divide_right (L : layout (m + p) (n + q)) (B : layout p q) :
    option (layout m n) :=
  if [&& drsubmx L == B, ursubmx L == 0 & dlsubmx L == 0] then Some (ulsubmx L)
  else None.

(** Left division succeeds with Q exactly when the layout is the product of the divisor
    and Q: sound, complete and with one answer.
    Law of [algebra.LinearLayout.divide_left]. *)
Theorem left_division_succeeds_iff_layout_is_that_product
    (L : layout (m + p) (n + q)) (A : layout m n) (Q : layout p q) :
  divide_left L A = Some Q <-> L = product A Q.
Proof.
rewrite /divide_left /product; split=> [|->].
  by case: and3P => // -[/eqP ul /eqP ur /eqP dl] [<-]; rewrite -[L]submxK ul ur dl
    !block_mxKdr.
by rewrite block_mxKul block_mxKur block_mxKdl block_mxKdr !eqxx.
Qed.

(** Right division succeeds with Q exactly when the layout is the product of Q and the
    divisor.
    Law of [algebra.LinearLayout.divide_right]. *)
Theorem right_division_succeeds_iff_layout_is_that_product
    (L : layout (m + p) (n + q)) (B : layout p q) (Q : layout m n) :
  divide_right L B = Some Q <-> L = product Q B.
Proof.
rewrite /divide_right /product; split=> [|->].
  by case: and3P => // -[/eqP dr /eqP ur /eqP dl] [<-]; rewrite -[L]submxK dr ur dl
    !block_mxKul.
by rewrite block_mxKul block_mxKur block_mxKdl block_mxKdr !eqxx.
Qed.

(** Left division takes the low factor of a product away.
    Law of [algebra.LinearLayout.divide_left]. *)
Theorem left_division_undoes_product (A : layout m n) (B : layout p q) :
  divide_left (product A B) A = Some B.
Proof. exact/left_division_succeeds_iff_layout_is_that_product. Qed.

(** Right division takes the high factor of a product away.
    Law of [algebra.LinearLayout.divide_right]. *)
Theorem right_division_undoes_product (A : layout m n) (B : layout p q) :
  divide_right (product A B) B = Some A.
Proof. exact/right_division_succeeds_iff_layout_is_that_product. Qed.

(** Two factorizations of a layout into parts of the same sizes are the same.
    Law of [algebra.LinearLayout.quotient]. *)
Theorem factors_of_a_product_are_unique (A A' : layout m n) (B B' : layout p q) :
  product A B = product A' B' -> A = A' /\ B = B'.
Proof. by case/eq_block_mx. Qed.

End Division.
Arguments divide_left {m n p q} L A.
Arguments divide_right {m n p q} L B.

(** A layout is trivial over its high dims exactly when it passes their bits through
    unchanged and the rest depends on the rest only; the quotient is that rest.
    Law of [algebra.LinearLayout.is_trivial_over]. *)
Theorem quotient_of_trivial_dims m n p
    (L : layout (m + p) (n + p)) (Q : layout m n) :
  divide_right L 1%:M = Some Q <->
  forall u v, apply L (row_mx u v) = row_mx (apply Q u) v.
Proof.
rewrite right_division_succeeds_iff_layout_is_that_product; split=> [-> u v|acts].
  by rewrite product_acts_on_each_part_alone {2}/apply mulmx1.
apply: (@layouts_equal_on_a_basis_are_equal _ _ _ 1%:M) => [|i].
  by rewrite row_full_unit unitmx1.
rewrite -[row i _]hsubmxK acts product_acts_on_each_part_alone.
by rewrite {3}/apply mulmx1.
Qed.

(** Of an invertible layout that is a product with square parts, the quotient is
    invertible too.
    Law of [algebra.LinearLayout.quotient]. *)
Theorem quotient_of_invertible_is_invertible m p
    (L : layout (m + p) (m + p)) (B : layout p p) (Q : layout m m) :
  divide_right L B = Some Q -> L \in unitmx -> Q \in unitmx.
Proof.
move/right_division_succeeds_iff_layout_is_that_product->.
by rewrite -!row_full_unit product_is_surjective_iff_both_factors_are => /andP[].
Qed.

(** Dividing by a product is dividing by its factors, one after the other.
    Law of [algebra.LinearLayout.divide_left]. *)
Theorem dividing_by_a_product_is_dividing_twice m1 n1 m2 n2 m3 n3
    (A : layout m1 n1) (B : layout m2 n2) (Q : layout m3 n3)
    (L : layout (m1 + (m2 + m3)) (n1 + (n2 + n3))) :
  obind (fun R => divide_left R B) (divide_left L A) = Some Q <-> L = product A (product B Q).
Proof.
split=> [|/left_division_succeeds_iff_layout_is_that_product-> /=].
  case left: (divide_left L A) => [R|//] /=.
  move/left_division_succeeds_iff_layout_is_that_product <-.
  exact/left_division_succeeds_iff_layout_is_that_product.
exact/left_division_succeeds_iff_layout_is_that_product.
Qed.
