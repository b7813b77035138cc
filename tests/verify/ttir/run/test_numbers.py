import numpy as np
import pytest

from verify.mlir import ScalarType
from verify.ttir.run.numbers import (
    array,
    binary_integer,
    bitcast,
    compare_floats,
    compare_integers,
    float_operation,
    integer_range,
    truncated,
    unsigned,
    wrapped,
)

I8, I32, F32 = ScalarType("i8"), ScalarType("i32"), ScalarType("f32")


def test_integers_wrap_unless_the_run_is_exact() -> None:
    values = np.array([127, -128])
    assert binary_integer("addi", I8, values, values, False).tolist() == [-2, 0]
    exact = values.astype(object)
    assert binary_integer("addi", I8, exact, exact, True).tolist() == [254, -256]
    assert wrapped(I8, np.asarray(200), False) == -56
    assert array(3, True).dtype == object


def test_signs_and_division() -> None:
    assert unsigned(I8, np.array([-1])).tolist() == [255]
    assert truncated(np.array([-7, 7, 1]), np.array([2, -2, 0])).tolist() == [-3, -3, 0]
    assert binary_integer("divui", I8, np.asarray(-1), np.asarray(2), False) == 127
    assert compare_integers(I8, "ult", np.asarray(1), np.asarray(-1))
    truth = np.array([True, False])
    assert binary_integer("xori", I8, truth, truth, False).tolist() == [False, False]
    assert compare_integers(ScalarType("i1"), "slt", truth, ~truth).tolist() == [
        True,
        False,
    ]
    with pytest.raises(KeyError):
        binary_integer("nonsense", I8, np.asarray(1), np.asarray(1), False)


def test_floats() -> None:
    nan = np.array([np.nan, 1.0])
    assert compare_floats("oeq", nan, nan).tolist() == [False, True]
    assert compare_floats("une", nan, nan).tolist() == [True, False]
    assert compare_floats("uno", nan, nan).tolist() == [True, False]
    add = float_operation("addf")
    assert add is not None and add(1.0, 2.0) == 3.0
    assert float_operation("nonsense") is None
    assert integer_range(F32) is None


def test_bits() -> None:
    assert bitcast(F32, I32, np.array([1.0])).tolist() == [0x3F800000]
    assert bitcast(I32, F32, np.array([0x3F800000])).tolist() == [1.0]
    with pytest.raises(KeyError):
        bitcast(F32, ScalarType("i8"), np.array([1.0]))
