(** Padded shared memory is injective, though it is not linear.

    After every [interval] elements a gap of [padding] elements is left; several such
    pairs may be given. The offset grows with the index, which is all that is needed:
    neither has to be a power of two. *)

Require Import NArith Lia List.
Import ListNotations.
Open Scope N_scope.

Fixpoint gaps (pairs : list (N * N)) (i : N) : N :=
  match pairs with
  | [] => 0
  | (interval, padding) :: rest => i / interval * padding + gaps rest i
  end.

Definition padded_offset (pairs : list (N * N)) (i : N) : N := i + gaps pairs i.

Definition proper (pairs : list (N * N)) : Prop :=
  forall interval padding, In (interval, padding) pairs -> interval <> 0.

Lemma gaps_never_shrink pairs i j : proper pairs -> i <= j -> gaps pairs i <= gaps pairs j.
Proof.
  intros ok le. induction pairs as [|[interval padding] rest IH]; simpl; [lia|].
  assert (quotients : i / interval <= j / interval).
  { apply N.div_le_mono; [apply (ok _ padding); now left|assumption]. }
  assert (tail : gaps rest i <= gaps rest j) 
    by (apply IH; intros a b h; apply (ok a b); now right).
  apply N.add_le_mono; [apply N.mul_le_mono_r|]; assumption.
Qed.

(** The padded offset is strictly increasing in the index.
    Law of [algebra.encodings.PaddedShared]. *)
Theorem padded_offset_is_strictly_increasing pairs i j :
  proper pairs -> i < j -> padded_offset pairs i < padded_offset pairs j.
Proof.
  intros ok lt. unfold padded_offset.
  assert (h := gaps_never_shrink pairs i j ok ltac:(lia)). lia.
Qed.

(** No two elements share a padded offset, after any one-to-one map of the coordinates to
    the index.
    Law of [algebra.encodings.PaddedShared]. *)
Theorem padded_layout_never_stores_two_elements_in_one_place
    (T : Type) (index : T -> N) pairs :
  proper pairs -> (forall a b, index a = index b -> a = b) ->
  forall a b, padded_offset pairs (index a) = padded_offset pairs (index b) -> a = b.
Proof.
  intros ok one_to_one a b same. apply one_to_one.
  destruct (N.lt_trichotomy (index a) (index b)) as [lt|[eq|lt]]; [|assumption|];
    assert (h := padded_offset_is_strictly_increasing pairs _ _ ok lt); lia.
Qed.

(** All offsets of the first n elements lie below the offset of the last plus one: that
    many elements are enough to allocate, and no fewer are.
    Law of [algebra.encodings.PaddedShared]. *)
Theorem padded_allocation_ends_after_the_last_element pairs n i :
  proper pairs -> 0 < n -> i < n ->
  padded_offset pairs i < padded_offset pairs (n - 1) + 1.
Proof.
  intros ok pos lt. destruct (N.eq_dec i (n - 1)) as [->|ne]; [lia|].
  assert (h := padded_offset_is_strictly_increasing pairs i (n - 1) ok ltac:(lia)). lia.
Qed.
