"""One self-contained HTML page about a layout: picture, tables, and a colour switch."""

from html import escape

from algebra.layout import LinearLayout

from .page import PAGE, SCRIPT, STYLE
from .palette import WHEEL, Address, check_key, colour, colour_keys
from .svg import to_svg
from .view import Clip, Listing, hardware_view


def to_html(
    layout: LinearLayout,
    title: str = "layout",
    *,
    color_by: str | None = None,
    element_bits: int = 32,
    address: Address | None = None,
    clip: Clip | None = None,
) -> str:
    """Return a page with the picture, the bases and the table hardware -> element.

    The page loads nothing. A switch colours it by any in-dim; pointing at an element
    marks all that the same lane (or whatever is switched on) holds, in both.

    Args:
        layout: Any layout.
        title: The heading, e.g. the encoding.
        color_by: As ``to_svg``.
        element_bits: Width of an element [bits], for banks.
        address: As ``to_svg``.
        clip: Limits; the default is 64 rows and columns.

    Raises:
        DimMismatchError: ``color_by`` names no in-dim.
        NotPowerOfTwoError: ``element_bits`` is not a power of two.

    Example:
        >>> page = to_html(LinearLayout.identity_1d(4, "lane", "dim0"), "a < b")
        >>> "a &lt; b" in page, "http://www.w3.org/2000/svg" in page
        (True, True)
    """
    key = check_key(layout, color_by)
    picture = to_svg(
        layout,
        color_by=color_by,
        element_bits=element_bits,
        address=address,
        clip=clip,
    )
    keys = colour_keys(layout)
    switch = "".join(
        f'<label><input type="radio" name="key" value="{escape(name)}"'
        f"{' checked' if name == key else ''}> {escape(name)}</label>"
        for name in keys
    )
    colours = {
        name: [colour(value, count) for value in range(min(count, WHEEL))]
        for name, count in keys.items()
    }
    return PAGE.format(
        title=escape(title),
        style=STYLE,
        switch=switch,
        picture=picture,
        bases=_bases_table(layout),
        hardware=_listing_table(hardware_view(layout, clip)),
        script=SCRIPT.replace("COLOURS", repr(colours)),
    )


def _bases_table(layout: LinearLayout) -> str:
    """Return the images of the powers of two as a table."""
    rows = [
        f"<tr><th>{escape(dim)} {1 << bit}</th>"
        f"<td>{', '.join(map(str, vector))}</td></tr>"
        for dim, vectors in layout.bases.items()
        for bit, vector in enumerate(vectors)
    ]
    heads = ", ".join(f"{dim} ({size})" for dim, size in layout.out_dims.items())
    head = f"<tr><th>bit</th><th>{escape(heads)}</th></tr>"
    return f"<table>{head}{''.join(rows)}</table>"


def _listing_table(listing: Listing) -> str:
    """Return the table hardware -> element, each cell with its element's name."""
    heads = "".join(f"<th>{column}</th>" for column in listing.columns)
    rows = []
    for head, _, elements in listing.rows:
        cells = "".join(
            f'<td data-e="{", ".join(map(str, element))}">'
            f"{','.join(map(str, element))}</td>"
            for element in elements
        )
        rows.append(f"<tr><th>{escape(head)}</th>{cells}</tr>")
    notes = "".join(f"<p>{escape(note)}</p>" for note in listing.notes)
    return (
        f"<table><tr><th>{escape(listing.corner)}</th>{heads}</tr>{''.join(rows)}</table>"
        f"{notes}"
    )
