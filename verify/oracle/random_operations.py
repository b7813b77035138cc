"""Random operations on random layouts, for a wheel and for the algebra.

Every operation that ``libtriton.linear_layout.LinearLayout`` binds. Arguments are
plain data, so that the same operation goes to a child process and to ours.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from random import Random
from typing import Any

from algebra import gauss
from algebra.inversion import aligned_columns
from algebra.layout import LinearLayout

from .random_matrices import random_surjective
from .views import distributed_view, shared_view

Spec = dict[str, Any]
HARDWARE = ("register", "lane", "warp", "block")


@dataclass(frozen=True, slots=True)
class Operation:
    """One operation with its arguments.

    Attributes:
        name: One of ``OPERATIONS``.
        arguments: Layouts as ``{"bases", "out_dims", "surjective"}``, or plain data.
    """

    name: str
    arguments: tuple[Any, ...]

    def run(self, release: str = "3.8") -> Any:
        """Return the algebra's answer, in the plain form that a wheel's child uses.

        Args:
            release: Triton release whose choice among several preimages is meant; the
                algebra's own is that of 3.8.
        """
        args = [
            to_layout(a) if isinstance(a, dict) and "bases" in a else a
            for a in self.arguments
        ]
        if self.name == "invert_and_compose" and release in CHOICES:
            return _plain(CHOICES[release](*args))
        return _plain(_RUN[self.name](*args))


def to_layout(spec: Spec) -> LinearLayout:
    """Return the layout of a specification."""
    return LinearLayout.from_bases(
        dict(spec["bases"]), dict(spec["out_dims"]), spec["surjective"]
    )


def choice_until_3_7(inner: LinearLayout, outer: LinearLayout) -> LinearLayout:
    """Return ``inner.invert_and_compose(outer)`` with the preimages of Triton 3.6.

    A common in-dim is mapped by the identity only where the out-dims of both layouts
    have the same sizes; otherwise every preimage is the smallest one. Found by
    comparison with the wheels.

    Args:
        inner: Layout to express.
        outer: Surjective layout with the same out-dims, each at least as large.
    """
    if inner.out_dims == outer.out_dims:
        return inner.invert_and_compose(outer)
    targets = aligned_columns(inner, outer.out_names, outer.out_bits)
    return _expressed(inner, outer, gauss.solve(outer.columns, targets))


def choice_of_3_9(inner: LinearLayout, outer: LinearLayout) -> LinearLayout:
    """Return ``inner.invert_and_compose(outer)`` with the preimages of Triton 3.9.

    The smallest preimages, but an in-dim on which the layouts agree is mapped by the
    identity if no other in-dim of either touches its output bits. Found by comparison
    with the wheel.

    Args:
        inner: Layout to express.
        outer: Surjective layout with the same out-dims, each at least as large.
    """
    targets = aligned_columns(inner, outer.out_names, outer.out_bits)
    solution = gauss.solve(outer.columns, targets)
    assert solution is not None
    places = dict(_places(outer))
    for name, here in _places(inner):
        there = places.get(name, slice(0, 0))
        common = targets[here]
        if common != list(outer.columns[there]):
            continue
        others = targets + list(outer.columns[: there.start])
        others += outer.columns[there.stop :]
        del others[here]
        if not _touched(common) & _touched(others):
            solution[here] = [1 << bit for bit in range(there.start, there.stop)]
    return _expressed(inner, outer, solution)


CHOICES = {"3.6": choice_until_3_7, "3.7": choice_until_3_7, "3.9": choice_of_3_9}
"""How releases choose among several preimages, where it is not the algebra's way."""


def _expressed(
    inner: LinearLayout, outer: LinearLayout, columns: list[int] | None
) -> LinearLayout:
    assert columns is not None
    return LinearLayout.from_columns(
        dict(zip(inner.in_names, inner.in_bits, strict=True)),
        dict(zip(outer.in_names, outer.in_bits, strict=True)),
        columns,
    )


def _places(layout: LinearLayout) -> Iterator[tuple[str, slice]]:
    start = 0
    for name, bits in zip(layout.in_names, layout.in_bits, strict=True):
        yield name, slice(start, start + bits)
        start += bits


def _touched(columns: Iterable[int]) -> int:
    bits = 0
    for column in columns:
        bits |= column
    return bits


def _plain(value: Any) -> Any:
    if isinstance(value, LinearLayout):
        return {
            "bases": [
                [name, [list(vector) for vector in vectors]]
                for name, vectors in value.bases.items()
            ],
            "out_dims": [[name, size] for name, size in value.out_dims.items()],
        }
    if isinstance(value, tuple | list):
        return [_plain(part) for part in value]
    return value


def _bits(rng: Random, count: int, top: int) -> list[int]:
    return [rng.randint(0, top) for _ in range(count)]


def _out_dims(rng: Random, top: int = 4) -> list[tuple[str, int]]:
    count = rng.choice((1, 2, 2, 2, 3))
    sizes = _bits(rng, count, top)
    return [(f"dim{d}", 1 << bits) for d, bits in enumerate(sizes)]


def _spec(
    columns: Sequence[int],
    in_dims: Sequence[tuple[str, int]],
    out_dims: Sequence[tuple[str, int]],
    surjective: bool = True,
) -> Spec:
    """Return the specification of packed columns; in_dims as (name, bits)."""
    bases = []
    rest = list(columns)
    for name, bits in in_dims:
        vectors = []
        for column in rest[:bits]:
            vector = []
            for _, size in out_dims:
                vector.append(column & size - 1)
                column >>= size.bit_length() - 1
            vectors.append(vector)
        rest = rest[bits:]
        bases.append([name, vectors])
    return {
        "bases": bases,
        "out_dims": [list(pair) for pair in out_dims],
        "surjective": surjective,
    }


def _total(dims: Sequence[tuple[str, int]]) -> int:
    return sum(size.bit_length() - 1 for _, size in dims)


def _in_dims(rng: Random, total: int, names: Sequence[str]) -> list[tuple[str, int]]:
    bits = [0] * len(names)
    for _ in range(total):
        bits[rng.randrange(len(names))] += 1
    return list(zip(names, bits, strict=True))


def _surjective(rng: Random, out_dims: Sequence[tuple[str, int]] | None = None) -> Spec:
    outs = list(out_dims or _out_dims(rng))
    need = _total(outs)
    total = need + rng.choice((0, 0, 1, 2, 3))
    names = HARDWARE[: rng.randint(1, 4)]
    return _spec(random_surjective(rng, total, need), _in_dims(rng, total, names), outs)


def _any(rng: Random) -> Spec:
    if rng.random() < 0.6:
        return _surjective(rng)
    outs = _out_dims(rng)
    ins = list(zip(HARDWARE, _bits(rng, rng.randint(1, 4), 3), strict=False))
    span = (1 << _total(outs)) - 1
    columns = [rng.randint(0, span) for _ in range(sum(bits for _, bits in ins))]
    return _spec(columns, ins, outs, surjective=False)


def _invertible(rng: Random) -> Spec:
    outs = _out_dims(rng)
    need = _total(outs)
    names = HARDWARE[: rng.randint(1, 4)]
    return _spec(random_surjective(rng, need, need), _in_dims(rng, need, names), outs)


def _compose(rng: Random) -> tuple[Any, ...]:
    inner = _any(rng)
    outs = _out_dims(rng)
    ins = [
        (name, size.bit_length() - 1 + rng.choice((0, 0, 1)))
        for name, size in inner["out_dims"]
    ]
    rng.shuffle(ins)
    span = (1 << _total(outs)) - 1
    columns = [rng.randint(0, span) for _ in range(sum(bits for _, bits in ins))]
    return inner, _spec(columns, ins, outs, surjective=False)


def _same_outs(rng: Random) -> tuple[Any, ...]:
    outs = _out_dims(rng)
    wide = outs
    if rng.random() < 0.25:
        wide = [(name, size << rng.randint(0, 2)) for name, size in outs]
    return _surjective(rng, outs), _surjective(rng, wide)


def _factors(rng: Random) -> tuple[Any, ...]:
    rank = rng.randint(1, 3)
    factors = []
    for _ in range(2):
        outs = [(f"dim{d}", 1 << bits) for d, bits in enumerate(_bits(rng, rank, 3))]
        factors.append(_surjective(rng, outs))
    return tuple(factors)


def _pair(rng: Random) -> tuple[Any, ...]:
    first = _any(rng)
    return (first, first) if rng.random() < 0.5 else (first, _any(rng))


def _apply(rng: Random) -> tuple[Any, ...]:
    layout = _any(rng)
    return layout, {
        name: rng.randrange(1 << len(vectors)) for name, vectors in layout["bases"]
    }


def _line(rng: Random) -> tuple[Any, ...]:
    return 1 << rng.randint(0, 8), rng.choice(HARDWARE), f"dim{rng.randint(0, 3)}"


def _strided(rng: Random) -> tuple[Any, ...]:
    size, in_dim, out_dim = _line(rng)
    return size, 1 << rng.randint(0, 6), in_dim, out_dim


def _zeros(rng: Random) -> tuple[Any, ...]:
    return (*_line(rng), 1 << rng.randint(0, 4))


def _distributed(rng: Random) -> tuple[Any, ...]:
    outs = [("dim0", 1 << rng.randint(0, 3)), ("dim1", 1 << rng.randint(0, 3))]
    total = _total(outs) + rng.choice((0, 0, 1))
    columns = random_surjective(rng, total, _total(outs))
    layout = _spec(columns, _in_dims(rng, total, HARDWARE), outs)
    return layout, rng.random() < 0.5


def _shared(rng: Random) -> tuple[Any, ...]:
    outs = [("dim0", 1 << rng.randint(0, 3)), ("dim1", 1 << rng.randint(0, 3))]
    total = _total(outs)
    columns = random_surjective(rng, total, total)
    block = rng.randint(0, min(1, total))
    ins = [("offset", total - block), ("block", block)]
    return _spec(columns, ins, outs), rng.random() < 0.5


def _one(make: Callable[[Random], Spec]) -> Callable[[Random], tuple[Any, ...]]:
    return lambda rng: (make(rng),)


def _matrix(layout: LinearLayout) -> list[list[int]]:
    rows = sum(layout.out_bits)
    return [[column >> row & 1 for column in layout.columns] for row in range(rows)]


def _pairs(value: dict[str, Any]) -> list[list[Any]]:
    return [[name, part] for name, part in value.items()]


_MAKE: dict[str, Callable[[Random], tuple[Any, ...]]] = {
    "make": _one(_any),
    "bases": _one(_any),
    "out_dims": _one(_any),
    "num_in_dims": _one(_any),
    "num_out_dims": _one(_any),
    "get_in_dim_names": _one(_any),
    "get_out_dim_names": _one(_any),
    "is_surjective": _one(_any),
    "is_injective": _one(_any),
    "is_invertible": _one(_any),
    "get_matrix_view": _one(_any),
    "get_distributed_view": _distributed,
    "get_shared_view": _shared,
    "identity_1d": _line,
    "strided_1d": _strided,
    "zeros_1d": _zeros,
    "apply": _apply,
    "compose": _compose,
    "invert": _one(_invertible),
    "pseudoinvert": _one(_surjective),
    "invert_and_compose": _same_outs,
    "product": _factors,
    "product_in_place": _factors,
    "equal": _pair,
    "unequal": _pair,
}

_RUN: dict[str, Callable[..., Any]] = {
    "make": lambda layout: layout,
    "bases": lambda layout: _pairs(layout.bases),
    "out_dims": lambda layout: _pairs(layout.out_dims),
    "num_in_dims": lambda layout: layout.num_in_dims,
    "num_out_dims": lambda layout: layout.num_out_dims,
    "get_in_dim_names": lambda layout: layout.get_in_dim_names(),
    "get_out_dim_names": lambda layout: layout.get_out_dim_names(),
    "is_surjective": lambda layout: layout.is_surjective,
    "is_injective": lambda layout: layout.is_injective,
    "is_invertible": lambda layout: layout.is_invertible,
    "get_matrix_view": _matrix,
    "get_distributed_view": distributed_view,
    "get_shared_view": shared_view,
    "identity_1d": LinearLayout.identity_1d,
    "strided_1d": LinearLayout.strided_1d,
    "zeros_1d": LinearLayout.zeros_1d,
    "apply": lambda layout, point: layout.apply(point),
    "compose": lambda layout, outer: layout.compose(outer),
    "invert": lambda layout: layout.invert(),
    "pseudoinvert": lambda layout: layout.pseudoinvert(),
    "invert_and_compose": lambda layout, outer: layout.invert_and_compose(outer),
    "product": lambda left, right: left * right,
    "product_in_place": lambda left, right: left * right,
    "equal": lambda left, right: left == right,
    "unequal": lambda left, right: left != right,
}

OPERATIONS = tuple(_MAKE)
"""Names of the operations that can be drawn."""


def random_operation(rng: Random, name: str | None = None) -> Operation:
    """Return a random operation with valid arguments.

    Args:
        rng: Source of randomness; its state decides the operation.
        name: One of ``OPERATIONS``; default: all with equal weight.

    Example:
        >>> random_operation(Random(3), "num_in_dims").run() in (1, 2, 3, 4)
        True
    """
    chosen = name or rng.choice(OPERATIONS)
    return Operation(chosen, _MAKE[chosen](rng))
