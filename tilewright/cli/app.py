"""The command, its subcommands, and what becomes of their errors.

Exit codes: 0 = all well, 1 = something was found wrong, 2 = unusable input,
130 = interrupted. Bad input gives one line on standard error; ``--debug``, anywhere,
gives the traceback instead.
"""

import os
import sys
import warnings
from collections.abc import Sequence
from typing import Annotated, TextIO

import typer

import tilewright
from algebra.errors import LayoutError

from .bench import bench
from .check import check
from .explain import explain
from .failures import WRONG, InputError, one_line
from .hunt import hunt, reproduce
from .inspect import inspect
from .permute import permute
from .prove import prove
from .reduce import reduce
from .run import run
from .show import show

DEBUG = "--debug"

app = typer.Typer(
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode=None,
    help="Formally checked tensor layouts.",
)
for command in (
    show,
    explain,
    prove,
    check,
    permute,
    inspect,
    hunt,
    reproduce,
    reduce,
    bench,
    run,
):
    app.command()(command)


@app.callback(invoke_without_command=True)
def front(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", help="Print the version and end.")
    ] = False,
    debug: Annotated[
        bool, typer.Option(DEBUG, help="Show the traceback of an error.")
    ] = False,
) -> None:
    """Draw, explain, prove and apply tensor layouts."""
    if version:
        typer.echo(f"tilewright {tilewright.__version__}")
        raise typer.Exit
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line.

    Args:
        arguments: The words after the command's name; default ``sys.argv``.

    Returns:
        The exit code; see the module.
    """
    words = list(sys.argv[1:] if arguments is None else arguments)
    debug = DEBUG in words
    words = [word for word in words if word != DEBUG]
    if sys.stdout is None:
        text = "standard output is closed; send it to a file or to /dev/null"
        return _fail(InputError(text), text, InputError.exit_code, debug)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = _show_warning
            code = app(words, prog_name="tilewright", standalone_mode=False)
    except (InputError, LayoutError) as error:
        return _fail(error, str(error), InputError.exit_code, debug)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except OSError as error:
        text = f"the system refused: {error}; free some space, or write elsewhere"
        return _fail(error, text, InputError.exit_code, debug)
    except Exception as error:
        usage = getattr(error, "format_message", None)
        if usage is not None:
            text = f"{usage()} (tilewright --help lists the commands)"
            return _fail(error, text, InputError.exit_code, debug)
        text = f"internal error: {type(error).__name__}: {error} ({DEBUG} shows where)"
        return _fail(error, text, WRONG, debug)
    return code if isinstance(code, int) else 0


def _show_warning(
    message: Warning | str,
    category: type[Warning],
    filename: str,
    lineno: int,
    file: TextIO | None = None,
    line: str | None = None,
) -> None:
    print(f"tilewright: warning: {one_line(str(message))}", file=sys.stderr)


def _fail(error: Exception, text: str, code: int, debug: bool) -> int:
    if debug:
        raise error
    print(f"tilewright: error: {one_line(text)}", file=sys.stderr)
    return code
