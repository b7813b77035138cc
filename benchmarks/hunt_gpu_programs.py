"""Programs for ``hunt_gpu.py``: drawn, exact whatever the order, and at home on a GPU.

A program is kept where eager mode computes the same bits in whatever order it adds:
each number that it makes on the way is an integer, and so small that no sum over a
tensor can be rounded. That is looked up value by value, while the program runs on the
CPU; what raises there never reaches the GPU.
"""

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

from verify.strategies.tensors import TensorSpec, built

TYPES = (torch.float32, torch.float64, torch.int64, torch.int32, torch.bool)
"""Types in which small integers stay exact, whatever is fused."""

LARGEST = 2.0**24
"""Sums beyond this may be rounded in float32."""

FACTORIES = frozenset(
    ("arange", "empty", "eye", "full", "linspace", "ones", "scalar_tensor", "tensor")
) | {"zeros"}
"""Functions of torch that make a tensor of numbers: on the CPU, if nothing is said."""

ATOMIC = frozenset((torch.ops.aten.index_add, torch.ops.aten.scatter_add))
"""Operators that add with atomics, which Triton has not for truth values."""

EXACT = (
    *("abs", "ceil", "floor", "neg", "relu", "sign", "square", "trunc", "isnan"),
    *("isinf", "signbit", "add", "sub", "mul", "add_number", "add_scaled", "maximum"),
    *("minimum", "fmax", "eq", "ne", "lt", "le", "gt", "ge", "logical_and"),
    *("logical_or", "logical_xor", "logical_not", "bitwise_and", "bitwise_or"),
    *("bitwise_xor", "bitwise_not", "where", "clamp", "clamp_min", "clamp_tensor"),
    *("float", "clone", "contiguous", "reshape", "permute", "transpose", "slice"),
    *("select", "unsqueeze", "unsqueeze_last", "squeeze", "expand", "flatten", "flip"),
    *("roll", "repeat", "diagonal", "narrow", "t", "chunk", "split", "unbind", "triu"),
    *("tril", "rot90", "sum", "sum_dim", "sum_dims", "amax", "amin", "max_all"),
    *("max_values", "argmax", "argmin_all", "any", "all", "count_nonzero", "cumsum"),
    *("cummax", "diff", "index", "index_select", "gather", "take_along_dim"),
    *("index_add", "scatter_add", "masked_fill", "select_scatter", "one_hot", "cat"),
    *("stack", "pad", "zeros_like", "full_like", "arange_times", "arange_int", "eye"),
    *("outer", "sum_expanded", "sum_where", "sum_padded", "sum_of_joined", "sum_last"),
    *("sum_of_squares", "sum_flat", "max_of_joined", "cumsum_last", "pad_row"),
    *("cat_three", "stack_last", "symmetrised", "where_number", "any_dims", "all_dim"),
    *("argmin", "cummin", "sum_dtype", "cumsum_exclusive", "repeat_interleave"),
    *("movedim", "tile", "index_affine", "index_reversed", "where_position"),
)
"""Operations that may round nothing on small integers."""


@dataclass(frozen=True)
class Case:
    """A program that is kept.

    Attributes:
        inputs: Parameter -> tensor.
        source: Function ``program``, which makes its tensors on the device.
    """

    inputs: Mapping[str, TensorSpec]
    source: str

    def function(self) -> Callable[..., tuple[Any, ...]]:
        """Return the function."""
        function: Callable[..., tuple[Any, ...]] = defined(self.source, "program")
        return function

    def build(self, device: str) -> list[torch.Tensor]:
        """Return its arguments."""
        return list(built(self.inputs, device).values())


def defined(source: str, name: str) -> Any:
    """Return what a text over torch defines under a name."""
    room: dict[str, Any] = {"__name__": "__main__"}
    exec("import torch\nimport torch.nn.functional as F\n\n" + source, room)
    return room[name]


def drawn(seed: int, count: int, operations: int) -> list[Any]:
    """Return programs of exact operations; they depend on the seed alone."""
    from hypothesis import HealthCheck, Phase, given, settings
    from hypothesis import seed as seeded
    from hypothesis.errors import HypothesisWarning

    from verify.strategies.programs import EXPRESSIONS, FAMILIES, programs

    warnings.simplefilter("ignore", HypothesisWarning)
    FAMILIES["exact"] = tuple(name for name in EXACT if name in EXPRESSIONS)
    strategy = programs(
        operations,
        ("exact",),
        ("integers", "ties"),
        gradients=False,
        max_calls=1,
        dtypes=(torch.float32, *TYPES),
    )
    found: list[Any] = []

    @seeded(seed)
    @settings(
        max_examples=count,
        deadline=None,
        database=None,
        phases=[Phase.generate],
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def each(program: Any) -> None:
        found.append(program)

    each()
    return found


class Looked(TorchDispatchMode):
    """Looks at each number that eager mode makes.

    Attributes:
        why: Why order or rounding may show, "" if they cannot.
        computes: Whether there was more than views.
        signs: Whether the sign of a zero counts.
    """

    def __init__(self, signs: bool) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.why, self.computes, self.signs = "", False, signs

    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        """Run an operator and look at what it returns."""
        found = func(*args, **(kwargs or {}))
        for value in tree_leaves(found):
            if isinstance(value, torch.Tensor):
                self.look(value)
                self.computes |= bool(value.numel()) and not func.is_view
                if value.dtype == torch.bool and func.overloadpacket in ATOMIC:
                    self.why = self.why or "truth values added up in places"
        return found

    def look(self, value: torch.Tensor) -> None:
        """Note what is wrong with a tensor, if it is the first."""
        if self.why or not value.is_floating_point() or not value.numel():
            return
        if value.dtype not in TYPES:
            self.why = "a narrow type"
        elif not bool((value == value.trunc()).all()):
            self.why = "no integer"
        elif not float(value.abs().max()) * value.numel() <= LARGEST:
            self.why = "a large number"
        elif self.signs and bool((value.signbit() & (value == 0)).any()):
            self.why = "a negative zero"


class _Placing(ast.NodeTransformer):
    def __init__(self, device: str) -> None:
        self.device = device

    def visit_Call(self, node: ast.Call) -> ast.Call:
        self.generic_visit(node)
        called = node.func
        if (
            isinstance(called, ast.Attribute)
            and isinstance(called.value, ast.Name)
            and called.value.id == "torch"
            and called.attr in FACTORIES
        ):
            node.keywords.append(ast.keyword("device", ast.Constant(self.device)))
        return node


def placed(source: str, device: str) -> str:
    """Return a program that makes its tensors on a device.

    Example:
        >>> placed("v0 = x0 + torch.arange(4, dtype=torch.int32)", "cuda")
        "v0 = x0 + torch.arange(4, dtype=torch.int32, device='cuda')"
    """
    tree = _Placing(device).visit(ast.parse(source))
    return ast.unparse(ast.fix_missing_locations(tree))


def kept(programs: Sequence[Any], device: str) -> tuple[list[Case], Counter[str]]:
    """Return the programs that can be compared bit for bit, and why others cannot.

    Args:
        programs: What was drawn.
        device: Where they will run.
    """
    from verify.strategies.programs.program import targets
    from verify.strategies.programs.strategy import unread

    cases, dropped = list[Case](), Counter[str]()
    for program in programs:
        made = dict.fromkeys(name for line in program.lines for name in targets(line))
        returns = dict.fromkeys((*program.returns, *unread(made, program.lines)))
        program = replace(program, returns=tuple(returns))  # nothing is dead
        looked = Looked("signbit" in program.operations)
        try:
            arguments = built(program.inputs).values()
            with looked:
                for value in arguments:
                    looked.look(value)
                program.function()(*arguments)
        except Exception as error:
            looked.why = f"eager mode on the CPU: {type(error).__name__}"
        if not looked.why and not looked.computes:
            looked.why = "nothing but views"
        if looked.why:
            dropped[looked.why] += 1
        else:
            cases.append(Case(program.inputs, placed(program.source, device)))
    return cases, dropped


def joined(cases: Sequence[Case]) -> Callable[..., list[Any]]:
    """Return one function of all inputs that runs every program."""
    lines, calls, names = list[str](), list[str](), list[str]()
    for number, case in enumerate(cases):
        head, made = f"def program{number}(", [f"p{number}_{k}" for k in case.inputs]
        lines.append(case.source.replace("def program(", head, 1))
        calls.append(f"    results.extend(program{number}({', '.join(made)}))")
        names.extend(made)
    lines += [f"def batch({', '.join(names)}):", "    results = []", *calls]
    lines.append("    return results")
    batch: Callable[..., list[Any]] = defined("\n".join(lines), "batch")
    return batch
