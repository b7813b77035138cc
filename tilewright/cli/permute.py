"""``tilewright permute``: apply an index map to a .npy file."""

import io
import json
from pathlib import Path
from tokenize import TokenError
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .arguments import Json, read_shape
from .failures import InputError, cannot
from .files import is_stream, write_whole
from .index_maps import read_index_map

if TYPE_CHECKING:
    import numpy as np

MAGIC = b"\x93NUMPY"
MALFORMED = (
    ValueError,
    EOFError,
    MemoryError,
    OverflowError,
    SyntaxError,
    TypeError,
    TokenError,
)
"""What numpy raises for a file that only begins like a .npy file."""

OPAQUE = {1: "u1", 2: "u2", 4: "u4", 8: "u8", 16: "c16"}
"""Size of an element [bytes] -> the type that its bytes travel as."""


def permute(
    source: Annotated[Path, typer.Argument(metavar="FILE.npy", help="The array.")],
    index_map: Annotated[
        str,
        typer.Option(
            "--map",
            "--layout",
            help="A name (transpose, marlin_weight(4096, 4096), ...), images of the "
            "index bits (4,8,1,2), bases ({'index': [[2], [1]]}), or an encoding.",
        ),
    ],
    output: Annotated[
        Path, typer.Option("--output", "-o", help="Where the result goes.")
    ],
    shape: Annotated[
        str | None, typer.Option(help="Shape of an encoding's tensor.")
    ] = None,
    out_shape: Annotated[
        str | None, typer.Option(help="Shape of the result; default: the input's.")
    ] = None,
    inverse: Annotated[
        bool, typer.Option("--inverse", help="Apply the inverse map (gather lists).")
    ] = False,
    as_json: Json = False,
) -> None:
    """Move element i of an array to place map(i): out[map(i)] = in[i]."""
    array = load(source)
    sizes = read_shape(shape) if shape is not None else None
    layout = read_index_map(index_map, array.shape, sizes)
    if inverse:
        layout = layout.invert()
    result = _permuted(array, layout)
    if out_shape is not None:
        result = _reshaped(result, read_shape(out_shape))
    save(output, result)
    facts = {
        "output": str(output),
        "shape": list(result.shape),
        "dtype": str(array.dtype),
    }
    if as_json:
        typer.echo(json.dumps(facts))
    else:
        text = f"wrote {output}: shape {tuple(result.shape)}, {array.dtype}"
        typer.echo(text, err=is_stream(output))


def load(path: Path) -> "np.ndarray[Any, Any]":
    """Return the array of a .npy file; nothing in it is executed.

    Raises:
        InputError: the file cannot be read, is no .npy file, or holds objects.
    """
    import numpy as np

    try:
        with path.open("rb") as file:
            start = file.read(len(MAGIC))
            if start != MAGIC:
                raise InputError(
                    f"needed a .npy file, got {str(path)!r}, which starts with "
                    f"{start!r}; write it with numpy.save"
                )
            if file.seekable():
                file.seek(0)
                array = np.lib.format.read_array(file, allow_pickle=False)
            else:
                content = io.BytesIO(start + file.read())
                array = np.lib.format.read_array(content, allow_pickle=False)
            return np.asarray(array, order="C")
    except OSError as error:
        raise cannot("read", path, error, "check the path") from error
    except MALFORMED as error:
        raise InputError(
            f"needed a .npy file of numbers, got {str(path)!r}: {error}; write it with "
            "numpy.save(..., allow_pickle=False)"
        ) from error


def save(path: Path, array: "np.ndarray[Any, Any]") -> None:
    """Write a .npy file, whole or not at all."""
    import numpy as np

    write_whole(path, lambda file: np.lib.format.write_array(file, array))


def _permuted(array: "np.ndarray[Any, Any]", layout: Any) -> "np.ndarray[Any, Any]":
    """Permute the elements as opaque bytes."""
    import torch

    import compiler

    width = array.dtype.itemsize
    if width not in OPAQUE:
        raise InputError(
            f"permute needs elements of {list(OPAQUE)} bytes, got dtype={array.dtype} "
            f"of {width} bytes; view the array as bytes first"
        )
    tensor = torch.from_numpy(array.reshape(-1).view(OPAQUE[width]))
    moved = compiler.permute(tensor, layout).numpy()
    result: np.ndarray[Any, Any] = moved.view(array.dtype).reshape(array.shape)
    return result


def _reshaped(
    array: "np.ndarray[Any, Any]", shape: list[int]
) -> "np.ndarray[Any, Any]":
    try:
        return array.reshape(shape)
    except ValueError as error:
        raise InputError(
            f"--out-shape needs {array.size} elements, got {shape}; multiply the sizes"
        ) from error
