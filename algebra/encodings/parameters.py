"""Checks of the parameters of encodings: each error names what, what came, the way out.

Every encoding normalises its lists to tuples here, so that two spellings of one
encoding are equal and hash alike.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import TypeVar

from algebra.bits import is_power_of_two
from algebra.errors import EncodingError, NotPowerOfTwoError

Value = TypeVar("Value")

RELEASES = ("3.6", "3.7", "3.8", "3.9")
"""The Triton releases whose conversions are modelled."""

BEFORE_3_8 = ("3.6", "3.7")
"""Releases before the rewrite of several conversions in 3.8."""


def integer(kind: str, name: str, value: object, low: int = 0) -> int:
    """Return ``value`` if it is an integer of at least ``low``.

    Args:
        kind: Encoding that the message speaks of.
        name: Parameter that the message speaks of.
        value: What came.
        low: Smallest value allowed.

    Raises:
        EncodingError: ``value`` is something else.

    Example:
        >>> integer("blocked", "rank", 2)
        2
    """
    if isinstance(value, int) and not isinstance(value, bool) and value >= low:
        return value
    raise EncodingError(
        f"{kind} needs {name} to be an integer >= {low}, got {name}={value!r}; "
        f"give a whole number from {low} up",
        parameter=name,
        value=value,
    )


def flag(kind: str, name: str, value: object) -> bool:
    """Return ``value`` if it is True or False.

    Raises:
        EncodingError: ``value`` is something else.

    Example:
        >>> flag("nvmma_shared", "transposed", True)
        True
    """
    if isinstance(value, bool):
        return value
    raise EncodingError(
        f"{kind} needs {name} to be True or False, got {name}={value!r}; "
        "give one of the two",
        parameter=name,
        value=value,
    )


def integers(
    kind: str, name: str, values: object, length: int | None = None, low: int = 0
) -> tuple[int, ...]:
    """Return ``values`` as a tuple of integers of at least ``low``.

    Args:
        kind: Encoding that the message speaks of.
        name: Parameter that the message speaks of.
        values: A sequence of integers.
        length: Number of integers needed; None allows any.
        low: Smallest value allowed.

    Raises:
        EncodingError: not a sequence, a wrong length, or an entry out of range.

    Example:
        >>> integers("blocked", "order", [1, 0], length=2)
        (1, 0)
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise EncodingError(
            f"{kind} needs {name} to be a list of integers, got {name}={values!r}; "
            "give one integer a dim",
            parameter=name,
            value=values,
        )
    result = tuple(integer(kind, name, value, low) for value in values)
    if length is not None and len(result) != length:
        raise EncodingError(
            f"{kind} needs {name} to have {length} entries, got {name}={list(result)}; "
            "give one entry a dim, as many as the other parameters have",
            parameter=name,
            value=result,
            rank=length,
        )
    return result


def powers(
    kind: str, name: str, values: object, length: int | None = None
) -> tuple[int, ...]:
    """Return ``values`` as a tuple of powers of two.

    Raises:
        EncodingError: not a list of ``length`` integers.
        NotPowerOfTwoError: an entry is not a power of two; has ``size``.

    Example:
        >>> powers("blocked", "size_per_thread", [1, 4])
        (1, 4)
    """
    result = integers(kind, name, values, length)
    for value in result:
        power(kind, name, value)
    return result


def power(kind: str, name: str, value: object) -> int:
    """Return ``value`` if it is a power of two.

    Raises:
        EncodingError: not an integer.
        NotPowerOfTwoError: not a power of two; has ``size``.

    Example:
        >>> power("swizzled_shared", "vec", 8)
        8
    """
    number = integer(kind, name, value)
    if is_power_of_two(number):
        return number
    raise NotPowerOfTwoError(
        f"{kind} needs {name} to be a power of two, got {name}={number}; "
        "take the power of two below or above it",
        parameter=name,
        size=number,
    )


def permutation(kind: str, name: str, values: object, rank: int) -> tuple[int, ...]:
    """Return ``values`` as a tuple that holds each of 0, ..., rank - 1 once.

    Raises:
        EncodingError: an entry is missing or repeated.

    Example:
        >>> permutation("blocked", "order", [1, 0], 2)
        (1, 0)
    """
    result = integers(kind, name, values, rank)
    if sorted(result) == list(range(rank)):
        return result
    raise EncodingError(
        f"{kind} needs {name} to be a permutation of {list(range(rank))}, "
        f"got {name}={list(result)}; list each dim once, fastest first",
        parameter=name,
        value=result,
        rank=rank,
    )


def choice(kind: str, name: str, value: Value, choices: Sequence[Value]) -> Value:
    """Return ``value`` if it is one of ``choices``.

    Raises:
        EncodingError: it is not; has ``choices``.

    Example:
        >>> choice("dot_operand", "op_idx", 1, (0, 1))
        1
    """
    if any(type(value) is type(each) and value == each for each in choices):
        return value
    raise EncodingError(
        f"{kind} needs {name} to be one of {list(choices)}, got {name}={value!r}; "
        "choose one of them",
        parameter=name,
        value=value,
        choices=tuple(choices),
    )


def vectors(
    kind: str, name: str, values: object, rank: int | None
) -> tuple[tuple[int, ...], ...]:
    """Return ``values`` as bases: one vector over the tensor dims for each bit.

    Args:
        kind: Encoding that the message speaks of.
        name: Parameter that the message speaks of.
        values: A list of lists of non-negative integers.
        rank: Length of each vector; None takes that of the first.

    Raises:
        EncodingError: not such a list.

    Example:
        >>> vectors("cga", "bases", [[0, 1]], None)
        ((0, 1),)
    """
    if isinstance(values, str) or not isinstance(values, Iterable):
        raise EncodingError(
            f"{kind} needs {name} to be a list of vectors, got {name}={values!r}; "
            "give one list of integers for each bit",
            parameter=name,
            value=values,
        )
    result: list[tuple[int, ...]] = []
    for value in values:
        vector = integers(kind, name, value, rank)
        rank = len(vector)
        result.append(vector)
    return tuple(result)


def shape_bits(kind: str, shape: Sequence[int], rank: int) -> list[int]:
    """Return the exponents of the sizes of a tensor.

    Args:
        kind: Encoding that the message speaks of.
        shape: Sizes [elements], one a tensor dim.
        rank: Number of dims that the encoding is for.

    Raises:
        EncodingError: another number of dims.
        NotPowerOfTwoError: a size is not a power of two; has ``dim`` and ``size``.

    Example:
        >>> shape_bits("blocked", [16, 64], 2)
        [4, 6]
    """
    if not isinstance(shape, Sequence) or len(shape) != rank:
        raise EncodingError(
            f"{kind} of rank {rank} needs a shape of {rank} sizes, "
            f"got shape={shape!r}; give a shape of rank {rank} "
            "or an encoding of the tensor's rank",
            shape=shape,
            rank=rank,
        )
    bits = []
    for dim, size in enumerate(shape):
        if not isinstance(size, int) or isinstance(size, bool):
            raise EncodingError(
                f"{kind} needs a shape of ints, got shape={list(shape)} with "
                f"{type(size).__name__} in dim {dim}; convert it with int()",
                shape=tuple(shape),
                dim=dim,
                size=size,
            )
        if size <= 0 or size & (size - 1):
            raise NotPowerOfTwoError(
                f"{kind} needs a shape of powers of two, got shape={list(shape)} "
                f"with size {size!r} in dim {dim}; pad that dim to the next power of "
                "two and mask the rest",
                shape=tuple(shape),
                dim=dim,
                size=size,
            )
        bits.append(size.bit_length() - 1)
    return bits


def check_release(release: str) -> None:
    """Reject a release of Triton that is not modelled.

    Raises:
        EncodingError: ``release`` is not one of ``RELEASES``.

    Example:
        >>> check_release("3.9")
    """
    if not isinstance(release, str) or release not in RELEASES:
        choice("conversion", "release", release, RELEASES)


def check_no_view(
    kind: str, shape: Sequence[int], alloc_shape: Sequence[int] | None
) -> None:
    """Reject a view of a larger allocation where the encoding has no such thing.

    Raises:
        EncodingError: ``alloc_shape`` is given and differs from ``shape``.

    Example:
        >>> check_no_view("blocked", [16], None)
    """
    comparable = isinstance(shape, Sequence) and isinstance(alloc_shape, Sequence)
    same = comparable and tuple(shape) == tuple(alloc_shape or ())
    if alloc_shape is not None and not same:
        raise EncodingError(
            f"{kind} holds a tensor in registers and has no views, got "
            f"shape={shape!r} and alloc_shape={alloc_shape!r}; leave alloc_shape out",
            shape=shape,
            alloc_shape=alloc_shape,
        )


def allocated(shape: Sequence[int], alloc_shape: Sequence[int] | None) -> Sequence[int]:
    """Return the shape of the allocation that a tensor is in.

    Example:
        >>> allocated([8], None), allocated([8], [16])
        ([8], [16])
    """
    return shape if alloc_shape is None else alloc_shape


def known_keys(kind: str, given: Mapping[str, object], known: Iterable[str]) -> None:
    """Reject what is no dictionary, or has a key that the encoding does not have.

    Raises:
        EncodingError: has ``unknown``, the keys that are not known.

    Example:
        >>> known_keys("slice", {"dim": 0}, ["dim", "parent"])
    """
    names = sorted(known)
    if not isinstance(given, Mapping):
        raise EncodingError(
            f"{kind} needs a dictionary with the parameters {names}, got {given!r}; "
            "give one",
            value=given,
        )
    unknown = sorted(set(given) - set(names))
    if unknown:
        raise EncodingError(
            f"{kind} has the parameters {names}, got also {unknown}; "
            "remove or rename them",
            unknown=tuple(unknown),
        )


def needed_keys(kind: str, given: Mapping[str, object], needed: Iterable[str]) -> None:
    """Reject a dictionary that lacks a parameter.

    Raises:
        EncodingError: has ``missing``, the keys that are not there.

    Example:
        >>> needed_keys("slice", {"dim": 0}, ["dim"])
    """
    missing = [name for name in needed if name not in given]
    if missing:
        raise EncodingError(
            f"{kind} needs the parameters {missing}, got only {sorted(given)}; "
            "add them",
            missing=tuple(missing),
        )
