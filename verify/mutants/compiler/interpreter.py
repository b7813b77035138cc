"""What Triton's interpreter (3.7.1) gets wrong about bfloat16, put right.

A cast between bfloat16 and another type than float32 takes the bits for a number, one
to float32 loses subnormal numbers, and a constant of the type cannot be made. A
compiler for a GPU knows all three.
"""

from functools import cache
from typing import Any


@cache
def correct_casts() -> None:
    """Let casts from and to bfloat16 go over float32, in this process, from now on.

    Example:
        >>> correct_casts()
    """
    import numpy as np
    import triton.language as tl
    from triton.runtime import interpreter

    builder: Any = interpreter.InterpreterBuilder
    plain = builder.cast_impl

    def cast_impl(self: Any, src: Any, dst_type: Any) -> Any:
        ends = {src.dtype.scalar, dst_type.scalar}
        if (src.dtype.scalar, dst_type.scalar) == (tl.bfloat16, tl.float32):
            bits = np.asarray(src.data).view(np.uint16).astype(np.uint32) << 16
            return interpreter.TensorHandle(bits.view(np.float32), tl.float32)
        if tl.bfloat16 in ends and len(ends) == 2 and tl.float32 not in ends:
            src = plain(self, src, tl.float32)
        return plain(self, src, dst_type)

    def get_bf16(self: Any, value: float) -> Any:
        return plain(self, self.get_fp32(value), tl.bfloat16)

    builder.cast_impl = cast_impl
    if not hasattr(builder, "get_bf16"):
        builder.get_bf16 = get_bf16
