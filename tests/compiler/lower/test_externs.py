import pytest
import torch

from compiler.errors import CompileError
from compiler.ir import index
from compiler.ir.node import Buffer, Reference
from compiler.ir.scalar import constant
from compiler.lower.builder import Array
from compiler.lower.externs import Constant, extern, names, referred, seeds

aten = torch.ops.aten
X = Array("x", "float32", (index.index(3),), "cpu")
OUT = Buffer("out", "float32", (index.index(3),), "cpu")


def test_arguments_are_references() -> None:
    call = extern(aten.add_.Tensor, (X, X), {}, (OUT,), "a test", "here")
    assert call.mutates == ("x",)
    assert call.aliases == {"out": ("x",)}
    assert [type(arg) for arg in call.args] == [Reference, Reference]
    assert (call.reason, call.origin) == ("a test", "here")
    call = extern(aten.mm.default, (X, X), {}, (OUT,), "", "")
    assert not call.mutates and not call.aliases
    assert list(names((X, [X], {"a": X}, 3))) == ["x"] * 3


def test_a_floating_number_of_sizes_is_no_argument() -> None:
    with pytest.raises(CompileError):
        referred((constant(0.5, "float64"),))
    assert referred((index.symbol("s"), None)) == (index.symbol("s"), None)


def test_sources() -> None:
    value = torch.randn(3)
    assert Constant(value)() is value
    draw = seeds("cpu", 4)
    found = draw.target(*draw.args, **draw.kwargs)
    assert found.shape == (4,) and found.dtype == torch.int64
