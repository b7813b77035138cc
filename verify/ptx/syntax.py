"""What a PTX kernel is made of: operands, instructions, labels."""

from dataclasses import dataclass
from functools import cached_property

from algebra.errors import ParseError


@dataclass(frozen=True, slots=True)
class Register:
    """A register or special register, e.g. ``%r1`` or ``%tid.x``."""

    name: str
    negated: bool = False


@dataclass(frozen=True, slots=True)
class Immediate:
    """A constant, as a Python integer (perhaps negative)."""

    value: int


@dataclass(frozen=True, slots=True)
class Symbol:
    """The name of a parameter, a variable or a label."""

    name: str


@dataclass(frozen=True, slots=True)
class Address:
    """``[base + offset]``; the offset in bytes."""

    base: "Register | Symbol | Immediate"
    offset: int


@dataclass(frozen=True, slots=True)
class Vector:
    """``{a, b, ...}``; ``None`` stands for ``_``."""

    items: tuple["Register | Immediate | None", ...]


@dataclass(frozen=True, slots=True)
class Pair:
    """``d|p``: a result with a predicate beside it."""

    first: Register | None
    second: Register | None


@dataclass(frozen=True, slots=True)
class Unread:
    """An operand of a form that no modelled instruction has."""

    text: str


Operand = Unread | Register | Immediate | Symbol | Address | Vector | Pair | None


@dataclass(frozen=True)
class Instruction:
    """One statement of the kernel's body.

    Attributes:
        line: Line of the text, counted from 1.
        text: As written, without comments.
        guard: Predicate register, perhaps negated, or ``None``.
        opcode: e.g. ``"ld.shared.v4.b32"``.
        operands: In the order written, results first.
    """

    line: int
    text: str
    guard: Register | None
    opcode: str
    operands: tuple[Operand, ...]

    @cached_property
    def parts(self) -> tuple[str, ...]:
        """The opcode cut at its dots."""
        return tuple(self.opcode.split("."))


@dataclass(frozen=True, slots=True)
class Label:
    """A place that a branch can name."""

    line: int
    name: str


@dataclass(frozen=True, slots=True)
class Kernel:
    """An entry function.

    Attributes:
        name: Its name.
        parameters: Name and type of each parameter, in order.
        threads: Threads of a CTA where the text fixes them [threads], else ``None``.
        registers: Name of each declared register -> width [bits]; a family
            ``%r<5>`` is listed as ``%r``.
        variables: Shared variable -> size [bytes] (``None``: dynamic) and alignment.
        body: Instructions and labels in order.
    """

    name: str
    parameters: tuple[tuple[str, str], ...]
    threads: int | None
    registers: dict[str, int]
    variables: dict[str, tuple[int | None, int]]
    body: tuple[Instruction | Label, ...]

    def width(self, register: str) -> int:
        """Return the declared width of a register [bits]."""
        found = self.registers.get(register)
        if found is None:
            found = self.registers.get(register.rstrip("0123456789"))
        if found is None:
            raise ParseError(
                f"needed a declared register, got register={register!r}; "
                "declare it with .reg",
                line=0,
                column=0,
            )
        return found
