"""Layouts as maps over F2."""

from .errors import LayoutError
from .layout import LinearLayout
from .verdict import Proved, Refuted, Unknown, Verdict

__all__ = ["LayoutError", "LinearLayout", "Proved", "Refuted", "Unknown", "Verdict"]
