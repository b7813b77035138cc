"""A PyTorch function as terms: what each element of its result is.

The function is called on stand-ins for tensors, whose elements are terms over their
coordinates, in the vocabulary of TTIR: ``x * 2`` is ``mulf`` of a read and a constant.
Pointwise functions, broadcasting, transposes, softmax, and sums, maxima and minima
along a dim have a meaning; anything else ends the attempt with ``NotTracedError``.
"""

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from verify.symbolic.polynomial import same
from verify.symbolic.terms import (
    BOOL,
    ONE,
    VALUE,
    ZERO,
    Term,
    add,
    choose,
    less,
    mul,
    opaque,
    read,
    symbol,
)

from .folds import folded
from .reals import FLOAT, number, operation
from .setting import Memory

Coordinates = tuple[Term, ...]


class NotTracedError(Exception):
    """The function does something without a meaning here; says what."""


class Stand:
    """A stand-in for a tensor.

    Attributes:
        shape: Extents.
        at: Element at coordinates.
    """

    def __init__(
        self, shape: Sequence[Term], at: Callable[[Coordinates], Term]
    ) -> None:
        self.shape = tuple(shape)
        self.at = at

    @property
    def ndim(self) -> int:
        """Number of dims."""
        return len(self.shape)

    @property
    def T(self) -> "Stand":  # noqa: N802 - torch's name
        """The transpose."""
        return self.permute(*reversed(range(self.ndim)))

    def permute(self, *dims: int) -> "Stand":
        """Return the tensor with dims in another order."""

        def at(place: Coordinates) -> Term:
            source = [ZERO] * len(dims)
            for here, dim in zip(place, dims, strict=True):
                source[dim] = here
            return self.at(tuple(source))

        return Stand([self.shape[dim] for dim in dims], at)

    def transpose(self, one: int, other: int) -> "Stand":
        """Return the tensor with two dims exchanged."""
        dims = list(range(self.ndim))
        dims[one], dims[other] = dims[other], dims[one]
        return self.permute(*dims)

    def t(self) -> "Stand":
        """Return the transpose."""
        return self.T

    def _reduced(self, name: str, dim: Any, keepdim: bool) -> "Stand":
        axis = dim[0] if isinstance(dim, tuple | list) and len(dim) == 1 else dim
        if not isinstance(axis, int):
            raise NotTracedError(f"a reduction over dim={dim!r}")
        axis %= self.ndim
        _count[0] += 1
        bound = symbol(f"folded{_count[0]}", 0, None)
        inside = less(bound, self.shape[axis])

        def at(place: Coordinates) -> Term:
            rest = place[axis + 1 :] if keepdim else place[axis:]
            source = (*place[:axis], bound, *rest)
            return folded(name, (bound,), inside, self.at(source))

        shape = list(self.shape)
        shape[axis : axis + 1] = [ONE] if keepdim else []
        return Stand(shape, at)

    def sum(self, dim: Any = None, keepdim: bool = False) -> "Stand":
        """Return sums along a dim."""
        return self._reduced("addf", dim, keepdim)

    def amax(self, dim: Any = None, keepdim: bool = False) -> "Stand":
        """Return maxima along a dim."""
        return self._reduced("maxnumf", dim, keepdim)

    def amin(self, dim: Any = None, keepdim: bool = False) -> "Stand":
        """Return minima along a dim."""
        return self._reduced("minnumf", dim, keepdim)

    def softmax(self, dim: int) -> "Stand":
        """Return exponentials over their sum, the maximum subtracted."""
        powers = _apply("exp", (self - self.amax(dim, True),), {})
        return powers / powers.sum(dim, True)

    def __getattr__(self, name: str) -> Any:
        if name in _UNARY or name in _BINARY:
            return lambda *args, **kwargs: _apply(name, (self, *args), kwargs)
        raise NotTracedError(f"Tensor.{name}")

    @classmethod
    def __torch_function__(
        cls,
        function: Any,
        types: Any,
        args: Any = (),
        kwargs: Mapping[str, Any] | None = None,
    ) -> Any:
        """Give a function of torch its meaning on stand-ins."""
        name = function.__name__
        named = dict(kwargs or {})
        if name in ("sum", "amax", "amin", "softmax", "transpose", "permute", "t"):
            first, *rest = args
            return getattr(first, name)(*rest, **named)
        return _apply(name, args, named)

    def __add__(self, other: Any) -> "Stand":
        return _apply("add", (self, other), {})

    def __radd__(self, other: Any) -> "Stand":
        return _apply("add", (other, self), {})

    def __sub__(self, other: Any) -> "Stand":
        return _apply("sub", (self, other), {})

    def __rsub__(self, other: Any) -> "Stand":
        return _apply("sub", (other, self), {})

    def __mul__(self, other: Any) -> "Stand":
        return _apply("mul", (self, other), {})

    def __rmul__(self, other: Any) -> "Stand":
        return _apply("mul", (other, self), {})

    def __truediv__(self, other: Any) -> "Stand":
        return _apply("div", (self, other), {})

    def __rtruediv__(self, other: Any) -> "Stand":
        return _apply("div", (other, self), {})

    def __neg__(self) -> "Stand":
        return _apply("neg", (self,), {})

    def __gt__(self, other: Any) -> "Stand":
        return _apply("gt", (self, other), {})

    def __ge__(self, other: Any) -> "Stand":
        return _apply("ge", (self, other), {})

    def __lt__(self, other: Any) -> "Stand":
        return _apply("lt", (self, other), {})

    def __le__(self, other: Any) -> "Stand":
        return _apply("le", (self, other), {})


_count = [0]


def _negated(x: Term) -> Term:
    return operation("subf", number(0.0), x)


def _sigmoid(x: Term) -> Term:
    power = operation("exp", _negated(x))
    return operation("divf", number(1.0), operation("addf", number(1.0), power))


_UNARY: dict[str, Callable[[Term], Term]] = {
    **{
        name: partial(operation, name)
        for name in ("exp", "exp2", "log", "log2", "sqrt", "rsqrt", "sin", "cos", "erf")
    },
    "abs": lambda x: operation("absf", x),
    "floor": lambda x: operation("floor", x),
    "ceil": lambda x: operation("ceil", x),
    "neg": _negated,
    "square": lambda x: operation("mulf", x, x),
    "relu": lambda x: operation("maxnumf", x, number(0.0)),
    "sigmoid": _sigmoid,
    "silu": lambda x: operation("mulf", x, _sigmoid(x)),
}


def _compared(predicate: str) -> Callable[[Term, Term], Term]:
    return lambda a, b: opaque(BOOL, "cmpf", (predicate, a, b))


_BINARY: dict[str, Callable[[Term, Term], Term]] = {
    "add": lambda a, b: operation("addf", a, b),
    "sub": lambda a, b: operation("subf", a, b),
    "rsub": lambda a, b: operation("subf", b, a),
    "mul": lambda a, b: operation("mulf", a, b),
    "div": lambda a, b: operation("divf", a, b),
    "true_divide": lambda a, b: operation("divf", a, b),
    "maximum": lambda a, b: operation("maxnumf", a, b),
    "minimum": lambda a, b: operation("minnumf", a, b),
    "gt": _compared("ogt"),
    "ge": _compared("oge"),
    "lt": _compared("olt"),
    "le": _compared("ole"),
}


def _apply(name: str, args: Sequence[Any], kwargs: Mapping[str, Any]) -> Stand:
    """Apply a pointwise function, with broadcasting."""
    name = name.strip("_")
    name = {"truediv": "div", "rmul": "mul", "radd": "add"}.get(name, name)
    if kwargs and any(value not in (1, False, None) for value in kwargs.values()):
        raise NotTracedError(f"{name} with {dict(kwargs)}")
    meaning: Callable[..., Term]
    if name in _UNARY:
        meaning = _UNARY[name]
    elif name in _BINARY:
        meaning = _BINARY[name]
    elif name == "where":
        meaning = choose
    else:
        raise NotTracedError(f"torch.{name}")
    return pointwise(
        meaning, [one if isinstance(one, Stand) else _constant(one) for one in args]
    )


def pointwise(meaning: Callable[..., Term], parts: Sequence[Stand]) -> Stand:
    """Apply an operation to elements, with broadcasting.

    Raises:
        NotTracedError: extents are not known to be equal.
    """
    rank = max(part.ndim for part in parts)
    shape = []
    for dim in range(rank):
        extents = [
            part.shape[dim - rank + part.ndim]
            for part in parts
            if dim - rank + part.ndim >= 0
        ]
        wide = [extent for extent in extents if extent is not ONE]
        if any(not same(extent, wide[0]) for extent in wide):
            raise NotTracedError(f"an operation on extents {wide} that may differ")
        shape.append(wide[0] if wide else ONE)

    def at(place: Coordinates) -> Term:
        return meaning(*(_broadcast(part, place) for part in parts))

    return Stand(shape, at)


def _broadcast(part: Stand, place: Coordinates) -> Term:
    own = place[len(place) - part.ndim :]
    return part.at(
        tuple(
            ZERO if extent is ONE else here
            for extent, here in zip(part.shape, own, strict=True)
        )
    )


def _constant(value: Any) -> Stand:
    if not isinstance(value, int | float):
        raise NotTracedError(f"an argument {value!r}")
    term = number(value)
    return Stand((), lambda _: term)


def stand_for(memory: Memory) -> Stand:
    """Return the stand-in for a buffer: its elements are reads before the kernel."""

    def at(place: Coordinates) -> Term:
        offset = ZERO
        for here, stride in zip(place, memory.strides, strict=True):
            offset = add(offset, mul(here, stride))
        return read(VALUE, memory.name, 0, offset, None, None)

    return Stand(memory.shape, at)


def float_scalar(name: str) -> Stand:
    """Return the stand-in for a parameter that is a float."""
    term = opaque(VALUE, "argument", (name, FLOAT))
    return Stand((), lambda _: term)


def inputs_of(
    function: Callable[..., Any], memories: Mapping[str, Memory], scalars: Sequence[str]
) -> list[str]:
    """Return the parameters of the kernel that a function takes, in its order.

    They are known by their names; or, where the names say nothing, they are the buffers
    that the kernel does not have to write.

    Raises:
        NotTracedError: neither fits.
    """
    import inspect

    read_only = [name for name, memory in memories.items() if not memory.writes]
    try:
        names = list(inspect.signature(function).parameters)
    except (ValueError, TypeError):
        return read_only
    if all(name in memories or name in scalars for name in names):
        return names
    if len(names) == len(read_only):
        return read_only
    raise NotTracedError(f"parameters {names} that the kernel does not have")


def stands_for(names: Sequence[str], memories: Mapping[str, Memory]) -> list[Stand]:
    """Return the stand-ins for parameters: buffers, and scalars that are floats."""
    return [
        stand_for(memories[name]) if name in memories else float_scalar(name)
        for name in names
    ]


def traced(
    function: Callable[..., Any], memories: Mapping[str, Memory], scalars: Sequence[str]
) -> list[Stand]:
    """Return what a function gives, one stand-in an output.

    Args:
        function: Takes parameters of the kernel.
        memories: Buffer -> its extents.
        scalars: Parameters that are floats.

    Raises:
        NotTracedError: it does something without a meaning here.
    """
    names = inputs_of(function, memories, scalars)
    result = function(*stands_for(names, memories))
    listed = list(result) if isinstance(result, tuple | list) else [result]
    if not all(isinstance(one, Stand) for one in listed):
        raise NotTracedError("a result that is no tensor")
    return listed
