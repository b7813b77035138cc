"""Static performance of a compiled kernel, by source line; see ``report``."""

from .report import (
    Line,
    PerformanceReport,
    assert_no_conversion,
    performance,
    performance_of,
)

__all__ = [
    "Line",
    "PerformanceReport",
    "assert_no_conversion",
    "performance",
    "performance_of",
]
