"""Basis vectors: from coordinates to packed columns, back, and as a table."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate
from operator import index as as_int

from .arguments import expect_names
from .bits import log2
from .errors import BasisError, DimMismatchError, NotPowerOfTwoError
from .units import LOG2, SMALL


def pack(
    bases: Mapping[str, Sequence[Sequence[int]]],
    vectors: list[Sequence[int]],
    out_dims: Mapping[str, int] | Iterable[str],
) -> tuple[tuple[str, ...], tuple[int, ...], tuple[int, ...]]:
    """Return (out_names, out_bits, columns) of the concatenated basis vectors.

    Args:
        bases: The caller's bases, for error messages.
        vectors: All vectors of ``bases`` in order.
        out_dims: Name -> size [elements], or names only.

    Raises:
        BasisError: a vector has a wrong length, type, sign or range.
        NotPowerOfTwoError: a size is not a power of two.
        DimMismatchError: a name is repeated.
    """
    if type(out_dims) is not dict and not isinstance(out_dims, Mapping):
        out_dims = _inferred_sizes(bases, vectors, out_dims)
    try:
        coordinates = list(zip(*vectors, strict=True))
        try:
            out_bits = tuple([LOG2[size] for size in out_dims.values()])
        except KeyError:
            out_bits = tuple(map(log2, out_dims.values()))
        if vectors and len(coordinates) != len(out_bits):
            _check(bases, out_dims)
        columns: Sequence[int] = coordinates[0] if coordinates else (0,) * len(vectors)
        shift = 0
        for axis, bits in zip(coordinates, out_bits, strict=False):
            if not SMALL[bits].issuperset(axis) and (
                min(axis) < 0 or max(axis) >> bits
            ):
                _check(bases, out_dims)
            if shift:
                columns = [c | a << shift for c, a in zip(columns, axis, strict=False)]
            elif axis is not columns:
                columns = [c | a for c, a in zip(columns, axis, strict=False)]
            shift += bits
        if type(sum(columns)) is not int:
            columns = list(map(as_int, columns))
    except (TypeError, ValueError, AttributeError) as error:
        _check(bases, out_dims, error)
        plain: list[Sequence[int]] = [list(map(as_int, vector)) for vector in vectors]
        return pack(bases, plain, out_dims)
    return tuple(out_dims), out_bits, tuple(columns)


def unpack(
    columns: Sequence[int], out_bits: Sequence[int]
) -> tuple[tuple[int, ...], ...]:
    """Return each packed column as a vector with one coordinate for each out-dim."""
    shifts = [0, *accumulate(out_bits)]
    fields = [
        (shift, (1 << bits) - 1) for shift, bits in zip(shifts, out_bits, strict=False)
    ]
    return tuple(
        tuple([column >> shift & mask for shift, mask in fields]) for column in columns
    )


def table(
    bases: Mapping[str, Sequence[Sequence[int]]], out_dims: Mapping[str, int]
) -> str:
    """Return the table that people draw by hand: one line for each power of two."""
    if not bases and not out_dims:
        return "(empty layout)"
    lines = []
    for in_dim, vectors in bases.items():
        if not vectors:
            lines.append(f"{in_dim} is a size 1 dimension")
        for i, vector in enumerate(vectors):
            lines.append(f"{in_dim}={1 << i} -> ({', '.join(map(str, vector))})")
    sizes = ", ".join(f"{name} (size {size})" for name, size in out_dims.items())
    return "\n".join([*lines, f"where out dims are: [{sizes}]"])


def _inferred_sizes(
    bases: Mapping[str, Sequence[Sequence[int]]],
    vectors: Sequence[Sequence[int]],
    names: Iterable[str],
) -> dict[str, int]:
    """Return for each name the next power of two above its largest coordinate."""
    if isinstance(names, str):
        raise DimMismatchError(
            f"out_dims must be a mapping name -> size or a list of names, got the "
            f"text out_dims={names!r}; write [{names!r}]",
            got=names,
        )
    listed = expect_names("out_dims", names)
    if len(set(listed)) != len(listed):
        raise DimMismatchError(
            f"out-dim names must differ, got out_dims={list(listed)}", got=listed
        )
    _check(bases, dict.fromkeys(listed))
    axes = list(zip(*vectors, strict=True)) or [()] * len(listed)
    return {
        name: 1 << max((0, *map(as_int, axis))).bit_length()
        for name, axis in zip(listed, axes, strict=True)
    }


def _check(
    bases: Mapping[str, Sequence[Sequence[int]]],
    out_dims: Mapping[str, int | None],
    cause: Exception | None = None,
) -> None:
    """Raise for the first size or vector that is wrong, if there is one."""
    for name, size in out_dims.items():
        if size is not None and not (
            isinstance(size, int) and size > 0 and size & size - 1 == 0
        ):
            raise NotPowerOfTwoError(
                f"size of out-dim {name} must be a power of two, got size={size!r}; "
                "pad it to the next power of two and mask the rest",
                size=size,
            ) from cause
    for in_dim, vectors in bases.items():
        for i, vector in enumerate(vectors):
            problem = _problem(vector, out_dims)
            if problem:
                raise BasisError(
                    f"bases[{in_dim!r}][{i}] must have one coordinate for each of the "
                    f"out-dims {list(out_dims)}, got {vector!r}: {problem}",
                    in_dim=in_dim,
                    index=i,
                    vector=vector,
                ) from cause


def _problem(vector: Sequence[int], out_dims: Mapping[str, int | None]) -> str:
    """Say what is wrong with one vector; empty if nothing is."""
    try:
        coordinates = [as_int(value) for value in vector]
    except TypeError:
        return "not a list of ints"
    if len(coordinates) != len(out_dims):
        return f"{len(coordinates)} coordinates for {len(out_dims)} out-dims"
    for value, (name, size) in zip(coordinates, out_dims.items(), strict=True):
        if value < 0 or (size is not None and value >= size):
            limit = "0 or more" if size is None else f"in [0, {size})"
            return f"{name}={value} is not {limit}"
    return ""
