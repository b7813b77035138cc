"""The functions of the package ``tensor-layouts``, by its documentation.

Of facebookresearch/tensor-layouts; promises are those of its docstrings.
"""

from collections.abc import Callable
from itertools import product
from math import lcm, prod
from random import Random
from typing import Any

from . import cute_model as model
from .cute_model import Layout
from .operation import Arguments, Library, Operation, UndefinedError

HEAD = """import tensor_layouts as tl
from tensor_layouts import analysis, layout_utils


"""
REFUSALS = ("LayoutError", "ValueError", "NotImplementedError")
SMALL = model.small_layouts()
ONE: tuple[Arguments, ...] = tuple((layout,) for layout in SMALL)
TWO: tuple[Arguments, ...] = tuple(product(SMALL[::3], SMALL[::5]))


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
    source = f"{HEAD}def run({parameters}):\n{lines}\n"
    return Operation(name, source, draw, expected, promise, REFUSALS, small)


def _one(rng: Random) -> Arguments:
    return (model.random_layout(rng),)


def _dense(rng: Random) -> Arguments:
    return (model.random_layout(rng, compact=1.0),)


def _two(rng: Random) -> Arguments:
    return model.random_layout(rng), model.random_layout(rng, 16)


def _table(layout: Layout) -> list[int]:
    return list(model.table(layout))


def _none(*layouts: Layout) -> None:
    """Expect no index at which a law fails."""
    for layout in layouts:
        model.check(layout)


def _injective(layout: Layout) -> None:
    model.check(layout)
    if not model.is_injective(layout):
        raise UndefinedError("a layout that hits no offset twice")


def _disjoint(layout: Layout) -> int:
    """Expect no offset that is hit twice."""
    _injective(layout)
    return 0


def _span(layout: Layout) -> int:
    return max(model.table(layout)) + 1


# --------------------------------------------------------------- the algebra

COMPOSE = _operation(
    "compose",
    "a, b",
    """C = tl.compose(tl.Layout(*a), tl.Layout(*b))
return [C(i) for i in range(tl.size(C))]""",
    _two,
    model.composed,
    "compose(A, B)(i) = A(B(i))",
    TWO,
)
COALESCE = _operation(
    "coalesce",
    "a",
    """C = tl.coalesce(tl.Layout(*a))
return [C(i) for i in range(tl.size(C))]""",
    _one,
    _table,
    "always preserves semantics",
    ONE,
)


def _by_mode(rng: Random) -> Arguments:
    layout = model.random_layout(rng)
    shape = layout[0] if isinstance(layout[0], tuple) else (layout[0],)
    sizes = tuple(prod(model.leaves(extent)) for extent in shape)
    if len(sizes) > 1 and rng.random() < 0.5:
        cut = rng.randint(1, len(sizes))
        sizes = (prod(sizes[:cut]), *sizes[cut:])
    return layout, sizes


def _profile(layout: Layout, sizes: tuple[int, ...]) -> list[int]:
    model.check(layout)
    extents = model.leaves(layout[0])
    if not isinstance(sizes, tuple) or not sizes:
        raise UndefinedError("a profile of sizes")
    for wanted in sizes:
        got = 1
        while extents and got < wanted:
            got *= extents.pop(0)
        if got != wanted:
            raise UndefinedError("the profile cuts a mode")
    if any(extent > 1 for extent in extents):
        raise UndefinedError("the profile ends early")
    return _table(layout)


COALESCE_PROFILE = _operation(
    "coalesce_profile",
    "a, profile",
    """C = tl.coalesce(tl.Layout(*a), profile)
return [C(i) for i in range(tl.size(C))]""",
    _by_mode,
    _profile,
    "coalescing happens within each mode, always preserves semantics",
)
FLATTEN = _operation(
    "flatten",
    "a",
    """C = tl.flatten(tl.Layout(*a))
return [C(i) for i in range(tl.size(C))]""",
    _one,
    _table,
    "functionally_equal(L, flatten(L))",
    ONE,
)
COMPLEMENT = _operation(
    "complement",
    "a",
    """A = tl.Layout(*a)
C = tl.Layout(A, tl.complement(A))
offsets = [C(i) for i in range(tl.size(C))]
return len(offsets) - len(set(offsets))""",
    _dense,
    _disjoint,
    "Layout(L, complement(L)) covers every offset exactly once",
    ONE,
)
RIGHT_INVERSE = _operation(
    "right_inverse",
    "a",
    """A = tl.Layout(*a)
R = tl.right_inverse(A)
return next((i for i in range(tl.size(R)) if A(R(i)) != i), None)""",
    _one,
    _none,
    "L(R(i)) == i for all i in range(size(R))",
    ONE,
)
LEFT_INVERSE = _operation(
    "left_inverse",
    "a",
    """A = tl.Layout(*a)
R = tl.left_inverse(A)
return next((i for i in range(tl.size(A)) if R(A(i)) != i), None)""",
    _dense,
    _injective,
    "for an injective layout, R(L(i)) == i",
    ONE,
)
LEFT_INVERSE_WEAK = _operation(
    "left_inverse_general",
    "a",
    """A = tl.Layout(*a)
R = tl.left_inverse(A)
return next((i for i in range(tl.size(A)) if A(R(A(i))) != A(i)), None)""",
    _one,
    _none,
    "for a general layout, L(R(L(i))) == L(i)",
    ONE,
)


def _kernel(a: Layout) -> list[Any]:
    model.check(a)
    pairs = zip(model.leaves(a[0]), model.leaves(a[1]), strict=True)
    return [prod(extent for extent, step in pairs if step == 0), None]


NULLSPACE = _operation(
    "nullspace",
    "a",
    """A = tl.Layout(*a)
N = tl.nullspace(A)
return [tl.size(N), next((i for i in range(tl.size(N)) if A(N(i)) != 0), None)]""",
    _one,
    _kernel,
    "layout(nullspace(layout)(i)) == 0; size is size(L) / size(filter(L))",
    ONE,
)
COMMON = _operation(
    "max_common_layout",
    "a, b",
    """A, B = tl.Layout(*a), tl.Layout(*b)
R = tl.max_common_layout(A, B)
return next((i for i in range(tl.size(R)) if not A(R(i)) == B(R(i)) == i), None)""",
    _two,
    _none,
    "a(R(i)) == i and b(R(i)) == i for all i < size(R)",
    TWO,
)
LOGICAL_DIVIDE = _operation(
    "logical_divide",
    "a, b",
    """A, B = tl.Layout(*a), tl.Layout(*b)
D = tl.logical_divide(A, B)
first = tl.mode(D, 0)
return [first(i) for i in range(tl.size(first))]""",
    _two,
    model.composed,
    "the first mode of logical_divide(A, B) is compose(A, B)",
    TWO,
)


def _whole(a: Layout, count: int) -> list[int]:
    offsets = _table(a)
    if not isinstance(count, int) or count < 1 or len(offsets) % count:
        raise UndefinedError("the tile divides the layout")
    return sorted(offsets)


DIVIDE_INT = _operation(
    "logical_divide_int",
    "a, n",
    """D = tl.logical_divide(tl.Layout(*a), n)
return sorted(D(i) for i in range(tl.size(D)))""",
    lambda rng: (model.random_layout(rng), rng.choice((1, 2, 2, 3, 4, 6, 8))),
    _whole,
    "division by a tile that divides the size keeps every element",
    tuple(product(SMALL, (1, 2, 3))),
)
ZIPPED_DIVIDE = _operation(
    "zipped_divide",
    "a, n",
    """D = tl.zipped_divide(tl.Layout(*a), tl.Layout(n, 1))
return sorted(D(i) for i in range(tl.size(D)))""",
    lambda rng: (model.random_layout(rng), rng.choice((1, 2, 2, 3, 4, 6, 8))),
    _whole,
    "division by a tile that divides the size keeps every element",
    tuple(product(SMALL, (1, 2, 3))),
)
FLAT_DIVIDE = _operation(
    "flat_divide",
    "a, n",
    """D = tl.flat_divide(tl.Layout(*a), tl.Layout(n, 1))
return sorted(D(i) for i in range(tl.size(D)))""",
    lambda rng: (model.random_layout(rng), rng.choice((1, 2, 2, 3, 4, 6, 8))),
    _whole,
    "division by a tile that divides the size keeps every element",
    tuple(product(SMALL, (1, 2, 3))),
)


def _apart(a: Layout, b: Layout) -> list[Any]:
    _injective(a)
    _injective(b)
    return [_table(a), 0]


def _product(name: str, call: str, first: str, promise: str) -> Operation:
    body = f"""A, B = tl.Layout(*a), tl.Layout(*b)
P = {call}
offsets = [P(i) for i in range(tl.size(P))]
twice = len(offsets) - len(set(offsets))
return [{first}, twice]"""
    return _operation(
        name,
        "a, b",
        body,
        lambda rng: (
            model.random_layout(rng, 16, compact=0.9),
            model.random_layout(rng, 8, compact=0.9),
        ),
        _apart,
        promise,
        TWO,
    )


PRODUCT = _product(
    "logical_product",
    "tl.logical_product(A, B)",
    "[tl.mode(P, 0)(i) for i in range(tl.size(A))]",
    "A's pattern repeated at non-overlapping memory locations",
)
BLOCKED_PRODUCT = _product(
    "blocked_product",
    "tl.blocked_product(A, B)",
    "[A(i) for i in range(tl.size(A))]",
    "each block is contiguous, with blocks laid out according to B",
)
RAKED_PRODUCT = _product(
    "raked_product",
    "tl.raked_product(A, B)",
    "[A(i) for i in range(tl.size(A))]",
    "block-interleaved reproduction at non-overlapping locations",
)
FLAT_PRODUCT = _product(
    "flat_product",
    "tl.flat_product(A, B)",
    "[P(i) for i in range(tl.size(A))]",
    "all block modes followed by all product modes",
)

# ------------------------------------------------------------------- queries


def _mathematics(function: Callable[[tuple[int, ...]], Any]) -> Callable[..., Any]:
    def expected(layout: Layout) -> Any:
        return function(model.table(layout))

    return expected


def _query(
    name: str, call: str, expected: Callable[..., Any], promise: str
) -> Operation:
    return _operation(name, "a", f"return {call}", _one, expected, promise, ONE)


def _contiguity(offsets: tuple[int, ...]) -> int:
    count = 0
    while count < len(offsets) and offsets[count] == offsets[0] + count:
        count += 1
    return count


def _permutation(offsets: tuple[int, ...]) -> list[int]:
    if sorted(offsets) != list(range(len(offsets))):
        raise UndefinedError("a permutation")
    lengths, seen = [], set()
    for start in range(len(offsets)):
        length, place = 0, start
        while place not in seen:
            seen.add(place)
            place, length = offsets[place], length + 1
        if length:
            lengths.append(length)
    return lengths


QUERIES = [
    _query("cosize", "tl.cosize(tl.Layout(*a))", _span, "max(L(i)) + 1"),
    _query(
        "is_injective",
        "analysis.is_injective(tl.Layout(*a))",
        _mathematics(lambda t: len(set(t)) == len(t)),
        "True if every coordinate maps to a distinct offset",
    ),
    _query(
        "is_surjective",
        "analysis.is_surjective(tl.Layout(*a))",
        _mathematics(lambda t: set(t) == set(range(max(t) + 1))),
        "True if every offset in [0, cosize) is produced",
    ),
    _query(
        "is_bijective",
        "analysis.is_bijective(tl.Layout(*a))",
        _mathematics(lambda t: sorted(t) == list(range(len(t)))),
        "a bijection on [0, cosize)",
    ),
    _query(
        "contiguity",
        "analysis.contiguity(tl.Layout(*a))",
        _mathematics(_contiguity),
        "how many consecutive elements from index 0 map to consecutive offsets",
    ),
    _query(
        "image",
        "analysis.image(tl.Layout(*a))",
        _mathematics(lambda t: sorted(set(t))),
        "the sorted list of distinct offsets",
    ),
    _query(
        "order",
        "analysis.order(tl.Layout(*a))",
        _mathematics(lambda t: lcm(*_permutation(t))),
        "the LCM of the cycle lengths",
    ),
    _query(
        "permutation_parity",
        "analysis.permutation_parity(tl.Layout(*a))",
        _mathematics(lambda t: -1 if sum(n - 1 for n in _permutation(t)) % 2 else 1),
        "+1 for an even permutation, -1 for an odd one",
    ),
    _query(
        "round_trip",
        """[tl.crd2flat(tl.idx2crd(i, a[0]), a[0])
        for i in range(tl.size(tl.Layout(*a)))]""",
        lambda a: list(range(len(model.table(a)))),
        "crd2flat is the inverse of idx2crd",
    ),
]

# ------------------------------------------------- shapes, swizzles, matrices


def _divisible(shape: Any, divisor: int) -> int:
    if not isinstance(divisor, int) or divisor < 1:
        raise UndefinedError("a divisor of 1 and more")
    model.check((shape, shape))
    return prod(model.leaves(shape))


SHAPE_DIV = _operation(
    "shape_div_mod",
    "s, d",
    "return tl.size(tl.shape_div(s, d)) * tl.size(tl.shape_mod(s, d))",
    lambda rng: (model.random_layout(rng)[0], rng.choice((1, 2, 3, 4, 6, 8, 12, 16))),
    _divisible,
    "size(shape_div(s, d)) * size(shape_mod(s, d)) == size(s)",
    tuple(product([layout[0] for layout in SMALL[::4]], (1, 2, 3, 4, 6))),
)


def _fields(rng: Random) -> tuple[int, int, int]:
    bits = rng.randint(0, 3)
    shift = rng.choice((bits, bits + 1, bits + 2, -bits, -bits - 1))
    return bits, rng.randint(0, 3), shift


SWIZZLE = _operation(
    "swizzle",
    "fields, a",
    """S = tl.compose(tl.Swizzle(*fields), tl.Layout(*a))
return [S(i) for i in range(tl.size(S))]""",
    lambda rng: (_fields(rng), model.random_layout(rng)),
    lambda fields, a: [_swizzled(fields, offset) for offset in model.table(a)],
    "compose(Swizzle, Layout)(i) = Swizzle(Layout(i))",
)


def _after(fields: tuple[int, int, int], a: Layout, b: Layout) -> list[int]:
    return [_swizzled(fields, offset) for offset in model.composed(a, b)]


def _swizzled(fields: tuple[int, int, int], offset: int) -> int:
    bits, base, shift = fields
    return model.swizzled(bits, base, shift, offset)


SWIZZLE_COMPOSE = _operation(
    "compose_swizzled",
    "fields, a, b",
    """A = tl.compose(tl.Swizzle(*fields), tl.Layout(*a))
C = tl.compose(A, tl.Layout(*b))
return [C(i) for i in range(tl.size(C))]""",
    lambda rng: (_fields(rng), *_two(rng)),
    _after,
    "compose(A, B)(i) = A(B(i)) with a swizzled A",
)


def _slid(fields: tuple[int, int, int], a: Layout, b: Layout) -> list[int]:
    outer = model.table(b)
    places = [_swizzled(fields, offset) for offset in model.table(a)]
    if max(places) >= len(outer):
        raise UndefinedError("a leaves the domain of b")
    return [outer[place] for place in places]


COMPOSE_RIGHT = _operation(
    "compose_with_swizzled",
    "fields, a, b",
    """A = tl.compose(tl.Swizzle(*fields), tl.Layout(*a))
C = tl.compose(tl.Layout(*b), A)
return [C(i) for i in range(tl.size(C))]""",
    lambda rng: (_fields(rng), model.random_layout(rng, 16), model.random_layout(rng)),
    _slid,
    "compose(A, B)(i) = A(B(i)) with a swizzled B",
)


def _powers(layout: Layout) -> list[int]:
    offsets = _table(layout)
    for number in (*model.leaves(layout[0]), *model.leaves(layout[1])):
        if number & (number - 1):
            raise UndefinedError("powers of two")
    if sorted(offsets) != list(range(len(offsets))):
        raise UndefinedError("a permutation")
    return offsets


def _binary(rng: Random) -> Arguments:
    count = rng.randint(1, 3)
    extents = tuple(1 << rng.randint(0, 3) for _ in range(count))
    strides, step = [0] * count, 1
    for place in rng.sample(range(count), count):
        strides[place] = step
        step *= extents[place]
    if count == 1:
        return ((extents[0], strides[0]),)
    return ((extents, tuple(strides)),)


F2_MATRIX = _operation(
    "to_F2_matrix",
    "a",
    """M = analysis.to_F2_matrix(tl.Layout(*a))
bits = [sum(bit << r for r, bit in enumerate(column)) for column in zip(*M)]
def apply(i):
    out = 0
    for k, column in enumerate(bits):
        out ^= column if i >> k & 1 else 0
    return out
return [apply(i) for i in range(tl.size(tl.Layout(*a)))]""",
    _binary,
    _powers,
    "the matrix times the bits of an index are the bits of its offset",
)
F2_ROUND_TRIP = _operation(
    "from_F2_matrix",
    "a",
    """A = tl.Layout(*a)
B = analysis.from_F2_matrix(analysis.to_F2_matrix(A), a[0])
return [B(i) for i in range(tl.size(B))]""",
    _binary,
    _powers,
    "from_F2_matrix undoes to_F2_matrix",
)


def _same_after(layout: Layout, n: int) -> list[int]:
    offsets = _table(layout)
    if n not in (2, 4, 8):
        raise UndefinedError("a factor of 2, 4 or 8")
    return offsets


CASTS = _operation(
    "upcast_of_downcast",
    "a, n",
    """C = tl.upcast(tl.downcast(tl.Layout(*a), n), n)
return [C(i) for i in range(tl.size(C))]""",
    lambda rng: (model.random_layout(rng), rng.choice((2, 4, 8))),
    _same_after,
    "downcast is the inverse of upcast",
    tuple(product(SMALL, (2, 4))),
)


def _functional(a: Layout, b: Layout) -> bool:
    return model.table(a) == model.table(b)


EQUAL = _operation(
    "functionally_equal",
    "a, b",
    "return analysis.functionally_equal(tl.Layout(*a), tl.Layout(*b))",
    _two,
    _functional,
    "True if a(i) == b(i) for all i and the sizes agree",
    TWO,
)
TILE_TO_SHAPE = _operation(
    "tile_to_shape",
    "a, counts",
    """A = tl.Layout(*a)
target = tuple(n * tl.size(s) for n, s in zip(counts, a[0]))
T = layout_utils.tile_to_shape(A, target)
offsets = [T(i) for i in range(tl.size(T))]
return [tl.size(T), len(offsets) - len(set(offsets))]""",
    lambda rng: (
        next(
            layout
            for layout in iter(lambda: model.random_layout(rng, 16, 1, compact=1.0), 0)
            if isinstance(layout[0], tuple) and len(layout[0]) == 2
        ),
        (rng.randint(1, 4), rng.randint(1, 4)),
    ),
    lambda a, counts: [_tiles(a, counts), 0],
    "tiles a layout over a shape, each element at its own place",
)


def _tiles(a: Layout, counts: tuple[int, ...]) -> int:
    _injective(a)
    if not isinstance(a[0], tuple) or len(a[0]) != len(counts):
        raise UndefinedError("one count for each mode")
    if not all(isinstance(n, int) and n >= 1 for n in counts):
        raise UndefinedError("counts of 1 and more")
    return model.size(a) * prod(counts)


TENSOR_LAYOUTS = Library(
    "tensor_layouts",
    "tensor-layouts",
    (
        COMPOSE,
        COALESCE,
        COALESCE_PROFILE,
        FLATTEN,
        COMPLEMENT,
        RIGHT_INVERSE,
        LEFT_INVERSE,
        LEFT_INVERSE_WEAK,
        NULLSPACE,
        COMMON,
        LOGICAL_DIVIDE,
        DIVIDE_INT,
        ZIPPED_DIVIDE,
        FLAT_DIVIDE,
        PRODUCT,
        BLOCKED_PRODUCT,
        RAKED_PRODUCT,
        FLAT_PRODUCT,
        *QUERIES,
        SHAPE_DIV,
        SWIZZLE,
        SWIZZLE_COMPOSE,
        COMPOSE_RIGHT,
        F2_MATRIX,
        F2_ROUND_TRIP,
        CASTS,
        EQUAL,
        TILE_TO_SHAPE,
    ),
)
