(** Inverses and conversions.

    A conversion from layout [A] to layout [B] holds the same tensor in other places:
    a map [X] from [A]'s index to [B]'s with [X] then [B] equal to [A]. [pinvmx B] is
    one right inverse of [B]; [A *m pinvmx B] is one conversion, and the kernel of [B]
    (elements that [B] holds in several places) is all the freedom there is. *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(** A layout has a right inverse exactly when it is surjective.
    Law of [algebra.LinearLayout.pseudoinvert]. *)
Theorem right_inverse_exists m n (B : layout m n) :
  row_full B <-> exists C : layout n m, compose C B = 1%:M.
Proof. by split=> /row_fullP. Qed.

(** The inverse undoes an invertible layout on both sides, and is the only layout that
    undoes it on one side.
    Law of [algebra.LinearLayout.invert]. *)
Theorem inverse_undoes_both_ways_and_is_unique n (A : layout n n) :
  A \in unitmx ->
  [/\ compose A (invmx A) = 1%:M, compose (invmx A) A = 1%:M
    & forall B : layout n n, compose A B = 1%:M -> B = invmx A].
Proof.
move=> unitA; rewrite /compose; split; [exact: mulmxV | exact: mulVmx |].
by move=> B AB; rewrite -[B]mul1mx -(mulVmx unitA) -mulmxA AB mulmx1.
Qed.

(** The inverse of a composition is the composition of the inverses, reversed.
    Law of [algebra.LinearLayout.invert]. *)
Theorem inverse_of_compose_is_reversed_compose n (A B : layout n n) :
  A \in unitmx -> B \in unitmx ->
  invmx (compose A B) = compose (invmx B) (invmx A).
Proof.
move=> a b; have AB: compose A B \in unitmx by rewrite unitmx_mul a b.
case: (inverse_undoes_both_ways_and_is_unique AB) => _ _ unique.
apply/esym/unique; rewrite /compose mulmxA -(mulmxA A) mulmxV // mulmx1.
by rewrite mulmxV.
Qed.

(** A times the right inverse of B, followed by B, is A: the conversion moves every
    element to a place where B expects it.
    Law of [algebra.LinearLayout.invert_and_compose]. *)
Theorem conversion_then_destination_is_source m m' n
    (A : layout m n) (B : layout m' n) :
  row_full B -> compose (compose A (pinvmx B)) B = A.
Proof. by move=> full; rewrite /compose mulmxKpV // submx_full. Qed.

(** A conversion exists exactly when B reaches every output that A reaches; B need not
    be surjective.
    Law of [algebra.LinearLayout.invert_and_compose]. *)
Theorem conversion_exists_iff_destination_reaches_the_source m m' n
    (A : layout m n) (B : layout m' n) :
  (exists X, compose X B = A) <-> forall v, exists w, apply B w = apply A v.
Proof.
split=> [[X <-] v|reach].
  by exists (v *m X); rewrite /apply /compose mulmxA.
suff /submxP[X ->] : (A <= B)%MS by exists X.
apply/row_subP => i; case: (reach (delta_mx 0 i)) => w.
by rewrite /apply -rowE => <-; apply: submxMl.
Qed.

(** Two maps are conversions of the same layout exactly when they differ by elements of
    the kernel of B, row by row: broadcasting is the only freedom.
    Law of [algebra.LinearLayout.get_free_variable_masks]. *)
Theorem conversions_agree_iff_they_differ_by_the_kernel m m' n
    (B : layout m' n) (X Y : layout m m') :
  compose X B = compose Y B <-> (X - Y <= kermx B)%MS.
Proof.
rewrite /compose; split=> [same|/sub_kermxP same].
  by apply/sub_kermxP; rewrite mulmxBl same subrr.
by apply/eqP; rewrite -subr_eq0 -mulmxBl same.
Qed.

(** There is one conversion only exactly when B holds no element twice.
    Law of [algebra.LinearLayout.invert_and_compose]. *)
Theorem conversion_is_unique_iff_destination_is_injective m m' n
    (B : layout m' n) :
  (0 < m)%N ->
  row_free B <-> (forall X Y : layout m m', compose X B = compose Y B -> X = Y).
Proof.
move=> m_pos; split=> [free X Y|unique]; first exact: (row_free_inj free).
apply/injective_iff_no_two_inputs_share_an_output => u v same.
have rows (w : 'rV['F_2]_m') : row (Ordinal m_pos) (const_mx 1 *m w : 'M_(m, m')) = w.
  by apply/rowP => j; rewrite !mxE big_ord1 mxE mul1r.
have same_col : compose (const_mx 1 *m u : layout m m') B = compose (const_mx 1 *m v) B.
  by rewrite /compose -!mulmxA -[u *m B]/(apply B u) same.
by rewrite -(rows u) -(rows v) (unique _ _ same_col).
Qed.

(** Converting from A to B and then from B to C is a conversion from A to C.
    Law of [algebra.LinearLayout.invert_and_compose]. *)
Theorem conversions_compose_to_a_conversion m1 m2 m3 n
    (A : layout m1 n) (B : layout m2 n) (C : layout m3 n)
    (X : layout m1 m2) (Y : layout m2 m3) :
  compose X B = A -> compose Y C = B -> compose (compose X Y) C = A.
Proof. by rewrite /compose => <- <-; rewrite mulmxA. Qed.

(** The span of the bases before the [i]-th. *)
Definition bases_before m n (A : layout m n) (i : 'I_m) : layout n n :=
  (\sum_(j < m | (j < i)%N) <<row j A>>)%MS.

(** A solution that is zero at every basis which depends on the bases before it is the
    numerically smallest: any other solution has a one at the highest place where they
    differ.
    Law of [algebra.gauss.solve]. *)
Theorem solution_without_dependent_bases_is_the_smallest m n
    (A : layout m n) (x y : 'rV['F_2]_m) :
  (forall i, (row i A <= bases_before A i)%MS -> x 0 i = 0) ->
  apply A x = apply A y -> x != y ->
  exists i, [/\ x 0 i = 0, y 0 i = 1 & forall j : 'I_m, (i < j)%N -> x 0 j = y 0 j].
Proof.
move=> pivots same xy.
have [i0 diff0] : exists i, x 0 i != y 0 i.
  apply/existsP; apply: contraNT xy; rewrite negb_exists => /forallP all.
  by apply/eqP/rowP => i; apply/eqP; rewrite -[_ == _]negbK.
case: (@arg_maxnP _ i0 (fun i => x 0 i != y 0 i) val diff0) => i diff top.
have above (j : 'I_m) : (i < j)%N -> x 0 j = y 0 j.
  by move=> ij; apply/eqP; apply: contraTT ij => /top; rewrite -leqNgt.
have dependent : (row i A <= bases_before A i)%MS.
  have : (x + y) *m A = 0.
    by rewrite mulmxDl -[x *m A]/(apply A x) same /apply add_self.
  rewrite mulmx_sum_row (bigD1 i) //= !mxE.
  have -> : x 0 i + y 0 i = 1.
    case: (bit_is_zero_or_one (x 0 i)) diff => ->;
      by case: (bit_is_zero_or_one (y 0 i)) => ->; rewrite ?eqxx ?addr0 ?add0r.
  rewrite scale1r => /eqP; rewrite addr_eq0 => /eqP ->; rewrite eqmx_opp.
  apply: summx_sub => j ji; rewrite mxE.
  have [lt|gt|eq] := ltngtP j i; last by case/eqP: ji; apply: val_inj.
    apply: scalemx_sub; rewrite (sumsmx_sup j) ?lt // genmxE submx_refl //.
  have -> : x 0 j + y 0 j = 0.
    by rewrite (above j gt); case: (bit_is_zero_or_one (y 0 j)) => ->; apply: val_inj.
  by rewrite scale0r sub0mx.
have xi := pivots i dependent; exists i; split=> //.
by case: (bit_is_zero_or_one (y 0 i)) diff => ->; rewrite ?xi ?eqxx.
Qed.
