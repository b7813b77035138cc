"""Which upstream the formulas are about.

Facts were read at one commit of triton-lang/triton, from the end of 2024, when most
lowerings still computed indices with division and remainder. A formula names its file
and function there. Where a file changed before or after that commit, or an encoding
is younger than it, the formula says so.
"""

COMMIT = "3f5197ce77562a08adef184f009e8f8d8c7ad8b8"
UTILITY = "include/triton/Conversion/TritonGPUToLLVM/Utility.h"


def upstream(function: str, path: str = UTILITY) -> str:
    """Return a citation of the pinned commit.

    Example:
        >>> upstream("emitOffsetForBlockedLayout").startswith("triton-lang/triton@3f51")
        True
    """
    return f"triton-lang/triton@{COMMIT[:12]}:{path}, {function}"
