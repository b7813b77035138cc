"""Shared memory that blocks of PTX declare, beside what Triton allocates.

Triton's own memory begins where the declared memory ends, while its swizzled layouts,
and the instructions that read them, take it to begin at a multiple of 1024 bytes: what
is declared is made such a multiple. The driver gives a kernel 48 KiB in all unless its
limit is raised, which Triton does for kernels that allocate more than that themselves:
a kernel whose sum is more must allocate so much.
"""

from compiler.cost.device import STATIC_BYTES as STATIC_BYTES

ALIGNMENT = 1024
"""Of Triton's own memory [bytes]."""
MOST_BYTES = 227 * 1024
"""That a kernel has when its limit is raised, on compute capability 9.0 [bytes]."""


def rounded(shared_bytes: int) -> int:
    """Return what is declared for so many bytes.

    Example:
        >>> rounded(512), rounded(1024), rounded(1025)
        (1024, 1024, 2048)
    """
    return -(-shared_bytes // ALIGNMENT) * ALIGNMENT


def declaration(name: str, shared_bytes: int) -> str:
    """Return the declaration of shared memory in PTX.

    Args:
        name: Of the variable.
        shared_bytes: Its least size [bytes].
    """
    return f".shared .align {ALIGNMENT} .b8 {name}[{rounded(shared_bytes)}];"


def launch_fault(declared: int, allocated: int) -> str:
    """Return why a kernel cannot run with its shared memory; empty if it can.

    Args:
        declared: What its PTX declares [bytes].
        allocated: What Triton allocates [bytes].

    Example:
        >>> launch_fault(16384, 40960)
        'needed at most 49152 bytes unless Triton allocates more, got 16384 + 40960'
        >>> launch_fault(16384, 65536)
        ''
        >>> launch_fault(1536, 65536)
        'needed memory of Triton from a multiple of 1024 bytes, got 1536'
    """
    total = declared + allocated
    if allocated <= STATIC_BYTES < total or total > MOST_BYTES:
        most = STATIC_BYTES if allocated <= STATIC_BYTES else MOST_BYTES
        also = " unless Triton allocates more" if most == STATIC_BYTES else ""
        return f"needed at most {most} bytes{also}, got {declared} + {allocated}"
    if allocated and declared % ALIGNMENT:
        return (
            f"needed memory of Triton from a multiple of {ALIGNMENT} bytes, got "
            f"{declared}"
        )
    return ""


def raising(declared: int, allocated: int, together: int, warps: int) -> list[str]:
    """Return lines that make Triton raise a kernel's limit, if it may have to.

    They come first: memory that is not used later is where all else is allocated, so
    the kernel takes the larger of both, not the sum.

    Args:
        declared: What the kernel's PTX declares [bytes].
        allocated: What the kernel allocates, at most [bytes].
        together: What it allocates, at least: what is in use at the same time [bytes].
        warps: Of the kernel.

    Example:
        >>> raising(16384, 32768, 32768, 4), raising(16384, 98304, 65536, 4)
        ([], [])
    """
    if not declared or not allocated or declared + allocated <= STATIC_BYTES:
        return []
    if together > STATIC_BYTES:
        return []
    rows = STATIC_BYTES // ALIGNMENT + 1
    return [
        "# more than what a kernel has without asking, so that Triton asks",
        f"ask = gl.allocate_shared_memory(gl.int8, [{rows}, {ALIGNMENT}], "
        "gl.SwizzledSharedLayout(1, 1, 1, [0]))",
        f"ask.index(0).store(gl.zeros([{ALIGNMENT}], gl.int8, "
        f"gl.BlockedLayout([4], [32], [{warps}], [0])))",
    ]
