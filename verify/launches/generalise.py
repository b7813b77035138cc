"""Two launches of a kernel, made into one statement about all sizes.

Numbers that are equal in both launches are kept. A number that differs becomes a symbol
(a scalar parameter has its own name), and other numbers are written in these symbols
where one form fits both launches: the symbol itself, a multiple, a product, a quotient
rounded up. What is read off this way is an assumption, and is listed.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from algebra.errors import ArgumentError
from verify.checking.arguments import Argument, Buffer, Scalar

from .record import Recording, Tensor

Pair = tuple[int, int]


@dataclass(slots=True)
class Statement:
    """What ``verify.check`` takes.

    Attributes:
        args: Parameter -> argument; free sizes too.
        constants: Compile-time parameter -> value.
        grid: Expressions.
        assume: Conditions taken from the recordings.
        notes: What else was taken from them.
    """

    args: dict[str, Argument] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    grid: tuple[int | str, ...] = ()
    assume: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)

    @property
    def grid_is_fixed(self) -> bool:
        """Whether the grid is several programs, the same number in both launches."""
        return all(isinstance(n, int) for n in self.grid) and any(
            n != 1 for n in self.grid
        )


class Forms:
    """Knows the symbols, and writes numbers in them."""

    def __init__(self, divisors: Sequence[int]) -> None:
        self.symbols: dict[str, Pair] = {}
        self.divisors = divisors

    def form(self, pair: Pair) -> str | int | None:
        """Return a number of both launches in terms of the symbols."""
        if pair[0] == pair[1]:
            return pair[0]
        for name, value in self.symbols.items():
            if value == pair:
                return name
        for text, value in self._atoms():
            if value == pair:
                return text
        for text, value in self._products():
            factor = _ratio(pair, value)
            if factor is not None:
                return text if factor == 1 else f"{factor}*{text}"
        for text, value in self._quotients():
            if value == pair:
                return text
        return None

    def quotient(self, pair: Pair) -> str | None:
        """Return a number as a symbol by a block size, rounded up."""
        for name, (a, b) in self.symbols.items():
            for divisor in self.divisors:
                if (-(-a // divisor), -(-b // divisor)) == pair:
                    return f"cdiv({name}, {divisor})"
        return None

    def _atoms(self) -> list[tuple[str, Pair]]:
        """Return the symbols, and what is a little more or less."""
        found = [(name, value) for name, value in self.symbols.items()]
        for name, (a, b) in self.symbols.items():
            for step in (1, -1, 2, -2):
                sign = "+" if step > 0 else "-"
                text = f"({name} {sign} {abs(step)})"
                found.append((text, (a + step, b + step)))
        return found

    def _products(self) -> list[tuple[str, Pair]]:
        """Return the products of up to three symbols, the short ones first."""
        atoms = self._atoms()
        plain = list(self.symbols.items())
        found = list(plain)
        found += atoms[len(plain) :]
        for i, (x, (a, b)) in enumerate(plain):
            for y, (c, d) in plain[: i + 1]:
                found.append((f"{y}*{x}", (a * c, b * d)))
        for x, (a, b) in plain:
            for y, (c, d) in atoms[len(plain) :]:
                found.append((f"{y}*{x}", (a * c, b * d)))
        for i, (x, (a, b)) in enumerate(plain):
            for j, (y, (c, d)) in enumerate(plain[: i + 1]):
                for z, (e, f) in plain[: j + 1]:
                    found.append((f"{z}*{y}*{x}", (a * c * e, b * d * f)))
        return found

    def _quotients(self) -> list[tuple[str, Pair]]:
        """Return quotients rounded up, and their products with a symbol."""
        found: list[tuple[str, Pair]] = []
        items = list(self.symbols.items())
        for name, (a, b) in items:
            for divisor in self.divisors:
                up = (-(-a // divisor), -(-b // divisor))
                found.append((f"cdiv({name}, {divisor})", up))
            if a % 2 == b % 2 == 0:
                found.append((f"{name}//2", (a // 2, b // 2)))
        for i, (name, (a, b)) in enumerate(items):
            for other, (c, d) in items[: i + 1]:
                for divisor in self.divisors:
                    up = (-(-a * c // divisor), -(-b * d // divisor))
                    found.append((f"cdiv({other}*{name}, {divisor})", up))
                    part = (c * -(-a // divisor), d * -(-b // divisor))
                    found.append((f"{other}*cdiv({name}, {divisor})", part))
                    part = (a * -(-c // divisor), b * -(-d // divisor))
                    found.append((f"{name}*cdiv({other}, {divisor})", part))
        return found

    def new(self, name: str, pair: Pair) -> str:
        """Add a symbol."""
        self.symbols[name] = pair
        return name


def generalised(first: Recording, second: Recording) -> Statement:
    """Return the statement that both launches are instances of.

    A compile-time constant that differs is taken as a number at run time: a stronger
    statement, where the kernel can be compiled that way.

    Raises:
        ArgumentError: they are launches of different kernels, or of the same one with
            other types.
    """
    _same_kernel(first, second)
    statement = Statement()
    scalars: dict[str, tuple[Any, Any]] = {
        name: (value, second.scalars[name]) for name, value in first.scalars.items()
    }
    for name, value in first.constants.items():
        other = second.constants[name]
        if value == other or not (_is_size(value) and _is_size(other)):
            statement.constants[name] = value
        else:
            scalars[name] = (value, other)
    blocks = sorted({v for v in statement.constants.values() if _is_size(v) and v > 1})
    forms = Forms(blocks)
    _symbols(first, second, scalars, forms)
    _scalars(scalars, statement, forms)
    _tensors(first, second, statement, forms)
    grid: list[int | str] = []
    axes = zip("xyz", first.grid, second.grid, strict=False)
    for axis, here, there in axes:
        form = forms.form((here, there))
        if form is None:
            form = forms.new(f"programs_{axis}", (here, there))
            statement.args[form] = Scalar("i32", 1)
        elif isinstance(form, int) and form != 1:
            # a number of blocks that is the same for both sizes is still a quotient
            form = forms.quotient((here, there)) or form
            if isinstance(form, int):
                statement.notes.append(f"{form} programs along {axis}")
        grid.append(form)
    statement.grid = tuple(grid)
    for value in blocks:
        for text, pair in forms.symbols.items():
            if all(_power(x) == value for x in pair):
                statement.assume.append(f"{text} <= {value}")
    statement.assume = list(dict.fromkeys(statement.assume))
    return statement


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _symbols(
    first: Recording,
    second: Recording,
    scalars: Mapping[str, tuple[Any, Any]],
    forms: Forms,
) -> None:
    """Choose the symbols: small numbers first, so that others are written in them."""
    named: dict[Pair, str] = {}
    for name in sorted(scalars, key=lambda n: "stride" in n.lower()):
        here, there = scalars[name]
        if _is_size(here) and _is_size(there) and here != there:
            named.setdefault((here, there), name)
    for name, tensor in first.tensors.items():
        other = second.tensors[name]
        for what, mine, theirs in (
            ("dim", tensor.shape, other.shape),
            ("stride", tensor.strides, other.strides),
        ):
            if what == "stride" and _dense(tensor) and _dense(other):
                continue
            for dim, pair in enumerate(zip(mine, theirs, strict=True)):
                if pair[0] != pair[1]:
                    named.setdefault(pair, f"{name}_{what}{dim}")
    for pair in sorted(named, key=min):
        if forms.form(pair) is None:
            forms.new(named[pair], pair)


def _ratio(pair: Pair, value: Pair) -> int | None:
    """Return the factor by which a pair is a multiple of another."""
    if 0 in value or pair[0] % value[0] or pair[1] % value[1]:
        return None
    factor = pair[0] // value[0]
    return factor if factor == pair[1] // value[1] and factor > 0 else None


def _power(number: int) -> int:
    """Return the least power of two that is no smaller."""
    return 1 << max(0, number - 1).bit_length()


def _same_kernel(first: Recording, second: Recording) -> None:
    if first.kernel is not second.kernel or set(first.constants) != set(
        second.constants
    ):
        raise ArgumentError(
            f"needed two launches of one kernel, got {first.name} and {second.name}",
            argument="second",
            value=second,
        )
    for name, tensor in first.tensors.items():
        other = second.tensors.get(name)
        if other is None or (other.dtype, len(other.shape)) != (
            tensor.dtype,
            len(tensor.shape),
        ):
            raise ArgumentError(
                f"needed two launches with the same type of {name}, got {tensor} and "
                f"{other}",
                argument="second",
                value=second,
            )


def _scalars(
    scalars: Mapping[str, tuple[Any, Any]], statement: Statement, forms: Forms
) -> None:
    for name, (value, other) in scalars.items():
        if isinstance(value, bool):
            statement.args[name] = Scalar("i1")
        elif isinstance(value, float):
            statement.args[name] = Scalar("fp32")
        else:
            pair = (int(value), int(other))
            dtype = "i32" if max(map(abs, pair)) < 2**31 else "i64"
            form = forms.form(pair)
            if isinstance(form, int):
                statement.args[name] = Scalar(dtype, form, form)
                statement.assume.append(f"{name} == {form}")
                continue
            statement.args[name] = Scalar(dtype, 1)
            if form != name:
                statement.assume.append(f"{name} == {form}")
    for name in forms.symbols:
        statement.args.setdefault(name, Scalar("i64", 1, 2**40))


def _tensors(
    first: Recording, second: Recording, statement: Statement, forms: Forms
) -> None:
    seen: dict[tuple[int, int], str] = {}
    sizes: dict[str, int] = {}
    order = sorted(
        first.tensors,
        key=lambda n: -_reach(first.tensors[n]),
    )
    for name in order:
        one, other = first.tensors[name], second.tensors[name]
        key = (one.address, other.address)
        shared = seen.get(key) if one.address and _reach(one) else None
        shape = [
            _named(statement, forms, pair, f"{name}_dim{dim}")
            for dim, pair in enumerate(zip(one.shape, other.shape, strict=True))
        ]
        if _dense(one) and _dense(other):
            strides = None
        else:
            strides = [
                _named(statement, forms, pair, f"{name}_stride{dim}")
                for dim, pair in enumerate(zip(one.strides, other.strides, strict=True))
            ]
        statement.args[name] = Buffer(
            one.dtype, tuple(shape), strides=strides, same_as=shared
        )
        seen.setdefault(key, name)
        sizes[name] = _reach(one)
    # the parameters stand in the kernel's order
    for name in [n for n in first.tensors if n in statement.args]:
        statement.args[name] = statement.args.pop(name)


def _named(
    statement: Statement, forms: Forms, pair: tuple[int, ...], name: str
) -> str | int:
    form = forms.form((pair[0], pair[1]))
    if form is None:  # every number of a tensor has a symbol or a form by now
        form = forms.new(name, (pair[0], pair[1]))
        statement.args[name] = Scalar("i64", 1, 2**40)
    return form


def _reach(tensor: Tensor) -> int:
    """Return the number of elements from the first to the last."""
    if 0 in tensor.shape:
        return 0
    pairs = zip(tensor.shape, tensor.strides, strict=True)
    return 1 + sum((size - 1) * step for size, step in pairs)


def _dense(tensor: Tensor) -> bool:
    step = 1
    for size, stride in zip(
        reversed(tensor.shape), reversed(tensor.strides), strict=True
    ):
        if size != 1 and stride != step:
            return False
        step *= size
    return True


def by_kernel(launches: Sequence[Recording]) -> Mapping[tuple[Any, ...], Recording]:
    """Return the first launch of each kernel and set of constants."""
    found: dict[tuple[Any, ...], Recording] = {}
    for launch in launches:
        constants = tuple(
            sorted(
                (k, str(v)) for k, v in launch.constants.items() if not _varies(k, v)
            )
        )
        types = tuple((n, t.dtype, len(t.shape)) for n, t in launch.tensors.items())
        found.setdefault((launch.name, id(launch.kernel), constants, types), launch)
    return found


def _varies(name: str, value: Any) -> bool:
    """Whether a constant may be a size of the problem, no size of a block."""
    return _is_size(value) and value > 1 and "BLOCK" not in name.upper()
