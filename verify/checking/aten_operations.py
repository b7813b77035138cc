"""ATen operations on stand-ins: what each element of a result is.

Elements are floats, or integers and truth values where a graph makes indices
(``arange``) and masks (``tril``). Reductions and matrix products are folds.
"""

from collections.abc import Callable, Sequence
from typing import Any

from verify.symbolic.terms import (
    BOOL,
    INT,
    ONE,
    VALUE,
    Term,
    add,
    at_most,
    choose,
    conjoin,
    constant,
    disjoin,
    equal,
    invert,
    less,
    mul,
    opaque,
    sub,
    symbol,
)

from .aten_views import VIEWS, extents_of, term_of_extent
from .folds import folded
from .reals import number, operation
from .traced import Coordinates, NotTracedError, Stand, pointwise

_count = [0]


def _bound() -> Term:
    _count[0] += 1
    return symbol(f"summed{_count[0]}", 0, None)


def _reduce(name: str, x: Stand, dims: Any = None, keepdim: bool = False) -> Stand:
    listed = dims if isinstance(dims, list) else [] if dims is None else [dims]
    axes = sorted({d % x.ndim for d in listed}) or list(range(x.ndim))
    bounds = {axis: _bound() for axis in axes}
    inside = conjoin(*(less(bounds[axis], x.shape[axis]) for axis in axes))

    def at(place: Coordinates) -> Term:
        rest = iter(
            [p for d, p in enumerate(place) if d not in bounds] if keepdim else place
        )
        source = [bounds[d] if d in bounds else next(rest) for d in range(x.ndim)]
        body = x.at(tuple(source))
        if body.sort != VALUE:
            raise NotTracedError("a reduction of integers")
        return folded(name, tuple(bounds.values()), inside, body) if axes else body

    if keepdim:
        return Stand([ONE if d in bounds else x.shape[d] for d in range(x.ndim)], at)
    return Stand([x.shape[d] for d in range(x.ndim) if d not in bounds], at)


def _sum(x: Stand, dims: Any = None, keepdim: bool = False, **_: Any) -> Stand:
    return _reduce("addf", x, dims, keepdim)


def _mean(x: Stand, dims: Any = None, keepdim: bool = False, **_: Any) -> Stand:
    listed = dims if isinstance(dims, list) else [] if dims is None else [dims]
    count = ONE
    for axis in {d % x.ndim for d in listed} or range(x.ndim):
        count = mul(count, x.shape[axis])
    whole = _reduce("addf", x, dims, keepdim)
    return pointwise(
        lambda a: operation("divf", a, operation("sitofp", count)), [whole]
    )


def _applied(name: str, *parts: Stand) -> Stand:
    return pointwise(lambda *terms: operation(name, *terms), parts)


def _softmax(x: Stand, dim: int, _: Any = None) -> Stand:
    powers = _applied("exp", _applied("subf", x, _reduce("maxnumf", x, dim, True)))
    return _applied("divf", powers, _reduce("addf", powers, dim, True))


def _logsumexp(x: Stand, dims: Any, keepdim: bool = False) -> Stand:
    top = _reduce("maxnumf", x, dims, True)
    powers = _applied("exp", _applied("subf", x, top))
    logs = _applied("log", _reduce("addf", powers, dims, keepdim))
    return _applied("addf", logs, _reduce("maxnumf", x, dims, keepdim))


def _log_softmax(x: Stand, dim: int, _: Any = None) -> Stand:
    return _applied(
        "subf",
        _applied("subf", x, _reduce("maxnumf", x, dim, True)),
        _applied(
            "log",
            _reduce(
                "addf",
                _applied("exp", _applied("subf", x, _reduce("maxnumf", x, dim, True))),
                dim,
                True,
            ),
        ),
    )


def _var_mean(
    x: Stand, dims: Any = None, *, correction: Any = None, keepdim: bool = False
) -> list[Stand]:
    away = _applied("subf", x, _mean(x, dims, True))
    listed = dims if isinstance(dims, list) else [] if dims is None else [dims]
    count = ONE
    for axis in {d % x.ndim for d in listed} or range(x.ndim):
        count = mul(count, x.shape[axis])
    count = sub(count, constant(1 if correction is None else int(correction)))
    squares = _reduce("addf", _applied("mulf", away, away), dims, keepdim)
    spread = _applied("divf", squares, Stand((), _fixed(operation("sitofp", count))))
    return [spread, _mean(x, dims, keepdim)]


def _product(a: Stand, b: Stand) -> Stand:
    """Return a matrix product, or a batch of them."""
    bound = _bound()
    inside = less(bound, a.shape[-1])

    def at(place: Coordinates) -> Term:
        *batch, row, column = place
        left, right = a.at((*batch, row, bound)), b.at((*batch, bound, column))
        return folded("addf", (bound,), inside, operation("mulf", left, right))

    return Stand([*a.shape[:-1], b.shape[-1]], at)


def _addmm(c: Stand, a: Stand, b: Stand, beta: Any = 1, alpha: Any = 1) -> Stand:
    if (beta, alpha) != (1, 1):
        raise NotTracedError("aten.addmm with beta or alpha")
    return pointwise(lambda x, y: operation("addf", x, y), [c, _product(a, b)])


def _power(x: Any, exponent: Any) -> Stand:
    if not isinstance(exponent, int | float) or not isinstance(x, Stand):
        raise NotTracedError("aten.pow of tensors")
    if exponent in (0.5, -0.5):
        name = "sqrt" if exponent == 0.5 else "rsqrt"
        return pointwise(lambda a: operation(name, a), [x])
    whole = int(exponent)
    if whole != exponent or not 1 <= abs(whole) <= 8:
        raise NotTracedError(f"aten.pow of {exponent}")

    def raised(a: Term) -> Term:
        found = a
        for _ in range(abs(whole) - 1):
            found = operation("mulf", found, a)
        return operation("divf", number(1.0), found) if whole < 0 else found

    return pointwise(raised, [x])


def _full(sizes: Any, value: Any, **_: Any) -> Stand:
    return Stand(extents_of(sizes), lambda _: _element(value))


def _full_like(x: Stand, value: Any, **_: Any) -> Stand:
    return Stand(x.shape, lambda _: _element(value))


def _iota(length: Any, start: Any = 0, step: Any = 1, **_: Any) -> Stand:
    return Stand(
        [term_of_extent(length)],
        lambda p: add(term_of_extent(start), mul(p[0], term_of_extent(step))),
    )


def _arange(start: Any, end: Any, step: Any = 1, **_: Any) -> Stand:
    if step != 1:
        raise NotTracedError(f"aten.arange in steps of {step!r}")
    return _iota(sub(term_of_extent(end), term_of_extent(start)), start)


def _element(value: Any) -> Term:
    """Return a number of an argument as an element."""
    if isinstance(value, Term):
        return value
    if isinstance(value, bool):
        return conjoin() if value else disjoin()
    return constant(value) if isinstance(value, int) else number(value)


def _real(x: Term) -> Term:
    """Return an element as a float."""
    if x.sort == BOOL:
        return choose(x, number(1.0), number(0.0))
    if x.sort == INT:
        if x.kind == "const":
            return number(float(x.args[0]))
        return operation("sitofp", x)
    return x


def _parts(args: Sequence[Any]) -> list[Stand]:
    return [
        one if isinstance(one, Stand) else Stand((), _fixed(_element(one)))
        for one in args
    ]


def _fixed(term: Term) -> Callable[[Coordinates], Term]:
    return lambda _: term


def _floats(meaning: Callable[..., Term]) -> Callable[..., Stand]:
    """Return a pointwise operation of floats."""

    def act(*args: Any, **named: Any) -> Stand:
        if any(value not in (None, False) for value in named.values()):
            raise NotTracedError(f"an argument of {named}")
        return pointwise(lambda *parts: meaning(*map(_real, parts)), _parts(args))

    return act


def _mixed(
    integers: Callable[..., Term], floats: Callable[..., Term]
) -> Callable[..., Stand]:
    """Return a pointwise operation, of integers where all operands are."""

    def meaning(*parts: Term) -> Term:
        if all(part.sort == INT for part in parts):
            return integers(*parts)
        return floats(*map(_real, parts))

    def act(a: Any, b: Any, alpha: Any = 1) -> Stand:
        if alpha != 1:
            (b,) = _parts([b])
            b = pointwise(
                lambda x, y: operation("mulf", _real(x), y), _parts([b, float(alpha)])
            )
        return pointwise(meaning, _parts([a, b]))

    return act


def _compared(predicate: str, integers: Callable[..., Term]) -> Callable[..., Stand]:
    return _mixed(integers, lambda a, b: opaque(BOOL, "cmpf", (predicate, a, b)))


def _where(test: Stand, a: Any, b: Any) -> Stand:
    def meaning(c: Term, x: Term, y: Term) -> Term:
        return choose(c, _real(x), _real(y))

    return pointwise(meaning, _parts([test, a, b]))


def _clamp(x: Stand, low: Any = None, high: Any = None) -> Stand:
    if low is not None:
        x = _floats(lambda a, b: operation("maxnumf", a, b))(x, low)
    if high is not None:
        x = _floats(lambda a, b: operation("minnumf", a, b))(x, high)
    return x


def _kept(x: Stand, *_: Any, **__: Any) -> Stand:
    return x


def _as_float(x: Stand, *args: Any, **named: Any) -> Stand:
    kind = str(named.get("dtype", args[0] if args else "float"))
    if "int" in kind or "bool" in kind:
        raise NotTracedError(f"a conversion to {kind}")
    return pointwise(_real, [x])


def _truth(meaning: Callable[..., Term]) -> Callable[..., Stand]:
    return lambda *args: pointwise(meaning, _parts(args))


SAME = ("clone", "alias", "detach", "contiguous", "lift_fresh_copy")
"""Operations whose result is their argument, and may share its memory."""

OPERATIONS: dict[str, Callable[..., Any]] = {
    **VIEWS,
    "sum": _sum,
    "mean": _mean,
    "amax": lambda x, dims=None, keepdim=False: _reduce("maxnumf", x, dims, keepdim),
    "amin": lambda x, dims=None, keepdim=False: _reduce("minnumf", x, dims, keepdim),
    "max": lambda x, dims=None, keepdim=False: (
        [_reduce("maxnumf", x, dims, keepdim), None]
        if dims is not None
        else _reduce("maxnumf", x)
    ),
    "_softmax": _softmax,
    "_log_softmax": _log_softmax,
    "logsumexp": _logsumexp,
    "var_mean": _var_mean,
    "var": lambda *args, **named: _var_mean(*args, **named)[0],
    "mm": _product,
    "bmm": _product,
    "addmm": _addmm,
    "pow": _power,
    "full": _full,
    "full_like": _full_like,
    "zeros_like": lambda x, **_: _full_like(x, 0.0),
    "ones_like": lambda x, **_: _full_like(x, 1.0),
    "zeros": lambda sizes, **_: _full(sizes, 0.0),
    "ones": lambda sizes, **_: _full(sizes, 1.0),
    "iota": _iota,
    "arange": _arange,
    "scalar_tensor": lambda value, **_: Stand((), _fixed(_element(value))),
    "where": _where,
    "clamp": _clamp,
    "clamp_min": _clamp,
    "clamp_max": lambda x, high: _clamp(x, None, high),
    "_to_copy": _as_float,
    "convert_element_type": _as_float,
    "sym_size": lambda x, dim: x.shape[dim],
    "add": _mixed(add, lambda a, b: operation("addf", a, b)),
    "sub": _mixed(sub, lambda a, b: operation("subf", a, b)),
    "mul": _mixed(mul, lambda a, b: operation("mulf", a, b)),
    "logical_and": _truth(conjoin),
    "bitwise_and": _truth(conjoin),
    "logical_or": _truth(disjoin),
    "bitwise_or": _truth(disjoin),
    "logical_not": _truth(invert),
    "bitwise_not": _truth(invert),
    **dict.fromkeys(SAME, _kept),
    **{
        name: _floats(lambda *parts, op=op: operation(op, *parts))
        for name, op in {
            "div": "divf",
            "exp": "exp",
            "exp2": "exp2",
            "log": "log",
            "log2": "log2",
            "sqrt": "sqrt",
            "rsqrt": "rsqrt",
            "sin": "sin",
            "cos": "cos",
            "erf": "erf",
            "tanh": "tanh",
            "abs": "absf",
            "floor": "floor",
            "ceil": "ceil",
            "neg": "negf",
            "maximum": "maxnumf",
            "minimum": "minnumf",
        }.items()
    },
    "reciprocal": _floats(lambda a: operation("divf", number(1.0), a)),
    "square": _floats(lambda a: operation("mulf", a, a)),
    "relu": _floats(lambda a: operation("maxnumf", a, number(0.0))),
    "sigmoid": _floats(
        lambda a: operation(
            "divf",
            number(1.0),
            operation("addf", number(1.0), operation("exp", operation("negf", a))),
        )
    ),
    "gt": _compared("ogt", lambda a, b: less(b, a)),
    "ge": _compared("oge", lambda a, b: at_most(b, a)),
    "lt": _compared("olt", less),
    "le": _compared("ole", at_most),
    "eq": _compared("oeq", equal),
}
"""ATen operation, without its overload -> what it does to stand-ins."""
