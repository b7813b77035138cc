import itertools

import pytest
import torch

from algebra.errors import OutOfRangeError
from compiler.mixed.pairs import OPERANDS, UNITS, operand_type, unit_type
from verify.mixed import random_operand

DTYPES = {"fp16": torch.float16, "bf16": torch.bfloat16, "fp32": torch.float32}


@pytest.mark.parametrize(("a", "b"), list(itertools.product(OPERANDS, OPERANDS)))
def test_the_unit_holds_both(a: str, b: str) -> None:
    unit = unit_type(OPERANDS[a], OPERANDS[b])
    assert unit.contains(OPERANDS[a]) and unit.contains(OPERANDS[b])
    assert unit == unit_type(OPERANDS[b], OPERANDS[a])
    earlier = UNITS[: UNITS.index(unit)]
    assert not any(u.contains(OPERANDS[a]) and u.contains(OPERANDS[b]) for u in earlier)


@pytest.mark.parametrize("unit", DTYPES)
@pytest.mark.parametrize("name", OPERANDS)
def test_what_is_contained_survives_a_cast(name: str, unit: str) -> None:
    """All 8-bit and 16-bit patterns, or random ones, through the torch dtype."""
    kind, wide = OPERANDS[name], next(u for u in UNITS if u.name == unit)
    if name in ("fp16", "bf16"):
        patterns = torch.arange(1 << 16).to(torch.int32).to(torch.int16)
        values = patterns.view(DTYPES[name]).double()
    elif kind.bits == 8 and not kind.whole:
        float8 = torch.float8_e4m3fn if "e4m3" in name else torch.float8_e5m2
        values = torch.arange(256, dtype=torch.uint8).view(float8).double()
    else:
        values = random_operand(name, 64, 64, "k").values
        if kind.scale_block:
            values = torch.tensor([0.0, 0.5, 1, 1.5, 2, 3, 4, 6], dtype=torch.float64)
    values = values[values.isfinite()]
    survives = bool((values.to(DTYPES[unit]).double() == values).all())
    assert survives or not wide.contains(kind)
    assert not survives or wide.contains(kind) or name in ("fp32", "tf32")


def test_unknown_operand() -> None:
    with pytest.raises(OutOfRangeError, match="fp64"):
        operand_type("fp64")
