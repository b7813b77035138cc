"""Dot: which encodings the operands and the result may have together."""

from algebra.arguments import expect_encoding
from algebra.encodings import DotOperand, Encoding, NvidiaMma, NvmmaShared
from algebra.errors import EncodingError

OPERANDS = ("a", "b")
HOPPER = 3
"""Version of warp-group matrix instructions, which read memory themselves."""


def check_dot(a: Encoding, b: Encoding, result: Encoding) -> None:
    """Reject operands that do not belong to the result of ``dot(a, b)``.

    The operands are ``DotOperand(0, result)`` and ``DotOperand(1, result)`` with one
    ``k_width``. On Hopper (``NvidiaMma`` version 3) they are in shared memory, and the
    left one may be in registers.

    Args:
        a: Encoding of the left operand (M x K).
        b: Encoding of the right operand (K x N).
        result: Encoding of the accumulator (M x N).

    Raises:
        EncodingError: an operand does not belong; names it, what was needed and what
            came.

    Example:
        >>> result = NvidiaMma(
        ...     version=(2, 0), warps_per_cta=(2, 2), instr_shape=(16, 8)
        ... )
        >>> check_dot(
        ...     DotOperand(op_idx=0, parent=result, k_width=2),
        ...     DotOperand(op_idx=1, parent=result, k_width=2),
        ...     result,
        ... )

    Source: Triton ``inferDotOpEncoding``, ``verifyDotOpEncodingCompatibility``.
    """
    expect_encoding("a", a)
    expect_encoding("b", b)
    expect_encoding("result", result)
    if isinstance(result, NvidiaMma) and result.version[0] == HOPPER:
        _check_hopper(a, b)
        return
    for index, operand in enumerate((a, b)):
        name = OPERANDS[index]
        if not isinstance(operand, DotOperand):
            raise _wrong(name, f"DotOperand(op_idx={index}, parent=result)", operand)
        if operand.op_idx != index:
            raise _wrong(name, f"op_idx={index}", operand)
        if operand.parent != result:
            raise _wrong(name, f"parent equal to the result {result!r}", operand)
    widths = [getattr(operand, "k_width", None) for operand in (a, b)]
    if widths[0] != widths[1]:
        raise EncodingError(
            f"dot needs operands of one k_width, got a.k_width={widths[0]}, "
            f"b.k_width={widths[1]}; convert one of them",
            a=widths[0],
            b=widths[1],
        )


def _check_hopper(a: Encoding, b: Encoding) -> None:
    in_registers = isinstance(a, DotOperand) and isinstance(a.parent, NvidiaMma)
    if not isinstance(a, NvmmaShared) and not in_registers:
        raise _wrong("a", "NvmmaShared or DotOperand(op_idx=0, parent=NvidiaMma)", a)
    if not isinstance(b, NvmmaShared):
        raise _wrong("b", "NvmmaShared", b)


def _wrong(name: str, needed: str, operand: Encoding) -> EncodingError:
    return EncodingError(
        f"dot needs operand {name} with {needed}, got {name}={operand!r}; convert it "
        "first",
        operand=name,
        needed=needed,
        got=operand,
    )
