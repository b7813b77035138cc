"""``tilewright explain``: a conversion, or the conversions of a kernel, in words."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .arguments import ENCODING_HELP, Json, Release, read_encoding, read_shape
from .explain_kernel import explain_kernel
from .failures import InputError


def explain(
    src: Annotated[
        str, typer.Argument(help=f"{ENCODING_HELP}; or the file of a TTGIR dump")
    ],
    dst: Annotated[
        str, typer.Argument(help="The same, for the destination; none for a dump.")
    ] = "",
    shape: Annotated[
        str, typer.Option("--shape", help="Tensor shape: 64x64 or 64,64.")
    ] = "",
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
    """Say which index bits a conversion moves where; or what a TTGIR dump converts."""
    if not dst:
        if not src.endswith((".ttgir", ".mlir")):
            raise InputError(
                "needed two encodings and --shape, or the file of a dump (.ttgir), got "
                f"{src!r} alone"
            )
        explain_kernel(Path(src), target, as_json)
        return
    if not shape:
        raise InputError("two encodings need a shape; add --shape 64x64")
    from compiler.convert import classify, plan
    from compiler.convert.explain import in_words
    from compiler.cost import device

    device(target)  # refuses targets that are not known, also where no plan is wanted
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
