(** The derivative of a matrix function as a pair.

    The derivative of [p] at [A] in direction [E] is the corner block of [p] at
    [[A, E], [0, A]], a matrix of twice the size. Such blocks have only two different
    entries, and products and inverses keep that form, so a pair [(P, P')] that follows
    the same sequence of operations holds the same numbers with three products instead
    of eight. Polynomials (Taylor, Pade) and squarings are such sequences; nothing
    here depends on the ring being the reals. *)

From mathcomp Require Import all_ssreflect all_algebra.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Section Pairs.
Variables (R : comUnitRingType) (n : nat).
Implicit Types (A E F G P Q Y : 'M[R]_n) (cs : seq R) (a : R).

Definition pair := ('M[R]_n * 'M[R]_n)%type.
Definition block (x : pair) : 'M[R]_(n + n) := block_mx x.1 x.2 0 x.1.
Definition pair_add (x y : pair) : pair := (x.1 + y.1, x.2 + y.2).
Definition pair_mul (x y : pair) : pair := (x.1 *m y.1, x.1 *m y.2 + x.2 *m y.1).
Definition pair_inv (x : pair) : pair :=
  (invmx x.1, - (invmx x.1 *m x.2 *m invmx x.1)).
Definition pair_scalar a : pair := (a%:M, 0).

Fixpoint power m (A : 'M[R]_m) k := if k is j.+1 then A *m power A j else 1%:M.
Fixpoint evaluate m cs (A : 'M[R]_m) : 'M[R]_m :=
  if cs is a :: tail then a%:M + A *m evaluate tail A else 0.
Fixpoint pair_power (x : pair) k :=
  if k is j.+1 then pair_mul x (pair_power x j) else pair_scalar 1.
Fixpoint pair_evaluate cs (x : pair) : pair :=
  if cs is a :: tail then pair_add (pair_scalar a) (pair_mul x (pair_evaluate tail x))
  else (0, 0).
Definition derivative cs A E := (pair_evaluate cs (A, E)).2.

(** The product of two pairs is the product of their blocks: the product rule.
    Law of [manifolds.expm]. *)
Theorem product_of_pairs_is_product_of_blocks (x y : pair) :
  block (pair_mul x y) = block x *m block y.
Proof.
by rewrite /block mulmx_block /= !mulmx0 !mul0mx !addr0 !add0r.
Qed.

Lemma block_add (x y : pair) : block (pair_add x y) = block x + block y.
Proof. by rewrite /block add_block_mx addr0. Qed.

Lemma block_scalar a : block (pair_scalar a) = a%:M.
Proof. by rewrite /block -scalar_mx_block. Qed.

(** The inverse of a pair is the inverse of its block, so rational functions (Pade) need
    no large block either.
    Law of [manifolds.expm]. *)
Theorem inverse_of_pair_is_inverse_of_block (x : pair) :
  x.1 \in unitmx -> block x *m block (pair_inv x) = 1%:M /\
                    block (pair_inv x) *m block x = 1%:M.
Proof.
move=> unit_x; have right : block x *m block (pair_inv x) = 1%:M.
  rewrite -product_of_pairs_is_product_of_blocks -block_scalar; congr block.
  by rewrite /pair_mul /pair_inv /= mulmxN !mulmxA mulmxV // mul1mx addrC subrr.
by split=> //; apply: mulmx1C.
Qed.

(** Powers of a pair are powers of its block, and the second entry is the sum of the
    words with one direction among the factors: sum of A^i E A^(k-1-i).
    Law of [manifolds.expm]. *)
Theorem power_of_pair_is_sum_over_the_place_of_the_direction A E k :
  block (pair_power (A, E) k) = power (block (A, E)) k /\
  pair_power (A, E) k =
    (power A k, \sum_(i < k) power A i *m E *m power A (k - i.+1)).
Proof.
elim: k => [|k [IHb IH]]; first by rewrite /= block_scalar big_ord0.
split; first by rewrite /= product_of_pairs_is_product_of_blocks IHb.
rewrite /= IH /pair_mul /=; congr (_, _).
rewrite big_ord_recl /= mul1mx subn1 /= addrC; congr (_ + _).
by rewrite mulmx_sumr; apply: eq_bigr => i _; rewrite /bump /= !mulmxA subSS.
Qed.

(** Any polynomial of the block is the block of the pair that follows Horner's rule: its
    corner is the derivative.
    Law of [manifolds.expm]. *)
Theorem polynomial_of_block_is_block_of_structured_pair cs A E :
  evaluate cs (block (A, E)) = block (evaluate cs A, derivative cs A E).
Proof.
suff [-> fst] : evaluate cs (block (A, E)) = block (pair_evaluate cs (A, E)) /\
    (pair_evaluate cs (A, E)).1 = evaluate cs A.
  by rewrite -fst /derivative; case: (pair_evaluate cs (A, E)).
elim: cs => [|a cs [IH fst]] /=.
  by split=> //; rewrite /block block_mx0.
by rewrite block_add product_of_pairs_is_product_of_blocks block_scalar IH fst.
Qed.

Lemma pair_evaluate_fst cs A E : (pair_evaluate cs (A, E)).1 = evaluate cs A.
Proof. by elim: cs => //= a cs ->. Qed.

Lemma derivative_cons a cs A E :
  derivative (a :: cs) A E = A *m derivative cs A E + E *m evaluate cs A.
Proof. by rewrite /derivative /= add0r pair_evaluate_fst. Qed.

(** The derivative is linear in its direction.
    Law of [manifolds.expm]. *)
Theorem derivative_is_linear_in_the_direction cs A E F a :
  derivative cs A (a *: E + F) = a *: derivative cs A E + derivative cs A F.
Proof.
elim: cs => [|b cs IH]; first by rewrite scaler0 addr0.
rewrite !derivative_cons IH mulmxDr mulmxDl -scalemxAr -scalemxAl scalerDr.
by rewrite addrACA.
Qed.

Lemma evaluate_commutes cs A : A *m evaluate cs A = evaluate cs A *m A.
Proof.
elim: cs => [|a cs IH] /=; first by rewrite mulmx0 mul0mx.
by rewrite mulmxDr mulmxDl -mulmxA -IH scalar_mxC.
Qed.

(** Along a commutator [A, Y] the derivative is the commutator [p(A), Y].
    Law of [manifolds.expm]. *)
Theorem derivative_along_a_commutator_is_a_commutator cs A Y :
  derivative cs A (A *m Y - Y *m A) = evaluate cs A *m Y - Y *m evaluate cs A.
Proof.
elim: cs => [|a cs IH] /=; first by rewrite mulmx0 mul0mx subrr.
rewrite derivative_cons IH mulmxBr mulmxBl mulmxDl mulmxDr !mulmxA addrA subrK.
have -> : Y *m a%:M = a%:M *m Y by rewrite scalar_mxC.
by rewrite opprD addrACA subrr add0r.
Qed.

Lemma evaluate_tr cs A : evaluate cs A^T = (evaluate cs A)^T.
Proof.
elim: cs => [|a cs IH] /=; first by rewrite trmx0.
by rewrite IH -trmx_mul -evaluate_commutes linearD /= tr_scalar_mx.
Qed.

Lemma derivative_of_left_multiple cs A G :
  derivative cs A (A *m G) = A *m derivative cs A G.
Proof.
elim: cs => [|a cs IH]; first by rewrite mulmx0.
by rewrite !derivative_cons IH mulmxDr !mulmxA.
Qed.

(** The adjoint of the derivative at A, in the trace inner product, is the derivative at
    the transpose of A: back-propagation uses the same code.
    Law of [manifolds.expm]. *)
Theorem adjoint_of_derivative_is_derivative_at_the_transpose cs A E G :
  \tr ((derivative cs A E)^T *m G) = \tr (E^T *m derivative cs A^T G).
Proof.
elim: cs G => [|a cs IH] G; first by rewrite trmx0 mul0mx mulmx0.
rewrite !derivative_cons linearD /= !trmx_mul mulmxDl mulmxDr !mxtraceD; congr (_ + _).
  by rewrite -mulmxA IH derivative_of_left_multiple.
by rewrite -mulmxA mxtrace_mulC evaluate_tr !mulmxA.
Qed.

End Pairs.
