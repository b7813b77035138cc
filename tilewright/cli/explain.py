"""``tilewright explain``: a conversion between two encodings, in words."""

import json
from typing import Annotated

import typer

from compiler.convert import classify
from compiler.convert.explain import in_words

from .arguments import ENCODING_HELP, Json, Release, Shape, read_encoding, read_shape


def explain(
    src: Annotated[str, typer.Argument(help=ENCODING_HELP)],
    dst: Annotated[str, typer.Argument(help="The same, for the destination.")],
    shape: Shape,
    release: Release = "3.9",
    as_json: Json = False,
) -> None:
    """Say which index bits a layout conversion moves where, and how far."""
    sizes = read_shape(shape)
    encodings = read_encoding(src), read_encoding(dst)
    layouts = [one.to_linear_layout(sizes, release=release) for one in encodings]
    conversion = classify(*layouts)
    if not as_json:
        typer.echo(f"from {encodings[0]!r}\nto   {encodings[1]!r}")
        typer.echo(f"shape {'x'.join(map(str, sizes))}\n")
        typer.echo(in_words(conversion))
        return
    facts = {
        "movement": conversion.movement.value,
        "exchanges": conversion.exchanges,
        "moves": [
            {
                "to": move.to,
                "sources": move.sources,
                "element": dict(move.element),
                "stays": move.stays,
            }
            for move in conversion.moves
        ],
        "unread": conversion.unread,
        "text": in_words(conversion),
    }
    typer.echo(json.dumps(facts))
