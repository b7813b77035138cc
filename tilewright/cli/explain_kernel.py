"""``tilewright explain kernel.ttgir``: the conversions that are left, and why."""

import json
from pathlib import Path

import typer

from .files import read_text


def explain_kernel(path: Path, target: str, as_json: bool) -> None:
    """Print each conversion of a TTGIR dump, and what assignment would do.

    Args:
        path: The dump.
        target: What costs are for.
        as_json: Whether JSON is wanted.
    """
    from tilewright.ttgir import conversions_left, instead_of
    from verify.mlir import read_module

    module = read_module(read_text(path))
    left = conversions_left(module, target)
    instead = instead_of(module, target)
    total = sum(one.cost for one in left)
    ours = instead.costs
    if as_json:
        typer.echo(
            json.dumps(
                {
                    "conversions": [
                        {
                            "line": one.line,
                            "location": one.location,
                            "shape": one.shape,
                            "element_bits": one.element_bits,
                            "src": repr(one.src),
                            "dst": repr(one.dst),
                            "movement": one.movement,
                            "moves": one.moves,
                            "way": one.way,
                            "cost": one.cost,
                            "loops": one.depth,
                            "why": one.why,
                        }
                        for one in left
                    ],
                    "cost": total,
                    "instead": {
                        "modelled": instead.assignment is not None,
                        "reason": instead.reason,
                        "verdict": instead.verdict,
                        "conversions": [
                            {"tile": tile, "way": way, "cost": cost}
                            for tile, way, cost in ours
                        ],
                    },
                }
            )
        )
        return
    typer.echo(f"{len(left)} conversions left, {total:g} cycles a warp")
    for one in left:
        shape = "x".join(map(str, one.shape))
        loops = f", in {one.depth} loops" if one.depth else ""
        typer.echo(
            f"\nline {one.line} {one.location}: {shape} of {one.element_bits} bits"
        )
        typer.echo(f"  from {one.src!r}\n  to   {one.dst!r}")
        typer.echo(f"  {one.movement}: {one.way}, {one.cost:g} cycles a warp{loops}")
        typer.echo(f"  why: {one.why}")
    typer.echo("")
    if instead.assignment is None:
        typer.echo(f"assignment: not modelled, {instead.reason}")
        return
    cost = sum(part for _, _, part in ours)
    typer.echo(
        f"assignment leaves {len(ours)} conversions, {cost:g} cycles a warp "
        f"({instead.verdict})"
    )
    for tile, way, part in ours:
        typer.echo(f"  {tile}: {way}, {part:g} cycles a warp")
