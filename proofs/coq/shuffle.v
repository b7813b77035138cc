(** Register and lane bits: how a warp shuffle is found.

    A conversion inside a warp is a permutation of index bits, some of which select a
    register and the others a lane. Registers and lanes can be permuted cheaply among
    themselves; only bits that cross cost shuffles. The cycle rewrite takes the run of
    lane bits out of a cycle and leaves one crossing; the decomposition says that it
    always ends with as many disjoint swaps as bits cross. *)

From mathcomp Require Import all_ssreflect all_algebra all_fingroup.
From tilewright Require Import layout.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

(** The cyclic permutation (x0 x1 .. xk): [next s] sends each to the next one and fixes
    all else. *)
Definition cycle_of (T : eqType) (s : seq T) (x : T) : T := next s x.

Definition swap_of (T : eqType) (a b x : T) : T :=
  if x == a then b else if x == b then a else x.

Section CycleRewrite.
Variable T : eqType.
Implicit Types (x y : T) (s : seq T).

Lemma next_at_cat x y0 y s t u :
  next_at x y0 y (s ++ t :: u) =
    if x \in y :: s then next_at x t y s else next_at x y0 t u.
Proof.
elim: s y => [|y' s IH] y /=; first by rewrite inE; case: ifP => // ->.
by rewrite IH [in RHS]inE; case: eqP.
Qed.

Lemma next_at_outside x y0 y s : x \notin y :: s -> next_at x y0 y s = x.
Proof.
elim: s y => [|y' s IH] y /=; first by rewrite inE => /negPf->.
by rewrite inE negb_or => /andP[/negPf-> /IH].
Qed.

Lemma next_at_inside x y0 y s : x \in y :: s -> next_at x y0 y s \in y0 :: s.
Proof.
elim: s y => [|y' s IH] y /=; first by rewrite inE => ->; rewrite mem_head.
rewrite inE; case: eqP => /= _; first by rewrite !inE eqxx orbT.
by move/IH; rewrite !inE => /orP[->|->]; rewrite ?orbT.
Qed.

Lemma next_at_return x a b y s :
  x \in y :: s -> a \notin s ->
  next_at x b y s = if next_at x a y s == a then b else next_at x a y s.
Proof.
elim: s y => [|y' s IH] y /=; first by rewrite inE => ->; rewrite eqxx.
rewrite !inE negb_or; case: eqP => /= _; last by move=> xs /andP[_]; apply: IH.
by move=> _ /andP[]; rewrite eq_sym => /negPf->.
Qed.

(** A cycle (r_m l_j .. l_k r_i ..) is the cycle of its lane bits, then the cycle without
    them, then the swap of r_i and l_j.
    Law of [compiler.convert.classify]. *)
Theorem run_of_lane_bits_leaves_its_cycle_at_the_price_of_one_swap
    (r_m l_j r_i : T) (lanes rest : seq T) :
  uniq ((r_m :: l_j :: lanes) ++ r_i :: rest) ->
  cycle_of ((r_m :: l_j :: lanes) ++ r_i :: rest) =1
    swap_of r_i l_j \o cycle_of (r_m :: r_i :: rest) \o cycle_of (l_j :: lanes).
Proof.
rewrite -cat1s -catA cat1s cons_uniq mem_cat negb_or cat_uniq.
move=> /andP[/andP[m_left m_right] /and3P[uniq_l /hasPn apart uniq_r]] x.
have disjoint y : y \in l_j :: lanes -> y \notin r_i :: rest.
  by move=> yl; apply/negP => /apart /negP; apply.
rewrite /cycle_of /= next_at_cat; have [->|x_m] := eqVneq x r_m.
  by rewrite next_at_outside // eqxx /swap_of eqxx.
have [xl|x_out] := boolP (x \in l_j :: lanes); last first.
  rewrite (next_at_outside _ x_out) (negPf x_m) /swap_of.
  set z := next_at x r_m r_i rest.
  suff /andP[/negPf-> /negPf->] : (z != r_i) && (z != l_j) by [].
  have [xr|x_away] := boolP (x \in r_i :: rest).
    have := next_at_inside r_m xr; rewrite -/z inE => z_in.
    have j_right := disjoint l_j (mem_head _ _).
    case/orP: z_in => [/eqP->|zr].
      move: m_left m_right; rewrite !inE !negb_or => /andP[-> _] /andP[-> _] //.
    apply/andP; split; first by apply: contraTneq zr => ->; case/andP: uniq_r.
    by apply: contraNneq j_right => <-; rewrite inE zr orbT.
  rewrite /z next_at_outside //; move: x_away x_out.
  by rewrite !inE !negb_or => /andP[-> _] /andP[-> _].
have yl := next_at_inside l_j xl; set y := next_at x l_j l_j lanes in yl *.
have y_l : y \in l_j :: lanes by move: yl; rewrite !inE => /orP[->|->]; rewrite ?orbT.
have y_m : y == r_m = false by apply/negP => /eqP e; rewrite -e y_l in m_left.
have y_r := disjoint y y_l; have y_i : y == r_i = false.
  by apply/negP => /eqP e; move: y_r; rewrite e mem_head.
rewrite y_m (next_at_outside _ y_r) /swap_of y_i /y.
by apply: next_at_return => //; case/andP: uniq_l.
Qed.

(** A cycle (r l_j .. l_k) with one register bit is the cycle of its lane bits, then the
    swap of r and l_j.
    Law of [compiler.convert.classify]. *)
Theorem cycle_with_one_register_bit_is_its_lane_cycle_and_one_swap
    (r l_j : T) (lanes : seq T) :
  uniq (r :: l_j :: lanes) ->
  cycle_of (r :: l_j :: lanes) =1 swap_of r l_j \o cycle_of (l_j :: lanes).
Proof.
rewrite cons_uniq => /andP[r_out uniq_l] x; rewrite /cycle_of /=.
have [->|x_r] := eqVneq x r; first by rewrite next_at_outside // /swap_of eqxx.
have [xl|x_out] := boolP (x \in l_j :: lanes); last first.
  rewrite !next_at_outside // /swap_of (negPf x_r).
  by case: eqP x_out => // ->; rewrite mem_head.
have y_l : next_at x l_j l_j lanes \in l_j :: lanes.
  by have := next_at_inside l_j xl; rewrite !inE => /orP[->|->]; rewrite ?orbT.
rewrite /swap_of; case: eqP => [e|_]; first by rewrite -e y_l in r_out.
by apply: next_at_return => //; case/andP: uniq_l.
Qed.

End CycleRewrite.

Section Decomposition.
Variables (T : finType) (registers : {set T}).
Local Open Scope group_scope.
Implicit Types (P : {perm T}) (x : T).

Lemma swaps_between (A B : {set T}) :
  [disjoint A & B] -> #|A| = #|B| ->
  exists swaps : {perm T},
    [/\ {in A, forall x, swaps x \in B}, {in B, forall x, swaps x \in A},
        forall x, x \notin A -> x \notin B -> swaps x = x & swaps * swaps = 1].
Proof.
move=> apart same.
pose across (X Y : {set T}) x := nth x (enum Y) (index x (enum X)).
have across_in (X Y : {set T}) x : #|X| = #|Y| -> x \in X -> across X Y x \in Y.
  by move=> XY xX; rewrite -mem_enum mem_nth // -cardE -XY cardE index_mem mem_enum.
have acrossK (X Y : {set T}) x : #|X| = #|Y| -> x \in X -> across Y X (across X Y x) = x.
  move=> XY xX; rewrite /across index_uniq ?enum_uniq //.
    by rewrite (set_nth_default x) ?nth_index ?mem_enum // index_mem mem_enum.
  by rewrite -cardE -XY cardE index_mem mem_enum.
pose f x := if x \in A then across A B x else if x \in B then across B A x else x.
have notA z : z \in B -> (z \in A) = false by move=> zB; apply: (disjointFl apart).
have fA z : z \in A -> f z \in B by move=> zA; rewrite /f zA across_in.
have fB z : z \in B -> f z \in A by move=> zB; rewrite /f (notA z zB) zB across_in.
have fK : involutive f.
  move=> x; rewrite {2}/f; case: ifP => xA.
    have yB := across_in _ _ _ same xA.
    by rewrite /f (notA _ yB) yB acrossK.
  case: ifP => xB; last by rewrite /f xA xB.
  by rewrite /f across_in // acrossK.
exists (perm (inv_inj fK)); split.
- by move=> x xA; rewrite permE fA.
- by move=> x xB; rewrite permE fB.
- by move=> x xA xB; rewrite permE /f (negPf xA) (negPf xB).
by apply/permP => x; rewrite permM !permE fK.
Qed.

(** Every permutation of register and lane bits is a permutation of the registers, then
    one of the lanes, then disjoint swaps of one register with one lane; there are as
    many swaps as register bits that go to lanes.
    Law of [compiler.convert.classify]. *)
Theorem every_bit_permutation_is_registers_then_lanes_then_swaps P :
  exists in_registers in_lanes swaps : {perm T},
    [/\ P = in_registers * in_lanes * swaps,
        perm_on registers in_registers /\ perm_on (~: registers) in_lanes,
        swaps * swaps = 1,
        forall x, swaps x != x -> (swaps x \in registers) = (x \notin registers)
      & #|[set x in registers | swaps x != x]| =
        #|[set x in registers | P x \notin registers]|].
Proof.
pose A := [set x in registers | P^-1 x \notin registers].
pose B := [set x in ~: registers | P^-1 x \in registers].
have apart : [disjoint A & B].
  apply/pred0P => x /=; rewrite !inE; case: (x \in registers) => //=; exact: andbF.
have crossB : #|[set x in registers | P x \notin registers]| = #|B|.
  rewrite -[LHS](card_imset _ (@perm_inj _ P)); apply: eq_card => x.
  rewrite !inE; apply/imsetP/andP => [[y]|[x_out x_in]].
    by rewrite inE => /andP[yr Py] ->; rewrite permK.
  by exists (P^-1 x); rewrite ?permKV // inE permKV x_in.
have same : #|A| = #|B|.
  have image : #|P @: registers| = #|registers| by apply: card_imset; apply: perm_inj.
  have in_image x : (x \in P @: registers) = (P^-1 x \in registers).
    apply/imsetP/idP => [[y yr ->]|xr]; first by rewrite permK.
    by exists (P^-1 x); rewrite ?permKV.
  apply/eqP; rewrite -(eqn_add2l #|registers :&: P @: registers|).
  have -> : A = registers :\: P @: registers.
    by apply/setP => x; rewrite !inE in_image andbC.
  have -> : B = P @: registers :\: registers.
    by apply/setP => x; rewrite !inE in_image.
  by rewrite cardsID setIC cardsID image.
have [swaps [toB toA stay involution]] := swaps_between apart same.
pose Q := P * swaps.
have Q_reg x : (Q x \in registers) = (x \in registers).
  rewrite permM; case xr: (x \in registers).
    case Pr: (P x \in registers).
      by rewrite stay // !inE ?Pr ?permK ?xr.
    by have /toA : P x \in B; rewrite !inE ?Pr ?permK // => /andP[].
  case Pr: (P x \in registers).
    have /toB : P x \in A by rewrite !inE Pr permK xr.
    by rewrite !inE => /andP[/negPf].
  by rewrite stay // !inE ?Pr ?permK ?xr.
have Q_norm : Q \in 'N(registers | 'P).
  by apply/astabsP => x; rewrite /= ?inE /aperm Q_reg.
have Q_norm' : Q \in 'N(~: registers | 'P).
  by apply/astabsP => x; rewrite /= ?inE /aperm Q_reg.
exists (restr_perm registers Q), (restr_perm (~: registers) Q), swaps; split=> //.
- have -> : restr_perm registers Q * restr_perm (~: registers) Q = Q.
    apply/permP => x; rewrite permM; case xr: (x \in registers).
      rewrite (restr_permE Q_norm xr) (out_perm (restr_perm_on _ _)) // !inE Q_reg xr //.
    rewrite (out_perm (restr_perm_on registers Q)) ?xr // restr_permE // inE xr //.
  by rewrite /Q -mulgA involution mulg1.
- by split; apply: restr_perm_on.
- move=> x; case xA: (x \in A).
    by move: (xA) (toB x xA); rewrite !inE => /andP[-> _] /andP[/negPf-> _].
  case xB: (x \in B); last by rewrite stay ?xA ?xB // eqxx.
  by move: (xB) (toA x xB); rewrite !inE => /andP[/negPf-> _] /andP[-> _].
rewrite crossB -same; apply: eq_card => x; rewrite [LHS]inE.
case xA: (x \in A).
  have := toB x xA; move: xA; rewrite !inE => /andP[xr _] /andP[out _].
  by rewrite xr /=; apply: contraNneq out => ->.
case xr: (x \in registers) => //=; apply/negbTE; rewrite negbK stay ?xA //.
by rewrite !inE xr.
Qed.

End Decomposition.

(** Exchanging two blocks of bits is three shears: select, shuffle, select.
    Law of [compiler.convert.classify]. *)
Theorem swap_of_register_and_lane_bits_is_three_xor_stages m :
  let select : layout (m + m) (m + m) := block_mx 1%:M 1%:M 0 1%:M in
  let shuffle : layout (m + m) (m + m) := block_mx 1%:M 0 1%:M 1%:M in
  compose (compose select shuffle) select = block_mx 0 1%:M 1%:M 0.
Proof.
rewrite /compose !mulmx_block !mulmx1 ?mulmx0 ?mul0mx ?mul1mx ?mulmx1 ?addr0 ?add0r.
by rewrite !add_self ?add0r ?addr0.
Qed.
