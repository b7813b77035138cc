(** Bank conflicts and optimal swizzles.

    One wavefront of a shared-memory access has an index [v] (its lane bits and the
    register bits of one vector). [word] maps it to the address of a 32-bit word, [bank]
    maps a word to its bank: a bank is a linear function of the word. Lanes that ask for
    the same word are served together, so a bank needs as many turns as distinct words
    are asked of it. The kernel of [bank] is the segment: the words of bank zero. *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout kernel subspace.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Definition words_asked_of m n b (word : layout m n) (bank : layout n b)
    (target : 'rV['F_2]_b) : {set 'rV['F_2]_n} :=
  [set x in [set apply word v | v : 'rV_m] | apply bank x == target].

Definition turns m n b (word : layout m n) (bank : layout n b) : nat :=
  \max_(target : 'rV_b) #|words_asked_of word bank target|.

Definition conflicts m n b (word : layout m n) (bank : layout n b) : nat :=
  (turns word bank).-1.

(** Every bank that a wavefront hits is asked for the same number of distinct words: two
    to the rank of the word map less the rank of the bank map.
    Law of [algebra.bank_conflicts]. *)
Theorem every_hit_bank_is_asked_for_equally_many_words m n b
    (word : layout m n) (bank : layout n b) (v : 'rV_m) :
  #|words_asked_of word bank (apply bank (apply word v))| =
    (2 ^ (\rank word - \rank (compose word bank)))%N.
Proof.
have -> : (\rank word - \rank (compose word bank) = \rank (word :&: kermx bank)%MS)%N.
  by rewrite -(mxrank_mul_ker word bank) addKn.
rewrite -card_row_space -[RHS](card_imset _ (addIr (apply word v))).
apply: eq_card => x; rewrite inE; apply/andP/imsetP.
  case=> /imsetP[u _ ->].
  move/eqP/inputs_share_an_output_iff_they_differ_by_the_kernel => ker.
  exists (apply word u + apply word v); rewrite ?inE.
    by rewrite sub_capmx ker andbT /apply -mulmxDl submxMl.
  by rewrite -addrA add_self addr0.
case=> y; rewrite inE sub_capmx => /andP[/submxP[u ->] ker] ->; split.
  by apply/imsetP; exists (u + v); rewrite ?inE // /apply mulmxDl.
apply/eqP/inputs_share_an_output_iff_they_differ_by_the_kernel.
by rewrite -addrA add_self addr0.
Qed.

(** The conflicts of one access, extra turns of the busiest bank, are two to the rank of
    the word map less the rank of the bank map, minus one.
    Law of [algebra.bank_conflicts]. *)
Theorem conflicts_are_a_difference_of_ranks m n b
    (word : layout m n) (bank : layout n b) :
  conflicts word bank = (2 ^ (\rank word - \rank (compose word bank)) - 1)%N.
Proof.
rewrite /conflicts subn1; congr _.-1; apply/eqP; rewrite eqn_leq; apply/andP; split.
  apply/bigmax_leqP => target _.
  case: (set_0Vmem (words_asked_of word bank target)) => [->|[x]].
    by rewrite cards0.
  rewrite inE => /andP[/imsetP[v _ ->] /eqP <-].
  by rewrite every_hit_bank_is_asked_for_equally_many_words.
rewrite -(every_hit_bank_is_asked_for_equally_many_words word bank 0).
exact: leq_bigmax.
Qed.

(** An access is free of conflicts exactly when its words meet the segment in zero only.
    Law of [algebra.bank_conflicts]. *)
Theorem conflict_free_iff_words_meet_the_segment_in_zero m n b
    (word : layout m n) (bank : layout n b) :
  conflicts word bank = 0%N <-> (word :&: kermx bank)%MS = 0.
Proof.
rewrite conflicts_are_a_difference_of_ranks -(mxrank_mul_ker word bank).
rewrite /compose addKn; split=> [|->]; last by rewrite mxrank0.
case rk: (\rank (word :&: kermx bank)%MS) => [|r].
  by move=> _; apply/eqP; rewrite -mxrank_eq0 rk.
move/eqP; rewrite subn_eq0 expnS => le1; exfalso.
have pos : (0 < 2 ^ r)%N by rewrite expn_gt0.
by have := leq_trans (leq_pmulr 2 pos) le1.
Qed.

(** When a wavefront asks for as many dimensions of words as there are bank bits, it is
    free of conflicts exactly when its words and the segment are complementary.
    Law of [algebra.bank_conflicts]. *)
Theorem conflict_free_iff_words_and_segment_are_complementary m n b
    (word : layout m n) (bank : layout n b) :
  row_full bank -> \rank word = b ->
  conflicts word bank = 0%N <->
    (word :&: kermx bank)%MS = 0 /\ row_full (word + kermx bank)%MS.
Proof.
move=> full rkW; rewrite conflict_free_iff_words_meet_the_segment_in_zero.
split=> [meet|[] //]; split=> //; rewrite /row_full mxrank_disjoint_sum //.
by rewrite rkW mxrank_ker (eqP full) subnKC // -(eqP full) rank_leq_row.
Qed.

(** No bank map does better than the pigeon-hole: with b bank bits there are at least two
    to the (rank of the words less b), minus one, conflicts.
    Law of [algebra.swizzle.optimal_swizzle]. *)
Theorem conflicts_are_at_least_the_excess_over_the_bank_bits m n b
    (word : layout m n) (bank : layout n b) :
  (2 ^ (\rank word - b) - 1 <= conflicts word bank)%N.
Proof.
rewrite conflicts_are_a_difference_of_ranks leq_sub2r // leq_exp2l //.
by rewrite leq_sub2l // rank_leq_col.
Qed.

Lemma bank_map_with_segment n b (Z : layout n n) :
  (b <= n)%N -> \rank Z = (n - b)%N ->
  exists bank : layout n b, row_full bank /\ (kermx bank :=: Z)%MS.
Proof.
move=> bn rkZ; have rkC : \rank (cokermx Z) = b.
  by rewrite mxrank_coker rkZ subKn.
have ker : (kermx (col_base (cokermx Z)) :=: Z)%MS.
  apply/eqmxP/andP; split.
    rewrite submxE -[X in _ *m X == _](mulmx_base (cokermx Z)) mulmxA mulmx_ker.
    by rewrite mul0mx.
  apply/sub_kermxP; apply: (row_free_inj (row_base_free (cokermx Z))).
  by rewrite -mulmxA mulmx_base mulmx_coker mul0mx.
have full : row_full (col_base (cokermx Z)) by apply: col_base_full.
by move: (col_base (cokermx Z)) ker full; rewrite rkC => bank; exists bank.
Qed.

(** For any two accesses, say a write and a read, one bank map makes both as free of
    conflicts as the pigeon-hole allows: the optimal swizzle exists.
    Law of [algebra.swizzle.optimal_swizzle]. *)
Theorem one_bank_map_is_optimal_for_two_accesses m m' n b
    (word : layout m n) (word' : layout m' n) :
  (b <= n)%N ->
  exists bank : layout n b,
    [/\ row_full bank,
        conflicts word bank = (2 ^ (\rank word - b) - 1)%N
      & conflicts word' bank = (2 ^ (\rank word' - b) - 1)%N].
Proof.
move=> bn; have fits : (n - b <= \rank (1%:M : layout n n))%N.
  by rewrite mxrank1 leq_subr.
have [Z [_ rkZ rkU rkV]] := some_subspace_is_in_general_position_to_two
  (submx1 (<<word>>%MS : layout n n)) (submx1 (<<word'>>%MS : layout n n)) fits.
have [bank [full ker]] := bank_map_with_segment bn rkZ.
have optimal k (W : layout k n) :
    \rank (<<W>> + Z)%MS = minn (\rank <<W>>%MS + (n - b)) (\rank (1%:M : layout n n)) ->
    conflicts W bank = (2 ^ (\rank W - b) - 1)%N.
  rewrite mxrank1 mxrank_gen (adds_eqmx (genmxE W) (eqmx_refl Z)) => rk.
  rewrite conflicts_are_a_difference_of_ranks; congr (2 ^ _ - 1)%N.
  rewrite -{1}(mxrank_mul_ker W bank) /compose addKn.
  rewrite (cap_eqmx (eqmx_refl W) ker).
  have /(canRL (addKn _)) -> := mxrank_sum_cap W Z; rewrite rk rkZ.
  case: leqP => [le|/ltnW le]; rewrite ?(minn_idPl le) ?(minn_idPr le).
    rewrite subnn; apply/esym/eqP; rewrite subn_eq0 -(leq_add2r (n - b)).
    by rewrite subnKC.
  by rewrite addnBA // -subnDA (addnC b) subnDA addnK.
by exists bank; split=> //; apply: optimal.
Qed.

(** An access of two to the k elements finds the elements of the first two to the k
    offsets in the registers of every thread; since these sets are nested, no memory
    layout gives k to patterns whose registers meet in fewer than k dimensions.
    Law of [algebra.swizzle_certificate.least_total_wavefronts]. *)
Theorem low_offsets_are_nested (pattern : finType) n (memory : layout n n)
    (registers : pattern -> layout n n) (width : pattern -> nat) k :
  memory \in unitmx -> (k <= n)%N ->
  (forall i, ((pid_mx (width i) : layout n n) *m memory <= registers i)%MS) ->
  (k <= \rank (\bigcap_(i | (k <= width i)%N) registers i)%MS)%N.
Proof.
move=> unit_m kn wide.
have rk : \rank ((pid_mx k : layout n n) *m memory) = k.
  by rewrite mxrankMfree ?row_free_unit // rank_pid_mx.
rewrite -{1}rk; apply: mxrankS; apply/sub_bigcapmxP => i k_le; apply: submx_trans (wide i).
apply/submxP; exists (pid_mx k).
by rewrite mulmxA mul_pid_mx (minn_idPl k_le) (minn_idPr kn).
Qed.
