"""``tilewright reduce``: a failing compiled graph as a small test file."""

import json
from pathlib import Path
from typing import Annotated

import typer

from .arguments import Json
from .failures import WRONG, InputError


def reduce(
    folder: Annotated[
        Path,
        typer.Argument(help="A graph's folder of a trace, or one of reduction.save."),
    ],
    subject: Annotated[
        str,
        typer.Option(help="tilewright, inductor, aot_eager or module:function."),
    ] = "tilewright",
    output: Annotated[
        Path | None,
        typer.Option(help="The test file; default test_reduced.py in the folder."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(min=0.1, help="Limit for a try, in seconds.")
    ] = 60.0,
    as_json: Json = False,
) -> int:
    """Make a failing graph small, and write it down as a test that fails.

    The failure may be an error, a crash, a hang or a wrong result. Ctrl-C writes the
    smallest program so far; the same command goes on from it. Exit status 1 if the
    graph fails, 0 if it does not.
    """
    from rich.console import Console
    from rich.progress import Progress, TextColumn, TimeElapsedColumn

    from verify.campaign.process import SubjectProcess
    from verify.campaign.subjects import SUBJECTS
    from verify.reduction import GoneError, GraphError, Reduction, read
    from verify.strategies.programs import Program

    if subject not in SUBJECTS and ":" not in subject:
        raise InputError(
            f"subject must be one of {', '.join(SUBJECTS)}, or module:function for "
            f"another backend, got subject={subject!r}"
        )
    try:
        captured = read(folder)
    except GraphError as error:
        raise InputError(str(error)) from error
    console = Console(stderr=True)
    stopped = False
    with (
        SubjectProcess(timeout) as process,
        Progress(
            TextColumn("reducing"),
            TimeElapsedColumn(),
            TextColumn("{task.description}"),
            console=console,
            transient=True,
            disable=not console.is_terminal,
        ) as bar,
    ):
        task = bar.add_task("", total=None)

        def report(best: Program, tries: int) -> None:
            bar.update(task, description=f"{len(best.lines)} lines, {tries} tries")

        reduction = Reduction(captured, subject, folder, process, report)
        try:
            try:
                found = reduction.run()
            except KeyboardInterrupt:
                if reduction.best is None:
                    raise
                stopped = True
                process.close_child()
                found = reduction.result()
        except GoneError as error:
            if as_json:
                typer.echo(json.dumps({"fails": False, "why": str(error)}))
            else:
                typer.echo(str(error))
            return 0
    path = output or folder / "test_reduced.py"
    path.write_text(found.text)
    if as_json:
        facts = {
            "fails": True,
            "stopped": stopped,
            "file": str(path),
            "lines": len(found.case.program.lines),
            "tries": found.tries,
            "stage": found.stage,
            "answer": found.answer,
        }
        typer.echo(json.dumps(facts))
    else:
        typer.echo(found.case.program.source.rstrip())
        typer.echo(
            f"{len(captured.program.lines)} lines became "
            f"{len(found.case.program.lines)}, after {found.tries} tries"
            f"{'; stopped early, the same command goes on' if stopped else ''}\n"
            f"at fault: {found.stage}\n{path}"
        )
    return WRONG
