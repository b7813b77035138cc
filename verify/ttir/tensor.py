"""Values of a kernel: a tensor is a function from coordinates to a term."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from verify.mlir import PointerType, ScalarType, Type, element_of, shape_of
from verify.symbolic.terms import (
    BOOL,
    INT,
    POINTER,
    VALUE,
    Term,
    symbol,
)

Coordinates = tuple[Term, ...]
ElementFunction = Callable[[Coordinates], Term]


MAX_ELEMENTS = 40_000
"""Most elements that one element may depend on; a sorting network has far more."""

_spent = [0]


class TooDeepError(Exception):
    """One element depends on too many others to be written down."""


def spend() -> None:
    """Count an element that is computed."""
    _spent[0] += 1
    if _spent[0] > MAX_ELEMENTS:
        raise TooDeepError


def start_counting() -> None:
    """Begin with an element that is looked at from outside."""
    _spent[0] = 0


class Tensor:
    """A tensor, or a scalar, which has no dims.

    Elements are computed when they are asked for, and remembered.

    Attributes:
        shape: Sizes, outermost first.
        element: Type of an element.
    """

    __slots__ = ("_function", "_known", "element", "shape")

    def __init__(
        self, shape: Sequence[int], element: Type, function: ElementFunction
    ) -> None:
        self.shape = tuple(shape)
        self.element = element
        self._function = function
        self._known: dict[Coordinates, Term] = {}

    def at(self, coordinates: Coordinates = ()) -> Term:
        """Return the element at coordinates, one term a dim."""
        found = self._known.get(coordinates)
        if found is None:
            spend()
            found = self._known[coordinates] = self._function(coordinates)
        return found

    @property
    def sort(self) -> str:
        """Sort of the elements."""
        return sort_of(self.element)

    def term(self) -> Term:
        """Return the element at the canonical lanes of the shape.

        Raises:
            TooDeepError: it depends on too many others.
        """
        start_counting()
        return self.at(lanes_of(self.shape))


@dataclass(frozen=True, slots=True)
class Descriptor:
    """A block pointer or a tensor descriptor: a window on a strided tensor.

    Attributes:
        base: Pointer to the first element.
        shape: Extents.
        strides: Strides [elements].
        offsets: Where the window starts; of a block pointer.
        block: Shape of the window.
        element: Type of an element.
    """

    base: Tensor
    shape: tuple[Tensor, ...]
    strides: tuple[Tensor, ...]
    offsets: tuple[Tensor, ...]
    block: tuple[int, ...]
    element: Type


Value = Tensor | Descriptor


def sort_of(kind: Type) -> str:
    """Return the sort of a type's elements.

    Example:
        >>> sort_of(ScalarType("i1")), sort_of(ScalarType("bf16"))
        ('bool', 'value')
    """
    kind = element_of(kind)
    if isinstance(kind, PointerType):
        return POINTER
    if isinstance(kind, ScalarType) and kind.is_integer:
        return BOOL if kind.bits == 1 else INT
    return VALUE


def range_of(kind: Type) -> tuple[int, int] | tuple[None, None]:
    """Return the range of a signed integer type; of other types there is none.

    Example:
        >>> range_of(ScalarType("i8"))
        (-128, 127)
    """
    kind = element_of(kind)
    if sort_of(kind) != INT or not isinstance(kind, ScalarType):
        return None, None
    half = 1 << kind.bits - 1
    return -half, half - 1


def lanes_of(shape: Sequence[int]) -> Coordinates:
    """Return one symbol a dim; a dim of size 1 has the coordinate 0.

    Example:
        >>> lanes_of((1, 64))
        (0, lane1)
    """
    return tuple(
        symbol(f"lane{dim}:{size}", 0, size - 1) if size > 1 else _zero()
        for dim, size in enumerate(shape)
    )


def _zero() -> Term:
    from verify.symbolic.terms import ZERO

    return ZERO


def scalar(element: Type, term: Term) -> Tensor:
    """Return a scalar."""
    return Tensor((), element, lambda _: term)


def typed(kind: Type, function: ElementFunction) -> Tensor:
    """Return a tensor of an MLIR type."""
    return Tensor(shape_of(kind), element_of(kind), function)


def pointwise(kind: Type, operation: Callable[..., Term], *operands: Any) -> Tensor:
    """Apply an operation to the elements of tensors of one shape; scalars spread."""

    def at(coordinates: Coordinates) -> Term:
        return operation(
            *(tensor.at(coordinates if tensor.shape else ()) for tensor in operands)
        )

    return typed(kind, at)
