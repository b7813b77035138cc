"""``tilewright check``: prove a Triton kernel, or show a launch that breaks it."""

import importlib.util
import json
import re
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from algebra.verdict import Proved

from .arguments import Json, seconds
from .failures import WRONG, InputError

if TYPE_CHECKING:
    from verify import Buffer, Scalar

ARG_HELP = (
    "NAME=TYPE for a scalar, NAME=TYPE:LOW:HIGH with a range, NAME=TYPE[SHAPE] for a "
    "buffer, NAME=TYPE[SHAPE]! for one that must be written; SHAPE is 'M,N' or 'M*N'"
)
_ARGUMENT = re.compile(
    r"(?P<name>\w+)=(?P<dtype>\*?\w+)"
    r"(?:\[(?P<shape>[^\]]*)\](?P<writes>!?)|:(?P<low>-?\w*):(?P<high>-?\w*))?$"
)


def check(
    kernel: Annotated[
        str,
        typer.Argument(
            metavar="FILE[::KERNEL]",
            help="A Python file and a @triton.jit function in it, or a file of TTIR.",
        ),
    ],
    argument: Annotated[
        list[str] | None, typer.Option("--arg", "-a", help=ARG_HELP)
    ] = None,
    constexpr: Annotated[
        list[str] | None,
        typer.Option("--constexpr", "-c", help="NAME=VALUE of a tl.constexpr."),
    ] = None,
    grid: Annotated[
        str, typer.Option(help="Number of programs: 'cdiv(M, 64), cdiv(N, 64)'.")
    ] = "1",
    assume: Annotated[
        list[str] | None,
        typer.Option(help="A condition on the scalars: 'M*N < 2**31'."),
    ] = None,
    timeout: Annotated[
        float, typer.Option(parser=seconds, help="Limit of each solver call [s].")
    ] = 2.0,
    as_json: Json = False,
) -> None:
    """Prove a kernel in bounds, free of wraps and races, for all sizes."""
    from verify import check as verify_check

    subject, function = read_kernel(kernel)
    report = verify_check(
        subject,
        dict(read_argument(text) for text in argument or ()),
        dict(read_constant(text) for text in constexpr or ()),
        split_outside_brackets(grid),
        tuple(assume or ()),
        function=function,
        timeout=timeout,
    )
    typer.echo(json.dumps(report.as_record()) if as_json else str(report))
    if not isinstance(report.verdict, Proved):
        raise typer.Exit(WRONG)


def read_kernel(text: str) -> tuple[Any, str | None]:
    """Return a jit function, or the text of a TTIR file, and the function's name.

    Raises:
        InputError: there is no such file or function.
    """
    name, _, function = text.partition("::")
    path = Path(name)
    if path.suffix != ".py":
        from .files import read_text

        return read_text(path) + "\n", function or None
    if not function:
        raise InputError(
            f"needed FILE::KERNEL, got {text!r}; name a @triton.jit function in it"
        )
    module = _module(path)
    found = getattr(module, function, None)
    while found is not None and not hasattr(found, "arg_names"):
        found = getattr(found, "fn", None)
    while found is not None and not hasattr(found, "params"):
        found = getattr(found, "fn", None)
    if found is None:
        kernels = [n for n, v in vars(module).items() if hasattr(v, "arg_names")]
        raise InputError(
            f"needed a @triton.jit function of {name}, got {function!r}; it has "
            f"{', '.join(kernels) or 'none'}"
        )
    return found, None


def _module(path: Path) -> Any:
    if not path.is_file():
        raise InputError(f"cannot read {str(path)!r}: no such file; check the path")
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None:
        raise InputError(f"cannot import {str(path)!r}; it must be a Python file")
    module = importlib.util.module_from_spec(spec)
    sys.modules[path.stem] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:
        raise InputError(
            f"cannot import {str(path)!r}: {type(error).__name__}: {error}"
        ) from error
    return module


def split_outside_brackets(text: str) -> tuple[str, ...]:
    """Return the parts of a text between commas that stand in no brackets.

    Example:
        >>> split_outside_brackets("cdiv(M, 64), N")
        ('cdiv(M, 64)', 'N')
    """
    parts = [""]
    depth = 0
    for character in text:
        depth += character in "(["
        depth -= character in ")]"
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return tuple(part.strip() for part in parts if part.strip())


def read_argument(text: str) -> "tuple[str, Buffer | Scalar]":
    """Return an argument of the kernel.

    Raises:
        InputError: it has another form.

    Example:
        >>> read_argument("x=fp32[M, N]!")[1].writes
        True
    """
    from verify import Buffer, Scalar

    match = _ARGUMENT.match(text.strip())
    if match is None:
        raise InputError(f"needed --arg {ARG_HELP}; got {text!r}")
    name, dtype = match["name"], match["dtype"]
    if match["shape"] is not None:
        shape = tuple(
            int(part) if part.isdigit() else part
            for part in split_outside_brackets(match["shape"])
        )
        return name, Buffer(dtype, shape, writes=bool(match["writes"]))
    if dtype.startswith("*"):
        raise InputError(f"needed the shape of {name}, got {text!r}; write {text}[N]")
    ends = [int(match[end], 0) if match[end] else None for end in ("low", "high")]
    return name, Scalar(dtype, *ends)


def read_constant(text: str) -> tuple[str, Any]:
    """Return a compile-time constant.

    Raises:
        InputError: it has another form.

    Example:
        >>> read_constant("BLOCK=64")
        ('BLOCK', 64)
    """
    import ast

    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise InputError(f"needed --constexpr NAME=VALUE, got {text!r}; write BLOCK=64")
    try:
        return name, ast.literal_eval(value)
    except (ValueError, SyntaxError):
        return name, value
