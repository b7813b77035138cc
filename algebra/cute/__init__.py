"""CuTe's shape:stride layouts and xor swizzles, to and from maps over F2."""

from .bridge import from_cute, to_cute
from .layout import CuteLayout
from .notation import parse_cute
from .swizzle import Swizzle

__all__ = ["CuteLayout", "Swizzle", "from_cute", "parse_cute", "to_cute"]
