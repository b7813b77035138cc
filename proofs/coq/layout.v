(** A layout is a matrix over the field with two elements.

    A hardware index of [m] bits is a row vector [v], a coordinate of [n] bits is the
    row vector [v *m A]. Row [i] of [A] is the image of [2 ^ i]: the [i]-th basis in
    the Python class. Nothing here bounds [m] or [n]. A layout is surjective when
    [row_full A], injective when [row_free A]; the theorems below say that these are
    the words' usual meanings, so later files may use the matrix predicates.

    A [Theorem] is an entry of the catalogue: its name is its id, its comment its
    sentence. A [Lemma] is a step on the way. *)

From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Definition layout (m n : nat) := 'M['F_2]_(m, n).
Definition apply m n (A : layout m n) (v : 'rV['F_2]_m) : 'rV['F_2]_n := v *m A.
Definition compose m n p (A : layout m n) (B : layout n p) : layout m p := A *m B.

Lemma bit_is_zero_or_one (x : 'F_2) : x = 0 \/ x = 1.
Proof. by case: x => [[|[|//]] i]; [left|right]; apply: val_inj. Qed.

Lemma add_self m n (A : layout m n) : A + A = 0.
Proof.
apply/matrixP => i j; rewrite !mxE.
by case: (bit_is_zero_or_one (A i j)) => ->; apply: val_inj.
Qed.

Lemma sub_is_add m n (A B : layout m n) : A - B = A + B.
Proof. by apply/(canLR (addrK _)); rewrite -addrA add_self addr0. Qed.

(** Running A and then B is applying the product of their matrices.
    Law of [algebra.LinearLayout.compose]. *)
Theorem compose_is_matrix_product m n p (A : layout m n) (B : layout n p) v :
  apply (compose A B) v = apply B (apply A v).
Proof. by rewrite /apply /compose mulmxA. Qed.

(** Composition does not depend on where the brackets are.
    Law of [algebra.LinearLayout.compose]. *)
Theorem compose_is_associative m n p q
    (A : layout m n) (B : layout n p) (C : layout p q) :
  compose A (compose B C) = compose (compose A B) C.
Proof. exact: mulmxA. Qed.

(** The identity layout changes nothing, before or after.
    Law of [algebra.LinearLayout.identity_1d]. *)
Theorem identity_is_neutral_for_compose m n (A : layout m n) :
  compose 1%:M A = A /\ compose A 1%:M = A.
Proof. by rewrite /compose mul1mx mulmx1. Qed.

(** Two layouts that agree on inputs which span the input space are equal; the powers
    of two are such inputs.
    Law of [algebra.LinearLayout.__eq__]. *)
Theorem layouts_equal_on_a_basis_are_equal k m n
    (inputs : 'M['F_2]_(k, m)) (A B : layout m n) :
  row_full inputs ->
  (forall i, apply A (row i inputs) = apply B (row i inputs)) -> A = B.
Proof.
case/row_fullP=> C C1 same.
have: inputs *m A = inputs *m B.
  by apply/row_matrixP => i; rewrite !row_mul; apply: same.
by move/(congr1 (mulmx C)); rewrite !mulmxA C1 !mul1mx.
Qed.

(** Every map that respects xor is one layout and no other: its bases are the images
    of the powers of two.
    Law of [algebra.why_not_linear]. *)
Theorem additive_map_is_a_layout m n (f : 'rV['F_2]_m -> 'rV['F_2]_n) :
  (forall u v, f (u + v) = f u + f v) -> exists! A : layout m n, f =1 apply A.
Proof.
move=> fD; pose A : layout m n := \matrix_i f (delta_mx 0 i).
have f0 : f 0 = 0 by apply: (addIr (f 0)); rewrite -fD !add0r.
have fsum (r : seq 'I_m) (g : 'I_m -> 'rV['F_2]_m) :
    f (\sum_(i <- r) g i) = \sum_(i <- r) f (g i).
  by elim/big_rec2: _ => [//|i y1 y2 _ <-]; rewrite fD.
have fA : f =1 apply A.
  move=> v; rewrite {1}[v]row_sum_delta /apply mulmx_sum_row fsum.
  apply: eq_bigr => i _; rewrite rowK.
  by case: (bit_is_zero_or_one (v 0 i)) => ->; rewrite ?scale0r ?scale1r.
exists A; split=> // B fB.
apply: (@layouts_equal_on_a_basis_are_equal m _ _ 1%:M).
  by rewrite row_full_unit unitmx1.
by move=> i; rewrite -fA -fB.
Qed.

(** A layout has full rank on its outputs exactly when it reaches every output.
    Law of [algebra.LinearLayout.is_surjective]. *)
Theorem surjective_iff_every_output_is_reached m n (A : layout m n) :
  row_full A <-> forall w, exists v, apply A v = w.
Proof.
split=> [/row_fullP[C C1] w|reach].
  by exists (w *m C); rewrite /apply -mulmxA C1 mulmx1.
rewrite -sub1mx; apply/row_subP => i; apply/submxP.
by case: (reach (row i 1%:M)) => v <-; exists v.
Qed.

(** A layout has full rank on its inputs exactly when no two inputs share an output.
    Law of [algebra.LinearLayout.is_injective]. *)
Theorem injective_iff_no_two_inputs_share_an_output m n (A : layout m n) :
  row_free A <-> injective (apply A).
Proof.
split=> [free u v|inj]; first exact: (row_free_inj free).
rewrite -kermx_eq0; apply/eqP/row_matrixP => i; apply: inj.
by rewrite /apply -!row_mul mulmx_ker mul0mx.
Qed.

(** A layout is a bijection exactly when it is square and its matrix is invertible.
    Law of [algebra.LinearLayout.is_invertible]. *)
Theorem invertible_iff_square_and_surjective m n (A : layout m n) :
  bijective (apply A) <-> m = n /\ row_full A.
Proof.
split=> [[g gK Kg]|[mn full]].
  have free: row_free A.
    by apply/injective_iff_no_two_inputs_share_an_output; apply: can_inj gK.
  have full: row_full A.
    by apply/surjective_iff_every_output_is_reached => w; exists (g w).
  by split=> //; rewrite -(eqP free) (eqP full).
subst n; have unitA: A \in unitmx by rewrite -row_full_unit.
by exists (mulmx^~ (invmx A)) => v; rewrite /apply -mulmxA
  ?mulmxV ?mulVmx ?mulmx1.
Qed.

(** Surjective layouts compose to surjective layouts, injective ones to injective ones.
    Law of [algebra.LinearLayout.compose]. *)
Theorem compose_keeps_surjective_and_injective m n p
    (A : layout m n) (B : layout n p) :
  (row_full A -> row_full B -> row_full (compose A B)) /\
  (row_free A -> row_free B -> row_free (compose A B)).
Proof.
split=> [/row_fullP[C C1] /row_fullP[D D1]|/row_freeP[C C1] /row_freeP[D D1]].
  by apply/row_fullP; exists (D *m C); rewrite mulmxA -(mulmxA D) C1 mulmx1.
by apply/row_freeP; exists (D *m C); rewrite mulmxA -(mulmxA A) D1 mulmx1.
Qed.
