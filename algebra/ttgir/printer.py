"""Write encodings as Triton prints them in TTGIR."""

from typing import Any

from algebra.arguments import expect_encoding
from algebra.encodings import (
    Encoding,
    Linear,
    PaddedShared,
    SharedLinear,
    TensorMemory,
    TensorMemoryScales,
)
from algebra.encodings.parameters import check_release
from algebra.errors import UnsupportedLayoutError

from .fields import braces
from .memory_printer import (
    MEMORY_WRITERS,
    padded_shared,
    shared_linear,
    tensor_memory,
)
from .register_printer import REGISTER_WRITERS

WRITERS = REGISTER_WRITERS | MEMORY_WRITERS


def print_encoding(encoding: Encoding, release: str = "3.9") -> str:
    """Return the attribute that Triton prints for an encoding, parents written out.

    Law: ``parse_encoding(print_encoding(e)) == e``, as far as Triton's text says all:
    it leaves out the rank of WMMA without warps, and the order of TMEM scales.

    Args:
        encoding: Any encoding that has a spelling.
        release: Triton release whose spelling is meant.

    Raises:
        UnsupportedLayoutError: the encoding has no attribute, or none in ``release``.
        EncodingError: the release is not modelled.

    Example:
        >>> from algebra.encodings import SwizzledShared
        >>> print_encoding(
        ...     SwizzledShared(vec=8, per_phase=1, max_phase=8, order=[1, 0])
        ... )
        '#ttg.swizzled_shared<{vec = 8, perPhase = 1, maxPhase = 8, order = [1, 0]}>'

    Source: assembly formats of Triton's TritonGPU attribute definitions.
    """
    check_release(release)
    expect_encoding("encoding", encoding)

    def show(shown: Any) -> str:
        return print_encoding(shown, release)

    match encoding:
        case PaddedShared():
            return padded_shared(encoding)
        case SharedLinear():
            return shared_linear(encoding)
        case TensorMemory() | TensorMemoryScales():
            return tensor_memory(encoding, release)
    write = WRITERS.get(encoding.kind)
    if write is None:
        raise UnsupportedLayoutError(
            f"needed an encoding with an attribute in TTGIR, got {encoding.kind}; "
            "print its linear layout instead",
            kind=encoding.kind,
        )
    return f"#ttg.{_name(encoding)}<{braces(write(encoding, release, show))}>"


def _name(encoding: Encoding) -> str:
    if encoding.kind == "dot_operand":
        return "dot_op"
    if isinstance(encoding, Linear) and not _is_permutation(encoding):
        return "generic_linear"
    return encoding.kind


def _is_permutation(encoding: Linear) -> bool:
    """Say whether the vectors that are not zero are distinct unit vectors."""
    parts = (encoding.register, encoding.lane, encoding.warp, encoding.block)
    vectors = [vector for part in parts for vector in part if any(vector)]
    units = all(sum(map(bool, vector)) == 1 for vector in vectors)
    return units and len(set(vectors)) == len(vectors)
