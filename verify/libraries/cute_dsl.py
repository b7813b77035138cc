"""The layout functions of NVIDIA's CuTe DSL (package ``nvidia-cutlass-dsl``).

They build MLIR and fold what is static, so that layouts of constants need no GPU. The
promises are those of CuTe's page on the layout algebra.
"""

from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

from . import cute_model as model
from .cute_model import Layout
from .operation import Arguments, Library, Operation, UndefinedError

HEAD = """import cutlass.cute as cute
from cutlass._mlir import ir


CONTEXT = ir.Context()


def run({parameters}):
    with CONTEXT, ir.Location.unknown():
        with ir.InsertionPoint(ir.Module.create().body):
            return body({parameters})


def layout(a):
    return cute.make_layout(a[0], stride=a[1])


def table(L):
    pairs = list(zip(cute.flatten_to_tuple(L.shape), cute.flatten_to_tuple(L.stride)))
    offsets = [0]
    for n, d in pairs:
        offsets = [base + d * k for k in range(n) for base in offsets]
    return offsets


def body({parameters}):
"""
SMALL = model.small_layouts()
ONE: tuple[Arguments, ...] = tuple((layout,) for layout in SMALL)
TWO: tuple[Arguments, ...] = tuple(product(SMALL[::3], SMALL[::5]))
REFUSALS = ("DSLRuntimeError", "ValueError", "MLIRError", "DSLUserCodeError")


def _operation(
    name: str,
    parameters: str,
    body: str,
    draw: Callable[[Random], Arguments],
    expected: Callable[..., Any],
    promise: str,
    small: tuple[Arguments, ...] = (),
) -> Operation:
    lines = "\n".join(f"    {line}" for line in body.splitlines())
    source = HEAD.format(parameters=parameters) + lines + "\n"
    return Operation(name, source, draw, expected, promise, REFUSALS, small)


def _one(rng: Random) -> Arguments:
    return (model.random_layout(rng),)


def _dense(rng: Random) -> Arguments:
    return (model.random_layout(rng, compact=1.0),)


def _two(rng: Random) -> Arguments:
    return model.random_layout(rng), model.random_layout(rng, 16)


def _table(layout: Layout) -> list[int]:
    return list(model.table(layout))


def _lawful(layout: Layout) -> None:
    model.check(layout)


def _injective(layout: Layout) -> None:
    if not model.is_injective(layout):
        raise UndefinedError("a layout that hits no offset twice")


def _apart(a: Layout, b: Layout) -> list[Any]:
    _injective(a)
    _injective(b)
    return [_table(a), None]


CUTE_DSL = Library(
    "cute_dsl",
    "nvidia-cutlass-dsl",
    (
        _operation(
            "composition",
            "a, b",
            """C = cute.composition(layout(a), layout(b))
return table(C)""",
            _two,
            model.composed,
            "composition(A, B)(i) = A(B(i))",
            TWO,
        ),
        _operation(
            "coalesce",
            "a",
            """C = cute.coalesce(layout(a))
return table(C)""",
            _one,
            _table,
            "the same function with as few modes as possible",
            ONE,
        ),
        _operation(
            "complement",
            "a",
            """A = layout(a)
C = cute.make_layout((A.shape, cute.complement(A, cute.cosize(A)).shape),
    stride=(A.stride, cute.complement(A, cute.cosize(A)).stride))
offsets = table(C)
return next((x for x in offsets if offsets.count(x) > 1), None)""",
            _dense,
            _injective,
            "a layout and its complement hit no offset twice",
            ONE,
        ),
        _operation(
            "right_inverse",
            "a",
            """A = layout(a)
A, R = table(A), table(cute.right_inverse(A))
return next((i for i, x in enumerate(R) if A[x] != i), None)""",
            _one,
            _lawful,
            "A(R(i)) == i for all i < size(R)",
            ONE,
        ),
        _operation(
            "left_inverse",
            "a",
            """A = layout(a)
A, R = table(A), table(cute.left_inverse(A))
return next((i for i, x in enumerate(A) if R[x] != i), None)""",
            _dense,
            _injective,
            "R(A(i)) == i for an injective layout",
            ONE,
        ),
        _operation(
            "logical_divide",
            "a, b",
            """D = cute.logical_divide(layout(a), layout(b))
return table(D[0])""",
            _two,
            model.composed,
            "the first mode of logical_divide(A, B) is composition(A, B)",
            TWO,
        ),
        _operation(
            "logical_product",
            "a, b",
            """A = layout(a)
P = cute.logical_product(A, layout(b))
offsets = table(P)
twice = next((x for x in offsets if offsets.count(x) > 1), None)
return [table(P[0]), twice]""",
            lambda rng: (
                model.random_layout(rng, 16, compact=0.9),
                model.random_layout(rng, 8, compact=0.9),
            ),
            _apart,
            "A reproduced over B: A first, copies that hit no offset twice",
            TWO,
        ),
        _operation(
            "cosize",
            "a",
            "return cute.cosize(layout(a))",
            _one,
            lambda a: max(_table(a)) + 1,
            "size of the codomain",
            ONE,
        ),
        _operation(
            "call",
            "a",
            """A = layout(a)
return [A(i) for i in range(cute.size(A))]""",
            _one,
            _table,
            "maps an index to an offset",
            ONE,
        ),
        _operation(
            "coordinate",
            "a",
            """A = layout(a)
return [cute.crd2idx(cute.idx2crd(i, A.shape), A) for i in range(cute.size(A))]""",
            lambda rng: (model.random_layout(rng, 8),),
            _table,
            "crd2idx of the coordinate of i is the offset of i",
            ONE,
        ),
    ),
)
