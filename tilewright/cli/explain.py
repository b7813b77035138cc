"""``tilewright explain``: a conversion between two encodings, in words."""

import json
from typing import Annotated

import typer

from .arguments import ENCODING_HELP, Json, Release, Shape, read_encoding, read_shape


def explain(
    src: Annotated[str, typer.Argument(help=ENCODING_HELP)],
    dst: Annotated[str, typer.Argument(help="The same, for the destination.")],
    shape: Shape,
    release: Release = "3.9",
    bits: Annotated[
        int | None,
        typer.Option("--bits", help="Bits of an element: show the plan as well."),
    ] = None,
    target: Annotated[
        str, typer.Option("--target", help="What the plan is for: sm_90, gfx942, ...")
    ] = "sm_90",
    as_json: Json = False,
) -> None:
    """Say which index bits a layout conversion moves where, and by which plan."""
    from compiler.convert import classify, plan
    from compiler.convert.explain import in_words

    sizes = read_shape(shape)
    encodings = read_encoding(src), read_encoding(dst)
    layouts = [one.to_linear_layout(sizes, release=release) for one in encodings]
    conversion = classify(*layouts)
    planned = None if bits is None else plan(layouts[0], layouts[1], bits, target)
    if not as_json:
        typer.echo(f"from {encodings[0]!r}\nto   {encodings[1]!r}")
        typer.echo(f"shape {'x'.join(map(str, sizes))}\n")
        typer.echo(in_words(conversion))
        if planned is not None:
            verdict = type(planned.prove()).__name__
            typer.echo(f"\n{planned.explain()}\nverdict: {verdict}")
        return
    facts: dict[str, object] = {
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
    if planned is not None:
        facts["plan"] = {
            "way": planned.way,
            "counts": planned.counts,
            "shared_bytes": planned.shared_bytes,
            "cost": planned.cost,
            "least_shuffles": planned.least_shuffles,
            "rejected": dict(planned.rejected),
            "verdict": type(planned.prove()).__name__,
            "text": planned.explain(),
        }
    typer.echo(json.dumps(facts))
