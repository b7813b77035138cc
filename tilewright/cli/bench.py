"""``tilewright bench``: measure what this machine makes of it."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .arguments import Json
from .failures import WRONG, InputError

SUBJECTS = ("conversions",)
DEVICES = ("auto", "cpu", "cuda")
PICTURES = (".svg", ".png", ".pdf")


def bench(
    subject: Annotated[str, typer.Argument(help="What to measure: conversions.")],
    bits: Annotated[
        int | None,
        typer.Option(help="Log2 of the elements; default 28 on a GPU, 24 else."),
    ] = None,
    device: Annotated[str, typer.Option(help="auto, cpu or cuda.")] = "auto",
    dtypes: Annotated[
        str, typer.Option(help="Types, with commas between.")
    ] = "int8,float16,float32",
    compiled: Annotated[
        bool | None,
        typer.Option(
            "--compiled/--no-compiled",
            help="Measure torch.compile too; default: on a GPU.",
        ),
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw the table to this .svg, .png or .pdf.")
    ] = None,
    as_json: Json = False,
) -> None:
    """Compare permutations in memory with a copy, eager PyTorch and torch.compile."""
    import torch

    from tilewright.bench import (
        DTYPES,
        LEAST_BITS,
        draw,
        memory_of,
        most_bits,
        survey,
        table,
    )

    from .progress import progress

    if subject not in SUBJECTS:
        raise InputError(f"subject must be one of {list(SUBJECTS)}, got {subject!r}")
    if device not in DEVICES:
        raise InputError(f"--device must be one of {list(DEVICES)}, got {device!r}")
    if device == "auto":
        device = "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cuda" and not torch.cuda.is_available():
        raise InputError("--device cuda needs a GPU that torch sees; use --device cpu")
    size = bits if bits is not None else (28 if device == "cuda" else 24)
    if size < LEAST_BITS:
        raise InputError(f"--bits must be {LEAST_BITS} at least, got {size}")
    names = [name.strip() for name in dtypes.split(",") if name.strip()]
    unknown = [name for name in names if name not in DTYPES]
    if unknown or not names:
        raise InputError(
            f"--dtypes needs names among {list(DTYPES)}, got {unknown or dtypes!r}"
        )
    most = most_bits(names, memory_of(device))
    if size > most:
        raise InputError(
            f"--bits must be {most} at most for {', '.join(names)} in this device's "
            f"memory, got {size}; measure fewer elements or narrower types"
        )
    if plot is not None and plot.suffix not in PICTURES:
        raise InputError(f"--plot needs one of {list(PICTURES)}, got {str(plot)!r}")
    with_compiled = device == "cuda" if compiled is None else compiled
    with progress("conversions", 6 * len(names)) as begin:
        rows = survey(size, device, names, compiled=with_compiled, begin=begin)
    where = torch.cuda.get_device_name() if device == "cuda" else "CPU"
    if plot is not None:
        draw(rows, str(plot), f"2^{size} elements, {where}")
    if as_json:
        facts = {"device": where, "bits": size, "rows": [row.facts() for row in rows]}
        typer.echo(json.dumps(facts))
    else:
        typer.echo(table(rows))
    if not all(row.right for row in rows):
        raise typer.Exit(WRONG)
