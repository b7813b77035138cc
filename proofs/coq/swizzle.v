(** Swizzles as bit operations, for all exponents.

    Triton's swizzled shared memory moves the column of a row: groups of [vec] columns
    are exchanged by xor with the row's phase, [(row / per_phase) mod max_phase]. CuTe's
    Swizzle<B, M, S> is the same idea on a flat offset. All parameters are powers of
    two, given here by their exponents. *)

Require Import NArith Lia.
Open Scope N_scope.

Ltac bitwise :=
  apply N.bits_inj; intro position; rewrite ?N.lxor_spec, ?N.land_spec, ?N.lxor_spec;
  repeat match goal with |- context [N.testbit ?a ?b] => destruct (N.testbit a b) end;
  reflexivity.

Definition swizzle (vec per_phase max_phase row column : N) : N :=
  N.lxor column (N.shiftl (N.land (N.shiftr row per_phase) (N.ones max_phase)) vec).

Definition legacy_swizzle (vec per_phase max_phase row column : N) : N :=
  let phase := (row / 2 ^ per_phase) mod 2 ^ max_phase in
  N.lxor (column / 2 ^ vec) phase * 2 ^ vec + column mod 2 ^ vec.

Lemma land_shiftl_mod a k x : N.land (N.shiftl a k) (x mod 2 ^ k) = 0.
Proof.
  rewrite <- N.land_ones. apply N.bits_inj; intro i.
  rewrite !N.land_spec, N.bits_0. destruct (N.lt_ge_cases i k) as [low|high].
  - now rewrite N.shiftl_spec_low.
  - rewrite N.ones_spec_high by assumption. now rewrite !Bool.andb_false_r.
Qed.

Lemma cut_and_paste x k : N.lxor (N.shiftl (N.shiftr x k) k) (x mod 2 ^ k) = x.
Proof.
  rewrite <- N.add_nocarry_lxor by apply land_shiftl_mod.
  rewrite N.shiftr_div_pow2, N.shiftl_mul_pow2, N.mul_comm. symmetry.
  apply N.div_mod. now apply N.pow_nonzero.
Qed.

(** The div/mod formula of a swizzled column is one xor with shifted bits of the row.
    Law of [algebra.encodings.SwizzledShared]. *)
Theorem swizzle_formula_is_an_xor_with_row_bits v p m row column :
  legacy_swizzle v p m row column = swizzle v p m row column.
Proof.
  unfold legacy_swizzle, swizzle.
  rewrite <- N.shiftl_mul_pow2, N.add_nocarry_lxor by apply land_shiftl_mod.
  rewrite N.shiftl_lxor, N.lxor_assoc, (N.lxor_comm _ (column mod _)), <- N.lxor_assoc.
  rewrite <- !N.shiftr_div_pow2, cut_and_paste.
  now rewrite N.land_ones.
Qed.

(** The swizzled column is additive in row and column together, whatever the exponents.
    Law of [algebra.encodings.SwizzledShared]. *)
Theorem swizzle_is_linear v p m row row' column column' :
  swizzle v p m (N.lxor row row') (N.lxor column column') =
    N.lxor (swizzle v p m row column) (swizzle v p m row' column').
Proof.
  assert (spread : forall a b c, N.land (N.lxor a b) c = N.lxor (N.land a c) (N.land b c))
    by (intros; bitwise).
  unfold swizzle. rewrite N.shiftr_lxor, spread, N.shiftl_lxor. bitwise.
Qed.

(** Swizzling a column twice gives it back, so in every row the swizzle is a bijection.
    Law of [algebra.encodings.SwizzledShared]. *)
Theorem swizzle_is_its_own_inverse v p m row column :
  swizzle v p m row (swizzle v p m row column) = column.
Proof. unfold swizzle. now rewrite N.lxor_assoc, N.lxor_nilpotent, N.lxor_0_r. Qed.

Lemma below_iff_no_high_bit x k : x < 2 ^ k <-> N.shiftr x k = 0.
Proof.
  rewrite N.shiftr_div_pow2. assert (pos := N.pow_nonzero 2 k ltac:(lia)).
  split; intro h; [now apply N.div_small|]. now apply N.div_small_iff.
Qed.

Lemma xor_below x y k : x < 2 ^ k -> y < 2 ^ k -> N.lxor x y < 2 ^ k.
Proof. rewrite !below_iff_no_high_bit, N.shiftr_lxor. now intros -> ->. Qed.

(** Over all rows and columns of a tile, swizzled columns stay inside the row exactly when
    the phases that the rows can show, moved to their place, do: the weakest
    precondition. It needs the exponent of min(max_phase, max(1, rows / per_phase)).
    Law of [algebra.encodings.SwizzledShared]. *)
Theorem swizzle_stays_in_the_row_iff_the_phases_seen_fit v p m rows columns :
  (forall row column, row < 2 ^ rows -> column < 2 ^ columns ->
     swizzle v p m row column < 2 ^ columns) <->
  (let q := N.min m (rows - p) in q = 0 \/ v + q <= columns).
Proof.
  cbv zeta. split.
  - intro stays. destruct (N.eq_0_gt_0_cases (N.min m (rows - p))) as [zero|pos];
      [now left|right].
    set (q := N.min m (rows - p)) in *.
    assert (q_m : q <= m) by (unfold q; lia). assert (q_r : q + p <= rows) by (unfold q; lia).
    assert (row_in : N.shiftl (N.ones q) p < 2 ^ rows).
    { rewrite N.shiftl_mul_pow2, N.ones_equiv. assert (two := N.pow_nonzero 2 q ltac:(lia)).
      assert (half := N.pow_nonzero 2 p ltac:(lia)).
      apply N.lt_le_trans with (2 ^ q * 2 ^ p); [apply N.mul_lt_mono_pos_r; lia|].
      rewrite <- N.pow_add_r. apply N.pow_le_mono_r; lia. }
    specialize (stays _ 0 row_in ltac:(apply N.neq_0_lt_0, N.pow_nonzero; lia)).
    unfold swizzle in stays. rewrite N.lxor_0_l, N.shiftr_shiftl_l, N.sub_diag in stays
      by lia. rewrite N.shiftl_0_r in stays.
    assert (same : N.land (N.ones q) (N.ones m) = N.ones q).
    { rewrite N.land_ones. apply N.mod_small. rewrite N.ones_equiv.
      assert (two := N.pow_nonzero 2 q ltac:(lia)).
      apply N.lt_le_trans with (2 ^ q); [lia|apply N.pow_le_mono_r; lia]. }
    rewrite same in stays. destruct (N.le_gt_cases (v + q) columns); [assumption|].
    exfalso. apply (N.lt_irrefl (2 ^ columns)). apply N.le_lt_trans with (2 := stays).
    rewrite N.shiftl_mul_pow2. apply N.le_trans with (2 ^ (q - 1) * 2 ^ v).
    + rewrite <- N.pow_add_r. apply N.pow_le_mono_r; lia.
    + apply N.mul_le_mono_r. rewrite N.ones_equiv.
      replace q with (N.succ (q - 1)) at 2 by lia.
      rewrite N.pow_succ_r'. assert (two := N.pow_nonzero 2 (q - 1) ltac:(lia)). lia.
  - intros fits row column row_in column_in. unfold swizzle. apply xor_below; [assumption|].
    assert (phase : N.land (N.shiftr row p) (N.ones m) < 2 ^ N.min m (rows - p)).
    { assert (shifted : N.shiftr row p < 2 ^ (rows - p)).
      { rewrite below_iff_no_high_bit, N.shiftr_shiftr.
        apply below_iff_no_high_bit. apply N.lt_le_trans with (1 := row_in).
        apply N.pow_le_mono_r; lia. }
      rewrite N.land_ones. destruct (N.min_spec m (rows - p)) as [[_ ->]|[_ ->]].
      - apply N.mod_lt. now apply N.pow_nonzero.
      - apply N.le_lt_trans with (2 := shifted). apply N.mod_le. now apply N.pow_nonzero. }
    destruct fits as [zero|fits].
    + rewrite zero in phase. replace (N.land _ _) with 0 by (simpl in phase; lia).
      rewrite N.shiftl_0_l. apply N.neq_0_lt_0, N.pow_nonzero. lia.
    + rewrite N.shiftl_mul_pow2. apply N.lt_le_trans with (2 ^ N.min m (rows - p) * 2 ^ v).
      * apply N.mul_lt_mono_pos_r; [apply N.neq_0_lt_0, N.pow_nonzero; lia|assumption].
      * rewrite <- N.pow_add_r. apply N.pow_le_mono_r; lia.
Qed.

(** CuTe's Swizzle<B, M, S> on an offset: xor bits M+S .. M+S+B-1 onto M .. M+B-1. *)
Definition cute_swizzle (b m s x : N) : N :=
  N.lxor x (N.shiftr (N.land x (N.shiftl (N.ones b) (m + s))) s).

(** CuTe's swizzle is additive for all exponents, and its own inverse when the bits that
    are read lie above the bits that are written.
    Law of [algebra.cute.Swizzle]. *)
Theorem cute_swizzle_is_linear_and_its_own_inverse b m s x y :
  cute_swizzle b m s (N.lxor x y) = N.lxor (cute_swizzle b m s x) (cute_swizzle b m s y)
  /\ (b <= s -> cute_swizzle b m s (cute_swizzle b m s x) = x).
Proof.
  assert (spread : forall a b c, N.land (N.lxor a b) c = N.lxor (N.land a c) (N.land b c))
    by (intros; bitwise).
  split.
  - unfold cute_swizzle. rewrite spread, N.shiftr_lxor. bitwise.
  - intro fits. unfold cute_swizzle at 1. set (read z := N.land z (N.shiftl (N.ones b) (m + s))).
    assert (same : read (cute_swizzle b m s x) = read x).
    { unfold read, cute_swizzle. rewrite spread.
      replace (N.land (N.shiftr _ s) _) with 0; [apply N.lxor_0_r|].
      apply N.bits_inj; intro i. rewrite N.bits_0, N.land_spec, N.shiftr_spec', N.land_spec.
      destruct (N.lt_ge_cases i (m + s)) as [low|high].
      - rewrite (N.shiftl_spec_low _ _ i) by assumption. now rewrite Bool.andb_false_r.
      - rewrite (N.shiftl_spec_high' _ _ (i + s)) by lia.
        rewrite (N.ones_spec_high b) by lia. now rewrite Bool.andb_false_r. }
    fold (read (cute_swizzle b m s x)). rewrite same. unfold cute_swizzle. fold (read x).
    now rewrite N.lxor_assoc, N.lxor_nilpotent, N.lxor_0_r.
Qed.
