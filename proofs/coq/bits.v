(** Index arithmetic by powers of two is bit arithmetic, for every width.

    Compilers write indices with division and remainder, hardware and solvers prefer
    shifts and masks. Numbers here are unbounded naturals, so no width is assumed. *)

Require Import NArith Lia.
Open Scope N_scope.

(** Dividing by a power of two is shifting right.
    Law of [algebra.bits.log2]. *)
Theorem division_by_a_power_of_two_is_a_shift (x k : N) :
  x / 2 ^ k = N.shiftr x k.
Proof. now rewrite N.shiftr_div_pow2. Qed.

(** The remainder by a power of two is a mask.
    Law of [algebra.bits.log2]. *)
Theorem remainder_by_a_power_of_two_is_a_mask (x k : N) :
  x mod 2 ^ k = N.land x (N.ones k).
Proof. now rewrite N.land_ones. Qed.

(** Multiplying by a power of two is shifting left.
    Law of [algebra.LinearLayout.strided_1d]. *)
Theorem product_with_a_power_of_two_is_a_shift (x k : N) :
  x * 2 ^ k = N.shiftl x k.
Proof. now rewrite N.shiftl_mul_pow2. Qed.

Ltac bitwise :=
  apply N.bits_inj; intro position;
  rewrite ?N.bits_0, ?N.lxor_spec, ?N.land_spec, ?N.ldiff_spec, ?N.land_spec, ?N.ldiff_spec;
  repeat match goal with |- context [N.testbit ?a ?b] => destruct (N.testbit a b) end;
  reflexivity.

Lemma sum_is_xor_plus_carries (x y : N) : x + y = N.lxor x y + 2 * N.land x y.
Proof.
  assert (x_parts : N.land x y + N.ldiff x y = x).
  { rewrite N.add_nocarry_lxor by bitwise. bitwise. }
  assert (y_parts : N.land x y + N.ldiff y x = y).
  { rewrite N.add_nocarry_lxor by bitwise. bitwise. }
  assert (xor_parts : N.ldiff x y + N.ldiff y x = N.lxor x y).
  { rewrite N.add_nocarry_lxor by bitwise. bitwise. }
  lia.
Qed.

(** A sum is the xor exactly when the numbers share no bit; else it exceeds the xor.
    Law of [algebra.why_not_linear]. *)
Theorem sum_is_xor_iff_no_bit_is_shared (x y : N) :
  x + y = N.lxor x y <-> N.land x y = 0.
Proof. rewrite sum_is_xor_plus_carries. lia. Qed.

(** Cutting an index into digits of powers of two and putting the digits together again
    gives the index: low and high parts never overlap.
    Law of [algebra.LinearLayout.reshape_ins]. *)
Theorem high_and_low_digits_make_the_index (x k : N) :
  N.lxor (N.shiftl (N.shiftr x k) k) (N.land x (N.ones k)) = x.
Proof.
  rewrite <- division_by_a_power_of_two_is_a_shift, <- product_with_a_power_of_two_is_a_shift.
  rewrite <- remainder_by_a_power_of_two_is_a_mask.
  rewrite <- N.add_nocarry_lxor.
  - rewrite (N.mul_comm _ (2 ^ k)). symmetry. apply N.div_mod. now apply N.pow_nonzero.
  - rewrite <- N.land_ones, <- N.shiftl_mul_pow2. apply N.bits_inj; intro i.
    rewrite !N.land_spec, N.bits_0. destruct (N.lt_ge_cases i k) as [low|high].
    + now rewrite N.shiftl_spec_low.
    + rewrite N.ones_spec_high by assumption. now rewrite !Bool.andb_false_r.
Qed.
