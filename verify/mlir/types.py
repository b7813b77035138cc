"""Types of MLIR values, as far as TTIR and TTGIR use them."""

import re
from dataclasses import dataclass

_INTEGER = re.compile(r"[su]?i(\d+)$")
_FLOAT = re.compile(r"(?:bf|tf|f)(\d+)")


@dataclass(frozen=True, slots=True)
class ScalarType:
    """A number: ``i32``, ``index``, ``f32``, ``bf16``, ``f8E4M3FN``, ...

    Attributes:
        name: MLIR's spelling.
    """

    name: str

    @property
    def is_integer(self) -> bool:
        """Whether it is an integer or an index."""
        return self.name == "index" or _INTEGER.match(self.name) is not None

    @property
    def bits(self) -> int:
        """Width [bits]; an index counts as 64; 0 where the name has none."""
        match = _INTEGER.match(self.name) or _FLOAT.match(self.name)
        return 64 if self.name == "index" else int(match.group(1)) if match else 0

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True, slots=True)
class PointerType:
    """``!tt.ptr<pointee>``, with the address space where it is not global memory."""

    pointee: "Type"
    space: int = 1

    def __str__(self) -> str:
        return f"!tt.ptr<{self.pointee}>"


@dataclass(frozen=True, slots=True)
class TensorType:
    """``tensor<shape x element, encoding>``; also ``!ttg.memdesc``.

    Attributes:
        shape: Sizes, outermost first.
        element: Type of an element.
        encoding: Text of the layout attribute; ``algebra.parse_encoding`` reads it.
        memory: Text of what follows the encoding; of a ``memdesc`` only.
    """

    shape: tuple[int, ...]
    element: "Type"
    encoding: str = ""
    memory: str = ""

    def __str__(self) -> str:
        dims = "".join(f"{size}x" for size in self.shape)
        return f"tensor<{dims}{self.element}>"


@dataclass(frozen=True, slots=True)
class FunctionType:
    """``(inputs) -> results``."""

    inputs: tuple["Type", ...]
    results: tuple["Type", ...]


@dataclass(frozen=True, slots=True)
class OtherType:
    """A type that is kept as its text, such as ``!tt.tensordesc<...>``.

    Attributes:
        name: The text before the first bracket, e.g. ``!tt.tensordesc``.
        text: The whole.
        inner: The type in the brackets, where there is one.
    """

    name: str
    text: str
    inner: "Type | None" = None

    def __str__(self) -> str:
        return self.text


Type = ScalarType | PointerType | TensorType | FunctionType | OtherType


def shape_of(kind: Type) -> tuple[int, ...]:
    """Return the shape of a tensor's type; a scalar has none.

    Example:
        >>> shape_of(TensorType((4, 8), ScalarType("f32"))), shape_of(ScalarType("i1"))
        ((4, 8), ())
    """
    return kind.shape if isinstance(kind, TensorType) else ()


def element_of(kind: Type) -> Type:
    """Return the type of an element; a scalar is its own.

    Example:
        >>> str(element_of(TensorType((4,), ScalarType("f32"))))
        'f32'
    """
    return kind.element if isinstance(kind, TensorType) else kind
