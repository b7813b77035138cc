"""Layouts as SVG: one rectangle an element, coloured by who holds it."""

from collections.abc import Callable, Iterator
from functools import partial
from html import escape

from algebra.bits import log2
from algebra.dims import BLOCK, LANE, OFFSET, REGISTER, WARP
from algebra.layout import LinearLayout

from .palette import UNHELD, Address, check_key, colour, colour_keys, key_value
from .places import Point
from .view import Cell, Clip, Panel, View, element_view, place_format, place_text

CELL_WIDTH = 52
CELL_HEIGHT = 34
HEAD = 34
LEGEND_STEP = 34
LEGEND_MAX = 64
TITLE = 24
MIN_WIDTH = 420
STYLE = (
    "text{font-family:ui-monospace,Menlo,Consolas,monospace;fill:#1a1a1a}"
    ".cell{stroke:#555;stroke-width:.5}.label{font-size:12px;text-anchor:middle}"
    ".small{font-size:9px;text-anchor:middle;fill:#444}"
    ".value{font-size:10px;text-anchor:middle}"
    ".head{font-size:10px;text-anchor:middle;fill:#666}.title{font-size:13px}"
    ".copies{pointer-events:none}"
)
HATCH = (
    '<pattern id="copies" width="7" height="7" patternUnits="userSpaceOnUse" '
    'patternTransform="rotate(45)"><line x1="0" y1="0" x2="0" y2="7" '
    'stroke="#000" stroke-opacity=".28" stroke-width="2"/></pattern>'
)


def to_svg(
    layout: LinearLayout,
    title: str = "",
    *,
    color_by: str | None = None,
    element_bits: int = 32,
    address: Address | None = None,
    clip: Clip | None = None,
) -> str:
    """Return one self-contained picture of who holds each element.

    Elements that several places hold are hatched; an element that nobody holds is
    white. Pointing at a cell shows all its places.

    Args:
        layout: Any layout; its last two dims are the rows and columns.
        title: Written above the picture.
        color_by: An in-dim, or ``bank`` for memory; the default is the bank, the lane
            or the warp, the first that there is.
        element_bits: Width of an element [bits], for banks.
        address: Where an offset lives, for the banks of padded memory.
        clip: Limits; the default is 4 panels of 64 x 64.

    Raises:
        DimMismatchError: ``color_by`` names no in-dim.
        NotPowerOfTwoError: ``element_bits`` is not a power of two.

    Example:
        >>> picture = to_svg(LinearLayout.identity_1d(4, "lane", "dim0"))
        >>> picture[:4], picture.count('class="cell"')
        ('<svg', 4)
    """
    log2(element_bits, what="element_bits")
    value_of = partial(key_value, element_bits=element_bits, address=address)
    key = check_key(layout, color_by)
    view = element_view(layout, clip)
    columns = max(len(panel.rows[0]) for panel in view.panels)
    width = max(HEAD + columns * CELL_WIDTH + 12, MIN_WIDTH)
    body: list[str] = []
    top = 8
    cell = _caption(layout)
    caption = f"cell: {cell}, colour: {key}" if cell else ""
    for line in filter(None, (title, caption)):
        body += _wrapped(line, width, top)
        top += TITLE * len(_lines(line, width))
    for panel in view.panels:
        if panel.title:
            body += _wrapped(panel.title, width, top)
            top += TITLE * len(_lines(panel.title, width))
        body += _panel(view, panel, top, key, value_of)
        top += HEAD + len(panel.rows) * CELL_HEIGHT
    hatched = any(c.copies > 1 for p in view.panels for row in p.rows for c in row)
    legend, top = _legend(layout, key, width, top + 12, hatched)
    body += legend
    for note in view.notes:
        body.append(f'<text class="title" x="8" y="{top + 16}">{note}</text>')
        top += TITLE
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{top + 8}" '
        f'viewBox="0 0 {width} {top + 8}" role="img">'
    )
    ground = '<rect width="100%" height="100%" fill="#fff"/>'
    return "\n".join(
        [head, f"<style>{STYLE}</style><defs>{HATCH}</defs>{ground}", *body, "</svg>"]
    )


def _panel(
    view: View, panel: Panel, top: int, key: str, value_of: Callable[[Point, str], int]
) -> Iterator[str]:
    """Draw one panel below ``top``."""
    for column in range(len(panel.rows[0])):
        x = HEAD + column * CELL_WIDTH + CELL_WIDTH // 2
        yield f'<text class="head" x="{x}" y="{top + HEAD - 8}">{column}</text>'
    for number, row in enumerate(panel.rows):
        y = top + HEAD + number * CELL_HEIGHT
        middle = y + CELL_HEIGHT // 2 + 4
        yield f'<text class="head" x="{HEAD // 2}" y="{middle}">{number}</text>'
        for column, cell in enumerate(row):
            x = HEAD + column * CELL_WIDTH
            yield _cell(view.layout, cell, x, y, key, value_of)


def _cell(
    layout: LinearLayout,
    cell: Cell,
    x: int,
    y: int,
    key: str,
    value_of: Callable[[Point, str], int],
) -> str:
    """Draw one element: rectangle, hatch, label, and the places when pointed at."""
    where = ", ".join(map(str, cell.element))
    frame = f'x="{x}" y="{y}" width="{CELL_WIDTH}" height="{CELL_HEIGHT}"'
    if not cell.places:
        told = f"<title>({where}): nobody</title>"
        return f'<rect class="cell" {frame} fill="{UNHELD}">{told}</rect>'
    place = cell.places[0]
    keys = colour_keys(layout)
    data = " ".join(f'data-{name}="{value_of(place, name)}"' for name in keys)
    fill = UNHELD
    if key:
        fill = colour(value_of(place, key), keys[key])
    told = "; ".join(
        " ".join(f"{dim} {value}" for dim, value in other.items())
        for other in cell.places
    )
    if cell.copies > len(cell.places):
        told += f"; {cell.copies - len(cell.places)} more"
    parts = [
        f'<rect class="cell" {frame} fill="{fill}" data-e="{where}" {data}>'
        f"<title>({where}): {told}</title></rect>"
    ]
    if cell.copies > 1:
        parts.append(f'<rect class="copies" {frame} fill="url(#copies)"/>')
    label, small = _labels(layout, place)
    centre = x + CELL_WIDTH // 2
    baseline = y + CELL_HEIGHT // 2 + (0 if small else 4)
    parts.append(f'<text class="label" x="{centre}" y="{baseline}">{label}</text>')
    if small:
        parts.append(
            f'<text class="small" x="{centre}" y="{baseline + 12}">{small}</text>'
        )
    return "".join(parts)


def _labels(layout: LinearLayout, place: dict[str, int]) -> tuple[str, str]:
    """Return the label of a cell and the smaller line below it."""
    near = {dim: place[dim] for dim in place if dim in (LANE, REGISTER, OFFSET)}
    far = [
        f"{dim[0]}{place[dim]}"
        for dim in (BLOCK, WARP)
        if dim in place and layout.get_in_dim_size(dim) > 1
    ]
    if not near:
        return place_text(layout, place), ""
    return place_text(layout, near), " ".join(far)


def _caption(layout: LinearLayout) -> str:
    """Say what the labels of the cells are."""
    near = {LANE, REGISTER, OFFSET}.intersection(layout.in_names)
    far = [
        f"{dim[0]} = {dim}"
        for dim in (BLOCK, WARP)
        if near and layout.in_dims.get(dim, 1) > 1
    ]
    if not far:
        return place_format(layout)
    return f"{':'.join(sorted(near))}, below it {', '.join(far)}"


def _legend(
    layout: LinearLayout, key: str, width: int, top: int, hatched: bool
) -> tuple[list[str], int]:
    """Draw the values of the colour key; return the drawing and its lower edge."""
    count = colour_keys(layout).get(key, 0)
    shown = min(count, LEGEND_MAX)
    start = 16 + 8 * len(key)
    per_line = max((width - start) // LEGEND_STEP, 1)
    parts = [f'<text class="title" x="8" y="{top + 15}">{escape(key)}</text>']
    for value in range(shown):
        x = start + value % per_line * LEGEND_STEP
        y = top + value // per_line * 26
        parts.append(
            f'<rect class="key" data-value="{value}" x="{x}" y="{y}" width="30" '
            f'height="20" fill="{colour(value, count)}" stroke="#555" '
            f'stroke-width=".5"/><text class="value" x="{x + 15}" y="{y + 14}">'
            f"{value}</text>"
        )
    top += max(-(-shown // per_line), 1) * 26
    if shown < count:
        parts.append(
            f'<text class="title" x="{start}" y="{top + 15}">and {count - shown} more'
            "</text>"
        )
        top += TITLE
    if hatched:
        parts.append(
            f'<rect x="8" y="{top}" width="30" height="20" fill="url(#copies)" '
            f'stroke="#555" stroke-width=".5"/><text class="title" x="46" '
            f'y="{top + 15}">held in several places; the first is named</text>'
        )
        top += 28
    return parts, top


def _lines(text: str, width: int) -> list[str]:
    """Cut a text into lines that fit; 8 units a character."""
    fit = max((width - 16) // 8, 8)
    return [text[start : start + fit] for start in range(0, len(text), fit)]


def _wrapped(text: str, width: int, top: int) -> list[str]:
    return [
        f'<text class="title" x="8" y="{top + 16 + TITLE * number}">'
        f"{escape(line)}</text>"
        for number, line in enumerate(_lines(text, width))
    ]
