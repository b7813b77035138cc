"""A captured graph in a folder, read as a program.

Two kinds of folder are read: one graph's folder of a trace (``TILEWRIGHT_TRACE``),
which has the graph and the shapes of its inputs, and one that :func:`save` wrote, which
has the inputs' values too.
"""

import ast
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import fx

from verify.strategies.programs import Program
from verify.strategies.programs.operations import DRAWN_AT_RANDOM
from verify.strategies.tensors import TensorSpec, contiguous

GRAPH = "graph.py"
VALUES = "inputs.pt"

_DTYPES = {
    "f64": torch.float64,
    "f32": torch.float32,
    "f16": torch.float16,
    "bf16": torch.bfloat16,
    "i64": torch.int64,
    "i32": torch.int32,
    "i16": torch.int16,
    "i8": torch.int8,
    "u8": torch.uint8,
    "b8": torch.bool,
}
_TYPE = re.compile(r"^(\w+)\[([\d, ]*)\](?:\[([\d, ]*)\])?")
_RANDOM = re.compile(
    r"\.(rand\w*|bernoulli\w*|normal\w*|\w*dropout|exponential|uniform)\."
)


class GraphError(ValueError):
    """A folder holds no graph that can be run again."""


@dataclass(frozen=True, slots=True)
class Captured:
    """A graph as a program.

    Attributes:
        program: With drawn inputs, or with the values that were saved.
        has_values: Whether the inputs are those of the failure.
    """

    program: Program
    has_values: bool


def save(graph: fx.GraphModule, inputs: Sequence[Any], folder: Path | str) -> None:
    """Write a graph and its inputs, for :func:`read` and ``tilewright reduce``.

    Args:
        graph: As a backend of ``torch.compile`` gets it, or from ``torch.fx``.
        inputs: Tensors and numbers, one for each placeholder.
        folder: Made if it is not there.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / GRAPH).write_text(graph.print_readable(print_output=False))
    constants = {
        str(node.target): _attribute(graph, str(node.target))
        for node in graph.graph.nodes
        if node.op == "get_attr"
    }
    values = {"inputs": [_kept(value) for value in inputs], "constants": constants}
    torch.save(values, folder / VALUES)


def _kept(value: Any) -> Any:
    return value.detach() if isinstance(value, torch.Tensor) else value


def _attribute(graph: fx.GraphModule, path: str) -> Any:
    value: Any = graph
    for part in path.split("."):
        value = getattr(value, part)
    return _kept(value)


def read(folder: Path) -> Captured:
    """Return the program of a folder.

    Raises:
        GraphError: There is none, or it has something that a program cannot have.
    """
    try:
        text = (folder / GRAPH).read_text()
    except OSError as error:
        inner = sorted(path.parent.name for path in folder.glob(f"*/{GRAPH}"))
        found = f"; it has graphs in {', '.join(inner)}" if inner else ""
        raise GraphError(
            f"a folder with {GRAPH} was needed, which TILEWRIGHT_TRACE or "
            f"verify.reduction.save writes, got {str(folder)!r}{found}"
        ) from error
    values: dict[str, Any] | None = None
    if (folder / VALUES).exists():
        values = torch.load(folder / VALUES, weights_only=True)
    return Captured(_Reader(folder, values).program(text), values is not None)


class _Reader:
    def __init__(self, folder: Path, values: Mapping[str, Any] | None) -> None:
        self.file = (folder / VALUES).resolve()
        self.values = values
        self.names: dict[str, ast.expr] = {}
        self.inputs: dict[str, TensorSpec] = {}
        self.objects: dict[str, str] = {}
        self.lines: list[str] = []
        self.operations: list[str] = []
        self.returns: list[str] = []

    def program(self, text: str) -> Program:
        text = re.sub(r"^class <?[\w.]+>?\(", "class Graph(", text, count=1)
        try:
            body = ast.parse(text).body
        except SyntaxError as error:
            raise GraphError(f"{GRAPH} is no Python: {error}") from error
        forward = next(
            (
                node
                for top in body
                for node in ast.walk(top)
                if isinstance(node, ast.FunctionDef) and node.name == "forward"
            ),
            None,
        )
        if forward is None:
            raise GraphError(f"{GRAPH} has no function forward")
        for number, argument in enumerate(forward.args.args[1:]):
            self._argument(number, argument)
        for statement in forward.body:
            self._statement(statement)
        if not self.returns:
            raise GraphError("the graph returns no tensor")
        random = min(DRAWN_AT_RANDOM)
        operations = [random if _RANDOM.search(o) else o for o in self.operations]
        return Program(
            self.inputs,
            tuple(self.lines),
            tuple(dict.fromkeys(self.returns)),
            tuple(operations),
            self.objects,
        )

    def _argument(self, number: int, argument: ast.arg) -> None:
        value = None if self.values is None else self.values["inputs"][number]
        self._input(argument.arg, argument.annotation, value, f"['inputs'][{number}]")

    def _input(
        self, old: str, annotation: ast.expr | None, value: Any, place: str
    ) -> None:
        new = f"x{len(self.inputs) + len(self.objects)}"
        if isinstance(value, torch.Tensor):
            self.objects[new] = f"torch.load({str(self.file)!r}){place}.clone()"
        elif value is not None:
            self.names[old] = ast.Constant(value)
            return
        else:
            self._drawn(old, new, annotation)
        self.names[old] = ast.Name(new)

    def _drawn(self, old: str, new: str, annotation: ast.expr | None) -> None:
        said = str(annotation.value) if isinstance(annotation, ast.Constant) else ""
        found = _TYPE.match(said)
        if found is None or found[1] not in _DTYPES:
            raise GraphError(
                f"the input {old} is {said or 'of no known type'}: its value is "
                "needed, which verify.reduction.save writes"
            )
        shape, strides = (
            tuple(int(n) for n in part.split(",") if n.strip()) if part else ()
            for part in (found[2], found[3])
        )
        if len(strides) != len(shape):
            strides = contiguous(shape)
        self.inputs[new] = TensorSpec(shape, strides, 0, _DTYPES[found[1]], "normal")

    def _statement(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.Return):
            value = statement.value
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
            for part in parts:
                if isinstance(part, ast.Name):
                    new = self.names[part.id]
                    if isinstance(new, ast.Name):
                        self.returns.append(new.id)
            return
        if isinstance(statement, ast.Expr):
            self._line(None, statement.value)
            return
        if isinstance(statement, ast.AnnAssign | ast.Assign):
            targets = (
                [statement.target]
                if isinstance(statement, ast.AnnAssign)
                else statement.targets
            )
            value = statement.value
            if isinstance(value, ast.Constant) and value.value is None:
                return  # "name = None": the graph forgets a value
            if len(targets) == 1 and isinstance(targets[0], ast.Name) and value:
                annotation = getattr(statement, "annotation", None)
                self._assign(targets[0].id, value, annotation)
                return
        raise GraphError(f"the graph has a statement {ast.unparse(statement)[:80]!r}")

    def _assign(self, old: str, value: ast.expr, annotation: ast.expr | None) -> None:
        path = ast.unparse(value)
        if path.startswith("self.") and not isinstance(value, ast.Call):
            name = path.removeprefix("self.")
            held = None if self.values is None else self.values["constants"].get(name)
            self._input(old, annotation, held, f"['constants'][{name!r}]")
            return
        self._line(old, value)

    def _line(self, old: str | None, value: ast.expr) -> None:
        if isinstance(value, ast.Constant):
            return
        text = ast.unparse(ast.fix_missing_locations(_Renamed(self.names).visit(value)))
        if "self." in text:
            raise GraphError(f"the graph calls a module: {text[:80]!r}")
        if old is not None:
            new = f"v{len(self.lines)}"
            self.names[old] = ast.Name(new)
            text = f"{new} = {text}"
        self.lines.append(text)
        self.operations.append(_operation(value))


class _Renamed(ast.NodeTransformer):
    """Values get short names, ``inf`` and ``device`` what a program knows."""

    def __init__(self, names: Mapping[str, ast.expr]) -> None:
        self.names = names

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id in self.names:
            return self.names[node.id]
        if node.id in ("inf", "nan"):
            return ast.parse(f"float('{node.id}')", mode="eval").body
        if node.id == "device":
            return ast.parse("torch.device", mode="eval").body
        return node


def _operation(value: ast.expr) -> str:
    return ast.unparse(value.func) if isinstance(value, ast.Call) else "getitem"
