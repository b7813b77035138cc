"""Layouts as text tables, like the ones that people draw."""

from algebra.layout import LinearLayout

from .view import Cell, Clip, element_view, hardware_view, place_format, place_text

NOBODY = "-"
"""The cell of an element that no place holds."""


def element_table(layout: LinearLayout, clip: Clip | None = None) -> str:
    """Return the table element -> hardware: a cell says who holds the element.

    A cell is ``warp/lane:register``, or ``offset`` for memory; ``+3`` marks an element
    that three further places hold.

    Args:
        layout: Any layout; its last two dims are the rows and columns.
        clip: Limits; the default is 4 panels of 64 x 64.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[0, 1]], "lane": [[0, 2], [1, 0]]}, ["dim0", "dim1"]
        ... )
        >>> print(element_table(layout))
        lane:register
             0    1    2    3
        0  0:0  0:1  1:0  1:1
        1  2:0  2:1  3:0  3:1
    """
    view = element_view(layout, clip)
    lines = [place_format(layout)]
    if any(c.copies > 1 for panel in view.panels for row in panel.rows for c in row):
        lines[0] += "   (+n: n more places hold a copy)"
    for panel in view.panels:
        if panel.title:
            lines += ["", panel.title]
        heads = [str(column) for column in range(len(panel.rows[0]))]
        cells = [
            [str(number), *(_cell_text(layout, cell) for cell in row)]
            for number, row in enumerate(panel.rows)
        ]
        lines += _aligned([["", *heads], *cells])
    return "\n".join(lines + _notes(view.notes))


def hardware_table(layout: LinearLayout, clip: Clip | None = None) -> str:
    """Return the table hardware -> element: which element each place holds.

    Args:
        layout: Any layout.
        clip: Limits; the default is 64 rows of 64.

    Example:
        >>> layout = LinearLayout.from_bases(
        ...     {"register": [[0, 1]], "lane": [[1, 0]]}, ["dim0", "dim1"]
        ... )
        >>> print(hardware_table(layout))
        lane | register    0    1
        lane 0           0,0  0,1
        lane 1           1,0  1,1
    """
    listing = hardware_view(layout, clip)
    rows = [[listing.corner, *map(str, listing.columns)]]
    for head, _, elements in listing.rows:
        rows.append([head, *(",".join(map(str, element)) for element in elements)])
    return "\n".join(_aligned(rows) + _notes(listing.notes))


def _cell_text(layout: LinearLayout, cell: Cell) -> str:
    if not cell.places:
        return NOBODY
    more = f"+{cell.copies - 1}" if cell.copies > 1 else ""
    return place_text(layout, cell.places[0]) + more


def _aligned(rows: list[list[str]]) -> list[str]:
    """Pad to one width a column: the heads to the left, the cells to the right."""
    head = max(len(row[0]) for row in rows)
    width = max((len(cell) for row in rows for cell in row[1:]), default=0)
    return [
        f"{row[0]:<{head}}" + "".join(f"{cell:>{width + 2}}" for cell in row[1:])
        for row in rows
    ]


def _notes(notes: tuple[str, ...]) -> list[str]:
    return [f"({note})" for note in notes]
