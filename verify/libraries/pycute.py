"""The layouts of CuTe's Python model, and of the copy that PyTorch ships.

``pycute`` is in NVIDIA's package ``nvidia-cutlass``; ``torch.distributed._pycute`` is
derived from it, with the rightmost coordinate fastest. Promises are those of the
comments, of CuTe's page on the layout algebra, and of each function's definition.
"""

from collections.abc import Callable
from itertools import product
from random import Random
from typing import Any

from . import cute_model as model
from .cute_model import Layout
from .operation import Arguments, Library, Operation, UndefinedError

SMALL = model.small_layouts()
ONE: tuple[Arguments, ...] = tuple((layout,) for layout in SMALL)
TWO: tuple[Arguments, ...] = tuple(product(SMALL[::3], SMALL[::5]))
NAMES = (
    "Layout, coalesce, complement, composition, cosize, filter, left_inverse, "
    "logical_divide, logical_product, make_layout, right_inverse, size, "
    "tiled_divide, zipped_divide"
)


def _one(rng: Random) -> Arguments:
    return (model.random_layout(rng),)


def _dense(rng: Random) -> Arguments:
    return (model.random_layout(rng, compact=1.0),)


def _two(rng: Random) -> Arguments:
    return model.random_layout(rng), model.random_layout(rng, 16)


def _counted(rng: Random) -> Arguments:
    return model.random_layout(rng, 16), rng.choice((1, 2, 3, 4, 6, 8))


def operations(module: str, *, rightmost: bool) -> tuple[Operation, ...]:
    """Return the operations of a module.

    Args:
        module: Name to import.
        rightmost: Whether the rightmost coordinate is fastest.
    """
    head = f"from {module} import {NAMES}\n\n\n"

    def made(
        name: str,
        parameters: str,
        body: str,
        draw: Callable[[Random], Arguments],
        expected: Callable[..., Any],
        promise: str,
        small: tuple[Arguments, ...] = (),
    ) -> Operation:
        lines = "\n".join(f"    {line}" for line in body.splitlines())
        source = f"{head}def run({parameters}):\n{lines}\n"
        return Operation(
            name, source, draw, expected, promise, ("AssertionError",), small
        )

    def table(layout: Layout) -> list[int]:
        return list(model.table(layout, rightmost=rightmost))

    def composed(a: Layout, b: Layout) -> list[int]:
        return model.composed(a, b, rightmost=rightmost)

    def lawful(layout: Layout) -> None:
        model.check(layout)

    def injective(layout: Layout) -> None:
        if not model.is_injective(layout):
            raise UndefinedError("a layout that hits no offset twice")

    def apart(a: Layout, b: Layout) -> list[Any]:
        injective(a)
        injective(b)
        return [table(a), None]

    def repeated(a: Layout, count: int) -> list[Any]:
        injective(a)
        if not isinstance(count, int) or count < 1:
            raise UndefinedError("a count of 1 and more")
        return [model.size(a) * count, None]

    def filtered(layout: Layout) -> list[int]:
        return sorted(set(table(layout)))

    return (
        made(
            "composition",
            "a, b",
            """C = composition(Layout(*a), Layout(*b))
return [C(i) for i in range(size(C))]""",
            _two,
            composed,
            "composition(A, B)(i) = A(B(i))",
            TWO,
        ),
        made(
            "coalesce",
            "a",
            """C = coalesce(Layout(*a))
return [C(i) for i in range(size(C))]""",
            _one,
            table,
            "preserves the int-to-int function",
            ONE,
        ),
        made(
            "filter",
            "a",
            """F = filter(Layout(*a))
return sorted({F(i) for i in range(size(F))})""",
            _one,
            filtered,
            "drops modes of stride 0 and size 1, keeps the image",
            ONE,
        ),
        made(
            "complement",
            "a",
            """A = Layout(*a)
C = make_layout(A, complement(A, cosize(A)))
offsets = [C(i) for i in range(size(C))]
return next((x for x in offsets if offsets.count(x) > 1), None)""",
            _dense,
            injective,
            "a layout and its complement hit no offset twice",
            ONE,
        ),
        made(
            "complement_default",
            "a",
            """A = Layout(*a)
C = make_layout(A, complement(A))
offsets = [C(i) for i in range(size(C))]
return next((x for x in offsets if offsets.count(x) > 1), None)""",
            _dense,
            injective,
            "a layout and its complement hit no offset twice",
            ONE,
        ),
        made(
            "right_inverse",
            "a",
            """A = Layout(*a)
R = right_inverse(A)
return next((i for i in range(size(R)) if A(R(i)) != i), None)""",
            _one,
            lawful,
            "A(R(i)) == i for all i in range(size(R))",
            ONE,
        ),
        made(
            "left_inverse",
            "a",
            """A = Layout(*a)
R = left_inverse(A)
return next((i for i in range(size(A)) if R(A(i)) != i), None)""",
            _dense,
            injective,
            "R(A(i)) == i for an injective layout",
            ONE,
        ),
        made(
            "logical_divide",
            "a, b",
            """D = logical_divide(Layout(*a), Layout(*b))
return [D[0](i) for i in range(size(D[0]))]""",
            _two,
            composed,
            "the first mode of logical_divide(A, B) is composition(A, B)",
            TWO,
        ),
        made(
            "logical_product",
            "a, b",
            """A, B = Layout(*a), Layout(*b)
P = logical_product(A, B)
offsets = [P(i) for i in range(size(P))]
twice = next((x for x in offsets if offsets.count(x) > 1), None)
return [[P[0](i) for i in range(size(A))], twice]""",
            lambda rng: (
                model.random_layout(rng, 16, compact=0.9),
                model.random_layout(rng, 8, compact=0.9),
            ),
            apart,
            "A reproduced over B: A first, copies that hit no offset twice",
            TWO,
        ),
        made(
            "logical_product_int",
            "a, n",
            """P = logical_product(Layout(*a), n)
offsets = [P(i) for i in range(size(P))]
return [size(P), next((x for x in offsets if offsets.count(x) > 1), None)]""",
            _counted,
            repeated,
            "A reproduced n times: size(A) * n elements",
            tuple(product(SMALL, (1, 2, 3))),
        ),
        made(
            "cosize",
            "a",
            "return cosize(Layout(*a))",
            _one,
            lambda a: max(table(a)) + 1,
            "size of the codomain",
            ONE,
        ),
        made(
            "call",
            "a",
            """A = Layout(*a)
return [A(i) for i in range(size(A))]""",
            _one,
            table,
            "maps an index to a linear index",
            ONE,
        ),
    )


def _fields(rng: Random) -> Arguments:
    bits = rng.randint(0, 3)
    shift = rng.choice((bits, bits + 1, bits + 2, -bits, -bits - 1))
    return bits, rng.randint(0, 3), shift, rng.randint(0, 255)


SWIZZLE = Operation(
    "swizzle",
    """from pycute.swizzle import Swizzle


def run(bits, base, shift, offset):
    return Swizzle(bits, base, shift)(offset)
""",
    _fields,
    model.swizzled,
    "0bYY..ZZ... becomes 0bYY..AA... where AA = ZZ xor YY",
    ("AssertionError",),
)
SWIZZLE_TWICE = Operation(
    "swizzle_twice",
    """from pycute.swizzle import Swizzle


def run(bits, base, shift, offset):
    S = Swizzle(bits, base, shift)
    return S(S(offset))
""",
    _fields,
    lambda bits, base, shift, offset: (
        model.swizzled(bits, base, shift, offset) * 0 + offset
    ),
    "a swizzle is its own inverse",
    ("AssertionError",),
)
PYCUTE = Library(
    "pycute",
    "nvidia-cutlass",
    (
        *operations("pycute", rightmost=False),
        SWIZZLE,
        SWIZZLE_TWICE,
    ),
)
TORCH_PYCUTE = Library(
    "torch_pycute",
    "torch",
    operations("torch.distributed._pycute", rightmost=True),
)
