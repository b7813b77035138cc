"""What the caller says about a kernel's parameters."""

from collections.abc import Sequence
from dataclasses import dataclass

from algebra.errors import ArgumentError

Extent = int | str
"""A number, or an expression over scalars such as ``"M*N"``."""

_SPELLINGS = {
    "bool": "i1",
    "int1": "i1",
    "float16": "fp16",
    "half": "fp16",
    "bfloat16": "bf16",
    "float32": "fp32",
    "float": "fp32",
    "float64": "fp64",
    "double": "fp64",
    "f16": "fp16",
    "f32": "fp32",
    "f64": "fp64",
    "float8_e4m3fn": "fp8e4nv",
    "float8_e5m2": "fp8e5",
    "float8_e4m3fnuz": "fp8e4b8",
    "float8_e5m2fnuz": "fp8e5b16",
}
_KNOWN = {
    "i1", "i8", "i16", "i32", "i64", "u1", "u8", "u16", "u32", "u64",
    "fp16", "bf16", "fp32", "fp64", "fp8e4nv", "fp8e5", "fp8e4b8", "fp8e5b16",
    "fp8e4b15",
}  # fmt: skip


def dtype_name(dtype: object) -> str:
    """Return Triton's spelling of an element type.

    Args:
        dtype: ``"fp32"``, ``"float32"``, ``"*fp32"``, ``torch.float32``,
            ``tl.float32``, ...

    Raises:
        ArgumentError: the type is none of Triton's.

    Example:
        >>> dtype_name("*float32"), dtype_name("int64")
        ('fp32', 'i64')
    """
    text = str(dtype).rpartition(".")[2].lstrip("*")
    text = _SPELLINGS.get(text, text)
    for long, short in (("uint", "u"), ("int", "i")):
        if text.startswith(long) and text[len(long) :].isdigit():
            text = short + text[len(long) :]
    if text not in _KNOWN:
        raise ArgumentError(
            f"needed an element type such as 'fp32' or 'i64', got dtype={dtype!r}",
            argument="dtype",
            value=dtype,
        )
    return text


@dataclass(frozen=True, slots=True)
class Buffer:
    """A tensor behind a pointer parameter.

    Attributes:
        dtype: Element type, in Triton's or torch's spelling.
        shape: Extents, outermost first [elements]; a single one may stand alone.
        writes: Whether the kernel has to write every element: coverage is checked.
        strides: Strides [elements]; default row-major without gaps.
        low: Least integer that it holds before the kernel, where that is promised.
        high: Largest integer that it holds before the kernel.
        same_as: Parameter whose memory this is; default memory of its own.
    """

    dtype: str
    shape: Sequence[Extent] | Extent
    writes: bool = False
    strides: Sequence[Extent] | None = None
    low: Extent | None = None
    high: Extent | None = None
    same_as: str | None = None

    @property
    def extents(self) -> tuple[Extent, ...]:
        """The shape as a tuple."""
        shape = self.shape
        return (shape,) if isinstance(shape, int | str) else tuple(shape)


@dataclass(frozen=True, slots=True)
class Scalar:
    """A number that is passed by value.

    Attributes:
        dtype: Type, in Triton's or torch's spelling.
        low: Least value; default that of the type.
        high: Largest value; default that of the type.
    """

    dtype: str
    low: int | None = None
    high: int | None = None

    def range(self) -> tuple[int, int] | None:
        """Return the range of an integer; of a float there is none.

        Raises:
            ArgumentError: the range is empty.
        """
        name = dtype_name(self.dtype)
        if name[0] not in "iu":
            return None
        bits = int(name[1:])
        least = 0 if name[0] == "u" else -(1 << bits - 1)
        most = (1 << bits) - 1 if name[0] == "u" else (1 << bits - 1) - 1
        if bits == 1:
            least, most = 0, 1
        low = least if self.low is None else max(self.low, least)
        high = most if self.high is None else min(self.high, most)
        if low > high:
            raise ArgumentError(
                f"needed low <= high within {name}, got low={self.low}, "
                f"high={self.high}",
                argument="low",
                value=self.low,
            )
        return low, high


Argument = Buffer | Scalar
