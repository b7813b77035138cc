"""Launches of a kernel at several sizes, made into one statement about all sizes.

Numbers that are equal in all launches are kept. A number that differs becomes a symbol
(a scalar parameter has its own name), and other numbers are written in these symbols
where one form fits all launches: the symbol itself, a multiple, a product, a quotient
rounded up. What is read off this way is an assumption, and is listed; the more launches
there are, the less can fit by chance.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from operator import mul
from typing import Any

from algebra.errors import ArgumentError
from verify.checking.arguments import Argument, Buffer, Scalar

from .record import Recording, Tensor

Numbers = tuple[int, ...]
"""One number as each launch has it."""


FREE_GRID = "programs_"
"""Begins the name of a number of programs that has no form in the sizes."""


@dataclass(slots=True)
class Statement:
    """What ``verify.check`` takes.

    Attributes:
        args: Parameter -> argument; free sizes too.
        constants: Compile-time parameter -> value.
        grid: Expressions.
        assume: Conditions taken from the recordings.
        notes: What else was taken from them.
        guessed: Whether a number of programs that is the same in all launches was
            written as a quotient.
    """

    args: dict[str, Argument] = field(default_factory=dict)
    constants: dict[str, Any] = field(default_factory=dict)
    grid: tuple[int | str, ...] = ()
    assume: list[str] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    guessed: bool = False

    @property
    def grid_is_fixed(self) -> bool:
        """Whether the grid is several programs, the same number in all launches."""
        return all(isinstance(n, int) for n in self.grid) and any(
            n != 1 for n in self.grid
        )

    @property
    def grid_is_free(self) -> bool:
        """Whether an axis of the grid has no form in the sizes."""
        return any(str(n).startswith(FREE_GRID) for n in self.grid)


class Forms:
    """Knows the symbols, and writes numbers in them."""

    def __init__(self, divisors: Sequence[int]) -> None:
        self.symbols: dict[str, Numbers] = {}
        self.divisors = divisors

    def form(self, numbers: Numbers) -> str | int | None:
        """Return a number of all launches in terms of the symbols."""
        if len(set(numbers)) == 1:
            return numbers[0]
        for text, value in self._atoms():
            if value == numbers:
                return text
        for text, value in (*self._products(), *self._quotients(), *self._halves()):
            factor = _ratio(numbers, value)
            if factor is not None:
                return text if factor == 1 else f"{factor}*{text}"
        return None

    def quotient(self, numbers: Numbers) -> str | None:
        """Return a number as a symbol by a block size, rounded up."""
        for name, value in self.symbols.items():
            for divisor in self.divisors:
                if _up(value, divisor) == numbers:
                    return f"cdiv({name}, {divisor})"
        return None

    def _atoms(self) -> list[tuple[str, Numbers]]:
        """Return the symbols, and what is a little more or less."""
        found = [(name, value) for name, value in self.symbols.items()]
        for name, value in self.symbols.items():
            for step in (1, -1, 2, -2, 3, -3, 4, -4):
                sign = "+" if step > 0 else "-"
                text = f"({name} {sign} {abs(step)})"
                found.append((text, tuple(x + step for x in value)))
        return found

    def _products(self) -> list[tuple[str, Numbers]]:
        """Return the products of up to three symbols, the short ones first."""
        atoms = self._atoms()
        plain = list(self.symbols.items())
        found = [*plain, *atoms[len(plain) :]]
        for i, (x, a) in enumerate(plain):
            for y, b in plain[: i + 1]:
                found.append((f"{y}*{x}", _times(a, b)))
        for x, a in plain:
            for y, b in atoms[len(plain) :]:
                found.append((f"{y}*{x}", _times(a, b)))
        for i, (x, a) in enumerate(plain):
            for j, (y, b) in enumerate(plain[: i + 1]):
                for z, c in plain[: j + 1]:
                    found.append((f"{z}*{y}*{x}", _times(_times(a, b), c)))
        return found

    def _quotients(self) -> list[tuple[str, Numbers]]:
        """Return quotients rounded up, and their products with a symbol."""
        found: list[tuple[str, Numbers]] = []
        items = list(self.symbols.items())
        for name, value in items:
            for divisor in self.divisors:
                found.append((f"cdiv({name}, {divisor})", _up(value, divisor)))
        for i, (name, a) in enumerate(items):
            for other, b in items[: i + 1]:
                for divisor in self.divisors:
                    up = _up(_times(a, b), divisor)
                    found.append((f"cdiv({other}*{name}, {divisor})", up))
                    part = _times(b, _up(a, divisor))
                    found.append((f"{other}*cdiv({name}, {divisor})", part))
                    part = _times(a, _up(b, divisor))
                    found.append((f"{name}*cdiv({other}, {divisor})", part))
        return found

    def _halves(self) -> list[tuple[str, Numbers]]:
        """Return the halves; last, as small numbers are the half of much."""
        return [
            (f"{name}//2", tuple(x // 2 for x in value))
            for name, value in self.symbols.items()
            if not any(x % 2 for x in value)
        ]

    def new(self, name: str, numbers: Numbers) -> str:
        """Add a symbol."""
        self.symbols[name] = numbers
        return name


def generalised(first: Recording, second: Recording, *more: Recording) -> Statement:
    """Return the statement that all launches are instances of.

    A compile-time constant that differs is taken as a number at run time: a stronger
    statement, where the kernel can be compiled that way.

    Args:
        first: A launch.
        second: Another of the same kernel, with other sizes.
        more: Further launches; those of other kernels, of other types or with other
            constants than the first two have in common are left out.

    Raises:
        ArgumentError: the first two are launches of different kernels, or of the same
            one with other types; or a tensor has a negative stride.
    """
    _same_kernel(first, second)
    launches = (first, second, *(m for m in more if _fits(first, second, m)))
    statement = Statement()
    scalars: dict[str, tuple[Any, ...]] = {
        name: tuple(launch.scalars[name] for launch in launches)
        for name in first.scalars
    }
    for name, value in first.constants.items():
        other = second.constants[name]
        if value == other or not (_is_size(value) and _is_size(other)):
            statement.constants[name] = value
        else:
            scalars[name] = tuple(launch.constants[name] for launch in launches)
    blocks = sorted({v for v in statement.constants.values() if _is_size(v) and v > 1})
    forms = Forms(blocks)
    _symbols(launches, scalars, forms)
    _scalars(scalars, statement, forms)
    _tensors(launches, statement, forms)
    grid: list[int | str] = []
    axes = zip("xyz", *(launch.grid for launch in launches), strict=False)
    for axis, *each in axes:
        numbers = tuple(each)
        form = forms.form(numbers)
        if form is None:
            form = forms.new(f"{FREE_GRID}{axis}", numbers)
            statement.args[form] = Scalar("i32", 1)
        elif isinstance(form, int) and form != 1:
            # a number of blocks that is the same for all sizes is still a quotient
            form = forms.quotient(numbers) or form
            if isinstance(form, int):
                statement.notes.append(f"{form} programs along {axis}")
            else:
                statement.guessed = True
        grid.append(form)
    statement.grid = tuple(grid)
    for value in blocks:
        for text, numbers in forms.symbols.items():
            if all(_power(x) == value for x in numbers):
                statement.assume.append(f"{text} <= {value}")
    statement.assume += _multiples(statement, forms)
    statement.assume = list(dict.fromkeys(statement.assume))
    return statement


def _multiples(statement: Statement, forms: Forms) -> list[str]:
    """Return that sizes are multiples of a number that is passed along with them."""
    passed = {
        argument.low
        for argument in statement.args.values()
        if isinstance(argument, Scalar) and argument.low == argument.high
    }
    return [
        f"{name} % {divisor} == 0"
        for name, numbers in forms.symbols.items()
        for divisor in sorted(d for d in passed if d is not None and d > 1)
        if not any(number % divisor for number in numbers)
    ]


def _fits(first: Recording, second: Recording, other: Recording) -> bool:
    """Whether a third launch is an instance of the statement about two."""
    try:
        _same_kernel(first, other)
    except ArgumentError:
        return False
    if set(first.scalars) != set(other.scalars) or len(first.grid) != len(other.grid):
        return False
    return all(
        other.constants[name] == value
        for name, value in first.constants.items()
        if value == second.constants[name] or not _is_size(value)
    )


def _is_size(value: Any) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _symbols(
    launches: Sequence[Recording],
    scalars: Mapping[str, tuple[Any, ...]],
    forms: Forms,
) -> None:
    """Choose the symbols: small numbers first, so that others are written in them."""
    named: dict[Numbers, str] = {}
    for name in sorted(scalars, key=lambda n: "stride" in n.lower()):
        values = scalars[name]
        if all(_is_size(value) for value in values) and len(set(values)) > 1:
            named.setdefault(values, name)
    for name in launches[0].tensors:
        each = [launch.tensors[name] for launch in launches]
        for what, sizes in (
            ("dim", [tensor.shape for tensor in each]),
            ("stride", [tensor.strides for tensor in each]),
        ):
            if what == "stride" and all(_dense(tensor) for tensor in each):
                continue
            for dim, numbers in enumerate(zip(*sizes, strict=True)):
                if len(set(numbers)) > 1:
                    named.setdefault(numbers, f"{name}_{what}{dim}")
    for numbers in sorted(named, key=min):
        if forms.form(numbers) is None:
            forms.new(named[numbers], numbers)


def _ratio(numbers: Numbers, value: Numbers) -> int | None:
    """Return the factor by which numbers are multiples of others."""
    if any(b == 0 or a % b for a, b in zip(numbers, value, strict=True)):
        return None
    factors = {a // b for a, b in zip(numbers, value, strict=True)}
    factor = factors.pop()
    return factor if not factors and factor > 0 else None


def _up(value: Numbers, divisor: int) -> Numbers:
    """Return quotients, rounded up."""
    return tuple(-(-x // divisor) for x in value)


def _times(a: Numbers, b: Numbers) -> Numbers:
    """Return the products."""
    return tuple(map(mul, a, b))


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
        if min(tensor.strides, default=0) < 0:
            raise ArgumentError(
                f"needed strides that are not negative, got {name}: {tensor}",
                argument="first",
                value=first,
            )
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
    scalars: Mapping[str, tuple[Any, ...]], statement: Statement, forms: Forms
) -> None:
    for name, values in scalars.items():
        if isinstance(values[0], bool):
            statement.args[name] = Scalar("i1")
        elif isinstance(values[0], float):
            statement.args[name] = Scalar("fp32")
        else:
            numbers = tuple(int(value) for value in values)
            dtype = "i32" if max(map(abs, numbers)) < 2**31 else "i64"
            form = forms.form(numbers)
            if isinstance(form, int):
                statement.args[name] = Scalar(dtype, form, form)
                statement.assume.append(f"{name} == {form}")
                continue
            statement.args[name] = Scalar(dtype, 1)
            if form != name:
                statement.assume.append(f"{name} == {form}")
    for name in forms.symbols:
        statement.args.setdefault(name, Scalar("i64", 1, 2**40))


def _tensors(launches: Sequence[Recording], statement: Statement, forms: Forms) -> None:
    first = launches[0]
    seen: dict[Numbers, str] = {}
    order = sorted(
        first.tensors,
        key=lambda n: -_reach(first.tensors[n]),
    )
    for name in order:
        each = [launch.tensors[name] for launch in launches]
        key = tuple(tensor.address for tensor in each)
        shared = seen.get(key) if each[0].address and _reach(each[0]) else None
        shape = [
            _named(statement, forms, numbers, f"{name}_dim{dim}")
            for dim, numbers in enumerate(zip(*(t.shape for t in each), strict=True))
        ]
        if all(_dense(tensor) for tensor in each):
            strides = None
        else:
            strides = [
                _named(statement, forms, numbers, f"{name}_stride{dim}")
                for dim, numbers in enumerate(
                    zip(*(t.strides for t in each), strict=True)
                )
            ]
        statement.args[name] = Buffer(
            each[0].dtype, tuple(shape), strides=strides, same_as=shared
        )
        seen.setdefault(key, name)
    # the parameters stand in the kernel's order
    for name in [n for n in first.tensors if n in statement.args]:
        statement.args[name] = statement.args.pop(name)


def _named(
    statement: Statement, forms: Forms, numbers: Numbers, name: str
) -> str | int:
    form = forms.form(numbers)
    if form is None:  # every number of a tensor has a symbol or a form by now
        form = forms.new(name, numbers)
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
