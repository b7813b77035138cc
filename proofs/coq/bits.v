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

(** * Strides *)

(** The offset of a shape:stride layout whose modes have size two: the sum of the strides
    that the bits of the index select. *)
Fixpoint strided (strides : list N) (x : N) : N :=
  match strides with
  | nil => 0
  | cons s rest => (if N.odd x then s else 0) + strided rest (x / 2)
  end.

(** No stride shares a bit with the sum of the others after it. *)
Fixpoint nothing_carries (strides : list N) : Prop :=
  match strides with
  | nil => True
  | cons s rest => (forall x, N.land s (strided rest x) = 0) /\ nothing_carries rest
  end.

Lemma odd_lxor x y : N.odd (N.lxor x y) = xorb (N.odd x) (N.odd y).
Proof. rewrite <- !N.bit0_odd. apply N.lxor_spec. Qed.

Lemma half_lxor x y : N.lxor x y / 2 = N.lxor (x / 2) (y / 2).
Proof. rewrite <- !N.div2_div, !N.div2_spec. apply N.shiftr_lxor. Qed.

Lemma strided_0 strides : strided strides 0 = 0.
Proof. induction strides as [|s rest IH]; [reflexivity|]. cbn. exact IH. Qed.

(** A strided layout is linear exactly when no sum of its strides carries.
    Law of [algebra.cute.from_cute]. *)
Theorem strides_are_linear_iff_nothing_carries (strides : list N) :
  (forall x y, strided strides (N.lxor x y) = N.lxor (strided strides x) (strided strides y))
  <-> nothing_carries strides.
Proof.
  induction strides as [|s rest IH]; [now split|]. cbn [nothing_carries]. rewrite <- IH.
  split.
  - intro linear. split.
    + intro x. apply sum_is_xor_iff_no_bit_is_shared.
      assert (h := linear 1 (2 * x)). cbn [strided] in h.
      rewrite odd_lxor, half_lxor, N.odd_mul in h.
      change (N.odd 1) with true in h. change (N.odd 2) with false in h.
      change (1 / 2) with 0 in h. rewrite (N.mul_comm 2 x), N.div_mul in h by discriminate.
      cbn [andb xorb] in h. rewrite N.lxor_0_l, strided_0, N.add_0_r, N.add_0_l in h.
      exact h.
    + intros x y. assert (h := linear (2 * x) (2 * y)). cbn [strided] in h.
      rewrite odd_lxor, half_lxor, !N.odd_mul in h. change (N.odd 2) with false in h.
      rewrite !(N.mul_comm 2), !N.div_mul in h by discriminate. exact h.
  - intros [apart linear] x y. cbn [strided]. rewrite odd_lxor, half_lxor, linear.
    assert (sum : forall b z, (if b : bool then s else 0) + strided rest z =
                         N.lxor (if b then s else 0) (strided rest z)).
    { intros b z. apply sum_is_xor_iff_no_bit_is_shared. destruct b; [apply apart|].
      apply N.land_0_l. }
    rewrite <- linear, !sum, linear.
    assert (bit : (if xorb (N.odd x) (N.odd y) then s else 0) =
              N.lxor (if N.odd x then s else 0) (if N.odd y then s else 0)).
    { destruct (N.odd x), (N.odd y); cbn [xorb];
        now rewrite ?N.lxor_nilpotent, ?N.lxor_0_l, ?N.lxor_0_r. }
    rewrite bit. bitwise.
Qed.
