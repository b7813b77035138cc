import math

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from compiler.ir import index
from compiler.ir.expression import NARROW_TYPES, VALUE_TYPES
from compiler.ir.points import Points
from compiler.ir.scalar import (
    HALF_TYPES,
    apply,
    bitcast,
    cast,
    checked_index,
    constant,
    from_index,
    load,
    random_bits,
    torch_type,
    type_name,
    value_of,
    widens,
)


@pytest.mark.parametrize("narrow", VALUE_TYPES)
@pytest.mark.parametrize("wide", VALUE_TYPES)
def test_a_cast_up_and_down_vanishes_only_where_nothing_is_lost(
    narrow: str, wide: str
) -> None:
    x = load("x", (), narrow)
    back = cast(cast(x, wide), narrow)
    if narrow == "bool":
        values = torch.tensor([False, True])
    elif torch_type(narrow).is_floating_point:
        info = torch.finfo(torch_type(narrow))
        values = torch.tensor(
            [info.max, info.tiny, 1 + info.eps, -3.0], dtype=torch_type(narrow)
        )
    else:
        limits = torch.iinfo(torch_type(narrow))
        values = torch.tensor(
            [limits.max, limits.min, limits.max - 1], dtype=torch_type(narrow)
        )
    kept = bool((values.to(torch_type(wide)).to(torch_type(narrow)) == values).all())
    if back is x:
        assert kept
    if widens(narrow, wide):
        assert back is x


@given(st.integers(-(2**70), 2**70), st.sampled_from(["uint8", "int8", "int64"]))
def test_integer_constants_wrap(value: int, dtype: str) -> None:
    info = torch.iinfo(torch_type(dtype))
    found = value_of(constant(value, dtype))
    assert isinstance(found, int)
    assert info.min <= found <= info.max
    assert (found - value) % (1 << info.bits) == 0


@given(st.floats(allow_nan=False), st.sampled_from(["float16", "bfloat16", "float32"]))
def test_floating_constants_round(value: float, dtype: str) -> None:
    wanted = torch.tensor(value, dtype=torch.float64).to(torch_type(dtype)).item()
    assert value_of(constant(value, dtype)) == wanted


def test_signed_zeros_and_nan_survive_folding() -> None:
    minus, zero = constant(-0.0, "float32"), constant(0.0, "float32")
    x = load("x", (), "float32")
    assert apply("add", x, zero) is not x
    assert apply("mul", x, zero).op == "mul"
    assert apply("neg", minus) is zero
    assert apply("neg", zero) is minus
    assert math.isnan(float(value_of(apply("log", constant(-1, "float32"))) or 0))


def test_types_are_checked() -> None:
    half, single = load("x", (), "float16"), load("y", (), "float32")
    truth = load("b", (), "bool")
    with pytest.raises(TypeError, match="one value type"):
        apply("add", half, single)
    with pytest.raises(TypeError, match="cast first"):
        apply("add", half, half)
    with pytest.raises(TypeError, match="cast first"):
        apply("add", truth, truth)
    with pytest.raises(TypeError, match="cast first"):
        apply("exp", load("i", (), "int32"))
    with pytest.raises(TypeError, match="takes 2 operands"):
        apply("add", single)
    with pytest.raises(TypeError, match="condition"):
        apply("where", single, single, single)
    with pytest.raises(TypeError, match="no operation"):
        apply("cast", single)
    with pytest.raises(TypeError, match="value type"):
        cast(single, "index")
    with pytest.raises(TypeError, match="one width"):
        bitcast(single, "int16")
    with pytest.raises(TypeError, match="integer"):
        checked_index(single, 3)
    with pytest.raises(TypeError, match="int64"):
        random_bits(load("i", (), "int32"), load("j", (), "int64"))
    with pytest.raises(ValueError, match="complex64"):
        type_name(torch.complex64)
    assert HALF_TYPES == ("float16", "bfloat16")


def test_an_integer_division_by_zero_is_not_folded() -> None:
    zero = constant(0, "int32")
    assert apply("floordiv", constant(1, "int32"), zero).op == "floordiv"


def test_an_index_becomes_a_value_of_its_type() -> None:
    wide = from_index(index.mul(index.digit("i"), 2**30), "int64")
    points = Points([index.digit("i")], [9], {}, {})
    assert points.tensor(wide).tolist() == [i * 2**30 for i in range(9)]
    assert value_of(from_index(300, "uint8")) == 44


@pytest.mark.parametrize("narrow", NARROW_TYPES)
def test_eight_bit_floats_are_stored_and_not_computed_in(narrow: str) -> None:
    x = load("x", (0,), narrow)
    assert cast(cast(x, "float32"), narrow) is x
    wide = load("y", (0,), "float16")
    assert cast(cast(wide, narrow), "float16") is not wide
    assert not widens("int8", narrow) and not widens(narrow, "float16")
    with pytest.raises(TypeError, match="cast first"):
        apply("add", x, x)
    with pytest.raises(ValueError, match="float8"):
        type_name(torch_type(narrow))
