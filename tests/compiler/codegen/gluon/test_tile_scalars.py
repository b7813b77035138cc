import math

import pytest

from compiler.codegen.gluon.tile_scalars import Scalars, number
from compiler.errors import BuildError
from compiler.ir import scalar
from compiler.ir.index import add, digit, floordiv, mod, mul
from compiler.ir.scalar import apply, constant, local


def printer() -> Scalars:
    return Scalars("e", lambda leaf: str(leaf.data))


def test_each_operation_is_a_line() -> None:
    out = printer()
    x = local("x", "float32")
    total = apply("add", apply("mul", x, x), constant(1.0, "float32"))
    assert out.text(total) == "ev1"
    assert out.lines == ["ev0 = x * x", "ev1 = ev0 + 1.0"]
    assert out.text(total) == "ev1" and len(out.lines) == 2


def test_indices() -> None:
    out = printer()
    d = digit("d0")
    out.text(add(mul(d, 8), mod(floordiv(d, 4), 2), 3))
    assert "d0 // 4" in " ".join(out.lines) and "% 2" in " ".join(out.lines)


def test_numbers() -> None:
    assert number(constant(-2, "int32")) == "(-2)"
    assert number(constant(math.inf, "float32")) == 'float("inf")'
    assert number(constant(True, "bool")) == "True"


def test_nan_wins() -> None:
    out = printer()
    x = local("x", "float32")
    out.text(apply("maximum", x, local("y", "float32")))
    assert "propagate_nan" in out.lines[0]


def test_what_gluon_lacks_is_an_error() -> None:
    with pytest.raises(BuildError, match="no Gluon"):
        printer().text(apply("lgamma", local("x", "float32")))


def test_casts() -> None:
    out = printer()
    out.text(scalar.cast(local("x", "float32"), "float16"))
    out.text(scalar.cast(local("x", "float32"), "bool"))
    assert out.lines == ["ev0 = x.to(gl.float16)", "ev1 = x != 0"]
