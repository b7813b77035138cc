"""Read the constructor's own spelling: what ``repr`` of an encoding prints.

The text is parsed, never evaluated: calls of the known classes with literals.
"""

import ast
import warnings
from collections.abc import Callable
from typing import Any

from algebra.encodings import Cga, CtaLayout, Encoding
from algebra.encodings.from_dict import KINDS
from algebra.errors import LayoutError, ParseError
from algebra.layout import LinearLayout

from .tokens import shortened

CLASSES: dict[str, Callable[..., Any]] = {
    **{encoding.__name__: encoding for encoding in KINDS.values()},
    "Cga": Cga,
    "CtaLayout": CtaLayout,
    "LinearLayout.from_bases": LinearLayout.from_bases,
}
"""What may be called, by the name that is written."""


def parse_constructor(text: str) -> Encoding:
    """Return the encoding that ``text`` constructs.

    Law: ``parse_constructor(repr(encoding)) == encoding``.

    Args:
        text: One call such as ``Blocked(size_per_thread=(1, 8), ...)``.

    Raises:
        ParseError: not such a call, an unknown class or argument, or parameters that
            the encoding rejects; names line and column.

    Example:
        >>> parse_constructor(
        ...     "SwizzledShared(vec=8, per_phase=1, max_phase=8, order=[1, 0])"
        ... ).order
        (1, 0)
    """
    try:
        tree = _parse(text.strip())
        built = _value(tree.body)
    except RecursionError as error:
        raise _error(1, 1, "a call with fewer levels of brackets", text) from error
    if type(built) not in KINDS.values():
        raise _wrong(tree.body, "an encoding", "wrap it in the call of an encoding")
    result: Encoding = built
    return result


def _parse(text: str) -> ast.Expression:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", SyntaxWarning)
            return ast.parse(text, mode="eval")
    except (SyntaxError, ValueError, MemoryError) as error:
        line = getattr(error, "lineno", None) or 1
        column = getattr(error, "offset", None) or 1
        raise _error(line, column, "a call such as Blocked(...)", str(error)) from error


def _value(node: ast.expr) -> Any:
    if isinstance(node, ast.Constant) and isinstance(node.value, int | str):
        return node.value
    if isinstance(node, ast.Tuple | ast.List):
        return tuple(map(_value, node.elts))
    if isinstance(node, ast.Dict) and all(key is not None for key in node.keys):
        keys = [_value(key) for key in node.keys if key is not None]
        if not all(isinstance(key, str) for key in keys):
            raise _wrong(node, "names in quotes before each colon")
        return dict(zip(keys, map(_value, node.values), strict=True))
    if isinstance(node, ast.Call):
        return _call(node)
    raise _wrong(node, "an integer, True, False, a list or a call")


def _call(node: ast.Call) -> Any:
    name = ast.unparse(node.func)
    if name not in CLASSES:
        raise _wrong(node, f"one of {', '.join(sorted(CLASSES))}")
    arguments = [_value(argument) for argument in node.args]
    keywords = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise _wrong(keyword.value, "name=value", "** is not read")
        keywords[keyword.arg] = _value(keyword.value)
    try:
        return CLASSES[name](*arguments, **keywords)
    except (AttributeError, LayoutError, TypeError) as error:
        hint = str(error).replace("__init__", name)
        raise _wrong(node, f"arguments that {name} takes", hint) from error


def _wrong(node: ast.expr, expected: str, hint: str = "") -> ParseError:
    came = ast.unparse(node)
    return _error(node.lineno, node.col_offset + 1, expected, came, hint)


def _error(
    line: int, column: int, expected: str, came: str, hint: str = ""
) -> ParseError:
    message = (
        f"line {line}, column {column}: expected {expected}, came {shortened(came)}"
    )
    return ParseError(
        message + (f"; {hint}" if hint else ""),
        line=line,
        column=column,
        expected=expected,
        came=came,
    )
