"""``tilewright run``: the main job."""

import json

import typer

from .arguments import Json
from .failures import WRONG


def run(as_json: Json = False) -> None:
    """Do the main job on real input and print a report."""
    from tilewright.main_job import STEPS, main_job

    from .progress import progress

    with progress("main job", len(STEPS)) as begin:
        report = main_job(begin)
    if as_json:
        typer.echo(json.dumps(report.facts()))
    else:
        typer.echo(report.text())
    if not report.good:
        raise typer.Exit(WRONG)
