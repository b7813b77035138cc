"""What Triton's interpreter (3.7.1) gets wrong about bfloat16, put right.

A cast between bfloat16 and another type than float32 takes the bits for a number, and a
constant of the type cannot be made. A compiler for a GPU knows both.
"""

from functools import cache
from typing import Any


@cache
def correct_casts() -> None:
    """Let casts from and to bfloat16 go over float32, in this process, from now on.

    Example:
        >>> correct_casts()
    """
    import triton.language as tl
    from triton.runtime import interpreter

    builder: Any = interpreter.InterpreterBuilder
    plain = builder.cast_impl

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        ends = {src.dtype.scalar, dst_type.scalar}
        if tl.bfloat16 in ends and len(ends) == 2 and tl.float32 not in ends:
            src = plain(self, src, tl.float32)
        return plain(self, src, dst_type)

    def get_bf16(self: Any, value: float) -> Any:
        return plain(self, self.get_fp32(value), tl.bfloat16)

    builder.cast_impl = cast_impl
    if not hasattr(builder, "get_bf16"):
        builder.get_bf16 = get_bf16
