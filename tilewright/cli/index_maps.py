"""The spellings of an index map for ``tilewright permute``.

A name of ``compiler.permutations`` (sizes in brackets, or those of the file), images of
the index bits (``4,8,1,2``), Python-literal bases, or an encoding.
"""

import ast
import inspect
import re
from collections.abc import Callable, Sequence
from typing import Any

from algebra import AffineLayout, LinearLayout
from compiler import permutations
from compiler.permutations import from_columns

from .arguments import read_encoding
from .failures import InputError

IndexMap = LinearLayout | AffineLayout

NAMED: dict[str, Callable[..., IndexMap]] = {
    make.__name__: make
    for make in (
        permutations.awq_order,
        permutations.bit_reversal,
        permutations.block_scales,
        permutations.col32_2r_4r4,
        permutations.gray,
        permutations.marlin_tile,
        permutations.marlin_weight,
        permutations.morton,
        permutations.nc32hw32,
        permutations.nchw_to_nhwc,
        permutations.nhwc_to_nchw,
        permutations.permute_axes,
        permutations.pixel_shuffle,
        permutations.reversal,
        permutations.rotate90,
        permutations.transpose,
    )
}
"""Maps with a name."""

AXES = {
    "rows": -2,
    "columns": -1,
    "channels": -3,
    "height": -2,
    "width": -1,
    "size": -1,
}
CHANNELS_LAST = {"height": -3, "width": -2, "channels": -1}

_NAME = re.compile(r"\s*([a-z][a-z0-9_]*)\s*(\(.*\))?\s*", re.DOTALL)
_IMAGES = re.compile(r"\s*\[?\s*\d{1,99}(\s*,\s*\d{1,99})*\s*\]?\s*")


def read_index_map(
    text: str, shape: Sequence[int], encoding_shape: Sequence[int] | None = None
) -> IndexMap:
    """Return the map that a text spells.

    Args:
        text: See the module.
        shape: Shape of the array that is permuted; it fills in the sizes that a name
            leaves out.
        encoding_shape: Shape for an encoding; default ``shape``. The map then goes
            from hardware, register in the lowest bits, to the row-major element.

    Raises:
        InputError: the text is none of the spellings.
        LayoutError: the map or the encoding is malformed.

    Example:
        >>> read_index_map("2,1", (4,)).bases
        {'index': ((2,), (1,))}
        >>> read_index_map("transpose", (2, 2)) == read_index_map("2,1", (4,))
        True
    """
    name = _NAME.fullmatch(text)
    if name and name[1] in NAMED:
        return _named(name[1], name[2], shape)
    if _IMAGES.fullmatch(text):
        return from_columns([int(image) for image in re.findall(r"\d+", text)])
    if text.lstrip().startswith("{"):
        return _bases(text)
    if text.startswith(("@", "-")) or re.match(r"\s*(#|[A-Z]\w*\()", text):
        encoding = read_encoding(text)
        layout = encoding.to_linear_layout(encoding_shape or shape)
        return layout.transpose_outs(sorted(layout.out_names, key=_number)[::-1])
    raise InputError(
        f"needed an index map, got --map {text!r}; write one of {sorted(NAMED)}, "
        "images of the index bits such as 4,8,1,2, bases such as "
        "{'index': [[2], [1]]}, or an encoding"
    )


def _named(name: str, call: str | None, shape: Sequence[int]) -> IndexMap:
    """Call a map by name, with the sizes given or those of the array."""
    make = NAMED[name]
    parameters = list(inspect.signature(make).parameters)
    if call is None:
        axes = CHANNELS_LAST if name.startswith("nhwc") else AXES
        return make(*(_size(name, given, axes, shape) for given in parameters))
    arguments = _literal(
        f"({call.strip()[1:-1]},)" if call.strip("() ") else "()", call
    )
    if len(arguments) != len(parameters) or not all(map(_is_size, arguments)):
        raise InputError(
            f"{name} needs {len(parameters)} sizes ({', '.join(parameters)}), got "
            f"{name}{call}; write {name}({', '.join(parameters)}) with numbers"
        )
    return make(*arguments)


def _size(name: str, parameter: str, axes: dict[str, int], shape: Sequence[int]) -> int:
    """Return the size that the array's shape gives to a parameter."""
    axis = axes.get(parameter)
    if parameter == "bits":
        count = 1
        for size in shape:
            count *= size
        return max(count.bit_length() - 1, 0)
    if parameter == "size" and len(shape) > 1 and shape[-1] != shape[-2]:
        raise InputError(
            f"{name} needs a square, got an array of shape {tuple(shape)}; write the "
            f"size, {name}(...), for squares one after another"
        )
    if axis is None or len(shape) < -axis:
        raise InputError(
            f"{name} needs {parameter}, which an array of shape {tuple(shape)} does "
            f"not tell; write the sizes, {name}(...)"
        )
    return shape[axis]


def _is_size(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return all(map(_is_size, value))
    return isinstance(value, int)


def _bases(text: str) -> LinearLayout:
    """Return the layout of Python-literal bases; out-dims are numbered."""
    bases = _literal(text, text)
    try:
        widths = {len(v) for vectors in bases.values() for v in vectors}
    except (AttributeError, TypeError):
        widths = set()
    else:
        widths = widths or ({1} if bases else set())
    if len(widths) != 1:
        raise InputError(
            f"bases need vectors of one length, got --map {text!r}; write "
            "{'index': [[2], [1]]}"
        )
    names = [f"dim{position}" for position in range(widths.pop())]
    return LinearLayout.from_bases(bases, names, require_surjective=False)


def _literal(text: str, shown: str) -> Any:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError, TypeError, MemoryError, RecursionError) as error:
        raise InputError(
            f"needed Python literals (numbers, lists, names in quotes), got {shown!r}; "
            "write {'index': [[2], [1]]} or name(4, 8)"
        ) from error


def _number(dim: str) -> int:
    return int(dim.removeprefix("dim"))
