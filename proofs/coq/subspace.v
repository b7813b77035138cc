(** Subspaces in general position.

    Both the optimal swizzle and the one-pass permutation ask for one subspace that
    meets two given ones as little as dimensions allow. It exists, also over the field
    with two elements, because a space is never the union of two proper subspaces: grow
    the subspace one vector at a time, each outside both. (Three given subspaces can
    cover the plane, so two is the limit.) *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(** A space that lies in neither of two subspaces has a vector outside both.
    Law of [algebra.bank_map.find_bank_map]. *)
Theorem two_proper_subspaces_never_cover_a_space m n p q
    (T : layout m n) (A : layout p n) (B : layout q n) :
  ~~ (T <= A)%MS -> ~~ (T <= B)%MS ->
  exists x : 'rV_n, [/\ (x <= T)%MS, ~~ (x <= A)%MS & ~~ (x <= B)%MS].
Proof.
case/row_subPn=> i iA; case/row_subPn=> j jB.
case: (boolP (row i T <= B)%MS) => iB; last by exists (row i T); rewrite row_sub.
case: (boolP (row j T <= A)%MS) => jA; last by exists (row j T); rewrite row_sub.
exists (row i T + row j T)%R; split; first by rewrite addmx_sub ?row_sub.
  by apply: contra iA => sum; rewrite -(addrK (row j T) (row i T)) addmx_sub ?eqmx_opp.
by apply: contra jB => sum; rewrite -(addKr (row i T) (row j T)) addmx_sub ?eqmx_opp.
Qed.

Lemma rank_grow m n (A : layout m n) (x : 'rV_n) :
  ~~ (x <= A)%MS -> \rank (A + x)%MS = (\rank A).+1.
Proof.
move=> xA; have x0 : x != 0 by apply: contraNneq xA => ->; apply: sub0mx.
rewrite mxrank_disjoint_sum ?rank_rV ?x0 ?addn1 //.
apply/eqP; rewrite -submx0; apply/rV_subP => u.
rewrite sub_capmx => /andP[uA /sub_rVP[a ua]].
case: (bit_is_zero_or_one a) => a_val; first by rewrite ua a_val scale0r sub0mx.
by case/negP: xA; rewrite -[x]scale1r -a_val -ua.
Qed.

(** Inside T there is, in every dimension, a subspace that meets U and V as little as the
    dimensions allow: its sums with both are as large as they can be.
    Law of [algebra.bank_map.find_bank_map]. *)
Theorem some_subspace_is_in_general_position_to_two n (T U V : layout n n) k :
  (U <= T)%MS -> (V <= T)%MS -> (k <= \rank T)%N ->
  exists Z : layout n n,
    [/\ (Z <= T)%MS, \rank Z = k,
        \rank (U + Z)%MS = minn (\rank U + k) (\rank T)
      & \rank (V + Z)%MS = minn (\rank V + k) (\rank T)].
Proof.
move=> UT VT; elim: k => [_|k IH k_lt].
  exists 0; rewrite sub0mx mxrank0 !addsmx0 !addn0.
  by rewrite (minn_idPl (mxrankS UT)) (minn_idPl (mxrankS VT)).
case: (IH (ltnW k_lt)) => Z [ZT rkZ rkU rkV].
pose wall (W : layout n n) := if (\rank (W + Z)%MS < \rank T)%N then (W + Z)%MS else Z.
have proper W : ~~ (T <= wall W)%MS.
  rewrite /wall; apply: contraL k_lt => /mxrankS.
  by case: ltnP => [lt|_]; rewrite -leqNgt ?rkZ // leqNgt lt.
have above W : (Z <= wall W)%MS by rewrite /wall; case: ifP; rewrite ?addsmxSr.
have [x [xT xU xV]] := two_proper_subspaces_never_cover_a_space (proper U) (proper V).
have grows W : (W <= T)%MS -> ~~ (x <= wall W)%MS ->
    \rank (W + Z)%MS = minn (\rank W + k) (\rank T) ->
    \rank (W + (Z + x))%MS = minn (\rank W + k.+1) (\rank T).
  rewrite addnS addsmxA /wall => WT; case: ltnP => [lt out rk|ge _ rk].
    have small : (\rank W + k < \rank T)%N by move: lt; rewrite rk gtn_min ltnn orbF.
    by rewrite rank_grow // rk (minn_idPl small) (minn_idPl (ltnW small)).
  have -> : \rank (W + Z + x)%MS = \rank T.
    apply/eqP; rewrite eqn_leq (leq_trans ge) ?andbT ?mxrankS ?addsmxSl //.
    by rewrite !addsmx_sub WT ZT.
  apply/esym/minn_idPr/leqW; move: ge; rewrite rk leq_min leqnn andbT //.
exists (Z + x)%MS; split; [by rewrite addsmx_sub ZT | | exact: grows | exact: grows].
by rewrite rank_grow ?rkZ //; apply: contra xU => /submx_trans; apply.
Qed.

(** Two subspaces of equal dimension have a common complement inside any space that holds
    both.
    Law of [algebra.bank_map.find_bank_map]. *)
Theorem two_subspaces_have_a_common_complement n (T U V : layout n n) :
  (U <= T)%MS -> (V <= T)%MS -> \rank U = \rank V ->
  exists Z : layout n n,
    [/\ (U :&: Z = 0)%MS, (U + Z :=: T)%MS, (V :&: Z = 0)%MS & (V + Z :=: T)%MS].
Proof.
move=> UT VT UV.
have [Z [ZT rkZ]] :=
  some_subspace_is_in_general_position_to_two UT VT (leq_subr (\rank U) (\rank T)).
rewrite -UV subnKC ?mxrankS // minnn => rkU rkV; exists Z.
have complement W : (W <= T)%MS -> \rank W = \rank U -> \rank (W + Z)%MS = \rank T ->
    (W :&: Z = 0)%MS /\ (W + Z :=: T)%MS.
  move=> WT rkW rk; split.
    apply/eqP; rewrite -mxrank_eq0 -(eqn_add2l (\rank (W + Z)%MS)).
    by rewrite mxrank_sum_cap addn0 rk rkW rkZ subnKC ?mxrankS.
  apply/eqmxP; rewrite addsmx_sub WT ZT /=.
  by rewrite -(geq_leqif (mxrank_leqif_sup _)) ?rk // addsmx_sub WT ZT.
by case: (complement _ U) => //; case: (complement _ V).
Qed.
