from random import Random

import pytest

from algebra.encodings import NvmmaShared
from algebra.verdict import Proved
from proofs.parametric.tensor_core_shared import _layout, parametric
from verify.terms import evaluate, variable


@pytest.mark.parametrize("theorem", parametric(), ids=lambda theorem: theorem.name)
def test_all_are_proved(theorem) -> None:  # type: ignore[no-untyped-def]
    assert isinstance(theorem.prove(60), Proved)


@pytest.mark.parametrize("swizzle", [0, 32, 64, 128])
@pytest.mark.parametrize("transposed", [False, True])
def test_the_pieces_are_the_bases_of_the_algebra(
    swizzle: int, transposed: bool
) -> None:
    rng = Random(swizzle)
    row, column = _layout(variable("offset", 18), swizzle, transposed=transposed)
    for _ in range(25):
        bits, rows = rng.randint(3, 6), rng.randint(3, 9)
        strip = (8 * swizzle >> bits).bit_length() - 1 if swizzle else 0
        values = {"b": bits, "r": rows, "c": rng.randint(max(strip, 0), 9)}
        shape = [1 << values["r"], 1 << values["c"]]
        if transposed:
            shape.reverse()
        encoding = NvmmaShared(
            swizzle_byte_width=swizzle,
            element_bit_width=1 << bits,
            transposed=transposed,
        )
        bases = encoding.to_linear_layout(shape).bases["offset"]
        for bit, basis in enumerate(bases):
            at = {**values, "offset": 1 << bit}
            place = (evaluate(row, at), evaluate(column, at))
            assert (place[::-1] if transposed else place) == basis
