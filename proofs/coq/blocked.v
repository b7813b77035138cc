(** The blocked theorem, for every rank.

    A blocked layout cuts a tensor into nested tiles: the elements of one thread, the
    threads of a warp, the warps, the repetitions when the shape is larger, the blocks of
    a cluster. The legacy formula takes an index apart with division and remainder, one
    digit a dim, and glues the digits of each dim with products and sums. The linear
    layout is a product of identities. They are the same function, whatever the number
    of dims and of nested levels.

    Dims are counted in the layout's [order], the fastest first; all sizes are exponents
    of two. A vector of coordinates is a function from dims to naturals. *)

Require Import NArith Arith Lia List.
Import ListNotations.
Open Scope N_scope.

Inductive in_dim := Register | Lane | Warp | Block.
Definition in_dim_eqb (a b : in_dim) : bool :=
  match a, b with
  | Register, Register | Lane, Lane | Warp, Warp | Block, Block => true
  | _, _ => false
  end.

Definition index := in_dim -> N.
Definition coordinates := nat -> N.
Definition sizes := nat -> N.

(** * Layouts by their bases *)

(** Xor of the bases that the bits of [x] select. *)
Fixpoint select (bases : list coordinates) (x : N) (d : nat) : N :=
  match bases with
  | [] => 0
  | b :: rest => N.lxor (if N.odd x then b d else 0) (select rest (x / 2) d)
  end.

Record linear := Linear { bases : in_dim -> list coordinates; out_bits : sizes }.

Definition apply (L : linear) (x : index) (d : nat) : N :=
  N.lxor (N.lxor (select (bases L Register) (x Register) d)
                 (select (bases L Lane) (x Lane) d))
         (N.lxor (select (bases L Warp) (x Warp) d)
                 (select (bases L Block) (x Block) d)).

(** The product: bases of the second factor come after those of the first in every
    in-dim, moved above the first factor's bits in every out-dim. *)
Definition product (A B : linear) : linear :=
  Linear (fun i => bases A i ++ map (fun b d => N.shiftl (b d) (out_bits A d)) (bases B i))
         (fun d => out_bits A d + out_bits B d).

Definition one : linear := Linear (fun _ => []) (fun _ => 0).

(** The identity of [size d] bits for one dim [d]: bases 1, 2, 4, ... *)
Definition unit_bases (d : nat) (size : N) : list coordinates :=
  map (fun k e => if Nat.eqb e d then 2 ^ N.of_nat k else 0) (seq 0 (N.to_nat size)).

(** One level of tiling: the product of the identities of dims 0 .. rank - 1. *)
Definition level (rank : nat) (i : in_dim) (size : sizes) : linear :=
  Linear (fun j => if in_dim_eqb i j
                   then flat_map (fun d => unit_bases d (size d)) (seq 0 rank) else [])
         (fun d => if Nat.ltb d rank then size d else 0).

Definition blocked (rank : nat) (levels : list (in_dim * sizes)) : linear :=
  fold_right (fun l rest => product (level rank (fst l) (snd l)) rest) one levels.

(** * The legacy formula *)

(** Sum of the sizes of the dims before [d]. *)
Fixpoint bits_before (size : sizes) (d : nat) : N :=
  match d with O => 0 | S e => bits_before size e + size e end.

Definition digit (size : sizes) (x : N) (d : nat) : N :=
  (x / 2 ^ bits_before size d) mod 2 ^ size d.

Definition drop (rank : nat) (i : in_dim) (size : sizes) (x : index) : index :=
  fun j => if in_dim_eqb i j then x j / 2 ^ bits_before size rank else x j.

(** The coordinate in dim [d]: the digit of this level, plus the size of the level times
    the coordinate that the outer levels give for the rest of the index. *)
Fixpoint legacy (rank : nat) (levels : list (in_dim * sizes)) (x : index) (d : nat) : N :=
  match levels with
  | [] => 0
  | (i, size) :: outer =>
      digit size (x i) d + 2 ^ size d * legacy rank outer (drop rank i size x) d
  end.

(** * The proof *)

Lemma select_app a b x d :
  select (a ++ b) x d =
    N.lxor (select a x d) (select b (x / 2 ^ N.of_nat (length a)) d).
Proof.
  revert x; induction a as [|c a IH]; intro x; cbn [app select length].
  - change (N.of_nat (length [])) with 0. now rewrite N.div_1_r, N.lxor_0_l.
  - rewrite IH, N.lxor_assoc, N.div_div by (try apply N.pow_nonzero; lia).
    now rewrite Nat2N.inj_succ, N.pow_succ_r'.
Qed.

Lemma select_shiftl a x d (s : sizes) :
  select (map (fun b e => N.shiftl (b e) (s e)) a) x d = N.shiftl (select a x d) (s d).
Proof.
  revert x; induction a as [|c a IH]; intro x; cbn [map select]; [now rewrite N.shiftl_0_l|].
  rewrite IH, N.shiftl_lxor. destruct (N.odd x); [reflexivity|]. now rewrite N.shiftl_0_l.
Qed.

Lemma low_plus_high_is_xor a b s : a < 2 ^ s -> a + 2 ^ s * b = N.lxor a (N.shiftl b s).
Proof.
  intro low. rewrite (N.mul_comm (2 ^ s)), <- N.shiftl_mul_pow2.
  apply N.add_nocarry_lxor, N.bits_inj; intro i. rewrite N.land_spec, N.bits_0.
  destruct (N.lt_ge_cases i s) as [below|above].
  - rewrite N.shiftl_spec_low by assumption. apply Bool.andb_false_r.
  - rewrite <- (N.mod_small a (2 ^ s)) by assumption.
    now rewrite N.mod_pow2_bits_high.
Qed.

Lemma select_bits_of_a_number (size start : nat) x d e :
  select (map (fun k f => if Nat.eqb f d then 2 ^ N.of_nat k else 0) (seq start size)) x e =
    if Nat.eqb e d then N.shiftl (x mod 2 ^ N.of_nat size) (N.of_nat start) else 0.
Proof.
  revert start x; induction size as [|size IH]; intros start x.
  - change (2 ^ N.of_nat 0) with 1. rewrite N.mod_1_r, N.shiftl_0_l.
    now destruct (Nat.eqb e d).
  - cbn [seq map select]. rewrite IH. destruct (Nat.eqb e d);
      [|now destruct (N.odd x)].
    rewrite (Nat2N.inj_succ size), N.pow_succ_r', N.mod_mul_r by (try apply N.pow_nonzero; lia).
    replace (x mod 2 + _)
      with (N.lxor (x mod 2) (N.shiftl ((x / 2) mod 2 ^ N.of_nat size) 1))
      by (symmetry; apply (low_plus_high_is_xor _ _ 1), N.mod_lt; lia).
    rewrite N.shiftl_lxor, N.shiftl_shiftl, (Nat2N.inj_succ start), N.add_1_l. f_equal.
    rewrite <- N.bit0_mod, N.bit0_odd.
    destruct (N.odd x); simpl N.b2n; [now rewrite N.shiftl_1_l|now rewrite N.shiftl_0_l].
Qed.

Lemma length_unit_bases d size : N.of_nat (length (unit_bases d size)) = size.
Proof. unfold unit_bases. now rewrite map_length, seq_length, N2Nat.id. Qed.

Lemma select_unit_bases d size x e :
  select (unit_bases d size) x e = if Nat.eqb e d then x mod 2 ^ size else 0.
Proof.
  unfold unit_bases. rewrite select_bits_of_a_number, N2Nat.id.
  now rewrite N.shiftl_0_r.
Qed.

Lemma length_of_a_level size rank start :
  N.of_nat (length (flat_map (fun d => unit_bases d (size d)) (seq start rank))) +
    bits_before size start = bits_before size (start + rank).
Proof.
  revert start; induction rank as [|rank IH]; intro start.
  - now rewrite Nat.add_0_r.
  - cbn [seq flat_map]. rewrite app_length, Nat2N.inj_add.
    replace (start + S rank)%nat with (S start + rank)%nat by lia. rewrite <- IH.
    rewrite length_unit_bases. cbn [bits_before]. lia.
Qed.

Lemma select_level size rank start x d :
  select (flat_map (fun e => unit_bases e (size e)) (seq start rank))
         (x / 2 ^ bits_before size start) d =
    if (Nat.leb start d && Nat.ltb d (start + rank))%bool then digit size x d else 0.
Proof.
  revert start; induction rank as [|rank IH]; intro start.
  - cbn [seq flat_map select]. destruct (Nat.leb_spec start d), (Nat.ltb_spec d (start + 0));
      (reflexivity || lia).
  - cbn [seq flat_map]. rewrite select_app, select_unit_bases, length_unit_bases.
    rewrite N.div_div by (apply N.pow_nonzero; lia). rewrite <- N.pow_add_r.
    change (bits_before size start + size start) with (bits_before size (S start)).
    rewrite IH. destruct (Nat.eqb_spec d start) as [->|ne].
    + replace (Nat.leb (S start) start) with false by (symmetry; apply Nat.leb_gt; lia).
      rewrite N.lxor_0_r, Nat.leb_refl.
      replace (Nat.ltb start (start + S rank)) with true; [reflexivity|].
      symmetry; apply Nat.ltb_lt; lia.
    + rewrite N.lxor_0_l. replace (S start + rank)%nat with (start + S rank)%nat by lia.
      destruct (Nat.leb_spec (S start) d), (Nat.leb_spec start d); (reflexivity || lia).
Qed.

Lemma apply_product A B x d :
  apply (product A B) x d =
    N.lxor (apply A x d)
           (N.shiftl (apply B (fun i => x i / 2 ^ N.of_nat (length (bases A i))) d)
                     (out_bits A d)).
Proof.
  unfold apply, product; cbn [bases out_bits]. rewrite !select_app, !select_shiftl.
  rewrite !N.shiftl_lxor. apply N.bits_inj; intro n; rewrite !N.lxor_spec.
  repeat match goal with |- context [N.testbit ?a ?b] => destruct (N.testbit a b) end;
    reflexivity.
Qed.

Lemma apply_level rank i size x d :
  (d < rank)%nat -> apply (level rank i size) x d = digit size (x i) d.
Proof.
  intro inside. assert (h := select_level size rank 0 (x i) d).
  cbn [bits_before] in h. change (2 ^ 0) with 1 in h. rewrite N.div_1_r in h.
  replace (Nat.ltb d (0 + rank)) with true in h
    by (symmetry; apply Nat.ltb_lt; assumption). cbn [Nat.leb andb] in h.
  unfold apply, level; cbn [bases]. destruct i; cbn [in_dim_eqb select];
    rewrite h, ?N.lxor_0_l, ?N.lxor_0_r; reflexivity.
Qed.

Lemma apply_ext L x y d : (forall i, x i = y i) -> apply L x d = apply L y d.
Proof. intro same. unfold apply. now rewrite !same. Qed.

(** For every rank and any number of nested levels, the div/mod formula of a blocked
    layout is the product of identities.
    Law of [algebra.encodings.Blocked]. *)
Theorem blocked_formula_is_a_linear_layout_for_every_rank rank levels x d :
  (d < rank)%nat -> apply (blocked rank levels) x d = legacy rank levels x d.
Proof.
  intro inside. revert x; induction levels as [|[i size] outer IH]; intro x.
  - reflexivity.
  - cbn [blocked fold_right fst snd legacy]. fold (blocked rank outer).
    rewrite apply_product, apply_level by assumption.
    rewrite low_plus_high_is_xor by (apply N.mod_lt, N.pow_nonzero; lia). f_equal.
    unfold level at 2; cbn [out_bits].
    replace (Nat.ltb d rank) with true by (symmetry; apply Nat.ltb_lt; assumption).
    f_equal. rewrite <- IH. apply apply_ext. intro j. unfold level, drop; cbn [bases].
    destruct (in_dim_eqb i j); [|now rewrite N.div_1_r].
    assert (len := length_of_a_level size rank 0). cbn [bits_before Nat.add] in len.
    now rewrite N.add_0_r in len; rewrite len.
Qed.

(** A layout cut down to a shape: components of a basis that reach it become zero. *)
Definition clamp (shape : sizes) (L : linear) : linear :=
  Linear (fun i => map (fun b d => if b d <? 2 ^ shape d then b d else 0) (bases L i)) shape.

Definition at_most_one_bit (b : coordinates) := forall d, b d = 0 \/ exists k, b d = 2 ^ k.

Lemma blocked_bases_have_at_most_one_bit rank levels i b :
  In b (bases (blocked rank levels) i) -> at_most_one_bit b.
Proof.
  revert b; induction levels as [|[j size] outer IH]; intro b; [intros []|].
  cbn [blocked fold_right fst snd]. fold (blocked rank outer).
  unfold product; cbn [bases]. rewrite in_app_iff, in_map_iff. intros [inner|[c [<- outside]]] d.
  - unfold level in inner; cbn [bases] in inner. destruct (in_dim_eqb j i); [|destruct inner].
    apply in_flat_map in inner. destruct inner as [e [_ here]]. unfold unit_bases in here.
    apply in_map_iff in here. destruct here as [k [<- _]].
    destruct (Nat.eqb d e); [right; now exists (N.of_nat k)|now left].
  - destruct (IH c outside d) as [zero|[k power]].
    + left. rewrite zero. apply N.shiftl_0_l.
    + right. rewrite power, N.shiftl_mul_pow2, <- N.pow_add_r. eexists. reflexivity.
Qed.

Lemma clamp_is_mod_on_one_bit b s :
  b = 0 \/ (exists k, b = 2 ^ k) -> (if b <? 2 ^ s then b else 0) = b mod 2 ^ s.
Proof.
  assert (pos : 2 ^ s <> 0) by (apply N.pow_nonzero; lia).
  destruct (N.ltb_spec b (2 ^ s)) as [small|large]; [now rewrite N.mod_small|].
  intros [->|[k ->]]; [lia|].
  replace k with (k - s + s) by (apply N.sub_add, (N.pow_le_mono_r_iff 2); lia).
  now rewrite N.pow_add_r, N.mod_mul.
Qed.

Lemma mod_lxor a b s : N.lxor a b mod 2 ^ s = N.lxor (a mod 2 ^ s) (b mod 2 ^ s).
Proof.
  rewrite <- !N.land_ones. apply N.bits_inj; intro n.
  rewrite !N.land_spec, !N.lxor_spec, !N.land_spec.
  now destruct (N.testbit a n), (N.testbit b n), (N.testbit (N.ones s) n).
Qed.

Lemma select_clamp shape a x d :
  (forall b, In b a -> at_most_one_bit b) ->
  select (map (fun b e => if b e <? 2 ^ shape e then b e else 0) a) x d =
    select a x d mod 2 ^ shape d.
Proof.
  assert (zero : 0 mod 2 ^ shape d = 0) by (apply N.mod_0_l, N.pow_nonzero; lia).
  intro single. revert x; induction a as [|b a IH]; intro x; cbn [map select];
    [now rewrite zero|].
  rewrite IH, mod_lxor by (intros c h; apply single; now right).
  destruct (N.odd x); [|now rewrite zero].
  f_equal. apply clamp_is_mod_on_one_bit, single. now left.
Qed.

(** When the tiles exceed the shape, the formula wraps around it (coordinate modulo
    shape) and the layout zeroes the bases that reach it: still the same function, for
    every rank.
    Law of [algebra.ensure_layout_not_larger_than]. *)
Theorem blocked_formula_modulo_the_shape_is_the_clamped_layout rank levels shape x d :
  (d < rank)%nat ->
  apply (clamp shape (blocked rank levels)) x d = legacy rank levels x d mod 2 ^ shape d.
Proof.
  intro inside. rewrite <- blocked_formula_is_a_linear_layout_for_every_rank by assumption.
  assert (single := blocked_bases_have_at_most_one_bit rank levels).
  unfold apply, clamp; cbn [bases].
  rewrite !select_clamp by (intro b; apply single). now rewrite <- !mod_lxor.
Qed.

(** * No element twice *)

Fixpoint index_bits (rank : nat) (levels : list (in_dim * sizes)) (i : in_dim) : N :=
  match levels with
  | [] => 0
  | (j, size) :: outer =>
      (if in_dim_eqb j i then bits_before size rank else 0) + index_bits rank outer i
  end.

Lemma equal_digits_equal_remainders size rank x y :
  (forall d, (d < rank)%nat -> digit size x d = digit size y d) ->
  x mod 2 ^ bits_before size rank = y mod 2 ^ bits_before size rank.
Proof.
  induction rank as [|rank IH]; intro same; [now rewrite !N.mod_1_r|].
  cbn [bits_before]. rewrite N.pow_add_r, !N.mod_mul_r by (apply N.pow_nonzero; lia).
  rewrite IH by (intros d inside; apply same; lia). f_equal. f_equal.
  exact (same rank (Nat.lt_succ_diag_r rank)).
Qed.

Lemma split_of_a_sum a b c d s :
  a < 2 ^ s -> c < 2 ^ s -> a + 2 ^ s * b = c + 2 ^ s * d -> a = c /\ b = d.
Proof.
  intros low_a low_c sum. assert (pos := N.pow_nonzero 2 s ltac:(lia)). split.
  - apply (f_equal (fun z => z mod 2 ^ s)) in sum.
    rewrite !(N.mul_comm (2 ^ s)), !N.mod_add, !N.mod_small in sum by assumption. exact sum.
  - apply (f_equal (fun z => z / 2 ^ s)) in sum.
    rewrite !(N.mul_comm (2 ^ s)), !N.div_add, !N.div_small in sum by assumption. exact sum.
Qed.

(** Without clamping, a blocked layout of any rank gives no coordinate to two indices: it
    has a broadcast only where the tiles exceed the shape.
    Law of [algebra.encodings.Blocked]. *)
Theorem blocked_formula_gives_no_coordinate_twice rank levels x y :
  (forall i, x i < 2 ^ index_bits rank levels i) ->
  (forall i, y i < 2 ^ index_bits rank levels i) ->
  (forall d, (d < rank)%nat -> legacy rank levels x d = legacy rank levels y d) ->
  forall i, x i = y i.
Proof.
  revert x y; induction levels as [|[j size] outer IH]; intros x y in_x in_y same i.
  - specialize (in_x i). specialize (in_y i). cbn in in_x, in_y. lia.
  - assert (parts : forall d, (d < rank)%nat -> digit size (x j) d = digit size (y j) d /\
        legacy rank outer (drop rank j size x) d = legacy rank outer (drop rank j size y) d).
    { intros d inside. apply (split_of_a_sum _ _ _ _ (size d));
        [apply N.mod_lt, N.pow_nonzero; lia|apply N.mod_lt, N.pow_nonzero; lia|].
      exact (same d inside). }
    assert (smaller : forall z, (forall k, z k < 2 ^ index_bits rank ((j, size) :: outer) k) ->
        forall k, drop rank j size z k < 2 ^ index_bits rank outer k).
    { intros z in_z k. specialize (in_z k). cbn [index_bits] in in_z. unfold drop.
      destruct (in_dim_eqb j k); [|exact in_z].
      apply N.div_lt_upper_bound; [apply N.pow_nonzero; lia|]. now rewrite <- N.pow_add_r. }
    assert (high := IH _ _ (smaller x in_x) (smaller y in_y)
      (fun d inside => proj2 (parts d inside)) i). unfold drop in high.
    destruct (in_dim_eqb j i) eqn:here; [|exact high].
    assert (low := equal_digits_equal_remainders size rank (x j) (y j)
      (fun d inside => proj1 (parts d inside))).
    assert (j = i) by (destruct j, i; (reflexivity || discriminate)). subst i.
    rewrite (N.div_mod (x j) (2 ^ bits_before size rank)) by (apply N.pow_nonzero; lia).
    rewrite (N.div_mod (y j) (2 ^ bits_before size rank)) by (apply N.pow_nonzero; lia).
    now rewrite high, low.
Qed.
