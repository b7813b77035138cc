"""Which index maps are F2-affine: the named ones, all small ones, random ones."""

from collections.abc import Callable, Sequence
from itertools import product

import pytest
from hypothesis import given
from hypothesis import strategies as st

from algebra.affine import AffineLayout
from algebra.errors import DimMismatchError, OutOfRangeError
from algebra.gauss import apply
from algebra.verdict import Unknown
from algebra.why_not_linear import NotAffine, why_not_linear

IndexMap = Callable[[int], int]


def reverse_bits(value: int, bits: int) -> int:
    return int(format(value, f"0{bits}b")[::-1], 2)


def morton(index: int) -> int:
    row, column = divmod(index, 32)
    return sum(
        (column >> i & 1) << 2 * i | (row >> i & 1) << 2 * i + 1 for i in range(5)
    )


def hilbert(position: int, side: int) -> int:
    """Row-major cell that the Hilbert curve visits at ``position``."""
    x = y = 0
    scale = 1
    while scale < side:
        right = 1 & (position // 2)
        up = 1 & (position ^ right)
        if up == 0:
            if right == 1:
                x, y = scale - 1 - x, scale - 1 - y
            x, y = y, x
        x, y = x + scale * right, y + scale * up
        position //= 4
        scale *= 2
    return y * side + x


def rotate_90(index: int) -> int:
    row, column = divmod(index, 8)
    return column * 8 + 7 - row


def from_images(images: Sequence[int]) -> list[int]:
    return [apply(images, index) for index in range(1 << len(images))]


AFFINE: dict[str, tuple[IndexMap | list[int], int, int]] = {
    "bit reversal": (lambda i: reverse_bits(i, 12), 12, 0),
    "Morton 32x32": (morton, 10, 0),
    "Gray code": (lambda i: i ^ i >> 1, 10, 0),
    "reversal": (lambda i: 1023 - i, 10, 1023),
    "rotate by 90 degrees": (rotate_90, 6, 7),
    "roll by half": (lambda i: (i + 512) % 1024, 10, 512),
    "transpose": (lambda i: i % 16 * 8 + i // 16, 7, 0),
    "Marlin 4 bits": (from_images([128, 8, 16, 256, 512, 32, 64, 1, 2, 4]), 10, 0),
    "Marlin 4 bits before interleave": (
        from_images([16, 128, 8, 256, 512, 32, 64, 1, 2, 4]),
        10,
        0,
    ),
    "Marlin 8 bits": (from_images([128, 16, 8, 256, 512, 32, 64, 1, 2, 4]), 10, 0),
    "Marlin scales": (from_images([8, 16, 32, 1, 2, 4]), 6, 0),
    "Marlin single scales": (from_images([1, 8, 16, 2, 4]), 5, 0),
    "AWQ order": ([0, 2, 4, 6, 1, 3, 5, 7], 3, 0),
    "AWQ reverse order": ([0, 4, 1, 5, 2, 6, 3, 7], 3, 0),
    "block-scale tile": (from_images([1, 2, 16, 32, 64, 128, 256, 4, 8]), 9, 0),
    "one point": ([0], 0, 0),
    "constant": ([5, 5], 1, 5),
}

NOT_AFFINE: dict[str, tuple[IndexMap | list[int], int]] = {
    "Hilbert 4x4": (lambda i: hilbert(i, 4), 4),
    "roll by 1": (lambda i: (i + 1) % 16, 4),
    "stride 33": (lambda i: i // 32 * 33 + i % 32, 10),
    "multiply by 5 mod 256": (lambda i: 5 * i % 256, 8),
    "diagonal (r + c) mod 8": (lambda i: i // 8 * 8 + (i // 8 + i % 8) % 8, 6),
    "rows of 24": (lambda i: i % 24, 5),
    "swap of two": ([0, 1, 2, 3, 4, 5, 7, 6], 3),
}


@pytest.mark.parametrize("name", AFFINE)
def test_named_affine_maps_are_returned(name: str) -> None:
    f, bits, offset = AFFINE[name]
    layout = why_not_linear(f, bits)
    assert isinstance(layout, AffineLayout)
    assert layout.offset == {"index": offset}
    call = f if callable(f) else f.__getitem__
    for index in range(1 << bits):
        assert layout.apply({"index": index}) == {"index": call(index)}


@pytest.mark.parametrize("name", AFFINE)
def test_named_permutations_are_invertible(name: str) -> None:
    f, bits, _ = AFFINE[name]
    layout = why_not_linear(f, bits)
    assert isinstance(layout, AffineLayout)
    assert layout.is_invertible == (name != "constant")


@pytest.mark.parametrize("name", NOT_AFFINE)
def test_named_maps_with_carries_are_refuted(name: str) -> None:
    f, bits = NOT_AFFINE[name]
    witness = why_not_linear(f, bits)
    assert isinstance(witness, NotAffine)
    assert witness.discrepancy(f) != 0
    assert max(witness.x, witness.y, witness.xy) < 1 << bits
    call = f if callable(f) else f.__getitem__
    at = {0: witness.f_0, witness.x: witness.f_x, witness.y: witness.f_y}
    assert all(call(index) == value for index, value in at.items())
    assert str(witness).startswith("not F2-affine: f(0) = ")
    assert f"f({witness.xy}) = {call(witness.xy)}, but" in str(witness)


def test_every_function_on_two_bits() -> None:
    affine = 0
    for values in product(range(4), repeat=4):
        answer = why_not_linear(values, 2)
        is_affine = values[0] ^ values[1] ^ values[2] ^ values[3] == 0
        assert isinstance(answer, AffineLayout if is_affine else NotAffine)
        affine += is_affine
    assert affine == 64


def test_every_bit_function_on_three_bits() -> None:
    affine = sum(
        isinstance(why_not_linear(values, 3), AffineLayout)
        for values in product(range(2), repeat=8)
    )
    assert affine == 16


@given(st.data(), st.integers(min_value=0, max_value=13))
def test_random_affine_maps_and_one_changed_value(
    data: st.DataObject, bits: int
) -> None:
    values = st.integers(min_value=0, max_value=1 << 14)
    columns = data.draw(st.lists(values, min_size=bits, max_size=bits))
    origin = data.draw(values)
    table = [apply(columns, index) ^ origin for index in range(1 << bits)]
    layout = why_not_linear(table, bits)
    assert isinstance(layout, AffineLayout)
    assert [layout.apply_index(index) for index in range(1 << bits)] == table
    if bits >= 2:
        place = data.draw(st.integers(min_value=0, max_value=(1 << bits) - 1))
        table[place] ^= data.draw(st.integers(min_value=1, max_value=255))
        witness = why_not_linear(table, bits)
        assert isinstance(witness, NotAffine)
        assert witness.discrepancy(table) != 0


def test_beyond_the_exhaustive_bits_an_affine_map_is_unknown() -> None:
    answer = why_not_linear(lambda i: i ^ i >> 1, 40)
    assert isinstance(answer, Unknown)
    assert "exhaustive_bits=40" in answer.reason
    assert isinstance(why_not_linear(lambda i: i, 4, exhaustive_bits=3), Unknown)


@pytest.mark.parametrize("bits", [30, 80])
def test_beyond_the_exhaustive_bits_a_refutation_still_holds(bits: int) -> None:
    f: IndexMap = lambda i: (i + 1) % (1 << bits)  # noqa: E731
    witness = why_not_linear(f, bits)
    assert isinstance(witness, NotAffine)
    assert witness.discrepancy(f) != 0


def test_a_departure_that_needs_many_ones_is_shrunk_to_one_pair() -> None:
    f: IndexMap = lambda i: int(i.bit_count() >= 7)  # noqa: E731
    witness = why_not_linear(f, 40)
    assert isinstance(witness, NotAffine)
    assert witness.xy.bit_count() == 7
    assert witness.discrepancy(f) != 0


def test_a_list_is_always_read_whole() -> None:
    table = list(range(1 << 6))
    assert isinstance(why_not_linear(table, 6, exhaustive_bits=2), AffineLayout)


def test_out_bits_fix_the_size_of_the_result() -> None:
    layout = why_not_linear([0, 1], 1, out_bits=5)
    assert isinstance(layout, AffineLayout)
    assert layout.out_dims == {"index": 32}
    with pytest.raises(OutOfRangeError, match=r"at most 1 bits, got f\(1\)=2"):
        why_not_linear([0, 2], 1, out_bits=1)


@pytest.mark.parametrize("value", [-1, 1.0, "1", None])
def test_values_that_are_no_index_are_named(value: object) -> None:
    with pytest.raises(OutOfRangeError, match=r"got f\(1\)=") as caught:
        why_not_linear([0, value], 1)  # type: ignore[list-item]
    assert caught.value.facts["value"] == value


def test_bad_sizes() -> None:
    with pytest.raises(DimMismatchError, match="got len"):
        why_not_linear([0, 1, 2], 2)
    for bits in (-1, "2"):
        with pytest.raises(OutOfRangeError, match="bits="):
            why_not_linear(abs, bits)  # type: ignore[arg-type]
