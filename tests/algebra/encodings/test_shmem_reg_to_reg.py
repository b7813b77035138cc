"""Tensors that pass through shared memory in pieces."""

from typing import Any

import pytest

from algebra.encodings import Cga, ShmemRegToReg
from algebra.errors import EncodingError, NotPowerOfTwoError


def passing(**changes: Any) -> ShmemRegToReg:
    parameters: dict[str, Any] = {
        "tensor_shape": (4, 8),
        "rep_shape": (4, 2),
        "order": (1, 0),
    }
    return ShmemRegToReg(**(parameters | changes))


def test_offsets_fill_a_piece_and_iterations_the_tensor() -> None:
    layout = passing().to_linear_layout([4, 8])
    assert layout.out_dims == {"dim1": 8, "dim0": 4}
    assert layout.bases["offset"] == ((1, 0), (0, 1), (0, 2))
    assert layout.bases["iteration"] == ((2, 0), (4, 0))
    assert layout.is_invertible


def test_no_dims() -> None:
    nothing = ShmemRegToReg(tensor_shape=(), rep_shape=(), order=())
    assert nothing.to_linear_layout([]).bases["offset"] == ()
    assert nothing.rank == 0
    assert nothing.cga == Cga()
    assert eval(repr(nothing)) == nothing


@pytest.mark.parametrize(
    ("changes", "error", "message"),
    [
        ({"rep_shape": (8, 2)}, EncodingError, "take a smaller piece"),
        ({"rep_shape": (4,)}, EncodingError, "rep_shape to have 2"),
        ({"rep_shape": (4, 3)}, NotPowerOfTwoError, "rep_shape=3"),
        ({"order": (0, 0)}, EncodingError, "permutation"),
    ],
)
def test_parameters_that_do_not_fit(
    changes: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message):
        passing(**changes)


def test_another_shape() -> None:
    with pytest.raises(EncodingError, match="the layout of one shape"):
        passing().to_linear_layout([8, 8])
