"""Which upstream the formulas are about.

Facts were read in triton-lang/triton as it stood around the end of 2024, when most
lowerings still computed indices with division and remainder: what concerns values in
registers at one commit, the loaders of operands at those at which their files were had.
A formula names commit, file and function. Where an encoding is younger, or a function
could not be read again, the formula says so.
"""

COMMIT = "3f5197ce77562a08adef184f009e8f8d8c7ad8b8"
UTILITY = "include/triton/Conversion/TritonGPUToLLVM/Utility.h"


def upstream(function: str, path: str = UTILITY, commit: str = COMMIT) -> str:
    """Return a citation: where a formula was read.

    Example:
        >>> upstream("emitOffsetForBlockedLayout").startswith("triton-lang/triton@3f51")
        True
    """
    return f"triton-lang/triton@{commit[:12]}:{path}, {function}"
