"""``tilewright show``: tables and pictures of one encoding."""

import json
import shutil
import sys
from pathlib import Path
from typing import Annotated, Any

import typer

from algebra import LinearLayout
from algebra.encodings import Encoding, PaddedShared, to_dict
from algebra.render import (
    Clip,
    element_table,
    element_view,
    hardware_table,
    to_html,
    to_svg,
)

from .arguments import (
    ENCODING_HELP,
    Json,
    Release,
    Shape,
    count,
    read_encoding,
    read_shape,
)
from .failures import InputError
from .files import write_text

CELL_TEXT = 9
"""Characters that a cell of a table takes, about."""


def show(
    encoding: Annotated[str, typer.Argument(help=ENCODING_HELP)],
    shape: Shape,
    release: Release = "3.9",
    svg: Annotated[
        Path | None, typer.Option(help="Write a picture to this file.")
    ] = None,
    html: Annotated[
        Path | None, typer.Option(help="Write a page with picture and tables.")
    ] = None,
    color_by: Annotated[
        str | None,
        typer.Option(help="What colours stand for: lane, warp, register, bank, ..."),
    ] = None,
    element_bits: Annotated[
        int | None,
        typer.Option(parser=count, help="Width of an element [bits], for banks."),
    ] = None,
    rows: Annotated[int, typer.Option(parser=count, help="Rows shown at most.")] = 64,
    columns: Annotated[
        int | None,
        typer.Option(parser=count, help="Columns shown at most; default: what fits."),
    ] = None,
    as_json: Json = False,
) -> None:
    """Draw an encoding: who holds each element, and what each thread holds."""
    parsed = read_encoding(encoding)
    sizes = read_shape(shape)
    layout = parsed.to_linear_layout(sizes, release=release)
    bits = element_bits or getattr(parsed, "element_bits", None) or 32
    title = f"{parsed!r}, shape {'x'.join(map(str, sizes))}"
    if color_by is not None and svg is html is None:
        raise InputError(
            f"colours need a picture, got --color-by {color_by}; add --svg or --html"
        )
    if svg is not None and svg == html:
        raise InputError(
            f"--svg and --html need a file each, got {str(svg)!r} for both; name two"
        )
    clip = Clip(rows=rows, columns=columns or 64)
    draw = {svg: to_svg, html: to_html}
    pictures = {
        path: picture(
            layout,
            title,
            color_by=color_by,
            element_bits=bits,
            address=getattr(parsed, "address", None),
            clip=clip,
        )
        for path, picture in draw.items()
        if path is not None
    }
    for path, text in pictures.items():
        write_text(path, text)
    if as_json:
        typer.echo(json.dumps(_facts(parsed, sizes, release, layout, clip)))
        return
    for path in pictures:
        typer.echo(f"wrote {path}")
    if pictures:
        return
    if columns is None and sys.stdout.isatty():
        fitting = shutil.get_terminal_size().columns // CELL_TEXT - 1
        clip = Clip(rows=rows, columns=max(fitting, 1))
    typer.echo(title)
    if isinstance(parsed, PaddedShared):
        typer.echo("offsets are those before padding")
    typer.echo("\nelement -> hardware")
    typer.echo(element_table(layout, clip))
    typer.echo("\nhardware -> element")
    typer.echo(hardware_table(layout, clip))


def _facts(
    encoding: Encoding,
    shape: list[int],
    release: str,
    layout: LinearLayout,
    clip: Clip,
) -> dict[str, Any]:
    """Return what ``--json`` prints."""
    view = element_view(layout, clip)
    return {
        "encoding": to_dict(encoding),
        "shape": shape,
        "release": release,
        "in_dims": layout.in_dims,
        "out_dims": layout.out_dims,
        "bases": layout.bases,
        "surjective": layout.is_surjective,
        "injective": layout.is_injective,
        "elements": [
            {"element": cell.element, "places": cell.places, "copies": cell.copies}
            for panel in view.panels
            for row in panel.rows
            for cell in row
        ],
        "notes": view.notes,
    }
