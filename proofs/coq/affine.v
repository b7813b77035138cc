(** Affine layouts: a linear layout and a constant.

    Flips and rotations by half an extent are not linear, since zero does not stay, but
    they are a linear layout followed by an xor. *)

From mathcomp Require Import all_ssreflect all_algebra.
From tilewright Require Import layout.
Set Implicit Arguments. Unset Strict Implicit. Unset Printing Implicit Defensive.
Import GRing.Theory.
Local Open Scope ring_scope.

Record affine m n := Affine { linear : layout m n; offset : 'rV['F_2]_n }.

Definition affine_apply m n (f : affine m n) (v : 'rV['F_2]_m) : 'rV['F_2]_n :=
  apply (linear f) v + offset f.

Definition affine_compose m n p (f : affine m n) (g : affine n p) : affine m p :=
  Affine (compose (linear f) (linear g)) (apply (linear g) (offset f) + offset g).

Definition affine_inverse n (f : affine n n) : affine n n :=
  Affine (invmx (linear f)) (apply (invmx (linear f)) (offset f)).

(** Running one affine layout after another is the affine layout whose linear part is the
    composition and whose constant is the first one's, moved by the second.
    Law of [algebra.AffineLayout.compose]. *)
Theorem affine_layouts_compose m n p
    (f : affine m n) (g : affine n p) v :
  affine_apply (affine_compose f g) v = affine_apply g (affine_apply f v).
Proof.
rewrite /affine_apply /= compose_is_matrix_product addrA; congr (_ + _).
by rewrite /apply mulmxDl.
Qed.

(** The inverse of an affine layout has the inverse linear part and the constant moved
    back by it.
    Law of [algebra.AffineLayout.invert]. *)
Theorem inverse_of_affine_layout_is_affine n (f : affine n n) :
  linear f \in unitmx ->
  cancel (affine_apply f) (affine_apply (affine_inverse f)) /\
  cancel (affine_apply (affine_inverse f)) (affine_apply f).
Proof.
move=> unit_f; rewrite /affine_apply /apply /=; split=> v.
  by rewrite mulmxDl mulmxK // -addrA add_self addr0.
by rewrite mulmxDl !mulmxKV // -addrA add_self addr0.
Qed.

(** An affine layout is a bijection exactly when its linear part is one.
    Law of [algebra.AffineLayout.invert]. *)
Theorem affine_layout_is_bijective_iff_its_linear_part_is m n (f : affine m n) :
  bijective (affine_apply f) <-> bijective (apply (linear f)).
Proof.
have shift (w : 'rV['F_2]_n) : involutive (+%R^~ w).
  by move=> v; rewrite -addrA add_self addr0.
split=> bij.
  by apply: (eq_bij (bij_comp (inv_bij (shift (offset f))) bij)) => v; exact: shift.
by apply: (eq_bij (bij_comp (inv_bij (shift (offset f))) bij)).
Qed.

(** A function is affine exactly when it respects the xor of any three inputs; so three
    inputs on which it does not are a complete reason why it is no layout.
    Law of [algebra.why_not_linear]. *)
Theorem affine_iff_four_point_equation m n
    (f : 'rV['F_2]_m -> 'rV['F_2]_n) :
  (exists g : affine m n, f =1 affine_apply g) <->
  (forall u v w, f (u + v + w) = f u + f v + f w).
Proof.
split=> [[g fg] u v w|three].
  rewrite !fg /affine_apply /apply !mulmxDl; set c := offset g.
  by rewrite (addrACA _ c _ c) add_self addr0 addrA.
have additive u v : f (u + v) + f 0 = (f u + f 0) + (f v + f 0).
  have := three u v 0; rewrite addr0 => ->.
  by rewrite -!addrA add_self addr0 (addrC (f 0)) -!addrA add_self addr0.
have [A [fA _]] := additive_map_is_a_layout additive.
exists (Affine A (f 0)) => v; rewrite /affine_apply /= -fA.
by rewrite -addrA add_self addr0.
Qed.

(** Between two affine layouts there is an affine conversion as soon as there is a linear
    one between their linear parts and the difference of the constants is reached.
    Law of [algebra.AffineLayout.compose]. *)
Theorem affine_conversion_then_destination_is_source m m' n
    (f : affine m n) (g : affine m' n) :
  row_full (linear g) ->
  let back := pinvmx (linear g) in
  let conversion := Affine (compose (linear f) back)
                           (apply back (offset f + offset g)) in
  affine_apply (affine_compose conversion g) =1 affine_apply f.
Proof.
move=> full back conversion v; rewrite /affine_apply /= /compose /apply.
rewrite (mulmxKpV (submx_full _ full)) (mulmxKpV (submx_full _ full)).
by rewrite -(addrA (offset f)) add_self addr0.
Qed.
