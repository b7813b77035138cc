"""What expressions and accesses take: operations, elements, bytes.

Sizes that only the run knows are taken to be :data:`TYPICAL` where a choice needs a
number; no choice made from it changes what is computed.
"""

from collections.abc import Iterable, Sequence

from compiler.ir.expression import INDEX, Expression, nodes, substitute
from compiler.ir.index import Index, add, constant_value, index, mul, sub
from compiler.ir.node import Axis, Buffer
from compiler.ir.operations import OPERATIONS

TYPICAL = 256
"""What a symbolic size is taken to be."""

BYTES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "float16": 2,
    "bfloat16": 2,
    "float32": 4,
    "float64": 8,
    # types that only extern calls take
    "uint16": 2,
    "uint32": 4,
    "uint64": 8,
    "float4_e2m1fn_x2": 1,
    "float8_e4m3fn": 1,
    "float8_e4m3fnuz": 1,
    "float8_e5m2": 1,
    "float8_e5m2fnuz": 1,
    "float8_e8m0fnu": 1,
    "complex32": 4,
    "complex64": 8,
    "complex128": 16,
    "qint8": 1,
    "quint8": 1,
    "qint32": 4,
}
"""Size of an element [bytes]."""


def typical(value: Index) -> int:
    """Return an extent as a number, symbols taken as typical."""
    known = constant_value(value)
    if known is not None:
        return known
    assert isinstance(value, Expression)
    replaced = substitute(
        value, {leaf: index(TYPICAL) for leaf in nodes(value) if leaf.op == "symbol"}
    )
    return constant_value(replaced) or TYPICAL


def points(axes: Iterable[Axis]) -> int:
    """Return the number of points of a loop nest."""
    total = 1
    for axis in axes:
        total *= typical(axis.extent)
    return total


def elements(shape: Sequence[Index]) -> int:
    """Return the number of elements of an array."""
    total = 1
    for extent in shape:
        total *= typical(extent)
    return total


def bytes_of(buffer: Buffer) -> int:
    """Return the size of an array's elements [bytes]."""
    return elements(buffer.shape) * BYTES[buffer.dtype]


def span(buffer: Buffer) -> Expression:
    """Return how many elements of memory an array with strides covers [elements].

    Law: 1 + the greatest offset, for an array with elements.
    """
    assert buffer.strides is not None
    total: Index = 1
    for extent, stride in zip(buffer.shape, buffer.strides, strict=True):
        total = add(total, mul(sub(extent, 1), stride))
    return add(total)


def cost(*values: Expression) -> int:
    """Return the rough number of instructions of values [instructions]."""
    return sum(
        OPERATIONS[node.op].cost
        for node in nodes(*values)
        if node.op in OPERATIONS and node.dtype != INDEX
    )
