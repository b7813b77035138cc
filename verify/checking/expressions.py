"""Expressions over a kernel's scalars, in text: ``"cdiv(N, 64)"``, ``"M*N < 2**31"``.

Python's syntax and precedence, integers, ``//`` and ``%`` rounding down.
"""

import ast
from collections.abc import Callable, Mapping, Sequence

from algebra.errors import ArgumentError
from verify.symbolic.terms import (
    BOOL,
    INT,
    Term,
    add,
    at_most,
    conjoin,
    constant,
    disjoin,
    div,
    equal,
    invert,
    less,
    maximum,
    minimum,
    mod,
    mul,
    negated,
    sub,
)

FORMS = "numbers, names, + - * // % **, comparisons, and or not, cdiv, min, max, abs"


def parse_expression(text: object, names: Mapping[str, Term]) -> Term:
    """Return the term that an expression spells.

    Args:
        text: An int, or text.
        names: What a name stands for.

    Raises:
        ArgumentError: it is no such expression, or has a name that is not known.

    Example:
        >>> from verify.symbolic.terms import symbol
        >>> parse_expression("cdiv(N, 64)", {"N": symbol("N", 0, 4096)})
        (N + 63) // 64
    """
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise ArgumentError(
            f"needed an int or an expression in text, got {text!r}",
            argument="expression",
            value=text,
        )
    if isinstance(text, int):
        return constant(text)
    try:
        tree = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise _wrong(text, str(error.msg)) from None
    return _Reader(text, names).read(tree)


def _wrong(text: str, why: str) -> ArgumentError:
    return ArgumentError(
        f"needed an expression over the kernel's scalars, got {text!r}: {why}; "
        f"it may have {FORMS}",
        argument="expression",
        value=text,
    )


_BINARY: dict[type[ast.operator], Callable[[Term, Term], Term]] = {
    ast.Add: add,
    ast.Sub: sub,
    ast.Mult: mul,
    ast.FloorDiv: div,
    ast.Mod: mod,
}
_COMPARE: dict[type[ast.cmpop], Callable[[Term, Term], Term]] = {
    ast.Lt: less,
    ast.LtE: at_most,
    ast.Gt: lambda a, b: less(b, a),
    ast.GtE: lambda a, b: at_most(b, a),
    ast.Eq: equal,
    ast.NotEq: lambda a, b: invert(equal(a, b)),
}


class _Reader:
    def __init__(self, text: str, names: Mapping[str, Term]) -> None:
        self.text = text
        self.names = names

    def wrong(self, why: str) -> ArgumentError:
        return _wrong(self.text, why)

    def integer(self, node: ast.expr) -> Term:
        term = self.read(node)
        if term.sort != INT:
            raise self.wrong(f"{ast.unparse(node)} is no integer")
        return term

    def truth(self, node: ast.expr) -> Term:
        term = self.read(node)
        if term.sort != BOOL:
            raise self.wrong(f"{ast.unparse(node)} is no condition")
        return term

    def read(self, node: ast.expr) -> Term:
        if isinstance(node, ast.Constant) and isinstance(node.value, int):
            return constant(int(node.value))
        if isinstance(node, ast.Name):
            if node.id not in self.names:
                known = ", ".join(sorted(self.names)) or "none"
                raise self.wrong(
                    f"{node.id!r} is not known (known: {known}); add it to args as "
                    "a Scalar"
                )
            return self.names[node.id]
        if isinstance(node, ast.BinOp):
            return self.binary(node)
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.USub):
                return negated(self.integer(node.operand))
            if isinstance(node.op, ast.Not):
                return invert(self.truth(node.operand))
        if isinstance(node, ast.BoolOp):
            join = conjoin if isinstance(node.op, ast.And) else disjoin
            return join(*(self.truth(value) for value in node.values))
        if isinstance(node, ast.Compare):
            return self.compare(node)
        if isinstance(node, ast.Call) and isinstance(
            node.func, ast.Name | ast.Attribute
        ):
            return self.call(node)
        raise self.wrong(f"{ast.unparse(node)} has no meaning here")

    def binary(self, node: ast.BinOp) -> Term:
        left, right = self.integer(node.left), self.integer(node.right)
        if isinstance(node.op, ast.Pow | ast.LShift):
            if right.kind != "const" or not 0 <= right.args[0] <= 128:
                raise self.wrong("an exponent must be a small number")
            if isinstance(node.op, ast.LShift):
                return mul(left, constant(1 << right.args[0]))
            result = constant(1)
            for _ in range(right.args[0]):
                result = mul(result, left)
            return result
        build = _BINARY.get(type(node.op))
        if build is None:
            raise self.wrong(
                "write // for a quotient"
                if isinstance(node.op, ast.Div)
                else f"{type(node.op).__name__} has no meaning here"
            )
        return build(left, right)

    def compare(self, node: ast.Compare) -> Term:
        parts = []
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            build = _COMPARE.get(type(operator))
            if build is None:
                raise self.wrong(f"{type(operator).__name__} has no meaning here")
            parts.append(build(self.integer(left), self.integer(right)))
            left = right
        return conjoin(*parts)

    def call(self, node: ast.Call) -> Term:
        name = (
            node.func.attr
            if isinstance(node.func, ast.Attribute)
            else (node.func.id if isinstance(node.func, ast.Name) else "")
        )
        args = [self.integer(arg) for arg in node.args]
        if name == "cdiv" and len(args) == 2:
            return ceil_div(*args)
        if name in ("min", "max") and args:
            return _fold(minimum if name == "min" else maximum, args)
        if name == "abs" and len(args) == 1:
            return maximum(args[0], negated(args[0]))
        raise self.wrong(f"{name}(...) has no meaning here")


def ceil_div(a: Term, b: Term) -> Term:
    """Return ``a / b`` rounded up, for positive ``b``."""
    return div(add(a, add(b, constant(-1))), b)


def _fold(join: Callable[[Term, Term], Term], parts: Sequence[Term]) -> Term:
    total = parts[0]
    for part in parts[1:]:
        total = join(total, part)
    return total
