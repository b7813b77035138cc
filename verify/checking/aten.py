"""A PyTorch function as terms, by way of the graph of ATen operations that it runs.

The function is run on tensors without data whose extents are symbols
(``compiler.torch_api.aten_graph``), which decomposes normalisations, softmaxes and
losses. Each operation of the graph then acts on stand-ins. Conditions on the extents
that PyTorch used on the way are returned: the terms are right where they hold.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from verify.symbolic.polynomial import same
from verify.symbolic.terms import (
    TRUE,
    ZERO,
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

from .aten_operations import OPERATIONS, SAME
from .aten_views import VIEWS, term_of_extent
from .setting import Memory
from .traced import NotTracedError, Stand, inputs_of, stands_for


def captured(
    function: Callable[..., Any], memories: Mapping[str, Memory], scalars: Sequence[str]
) -> tuple[list[Stand], list[Term]]:
    """Return what a function gives, one stand-in an output, and where that holds.

    Raises:
        NotTracedError: it does something without a meaning here.
    """
    from compiler.torch_api import aten_graph

    names = inputs_of(function, memories, scalars)
    inputs = stands_for(names, memories)
    shapes = [stand.shape for stand in inputs]
    try:
        graph, extents, conditions = aten_graph(
            function, [[_extent(term) for term in shape] for shape in shapes]
        )
    except Exception as error:  # whatever the function raises, or PyTorch
        said = str(error).partition("\n")[0] or type(error).__name__
        raise NotTracedError(f"a graph ({said})") from error
    reader = _Reader(extents)
    results = reader.run(graph, inputs)
    where = [reader.condition(one) for one in conditions]
    return results, [one for one in where if one is not TRUE]


def _extent(term: Term) -> Any:
    return int(term.args[0]) if term.kind == "const" else term


class _Reader:
    """Runs a graph on stand-ins.

    Attributes:
        extents: Symbol of the graph -> extent.
    """

    def __init__(self, extents: Mapping[str, Term]) -> None:
        self.extents = extents
        self.values: dict[Any, Any] = {}

    def run(self, graph: Any, inputs: Sequence[Stand]) -> list[Stand]:
        """Return the results of a graph."""
        given = iter(inputs)
        for node in graph.nodes:
            if node.op == "placeholder":
                self.values[node] = next(given)
            elif node.op == "call_function":
                self.values[node] = self.call(node)
            elif node.op == "output":
                results = self.resolved(node.args[0])
                listed = results if isinstance(results, list) else [results]
                if not listed or not all(isinstance(one, Stand) for one in listed):
                    raise NotTracedError("a result that is no tensor")
                return listed
            else:
                raise NotTracedError(
                    f"a tensor that the function holds ({node.target})"
                )
        raise NotTracedError("a graph without an output")

    def resolved(self, value: Any) -> Any:
        """Return an argument: stand-ins for tensors, terms for extents."""
        if isinstance(value, tuple | list):
            return [self.resolved(one) for one in value]
        if type(value).__name__ == "Node":
            return self.values[value]
        return value

    def call(self, node: Any) -> Any:
        """Return the value of a node."""
        name = getattr(node.target, "__name__", str(node.target))
        args = [self.resolved(arg) for arg in node.args]
        named = {key: self.resolved(value) for key, value in node.kwargs.items()}
        base = base_of(node.target)
        if name in _INTEGERS and not any(isinstance(a, Stand) for a in args):
            return _INTEGERS[name](*(term_of_extent(arg) for arg in args))
        if name == "getitem":
            return args[0][args[1]]
        if base.endswith("_"):
            if not _is_sole_use(node):
                raise NotTracedError(f"aten.{base} of what is used elsewhere")
            base = base.removesuffix("_")
        meaning = OPERATIONS.get(base)
        if meaning is None:
            raise NotTracedError(f"aten.{base}")
        try:
            return meaning(*args, **named)
        except TypeError as error:
            raise NotTracedError(f"aten.{base} of another form ({error})") from None

    def condition(self, expression: Any) -> Term:
        """Return a condition on extents as a term.

        Raises:
            NotTracedError: it has a form without a meaning here.
        """
        kind = type(expression).__name__
        args = getattr(expression, "args", ())
        if kind == "Symbol":
            return self.extents[str(expression)]
        if getattr(expression, "is_Integer", False):
            return constant(int(expression))
        if kind in ("BooleanTrue", "BooleanFalse"):
            return conjoin() if kind == "BooleanTrue" else disjoin()
        build = _SYMPY.get(kind)
        if build is None:
            raise NotTracedError(f"the condition {expression}")
        parts = [self.condition(arg) for arg in args]
        if len(parts) > 2 and kind in ("Add", "Mul"):
            whole = parts[0]
            for part in parts[1:]:
                whole = build(whole, part)
            return whole
        return build(*parts)


def _is_sole_use(node: Any) -> bool:
    """Whether a value that is changed in place is fresh, and used nowhere else."""
    changed = node.args[0]
    if changed.op != "call_function" or len(changed.users) != 1:
        return False
    return base_of(changed.target) not in (*VIEWS, *SAME)


def base_of(target: Any) -> str:
    """Return the name of an operation without its overload.

    Example:
        >>> base_of("aten.sum.dim_IntList")
        'sum'
    """
    name = str(target).removeprefix("aten.").removeprefix("prims.")
    return name.partition(".")[0]


_SYMPY: dict[str, Callable[..., Term]] = {
    "Add": add,
    "Mul": mul,
    "FloorDiv": div,
    "Mod": mod,
    "PythonMod": mod,
    "Max": maximum,
    "Min": minimum,
    "Equality": lambda a, b: TRUE if same(a, b) else equal(a, b),
    "Unequality": lambda a, b: invert(equal(a, b)),
    "LessThan": at_most,
    "GreaterThan": lambda a, b: at_most(b, a),
    "StrictLessThan": less,
    "StrictGreaterThan": lambda a, b: less(b, a),
    "And": conjoin,
    "Or": disjoin,
    "Not": invert,
}
_INTEGERS: dict[str, Callable[..., Term]] = {
    "add": add,
    "sub": sub,
    "mul": mul,
    "floordiv": div,
    "mod": mod,
    "neg": negated,
    "sym_size": lambda *_: ZERO,
}
