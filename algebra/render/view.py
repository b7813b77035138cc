"""What a picture shows, before it is drawn: cells of elements, rows of hardware.

Both views are clipped, so that a tensor of any size takes bounded time and space; a
note says what was left out.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice

from algebra.dims import BLOCK, LANE, OFFSET, REGISTER, WARP, standard_out_dim_names
from algebra.errors import OutOfRangeError
from algebra.layout import LinearLayout

from .places import Places, Point


@dataclass(frozen=True, slots=True)
class Clip:
    """How much of a layout a picture shows at most.

    Attributes:
        rows: Rows of a panel, and of the hardware listing.
        columns: Columns of a panel, and of the hardware listing.
        panels: Panels, one for each index of the dims before the last two.
        copies: Places that are listed for one element.

    Raises:
        OutOfRangeError: a limit is not positive.
    """

    rows: int = 64
    columns: int = 64
    panels: int = 4
    copies: int = 8

    def __post_init__(self) -> None:
        for name in ("rows", "columns", "panels", "copies"):
            if getattr(self, name) < 1:
                raise OutOfRangeError(
                    f"a picture needs at least one of its {name}, got "
                    f"{name}={getattr(self, name)}; raise the limit",
                    limit=name,
                )


@dataclass(frozen=True, slots=True)
class Cell:
    """One element and the places that hold it.

    Attributes:
        element: Coordinates over the tensor dims [elements].
        places: The first places, the smallest index first; empty if nobody holds it.
        copies: How many places there are in all.
    """

    element: tuple[int, ...]
    places: tuple[Point, ...]
    copies: int


@dataclass(frozen=True, slots=True)
class Panel:
    """A two-dimensional part of the tensor: its last two dims.

    Attributes:
        title: Which index of the other dims it is, or empty.
        rows: Cells, row by row.
    """

    title: str
    rows: tuple[tuple[Cell, ...], ...]


@dataclass(frozen=True, slots=True)
class View:
    """The elements of a layout.

    Attributes:
        layout: What is shown.
        panels: Parts of the tensor.
        notes: What was left out.
    """

    layout: LinearLayout
    panels: tuple[Panel, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listing:
    """The elements that each place holds.

    Attributes:
        corner: What the row heads are.
        columns: Index in the first in-dim, relative to the row's [elements].
        rows: Head, place of the first column, and the elements of each column.
        notes: What was left out.
    """

    corner: str
    columns: tuple[int, ...]
    rows: tuple[tuple[str, Point, tuple[tuple[int, ...], ...]], ...]
    notes: tuple[str, ...]


def tensor_dims(layout: LinearLayout) -> tuple[str, ...]:
    """Return the out-dims, ``dim0`` first where they are so named."""
    standard = standard_out_dim_names(layout.num_out_dims)
    return standard if set(standard) == set(layout.out_names) else layout.out_names


def element_view(layout: LinearLayout, clip: Clip | None = None) -> View:
    """Return who holds each element, in panels of the last two dims.

    Law: every place of a cell maps to the cell's element.

    Args:
        layout: Any layout; it may broadcast, and need not be surjective.
        clip: Limits; the default is 4 panels of 64 x 64.

    Example:
        >>> layout = LinearLayout.identity_1d(4, "lane", "dim0")
        >>> [cell.places[0]["lane"] for cell in element_view(layout).panels[0].rows[0]]
        [0, 1, 2, 3]
    """
    clip = clip or Clip()
    dims = tensor_dims(layout)
    sizes = [layout.get_out_dim_size(dim) for dim in dims]
    rows, columns = [1, 1, *sizes][-2:]
    places = Places(layout)
    panels = []
    for outer in islice(_indices(sizes[:-2]), clip.panels):
        names = zip(dims, outer, strict=False)
        panels.append(
            Panel(
                ", ".join(f"{dim} = {index}" for dim, index in names),
                tuple(
                    tuple(
                        _cell(places, dims, (*outer, row, column), clip.copies)
                        for column in range(min(columns, clip.columns))
                    )
                    for row in range(min(rows, clip.rows))
                ),
            )
        )
    count = _product(sizes[:-2])
    notes = [
        f"{shown} of {total} {what} are shown"
        for shown, total, what in (
            (clip.panels, count, "panels"),
            (clip.rows, rows, "rows"),
            (clip.columns, columns, "columns"),
        )
        if shown < total
    ]
    return View(layout, tuple(panels), tuple(notes))


def hardware_view(layout: LinearLayout, clip: Clip | None = None) -> Listing:
    """Return which element each place holds.

    The columns are the registers of a thread; for memory, offsets in lines as long as
    the last dim of the tensor.

    Law: the element in a row and a column is the image of the row's place with the
    column added to its first in-dim.

    Args:
        layout: Any layout.
        clip: Limits; the default is 64 rows of 64.

    Example:
        >>> layout = LinearLayout.identity_1d(4, "offset", "dim0")
        >>> hardware_view(layout).rows[0][2]
        ((0,), (1,), (2,), (3,))
    """
    clip = clip or Clip()
    dims = tensor_dims(layout)
    first = layout.in_names[:1]
    size = layout.get_in_dim_size(first[0]) if first else 1
    width = min(size, clip.columns)
    if first == (OFFSET,) and dims:
        width = min(width, layout.get_out_dim_size(dims[-1]))
    slow = layout.in_names[1:][::-1]
    sizes = [layout.get_in_dim_size(dim) for dim in slow]
    shown = [dim for dim, extent in zip(slow, sizes, strict=True) if extent > 1]
    lines = -(-size // width)
    if lines > 1:
        shown += first
    rows = []
    for index in islice(_indices([*sizes, lines]), clip.rows):
        start = index[-1] * width
        place = dict(zip(slow, index, strict=False)) | dict.fromkeys(first, start)
        head = " ".join(f"{dim} {place[dim]}" for dim in shown)
        held = []
        for column in range(min(width, size - start)):
            image = layout.apply(place | dict.fromkeys(first, start + column))
            held.append(tuple(image[dim] for dim in dims))
        rows.append((head, place, tuple(held)))
    total = _product([*sizes, lines])
    notes = (f"{clip.rows} of {total} rows are shown",) if clip.rows < total else ()
    corner = f"{' '.join(shown)} | {first[0]}" if first else ""
    return Listing(corner.strip(" |"), tuple(range(width)), tuple(rows), notes)


def place_format(layout: LinearLayout) -> str:
    """Return in words what ``place_text`` writes.

    Example:
        >>> place_format(LinearLayout.identity_1d(4, "offset", "dim0"))
        'offset'
    """
    names = {
        dim: dim
        for dim in layout.in_names
        if dim in (LANE, REGISTER, OFFSET) or layout.get_in_dim_size(dim) > 1
    }
    return _joined(names)


def place_text(layout: LinearLayout, place: Point) -> str:
    """Return a short name of a place, ``warp/lane:register`` or ``offset``.

    Dims of size 1 are left out.

    Example:
        >>> layout = LinearLayout.identity_1d(4, "register", "dim0")
        >>> layout *= LinearLayout.identity_1d(4, "lane", "dim0")
        >>> place_text(layout, {"register": 1, "lane": 3})
        '3:1'
    """
    return _joined(
        {
            dim: str(value)
            for dim, value in place.items()
            if dim in (LANE, REGISTER, OFFSET) or layout.get_in_dim_size(dim) > 1
        }
    )


def _joined(parts: dict[str, str]) -> str:
    """Join the parts of a place: ``block.warp/lane:register``, the rest by commas."""
    rest = dict(parts)
    text = rest.pop(LANE, "")
    if REGISTER in rest:
        text += f":{rest.pop(REGISTER)}"
    if WARP in rest:
        text = f"{rest.pop(WARP)}/{text}".rstrip("/")
    block = f"{rest.pop(BLOCK)}." if BLOCK in rest else ""
    return block + ",".join(([text] if text else []) + list(rest.values()))


def _cell(
    places: Places, dims: tuple[str, ...], index: tuple[int, ...], limit: int
) -> Cell:
    """Return the cell of the last ``len(dims)`` coordinates of ``index``."""
    element = index[len(index) - len(dims) :]
    held = places.of(dict(zip(dims, element, strict=True)), limit)
    return Cell(element, tuple(held), places.copies if held else 0)


def _indices(sizes: list[int]) -> Iterator[tuple[int, ...]]:
    """Count through ``sizes``, the last fastest, without building long lists."""
    for number in range(_product(sizes)):
        index = []
        rest = number
        for size in reversed(sizes):
            rest, digit = divmod(rest, size)
            index.append(digit)
        yield tuple(reversed(index))


def _product(sizes: list[int]) -> int:
    total = 1
    for size in sizes:
        total *= size
    return total
