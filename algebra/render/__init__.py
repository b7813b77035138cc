"""Pictures of layouts: text tables, SVG, and one self-contained HTML page.

Standard library only. Every picture is clipped by a ``Clip`` and says so.
"""

from .html import to_html
from .svg import to_svg
from .text import element_table, hardware_table
from .view import Cell, Clip, Listing, Panel, View, element_view, hardware_view

__all__ = [
    "Cell",
    "Clip",
    "Listing",
    "Panel",
    "View",
    "element_table",
    "element_view",
    "hardware_table",
    "hardware_view",
    "to_html",
    "to_svg",
]
